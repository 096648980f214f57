/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plan.c: an ensemble with everything chosen: propagator, monitors, engine, kernels, steps. Runs slices over the list of systems still
 * going, and reads the state at any time from a copy.
 *
 * Time is t_start + steps * dt from an exact count. A system's target is the last whole step at or before the time asked for;
 * what is left is a partial step on a copy, so that no output changes a trajectory.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

#define SLICE_SECONDS 0.3 /* often enough for progress and Ctrl-C, seldom enough to cost nothing */
#define GPU_WORTHWHILE 4096 /* systems from which a GPU beats the CPU's lanes */

static double *field(const shoal_plan *plan, int which, long system)
{
    return shoal_ensemble_field(plan->ensemble, which, system);
}

/* A remainder below this fraction of a step is rounding of the times t and t_start + n dt, not time. */
static double whole_step(double t_start, double t, double dt)
{
    return fmax(1e-9, 8 * DBL_EPSILON * fmax(fabs(t_start), fabs(t)) / fabs(dt));
}

/* ---- options ------------------------------------------------------------------------------------------------------ */

static shoal_status read_settings(shoal_context *context, const char *plug, const shoal_parameter *parameters, int n_parameters,
                                  const shoal_setting *settings, int n_settings, int n_bodies, double *values)
{
    for (int i = 0; i < n_parameters; i++)
        values[i] = parameters[i].initial;
    for (int s = 0; s < n_settings; s++) {
        int i = 0;
        while (i < n_parameters && strcmp(parameters[i].name, settings[s].name) != 0)
            i++;
        if (i == n_parameters)
            return shoal_fail(context, SHOAL_E_USAGE, "%s has no parameter '%s'", plug, settings[s].name);
        values[i] = settings[s].value;
        if (parameters[i].type == SHOAL_CHOICE && settings[s].choice) {
            values[i] = shoal_choice_index(parameters[i].choices, settings[s].choice);
            if (values[i] < 0)
                return shoal_fail(context, SHOAL_E_USAGE, "%s.%s = '%s': expected one of %s", plug, parameters[i].name,
                                  settings[s].choice, parameters[i].choices);
        }
    }
    for (int i = 0; i < n_parameters; i++) {
        if (isnan(values[i]))
            return shoal_fail(context, SHOAL_E_USAGE, "%s.%s must be given: %s", plug, parameters[i].name, parameters[i].doc);
        if (!(values[i] >= parameters[i].least && values[i] <= parameters[i].most))
            return shoal_fail(context, SHOAL_E_USAGE, "%s.%s = %g: expected %g..%g", plug, parameters[i].name, values[i],
                              parameters[i].least, parameters[i].most);
        if (parameters[i].type == SHOAL_BODY) {
            if (values[i] >= n_bodies)
                return shoal_fail(context, SHOAL_E_USAGE, "%s.%s = %g: expected a body, 0..%d", plug, parameters[i].name,
                                  values[i], n_bodies - 1);
            if (values[i] < 0)
                values[i] = n_bodies - 1;
        }
    }
    return SHOAL_OK;
}

static shoal_status choose_propagator(shoal_plan *plan, const shoal_options *options)
{
    shoal_context *context = plan->context;
    const char *name = options->propagator ? options->propagator : "mvs";
    plan->propagator = shoal_propagator_find(name);
    if (!plan->propagator) {
        const char *names[64];
        int n = shoal_propagator_names(names, SHOAL_COUNT(names));
        const char *near = shoal_nearest(name, names, n);
        return shoal_fail(context, SHOAL_E_USAGE, "propagator '%s': no such propagator%s%s%s", name, near ? " (did you mean '" : "",
                          near ? near : "", near ? "'?)" : "");
    }
    plan->choice.propagator = plan->propagator;
    if (plan->propagator->refuses) {
        const char *why = plan->propagator->refuses(plan->ensemble);
        if (why)
            return shoal_fail(context, SHOAL_E_INPUT, "propagator %s: %s", plan->propagator->name, why);
    }
    shoal_status status = read_settings(context, plan->propagator->name, plan->propagator->parameters,
                                        plan->propagator->n_parameters, options->settings, options->n_settings,
                                        plan->ensemble->n_bodies, plan->args.propagator);
    for (int i = 0; i < plan->propagator->n_parameters; i++)
        if (strcmp(plan->propagator->parameters[i].name, "compensated") == 0)
            plan->choice.compensated = plan->args.compensated = plan->args.propagator[i] != 0;
    return status;
}

