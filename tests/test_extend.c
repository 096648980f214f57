/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_extend.c: is a result that is extended the file that a run to the later end leaves, byte for byte? Of every
 * propagator and every monitor, through mergers, removals and logs, with output times, backwards, in orbits, in two
 * legs, interrupted on the way; of some of the systems row for row. And what is refused.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

#define N_SYSTEMS 24

static char folder[PATH_MAX];

/* A study of two planets that meet. monitors: their groups; output: further keys of run, then of output. */
static const char study_text[] =
    "system = { bodies = ( { name = \"star\"; m = 1.0; r = 0.01; },\n"
    "    { name = \"b\"; m = 1e-3; r = 0.004; a = 1.0; e = 0.15; inc = 1.5; },\n"
    "    { name = \"c\"; m = 1e-3; r = 0.004; a = 1.5; e = 0.3; inc = 1.51; } ); };\n"
    "sample = { count = %d; seed = 3; parameters = (\n"
    "    { body = \"c\"; parameter = \"a\"; distribution = \"uniform\"; from = 1.15; to = 1.6; },\n"
    "    { body = \"c\"; parameter = \"M\"; distribution = \"uniform\"; from = 0.0; to = 6.28; } ); };\n"
    "integrator = { name = \"%s\"; %s };\n"
    "monitors = ( %s );\n"
    "run = { engine = \"cpu\"; threads = 1; %s };\n"
    "output = { file = \"run.h5\"; %s };\n";

#define GOES_ON                                                                                                    \
    "{ name = \"stop_on_collision\"; action = \"merge\"; }, { name = \"stop_on_encounter\"; action = \"log\"; }, " \
    "{ name = \"stop_on_ejection\"; r_max = 3.0; action = \"remove\"; }"

static void place(char path[PATH_MAX], const char *name)
{
    assert_true(snprintf(path, PATH_MAX, "%.4000s/%s", folder, name) < PATH_MAX);
}

/* The config of a study as a text; malloc'd. */
static char *config_of(const char *propagator, const char *integrator, const char *monitors, const char *run,
                       const char *output)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fprintf(out, study_text, N_SYSTEMS, propagator, integrator, monitors, run, output);
    fclose(out);
    return text;
}

/* end: "KEY=VALUE" of run, NULL: the config has it. */
static void run_as(shoal_context *context, const char *config, const char *end, const char *name)
{
    char path[PATH_MAX], word[64];
    const char *overrides[] = {word};
    shoal_study *study;
    snprintf(word, sizeof word, "run.%s", end ? end : "");
    place(path, name);
    assert_ok(context, shoal_study_open(context, path, config, end ? 1 : 0, overrides, NULL, &study));
    free(study->output);
    study->output = strdup(path);
    assert_ok(context, shoal_study_run(study, 1, NULL, NULL));
    shoal_study_destroy(&study);
}

static shoal_status extend_to(shoal_context *context, const char *end, const char *name, shoal_progress_callback stop)
{
    char path[PATH_MAX];
    shoal_study *study = NULL;
    place(path, name);
    const shoal_extend_options options = {.file = path, .end = end};
    shoal_status status = shoal_study_extend(context, &options, &study);
    if (!status)
        status = shoal_study_run(study, 0, stop, NULL);
    shoal_study_destroy(&study);
    return status;
}

