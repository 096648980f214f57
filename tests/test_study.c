/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_study.c: a study in parts, and what a config can say of its systems: shards that together are the whole run, how
 * many threads a process should use.
 */
#define _GNU_SOURCE
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <sys/stat.h>

#include "result_fixture.h"
#include "core/report/report.h"
#include "core/study/study.h"

/* Twenty points, two samples at each: 40 systems, so that the second chunk is not full. Some meet early. */
static const char grid_text[] =
    "angles = \"degrees\";\n"
    "system = { elements = \"jacobi\"; bodies = (\n"
    "    { name = \"sun\"; m = 1.0; },\n"
    "    { name = \"b\"; m = 1e-3; a = 1.0; e = 0.05; pomega = 20.0; },\n"
    "    { name = \"c\"; m = 1e-3; a = 1.3; e = 0.02; l = 130.0; inc = 2.0; } ); };\n"
    "sweep = ( { body = \"c\"; parameter = \"a\"; from = 1.1; to = 1.9; count = 5; },\n"
    "          { body = \"c\"; parameter = \"e\"; from = 0.0; to = 0.3; count = 4; } );\n"
    "sample = { count = 2; seed = 7; parameters = (\n"
    "    { body = \"b\"; parameter = \"l\"; distribution = \"uniform\"; from = 0.0; to = 360.0; } ); };\n"
    "integrator = { name = \"mvs\"; dt = 0.02; };\n"
    "monitors = ( { name = \"stop_on_encounter\"; radius = \"mutual_hill\"; factor = 1.0; },\n"
    "             { name = \"mean_motion_drift\"; body = \"c\"; } );\n"
    "run = { t_end = 10.0; engine = \"cpu\"; };\n"
    "output = { file = \"run.h5\"; interval = 2.5; };\n";

/* Systems that go on after encounters and mergers, which are events; transits are logged. */
static const char events_text[] =
    "angles = \"degrees\";\n"
    "system = { bodies = (\n"
    "    { name = \"sun\"; m = 1.0; r = 0.005; }, { name = \"b\"; m = 1e-3; r = 0.02; a = 1.0; e = 0.05; },\n"
    "    { name = \"c\"; m = 1e-3; r = 0.02; a = 1.15; e = 0.05; }, { name = \"d\"; m = 1e-3; r = 0.02; a = 1.35; inc "
    "= 1.0; } ); "
    "};\n"
    "sample = { count = 40; seed = 7; parameters = (\n"
    "    { body = \"c\"; parameter = \"delta_l\"; distribution = \"uniform\"; from = 0.0; to = 360.0; } ); };\n"
    "integrator = { name = \"mvs\"; dt = 0.01; };\n"
    "monitors = ( { name = \"stop_on_encounter\"; action = \"log\"; }, { name = \"stop_on_collision\"; action = "
    "\"merge\"; },\n"
    "    { name = \"transits\"; } );\n"
    "run = { t_end = 30.0; engine = \"cpu\"; };\n"
    "output = { file = \"run.h5\"; interval = 10.0; };\n";

/* Bodies of a table: systems of two, three and four bodies, ids that are no rows, each for as many of its own
 * periods. */
static const char table_text[] = "system = { file = \"table.csv\"; };\n"
                                 "integrator = { name = \"mvs\"; steps_per_orbit = 40; };\n"
                                 "run = { orbits = 10.3; engine = \"cpu\"; };\n"
                                 "output = { file = \"run.h5\"; interval = 2.5; };\n";

static char folder[64] = "/tmp/shoal-study-XXXXXX";
static shoal_context *context;

static void write_text(const char *name, const char *text)
{
    spill(name, text, strlen(text));
}

/* Load study.cfg in the current folder, which is the tests' own, with overrides separated by blanks. */
static shoal_status load(const char *text, const char *words, shoal_study **study)
{
    char copy[512];
    const char *word[16];
    int n = 0;
    write_text("study.cfg", text);
    snprintf(copy, sizeof copy, "%s", words);
    for (char *next = strtok(copy, " "); next; next = strtok(NULL, " "))
        word[n++] = next;
    return shoal_study_load(context, "study.cfg", n, word, study);
}

static shoal_study *load_good(const char *text, const char *words)
{
    shoal_study *study = NULL;
    if (load(text, words, &study))
        fail_msg("%s: %s", words, shoal_context_message(context));
    return study;
}

/* Loading is refused with a message that has these words in it. */
static void assert_refused(const char *text, const char *words, const char *expected)
{
    shoal_study *study = NULL;
    if (load(text, words, &study) != SHOAL_E_INPUT || !strstr(shoal_context_message(context), expected))
        fail_msg("%s: expected \"%s\": %s", words, expected, shoal_context_message(context));
}

static void assert_near(double value, double expected, double tolerance, const char *what)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%s: %.17g is not %.17g", what, value, expected);
}

