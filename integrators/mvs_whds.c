/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mvs_whds.c: what the world knows of mvs_whds.kern.h.
 */
#include "internal.h"

static const char *const slots[] = {"qx",  "qy",  "qz",  "vx",  "vy",  "vz",  "ax", "ay",
                                    "az",  "eqx", "eqy", "eqz", "evx", "evy", "evz"};

static const shoal_parameter parameters[] = {
    SHOAL_COMPENSATED_PARAMETER,
};

static const char *refuses(const shoal_ensemble *ensemble)
{
    for (long system = 0; system < ensemble->n_systems; system++) {
        if (*shoal_ensemble_field(ensemble, SHOAL_SYS_OUTCOME, system) == SHOAL_INVALID)
            continue;
        double central = *shoal_ensemble_body(ensemble, 0, SHOAL_M, system);
        for (int body = 1; body < ensemble->n_bodies; body++)
            if (!(*shoal_ensemble_body(ensemble, body, SHOAL_M, system) < central))
                return "mvs_whds moves bodies around body 0, which must have the largest mass; use hermite4 for other systems";
    }
    return NULL;
}

const shoal_propagator shoal_propagator_mvs_whds = {
    .name = "mvs_whds",
    .aliases = "whds",
    .doc = "mvs with the splitting that moves two bodies exactly (WHDS): smaller errors for heavy planets",
    .reference = "Hernandez & Dehnen 2017, MNRAS 468, 2614",
    .order = 2,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .refuses = refuses,
};
