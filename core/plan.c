/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plan.c: an ensemble with everything chosen: propagator, monitors, engine, kernels, steps. slice.c runs it over the list of systems
 * still going, and reads the state at any time from a copy.
 *
 * Time is t_start + steps * dt from an exact count, or with adaptive steps their compensated sum. A system's target is the last
 * step at or before the time asked for; what is left is made on a copy, so that no output changes a trajectory. Times asked for
 * may be counted in periods of each system (options.orbits): shoal_plan_when says what they are.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define GPU_WORTHWHILE 64 /* systems for each CPU thread from which a GPU is faster: 1 us a step against some 15 ns on a core */
#define SYSTEMS_A_THREAD 8192 /* at least, of a GPU's host, which leaves two cores to the journal and the driver */

static double *field(const shoal_plan *plan, int which, long system)
{
    return shoal_ensemble_field(plan->ensemble, which, system);
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
        if (settings[s].choice) {
            const int choice = parameters[i].choices ? shoal_choice_index(parameters[i].choices, settings[s].choice) : -1;
            if (choice < 0)
                return shoal_fail(context, SHOAL_E_USAGE, "%s.%s = '%s': expected %s%s", plug, parameters[i].name, settings[s].choice,
                                  parameters[i].choices ? "one of " : "a number", parameters[i].choices ? parameters[i].choices : "");
            values[i] = parameters[i].type == SHOAL_CHOICE ? choice : strtod(settings[s].choice, NULL);
        }
    }
    for (int i = 0; i < n_parameters; i++) {
        if (isnan(values[i]))
            return shoal_fail(context, SHOAL_E_USAGE, "%s.%s must be given: %s", plug, parameters[i].name, parameters[i].doc);
        if (!(values[i] >= parameters[i].least && values[i] <= parameters[i].most))
            return shoal_fail(context, SHOAL_E_USAGE, "%s.%s = %g: expected %g..%g", plug, parameters[i].name, values[i],
                              parameters[i].least, parameters[i].most);
        if (parameters[i].type == SHOAL_INTEGER && parameters[i].choices) {
            char word[32];
            snprintf(word, sizeof word, "%.17g", values[i]);
            if (shoal_choice_index(parameters[i].choices, word) < 0)
                return shoal_fail(context, SHOAL_E_USAGE, "%s.%s = %s: expected one of %s", plug, parameters[i].name, word,
                                  parameters[i].choices);
        }
        if ((parameters[i].type == SHOAL_INTEGER || parameters[i].type == SHOAL_BODY) && values[i] != trunc(values[i]))
            return shoal_fail(context, SHOAL_E_USAGE, "%s.%s = %g: expected an integer", plug, parameters[i].name, values[i]);
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
    plan->propagator = shoal_propagator_find(context, name);
    if (!plan->propagator) {
        const char *names[64];
        int n = shoal_propagator_names(context, names, SHOAL_COUNT(names));
        const char *near = shoal_nearest(name, names, n);
        return shoal_fail(context, SHOAL_E_USAGE, "propagator '%s': no such propagator%s%s%s", name,
                          near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    }
    plan->choice.propagator = plan->propagator;
    shoal_status status = read_settings(context, plan->propagator->name, plan->propagator->parameters,
                                        plan->propagator->n_parameters, options->settings, options->n_settings,
                                        plan->ensemble->n_bodies, plan->args.propagator);
    double value;
    for (int k = 0, preset; (preset = shoal_propagator_preset(plan->propagator, name, k, &value)) >= 0; k++) {
        bool given = false;
        for (int s = 0; s < options->n_settings; s++)
            given = given || strcmp(options->settings[s].name, plan->propagator->parameters[preset].name) == 0;
        if (!given)
            plan->args.propagator[preset] = value;
    }
    for (int i = 0; i < plan->propagator->n_parameters; i++)
        if (strcmp(plan->propagator->parameters[i].name, "compensated") == 0)
            plan->choice.compensated = plan->args.compensated = plan->args.propagator[i] != 0;
    return status;
}

/* Whether a monitor has a parameter of this name that is not 0. */
static bool says(const shoal_monitor *type, const double *parameters, const char *name)
{
    for (int i = 0; i < type->n_parameters; i++)
        if (strcmp(type->parameters[i].name, name) == 0)
            return parameters[i] != 0;
    return false;
}

/* Whether it lets systems go on. */
static bool goes_on(const shoal_monitor *type, const double *parameters)
{
    return says(type, parameters, "action");
}

static shoal_status choose_monitors(shoal_plan *plan, const shoal_options *options)
{
    shoal_context *context = plan->context;
    const shoal_plug_options *chosen[SHOAL_MAX_MONITORS] = {0};
    const char *changes = NULL;
    const int n = plan->ensemble->n_bodies;
    bool marks = false;
    int n_logs = 0;
    for (int i = 0; i < options->n_monitors; i++) {
        const char *name = options->monitors[i].name;
        int index = shoal_monitor_find(context, name);
        if (index < 0) {
            const char *names[SHOAL_MAX_MONITORS];
            const int n_names = shoal_monitor_names(context, names, SHOAL_MAX_MONITORS);
            const char *near = shoal_nearest(name, names, n_names);
            return shoal_fail(context, SHOAL_E_USAGE, "monitor '%s': no such monitor%s%s%s", name, near ? " (did you mean '" : "",
                              near ? near : "", near ? "'?)" : "");
        }
        if (chosen[index])
            return shoal_fail(context, SHOAL_E_USAGE, "monitor '%s' is there twice", name);
        chosen[index] = &options->monitors[i];
    }
    for (int index = 0; shoal_plugs_of(plan->context)->monitors[index]; index++) {
        if (!chosen[index])
            continue;
        const shoal_monitor *type = shoal_plugs_of(plan->context)->monitors[index];
        shoal_status status = read_settings(context, type->name, type->parameters, type->n_parameters, chosen[index]->settings,
                                            chosen[index]->n_settings, n, plan->args.monitor[index]);
        if (status)
            return status;
        plan->choice.monitors |= 1 << index;
        plan->args.watch_offset[index] = plan->args.n_watch;
        plan->args.n_watch += type->n_slots + type->n_part_slots * shoal_monitor_n_parts(type, n);
        const char *why = type->refuses ? type->refuses(plan->args.monitor[index], NULL) : NULL;
        if (why)
            return shoal_fail(context, SHOAL_E_INPUT, "monitor %s: %s", type->name, why);
        if (type->newton_only && plan->args.n_forces > 0)
            return shoal_fail(context, SHOAL_E_UNSUPPORTED, "monitor %s: it knows Newton's force alone; dE_final of a result counts the energies of forces that have one", type->name);
        if (type->tangent && !plan->propagator->tangent)
            return shoal_fail(context, SHOAL_E_USAGE, "monitor %s: the propagator %s moves no tangent vectors; use %s",
                              type->name, plan->propagator->name, "mvs, hermite4 or gauss_radau");
        plan->choice.variational |= type->tangent;
        marks = marks || goes_on(type, plan->args.monitor[index]);
        n_logs += type->records && says(type, plan->args.monitor[index], "log");
        changes = goes_on(type, plan->args.monitor[index]) && strcmp(type->name, "stop_on_encounter") != 0 ? type->name : changes;
    }
    if (plan->choice.variational && changes)
        return shoal_fail(context, SHOAL_E_USAGE,
                          "monitor %s: a tangent vector does not outlive a change of bodies; use action = stop", changes);
    plan->args.marks = marks ? plan->args.n_watch : -1;
    plan->args.n_watch += marks ? n * n : 0;
    plan->args.records = n_logs > 0 ? plan->args.n_watch : -1;
    plan->args.record_room = SHOAL_RECORDS_PAUSE + n_logs * n;
    plan->args.n_watch += n_logs > 0 ? 1 + plan->args.record_room * SHOAL_RECORD_FIELDS : 0;
    plan->args.monitors = plan->choice.monitors;
    plan->args.variational = plan->choice.variational;
    plan->args.n_moved = shoal_choice_moved(&plan->choice);
    if (plan->args.n_moved > SHOAL_MAX_BODIES)
        return shoal_fail(context, SHOAL_E_UNSUPPORTED, "%d bodies a system%s: few-body kernels take at most %d",
                          plan->args.n_moved, plan->args.variational ? " with their tangent vectors" : "", SHOAL_MAX_BODIES);
    return SHOAL_OK;
}

static shoal_status choose_forces(shoal_plan *plan, const shoal_options *options)
{
    shoal_context *context = plan->context;
    if (options->n_forces > SHOAL_MAX_FORCES)
        return shoal_fail(context, SHOAL_E_USAGE, "%d forces: at most %d", options->n_forces, SHOAL_MAX_FORCES);
    if (options->n_forces > 0 && plan->propagator->newton_only)
        return shoal_fail(context, SHOAL_E_USAGE,
                          "forces: the propagator %s knows Newton's alone; use mvs, mvs_whds or hermite4",
                          plan->propagator->name);
    for (int i = 0; i < options->n_forces; i++) {
        const char *name = options->forces[i].name;
        const int index = shoal_force_find(context, name);
        if (index < 0) {
            const char *names[64];
            const char *near = shoal_nearest(name, names, shoal_force_names(context, names, SHOAL_COUNT(names)));
            return shoal_fail(context, SHOAL_E_USAGE, "force '%s': no such force%s%s%s", name, near ? " (did you mean '" : "",
                              near ? near : "", near ? "'?)" : "");
        }
        const shoal_force *type = shoal_plugs_of(context)->forces[index];
        shoal_status status = read_settings(context, type->name, type->parameters, type->n_parameters,
                                            options->forces[i].settings, options->forces[i].n_settings,
                                            plan->ensemble->n_bodies, plan->args.force[i]);
        if (status)
            return status;
        plan->args.force_kind[i] = index;
        plan->choice.forces |= 1 << index;
    }
    plan->args.forces = plan->choice.forces;
    plan->args.n_forces = options->n_forces;
    return SHOAL_OK;
}

enum { MOST_THREADS = 4096 };

/* Refuse options that no plan can have. */
static shoal_status check_options(shoal_context *context, const shoal_options *options)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"steps_per_orbit", options->steps_per_orbit}, {"dt_min", options->dt_min}, {"dt_max", options->dt_max},
                   {"max_steps", (double)options->max_steps}, {"threads", options->threads}, {"n_settings", options->n_settings},
                   {"n_monitors", options->n_monitors}, {"n_forces", options->n_forces}};
    for (int i = 0; i < SHOAL_COUNT(numbers); i++)
        if (!(numbers[i].value >= 0))
            return shoal_fail(context, SHOAL_E_USAGE, "%s = %g: expected a number >= 0", numbers[i].name, numbers[i].value);
    if (options->threads > MOST_THREADS)
        return shoal_fail(context, SHOAL_E_USAGE, "threads = %d: expected at most %d", options->threads, MOST_THREADS);
    if (options->dt_max > 0 && options->dt_min > options->dt_max)
        return shoal_fail(context, SHOAL_E_USAGE, "dt_min = %g: expected at most dt_max = %g", options->dt_min, options->dt_max);
    if (options->dt != 0 && options->steps_per_orbit > 0)
        return shoal_fail(context, SHOAL_E_USAGE, "dt = %g and steps_per_orbit = %g: expected one of them", options->dt, options->steps_per_orbit);
    return SHOAL_OK;
}

