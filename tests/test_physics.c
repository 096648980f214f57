/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_physics.c: what long runs of known systems are known to do: the secular frequencies of the giant planets,
 * Pluto's resonance, Kozai's cycles.
 */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "systems.h"

#include "outer_planets.h"

#define YEAR   (365.25 * 0.01720209895) /* in inner units */
#define ARCSEC (PI / 648000)

/* The Sun and the first n - 1 of the outer planets. */
static void outer(int n, shoal_body *bodies)
{
    double from[6][7];
    outer_planets_system(0, n, from);
    for (int i = 0; i < n; i++)
        bodies[i] = (shoal_body){.m = from[i][0],
                                 .x = from[i][1],
                                 .y = from[i][2],
                                 .z = from[i][3],
                                 .vx = from[i][4],
                                 .vy = from[i][5],
                                 .vz = from[i][6]};
}

/* |sum of z(t) exp(-i f t)| over the samples, Hann's window; f in radians a sample. */
static double line(int n, const double complex *z, double f)
{
    double complex sum = 0, turn = 1;
    const double complex step = cexp(-I * f);
    for (int i = 0; i < n; i++, turn *= step)
        sum += (1 - cos(TWO_PI * (i + 0.5) / n)) * z[i] * turn;
    return cabs(sum) / n;
}

/* The frequency of the strongest line within +-most, in radians a sample: the highest point of a grid, then thirds
 * of its surroundings. */
static double strongest(int n, const double complex *z, double most)
{
    const double grid = PI / n;
    double best = 0, height = -1;
    for (double f = -most; f <= most; f += grid) {
        const double h = line(n, z, f);
        if (h > height) {
            height = h;
            best = f;
        }
    }
    double low = best - grid, high = best + grid;
    while (high - low > 1e-4 * grid) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (line(n, z, a) < line(n, z, b))
            low = a;
        else
            high = b;
    }
    return (low + high) / 2;
}

/* Laskar 1988, A&A 198, 341: g5 = 4.257, g6 = 28.245, s6 = -26.348 arcsec a year. Over ten million years, in steps
 * of 0.6 years. */
static void giants_have_their_secular_frequencies(void **state)
{
    enum { N = 5, SAMPLES = 4000 };
    const double span = 1e7, every = span / SAMPLES;
    static double complex jupiter[SAMPLES], saturn[SAMPLES], node[SAMPLES];
    const struct {
        const char *name;
        const double complex *z;
        double published;
    } lines[] = {{"g5", jupiter, 4.257}, {"g6", saturn, 28.245}, {"s6", node, -26.348}};
    shoal_context *context = context_of(state);
    shoal_body bodies[N];
    shoal_orbit orbits[N];
    outer(N, bodies);
    const shoal_options options = {.propagator = "mvs", .dt = 0.6 * YEAR, .t_end = span * YEAR, .threads = 1};
    struct motion run = motion_begin(context, 1, N, NULL, NULL, &options, bodies);
    for (int i = 0; i < SAMPLES; i++) {
        assert_ok(context, shoal_plan_integrate(run.plan, (i + 1) * every * YEAR));
        shoal_ensemble_get_bodies(run.ensemble, 0, bodies);
        assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_JACOBI, N, bodies, orbits));
        jupiter[i] = orbits[1].e * cexp(I * (orbits[1].Omega + orbits[1].omega));
        saturn[i] = orbits[2].e * cexp(I * (orbits[2].Omega + orbits[2].omega));
        node[i] = sin(orbits[2].inc / 2) * cexp(I * orbits[2].Omega);
    }
    print_message("after %.0e years: |dE/E| %.1e\n", span, fabs(motion_energy_error(&run, 0)));
    motion_end(&run);
    for (int k = 0; k < SHOAL_COUNT(lines); k++) {
        const double f = strongest(SAMPLES, lines[k].z, 60 * ARCSEC * every) / (ARCSEC * every);
        print_message("%s %.4f, published %.3f arcsec a year\n", lines[k].name, f, lines[k].published);
        assert_below(fabs(f / lines[k].published - 1), 0.01, "%s", lines[k].name);
    }
}

/* Pluto's 3 lambda_P - 2 lambda_N - varpi_P librates about 180 degrees in some 20000 years (Cohen & Hubbard 1965, AJ
 * 70, 10). */
