/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * runge_kutta.c: what the world knows of runge_kutta.kern.h.
 */
#include "core/ensemble/ensemble.h"
#include "integrators/runge_kutta.kern.h"

static const char *const slots[RK_SLOTS] = {
    SHOAL_VECTOR(RK_X, ""),
    SHOAL_VECTOR(RK_V, "v"),
    SHOAL_VECTOR(RK_EX, "e"),
    SHOAL_VECTOR(RK_EV, "ev"),
};

static const shoal_parameter parameters[RK_PARAMETERS] = {
    [RK_METHOD] = {"method", SHOAL_CHOICE, "", 3, 0, 6,
                   "euler|midpoint|rk4|cash_karp|fehlberg|dormand_prince|prince_dormand8",
                   "tableau: orders 1, 2, 4, 5, 5, 5, 8"},
    [RK_COMPENSATED] = SHOAL_COMPENSATED_PARAMETER,
};

const shoal_propagator shoal_propagator_runge_kutta = {
    .name = "runge_kutta",
    .aliases = "rk4 (method=rk4),rkck (method=cash_karp),cash_karp (method=cash_karp),rk8pd (method=prince_dormand8),"
               "euler (method=euler),midpoint (method=midpoint)",
    .doc = "explicit Runge-Kutta methods, fixed step; any masses, close encounters resolved by a small step",
    .reference =
        "Cash & Karp 1990, ACM Trans. Math. Software 16, 201; Prince & Dormand 1981, J. Comput. Appl. Math. 7, 67",
    .order = 5,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .tangent = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
};
