/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hybrid_near.kern.h: who is near whom in a system of hybrid.kern.h: its parameters, own slots and conditions.
 */
#ifndef SHOAL_HYBRID_NEAR_KERN_H
#define SHOAL_HYBRID_NEAR_KERN_H

enum {
    HYBRID_COMPENSATED,
    HYBRID_HILL,
    HYBRID_SPEED,
    HYBRID_PERICENTRE,
    HYBRID_STAR,
    HYBRID_TOLERANCE,
    HYBRID_PARAMETERS
};
enum { HYBRID_PASSAGE, HYBRID_ORBIT }; /* near the star */
enum { HYBRID_NEAR, HYBRID_SUBSTEP, HYBRID_REACH, HYBRID_OWN_SLOTS };

#ifdef SHOAL_KERNEL
#define propagator_prepare mvs_prepare
#define propagator_step    mvs_step
#include "integrators/mvs.kern.h"
#undef propagator_prepare
#undef propagator_step

enum { HYBRID_TRIALS = 3 };                                 /* of a step at most */
enum { HYBRID_TOGETHER = 32 };                              /* substeps in a call, for a GPU */
enum { HYBRID_TO_TRY, HYBRID_TO_SET_OUT, HYBRID_TO_DRIFT }; /* parts of a step */

#define HYBRID_GAVE_UP 1e306 /* as a substep: the drift took too many of them */

#define PROPAGATOR_OWN    HYBRID_OWN_SLOTS
#define PROPAGATOR_INSIDE 1
#ifdef __CUDACC__ /* a SIMD unit does not gain by it */
#define PROPAGATOR_SETS_ASIDE 1
#endif
#define HYBRID_OWN(n, s)         ((s) + PROPAGATOR_SLOTS(1) * (n))
#define PROPAGATOR_GAVE_UP(n, s) (HYBRID_OWN(n, s)[HYBRID_SUBSTEP] >= lane_set(HYBRID_GAVE_UP))

/* Planets without mass are near nobody like them: flags of pairs i < j, i below the first without. */
#define HYBRID_PAIRS(k, n) (MASSIVE(k) * LANE_ROOM(n))

LANE_FN real hybrid_r2(int n, const real *s, int i)
{
    return lane_fma(s[2 * n + i], s[2 * n + i], lane_fma(s[n + i], s[n + i], s[i] * s[i]));
}

/* 16 (m_0 h^2)^2 / eta^4: the sixth power of the distance beyond which a passage is nothing; 0 without. */
LANE_FN real hybrid_star6(const shoal_kernel_args *k, const real *m, real h)
{
    const double eta2 = k->propagator[HYBRID_PERICENTRE] * k->propagator[HYBRID_PERICENTRE];
    const real pull = m[0] * (h * h);
    return (eta2 > 0 ? 16 / (eta2 * eta2) : 0) * pull * pull;
}

LANE_FN mask hybrid_near_star(const shoal_kernel_args *k, int n, const real *m, const real *s, real h, real r2, int i)
{
    const double eta = k->propagator[HYBRID_PERICENTRE], eta2 = eta * eta;
    const real *x = s + i, *v = s + 3 * n + i;
    const real h2 = h * h, v2 = lane_fma(v[2 * n], v[2 * n], lane_fma(v[n], v[n], v[0] * v[0]));
    if (eta2 == 0)
        return r2 != r2;                          /* never */
    if (chosen(k, HYBRID_STAR) == HYBRID_ORBIT) { /* (dr/dt)^2 > 0 at the distance R */
        const real R = lane_cbrt(m[0] * h2 * (1 / eta2)), R2 = R * R;
        const real xv = lane_fma(x[2 * n], v[2 * n], lane_fma(x[n], v[n], x[0] * v[0]));
        const real energy2 = lane_fma(-2.0 * m[0], lane_rsqrt(r2), v2), spin2 = lane_fma(r2, v2, -(xv * xv));
        return (r2 < R2) | (lane_fma(energy2, R2, 2.0 * m[0] * R) > spin2);
    }
    const real star6 = hybrid_star6(k, m, h), r6 = r2 * r2 * r2, way = h2 * v2 * v2;
    return (r6 < star6) & ((16.0 * r6 < star6) | (way * way > (eta2 * eta2) * (m[0] * m[0]) * r2));
}

#if TEAM > 1
/* Position and velocity that body b of those with slots has shown. */
LANE_FN void hybrid_seen(int b, real *at)
{
    LANE_UNROLL_FULLY
    for (int c = 0; c < 6; c++)
        at[c] = team_get(c / 3, c % 3, b);
}
#endif

typedef struct hybrid_rough {
    rough x, y, z;
} hybrid_rough;

