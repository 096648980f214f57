/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * force.h: what the descriptors of forces share: parameters that several of them have, contradictions, one body seen
 * from another.
 */
#ifndef SHOAL_FORCE_H
#define SHOAL_FORCE_H

#include <math.h>
#include <stddef.h>

#include "core/ensemble/ensemble.h"

#define SHOAL_LIGHT_PARAMETER                                                                                          \
    {                                                                                                                  \
        "c", SHOAL_REAL, "velocity", 10065.320121972596, 1e-200, 1e200, NULL, "speed of light; default: 299792458 m/s" \
    }

#define SHOAL_RELATIVITY "relativity" /* shoal_force.effect */

/* An axis by a vector of any length, three parameters in a row. */
/* clang-format off */
#define SHOAL_AXIS_PARAMETERS(what)                                                              \
    {"axis_x", SHOAL_REAL, "", 0, -1e200, 1e200, NULL, what " as a vector of any length, x"},    \
    {"axis_y", SHOAL_REAL, "", 0, -1e200, 1e200, NULL, what ", y"},                              \
    {"axis_z", SHOAL_REAL, "", 1, -1e200, 1e200, NULL, what ", z"}
/* clang-format on */

/* Of forces that act about body 0 and not on it. */
#define SHOAL_ON_PARAMETER                                           \
    {                                                                \
        "body", SHOAL_BODY, "", 0, -1, SHOAL_MAX_BODIES, NULL,       \
            "the one body that it acts on; 0: all that have no mass" \
    }

static inline const char *no_axis(const double *axis)
{
    const double length2 = axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2];
    return length2 > 0 && isfinite(length2) ? NULL : "an axis needs a length greater than 0 to have a direction";
}

/* For shoal_force.refuses. */
static inline const char *not_dominated(const double *parameters, const shoal_ensemble *ensemble, long system)
{
    (void)parameters;
    return shoal_ensemble_dominated(ensemble, system)
               ? NULL
               : "its equations hold about one dominant mass: body 0 must have the largest";
}

/* One body seen from another. */
typedef struct relative {
    double d[3];  /* position */
    double r, v2; /* distance, squared velocity */
} relative;

static inline relative relative_to(const shoal_body *body, const shoal_body *origin)
{
    relative at = {.d = {body->x - origin->x, body->y - origin->y, body->z - origin->z}};
    const double u[3] = {body->vx - origin->vx, body->vy - origin->vy, body->vz - origin->vz};
    at.r = sqrt(at.d[0] * at.d[0] + at.d[1] * at.d[1] + at.d[2] * at.d[2]);
    at.v2 = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
    return at;
}

#endif
