/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_elements.c: Kepler's equation against GSL's root finder, orbits against Newton's equation of motion, and round
 * trips held to the conditioning that core/base/elements.c states.
 */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_roots.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

static const double PI = 3.141592653589793, EPS = DBL_EPSILON;

/* Fails with both numbers if value is off by more than bound. */
#define assert_near(value, expected, bound)                                                               \
    do {                                                                                                  \
        double v_ = (value), e_ = (expected), b_ = (bound);                                               \
        if (!(fabs(v_ - e_) <= b_))                                                                       \
            fail_msg("%s = %.17g, expected %.17g within %.3g; off by %.3g", #value, v_, e_, b_, v_ - e_); \
    } while (0)

static shoal_context *context;
static gsl_rng *rng;

static int setup(void **state)
{
    (void)state;
    rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 20240611);
    return shoal_context_create(&context) != SHOAL_OK || !rng;
}

static int teardown(void **state)
{
    (void)state;
    gsl_rng_free(rng);
    shoal_context_destroy(&context);
    return 0;
}

static double uniform(double low, double high)
{
    return low + (high - low) * gsl_rng_uniform(rng);
}

static double log_uniform(double low, double high)
{
    return low * pow(high / low, gsl_rng_uniform(rng));
}

/* The distance of two angles on the circle. */
static double turn(double a, double b)
{
    return fabs(remainder(a - b, 2.0 * PI));
}

static void require(shoal_status status)
{
    if (status)
        fail_msg("%s: %s", shoal_status_text(status), shoal_context_message(context));
}

