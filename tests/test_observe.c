/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_observe.c: what is observed at a list of times is what integrating to each of them leaves, to the bit: every
 * propagator, forwards and backwards, with systems that end, that have fewer bodies, that move as a whole and that the
 * host acts on, on one thread and on several; and again after a restart. And what a caller should not have asked for is
 * refused, or is no result.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "systems.h"

enum { SYSTEMS = 37, N = 4, TIMES = 9 };

static const double part[TIMES] = {0, 0.013, 0.2, 0.2, 0.21, 0.5, 0.77, 0.9999, 1};
static const shoal_observable what[] = {{0, 5}, {0, 0}, {2, 1}, {3, 4}};
enum { WHAT = SHOAL_COUNT(what) };

/* Spaced tightly, moving through space; every fifth without its last planet. */
static void make(shoal_context *context, long s, shoal_body *bodies)
{
    planetary_system(context, s, N, 1e-3, 1.3, 0.1, bodies);
    for (int b = 0; b < N; b++) {
        bodies[b].x += 3;
        bodies[b].vz += 0.25;
    }
}

static void begin_again(shoal_context *context, const struct motion *motion)
{
    shoal_body bodies[N];
    for (long s = 0; s < SYSTEMS; s++) {
        make(context, s, bodies);
        assert_ok(context, shoal_ensemble_set_bodies(motion->ensemble, s, s % 5 ? N : N - 1, bodies));
    }
    assert_ok(context, shoal_plan_restart(motion->plan));
}

static struct motion begin(shoal_context *context, const shoal_options *options)
{
    shoal_body bodies[SYSTEMS * N];
    for (long s = 0; s < SYSTEMS; s++)
        make(context, s, bodies + s * N);
    struct motion motion = motion_begin(context, SYSTEMS, N, NULL, NULL, options, bodies);
    begin_again(context, &motion);
    return motion;
}

/* The same from shoal_plan_integrate. */
static void integrate(shoal_context *context, const struct motion *motion, const double *times, double *values)
{
    for (int k = 0; k < TIMES; k++) {
        assert_ok(context, shoal_plan_integrate(motion->plan, times[k]));
        for (long s = 0; s < SYSTEMS; s++) {
            shoal_body bodies[N] = {0};
            shoal_system record;
            shoal_ensemble_get_bodies(motion->ensemble, s, bodies);
            shoal_ensemble_get_system(motion->ensemble, s, &record);
            const bool alive = record.outcome == SHOAL_RUNNING || record.outcome == SHOAL_SURVIVED;
            for (int w = 0; w < WHAT; w++)
                values[(k * WHAT + w) * SYSTEMS + s] = alive && what[w].body < record.n_live
                                                           ? (&bodies[what[w].body].x)[what[w].component]
                                                           : NAN;
        }
    }
}

static long differing(const double *a, const double *b, long n)
{
    long differ = 0;
    for (long i = 0; i < n; i++)
        differ += memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i]));
    return differ;
}

