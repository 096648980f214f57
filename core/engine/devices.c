/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * devices.c: the engine of one or several GPUs of this machine (engine_cuda.c has the engine of one).
 *
 * Each GPU has room for all chunks of the range and holds a run of neighbouring ones, begin[d] to begin[d + 1] - 1. A
 * launch is divided by who holds a system, and a thread for each GPU launches and waits. No result depends on who holds
 * it.
 *
 * Balance. Before a slice the ends of the runs are chosen anew, so that all GPUs take equally long. A chunk's cost is
 * what its systems are expected to do in the slice, times what such a step cost in the last slice on the GPU that holds
 * it: so a GPU gives chunks away when it is slower, and when its systems are dearer than they look. Chunks that change
 * hands go through the host's arrays. That takes as long as the last time, so it waits until the slices have lost as
 * much for want of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"

#define FAIR       0.01 /* of the time of a slice that the slowest GPU may be behind */
#define DEAREST    8.0  /* a step, times the mean */
#define FIRST_MOVE 1e-3 /* s, of the first move, roughly */

enum { ALL_STATE = SHOAL_ARRAY_BODIES | SHOAL_ARRAY_SYSTEMS | SHOAL_ARRAY_NATIVE | SHOAL_ARRAY_WATCH };

struct shoal_engine {
    shoal_context *context;
    int n; /* GPUs */
    shoal_engine *gpu[SHOAL_MOST_DEVICES];
    int device[SHOAL_MOST_DEVICES];
    bool open[SHOAL_MOST_DEVICES];         /* by us, too */
    shoal_context own[SHOAL_MOST_DEVICES]; /* take the messages of each */
    long first_chunk, n_chunks, n_systems; /* of the range */
    long begin[SHOAL_MOST_DEVICES + 1];    /* chunks of the range that each holds */
    unsigned launched;                     /* bits of shoal_kernel_entry */
    const int *list[SHOAL_MOST_DEVICES];   /* [n_list] the systems of a launch that each has */
    long n_list[SHOAL_MOST_DEVICES];
    int *lists;                          /* [systems of the range] room for them */
    bool moves[SHOAL_MOST_DEVICES];      /* it had systems in the last slice */
    double seconds[SHOAL_MOST_DEVICES];  /* of the last slice */
    double *cost;                        /* [chunks] of the next slice */
    double expected[SHOAL_MOST_DEVICES]; /* steps of the last slice; 0: nobody said */
    double dearness[SHOAL_MOST_DEVICES]; /* of a step, in units of the mean */
    double step_s;                       /* what one took in the last slice; 0: not known yet */
    double lost_s, move_s;               /* since the last move; what that one took */
    bool eager;                          /* chunks move whether it pays or not: for tests */
    long n_moved;
};

/* ---- all at a time ----------------------------------------------------------------------------------------------- */

/* What all GPUs are asked to do; each call uses what it needs. */
typedef struct task {
    shoal_engine *engine;
    shoal_status (*call)(struct task *task, int d);
    int n_done; /* GPUs, from the first one on */
    shoal_status status[SHOAL_MOST_DEVICES];
    shoal_status (*copy)(shoal_engine *gpu, int arrays);
    int arrays;
    shoal_kernel_entry entry;
    double steps;
    const shoal_sights *sights;
    const shoal_walk *walk;
    const double *theta;
    double *lnl, *predicted;
    const long *before; /* to whom chunks belonged */
    /* of a creation */
    const shoal_kernel_choice *choice;
    const shoal_kernel_args *args;
    const shoal_engine_range *range;
    char *line;
    size_t line_size;
} task;

static void call_some(void *user, long first, long last)
{
    task *all = user;
    for (long i = first; i < last; i++) {
        const int d = all->n_done + (int)i;
        all->status[d] = all->call(all, d);
    }
}

