/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * engine_cuda.c: the engine that runs the kernels on an NVIDIA GPU, a thread or a team of threads (work.c) a system.
 *
 * Plain C11: the CUDA driver library is opened at run time, declared in cuda.h as far as it is used, so that one binary
 * runs with and without a GPU. Kernels come from jit.c. The five arrays of shoal_kernel_args and the index lists live
 * on the device; the plan says when an array moves. Large host arrays are page-locked where that succeeds: copies are
 * faster then, and run beside kernels.
 *
 * Kernels and the copies they need go through one stream, in order; what is fetched, through another one, beside the
 * kernels that follow.
 *
 * Propagators that park systems (integrate.kern.h) make a slice in rounds of some steps, one after the other, each of
 * those systems that are ready for it. Beside them, in streams of their own, launches of a second kernel go on with
 * what is in the queue of parked systems, and end where there is no more of it, so that no kernel waits for another. A
 * round's end is a loss for it loads and stores all systems, its middle for lanes of parked systems idle, so that with
 * P parked in N steps its length is best near (2 c N / P)^(1/2), c the cost of a round in steps. Who is parked for long
 * is handed to the host, which goes on with it beside (laggards.c).
 *
 * The device is the first one that the driver shows; CUDA_VISIBLE_DEVICES chooses another.
 */
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/cuda.h"
#include "core/engine/engine.h"

/* A kernel takes no more bytes of arguments than this on every device. */
_Static_assert(sizeof(shoal_kernel_args) <= 4096, "the arguments of a kernel");

/* ---- the driver -------------------------------------------------------------------------------------------------- */

/* The names carry the version of the interface that the declarations above are of. */
static const struct {
    const char *name;
    size_t offset;
} driver_symbols[] = {
    {"cuInit", offsetof(struct driver, init)},
    {"cuDriverGetVersion", offsetof(struct driver, version)},
    {"cuGetErrorName", offsetof(struct driver, error_name)},
    {"cuGetErrorString", offsetof(struct driver, error_string)},
    {"cuDeviceGetCount", offsetof(struct driver, device_count)},
    {"cuDeviceGet", offsetof(struct driver, device)},
    {"cuDeviceGetName", offsetof(struct driver, device_name)},
    {"cuDeviceTotalMem_v2", offsetof(struct driver, device_memory)},
    {"cuDeviceGetAttribute", offsetof(struct driver, device_attribute)},
    {"cuDevicePrimaryCtxRetain", offsetof(struct driver, context_retain)},
    {"cuDevicePrimaryCtxRelease_v2", offsetof(struct driver, context_release)},
    {"cuCtxPushCurrent_v2", offsetof(struct driver, context_push)},
    {"cuCtxPopCurrent_v2", offsetof(struct driver, context_pop)},
    {"cuCtxSynchronize", offsetof(struct driver, synchronize)},
    {"cuMemGetInfo_v2", offsetof(struct driver, memory_free)},
    {"cuModuleLoadData", offsetof(struct driver, module_load)},
    {"cuModuleUnload", offsetof(struct driver, module_unload)},
    {"cuModuleGetFunction", offsetof(struct driver, module_function)},
    {"cuMemAlloc_v2", offsetof(struct driver, allocate)},
    {"cuMemFree_v2", offsetof(struct driver, release)},
    {"cuMemsetD8_v2", offsetof(struct driver, clear)},
    {"cuMemsetD8Async", offsetof(struct driver, clear_later)},
    {"cuMemcpyHtoD_v2", offsetof(struct driver, to_device)},
    {"cuMemcpyDtoH_v2", offsetof(struct driver, to_host)},
    {"cuMemcpyHtoDAsync_v2", offsetof(struct driver, to_device_later)},
    {"cuMemcpyDtoHAsync_v2", offsetof(struct driver, to_host_later)},
    {"cuMemHostRegister_v2", offsetof(struct driver, host_register)},
    {"cuMemHostUnregister", offsetof(struct driver, host_unregister)},
    {"cuMemHostAlloc", offsetof(struct driver, host_allocate)},
    {"cuMemFreeHost", offsetof(struct driver, host_release)},
    {"cuFuncGetAttribute", offsetof(struct driver, function_attribute)},
    {"cuFuncSetAttribute", offsetof(struct driver, function_set)},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", offsetof(struct driver, occupancy)},
    {"cuStreamCreateWithPriority", offsetof(struct driver, stream_create)},
    {"cuStreamDestroy_v2", offsetof(struct driver, stream_destroy)},
    {"cuStreamSynchronize", offsetof(struct driver, stream_synchronize)},
    {"cuStreamWaitEvent", offsetof(struct driver, stream_wait)},
    {"cuEventCreate", offsetof(struct driver, event_create)},
    {"cuEventDestroy_v2", offsetof(struct driver, event_destroy)},
    {"cuEventRecord", offsetof(struct driver, event_record)},
    {"cuEventSynchronize", offsetof(struct driver, event_synchronize)},
    {"cuEventQuery", offsetof(struct driver, event_query)},
    {"cuEventElapsedTime", offsetof(struct driver, event_elapsed)},
    {"cuLaunchKernel", offsetof(struct driver, launch)},
};

