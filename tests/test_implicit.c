/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_implicit.c: the implicit Runge-Kutta methods of Gauss and the Bulirsch-Stoer extrapolation: order conditions of
 * the tables, measured orders, energy without drift, eccentric orbits, a three-body problem with a known end; against
 * closed forms, GSL's methods (one of them Gauss' own of order 4) and integrations in quadruple precision.
 *
 * That width, neighbours, slices, restarts and output times change no bit is tested for every propagator in
 * test_invariance.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_matrix.h>
#include <gsl/gsl_odeiv2.h>

#include "systems.h"

#define LANE_TABLE static const
#include "integrators/gauss_tables.kern.h"

#define MOST_BODIES 4

#define SLOW_DOWN (INSTRUMENTED ? 50 : 1)

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static const char *const orders[] = {"4", "8", "12"};

/* Settings of a method: gauss by its order, bulirsch_stoer by tolerance and columns. */
struct method {
    const char *name, *order;
    double tolerance;
    int columns, compensated;
};

static shoal_options options_of(const struct method *method, shoal_setting settings[3], double t_end, double dt)
{
    int n = 0;
    settings[n++] = (shoal_setting){.name = "compensated", .value = method->compensated};
    if (method->order)
        settings[n++] = (shoal_setting){.name = "order", .choice = method->order};
    if (method->tolerance > 0)
        settings[n++] = (shoal_setting){.name = "tolerance", .value = method->tolerance};
    if (method->columns > 0)
        settings[n++] = (shoal_setting){.name = "columns", .value = method->columns};
    return (shoal_options){
        .propagator = method->name, .settings = settings, .n_settings = n, .engine = "cpu", .t_end = t_end, .dt = dt};
}

/* One system in and out; returns its record. */
static shoal_system evolve(shoal_context *context, const shoal_options *options, int n, double t_start,
                           shoal_body *bodies)
{
    shoal_system record;
    evolve_all(context, 1, n, &t_start, NULL, options, bodies, &record);
    return record;
}

static void evolve_method(shoal_context *context, const struct method *method, double t_end, double dt, int n,
                          shoal_body *bodies)
{
    shoal_setting settings[4];
    const shoal_options options = options_of(method, settings, t_end, dt);
    assert_int_equal(evolve(context, &options, n, 0.0, bodies).outcome, SHOAL_SURVIVED);
}

/* A star and two heavy planets. */
static void three_bodies(shoal_context *context, double phase, shoal_body *bodies)
{
    const shoal_orbit orbit[3] = {{0},
                                  {.a = 1.0, .e = 0.1, .inc = 0.1, .f = 0.3 + phase},
                                  {.a = 1.9, .e = 0.05, .inc = 0.02, .f = 2.0 + 3 * phase}};
    memset(bodies, 0, 3 * sizeof *bodies);
    bodies[0].m = 1.0;
    bodies[1].m = bodies[2].m = 1e-3;
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbit, bodies));
}

/* A star and a planet at pericentre, or after a while. */
static void two_bodies(shoal_context *context, double e, double M, shoal_body *bodies)
{
    const shoal_orbit orbit[2] = {{0}, {.a = 1.0, .e = e, .inc = 0.5, .omega = 1.0, .f = shoal_true_anomaly(e, M)}};
    memset(bodies, 0, 2 * sizeof *bodies);
    bodies[0].m = 0.75;
    bodies[1].m = 0.25;
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbit, bodies));
}

/* ---- GSL --------------------------------------------------------------------------------------------------------- */

