/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * engine_cpu.c: the engine that runs the kernels on CPU threads and SIMD lanes. They were compiled with the program
 * (kernel_cpu.c). Kernels work in the plan's own arrays. Each call gets a list of systems, so that systems that have
 * ended cost nothing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "core/kernel/compiled.h"

struct shoal_engine {
    shoal_context *context;
    shoal_kernel_args args;
    const shoal_cpu_kernels *kernels;
    const shoal_cpu_kernels *few; /* for a few systems, NULL = there are none */
    int threads;
    bool adaptive;          /* its propagator */
    double seconds;         /* of the last slice */
    const shoal_walk *walk; /* NULL = nobody walks */
};

/* The best instruction set of this machine that kernels exist for. */
static const char *cpu_arch(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd"))
        return "v4";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        return "v3";
    return "any";
#elif defined(__aarch64__)
    return "neon"; /* every such processor has it */
#else
    return "any";
#endif
}

static bool arch_runs(const char *arch)
{
    const char *best = cpu_arch();
    return strcmp(arch, best) == 0 || strcmp(arch, "any") == 0 || (strcmp(best, "v4") == 0 && strcmp(arch, "v3") == 0);
}

/* SHOAL_CPU_ARCH=v3 asks for less than the machine has (to compare the two). */
const char *shoal_cpu_arch(void)
{
    const char *wanted = getenv("SHOAL_CPU_ARCH");
    return wanted && arch_runs(wanted) ? wanted : cpu_arch();
}

/* The best kernels of a table for a choice. Wider lanes beat narrower ones; at the same width, kernels of a fixed body
 * count beat those for any count. */
static const shoal_cpu_kernels *find_in(const shoal_cpu_kernels *const *table, const shoal_kernel_choice *choice,
                                        int use)
{
    const shoal_cpu_kernels *best = NULL;
    const char *arch = shoal_cpu_arch();
    for (int i = 0; table && table[i]; i++) {
        const shoal_cpu_kernels *c = table[i];
        bool fits = strcmp(c->arch, arch) == 0 && strcmp(c->propagator, choice->propagator->name) == 0 &&
                    (c->n_bodies == 0 || (c->n_bodies == choice->n_bodies && choice->form == SHOAL_FORM_PAIRS &&
                                          c->variational == choice->variational)) &&
                    (choice->lanes == 0 || c->lanes == choice->lanes) && c->use == use;
        if (fits && (!best || c->lanes > best->lanes || (c->lanes == best->lanes && c->n_bodies > best->n_bodies)))
            best = c;
    }
    return best;
}

/* The kernels of this build. A build may have kernels of four lanes only as those for a few systems. */
static const shoal_cpu_kernels *find_kernels(const shoal_kernel_choice *choice)
{
    const shoal_cpu_kernels *found = find_in(shoal_cpu_kernel_table, choice, SHOAL_CPU_MANY);
    if (!found)
        found = find_in(shoal_cpu_test_kernel_table, choice, SHOAL_CPU_MANY);
    if (!found)
        found = find_in(shoal_cpu_kernel_table, choice, SHOAL_CPU_FEW);
    return found;
}

/* The kernels for a few systems. They advance one group of lanes at a time, and one group ends sooner than two in
 * turns. */
static const shoal_cpu_kernels *find_few(const shoal_kernel_choice *choice)
{
    return choice->lanes == 0 ? find_in(shoal_cpu_kernel_table, choice, SHOAL_CPU_FEW) : NULL;
}

/* Refuse: no kernels have so many lanes. The message names the widths that exist. */
static shoal_status no_kernels(shoal_context *context, const shoal_kernel_choice *choice, int lanes)
{
    char widths[32] = "";
    shoal_kernel_choice other = *choice;
    for (other.lanes = 1; other.lanes <= 8; other.lanes *= 2)
        if (find_kernels(&other)) {
            const size_t at = strlen(widths);
            snprintf(widths + at, sizeof widths - at, "%s%d", at ? ", " : "", other.lanes);
        }
    return shoal_fail(context, SHOAL_E_UNSUPPORTED,
                      "no CPU kernels of %s with %d lanes for %s in this build: it has %s", choice->propagator->name,
                      lanes, shoal_cpu_arch(), widths[0] ? widths : "none");
}

static int native_lanes(void)
{
    const char *arch = shoal_cpu_arch();
    return strcmp(arch, "v4") == 0 ? 8 : strcmp(arch, "v3") == 0 ? 4 : strcmp(arch, "neon") == 0 ? 2 : 1;
}

static const char *cpu_missing(void)
{
    return NULL;
}

/* The kernels for so many systems. Two calls with one group of four lanes take no longer than one call with two groups
 * of eight. */
