/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_propagators.c: do the propagators follow Newton's equations? Order of convergence, exact Kepler motion,
 * conserved quantities, reversal of time, times and steps as they were asked for; against closed forms, against GSL's
 * Runge-Kutta of order 8, and against each other.
 *
 * The measured numbers are printed, so that a run shows how far from its limit a test is. SHOAL_TEST_NAME=PATTERN:
 * those tests alone.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gsl/gsl_errno.h>

#include "kepler_reference.h"
#include "systems.h"

#define MOST_BODIES 65

#define SLOW_DOWN (INSTRUMENTED ? 50 : 1)

static const shoal_setting compensated_on = {.name = "compensated", .value = 1};
static const shoal_setting compensated_off = {.name = "compensated", .value = 0};

/* ---- references -------------------------------------------------------------------------------------------------- */

static long double length(const long double *v)
{
    return sqrtl(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/*
 * The conditioning bound: how far the position at time t moves when the state at time zero is rounded, each coordinate
 * by EPS of the length of its vector. For an ellipse: 1/a = 2/r - v^2/mu, so that EPS in r and v changes a by
 * 2 (3 a/r - 1) EPS and the period by 3/2 times that; after a time t the body is off along its orbit by
 *
 *     |v(t)| t 3 (3 a/r - 1) EPS,  from pericentre to pericentre  6 pi a sqrt((1 + e) / (1 - e)) (2 + e) / (1 - e) EPS
 *
 * which grows as (1 - e)^(-3/2); no method that keeps its state in doubles does better. Here the shift is taken by
 * differences of the reference, which holds for every conic and for any pair of phases.
 *
 * before: the state one step earlier, or NULL. A step adds its change to the state, so that what is rounded is the
 * longer of the two vectors: this is what a large step towards the pericentre costs.
 */
static double rounding_shift(double mu, double t, const long double *before, const long double *state)
{
    long double exact[6], moved[6], from[6];
    long double size[2] = {length(state), length(state + 3)};
    double sum = 0.0;
    for (int k = 0; before && k < 2; k++)
        size[k] = fmaxl(size[k], length(before + 3 * k));
    kepler_reference(mu, t, state, exact);
    for (int c = 0; c < 6; c++) {
        memcpy(from, state, sizeof from);
        from[c] += EPS * size[c / 3];
        kepler_reference(mu, t, from, moved);
        for (int k = 0; k < 3; k++)
            moved[k] -= exact[k];
        sum += (double)length(moved);
    }
    return sum;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Slope of log error over log step, six steps of ratio 2, three bodies that pull at each other strongly. */
static void error_falls_with_the_order(void **state)
{
    enum { STEPS = 6, N = 3 };
    static const struct {
        const char *name;
        int order;
        double coarsest;
    } rows[] = {{"hermite4", 4, 1.0 / 16}, {"leapfrog", 2, 1.0 / 64}, {"mvs", 2, 1.0 / 16}};
    const double t_end = 8.0;
    shoal_context *context = context_of(state);
    shoal_body start[N], exact[N];
    planetary_system(context, 5, N, 2e-2, 1.7, 0.1, start);
    memcpy(exact, start, sizeof exact);
    newton_reference(N, t_end, exact);
    for (int row = 0; row < SHOAL_COUNT(rows); row++)
        for (int compensated = 0; compensated < 2; compensated++) {
            const shoal_setting *setting = compensated ? &compensated_on : &compensated_off;
            shoal_options options = {
                .propagator = rows[row].name, .settings = setting, .n_settings = 1, .t_end = t_end};
            shoal_body bodies[STEPS * N];
            double dt[STEPS], error[STEPS];
            for (int k = 0; k < STEPS; k++) {
                memcpy(bodies + N * k, start, sizeof start);
                dt[k] = ldexp(rows[row].coarsest, -k);
            }
            evolve_all(context, STEPS, N, NULL, dt, &options, bodies, NULL);
            for (int k = 0; k < STEPS; k++)
                error[k] = distance_of_states(N, bodies + N * k, exact);
            const double order = slope(STEPS, dt, error);
            print_message("%-9s order %.3f, errors %.1e..%.1e%s\n", rows[row].name, order, error[0], error[STEPS - 1],
                          compensated ? ", compensated" : "");
            assert_int_equal(shoal_propagator_find(NULL, rows[row].name)->order, rows[row].order);
            assert_below(fabs(order - rows[row].order), 0.2, "%s", rows[row].name);
        }
}

/* A step that does not divide the time: the partial step at the end has the same order. */
static void the_last_partial_step_is_as_good(void **state)
{
    enum { N = 3 };
    shoal_context *context = context_of(state);
    shoal_body start[N], exact[N];
    planetary_system(context, 5, N, 1e-2, 1.7, 0.1, start);
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        const char *name = shoal_plugs_of(NULL)->propagators[p]->name;
        const double dt = 0.01, cut[] = {0.0, 1e-7, 0.37, 0.999};
        double error[SHOAL_COUNT(cut)];
        for (int k = 0; k < SHOAL_COUNT(cut); k++) {
            shoal_options options = {.propagator = name, .t_end = 3.0 + cut[k] * dt, .dt = dt};
            shoal_body bodies[N];
            memcpy(bodies, start, sizeof start);
            memcpy(exact, start, sizeof start);
            evolve_all(context, 1, N, NULL, NULL, &options, bodies, NULL);
            newton_reference(N, options.t_end, exact);
            error[k] = distance_of_states(N, bodies, exact);
            assert_below(error[k], 1.5 * error[0] + 1e-13, "%s, %g of a step", name, cut[k]);
        }
        assert_below(error[0], 1e-4, "%s", name);
    }
}

/* ---- Kepler ------------------------------------------------------------------------------------------------------ */

/* A massless planet of a star of mass mu, from the given state (x y z vx vy vz) for a time t in steps of dt. */
struct flight {
    double mu, dt;
    double state[6];
};

static void fly(shoal_context *context, const char *engine, long n, const struct flight *flights, double t,
                const shoal_setting *setting, double (*result)[6])
{
    shoal_options options = {
        .propagator = "mvs", .engine = engine, .settings = setting, .n_settings = 1, .t_end = t, .threads = 1};
    shoal_body *bodies = calloc((size_t)(2 * n), sizeof *bodies);
    double *dt = calloc((size_t)n, sizeof *dt);
    assert_non_null(bodies);
    assert_non_null(dt);
    for (long s = 0; s < n; s++) {
        bodies[2 * s].m = flights[s].mu;
        memcpy(&bodies[2 * s + 1].x, flights[s].state, 6 * sizeof(double));
        dt[s] = flights[s].dt;
    }
    evolve_all(context, n, 2, NULL, dt, &options, bodies, NULL);
    for (long s = 0; s < n; s++) {
        assert_true(bodies[2 * s].x == 0.0 && bodies[2 * s].vy == 0.0); /* nothing pulls at the star */
        memcpy(result[s], &bodies[2 * s + 1].x, 6 * sizeof(double));
    }
    free(bodies);
    free(dt);
}

static double position_error(const double *state, const long double *exact)
{
    const long double x = state[0] - exact[0], y = state[1] - exact[1], z = state[2] - exact[2];
    return (double)sqrtl(x * x + y * y + z * z);
}

static void exact_after(const struct flight *flight, double t, long double *exact)
{
    long double from[6];
    for (int c = 0; c < 6; c++)
        from[c] = flight->state[c];
    kepler_reference(flight->mu, t, from, exact);
}

/* The reference itself against the elements: Kepler's equation and the conic in closed form. */
static void references_agree(void **state)
{
    shoal_context *context = context_of(state);
    const double eccentricities[] = {0.0, 0.1, 0.5, 0.9, 1.5, 10.0};
    double worst = 0.0;
    for (int k = 0; k < SHOAL_COUNT(eccentricities); k++)
        for (int phase = 0; phase < 7; phase++) {
            const double e = eccentricities[k], a = e < 1 ? 1.0 : -1.0, mu = 1.3, t = 0.7 * (phase - 3) + 0.05;
            shoal_orbit orbit = {.a = a, .e = e, .inc = 0.4, .Omega = 1.0, .omega = 2.0, .f = 0.3 * (phase - 3)};
            struct flight flight = {.mu = mu};
            double expected[6];
            long double exact[6];
            if (e > 1)
                orbit.f *= 0.5;
            assert_ok(context, shoal_orbit_to_state(context, mu, &orbit, flight.state));
            orbit.f = shoal_true_anomaly(e, shoal_mean_anomaly(e, orbit.f) + sqrt(mu) * t);
            assert_ok(context, shoal_orbit_to_state(context, mu, &orbit, expected));
            exact_after(&flight, t, exact);
            worst = fmax(worst, position_error(expected, exact) / hypot(hypot(expected[0], expected[1]), expected[2]));
        }
    print_message("elements against universal variables: %.1e\n", worst);
    assert_below(worst, 1e-13, "references");
}

static void massless_planets_keep_their_ellipse(void **state)
{
    enum { PHASES = 8, STEPS = 3, MOST = 4 * PHASES * STEPS };
    static const double eccentricities[] = {0.0, 0.1, 0.5, 0.9}, per_orbit[STEPS] = {20.0, 100.0, 7.3};
    shoal_context *context = context_of(state);
    struct flight flights[MOST];
    double result[MOST][6];
    /* A rounding near the pericentre of e = 0.9 shifts the end of the next orbit by 5e-13 (rounding_shift), and
     * roundings of the energy add up: more orbits of it are a matter of the conditioning, in the next test. */
    for (int orbits = 1; orbits <= 100; orbits *= 10)
        for (int compensated = 0; compensated < 2; compensated++) {
            const double t_end = orbits * TWO_PI;
            double worst[4] = {0};
            for (int s = 0; s < MOST; s++) {
                const double mu = s % 2 ? 1.0 : 3.7, a = cbrt(mu); /* the period is 2 pi */
                shoal_orbit orbit = {
                    .a = a, .e = eccentricities[s / (PHASES * STEPS)], .inc = 0.3, .Omega = 1.0, .omega = 2.0};
                orbit.f = shoal_true_anomaly(orbit.e, TWO_PI * (s / STEPS % PHASES) / PHASES);
                flights[s] = (struct flight){.mu = mu, .dt = TWO_PI / per_orbit[s % STEPS]};
                assert_ok(context, shoal_orbit_to_state(context, mu, &orbit, flights[s].state));
            }
            fly(context, "cpu", MOST, flights, t_end, compensated ? &compensated_on : &compensated_off, result);
            for (int s = 0; s < MOST; s++) {
                long double exact[6];
                exact_after(&flights[s], t_end, exact);
                const double error = position_error(result[s], exact) / cbrt(flights[s].mu) / orbits;
                worst[s / (PHASES * STEPS)] = fmax(worst[s / (PHASES * STEPS)], error);
                if (orbits == 1 || eccentricities[s / (PHASES * STEPS)] < 0.9)
                    assert_below(error, 1e-12, "e = %g, %g steps an orbit, %d orbits",
                                 eccentricities[s / (PHASES * STEPS)], per_orbit[s % STEPS], orbits);
            }
            print_message("%3d orbits%s: error per orbit %.1e (e = 0) %.1e (0.1) %.1e (0.5) %.1e (0.9)\n", orbits,
                          compensated ? ", compensated" : "", worst[0], worst[1], worst[2], worst[3]);
        }
}

/* The error after one or several steps over what the rounding of any of the states on the way does to the end
 * (rounding_shift), which is worst at the start or where a step ends near the centre. */
static double error_over_conditioning(const struct flight *flight, double t, const double *result)
{
    long double exact[6], before_here[6], here[6], next[6], from[6];
    const double dt = fabs(flight->dt), span = fabs(t);
    exact_after(flight, t, exact);
    for (int c = 0; c < 6; c++)
        from[c] = here[c] = before_here[c] = flight->state[c];
    double shift = rounding_shift(flight->mu, t, NULL, from);
    for (int k = 1; k * dt <= span; k++) {
        kepler_reference(flight->mu, copysign(k * dt, t), from, next);
        const long double before = here[0] * here[3] + here[1] * here[4] + here[2] * here[5];
        const long double after = next[0] * next[3] + next[1] * next[4] + next[2] * next[5];
        if ((before < 0) != (after < 0)) {
            shift = fmax(shift, rounding_shift(flight->mu, t - copysign((k - 1) * dt, t), before_here, here));
            shift = fmax(shift, rounding_shift(flight->mu, t - copysign(k * dt, t), here, next));
        }
        memcpy(before_here, here, sizeof here);
        memcpy(here, next, sizeof here);
    }
    kepler_reference(flight->mu, t, from, next); /* the end itself is rounded, too */
    shift = fmax(shift, rounding_shift(flight->mu, 0.0, here, next));
    return position_error(result, exact) / shift;
}

static void nearly_straight_ellipses_are_as_good_as_doubles_allow(void **state)
{
    enum { STEPS = 3, PHASES = 4, MOST = STEPS * PHASES };
    static const double one_minus_e[] = {1e-1, 1e-2, 1e-3, 1e-6, 1e-10}, per_orbit[STEPS] = {20.0, 100.0, 7.3};
    static const double means[PHASES] = {0.0, PI, 1.0, -0.3}; /* pericentre, apocentre, outwards, inwards */
    shoal_context *context = context_of(state);
    struct flight flights[MOST];
    double result[MOST][6];
    alarm(300);
    for (int k = 0; k < SHOAL_COUNT(one_minus_e); k++) {
        double worst = 0.0;
        for (int which = 0; which < 6; which++) {
            /* after an orbit of 1 - e = 1e-10 no digit is left to compare */
            if (which % 3 == 2 && one_minus_e[k] < 1e-9)
                continue;
            const double t = (which < 3 ? 1.0 : -1.0) * (which % 3 == 0 ? 0.3 : which % 3 == 1 ? 1.0 : 3.1) * TWO_PI;
            for (int s = 0; s < MOST; s++) {
                shoal_orbit orbit = {.a = 1.0, .e = 1.0 - one_minus_e[k], .inc = 0.3, .Omega = 1.0, .omega = 2.0};
                orbit.f = shoal_true_anomaly(orbit.e, means[s / STEPS]);
                flights[s] = (struct flight){.mu = 1.0, .dt = TWO_PI / per_orbit[s % STEPS]};
                assert_ok(context, shoal_orbit_to_state(context, 1.0, &orbit, flights[s].state));
            }
            fly(context, "cpu", MOST, flights, t, &compensated_off, result);
            for (int s = 0; s < MOST; s++) {
                const double ratio = error_over_conditioning(&flights[s], t, result[s]) / ceil(fabs(t) / TWO_PI);
                worst = fmax(worst, ratio);
                assert_below(ratio, 10.0, "1 - e = %g, M = %g, %g steps an orbit, t = %g", one_minus_e[k],
                             means[s / STEPS], per_orbit[s % STEPS], t);
            }
        }
        print_message("1 - e = %.0e: error per orbit at most %.2f times the conditioning bound\n", one_minus_e[k],
                      worst);
    }
    alarm(0);
}

/* Energy and angular momentum of a flight, relative to what the rounding of a state does to them: the change of x is
 * added to x, so that an error EPS of the longer of two radii and of the faster of two speeds is in the nature of a
 * step. */
static double integrals_error(const struct flight *flight, const double *end)
{
    const double *ends[2] = {flight->state, end};
    double energy[2], momentum[2][3], r[2], v[2], difference = 0.0;
    for (int k = 0; k < 2; k++) {
        const double *x = ends[k], *u = ends[k] + 3;
        r[k] = hypot(hypot(x[0], x[1]), x[2]);
        v[k] = hypot(hypot(u[0], u[1]), u[2]);
        energy[k] = 0.5 * v[k] * v[k] - flight->mu / r[k];
        for (int c = 0; c < 3; c++)
            momentum[k][c] = x[(c + 1) % 3] * u[(c + 2) % 3] - x[(c + 2) % 3] * u[(c + 1) % 3];
    }
    const double near = fmin(r[0], r[1]), far = fmax(r[0], r[1]), fast = fmax(v[0], v[1]);
    for (int c = 0; c < 3; c++)
        difference = fmax(difference, fabs(momentum[1][c] - momentum[0][c]));
    return fmax(fabs(energy[1] - energy[0]) / (fast * fast + flight->mu * far / (near * near)),
                difference / (far * fast));
}

/* Hyperbolas, parabolas, straight lines; steps from 1e-10 on, forwards and backwards, alone and in threes: it always
 * ends, keeps the integrals, and is where the reference is. A step that overflows nothing may take any way, but no
 * endless one. */
static void conics_are_flown(shoal_context *context, const char *engine)
{
    enum { MOST = 256 };
    static const double eccentricities[] = {0.0,         0.7,        0.999,      1.0 - 1e-8, 1.0 - 1e-14,
                                            1.0 + 1e-14, 1.0 + 1e-8, 1.0 + 1e-5, 1.0 + 1e-3, 1.0 + 1e-1,
                                            1.5,         10.0,       1e3,        1e5};
    static const double phases[] = {-0.999999, -0.9, -0.45, 0.0, 0.45, 0.9, 0.999999}; /* of what the conic allows */
    static const double one_minus_e[] = {1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14};
    static const double times[] = {1e-10,  1e-5, 1e-2,  0.3,           1.0, 0.37 * TWO_PI, PI, 5.0,
                                   TWO_PI, 20.0, 100.0, 20.2 * TWO_PI, 1e4, 1e6,           1e9};
    struct flight flights[MOST];
    double result[MOST][6], worst = 0.0, worst_integrals = 0.0;
    alarm(300);
    for (int k = 0; k < 2 * SHOAL_COUNT(times); k++) {
        const double t = (k % 2 ? -1.0 : 1.0) * times[k / 2];
        int n = 0;
        for (int which = 0; which < SHOAL_COUNT(eccentricities); which++)
            for (int phase = 0; phase < SHOAL_COUNT(phases); phase++)
                for (int steps = 1; steps <= 3; steps += 2) {
                    /* pericentre 1 */
                    const double e = eccentricities[which], most = e <= 1.0 ? PI : acos(-1.0 / e);
                    shoal_orbit orbit = {.a = 1.0 / (1.0 - e),
                                         .e = e,
                                         .inc = 2.0,
                                         .Omega = 1.0,
                                         .omega = 2.0,
                                         .f = phases[phase] * most};
                    flights[n] = (struct flight){.mu = 1.0, .dt = fabs(t) / steps};
                    assert_ok(context, shoal_orbit_to_state(context, 1.0, &orbit, flights[n++].state));
                }
        /* from rest, thrown straight outwards and inwards: bound, at the speed of escape, faster */
        for (int which = 0; which < 7; which++) {
            static const double speeds[] = {0.0, 0.5, -0.5, 1.4142135623730951, -1.4142135623730951, 3.0, -3.0};
            flights[n++] = (struct flight){.mu = 1.0, .dt = fabs(t), .state = {1.0, 0.0, 0.0, speeds[which], 0.0, 0.0}};
            flights[n++] = (struct flight){
                .mu = 1.0, .dt = fabs(t), .state = {0.6, 0.8, 0.0, 0.6 * speeds[which], 0.8 * speeds[which], 0.0}};
        }
        /* a parabola from its pericentre and from elsewhere */
        flights[n++] = (struct flight){.mu = 0.5, .dt = fabs(t), .state = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0}};
        flights[n++] = (struct flight){.mu = 0.5, .dt = fabs(t), .state = {0.0, 2.0, 0.0, -0.5, -0.5, 0.0}};
        /* ellipses of a = 1 from the apocentre, many periods in a step */
        for (int which = 0; which < SHOAL_COUNT(one_minus_e) && fabs(t) <= 20.2 * TWO_PI; which++) {
            const double r = 2.0 - one_minus_e[which], v = sqrt(one_minus_e[which] / r);
            flights[n++] = (struct flight){
                .mu = 1.0, .dt = fabs(t), .state = {0.6 * r, 0.8 * r, 0.0, -0.8 * v, 0.6 * v, 0.0}};
        }
        assert_true(n <= MOST);
        fly(context, engine, n, flights, t, &compensated_off, result);
        for (int s = 0; s < n; s++) {
            for (int c = 0; c < 6; c++)
                assert_true(isfinite(result[s][c]));
            const double ratio = error_over_conditioning(&flights[s], t, result[s]),
                         kept = integrals_error(&flights[s], result[s]);
            assert_below(ratio, 10.0, "flight %d, t = %g", s, t);
            assert_below(kept, 1e-13, "flight %d, t = %g", s, t);
            worst = fmax(worst, ratio);
            worst_integrals = fmax(worst_integrals, kept);
        }
    }
    alarm(0);
    print_message("every conic, %s: error at most %.2f times the conditioning bound, integrals kept to %.1e\n", engine,
                  worst, worst_integrals);
}

static void every_conic_and_every_step(void **state)
{
    conics_are_flown(context_of(state), "cpu");
}

static void every_conic_and_every_step_on_a_gpu(void **state)
{
    need_gpu();
    conics_are_flown(context_of(state), "cuda");
}

/* ---- conserved quantities ---------------------------------------------------------------------------------------- */

/* Planets of 1e-3 at a = 1 and 1.4 on circles (Jacobi), at phases of their own. */
static void standard_system(shoal_context *context, long id, shoal_body *bodies)
{
    shoal_orbit orbit[3] = {
        {.a = 0}, {.a = 1.0, .f = TWO_PI * uniform(id, 1)}, {.a = 1.4, .f = TWO_PI * uniform(id, 2)}};
    memset(bodies, 0, 3 * sizeof *bodies);
    bodies[0].m = 1.0;
    bodies[1].m = bodies[2].m = 1e-3;
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbit, bodies));
}

