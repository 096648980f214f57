/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mvs.kern.h: mixed-variable symplectic map of order 2 in democratic heliocentric coordinates: positions Q_i relative to body 0,
 * barycentric velocities V_i.
 *
 *     H = [sum p^2/2m_i - m_0 m_i/|Q_i|]  +  [(sum p)^2 / 2 m_0]  +  [- sum m_i m_j / |Q_i - Q_j|]
 *            Kepler                            jump                      interaction
 *
 *     kick(h/2) jump(h/2) Kepler(h) jump(h/2) kick(h/2)
 *
 * With MVS_WHDS (mvs_whds.kern.h) the terms p_i^2 / 2 m_0 of the jump belong to the Kepler part: H splits into
 *
 *     [sum p^2/2mu_i - m_0 m_i/|Q_i|]  +  [sum_{i<j} p_i.p_j / m_0]  +  [the same interaction],   mu_i = m_0 m_i / (m_0 + m_i)
 *
 * carried with the velocities p_i / mu_i, so that two bodies alone move exactly (Hernandez & Dehnen 2017, MNRAS 468, 2614).
 *
 * Wisdom & Holman 1991, AJ 102, 1528; Duncan, Levison & Lee 1998, AJ 116, 2067. The interaction accelerations at the end of a step
 * start the next one, so they are native state and every step ends synchronised. Body 0 has no slots of its own.
 *
 * Tangent vectors (dQ_i, dV_i), bodies n/2 .. n-1 where there are some, move by the tangent maps of these: kick and jump are linear in
 * what they change, Kepler's is in kepler_tangent.kern.h (Mikkola & Innanen 1999, Celest. Mech. Dyn. Astron. 74, 59).
 *
 * Operations a step for p planets: 15 p (p - 1) + 33 p + p Kepler solutions (kepler.kern.h).
 */
#include "integrators/kepler.kern.h"
#include "integrators/kepler_tangent.kern.h"

#define PROPAGATOR_FIRST_BODY 1
#define PROPAGATOR_SLOTS(compensated) ((compensated) ? 15 : 9)

#ifndef MVS_WHDS
#define MVS_WHDS 0
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
    for (int c = 0; c < 3; c++) {
        LANE_UNROLL
        for (int i = 0; i < n; i++) {
            const int origin = i < bodies ? 0 : bodies;
            s[c * n + i] = w[c * n + i] - w[c * n + origin];
            s[(3 + c) * n + i] = i == origin ? lane_set(0.0) : MVS_WHDS ? mvs_scale(m, i) * w[(3 + c) * n + i] : w[(3 + c) * n + i];
        }
    }
    newton_acceleration(k, n, 1, m, s, s + 6 * n);
    LANE_UNROLL
    for (int c = 9 * n; c < 15 * n; c++)
        s[c] = lane_set(0.0);
}

