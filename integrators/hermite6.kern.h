/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hermite6.kern.h: Hermite scheme of order 6, P(EC)^n, n = `iterations`.
 *
 *     predict   x_p, v_p from the Taylor series up to the crackle c
 *     n times   (a1, j1, s1) = forces at the latest x, v;
 *               v1 = v + (a + a1) h/2 + (j - j1) h^2/10 + (s + s1) h^3/120,
 *               x1 = x + (v + v1) h/2 + (a - a1) h^2/10 + (j + j1) h^3/120
 *     crackle   c1 = 60 (a1 - a)/h^3 - (36 j1 + 24 j)/h^2 + (9 s1 - 3 s)/h, of the polynomial through all of these, at
 *               its end
 *
 * Nitadori & Makino 2008, New Astronomy 13, 498, sections 2 and 3. The snap is taken from the accelerations at the same
 * x, which are evaluated before it (there they are predicted).
 *
 * Operations a step of two iterations: 96 n (n - 1) + 140 n, n bodies; with compensated sums 18 n more.
 */
#include "integrators/hermite.kern.h"

#define HERMITE_ORDER 6
#ifndef PROPAGATOR_OWN
#define PROPAGATOR_OWN 0
#endif
#define PROPAGATOR_FIRST_BODY 0
#define PROPAGATOR_BARYCENTRIC
#define PROPAGATOR_SLOTS(compensated) ((compensated) ? HERMITE6_SLOTS : HERMITE6_EX)

LANE_FN void hermite_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    LANE_UNROLL
    for (int c = 0; c < 2 * XYZ * n; c++)
        s[c] = w[c];
    gravity_snap(k, n, m, s + HERMITE_X * n, s + HERMITE_V * n, s + HERMITE_A * n, s + HERMITE_J * n,
                 s + HERMITE6_S * n);
    LANE_UNROLL
    for (int c = HERMITE6_C * n; c < PROPAGATOR_SLOTS(1) * n + PROPAGATOR_OWN; c++)
        s[c] = lane_set(0.0);
}

/* The step itself; the parameter `iterations` counts evaluations of the forces. */
LANE_FN void hermite_advance(const shoal_kernel_args *k, int n, int compensated, int iterations, const real *m, real *s,
                             real h)
{
    real *x = s + HERMITE_X * n, *v = s + HERMITE_V * n, *a = s + HERMITE_A * n, *j = s + HERMITE_J * n;
    real *snap = s + HERMITE6_S * n, *crackle = s + HERMITE6_C * n;
    const real h2 = 0.5 * h, h3 = h * lane_set(1.0 / 3.0), h4 = 0.25 * h, h5 = h * lane_set(1.0 / 5.0);
    const real h10 = h * h * lane_set(1.0 / 10.0), h120 = h * h * h * lane_set(1.0 / 120.0);
    const real h_inverse = 1.0 / h;
    real x1[XYZ * LANE_ROOM(n)], v1[XYZ * LANE_ROOM(n)], a1[XYZ * LANE_ROOM(n)], j1[XYZ * LANE_ROOM(n)],
        snap1[XYZ * LANE_ROOM(n)];

    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++) {
        real higher = lane_fma(h4, crackle[c], snap[c]);
        v1[c] = lane_fma(h, lane_fma(h2, lane_fma(h3, higher, j[c]), a[c]), v[c]);
        higher = lane_fma(h5, crackle[c], snap[c]);
        x1[c] = lane_fma(h, lane_fma(h2, lane_fma(h3, lane_fma(h4, higher, j[c]), a[c]), v[c]), x[c]);
    }
    LANE_KEEP_ROLLED
    for (int left = iterations - 1;; left--) {
        gravity_snap(k, n, m, x1, v1, a1, j1, snap1);
        LANE_UNROLL
        for (int c = 0; c < XYZ * n; c++) { /* changes of v and x, which take their places */
            real dv = lane_fma(h120, snap[c] + snap1[c], lane_fma(h10, j[c] - j1[c], h2 * (a[c] + a1[c])));
            real dx = lane_fma(h2, dv, lane_fma(h120, j[c] + j1[c], lane_fma(h10, a[c] - a1[c], h * v[c])));
            v1[c] = dv;
            x1[c] = dx;
        }
        if (left <= 0)
            break;
        LANE_UNROLL
        for (int c = 0; c < XYZ * n; c++) {
            v1[c] = v[c] + v1[c];
            x1[c] = x[c] + x1[c];
        }
    }
    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++) {
        lane_add(compensated, &v[c], &s[HERMITE6_EV * n + c], v1[c]);
        lane_add(compensated, &x[c], &s[HERMITE6_EX * n + c], x1[c]);
        real of_j = lane_fma(lane_set(-36.0), j1[c], -24.0 * j[c]),
             of_s = lane_fma(lane_set(9.0), snap1[c], -3.0 * snap[c]);
        crackle[c] = lane_fma(lane_fma(60.0 * h_inverse, a1[c] - a[c], of_j), h_inverse, of_s) * h_inverse;
        a[c] = a1[c];
        j[c] = j1[c];
        snap[c] = snap1[c];
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
