/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hosted.c: systems that CPU threads integrate beside the GPU.
 *
 * Long encounters. The substeps of an encounter follow one after the other, and a GPU thread takes several times as
 * long for each as a CPU core. Two planets bound to each other could keep the GPU busy for longer than all other
 * systems together. So a system that has been in the substep kernel (integrators/aside.kern.h) for long moves to the
 * host during the slice:
 *
 *     The GPU writes the state of the system to a column of a table in memory that both see. Then it writes the number
 *     of the system; when the host reads this number, the column is complete.
 *     CPU threads integrate it until the slice ends.
 *     If it is still in an encounter then, the host keeps it for the next slice.
 *
 * Systems that do not fill the GPU. It makes a step of all of them in the same time, however few they are, and a core
 * makes its steps sooner. So in each slice the host takes those with the most steps left, and leads them as far as it
 * comes: in the next slice others are the last ones. If its systems have come less far than the GPU's (its cores are
 * busy with something else), it takes none for some slices.
 *
 * Some monitors look at each so-many-th step. The threads of a warp wait for each other, so all systems of a warp
 * should be looked at in the same steps. Therefore the host leads a system by a multiple of CALM * LEAST_TURN = 240
 * steps, which most such numbers divide.
 *
 * The host also takes the last few systems of an ensemble. Its kernels compute as the GPU's do (lane.h), so no result
 * depends on who makes a step.
 *
 * Between slices the GPU has all states. They pass between its arrays and the plan's through the table. The rows of the
 * table are a system's record, its native state and what the monitors carry.
 */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/engine.h"

enum { FEW = 16 };             /* the host takes the last systems when at most 1/FEW of the ensemble is left */
enum { LEAST_TURN = 16 };      /* the least number of steps of a turn */
enum { CALM = 15 };            /* systems in no encounter make CALM times as many steps in a turn */
enum { MOST_REST = 64 };       /* slices */
enum { OF_GPU, LONG, BEHIND }; /* roles: in a long encounter, behind the others */
#define TURN_SECONDS    3e-4
#define LONGEST_SECONDS 0.5 /* of a slice whose end does not wait for the GPU */
#define NAP_NANOSECONDS 100000

struct shoal_hosted {
    shoal_context own; /* takes the messages: if the host has no kernels, the GPU makes all steps and nobody is told */
    shoal_engine *host;
    shoal_kernel_args args; /* host pointers */
    shoal_engine_range range;
    bool adaptive;       /* the propagator */
    int threads, lanes;  /* CPU threads; systems that a call takes */
    int n_native, needs; /* slots of a native state; the slot that is not 0 if the next step needs substeps, -1: none */
    int width;           /* systems that keep the threads busy */
    int room;            /* the most systems that the host takes in a slice */
    double *table;       /* [rows][room], borrowed from the engine, as `arrived` */
    int *arrived;        /* [room] the system, counted from 1, whose column arrived in this slice; 0 = none */
    int *list, n_list;   /* [room] the host's systems in this slice, in the order of their columns */
    int n_turned;        /* those of them that came early enough for a turn */
    double *left;        /* [room] steps that each had left at the slice's begin */
    double slice_steps;  /* that the GPU makes of a system in this slice */
    int rest, next_rest; /* slices in which the host leads nobody; of the next time */
    long n_led;          /* systems that it has led in a slice, so far */
    char *role;          /* [n_systems] what the host has it for */
    int *going;          /* [threads][room] the systems of each thread's turn */
};

int shoal_hosted_eagerness(void)
{
    return shoal_environment_number("SHOAL_HOSTED", SHOAL_HOSTED_WHERE_IT_PAYS, SHOAL_HOSTED_NEVER,
                                    SHOAL_HOSTED_ALWAYS);
}

static double *field(const shoal_hosted *hosted, int which, long system)
{
    return &hosted->args.systems[SHOAL_AT(system, which, SHOAL_SYS_FIELDS)];
}

shoal_hosted *shoal_hosted_create(shoal_context *context, const shoal_kernel_choice *choice,
                                  const shoal_kernel_args *args, shoal_engine_range range)
{
    char line[256];
    shoal_kernel_choice beside = *choice;
    shoal_hosted *made = choice->plugins ? NULL : calloc(1, sizeof *made);
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
    made->threads = shoal_omp_threads(shoal_threads_or_default(choice->threads));
    made->width = (int)shoal_engine_cpu.width(made->host, &made->lanes);
    made->room = 2 * made->width;
    made->n_native = (int)shoal_native_slots(choice->propagator, args->n_moved);
    made->needs = choice->propagator->sets_aside ? made->n_native - choice->propagator->n_own : -1;
    made->adaptive = choice->propagator->adaptive;
    made->next_rest = 1;
    made->list = calloc((size_t)made->room, sizeof *made->list);
    made->left = calloc((size_t)made->room, sizeof *made->left);
    made->role = calloc((size_t)range.n_systems, sizeof *made->role);
    made->going = calloc((size_t)made->threads * (size_t)made->room, sizeof *made->going);
    if (!made->list || !made->left || !made->role || !made->going)
        shoal_hosted_destroy(&made);
    return made;
}