/* The worst relative energy error of a few standard systems after so many orbits of Hermite with dt = 1e-3. */
static double hermite_energy_error(shoal_context *context, double orbits, const shoal_setting *setting)
{
    enum { SYSTEMS = 8 };
    shoal_body bodies[3 * SYSTEMS];
    double worst = 0.0;
    shoal_options options = {.propagator = "hermite4",
                             .settings = setting,
                             .n_settings = 1,
                             .t_end = orbits * TWO_PI,
                             .dt = 1e-3,
                             .threads = 2};
    for (long s = 0; s < SYSTEMS; s++)
        standard_system(context, s, bodies + 3 * s);
    struct motion motion = motion_begin(context, SYSTEMS, 3, NULL, NULL, &options, bodies);
    assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end));
    for (long s = 0; s < SYSTEMS; s++)
        worst = fmax(worst, fabs(motion_energy_error(&motion, s)));
    motion_end(&motion);
    return worst;
}

static void hermite_keeps_the_energy_for_ten_thousand_orbits(void **state)
{
    shoal_context *context = context_of(state);
    const double orbits = 1e4 / SLOW_DOWN;
    const double plain = hermite_energy_error(context, 0.02 * orbits, &compensated_off);
    const double early = hermite_energy_error(context, 0.02 * orbits, &compensated_on);
    const double late = hermite_energy_error(context, orbits, &compensated_on);
    print_message("energy error after %g orbits: %.1e plain, %.1e compensated; after %g: %.1e compensated\n",
                  0.02 * orbits, plain, early, orbits, late);
    assert_below(late, 1e-12, "compensated");
    assert_below(early, plain, "compensated is no better than plain");
}

