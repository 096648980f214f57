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
 * Wisdom & Holman 1991, AJ 102, 1528; Duncan, Levison & Lee 1998, AJ 116, 2067. The interaction accelerations at the end of a step
 * start the next one, so they are native state and every step ends synchronised. Body 0 has no slots of its own.
 *
 * Operations a step for p planets: 15 p (p - 1) + 33 p + p Kepler solutions (kepler.kern.h).
 */
#include "integrators/kepler.kern.h"

#define PROPAGATOR_FIRST_BODY 1
#define PROPAGATOR_SLOTS(compensated) ((compensated) ? 15 : 9)

LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    LANE_UNROLL
    for (int c = 0; c < 3; c++) {
        LANE_UNROLL
        for (int i = 0; i < n; i++) {
            s[c * n + i] = w[c * n + i] - w[c * n];
            s[(3 + c) * n + i] = i == 0 ? lane_set(0.0) : w[(3 + c) * n + i];
        }
    }
    newton_acceleration(k, n, 1, m, s, s + 6 * n);
    LANE_UNROLL
    for (int c = 9 * n; c < 15 * n; c++)
        s[c] = lane_set(0.0);
}

/* Q_i += h (sum m_j V_j) / m_0 */
LANE_FN void mvs_jump(int n, int compensated, const real *m, real *s, real h_over_m0)
{
    real term[LANE_ROOM(n)];
    LANE_UNROLL
    for (int c = 0; c < 3; c++) {
        const real *v = s + (3 + c) * n;
        term[0] = lane_set(0.0);
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            term[i] = m[i] * v[i];
        real shift = h_over_m0 * lane_tree_sum(n, term);
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            lane_add(compensated, &s[c * n + i], &s[(9 + c) * n + i], shift);
    }
}

LANE_FN void mvs_kick(int n, int compensated, real *s, real h)
{
    LANE_UNROLL
    for (int c = 3; c < 6; c++) {
        LANE_UNROLL
        for (int i = 1; i < n; i++) {
            if (compensated)
                lane_add(1, &s[c * n + i], &s[(9 + c) * n + i], h * s[(3 + c) * n + i]);
            else
                s[c * n + i] = lane_fma(h, s[(3 + c) * n + i], s[c * n + i]);
        }
    }
}

LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    const real h2 = 0.5 * h, jump = h2 / m[0];
    mvs_kick(n, compensated, s, h2);
    mvs_jump(n, compensated, m, s, jump);
    LANE_UNROLL
    for (int i = 1; i < n; i++) {
        real d[6];
        kepler_change(m[0], h, s[i], s[n + i], s[2 * n + i], s[3 * n + i], s[4 * n + i], s[5 * n + i], &d[0], &d[1], &d[2],
                      &d[3], &d[4], &d[5]);
        LANE_UNROLL
        for (int c = 0; c < 6; c++)
            lane_add(compensated, &s[c * n + i], &s[(9 + c) * n + i], d[c]);
    }
    mvs_jump(n, compensated, m, s, jump);
    newton_acceleration(k, n, 1, m, s, s + 6 * n);
    mvs_kick(n, compensated, s, h2);
}

/* Barycentric positions and velocities: x_0 = -sum m_i Q_i / M, x_i = Q_i + x_0, v_0 = -sum m_i V_i / m_0. */
LANE_FN void propagator_view(int n, const real *m, const real *s, real *w)
{
    real term[LANE_ROOM(n)];
    LANE_UNROLL
    for (int i = 0; i < n; i++)
        term[i] = m[i];
    const real M = lane_tree_sum(n, term);
    LANE_UNROLL
    for (int c = 0; c < 6; c++) {
        term[0] = lane_set(0.0);
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            term[i] = m[i] * s[c * n + i];
        const real sum = lane_tree_sum(n, term);
        w[c * n] = -sum / (c < 3 ? M : m[0]);
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            w[c * n + i] = c < 3 ? s[c * n + i] + w[c * n] : s[c * n + i];
    }
}

/* An upper bound of the squared distance of every body from the barycentre: that is within the hull of the bodies, so nobody is farther
 * from it than twice the largest |Q|. */
LANE_FN real propagator_reach2(int n, const real *s)
{
    real sum = lane_set(0.0);
    LANE_UNROLL
    for (int c = 0; c < 3; c++) {
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            sum = lane_fma(s[c * n + i], s[c * n + i], sum);
    }
    return 4.0 * sum;
}
