/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * element_range.kern.h: the least and largest osculating 1/a, e^2 and sin^2(i/2) of every body, which give those of a,
 * e and i.
 */
enum { ELEMENT_RANGE_ELEMENTS, ELEMENT_RANGE_EVERY, element_range_PARAMETERS };
enum { ELEMENT_RANGE_LEFT, element_range_SLOTS }; /* slot: steps left until the next look */
/* slots of a body: the least and the largest of each */
enum { ELEMENT_RANGE_A, ELEMENT_RANGE_E = 2, ELEMENT_RANGE_TILT = 4, element_range_PART_SLOTS = 6 };

enum { element_range_LEFT = ELEMENT_RANGE_LEFT };

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"
#include "monitors/orbit.kern.h"

LANE_FN void element_range_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const double *p = k->monitor[SHOAL_MONITOR_element_range];
    const int n = view->n;
    const real *m = view->m, *w = view->after;
    const mask due = monitor_due(view, p[ELEMENT_RANGE_EVERY], &slots[ELEMENT_RANGE_LEFT]);
    (void)event;
    if (!lane_any(due))
        return;
    orbit_focus focus = orbit_first_focus(n, m, w);
    LANE_UNROLL_PAIRS
    for (int i = 1; i < n; i++) {
        real mu;
        const lane_pair motion = orbit_motion(k, n, m, w, i, (int)p[ELEMENT_RANGE_ELEMENTS], &focus, &mu);
        const lane_orbit orbit = orbit_elements(motion, mu);
        const real values[3] = {orbit.inverse_a, orbit.e2, orbit.half_tilt};
        const int at = part_slot(k, SHOAL_MONITOR_element_range, element_range_SLOTS, element_range_PART_SLOTS, i - 1);
        const mask seen = due & is_there(m[i]);
        LANE_UNROLL_XYZ
        for (int q = 0; q < 3; q++) {
            const real least = lane_load(k->watch, view->id, at + 2 * q, k->n_watch);
            const real largest = lane_load(k->watch, view->id, at + 2 * q + 1, k->n_watch);
            lane_store(k->watch, view->id, at + 2 * q, k->n_watch, seen, lane_min(values[q], least));
            lane_store(k->watch, view->id, at + 2 * q + 1, k->n_watch, seen, lane_max(values[q], largest));
        }
    }
}

#endif