const char *shoal_driver_open(struct driver *driver)
{
    static const char *const names[] = {"libcuda.so.1", "libcuda.so"};
    void *library = NULL;
    for (int i = 0; i < SHOAL_COUNT(names) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return "no NVIDIA driver (libcuda.so.1) on this machine";
    bool complete = true;
    for (int i = 0; i < SHOAL_COUNT(driver_symbols); i++) {
        void *symbol = dlsym(library, driver_symbols[i].name);
        complete = complete && symbol;
        memcpy((char *)driver + driver_symbols[i].offset, &symbol, sizeof symbol);
    }
    dlclose(library);
    if (!complete)
        return "the NVIDIA driver (libcuda.so.1) is too old: it needs CUDA 11 or newer";
    int n = 0;
    if (driver->init(0) != 0 || driver->device_count(&n) != 0 || n < 1)
        return "no CUDA device";
    return NULL;
}

static const char *cuda_missing(void)
{
    struct driver driver;
    const char *missing = shoal_driver_open(&driver);
    return missing ? missing : shoal_jit_missing();
}

/* ---- the engine -------------------------------------------------------------------------------------------------- */

/* A slice has a fourth more rounds than its steps ask for: systems that come late get as far as the others have to
 * go. */
enum { MOST_ROUNDS = 128, MORE_ROUNDS = 4, FIRST_ROUND = 64, LEAST_ROUND = 16, MOST_ROUND = 1024, ROUND_COST = 4 };
/* Parts of the systems whose rounds are beside each other, so that the last blocks of one leave no multiprocessor
 * idle; launches beside them of what goes on with parked systems, and the share of the schedulers, of which a
 * multiprocessor has four, that each has a warp for. Streams beyond eight would share the device's queues. */
enum { PARTS = 2, CARES = 3, SCHEDULERS = 4, CARE_SHARE = 16 };
/* Steps at least of a system that is parked, where the host takes over nobody; turns of one until it does. */
enum { LEAST_VISIT = 64, LONG_TURNS = 1024 };
/* Pieces of a slice of what does not park, and the steps of one: the last blocks of the last pieces alone leave
 * multiprocessors idle. */
enum { MOST_PIECES = 32, LEAST_PIECE = 64 };
enum { N_ARRAYS = 5, N_LISTS = 2, LANES_A_MULTIPROCESSOR = 256, FEW_BLOCKS = 4, SMALL_BLOCK = 32 };

/* Of the queue; the systems in each round of each part. */
#define COUNTS_SIZE ((SHOAL_QUEUE_COUNTS + PARTS * (MOST_ROUNDS + MOST_ROUNDS / MORE_ROUNDS)) * sizeof(int))

/* One of the arrays of shoal_kernel_args. */
struct array {
    const char *name;
    double *host; /* of the first system of the range, as `device` */
    device_pointer device;
    size_t offset; /* bytes of the chunks before, which are not on the device */
    size_t size;   /* bytes */
    bool locked;   /* page-locked by us */
};

struct shoal_engine {
    shoal_context *context;
    struct driver driver;
    int device;
    cuda_context cuda; /* the device's primary context, retained */
    shoal_kernel_choice choice;
    int arch, version; /* of the device and of the driver */
    /* each entry's, NULL = not loaded; shared ones stand at their first entry */
    cuda_module module[SHOAL_KERNEL_ENTRIES];
    cuda_function function[SHOAL_KERNEL_ENTRIES];
    struct array array[N_ARRAYS]; /* in the order of the SHOAL_ARRAY_ bits */
    /* kernels and what they need; what is fetched beside them */
    cuda_stream work, fetches;
    cuda_event began, ended; /* of the last slice */
    /* of a propagator that parks: what goes on with parked systems */
    cuda_stream part[PARTS], care[CARES]; /* the first part's is `work` */
    cuda_event passed;                    /* one after the other, what a stream waits for */
    device_pointer places, counts;        /* of their queue, and how many systems each round of the last slice had */
    int *counts_host;                     /* the same, page-locked */
    device_pointer ready;                 /* the systems of a round */
    int n_lists;                          /* of rounds in the last slice, of all parts */
    double round;                         /* steps of a system in one */
    shoal_laggards *laggards;             /* systems of the host's, NULL = there are none */
    double *table;                        /* of their states, page-locked, as all that follows */
    int *handed;                          /* as shoal_laggards_table has them */
    int *column_ids;                      /* [room] whose the columns are */
    cuda_event brought;                   /* those that it has from the beginning are there */
    bool sharing, waits;                  /* a slice goes on; at its end the GPU waits for the host */
    bool returning;                       /* states are on their way back */
    double host_seconds;                  /* of the host in the last slice */
    bool timed, fetching;                 /* there was one; fetches are on their way */
    device_pointer list[N_LISTS];         /* of the launches under way, in turns */
    int *list_host[N_LISTS];              /* the same, page-locked */
    int n_queued;                         /* launches since the last wait that have a list, at most N_LISTS */
    const char *last;                     /* the last kernel launched */
    char name[128];                       /* of the device */
    char kernel_file[600];                /* of SHOAL_INTEGRATE in the cache */
    shoal_engine_range range;
    int n_multiprocessors;
    int block[SHOAL_KERNEL_ENTRIES];     /* threads of a block */
    size_t shared[SHOAL_KERNEL_ENTRIES]; /* and its bytes of shared memory */
    shoal_kernel_args args;              /* with device pointers */
};

/* Store the message of a failed driver call. */
static shoal_status cuda_fail(shoal_engine *engine, int result, const char *what)
{
    const char *name = NULL, *text = NULL;
    if (engine->driver.error_name(result, &name) != 0 || !name)
        name = "an unknown CUDA error";
    if (engine->driver.error_string(result, &text) != 0 || !text)
        text = "no description";
    return shoal_fail(engine->context, SHOAL_E_DEVICE, "%s failed: %s (%d): %s", what, name, result, text);
}

/* Make the engine's device current for this thread; every entry of the engine is between enter and leave, so that a
 * caller who uses CUDA for other things finds his own context again. */
static shoal_status cuda_enter(shoal_engine *engine)
{
    int result = engine->driver.context_push(engine->cuda);
    return result ? cuda_fail(engine, result, "switching to the GPU") : SHOAL_OK;
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
    } shape[N_ARRAYS] = {
        {"bodies", args->bodies, n * SHOAL_QUANTITIES},
        {"systems", args->systems, SHOAL_SYS_FIELDS},
        {"native", args->native, shoal_native_slots(choice->propagator, args->n_moved)},
        {"watch", args->watch, (size_t)args->n_watch},
        {"snapshot", args->snapshot, n * 6},
    };
    for (int i = 0; i < N_ARRAYS; i++) {
        engine->array[i].name = shape[i].name;
        const size_t doubles = shape[i].host ? shape[i].n_slots * SHOAL_CHUNK : 0; /* of a chunk */
        engine->array[i].host = shape[i].host ? shape[i].host + first_chunk * doubles : NULL;
        engine->array[i].offset = first_chunk * doubles * sizeof(double);
        engine->array[i].size = n_chunks * doubles * sizeof(double);
    }
}

