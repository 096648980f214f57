/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * engine_cuda.c: the engine that runs the kernels on one NVIDIA GPU. A thread, or a team of threads (work.c), advances
 * a system. devices.c makes one engine of several.
 *
 * Driver: cuda.c opens the driver's library at run time, so one binary runs with and without a GPU. Kernels come from
 * jit.c.
 *
 * Arrays: the five arrays of shoal_kernel_args and the lists of systems lie on the device. The plan says when an array
 * is copied. Large host arrays are page-locked where that succeeds: their copies are faster and run beside kernels.
 *
 * Streams: kernels, and the copies that they need, go through one stream, in order. Results are fetched through another
 * stream, beside the kernels that follow.
 *
 * The host's threads integrate some of the systems: cuda_hosted.c. Close encounters: cuda_aside.c has what a
 * propagator needs that sets systems aside.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/cuda_engine.h"

/* Every device accepts arguments of a kernel up to this size. */
_Static_assert(sizeof(shoal_kernel_args) <= 4096, "the arguments of a kernel");

/* ---- the engine -------------------------------------------------------------------------------------------------- */

/* Where no system is set aside, a slice is made in pieces: at most so many, of at least so many steps. Multiprocessors
 * are then idle only during the last blocks of the last piece. */
enum { MOST_PIECES = 32, LEAST_PIECE = 64 };
/* Lanes that keep a multiprocessor busy; blocks a multiprocessor below which blocks are small (block_for). */
enum { LANES_A_MULTIPROCESSOR = 256, FEW_BLOCKS = 4 };

shoal_status shoal_cuda_fail(shoal_engine *engine, int result, const char *what)
{
    return shoal_driver_fail(&engine->driver, engine->context, result, what);
}

/* Make the engine's device current for this thread; every entry of the engine is between enter and leave, so that a
 * caller who uses CUDA for other things finds his own context again. */
static shoal_status cuda_enter(shoal_engine *engine)
{
    int result = engine->driver.context_push(engine->gpu.cuda);
    return result ? shoal_cuda_fail(engine, result, "switching to the GPU") : SHOAL_OK;
}

static void cuda_leave(shoal_engine *engine)
{
    cuda_context ours;
    (void)engine->driver.context_pop(&ours);
}

static void arrays_describe(shoal_engine *engine, const shoal_kernel_choice *choice, const shoal_kernel_args *args)
{
    const size_t n_chunks = ((size_t)engine->range.n_systems + SHOAL_CHUNK - 1) / SHOAL_CHUNK;
    const size_t first_chunk = (size_t)engine->range.first_chunk;
    const size_t n = (size_t)choice->n_bodies;
    const struct {
        const char *name;
        double *host;
        size_t n_slots;
    } shape[SHOAL_CUDA_ARRAYS] = {
        {"bodies", args->bodies, n * SHOAL_QUANTITIES},
        {"systems", args->systems, SHOAL_SYS_FIELDS},
        {"native", args->native, shoal_native_slots(choice->propagator, args->n_moved)},
        {"watch", args->watch, (size_t)args->n_watch},
        {"snapshot", args->snapshot, n * 6},
    };
    for (int i = 0; i < SHOAL_CUDA_ARRAYS; i++) {
        engine->array[i].name = shape[i].name;
        const size_t doubles = shape[i].host ? shape[i].n_slots * SHOAL_CHUNK : 0; /* of a chunk */
        engine->array[i].host = shape[i].host ? shape[i].host + first_chunk * doubles : NULL;
        engine->array[i].chunk = doubles * sizeof(double);
        engine->array[i].offset = first_chunk * engine->array[i].chunk;
        engine->array[i].size = n_chunks * engine->array[i].chunk;
    }
    engine->n_held = (long)n_chunks;
}

/* Page-lock the large host arrays, so that copies are faster. shoal_allocate gave them pages of their own. A refusal is
 * no error: of several GPUs one does it for all. */
static void arrays_lock(shoal_engine *engine)
{
    for (int i = 0; i < SHOAL_CUDA_ARRAYS; i++) {
        struct array *array = &engine->array[i];
        array->locked = array->size >= SHOAL_PAGE_LOCKED &&
                        engine->driver.host_register(array->host, array->size, HOST_PORTABLE) == 0;
    }
}

/* Device memory for the arrays and the lists. It is zeroed: nothing uses the padding lanes, but a memory checker would
 * report them. */
static shoal_status arrays_allocate(shoal_engine *engine)
{
    struct driver *driver = &engine->driver;
    const size_t list_size = (size_t)engine->range.n_systems * sizeof(int);
    const bool sets_aside = shoal_cuda_sets_aside(engine);
    size_t total = SHOAL_CUDA_LISTS * list_size + (sets_aside ? shoal_cuda_aside_size(engine) : 0);
    int result = 0;
    for (int i = 0; i < SHOAL_CUDA_ARRAYS; i++)
        total += engine->array[i].size;
    for (int i = 0; i < SHOAL_CUDA_LISTS && result == 0; i++) {
        result = driver->allocate(&engine->list[i], list_size);
        if (result == 0)
            result = driver->host_allocate((void **)&engine->list_host[i], list_size, 0);
    }
    if (result == 0 && sets_aside)
        result = shoal_cuda_aside_allocate(engine);
    if (result == 0)
        result = shoal_cuda_hosted_allocate(engine);
    for (int i = 0; i < SHOAL_CUDA_ARRAYS && result == 0; i++) {
        struct array *array = &engine->array[i];
        if (!array->size)
            continue;
        result = driver->allocate(&array->device, array->size);
        if (result == 0)
            result = driver->clear(array->device, 0, array->size);
    }
    if (result == 0)
        result = driver->stream_synchronize(NULL); /* later streams do not wait for this one */
    if (result) {
        char what[160];
        size_t available = 0, all = 0;
        (void)driver->memory_free(&available, &all);
        snprintf(what, sizeof what, "allocating %.0f MiB of GPU memory for %ld systems (%.0f MiB of %.0f are free)",
                 (double)total / 1048576.0, engine->range.n_systems, (double)available / 1048576.0,
                 (double)all / 1048576.0);
        return shoal_cuda_fail(engine, result, what);
    }
    return SHOAL_OK;
}