static shoal_status choose_monitors(shoal_plan *plan, const shoal_options *options)
{
    shoal_context *context = plan->context;
    const shoal_monitor_options *chosen[SHOAL_MAX_MONITORS] = {0};
    for (int i = 0; i < options->n_monitors; i++) {
        const char *name = options->monitors[i].name;
        int index = shoal_monitor_find(name);
        if (index < 0) {
            const char *names[SHOAL_MAX_MONITORS];
            int n = shoal_monitor_names(names, SHOAL_MAX_MONITORS);
            const char *near = shoal_nearest(name, names, n);
            return shoal_fail(context, SHOAL_E_USAGE, "monitor '%s': no such monitor%s%s%s", name, near ? " (did you mean '" : "",
                              near ? near : "", near ? "'?)" : "");
        }
        if (chosen[index])
            return shoal_fail(context, SHOAL_E_USAGE, "monitor '%s' is there twice", name);
        chosen[index] = &options->monitors[i];
    }
    for (int index = 0; shoal_monitors[index]; index++) {
        if (!chosen[index])
            continue;
        const shoal_monitor *type = shoal_monitors[index];
        shoal_status status = read_settings(context, type->name, type->parameters, type->n_parameters, chosen[index]->settings,
                                            chosen[index]->n_settings, plan->ensemble->n_bodies, plan->args.monitor[index]);
        if (status)
            return status;
        plan->choice.monitors |= 1 << index;
        plan->args.watch_offset[index] = plan->args.n_watch;
        plan->args.n_watch += type->n_slots;
    }
    return SHOAL_OK;
}

double shoal_shortest_period(const shoal_ensemble *ensemble, long system, shoal_body *bodies, shoal_orbit *orbits)
{
    shoal_system record;
    shoal_ensemble_get_system(ensemble, system, &record);
    shoal_ensemble_get_bodies(ensemble, system, bodies);
    double shortest = INFINITY;
    if (shoal_orbits_from_bodies(NULL, SHOAL_JACOBI, record.n_live, bodies, orbits) == SHOAL_OK)
        for (int i = 1; i < record.n_live; i++)
            if (orbits[i].P > 0 && orbits[i].P < shortest)
                shortest = orbits[i].P;
    return shortest;
}

/* The signed step and the number of whole steps of every system; with `commit` they are written, else only checked. */
static shoal_status choose_steps(shoal_plan *plan, const shoal_options *options, bool commit)
{
    shoal_ensemble *ensemble = plan->ensemble;
    shoal_status status = SHOAL_E_MEMORY;
    shoal_body *bodies = calloc((size_t)ensemble->n_bodies, sizeof *bodies);
    shoal_orbit *orbits = calloc((size_t)ensemble->n_bodies, sizeof *orbits);
    if (!bodies || !orbits) {
        shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
        goto done;
    }
    for (long system = 0; system < ensemble->n_systems; system++) {
        if (*field(plan, SHOAL_SYS_OUTCOME, system) != SHOAL_RUNNING)
            continue;
        double t_start = *field(plan, SHOAL_SYS_T_START, system), dt = *field(plan, SHOAL_SYS_DT, system);
        if (options->dt != 0)
            dt = options->dt;
        else if (options->steps_per_orbit > 0)
            dt = shoal_shortest_period(ensemble, system, bodies, orbits) / options->steps_per_orbit;
        dt = fabs(dt);
        double span = plan->t_end - t_start;
        if (*field(plan, SHOAL_SYS_STEP, system) != 0) {
            status = shoal_fail(plan->context, SHOAL_E_USAGE, "system %ld has been integrated by another plan: set its bodies anew",
                                ensemble->id[system]);
            goto done;
        }
        if (!(dt > 0 && isfinite(dt))) {
            status = shoal_fail(plan->context, SHOAL_E_INPUT, "system %ld: step %g: expected a finite number > 0",
                                ensemble->id[system], dt);
            goto done;
        }
        double n_end = floor(fabs(span) / dt + whole_step(t_start, plan->t_end, dt));
        if (!(n_end < 0x1p52)) {
            status = shoal_fail(plan->context, SHOAL_E_INPUT, "system %ld: %g steps of %g: too many to count", ensemble->id[system],
                                n_end, dt);
            goto done;
        }
        if (commit) {
            *field(plan, SHOAL_SYS_DT, system) = span < 0 ? -dt : dt;
            *field(plan, SHOAL_SYS_N_END, system) = n_end;
        }
    }
    status = SHOAL_OK;
done:
    free(bodies);
    free(orbits);
    return status;
}

