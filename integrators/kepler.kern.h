/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kepler.kern.h: a body on its Kepler orbit, advanced by a time h: universal variables, every conic, always ends.
 *
 * With r0 = |x|, eta = x.v, beta = 2 mu / r0 - v^2, zeta = mu - beta r0, and G_k(X) = X^k c_k(beta X^2) (Stumpff's
 * c_k), solve
 *
 *     F(X) = r0 X + eta G_2 + zeta G_3 - h = 0,      F' = r = r0 + eta G_1 + zeta G_2 > 0
 *
 * and put   x += -(mu G_2 / r0) x + (h - mu G_3) v,   v += -(mu G_1 / (r0 r)) x - (mu G_2 / r) v (Stiefel & Scheifele
 * 1971; Wisdom & Hernandez 2015, MNRAS 453, 3015; Rein & Tamayo 2015, MNRAS 452, 376, equations 9 to 16).
 *
 * Way: a guess from the inverse series of F to fourth order; Householder's iteration of fourth order (three derivatives
 * come free) until the last correction is so small that what follows is below 3e-18 of X; it enters the G_k by Taylor's
 * series. Where that guess is none (plunging orbits, large steps), Laguerre's iteration as Conway's (Conway 1986,
 * Celest. Mech. 39, 199), on ellipses from E_1 = M_1: at most four rounds. F is monotonic, so any root is the root. For
 * lanes that do not settle, and where the terms of F cancel (hyperbolas from far to far) or those of the G_k (many
 * revolutions), kepler_careful.kern.h takes over.
 *
 * Operations a body, a division as a GPU's five: 128 with one round, 51 more a further one.
 */
#ifndef SHOAL_KEPLER_H
#define SHOAL_KEPLER_H

/* Orbits that a thread solves side by side, so that one hides the latency of the other. In likelihoods (SHOAL_OBSERVE)
 * a GPU's threads have registers for two; elsewhere more threads gain as much. */
#if defined(__CUDACC__) && TEAM <= 1 && N_BODIES <= 6 && SHOAL_ENTRIES & 32
#define KEPLER_TOGETHER 2
#else
#define KEPLER_TOGETHER 1
#endif
enum { KEPLER_FAST = 3, KEPLER_ROUNDS = 16, KEPLER_CAREFUL = 1400, KEPLER_DOUBLINGS = 520 };

/* c_2 and c_3 for |z| <= 1: Taylor's series economised to degree 7 on [-1, 1]; absolute errors 5e-18 and 1e-17. */
LANE_KEPT_TABLE double kepler_c2[] = {
    -0x1.ae8123b6a1395p-45, 0x1.939a1adc85fa4p-37, -0x1.1eed8efe5e3f4p-29, 0x1.27e4fb740590ap-22,
    -0x1.a01a01a01a038p-16, 0x1.6c16c16c16ccbp-10, -0x1.5555555555555p-5,  0.5};
LANE_KEPT_TABLE double kepler_c3[] = {-0x1.952de8bc67ff7p-49, 0x1.ae819d07a5850p-41,  -0x1.612461399fbcbp-33,
                                      0x1.ae64567c5e145p-26,  -0x1.71de3a556c73fp-19, 0x1.a01a01a01a066p-13,
                                      -0x1.1111111111111p-7,  0x1.5555555555555p-3};
LANE_FN void kepler_c23_reduced(real z, real *c2, real *c3)
{
    real p = lane_set(kepler_c2[0]), q = lane_set(kepler_c3[0]);
    LANE_UNROLL_FULLY
    for (int i = 1; i < 8; i++) {
        p = lane_fma(z, p, lane_set(kepler_c2[i]));
        q = lane_fma(z, q, lane_set(kepler_c3[i]));
    }
    *c2 = p;
    *c3 = q;
}

#include "integrators/kepler_careful.kern.h"

/* What a step of a time h from positions x and velocities v depends on, beside them. */
typedef struct kepler_orbit {
    real mu, h;
    real r0, r0_inverse, eta, beta, zeta;
} kepler_orbit;

LANE_FN kepler_orbit kepler_orbit_of(real mu, real h, const real *x, const real *v)
{
    kepler_orbit o;
    const real r2 = lane_fma(x[2], x[2], lane_fma(x[1], x[1], x[0] * x[0]));
    const real v2 = lane_fma(v[2], v[2], lane_fma(v[1], v[1], v[0] * v[0]));
    o.mu = mu;
    o.h = h;
    o.eta = lane_fma(x[2], v[2], lane_fma(x[1], v[1], x[0] * v[0]));
    o.r0_inverse = lane_rsqrt(r2);
    o.r0 = r2 * o.r0_inverse;
    o.beta = lane_fma(2.0 * mu, o.r0_inverse, -v2);
    o.zeta = lane_fnma(o.beta, o.r0, mu);
    return o;
}

