/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_big_models.c: initial conditions of one big system against closed forms: radii and speeds by the
 * Kolmogorov-Smirnov distance, energies by direct sums, and the same bodies for the same seed.
 */
#include <stdlib.h>

#include "big/big.h"
#include "testing.h"

static shoal_big_bodies make(shoal_context *context, shoal_big_model model)
{
    shoal_big_bodies bodies;
    model.mass = model.mass > 0 ? model.mass : 1;
    model.virial_radius = model.virial_radius > 0 ? model.virial_radius : 1;
    assert_ok(context, shoal_big_generate(context, &model, &bodies));
    return bodies;
}

static double radius(const shoal_big_bodies *b, const double *of, long i)
{
    return sqrt(of[i] * of[i] + of[b->n + i] * of[b->n + i] + of[2 * b->n + i] * of[2 * b->n + i]);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* sqrt(n) times the largest distance of the radii's distribution from a cumulative one: above 1.63 in 1 % of all
 * draws. */
static double distance(const shoal_big_bodies *b, double (*cumulative)(double r))
{
    double *r = malloc((size_t)b->n * sizeof *r), most = 0;
    for (long i = 0; i < b->n; i++)
        r[i] = radius(b, b->x, i);
    qsort(r, (size_t)b->n, sizeof *r, ascending);
    for (long i = 0; i < b->n; i++) {
        const double c = cumulative(r[i]);
        most = fmax(most, fmax(fabs(c - (double)i / (double)b->n), fabs(c - (double)(i + 1) / (double)b->n)));
    }
    free(r);
    return most * sqrt((double)b->n);
}

static double plummer(double r)
{
    const double a = 3 * M_PI / 16, edge = pow(1 + 1e-4, -1.5); /* cut off at 100 a */
    return pow(1 + a * a / (r * r), -1.5) / edge;
}

/* Cut off at 100 a: |W| = int 2 r^2 / (1 + r)^5 dr. */
static double hernquist(double r)
{
    const double edge = 100.0 / 101, W = 1.0 / 6 - 60401 / (6 * pow(101, 4)), a = 2 * W / pow(edge, 4);
    const double part = r / (r + a) / edge;
    return part * part;
}

static double sphere(double r)
{
    return pow(fmin(r / 1.2, 1), 3);
}

static double kuzmin(double r)
{
    const double virial = 1.96059; /* cut off at 100 a: by another program's double integral of elliptic ones */
    return (1 - 1 / sqrt(1 + virial * virial * r * r)) / (1 - 1 / sqrt(10001));
}

static shoal_big_sphere king; /* of W0 = 6 */

static double king6(double r)
{
    double low = 0, high = 1; /* the fraction whose radius is r */
    for (int k = 0; k < 40; k++) {
        const double middle = (low + high) / 2;
        *(king.radius(king.own, middle) / king.virial < r ? &low : &high) = middle;
    }
    return low;
}

static void test_radii(void **state)
{
    static const struct {
        int kind;
        double (*cumulative)(double r);
    } cases[] = {{SHOAL_BIG_plummer, plummer}, {SHOAL_BIG_hernquist, hernquist}, {SHOAL_BIG_uniform, sphere},
                 {SHOAL_BIG_henon, sphere},    {SHOAL_BIG_cold, sphere},         {SHOAL_BIG_kuzmin, kuzmin},
                 {SHOAL_BIG_king, king6}};
    assert_ok(context_of(state), shoal_big_sphere_king(*state, 6, &king));
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        shoal_big_bodies b = make(
            *state, (shoal_big_model){
                        .kind = cases[k].kind, .n = 3000, .seed = 7, .W0 = 6, .virial_ratio = 0.5, .toomre_q = 1});
        const double far = distance(&b, cases[k].cumulative);
        if (!(far < 1.8)) /* the barycentre is set to zero, too */
            fail_msg("%s: the radii are %.2f from their distribution", shoal_big_model_name(cases[k].kind), far);
        shoal_big_bodies_release(&b);
    }
    shoal_big_sphere_release(&king);
}

