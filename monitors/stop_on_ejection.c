/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * stop_on_ejection.c: what the world knows of stop_on_ejection.kern.h.
 */
#include <math.h>

#include "core/ensemble/ensemble.h"
#include "monitors/stop_on_ejection.kern.h"

static const shoal_parameter parameters[stop_on_ejection_PARAMETERS] = {
    [EJECTION_R_MAX] = {"r_max", SHOAL_REAL, "length", NAN, 1e-300, 1e300, NULL,
                        "distance from the barycentre of the other bodies"},
    [EJECTION_CRITERION] =
        {"criterion", SHOAL_CHOICE, "", 0, 0, 1, "energy|distance",
         "energy: beyond r_max, moving outwards and unbound; distance: beyond r_max and moving outwards"},
    [EJECTION_ACTION] = {"action", SHOAL_CHOICE, "", 0, 0, 1, "stop|remove",
                         "remove: the others go on without it (but for the central body, which ends its system)"},
};

const shoal_monitor shoal_monitor_stop_on_ejection = {
    .name = "stop_on_ejection",
    .doc = "ends a system (ejected), or removes a body, when it is beyond r_max, moves outwards and is unbound from "
           "the rest",
    .reference = "energy relative to the barycentre and the total mass of the other bodies",
    .ends_only = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
};
