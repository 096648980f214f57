/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hermite4.kern.h: Hermite scheme of order 4, P(EC)^n, n = `iterations`.
 *
 *     predict   x_p = x + v h + a h^2/2 + j h^3/6,  v_p = v + a h + j h^2/2
 *     n times   (a1, j1) = forces at the latest x, v;
 *               v1 = v + (a + a1) h/2 + (j - j1) h^2/12,  x1 = x + (v + v1) h/2 + (a - a1) h^2/12
 *
 * Makino & Aarseth 1992, PASJ 44, 141; the corrector in the form of Hut, Makino & McMillan 1995, ApJ 443, L93.
 * (Equation 4 of the Swarm-NG paper misprints it.) The forces of the last evaluation start the next step, so they are
 * native state.
 *
 * Operations a step of two iterations: 44 n (n - 1) + 57 n, n bodies; with compensated sums 24 n more.
 */
#include "integrators/hermite.kern.h"

#define HERMITE_ORDER 4
#ifndef PROPAGATOR_OWN
#define PROPAGATOR_OWN 0
#endif
#define PROPAGATOR_FIRST_BODY 0
#define PROPAGATOR_BARYCENTRIC
#define PROPAGATOR_SLOTS(compensated) ((compensated) ? HERMITE4_SLOTS : HERMITE4_EX)

LANE_FN void hermite_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    LANE_UNROLL
    for (int c = 0; c < 2 * XYZ * n; c++)
        s[c] = w[c];
    gravity_jerk(k, n, m, s + HERMITE_X * n, s + HERMITE_V * n, s + HERMITE_A * n, s + HERMITE_J * n);
    LANE_UNROLL
    for (int c = HERMITE4_EX * n; c < PROPAGATOR_SLOTS(1) * n + PROPAGATOR_OWN; c++)
        s[c] = lane_set(0.0);
}

/* Evaluations are unrolled on a GPU, but where a thread has one body or two: theirs are short, and addresses stay in
 * registers only if they are rolled. */
#if TEAM > 1 && TEAM_EACH <= 2
#define HERMITE_UNROLL LANE_KEEP_ROLLED
#else
#define HERMITE_UNROLL LANE_UNROLL_GPU
#endif

/* The step itself; the parameter `iterations` counts evaluations of the forces. */
LANE_FN void hermite_advance(const shoal_kernel_args *k, int n, int compensated, int iterations, const real *m, real *s,
                             real h)
{
    real *x = s + HERMITE_X * n, *v = s + HERMITE_V * n, *a = s + HERMITE_A * n, *j = s + HERMITE_J * n;
    const real h2 = 0.5 * h, h3 = h * lane_set(1.0 / 3.0), h4 = 0.25 * h, h6 = h * lane_set(1.0 / 6.0),
               h12 = h * lane_set(1.0 / 12.0);
    real x1[XYZ * LANE_ROOM(n)], v1[XYZ * LANE_ROOM(n)], a1[XYZ * LANE_ROOM(n)], j1[XYZ * LANE_ROOM(n)];

    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++) {
        x1[c] = lane_fma(h, lane_fma(h2, lane_fma(h3, j[c], a[c]), v[c]), x[c]);
        v1[c] = lane_fma(h, lane_fma(h2, j[c], a[c]), v[c]);
    }
    /* The corrector as small changes, their part known before the forces first: v1 = v + b h/2 with b = a + a1 + (j
     * - j1) h/6, and x1 = x + u h with u = v + b h/4 + (a - a1) h/12; from here on j and a have what they begin
     * with. */
    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++) {
        real b = lane_fma(h6, j[c], a[c]);
        real u = lane_fma(h12, a[c], v[c]);
        j[c] = b;
        a[c] = u;
    }
    HERMITE_UNROLL
    for (int left = iterations - 1;; left--) {
        gravity_jerk(k, n, m, x1, v1, a1, j1);
        if (left <= 0)
            break;
        LANE_UNROLL
        for (int c = 0; c < XYZ * n; c++) {
            real b = lane_fnma(h6, j1[c], j[c] + a1[c]);
            real u = lane_fma(h4, b, lane_fnma(h12, a1[c], a[c]));
            v1[c] = lane_fma(h2, b, v[c]);
            x1[c] = lane_fma(h, u, x[c]);
        }
    }
    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++) {
        real b = lane_fnma(h6, j1[c], j[c] + a1[c]);
        real u = lane_fma(h4, b, lane_fnma(h12, a1[c], a[c]));
        lane_add_times(compensated, &v[c], &s[HERMITE4_EV * n + c], h2, b);
        lane_add_times(compensated, &x[c], &s[HERMITE4_EX * n + c], h, u);
        a[c] = a1[c];
        j[c] = j1[c];
    }
}

#if !PROPAGATOR_ADAPTIVE
LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    hermite_prepare(k, n, m, w, s);
}

LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    hermite_advance(k, n, compensated, chosen(k, HERMITE_ITERATIONS), m, s, h);
}
#endif