static shoal_status streams_create(shoal_engine *engine)
{
    struct driver *driver = &engine->driver;
    int result = driver->stream_create(&engine->work, STREAM_NON_BLOCKING, 0);
    if (result == 0)
        result = driver->stream_create(&engine->fetches, STREAM_NON_BLOCKING, 0);
    if (result == 0)
        result = driver->event_create(&engine->began, 0);
    if (result == 0)
        result = driver->event_create(&engine->ended, 0);
    if (result == 0)
        result = driver->event_create(&engine->passed, 0);
    engine->part[0] = engine->work;
    for (int p = 1; p < SHOAL_CUDA_STREAMS && result == 0; p++)
        result = driver->stream_create(&engine->part[p], STREAM_NON_BLOCKING, 0);
    if (result == 0 && shoal_cuda_sets_aside(engine))
        result = shoal_cuda_aside_streams(engine);
    return result ? shoal_cuda_fail(engine, result, "making streams on the GPU") : SHOAL_OK;
}

/* The address that kernels get: where system 0 would be, so that systems keep their indices in the ensemble. */
static double *as_argument(const struct array *array)
{
    return array->device ? (double *)(uintptr_t)(array->device - array->offset) : NULL;
}

void shoal_cuda_release_stream(const struct driver *driver, cuda_stream stream)
{
    if (stream) {
        (void)driver->stream_synchronize(stream);
        (void)driver->stream_destroy(stream);
    }
}

static void event_release(const struct driver *driver, cuda_event event)
{
    if (event)
        (void)driver->event_destroy(event);
}

static void cuda_destroy(shoal_engine **engine)
{
    shoal_engine *old = *engine;
    *engine = NULL;
    if (!old)
        return;
    if (old->gpu.cuda) {
        struct driver *driver = &old->driver;
        (void)driver->context_push(old->gpu.cuda);
        shoal_cuda_release_stream(driver, old->work);
        shoal_cuda_release_stream(driver, old->fetches);
        event_release(driver, old->began);
        event_release(driver, old->ended);
        event_release(driver, old->passed);
        for (int p = 1; p < SHOAL_CUDA_STREAMS; p++)
            shoal_cuda_release_stream(driver, old->part[p]);
        shoal_cuda_aside_release(old);
        shoal_cuda_hosted_release(old);
        for (int i = 0; i < SHOAL_CUDA_ARRAYS; i++) {
            if (old->array[i].locked)
                (void)driver->host_unregister(old->array[i].host);
            if (old->array[i].device)
                (void)driver->release(old->array[i].device);
        }
        if (old->sights)
            (void)driver->release(old->sights);
        if (old->walk)
            (void)driver->release(old->walk);
        for (int i = 0; i < SHOAL_CUDA_LISTS; i++) {
            if (old->list[i])
                (void)driver->release(old->list[i]);
            if (old->list_host[i])
                (void)driver->host_release(old->list_host[i]);
        }
        for (int i = 0; i < SHOAL_KERNEL_ENTRIES; i++)
            if (old->module[i])
                (void)driver->module_unload(old->module[i]);
        cuda_leave(old);
        (void)driver->context_release(old->gpu.device);
    }
    free(old);
}

/* Compile some entries and load them. usage receives that of SHOAL_INTEGRATE; it may be NULL. The device's context is
 * current. */
static shoal_status kernels_load(shoal_engine *engine, int entries, shoal_kernel_usage *usage)
{
    struct driver *driver = &engine->driver;
    cuda_module *module = &engine->module[__builtin_ctz((unsigned)entries)];
    shoal_cubin cubin;
    shoal_status status = shoal_jit_compile(engine->context, &engine->choice, entries, engine->gpu.arch,
                                            engine->version, &cubin);
    if (status != SHOAL_OK)
        return status;
    int result = driver->module_load(module, cubin.image);
    if (result) {
        *module = NULL;
        status = shoal_cuda_fail(engine, result, "loading the compiled kernel (is NVRTC newer than the driver?)");
    }
    for (int i = 0; i < SHOAL_KERNEL_ENTRIES && status == SHOAL_OK; i++) {
        if (!(entries >> i & 1))
            continue;
        result = driver->module_function(&engine->function[i], *module, shoal_kernel_entry_name(i));
        engine->block[i] = cubin.block;
        engine->shared[i] = shoal_team_is_one(&engine->choice, 1 << i)
                                ? 0
                                : shoal_team_shared(&engine->choice, cubin.block);
        if (result == 0 && engine->shared[i] > DEFAULT_SHARED)
            result = driver->function_set(engine->function[i], FUNCTION_DYNAMIC_SHARED, (int)engine->shared[i]);
        if (result)
            status = shoal_cuda_fail(engine, result, "finding a kernel in the compiled module");
    }
    if (usage) {
        *usage = cubin.usage[SHOAL_INTEGRATE];
        snprintf(engine->kernel_file, sizeof engine->kernel_file, "%s", cubin.file);
    }
    shoal_cubin_release(&cubin);
    return status;
}