/* Page-lock the large host arrays, which shoal_allocate put into pages of their own: faster copies. A refusal is no
 * error. */
static void arrays_lock(shoal_engine *engine)
{
    for (int i = 0; i < N_ARRAYS; i++) {
        struct array *array = &engine->array[i];
        array->locked = array->size >= SHOAL_PAGE_LOCKED &&
                        engine->driver.host_register(array->host, array->size, 0) == 0;
    }
}

/* Page-locked memory for what the host and the GPU tell each other of the host's systems. */
static int table_allocate(shoal_engine *engine)
{
    struct driver *driver = &engine->driver;
    const size_t room = (size_t)shoal_laggards_room(engine->laggards),
                 rows = (size_t)shoal_laggards_rows(engine->laggards);
    int result = driver->host_allocate((void **)&engine->table, rows * room * sizeof *engine->table, 0);
    if (result == 0)
        result = driver->host_allocate((void **)&engine->handed, room * sizeof *engine->handed, 0);
    if (result == 0)
        result = driver->host_allocate((void **)&engine->column_ids, room * sizeof *engine->column_ids, 0);
    if (result == 0)
        shoal_laggards_table(engine->laggards, engine->table, engine->handed);
    return result;
}

/* Device memory for the arrays and the list, zeroed: padding lanes are read by nobody, but a tool would complain. */
static shoal_status arrays_allocate(shoal_engine *engine)
{
    struct driver *driver = &engine->driver;
    const size_t list_size = (size_t)engine->range.n_systems * sizeof(int);
    const bool parks = engine->choice.propagator->parks;
    size_t total = (N_LISTS + (parks ? 2 : 0)) * list_size;
    int result = 0;
    for (int i = 0; i < N_ARRAYS; i++)
        total += engine->array[i].size;
    for (int i = 0; i < N_LISTS && result == 0; i++) {
        result = driver->allocate(&engine->list[i], list_size);
        if (result == 0)
            result = driver->host_allocate((void **)&engine->list_host[i], list_size, 0);
    }
    if (result == 0 && parks)
        result = driver->allocate(&engine->places, list_size);
    if (result == 0 && parks)
        result = driver->clear(engine->places, 0xff, list_size);
    if (result == 0 && parks)
        result = driver->allocate(&engine->ready, list_size);
    if (result == 0 && parks)
        result = driver->allocate(&engine->counts, COUNTS_SIZE);
    if (result == 0 && parks)
        result = driver->host_allocate((void **)&engine->counts_host, COUNTS_SIZE, 0);
    if (result == 0 && engine->laggards)
        result = table_allocate(engine);
    for (int i = 0; i < N_ARRAYS && result == 0; i++) {
        struct array *array = &engine->array[i];
        if (!array->size)
            continue;
        result = driver->allocate(&array->device, array->size);
        if (result == 0)
            result = driver->clear(array->device, 0, array->size);
    }
    if (result == 0)
        result = driver->stream_synchronize(NULL); /* the streams to come do not wait for that one */
    if (result) {
        char what[160];
        size_t available = 0, all = 0;
        (void)driver->memory_free(&available, &all);
        snprintf(what, sizeof what, "allocating %.0f MiB of GPU memory for %ld systems (%.0f MiB of %.0f are free)",
                 (double)total / 1048576.0, engine->range.n_systems, (double)available / 1048576.0,
                 (double)all / 1048576.0);
        return cuda_fail(engine, result, what);
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
    if (result == 0)
        result = driver->event_create(&engine->brought, 0);
    const bool parks = engine->choice.propagator->parks;
    engine->part[0] = engine->work;
    for (int p = 1; p < PARTS && result == 0; p++)
        result = driver->stream_create(&engine->part[p], STREAM_NON_BLOCKING, 0);
    for (int c = 0; c < CARES && result == 0 && parks; c++)
        result = driver->stream_create(&engine->care[c], STREAM_NON_BLOCKING, STREAM_FIRST);
    return result ? cuda_fail(engine, result, "making streams on the GPU") : SHOAL_OK;
}

/* An array as the kernel arguments hold it: where system 0 would be, so that systems keep their numbers. */
static double *as_argument(const struct array *array)
{
    return array->device ? (double *)(uintptr_t)(array->device - array->offset) : NULL;
}

static void stream_release(const struct driver *driver, cuda_stream stream)
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
    if (old->cuda) {
        struct driver *driver = &old->driver;
        (void)driver->context_push(old->cuda);
        stream_release(driver, old->work);
        stream_release(driver, old->fetches);
        event_release(driver, old->began);
        event_release(driver, old->ended);
        event_release(driver, old->passed);
        event_release(driver, old->brought);
        for (int p = 1; p < PARTS; p++)
            stream_release(driver, old->part[p]);
        for (int c = 0; c < CARES; c++)
            stream_release(driver, old->care[c]);
        for (int i = 0; i < N_ARRAYS; i++) {
            if (old->array[i].locked)
                (void)driver->host_unregister(old->array[i].host);
            if (old->array[i].device)
                (void)driver->release(old->array[i].device);
        }
        if (old->places)
            (void)driver->release(old->places);
        if (old->ready)
            (void)driver->release(old->ready);
        if (old->counts)
            (void)driver->release(old->counts);
        if (old->counts_host)
            (void)driver->host_release(old->counts_host);
        if (old->table)
            (void)driver->host_release(old->table);
        if (old->handed)
            (void)driver->host_release(old->handed);
        if (old->column_ids)
            (void)driver->host_release(old->column_ids);
        for (int i = 0; i < N_LISTS; i++) {
            if (old->list[i])
                (void)driver->release(old->list[i]);
            if (old->list_host[i])
                (void)driver->host_release(old->list_host[i]);
        }
        for (int i = 0; i < SHOAL_KERNEL_ENTRIES; i++)
            if (old->module[i])
                (void)driver->module_unload(old->module[i]);
        cuda_leave(old);
        (void)driver->context_release(old->device);
    }
    shoal_laggards_destroy(&old->laggards);
    free(old);
}