static shoal_status choose_form(shoal_plan *plan, const shoal_options *options)
{
    const char *form = options->form ? options->form : "auto";
    int index = shoal_choice_index("pairs|rows|auto", form);
    if (index < 0)
        return shoal_fail(plan->context, SHOAL_E_USAGE, "form = '%s': expected auto, pairs or rows", form);
    /* rows keep fewer sums alive, which pays where they would not fit into a GPU's registers */
    if (index == 2)
        index = plan->engine_type == &shoal_engine_cuda && plan->ensemble->n_bodies > 10 ? SHOAL_FORM_ROWS : SHOAL_FORM_PAIRS;
    plan->choice.form = plan->args.form = index;
    return SHOAL_OK;
}

/* Choose and make the engine; `why` says why auto picked it. */
static shoal_status choose_engine(shoal_plan *plan, const shoal_options *options, char *engine_line, size_t line_size, char *why,
                                  size_t why_size)
{
    const char *name = options->engine ? options->engine : "auto";
    const char *model = options->work_model ? options->work_model : "auto";
    const char *missing = shoal_engine_cuda.missing();
    if (strcmp(model, "auto") != 0 && strcmp(model, "system") != 0)
        return shoal_fail(plan->context, SHOAL_E_USAGE, "work_model = '%s': expected auto or system", model);
    if (strcmp(name, "cpu") == 0) {
        plan->engine_type = &shoal_engine_cpu;
    } else if (strcmp(name, "cuda") == 0) {
        if (missing)
            return shoal_fail(plan->context, SHOAL_E_UNSUPPORTED, "engine = 'cuda': %s", missing);
        plan->engine_type = &shoal_engine_cuda;
    } else if (strcmp(name, "auto") == 0) {
        bool many = plan->n_list >= GPU_WORTHWHILE;
        plan->engine_type = !missing && many ? &shoal_engine_cuda : &shoal_engine_cpu;
        if (missing)
            snprintf(why, why_size, " (auto: %s)", missing);
        else
            snprintf(why, why_size, " (auto: %ld systems, a GPU pays from %d)", plan->n_list, GPU_WORTHWHILE);
    } else {
        return shoal_fail(plan->context, SHOAL_E_USAGE, "engine = '%s': expected auto, cpu or cuda", name);
    }
    shoal_status status = choose_form(plan, options);
    if (status)
        return status;
    return plan->engine_type->create(plan->context, &plan->choice, &plan->args, plan->ensemble->n_systems, &plan->engine,
                                     engine_line, line_size);
}

/* ---- the plan ----------------------------------------------------------------------------------------------------- */

