/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * leapfrog.kern.h: leapfrog of order 2 (Stoermer-Verlet) as kick-drift-kick, and its symmetric compositions of order 4, 6 and 8:
 * symplectic, reversible, one force evaluation a stage.
 *
 *     S(h):  v += a h/2;  x += v h;  a = a(x);  v += a h/2        a step: S(w_1 h), S(w_2 h), ..., S(w_2 h), S(w_1 h)
 *
 * Extra forces kick beside Newton's (forces_kick).
 *
 * Hairer, Lubich & Wanner 2003, Acta Numerica 12, 399. Operations a stage: 15 n (n - 1) + 9 n; compensated 27 n more.
 */
#include "integrators/leapfrog_tables.kern.h"

enum { LEAPFROG_ORDER }; /* parameters */

#define PROPAGATOR_FIRST_BODY 0
#define PROPAGATOR_BARYCENTRIC
#define PROPAGATOR_SLOTS(compensated) ((compensated) ? 15 : 9)

LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    LANE_UNROLL
    for (int c = 0; c < 6 * n; c++)
        s[c] = w[c];
    newton_acceleration(k, n, 0, m, s, s + 6 * n);
    LANE_UNROLL
    for (int c = 9 * n; c < 15 * n; c++)
        s[c] = lane_set(0.0);
}

/* The extra forces' part of a kick. */
LANE_BIG_FN void leapfrog_forces(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    real dv[3 * LANE_ROOM(n)];
    forces_kick(k, n, m, s, s + 3 * n, h, dv);
    for (int c = 0; c < 3 * n; c++)
        lane_add(compensated, &s[3 * n + c], &s[12 * n + c], dv[c]);
}

/* v += a h */
LANE_FN void leapfrog_kick(int n, int compensated, real *s, real h)
{
    real *v = s + 3 * n, *a = s + 6 * n, *ev = s + 12 * n;
    LANE_UNROLL
    for (int c = 0; c < 3 * n; c++) {
        if (compensated)
            lane_add(1, &v[c], &ev[c], h * a[c]);
        else
            v[c] = lane_fma(h, a[c], v[c]);
    }
}

/* S(h) */
LANE_FN void leapfrog_stage(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    real *x = s, *v = s + 3 * n, *ex = s + 9 * n;
    const real half = 0.5 * h;
    if (FORCES(k))
        leapfrog_forces(k, n, compensated, m, s, half);
    leapfrog_kick(n, compensated, s, half);
    LANE_UNROLL
    for (int c = 0; c < 3 * n; c++) {
        if (compensated)
            lane_add(1, &x[c], &ex[c], h * v[c]);
        else
            x[c] = lane_fma(h, v[c], x[c]);
    }
    newton_acceleration(k, n, 0, m, x, s + 6 * n);
    leapfrog_kick(n, compensated, s, half);
    if (FORCES(k))
        leapfrog_forces(k, n, compensated, m, s, half);
}

LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    const int order = chosen(k, LEAPFROG_ORDER);
    if (order == 2) {
        leapfrog_stage(k, n, compensated, m, s, h);
        return;
    }
    const leapfrog_composition *all = &leapfrog_compositions[order / 2 - 2];
    LANE_KEEP_ROLLED
    for (int i = 0; i < all->stages; i++)
        leapfrog_stage(k, n, compensated, m, s, all->weight[i <= all->stages / 2 ? i : all->stages - 1 - i] * h);
}
