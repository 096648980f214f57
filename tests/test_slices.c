/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_slices.c: who moves in a slice, in which order and how far; that lanes are full where systems end at random,
 * where their steps differ by a factor of 100, and where one needs a thousand times the steps of the others; order of
 * snapshots; that a system without progress ends.
 *
 * Idle lanes are counted, not timed: the entries of a slice's list, taken a group of lanes at a time, each as long as
 * its longest system. At most 10 % of them may be idle.
 */
#include <math.h>
#include <stdlib.h>

#include "systems.h"

enum { SYSTEMS = 3000 };

static const shoal_body pair[2] = {{.m = 1.0}, {.m = 1e-3, .x = 1.0, .vy = 1.0}};

/* One planet; dt[i] of each system. */
static struct motion begin(shoal_context *context, const double *dt, const shoal_options *options)
{
    static shoal_body bodies[2 * SYSTEMS];
    for (long s = 0; s < SYSTEMS; s++) {
        bodies[2 * s] = pair[0];
        bodies[2 * s + 1] = pair[1];
    }
    return motion_begin(context, SYSTEMS, 2, NULL, dt, options, bodies);
}

static double steps_of(const shoal_plan *plan, long system)
{
    return *shoal_ensemble_field(plan->ensemble, SHOAL_SYS_STEP, system);
}

/* Steps that lanes had room for in the last slice, a group at a time. */
static double room(const shoal_plan *plan, const double *before)
{
    int group;
    double sum = 0;
    plan->engine_type->width(plan->engine, &group);
    for (long first = 0; first < plan->n_moving; first += group) {
        double longest = 0;
        const long last = first + group < plan->n_moving ? first + group : plan->n_moving;
        for (long i = first; i < last; i++)
            longest = fmax(longest, steps_of(plan, plan->moving[i]) - before[plan->moving[i]]);
        sum += longest * group;
    }
    return sum;
}

/* Slices to time t: *made steps in *had. Returns how many slices. */
static int go(shoal_context *context, shoal_plan *plan, double t, double *made, double *had)
{
    static double before[SYSTEMS];
    int n_slices = 0;
    for (long n_moved = 1; n_moved > 0; n_slices++) {
        const double steps = plan->system_steps;
        for (long s = 0; s < SYSTEMS; s++)
            before[s] = steps_of(plan, s);
        assert_ok(context, shoal_plan_slice(plan, t, &n_moved));
        assert_in_range(n_moved, 0, SYSTEMS);
        *made += plan->system_steps - steps;
        *had += room(plan, before);
    }
    return n_slices;
}

/* Steps of lengths 1 to 100, in random order: lanes side by side need the same number. */
static void unlike_steps_are_sorted(void **state)
{
    shoal_context *context = context_of(state);
    double dt[SYSTEMS], made = 0, had = 0, unsorted = 0, needed = 0;
    for (long s = 0; s < SYSTEMS; s++)
        dt[s] = 1e-3 * pow(100, uniform(s, 1));
    struct motion motion = begin(context, dt, &(shoal_options){.propagator = "leapfrog", .t_end = 40, .threads = 1});
    int group;
    motion.plan->engine_type->width(motion.plan->engine, &group);
    for (long first = 0; first < SYSTEMS; first += group) { /* what it would be in their own order */
        double longest = 0;
        for (long s = first; s < first + group && s < SYSTEMS; s++) {
            longest = fmax(longest, floor(40 / dt[s]));
            needed += floor(40 / dt[s]);
        }
        unsorted += longest * group;
    }
    for (int output = 1; output <= 4; output++)
        go(context, motion.plan, 10 * output, &made, &had);
    print_message("%.0f steps, lanes had room for %.0f (%.1f %% idle), unsorted %.0f\n", made, had,
                  100 * (1 - made / had), unsorted);
    assert_true(made == needed);
    assert_true(made > 0.9 * had);
    assert_true(made < 0.6 * unsorted); /* the test looks at something */
    motion_end(&motion);
}