/* Run it and read its file. */
static shoal_result *run(const char *text, const char *words)
{
    shoal_result *result = NULL;
    shoal_study *study = load_good(text, words);
    if (shoal_study_run(study, 1, NULL, NULL) || shoal_store_read(context, study->output, &result))
        fail_msg("%s: %s", words, shoal_context_message(context));
    unlink(study->output);
    shoal_study_destroy(&study);
    return result;
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

enum { MOST_SHARDS = 8 };

typedef struct shards {
    shoal_result *result[MOST_SHARDS];
    const char *name[MOST_SHARDS];
    char names[MOST_SHARDS][32];
    int n;
} shards;

/* All shards of a study, the last one first. */
static shards run_shards(const char *text, int n)
{
    shards made = {.n = n};
    for (int k = 0; k < n; k++) {
        char words[64];
        snprintf(words, sizeof words, "run.shard=%d/%d", n - k, n);
        made.result[k] = run(text, words);
        snprintf(made.names[k], sizeof made.names[k], "%d-of-%d.h5", n - k, n);
    }
    return made;
}

/* Of the shards first..first+n-1; NULL if it is refused. */
static shoal_result *merge(shards *from, int first, int n, bool partial)
{
    shoal_result *merged = NULL;
    for (int k = 0; k < from->n; k++)
        from->name[k] = from->names[k];
    const shoal_status status = shoal_result_merge(context, n, from->name + first, from->result + first, partial,
                                                   &merged);
    assert_true((status == SHOAL_OK) == (merged != NULL));
    return merged;
}

static void release(shards *old)
{
    for (int k = 0; k < old->n; k++)
        shoal_result_destroy(&old->result[k]);
}

static void shards_together_are_the_whole_run(void **state)
{
    (void)state;
    static const int ways[] = {1, 2, 3, 7};
    static const char *const texts[] = {grid_text, table_text, events_text};
    for (int text = 0; text < SHOAL_COUNT(texts); text++) {
        shoal_result *whole = run(texts[text], "");
        assert_true(whole->n_snapshots > whole->n_systems);
        assert_true(text < 2 || whole->n_events > whole->n_systems);
        assert_true(text < 2 || shoal_result_log(whole, "transits")->n_rows > whole->n_systems);
        for (int way = 0; way < SHOAL_COUNT(ways) && ways[way] <= whole->n_systems; way++) {
            shards parts = run_shards(texts[text], ways[way]);
            for (int k = 1; k < parts.n; k++) /* they share the work */
                assert_true(labs(parts.result[k]->n_systems - parts.result[0]->n_systems) <= 1);
            shoal_result *merged = merge(&parts, 0, parts.n, false);
            if (!merged)
                fail_msg("%d shards: %s", parts.n, shoal_context_message(context));
            assert_same(whole, merged);
            shoal_result_destroy(&merged);
            release(&parts);
        }
        shoal_result_destroy(&whole);
    }
}

static void assert_merge_refused(shards *from, int first, int n, const char *words)
{
    assert_null(merge(from, first, n, false));
    if (!strstr(shoal_context_message(context), words))
        fail_msg("expected \"%s\": %s", words, shoal_context_message(context));
}

static void only_whole_sets_of_shards_are_merged(void **state)
{
    (void)state;
    shards parts = run_shards(grid_text, 4), pair = {.n = 2};
    assert_merge_refused(&parts, 0, 2, "shards missing of 4: 1, 2");

    shoal_result *partial = merge(&parts, 1, 2, true); /* 3 and 2 */
    assert_non_null(partial);
    assert_int_equal(partial->n_systems, 20);
    assert_int_equal(partial->n_axes, 0);
    assert_false(partial->complete);
    for (long s = 0; s < partial->n_systems; s++)
        assert_int_equal(partial->id[s], s / 2 * 4 + 1 + s % 2);
    shoal_result_destroy(&partial);

    pair.result[0] = parts.result[0];
    pair.result[1] = run(grid_text, "run.shard=4/4");
    assert_merge_refused(&pair, 0, 2, "both are shard 4/4");
    static const char *const others[][2] = {
        {"run.shard=1/2", "number of shards"},
        {"run.shard=1/4 sample.seed=8", "config"},
        {"", "no run.shard"},
    };
    for (int k = 0; k < SHOAL_COUNT(others); k++) {
        shoal_result_destroy(&pair.result[1]);
        pair.result[1] = run(grid_text, others[k][0]);
        assert_merge_refused(&pair, 0, 2, others[k][1]);
    }
    shoal_result_destroy(&pair.result[1]);

    parts.result[2]->complete = false;
    assert_merge_refused(&parts, 0, 4, "has not ended");
    parts.result[2]->complete = true;
    parts.result[2]->n_systems--; /* a damaged one */
    assert_merge_refused(&parts, 0, 4, "9 systems, expected 10");
    parts.result[2]->n_systems++;
    parts.result[2]->id[3] = 0;
    assert_merge_refused(&parts, 0, 4, "system 0 is there twice");
    release(&parts);
}

static void a_shard_has_its_name_and_bounds(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"run.shard=2/8", "run.2-of-8.h5"},
        {"run.shard=2/8 output.file=a.b/c", "a.b/c.2-of-8"},
        {"run.system=17", "run.system-17.h5"},
        {"", "run.h5"},
    };
    for (int k = 0; k < SHOAL_COUNT(names); k++) {
        shoal_study *study = load_good(grid_text, names[k][0]);
        assert_string_equal(study->output, names[k][1]);
        shoal_study_destroy(&study);
    }
    assert_refused(grid_text, "run.shard=41/41", "run.shard=41/41: expected at most as many shards as systems, 40");
    assert_refused(grid_text, "run.shard=0/3", "\"i/N\"");
    assert_refused(grid_text, "run.shard=4/3", "\"i/N\"");
    assert_refused(grid_text, "run.shard=1/3x", "\"i/N\"");
    assert_refused(grid_text, "run.system=40", "one of the 40 systems");
    assert_refused(table_text, "run.system=3", "one of the 3 systems");
    assert_refused(grid_text, "run.system=4 run.shard=1/2", "either run.shard or run.system");
}

/* One system of many is the same as among the others. */
static void one_system_is_the_same_alone(void **state)
{
    (void)state;
    for (int text = 0; text < 2; text++) {
        shoal_result *whole = run(text ? table_text : grid_text, "");
        for (long s = 0; s < whole->n_systems; s += text ? 1 : 13) {
            char words[64];
            snprintf(words, sizeof words, "run.system=%lld", (long long)whole->id[s]);
            shoal_result *alone = run(text ? table_text : grid_text, words);
            const size_t row = (size_t)whole->n_bodies * SHOAL_STATE;
            assert_int_equal(alone->n_systems, 1);
            assert_int_equal(alone->n_axes, 0);
            assert_int_equal(alone->id[0], whole->id[s]);
            assert_int_equal(alone->outcome[0], whole->outcome[s]);
            assert_memory_equal(alone->initial, whole->initial + (size_t)s * row, row * sizeof(double));
            assert_memory_equal(alone->final, whole->final + (size_t)s * row, row * sizeof(double));
            for (int c = 0; c < whole->n_columns; c++)
                assert_memory_equal(&alone->columns[c].value[0], &whole->columns[c].value[s], sizeof(double));
            shoal_result_destroy(&alone);
        }
        shoal_result_destroy(&whole);
    }
}

/* ---- systems of different sizes and lengths ---------------------------------------------------------------------- */

/* The shortest period of a system's initial state, in yr. */
static double shortest_period(const shoal_result *result, long s)
{
    shoal_body body[4];
    shoal_orbit orbit[4];
    const double *row = result->initial + s * result->n_bodies * SHOAL_STATE, v = result->units.time;
    double shortest = INFINITY;
    for (int i = 0; i < result->n_live[s]; i++, row += SHOAL_STATE)
        body[i] = (shoal_body){
            .m = row[0], .x = row[1], .y = row[2], .z = row[3], .vx = row[4] / v, .vy = row[5] / v, .vz = row[6] / v};
    assert_int_equal(shoal_orbits_from_bodies(context, SHOAL_JACOBI, result->n_live[s], body, orbit), SHOAL_OK);
    for (int i = 1; i < result->n_live[s]; i++)
        shortest = fmin(shortest, orbit[i].P / result->units.time);
    return shortest;
}

/* A system of a table with bigger ones is the same as in a table of its own, and what it has not is not there. */
static void systems_may_have_different_bodies(void **state)
{
    (void)state;
    static const char alone[] = "system,body,name,m,x,y,z,vx,vy,vz\n7,0,star,1,0,0,0,0,0,0\n7,1,p,1e-3,1,0,0,0,6.2,0\n";
    shoal_result *all = run(table_text, ""), *one;
    assert_int_equal(all->n_bodies, 4);
    assert_int_equal(all->n_live[0], 2);
    assert_int_equal(all->n_live[1], 4);
    assert_int_equal(all->n_live[2], 3);
    write_text("alone.csv", alone);
    one = run(table_text, "system.file=alone.csv");
    assert_int_equal(one->n_bodies, 2);
    assert_memory_equal(one->final, all->final, 2 * SHOAL_STATE * sizeof(double));
    assert_near(one->dE_final[0], all->dE_final[0], 0, "dE");
    assert_near(one->dE_final[0], 0, 1e-6, "dE");
    for (int q = 2 * SHOAL_STATE; q < 4 * SHOAL_STATE; q++)
        assert_true(isnan(all->initial[q]) && isnan(all->final[q]));
    shoal_result_destroy(&one);
    shoal_result_destroy(&all);
}

