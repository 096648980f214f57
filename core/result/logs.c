/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * logs.c: the tables that monitors logged, as a result has them.
 */
#include "core/result/result.h"

#include <math.h>
#include <stdlib.h>

enum { COLUMN_SYSTEM, COLUMN_TIME, COLUMN_FIRST };

const char *const shoal_certify_names[SHOAL_CERTIFY_RUNS] = {"shadow", "half", "other"};

/* ---- making and growing ------------------------------------------------------------------------------------------ */

static void describe(shoal_column *column, const char *name, const char *unit, const char *doc)
{
    snprintf(column->name, sizeof column->name, "%s", name);
    snprintf(column->unit, sizeof column->unit, "%s", unit);
    snprintf(column->doc, sizeof column->doc, "%s", doc);
}

shoal_status shoal_result_add_log(shoal_context *context, shoal_result *result, const char *name, int n_columns,
                                  shoal_log **log)
{
    shoal_log *logs = realloc(result->logs, (size_t)(result->n_logs + 1) * sizeof *logs);
    if (logs)
        result->logs = logs;
    shoal_column *columns = calloc((size_t)n_columns, sizeof *columns);
    if (!logs || !columns) {
        free(columns);
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the log %s", name);
    }
    *log = &logs[result->n_logs++];
    **log = (shoal_log){.n_columns = n_columns, .columns = columns};
    snprintf((*log)->path, sizeof(*log)->path, SHOAL_LOG_FOLDER "%s", name);
    describe(&columns[COLUMN_SYSTEM], "system", SHOAL_UNIT_ROW, "row of the system in /systems");
    describe(&columns[COLUMN_TIME], "time", result->units.time_name, "when it happened");
    return SHOAL_OK;
}

shoal_log *shoal_result_log(const shoal_result *result, const char *name)
{
    for (int l = 0; l < result->n_logs; l++)
        if (strcmp(shoal_log_name(&result->logs[l]), name) == 0)
            return &result->logs[l];
    return NULL;
}

static void free_log(shoal_log *log)
{
    for (int c = 0; c < log->n_columns; c++)
        free(log->columns[c].value);
    free(log->columns);
}

void shoal_result_drop_log(shoal_result *result, const char *name)
{
    shoal_log *log = shoal_result_log(result, name);
    if (!log)
        return;
    free_log(log);
    memmove(log, log + 1, (size_t)(result->logs + --result->n_logs - log) * sizeof *log);
}

const double *shoal_log_values(const shoal_log *log, const char *column)
{
    for (int c = 0; c < log->n_columns; c++)
        if (strcmp(log->columns[c].name, column) == 0)
            return log->columns[c].value;
    return NULL;
}

void shoal_result_free_logs(shoal_result *result)
{
    for (int l = 0; l < result->n_logs; l++)
        free_log(&result->logs[l]);
    free(result->logs);
}

shoal_status shoal_log_reserve(shoal_context *context, shoal_log *log, long n)
{
    const size_t capacity = shoal_result_capacity((size_t)n);
    if (n <= log->n_rows || capacity == shoal_result_capacity((size_t)log->n_rows))
        return SHOAL_OK;
    for (int c = 0; c < log->n_columns; c++) {
        double *value = realloc(log->columns[c].value, capacity * sizeof *value);
        if (!value)
            return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld rows of %s", n, log->path);
        log->columns[c].value = value;
    }
    return SHOAL_OK;
}

/* ---- order and checks -------------------------------------------------------------------------------------------- */

static shoal_status sort_log(shoal_context *context, shoal_log *log, long n_systems)
{
    const size_t n = (size_t)log->n_rows;
    int64_t *system = malloc((n + 1) * sizeof *system);
    size_t *to = malloc((n + 1) * sizeof *to);
    double *sorted = malloc((n + 1) * sizeof *sorted);
    shoal_status status = SHOAL_OK;
    if (!system || !to || !sorted)
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld rows of %s", log->n_rows, log->path);
    for (size_t i = 0; i < n && !status; i++)
        system[i] = (int64_t)log->columns[COLUMN_SYSTEM].value[i];
    if (!status)
        status = shoal_result_order(context, n_systems, log->n_rows, system, to);
    for (int c = 0; c < log->n_columns && n > 0 && !status; c++) {
        for (size_t i = 0; i < n; i++)
            sorted[to[i]] = log->columns[c].value[i];
        memcpy(log->columns[c].value, sorted, n * sizeof *sorted);
    }
    free(system);
    free(to);
    free(sorted);
    return status;
}