static int jacobian(double t, const double y[], double *dfdy, double dfdt[], void *user)
{
    const struct newton *newton = user;
    const int n = newton->n, size = 6 * n;
    (void)t;
    memset(dfdy, 0, (size_t)(size * size) * sizeof *dfdy);
    memset(dfdt, 0, (size_t)size * sizeof *dfdt);
    for (int c = 0; c < 3 * n; c++)
        dfdy[c * size + 3 * n + c] = 1.0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double d[3] = {y[3 * j] - y[3 * i], y[3 * j + 1] - y[3 * i + 1], y[3 * j + 2] - y[3 * i + 2]};
            const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], r3 = r2 * sqrt(r2);
            for (int a = 0; a < 3 && j != i; a++)
                for (int b = 0; b < 3; b++) {
                    const double pull = newton->bodies[j].m * ((a == b) / r3 - 3 * d[a] * d[b] / (r2 * r3));
                    dfdy[(3 * (n + i) + a) * size + 3 * j + b] += pull;
                    dfdy[(3 * (n + i) + a) * size + 3 * i + b] -= pull;
                }
        }
    return GSL_SUCCESS;
}

/* The state after a time t by one of GSL's methods: n_steps fixed steps, or as many as the error allows (n_steps =
 * 0). */
static void by_gsl(const gsl_odeiv2_step_type *type, int n, double t, unsigned long n_steps, double error,
                   shoal_body *bodies)
{
    double y[6 * MOST_BODIES], y_error[6 * MOST_BODIES], now = 0.0;
    struct newton newton = {n, bodies};
    gsl_odeiv2_system system = {newton_right_side, jacobian, (size_t)(6 * n), &newton};
    newton_from_bodies(n, bodies, y);
    const double first = n_steps ? t / (double)n_steps : 1e-3;
    gsl_odeiv2_driver *driver = gsl_odeiv2_driver_alloc_y_new(&system, type, first, error, error);
    assert_non_null(driver);
    /* apply_fixed_step would refuse steps whose estimated error is above `error` */
    for (unsigned long k = 0; k < n_steps; k++)
        assert_int_equal(gsl_odeiv2_step_apply(driver->s, first * (double)k, first, y, y_error, NULL, NULL, &system),
                         GSL_SUCCESS);
    if (n_steps == 0)
        assert_int_equal(gsl_odeiv2_driver_apply(driver, &now, t, y), GSL_SUCCESS);
    gsl_odeiv2_driver_free(driver);
    newton_to_bodies(n, y, bodies);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Hairer, Lubich & Wanner II.1.3: B(2s), C(s), D(s); symplectic and symmetric to the last bit. */
static void the_tables_satisfy_the_order_conditions(void **state)
{
    int first = 0, square = 0;
    (void)state;
    for (int s = 2; s <= 6; first += s, square += s * s, s += 2) {
        const double *c = gauss_c + first, *b = gauss_b + first, *mu = gauss_mu + square, *nu = gauss_nu + square,
                     *next = gauss_next + square;
        long double worst = 0.0L, rough = 0.0L;
        for (int q = 1; q <= 2 * s; q++) { /* B: sum b_i c_i^(q-1) = 1/q */
            long double sum = -1.0L / q;
            for (int i = 0; i < s; i++)
                sum += b[i] * powl(c[i], q - 1);
            worst = fmaxl(worst, fabsl(sum));
        }
        for (int q = 1; q <= s; q++)
            for (int i = 0; i < s; i++) {
                long double inner = -powl(c[i], q) / q, outer = -b[i] * (1.0L - powl(c[i], q)) / q;
                long double guess = -powl(1.0L + c[i], q - 1);
                for (int j = 0; j < s; j++) {
                    /* C: sum a_ij c_j^(q-1) = c_i^q/q */
                    inner += (long double)mu[i * s + j] * b[j] * powl(c[j], q - 1);
                    outer += b[j] * powl(c[j], q - 1) * (long double)mu[j * s + i] * b[i]; /* D */
                    guess += next[i * s + j] * powl(c[j], q - 1);
                }
                worst = fmaxl(worst, fmaxl(fabsl(inner), fabsl(outer)));
                rough = fmaxl(rough, fabsl(guess) / fabsl(next[i * s] + next[i * s + s - 1]));
            }
        for (int i = 0; i < s; i++)
            for (int j = 0; j < s; j++) {
                const int mirrored = (s - 1 - i) * s + s - 1 - j;
                long double twice = -(long double)nu[i * s + j] * b[j];
                for (int k = 0; k < s; k++)
                    twice += (long double)mu[i * s + k] * b[k] * mu[k * s + j] * b[j];
                worst = fmaxl(worst, fabsl(twice));
                assert_true(mu[i * s + j] + mu[j * s + i] == 1.0);
                assert_true(nu[i * s + j] - nu[j * s + i] == c[i] - c[j]);
                assert_true(mu[mirrored] == mu[j * s + i] && nu[mirrored] == nu[j * s + i]);
                assert_true(c[s - 1 - i] == 1.0 - c[i] && b[s - 1 - i] == b[i]);
            }
        print_message("gauss, %d stages: order conditions to %.1Le, extrapolation to %.1Le\n", s, worst, rough);
        assert_below((double)worst, 3 * EPS, "%d stages", s); /* entries up to 1.1, rounded to 2^-53 */
        assert_below((double)rough, 1e-4, "%d stages", s);    /* a guess: six digits, entries up to 1400 */
    }
    assert_int_equal(first, SHOAL_COUNT(gauss_c));
    assert_int_equal(square, SHOAL_COUNT(gauss_nu));
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

/* Steps of one length: a tolerance that accepts everything and a bound. */
static double error_of_step(shoal_context *context, const struct method *method, double t, double dt,
                            const shoal_body *start, const shoal_body *exact)
{
    shoal_setting settings[4];
    shoal_body bodies[3];
    shoal_options options = options_of(method, settings, t, dt);
    options.dt_max = method->order ? 0 : dt;
    memcpy(bodies, start, sizeof bodies);
    evolve(context, &options, 3, 0.0, bodies);
    return distance_of_states(3, bodies, exact);
}

static void error_falls_with_the_order(void **state)
{
    enum { STEPS = 6 };
    static const struct {
        struct method method;
        int order;
        double coarsest, ratio; /* steps from the region of convergence down to errors of about 1e-12 */
    } rows[] = {{{.name = "gauss", .order = "4"}, 4, 0.2, 0.5},
                {{.name = "gauss", .order = "8"}, 8, 0.8, 0.8},
                {{.name = "gauss", .order = "12"}, 12, 0.8, 0.9},
                {{.name = "bulirsch_stoer", .tolerance = 1e-1, .columns = 3}, 6, 0.2, 0.7},
                {{.name = "bulirsch_stoer", .tolerance = 1e-1, .columns = 4}, 8, 0.28, 0.77},
                {{.name = "bulirsch_stoer", .tolerance = 1e-1, .columns = 5}, 10, 0.4, 0.82},
                {{.name = "bulirsch_stoer", .tolerance = 1e-1, .columns = 6}, 12, 0.5, 0.86}};
    const double t = 12.0;
    shoal_context *context = context_of(state);
    shoal_body start[3], exact[3];
    three_bodies(context, 0.0, start);
    memcpy(exact, start, sizeof exact);
    by_gsl(gsl_odeiv2_step_rk8pd, 3, t, 0, 1e-14, exact);
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        double steps[STEPS], error[STEPS];
        for (int k = 0; k < STEPS; k++) {
            /* whole steps, so that no shorter one is among them */
            const double dt = t / ceil(t / (rows[row].coarsest * pow(rows[row].ratio, k)));
            steps[k] = dt;
            error[k] = error_of_step(context, &rows[row].method, t, dt, start, exact);
        }
        const double order = slope(STEPS, steps, error);
        print_message("%s %s%d: order %.2f, errors %.1e..%.1e\n", rows[row].method.name,
                      rows[row].method.order ? "of order " : "with columns for order ", rows[row].order, order,
                      error[0], error[STEPS - 1]);
        assert_below(fabs(order - rows[row].order), 0.08 * rows[row].order, "%s %d", rows[row].method.name,
                     rows[row].order);
    }
}

/* ---- gauss ------------------------------------------------------------------------------------------------------- */

/* GSL has the same map, with Newton's iteration for its stages; a step of its is two of half the length. */
static void order_4_is_the_map_of_gsl(void **state)
{
    shoal_context *context = context_of(state);
    const struct method method = {.name = "gauss", .order = "4"};
    shoal_body ours[3], theirs[3], flow[3];
    const double t = 16.0;
    three_bodies(context, 1.0, ours);
    memcpy(theirs, ours, sizeof ours);
    memcpy(flow, ours, sizeof ours);
    evolve_method(context, &method, t, t / 256, 3, ours);
    by_gsl(gsl_odeiv2_step_rk4imp, 3, t, 128, 1e-13, theirs);
    by_gsl(gsl_odeiv2_step_rk8pd, 3, t, 0, 1e-14, flow);
    print_message("256 steps: %.1e from GSL's rk4imp, both %.1e from the flow\n", distance_of_states(3, ours, theirs),
                  distance_of_states(3, theirs, flow));
    assert_below(distance_of_states(3, ours, theirs), 1e-12, "rk4imp");
}

/* Hairer, McLachlan & Razakarivony 2008: iterated to rounding, with compensated sums, the error of the energy is a
 * random walk: its mean over systems is no larger than chance allows, its spread grows as the square root of the
 * steps. */
static void energy_errors_are_a_random_walk(void **state)
{
    enum { SYSTEMS = 32, TIMES = 2 };
    const double orbits[TIMES] = {100.0, 1e4 / SLOW_DOWN};
    shoal_context *context = context_of(state);
    const struct method method = {.name = "gauss", .order = "12", .compensated = 1};
    shoal_setting settings[4];
    const shoal_options options = options_of(&method, settings, orbits[TIMES - 1] * TWO_PI, TWO_PI / 20);
    shoal_body bodies[3 * SYSTEMS];
    double mean[TIMES] = {0}, spread[TIMES] = {0};
    for (int s = 0; s < SYSTEMS; s++)
        three_bodies(context, s, bodies + 3 * s);
    struct motion motion = motion_begin(context, SYSTEMS, 3, NULL, NULL, &options, bodies);
    for (int k = 0; k < TIMES; k++) {
        assert_ok(context, shoal_plan_integrate(motion.plan, orbits[k] * TWO_PI));
        for (long s = 0; s < SYSTEMS; s++) {
            const double error = motion_energy_error(&motion, s);
            mean[k] += error / SYSTEMS;
            spread[k] += error * error / SYSTEMS;
        }
        spread[k] = sqrt(spread[k]);
        print_message("gauss of order 12, 20 steps an orbit: after %g orbits dE/E %.1e rms, %.1e mean\n", orbits[k],
                      spread[k], mean[k]);
    }
    motion_end(&motion);
    for (int k = 0; k < TIMES; k++)
        assert_below(fabs(mean[k]), 4 * spread[k] / sqrt(SYSTEMS), "%g orbits", orbits[k]);
    assert_below(spread[0], 3e-15, "at first"); /* 2^-53 a step would be 5e-15 */
    assert_below(spread[1], 1.5 * spread[0] * sqrt(fmax(1, orbits[1] / orbits[0])), "growth");
}

/* With steps so long that the error of the method shows: the energy swings, and swings as much after ten thousand
 * orbits. */
static void energy_swings_and_does_not_drift(void **state)
{
    enum { SAMPLES = 1500 };
    shoal_context *context = context_of(state);
    const double late = 1e4 / SLOW_DOWN;
    for (int which = 0; which < 2; which++) {
        const struct method method = {.name = "gauss", .order = orders[which]};
        shoal_setting settings[4];
        const shoal_options options = options_of(&method, settings, (late + 2 * SAMPLES) * TWO_PI,
                                                 TWO_PI / (which ? 9.7 : 20.3));
        shoal_body bodies[3];
        double least[2] = {1, 1}, most[2] = {-1, -1};
        three_bodies(context, 2.0, bodies);
        struct motion motion = motion_begin(context, 1, 3, NULL, NULL, &options, bodies);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < SAMPLES; i++) {
                assert_ok(context, shoal_plan_integrate(motion.plan, (k * late + 1.618 * (i + 1)) * TWO_PI));
                const double error = motion_energy_error(&motion, 0);
                least[k] = fmin(least[k], error);
                most[k] = fmax(most[k], error);
            }
        motion_end(&motion);
        print_message("gauss of order %s: dE/E in %.2e..%.2e at first, %.2e..%.2e after %g orbits\n", orders[which],
                      least[0], most[0], least[1], most[1], late);
        const double width = most[0] - least[0];
        assert_below(fabs(least[1] - least[0]), 0.3 * width, "order %s", orders[which]);
        assert_below(fabs(most[1] - most[0]), 0.3 * width, "order %s", orders[which]);
    }
}

