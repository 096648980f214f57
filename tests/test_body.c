/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_body.c: the numbers that describe a body, in the terms of observers, hold of the bodies that are made: velocity
 * semi-amplitude, impact parameter, density, mass ratio, eccentricity vectors, a stated epoch. Keys that contradict
 * each other are refused with both names.
 */
#define _GNU_SOURCE 1
#include <math.h>

#include "core/study/study.h"
#include "testing.h"

enum { MOST_TEXT = 2048 };

static shoal_study *study_of(shoal_context *context, const char *bodies, const char *sweep)
{
    char text[MOST_TEXT];
    shoal_study *study = NULL;
    snprintf(text, sizeof text,
             "units = { length = \"AU\"; mass = \"Msun\"; time = \"d\"; };\nangles = \"degrees\";\n"
             "system = { %s };\n%s\nintegrator = { dt = 0.1; }; run = { t_end = 1.0; engine = \"cpu\"; };\n",
             bodies, sweep);
    assert_ok(context, shoal_study_open(context, "body.cfg", text, 0, NULL, NULL, &study));
    return study;
}

static void bodies_of(shoal_context *context, const char *text, shoal_body *bodies)
{
    shoal_study *study = study_of(context, text, "");
    shoal_ensemble_get_bodies(study->ensemble, 0, bodies);
    shoal_study_destroy(&study);
}

static void assert_near(double value, double right, double relative, const char *what)
{
    if (!(fabs(value - right) <= relative * fabs(right)))
        fail_msg("%s: %.17g, not %.17g", what, value, right);
}

/* An AU in the unit of time, sqrt(AU^3 / GM of the Sun). */
static double metres_per_second(void)
{
    return sqrt(1.3271244e20 / 149597870700.0);
}

/* The velocity along the line of sight of what b (and c) orbit differs by 2 K between f = -omega and f = pi - omega. */
static void a_velocity_is_that_of_what_is_orbited(void **state)
{
    static const struct {
        const char *size, *frame;
        double K;
    } cases[] = {{"P = 4332.59; e = 0.0489; inc = 90.0;", "jacobi", 12.5},
                 {"a = 5.2; e = 0.3; inc = 70.0;", "jacobi", 12.5},
                 {"P = 30.0; e = 0.6; cosi = -0.3;", "astrocentric", 2000.0},
                 {"a = 0.3; e = 0.1; ix = 0.7; iy = 0.9;", "astrocentric", 30000.0},
                 {"P = 3.0; e = 0.2; inc = 50.0;", "jacobi", 60000.0},
                 {"P = 3.0; e = 0.2; b = 0.3;", "jacobi", 90000.0},
                 {"a = 0.05; e = 0.2; b = 0.7;", "jacobi", 20.0},
                 {"P = 10.0; e = 0.0; inc = 90.0;", "jacobi", 0.0}};
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[1024];
        shoal_body bodies[2];
        snprintf(text, sizeof text,
                 "elements = \"%s\"; bodies = ( { name = \"s\"; m = 1.0; r = 0.005; }, { name = \"b\"; %s K = %.1f; "
                 "omega = 40.0; } );",
                 cases[i].frame, cases[i].size, cases[i].K);
        shoal_study *study = study_of(context, text,
                                      "sweep = ( { body = \"b\"; parameter = \"f\"; values = [-40.0, 140.0]; } );");
        double vz[2];
        for (long s = 0; s < 2; s++) {
            shoal_ensemble_get_bodies(study->ensemble, s, bodies);
            vz[s] = -bodies[0].vz * metres_per_second();
        }
        if (!(fabs((vz[0] - vz[1]) / 2 - cases[i].K) <= 1e-8 * cases[i].K))
            fail_msg("%s: K = %.12g m/s, not %g", cases[i].size, (vz[0] - vz[1]) / 2, cases[i].K);
        if (i == 0)
            assert_true(fabs(bodies[1].m * 1047.57 - 1) < 0.004); /* Jupiter */
        shoal_study_destroy(&study);
    }
}

