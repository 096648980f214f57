/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_hermite.c: the Hermite schemes and the steps that they choose: order, time symmetry, criteria in closed form,
 * bounds, invariance, and the closest approach of the Pythagorean problem; against closed forms, GSL's Runge-Kutta of
 * order 8, and each other.
 *
 * The measured numbers are printed, so that a run shows how far from its limit a test is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>

#include "systems.h"

#define LANE_TABLE static const
#include "integrators/hermite_tables.kern.h"

#define MOST_BODIES   5
#define MOST_SETTINGS 6

#define SLOW_DOWN (INSTRUMENTED ? 20 : 1)

/* ---- systems and runs -------------------------------------------------------------------------------------------- */

enum { SWARM, AARSETH, SYMMETRIC };
static const char *const criteria[] = {"swarm", "aarseth", "symmetric"};
static const char *const adaptive_of[] = {[4] = "hermite4_adaptive", [6] = "hermite6_adaptive"};

/* A scheme with its settings; those that are 0 stay as they are by default. */
struct scheme {
    const char *name;
    int iterations, compensated;
    int criterion;   /* of an adaptive one */
    double accuracy; /* tau or eta, whatever the criterion reads */
    double dt, dt_min, dt_max, max_steps;
    int lanes;
};

static bool adaptive(const struct scheme *scheme)
{
    return shoal_propagator_find(NULL, scheme->name)->adaptive;
}

static shoal_options options_of(const struct scheme *scheme, double t_end, shoal_setting *settings)
{
    int n = 0;
    if (scheme->iterations)
        settings[n++] = (shoal_setting){.name = "iterations", .value = scheme->iterations};
    settings[n++] = (shoal_setting){.name = "compensated", .value = scheme->compensated};
    if (adaptive(scheme)) {
        settings[n++] = (shoal_setting){.name = "criterion", .choice = criteria[scheme->criterion]};
        if (scheme->accuracy > 0)
            settings[n++] = (shoal_setting){.name = scheme->criterion == AARSETH ? "eta" : "tau",
                                            .value = scheme->accuracy};
    }
    return (shoal_options){.propagator = scheme->name,
                           .settings = settings,
                           .n_settings = n,
                           .engine = "cpu",
                           .t_end = t_end,
                           .dt = scheme->dt,
                           .dt_min = scheme->dt_min,
                           .dt_max = scheme->dt_max,
                           .max_steps = scheme->max_steps,
                           .lanes = scheme->lanes};
}

static struct motion begin(shoal_context *context, const struct scheme *scheme, long n_systems, int n, double t_end,
                           const shoal_body *bodies)
{
    shoal_setting settings[MOST_SETTINGS];
    const shoal_options options = options_of(scheme, t_end, settings);
    return motion_begin(context, n_systems, n, NULL, NULL, &options, bodies);
}

static double field(const struct motion *motion, int which, long system)
{
    return *shoal_ensemble_field(motion->ensemble, which, system);
}

/* One system from t_start to t_end, in and out. Returns the number of steps. */
static double evolve(shoal_context *context, const struct scheme *scheme, int n, double t_start, double t_end,
                     shoal_body *bodies)
{
    shoal_setting settings[MOST_SETTINGS];
    const shoal_options options = options_of(scheme, t_end, settings);
    shoal_system record;
    evolve_all(context, 1, n, &t_start, NULL, &options, bodies, &record);
    assert_int_equal(record.outcome, SHOAL_SURVIVED);
    return record.n_steps;
}

/* Two bodies, total mass 1, a = 1, with mean anomaly M. */
static void two_bodies(shoal_context *context, double m1, double e, double M, shoal_body *bodies)
{
    shoal_orbit orbit[2] = {{.a = 0}, {.a = 1.0, .e = e, .f = shoal_true_anomaly(e, M)}};
    memset(bodies, 0, 2 * sizeof *bodies);
    bodies[0].m = 1.0 - m1;
    bodies[1].m = m1;
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbit, bodies));
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* The tables give the derivatives of every polynomial that the data determine: t^p at t = 1. */
static void tables_are_exact_for_polynomials(void **state)
{
    (void)state;
    for (int order = 4; order <= 6; order += 2)
        for (int power = 0; power < order; power++)
            for (int row = 0; row < order / 2; row++) {
                const double p = power, data[5] = {power > 0, p, power == 1, p * (p - 1), power == 2 ? 2 : 0};
                double derivative = 0.0, exact = 1.0;
                for (int q = 0; q < order - 1; q++)
                    derivative += (order == 4 ? hermite4_polynomial[row][q] : hermite6_polynomial[row][q]) * data[q];
                for (int d = 0; d < order / 2 + row; d++)
                    exact *= p - d;
                assert_true(derivative == exact);
            }
}

