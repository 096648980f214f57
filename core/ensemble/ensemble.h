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
    double *dt;           /* [n_systems] as the caller set it; the records have the step of the plan */
    bool given;           /* bodies were set once, be they possible or not */
    long changes;         /* counts changes by callers and plans; a plan compares it with the number that it knows */
    /* the forces of the last plan beside Newton's, which count in its energies */
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

/* Whether a system is `invalid`. Its place then holds no result. */
static inline bool shoal_ensemble_is_invalid(const shoal_ensemble *ensemble, long system)
{
    return *shoal_ensemble_field(ensemble, SHOAL_SYS_OUTCOME, system) == SHOAL_INVALID;
}
/* shoal_ensemble_create by so many threads. */
shoal_status shoal_ensemble_create_by(shoal_context *context, int n_threads, long n_systems, int n_bodies,
                                      shoal_ensemble **ensemble);
/* Make a system `invalid`, with bodies that disturb no kernel. */
void shoal_ensemble_invalidate(shoal_ensemble *ensemble, long system);
/* Refuse the index of a system that does not exist; function: the public one, for the message. */
shoal_status shoal_ensemble_check_system(const shoal_ensemble *ensemble, const char *function, long system);

/* Another ensemble with the same systems. assign: to one that has as many of as many bodies. */
shoal_status shoal_ensemble_copy(const shoal_ensemble *ensemble, shoal_ensemble **copy);
void shoal_ensemble_assign(shoal_ensemble *to, const shoal_ensemble *from);

/* n systems of an ensemble, the first one that of a chunk, as an ensemble that uses its arrays. */
shoal_ensemble shoal_ensemble_part(const shoal_ensemble *ensemble, long first, long n);
/* Give the memory of these systems back, so far as it fills pages. They hold nothing from then on. */
void shoal_ensemble_release(shoal_ensemble *part);

/* A body's barycentric state. */
shoal_body shoal_ensemble_read_body(const shoal_ensemble *ensemble, long system, int body);

/* Whether a body is there; the number of a system's bodies that are there. */
bool shoal_ensemble_is_there(const shoal_ensemble *ensemble, int body, long system);
int shoal_ensemble_n_left(const shoal_ensemble *ensemble, long system);

/* Change the bodies of a system, a time `elapsed` after its start. bodies: [n_live] relative to its barycentre; r < 0:
 * the body is gone. The states then refer to the barycentre of the remaining bodies. */
void shoal_ensemble_change(shoal_ensemble *ensemble, long system, double elapsed, const shoal_body *bodies);

/* Energy of n bodies relative to their barycentre, each pair counted once, including the ensemble's extra forces.
 * NaN if one of these conserves no energy. */
double shoal_bodies_energy(const shoal_ensemble *ensemble, int n, const shoal_body *bodies);

/* Whether body 0 of a system is heavier than any other. */
bool shoal_ensemble_dominated(const shoal_ensemble *ensemble, long system);

/* The systems that a propagator or a force refuses. `invalid` systems do not count. */
typedef struct shoal_refused {
    long n_fit, n; /* systems that it accepts; systems that it refuses */
    long first;    /* the first that it refuses */
    const char *why;
} shoal_refused;

/* Find the systems that it refuses. With `commit` they become `invalid`. */
shoal_refused shoal_ensemble_refuse(shoal_ensemble *ensemble, shoal_refusal *refuses, const double *parameters,
                                    bool commit);

#endif
