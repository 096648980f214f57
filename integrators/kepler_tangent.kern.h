/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kepler_tangent.kern.h: how the end of a Kepler step (kepler.kern.h) changes with its beginning, in closed form.
 *
 * With x1 = x + F x + G v, v1 = v + Fd x + Gd v and
 *
 *     F = -mu G_2 / r0,   G = h - mu G_3,   Fd = -mu G_1 / (r0 r),   Gd = -mu G_2 / r,   r = r0 + eta G_1 + zeta G_2
 *
 * a change (dx, dv) changes r0 by x.dx / r0, eta by v.dx + x.dv, beta by -2 (mu dr0 / r0^2 + v.dv), zeta by -(r0 dbeta
 * + beta dr0), and
 *
 *     dG_k = G_{k-1} dX + (k G_{k+2} - X G_{k+1}) dbeta / 2,    r dX = -[X dr0 + G_2 deta + G_3 dzeta + (eta dG_2 +
 *         zeta dG_3 at dX = 0)]
 *
 * (Mikkola & Innanen 1999, Celest. Mech. Dyn. Astron. 74, 59; Rein & Tamayo 2015, MNRAS 452, 376). X and the G_k are
 * those of the step. Where kepler_careful.kern.h has solved it, X follows from the end of the step, mu X = eta_1 -
 * eta_0 + beta h, sharpened by one step of Newton's.
 *
 * Operations a body: about 140.
 */

/* c_4 and c_5 for |z| <= 1, Taylor's series to degree 7: relative errors below 1e-17. */
LANE_KEPT_TABLE double kepler_c4[] = {-0x1.6827863b97d97p-53, 0x1.ae7f3e733b81fp-45,  -0x1.93974a8c07c9dp-37,
                                      0x1.1eed8eff8d898p-29,  -0x1.27e4fb7789f5cp-22, 0x1.a01a01a01a01ap-16,
                                      -0x1.6c16c16c16c17p-10, 0x1.5555555555555p-5};
LANE_KEPT_TABLE double kepler_c5[] = {-0x1.2f49b46814157p-57, 0x1.952c77030ad4ap-49,  -0x1.ae7f3e733b81fp-41,
                                      0x1.6124613a86d09p-33,  -0x1.ae64567f544e4p-26, 0x1.71de3a556c734p-19,
                                      -0x1.a01a01a01a01ap-13, 0x1.1111111111111p-7};
LANE_FN void kepler_c45_reduced(real z, real *c4, real *c5)
{
    real p = lane_set(kepler_c4[0]), q = lane_set(kepler_c5[0]);
    LANE_UNROLL_FULLY
    for (int i = 1; i < 8; i++) {
        p = lane_fma(z, p, lane_set(kepler_c4[i]));
        q = lane_fma(z, q, lane_set(kepler_c5[i]));
    }
    *c4 = p;
    *c5 = q;
}

/* How a change e of d changes d / |d|^3, y = 1 / |d|: (e - 3 (d.e) d / |d|^2) / |d|^3 */
LANE_FN void pull_tangent(const real *d, const real *e, real y, real *change)
{
    const real q = -3.0 * lane_fma(d[2], e[2], lane_fma(d[1], e[1], d[0] * e[0])) * y * y, y3 = y * y * y;
    for (int c = 0; c < 3; c++)
        change[c] = y3 * lane_fma(q, d[c], e[c]);
}

/* Of a step that kepler_careful has solved: the G_k, X and 1 / r from what it adds, d. */
LANE_FN void kepler_solve_again(const real *x, const real *v, const real *d, kepler_solution *at)
{
    const kepler_orbit o = at->orbit;
    real turn = o.beta * o.h, G[1][5]; /* eta_1 - eta_0 = x.d_v + v.d_x + d_x.d_v */
    LANE_UNROLL
    for (int c = 0; c < 3; c++)
        turn = lane_fma(x[c], d[3 + c], lane_fma(d[c], v[c] + d[3 + c], turn));
    real X = turn / o.mu;
    (void)kepler_g(1, &o, &X, G);
    const real miss = lane_fma(o.r0, X, lane_fma(o.eta, G[0][2], lane_fma(o.zeta, G[0][3], -o.h)));
    X = X - miss / lane_fma(o.eta, G[0][1], lane_fma(o.zeta, G[0][2], o.r0));
    (void)kepler_g(1, &o, &X, G);
    for (int k = 0; k < 4; k++)
        at->g[k] = lane_select(at->poor, G[0][k], at->g[k]);
    at->X = lane_select(at->poor, X, at->X);
    at->r_inverse = lane_select(at->poor, lane_set(1.0) / lane_fma(o.eta, G[0][1], lane_fma(o.zeta, G[0][2], o.r0)),
                                at->r_inverse);
}