static double length_of(const double x[3])
{
    return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

/* ---- Kepler's equation ------------------------------------------------------------------------------------------- */

typedef struct kepler_problem {
    double e, M;
} kepler_problem;

static double elliptic(double E, void *user)
{
    const kepler_problem *problem = user;
    return E - problem->e * sin(E) - problem->M;
}

static double hyperbolic(double H, void *user)
{
    const kepler_problem *problem = user;
    return problem->e * sinh(H) - H - problem->M;
}

/* The root by Brent's method. */
static double oracle(kepler_problem *problem, double low, double high)
{
    gsl_function function = {problem->e < 1.0 ? elliptic : hyperbolic, problem};
    gsl_root_fsolver *solver = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
    assert_int_equal(gsl_root_fsolver_set(solver, &function, low, high), GSL_SUCCESS);
    for (int i = 0; i < 200; i++) {
        gsl_root_fsolver_iterate(solver);
        if (gsl_root_test_interval(gsl_root_fsolver_x_lower(solver), gsl_root_fsolver_x_upper(solver), 0.0, 2 * EPS) ==
            GSL_SUCCESS)
            break;
    }
    double root = gsl_root_fsolver_root(solver);
    gsl_root_fsolver_free(solver);
    return root;
}

static void kepler_equation_agrees_with_gsl(void **state)
{
    (void)state;
    const double es[] = {0.0, 1e-12, 1e-4, 0.0167, 0.3, 0.7, 0.9, 0.99, 0.9999, 1.0001, 1.01, 1.5, 3.0, 50.0, 1e5};
    for (int i = 0; i < SHOAL_COUNT(es); i++)
        for (int sample = 0; sample < 200; sample++) {
            double e = es[i], M = e < 1.0 ? uniform(0.0, PI) : log_uniform(1e-3, 1e4), f, slope;
            kepler_problem problem = {e, M};
            double x = oracle(&problem, 0.0, e < 1.0 ? 3.1415927 : 40.0);
            if (e < 1.0) {
                f = 2.0 * atan2(sqrt(1.0 + e) * sin(0.5 * x), sqrt(1.0 - e) * cos(0.5 * x));
                slope = 1.0 - e * cos(x);
            } else {
                f = 2.0 * atan(sqrt((e + 1.0) / (e - 1.0)) * tanh(0.5 * x));
                slope = e * cosh(x) - 1.0;
            }
            /* What the oracle's residual, rounded to eps times its largest term, leaves of the root and so of f. */
            double root_error = 4 * EPS * (x + M + e * (e < 1.0 ? sin(x) : sinh(x))) / slope;
            double df_dx = sqrt(fabs(1.0 - e * e)) / slope;
            assert_near(shoal_true_anomaly(e, M), f, df_dx * root_error + 8 * EPS * fabs(f));
            assert_near(shoal_true_anomaly(e, -M), -f, df_dx * root_error + 8 * EPS * fabs(f));
        }
}

/* Every finite input ends with an anomaly that solves the equation as well as its own rounding allows. */
static void kepler_equation_always_ends(void **state)
{
    (void)state;
    const double es[] = {0.0,         5e-324,  1e-300,    1e-16,    0.1,      0.5, 1 - 1e-3, 1 - 1e-8, 1 - 1e-14,
                         1 - EPS / 2, 1 + EPS, 1 + 1e-14, 1 + 1e-8, 1 + 1e-3, 2.0, 100.0,    1e5,      1e100};
    int checked = 0;
    for (int i = 0; i < SHOAL_COUNT(es); i++) {
        double e = es[i];
        assert_true(shoal_true_anomaly(e, 0.0) == 0.0);
        for (int exponent = -320; exponent <= 308; exponent++)
            for (int sign = -1; sign <= 1; sign += 2) {
                double M = sign * pow(10.0, exponent) * uniform(0.5, 1.0), f = shoal_true_anomaly(e, M);
                assert_true(isfinite(f) && fabs(f) <= PI);
                double reduced = e < 1.0 ? (double)remainderl(M, 2.0L * acosl(-1.0L)) : M;
                assert_true(f * reduced >= 0.0);
                double bottom = (1.0 - e) + 2.0 * e * cos(0.5 * f) * cos(0.5 * f); /* 1 + e cos f */
                double bottom_error = 4 * EPS * e * fabs(sin(f)) * fabs(f);
                if (!(bottom > 100.0 * bottom_error) || fabs(f) < 1e-290)
                    continue; /* so close to the asymptote that f no longer tells M; or f below what doubles resolve */
                double dM_df = pow(fabs(1.0 - e) * (1.0 + e), 1.5) / (bottom * bottom);
                double bound = 8 * EPS * fabs(reduced) + 2 * EPS * dM_df * fabs(f);
                if (!(turn(shoal_mean_anomaly(e, f), reduced) <= bound) &&
                    !(fabs(shoal_mean_anomaly(e, f) - reduced) <= bound))
                    fail_msg("e = %.17g, M = %.17g: f = %.17g has M = %.17g", e, reduced, f, shoal_mean_anomaly(e, f));
                checked++;
            }
    }
    assert_true(checked > 8000);
    /* hand-worked: a circle; the apocentre; e -> 1 at the pericentre, where M = (1 - e) E */
    assert_near(shoal_true_anomaly(0.0, 1.25), 1.25, EPS);
    assert_near(fabs(shoal_true_anomaly(0.7, PI)), PI, 4 * EPS);
    assert_near(shoal_mean_anomaly(0.5, PI / 2), PI / 3 - 0.5 * sin(PI / 3), 2 * EPS); /* cos E = e at f = 90 degrees */
    assert_near(shoal_true_anomaly(0.5, PI / 3 - 0.5 * sin(PI / 3)), PI / 2, 8 * EPS);
    assert_true(isnan(shoal_true_anomaly(1.0, 1.0)) && isnan(shoal_true_anomaly(-0.1, 1.0)));
    assert_true(isnan(shoal_true_anomaly(0.1, INFINITY)) && isnan(shoal_true_anomaly(NAN, 1.0)));
    assert_true(isnan(shoal_mean_anomaly(2.0, 2.5))); /* the asymptote lies at 120 degrees = 2.09 */
}

/* ---- one orbit --------------------------------------------------------------------------------------------------- */

static shoal_orbit random_orbit(double e)
{
    double size = log_uniform(1e-3, 1e3), reach = e < 1.0 ? PI : 0.95 * acos(-1.0 / e);
    return (shoal_orbit){.a = e < 1.0 ? size : -size,
                         .e = e,
                         .inc = uniform(0.0, PI),
                         .Omega = uniform(0.0, 2.0 * PI),
                         .omega = uniform(0.0, 2.0 * PI),
                         .f = uniform(-reach, reach)};
}

static const double round_trip_es[] = {1e-10,    1e-6,     1e-3,      0.05,     0.3,      0.6, 0.9, 0.99, 0.999,
                                       1 - 1e-5, 1 - 1e-9, 1 - 1e-12, 1 + 1e-9, 1 + 1e-4, 1.1, 2.0, 30.0, 1e4};

static void round_trip_within_conditioning(void **state)
{
    (void)state;
    const double c = 16 * EPS;
    for (int i = 0; i < SHOAL_COUNT(round_trip_es); i++)
        for (int sample = 0; sample < 500; sample++) {
            double e = round_trip_es[i], mu = log_uniform(1e-4, 1e4), s[6];
            shoal_orbit in = random_orbit(e), out;
            require(shoal_orbit_to_state(context, mu, &in, s));
            require(shoal_orbit_from_state(context, mu, s, &out));

            double r = length_of(s), v = length_of(s + 3);
            double p_over_r = (1.0 - e) + 2.0 * e * pow(cos(0.5 * in.f), 2),
                   h = sqrt(mu * fabs(in.a * (1.0 - e) * (1.0 + e)));
            assert_near(r * p_over_r / (h * h / mu), 1.0, c * (1.0 + e / p_over_r));
            double sin_g = fmin(1.0, h / (r * v)), tilt = sin(in.inc), shape = c * (1.0 + e) / e;
            double f_bound = shape + c * PI, pole = c / sin_g;
            assert_near(out.a / in.a, 1.0, c * (1.0 + fabs(in.a) / r));
            assert_near(out.e, e, c * (1.0 + e));
            assert_near(turn(out.f, in.f), 0.0, f_bound);
            assert_near(turn(out.inc, in.inc), 0.0, c * PI + pole);
            assert_near(turn(out.Omega, in.Omega), 0.0, c * PI + pole / tilt);
            assert_near(turn(out.omega, in.omega), 0.0, f_bound + c * PI + pole / tilt);
            /* the angle in the plane and the node together are sharp, however round the orbit */
            assert_near(turn(out.omega + out.f, in.omega + in.f), 0.0, 2 * c * PI + pole / tilt);
            if (e < 1.0) {
                assert_near(out.P / (2.0 * PI * in.a * sqrt(in.a / mu)), 1.0, 1.5 * c * (1.0 + in.a / r));
                double E_bound = c * (in.a / r + r * v / sqrt(mu * in.a) + 1.0) / e;
                assert_near(turn(out.M, shoal_mean_anomaly(e, in.f)), 0.0, c * PI + 2.0 * E_bound);
            } else {
                assert_true(isinf(out.P) && out.P > 0.0);
                assert_near(out.M, shoal_mean_anomaly(out.e, out.f), 1e-6 * (1.0 + fabs(out.M)) + 1e-6 / (e - 1.0));
            }
        }
}

/* The state that comes back from its own elements, for orbits whose elements hold it well. */
static void states_come_back(void **state)
{
    (void)state;
    const double es[] = {0.0, 1e-15, 1e-14, 1e-9, 1e-3, 0.2, 0.5, 0.8, 1.5, 4.0};
    for (int i = 0; i < SHOAL_COUNT(es); i++)
        for (int sample = 0; sample < 500; sample++) {
            double mu = log_uniform(1e-4, 1e4), s[6], back[6];
            shoal_orbit in = random_orbit(es[i]), out;
            in.inc = sample % 5 == 0 ? 0.0 : sample % 5 == 1 ? PI : sample % 5 == 2 ? 1e-13 : in.inc;
            require(shoal_orbit_to_state(context, mu, &in, s));
            require(shoal_orbit_from_state(context, mu, s, &out));
            require(shoal_orbit_to_state(context, mu, &out, back));
            for (int k = 0; k < 6; k++)
                assert_near(back[k], s[k],
                            2e-14 * (k < 3 ? length_of(s) : length_of(s + 3)) * (1.0 + fabs(out.a) / length_of(s)));
        }
}

/* An orbit is a solution of x'' = -mu x / r^3: differences over the mean anomaly, which runs uniformly, give the
 * velocity and the acceleration. */
static void orbits_obey_newton(void **state)
{
    (void)state;
    const double es[] = {0.0, 0.1, 0.5, 0.8, 1.2, 2.0};
    for (int i = 0; i < SHOAL_COUNT(es); i++)
        for (int sample = 0; sample < 100; sample++) {
            double e = es[i], mu = log_uniform(0.1, 10.0);
            shoal_orbit orbit = random_orbit(e);
            orbit.f = uniform(-1.5, 1.5);
            double n = sqrt(mu / fabs(orbit.a)) / fabs(orbit.a), step = 1e-3, M = shoal_mean_anomaly(e, orbit.f),
                   s[5][6];
            double dt = step * fabs(1.0 - e) / n; /* small against the passage of the pericentre */
            for (int j = 0; j < 5; j++) {
                shoal_orbit moved = orbit;
                moved.f = shoal_true_anomaly(e, M + (j - 2) * n * dt);
                require(shoal_orbit_to_state(context, mu, &moved, s[j]));
            }
            double r = length_of(s[2]), speed = length_of(s[2] + 3);
            for (int k = 0; k < 3; k++) {
                double velocity = (s[0][k] - 8.0 * s[1][k] + 8.0 * s[3][k] - s[4][k]) / (12.0 * dt);
                double acceleration = (s[0][3 + k] - 8.0 * s[1][3 + k] + 8.0 * s[3][3 + k] - s[4][3 + k]) / (12.0 * dt);
                double noise = 1e-15 * r / dt + 1e-15 * speed / dt;
                assert_near(velocity, s[2][3 + k], 1e-10 * speed + noise * 10);
                assert_near(acceleration, -mu * s[2][k] / (r * r * r), 1e-9 * mu / (r * r) + noise * 10);
            }
            assert_near(speed * speed, mu * (2.0 / r - 1.0 / orbit.a), 1e-13 * mu / r); /* vis viva */
        }
}

/* Earth: a year, 29.78 km/s, 30.29 km/s at the perihelion. */
static void known_orbit(void **state)
{
    (void)state;
    shoal_units km;
    require(shoal_units_init(context, "km", "Msun", "s", NAN, &km));
    double kms = shoal_units_factor(&km, "velocity"), s[6];
    shoal_orbit earth = {.a = 1.00000261, .e = 0.01671123}, out;
    require(shoal_orbit_to_state(context, 1.0 + 3.0404e-6, &earth, s));
    assert_near(s[0], 0.98329, 1e-5);
    assert_near(s[4] / kms, 30.29, 0.005);
    assert_true(s[1] == 0.0 && s[2] == 0.0 && s[3] == 0.0 && s[5] == 0.0);
    require(shoal_orbit_from_state(context, 1.0 + 3.0404e-6, s, &out));
    assert_near(out.P / km.time / 86400.0, 365.25636, 2e-3);
    assert_true(out.M == 0.0 && out.omega == 0.0 && out.Omega == 0.0 && out.inc == 0.0);

    /* Kepler's frame by hand: node on the y axis, pericentre 90 degrees on at inc = 90 degrees is the north pole */
    shoal_orbit polar = {.a = 2.0, .e = 0.5, .inc = PI / 2, .Omega = PI / 2, .omega = PI / 2, .f = 0.0};
    require(shoal_orbit_to_state(context, 1.0, &polar, s));
    assert_near(s[2], 1.0, 4 * EPS);
    assert_near(hypot(s[0], s[1]), 0.0, 4 * EPS);
    assert_near(s[4], -sqrt(1.5), 4 * EPS);

    /* a flyby: p = a (1 - e^2) = 3, at 90 degrees from the pericentre */
    shoal_orbit flyby = {.a = -1.0, .e = 2.0, .f = PI / 2};
    require(shoal_orbit_to_state(context, 1.0, &flyby, s));
    assert_near(s[1], 3.0, 16 * EPS);
    assert_near(s[3], -1.0 / sqrt(3.0), 4 * EPS);
    assert_near(s[4], 2.0 / sqrt(3.0), 4 * EPS);
}

static void conventions_of_degenerate_orbits(void **state)
{
    (void)state;
    shoal_orbit out;
    /* circle in the reference plane: f is the longitude */
    require(shoal_orbit_from_state(context, 1.0, (double[6]){0.0, 1.0, 0.0, -1.0, 0.0, 0.0}, &out));
    assert_true(out.e == 0.0 && out.inc == 0.0 && out.Omega == 0.0 && out.omega == 0.0);
    assert_near(out.f, PI / 2, 2 * EPS);
    assert_near(out.M, PI / 2, 2 * EPS);
    /* the same, backwards */
    require(shoal_orbit_from_state(context, 1.0, (double[6]){0.0, 1.0, 0.0, 1.0, 0.0, 0.0}, &out));
    assert_true(out.e == 0.0 && out.inc == PI && out.Omega == 0.0 && out.omega == 0.0);
    assert_near(out.f, -PI / 2, 2 * EPS);
    /* nearly a circle: f and M differ by 2 e, however badly both are known */
    double s[6];
    for (double e = 2e-15; e < 1e-6; e *= 3) {
        const shoal_orbit round = {.a = 1.0, .e = e, .inc = 1.0, .Omega = 1.0, .omega = 2.0, .f = 1.5};
        require(shoal_orbit_to_state(context, 1.0, &round, s));
        require(shoal_orbit_from_state(context, 1.0, s, &out));
        assert_near(turn(out.f, out.M), 0.0, 2.1 * out.e + 4 * EPS);
    }
    /* an ellipse in the plane: omega is the longitude of the pericentre */
    shoal_orbit flat = {.a = 1.0, .e = 0.3, .Omega = 1.0, .omega = 0.5, .f = 2.0};
    require(shoal_orbit_to_state(context, 1.0, &flat, s));
    require(shoal_orbit_from_state(context, 1.0, s, &out));
    assert_true(out.Omega == 0.0 && out.inc == 0.0);
    assert_near(out.omega, 1.5, 32 * EPS);
    /* retrograde in the plane: the angle runs backwards, so omega becomes omega - Omega */
    flat.inc = PI;
    require(shoal_orbit_to_state(context, 1.0, &flat, s));
    require(shoal_orbit_from_state(context, 1.0, s, &out));
    assert_true(out.Omega == 0.0 && out.inc == PI);
    assert_near(turn(out.omega, -0.5), 0.0, 32 * EPS);
    /* falling from rest: the apocentre of a needle */
    require(shoal_orbit_from_state(context, 1.0, (double[6]){0.0, 0.0, 2.0, 0.0, 0.0, 0.0}, &out));
    assert_true(out.e == 1.0 && out.a == 1.0);
    assert_near(fabs(out.M), PI, 2 * EPS);
    assert_near(out.inc, PI / 2, 2 * EPS);
    /* exactly the speed of escape */
    require(shoal_orbit_from_state(context, 2.0, (double[6]){1.0, 0.0, 0.0, 0.0, 2.0, 0.0}, &out));
    assert_true(out.e == 1.0 && isinf(out.a) && isinf(out.P));
    /* as near to it as numbers go: a and e agree on the side */
    for (int i = -3; i <= 3; i++) {
        double v = 2.0 + 2 * i * EPS;
        require(shoal_orbit_from_state(context, 2.0, (double[6]){1.0, 0.0, 0.0, 0.0, v, 0.0}, &out));
        assert_true(i < 0 ? out.e < 1.0 && out.a > 0.0 : i > 0 ? out.e > 1.0 && out.a < 0.0 : out.e == 1.0);
    }
}

static void refused_orbits(void **state)
{
    (void)state;
    double s[6] = {7, 7, 7, 7, 7, 7};
    const double untouched[6] = {7, 7, 7, 7, 7, 7};
    const struct {
        shoal_orbit orbit;
        double mu;
        const char *word;
    } cases[] = {{{.a = 1.0, .e = -0.1}, 1.0, "-0.1"},     {{.a = 1.0, .e = 1.0}, 1.0, "parabola"},
                 {{.a = -1.0, .e = 0.5}, 1.0, "positive"}, {{.a = 1.0, .e = 1.5}, 1.0, "negative"},
                 {{.a = 0.0, .e = 0.0}, 1.0, "a = 0"},     {{.a = -1.0, .e = 2.0, .f = 2.2}, 1.0, "asymptote"},
                 {{.a = 1.0, .e = 0.0}, 0.0, "mass"},      {{.a = 1.0, .e = 0.0}, -1.0, "mass"},
                 {{.a = NAN, .e = 0.0}, 1.0, "a = "},      {{.a = 1.0, .e = NAN}, 1.0, "e = "},
                 {{.a = 1.0, .Omega = NAN}, 1.0, "Omega"}, {{.a = 1.0, .f = INFINITY}, 1.0, "f = "}};
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        assert_int_equal(shoal_orbit_to_state(context, cases[i].mu, &cases[i].orbit, s), SHOAL_E_INPUT);
        if (!strstr(shoal_context_message(context), cases[i].word))
            fail_msg("case %d: no \"%s\" in \"%s\"", i, cases[i].word, shoal_context_message(context));
        assert_memory_equal(s, untouched, sizeof s);
    }
    shoal_orbit out;
    assert_int_equal(shoal_orbit_from_state(context, 0.0, untouched, &out), SHOAL_E_INPUT);
    assert_int_equal(shoal_orbit_from_state(context, 1.0, (double[6]){0, 0, 0, 1, 0, 0}, &out), SHOAL_E_INPUT);
    assert_int_equal(shoal_orbit_from_state(context, 1.0, (double[6]){1, 0, NAN, 1, 0, 0}, &out), SHOAL_E_INPUT);
}