/* ---- bulirsch_stoer ---------------------------------------------------------------------------------------------- */

/* n_steps steps with so many columns by Neville's scheme, all in doubles from the start to the end of a column. */
static void by_neville(int columns, int n, double step, int n_steps, shoal_body *bodies)
{
    /* t[j]: from the columns up to j, as many as are done */
    double start[6 * MOST_BODIES], dydt[6 * MOST_BODIES], t[10][6 * MOST_BODIES];
    struct newton newton = {n, bodies};
    newton_from_bodies(n, bodies, start);
    for (; n_steps > 0; n_steps--) {
        for (int j = 1; j <= columns; j++) {
            memcpy(t[j], start, sizeof start);
            for (int half = 0; half < 2 * j; half++) {
                for (int c = 0; c < 3 * n; c++)
                    t[j][c] += step / (2 * j) * t[j][3 * n + c];
                newton_right_side(0.0, t[j], dydt, &newton);
                for (int c = 3 * n; c < 6 * n && half % 2 == 0; c++)
                    t[j][c] += step / j * dydt[c];
            }
        }
        for (int level = 1; level < columns; level++)
            for (int j = columns; j > level; j--)
                for (int c = 0; c < 6 * n; c++)
                    t[j][c] += (t[j][c] - t[j - 1][c]) / (pow((double)j / (j - level), 2) - 1);
        memcpy(start, t[columns], sizeof start);
    }
    newton_to_bodies(n, start, bodies);
}