static void same_as_integrating(void **state)
{
    static const shoal_setting close = {"factor", 0.8, NULL}, log[] = {{"factor", 0.8, NULL}, {"action", 0, "log"}};
    static const shoal_plug_options stops = {"stop_on_encounter", &close, 1}, logs = {"stop_on_encounter", log, 2};
    enum { VALUES = TIMES * WHAT * SYSTEMS };
    static double observed[VALUES], expected[VALUES];
    shoal_context *context = context_of(state);
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        long n_lost = 0;
        for (int way = 0; way < 4; way++) { /* stops, logs; backwards; several threads */
            const double t_end = (way == 2 ? -1.7 : 1.7) * TWO_PI;
            const shoal_options options = {.propagator = shoal_plugs_of(NULL)->propagators[p]->name,
                                           .monitors = way == 1 ? &logs : &stops,
                                           .n_monitors = 1,
                                           .t_end = t_end,
                                           .dt = t_end / 85,
                                           .threads = way == 3 ? 3 : 1};
            struct motion a = begin(context, &options), b = begin(context, &options);
            double times[TIMES];
            for (int k = 0; k < TIMES; k++)
                times[k] = part[k] * t_end;
            integrate(context, &a, times, expected);
            for (int turn = 0; turn < 2; turn++) {
                if (turn)
                    begin_again(context, &b);
                assert_ok(context, shoal_plan_observe(b.plan, TIMES, times, WHAT, what, observed));
                if (differing(observed, expected, VALUES))
                    fail_msg("%s, way %d, turn %d: %ld of %d values differ", options.propagator, way, turn,
                             differing(observed, expected, VALUES), (int)VALUES);
                for (long s = 0; s < SYSTEMS; s++) {
                    shoal_body one[N] = {0}, other[N] = {0};
                    shoal_system first, second;
                    shoal_ensemble_get_bodies(a.ensemble, s, one);
                    shoal_ensemble_get_bodies(b.ensemble, s, other);
                    shoal_ensemble_get_system(a.ensemble, s, &first);
                    shoal_ensemble_get_system(b.ensemble, s, &second);
                    assert_int_equal(differing(&one->m, &other->m, 8 * N), 0);
                    assert_int_equal(first.outcome, second.outcome);
                    assert_true(first.n_steps == second.n_steps && first.time == second.time);
                    n_lost += first.outcome == SHOAL_ENCOUNTER;
                }
                assert_int_equal(shoal_plan_n_events(a.plan), shoal_plan_n_events(b.plan));
            }
            motion_end(&a);
            motion_end(&b);
        }
        assert_true(n_lost > 0);
    }
}

static void wrong_calls_are_refused(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_options options = {.propagator = "mvs", .t_end = 10, .dt = 0.1};
    double values[2 * SYSTEMS];
    struct motion motion = begin(context, &options);
    const struct {
        double times[2];
        shoal_observable what;
        const char *says;
    } rows[] = {{{2, 1}, {0, 0}, "time 1: expected a time from 2"},
                {{1, 11}, {0, 0}, "time 11: expected"},
                {{NAN, 1}, {0, 0}, "expected a finite number"},
                {{1, 2}, {N, 0}, "observable 0: body 4, component 0: expected a body of 0..3 and a component of 0..5"},
                {{1, 2}, {-1, 0}, "body -1"},
                {{1, 2}, {0, 6}, "component 6"}};
    for (int i = 0; i < SHOAL_COUNT(rows); i++) {
        assert_int_equal(shoal_plan_observe(motion.plan, 2, rows[i].times, 1, &rows[i].what, values), SHOAL_E_USAGE);
        if (!strstr(shoal_context_message(context), rows[i].says))
            fail_msg("%s: expected %s", shoal_context_message(context), rows[i].says);
    }
    assert_ok(context, shoal_plan_observe(motion.plan, 0, NULL, 1, what, values));
    assert_ok(context, shoal_plan_observe(motion.plan, 2, (const double[]){1, 2}, 1, what, values));
    /* it stands at 2 */
    assert_int_equal(shoal_plan_observe(motion.plan, 1, (const double[]){1}, 1, what, values), SHOAL_E_USAGE);
    shoal_body bodies[N];
    shoal_ensemble_get_bodies(motion.ensemble, 1, bodies);
    assert_ok(context, shoal_ensemble_set_bodies(motion.ensemble, 1, N, bodies));
    assert_int_equal(shoal_plan_observe(motion.plan, 1, (const double[]){3}, 1, what, values), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "shoal_plan_restart"));
    motion_end(&motion);
}

