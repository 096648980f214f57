/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * team.c: ranks that draw tickets from one counter (MPI_Fetch_and_op on a window of rank 0), and what each has of the
 * machine.
 *
 * A rank computes for minutes without a call of MPI. Where the network has no atomic operations of its own, rank 0 must
 * call MPI for the counter to answer: a thread of it does, a thousand times a second. Ranks without work sleep between
 * two looks, since their cores may be others' by now.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/command/mpi/team.h"

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void *answer(void *argument)
{
    team *of = argument;
    while (!__atomic_load_n(&of->stop, __ATOMIC_ACQUIRE)) {
        int found;
        pthread_mutex_lock(&of->lock);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(&of->lock);
        nap();
    }
    return NULL;
}

/* ---- cores and GPUs ---------------------------------------------------------------------------------------------- */

/* NVIDIA GPUs that this process may use. The driver is not asked: it reads CUDA_VISIBLE_DEVICES once. */
static int count_devices(void)
{
    enum { MOST = 64 };
    int n = 0;
    for (int i = 0; i < MOST; i++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/nvidia%d", i);
        const int device = open(path, O_RDWR | O_CLOEXEC);
        n += device >= 0;
        if (device >= 0)
            close(device);
    }
    return n;
}

/* Of ranks that may run on the same cores each gets a part of them, unless OMP_NUM_THREADS says how many. */
static int part_cores(MPI_Comm machine, int rank, int n)
{
    int n_sharers = 0, place = 0;
    cpu_set_t own, *all = calloc((size_t)n, sizeof *all), both;
    const char *from, *asked = getenv("OMP_NUM_THREADS");
    CPU_ZERO(&own);
    sched_getaffinity(0, sizeof own, &own);
    if (all)
        MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, machine);
    for (int k = 0; all && k < n; k++) {
        CPU_AND(&both, &own, &all[k]);
        n_sharers += CPU_COUNT(&both) > 0;
        place += CPU_COUNT(&both) > 0 && k < rank;
    }
    free(all);
    const int cores = shoal_default_threads(&from);
    return (asked && *asked) || n_sharers == 0 ? cores : shoal_part_of_cores(cores, place, n_sharers);
}

/* Slurm may have given each task GPUs of its own. */
static void part_devices(int n_devices, int rank, int n)
{
    char part[256];
    if (!getenv("SLURM_GPUS_PER_TASK") &&
        shoal_part_of_devices(getenv("CUDA_VISIBLE_DEVICES"), n_devices, rank, n, part, sizeof part))
        setenv("CUDA_VISIBLE_DEVICES", part, 1);
}

/* ---- the team ---------------------------------------------------------------------------------------------------- */

void team_begin(team *made)
{
    int rank, n;
    MPI_Comm machine;
    *made = (team){.lock = PTHREAD_MUTEX_INITIALIZER};
    MPI_Comm_rank(MPI_COMM_WORLD, &made->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &made->n_ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, made->rank, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &rank);
    MPI_Comm_size(machine, &n);
    made->n_threads = part_cores(machine, rank, n);
    made->n_devices = count_devices();
    part_devices(made->n_devices, rank, n);
    MPI_Comm_free(&machine);
}

void team_open(team *of)
{
    MPI_Win_allocate(of->rank == 0 ? sizeof *of->counter : 0, sizeof *of->counter, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &of->counter, &of->window);
    if (of->rank == 0)
        *of->counter = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, of->window);
    if (of->rank == 0)
        of->answers = pthread_create(&of->answerer, NULL, answer, of) == 0;
}

long team_draw(team *of)
{
    const long one = 1;
    long ticket = 0;
    pthread_mutex_lock(&of->lock);
    MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, 0, MPI_SUM, of->window);
    MPI_Win_flush(0, of->window);
    pthread_mutex_unlock(&of->lock);
    return ticket;
}

long team_drawn(const team *of)
{
    return __atomic_load_n(of->counter, __ATOMIC_RELAXED);
}

void team_meet(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0; !done; nap())
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

void team_close(team *of)
{
    __atomic_store_n(&of->stop, true, __ATOMIC_RELEASE);
    if (of->answers)
        pthread_join(of->answerer, NULL);
    team_meet(); /* rank 0 answers here, too */
    MPI_Win_unlock_all(of->window);
    MPI_Win_free(&of->window);
}