static const shoal_cpu_kernels *kernels_for(const shoal_engine *engine, long n_systems)
{
    if (!engine->few)
        return engine->kernels;
    const int half = engine->kernels->systems / 2, most = half > engine->few->systems ? half : engine->few->systems;
    return n_systems <= (long)engine->threads * most ? engine->few : engine->kernels;
}

static shoal_status cpu_create(shoal_context *context, const shoal_kernel_choice *choice, const shoal_kernel_args *args,
                               shoal_engine_range range, shoal_engine **engine, char *line, size_t line_size)
{
    (void)range; /* the arrays are the host's, a list says which systems */
    *engine = NULL;
    shoal_kernel_choice wanted = *choice;
    if (wanted.lanes == 0)
        wanted.lanes = native_lanes();
    const shoal_cpu_kernels *kernels = NULL, *few = NULL;
    if (choice->plugins) {
        shoal_status status = shoal_plugin_kernels(context, choice, shoal_cpu_arch(), wanted.lanes, &kernels);
        if (status)
            return status;
    } else {
        kernels = find_kernels(&wanted);
        few = find_few(choice);
    }
    if (!kernels)
        return no_kernels(context, choice, wanted.lanes);
    shoal_engine *e = calloc(1, sizeof *e);
    if (!e)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    e->context = context;
    e->args = *args;
    e->kernels = kernels;
    e->few = few;
    e->adaptive = choice->propagator->adaptive;
    e->threads = shoal_threads_or_default(choice->threads);
    char bodies[16] = "any";
    if (kernels->n_bodies)
        snprintf(bodies, sizeof bodies, "%d", kernels->n_bodies);
    snprintf(line, line_size, "cpu: %s, %d lanes%s, %d thread%s, kernels for n = %s", kernels->arch, kernels->lanes,
             few ? " (4 for a few systems)" : "", e->threads, e->threads == 1 ? "" : "s", bodies);
    *engine = e;
    return SHOAL_OK;
}

static void cpu_destroy(shoal_engine **engine)
{
    free(*engine);
    *engine = NULL;
}

static shoal_status cpu_copy(shoal_engine *engine, int arrays)
{
    (void)engine;
    (void)arrays; /* the kernels work on the plan's own arrays */
    return SHOAL_OK;
}

enum { COPY = 4 }; /* steps that cost as much as loading and storing a state */

/* Steps that a launch makes of a system, roughly. */
static double steps_of(const shoal_engine *engine, shoal_kernel_entry entry, long long system, double slice_steps)
{
    if (entry != SHOAL_INTEGRATE)
        return entry == SHOAL_BARE ? slice_steps : COPY;
#define FIELD(field) engine->args.systems[SHOAL_AT(system, field, SHOAL_SYS_FIELDS)]
    const double left = engine->adaptive
                            ? (FIELD(SHOAL_SYS_TARGET) - FIELD(SHOAL_SYS_ELAPSED)) / fabs(FIELD(SHOAL_SYS_DT))
                            : FIELD(SHOAL_SYS_TARGET) - FIELD(SHOAL_SYS_STEP);
#undef FIELD
    return fmin(fmax(left, 0) + COPY, slice_steps);
}

/* Whether so many steps of all systems are worth waking other threads. */
static bool worth_threads(const shoal_engine *engine, double steps)
{
    const double n = engine->args.n_moved, step_s = (engine->adaptive ? 10e-9 : 1e-9) * n * n;
    return engine->threads > 1 && step_s * steps >= 50e-6;
}

/* What the threads that share an index list need. */
typedef struct cpu_call {
    shoal_engine *engine;
    const shoal_cpu_kernels *kernels;
    shoal_cpu_kernel *kernel;
    shoal_kernel_args args;
    int threads;
    void (*part)(void *user, long first, long last);
} cpu_call;

static void launch_part(void *user, long first, long last)
{
    const cpu_call *call = user;
    call->kernel(&call->args, first, last);
}

static void share(void *user)
{
    cpu_call *call = user;
    shoal_share(call->engine->context, call->threads, call->args.n_list, call->kernels->systems, call->part, call);
}

/* A call over a list; without a `part` of its own it launches a kernel. */
static cpu_call call_of(shoal_engine *engine, const int *list, long n_list, double slice_steps)
{
    cpu_call call = {engine, kernels_for(engine, n_list), NULL, engine->args, 1, launch_part};
    call.args.list = list;
    call.args.n_list = n_list;
    call.args.slice_steps = slice_steps;
    return call;
}

/* Make a call, which makes so many steps of a system. Kernels keep the state of the systems that they advance on the
 * stack: gauss_radau, which has most, 1.3 KiB a body, and its monitors' guard 0.3. */
