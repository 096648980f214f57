/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gas_drag.kern.h: aerodynamic drag on solid spheres of radius s and density rho_s in a gas disc about body 0, in its
 * reference plane,
 *
 *     a = -(3 C_D / 8 s) (rho / rho_s) |u| u,   u = v - v_gas
 *     rho = rho_0 (R/R_0)^-alpha exp(-z^2 / 2h^2),   h = h_0 R_0 (R/R_0)^f,   v_gas^2 = (G m_0 / R) (1 - 2 eta),
 *     eta = (alpha + 3 - 2f) (h / R)^2 / 2
 *
 * R, z cylindrical coordinates about body 0; the gas turns from x to y, slower than Kepler by the gradient of its
 * pressure in the plane z = 0. Adachi, Hayashi & Nakazawa 1976, Prog. Theor. Phys. 56, 1756. alpha and f are multiples
 * of 1/4: powers are taken from a fourth root. Body 0 feels no reaction.
 */
enum { GAS_BODY, GAS_SIZE, GAS_DENSITY, GAS_CD, GAS_R0, GAS_ALPHA, GAS_H0, GAS_F, gas_drag_PARAMETERS };

#ifdef SHOAL_KERNEL
#include "gravitation/force.kern.h"

/* base^exponent, the exponent being the same for all lanes */
LANE_FN real gas_power(real base, int exponent)
{
    const real factor = exponent < 0 ? 1.0 / base : base;
    real power = lane_set(1.0);
    LANE_KEEP_ROLLED
    for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--)
        power = power * factor;
    return power;
}

/* exp(-x), x >= 0, to about 1e-15: exp(-x / 2^12) - 1 by its series (x < 700: to 1e-18), doubled twelve times. */
LANE_FN real gas_exp_minus(real x)
{
    const real t = lane_min(x, lane_set(700.0)) * lane_set(-0x1p-12);
    real series = lane_set(1.0);
    LANE_KEEP_ROLLED
    for (int i = 11; i > 1; i--)
        series = lane_fma(series, t * lane_set(1.0 / i), lane_set(1.0));
    series = series * t;
    LANE_KEEP_ROLLED
    for (int i = 0; i < 12; i++)
        series = lane_fma(series, series, 2.0 * series);
    return lane_max(series + 1.0, lane_set(0.0));
}

LANE_FN void gas_drag_add(const shoal_kernel_args *k, const double *p, int n, const real *m, const real *x,
                          const real *v, real *a)
{
    const int alpha4 = (int)(4.0 * p[GAS_ALPHA]), f4 = (int)(4.0 * p[GAS_F]);
    const double strength = -0.375 * p[GAS_CD] * p[GAS_DENSITY] / p[GAS_SIZE],
                 gradient = p[GAS_ALPHA] + 3.0 - 2.0 * p[GAS_F];
    const lane_body centre = body_at(n, 0, m, x, v);
    (void)k;
    LANE_UNROLL_BODIES
    for (int i = 1; i < n; i++) {
        if (!body_meant(p[GAS_BODY], i))
            continue;
        lane_body at = body_from(body_at(n, i, m, x, v), &centre);
        const real R = lane_sqrt(lane_fma(at.d[1], at.d[1], at.d[0] * at.d[0]));
        const real root = lane_sqrt(lane_sqrt(R * (1.0 / p[GAS_R0]))), aspect = p[GAS_H0] * gas_power(root, f4 - 4);
        const real height = at.d[2] / (aspect * R);
        const real density = gas_power(root, -alpha4) * gas_exp_minus(0.5 * height * height);
        const real slower = lane_max(lane_fnma(gradient * aspect, aspect, lane_set(1.0)), lane_set(0.0));
        const real turn = lane_sqrt(m[0] * slower / R) / R;
        at.u[0] = lane_fma(turn, at.d[1], at.u[0]);
        at.u[1] = lane_fnma(turn, at.d[0], at.u[1]);
        body_push(n, i, body_share(p[GAS_BODY], m[i], strength * density * lane_sqrt(dot(at.u, at.u))), at.u, a);
    }
}

#endif
