/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * distance.kern.h: least, largest and mean distance of two bodies, at the ends of steps. The mean is over the time from
 * the first look to the last; between two looks it is that of the cubic with their distances d and rates d',
 *
 *     (d_0 + d_1) / 2 + h (d'_0 - d'_1) / 12
 *
 * All second terms count, or none: between looks at equal intervals they cancel but for the first and the last. None if
 * together they are more than a fourth of the range of distances (few looks, far apart).
 */
enum { DISTANCE_FIRST, DISTANCE_SECOND, DISTANCE_EVERY, distance_PARAMETERS };
/* slots: steps left until the next look; least, largest, integrals over time, of both terms; times of the first look
 * and of the last, distance and rate at the last */
enum {
    DISTANCE_LEFT,
    DISTANCE_LEAST,
    DISTANCE_LARGEST,
    DISTANCE_INTEGRAL,
    DISTANCE_BEND,
    DISTANCE_FROM,
    DISTANCE_TO,
    DISTANCE_LAST,
    DISTANCE_RATE,
    distance_SLOTS
};

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
    const real d = lane_sqrt(pair_dot(pair.x, pair.y, pair.z, pair.x, pair.y, pair.z)),
               rate = pair_dot(pair.x, pair.y, pair.z, pair.vx, pair.vy, pair.vz) / d;
    const mask begun = slots[DISTANCE_FROM] == slots[DISTANCE_FROM];
    const real passed = view->time - slots[DISTANCE_TO], mean = 0.5 * (slots[DISTANCE_LAST] + d),
               bend = (passed * passed) * ((slots[DISTANCE_RATE] - rate) * (1.0 / 12));
    slots[DISTANCE_LEAST] = lane_select(due, lane_min(d, slots[DISTANCE_LEAST]), slots[DISTANCE_LEAST]);
    slots[DISTANCE_LARGEST] = lane_select(due, lane_max(d, slots[DISTANCE_LARGEST]), slots[DISTANCE_LARGEST]);
    slots[DISTANCE_INTEGRAL] = lane_select(due & begun, lane_fma(mean, passed, slots[DISTANCE_INTEGRAL]),
                                           slots[DISTANCE_INTEGRAL]);
    slots[DISTANCE_BEND] = lane_select(due & begun, slots[DISTANCE_BEND] + bend, slots[DISTANCE_BEND]);
    slots[DISTANCE_FROM] = lane_select(due & lane_not(begun), view->time, slots[DISTANCE_FROM]);
    slots[DISTANCE_TO] = lane_select(due, view->time, slots[DISTANCE_TO]);
    slots[DISTANCE_LAST] = lane_select(due, d, slots[DISTANCE_LAST]);
    slots[DISTANCE_RATE] = lane_select(due, rate, slots[DISTANCE_RATE]);
}

#endif