/* Within a class of like systems the index decides, and a slice that cuts all off keeps the order of the list. */
static void like_systems_stay_in_order(void **state)
{
    shoal_context *context = context_of(state);
    double dt[SYSTEMS];
    long n_moved;
    for (long s = 0; s < SYSTEMS; s++)
        dt[s] = s % 2 ? 1e-3 : 1e-2;
    struct motion motion = begin(context, dt, &(shoal_options){.propagator = "leapfrog", .t_end = 10, .threads = 1});
    motion.plan->slice_steps = 50;
    assert_ok(context, shoal_plan_slice(motion.plan, 10, &n_moved));
    assert_int_equal(n_moved, SYSTEMS);
    for (long i = 0; i < SYSTEMS; i++)
        assert_int_equal(motion.plan->moving[i], i);
    motion.plan->slice_steps = 100000;
    assert_ok(context, shoal_plan_slice(motion.plan, 10, &n_moved));
    for (long i = 0; i < SYSTEMS; i++) /* the odd ones need more, and come first */
        assert_int_equal(motion.plan->moving[i], i < SYSTEMS / 2 ? 2 * i + 1 : 2 * (i - SYSTEMS / 2));
    motion_end(&motion);
}

/* One system with a thousand times the steps: the others are at each of their times after a few slices, and the
 * slices are not made longer for its sake. */
static void nobody_waits_for_a_straggler(void **state)
{
    shoal_context *context = context_of(state);
    double dt[SYSTEMS], made = 0, had = 0;
    static double before[SYSTEMS];
    int n_slices = 0, output[SYSTEMS] = {0};
    const long slow = 1234;
    for (long s = 0; s < SYSTEMS; s++)
        dt[s] = s == slow ? 1e-5 : 1e-2;
    struct motion motion = begin(context, dt, &(shoal_options){.propagator = "leapfrog", .t_end = 30, .threads = 1});
    shoal_plan *plan = motion.plan;
    for (long s = 0; s < SYSTEMS; s++)
        shoal_plan_set_goal(plan, s, 3);
    for (; plan->n_list > 1; n_slices++) {
        long n_moved;
        const double steps = plan->system_steps;
        for (long s = 0; s < SYSTEMS; s++)
            before[s] = steps_of(plan, s);
        assert_ok(context, shoal_plan_begin(plan, true));
        assert_ok(context, shoal_plan_end(plan, &n_moved));
        made += plan->system_steps - steps;
        had += room(plan, before);
        for (long i = 0; i < plan->n_list; i++) {
            const int system = plan->list[i];
            if (shoal_plan_arrived(plan, system))
                shoal_plan_set_goal(plan, system, fmin(30, 3 * (++output[system] + 1)));
        }
    }
    print_message("%d slices until all others are done; the slow one is at %.4f of its run, lanes idle %.1f %%\n",
                  n_slices, steps_of(plan, slow) * dt[slow] / 30, 100 * (1 - made / had));
    assert_int_equal(plan->list[0], slow);
    assert_int_equal(plan->slowest, slow);
    assert_true(plan->slowest_left > 0.5 && plan->slowest_left < 1);
    assert_true(steps_of(plan, slow) > 0);
    assert_true(made > 0.9 * had);
    go(context, plan, 30, &made, &had); /* and it goes on alone */
    assert_int_equal(plan->n_list, 0);
    assert_true(steps_of(plan, slow) == 3000000);
    motion_end(&motion);
}

/* Nobody knows who leaves when: slices become short enough that few lanes are empty, and long again when all is
 * quiet. */