/* Each GPU's part in a thread of its own. The message is that of the first one that fails. */
static shoal_status call_all(task *all)
{
    shoal_engine *engine = all->engine;
    const int n = engine->n - all->n_done;
    for (int d = 0; d < engine->n && engine->n > 1; d++)
        engine->own[d].plugs = engine->context->plugs; /* those of a new plugin are elsewhere */
    shoal_share(engine->context, n, n, 1, call_some, all);
    for (int d = 0; d < engine->n; d++)
        if (all->status[d] && engine->n > 1)
            return shoal_fail(engine->context, all->status[d], "%s", engine->own[d].message);
        else if (all->status[d])
            return all->status[d];
    return SHOAL_OK;
}

/* The same; the first GPU alone if it may have to compile kernels, which the others then find in the cache. */
static shoal_status call_first(task *all, bool compiles)
{
    if (compiles && all->engine->n > 1) {
        all->status[0] = all->call(all, 0);
        all->n_done = 1;
    }
    return call_all(all);
}

/* Divide a list by who holds its systems. */
static void divide(shoal_engine *engine, const int *list, long n_list)
{
    int *at = engine->lists;
    engine->list[0] = list;
    engine->n_list[0] = n_list;
    for (int d = 0; d < engine->n && engine->n > 1; d++) {
        const long first = (engine->first_chunk + engine->begin[d]) * SHOAL_CHUNK,
                   end = (engine->first_chunk + engine->begin[d + 1]) * SHOAL_CHUNK;
        engine->list[d] = at;
        for (long i = 0; i < n_list; i++)
            if (list[i] >= first && list[i] < end)
                *at++ = list[i];
        engine->n_list[d] = at - engine->list[d];
    }
}

static void hold(const shoal_engine *engine)
{
    for (int d = 0; d < engine->n; d++)
        shoal_engine_gpu_hold(engine->gpu[d], engine->begin[d], engine->begin[d + 1] - engine->begin[d]);
}

/* ---- made and destroyed ------------------------------------------------------------------------------------------ */

/* Opening a GPU takes longest of all, and waits for no compiler. */
static shoal_status open_one(task *all, int d)
{
    shoal_engine *engine = all->engine;
    engine->device[d] = all->range->devices.which[d];
    const shoal_status status = shoal_engine_gpu_open(&engine->own[d], engine->device[d]);
    engine->open[d] = status == SHOAL_OK;
    return status;
}

static shoal_status create_one(task *all, int d)
{
    shoal_engine *engine = all->engine;
    shoal_engine_range range = *all->range;
    range.devices = (shoal_devices){1, {all->range->devices.which[d]}};
    return shoal_engine_gpu.create(engine->n > 1 ? &engine->own[d] : engine->context, all->choice, all->args, range,
                                   &engine->gpu[d], all->line + (size_t)d * all->line_size, all->line_size);
}

static shoal_status wait_one(task *all, int d)
{
    shoal_engine *engine = all->engine;
    return shoal_engine_gpu.wait(engine->gpu[d], &engine->seconds[d]);
}

static void cuda_destroy(shoal_engine **engine)
{
    shoal_engine *old = *engine;
    *engine = NULL;
    if (!old)
        return;
    for (int d = 0; d < old->n && old->n > 1; d++) /* one has locked the host's arrays for all */
        if (old->gpu[d]) {
            (void)shoal_engine_gpu.fetched(old->gpu[d]);
            (void)shoal_engine_gpu.wait(old->gpu[d], NULL);
        }
    for (int d = 0; d < old->n; d++) {
        if (old->gpu[d])
            shoal_engine_gpu.destroy(&old->gpu[d]);
        if (old->open[d])
            shoal_engine_gpu_close(old->device[d]);
        shoal_pool_release(&old->own[d]);
    }
    free(old->lists);
    free(old->cost);
    free(old);
}