/* Compile some entries and load them; *usage, if asked for, of SHOAL_INTEGRATE. The device's context is current. */
static shoal_status kernels_load(shoal_engine *engine, int entries, shoal_kernel_usage *usage)
{
    struct driver *driver = &engine->driver;
    cuda_module *module = &engine->module[__builtin_ctz((unsigned)entries)];
    shoal_cubin cubin;
    shoal_status status = shoal_jit_compile(engine->context, &engine->choice, entries, engine->arch, engine->version,
                                            &cubin);
    if (status != SHOAL_OK)
        return status;
    int result = driver->module_load(module, cubin.image);
    if (result) {
        *module = NULL;
        status = cuda_fail(engine, result, "loading the compiled kernel (is NVRTC newer than the driver?)");
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
            status = cuda_fail(engine, result, "finding a kernel in the compiled module");
    }
    if (usage) {
        *usage = cubin.usage[SHOAL_INTEGRATE];
        snprintf(engine->kernel_file, sizeof engine->kernel_file, "%s", cubin.file);
    }
    shoal_cubin_release(&cubin);
    return status;
}

static shoal_status cuda_create(shoal_context *context, const shoal_kernel_choice *choice,
                                const shoal_kernel_args *args, shoal_engine_range range, shoal_engine **engine,
                                char *line, size_t line_size)
{
    *engine = NULL;
    const char *missing = cuda_missing();
    if (missing)
        return shoal_fail(context, SHOAL_E_UNSUPPORTED, "%s", missing);

    shoal_engine *made = calloc(1, sizeof *made);
    if (!made)
        return shoal_fail(context, SHOAL_E_MEMORY, "no memory for the CUDA engine");
    made->context = context;
    made->range = range;
    made->args = *args;
    made->choice = *choice;
    made->round = FIRST_ROUND;
    struct driver *driver = &made->driver;
    bool entered = false;
    int major = 0, minor = 0, result;
    shoal_kernel_usage usage;
    shoal_status status = SHOAL_E_UNSUPPORTED;

    missing = shoal_driver_open(driver);
    if (missing) {
        shoal_fail(context, status, "%s", missing);
        goto fail;
    }
    if ((result = driver->version(&made->version)) != 0 ||
        (result = driver->device(&made->device, range.device)) != 0 ||
        (result = driver->device_name(made->name, sizeof made->name, made->device)) != 0 ||
        (result = driver->device_attribute(&major, ATTRIBUTE_MAJOR, made->device)) != 0 ||
        (result = driver->device_attribute(&minor, ATTRIBUTE_MINOR, made->device)) != 0 ||
        (result = driver->device_attribute(&made->n_multiprocessors, ATTRIBUTE_MULTIPROCESSORS, made->device)) != 0) {
        status = cuda_fail(made, result, "asking the driver about the GPU");
        goto fail;
    }
    made->arch = 10 * major + minor;
    if ((result = driver->context_retain(&made->cuda, made->device)) != 0) {
        made->cuda = NULL;
        status = cuda_fail(made, result, "opening the GPU");
        goto fail;
    }
    if ((status = cuda_enter(made)) != SHOAL_OK)
        goto fail;
    entered = true;
    if ((status = kernels_load(made, SHOAL_ONCE_ENTRIES, NULL)) != SHOAL_OK ||
        (status = kernels_load(made, 1 << SHOAL_INTEGRATE, &usage)) != SHOAL_OK ||
        (choice->propagator->parks && (status = kernels_load(made, SHOAL_PARKING_ENTRIES, NULL)) != SHOAL_OK))
        goto fail;
    arrays_describe(made, choice, args);
    if (choice->propagator->parks && !choice->alone)
        made->laggards = shoal_laggards_create(context, choice, args, range);
    if ((status = arrays_allocate(made)) != SHOAL_OK)
        goto fail;
    arrays_lock(made);
    if ((status = streams_create(made)) != SHOAL_OK)
        goto fail;
    made->args.bodies = as_argument(&made->array[0]);
    made->args.systems = as_argument(&made->array[1]);
    made->args.native = as_argument(&made->array[2]);
    made->args.watch = as_argument(&made->array[3]);
    made->args.snapshot = as_argument(&made->array[4]);
    made->args.of_teams = shoal_team_threads(choice) > 1;
    made->args.least_visit = made->laggards ? 0 : LEAST_VISIT;
    made->args.carried = made->table;
    made->args.handed = made->handed;
    made->args.n_columns = made->laggards ? shoal_laggards_room(made->laggards) : 0;
    made->args.long_turns = shoal_environment_number("SHOAL_LONG_TURNS", LONG_TURNS, 1, INT_MAX);
    made->args.parked = (shoal_queue){(int *)(uintptr_t)made->places, (int *)(uintptr_t)made->counts,
                                      (int)range.n_systems};

    char each[32] = "";
    if (shoal_team_each(choice) > 1)
        snprintf(each, sizeof each, "%d bodies a thread, ", shoal_team_each(choice));
    snprintf(line, line_size,
             "cuda: %s (sm_%d%d, %d multiprocessors), work model %s, %s%d systems a block of %d, %d registers, %d "
             "bytes spilled",
             made->name, major, minor, made->n_multiprocessors, shoal_model_name(choice), each,
             shoal_team_systems(choice, made->block[SHOAL_INTEGRATE]), made->block[SHOAL_INTEGRATE], usage.registers,
             usage.spill_bytes);
    if (made->laggards)
        snprintf(line + strlen(line), line_size - strlen(line), ", long encounters on %d CPU thread%s",
                 shoal_laggards_threads(made->laggards), shoal_laggards_threads(made->laggards) == 1 ? "" : "s");
    cuda_leave(made);
    *engine = made;
    return SHOAL_OK;

fail:
    if (entered)
        cuda_leave(made);
    cuda_destroy(&made);
    return status;
}