/* Refuse a propagator or a force that is for none of the systems; with `commit`, systems that one is not for become `invalid`. */
static shoal_status check_systems(const shoal_plan *plan, bool commit)
{
    for (int i = -1; i < plan->args.n_forces; i++) {
        const shoal_force *force = i < 0 ? NULL : shoal_plugs_of(plan->context)->forces[plan->args.force_kind[i]];
        const shoal_refused refused = shoal_ensemble_refuse(plan->ensemble, force ? force->refuses : plan->propagator->refuses,
                                                            force ? plan->args.force[i] : plan->args.propagator, commit);
        if (!commit && refused.n > 0 && refused.n_fit == 0)
            return shoal_fail(plan->context, SHOAL_E_INPUT, "%s %s: %s", force ? "force" : "propagator",
                              force ? force->name : plan->propagator->name, refused.why);
    }
    return SHOAL_OK;
}

/* The ensemble's energies count the plan's forces from now on. */
static void count_forces(shoal_plan *plan)
{
    shoal_ensemble *ensemble = plan->ensemble;
    if (plan->args.n_forces == 0 && ensemble->n_forces == 0)
        return;
    ensemble->n_forces = plan->args.n_forces;
    for (int i = 0; i < plan->args.n_forces; i++) {
        ensemble->force[i] = shoal_plugs_of(plan->context)->forces[plan->args.force_kind[i]];
        memcpy(ensemble->force_parameter[i], plan->args.force[i], sizeof plan->args.force[i]);
    }
    for (long i = 0; i < plan->n_list; i++)
        ensemble->energy_start[plan->list[i]] = shoal_ensemble_energy(ensemble, plan->list[i]);
}

