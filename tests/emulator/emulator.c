/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * emulator.c: a CUDA driver library without a GPU, for tests: it has the functions that Shoal asks for, and runs
 * kernels on the CPU, exactly and slowly. The device says that it is newer than every compiler, so that NVRTC hands
 * over PTX; `translate` makes C of that, gcc a library.
 *
 * Each thread of a block is a coroutine, entered as a context and then by jumps (swapcontext calls the kernel each
 * time). It runs until it meets the others: the threads of a warp go on when all those of the mask that have not ended
 * are there, those of a block when all are. Whatever cannot end stops the test with a word about where the threads
 * are. What an order of threads hides (a missing barrier) is not found here; wrong bits, wrong masks and deadlocks are.
 *
 * Memory starts as all ones, that is NaN. Copies and kernels are done when their call returns.
 *
 * EMULATOR_DEVICES=N: so many devices. EMULATOR_FAIL=N: the N-th allocation fails. The library is built, and its folder
 * named, by `run`.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "thread.h"

/* the most shared memory that a module's kernels declare together */
enum { WARP = 32, STACK = 1 << 20, STATIC = 64 << 10 };
enum { RUNS, AT_WARP, AT_BLOCK, ENDED };

/* A thread as its scheduler sees it. */
typedef struct coroutine {
    thread t; /* first: kernels hand it back */
    jmp_buf context;
    char *stack;
    int state;
    int entered;
    const char *how; /* what it waits for, of whom, with what */
    uint32_t mask, value, from, result;
    int p;
} coroutine;

static __thread coroutine *threads;
static __thread int n_threads, room;
static __thread jmp_buf scheduler;
static __thread void (*kernel)(thread *);

/* Back to the scheduler, until it goes on with this one. */
static __attribute__((noinline)) void leave(coroutine *c)
{
    if (!_setjmp(c->context))
        _longjmp(scheduler, 1);
}

static void wait_for_others(coroutine *c, int state, const char *how)
{
    c->how = how;
    c->state = state;
    leave(c);
}

uint32_t warp_vote(thread *t, const char *how, int p, uint32_t mask)
{
    coroutine *c = (coroutine *)t;
    c->p = p != 0;
    c->mask = mask;
    if (mask == 1u << t->tid % WARP) /* alone */
        return *how == 'b' ? (p ? mask : 0) : *how == 'u' || p;
    wait_for_others(c, AT_WARP, how);
    return c->result;
}

uint32_t warp_shuffle(thread *t, const char *how, uint32_t value, uint32_t from, uint32_t mask, int *inside)
{
    coroutine *c = (coroutine *)t;
    const int lane = (int)(t->tid % WARP), other = (int)from;
    const int source = *how == 'i' ? other : *how == 'b' ? lane ^ other : *how == 'u' ? lane - other : lane + other;
    *inside = source >= 0 && source < WARP;
    c->value = value;
    c->from = (uint32_t)(*inside ? source : lane);
    c->mask = mask;
    wait_for_others(c, AT_WARP, "shuffle");
    return c->result;
}

int block_vote(thread *t, const char *how, int p)
{
    coroutine *c = (coroutine *)t;
    c->p = p != 0;
    wait_for_others(c, AT_BLOCK, how);
    return (int)c->result;
}

static void start(unsigned lower, unsigned upper)
{
    coroutine *c = (coroutine *)((uintptr_t)upper << 32 | lower);
    kernel(&c->t);
    c->state = ENDED;
    _longjmp(scheduler, 1);
}

/* The thread runs until it waits for others or ends. */
static __attribute__((noinline)) void run_thread(coroutine *c)
{
    if (_setjmp(scheduler))
        return;
    if (c->entered)
        _longjmp(c->context, 1);
    ucontext_t context;
    c->entered = 1;
    getcontext(&context);
    context.uc_stack.ss_sp = c->stack;
    context.uc_stack.ss_size = STACK;
    makecontext(&context, (void (*)(void))start, 2, (unsigned)(uintptr_t)c, (unsigned)((uintptr_t)c >> 32));
    setcontext(&context);
}

