/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * study.c: a study from its config file: what to integrate with, until when, what to watch, where to write, and the
 * systems. Keys, types and bounds have been checked by config.c; what is refused here are values that contradict each
 * other.
 */
#define _GNU_SOURCE 1
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/study/study.h"
#include "core/config/config.h"

static shoal_status out_of_memory(const shoal_config *config)
{
    return shoal_fail(config->context, SHOAL_E_MEMORY, "%s: out of memory", config->path);
}

static shoal_status read_run(const shoal_config *config, shoal_study *study)
{
    const config_setting_t *run = shoal_config_lookup(config, "run");
    study->t_start = shoal_config_number(config, run, "run", "t_start");
    study->t_end = shoal_config_number(config, run, "run", "t_end");
    const config_setting_t *orbits = config_setting_get_member(run, "orbits");
    if (isnan(study->t_end) == !orbits)
        return orbits ? shoal_config_fail(config, orbits, NULL, NULL, "either run.t_end or run.orbits")
                      : shoal_config_fail(config, run, "t_end", NULL, "a time, or run.orbits");
    study->orbits = orbits ? shoal_config_number(config, run, "run", "orbits") : 0;
    if (orbits && study->orbits == 0)
        return shoal_config_fail(config, orbits, NULL, NULL, "a number other than 0");
    if (orbits)
        study->t_end = study->t_start + study->orbits; /* for its direction */
    if (study->t_start == study->t_end)
        return shoal_config_fail(config, config_setting_get_member(run, "t_end"), NULL, NULL,
                                 "a time other than run.t_start");
    const config_setting_t *shard = config_setting_get_member(run, "shard");
    int end = 0;
    study->stride = 1;
    study->system = shoal_config_number(config, run, "run", "system");
    if (shard && !isnan(study->system))
        return shoal_config_fail(config, shard, NULL, NULL, "either run.shard or run.system");
    if (shard) {
        const char *text = config_setting_get_string(shard);
        if (sscanf(text, "%9ld/%9ld%n", &study->first, &study->stride, &end) != 2 || text[end] || study->first < 1 ||
            study->first > study->stride)
            return shoal_config_fail(config, shard, NULL, NULL, "\"i/N\", i from 1 to N, such as \"2/8\"");
        study->first--;
    }
    snprintf(study->engine, sizeof study->engine, "%s", shoal_config_string(run, "engine", "auto"));
    snprintf(study->work_model, sizeof study->work_model, "%s", shoal_config_string(run, "work_model", "auto"));
    snprintf(study->tune, sizeof study->tune, "%s", shoal_config_string(run, "tune", "auto"));
    study->gpu_block = (int)shoal_config_number(config, run, "run", "gpu_block");
    study->gpu_registers = (int)shoal_config_number(config, run, "run", "gpu_registers");
    study->gpu_bodies = (int)shoal_config_number(config, run, "run", "gpu_bodies");
    if (study->gpu_block % 32 != 0)
        return shoal_config_fail(config, config_setting_get_member(run, "gpu_block"), NULL, NULL,
                                 "a multiple of 32, at most 1024, or 0");
    if (study->gpu_registers > 0 && study->gpu_registers < 16)
        return shoal_config_fail(config, config_setting_get_member(run, "gpu_registers"), NULL, NULL, "16..255, or 0");
    study->threads = (int)shoal_config_number(config, run, "run", "threads");
    study->lanes = (int)shoal_config_number(config, run, "run", "lanes");
    study->slice_steps = (long)shoal_config_number(config, run, "run", "slice_steps");
    study->checkpoint_s = shoal_config_number(config, run, "run", "checkpoint_s");
    const config_setting_t *gravitation = shoal_config_lookup(config, "gravitation");
    study->form = (int)shoal_config_number(config, gravitation, "gravitation", "form") - 1; /* auto is -1 */
    snprintf(study->epoch, sizeof study->epoch, "%s",
             shoal_config_string(config_root_setting(&config->tree), "epoch", ""));
    return SHOAL_OK;
}

