/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * csv.c: an ensemble from a table of Cartesian bodies in the config's units, one line a body:
 *
 *     system,body,name,m,x,y,z,vx,vy,vz[,r]
 *
 * `system` is the id of the system, whose lines stand together; `body` counts from 0. Systems may differ in their
 * number of bodies. A body's name is that in the first system that has a body of its index. Lines that are empty or
 * begin with # are skipped.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

enum { SYSTEM, BODY, NAME, M, X, Y, Z, VX, VY, VZ, R, COLUMNS };

static const struct {
    const char *name, *dimension, *wants;
} columns[COLUMNS] = {
    [SYSTEM] = { "system", "", "an integer from 0 on" },
    [BODY] = { "body", "", "an integer from 0 on" },
    [NAME] = { "name", "", "a name of at most 31 characters" },
    [M] = { "m", "mass", "a number >= 0" },
    [X] = { "x", "length", "a finite number" },
    [Y] = { "y", "length", "a finite number" },
    [Z] = { "z", "length", "a finite number" },
    [VX] = { "vx", "velocity", "a finite number" },
    [VY] = { "vy", "velocity", "a finite number" },
    [VZ] = { "vz", "velocity", "a finite number" },
    [R] = { "r", "length", "a number >= 0" },
};

/* A system of the file: bodies first..first+n-1 of the table. */
typedef struct csv_system {
    long id, line, first;
    int n_bodies;
} csv_system;

typedef struct csv_table {
    const char *path;
    shoal_context *context;
    double factor[COLUMNS];
    shoal_body *bodies;
    long n_bodies, room_bodies;
    csv_system *systems;
    long n_systems, room_systems;
    char (*names)[SHOAL_NAME_SIZE];
    int n_names, room_names;
} csv_table;

static shoal_status fail_cell(const csv_table *table, long line, int column, const char *value, const char *wants)
{
    return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: %s = %.60s: expected %s", table->path, line,
                      columns[column].name, value, wants);
}

/* Room for one more item of an array that doubles. */
static bool reserve(void **items, long n, long *room, size_t size)
{
    if (n < *room)
        return true;
    const long more = *room ? 2 * *room : 64;
    void *grown = realloc(*items, (size_t)more * size);
    if (!grown)
        return false;
    *items = grown;
    *room = more;
    return true;
}

/* Split a line at commas, spaces around cells cut off; returns the number of cells. */
static int split(char *line, char *cells[], int limit)
{
    int n = 0;
    for (char *rest = line, *cell; (cell = strsep(&rest, ","));) {
        cell += strspn(cell, " \t");
        for (size_t end = strlen(cell); end > 0 && strchr(" \t\r\n", cell[end - 1]); end--)
            cell[end - 1] = '\0';
        if (n < limit)
            cells[n] = cell;
        n++;
    }
    return n;
}

static shoal_status read_line(csv_table *table, long line, char *const cells[], int n_cells)
{
    double value[COLUMNS] = { 0 };
    for (int i = 0; i < n_cells; i++) {
        if (i == NAME) {
            if (!*cells[i] || strlen(cells[i]) >= SHOAL_NAME_SIZE)
                return fail_cell(table, line, i, cells[i], columns[i].wants);
            continue;
        }
        char *end;
        value[i] = strtod(cells[i], &end);
        const bool index = i == SYSTEM || i == BODY;
        if (end == cells[i] || *end || !isfinite(value[i]) || ((index || i == M || i == R) && value[i] < 0) ||
            (index && (value[i] != trunc(value[i]) || value[i] > (i == BODY ? INT_MAX : 0x1p53))))
            return fail_cell(table, line, i, cells[i], columns[i].wants);
        value[i] *= table->factor[i];
    }
    csv_system *last = table->n_systems ? &table->systems[table->n_systems - 1] : NULL;
    if (!last || (double)last->id != value[SYSTEM]) {
        if (!reserve((void **)&table->systems, table->n_systems, &table->room_systems, sizeof *table->systems))
            return shoal_fail(table->context, SHOAL_E_MEMORY, "%s: out of memory", table->path);
        last = &table->systems[table->n_systems++];
        *last = (csv_system){ .id = (long)value[SYSTEM], .line = line, .first = table->n_bodies };
    }
    const int body = (int)value[BODY];
    if (body != last->n_bodies) {
        char wants[64];
        snprintf(wants, sizeof wants, "%d: the bodies of a system in order", last->n_bodies);
        return fail_cell(table, line, BODY, cells[BODY], wants);
    }
    long room_names = table->room_names;
    if (!reserve((void **)&table->bodies, table->n_bodies, &table->room_bodies, sizeof *table->bodies) ||
        !reserve((void **)&table->names, table->n_names, &room_names, sizeof *table->names))
        return shoal_fail(table->context, SHOAL_E_MEMORY, "%s: out of memory", table->path);
    table->room_names = (int)room_names;
    if (body == table->n_names) {
        for (int i = 0; i < table->n_names; i++)
            if (strcmp(table->names[i], cells[NAME]) == 0)
                return fail_cell(table, line, NAME, cells[NAME], "a name that no other body has");
        strcpy(table->names[table->n_names++], cells[NAME]); /* its length was checked */
    }
    last->n_bodies++;
    table->bodies[table->n_bodies++] = (shoal_body){
        .m = value[M], .r = value[R],
        .x = value[X], .y = value[Y], .z = value[Z],
        .vx = value[VX], .vy = value[VY], .vz = value[VZ],
    };
    return SHOAL_OK;
}