/* Threads of a block for a list of so many systems: of a few blocks for each multiprocessor some would have one more
 * than the others, so that few systems are in small ones. */
static int block_for(const shoal_engine *engine, shoal_kernel_entry entry, long n_list)
{
    const int block = engine->block[entry];
    const bool alone = engine->shared[entry] == 0 && shoal_team_threads(&engine->choice) == 1;
    return alone && n_list < (long)FEW_BLOCKS * block * engine->n_multiprocessors ? SMALL_BLOCK : block;
}

/* Queue a kernel over n_list systems of the list at `list` of the device's, for steps of args. */
static int kernel_queue(shoal_engine *engine, shoal_kernel_entry entry, device_pointer list, long n_list, int block,
                        long n_blocks, cuda_stream stream)
{
    void *arguments[] = {&engine->args};
    engine->args.list = (const int *)(uintptr_t)list;
    engine->args.n_list = n_list;
    return engine->driver.launch(engine->function[entry], (unsigned)n_blocks, 1, 1, (unsigned)block, 1, 1,
                                 (unsigned)engine->shared[entry], stream, arguments, NULL);
}

static long blocks_for(const shoal_engine *engine, shoal_kernel_entry entry, int block, long n_list)
{
    const long systems = shoal_team_is_one(&engine->choice, 1 << entry) ? block
                                                                        : shoal_team_systems(&engine->choice, block);
    return (n_list + systems - 1) / systems;
}

static shoal_status fetches_finish(shoal_engine *engine)
{
    const int result = engine->fetching ? engine->driver.stream_synchronize(engine->fetches) : 0;
    engine->fetching = false;
    return result ? cuda_fail(engine, result, "copying from the GPU") : SHOAL_OK;
}

/* ---- the host's systems ------------------------------------------------------------------------------------------ */