/* Open the range's device. Its context does not become current. */
static shoal_status device_open(shoal_engine *engine)
{
    struct driver *driver = &engine->driver;
    const char *missing = shoal_driver_open(driver);
    if (missing)
        return shoal_fail(engine->context, SHOAL_E_UNSUPPORTED, "%s", missing);
    const int result = driver->version(&engine->version);
    return result ? shoal_cuda_fail(engine, result, "asking the driver about the GPU")
                  : shoal_gpu_open(driver, engine->context, engine->range.devices.which[0], &engine->gpu);
}

/* Give the engine its kernels, memory and streams. args: host pointers. The device's context is current. */
static shoal_status engine_furnish(shoal_engine *engine, const shoal_kernel_args *args, shoal_kernel_usage *usage)
{
    shoal_status status = kernels_load(engine, SHOAL_ONCE_ENTRIES, NULL);
    if (status == SHOAL_OK)
        status = kernels_load(engine, 1 << SHOAL_INTEGRATE, usage);
    if (status == SHOAL_OK && shoal_cuda_sets_aside(engine))
        status = kernels_load(engine, SHOAL_ASIDE_ENTRIES, NULL);
    if (status != SHOAL_OK)
        return status;
    arrays_describe(engine, &engine->choice, args);
    shoal_cuda_hosted_begin(engine, args);
    status = arrays_allocate(engine);
    if (status != SHOAL_OK)
        return status;
    arrays_lock(engine);
    status = streams_create(engine);
    engine->args.bodies = as_argument(&engine->array[0]);
    engine->args.systems = as_argument(&engine->array[1]);
    engine->args.native = as_argument(&engine->array[2]);
    engine->args.watch = as_argument(&engine->array[3]);
    engine->args.snapshot = as_argument(&engine->array[4]);
    engine->args.aside = (shoal_aside){.table = engine->hosting.table, .arrived = engine->hosting.arrived};
    if (engine->hosting.hosted)
        engine->args.aside.n_columns = shoal_hosted_room(engine->hosting.hosted);
    if (shoal_cuda_sets_aside(engine))
        shoal_cuda_aside_args(engine);
    return status;
}

/* The engine's part of the plan line. */
static void line_write(const shoal_engine *engine, const shoal_kernel_usage *usage, char *line, size_t size)
{
    const shoal_kernel_choice *choice = &engine->choice;
    const int block = engine->block[SHOAL_INTEGRATE];
    const bool helped = shoal_cuda_sets_aside(engine) || !shoal_cuda_is_full(engine, engine->range.n_systems);
    const int threads = helped && engine->hosting.hosted ? shoal_hosted_threads(engine->hosting.hosted) : 0;
    char each[32] = "";
    if (shoal_team_each(choice) > 1)
        snprintf(each, sizeof each, "%d bodies a thread, ", shoal_team_each(choice));
    snprintf(line, size,
             "cuda: %s (sm_%d, %d multiprocessors), work model %s, %s%d systems a block of %d, %d registers, %d bytes "
             "spilled",
             engine->gpu.name, engine->gpu.arch, engine->gpu.n_multiprocessors, shoal_model_name(choice), each,
             shoal_team_systems(choice, block), block, usage->registers, usage->spill_bytes);
    if (threads)
        snprintf(line + strlen(line), size - strlen(line), ", %d CPU thread%s beside it", threads,
                 threads == 1 ? "" : "s");
}

static shoal_status cuda_create(shoal_context *context, const shoal_kernel_choice *choice,
                                const shoal_kernel_args *args, shoal_engine_range range, shoal_engine **engine,
                                char *line, size_t line_size)
{
    *engine = NULL;
    const char *missing = shoal_cuda_missing();
    if (missing)
        return shoal_fail(context, SHOAL_E_UNSUPPORTED, "%s", missing);
    shoal_engine *made = calloc(1, sizeof *made);
    if (!made)
        return shoal_fail(context, SHOAL_E_MEMORY, "no memory for the CUDA engine");
    made->context = context;
    made->range = range;
    made->args = *args;
    made->choice = *choice;
    shoal_kernel_usage usage;
    shoal_status status = device_open(made);
    if (status == SHOAL_OK)
        status = cuda_enter(made);
    if (status == SHOAL_OK) {
        status = engine_furnish(made, args, &usage);
        cuda_leave(made);
    }
    if (status != SHOAL_OK) {
        cuda_destroy(&made);
        return status;
    }
    line_write(made, &usage, line, line_size);
    *engine = made;
    return SHOAL_OK;
}

/* Threads of a block for a list of n_list systems. With few blocks, some multiprocessors would have one block more than
 * others; small blocks make that difference small. */
static int block_for(const shoal_engine *engine, shoal_kernel_entry entry, long n_list)
{
    const int block = engine->block[entry];
    const bool alone = engine->shared[entry] == 0 && shoal_team_threads(&engine->choice) == 1;
    return alone && n_list < (long)FEW_BLOCKS * block * engine->gpu.n_multiprocessors ? SHOAL_CUDA_SMALL_BLOCK : block;
}

