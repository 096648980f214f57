/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_gauss_radau.c: Gauss-Radau integration of order 15. Are the coefficients right, is the order 15, is the error
 * that of rounding and does it grow like a random walk, are steps chosen well on orbits from circles to
 * near-collisions? Against closed forms, periodic solutions, GSL's Runge-Kutta of order 8 and, where it is installed,
 * REBOUND's IAS15.
 *
 * (Lanes, threads, slices, restarts and snapshots: test_invariance.c, for all propagators.)
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>

#include "systems.h"

#define LANE_TABLE static const
#include "integrators/gauss_radau_table.kern.h"

#define SLOW_DOWN (INSTRUMENTED ? 50 : 1)

/* ---- coefficients ------------------------------------------------------------------------------------------------ */

typedef __float128 quad;

/* P_7(u) + P_8(u) and its derivative, by Bonnet's recursion. */
static quad radau_polynomial(quad u, quad *slope)
{
    quad p[9] = {1, u}, d[9] = {0, 1};
    for (int k = 1; k < 8; k++) {
        p[k + 1] = ((2 * k + 1) * u * p[k] - k * p[k - 1]) / (k + 1);
        d[k + 1] = d[k - 1] + (2 * k + 1) * p[k];
    }
    *slope = d[7] + d[8];
    return p[7] + p[8];
}

static quad power(quad x, int n)
{
    quad product = 1;
    while (n-- > 0)
        product *= x;
    return product;
}

/* Lagrange's polynomial of node j (1..7; node 0 is at 0) as coefficients of s^0..s^7. */
static void lagrange(int j, quad *l)
{
    quad c[RADAU_NODES + 1] = {0};
    for (int k = 0; k < RADAU_NODES; k++)
        c[k + 1] = radau_node[k];
    memset(l, 0, 8 * sizeof *l);
    l[0] = 1;
    for (int k = 0, degree = 0; k <= RADAU_NODES; k++) {
        if (k == j)
            continue;
        degree++;
        for (int i = degree; i >= 0; i--)
            l[i] = ((i > 0 ? l[i - 1] : 0) - c[k] * l[i]) / (c[j] - c[k]);
    }
}

/* Integral of l from 0 to x, once or twice. */
static quad integral(const quad *l, quad x, int times)
{
    quad sum = 0;
    for (int i = 0; i < 8; i++)
        sum += l[i] * power(x, i + times) / (times == 1 ? i + 1 : (i + 1) * (i + 2));
    return sum;
}

static void tables_are_rounded_once(void **state)
{
    quad l[RADAU_NODES][8];
    (void)state;
    for (int k = 0; k < RADAU_NODES; k++) {
        quad u = 2 * (quad)radau_node[k] - 1, slope, value;
        for (int i = 0; i < 4; i++) {
            value = radau_polynomial(u, &slope);
            u -= value / slope;
        }
        assert_true((double)((u + 1) / 2) == radau_node[k]);
        lagrange(k + 1, l[k]);
    }
    for (int j = 0; j < RADAU_NODES; j++)
        for (int k = 0; k < RADAU_NODES; k++) {
            const quad c = radau_node[k];
            if (j < RADAU_NODES - 1) {
                assert_true((double)(integral(l[j], c, 2) / c) == radau_position[k * RADAU_NODES + j]);
                assert_true((double)integral(l[j], c, 1) == radau_velocity[k * RADAU_NODES + j]);
                assert_true((double)l[j][k + 1] == radau_power[k * (RADAU_NODES - 1) + j]);
            } else { /* takes up the rounding of its row */
                assert_below(fabs((double)(integral(l[j], c, 2) / c) - radau_position[k * RADAU_NODES + j]), 0x1p-54,
                             "position");
                assert_below(fabs((double)integral(l[j], c, 1) - radau_velocity[k * RADAU_NODES + j]), 0x1p-53,
                             "velocity");
            }
        }
    for (int j = 0; j < RADAU_NODES - 1; j++) {
        assert_true((double)integral(l[j], 1, 1) == radau_once[j]);
        if (j < RADAU_NODES - 2)
            assert_true((double)integral(l[j], 1, 2) == radau_twice[j]);
        else
            assert_below(fabs((double)integral(l[j], 1, 2) - radau_twice[j]), 0x1p-52, "twice");
    }
}