void shoal_hosted_destroy(shoal_hosted **hosted)
{
    shoal_hosted *old = *hosted;
    *hosted = NULL;
    if (!old)
        return;
    shoal_engine_cpu.destroy(&old->host);
    free(old->list);
    free(old->left);
    free(old->role);
    free(old->going);
    free(old);
}

int shoal_hosted_threads(const shoal_hosted *hosted)
{
    return hosted->threads;
}

int shoal_hosted_room(const shoal_hosted *hosted)
{
    return hosted->room;
}

int shoal_hosted_rows(const shoal_hosted *hosted)
{
    return SHOAL_SYS_FIELDS + hosted->n_native + hosted->args.n_watch;
}

void shoal_hosted_table(shoal_hosted *hosted, double *table, int *arrived)
{
    hosted->table = table;
    hosted->arrived = arrived;
}

/* Whether one of the host's systems begins its next step in an encounter. */
static bool needs_substeps(const shoal_hosted *hosted, int system)
{
    return hosted->needs >= 0 && hosted->args.native[SHOAL_AT(system, hosted->needs, hosted->n_native)] != 0;
}

/* Steps that a system has to make to its target; of steps that adapt, so many as the next one. */
static double steps_left(const shoal_hosted *hosted, int system)
{
    const double target = *field(hosted, SHOAL_SYS_TARGET, system);
    return hosted->adaptive
               ? ceil((target - *field(hosted, SHOAL_SYS_ELAPSED, system)) / fabs(*field(hosted, SHOAL_SYS_DT, system)))
               : target - *field(hosted, SHOAL_SYS_STEP, system);
}

static bool goes_on(const shoal_hosted *hosted, int system)
{
    return *field(hosted, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING && steps_left(hosted, system) > 0;
}

static char *role_of(const shoal_hosted *hosted, int system)
{
    return &hosted->role[system - hosted->range.first_chunk * SHOAL_CHUNK];
}

static long count_beyond(const shoal_hosted *hosted, const int *list, long n_list, double steps)
{
    long n = 0;
    for (long i = 0; i < n_list; i++)
        n += steps_left(hosted, list[i]) > steps;
    return n;
}

/* The host takes the systems that are farthest behind, `most` of them. */
static void take_behind(shoal_hosted *hosted, const int *list, long n_list, long most)
{
    double less = 0, more = 1; /* beyond `less` there are too many */
    if (most <= 0)
        return;
    while (count_beyond(hosted, list, n_list, more) > most)
        more *= 2;
    while (more - less > 1) {
        const double middle = floor(0.5 * (less + more));
        *(count_beyond(hosted, list, n_list, middle) > most ? &less : &more) = middle;
    }
    for (int round = 0; round < 2; round++)
        for (long i = 0; i < n_list && most > 0; i++)
            if (*role_of(hosted, list[i]) == OF_GPU && steps_left(hosted, list[i]) > (round == 0 ? more : less)) {
                *role_of(hosted, list[i]) = BEHIND;
                hosted->n_led++;
                most--;
            }
}

/* Whether the host leads systems in this slice. In the last one those that it led should have come farther than the
 * GPU's. */
static bool leads(shoal_hosted *hosted)
{
    int n = 0, n_late = 0;
    for (int i = 0; i < hosted->n_list; i++) {
        const int system = hosted->list[i];
        if (*role_of(hosted, system) != BEHIND || !goes_on(hosted, system))
            continue;
        n++;
        n_late += hosted->left[i] - steps_left(hosted, system) < hosted->slice_steps;
    }
    if (2 * n_late > n) {
        hosted->rest = hosted->next_rest;
        hosted->next_rest = hosted->next_rest < MOST_REST ? 2 * hosted->next_rest : MOST_REST;
    } else if (n > 0) {
        hosted->next_rest = 1;
    }
    if (hosted->rest == 0)
        return true;
    hosted->rest--;
    return false;
}

int shoal_hosted_split(shoal_hosted *hosted, const int *list, long n_list, bool spare, double slice_steps, int *sorted)
{
    const bool can_lead = leads(hosted);
    const bool few = n_list <= hosted->width && n_list <= hosted->range.n_systems / FEW;
    long n_kept = 0, n_gpu = 0;
    const long share = n_list / 2 < hosted->width ? n_list / 2 : hosted->width;
    for (int i = 0; i < hosted->n_list; i++) {
        const int system = hosted->list[i];
        const bool runs = *field(hosted, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING,
                   inside = i >= hosted->n_turned || needs_substeps(hosted, system),
                   stays = runs && inside && *role_of(hosted, system) != BEHIND;
        *role_of(hosted, system) = stays ? LONG : OF_GPU;
        n_kept += stays;
    }
    if (few || (spare && can_lead))
        take_behind(hosted, list, n_list, few ? n_list : share - n_kept);
    hosted->n_list = 0;
    for (long i = 0; i < n_list; i++) {
        char *role = role_of(hosted, list[i]);
        if (hosted->n_list == hosted->room) /* some had paused, and come back now */
            *role = OF_GPU;
        if (*role == OF_GPU)
            sorted[n_gpu++] = list[i];
        else
            hosted->list[hosted->n_list++] = list[i];
    }
    for (int i = 0; i < hosted->n_list; i++)
        hosted->left[i] = steps_left(hosted, hosted->list[i]);
    hosted->slice_steps = slice_steps;
    memcpy(sorted + n_gpu, hosted->list, (size_t)hosted->n_list * sizeof *list);
    memset(hosted->arrived, 0, (size_t)hosted->room * sizeof *hosted->arrived);
    return hosted->n_list;
}

/* Copy the state of the i-th system from its column to the plan's arrays, or back. */
static void carry(const shoal_hosted *hosted, int i, bool back)
{
    const struct {
        double *base;
        int n_slots;
    } arrays[] = {{hosted->args.systems, SHOAL_SYS_FIELDS},
                  {hosted->args.native, hosted->n_native},
                  {hosted->args.watch, hosted->args.n_watch}};
    double *column = hosted->table + i;
    for (int a = 0; a < SHOAL_COUNT(arrays); a++)
        for (int slot = 0; slot < arrays[a].n_slots; slot++, column += hosted->room) {
            double *value = &arrays[a].base[SHOAL_AT(hosted->list[i], slot, arrays[a].n_slots)];
            *(back ? column : value) = *(back ? value : column);
        }
}

/* Take over the systems whose columns have arrived. */
static void take_over(shoal_hosted *hosted)
{
    int number, n = hosted->n_list;
    while (n < hosted->room && (number = __atomic_load_n(&hosted->arrived[n], __ATOMIC_ACQUIRE)) != 0) {
        hosted->list[n] = number - 1;
        carry(hosted, n, false);
        *field(hosted, SHOAL_SYS_OUTCOME, hosted->list[n++]) = SHOAL_RUNNING; /* in the table it is set aside */
        __atomic_store_n(&hosted->n_list, n, __ATOMIC_RELEASE);
    }
}

/* A thread integrates its share of the systems for some steps, `more` of them where there is no encounter. Lanes wait
 * for each other, and encounters take much longer; so systems in encounters share groups of lanes, and the others share
 * theirs. Returns whether it had any. */
static bool take_turn(shoal_hosted *hosted, int thread, int n_threads, double steps, double more)
{
    const int n_list = __atomic_load_n(&hosted->n_list, __ATOMIC_ACQUIRE);
    int *going = hosted->going + (size_t)thread * (size_t)hosted->room, n = 0, n_near = 0;
    for (int i = thread; i < n_list; i += n_threads) {
        const int system = hosted->list[i];
        if (!goes_on(hosted, system))
            continue;
        going[n] = system;
        if (needs_substeps(hosted, system)) {
            going[n] = going[n_near];
            going[n_near++] = system;
        }
        n++;
    }
    for (int from = 0, to; from < n; from = to) {
        const int end = from < n_near ? n_near : n;
        to = from + hosted->lanes < end ? from + hosted->lanes : end;
        shoal_engine_cpu_group(hosted->host, going + from, to - from, from < n_near ? steps : CALM * steps + more);
    }
    return n > 0;
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = NAP_NANOSECONDS}, NULL);
}