/* Q_i += h (sum m_j V_j) / m_0; for WHDS the sum of the others' m_j V_j / (m_0 + m_j) */
LANE_FN void mvs_jump(int n, int bodies, int compensated, const real *m, real *s, real h_over_m0)
{
    real term[LANE_ROOM(n)], own[LANE_ROOM(n)];
    LANE_UNROLL
    for (int c = 0; c < 3; c++) {
        const real *v = s + (3 + c) * n;
        term[0] = lane_set(0.0);
        LANE_UNROLL
        for (int i = 1; i < bodies; i++)
            term[i] = own[i] = MVS_WHDS ? m[i] * v[i] / mvs_scale(m, i) : m[i] * v[i];
        const real sum = lane_tree_sum(bodies, term);
        LANE_UNROLL
        for (int i = 1; i < bodies; i++)
            lane_add(compensated, &s[c * n + i], &s[(9 + c) * n + i], h_over_m0 * (MVS_WHDS ? sum - own[i] : sum));
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
    for (int c = 3; c < 6; c++) {
        LANE_UNROLL
        for (int i = 1; i < n; i++) {
            const real length = MVS_WHDS ? h * mvs_scale(m, i) : h;
            if (compensated)
                lane_add(1, &s[c * n + i], &s[(9 + c) * n + i], length * s[(3 + c) * n + i]);
            else
                s[c * n + i] = lane_fma(length, s[(3 + c) * n + i], s[c * n + i]);
        }
    }
}


/* Barycentric positions and velocities of n bodies: x_0 = -sum m_i Q_i / M, x_i = Q_i + x_0, v_0 = -sum m_i V_i / m_0. */
LANE_FN void mvs_view(int stride, int n, const real *m, const real *s, real *w)
{
    real term[LANE_ROOM(n)];
    LANE_UNROLL
    for (int i = 0; i < n; i++)
        term[i] = m[i];
    const real M = lane_tree_sum(n, term);
    LANE_UNROLL
    for (int c = 0; c < 6; c++) {
        const real *from = s + c * stride;
        real *to = w + c * stride;
        term[0] = lane_set(0.0);
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            term[i] = MVS_WHDS && c >= 3 ? m[i] * from[i] / mvs_scale(m, i) : m[i] * from[i];
        const real sum = lane_tree_sum(n, term);
        to[0] = -sum / (c < 3 ? M : m[0]);
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            to[i] = c < 3 ? from[i] + to[0] : MVS_WHDS ? from[i] / mvs_scale(m, i) : from[i];
    }
}

/* The extra forces kick beside the interaction, at barycentric positions and velocities. Momenta sum to zero here and body 0 has what
 * balances the others'; if a force does not conserve their sum, the barycentre's acceleration sum m_i f_i / M is taken from all and its
 * motion left out: what bodies do relative to each other is right. */
LANE_BIG_FN void mvs_forces(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    const int bodies = real_bodies(k, n);
    real w[6 * LANE_ROOM(n)], dv[3 * LANE_ROOM(n)], term[LANE_ROOM(n)];
    for (int first = 0; first < n; first += bodies)
        mvs_view(n, bodies, m, s + first, w + first);
    forces_kick(k, n, m, w, w + 3 * n, h, dv);
    for (int i = 0; i < bodies; i++)
        term[i] = m[i];
    const real mass = lane_tree_sum(bodies, term);
    for (int first = 0; first < n; first += bodies)
        for (int c = 0; c < 3; c++) {
            for (int i = 0; i < bodies; i++)
                term[i] = m[i] * dv[c * n + first + i];
            const real drift = lane_tree_sum(bodies, term) / mass;
            for (int i = 1; i < bodies; i++) {
                const real change = dv[c * n + first + i] - drift;
                lane_add(compensated, &s[(3 + c) * n + first + i], &s[(12 + c) * n + first + i],
                         MVS_WHDS ? mvs_scale(m, i) * change : change);
            }
        }
}

LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    const int bodies = real_bodies(k, n);
    const real h2 = 0.5 * h, jump = h2 / m[0];
    if (FORCES(k))
        mvs_forces(k, n, compensated, m, s, h2);
    mvs_kick(n, compensated, m, s, h2);
    mvs_jumps(k, n, compensated, m, s, jump);
    LANE_UNROLL
    for (int i = 1; i < bodies; i++) {
        real d[6];
        kepler_change(MVS_WHDS ? m[0] + m[i] : m[0], h, s[i], s[n + i], s[2 * n + i], s[3 * n + i], s[4 * n + i], s[5 * n + i], &d[0], &d[1], &d[2],
                      &d[3], &d[4], &d[5]);
        if (VARIATIONAL(k)) {
            real e[6];
            kepler_tangent(MVS_WHDS ? m[0] + m[i] : m[0], h, n, s + i, d, s + bodies + i, e);
            LANE_UNROLL
            for (int c = 0; c < 6; c++)
                lane_add(compensated, &s[c * n + bodies + i], &s[(9 + c) * n + bodies + i], e[c]);
        }
        LANE_UNROLL
        for (int c = 0; c < 6; c++)
            lane_add(compensated, &s[c * n + i], &s[(9 + c) * n + i], d[c]);
    }
    mvs_jumps(k, n, compensated, m, s, jump);
    newton_acceleration(k, n, 1, m, s, s + 6 * n);
    mvs_kick(n, compensated, m, s, h2);
    if (FORCES(k))
        mvs_forces(k, n, compensated, m, s, h2);
}

LANE_FN void propagator_view(const shoal_kernel_args *k, int n, const real *m, const real *s, real *w)
{
    (void)k;
    mvs_view(n, n, m, s, w);
}

/* An upper bound of the squared distance of every body from the barycentre: that is within the hull of the bodies, so nobody is farther
 * from it than twice the largest |Q|. */
LANE_FN real propagator_reach2(const shoal_kernel_args *k, int n, const real *m, const real *s)
{
    (void)k;
    (void)m;
    real sum = lane_set(0.0);
    LANE_UNROLL
    for (int c = 0; c < 3; c++) {
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            sum = lane_fma(s[c * n + i], s[c * n + i], sum);
    }
    return 4.0 * sum;
}
