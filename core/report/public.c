/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * public.c: results for programs: the tables of a result file as arrays of doubles.
 *
 * A table is a group of the file: the fields of result.h whose path begins with its name, and in "systems" the columns
 * of the run; or a log.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/report/report.h"

static const char *const tables[] = {"systems", "initial", "final", "snapshots", "events"};

shoal_status shoal_result_open(shoal_context *context, const char *path, shoal_result **result)
{
    shoal_status status = shoal_check_given(context, __func__, "result", result);
    if (!status)
        *result = NULL;
    if (!status && !context)
        status = SHOAL_E_USAGE;
    if (!status)
        status = shoal_check_given(context, __func__, "path", path);
    if (!status)
        status = shoal_report_read(context, path, result);
    if (status)
        return status;
    (*result)->context = context;
    (void)shoal_units_name(&(*result)->units, "velocity", (*result)->velocity_name);
    return SHOAL_OK;
}

void shoal_result_close(shoal_result **result)
{
    if (result)
        shoal_result_destroy(result);
}

int shoal_result_is_complete(const shoal_result *result)
{
    return result && result->complete;
}

long shoal_result_n_systems(const shoal_result *result)
{
    return result ? result->n_systems : 0;
}

int shoal_result_n_bodies(const shoal_result *result)
{
    return result ? result->n_bodies : 0;
}

const char *shoal_result_body_name(const shoal_result *result, int body)
{
    if (!result || shoal_check_range(result->context, __func__, "body", body, (long[2]){0, result->n_bodies - 1}))
        return "";
    return result->body_name[body];
}

const char *shoal_result_axis(const shoal_result *result, int i, long *count)
{
    if (!result || i < 0 || i >= result->n_axes || !shoal_result_is_grid(result))
        return NULL;
    if (count)
        *count = result->axes[i].count;
    return result->axes[i].column;
}

/* ---- what is of the whole run ------------------------------------------------------------------------------------ */

/* The attribute of that name which is a text, or which is none; NULL and a message: there is none. */
static const shoal_attribute *find_attribute(const shoal_result *result, const char *function, const char *name,
                                             bool text)
{
    if (!result || shoal_check_given(result->context, function, "name", name))
        return NULL;
    for (int i = 0; i < shoal_result_n_attributes; i++) {
        const shoal_attribute *a = &shoal_result_attributes[i];
        const bool is_text = a->type == SHOAL_ATTRIBUTE_TEXT || a->type == SHOAL_ATTRIBUTE_WORD;
        if (is_text == text && strcmp(a->name, name) == 0)
            return a;
    }
    shoal_fail(result->context, SHOAL_E_USAGE, "%s: name = '%.60s': there is no %s of that name", function, name,
               text ? "text" : "number");
    return NULL;
}

const char *shoal_result_text(const shoal_result *result, const char *name)
{
    const shoal_attribute *a = find_attribute(result, __func__, name, true);
    const char *at = a ? (const char *)result + a->offset : "", *text = at;
    if (a && a->type == SHOAL_ATTRIBUTE_TEXT)
        memcpy(&text, at, sizeof text);
    return text ? text : "";
}

