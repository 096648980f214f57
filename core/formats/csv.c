/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * csv.c: systems as a table of Cartesian bodies, one line a body:
 *
 *     # units: AU, Msun, yr
 *     # column units: AU, deg
 *     system,body,name,m,x,y,z,vx,vy,vz[,r][,b.a,b.M,...]
 *
 * `system` is the id of the system, whose lines stand together; `body` counts from 0. Systems may differ in their
 * number of bodies; bodies of an index have one name, body1 if they do not agree. Lines that are empty or
 * begin with # are skipped, but for those that say `units` (else: the config's), `epoch` and `time` of all the states,
 * a number, or `differs`: nobody knows it then.
 * Columns with a dot in their names are numbers of the systems (columns.c). `column units` has the unit of each of
 * these, or nothing between the commas; without it they are in no unit. States that `shoal query` prints have a column
 * `time` after the name, and empty numbers where nothing is known.
 */
#define _GNU_SOURCE 1
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/formats/table.h"

#define COLUMN_UNITS "# column units:"
#define TIME_DIFFERS "differs"

enum { SYSTEM, BODY, NAME, TIME, M, X, Y, Z, VX, VY, VZ, R, COLUMNS };

static const struct {
    const char *name, *wants;
} columns[COLUMNS] = {
    [SYSTEM] = {"system", "an integer from 0 on"},
    [BODY] = {"body", "an integer from 0 on"},
    [NAME] = {"name", "a name"},
    [TIME] = {"time", "a finite number"},
    [M] = {"m", "a number >= 0"},
    [X] = {"x", "a finite number"},
    [Y] = {"y", "a finite number"},
    [Z] = {"z", "a finite number"},
    [VX] = {"vx", "a finite number"},
    [VY] = {"vy", "a finite number"},
    [VZ] = {"vz", "a finite number"},
    [R] = {"r", "a number >= 0"},
};

/* Which columns there are, in order; returns how many. */
static shoal_status read_heading(const shoal_table *table, char *const cells[], int n, bool times, int column[COLUMNS])
{
    const bool with_time = times && n > TIME && strcmp(cells[TIME], columns[TIME].name) == 0;
    int n_columns = 0;
    for (int c = 0; c < COLUMNS && n_columns < n; c++) {
        if (c == TIME && !with_time)
            continue;
        if (strcmp(cells[n_columns], columns[c].name) != 0)
            return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: column %d = %.60s: expected %s", table->path,
                              table->line, n_columns + 1, cells[n_columns], columns[c].name);
        column[n_columns++] = c;
    }
    if (n != n_columns || column[n - 1] < VZ)
        return shoal_fail(table->context, SHOAL_E_INPUT,
                          "%s:%ld: expected the columns system,body,name,m,x,y,z,vx,vy,vz and optionally r",
                          table->path, table->line);
    return SHOAL_OK;
}

/* Give the further columns the units of a comment; NULL: there was none. The text is cut. */
static shoal_status name_units(shoal_table *table, char *units)
{
    int n = 0;
    for (char *unit; units && (unit = strsep(&units, ",")); n++) {
        unit += strspn(unit, " \t");
        for (char *end = unit + strlen(unit); end > unit && strchr(" \t", end[-1]);)
            *--end = '\0'; /* within a unit a blank may stand: "from G" */
        if (n < table->n_columns && strlen(unit) < sizeof table->columns->unit)
            strcpy(table->columns[n].unit, unit);
        else
            return shoal_table_fail(table, "column units", unit,
                                    "a unit for each of %d columns with a dot in their names", table->n_columns);
    }
    return n == 0 || n == table->n_columns ? SHOAL_OK
                                           : shoal_fail(table->context, SHOAL_E_INPUT,
                                                        "%s:%ld: expected %d column units, one for each column with a "
                                                        "dot in its name, found %d",
                                                        table->path, table->line, table->n_columns, n);
}

/* The further columns, which follow n others. */
static shoal_status add_columns(shoal_table *table, char *const cells[], int n)
{
    shoal_status status = SHOAL_OK;
    for (int i = 0; i < n && !status; i++) {
        shoal_column column = {.doc = "as the table of systems has it"};
        if (strlen(cells[i]) >= sizeof column.name)
            return shoal_table_fail(table, "column", cells[i], "a name of at most %zu bytes", sizeof column.name - 1);
        strcpy(column.name, cells[i]);
        for (int c = 0; c < table->n_columns; c++)
            if (strcmp(table->columns[c].name, column.name) == 0)
                return shoal_table_fail(table, "column", cells[i], "a name of its own");
        status = shoal_table_add_column(table, &column);
    }
    return status;
}