int shoal_cuda_queue(shoal_engine *engine, shoal_kernel_entry entry, device_pointer list, long n_list, int block,
                     long n_blocks, cuda_stream stream)
{
    void *arguments[] = {&engine->args};
    engine->args.list = (const int *)(uintptr_t)list;
    engine->args.n_list = n_list;
    return engine->driver.launch(engine->function[entry], (unsigned)n_blocks, 1, 1, (unsigned)block, 1, 1,
                                 (unsigned)engine->shared[entry], stream, arguments, NULL);
}

long shoal_cuda_blocks(const shoal_engine *engine, shoal_kernel_entry entry, int block, long n_list)
{
    const long systems = shoal_team_is_one(&engine->choice, 1 << entry) ? block
                                                                        : shoal_team_systems(&engine->choice, block);
    return (n_list + systems - 1) / systems;
}

shoal_status shoal_cuda_finish_fetches(shoal_engine *engine)
{
    const int result = engine->fetching ? engine->driver.stream_synchronize(engine->fetches) : 0;
    engine->fetching = false;
    return result ? shoal_cuda_fail(engine, result, "copying from the GPU") : SHOAL_OK;
}

/* ---- between the two --------------------------------------------------------------------------------------------- */

/* Wait until all launches are done. The device's context is current. */
static shoal_status work_finish(shoal_engine *engine)
{
    const shoal_status status = shoal_cuda_hosted_finish(engine);
    if (status != SHOAL_OK)
        return status;
    const int result = engine->driver.stream_synchronize(engine->work);
    engine->n_queued = 0;
    engine->hosting.returning = false;
    shoal_cuda_aside_finished(engine, result == 0);
    return result ? shoal_cuda_fail(engine, result, engine->last ? engine->last : "copying to the GPU") : SHOAL_OK;
}

/* Queue copies of some arrays, as far as the GPU has them, in a stream. */
static shoal_status copies_queue(shoal_engine *engine, int arrays, bool to_device, cuda_stream stream)
{
    for (int i = 0; i < SHOAL_CUDA_ARRAYS; i++) {
        struct array *array = &engine->array[i];
        const size_t first = (size_t)engine->first_held * array->chunk, size = (size_t)engine->n_held * array->chunk;
        if (!(arrays >> i & 1) || !size)
            continue;
        char *host = (char *)array->host + first;
        int result = to_device ? engine->driver.to_device_later(array->device + first, host, size, stream)
                               : engine->driver.to_host_later(host, array->device + first, size, stream);
        if (result) {
            char what[128];
            snprintf(what, sizeof what, "copying the array '%s' (%zu bytes) %s the GPU", array->name, size,
                     to_device ? "to" : "from");
            return shoal_cuda_fail(engine, result, what);
        }
    }
    return SHOAL_OK;
}

int shoal_cuda_join(shoal_engine *engine, cuda_stream after, cuda_stream before)
{
    const int result = engine->driver.event_record(engine->passed, before);
    return result ? result : engine->driver.stream_wait(after, engine->passed, 0);
}

shoal_cuda_part shoal_cuda_part_of(const shoal_engine *engine, device_pointer list, long n_list, int n_parts, int p)
{
    const long first = n_list * p / n_parts;
    return (shoal_cuda_part){list + (size_t)first * sizeof(int), first, n_list * (p + 1) / n_parts - first,
                             engine->part[p]};
}

int shoal_cuda_join_parts(shoal_engine *engine, int n_parts, bool begin)
{
    int result = 0;
    for (int p = 1; p < n_parts && result == 0; p++)
        result = begin ? shoal_cuda_join(engine, engine->part[p], engine->work)
                       : shoal_cuda_join(engine, engine->work, engine->part[p]);
    return result;
}

static shoal_status cuda_copy(shoal_engine *engine, int arrays, bool to_device)
{
    shoal_status status = cuda_enter(engine);
    if (status != SHOAL_OK)
        return status;
    status = shoal_cuda_finish_fetches(engine);
    if (status == SHOAL_OK)
        status = shoal_cuda_hosted_finish(engine);
    if (status == SHOAL_OK)
        status = copies_queue(engine, arrays, to_device, engine->work);
    if (status == SHOAL_OK)
        status = work_finish(engine);
    cuda_leave(engine);
    return status;
}

static shoal_status cuda_upload(shoal_engine *engine, int arrays)
{
    return cuda_copy(engine, arrays, true);
}

static shoal_status cuda_download(shoal_engine *engine, int arrays)
{
    return cuda_copy(engine, arrays, false);
}

static shoal_status cuda_send(shoal_engine *engine, int arrays)
{
    shoal_status status = cuda_enter(engine);
    if (status != SHOAL_OK)
        return status;
    status = shoal_cuda_hosted_finish(engine);
    if (status == SHOAL_OK)
        status = copies_queue(engine, arrays, true, engine->work);
    cuda_leave(engine);
    return status;
}

static shoal_status cuda_fetch(shoal_engine *engine, int arrays)
{
    shoal_status status = cuda_enter(engine);
    if (status != SHOAL_OK)
        return status;
    status = shoal_cuda_hosted_finish(engine);
    const int result = shoal_cuda_join(engine, engine->fetches, engine->work);
    if (result)
        status = shoal_cuda_fail(engine, result, "waiting for a kernel");
    engine->fetching = true;
    if (status == SHOAL_OK)
        status = copies_queue(engine, arrays, false, engine->fetches);
    cuda_leave(engine);
    return status;
}

static shoal_status cuda_fetched(shoal_engine *engine)
{
    shoal_status status = cuda_enter(engine);
    if (status != SHOAL_OK)
        return status;
    status = shoal_cuda_finish_fetches(engine);
    cuda_leave(engine);
    return status;
}

