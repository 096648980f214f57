/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_certify.c: run.certify: what is made of made-up ends; that a step far too long is found out and a short one is
 * not; that shards, threads, a kill and an interruption leave the same certificate, without a system integrated twice;
 * what is refused.
 *
 * `test_certify die-in K STUDY.cfg` runs a study and kills itself with SIGKILL in the K-th of the three further runs.
 */
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/dying.h"
#include "tests/testing.h"

enum { PATH_SIZE = 256 };

/* Planets that meet within years or never. */
static const char study_text[] =
    "angles = \"degrees\";\n"
    "system = { elements = \"jacobi\"; bodies = (\n"
    "    { name = \"sun\"; m = 1.0; },\n"
    "    { name = \"b\"; m = 1e-3; a = 1.0; e = 0.05; l = 10.0; pomega = 20.0; },\n"
    "    { name = \"c\"; m = 1e-3; a = 1.3; e = 0.02; l = 130.0; inc = 2.0; } ); };\n"
    "sweep = ( { body = \"c\"; parameter = \"a\"; from = 1.1; to = 1.9; count = 20; },\n"
    "          { body = \"c\"; parameter = \"e\"; from = 0.0; to = 0.3; count = 10; } );\n"
    "integrator = { name = \"mvs\"; dt = 0.01; };\n"
    "monitors = ( { name = \"stop_on_encounter\"; radius = \"mutual_hill\"; factor = 1.0; } );\n"
    "run = { t_end = 20.0; engine = \"cpu\"; slice_steps = 500;\n"
    "        certify = { fraction = 0.7; }; };\n"
    "output = { interval = 4.0; };\n";

typedef struct fixture {
    shoal_context *context;
    char folder[PATH_SIZE - 64];
} fixture;

