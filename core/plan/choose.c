/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * choose.c: from options to choices: the propagator, monitors and forces with their parameters; the engine, its kernels
 * and work model. Nothing else decides any of these.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

#define GPU_WORTHWHILE \
    64 /* systems for each CPU thread from which a GPU is faster: 1 us a step against some 15 ns on a core */

static shoal_status read_settings(shoal_context *context, const char *plug, const shoal_parameter *parameters,
                                  int n_parameters, const shoal_setting *settings, int n_settings, int n_bodies,
                                  double *values)
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
            const int choice = parameters[i].choices ? shoal_choice_index(parameters[i].choices, settings[s].choice)
                                                     : -1;
            if (choice < 0)
                return shoal_fail(context, SHOAL_E_USAGE, "%s.%s = '%s': expected %s%s", plug, parameters[i].name,
                                  settings[s].choice, parameters[i].choices ? "one of " : "a number",
                                  parameters[i].choices ? parameters[i].choices : "");
            values[i] = parameters[i].type == SHOAL_CHOICE ? choice : shoal_number_read(settings[s].choice, NULL);
        }
    }
    for (int i = 0; i < n_parameters; i++) {
        if (isnan(values[i]))
            return shoal_fail(context, SHOAL_E_USAGE, "%s.%s must be given: %s", plug, parameters[i].name,
                              parameters[i].doc);
        if (!(values[i] >= parameters[i].least && values[i] <= parameters[i].most))
            return shoal_fail(context, SHOAL_E_USAGE, "%s.%s = %g: expected %g..%g", plug, parameters[i].name,
                              values[i], parameters[i].least, parameters[i].most);
        if (parameters[i].type == SHOAL_INTEGER && parameters[i].choices) {
            char word[32];
            snprintf(word, sizeof word, "%.17g", values[i]);
            if (shoal_choice_index(parameters[i].choices, word) < 0)
                return shoal_fail(context, SHOAL_E_USAGE, "%s.%s = %s: expected one of %s", plug, parameters[i].name,
                                  word, parameters[i].choices);
        }
        if ((parameters[i].type == SHOAL_INTEGER || parameters[i].type == SHOAL_BODY) && values[i] != trunc(values[i]))
            return shoal_fail(context, SHOAL_E_USAGE, "%s.%s = %g: expected an integer", plug, parameters[i].name,
                              values[i]);
        if (parameters[i].type == SHOAL_BODY) {
            if (values[i] >= n_bodies)
                return shoal_fail(context, SHOAL_E_USAGE, "%s.%s = %g: expected a body, 0..%d", plug,
                                  parameters[i].name, values[i], n_bodies - 1);
            if (values[i] < 0)
                values[i] = n_bodies - 1;
        }
    }
    return SHOAL_OK;
}

shoal_status shoal_plan_choose_propagator(shoal_plan *plan, const shoal_options *options)
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

shoal_status shoal_plan_choose_monitors(shoal_plan *plan, const shoal_options *options)
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
            return shoal_fail(context, SHOAL_E_USAGE, "monitor '%s': no such monitor%s%s%s", name,
                              near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
        }
        if (chosen[index])
            return shoal_fail(context, SHOAL_E_USAGE, "monitor '%s' is there twice", name);
        chosen[index] = &options->monitors[i];
    }
    for (int index = 0; shoal_plugs_of(plan->context)->monitors[index]; index++) {
        if (!chosen[index])
            continue;
        const shoal_monitor *type = shoal_plugs_of(plan->context)->monitors[index];
        shoal_status status = read_settings(context, type->name, type->parameters, type->n_parameters,
                                            chosen[index]->settings, chosen[index]->n_settings, n,
                                            plan->args.monitor[index]);
        if (status)
            return status;
        plan->choice.monitors |= 1 << index;
        plan->args.watch_offset[index] = plan->args.n_watch;
        plan->args.n_watch += type->n_slots + type->n_part_slots * shoal_monitor_n_parts(type, n);
        const char *why = type->refuses ? type->refuses(plan->args.monitor[index], NULL) : NULL;
        if (why)
            return shoal_fail(context, SHOAL_E_INPUT, "monitor %s: %s", type->name, why);
        if (type->newton_only && plan->args.n_forces > 0)
            return shoal_fail(context, SHOAL_E_UNSUPPORTED,
                              "monitor %s: it knows Newton's force alone; dE_final of a result counts the energies of "
                              "forces that have one",
                              type->name);
        if (type->tangent && !plan->propagator->tangent)
            return shoal_fail(context, SHOAL_E_USAGE, "monitor %s: the propagator %s moves no tangent vectors; use %s",
                              type->name, plan->propagator->name, "mvs, hermite4 or gauss_radau");
        plan->choice.variational |= type->tangent;
        marks = marks || goes_on(type, plan->args.monitor[index]);
        n_logs += type->records && says(type, plan->args.monitor[index], "log");
        changes = goes_on(type, plan->args.monitor[index]) && strcmp(type->name, "stop_on_encounter") != 0 ? type->name
                                                                                                           : changes;
    }
    if (plan->choice.variational && changes)
        return shoal_fail(context, SHOAL_E_USAGE,
                          "monitor %s: a tangent vector does not outlive a change of bodies; use action = stop",
                          changes);
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
                          plan->args.n_moved, plan->args.variational ? " with their tangent vectors" : "",
                          SHOAL_MAX_BODIES);
    return SHOAL_OK;
}

