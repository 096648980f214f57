/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_leapfrog.c: the compositions of leapfrog: the order conditions of their weights, measured orders, and
 * that they are symplectic.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "systems.h"

#define LANE_TABLE static const
#include "integrators/leapfrog_tables.kern.h"

static const double orders[] = {2, 4, 6, 8};

/* ---- order conditions -------------------------------------------------------------------------------------------- */

/*
 * Leapfrog is symmetric, so that a stage of length w is exp(w Y_1 + w^3 Y_3 + w^5 Y_5 + ...), Y_i operators that do not
 * commute; a composition has order p if the product of its stages is exp(Y_1) up to terms of weight p (Hairer, Lubich &
 * Wanner 2006, Geometric Numerical Integration, III.5). Products are taken in the free algebra of Y_1, Y_3, ...: a word
 * of these letters for each way to write its weight as an ordered sum of odd numbers.
 */
enum { MOST_WEIGHT = 9, WORDS = 256 };

struct words {
    int n, weight[WORDS], left[WORDS], last[WORDS]; /* a word is word `left` and the letter `last` */
    int product[WORDS][WORDS];                      /* -1: beyond MOST_WEIGHT */
};

static int word_of(const struct words *words, int left, int last)
{
    for (int i = 1; i < words->n; i++)
        if (words->left[i] == left && words->last[i] == last)
            return i;
    return -1;
}

static struct words *all_words(void)
{
    struct words *words = calloc(1, sizeof *words);
    assert_non_null(words);
    words->n = 1; /* the empty word */
    for (int i = 0; i < words->n; i++)
        for (int letter = 1; words->weight[i] + letter <= MOST_WEIGHT; letter += 2) {
            assert_true(words->n < WORDS);
            words->weight[words->n] = words->weight[i] + letter;
            words->left[words->n] = i;
            words->last[words->n++] = letter;
        }
    for (int i = 0; i < words->n; i++)
        for (int j = 0; j < words->n; j++) { /* a word's left part has a smaller index */
            const int left = j == 0 ? i : words->product[i][words->left[j]];
            words->product[i][j] = j == 0 || left < 0 ? left : word_of(words, left, words->last[j]);
        }
    return words;
}

static void multiply(const struct words *words, const long double *a, const long double *b, long double *result)
{
    long double sum[WORDS] = {0};
    for (int i = 0; i < words->n; i++)
        for (int j = 0; j < words->n; j++)
            if (words->product[i][j] >= 0)
                sum[words->product[i][j]] += a[i] * b[j];
    memcpy(result, sum, sizeof sum);
}

/* exp of the sum of w^letter Y_letter. */
static void exponential(const struct words *words, long double w, bool higher, long double *result)
{
    long double one[WORDS] = {0}, power[WORDS] = {1};
    for (int letter = 1; letter <= (higher ? MOST_WEIGHT : 1); letter += 2)
        one[word_of(words, 0, letter)] = powl(w, letter);
    memset(result, 0, WORDS * sizeof *result);
    for (int q = 0; q <= MOST_WEIGHT; q++) {
        for (int i = 0; i < words->n; i++)
            result[i] += power[i];
        multiply(words, power, one, power);
        for (int i = 0; i < words->n; i++)
            power[i] /= q + 1;
    }
}

static void weights_meet_their_order_conditions(void **state)
{
    struct words *words = all_words();
    (void)state;
    for (int which = 0; which < SHOAL_COUNT(leapfrog_compositions); which++) {
        const leapfrog_composition *all = &leapfrog_compositions[which];
        long double product[WORDS] = {1}, stage[WORDS], exact[WORDS], worst[MOST_WEIGHT + 1] = {0}, met = 0;
        for (int i = 0; i < all->stages; i++) {
            exponential(words, all->weight[i <= all->stages / 2 ? i : all->stages - 1 - i], true, stage);
            multiply(words, product, stage, product);
        }
        exponential(words, 1, false, exact);
        for (int i = 0; i < words->n; i++)
            worst[words->weight[i]] = fmaxl(worst[words->weight[i]], fabsl(product[i] - exact[i]));
        for (int p = 0; p <= all->order; p++)
            met = fmaxl(met, worst[p]);
        print_message("order %d, %d stages: conditions met to %.1Le, of the next order missed by %.1Le\n", all->order,
                      all->stages, met, worst[all->order + 1]);
        assert_below((double)met, 1e-15, "order %d", all->order); /* the weights are rounded */
        assert_true(worst[all->order + 1] > 1e-5);
    }
    free(words);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

enum { N = 3 };

static void planets(shoal_context *context, double mass, shoal_body *bodies)
{
    const shoal_orbit orbit[N] = {{.a = 0}, {.a = 1, .e = 0.1, .f = 1}, {.a = 1.7, .e = 0.05, .inc = 0.1, .f = 4}};
    memset(bodies, 0, N * sizeof *bodies);
    bodies[0].m = 1;
    bodies[1].m = bodies[2].m = mass;
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, N, orbit, bodies));
}

/* From t_start to t_end; returns the relative change of the energy. */
static double evolve(shoal_context *context, double order, bool compensated, double dt, double t_start, double t_end,
                     shoal_body *bodies)
{
    const shoal_setting settings[] = {{.name = "order", .value = order}, {.name = "compensated", .value = compensated}};
    const shoal_options options = {.propagator = "leapfrog", .settings = settings, .n_settings = 2, .t_end = t_end};
    struct motion motion = motion_begin(context, 1, N, &t_start, &dt, &options, bodies);
    assert_ok(context, shoal_plan_integrate(motion.plan, t_end));
    shoal_ensemble_get_bodies(motion.ensemble, 0, bodies);
    const double change = motion_energy_error(&motion, 0);
    motion_end(&motion);
    return change;
}