static void slices_shorten_while_systems_end(void **state)
{
    shoal_context *context = context_of(state);
    static shoal_body bodies[3 * SYSTEMS];
    static double before[SYSTEMS];
    const shoal_setting r_max = {.name = "r_max", .value = 1000};
    const shoal_plug_options ejection = {"stop_on_ejection", &r_max, 1};
    const double t_end = 800;
    double made = 0, had = 0, shortest = INFINITY, last = 0;
    for (long s = 0; s < SYSTEMS; s++) { /* nine of ten leave, the last of them after a tenth of the run */
        bodies[2 * s] = pair[0];
        bodies[2 * s + 1] = pair[1];
        if (uniform(s, 3) < 0.9)
            bodies[2 * s + 1].vx = 1000 / (t_end / 10 * (0.01 + 0.99 * uniform(s, 2)));
    }
    struct motion motion = motion_begin(
        context, SYSTEMS, 2, NULL, NULL,
        &(shoal_options){
            .propagator = "leapfrog", .t_end = t_end, .dt = 0.01, .threads = 1, .monitors = &ejection, .n_monitors = 1},
        bodies);
    shoal_plan *plan = motion.plan;
    for (long n_moved = 1; n_moved > 0;) {
        const double steps = plan->system_steps;
        for (long s = 0; s < SYSTEMS; s++)
            before[s] = steps_of(plan, s);
        assert_ok(context, shoal_plan_slice(plan, t_end, &n_moved));
        if (n_moved == 0)
            break;
        made += plan->system_steps - steps;
        had += room(plan, before);
        shortest = steps_of(plan, plan->moving[0]) < 8000 ? fmin(shortest, plan->length) : shortest;
        last = plan->length;
    }
    print_message("%.0f steps, lanes idle %.1f %%; slices of %.0f steps at least while systems end, %.0f at the end\n",
                  made, 100 * (1 - made / had), shortest, last);
    assert_true(made > 0.9 * had);
    assert_true(made < 0.3 * SYSTEMS * t_end / 0.01);
    assert_true(last > 2 * shortest);
    motion_end(&motion);
}

/* A system that would take a day of a core and more ends as `budget`, with the same bits however the run is cut; the
 * one beside it does not notice. A bound of the user's replaces this one. */
static void a_run_ends_though_a_system_does_not_get_on(void **state)
{
    static const char *const propagators[] = {"gauss_radau", "bulirsch_stoer", "hermite4_adaptive", "hermite6_adaptive",
                                              "runge_kutta_adaptive"};
    const shoal_body begin[4] = {pair[0], pair[1], {.m = 1}, {.x = 1e-5, .vy = 2000 / TWO_PI}};
    shoal_context *context = context_of(state);
    for (int p = 0; p < SHOAL_COUNT(propagators); p++) {
        shoal_options options = {.propagator = propagators[p], .t_end = 1000 * TWO_PI, .threads = 1};
        shoal_body alone[2] = {pair[0], pair[1]}, bodies[4], cut[4];
        shoal_system records[2], record;
        memcpy(bodies, begin, sizeof begin);
        evolve_all(context, 1, 2, NULL, NULL, &options, alone, NULL);
        evolve_all(context, 2, 2, NULL, NULL, &options, bodies, records);
        assert_int_equal(records[0].outcome, SHOAL_SURVIVED);
        assert_memory_equal(bodies, alone, sizeof alone);
        assert_int_equal(records[1].outcome, SHOAL_BUDGET);
        print_message("%s: ended at %g\n", propagators[p], records[1].t_stop);
        assert_true(records[1].t_stop > 0 && records[1].t_stop < 1);

        struct motion motion = motion_begin(context, 2, 2, NULL, NULL, &options, begin);
        assert_ok(context, shoal_plan_integrate(motion.plan, 0.5 * records[1].t_stop));
        assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end));
        shoal_ensemble_get_system(motion.ensemble, 1, &record);
        shoal_ensemble_get_bodies(motion.ensemble, 1, cut + 2);
        motion_end(&motion);
        assert_memory_equal(cut + 2, bodies + 2, 2 * sizeof *cut);
        assert_true(record.t_stop == records[1].t_stop && record.n_steps == records[1].n_steps);

        options.max_steps = 0x1.1p20;
        memcpy(bodies, begin, sizeof begin);
        evolve_all(context, 2, 2, NULL, NULL, &options, bodies, records);
        assert_true(records[1].outcome == SHOAL_BUDGET && records[1].t_stop > record.t_stop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unlike_steps_are_sorted),
        cmocka_unit_test(like_systems_stay_in_order),
        cmocka_unit_test(nobody_waits_for_a_straggler),
        cmocka_unit_test(slices_shorten_while_systems_end),
        cmocka_unit_test(a_run_ends_though_a_system_does_not_get_on),
    };
    return cmocka_run_group_tests_name("slices", tests, setup, teardown);
}