/* Slope of log error over log step, six steps of ratio 2^(1/2) or 2, three bodies that pull at each other strongly.
 * The finest steps of order 6 end where rounding begins. */
static void error_falls_with_the_order(void **state)
{
    enum { STEPS = 6, N = 3 };
    static const struct {
        const char *name;
        int iterations;
        double coarsest, ratio;
    } rows[] = {{"hermite4", 1, 0x1p-4, 2.0}, {"hermite4", 2, 0x1p-4, 2.0}, {"hermite4", 3, 0x1p-4, 2.0},
                {"hermite6", 1, 0x1p-3, 1.5}, {"hermite6", 2, 0x1p-2, 1.5}, {"hermite6", 3, 0x1p-2, 1.5}};
    const double t_end = 8.0;
    shoal_context *context = context_of(state);
    shoal_body start[N], exact[N], bodies[N];
    planetary_system(context, 5, N, 2e-2, 1.7, 0.1, start);
    memcpy(exact, start, sizeof exact);
    newton_reference(N, t_end, exact);
    for (int row = 0; row < SHOAL_COUNT(rows); row++)
        for (int compensated = 0; compensated < 2; compensated++) {
            double dt[STEPS], error[STEPS];
            for (int k = 0; k < STEPS; k++) {
                dt[k] = rows[row].coarsest * pow(rows[row].ratio, -k);
                const struct scheme scheme = {rows[row].name, .iterations = rows[row].iterations,
                                              .compensated = compensated, .dt = dt[k]};
                memcpy(bodies, start, sizeof start);
                evolve(context, &scheme, N, 0.0, t_end, bodies);
                error[k] = distance_of_states(N, bodies, exact);
            }
            const int order = shoal_propagator_find(NULL, rows[row].name)->order;
            const double measured = slope(STEPS, dt, error);
            print_message("%s, %d iterations%s: order %.3f, errors %.1e..%.1e\n", rows[row].name, rows[row].iterations,
                          compensated ? ", compensated" : "", measured, error[0], error[STEPS - 1]);
            assert_below(fabs(measured - order), 0.25, "%s, %d iterations", rows[row].name, rows[row].iterations);
        }
}

/* Halving a step's scale divides the error by 2^order, whatever the criterion. Steps that change at other places
 * make single errors wander, so that the geometric mean of some systems is looked at. */
