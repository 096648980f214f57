/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * radiation.kern.h: radiation pressure of body 0 with Poynting-Robertson drag, to first order in v / c,
 *
 *     a_i = beta (G m_0 / r^2) [(1 - (r.v) / (r c)) r/|r| - v / c],   r = x_i - x_0, v = v_i - v_0
 *
 * Burns, Lamy & Soter 1979, Icarus 40, 1, equation 5. The light takes the momentum along: body 0 feels no reaction.
 */
enum { RADIATION_BETA, RADIATION_BODY, RADIATION_DRAG, RADIATION_C, radiation_PARAMETERS };

#ifdef SHOAL_KERNEL
#include "gravitation/force.kern.h"

LANE_FN void radiation_add(const shoal_kernel_args *k, const double *p, int n, const real *m, const real *x,
                           const real *v, real *a)
{
    const double slowness = p[RADIATION_DRAG] != 0.0 ? 1.0 / p[RADIATION_C] : 0.0;
    const real mu = p[RADIATION_BETA] * m[0];
    const lane_body centre = body_at(n, 0, m, x, v);
    (void)k;
    LANE_UNROLL_BODIES
    for (int i = 1; i < n; i++) {
        if (!body_meant(p[RADIATION_BODY], i))
            continue;
        const lane_body at = body_from(body_at(n, i, m, x, v), &centre);
        const real y = lane_rsqrt(dot(at.d, at.d)), y2 = y * y;
        const real outwards = lane_fnma(slowness * dot(at.d, at.u), y2, y);
        real f[3];
        for (int c = 0; c < 3; c++)
            f[c] = y2 * lane_fnma(lane_set(slowness), at.u[c], outwards * at.d[c]);
        body_push(n, i, body_share(p[RADIATION_BODY], m[i], mu), f, a);
    }
}

#endif
