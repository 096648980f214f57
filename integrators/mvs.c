/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mvs.c: what the world knows of the maps in democratic heliocentric coordinates: mvs.kern.h, mvs_whds.kern.h and
 * hybrid.kern.h.
 */
#include "core/ensemble/ensemble.h"
#include "integrators/hybrid_near.kern.h"
#include "integrators/mvs.kern.h"

static const char *const slots[MVS_SLOTS] = {
    SHOAL_VECTOR(MVS_X, "q"),   SHOAL_VECTOR(MVS_V, "v"),   SHOAL_VECTOR(MVS_A, "a"),
    SHOAL_VECTOR(MVS_EX, "eq"), SHOAL_VECTOR(MVS_EV, "ev"),
};

static const shoal_parameter parameters[MVS_PARAMETERS] = {
    [MVS_COMPENSATED] = SHOAL_COMPENSATED_PARAMETER,
};

static const shoal_parameter hybrid_parameters[HYBRID_PARAMETERS] = {
    [HYBRID_COMPENSATED] = SHOAL_COMPENSATED_PARAMETER,
    [HYBRID_HILL] = {"hill_factor", SHOAL_REAL, "", 3, 0, 100, NULL,
                     "two planets are near each other within so many Hill radii of either"},
    [HYBRID_SPEED] = {"speed_factor", SHOAL_REAL, "", 0.4, 0, 10, NULL,
                      "or within so many times the way that their relative speed makes in a step"},
    [HYBRID_PERICENTRE] = {"pericentre_factor", SHOAL_REAL, "", 1, 0, 100, NULL,
                           "a planet is near the star where a step exceeds so many times (r^3 / G m_0)^(1/2), or (G "
                           "m_0 r)^(1/2) / v^2; 0: never"},
    [HYBRID_STAR] = {"pericentre", SHOAL_CHOICE, "", 0, 0, 1, "passage|orbit",
                     "what is made by the equations of motion: the passage near the star, or (dearer, errors to the "
                     "tolerance) all of an orbit that has one"},
    [HYBRID_TOLERANCE] = {"tolerance", SHOAL_REAL, "", 1e-7, 1e-15, 1e-3, NULL,
                          "of the substeps' error estimate, relative to the distance from the star; default with "
                          "megno: 1e-10, for tangent vectors err more than bodies"},
};
static const double hybrid_with_tangents[HYBRID_PARAMETERS] = {[HYBRID_TOLERANCE] = 1e-10};

static const char *refuses(const double *p, const shoal_ensemble *ensemble, long system)
{
    (void)p;
    return shoal_ensemble_dominated(ensemble, system)
               ? NULL
               : "it moves bodies around body 0, which must have the largest mass; use hermite4 for other systems";
}

static const char *hybrid_refuses(const double *p, const shoal_ensemble *ensemble, long system)
{
    return ensemble->n_bodies > 256 ? "it keeps flags of pairs for at most 256 bodies" : refuses(p, ensemble, system);
}

/* Substeps of a mere passage begin and end where the map errs already: 4e-4 of the energy of a planet of 1e-3 with e =
 * 0.9 in 40 steps an orbit. Of an orbit that all is made of substeps of, they err as their tolerance says. */
static bool hybrid_resolves(const double *p, double mu, double h, double q)
{
    return p[HYBRID_STAR] == HYBRID_ORBIT && mu * h * h > p[HYBRID_PERICENTRE] * p[HYBRID_PERICENTRE] * q * q * q &&
           p[HYBRID_PERICENTRE] > 0;
}

const shoal_propagator shoal_propagator_mvs = {
    .name = "mvs",
    .aliases = "wh,wisdom_holman",
    .doc = "mixed-variable symplectic map of order 2, democratic heliocentric coordinates: planets around one dominant "
           "body",
    .reference = "Wisdom & Holman 1991, AJ 102, 1528; Duncan, Levison & Lee 1998, AJ 116, 2067",
    .order = 2,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .first_body = 1,
    .several_bodies = true,
    .tangent = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .refuses = refuses,
};

const shoal_propagator shoal_propagator_mvs_whds = {
    .name = "mvs_whds",
    .aliases = "whds",
    .doc = "mvs with the splitting that moves two bodies exactly (WHDS): smaller errors for heavy planets",
    .reference = "Hernandez & Dehnen 2017, MNRAS 468, 2614",
    .order = 2,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .first_body = 1,
    .several_bodies = true,
    .tangent = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .refuses = refuses,
};

const shoal_propagator shoal_propagator_hybrid = {
    .name = "hybrid",
    .aliases = "mercurius,trace",
    .doc = "mvs with its steps made again by a method of order 8 while planets are near each other or the star, "
           "reversible switching",
    .reference = "Lu, Hernandez & Rein 2024, MNRAS 533, 3708; Hernandez & Dehnen 2023, MNRAS 522, 4639; "
                 "Chambers 1999, MNRAS 304, 793",
    .order = 2,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .first_body = 1,
    .n_own = HYBRID_OWN_SLOTS,
    .sets_aside = true,
    .tangent = true,
    .resolves_pericentre = hybrid_resolves,
    .with_tangents = hybrid_with_tangents,
    .parameters = hybrid_parameters,
    .n_parameters = SHOAL_COUNT(hybrid_parameters),
    .refuses = hybrid_refuses,
};
