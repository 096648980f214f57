/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * choose.c: from options to choices: the propagator, forces and monitors with their parameters; the engine, its kernels
 * and work model (which GPUs: devices.c). No other file decides any of these.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

#define GPU_WORTHWHILE \
    64 /* systems for each CPU thread from which on a GPU is faster: a step takes it 1 us, a core some 15 ns a system */

shoal_status shoal_refuse(shoal_context *context, shoal_fault *fault, shoal_status status, shoal_fault what,
                          const char *format, ...)
{
    static const char *const kinds[] = {"", "", "propagator", "force", "monitor"};
    char subject[SHOAL_MESSAGE_SIZE / 4], value[96] = "";
    va_list arguments;
    *fault = what;
    va_start(arguments, format);
    vsnprintf(fault->expected, sizeof fault->expected, format, arguments);
    va_end(arguments);
    if (!what.word)
        snprintf(value, sizeof value, " = %g", what.number);
    else if (*what.word)
        snprintf(value, sizeof value, " = '%.80s'", what.word);
    if (what.subject)
        snprintf(subject, sizeof subject, "%s", what.subject);
    else if (!what.name)
        snprintf(subject, sizeof subject, "%s %.80s", kinds[what.of], what.plug);
    else
        snprintf(subject, sizeof subject, "%.80s%s%.80s%s", what.plug ? what.plug : "", what.plug ? "." : "", what.name,
                 value);
    fault->subject = NULL; /* the text belongs to the caller */
    return shoal_fail(context, status, "%s: expected %s%s%s%s", subject, fault->expected,
                      what.nearest ? " (did you mean '" : "", what.nearest ? what.nearest : "",
                      what.nearest ? "'?)" : "");
}

void shoal_findings_invalid(shoal_findings *findings, long n, long id, const char *why)
{
    if (n > 0 && (findings->n_invalid == 0 || id < findings->first_invalid)) {
        findings->first_invalid = id;
        snprintf(findings->why_invalid, sizeof findings->why_invalid, "%s", why);
    }
    findings->n_invalid += n;
}

/* ---- plugs ------------------------------------------------------------------------------------------------------- */

/* A propagator, force or monitor with the settings of its parameters. */
typedef struct plug_view {
    shoal_fault fault; /* of, index, plug */
    const shoal_parameter *parameters;
    int n_parameters;
    const shoal_setting *settings;
    int n_settings;
} plug_view;

static shoal_fault with_name(shoal_fault fault, const char *name, double number, const char *word)
{
    fault.name = name;
    fault.number = number;
    fault.word = word;
    return fault;
}

static int parameter_find(const plug_view *plug, const char *name)
{
    for (int i = 0; i < plug->n_parameters; i++)
        if (strcmp(plug->parameters[i].name, name) == 0)
            return i;
    return -1;
}

/* Read the value of one setting. A word becomes the index of its choice, or the number that it spells. */
static shoal_status read_setting(shoal_plan *plan, const plug_view *plug, const shoal_setting *setting, double *values)
{
    const int i = parameter_find(plug, setting->name);
    shoal_fault *fault = &plan->findings->fault;
    if (i < 0)
        return shoal_refuse(plan->context, fault, SHOAL_E_USAGE,
                            with_name(plug->fault, setting->name, setting->value, setting->choice),
                            "a parameter that %s has", plug->fault.plug);
    const char *choices = plug->parameters[i].choices;
    values[i] = setting->value;
    if (!setting->choice)
        return SHOAL_OK;
    const int choice = choices ? shoal_choice_index(choices, setting->choice) : -1;
    if (choice < 0)
        return shoal_refuse(plan->context, fault, SHOAL_E_USAGE,
                            with_name(plug->fault, setting->name, 0, setting->choice), "%s%s",
                            choices ? "one of " : "a number", choices ? choices : "");
    values[i] = plug->parameters[i].type == SHOAL_CHOICE ? choice : strtod(setting->choice, NULL);
    return SHOAL_OK;
}

