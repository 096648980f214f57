/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * j2.c: what the world knows of j2.kern.h.
 */
#include "gravitation/force.h"
#include "gravitation/j2.kern.h"

static const shoal_parameter parameters[j2_PARAMETERS] = {
    [J2_BODY] = {"body", SHOAL_BODY, "", 0, -1, SHOAL_MAX_BODIES, NULL, "the flattened body"},
    [J2_RADIUS] = {"radius", SHOAL_REAL, "length", NAN, 0, 1e200, NULL, "its radius, that J2 and J4 refer to"},
    [J2_J2] = {"J2", SHOAL_REAL, "", NAN, -1, 1, NULL, "its zonal harmonic of degree 2, positive if it is oblate"},
    [J2_J4] = {"J4", SHOAL_REAL, "", 0, -1, 1, NULL, "its zonal harmonic of degree 4"},
    [J2_AXIS] = SHOAL_AXIS_PARAMETERS("its axis"),
};

static const char *refuses(const double *p, const shoal_ensemble *ensemble, long system)
{
    (void)ensemble;
    (void)system;
    return no_axis(p + J2_AXIS);
}

static double energy(const double *p, int n, const shoal_body *bodies)
{
    const int body = (int)p[J2_BODY];
    const double *axis = p + J2_AXIS, length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    double sum = 0;
    for (int i = 0; i < n && body < n; i++) {
        if (i == body)
            continue;
        const relative at = relative_to(&bodies[i], &bodies[body]);
        const double s = (at.d[0] * axis[0] + at.d[1] * axis[1] + at.d[2] * axis[2]) / (length * at.r), s2 = s * s;
        const double two = p[J2_RADIUS] * p[J2_RADIUS] / (at.r * at.r);
        sum += bodies[i].m / at.r * two *
               (p[J2_J2] * (1.5 * s2 - 0.5) + p[J2_J4] * two * ((35 * s2 - 30) * s2 + 3) / 8);
    }
    return body < n ? bodies[body].m * sum : 0;
}

static bool alike(const double *p)
{
    return p[J2_BODY] == 0;
}

const shoal_force shoal_force_j2 = {
    .name = "j2",
    .doc = "flattening of one body, J2 and J4 about a fixed axis, on all others, and its reaction",
    .reference = "Murray & Dermott 1999, Solar System Dynamics, section 6.11",
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .refuses = refuses,
    .energy = energy,
    .alike = alike,
};