/* No rounding of a coefficient works on the motion always in the same sense: the first powers of s in a(s) are
 * integrated far better than doubles are rounded. */
static void coefficients_have_no_bias(void **state)
{
    const quad end = radau_node[RADAU_NODES - 1];
    quad cubic = end * end / 2 - (quad)1 / 4, square = end / 6 - (quad)1 / 12;
    (void)state;
    for (int k = 0; k < RADAU_NODES; k++) {
        const quad c = radau_node[k];
        quad position = -c * c / 6, velocity = -c * c / 2;
        for (int j = 0; j < RADAU_NODES; j++) {
            position += (quad)radau_position[k * RADAU_NODES + j] * radau_node[j];
            velocity += (quad)radau_velocity[k * RADAU_NODES + j] * radau_node[j];
        }
        assert_below(fabs((double)position), 1e-20, "position %d", k);
        /* half a unit in the last place of its last entry */
        assert_below(fabs((double)velocity), 2e-18, "velocity %d", k);
    }
    for (int j = 0; j < RADAU_NODES - 1; j++) {
        const quad c = radau_node[j], u = (quad)radau_once[j] + (j == 3 ? radau_once_rest : 0.0);
        cubic += u * (c * c * c - c * end * end);
        square += radau_twice[j] * (c * c - c * end);
    }
    assert_below(fabs((double)cubic), 1e-30, "s^3");
    assert_below(fabs((double)square), 1e-19, "s^2");
    assert_below(fabs((double)((quad)1 / 6 - radau_sixth[0] - radau_sixth[1])), 1e-33, "1/6");
}

/* The conditions of order 15: the integral of s^p is exact up to p = 14, and no further. */
static void quadrature_is_exact_to_degree_14(void **state)
{
    const double end = radau_node[RADAU_NODES - 1];
    (void)state;
    for (int p = 1; p <= 15; p++) {
        const double slope = pow(end, p) / end;
        double sum = 0.5 * slope;
        for (int j = 0; j < RADAU_NODES - 1; j++)
            sum += radau_once[j] * (pow(radau_node[j], p) - radau_node[j] * slope);
        if (p <= 14)
            assert_below(fabs(sum - 1.0 / (p + 1)), 2 * EPS, "s^%d", p);
        else
            assert_true(fabs(sum - 1.0 / (p + 1)) > 1e-9);
    }
}

/* ---- systems and runs -------------------------------------------------------------------------------------------- */

/* Total energy in quadruple precision: what a double's rounding would hide is what is measured here. */
static double energy_of(int n, const shoal_body *b)
{
    quad sum = 0, p[3] = {0}, mass = 0;
    for (int i = 0; i < n; i++) {
        mass += b[i].m;
        for (int c = 0; c < 3; c++)
            p[c] += (quad)b[i].m * (&b[i].vx)[c];
    }
    for (int i = 0; i < n; i++) {
        for (int c = 0; c < 3; c++) {
            const quad v = (&b[i].vx)[c] - p[c] / mass;
            sum += b[i].m * v * v / 2;
        }
        for (int j = 0; j < i; j++) {
            quad r2 = 0;
            for (int c = 0; c < 3; c++) {
                const quad d = (quad)(&b[i].x)[c] - (&b[j].x)[c];
                r2 += d * d;
            }
            sum -= (quad)b[i].m * b[j].m / sqrtl((long double)r2);
        }
    }
    return (double)sum;
}

/* A run of some systems of n bodies through n_times times, to the last of them. */
struct run {
    const char *propagator;
    long n_systems;
    int n;
    double dt, dt_max;
    const double *t_start, *dts; /* [n_systems], NULL: 0, dt */
    int n_times;
    const double *times;
    int n_settings;
    shoal_setting settings[3];
    shoal_plug_options force; /* name = NULL: none */
    double n_steps;           /* out: of all systems */
};