/* With every number of columns the extrapolation of leapfrog steps; those that are long enough to show which leave
 * doubles too few digits for a fit of the orders from 14 on. */
static void columns_are_those_of_neville(void **state)
{
    static const int n_steps[] = {[3] = 60, [4] = 43, [5] = 30, [6] = 20, [7] = 16, [8] = 10, [9] = 8};
    const double t = 12.0;
    shoal_context *context = context_of(state);
    shoal_body start[3], exact[3], neville[3];
    three_bodies(context, 0.0, start);
    memcpy(exact, start, sizeof exact);
    by_gsl(gsl_odeiv2_step_rk8pd, 3, t, 0, 1e-14, exact);
    for (int columns = 3; columns <= 9; columns++) {
        const struct method method = {.name = "bulirsch_stoer", .tolerance = 1e-1, .columns = columns};
        const double step = t / n_steps[columns];
        memcpy(neville, start, sizeof neville);
        by_neville(columns, 3, step, n_steps[columns], neville);
        const double apart = error_of_step(context, &method, t, step, start, neville),
                     error = distance_of_states(3, neville, exact);
        print_message("%d columns, %d steps: %.1e from Neville's scheme, both %.1e from the flow\n", columns,
                      n_steps[columns], apart, error);
        assert_below(apart, 5e-12, "%d columns", columns);
        assert_true(error > 1e-9);
    }
}

