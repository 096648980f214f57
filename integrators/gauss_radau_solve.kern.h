/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gauss_radau_solve.kern.h: a step of Gauss-Radau integration of order 15; what gauss_radau (adaptive) and
 * gauss_radau_fixed share.
 *
 * The acceleration along a step of length h is a polynomial through its values at eight nodes s = 0, c_1, ..., c_7 of
 * [0, 1],
 *
 *     a(s) = a_0 + sum_j f_j l_j(s) = a_0 + sum_k b_k s^(k+1),    f_j = a(c_j) - a_0,  b_k: k = 0..6
 *     x(s) = x_0 + h s (v_0 + h (a_0 s/2 + s^-1 sum_j f_j II l_j)),  v(s) = v_0 + h (a_0 s + sum_j f_j I l_j)
 *
 * with I, II integrals from 0 to s: the coefficients are tables. The f are found by iteration, node by node with the
 * latest values of the others, beginning with the last step's polynomial continued: b_k = q^(k+1) sum_j>=k C(j+1, k+1)
 * b_j, q the ratio of the steps. (To correct this by what it was wrong by the last time, equation 14 of Rein & Spiegel,
 * was measured to save no iteration: each of them gains five digits.)
 *
 * Tangent vectors are iterated as often as their bodies, and settle with them: see gauss.kern.h.
 *
 * Energy errors are to grow like a random walk (Brouwer's law), so that nothing may be rounded in a preferred sense:
 * nodes are doubles and the tables belong to these doubles; the linear part d s of a, d = f_7 / c_7, is taken out
 * before anything is multiplied by a rounded coefficient; h multiplies sums, not coefficients; and h a and h v are
 * added with their rounding errors.
 *
 * Everhart 1985, in: Dynamics of Comets, IAU Coll. 83, 185; Rein & Spiegel 2015, MNRAS 446, 1424;
 * Hairer, McLachlan & Razakarivony 2008, BIT 48, 231 (rounding errors of implicit Runge-Kutta methods).
 *
 * Operations a step of n bodies: i 7 (15 n (n - 1) + 39 n) + 15 n (n - 1) + 600 n; i, the iterations: 2 or 3.
 */
#ifndef SHOAL_GAUSS_RADAU_SOLVE_KERN_H
#define SHOAL_GAUSS_RADAU_SOLVE_KERN_H

enum {
    RADAU_X = 0,
    RADAU_V = XYZ,
    RADAU_B = 2 * XYZ,  /* b_0, ..., b_6 of the last step */
    RADAU_EX = 9 * XYZ, /* rounding errors: the position is x - ex; 0 without compensation */
    RADAU_EV = 10 * XYZ,
    RADAU_SLOTS = 11 * XYZ
};
enum { RADAU_LENGTH, RADAU_OWN }; /* of the last step, 0 before the first */

#ifdef SHOAL_KERNEL
#include "integrators/gauss_radau_table.kern.h"

#define RADAU_NEGLIGIBLE \
    0x1p-66 /* error of the accelerations: of one sense, it is to stay below their rounding over 1e8 steps */

enum { RADAU_ITERATIONS = 12 };

#define PROPAGATOR_FIRST_BODY 0
#define PROPAGATOR_BARYCENTRIC
#define PROPAGATOR_SLOTS(compensated) RADAU_SLOTS
#define PROPAGATOR_OWN                RADAU_OWN
#define RADAU_LAST(n)                 (PROPAGATOR_SLOTS(1) * (n))

/* What a step works with. Vectors are [XYZ * n], component * n + body; f and b are seven of them. */
#define RADAU_VECTORS(n) (RADAU_NODES * XYZ * LANE_ROOM(n))

LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    (void)k;
    (void)m;
    LANE_UNROLL_FEW
    for (int c = 0; c < 2 * XYZ * n; c++)
        s[c] = w[c];
    for (int c = 2 * XYZ * n; c <= RADAU_LAST(n); c++)
        s[c] = lane_set(0.0);
}

