/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * options.c: from a config to the options of a plan. Numbers become inner units, bodies their index; words stay words.
 * The type and the bounds of each key were checked when the config was opened (config.c). The plan chooses, and refuses
 * what does not go together; that is said here with the file and the line.
 */
#include <stdlib.h>
#include <string.h>

#include "core/study/study.h"

/* The end of the run: options->t_end, or options->orbits. */
static shoal_status read_end(const shoal_config *config, shoal_study *study)
{
    const config_setting_t *run = shoal_config_lookup(config, "run");
    const config_setting_t *orbits = config_setting_get_member(run, "orbits"),
                           *t_end = config_setting_get_member(run, "t_end");
    study->t_start = shoal_config_number(config, run, "run", "t_start");
    if (orbits && t_end)
        return shoal_config_fail(config, orbits, NULL, NULL, "either run.t_end or run.orbits");
    if (!orbits && !t_end)
        return shoal_config_fail(config, run, "t_end", NULL, "a time, or run.orbits");
    if (orbits)
        study->options.orbits = shoal_config_number(config, run, "run", "orbits");
    else
        study->options.t_end = shoal_config_number(config, run, "run", "t_end");
    if (orbits && study->options.orbits == 0)
        return shoal_config_fail(config, orbits, NULL, NULL, "a number other than 0");
    if (t_end && study->options.t_end == study->t_start)
        return shoal_config_fail(config, t_end, NULL, NULL, "a time other than run.t_start");
    return SHOAL_OK;
}

/* Which of the systems are made. */
static shoal_status read_part(const shoal_config *config, shoal_study *study)
{
    const config_setting_t *run = shoal_config_lookup(config, "run");
    const config_setting_t *shard = config_setting_get_member(run, "shard");
    int end = 0;
    study->stride = 1;
    study->system = shoal_config_number(config, run, "run", "system");
    if (!shard)
        return SHOAL_OK;
    if (!isnan(study->system))
        return shoal_config_fail(config, shard, NULL, NULL, "either run.shard or run.system");
    const char *text = config_setting_get_string(shard);
    if (sscanf(text, "%9ld/%9ld%n", &study->first, &study->stride, &end) != 2 || text[end] || study->first < 1 ||
        study->first > study->stride)
        return shoal_config_fail(config, shard, NULL, NULL, "\"i/N\", i from 1 to N, such as \"2/8\"");
    study->first--;
    return SHOAL_OK;
}

void shoal_study_span(const shoal_study *study, double *start, double *end)
{
    const bool in_orbits = study->options.orbits != 0;
    *start = in_orbits ? 0 : study->t_start;
    *end = in_orbits ? study->options.orbits : study->options.t_end;
}

/* run.devices as an option of the plan: a number or an array as text. */
static const char *read_devices(const shoal_config *config, shoal_study *study)
{
    const config_setting_t *given = shoal_config_lookup(config, "run.devices");
    const int n = given ? config_setting_length(given) : 0;
    char *text = study->devices, *const end = text + sizeof study->devices;
    if (!given || config_setting_type(given) == CONFIG_TYPE_STRING)
        return given ? config_setting_get_string(given) : NULL;
    if (config_setting_is_number(given))
        return snprintf(text, sizeof study->devices, "%.0f",
                        shoal_config_number(config, shoal_config_lookup(config, "run"), "run", "devices")),
               text;
    for (int i = 0; i < n && text < end; i++)
        text += snprintf(text, (size_t)(end - text), "%c%.0f", i ? ',' : '[', shoal_config_item(given, i));
    if (text < end)
        snprintf(text, (size_t)(end - text), n ? "]" : "[]");
    return study->devices;
}

shoal_status shoal_study_read_options(const shoal_config *config, shoal_study *study)
{
    shoal_options *options = &study->options;
    const config_setting_t *run = shoal_config_lookup(config, "run"),
                           *integrator = shoal_config_lookup(config, "integrator");
    shoal_status status = read_end(config, study);
    if (status || (status = read_part(config, study)))
        return status;
    options->engine = shoal_config_string(run, "engine", "auto");
    options->work_model = shoal_config_string(run, "work_model", NULL);
    options->tune = shoal_config_string(run, "tune", NULL);
    options->devices = read_devices(config, study);
    options->gpu_block = (int)shoal_config_number(config, run, "run", "gpu_block");
    options->gpu_registers = (int)shoal_config_number(config, run, "run", "gpu_registers");
    options->gpu_bodies = (int)shoal_config_number(config, run, "run", "gpu_bodies");
    options->threads = (int)shoal_config_number(config, run, "run", "threads");
    options->lanes = (int)shoal_config_number(config, run, "run", "lanes");
    options->form = shoal_config_string(shoal_config_lookup(config, "gravitation"), "form", NULL);
    options->propagator = shoal_config_string(integrator, "name", SHOAL_DEFAULT_PROPAGATOR);
    const struct {
        const char *name;
        double *value;
    } steps[] = {{"dt", &options->dt},
                 {"steps_per_orbit", &options->steps_per_orbit},
                 {"dt_min", &options->dt_min},
                 {"dt_max", &options->dt_max},
                 {"max_steps", &options->max_steps}};
    for (int i = 0; i < SHOAL_COUNT(steps); i++)
        if (config_setting_get_member(integrator, steps[i].name))
            *steps[i].value = shoal_config_number(config, integrator, "integrator", steps[i].name);
    study->slice_steps = (long)shoal_config_number(config, run, "run", "slice_steps");
    study->wave = (long)shoal_config_number(config, run, "run", "wave");
    study->checkpoint_s = shoal_config_number(config, run, "run", "checkpoint_s");
    snprintf(study->epoch, sizeof study->epoch, "%s",
             shoal_config_string(config_root_setting(&config->tree), "epoch", ""));
    return SHOAL_OK;
}

