/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gauss.kern.h: implicit Runge-Kutta methods of Gauss of order 4, 8, 12, fixed step: symplectic and symmetric.
 *
 *     X_i = x + h c_i v + h^2 sum_j (A^2)_ij f_j,   f_i = a(X_i, V_i),   V_i = v + h sum_j a_ij f_j
 *     x += h v + h^2 sum_j b_j (1 - c_j) f_j,       v += h sum_j b_j f_j
 *
 * Hairer, Lubich & Wanner, Geometric Numerical Integration, II.1.3; coefficients in gauss_tables.kern.h. The stages are
 * found by fixed-point iteration, each as soon as it is known in the equations of the next (V_i only if there are extra
 * forces), from the polynomial through the last step's stages; it ends when the change falls no more, which is at
 * rounding: any tolerance would show as a drift of the energy (Hairer, McLachlan & Razakarivony 2008, BIT 48, 231; with
 * compensated sums the energy error grows as the square root of the number of steps). With a step too long to converge
 * (h above about a third of the shortest period) the last iterate is taken.
 *
 * Tangent vectors are iterated as often as their bodies, so that each iterate is the derivative of the bodies'. From
 * one to the next the bodies' error becomes r |e| or less, and the tangent vectors' r |e'| + C |e|: both fall at the
 * same rate r, the latter about an iteration later, and the last iteration, in which the bodies' change fell no more,
 * is for it. Measured at 7 to 50 steps an orbit: forth and back they return to rounding, and no nearer if iterated on
 * until they have settled by a test of their own.
 *
 * Operations a step with s stages and `iterations` of them: iterations s (15 n (n - 1) + (6 s + 21) n) + 6 s^2 n.
 */
enum { GAUSS_ORDER, GAUSS_COMPENSATED, GAUSS_PARAMETERS };
enum {
    GAUSS_STAGES = 6,
    GAUSS_X = 0,
    GAUSS_V = XYZ,
    GAUSS_F = 2 * XYZ, /* the accelerations at each stage of the last step */
    GAUSS_EX = (2 + GAUSS_STAGES) * XYZ,
    GAUSS_EV = GAUSS_EX + XYZ,
    GAUSS_SLOTS = GAUSS_EV + XYZ
};

#ifdef SHOAL_KERNEL
#include "integrators/gauss_tables.kern.h"

enum { GAUSS_ITERATIONS = 50 };

#define PROPAGATOR_FIRST_BODY 0
#define PROPAGATOR_BARYCENTRIC
#define PROPAGATOR_SLOTS(compensated) ((compensated) ? GAUSS_SLOTS : GAUSS_EX)
#define GAUSS_AT_ROUNDING             0x1p-36 /* relative change of the forces that matters */

LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    LANE_UNROLL
    for (int c = 0; c < 2 * XYZ * n; c++)
        s[c] = w[c];
    gravity_acceleration(k, n, m, s + GAUSS_X * n, s + GAUSS_V * n, s + GAUSS_F * n);
    for (int j = 1; j < GAUSS_STAGES; j++)
        for (int c = 0; c < XYZ * n; c++)
            s[(GAUSS_F + XYZ * j) * n + c] = s[GAUSS_F * n + c];
    for (int c = GAUSS_EX * n; c < PROPAGATOR_SLOTS(1) * n; c++)
        s[c] = lane_set(0.0);
}

/* The method in work: its stages, and its first one in the tables, of numbers a stage and of numbers a pair of them. */
typedef struct gauss_method {
    int stages, first, square;
} gauss_method;

LANE_FN gauss_method gauss_chosen(const shoal_kernel_args *k)
{
    gauss_method g;
    g.stages = 2 * chosen(k, GAUSS_ORDER) + 2; /* order 4 | 8 | 12 */
    g.first = g.stages == 2 ? 0 : g.stages == 4 ? 2 : 6;
    g.square = g.stages == 2 ? 0 : g.stages == 4 ? 4 : 20;
    return g;
}

/* g = h b_j f_j as the polynomial through the last step's stages f makes them expected. */
LANE_FN void gauss_predict(gauss_method of, int n, const real *f, real h, real *g)
{
    LANE_KEEP_ROLLED
    for (int i = 0; i < of.stages; i++) {
        real *guess = g + XYZ * n * i;
        LANE_UNROLL
        for (int c = 0; c < XYZ * n; c++)
            guess[c] = lane_set(0.0);
        LANE_KEEP_ROLLED
        for (int j = 0; j < of.stages; j++) {
            const real weight = (gauss_b[of.first + i] * gauss_next[of.square + i * of.stages + j]) * h;
            LANE_UNROLL
            for (int c = 0; c < XYZ * n; c++)
                guess[c] = lane_fma(weight, f[XYZ * n * j + c], guess[c]);
        }
    }
}

