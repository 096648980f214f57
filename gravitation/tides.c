/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tides.c: what the world knows of tides.kern.h.
 */
#include "gravitation/force.h"
#include "gravitation/tides.kern.h"

static const shoal_parameter parameters[tides_PARAMETERS] = {
    [TIDES_BODY] = {"body", SHOAL_BODY, "", NAN, -1, SHOAL_MAX_BODIES, NULL, "the body that the tide deforms"},
    [TIDES_BY] = {"by", SHOAL_BODY, "", NAN, -1, SHOAL_MAX_BODIES, NULL, "the body that raises it"},
    [TIDES_RADIUS] = {"radius", SHOAL_REAL, "length", NAN, 0, 1e200, NULL, "radius of the deformed body"},
    [TIDES_K2] = {"k2", SHOAL_REAL, "", NAN, 0, 1.5, NULL,
                  "its potential Love number of degree 2 (twice the apsidal motion constant)"},
    [TIDES_TAU] = {"tau", SHOAL_REAL, "time", NAN, 0, 1e200, NULL, "its time lag; 0: no dissipation"},
    [TIDES_SPIN] = {"spin", SHOAL_REAL, "angular velocity", 0, -1e200, 1e200, NULL, "its angular velocity, kept"},
    [TIDES_AXIS] = SHOAL_AXIS_PARAMETERS("its axis of rotation"),
};

static const char *refuses(const double *p, const shoal_ensemble *ensemble, long system)
{
    if (p[TIDES_BODY] == p[TIDES_BY])
        return "a body raises no tide on itself: `body` and `by` must differ";
    if (!(*shoal_ensemble_body(ensemble, (int)p[TIDES_BODY], SHOAL_M, system) > 0))
        return "a tide needs a mass to act on: `body` has none";
    return no_axis(p + TIDES_AXIS);
}

/* Of the bulge in the field that raises it, if no lag makes heat of it. */
static double energy(const double *p, int n, const shoal_body *bodies)
{
    const int body = (int)p[TIDES_BODY], by = (int)p[TIDES_BY];
    if (p[TIDES_TAU] > 0)
        return NAN;
    return body < n && by < n ? -0.5 * p[TIDES_K2] * bodies[by].m * bodies[by].m / p[TIDES_RADIUS] *
                                    pow(p[TIDES_RADIUS] / relative_to(&bodies[by], &bodies[body]).r, 6)
                              : 0;
}

const shoal_force shoal_force_tides = {
    .name = "tides",
    .doc = "equilibrium tide on one body raised by another, constant time lag, the spin kept",
    .reference = "Mignard 1979, Moon and Planets 20, 301; Hut 1981, A&A 99, 126",
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .depends_on_velocity = true,
    .refuses = refuses,
    .energy = energy,
};