/* c_2 and c_3 where |z| may be above 1: it is quartered, then they are doubled up again: c_2(4z) = c_1^2 / 2, c_3(4z) =
 * (c_2 + c_0 c_3) / 4. */
LANE_FN void kepler_c23(real z, real *c2, real *c3)
{
    const real one = lane_set(1.0);
    real quarterings = lane_set(0.0);
    mask large = lane_abs(z) > one;
    for (int i = 0; i < KEPLER_DOUBLINGS && lane_any(large); i++) {
        z = lane_select(large, 0.25 * z, z);
        quarterings = lane_select(large, quarterings + 1.0, quarterings);
        large = lane_abs(z) > one;
    }
    kepler_c23_reduced(z, c2, c3);
    large = quarterings > lane_set(0.0);
    for (int i = 0; i < KEPLER_DOUBLINGS && lane_any(large); i++) {
        real c0 = lane_fnma(z, *c2, one), c1 = lane_fnma(z, *c3, one);
        *c3 = lane_select(large, 0.25 * lane_fma(c0, *c3, *c2), *c3);
        *c2 = lane_select(large, 0.5 * c1 * c1, *c2);
        z = lane_select(large, 4.0 * z, z);
        quarterings = quarterings - 1.0;
        large = quarterings > lane_set(0.0);
    }
}

/* g[i][0..3], of each of n orbits: G_0..G_3 at X[i]. Returns whether any lane has |beta X^2| > 1. */
LANE_FN bool kepler_g(int n, const kepler_orbit *o, const real *X, real (*g)[5])
{
    const real one = lane_set(1.0);
    bool far = false;
    LANE_UNROLL_FULLY
    for (int i = 0; i < n; i++)
        far = far | lane_any(lane_abs(o[i].beta * (X[i] * X[i])) > one);
    if (far) {
        LANE_UNROLL_FULLY
        for (int i = 0; i < n; i++)
            kepler_c23(o[i].beta * (X[i] * X[i]), &g[i][2], &g[i][3]);
    } else {
        LANE_UNROLL_FULLY
        for (int i = 0; i < n; i++)
            kepler_c23_reduced(o[i].beta * (X[i] * X[i]), &g[i][2], &g[i][3]);
    }
    LANE_UNROLL_FULLY
    for (int i = 0; i < n; i++) {
        const real X2 = X[i] * X[i];
        g[i][2] = X2 * g[i][2];
        g[i][3] = X[i] * X2 * g[i][3];
        g[i][1] = lane_fnma(o[i].beta, g[i][3], X[i]);
        g[i][0] = lane_fnma(o[i].beta, g[i][2], one);
    }
    return far;
}

/* A guess of X where others fail. On an ellipse the eccentric anomaly E_1 of the end is about its mean anomaly: X =
 * (E_1 - E_0) / sqrt(beta), with e sin E_0 = eta sqrt(beta) / mu; at least a tenth of the way of a circle. */
LANE_FN real kepler_far_guess(const kepler_orbit *o)
{
    const real circle = o->beta * o->h, least = lane_set(0.1) * circle, way = circle - o->eta;
    const mask enough = way * o->h > least * o->h;
    return lane_select(o->beta > lane_set(0.0), lane_select(enough, way, least) / o->mu, o->h * o->r0_inverse);
}

/* A guess of X: F = r0 (X + b2 X^2 + b3 X^3 + b4 X^4 + ...) - h, inverted, is X = s (1 - b2 s + (2 b2^2 - b3) s^2 +
 * ...), s = h / r0. *lost: the lanes of ellipses where this series does not converge. */
LANE_FN real kepler_guess(const kepler_orbit *o, mask *lost)
{
    const real s = o->h * o->r0_inverse, ratio = s * o->r0_inverse;
    const real t2 = 0.5 * o->eta * ratio, t3 = lane_set(1.0 / 6.0) * o->zeta * (ratio * s);
    const real t4 = lane_set(-1.0 / 12.0) * o->beta * (s * s);
    real u = lane_fma(t2, t2, -t3);
    u = lane_fma(lane_fma(lane_set(-5.0), u, -t4), t2, lane_fma(t2, t2, u)) - t2;
    *lost = lane_not(lane_abs(u) < lane_set(0.5)) & (o->beta > lane_set(0.0));
    return lane_fma(s, u, s);
}