static int set_up(void **state)
{
    const char *place = getenv("TMPDIR");
    fixture *f = calloc(1, sizeof *f);
    if (!f || shoal_context_create(&f->context))
        return -1;
    snprintf(f->folder, sizeof f->folder, "%s/shoal-certify.XXXXXX", place ? place : "/tmp");
    *state = f;
    return mkdtemp(f->folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    char command[PATH_SIZE];
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    const int code = system(command);
    shoal_context_destroy(&f->context);
    free(f);
    return code;
}

/* ---- made-up ends ------------------------------------------------------------------------------------------------ */

/* n systems that all ended at time 1 in all runs: columns of the log by name. */
static shoal_result *made_up(shoal_context *context, long n)
{
    static const char *const names[] = {"system",         "time",          "outcome",        "n_final",
                                        "outcome_shadow", "t_stop_shadow", "n_final_shadow", "outcome_half",
                                        "t_stop_half",    "n_final_half",  "outcome_other",  "t_stop_other",
                                        "n_final_other"};
    shoal_result *result;
    shoal_log *log;
    assert_ok(context, shoal_result_create(context, n, 3, 0, &result));
    assert_ok(context, shoal_result_add_log(context, result, SHOAL_CERTIFY_LOG, SHOAL_COUNT(names), &log));
    assert_ok(context, shoal_log_reserve(context, log, n));
    for (int c = 0; c < log->n_columns; c++) {
        snprintf(log->columns[c].name, sizeof log->columns[c].name, "%s", names[c]);
        const bool outcome = strncmp(names[c], "outcome", 7) == 0;
        if (outcome)
            snprintf(log->columns[c].unit, sizeof log->columns[c].unit, SHOAL_UNIT_OUTCOME);
        for (long i = 0; i < n; i++)
            log->columns[c].value[i] = c == 0 ? (double)i : outcome ? SHOAL_ENCOUNTER : strstr(names[c], "n_f") ? 3 : 1;
    }
    for (long i = 0; i < n; i++) {
        result->id[i] = 100 + i;
        result->t_initial[i] = 0;
    }
    log->n_rows = n;
    return result;
}

/* Give a column of the rows first..end-1 a value. */
static void put(const shoal_result *result, const char *column, long first, long end, double value)
{
    double *values = (double *)(uintptr_t)shoal_log_values(shoal_result_log(result, SHOAL_CERTIFY_LOG), column);
    assert_non_null(values);
    for (long i = first; i < end; i++)
        values[i] = value;
}

static shoal_certified counted(shoal_context *context, const shoal_result *result)
{
    shoal_certified c;
    assert_ok(context, shoal_certify_count(context, result, &c));
    return c;
}

static void test_verdicts(void **state)
{
    shoal_context *context = ((fixture *)*state)->context;
    shoal_result *result = made_up(context, 200);
    shoal_certified c = counted(context, result);
    assert_int_equal(c.verdict, SHOAL_CONVERGED);
    assert_true(c.n == 200 && c.tolerance == 0.05 && c.run[SHOAL_CERTIFY_HALF].n_same == 200);

    /* 40 classes change with half the step: by the count of bodies left, or by the outcome */
    put(result, "n_final_half", 0, 20, 2);
    put(result, "outcome_half", 20, 40, SHOAL_SURVIVED);
    c = counted(context, result);
    const shoal_certified_run *half = &c.run[SHOAL_CERTIFY_HALF];
    assert_int_equal(c.verdict, SHOAL_NOT_CONVERGED);
    assert_true(half->n_same == 160 && half->n_decided == 40 && half->n_chance == 0 && half->n_ended == 180);
    assert_true(half->decided == 0.2 && half->decided_low > 0.13 && half->decided_high < 0.27);

    /* ... and as many in the shadow: chaos, of which 200 systems leave a part open */
    put(result, "outcome_shadow", 100, 140, SHOAL_SURVIVED);
    c = counted(context, result);
    assert_int_equal(c.verdict, SHOAL_UNDECIDED);
    assert_true(c.run[SHOAL_CERTIFY_HALF].n_chance == 40 && c.run[SHOAL_CERTIFY_HALF].decided == 0);
    assert_int_equal(shoal_certify_decider(&c, 0), SHOAL_DECIDED_BY_STEP);
    assert_int_equal(shoal_certify_decider(&c, 100), SHOAL_DECIDED_BY_CHAOS);
    assert_int_equal(shoal_certify_decider(&c, 50), SHOAL_DECIDED_BY_NONE);

    /* ... in the same systems: it decides nothing */
    put(result, "outcome_shadow", 0, 200, SHOAL_ENCOUNTER);
    put(result, "outcome_shadow", 0, 40, SHOAL_SURVIVED);
    assert_int_equal(counted(context, result).verdict, SHOAL_CONVERGED);

    /* the other propagator alone */
    put(result, "outcome_shadow", 0, 40, SHOAL_ENCOUNTER);
    put(result, "outcome_half", 0, 40, SHOAL_ENCOUNTER);
    put(result, "n_final_half", 0, 40, 3);
    put(result, "outcome_other", 150, 190, SHOAL_SURVIVED);
    c = counted(context, result);
    assert_int_equal(c.verdict, SHOAL_NOT_CONVERGED);
    assert_int_equal(shoal_certify_decider(&c, 150), SHOAL_DECIDED_BY_PROPAGATOR);
    shoal_result_destroy(&result);

    result = made_up(context, 10);
    assert_int_equal(counted(context, result).verdict, SHOAL_UNDECIDED);
    shoal_result_destroy(&result);
}

/* What the summary says of a result. */
static char *printed(shoal_context *context, const shoal_result *result)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_ok(context, shoal_certify_print(context, result, out));
    fclose(out);
    return text;
}

static void assert_printed(shoal_context *context, const shoal_result *result, const char *words)
{
    char *text = printed(context, result);
    if (!strstr(text, words))
        fail_msg("no \"%s\" in:\n%s", words, text);
    free(text);
}

