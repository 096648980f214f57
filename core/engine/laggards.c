/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * laggards.c: systems in long encounters go on beside the GPU, on the CPU's threads.
 *
 * Of a propagator that parks systems (integrate.kern.h) some may be in encounters for long. Their substeps come one
 * after the other, and for those a GPU's thread takes several times as long as a core: two planets that are bound to
 * each other would need the device for longer than all other systems. So one that has been taken care of for long is
 * handed to the host while the slice goes on: its state comes as a column of a table in memory that both see, and its
 * number when the column is there. It goes on here until the slice ends, and from the next one's start if it is in an
 * encounter then. So do the last few of an ensemble. The host's kernels compute as a GPU's do (LANE_BESIDE_GPU), so
 * that no result depends on who makes a step.
 *
 * Between slices all states are the GPU's: they are carried to the plan's arrays and back through the table, whose rows
 * are the record, the native state and what the monitors carry.
 */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/engine.h"

enum { FEW = 16 };        /* the last systems are this part of the ensemble at most */
enum { LEAST_TURN = 16 }; /* steps between two looks around */
enum { CALM = 16 };       /* times as many steps of systems in no encounter */
#define TURN_SECONDS    3e-4
#define LONGEST_SECONDS 0.5 /* of a slice whose end does not wait for the GPU */
#define NAP_NANOSECONDS 100000

struct shoal_laggards {
    shoal_context own; /* the host's: without its kernels a GPU does everything itself, and says nothing of it */
    shoal_engine *host;
    shoal_kernel_args args; /* host pointers */
    shoal_engine_range range;
    int threads, lanes; /* of the host; lanes that go step by step together */
    int n_native, care; /* slots of a native state; the one that is not 0 if the next step needs care */
    int room;           /* systems that may be the host's in a slice */
    double *table;      /* [rows][room], the engine's */
    /* [room] numbers of systems, from 1, of the columns that came in this slice; the engine's */
    int *handed;
    int *list, n_list; /* [room] the host's systems in this slice, in the order of their columns */
    int n_turned;      /* those of the last slice that did not come too late for a turn */
    bool *stays;       /* [n_systems] from one slice to the next */
    int *going;        /* [threads][room] those of a thread under way */
};

static double *field(const shoal_laggards *laggards, int which, long system)
{
    return &laggards->args.systems[SHOAL_AT(system, which, SHOAL_SYS_FIELDS)];
}

shoal_laggards *shoal_laggards_create(shoal_context *context, const shoal_kernel_choice *choice,
                                      const shoal_kernel_args *args, shoal_engine_range range)
{
    char line[256];
    shoal_kernel_choice beside = *choice;
    shoal_laggards *made = choice->plugins ? NULL : calloc(1, sizeof *made);
    beside.beside_gpu = true;
    beside.lanes = 0;
    if (made)
        made->own = *context;
    if (!made ||
        shoal_engine_cpu.create(&made->own, &beside, args, range, &made->host, line, sizeof line) != SHOAL_OK) {
        free(made);
        return NULL;
    }
    made->args = *args;
    made->range = range;
    made->threads = shoal_omp_threads(choice->threads > 0 ? choice->threads : shoal_default_threads(NULL));
    made->room = (int)shoal_engine_cpu.width(made->host, &made->lanes);
    made->n_native = (int)shoal_native_slots(choice->propagator, args->n_moved);
    made->care = made->n_native - choice->propagator->n_own;
    made->list = calloc((size_t)made->room, sizeof *made->list);
    made->stays = calloc((size_t)range.n_systems, sizeof *made->stays);
    made->going = calloc((size_t)made->threads * (size_t)made->room, sizeof *made->going);
    if (!made->list || !made->stays || !made->going)
        shoal_laggards_destroy(&made);
    return made;
}

void shoal_laggards_destroy(shoal_laggards **laggards)
{
    shoal_laggards *old = *laggards;
    *laggards = NULL;
    if (!old)
        return;
    shoal_engine_cpu.destroy(&old->host);
    free(old->list);
    free(old->stays);
    free(old->going);
    free(old);
}

int shoal_laggards_threads(const shoal_laggards *laggards)
{
    return laggards->threads;
}

int shoal_laggards_room(const shoal_laggards *laggards)
{
    return laggards->room;
}

int shoal_laggards_rows(const shoal_laggards *laggards)
{
    return SHOAL_SYS_FIELDS + laggards->n_native + laggards->args.n_watch;
}

void shoal_laggards_table(shoal_laggards *laggards, double *table, int *handed)
{
    laggards->table = table;
    laggards->handed = handed;
}

/* Whether a system of the host's begins its next step in an encounter. */
static bool needs_care(const shoal_laggards *laggards, int system)
{
    return laggards->args.native[SHOAL_AT(system, laggards->care, laggards->n_native)] != 0;
}