/* What a group sets of a plug's parameters, to settings[*n]. */
static shoal_status read_settings(const shoal_study *study, const config_setting_t *group, const shoal_parameter *rows,
                                  int n_rows, shoal_setting *settings, int *n)
{
    const shoal_config *config = &study->config;
    shoal_status status = SHOAL_OK;
    *n = 0;
    for (int i = 0; i < n_rows && !status; i++) {
        const config_setting_t *given = config_setting_get_member(group, rows[i].name);
        int body = 0;
        if (!given)
            continue;
        shoal_setting *setting = &settings[(*n)++];
        *setting = (shoal_setting){.name = rows[i].name};
        if (rows[i].type == SHOAL_CHOICE) {
            setting->choice = config_setting_get_string(given);
        } else if (rows[i].type == SHOAL_BODY) {
            status = shoal_config_body(config, given, study->body_name, study->ensemble->n_bodies, &body);
            setting->value = body;
        } else {
            setting->value = shoal_config_row(config, group, &rows[i]);
        }
    }
    return status;
}

shoal_status shoal_study_read_plugs(const shoal_config *config, shoal_study *study)
{
    const shoal_plugs *known = shoal_plugs_of(config->context);
    const config_setting_t *integrator = shoal_config_lookup(config, "integrator");
    const config_setting_t *list[] = {shoal_config_lookup(config, "forces"), shoal_config_lookup(config, "monitors")};
    const int n_forces = list[0] ? config_setting_length(list[0]) : 0,
              n_monitors = list[1] ? config_setting_length(list[1]) : 0;
    const size_t n_plugs = (size_t)n_forces + (size_t)n_monitors;
    shoal_options *options = &study->options;
    study->plugs = calloc(n_plugs + 1, sizeof *study->plugs);
    study->settings = calloc((n_plugs + 1) * SHOAL_MAX_PARAMETERS, sizeof *study->settings);
    if (!study->plugs || !study->settings)
        return shoal_fail(config->context, SHOAL_E_MEMORY, "%s: out of memory", config->path);
    options->settings = study->settings;
    options->forces = study->plugs;
    options->n_forces = n_forces;
    options->monitors = study->plugs + n_forces;
    options->n_monitors = n_monitors;

    const shoal_propagator *propagator = shoal_propagator_find(config->context, options->propagator);
    shoal_status status = read_settings(study, integrator, propagator->parameters, propagator->n_parameters,
                                        study->settings, &options->n_settings);
    shoal_setting *settings = study->settings;
    for (int i = 0; i < n_forces + n_monitors && !status; i++) {
        const bool force = i < n_forces;
        const config_setting_t *group = config_setting_get_elem(list[!force], (unsigned)(force ? i : i - n_forces));
        const char *name = shoal_config_string(group, "name", "");
        const int index = force ? shoal_force_find(config->context, name) : shoal_monitor_find(config->context, name);
        settings += SHOAL_MAX_PARAMETERS;
        study->plugs[i].name = name;
        study->plugs[i].settings = settings;
        status = read_settings(study, group,
                               force ? known->forces[index]->parameters : known->monitors[index]->parameters,
                               force ? known->forces[index]->n_parameters : known->monitors[index]->n_parameters,
                               settings, &study->plugs[i].n_settings);
    }
    return status;
}

/* The group of the config in which an option or a plug at fault is written, and its key there. */
static const config_setting_t *group_of(const shoal_config *config, const shoal_fault *fault, const char **key)
{
    static const char *const sections[] = {"integrator", "run", "gravitation"};
    const config_setting_t *list = shoal_config_lookup(config, fault->of == SHOAL_FAULT_FORCE ? "forces" : "monitors");
    *key = fault->name ? fault->name : "name";
    if (fault->of == SHOAL_FAULT_PROPAGATOR)
        return shoal_config_lookup(config, "integrator");
    if (fault->of != SHOAL_FAULT_OPTION)
        return config_setting_get_elem(list, (unsigned)fault->index);
    for (int i = 0; i < SHOAL_COUNT(sections); i++)
        if (shoal_key_find(sections[i], *key) && shoal_config_lookup(config, sections[i]))
            return shoal_config_lookup(config, sections[i]);
    return config_root_setting(&config->tree);
}

shoal_status shoal_study_refused(const shoal_study *study, shoal_status status)
{
    const shoal_fault *fault = &study->findings.fault;
    if (fault->of == SHOAL_FAULT_NONE) {
        char why[SHOAL_MESSAGE_SIZE];
        snprintf(why, sizeof why, "%s", shoal_context_message(study->context));
        return shoal_fail(study->context, status, "%s: %s", study->path, why);
    }
    const char *key;
    const config_setting_t *group = group_of(&study->config, fault, &key);
    const config_setting_t *setting = config_setting_get_member(group, key);
    shoal_config_fail(&study->config, setting ? setting : group, NULL, fault->nearest, "%s", fault->expected);
    return status == SHOAL_E_USAGE ? SHOAL_E_INPUT : status;
}
