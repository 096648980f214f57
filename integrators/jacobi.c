/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * jacobi.c: what the world knows of the maps in Jacobi coordinates: mvs_jacobi.kern.h and saba.kern.h.
 */
#include "core/ensemble/ensemble.h"
#include "integrators/jacobi.kern.h"
#include "integrators/mvs_jacobi.kern.h"
#include "integrators/saba.kern.h"

static const char *const slots[JACOBI_SLOTS] = {
    SHOAL_VECTOR(JACOBI_X, "X"),
    SHOAL_VECTOR(JACOBI_V, "V"),
    SHOAL_VECTOR(JACOBI_EX, "eX"),
    SHOAL_VECTOR(JACOBI_EV, "eV"),
};

static const shoal_parameter mvs_parameters[MVS_JACOBI_PARAMETERS] = {
    [MVS_JACOBI_COMPENSATED] = SHOAL_COMPENSATED_PARAMETER,
    [MVS_JACOBI_CORRECTOR] = {"corrector", SHOAL_INTEGER, "", 0, 0, 17, "0|3|5|7|11|17",
                              "order of the symplectic corrector; worth it from about 17 with few reads: one read of "
                              "the state costs as much as 4 to 32 steps"},
    [MVS_JACOBI_KERNEL] = {"kernel", SHOAL_CHOICE, "", 0, 0, 1, "standard|lazy",
                           "standard kick, or the lazy implementer's, which with a corrector removes the error of "
                           "second order in the masses (and in forces that depend on positions alone)"},
    [MVS_JACOBI_INVERSE] = {"inverse", SHOAL_CHOICE, "", 0, 0, 1, "reads|never",
                            "whether reads of the state undo the corrector. Never: it is applied once, at the start, "
                            "and costs nothing after that; the frequencies are the same, but the state that is read "
                            "keeps the map's periodic errors, of second order in the step and first in the masses. "
                            "Without a corrector there is nothing to undo"},
    [MVS_JACOBI_EVERY] = {"lazy_every", SHOAL_INTEGER, "", 1, 1, 64, NULL,
                          "with kernel = lazy: its difference to the standard kick, which costs as much as a kick, is "
                          "applied in each so-many-th step, so many times"},
};

static const shoal_parameter saba_parameters[SABA_PARAMETERS] = {
    [SABA_COMPENSATED] = SHOAL_COMPENSATED_PARAMETER,
    [SABA_SCHEME] = {"scheme", SHOAL_CHOICE, "", 10, 0, 11, "1|2|3|4|cl1|cl2|cl3|cl4|10,4|8,6,4|10,6,4|8,4,4",
                     "SABAn, SABACLn (lazy commutator), or the generalised order: 10,6,4 = errors eps h^10 + eps^2 h^6 "
                     "+ eps^3 h^4, eps = planets' masses"},
};

static const char *refuses(const double *p, const shoal_ensemble *ensemble, long system)
{
    (void)p;
    return *shoal_ensemble_body(ensemble, 0, SHOAL_M, system) > 0
               ? NULL
               : "Jacobi coordinates start from body 0, which must have a mass";
}

static const char *refuses_mvs(const double *p, const shoal_ensemble *ensemble, long system)
{
    return p[MVS_JACOBI_EVERY] > 1 && p[MVS_JACOBI_KERNEL] == 0 ? "lazy_every is of kernel = lazy"
                                                                : refuses(p, ensemble, system);
}

const shoal_propagator shoal_propagator_mvs_jacobi = {
    .name = "mvs_jacobi",
    .aliases = "whfast,whckl (corrector=17;kernel=lazy)",
    .doc = "mixed-variable symplectic map of order 2, Jacobi coordinates; symplectic correctors, lazy implementer's "
           "kernel",
    .reference =
        "Wisdom & Holman 1991, AJ 102, 1528; Wisdom 2006, AJ 131, 2294; Rein, Tamayo & Brown 2019, MNRAS 489, 4632",
    .order = 2,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .first_body = 1,
    .n_own = JACOBI_OWN,
    .tangent = true,
    .parameters = mvs_parameters,
    .n_parameters = SHOAL_COUNT(mvs_parameters),
    .refuses = refuses_mvs,
};

const shoal_propagator shoal_propagator_saba = {
    .name = "saba",
    .aliases = "",
    .doc = "higher-order symplectic splittings (SABA) for planets of small mass, Jacobi coordinates",
    .reference = "Laskar & Robutel 2001, CeMDA 80, 39; Blanes et al. 2013, Appl. Numer. Math. 68, 58; "
                 "Farres et al. 2013, CeMDA 116, 141",
    .order = 4,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .first_body = 1,
    .n_own = JACOBI_OWN,
    .tangent = true,
    .parameters = saba_parameters,
    .n_parameters = SHOAL_COUNT(saba_parameters),
    .refuses = refuses,
};