/* Queue the way of their states to the table, or back. */
static int carry_queue(shoal_engine *engine, bool back)
{
    int n;
    const int *list = shoal_laggards_list(engine->laggards, &n), block = engine->block[SHOAL_CARRY];
    if (n == 0)
        return 0;
    memcpy(engine->column_ids, list, (size_t)n * sizeof *list);
    engine->args.carries_back = back;
    engine->returning = back;
    return kernel_queue(engine, SHOAL_CARRY, (uintptr_t)engine->column_ids, n, block,
                        blocks_for(engine, SHOAL_CARRY, block, n), engine->work);
}

/* The systems of a slice: to sorted the GPU's, and how many they are. Queues the way of the host's. */
static int hosted_choose(shoal_engine *engine, const int *list, long *n_list, int *sorted)
{
    const int n = shoal_laggards_split(engine->laggards, list, *n_list, sorted);
    *n_list -= n;
    engine->args.first_column = n;
    engine->waits = *n_list <= n;
    engine->sharing = true;
    const int result = carry_queue(engine, false);
    return result ? result : engine->driver.event_record(engine->brought, engine->work);
}

static bool is_busy(shoal_engine *engine)
{
    return engine->driver.event_query(engine->ended) == NOT_READY;
}

/* The host does its part of the slice that goes on, if there is one. The device's context is current. */
static shoal_status host_finish(shoal_engine *engine)
{
    if (!engine->sharing)
        return SHOAL_OK;
    engine->sharing = false;
    const shoal_status status = fetches_finish(engine); /* they go to the same arrays */
    if (status != SHOAL_OK)
        return status;
    int result = engine->driver.event_synchronize(engine->brought);
    if (result == 0) {
        engine->host_seconds = shoal_laggards_advance(engine->laggards, is_busy, engine, engine->waits);
        result = carry_queue(engine, true);
    }
    return result ? cuda_fail(engine, result, "carrying systems between GPU and host") : SHOAL_OK;
}

/* ---- between the two --------------------------------------------------------------------------------------------- */

/* The length of the rounds to come, from what the last slice parked. */
static void rounds_adapt(shoal_engine *engine)
{
    const double parked = engine->counts_host[SHOAL_QUEUE_CAME];
    double tried = 0;
    for (int l = 0; l < engine->n_lists; l++)
        tried += engine->round * engine->counts_host[SHOAL_QUEUE_COUNTS + l];
    engine->round = parked > 0 ? floor(fmax(LEAST_ROUND, fmin(MOST_ROUND, sqrt(2 * ROUND_COST * tried / parked))))
                               : INFINITY;
    engine->n_lists = 0;
}

/* Until all launches are done. The device's context is current. */
static shoal_status work_finish(shoal_engine *engine)
{
    const shoal_status status = host_finish(engine);
    if (status != SHOAL_OK)
        return status;
    const int result = engine->driver.stream_synchronize(engine->work);
    engine->n_queued = 0;
    engine->returning = false;
    if (!result && engine->n_lists > 0)
        rounds_adapt(engine);
    return result ? cuda_fail(engine, result, engine->last ? engine->last : "copying to the GPU") : SHOAL_OK;
}

/* Queue copies of some arrays in a stream. */
static shoal_status copies_queue(shoal_engine *engine, int arrays, bool to_device, cuda_stream stream)
{
    for (int i = 0; i < N_ARRAYS; i++) {
        struct array *array = &engine->array[i];
        if (!(arrays >> i & 1) || !array->size)
            continue;
        int result = to_device ? engine->driver.to_device_later(array->device, array->host, array->size, stream)
                               : engine->driver.to_host_later(array->host, array->device, array->size, stream);
        if (result) {
            char what[128];
            snprintf(what, sizeof what, "copying the array '%s' (%zu bytes) %s the GPU", array->name, array->size,
                     to_device ? "to" : "from");
            return cuda_fail(engine, result, what);
        }
    }
    return SHOAL_OK;
}

/* What is queued in one stream from now on waits for what is in another one. */
static int streams_join(shoal_engine *engine, cuda_stream after, cuda_stream before)
{
    const int result = engine->driver.event_record(engine->passed, before);
    return result ? result : engine->driver.stream_wait(after, engine->passed, 0);
}

/* A list in parts that are beside each other, each in a stream of its own. */
typedef struct list_part {
    device_pointer list;
    long first, n;
    cuda_stream stream;
} list_part;

static list_part part_of(const shoal_engine *engine, device_pointer list, long n_list, int n_parts, int p)
{
    const long first = n_list * p / n_parts;
    return (list_part){list + (size_t)first * sizeof(int), first, n_list * (p + 1) / n_parts - first, engine->part[p]};
}

/* At their begin the other streams wait for the first one, at their end it for them. */
static int parts_join(shoal_engine *engine, int n_parts, bool begin)
{
    int result = 0;
    for (int p = 1; p < n_parts && result == 0; p++)
        result = begin ? streams_join(engine, engine->part[p], engine->work)
                       : streams_join(engine, engine->work, engine->part[p]);
    return result;
}

static shoal_status cuda_copy(shoal_engine *engine, int arrays, bool to_device)
{
    shoal_status status = cuda_enter(engine);
    if (status != SHOAL_OK)
        return status;
    status = fetches_finish(engine);
    if (status == SHOAL_OK)
        status = host_finish(engine);
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
    status = host_finish(engine);
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
    status = host_finish(engine);
    const int result = streams_join(engine, engine->fetches, engine->work);
    if (result)
        status = cuda_fail(engine, result, "waiting for a kernel");
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
    status = fetches_finish(engine);
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
        *seconds = fmax(1e-3 * milliseconds, engine->host_seconds);
    cuda_leave(engine);
    return status;
}

