/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * merge.c: the results of the shards of a study (run.shard = "i/N") become one, which holds what a run of the whole
 * study would have left: the same rows in the same order, and its config, which is that of each shard without the line
 * that names the shard.
 *
 * Row k of shard i is system i - 1 + k N of the whole. A snapshot is taken of all systems at once, so in the whole the
 * first ones of all systems come first, in order of the systems, then the second ones. Events are in order of the
 * systems.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "core/config/config.h"
#include "core/result/result.h"
#include "core/report/report.h"

static const char shard_line[] = "\n    shard = \"%9ld/%9ld\";%n"; /* as config.c writes it */

char *shoal_config_without_shard(const char *text, long *shard, long *n_shards)
{
    char *whole = strdup(text);
    int length = 0;
    *shard = 0;
    *n_shards = 1;
    for (char *at = whole; at && (at = strchr(at, '\n')); at++)
        if (sscanf(at, shard_line, shard, n_shards, &length) == 2 && length > 0 &&
            strncmp(at, "\n    shard", 10) == 0) {
            memmove(at, at + length, strlen(at + length) + 1);
            break;
        }
    return whole;
}

/* A shard and where its rows come from and go to. */
typedef struct shard {
    const char *name; /* of the file, for messages */
    const shoal_result *result;
    char *config; /* of the whole study */
    long i, n;    /* it is the i-th of n, from 1 */
} shard;

/* What tells the runs of two shards apart, NULL if they are of the same study. */
static const char *difference(const shard *a, const shard *b)
{
    const shoal_result *one = a->result, *other = b->result;
    return strcmp(one->version, other->version) != 0                                   ? "version of shoal"
           : memcmp(&one->units.length, &other->units.length, 4 * sizeof(double)) != 0 ? "units"
           : a->n != b->n                                                              ? "number of shards"
           : !shoal_config_same(a->config, b->config)                                  ? "config"
           : one->n_bodies != other->n_bodies                                          ? "number of bodies"
           : one->n_columns != other->n_columns                                        ? "number of columns"
                                                                                       : NULL;
}

/* Every shard once, all of them, all complete and of the same study; shards: in the order given, place: [n] by
 * number. */
static shoal_status check_shards(shoal_context *context, const shard *shards, int n_given, bool partial,
                                 const shard **place)
{
    const long n = shards->n;
    char missing[200] = "";
    for (int k = 0; k < n_given; k++) {
        const shard *given = &shards[k];
        const char *what = difference(shards, given);
        if (what) {
            char keys[200] = "";
            if (strcmp(what, "config") == 0)
                shoal_config_difference(shards->config, given->config, keys, sizeof keys);
            return shoal_fail(context, SHOAL_E_INPUT, "%s and %s: expected shards of one run; their %s differs%s%s",
                              shards->name, given->name, what, *keys ? ": " : "", keys);
        }
        if (place[given->i - 1])
            return shoal_fail(context, SHOAL_E_INPUT, "%s and %s: both are shard %ld/%ld", place[given->i - 1]->name,
                              given->name, given->i, n);
        if (!given->result->complete && !partial)
            return shoal_fail(context, SHOAL_E_INPUT, "%s: its run has not ended; --partial takes what there is",
                              given->name);
        place[given->i - 1] = given;
    }
    for (long i = 1, used = 0; i <= n && used < (long)sizeof missing - 1; i++)
        if (!place[i - 1])
            used += snprintf(missing + used, sizeof missing - (size_t)used, "%s%ld", used ? ", " : "", i);
    if (*missing && !partial)
        return shoal_fail(context, SHOAL_E_INPUT, "shards missing of %ld: %s; --partial does without", n, missing);
    return SHOAL_OK;
}