/* Systems that all go on to the end are no sign of a short step. */
static void test_not_judged(void **state)
{
    shoal_context *context = ((fixture *)*state)->context;
    static const char *const outcomes[] = {"outcome", "outcome_shadow", "outcome_half", "outcome_other"};
    shoal_result *result = made_up(context, 200);
    for (int k = 0; k < SHOAL_COUNT(outcomes); k++)
        put(result, outcomes[k], 0, 200, SHOAL_SURVIVED);
    assert_int_equal(counted(context, result).verdict, SHOAL_NOT_JUDGED);
    assert_printed(context, result, "step           not judged: no system ended in any of the runs");
    char *text = printed(context, result);
    assert_null(strstr(text, "converged"));
    free(text);

    /* one that ends in one of the runs alone is something to compare; so are bodies that are removed */
    put(result, "outcome_other", 7, 8, SHOAL_EJECTED);
    assert_int_equal(counted(context, result).verdict, SHOAL_CONVERGED);
    put(result, "outcome_other", 7, 8, SHOAL_SURVIVED);
    put(result, "n_final", 7, 8, 2);
    assert_int_equal(counted(context, result).verdict, SHOAL_CONVERGED);
    shoal_result_destroy(&result);
}

/* "undecided" advises what can help. */
static void test_advice(void **state)
{
    shoal_context *context = ((fixture *)*state)->context;
    shoal_result *result = made_up(context, 10);
    assert_printed(context, result, "are allowed: all systems were compared, only a study of more tells more");
    shoal_result_log(result, SHOAL_CERTIFY_LOG)->n_rows = 9;
    assert_printed(context, result, "are allowed: a larger run.certify.fraction tells more");
    result->outcome[9] = SHOAL_INVALID;
    assert_printed(context, result, "are allowed: all systems were compared");
    shoal_result_destroy(&result);
}

/* The tolerance is the config's. */
static void test_tolerance(void **state)
{
    shoal_context *context = ((fixture *)*state)->context;
    shoal_result *result = made_up(context, 10);
    result->config_text = strdup("run : \n{\n  certify : \n  {\n    tolerance = 1;\n  };\n};\n");
    const shoal_certified c = counted(context, result);
    assert_true(c.tolerance == 1);
    assert_int_equal(c.verdict, SHOAL_CONVERGED);
    shoal_result_destroy(&result);
}

static void test_times(void **state)
{
    shoal_context *context = ((fixture *)*state)->context;
    shoal_result *result = made_up(context, 200);
    put(result, "t_stop_half", 0, 200, 1.3); /* all are later */
    shoal_certified c = counted(context, result);
    assert_int_equal(c.verdict, SHOAL_NOT_CONVERGED);
    assert_true(fabs(c.run[SHOAL_CERTIFY_HALF].ratio - log10(1.3)) < 1e-15);
    assert_true(c.run[SHOAL_CERTIFY_HALF].ratio_low > 0 && c.run[SHOAL_CERTIFY_SHADOW].ratio == 0);
    put(result, "t_stop_half", 0, 100, 1 / 1.3); /* earlier as often */
    c = counted(context, result);
    assert_int_equal(c.verdict, SHOAL_CONVERGED);
    assert_true(c.run[SHOAL_CERTIFY_HALF].ratio_low < 0 && c.run[SHOAL_CERTIFY_HALF].ratio_high > 0);

    /* orbits that cross are seen at a look, each tenth step: times within one are the same */
    const char *const outcomes[] = {"outcome", "outcome_shadow", "outcome_half", "outcome_other"};
    for (int k = 0; k < SHOAL_COUNT(outcomes); k++)
        put(result, outcomes[k], 0, 200, SHOAL_CROSSED);
    put(result, "t_stop_half", 0, 200, 0.5);
    for (int steps = 10; steps <= 30; steps += 20) {
        for (long i = 0; i < 200; i++)
            result->n_steps[i] = steps;
        assert_int_equal(counted(context, result).verdict, steps == 10 ? SHOAL_CONVERGED : SHOAL_NOT_CONVERGED);
    }

    /* those that end at the start have a time, too */
    put(result, "time", 0, 200, 0);
    put(result, "t_stop_half", 0, 200, 0);
    c = counted(context, result);
    assert_true(c.run[SHOAL_CERTIFY_HALF].n_ended == 200 && c.run[SHOAL_CERTIFY_HALF].ratio == 0);
    shoal_result_destroy(&result);
}