/* What goes on with parked systems, in at most n_warps warps. A few systems have small blocks, which are spread over
 * the device. */
static int careful_queue(shoal_engine *engine, device_pointer list, long n_list, long n_warps, cuda_stream stream)
{
    const int block = engine->args.n_beside < 32 ? SMALL_BLOCK : engine->block[SHOAL_CAREFUL],
              room = engine->args.n_beside * block / 32;
    const long n_blocks = (n_list + room - 1) / room, most = (32 * n_warps + block - 1) / block;
    return kernel_queue(engine, SHOAL_CAREFUL, list, n_list, block, n_blocks < most ? n_blocks : most, stream);
}

/* A round of a part of the systems, and what goes on with those that are parked then. */
static int round_queue(shoal_engine *engine, list_part part, int block, long n_care, cuda_stream care)
{
    const int gather_block = engine->block[SHOAL_GATHER];
    const double slice_steps = engine->args.slice_steps;
    engine->args.ready = (int *)(uintptr_t)engine->ready + part.first;
    engine->args.slice_steps = engine->round;
    int result = kernel_queue(engine, SHOAL_GATHER, part.list, part.n, gather_block,
                              blocks_for(engine, SHOAL_GATHER, gather_block, part.n), part.stream);
    if (result == 0)
        result = kernel_queue(engine, SHOAL_INTEGRATE, part.list, part.n, block,
                              blocks_for(engine, SHOAL_INTEGRATE, block, part.n), part.stream);
    engine->args.slice_steps = slice_steps;
    if (result == 0)
        result = streams_join(engine, care, part.stream);
    return result ? result : careful_queue(engine, part.list, part.n, n_care, care);
}

/* A slice in rounds; where systems fill the device, of parts of them beside each other, and at last what goes on
 * with parked ones has all of it. */
static int rounds_queue(shoal_engine *engine, device_pointer list, long n_list, double slice_steps, int block)
{
    struct driver *driver = &engine->driver;
    const long schedulers = SCHEDULERS * (long)engine->n_multiprocessors,
               beside = (n_list + schedulers - 1) / schedulers;
    const bool fills = beside >= 32;
    const int n_parts = fills ? PARTS : 1;
    const long n_care = fills ? (schedulers + CARE_SHARE - 1) / CARE_SHARE : schedulers; /* warps */
    const double most = fmin(slice_steps, MOST_ROUNDS * engine->round), rounds = ceil(most / fmin(engine->round, most));
    engine->round = ceil(most / rounds);
    engine->n_lists = n_parts * (int)(rounds + floor(rounds / MORE_ROUNDS));
    engine->args.slice_steps = slice_steps;
    engine->args.n_beside = fills ? 32 : (int)beside;
    engine->args.drains = 0;
    int result = driver->clear_later(engine->counts, 0, COUNTS_SIZE, engine->work);
    if (result == 0)
        result = parts_join(engine, n_parts, true);
    for (int l = 0; l < engine->n_lists && result == 0; l++) {
        engine->args.n_ready = engine->args.parked.counts + SHOAL_QUEUE_COUNTS + l;
        result = round_queue(engine, part_of(engine, list, n_list, n_parts, l % n_parts), block, n_care,
                             engine->care[l % CARES]);
    }
    if (result == 0)
        result = parts_join(engine, n_parts, false);
    engine->args.drains = fills;
    if (result == 0 && (fills || engine->laggards))
        result = driver->clear_later(engine->counts + SHOAL_QUEUE_CLOSED * sizeof(int), 1, sizeof(int), engine->work);
    if (result == 0 && fills)
        result = careful_queue(engine, list, n_list, 2 * schedulers, engine->work);
    for (int c = 0; c < CARES && result == 0; c++)
        result = streams_join(engine, engine->work, engine->care[c]);
    return result ? result : driver->to_host_later(engine->counts_host, engine->counts, COUNTS_SIZE, engine->work);
}

/* A slice in pieces, one after the other, of parts of the systems that are beside each other. */
static int pieces_queue(shoal_engine *engine, device_pointer list, long n_list, double slice_steps, int block)
{
    const int n_parts = blocks_for(engine, SHOAL_INTEGRATE, block, n_list) >= PARTS * engine->n_multiprocessors ? PARTS
                                                                                                                : 1;
    const double n_pieces = n_parts > 1 ? fmax(1, fmin(MOST_PIECES, floor(slice_steps / LEAST_PIECE))) : 1,
                 piece = ceil(slice_steps / n_pieces);
    int result = parts_join(engine, n_parts, true);
    for (double done = 0; done < slice_steps && result == 0; done += piece) {
        engine->args.slice_steps = fmin(piece, slice_steps - done);
        for (int p = 0; p < n_parts && result == 0; p++) {
            const list_part part = part_of(engine, list, n_list, n_parts, p);
            result = kernel_queue(engine, SHOAL_INTEGRATE, part.list, part.n, block,
                                  blocks_for(engine, SHOAL_INTEGRATE, block, part.n), part.stream);
        }
    }
    return result ? result : parts_join(engine, n_parts, false);
}

