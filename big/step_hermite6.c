/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * step_hermite6.c: a Hermite scheme of sixth order with fixed steps h shared by all bodies and one evaluation a step.
 * It needs no derivative of the force beyond the jerk (that of Nitadori & Makino 2008,
 * doi:10.1016/j.newast.2008.01.010, needs the snap): the third node of its interpolation is the step before, as in
 * multi-step methods.
 *
 * With a and j h at s = -1 and 0 (the step's start) and 1 (its end), the acceleration between 0 and 1 is the quintic
 * p(s) through all six, and
 *
 *   v_1 = v_0 + h int_0^1 p ds,  x_1 = x_0 + h v_0 + h^2 int_0^1 (1 - s) p ds
 *
 * The prediction is the same with the cubic through the four that are known: x_p is wrong by O(h^6), so v_1 by O(h^7).
 * The step before the first one, and before one of another size, is made by going back by h with Hermite's fourth
 * order, P(EC)^2, whose error of O(h^5) enters once.
 *
 * Slots: a[3], j[3] at the start of the next step, a[3], j[3] one step earlier. Work: x_p[3], v_p[3], a_1[3], j_1[3].
 */
#include <string.h>

#include "big/big.h"

/* Weights of a_-1, j_-1, a_0, j_0, a_1, j_1 in the two integrals. */
typedef struct weights {
    double v[6], x[6];
} weights;

static const weights predictor = {{3. / 2, 7. / 12, -1. / 2, 17. / 12, 0, 0},
                                  {7. / 20, 2. / 15, 3. / 20, 23. / 60, 0, 0}};
static const weights corrector = {{11. / 240, 1. / 80, 8. / 15, 1. / 6, 101. / 240, -13. / 240},
                                  {37. / 1680, 1. / 168, 11. / 30, 19. / 210, 187. / 1680, -2. / 105}};

static shoal_status forces(shoal_big_stepper *s, const double *x, const double *v, double *a, double *j)
{
    const long n = s->bodies.n;
    const shoal_status status = shoal_tiled_sources(s->tiled, n, s->bodies.m, x, v);
    s->interactions += (double)n * (double)n;
    return status ? status : shoal_tiled_forces(s->tiled, SHOAL_TILED_JERK, NULL, a, j, NULL);
}

static shoal_status prepare(shoal_big_stepper *s)
{
    s->last_step = 0;
    return forces(s, s->bodies.x, s->bodies.v, s->slots, s->slots + 3 * s->bodies.n);
}

/* From x, v over h to x_1, v_1. */
static void integrate(const shoal_big_stepper *s, const weights *w, double h, double *x_1, double *v_1)
{
    const long n = 3 * s->bodies.n;
    const double *x = s->bodies.x, *v = s->bodies.v;
    const double *at[6] = {s->slots + 2 * n, s->slots + 3 * n, s->slots,
                           s->slots + n,     s->work + 2 * n,  s->work + 3 * n};
#pragma omp parallel for num_threads(s->steps.threads) if (n > SHOAL_BIG_PARALLEL) schedule(static)
    for (long i = 0; i < n; i++) {
        double dv = 0, dx = 0;
        for (int k = 0; k < 6; k++) {
            const double p = k % 2 ? h * at[k][i] : at[k][i];
            dv += w->v[k] * p;
            dx += w->x[k] * p;
        }
        const double v_0 = v[i];
        x_1[i] = x[i] + h * (v_0 + h * dx);
        v_1[i] = v_0 + h * dv;
    }
}

/* Forces one step before the start. */
static shoal_status go_back(shoal_big_stepper *s, double h)
{
    const long n = 3 * s->bodies.n;
    const double *x = s->bodies.x, *v = s->bodies.v, *a = s->slots, *j = s->slots + n;
    double *x_p = s->work, *v_p = x_p + n, *a_1 = s->slots + 2 * n, *j_1 = s->slots + 3 * n;
    h = -h;
    for (long i = 0; i < n; i++) {
        x_p[i] = x[i] + h * (v[i] + h / 2 * (a[i] + h / 3 * j[i]));
        v_p[i] = v[i] + h * (a[i] + h / 2 * j[i]);
    }
    shoal_status status = forces(s, x_p, v_p, a_1, j_1);
    for (long i = 0; i < n && !status; i++) {
        v_p[i] = v[i] + h / 2 * (a[i] + a_1[i]) + h * h / 12 * (j[i] - j_1[i]);
        x_p[i] = x[i] + h / 2 * (v[i] + v_p[i]) + h * h / 12 * (a[i] - a_1[i]);
    }
    return status ? status : forces(s, x_p, v_p, a_1, j_1);
}

static shoal_status advance(shoal_big_stepper *s, double h)
{
    const long n = 3 * s->bodies.n;
    double *x_p = s->work, *v_p = x_p + n, *a_1 = x_p + 2 * n, *j_1 = x_p + 3 * n;
    shoal_status status = SHOAL_OK;
    /* the ends of stretches are rounded */
    if (!(fabs(h - s->last_step) <= 1e-12 * fabs(h) + shoal_big_rounding(s->now)))
        status = go_back(s, h);
    s->last_step = h;
    integrate(s, &predictor, h, x_p, v_p);
    if (!status)
        status = forces(s, x_p, v_p, a_1, j_1);
    if (status)
        return status;
    integrate(s, &corrector, h, s->bodies.x, s->bodies.v);
    memcpy(s->slots + 2 * n, s->slots, 2 * (size_t)n * sizeof *s->slots);
    memcpy(s->slots, a_1, 2 * (size_t)n * sizeof *s->slots);
    s->n_steps++;
    s->now += h;
    return shoal_big_stops(s) ? shoal_fail(s->context, SHOAL_E_INTERRUPTED, "interrupted") : SHOAL_OK;
}

const shoal_big_method shoal_big_hermite6 = {
    .name = "hermite6",
    .doc = "Hermite of sixth order from two steps, one fixed step for all bodies",
    .order = 6,
    .wants = SHOAL_TILED_JERK,
    .gpu_from = 256,
    .n_slots = 12,
    .n_work = 12,
    .fixed = true,
    .prepare = prepare,
    .advance = advance,
};