/* No damaged number goes on as an outcome; other results have no certificate. */
static void test_bad_log(void **state)
{
    shoal_context *context = ((fixture *)*state)->context;
    shoal_result *result = made_up(context, 10);
    const shoal_log *log = shoal_result_log(result, SHOAL_CERTIFY_LOG);
    shoal_certified c;
    snprintf(log->columns[0].unit, sizeof log->columns[0].unit, SHOAL_UNIT_ROW);
    assert_ok(context, shoal_log_check(context, result, log, "x.h5"));
    put(result, "outcome_half", 3, 4, SHOAL_OUTCOMES);
    assert_int_equal(shoal_log_check(context, result, log, "x.h5"), SHOAL_E_INPUT);
    log->columns[5].name[0] = 'x';
    assert_int_equal(shoal_certify_count(context, result, &c), SHOAL_E_INPUT);
    shoal_result_destroy(&result);
    assert_ok(context, shoal_result_create(context, 1, 3, 0, &result));
    assert_int_equal(shoal_certify_count(context, result, &c), SHOAL_E_INPUT);
    shoal_result_destroy(&result);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* What a run told its caller, and when to end it: in this one of the three. */
typedef struct watch {
    bool seen[1 + SHOAL_CERTIFY_RUNS];
    double steps; /* of the study's own run */
    int stop_in;
    bool kill;
    const char *folder; /* to look at in the second of the three, NULL: not to look */
    double certified;   /* what was seen of it */
} watch;

/* The folder has one study. It runs, or has failed, its steps are done, and it certifies. Returns how far. */
static double assert_certifies(const char *folder, shoal_piece_state state)
{
    shoal_piece *pieces;
    shoal_pieces_sum sum;
    long n;
    assert_int_equal(shoal_pieces_find(NULL, folder, &pieces, &n), SHOAL_OK);
    assert_int_equal(n, 1);
    assert_int_equal(pieces->state, state);
    assert_true(pieces->certifies && pieces->fraction == 1);
    const double certified = pieces->certified;
    shoal_pieces_add(pieces, n, &sum);
    assert_true(sum.n == 1 && isnan(sum.seconds_left));
    shoal_pieces_destroy(&pieces, n);
    return certified;
}

static int look(const shoal_progress *progress, void *user)
{
    watch *w = user;
    w->seen[progress->certifying] = true;
    if (!progress->certifying)
        w->steps = progress->system_steps;
    if (w->folder && progress->certifying == 1 + SHOAL_CERTIFY_HALF)
        w->certified = assert_certifies(w->folder, SHOAL_PIECE_RUNNING);
    if (!w->stop_in || progress->certifying != w->stop_in || progress->fraction == 0)
        return 0;
    if (w->kill) {
        die();
    }
    return 1;
}

/* Run study_text into FOLDER/NAME.h5, with up to two overrides. */
static shoal_status run_with(const fixture *f, const char *name, const char *override, const char *other, watch *w)
{
    char output[PATH_SIZE];
    const char *overrides[] = {output, override, other};
    const int n = override && other ? 3 : override ? 2 : 1;
    shoal_study *study;
    snprintf(output, sizeof output, "output.file=%s/%s.h5", f->folder, name);
    assert_ok(f->context, shoal_study_parse(f->context, study_text, "x.cfg", n, overrides, &study));
    const shoal_status status = shoal_study_run(study, 0, look, w);
    shoal_study_destroy(&study);
    return status;
}

static shoal_status run(const fixture *f, const char *name, const char *override, watch *w)
{
    return run_with(f, name, override, NULL, w);
}

static bool there(const fixture *f, const char *name, const char *end)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s.h5%s", f->folder, name, end);
    return access(path, F_OK) == 0;
}

static shoal_result *result_of(const fixture *f, const char *name)
{
    char path[PATH_SIZE];
    shoal_result *result;
    snprintf(path, sizeof path, "%s/%s.h5", f->folder, name);
    assert_ok(f->context, shoal_store_read(f->context, path, &result));
    return result;
}

/* Run to the end, with nothing left beside the result. */
static shoal_result *run_whole(const fixture *f, const char *name, const char *override, watch *w)
{
    static const char *const ends[] = {".journal", ".shadow", ".half", ".other", ".half.journal"};
    assert_ok(f->context, run(f, name, override, w));
    for (int i = 0; i < SHOAL_COUNT(ends); i++)
        assert_false(there(f, name, ends[i]));
    shoal_result *result = result_of(f, name);
    assert_true(result->complete);
    return result;
}

