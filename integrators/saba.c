/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * saba.c: what the world knows of saba.kern.h.
 */
#include "internal.h"

static const char *const slots[] = {"Xx", "Xy", "Xz", "Vx", "Vy", "Vz", "eXx", "eXy", "eXz", "eVx", "eVy", "eVz"};

static const shoal_parameter parameters[] = {
    SHOAL_COMPENSATED_PARAMETER,
    {"scheme", SHOAL_CHOICE, "", 10, 0, 11, "1|2|3|4|cl1|cl2|cl3|cl4|10,4|8,6,4|10,6,4|8,4,4",
     "SABAn, SABACLn (lazy commutator), or the generalised order: 10,6,4 = errors eps h^10 + eps^2 h^6 + eps^3 h^4, eps = planets' masses"},
};

static const char *refuses(const shoal_ensemble *ensemble)
{
    for (long system = 0; system < ensemble->n_systems; system++)
        if (*shoal_ensemble_field(ensemble, SHOAL_SYS_OUTCOME, system) != SHOAL_INVALID &&
            !(*shoal_ensemble_body(ensemble, 0, SHOAL_M, system) > 0))
            return "Jacobi coordinates start from body 0, which must have a mass";
    return NULL;
}

const shoal_propagator shoal_propagator_saba = {
    .name = "saba",
    .aliases = "",
    .doc = "higher-order symplectic splittings (SABA) for planets of small mass, Jacobi coordinates",
    .reference = "Laskar & Robutel 2001, CeMDA 80, 39; Blanes et al. 2013, Appl. Numer. Math. 68, 58; Farres et al. 2013, CeMDA 116, 141",
    .order = 4,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .n_own = 1,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .newton_only = true,
    .refuses = refuses,
};