shoal_status shoal_plan_choose_forces(shoal_plan *plan, const shoal_options *options)
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
            return shoal_fail(context, SHOAL_E_USAGE, "force '%s': no such force%s%s%s", name,
                              near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
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
shoal_status shoal_plan_check_options(shoal_context *context, const shoal_options *options)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"steps_per_orbit", options->steps_per_orbit},
                   {"dt_min", options->dt_min},
                   {"dt_max", options->dt_max},
                   {"max_steps", (double)options->max_steps},
                   {"threads", options->threads},
                   {"n_settings", options->n_settings},
                   {"n_monitors", options->n_monitors},
                   {"n_forces", options->n_forces}};
    for (int i = 0; i < SHOAL_COUNT(numbers); i++)
        if (!(numbers[i].value >= 0))
            return shoal_fail(context, SHOAL_E_USAGE, "%s = %g: expected a number >= 0", numbers[i].name,
                              numbers[i].value);
    if (options->threads > MOST_THREADS)
        return shoal_fail(context, SHOAL_E_USAGE, "threads = %d: expected at most %d", options->threads, MOST_THREADS);
    if (options->dt_max > 0 && options->dt_min > options->dt_max)
        return shoal_fail(context, SHOAL_E_USAGE, "dt_min = %g: expected at most dt_max = %g", options->dt_min,
                          options->dt_max);
    if (options->dt != 0 && options->steps_per_orbit > 0)
        return shoal_fail(context, SHOAL_E_USAGE, "dt = %g and steps_per_orbit = %g: expected one of them", options->dt,
                          options->steps_per_orbit);
    return SHOAL_OK;
}

/* Refuse a propagator or a force that is for none of the systems; with `commit`, systems that one is not for become
 * `invalid`. */
shoal_status shoal_plan_check_systems(const shoal_plan *plan, bool commit)
{
    for (int i = -1; i < plan->args.n_forces; i++) {
        const shoal_force *force = i < 0 ? NULL : shoal_plugs_of(plan->context)->forces[plan->args.force_kind[i]];
        const shoal_refused refused = shoal_ensemble_refuse(
            plan->ensemble, force ? force->refuses : plan->propagator->refuses,
            force ? plan->args.force[i] : plan->args.propagator, commit);
        if (!commit && refused.n > 0 && refused.n_fit == 0)
            return shoal_fail(plan->context, SHOAL_E_INPUT, "%s %s: %s", force ? "force" : "propagator",
                              force ? force->name : plan->propagator->name, refused.why);
    }
    return SHOAL_OK;
}

/* ---- the engine -------------------------------------------------------------------------------------------------- */

