/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gr_potential.c: what the world knows of gr_potential.kern.h.
 */
#include "gravitation/force.h"
#include "gravitation/gr_potential.kern.h"

static const shoal_parameter parameters[gr_potential_PARAMETERS] = {
    [GR_POTENTIAL_C] = SHOAL_LIGHT_PARAMETER,
};

static double energy(const double *p, int n, const shoal_body *bodies)
{
    double sum = 0;
    for (int i = 1; i < n; i++) {
        const double depth = bodies[0].m / (p[GR_POTENTIAL_C] * relative_to(&bodies[i], &bodies[0]).r);
        sum -= 3 * bodies[i].m * depth * depth;
    }
    return sum;
}

static bool alike(const double *p)
{
    (void)p;
    return true;
}

const shoal_force shoal_force_gr_potential = {
    .name = "gr_potential",
    .doc = "general relativity as a 1/r^2 potential about body 0: the right pericentre precession, a mean motion off "
           "by O(GM/ac^2)",
    .reference = "Nobili & Roxburgh 1986, IAU Symp. 114, 105",
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .refuses = not_dominated,
    .effect = SHOAL_RELATIVITY,
    .energy = energy,
    .alike = alike,
};