/* f as the last step's polynomial makes it expected for a step h. */
LANE_FN void radau_predict(int n, const real *s, real h, real *f)
{
    const int size = XYZ * n;
    const real zero = lane_set(0.0), last = s[RADAU_LAST(n)], q = lane_select(last == zero, zero, h / last);
    LANE_UNROLL_FEW
    for (int c = 0; c < size; c++) {
        real p[RADAU_NODES], power = q;
        LANE_UNROLL
        for (int k = 0; k < RADAU_NODES; k++)
            p[k] = s[RADAU_B * n + k * size + c];
        LANE_UNROLL
        for (int round = 0; round < RADAU_NODES; round++) { /* the polynomial about s = 1: Horner's scheme */
            LANE_UNROLL
            for (int k = RADAU_NODES - 2; k >= 0; k--)
                if (k + 1 >= round)
                    p[k] = p[k] + p[k + 1];
        }
        LANE_UNROLL
        for (int k = 0; k < RADAU_NODES; k++) {
            p[k] = power * p[k];
            power = power * q;
        }
        LANE_UNROLL
        for (int j = 0; j < RADAU_NODES; j++) {
            real t = p[RADAU_NODES - 1];
            LANE_UNROLL
            for (int k = RADAU_NODES - 2; k >= 0; k--)
                t = lane_fma(lane_set(radau_node[j]), t, p[k]);
            f[j * size + c] = radau_node[j] * t;
        }
    }
}

/* Positions and, if some force asks for them, velocities at a node. */
/* long: inlined: its nine arguments cost nothing, and a struct of arrays would hide which of them a step changes */
LANE_FN void radau_at_node(const shoal_kernel_args *k, int n, const real *s, real h, const real *a, const real *f,
                           int node, real *x, real *v)
{
    const int size = XYZ * n;
    const double place = radau_node[node];
    LANE_UNROLL_FEW
    for (int c = 0; c < size; c++) {
        real t = (0.5 * place) * a[c];
        LANE_UNROLL
        for (int j = 0; j < RADAU_NODES; j++)
            t = lane_fma(lane_set(radau_position[node * RADAU_NODES + j]), f[j * size + c], t);
        t = h * lane_fma(h, t, s[RADAU_V * n + c]);
        x[c] = s[RADAU_X * n + c] + lane_fma(lane_set(place), t, -s[RADAU_EX * n + c]);
    }
    if (FORCES(k)) {
        LANE_UNROLL_FEW
        for (int c = 0; c < size; c++) {
            real t = place * a[c];
            LANE_UNROLL
            for (int j = 0; j < RADAU_NODES; j++)
                t = lane_fma(lane_set(radau_velocity[node * RADAU_NODES + j]), f[j * size + c], t);
            v[c] = s[RADAU_V * n + c] + lane_fma(h, t, -s[RADAU_EV * n + c]);
        }
    }
}

/* Accelerations; none of bodies that are not there (their mass is -0), which then have no say in iterations and
 * steps. */
LANE_BIG_FN void radau_acceleration(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v,
                                    real *a)
{
    gravity_acceleration(k, n, m, x, v, a);
    const int bodies = real_bodies(k, n);
    for (int i = 0; i < bodies; i++) {
        const mask absent = lane_negative(m[i]);
        if (team_body(i) == 0 || !lane_any(absent))
            continue;
        for (int c = i; c < XYZ * n; c += bodies)         /* of tangent vectors, too */
            a[c] = lane_select(absent, 0.0 * a[c], a[c]); /* what is no number stays none */
    }
}

/* The accelerations a at the start and f at the nodes, of a step h from s. */
LANE_FN void radau_solve(const shoal_kernel_args *k, int n, const real *m, const real *s, real h, real *a, real *f)
{
    const int size = XYZ * n, bodies = real_bodies(k, n);
    const real zero = lane_set(0.0);
    real x[XYZ * LANE_ROOM(n)], v[XYZ * LANE_ROOM(n)], at[XYZ * LANE_ROOM(n)], scale = zero, before = zero;
    mask open = h == h;
    radau_predict(n, s, h, f);
    LANE_UNROLL_FEW
    for (int c = 0; c < size; c++) {
        x[c] = s[RADAU_X * n + c] - s[RADAU_EX * n + c];
        v[c] = s[RADAU_V * n + c] - s[RADAU_EV * n + c];
    }
    radau_acceleration(k, n, m, x, v, a);
    LANE_UNROLL_FEW
    for (int q = 0; q < size; q += n) {
        LANE_UNROLL_FEW
        for (int c = q; c < q + bodies; c++)
            scale = lane_max(scale, lane_abs(a[c]));
    }
    scale = team_max(scale);
    LANE_KEEP_ROLLED
    for (int i = 0; i < RADAU_ITERATIONS && team_goes_on(open); i++) {
        real change = zero;
        LANE_KEEP_ROLLED
        for (int node = 0; node < RADAU_NODES; node++) {
            real *there = f + node * size;
            radau_at_node(k, n, s, h, a, f, node, x, v);
            radau_acceleration(k, n, m, x, v, at);
            change = zero;
            LANE_UNROLL_FEW
            for (int q = 0; q < size; q += n) {
                LANE_UNROLL_FEW
                for (int c = q; c < q + n; c++) {
                    real latest = at[c] - a[c];
                    if (c < q + bodies)
                        change = lane_max(change, lane_abs(latest - there[c]));
                    there[c] = lane_select(open, latest, there[c]);
                }
            }
        }
        change = team_max(change);
        /* Go on while the change of the last node is above rounding and falls, and the next one, if it falls by as
         * much again, would still matter. */
        if (i > 0)
            open = open & (change > scale * lane_set(0x1p-52)) & (change < before) &
                   (change * change > lane_set(RADAU_NEGLIGIBLE) * scale * before);
        before = change;
    }
}

