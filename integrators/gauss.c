/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gauss.c: what the world knows of gauss.kern.h.
 */
#include "core/ensemble/ensemble.h"
#include "integrators/gauss.kern.h"

static const char *const slots[GAUSS_SLOTS] = {
    SHOAL_VECTOR(GAUSS_X, ""),
    SHOAL_VECTOR(GAUSS_V, "v"),
    SHOAL_VECTOR(GAUSS_F, "f1"),
    SHOAL_VECTOR(GAUSS_F + 1 * XYZ, "f2"),
    SHOAL_VECTOR(GAUSS_F + 2 * XYZ, "f3"),
    SHOAL_VECTOR(GAUSS_F + 3 * XYZ, "f4"),
    SHOAL_VECTOR(GAUSS_F + 4 * XYZ, "f5"),
    SHOAL_VECTOR(GAUSS_F + 5 * XYZ, "f6"),
    SHOAL_VECTOR(GAUSS_EX, "e"),
    SHOAL_VECTOR(GAUSS_EV, "ev"),
};

static const shoal_parameter parameters[GAUSS_PARAMETERS] = {
    [GAUSS_ORDER] = {"order", SHOAL_CHOICE, "", 2, 0, 2, "4|8|12", "2, 4 or 6 stages"},
    [GAUSS_COMPENSATED] = SHOAL_COMPENSATED_BY_DEFAULT,
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
