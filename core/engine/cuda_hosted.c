/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuda_hosted.c: what the CUDA engine does for the systems that CPU threads integrate beside it (hosted.c).
 *
 * At a slice's begin their states are copied to a table in page-locked memory, which the host reads while the GPU
 * integrates the others; at its end they come back.
 */
#include <math.h>
#include <string.h>

#include "core/engine/cuda_engine.h"

/* A multiprocessor has four schedulers. */
enum { SCHEDULERS = 4 };
/* s; in shorter slices the copies of states would cost more than the host's steps gain */
#define WORTH_SHARING 5e-3

void shoal_cuda_hosted_begin(shoal_engine *engine, const shoal_kernel_args *args)
{
    engine->hosting.eagerness = shoal_hosted_eagerness();
    if (!engine->choice.alone && engine->hosting.eagerness != SHOAL_HOSTED_NEVER)
        engine->hosting.hosted = shoal_hosted_create(engine->context, &engine->choice, args, engine->range);
}

int shoal_cuda_hosted_allocate(shoal_engine *engine)
{
    struct driver *driver = &engine->driver;
    struct hosting *hosting = &engine->hosting;
    if (!hosting->hosted)
        return 0;
    const size_t room = (size_t)shoal_hosted_room(hosting->hosted), rows = (size_t)shoal_hosted_rows(hosting->hosted);
    int result = driver->host_allocate((void **)&hosting->table, rows * room * sizeof *hosting->table, 0);
    if (result == 0)
        result = driver->host_allocate((void **)&hosting->arrived, room * sizeof *hosting->arrived, 0);
    if (result == 0)
        result = driver->host_allocate((void **)&hosting->column_ids, room * sizeof *hosting->column_ids, 0);
    if (result == 0)
        shoal_hosted_table(hosting->hosted, hosting->table, hosting->arrived);
    return result ? result : driver->event_create(&hosting->brought, 0);
}

void shoal_cuda_hosted_release(shoal_engine *engine)
{
    const struct driver *driver = &engine->driver;
    struct hosting *hosting = &engine->hosting;
    void *const on_host[] = {hosting->table, hosting->arrived, hosting->column_ids};
    if (hosting->brought)
        (void)driver->event_destroy(hosting->brought);
    for (int i = 0; i < SHOAL_COUNT(on_host); i++)
        if (on_host[i])
            (void)driver->host_release(on_host[i]);
    shoal_hosted_destroy(&hosting->hosted);
}

long shoal_cuda_schedulers(const shoal_engine *engine)
{
    return SCHEDULERS * (long)engine->gpu.n_multiprocessors;
}

long shoal_cuda_systems_beside(const shoal_engine *engine, long n_list)
{
    const long schedulers = shoal_cuda_schedulers(engine);
    return (n_list + schedulers - 1) / schedulers;
}

bool shoal_cuda_is_full(const shoal_engine *engine, long n_list)
{
    return shoal_cuda_systems_beside(engine, n_list) >= 32;
}

/* Queue the copy of their states to the table, or back to the GPU's arrays. */
static int carry_queue(shoal_engine *engine, bool back)
{
    int n;
    const int *list = shoal_hosted_list(engine->hosting.hosted, &n), block = engine->block[SHOAL_CARRY];
    if (n == 0)
        return 0;
    memcpy(engine->hosting.column_ids, list, (size_t)n * sizeof *list);
    engine->args.aside.carries_back = back;
    engine->hosting.returning = back;
    return shoal_cuda_queue(engine, SHOAL_CARRY, (uintptr_t)engine->hosting.column_ids, n, block,
                            shoal_cuda_blocks(engine, SHOAL_CARRY, block, n), engine->work);
}

int shoal_cuda_hosted_split(shoal_engine *engine, const int *list, long *n_list, double slice_steps, int *sorted)
{
    struct hosting *hosting = &engine->hosting;
    const bool worth = hosting->eagerness == SHOAL_HOSTED_ALWAYS || hosting->slice_seconds >= WORTH_SHARING,
               spare = worth && !shoal_cuda_is_full(engine, *n_list);
    const int n = shoal_hosted_split(hosting->hosted, list, *n_list, spare, slice_steps, sorted);
    *n_list -= n;
    engine->args.aside.first_column = n;
    hosting->waits = *n_list <= n;
    hosting->sharing = n > 0 || shoal_cuda_sets_aside(engine); /* some may come later */
    hosting->seconds = 0;
    const int result = carry_queue(engine, false);
    return result ? result : engine->driver.event_record(hosting->brought, engine->work);
}

long shoal_engine_gpu_led(const shoal_engine *gpu)
{
    return gpu->hosting.hosted ? shoal_hosted_led(gpu->hosting.hosted) : 0;
}

static bool is_busy(shoal_engine *engine)
{
    return engine->driver.event_query(engine->ended) == NOT_READY;
}

shoal_status shoal_cuda_hosted_finish(shoal_engine *engine)
{
    struct hosting *hosting = &engine->hosting;
    if (!hosting->sharing)
        return SHOAL_OK;
    hosting->sharing = false;
    const shoal_status status = shoal_cuda_finish_fetches(engine); /* they write to the same arrays */
    if (status != SHOAL_OK)
        return status;
    int result = engine->driver.event_synchronize(hosting->brought);
    if (result == 0) {
        hosting->seconds = shoal_hosted_advance(hosting->hosted, is_busy, engine, hosting->waits);
        result = carry_queue(engine, true);
    }
    return result ? shoal_cuda_fail(engine, result, "carrying systems between GPU and host") : SHOAL_OK;
}