static void accuracy_scales_with_the_order(void **state)
{
    enum { STEPS = 5, N = 3, SYSTEMS = 6 };
    static const struct {
        const char *name;
        int criterion;
        double coarsest, ratio, order; /* of the error in tau or eta */
    } rows[] = {{"hermite4_adaptive", SWARM, 0.08, 2.0, 4},     {"hermite4_adaptive", AARSETH, 0.01, 4.0, 2},
                {"hermite4_adaptive", SYMMETRIC, 0.08, 2.0, 4}, {"hermite6_adaptive", SWARM, 0.2, 1.5, 6},
                {"hermite6_adaptive", AARSETH, 0.4, 1.5, 6},    {"hermite6_adaptive", SYMMETRIC, 0.3, 2.0, 6}};
    const double t_end = 8.0;
    shoal_context *context = context_of(state);
    shoal_body start[N * SYSTEMS], exact[N * SYSTEMS];
    for (int s = 0; s < SYSTEMS; s++) {
        planetary_system(context, s, N, 1e-3, 1.7, 0.6, start + N * s);
        memcpy(exact + N * s, start + N * s, N * sizeof *start);
        newton_reference(N, t_end, exact + N * s);
    }
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        double accuracy[STEPS], error[STEPS];
        for (int k = 0; k < STEPS; k++) {
            accuracy[k] = rows[row].coarsest * pow(rows[row].ratio, -k);
            const struct scheme scheme = {rows[row].name, .criterion = rows[row].criterion, .accuracy = accuracy[k],
                                          .compensated = 1};
            struct motion motion = begin(context, &scheme, SYSTEMS, N, t_end, start);
            assert_ok(context, shoal_plan_integrate(motion.plan, t_end));
            error[k] = 1.0;
            for (int s = 0; s < SYSTEMS; s++) {
                shoal_body bodies[N];
                shoal_ensemble_get_bodies(motion.ensemble, s, bodies);
                error[k] *= pow(distance_of_states(N, bodies, exact + N * s), 1.0 / SYSTEMS);
            }
            motion_end(&motion);
        }
        const double measured = slope(STEPS, accuracy, error);
        print_message("%s, %s: order %.3f, errors %.1e..%.1e\n", rows[row].name, criteria[rows[row].criterion],
                      measured, error[0], error[STEPS - 1]);
        assert_below(fabs(measured - rows[row].order), 0.1 * rows[row].order, "%s, %s", rows[row].name,
                     criteria[rows[row].criterion]);
    }
}

/* ---- criteria ---------------------------------------------------------------------------------------------------- */

/* The step that a system chose after 20 steps. */
static double chosen_step(shoal_context *context, const struct scheme *scheme, int n, const shoal_body *bodies)
{
    struct motion motion = begin(context, scheme, 1, n, 1e3, bodies);
    long n_moved;
    motion.plan->slice_steps = 20;
    assert_ok(context, shoal_plan_slice(motion.plan, 1e3, &n_moved));
    const double step = field(&motion, SHOAL_SYS_DT, 0);
    motion_end(&motion);
    return step;
}

/* On circles every derivative is omega times the last: steps are tau / (omega sqrt(sum)), sqrt(eta) / omega and eta
 * / omega, with a sum over the bodies that have an acceleration: 2 for two bodies, 1 for a star and a massless
 * planet, 2 for two opposite planets about a star at rest. Symmetric: the power of two below tau / (omega sqrt(2)). */
static void steps_on_circles_are_known(void **state)
{
    shoal_context *context = context_of(state);
    shoal_body pair[2], light[2], triple[3] = {{.m = 0.5}, {.m = 0.25, .x = 1.0}, {.m = 0.25, .x = -1.0}};
    const double omega3 = sqrt(0.5 + 0.25 / 4);
    two_bodies(context, 0.3, 0.0, 1.0, pair);
    two_bodies(context, 0.0, 0.0, 1.0, light);
    triple[1].vy = omega3;
    triple[2].vy = -omega3;
    const struct {
        const char *what;
        const shoal_body *bodies;
        int n;
        double omega, sum;
    } systems[] = {{"two bodies", pair, 2, 1.0, 2.0},
                   {"a massless planet", light, 2, 1.0, 1.0},
                   {"a star at rest", triple, 3, omega3, 2.0}};
    for (int order = 4; order <= 6; order += 2)
        for (int s = 0; s < SHOAL_COUNT(systems); s++)
            for (int criterion = SWARM; criterion <= SYMMETRIC; criterion++) {
                const double accuracy = criterion == AARSETH ? order == 4 ? 4e-4 : 0.02 : 0.03,
                             omega = systems[s].omega;
                const struct scheme scheme = {adaptive_of[order], .criterion = criterion, .accuracy = accuracy};
                const double step = chosen_step(context, &scheme, systems[s].n, systems[s].bodies);
                const double exact = criterion == SWARM     ? accuracy / (omega * sqrt(systems[s].sum))
                                     : criterion == AARSETH ? 0.02 / omega
                                                            : exp2(floor(log2(accuracy / (omega * sqrt(2.0)))));
                assert_below(fabs(step / exact - 1.0), criterion == AARSETH ? 1e-3 : 1e-9, "order %d, %s, %s: %g",
                             order, criteria[criterion], systems[s].what, step);
            }
}

/* Bodies at rest have no jerk; a body alone far away, no step to ask for: the first step doubles until something
 * does. */
