/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * leapfrog.c: what the world knows of leapfrog.kern.h.
 */
#include "core/ensemble/ensemble.h"
#include "integrators/leapfrog.kern.h"

static const char *const slots[LEAPFROG_SLOTS] = {
    SHOAL_VECTOR(LEAPFROG_X, ""),   SHOAL_VECTOR(LEAPFROG_V, "v"),   SHOAL_VECTOR(LEAPFROG_A, "a"),
    SHOAL_VECTOR(LEAPFROG_EX, "e"), SHOAL_VECTOR(LEAPFROG_EV, "ev"),
};

static const shoal_parameter parameters[LEAPFROG_PARAMETERS] = {
    [LEAPFROG_ORDER] = {"order", SHOAL_INTEGER, "", 2, 2, 8, "2|4|6|8", "of the composition: 1, 5, 9 or 17 stages"},
    [LEAPFROG_COMPENSATED] = SHOAL_COMPENSATED_PARAMETER,
};

const shoal_propagator shoal_propagator_leapfrog = {
    .name = "leapfrog",
    .aliases = "verlet,suzuki4 (order=4),kahan_li6 (order=6),kahan_li8 (order=8)",
    .doc = "leapfrog, kick-drift-kick, and its compositions of order 4, 6 and 8, fixed step: symplectic, reversible",
    .reference = "Hairer, Lubich & Wanner 2003, Acta Numerica 12, 399; "
                 "Suzuki 1990, Phys. Lett. A 146, 319; Kahan & Li 1997, Math. Comp. 66, 1089",
    .order = 2,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .several_bodies = true,
    .tangent = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
};