/* How many systems the whole has, at least; refused if the shards do not fit together. */
static shoal_status count_systems(shoal_context *context, const shard *const *place, long n, long *total)
{
    *total = 0;
    for (long i = 0; i < n; i++) {
        const long end = place[i] ? i + 1 + (place[i]->result->n_systems - 1) * n : 0;
        *total = end > *total ? end : *total;
    }
    for (long i = 0; i < n; i++) {
        const long expected = (*total - 1 - i) / n + 1;
        if (place[i] && place[i]->result->n_systems != expected)
            return shoal_fail(context, SHOAL_E_INPUT, "%s: %ld systems, expected %ld", place[i]->name,
                              place[i]->result->n_systems, expected);
    }
    return SHOAL_OK;
}

/* What all shards have in common. */
static shoal_status copy_header(shoal_context *context, shoal_result *to, const shard *part)
{
    const shoal_result *from = part->result;
    memcpy(to->version, from->version, sizeof to->version);
    memcpy(to->epoch, from->epoch, sizeof to->epoch);
    memcpy(to->axes, from->axes, sizeof to->axes);
    memcpy(to->body_name, from->body_name, (size_t)to->n_bodies * sizeof *to->body_name);
    to->units = from->units;
    to->seed = from->seed;
    to->n_swept = from->n_swept;
    for (int c = 0; c < to->n_columns; c++) {
        double *value = to->columns[c].value;
        to->columns[c] = from->columns[c];
        to->columns[c].value = value;
    }
    to->config_text = strdup(part->config);
    to->plan_line = strdup(from->plan_line ? from->plan_line : "");
    return to->config_text && to->plan_line ? SHOAL_OK : shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
}

/* A snapshot or an event: the how-manieth of which system it is, and where it comes from. */
typedef struct entry {
    long ordinal, row, from;
    const shoal_result *result;
} entry;

static int order(long a, long b)
{
    return (a > b) - (a < b);
}

static int by_ordinal(const void *a, const void *b)
{
    const entry *one = a, *other = b;
    return one->ordinal != other->ordinal ? order(one->ordinal, other->ordinal) : order(one->row, other->row);
}

static int by_row(const void *a, const void *b)
{
    const entry *one = a, *other = b;
    return one->row != other->row ? order(one->row, other->row) : order(one->ordinal, other->ordinal);
}

/* The snapshots or the events. row_of: the row of system k of shard i is row_of[i - 1 + k n]. */
static shoal_status merge_entries(shoal_context *context, shoal_result *to, int when, const shard *shards, int n_given,
                                  const long *row_of)
{
    const shoal_field *system = shoal_result_fields; /* the row that an entry belongs to */
    long n = 0;
    while (!(system->when & when))
        system++;
    for (int s = 0; s < n_given; s++)
        n += shoal_field_rows(system, shards[s].result);
    entry *all = malloc((size_t)(n + 1) * sizeof *all);
    long *ordinal = calloc((size_t)to->n_systems + 1, sizeof *ordinal);
    shoal_status status = all && ordinal
                              ? shoal_result_reserve(context, to, when, n)
                              : shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld snapshots or events", n);
    if (status)
        goto fail;
    for (int s = 0, k = 0; s < n_given; s++) {
        const int64_t *of = shoal_field_data(shards[s].result, system);
        for (long from = 0; from < shoal_field_rows(system, shards[s].result); from++) {
            const long row = row_of[shards[s].i - 1 + of[from] * shards[s].n];
            all[k++] = (entry){ordinal[row]++, row, from, shards[s].result};
        }
    }
    qsort(all, (size_t)n, sizeof *all, when & SHOAL_FIELD_EVENT ? by_row : by_ordinal);
    for (long k = 0; k < n; k++)
        shoal_result_copy_row(to, k, all[k].result, all[k].from, when);
    for (long k = 0; k < n; k++)
        ((int64_t *)shoal_field_data(to, system))[k] = all[k].row;
    *shoal_result_rows(to, when) = n;
fail:
    free(all);
    free(ordinal);
    return status;
}