static void bodies_at_rest_begin_to_move(void **state)
{
    shoal_context *context = context_of(state);
    for (int order = 4; order <= 6; order += 2)
        for (int criterion = SWARM; criterion <= SYMMETRIC; criterion++) {
            shoal_body bodies[3], exact[3];
            const struct scheme scheme = {adaptive_of[order], .criterion = criterion};
            memcpy(bodies, pythagorean, sizeof bodies);
            memcpy(exact, pythagorean, sizeof exact);
            newton_reference(3, 1.5, exact);
            const double steps = evolve(context, &scheme, 3, 0.0, 1.5, bodies),
                         error = distance_of_states(3, bodies, exact);
            print_message("from rest, order %d, %s: %g steps, error %.1e\n", order, criteria[criterion], steps, error);
            assert_below(error, 1e-4, "order %d, %s", order, criteria[criterion]);
            assert_true(steps > 10);
        }
}

static void bounds_of_steps_are_kept(void **state)
{
    shoal_context *context = context_of(state);
    shoal_body start[2];
    two_bodies(context, 1e-3, 0.9, PI, start);
    for (int order = 4; order <= 6; order += 2)
        for (int criterion = SWARM; criterion <= SYMMETRIC; criterion++) {
            struct scheme scheme = {adaptive_of[order], .criterion = criterion, .dt_max = 1e-3};
            shoal_body bodies[2];
            memcpy(bodies, start, sizeof start);
            assert_true(evolve(context, &scheme, 2, 0.0, 1.0, bodies) >= 999);
            /* the pericentre needs less than dt_min */
            scheme = (struct scheme){scheme.name, .criterion = criterion, .dt_min = 2.5e-3};
            struct motion motion = begin(context, &scheme, 1, 2, 10.0, start);
            assert_ok(context, shoal_plan_integrate(motion.plan, 10.0));
            assert_int_equal(field(&motion, SHOAL_SYS_OUTCOME, 0), SHOAL_STEP_UNDERFLOW);
            const double t_stop = field(&motion, SHOAL_SYS_T_STOP, 0);
            assert_true(t_stop > PI - 1.5 && t_stop < PI);
            motion_end(&motion);
            scheme = (struct scheme){scheme.name, .criterion = criterion, .max_steps = 77};
            motion = begin(context, &scheme, 1, 2, 100.0, start);
            assert_ok(context, shoal_plan_integrate(motion.plan, 100.0));
            assert_int_equal(field(&motion, SHOAL_SYS_OUTCOME, 0), SHOAL_BUDGET);
            assert_true(field(&motion, SHOAL_SYS_ATTEMPT, 0) == 77);
            motion_end(&motion);
        }
}

/* Every step of the symmetric criterion is a power of two and starts on a multiple of itself. */
static void symmetric_steps_are_on_their_grid(void **state)
{
    enum { CALLS = 2500 };
    shoal_context *context = context_of(state);
    shoal_body bodies[2];
    int lengths = 0;
    two_bodies(context, 1e-3, 0.9, 1.0, bodies);
    const struct scheme scheme = {"hermite4_adaptive", .criterion = SYMMETRIC};
    struct motion motion = begin(context, &scheme, 1, 2, 1e3, bodies);
    for (int call = 0; call < CALLS; call++) {
        const double before = field(&motion, SHOAL_SYS_DT, 0);
        long n_moved;
        int exponent;
        motion.plan->slice_steps = 1;
        assert_ok(context, shoal_plan_slice(motion.plan, 1e3, &n_moved));
        const double step = field(&motion, SHOAL_SYS_DT, 0), time = field(&motion, SHOAL_SYS_ELAPSED, 0);
        assert_true(frexp(step, &exponent) == 0.5);
        assert_true(fmod(time, step) == 0.0 && field(&motion, SHOAL_SYS_ELAPSED_ERROR, 0) == 0.0);
        lengths += step != before;
    }
    assert_true(lengths > 8);
    motion_end(&motion);
}

/* ---- time symmetry ----------------------------------------------------------------------------------------------- */