static shoal_status read_table(csv_table *table)
{
    shoal_status status = SHOAL_OK;
    char *text = NULL;
    size_t size = 0;
    int n_columns = 0;
    FILE *in = fopen(table->path, "r");
    if (!in)
        return shoal_fail(table->context, SHOAL_E_FILE, "%s: cannot be read: %s", table->path, strerror(errno));
    errno = 0;
    for (long line = 1; !status && getline(&text, &size, in) >= 0; line++) {
        if (text[strspn(text, " \t\r\n")] == '\0' || text[0] == '#')
            continue;
        char *cells[COLUMNS];
        const int n = split(text, cells, COLUMNS);
        if (n_columns == 0) { /* the header */
            for (int i = 0; i < n && i < COLUMNS && !status; i++)
                if (strcmp(cells[i], columns[i].name) != 0)
                    status = shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: column %d = %.60s: expected %s",
                                        table->path, line, i + 1, cells[i], columns[i].name);
            if (!status && n != COLUMNS && n != R)
                status = shoal_fail(table->context, SHOAL_E_INPUT,
                                    "%s:%ld: expected the columns system,body,name,m,x,y,z,vx,vy,vz and optionally r",
                                    table->path, line);
            n_columns = n;
        } else if (n != n_columns) {
            status = shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected %d cells, found %d", table->path, line,
                                n_columns, n);
        } else
            status = read_line(table, line, cells, n);
    }
    if (!status && ferror(in))
        status = shoal_fail(table->context, SHOAL_E_FILE, "%s: cannot be read: %s", table->path, strerror(errno));
    if (!status && table->n_systems == 0)
        status = shoal_fail(table->context, SHOAL_E_INPUT, "%s:1: expected a header and at least one system",
                            table->path);
    free(text);
    fclose(in);
    return status;
}

static int by_id(const void *a, const void *b)
{
    const csv_system *first = *(const csv_system *const *)a, *second = *(const csv_system *const *)b;
    return first->id != second->id ? (first->id > second->id) - (first->id < second->id)
                                   : (first->line > second->line) - (first->line < second->line);
}

/* Each system has at least two bodies and its lines stand together. */
static shoal_status check_systems(const csv_table *table)
{
    shoal_status status = SHOAL_OK;
    const csv_system **sorted = malloc((size_t)table->n_systems * sizeof *sorted);
    if (!sorted)
        return shoal_fail(table->context, SHOAL_E_MEMORY, "%s: out of memory", table->path);
    for (long s = 0; s < table->n_systems; s++) {
        sorted[s] = &table->systems[s];
        if (!status && sorted[s]->n_bodies < 2)
            status = shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: system = %ld: expected at least 2 bodies",
                                table->path, sorted[s]->line, sorted[s]->id);
    }
    qsort(sorted, (size_t)table->n_systems, sizeof *sorted, by_id);
    for (long s = 1; s < table->n_systems && !status; s++)
        if (sorted[s]->id == sorted[s - 1]->id)
            status = shoal_fail(table->context, SHOAL_E_INPUT,
                                "%s:%ld: system = %ld: expected the lines of a system together; "
                                "its others begin in line %ld",
                                table->path, sorted[s]->line, sorted[s]->id, sorted[s - 1]->line);
    free(sorted);
    return status;
}

shoal_status shoal_csv_read(const shoal_config *config, const char *path, shoal_study *study)
{
    csv_table table = { .path = path, .context = config->context };
    for (int i = 0; i < COLUMNS; i++)
        table.factor[i] = shoal_config_factor(config, columns[i].dimension);
    shoal_status status;
    long n_systems = 0;
    if ((status = read_table(&table)) || (status = check_systems(&table)))
        goto fail;
    while (!isnan(study->system) && study->first < table.n_systems &&
           (double)table.systems[study->first].id != study->system)
        study->first++;
    if ((status = shoal_study_share(config, study, shoal_config_lookup(config, "system.file"), (double)table.n_systems, &n_systems)) ||
        (status = shoal_ensemble_create(config->context, n_systems, table.n_names, &study->ensemble)))
        goto fail;
    for (long s = 0; s < n_systems; s++) {
        const csv_system *system = &table.systems[study->first + s * study->stride];
        const shoal_system record = { .id = system->id, .t_start = study->t_start };
        if (shoal_ensemble_set_bodies(study->ensemble, s, system->n_bodies, table.bodies + system->first)) {
            status = shoal_fail(config->context, SHOAL_E_INPUT,
                                "%s:%ld: system = %ld: expected possible initial conditions: %s", path, system->line,
                                system->id, shoal_context_message(config->context));
            goto fail;
        }
        shoal_ensemble_set_system(study->ensemble, s, &record);
    }
    study->body_name = table.names;
    table.names = NULL;
fail:
    free(table.bodies);
    free(table.systems);
    free(table.names);
    return status;
}