static void give_up(const char *why)
{
    fprintf(stderr, "emulator: %s;", why);
    for (int i = 0; i < n_threads; i++)
        if (threads[i].state != ENDED)
            fprintf(stderr, " thread %d at '%s' of %08x", i, threads[i].how, threads[i].mask);
    fprintf(stderr, "\n");
    abort();
}

/* The threads of a warp that thread `first` waits for, if they are all there: a mask; else 0. */
static uint32_t gathered(const coroutine *warp, int n, int first)
{
    uint32_t there = 0;
    for (int i = 0; i < n; i++) {
        if (!(warp[first].mask >> i & 1) || warp[i].state == ENDED)
            continue;
        if (warp[i].state != AT_WARP || warp[i].mask != warp[first].mask)
            return 0;
        if (strcmp(warp[i].how, warp[first].how) != 0)
            give_up("threads of a warp meet at different instructions");
        there |= 1u << i;
    }
    return there;
}

static int meet_in_warp(coroutine *warp, int n)
{
    int met = 0;
    for (int first = 0; first < n; first++) {
        const uint32_t there = warp[first].state == AT_WARP ? gathered(warp, n, first) : 0;
        uint32_t ballot = 0;
        for (int i = 0; i < n; i++)
            ballot |= (there >> i & 1 && warp[i].p) ? 1u << i : 0;
        for (int i = 0; i < n; i++) {
            coroutine *c = &warp[i];
            if (!(there >> i & 1))
                continue;
            if (strcmp(c->how, "shuffle") == 0)
                c->result = there >> c->from & 1 ? warp[c->from].value : c->value;
            else if (strcmp(c->how, "ballot") == 0)
                c->result = ballot;
            else
                c->result = *c->how == 'u'     ? ballot == 0 || ballot == there
                            : c->how[1] == 'l' ? ballot == there
                                               : ballot != 0;
        }
        for (int i = 0; i < n; i++)
            if (there >> i & 1)
                warp[i].state = RUNS;
        met |= there != 0;
    }
    return met;
}

static int meet_in_block(int n_left)
{
    int n = 0, n_true = 0;
    for (int i = 0; i < n_threads; i++) {
        n += threads[i].state == AT_BLOCK;
        n_true += threads[i].state == AT_BLOCK && threads[i].p;
    }
    if (n == 0 || n < n_left)
        return 0;
    for (int i = 0; i < n_threads; i++)
        if (threads[i].state == AT_BLOCK) {
            threads[i].result = (uint32_t)(*threads[i].how == 'p'   ? n_true
                                           : *threads[i].how == 'a' ? n_true == n
                                                                    : n_true > 0);
            threads[i].state = RUNS;
        }
    return 1;
}

static void run_block(void)
{
    for (int n_left = n_threads; n_left > 0;) {
        int met = 0;
        for (int i = 0; i < n_threads; i++)
            if (threads[i].state == RUNS) {
                run_thread(&threads[i]);
                n_left -= threads[i].state == ENDED;
            }
        for (int i = 0; i < n_threads; i += WARP)
            met |= meet_in_warp(&threads[i], n_threads - i < WARP ? n_threads - i : WARP);
        if (!met && n_left > 0 && !meet_in_block(n_left))
            give_up("threads wait for each other for ever");
    }
}

/* ---- the driver's functions that do something -------------------------------------------------------------------- */

typedef unsigned long long device_pointer;
enum { OUT_OF_MEMORY = 2, FAILED = 999 };