static void assert_same_result(const shoal_result *a, const shoal_result *b)
{
    const shoal_log *one = shoal_result_log(a, SHOAL_CERTIFY_LOG), *other = shoal_result_log(b, SHOAL_CERTIFY_LOG);
    assert_non_null(one);
    assert_non_null(other);
    assert_int_equal(one->n_rows, other->n_rows);
    for (int c = 0; c < one->n_columns; c++)
        assert_memory_equal(one->columns[c].value, other->columns[c].value,
                            (size_t)one->n_rows * sizeof *one->columns[c].value);
    assert_memory_equal(a->t_stop, b->t_stop, (size_t)a->n_systems * sizeof *a->t_stop);
    assert_true(a->n_snapshots > a->n_systems);
    assert_int_equal(a->n_snapshots, b->n_snapshots);
    assert_memory_equal(a->snapshot_time, b->snapshot_time, (size_t)a->n_snapshots * sizeof *a->snapshot_time);
}

static void test_short_step(void **state)
{
    const fixture *f = *state;
    watch w = {0};
    char *text = NULL;
    size_t size;
    shoal_result *result = run_whole(f, "short", NULL, &w);
    const shoal_certified c = counted(f->context, result);
    assert_true(w.seen[0] && w.seen[1] && w.seen[2] && w.seen[3] && w.steps > 0);
    assert_true(c.n > 110 && c.n < 170);
    assert_int_equal(c.verdict, SHOAL_CONVERGED);
    assert_string_equal(c.run[SHOAL_CERTIFY_HALF].changed, "half the step");
    assert_string_equal(c.run[SHOAL_CERTIFY_OTHER].changed, "gauss_radau");
    for (long i = 0; i < c.n; i++) {
        const long s = (long)c.system[i];
        assert_true(c.time[i] == result->t_stop[s] && c.outcome[i] == result->outcome[s]);
        if (c.run[SHOAL_CERTIFY_SHADOW].t_stop[i] < 5) /* it was moved, and by little */
            assert_true(fabs(c.run[SHOAL_CERTIFY_SHADOW].t_stop[i] / c.time[i] - 1) < 1e-6);
    }
    assert_true(c.run[SHOAL_CERTIFY_SHADOW].ratio != 0);
    FILE *out = open_memstream(&text, &size);
    assert_ok(f->context, shoal_certify_print(f->context, result, out));
    fclose(out);
    assert_non_null(strstr(text, "step           converged: half the step changes at most "));
    free(text);
    out = open_memstream(&text, &size);
    assert_ok(f->context, shoal_plot(f->context, result,
                                     &(shoal_plot_options){.kind = "certify", .system = -1, .script = true}, out));
    fclose(out);
    assert_non_null(strstr(text, "c.a"));
    assert_non_null(strstr(text, "$decider3"));
    free(text);
    shoal_result_destroy(&result);
}

static void test_long_step(void **state)
{
    const fixture *f = *state;
    watch w = {0};
    char *text = NULL;
    size_t size;
    shoal_result *result = run_whole(f, "long", "integrator.dt=0.45", &w);
    assert_int_equal(counted(f->context, result).verdict, SHOAL_NOT_CONVERGED);
    FILE *out = open_memstream(&text, &size);
    assert_ok(f->context, shoal_certify_print(f->context, result, out));
    fclose(out);
    assert_non_null(strstr(text, "step           not converged: half the step changes "));
    assert_non_null(strstr(text, "by the step"));
    free(text);
    shoal_result_destroy(&result);
}