/* ---- systems ----------------------------------------------------------------------------------------------------- */

static const shoal_frame frames[] = {SHOAL_JACOBI, SHOAL_ASTROCENTRIC, SHOAL_BARYCENTRIC};

static void random_system(int n, shoal_orbit *orbits, shoal_body *bodies)
{
    for (int i = 0; i < n; i++) {
        orbits[i] = random_orbit(uniform(0.01, 0.7));
        orbits[i].a = pow(1.7, i);
        bodies[i] = (shoal_body){.m = i == 0 ? uniform(0.5, 2.0) : log_uniform(1e-9, 0.1), .r = 0.01 * i};
    }
}

/* What is left on the stack is no number. */
static double scribble(void)
{
    volatile double room[30000];
    for (int i = 0; i < 30000; i++)
        room[i] = NAN;
    return room[0];
}

static void systems_come_back(void **state)
{
    (void)state;
    enum { N = 6 };
    for (int k = 0; k < SHOAL_COUNT(frames); k++)
        for (int sample = 0; sample < 300; sample++) {
            shoal_orbit in[N], out[N];
            shoal_body bodies[N];
            random_system(N, in, bodies);
            if (sample % 3 == 0)
                bodies[sample % (N - 1) + 1].m = 0.0; /* a test particle */
            require(shoal_bodies_from_orbits(context, frames[k], N, in, bodies));

            /* the barycentre rests at the origin */
            double moment[6] = {0.0};
            for (int i = 0; i < N; i++) {
                const double at[6] = {bodies[i].x, bodies[i].y, bodies[i].z, bodies[i].vx, bodies[i].vy, bodies[i].vz};
                for (int j = 0; j < 6; j++)
                    moment[j] += bodies[i].m * at[j];
                assert_true(bodies[i].r == 0.01 * i);
            }
            for (int j = 0; j < 6; j++)
                assert_near(moment[j], 0.0, 20 * EPS);

            /* any inertial origin: a shift by a few units costs a few bits */
            for (int i = 0; i < N; i++) {
                bodies[i].x += 3.0;
                bodies[i].vz -= 0.5;
            }
            assert_true(isnan(scribble()));
            require(shoal_orbits_from_bodies(context, frames[k], N, bodies, out));
            assert_true(out[0].a == 0.0 && out[0].P == 0.0);
            for (int i = 1; i < N; i++) {
                double bound = 2e-13 / (in[i].e * sin(in[i].inc));
                assert_near(out[i].a / in[i].a, 1.0, 2e-13);
                assert_near(out[i].e, in[i].e, 2e-13);
                assert_near(out[i].inc, in[i].inc, 2e-13);
                assert_near(turn(out[i].Omega, in[i].Omega), 0.0, bound);
                assert_near(turn(out[i].omega, in[i].omega), 0.0, bound);
                assert_near(turn(out[i].f, in[i].f), 0.0, bound);
            }
        }
}