/* From accelerations f: the b, and once = I, twice = II of a(s) - a_0 over the whole step. */
LANE_FN void radau_polynomial(int n, const real *f, real *b, real *once, real *twice)
{
    const int size = XYZ * n;
    const double end = radau_node[RADAU_NODES - 1];
    LANE_UNROLL_FEW
    for (int c = 0; c < size; c++) {
        real rest[RADAU_NODES - 1];
        const real top = f[(RADAU_NODES - 1) * size + c];
        real slope = top * (1.0 / end);
        /* rounded as a quotient is */
        slope = lane_fma(lane_fnma(lane_set(end), slope, top), lane_set(1.0 / end), slope);
        real first, second;
        LANE_UNROLL
        for (int j = 0; j < RADAU_NODES - 1; j++)
            rest[j] = lane_fnma(lane_set(radau_node[j]), slope, f[j * size + c]);
        first = radau_once_rest * rest[3];
        second = radau_sixth[1] * slope;
        LANE_UNROLL
        for (int j = 0; j < RADAU_NODES - 1; j++) {
            first = lane_fma(lane_set(radau_once[j]), rest[j], first);
            second = lane_fma(lane_set(radau_twice[j]), rest[j], second);
        }
        once[c] = lane_fma(lane_set(0.5), slope, first);
        twice[c] = lane_fma(lane_set(radau_sixth[0]), slope, second);
        LANE_UNROLL
        for (int p = 0; p < RADAU_NODES; p++) {
            real t = p == 0 ? slope : lane_set(0.0);
            LANE_UNROLL
            for (int j = 0; j < RADAU_NODES - 1; j++)
                t = lane_fma(lane_set(radau_power[p * (RADAU_NODES - 1) + j]), rest[j], t);
            b[p * size + c] = t;
        }
    }
}

/* value - error += change + small, |small| below |change|; error, not small, is kept to its last bit (Knuth's sum of
 * two). */
LANE_FN void radau_add(int compensated, mask where, real *value, real *error, real change, real small)
{
    real sum = *value + change, rest = small;
    if (compensated) {
        const real part = sum - *value;
        rest = ((*value - (sum - part)) + (change - part)) + (small - *error);
    }
    const real whole = sum + rest;
    if (compensated)
        *error = lane_select(where, (whole - sum) - rest, *error);
    *value = lane_select(where, whole, *value);
}

/* The step itself, for the lanes `where`. */
/* long: as radau_at_node */
LANE_FN void radau_move(int n, int compensated, mask where, real *s, real h, const real *a, const real *b,
                        const real *once, const real *twice)
{
    const int size = XYZ * n;
    LANE_UNROLL_FEW
    for (int c = 0; c < size; c++) {
        real *x = s + RADAU_X * n + c, *v = s + RADAU_V * n + c, *ex = s + RADAU_EX * n + c, *ev = s + RADAU_EV * n + c;
        const real way = h * *v, way_rest = lane_fma(h, *v, -way);
        const real bent = h * lane_fma(h, lane_fma(lane_set(0.5), a[c], twice[c]), -*ev);
        const real mean = a[c] + once[c], mean_rest = once[c] - (mean - a[c]);
        const real kick = h * mean, kick_rest = lane_fma(h, mean_rest, lane_fma(h, mean, -kick));
        radau_add(compensated, where, x, ex, way, way_rest + bent);
        radau_add(compensated, where, v, ev, kick, kick_rest);
    }
    LANE_UNROLL_FEW
    for (int c = 0; c < RADAU_NODES * size; c++)
        s[RADAU_B * n + c] = lane_select(where, b[c], s[RADAU_B * n + c]);
    s[RADAU_LAST(n)] = lane_select(where, h, s[RADAU_LAST(n)]);
}

#endif
#endif