/* long: CUDA's driver has it so */
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned n_shared, void *stream, void **arguments, void **extra)
{
    if (grid_x == 0 || grid_y == 0)
        return 1;
    n_shared = (n_shared + STATIC + 1023) / 512 * 512;
    unsigned char *shared = aligned_alloc(512, n_shared);
    (void)grid_z, (void)block_y, (void)block_z, (void)stream, (void)extra;
    if (room < (int)block_x) {
        threads = realloc(threads, block_x * sizeof *threads);
        for (; room < (int)block_x; room++)
            threads[room].stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                                       -1, 0);
    }
    n_threads = (int)block_x;
    memcpy(&kernel, &function, sizeof kernel);
    for (unsigned block = 0; block < grid_x * grid_y; block++) {
        memset(shared, 0xff, n_shared);
        for (unsigned i = 0; i < block_x; i++) {
            coroutine *c = &threads[i];
            *c = (coroutine){.t = {i, block_x, block % grid_x, block / grid_x, grid_x, grid_y, shared, arguments},
                             .stack = c->stack};
        }
        run_block();
    }
    free(shared);
    return 0;
}

/* One library for each text, kept in the emulator's folder under its hash. */
static int load(void **module, const void *image)
{
    const char *folder = getenv("EMULATOR"), *text = image;
    char base[512], command[4096];
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    snprintf(base, sizeof base, "%s/%016llx", folder, (unsigned long long)hash);
    snprintf(command, sizeof command, "%s.so", base);
    if (access(command, R_OK) != 0) {
        snprintf(command, sizeof command, "%s.%d.ptx", base, (int)getpid());
        FILE *file = fopen(command, "w");
        if (!file || fputs(text, file) < 0 || fclose(file) != 0)
            return FAILED;
        snprintf(command, sizeof command,
                 "b=%s.%d; \"$EMULATOR_SOURCE/translate\" $b.ptx > $b.c && gcc -O1 -march=native -ffp-contract=off -w "
                 "-shared -fPIC "
                 "-I\"$EMULATOR_SOURCE\" -o $b.so $b.c \"$EMULATOR/libcuda.so.1\" && mv $b.so %s.so && rm $b.ptx $b.c",
                 base, (int)getpid(), base);
        if (system(command) != 0)
            return FAILED;
    }
    snprintf(command, sizeof command, "%s.so", base);
    *module = dlopen(command, RTLD_NOW | RTLD_LOCAL);
    return *module ? 0 : FAILED;
}

/* Threads of several devices ask for the same text. */
int cuModuleLoadData(void **module, const void *image)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    const int result = load(module, image);
    pthread_mutex_unlock(&lock);
    return result;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    char symbol[256];
    snprintf(symbol, sizeof symbol, "entry_%s", name);
    *function = dlsym(module, symbol);
    return *function ? 0 : FAILED;
}

static int allocation_fails(void)
{
    static int n;
    const char *which = getenv("EMULATOR_FAIL");
    return which && __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) == atoi(which);
}

int cuMemAlloc_v2(device_pointer *pointer, size_t size)
{
    if (allocation_fails())
        return OUT_OF_MEMORY;
    void *memory = aligned_alloc(256, (size + 511) / 256 * 256);
    *pointer = (uintptr_t)memory;
    return memory ? memset(memory, 0xff, size), 0 : FAILED;
}

int cuMemHostAlloc(void **pointer, size_t size, unsigned flags)
{
    (void)flags;
    if (allocation_fails())
        return OUT_OF_MEMORY;
    *pointer = malloc(size + 1);
    return *pointer ? 0 : FAILED;
}

static void *at(device_pointer pointer)
{
    return (void *)(uintptr_t)pointer;
}
int cuMemFree_v2(device_pointer p)
{
    return free(at(p)), 0;
}
int cuMemFreeHost(void *p)
{
    return free(p), 0;
}
int cuMemsetD8_v2(device_pointer p, unsigned char value, size_t size)
{
    return memset(at(p), value, size), 0;
}
int cuMemsetD8Async(device_pointer p, unsigned char value, size_t size, void *stream)
{
    return (void)stream, memset(at(p), value, size), 0;
}
int cuMemcpyHtoD_v2(device_pointer to, const void *from, size_t size)
{
    return memcpy(at(to), from, size), 0;
}
int cuMemcpyDtoH_v2(void *to, device_pointer from, size_t size)
{
    return memcpy(to, at(from), size), 0;
}
int cuMemcpyHtoDAsync_v2(device_pointer to, const void *from, size_t size, void *stream)
{
    return (void)stream, memcpy(at(to), from, size), 0;
}
int cuMemcpyDtoHAsync_v2(void *to, device_pointer from, size_t size, void *stream)
{
    return (void)stream, memcpy(to, at(from), size), 0;
}
int cuMemcpyAsync(device_pointer to, device_pointer from, size_t size, void *stream)
{
    return (void)stream, memcpy(at(to), at(from), size), 0;
}