/* A first step for an adaptive propagator: a hundredth of the shortest time in which a pair meets or falls together. */
static double first_step(int n, const shoal_body *bodies)
{
    double shortest = INFINITY;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            const double d[3] = {bodies[i].x - bodies[j].x, bodies[i].y - bodies[j].y, bodies[i].z - bodies[j].z};
            const double u[3] = {bodies[i].vx - bodies[j].vx, bodies[i].vy - bodies[j].vy, bodies[i].vz - bodies[j].vz};
            const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], v2 = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
            shortest = fmin(shortest, r2 / (v2 + (bodies[i].m + bodies[j].m) / sqrt(r2)));
        }
    return 2 * M_PI / 100 * sqrt(shortest);
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

double shoal_plan_when(const shoal_plan *plan, long system, double t)
{
    return plan->period ? *field(plan, SHOAL_SYS_T_START, system) + t * plan->period[system] : t;
}

/* A plan begins with systems that no plan has moved; a new one, with none that a plan has ended, too. */
static shoal_status check_begun(const shoal_plan *plan, bool new)
{
    for (long system = 0; system < plan->ensemble->n_systems; system++) {
        const int outcome = (int)*field(plan, SHOAL_SYS_OUTCOME, system);
        if (outcome == SHOAL_RUNNING && *field(plan, SHOAL_SYS_STEP, system) != 0)
            return shoal_fail(plan->context, SHOAL_E_USAGE, "system %ld runs and has been integrated: set its bodies anew",
                              plan->ensemble->id[system]);
        if (new && outcome != SHOAL_RUNNING && outcome != SHOAL_INVALID)
            return shoal_fail(plan->context, SHOAL_E_USAGE, "system %ld has ended (%s) by another plan: set its bodies anew",
                              plan->ensemble->id[system], shoal_outcome_name(outcome));
    }
    return SHOAL_OK;
}