/* bodies: [n_systems * n] in, [n_times][n_systems * n] out. */
static void run(shoal_context *context, struct run *what, shoal_body *bodies)
{
    const long size = what->n_systems * what->n;
    const shoal_options options = {.propagator = what->propagator ? what->propagator : "gauss_radau",
                                   .dt = what->dt,
                                   .settings = what->settings,
                                   .n_settings = what->n_settings,
                                   .forces = &what->force,
                                   .n_forces = what->force.name != NULL,
                                   .t_end = what->times[what->n_times - 1],
                                   .dt_max = what->dt_max};
    struct motion motion = motion_begin(context, what->n_systems, what->n, what->t_start, what->dts, &options, bodies);
    what->n_steps = 0;
    for (int k = 0; k < what->n_times; k++) {
        assert_ok(context, shoal_plan_integrate(motion.plan, what->times[k]));
        for (long s = 0; s < what->n_systems; s++)
            shoal_ensemble_get_bodies(motion.ensemble, s, bodies + k * size + s * what->n);
    }
    for (long s = 0; s < what->n_systems; s++) {
        shoal_system record;
        shoal_ensemble_get_system(motion.ensemble, s, &record);
        assert_int_equal(record.outcome, SHOAL_SURVIVED);
        what->n_steps += record.n_steps;
    }
    motion_end(&motion);
}

/* ---- order and accuracy ------------------------------------------------------------------------------------------ */

/* After whole periods two bodies are back where they were: the slope of what is missing, over steps of equal length. */
static void error_falls_with_order_15(void **state)
{
    enum { STEPS = 7, N = 2 };
    const double t_end = 4 * TWO_PI;
    shoal_context *context = context_of(state);
    shoal_body bodies[STEPS * N] = {{0}}, start[N];
    double dts[STEPS], error[STEPS];
    const shoal_orbit orbit[N] = {{0}, {.a = 1, .e = 0.3, .inc = 0.3, .omega = 1, .f = 2}};
    start[0] = (shoal_body){.m = 0.7};
    start[1] = (shoal_body){.m = 0.3};
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, N, orbit, start));
    for (int k = 0; k < STEPS; k++) {
        memcpy(bodies + N * k, start, sizeof start);
        dts[k] = TWO_PI / (9 + k);
    }
    struct run fixed = {
        .propagator = "gauss_radau_fixed", .n_systems = STEPS, .n = N, .dts = dts, .n_times = 1, .times = &t_end};
    run(context, &fixed, bodies);
    for (int k = 0; k < STEPS; k++)
        error[k] = distance_of_states(N, bodies + N * k, start);
    const double order = slope(STEPS, dts, error);
    print_message("order %.2f, errors %.1e..%.1e\n", order, error[0], error[STEPS - 1]);
    assert_below(fabs(order - 15), 1.0, "order");
}

/* Ellipses of any eccentricity over whole periods, by both criteria. A rounding EPS of r and v at the pericentre is
 * 2 (2 + e)/(1 - e) EPS in the energy and a shift of 6 pi a sqrt((1 + e)/(1 - e)) (2 + e)/(1 - e) EPS after a period
 * (rounding_shift in test_propagators.c); a passage has some twenty steps, whose roundings add up like a random
 * walk, and the shift of the phase grows with the energies' sum. */