/* Angular momentum and barycentre: test_battery.c has every propagator with the steps of a user; here more bodies
 * and a longer time, and Hermite and Runge-Kutta methods with steps so small that they keep the angular momentum,
 * too. Adaptive ones are as good as their tolerance. */
static void momenta_are_kept_to_rounding(void **state)
{
    enum { N = 4, SYSTEMS = 5 };
    shoal_context *context = context_of(state);
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        const char *name = shoal_plugs_of(NULL)->propagators[p]->name;
        const bool small_steps = strncmp(name, "hermite", 7) == 0 || strcmp(name, "runge_kutta") == 0;
        if (shoal_plugs_of(NULL)->propagators[p]->adaptive)
            continue;
        shoal_body bodies[N * SYSTEMS];
        double before[SYSTEMS][3], worst = 0.0, worst_centre = 0.0, worst_motion = 0.0;
        for (long s = 0; s < SYSTEMS; s++)
            planetary_system(context, s, N, 1e-3, 1.6, 0.1, bodies + N * s);
        const shoal_options options = {.propagator = name, .t_end = 200 * TWO_PI, .dt = small_steps ? 2e-3 : 0.05};
        struct motion motion = motion_begin(context, SYSTEMS, N, NULL, NULL, &options, bodies);
        for (long s = 0; s < SYSTEMS; s++)
            shoal_ensemble_angular_momentum(motion.ensemble, s, before[s]);
        assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end));
        for (long s = 0; s < SYSTEMS; s++) {
            double after[3], size = hypot(hypot(before[s][0], before[s][1]), before[s][2]), centre[6] = {0};
            shoal_ensemble_angular_momentum(motion.ensemble, s, after);
            shoal_ensemble_get_bodies(motion.ensemble, s, bodies + N * s);
            for (int c = 0; c < 3; c++)
                worst = fmax(worst, fabs(after[c] - before[s][c]) / size);
            for (int i = 0; i < N; i++)
                for (int c = 0; c < 6; c++)
                    centre[c] += bodies[N * s + i].m * (&bodies[N * s + i].x)[c];
            for (int c = 0; c < 3; c++) {
                worst_centre = fmax(worst_centre, fabs(centre[c]));
                worst_motion = fmax(worst_motion, fabs(centre[3 + c]));
            }
        }
        motion_end(&motion);
        print_message("%-9s angular momentum %.1e, barycentre %.1e, its velocity %.1e after 200 orbits\n", name, worst,
                      worst_centre, worst_motion);
        assert_below(worst, 1e-12, "%s", name);
        assert_below(worst_centre, 1e-13, "%s", name);
        assert_below(worst_motion, 1e-14, "%s", name);
    }
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* Hermite is not reversible, but the equations are: back to the start to the order of the step. */
static void hermite_comes_back_to_its_order(void **state)
{
    enum { N = 3 };
    shoal_context *context = context_of(state);
    double back[2];
    for (int k = 0; k < 2; k++) {
        shoal_body start[N], bodies[N];
        const double t_start = 3.0, t_end = -5.0;
        shoal_options options = {.propagator = "hermite4", .t_end = t_end, .dt = ldexp(0x1p-5, -k)};
        planetary_system(context, 1, N, 1e-3, 1.5, 0.1, start);
        memcpy(bodies, start, sizeof start);
        evolve_all(context, 1, N, &t_start, NULL, &options, bodies, NULL);
        options.t_end = t_start;
        evolve_all(context, 1, N, &t_end, NULL, &options, bodies, NULL);
        back[k] = distance_of_states(N, bodies, start);
    }
    print_message("hermite4 there and back: %.1e, half the step %.1e\n", back[0], back[1]);
    assert_below(back[0], 1e-4, "step 1/32");
    assert_below(back[1], back[0] / 10.0, "half the step");
}

