/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * logs.c: what the plan's monitors have logged.
 */
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

shoal_status shoal_plan_log_add(shoal_plan *plan, long system, const double *record, const int *became)
{
    const int index = (int)record[SHOAL_RECORD_MONITOR];
    const shoal_monitor *type = shoal_plugs_of(plan->context)->monitors[index];
    shoal_plan_log *log = &plan->logs[index];
    const double *values = record + SHOAL_RECORD_VALUES;
    const size_t n = (size_t)log->n_rows, size = SHOAL_LOG_VALUES + (size_t)type->n_log;
    for (int c = 0; c < type->n_log; c++)
        if (strcmp(type->log[c].dimension, SHOAL_DIMENSION_BODY) == 0 && became[(int)values[c]] != (int)values[c])
            return SHOAL_OK;
    if ((n & (n + 1)) == 0) { /* room for 1, 3, 7, ... */
        double *more = realloc(log->rows, (2 * n + 1) * size * sizeof *more);
        if (!more)
            return shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory for %ld rows of the log %s",
                              log->n_rows + 1, type->name);
        log->rows = more;
    }
    double *row = log->rows + n * size;
    row[SHOAL_LOG_SYSTEM] = (double)system;
    row[SHOAL_LOG_TIME] = record[SHOAL_RECORD_TIME];
    memcpy(row + SHOAL_LOG_VALUES, values, (size_t)type->n_log * sizeof *values);
    log->n_rows++;
    return SHOAL_OK;
}

/* The plan's log of the monitor of that name, NULL and a message if it keeps none. */
static const shoal_plan_log *find_log(const shoal_plan *plan, const char *function, const char *monitor)
{
    if (!plan || shoal_check_given(plan->context, function, "monitor", monitor))
        return NULL;
    const int index = shoal_monitor_find(plan->context, monitor);
    if (index >= 0 && plan->logs[index].is_kept)
        return &plan->logs[index];
    shoal_fail(plan->context, SHOAL_E_USAGE, "%s: monitor = '%.60s': the plan has no monitor of that name that logs",
               function, monitor);
    return NULL;
}

long shoal_plan_n_logged(const shoal_plan *plan, const char *monitor)
{
    const shoal_plan_log *log = find_log(plan, __func__, monitor);
    return log ? log->n_rows : 0;
}

/* The name of a column in a row. */
static const char *column_at(const shoal_monitor *type, int i)
{
    return i == SHOAL_LOG_SYSTEM ? "system" : i == SHOAL_LOG_TIME ? "time" : type->log[i - SHOAL_LOG_VALUES].name;
}

const char *shoal_plan_log_column(const shoal_plan *plan, const char *function, const char *monitor, int i,
                                  const char **dimension)
{
    const shoal_plan_log *log = find_log(plan, function, monitor);
    const shoal_monitor *type = log ? shoal_plugs_of(plan->context)->monitors[log - plan->logs] : NULL;
    if (!type || i >= SHOAL_LOG_VALUES + type->n_log)
        return NULL;
    if (dimension)
        *dimension = i >= SHOAL_LOG_VALUES ? type->log[i - SHOAL_LOG_VALUES].dimension
                     : i == SHOAL_LOG_TIME ? "time"
                                           : "";
    return column_at(type, i);
}

/* The place of a column in a row; -1 and a message if there is none of that name. */
static int find_column(const shoal_plan *plan, const char *function, const shoal_monitor *type, const char *column)
{
    const char *names[SHOAL_LOG_VALUES + SHOAL_MAX_SLOTS];
    const int n = SHOAL_LOG_VALUES + type->n_log;
    for (int c = 0; c < n; c++)
        names[c] = column_at(type, c);
    for (int c = 0; c < n; c++)
        if (strcmp(names[c], column) == 0)
            return c;
    char whose[SHOAL_NAME_SIZE + 8];
    snprintf(whose, sizeof whose, "%s logs", type->name);
    (void)shoal_refuse_name(plan->context, function, "column", column, whose, shoal_nearest(column, names, n));
    return -1;
}

shoal_status shoal_plan_get_log(const shoal_plan *plan, const char *monitor, const char *column, long first, long n,
                                double *values, long stride)
{
    const shoal_plan_log *log = find_log(plan, __func__, monitor);
    shoal_status status = log ? shoal_check_rows(plan->context, __func__, first, n, log->n_rows) : SHOAL_E_USAGE;
    if (!status && n > 0)
        status = shoal_check_given(plan->context, __func__, "values", values);
    if (!status)
        status = shoal_check_given(plan->context, __func__, "column", column);
    if (status)
        return status;
    const shoal_monitor *type = shoal_plugs_of(plan->context)->monitors[log - plan->logs];
    const int at = find_column(plan, __func__, type, column);
    for (long i = 0; i < n && at >= 0; i++)
        shoal_stride_write(values, i * (stride ? stride : (long)sizeof(double)),
                           log->rows[(first + i) * (SHOAL_LOG_VALUES + type->n_log) + at]);
    return at < 0 ? SHOAL_E_USAGE : SHOAL_OK;
}