/* ---- both on known motions --------------------------------------------------------------------------------------- */

/* Eccentric orbits over ten periods against Kepler's equation. A rounding EPS at pericentre is 6 pi sqrt((1 + e) /
 * (1 - e)) (2 + e) / (1 - e) EPS after an orbit (test_propagators.c), and there are some tens of roundings in each
 * of ten orbits. */
static void eccentric_orbits(void **state)
{
    static const double eccentricities[] = {0.0, 0.5, 0.9, 0.99};
    shoal_context *context = context_of(state);
    for (int k = 0; k < SHOAL_COUNT(eccentricities); k++) {
        const double e = eccentricities[k], M = 2.0, t = 10 * TWO_PI + 0.5;
        const double bound = 6 * M_PI * sqrt((1 + e) / (1 - e)) * (2 + e) / (1 - e) * EPS;
        shoal_body exact[2], bodies[2];
        two_bodies(context, e, M + 0.5, exact);
        double last = INFINITY;
        for (double tolerance = 1e-4; tolerance > 1e-13; tolerance *= 1e-3) {
            const struct method method = {.name = "bulirsch_stoer", .tolerance = tolerance};
            two_bodies(context, e, M, bodies);
            evolve_method(context, &method, t, 0.0, 2, bodies);
            const double error = distance_of_states(2, bodies, exact);
            print_message("e = %.2f, tolerance %.0e: %.1e\n", e, tolerance, error);
            assert_below(error, 1e4 / (1 - e) * tolerance + 1e3 * bound, "e = %g, tolerance %g", e, tolerance);
            assert_below(error, 0.2 * last + 1e3 * bound, "e = %g, tolerance %g: no better", e, tolerance);
            last = error;
        }
        /* gauss with a step that resolves the pericentre, which passes in (1 - e)^(3/2) of the period */
        const struct method gauss = {.name = "gauss", .order = "12", .compensated = 1};
        two_bodies(context, e, M, bodies);
        evolve_method(context, &gauss, t, 0.3 * pow(1 - e, 1.5), 2, bodies);
        const double error = distance_of_states(2, bodies, exact);
        print_message("e = %.2f, gauss of order 12: %.1e\n", e, error);
        assert_below(error, 1e3 * bound, "e = %g", e);
    }
}

