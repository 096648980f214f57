/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * stop_on_collision.c: what the world knows of stop_on_collision.kern.h.
 */
#include "core/ensemble/ensemble.h"
#include "monitors/stop_on_collision.kern.h"

static const shoal_parameter parameters[stop_on_collision_PARAMETERS] = {
    [COLLISION_FACTOR] = {"factor", SHOAL_REAL, "", 1, 1e-12, 1e12, NULL, "scales the sum of the two radii"},
    [COLLISION_ACTION] = {"action", SHOAL_CHOICE, "", 0, 0, 1, "stop|merge",
                          "merge: the two become one, with their mass, momentum and volume, in the place of the "
                          "heavier (of the central body)"},
};

static const char *refuses(const double *p, const shoal_ensemble *ensemble)
{
    (void)p;
    if (!ensemble)
        return NULL;
    for (long system = 0; system < ensemble->n_systems; system++)
        for (int body = 0; body < ensemble->n_bodies; body++)
            if (*shoal_ensemble_body(ensemble, body, SHOAL_R, system) > 0)
                return NULL;
    return "no body has a radius (key r of a body)";
}

const shoal_monitor shoal_monitor_stop_on_collision = {
    .name = "stop_on_collision",
    .doc = "ends a system (collided, hit_star), or merges bodies, when two with radii touch, swept within the step",
    .reference = "distance below the sum of the bodies' radii (key r of a body)",
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .refuses = refuses,
};
