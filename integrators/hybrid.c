/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hybrid.c: what the world knows of hybrid.kern.h.
 */
#include "internal.h"

extern const shoal_propagator shoal_propagator_mvs;

static const char *const slots[] = {"qx",  "qy",  "qz",  "vx",  "vy",  "vz",  "ax", "ay",
                                    "az",  "eqx", "eqy", "eqz", "evx", "evy", "evz"};

static const shoal_parameter parameters[] = {
    SHOAL_COMPENSATED_PARAMETER,
    {"hill_factor", SHOAL_REAL, "", 3, 0, 100, NULL, "two planets are near each other within so many Hill radii of either"},
    {"speed_factor", SHOAL_REAL, "", 0.4, 0, 10, NULL, "or within so many times the way that their relative speed makes in a step"},
    {"pericentre_factor", SHOAL_REAL, "", 1, 0, 100, NULL,
     "a planet is near the star where a step exceeds so many times (r^3 / G m_0)^(1/2), or (G m_0 r)^(1/2) / v^2; 0: never"},
    {"pericentre", SHOAL_CHOICE, "", 0, 0, 1, "passage|orbit",
     "what is made by the equations of motion: the passage near the star, or (dearer, errors to the tolerance) all of an orbit that has one"},
    {"tolerance", SHOAL_REAL, "", 1e-7, 1e-15, 1e-3, NULL, "of the substeps' error estimate, relative to the distance from the star"},
};

static const char *refuses(const shoal_ensemble *ensemble)
{
    if (ensemble->n_bodies > 64)
        return "hybrid keeps a list of all pairs, for at most 64 bodies";
    return shoal_propagator_mvs.refuses(ensemble);
}

const shoal_propagator shoal_propagator_hybrid = {
    .name = "hybrid",
    .aliases = "mercurius,trace",
    .doc = "mvs with its steps made again by a method of order 8 while planets are near each other or the star, reversible switching",
    .reference = "Lu, Hernandez & Rein 2024, MNRAS 533, 3708; Hernandez & Dehnen 2023, MNRAS 522, 4639; Chambers 1999, MNRAS 304, 793",
    .order = 2,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .n_own = 3,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .newton_only = true,
    .resolves_pericentre = true,
    .refuses = refuses,
};
