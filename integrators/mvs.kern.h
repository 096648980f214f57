/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mvs.kern.h: mixed-variable symplectic map of order 2 in democratic heliocentric coordinates: positions Q_i relative
 * to body 0, barycentric velocities V_i.
 *
 *     H = [sum p^2/2m_i - m_0 m_i/|Q_i|]  +  [(sum p)^2 / 2 m_0]  +  [- sum m_i m_j / |Q_i - Q_j|]
 *            Kepler                            jump                      interaction
 *
 *     kick(h/2) jump(h/2) Kepler(h) jump(h/2) kick(h/2)
 *
 * With MVS_WHDS (mvs_whds.kern.h) the terms p_i^2 / 2 m_0 of the jump belong to the Kepler part: H splits into
 *
 *     [sum p^2/2mu_i - m_0 m_i/|Q_i|]  +  [sum_{i<j} p_i.p_j / m_0]  +  [the same interaction],   mu_i = m_0 m_i / (m_0
 *                                      + m_i)
 *
 * carried with the velocities p_i / mu_i, so that two bodies alone move exactly (Hernandez & Dehnen 2017, MNRAS 468,
 * 2614).
 *
 * Wisdom & Holman 1991, AJ 102, 1528; Duncan, Levison & Lee 1998, AJ 116, 2067. The interaction accelerations at the
 * end of a step start the next one, so they are native state and every step ends synchronised. Body 0 has no slots of
 * its own.
 *
 * Tangent vectors (dQ_i, dV_i), bodies n/2 .. n-1 where there are some, move by the tangent maps of these: kick and
 * jump are linear in what they change, Kepler's is in kepler_tangent.kern.h (Mikkola & Innanen 1999, Celest. Mech. Dyn.
 * Astron. 74, 59).
 *
 * Operations a step for p planets: 13.5 p (p - 1) + 30 p + p Kepler solutions (kepler.kern.h); with one round each 13.5
 * p (p - 1) + 156 p.
 */
enum { MVS_COMPENSATED, MVS_PARAMETERS };
enum { MVS_X, MVS_V = XYZ, MVS_A = 2 * XYZ, MVS_EX = 3 * XYZ, MVS_EV = 4 * XYZ, MVS_SLOTS = 5 * XYZ };

#ifdef SHOAL_KERNEL
#include "integrators/kepler_drift.kern.h"

#define PROPAGATOR_FIRST_BODY         1
#define PROPAGATOR_SLOTS(compensated) ((compensated) ? MVS_SLOTS : MVS_EX)
#define PROPAGATOR_RESTS              1

#ifndef MVS_WHDS
#define MVS_WHDS 0
#endif
#define PROPAGATOR_PLAIN !MVS_WHDS
#define PROPAGATOR_KICKS !MVS_WHDS

/* A step kicks with these at its end, and the next one at its start. */
LANE_FN real propagator_kicks(int n, const real *s, real h)
{
    return lane_abs(h) * nested_sum(n, s + MVS_A * n);
}

/* The mass of the star: a GPU's kernel has it as a constant where all stars have 1, which saves 4, 2 and 1 % of the
 * operations with 2, 4 and 8 planets. */
#ifdef SHOAL_UNIT_STAR
#define MVS_STAR(m) lane_set(1.0)
#else
#define MVS_STAR(m) ((m)[0])
#endif

/* The velocity that is carried over the barycentric one. */
LANE_FN real mvs_scale(const real *m, int i)
{
    return MVS_WHDS ? (m[0] + m[i]) / m[0] : lane_set(1.0);
}

LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    const int bodies = real_bodies(k, n);
    LANE_UNROLL
    for (int c = 0; c < XYZ; c++) {
        LANE_UNROLL
        for (int i = 0; i < n; i++) {
            const int origin = i < bodies ? 0 : bodies;
            s[c * n + i] = w[c * n + i] - w[c * n + origin];
            s[(MVS_V + c) * n + i] = i == origin ? lane_set(0.0)
                                     : MVS_WHDS  ? mvs_scale(m, i) * w[(XYZ + c) * n + i]
                                                 : w[(XYZ + c) * n + i];
        }
    }
    newton_acceleration(k, n, 1, m, s, s + MVS_A * n);
    LANE_UNROLL
    for (int c = MVS_EX * n; c < PROPAGATOR_SLOTS(1) * n; c++)
        s[c] = lane_set(0.0);
}

/* Q_i += h (sum m_j V_j) / m_0; for WHDS the sum of the others' m_j V_j / (m_0 + m_j) */
LANE_FN void mvs_jump(int n, int bodies, int compensated, const real *m, real *s, real h_over_m0)
{
    real term[LANE_ROOM(n)], own[LANE_ROOM(n)];
    LANE_UNROLL
    for (int c = 0; c < XYZ; c++) {
        const real *v = s + (MVS_V + c) * n;
        LANE_UNROLL
        for (int i = 1; i < bodies; i++)
            term[i] = own[i] = MVS_WHDS ? m[i] * v[i] / mvs_scale(m, i) : m[i] * v[i];
        const real sum = team_tree_sum(bodies, term);
        LANE_UNROLL
        for (int i = 1; i < bodies; i++)
            lane_add(compensated, &s[c * n + i], &s[(MVS_EX + c) * n + i], h_over_m0 * (MVS_WHDS ? sum - own[i] : sum));
    }
}

