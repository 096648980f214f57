/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * columns.c: numbers of the systems of a table beside their bodies: the sampled and swept parameters of a result. In a
 * CSV they are further columns, which have a dot in their names ("b.e") and the same number for all bodies of a system.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/table.h"

shoal_status shoal_table_add_column(shoal_table *table, const shoal_column *like)
{
    shoal_column *more = realloc(table->columns, (size_t)(table->n_columns + 1) * sizeof *more);
    if (!more)
        return shoal_table_no_memory(table);
    table->columns = more;
    more[table->n_columns] = *like;
    more[table->n_columns++].value = NULL;
    return SHOAL_OK;
}

shoal_status shoal_table_add_number(shoal_table *table, int c, double value)
{
    const size_t at = (size_t)table->n_systems - 1, capacity = shoal_result_capacity(at + 1);
    double **values = &table->columns[c].value;
    if (capacity != shoal_result_capacity(at)) {
        double *more = realloc(*values, capacity * sizeof *more);
        if (!more)
            return shoal_table_no_memory(table);
        *values = more;
    }
    (*values)[at] = value;
    return SHOAL_OK;
}

void shoal_table_move_system(shoal_table *table, long to, long from)
{
    table->systems[to] = table->systems[from];
    for (int c = 0; c < table->n_columns; c++)
        table->columns[c].value[to] = table->columns[c].value[from];
}

void shoal_table_convert_columns(shoal_table *table, const shoal_units *to)
{
    static const char *const dimensions[] = {"length", "mass", "time", "velocity", "frequency", "angular velocity"};
    for (int c = 0; c < table->n_columns; c++) {
        shoal_column *column = &table->columns[c];
        char name[SHOAL_UNIT_SIZE];
        int d = 0;
        const char *key = strrchr(column->name, '.');
        if (key && strcmp(key, ".log10_m") == 0) /* it has no unit, but means one */
            for (long s = 0; s < table->n_systems; s++)
                column->value[s] += log10(table->units.mass / to->mass);
        while (d < SHOAL_COUNT(dimensions) &&
               strcmp(column->unit, shoal_units_name(&table->units, dimensions[d], name)))
            d++;
        if (!*column->unit || d == SHOAL_COUNT(dimensions))
            continue;
        const double factor = shoal_units_factor(&table->units, dimensions[d]) / shoal_units_factor(to, dimensions[d]);
        for (long s = 0; s < table->n_systems; s++)
            column->value[s] *= factor;
        snprintf(column->unit, sizeof column->unit, "%s", shoal_units_name(to, dimensions[d], name));
    }
}

void shoal_table_release_columns(shoal_table *table)
{
    for (int c = 0; c < table->n_columns; c++)
        free(table->columns[c].value);
    free(table->columns);
}
