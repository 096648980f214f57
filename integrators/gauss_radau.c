/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gauss_radau.c: what the world knows of gauss_radau.kern.h and gauss_radau_fixed.kern.h.
 */
#include "core/ensemble/ensemble.h"

static const char *const slots[] = {
    "x",   "y",   "z",   "vx",  "vy",  "vz",  "b0x", "b0y", "b0z", "b1x", "b1y",
    "b1z", "b2x", "b2y", "b2z", "b3x", "b3y", "b3z", "b4x", "b4y", "b4z", "b5x",
    "b5y", "b5z", "b6x", "b6y", "b6z", "ex",  "ey",  "ez",  "evx", "evy", "evz",
};

static const shoal_parameter parameters[] = {
    SHOAL_COMPENSATED_BY_DEFAULT,
    {"epsilon", SHOAL_REAL, "", 1e-9, 1e-20, 1, NULL,
     "precision: a step is (5040 epsilon)^(1/7) of the shortest timescale"},
    {"criterion", SHOAL_CHOICE, "", 0, 0, 1, "timescale|global",
     "what sets the step: timescale (Pham, Rein & Spiegel 2024), or the last coefficient of all bodies (Rein & Spiegel "
     "2015)"},
};

static const shoal_parameter parameters_fixed[] = {
    SHOAL_COMPENSATED_BY_DEFAULT,
};

const shoal_propagator shoal_propagator_gauss_radau = {
    .name = "gauss_radau",
    .aliases = "ias15",
    .doc = "Gauss-Radau integration of order 15, adaptive, exact to rounding; any masses, close encounters",
    .reference = "Everhart 1985; Rein & Spiegel 2015, MNRAS 446, 1424; Pham, Rein & Spiegel 2024, OJAp 7, 1",
    .order = 15,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .n_own = 1,
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
    .n_own = 1,
    .tangent = true,
    .parameters = parameters_fixed,
    .n_parameters = SHOAL_COUNT(parameters_fixed),
};