/* What they hold, for the first body of a system or for another one, which has the same. */
static shoal_status read_numbers(shoal_table *table, char *const cells[], bool first)
{
    shoal_status status = SHOAL_OK;
    for (int c = 0; c < table->n_columns && !status; c++) {
        double value = NAN;
        if (*cells[c] && !shoal_number(cells[c], &value))
            return shoal_table_fail(table, table->columns[c].name, cells[c], "a finite number, or nothing");
        if (first) {
            status = shoal_table_add_number(table, c, value);
            continue;
        }
        const double had = table->columns[c].value[table->n_systems - 1];
        if (had != value && !(isnan(had) && isnan(value)))
            return shoal_table_fail(table, table->columns[c].name, cells[c], "the number of the system's other bodies");
    }
    return status;
}

static shoal_status read_body(shoal_table *table, char *const cells[], int n, const int column[COLUMNS])
{
    double value[COLUMNS] = {[TIME] = NAN};
    for (int i = 0; i < n; i++) {
        const int c = column[i];
        const bool index = c == SYSTEM || c == BODY;
        if (c == NAME)
            continue;
        if (!*cells[i] && !index && column[TIME] == TIME)
            value[c] = NAN;
        else if (!shoal_number(cells[i], &value[c]) || ((index || c == M || c == R) && value[c] < 0) ||
                 (index && (value[c] != trunc(value[c]) || value[c] > (c == BODY ? INT_MAX : 0x1p53))))
            return shoal_table_fail(table, columns[c].name, cells[i], "%s", columns[c].wants);
    }
    const shoal_table_system *last = table->n_systems ? &table->systems[table->n_systems - 1] : NULL;
    shoal_status status = SHOAL_OK;
    if (!last || (double)last->id != value[SYSTEM])
        status = shoal_table_add_system(table, (int64_t)value[SYSTEM], value[TIME]);
    else if (last->time != value[TIME] && !(isnan(last->time) && isnan(value[TIME])))
        return shoal_table_fail(table, columns[TIME].name, cells[TIME], "the time of the system's other bodies");
    if (status)
        return status;
    const int n_bodies = table->systems[table->n_systems - 1].n_bodies;
    if (value[BODY] != n_bodies)
        return shoal_table_fail(table, columns[BODY].name, cells[BODY], "%d: the bodies of a system in order",
                                n_bodies);
    if ((status = read_numbers(table, cells + n, n_bodies == 0)))
        return status;
    return shoal_table_add_body(table, cells[NAME],
                                &(shoal_body){.m = value[M],
                                              .r = value[R],
                                              .x = value[X],
                                              .y = value[Y],
                                              .z = value[Z],
                                              .vx = value[VX],
                                              .vy = value[VY],
                                              .vz = value[VZ]});
}

/* How a comment should begin that looks as if it said what numbers are: "unit = AU" is none that may be passed over.
 * NULL: another comment. */
static const char *names_something(const char *text)
{
    static const struct {
        const char *word, *proper;
        bool alone;
    } words[] = {
        {"units", "units:", true}, {"unit", "units:", true}, {"epoch", "epoch:", false}, {"time", "time:", false}};
    const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    const char next = text[length + strspn(text + length, " \t")];
    for (int i = 0; i < SHOAL_COUNT(words); i++)
        if (strlen(words[i].word) == length && strncasecmp(text, words[i].word, length) == 0 &&
            (words[i].alone || next == ':' || next == '='))
            return words[i].proper;
    return NULL;
}

/* A comment that says something: units, epoch, time, once each and before the numbers. said: their first letters. */
static shoal_status read_comment(shoal_table *table, const char *text, double *time, char said[4])
{
    text += strspn(text, "# \t");
    const char *const word = names_something(text);
    if (!word)
        return SHOAL_OK;
    if (strncmp(text, word, strlen(word)) != 0)
        return shoal_table_fail(table, "comment", text, "'# %s ...' if it shall be one", word);
    const bool again = strchr(said, *word) != NULL;
    if (again || table->n_systems)
        return shoal_table_fail(table, "comment", text, "'# %s ...' once, before the first body", word);
    said[strlen(said)] = *word;
    text += strlen(word);
    text += strspn(text, " ");
    if (strcmp(word, "units:") == 0 && shoal_units_parse(table->context, text, &table->units)) {
        char message[256];
        snprintf(message, sizeof message, "%s", shoal_context_message(table->context));
        return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: %s", table->path, table->line, message);
    }
    if (strcmp(word, "epoch:") == 0 && strlen(text) >= sizeof table->epoch)
        return shoal_table_fail(table, "epoch", text, "at most %zu characters", sizeof table->epoch - 1);
    if (strcmp(word, "epoch:") == 0)
        snprintf(table->epoch, sizeof table->epoch, "%s", text);
    if (strcmp(word, "time:") != 0)
        return SHOAL_OK;
    table->times_differ = strcmp(text, TIME_DIFFERS) == 0;
    if (!table->times_differ && !shoal_number(text, time))
        return shoal_table_fail(table, "time", text, "%s, or " TIME_DIFFERS, columns[TIME].wants);
    return SHOAL_OK;
}