/* The periods in which times are counted, if they are. */
static shoal_status find_periods(shoal_plan *plan)
{
    shoal_ensemble *ensemble = plan->ensemble;
    shoal_status status = SHOAL_OK;
    if (!plan->period)
        return SHOAL_OK;
    shoal_body *bodies = calloc((size_t)ensemble->n_bodies, sizeof *bodies);
    shoal_orbit *orbits = calloc((size_t)ensemble->n_bodies, sizeof *orbits);
    if (!bodies || !orbits)
        status = shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
    for (long system = 0; system < ensemble->n_systems && !status; system++)
        if (*field(plan, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING)
            plan->period[system] = shoal_shortest_period(ensemble, system, bodies, orbits);
    free(bodies);
    free(orbits);
    return status;
}

/* When the systems end. */
static shoal_status choose_end(shoal_plan *plan, const shoal_options *options)
{
    plan->t_end = options->orbits != 0 ? options->orbits : options->t_end;
    if (!isfinite(plan->t_end))
        return shoal_fail(plan->context, SHOAL_E_USAGE, "t_end = %g: expected a finite time", plan->t_end);
    if (options->orbits != 0 && !(plan->period = calloc((size_t)plan->ensemble->n_systems, sizeof *plan->period)))
        return shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
    return find_periods(plan);
}

/* The signed step and the number of whole steps of every running system; with `commit` they are written, else only checked. */
static shoal_status choose_steps(shoal_plan *plan, bool commit)
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
        if (plan->dt != 0)
            dt = plan->dt;
        else if (plan->steps_per_orbit > 0)
            dt = shoal_shortest_period(ensemble, system, bodies, orbits) / plan->steps_per_orbit;
        else if (dt == 0 && plan->propagator->adaptive) {
            shoal_ensemble_get_bodies(ensemble, system, bodies);
            dt = first_step((int)*field(plan, SHOAL_SYS_N_LIVE, system), bodies);
        }
        dt = fmin(fabs(dt), plan->args.dt_max);
        const double t_end = shoal_plan_when(plan, system, plan->t_end), span = t_end - t_start;
        if (!isfinite(t_start)) {
            status = shoal_fail(plan->context, SHOAL_E_INPUT, "system %ld: t_start = %g: expected a finite time", ensemble->id[system], t_start);
            goto done;
        }
        if ((plan->dt == 0 && plan->steps_per_orbit > 0 && !isfinite(dt)) || !isfinite(t_end)) { /* no orbit is bound */
            if (commit)
                *field(plan, SHOAL_SYS_OUTCOME, system) = SHOAL_INVALID;
            continue;
        }
        if (!(dt > 0 && isfinite(dt))) {
            status = shoal_fail(plan->context, SHOAL_E_INPUT, "system %ld: step %g: expected a finite number > 0",
                                ensemble->id[system], dt);
            goto done;
        }
        double end = plan->propagator->adaptive ? fabs(span) : floor(fabs(span) / dt + shoal_whole_step(t_start, t_end, dt));
        if (!plan->propagator->adaptive && !(end < 0x1p52)) {
            status = shoal_fail(plan->context, SHOAL_E_INPUT, "system %ld: %g steps of %g: too many to count",
                                ensemble->id[system], end, dt);
            goto done;
        }
        if (commit) {
            *field(plan, SHOAL_SYS_DT, system) = span < 0 ? -dt : dt;
            *field(plan, SHOAL_SYS_END, system) = end;
        }
    }
    status = SHOAL_OK;
done:
    free(bodies);
    free(orbits);
    return status;
}

/* How many bodies have mass in some system, and whether body 0 has 1 in all, and keeps it. */
static int find_massive(const shoal_plan *plan, bool *unit_star)
{
    const int n = plan->ensemble->n_bodies;
    int n_massive = 1;
    *unit_star = plan->args.marks < 0; /* nobody merges with it */
    for (long i = 0; i < plan->n_list; i++) {
        *unit_star = *unit_star && *shoal_ensemble_body(plan->ensemble, 0, SHOAL_M, plan->list[i]) == 1;
        for (int body = n - 1; body >= n_massive; body--)
            if (*shoal_ensemble_body(plan->ensemble, body, SHOAL_M, plan->list[i]) != 0)
                n_massive = body + 1;
    }
    return n_massive;
}

static shoal_status choose_form(shoal_plan *plan, const shoal_options *options)
{
    const char *form = options->form ? options->form : "auto";
    int index = shoal_choice_index("pairs|rows|auto", form);
    if (index < 0)
        return shoal_fail(plan->context, SHOAL_E_USAGE, "form = '%s': expected auto, pairs or rows", form);
    const int n = plan->ensemble->n_bodies;
    bool unit_star;
    const int n_massive = find_massive(plan, &unit_star);
    /* rows keep fewer sums alive, which pays where they would not fit into a GPU's registers, and on a CPU leave out what attracts nobody; up to nine
     * bodies its pairs are unrolled and cost less each, and are a small part of a map */
    const bool on_gpu = plan->engine_type == &shoal_engine_cuda;
    const bool rows = on_gpu ? n > 10 : n > 9 ? 2 * n_massive < n : 3 * n_massive <= n && plan->propagator->first_body == 0;
    if (index == 2)
        index = rows ? SHOAL_FORM_ROWS : SHOAL_FORM_PAIRS;
    plan->choice.form = plan->args.form = index;
    plan->choice.n_massive = plan->args.n_massive = n_massive;
    plan->choice.unit_star = unit_star && on_gpu && plan->propagator->first_body > 0;
    return SHOAL_OK;
}