/* A log of a shard, to that of the whole. row_of: as in merge_entries. */
static shoal_status merge_log(shoal_context *context, shoal_result *to, const shard *part, const shoal_log *from,
                              const long *row_of)
{
    shoal_log *log = shoal_result_log(to, shoal_log_name(from));
    shoal_status status = SHOAL_OK;
    if (!log)
        status = shoal_result_add_log(context, to, shoal_log_name(from), from->n_columns, &log);
    if (!status && log->n_columns != from->n_columns)
        status = shoal_fail(context, SHOAL_E_INPUT, "%s: %s has other columns than the other shards' has", part->name,
                            from->path);
    if (!status)
        status = shoal_log_reserve(context, log, log->n_rows + from->n_rows);
    for (int c = 0; !status && c < log->n_columns; c++) {
        double *value = log->columns[c].value;
        log->columns[c] = from->columns[c];
        log->columns[c].value = value;
        for (long i = 0; i < from->n_rows; i++) {
            const double given = from->columns[c].value[i];
            value[log->n_rows + i] = c > 0 ? given : (double)row_of[part->i - 1 + (long)given * part->n];
        }
    }
    if (!status)
        log->n_rows += from->n_rows;
    return status;
}

/* What monitors logged. A shard all of whose systems are invalid has no logs. */
static shoal_status merge_logs(shoal_context *context, shoal_result *to, const shard *shards, int n_given,
                               const long *row_of)
{
    shoal_status status = SHOAL_OK;
    for (int s = 0; s < n_given; s++)
        for (int l = 0; l < shards[s].result->n_logs && !status; l++)
            status = merge_log(context, to, &shards[s], &shards[s].result->logs[l], row_of);
    return status ? status : shoal_result_sort_logs(context, to);
}

/* The systems of a shard as they begin, if it has them; then all have. */
static shoal_status merge_begin(shoal_context *context, shoal_result *to, const shard *part, const long *row_of)
{
    const size_t width = (size_t)shoal_result_begin_width(to);
    const shoal_result *from = part->result;
    if (!from->begin)
        return SHOAL_OK;
    if (!to->begin)
        to->begin = calloc((size_t)to->n_systems, width * sizeof *to->begin);
    if (!to->begin)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld systems", to->n_systems);
    for (long k = 0; k < from->n_systems; k++)
        memcpy(to->begin + (size_t)row_of[part->i - 1 + k * part->n] * width, from->begin + (size_t)k * width,
               width * sizeof *to->begin);
    return SHOAL_OK;
}

/* What a longer run goes on from, if all shards have it and keep the same. */
static shoal_status merge_kept(shoal_context *context, shoal_result *to, const shard *shards, int n_given,
                               const long *row_of)
{
    const shoal_kept *first = &shards->result->kept;
    shoal_kept *kept = &to->kept;
    shoal_status status;
    long n = 0;
    for (int s = 0; s < n_given; s++) {
        const shoal_kept *from = &shards[s].result->kept;
        if (!to->complete || from->width == 0 || strcmp(from->layout, first->layout) != 0)
            return SHOAL_OK;
        n += from->n;
    }
    for (int s = 0; s < n_given; s++)
        if ((status = merge_begin(context, to, &shards[s], row_of)))
            return status;
    kept->width = first->width;
    kept->layout = strdup(first->layout);
    if (!kept->layout)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    status = shoal_kept_reserve(context, kept, n);
    for (int s = 0; s < n_given && !status; s++) {
        const shoal_kept *from = &shards[s].result->kept;
        const size_t row = (size_t)kept->width;
        for (long i = 0; i < from->n; i++) {
            memcpy(kept->row + (size_t)kept->n * row, from->row + (size_t)i * row, row * sizeof *from->row);
            kept->system[kept->n++] = row_of[shards[s].i - 1 + from->system[i] * shards[s].n];
        }
    }
    return status ? status : shoal_kept_sort(context, kept);
}