/* Two bodies on a circle, equal or not, against their angle: every body count has its own kernels. */
static void two_bodies_circle(void **state)
{
    static const struct {
        const char *name;
        double mass_ratio, dt, limit;
    } rows[] = {{"hermite4", 1.0, 1e-3, 2e-11}, {"hermite4", 1e-3, 1e-3, 2e-11}, {"leapfrog", 1.0, 1e-3, 4e-5},
                {"leapfrog", 1e-6, 1e-3, 4e-5}, {"mvs", 1e-3, 1e-2, 1e-5},       {"mvs", 1e-6, 1e-2, 1e-8}};
    shoal_context *context = context_of(state);
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        const double q = rows[row].mass_ratio, m0 = 1.0 / (1.0 + q), m1 = q / (1.0 + q), t = 10.3 * TWO_PI;
        shoal_body bodies[2] = {{.m = m0, .x = -m1, .vy = -m1}, {.m = m1, .x = m0, .vy = m0}};
        const shoal_body exact[2] = {{.x = -m1 * cos(t), .y = -m1 * sin(t)}, {.x = m0 * cos(t), .y = m0 * sin(t)}};
        shoal_options options = {.propagator = rows[row].name, .t_end = t, .dt = rows[row].dt};
        evolve_all(context, 1, 2, NULL, NULL, &options, bodies, NULL);
        const double error = distance_of_states(2, bodies, exact);
        print_message("%-9s two bodies, mass ratio %g: %.1e after 10.3 orbits\n", rows[row].name, q, error);
        assert_below(error, rows[row].limit, "%s", rows[row].name);
    }
}