static void ellipses_are_followed_to_rounding(void **state)
{
    enum { N = 2, CASES = 6, PHASES = 8 };
    static const double eccentricity[CASES] = {0, 0.1, 0.5, 0.9, 0.99, 0.999};
    shoal_context *context = context_of(state);
    for (int global = 0; global < 2; global++)
        for (int periods = 1; periods <= 100; periods *= 10)
            for (int k = 0; k < CASES; k++) {
                const double e = eccentricity[k], t_end = periods * TWO_PI;
                shoal_body bodies[PHASES * N] = {{0}}, start[PHASES * N];
                double energy = 0, shift = 0;
                for (int p = 0; p < PHASES; p++) {
                    const shoal_orbit orbit[N] = {{0},
                                                  {.a = 1,
                                                   .e = e,
                                                   .inc = 0.3,
                                                   .omega = 1 + p,
                                                   .f = shoal_true_anomaly(e, TWO_PI * (p + 0.5) / PHASES)}};
                    bodies[p * N].m = 0.9;
                    bodies[p * N + 1].m = 0.1;
                    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, N, orbit, bodies + p * N));
                }
                memcpy(start, bodies, sizeof start);
                struct run one = {.n_systems = PHASES,
                                  .n = N,
                                  .n_times = 1,
                                  .times = &t_end,
                                  .n_settings = 1,
                                  .settings = {{.name = "criterion", .choice = global ? "global" : "timescale"}}};
                run(context, &one, bodies);
                for (int p = 0; p < PHASES; p++) {
                    const double before = energy_of(N, start + p * N);
                    energy = fmax(energy, fabs(energy_of(N, bodies + p * N) / before - 1));
                    shift = fmax(shift, distance_of_states(N, start + p * N, bodies + p * N));
                }
                const double per_passage = (2 + e) / (1 - e) * EPS, fast = sqrt((1 + e) / (1 - e));
                print_message("%-9s e %.3f, %3d periods: energy %.1e, shift %.1e, %.1f steps a period\n",
                              global ? "global" : "timescale", e, periods, energy, shift,
                              one.n_steps / PHASES / periods);
                assert_below(energy, 4 * per_passage * sqrt(periods), "energy, e = %g", e);
                assert_below(shift, 20 * fast * per_passage * pow(periods, 1.5), "shift, e = %g", e);
            }
}

/* ---- the growth of errors ---------------------------------------------------------------------------------------- */

/* The five outer planets over 4000 years: Applegate et al. 1986, AJ 92, 176; AU, days, k = 0.01720209895. */
static void outer_planets_keep_their_energy(void **state)
{
    enum { N = 6, SYSTEMS = 8 };
    static const shoal_body applegate[N] = {{1.00000597682, 0, -4.06428567034226e-3, -6.08813756435987e-3,
                                             -1.66162304225834e-6, 6.69048890636161e-6, -6.33922479583593e-6,
                                             -3.13202145590767e-9},
                                            {1 / 1047.355, 0, 3.40546614227466, 3.62978190075864, 3.42386261766577e-2,
                                             -5.59797969310664e-3, 5.51815399480116e-3, -2.66711392865591e-6},
                                            {1 / 3501.6, 0, 6.60801554403466, 6.38084674585064, -1.36145963724542e-1,
                                             -4.17354020307064e-3, 3.99723751748116e-3, 1.67206320571441e-5},
                                            {1 / 22869., 0, 11.1636331405597, 16.0373479057256, 3.61783279369958e-1,
                                             -3.25884806151064e-3, 2.06438412905916e-3, -2.17699042180559e-5},
                                            {1 / 19314., 0, -30.1777243405203, 1.91155314998064, -1.53887595621042e-1,
                                             -2.17471785045538e-4, -3.11361111025884e-3, 3.58344705491441e-5},
                                            {0, 0, -21.3858977531573, 32.0719104739886, 2.49245689556096,
                                             -1.76936577252484e-3, -2.06720938381724e-3, 6.58091931493844e-4}};
    static const double a[N] = {0, 5.2, 9.5, 19.2, 30.1, 39.5};
    const double k = 0.01720209895, t_end = 4000 * TWO_PI / SLOW_DOWN;
    shoal_context *context = context_of(state);
    shoal_body bodies[SYSTEMS * N], start[SYSTEMS * N];
    shoal_orbit orbits[N];
    double sum = 0;
    for (int s = 0; s < SYSTEMS; s++)
        for (int i = 0; i < N; i++) {
            shoal_body *b = &bodies[s * N + i];
            *b = applegate[i];
            b->m *= 1 + 1e-3 * s; /* other roundings */
            b->vx /= k;
            b->vy /= k;
            b->vz /= k;
        }
    memcpy(start, bodies, sizeof start);
    assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_JACOBI, N, start, orbits));
    for (int i = 1; i < N; i++)
        assert_below(fabs(orbits[i].a / a[i] - 1), 0.02, "planet %d", i);
    struct run planets = {.n_systems = SYSTEMS, .n = N, .n_times = 1, .times = &t_end};
    run(context, &planets, bodies);
    for (int s = 0; s < SYSTEMS; s++)
        sum += pow(energy_of(N, bodies + s * N) / energy_of(N, start + s * N) - 1, 2);
    const double rms = sqrt(sum / SYSTEMS), steps = planets.n_steps / SYSTEMS;
    print_message("outer planets: energy %.1e rms after %.0f steps\n", rms, steps);
    /* A step rounds the accelerations by some EPS/2; their part of a velocity's change is h a/v = 0.2 of it, with 2
     * from v^2. */
    assert_below(rms, 0.2 * EPS * sqrt(steps) + EPS, "energy");
}