/* Against GSL's explicit Runge-Kutta method of order 8 and its implicit extrapolation by Bader and Deuflhard. */
static void agreement_with_gsl(void **state)
{
    static const struct method methods[] = {{.name = "gauss", .order = "8"},
                                            {.name = "gauss", .order = "12"},
                                            {.name = "bulirsch_stoer", .tolerance = 1e-13}};
    shoal_context *context = context_of(state);
    const double t = 40.0;
    shoal_body start[3], explicit_one[3], implicit_one[3], bodies[3];
    three_bodies(context, 5.0, start);
    memcpy(explicit_one, start, sizeof start);
    memcpy(implicit_one, start, sizeof start);
    by_gsl(gsl_odeiv2_step_rk8pd, 3, t, 0, 1e-14, explicit_one);
    by_gsl(gsl_odeiv2_step_bsimp, 3, t, 0, 1e-13, implicit_one);
    for (int k = 0; k < SHOAL_COUNT(methods); k++) {
        memcpy(bodies, start, sizeof bodies);
        evolve_method(context, &methods[k], t, k == 0 ? 0.05 : k == 1 ? 0.2 : 0.0, 3, bodies);
        print_message("%s after t = %g: %.1e from rk8pd, %.1e from bsimp\n", methods[k].name, t,
                      distance_of_states(3, bodies, explicit_one), distance_of_states(3, bodies, implicit_one));
        assert_below(distance_of_states(3, bodies, explicit_one), 1e-11, "%s", methods[k].name);
        assert_below(distance_of_states(3, bodies, implicit_one), 1e-9, "%s", methods[k].name);
    }
}