int cuDeviceGetCount(int *n)
{
    const char *devices = getenv("EMULATOR_DEVICES");
    return *n = devices ? atoi(devices) : 1, 0;
}

int cuDeviceGetName(char *name, int size, int device)
{
    return (void)device, snprintf(name, (size_t)size, "emulator"), 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    /* major version, multiprocessors, kHz */
    *value = attribute == 75 ? 99 : attribute == 16 ? 2 : attribute == 13 ? 1000000 : 0;
    return 0;
}

int cuEventCreate(void **event, unsigned flags)
{
    return (void)flags, *event = calloc(1, sizeof(struct timespec)), *event ? 0 : FAILED;
}
int cuEventDestroy_v2(void *event)
{
    return free(event), 0;
}
int cuEventRecord(void *event, void *stream)
{
    return (void)stream, clock_gettime(CLOCK_MONOTONIC, event);
}
int cuEventElapsedTime(float *milliseconds, void *from, void *to)
{
    const struct timespec *a = from, *b = to;
    *milliseconds = (float)(1e3 * (double)(b->tv_sec - a->tv_sec) + 1e-6 * (double)(b->tv_nsec - a->tv_nsec));
    return 0;
}

/* ---- those that only answer -------------------------------------------------------------------------------------- */

int cuInit(unsigned flags)
{
    return (void)flags, 0;
}
int cuDriverGetVersion(int *version)
{
    return *version = 13000, 0;
}
int cuGetErrorName(int result, const char **name)
{
    return *name = result == OUT_OF_MEMORY ? "OUT_OF_MEMORY" : "EMULATOR", 0;
}
int cuGetErrorString(int result, const char **text)
{
    return *text = result == OUT_OF_MEMORY ? "out of memory" : "what the emulator could not do stands above", 0;
}
int cuDeviceGet(int *device, int index)
{
    return *device = index, 0;
}
int cuDeviceTotalMem_v2(size_t *size, int device)
{
    return (void)device, *size = (size_t)4 << 30, 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    return (void)device, *context = context, 0;
}
int cuDevicePrimaryCtxRelease_v2(int device)
{
    return (void)device, 0;
}
int cuCtxPushCurrent_v2(void *context)
{
    return (void)context, 0;
}
int cuCtxPopCurrent_v2(void **context)
{
    return *context = context, 0;
}
int cuCtxSynchronize(void)
{
    return 0;
}
int cuMemGetInfo_v2(size_t *available, size_t *total)
{
    return *available = *total = (size_t)4 << 30, 0;
}
int cuModuleUnload(void *module)
{
    return (void)module, 0;
}
int cuMemHostRegister_v2(void *pointer, size_t size, unsigned flags)
{
    return (void)pointer, (void)size, (void)flags, FAILED;
}
int cuMemHostUnregister(void *pointer)
{
    return (void)pointer, 0;
}
int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    return (void)attribute, (void)function, *value = 0, 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value)
{
    return (void)function, (void)attribute, (void)value, 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *function, int block, size_t shared)
{
    return (void)function, (void)block, (void)shared, *n = 2, 0;
}
int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    return (void)flags, (void)priority, *stream = stream, 0;
}
int cuStreamDestroy_v2(void *stream)
{
    return (void)stream, 0;
}
int cuStreamSynchronize(void *stream)
{
    return (void)stream, 0;
}
int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    return (void)stream, (void)event, (void)flags, 0;
}
int cuEventSynchronize(void *event)
{
    return (void)event, 0;
}
int cuEventQuery(void *event)
{
    return (void)event, 0;
}