static shoal_status cuda_wait(shoal_engine *engine, double *seconds)
{
    shoal_status status = cuda_enter(engine);
    if (status != SHOAL_OK)
        return status;
    float milliseconds = 0;
    status = work_finish(engine);
    if (status == SHOAL_OK && seconds && engine->timed)
        (void)engine->driver.event_elapsed(&milliseconds, engine->began, engine->ended);
    if (seconds)
        engine->hosting.slice_seconds = *seconds = fmax(1e-3 * milliseconds, engine->hosting.seconds);
    cuda_leave(engine);
    return status;
}

/* Queue a slice in pieces, one after the other. If there are many systems, two parts of them run beside each other. */
static int pieces_queue(shoal_engine *engine, device_pointer list, long n_list, double slice_steps, int block)
{
    const int n_parts = shoal_cuda_blocks(engine, SHOAL_INTEGRATE, block, n_list) >=
                                SHOAL_CUDA_PARTS * engine->gpu.n_multiprocessors
                            ? SHOAL_CUDA_PARTS
                            : 1;
    const double n_pieces = n_parts > 1 ? fmax(1, fmin(MOST_PIECES, floor(slice_steps / LEAST_PIECE))) : 1,
                 piece = ceil(slice_steps / n_pieces);
    int result = shoal_cuda_join_parts(engine, n_parts, true);
    for (double done = 0; done < slice_steps && result == 0; done += piece) {
        engine->args.slice_steps = fmin(piece, slice_steps - done);
        for (int p = 0; p < n_parts && result == 0; p++) {
            const shoal_cuda_part part = shoal_cuda_part_of(engine, list, n_list, n_parts, p);
            result = shoal_cuda_queue(engine, SHOAL_INTEGRATE, part.list, part.n, block,
                                      shoal_cuda_blocks(engine, SHOAL_INTEGRATE, block, part.n), part.stream);
        }
    }
    return result ? result : shoal_cuda_join_parts(engine, n_parts, false);
}

/* Queue a kernel and its list. The device's context is current. */
static int launch_queue(shoal_engine *engine, shoal_kernel_entry entry, const int *list, long n_list,
                        double slice_steps)
{
    struct driver *driver = &engine->driver;
    const int block = block_for(engine, entry, n_list);
    const size_t size = (size_t)n_list * sizeof *list;
    const int which = engine->n_queued++;
    const bool moves = entry == SHOAL_INTEGRATE, in_rounds = moves && shoal_cuda_sets_aside(engine);
    int result = 0;
    if (moves && engine->hosting.hosted)
        result = shoal_cuda_hosted_split(engine, list, &n_list, slice_steps, engine->list_host[which]);
    else
        memcpy(engine->list_host[which], list, size);
    engine->args.slice_steps = slice_steps;
    engine->last = shoal_kernel_entry_name(entry);
    if (result == 0)
        result = driver->to_device_later(engine->list[which], engine->list_host[which], size, engine->work);
    if (result == 0 && moves)
        result = driver->event_record(engine->began, engine->work);
    if (result == 0 && in_rounds && n_list > 0)
        result = shoal_cuda_aside_queue(engine, engine->list[which], n_list, slice_steps, block);
    else if (result == 0 && moves && !in_rounds && n_list > 0)
        result = pieces_queue(engine, engine->list[which], n_list, slice_steps, block);
    else if (result == 0 && !moves)
        result = shoal_cuda_queue(engine, entry, engine->list[which], n_list, block,
                                  shoal_cuda_blocks(engine, entry, block, n_list), engine->work);
    if (result == 0 && moves)
        result = driver->event_record(engine->ended, engine->work);
    engine->timed = engine->timed || moves;
    return result;
}

static shoal_status cuda_launch(shoal_engine *engine, shoal_kernel_entry entry, const int *list, long n_list,
                                double slice_steps)
{
    if (n_list < 1)
        return SHOAL_OK;
    if (n_list > engine->range.n_systems)
        return shoal_fail(engine->context, SHOAL_E_INTERNAL, "a list of %ld systems of %ld", n_list,
                          engine->range.n_systems);
    shoal_status status = cuda_enter(engine);
    if (status != SHOAL_OK)
        return status;
    status = shoal_cuda_hosted_finish(engine);
    if (status == SHOAL_OK && !engine->function[entry])
        status = kernels_load(engine, 1 << entry, NULL);
    if (status == SHOAL_OK && (engine->n_queued == SHOAL_CUDA_LISTS || engine->hosting.returning))
        status = work_finish(engine);
    if (status == SHOAL_OK && entry == SHOAL_SNAPSHOT)
        status = shoal_cuda_finish_fetches(engine); /* the last snapshot is still being copied */
    if (status == SHOAL_OK) {
        const int result = launch_queue(engine, entry, list, n_list, slice_steps);
        if (result)
            status = shoal_cuda_fail(engine, result, shoal_kernel_entry_name(entry));
    }
    cuda_leave(engine);
    return status;
}

/* Send the times to where there is room for what is seen, of `size` bytes, `before` of which are other engines'. That
 * memory lasts until a call needs more. */