/* Slope of log error over log step from six steps of ratio 0.8. The reference: order 8 with a step of 2^-7. */
static void errors_fall_with_the_order(void **state)
{
    enum { STEPS = 6 };
    static const double coarsest[] = {0x1p-5, 0x1p-3, 0x1p-2, 0.3};
    shoal_context *context = context_of(state);
    shoal_body start[N], exact[N], bodies[N];
    planets(context, 1e-2, start);
    memcpy(exact, start, sizeof start);
    evolve(context, 8, true, 0x1p-7, 0, 8, exact);
    for (int which = 0; which < SHOAL_COUNT(orders); which++) {
        double dt[STEPS], error[STEPS];
        for (int k = 0; k < STEPS; k++) {
            dt[k] = 8 / round(8 / (coarsest[which] * pow(0.8, k)));
            memcpy(bodies, start, sizeof start);
            evolve(context, orders[which], true, dt[k], 0, 8, bodies);
            error[k] = distance_of_states(N, bodies, exact);
        }
        const double order = slope(STEPS, dt, error);
        print_message("order %.0f: measured %.2f, errors %.1e..%.1e\n", orders[which], order, error[0],
                      error[STEPS - 1]);
        assert_below(fabs(order - orders[which]), 0.3, "order %g", orders[which]);
    }
}

/* No drift: the energy error of 800 orbits is that of the first 24 and rounding. */
static void the_energy_error_is_bounded(void **state)
{
    shoal_context *context = context_of(state);
    for (int which = 0; which < SHOAL_COUNT(orders); which++) {
        double worst[2] = {0};
        for (int part = 0; part < 2; part++)
            for (int sample = 1; sample <= 8; sample++) {
                shoal_body end[N];
                planets(context, 1e-3, end);
                const double t = (part ? 100 : 3) * TWO_PI * sample + 0.7 * sample;
                worst[part] = fmax(worst[part], fabs(evolve(context, orders[which], true, 0.1, 0, t, end)));
            }
        print_message("order %.0f: energy error %.1e in 24 orbits, %.1e in 800\n", orders[which], worst[0], worst[1]);
        assert_below(worst[1], 3 * worst[0] + 1e-14, "order %g", orders[which]);
    }
}

/* The map's Jacobian M by differences: M^T J M = J, which an integrator of the same order that is not symplectic
 * misses. */
static void the_map_is_symplectic(void **state)
{
    shoal_context *context = context_of(state);
    for (int which = 0; which < SHOAL_COUNT(orders); which++) {
        double jacobian[6 * N][6 * N], worst = 0;
        shoal_body start[N];
        planets(context, 1e-2, start);
        const double step = 1e-4;
        for (int q = 0; q < 6 * N; q++) {
            double ends[4][6 * N];
            for (int side = 0; side < 4; side++) { /* -2 -1 1 2 steps */
                shoal_body bodies[N];
                memcpy(bodies, start, sizeof start);
                (&bodies[q / 6].x)[q % 6] += step * (side < 2 ? side - 2 : side - 1);
                evolve(context, orders[which], true, 0.2, 0, 2, bodies);
                for (int c = 0; c < 6 * N; c++)
                    ends[side][c] = (&bodies[c / 6].x)[c % 6];
            }
            for (int c = 0; c < 6 * N; c++)
                jacobian[c][q] = (8 * (ends[2][c] - ends[1][c]) - (ends[3][c] - ends[0][c])) / (12 * step);
        }
        for (int p = 0; p < 6 * N; p++)
            for (int q = 0; q < 6 * N; q++) {
                double form = 0;
                for (int i = 0; i < N; i++) /* sum of dx ^ m dv */
                    for (int c = 0; c < 3; c++)
                        form += start[i].m * (jacobian[6 * i + c][p] * jacobian[6 * i + 3 + c][q] -
                                              jacobian[6 * i + c][q] * jacobian[6 * i + 3 + c][p]);
                const bool pair = p / 6 == q / 6 && abs(p - q) == 3 && p / 3 != q / 3;
                worst = fmax(worst, fabs(form - (pair ? (p < q ? 1 : -1) * start[p / 6].m : 0)));
            }
        print_message("order %.0f: symplectic to %.1e\n", orders[which], worst);
        assert_below(worst, 1e-9, "order %g", orders[which]); /* of the differences: h^4 and 1e-16 / h */
    }
}

static void other_orders_are_refused(void **state)
{
    shoal_context *context = context_of(state);
    shoal_body bodies[N];
    planets(context, 1e-3, bodies);
    for (int order = 1; order <= 9; order++) {
        const shoal_setting setting = {.name = "order", .value = order};
        const shoal_options options = {
            .propagator = "leapfrog", .settings = &setting, .n_settings = 1, .engine = "cpu", .t_end = 1, .dt = 0.1};
        shoal_ensemble *ensemble = NULL;
        shoal_plan *plan = NULL;
        assert_ok(context, shoal_ensemble_create(context, 1, N, &ensemble));
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, N, bodies));
        const bool known = order == 2 || order == 4 || order == 6 || order == 8;
        assert_int_equal(shoal_plan_create(context, ensemble, &options, &plan), known ? SHOAL_OK : SHOAL_E_USAGE);
        shoal_plan_destroy(&plan);
        shoal_ensemble_destroy(&ensemble);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_meet_their_order_conditions),
        cmocka_unit_test(errors_fall_with_the_order),
        cmocka_unit_test(the_energy_error_is_bounded),
        cmocka_unit_test(the_map_is_symplectic),
        cmocka_unit_test(other_orders_are_refused),
    };
    return cmocka_run_group_tests_name("leapfrog", tests, setup, teardown);
}
