/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * migration.c: what the world knows of migration.kern.h.
 */
#include "gravitation/force.h"
#include "gravitation/migration.kern.h"

static const shoal_parameter parameters[migration_PARAMETERS] = {
    [MIGRATION_BODY] = {"body", SHOAL_BODY, "", NAN, -1, SHOAL_MAX_BODIES, NULL, "the body that migrates"},
    [MIGRATION_TAU_A] = {"tau_a", SHOAL_REAL, "time", INFINITY, -INFINITY, INFINITY, NULL,
                         "a / |da/dt|, inwards; negative: outwards; inf: no migration"},
    [MIGRATION_TAU_E] = {"tau_e", SHOAL_REAL, "time", INFINITY, -INFINITY, INFINITY, NULL,
                         "e / |de/dt| of a nearly circular orbit; inf: no damping"},
    [MIGRATION_TAU_INC] = {"tau_inc", SHOAL_REAL, "time", INFINITY, -INFINITY, INFINITY, NULL,
                           "inc / |dinc/dt| of a small inclination to the reference plane; inf: no damping"},
    [MIGRATION_K] = {"K", SHOAL_REAL, "", 0, 0, 1e200, NULL, "in place of tau_e: tau_e = |tau_a| / K"},
};

static const char *refuses(const double *p, const shoal_ensemble *ensemble, long system)
{
    (void)ensemble;
    (void)system;
    if (p[MIGRATION_BODY] == 0)
        return "bodies migrate about body 0, which cannot do so itself";
    if (p[MIGRATION_TAU_A] == 0 || p[MIGRATION_TAU_E] == 0 || p[MIGRATION_TAU_INC] == 0)
        return "a time scale of 0: expected a time, or nothing for none";
    if (p[MIGRATION_K] > 0 && (isfinite(p[MIGRATION_TAU_E]) || !isfinite(p[MIGRATION_TAU_A])))
        return "K stands in place of tau_e and goes with tau_a";
    if (p[MIGRATION_K] == 0 && !isfinite(p[MIGRATION_TAU_A]) && !isfinite(p[MIGRATION_TAU_E]) &&
        !isfinite(p[MIGRATION_TAU_INC]))
        return "it does nothing without tau_a, tau_e or tau_inc";
    return NULL;
}

static double rate(const double *p, int n, const shoal_body *bodies, int *fastest)
{
    (void)bodies;
    *fastest = (int)p[MIGRATION_BODY];
    const double of_e = fabs(1 / p[MIGRATION_TAU_E]) + fabs(p[MIGRATION_K] / p[MIGRATION_TAU_A]);
    return *fastest < n ? fmax(fabs(0.5 / p[MIGRATION_TAU_A]), 2 * fmax(of_e, fabs(1 / p[MIGRATION_TAU_INC]))) : 0;
}

const shoal_force shoal_force_migration = {
    .name = "migration",
    .doc = "exponential migration of one body about body 0, damping of its eccentricity and inclination; no reaction "
           "on body 0",
    .reference = "Papaloizou & Larwood 2000, MNRAS 315, 823; K as in Lee & Peale 2002, ApJ 567, 596",
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .depends_on_velocity = true,
    .refuses = refuses,
    .rate = rate,
};