/* Where all have ended there is nobody to say that a time is wrong, and it is refused all the same. */
static void a_plan_does_not_go_back_from_its_end(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_options options = {.propagator = "mvs", .t_end = 10, .dt = 0.1};
    struct motion motion = begin(context, &options);
    assert_ok(context, shoal_plan_integrate(motion.plan, 10));
    assert_ok(context, shoal_plan_integrate(motion.plan, 10));
    for (double t = 7; t < 14; t += 4) {
        assert_int_equal(shoal_plan_integrate(motion.plan, t), SHOAL_E_USAGE);
        assert_non_null(strstr(shoal_context_message(context), "expected a time from 10 to t_end = 10"));
    }
    begin_again(context, &motion);
    assert_ok(context, shoal_plan_integrate(motion.plan, 7));
    motion_end(&motion);

    /* half of the walkers move, the others stay where they ended: that is no state of an earlier time */
    double first[2][SYSTEMS], then[2][SYSTEMS];
    shoal_body bodies[N];
    motion = begin(context, &options);
    assert_ok(context, shoal_plan_observe(motion.plan, 2, (const double[]){3, 10}, 1, what, first[0]));
    make(context, 0, bodies);
    assert_ok(context, shoal_ensemble_set_bodies(motion.ensemble, 0, N - 1, bodies));
    assert_ok(context, shoal_plan_restart(motion.plan));
    assert_ok(context, shoal_plan_observe(motion.plan, 2, (const double[]){3, 10}, 1, what, then[0]));
    assert_true(then[0][0] == first[0][0]);
    for (long s = 0; s < SYSTEMS; s++) {
        assert_true(s == 0 || isnan(then[0][s]));
        assert_true(then[1][s] == first[1][s]);
    }
    motion_end(&motion);
}

/* What has arrived is seen once more; and attempts that are used up where somebody stops end the system there, as
 * they do elsewhere. */
static void ends_are_ends_at_a_stop_too(void **state)
{
    static const char *const names[] = {"hermite4_adaptive", "runge_kutta_adaptive", "gauss_radau", "bulirsch_stoer"};
    static const double stops[] = {5, 6};
    shoal_context *context = context_of(state);
    double values[2][SYSTEMS], again[SYSTEMS];
    struct motion motion = begin(context, &(shoal_options){.propagator = "mvs", .t_end = 6, .dt = 0.1});
    assert_ok(context, shoal_plan_observe(motion.plan, 2, stops, 1, what, values[0]));
    assert_ok(context, shoal_plan_observe(motion.plan, 1, stops + 1, 1, what, again));
    assert_int_equal(differing(again, values[1], SYSTEMS), 0);
    assert_false(isnan(again[1]));
    motion_end(&motion);
    for (int i = 0; i < SHOAL_COUNT(names); i++) {
        const shoal_body pair[2] = {{.m = 1}, {.m = 1e-3, .x = 1, .vy = 1}};
        shoal_options options = {.propagator = names[i], .t_end = 100};
        shoal_system record;
        motion = motion_begin(context, 1, 2, NULL, NULL, &options, pair);
        assert_ok(context, shoal_plan_integrate(motion.plan, stops[0]));
        const double attempts = *shoal_ensemble_field(motion.ensemble, SHOAL_SYS_ATTEMPT, 0);
        motion_end(&motion);
        for (int more = -1; more <= 1; more++) {
            double n_steps[2];
            options.max_steps = attempts + more;
            for (int way = 0; way < 2; way++) {
                motion = motion_begin(context, 1, 2, NULL, NULL, &options, pair);
                if (way)
                    assert_ok(context, shoal_plan_observe(motion.plan, 2, stops, 1, &(shoal_observable){1, 0}, again));
                for (int k = 0; k < 2 && !way; k++)
                    assert_ok(context, shoal_plan_integrate(motion.plan, stops[k]));
                assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end));
                shoal_ensemble_get_system(motion.ensemble, 0, &record);
                assert_int_equal(record.outcome, SHOAL_BUDGET);
                n_steps[way] = record.n_steps;
                motion_end(&motion);
            }
            assert_true(n_steps[0] == n_steps[1]);
        }
    }
}

