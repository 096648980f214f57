/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tune.c: which work model, bodies of a thread, block and number of registers are the fastest for a plan on the GPU at
 * hand, and whether this machine's CPU is faster. Systems that leave room on the GPU the CPU's threads share anyway
 * (core/engine/hosted.c), so it is measured only against a GPU that is full.
 *
 * Every candidate advances the plan's own systems by the same steps; what it writes stays on the device, so that the
 * run begins as if nothing had been, and results do not depend on the choice (team.h). It is kept beside the compiled
 * kernels: in a line of text for the kernel that the rule below would take, the device and the number of systems to a
 * factor of two.
 *
 * The rule, where nothing was measured: a thread a system where there are enough of them and their state fits into
 * registers, else a thread a body. Where systems end until it says otherwise of those that are left, they go on with
 * another choice.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

enum { WARM_STEPS = 16, MOST_STEPS = 1 << 20 };
#define MEASURE_S        0.03  /* wall time of the first candidate's measurement */
#define LONG_RUN_S       20.0  /* a run that is expected to last as long is worth it */
#define LONG_REST_S      2.0   /* and the rest of one, another choice by rule: a compiler's time and a few copies */
#define STEP_S           1e-6  /* a step of a system on a GPU, however few there are, roughly */
#define REGISTER_DOUBLES 72    /* of a state that a thread's registers hold */
#define MANY_SYSTEMS     16384 /* a thread for each of them keeps a large GPU busy: a warp for every scheduler (H200) */
/* Of these, with two bodies or more each, keep it busy: the 132 multiprocessors' 8 warps of such threads (H200). */
#define MANY_TEAMMATES 32768

/* Of n systems those that one of the plan's GPUs has. */
static long of_each(const shoal_plan *plan, long n)
{
    const int n_devices = plan->devices.n > 1 ? plan->devices.n : 1;
    return (n + n_devices - 1) / n_devices;
}

/* ---- candidates ---------------------------------------------------------------------------------------------- */

/* A choice with a model and a tuning, as far as the user leaves them open; false if it is not one. A plugin's
 * propagator need not know of teams. */
static bool candidate(const shoal_plan *plan, int model, int bodies, int block, int registers,
                      shoal_kernel_choice *choice)
{
    choice->model = plan->any_model ? model : plan->choice.model;
    choice->tuning.bodies = shoal_environment_number("SHOAL_CUDA_BODIES",
                                                     plan->forced.bodies ? plan->forced.bodies : bodies, 1, 5);
    choice->tuning.block = plan->forced.block ? plan->forced.block : block;
    choice->tuning.max_registers = plan->forced.max_registers ? plan->forced.max_registers : registers;
    return choice->model == model && shoal_team_fits(choice) &&
           (model == SHOAL_MODEL_SYSTEM || !shoal_plugin_is(plan->context, choice->propagator));
}

void shoal_tune_rule(const shoal_plan *plan, long n_list, shoal_kernel_choice *choice)
{
    const shoal_propagator *propagator = choice->propagator;
    n_list = of_each(plan, n_list);
    const int own = propagator->n_slots * (choice->n_bodies - propagator->first_body) + propagator->n_own;
    const int doubles = choice->variational ? own * 6 / 5 : own; /* few of a tangent vector are needed at once */
    /* in maps, bodies wait less for each other */
    const bool many = n_list >= (propagator->first_body ? MANY_SYSTEMS : MANY_SYSTEMS / 2);
    const int block = many ? 128 : 32;
    if ((many && doubles <= REGISTER_DOUBLES) || !candidate(plan, SHOAL_MODEL_BODY, 2, block, 0, choice))
        (void)candidate(plan, SHOAL_MODEL_SYSTEM, 1, block, 0, choice);
    else if ((double)n_list * shoal_team_threads(choice) < MANY_TEAMMATES)
        (void)candidate(plan, SHOAL_MODEL_BODY, 1, block, 0, choice);
}

static bool same(const shoal_kernel_choice *a, const shoal_kernel_choice *b)
{
    return a->model == b->model && shoal_team_each(a) == shoal_team_each(b) && a->tuning.block == b->tuning.block &&
           a->tuning.max_registers == b->tuning.max_registers;
}

