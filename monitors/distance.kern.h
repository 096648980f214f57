/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * distance.kern.h: least, largest and mean distance of two bodies, at the ends of steps; the mean is over time, each
 * distance standing for the time since the last look.
 */
enum { DISTANCE_FIRST, DISTANCE_SECOND, DISTANCE_EVERY, distance_PARAMETERS };
/* slots: steps left until the next look; least, largest, integral over time; time of the last look */
enum { DISTANCE_LEFT, DISTANCE_LEAST, DISTANCE_LARGEST, DISTANCE_INTEGRAL, DISTANCE_TIME, distance_SLOTS };

enum { distance_LEFT = DISTANCE_LEFT };

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"
#include "monitors/pair.kern.h"

LANE_FN void distance_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const double *p = k->monitor[SHOAL_MONITOR_distance];
    const int i = (int)p[DISTANCE_FIRST], j = (int)p[DISTANCE_SECOND];
    const mask due = monitor_due(view, p[DISTANCE_EVERY], &slots[DISTANCE_LEFT]) & is_there(view->m[i]) &
                     is_there(view->m[j]);
    (void)event;
    if (!lane_any(due))
        return;
    const lane_pair pair = pair_relative(view->n, view->after, i, j);
    const real d = lane_sqrt(pair_dot(pair.x, pair.y, pair.z, pair.x, pair.y, pair.z));
    slots[DISTANCE_LEAST] = lane_select(due, lane_min(d, slots[DISTANCE_LEAST]), slots[DISTANCE_LEAST]);
    slots[DISTANCE_LARGEST] = lane_select(due, lane_max(d, slots[DISTANCE_LARGEST]), slots[DISTANCE_LARGEST]);
    slots[DISTANCE_INTEGRAL] = lane_select(
        due, lane_fma(d, view->time - slots[DISTANCE_TIME], slots[DISTANCE_INTEGRAL]), slots[DISTANCE_INTEGRAL]);
    slots[DISTANCE_TIME] = lane_select(due, view->time, slots[DISTANCE_TIME]);
}

#endif