/* One ensemble of planets that start at different times, with steps and stars of their own; t_end lies before some of
 * the starts' multiples and is reached exactly by all. */
static void every_system_has_its_own_time(void **state)
{
    enum { SYSTEMS = 11 };
    shoal_context *context = context_of(state);
    for (int sign = -1; sign <= 1; sign += 2) {
        const double t_end = 2.0 * sign;
        shoal_body bodies[2 * SYSTEMS], start[2 * SYSTEMS];
        shoal_system records[SYSTEMS];
        double t_start[SYSTEMS], dt[SYSTEMS], worst = 0.0;
        memset(bodies, 0, sizeof bodies);
        for (int s = 0; s < SYSTEMS; s++) {
            const double mass = 0.1 + s;
            shoal_orbit orbit[2] = {{.a = 0}, {.a = 1.0 + 0.1 * s, .e = 0.05 * s, .f = s}};
            bodies[2 * s].m = mass;
            assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbit, bodies + 2 * s));
            t_start[s] = t_end - sign * (1.7 + 3.0 * s);
            dt[s] = 0.013 * (1 + s % 4) * (s % 2 ? 1 : -1); /* the sign of the step does not matter */
        }
        memcpy(start, bodies, sizeof start);
        shoal_options options = {.propagator = "mvs", .t_end = t_end};
        evolve_all(context, SYSTEMS, 2, t_start, dt, &options, bodies, records);
        for (int s = 0; s < SYSTEMS; s++) {
            struct flight flight = {.mu = start[2 * s].m};
            long double exact[6];
            double planet[6];
            for (int c = 0; c < 6; c++) {
                flight.state[c] = (&start[2 * s + 1].x)[c] - (&start[2 * s].x)[c];
                planet[c] = (&bodies[2 * s + 1].x)[c] - (&bodies[2 * s].x)[c];
            }
            exact_after(&flight, t_end - t_start[s], exact);
            worst = fmax(worst, position_error(planet, exact));
            assert_int_equal(records[s].outcome, SHOAL_SURVIVED);
            assert_true(records[s].t_start == t_start[s] && records[s].time == t_end);
            assert_true(records[s].dt == sign * fabs(dt[s]));
            assert_true(records[s].n_steps == floor(fabs(t_end - t_start[s]) / fabs(dt[s]) + 1e-9));
        }
        print_message("own times and stars, t_end %g: %.1e\n", t_end, worst);
        assert_below(worst, 1e-12, "t_end = %g", t_end);
    }
}