/* All threads take turns until the GPU is no longer busy, or with `waits` until nobody has work left. */
static void take_turns(shoal_hosted *hosted, bool (*busy)(shoal_engine *), shoal_engine *gpu, bool waits)
{
    const double began = shoal_seconds();
    bool over = false;
    int n_working = 0;
#pragma omp parallel num_threads(hosted->threads)
    {
        const int thread = omp_get_thread_num(), n_threads = omp_get_num_threads();
        double steps = LEAST_TURN, more = fmod(ceil(hosted->slice_steps), CALM * LEAST_TURN), now = began;
        bool works = true, stops = false;
#pragma omp single
        n_working = n_threads;
        while (!stops) {
            const double turn_began = now;
            const bool worked = works;
            if (thread == 0)
                take_over(hosted);
            works = take_turn(hosted, thread, n_threads, steps, more);
            more = 0;
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

double shoal_hosted_advance(shoal_hosted *hosted, bool (*busy)(shoal_engine *), shoal_engine *gpu, bool waits)
{
    const double began = shoal_seconds();
    for (int i = 0; i < hosted->n_list; i++)
        carry(hosted, i, false);
    for (; hosted->n_list == 0 && busy(gpu); take_over(hosted))
        nap();
    if (hosted->n_list > 0)
        take_turns(hosted, busy, gpu, waits);
    hosted->n_turned = hosted->n_list;
    take_over(hosted);
    for (int i = 0; i < hosted->n_list; i++)
        carry(hosted, i, true);
    return shoal_seconds() - began;
}

long shoal_hosted_led(const shoal_hosted *hosted)
{
    return hosted->n_led;
}

const int *shoal_hosted_list(const shoal_hosted *hosted, int *n_list)
{
    *n_list = hosted->n_list;
    return hosted->list;
}
