/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * record.c: the result file of one big system (HDF5), from which a run goes on, too:
 *
 *     /                    attributes: format, format_version, complete, version, config, plan, units, seed,
 *                          energy_start
 *     /diagnostics/NAME    [row], the columns of big.h in the units of the config
 *     /checkpoint          the state after the last row, in inner units (G = 1): mass [n], position [3][n], velocity
 *                          [3][n],
 *                          slots [k][n] of the propagator; attributes time, level, last_step, steps, interactions,
 *                              kernel,
 *                          row_kernel
 *
 * It is written anew each time, to a temporary name that is renamed: it is complete or as it was. Snapshots are other
 * files.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/result/h5.h"
#include "big/big.h"

#define FORMAT         "shoal big system"
#define FORMAT_VERSION 1

void shoal_big_record_release(shoal_big_record *record)
{
    free(record->config_text);
    free(record->plan_line);
    free(record->rows);
    free(record->slots);
    shoal_big_bodies_release(&record->bodies);
    *record = (shoal_big_record){0};
}

shoal_status shoal_big_record_add_row(shoal_big_record *record, const double row[SHOAL_BIG_COLUMNS])
{
    if (record->n_rows == record->room) {
        const long room = record->room ? 2 * record->room : 64;
        void *rows = realloc(record->rows, (size_t)room * sizeof *record->rows);
        if (!rows)
            return shoal_fail(record->context, SHOAL_E_MEMORY, "out of memory for %ld rows", room);
        record->rows = rows;
        record->room = room;
    }
    double *to = record->rows[record->n_rows++];
    for (int c = 0; c < SHOAL_BIG_COLUMNS; c++)
        to[c] = row[c] / shoal_big_factor(&record->units, shoal_big_columns[c].dimension);
    to[SHOAL_BIG_COLUMN_time] = shoal_units_time(&record->units, row[SHOAL_BIG_COLUMN_time]);
    return SHOAL_OK;
}

/* "Msun pc^2/Myr^2" for an energy. */
static void unit_of(const shoal_big_record *record, const char *dimension, char *text, size_t size)
{
    const char *l = record->units.length_name, *m = record->units.mass_name, *t = record->units.time_name;
    text[0] = '\0';
    if (!record->has_units)
        return;
    if (strcmp(dimension, "energy") == 0)
        snprintf(text, size, "%s %s^2/%s^2", m, l, t);
    else if (strcmp(dimension, "momentum") == 0)
        snprintf(text, size, "%s %s/%s", m, l, t);
    else if (strcmp(dimension, "angular momentum") == 0)
        snprintf(text, size, "%s %s^2/%s", m, l, t);
    else if (*dimension)
        snprintf(text, size, "%s", strcmp(dimension, "time") == 0 ? t : strcmp(dimension, "mass") == 0 ? m : l);
}

static shoal_status write_rows(const shoal_big_record *record, shoal_h5 *h5)
{
    shoal_status status = shoal_h5_group(h5, "/diagnostics");
    double *column = malloc(((size_t)record->n_rows + 1) * sizeof *column);
    if (!column)
        status = shoal_fail(record->context, SHOAL_E_MEMORY, "%s: out of memory", h5->path);
    for (int c = 0; c < SHOAL_BIG_COLUMNS && !status; c++) {
        char unit[96], path[64];
        for (long i = 0; i < record->n_rows; i++)
            column[i] = record->rows[i][c];
        unit_of(record, shoal_big_columns[c].dimension, unit, sizeof unit);
        snprintf(path, sizeof path, "/diagnostics/%s", shoal_big_columns[c].name);
        status = shoal_h5_write(h5, path, H5T_NATIVE_DOUBLE, shoal_h5_rows(record->n_rows), column, unit,
                                shoal_big_columns[c].doc);
    }
    free(column);
    return status;
}