static int sights_send(shoal_engine *engine, const shoal_sights *sights, size_t before, size_t size)
{
    struct driver *driver = &engine->driver;
    const size_t times = (size_t)sights->n_times * sizeof *sights->times, what = (size_t)sights->n_what * sizeof(int);
    int result = 0;
    if (engine->sights_size < size + times + what) {
        if (engine->sights)
            (void)driver->release(engine->sights);
        engine->sights = engine->sights_size = 0;
        result = driver->allocate(&engine->sights, size + times + what);
        engine->sights_size = result ? 0 : size + times + what;
    }
    const device_pointer at = engine->sights + size;
    if (result == 0)
        result = driver->to_device_later(at, sights->times, times, engine->work);
    if (result == 0)
        result = driver->to_device_later(at + times, sights->what, what, engine->work);
    engine->args.sights = *sights;
    engine->args.sights.times = (const double *)(uintptr_t)at;
    engine->args.sights.what = (const int *)(uintptr_t)(at + times);
    engine->args.sights.seen = (double *)(uintptr_t)(engine->sights - before);
    return result;
}

static shoal_status cuda_observe(shoal_engine *engine, const int *list, long n_list, const shoal_sights *sights,
                                 double steps)
{
    (void)steps;
    const size_t chunk = (size_t)(sights->n_times * sights->n_what) * SHOAL_CHUNK * sizeof(double),
                 size = (size_t)engine->n_held * chunk,
                 before = (size_t)(engine->range.first_chunk + engine->first_held) * chunk;
    shoal_status status = cuda_enter(engine);
    if (status != SHOAL_OK)
        return status;
    int result = sights_send(engine, sights, before, size);
    if (result)
        status = shoal_cuda_fail(engine, result, "giving the GPU a list of times");
    if (status == SHOAL_OK)
        status = cuda_launch(engine, SHOAL_OBSERVE, list, n_list, SHOAL_ALL_STEPS);
    if (status == SHOAL_OK) {
        result = engine->driver.to_host_later((char *)sights->seen + before, engine->sights, size, engine->work);
        status = result ? shoal_cuda_fail(engine, result, "copying from the GPU") : work_finish(engine);
    }
    cuda_leave(engine);
    return status;
}

/* Lay an array of a walk out at *at of the device, and send it there if it has a host's; returns its address. */
static void *walk_place(shoal_engine *engine, device_pointer *at, const void *host, size_t size, int *result)
{
    const device_pointer place = *at;
    *at += (size + 255) / 256 * 256;
    if (host && engine->walk && *result == 0 && size > 0)
        *result = engine->driver.to_device_later(place, host, size, engine->work);
    return (void *)(uintptr_t)place;
}

/* Lay a walk out on the device, from engine->walk on, and send it once there is memory; returns the bytes it takes. */
static size_t walk_lay(shoal_engine *engine, const shoal_walk *walk, int *result)
{
    const size_t n_systems = ((size_t)engine->range.n_systems + SHOAL_CHUNK - 1) / SHOAL_CHUNK * SHOAL_CHUNK;
    shoal_walk *there = &engine->walk_host;
    device_pointer at = engine->walk;
    *there = *walk;
    (void)walk_place(engine, &at, NULL, sizeof *walk, result); /* the walk itself, at last */
#define PLACE(host, n) walk_place(engine, &at, host, (size_t)(n) * sizeof *(host), result)
#define ROOM(host, n)  walk_place(engine, &at, NULL, (size_t)(n) * sizeof *(host), result)
    there->bodies = PLACE(walk->bodies, walk->n_bodies);
    there->sets = PLACE(walk->sets, walk->n_sets);
    there->data = PLACE(walk->data, walk->n_data);
    there->own = PLACE(walk->own, (size_t)walk->n_own * (size_t)walk->n_data);
    there->watch = PLACE(walk->watch, walk->n_watch);
    there->parts = PLACE(walk->parts, walk->n_parts);
    there->groups = PLACE(walk->groups, walk->n_groups);
    there->processes = PLACE(walk->processes, walk->n_processes);
    there->places = PLACE(walk->places, walk->n_places);
    there->rotations = PLACE(walk->rotations, walk->n_rotations);
    there->work = ROOM(walk->work, (size_t)walk->n_work * n_systems);
    for (int i = 0; i < SHOAL_LEGS; i++) {
        const shoal_sights *leg = &walk->leg[i];
        there->leg[i].times = PLACE(leg->times, leg->n_times);
        there->leg[i].what = PLACE(leg->what, leg->n_what);
        there->leg[i].seen = ROOM(leg->seen, (size_t)leg->n_times * (size_t)leg->n_what * n_systems);
        there->leg[i].conjunctions = PLACE(leg->conjunctions, leg->n_conjunctions);
        there->leg[i].row_of = PLACE(leg->row_of, leg->n_row_of);
    }
    const shoal_sights *any = &walk->leg[0]; /* both legs meet the same */
    there->leg[0].met = there->leg[1].met = ROOM(any->met, (size_t)any->n_rows * (size_t)any->n_met * n_systems);
    there->theta = ROOM(walk->theta, n_systems * (size_t)walk->n_parameters);
    there->lnl = ROOM(walk->lnl, n_systems);
#undef PLACE
#undef ROOM
    return (size_t)(at - engine->walk);
}