static void pluto_librates(void **state)
{
    enum { N = 6 };
    const double span = 2e5, every = 100;
    shoal_context *context = context_of(state);
    shoal_body bodies[N];
    shoal_orbit orbits[N];
    outer(N, bodies);
    const shoal_options options = {.propagator = "mvs", .dt = 0.5 * YEAR, .t_end = span * YEAR, .threads = 1};
    struct motion run = motion_begin(context, 1, N, NULL, NULL, &options, bodies);
    double least = INFINITY, most = -INFINITY, sum = 0, before = 0, first = 0, last = 0;
    int rises = 0, n = 0;
    for (double t = every; t <= span; t += every, n++) {
        assert_ok(context, shoal_plan_integrate(run.plan, t * YEAR));
        shoal_ensemble_get_bodies(run.ensemble, 0, bodies);
        assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_JACOBI, N, bodies, orbits));
        const shoal_orbit *neptune = &orbits[4], *pluto = &orbits[5];
        const double pericentre = pluto->Omega + pluto->omega;
        const double angle = 3 * (pericentre + pluto->M) - 2 * (neptune->Omega + neptune->omega + neptune->M) -
                             pericentre;
        const double off = remainder(angle - PI, TWO_PI); /* from 180 degrees */
        least = fmin(least, off);
        most = fmax(most, off);
        sum += off;
        if (n && before < 0 && off >= 0 && t - last > 5000) { /* short terms cross zero more than once */
            rises++;
            first = rises == 1 ? t : first;
            last = t;
        }
        before = off;
    }
    motion_end(&run);
    const double degree = PI / 180, period = (last - first) / (rises - 1);
    print_message("Pluto: from %.1f to %.1f degrees about 180, mean %.1f, period %.0f years\n", least / degree,
                  most / degree, sum / n / degree, period);
    assert_below(fmax(most, -least), 100 * degree, "Pluto circulates");
    assert_true(most > 60 * degree && least < -60 * degree);
    assert_below(fabs(sum / n), 5 * degree, "not about 180 degrees");
    assert_below(fabs(period / 19900 - 1), 0.03, "period");
}

/*
 * A planet without mass, on a circle inclined by 65 degrees to that of a distant companion, becomes as eccentric as
 * sqrt(1 - 5/3 cos^2 65) = 0.838 (Kozai 1962, AJ 67, 591: the quadrupole; the companion's circle has no octupole). What
 * the mean over the companion's orbit leaves out is of the order of (a / a')^(3/2) m' / (m + m')^(1/2) = 3e-3.
 */
static void kozai_cycles_reach_their_height(void **state)
{
    enum { N = 3, MANY = 8 };
    static const char *const names[] = {"gauss_radau", "mvs_jacobi"};
    const double published = sqrt(1 - 5.0 / 3 * pow(cos(65 * PI / 180), 2)), span = 1.5e4;
    shoal_context *context = context_of(state);
    for (int p = 0; p < SHOAL_COUNT(names); p++) {
        shoal_body bodies[MANY * N] = {{0}};
        double highest[MANY] = {0}, mean = 0;
        for (int s = 0; s < MANY; s++) {
            const shoal_orbit orbits[N] = {
                {0}, {.a = 1, .e = 0.01, .inc = 65 * PI / 180, .omega = 0.8 * s, .f = s}, {.a = 10, .f = 2 * s}};
            bodies[s * N].m = 1;
            bodies[s * N + 2].m = 0.1;
            assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, N, orbits, bodies + s * N));
        }
        const shoal_options options = {
            .propagator = names[p], .dt = TWO_PI / 100, .t_end = span * TWO_PI, .threads = 1};
        struct motion run = motion_begin(context, MANY, N, NULL, NULL, &options, bodies);
        for (double t = 25; t <= span; t += 25) {
            assert_ok(context, shoal_plan_integrate(run.plan, t * TWO_PI));
            for (int s = 0; s < MANY; s++) {
                shoal_orbit orbits[N];
                shoal_ensemble_get_bodies(run.ensemble, s, bodies + s * N);
                assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_ASTROCENTRIC, N, bodies + s * N, orbits));
                highest[s] = fmax(highest[s], orbits[1].e);
            }
        }
        motion_end(&run);
        for (int s = 0; s < MANY; s++)
            mean += highest[s] / MANY;
        print_message("%-12s largest e of a planet at 65 degrees: %.4f (mean of %d), Kozai's %.4f\n", names[p], mean,
                      MANY, published);
        assert_below(fabs(mean - published), 0.01, "%s", names[p]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(giants_have_their_secular_frequencies),
        cmocka_unit_test(pluto_librates),
        cmocka_unit_test(kozai_cycles_reach_their_height),
    };
    return cmocka_run_group_tests_name("physics", tests, setup, teardown);
}