/* Check the value of a parameter. For a body, -1 becomes the index of the last body. */
static shoal_status check_value(shoal_plan *plan, const plug_view *plug, const shoal_parameter *row, double *value)
{
    const shoal_fault what = with_name(plug->fault, row->name, *value, isnan(*value) ? "" : NULL);
    const int n_bodies = plan->ensemble->n_bodies;
    shoal_fault *fault = &plan->findings->fault;
    char word[32];
    snprintf(word, sizeof word, "%.17g", *value);
    if (isnan(*value))
        return shoal_refuse(plan->context, fault, SHOAL_E_USAGE, what, "a value: it must be given (%s)", row->doc);
    if (!(*value >= row->least && *value <= row->most))
        return shoal_refuse(plan->context, fault, SHOAL_E_USAGE, what, "%g..%g", row->least, row->most);
    if (row->type == SHOAL_INTEGER && row->choices && shoal_choice_index(row->choices, word) < 0)
        return shoal_refuse(plan->context, fault, SHOAL_E_USAGE, what, "one of %s", row->choices);
    if (row->type != SHOAL_REAL && *value != trunc(*value))
        return shoal_refuse(plan->context, fault, SHOAL_E_USAGE, what, "an integer");
    if (row->type == SHOAL_BODY && *value >= n_bodies)
        return shoal_refuse(plan->context, fault, SHOAL_E_USAGE, what, "a body, 0..%d", n_bodies - 1);
    if (row->type == SHOAL_BODY && *value < 0)
        *value = n_bodies - 1;
    return SHOAL_OK;
}

/* Read all parameters. alias: a propagator's name as given; it may set parameters that have no setting. NULL: none. */
static shoal_status read_settings(shoal_plan *plan, const plug_view *plug, const char *alias, double *values)
{
    shoal_status status = SHOAL_OK;
    for (int i = 0; i < plug->n_parameters; i++)
        values[i] = plug->parameters[i].initial;
    double value;
    for (int k = 0, preset; alias && (preset = shoal_propagator_preset(plan->propagator, alias, k, &value)) >= 0; k++)
        values[preset] = value;
    for (int i = 0; i < plug->n_settings && !status; i++)
        status = read_setting(plan, plug, &plug->settings[i], values);
    for (int i = 0; i < plug->n_parameters && !status; i++)
        status = check_value(plan, plug, &plug->parameters[i], &values[i]);
    return status;
}

typedef int names_of(const shoal_context *context, const char **names, int limit);

static shoal_status no_such_plug(shoal_plan *plan, shoal_fault what, names_of *all_names)
{
    static const char *const kinds[] = {"", "", "propagator", "force", "monitor"};
    const char *names[64];
    what.nearest = shoal_nearest(what.plug, names, all_names(plan->context, names, SHOAL_COUNT(names)));
    return shoal_refuse(plan->context, &plan->findings->fault, SHOAL_E_USAGE, what, "a known %s", kinds[what.of]);
}

shoal_status shoal_plan_choose_propagator(shoal_plan *plan, const shoal_options *options)
{
    const char *name = options->propagator ? options->propagator : SHOAL_DEFAULT_PROPAGATOR;
    const shoal_fault what = {.of = SHOAL_FAULT_PROPAGATOR, .plug = name};
    plan->propagator = shoal_propagator_find(plan->context, name);
    if (!plan->propagator)
        return no_such_plug(plan, what, shoal_propagator_names);
    const plug_view plug = {what, plan->propagator->parameters, plan->propagator->n_parameters, options->settings,
                            options->n_settings};
    plan->choice.propagator = plan->propagator;
    const shoal_status status = read_settings(plan, &plug, name, plan->args.propagator);
    const int compensated = parameter_find(&plug, "compensated");
    if (compensated >= 0)
        plan->choice.compensated = plan->args.compensated = plan->args.propagator[compensated] != 0;
    return status;
}

/* Refuse force i if one before it is of the same effect, which would count twice. */
static shoal_status check_effect(shoal_plan *plan, int i, const shoal_force *type, shoal_fault what)
{
    for (int k = 0; k < i && type->effect; k++) {
        const shoal_force *other = shoal_plugs_of(plan->context)->forces[plan->args.force_kind[k]];
        if (other->effect && strcmp(other->effect, type->effect) == 0)
            return shoal_refuse(plan->context, &plan->findings->fault, SHOAL_E_USAGE, what,
                                "one force of %s; there is %s before it", type->effect, other->name);
    }
    return SHOAL_OK;
}

