/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * runge_kutta_adaptive.c: what the world knows of runge_kutta_adaptive.kern.h.
 */
#include "core/ensemble/ensemble.h"
#include "integrators/runge_kutta_adaptive.kern.h"

static const char *const slots[RK_SLOTS] = {
    SHOAL_VECTOR(RK_X, ""),   SHOAL_VECTOR(RK_V, "v"),   SHOAL_VECTOR(RK_A, "a"),
    SHOAL_VECTOR(RK_EX, "e"), SHOAL_VECTOR(RK_EV, "ev"),
};

static const shoal_parameter parameters[RK_PARAMETERS] = {
    [RK_METHOD] = {"method", SHOAL_CHOICE, "", 3, 0, 3, "cash_karp|fehlberg|dormand_prince|prince_dormand8",
                   "embedded pair: 5(4), 5(4), 5(4), 8(7)"},
    [RK_TOLERANCE] = {"tolerance", SHOAL_REAL, "", 1e-12, 1e-16, 1e-1, NULL,
                      "error of a step: in position relative to the nearest body's distance, in velocity to the root "
                      "of the potential"},
    [RK_COMPENSATED] = SHOAL_COMPENSATED_PARAMETER,
};

const shoal_propagator shoal_propagator_runge_kutta_adaptive = {
    .name = "runge_kutta_adaptive",
    .aliases = "rkf45 (method=fehlberg),dopri5 (method=dormand_prince),dopri8 (method=prince_dormand8)",
    .doc = "embedded Runge-Kutta pairs, adaptive step; any masses, close encounters resolved",
    .reference =
        "Prince & Dormand 1981, J. Comput. Appl. Math. 7, 67; Hairer, Norsett & Wanner 1993, Solving ODEs I, II.4",
    .order = 8,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .adaptive = true,
    .tangent = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
};
