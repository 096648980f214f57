/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * study.c: a study of one big system from its config. Keys, types and bounds have been checked against the table; what
 * is refused here are values that contradict each other.
 */
#define _GNU_SOURCE 1
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "core/study/study.h"

static shoal_status no_memory(const shoal_config *config)
{
    return shoal_fail(config->context, SHOAL_E_MEMORY, "%s: out of memory", config->path);
}

/* A number, or one in the user's units if it is not given. */
static double number_or(const shoal_config *config, const config_setting_t *group, const char *section,
                        const char *name, double otherwise)
{
    const shoal_key *key = shoal_key_find(section, name);
    return group && config_setting_get_member(group, name)
               ? shoal_config_row(config, group, &key->row)
               : otherwise * shoal_config_factor(config, key->row.dimension);
}

static shoal_status read_file(const shoal_config *config, const config_setting_t *group, shoal_big_study *big)
{
    static const char *const of_models[] = {"n",  "mass",     "virial_radius", "r_max", "virial_ratio",
                                            "W0", "toomre_q", "seed"};
    const char *name = shoal_config_string(group, "file", "");
    char *copy = strdup(config->path);
    const bool absolute = *name == '/';
    const bool good = copy &&
                      asprintf(&big->file, "%s%s%s", absolute ? "" : dirname(copy), absolute ? "" : "/", name) >= 0;
    free(copy);
    if (!good)
        return no_memory(config);
    for (int i = 0; i < SHOAL_COUNT(of_models); i++)
        if (config_setting_get_member(group, of_models[i]))
            return shoal_config_fail(config, config_setting_get_member(group, of_models[i]), NULL, NULL,
                                     "no model.%s with model.file", of_models[i]);
    const config_setting_t *components = config_setting_get_member(group, "components");
    for (int i = 0; components && i < config_setting_length(components); i++) {
        const config_setting_t *item = config_setting_get_elem(components, (unsigned)i);
        const int found = shoal_choice_index(SHOAL_COMPONENTS, config_setting_get_string(item));
        if (found < 0)
            return shoal_config_fail(config, item, NULL, NULL, "one of gas, dark, stars");
        big->components |= 1 << found;
    }
    return SHOAL_OK;
}

static shoal_status read_model(const shoal_config *config, shoal_study *study)
{
    shoal_big_study *big = study->big;
    const config_setting_t *group = shoal_config_lookup(config, "model");
    const bool has_name = config_setting_get_member(group, "name"), has_file = config_setting_get_member(group, "file");
    if (has_name == has_file)
        return shoal_config_fail(config, group, NULL, NULL, "either model.name or model.file");
    if (has_file)
        return read_file(config, group, big);
#define NUMBER(name) shoal_config_number(config, group, "big.model", name)
    if (!config_setting_get_member(group, "n"))
        return shoal_config_fail(config, group, "n", NULL, "the number of bodies");
    if (config_setting_get_member(group, "components"))
        return shoal_config_fail(config, config_setting_get_member(group, "components"), NULL, NULL, "model.file");
    study->seed = (int64_t)NUMBER("seed");
    big->model = (shoal_big_model){
        .kind = (int)NUMBER("name"),
        .n = (long)NUMBER("n"),
        .seed = study->seed,
        .mass = number_or(config, group, "big.model", "mass", 1),
        .virial_radius = number_or(config, group, "big.model", "virial_radius", 1),
        .r_max = number_or(config, group, "big.model", "r_max", 0),
        .virial_ratio = NUMBER("virial_ratio"),
        .W0 = NUMBER("W0"),
        .toomre_q = NUMBER("toomre_q"),
    };
#undef NUMBER
    static const struct {
        const char *key, *of;
        int kinds;
    } own[] = {{"virial_ratio", "uniform and henon", 1 << SHOAL_BIG_uniform | 1 << SHOAL_BIG_henon},
               {"W0", "king", 1 << SHOAL_BIG_king},
               {"toomre_q", "kuzmin", 1 << SHOAL_BIG_kuzmin},
               {"r_max", "plummer, hernquist, king and kuzmin",
                1 << SHOAL_BIG_plummer | 1 << SHOAL_BIG_hernquist | 1 << SHOAL_BIG_king | 1 << SHOAL_BIG_kuzmin}};
    for (int i = 0; i < SHOAL_COUNT(own); i++) {
        const config_setting_t *setting = config_setting_get_member(group, own[i].key);
        if (setting && !(own[i].kinds & 1 << big->model.kind))
            return shoal_config_fail(config, setting, NULL, NULL, "no such key of %s: it is of %s",
                                     shoal_big_model_name(big->model.kind), own[i].of);
    }
    return SHOAL_OK;
}

