/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mvs.c: what the world knows of mvs.kern.h.
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
                return "mvs moves bodies around body 0, which must have the largest mass; use hermite4 for other systems";
    }
    return NULL;
}

const shoal_propagator shoal_propagator_mvs = {
    .name = "mvs",
    .aliases = "wh,wisdom_holman",
    .doc = "mixed-variable symplectic map of order 2, democratic heliocentric coordinates: planets around one dominant body",
    .reference = "Wisdom & Holman 1991, AJ 102, 1528; Duncan, Levison & Lee 1998, AJ 116, 2067",
    .order = 2,
    .slots = slots,
    .n_slots = SHOAL_COUNT(slots),
    .tangent = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .refuses = refuses,
};