static shoal_status write_state(const shoal_big_record *record, shoal_h5 *h5)
{
    const shoal_big_bodies *b = &record->bodies;
    const int64_t level = record->level;
    shoal_status status = shoal_h5_group(h5, "/checkpoint");
#define STEP(call) \
    if (!status)   \
    status = call
    STEP(shoal_h5_put_doubles(h5, "/checkpoint", "time", 0, &b->time));
    STEP(shoal_h5_put_doubles(h5, "/checkpoint", "steps", 0, &record->n_steps));
    STEP(shoal_h5_put_doubles(h5, "/checkpoint", "interactions", 0, &record->interactions));
    STEP(shoal_h5_put_integers(h5, "/checkpoint", "level", 0, &level));
    STEP(shoal_h5_put_doubles(h5, "/checkpoint", "last_step", 0, &record->last_step));
    STEP(shoal_h5_put_text(h5, "/checkpoint", "kernel", record->kernel));
    STEP(shoal_h5_put_text(h5, "/checkpoint", "row_kernel", record->row_kernel));
    STEP(shoal_h5_write(h5, "/checkpoint/mass", H5T_NATIVE_DOUBLE, shoal_h5_rows(b->n), b->m, "inner", "masses"));
    STEP(shoal_h5_write(h5, "/checkpoint/position", H5T_NATIVE_DOUBLE, shoal_h5_table(3, b->n), b->x, "inner",
                        "x, y, z of the bodies"));
    STEP(shoal_h5_write(h5, "/checkpoint/velocity", H5T_NATIVE_DOUBLE, shoal_h5_table(3, b->n), b->v, "inner",
                        "vx, vy, vz of the bodies"));
    STEP(shoal_h5_write(h5, "/checkpoint/slots", H5T_NATIVE_DOUBLE, shoal_h5_table(record->n_slots, b->n),
                        record->slots, "inner", "what the propagator carries from step to step"));
    return status;
}