static void a_system_that_cannot_be_disturbs_no_other(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_options options = {.propagator = "mvs", .t_end = 10, .steps_per_orbit = 50};
    double values[2][SYSTEMS];
    shoal_body bodies[SYSTEMS * N], fast[N], seen[N] = {0};
    for (long s = 0; s < SYSTEMS; s++)
        make(context, s, bodies + s * N);
    memcpy(fast, bodies, sizeof fast);
    for (int b = 1; b < N; b++)
        fast[b].vy += 100; /* nobody is bound: no period to take a step of */
    memcpy(bodies + 3 * N, fast, N * sizeof *fast);
    bodies[6 * N + 1].m = 2; /* the map is not for a planet heavier than its star */
    struct motion motion = motion_begin(context, SYSTEMS, N, NULL, NULL, &options, bodies);
    bodies[0].m = -1;
    assert_int_equal(shoal_ensemble_set_bodies(motion.ensemble, 5, N, bodies), SHOAL_E_INPUT);
    assert_ok(context, shoal_plan_restart(motion.plan));
    assert_ok(context, shoal_plan_observe(motion.plan, 2, (const double[]){5, 10}, 1, what, values[0]));
    for (long s = 0; s < SYSTEMS; s++) {
        shoal_system record;
        shoal_ensemble_get_system(motion.ensemble, s, &record);
        const bool impossible = s == 3 || s == 5 || s == 6;
        assert_int_equal(record.outcome, impossible ? SHOAL_INVALID : SHOAL_SURVIVED);
        assert_int_equal(isnan(values[0][s]) && isnan(values[1][s]), impossible);
    }
    shoal_ensemble_get_bodies(motion.ensemble, 5, seen);
    assert_true(isnan(seen[0].vz) && isnan(seen[1].x) && isnan(shoal_ensemble_energy(motion.ensemble, 5)));
    shoal_event event;
    shoal_plan_event(motion.plan, 0, &event);
    assert_int_equal(event.system, -1);

    for (long s = 0; s < SYSTEMS; s++) /* a batch of nothing else is a batch */
        assert_ok(context, shoal_ensemble_set_bodies(motion.ensemble, s, N, bodies + 6 * N));
    assert_ok(context, shoal_plan_restart(motion.plan));
    assert_ok(context, shoal_plan_observe(motion.plan, 2, (const double[]){5, 10}, 1, what, values[0]));
    for (long s = 0; s < SYSTEMS; s++)
        assert_true(isnan(values[1][s]));
    motion_end(&motion);
}

static void options_of_no_plan_are_refused(void **state)
{
    static const struct {
        shoal_options options;
        const char *says;
    } rows[] = {
        {{.t_end = 1, .dt = 0.1, .steps_per_orbit = 20},
         "dt = 0.1 and steps_per_orbit = 20: expected either dt or steps_per_orbit"},
        {{.t_end = 1, .steps_per_orbit = -20}, "steps_per_orbit = -20: expected a number >= 0"},
        {{.t_end = 1, .dt = 0.1, .max_steps = NAN}, "max_steps = nan"},
        {{.t_end = 1, .dt = 0.1, .dt_max = -1}, "dt_max = -1"},
        {{.t_end = 1, .dt = 0.1, .dt_min = 2, .dt_max = 1, .propagator = "gauss_radau"},
         "dt_min = 2, dt_max = 1: expected dt_min <= dt_max"},
        {{.t_end = 1, .dt = 0.1, .dt_min = 0.2}, "dt_min = 0.2: expected no dt_min: the steps of mvs are all the same"},
        {{.t_end = 1, .dt = 0.1, .dt_max = 0.2}, "dt_max = 0.2: expected no dt_max: the steps of mvs are all the same"},
        {{.t_end = 1, .dt = 0.1, .threads = -3}, "threads = -3"},
        {{.t_end = 1, .dt = 0.1, .threads = 100000}, "threads = 100000: expected at most 4096"},
        {{.t_end = 1, .dt = 0.1, .n_monitors = -1}, "n_monitors = -1"}};
    shoal_context *context = context_of(state);
    struct motion motion = begin(context, &(shoal_options){.propagator = "mvs", .t_end = 10, .dt = 0.1});
    for (int i = 0; i < SHOAL_COUNT(rows); i++) {
        shoal_plan *plan = NULL;
        assert_int_equal(shoal_plan_create(context, motion.ensemble, &rows[i].options, &plan), SHOAL_E_USAGE);
        if (!strstr(shoal_context_message(context), rows[i].says))
            fail_msg("%s: expected %s", shoal_context_message(context), rows[i].says);
    }
    motion_end(&motion);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_integrating),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(a_plan_does_not_go_back_from_its_end),
        cmocka_unit_test(ends_are_ends_at_a_stop_too),
        cmocka_unit_test(a_system_that_cannot_be_disturbs_no_other),
        cmocka_unit_test(options_of_no_plan_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
