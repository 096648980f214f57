/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gauss.c: what the world knows of gauss.kern.h.
 */
#include "core/ensemble/ensemble.h"

static const char *const slots[] = {"x",   "y",   "z",   "vx",  "vy",  "vz",  "fx1", "fy1", "fz1", "fx2",
                                    "fy2", "fz2", "fx3", "fy3", "fz3", "fx4", "fy4", "fz4", "fx5", "fy5",
                                    "fz5", "fx6", "fy6", "fz6", "ex",  "ey",  "ez",  "evx", "evy", "evz"};

static const shoal_parameter parameters[] = {
    {"order", SHOAL_CHOICE, "", 2, 0, 2, "4|8|12", "2, 4 or 6 stages"},
    SHOAL_COMPENSATED_BY_DEFAULT,
};

const shoal_propagator shoal_propagator_gauss = {
    .name = "gauss",
    .aliases = "gauss_legendre,irk",
    .doc = "implicit Runge-Kutta of Gauss, order 4, 8, 12, fixed step: symplectic, reversible, iterated to rounding; "
           "any masses",
    .reference =
        "Hairer, Lubich & Wanner 2006, Geometric Numerical Integration, II.1.3; Hairer et al. 2008, BIT 48, 231",
    .order = 12,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .tangent = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
};