shoal_status shoal_plan_choose_forces(shoal_plan *plan, const shoal_options *options)
{
    shoal_context *context = plan->context;
    const shoal_fault all = {.of = SHOAL_FAULT_OPTION, .name = "forces", .word = ""};
    if (options->n_forces > SHOAL_MAX_FORCES)
        return shoal_refuse(context, &plan->findings->fault, SHOAL_E_USAGE, all, "at most %d forces, not %d",
                            SHOAL_MAX_FORCES, options->n_forces);
    if (options->n_forces > 0 && plan->propagator->newton_only)
        return shoal_refuse(context, &plan->findings->fault, SHOAL_E_USAGE, all,
                            "none: the propagator %s knows Newton's alone; use mvs, mvs_whds or hermite4",
                            plan->propagator->name);
    for (int i = 0; i < options->n_forces; i++) {
        const shoal_plug_options *given = &options->forces[i];
        const shoal_fault what = {.of = SHOAL_FAULT_FORCE, .index = i, .plug = given->name};
        const int index = shoal_force_find(context, given->name);
        if (index < 0)
            return no_such_plug(plan, what, shoal_force_names);
        const shoal_force *type = shoal_plugs_of(context)->forces[index];
        const plug_view plug = {what, type->parameters, type->n_parameters, given->settings, given->n_settings};
        shoal_status status = read_settings(plan, &plug, NULL, plan->args.force[i]);
        if (!status)
            status = check_effect(plan, i, type, what);
        if (status)
            return status;
        plan->args.force_kind[i] = index;
        if (!type->alike || !type->alike(plan->args.force[i]))
            plan->args.forces_part = 1;
        plan->choice.forces |= 1 << index;
        plan->args.eases |= type->eases << i;
        if (type->eases) {
            plan->eases.part[plan->eases.n] = plan->args.force[i][0];
            plan->eases.body[plan->eases.n++] = (int)plan->args.force[i][1];
        }
    }
    plan->args.forces = plan->choice.forces;
    plan->args.n_forces = options->n_forces;
    return SHOAL_OK;
}

/* ---- monitors ---------------------------------------------------------------------------------------------------- */

/* The number of a monitor's parameter of this name, -1 if it has none. */
static int parameter_of(const shoal_monitor *type, const char *name)
{
    int i = type->n_parameters - 1;
    while (i >= 0 && strcmp(type->parameters[i].name, name) != 0)
        i--;
    return i;
}

/* Its value, 0 if there is none. */
static double says(const shoal_monitor *type, const double *parameters, const char *name)
{
    const int i = parameter_of(type, name);
    return i < 0 ? 0 : parameters[i];
}

/* Whether a monitor logs: it has log columns, and no parameter `log` that is 0. */
static bool logs(const shoal_monitor *type, const double *parameters)
{
    return type->n_log > 0 && (parameter_of(type, "log") < 0 || says(type, parameters, "log") != 0);
}

/* Whether a monitor lets systems continue after its event; whether with other bodies than before. */
static bool goes_on(const shoal_monitor *type, const double *parameters)
{
    return says(type, parameters, "action") != 0;
}

static bool changes_bodies(const shoal_monitor *type, const double *parameters)
{
    const int i = parameter_of(type, "action");
    return i >= 0 && parameters[i] != 0 && parameters[i] != shoal_choice_index(type->parameters[i].choices, "log");
}

/* at[index]: the place in options->monitors of the monitor number `index` of the list, -1 = it is not there. */
static shoal_status find_monitors(shoal_plan *plan, const shoal_options *options, int at[SHOAL_MAX_MONITORS])
{
    for (int index = 0; index < SHOAL_MAX_MONITORS; index++)
        at[index] = -1;
    for (int i = 0; i < options->n_monitors; i++) {
        const shoal_fault what = {.of = SHOAL_FAULT_MONITOR, .index = i, .plug = options->monitors[i].name};
        const int index = shoal_monitor_find(plan->context, what.plug);
        if (index < 0)
            return no_such_plug(plan, what, shoal_monitor_names);
        if (at[index] >= 0)
            return shoal_refuse(plan->context, &plan->findings->fault, SHOAL_E_USAGE, what,
                                "each monitor at most once");
        at[index] = i;
    }
    return SHOAL_OK;
}