static char *bytes_of(const char *name, size_t *n)
{
    char path[PATH_MAX];
    struct stat about;
    place(path, name);
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &about))
        fail_msg("%s: cannot be read", path);
    *n = (size_t)about.st_size;
    char *bytes = malloc(*n + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

static bool same_bytes(const char *a, const char *b)
{
    size_t n, m;
    char *one = bytes_of(a, &n), *other = bytes_of(b, &m);
    const bool same = n == m && memcmp(one, other, n) == 0;
    free(one);
    free(other);
    return same;
}

/* What has happened to the systems of a result. */
typedef struct tally {
    long n_ended, n_survived, n_merged, n_events, n_snapshots;
} tally;

static tally tally_of(shoal_context *context, const char *name)
{
    char path[PATH_MAX];
    shoal_result *result;
    tally of = {0};
    place(path, name);
    assert_ok(context, shoal_store_read(context, path, &result));
    for (long s = 0; s < result->n_systems; s++) {
        of.n_survived += result->outcome[s] == SHOAL_SURVIVED;
        of.n_ended += result->outcome[s] != SHOAL_SURVIVED;
        of.n_merged += result->n_final[s] < result->n_live[s];
    }
    of.n_events = result->n_events;
    of.n_snapshots = result->n_snapshots;
    shoal_result_destroy(&result);
    return of;
}

/* Runs a study to `old`, extends it to `new`, and compares. */
static void same_as_from_the_first(shoal_context *context, const char *what, const char *config, const char *old,
                                   const char *new)
{
    run_as(context, config, old, "run.h5");
    run_as(context, config, new, "first.h5");
    assert_ok(context, extend_to(context, strchr(new, '=') + 1, "run.h5", NULL));
    if (!same_bytes("run.h5", "first.h5"))
        fail_msg("%s: extended, it has other bytes than a run to %s", what, new);
}

/* ---- every propagator -------------------------------------------------------------------------------------------- */

static void every_propagator_goes_on(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_propagator *const *propagators = shoal_plugs_of(context)->propagators;
    for (int i = 0; propagators[i]; i++) {
        const char *step = propagators[i]->adaptive ? "" : "dt = 0.02;";
        char *config = config_of(propagators[i]->name, step,
                                 GOES_ON ", { name = \"closest_approach\"; }, { name = \"energy_error\"; }", "",
                                 "interval = 4.7; times = [ 3.0, 31.007 ];");
        char *plain = config_of(propagators[i]->name, step, "", "", "");
        same_as_from_the_first(context, propagators[i]->name, config, "t_end=31.007", "t_end=70.0");
        const tally after = tally_of(context, "run.h5");
        print_message("%-20s %ld events, %ld with fewer bodies, %ld ended\n", propagators[i]->name, after.n_events,
                      after.n_merged, after.n_ended);
        assert_true(after.n_events > 0 && after.n_survived > 0 && after.n_merged > 0);
        same_as_from_the_first(context, propagators[i]->name, plain, "t_end=31.007", "t_end=70.0");
        free(config);
        free(plain);
    }
}

/* ---- every monitor ----------------------------------------------------------------------------------------------- */

/* What a monitor must be given. */
static const char *keys_of(const char *monitor)
{
    return strcmp(monitor, "resonant_angle") == 0     ? "p_1 = -1; p_2 = 2; q_1 = -1;"
           : strcmp(monitor, "stop_on_ejection") == 0 ? "r_max = 3.0;"
           : strcmp(monitor, "megno") == 0            ? "vectors = 3;"
                                                      : "";
}

static void every_monitor_goes_on(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_monitor *const *monitors = shoal_plugs_of(context)->monitors;
    static const char *const propagators[] = {"mvs", "hybrid", "gauss_radau", "leapfrog"};
    for (int i = 0; monitors[i]; i++)
        for (int p = 0; p < SHOAL_COUNT(propagators); p++) {
            char monitor[200], what[100];
            const shoal_propagator *propagator = shoal_propagator_find(context, propagators[p]);
            if (monitors[i]->tangent && !propagator->tangent)
                continue;
            snprintf(monitor, sizeof monitor, "{ name = \"%s\"; %s }", monitors[i]->name, keys_of(monitors[i]->name));
            snprintf(what, sizeof what, "%s of %s", monitors[i]->name, propagators[p]);
            char *config = config_of(propagators[p], propagator->adaptive ? "" : "dt = 0.02;", monitor, "", "");
            same_as_from_the_first(context, what, config, "t_end=31.007", "t_end=70.0");
            free(config);
        }
}

static void all_monitors_go_on_together(void **state)
{
    shoal_context *context = context_of(state);
    char *config = config_of("mvs", "dt = 0.02;",
                             GOES_ON ", { name = \"closest_approach\"; }, { name = \"element_range\"; }, { name = "
                                     "\"energy_error\"; }, { name = \"distance\"; }, { name = \"amd\"; }, { name = "
                                     "\"transits\"; }",
                             "", "interval = 2.0;");
    same_as_from_the_first(context, "all", config, "t_end=31.007", "t_end=70.0");
    free(config);
}

/* An end of which the last step is a part often sees something that a whole step sees elsewhere: try many. */
static void what_came_after_the_last_whole_step_is_taken_back(void **state)
{
    shoal_context *context = context_of(state);
    char *config = config_of("leapfrog", "dt = 0.05;", GOES_ON ", { name = \"transits\"; }", "", "");
    for (int i = 0; i < 20; i++) {
        char end[40];
        snprintf(end, sizeof end, "t_end=%.3f", 5 + 0.3137 * i);
        same_as_from_the_first(context, end, config, end, "t_end=20");
    }
    free(config);
}

/* ---- other runs -------------------------------------------------------------------------------------------------- */

static void other_ends_are_kept_too(void **state)
{
    shoal_context *context = context_of(state);
    char *config = config_of("mvs", "dt = 0.02;", GOES_ON, "", "interval = 5.0;");
    char *orbits = config_of("mvs", "steps_per_orbit = 30;", GOES_ON, "", "interval = 5.0;");
    same_as_from_the_first(context, "backwards", config, "t_end=-31.007", "t_end=-70");
    same_as_from_the_first(context, "an end that is an output time", config, "t_end=30", "t_end=70");
    same_as_from_the_first(context, "to another step", config, "t_end=30", "t_end=30.001");
    same_as_from_the_first(context, "in orbits", orbits, "orbits=20.4", "orbits=61");
    run_as(context, config, "t_end=10.5", "run.h5");
    run_as(context, config, "t_end=70", "first.h5");
    assert_ok(context, extend_to(context, "33.33", "run.h5", NULL));
    assert_ok(context, extend_to(context, "70", "run.h5", NULL));
    assert_true(same_bytes("run.h5", "first.h5"));
    free(config);
    free(orbits);
}

/* The epoch of a table is that of its study; the extension has it from the file. */
static void a_table_gives_its_epoch(void **state)
{
    static const char text[] =
        "units = { time = \"yr\"; }; system = { file = \"bodies.csv\"; };\n"
        "integrator = { name = \"mvs\"; dt = 0.02; };\n"
        "run = { engine = \"cpu\"; threads = 1; t_start = 10.0; };\noutput = { file = \"run.h5\"; };\n";
    char path[PATH_MAX];
    place(path, "bodies.csv");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("# epoch: J2000.0\n# time: 10\n# units: AU, Msun, yr\nsystem,body,name,m,x,y,z,vx,vy,vz\n"
          "0,0,star,1,0,0,0,0,0,0\n0,1,b,1e-3,1,0,0,0,6.2832,0\n",
          file);
    assert_int_equal(fclose(file), 0);
    same_as_from_the_first(context_of(state), "a table", text, "t_end=20", "t_end=30");
    unlink(path);
}

/* The config itself names the end, first of the keys of run. */
static void an_end_in_the_file_is_kept_in_its_place(void **state)
{
    static const struct {
        const char *old, *new, *end;
    } rows[] = {
        {"t_end = 10.0; slice_steps = 100;", "t_end = 29.0; slice_steps = 100;", "29"},
        {"t_end = 10; slice_steps = 100;", "t_end = 29; slice_steps = 100;", "29"},
        {"t_end = 10; slice_steps = 100;", "t_end = 29.5; slice_steps = 100;", "29.5"},
        {"t_start = 1.0; t_end = -10.5;", "t_start = 1.0; t_end = -29.0;", "-29"},
    };
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(rows); i++) {
        char *old = config_of("mvs", "dt = 0.02;", GOES_ON, rows[i].old, "interval = 5.0;");
        char *new = config_of("mvs", "dt = 0.02;", GOES_ON, rows[i].new, "interval = 5.0;");
        run_as(context, old, NULL, "run.h5");
        run_as(context, new, NULL, "first.h5");
        assert_ok(context, extend_to(context, rows[i].end, "run.h5", NULL));
        if (!same_bytes("run.h5", "first.h5"))
            fail_msg("%s extended to %s: not the bytes of %s", rows[i].old, rows[i].end, rows[i].new);
        free(old);
        free(new);
    }
}