/* q - p of vectors whose components are n apart. */
LANE_FN hybrid_rough hybrid_between(int n, const real *p, const real *q)
{
    const hybrid_rough d = {lane_rough(q[0] - p[0]), lane_rough(q[n] - p[n]), lane_rough(q[2 * n] - p[2 * n])};
    return d;
}

LANE_FN rough hybrid_dot(hybrid_rough a, hybrid_rough b)
{
    return rough_fma(a.z, b.z, rough_fma(a.y, b.y, a.x * b.x));
}

LANE_FN rough hybrid_rough2(int n, const real *x)
{
    const hybrid_rough r = {lane_rough(x[0]), lane_rough(x[n]), lane_rough(x[2 * n])};
    return hybrid_dot(r, r);
}

/* |h|, (w h)^2, HYBRID_REACH */
typedef struct hybrid_reach {
    rough h, way2, reach2;
} hybrid_reach;

/*
 * Whether two planets may be near, asked after every step and so with few operations and digits. At a time t within
 * -+h/2 their distance is
 * |d + u t|, its square at least d^2 - |h d.u|. So if the least distance is below R, d^2 < R^2 + |h d.u|, where
 * R^2 <= HYBRID_REACH larger2 + (w h u)^2. larger2: the larger one of |x_i|^2 and |x_j|^2.
 */
LANE_FN mask hybrid_may_be_close(int n, const real *xi, const real *vi, const real *xj, const real *vj,
                                 hybrid_reach reach, rough larger2)
{
    const hybrid_rough d = hybrid_between(n, xi, xj), u = hybrid_between(n, vi, vj);
    return hybrid_dot(d, d) < rough_fma(reach.h, rough_abs(hybrid_dot(d, u)),
                                        rough_fma(reach.way2, hybrid_dot(u, u), reach.reach2 * larger2));
}

/* Lanes in which somebody may be near. */
LANE_FN mask hybrid_may_be_near(const shoal_kernel_args *k, int n, const real *m, const real *s, real h)
{
    const double w = k->propagator[HYBRID_SPEED], more = 1.0001; /* than roundings of rough numbers */
    const hybrid_reach reach = {lane_rough(more * lane_abs(h)), lane_rough((more * w * w) * h * h),
                                lane_rough(more * HYBRID_OWN(n, s)[HYBRID_REACH])};
#if TEAM > 1 /* its own body, and a share of the pairs, numbered as in newton.kern.h */
    real at[6], d[6];
    team_sync();
    team_show(0, XYZ, n, s);
    team_show(1, XYZ, n, s + MVS_V * n);
    team_sync();
    hybrid_seen(team_own(), at);
    const real r2 = hybrid_r2(1, at, 0);
    mask near = r2 * r2 * r2 < hybrid_star6(k, m, h);
    if (chosen(k, HYBRID_STAR) == HYBRID_ORBIT)
        near = near | hybrid_near_star(k, 1, m, at, h, r2, 0);
    LANE_UNROLL_TEAM
    for (int pair = team_place(); pair < NEWTON_PAIRS; pair += TEAM) {
        const int b = pair % TEAM_PARTS, other = (b + pair / TEAM_PARTS + 1) % TEAM_PARTS;
        if (min(b, other) + TEAM_FIRST >= SHOAL_MASSIVE)
            continue;
        hybrid_seen(b, at);
        hybrid_seen(other, d);
        near = near | hybrid_may_be_close(1, at, at + 3, d, d + 3, reach,
                                          rough_max(hybrid_rough2(1, at), hybrid_rough2(1, d)));
    }
    return team_any(near);
#else
    const int bodies = real_bodies(k, n);
    const real *x = s, *v = s + 3 * n;
    rough r2[LANE_ROOM(n)], least = lane_rough(lane_set(1e30));
    LANE_UNROLL
    for (int i = 1; i < bodies; i++) {
        r2[i] = hybrid_rough2(n, x + i);
        least = rough_min(least, r2[i]);
    }
    const real least2 = lane_of_rough(least);
    mask near = least2 * least2 * least2 < more * hybrid_star6(k, m, h);
    if (chosen(k, HYBRID_STAR) == HYBRID_ORBIT)
        for (int i = 1; i < bodies; i++)
            near = near | hybrid_near_star(k, n, m, s, h, hybrid_r2(n, s, i), i);
    LANE_UNROLL
    for (int i = 1; i < bodies; i++) {
        if (i >= MASSIVE(k))
            break;
        LANE_UNROLL
        for (int j = 1; j < bodies; j++) {
            if (j <= i)
                continue;
            near = near | hybrid_may_be_close(n, x + i, v + i, x + j, v + j, reach, rough_max(r2[i], r2[j]));
        }
    }
    return near;
#endif
}

#endif
#endif
