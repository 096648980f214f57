/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hermite.c: what the world knows of the Hermite schemes: hermite4.kern.h and hermite6.kern.h, with steps of one length
 * or by the criteria of hermite_steps.kern.h.
 */
#include "core/ensemble/ensemble.h"
#include "integrators/hermite.kern.h"

#define MAKINO   "Makino & Aarseth 1992, PASJ 44, 141; Kokubo, Yoshinaga & Makino 1998, MNRAS 297, 1067"
#define NITADORI "Nitadori & Makino 2008, New Astronomy 13, 498"
#define DINDAR   "; Dindar et al. 2013, New Astronomy 23, 6 (swarm)"

/* clang-format off */
#define SLOTS SHOAL_VECTOR(HERMITE_X, ""), SHOAL_VECTOR(HERMITE_V, "v"), SHOAL_VECTOR(HERMITE_A, "a"), \
    SHOAL_VECTOR(HERMITE_J, "j")
static const char *const slots4[HERMITE4_SLOTS] = {
    SLOTS,
    SHOAL_VECTOR(HERMITE4_EX, "e"),
    SHOAL_VECTOR(HERMITE4_EV, "ev"),
};
static const char *const slots6[HERMITE6_SLOTS] = {
    SLOTS,
    SHOAL_VECTOR(HERMITE6_S, "s"),
    SHOAL_VECTOR(HERMITE6_C, "c"),
    SHOAL_VECTOR(HERMITE6_EX, "e"),
    SHOAL_VECTOR(HERMITE6_EV, "ev"),
};

#define FIXED_PARAMETERS(most)                                                                               \
    [HERMITE_COMPENSATED] = SHOAL_COMPENSATED_PARAMETER,                                                     \
    [HERMITE_ITERATIONS] = {"iterations", SHOAL_INTEGER, "", 2, 1, most, NULL,                               \
                            "evaluations and corrections a step: n of P(EC)^n"}
#define ADAPTIVE_PARAMETERS(first_eta, eta_doc)                                                              \
    FIXED_PARAMETERS(9),                                                                                     \
    [HERMITE_CRITERION] = {"criterion", SHOAL_CHOICE, "", 1, 0, 2, "swarm|aarseth|symmetric",                \
                           "what a step's length is taken from"},                                            \
    [HERMITE_TAU] = {"tau", SHOAL_REAL, "", 0.017, 1e-6, 1, NULL,                                            \
                     "swarm, symmetric: a step as a fraction of |a|/|jerk|"},                                \
    [HERMITE_ETA] = {"eta", SHOAL_REAL, "", first_eta, 1e-12, 1, NULL, "aarseth: " eta_doc}
/* clang-format on */

static const shoal_parameter fixed[HERMITE_PARAMETERS] = {FIXED_PARAMETERS(3)};
static const shoal_parameter adaptive4[HERMITE_STEPS_PARAMETERS] = {
    ADAPTIVE_PARAMETERS(0.01, "square of a step as a fraction of its time scale")};
static const shoal_parameter adaptive6[HERMITE_STEPS_PARAMETERS] = {
    ADAPTIVE_PARAMETERS(0.1, "a step as a fraction of its time scale")};

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
    .n_own = HERMITE_OWN,
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
    .n_own = HERMITE_OWN,
    .adaptive = true,
    .tangent = true,
    .parameters = adaptive6,
    .n_parameters = SHOAL_COUNT(adaptive6),
};