/* G_k(X + change) from G_k(X), k = 1..3: G_k' = G_{k-1}, G_0' = -beta G_1. */
LANE_FN void kepler_refine(real beta, real change, real *g)
{
    const real half = 0.5 * change, part = lane_set(1.0 / 3.0) * change;
    const real higher = lane_fma(part, g[0], g[1]), lower = lane_fnma(part * beta, g[1], g[0]);
    g[3] = lane_fma(change, lane_fma(half, higher, g[2]), g[3]);
    g[2] = lane_fma(change, lane_fma(half, lower, g[1]), g[2]);
    g[1] = lane_fma(change, lane_fnma(half * beta, higher, g[0]), g[1]);
}

/* g[i][0..3], of each of n orbits: G_0..G_3 at the root of F; g[i][0] is not refined; g[i][4]: X, or 0 where there is
 * none. poor[i]: the lanes that kepler_careful has to solve; returns whether there are any.
 *
 * With F = F' (-d + x + A x^2 + B x^3 + C x^4 + ...), x = d (1 - A d + (2 A^2 - B) d^2 + (5 A B - 5 A^3 - C) d^3 ...).
 * The last of these terms is left out; C = -beta A / 12. A lane is settled where |d| <= 3e-5 |X|, 2 |A d| <= 3e-5 and
 * |B| d^2 <= 1e-9: that term is below 1e-13 d. Of G_2 / X^2 Taylor's series leaves beta x^4 / (12 X^2) or 1e-19. */
LANE_FN bool kepler_solve(int n, const kepler_orbit *o, real (*g)[5], mask *poor)
{
    const real one = lane_set(1.0);
    real X[KEPLER_TOGETHER], change[KEPLER_TOGETHER];
    mask moving[KEPLER_TOGETHER], unsettled[KEPLER_TOGETHER], lost[KEPLER_TOGETHER];
    bool far = false, any_lost = false, any_poor = false;
    LANE_UNROLL_FULLY
    for (int i = 0; i < n; i++) {
        unsettled[i] = moving[i] = o[i].h != lane_set(0.0);
        change[i] = lane_set(0.0);
        X[i] = kepler_guess(&o[i], &lost[i]);
        any_lost = any_lost | lane_any(lost[i]);
    }
    if (any_lost) {
        LANE_UNROLL_FULLY
        for (int i = 0; i < n; i++)
            X[i] = lane_select(lost[i], kepler_far_guess(&o[i]), X[i]);
    }
    LANE_KEEP_ROLLED
    for (int round = 0; round <= KEPLER_ROUNDS; round++) {
        real next[KEPLER_TOGETHER], F[KEPLER_TOGETHER], r[KEPLER_TOGETHER], r1[KEPLER_TOGETHER];
        bool goes_on = false;
        far = kepler_g(n, o, X, g);
        LANE_UNROLL_FULLY
        for (int i = 0; i < n; i++) {
            const real h = o[i].h, eta = o[i].eta, beta = o[i].beta, zeta = o[i].zeta;
            F[i] = lane_fma(o[i].r0, X[i], lane_fma(eta, g[i][2], lane_fma(zeta, g[i][3], -h)));
            r[i] = lane_fma(eta, g[i][1], lane_fma(zeta, g[i][2], o[i].r0));
            r1[i] = lane_fma(eta, g[i][0], zeta * g[i][1]);               /* F'' */
            real r2nd = lane_fma(zeta, g[i][0], -(beta * eta) * g[i][1]); /* F''' */
            real q = one / r[i];
            real d = -(F[i] * q);                    /* Newton's correction */
            const real dq = d * q, a2 = -r1[i] * dq; /* twice a_2 */
            const real a3 = lane_set(-1.0 / 6.0) * r2nd * (d * dq);
            change[i] = lane_fma(d, lane_fma(a2, lane_fma(a2, lane_set(0.5), lane_set(0.5)), a3), d);
            next[i] = X[i] + change[i];
            /* far from the root the G_k lose all digits and d may look small: F itself must be small too */
            unsettled[i] = moving[i] & lane_not((lane_abs(d) <= lane_set(3e-5) * lane_abs(X[i])) &
                                                (lane_abs(a2) <= lane_set(3e-5)) & (lane_abs(a3) <= lane_set(1e-9)) &
                                                (lane_abs(F[i]) <= lane_set(1e-3) * lane_abs(h)));
            goes_on = goes_on | lane_any(unsettled[i]);
        }
        if (!goes_on)
            break;
        if (any_lost) {
            LANE_UNROLL_FULLY
            for (int i = 0; i < n; i++) /* Laguerre's */
                next[i] = lane_select(
                    lost[i],
                    X[i] - 5.0 * F[i] / (r[i] + lane_sqrt(lane_abs(lane_fnma(20.0 * F[i], r1[i], 16.0 * r[i] * r[i])))),
                    next[i]);
        }
        if (round == KEPLER_FAST) {
            any_lost = true;
            LANE_UNROLL_FULLY
            for (int i = 0; i < n; i++) {
                next[i] = lane_select(lost[i], next[i], kepler_far_guess(&o[i]));
                lost[i] = moving[i];
            }
        }
        LANE_UNROLL_FULLY
        for (int i = 0; i < n; i++) /* a settled lane repeats its last round: neighbours change no bits */
            X[i] = lane_select(unsettled[i], next[i], X[i]);
    }
    LANE_UNROLL_FULLY
    for (int i = 0; i < n; i++) {
        const real beta = o[i].beta;
        poor[i] = unsettled[i];
        if (far) {
            const real angle = beta * (X[i] * X[i]);
            poor[i] = poor[i] | (moving[i] & (lane_abs(angle) > one) &
                                 ((lane_abs(o[i].eta * g[i][2]) > 8.0 * lane_abs(o[i].h)) | (angle > lane_set(40.0))));
        }
        any_poor = any_poor | lane_any(poor[i]);
        g[i][4] = lane_select(unsettled[i], lane_set(0.0), X[i] + change[i]);
        kepler_refine(beta, change[i], g[i]);
    }
    return any_poor;
}