/* An engine without its GPUs; NULL: there is no memory. */
static shoal_engine *make(shoal_context *context, const shoal_engine_range *range)
{
    shoal_engine *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->context = context;
    made->n = range->devices.n > 1 ? range->devices.n : 1;
    made->first_chunk = range->first_chunk;
    made->n_systems = range->n_systems;
    made->n_chunks = (range->n_systems + SHOAL_CHUNK - 1) / SHOAL_CHUNK;
    made->lists = malloc((size_t)(range->n_systems + 1) * sizeof *made->lists);
    made->cost = malloc((size_t)(made->n_chunks + 1) * sizeof *made->cost);
    made->launched = SHOAL_ONCE_ENTRIES | 1u << SHOAL_INTEGRATE; /* those that it is made with */
    made->move_s = FIRST_MOVE;
    made->eager = shoal_environment_number("SHOAL_EAGER_MOVES", 0, 0, 1);
    for (int d = 0; d < made->n; d++) {
        made->dearness[d] = 1;
        made->begin[d + 1] = made->n_chunks * (d + 1) / made->n;
    }
    if (!made->lists || !made->cost)
        cuda_destroy(&made);
    return made;
}

static shoal_status cuda_create(shoal_context *context, const shoal_kernel_choice *choice,
                                const shoal_kernel_args *args, shoal_engine_range range, shoal_engine **engine,
                                char *line, size_t line_size)
{
    shoal_engine *made = *engine = make(context, &range);
    const int n = made ? made->n : 1;
    shoal_kernel_choice each = *choice;
    char *lines = calloc((size_t)n, line_size);
    shoal_status status = SHOAL_OK;
    if (!made || !lines)
        status = shoal_fail(context, SHOAL_E_MEMORY, "no memory for the CUDA engine");
    if (n > 1) { /* the host's threads work beside all */
        const int threads = shoal_threads_or_default(choice->threads);
        each.threads = threads > n ? threads / n : 1;
    }
    if (!status && n > 1)
        status = call_all(&(task){.engine = made, .call = open_one, .range = &range});
    if (!status)
        status = call_first(&(task){.engine = made,
                                    .call = create_one,
                                    .choice = &each,
                                    .args = args,
                                    .range = &range,
                                    .line = lines,
                                    .line_size = line_size},
                            true);
    if (!status && n > 1) {
        hold(made);
        snprintf(line, line_size, "cuda: %d x%s%s", n, strchr(lines, ' '), strstr(lines, "beside it") ? " each" : "");
    } else if (!status) {
        snprintf(line, line_size, "%s", lines);
    }
    free(lines);
    if (status)
        cuda_destroy(engine);
    return status;
}

/* ---- copies, launches -------------------------------------------------------------------------------------------- */

static shoal_status copy_one(task *all, int d)
{
    return all->copy(all->engine->gpu[d], all->arrays);
}

static shoal_status cuda_upload(shoal_engine *engine, int arrays)
{
    return call_all(&(task){.engine = engine, .call = copy_one, .copy = shoal_engine_gpu.upload, .arrays = arrays});
}
static shoal_status cuda_download(shoal_engine *engine, int arrays)
{
    return call_all(&(task){.engine = engine, .call = copy_one, .copy = shoal_engine_gpu.download, .arrays = arrays});
}
static shoal_status cuda_send(shoal_engine *engine, int arrays)
{
    return call_all(&(task){.engine = engine, .call = copy_one, .copy = shoal_engine_gpu.send, .arrays = arrays});
}
static shoal_status cuda_fetch(shoal_engine *engine, int arrays)
{
    return call_all(&(task){.engine = engine, .call = copy_one, .copy = shoal_engine_gpu.fetch, .arrays = arrays});
}

static shoal_status fetched_one(task *all, int d)
{
    return shoal_engine_gpu.fetched(all->engine->gpu[d]);
}

static shoal_status cuda_fetched(shoal_engine *engine)
{
    return call_all(&(task){.engine = engine, .call = fetched_one});
}