/* What each frame means, written out for three bodies. */
static void frames_mean_what_they_say(void **state)
{
    (void)state;
    enum { N = 3 };
    shoal_orbit orbits[N];
    shoal_body bodies[N];
    random_system(N, orbits, bodies);
    bodies[1].m = 0.2;
    bodies[2].m = 0.1;
    double m0 = bodies[0].m, m1 = 0.2, m2 = 0.1;
    const struct {
        shoal_frame frame;
        double mu;
        double weight[N];
    } cases[] = {{SHOAL_JACOBI, m0 + m1 + m2, {m0 / (m0 + m1), m1 / (m0 + m1), 0.0}},
                 {SHOAL_ASTROCENTRIC, m0 + m2, {1.0, 0.0, 0.0}},
                 {SHOAL_BARYCENTRIC, m0 + m1 + m2, {0.0, 0.0, 0.0}}};
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        require(shoal_bodies_from_orbits(context, cases[k].frame, N, orbits, bodies));
        double s[6], x = bodies[2].x, vy = bodies[2].vy;
        require(shoal_orbit_to_state(context, cases[k].mu, &orbits[2], s));
        for (int i = 0; i < N; i++) {
            x -= cases[k].weight[i] * bodies[i].x;
            vy -= cases[k].weight[i] * bodies[i].vy;
        }
        assert_near(x, s[0], 20 * EPS);
        assert_near(vy, s[4], 20 * EPS);
        if (cases[k].frame != SHOAL_BARYCENTRIC) { /* body 1 knows nothing of body 2 */
            require(shoal_orbit_to_state(context, m0 + m1, &orbits[1], s));
            assert_near(bodies[1].y - bodies[0].y, s[1], 20 * EPS);
            assert_near(bodies[1].vz - bodies[0].vz, s[5], 20 * EPS);
        }
    }
}

