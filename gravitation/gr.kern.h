/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gr.kern.h: general relativity to first post-Newtonian order for bodies around one dominant mass, body 0 (harmonic
 * coordinates),
 *
 *     a_i = G m_0 / (c^2 r^3) [(4 G m_0 / r - v^2) r + 4 (r.v) v],   a_0 -= (m_i / m_0) a_i,   r = x_i - x_0, v = v_i -
 *         v_0
 *
 * Anderson, Esposito, Martin, Thornton & Muhleman 1975, ApJ 200, 221: what remains for m_i << m_0 of the full equations
 * of motion (Newhall, Standish & Williams 1983, A&A 125, 150, equation 1). Left out: terms smaller than these by m_i /
 * m_0.
 */
enum { GR_C, gr_PARAMETERS };

#ifdef SHOAL_KERNEL
#include "gravitation/force.kern.h"

LANE_FN void gr_add(const shoal_kernel_args *k, const double *p, int n, const real *m, const real *x, const real *v,
                    real *a)
{
    const real factor = lane_set(1.0 / (p[GR_C] * p[GR_C])), mu = m[0];
    const lane_body centre = body_at(n, 0, m, x, v);
    (void)k;
    LANE_UNROLL_BODIES
    for (int i = 1; i < n; i++) {
        const lane_body at = body_from(body_at(n, i, m, x, v), &centre);
        const real y = lane_rsqrt(dot(at.d, at.d)), scale = factor * y * y * y;
        const real along = scale * lane_fma(4.0 * mu, y, -dot(at.u, at.u)), across = scale * (4.0 * dot(at.d, at.u));
        real f[3];
        for (int c = 0; c < 3; c++)
            f[c] = lane_fma(along, at.d[c], across * at.u[c]);
        body_push(n, i, mu, f, a);
        body_push(n, 0, -m[i], f, a);
    }
}

#endif
