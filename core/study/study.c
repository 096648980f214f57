/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * study.c: a study from its config file: its options, its output and its systems. config.c has checked keys, types and
 * bounds; the plan checks the options.
 */
#define _GNU_SOURCE 1
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/study/study.h"
#include "core/config/config.h"

static shoal_status out_of_memory(const shoal_config *config)
{
    return shoal_fail(config->context, SHOAL_E_MEMORY, "%s: out of memory", config->path);
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
    const bool in_orbits = study->options.orbits != 0;
    const double unit = in_orbits ? 1 : study->units.time;
    study->interval = shoal_config_number(config, output, "output", "interval") / (in_orbits ? study->units.time : 1);
    study->keeps = shoal_config_number(config, output, "output", "extend");
    study->n_times = times ? config_setting_length(times) : 0;
    study->times = malloc(((size_t)study->n_times + 1) * sizeof *study->times);
    if (!study->output || !study->times)
        return out_of_memory(config);
    double start, end;
    shoal_study_span(study, &start, &end);
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
    qsort(study->times, (size_t)study->n_times, sizeof *study->times, end > start ? ascending : descending);
    return SHOAL_OK;
}

static shoal_status read_systems(const shoal_config *config, const shoal_result *from, shoal_study *study)
{
    if (from)
        return shoal_begin_load(study, from);
    const config_setting_t *system = shoal_config_lookup(config, "system");
    const config_setting_t *file = config_setting_get_member(system, "file");
    if (!file) {
        if (!config_setting_get_member(system, "bodies"))
            return shoal_config_fail(config, system, NULL, NULL, "bodies or file");
        return shoal_systems_build(config, study);
    }
    static const char *const others[] = {"system.bodies", "system.elements", "system.count", "sweep", "sample",
                                         "data",          "processes",       "likelihood"};
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

/* All of an ensemble's study: what needs no systems is refused before there are any. */
static shoal_status read_ensemble(const shoal_config *config, const shoal_result *from, shoal_study *study)
{
    shoal_status status = shoal_study_read_options(config, study);
    if (status)
        return status;
    study->findings.maker = shoal_study_is_whole(study) ? SHOAL_MAKER_STUDY : SHOAL_MAKER_PART;
    study->findings.warns = true;
    if ((status = shoal_plan_check_options(config->context, &study->options, &study->findings)))
        return shoal_study_refused(study, status);
    if ((status = read_output(config, study)) || (status = read_systems(config, from, study)) ||
        (status = shoal_study_read_plugs(config, study)))
        return status;
    status = shoal_plan_check(config->context, study->ensemble, &study->options, &study->findings);
    if (status)
        return shoal_study_refused(study, status);
    if ((status = shoal_certify_read(config, study)) || (status = shoal_certify_draw(study)))
        return status;
    return shoal_certify_check(config, study);
}

/* Where systems go to, or come from; NULL = none. */
typedef struct opening {
    struct shoal_table *given;
    const shoal_result *from;
} opening;

static shoal_status study_open(shoal_context *context, const char *path, const char *text, int n_overrides,
                               const char *const *overrides, const opening *with, shoal_study **study)
{
    if (!study || !path)
        return shoal_fail(context, SHOAL_E_USAGE, "no config file, or no place to put the study");
    *study = NULL;
    shoal_status status = SHOAL_OK;
    shoal_study *made = calloc(1, sizeof *made);
    char *own = made ? strdup(path) : NULL;
    if (!own)
        status = shoal_fail(context, SHOAL_E_MEMORY, "%s: out of memory", path);
    else
        status = shoal_config_open(context, own, text, n_overrides, overrides, &made->config);
    if (status) {
        free(own);
        free(made);
        return status;
    }
    made->context = context;
    made->path = own;
    made->given = with->given;
    made->units = made->config.units;
    made->angle = made->config.angle;
    made->angle_name = made->config.angle_name;
    made->seed = 1;
    made->config_text = shoal_config_text(&made->config);
    if (made->config_text && with->from) {
        char *written = made->config_text;
        made->config_text = shoal_begin_config(written, with->from->config_text);
        free(written);
    }
    if (!made->config_text)
        status = out_of_memory(&made->config);
    else
        status = made->config.big ? shoal_big_study_read(&made->config, made)
                                  : read_ensemble(&made->config, with->from, made);
    if (status) {
        shoal_study_destroy(&made);
        return status;
    }
    if (context)
        context->message[0] = '\0'; /* of systems that are invalid, which is no failure */
    *study = made;
    return SHOAL_OK;
}

shoal_status shoal_study_open(shoal_context *context, const char *path, const char *text, int n_overrides,
                              const char *const *overrides, struct shoal_table *given, shoal_study **study)
{
    void *numbers = shoal_numbers_begin();
    const shoal_status status = study_open(context, path, text, n_overrides, overrides, &(opening){given, NULL}, study);
    shoal_numbers_end(numbers);
    return status;
}

shoal_status shoal_study_open_from(shoal_context *context, const char *path, const char *text, int n_overrides,
                                   const char *const *overrides, const shoal_result *from, shoal_study **study)
{
    void *numbers = shoal_numbers_begin();
    const shoal_status status = study_open(context, path, text, n_overrides, overrides, &(opening){NULL, from}, study);
    shoal_numbers_end(numbers);
    return status;
}

shoal_status shoal_study_check_given(shoal_context *context, const char *function, const char *path, int n_overrides,
                                     const char *const *overrides, shoal_study **study)
{
    shoal_status status = shoal_check_given(context, function, "study", study);
    if (!status)
        *study = NULL;
    if (!status && !context)
        status = SHOAL_E_USAGE;
    if (!status)
        status = shoal_check_given(context, function, "path", path);
    if (!status)
        status = shoal_check_range(context, function, "n_overrides", n_overrides, (long[2]){0, INT_MAX});
    for (int i = 0; i < n_overrides && !status; i++) {
        char name[32];
        snprintf(name, sizeof name, "overrides[%d]", i);
        status = shoal_check_given(context, function, name, overrides ? overrides[i] : NULL);
    }
    return status;
}

shoal_status shoal_study_load(shoal_context *context, const char *path, int n_overrides, const char *const *overrides,
                              shoal_study **study)
{
    const shoal_status status = shoal_study_check_given(context, __func__, path, n_overrides, overrides, study);
    return status ? status : shoal_study_open(context, path, NULL, n_overrides, overrides, NULL, study);
}

shoal_status shoal_study_parse(shoal_context *context, const char *text, const char *path, int n_overrides,
                               const char *const *overrides, shoal_study **study)
{
    shoal_status status = shoal_study_check_given(context, __func__, path, n_overrides, overrides, study);
    if (!status)
        status = shoal_check_given(context, __func__, "text", text);
    return status ? status : shoal_study_open(context, path, text, n_overrides, overrides, NULL, study);
}

const char *shoal_study_output(const shoal_study *study)
{
    return study && study->output ? study->output : "";
}

const char *shoal_study_text(const shoal_study *study)
{
    return study && study->config_text ? study->config_text : "";
}

/* Places that are given for a time centuries from the start. */
static void warn_of_far_times(const shoal_study *study, FILE *out)
{
    const double unit = study->units.time;
    if (study->far_body > 0)
        fprintf(
            out,
            "the place of '%s' is that of the time %.9g %s, and the run begins %.0f years from there, at run.t_start "
            "= %.9g: both are times of one clock\n",
            study->body_name[study->far_body], study->far_time / unit, study->units.time_name,
            fabs(study->far_time - study->t_start) / (2 * M_PI), study->t_start / unit);
}

const char *shoal_study_warnings(shoal_study *study)
{
    if (!study || study->big)
        return "";
    if (study->warnings)
        return study->warnings;
    const int n = study->ensemble->n_bodies;
    const char **names = malloc((size_t)n * sizeof *names);
    char *text = NULL;
    size_t size;
    FILE *out = names ? open_memstream(&text, &size) : NULL;
    for (int b = 0; out && b < n; b++)
        names[b] = study->body_name[b];
    if (out) {
        shoal_options options = study->options;
        options.names = names;
        shoal_plan_warn(&(shoal_warned){study->ensemble, &options,
                                        shoal_propagator_find(study->context, options.propagator), &study->findings,
                                        &study->units},
                        out);
        warn_of_far_times(study, out);
    }
    free(names);
    study->warnings = out && fclose(out) == 0 ? text : NULL;
    return study->warnings ? study->warnings : "";
}

int shoal_study_is_big(const shoal_study *study)
{
    return study && study->big;
}

void shoal_study_destroy(shoal_study **study)
{
    if (!study || !*study)
        return;
    shoal_engine_gpu_await(); /* of shoal_plan_expect */
    shoal_study *old = *study;
    for (int i = 0; i < old->n_swept; i++)
        free(old->swept[i].value);
    free(old->swept);
    free(old->walkers.bodies);
    free(old->walkers.parameters);
    free(old->walkers.ties);
    free(old->correlated.index);
    free(old->correlated.mean);
    free(old->correlated.root);
    shoal_certify_destroy(&old->certify);
    shoal_extension_destroy(&old->extends);
    shoal_ensemble_destroy(&old->ensemble);
    shoal_big_study_destroy(&old->big);
    shoal_config_close(&old->config);
    free(old->settings);
    free(old->plugs);
    free(old->body_name);
    free(old->times);
    free(old->output);
    free(old->warnings);
    free(old->config_text);
    free(old->path);
    free(old);
    *study = NULL;
}
