/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * formats.c: the formats that initial conditions and states are read from and written to: the table of them, our own
 * two (CSV: csv.c), and which one a file is in. A new one is a descriptor in a format_NAME.c and a line in the table.
 */
#define _GNU_SOURCE 1
#include "core/formats/table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool any_epoch(const char *epoch)
{
    (void)epoch;
    return true;
}

static bool csv_is(const char *begin)
{
    return strncmp(begin, "system,body,", 12) == 0 || strstr(begin, "\nsystem,body,");
}

static shoal_status csv_read(shoal_table *table, int n_files, char *const *files, const shoal_convert_options *options)
{
    (void)n_files;
    shoal_status status = shoal_csv_table(table, files[0], true);
    for (long s = 0, i = 0; i < table->n_bodies && !status; i++) {
        const shoal_body *b = &table->bodies[i];
        s += i >= table->systems[s].first + table->systems[s].n_bodies;
        if (isnan(b->m + b->x + b->y + b->z + b->vx + b->vy + b->vz))
            status = shoal_fail(table->context, SHOAL_E_INPUT,
                                "%s:%ld: system = %lld: expected no empty mass or coordinate", files[0],
                                table->systems[s].line, (long long)table->systems[s].id);
    }
    if (!status && table->times_differ)
        fprintf(options->notes, "the systems of %s are at different times, which it does not say\n", files[0]);
    if (!status && table->units.length == 0) {
        fprintf(options->notes, "%s does not state its units: taken for AU, Msun, yr (--from-units)\n", files[0]);
        status = shoal_units_parse(table->context, "", &table->units);
    }
    return status;
}

static const shoal_format csv = {
    .name = "csv",
    .ends = ".csv",
    .doc = "systems and bodies as a table, what system.file reads; any units",
    .is = csv_is,
    .read = csv_read,
    .write = shoal_csv_write,
    .dates = any_epoch,
};

static bool hdf5_is(const char *begin)
{
    return shoal_h5_begins(begin);
}

/* The systems that are wanted of a result file. */
static shoal_status read_result(shoal_table *table, const shoal_result *result, const shoal_convert_options *options)
{
    const shoal_selection of = {.last = LONG_MAX, .where = options->where};
    bool *chosen = malloc((size_t)result->n_systems * sizeof *chosen);
    long n_chosen = 0, n_less = 0;
    shoal_status status = chosen ? shoal_select_systems(table->context, result, &of, chosen)
                                 : shoal_table_no_memory(table);
    if (!status)
        status = shoal_table_from_result(result, chosen, options->which, options->time, options->keep_gone, table);
    for (long s = 0; s < result->n_systems && !status; s++)
        n_chosen += chosen[s];
    free(chosen);
    if (!status && table->n_systems < n_chosen)
        fprintf(options->notes, "%ld systems have no such state and were left out\n", n_chosen - table->n_systems);
    for (long s = 0, r = 0; s < table->n_systems && !status; s++, r++) {
        while (result->id[r] != table->systems[s].id)
            r++;
        n_less += table->systems[s].n_bodies < result->n_live[r];
    }
    if (n_less)
        fprintf(options->notes,
                "%ld systems have lost bodies: those behind them move up and bear the names of their places\n", n_less);
    return status;
}

/* A result, or what else an HDF5 file may be. */
static shoal_status hdf5_read(shoal_table *table, int n_files, char *const *files, const shoal_convert_options *options)
{
    static const shoal_format *const others[] = {&shoal_format_gadget, &shoal_format_big};
    (void)n_files;
    shoal_result *result = NULL;
    table->path = files[0];
    for (int i = 0; i < SHOAL_COUNT(others); i++)
        if (others[i]->is_file(files[0]))
            return options->where
                       ? shoal_fail(table->context, SHOAL_E_USAGE,
                                    "convert: --where: expected a result file of systems; %s has one big system",
                                    files[0])
                       : others[i]->read(table, 1, files, options);
    shoal_status status = shoal_store_read(table->context, files[0], &result);
    if (!status)
        status = read_result(table, result, options);
    shoal_result_destroy(&result);
    return status;
}

static const shoal_format hdf5 = {
    .name = "hdf5",
    .ends = ".h5 .hdf5",
    .doc = "result file, in the units of its study",
    .is = hdf5_is,
    .read = hdf5_read, /* written by shoal_store_write */
    .outcomes = true,
    .dates = any_epoch,
};

const shoal_format *const shoal_formats[] = {&csv,
                                             &hdf5,
                                             &shoal_format_swarm,
                                             &shoal_format_mercury,
                                             &shoal_format_exoplanets,
                                             &shoal_format_horizons,
                                             &shoal_format_gadget,
                                             &shoal_format_tipsy,
                                             &shoal_format_tipsy_little,
                                             &shoal_format_phigrape,
                                             NULL};

static int all_names(const char *names[])
{
    int n = 0;
    for (; shoal_formats[n]; n++)
        names[n] = shoal_formats[n]->name;
    return n;
}

shoal_status shoal_format_named(shoal_context *context, const char *name, const shoal_format **format)
{
    const char *names[SHOAL_COUNT(shoal_formats)];
    const int n = all_names(names);
    for (int i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0) {
            *format = shoal_formats[i];
            return SHOAL_OK;
        }
    const char *nearest = shoal_nearest(name, names, n);
    return nearest
               ? shoal_fail(context, SHOAL_E_USAGE, "unknown format \"%s\"; did you mean \"%s\"?", name, nearest)
               : shoal_fail(context, SHOAL_E_USAGE, "unknown format \"%s\" (shoal convert --help names them)", name);
}

const shoal_format *shoal_format_by_end(const char *file)
{
    const char *dot = strrchr(file, '.');
    for (int i = 0; dot && shoal_formats[i]; i++) {
        const char *found = strstr(shoal_formats[i]->ends, dot);
        if (found && strchr(" ", found[strlen(dot)]))
            return shoal_formats[i];
    }
    return NULL;
}

/* Whether a result file is not there yet, but the journal of its run is. */
static bool is_journal_instead(const char *file)
{
    char journal[PATH_MAX];
    if (access(file, F_OK) == 0)
        return false;
    shoal_store_journal_path(file, journal, sizeof journal);
    return access(journal, F_OK) == 0;
}

shoal_status shoal_format_of(shoal_context *context, const char *file, const shoal_format **format)
{
    enum { SIZE = 1 << 17 }; /* a catalogue's comments and header may be long */
    char begin[SIZE + 1] = "";
    FILE *in;
    const shoal_status status = shoal_file_open(context, file, &in);
    if (status && is_journal_instead(file)) {
        *format = &hdf5;
        return SHOAL_OK;
    }
    if (status)
        return status;
    begin[fread(begin, 1, SIZE, in)] = '\0';
    fclose(in);
    const int mark = strncmp(begin, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* of byte order */
    void *numbers = shoal_numbers_begin();
    int i = 0;
    while (shoal_formats[i] && !(shoal_formats[i]->is && shoal_formats[i]->is(begin + mark)))
        i++;
    shoal_numbers_end(numbers);
    /* of what has no words of its own to be known by, the reader can tell what is wrong */
    const shoal_format *by_end = shoal_format_by_end(file);
    *format = shoal_formats[i] ? shoal_formats[i] : by_end && by_end->natural ? by_end : NULL;
    if (*format == &hdf5 && shoal_format_gadget.is_file(file))
        *format = &shoal_format_gadget;
    if (*format)
        return SHOAL_OK;
    return shoal_fail(context, SHOAL_E_INPUT, "%s:1: expected a file in a known format (--from, shoal convert --help)",
                      file);
}
