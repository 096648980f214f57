/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * format_swarm.c: the text ensembles of Swarm-NG (`swarm generate`, its logs' snapshots), version 2, words apart by
 * blanks:
 *
 *     SwarmDataFile 2
 *     BODIES SYSTEMS SYSTEM_ATTRIBUTES BODY_ATTRIBUTES
 *     then per system   ID TIME STATE, its attributes, and per body   M  X Y Z  VX VY VZ, its attributes
 *
 * Units: G = 1, AU, Msun, yr/2pi. The first attribute of a body is its radius where collisions are watched; what is not
 * a normal number >= 0 is none, since Swarm-NG writes what its memory held. STATE 0 is active, -1 disabled, others to
 * be looked at. Source: src/swarm/snapshot.cpp of Swarm-NG 1.1 (Dindar et al. 2013, doi:10.1016/j.newast.2013.01.002).
 */
#include <limits.h>
#include <string.h>

#include "core/formats/table.h"

static bool swarm_is(const char *begin)
{
    return strncmp(begin, "SwarmDataFile", 13) == 0;
}

static shoal_status whole(shoal_lines *lines, const char *what, double least, double most, long *value)
{
    double number;
    char word[32];
    shoal_status status = shoal_lines_number(lines, what, &number);
    if (!status && (number != trunc(number) || number < least || number > most)) {
        snprintf(word, sizeof word, "%.17g", number);
        status = least == most
                     ? shoal_table_fail(lines->table, what, word, "%.0f", least)
                     : shoal_table_fail(lines->table, what, word, "an integer from %.0f to %.0f", least, most);
    }
    *value = status ? 0 : (long)number;
    return status;
}

static shoal_status skip(shoal_lines *lines, const char *what, long n, double *first)
{
    shoal_status status = SHOAL_OK;
    for (long i = 0; i < n && !status; i++) {
        const char *word = shoal_lines_word(lines); /* of any kind: nan too */
        double value;
        if (!word)
            status = shoal_fail(lines->table->context, SHOAL_E_INPUT, "%s:%ld: the file ends; expected %s",
                                lines->table->path, lines->table->line, what);
        else if (i == 0 && first && shoal_number(word, &value) && isnormal(value) && value > 0)
            *first = value;
    }
    return status;
}

static shoal_status read_system(shoal_lines *lines, long n_bodies, long n_attributes, long n_body_attributes,
                                long *n_disabled)
{
    static const char *const names[SHOAL_STATE] = {"mass", "x", "y", "z", "vx", "vy", "vz"};
    shoal_table *table = lines->table;
    long id, state;
    double time, number[SHOAL_STATE];
    shoal_status status;
    if ((status = whole(lines, "system", 0, INT_MAX, &id)) || (status = shoal_lines_number(lines, "time", &time)) ||
        (status = whole(lines, "state", -1, 2, &state)) || (status = shoal_table_add_system(table, id, time)) ||
        (status = skip(lines, "a system's attribute", n_attributes, NULL)))
        return status;
    *n_disabled += state == -1;
    for (int b = 0; b < n_bodies; b++) {
        char name[SHOAL_NAME_SIZE];
        double r = 0;
        for (int i = 0; i < SHOAL_STATE && !status; i++)
            if (!(status = shoal_lines_number(lines, names[i], &number[i])) && i == 0 && number[0] < 0)
                status = shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: mass = %g: expected a number >= 0",
                                    table->path, table->line, number[0]);
        if (status || (status = skip(lines, "a body's attribute", n_body_attributes, &r)) ||
            (status = shoal_table_add_body(
                 table, shoal_table_name(b, name),
                 &(shoal_body){number[0], r, number[1], number[2], number[3], number[4], number[5], number[6]})))
            return status;
    }
    return SHOAL_OK;
}

static shoal_status swarm_read(shoal_table *table, int n_files, char *const *files,
                               const shoal_convert_options *options)
{
    (void)n_files;
    shoal_lines lines;
    long version, n_bodies = 0, n_systems = 0, n_attributes = 0, n_body_attributes = 0, n_disabled = 0;
    shoal_status status = shoal_lines_open(&lines, table, files[0]);
    if (status)
        return status;
    const char *tag = shoal_lines_word(&lines);
    if (!tag || strcmp(tag, "SwarmDataFile") != 0)
        status = shoal_table_fail(table, "first word", tag ? tag : "", "SwarmDataFile");
    if (!status && !(status = whole(&lines, "version", 2, 2, &version)) &&
        !(status = whole(&lines, "number of bodies", 2, INT_MAX, &n_bodies)) &&
        !(status = whole(&lines, "number of systems", 1, INT_MAX, &n_systems)) &&
        !(status = whole(&lines, "attributes of a system", 0, 1000, &n_attributes)))
        status = whole(&lines, "attributes of a body", 0, 1000, &n_body_attributes);
    for (long s = 0; s < n_systems && !status; s++)
        status = read_system(&lines, n_bodies, n_attributes, n_body_attributes, &n_disabled);
    const char *more = status ? NULL : shoal_lines_word(&lines);
    if (more)
        status = shoal_table_fail(table, "word", more, "the end after %ld systems", n_systems);
    if (n_disabled && !status)
        fprintf(options->notes, "%ld systems are disabled (state -1) and were converted like the others\n", n_disabled);
    return shoal_lines_close(&lines,
                             status ? status : shoal_units_init(table->context, NULL, NULL, NULL, NAN, &table->units));
}

static shoal_status swarm_write(const shoal_table *table, FILE *out)
{
    const int n = table->systems[0].n_bodies;
    for (long s = 0; s < table->n_systems; s++)
        if (table->systems[s].n_bodies != n || table->systems[s].id > INT_MAX)
            return shoal_fail(
                table->context, SHOAL_E_INPUT,
                "%s: system %lld: expected %d bodies as in the first one, and an id below 2^31: Swarm-NG's format",
                table->path, (long long)table->systems[s].id, n);
    fprintf(out, "SwarmDataFile 2\n%d %ld 0 1\n\n\n", n, table->n_systems);
    for (long s = 0; s < table->n_systems; s++) {
        const shoal_table_system *system = &table->systems[s];
        fprintf(out, "%lld %.16e 0\n\n", (long long)system->id, isnan(system->time) ? 0 : system->time);
        for (const shoal_body *b = table->bodies + system->first; b < table->bodies + system->first + n; b++)
            fprintf(out, "\t%.16e\n\t%.16e %.16e %.16e\n\t%.16e %.16e %.16e\n\t%.16e\n\n", b->m, b->x, b->y, b->z,
                    b->vx, b->vy, b->vz, b->r);
    }
    return SHOAL_OK;
}

const shoal_format shoal_format_swarm = {
    .name = "swarm",
    .ends = ".txt",
    .doc = "Swarm-NG's text ensemble; AU, Msun, yr/2pi",
    .is = swarm_is,
    .read = swarm_read,
    .write = swarm_write,
    .units = "AU, Msun, yr/2pi",
};