/* Refuse a monitor that cannot work with the rest of the plan. */
static shoal_status check_monitor(const shoal_plan *plan, int index, shoal_fault what)
{
    const shoal_monitor *type = shoal_plugs_of(plan->context)->monitors[index];
    const shoal_findings *findings = plan->findings;
    const bool strict = findings->maker == SHOAL_MAKER_STUDY ||
                        (findings->maker == SHOAL_MAKER_CALLER && findings->warns);
    const shoal_ensemble *seen = strict ? plan->ensemble : NULL;
    const char *why = type->refuses ? type->refuses(plan->args.monitor[index], seen) : NULL;
    shoal_fault *fault = &plan->findings->fault;
    if (why)
        return shoal_refuse(plan->context, fault, SHOAL_E_INPUT, what, "a monitor that applies: %s", why);
    if (type->newton_only && plan->args.n_forces > 0)
        return shoal_refuse(plan->context, fault, SHOAL_E_INPUT, what,
                            "no forces with it: it knows Newton's force alone; dE_final of a result counts the "
                            "energies of forces that have one");
    if (type->tangent && !plan->propagator->tangent)
        return shoal_refuse(plan->context, fault, SHOAL_E_USAGE, what,
                            "a propagator that moves tangent vectors, mvs, hermite4 or gauss_radau, not %s",
                            plan->propagator->name);
    return SHOAL_OK;
}

/* Give marks and records their places behind what the monitors carry. */
static shoal_status place_watches(shoal_plan *plan, bool marks, int n_logs)
{
    const int n = plan->ensemble->n_bodies;
    plan->args.marks = marks ? plan->args.n_watch : -1;
    plan->args.n_watch += marks ? n * n : 0;
    plan->args.records = n_logs > 0 ? plan->args.n_watch : -1;
    plan->args.record_room = SHOAL_RECORDS_PAUSE + n_logs * n;
    plan->args.n_watch += n_logs > 0 ? 1 + plan->args.record_room * plan->args.record_size : 0;
    plan->args.monitors = plan->choice.monitors;
    plan->args.variational = plan->choice.variational;
    plan->args.n_moved = shoal_choice_moved(&plan->choice);
    if (plan->args.n_moved > SHOAL_MAX_BODIES)
        return shoal_fail(plan->context, SHOAL_E_UNSUPPORTED, "%d bodies a system%s: few-body kernels take at most %d",
                          plan->args.n_moved, plan->args.variational ? " with their tangent vectors" : "",
                          SHOAL_MAX_BODIES);
    return SHOAL_OK;
}

/* The propagator's defaults with tangent vectors. */
static void use_tangent_defaults(shoal_plan *plan, const shoal_options *options)
{
    const shoal_propagator *propagator = plan->propagator;
    for (int i = 0; propagator->with_tangents && i < propagator->n_parameters; i++) {
        const char *name = propagator->parameters[i].name;
        if (propagator->with_tangents[i] != 0 && !shoal_setting_find(options->settings, options->n_settings, name))
            plan->args.propagator[i] = propagator->with_tangents[i];
    }
}