static void systems_may_have_different_ends(void **state)
{
    (void)state;
    static const char *const words[] = {"", "run.orbits=-10.3", "run.t_start=5", "integrator.name=hermite4_adaptive"};
    for (int k = 0; k < SHOAL_COUNT(words); k++) {
        shoal_result *result = run(table_text, words[k]);
        const double sign = k == 1 ? -1 : 1, t_start = k == 2 ? 5 : 0;
        assert_int_equal(result->n_snapshots, 6 * 3); /* 0, 2.5, 5, 7.5, 10 and 10.3 periods */
        for (long s = 0; s < 3; s++) {
            const double P = shortest_period(result, s), end = t_start + sign * 10.3 * P;
            char alone[128];
            assert_int_equal(result->outcome[s], SHOAL_SURVIVED);
            assert_near(result->t_stop[s], end, 1e-12 * fabs(end), "t_stop");
            assert_true(result->t_final[s] == result->t_stop[s]);
            for (int i = 0; i < 6; i++) {
                assert_int_equal(result->snapshot_system[3 * i + s], s);
                const double time = t_start + sign * (i < 5 ? 2.5 * i : 10.3) * P;
                assert_near(result->snapshot_time[3 * i + s], time, 1e-12 * fabs(end), "time");
            }
            /* the same as with an end in years; which differs in its last bits */
            write_text("study.cfg", table_text);
            snprintf(alone, sizeof alone, "%s run.system=%lld", words[k], (long long)result->id[s]);
            char text[512];
            snprintf(text, sizeof text,
                     "system = { file = \"table.csv\"; }; integrator = { steps_per_orbit = 40; };\n"
                     "run = { t_end = %.17g; engine = \"cpu\"; };\n",
                     result->t_stop[s]);
            shoal_result *one = run(text, k == 1 ? strchr(alone, ' ') : alone);
            assert_near(one->n_steps[0], result->n_steps[s], 0, "steps");
            for (int q = 0; q < result->n_live[s] * SHOAL_STATE; q++)
                assert_near(one->final[q], result->final[s * 4 * SHOAL_STATE + q], 1e-12, "final state");
            shoal_result_destroy(&one);
        }
        shoal_result_destroy(&result);
    }
    assert_refused(table_text, "output.times=[11.0]", "expected orbits from 0 to run.orbits");
}

static int stop_soon(const shoal_progress *progress, void *user)
{
    (void)progress;
    return --*(int *)user < 0;
}

/* Interrupted again and again, a run with ends of their own leaves the same result. */
static void different_ends_survive_restarts(void **state)
{
    (void)state;
    shoal_result *whole = run(table_text, "run.slice_steps=20"), *result = NULL;
    shoal_status status = SHOAL_E_INTERRUPTED;
    int n_runs = 0;
    for (; status == SHOAL_E_INTERRUPTED && n_runs < 100; n_runs++) {
        int calls = 4;
        shoal_study *study = load_good(table_text, "run.slice_steps=20");
        status = shoal_study_run(study, 0, stop_soon, &calls);
        shoal_study_destroy(&study);
    }
    assert_int_equal(status, SHOAL_OK);
    assert_true(n_runs > 3);
    assert_int_equal(shoal_store_read(context, "run.h5", &result), SHOAL_OK);
    unlink("run.h5");
    assert_same(whole, result);
    shoal_result_destroy(&result);
    shoal_result_destroy(&whole);
}

/* The library: times of a plan are counted in orbits, too; systems without any are invalid. */
static void orbits_count_in_the_library(void **state)
{
    (void)state;
    shoal_ensemble *ensemble;
    shoal_plan *plan;
    shoal_body bodies[2] = {{.m = 1}, {.m = 0}};
    const shoal_options options = {.orbits = 3, .steps_per_orbit = 20.5, .engine = "cpu"};
    assert_int_equal(shoal_ensemble_create(context, 2, 2, &ensemble), SHOAL_OK);
    for (long s = 0; s < 2; s++) {
        const shoal_orbit orbits[2] = {{0}, {.a = s + 1.0, .e = 0.3}};
        assert_int_equal(shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbits, bodies), SHOAL_OK);
        assert_int_equal(shoal_ensemble_set_bodies(ensemble, s, 2, bodies), SHOAL_OK);
    }
    assert_int_equal(shoal_plan_create(context, ensemble, &options, &plan), SHOAL_OK);
    assert_int_equal(shoal_plan_integrate(plan, 3.5), SHOAL_E_USAGE);
    for (double t = 1; t <= 3; t += 0.5) {
        assert_int_equal(shoal_plan_integrate(plan, t), SHOAL_OK);
        for (long s = 0; s < 2; s++) {
            shoal_system record;
            shoal_body now[2];
            shoal_ensemble_get_system(ensemble, s, &record);
            shoal_ensemble_get_bodies(ensemble, s, now);
            assert_near(record.time, t * 2 * M_PI * pow(s + 1.0, 1.5), 1e-12, "time");
            assert_near(now[1].x - now[0].x, (s + 1) * (t == floor(t) ? 0.7 : -1.3), 1e-11, "x");
        }
    }
    shoal_plan_destroy(&plan);
    bodies[1].vy *= 3;
    assert_int_equal(shoal_ensemble_set_bodies(ensemble, 0, 2, bodies), SHOAL_OK);
    bodies[1].vy /= 3;
    assert_int_equal(shoal_ensemble_set_bodies(ensemble, 1, 2, bodies), SHOAL_OK);
    assert_int_equal(shoal_plan_create(context, ensemble, &options, &plan), SHOAL_OK);
    assert_int_equal(shoal_plan_integrate(plan, 3), SHOAL_OK);
    shoal_system record[2];
    for (long s = 0; s < 2; s++)
        shoal_ensemble_get_system(ensemble, s, &record[s]);
    assert_int_equal(record[0].outcome, SHOAL_INVALID);
    assert_int_equal(record[1].outcome, SHOAL_SURVIVED);
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);

    static const char unbound[] =
        "system = { bodies = ( { name = \"s\"; m = 1.0; }, { name = \"b\"; m = 0.0; a = 1.0; e = 0.0; } ); };\n"
        "integrator = { dt = 0.02; }; run = { orbits = 2.0; engine = \"cpu\"; }; output = { file = \"run.h5\"; };\n"
        "sweep = ( { body = \"b\"; parameter = \"a\"; values = [1.0, -1.0]; },\n"
        "          { body = \"b\"; parameter = \"e\"; values = [0.5, 1.5]; } );\n";
    shoal_result *result = run(unbound, "");
    for (long s = 0; s < 4; s++)
        assert_int_equal(result->outcome[s], s == 0 ? SHOAL_SURVIVED : SHOAL_INVALID);
    shoal_result *alone = run(unbound, "run.system=3"); /* invalid alone, as among others */
    assert_null(shoal_result_difference(result, 3, alone, 0));
    assert_non_null(shoal_result_difference(result, 0, alone, 0));
    shoal_result_destroy(&alone);
    shoal_result_destroy(&result);
    assert_refused(unbound, "sweep=() system.bodies.b.a=-1 system.bodies.b.e=2",
                   "t_end instead: no orbit of system 0 is bound");
}