static int ascending(const void *a, const void *b)
{
    const double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

static int descending(const void *a, const void *b)
{
    return ascending(b, a);
}

static shoal_status read_output(const shoal_config *config, shoal_study *study)
{
    const config_setting_t *output = shoal_config_lookup(config, "output");
    const config_setting_t *times = output ? config_setting_get_member(output, "times") : NULL;
    study->output = shoal_output_name(study, shoal_config_string(output, "file", NULL));
    const bool in_orbits = study->orbits != 0;
    const double unit = in_orbits ? 1 : study->units.time;
    study->interval = shoal_config_number(config, output, "output", "interval") / (in_orbits ? study->units.time : 1);
    study->n_times = times ? config_setting_length(times) : 0;
    study->times = malloc(((size_t)study->n_times + 1) * sizeof *study->times);
    if (!study->output || !study->times)
        return out_of_memory(config);
    const double start = in_orbits ? 0 : study->t_start, end = in_orbits ? study->orbits : study->t_end;
    const double first = fmin(start, end), last = fmax(start, end);
    if (study->interval > 0 && (last - first) / study->interval > 1e8)
        return shoal_config_fail(config, config_setting_get_member(output, "interval"), NULL, NULL,
                                 "at most 1e8 output times");
    for (int i = 0; i < study->n_times; i++) {
        study->times[i] = shoal_config_item(times, i) * unit;
        if (study->times[i] < first || study->times[i] > last)
            return shoal_config_fail(config, config_setting_get_elem(times, (unsigned)i), NULL, NULL,
                                     in_orbits ? "orbits from 0 to run.orbits"
                                               : "a time from run.t_start to run.t_end");
    }
    qsort(study->times, (size_t)study->n_times, sizeof *study->times,
          study->t_end > study->t_start ? ascending : descending);
    return SHOAL_OK;
}

static shoal_status read_systems(const shoal_config *config, shoal_study *study)
{
    const config_setting_t *system = shoal_config_lookup(config, "system");
    const config_setting_t *file = config_setting_get_member(system, "file");
    if (!file) {
        if (!config_setting_get_member(system, "bodies"))
            return shoal_config_fail(config, system, NULL, NULL, "bodies or file");
        return shoal_systems_build(config, study);
    }
    static const char *const others[] = {"system.bodies", "system.elements", "system.count", "sweep", "sample"};
    for (int i = 0; i < SHOAL_COUNT(others); i++) {
        const config_setting_t *other = shoal_config_lookup(config, others[i]);
        if (other)
            return shoal_config_fail(config, other, NULL, NULL, "no %s with system.file: the file holds all systems",
                                     others[i]);
    }
    char *path = shoal_config_path(config, config_setting_get_string(file));
    shoal_status status = path ? shoal_systems_read(config, path, study) : out_of_memory(config);
    free(path);
    return status;
}

/* The parameters of a plug, bodies resolved. */
static shoal_status read_parameters(const shoal_config *config, const config_setting_t *group, const shoal_study *study,
                                    const shoal_parameter *rows, int n_rows, double *values)
{
    shoal_status status = SHOAL_OK;
    for (int i = 0; i < n_rows && !status; i++) {
        const config_setting_t *setting = group ? config_setting_get_member(group, rows[i].name) : NULL;
        values[i] = rows[i].type == SHOAL_BODY && setting ? 0 : shoal_config_row(config, group, &rows[i]);
        if (rows[i].type != SHOAL_BODY)
            continue;
        int body = values[i] < 0 ? study->ensemble->n_bodies - 1 : (int)values[i];
        if (setting)
            status = shoal_config_body(config, setting, study->body_name, study->ensemble->n_bodies, &body);
        values[i] = body;
    }
    return status;
}

/* The systems that a plug is not for are invalid; that it is for none is an error of the config. */
static shoal_status refuse(const shoal_config *config, shoal_study *study, shoal_refusal *refuses,
                           const double *parameters, const config_setting_t *place, const char *plug)
{
    const shoal_refused refused = shoal_ensemble_refuse(study->ensemble, refuses, parameters, true);
    if (refused.n > 0 && refused.n_fit == 0 && shoal_study_is_whole(study))
        return shoal_config_fail(config, place, NULL, NULL, "%s that applies: %s", plug, refused.why);
    shoal_study_invalid(study, refused.n, study->ensemble->id[refused.first], refused.why);
    return SHOAL_OK;
}

/*
 * Whether a step is longer than a sixteenth of the effective period at the pericentre of one of n Jacobi orbits,
 * T_f = 2 pi / (df/dt) = P sqrt((1 - e)^3 / (1 + e)): a map whose steps do not resolve the passage is chaotic by itself
 * (Wisdom 2015, doi:10.1088/0004-6256/150/4/127; Hernandez, Zeebe & Hadden 2022, arXiv:2111.08835).
 */
static bool misses_pericentre(int n, const shoal_orbit *orbits, double dt)
{
    bool misses = false;
    for (int i = 1; i < n; i++) {
        const double e = orbits[i].e;
        misses |= e < 1 && 16 * dt > orbits[i].P * sqrt((1 - e) * (1 - e) * (1 - e) / (1 + e));
    }
    return misses;
}

/* The step of each system, and those that have none. */
static shoal_status set_steps(const shoal_config *config, const config_setting_t *place, shoal_study *study)
{
    shoal_ensemble *ensemble = study->ensemble;
    const double span = study->t_end - study->t_start;
    shoal_status status = SHOAL_OK;
    shoal_body *bodies = malloc((size_t)ensemble->n_bodies * sizeof *bodies);
    shoal_orbit *orbits = malloc((size_t)ensemble->n_bodies * sizeof *orbits);
    if (!bodies || !orbits) {
        status = out_of_memory(config);
        goto fail;
    }
    const shoal_propagator *propagator = study->propagator;
    const bool check_pericentre = !propagator->adaptive && !propagator->resolves_pericentre;
    for (long s = 0; s < ensemble->n_systems; s++) {
        double *outcome = shoal_ensemble_field(ensemble, SHOAL_SYS_OUTCOME, s);
        const double period = *outcome != SHOAL_INVALID ? shoal_shortest_period(ensemble, s, bodies, orbits) : 0;
        const bool unbound = !isfinite(period) && (study->steps_per_orbit > 0 || study->orbits != 0);
        const double dt = study->steps_per_orbit > 0 ? period / study->steps_per_orbit : study->dt;
        if (unbound && ensemble->n_systems == 1 && shoal_study_is_whole(study)) {
            status = shoal_config_fail(config, place, NULL, NULL, "%s instead: no orbit of system %ld is bound",
                                       study->steps_per_orbit > 0 ? "dt" : "t_end", ensemble->id[s]);
            goto fail;
        }
        if (unbound) {
            *outcome = SHOAL_INVALID;
            shoal_study_invalid(study, 1, ensemble->id[s], "no orbit is bound");
        }
        if (*outcome != SHOAL_INVALID && check_pericentre && isfinite(period)) {
            const int n_live = (int)*shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, s);
            study->n_unresolved += misses_pericentre(n_live, orbits, dt);
        }
        if (dt > 0 || !propagator->adaptive)
            *shoal_ensemble_field(ensemble, SHOAL_SYS_DT, s) = copysign(dt > 0 && isfinite(dt) ? dt : fabs(span), span);
    }
fail:
    free(bodies);
    free(orbits);
    return status;
}