/* A GPU's work model, the user's or by rule, and the rest of what he leaves open. */
static shoal_status choose_model(shoal_plan *plan, const shoal_options *options)
{
    const char *model = options->work_model ? options->work_model : "auto";
    const char *tune = options->tune ? options->tune : "auto";
    if (strcmp(model, "auto") == 0 && options->gpu_bodies)
        model = "body";
    plan->any_model = strcmp(model, "auto") == 0;
    plan->forced = plan->choice.tuning = (shoal_tuning){options->gpu_block, options->gpu_registers, options->gpu_bodies};
    if (!plan->any_model && !shoal_model_choose(&plan->choice, model))
        return shoal_fail(plan->context, SHOAL_E_USAGE, "work_model = '%s': expected one of %s", model, SHOAL_MODEL_CHOICES);
    if (shoal_choice_index("auto|always|never", tune) < 0)
        return shoal_fail(plan->context, SHOAL_E_USAGE, "tune = '%s': expected auto, always or never", tune);
    snprintf(plan->tune, sizeof plan->tune, "%s", tune);
    if (plan->forced.block < 0 || plan->forced.block > 1024 || plan->forced.block % 32 != 0)
        return shoal_fail(plan->context, SHOAL_E_USAGE, "gpu_block = %d: expected a multiple of 32, at most 1024", plan->forced.block);
    if (plan->forced.max_registers != 0 && (plan->forced.max_registers < 16 || plan->forced.max_registers > 255))
        return shoal_fail(plan->context, SHOAL_E_USAGE, "gpu_registers = %d: expected 16..255", plan->forced.max_registers);
    if (plan->forced.bodies < 0 || plan->forced.bodies > 5 || plan->forced.bodies == 3)
        return shoal_fail(plan->context, SHOAL_E_USAGE, "gpu_bodies = %d: expected 1, 2, 4 or 5", plan->forced.bodies);
    if (plan->forced.bodies && plan->choice.model != SHOAL_MODEL_BODY)
        return shoal_fail(plan->context, SHOAL_E_USAGE, "gpu_bodies = %d: expected the work model 'body', not '%s'", plan->forced.bodies, model);
    if (plan->forced.bodies > 1 && shoal_team_each(&plan->choice) != plan->forced.bodies)
        return shoal_fail(plan->context, SHOAL_E_USAGE, "gpu_bodies = %d: %s has no such threads for %d bodies; expected %d at most",
                          plan->forced.bodies, plan->propagator->name, plan->ensemble->n_bodies, shoal_team_each(&plan->choice));
    if (!plan->any_model && plan->choice.model != SHOAL_MODEL_SYSTEM && shoal_plugin_is(plan->context, plan->propagator))
        return shoal_fail(plan->context, SHOAL_E_USAGE, "work_model = '%s': a plugin's propagator has a thread a system", model);
    if (!plan->any_model && !shoal_team_fits(&plan->choice))
        return shoal_fail(plan->context, SHOAL_E_USAGE, "work_model = '%s': systems of %d bodies are too large for a block of a GPU",
                          model, plan->ensemble->n_bodies);
    if (plan->engine_type == &shoal_engine_cuda)
        shoal_tune_rule(plan, plan->n_list, &plan->choice);
    return SHOAL_OK;
}

/* Choose and make the engine; `why` says why auto picked it. */
static shoal_status choose_engine(shoal_plan *plan, const shoal_options *options, char *why, size_t why_size)
{
    const char *name = options->engine ? options->engine : "auto";
    const char *missing = shoal_engine_cuda.missing();
    if (strcmp(name, "cpu") == 0) {
        plan->engine_type = &shoal_engine_cpu;
    } else if (strcmp(name, "cuda") == 0) {
        if (missing)
            return shoal_fail(plan->context, SHOAL_E_UNSUPPORTED, "engine = 'cuda': %s", missing);
        plan->engine_type = &shoal_engine_cuda;
    } else if (strcmp(name, "auto") == 0) {
        const long worthwhile = (long)GPU_WORTHWHILE * plan->host_threads;
        plan->engine_type = !missing && plan->n_list >= worthwhile ? &shoal_engine_cuda : &shoal_engine_cpu;
        if (missing)
            snprintf(why, why_size, " (auto: %s)", missing);
        else
            snprintf(why, why_size, " (auto: %ld system%s, a GPU pays from %ld)", plan->n_list, plan->n_list == 1 ? "" : "s", worthwhile);
    } else {
        return shoal_fail(plan->context, SHOAL_E_USAGE, "engine = '%s': expected auto, cpu or cuda", name);
    }
    shoal_status status = choose_form(plan, options);
    if (!status)
        status = choose_model(plan, options);
    if (status)
        return status;
    return plan->engine_type->create(plan->context, &plan->choice, &plan->args, plan->ensemble->n_systems, &plan->engine,
                                     plan->engine_line, sizeof plan->engine_line);
}

/* ---- the plan ----------------------------------------------------------------------------------------------------- */

