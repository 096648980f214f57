/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * columns.c: finds the columns of a plan's monitors by their names, for programs. watch.c makes their values.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

/* A column: of which monitor, which of its columns, of which of its parts. */
typedef struct column_place {
    int monitor, column, part;
} column_place;

/* Calls `take` for the columns of the plan's monitors until it returns true. */
static bool each_column(const shoal_plan *plan, bool (*take)(void *user, const char *name), void *user,
                        column_place *place)
{
    const shoal_monitor *const *monitors = shoal_plugs_of(plan->context)->monitors;
    const int n_bodies = plan->ensemble->n_bodies;
    for (int m = 0; monitors[m]; m++)
        for (int c = 0; plan->choice.monitors & (1 << m) && c < monitors[m]->n_columns; c++)
            for (int part = 0; part < shoal_monitor_n_of(monitors[m], plan->args.monitor[m], c, n_bodies); part++) {
                const shoal_monitor_place of = {monitors[m], plan->args.monitor[m], c, part, n_bodies};
                char name[SHOAL_COLUMN_SIZE];
                shoal_monitor_column_name(&of, NULL, name);
                *place = (column_place){m, c, part};
                if (take(user, name))
                    return true;
            }
    return false;
}

static bool is_it(void *user, const char *name)
{
    return strcmp(user, name) == 0;
}

/* The nearest name of all. */
typedef struct nearest {
    const char *word;
    char name[SHOAL_COLUMN_SIZE];
} nearest;

static bool is_nearer(void *user, const char *name)
{
    nearest *n = user;
    const char *const candidates[] = {n->name, name};
    const char *near = shoal_nearest(n->word, candidates, 2);
    if (near == name)
        snprintf(n->name, sizeof n->name, "%s", name);
    return false;
}

static shoal_status find_column(const shoal_plan *plan, const char *function, const char *column, column_place *place)
{
    char word[SHOAL_COLUMN_SIZE];
    nearest near = {.word = column};
    if (shoal_check_given(plan->context, function, "column", column))
        return SHOAL_E_USAGE;
    snprintf(word, sizeof word, "%s", column);
    if (strlen(column) < sizeof word && each_column(plan, is_it, word, place))
        return SHOAL_OK;
    (void)each_column(plan, is_nearer, &near, place);
    return shoal_refuse_name(plan->context, function, "column", column, "the plan's monitors have",
                             *near.name ? near.name : NULL);
}

/* Where the name of a column goes, and how many come before it. */
typedef struct counted {
    char *name;
    int before;
} counted;

static bool is_next(void *user, const char *name)
{
    counted *c = user;
    if (c->before-- > 0)
        return false;
    snprintf(c->name, SHOAL_COLUMN_SIZE, "%s", name);
    return true;
}

const char *shoal_plan_column_name(shoal_plan *plan, const char *monitor, int i, const char **dimension)
{
    column_place at;
    if (!plan || i < 0)
        return NULL;
    if (monitor)
        return shoal_plan_log_column(plan, __func__, monitor, i, dimension);
    counted wanted = {plan->column_name, i};
    if (!each_column(plan, is_next, &wanted, &at))
        return NULL;
    if (dimension)
        *dimension = shoal_plugs_of(plan->context)->monitors[at.monitor]->columns[at.column].dimension;
    return plan->column_name;
}

const char *shoal_plan_column_doc(const shoal_plan *plan, const char *column)
{
    column_place at;
    return plan && !find_column(plan, __func__, column, &at)
               ? shoal_plugs_of(plan->context)->monitors[at.monitor]->columns[at.column].doc
               : NULL;
}

double shoal_plan_column(shoal_plan *plan, const char *column, long system)
{
    column_place at;
    if (!plan || shoal_ensemble_check_system(plan->ensemble, __func__, system) ||
        find_column(plan, __func__, column, &at) || shoal_plan_fetch_watch(plan))
        return NAN;
    return shoal_plan_column_value(plan, at.monitor, at.column, at.part, system);
}

shoal_status shoal_plan_get_column(shoal_plan *plan, const char *column, long first, long n, double *values,
                                   long stride)
{
    column_place at;
    shoal_status status = plan ? shoal_check_rows(plan->context, __func__, first, n, plan->ensemble->n_systems)
                               : SHOAL_E_USAGE;
    if (!status && n > 0)
        status = shoal_check_given(plan->context, __func__, "values", values);
    if (!status)
        status = find_column(plan, __func__, column, &at);
    if (!status)
        status = shoal_plan_fetch_watch(plan);
    if (status)
        return status;
    for (long i = 0; i < n; i++)
        shoal_stride_write(values, i * (stride ? stride : (long)sizeof(double)),
                           shoal_plan_column_value(plan, at.monitor, at.column, at.part, first + i));
    return SHOAL_OK;
}
