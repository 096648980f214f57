/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * aside.h: what the kernels of a GPU are told of systems that are set aside (integrators/aside.kern.h). Of a propagator
 * that sets none aside (PROPAGATOR_SETS_ASIDE) they read the table alone.
 *
 * The queue has the systems whose next step needs substeps. The table takes the states of the host's systems there and
 * back (core/engine/hosted.c): a column for a system, a row for a slot of its record, its native state and what the
 * monitors carry.
 */
#ifndef SHOAL_ASIDE_H
#define SHOAL_ASIDE_H

/* The counts of a queue: systems that were put into it and taken out; not 0: soon nobody is put in any more; systems
 * that moved to the host. */
enum { SHOAL_QUEUE_CAME, SHOAL_QUEUE_WENT, SHOAL_QUEUE_CLOSED, SHOAL_QUEUE_HOSTED, SHOAL_QUEUE_COUNTS };

/* A queue of systems between a GPU's kernels (queue.kern.h). */
typedef struct shoal_queue {
    int *places; /* [room] -1: free */
    int *counts; /* [SHOAL_QUEUE_COUNTS] */
    int room;
} shoal_queue;

typedef struct shoal_aside {
    shoal_queue queue;
    int *ready;   /* [*n_ready] those that are not in the queue and have not arrived */
    int *n_ready; /* of one round */
    int n_beside; /* systems at most whose substeps a warp makes beside each other */
    int drains;   /* every warp takes what there is in the queue, however few */
    int of_teams; /* teams of threads set them aside */
    int stride;   /* of the steps that all monitors with `every` look at: rounds end after such a step */
    /* Steps of a system, at least, before it leaves the substep kernel because the queue closes; 0: one, or of a long
     * step none. */
    int least_visit;
    int long_turns;   /* turns of a system in the substep kernel, after which it moves to the host */
    double *table;    /* [slots of a record, a native state, the monitors][n_columns] */
    int *arrived;     /* [n_columns] of columns that came while the host looks: the number of the system, from 1 */
    int n_columns;    /* 0: nobody moves to the host */
    int first_column; /* before it are systems that were the host's when the slice began */
    int carries_back; /* states go from the table to the GPU */
} shoal_aside;

#endif
