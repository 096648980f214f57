/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * team.h: the ranks of an MPI program that share a list of tickets: each draws the next one from a counter.
 */
#ifndef SHOAL_TEAM_H
#define SHOAL_TEAM_H

#include <pthread.h>
#include <stdbool.h>

#include <mpi.h>

typedef struct team {
    int rank, n_ranks;
    int n_threads; /* cores for this rank */
    int n_devices; /* GPUs of this machine */
    MPI_Win window;
    long *counter;        /* on rank 0 */
    pthread_t answerer;   /* on rank 0 */
    pthread_mutex_t lock; /* one thread at a time calls MPI */
    bool answers, stop;
} team;

/* To be called after MPI_Init_thread, before any GPU is used: parts a machine's cores and GPUs among its ranks. */
void team_begin(team *made);
/* All ranks together, before the first ticket. Until team_close no other function that calls MPI may be called. */
void team_open(team *of);
/* The next ticket: 0, 1, 2, ..., each once among all ranks. */
long team_draw(team *of);
/* Tickets drawn so far; on rank 0. */
long team_drawn(const team *of);
/* All ranks together: returns when all are here. */
void team_close(team *of);
/* Wait until all ranks are here, without use of a core. */
void team_meet(void);

#endif
