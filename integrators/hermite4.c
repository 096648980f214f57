/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hermite4.c: what the world knows of hermite4.kern.h.
 */
#include "internal.h"

static const char *const slots[] = {"x",  "y",  "z",  "vx", "vy", "vz", "ax", "ay", "az",
                                    "jx", "jy", "jz", "ex", "ey", "ez", "evx", "evy", "evz"};

static const shoal_parameter parameters[] = {
    SHOAL_COMPENSATED_PARAMETER,
};

const shoal_propagator shoal_propagator_hermite4 = {
    .name = "hermite4",
    .aliases = "hermite",
    .doc = "Hermite scheme of order 4, fixed step, P(EC)^2; any masses, close encounters resolved by a small step",
    .reference = "Makino & Aarseth 1992, PASJ 44, 141",
    .order = 4,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
};
