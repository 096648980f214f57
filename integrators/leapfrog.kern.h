/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * leapfrog.kern.h: leapfrog of order 2 (Stoermer-Verlet) as kick-drift-kick, and its symmetric compositions of order 4,
 * 6 and 8: symplectic, reversible, one force evaluation a stage.
 *
 *     S(h):  v += a h/2;  x += v h;  a = a(x);  v += a h/2        a step: S(w_1 h), S(w_2 h), ..., S(w_2 h), S(w_1 h)
 *
 * Extra forces kick beside Newton's (forces_kick).
 *
 * Hairer, Lubich & Wanner 2003, Acta Numerica 12, 399. Operations a stage: 15 n (n - 1) + 9 n; compensated 27 n more.
 */
enum { LEAPFROG_ORDER, LEAPFROG_COMPENSATED, LEAPFROG_PARAMETERS };
enum {
    LEAPFROG_X,
    LEAPFROG_V = XYZ,
    LEAPFROG_A = 2 * XYZ,
    LEAPFROG_EX = 3 * XYZ,
    LEAPFROG_EV = 4 * XYZ,
    LEAPFROG_SLOTS = 5 * XYZ
};

#ifdef SHOAL_KERNEL
#include "integrators/leapfrog_tables.kern.h"

#define PROPAGATOR_FIRST_BODY 0
#define PROPAGATOR_BARYCENTRIC
#define PROPAGATOR_SLOTS(compensated) ((compensated) ? LEAPFROG_SLOTS : LEAPFROG_EX)

LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    LANE_UNROLL
    for (int c = 0; c < 2 * XYZ * n; c++)
        s[c] = w[c];
    newton_acceleration(k, n, 0, m, s, s + LEAPFROG_A * n);
    LANE_UNROLL
    for (int c = LEAPFROG_EX * n; c < PROPAGATOR_SLOTS(1) * n; c++)
        s[c] = lane_set(0.0);
}

/* The extra forces' part of a kick. */
LANE_BIG_FN void leapfrog_forces(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    real dv[XYZ * LANE_ROOM(n)];
    forces_kick(k, n, m, s, s + LEAPFROG_V * n, h, dv);
    for (int c = 0; c < XYZ * n; c++)
        lane_add(compensated, &s[LEAPFROG_V * n + c], &s[LEAPFROG_EV * n + c], dv[c]);
}

/* v += a h */
LANE_FN void leapfrog_kick(int n, int compensated, real *s, real h)
{
    real *v = s + LEAPFROG_V * n, *a = s + LEAPFROG_A * n, *ev = s + LEAPFROG_EV * n;
    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++)
        lane_add_times(compensated, &v[c], &ev[c], h, a[c]);
}

/* S(h) */
LANE_FN void leapfrog_stage(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    real *x = s, *v = s + LEAPFROG_V * n, *ex = s + LEAPFROG_EX * n;
    const real half = 0.5 * h;
    if (FORCES(k))
        leapfrog_forces(k, n, compensated, m, s, half);
    leapfrog_kick(n, compensated, s, half);
    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++)
        lane_add_times(compensated, &x[c], &ex[c], h, v[c]);
    newton_acceleration(k, n, 0, m, x, s + LEAPFROG_A * n);
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

#endif