/* steps_per_orbit counts in the shortest initial period of each system. */
static void steps_per_orbit_follows_the_period(void **state)
{
    enum { N = 3, SYSTEMS = 4 };
    shoal_context *context = context_of(state);
    shoal_body bodies[N * SYSTEMS];
    shoal_system records[SYSTEMS];
    double shortest[SYSTEMS];
    for (int s = 0; s < SYSTEMS; s++) {
        shoal_orbit orbit[N];
        planetary_system(context, s, N, 1e-3, 1.6, 0.1, bodies + N * s);
        bodies[N * s].m += 0.2 * s; /* periods of their own */
        assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_JACOBI, N, bodies + N * s, orbit));
        shortest[s] = orbit[1].P;
        assert_true(orbit[1].P < orbit[2].P);
    }
    shoal_options options = {.propagator = "mvs", .t_end = -30.0, .steps_per_orbit = 25};
    evolve_all(context, SYSTEMS, N, NULL, NULL, &options, bodies, records);
    for (int s = 0; s < SYSTEMS; s++) {
        assert_below(fabs(records[s].dt / (-shortest[s] / 25) - 1.0), 1e-12, "system %d", s);
        assert_int_equal(records[s].outcome, SHOAL_SURVIVED);
        assert_true(records[s].n_steps == floor(30.0 / fabs(records[s].dt)));
    }
}