shoal_status shoal_plan_choose_monitors(shoal_plan *plan, const shoal_options *options)
{
    int at[SHOAL_MAX_MONITORS], n_logs = 0;
    shoal_fault changes = {0};
    bool marks = false;
    shoal_status status = find_monitors(plan, options, at);
    for (int index = 0; index < SHOAL_MAX_MONITORS && !status; index++) {
        if (at[index] < 0)
            continue;
        const shoal_monitor *type = shoal_plugs_of(plan->context)->monitors[index];
        const shoal_plug_options *given = &options->monitors[at[index]];
        const shoal_fault what = {.of = SHOAL_FAULT_MONITOR, .index = at[index], .plug = type->name};
        const plug_view plug = {what, type->parameters, type->n_parameters, given->settings, given->n_settings};
        double *values = plan->args.monitor[index];
        status = read_settings(plan, &plug, NULL, values);
        if (!status)
            status = check_monitor(plan, index, what);
        plan->choice.monitors |= 1 << index;
        plan->args.watch_offset[index] = plan->args.n_watch;
        plan->args.n_watch += type->n_slots +
                              type->n_part_slots * shoal_monitor_n_parts(type, values, plan->ensemble->n_bodies);
        plan->choice.variational |= type->tangent;
        if (type->tangent)
            plan->n_vectors = (int)says(type, values, "vectors");
        marks = marks || goes_on(type, values);
        plan->logs[index].is_kept = logs(type, values);
        if (plan->logs[index].is_kept) {
            const int size = SHOAL_RECORD_VALUES + type->n_log;
            plan->args.record_size = size > plan->args.record_size ? size : plan->args.record_size;
            n_logs++;
        }
        if (changes_bodies(type, values))
            changes = with_name(what, "action", 0, "");
    }
    if (!status && plan->choice.variational && changes.of)
        status = shoal_refuse(plan->context, &plan->findings->fault, SHOAL_E_USAGE, changes,
                              "stop: a tangent vector does not outlive a change of bodies; use action = stop");
    if (!status && plan->choice.variational)
        use_tangent_defaults(plan, options);
    return status ? status : place_watches(plan, marks, n_logs);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

enum { MOST_THREADS = 4096 };

static shoal_fault option(const char *name, double number)
{
    return (shoal_fault){.of = SHOAL_FAULT_OPTION, .name = name, .number = number};
}

static shoal_status check_numbers(shoal_context *context, const shoal_options *options, shoal_fault *fault)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"steps_per_orbit", options->steps_per_orbit},
                   {"dt_min", options->dt_min},
                   {"dt_max", options->dt_max},
                   {"max_steps", options->max_steps},
                   {"threads", options->threads},
                   {"n_settings", options->n_settings},
                   {"n_monitors", options->n_monitors},
                   {"n_forces", options->n_forces}};
    for (int i = 0; i < SHOAL_COUNT(numbers); i++)
        if (!(numbers[i].value >= 0))
            return shoal_refuse(context, fault, SHOAL_E_USAGE, option(numbers[i].name, numbers[i].value),
                                "a number >= 0");
    if (options->threads > MOST_THREADS)
        return shoal_refuse(context, fault, SHOAL_E_USAGE, option("threads", options->threads), "at most %d",
                            MOST_THREADS);
    return SHOAL_OK;
}

static shoal_status check_words(shoal_context *context, const shoal_options *options, shoal_fault *fault)
{
    const struct {
        const char *name, *word, *choices;
    } words[] = {{"engine", options->engine, SHOAL_ENGINE_CHOICES},
                 {"work_model", options->work_model, SHOAL_MODEL_CHOICES},
                 {"tune", options->tune, SHOAL_TUNE_CHOICES},
                 {"form", options->form, SHOAL_FORM_CHOICES}};
    for (int i = 0; i < SHOAL_COUNT(words); i++)
        if (words[i].word && shoal_choice_index(words[i].choices, words[i].word) < 0) {
            const shoal_fault what = {.of = SHOAL_FAULT_OPTION, .name = words[i].name, .word = words[i].word};
            return shoal_refuse(context, fault, SHOAL_E_USAGE, what, "one of %s", words[i].choices);
        }
    return SHOAL_OK;
}

static shoal_status check_gpu(shoal_context *context, const shoal_options *options, shoal_fault *fault)
{
    const int block = options->gpu_block, registers = options->gpu_registers, bodies = options->gpu_bodies;
    const char *model = options->work_model ? options->work_model : "auto";
    if (block < 0 || block > 1024 || block % 32 != 0)
        return shoal_refuse(context, fault, SHOAL_E_USAGE, option("gpu_block", block),
                            "a multiple of 32, at most 1024, or 0");
    if (registers != 0 && (registers < 16 || registers > 255))
        return shoal_refuse(context, fault, SHOAL_E_USAGE, option("gpu_registers", registers), "16..255, or 0");
    if (bodies < 0 || bodies > 5 || bodies == 3)
        return shoal_refuse(context, fault, SHOAL_E_USAGE, option("gpu_bodies", bodies), "1, 2, 4 or 5, or 0");
    if (bodies && strcmp(model, "auto") != 0 && strcmp(model, "body") != 0)
        return shoal_refuse(context, fault, SHOAL_E_USAGE, option("gpu_bodies", bodies),
                            "the work model 'body', not '%s'", model);
    return SHOAL_OK;
}