static shoal_status read_integrator(const shoal_config *config, shoal_study *study)
{
    const config_setting_t *integrator = shoal_config_lookup(config, "integrator");
    const config_setting_t *name = config_setting_get_member(integrator, "name");
    const config_setting_t *dt = config_setting_get_member(integrator, "dt");
    const config_setting_t *steps = config_setting_get_member(integrator, "steps_per_orbit");
    if (dt && steps)
        return shoal_config_fail(config, steps, NULL, NULL, "either dt or steps_per_orbit");
    const char *word = name ? config_setting_get_string(name) : shoal_key_find("integrator", "name")->otherwise;
    study->propagator = shoal_propagator_find(config->context, word);
    if (!dt && !steps && !study->propagator->adaptive)
        return shoal_config_fail(config, integrator, NULL, NULL, "dt or steps_per_orbit");
    study->dt_min = shoal_config_number(config, integrator, "integrator", "dt_min");
    study->dt_max = shoal_config_number(config, integrator, "integrator", "dt_max");
    study->max_steps = shoal_config_number(config, integrator, "integrator", "max_steps");
    static const char *const bounds[] = {"dt_min", "dt_max"};
    for (int i = 0; i < SHOAL_COUNT(bounds); i++) {
        const config_setting_t *bound = config_setting_get_member(integrator, bounds[i]);
        if (bound && !study->propagator->adaptive)
            return shoal_config_fail(config, bound, NULL, NULL, "no %s: the steps of %s are all the same", bounds[i],
                                     word);
        if (bound && study->dt_min > study->dt_max)
            return shoal_config_fail(config, bound, NULL, NULL, "dt_min <= dt_max");
    }
    study->dt = dt ? shoal_config_number(config, integrator, "integrator", "dt") : 0;
    study->steps_per_orbit = steps ? shoal_config_number(config, integrator, "integrator", "steps_per_orbit") : 0;

    shoal_status status = read_parameters(config, integrator, study, study->propagator->parameters,
                                          study->propagator->n_parameters, study->parameter);
    if (status)
        return status;
    double value;
    for (int k = 0, preset; (preset = shoal_propagator_preset(study->propagator, word, k, &value)) >= 0; k++)
        if (!config_setting_get_member(integrator, study->propagator->parameters[preset].name))
            study->parameter[preset] = value;
    status = refuse(config, study, study->propagator->refuses, study->parameter, name ? name : integrator,
                    "a propagator");
    return status ? status : set_steps(config, steps ? steps : shoal_config_lookup(config, "run.orbits"), study);
}