/* MEGNO is a part of the class: nothing ends, but a step far too long makes regular motion chaotic. */
static void test_megno(void **state)
{
    const fixture *f = *state;
    static const struct {
        const char *name, *monitors, *dt;
        shoal_verdict verdict;
    } rows[] = {
        {"energies", "monitors=({name=\"energy_error\";})", "integrator.dt=0.3", SHOAL_NOT_JUDGED},
        {"far_too_long", "monitors=({name=\"megno\";})", "integrator.dt=0.3", SHOAL_NOT_CONVERGED},
    };
    for (int i = 0; i < SHOAL_COUNT(rows); i++) {
        watch w = {0};
        assert_ok(f->context, run_with(f, rows[i].name, rows[i].monitors, rows[i].dt, &w));
        shoal_result *result = result_of(f, rows[i].name);
        const shoal_certified c = counted(f->context, result);
        assert_int_equal(c.verdict, rows[i].verdict);
        assert_int_equal(c.megno != NULL, i);
        assert_true(c.dE && c.run[SHOAL_CERTIFY_OTHER].dE);
        for (long k = 0; k < c.n; k++)
            assert_true(c.outcome[k] == SHOAL_SURVIVED && c.dE[k] == result->dE_final[(long)c.system[k]]);
        assert_printed(f->context, result, "  |dE/E|       median ");
        if (i == 1) {
            assert_printed(f->context, result, "bodies left, of those that have not ended chaotic where megno > 2.5\n");
        }
        shoal_result_destroy(&result);
    }
}

/* Steps that adapt: by the tolerance, where the same holds. */
static void test_adaptive(void **state)
{
    const fixture *f = *state;
    watch w = {0};
    shoal_result *result = run_whole(f, "radau", "integrator.name=gauss_radau", &w);
    shoal_certified c = counted(f->context, result);
    assert_int_equal(c.verdict, SHOAL_CONVERGED);
    assert_string_equal(c.run[SHOAL_CERTIFY_HALF].changed, "epsilon / 128");
    assert_string_equal(c.run[SHOAL_CERTIFY_OTHER].changed, "bulirsch_stoer");
    bool moved = false; /* it was another tolerance */
    for (long i = 0; i < c.n; i++)
        moved = moved || c.run[SHOAL_CERTIFY_HALF].t_stop[i] != c.time[i];
    assert_true(moved);
    shoal_result_destroy(&result);
}

/* Which systems are drawn depends on the seed and their ids alone. */
static void test_shards_and_threads(void **state)
{
    const fixture *f = *state;
    watch w = {0};
    shoal_result *whole = run_whole(f, "whole", "run.threads=1", &w), *part[3], *merged;
    shoal_result *threads = run_whole(f, "threads", "run.threads=3", &w);
    assert_same_result(whole, threads);
    static const char *const shards[] = {"run.shard=\"1/3\"", "run.shard=\"2/3\"", "run.shard=\"3/3\""};
    static const char *const names[] = {"part.1-of-3", "part.2-of-3", "part.3-of-3"};
    for (int i = 0; i < 3; i++) {
        assert_ok(f->context, run(f, "part", shards[i], &w));
        part[i] = result_of(f, names[i]);
    }
    assert_ok(f->context, shoal_result_merge(f->context, 3, names, part, false, &merged));
    assert_same_result(whole, merged);
    assert_int_equal(counted(f->context, merged).verdict, SHOAL_CONVERGED);
    shoal_result *other = run_whole(f, "seed", "run.certify.seed=2", &w);
    assert_int_not_equal(shoal_result_log(other, SHOAL_CERTIFY_LOG)->n_rows,
                         shoal_result_log(whole, SHOAL_CERTIFY_LOG)->n_rows);
    for (int i = 0; i < 3; i++)
        shoal_result_destroy(&part[i]);
    shoal_result_destroy(&merged);
    shoal_result_destroy(&whole);
    shoal_result_destroy(&threads);
    shoal_result_destroy(&other);
}

/* None may be drawn: then the log is empty, and nothing is decided. */
static void test_none(void **state)
{
    const fixture *f = *state;
    watch w = {0};
    char *text = NULL;
    size_t size;
    shoal_result *result = run_whole(f, "none", "run.certify.fraction=0.001", &w);
    assert_true(!w.seen[1] && !w.seen[3]);
    assert_int_equal(counted(f->context, result).n, 0);
    assert_int_equal(counted(f->context, result).verdict, SHOAL_UNDECIDED);
    FILE *out = open_memstream(&text, &size);
    assert_ok(f->context, shoal_certify_print(f->context, result, out));
    fclose(out);
    assert_non_null(strstr(text, "none of the systems was drawn"));
    free(text);
    const shoal_plot_options options = {.kind = "certify", .system = -1, .script = true};
    assert_int_equal(shoal_plot(f->context, result, &options, stdout), SHOAL_E_INPUT);
    shoal_result_destroy(&result);
}