/* Astrocentric and barycentric elements do not depend on the order of the planets; Jacobi elements do. */
static void order_of_planets(void **state)
{
    (void)state;
    enum { N = 4 };
    const int order[N] = {0, 3, 1, 2};
    shoal_orbit orbits[N], mixed[N];
    shoal_body bodies[N], mixed_bodies[N];
    random_system(N, orbits, bodies);
    for (int k = 0; k < SHOAL_COUNT(frames); k++) {
        for (int i = 0; i < N; i++) {
            mixed[i] = orbits[order[i]];
            mixed_bodies[i] = bodies[order[i]];
        }
        require(shoal_bodies_from_orbits(context, frames[k], N, orbits, bodies));
        require(shoal_bodies_from_orbits(context, frames[k], N, mixed, mixed_bodies));
        double difference = 0.0;
        for (int i = 0; i < N; i++)
            difference = fmax(difference, fabs(mixed_bodies[i].x - bodies[order[i]].x) / 5.0);
        assert_true(frames[k] == SHOAL_JACOBI ? difference > 1e-9 : difference < 8 * EPS);
    }
}

static void refused_systems(void **state)
{
    (void)state;
    shoal_orbit orbits[3] = {{0}, {.a = 1.0, .e = 0.1}, {.a = 2.0, .e = 0.1}}, out[3];
    const shoal_body good[3] = {{.m = 1.0}, {.m = 0.1, .x = 1.0, .vy = 1.0}, {.m = 0.0, .y = 2.0, .vx = 0.7}};
    shoal_body bodies[3];
    for (int k = 0; k < SHOAL_COUNT(frames); k++) {
        shoal_frame frame = frames[k];
#define REFUSE(change, word)                                                                          \
    do {                                                                                              \
        memcpy(bodies, good, sizeof bodies);                                                          \
        change;                                                                                       \
        shoal_body before[3];                                                                         \
        memcpy(before, bodies, sizeof before);                                                        \
        assert_int_equal(shoal_bodies_from_orbits(context, frame, 3, orbits, bodies), SHOAL_E_INPUT); \
        assert_non_null(strstr(shoal_context_message(context), word));                                \
        assert_memory_equal(before, bodies, sizeof before);                                           \
        assert_int_equal(shoal_orbits_from_bodies(context, frame, 3, bodies, out), SHOAL_E_INPUT);    \
        assert_non_null(strstr(shoal_context_message(context), word));                                \
    } while (0)
        REFUSE(bodies[1].m = -1.0, "body 1: m = -1");
        REFUSE(bodies[2].m = NAN, "body 2: m = ");
        REFUSE(bodies[0].m = bodies[1].m = 0.0, "total mass");
        REFUSE(bodies[0].m = 0.0, frame == SHOAL_ASTROCENTRIC ? "nothing holds body 2" : "body 0 has no mass");
#undef REFUSE
        memcpy(bodies, good, sizeof bodies);
        orbits[2].e = -1.0;
        assert_int_equal(shoal_bodies_from_orbits(context, frame, 3, orbits, bodies), SHOAL_E_INPUT);
        assert_non_null(strstr(shoal_context_message(context), "body 2: e = -1"));
        assert_memory_equal(bodies, good, sizeof bodies);
        orbits[2].e = 0.1;
        assert_int_equal(shoal_bodies_from_orbits(context, frame, 0, orbits, bodies), SHOAL_E_USAGE);
    }
    /* a body on top of the star */
    memcpy(bodies, good, sizeof bodies);
    bodies[1].x = 0.0;
    assert_int_equal(shoal_orbits_from_bodies(context, SHOAL_ASTROCENTRIC, 3, bodies, out), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "body 1: the body is at the centre"));
    /* massless star, massive planet: astrocentric elements are fine */
    memcpy(bodies, good, sizeof bodies);
    bodies[0].m = 0.0;
    bodies[2].m = 0.1;
    require(shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, 3, orbits, bodies));
    /* the star alone */
    require(shoal_bodies_from_orbits(context, SHOAL_JACOBI, 1, orbits, (shoal_body[1]){{.m = 1.0, .x = 5.0}}));
}

int main(void)
{
    gsl_set_error_handler_off();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kepler_equation_agrees_with_gsl),
        cmocka_unit_test(kepler_equation_always_ends),
        cmocka_unit_test(round_trip_within_conditioning),
        cmocka_unit_test(states_come_back),
        cmocka_unit_test(orbits_obey_newton),
        cmocka_unit_test(known_orbit),
        cmocka_unit_test(conventions_of_degenerate_orbits),
        cmocka_unit_test(refused_orbits),
        cmocka_unit_test(systems_come_back),
        cmocka_unit_test(frames_mean_what_they_say),
        cmocka_unit_test(order_of_planets),
        cmocka_unit_test(refused_systems),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