/* The monitors, sorted into the order of the list. */
static shoal_status read_monitors(const shoal_config *config, shoal_study *study)
{
    const config_setting_t *list = shoal_config_lookup(config, "monitors");
    const config_setting_t *group_of[SHOAL_MAX_MONITORS] = {NULL};
    const int n = list ? config_setting_length(list) : 0;
    for (int i = 0; i < n; i++) {
        const config_setting_t *group = config_setting_get_elem(list, (unsigned)i);
        const int index = shoal_monitor_find(config->context, shoal_config_string(group, "name", ""));
        if (group_of[index])
            return shoal_config_fail(config, config_setting_get_member(group, "name"), NULL, NULL,
                                     "each monitor at most once");
        group_of[index] = group;
    }
    for (int index = 0; index < SHOAL_MAX_MONITORS; index++) {
        if (!group_of[index])
            continue;
        shoal_study_plug *monitor = &study->monitors[study->n_monitors++];
        monitor->index = index;
        const shoal_monitor *type = shoal_plugs_of(config->context)->monitors[index];
        shoal_status status = read_parameters(config, group_of[index], study, type->parameters, type->n_parameters,
                                              monitor->parameter);
        if (status)
            return status;
        const bool whole = shoal_study_is_whole(study); /* a part may have less to see */
        const char *why = whole && type->refuses ? type->refuses(monitor->parameter, study->ensemble) : NULL;
        if (why)
            return shoal_config_fail(config, config_setting_get_member(group_of[index], "name"), NULL, NULL,
                                     "a monitor that applies: %s", why);
    }
    return SHOAL_OK;
}

