/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * j2.kern.h: the flattening of one body b of radius R: zonal harmonics J_2 and J_4 about its axis n, on every other
 * body,
 *
 *     Phi = (G m_b / r) sum_k J_k (R / r)^k P_k(s),   r = x_i - x_b,   s = n.r / r
 *     a_i = G m_b sum_k J_k R^k / r^(k+2) [P'_(k+1)(s) r/|r| - P'_k(s) n],   a_b -= (m_i / m_b) a_i
 *
 * (Murray & Dermott 1999, Solar System Dynamics, section 6.11.) P'_2 = 3s, P'_3 = (15 s^2 - 3)/2, P'_4 = (35 s^3 - 15
 * s)/2, P'_5 = (315 s^4 - 210 s^2 + 15)/8. The axis stands still.
 */
enum { J2_BODY, J2_RADIUS, J2_J2, J2_J4, J2_AXIS, j2_PARAMETERS = J2_AXIS + 3 };

#ifdef SHOAL_KERNEL
#include "gravitation/force.kern.h"

LANE_FN void j2_add(const shoal_kernel_args *k, const double *p, int n, const real *m, const real *x, const real *v,
                    real *a)
{
    const double r2 = p[J2_RADIUS] * p[J2_RADIUS], j2 = p[J2_J2] * r2, j4 = p[J2_J4] * (r2 * r2);
    const lane_body centre = body_named(n, p[J2_BODY], m, x, v);
    real axis[3], back[3] = {};
    (void)k;
    unit_vector(p + J2_AXIS, axis);
    LANE_UNROLL_BODIES
    for (int i = 0; i < n; i++) {
        if (i == p[J2_BODY])
            continue;
        const lane_body at = body_from(body_at(n, i, m, x, v), &centre);
        const real y = lane_rsqrt(dot(at.d, at.d)), y2 = y * y, s = y * dot(at.d, axis), s2 = s * s;
        const real two = j2 * y2, four = j4 * (y2 * y2);
        const real outwards = lane_fma(
            two, lane_fma(lane_set(7.5), s2, lane_set(-1.5)),
            four * lane_fma(lane_fma(lane_set(39.375), s2, lane_set(-26.25)), s2, lane_set(1.875)));
        const real along = s * lane_fma(two, lane_set(3.0), four * lane_fma(lane_set(17.5), s2, lane_set(-7.5)));
        real f[3];
        for (int c = 0; c < 3; c++) {
            f[c] = y2 * lane_fnma(along, axis[c], outwards * y * at.d[c]);
            back[c] = lane_fnma(at.m, f[c], back[c]);
        }
        body_push(n, i, centre.m, f, a);
    }
    body_push_named(n, p[J2_BODY], lane_set(1.0), back, a);
}

#endif