/* Relative energy errors of Kepler orbits, the worst of a set of phases, at equal times: fills error[n_times]. */
static double energy_history(shoal_context *context, const struct scheme *scheme, double e, double t_end, int n_times,
                             double *mean)
{
    enum { SYSTEMS = 8 };
    shoal_body bodies[2 * SYSTEMS];
    double steps = 0.0;
    for (int s = 0; s < SYSTEMS; s++)
        two_bodies(context, 0.1, e, PI + 0.1 * s, bodies + 2 * s);
    struct motion motion = begin(context, scheme, SYSTEMS, 2, t_end, bodies);
    for (int k = 0; k < n_times; k++) {
        mean[k] = 0.0;
        assert_ok(context, shoal_plan_integrate(motion.plan, t_end * (k + 1) / n_times));
        for (int s = 0; s < SYSTEMS; s++)
            mean[k] += motion_energy_error(&motion, s) / SYSTEMS;
    }
    for (int s = 0; s < SYSTEMS; s++)
        steps += field(&motion, SHOAL_SYS_ATTEMPT, s) / SYSTEMS;
    motion_end(&motion);
    return steps;
}

/* e = 0.9 for thousands of periods: the energy error of symmetric steps is as large at the end as in the beginning;
 * that of Aarseth's is all drift. With three iterations: two leave a drift of 9e-15 a period in order 6, four are no
 * better. */
static void symmetric_steps_do_not_drift(void **state)
{
    enum { TIMES = 50 };
    shoal_context *context = context_of(state);
    for (int which = 0; which < 4; which++) {
        const int order = which % 2 ? 6 : 4, criterion = which / 2 ? SYMMETRIC : AARSETH;
        const double periods = (criterion == SYMMETRIC ? 4000.0 : 500.0) / SLOW_DOWN;
        const struct scheme scheme = {adaptive_of[order], .criterion = criterion, .compensated = 1, .iterations = 3,
                                      .accuracy = criterion == SYMMETRIC ? 0.1
                                                  : order == 4           ? 0.005
                                                                         : 0.07};
        double error[TIMES], most = 0.0, first = 0.0, last = 0.0;
        const double attempts = energy_history(context, &scheme, 0.9, periods * TWO_PI, TIMES, error);
        for (int k = 0; k < TIMES; k++) {
            most = fmax(most, fabs(error[k]));
            *(k < TIMES / 2 ? &first : &last) += error[k] * 2 / TIMES;
        }
        const double drift = 2.0 * (last - first);
        print_message("order %d, %s: %.0f attempts an orbit, %g periods: energy error at most %.1e, drift of it %.1e, "
                      "%.1e a period\n",
                      order, criteria[criterion], attempts / periods, periods, most, drift, drift / periods);
        if (criterion == SYMMETRIC)
            assert_below(fabs(drift), 0.5 * most, "order %d", order);
        else
            assert_true(fabs(drift) > 0.9 * most);
    }
}

/* There and back, over 64 time units and ten orbits of e = 0.9, a multiple of every step: the steps back are the
 * same. */
static void symmetric_steps_come_back(void **state)
{
    shoal_context *context = context_of(state);
    for (int order = 4; order <= 6; order += 2) {
        double back[2], steps[2];
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            const struct scheme scheme = {adaptive_of[order], .compensated = 1, .iterations = 5,
                                          .criterion = symmetric ? SYMMETRIC : AARSETH,
                                          .accuracy = symmetric    ? 0.1
                                                      : order == 4 ? 0.005
                                                                   : 0.07};
            shoal_body start[2], bodies[2];
            two_bodies(context, 0.1, 0.9, 2.0, start);
            memcpy(bodies, start, sizeof start);
            const double there = evolve(context, &scheme, 2, 0.0, 64.0, bodies);
            steps[symmetric] = evolve(context, &scheme, 2, 64.0, 0.0, bodies) - there;
            back[symmetric] = distance_of_states(2, bodies, start);
        }
        print_message("order %d, there and back: %.1e, with symmetric steps %.1e (%g steps more)\n", order, back[0],
                      back[1], steps[1]);
        assert_true(steps[1] == 0.0);
        assert_below(back[1], 1e-9, "order %d", order);
        assert_true(back[1] < 0.1 * back[0]);
    }
}