/* The step and its bounds. */
static shoal_status check_steps(shoal_context *context, const shoal_options *options, shoal_findings *findings)
{
    const char *name = options->propagator ? options->propagator : SHOAL_DEFAULT_PROPAGATOR;
    const shoal_propagator *propagator = shoal_propagator_find(context, name);
    const bool has_most = options->dt_max > 0 && isfinite(options->dt_max);
    char subject[100];
    if (options->dt != 0 && options->steps_per_orbit > 0) {
        shoal_fault what = option("steps_per_orbit", options->steps_per_orbit);
        snprintf(subject, sizeof subject, "dt = %g and steps_per_orbit = %g", options->dt, options->steps_per_orbit);
        what.subject = subject;
        return shoal_refuse(context, &findings->fault, SHOAL_E_USAGE, what, "either dt or steps_per_orbit");
    }
    if (propagator && !propagator->adaptive && (options->dt_min > 0 || has_most)) {
        const char *bound = options->dt_min > 0 ? "dt_min" : "dt_max";
        return shoal_refuse(context, &findings->fault, SHOAL_E_USAGE,
                            option(bound, options->dt_min > 0 ? options->dt_min : options->dt_max),
                            "no %s: the steps of %s are all the same", bound, name);
    }
    if (has_most && options->dt_min > options->dt_max) {
        shoal_fault what = option("dt_min", options->dt_min);
        snprintf(subject, sizeof subject, "dt_min = %g, dt_max = %g", options->dt_min, options->dt_max);
        what.subject = subject;
        return shoal_refuse(context, &findings->fault, SHOAL_E_USAGE, what, "dt_min <= dt_max");
    }
    return SHOAL_OK;
}

shoal_status shoal_plan_check_options(shoal_context *context, const shoal_options *options, shoal_findings *findings)
{
    shoal_status status = check_numbers(context, options, &findings->fault);
    if (!status)
        status = check_words(context, options, &findings->fault);
    if (!status)
        status = shoal_plan_check_devices(context, options, &findings->fault);
    if (!status)
        status = check_steps(context, options, findings);
    return status ? status : check_gpu(context, options, &findings->fault);
}

/* ---- systems ----------------------------------------------------------------------------------------------------- */

/* The period of a moon about a planet i, +inf if j is none of it. */
static double moon_period(const shoal_ensemble *ensemble, long system, int i, int j)
{
    const shoal_body star = shoal_ensemble_read_body(ensemble, system, 0),
                     planet = shoal_ensemble_read_body(ensemble, system, i),
                     moon = shoal_ensemble_read_body(ensemble, system, j);
    shoal_orbit orbit;
    return shoal_plan_moon(&star, &planet, &moon, &orbit) ? orbit.P : INFINITY;
}

/* For shoal_ensemble_refuse: a force on a planet or on its moon, in steps that are long for the moon's orbit.
 * parameters: the step, 0 = the system's own, +inf = from orbits about the star; bodies that the force names; -1. */
static const char *outruns(const double *parameters, const shoal_ensemble *ensemble, long system)
{
    enum { STEPS_AN_ORBIT = 10 };
    const double step = parameters[0] != 0 ? parameters[0] : *shoal_ensemble_field(ensemble, SHOAL_SYS_DT, system);
    double period = INFINITY;
    for (const double *body = parameters + 1; *body >= 0; body++)
        for (int i = (int)*body, j = 1; i > 0 && j < ensemble->n_bodies; j++)
            if (j != i)
                period = fmin(period, fmin(moon_period(ensemble, system, i, j), moon_period(ensemble, system, j, i)));
    return period < STEPS_AN_ORBIT * fabs(step) ? "it acts on a planet or its moon, whose orbit has less than ten "
                                                  "steps; use hybrid, adaptive steps or shorter ones"
                                                : NULL;
}

/* Refuse a force that the propagator's steps cannot follow near a planet. */
static shoal_status check_moons(const shoal_plan *plan, int index, shoal_fault what, bool commit)
{
    const shoal_force *force = shoal_plugs_of(plan->context)->forces[plan->args.force_kind[index]];
    double parameters[SHOAL_MAX_PARAMETERS + 2] = {plan->dt != 0 ? plan->dt : plan->steps_per_orbit > 0 ? INFINITY : 0};
    int n = 1;
    for (int i = 0; i < force->n_parameters; i++)
        if (force->parameters[i].type == SHOAL_BODY)
            parameters[n++] = plan->args.force[index][i];
    parameters[n] = -1;
    const shoal_refused refused = shoal_ensemble_refuse(plan->ensemble, outruns, parameters, commit);
    if (!commit && refused.n > 0 && refused.n_fit == 0 && plan->findings->maker != SHOAL_MAKER_PART)
        return shoal_refuse(plan->context, &plan->findings->fault, SHOAL_E_INPUT, what,
                            "a force that %s can follow: %s", plan->propagator->name, refused.why);
    if (commit)
        shoal_findings_invalid(plan->findings, refused.n, plan->ensemble->id[refused.first], refused.why);
    return SHOAL_OK;
}