static shoal_status read_forces(const shoal_config *config, shoal_study *study)
{
    const config_setting_t *list = shoal_config_lookup(config, "forces");
    study->n_forces = list ? config_setting_length(list) : 0;
    if (study->n_forces > SHOAL_MAX_FORCES)
        return shoal_config_fail(config, list, NULL, NULL, "at most %d forces", SHOAL_MAX_FORCES);
    shoal_status status = SHOAL_OK;
    for (int i = 0; i < study->n_forces && !status; i++) {
        const config_setting_t *group = config_setting_get_elem(list, (unsigned)i);
        shoal_study_plug *force = &study->forces[i];
        force->index = shoal_force_find(config->context, shoal_config_string(group, "name", ""));
        const shoal_force *type = shoal_plugs_of(config->context)->forces[force->index];
        status = read_parameters(config, group, study, type->parameters, type->n_parameters, force->parameter);
        if (!status)
            status = refuse(config, study, type->refuses, force->parameter, config_setting_get_member(group, "name"),
                            "a force");
    }
    return status;
}

static shoal_status study_open(shoal_context *context, const char *path, const char *text, int n_overrides,
                               const char *const *overrides, struct shoal_table *given, shoal_study **study)
{
    if (!study || !path)
        return shoal_fail(context, SHOAL_E_USAGE, "no config file, or no place to put the study");
    *study = NULL;
    shoal_config config;
    shoal_status status = shoal_config_open(context, path, text, n_overrides, overrides, &config);
    if (status)
        return status;
    shoal_study *made = calloc(1, sizeof *made);
    if (!made) {
        status = out_of_memory(&config);
        goto fail;
    }
    made->context = context;
    made->given = given;
    made->units = config.units;
    made->angle = config.angle;
    made->angle_name = config.angle_name;
    made->seed = 1;
    made->path = strdup(path);
    made->config_text = shoal_config_text(&config);
    if (!made->path || !made->config_text) {
        status = out_of_memory(&config);
        goto fail;
    }
    if (config.big) {
        if ((status = shoal_big_study_read(&config, made)))
            goto fail;
    } else if ((status = read_run(&config, made)) || (status = read_output(&config, made)) ||
               (status = read_systems(&config, made)) || (status = read_integrator(&config, made)) ||
               (status = read_forces(&config, made)) || (status = read_monitors(&config, made)))
        goto fail;
    shoal_config_close(&config);
    if (context)
        context->message[0] = '\0'; /* of systems that are invalid, which is no failure */
    *study = made;
    return SHOAL_OK;
fail:
    shoal_config_close(&config);
    shoal_study_destroy(&made);
    return status;
}

shoal_status shoal_study_open(shoal_context *context, const char *path, const char *text, int n_overrides,
                              const char *const *overrides, struct shoal_table *given, shoal_study **study)
{
    const shoal_point point = shoal_point_begin();
    const shoal_status status = study_open(context, path, text, n_overrides, overrides, given, study);
    shoal_point_end(point);
    return status;
}

shoal_status shoal_study_load(shoal_context *context, const char *path, int n_overrides, const char *const *overrides,
                              shoal_study **study)
{
    shoal_status status = shoal_check_given(context, __func__, "study", study);
    if (!status)
        *study = NULL;
    if (!status && !context)
        status = SHOAL_E_USAGE;
    if (!status)
        status = shoal_check_given(context, __func__, "path", path);
    if (!status)
        status = shoal_check_range(context, __func__, "n_overrides", n_overrides, (long[2]){0, INT_MAX});
    for (int i = 0; i < n_overrides && !status; i++) {
        char name[32];
        snprintf(name, sizeof name, "overrides[%d]", i);
        status = shoal_check_given(context, __func__, name, overrides ? overrides[i] : NULL);
    }
    return status ? status : shoal_study_open(context, path, NULL, n_overrides, overrides, NULL, study);
}

const char *shoal_study_output(const shoal_study *study)
{
    return study && study->output ? study->output : "";
}

void shoal_study_destroy(shoal_study **study)
{
    if (!study || !*study)
        return;
    shoal_study *old = *study;
    for (int i = 0; i < old->n_swept; i++)
        free(old->swept[i].value);
    free(old->swept);
    shoal_ensemble_destroy(&old->ensemble);
    shoal_big_study_destroy(&old->big);
    free(old->body_name);
    free(old->times);
    free(old->output);
    free(old->config_text);
    free(old->path);
    free(old);
    *study = NULL;
}