/* ---- body counts and methods against each other ------------------------------------------------------------------ */

/* Whatever the body count: planets at axes from 1 to 8, near enough to each other for every pull to show, against
 * GSL. Halving the steps takes away 3/4 of an error of order 2, or more, so that the error is at most 4/3 of the
 * change; that of chosen steps is a few times that with one planet at most. hybrid has all planets near each other,
 * else it were mvs. */
static void every_body_count_is_right(void **state)
{
    static const int counts[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 33, 65};
    enum { PROPAGATORS = 64 };
    const shoal_setting everybody_near = {.name = "hill_factor", .value = 100};
    const shoal_propagator *const *all = shoal_plugs_of(NULL)->propagators;
    double alone[PROPAGATORS], worst[PROPAGATORS] = {0};
    shoal_context *context = context_of(state);
    for (int k = 0; k < SHOAL_COUNT(counts); k++) {
        const int n = counts[k];
        const size_t size = (size_t)n * sizeof(shoal_body);
        shoal_body start[MOST_BODIES], exact[MOST_BODIES], bodies[2][MOST_BODIES];
        planetary_system(context, 100 + n, n, 1e-5, pow(8, 1.0 / (n - 1)), 0.01, start);
        memcpy(exact, start, size);
        newton_reference(n, 3.0, exact);
        for (int p = 0; all[p]; p++)
            for (int form = 0; form < 2; form++) {
                const bool hybrid = strcmp(all[p]->name, "hybrid") == 0;
                for (int half = 0; half < (all[p]->adaptive ? 1 : 2); half++) {
                    const shoal_options options = {.propagator = all[p]->name,
                                                   .settings = &everybody_near,
                                                   .n_settings = hybrid,
                                                   .form = form ? "rows" : "pairs",
                                                   .t_end = 3.0,
                                                   .dt = (all[p]->order > 2 ? 0.06 : 4e-3) / (1 + half)};
                    memcpy(bodies[half], start, size);
                    evolve_all(context, 1, n, NULL, NULL, &options, bodies[half], NULL);
                }
                const double error = distance_of_states(n, bodies[0], exact);
                if (n == 2)
                    alone[p] = error;
                const double limit = (all[p]->adaptive ? fmin(5 * alone[p], 1e-6)
                                                       : 1.5 * distance_of_states(n, bodies[0], bodies[1])) +
                                     1e-13;
                worst[p] = fmax(worst[p], error / limit);
                assert_below(error, limit, "%s, %d bodies", all[p]->name, n);
            }
    }
    for (int p = 0; all[p]; p++)
        print_message("%-20s one planet %.1e, more at most %.2f of what is allowed\n", all[p]->name, alone[p],
                      worst[p]);
}