/* Whether nobody has launched a kernel yet. */
static bool is_new(shoal_engine *engine, shoal_kernel_entry entry)
{
    const bool known = engine->launched >> entry & 1;
    engine->launched |= 1u << entry;
    return !known;
}

static shoal_status launch_one(task *all, int d)
{
    shoal_engine *engine = all->engine;
    return shoal_engine_gpu.launch(engine->gpu[d], all->entry, engine->list[d], engine->n_list[d], all->steps);
}

static shoal_status cuda_launch(shoal_engine *engine, shoal_kernel_entry entry, const int *list, long n_list,
                                double slice_steps)
{
    if (n_list > engine->n_systems)
        return shoal_fail(engine->context, SHOAL_E_INTERNAL, "a list of %ld systems of %ld", n_list, engine->n_systems);
    divide(engine, list, n_list);
    for (int d = 0; d < engine->n && entry == SHOAL_INTEGRATE; d++)
        engine->moves[d] = engine->n_list[d] > 0;
    return call_first(&(task){.engine = engine, .call = launch_one, .entry = entry, .steps = slice_steps},
                      is_new(engine, entry));
}

/* What the last slice says of the costs of steps. */
static void learn(shoal_engine *engine)
{
    double steps = 0, seconds = 0;
    for (int d = 0; d < engine->n; d++) {
        if (!(engine->moves[d] && engine->expected[d] > 0 && engine->seconds[d] > 0))
            return;
        steps += engine->expected[d];
        seconds += engine->seconds[d];
    }
    engine->step_s = seconds / steps;
    for (int d = 0; d < engine->n; d++) {
        const double now = engine->seconds[d] / engine->expected[d] / engine->step_s;
        engine->dearness[d] = fmin(fmax(0.5 * (engine->dearness[d] + now), 1 / DEAREST), DEAREST);
        engine->expected[d] = 0;
    }
}

static shoal_status cuda_wait(shoal_engine *engine, double *seconds)
{
    const shoal_status status = call_all(&(task){.engine = engine, .call = wait_one});
    if (status)
        return status;
    if (seconds)
        *seconds = 0;
    for (int d = 0; d < engine->n && seconds; d++)
        if (engine->moves[d])
            *seconds = fmax(*seconds, engine->seconds[d]);
    if (engine->n > 1)
        learn(engine);
    return SHOAL_OK;
}

static long cuda_width(const shoal_engine *engine, int *group)
{
    long width = 0;
    for (int d = 0; d < engine->n; d++)
        width += shoal_engine_gpu.width(engine->gpu[d], group);
    return width;
}

/* ---- balance ----------------------------------------------------------------------------------------------------- */

static shoal_status give_one(task *all, int d)
{
    shoal_engine *engine = all->engine;
    shoal_status status = SHOAL_OK;
    for (int to = 0; to < engine->n && !status; to++) {
        const long first = all->before[d] > engine->begin[to] ? all->before[d] : engine->begin[to],
                   end = all->before[d + 1] < engine->begin[to + 1] ? all->before[d + 1] : engine->begin[to + 1];
        if (to == d || first >= end)
            continue;
        shoal_engine_gpu_hold(engine->gpu[d], first, end - first);
        status = shoal_engine_gpu.download(engine->gpu[d], ALL_STATE & ~SHOAL_ARRAY_SYSTEMS);
    }
    return status;
}

static shoal_status take_one(task *all, int d)
{
    shoal_engine *engine = all->engine;
    shoal_status status = SHOAL_OK;
    for (int from = 0; from < engine->n && !status; from++) {
        const long first = all->before[from] > engine->begin[d] ? all->before[from] : engine->begin[d],
                   end = all->before[from + 1] < engine->begin[d + 1] ? all->before[from + 1] : engine->begin[d + 1];
        if (from == d || first >= end)
            continue;
        shoal_engine_gpu_hold(engine->gpu[d], first, end - first);
        status = shoal_engine_gpu.upload(engine->gpu[d], ALL_STATE);
    }
    return status;
}

