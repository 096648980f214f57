/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * stop_on_encounter.c: what the world knows of stop_on_encounter.kern.h.
 */
#include "core/ensemble/ensemble.h"
#include "monitors/stop_on_encounter.kern.h"

static const shoal_parameter parameters[stop_on_encounter_PARAMETERS] = {
    [ENCOUNTER_RADIUS] =
        {"radius", SHOAL_CHOICE, "", 0, 0, 2, "mutual_hill|hill|absolute",
         "the unit of factor: the pair's mutual Hill radius, the larger Hill radius of the two (with the osculating "
         "axis, or twice the distance from the star where that is less), or `distance`"},
    [ENCOUNTER_FACTOR] = {"factor", SHOAL_REAL, "", 1, 1e-12, 1e12, NULL, "how many radii"},
    [ENCOUNTER_DISTANCE] = {"distance", SHOAL_REAL, "length", 0, 0, 1e300, NULL,
                            "with radius = absolute, which needs it"},
    [ENCOUNTER_ACTION] = {"action", SHOAL_CHOICE, "", 0, 0, 1, "stop|log",
                          "log: it is an event of the result and the system goes on; between two of a pair it parts to "
                          "1.1 times the distance"},
};

/* `distance` alone, of which nothing would come, and "absolute" alone, of nobody knows what. */
static const char *refuses(const double *parameter, const shoal_ensemble *ensemble)
{
    (void)ensemble;
    const bool absolute = parameter[ENCOUNTER_RADIUS] == ENCOUNTER_ABSOLUTE, given = parameter[ENCOUNTER_DISTANCE] != 0;
    return absolute == given ? NULL
           : absolute        ? "radius = \"absolute\" needs a `distance` > 0"
                             : "`distance` is for radius = \"absolute\"";
}

const shoal_monitor shoal_monitor_stop_on_encounter = {
    .name = "stop_on_encounter",
    .doc =
        "ends a system (encounter), or logs it, when two planets come closer than factor radii, swept within the step",
    .reference = "mutual Hill radius: Chambers, Wetherill & Boss 1996, Icarus 119, 261",
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .refuses = refuses,
};