/* What is worth a measurement, the rule's choice first. */
static int candidates(const shoal_plan *plan, shoal_kernel_choice list[SHOAL_MOST_TUNED])
{
    static const struct {
        bool many;
        int model, bodies, block, registers;
    } known[] = {
        {true, SHOAL_MODEL_SYSTEM, 1, 128, 0},    {true, SHOAL_MODEL_SYSTEM, 1, 256, 0},
        {true, SHOAL_MODEL_SYSTEM, 1, 128, 168},  {true, SHOAL_MODEL_SYSTEM, 1, 256, 128},
        {true, SHOAL_MODEL_BODY, 1, 64, 0},       {true, SHOAL_MODEL_BODY, 2, 64, 0},
        {true, SHOAL_MODEL_BODY, 2, 64, 168},     {true, SHOAL_MODEL_BODY, 4, 64, 0},
        {true, SHOAL_MODEL_BODY, 5, 64, 0},       {true, SHOAL_MODEL_BODY, 1, 128, 96},
        {false, SHOAL_MODEL_SYSTEM, 1, 32, 0},    {false, SHOAL_MODEL_BODY, 1, 32, 0},
        {false, SHOAL_MODEL_BODY, 1, 32, 255},    {false, SHOAL_MODEL_BODY, 1, 64, 0},
        {false, SHOAL_MODEL_COMPONENT, 1, 32, 0}, {false, SHOAL_MODEL_PAIR, 1, 32, 0},
    };
    int n = 1;
    list[0] = plan->choice;
    shoal_tune_rule(plan, plan->n_list, &list[0]);
    for (int i = 0; i < SHOAL_COUNT(known); i++) {
        bool is_new = known[i].many == (of_each(plan, plan->n_list) >= MANY_SYSTEMS);
        list[n] = plan->choice;
        is_new = is_new &&
                 candidate(plan, known[i].model, known[i].bodies, known[i].block, known[i].registers, &list[n]);
        for (int k = 0; k < n && is_new; k++)
            is_new = !same(&list[k], &list[n]);
        n += is_new;
    }
    return n;
}

/* ---- kept -------------------------------------------------------------------------------------------------------- */

/* The file of the choice: that of the rule's kernel with the class of the number of systems of a GPU; false if there is
 * no cache. */
static bool kept_file(const shoal_plan *plan, char *path, size_t size)
{
    const char *kernel = plan->engine_type->kernel_file(plan->engine);
    return *kernel &&
           snprintf(path, size, "%s.tuned%d", kernel, ilogb((double)of_each(plan, plan->n_list))) < (int)size;
}

static bool kept(const shoal_plan *plan, shoal_kernel_choice *choice, bool *on_cpu)
{
    char path[640], text[256], device[128], model[16], faster[8];
    shoal_kernel_choice found = *choice;
    int bodies, block, registers;
    return kept_file(plan, path, sizeof path) && shoal_cache_read(path, text, sizeof text) &&
           sscanf(text, "%15s bodies %d block %d registers %d, %7s faster, on %127[^\n]", model, &bodies, &block,
                  &registers, faster, device) == 6 &&
           strcmp(device, plan->engine_type->device(plan->engine)) == 0 && shoal_model_choose(&found, model) &&
           block >= 32 && block <= 1024 && block % 32 == 0 && bodies >= 1 && bodies <= 5 && registers >= 0 &&
           registers <= 255 && candidate(plan, found.model, bodies, block, registers, &found) &&
           (*choice = found, *on_cpu = strcmp(faster, "CPU") == 0, true);
}