/* How many bodies have mass in some system, and whether body 0 has 1 in all, and keeps it. */
int shoal_plan_find_massive(const shoal_plan *plan, bool *unit_star)
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
    const int n_massive = shoal_plan_find_massive(plan, &unit_star);
    /* rows keep fewer sums alive, which pays where they would not fit into a GPU's registers, and on a CPU leave out
     * what attracts nobody; up to nine bodies its pairs are unrolled and cost less each, and are a small part of a
     * map */
    const bool on_gpu = plan->engine_type == &shoal_engine_cuda;
    const bool rows = on_gpu  ? n > 10
                      : n > 9 ? 2 * n_massive < n
                              : 3 * n_massive <= n && plan->propagator->first_body == 0;
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
    plan->forced = plan->choice.tuning = (shoal_tuning){options->gpu_block, options->gpu_registers,
                                                        options->gpu_bodies};
    if (!plan->any_model && !shoal_model_choose(&plan->choice, model))
        return shoal_fail(plan->context, SHOAL_E_USAGE, "work_model = '%s': expected one of %s", model,
                          SHOAL_MODEL_CHOICES);
    if (shoal_choice_index("auto|always|never", tune) < 0)
        return shoal_fail(plan->context, SHOAL_E_USAGE, "tune = '%s': expected auto, always or never", tune);
    snprintf(plan->tune, sizeof plan->tune, "%s", tune);
    if (plan->forced.block < 0 || plan->forced.block > 1024 || plan->forced.block % 32 != 0)
        return shoal_fail(plan->context, SHOAL_E_USAGE, "gpu_block = %d: expected a multiple of 32, at most 1024",
                          plan->forced.block);
    if (plan->forced.max_registers != 0 && (plan->forced.max_registers < 16 || plan->forced.max_registers > 255))
        return shoal_fail(plan->context, SHOAL_E_USAGE, "gpu_registers = %d: expected 16..255",
                          plan->forced.max_registers);
    if (plan->forced.bodies < 0 || plan->forced.bodies > 5 || plan->forced.bodies == 3)
        return shoal_fail(plan->context, SHOAL_E_USAGE, "gpu_bodies = %d: expected 1, 2, 4 or 5", plan->forced.bodies);
    if (plan->forced.bodies && plan->choice.model != SHOAL_MODEL_BODY)
        return shoal_fail(plan->context, SHOAL_E_USAGE, "gpu_bodies = %d: expected the work model 'body', not '%s'",
                          plan->forced.bodies, model);
    if (plan->forced.bodies > 1 && shoal_team_each(&plan->choice) != plan->forced.bodies)
        return shoal_fail(
            plan->context, SHOAL_E_USAGE, "gpu_bodies = %d: %s has no such threads for %d bodies; expected %d at most",
            plan->forced.bodies, plan->propagator->name, plan->ensemble->n_bodies, shoal_team_each(&plan->choice));
    if (!plan->any_model && plan->choice.model != SHOAL_MODEL_SYSTEM &&
        shoal_plugin_is(plan->context, plan->propagator))
        return shoal_fail(plan->context, SHOAL_E_USAGE,
                          "work_model = '%s': a plugin's propagator has a thread a system", model);
    if (!plan->any_model && !shoal_team_fits(&plan->choice))
        return shoal_fail(plan->context, SHOAL_E_USAGE,
                          "work_model = '%s': systems of %d bodies are too large for a block of a GPU", model,
                          plan->ensemble->n_bodies);
    if (plan->engine_type == &shoal_engine_cuda)
        shoal_tune_rule(plan, plan->n_list, &plan->choice);
    return SHOAL_OK;
}

/* Choose and make the engine; `why` says why auto picked it. */
shoal_status shoal_plan_choose_engine(shoal_plan *plan, const shoal_options *options, char *why, size_t why_size)
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
            snprintf(why, why_size, " (auto: %ld system%s, a GPU pays from %ld)", plan->n_list,
                     plan->n_list == 1 ? "" : "s", worthwhile);
    } else {
        return shoal_fail(plan->context, SHOAL_E_USAGE, "engine = '%s': expected auto, cpu or cuda", name);
    }
    shoal_status status = choose_form(plan, options);
    if (!status)
        status = choose_model(plan, options);
    if (status)
        return status;
    return plan->engine_type->create(plan->context, &plan->choice, &plan->args, plan->ensemble->n_systems,
                                     &plan->engine, plan->engine_line, sizeof plan->engine_line);
}