/* ---- invariance -------------------------------------------------------------------------------------------------- */

enum { CROWD = 40, CROWD_N = 3 };

/* The bytes of all states after t_end. way: 0 plain; 1, 4, 8 SIMD width; 2 slices of 7 steps and states at odd
 * times; 3 from a saved state in a new plan; 5 the systems in reverse order. False: this build has no such width. */
static bool crowd_after(shoal_context *context, struct scheme scheme, int way, shoal_body *after)
{
    const double t_end = 9.0;
    shoal_body start[CROWD * CROWD_N];
    shoal_setting settings[MOST_SETTINGS];
    for (int s = 0; s < CROWD; s++)
        planetary_system(context, s, CROWD_N, 1e-3, 1.7, 0.9, start + CROWD_N * (way == 5 ? CROWD - 1 - s : s));
    if (way == 1 || way == 4 || way == 8) {
        scheme.lanes = way;
        shoal_ensemble *ensemble = NULL;
        shoal_plan *plan = NULL;
        const shoal_options options = options_of(&scheme, t_end, settings);
        assert_ok(context, shoal_ensemble_create(context, CROWD, CROWD_N, &ensemble));
        for (int s = 0; s < CROWD; s++)
            assert_ok(context, shoal_ensemble_set_bodies(ensemble, s, CROWD_N, start + CROWD_N * s));
        const bool there = shoal_plan_create(context, ensemble, &options, &plan) == SHOAL_OK;
        shoal_plan_destroy(&plan);
        shoal_ensemble_destroy(&ensemble);
        if (!there)
            return false;
    }
    struct motion motion = begin(context, &scheme, CROWD, CROWD_N, t_end, start);
    if (way == 2 || way == 3)
        for (int k = 1; k <= 9; k++) {
            motion.plan->slice_steps = 7;
            assert_ok(context, shoal_plan_integrate(motion.plan, 0.4 * t_end * (k - 0.37) / 9));
        }
    if (way == 3) {
        void *saved = malloc(shoal_plan_state_size(motion.plan));
        assert_non_null(saved);
        assert_ok(context, shoal_plan_state_save(motion.plan, saved));
        motion_end(&motion);
        motion = begin(context, &scheme, CROWD, CROWD_N, t_end, start);
        assert_ok(context, shoal_plan_state_load(motion.plan, saved));
        free(saved);
    }
    assert_ok(context, shoal_plan_integrate(motion.plan, t_end));
    for (int s = 0; s < CROWD; s++) {
        assert_int_equal(field(&motion, SHOAL_SYS_OUTCOME, s), SHOAL_SURVIVED);
        shoal_ensemble_get_bodies(motion.ensemble, way == 5 ? CROWD - 1 - s : s, after + CROWD_N * s);
    }
    motion_end(&motion);
    return true;
}

static void neither_company_nor_output_change_a_bit(void **state)
{
    static const int ways[] = {1, 4, 8, 2, 3, 5};
    static const struct scheme schemes[] = {
        {"hermite4", .iterations = 1, .dt = 0.01},
        {"hermite4", .iterations = 3, .compensated = 1, .dt = 0.01},
        {"hermite6", .iterations = 1, .dt = 0.01},
        {"hermite6", .iterations = 2, .compensated = 1, .dt = 0.01},
        {"hermite4_adaptive", .criterion = SWARM},
        {"hermite4_adaptive", .criterion = AARSETH, .compensated = 1},
        {"hermite4_adaptive", .criterion = SYMMETRIC, .compensated = 1},
        {"hermite4_adaptive", .criterion = SYMMETRIC},
        {"hermite6_adaptive", .criterion = SWARM},
        {"hermite6_adaptive", .criterion = AARSETH},
        {"hermite6_adaptive", .criterion = SYMMETRIC, .compensated = 1, .iterations = 3},
    };
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(schemes); i++) {
        static shoal_body plain[CROWD * CROWD_N], other[CROWD * CROWD_N];
        assert_true(crowd_after(context, schemes[i], 0, plain));
        for (int w = 0; w < SHOAL_COUNT(ways); w++) {
            if (!crowd_after(context, schemes[i], ways[w], other))
                continue;
            if (memcmp(plain, other, sizeof plain) != 0)
                fail_msg("%s, criterion %d: other bits (way %d)", schemes[i].name, schemes[i].criterion, ways[w]);
        }
    }
}