static void keep(const char *path, const shoal_plan *plan, const shoal_kernel_choice *choice, bool on_cpu)
{
    char text[256];
    snprintf(text, sizeof text, "%s bodies %d block %d registers %d, %s faster, on %s\n", shoal_model_name(choice),
             shoal_team_each(choice), choice->tuning.block, choice->tuning.max_registers, on_cpu ? "CPU" : "GPU",
             plan->engine_type->device(plan->engine));
    shoal_cache_write(path, text);
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

/* Steps that take about MEASURE_S, if WARM_STEPS took so long. */
static double steps_worth(double seconds)
{
    return floor(fmin(fmax(WARM_STEPS * MEASURE_S / (seconds + 1e-9), WARM_STEPS), MOST_STEPS));
}

/* Seconds that a candidate takes for *steps steps of every system; 0: as many as take it about MEASURE_S. */
static shoal_status measure(shoal_plan *plan, const shoal_kernel_choice *choice, double *steps, double *seconds)
{
    shoal_kernel_choice measured = *choice;
    measured.alone = true; /* the run begins with the host's records as they are */
    shoal_status status = shoal_plan_exchange_engine(plan, &measured);
    if (!status)
        status = plan->engine_type->launch(plan->engine, SHOAL_INTEGRATE, plan->list, plan->n_list, WARM_STEPS);
    if (!status)
        status = plan->engine_type->wait(plan->engine, seconds);
    if (!status && *steps == 0)
        *steps = steps_worth(*seconds);
    if (!status)
        status = plan->engine_type->launch(plan->engine, SHOAL_INTEGRATE, plan->list, plan->n_list, *steps);
    if (!status)
        status = plan->engine_type->wait(plan->engine, seconds);
    return status;
}

/* Copies of some chunks of a plan's arrays, for an engine that moves its systems. Release them all. */
static bool copy_chunks(const shoal_plan *plan, long n_chunks, shoal_kernel_args *args)
{
    struct {
        double **array;
        size_t n_slots;
    } of[] = {{&args->bodies, (size_t)plan->ensemble->n_bodies * SHOAL_QUANTITIES},
              {&args->systems, SHOAL_SYS_FIELDS},
              {&args->native, shoal_native_slots(plan->propagator, args->n_moved)},
              {&args->watch, (size_t)(args->n_watch > 0 ? args->n_watch : 1)}};
    bool well = true;
    for (int i = 0; i < SHOAL_COUNT(of); i++) {
        const size_t size = (size_t)n_chunks * SHOAL_CHUNK * of[i].n_slots;
        double *copy = shoal_allocate(size, sizeof *copy);
        if (copy)
            memcpy(copy, *of[i].array, size * sizeof *copy);
        *of[i].array = copy;
        well = well && copy;
    }
    return well;
}

static void release_chunks(const shoal_kernel_args *args)
{
    free(args->bodies);
    free(args->systems);
    free(args->native);
    free(args->watch);
}

/* System-steps a second of this machine's CPU, from the first systems, which keep its threads busy; 0: not measured. */
static double measure_cpu(const shoal_plan *plan)
{
    enum { EACH = 64 }; /* systems a thread */
    shoal_context own = *plan->context;
    shoal_kernel_args args = plan->args;
    shoal_engine *engine = NULL;
    char line[256];
    double steps = WARM_STEPS, seconds = 0;
    const long most = (long)EACH * shoal_threads_or_default(plan->choice.threads) / SHOAL_CHUNK + 1,
               n_chunks = most < plan->ensemble->n_chunks ? most : plan->ensemble->n_chunks;
    long n = 0;
    while (n < plan->n_list && plan->list[n] < n_chunks * SHOAL_CHUNK)
        n++;
    shoal_status status = copy_chunks(plan, n_chunks, &args) && n > 0 ? SHOAL_OK : SHOAL_E_MEMORY;
    if (!status)
        status = shoal_engine_cpu.create(&own, &plan->choice, &args, (shoal_engine_range){0}, &engine, line,
                                         sizeof line);
    if (!status && !plan->goes_on)
        status = shoal_engine_cpu.launch(engine, SHOAL_PREPARE, plan->list, n, 0);
    for (int turn = 0; turn < 2 && !status; turn++) {
        if (turn == 1)
            steps = steps_worth(seconds);
        status = shoal_engine_cpu.launch(engine, SHOAL_INTEGRATE, plan->list, n, steps);
        if (!status)
            status = shoal_engine_cpu.wait(engine, &seconds);
    }
    shoal_engine_cpu.destroy(&engine);
    release_chunks(&args);
    return status ? 0 : steps * (double)n / seconds;
}

/* The CPU takes over from the GPU. */
static shoal_status go_to_cpu(shoal_plan *plan)
{
    plan->engine_type->destroy(&plan->engine);
    plan->engine_type = &shoal_engine_cpu;
    plan->devices.n = 0;
    plan->host_threads = shoal_threads_or_default(plan->choice.threads);
    shoal_plan_choose_form(plan);
    const shoal_status status = shoal_plan_create_engine(plan);
    return status ? status : shoal_plan_start_engine(plan);
}

/* How long the run, or what is left of it, lasts on a GPU, roughly. */
static double expected_seconds(const shoal_plan *plan)
{
    const double n = plan->ensemble->n_bodies;
    double steps = 0, most = 0;
    for (long i = 0; i < plan->n_list; i++) {
        const double left = *shoal_ensemble_field(plan->ensemble, SHOAL_SYS_END, plan->list[i]) -
                            shoal_plan_progress(plan, plan->list[i]);
        const double dt = fabs(*shoal_ensemble_field(plan->ensemble, SHOAL_SYS_DT, plan->list[i]));
        const double own = plan->propagator->adaptive ? left / dt : left;
        steps += own;
        most = fmax(most, own);
    }
    return fmax(steps * n * n * SHOAL_PAIR_S / (plan->devices.n > 1 ? plan->devices.n : 1), most * STEP_S);
}

shoal_status shoal_tune(shoal_plan *plan, char *why, size_t why_size)
{
    char path[640];
    shoal_kernel_choice list[SHOAL_MOST_TUNED] = {plan->choice};
    const bool always = strcmp(plan->tune, "always") == 0, cache = kept_file(plan, path, sizeof path);
    bool on_cpu = false;
    plan->n_chosen_for = plan->n_list;
    if (strcmp(plan->tune, "never") == 0 || plan->n_list == 0)
        return SHOAL_OK;
    if (!always && kept(plan, &list[0], &on_cpu)) {
        snprintf(why, why_size, " (the fastest when measured here)");
        if (on_cpu && plan->any_engine)
            return go_to_cpu(plan);
        return same(&list[0], &plan->choice) ? SHOAL_OK : shoal_plan_exchange_engine(plan, &list[0]);
    }
    if (!always && expected_seconds(plan) < LONG_RUN_S) {
        snprintf(why, why_size, " (by rule; too short a run to measure, `shoal tune` does)");
        return SHOAL_OK;
    }

    const int n = candidates(plan, list), records = plan->args.records;
    double steps = 0, least = INFINITY;
    int best = 0;
    for (long i = 0; i < plan->n_list; i++) { /* they may go on to the end */
        double *target = shoal_ensemble_field(plan->ensemble, SHOAL_SYS_TARGET, plan->list[i]);
        plan->expected[plan->list[i]] = *target; /* nobody needs it between slices */
        *target = *shoal_ensemble_field(plan->ensemble, SHOAL_SYS_END, plan->list[i]);
    }
    plan->args.records = -1; /* nobody pauses while it is measured */
    plan->n_tuned = 0;
    plan->engine_type->compile(plan->engine, list, n);
    for (int i = 0; i < n; i++) {
        double seconds = INFINITY;
        if (measure(plan, &list[i], &steps, &seconds) != SHOAL_OK)
            seconds = INFINITY; /* more than this device has; the rule's choice it could make */
        plan->tuned[plan->n_tuned++] = (shoal_tuned){list[i], false, steps * (double)plan->n_list / seconds};
        if (seconds < least) {
            least = seconds;
            best = i;
        }
    }
    if (of_each(plan, plan->n_list) >= MANY_SYSTEMS) {
        const double rate = measure_cpu(plan);
        on_cpu = rate > plan->tuned[best].rate;
        plan->tuned[plan->n_tuned++] = (shoal_tuned){plan->choice, true, rate};
    }
    for (long i = 0; i < plan->n_list; i++)
        *shoal_ensemble_field(plan->ensemble, SHOAL_SYS_TARGET, plan->list[i]) = plan->expected[plan->list[i]];
    plan->args.records = records;
    shoal_status status = shoal_plan_exchange_engine(plan, &list[best]);
    if (!status && cache)
        keep(path, plan, &list[best], on_cpu);
    if (!status && on_cpu && plan->any_engine)
        status = go_to_cpu(plan);
    snprintf(why, why_size, " (the fastest of %d measured)", plan->n_tuned);
    return status;
}

bool shoal_tune_is_due(const shoal_plan *plan, shoal_kernel_choice *choice)
{
    shoal_kernel_choice before = *choice = plan->choice;
    if (plan->engine_type == &shoal_engine_cpu || plan->n_list == 0)
        return false;
    shoal_tune_rule(plan, plan->n_chosen_for, &before);
    shoal_tune_rule(plan, plan->n_list, choice);
    /* blocks get smaller anyway */
    const bool alike = before.model == choice->model && shoal_team_each(&before) == shoal_team_each(choice);
    return !alike && expected_seconds(plan) >= LONG_REST_S;
}

shoal_status shoal_tune_again(shoal_plan *plan)
{
    char tuned[160];
    shoal_kernel_choice choice;
    if (!shoal_tune_is_due(plan, &choice))
        return SHOAL_OK;
    const int used = snprintf(tuned, sizeof tuned, ", for the %ld systems that are left", plan->n_list);
    shoal_status status = plan->engine_type->download(plan->engine, SHOAL_ARRAY_NATIVE | SHOAL_ARRAY_WATCH);
    plan->goes_on = true;
    if (!status)
        status = shoal_plan_exchange_engine(plan, &choice);
    if (!status)
        status = shoal_tune(plan, tuned + used, sizeof tuned - (size_t)used);
    if (!status)
        shoal_plan_write_line(plan, tuned, "");
    return status;
}