static shoal_status read_run(const shoal_config *config, shoal_study *study)
{
    shoal_big_study *big = study->big;
    const config_setting_t *run = shoal_config_lookup(config, "run"), *output = shoal_config_lookup(config, "output");
    big->starts = config_setting_get_member(run, "t_start") != NULL;
    study->t_start = number_or(config, run, "big.run", "t_start", 0);
    study->options.t_end = shoal_config_number(config, run, "big.run", "t_end");
    if (study->t_start == study->options.t_end && (big->starts || !big->file))
        return shoal_config_fail(config, config_setting_get_member(run, "t_end"), NULL, NULL,
                                 "a time other than run.t_start");
    study->options.engine = shoal_config_string(run, "engine", "auto");
    study->options.threads = (int)shoal_config_number(config, run, "big.run", "threads");
    study->checkpoint_s = shoal_config_number(config, run, "big.run", "checkpoint_s");
    study->stride = 1;
    study->system = NAN;
    big->forces.n_devices = (int)shoal_config_number(config, run, "big.run", "devices");
    big->forces.tune = (shoal_tiled_tuning)shoal_config_number(config, run, "big.run", "tune");
    if (big->forces.n_devices > 1 && strcmp(study->options.engine, "cpu") == 0)
        return shoal_config_fail(config, config_setting_get_member(run, "devices"), NULL, NULL, "run.engine = cuda");
    big->interval = number_or(config, output, "big.output", "interval", NAN);
    big->snapshots = (long)shoal_config_number(config, output, "big.output", "snapshots");
    const char *format = shoal_config_string(output, "format", "gadget");
    study->output = shoal_output_name(study, shoal_config_string(output, "file", NULL));
    return study->output ? shoal_format_named(config->context, format, &big->format) : no_memory(config);
}

/* The force method that is asked for, if it is one of the engine's, of any engine's where that is free, and makes
 * the forces that are needed. */
static shoal_status check_method(const shoal_config *config, const config_setting_t *group,
                                 const shoal_tiled_options *forces, const char *method)
{
    static const char *const engines[] = {"cpu", "cuda"};
    const char *engine = forces->engine, *names[64];
    bool known = false;
    int n = 0;
    for (int e = 0; e < SHOAL_COUNT(engines); e++)
        for (int i = 0; strcmp(engine, "auto") == 0 || strcmp(engine, engines[e]) == 0; i++) {
            const char *name = shoal_tiled_kernel(engines[e], i, NULL);
            if (!name || n == SHOAL_COUNT(names))
                break;
            const bool is = strcmp(name, method) == 0;
            if (is && shoal_tiled_can(engines[e], name, forces->precision, forces->wants))
                return SHOAL_OK;
            known = known || is;
            names[n++] = name;
        }
    if (strcmp(method, "auto") == 0)
        return SHOAL_OK;
    return known
               ? shoal_config_fail(config, config_setting_get_member(group, "method"), NULL, NULL,
                                   "a force method that makes potentials%s in %s: this one is for `shoal bench ladder`",
                                   forces->wants & SHOAL_TILED_JERK ? " and jerks" : "",
                                   shoal_tiled_precision_name(forces->precision))
               : shoal_config_fail(config, config_setting_get_member(group, "method"), NULL,
                                   shoal_nearest(method, names, n),
                                   "auto or a force method of one big system (`shoal list`)");
}