/* Three planets over ten orbits: each method converges to the same motion, and is there to what its order and step
 * allow. */
static void methods_agree(void **state)
{
    enum { N = 4, STEPS = 3 };
    static const struct {
        const char *name;
        double dt, limit; /* of the error at the smallest of the steps dt, dt/2, dt/4 */
    } rows[] = {{"hermite4", 4e-3, 1e-9}, {"leapfrog", 2e-3, 1e-4}, {"mvs", 2e-2, 1e-5}};
    shoal_context *context = context_of(state);
    shoal_body start[N], exact[N];
    const double t_end = 10 * TWO_PI;
    planetary_system(context, 21, N, 1e-3, 1.5, 0.1, start);
    memcpy(exact, start, sizeof exact);
    newton_reference(N, t_end, exact);
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        shoal_options options = {.propagator = rows[row].name, .t_end = t_end};
        shoal_body bodies[STEPS * N], limit[N];
        double dt[STEPS], error[STEPS];
        for (int k = 0; k < STEPS; k++) {
            memcpy(bodies + N * k, start, sizeof start);
            dt[k] = ldexp(rows[row].dt, -k);
        }
        evolve_all(context, STEPS, N, NULL, dt, &options, bodies, NULL);
        for (int k = 0; k < STEPS; k++)
            error[k] = distance_of_states(N, bodies + N * k, exact);
        /* Richardson's extrapolation to step zero, one order better */
        const double gain = ldexp(1.0, shoal_propagator_find(NULL, rows[row].name)->order);
        memset(limit, 0, sizeof limit);
        for (int i = 0; i < N; i++)
            for (int c = 0; c < 3; c++) {
                const double fine = (&bodies[2 * N + i].x)[c], coarse = (&bodies[N + i].x)[c];
                (&limit[i].x)[c] = fine + (fine - coarse) / (gain - 1.0);
            }
        const double beyond = distance_of_states(N, limit, exact);
        print_message("%-9s against GSL after 10 orbits: %.1e %.1e %.1e, extrapolated %.1e\n", rows[row].name, error[0],
                      error[1], error[2], beyond);
        assert_below(error[2], rows[row].limit, "%s", rows[row].name);
        assert_below(error[2], 1.3 * error[1] / gain + 2e-11, "%s", rows[row].name);
        assert_below(beyond, 0.1 * error[2] + 1e-10, "%s", rows[row].name);
    }
}

int main(void)
{
    gsl_set_error_handler_off();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_falls_with_the_order),
        cmocka_unit_test(the_last_partial_step_is_as_good),
        cmocka_unit_test(references_agree),
        cmocka_unit_test(massless_planets_keep_their_ellipse),
        cmocka_unit_test(nearly_straight_ellipses_are_as_good_as_doubles_allow),
        cmocka_unit_test(every_conic_and_every_step),
        cmocka_unit_test(every_conic_and_every_step_on_a_gpu),
        cmocka_unit_test(hermite_keeps_the_energy_for_ten_thousand_orbits),
        cmocka_unit_test(momenta_are_kept_to_rounding),
        cmocka_unit_test(hermite_comes_back_to_its_order),
        cmocka_unit_test(two_bodies_circle),
        cmocka_unit_test(every_system_has_its_own_time),
        cmocka_unit_test(steps_per_orbit_follows_the_period),
        cmocka_unit_test(every_body_count_is_right),
        cmocka_unit_test(methods_agree),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests_name("propagators", tests, setup, teardown);
}
