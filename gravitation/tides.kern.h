/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tides.kern.h: the tide that one body p raises on another, b, of radius R and Love number k_2, with a constant time
 * lag tau: b's bulge points to where p was tau ago in the frame that turns with b. r = x_p - x_b, v = v_p - v_b, Omega
 * b's spin (it is kept):
 *
 *     F_p = -3 G k_2 m_p^2 R^5 / r^8 { r + tau [2 (r.v) r / r^2 + v - Omega x r] },   F_b = -F_p
 *
 * Mignard 1979, Moon and Planets 20, 301; Hut 1981, A&A 99, 126, equation 8, whose k is this k_2.
 */
enum {
    TIDES_BODY,
    TIDES_BY,
    TIDES_RADIUS,
    TIDES_K2,
    TIDES_TAU,
    TIDES_SPIN,
    TIDES_AXIS,
    tides_PARAMETERS = TIDES_AXIS + 3
};

#ifdef SHOAL_KERNEL
#include "gravitation/force.kern.h"

LANE_FN void tides_add(const shoal_kernel_args *k, const double *p, int n, const real *m, const real *x, const real *v,
                       real *a)
{
    const double r2 = p[TIDES_RADIUS] * p[TIDES_RADIUS], size = -3.0 * p[TIDES_K2] * (r2 * r2 * p[TIDES_RADIUS]);
    const lane_body raised = body_named(n, p[TIDES_BODY], m, x, v),
                    at = body_from(body_named(n, p[TIDES_BY], m, x, v), &raised);
    const real y2 = 1.0 / dot(at.d, at.d);
    const real scale = size * (y2 * y2) * (y2 * y2), tau = lane_set(p[TIDES_TAU]);
    const real along = lane_fma(2.0 * tau, dot(at.d, at.u) * y2, lane_set(1.0));
    real spin[3], f[3];
    (void)k;
    unit_vector(p + TIDES_AXIS, spin);
    for (int c = 0; c < 3; c++) {
        const int c1 = (c + 1) % 3, c2 = (c + 2) % 3;
        const real turned = p[TIDES_SPIN] * lane_fnma(spin[c2], at.d[c1], spin[c1] * at.d[c2]);
        f[c] = scale * lane_fma(along, at.d[c], tau * (at.u[c] - turned));
    }
    body_push_named(n, p[TIDES_BY], at.m, f, a);
    body_push_named(n, p[TIDES_BODY], lane_select(is_there(raised.m), -(at.m * at.m) / raised.m, lane_set(0.0)), f, a);
}

#endif
