/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuda_aside.c: close encounters on a GPU: what the CUDA engine does for a propagator that sets systems aside
 * (`hybrid`; integrators/aside.kern.h).
 *
 * A slice consists of rounds. In a round the systems that need no substeps make some steps. At the same time the
 * substep kernel, in streams of its own, integrates the systems in the queue, which were set aside. It ends when it
 * finds the queue empty. So no kernel waits for another one.
 *
 * The length of a round balances two losses. Each round loads and stores all states, at the cost of about c steps. And
 * a system that is set aside leaves its lane idle until the round ends. If P systems are set aside in N steps, the sum
 * of the losses is least for rounds of about (2 c N / P)^(1/2) steps. N and P are those of the last slice.
 *
 * A system that stays in the substep kernel for long moves to the host, whose threads integrate it beside the GPU
 * (hosted.c).
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/engine/cuda_engine.h"

/* A slice has a fourth more rounds than its steps ask for, so that systems that come late can catch up. ROUND_COST is
 * the c of the head. */
enum { MOST_ROUNDS = 128, MORE_ROUNDS = 4, FIRST_ROUND = 64, LEAST_ROUND = 16, MOST_ROUND = 1024, ROUND_COST = 4 };
/* During a round one of SUBSTEPS_SHARE schedulers has a warp of substeps. */
enum { SUBSTEPS_SHARE = 16 };
/* The least number of steps that a system makes in the substep kernel if the host takes no systems; the turns there
 * after which the host takes it. */
enum { LEAST_VISIT = 64, LONG_TURNS = 1024 };

/* Bytes of all counts: those of the queue, then the number of systems in each round of each part. */
#define COUNTS_SIZE ((SHOAL_QUEUE_COUNTS + SHOAL_CUDA_PARTS * (MOST_ROUNDS + MOST_ROUNDS / MORE_ROUNDS)) * sizeof(int))

/* ---- memory, streams, arguments ---------------------------------------------------------------------------------- */

size_t shoal_cuda_aside_size(const shoal_engine *engine)
{
    return 2 * (size_t)engine->range.n_systems * sizeof(int) + COUNTS_SIZE;
}

int shoal_cuda_aside_allocate(shoal_engine *engine)
{
    struct driver *driver = &engine->driver;
    struct aside *aside = &engine->aside;
    const size_t list_size = (size_t)engine->range.n_systems * sizeof(int);
    int result = driver->allocate(&aside->places, list_size);
    if (result == 0)
        result = driver->clear(aside->places, 0xff, list_size);
    if (result == 0)
        result = driver->allocate(&aside->ready, list_size);
    if (result == 0)
        result = driver->allocate(&aside->counts, COUNTS_SIZE);
    if (result == 0)
        result = driver->host_allocate((void **)&aside->counts_host, COUNTS_SIZE, 0);
    return result;
}

int shoal_cuda_aside_streams(shoal_engine *engine)
{
    int result = 0;
    for (int c = 0; c < SHOAL_CUDA_SUBSTEP_STREAMS && result == 0; c++)
        result = engine->driver.stream_create(&engine->aside.substeps[c], STREAM_NON_BLOCKING, STREAM_FIRST);
    return result;
}

/* The least common multiple of the `every` of all monitors; 1 if it is longer than a round. */
static int stride_of(const shoal_engine *engine)
{
    const shoal_monitor *const *all = shoal_plugs_of(engine->context)->monitors;
    long stride = 1;
    for (int i = 0; all[i]; i++)
        for (int p = 0; p < all[i]->n_parameters && engine->choice.monitors >> i & 1; p++) {
            const long before = stride, every = (long)engine->args.monitor[i][p];
            if (strcmp(all[i]->parameters[p].name, "every") == 0 && every > 0)
                while (stride % every && stride <= MOST_ROUND)
                    stride += before;
        }
    return stride > MOST_ROUND ? 1 : (int)stride;
}

void shoal_cuda_aside_args(shoal_engine *engine)
{
    struct aside *aside = &engine->aside;
    shoal_aside *args = &engine->args.aside;
    aside->round = FIRST_ROUND;
    args->queue = (shoal_queue){(int *)(uintptr_t)aside->places, (int *)(uintptr_t)aside->counts,
                                (int)engine->range.n_systems};
    args->stride = stride_of(engine);
    args->of_teams = shoal_team_threads(&engine->choice) > 1;
    args->least_visit = engine->hosting.hosted ? 0 : LEAST_VISIT;
    args->long_turns = shoal_environment_number("SHOAL_LONG_TURNS", LONG_TURNS, 1, INT_MAX);
}