/* A step that was solved, for tangent vectors (kepler_tangent.kern.h): G_0..G_3 and X at the root and 1 / r there, but
 * not in the lanes `poor`. */
typedef struct kepler_solution {
    kepler_orbit orbit;
    real g[4], X, r_inverse;
    mask poor;
} kepler_solution;

/*
 * A step of a time h of each of n bodies, KEPLER_TOGETHER at most, about the masses mu.
 *   s   [n][6]: x, v before the step       d   [n][6]: what the step adds to them
 *   solved   out   [n] or NULL
 */
LANE_FN void kepler_changes(int n, const real *mu, real h, real (*s)[6], real (*d)[6], kepler_solution *solved)
{
    kepler_orbit o[KEPLER_TOGETHER];
    real g[KEPLER_TOGETHER][5];
    mask poor[KEPLER_TOGETHER];
    const mask moving = h != lane_set(0.0);
    LANE_UNROLL_FULLY
    for (int i = 0; i < n; i++)
        o[i] = kepler_orbit_of(mu[i], h, s[i], s[i] + 3);
    const bool any_poor = kepler_solve(n, o, g, poor);
    LANE_UNROLL_FULLY
    for (int i = 0; i < n; i++) {
        const real r_inverse = lane_set(1.0) / lane_fma(o[i].eta, g[i][1], lane_fma(o[i].zeta, g[i][2], o[i].r0));
        real F = -(mu[i] * g[i][2]) * o[i].r0_inverse, G = lane_fnma(mu[i], g[i][3], h);
        real Fd = -(mu[i] * g[i][1]) * o[i].r0_inverse * r_inverse, Gd = -(mu[i] * g[i][2]) * r_inverse;
        F = lane_select(moving, F, lane_set(0.0));
        G = lane_select(moving, G, lane_set(0.0));
        Fd = lane_select(moving, Fd, lane_set(0.0));
        Gd = lane_select(moving, Gd, lane_set(0.0));
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++) {
            d[i][c] = lane_fma(G, s[i][3 + c], F * s[i][c]);
            d[i][3 + c] = lane_fma(Gd, s[i][3 + c], Fd * s[i][c]);
        }
        if (solved) {
            const kepler_solution at = {o[i],
                                        {lane_fnma(o[i].beta, g[i][2], lane_set(1.0)), g[i][1], g[i][2], g[i][3]},
                                        g[i][4],
                                        r_inverse,
                                        poor[i]};
            solved[i] = at;
        }
    }
    if (!any_poor)
        return;
    LANE_UNROLL_FULLY
    for (int i = 0; i < n; i++) {
        if (!lane_any(poor[i]))
            continue;
        const kepler_state careful = kepler_careful(poor[i], mu[i], h, kepler_state_of(s[i], s[i] + 3), g[i][4]);
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++) {
            d[i][c] = lane_select(poor[i], careful.x[c], d[i][c]);
            d[i][3 + c] = lane_select(poor[i], careful.v[c], d[i][3 + c]);
        }
    }
}

/* The same of one body, whose numbers are n apart in s. */
LANE_FN void kepler_change(real mu, real h, int n, const real *s, real *d, kepler_solution *solved)
{
    real from[1][6], to[1][6];
    LANE_UNROLL_FULLY
    for (int c = 0; c < 6; c++)
        from[0][c] = s[c * n];
    kepler_changes(1, &mu, h, from, to, solved);
    LANE_UNROLL_FULLY
    for (int c = 0; c < 6; c++)
        d[c] = to[0][c];
}

#endif