static void list_running(shoal_plan *plan)
{
    plan->n_list = 0;
    for (long system = 0; system < plan->ensemble->n_systems; system++)
        if (*field(plan, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING)
            plan->list[plan->n_list++] = (int)system;
}

static void watch_begin(shoal_plan *plan)
{
    for (int index = 0; shoal_monitors[index]; index++) {
        if (!(plan->choice.monitors & (1 << index)) || !shoal_monitors[index]->initial)
            continue;
        for (long system = 0; system < plan->ensemble->n_chunks * SHOAL_CHUNK; system++)
            for (int slot = 0; slot < shoal_monitors[index]->n_slots; slot++)
                plan->args.watch[SHOAL_AT(system, plan->args.watch_offset[index] + slot, plan->args.n_watch)] =
                    shoal_monitors[index]->initial[slot];
    }
}

shoal_status shoal_plan_create(shoal_context *context, shoal_ensemble *ensemble, const shoal_options *options, shoal_plan **result)
{
    *result = NULL;
    char engine_line[256] = "", why[160] = "";
    shoal_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    plan->context = context;
    plan->ensemble = ensemble;
    plan->t_end = options->t_end;
    plan->slice_steps = 256;
    plan->target_time = NAN;
    plan->args.n_bodies = ensemble->n_bodies;
    plan->args.bodies = ensemble->bodies;
    plan->args.systems = ensemble->systems;
    plan->choice.n_bodies = ensemble->n_bodies;
    plan->choice.threads = options->threads;
    plan->choice.lanes = options->lanes;

    shoal_status status = SHOAL_OK;
    if (ensemble->n_bodies > SHOAL_MAX_BODIES)
        status = shoal_fail(context, SHOAL_E_UNSUPPORTED, "%d bodies a system: few-body kernels take at most %d", ensemble->n_bodies,
                            SHOAL_MAX_BODIES);
    else if (!isfinite(options->t_end))
        status = shoal_fail(context, SHOAL_E_USAGE, "t_end = %g: expected a finite time", options->t_end);
    if (!status)
        status = choose_propagator(plan, options);
    if (!status)
        status = choose_monitors(plan, options);
    if (!status)
        status = choose_steps(plan, options, false);
    if (status)
        goto fail;
    plan->args.monitors = plan->choice.monitors;

    const size_t padded = (size_t)ensemble->n_chunks * SHOAL_CHUNK;
    plan->args.native = shoal_allocate(padded * (size_t)(plan->propagator->n_slots * ensemble->n_bodies), sizeof(double));
    plan->args.snapshot = shoal_allocate(padded * (size_t)(6 * ensemble->n_bodies), sizeof(double));
    plan->args.watch = shoal_allocate(padded * (size_t)(plan->args.n_watch > 0 ? plan->args.n_watch : 1), sizeof(double));
    plan->list = malloc((size_t)ensemble->n_systems * sizeof *plan->list);
    if (!plan->args.native || !plan->args.snapshot || !plan->args.watch || !plan->list) {
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld systems of %d bodies", ensemble->n_systems,
                            ensemble->n_bodies);
        goto fail;
    }
    list_running(plan);
    watch_begin(plan);
    status = choose_engine(plan, options, engine_line, sizeof engine_line, why, sizeof why);
    if (!status)
        status = choose_steps(plan, options, true); /* last: a refused plan leaves the ensemble as it was */
    if (!status)
        status = plan->engine_type->upload(plan->engine, SHOAL_ARRAY_BODIES | SHOAL_ARRAY_SYSTEMS | SHOAL_ARRAY_WATCH);
    if (!status && plan->n_list > 0)
        status = plan->engine_type->launch(plan->engine, SHOAL_PREPARE, plan->list, plan->n_list, 0);
    if (status)
        goto fail;
    snprintf(plan->line, sizeof plan->line, "%s%s, n = %d, %s, work model system, %s%s", plan->propagator->name,
             plan->choice.compensated ? " (compensated)" : "", ensemble->n_bodies,
             plan->choice.form == SHOAL_FORM_ROWS ? "rows" : "pairs", engine_line, why);
    *result = plan;
    return SHOAL_OK;
fail:
    shoal_plan_destroy(&plan);
    return status;
}

void shoal_plan_destroy(shoal_plan **plan)
{
    if (!plan || !*plan)
        return;
    if ((*plan)->engine)
        (*plan)->engine_type->destroy(&(*plan)->engine);
    free((*plan)->args.native);
    free((*plan)->args.snapshot);
    free((*plan)->args.watch);
    free((*plan)->list);
    free(*plan);
    *plan = NULL;
}

const char *shoal_plan_line(const shoal_plan *plan)
{
    return plan->line;
}

/* ---- going on ----------------------------------------------------------------------------------------------------- */