/* Chunks change hands: from those who held them before to those whose they are now. */
static shoal_status move(shoal_engine *engine, const long before[SHOAL_MOST_DEVICES + 1])
{
    const double began = shoal_seconds();
    shoal_status status = call_all(&(task){.engine = engine, .call = give_one, .before = before});
    if (!status)
        status = call_all(&(task){.engine = engine, .call = take_one, .before = before});
    hold(engine);
    for (int d = 1; d < engine->n; d++)
        engine->n_moved += labs(engine->begin[d] - before[d]);
    engine->move_s = shoal_seconds() - began;
    engine->lost_s = 0;
    return status;
}

/* The cost of each GPU's run of chunks; returns the largest. */
static double dearest(const shoal_engine *engine, const long begin[SHOAL_MOST_DEVICES + 1], double *all)
{
    double most = 0;
    *all = 0;
    for (int d = 0; d < engine->n; d++) {
        double sum = 0;
        for (long c = begin[d]; c < begin[d + 1]; c++)
            sum += engine->cost[c];
        most = fmax(most, sum);
        *all += sum;
    }
    return most;
}

/* Choose runs of chunks of equal cost. */
static void cut(const shoal_engine *engine, double all, long begin[SHOAL_MOST_DEVICES + 1])
{
    double before = 0;
    int d = 1;
    begin[0] = 0;
    for (long c = 0; c < engine->n_chunks; c++) {
        for (; d < engine->n && before + 0.5 * engine->cost[c] >= all * d / engine->n; d++)
            begin[d] = c;
        before += engine->cost[c];
    }
    for (; d <= engine->n; d++)
        begin[d] = engine->n_chunks;
}

/* What each GPU's systems are expected to do in a slice, as a sum and by chunk. */
static void expect(shoal_engine *engine, const int *list, long n_list, const double *expected, double slice_steps)
{
    memset(engine->cost, 0, (size_t)engine->n_chunks * sizeof *engine->cost);
    for (long i = 0; i < n_list; i++)
        engine->cost[list[i] / SHOAL_CHUNK - engine->first_chunk] += fmin(expected[list[i]], slice_steps);
}

static void sum_up(shoal_engine *engine)
{
    for (int d = 0; d < engine->n; d++) {
        engine->expected[d] = 0;
        for (long c = engine->begin[d]; c < engine->begin[d + 1]; c++)
            engine->expected[d] += engine->cost[c];
    }
}

static shoal_status cuda_balance(shoal_engine *engine, const int *list, long n_list, const double *expected,
                                 double slice_steps)
{
    if (engine->n == 1)
        return SHOAL_OK;
    long begin[SHOAL_MOST_DEVICES + 1], before[SHOAL_MOST_DEVICES + 1];
    double all, ignored;
    int group;
    expect(engine, list, n_list, expected, slice_steps);
    sum_up(engine);
    for (int d = 0; d < engine->n; d++)
        for (long c = engine->begin[d]; c < engine->begin[d + 1]; c++)
            engine->cost[c] *= engine->dearness[d];
    const double most = dearest(engine, engine->begin, &all);
    /* fewer systems than would keep half of a GPU busy are hardly faster */
    const double floor = 0.5 * slice_steps * (double)shoal_engine_gpu.width(engine->gpu[0], &group),
                 lost = most - fmax(all / engine->n, floor);
    cut(engine, all, begin);
    const double saved = most - fmax(dearest(engine, begin, &ignored), floor);
    engine->lost_s += fmax(0, lost) * engine->step_s;
    if (!engine->eager &&
        (lost <= FAIR * most || saved <= 0.5 * lost || (engine->step_s > 0 && engine->lost_s < engine->move_s)))
        return SHOAL_OK;
    memcpy(before, engine->begin, sizeof before);
    memcpy(engine->begin, begin, sizeof begin);
    const shoal_status status = move(engine, before);
    expect(engine, list, n_list, expected, slice_steps);
    sum_up(engine);
    return status;
}