/* Systems that cannot be are not among them. */
static void test_impossible(void **state)
{
    const fixture *f = *state;
    watch w = {0};
    shoal_result *result = run_whole(f, "impossible", "sweep.[1].to=1.5", &w);
    const shoal_certified c = counted(f->context, result);
    long n = 0;
    for (long s = 0; s < result->n_systems; s++)
        n += result->outcome[s] == SHOAL_INVALID;
    assert_true(n >= 60 && c.n > 60 && c.n < result->n_systems - n);
    for (long i = 0; i < c.n; i++)
        assert_true(c.outcome[i] == result->outcome[(long)c.system[i]] && c.outcome[i] != SHOAL_INVALID);
    shoal_result_destroy(&result);
}

static void test_interrupted(void **state)
{
    const fixture *f = *state;
    watch w = {.stop_in = 1 + SHOAL_CERTIFY_HALF};
    shoal_result *straight = run_whole(f, "straight", NULL, &(watch){0});
    assert_int_equal(run(f, "stopped", NULL, &w), SHOAL_E_INTERRUPTED);
    shoal_result *partial = result_of(f, "stopped");
    assert_false(partial->complete);
    assert_null(shoal_result_log(partial, SHOAL_CERTIFY_LOG));
    w = (watch){0};
    shoal_result *result = run_whole(f, "stopped", NULL, &w);
    assert_true(w.steps == 0 && !w.seen[1] && w.seen[2] && w.seen[3]);
    assert_same_result(straight, result);
    shoal_result_destroy(&straight);
    shoal_result_destroy(&partial);
    shoal_result_destroy(&result);
}

/* `test_certify die-in K FOLDER` */
static int die_main(char **argv)
{
    fixture f = {0};
    watch w = {.stop_in = atoi(argv[2]), .kill = true};
    snprintf(f.folder, sizeof f.folder, "%s", argv[3]);
    if (shoal_context_create(&f.context))
        return 1;
    return (int)run(&f, "killed", NULL, &w);
}

static int remove_result(const fixture *f, const char *name)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s.h5", f->folder, name);
    return unlink(path);
}

/* After a kill in one of the three, the run and what is before it are not repeated. */
static void test_killed(void **state)
{
    const fixture *f = *state;
    shoal_result *straight = run_whole(f, "straight", NULL, &(watch){0});
    assert_int_equal(remove_result(f, "straight"), 0);
    for (int in = 1; in <= SHOAL_CERTIFY_RUNS; in++) {
        char number[8];
        char *const argv[] = {"test_certify", "die-in", number, (char *)(uintptr_t)f->folder, NULL};
        int status;
        watch w = {0};
        snprintf(number, sizeof number, "%d", in);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            execv("/proc/self/exe", argv);
            _exit(127);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_true(there(f, "killed", ".journal"));
        const double certified = assert_certifies(f->folder, SHOAL_PIECE_FAILED);
        assert_true(certified >= (in - 1) / 3.0 && certified < in / 3.0);
        shoal_result *result = run_whole(f, "killed", NULL, &w);
        assert_true(w.steps == 0);
        for (int k = 1; k <= SHOAL_CERTIFY_RUNS; k++)
            assert_int_equal(w.seen[k], k >= in);
        assert_same_result(straight, result);
        assert_int_equal(remove_result(f, "killed"), 0);
        shoal_result_destroy(&result);
    }
    shoal_result_destroy(&straight);
}