/* A plan that is refused says which of the options is at fault, and which system is impossible if it is not. */
static void a_plan_says_what_is_at_fault(void **state)
{
    (void)state;
    static const shoal_setting r_max = {"r_max", -1, NULL}, word = {"kernel", 0, "lzay"};
    static const shoal_plug_options monitors[] = {{"megno", NULL, 0}, {"stop_on_ejection", &r_max, 1}};
    static const shoal_plug_options twice[] = {{"megno", NULL, 0}, {"megno", NULL, 0}}, drag = {"grr", NULL, 0};
    static const struct {
        shoal_options options;
        shoal_fault_of of;
        int index;
        const char *name, *nearest;
    } rows[] = {
        {{.dt = 0.01, .monitors = monitors, .n_monitors = 2}, SHOAL_FAULT_MONITOR, 1, "r_max", NULL},
        {{.dt = 0.01, .monitors = twice, .n_monitors = 2}, SHOAL_FAULT_MONITOR, 1, NULL, NULL},
        {{.dt = 0.01, .propagator = "mvs_jacobi", .settings = &word, .n_settings = 1},
         SHOAL_FAULT_PROPAGATOR,
         0,
         "kernel",
         NULL},
        {{.dt = 0.01, .propagator = "mvz"}, SHOAL_FAULT_PROPAGATOR, 0, NULL, "mvs"},
        {{.dt = 0.01, .forces = &drag, .n_forces = 1}, SHOAL_FAULT_FORCE, 0, NULL, "gr"},
        {{.dt = 0.01, .tune = "often"}, SHOAL_FAULT_OPTION, 0, "tune", NULL},
        {{.dt = 0.01, .gpu_block = 33}, SHOAL_FAULT_OPTION, 0, "gpu_block", NULL},
        {{.dt = 0.01, .dt_max = 0.1}, SHOAL_FAULT_OPTION, 0, "dt_max", NULL},
        {{.dt = 1e-300}, SHOAL_FAULT_OPTION, 0, "dt", NULL},
        {{.steps_per_orbit = 20}, SHOAL_FAULT_OPTION, 0, "steps_per_orbit", NULL}, /* no orbit is bound */
        {{.dt = 0.01}, SHOAL_FAULT_NONE, 0, NULL, NULL},
    };
    const shoal_body unbound[2] = {{.m = 1}, {.x = 1, .vy = 2}};
    for (int i = 0; i < SHOAL_COUNT(rows); i++) {
        shoal_ensemble *ensemble = NULL;
        shoal_options options = rows[i].options;
        shoal_findings findings = {.maker = SHOAL_MAKER_STUDY};
        const shoal_fault *fault = &findings.fault;
        options.t_end = 1;
        assert_int_equal(shoal_ensemble_create(context, 1, 2, &ensemble), SHOAL_OK);
        assert_int_equal(shoal_ensemble_set_bodies(ensemble, 0, 2, unbound), SHOAL_OK);
        const shoal_status status = shoal_plan_check(context, ensemble, &options, &findings);
        if (!status != (rows[i].of == SHOAL_FAULT_NONE) || fault->of != rows[i].of || fault->index != rows[i].index ||
            !fault->name != !rows[i].name || (fault->name && strcmp(fault->name, rows[i].name) != 0) ||
            (rows[i].nearest && (!fault->nearest || strcmp(fault->nearest, rows[i].nearest) != 0)) ||
            (status && !strstr(shoal_context_message(context), fault->expected)))
            fail_msg("row %d: %s", i, shoal_context_message(context));
        shoal_ensemble_destroy(&ensemble);
    }
}

/* A step of 1/16 of P sqrt((1 - e)^3 / (1 + e)) and no more resolves the passage of pericentre. */
static void unresolved_pericentres_are_counted(void **state)
{
    (void)state;
    static const char text[] =
        "system = { bodies = ( { name = \"s\"; m = 1.0; }, { name = \"b\"; m = 0.0; P = 1.0; },\n"
        "                      { name = \"c\"; m = 0.0; P = 20.0; } ); };\n"
        "sweep = ( { body = \"b\"; parameter = \"e\"; from = 0.0; to = 0.9; count = 10; } );\n"
        "integrator = { dt = 0.01; }; run = { t_end = 2.0; };\n";
    static const struct {
        const char *words;
        long n, worst;
        int body;
        double step, steps;
    } cases[] = {
        /* e = 0.6: 0.2 yr is more than 16 steps; 0.7: 0.126 yr is less; 0.9: 0.0229 yr */
        {"", 3, 9, 1, 0.02294157 / 16, 16 / 0.02294157},
        {"integrator.dt=0.0625", 9, 9, 1, NAN, NAN}, /* all but the circle, which it just resolves */
        {"integrator.dt=0.063 sweep[0].to=1e-9", 10, 9, 1, 0.0625, 16},
        {"system.bodies.c.e=0.99", 10, 0, 2, 20 * 7.08881e-4 / 16, 16 / (20 * 7.08881e-4)}, /* 0.0142 yr */
        {"integrator.name=hermite4_adaptive", 0, 0, 0, NAN, NAN},
        {"integrator.name=hybrid", 3, 9, 1, 0.02294157 / 16, 16 / 0.02294157},
        /* all of an orbit that comes near enough is made of substeps: e = 0.9 */
        {"integrator.name=hybrid integrator.pericentre=orbit", 2, 8, 1, 1.0 / 15 / 16, 16 * 15},
        {"integrator.name=hybrid integrator.pericentre=orbit integrator.pericentre_factor=0.1", 0, 0, 0, NAN, NAN},
    };
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        shoal_study *study = load_good(text, cases[k].words);
        if (study->findings.unresolved.n != cases[k].n)
            fail_msg("%s: %ld systems", cases[k].words, study->findings.unresolved.n);
        const shoal_findings *found = &study->findings;
        if (cases[k].n > 0) {
            assert_int_equal(found->unresolved.worst, cases[k].worst);
            assert_int_equal(found->unresolved.body, cases[k].body);
        }
        if (cases[k].step > 0) {
            assert_true(fabs(found->unresolved.step / (study->units.time * cases[k].step) - 1) < 1e-5);
            assert_true(fabs(found->unresolved.steps / cases[k].steps - 1) < 1e-5);
        }
        shoal_study_destroy(&study);
    }
    /* a moon of 3.49 d about a planet of 11.9 yr */
    static const char moon[] =
        "system = { bodies = ( { name = \"s\"; m = 1.0; x = 0.0; y = 0.0; z = 0.0; vx = 0.0; vy = 0.0; vz = 0.0; },\n"
        "    { name = \"p\"; m = 1e-3; x = 5.2; y = 0.0; z = 0.0; vx = 0.0; vy = 2.7567; vz = 0.0; },\n"
        "    { name = \"m\"; m = 0.0; x = 5.2045; y = 0.0; z = 0.0; vx = 0.0; vy = 5.7186; vz = 0.0; } ); };\n"
        "integrator = { name = \"hermite4\"; dt = 1e-3; }; run = { t_end = 2.0; };\n";
    for (int shorter = 0; shorter < 2; shorter++) {
        shoal_study *study = load_good(moon, shorter ? "integrator.dt=5.8e-4" : "");
        const shoal_findings *found = &study->findings;
        assert_int_equal(found->unresolved.n, !shorter);
        assert_true(shorter || (found->unresolved.body == 2 &&
                                fabs(found->unresolved.step / study->units.time / 9.546e-3 * 16 - 1) < 1e-3));
        shoal_study_destroy(&study);
    }
    /* the planet of a star whose companion is heavier is no moon of that */
    static const char planet[] =
        "system = { elements = \"jacobi\"; bodies = ( { name = \"A\"; m = 0.2; }, { name = \"p\"; m = 0.0; a = 1.0; "
        "},\n"
        "    { name = \"B\"; m = 2.0; a = 5.0; } ); };\n"
        "sweep = ( { body = \"p\"; parameter = \"M\"; from = 0.0; to = 6.0; count = 20; } );\n"
        "integrator = { name = \"hermite4\"; dt = 0.139; }; run = { t_end = 2.0; };\n"; /* P / 16 = 0.1398 */
    shoal_study *study = load_good(planet, "");
    assert_int_equal(study->findings.unresolved.n, 0);
    shoal_study_destroy(&study);
    study = load_good(planet, "integrator.dt=0.141");
    assert_int_equal(study->findings.unresolved.n, 20);
    shoal_study_destroy(&study);
    /* nor are planets that pass each other, which for that time are on an orbit along a line, e = 0.999 */
    static const char passing[] =
        "system = { bodies = ( { name = \"s\"; m = 1.0; }, { name = \"b\"; m = 1e-3; a = 1.0; },\n"
        "                      { name = \"c\"; m = 1e-3; a = 1.03; } ); };\n"
        "integrator = { dt = 0.03; }; run = { t_end = 2.0; };\n";
    study = load_good(passing, "");
    assert_int_equal(study->findings.unresolved.n, 0);
    shoal_study_destroy(&study);
}

