/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * stop_on_crossing.kern.h: ends a system when osculating orbits cross: a_1 (1 + e_1) > a_2 (1 - e_2) for two bodies
 * with a_1 < a_2. If that holds for any two it holds for two neighbours in a, so that the order of the others does not
 * matter. An unbound body has no orbit here.
 */
enum { CROSSING_ELEMENTS, CROSSING_EVERY, stop_on_crossing_PARAMETERS };
enum { CROSSING_LEFT, stop_on_crossing_SLOTS }; /* slot: steps left until the next look */

enum { stop_on_crossing_LEFT = CROSSING_LEFT };

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"
#include "monitors/orbit.kern.h"

LANE_FN void stop_on_crossing_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const double *p = k->monitor[SHOAL_MONITOR_stop_on_crossing];
    const int n = view->n;
    const real *m = view->m, *w = view->after;
    const real zero = lane_set(0.0), one = lane_set(1.0);
    const mask due = monitor_due(view, p[CROSSING_EVERY], &slots[CROSSING_LEFT]);
    real a[SYSTEM_ROOM(n)], e[SYSTEM_ROOM(n)]; /* a = 0: none */
    if (!lane_any(due))
        return;
    orbit_focus focus = orbit_first_focus(n, m, w);
    LANE_UNROLL_PAIRS
    for (int i = 1; i < n; i++) {
        real mu;
        const lane_pair motion = orbit_motion(k, n, m, w, i, (int)p[CROSSING_ELEMENTS], &focus, &mu);
        const lane_orbit orbit = orbit_elements(motion, mu);
        a[i] = lane_select(is_there(m[i]) & (orbit.inverse_a > zero), one / orbit.inverse_a, zero);
        e[i] = lane_sqrt(orbit.e2);
    }
    LANE_UNROLL_PAIRS
    for (int i = 1; i < n; i++) {
        LANE_UNROLL_PAIRS
        for (int j = 1; j < n; j++) {
            if (j <= i)
                continue;
            const mask ordered = a[i] <= a[j];
            const real far = lane_select(ordered, a[i] * (1.0 + e[i]), a[j] * (1.0 + e[j]));
            const real near = lane_select(ordered, a[j] * (1.0 - e[j]), a[i] * (1.0 - e[i]));
            event_offer(event, due & (a[i] > zero) & (a[j] > zero) & (far > near), one, lane_set(SHOAL_CROSSED),
                        lane_set((double)i), lane_set((double)j));
        }
    }
}

#endif