LANE_FN void mvs_jumps(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h_over_m0)
{
    const int bodies = real_bodies(k, n);
    mvs_jump(n, bodies, compensated, m, s, h_over_m0);
    if (VARIATIONAL(k))
        mvs_jump(n, bodies, compensated, m, s + bodies, h_over_m0);
}

LANE_FN void mvs_kick(int n, int compensated, const real *m, real *s, real h)
{
    LANE_UNROLL
    for (int c = 0; c < XYZ; c++) {
        real *v = s + (MVS_V + c) * n, *a = s + (MVS_A + c) * n;
        LANE_UNROLL
        for (int i = 1; i < n; i++) {
            const real length = MVS_WHDS ? h * mvs_scale(m, i) : h;
            lane_add_times(compensated, &v[i], &s[(MVS_EV + c) * n + i], length, a[i]);
        }
    }
}

/* Barycentric positions and velocities of n bodies: x_0 = -sum m_i Q_i / M, x_i = Q_i + x_0, v_0 = -sum m_i V_i /
 * m_0. */
LANE_FN void mvs_view(int stride, int n, const real *m, const real *s, real *w)
{
    real term[LANE_ROOM(n)];
    LANE_UNROLL
    for (int i = 1; i < n; i++)
        term[i] = m[i];
    const real per_M = 1.0 / (m[0] + team_tree_sum(n, term)), per_star = 1.0 / MVS_STAR(m);
    LANE_UNROLL
    for (int c = 0; c < 2 * XYZ; c++) {
        const real *from = s + c * stride;
        real *to = w + c * stride;
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            term[i] = MVS_WHDS && c >= XYZ ? m[i] * from[i] / mvs_scale(m, i) : m[i] * from[i];
        const real sum = team_tree_sum(n, term);
        to[0] = -(c < XYZ ? per_M : per_star) * sum;
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            to[i] = c < XYZ ? from[i] + to[0] : MVS_WHDS ? from[i] / mvs_scale(m, i) : from[i];
    }
}

/* The extra forces kick beside the interaction, at barycentric positions and velocities. Momenta sum to zero here
 * and body 0 has what balances the others'; if a force does not conserve their sum, the barycentre's acceleration
 * sum m_i f_i / M is taken from all and its motion left out: what bodies do relative to each other is right. */
LANE_BIG_FN void mvs_forces(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    const int bodies = real_bodies(k, n);
    real w[2 * XYZ * LANE_ROOM(n)], dv[XYZ * LANE_ROOM(n)], term[LANE_ROOM(n)];
    for (int first = 0; first < n; first += bodies)
        mvs_view(n, bodies, m, s + first, w + first);
    forces_kick(k, n, m, w, w + XYZ * n, h, dv);
    for (int i = 1; i < bodies; i++)
        term[i] = m[i];
    const real mass = m[0] + team_tree_sum(bodies, term);
    for (int first = 0; first < n; first += bodies)
        for (int c = 0; c < XYZ; c++) {
            const real *change = dv + c * n + first;
            for (int i = 1; i < bodies; i++)
                term[i] = m[i] * change[i];
            const real drift = lane_fma(m[0], change[0], team_tree_sum(bodies, term)) / mass;
            for (int i = 1; i < bodies; i++)
                lane_add(compensated, &s[(MVS_V + c) * n + first + i], &s[(MVS_EV + c) * n + first + i],
                         MVS_WHDS ? mvs_scale(m, i) * (change[i] - drift) : change[i] - drift);
        }
}

LANE_FN void mvs_drift(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    real mu[LANE_ROOM(n)];
    LANE_UNROLL
    for (int i = 1; i < n; i++)
        mu[i] = MVS_WHDS ? m[0] + m[i] : MVS_STAR(m);
    kepler_drift(k, n, compensated, mu, s, MVS_EX, h);
}

LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    const real h2 = 0.5 * h, jump = h2 / MVS_STAR(m);
    if (FORCES(k))
        mvs_forces(k, n, compensated, m, s, h2);
    mvs_kick(n, compensated, m, s, h2);
    mvs_jumps(k, n, compensated, m, s, jump);
    mvs_drift(k, n, compensated, m, s, h);
    mvs_jumps(k, n, compensated, m, s, jump);
    newton_acceleration(k, n, 1, m, s, s + MVS_A * n);
    mvs_kick(n, compensated, m, s, h2);
    if (FORCES(k))
        mvs_forces(k, n, compensated, m, s, h2);
}

LANE_FN void propagator_view(const shoal_kernel_args *k, int n, const real *m, const real *s, real *w)
{
    (void)k;
    mvs_view(n, n, m, s, w);
}

/* The barycentre is within the hull of the bodies, so nobody is farther from it than twice the largest |Q|. */
LANE_FN mask propagator_beyond(const shoal_kernel_args *k, int n, const real *m, const real *s, double limit)
{
    mask beyond = lane_set(0.0) != lane_set(0.0);
    (void)k, (void)m;
    LANE_UNROLL_XYZ
    for (int c = 0; c < XYZ; c++)
        beyond = beyond | lane_beyond(1, n - 1, s + c * n + 1, 0.5 * limit);
    return beyond;
}

#endif
