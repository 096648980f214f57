/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_run.c: a study from its config to its result file: what is in the file, that neither slices nor threads nor SIMD
 * width nor snapshots nor a kill in the middle change a bit of it, and what is refused.
 *
 * `test_run die-after K STUDY [key=value ...]` runs a study and kills itself with SIGKILL at progress call K: the test
 * program starts itself like that, since OpenMP does not survive a fork.
 */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/report/plot.h"
#include "core/report/report.h"
#include "core/study/study.h"
#include "tests/dying.h"

#define PATH_SIZE      512
#define MOST_OVERRIDES 16
#define MOST_MB        150

/* Forty systems, so that the second chunk is not full; the closest ones meet within a few years. */
static const char study_text[] =
    "angles = \"degrees\";\n"
    "system = { elements = \"jacobi\"; bodies = (\n"
    "    { name = \"sun\"; m = 1.0; },\n"
    "    { name = \"b\"; m = 1e-3; a = 1.0; e = 0.05; l = 10.0; pomega = 20.0; },\n"
    "    { name = \"c\"; m = 1e-3; a = 1.3; e = 0.02; l = 130.0; inc = 2.0; } ); };\n"
    "sweep = ( { body = \"c\"; parameter = \"a\"; from = 1.1; to = 1.9; count = 8; },\n"
    "          { body = \"c\"; parameter = \"e\"; from = 0.0; to = 0.3; count = 5; } );\n"
    "integrator = { name = \"mvs\"; dt = 0.02; };\n"
    "monitors = ( { name = \"stop_on_encounter\"; radius = \"mutual_hill\"; factor = 1.0; },\n"
    "             { name = \"mean_motion_drift\"; body = \"c\"; }, { name = \"element_range\"; every = 3; },\n"
    "             { name = \"closest_approach\"; } );\n"
    "run = { t_end = 20.0; engine = \"cpu\"; threads = 1; slice_steps = 60; checkpoint_s = 0.0; };\n";

/* The same, larger than life and nearer each other: they merge, are thrown out, and go on. */
static const char going_on_text[] =
    "angles = \"degrees\";\n"
    "system = { elements = \"jacobi\"; bodies = (\n"
    "    { name = \"sun\"; m = 1.0; r = 0.02; },\n"
    "    { name = \"b\"; m = 2e-3; r = 0.004; a = 1.0; e = 0.05; l = 10.0; pomega = 20.0; },\n"
    "    { name = \"c\"; m = 3e-3; r = 0.004; a = 1.3; e = 0.02; l = 130.0; inc = 2.0; },\n"
    "    { name = \"d\"; m = 2e-3; r = 0.004; a = 1.6; e = 0.02; l = 230.0; inc = 1.0; } ); };\n"
    "sweep = ( { body = \"c\"; parameter = \"a\"; from = 1.1; to = 1.4; count = 8; },\n"
    "          { body = \"c\"; parameter = \"e\"; from = 0.0; to = 0.3; count = 5; } );\n"
    "integrator = { name = \"hybrid\"; dt = 0.02; };\n"
    "monitors = ( { name = \"stop_on_encounter\"; radius = \"mutual_hill\"; action = \"log\"; },\n"
    "             { name = \"stop_on_collision\"; action = \"merge\"; }, { name = \"energy_error\"; },\n"
    "             { name = \"closest_approach\"; }, { name = \"transits\"; },\n"
    "             { name = \"stop_on_ejection\"; r_max = 3.0; criterion = \"distance\"; action = \"remove\"; } );\n"
    "run = { t_end = 120.0; engine = \"cpu\"; threads = 1; slice_steps = 300; checkpoint_s = 0.0; };\n"
    "output = { interval = 7.0; };\n";

/* Two bodies whose barycentre drifts; a grid of one. */
static const char drifting_text[] =
    "system = { elements = \"cartesian\"; bodies = (\n"
    "    { name = \"star\"; m = 1.0; x = 3.0; y = 0.0; z = 0.0; vx = 0.5; vy = 0.25; vz = -1.0; },\n"
    "    { name = \"planet\"; m = 1e-3; x = 4.0; y = 0.0; z = 0.0; vx = 0.5; vy = 6.5; vz = -1.0; } ); };\n"
    "integrator = { name = \"mvs\"; dt = 0.02; };\n"
    "run = { t_start = -1.0; t_end = 2.0; engine = \"cpu\"; };\n"
    "output = { interval = 0.7; };\n";

/* A sweep that leaves the possible: ellipses with e >= 1. */
static const char invalid_text[] =
    "system = { bodies = ( { name = \"sun\"; m = 1.0; }, { name = \"b\"; m = 1e-3; a = 1.0; e = 0.1; } ); };\n"
    "sweep = ( { body = \"b\"; parameter = \"e\"; from = 0.0; to = 1.5; count = 4; } );\n"
    "integrator = { name = \"mvs\"; dt = 0.01; };\n"
    "run = { t_end = 1.0; engine = \"cpu\"; };\n";

/* Periods, and with them steps, from 1 to 30. */
static const char uneven_text[] =
    "system = { bodies = ( { name = \"sun\"; m = 1.0; }, { name = \"b\"; m = 1e-3; a = 1.0; e = 0.1; },\n"
    "    { name = \"c\"; m = 1e-4; a = 20.0; } ); };\n"
    "sweep = ( { body = \"b\"; parameter = \"a\"; from = 0.1; to = 1.0; count = 12; scale = \"log\"; } );\n"
    "integrator = { name = \"mvs\"; steps_per_orbit = 60.0; };\n"
    "run = { t_end = 1.0; engine = \"cpu\"; };\n"
    "output = { interval = 0.1; };\n";

