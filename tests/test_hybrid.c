/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_hybrid.c: the map that makes close encounters right. Without encounters it is mvs to the last bit; through them
 * it follows Newton's equations (GSL's Runge-Kutta of order 8), keeps the energy, comes back when time is reversed, and
 * shows the monitors what happens inside a step. That its bits do not depend on lanes, slices and restarts is in
 * test_invariance.c, as for every propagator.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_odeiv2.h>

#include "systems.h"
#include "trees.h"

/* the kernel text at one lane, for the tables of the drift */
#define LANES             1
#define PROPAGATOR        hybrid
#define SHOAL_VARIATIONAL 0
#include "core/kernel/lane.h"
#include "integrators/integrate.kern.h"

#define MOST_BODIES  6
#define MOST_SYSTEMS 64

#define SLOW_DOWN (INSTRUMENTED ? 20 : 1)

/* ---- systems, runs, a reference ---------------------------------------------------------------------------------- */

/* A star and n - 1 planets of one mass, the innermost at a = 1. */
static void planets(shoal_context *context, long id, int n, double mass, double spacing, shoal_body *bodies)
{
    shoal_orbit orbit[MOST_BODIES];
    memset(orbit, 0, sizeof orbit);
    memset(bodies, 0, (size_t)n * sizeof *bodies);
    bodies[0].m = 1.0;
    for (int i = 1; i < n; i++) {
        bodies[i].m = mass;
        orbit[i].a = pow(spacing, i - 1);
        orbit[i].e = 0.02 * uniform(id, 8 * i);
        orbit[i].inc = 0.02 * uniform(id, 8 * i + 1);
        orbit[i].Omega = TWO_PI * uniform(id, 8 * i + 2);
        orbit[i].omega = TWO_PI * uniform(id, 8 * i + 3);
        orbit[i].f = TWO_PI * uniform(id, 8 * i + 4);
    }
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, n, orbit, bodies));
}

/* Two planets of mass 1e-4, the inner one about to overtake: closest near t = 2, at a tenth of a Hill radius or
 * less. */
static void overtaking(shoal_context *context, double a, shoal_body *bodies)
{
    const shoal_orbit orbit[3] = {{0}, {.a = 1.0}, {.a = a, .f = 0.15, .inc = 0.002}};
    memset(bodies, 0, 3 * sizeof *bodies);
    bodies[0].m = 1.0;
    bodies[1].m = bodies[2].m = 1e-4;
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, 3, orbit, bodies));
}

/* n_systems systems of n bodies to t_end, in and out; the relative energy errors, and the records if there is room
 * for them. */
static void evolve(shoal_context *context, long n_systems, int n, const shoal_options *options, shoal_body *bodies,
                   double *error, shoal_system *records)
{
    struct motion motion = motion_begin(context, n_systems, n, NULL, NULL, options, bodies);
    assert_ok(context, shoal_plan_integrate(motion.plan, options->t_end));
    for (long s = 0; s < n_systems; s++) {
        shoal_ensemble_get_bodies(motion.ensemble, s, bodies + s * n);
        if (records)
            shoal_ensemble_get_system(motion.ensemble, s, &records[s]);
        if (error)
            error[s] = fabs(motion_energy_error(&motion, s));
    }
    motion_end(&motion);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quantile(long n, double *values, double part)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    return values[(long)(part * (double)(n - 1))];
}

static double pair_distance(const double *y)
{
    return hypot(hypot(y[6] - y[3], y[7] - y[4]), y[8] - y[5]);
}

/* The state at t (order 8 at the limit of doubles); the least distance of bodies 1 and 2 on the way, and when they
 * first came within `within` of each other (by linear interpolation between steps of 1e-4). */
