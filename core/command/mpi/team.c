/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * team.c: ranks that draw tickets from one counter (MPI_Rget_accumulate on a window of rank 0), what each has of the
 * machine, and who is still there at the end.
 *
 * A rank computes for minutes without a call of MPI. Where the network has no atomic operations of its own, rank 0 must
 * call MPI for the counter to answer: a thread of it does, a thousand times a second. Ranks without work sleep between
 * two looks, since their cores may be others' by now.
 *
 * A rank that dies would be waited for in any collective call, MPI_Finalize included, where the launcher does not end
 * the job with it (mpirun --enable-recovery). So from team_open on ranks meet in numbers of the window alone. A thread
 * of each counts its seconds there; where a count stands still for `patience` seconds, that rank is dead.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/command/mpi/team.h"

static void sleep_ms(long n)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000 * n}, NULL);
}

static void nap(void)
{
    sleep_ms(1);
}

/* Numbers of the window, eight bytes each: see team_open. */
enum { TICKETS, DONE, END, SEEN, BEATS };
enum { WAIT, MEET, LEAVE }; /* what END says */

static long beat_of(int rank)
{
    return BEATS + rank;
}

/* The report of a rank: whether it is there, then its numbers. */
static long report_of(const team *of, int rank)
{
    return BEATS + of->n_ranks + (long)rank * (1 + TEAM_NUMBERS);
}

/* A number of this rank's own window. */
static long own(const team *of, long at)
{
    return __atomic_load_n(&of->numbers[at], __ATOMIC_ACQUIRE);
}

/* found = number, number = op(number, value) of the window; false if that takes longer than the patience, and from then
 * on: rank 0 is dead. */
static bool change(team *of, MPI_Op op, MPI_Datatype type, const void *value, void *found, long at)
{
    const double began = shoal_seconds();
    MPI_Request request;
    int done = 0;
    char(*both)[8] = __atomic_load_n(&of->lost_first, __ATOMIC_RELAXED) ? NULL : malloc(2 * sizeof *both);
    if (!both)
        return false;
    memcpy(both[0], value, sizeof both[0]);
    pthread_mutex_lock(&of->lock);
    MPI_Rget_accumulate(both[0], 1, type, both[1], 1, type, 0, at, 1, type, op, of->window, &request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&of->lock);
    while (!done && shoal_seconds() - began < of->patience) {
        nap();
        pthread_mutex_lock(&of->lock);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(&of->lock);
    }
    if (!done) { /* the two stay: an answer may still come */
        __atomic_store_n(&of->lost_first, true, __ATOMIC_RELAXED);
        return false;
    }
    memcpy(found, both[1], sizeof both[1]);
    free(both);
    return true;
}

static bool add_one(team *of, long at, long *found)
{
    const long one = 1;
    return change(of, MPI_SUM, MPI_LONG, &one, found, at);
}

/* The thread of a rank. */
static void *live(void *argument)
{
    team *of = argument;
    double told = 0;
    long found;
    while (!__atomic_load_n(&of->stop, __ATOMIC_ACQUIRE)) {
        if (of->rank == 0) {
            int any;
            pthread_mutex_lock(&of->lock);
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
            pthread_mutex_unlock(&of->lock);
        }
        if (shoal_seconds() - told >= 1) {
            add_one(of, beat_of(of->rank), &found);
            told = shoal_seconds();
        }
        sleep_ms(of->rank == 0 ? 1 : 20);
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

void team_begin(team *made, double patience)
{
    int rank, n;
    MPI_Comm machine;
    *made = (team){.lock = PTHREAD_MUTEX_INITIALIZER, .patience = patience};
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
    const long n = report_of(of, of->n_ranks);
    MPI_Win_allocate(of->rank == 0 ? n * (MPI_Aint)sizeof *of->numbers : 0, sizeof *of->numbers, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &of->numbers, &of->window);
    for (long i = 0; i < n && of->rank == 0; i++)
        of->numbers[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, of->window);
    of->lives = pthread_create(&of->life, NULL, live, of) == 0;
}

long team_draw(team *of)
{
    long ticket = 0;
    return add_one(of, TICKETS, &ticket) ? ticket : LONG_MAX;
}

long team_drawn(const team *of)
{
    return own(of, TICKETS);
}

void team_did(team *of)
{
    long found;
    add_one(of, DONE, &found);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Whether a count has stood still for so long that its rank is dead. */
typedef struct pulse {
    long count;
    double since;
} pulse;

static bool is_dead(const team *of, pulse *last, long count)
{
    const double now = shoal_seconds();
    if (last->since == 0 || count != last->count)
        *last = (pulse){count, now};
    return of->lives && now - last->since > of->patience;
}

void team_report(team *of, const double numbers[TEAM_NUMBERS])
{
    const long at = report_of(of, of->rank);
    double before;
    long found;
    for (int i = 0; i < TEAM_NUMBERS; i++)
        change(of, MPI_REPLACE, MPI_DOUBLE, &numbers[i], &before, at + 1 + i);
    add_one(of, at, &found);
}

int team_gather(team *of, double sum[TEAM_NUMBERS], long *done)
{
    int n_missing = 0;
    pulse *last = calloc((size_t)of->n_ranks, sizeof *last);
    for (int rank = 0; rank < of->n_ranks; rank++) {
        const long at = report_of(of, rank);
        while (!own(of, at)) {
            if (!last || is_dead(of, &last[rank], own(of, beat_of(rank)))) {
                n_missing++;
                break;
            }
            for (int other = rank + 1; other < of->n_ranks; other++)
                (void)is_dead(of, &last[other], own(of, beat_of(other))); /* they are watched all the while */
            nap();
        }
        for (int i = 0; i < TEAM_NUMBERS && own(of, at); i++) {
            const long bits = own(of, at + 1 + i);
            double number;
            memcpy(&number, &bits, sizeof number);
            sum[i] += number;
        }
    }
    *done = own(of, DONE);
    of->n_missing = n_missing;
    free(last);
    return n_missing;
}

team_end team_part(team *of)
{
    const long none = 0;
    long end = WAIT, beat = 0, found;
    pulse last = {0};
    if (of->rank == 0) {
        __atomic_store_n(&of->numbers[END], of->n_missing ? LEAVE : MEET, __ATOMIC_RELEASE);
        const double began = shoal_seconds();
        while (of->n_missing && own(of, SEEN) < of->n_ranks - 1 - of->n_missing &&
               shoal_seconds() - began < of->patience)
            nap();
        return of->n_missing ? TEAM_LOST_ONE : TEAM_WHOLE;
    }
    while (end == WAIT) {
        if (!change(of, MPI_NO_OP, MPI_LONG, &none, &beat, beat_of(0)) || is_dead(of, &last, beat) ||
            !change(of, MPI_NO_OP, MPI_LONG, &none, &end, END))
            return TEAM_LOST_FIRST;
        nap();
    }
    if (end == LEAVE)
        add_one(of, SEEN, &found);
    return end == LEAVE ? TEAM_LOST_ONE : TEAM_WHOLE;
}

void team_close(team *of)
{
    MPI_Request request;
    __atomic_store_n(&of->stop, true, __ATOMIC_RELEASE);
    if (of->lives)
        pthread_join(of->life, NULL);
    MPI_Ibarrier(MPI_COMM_WORLD, &request); /* rank 0 answers here, too */
    for (int all = 0; !all; nap())
        MPI_Test(&request, &all, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(of->window);
    MPI_Win_free(&of->window);
}
