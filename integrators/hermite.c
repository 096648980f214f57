/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hermite.c: what the world knows of the Hermite schemes: hermite4.kern.h and hermite6.kern.h, with steps of one length
 * or by the criteria of hermite_steps.kern.h.
 */
#include "core/ensemble/ensemble.h"

#define SLOTS_4      "x", "y", "z", "vx", "vy", "vz", "ax", "ay", "az", "jx", "jy", "jz"
#define SLOTS_ERRORS "ex", "ey", "ez", "evx", "evy", "evz"
#define MAKINO       "Makino & Aarseth 1992, PASJ 44, 141; Kokubo, Yoshinaga & Makino 1998, MNRAS 297, 1067"
#define NITADORI     "Nitadori & Makino 2008, New Astronomy 13, 498"
#define DINDAR       "; Dindar et al. 2013, New Astronomy 23, 6 (swarm)"

static const char *const slots4[] = {SLOTS_4, SLOTS_ERRORS};
static const char *const slots6[] = {SLOTS_4, "sx", "sy", "sz", "cx", "cy", "cz", SLOTS_ERRORS};

#define FIXED_PARAMETERS(most)                                                                                \
    SHOAL_COMPENSATED_PARAMETER,                                                                              \
    {                                                                                                         \
        "iterations", SHOAL_INTEGER, "", 2, 1, most, NULL, "evaluations and corrections a step: n of P(EC)^n" \
    }
#define ADAPTIVE_PARAMETERS(first_eta, eta_doc)                                                                    \
    FIXED_PARAMETERS(9),                                                                                           \
        {"criterion", SHOAL_CHOICE, "", 1, 0, 2, "swarm|aarseth|symmetric", "what a step's length is taken from"}, \
        {"tau", SHOAL_REAL, "", 0.017, 1e-6, 1, NULL, "swarm, symmetric: a step as a fraction of |a|/|jerk|"},     \
    {                                                                                                              \
        "eta", SHOAL_REAL, "", first_eta, 1e-12, 1, NULL, "aarseth: " eta_doc                                      \
    }

static const shoal_parameter fixed[] = {FIXED_PARAMETERS(3)};
static const shoal_parameter adaptive4[] = {
    ADAPTIVE_PARAMETERS(0.01, "square of a step as a fraction of its time scale")};
static const shoal_parameter adaptive6[] = {ADAPTIVE_PARAMETERS(0.1, "a step as a fraction of its time scale")};

const shoal_propagator shoal_propagator_hermite4 = {
    .name = "hermite4",
    .aliases = "hermite",
    .doc = "Hermite scheme of order 4, fixed step, P(EC)^n; any masses, close encounters resolved by a small step",
    .reference = MAKINO,
    .order = 4,
    .slots = slots4,
    .n_slots = SHOAL_COUNT(slots4),
    .several_bodies = true,
    .tangent = true,
    .parameters = fixed,
    .n_parameters = SHOAL_COUNT(fixed),
};

const shoal_propagator shoal_propagator_hermite4_adaptive = {
    .name = "hermite4_adaptive",
    .aliases = "",
    .doc = "Hermite scheme of order 4, step from acceleration and its derivatives, or time-symmetric powers of two",
    .reference = MAKINO DINDAR,
    .order = 4,
    .slots = slots4,
    .n_slots = SHOAL_COUNT(slots4),
    .n_own = 2,
    .adaptive = true,
    .tangent = true,
    .parameters = adaptive4,
    .n_parameters = SHOAL_COUNT(adaptive4),
};

const shoal_propagator shoal_propagator_hermite6 = {
    .name = "hermite6",
    .aliases = "",
    .doc = "Hermite scheme of order 6 with snap, fixed step, P(EC)^n; any masses",
    .reference = NITADORI,
    .order = 6,
    .slots = slots6,
    .n_slots = SHOAL_COUNT(slots6),
    .tangent = true,
    .parameters = fixed,
    .n_parameters = SHOAL_COUNT(fixed),
};

const shoal_propagator shoal_propagator_hermite6_adaptive = {
    .name = "hermite6_adaptive",
    .aliases = "",
    .doc = "Hermite scheme of order 6 with snap, step from acceleration and its derivatives, or time-symmetric powers "
           "of two",
    .reference = NITADORI DINDAR,
    .order = 6,
    .slots = slots6,
    .n_slots = SHOAL_COUNT(slots6),
    .n_own = 2,
    .adaptive = true,
    .tangent = true,
    .parameters = adaptive6,
    .n_parameters = SHOAL_COUNT(adaptive6),
};