/* The error of the energy, over an ensemble: a random walk from rounding to rounding (Brouwer 1937, AJ 46, 149) has
 * slope 1/2 over time; a rounding with a preferred sign shows as slope 1, and as a mean. */
static void energy_walks_at_random(void **state)
{
    enum { N = 3, SYSTEMS = 64, TIMES = 5 };
    shoal_context *context = context_of(state);
    shoal_body *bodies = calloc(TIMES * SYSTEMS * N, sizeof *bodies);
    double times[TIMES], start[SYSTEMS], rms[TIMES], mean = 0;
    assert_non_null(bodies);
    for (int s = 0; s < SYSTEMS; s++)
        planetary_system(context, 1000 + s, N, 1e-4, 1.8, 0.1, bodies + s * N);
    struct run walk = {.n_systems = SYSTEMS, .n = N, .n_times = TIMES, .times = times};
    for (int k = 0; k < TIMES; k++)
        times[k] = TWO_PI * pow(10, 2 + 0.5 * k) / SLOW_DOWN;
    shoal_ensemble *ensemble = NULL; /* the first state is that without the barycentre, as it is rounded in there */
    assert_ok(context, shoal_ensemble_create(context, SYSTEMS, N, &ensemble));
    for (int s = 0; s < SYSTEMS; s++) {
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, s, N, bodies + s * N));
        shoal_ensemble_get_bodies(ensemble, s, bodies + s * N);
        start[s] = energy_of(N, bodies + s * N);
    }
    shoal_ensemble_destroy(&ensemble);
    run(context, &walk, bodies);
    for (int k = 0; k < TIMES; k++) {
        double square = 0;
        mean = 0;
        for (int s = 0; s < SYSTEMS; s++) {
            const double error = energy_of(N, bodies + (k * SYSTEMS + s) * N) / start[s] - 1;
            square += error * error / SYSTEMS;
            mean += error / SYSTEMS;
        }
        rms[k] = sqrt(square);
        print_message("%7.0f orbits: energy %.2e rms, %+.1e mean\n", times[k] / TWO_PI, rms[k], mean);
    }
    const double power = slope(TIMES, times, rms);
    print_message("slope %.2f, %.1f steps an orbit\n", power, walk.n_steps / SYSTEMS * TWO_PI / times[TIMES - 1]);
    free(bodies);
    if (SLOW_DOWN == 1) {
        assert_below(power, 0.7, "slope");
        assert_below(rms[TIMES - 1], 1e-14, "energy after 1e4 orbits");
        assert_below(fabs(mean), 4 * rms[TIMES - 1] / sqrt(SYSTEMS), "drift"); /* four standard deviations */
    }
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* There and back again. */
static void time_runs_back(void **state)
{
    enum { N = 4, SYSTEMS = 8 };
    static const char *const names[] = {"gauss_radau", "gauss_radau_fixed"};
    const double there = 20 * TWO_PI, back = 0;
    shoal_context *context = context_of(state);
    for (int k = 0; k < 2; k++) {
        shoal_body bodies[SYSTEMS * N], start[SYSTEMS * N];
        double t_start[SYSTEMS];
        for (int s = 0; s < SYSTEMS; s++) {
            planetary_system(context, s, N, 1e-3, 1.7, 0.1, bodies + s * N);
            t_start[s] = there;
        }
        memcpy(start, bodies, sizeof start);
        struct run forth = {
            .propagator = names[k], .n_systems = SYSTEMS, .n = N, .dt = 0.15, .n_times = 1, .times = &there};
        struct run home = forth;
        home.t_start = t_start;
        home.times = &back;
        run(context, &forth, bodies);
        run(context, &home, bodies);
        const double gap = distance_of_states(SYSTEMS * N, bodies, start);
        print_message("%s: %.1e from the start\n", names[k], gap);
        assert_below(gap, 1e-11, "%s", names[k]);
    }
}