/* The step from its stages g; their f are kept for the next one. */
LANE_FN void gauss_add(gauss_method of, int n, int compensated, real *s, real h, const real *g)
{
    real *x = s + GAUSS_X * n, *v = s + GAUSS_V * n, *f = s + GAUSS_F * n, *ex = s + GAUSS_EX * n,
         *ev = s + GAUSS_EV * n;
    real at[XYZ * LANE_ROOM(n)], speed[XYZ * LANE_ROOM(n)];
    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++) {
        at[c] = compensated ? -ev[c] : lane_set(0.0);
        speed[c] = lane_set(0.0);
    }
    LANE_KEEP_ROLLED
    for (int j = 0; j < of.stages; j++) {
        const real rest = lane_set(1.0 - gauss_c[of.first + j]), per_force = 1.0 / (gauss_b[of.first + j] * h);
        LANE_UNROLL
        for (int c = 0; c < XYZ * n; c++) {
            const real kick = g[XYZ * n * j + c];
            at[c] = lane_fma(rest, kick, at[c]);
            speed[c] = speed[c] + kick;
            f[XYZ * n * j + c] = per_force * kick;
        }
    }
    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++) {
        lane_add(compensated, &x[c], &ex[c], lane_fma(h, v[c], h * at[c]));
        lane_add(compensated, &v[c], &ev[c], speed[c]);
    }
}

LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    const gauss_method of = gauss_chosen(k);
    const int stages = of.stages, first = of.first, square = of.square, bodies = real_bodies(k, n);
    const real *x = s + GAUSS_X * n, *v = s + GAUSS_V * n;
    real g[GAUSS_STAGES * XYZ * LANE_ROOM(n)]; /* h b_j f_j */
    real at[XYZ * LANE_ROOM(n)], speed[XYZ * LANE_ROOM(n)], a[XYZ * LANE_ROOM(n)];
    const real zero = lane_set(0.0);
    gauss_predict(of, n, s + GAUSS_F * n, h, g);
    mask moving = h == h;
    real least = lane_set(1e300);
    LANE_KEEP_ROLLED
    for (int iteration = 0; iteration < GAUSS_ITERATIONS && team_goes_on(moving); iteration++) {
        real change = zero, size = zero;
        LANE_KEEP_ROLLED
        for (int i = 0; i < stages; i++) {
            const real weight = gauss_b[first + i] * h, c_i = lane_set(gauss_c[first + i]);
            real *g_i = g + XYZ * n * i;
            LANE_UNROLL
            for (int c = 0; c < XYZ * n; c++)
                at[c] = c_i * v[c];
            LANE_KEEP_ROLLED
            for (int j = 0; j < stages; j++) {
                const real nu = lane_set(gauss_nu[square + i * stages + j]);
                LANE_UNROLL
                for (int c = 0; c < XYZ * n; c++)
                    at[c] = lane_fma(nu, g[XYZ * n * j + c], at[c]);
            }
            LANE_UNROLL
            for (int c = 0; c < XYZ * n; c++)
                at[c] = lane_fma(h, at[c], x[c]);
            newton_acceleration(k, n, 0, m, at, a);
            if (FORCES(k)) {
                for (int c = 0; c < XYZ * n; c++)
                    speed[c] = v[c];
                for (int j = 0; j < stages; j++)
                    for (int c = 0; c < XYZ * n; c++)
                        speed[c] = lane_fma(lane_set(gauss_mu[square + i * stages + j]), g[XYZ * n * j + c], speed[c]);
                forces_add(k, n, m, at, speed, a);
            }
            LANE_UNROLL
            for (int q = 0; q < XYZ * n; q += n) {
                LANE_UNROLL
                for (int c = q; c < q + n; c++) {
                    const real now = weight * a[c];
                    if (c < q + bodies) {
                        change = lane_max(change, lane_abs(now - g_i[c]));
                        size = lane_max(size, lane_abs(now));
                    }
                    g_i[c] = lane_select(moving, now, g_i[c]);
                }
            }
        }
        change = team_max(change);
        size = team_max(size);
        moving = moving & (change > zero) & ((change < least) | (change > GAUSS_AT_ROUNDING * size));
        least = change;
    }
    gauss_add(of, n, compensated, s, h, g);
}

#endif