static int ascending(const void *a, const void *b)
{
    const int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

/* Two shards may have read different tables. */
static shoal_status check_ids(shoal_context *context, const shoal_result *result)
{
    int64_t *id = malloc((size_t)result->n_systems * sizeof *id);
    shoal_status status = id ? SHOAL_OK : shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    if (id) {
        memcpy(id, result->id, (size_t)result->n_systems * sizeof *id);
        qsort(id, (size_t)result->n_systems, sizeof *id, ascending);
    }
    for (long s = 1; s < result->n_systems && !status; s++)
        if (id[s] == id[s - 1])
            status = shoal_fail(context, SHOAL_E_INPUT, "system %lld is there twice", (long long)id[s]);
    free(id);
    return status;
}

shoal_status shoal_result_merge(shoal_context *context, int n_given, const char *const *names,
                                shoal_result *const *results, bool partial, shoal_result **merged)
{
    shoal_result *made = NULL;
    const shard **place = NULL;
    long *row_of = NULL, total = 0, n_rows = 0;
    shard *shards = calloc((size_t)n_given, sizeof *shards);
    shoal_status status = n_given < 1 ? shoal_fail(context, SHOAL_E_USAGE, "expected a shard or more")
                          : !shards   ? shoal_fail(context, SHOAL_E_MEMORY, "out of memory")
                                      : SHOAL_OK;
    *merged = NULL;
    for (int k = 0; k < n_given && !status; k++) {
        shard *s = &shards[k];
        *s = (shard){.name = names[k], .result = results[k]};
        s->config = shoal_config_without_shard(results[k]->config_text ? results[k]->config_text : "", &s->i, &s->n);
        if (!s->config)
            status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
        else if (s->i < 1 || s->i > s->n)
            status = shoal_fail(context, SHOAL_E_INPUT, "%s: expected a shard: its config has no run.shard", names[k]);
    }
    if (status)
        goto fail;
    const long n = shards->n;
    place = calloc((size_t)n, sizeof *place);
    status = place ? check_shards(context, shards, n_given, partial, place)
                   : shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    if (status || (status = count_systems(context, place, n, &total)))
        goto fail;
    row_of = calloc((size_t)total + 1, sizeof *row_of);
    if (!row_of) {
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld systems", total);
        goto fail;
    }
    for (long s = 0; s < total; s++)
        row_of[s] = place[s % n] ? n_rows++ : -1;
    if ((status = shoal_result_create(context, n_rows, results[0]->n_bodies, results[0]->n_columns, &made)) ||
        (status = copy_header(context, made, shards)))
        goto fail;
    made->complete = true;
    for (int k = 0; k < n_given; k++)
        if (results[k]->radius && !made->radius && (status = shoal_result_add_radii(context, made)))
            goto fail;
    for (long i = 0; i < n; i++) {
        made->complete = made->complete && place[i] && place[i]->result->complete;
        for (long k = 0; place[i] && k < place[i]->result->n_systems; k++) {
            shoal_result_copy_row(made, row_of[i + k * n], place[i]->result, k, SHOAL_FIELD_BEFORE | SHOAL_FIELD_AFTER);
            if (made->radius && place[i]->result->radius)
                memcpy(made->radius + row_of[i + k * n] * made->n_bodies, place[i]->result->radius + k * made->n_bodies,
                       (size_t)made->n_bodies * sizeof(double));
            for (int c = 0; c < made->n_columns; c++)
                made->columns[c].value[row_of[i + k * n]] = place[i]->result->columns[c].value[k];
        }
    }
    made->n_axes = n_rows == total ? results[0]->n_axes : 0; /* a grid with holes is none */
    if ((status = check_ids(context, made)) ||
        (status = merge_entries(context, made, SHOAL_FIELD_SNAPSHOT, shards, n_given, row_of)) ||
        (status = merge_entries(context, made, SHOAL_FIELD_EVENT, shards, n_given, row_of)) ||
        (status = merge_logs(context, made, shards, n_given, row_of)) ||
        (status = merge_kept(context, made, shards, n_given, row_of)))
        goto fail;
    *merged = made;
    made = NULL;
fail:
    for (int k = 0; shards && k < n_given; k++)
        free(shards[k].config);
    free(shards);
    free(place);
    free(row_of);
    shoal_result_destroy(&made);
    return status;
}