long shoal_engine_cuda_moved(const shoal_engine *engine)
{
    return engine->n_moved;
}

long shoal_engine_cuda_led(const shoal_engine *engine)
{
    long n = 0;
    for (int d = 0; d < engine->n; d++)
        n += shoal_engine_gpu_led(engine->gpu[d]);
    return n;
}

/* ---- what is seen; walkers --------------------------------------------------------------------------------------- */

static shoal_status observe_one(task *all, int d)
{
    shoal_engine *engine = all->engine;
    return engine->n_list[d] == 0
               ? SHOAL_OK
               : shoal_engine_gpu.observe(engine->gpu[d], engine->list[d], engine->n_list[d], all->sights, all->steps);
}

static shoal_status cuda_observe(shoal_engine *engine, const int *list, long n_list, const shoal_sights *sights,
                                 double steps)
{
    divide(engine, list, n_list);
    return call_first(&(task){.engine = engine, .call = observe_one, .sights = sights, .steps = steps},
                      is_new(engine, SHOAL_OBSERVE));
}

/* Any GPU may get any walker, so all have what systems begin with. */
static shoal_status walk_with_one(task *all, int d)
{
    shoal_engine *engine = all->engine;
    shoal_status status = SHOAL_OK;
    if (engine->n > 1) {
        shoal_engine_gpu_hold(engine->gpu[d], 0, engine->n_chunks);
        status = shoal_engine_gpu.upload(engine->gpu[d], ALL_STATE & ~SHOAL_ARRAY_NATIVE);
    }
    return status ? status : shoal_engine_gpu.walk_with(engine->gpu[d], all->walk);
}

static shoal_status cuda_walk_with(shoal_engine *engine, const shoal_walk *walk)
{
    const shoal_status status = call_first(&(task){.engine = engine, .call = walk_with_one, .walk = walk}, true);
    if (engine->n > 1)
        hold(engine);
    return status;
}

static shoal_status walk_one(task *all, int d)
{
    shoal_engine *engine = all->engine;
    return engine->n_list[d] == 0 ? SHOAL_OK
                                  : shoal_engine_gpu.walk(engine->gpu[d], engine->list[d], engine->n_list[d],
                                                          all->theta, all->lnl, all->predicted);
}

static shoal_status cuda_walk(shoal_engine *engine, const int *list, long n, const double *theta, double *lnl,
                              double *predicted)
{
    for (int d = 0; d < engine->n; d++) {
        engine->list[d] = list + n * d / engine->n;
        engine->n_list[d] = n * (d + 1) / engine->n - n * d / engine->n;
    }
    return call_all(&(task){.engine = engine, .call = walk_one, .theta = theta, .lnl = lnl, .predicted = predicted});
}

/* ---- for tune.c: all are as the first one ------------------------------------------------------------------------ */

static const char *cuda_device(const shoal_engine *engine)
{
    return shoal_engine_gpu.device(engine->gpu[0]);
}

static const char *cuda_kernel_file(const shoal_engine *engine)
{
    return shoal_engine_gpu.kernel_file(engine->gpu[0]);
}

static void cuda_compile(shoal_engine *engine, const shoal_kernel_choice *choices, int n)
{
    shoal_engine_gpu.compile(engine->gpu[0], choices, n);
}

static const char *cuda_missing(void)
{
    return shoal_engine_gpu.missing();
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
    .observe = cuda_observe,
    .walk_with = cuda_walk_with,
    .walk = cuda_walk,
    .fetch = cuda_fetch,
    .fetched = cuda_fetched,
    .balance = cuda_balance,
    .wait = cuda_wait,
    .width = cuda_width,
    .device = cuda_device,
    .kernel_file = cuda_kernel_file,
    .compile = cuda_compile,
};
