/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled_internal.h: what the files of gravitation/tiled/ know of each other.
 *
 * tiled.c checks what it is given and brings it to units in which the system's size and mass are near 1 (by powers of
 * two, so that nothing is rounded), the backends compute. A backend's problem is always "these sources, all of them or
 * some other targets".
 */
#ifndef SHOAL_TILED_INTERNAL_H
#define SHOAL_TILED_INTERNAL_H

#include "gravitation/tiled/tiled.h"

/* Bodies in inner units: arrays of [n]. */
typedef struct tiled_bodies {
    long n;
    const double *m, *x[3], *v[3]; /* m: sources only; v: NULL without velocities */
    bool equal;                    /* all m are the same, and not zero */
    double lightest;               /* the least mass / their mean */
    const long *index;             /* targets only: the source that each is; NULL: others */
} tiled_bodies;

/* Results in inner units: arrays of [n]; those not wanted are NULL. */
typedef struct tiled_results {
    double *a[3], *jerk[3], *phi;
} tiled_results;

typedef struct tiled_backend tiled_backend;

typedef struct tiled_backend_type {
    const char *name;
    const char *(*missing)(void); /* NULL, or why it cannot be had */
    /* Name and doc of kernel i; NULL after the last. */
    const char *(*kernel)(int i, const char **doc);
    /* Whether a kernel of that name computes this. */
    bool (*can)(const char *kernel, shoal_tiled_precision precision, int wants);
    shoal_status (*create)(shoal_context *context, const shoal_tiled_options *options, long n_max,
                           tiled_backend **backend);
    void (*destroy)(tiled_backend **backend);
    /* The arrays stay as they are until the next call. eps: in inner units. */
    shoal_status (*sources)(tiled_backend *backend, const tiled_bodies *sources, double eps);
    /* targets: NULL = all sources */
    shoal_status (*forces)(tiled_backend *backend, int wants, const tiled_bodies *targets,
                           const tiled_results *results);
    shoal_status (*measure)(tiled_backend *backend, int wants, int n_repeats, double *seconds);
    /* NULL, all three: there is nothing to choose. The kernel that is given to pick can compute this. */
    shoal_status (*tune)(tiled_backend *backend, int wants, double n_evaluations);
    const char *(*picked)(tiled_backend *backend, int wants);
    void (*pick)(tiled_backend *backend, int wants, const char *kernel);
    void (*line)(const tiled_backend *backend, char *line, size_t size);
} tiled_backend_type;

extern const tiled_backend_type shoal_tiled_cpu, shoal_tiled_cuda;

/* The source that target i is, -1 = none of them; targets NULL = all sources. */
static inline long tiled_source_of(const tiled_bodies *targets, long i)
{
    return !targets ? i : targets->index ? targets->index[i] : -1;
}

/* The least square of a separation, in inner units: below it a force falls off. */
static inline double tiled_floor2(shoal_tiled_precision precision)
{
    return precision == SHOAL_TILED_FP64 ? 1e-120 : 1e-24;
}

#endif
