/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * format_phigrape.c: the text snapshots of phiGRAPE (Harfst et al. 2007, doi:10.1016/j.newast.2006.11.003), by custom G
 * = 1:
 *
 *     number of the snapshot
 *     number of bodies
 *     time
 *     index mass x y z vx vy vz            a line each
 */
#define _GNU_SOURCE 1
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/formats/table.h"

/* Three lines of a number each, then one of eight. */
static bool phigrape_is(const char *begin)
{
    long number, n;
    double value[8];
    char lines[4][512] = {""};
    for (int i = 0, used; i < 4; i++, begin += used) {
        used = 0;
        if (sscanf(begin, "%511[^\n]%*[\n]%n", lines[i], &used) < 1 || !used)
            return false;
    }
    char more;
    return sscanf(lines[0], "%ld %c", &number, &more) == 1 && sscanf(lines[1], "%ld %c", &n, &more) == 1 && n > 1 &&
           sscanf(lines[2], "%lf %c", &value[0], &more) == 1 &&
           sscanf(lines[3], "%lf %lf %lf %lf %lf %lf %lf %lf %c", &value[0], &value[1], &value[2], &value[3], &value[4],
                  &value[5], &value[6], &value[7], &more) == 8;
}

/* The line of a body: eight numbers, neither less nor more. */
static shoal_status read_body(shoal_lines *lines, shoal_body *body)
{
    static const char *const what[] = {"index", "mass", "x", "y", "z", "vx", "vy", "vz"};
    const shoal_table *table = lines->table;
    double v[SHOAL_COUNT(what)];
    shoal_status status = shoal_lines_number(lines, what[0], &v[0]);
    const long line = table->line;
    int n = 1;
    while (n < SHOAL_COUNT(what) && !status) {
        if (!lines->at[strspn(lines->at, " \t")])
            return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: the line ends; expected %s", table->path, line,
                              what[n]);
        status = shoal_lines_number(lines, what[n], &v[n]);
        n++;
    }
    if (status)
        return status;
    if (lines->at[strspn(lines->at, " \t")])
        return shoal_table_fail(table, "word", shoal_lines_word(lines), "the end of the line after vz");
    if (v[0] != trunc(v[0]))
        return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: index = %g: expected an integer", table->path, line,
                          v[0]);
    if (v[1] < 0)
        return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: mass = %g: expected a number >= 0", table->path, line,
                          v[1]);
    *body = (shoal_body){v[1], 0, v[2], v[3], v[4], v[5], v[6], v[7]};
    return SHOAL_OK;
}

static shoal_status phigrape_read(shoal_table *table, int n_files, char *const *files,
                                  const shoal_convert_options *options)
{
    (void)n_files, (void)options;
    enum { LEAST = 16 }; /* bytes of a body's line: eight digits, each with what parts it from the next */
    shoal_lines lines;
    struct stat about = {0};
    double number, n = 0, time = 0;
    shoal_status status = shoal_lines_open(&lines, table, files[0]);
    if (!status && !(status = shoal_lines_number(&lines, "number of the snapshot", &number)) && number != trunc(number))
        status = shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: number of the snapshot = %g: expected an integer",
                            files[0], table->line, number);
    if (!status && !(status = shoal_lines_number(&lines, "number of bodies", &n)) &&
        (n < 2 || n > INT_MAX || n != trunc(n)))
        status = shoal_fail(table->context, SHOAL_E_INPUT,
                            "%s:%ld: number of bodies = %g: expected an integer from 2 on", files[0], table->line, n);
    if (!status && fstat(fileno(lines.in), &about) == 0 && n > (double)(about.st_size / LEAST + 1))
        status = shoal_fail(table->context, SHOAL_E_INPUT,
                            "%s:%ld: number of bodies = %.0f: expected fewer in a file of %lld bytes", files[0],
                            table->line, n, (long long)about.st_size);
    if (!status)
        status = shoal_lines_number(&lines, "time", &time);
    if (!status && !(table->bodies = calloc((size_t)n, sizeof *table->bodies)))
        status = shoal_table_no_memory(table);
    if (!status)
        status = shoal_table_add_system(table, 0, time);
    for (table->room_bodies = status ? 0 : (long)n; table->n_bodies < n && !status; table->n_bodies++)
        status = read_body(&lines, &table->bodies[table->n_bodies]);
    const char *more = status ? NULL : shoal_lines_word(&lines);
    if (more)
        status = shoal_table_fail(table, "word", more, "the end after %g bodies", n);
    status = shoal_lines_close(&lines, status);
    return status ? status : shoal_table_end_system(table);
}

static shoal_status phigrape_write(const shoal_table *table, FILE *out)
{
    if (table->n_systems != 1)
        return shoal_fail(table->context, SHOAL_E_INPUT, "%ld systems: expected one for this format", table->n_systems);
    const double time = isnan(table->systems[0].time) ? 0 : table->systems[0].time;
    fprintf(out, "0\n%ld\n%.17g\n", table->n_bodies, time);
    for (long i = 0; i < table->n_bodies; i++) {
        const shoal_body *b = &table->bodies[i];
        fprintf(out, "%ld %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", i, b->m, b->x, b->y, b->z, b->vx, b->vy, b->vz);
    }
    return SHOAL_OK;
}

const shoal_format shoal_format_phigrape = {
    .name = "phigrape",
    .ends = ".phigrape",
    .doc = "phiGRAPE's text snapshot of one big system; G = 1 or --units",
    .is = phigrape_is,
    .read = phigrape_read,
    .write = phigrape_write,
    .natural = true,
    .radii = SHOAL_RADII_NONE,
};