static shoal_status read_steps(const shoal_config *config, shoal_study *study)
{
    shoal_big_study *big = study->big;
    const config_setting_t *group = shoal_config_lookup(config, "integrator");
    const config_setting_t *forces = shoal_config_lookup(config, "gravitation");
    const config_setting_t *dt = config_setting_get_member(group, "dt"), *eta = config_setting_get_member(group, "eta");
    const char *method = shoal_config_string(forces, "method", NULL);
    big->propagator = shoal_big_method_find(shoal_config_string(group, "name", "leapfrog"));
    big->steps.eps = shoal_config_number(config, forces, "big.gravitation", "softening");
    big->steps.threads = study->options.threads;
    big->forces.softening = (shoal_tiled_softening)shoal_config_number(config, forces, "big.gravitation", "kernel");
    big->forces.precision = (shoal_tiled_precision)shoal_config_number(config, forces, "big.gravitation", "precision");
    big->forces.eps = big->steps.eps;
    big->forces.threads = study->options.threads;
    big->forces.engine = study->options.engine;
    big->forces.wants = big->propagator->wants | SHOAL_TILED_POTENTIAL;
    if (big->forces.softening == SHOAL_TILED_SPLINE && big->steps.eps == 0)
        return shoal_config_fail(config, config_setting_get_member(forces, "kernel"), NULL, NULL,
                                 "a gravitation.softening > 0, which gives the spline its size");
    if (method && check_method(config, forces, &big->forces, method))
        return SHOAL_E_INPUT;
    if (method && !(big->method = strdup(method)))
        return no_memory(config);
    big->forces.kernel = big->method;
    big->steps.eta = eta                      ? shoal_config_number(config, group, "big.integrator", "eta")
                     : big->propagator->fixed ? 0
                                              : 0.01;
    if (eta && !big->propagator->adapts)
        return shoal_config_fail(config, eta, NULL, NULL, "no eta: the steps of %s are all the same",
                                 big->propagator->name);
    if (!dt && big->steps.eta == 0)
        return shoal_config_fail(config, group, NULL, NULL, "dt%s",
                                 big->propagator->adapts ? ", or eta for steps that adapt" : "");
    big->steps.dt = number_or(config, group, "big.integrator", "dt", INFINITY);
    if (eta && big->propagator == &shoal_big_leapfrog && big->steps.eps == 0)
        return shoal_config_fail(config, eta, NULL, NULL,
                                 "a gravitation.softening > 0: the step of leapfrog is of its size");
    return SHOAL_OK;
}

shoal_status shoal_big_study_read(const shoal_config *config, shoal_study *study)
{
    if (!(study->big = calloc(1, sizeof *study->big)))
        return no_memory(config);
    study->big->has_units = shoal_config_lookup(config, "units") != NULL;
    shoal_status status = read_model(config, study);
    if (!status)
        status = read_run(config, study);
    return status ? status : read_steps(config, study);
}

void shoal_big_study_destroy(shoal_big_study **big)
{
    if (!*big)
        return;
    free((*big)->file);
    free((*big)->method);
    free((*big)->notes);
    free(*big);
    *big = NULL;
}

shoal_status shoal_big_study_bodies(const shoal_study *study, shoal_big_bodies *bodies)
{
    const shoal_big_study *big = study->big;
    shoal_status status;
    if (!big->file) {
        status = shoal_big_generate(study->context, &big->model, bodies);
        bodies->time = study->t_start;
        return status;
    }
    shoal_table table = {.context = study->context, .path = big->file};
    const shoal_format *format = NULL;
    char *notes = NULL;
    size_t size;
    const shoal_convert_options options = {.which = SHOAL_QUERY_FINAL,
                                           .central_mass = NAN,
                                           .epoch = NAN,
                                           .components = big->components,
                                           .notes = open_memstream(&notes, &size)};
    if (!options.notes)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "%s: out of memory", study->path);
    status = shoal_format_of(study->context, big->file, &format);
    if (!status && big->components && !format->components)
        status = shoal_fail(study->context, SHOAL_E_INPUT,
                            "%s: model.components: expected a file of tipsy's or gadget's format; %s is %s",
                            study->path, big->file, format->name);
    if (!status && strcmp(format->name, "csv") == 0) /* without units of its own it is in the config's, here */
        status = shoal_csv_table(&table, big->file, true);
    else if (!status)
        status = format->read(&table, 1, &(char *){big->file}, &options);
    fclose(options.notes);
    free(study->big->notes);
    study->big->notes = notes;
    if (!status && table.units.length == 0)
        table.units = study->units;
    if (!status)
        status = shoal_big_from_table(study->context, &table, &study->units, bodies);
    if (!status && big->starts)
        bodies->time = study->t_start;
    if (!status && bodies->time == study->options.t_end)
        status = shoal_fail(study->context, SHOAL_E_INPUT, "%s: run.t_end = %g: expected a time other than that of %s",
                            study->path, study->options.t_end / study->units.time, big->file);
    shoal_table_release(&table);
    return status;
}
