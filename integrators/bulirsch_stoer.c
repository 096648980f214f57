/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * bulirsch_stoer.c: what the world knows of bulirsch_stoer.kern.h.
 */
#include "core/ensemble/ensemble.h"
#include "integrators/bulirsch_stoer.kern.h"

static const char *const slots[BS_SLOTS] = {
    SHOAL_VECTOR(BS_X, ""),
    SHOAL_VECTOR(BS_V, "v"),
    SHOAL_VECTOR(BS_EX, "e"),
    SHOAL_VECTOR(BS_EV, "ev"),
};

static const shoal_parameter parameters[BS_PARAMETERS] = {
    [BS_COLUMNS] = {"columns", SHOAL_INTEGER, "", 0, 0, 9, NULL,
                    "columns of the extrapolation, 3..9, for order 2 columns; 0 = as suits the tolerance"},
    [BS_TOLERANCE] = {"tolerance", SHOAL_REAL, "", 1e-10, 1e-14, 1e-1, NULL,
                      "error of a step relative to what the largest acceleration of the system does in it"},
    [BS_COMPENSATED] = SHOAL_COMPENSATED_BY_DEFAULT,
};

const shoal_propagator shoal_propagator_bulirsch_stoer = {
    .name = "bulirsch_stoer",
    .aliases = "bs,gbs",
    .doc = "Bulirsch-Stoer extrapolation of leapfrog steps, adaptive; any masses, forces that depend on velocity",
    .reference = "Bulirsch & Stoer 1966, Numer. Math. 8, 1; Hairer, Norsett & Wanner 1993, II.9 and II.14",
    .order = 14,
    .adaptive = true,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .n_own = BS_OWN,
    .tangent = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
};