double shoal_result_number(const shoal_result *result, const char *name)
{
    const shoal_attribute *a = find_attribute(result, __func__, name, false);
    if (!a)
        return NAN;
    double value;
    int64_t whole;
    const char *at = (const char *)result + a->offset;
    if (a->type == SHOAL_ATTRIBUTE_DOUBLE) {
        memcpy(&value, at, sizeof value);
        return value;
    }
    memcpy(&whole, at, sizeof whole);
    return (double)whole;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

const char *shoal_result_table(const shoal_result *result, int i)
{
    const int n = SHOAL_COUNT(tables);
    return !result || i < 0 ? NULL : i < n ? tables[i] : i - n < result->n_logs ? result->logs[i - n].path + 1 : NULL;
}

/* The log that a table is, NULL: it is none. */
static const shoal_log *log_of(const shoal_result *result, int table)
{
    return table < SHOAL_COUNT(tables) ? NULL : &result->logs[table - SHOAL_COUNT(tables)];
}

/* The index of a table, -1 and a message if there is none of that name. */
static int table_find(const shoal_result *result, const char *function, const char *table)
{
    if (!result || shoal_check_given(result->context, function, "table", table))
        return -1;
    const char *names[64], *name;
    int n = 0;
    for (; (name = shoal_result_table(result, n)); n++) {
        if (strcmp(name, table) == 0)
            return n;
        if (n < SHOAL_COUNT(names))
            names[n] = name;
    }
    n = n < SHOAL_COUNT(names) ? n : SHOAL_COUNT(names);
    (void)shoal_refuse_name(result->context, function, "table", table, "there is", shoal_nearest(table, names, n));
    return -1;
}

static long table_rows(const shoal_result *result, int table)
{
    return log_of(result, table)                     ? log_of(result, table)->n_rows
           : strcmp(tables[table], "snapshots") == 0 ? result->n_snapshots
           : strcmp(tables[table], "events") == 0    ? result->n_events
                                                     : result->n_systems;
}

/* The name of a field in a table, NULL if it is in another one. */
static const char *name_in(const shoal_field *field, int table)
{
    const size_t length = strlen(tables[table]);
    return strncmp(field->path + 1, tables[table], length) == 0 && field->path[1 + length] == '/'
               ? field->path + 2 + length
               : NULL;
}

/* A column of a table: a field of each result, or one of the run's. */
typedef struct column_place {
    const shoal_field *field;
    const shoal_column *column;
} column_place;

/* Column number i; false after the last one. */
static bool column_at(const shoal_result *result, int table, int i, column_place *place)
{
    const shoal_log *log = log_of(result, table);
    if (log) {
        if (i < log->n_columns)
            *place = (column_place){.column = &log->columns[i]};
        return i < log->n_columns;
    }
    for (int f = 0; f < shoal_result_n_fields; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        if (name_in(field, table) && field->type != SHOAL_FIELD_STATES && i-- == 0) {
            *place = (column_place){.field = field};
            return true;
        }
    }
    if (strcmp(tables[table], "systems") != 0 || i >= result->n_columns)
        return false;
    *place = (column_place){.column = &result->columns[i]};
    return true;
}

static const char *column_name(const column_place *place, int table)
{
    return place->field ? name_in(place->field, table) : place->column->name;
}

static double value_of(const shoal_result *result, const column_place *place, long row)
{
    if (place->column)
        return place->column->value[row];
    const void *data = shoal_field_data(result, place->field);
    switch (place->field->type) {
    case SHOAL_FIELD_INT64:
    case SHOAL_FIELD_ROW: return (double)((const int64_t *)data)[row];
    case SHOAL_FIELD_DOUBLE: return ((const double *)data)[row];
    default: return ((const int *)data)[row];
    }
}

static const char *unit_of(const shoal_result *result, const char *dimension)
{
    const shoal_units *units = &result->units;
    return strcmp(dimension, "time") == 0       ? units->time_name
           : strcmp(dimension, "mass") == 0     ? units->mass_name
           : strcmp(dimension, "length") == 0   ? units->length_name
           : strcmp(dimension, "velocity") == 0 ? result->velocity_name
                                                : "";
}

long shoal_result_n_rows(const shoal_result *result, const char *table)
{
    const int t = table_find(result, __func__, table);
    return t < 0 ? 0 : table_rows(result, t);
}

int shoal_result_n_columns(const shoal_result *result, const char *table)
{
    const int t = table_find(result, __func__, table);
    column_place place;
    int n = 0;
    while (t >= 0 && column_at(result, t, n, &place))
        n++;
    return n;
}

shoal_status shoal_result_describe(const shoal_result *result, const char *table, int i, const char **name,
                                   const char **unit, const char **doc)
{
    const int t = table_find(result, __func__, table);
    column_place at;
    if (t < 0)
        return SHOAL_E_USAGE;
    const long n = shoal_result_n_columns(result, table);
    if (shoal_check_range(result->context, __func__, "i", i, (long[2]){0, n - 1}) || !column_at(result, t, i, &at))
        return SHOAL_E_USAGE;
    if (name)
        *name = column_name(&at, t);
    if (unit)
        *unit = at.column ? at.column->unit : unit_of(result, at.field->dimension);
    if (doc)
        *doc = at.column ? at.column->doc : at.field->doc;
    return SHOAL_OK;
}

/* The column of that name; refused, with the nearest one, if there is none. */
static shoal_status column_find(const shoal_result *result, const char *function, int table, const char *name,
                                column_place *place)
{
    int n = 0;
    for (; column_at(result, table, n, place); n++)
        if (strcmp(column_name(place, table), name) == 0)
            return SHOAL_OK;
    const char **names = calloc((size_t)n + 1, sizeof *names);
    for (int i = 0; names && column_at(result, table, i, place); i++)
        names[i] = column_name(place, table);
    char whose[SHOAL_COLUMN_SIZE + 8];
    snprintf(whose, sizeof whose, "%s has", shoal_result_table(result, table));
    (void)shoal_refuse_name(result->context, function, "column", name, whose,
                            names ? shoal_nearest(name, names, n) : NULL);
    free(names);
    return SHOAL_E_USAGE;
}

shoal_status shoal_result_get_column(const shoal_result *result, const char *table, const char *column, long first,
                                     long n, double *values, long stride)
{
    column_place at;
    const int t = table_find(result, __func__, table);
    shoal_status status = t < 0 ? SHOAL_E_USAGE : shoal_check_given(result->context, __func__, "column", column);
    if (!status)
        status = column_find(result, __func__, t, column, &at);
    if (!status)
        status = shoal_check_rows(result->context, __func__, first, n, table_rows(result, t));
    if (!status && n > 0)
        status = shoal_check_given(result->context, __func__, "values", values);
    for (long i = 0; i < n && !status; i++)
        shoal_stride_write(values, i * (stride ? stride : (long)sizeof(double)), value_of(result, &at, first + i));
    return status;
}

/* The states of a table; refused if it has none. */
static shoal_status find_states(const shoal_result *result, const char *function, int table, const double **states)
{
    for (int f = 0; f < shoal_result_n_fields && !log_of(result, table); f++)
        if (name_in(&shoal_result_fields[f], table) && shoal_result_fields[f].type == SHOAL_FIELD_STATES) {
            *states = shoal_field_data(result, &shoal_result_fields[f]);
            return SHOAL_OK;
        }
    return shoal_fail(result->context, SHOAL_E_USAGE, "%s: table = '%s': it has no states", function,
                      shoal_result_table(result, table));
}

/* The states of a table, and the block of them that is meant: n_numbers values of each body. */
static shoal_status find_block(const shoal_result *result, const char *function, const char *table,
                               const shoal_block *given, int n_numbers, shoal_block *block, const double **states)
{
    const int t = table_find(result, function, table);
    shoal_status status = t < 0 ? SHOAL_E_USAGE : find_states(result, function, t, states);
    if (status)
        return status;
    *block = (shoal_block){.n = table_rows(result, t), .n_bodies = result->n_bodies};
    return shoal_block_resolve(result->context, function, given, n_numbers, block);
}

shoal_status shoal_result_get_states(const shoal_result *result, const char *table, const shoal_block *given,
                                     double *values)
{
    const double *states = NULL;
    shoal_block block = {0};
    shoal_status status = find_block(result, __func__, table, given, SHOAL_STATE, &block, &states);
    if (!status && block.n > 0)
        status = shoal_check_given(result->context, __func__, "values", values);
    for (long i = 0; i < block.n && !status; i++)
        for (int body = 0; body < block.n_bodies; body++)
            for (int k = 0; k < SHOAL_STATE; k++)
                shoal_stride_write(values, i * block.system_stride + body * block.body_stride + k * block.number_stride,
                                   states[((block.first + i) * result->n_bodies + body) * SHOAL_STATE + k]);
    return status;
}

shoal_status shoal_result_get_radii(const shoal_result *result, const char *table, const shoal_block *given,
                                    double *values)
{
    const double *states = NULL;
    shoal_block block = {0};
    shoal_status status = find_block(result, __func__, table, given, 1, &block, &states);
    if (!status && block.n > 0)
        status = shoal_check_given(result->context, __func__, "values", values);
    for (long i = 0; i < block.n && !status; i++) {
        const long row = block.first + i;
        const double *state = states + row * result->n_bodies * SHOAL_STATE;
        double radius[result->n_bodies];
        shoal_result_radii(result, states == result->snapshot ? result->snapshot_system[row] : row, state, radius);
        for (int body = 0; body < block.n_bodies; body++)
            shoal_stride_write(values, i * block.system_stride + body * block.body_stride,
                               isnan(state[body * SHOAL_STATE + 1]) ? NAN : radius[body]);
    }
    return status;
}