/* Threads make the systems and choose their steps, in parts; among these systems some are impossible, some have
 * pericentres that the steps do not resolve, some a body out of order. */
static void threads_make_the_same_systems(void **state)
{
    (void)state;
    static const char many[] = "sweep.[0].to=0.4 sweep.[0].from=2.0 sweep.[0].count=61 sweep.[1].to=1.4 "
                               "sweep.[1].count=29 run.threads=";
    shoal_study *study[3];
    for (int k = 0; k < 3; k++) {
        char words[256];
        snprintf(words, sizeof words, "%s%d", many, (int[]){1, 2, 5}[k]);
        study[k] = load_good(grid_text, words);
        const shoal_ensemble *one = study[0]->ensemble, *other = study[k]->ensemble;
        const shoal_findings *found = &study[0]->findings, *again = &study[k]->findings;
        const size_t lanes = (size_t)one->n_chunks * SHOAL_CHUNK * sizeof(double);
        assert_int_equal(other->n_systems, 61 * 29 * 2);
        assert_memory_equal(one->bodies, other->bodies, lanes * (size_t)one->n_bodies * SHOAL_QUANTITIES);
        assert_memory_equal(one->systems, other->systems, lanes * SHOAL_SYS_FIELDS);
        assert_memory_equal(one->id, other->id, (size_t)one->n_systems * sizeof *one->id);
        for (int c = 0; c < study[0]->n_swept; c++)
            assert_memory_equal(study[0]->swept[c].value, study[k]->swept[c].value,
                                (size_t)one->n_systems * sizeof(double));
        /* e = 1.4 / 28 * 20 is the first impossible one */
        assert_int_equal(again->n_invalid, 61 * 9 * 2);
        assert_int_equal(again->first_invalid, 40);
        assert_string_equal(again->why_invalid, found->why_invalid);
        assert_true(again->unresolved.n > 0 && again->n_disordered > 0);
        assert_int_equal(again->unresolved.n, found->unresolved.n);
        assert_int_equal(again->unresolved.worst, found->unresolved.worst);
        assert_int_equal(again->unresolved.body, found->unresolved.body);
        assert_true(again->unresolved.step == found->unresolved.step && again->run_steps == found->run_steps);
        assert_int_equal(again->n_disordered, found->n_disordered);
        assert_int_equal(again->first_disordered, found->first_disordered);
    }
    for (int k = 0; k < 3; k++)
        shoal_study_destroy(&study[k]);
}

/* Jacobi coordinates need the inner bodies first. Bodies without mass, crossing orbits and moons do not matter. */
static void bodies_out_of_order_are_found(void **state)
{
    (void)state;
    static const char text[] =
        "system = { bodies = ( { name = \"s\"; m = 1.0; }, { name = \"b\"; m = 1e-3; a = 5.2; },\n"
        "  { name = \"c\"; m = 1e-4; a = 9.5; e = 0.05; }, { name = \"d\"; m = 0.0; a = 20.0; } );\n"
        "  elements = \"astrocentric\"; };\n"
        "integrator = { dt = 0.01; }; run = { t_end = 2.0; };\n";
    static const struct {
        const char *words;
        long n;
        int outer, inner;
    } cases[] = {
        {"", 0, 0, 0},
        {"system.bodies.c.a=1.0", 1, 1, 2},
        {"system.bodies.c.m=0.0", 0, 0, 0},
        {"system.bodies.d.a=7.0", 1, 2, 3},
        {"system.bodies.d.a=1.0", 1, 2, 3},
        {"system.bodies.b.m=0.0 system.bodies.b.a=15.0", 0, 0, 0},
        {"system.bodies.c.e=0.6", 0, 0, 0},
        {"system.bodies.c.a=5.1 system.bodies.c.e=0.0 system.bodies.c.f=0.01", 0, 0, 0}, /* in b's Hill sphere */
        {"system.bodies.c.a=5.1 system.bodies.c.e=0.0 system.bodies.c.f=3.0", 1, 1, 2},
    };
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        shoal_study *study = load_good(text, cases[k].words);
        const shoal_findings *found = &study->findings;
        if (found->n_disordered != cases[k].n || found->disordered[0] != cases[k].outer ||
            found->disordered[1] != cases[k].inner)
            fail_msg("%s: %ld systems, %d before %d", cases[k].words, found->n_disordered, found->disordered[0],
                     found->disordered[1]);
        shoal_study_destroy(&study);
    }
}

/* ---- bodies tied to others --------------------------------------------------------------------------------------- */

/* The difference of two angles, -pi..pi. */
static double apart(double a, double b)
{
    return remainder(a - b, 2 * M_PI);
}

/* What is asked of tied bodies holds of the bodies made: masses, periods, mutual Hill radii and longitudes, in every
 * frame. */