/* The outer of two planets moves star and inner planet together, with Jacobi elements. */
static void an_outer_planet_moves_what_is_inside(void **state)
{
    shoal_context *context = context_of(state);
    shoal_study *study = study_of(
        context,
        "bodies = ( { name = \"s\"; m = 0.7; }, { name = \"b\"; K = 500.0; P = 10.0; inc = 80.0; M = 20.0; },\n"
        "{ name = \"c\"; period_ratio = 7.0; K = 300.0; e = 0.2; omega = 10.0; inc = 60.0; } );",
        "sweep = ( { body = \"c\"; parameter = \"f\"; values = [-10.0, 170.0]; } );");
    double vz[2];
    for (long s = 0; s < 2; s++) {
        shoal_body of[3];
        shoal_ensemble_get_bodies(study->ensemble, s, of);
        vz[s] = -(of[0].m * of[0].vz + of[1].m * of[1].vz) / (of[0].m + of[1].m) * metres_per_second();
    }
    assert_near((vz[0] - vz[1]) / 2, 300, 1e-8, "K of c");
    shoal_study_destroy(&study);
}

/* At f = pi/2 - omega a planet is b radii of the star from its centre, in front of it. */
static void an_impact_parameter_is_that_of_the_transit(void **state)
{
    static const char *const cases[] = {
        "m = 1e-3; P = 3.0; e = 0.4; omega = 70.0; b = 0.6; f = 20.0;",
        "m = 1e-3; a = 0.04; e_cos = 0.1; e_sin = -0.2; T0 = 0.0; b = -0.6; Omega = 200.0;",
        "msini = 0.2; P = 2.0; h = 0.2; k = 0.1; Omega = 30.0; T0 = 0.0; b = 0.6;",
    };
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(cases); i++)
        for (int by_density = 0; by_density < 2; by_density++) {
            char text[512];
            shoal_body of[2];
            snprintf(text, sizeof text, "bodies = ( { name = \"s\"; %s m = 0.8; }, { name = \"b\"; %s } );",
                     by_density ? "density = 3.0;" : "r = 0.004;", cases[i]);
            bodies_of(context, text, of);
            assert_near(hypot(of[1].x - of[0].x, of[1].y - of[0].y) / of[0].r, 0.6, 1e-10, cases[i]);
            assert_true(of[1].z > of[0].z);
            shoal_orbit orbit[2];
            assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_JACOBI, 2, of, orbit));
            assert_true((cos(orbit[1].inc) < 0) == (i == 1));
            if (i == 2)
                assert_near(of[1].m * sin(orbit[1].inc), 0.2, 1e-12, "msini");
        }
}

static void masses_and_radii_are_as_stated(void **state)
{
    shoal_context *context = context_of(state);
    shoal_body of[3];
    /* the Sun: 1.4098 g/cm^3 */
    bodies_of(context,
              "bodies = ( { name = \"s\"; density = 1.4098; r = 0.0046504673; }, { name = \"b\"; log10_m = -3.2; "
              "P = 9.0; density = 2.0; }, { name = \"c\"; mass_ratio = 1e-4; r = 1e-4; P = 90.0; } );",
              of);
    assert_near(of[0].m, 1, 1e-4, "mass of the Sun");
    assert_near(of[1].m, pow(10, -3.2), 1e-14, "log10_m");
    assert_near(of[2].m, 1e-4 * of[0].m, 1e-14, "mass_ratio");
    /* r^3 as m / density */
    assert_near(of[1].r, of[0].r * cbrt(of[1].m / of[0].m * 1.4098 / 2), 1e-12, "radius");
    assert_near(of[2].r, 1e-4, 1e-15, "radius");
}

