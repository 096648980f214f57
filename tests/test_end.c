/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_end.c: monitors see a run up to exactly t_end, though it is no whole number of steps: collisions, mergers,
 * closest approaches and transits of the last part are found by every propagator, a later end finds them at the same
 * time, and the states at the end are those of a run that nobody watched.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "systems.h"

enum { N = 3 };

/* A star of mass 1 and two bodies far from it, the second of which passes the first at a distance `apart`; they are
 * nearest at about t = 1. */
static void passage(shoal_body *bodies, double apart, double radius)
{
    memset(bodies, 0, N * sizeof *bodies);
    bodies[0].m = 1;
    bodies[1] = (shoal_body){.m = 1e-8, .x = 100, .r = radius};
    bodies[2] = (shoal_body){.x = 101, .y = apart, .vx = -1, .r = radius};
}

typedef struct watched {
    shoal_ensemble *ensemble;
    shoal_plan *plan;
    shoal_system record;
    shoal_body bodies[N];
} watched;

static watched run_to(shoal_context *context, const shoal_body *bodies, const shoal_options *options)
{
    watched run;
    assert_ok(context, shoal_ensemble_create(context, 1, N, &run.ensemble));
    assert_ok(context, shoal_ensemble_set_bodies(run.ensemble, 0, N, bodies));
    assert_ok(context, shoal_plan_create(context, run.ensemble, options, &run.plan));
    assert_ok(context, shoal_plan_integrate(run.plan, options->t_end));
    assert_ok(context, shoal_ensemble_get_system(run.ensemble, 0, &run.record));
    assert_ok(context, shoal_ensemble_get_bodies(run.ensemble, 0, run.bodies));
    return run;
}

static void release(watched *run)
{
    shoal_plan_destroy(&run->plan);
    shoal_ensemble_destroy(&run->ensemble);
}

#define assert_close(name, value, expected, tolerance)                                                                \
    do {                                                                                                              \
        const double value_ = (value), expected_ = (expected);                                                        \
        if (!(fabs(value_ - expected_) <= (tolerance)))                                                               \
            fail_msg("%s: %s = %.17g, expected %.17g +- %.2g", name, #value, value_, expected_, (double)(tolerance)); \
    } while (0)

/* With steps of 0.7 the last whole one ends at 0.7; t_end = 1.2. Adaptive steps are chosen. */
static shoal_options watch(const char *engine, const char *propagator, const shoal_plug_options *monitors, int n)
{
    return (shoal_options){.engine = engine,
                           .propagator = propagator,
                           .monitors = monitors,
                           .n_monitors = n,
                           .dt = strstr(propagator, "adaptive") ? 0 : 0.7,
                           .t_end = 1.2};
}

static void check_end(shoal_context *context, const char *engine, const char *name)
{
    static const shoal_setting merging[] = {{.name = "action", .choice = "merge"}};
    static const shoal_plug_options stop = {"stop_on_collision", NULL, 0}, merge = {"stop_on_collision", merging, 1},
                                    closest = {"closest_approach", NULL, 0};
    const double contact = 1 - sqrt(0.02 * 0.02 - 0.003 * 0.003);
    shoal_body bodies[N];
    passage(bodies, 0.003, 0.01);
    shoal_options options = watch(engine, name, &stop, 1);
    watched run = run_to(context, bodies, &options);
    if (run.record.outcome != SHOAL_COLLIDED)
        fail_msg("%s: outcome %d: expected a collision", name, (int)run.record.outcome);
    assert_close(name, run.record.t_stop, contact, 1e-5);
    assert_true(run.record.time >= run.record.t_stop && run.record.time <= 1.2 + 1e-12);
    const double t_stop = run.record.t_stop;
    release(&run);

    options.t_end = 2.5; /* the same moment, found in a whole step */
    run = run_to(context, bodies, &options);
    assert_close(name, run.record.t_stop, t_stop, 2e-6);
    release(&run);

    options = watch(engine, name, &merge, 1);
    run = run_to(context, bodies, &options);
    assert_int_equal(run.record.outcome, SHOAL_SURVIVED);
    assert_int_equal(run.record.n_left, N - 1);
    assert_int_equal(shoal_plan_n_events(run.plan), 1);
    assert_close(name, run.record.time, 1.2, 1e-12);
    assert_close(name, run.bodies[1].x, 100, 1e-3);
    release(&run);

    passage(bodies, 0.5, 0);
    options = watch(engine, name, &closest, 1);
    run = run_to(context, bodies, &options);
    assert_int_equal(run.record.outcome, SHOAL_SURVIVED);
    assert_close(name, shoal_plan_column(run.plan, "min_separation", 0), 0.5, 1e-4);
    assert_close(name, shoal_plan_column(run.plan, "min_separation_time", 0), 1, 1e-3);
    shoal_body seen[N];
    memcpy(seen, run.bodies, sizeof seen);
    release(&run);

    options = watch(engine, name, NULL, 0);
    run = run_to(context, bodies, &options);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 6; c++)
            assert_true((&run.bodies[i].x)[c] == (&seen[i].x)[c]);
    release(&run);
}

static void every_propagator_watches_the_end(void **state)
{
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++)
        check_end(context_of(state), "cpu", shoal_plugs_of(NULL)->propagators[p]->name);
}

static void a_gpu_watches_the_end(void **state)
{
    need_gpu();
    static const char *const names[] = {"mvs", "hermite4", "hybrid", "gauss_radau", "hermite4_adaptive"};
    for (int p = 0; p < SHOAL_COUNT(names); p++)
        check_end(context_of(state), "cuda", names[p]);
}

/* A planet on a circle, behind its star at the start, transits half a period later. */
static void a_transit_of_the_last_part_is_logged(void **state)
{
    shoal_context *context = context_of(state);
    static const shoal_plug_options transits = {"transits", NULL, 0};
    const shoal_body bodies[N] = {{.m = 1}, {.m = 1e-9, .z = -1, .vx = 1}, {.m = 1e-9, .y = 9, .vx = 1. / 3}};
    const shoal_options options = {
        .engine = "cpu", .propagator = "hermite4", .monitors = &transits, .n_monitors = 1, .dt = 0.03, .t_end = 3.1416};
    watched run = run_to(context, bodies, &options);
    double time = NAN;
    assert_int_equal(shoal_plan_n_logged(run.plan, "transits"), 1);
    assert_ok(context, shoal_plan_get_log(run.plan, "transits", "time", 0, 1, &time, 0));
    assert_close("transit", time, 3.14159265, 1e-6);
    release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_propagator_watches_the_end),
        cmocka_unit_test(a_transit_of_the_last_part_is_logged),
        cmocka_unit_test(a_gpu_watches_the_end),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