static bool goes_on(const shoal_laggards *laggards, int system)
{
    return *field(laggards, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING &&
           *field(laggards, SHOAL_SYS_STEP, system) < *field(laggards, SHOAL_SYS_TARGET, system);
}

/* Whether a system stays the host's from one slice to the next. */
static bool *stays_at(const shoal_laggards *laggards, int system)
{
    return &laggards->stays[system - laggards->range.first_chunk * SHOAL_CHUNK];
}

int shoal_laggards_split(shoal_laggards *laggards, const int *list, long n_list, int *sorted)
{
    const bool few = n_list <= laggards->room && n_list <= laggards->range.n_systems / FEW;
    long n = 0;
    int n_stay = 0;
    for (int i = 0; i < laggards->n_list; i++) {
        const bool stays = i >= laggards->n_turned || needs_care(laggards, laggards->list[i]);
        *stays_at(laggards, laggards->list[i]) = stays;
        n_stay += stays;
    }
    if (n_stay == 0 && !few) {
        memcpy(sorted, list, (size_t)n_list * sizeof *list);
        n = n_list;
    }
    for (long i = n; i < n_list; i++) {
        if (few || *stays_at(laggards, list[i]))
            laggards->going[i - n] = list[i];
        else
            sorted[n++] = list[i];
    }
    for (int i = 0; i < laggards->n_list; i++)
        *stays_at(laggards, laggards->list[i]) = false;
    memset(laggards->handed, 0, (size_t)laggards->room * sizeof *laggards->handed);
    laggards->n_list = (int)(n_list - n);
    memcpy(laggards->list, laggards->going, (size_t)laggards->n_list * sizeof *list);
    memcpy(sorted + n, laggards->list, (size_t)laggards->n_list * sizeof *list);
    return laggards->n_list;
}

/* The state of the i-th system from its column to the plan's arrays, or back. */
static void carry(const shoal_laggards *laggards, int i, bool back)
{
    const struct {
        double *base;
        int n_slots;
    } arrays[] = {{laggards->args.systems, SHOAL_SYS_FIELDS},
                  {laggards->args.native, laggards->n_native},
                  {laggards->args.watch, laggards->args.n_watch}};
    double *column = laggards->table + i;
    for (int a = 0; a < SHOAL_COUNT(arrays); a++)
        for (int slot = 0; slot < arrays[a].n_slots; slot++, column += laggards->room) {
            double *value = &arrays[a].base[SHOAL_AT(laggards->list[i], slot, arrays[a].n_slots)];
            *(back ? column : value) = *(back ? value : column);
        }
}

/* Systems that were handed over meanwhile. */
static void take_over(shoal_laggards *laggards)
{
    int number, n = laggards->n_list;
    while (n < laggards->room && (number = __atomic_load_n(&laggards->handed[n], __ATOMIC_ACQUIRE)) != 0) {
        laggards->list[n] = number - 1;
        carry(laggards, n, false);
        *field(laggards, SHOAL_SYS_OUTCOME, laggards->list[n++]) = SHOAL_RUNNING; /* there it was still parked */
        __atomic_store_n(&laggards->n_list, n, __ATOMIC_RELEASE);
    }
}

/* Every so many-th system goes on for some steps, beside each other those in encounters, which take much longer, and
 * the others: lanes wait for those beside them. Whether there are any. */
static bool take_turn(shoal_laggards *laggards, int thread, int n_threads, double steps)
{
    const int n_list = __atomic_load_n(&laggards->n_list, __ATOMIC_ACQUIRE);
    int *going = laggards->going + (size_t)thread * (size_t)laggards->room, n = 0, n_care = 0;
    for (int i = thread; i < n_list; i += n_threads) {
        const int system = laggards->list[i];
        if (!goes_on(laggards, system))
            continue;
        going[n] = system;
        if (needs_care(laggards, system)) {
            going[n] = going[n_care];
            going[n_care++] = system;
        }
        n++;
    }
    for (int from = 0, to; from < n; from = to) {
        const int end = from < n_care ? n_care : n;
        to = from + laggards->lanes < end ? from + laggards->lanes : end;
        shoal_engine_cpu_group(laggards->host, going + from, to - from, from < n_care ? steps : CALM * steps);
    }
    return n > 0;
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = NAP_NANOSECONDS}, NULL);
}

/* All threads, until the GPU is no longer busy, or later. */
static void take_turns(shoal_laggards *laggards, bool (*busy)(shoal_engine *), shoal_engine *gpu, bool waits)
{
    const double began = shoal_seconds();
    bool over = false;
    int n_working = 0;
#pragma omp parallel num_threads(laggards->threads)
    {
        const int thread = omp_get_thread_num(), n_threads = omp_get_num_threads();
        double steps = LEAST_TURN, now = began;
        bool works = true, stops = false;
#pragma omp single
        n_working = n_threads;
        while (!stops) {
            const double turn_began = now;
            const bool worked = works;
            if (thread == 0)
                take_over(laggards);
            works = take_turn(laggards, thread, n_threads, steps);
            now = shoal_seconds();
            steps = works && now - turn_began < TURN_SECONDS ? 2 * steps : fmax(LEAST_TURN, 0.5 * steps);
            if (works != worked)
                (void)__atomic_add_fetch(&n_working, works ? 1 : -1, __ATOMIC_SEQ_CST);
            if (thread == 0 && !busy(gpu) &&
                !(waits && __atomic_load_n(&n_working, __ATOMIC_SEQ_CST) > 0 && now - began < LONGEST_SECONDS))
                __atomic_store_n(&over, true, __ATOMIC_SEQ_CST);
            stops = __atomic_load_n(&over, __ATOMIC_SEQ_CST);
            if (!works && !stops)
                nap();
        }
    }
}

double shoal_laggards_advance(shoal_laggards *laggards, bool (*busy)(shoal_engine *), shoal_engine *gpu, bool waits)
{
    const double began = shoal_seconds();
    for (int i = 0; i < laggards->n_list; i++)
        carry(laggards, i, false);
    for (; laggards->n_list == 0 && busy(gpu); take_over(laggards))
        nap();
    if (laggards->n_list > 0)
        take_turns(laggards, busy, gpu, waits);
    laggards->n_turned = laggards->n_list;
    take_over(laggards);
    for (int i = 0; i < laggards->n_list; i++)
        carry(laggards, i, true);
    return shoal_seconds() - began;
}

const int *shoal_laggards_list(const shoal_laggards *laggards, int *n_list)
{
    *n_list = laggards->n_list;
    return laggards->list;
}