/* Bodies that are not there are far out, where derivatives of high order are roundings. */
static void absent_bodies_ask_for_no_step(void **state)
{
    static const char *const names[] = {"hermite4_adaptive", "hermite6_adaptive"}, *const words[] = {"swarm", "aarseth",
                                                                                                     "symmetric"};
    static const int rooms[] = {3, 4, 6, 20};
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(names) * SHOAL_COUNT(words); i++) {
        const shoal_body wide[3] = {
            {.m = 1}, {.m = 1e-6, .x = 0.05, .vy = sqrt(1 / 0.05)}, {.m = 1e-6, .x = 30, .vy = sqrt(1.0 / 30)}};
        const shoal_setting criterion = {"criterion", 0, words[i % 3]};
        const shoal_options options = {
            .propagator = names[i / 3], .settings = &criterion, .n_settings = 1, .engine = "cpu", .t_end = 1};
        shoal_body first[3], seen[3];
        for (int r = 0; r < SHOAL_COUNT(rooms); r++) {
            struct motion motion = {NULL, NULL};
            shoal_system record;
            assert_ok(context, shoal_ensemble_create(context, 1, rooms[r], &motion.ensemble));
            assert_ok(context, shoal_ensemble_set_bodies(motion.ensemble, 0, 3, wide));
            assert_ok(context, shoal_plan_create(context, motion.ensemble, &options, &motion.plan));
            assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end));
            shoal_ensemble_get_system(motion.ensemble, 0, &record);
            shoal_ensemble_get_bodies(motion.ensemble, 0, r ? seen : first);
            assert_int_equal(record.outcome, SHOAL_SURVIVED);
            if (r && memcmp(first, seen, sizeof first) != 0)
                fail_msg("%s, %s: other bits with room for %d bodies", options.propagator, words[i % 3], rooms[r]);
            motion_end(&motion);
        }
    }
}

/* ---- agreement --------------------------------------------------------------------------------------------------- */

static void all_schemes_agree(void **state)
{
    enum { N = 5 };
    static const struct scheme schemes[] = {
        {"hermite4", .dt = 5e-4},
        {"hermite6", .dt = 4e-3},
        {"hermite4_adaptive", .criterion = SWARM, .accuracy = 2e-3},
        {"hermite4_adaptive", .criterion = AARSETH, .accuracy = 2e-6},
        {"hermite4_adaptive", .criterion = SYMMETRIC, .accuracy = 1e-3},
        {"hermite6_adaptive", .criterion = SWARM, .accuracy = 1.5e-2},
        {"hermite6_adaptive", .criterion = AARSETH, .accuracy = 1e-2},
        {"hermite6_adaptive", .criterion = SYMMETRIC, .accuracy = 1e-2},
    };
    shoal_context *context = context_of(state);
    shoal_body start[N], exact[N], bodies[N];
    planetary_system(context, 3, N, 3e-3, 1.7, 0.2, start);
    for (int sign = -1; sign <= 1; sign += 2) {
        const double t_end = 20.0 * sign;
        memcpy(exact, start, sizeof start);
        newton_reference(N, t_end, exact);
        for (int i = 0; i < SHOAL_COUNT(schemes); i++) {
            struct scheme scheme = schemes[i];
            scheme.compensated = 1;
            memcpy(bodies, start, sizeof start);
            const double steps = evolve(context, &scheme, N, 0.0, t_end, bodies),
                         error = distance_of_states(N, bodies, exact);
            print_message("%s %s: %g steps, %.1e from the reference\n", scheme.name,
                          adaptive(&scheme) ? criteria[scheme.criterion] : "", steps, error);
            assert_below(error, 1e-10, "%s", scheme.name);
        }
    }
}

/* With an extra force order 6 is kept: its jerk and snap are differences. Reference: itself with a fine step, and
 * hermite4. */