/* E = -1/4 and 2 K = |W| in Henon's units, within the noise; an anisotropy or a wrong speed shows in K. Of models that
 * are cut off K / |W| is what 50000 bodies have. */
static void test_energies(void **state)
{
    static const struct {
        int kind;
        double ratio, within, r_max;
    } cases[] = {
        {SHOAL_BIG_plummer, 0.5, 0.03, 0}, {SHOAL_BIG_hernquist, 0.5, 0.05, 0}, {SHOAL_BIG_king, 0.5, 0.03, 0},
        {SHOAL_BIG_uniform, 0.3, 0.02, 0}, {SHOAL_BIG_henon, 0.1, 0.01, 0},     {SHOAL_BIG_cold, 0, 1e-15, 0},
        {SHOAL_BIG_kuzmin, 0.5, 0.05, 0},  {SHOAL_BIG_plummer, 0.57, 0.03, 2},  {SHOAL_BIG_hernquist, 0.53, 0.03, 5},
        {SHOAL_BIG_king, 0.53, 0.03, 10},  {SHOAL_BIG_kuzmin, 0.475, 0.03, 2}};
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        shoal_big_bodies b = make(*state, (shoal_big_model){.kind = cases[k].kind,
                                                            .n = 4000,
                                                            .seed = 3,
                                                            .W0 = 7,
                                                            .virial_ratio = cases[k].ratio,
                                                            .toomre_q = 0.5,
                                                            .r_max = cases[k].r_max});
        double K = 0, W = 0;
        for (long i = 0; i < b.n; i++) {
            const double v = radius(&b, b.v, i);
            K += 0.5 * b.m[i] * v * v;
            for (long j = 0; j < i; j++) {
                double r2 = 0;
                for (int c = 0; c < 3; c++)
                    r2 += pow(b.x[c * b.n + i] - b.x[c * b.n + j], 2);
                W -= b.m[i] * b.m[j] / sqrt(r2);
            }
        }
        if (!(fabs(W + 0.5) < 0.03 && fabs(K / -W - cases[k].ratio) <= cases[k].within))
            fail_msg("%s: K = %.4f, W = %.4f", shoal_big_model_name(cases[k].kind), K, W);
        shoal_big_bodies_release(&b);
    }
}

/* sigma^2 of Plummer's sphere is 1 / (2 sqrt(1 + r^2)) in its units, for speeds of three dimensions: in and out. */
static void test_plummer_speeds(void **state)
{
    shoal_big_bodies b = make(*state, (shoal_big_model){.kind = SHOAL_BIG_plummer, .n = 20000, .seed = 1});
    const double a = 3 * M_PI / 16;
    double measured[2] = {0}, expected[2] = {0};
    for (long i = 0; i < b.n; i++) {
        const double r = radius(&b, b.x, i) / a, v = radius(&b, b.v, i) * sqrt(a);
        measured[r > 1] += v * v;
        expected[r > 1] += 0.5 / sqrt(1 + r * r);
    }
    for (int part = 0; part < 2; part++)
        assert_float_equal(measured[part] / expected[part], 1, 0.03);
    shoal_big_bodies_release(&b);
}

/* Published: log10(tidal over core radius) of King's models (Binney & Tremaine, figure 4.9; King 1966, table II). */
static void test_king_concentration(void **state)
{
    static const double known[][2] = {{3, 0.672}, {6, 1.255}, {9, 2.120}};
    for (int k = 0; k < SHOAL_COUNT(known); k++) {
        shoal_big_sphere s;
        assert_ok(context_of(state), shoal_big_sphere_king(*state, known[k][0], &s));
        assert_float_equal(log10(s.radius(s.own, 1)), known[k][1], 0.005);
        shoal_big_sphere_release(&s);
    }
}

