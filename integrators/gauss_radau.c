/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gauss_radau.c: what the world knows of gauss_radau.kern.h and gauss_radau_fixed.kern.h.
 */
#include "core/ensemble/ensemble.h"
#include "integrators/gauss_radau.kern.h"
#include "integrators/gauss_radau_fixed.kern.h"

static const char *const slots[RADAU_SLOTS] = {
    SHOAL_VECTOR(RADAU_X, ""),
    SHOAL_VECTOR(RADAU_V, "v"),
    SHOAL_VECTOR(RADAU_B, "b0"),
    SHOAL_VECTOR(RADAU_B + 1 * XYZ, "b1"),
    SHOAL_VECTOR(RADAU_B + 2 * XYZ, "b2"),
    SHOAL_VECTOR(RADAU_B + 3 * XYZ, "b3"),
    SHOAL_VECTOR(RADAU_B + 4 * XYZ, "b4"),
    SHOAL_VECTOR(RADAU_B + 5 * XYZ, "b5"),
    SHOAL_VECTOR(RADAU_B + 6 * XYZ, "b6"),
    SHOAL_VECTOR(RADAU_EX, "e"),
    SHOAL_VECTOR(RADAU_EV, "ev"),
};

static const shoal_parameter parameters[RADAU_PARAMETERS] = {
    [RADAU_COMPENSATED] = SHOAL_COMPENSATED_BY_DEFAULT,
    [RADAU_EPSILON] = {"epsilon", SHOAL_REAL, "", 1e-9, 1e-20, 1, NULL,
                       "precision: a step is (5040 epsilon)^(1/7) of the shortest timescale"},
    [RADAU_CRITERION] = {"criterion", SHOAL_CHOICE, "", 0, 0, 1, "timescale|global",
                         "what sets the step: timescale (Pham, Rein & Spiegel 2024), or the last coefficient of all "
                         "bodies (Rein & Spiegel 2015)"},
};

static const shoal_parameter parameters_fixed[RADAU_FIXED_PARAMETERS] = {
    [RADAU_FIXED_COMPENSATED] = SHOAL_COMPENSATED_BY_DEFAULT,
};

const shoal_propagator shoal_propagator_gauss_radau = {
    .name = "gauss_radau",
    .aliases = "ias15",
    .doc = "Gauss-Radau integration of order 15, adaptive, exact to rounding; any masses, close encounters",
    .reference = "Everhart 1985; Rein & Spiegel 2015, MNRAS 446, 1424; Pham, Rein & Spiegel 2024, OJAp 7, 1",
    .order = 15,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .n_own = RADAU_OWN,
    .adaptive = true,
    .tangent = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
};

const shoal_propagator shoal_propagator_gauss_radau_fixed = {
    .name = "gauss_radau_fixed",
    .aliases = "",
    .doc = "Gauss-Radau integration of order 15, fixed step; any masses",
    .reference = "Everhart 1985; Rein & Spiegel 2015, MNRAS 446, 1424",
    .order = 15,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .n_own = RADAU_OWN,
    .tangent = true,
    .parameters = parameters_fixed,
    .n_parameters = SHOAL_COUNT(parameters_fixed),
};
