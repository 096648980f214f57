/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * team.h: the ranks of an MPI program that share a list of tickets: each draws the next one from a counter.
 */
#ifndef SHOAL_TEAM_H
#define SHOAL_TEAM_H

#include <pthread.h>
#include <stdbool.h>

#include <mpi.h>

/* Numbers that each rank leaves at the end. */
enum { TEAM_NUMBERS = 4 };

typedef struct team {
    int rank, n_ranks;
    int n_threads;   /* cores for this rank */
    int n_devices;   /* GPUs of this machine */
    double patience; /* seconds without a sign of life after which a rank is dead */
    MPI_Win window;
    long *numbers;        /* on rank 0 */
    pthread_t life;       /* counts seconds, and on rank 0 answers */
    pthread_mutex_t lock; /* one thread at a time calls MPI */
    bool lives, stop, lost_first;
    int n_missing; /* on rank 0, at the end */
} team;

/* How a team parts. Where a rank is lost, no collective function of MPI may be called any more, nor MPI_Finalize. */
typedef enum team_end { TEAM_WHOLE, TEAM_LOST_ONE, TEAM_LOST_FIRST } team_end;

/* To be called after MPI_Init_thread, before any GPU is used: parts a machine's cores and GPUs among its ranks. */
void team_begin(team *made, double patience);
/* All ranks together, before the first ticket. Until team_close no other function that calls MPI may be called. */
void team_open(team *of);
/* The next ticket: 0, 1, 2, ..., each once among all ranks; LONG_MAX if rank 0 does not answer. */
long team_draw(team *of);
/* Tickets drawn so far; on rank 0. */
long team_drawn(const team *of);
/* What the last ticket was for is done. */
void team_did(team *of);
/* This rank draws no more; its numbers are for rank 0. */
void team_report(team *of, const double numbers[TEAM_NUMBERS]);
/* On rank 0: wait until all ranks that live have reported. sum: of their numbers; done: how often team_did was called.
 * Returns how many are dead. */
int team_gather(team *of, double sum[TEAM_NUMBERS], long *done);
/* Rank 0: let the others go. Others: wait for that, without use of a core. */
team_end team_part(team *of);
/* All ranks of a whole team together. */
void team_close(team *of);

#endif