static void reference(int n, double t, shoal_body *bodies, double within, double *least, double *when)
{
    double y[6 * MOST_BODIES], now = 0.0;
    struct newton newton = {n, bodies};
    gsl_odeiv2_system system = {newton_right_side, NULL, (size_t)(6 * n), &newton};
    newton_from_bodies(n, bodies, y);
    gsl_odeiv2_driver *driver = gsl_odeiv2_driver_alloc_y_new(&system, gsl_odeiv2_step_rk8pd, copysign(1e-3, t), 1e-14,
                                                              0.0);
    assert_non_null(driver);
    if (least) {
        double last = pair_distance(y);
        *least = INFINITY;
        *when = NAN;
        for (double next = 1e-4; next <= t; next += 1e-4) {
            assert_int_equal(gsl_odeiv2_driver_apply(driver, &now, next, y), GSL_SUCCESS);
            const double d = pair_distance(y);
            if (isnan(*when) && d < within)
                *when = next - 1e-4 * (within - d) / (last - d);
            *least = fmin(*least, d);
            last = d;
        }
    }
    assert_int_equal(gsl_odeiv2_driver_apply(driver, &now, t, y), GSL_SUCCESS);
    gsl_odeiv2_driver_free(driver);
    newton_to_bodies(n, y, bodies);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* The conditions of all rooted trees, and not one more: of orders 8 and 6 where f depends on positions, of order 3
 * where it depends on velocities. */
static void the_table_meets_its_order_conditions(void **state)
{
    static const int trees[] = {1, 1, 2, 3, 6, 10, 20, 36, 72},
                     orders[][2] = {[OF_SECOND_ORDER] = {8, 6}, [WITH_VELOCITIES] = {3, 3}};
    struct method method = {.stages = NYSTROM_STAGES};
    /* of both solutions: velocities (1) and positions (2), as many integrals */
    long double weight[2][3][NYSTROM_STAGES] = {0};
    (void)state;
    for (int i = 0, row = 0; i < NYSTROM_STAGES; row += i, i++) {
        method.c[i] = nystrom_c[i];
        for (int j = 0; j < i; j++) {
            method.once[i][j] = nystrom_w[row + j];
            method.twice[i][j] = weight[0][2][j] = nystrom_a[row + j]; /* the last row is b */
        }
    }
    for (int i = 0; i < NYSTROM_STAGES; i++) {
        weight[0][1][i] = nystrom_bv[i];
        weight[1][1][i] = weight[0][1][i] - nystrom_ev[i];
        weight[1][2][i] = weight[0][2][i] - nystrom_ex[i];
    }
    for (int equation = OF_SECOND_ORDER; equation <= WITH_VELOCITIES; equation++) {
        struct forest *forest = plant((enum equation)equation, orders[equation][0] + 1);
        for (int order = 1; equation == OF_SECOND_ORDER && order <= SHOAL_COUNT(trees); order++)
            assert_int_equal(conditions(forest, 1, order), trees[order - 1]);
        for (int embedded = 0; embedded < 2; embedded++) {
            const int last = orders[equation][embedded];
            double worst = 0;
            for (int order = 1; order <= last; order++)
                for (int integrals = 1; integrals <= 2; integrals++)
                    worst = fmax(worst, residual(forest, &method, integrals, weight[embedded][integrals], order));
            const double next = residual(forest, &method, 1, weight[embedded][1], last + 1);
            print_message("%s%s: order %d: conditions met to %.1e, of the next order missed by %.1e\n",
                          embedded ? "embedded" : "solution", equation == WITH_VELOCITIES ? ", f(x, v)" : "", last,
                          worst, next);
            assert_below(worst, EPS); /* entries up to 7 are rounded to 2^-53 of themselves */
            assert_true(next > 1e-7);
        }
        free(forest);
    }
}

/* Consistent stages, velocities at them as integrals of polynomials; and its orders on a Kepler orbit. */
static void the_table_has_its_orders(void **state)
{
    (void)state;
    const shoal_kernel_args none = {0};
    long double row_sum[NYSTROM_STAGES] = {0};
    const double *row = nystrom_a;
    for (int i = 1; i < NYSTROM_STAGES; row += i, i++) {
        for (int j = 0; j < i; j++)
            row_sum[i] += row[j];
        assert_below(fabsl(row_sum[i] - 0.5L * nystrom_c[i] * nystrom_c[i]), 1e-14);
    }
    const double *velocity = nystrom_w;
    for (int i = 1; i < NYSTROM_STAGES; velocity += i, i++)
        for (int k = 0; k < (i < 3 ? i : i - 1); k++) { /* what stages it goes through allow */
            long double sum = 0;
            for (int j = 0; j < i; j++)
                sum += velocity[j] * (k ? powl(nystrom_c[j], k) : 1);
            assert_below(fabsl(sum - powl(nystrom_c[i], k + 1) / (k + 1)), 1e-14);
        }

    double error[3], estimate[3];
    for (int k = 0; k < 3; k++) { /* a quarter of an orbit with e = 0.3 in the planet's own units, 8, 16, 32 steps */
        const int steps = 8 << k;
        const real m[2] = {lane_set(1.0), lane_set(0.0)};
        const mask yes = m[0] == m[0], near[4] = {0}, drifts[2] = {yes, yes};
        const hybrid_flags flags = {near, drifts, yes};
        const double speed = sqrt(1.3 / 0.7), quarter = TWO_PI / 4;
        real x[6], v[6], dx[6], dv[6], f[NYSTROM_STAGES * 6], nx[6], nv[6], step = lane_set(quarter / steps),
                                                                            worst = lane_set(0.0);
        for (int c = 0; c < 6; c++)
            x[c] = v[c] = dx[c] = dv[c] = lane_set(0.0);
        x[1] = lane_set(0.7);
        v[3] = lane_set(speed);
        drift_acceleration(&none, 2, m, flags, x, v, f);
        for (int i = 0; i < steps; i++) {
            const drift_work work = {x, v, dx, dv, f, nx, nv};
            const real error2 = drift_try(&none, 2, m, flags, work, step, 1.0);
            worst = lane_max(worst, error2);
            for (int c = 1; c < 6; c += 2) {
                dx[c] = nx[c];
                dv[c] = nv[c];
                f[c] = f[(NYSTROM_STAGES - 1) * 6 + c];
            }
        }
        /* Kepler's equation for M = pi / 2 */
        double E = 1.8;
        for (int i = 0; i < 20; i++)
            E -= (E - 0.3 * sin(E) - quarter) / (1 - 0.3 * cos(E));
        error[k] = hypot(x[1][0] + dx[1][0] - (cos(E) - 0.3), x[3][0] + dx[3][0] - sqrt(0.91) * sin(E));
        estimate[k] = sqrt(worst[0]);
    }
    for (int k = 0; k < 2; k++) {
        print_message("drift: order %.2f, estimate's order %.2f (error %.1e, estimate %.1e)\n",
                      log2(error[k] / error[k + 1]), log2(estimate[k] / estimate[k + 1]), error[k], estimate[k]);
        assert_true(log2(error[k] / error[k + 1]) > 7.6);
        assert_true(fabs(log2(estimate[k] / estimate[k + 1]) - 7) < 0.4); /* of one step */
    }
}

/* Two planets anywhere near each other: who is near, by the exact question, may be near by the cheap one, which asks
 * little more. */
static void the_cheap_question_misses_nobody(void **state)
{
    enum { n = 3, TRIALS = 200000 };
    shoal_kernel_args k = {.n_moved = n, .n_massive = n, .propagator = {0, 3, 0.4, 1, HYBRID_PASSAGE, 1e-7}};
    long n_near = 0, n_maybe = 0;
    (void)state;
    for (long trial = 0; trial < TRIALS; trial++) {
        const double mass = pow(10, -6 + 3 * uniform(trial, 0)),
                     h = (uniform(trial, 1) - 0.5) * pow(10, -2 * uniform(trial, 2));
        const double size[2] = {pow(10, -2 * uniform(trial, 3)), uniform(trial, 4)};
        const real m[n] = {lane_set(1.0), lane_set(mass), lane_set(mass * uniform(trial, 5))};
        real w[6 * n] = {0}, s[PROPAGATOR_SLOTS(1) * n + PROPAGATOR_OWN];
        w[1] = lane_set(0.5 + uniform(trial, 6)), w[2] = lane_set(3.0);
        propagator_prepare(&k, n, m, w, s);
        for (int c = 0; c < 6; c++) {
            s[c * n + 1] = lane_set(c == 0 ? 0.5 + uniform(trial, 6) : c == 4 ? 1.0 : 0.0);
            s[c * n + 2] = s[c * n + 1] + lane_set(size[c / 3] * (2 * uniform(trial, 7 + c) - 1));
        }
        mask near[n * n], drifts[n], all = hybrid_clear(&k, n, near, drifts), any;
        hybrid_flag(&k, n, m, s, lane_set(h), m[0] == m[0], near, drifts, &all, &any);
        const mask maybe = hybrid_may_be_near(&k, n, m, s, lane_set(h));
        assert_true(!lane_any(any) || lane_any(maybe));
        n_near += lane_any(any);
        n_maybe += lane_any(maybe);
    }
    print_message("%ld of %d are near, %ld may be\n", n_near, TRIALS, n_maybe);
    assert_in_range(n_near, TRIALS / 10, TRIALS - TRIALS / 10);
    assert_in_range(n_maybe, n_near, n_near + n_near / 2);
}

/* No cubic through two states comes nearer than its bound, and of one that turns little the bound is close. */
static void a_cubic_stays_outside_its_bound(void **state)
{
    enum { TRIALS = 100000 };
    long n_close = 0;
    (void)state;
    for (long trial = 0; trial < TRIALS; trial++) {
        real a[6], b[6];
        const double h = uniform(trial, 12) - 0.5;
        for (int c = 0; c < 6; c++) {
            a[c] = lane_set(uniform(trial, c) - 0.5);
            /* every other one is slow */
            b[c] = lane_set(uniform(trial, 6 + c) - 0.5) + (trial % 2 ? a[c] * 9.0 : lane_set(0.0));
        }
        const lane_pair from = {a[0], a[1], a[2], a[3], a[4], a[5]}, to = {b[0], b[1], b[2], b[3], b[4], b[5]};
        const pair_bound bound = pair_outside(from, to, lane_set(h));
        const double least2 = pair_nearest(from, to, lane_set(h)).d2[0], bound2 = bound.top[0] / bound.bottom[0];
        assert_true(bound2 <= least2 * (1 + 1e-12));
        n_close += bound2 > 0.5 * least2;
    }
    print_message("the bound is above half of the least squared distance in %ld of %d\n", n_close, TRIALS);
    assert_true(n_close > TRIALS / 10);
}

/* The systems of `shoal bench hybrid-2p-encounters` (core/command/command_bench.c): one step in a hundred begins or
 * ends near somebody. */
static void the_bench_has_one_encounter_in_a_hundred_steps(void **state)
{
    enum { n = 3, SYSTEMS = 256, STEPS = 4000 };
    const shoal_kernel_args k = {.n_moved = n, .n_massive = n, .propagator = {0, 3, 0.4, 1, HYBRID_PASSAGE, 1e-7}};
    long n_near = 0;
    (void)state;
    for (int system = 0; system < SYSTEMS; system++) {
        real m[n] = {lane_set(1.0), lane_set(2.3e-5), lane_set(2.3e-5)}, w[6 * n] = {0},
             s[PROPAGATOR_SLOTS(1) * n + PROPAGATOR_OWN] = {0};
        double a = 1;
        for (int i = 1; i < n; i++, a *= 1.1) {
            const double phase = fmod(0.1 * system, TWO_PI) * i + i, speed = sqrt(1.1 / (a * 0.9));
            const double at[] = {a * 0.9 * cos(phase), a * 0.9 * sin(phase), 0.01 * i,
                                 -speed * sin(phase),  speed * cos(phase),   0};
            for (int c = 0; c < 6; c++)
                w[c * n + i] = lane_set(at[c]);
        }
        propagator_prepare(&k, n, m, w, s);
        for (int step = 0; step < STEPS; step++) {
            const bool began = step > 0 && HYBRID_OWN(n, s)[HYBRID_NEAR][0] > 0;
            propagator_step(&k, n, 0, m, s, lane_set(PI / 10), NULL);
            n_near += began || HYBRID_OWN(n, s)[HYBRID_NEAR][0] > 0;
        }
    }
    const double part = (double)n_near / (SYSTEMS * STEPS);
    print_message("%.2f %% of the steps are inside an encounter\n", 100 * part);
    assert_true(part > 0.008 && part < 0.015); /* 0.0088 to 0.0099 in each thousand of the steps */
}

static void without_encounters_it_is_mvs(void **state)
{
    enum { SYSTEMS = 37, N = 4 };
    shoal_context *context = context_of(state);
    for (int compensated = 0; compensated < 2; compensated++) {
        const shoal_setting setting = {.name = "compensated", .value = compensated};
        shoal_body bodies[2][SYSTEMS * N];
        for (int p = 0; p < 2; p++) {
            const shoal_options options = {.propagator = p ? "hybrid" : "mvs",
                                           .settings = &setting,
                                           .n_settings = 1,
                                           .dt = TWO_PI / 25,
                                           .t_end = 100.3 * TWO_PI / SLOW_DOWN};
            for (long s = 0; s < SYSTEMS; s++)
                planets(context, s, N, 1e-5, 1.5, bodies[p] + s * N);
            evolve(context, SYSTEMS, N, &options, bodies[p], NULL, NULL);
        }
        assert_memory_equal(bodies[0], bodies[1], sizeof bodies[0]);
    }
}

/* One overtaking: the state after it against the reference, for steps down to a 320th of an orbit: of order 2 and
 * small; mvs is lost. */
static void an_encounter_is_followed(void **state)
{
    enum { N = 3, STEPS = 5 };
    shoal_context *context = context_of(state);
    const double t_end = 4.0;
    shoal_body exact[N], bodies[N];
    double error[2][STEPS], dt[STEPS], energy, least, when;
    overtaking(context, 1.05, exact);
    reference(N, t_end, exact, 0.0, &least, &when);
    print_message("least distance %.2e, Hill radius %.2e\n", least, cbrt(1e-4 / 3));
    for (int p = 0; p < 2; p++)
        for (int k = 0; k < STEPS; k++) {
            const shoal_options options = {
                .propagator = p ? "hybrid" : "mvs", .dt = dt[k] = TWO_PI / (20 << k), .t_end = t_end};
            overtaking(context, 1.05, bodies);
            evolve(context, 1, N, &options, bodies, &energy, NULL);
            error[p][k] = distance_of_states(N, bodies, exact);
            print_message("%-6s dt = P / %3d: position off by %.2e, energy by %.1e\n", options.propagator, 20 << k,
                          error[p][k], energy);
            if (p == 1 && k == 0)
                assert_below(energy, 1e-5);
        }
    for (int k = 0; k < STEPS; k++)
        assert_below(error[1][k], 0.01 * error[0][k]);
    const double order = slope(STEPS, dt, error[1]);
    print_message("hybrid through an encounter: order %.2f\n", order);
    assert_true(fabs(order - 2.0) < 0.3);
}

/* Three planets of 5e-5 stars, scattering for 1000 orbits. TRACE and MERCURIUS of REBOUND 5.2.2 from the same
 * states, 1000 orbits: medians 3.0e-6 and 2.5e-6, largest 7.6e-6 and 3.2e-5; the error is a random walk in the
 * number of encounters. */
static void scattering_keeps_the_energy(void **state)
{
    enum { SYSTEMS = 24, N = 4 };
    shoal_context *context = context_of(state);
    double error[2][SYSTEMS];
    for (int p = 0; p < 2; p++) {
        shoal_body bodies[SYSTEMS * N];
        const shoal_options options = {
            .propagator = p ? "hybrid" : "mvs", .dt = TWO_PI / 40, .t_end = 1000 * TWO_PI / SLOW_DOWN};
        for (long s = 0; s < SYSTEMS; s++)
            planets(context, s, N, 5e-5, 1.12, bodies + s * N);
        evolve(context, SYSTEMS, N, &options, bodies, error[p], NULL);
        print_message("%-6s energy error after 1000 orbits: median %.1e, 90 %% %.1e, largest %.1e\n",
                      options.propagator, quantile(SYSTEMS, error[p], 0.5), quantile(SYSTEMS, error[p], 0.9),
                      quantile(SYSTEMS, error[p], 1));
    }
    assert_below(quantile(SYSTEMS, error[1], 0.5), 1e-5);
    assert_below(quantile(SYSTEMS, error[1], 1), 5e-5);
    if (SLOW_DOWN == 1)
        assert_true(quantile(SYSTEMS, error[0], 0.5) > 300 * quantile(SYSTEMS, error[1], 0.5));
}

/* There and back through the encounter. The map is reversible where the same pairs are found near both ways; what is
 * left is the substeps' error, magnified by the encounter. */
static void time_can_be_reversed(void **state)
{
    enum { N = 3 };
    shoal_context *context = context_of(state);
    const shoal_setting tolerance = {.name = "tolerance", .value = 1e-12};
    const shoal_options options = {
        .propagator = "hybrid", .settings = &tolerance, .n_settings = 1, .dt = TWO_PI / 64, .t_end = 64 * TWO_PI / 64};
    shoal_body start[N], bodies[N];
    overtaking(context, 1.05, start);
    memcpy(bodies, start, sizeof start);
    evolve(context, 1, N, &options, bodies, NULL, NULL);
    const double gone = distance_of_states(N, bodies, start);
    for (int leg = 0; leg < 2; leg++)
        for (int i = 0; leg == 0 && i < N; i++) {
            bodies[i].vx *= -1;
            bodies[i].vy *= -1;
            bodies[i].vz *= -1;
        }
    evolve(context, 1, N, &options, bodies, NULL, NULL);
    print_message("there and back: %.1e (moved by %.1e)\n", distance_of_states(N, bodies, start), gone);
    assert_below(distance_of_states(N, bodies, start), 1e-11);
}

/* A planet that passes the star at 0.02 of its axis beside a Jupiter; mvs with 40 steps an orbit does not see the
 * pericentre. By passages: REBOUND's TRACE has 8e-5; by orbits there is the drift's error alone, magnified by 2 a /
 * q = 100. */
static void a_pericentre_passage_is_followed(void **state)
{
    enum { N = 3 };
    static const struct {
        const char *propagator, *choice;
        double tolerance, energy, position;
    } rows[] = {{"mvs", NULL, 0, INFINITY, INFINITY},
                {"hybrid", "passage", 1e-7, 1e-3, 1e-2},
                {"hybrid", "orbit", 1e-7, 2e-7, 5e-7},
                {"hybrid", "orbit", 1e-11, 1e-11, 1e-10}};
    shoal_context *context = context_of(state);
    const shoal_orbit orbit[N] = {{0}, {.a = 1.0, .e = 0.98, .f = 3.0, .inc = 0.1}, {.a = 5.2, .e = 0.05, .f = 1.0}};
    shoal_body start[N] = {{.m = 1.0}, {.m = 1e-3}, {.m = 1e-3}}, exact[N], bodies[N];
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, N, orbit, start));
    memcpy(exact, start, sizeof start);
    reference(N, 20.0, exact, 0.0, NULL, NULL);
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        const shoal_setting settings[] = {{.name = "pericentre", .choice = rows[row].choice},
                                          {.name = "tolerance", .value = rows[row].tolerance}};
        const shoal_options options = {.propagator = rows[row].propagator,
                                       .settings = settings,
                                       .n_settings = rows[row].choice ? 2 : 0,
                                       .dt = TWO_PI / 40,
                                       .t_end = 20.0};
        double energy;
        memcpy(bodies, start, sizeof start);
        evolve(context, 1, N, &options, bodies, &energy, NULL);
        const double error = distance_of_states(N, bodies, exact);
        print_message("%-6s %-7s three pericentres at 0.02: position off by %.1e, energy by %.1e\n", options.propagator,
                      rows[row].choice ? rows[row].choice : "", error, energy);
        assert_below(energy, rows[row].energy);
        assert_below(error, rows[row].position);
    }
}