/* A first step that is far too long is rejected, one that is far too short grows; the motion is the same to
 * rounding. */
static void the_first_step_does_not_matter(void **state)
{
    enum { N = 3, STEPS = 5 };
    static const double dts[STEPS] = {1e-9, 1e-3, 0.1, 3.0, 1000.0};
    const double t_end = 5 * TWO_PI;
    shoal_context *context = context_of(state);
    shoal_body bodies[STEPS * N], exact[N];
    for (int k = 0; k < STEPS; k++)
        planetary_system(context, 7, N, 1e-3, 1.6, 0.3, bodies + k * N);
    memcpy(exact, bodies, sizeof exact);
    struct run steps = {.n_systems = STEPS, .n = N, .dts = dts, .n_times = 1, .times = &t_end};
    run(context, &steps, bodies);
    newton_reference(N, t_end, exact);
    for (int k = 0; k < STEPS; k++)
        assert_below(distance_of_states(N, bodies + k * N, exact), 2e-12, "first step %g", dts[k]);
}

/* The step follows epsilon as its seventh root, and dt_max bounds it. */
static void steps_follow_epsilon(void **state)
{
    enum { N = 2 };
    static const double epsilons[] = {1e-12, 1e-9, 1e-6};
    const double t_end = 20 * TWO_PI;
    shoal_context *context = context_of(state);
    for (int global = 0; global < 2; global++) {
        double n_steps[3];
        for (int k = 0; k < 3; k++) {
            shoal_body bodies[N];
            planetary_system(context, 3, N, 1e-4, 1.6, 0.02, bodies);
            struct run one = {
                .n_systems = 1,
                .n = N,
                .n_times = 1,
                .times = &t_end,
                .n_settings = 2,
                .settings = {{.name = "epsilon", .value = epsilons[k]}, {.name = "criterion", .value = global}}};
            run(context, &one, bodies);
            n_steps[k] = one.n_steps;
        }
        print_message("%s: %.0f %.0f %.0f steps\n", global ? "global" : "timescale", n_steps[0], n_steps[1],
                      n_steps[2]);
        for (int k = 0; k < 2; k++)
            assert_below(fabs(n_steps[k] / n_steps[k + 1] / pow(1000, 1 / 7.0) - 1), 0.1, "epsilon %g", epsilons[k]);
        if (!global) /* a circle has tau = P / 2 pi; a second planet would let the star ask for shorter steps */
            assert_below(fabs(n_steps[1] / 20 * pow(5040e-9, 1 / 7.0) / TWO_PI - 1), 0.01, "steps an orbit");
    }
    shoal_body bodies[N];
    planetary_system(context, 3, N, 1e-4, 1.6, 0.02, bodies);
    struct run bounded = {.n_systems = 1, .n = N, .n_times = 1, .times = &t_end, .dt_max = 0.01};
    run(context, &bounded, bodies);
    assert_true(bounded.n_steps >= t_end / 0.01 - 1);
    assert_below(bounded.n_steps, t_end / 0.01 + 10, "dt_max");
}

/* Errors go as the step to the power of 15, steps as the seventh root of epsilon; those of a fifth to a tenth of an
 * orbit, which leave errors above rounding, up to the power of 18. Geometric means over phases, for single errors
 * wander with the places of the steps. */