/*
 * The change of (dx, dv) in the step.
 *   s   [6], stride n: x, v before the step       d  [6]: what the step adds to them
 *   t   [6], stride n: dx, dv before the step     e  [6]: what the step adds to those
 */
LANE_FN void kepler_tangent(const kepler_solution *solved, int n, const real *s, const real *d, const real *t, real *e)
{
    const real one = lane_set(1.0), third = lane_set(1.0 / 3.0);
    const real x[3] = {s[0], s[n], s[2 * n]}, v[3] = {s[3 * n], s[4 * n], s[5 * n]};
    const real dx[3] = {t[0], t[n], t[2 * n]}, dv[3] = {t[3 * n], t[4 * n], t[5 * n]};
    kepler_solution at = *solved;
    if (lane_any(at.poor))
        kepler_solve_again(x, v, d, &at);
    const real mu = at.orbit.mu, h = at.orbit.h, eta = at.orbit.eta, beta = at.orbit.beta, zeta = at.orbit.zeta;
    const real r0 = at.orbit.r0, r0_inverse = at.orbit.r0_inverse, r_inverse = at.r_inverse, X = at.X;
    const real g0 = at.g[0], g1 = at.g[1], g2 = at.g[2], g3 = at.g[3];

    const real X2 = X * X, z = beta * X2;
    const mask series = lane_abs(z) <= one;
    real g4, g5;
    kepler_c45_reduced(z, &g4, &g5);
    g4 = X2 * X2 * g4;
    g5 = X2 * X2 * X * g5;
    if (lane_any(lane_not(series))) {
        g4 = lane_select(series, g4, lane_fma(lane_set(0.5), X2, -g2) / beta);
        g5 = lane_select(series, g5, lane_fma(0.5 * third * X, X2, -g3) / beta);
    }

    real dr0 = lane_fma(x[2], dx[2], lane_fma(x[1], dx[1], x[0] * dx[0])) * r0_inverse;
    real deta = lane_fma(v[2], dx[2], lane_fma(v[1], dx[1], v[0] * dx[0]));
    deta = lane_fma(x[2], dv[2], lane_fma(x[1], dv[1], lane_fma(x[0], dv[0], deta)));
    real dbeta = lane_fma(v[2], dv[2], lane_fma(v[1], dv[1], v[0] * dv[0]));
    dbeta = -2.0 * lane_fma(mu * r0_inverse * r0_inverse, dr0, dbeta);
    real dzeta = -lane_fma(r0, dbeta, beta * dr0);

    real half = 0.5 * dbeta; /* dG_k at X, then with dX */
    real dg1 = half * lane_fnma(X, g2, g3);
    real dg2 = half * lane_fnma(X, g3, 2.0 * g4);
    real dg3 = half * lane_fnma(X, g4, 3.0 * g5);
    real dX = lane_fma(X, dr0, lane_fma(g2, deta, lane_fma(g3, dzeta, lane_fma(eta, dg2, zeta * dg3))));
    dX = -dX * r_inverse;
    dg1 = lane_fma(g0, dX, dg1);
    dg2 = lane_fma(g1, dX, dg2);
    dg3 = lane_fma(g2, dX, dg3);
    real dr = lane_fma(deta, g1, lane_fma(eta, dg1, lane_fma(dzeta, g2, lane_fma(zeta, dg2, dr0))));

    real f = -(mu * g2) * r0_inverse, g = lane_fnma(mu, g3, h);
    real fd = -(mu * g1) * r0_inverse * r_inverse, gd = -(mu * g2) * r_inverse;
    real df = -lane_fma(mu * dg2, r0_inverse, f * dr0 * r0_inverse);
    real dg = -(mu * dg3);
    real dfd = -lane_fma(mu * dg1 * r0_inverse, r_inverse, fd * lane_fma(dr0, r0_inverse, dr * r_inverse));
    real dgd = -lane_fma(mu * dg2, r_inverse, gd * dr * r_inverse);
    LANE_UNROLL
    for (int c = 0; c < 3; c++) {
        e[c] = lane_fma(f, dx[c], lane_fma(g, dv[c], lane_fma(df, x[c], dg * v[c])));
        e[3 + c] = lane_fma(fd, dx[c], lane_fma(gd, dv[c], lane_fma(dfd, x[c], dgd * v[c])));
    }
}
