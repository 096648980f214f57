/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * closest_approach.kern.h: the closest approach of every pair, within the step, with its time and the pair's mutual
 * Hill radius then, ((m1 + m2) / 3 m_0)^(1/3) (a1 + a2) / 2 with astrocentric a or twice the distance
 * (stop_on_encounter.kern.h). In larger systems (SHOAL_PAIR) only that of all pairs.
 *
 * A pair that comes nearer still at the end of a step is nearest there; one that moves apart was so on the cubic of
 * pair.kern.h. Of a pericentre passage about body 0 (`central`), which a step of mvs may contain, the osculating
 * pericentre q is taken, with the moment at which the radial velocity, taken as linear in time, is zero. Where others
 * than body 0 bend the motion, least distances are no pericentres: q has to be a passage as stop_on_collision.kern.h
 * has them, and within twice the error that the cubic has on an orbit, h^4 / 384 times 46 mu^2 / q^5.
 *
 * Bodies whose collisions are watched come no nearer than where they touch, and are there when they first do.
 */
enum { CLOSEST_CENTRAL, closest_approach_PARAMETERS };
enum { closest_approach_SLOTS = 0, closest_approach_WAITS = 1 };
/* slots of a pair: squared distance, time, Hill radius, which pair, as 1000 i + j; and the same of the parts of a step
 * that a propagator showed and may make again, which count when the step is done */
enum {
    CLOSEST_D2,
    CLOSEST_TIME,
    CLOSEST_HILL,
    CLOSEST_PAIR,
    CLOSEST_PART,
    closest_approach_PART_SLOTS = 2 * CLOSEST_PART
};

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"
#include "monitors/orbit.kern.h"

LANE_FN int closest_slot(const shoal_kernel_args *k, int n, int i, int j)
{
    return part_slot(k, SHOAL_MONITOR_closest_approach, closest_approach_SLOTS, closest_approach_PART_SLOTS,
                     SHOAL_PAIR(n, i, j));
}

LANE_FN real closest_start(const shoal_kernel_args *k, lane_id id)
{
    return lane_load(k->systems, id, SHOAL_SYS_T_START, SHOAL_SYS_FIELDS);
}

/* Those parts of a step did not happen. */
LANE_FN void closest_approach_forget(const shoal_kernel_args *k, lane_id id, int n, mask lanes)
{
    const real infinite = lane_set(1.0) / lane_set(0.0);
    LANE_KEEP_ROLLED
    for (int pair = 0; pair < SHOAL_N_PAIRS(n); pair++)
        lane_store(k->watch, id, closest_slot(k, n, 0, 1) + pair * closest_approach_PART_SLOTS + CLOSEST_PART,
                   k->n_watch, lanes, infinite);
}

/* Those of a whole step did. Their times were counted from its end. */
LANE_FN void closest_approach_accept(const shoal_kernel_args *k, const lane_view *view, mask lanes)
{
    LANE_KEEP_ROLLED
    for (int pair = 0; pair < SHOAL_N_PAIRS(view->n); pair++) {
        const int at = closest_slot(k, view->n, 0, 1) + pair * closest_approach_PART_SLOTS;
        real seen[CLOSEST_PART];
        for (int q = 0; q < CLOSEST_PART; q++)
            seen[q] = lane_load(k->watch, view->id, at + CLOSEST_PART + q, k->n_watch);
        seen[CLOSEST_TIME] = closest_start(k, view->id) + (view->time + seen[CLOSEST_TIME]);
        const mask nearer = lanes & (seen[CLOSEST_D2] < lane_load(k->watch, view->id, at, k->n_watch));
        for (int q = 0; q < CLOSEST_PART; q++)
            lane_store(k->watch, view->id, at + q, k->n_watch, nearer, seen[q]);
    }
    closest_approach_forget(k, view->id, view->n, lanes);
}

/* Squared distance and moment of the closest approach of bodies i, j in this step, if it is nearer than the least
 * one before; they end it like `now`. */
/* long: inlined; what its caller has looked at already */
LANE_FN pair_closest closest_find(const shoal_kernel_args *k, const lane_view *view, int i, int j, lane_pair now,
                                  real d2, real least, mask search)
{
    const lane_pair then = pair_relative(view->n, view->before, i, j);
    const real zero = lane_set(0.0), end = lane_set(1.0);
    const real falling = pair_dot(then.x, then.y, then.z, then.vx, then.vy, then.vz) * view->h;
    const real rising = pair_dot(now.x, now.y, now.z, now.vx, now.vy, now.vz) * view->h;
    const mask apart = search & (rising > zero);
    pair_closest closest = {d2, end};
    const pair_bound bound = pair_outside(then, now, view->h);
    const mask deep = apart & lane_not(bound.top > bound.bottom * least);
    if (lane_any(deep)) {
        const pair_closest found = pair_nearest(then, now, view->h);
        closest.d2 = lane_select(deep, found.d2, closest.d2);
        closest.fraction = lane_select(deep, found.fraction, closest.fraction);
    }
    if (i == 0 && lane_any(apart & (falling < zero))) {
        const real mu = pulling_mass(k, view->m, j, view->m[0] + view->m[j]), bend = mu * view->h * view->h,
                   q = collision_nearest(then, now, mu), q2 = q * q;
        const mask near = apart & (falling < zero) & (mu > zero) & (q < lane_set(1e300)) &
                          (collision_way(then, q) + collision_way(now, q) < lane_abs(view->h)) &
                          (lane_abs(q - lane_sqrt(closest.d2)) * (q2 * q2 * q) < (2 * 46.0 / 384) * (bend * bend));
        closest.d2 = lane_select(near, q2, closest.d2);
        closest.fraction = lane_select(near, falling / (falling - rising), closest.fraction);
    }
    return closest;
}

