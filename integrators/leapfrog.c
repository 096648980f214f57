/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * leapfrog.c: what the world knows of leapfrog.kern.h.
 */
#include "internal.h"

static const char *const slots[] = {"x",  "y",  "z",  "vx", "vy", "vz",  "ax", "ay",
                                    "az", "ex", "ey", "ez", "evx", "evy", "evz"};

static const shoal_parameter parameters[] = {
    SHOAL_COMPENSATED_PARAMETER,
};

const shoal_propagator shoal_propagator_leapfrog = {
    .name = "leapfrog",
    .aliases = "verlet",
    .doc = "leapfrog of order 2, kick-drift-kick, fixed step: symplectic, reversible, one force evaluation a step",
    .reference = "Hairer, Lubich & Wanner 2003, Acta Numerica 12, 399",
    .order = 2,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
};
