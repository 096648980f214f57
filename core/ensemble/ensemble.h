/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ensemble.h: systems in memory: chunked arrays, barycentric.
 */
#ifndef SHOAL_ENSEMBLE_H
#define SHOAL_ENSEMBLE_H

#include "core/plug/plugs.h"

/* ---- ensemble.c -------------------------------------------------------------------------------------------------- */

struct shoal_ensemble {
    shoal_context *context;
    long n_systems;
    long n_chunks;
    int n_bodies;
    double *bodies;       /* [chunk][n_bodies * SHOAL_QUANTITIES][lane], state at time[] */
    double *systems;      /* [chunk][SHOAL_SYS_FIELDS][lane] */
    long *id;             /* [n_systems] */
    double *time;         /* [n_systems] of the bodies held now */
    double *energy_start; /* [n_systems] */
    double *energy_jump;  /* [n_systems] by mergers and removals since then */
    double (*centre)[6];  /* [n_systems] barycentre at t_start */
    double *dt;           /* [n_systems] that the caller set; that of the systems' records is a plan's */
    long changes;         /* of systems and plans: a plan knows those before it */
    /* extra forces that count in its energies: those of the last plan */
    const shoal_force *force[SHOAL_MAX_FORCES];
    double force_parameter[SHOAL_MAX_FORCES][SHOAL_MAX_PARAMETERS];
    int n_forces;
};

static inline double *shoal_ensemble_field(const shoal_ensemble *ensemble, int field, long system)
{
    return &ensemble->systems[SHOAL_AT(system, field, SHOAL_SYS_FIELDS)];
}

static inline double *shoal_ensemble_body(const shoal_ensemble *ensemble, int body, int quantity, long system)
{
    return &ensemble
                ->bodies[SHOAL_AT(system, body * SHOAL_QUANTITIES + quantity, ensemble->n_bodies * SHOAL_QUANTITIES)];
}

/* Whether it is `invalid`: what stands in its place is no result. To make it so, and harmless. */
static inline bool shoal_ensemble_is_invalid(const shoal_ensemble *ensemble, long system)
{
    return *shoal_ensemble_field(ensemble, SHOAL_SYS_OUTCOME, system) == SHOAL_INVALID;
}
void shoal_ensemble_invalidate(shoal_ensemble *ensemble, long system);
/* Refuse, in the name of a public function, a system that there is not. */
shoal_status shoal_ensemble_check_system(const shoal_ensemble *ensemble, const char *function, long system);

/* A body as it is held, barycentric. */
shoal_body shoal_ensemble_read_body(const shoal_ensemble *ensemble, long system, int body);

/* Whether somebody is in a slot, and how many of a system's bodies are left. */
bool shoal_ensemble_is_there(const shoal_ensemble *ensemble, int body, long system);
int shoal_ensemble_n_left(const shoal_ensemble *ensemble, long system);

/* Change the bodies of a system, a time `elapsed` after its start: bodies = [n_live] relative to its barycentre,
 * those that are gone with r < 0. The barycentre of the others is split off again. */
void shoal_ensemble_change(shoal_ensemble *ensemble, long system, double elapsed, const shoal_body *bodies);

/* Energy of n bodies seen from their barycentre, each pair counted once, with that of the ensemble's extra forces
 * (NaN: it has none). */
double shoal_bodies_energy(const shoal_ensemble *ensemble, int n, const shoal_body *bodies);

/* Whether body 0 of a system is heavier than any other. */
bool shoal_ensemble_dominated(const shoal_ensemble *ensemble, long system);

/* What a propagator or a force refuses. */
typedef struct shoal_refused {
    long n_fit, n; /* systems that are not `invalid`: that it applies to, and not */
    long first;    /* of the latter */
    const char *why;
} shoal_refused;

/* Look for systems that it refuses; with `commit` they become `invalid`. */
shoal_refused shoal_ensemble_refuse(shoal_ensemble *ensemble, shoal_refusal *refuses, const double *parameters,
                                    bool commit);

#endif