/* Two ways to say one body. */
static void what_is_said_in_two_ways_is_the_same(void **state)
{
    static const char *const pairs[][2] = {
        {"e_cos = 0.1; e_sin = -0.2; Omega = 20.0; inc = 30.0;",
         "e = 0.22360679774997896; omega = -63.43494882292201; Omega = 20.0; inc = 30.0;"},
        {"sqrt_e_cos = -0.3; sqrt_e_sin = 0.4; inc = 140.0; l = 10.0;",
         "e = 0.25; omega = 126.86989764584402; inc = 140.0; l = 10.0;"},
        {"sqrt_e_cos = 0.0; sqrt_e_sin = 0.0;", "e = 0.0;"},
        {"cosi = -0.5; pomega = 40.0; e = 0.1;", "inc = 120.0; pomega = 40.0; e = 0.1;"},
        {"M = 10.0; epoch = -12.5; e = 0.3;", "M = 100.0; e = 0.3;"},
        {"l = 10.0; epoch = -12.5; e = 0.3; inc = 100.0; omega = 5.0;",
         "l = -80.0; e = 0.3; inc = 100.0; omega = 5.0;"},
        {"f = 0.0; epoch = 10.0; e = 0.3;", "T = 10.0; e = 0.3;"},
        {"theta = 33.0; epoch = 60.0; e = 0.3; omega = 33.0;", "T = 10.0; e = 0.3; omega = 33.0;"},
        {"E = 0.0; epoch = -40.0; e = 0.3;", "T = 10.0; e = 0.3;"},
    };
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(pairs); i++) {
        shoal_body of[2][2];
        for (int k = 0; k < 2; k++) {
            char text[512];
            snprintf(text, sizeof text,
                     "elements = \"jacobi\"; bodies = ( { name = \"s\"; m = 1.0; }, { name = \"b\"; m = 0.001; "
                     "P = 50.0; %s } );",
                     pairs[i][k]);
            bodies_of(context, text, of[k]);
        }
        const double *one = &of[0][1].x, *other = &of[1][1].x;
        for (int c = 0; c < 6; c++)
            if (!(fabs(one[c] - other[c]) < 1e-12))
                fail_msg("%s: component %d: %.15g, not %.15g", pairs[i][0], c, one[c], other[c]);
    }
}

/* A number of one body follows an axis of the grid over another's. */
static void what_is_tied_follows_a_sweep(void **state)
{
    shoal_context *context = context_of(state);
    shoal_study *study = study_of(
        context,
        "bodies = ( { name = \"s\"; m = 1.0; }, { name = \"b\"; m = 1e-3; P = 9.0; }, { name = \"c\"; m = 0.0; e = "
        "0.1; } );",
        "sweep = ( { body = \"b\"; parameter = \"e\"; from = 0.0; to = 0.2; count = 3; } );\n"
        "sample = { tied = ( { body = \"c\"; parameter = \"P\"; to = \"b.e\"; ratio = 100.0; add = 20.0; } ); };");
    assert_int_equal(study->ensemble->n_systems, 3);
    for (long s = 0; s < 3; s++) {
        shoal_body of[3];
        shoal_orbit orbit[3];
        shoal_ensemble_get_bodies(study->ensemble, s, of);
        assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_JACOBI, 3, of, orbit));
        assert_near(orbit[2].P, (20 + 10.0 * (double)s) * shoal_units_factor(&study->units, "time"), 1e-12, "P of c");
    }
    shoal_study_destroy(&study);
}