static shoal_status cuda_walk_with(shoal_engine *engine, const shoal_walk *walk)
{
    static const shoal_kernel_entry entries[] = {SHOAL_WALKER_BEGIN, SHOAL_WALKER_END, SHOAL_OBSERVE};
    shoal_status status = cuda_enter(engine);
    if (status != SHOAL_OK)
        return status;
    if (engine->walk)
        (void)engine->driver.release(engine->walk);
    engine->walk = 0;
    int result = 0;
    const size_t size = walk_lay(engine, walk, &result);
    result = engine->driver.allocate(&engine->walk, size);
    if (result) {
        engine->walk = 0;
        status = shoal_cuda_fail(engine, result, "allocating GPU memory for walkers");
    } else {
        (void)walk_lay(engine, walk, &result);
        if (result == 0)
            result = engine->driver.to_device_later(engine->walk, &engine->walk_host, sizeof engine->walk_host,
                                                    engine->work);
        status = result ? shoal_cuda_fail(engine, result, "giving walkers to the GPU") : work_finish(engine);
    }
    engine->choice.conjunctions = walk->leg[SHOAL_FORWARDS].n_conjunctions > 0;
    for (int i = 0; i < SHOAL_COUNT(entries) && status == SHOAL_OK; i++)
        if (!engine->function[entries[i]])
            status = kernels_load(engine, 1 << entries[i], NULL);
    engine->args.walk = (const shoal_walk *)(uintptr_t)engine->walk;
    cuda_leave(engine);
    return status;
}

/* Parts of n walkers, each of which fills the GPU: parameters of one are copied while another one goes. Smaller parts
 * would meet on some schedulers and leave others idle (16384 of a thread each: 1.2 to 1.5 times as long). */
static int walk_parts(const shoal_engine *engine, long n)
{
    const double lanes = LANES_A_MULTIPROCESSOR * (double)engine->gpu.n_multiprocessors;
    const long fill = lround((double)n * shoal_team_threads(&engine->choice) / lanes);
    return fill < 1 ? 1 : fill < SHOAL_CUDA_STREAMS ? (int)fill : SHOAL_CUDA_STREAMS;
}

static int walk_queue(shoal_engine *engine, shoal_kernel_entry entry, shoal_cuda_part part)
{
    const int block = block_for(engine, entry, part.n);
    engine->last = shoal_kernel_entry_name(entry);
    return shoal_cuda_queue(engine, entry, part.list, part.n, block, shoal_cuda_blocks(engine, entry, block, part.n),
                            part.stream);
}

/* Queue the kernels that take a part of the walkers through both legs. */
static int walk_legs(shoal_engine *engine, shoal_cuda_part part)
{
    static const shoal_kernel_entry entries[] = {SHOAL_WALKER_BEGIN, SHOAL_PREPARE, SHOAL_OBSERVE};
    int result = 0;
    for (int leg = 0; leg < SHOAL_LEGS; leg++) {
        engine->args.sights = engine->walk_host.leg[leg];
        engine->args.walk_leg = leg;
        const int n_entries = engine->walk_host.keplerian ? 1 : SHOAL_COUNT(entries);
        for (int i = 0; i < n_entries && result == 0 && engine->args.sights.n_times > 0; i++)
            result = walk_queue(engine, entries[i], part);
    }
    return result ? result : walk_queue(engine, SHOAL_WALKER_END, part);
}

/* Where the device keeps predictions, those of system 0: `room`, or nowhere. */
static int walk_predicts(shoal_engine *engine, device_pointer room)
{
    engine->walk_host.predicted = (double *)(uintptr_t)room;
    return engine->driver.to_device_later(engine->walk, &engine->walk_host, sizeof engine->walk_host, engine->work);
}

static device_pointer address(const double *array)
{
    return (uintptr_t)array;
}

static shoal_status cuda_walk(shoal_engine *engine, const int *list, long n, const double *theta, double *lnl,
                              double *predicted)
{
    struct driver *driver = &engine->driver;
    const shoal_walk *walk = &engine->walk_host;
    const size_t first = (size_t)list[0], n_data = (size_t)walk->n_data, size = (size_t)n * n_data * sizeof *predicted,
                 vector = (size_t)walk->n_parameters * sizeof *theta;
    device_pointer room = 0;
    shoal_status status = cuda_enter(engine);
    if (status != SHOAL_OK)
        return status;
    engine->args.slice_steps = SHOAL_ALL_STEPS;
    memcpy(engine->list_host[0], list, (size_t)n * sizeof *list);
    int result = driver->to_device_later(engine->list[0], engine->list_host[0], (size_t)n * sizeof *list, engine->work);
    if (result == 0 && predicted)
        result = driver->allocate(&room, size);
    if (result == 0 && predicted)
        result = walk_predicts(engine, room - first * n_data * sizeof *predicted);
    const int n_parts = walk_parts(engine, n);
    if (result == 0)
        result = shoal_cuda_join_parts(engine, n_parts, true);
    for (int p = 0; p < n_parts && result == 0; p++) {
        const shoal_cuda_part part = shoal_cuda_part_of(engine, engine->list[0], n, n_parts, p);
        const size_t at = (first + (size_t)part.first) * vector;
        result = driver->copy_later(address(walk->theta) + at, address(theta) + at, (size_t)part.n * vector,
                                    part.stream);
        if (result == 0)
            result = walk_legs(engine, part);
    }
    if (result == 0)
        result = shoal_cuda_join_parts(engine, n_parts, false);
    if (result == 0)
        result = driver->copy_later(address(lnl + first), address(walk->lnl + first), (size_t)n * sizeof *lnl,
                                    engine->work);
    if (result == 0 && predicted)
        result = driver->to_host_later(predicted + first * n_data, room, size, engine->work);
    if (predicted) {
        const int last = walk_predicts(engine, 0);
        result = result ? result : last;
    }
    status = result ? shoal_cuda_fail(engine, result, "taking walkers to ln L") : work_finish(engine);
    if (room)
        (void)driver->release(room);
    cuda_leave(engine);
    return status;
}