static void errors_follow_epsilon(void **state)
{
    enum { N = 2, PHASES = 64, VALUES = 7 };
    const double e = 0.1, t_end = 4 * TWO_PI;
    shoal_context *context = context_of(state);
    for (int global = 0; global < 2; global++) {
        double epsilon[VALUES], error[VALUES];
        for (int k = 0; k < VALUES; k++) {
            shoal_body bodies[PHASES * N] = {{0}}, start[PHASES * N];
            for (int p = 0; p < PHASES; p++) {
                const shoal_orbit orbit[N] = {
                    {0}, {.a = 1, .e = e, .inc = 0.3, .f = shoal_true_anomaly(e, TWO_PI * p / PHASES)}};
                bodies[p * N].m = 0.7;
                bodies[p * N + 1].m = 0.3;
                assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, N, orbit, bodies + p * N));
            }
            memcpy(start, bodies, sizeof start);
            epsilon[k] = ldexp(global ? 0.05 : 3e-3, -k);
            struct run one = {
                .n_systems = PHASES,
                .n = N,
                .n_times = 1,
                .times = &t_end,
                .n_settings = 2,
                .settings = {{.name = "epsilon", .value = epsilon[k]}, {.name = "criterion", .value = global}}};
            run(context, &one, bodies);
            error[k] = 1;
            for (int p = 0; p < PHASES; p++)
                error[k] *= pow(distance_of_states(N, bodies + p * N, start + p * N), 1.0 / PHASES);
        }
        const double power = slope(VALUES, epsilon, error);
        print_message("%s: errors %.1e..%.1e, power %.2f of epsilon\n", global ? "global" : "timescale", error[0],
                      error[VALUES - 1], power);
        assert_below(15 / 7.0, power, "%s", global ? "global" : "timescale");
        assert_below(power, 19 / 7.0, "%s", global ? "global" : "timescale");
    }
}

/* Bodies without mass move as those with little, and those that nobody put there set no step. */
static void massless_bodies_are_followed(void **state)
{
    const double t_end = 10 * TWO_PI;
    shoal_context *context = context_of(state);
    shoal_body bodies[3], start[3];
    planetary_system(context, 5, 3, 0, 1.6, 0.5, bodies);
    memcpy(start, bodies, sizeof start);
    struct run one = {.n_systems = 1, .n = 3, .n_times = 1, .times = &t_end};
    run(context, &one, bodies);
    double period[3];
    shoal_orbit orbits[3];
    assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_JACOBI, 3, start, orbits));
    for (int i = 1; i < 3; i++) {
        period[i] = orbits[i].P;
        orbits[i].f = shoal_true_anomaly(orbits[i].e, orbits[i].M + TWO_PI * t_end / period[i]);
    }
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbits, start));
    assert_below(distance_of_states(3, bodies, start), 2e-13, "massless planets");
}

/* An extra force acts: general relativity's precession by its potential, 6 pi G m / (c^2 a (1 - e^2)) a period. */
static void pericentre_precesses(void **state)
{
    const double e = 0.2, c = 1000, t_end = 50 * TWO_PI;
    const shoal_setting speed = {"c", c, NULL};
    const char *const names[] = {"gauss_radau", "gauss_radau_fixed"};
    shoal_context *context = context_of(state);
    for (int k = 0; k < 2; k++) {
        shoal_body bodies[2] = {{.m = 1}, {.m = 0}};
        const shoal_orbit orbit[2] = {{0}, {.a = 1, .e = e, .omega = 1, .f = 0.5}};
        shoal_orbit after[2];
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbit, bodies));
        struct run one = {.propagator = names[k],
                          .n_systems = 1,
                          .n = 2,
                          .dt = 0.1,
                          .n_times = 1,
                          .times = &t_end,
                          .force = {"gr_potential", &speed, 1}};
        run(context, &one, bodies);
        assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_JACOBI, 2, bodies, after));
        const double turned = (after[1].omega - 1) / 50, expected = 3 * TWO_PI / (c * c * (1 - e * e));
        assert_below(fabs(turned / expected - 1), 0.01, "%s", names[k]); /* osculating elements, not mean ones */
    }
}