/* Extra forces in both branches, against gauss_radau: through pericentre passages, where they are part of the drift,
 * to what its tolerance allows; if they depend on velocities, the method is of order 3 and its estimate of order 4
 * in the substep (1e-4 in tolerance: 10^(-4 / 4 * 3) in the result); through an encounter, where they kick at the
 * steps' ends, of order 2. */
static void forces_act_in_both_branches(void **state)
{
    enum { N = 3, STEPS = 5 };
    static const struct {
        const char *force, *choice;
        double tolerance, position, energy;
    } rows[] = {{"gr_potential", "orbit", 1e-7, 5e-7, 2e-7},
                {"gr_potential", "orbit", 1e-11, 1e-11, 1e-11},
                {"gr", "orbit", 1e-7, 1e-4, 5e-5},
                {"gr", "orbit", 1e-11, 1e-7, 1e-7},
                {"gr_potential", "passage", 1e-7, 1e-2, 1e-3},
                {"gr", "passage", 1e-7, 1e-2, 1e-3}};
    shoal_context *context = context_of(state);
    const shoal_orbit orbit[N] = {{0}, {.a = 1.0, .e = 0.98, .f = 3.0, .inc = 0.1}, {.a = 5.2, .e = 0.05, .f = 1.0}};
    shoal_setting c = {.name = "c", .value = 300}; /* each passage turns the orbit by 5e-3 */
    shoal_plug_options force = {.settings = &c, .n_settings = 1};
    shoal_options options = {.forces = &force, .n_forces = 1};
    shoal_body start[N] = {{.m = 1.0}, {.m = 1e-3}, {.m = 1e-3}}, exact[N], bodies[N];
    double error[STEPS], dt[STEPS], energy;
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, N, orbit, start));
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        const shoal_setting settings[] = {{.name = "pericentre", .choice = rows[row].choice},
                                          {.name = "tolerance", .value = rows[row].tolerance}};
        force.name = rows[row].force;
        options.t_end = 20.0;
        for (int p = 0; p < 2; p++) {
            shoal_body *moved = memcpy(p ? bodies : exact, start, sizeof start);
            options.propagator = p ? "hybrid" : "gauss_radau";
            options.settings = settings;
            options.n_settings = p ? 2 : 0;
            options.dt = p ? TWO_PI / 40 : 0;
            evolve(context, 1, N, &options, moved, &energy, NULL);
        }
        error[0] = distance_of_states(N, bodies, exact);
        print_message("%-12s %-7s tolerance %.0e: position off by %.1e, energy by %.1e\n", force.name, rows[row].choice,
                      rows[row].tolerance, error[0], energy);
        assert_below(error[0], rows[row].position);
        assert_below(energy, rows[row].energy);
    }

    c.value = 10;
    force.name = "gr_potential";
    options = (shoal_options){.propagator = "gauss_radau", .forces = &force, .n_forces = 1, .t_end = 4.0};
    overtaking(context, 1.05, exact);
    evolve(context, 1, N, &options, exact, NULL, NULL);
    options.propagator = "hybrid";
    for (int k = 0; k < STEPS; k++) {
        options.dt = dt[k] = TWO_PI / (20 << k);
        overtaking(context, 1.05, bodies);
        evolve(context, 1, N, &options, bodies, &energy, NULL);
        error[k] = distance_of_states(N, bodies, exact);
        print_message("encounter with gr_potential, dt = P / %3d: position off by %.2e, energy by %.1e\n", 20 << k,
                      error[k], energy);
    }
    const double order = slope(STEPS, dt, error);
    print_message("hybrid through an encounter with gr_potential: order %.2f\n", order);
    assert_true(fabs(order - 2.0) < 0.3);
}