/* Queue a kernel and its list. The device's context is current. */
static int launch_queue(shoal_engine *engine, shoal_kernel_entry entry, const int *list, long n_list,
                        double slice_steps)
{
    struct driver *driver = &engine->driver;
    const int block = block_for(engine, entry, n_list);
    const size_t size = (size_t)n_list * sizeof *list;
    const int which = engine->n_queued++;
    const bool moves = entry == SHOAL_INTEGRATE, parks = moves && engine->choice.propagator->parks;
    int result = 0;
    if (parks && engine->laggards)
        result = hosted_choose(engine, list, &n_list, engine->list_host[which]);
    else
        memcpy(engine->list_host[which], list, size);
    engine->args.slice_steps = slice_steps;
    engine->last = shoal_kernel_entry_name(entry);
    if (result == 0)
        result = driver->to_device_later(engine->list[which], engine->list_host[which], size, engine->work);
    if (result == 0 && moves)
        result = driver->event_record(engine->began, engine->work);
    if (result == 0 && parks && n_list > 0)
        result = rounds_queue(engine, engine->list[which], n_list, slice_steps, block);
    else if (result == 0 && moves && !parks)
        result = pieces_queue(engine, engine->list[which], n_list, slice_steps, block);
    else if (result == 0 && !moves)
        result = kernel_queue(engine, entry, engine->list[which], n_list, block,
                              blocks_for(engine, entry, block, n_list), engine->work);
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
    status = host_finish(engine);
    if (status == SHOAL_OK && !engine->function[entry])
        status = kernels_load(engine, 1 << entry, NULL);
    if (status == SHOAL_OK && (engine->n_queued == N_LISTS || engine->returning))
        status = work_finish(engine);
    if (status == SHOAL_OK && entry == SHOAL_SNAPSHOT)
        status = fetches_finish(engine); /* of the snapshot before */
    if (status == SHOAL_OK) {
        const int result = launch_queue(engine, entry, list, n_list, slice_steps);
        if (result)
            status = cuda_fail(engine, result, shoal_kernel_entry_name(entry));
    }
    cuda_leave(engine);
    return status;
}

/* With as many threads on a multiprocessor, one more hardly makes it faster. */
static long cuda_width(const shoal_engine *engine, int *group)
{
    const int threads = shoal_team_threads(&engine->choice); /* of a system */
    /* parking, they are gathered all the time */
    *group = threads < 32 && !engine->choice.propagator->parks ? 32 / threads : 1;
    return (long)engine->n_multiprocessors * LANES_A_MULTIPROCESSOR / threads;
}

static const char *cuda_device(const shoal_engine *engine)
{
    return engine->name;
}

static const char *cuda_kernel_file(const shoal_engine *engine)
{
    return engine->kernel_file;
}

/* Side by side, into the cache; one that fails is told of when it is used. */
static void cuda_compile(shoal_engine *engine, const shoal_kernel_choice *choices, int n)
{
#pragma omp parallel for schedule(dynamic) num_threads(shoal_omp_threads(n))
    for (int i = 0; i < n; i++) {
        shoal_context own = *engine->context; /* messages are not shared */
        shoal_cubin cubin;
        if (*engine->kernel_file && shoal_jit_compile(&own, &choices[i], 1 << SHOAL_INTEGRATE, engine->arch,
                                                      engine->version, &cubin) == SHOAL_OK)
            shoal_cubin_release(&cubin);
    }
}

const shoal_engine_type shoal_engine_cuda = {
    .name = "cuda",
    .missing = cuda_missing,
    .create = cuda_create,
    .destroy = cuda_destroy,
    .upload = cuda_upload,
    .download = cuda_download,
    .send = cuda_send,
    .launch = cuda_launch,
    .fetch = cuda_fetch,
    .fetched = cuda_fetched,
    .wait = cuda_wait,
    .width = cuda_width,
    .device = cuda_device,
    .kernel_file = cuda_kernel_file,
    .compile = cuda_compile,
};

size_t shoal_engine_cuda_shared(void)
{
    struct driver driver;
    int device, bytes = 0;
    if (shoal_driver_open(&driver) || driver.device(&device, 0) != 0 ||
        driver.device_attribute(&bytes, ATTRIBUTE_SHARED, device) != 0)
        return 0;
    return (size_t)bytes;
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
            int device, major = 0, minor = 0, n_multiprocessors = 0;
            size_t memory = 0;
            char name[128] = "?";
            if (driver.device(&device, i) != 0)
                continue;
            (void)driver.device_name(name, sizeof name, device);
            (void)driver.device_memory(&memory, device);
            (void)driver.device_attribute(&major, ATTRIBUTE_MAJOR, device);
            (void)driver.device_attribute(&minor, ATTRIBUTE_MINOR, device);
            (void)driver.device_attribute(&n_multiprocessors, ATTRIBUTE_MULTIPROCESSORS, device);
            fprintf(out, "  device %d: %s, %.1f GiB, %d multiprocessors, sm_%d%d%s\n", i, name,
                    (double)memory / 1073741824.0, n_multiprocessors, major, minor, i == 0 ? "" : " (not used)");
        }
    }
    shoal_jit_info(out);
}