/* ---- other codes ------------------------------------------------------------------------------------------------- */

static void other_codes_agree(void **state)
{
    static const int counts[] = {2, 3, 5, 9, 12};
    const double t_end = 5 * TWO_PI;
    shoal_context *context = context_of(state);
    for (int k = 0; k < SHOAL_COUNT(counts); k++) {
        const int n = counts[k];
        shoal_body bodies[12], exact[12];
        planetary_system(context, 50 + n, n, 1e-3, 1.6, 0.2, bodies);
        memcpy(exact, bodies, sizeof exact);
        struct run one = {.n_systems = 1, .n = n, .n_times = 1, .times = &t_end};
        run(context, &one, bodies);
        newton_reference(n, t_end, exact);
        const double error = distance_of_states(n, bodies, exact);
        print_message("%2d bodies against GSL: %.1e\n", n, error);
        assert_below(error, 1e-11, "%d bodies", n);
    }
}

/* The same initial state by REBOUND's IAS15, through its Python module. */
static void rebound_agrees(void **state)
{
    enum { N = 4 };
    static const char script[] =
        "import sys, rebound\n"
        "s = rebound.Simulation()\n"
        "s.integrator = 'ias15'\n"
        "v = [float.fromhex(x) for x in sys.argv[2:]]\n"
        "for i in range(0, len(v), 7): s.add(**dict(zip('m x y z vx vy vz'.split(), v[i:i+7])))\n"
        "s.integrate(float(sys.argv[1]))\n"
        "for p in s.particles: print(repr(p.x), repr(p.y), repr(p.z))\n";
    const double t_end = 30 * TWO_PI;
    shoal_context *context = context_of(state);
    shoal_body bodies[N], theirs[N];
    char command[8192];
    if (system("python3 -c 'import rebound' >/dev/null 2>&1") != 0) {
        print_message("skipped: python3 has no module rebound\n");
        skip();
    }
    planetary_system(context, 77, N, 1e-3, 1.7, 0.1, bodies);
    int used = snprintf(command, sizeof command, "python3 -c \"%s\" %.17g", script, t_end);
    for (int i = 0; i < N; i++)
        used += snprintf(command + used, sizeof command - (size_t)used, " %a %a %a %a %a %a %a", bodies[i].m,
                         bodies[i].x, bodies[i].y, bodies[i].z, bodies[i].vx, bodies[i].vy, bodies[i].vz);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    for (int i = 0; i < N; i++)
        assert_int_equal(fscanf(pipe, "%lf %lf %lf", &theirs[i].x, &theirs[i].y, &theirs[i].z), 3);
    assert_int_equal(pclose(pipe), 0);
    struct run one = {.n_systems = 1, .n = N, .n_times = 1, .times = &t_end};
    run(context, &one, bodies);
    const double difference = distance_of_states(N, bodies, theirs);
    print_message("against REBOUND's IAS15 after 30 orbits: %.1e\n", difference);
    assert_below(difference, 1e-11, "REBOUND");
}

int main(void)
{
    gsl_set_error_handler_off();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_rounded_once),
        cmocka_unit_test(coefficients_have_no_bias),
        cmocka_unit_test(quadrature_is_exact_to_degree_14),
        cmocka_unit_test(error_falls_with_order_15),
        cmocka_unit_test(ellipses_are_followed_to_rounding),
        cmocka_unit_test(outer_planets_keep_their_energy),
        cmocka_unit_test(energy_walks_at_random),
        cmocka_unit_test(time_runs_back),
        cmocka_unit_test(the_first_step_does_not_matter),
        cmocka_unit_test(steps_follow_epsilon),
        cmocka_unit_test(errors_follow_epsilon),
        cmocka_unit_test(massless_bodies_are_followed),
        cmocka_unit_test(pericentre_precesses),
        cmocka_unit_test(other_codes_agree),
        cmocka_unit_test(rebound_agrees),
    };
    return cmocka_run_group_tests_name("gauss_radau", tests, setup, teardown);
}