/* Tangent vectors go along through encounters, and the bodies keep their bits. */
static void watching_changes_nothing(void **state)
{
    enum { SYSTEMS = 11, N = 4 };
    shoal_context *context = context_of(state);
    const shoal_plug_options megno = {.name = "megno"};
    const shoal_setting tolerance = {.name = "tolerance", .value = 1e-7}; /* megno has another default */
    shoal_body bodies[2][SYSTEMS * N];
    for (int watched = 0; watched < 2; watched++) {
        const shoal_options options = {.propagator = "hybrid",
                                       .dt = TWO_PI / 20,
                                       .t_end = 200 * TWO_PI,
                                       .settings = &tolerance,
                                       .n_settings = 1,
                                       .monitors = &megno,
                                       .n_monitors = watched};
        for (int s = 0; s < SYSTEMS; s++)
            planets(context, s, N, 5e-5, 1.08, bodies[watched] + s * N);
        evolve(context, SYSTEMS, N, &options, bodies[watched], NULL, NULL);
    }
    assert_memory_equal(bodies[0], bodies[1], sizeof bodies[0]);
}

/* Balls that touch, or just miss, in the encounter, whose approach and retreat lie within few coarse steps; and the
 * moment. */
static void monitors_see_what_happens_within_a_step(void **state)
{
    enum { N = 3 };
    shoal_context *context = context_of(state);
    const shoal_plug_options collision = {"stop_on_collision", NULL, 0};
    const shoal_setting near[] = {{.name = "radius", .choice = "absolute"}, {.name = "distance", .value = 0}};
    double least, when;
    shoal_body bodies[N];
    overtaking(context, 1.05, bodies);
    reference(N, 4.0, bodies, 0.0, &least, &when);
    for (int k = 0; k < 3; k++) {
        const double reach = least * (const double[]){0.5, 2.0, 4.0}[k];
        double closest;
        shoal_setting within[2];
        memcpy(within, near, sizeof near);
        within[1].value = reach;
        const shoal_plug_options encounter = {"stop_on_encounter", within, 2};
        overtaking(context, 1.05, bodies);
        reference(N, 4.0, bodies, reach, &closest, &when);
        for (int steps = 20; steps <= 80; steps *= 4)
            for (int ball = 0; ball < 2; ball++) {
                shoal_system record;
                const shoal_options options = {.propagator = "hybrid",
                                               .dt = TWO_PI / steps,
                                               .t_end = 4.0,
                                               .monitors = ball ? &collision : &encounter,
                                               .n_monitors = 1};
                overtaking(context, 1.05, bodies);
                for (int i = 1; ball && i < N; i++)
                    bodies[i].r = 0.5 * reach;
                evolve(context, 1, N, &options, bodies, NULL, &record);
                assert_int_equal(record.outcome, k == 0 ? SHOAL_SURVIVED : ball ? SHOAL_COLLIDED : SHOAL_ENCOUNTER);
                if (k > 0) {
                    print_message("dt = P / %d: within %.1e at %.6f, exactly %.6f\n", steps, reach, record.t_stop,
                                  when);
                    assert_below(fabs(record.t_stop - when), 1e-3 * 400 / (steps * steps)); /* the map's own error */
                }
            }
    }
}

