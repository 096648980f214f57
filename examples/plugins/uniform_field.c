/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * uniform_field.c: a force of one's own: a constant acceleration of all bodies but the first along x, as of a distant
 * perturber's tide at its simplest (the star is the origin of what is observed). The smallest plugin there is; see
 * docs/plugins.md.
 *
 *     plugins = [ "uniform_field.c" ];
 *     forces = ( { name = "uniform_field"; strength = 1e-6; } );
 */
#include "core/plug/plug.h"

enum { UNIFORM_STRENGTH, uniform_field_PARAMETERS }; /* names that both parts read */

#ifndef SHOAL_KERNEL /* what the host knows */

static const shoal_parameter parameters[uniform_field_PARAMETERS] = {
    [UNIFORM_STRENGTH] = {"strength", SHOAL_REAL, "", 1e-6, -1, 1, NULL, "acceleration along x in AU, Msun, G = 1"},
};

const shoal_force shoal_force_uniform_field = {
    .name = "uniform_field",
    .doc = "a constant acceleration along x of all bodies but body 0",
    .reference = "an example",
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
};

#else /* kernel text: lanes are systems */

LANE_FN void uniform_field_add(const shoal_kernel_args *k, const double *p, int n, const real *m, const real *x,
                               const real *v, real *a)
{
    (void)k, (void)m, (void)x, (void)v;
    for (int i = 1; i < n; i++)
        a[i] = a[i] + p[UNIFORM_STRENGTH];
}

#endif
