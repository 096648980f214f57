/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * threads.c: the threads of a context, which share loops with the thread that calls.
 *
 * A loop is cut into parts, and whoever is free takes the next one: a thread that comes late, because another process
 * has its processor, finds none left, and nobody waits for it. Who waits looks for SPIN_SECONDS and sleeps then, so
 * that the processor is there for others. OpenMP's threads do neither: at the end of a loop all wait for all, for
 * milliseconds without sleep.
 *
 * `ticket` holds the number of the loop and how many of its parts nobody has taken. Who takes one lowers it by
 * compare and exchange; that fails if another loop has begun since. The loop's description stays in place until all
 * parts are finished, so that who has one may read it.
 *
 * Fork. A child has the memory of its parent and none of its threads. There, a context whose threads were started in
 * the parent has one thread, and so have the loops that OpenMP shares.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/base.h"

#define SPIN_SECONDS 50e-6              /* what it takes to wake a thread that sleeps */
#define WORKER_STACK ((size_t)32 << 20) /* for kernels of 1000 bodies; what is not used is no memory */

typedef struct worker {
    shoal_pool *pool;
    pthread_t thread;
    int number; /* from 1; the caller is 0 */
    struct worker *next;
} worker;

struct shoal_pool {
    /* of the loop that goes on */
    shoal_loop *loop;
    void *user;
    long n, grain;
    uint32_t n_parts;
    int n_threads; /* that share it */

    worker *workers;
    int n_workers;
    long forks; /* of the process, when they were started */
    bool busy, quits;
    /* each in a line of the cache of its own */
    _Alignas(64) uint64_t ticket;   /* loop << 32 | parts that nobody has taken */
    _Alignas(64) uint32_t begun;    /* loops so far */
    int n_asleep;                   /* workers */
    _Alignas(64) uint32_t finished; /* parts */
    int caller_asleep;
};

/* ---- fork -------------------------------------------------------------------------------------------------------- */

static long forks; /* between the process that loaded the library and this one */