/* More threads than LANES_A_MULTIPROCESSOR hardly make a multiprocessor faster. */
static long cuda_width(const shoal_engine *engine, int *group)
{
    const int threads = shoal_team_threads(&engine->choice); /* of a system */
    /* where systems are set aside, each round gathers its systems anew, and none steps with fixed neighbours */
    *group = threads < 32 && !engine->choice.propagator->sets_aside ? 32 / threads : 1;
    return (long)engine->gpu.n_multiprocessors * LANES_A_MULTIPROCESSOR / threads;
}

static const char *cuda_device(const shoal_engine *engine)
{
    return engine->gpu.name;
}

static const char *cuda_kernel_file(const shoal_engine *engine)
{
    return engine->kernel_file;
}

/* Compile the choices at the same time, into the cache. One that fails is reported when it is used. */
static void cuda_compile(shoal_engine *engine, const shoal_kernel_choice *choices, int n)
{
#pragma omp parallel for schedule(dynamic) num_threads(shoal_omp_threads(n))
    for (int i = 0; i < n; i++) {
        shoal_context own = *engine->context; /* messages are not shared */
        shoal_cubin cubin;
        if (*engine->kernel_file && shoal_jit_compile(&own, &choices[i], 1 << SHOAL_INTEGRATE, engine->gpu.arch,
                                                      engine->version, &cubin) == SHOAL_OK)
            shoal_cubin_release(&cubin);
    }
}

shoal_status shoal_engine_gpu_open(shoal_context *context, int device)
{
    struct driver driver;
    struct gpu_device gpu;
    const char *missing = shoal_driver_open(&driver);
    return missing ? shoal_fail(context, SHOAL_E_UNSUPPORTED, "%s", missing)
                   : shoal_gpu_open(&driver, context, device, &gpu);
}

void shoal_engine_gpu_close(int device)
{
    struct driver driver;
    int handle;
    if (!shoal_driver_open(&driver) && driver.device(&handle, device) == 0)
        (void)driver.context_release(handle);
}

shoal_status shoal_engine_gpu_finish(shoal_context *context, int device, void *stream)
{
    struct driver driver;
    struct gpu_device gpu;
    const char *missing = shoal_driver_open(&driver);
    const shoal_status status = missing ? shoal_fail(context, SHOAL_E_UNSUPPORTED, "%s", missing)
                                        : shoal_gpu_open(&driver, context, device, &gpu);
    if (status)
        return status;
    int result = driver.context_push(gpu.cuda);
    if (result == 0) {
        result = driver.stream_synchronize(stream);
        (void)driver.context_pop(&gpu.cuda);
    }
    (void)driver.context_release(gpu.device);
    return result ? shoal_driver_fail(&driver, context, result, "waiting for a stream") : SHOAL_OK;
}

void shoal_engine_gpu_hold(shoal_engine *gpu, long first, long n)
{
    gpu->first_held = first;
    gpu->n_held = n;
}

const shoal_engine_type shoal_engine_gpu = {
    .name = "gpu",
    .missing = shoal_cuda_missing,
    .create = cuda_create,
    .destroy = cuda_destroy,
    .upload = cuda_upload,
    .download = cuda_download,
    .send = cuda_send,
    .launch = cuda_launch,
    .observe = cuda_observe,
    .walk_with = cuda_walk_with,
    .walk = cuda_walk,
    .fetch = cuda_fetch,
    .fetched = cuda_fetched,
    .wait = cuda_wait,
    .width = cuda_width,
    .device = cuda_device,
    .kernel_file = cuda_kernel_file,
    .compile = cuda_compile,
};

size_t shoal_engine_cuda_shared(int device)
{
    struct driver driver;
    int handle, bytes = 0;
    if (shoal_driver_open(&driver) || driver.device(&handle, device) != 0 ||
        driver.device_attribute(&bytes, ATTRIBUTE_SHARED, handle) != 0)
        return 0;
    return (size_t)bytes;
}

shoal_devices shoal_engine_cuda_devices(bool alike)
{
    shoal_devices found = {0};
    struct driver driver;
    struct gpu_device first, gpu;
    int n = 0;
    if (shoal_driver_open(&driver) || driver.device_count(&n) != 0)
        return found;
    for (int i = 0; i < n && found.n < SHOAL_MOST_DEVICES; i++)
        if (shoal_gpu_describe(&driver, i, i == 0 ? &first : &gpu) == 0 &&
            (!alike || i == 0 ||
             (strcmp(gpu.name, first.name) == 0 && gpu.n_multiprocessors == first.n_multiprocessors)))
            found.which[found.n++] = i;
    return found;
}

/* ---- information ------------------------------------------------------------------------------------------------- */

void shoal_engine_cuda_info(FILE *out)
{
    struct driver driver;
    const char *missing = shoal_driver_open(&driver);
    if (missing) {
        fprintf(out, "cuda: not available: %s\n", missing);
    } else {
        int version = 0, n = 0;
        (void)driver.version(&version);
        (void)driver.device_count(&n);
        fprintf(out, "cuda: driver for CUDA %d.%d, %d device%s\n", version / 1000, version % 1000 / 10, n,
                n == 1 ? "" : "s");
        for (int i = 0; i < n; i++) {
            struct gpu_device gpu;
            if (shoal_gpu_describe(&driver, i, &gpu) != 0)
                continue;
            fprintf(out, "  device %d: %s, %.1f GiB, %d multiprocessors, sm_%d\n", i, gpu.name,
                    (double)gpu.memory / 1073741824.0, gpu.n_multiprocessors, gpu.arch);
        }
    }
    shoal_jit_info(out);
}
