/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * symplectic_euler.c: a propagator of one's own, the shortest that is worth having: v += h a(x), x += h v, order 1,
 * symplectic.
 *
 *     plugins = [ "symplectic_euler.c" ];
 *     integrator = { name = "symplectic_euler"; dt = 0.001; };
 */
#include "core/plug/plug.h"

#ifndef SHOAL_KERNEL /* what the host knows */

static const char *const slots[] = {"x", "y", "z", "vx", "vy", "vz"};

const shoal_propagator shoal_propagator_symplectic_euler = {
    .name = "symplectic_euler",
    .doc = "symplectic Euler: kick, then drift",
    .reference = "Hairer, Lubich & Wanner 2006, Geometric Numerical Integration, I.1.4",
    .order = 1,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
};

#else /* kernel text: lanes are systems */

#define PROPAGATOR_FIRST_BODY 0
#define PROPAGATOR_BARYCENTRIC
#define PROPAGATOR_SLOTS(compensated) 6

LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    (void)k, (void)m;
    for (int c = 0; c < 6 * n; c++)
        s[c] = w[c];
}

LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    real a[3 * LANE_ROOM(n)], *x = s, *v = s + 3 * n;
    (void)compensated;
    gravity_acceleration(k, n, m, x, v, a);
    LANE_UNROLL
    for (int c = 0; c < 3 * n; c++) {
        v[c] = lane_fma(h, a[c], v[c]);
        x[c] = lane_fma(h, v[c], x[c]);
    }
}

#endif