static void count_fork(void)
{
    forks++;
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

int shoal_omp_threads(int n)
{
    return forks > 0 ? 1 : n;
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static long futex(uint32_t *word, int operation, uint32_t value)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Until a word has another value than this; who changes it wakes those who sleep. */
static void wait_for_change(uint32_t *word, uint32_t value, int *n_asleep)
{
    enum { LOOKS = 32 };
    const double began = shoal_seconds();
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
                return;
            pause_briefly();
        }
    } while (shoal_seconds() - began < SPIN_SECONDS);
    (void)__atomic_add_fetch(n_asleep, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == value)
        (void)futex(word, FUTEX_WAIT, value);
    (void)__atomic_sub_fetch(n_asleep, 1, __ATOMIC_SEQ_CST);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static void take_parts(shoal_pool *pool)
{
    uint64_t ticket = __atomic_load_n(&pool->ticket, __ATOMIC_ACQUIRE);
    while ((uint32_t)ticket > 0) {
        if (!__atomic_compare_exchange_n(&pool->ticket, &ticket, ticket - 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            continue;
        const uint32_t n_parts = pool->n_parts;
        const long first = (long)(n_parts - (uint32_t)ticket) * pool->grain;
        pool->loop(pool->user, first, first + pool->grain < pool->n ? first + pool->grain : pool->n);
        if (__atomic_add_fetch(&pool->finished, 1, __ATOMIC_SEQ_CST) == n_parts &&
            __atomic_load_n(&pool->caller_asleep, __ATOMIC_SEQ_CST) > 0)
            (void)futex(&pool->finished, FUTEX_WAKE, 1);
        ticket = __atomic_load_n(&pool->ticket, __ATOMIC_ACQUIRE);
    }
}

static void *work(void *argument)
{
    const worker *self = argument;
    shoal_pool *pool = self->pool;
    for (;;) {
        const uint32_t begun = __atomic_load_n(&pool->begun, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&pool->quits, __ATOMIC_ACQUIRE))
            return NULL;
        if (self->number < __atomic_load_n(&pool->n_threads, __ATOMIC_RELAXED))
            take_parts(pool);
        wait_for_change(&pool->begun, begun, &pool->n_asleep);
    }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* The processors of a thread, where OpenMP binds threads to some: it has bound the caller, from whom others would
 * inherit. */
static void choose_processors(pthread_attr_t *attributes, int number)
{
    const int n_places = omp_get_num_places();
    if (n_places < 1 || omp_get_proc_bind() == omp_proc_bind_false)
        return;
    const int place = number % n_places, n = omp_get_place_num_procs(place);
    int *processors = calloc((size_t)n + 1, sizeof *processors);
    cpu_set_t set;
    if (!processors)
        return;
    CPU_ZERO(&set);
    omp_get_place_proc_ids(place, processors);
    for (int i = 0; i < n; i++)
        if (processors[i] < CPU_SETSIZE)
            CPU_SET(processors[i], &set);
    free(processors);
    if (CPU_COUNT(&set) > 0)
        (void)pthread_attr_setaffinity_np(attributes, sizeof set, &set);
}

/* One more; false if there can be none. Signals are the caller's. */
static bool add_worker(shoal_pool *pool)
{
    worker *one = calloc(1, sizeof *one);
    pthread_attr_t attributes;
    if (!one || pthread_attr_init(&attributes)) {
        free(one);
        return false;
    }
    *one = (worker){.pool = pool, .number = pool->n_workers + 1, .next = pool->workers};
    choose_processors(&attributes, one->number);
    (void)pthread_attr_setstacksize(&attributes, WORKER_STACK);
    sigset_t all, before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&one->thread, &attributes, work, one) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (!started) {
        free(one);
        return false;
    }
    pool->workers = one;
    pool->n_workers++;
    return true;
}

/* The pool of a context, with workers for a loop that so many threads share, if there can be; NULL: there is none to
 * use. */
static shoal_pool *pool_of(shoal_context *context, int n_threads)
{
    if (!context || n_threads < 2)
        return NULL;
    if (!context->pool) {
        context->pool = shoal_allocate(1, sizeof *context->pool);
        if (!context->pool)
            return NULL;
        context->pool->forks = forks;
    }
    shoal_pool *pool = context->pool;
    if (pool->forks != forks || pool->busy)
        return NULL;
    while (pool->n_workers < n_threads - 1 && add_worker(pool))
        ;
    return pool->n_workers > 0 ? pool : NULL;
}

long shoal_part(long n, long worth)
{
    const long least = worth / 8 + 1, part = (n + SHOAL_MOST_PARTS - 1) / SHOAL_MOST_PARTS;
    return n < worth ? n : part < least ? least : part;
}

void shoal_share(shoal_context *context, int n_threads, long n, long grain, shoal_loop *loop, void *user)
{
    if (n <= 0)
        return;
    const long n_parts = (n + grain - 1) / grain;
    const int most = n_parts < n_threads ? (int)n_parts : n_threads;
    shoal_pool *pool = n_parts <= UINT32_MAX ? pool_of(context, most) : NULL;
    if (!pool) {
        for (long first = 0; first < n; first += grain)
            loop(user, first, first + grain < n ? first + grain : n);
        return;
    }
    pool->busy = true;
    pool->loop = loop;
    pool->user = user;
    pool->n = n;
    pool->grain = grain;
    pool->n_parts = (uint32_t)n_parts;
    pool->finished = 0;
    __atomic_store_n(&pool->n_threads, n_threads, __ATOMIC_RELAXED);
    const uint32_t number = pool->begun + 1;
    __atomic_store_n(&pool->ticket, (uint64_t)number << 32 | (uint32_t)n_parts, __ATOMIC_RELEASE);
    __atomic_store_n(&pool->begun, number, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool->n_asleep, __ATOMIC_SEQ_CST) > 0) /* any, if not all are meant */
        (void)futex(&pool->begun, FUTEX_WAKE, pool->n_workers < n_threads ? (uint32_t)n_parts - 1 : INT32_MAX);
    take_parts(pool);
    for (uint32_t finished; (finished = __atomic_load_n(&pool->finished, __ATOMIC_ACQUIRE)) != pool->n_parts;)
        wait_for_change(&pool->finished, finished, &pool->caller_asleep);
    pool->busy = false;
}

/* Bytes of this thread's stack that are free. */
static size_t stack_left(void)
{
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return SIZE_MAX;
    (void)pthread_attr_getstack(&attributes, &lowest, &size);
    (void)pthread_attr_destroy(&attributes);
    return (size_t)((uintptr_t)__builtin_frame_address(0) - (uintptr_t)lowest);
}

typedef struct deep_call {
    void (*function)(void *user);
    void *user;
} deep_call;

static void *call_deep(void *argument)
{
    const deep_call *call = argument;
    call->function(call->user);
    return NULL;
}

bool shoal_call_deep(size_t room, void (*function)(void *user), void *user)
{
    deep_call call = {function, user};
    pthread_attr_t attributes;
    pthread_t thread;
    if (room <= SHOAL_ANY_STACK || room <= stack_left()) {
        function(user);
        return true;
    }
    if (pthread_attr_init(&attributes))
        return false;
    const bool started = pthread_attr_setstacksize(&attributes, room + SHOAL_ANY_STACK) == 0 &&
                         pthread_create(&thread, &attributes, call_deep, &call) == 0;
    (void)pthread_attr_destroy(&attributes);
    return started && pthread_join(thread, NULL) == 0;
}

void shoal_pool_release(shoal_context *context)
{
    shoal_pool *pool = context->pool;
    context->pool = NULL;
    if (!pool)
        return;
    const bool has_threads = pool->forks == forks;
    __atomic_store_n(&pool->quits, true, __ATOMIC_RELEASE);
    (void)__atomic_add_fetch(&pool->begun, 1, __ATOMIC_SEQ_CST);
    if (has_threads)
        (void)futex(&pool->begun, FUTEX_WAKE, INT32_MAX);
    for (worker *one = pool->workers, *next; one; one = next) {
        next = one->next;
        if (has_threads)
            (void)pthread_join(one->thread, NULL);
        free(one);
    }
    free(pool);
}