LANE_FN void closest_touch(const shoal_kernel_args *k, const lane_view *view, int i, int j, lane_pair now,
                           pair_closest *closest)
{
    const real reach = collision_reach(k, view->id, view->n, i, j), reach2 = reach * reach;
    const mask touch = closest->d2 < reach2;
    if (!lane_any(touch))
        return;
    const pair_approach first = pair_reached(pair_relative(view->n, view->before, i, j), now, view->h, reach2);
    closest->d2 = lane_select(touch, reach2, closest->d2);
    closest->fraction = lane_select(touch & first.reached, first.fraction, closest->fraction);
}

LANE_FN int closest_approach_star(const shoal_kernel_args *k)
{
    return k->monitor[SHOAL_MONITOR_closest_approach][CLOSEST_CENTRAL] != 0.0;
}

LANE_FN void closest_approach_guard(const shoal_kernel_args *k, lane_id id, int n, lane_guard *guard)
{
    (void)k, (void)id, (void)n, (void)guard;
}

LANE_FN mask closest_approach_sought(const shoal_kernel_args *k, lane_id id, int n, int i, int j, rough *sought)
{
    if (i > 0 || closest_approach_star(k)) {
        const real least = lane_load(k->watch, id, closest_slot(k, n, i, j) + CLOSEST_D2, k->n_watch);
        *sought = rough_max(*sought, lane_rough(lane_min(least, lane_set(1e30))));
    }
    return lane_set(0.0) != lane_set(0.0);
}

LANE_FN void closest_approach_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const int n = view->n, first = k->monitor[SHOAL_MONITOR_closest_approach][CLOSEST_CENTRAL] != 0.0 ? 0 : 1;
    const real *m = view->m, *w = view->after;
    const mask inside = view->whole & lane_not(view->star & view->planets);
    (void)slots, (void)event;
    if (!view->part && lane_any(inside))
        closest_approach_accept(k, view, inside);
    LANE_UNROLL_PAIRS
    for (int i = 0; i < n; i++) {
        if (i < first)
            continue;
        LANE_UNROLL_PAIRS
        for (int j = 1; j < n; j++) {
            if (j <= i)
                continue;
            const int at = closest_slot(k, n, i, j) + (view->part ? CLOSEST_PART : 0);
            const lane_pair now = pair_relative(n, w, i, j);
            const real d2 = pair_dot(now.x, now.y, now.z, now.x, now.y, now.z);
            const real least = lane_load(k->watch, view->id, at + CLOSEST_D2, k->n_watch);
            const mask there = is_there(m[i]) & is_there(m[j]) & (i == 0 ? view->star : view->planets);
            const mask search = there & pair_suspect(now, view->h, d2, d2 < least, d2 < 8.0 * least);
            if (!lane_any(search))
                continue;
            pair_closest closest = closest_find(k, view, i, j, now, d2, least, search);
            if (MONITORS(k) & (1 << SHOAL_MONITOR_stop_on_collision))
                closest_touch(k, view, i, j, now, &closest);
            const mask nearer = search & (closest.d2 < least);
            if (!lane_any(nearer))
                continue;
            const real ago = lane_fma(1.0 - closest.fraction, view->h, view->late), mass = m[i] + m[j],
                       zero = lane_set(0.0);
            real hill = zero, when = view->time - ago;
            if (!view->part)
                when = closest_start(k, view->id) + when;
            if (i > 0)
                hill = lane_select(mass > zero,
                                   0.5 * (orbit_axis(k, n, m, w, i) + orbit_axis(k, n, m, w, j)) *
                                       lane_cbrt(mass / (3.0 * m[0])),
                                   zero);
            lane_store(k->watch, view->id, at + CLOSEST_D2, k->n_watch, nearer, closest.d2);
            lane_store(k->watch, view->id, at + CLOSEST_TIME, k->n_watch, nearer, when);
            lane_store(k->watch, view->id, at + CLOSEST_HILL, k->n_watch, nearer, hill);
            lane_store(k->watch, view->id, at + CLOSEST_PAIR, k->n_watch, nearer, lane_set(1000.0 * i + j));
        }
    }
}

#endif