/* Orbits of a moon about its planet: e, and in degrees Omega and omega + f. */
static void moon_elements(const shoal_body *planet, const shoal_body *moon, double *elements)
{
    shoal_body pair[2] = {*planet, *moon};
    shoal_orbit orbit[2];
    assert_ok(NULL, shoal_orbits_from_bodies(NULL, SHOAL_ASTROCENTRIC, 2, pair, orbit));
    elements[0] = orbit[1].e;
    elements[1] = fmod(orbit[1].Omega * 360 / TWO_PI + 360, 360);
    elements[2] = fmod((orbit[1].omega + orbit[1].f) * 360 / TWO_PI + 720, 360);
}

/* A moon of Jupiter, 200 orbits in 13 steps. With Jupiter's J2: gauss_radau and REBOUND's IAS15 with that force. Other
 * forces that do not move moon and planet alike: gauss_radau. */
static void forces_are_substepped_with_a_moon(void **state)
{
    enum { N = 3 };
    const shoal_body start[N] = {
        {.m = 1.0}, {.m = 9.547919e-4, .x = 5.2, .vy = 0.4387385}, {.x = 5.2028195, .vy = 1.0177, .vz = 0.0581}};
    const shoal_setting j2[] = {{.name = "body", .value = 1},
                                {.name = "radius", .value = 4.778945e-4},
                                {.name = "J2", .value = 0.0147}},
                        light[] = {{.name = "body", .value = 2}, {.name = "beta", .value = 0.1}},
                        gas[] = {{.name = "body", .value = 2},
                                 {.name = "size", .value = 1e-7},
                                 {.name = "density", .value = 1e-6}},
                        disc[] = {{.name = "body", .value = 2},
                                  {.name = "tau_a", .value = 1e3},
                                  {.name = "tau_e", .value = 1e2}},
                        c[] = {{.name = "c", .value = 30}};
    const shoal_plug_options forces[] = {
        {"j2", j2, 3}, {"radiation", light, 2}, {"gas_drag", gas, 3}, {"migration", disc, 3}, {"gr", c, 1}};
    shoal_context *context = context_of(state);
    for (int f = 0; f < SHOAL_COUNT(forces); f++) {
        double elements[2][3];
        for (int p = 0; p < 2; p++) {
            const shoal_options options = {.propagator = p ? "hybrid" : "gauss_radau",
                                           .dt = p ? 0.5 : 0,
                                           .t_end = TWO_PI,
                                           .forces = &forces[f],
                                           .n_forces = 1};
            shoal_body bodies[N];
            memcpy(bodies, start, sizeof start);
            evolve(context, 1, N, &options, bodies, NULL, NULL);
            moon_elements(&bodies[1], &bodies[2], elements[p]);
            print_message("%-9s %-11s e = %.4f, Omega = %.2f, omega + f = %.2f\n", forces[f].name, options.propagator,
                          elements[p][0], elements[p][1], elements[p][2]);
        }
        assert_below(fabs(elements[1][0] - elements[0][0]), 1e-5);
        for (int q = 1; q < 3; q++)
            assert_below(fabs(remainder(elements[1][q] - elements[0][q], 360)), 0.02);
        if (f == 0) {
            assert_below(fabs(elements[1][0] - 0.0014), 5e-5);
            assert_below(fabs(elements[1][1] - 313.04), 5e-3);
            assert_below(fabs(elements[1][2] - 304.01), 1e-2);
        }
    }
}

