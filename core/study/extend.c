/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * extend.c: a result file becomes a study with a later end, which goes on from where that run ended.
 *
 *     config in the file, a later t_end -> the same systems -> those chosen -> plan (run.c) -> rows and states
 *
 * The systems are made anew from the config, so that steps, periods, kernels and the plan line are those of a run that
 * was asked for the later end from the first. Those that had ended keep their rows. The others lose what that run did
 * after their last whole step, and go on from this step (core/plan/keep.c).
 */
#define _GNU_SOURCE 1
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/study/study.h"
#include "core/formats/table.h"

void shoal_extension_destroy(shoal_extension **extension)
{
    if (!*extension)
        return;
    shoal_result_destroy(&(*extension)->from);
    free((*extension)->row);
    free(*extension);
    *extension = NULL;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* When a run begins and ends: in inner units, or in orbits of 1. */
typedef struct span {
    bool in_orbits;
    double start, end, unit;
} span;

/* Read the config of the file as it is, with the overrides, which must change no result. */
static shoal_status read_config(shoal_context *context, const shoal_extend_options *options, const char *path,
                                const shoal_result *from, span *of)
{
    const char *text = from->config_text;
    shoal_config config;
    shoal_status status = shoal_config_open(context, path, text, options->n_overrides, options->overrides, &config);
    if (status)
        return status;
    char *written = shoal_config_text(&config), what[200] = "";
    char *own = written && from->begin ? shoal_begin_config(written, text) : written;
    const config_setting_t *run = shoal_config_lookup(&config, "run");
    if (!own)
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    else if (config.big)
        status = shoal_fail(context, SHOAL_E_INPUT, "%s: its config is of one big system", options->file);
    else if (!shoal_config_same(text, own)) {
        shoal_config_difference(text, own, what, sizeof what);
        status = strncmp(what, "what is in a file", 17) != 0
                     ? shoal_fail(context, SHOAL_E_INPUT,
                                  "%s: expected the same study, but for keys on which no result depends: %s",
                                  options->file, what)
                     : shoal_fail(context, SHOAL_E_INPUT,
                                  "%s: a file that its config names has changed, or is not in this folder (--folder)",
                                  path);
    }
    of->in_orbits = config_setting_get_member(run, "orbits") != NULL;
    of->start = of->in_orbits ? 0 : shoal_config_number(&config, run, "run", "t_start");
    of->end = shoal_config_number(&config, run, "run", of->in_orbits ? "orbits" : "t_end");
    of->unit = of->in_orbits ? 1 : config.units.time;
    if (own != written)
        free(own);
    free(written);
    shoal_config_close(&config);
    return status;
}

/* The study with the later end; *end: that of the file. */
static shoal_status open_later(shoal_context *context, const shoal_extend_options *options, const char *path,
                               const shoal_result *from, double *end, shoal_study **study)
{
    const int n = options->n_overrides;
    const char **words = malloc((size_t)(n + 1) * sizeof *words);
    char *word = NULL;
    double wanted = NAN;
    span of = {0};
    shoal_status status = words ? read_config(context, options, path, from, &of)
                                : shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    const char *name = of.in_orbits ? "orbits" : "t_end";
    if (!status && (!shoal_number(options->end, &wanted) || !((wanted * of.unit - of.end) * (of.end - of.start) > 0)))
        status = shoal_fail(context, SHOAL_E_INPUT,
                            "--extend: %s = %s: expected a number beyond %.15g, where the run of %s from %.15g ended",
                            name, options->end, of.end / of.unit, options->file, of.start / of.unit);
    if (!status && asprintf(&word, "run.%s=%s", name, options->end) < 0) {
        word = NULL;
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    }
    if (!status) {
        for (int i = 0; i < n; i++)
            words[i] = options->overrides[i];
        words[n] = word;
        status = shoal_study_open_from(context, path, from->config_text, n + 1, words, from->begin ? from : NULL,
                                       study);
    }
    *end = of.end;
    free(words);
    free(word);
    return status;
}

/* A monitor of the study that knows the end of the run from the first step. */
static const char *monitor_of_whole_run(const shoal_study *study)
{
    for (int i = 0; i < study->options.n_monitors; i++) {
        const int index = shoal_monitor_find(study->context, study->options.monitors[i].name);
        const shoal_monitor *monitor = shoal_plugs_of(study->context)->monitors[index];
        if (monitor->whole_run)
            return monitor->name;
    }
    return NULL;
}

/* ---- some of the systems ----------------------------------------------------------------------------------------- */

/* Copy a system's place from one ensemble to another. */
static void copy_system(shoal_ensemble *to, long k, const shoal_ensemble *from, long s)
{
    for (int field = 0; field < SHOAL_SYS_FIELDS; field++)
        *shoal_ensemble_field(to, field, k) = *shoal_ensemble_field(from, field, s);
    for (int body = 0; body < to->n_bodies; body++)
        for (int quantity = 0; quantity < SHOAL_QUANTITIES; quantity++)
            *shoal_ensemble_body(to, body, quantity, k) = *shoal_ensemble_body(from, body, quantity, s);
    to->id[k] = from->id[s];
    to->time[k] = from->time[s];
    to->energy_start[k] = from->energy_start[s];
    to->energy_jump[k] = from->energy_jump[s];
    memcpy(to->centre[k], from->centre[s], sizeof to->centre[k]);
    to->dt[k] = from->dt[s];
}

/* The study has no systems but those of list, ascending. */
static shoal_status reduce(shoal_study *study, const long *list, long n)
{
    shoal_ensemble *few;
    const shoal_status status = shoal_ensemble_create(study->context, n, study->ensemble->n_bodies, &few);
    if (status)
        return status;
    for (long k = 0; k < n; k++)
        copy_system(few, k, study->ensemble, list[k]);
    few->given = true;
    shoal_ensemble_destroy(&study->ensemble);
    study->ensemble = few;
    for (int c = 0; c < study->n_swept; c++)
        for (long k = 0; k < n; k++)
            study->swept[c].value[k] = study->swept[c].value[list[k]];
    study->n_axes = 0; /* a grid with holes is none */
    study->findings = (shoal_findings){.maker = SHOAL_MAKER_PART};
    return SHOAL_OK;
}

/* Leave the chosen systems of the file in the study. Both have them in the same order. */
static shoal_status choose(shoal_study *study, shoal_extension *extension, const bool *chosen,
                           const shoal_extend_options *options)
{
    const shoal_result *from = extension->from;
    const long n_systems = study->ensemble->n_systems;
    long *list = malloc((size_t)n_systems * sizeof *list), n = 0, row = 0;
    shoal_status status = SHOAL_OK;
    extension->row = malloc((size_t)n_systems * sizeof *extension->row);
    if (!list || !extension->row)
        status = shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory for %ld systems", n_systems);
    for (long s = 0; s <= n_systems && !status; s++) {
        while (row < from->n_systems && !chosen[row])
            row++;
        if (s < n_systems && row < from->n_systems && study->ensemble->id[s] == from->id[row]) {
            extension->row[n] = row++;
            list[n++] = s;
        }
    }
    if (!status && row < from->n_systems)
        status = shoal_fail(study->context, SHOAL_E_INPUT, "%s: its config does not make system %lld", options->file,
                            (long long)from->id[row]);
    if (!status && n == 0)
        status = shoal_fail(study->context, SHOAL_E_INPUT, "--where: \"%s\": no system of %s is like that",
                            options->where, options->file);
    if (!status && n < n_systems)
        status = reduce(study, list, n);
    if (!status && n < from->n_systems && extension->replaces)
        status = shoal_fail(study->context, SHOAL_E_USAGE,
                            "--where: expected --output, too: %s would lose the other %ld systems", options->file,
                            from->n_systems - n);
    free(list);
    return status;
}

/* Fill the rest of an opened study. */
static shoal_status complete(shoal_study *study, const shoal_extend_options *options)
{
    shoal_extension *extension = study->extends;
    shoal_context *context = study->context;
    const char *output = options->output ? options->output : options->file;
    const shoal_selection of = {0, LONG_MAX, options->where};
    bool *chosen = malloc((size_t)extension->from->n_systems * sizeof *chosen);
    free(study->output);
    study->output = strdup(output);
    shoal_status status = chosen && study->output ? shoal_select_systems(context, extension->from, &of, chosen)
                                                  : shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    extension->replaces = shoal_same_file(output, options->file);
    extension->anew = monitor_of_whole_run(study);
    if (!status)
        status = choose(study, extension, chosen, options);
    if (!status && !extension->anew && extension->from->kept.width == 0)
        status = shoal_store_read_kept(context, options->file, true, extension->from); /* which is refused */
    free(chosen);
    return status;
}

static shoal_status extend(shoal_context *context, const shoal_extend_options *options, shoal_study **study)
{
    const char *slash = strrchr(options->file, '/');
    char *path = NULL;
    shoal_extension *extension = calloc(1, sizeof *extension);
    shoal_status status = extension ? shoal_store_read(context, options->file, &extension->from)
                                    : shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    if (!status && !extension->from->complete)
        status = shoal_fail(
            context, SHOAL_E_INPUT,
            "%s: some of its systems run on, or are in other shards%s: the command that began it goes on, "
            "shoal merge joins shards",
            options->file, shoal_certify_is_due(extension->from) ? ", or run.certify is not done yet" : "");
    if (!status)
        status = shoal_result_check_run(context, extension->from, options->file);
    if (!status && strcmp(extension->from->version, shoal_version()) != 0)
        status = shoal_fail(context, SHOAL_E_INPUT, "%s: expected a file of this version of shoal, %s; its is %s",
                            options->file, shoal_version(), extension->from->version);
    if (!status && (options->folder ? asprintf(&path, "%s/%s", options->folder, slash ? slash + 1 : options->file)
                                    : asprintf(&path, "%s", options->file)) < 0) {
        path = NULL;
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    }
    if (!status) { /* the longer run is certified by itself */
        shoal_result_drop_log(extension->from, SHOAL_CERTIFY_LOG);
        status = shoal_store_read_kept(context, options->file, false, extension->from);
    }
    if (!status)
        status = open_later(context, options, path, extension->from, &extension->end, study);
    if (!status) {
        (*study)->extends = extension;
        extension = NULL;
        status = complete(*study, options);
    }
    if (extension)
        shoal_extension_destroy(&extension);
    if (status)
        shoal_study_destroy(study);
    free(path);
    return status;
}

shoal_status shoal_study_extend(shoal_context *context, const shoal_extend_options *options, shoal_study **study)
{
    static const shoal_extend_options none;
    const shoal_extend_options *of = options ? options : &none;
    shoal_status status = shoal_study_check_given(context, __func__, of->file, of->n_overrides, of->overrides, study);
    if (!status)
        status = shoal_check_given(context, __func__, "options.end", of->end);
    if (status)
        return status;
    void *numbers = shoal_numbers_begin();
    status = extend(context, of, study);
    shoal_numbers_end(numbers);
    return status;
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

/* What is taken over of a table with rows of systems: the first `left` of each. */
typedef struct takeover {
    shoal_context *context;
    const shoal_result *from;
    shoal_result *to;
    long *place; /* [from's n_systems] row in `to`, -1 = not chosen */
    long *left;  /* [from's n_systems] rows still to be taken */
} takeover;

/* Refuse a config that makes other systems than the file has. */
static shoal_status check_systems(const shoal_study *study, const shoal_result *to)
{
    const shoal_result *from = study->extends->from;
    const size_t state = (size_t)to->n_bodies * SHOAL_STATE;
    const char *what = from->n_bodies != to->n_bodies     ? "number of bodies"
                       : from->n_columns != to->n_columns ? "columns"
                       : from->n_logs != to->n_logs       ? "logs"
                                                          : NULL;
    for (long s = 0; s < to->n_systems && !what; s++) {
        const long row = study->extends->row[s];
        if (from->t_initial[row] != to->t_initial[s] ||
            memcmp(from->initial + (size_t)row * state, to->initial + (size_t)s * state, state * sizeof(double)) != 0)
            what = "initial states";
    }
    return what ? shoal_fail(study->context, SHOAL_E_INPUT, "%s: its config makes other systems now: their %s differ",
                             study->path, what)
                : SHOAL_OK;
}

static bool takes(const takeover *of, int64_t system)
{
    return of->place[system] >= 0 && of->left[system]-- > 0;
}

/* Rows of snapshots or events. */
static shoal_status take_rows(const takeover *of, int when)
{
    const shoal_result *from = of->from;
    const shoal_field *field = shoal_result_fields; /* the first is the system's row */
    while (!(field->when & when))
        field++;
    const int64_t *system = shoal_field_data(from, field);
    long *n = shoal_result_rows(of->to, when);
    const shoal_status status = shoal_result_reserve(of->context, of->to, when, shoal_field_rows(field, from));
    for (long i = 0; i < shoal_field_rows(field, from) && !status; i++)
        if (takes(of, system[i])) {
            shoal_result_copy_row(of->to, *n, from, i, when);
            ((int64_t *)shoal_field_data(of->to, field))[(*n)++] = of->place[system[i]];
        }
    return status;
}

static shoal_status take_log(const takeover *of, int l)
{
    const shoal_log *from = &of->from->logs[l];
    shoal_log *to = &of->to->logs[l];
    if (strcmp(from->path, to->path) != 0 || from->n_columns != to->n_columns)
        return shoal_fail(of->context, SHOAL_E_INPUT, "%s: expected a log with %d columns", from->path, to->n_columns);
    const shoal_status status = shoal_log_reserve(of->context, to, from->n_rows);
    for (long i = 0; i < from->n_rows && !status; i++) {
        const int64_t system = (int64_t)from->columns[0].value[i];
        if (!takes(of, system))
            continue;
        for (int c = 0; c < to->n_columns; c++)
            to->columns[c].value[to->n_rows] = from->columns[c].value[i];
        to->columns[0].value[to->n_rows++] = (double)of->place[system];
    }
    return status;
}

/* How many rows of a table to take of each system: all, less what is counted at `at` of its kept row. */
static shoal_status count(const takeover *of, long n_rows, const int64_t *system, const double *numbers, int at)
{
    const shoal_kept *kept = &of->from->kept;
    memset(of->left, 0, (size_t)of->from->n_systems * sizeof *of->left);
    for (long i = 0; i < n_rows && (system || numbers); i++)
        of->left[system ? system[i] : (int64_t)numbers[i]]++;
    for (long i = 0; i < kept->n; i++) {
        const double happened = kept->row[(size_t)i * (size_t)kept->width + (size_t)at];
        if (!(happened >= 0 && happened <= (double)of->left[kept->system[i]]))
            return shoal_fail(of->context, SHOAL_E_INPUT, "system %lld: its state does not fit to its events",
                              (long long)of->from->id[kept->system[i]]);
        of->left[kept->system[i]] -= (long)happened;
    }
    return SHOAL_OK;
}

static shoal_status take_tables(const takeover *of, long n_snapshots)
{
    const shoal_result *from = of->from;
    memset(of->left, 0, (size_t)from->n_systems * sizeof *of->left);
    for (long i = 0; i < from->n_snapshots; i++)
        of->left[from->snapshot_system[i]]++;
    for (long i = 0; i < from->kept.n; i++)
        of->left[from->kept.system[i]] = n_snapshots;
    shoal_status status = take_rows(of, SHOAL_FIELD_SNAPSHOT);
    if (!status)
        status = count(of, from->n_events, from->event_system, NULL, 0);
    if (!status)
        status = take_rows(of, SHOAL_FIELD_EVENT);
    for (int l = 0; l < from->n_logs && !status; l++) {
        status = count(of, from->logs[l].n_rows, NULL, from->logs[l].columns[0].value, 1 + l);
        if (!status)
            status = take_log(of, l);
    }
    return status;
}

/* The rows of systems that had ended; the kept rows of the others. */
static shoal_status take_systems(const shoal_study *study, shoal_result *to, double **row)
{
    const shoal_result *from = study->extends->from;
    for (long s = 0; s < to->n_systems; s++) {
        const long k = study->extends->row[s];
        row[s] = shoal_kept_find(&from->kept, 0, k);
        if (row[s])
            continue;
        if (from->outcome[k] == SHOAL_SURVIVED || from->outcome[k] == SHOAL_RUNNING)
            return shoal_fail(study->context, SHOAL_E_INPUT, "%s: it does not hold the end of system %lld", study->path,
                              (long long)from->id[k]);
        shoal_result_copy_row(to, s, from, k, SHOAL_FIELD_AFTER);
        for (int c = 0; c < to->n_columns; c++)
            to->columns[c].value[s] = from->columns[c].value[k];
    }
    return SHOAL_OK;
}

shoal_status shoal_extension_begin(const shoal_study *study, long n_snapshots, shoal_plan *plan, shoal_result *result)
{
    const shoal_result *from = study->extends->from;
    const size_t n_from = (size_t)from->n_systems;
    double **row = malloc((size_t)result->n_systems * sizeof *row);
    takeover of = {study->context, from, result, malloc(n_from * sizeof(long)), malloc(n_from * sizeof(long))};
    shoal_status status = check_systems(study, result);
    if (!row || !of.place || !of.left)
        status = shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory for %ld systems", result->n_systems);
    if (!status && (strcmp(from->kept.layout, result->kept.layout) != 0 || from->kept.width != result->kept.width))
        status = shoal_fail(study->context, SHOAL_E_INPUT,
                            "%s: its states are of another build of the propagator or the monitors (%s, here %s)",
                            study->path, from->kept.layout, result->kept.layout);
    for (long k = 0; k < from->n_systems && !status; k++)
        of.place[k] = -1;
    for (long s = 0; s < result->n_systems && !status; s++)
        of.place[study->extends->row[s]] = s;
    if (!status)
        status = take_systems(study, result, row);
    if (!status)
        status = take_tables(&of, n_snapshots);
    if (!status)
        status = shoal_plan_keep_load(plan, row, result->outcome);
    free(row);
    free(of.place);
    free(of.left);
    return status;
}