/* While a study certifies, `shoal status` has one study of it. */
static void test_status(void **state)
{
    const fixture *f = *state;
    watch w = {.folder = f->folder, .certified = -1};
    shoal_result *result = run_whole(f, "watched", NULL, &w);
    assert_true(w.certified >= 1 / 3.0 && w.certified <= 2 / 3.0);
    shoal_result_destroy(&result);
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

static void test_refused(void **state)
{
    const fixture *f = *state;
    static const struct {
        const char *name, *override, *message;
    } rows[] = {
        {"none", "run.certify.propagator=mvs", "run.certify.propagator=mvs: expected another propagator than mvs"},
        {"none", "run.certify.propagator=mvss", "run.certify.propagator=mvss: expected another propagator than mvs"},
        {"none", "run.certify.fraction=0.0", "run.certify.fraction=0.0: expected a number above 0 and up to 1"},
        {"gauss_radau", "integrator.epsilon=1e-19", "integrator.epsilon=1e-19: expected at least 1.28e-18"},
    };
    for (int i = 0; i < SHOAL_COUNT(rows); i++) {
        char name[64];
        const char *overrides[] = {rows[i].override, name};
        shoal_study *study;
        snprintf(name, sizeof name, "integrator.name=%s", rows[i].name);
        assert_int_equal(
            shoal_study_parse(f->context, study_text, "x.cfg", strcmp(rows[i].name, "none") ? 2 : 1, overrides, &study),
            SHOAL_E_INPUT);
        if (!strstr(shoal_context_message(f->context), rows[i].message))
            fail_msg("%s", shoal_context_message(f->context));
    }
    /* one system again is no certificate */
    shoal_study *study;
    const char *override = "run.system=3";
    assert_ok(f->context, shoal_study_parse(f->context, study_text, "x.cfg", 1, &override, &study));
    assert_null(study->certify);
    shoal_study_destroy(&study);
}

/* With its file and line: a likelihood, one big system, systems that the other propagator does not take. */
static void test_without_meaning(void **state)
{
    const fixture *f = *state;
    static const char bodies[] =
        "system = { bodies = ( { name = \"sun\"; m = 1.0; }, { name = \"b\"; m = 2.0; a = 1.0; } ); };\n";
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"sample = { parameters = ( { body = \"b\"; parameter = \"a\"; distribution = \"uniform\"; from = 0.9; to = "
         "1.1; } "
         "); };\ndata = ( { name = \"v\"; kind = \"velocity\"; file = \"v.csv\"; } );\n"
         "integrator = { name = \"leapfrog\"; dt = 0.01; };\nrun = { t_end = 1.0; certify = { fraction = 0.5; }; };\n",
         "x.cfg:5: run.certify = {...}: expected no certify with data"},
        {"integrator = { name = \"leapfrog\"; dt = 0.01; };\n"
         "run = { t_end = 1.0;\n certify = { fraction = 1.0; propagator = \"mvs\"; }; };\n",
         "x.cfg:4: run.certify = {...}: expected systems that can be integrated with mvs, too"},
    };
    for (int i = 0; i < SHOAL_COUNT(rows); i++) {
        char text[1024];
        shoal_study *study = NULL;
        snprintf(text, sizeof text, "%s%s", bodies, rows[i].text);
        assert_int_equal(shoal_study_parse(f->context, text, "x.cfg", 0, NULL, &study), SHOAL_E_INPUT);
        if (!strstr(shoal_context_message(f->context), rows[i].message))
            fail_msg("%s", shoal_context_message(f->context));
    }
    shoal_study *study = NULL;
    assert_int_equal(
        shoal_study_parse(f->context,
                          "model = { name = \"plummer\"; n = 8; };\nintegrator = { name = \"leapfrog\"; dt "
                          "= 0.1; };\nrun = { t_end = 1.0; certify = { fraction = 0.5; }; };\n",
                          "x.cfg", 0, NULL, &study),
        SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(f->context), "x.cfg:3: run.certify = {...}: expected"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "die-in") == 0)
        return die_main(argv);
    const struct CMUnitTest tests[] = {
        TEST(test_not_judged),
        TEST(test_advice),
        TEST(test_megno),
        TEST(test_verdicts),
        TEST(test_tolerance),
        TEST(test_times),
        TEST(test_bad_log),
        TEST(test_short_step),
        TEST(test_long_step),
        TEST(test_adaptive),
        TEST(test_shards_and_threads),
        TEST(test_none),
        TEST(test_impossible),
        TEST(test_interrupted),
        TEST(test_killed),
        TEST(test_status),
        TEST(test_refused),
        TEST(test_without_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