static void tied_bodies_are_where_they_should_be(void **state)
{
    (void)state;
    static const char *const frames[] = {"jacobi", "astrocentric", "barycentric"};
    static const shoal_frame frame[] = {SHOAL_JACOBI, SHOAL_ASTROCENTRIC, SHOAL_BARYCENTRIC};
    for (int k = 0; k < SHOAL_COUNT(frames); k++) {
        char text[2048];
        snprintf(text, sizeof text,
                 "angles = \"degrees\"; system = { elements = \"%s\"; bodies = ( { name = \"star\"; m = 0.8; },\n"
                 "  { name = \"b\"; msini = 1e-3; inc = 90.0; P = 0.7; e = 0.1; pomega = 250.0; l = 300.0; },\n"
                 "  { name = \"c\"; msini = 2e-3; inc = 60.0; Omega = 40.0; period_ratio = 2.0; h = 0.1; k = 0.2;\n"
                 "    delta_l = 90.0; },\n"
                 "  { name = \"d\"; m = 3e-4; hill_spacing = 8.0; e = 0.2; delta_pomega = 180.0; T = 0.3; },\n"
                 "  { name = \"x\"; m = 0.0; relative_to = \"b\"; period_ratio = 5.0; e = 0.3; delta_pomega = -60.0;\n"
                 "    delta_l = 7.0; } ); };\n"
                 "sweep = ( { body = \"c\"; parameter = \"period_ratio\"; values = [1.5, 2.1]; },\n"
                 "          { body = \"c\"; parameter = \"inc\"; values = [150.0, 45.0]; } );\n"
                 "sample = { count = 5; parameters = (\n"
                 "  { body = \"d\"; parameter = \"hill_spacing\"; distribution = \"uniform\"; from = -3.0; to = 12.0; "
                 "} ); };\n"
                 "integrator = { dt = 0.01; }; run = { t_end = 1.0; };\n",
                 frames[k]);
        shoal_study *study = load_good(text, "");
        assert_string_equal(study->swept[0].name, "c.period_ratio");
        for (long s = 0; s < 20; s++) {
            shoal_body body[5];
            shoal_orbit orbit[5];
            double pomega[5], l[5];
            shoal_ensemble_get_bodies(study->ensemble, s, body);
            assert_int_equal(shoal_orbits_from_bodies(context, frame[k], 5, body, orbit), SHOAL_OK);
            for (int i = 1; i < 5; i++) {
                const double sense = cos(orbit[i].inc) < 0 ? -1 : 1;
                pomega[i] = orbit[i].Omega + sense * orbit[i].omega;
                l[i] = pomega[i] + sense * orbit[i].M;
            }
            assert_near(body[1].m, 1e-3, 1e-18, "m of b");
            assert_near(body[2].m, 2e-3 / sin(study->swept[1].value[s] * M_PI / 180), 1e-17, "m of c");
            assert_near(orbit[2].P / orbit[1].P, study->swept[0].value[s], 1e-12, "P of c");
            assert_near(orbit[4].P / orbit[1].P, 5, 1e-12, "P of x");
            const double hill = cbrt((body[2].m + body[3].m) / (3 * body[0].m)) * (orbit[2].a + orbit[3].a) / 2;
            assert_near((orbit[3].a - orbit[2].a) / hill, study->swept[2].value[s], 1e-11, "a of d");
            assert_near(apart(l[2], l[1]), M_PI / 2, 1e-11, "l of c");
            assert_near(fabs(apart(pomega[3], pomega[2])), M_PI, 1e-11, "pomega of d");
            assert_near(apart(pomega[4], pomega[1]), -M_PI / 3, 1e-11, "pomega of x");
            assert_near(apart(l[4], l[1]), 7 * M_PI / 180, 1e-11, "l of x");
        }
        shoal_study_destroy(&study);
    }
}

static void assert_first_alone_runs(const shoal_study *study, long n)
{
    assert_int_equal(study->ensemble->n_systems, n);
    for (long s = 0; s < n; s++) {
        shoal_system record;
        shoal_ensemble_get_system(study->ensemble, s, &record);
        assert_int_equal(record.outcome, s == 0 ? SHOAL_RUNNING : SHOAL_INVALID);
    }
}

/* What cannot be is an invalid system, as in any sweep, and refused where nothing varies. */
static void impossible_ties_are_invalid(void **state)
{
    (void)state;
    static const char text[] =
        "system = { bodies = ( { name = \"star\"; m = 1.0; }, { name = \"b\"; m = 1e-3; a = 1.0; },\n"
        "  { name = \"c\"; m = 1e-3; hill_spacing = 5.0; } ); };\n"
        "sweep = ( { body = \"c\"; parameter = \"hill_spacing\"; values = [5.0, 50.0]; } );\n"
        "integrator = { dt = 0.01; }; run = { t_end = 1.0; };\n";
    shoal_study *study = load_good(text, "");
    assert_first_alone_runs(study, 2);
    shoal_study_destroy(&study);
    assert_refused(text, "sweep=() system.bodies.c.hill_spacing=50", "not so many Hill radii that there is no such a");
    assert_refused(
        "system = { bodies = ( { name = \"star\"; m = 1.0; }, { name = \"b\"; m = 1e-3; a = -1.0; e = 2.0; },\n"
        "  { name = \"c\"; m = 1e-3; period_ratio = 2.0; } ); };\n"
        "integrator = { dt = 0.01; }; run = { t_end = 1.0; };\n",
        "", "not a ratio to no period");
}

/* Draws and ties give any number: no period of them is its absolute value. */
static void periods_below_0_are_invalid(void **state)
{
    (void)state;
    static const char *const parameters[] = {"P", "period_ratio"};
    for (int i = 0; i < SHOAL_COUNT(parameters); i++) {
        char text[1000], words[100];
        snprintf(text, sizeof text,
                 "system = { bodies = ( { name = \"star\"; m = 1.0; }, { name = \"b\"; m = 1e-3; a = 1.0; },\n"
                 "  { name = \"c\"; m = 1e-3; %s = 3.0; } ); };\n"
                 "sample = { file = \"periods.csv\"; parameters = ( { body = \"c\"; parameter = \"%s\"; } ); };\n"
                 "integrator = { dt = 0.01; }; run = { t_end = 1.0; };\n",
                 parameters[i], parameters[i]);
        snprintf(words, sizeof words, "c.%s\n2.5\n-2.5\n0\n", parameters[i]);
        write_text("periods.csv", words);
        shoal_study *study = load_good(text, "");
        assert_first_alone_runs(study, 3);
        shoal_study_destroy(&study);
        snprintf(words, sizeof words, "c.%s\n-2.5\n", parameters[i]);
        write_text("periods.csv", words);
        snprintf(words, sizeof words, "%s <= 0", parameters[i]);
        assert_refused(text, "", words);
    }
    assert_refused(
        "system = { bodies = ( { name = \"star\"; m = 1.0; }, { name = \"b\"; m = 1e-3; }, { name = \"c\"; m = 1e-3; } "
        "); };\n"
        "sample = { parameters = ( { body = \"b\"; parameter = \"P\"; distribution = \"uniform\"; from = 2.0; to = "
        "3.0; "
        "} );\n  tied = ( { body = \"c\"; parameter = \"P\"; to = \"b.P\"; add = -9.0; } ); };\n"
        "integrator = { dt = 0.01; }; run = { t_end = 1.0; };\n",
        "", "P <= 0");
}