typedef struct fixture {
    char folder[PATH_SIZE - 64];
    char study[PATH_SIZE];
    char message[SHOAL_MESSAGE_SIZE]; /* of the last run */
} fixture;

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
    const char *place = getenv("TMPDIR");
    fixture *f = calloc(1, sizeof *f);

    snprintf(f->folder, sizeof f->folder, "%s/shoal-run.XXXXXX", place ? place : "/tmp");
    if (!mkdtemp(f->folder)) {
        return -1;
    }
    snprintf(f->study, sizeof f->study, "%s/study.cfg", f->folder);
    write_file(f->study, study_text);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    char command[PATH_SIZE];
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    const int code = system(command);
    free(f);
    return code;
}

/* Overrides of one run: output.file=FOLDER/NAME.h5 and words separated by blanks. */
typedef struct overrides {
    char text[2 * PATH_SIZE];
    const char *word[MOST_OVERRIDES];
    int n;
} overrides;

static void split_overrides(const fixture *f, const char *name, const char *words, overrides *list)
{
    list->n = 0;
    snprintf(list->text, sizeof list->text, "output.file=%s/%s.h5 %s", f->folder, name, words);
    for (char *word = strtok(list->text, " "); word; word = strtok(NULL, " ")) {
        assert_true(list->n < MOST_OVERRIDES);
        list->word[list->n++] = word;
    }
}

/* Run the fixture's study into FOLDER/NAME.h5. */
static shoal_status run_study(fixture *f, const char *name, const char *words, int overwrite,
                              shoal_progress_callback callback, void *user)
{
    shoal_context *context;
    shoal_study *study = NULL;
    overrides list;

    split_overrides(f, name, words, &list);
    assert_int_equal(shoal_context_create(&context), SHOAL_OK);
    shoal_status status = shoal_study_load(context, f->study, list.n, list.word, &study);
    if (status != SHOAL_OK) {
        fail_msg("the study is refused: %s", shoal_context_message(context));
    }
    status = shoal_study_run(study, overwrite, callback, user);
    snprintf(f->message, sizeof f->message, "%s", shoal_context_message(context));
    shoal_study_destroy(&study);
    shoal_context_destroy(&context);
    return status;
}

static void path_of(const fixture *f, const char *name, const char *end, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/%s.h5%s", f->folder, name, end);
}

static bool there(const fixture *f, const char *name, const char *end)
{
    char path[PATH_SIZE];
    path_of(f, name, end, path);
    return access(path, F_OK) == 0;
}

static shoal_result *read_result(const fixture *f, const char *name)
{
    char path[PATH_SIZE];
    shoal_context *context;
    shoal_result *result = NULL;

    path_of(f, name, "", path);
    assert_int_equal(shoal_context_create(&context), SHOAL_OK);
    if (shoal_store_read(context, path, &result) != SHOAL_OK) {
        fail_msg("%s", shoal_context_message(context));
    }
    shoal_context_destroy(&context);
    return result;
}

/* Run to the end and read the file. */
static shoal_result *run_whole(fixture *f, const char *name, const char *words)
{
    if (run_study(f, name, words, 0, NULL, NULL) != SHOAL_OK) {
        fail_msg("%s: %s", words, f->message);
    }
    assert_true(there(f, name, ""));
    assert_false(there(f, name, ".journal"));
    shoal_result *result = read_result(f, name);
    assert_true(result->complete);
    return result;
}

#define ASSERT_SAME_ARRAY(a, b, member, n) \
    assert_memory_equal((a)->member, (b)->member, (size_t)(n) * sizeof *(a)->member)

/* The rows of the systems are the same, bit for bit. */
static void assert_same_systems(const shoal_result *a, const shoal_result *b)
{
    assert_int_equal(a->n_systems, b->n_systems);
    assert_int_equal(a->n_bodies, b->n_bodies);
    assert_int_equal(a->n_columns, b->n_columns);
    const long n = a->n_systems, n_state = n * a->n_bodies * SHOAL_STATE;
    ASSERT_SAME_ARRAY(a, b, id, n);
    ASSERT_SAME_ARRAY(a, b, outcome, n);
    ASSERT_SAME_ARRAY(a, b, n_live, n);
    ASSERT_SAME_ARRAY(a, b, n_final, n);
    ASSERT_SAME_ARRAY(a, b, body_a, n);
    ASSERT_SAME_ARRAY(a, b, body_b, n);
    ASSERT_SAME_ARRAY(a, b, t_stop, n);
    ASSERT_SAME_ARRAY(a, b, dE_final, n);
    ASSERT_SAME_ARRAY(a, b, n_steps, n);
    ASSERT_SAME_ARRAY(a, b, t_initial, n);
    ASSERT_SAME_ARRAY(a, b, t_final, n);
    ASSERT_SAME_ARRAY(a, b, initial, n_state);
    ASSERT_SAME_ARRAY(a, b, final, n_state);
    for (int c = 0; c < a->n_columns; ++c) {
        assert_string_equal(a->columns[c].name, b->columns[c].name);
        ASSERT_SAME_ARRAY(a, b, columns[c].value, n);
    }
}