/* A line of bodies, or first the heading. *n_columns: of all columns, 0 = no heading yet; *n_own: without the further
 * ones. units: of the further ones, see name_units. */
static shoal_status read_line(shoal_lines *lines, bool times, double time, char *units, int *n_columns, int *n_own,
                              int column[COLUMNS])
{
    enum { MOST = 1024 };
    shoal_table *table = lines->table;
    char *cells[MOST];
    int n;
    shoal_status status = shoal_lines_cut(lines, cells, MOST, &n);
    if (status)
        return status;
    if (n > MOST || (*n_columns > 0 && n != *n_columns))
        return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected %s%d cells, found %d", table->path,
                          table->line, *n_columns ? "" : "at most ", *n_columns ? *n_columns : MOST, n);
    if (*n_columns > 0)
        return read_body(table, cells, *n_own, column);
    *n_columns = *n_own = n;
    while (*n_own >= VZ && strchr(cells[*n_own - 1], '.'))
        --*n_own;
    status = read_heading(table, cells, *n_own, times, column);
    if (!status && column[TIME] == TIME && (!isnan(time) || table->times_differ))
        status = shoal_fail(table->context, SHOAL_E_INPUT,
                            "%s:%ld: expected the column time or the comment '# time: ...', not both", table->path,
                            table->line);
    if (!status)
        status = add_columns(table, cells + *n_own, n - *n_own);
    return status ? status : name_units(table, units);
}

shoal_status shoal_csv_table(shoal_table *table, const char *path, bool times)
{
    const size_t length = strlen(COLUMN_UNITS);
    shoal_lines lines;
    int n_columns = 0, n_own = 0, column[COLUMNS] = {0};
    char said[4] = "", *units = NULL;
    double time = NAN;
    shoal_status status = shoal_lines_open(&lines, table, path);
    while (!status && shoal_lines_next(&lines)) {
        if (lines.text[0] == '#' && !units && n_columns == 0 && strncmp(lines.text, COLUMN_UNITS, length) == 0)
            status = (units = strdup(lines.text + length)) ? SHOAL_OK : shoal_table_no_memory(table);
        else if (lines.text[0] == '#')
            status = read_comment(table, lines.text, &time, said);
        else if (lines.text[strspn(lines.text, " \t")] != '\0')
            status = read_line(&lines, times, time, units, &n_columns, &n_own, column);
    }
    free(units);
    if (!status && table->n_systems == 0 && !ferror(lines.in))
        status = shoal_fail(table->context, SHOAL_E_INPUT, "%s:1: expected a header and at least one system", path);
    for (long s = 0; s < table->n_systems && column[TIME] != TIME; s++)
        table->systems[s].time = time;
    status = shoal_lines_close(&lines, status);
    return status ? status : shoal_table_check(table);
}