/* Whole steps from t_start to t. */
static double steps_until(const shoal_plan *plan, long system, double t)
{
    const double t_start = *field(plan, SHOAL_SYS_T_START, system), dt = *field(plan, SHOAL_SYS_DT, system);
    double steps = floor((t - t_start) / dt + whole_step(t_start, t, dt));
    return fmin(steps, *field(plan, SHOAL_SYS_N_END, system));
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The targets of all running systems for the time t; the engine hears of them with the next upload of the records. */
static void set_targets(shoal_plan *plan, double t)
{
    for (long i = 0; i < plan->n_list; i++)
        *field(plan, SHOAL_SYS_TARGET, plan->list[i]) = steps_until(plan, plan->list[i], t);
    plan->target_time = t;
}

shoal_status shoal_plan_slice(shoal_plan *plan, double t, long *n_moved)
{
    shoal_status status = SHOAL_OK;
    int *moving = malloc((size_t)(plan->n_list > 0 ? plan->n_list : 1) * sizeof *moving);
    long n_moving = 0, kept = 0;
    double before = 0, after = 0;
    *n_moved = 0;
    if (!moving)
        return shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
    const bool new_targets = !(t == plan->target_time);
    if (new_targets)
        set_targets(plan, t);
    for (long i = 0; i < plan->n_list; i++) {
        const double steps = *field(plan, SHOAL_SYS_STEP, plan->list[i]);
        if (steps < *field(plan, SHOAL_SYS_TARGET, plan->list[i])) {
            moving[n_moving++] = plan->list[i];
            before += steps;
        }
    }
    if (n_moving > 0) {
        const double began = seconds_now();
        plan->watch_fresh = false;
        if (new_targets)
            status = plan->engine_type->upload(plan->engine, SHOAL_ARRAY_SYSTEMS);
        if (!status)
            status = plan->engine_type->launch(plan->engine, SHOAL_INTEGRATE, moving, n_moving, (double)plan->slice_steps);
        if (!status)
            status = plan->engine_type->download(plan->engine, SHOAL_ARRAY_SYSTEMS);
        if (status)
            goto done;
        const double factor = SLICE_SECONDS / (seconds_now() - began + 1e-9);
        plan->slice_steps = (long)fmin(fmax(16, (double)plan->slice_steps * fmin(fmax(factor, 0.25), 8)), 1e8);
        for (long i = 0; i < n_moving; i++)
            after += *field(plan, SHOAL_SYS_STEP, moving[i]);
        plan->system_steps += after - before;
    }
    /* those that are done leave the list */
    for (long i = 0; i < plan->n_list; i++) {
        const int system = plan->list[i];
        double *outcome = field(plan, SHOAL_SYS_OUTCOME, system);
        if (t == plan->t_end && *outcome == SHOAL_RUNNING &&
            *field(plan, SHOAL_SYS_STEP, system) >= *field(plan, SHOAL_SYS_N_END, system)) {
            *outcome = SHOAL_SURVIVED;
            *field(plan, SHOAL_SYS_T_STOP, system) = plan->t_end;
            plan->target_time = NAN; /* the engine must hear of it before it hands the records back */
        }
        if (*outcome == SHOAL_RUNNING)
            plan->list[kept++] = system;
    }
    plan->n_list = kept;
    *n_moved = n_moving;
done:
    free(moving);
    return status;
}

shoal_status shoal_plan_snapshot(shoal_plan *plan, double t, const int *list, long n_list)
{
    if (n_list == 0)
        return SHOAL_OK;
    for (long i = 0; i < n_list; i++) {
        const int system = list[i], outcome = (int)*field(plan, SHOAL_SYS_OUTCOME, system);
        const double dt = *field(plan, SHOAL_SYS_DT, system);
        const double t_start = *field(plan, SHOAL_SYS_T_START, system);
        const double now = t_start + *field(plan, SHOAL_SYS_STEP, system) * dt;
        const bool alive = outcome == SHOAL_RUNNING || outcome == SHOAL_SURVIVED;
        const double tolerance = whole_step(t_start, t, dt);
        double partial = alive && !isnan(t) ? (outcome == SHOAL_SURVIVED ? plan->t_end : t) - now : 0;
        if (fabs(partial) <= tolerance * fabs(dt))
            partial = 0;
        if (partial / dt < 0 || partial / dt > 1 + tolerance)
            return shoal_fail(plan->context, SHOAL_E_USAGE, "system %ld: a snapshot at %.17g is not within the step after %.17g",
                              plan->ensemble->id[system], t, now);
        *field(plan, SHOAL_SYS_PARTIAL, system) = partial;
    }
    shoal_status status = plan->engine_type->upload(plan->engine, SHOAL_ARRAY_SYSTEMS);
    if (!status)
        status = plan->engine_type->launch(plan->engine, SHOAL_SNAPSHOT, list, n_list, 0);
    if (!status)
        status = plan->engine_type->download(plan->engine, SHOAL_ARRAY_SNAPSHOT);
    return status;
}

shoal_status shoal_plan_integrate(shoal_plan *plan, double t)
{
    shoal_ensemble *ensemble = plan->ensemble;
    if (!isfinite(t))
        return shoal_fail(plan->context, SHOAL_E_USAGE, "time %g: expected a finite number", t);
    for (long i = 0; i < plan->n_list; i++) {
        const double dt = *field(plan, SHOAL_SYS_DT, plan->list[i]);
        const double rounding = whole_step(*field(plan, SHOAL_SYS_T_START, plan->list[i]), t, dt);
        if ((t - ensemble->time[plan->list[i]]) / dt < -rounding || (plan->t_end - t) / dt < -rounding)
            return shoal_fail(plan->context, SHOAL_E_USAGE, "time %.17g: expected a time from %.17g to t_end = %.17g", t,
                              ensemble->time[plan->list[i]], plan->t_end);
    }
    int *list = malloc((size_t)ensemble->n_systems * sizeof *list);
    if (!list)
        return shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
    const long n_list = plan->n_list; /* those that move now; the others have their last state already */
    memcpy(list, plan->list, (size_t)n_list * sizeof *list);
    shoal_status status = SHOAL_OK;
    for (long n_moved = 1; !status && n_moved > 0;)
        status = shoal_plan_slice(plan, t, &n_moved);
    if (!status)
        status = shoal_plan_snapshot(plan, t, list, n_list);
    for (long i = 0; !status && i < n_list; i++) {
        const int system = list[i];
        for (int body = 0; body < ensemble->n_bodies; body++)
            for (int q = 0; q < 6; q++)
                *shoal_ensemble_body(ensemble, body, q, system) =
                    plan->args.snapshot[SHOAL_AT(system, 6 * body + q, 6 * ensemble->n_bodies)];
        ensemble->time[system] = *field(plan, SHOAL_SYS_T_START, system) +
                                 *field(plan, SHOAL_SYS_STEP, system) * *field(plan, SHOAL_SYS_DT, system);
        if (*field(plan, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING || *field(plan, SHOAL_SYS_OUTCOME, system) == SHOAL_SURVIVED)
            ensemble->time[system] = t;
    }
    free(list);
    return status;
}

double shoal_plan_column(shoal_plan *plan, const char *column, long system)
{
    for (int index = 0; shoal_monitors[index]; index++) {
        const shoal_monitor *type = shoal_monitors[index];
        if (!(plan->choice.monitors & (1 << index)))
            continue;
        for (int c = 0; c < type->n_columns; c++) {
            if (strcmp(type->columns[c].name, column) != 0)
                continue;
            if (!plan->watch_fresh && plan->engine_type->download(plan->engine, SHOAL_ARRAY_WATCH) != SHOAL_OK)
                return NAN;
            plan->watch_fresh = true;
            double slots[64];
            for (int slot = 0; slot < type->n_slots; slot++)
                slots[slot] = plan->args.watch[SHOAL_AT(system, plan->args.watch_offset[index] + slot, plan->args.n_watch)];
            return type->columns[c].finish(slots, plan->args.monitor[index]);
        }
    }
    return NAN;
}

/* ---- restart ------------------------------------------------------------------------------------------------------ */

/* The arrays that a restart needs, with their sizes in bytes. */
static int state_parts(const shoal_plan *plan, double **part, size_t *size)
{
    const size_t slot = (size_t)plan->ensemble->n_chunks * SHOAL_CHUNK * sizeof(double);
    part[0] = plan->args.systems;
    size[0] = slot * SHOAL_SYS_FIELDS;
    part[1] = plan->args.native;
    size[1] = slot * (size_t)(plan->propagator->n_slots * plan->args.n_bodies);
    part[2] = plan->args.watch;
    size[2] = slot * (size_t)plan->args.n_watch;
    return 3;
}

size_t shoal_plan_state_size(const shoal_plan *plan)
{
    double *part[3];
    size_t size[3], sum = sizeof plan->system_steps;
    for (int i = 0, n = state_parts(plan, part, size); i < n; i++)
        sum += size[i];
    return sum;
}

shoal_status shoal_plan_state_save(shoal_plan *plan, void *state)
{
    double *part[3];
    size_t size[3];
    char *at = state;
    shoal_status status = plan->engine_type->download(plan->engine, SHOAL_ARRAY_SYSTEMS | SHOAL_ARRAY_NATIVE | SHOAL_ARRAY_WATCH);
    if (status)
        return status;
    memcpy(at, &plan->system_steps, sizeof plan->system_steps);
    at += sizeof plan->system_steps;
    for (int i = 0, n = state_parts(plan, part, size); i < n; at += size[i], i++)
        memcpy(at, part[i], size[i]);
    return SHOAL_OK;
}

shoal_status shoal_plan_state_load(shoal_plan *plan, const void *state)
{
    double *part[3];
    size_t size[3];
    const char *at = state;
    memcpy(&plan->system_steps, at, sizeof plan->system_steps);
    at += sizeof plan->system_steps;
    for (int i = 0, n = state_parts(plan, part, size); i < n; at += size[i], i++)
        memcpy(part[i], at, size[i]);
    list_running(plan);
    plan->target_time = NAN;
    return plan->engine_type->upload(plan->engine, SHOAL_ARRAY_SYSTEMS | SHOAL_ARRAY_NATIVE | SHOAL_ARRAY_WATCH);
}