static void assert_same(const shoal_result *a, const shoal_result *b)
{
    assert_same_systems(a, b);
    assert_int_equal(a->n_snapshots, b->n_snapshots);
    ASSERT_SAME_ARRAY(a, b, snapshot_system, a->n_snapshots);
    ASSERT_SAME_ARRAY(a, b, snapshot_time, a->n_snapshots);
    ASSERT_SAME_ARRAY(a, b, snapshot, a->n_snapshots * a->n_bodies * SHOAL_STATE);
    assert_int_equal(a->n_events, b->n_events);
    ASSERT_SAME_ARRAY(a, b, event_system, a->n_events);
    ASSERT_SAME_ARRAY(a, b, event_time, a->n_events);
    ASSERT_SAME_ARRAY(a, b, event, a->n_events);
    ASSERT_SAME_ARRAY(a, b, event_a, a->n_events);
    ASSERT_SAME_ARRAY(a, b, event_b, a->n_events);
    ASSERT_SAME_ARRAY(a, b, event_distance, a->n_events);
    ASSERT_SAME_ARRAY(a, b, event_dE, a->n_events);
    assert_int_equal(a->n_logs, b->n_logs);
    for (int l = 0; l < a->n_logs; ++l) {
        assert_int_equal(a->logs[l].n_rows, b->logs[l].n_rows);
        for (int c = 0; c < a->logs[l].n_columns; ++c) {
            ASSERT_SAME_ARRAY(a, b, logs[l].columns[c].value, a->logs[l].n_rows);
        }
    }
}

static long count(const shoal_result *result, int outcome)
{
    long n = 0;
    for (long system = 0; system < result->n_systems; ++system) {
        n += result->outcome[system] == outcome;
    }
    return n;
}

static const double *state_of(const shoal_result *result, const double *states, long row)
{
    return states + row * result->n_bodies * SHOAL_STATE;
}

/* ---- what is in the file ----------------------------------------------------------------------------------------- */

static void test_whole_run(void **state)
{
    fixture *f = *state;
    shoal_result *result = run_whole(f, "whole", "");
    const int a = shoal_result_column(result, "c.a"), drift = shoal_result_column(result, "mean_motion_drift");

    assert_int_equal(result->n_systems, 40);
    assert_int_equal(result->n_axes, 2);
    assert_int_equal(result->n_swept, 2);
    assert_int_equal(result->n_snapshots, 0);
    assert_int_equal(count(result, SHOAL_RUNNING), 0);
    assert_int_equal(count(result, SHOAL_SURVIVED) + count(result, SHOAL_ENCOUNTER), 40);
    assert_true(count(result, SHOAL_SURVIVED) >= 5 && count(result, SHOAL_ENCOUNTER) >= 5);
    assert_string_equal(result->version, shoal_version());
    assert_string_equal(result->units.length_name, "AU");
    assert_string_equal(result->body_name[2], "c");
    assert_true(a >= 0 && a < 2);
    assert_true(result->n_columns > 2);
    /* a monitor's columns of every body and of every pair are named by them, in the config's units */
    const int axis = shoal_result_column(result, "a_max_c"), inc = shoal_result_column(result, "inc_max_c");
    const int closest = shoal_result_column(result, "closest_b_c"),
              least = shoal_result_column(result, "min_separation");
    assert_true(axis > 2 && inc > 2 && closest > 2 && least > 2 && shoal_result_column(result, "a_max_sun") < 0);
    assert_string_equal(result->columns[inc].unit, "deg");
    for (long s = 0; s < 40; s++) {
        assert_true(result->columns[axis].value[s] > 0.9 * result->columns[a].value[s]);
        assert_true(result->columns[inc].value[s] > 1.5 && result->columns[inc].value[s] < 20);
        assert_true(result->columns[closest].value[s] == result->columns[least].value[s]);
    }
    for (long system = 0; system < result->n_systems; ++system) {
        const bool survived = result->outcome[system] == SHOAL_SURVIVED;
        assert_float_equal(result->columns[a].value[system], 1.1 + 0.8 * (double)(system / 5) / 7, 1e-12);
        assert_true(result->t_initial[system] == 0);
        assert_true(isfinite(result->dE_final[system]) && fabs(result->dE_final[system]) < 1e-3);
        if (survived) {
            assert_true(result->t_stop[system] == 20 && result->t_final[system] == 20);
            assert_true(result->n_steps[system] >= 999 && result->n_steps[system] <= 1000);
            assert_int_equal(result->body_a[system], -1);
        } else {
            /* the event lies within the last step */
            assert_true(result->t_stop[system] > 0 && result->t_stop[system] < 20);
            assert_true(result->t_stop[system] <= result->t_final[system] + 1e-12);
            assert_true(result->t_stop[system] >= result->t_final[system] - 0.02 - 1e-12);
            assert_float_equal(result->n_steps[system] * 0.02, result->t_final[system], 1e-9);
            assert_int_equal(result->body_a[system] + result->body_b[system], 3);
        }
        for (int k = 0; k < 3 * SHOAL_STATE; ++k) {
            assert_true(isfinite(state_of(result, result->initial, system)[k]));
            assert_true(isfinite(state_of(result, result->final, system)[k]));
        }
        if (drift >= 0 && survived) {
            assert_true(isfinite(result->columns[drift].value[system]));
        }
    }
    shoal_result_destroy(&result);
}

static void test_frame_of_input(void **state)
{
    fixture *f = *state;
    write_file(f->study, drifting_text);
    shoal_result *result = run_whole(f, "drifting", "");
    const double start[6] = {3.0 + 1e-3 / 1.001, 0, 0, 0.5, 0.25 + 6.25e-3 / 1.001, -1.0};
    const double expected[] = {-1, -0.3, 0.4, 1.1, 1.8, 2};

    assert_int_equal(result->n_systems, 1);
    assert_int_equal(result->n_snapshots, SHOAL_COUNT(expected));
    for (long row = 0; row < result->n_snapshots; ++row) {
        const double *body = state_of(result, result->snapshot, row), t = result->snapshot_time[row];
        assert_float_equal(t, expected[row], 1e-14);
        for (int q = 0; q < 3; ++q) {
            const double x = (body[1 + q] + 1e-3 * body[SHOAL_STATE + 1 + q]) / 1.001;
            const double v = (body[4 + q] + 1e-3 * body[SHOAL_STATE + 4 + q]) / 1.001;
            assert_float_equal(x, start[q] + start[3 + q] * (t + 1), 1e-13);
            assert_float_equal(v, start[3 + q], 1e-13);
        }
        assert_float_equal(body[0], 1, 1e-15);
        assert_float_equal(body[SHOAL_STATE], 1e-3, 1e-18);
    }
    assert_memory_equal(result->snapshot, result->initial, 2 * SHOAL_STATE * sizeof(double));
    assert_memory_equal(state_of(result, result->snapshot, 5), result->final, 2 * SHOAL_STATE * sizeof(double));
    shoal_result_destroy(&result);
}

