/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gauss_radau_fixed.kern.h: Gauss-Radau integration of order 15 with steps of one length: see gauss_radau_solve.kern.h.
 */
#include "integrators/gauss_radau_solve.kern.h"

enum { RADAU_FIXED_COMPENSATED, RADAU_FIXED_PARAMETERS };

#ifdef SHOAL_KERNEL
LANE_BIG_FN void radau_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    real a[XYZ * LANE_ROOM(n)], once[XYZ * LANE_ROOM(n)], twice[XYZ * LANE_ROOM(n)];
    real f[RADAU_VECTORS(n)], b[RADAU_VECTORS(n)];
    radau_solve(k, n, m, s, h, a, f);
    radau_polynomial(n, f, b, once, twice);
    radau_move(n, compensated, h == h, s, h, a, b, once, twice);
}

LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    radau_step(k, n, compensated, m, s, h);
}

#endif