/* Two that meet, or fall into the star, centre to centre. gauss_radau says when they touch; what follows until the
 * step's end keeps the energy, and the system goes on without them, or ends with numbers. Backwards is the mirror of
 * forwards. */
static void bodies_meet_centre_to_centre(void **state)
{
    enum { MOST = 4 };
    static const struct {
        const char *what;
        int n;
        double energy;
        shoal_body bodies[MOST];
    } cases[] = {
        {"light", 3, 1e-9, {{.m = 1}, {.m = 1e-8, .r = 0.01, .x = 100}, {.m = 1e-8, .r = 0.01, .x = 100.5, .vx = -1}}},
        {"one without mass",
         3,
         1e-14,
         {{.m = 1}, {.m = 1e-8, .r = 0.01, .x = 100}, {.m = 0, .r = 0.01, .x = 100.5, .vx = -1}}},
        {"heavy", 3, 1e-6, {{.m = 1}, {.m = 1e-3, .r = 0.01, .x = 100}, {.m = 1e-3, .r = 0.01, .x = 100.5, .vx = -1}}},
        {"into the star",
         3,
         1e-3,
         {{.m = 1, .r = 5e-3}, {.m = 1e-3, .r = 1e-3, .x = 1}, {.m = 1e-5, .r = 1e-3, .x = 5, .vy = 0.4}}},
        {"both sides",
         4,
         1e-3,
         {{.m = 1, .r = 5e-3},
          {.m = 1e-3, .r = 1e-3, .x = 1},
          {.m = 1e-3, .r = 1e-3, .x = -1},
          {.m = 1e-5, .r = 1e-3, .x = 5, .vy = 0.4}}},
    };
    shoal_context *context = context_of(state);
    const shoal_setting merge = {.name = "action", .choice = "merge"};
    for (int run = 0; run < 2 * SHOAL_COUNT(cases); run++) {
        const int row = run / 2, way = run % 2 ? -1 : 1;
        shoal_body begin[MOST];
        double when[5];
        for (int i = 0; i < MOST; i++) {
            begin[i] = cases[row].bodies[i];
            begin[i].vx *= way;
            begin[i].vy *= way;
        }
        for (int p = 0; p < 5; p++) { /* a reference; merge and stop, with long and short steps */
            const shoal_plug_options touch = {"stop_on_collision", &merge, p != 2 && p != 4};
            const shoal_options options = {.propagator = p ? "hybrid" : "gauss_radau",
                                           .dt = p == 0  ? 0
                                                 : p < 3 ? 0.5
                                                         : 0.05,
                                           .t_end = 2 * way,
                                           .monitors = &touch,
                                           .n_monitors = 1};
            shoal_system record;
            struct motion motion = motion_begin(context, 1, cases[row].n, NULL, NULL, &options, begin);
            assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end));
            shoal_ensemble_get_system(motion.ensemble, 0, &record);
            double touched = way * record.t_stop;
            if (touch.n_settings) {
                shoal_event event;
                assert_int_equal(record.outcome, SHOAL_SURVIVED);
                assert_int_equal(shoal_plan_n_events(motion.plan), cases[row].n - 2);
                assert_ok(context, shoal_plan_event(motion.plan, 0, &event));
                assert_int_equal(event.what, cases[row].bodies[0].r > 0 ? SHOAL_HIT_STAR : SHOAL_COLLIDED);
                touched = way * event.time;
            } else {
                assert_int_equal(record.outcome, cases[row].bodies[0].r > 0 ? SHOAL_HIT_STAR : SHOAL_COLLIDED);
            }
            shoal_body bodies[MOST];
            shoal_ensemble_get_bodies(motion.ensemble, 0, bodies);
            for (int i = 0; i < cases[row].n && !touch.n_settings; i++)
                assert_true(isfinite(bodies[i].x + bodies[i].vx));
            when[p] = touched;
            print_message("%s, %s: contact at %.8f, energy off by %.1e\n", cases[row].what, options.propagator, touched,
                          motion_energy_error(&motion, 0));
            assert_below(fabs(touched - when[0]), 1e-4);
            if (p == 2 || p == 4)
                assert_below(fabs(touched - when[p - 1]), 1e-12);
            if (!touch.n_settings) /* a merger's jump is none */
                assert_below(fabs(motion_energy_error(&motion, 0)), cases[row].energy);
            motion_end(&motion);
        }
    }
}