/* All have ended: the file says a later end, and nothing else changes. */
static void nobody_is_left(void **state)
{
    shoal_context *context = context_of(state);
    char *config = config_of("mvs", "dt = 0.02;", "{ name = \"stop_on_encounter\"; factor = 100.0; }", "",
                             "interval = 1.0;");
    same_as_from_the_first(context, "nobody", config, "t_end=10.01", "t_end=70");
    const tally of = tally_of(context, "run.h5");
    assert_int_equal(of.n_survived, 0);
    free(config);
}

static long n_calls;

static int stop_soon(const shoal_progress *progress, void *user)
{
    (void)progress, (void)user;
    return ++n_calls % 5 == 0;
}

/* The file stays as it is until the longer run is complete, which goes on from its own journal. */
static void an_interrupted_extension_loses_nothing(void **state)
{
    shoal_context *context = context_of(state);
    char path[PATH_MAX];
    char *config = config_of("hybrid", "dt = 0.02;", GOES_ON, "slice_steps = 64; checkpoint_s = 0.0;",
                             "interval = 5.0;");
    run_as(context, config, "t_end=31.007", "run.h5");
    run_as(context, config, "t_end=31.007", "before.h5");
    run_as(context, config, "t_end=70", "first.h5");
    int n_stops = 0;
    shoal_status status;
    while ((status = extend_to(context, "70", "run.h5", stop_soon)) == SHOAL_E_INTERRUPTED) {
        assert_true(same_bytes("run.h5", "before.h5"));
        place(path, "run.h5.journal");
        assert_int_equal(access(path, F_OK), 0);
        n_stops++;
    }
    assert_ok(context, status);
    assert_true(n_stops > 1);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_true(same_bytes("run.h5", "first.h5"));
    free(config);
}