/* Draws and ties give any inclination: none outside of what may be written is folded back into it. */
static void inclinations_out_of_bounds_are_invalid(void **state)
{
    (void)state;
    static const char *const wrong[] = {"-30", "370", "180.001"};
    static const char text[] =
        "angles = \"degrees\";\n"
        "system = { bodies = ( { name = \"star\"; m = 1.0; }, { name = \"b\"; m = 1e-3; a = 1.0; },\n"
        "  { name = \"c\"; m = 1e-3; a = 3.0; } ); };\n"
        "sample = { file = \"inclinations.csv\"; parameters = ( { body = \"c\"; parameter = \"inc\"; } ); };\n"
        "integrator = { dt = 0.01; }; run = { t_end = 1.0; };\n";
    for (int i = 0; i < SHOAL_COUNT(wrong); i++) {
        char draws[100];
        snprintf(draws, sizeof draws, "c.inc\n180\n%s\n", wrong[i]);
        write_text("inclinations.csv", draws);
        shoal_study *study = load_good(text, "");
        assert_first_alone_runs(study, 2);
        assert_string_equal(study->findings.why_invalid, *wrong[i] == '-' ? "inc < 0" : "inc > 180 degrees");
        shoal_study_destroy(&study);
    }
    write_text("inclinations.csv", "c.inc\n180.0001\n0\n"); /* as rounded, in radians */
    shoal_study *study = load_good(text, "");
    assert_int_equal(study->findings.n_invalid, 0);
    shoal_study_destroy(&study);
    write_text("inclinations.csv", "c.inc\n10\n");
    assert_refused(text, "sample.tied=({body=\"b\";parameter=\"inc\";to=\"c.inc\";ratio=-1.0;})", "inc < 0");
}

/* Masses may be beyond all numbers. */
static void masses_without_end_are_invalid(void **state)
{
    (void)state;
    static const char text[] = "system = { bodies = ( { name = \"star\"; m = 1.0; }, { name = \"b\"; a = 1.0; },\n"
                               "  { name = \"c\"; mass_ratio = 1e-3; a = 3.0; } ); };\n"
                               "sweep = ( { body = \"b\"; parameter = \"log10_m\"; values = [-3.0, 400.0]; } );\n"
                               "integrator = { dt = 0.01; }; run = { t_end = 1.0; };\n";
    shoal_study *study = load_good(text, "");
    assert_first_alone_runs(study, 2);
    assert_string_equal(study->findings.why_invalid, "a mass that is not finite");
    shoal_study_destroy(&study);
    assert_refused(text, "sweep=() system.bodies.b.log10_m=400", "expected a finite mass");
    assert_refused(text, "sweep=() system.bodies.b.m=1e-3 system.bodies.star.m=1e200 system.bodies.c.mass_ratio=1e200",
                   "system.bodies.c.mass_ratio=1e200: expected a finite mass");
}

/* An axis or a random value moves all the bodies that it names, and none twice. */
static void several_bodies_move_together(void **state)
{
    (void)state;
    static const char text[] =
        "system = { bodies = ( { name = \"star\"; m = 1.0; }, { name = \"b\"; m = 1e-5; a = 1.0; },\n"
        "  { name = \"c\"; m = 1e-5; hill_spacing = 5.0; }, { name = \"d\"; m = 1e-5; hill_spacing = 5.0; } ); };\n"
        "sweep = ( { body = \"c\"; also = [ \"d\" ]; parameter = \"hill_spacing\"; values = [4.0, 9.0]; } );\n"
        "sample = { count = 3; parameters = ( { body = \"b\"; also = [ \"c\", \"d\" ]; parameter = \"e\";\n"
        "                                      distribution = \"uniform\"; from = 0.0; to = 0.1; } ); };\n"
        "integrator = { dt = 0.01; }; run = { t_end = 1.0; };\n";
    shoal_study *study = load_good(text, "");
    assert_string_equal(study->swept[0].name, "c.hill_spacing");
    for (long s = 0; s < 6; s++) {
        shoal_body body[4];
        shoal_orbit orbit[4];
        shoal_ensemble_get_bodies(study->ensemble, s, body);
        assert_int_equal(shoal_orbits_from_bodies(context, SHOAL_JACOBI, 4, body, orbit), SHOAL_OK);
        for (int i = 1; i < 4; i++) {
            const double hill = i > 1 ? cbrt(2e-5 / 3) * (orbit[i].a + orbit[i - 1].a) / 2 : 1;
            assert_true(i == 1 || fabs((orbit[i].a - orbit[i - 1].a) / hill - (s < 3 ? 4 : 9)) < 1e-11);
            assert_near(orbit[i].e, study->swept[1].value[s], 1e-13, "e");
        }
    }
    shoal_study_destroy(&study);
    assert_refused(text, "sweep.[0].also=[\"c\"]", "a parameter that is varied only once");
    assert_refused(text, "sweep.[0].also=[\"x\"]", "a body's name or index");
    assert_refused(text, "sample.parameters.[0].parameter=\"hill_spacing\"", "a parameter that is varied only once");
}

/* ---- distributions ----------------------------------------------------------------------------------------------- */

static double two_sided(double (*P)(double, double), double x, double sigma, double from, double to)
{
    return (P(x, sigma) - P(from, sigma)) / (P(to, sigma) - P(from, sigma));
}

static double uniform_1_3(double x)
{
    return gsl_cdf_flat_P(x, 1, 3);
}
static double log_uniform_1_100(double x)
{
    return log(x) / log(100);
}
static double steep_1_50(double x)
{
    return (1 - pow(x, -1.35)) / (1 - pow(50, -1.35));
}
static double flat_log_1_50(double x)
{
    return log(x) / log(50);
}
static double square_1_3(double x)
{
    return (x * x * x - 1) / 26;
}
static double normal_5(double x)
{
    return gsl_cdf_gaussian_P(x - 5, 0.5);
}
static double normal_3_4(double x)
{
    return two_sided(gsl_cdf_gaussian_P, x, 1, 3, 4);
}
static double log_normal_1(double x)
{
    return gsl_cdf_lognormal_P(x, 1, 0.5);
}
static double rayleigh_2(double x)
{
    return gsl_cdf_rayleigh_P(x, 2);
}
static double rayleigh_below_1(double x)
{
    return two_sided(gsl_cdf_rayleigh_P, x, 0.6, 0, 1);
}
static double exponential_2(double x)
{
    return gsl_cdf_exponential_P(x, 2);
}
static double sphere(double x)
{
    return (1 - cos(x)) / 2;
}
static double cone(double x)
{
    return (1 - cos(x)) / (1 - cos(0.1));
}
static double belt(double x)
{
    return (cos(1.2) - cos(x)) / (cos(1.2) - cos(1.9));
}
static double beta_2_5(double x)
{
    return gsl_cdf_beta_P(x, 2, 5);
}
static double nearly_circles(double x)
{
    return (gsl_cdf_beta_P(x, 50, 1000) - gsl_cdf_beta_P(0.01, 50, 1000)) / gsl_cdf_beta_Q(0.01, 50, 1000);
}

static double kipping(double x)
{
    return gsl_cdf_beta_P(x, 0.867, 3.03);
}