static void extra_forces_keep_order_six(void **state)
{
    enum { N = 3, STEPS = 5 };
    shoal_context *context = context_of(state);
    const shoal_setting c = {.name = "c", .value = 10.0};
    const shoal_plug_options force = {"gr_potential", &c, 1};
    shoal_body start[N], result[STEPS + 2][N];
    double dt[STEPS], error[STEPS];
    planetary_system(context, 5, N, 1e-2, 1.7, 0.1, start);
    for (int k = 0; k < STEPS + 2; k++) {
        const struct scheme scheme = {k == STEPS + 1 ? "hermite4" : "hermite6", .compensated = 1,
                                      .dt = k == STEPS + 1 ? 0x1p-12
                                            : k == STEPS   ? 0x1p-8
                                                           : 0.25 * pow(1.5, -k)};
        shoal_setting settings[MOST_SETTINGS];
        shoal_options options = options_of(&scheme, 8.0, settings);
        options.forces = &force;
        options.n_forces = 1;
        memcpy(result[k], start, sizeof start);
        evolve_all(context, 1, N, NULL, NULL, &options, result[k], NULL);
        if (k < STEPS)
            dt[k] = scheme.dt;
    }
    for (int k = 0; k < STEPS; k++)
        error[k] = distance_of_states(N, result[k], result[STEPS]);
    const double measured = slope(STEPS, dt, error), apart = distance_of_states(N, result[STEPS], result[STEPS + 1]);
    print_message("hermite6 with an extra force: order %.3f, errors %.1e..%.1e; hermite4 is %.1e away\n", measured,
                  error[0], error[STEPS - 1], apart);
    assert_below(fabs(measured - 6.0), 0.3, "order with an extra force");
    assert_below(apart, 1e-11, "hermite4 and hermite6");
}

/* ---- the Pythagorean problem ------------------------------------------------------------------------------------- */

/* The closest approach, of the masses 4 and 5 to 4e-4 at t = 15.830: they touch with radii of 2.2e-4, not of 1.8e-4. */
static void the_closest_approach_is_where_it_was_published(void **state)
{
    shoal_context *context = context_of(state);
    for (int touching = 0; touching < 2; touching++) {
        const double r = touching ? 2.2e-4 : 1.8e-4;
        const shoal_setting settings[] = {{.name = "criterion", .choice = "aarseth"}, {.name = "eta", .value = 0.02}};
        const shoal_plug_options collision = {"stop_on_collision", NULL, 0};
        const shoal_options options = {.propagator = "hermite6_adaptive",
                                       .settings = settings,
                                       .n_settings = 2,
                                       .engine = "cpu",
                                       .monitors = &collision,
                                       .n_monitors = 1,
                                       .t_end = 20.0};
        shoal_body bodies[3];
        shoal_system record;
        memcpy(bodies, pythagorean, sizeof bodies);
        bodies[1].r = bodies[2].r = r;
        evolve_all(context, 1, 3, NULL, NULL, &options, bodies, &record);
        print_message("radii of %g: %s at %.5f\n", r, shoal_outcome_name(record.outcome), record.t_stop);
        assert_true((record.outcome != SHOAL_SURVIVED) == touching);
        assert_true(!touching || fabs(record.t_stop - 15.830) < 0.001);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_exact_for_polynomials),
        cmocka_unit_test(error_falls_with_the_order),
        cmocka_unit_test(accuracy_scales_with_the_order),
        cmocka_unit_test(steps_on_circles_are_known),
        cmocka_unit_test(bodies_at_rest_begin_to_move),
        cmocka_unit_test(bounds_of_steps_are_kept),
        cmocka_unit_test(symmetric_steps_are_on_their_grid),
        cmocka_unit_test(symmetric_steps_do_not_drift),
        cmocka_unit_test(symmetric_steps_come_back),
        cmocka_unit_test(neither_company_nor_output_change_a_bit),
        cmocka_unit_test(absent_bodies_ask_for_no_step),
        cmocka_unit_test(all_schemes_agree),
        cmocka_unit_test(extra_forces_keep_order_six),
        cmocka_unit_test(the_closest_approach_is_where_it_was_published),
    };
    return cmocka_run_group_tests_name("hermite", tests, setup, teardown);
}