shoal_status shoal_plan_check_systems(const shoal_plan *plan, bool commit)
{
    for (int i = -1; i < plan->args.n_forces; i++) {
        const shoal_force *force = i < 0 ? NULL : shoal_plugs_of(plan->context)->forces[plan->args.force_kind[i]];
        const shoal_fault what = {.of = force ? SHOAL_FAULT_FORCE : SHOAL_FAULT_PROPAGATOR,
                                  .index = i,
                                  .plug = force ? force->name : plan->propagator->name};
        const shoal_refused refused = shoal_ensemble_refuse(
            plan->ensemble, force ? force->refuses : plan->propagator->refuses,
            force ? plan->args.force[i] : plan->args.propagator, commit);
        if (!commit && refused.n > 0 && refused.n_fit == 0 && plan->findings->maker != SHOAL_MAKER_PART)
            return shoal_refuse(plan->context, &plan->findings->fault, SHOAL_E_INPUT, what, "a %s that applies: %s",
                                force ? "force" : "propagator", refused.why);
        if (commit)
            shoal_findings_invalid(plan->findings, refused.n, plan->ensemble->id[refused.first], refused.why);
        const bool follows = plan->propagator->adaptive || plan->propagator->sets_aside; /* in its own steps */
        const shoal_status status = force && !follows ? check_moons(plan, i, what, commit) : SHOAL_OK;
        if (status)
            return status;
    }
    return SHOAL_OK;
}

/* ---- the engine -------------------------------------------------------------------------------------------------- */

int shoal_plan_find_massive(const shoal_plan *plan, bool *unit_star)
{
    const int n = plan->ensemble->n_bodies;
    int n_massive = 1;
    *unit_star = plan->args.marks < 0; /* without marks no body merges with it */
    for (long i = 0; i < plan->n_list; i++) {
        *unit_star = *unit_star && *shoal_ensemble_body(plan->ensemble, 0, SHOAL_M, plan->list[i]) == 1;
        for (int body = n - 1; body >= n_massive; body--)
            if (*shoal_ensemble_body(plan->ensemble, body, SHOAL_M, plan->list[i]) != 0)
                n_massive = body + 1;
    }
    return n_massive;
}

void shoal_plan_choose_form(shoal_plan *plan)
{
    int index = plan->form;
    const int n = plan->ensemble->n_bodies;
    bool unit_star;
    const int n_massive = shoal_plan_find_massive(plan, &unit_star);
    /* Rows keep fewer sums at a time: faster on a GPU if the sums of pairs do not fit into registers. On a CPU rows
     * leave out bodies that attract nobody. Up to nine bodies a CPU's loop over pairs is unrolled, so that pairs cost
     * less, and pairs are a small part of a map. */
    const bool on_gpu = plan->engine_type == &shoal_engine_cuda;
    const bool rows = on_gpu  ? n > 10
                      : n > 9 ? 2 * n_massive < n
                              : 3 * n_massive <= n && plan->propagator->first_body == 0;
    if (index < 0) /* auto */
        index = rows ? SHOAL_FORM_ROWS : SHOAL_FORM_PAIRS;
    plan->choice.form = plan->args.form = index;
    plan->choice.n_massive = plan->args.n_massive = n_massive;
    plan->choice.unit_star = unit_star && on_gpu && plan->propagator->first_body > 0;
}

