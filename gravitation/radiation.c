/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * radiation.c: what the world knows of radiation.kern.h.
 */
#include "gravitation/force.h"
#include "gravitation/radiation.kern.h"

static const shoal_parameter parameters[radiation_PARAMETERS] = {
    [RADIATION_BETA] = {"beta", SHOAL_REAL, "", NAN, 0, 1e6, NULL, "radiation pressure over gravitation"},
    [RADIATION_BODY] = SHOAL_ON_PARAMETER,
    [RADIATION_DRAG] = {"drag", SHOAL_BOOLEAN, "", 1, 0, 1, NULL, "Poynting-Robertson drag as well"},
    [RADIATION_C] = SHOAL_LIGHT_PARAMETER,
};

/* Test particles have none. Of one body with mass: the potential, if there is no drag; conserved as far as its mass
 * is small. */
static double energy(const double *p, int n, const shoal_body *bodies)
{
    const int body = (int)p[RADIATION_BODY];
    if (body == 0 || body >= n || bodies[body].m == 0)
        return 0;
    return p[RADIATION_DRAG] != 0
               ? NAN
               : p[RADIATION_BETA] * bodies[0].m * bodies[body].m / relative_to(&bodies[body], &bodies[0]).r;
}

const shoal_force shoal_force_radiation = {
    .name = "radiation",
    .doc = "radiation pressure of body 0 with Poynting-Robertson drag, on one body or on all without mass; no reaction "
           "on body 0",
    .reference = "Burns, Lamy & Soter 1979, Icarus 40, 1",
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .depends_on_velocity = true,
    .energy = energy,
    .eases = true,
};