/* Bodies without mass change nothing for the others, however many they are. */
static void test_particles_change_nothing(void **state)
{
    enum { N = 103 };
    const shoal_options options = {.propagator = "hybrid", .t_end = 4.0, .dt = 0.05};
    shoal_body alone[3], bodies[N], particle[2];
    overtaking(context_of(state), 1.05, alone);
    memcpy(bodies, alone, sizeof alone);
    for (int i = 3; i < N; i++) {
        const shoal_orbit orbit[2] = {{0}, {.a = 2.0 + 0.01 * i, .e = 0.1, .f = i}};
        memset(particle, 0, sizeof particle);
        particle[0].m = 1.0;
        assert_ok(context_of(state),
                  shoal_bodies_from_orbits(context_of(state), SHOAL_ASTROCENTRIC, 2, orbit, particle));
        bodies[i] = particle[1];
    }
    evolve(context_of(state), 1, 3, &options, alone, NULL, NULL);
    evolve(context_of(state), 1, N, &options, bodies, NULL, NULL);
    assert_memory_equal(bodies, alone, sizeof alone);
    for (int i = 3; i < N; i++)
        assert_true(fabs(bodies[i].x) < 4.0);
}

/* A step that would take more substeps than are made ends the system as `budget`, not as `nonfinite`. */
static void a_step_of_too_many_substeps_ends_the_system(void **state)
{
    const shoal_options options = {.propagator = "hybrid", .t_end = 1, .dt = 0.1};
    const double speed = sqrt(2e-3 / 1e-7) / 2;
    shoal_body bodies[6] = {{.m = 1}, {.m = 1e-3, .x = 1, .vy = 1 - speed}, {.m = 1e-3, .x = 1 + 1e-7, .vy = 1 + speed},
                            {.m = 1}, {.m = 1e-3, .x = 1, .vy = 1},         {.m = 1e-3, .x = -2, .vy = -0.7}};
    shoal_system records[2];
    evolve_all(context_of(state), 2, 3, NULL, NULL, &options, bodies, records);
    assert_int_equal(records[0].outcome, SHOAL_BUDGET);
    assert_below(fabs(records[0].t_stop - 0.1), 1e-12);
    assert_int_equal(records[1].outcome, SHOAL_SURVIVED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_meets_its_order_conditions),
        cmocka_unit_test(the_table_has_its_orders),
        cmocka_unit_test(the_cheap_question_misses_nobody),
        cmocka_unit_test(a_cubic_stays_outside_its_bound),
        cmocka_unit_test(the_bench_has_one_encounter_in_a_hundred_steps),
        cmocka_unit_test(without_encounters_it_is_mvs),
        cmocka_unit_test(an_encounter_is_followed),
        cmocka_unit_test(test_particles_change_nothing),
        cmocka_unit_test(scattering_keeps_the_energy),
        cmocka_unit_test(time_can_be_reversed),
        cmocka_unit_test(a_pericentre_passage_is_followed),
        cmocka_unit_test(forces_act_in_both_branches),
        cmocka_unit_test(watching_changes_nothing),
        cmocka_unit_test(monitors_see_what_happens_within_a_step),
        cmocka_unit_test(forces_are_substepped_with_a_moon),
        cmocka_unit_test(bodies_meet_centre_to_centre),
        cmocka_unit_test(a_step_of_too_many_substeps_ends_the_system),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