/* Both with an extra force (a potential about the star, far stronger than relativity): the same motion. */
static void extra_forces_act(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_setting c = {.name = "c", .value = 30.0};
    const shoal_plug_options force = {"gr_potential", &c, 1};
    const struct method methods[] = {{.name = "gauss", .order = "12"}, {.name = "bulirsch_stoer", .tolerance = 1e-13}};
    shoal_body bodies[2][3], without[3];
    for (int k = 0; k < 2; k++) {
        shoal_setting settings[4];
        shoal_options options = options_of(&methods[k], settings, 40.0, k ? 0.0 : 0.15);
        three_bodies(context, 5.0, bodies[k]);
        memcpy(without, bodies[k], sizeof without);
        options.forces = &force;
        options.n_forces = 1;
        evolve(context, &options, 3, 0.0, bodies[k]);
    }
    by_gsl(gsl_odeiv2_step_rk8pd, 3, 40.0, 0, 1e-14, without);
    print_message("with an extra force: %.1e between the two, %.1e from the motion without it\n",
                  distance_of_states(3, bodies[0], bodies[1]), distance_of_states(3, bodies[0], without));
    assert_below(distance_of_states(3, bodies[0], bodies[1]), 1e-11, "gauss and bulirsch_stoer");
    assert_true(distance_of_states(3, bodies[0], without) > 1e-2);
}

/* After a third of the period the bodies have changed places, after three periods they are where they were. */
static void the_figure_eight_closes(void **state)
{
    const struct method method = {.name = "gauss", .order = "12"};
    shoal_context *context = context_of(state);
    shoal_body bodies[3];
    memcpy(bodies, figure_eight, sizeof bodies);
    evolve_method(context, &method, 3 * FIGURE_EIGHT_PERIOD, 0.02, 3, bodies);
    print_message("figure eight by gauss, three periods: %.1e\n", distance_of_states(3, bodies, figure_eight));
    assert_below(distance_of_states(3, bodies, figure_eight), 1e-10, "gauss"); /* 14 digits were given */
    memcpy(bodies, figure_eight, sizeof bodies);
    evolve_method(context, &method, FIGURE_EIGHT_PERIOD / 3, 0.02, 3, bodies);
    assert_below(figure_eight_shift(bodies), 1e-11, "gauss");
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

/* A head-on fall ends at the collision, pi / (2 sqrt 2) after rest at distance 1 with total mass 1, with
 * step_underflow. */
static void a_head_on_fall_underflows(void **state)
{
    shoal_context *context = context_of(state);
    for (int k = 0; k < 2; k++) {
        const struct method method = {.name = "bulirsch_stoer", .tolerance = 1e-10};
        shoal_setting settings[4];
        shoal_options options = options_of(&method, settings, 3.0, 0.0);
        shoal_body bodies[2] = {{.m = 0.5, .x = -0.5, .y = 0.1}, {.m = 0.5, .x = 0.5, .y = 0.1}};
        options.dt_min = k ? 1e-6 : 0.0;
        const shoal_system end = evolve(context, &options, 2, 0.0, bodies);
        print_message("head-on fall: %s at %.12g after %g steps\n", shoal_outcome_name(end.outcome), end.t_stop,
                      end.n_steps);
        assert_int_equal(end.outcome, SHOAL_STEP_UNDERFLOW);
        assert_below(fabs(end.t_stop - M_PI / (2 * sqrt(2))), k ? 1e-4 : 1e-9, "dt_min = %g", options.dt_min);
    }
}

int main(void)
{
    gsl_set_error_handler_off();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_satisfy_the_order_conditions),
        cmocka_unit_test(error_falls_with_the_order),
        cmocka_unit_test(order_4_is_the_map_of_gsl),
        cmocka_unit_test(energy_errors_are_a_random_walk),
        cmocka_unit_test(energy_swings_and_does_not_drift),
        cmocka_unit_test(columns_are_those_of_neville),
        cmocka_unit_test(eccentric_orbits),
        cmocka_unit_test(agreement_with_gsl),
        cmocka_unit_test(extra_forces_act),
        cmocka_unit_test(the_figure_eight_closes),
        cmocka_unit_test(a_head_on_fall_underflows),
    };
    return cmocka_run_group_tests_name("implicit", tests, setup, teardown);
}