/* Choose a GPU's work model and its tuning: what the user has set, the rest by rule. */
static shoal_status choose_model(shoal_plan *plan, const shoal_options *options)
{
    const char *model = options->work_model ? options->work_model : "auto";
    const char *tune = options->tune ? options->tune : "auto";
    if (strcmp(model, "auto") == 0 && options->gpu_bodies)
        model = "body";
    else if (strcmp(model, "auto") == 0 && plan->findings->walkers && plan->propagator->sets_aside)
        model = "system"; /* none is set aside: a thread makes the substeps */
    if (plan->engine_type == &shoal_engine_cuda)
        plan->choice.shared_most = shoal_engine_cuda_shared(plan->devices.which[0]);
    plan->any_model = strcmp(model, "auto") == 0;
    plan->forced = plan->choice.tuning = (shoal_tuning){options->gpu_block, options->gpu_registers,
                                                        options->gpu_bodies};
    if (!plan->any_model)
        shoal_model_choose(&plan->choice, model);
    snprintf(plan->tune, sizeof plan->tune, "%s", tune);
    shoal_fault *fault = &plan->findings->fault;
    const shoal_fault what = {.of = SHOAL_FAULT_OPTION, .name = "work_model", .word = model};
    if (plan->forced.bodies > 1 && shoal_team_each(&plan->choice) != plan->forced.bodies)
        return shoal_refuse(plan->context, fault, SHOAL_E_USAGE, option("gpu_bodies", plan->forced.bodies),
                            "%d at most: %s has no such threads for %d bodies", shoal_team_each(&plan->choice),
                            plan->propagator->name, plan->ensemble->n_bodies);
    if (!plan->any_model && plan->choice.model != SHOAL_MODEL_SYSTEM &&
        shoal_plugin_is(plan->context, plan->propagator))
        return shoal_refuse(plan->context, fault, SHOAL_E_USAGE, what,
                            "system: a plugin's propagator has a thread a system");
    if (!plan->any_model && !shoal_team_fits(&plan->choice))
        return shoal_refuse(plan->context, fault, SHOAL_E_USAGE, what,
                            "another: systems of %d bodies are too large for a block of a GPU",
                            plan->ensemble->n_bodies);
    if (plan->engine_type == &shoal_engine_cuda)
        shoal_tune_rule(plan, plan->n_list, &plan->choice);
    return SHOAL_OK;
}

static long worthwhile(int threads)
{
    return (long)GPU_WORTHWHILE * threads;
}

/* Whether so many systems are a GPU's, if there is one. */
static bool wants_gpu(const shoal_options *options, long n_systems)
{
    const char *name = options->engine ? options->engine : "auto";
    return strcmp(name, "cpu") != 0 &&
           (strcmp(name, "auto") != 0 || n_systems >= worthwhile(shoal_threads_or_default(options->threads)));
}

void shoal_plan_expect(const shoal_options *options, long n_systems)
{
    shoal_devices list;
    int count;
    if (wants_gpu(options, n_systems) && shoal_plan_read_devices(options->devices, &list, &count))
        shoal_engine_gpu_open_beforehand(list.which[0]);
}

bool shoal_plan_has_gpu(const shoal_options *options, long n_systems)
{
    return wants_gpu(options, n_systems) && !shoal_engine_cuda.missing();
}

shoal_status shoal_plan_choose_engine(shoal_plan *plan, const shoal_options *options, char *why, size_t why_size)
{
    const bool wants = wants_gpu(options, plan->n_list);
    const char *missing = wants ? shoal_engine_cuda.missing() : NULL; /* to ask takes a tenth of a second */
    plan->any_engine = !options->engine || strcmp(options->engine, "auto") == 0;
    if (missing && !plan->any_engine)
        return shoal_fail(plan->context, SHOAL_E_UNSUPPORTED, "engine = 'cuda': %s", missing);
    plan->engine_type = wants && !missing ? &shoal_engine_cuda : &shoal_engine_cpu;
    if (missing)
        snprintf(why, why_size, " (auto: %s)", missing);
    else if (plan->any_engine)
        snprintf(why, why_size, " (auto: %ld system%s, a GPU pays from %ld)", plan->n_list,
                 plan->n_list == 1 ? "" : "s", worthwhile(plan->host_threads));
    plan->form = options->form ? shoal_choice_index(SHOAL_FORM_CHOICES, options->form) - 1 : -1;
    shoal_plan_choose_form(plan);
    shoal_status status = shoal_plan_choose_devices(plan, options);
    if (!status)
        status = choose_model(plan, options);
    if (status)
        return status;
    return shoal_plan_create_engine(plan);
}