void shoal_cuda_aside_release(shoal_engine *engine)
{
    const struct driver *driver = &engine->driver;
    struct aside *aside = &engine->aside;
    const device_pointer on_device[] = {aside->places, aside->ready, aside->counts};
    for (int c = 0; c < SHOAL_CUDA_SUBSTEP_STREAMS; c++)
        shoal_cuda_release_stream(driver, aside->substeps[c]);
    for (int i = 0; i < SHOAL_COUNT(on_device); i++)
        if (on_device[i])
            (void)driver->release(on_device[i]);
    if (aside->counts_host)
        (void)driver->host_release(aside->counts_host);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* Choose the length of later rounds from the number of systems that the last slice set aside. */
static void rounds_adapt(shoal_engine *engine)
{
    const double n_aside = engine->aside.counts_host[SHOAL_QUEUE_CAME];
    double tried = 0;
    for (int l = 0; l < engine->aside.n_rounds; l++)
        tried += engine->aside.round * engine->aside.counts_host[SHOAL_QUEUE_COUNTS + l];
    engine->aside.round = n_aside > 0
                              ? floor(fmax(LEAST_ROUND, fmin(MOST_ROUND, sqrt(2 * ROUND_COST * tried / n_aside))))
                              : INFINITY;
    engine->aside.n_rounds = 0;
}

void shoal_cuda_aside_finished(shoal_engine *engine, bool well)
{
    if (well && engine->aside.n_rounds > 0)
        rounds_adapt(engine);
}

/* Queue the substep kernel, in at most n_warps warps. Few systems get small blocks, which spread over the device. */
static int substeps_queue(shoal_engine *engine, device_pointer list, long n_list, long n_warps, cuda_stream stream)
{
    const int block = engine->args.aside.n_beside < 32 ? SHOAL_CUDA_SMALL_BLOCK : engine->block[SHOAL_SUBSTEPS],
              room = engine->args.aside.n_beside * block / 32;
    const long n_blocks = (n_list + room - 1) / room, most = (32 * n_warps + block - 1) / block;
    return shoal_cuda_queue(engine, SHOAL_SUBSTEPS, list, n_list, block, n_blocks < most ? n_blocks : most, stream);
}

/* Queue a round of one part of the systems, and the substep kernel for those that it sets aside. */
static int round_queue(shoal_engine *engine, shoal_cuda_part part, int block, long n_warps, cuda_stream substeps)
{
    const int gather_block = engine->block[SHOAL_GATHER];
    const double slice_steps = engine->args.slice_steps;
    engine->args.aside.ready = (int *)(uintptr_t)engine->aside.ready + part.first;
    engine->args.slice_steps = engine->aside.round;
    int result = shoal_cuda_queue(engine, SHOAL_GATHER, part.list, part.n, gather_block,
                                  shoal_cuda_blocks(engine, SHOAL_GATHER, gather_block, part.n), part.stream);
    if (result == 0)
        result = shoal_cuda_queue(engine, SHOAL_INTEGRATE, part.list, part.n, block,
                                  shoal_cuda_blocks(engine, SHOAL_INTEGRATE, block, part.n), part.stream);
    engine->args.slice_steps = slice_steps;
    if (result == 0)
        result = shoal_cuda_join(engine, substeps, part.stream);
    return result ? result : substeps_queue(engine, part.list, part.n, n_warps, substeps);
}

/* If the systems fill the device, rounds of two parts overlap; at the end the substep kernel has the whole device. */
int shoal_cuda_aside_queue(shoal_engine *engine, device_pointer list, long n_list, double slice_steps, int block)
{
    struct driver *driver = &engine->driver;
    const long schedulers = shoal_cuda_schedulers(engine), beside = shoal_cuda_systems_beside(engine, n_list);
    const bool fills = shoal_cuda_is_full(engine, n_list);
    const int n_parts = fills ? SHOAL_CUDA_PARTS : 1;
    const long n_warps = fills ? (schedulers + SUBSTEPS_SHARE - 1) / SUBSTEPS_SHARE : schedulers; /* warps */
    const double most = fmin(slice_steps, MOST_ROUNDS * engine->aside.round),
                 rounds = ceil(most / fmin(engine->aside.round, most));
    engine->aside.round = ceil(most / rounds);
    engine->aside.n_rounds = n_parts * (int)(rounds + floor(rounds / MORE_ROUNDS));
    engine->args.slice_steps = slice_steps;
    engine->args.aside.n_beside = fills ? 32 : (int)beside;
    engine->args.aside.drains = 0;
    int result = driver->clear_later(engine->aside.counts, 0, COUNTS_SIZE, engine->work);
    if (result == 0)
        result = shoal_cuda_join_parts(engine, n_parts, true);
    for (int l = 0; l < engine->aside.n_rounds && result == 0; l++) {
        engine->args.aside.n_ready = engine->args.aside.queue.counts + SHOAL_QUEUE_COUNTS + l;
        result = round_queue(engine, shoal_cuda_part_of(engine, list, n_list, n_parts, l % n_parts), block, n_warps,
                             engine->aside.substeps[l % SHOAL_CUDA_SUBSTEP_STREAMS]);
    }
    if (result == 0)
        result = shoal_cuda_join_parts(engine, n_parts, false);
    engine->args.aside.drains = fills;
    if (result == 0 && (fills || engine->hosting.hosted))
        result = driver->clear_later(engine->aside.counts + SHOAL_QUEUE_CLOSED * sizeof(int), 1, sizeof(int),
                                     engine->work);
    if (result == 0 && fills)
        result = substeps_queue(engine, list, n_list, 2 * schedulers, engine->work);
    for (int c = 0; c < SHOAL_CUDA_SUBSTEP_STREAMS && result == 0; c++)
        result = shoal_cuda_join(engine, engine->work, engine->aside.substeps[c]);
    return result ? result
                  : driver->to_host_later(engine->aside.counts_host, engine->aside.counts, COUNTS_SIZE, engine->work);
}