/* Pairs at distances 1 to 100 to both sides of a point, all of one velocity. */
static void test_measure(void **state)
{
    enum { PAIRS = 100 };
    shoal_big_bodies b;
    double phi[2 * PAIRS], row[SHOAL_BIG_COLUMNS];
    const double centre[3] = {5, -3, 2}, v[3] = {1, 2, 3};
    assert_ok(context_of(state), shoal_big_bodies_create(*state, 2 * PAIRS, &b));
    for (long i = 0; i < b.n; i++) {
        const double k = (double)(i / 2 + 1), side = i % 2 ? 1 : -1, u[3] = {cos(k), sin(k) * 0.6, sin(k) * 0.8};
        b.m[i] = 0.5;
        phi[i] = -2;
        for (int c = 0; c < 3; c++) {
            b.x[c * b.n + i] = centre[c] + side * k * u[c];
            b.v[c * b.n + i] = v[c];
        }
    }
    assert_ok(context_of(state), shoal_big_measure(*state, &b, phi, row));
    assert_float_equal(row[SHOAL_BIG_COLUMN_K], 0.5 * 100 * 14, 1e-10);
    assert_float_equal(row[SHOAL_BIG_COLUMN_W], -100, 1e-10);
    assert_float_equal(row[SHOAL_BIG_COLUMN_E], 600, 1e-10);
    for (int c = 0; c < 3; c++) {
        const int j = (c + 1) % 3, k = (c + 2) % 3;
        assert_float_equal(row[SHOAL_BIG_COLUMN_px + c], 100 * v[c], 1e-10);
        assert_float_equal(row[SHOAL_BIG_COLUMN_Lx + c], 100 * (centre[j] * v[k] - centre[k] * v[j]), 1e-9);
        assert_float_equal(row[SHOAL_BIG_COLUMN_x_centre + c], centre[c], 1e-12);
    }
    static const double radii[] = {1, 5, 10, 25, 50, 75, 90};
    for (int k = 0; k < SHOAL_COUNT(radii); k++)
        assert_float_equal(row[SHOAL_BIG_COLUMN_r01 + k], radii[k], 1e-10);
    shoal_big_bodies_release(&b);
}

static void test_seed(void **state)
{
    shoal_big_bodies a = make(*state, (shoal_big_model){.kind = SHOAL_BIG_plummer, .n = 50, .seed = 5});
    shoal_big_bodies b = make(*state, (shoal_big_model){.kind = SHOAL_BIG_plummer, .n = 50, .seed = 5});
    shoal_big_bodies c = make(*state, (shoal_big_model){.kind = SHOAL_BIG_plummer, .n = 50, .seed = 6});
    assert_memory_equal(a.m, b.m, 350 * sizeof(double));
    assert_memory_not_equal(a.m, c.m, 350 * sizeof(double));
    double x[3], v[3];
    assert_float_equal(shoal_big_barycentre(&a, x, v), 1, 1e-14);
    for (int i = 0; i < 3; i++) {
        assert_float_equal(x[i], 0, 1e-15);
        assert_float_equal(v[i], 0, 1e-15);
    }
    shoal_big_bodies_release(&a);
    shoal_big_bodies_release(&b);
    shoal_big_bodies_release(&c);
}

/* A bound within which next to no mass lies would have bodies drawn again for ever. */
static void test_least_r_max(void **state)
{
    const struct {
        int kind;
        double r_max;
        shoal_status status;
    } cases[] = {{SHOAL_BIG_plummer, 0.11, SHOAL_OK},
                 {SHOAL_BIG_plummer, 0.1, SHOAL_E_INPUT},
                 {SHOAL_BIG_hernquist, 0.1, SHOAL_OK},
                 {SHOAL_BIG_king, 0.1, SHOAL_E_INPUT}};
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        const shoal_big_model model = {
            .kind = cases[k].kind, .n = 20, .seed = 1, .mass = 1, .virial_radius = 1, .W0 = 6, .r_max = cases[k].r_max};
        shoal_big_bodies bodies = {0};
        assert_int_equal(shoal_big_generate(*state, &model, &bodies), cases[k].status);
        if (cases[k].status)
            assert_non_null(strstr(shoal_context_message(*state), "expected at least"));
        shoal_big_bodies_release(&bodies);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_radii),          cmocka_unit_test(test_energies),
        cmocka_unit_test(test_plummer_speeds), cmocka_unit_test(test_king_concentration),
        cmocka_unit_test(test_measure),        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_least_r_max),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