static void list_running(shoal_plan *plan)
{
    plan->n_list = 0;
    for (long system = 0; system < plan->ensemble->n_systems; system++)
        if (*field(plan, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING)
            plan->list[plan->n_list++] = (int)system;
}

/* Write the systems' steps, and list those that have them. */
static shoal_status begin_list(shoal_plan *plan)
{
    check_systems(plan, true);
    const shoal_status status = choose_steps(plan, true);
    list_running(plan);
    return status;
}

/* Room for what there is one of for each system. */
static bool lists_create(shoal_plan *plan)
{
    const size_t n = (size_t)plan->ensemble->n_systems;
    void **const to[SHOAL_PLAN_LISTS] = {(void **)&plan->list, (void **)&plan->moving, (void **)&plan->unsorted,
                                         (void **)&plan->ended, (void **)&plan->class, (void **)&plan->goal,
                                         (void **)&plan->expected, (void **)&plan->tried};
    const size_t size[SHOAL_PLAN_LISTS] = {sizeof *plan->list, sizeof *plan->moving, sizeof *plan->unsorted, sizeof *plan->ended,
                                           sizeof *plan->class, sizeof *plan->goal, sizeof *plan->expected, sizeof *plan->tried};
    for (int i = 0; i < SHOAL_PLAN_LISTS; i++) {
        *to[i] = plan->lists[i] = calloc(n, size[i]);
        if (!plan->lists[i])
            return false;
    }
    return true;
}

static double *watch_slot(const shoal_plan *plan, int monitor, long system, int slot)
{
    return &plan->args.watch[SHOAL_AT(system, plan->args.watch_offset[monitor] + slot, plan->args.n_watch)];
}

void shoal_plan_watch_bodies(shoal_plan *plan, long system)
{
    const shoal_monitor *const *monitors = shoal_plugs_of(plan->context)->monitors;
    for (int index = 0; monitors[index]; index++) {
        double slots[SHOAL_MAX_SLOTS];
        if (!(plan->choice.monitors & (1 << index)) || !monitors[index]->begin)
            continue;
        for (int slot = 0; slot < monitors[index]->n_slots; slot++)
            slots[slot] = *watch_slot(plan, index, system, slot);
        monitors[index]->begin(plan->ensemble, system, slots);
        for (int slot = 0; slot < monitors[index]->n_slots; slot++)
            *watch_slot(plan, index, system, slot) = slots[slot];
    }
}

static void watch_begin(shoal_plan *plan)
{
    for (int index = 0; shoal_plugs_of(plan->context)->monitors[index]; index++) {
        const shoal_monitor *type = shoal_plugs_of(plan->context)->monitors[index];
        if (!(plan->choice.monitors & (1 << index)))
            continue;
        const int n_parts = shoal_monitor_n_parts(type, plan->ensemble->n_bodies);
        for (long system = 0; system < plan->ensemble->n_chunks * SHOAL_CHUNK; system++) {
            for (int slot = 0; slot < type->n_slots; slot++)
                *watch_slot(plan, index, system, slot) = type->initial ? type->initial[slot] : 0;
            for (int slot = 0; slot < n_parts * type->n_part_slots; slot++)
                *watch_slot(plan, index, system, type->n_slots + slot) = type->part_initial[slot % type->n_part_slots];
        }
    }
    for (long i = 0; i < plan->n_list; i++)
        shoal_plan_watch_bodies(plan, plan->list[i]);
}

/* No marks and no records yet. */
static void marks_begin(shoal_plan *plan)
{
    const shoal_kernel_args *args = &plan->args;
    const int n_marks = args->marks < 0 ? 0 : plan->ensemble->n_bodies * plan->ensemble->n_bodies;
    for (long system = 0; system < plan->ensemble->n_chunks * SHOAL_CHUNK; system++) {
        for (int i = 0; i < n_marks; i++)
            args->watch[SHOAL_AT(system, args->marks + i, args->n_watch)] = NAN;
        if (args->records >= 0)
            args->watch[SHOAL_AT(system, args->records, args->n_watch)] = 0;
    }
}

/* What was chosen: "mvs (compensated) with gr and j2, n = 63, rows (3 bodies attract), ..." */
static void write_line(shoal_plan *plan, const char *tuned, const char *why)
{
    const int n = plan->ensemble->n_bodies, n_massive = plan->args.n_massive;
    char forces[200] = "", form[40] = "pairs";
    for (int i = 0, used = 0; i < plan->args.n_forces && used < (int)sizeof forces; i++)
        used += snprintf(forces + used, sizeof forces - (size_t)used, "%s%s", i == 0 ? " with " : ", ",
                         shoal_plugs_of(plan->context)->forces[plan->args.force_kind[i]]->name);
    if (plan->choice.form == SHOAL_FORM_ROWS)
        snprintf(form, sizeof form, n_massive < n ? "rows (%d bodies attract)" : "rows", n_massive);
    snprintf(plan->line, sizeof plan->line, "%s%s%s, n = %d, %s, %s%s%s", plan->propagator->name,
             plan->choice.compensated ? " (compensated)" : "", forces, n, form, plan->engine_line, tuned, why);
}

/* Give the engine the systems as they begin, or go on. */
static shoal_status start_engine(shoal_plan *plan)
{
    const int native = plan->goes_on ? SHOAL_ARRAY_NATIVE : 0;
    shoal_status status = plan->engine_type->upload(plan->engine, SHOAL_ARRAY_BODIES | SHOAL_ARRAY_SYSTEMS | native | SHOAL_ARRAY_WATCH);
    if (!status && plan->n_list > 0 && !plan->goes_on)
        status = plan->engine_type->launch(plan->engine, SHOAL_PREPARE, plan->list, plan->n_list, 0);
    return status;
}

shoal_status shoal_plan_engine(shoal_plan *plan, const shoal_kernel_choice *choice)
{
    plan->engine_type->destroy(&plan->engine);
    plan->choice = *choice;
    shoal_status status = plan->engine_type->create(plan->context, choice, &plan->args, plan->ensemble->n_systems, &plan->engine,
                                                    plan->engine_line, sizeof plan->engine_line);
    return status ? status : start_engine(plan);
}

shoal_status shoal_plan_thinned(shoal_plan *plan)
{
    char tuned[160];
    shoal_kernel_choice choice;
    if (!shoal_tune_is_due(plan, &choice))
        return SHOAL_OK;
    const int used = snprintf(tuned, sizeof tuned, ", for the %ld systems that are left", plan->n_list);
    shoal_status status = plan->engine_type->download(plan->engine, SHOAL_ARRAY_NATIVE | SHOAL_ARRAY_WATCH);
    plan->goes_on = true;
    if (!status)
        status = shoal_plan_engine(plan, &choice);
    if (!status)
        status = shoal_tune(plan, tuned + used, sizeof tuned - (size_t)used);
    if (!status)
        write_line(plan, tuned, "");
    return status;
}

/* What the host knows of the systems at their start. */
static void begin_systems(shoal_plan *plan)
{
    count_forces(plan);
    watch_begin(plan);
    marks_begin(plan);
    plan->changes = ++plan->ensemble->changes;
}

shoal_status shoal_plan_create(shoal_context *context, shoal_ensemble *ensemble, const shoal_options *options,
                               shoal_plan **result)
{
    *result = NULL;
    char tuned[96] = "", why[160] = "";
    shoal_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    plan->context = context;
    plan->ensemble = ensemble;
    plan->slice_steps = 256;
    plan->ended_at = INFINITY;
    plan->host_threads = options->threads > 0 ? options->threads : shoal_default_threads(NULL);
    plan->args.bodies = ensemble->bodies;
    plan->args.systems = ensemble->systems;
    plan->choice.n_bodies = ensemble->n_bodies;
    plan->choice.threads = options->threads;
    plan->choice.lanes = options->lanes;
    plan->choice.chosen = plan->args.propagator;
    plan->args.dt_min = options->dt_min;
    plan->args.dt_max = options->dt_max > 0 ? options->dt_max : INFINITY;
    plan->args.max_steps = options->max_steps > 0 ? options->max_steps : INFINITY;
    plan->dt = options->dt;
    plan->steps_per_orbit = options->steps_per_orbit;

    plan->reached = NAN;
    shoal_status status = check_options(context, options);
    if (!status)
        status = check_begun(plan, true);
    if (!status)
        status = choose_end(plan, options);
    if (!status)
        status = choose_propagator(plan, options);
    if (!status)
        status = choose_forces(plan, options);
    if (!status)
        status = check_systems(plan, false);
    if (!status)
        status = choose_monitors(plan, options);
    if (!status)
        status = choose_steps(plan, false);
    if (status)
        goto fail;
    plan->choice.plugins = (plan->choice.monitors & shoal_plugin_bits(context, 'm')) ||
                           (plan->choice.forces & shoal_plugin_bits(context, 'f')) || shoal_plugin_is(context, plan->propagator);

    const size_t padded = (size_t)ensemble->n_chunks * SHOAL_CHUNK;
    plan->args.native = shoal_allocate(padded * shoal_native_slots(plan->propagator, plan->args.n_moved), sizeof(double));
    plan->args.snapshot = shoal_allocate(padded * (size_t)(6 * ensemble->n_bodies), sizeof(double));
    plan->args.watch = shoal_allocate(padded * (size_t)(plan->args.n_watch > 0 ? plan->args.n_watch : 1), sizeof(double));
    if (!plan->args.native || !plan->args.snapshot || !plan->args.watch || !lists_create(plan)) {
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld systems of %d bodies", ensemble->n_systems,
                            ensemble->n_bodies);
        goto fail;
    }
    list_running(plan);
    shoal_plan_lose_aim(plan);
    status = choose_engine(plan, options, why, sizeof why);
    if (plan->engine_type == &shoal_engine_cuda) {
        const long enough = 1 + ensemble->n_systems / SYSTEMS_A_THREAD, others = plan->host_threads > 3 ? plan->host_threads - 2 : 1;
        plan->host_threads = (int)(enough < others ? enough : others);
    }
    if (!status)
        status = begin_list(plan); /* last: a refused plan leaves the ensemble as it was */
    if (status)
        goto fail;
    begin_systems(plan);
    status = start_engine(plan);
    if (!status && plan->engine_type == &shoal_engine_cuda)
        status = shoal_tune(plan, tuned, sizeof tuned);
    if (status)
        goto fail;
    shoal_plan_count(plan);
    write_line(plan, tuned, why);
    *result = plan;
    return SHOAL_OK;
fail:
    shoal_plan_destroy(&plan);
    return status;
}