static void contradictions_are_refused(void **state)
{
    static const struct {
        const char *star, *body, *words;
    } cases[] = {
        {"m = 1.0;", "m = 1.0; K = 3.0; P = 2.0; inc = 90.0;",
         "only one of m, msini, K, mass_ratio, log10_m; given are m, K"},
        {"m = 1.0;", "K = 3.0; P = 2.0;", "expected inc (or ix, iy, cosi, b) with K"},
        {"m = 1.0; r = 1.0;", "m = 0.0; P = 2.0; inc = 9.0; b = 0.0;", "only one of inc, cosi, b; given are inc, b"},
        {"m = 1.0;", "m = 0.0; P = 2.0; b = 0.1;", "expected r or density of the first body with b"},
        {"m = 1.0;", "m = 0.0; P = 2.0; cosi = 0.1; ix = 0.1; iy = 0.0;", "either ix, iy or cosi"},
        {"m = 1.0;", "m = 0.0; P = 2.0; cosi = 1.1;", "expected a number from -1 to 1"},
        {"m = 1.0;", "m = 0.0; P = 2.0; e_cos = 0.1;", "expected e_cos, e_sin together; there is no e_sin"},
        {"m = 1.0;", "m = 0.0; P = 2.0; e_cos = 0.1; e_sin = 0.1; sqrt_e_cos = 0.1; sqrt_e_sin = 0.1;",
         "either e_cos, e_sin or sqrt_e_cos, sqrt_e_sin"},
        {"m = 1.0;", "m = 0.0; P = 2.0; h = 0.1; k = 0.1; e_cos = 0.1; e_sin = 0.1;", "either h, k or e_cos, e_sin"},
        {"m = 1.0;", "m = 0.0; P = 2.0; sqrt_e_cos = 0.1; sqrt_e_sin = 0.1; omega = 3.0;",
         "either sqrt_e_cos, sqrt_e_sin or omega"},
        {"m = 1.0;", "m = 0.0; P = 2.0; T0 = 0.1; epoch = 3.0;", "either epoch or T0"},
        {"m = 1.0; r = 1.0; density = 1.0;", "m = 0.0; P = 2.0;", "only two of density, r, m"},
        {"density = 1.0;", "m = 0.0; P = 2.0;", "a mass: it must be given"},
        {"mass_ratio = 1.0;", "m = 0.0; P = 2.0;", "no mass_ratio for the first body"},
        {"K = 1.0;", "m = 0.0; P = 2.0;", "no elements (K) for the first body"},
        {"m = 1.0; r = 0.1;", "m = 0.0; P = 2.0; b = 60.0;", "so large a b"},
        {"m = 1.0;", "K = 1.0; P = 2.0; inc = 30.0; e = 1.5;", "e >= 1 with K"},
        {"m = 1.0;", "K = 1.0; P = 2.0; inc = 0.0;", "an inclination of 0 with msini or K"},
        {"m = 1.0;", "m = 0.0; P = 2.0; }, { name = \"c\"; K = 1.0; inc = 30.0; hill_spacing = 3.0;",
         "either K or hill_spacing"},
    };
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(cases); i++)
        for (int barycentric = 0; barycentric < 2; barycentric++) {
            char text[MOST_TEXT];
            const char *words = cases[i].words, *body = cases[i].body;
            shoal_study *study = NULL;
            if (barycentric && i > 0)
                break;
            if (barycentric) {
                body = "K = 3.0; P = 2.0; inc = 90.0;";
                words = "no K with barycentric elements";
            }
            snprintf(text, sizeof text,
                     "angles = \"degrees\"; system = { elements = \"%s\"; bodies = ( { name = \"s\"; %s }, { name = "
                     "\"b\"; %s } ); }; integrator = { dt = 0.1; }; run = { t_end = 1.0; };",
                     barycentric ? "barycentric" : "jacobi", cases[i].star, body);
            assert_int_equal(shoal_study_open(context, "body.cfg", text, 0, NULL, NULL, &study), SHOAL_E_INPUT);
            if (!strstr(shoal_context_message(context), words))
                fail_msg("'%s' is not in: %s", words, shoal_context_message(context));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_velocity_is_that_of_what_is_orbited),
        cmocka_unit_test(an_outer_planet_moves_what_is_inside),
        cmocka_unit_test(an_impact_parameter_is_that_of_the_transit),
        cmocka_unit_test(masses_and_radii_are_as_stated),
        cmocka_unit_test(what_is_said_in_two_ways_is_the_same),
        cmocka_unit_test(what_is_tied_follows_a_sweep),
        cmocka_unit_test(contradictions_are_refused),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, setup, teardown);
}