/* ---- some of the systems ----------------------------------------------------------------------------------------- */

static void some_systems_are_the_rows_of_all(void **state)
{
    shoal_context *context = context_of(state);
    char path[PATH_MAX], some[PATH_MAX];
    shoal_study *study = NULL;
    shoal_result *few, *all;
    char *config = config_of("mvs", "dt = 0.02;", GOES_ON, "", "interval = 5.0;");
    place(path, "run.h5");
    place(some, "some.h5");
    run_as(context, config, "t_end=31.007", "run.h5");
    run_as(context, config, "t_end=70", "first.h5");
    shoal_extend_options options = {.file = path, .end = "50", .where = "outcome == survived && system != 3"};
    assert_int_equal(shoal_study_extend(context, &options, &study), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "--output"));
    options.output = some;
    assert_ok(context, shoal_study_extend(context, &options, &study));
    assert_ok(context, shoal_study_run(study, 0, NULL, NULL));
    shoal_study_destroy(&study);
    assert_ok(context, extend_to(context, "70", "some.h5", NULL)); /* a file of some systems can be extended, too */
    place(path, "first.h5");
    assert_ok(context, shoal_store_read(context, path, &all));
    assert_ok(context, shoal_store_read(context, some, &few));
    assert_true(few->n_systems > 2 && few->n_systems < all->n_systems);
    for (long s = 0, row = 0; s < few->n_systems; s++) {
        while (all->id[row] != few->id[s])
            row++;
        assert_int_not_equal(few->id[s], 3);
        const char *what = shoal_result_difference(few, s, all, row);
        if (what)
            fail_msg("system %ld: %s differs", (long)few->id[s], what);
        long n = 0;
        for (long i = 0; i < all->n_events; i++)
            n += all->event_system[i] == row;
        for (long i = 0; i < few->n_events; i++)
            n -= few->event_system[i] == s;
        assert_int_equal(n, 0);
    }
    assert_int_equal(few->n_swept, 2);
    shoal_result_destroy(&few);
    shoal_result_destroy(&all);
    unlink(some);
    free(config);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void refused(shoal_context *context, const char *end, const char *override, const char *why)
{
    char path[PATH_MAX];
    shoal_study *study = NULL;
    place(path, "run.h5");
    const shoal_extend_options options = {.file = path, .end = end, .n_overrides = !!override, .overrides = &override};
    shoal_status status = shoal_study_extend(context, &options, &study);
    if (!status)
        status = shoal_study_run(study, 0, NULL, NULL);
    assert_int_equal(status, SHOAL_E_INPUT);
    if (!strstr(shoal_context_message(context), why))
        fail_msg("\"%s\": expected \"%s\"", shoal_context_message(context), why);
    shoal_study_destroy(&study);
    assert_true(same_bytes("run.h5", "first.h5"));
}