shoal_status shoal_plan_restart(shoal_plan *plan)
{
    shoal_status status = check_begun(plan, false);
    if (!status)
        status = find_periods(plan);
    if (!status)
        status = choose_steps(plan, false);
    if (!status)
        status = begin_list(plan);
    if (status)
        return status;
    shoal_plan_lose_aim(plan);
    plan->n_ended = plan->n_moving = plan->n_asked = plan->n_events = 0;
    plan->reached = NAN;
    plan->goes_on = plan->records_changed = plan->watch_fetched = plan->watch_fresh = false;
    begin_systems(plan);

    /* kernels that leave out what has mass now; systems that a GPU has put aside */
    shoal_kernel_choice choice = plan->choice;
    const int n_massive = find_massive(plan, &choice.unit_star);
    choice.unit_star = choice.unit_star && plan->choice.unit_star;
    choice.n_massive = n_massive > choice.n_massive ? n_massive : choice.n_massive;
    const bool others = choice.unit_star != plan->choice.unit_star || choice.n_massive != plan->choice.n_massive ||
                        (plan->propagator->parks && plan->engine_type == &shoal_engine_cuda);
    plan->args.n_massive = choice.n_massive;
    status = others ? shoal_plan_engine(plan, &choice) : start_engine(plan);
    if (!status)
        shoal_plan_count(plan);
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
    for (int i = 0; i < SHOAL_PLAN_LISTS; i++)
        free((*plan)->lists[i]);
    free((*plan)->period);
    free((*plan)->events);
    free(*plan);
    *plan = NULL;
}

