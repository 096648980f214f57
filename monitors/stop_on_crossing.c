/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * stop_on_crossing.c: what the world knows of stop_on_crossing.kern.h.
 */
#include "core/ensemble/ensemble.h"
#include "monitors/stop_on_crossing.kern.h"

static const shoal_parameter parameters[stop_on_crossing_PARAMETERS] = {
    [CROSSING_ELEMENTS] = {"elements", SHOAL_CHOICE, "", 0, 0, 1, "jacobi|astrocentric", "what the orbits refer to"},
    [CROSSING_EVERY] = {"every", SHOAL_INTEGER, "", 10, 1, 1e9, NULL, "look at every so-many-th step"},
};

static const double initial[stop_on_crossing_SLOTS] = {0};

const shoal_monitor shoal_monitor_stop_on_crossing = {
    .name = "stop_on_crossing",
    .doc =
        "ends a system (crossed) when osculating ellipses cross, a1 (1 + e1) > a2 (1 - e2); Neptune and Pluto do, and "
        "live. A body that is not bound has none",
    .reference = "the criterion is used by, e.g., Chambers, Wetherill & Boss 1996, Icarus 119, 261",
    .ends_only = true,
    .n_slots = SHOAL_COUNT(initial),
    .initial = initial,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
};