shoal_status shoal_result_sort_logs(shoal_context *context, shoal_result *result)
{
    shoal_status status = SHOAL_OK;
    for (int l = 0; l < result->n_logs && !status; l++)
        status = sort_log(context, &result->logs[l], result->n_systems);
    return status;
}

/* A whole number from `least` to `most`. */
static bool is_index(double value, double least, double most)
{
    return value >= least && value <= most && value == floor(value);
}

shoal_status shoal_log_check(shoal_context *context, const shoal_result *result, const shoal_log *log, const char *path)
{
    if (log->n_columns < COLUMN_FIRST || strcmp(log->columns[COLUMN_SYSTEM].name, "system") != 0 ||
        strcmp(log->columns[COLUMN_SYSTEM].unit, SHOAL_UNIT_ROW) != 0 ||
        strcmp(log->columns[COLUMN_TIME].name, "time") != 0)
        return shoal_fail(context, SHOAL_E_INPUT, "%s: %s: its first columns are not system and time", path, log->path);
    for (int c = 0; c < log->n_columns; c++) {
        const shoal_column *column = &log->columns[c];
        const bool is_row = strcmp(column->unit, SHOAL_UNIT_ROW) == 0,
                   is_body = strcmp(column->unit, SHOAL_UNIT_BODY) == 0;
        if (!is_row && !is_body && strcmp(column->unit, SHOAL_UNIT_OUTCOME) != 0)
            continue;
        const double least = is_body ? -1 : 0;
        const double most = (double)(is_row ? result->n_systems : is_body ? result->n_bodies : SHOAL_OUTCOMES) - 1;
        for (long i = 0; i < log->n_rows; i++)
            if (!is_index(column->value[i], least, most))
                return shoal_fail(context, SHOAL_E_INPUT, "%s: %s: row %ld: %s = %g, expected a whole number, %g..%g",
                                  path, log->path, i, column->name, column->value[i], least, most);
    }
    return SHOAL_OK;
}

/* ---- files of older formats -------------------------------------------------------------------------------------- */

static void move_event(shoal_result *result, size_t from, size_t to)
{
    for (int f = 0; f < shoal_result_n_fields; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        const size_t size = shoal_field_item_size(field);
        char *data = shoal_field_data(result, field);
        if (field->when & SHOAL_FIELD_EVENT)
            memmove(data + to * size, data + from * size, size);
    }
}

shoal_status shoal_result_take_old_transits(shoal_context *context, shoal_result *result)
{
    enum { OLD_TRANSIT = 13, BODY = COLUMN_FIRST, STAR, DISTANCE, SPEED, COLUMNS };
    long n = 0, left = 0;
    for (long i = 0; i < result->n_events; i++)
        n += result->event[i] == OLD_TRANSIT;
    if (n == 0)
        return SHOAL_OK;
    shoal_log *log;
    shoal_status status = shoal_result_add_log(context, result, "transits", COLUMNS, &log);
    if (!status)
        status = shoal_log_reserve(context, log, n);
    if (status)
        return status;
    char velocity[sizeof log->columns->unit];
    snprintf(velocity, sizeof velocity, "%s/%s", result->units.length_name, result->units.time_name);
    describe(&log->columns[BODY], "body", SHOAL_UNIT_BODY, "which passes");
    describe(&log->columns[STAR], "star", SHOAL_UNIT_BODY, "before which it passes");
    describe(&log->columns[DISTANCE], "distance", result->units.length_name, "between the two then, in the sky plane");
    describe(&log->columns[SPEED], "speed", velocity, "of one relative to the other then, in the sky plane");
    for (long i = 0; i < result->n_events; i++) {
        const double row[COLUMNS] = {
            (double)result->event_system[i], result->event_time[i], result->event_a[i], result->event_b[i],
            result->event_distance[i],       result->event_speed[i]};
        if (result->event[i] != OLD_TRANSIT) {
            move_event(result, (size_t)i, (size_t)left++);
            continue;
        }
        for (int c = 0; c < COLUMNS; c++)
            log->columns[c].value[log->n_rows] = row[c];
        log->n_rows++;
    }
    result->n_events = left;
    return SHOAL_OK;
}