shoal_status shoal_csv_columns(shoal_context *context, const char *path, int n, const char *const names[],
                               const bool bare[], double **values, long *n_rows)
{
    enum { MOST = 1024 };
    shoal_table table = {.context = context};
    shoal_lines lines;
    char *cells[MOST];
    int n_columns = 0, column[n];
    long room = 0;
    *values = NULL;
    *n_rows = 0;
    shoal_status status = shoal_lines_open(&lines, &table, path);
    while (!status && shoal_lines_next(&lines)) {
        const char *comment = lines.text + strspn(lines.text, "# \t");
        if (lines.text[0] == '#' && (strncmp(comment, "units:", 6) == 0 || strncmp(comment, "column units:", 13) == 0))
            status = shoal_fail(context, SHOAL_E_INPUT,
                                "%s:%ld: %.60s: expected numbers in the units of the config, and no line of units",
                                path, table.line, lines.text);
        if (status || lines.text[0] == '#' || lines.text[strspn(lines.text, " \t")] == '\0')
            continue;
        int n_cells;
        if ((status = shoal_lines_cut(&lines, cells, MOST, &n_cells)))
            continue;
        if (n_cells > MOST || (n_columns > 0 && n_cells != n_columns))
            status = shoal_fail(context, SHOAL_E_INPUT, "%s:%ld: expected %s%d cells, found %d", path, table.line,
                                n_columns ? "" : "at most ", n_columns ? n_columns : MOST, n_cells);
        for (int i = 0; i < n && n_columns == 0 && !status; i++) { /* the heading */
            for (column[i] = 0; column[i] < n_cells && strcmp(cells[column[i]], names[i]) != 0;)
                column[i]++;
            const char *nearest = shoal_nearest(names[i], (const char *const *)cells, n_cells);
            for (int other = column[i] + 1; other < n_cells && !status; other++)
                if (strcmp(cells[other], names[i]) == 0)
                    status = shoal_fail(context, SHOAL_E_INPUT, "%s:%ld: expected one column '%s'", path, table.line,
                                        names[i]);
            if (column[i] == n_cells)
                status = shoal_fail(context, SHOAL_E_INPUT, "%s:%ld: expected a column '%s'%s%s%s", path, table.line,
                                    names[i], nearest ? " (is it '" : "", nearest ? nearest : "", nearest ? "'?)" : "");
        }
        if (status || n_columns == 0) {
            n_columns = n_cells;
            continue;
        }
        if (*n_rows == room) {
            double *more = realloc(*values, sizeof *more * (size_t)n * (size_t)(room = 2 * room + 1024));
            if (!more) {
                status = shoal_table_no_memory(&table);
                continue;
            }
            *values = more;
        }
        for (int i = 0; i < n && !status; i++) {
            double *value = &(*values)[*n_rows * n + i];
            if (!shoal_number(cells[column[i]], value))
                status = shoal_table_fail(&table, names[i], cells[column[i]], "a finite number");
            else if (bare && bare[i] && shoal_angle_is_strange(*value))
                status = shoal_table_fail(&table, names[i], cells[column[i]], "%s", SHOAL_STRANGE_ANGLE);
        }
        ++*n_rows;
    }
    if (!status && *n_rows == 0 && !ferror(lines.in))
        status = shoal_fail(context, SHOAL_E_INPUT, "%s:1: expected a heading and at least one row of numbers", path);
    return shoal_lines_close(&lines, status);
}

/* The units of the further columns, if one has a unit. */
static void write_column_units(const shoal_table *table, FILE *out)
{
    bool any = false;
    const char *separator = COLUMN_UNITS " ";
    for (int c = 0; c < table->n_columns; c++)
        any = any || (strchr(table->columns[c].name, '.') && *table->columns[c].unit);
    for (int c = 0; c < table->n_columns && any; c++)
        if (strchr(table->columns[c].name, '.')) {
            fprintf(out, "%s%s", separator, table->columns[c].unit);
            separator = ", ";
        }
    fputs(any ? "\n" : "", out);
}

shoal_status shoal_csv_write(const shoal_table *table, FILE *out)
{
    char units[SHOAL_UNITS_TEXT], number[SHOAL_NUMBER_SIZE];
    const double time = table->systems[0].time;
    const bool differ = shoal_table_times_differ(table);
    bool radii = false;
    for (long i = 0; i < table->n_bodies; i++)
        radii |= table->bodies[i].r > 0;
    shoal_units_print(&table->units, units);
    fprintf(out, "# units: %s\n", units);
    if (*table->epoch)
        fprintf(out, "# epoch: %s\n", table->epoch);
    if (differ || !isnan(time))
        fprintf(out, "# time: %s\n", differ ? TIME_DIFFERS : shoal_number_print(number, time));
    for (long s = 0; s < table->n_systems; s++)
        if (*table->systems[s].label)
            fprintf(out, "# system %lld is %s\n", (long long)table->systems[s].id, table->systems[s].label);
    write_column_units(table, out);
    fprintf(out, "system,body,name,m,x,y,z,vx,vy,vz%s", radii ? ",r" : "");
    for (int c = 0; c < table->n_columns; c++)
        if (strchr(table->columns[c].name, '.')) {
            fputc(',', out);
            shoal_print_csv(out, table->columns[c].name);
        }
    fputc('\n', out);
    for (long s = 0; s < table->n_systems; s++)
        for (int i = 0; i < table->systems[s].n_bodies; i++) {
            const shoal_body *b = &table->bodies[table->systems[s].first + i];
            fprintf(out, "%lld,%d,", (long long)table->systems[s].id, i);
            shoal_print_csv(out, table->names[i]);
            const double values[] = {b->m, b->x, b->y, b->z, b->vx, b->vy, b->vz, b->r};
            for (int q = 0; q < SHOAL_COUNT(values) - !radii; q++)
                fprintf(out, ",%s", shoal_number_print(number, values[q]));
            for (int c = 0; c < table->n_columns; c++)
                if (strchr(table->columns[c].name, '.'))
                    fprintf(out, ",%s", shoal_number_print(number, table->columns[c].value[s]));
            fputc('\n', out);
        }
    return SHOAL_OK;
}
