/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gr.c: what the world knows of gr.kern.h.
 */
#include "gravitation/force.h"
#include "gravitation/gr.kern.h"

static const shoal_parameter parameters[gr_PARAMETERS] = {
    [GR_C] = SHOAL_LIGHT_PARAMETER,
};

/* sum m_i / c^2 [3 v^4 / 8 + 3 G m_0 v^2 / 2r + (G m_0)^2 / 2r^2]: with Newton's, conserved but for what is smaller
 * than it by m_i / m_0 or G m_0 / c^2 r. */
static double energy(const double *p, int n, const shoal_body *bodies)
{
    double sum = 0;
    for (int i = 1; i < n; i++) {
        const relative at = relative_to(&bodies[i], &bodies[0]);
        const double depth = bodies[0].m / at.r;
        sum += bodies[i].m * (0.375 * at.v2 * at.v2 + 1.5 * depth * at.v2 + 0.5 * depth * depth);
    }
    return sum / (p[GR_C] * p[GR_C]);
}

const shoal_force shoal_force_gr = {
    .name = "gr",
    .doc = "general relativity of one dominant mass, body 0, on all others to first post-Newtonian order, and its "
           "reaction",
    .reference = "Anderson et al. 1975, ApJ 200, 221; Newhall, Standish & Williams 1983, A&A 125, 150",
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .depends_on_velocity = true,
    .refuses = not_dominated,
    .effect = SHOAL_RELATIVITY,
    .energy = energy,
};
