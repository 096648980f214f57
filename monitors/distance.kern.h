/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * distance.kern.h: least, largest and mean distance of two bodies, at the ends of steps; the mean is over time, each
 * distance standing for the time since the last look. Slots: steps left until the next look, least, largest, integral,
 * time of the last look.
 */
#include "monitors/monitor.kern.h"
#include "monitors/pair.kern.h"

enum { distance_SLOTS = 5, DISTANCE_FIRST = 0, DISTANCE_SECOND = 1, DISTANCE_EVERY = 2 };

LANE_FN void distance_observe(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const double *p = k->monitor[SHOAL_MONITOR_distance];
    const int i = (int)p[DISTANCE_FIRST], j = (int)p[DISTANCE_SECOND];
    const mask due = monitor_due(view, p[DISTANCE_EVERY], &slots[0]) & is_there(view->m[i]) & is_there(view->m[j]);
    (void)event;
    if (!lane_any(due))
        return;
    const lane_pair pair = pair_relative(view->n, view->after, i, j);
    const real d = lane_sqrt(pair_dot(pair.x, pair.y, pair.z, pair.x, pair.y, pair.z));
    slots[1] = lane_select(due, lane_min(d, slots[1]), slots[1]);
    slots[2] = lane_select(due, lane_max(d, slots[2]), slots[2]);
    slots[3] = lane_select(due, lane_fma(d, view->time - slots[4], slots[3]), slots[3]);
    slots[4] = lane_select(due, view->time, slots[4]);
}