static void test_invalid_system(void **state)
{
    fixture *f = *state;
    write_file(f->study, invalid_text);
    shoal_result *result = run_whole(f, "invalid", "");

    for (long system = 0; system < 4; ++system) { /* e = 0, 0.5, 1, 1.5 */
        assert_int_equal(result->outcome[system], system < 2 ? SHOAL_SURVIVED : SHOAL_INVALID);
        assert_true(isnan(result->final[system * 2 * SHOAL_STATE + 1]) == (system >= 2));
        assert_true(system < 2 || result->n_steps[system] == 0);
    }
    shoal_result_destroy(&result);
}

static void test_backwards(void **state)
{
    fixture *f = *state;
    shoal_result *result = run_whole(f, "backwards", "run.t_end=-4 output.interval=1.5 output.times=[-0.25,-3.0]");
    const double expected[] = {0, -0.25, -1.5, -3, -4};
    long n = 0;

    for (long row = 0; row < result->n_snapshots; ++row) {
        if (result->snapshot_system[row] == 39) {
            assert_true(n < SHOAL_COUNT(expected));
            assert_float_equal(result->snapshot_time[row], expected[n++], 1e-14);
        }
    }
    assert_int_equal(result->outcome[39], SHOAL_SURVIVED);
    assert_int_equal(n, SHOAL_COUNT(expected));
    shoal_result_destroy(&result);
}

/* ---- the same bits, however it is run ---------------------------------------------------------------------------- */

static void test_snapshots_are_exact(void **state)
{
    fixture *f = *state;
    static const char *const ends[] = {"2.5", "7.5", "8.123456789"};
    shoal_result *plain = run_whole(f, "plain", "");
    shoal_result *shots = run_whole(f, "shots", "output.interval=2.5 output.times=[8.123456789]");

    assert_same_systems(plain, shots); /* watching changes nothing */
    for (int i = 0; i < SHOAL_COUNT(ends); ++i) {
        char words[64], name[16];
        const double t = strtod(ends[i], NULL);
        long n = 0;
        snprintf(words, sizeof words, "run.t_end=%s", ends[i]);
        snprintf(name, sizeof name, "end%d", i);
        shoal_result *shorter = run_whole(f, name, words);
        for (long row = 0; row < shots->n_snapshots; ++row) {
            const int64_t system = shots->snapshot_system[row];
            if (shots->snapshot_time[row] == t && shorter->outcome[system] == SHOAL_SURVIVED) {
                assert_memory_equal(state_of(shots, shots->snapshot, row), state_of(shorter, shorter->final, system),
                                    3 * SHOAL_STATE * sizeof(double));
                n++;
            }
        }
        assert_int_equal(n, count(shorter, SHOAL_SURVIVED));
        shoal_result_destroy(&shorter);
    }
    /* the first rows are the initial states, the last ones those of the survivors */
    assert_memory_equal(shots->snapshot, shots->initial, 40 * 3 * SHOAL_STATE * sizeof(double));
    assert_true(shots->snapshot_time[shots->n_snapshots - 1] == 20);
    shoal_result_destroy(&plain);
    shoal_result_destroy(&shots);
}

static void test_slices_threads_lanes(void **state)
{
    fixture *f = *state;
    static const char *const ways[] = {
        "run.slice_steps=7 run.checkpoint_s=1000",
        "run.slice_steps=1000",
        "run.slice_steps=0 run.threads=0",
        "run.threads=2",
        "run.threads=3",
        "run.lanes=1",
        "run.lanes=4",
        "run.checkpoint_s=0.02",
        "run.wave=32",
    };
    const char *const times = "output.interval=2.5 output.times=[0.01,8.123456789]";
    char words[128];
    snprintf(words, sizeof words, "run.slice_steps=1 run.checkpoint_s=1000 %s", times);
    shoal_result *reference = run_whole(f, "reference", words);

    for (int i = 0; i < SHOAL_COUNT(ways); ++i) {
        char name[16];
        snprintf(words, sizeof words, "%s %s", ways[i], times);
        snprintf(name, sizeof name, "way%d", i);
        shoal_result *result = run_whole(f, name, words);
        assert_same(reference, result);
        shoal_result_destroy(&result);
    }
    shoal_result_destroy(&reference);
}

/* Every system goes on from its output times alone: one that needs ten times the steps is not ahead of the others in
 * the file. */
static void test_nobody_waits(void **state)
{
    fixture *f = *state;
    write_file(f->study, uneven_text);
    shoal_result *reference = run_whole(f, "reference", "run.slice_steps=100000000 run.threads=1");
    static const char *const ways[] = {"run.slice_steps=1 run.checkpoint_s=1000", "run.slice_steps=40 run.threads=2",
                                       "run.lanes=1"};

    assert_int_equal(reference->n_snapshots, 12 * (1 + 9 + 1));
    for (long i = 0; i < reference->n_snapshots; ++i) { /* output by output, system by system */
        assert_int_equal(reference->snapshot_system[i], i % 12);
        assert_true(fabs(reference->snapshot_time[i] - 0.1 * (double)(i / 12)) < 1e-12);
    }
    for (int i = 0; i < SHOAL_COUNT(ways); ++i) {
        char name[16];
        snprintf(name, sizeof name, "way%d", i);
        shoal_result *result = run_whole(f, name, ways[i]);
        assert_same(reference, result);
        shoal_result_destroy(&result);
    }
    shoal_result_destroy(&reference);
}

