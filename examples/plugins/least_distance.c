/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * least_distance.c: a monitor of one's own: the least distance between two bodies at the ends of steps, and optionally
 * the end of a system when it falls below a limit.
 *
 *     plugins = [ "least_distance.c" ];
 *     monitors = ( { name = "least_distance"; first = "jupiter"; second = "saturn"; } );
 */
#include "core/plug/plug.h"

/* Names that both parts read: the parameters, and the numbers that are carried for a system. */
enum { LEAST_FIRST, LEAST_SECOND, LEAST_STOP_BELOW, least_distance_PARAMETERS };
enum { LEAST_DISTANCE, least_distance_SLOTS };

#ifndef SHOAL_KERNEL /* what the host knows */

static const shoal_parameter parameters[least_distance_PARAMETERS] = {
    [LEAST_FIRST] = {"first", SHOAL_BODY, "", 1, -1, 1e6, NULL, "one body"},
    [LEAST_SECOND] = {"second", SHOAL_BODY, "", -1, -1, 1e6, NULL, "the other body (default: the last)"},
    [LEAST_STOP_BELOW] = {"stop_below", SHOAL_REAL, "length", 0, 0, 1e30, NULL,
                          "a system ends as `encounter` below this; 0 = never"},
};

static const double initial[least_distance_SLOTS] = {[LEAST_DISTANCE] = 1e30};

static double least(const double *slots, const double *p)
{
    (void)p;
    return slots[LEAST_DISTANCE];
}

static const shoal_monitor_column columns[] = {
    {"least_distance", "length", "least distance of the two bodies at the ends of steps", least, SHOAL_OF_SYSTEM},
};

const shoal_monitor shoal_monitor_least_distance = {
    .name = "least_distance",
    .doc = "the least distance between two bodies",
    .reference = "an example",
    .n_slots = SHOAL_COUNT(initial),
    .initial = initial,
    .ends_only = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
};

#else /* kernel text: lanes are systems */

LANE_FN void least_distance_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const double *p = k->monitor[SHOAL_MONITOR_least_distance];
    const int i = (int)p[LEAST_FIRST], j = (int)p[LEAST_SECOND];
    const lane_pair pair = pair_relative(view->n, view->after, i, j);
    const real distance = lane_sqrt(pair_dot(pair.x, pair.y, pair.z, pair.x, pair.y, pair.z));
    slots[LEAST_DISTANCE] = lane_min(slots[LEAST_DISTANCE], distance);
    event_offer(event, distance < lane_set(p[LEAST_STOP_BELOW]), lane_set(1.0), lane_set(SHOAL_ENCOUNTER),
                lane_set((double)i), lane_set((double)j));
}

#endif