static shoal_status launch(cpu_call *call, double steps)
{
    enum { BODY_BYTES = 1792 };
    shoal_engine *engine = call->engine;
    const size_t room = (size_t)call->kernels->systems * (size_t)call->args.n_moved * BODY_BYTES;
    if (call->args.n_list > call->kernels->systems && worth_threads(engine, (double)call->args.n_list * steps))
        call->threads = engine->threads;
    return shoal_call_deep(room, share, call)
               ? SHOAL_OK
               : shoal_fail(engine->context, SHOAL_E_MEMORY, "out of memory for a stack of %zu bytes", room);
}

static shoal_status cpu_launch(shoal_engine *engine, shoal_kernel_entry entry, const int *list, long n_list,
                               double slice_steps)
{
    cpu_call call = call_of(engine, list, n_list, slice_steps);
    call.kernel = call.kernels->entry[entry];
    const double began = shoal_seconds();
    const shoal_status status = launch(&call, steps_of(engine, entry, list[0], slice_steps));
    if (entry == SHOAL_INTEGRATE)
        engine->seconds = shoal_seconds() - began;
    return status;
}

void shoal_engine_cpu_group(const shoal_engine *engine, const int *list, long n_list, double slice_steps)
{
    shoal_kernel_args args = engine->args;
    args.list = list;
    args.n_list = n_list;
    args.slice_steps = slice_steps;
    engine->kernels->entry[SHOAL_INTEGRATE](&args, 0, n_list);
}

static shoal_status cpu_observe(shoal_engine *engine, const int *list, long n_list, const shoal_sights *sights,
                                double steps)
{
    cpu_call call = call_of(engine, list, n_list, SHOAL_ALL_STEPS);
    call.kernel = call.kernels->entry[SHOAL_OBSERVE];
    call.args.sights = *sights;
    return launch(&call, steps + COPY * (double)sights->n_times);
}

static shoal_status cpu_walk_with(shoal_engine *engine, const shoal_walk *walk)
{
    engine->walk = walk;
    return SHOAL_OK;
}

/* Take the walkers of a call through both legs. */
static void walk_part(void *user, long first, long last)
{
    const cpu_call *call = user;
    shoal_cpu_kernel *const *entry = call->kernels->entry;
    shoal_kernel_args args = call->args;
    for (args.walk_leg = 0; args.walk_leg < SHOAL_LEGS; args.walk_leg++) {
        args.sights = args.walk->leg[args.walk_leg];
        if (args.sights.n_times == 0)
            continue;
        entry[SHOAL_WALKER_BEGIN](&args, first, last);
        if (args.walk->keplerian)
            continue;
        entry[SHOAL_PREPARE](&args, first, last);
        entry[SHOAL_OBSERVE](&args, first, last);
    }
    entry[SHOAL_WALKER_END](&args, first, last);
}

static shoal_status cpu_walk(shoal_engine *engine, const int *list, long n, const double *theta, double *lnl,
                             double *predicted)
{
    shoal_walk walk = *engine->walk;
    walk.theta = theta;
    walk.lnl = lnl;
    walk.predicted = predicted;
    cpu_call call = call_of(engine, list, n, SHOAL_ALL_STEPS);
    call.part = walk_part;
    call.args.walk = &walk;
    const double steps = (walk.keplerian ? 0 : walk.end[SHOAL_FORWARDS] + walk.end[SHOAL_BACKWARDS]) +
                         COPY * (double)(walk.leg[SHOAL_FORWARDS].n_times + walk.leg[SHOAL_BACKWARDS].n_times);
    return launch(&call, steps);
}

static shoal_status cpu_fetched(shoal_engine *engine)
{
    (void)engine;
    return SHOAL_OK;
}

static shoal_status cpu_wait(shoal_engine *engine, double *seconds)
{
    if (seconds)
        *seconds = engine->seconds;
    return SHOAL_OK;
}

static long cpu_width(const shoal_engine *engine, int *group)
{
    *group = engine->kernels->systems;
    return (long)engine->threads * engine->kernels->systems;
}

const shoal_engine_type shoal_engine_cpu = {
    .name = "cpu",
    .missing = cpu_missing,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .upload = cpu_copy,
    .download = cpu_copy,
    .send = cpu_copy,
    .launch = cpu_launch,
    .observe = cpu_observe,
    .walk_with = cpu_walk_with,
    .walk = cpu_walk,
    .fetch = cpu_copy,
    .fetched = cpu_fetched,
    .wait = cpu_wait,
    .width = cpu_width,
};

void shoal_engine_cpu_info(FILE *out)
{
    int n_kernels = 0;
    while (shoal_cpu_kernel_table[n_kernels])
        n_kernels++;
    const char *from;
    const int threads = shoal_default_threads(&from);
    fprintf(out,
            "cpu     %ld processors online, %d threads by default (%s); instruction set %s (%d doubles a lane group); "
            "%d kernel sets\n",
            sysconf(_SC_NPROCESSORS_ONLN), threads, from, shoal_cpu_arch(), native_lanes(), n_kernels);
}