static void nonsense_is_refused(void **state)
{
    shoal_context *context = context_of(state);
    char *config = config_of("mvs", "dt = 0.02; max_steps = 300.0;", GOES_ON, "", "");
    char *none = config_of("mvs", "dt = 0.02;", GOES_ON, "", "extend = false;");
    run_as(context, config, "t_end=5", "run.h5");
    run_as(context, config, "t_end=5", "first.h5");
    refused(context, "5", NULL, "expected a number beyond 5");
    refused(context, "4.9", NULL, "expected a number beyond 5");
    refused(context, "-9", NULL, "expected a number beyond 5");
    refused(context, "nan", NULL, "expected a number beyond 5");
    refused(context, "far", NULL, "expected a number beyond 5");
    refused(context, "9", "integrator.dt=0.01", "integrator.dt = 0.02 and 0.01");
    refused(context, "9", "output.interval=1.0", "output.interval is in the second alone");
    run_as(context, config, "t_end=6.001", "run.h5"); /* its 300 steps are used up */
    run_as(context, config, "t_end=6.001", "first.h5");
    refused(context, "7", NULL, "max_steps = 300");
    run_as(context, none, "t_end=5", "run.h5");
    run_as(context, none, "t_end=5", "first.h5");
    refused(context, "7", NULL, "output.extend = false");
    free(config);
    free(none);
}

/* A run that knows its end from the first step begins again, even without the states. */
static void monitors_of_the_whole_run_begin_again(void **state)
{
    shoal_context *context = context_of(state);
    char *config = config_of("mvs", "dt = 0.02;", "{ name = \"mean_motion_drift\"; }, " GOES_ON, "", "extend = false;");
    same_as_from_the_first(context, "mean_motion_drift", config, "t_end=31.007", "t_end=70");
    free(config);
}

static int begin(void **state)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.1000s/shoal-extend-XXXXXX", temporary ? temporary : "/tmp");
    return mkdtemp(folder) ? setup(state) : -1;
}

static int end(void **state)
{
    static const char *const names[] = {"run.h5", "first.h5", "before.h5"};
    for (int i = 0; i < SHOAL_COUNT(names); i++) {
        char path[PATH_MAX];
        place(path, names[i]);
        unlink(path);
    }
    return rmdir(folder) == 0 ? teardown(state) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_propagator_goes_on),
        cmocka_unit_test(every_monitor_goes_on),
        cmocka_unit_test(all_monitors_go_on_together),
        cmocka_unit_test(what_came_after_the_last_whole_step_is_taken_back),
        cmocka_unit_test(other_ends_are_kept_too),
        cmocka_unit_test(a_table_gives_its_epoch),
        cmocka_unit_test(an_end_in_the_file_is_kept_in_its_place),
        cmocka_unit_test(nobody_is_left),
        cmocka_unit_test(an_interrupted_extension_loses_nothing),
        cmocka_unit_test(some_systems_are_the_rows_of_all),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(monitors_of_the_whole_run_begin_again),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