static int by_value(const void *a, const void *b)
{
    const double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* sqrt(n) times the largest distance of the distribution of n sorted values from the one expected (Kolmogorov &
 * Smirnov). */
static double distance(const double *value, long n, double scale, double (*P)(double))
{
    double most = 0;
    for (long i = 0; i < n; i++) {
        const double p = fmin(fmax(P(value[i] * scale), 0), 1);
        most = fmax(most, fmax(p - (double)i / (double)n, (double)(i + 1) / (double)n - p));
    }
    return sqrt((double)n) * most;
}

/* Each distribution passes the test of Kolmogorov and Smirnov at a level of 1 in 1000, at which 1.95 is exceeded,
 * and its values times 1.05 do not. The seed is fixed: it passes always or never. */
static void values_have_their_distributions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double (*P)(double);
    } cases[] = {
        {"uniform\"; from = 1; to = 3;", uniform_1_3},
        {"log_uniform\"; from = 1; to = 100;", log_uniform_1_100},
        {"power_law\"; from = 1; to = 50; exponent = -2.35;", steep_1_50},
        {"power_law\"; from = 1; to = 50; exponent = -1;", flat_log_1_50},
        {"power_law\"; from = 1; to = 3; exponent = 2;", square_1_3},
        {"normal\"; mean = 5; sigma = 0.5;", normal_5},
        {"truncated_normal\"; mean = 0; sigma = 1; from = 3; to = 4;", normal_3_4},
        {"log_normal\"; mean = 1; sigma = 0.5;", log_normal_1},
        {"rayleigh\"; sigma = 2;", rayleigh_2},
        {"rayleigh\"; sigma = 0.6; to = 1;", rayleigh_below_1},
        {"exponential\"; mean = 2;", exponential_2},
        {"isotropic\";", sphere},
        {"isotropic\"; to = 0.1;", cone},
        {"isotropic\"; from = 1.2; to = 1.9;", belt},
        {"beta\"; alpha = 2; beta = 5;", beta_2_5},
        {"beta\"; alpha = 50; beta = 1000; from = 0.01; to = 0.5;", nearly_circles},
        {"beta\";", kipping},
    };
    enum { N = 20000 };
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        char text[512];
        snprintf(text, sizeof text,
                 "angles = \"radians\"; system = { bodies = ( { name = \"s\"; m = 1; }, { name = \"p\"; m = 0; a = 1; "
                 "} ); };\n"
                 "sample = { count = %d; parameters = ( { body = 1; parameter = \"l\"; distribution = \"%s } ); };\n"
                 "integrator = { dt = 0.1; }; run = { t_end = 5; };\n",
                 N, cases[k].text);
        shoal_study *study = load_good(text, "");
        double *value = study->swept[0].value;
        qsort(value, N, sizeof *value, by_value);
        const double is = distance(value, N, 1, cases[k].P), is_not = distance(value, N, 1.05, cases[k].P);
        if (!(is < 1.95 && is_not > 1.95))
            fail_msg("%s: %g, and %g where it should not fit", cases[k].text, is, is_not);
        shoal_study_destroy(&study);
    }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void quotas_of_control_groups_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *group, *folder, *file, *text, *more, *more_text;
        double quota;
    } cases[] = {
        {"0::/a/b\n", "sys/fs/cgroup/a/b", "cpu.max", "250000 100000\n", NULL, NULL, 2.5},
        {"0::/a/b\n", "sys/fs/cgroup/a/b", "cpu.max", "max 100000\n", "sys/fs/cgroup/a/cpu.max", "400000 100000\n", 4},
        {"0::/a/b\n", "sys/fs/cgroup/a/b", "cpu.max", "max 100000\n", NULL, NULL, INFINITY},
        {"0::/gone\n", "sys/fs/cgroup", "cpu.max", "50000 100000\n", NULL, NULL, 0.5},
        {"5:memory:/m\n4:cpu,cpuacct:/a\n0::/\n", "sys/fs/cgroup/cpu,cpuacct/a", "cpu.cfs_quota_us", "300000\n",
         "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n", 3},
        {"4:cpu:/a\n", "sys/fs/cgroup/cpu/a", "cpu.cfs_quota_us", "-1\n", "sys/fs/cgroup/cpu/a/cpu.cfs_period_us",
         "100000\n", INFINITY},
        {"4:cpuset:/a\n", "sys/fs/cgroup/cpuset/a", "cpu.cfs_quota_us", "300000\n",
         "sys/fs/cgroup/cpuset/a/cpu.cfs_period_us", "100000\n", INFINITY},
    };
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        char command[256], path[128];
        snprintf(command, sizeof command, "rm -rf root; mkdir -p root/proc/self root/%s", cases[k].folder);
        assert_int_equal(system(command), 0);
        write_text("root/proc/self/cgroup", cases[k].group);
        snprintf(path, sizeof path, "root/%s/%s", cases[k].folder, cases[k].file);
        write_text(path, cases[k].text);
        snprintf(path, sizeof path, "root/%s", cases[k].more ? cases[k].more : "none");
        write_text(path, cases[k].more ? cases[k].more_text : "");
        if (!(shoal_cpu_quota("root") == cases[k].quota))
            fail_msg("case %d: %g", k, shoal_cpu_quota("root"));
    }
    assert_true(shoal_cpu_quota("nowhere") == INFINITY);
}

static int enter_folder(void **state)
{
    static const char table[] = "system,body,name,m,x,y,z,vx,vy,vz\n"
                                "7,0,star,1,0,0,0,0,0,0\n7,1,p,1e-3,1,0,0,0,6.2,0\n"
                                "2,0,star,1,0,0,0,0,0,0\n2,1,p,1e-3,2,0,0,0,4.4,0\n"
                                "2,2,q,1e-4,0,4,0,-3.1,0,0.1\n2,3,r,1e-5,-8,0,0,0,-2.2,0\n"
                                "4,0,star,2,0,0,0,0,0,0\n4,1,p,1e-3,2,0,0,0,6.2,0\n4,2,q,1e-3,0,5,0,-4,0,0\n";
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) || shoal_context_create(&context))
        return -1;
    write_text("table.csv", table);
    return 0;
}

static int leave_folder(void **state)
{
    char command[128];
    (void)state;
    shoal_context_destroy(&context);
    snprintf(command, sizeof command, "cd / && rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_together_are_the_whole_run),
        cmocka_unit_test(only_whole_sets_of_shards_are_merged),
        cmocka_unit_test(a_shard_has_its_name_and_bounds),
        cmocka_unit_test(one_system_is_the_same_alone),
        cmocka_unit_test(systems_may_have_different_bodies),
        cmocka_unit_test(systems_may_have_different_ends),
        cmocka_unit_test(different_ends_survive_restarts),
        cmocka_unit_test(orbits_count_in_the_library),
        cmocka_unit_test(a_plan_says_what_is_at_fault),
        cmocka_unit_test(unresolved_pericentres_are_counted),
        cmocka_unit_test(bodies_out_of_order_are_found),
        cmocka_unit_test(threads_make_the_same_systems),
        cmocka_unit_test(tied_bodies_are_where_they_should_be),
        cmocka_unit_test(impossible_ties_are_invalid),
        cmocka_unit_test(inclinations_out_of_bounds_are_invalid),
        cmocka_unit_test(masses_without_end_are_invalid),
        cmocka_unit_test(periods_below_0_are_invalid),
        cmocka_unit_test(several_bodies_move_together),
        cmocka_unit_test(values_have_their_distributions),
        cmocka_unit_test(quotas_of_control_groups_are_found),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
