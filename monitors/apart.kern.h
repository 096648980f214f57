/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * apart.kern.h: a part of guard.kern.h. Bodies that are far from each other need time to meet, so the guard sleeps.
 * This is for propagators that move all bodies by their accelerations, in steps of one length.
 *
 * While every distance is above half of what it is now, the acceleration of body i is below 4 A_i. A_i is the present
 * sum of m_k / d_ik^2. In a time t the distance of a pair changes by at most |u| t + 2 (A_i + A_j) t^2. That is below
 * r = min(d / 2, d - reach) up to
 *
 *     t = r / (|u| + (2 (A_i + A_j) r)^(1/2))
 *
 * so that nothing happens for the least t of all pairs. 0.9 r stands in the place of r: monitors look at the cubic
 * between the ends of a step, which leaves them by a third of the way that the pair makes in a step, at most. A sleep
 * has at least 8 steps, which is at most r / 12.
 */
#ifndef SHOAL_APART_KERN_H
#define SHOAL_APART_KERN_H

/* Steps of a sleep, at least and at most: a rough number must still see a step in what is left. */
enum { APART_WORTH = 8, APART_LONGEST = 4096 };

#if NESTED_APART

/* A sleep or a rest begins, as nested_begin has it. */
/* long: as guard_asks */
LANE_FN void apart_begin(const shoal_kernel_args *k, lane_id id, int n, const real *m, const guard_at *at, rough h,
                         rough kicks, lane_guard *guard)
{
    (void)kicks;
    const rough zero = guard_set(0.0), half = guard_set(0.5), two = guard_set(2.0), length = rough_abs(h);
    rough pull[SYSTEM_ROOM(n)], left = guard_set(APART_LONGEST) * length;
    mask holds = zero != zero;
    LANE_KEEP_ROLLED
    for (int i = 0; i < n; i++)
        pull[i] = zero;
    LANE_KEEP_ROLLED
    for (int i = 0; i < n; i++) {
        LANE_KEEP_ROLLED
        for (int j = i + 1; j < n; j++) {
            const guard_at p = guard_between(at[i], at[j]);
            const rough inverse = guard_set(1.0) / guard_dot(p.x, p.y, p.z, p.x, p.y, p.z);
            const mask there = is_there(m[i]) & is_there(m[j]);
            pull[i] = rough_select(there, rough_fma(lane_rough(m[j]), inverse, pull[i]), pull[i]);
            pull[j] = rough_select(there, rough_fma(lane_rough(m[i]), inverse, pull[j]), pull[j]);
        }
    }
    LANE_KEEP_ROLLED
    for (int i = 0; i < n; i++) {
        LANE_KEEP_ROLLED
        for (int j = i + 1; j < n; j++) {
            const guard_at p = guard_between(at[i], at[j]);
            const mask there = is_there(m[i]) & is_there(m[j]);
            const rough d = rough_sqrt(guard_dot(p.x, p.y, p.z, p.x, p.y, p.z)),
                        speed = rough_sqrt(guard_dot(p.u, p.v, p.w, p.u, p.v, p.w));
            rough room = half * d;
            if (i > 0 || guard_has_star(k)) {
                rough sought = zero;
                const mask seen = guard_sought(k, id, n, i, j, &sought);
                /* bodies may be 3/2 as far from body 0 by then */
                const rough planets = rough_fma(guard_set(2.25) * guard->hill, p.size2, guard->planets),
                            reach2 = rough_max(i == 0 ? guard->star : planets, sought);
                room = rough_min(room, d - guard_set(1.01) * rough_sqrt(reach2));
                holds = holds | (there & seen);
            }
            room = guard_set(0.9) * rough_max(room, zero);
            const rough lasts = room / (speed + rough_sqrt(two * (pull[i] + pull[j]) * room));
            left = rough_select(there, rough_min(left, lasts), left);
        }
    }
    guard->rate = guard_set(1.0);
    guard->cost = zero;
    nested_settle(lane_not(holds) & (left > guard_set(APART_WORTH) * length), left - length, guard);
}

#elif !PROPAGATOR_KICKS
/* long: as above */
LANE_FN void apart_begin(const shoal_kernel_args *k, lane_id id, int n, const real *m, const guard_at *at, rough h,
                         rough kicks, lane_guard *guard)
{
    (void)k, (void)id, (void)n, (void)m, (void)at, (void)h, (void)kicks, (void)guard;
}

#endif
#endif
