/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gr_potential.kern.h: the pericentre precession of general relativity from a potential about body 0,
 *
 *     Phi = -3 (G m_0 / c r)^2,   a_i = -6 (G m_0)^2 d / (c^2 r^4),   a_0 -= (m_i / m_0) a_i,   d = x_i - x_0
 *
 * which turns an orbit by 6 pi G m_0 / (c^2 a (1 - e^2)) a period (Nobili & Roxburgh 1986, IAU Symp. 114, 105).
 */
enum { GR_POTENTIAL_C, gr_potential_PARAMETERS };

#ifdef SHOAL_KERNEL
#include "gravitation/force.kern.h"

LANE_FN void gr_potential_add(const shoal_kernel_args *k, const double *p, int n, const real *m, const real *x,
                              const real *v, real *a)
{
    const real factor = lane_set(6.0 / (p[GR_POTENTIAL_C] * p[GR_POTENTIAL_C])) * m[0];
    (void)k;
    (void)v;
    LANE_UNROLL_BODIES
    for (int i = 1; i < n; i++) {
        real dx = x[i] - x[0], dy = x[n + i] - x[n], dz = x[2 * n + i] - x[2 * n];
        real r2_inverse = 1.0 / lane_fma(dz, dz, lane_fma(dy, dy, dx * dx));
        real pull = factor * r2_inverse * r2_inverse, from_0 = m[0] * pull, from_i = m[i] * pull;
        a[i] = lane_fnma(from_0, dx, a[i]);
        a[n + i] = lane_fnma(from_0, dy, a[n + i]);
        a[2 * n + i] = lane_fnma(from_0, dz, a[2 * n + i]);
        a[0] = lane_fma(from_i, dx, a[0]);
        a[n] = lane_fma(from_i, dy, a[n]);
        a[2 * n] = lane_fma(from_i, dz, a[2 * n]);
    }
}

#endif
