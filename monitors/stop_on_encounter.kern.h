/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * stop_on_encounter.kern.h: ends a system when two planets (bodies 1 and up) come closer than a chosen distance, within
 * the step:
 *
 *     mutual_hill   factor ((m1 + m2) / 3 m_0)^(1/3) (a1 + a2) / 2     (Chambers, Wetherill & Boss 1996)
 *     hill          factor times the larger of a_i (m_i / 3 m_0)^(1/3)
 *     absolute      factor * distance
 *
 * a: osculating astrocentric semi-major axis at the end of the step, or twice the distance from body 0 if that is less:
 * of a nearly parabolic or unbound orbit the axis says nothing about where the body is. (Up to e = 1/2 it never is
 * less.) Distances are compared by their sixth powers, which spares the cube root: d^6 (24 m_0)^2 < factor^6 (m1 +
 * m2)^2 (a1 + a2)^6.
 *
 * With action = log the pair is marked instead, once: it has to be a tenth farther apart than that, at the end of a
 * step, before it is marked again. That is seen with the whole step in view, which happens once; what is inside of it
 * may be shown twice.
 */
enum { ENCOUNTER_RADIUS, ENCOUNTER_FACTOR, ENCOUNTER_DISTANCE, ENCOUNTER_ACTION, stop_on_encounter_PARAMETERS };
enum { ENCOUNTER_MUTUAL_HILL, ENCOUNTER_HILL, ENCOUNTER_ABSOLUTE }; /* choices of radius */
enum { stop_on_encounter_SLOTS = 0, stop_on_encounter_WAITS = 0 };

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"
#include "monitors/orbit.kern.h"

/* Whatever it has shown is in the marks alone. */
LANE_FN void stop_on_encounter_forget(const shoal_kernel_args *k, lane_id id, int n, mask lanes)
{
    (void)k, (void)id, (void)n, (void)lanes;
}

LANE_FN int stop_on_encounter_star(const shoal_kernel_args *k)
{
    return (void)k, 0;
}

/* Axes count as twice the distance from body 0, which they are at most. */
LANE_FN void stop_on_encounter_guard(const shoal_kernel_args *k, lane_id id, int n, lane_guard *guard)
{
    const double *p = k->monitor[SHOAL_MONITOR_stop_on_encounter],
                 distance = p[ENCOUNTER_FACTOR] * p[ENCOUNTER_DISTANCE];
    const real star = lane_load(k->bodies, id, SHOAL_M, n * SHOAL_QUANTITIES);
    const real hill = 2.0 * p[ENCOUNTER_FACTOR] * lane_cbrt(2.0 / 3.0 * guard_largest(k, id, n, SHOAL_M) / star);
    if (p[ENCOUNTER_RADIUS] == ENCOUNTER_ABSOLUTE)
        guard->planets = rough_max(guard->planets, lane_rough(lane_set(distance * distance)));
    else
        guard->hill = rough_max(guard->hill, lane_rough(hill * hill));
}

/* A marked pair is looked at until it has parted. */
LANE_FN mask stop_on_encounter_sought(const shoal_kernel_args *k, lane_id id, int n, int i, int j, rough *sought)
{
    (void)sought;
    if (i == 0 || k->monitor[SHOAL_MONITOR_stop_on_encounter][ENCOUNTER_ACTION] == 0.0)
        return lane_set(0.0) != lane_set(0.0);
    const real since = lane_load(k->watch, id, k->marks + j * n + i, k->n_watch);
    return since == since;
}

LANE_FN void stop_on_encounter_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const double *p = k->monitor[SHOAL_MONITOR_stop_on_encounter];
    const int n = view->n, kind = (int)p[ENCOUNTER_RADIUS];
    const real *m = view->m, *w = view->after;
    const real factor2 = lane_set(p[ENCOUNTER_FACTOR] * p[ENCOUNTER_FACTOR]);
    const real factor6 = factor2 * factor2 * factor2;
    const int logs = p[ENCOUNTER_ACTION] != 0.0;
    real axis[SYSTEM_ROOM(n)];
    (void)slots;
    if (kind != ENCOUNTER_ABSOLUTE) {
        LANE_UNROLL_PAIRS
        for (int i = 1; i < n; i++)
            axis[i] = orbit_axis(k, n, m, w, i);
    }
    LANE_UNROLL_PAIRS
    for (int i = 1; i < n; i++) {
        LANE_UNROLL_PAIRS
        for (int j = 1; j < n; j++) {
            if (j <= i)
                continue;
            /* reach^6 = factor6 * top / bottom */
            real top, bottom;
            if (kind == ENCOUNTER_MUTUAL_HILL) {
                real a = axis[i] + axis[j], a2 = a * a, mass = m[i] + m[j];
                top = mass * mass * a2 * a2 * a2;
                bottom = 576.0 * m[0] * m[0];
            } else if (kind == ENCOUNTER_HILL) {
                real ai = axis[i] * axis[i] * axis[i] * m[i], aj = axis[j] * axis[j] * axis[j] * m[j],
                     larger = lane_max(ai, aj);
                top = larger * larger;
                bottom = 9.0 * m[0] * m[0];
            } else {
                double distance2 = p[ENCOUNTER_DISTANCE] * p[ENCOUNTER_DISTANCE];
                top = lane_set(distance2 * distance2 * distance2);
                bottom = lane_set(1.0);
            }
            lane_pair now = pair_relative(n, w, i, j);
            real d2 = pair_dot(now.x, now.y, now.z, now.x, now.y, now.z);
            real d6 = d2 * d2 * d2 * bottom, reach6 = factor6 * top;
            const mask both = is_there(m[i]) & is_there(m[j]);
            const real since = logs ? event_marked(k, view, j, i) : lane_set(0.0);
            mask suspect = both & view->planets & pair_suspect(now, view->h, d2, d6 < reach6, d6 < 512.0 * reach6);
            if (lane_any(suspect)) {
                const lane_pair then = pair_relative(n, view->before, i, j);
                const pair_bound bound = pair_outside(then, now, view->h);
                const real top3 = bound.top * bound.top * bound.top,
                           bottom3 = bound.bottom * bound.bottom * bound.bottom;
                suspect = suspect & lane_not(top3 * bottom > bottom3 * reach6);
                if (lane_any(suspect)) {
                    pair_approach near = pair_reached(then, now, view->h, lane_cbrt(reach6 / bottom));
                    const mask hit = suspect & near.reached;
                    if (logs)
                        event_mark(k, view, hit & (since != since), near.fraction, j, i, event);
                    else
                        event_offer(event, hit, near.fraction, lane_set(SHOAL_ENCOUNTER), lane_set((double)i),
                                    lane_set((double)j));
                }
            }
            if (logs) {
                const mask parted = both & view->whole & (since > lane_set(1e300)) & (d6 > 1.771561 * reach6);
                if (lane_any(parted))
                    /* inf - inf: NaN */
                    lane_store(k->watch, view->id, k->marks + j * n + i, k->n_watch, parted, since - since);
            }
        }
    }
}

#endif