shoal_status shoal_big_record_write(const shoal_big_record *record, const char *path)
{
    char units[SHOAL_UNITS_TEXT] = "";
    const int64_t version = FORMAT_VERSION, complete = record->complete;
    const double factors[] = {record->units.length, record->units.mass, record->units.time, record->units.G};
    shoal_h5 h5;
    shoal_status status = shoal_h5_create(record->context, path, H5F_LIBVER_V110, 1 << 20, &h5);
    if (status)
        return status;
    if (record->has_units)
        shoal_units_print(&record->units, units);
    STEP(shoal_h5_put_text(&h5, "/", "format", FORMAT));
    STEP(shoal_h5_put_integers(&h5, "/", "format_version", 0, &version));
    STEP(shoal_h5_put_integers(&h5, "/", "complete", 0, &complete));
    STEP(shoal_h5_put_text(&h5, "/", "version", shoal_version()));
    STEP(shoal_h5_put_text(&h5, "/", "config", record->config_text));
    STEP(shoal_h5_put_text(&h5, "/", "plan", record->plan_line));
    STEP(shoal_h5_put_text(&h5, "/", "units", units));
    STEP(shoal_h5_put_doubles(&h5, "/", "unit_factors", 4, factors));
    STEP(shoal_h5_put_integers(&h5, "/", "seed", 0, &record->seed));
    STEP(shoal_h5_put_doubles(&h5, "/", "energy_start", 0, &record->energy_start));
    STEP(write_rows(record, &h5));
    STEP(write_state(record, &h5));
    return shoal_h5_save(&h5, status);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool is_record(shoal_h5 *h5)
{
    char format[sizeof FORMAT] = "";
    return shoal_h5_get_word(h5, "/", "format", format, sizeof format) == SHOAL_OK && strcmp(format, FORMAT) == 0;
}

bool shoal_big_record_is(const char *path)
{
    shoal_h5 h5;
    if (shoal_h5_open(NULL, path, &h5) != SHOAL_OK)
        return false;
    const bool is = is_record(&h5);
    shoal_h5_close(&h5);
    return is;
}

static shoal_status read_units(shoal_big_record *record, shoal_h5 *h5)
{
    char *text = NULL;
    shoal_status status = shoal_h5_get_text(h5, "/", "units", &text);
    if (status)
        return status;
    record->has_units = *text != '\0';
    status = shoal_units_parse(record->context, text, &record->units);
    if (!status && !record->has_units) {
        status = shoal_units_init(record->context, NULL, NULL, NULL, NAN, &record->units);
        record->units.length_name[0] = record->units.mass_name[0] = record->units.time_name[0] = '\0';
    }
    free(text);
    return status;
}

static shoal_status read_rows(shoal_big_record *record, shoal_h5 *h5)
{
    shoal_status status = shoal_h5_size(h5, "/diagnostics/time", &record->n_rows);
    if (status)
        return status;
    const size_t n = (size_t)(record->room = record->n_rows + 1);
    double *column = calloc(n, sizeof *column); /* which knows what is too many */
    record->rows = calloc(n, sizeof *record->rows);
    if (!column || !record->rows)
        status = shoal_fail(record->context, SHOAL_E_MEMORY, "%s: out of memory", h5->path);
    for (int c = 0; c < SHOAL_BIG_COLUMNS && !status; c++) {
        char path[64];
        snprintf(path, sizeof path, "/diagnostics/%s", shoal_big_columns[c].name);
        status = shoal_h5_read(h5, path, H5T_NATIVE_DOUBLE, record->n_rows, column);
        for (long i = 0; i < record->n_rows && !status; i++)
            record->rows[i][c] = column[i];
    }
    free(column);
    return status;
}

/* Files of earlier versions do not say. */
static shoal_status read_kernel(shoal_h5 *h5, const char *name, char kernel[32])
{
    char *text = NULL;
    const shoal_status status = shoal_h5_has_attribute(h5, "/checkpoint", name)
                                    ? shoal_h5_get_text(h5, "/checkpoint", name, &text)
                                    : SHOAL_OK;
    if (text)
        snprintf(kernel, 32, "%s", text);
    free(text);
    return status;
}

static shoal_status read_state(shoal_big_record *record, shoal_h5 *h5)
{
    long n = 0, n_slots = 0;
    int64_t level = 0;
    shoal_status status = shoal_h5_size(h5, "/checkpoint/mass", &n);
    STEP(shoal_h5_size(h5, "/checkpoint/slots", &n_slots));
    if (!status && (n < 1 || n > INT_MAX || n_slots / n > INT_MAX || n_slots % n))
        status = shoal_fail(record->context, SHOAL_E_INPUT, "%s: %ld bodies that carry %ld numbers: not a result",
                            h5->path, n, n_slots);
    STEP(shoal_big_bodies_create(record->context, n, &record->bodies));
    if (!status && !(record->slots = shoal_allocate((size_t)n_slots + 1, sizeof(double))))
        status = shoal_fail(record->context, SHOAL_E_MEMORY, "%s: out of memory", h5->path);
    STEP(shoal_h5_get_doubles(h5, "/checkpoint", "time", 1, &record->bodies.time));
    STEP(shoal_h5_get_doubles(h5, "/checkpoint", "steps", 1, &record->n_steps));
    STEP(shoal_h5_get_doubles(h5, "/checkpoint", "interactions", 1, &record->interactions));
    STEP(shoal_h5_get(h5, "/checkpoint", "level", H5T_NATIVE_INT64, &level));
    if (!status && (level < INT_MIN || level > INT_MAX))
        status = shoal_fail(record->context, SHOAL_E_INPUT, "%s: level is %lld", h5->path, (long long)level);
    STEP(shoal_h5_get_doubles(h5, "/checkpoint", "last_step", 1, &record->last_step));
    STEP(read_kernel(h5, "kernel", record->kernel));
    STEP(read_kernel(h5, "row_kernel", record->row_kernel));
    STEP(shoal_h5_read(h5, "/checkpoint/mass", H5T_NATIVE_DOUBLE, n, record->bodies.m));
    STEP(shoal_h5_read(h5, "/checkpoint/position", H5T_NATIVE_DOUBLE, 3 * n, record->bodies.x));
    STEP(shoal_h5_read(h5, "/checkpoint/velocity", H5T_NATIVE_DOUBLE, 3 * n, record->bodies.v));
    STEP(shoal_h5_read(h5, "/checkpoint/slots", H5T_NATIVE_DOUBLE, n_slots, record->slots));
    record->level = (int)level;
    record->n_slots = n > 0 ? (int)(n_slots / n) : 0;
    return status;
}

shoal_status shoal_big_record_read(shoal_context *context, const char *path, shoal_big_record *record)
{
    double complete = 0;
    shoal_h5 h5;
    *record = (shoal_big_record){.context = context};
    shoal_status status = shoal_h5_open(context, path, &h5);
    if (status)
        return status;
    if (!is_record(&h5))
        status = shoal_fail(context, SHOAL_E_INPUT, "%s: expected a result of one big system", path);
    STEP(shoal_h5_get_doubles(&h5, "/", "complete", 1, &complete));
    STEP(shoal_h5_get(&h5, "/", "seed", H5T_NATIVE_INT64, &record->seed));
    STEP(shoal_h5_get_doubles(&h5, "/", "energy_start", 1, &record->energy_start));
    STEP(shoal_h5_get_text(&h5, "/", "config", &record->config_text));
    STEP(shoal_h5_get_text(&h5, "/", "plan", &record->plan_line));
    STEP(read_units(record, &h5));
    STEP(read_rows(record, &h5));
    STEP(read_state(record, &h5));
    shoal_h5_close(&h5);
    record->complete = complete != 0;
    if (status)
        shoal_big_record_release(record);
    return status;
}

void shoal_big_record_print(const shoal_big_record *record, FILE *out)
{
    for (int c = 0; c < SHOAL_BIG_COLUMNS; c++)
        fprintf(out, "%s%s", c ? "," : "", shoal_big_columns[c].name);
    putc('\n', out);
    for (long i = 0; i < record->n_rows; i++)
        for (int c = 0; c < SHOAL_BIG_COLUMNS; c++)
            fprintf(out, "%.17g%c", record->rows[i][c], c + 1 < SHOAL_BIG_COLUMNS ? ',' : '\n');
}