const char *shoal_plan_line(const shoal_plan *plan)
{
    return plan->line;
}

/* ---- going on ----------------------------------------------------------------------------------------------------- */

double shoal_plan_monitored(shoal_plan *plan, int monitor, int column, int part, long system)
{
    const shoal_monitor *type = shoal_plugs_of(plan->context)->monitors[monitor];
    const shoal_monitor_column *asked = &type->columns[column];
    const int n = asked->of == SHOAL_OF_SYSTEM ? type->n_slots : type->n_part_slots;
    if (!plan->watch_fresh && plan->engine_type->download(plan->engine, SHOAL_ARRAY_WATCH) != SHOAL_OK)
        return NAN;
    plan->watch_fresh = true;
    if (asked->of == SHOAL_OF_LEAST) {
        part = 0;
        for (int i = 1; i < shoal_monitor_n_parts(type, plan->ensemble->n_bodies); i++) {
            const double *least = watch_slot(plan, monitor, system, type->n_slots + part * n);
            part = *watch_slot(plan, monitor, system, type->n_slots + i * n) < *least ? i : part;
        }
    }
    double slots[SHOAL_MAX_SLOTS];
    for (int slot = 0, first = asked->of == SHOAL_OF_SYSTEM ? 0 : type->n_slots + part * n; slot < n; slot++)
        slots[slot] = *watch_slot(plan, monitor, system, first + slot);
    return asked->finish(slots, plan->args.monitor[monitor]);
}

double shoal_plan_column(shoal_plan *plan, const char *column, long system)
{
    const shoal_monitor *const *monitors = shoal_plugs_of(plan->context)->monitors;
    const int n_bodies = plan->ensemble->n_bodies;
    for (int index = 0; monitors[index]; index++)
        for (int c = 0; plan->choice.monitors & (1 << index) && c < monitors[index]->n_columns; c++) {
            if (strncmp(monitors[index]->columns[c].name, column, strlen(monitors[index]->columns[c].name)) != 0)
                continue;
            for (int part = 0; part < shoal_monitor_n_of(monitors[index], c, n_bodies); part++) {
                char name[SHOAL_COLUMN_SIZE];
                shoal_monitor_column_name(monitors[index], c, part, n_bodies, NULL, name);
                if (strcmp(name, column) == 0)
                    return shoal_plan_monitored(plan, index, c, part, system);
            }
        }
    return NAN;
}

/* ---- restart ------------------------------------------------------------------------------------------------------ */

enum { STATE_PARTS = 6 };

/* The arrays that a restart needs, with their sizes in bytes; the bodies and what goes with them only where they may change. */
static int state_parts(const shoal_plan *plan, double **part, size_t *size)
{
    const size_t slot = (size_t)plan->ensemble->n_chunks * SHOAL_CHUNK * sizeof(double);
    part[0] = plan->args.systems;
    size[0] = slot * SHOAL_SYS_FIELDS;
    part[1] = plan->args.native;
    size[1] = slot * shoal_native_slots(plan->propagator, plan->args.n_moved);
    part[2] = plan->args.watch;
    size[2] = slot * (size_t)plan->args.n_watch;
    part[3] = plan->args.bodies;
    size[3] = slot * (size_t)plan->ensemble->n_bodies * SHOAL_QUANTITIES;
    part[4] = plan->ensemble->centre[0];
    size[4] = (size_t)plan->ensemble->n_systems * sizeof *plan->ensemble->centre;
    part[5] = plan->ensemble->energy_jump;
    size[5] = (size_t)plan->ensemble->n_systems * sizeof *plan->ensemble->energy_jump;
    return plan->args.marks < 0 ? 3 : STATE_PARTS;
}

size_t shoal_plan_state_size(const shoal_plan *plan)
{
    double *part[STATE_PARTS];
    size_t size[STATE_PARTS], sum = sizeof plan->system_steps;
    for (int i = 0, n = state_parts(plan, part, size); i < n; i++)
        sum += size[i];
    return sum;
}

shoal_status shoal_plan_state_save(shoal_plan *plan, void *state)
{
    double *part[STATE_PARTS];
    size_t size[STATE_PARTS];
    char *at = state;
    shoal_status status = plan->engine_type->download(plan->engine, SHOAL_ARRAY_NATIVE | SHOAL_ARRAY_WATCH);
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
    double *part[STATE_PARTS];
    size_t size[STATE_PARTS];
    const char *at = state;
    memcpy(&plan->system_steps, at, sizeof plan->system_steps);
    at += sizeof plan->system_steps;
    for (int i = 0, n = state_parts(plan, part, size); i < n; at += size[i], i++)
        memcpy(part[i], at, size[i]);
    list_running(plan);
    shoal_plan_lose_aim(plan);
    shoal_plan_count(plan);
    plan->records_changed = false;
    plan->goes_on = true;
    return start_engine(plan);
}