/* ---- the journal's size ------------------------------------------------------------------------------------------ */

typedef struct watched {
    char journal[PATH_SIZE];
    off_t most; /* bytes */
} watched;

static int watch_journal(const shoal_progress *progress, void *user)
{
    watched *of = user;
    struct stat about;
    (void)progress;
    if (stat(of->journal, &about) == 0 && about.st_size > of->most) {
        of->most = about.st_size;
    }
    return 0;
}

/* With a checkpoint after each slice, too, the journal is never twice as large as the result. */
static void test_size_of_the_journal(void **state)
{
    fixture *f = *state;
    static const char *const ways[] = {
        "run.checkpoint_s=1000",
        "run.slice_steps=20",
        "run.slice_steps=20 output.interval=0.5",
        "run.slice_steps=20 run.wave=1024",
        "run.slice_steps=200 integrator={name=\"gauss_radau\";} monitors=({name=\"megno\";})",
    };
    for (int i = 0; i < SHOAL_COUNT(ways); ++i) {
        char name[16], path[PATH_SIZE], words[256];
        struct stat about;
        watched of = {.most = 0};
        snprintf(name, sizeof name, "sized%d", i);
        snprintf(words, sizeof words, "sweep[0].count=80 sweep[1].count=50 %s", ways[i]);
        path_of(f, name, ".journal", of.journal);
        path_of(f, name, "", path);
        if (run_study(f, name, words, 0, watch_journal, &of) != SHOAL_OK) {
            fail_msg("%s: %s", words, f->message);
        }
        assert_int_equal(stat(path, &about), 0);
        if (of.most == 0 || of.most > 2 * about.st_size) {
            fail_msg("%s: a journal of %lld bytes beside a result of %lld", ways[i], (long long)of.most,
                     (long long)about.st_size);
        }
    }
}

/* ---- killed and interrupted -------------------------------------------------------------------------------------- */

typedef struct countdown {
    int calls; /* progress calls left before it happens */
    bool kill; /* SIGKILL, else ask for the end */
} countdown;

static int count_down(const shoal_progress *progress, void *user)
{
    countdown *left = user;
    (void)progress;
    if (left->calls-- > 0) {
        return 0;
    }
    if (left->kill) {
        die();
    }
    return 1;
}

/* `test_run die-after K STUDY [key=value ...]` */
static int die_main(int argc, char **argv)
{
    shoal_context *context;
    shoal_study *study = NULL;
    countdown left = {.calls = atoi(argv[2]), .kill = true};

    shoal_status status = shoal_context_create(&context);
    if (status == SHOAL_OK) {
        status = shoal_study_load(context, argv[3], argc - 4, (const char *const *)argv + 4, &study);
    }
    if (status == SHOAL_OK) {
        status = shoal_study_run(study, 0, count_down, &left);
    }
    fprintf(stderr, "%s\n", shoal_context_message(context));
    return (int)status;
}

/* Megabytes of the process's memory that are in no file. */
static double memory_mb(void)
{
    char line[128];
    long kb = 0;
    FILE *in = fopen("/proc/self/status", "r");
    while (in && fgets(line, sizeof line, in)) {
        (void)sscanf(line, "RssAnon: %ld", &kb);
    }
    if (in) {
        fclose(in);
    }
    return (double)kb / 1024;
}

static int watch_memory(const shoal_progress *progress, void *user)
{
    double *mb = user; /* at first, the most since */
    const double now = memory_mb();
    mb[0] = mb[0] > 0 ? mb[0] : now;
    mb[1] = fmax(mb[1], now);
    if (progress->fraction > 0.97) {
        printf("# %.0f MB at first, %.0f at most\n", mb[0], mb[1]);
        fflush(stdout);
        _exit(mb[1] - mb[0] < MOST_MB ? 0 : 1);
    }
    return 0;
}

/* `test_run memory STUDY [key=value ...]`: run most of it; 0: the memory grew by less than MOST_MB */
static int memory_main(int argc, char **argv)
{
    shoal_context *context;
    shoal_study *study = NULL;
    double mb[2] = {0};

    shoal_status status = shoal_context_create(&context);
    if (status == SHOAL_OK) {
        status = shoal_study_load(context, argv[2], argc - 3, (const char *const *)argv + 3, &study);
    }
    if (status == SHOAL_OK) {
        status = shoal_study_run(study, 0, watch_memory, mb);
    }
    fprintf(stderr, "%s\n", shoal_context_message(context));
    return 2;
}

/* Run this program with other words; returns how it ended, as waitpid says it. */
static int start_again(const char *const *argv)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        execv("/proc/self/exe", (char *const *)argv);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* 300 MB of snapshots, which do not stay in memory. */
static void test_memory_of_snapshots(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    print_message("the address sanitizer keeps memory that is released\n");
    skip();
#endif
    fixture *f = *state;
    overrides list;
    const char *argv[MOST_OVERRIDES + 4] = {"test_run", "memory", f->study};
    split_overrides(f, "memory",
                    "sweep[0].from=1.6 sweep[0].count=64 sweep[1].to=0.1 sweep[1].count=50 output.interval=0.04 "
                    "run.slice_steps=0 monitors=()",
                    &list);
    memcpy(argv + 3, list.word, (size_t)list.n * sizeof *argv);
    const int status = start_again(argv);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void kill_run(fixture *f, const char *name, const char *words, int calls)
{
    overrides list;
    char number[16];
    const char *argv[MOST_OVERRIDES + 5] = {"test_run", "die-after", number, f->study};

    snprintf(number, sizeof number, "%d", calls);
    split_overrides(f, name, words, &list);
    memcpy(argv + 4, list.word, (size_t)list.n * sizeof *argv);
    const int status = start_again(argv);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static const char shots_words[] = "output.interval=2.5 output.times=[8.123456789]";

/* Kill at several places, with a checkpoint after each slice and with none: the same file in the end. */
static void test_kill_and_restart(void **state)
{
    fixture *f = *state;
    static const int calls[] = {0, 1, 2, 5, 9, 14, 19}; /* at 19 the journal has been written anew */
    shoal_result *straight = run_whole(f, "straight", shots_words);

    for (int i = 0; i < 2 * SHOAL_COUNT(calls); ++i) {
        char name[16], words[128];
        const int k = calls[i / 2];
        snprintf(name, sizeof name, "killed%d", i);
        snprintf(words, sizeof words, "%s%s", shots_words, i % 2 ? " run.checkpoint_s=1000" : "");
        kill_run(f, name, words, k);
        assert_false(there(f, name, ""));
        assert_true(there(f, name, ".journal"));

        /* what was committed is readable, and right */
        shoal_result *part = read_result(f, name);
        assert_false(part->complete);
        assert_int_equal(part->n_systems, 40);
        assert_true(part->n_snapshots >= 40 && part->n_snapshots <= straight->n_snapshots);
        assert_memory_equal(part->snapshot, straight->snapshot, 40 * 3 * SHOAL_STATE * sizeof(double));
        assert_true(k < 9 || count(part, SHOAL_ENCOUNTER) > 0);
        for (long system = 0; system < part->n_systems; ++system) {
            if (part->outcome[system] != SHOAL_RUNNING) {
                assert_int_equal(part->outcome[system], straight->outcome[system]);
                assert_true(part->t_stop[system] == straight->t_stop[system]);
            }
        }
        shoal_result_destroy(&part);

        if (i == 6) { /* once more, on the way */
            kill_run(f, name, words, 3);
        }
        shoal_result *whole = run_whole(f, name, words);
        assert_same(straight, whole);
        shoal_result_destroy(&whole);
    }
    shoal_result_destroy(&straight);
}

/* Mergers and removals: what is in the file, and that a kill neither loses an event nor keeps it twice. */
static void test_systems_that_go_on(void **state)
{
    fixture *f = *state;
    static const int calls[] = {1, 6, 13, 20};
    long n[SHOAL_OUTCOMES] = {0}, n_gone = 0, n_removed[40] = {0};
    write_file(f->study, going_on_text);
    shoal_result *straight = run_whole(f, "straight", "");

    assert_true(shoal_result_log(straight, "transits")->n_rows > straight->n_systems);
    for (long e = 0; e < straight->n_events; ++e) {
        const long system = straight->event_system[e];
        const int what = straight->event[e];
        assert_true(
            e == 0 || straight->event_system[e - 1] < system ||
            (straight->event_system[e - 1] == system && straight->event_time[e - 1] <= straight->event_time[e]));
        n[what]++;
        n_removed[system] += what != SHOAL_ENCOUNTER && !straight->event_ended[e];
        assert_true((what == SHOAL_ENCOUNTER) == (straight->event_dE[e] == 0) || straight->event_ended[e]);
    }
    assert_true(n[SHOAL_ENCOUNTER] > 40 && n[SHOAL_COLLIDED] > 10 && n[SHOAL_EJECTED] > 0);
    for (long system = 0; system < straight->n_systems; ++system) {
        long n_there[2] = {0};
        double mass[2] = {0};
        for (int which = 0; which < 2; ++which) {
            const double *row = state_of(straight, which ? straight->final : straight->initial, system);
            for (int b = 0; b < 4; ++b) {
                n_there[which] += !isnan(row[b * SHOAL_STATE + 1]);
                mass[which] += isnan(row[b * SHOAL_STATE]) ? 0 : row[b * SHOAL_STATE];
            }
        }
        assert_int_equal(n_there[0], straight->n_live[system]);
        assert_int_equal(n_there[1], straight->n_final[system]);
        assert_int_equal(n_there[0] - n_there[1], n_removed[system]);
        assert_true(mass[1] <= mass[0] + 1e-15);
        assert_true(fabs(straight->dE_final[system]) < 3e-3); /* of the map, near the star; one removal is 0.16 */
        n_gone += n_removed[system];
    }
    assert_true(n_gone > 10);
    shoal_result *other = run_whole(f, "other", "run.slice_steps=0 run.threads=3 run.checkpoint_s=1000");
    assert_same(straight, other);
    shoal_result_destroy(&other);
    for (int i = 0; i < 2 * SHOAL_COUNT(calls); ++i) {
        char name[16];
        const char *words = i % 2 ? "run.checkpoint_s=1000" : "";
        snprintf(name, sizeof name, "killed%d", i);
        kill_run(f, name, words, calls[i / 2]);
        shoal_result *part = read_result(f, name);
        assert_true(part->n_events <= straight->n_events && (calls[i / 2] < 13 || part->n_events > 0));
        shoal_result_destroy(&part);
        shoal_result *whole = run_whole(f, name, words);
        assert_same(straight, whole);
        shoal_result_destroy(&whole);
    }
    shoal_result_destroy(&straight);
}

static unsigned char *bytes_of(const fixture *f, const char *name, size_t *size)
{
    char path[PATH_SIZE];
    struct stat about;
    path_of(f, name, "", path);
    FILE *file = fopen(path, "rb");
    assert_true(file && fstat(fileno(file), &about) == 0);
    *size = (size_t)about.st_size;
    unsigned char *bytes = malloc(*size);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

/* The waves change no byte of the file but the key itself and the checksums of that: mergers, logs, snapshots, and what
 * a longer run goes on from. Killed or interrupted in any of them, it goes on, with waves of another size, too. */
static void test_waves(void **state)
{
    fixture *f = *state;
    static const int calls[] = {0, 3, 14, 25, 40};
    size_t size, size_straight, n_differ = 0;
    write_file(f->study, going_on_text);
    shoal_result *straight = run_whole(f, "wave1", "run.wave=64");
    shoal_result *waves = run_whole(f, "wave2", "run.wave=32");
    assert_same(straight, waves);
    shoal_result_destroy(&waves);
    unsigned char *bytes_straight = bytes_of(f, "wave1", &size_straight), *bytes = bytes_of(f, "wave2", &size);
    assert_int_equal(size, size_straight);
    for (size_t i = 0; i < size; ++i) {
        n_differ += bytes[i] != bytes_straight[i];
    }
    assert_true(n_differ <= 3 + 8); /* two digits, that of the file's name; two checksums */
    free(bytes);
    free(bytes_straight);
    for (int i = 0; i < 2 * SHOAL_COUNT(calls); ++i) {
        char name[16];
        countdown left = {.calls = calls[i / 2]};
        snprintf(name, sizeof name, "stopped%d", i);
        if (i % 2) {
            kill_run(f, name, "run.wave=32", calls[i / 2]);
        } else {
            assert_int_equal(run_study(f, name, "run.wave=32", 0, count_down, &left), SHOAL_E_INTERRUPTED);
        }
        shoal_result *part = read_result(f, name); /* systems that have not begun are where they will begin */
        const double *last = state_of(part, part->initial, 39);
        assert_int_equal(part->id[39], 39);
        assert_true(calls[i / 2] > 3 || isnan(last[0]) == (i % 2 == 1));
        assert_true(calls[i / 2] > 3 || i % 2 ||
                    memcmp(last, state_of(part, part->final, 39), 4 * SHOAL_STATE * sizeof *last) == 0);
        shoal_result_destroy(&part);
        shoal_result *whole = run_whole(f, name, i % 3 ? "run.wave=32" : "run.wave=0");
        assert_same(straight, whole);
        shoal_result_destroy(&whole);
    }
    shoal_result_destroy(&straight);
}

/* A GPU leaves the same file whatever the slices, though there the rows of a slice are made while the next one runs;
 * killed, too. Where nobody comes close it is the CPU's file, bit for bit. In an encounter a system makes thousands
 * of substeps: one of the rare last bits in which two machines' lane_rsqrt differ (lane.h) is then enough for
 * another end. */
static void test_gpu_leaves_the_same(void **state)
{
    fixture *f = *state;
    static const char *const words[] = {"run.slice_steps=0", "run.slice_steps=7"};
    const char *missing = shoal_engine_cuda.missing(), *wanted = getenv("SHOAL_TEST_GPU");

    if (missing) {
        if (wanted && strcmp(wanted, "1") == 0) {
            fail_msg("SHOAL_TEST_GPU=1, but %s", missing);
        }
        print_message("%s\n", missing);
        skip();
    }
    for (int text = 0; text < 3; ++text) {
        char name[16], way[128];
        const char *times = text == 0 ? shots_words : "";
        write_file(f->study, text == 0 ? study_text : text == 1 ? going_on_text : uneven_text);
        snprintf(name, sizeof name, "cuda%d", text);
        snprintf(way, sizeof way, "run.engine=cuda %s", times);
        shoal_result *straight = run_whole(f, name, way);
        for (int i = 0; i < 2 * SHOAL_COUNT(words); ++i) {
            snprintf(name, sizeof name, "cuda%d%d", text, i);
            snprintf(way, sizeof way, "run.engine=cuda %s %s", words[i / 2], times);
            if (i % 2) {
                kill_run(f, name, way, 2);
            }
            shoal_result *result = run_whole(f, name, way);
            assert_same(straight, result);
            shoal_result_destroy(&result);
        }
        if (text != 1) {
            snprintf(name, sizeof name, "cpu%d", text);
            shoal_result *cpu = run_whole(f, name, times);
            assert_same(cpu, straight);
            shoal_result_destroy(&cpu);
        }
        shoal_result_destroy(&straight);
    }
}

static void test_interrupt(void **state)
{
    fixture *f = *state;
    shoal_result *straight = run_whole(f, "straight", shots_words);
    countdown left = {.calls = 6};

    assert_int_equal(run_study(f, "broken", shots_words, 0, count_down, &left), SHOAL_E_INTERRUPTED);
    assert_true(there(f, "broken", "") && there(f, "broken", ".journal"));
    shoal_result *part = read_result(f, "broken");
    assert_false(part->complete);
    assert_true(count(part, SHOAL_RUNNING) > 0);
    assert_int_equal(part->n_systems, 40);
    shoal_result_destroy(&part);

    /* at once again, before the first slice: nothing is lost */
    left.calls = 0;
    assert_int_equal(run_study(f, "broken", shots_words, 0, count_down, &left), SHOAL_E_INTERRUPTED);
    shoal_result *whole = run_whole(f, "broken", shots_words);
    assert_same(straight, whole);
    shoal_result_destroy(&whole);
    shoal_result_destroy(&straight);
}

/* A restart goes on where the last checkpoint was, here: after the last slice; it does not begin from the beginning. */
static int stop_at_once(const shoal_progress *progress, void *user)
{
    double *fraction = user;
    *fraction = progress->fraction;
    return 1;
}

static void test_restart_goes_on(void **state)
{
    fixture *f = *state;
    double before = 0;

    for (int k = 1; k <= 16; ++k) {
        char name[16];
        double fraction = -1;
        snprintf(name, sizeof name, "again%d", k);
        kill_run(f, name, "output.interval=10", k);
        assert_int_equal(run_study(f, name, "output.interval=10", 0, stop_at_once, &fraction), SHOAL_E_INTERRUPTED);
        assert_true(fraction > 0 && fraction < 1);
        assert_true(fraction > before);
        before = fraction;
    }
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

static void test_output_exists(void **state)
{
    fixture *f = *state;
    char path[PATH_SIZE];
    struct stat before, after;
    shoal_result *first = run_whole(f, "twice", "");

    path_of(f, "twice", "", path);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(run_study(f, "twice", "", 0, NULL, NULL), SHOAL_E_INPUT);
    assert_non_null(strstr(f->message, "--force"));
    assert_non_null(strstr(f->message, path));
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(before.st_size, after.st_size);
    assert_false(there(f, "twice", ".journal"));

    assert_int_equal(run_study(f, "twice", "", 1, NULL, NULL), SHOAL_OK);
    shoal_result *second = read_result(f, "twice");
    assert_same(first, second);
    shoal_result_destroy(&first);
    shoal_result_destroy(&second);
}

static void test_unwritable_output(void **state)
{
    fixture *f = *state;
    char path[PATH_SIZE];

    assert_int_equal(run_study(f, "no/such/folder", "", 0, NULL, NULL), SHOAL_E_INPUT);
    assert_non_null(strstr(f->message, "no/such/folder.h5"));
    path_of(f, "folder", "", path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(run_study(f, "folder", "", 1, NULL, NULL), SHOAL_E_INPUT);
    assert_int_equal(run_study(f, "study.cfg/x", "", 0, NULL, NULL), SHOAL_E_INPUT);
}

static void test_journal_of_another_study(void **state)
{
    fixture *f = *state;
    char path[PATH_SIZE];

    kill_run(f, "other", "", 9);
    assert_int_equal(run_study(f, "other", "run.t_end=10", 0, NULL, NULL), SHOAL_E_INPUT);
    assert_non_null(strstr(f->message, "config differs"));
    assert_non_null(strstr(f->message, "--force"));
    assert_true(there(f, "other", ".journal"));
    assert_int_equal(run_study(f, "other", "run.t_end=10", 1, NULL, NULL), SHOAL_OK);
    assert_false(there(f, "other", ".journal"));
    shoal_result *result = read_result(f, "other"), *expected = run_whole(f, "ten", "run.t_end=10");
    assert_same(expected, result);
    shoal_result_destroy(&result);
    shoal_result_destroy(&expected);

    path_of(f, "garbage", ".journal", path);
    write_file(path, "this is no journal\n");
    assert_int_equal(run_study(f, "garbage", "", 0, NULL, NULL), SHOAL_E_INPUT);
    assert_true(there(f, "garbage", ".journal"));
    assert_int_equal(run_study(f, "garbage", "", 1, NULL, NULL), SHOAL_OK);
}

/* Two runs of one study at a time: the second is refused, the first ends as if alone. */
static int run_again(const shoal_progress *progress, void *user)
{
    fixture *f = user;
    (void)progress;
    assert_int_equal(run_study(f, "shared", "run.slice_steps=400", 0, NULL, NULL), SHOAL_E_USAGE);
    assert_int_equal(run_study(f, "shared", "run.t_end=10", 1, NULL, NULL), SHOAL_E_USAGE);
    return 0;
}

static void test_two_at_a_time(void **state)
{
    fixture *f = *state;
    assert_int_equal(run_study(f, "shared", "run.slice_steps=400", 0, run_again, f), SHOAL_OK);
}

static void test_bad_times(void **state)
{
    fixture *f = *state;
    shoal_context *context;
    shoal_study *study = NULL;
    overrides list;

    /* whichever of reader and run notices it first */
    split_overrides(f, "times", "output.times=[1.0,21.0]", &list);
    assert_int_equal(shoal_context_create(&context), SHOAL_OK);
    shoal_status status = shoal_study_load(context, f->study, list.n, list.word, &study);
    if (status == SHOAL_OK) {
        status = shoal_study_run(study, 0, NULL, NULL);
    }
    assert_int_equal(status, SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "21"));
    assert_false(there(f, "times", ".journal"));
    shoal_study_destroy(&study);
    shoal_context_destroy(&context);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[1], "die-after") == 0) {
        return die_main(argc, argv);
    }
    if (argc >= 3 && strcmp(argv[1], "memory") == 0) {
        return memory_main(argc, argv);
    }
    const struct CMUnitTest tests[] = {
        TEST(test_whole_run),           TEST(test_frame_of_input),      TEST(test_invalid_system),
        TEST(test_backwards),           TEST(test_snapshots_are_exact), TEST(test_slices_threads_lanes),
        TEST(test_kill_and_restart),    TEST(test_systems_that_go_on),  TEST(test_nobody_waits),
        TEST(test_gpu_leaves_the_same), TEST(test_interrupt),           TEST(test_restart_goes_on),
        TEST(test_output_exists),       TEST(test_unwritable_output),   TEST(test_journal_of_another_study),
        TEST(test_two_at_a_time),       TEST(test_bad_times),           TEST(test_waves),
        TEST(test_size_of_the_journal), TEST(test_memory_of_snapshots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
