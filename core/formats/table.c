/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * table.c: systems of bodies as files have them (table.h).
 */
#define _GNU_SOURCE 1
#include "core/formats/table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

shoal_status shoal_table_fail(const shoal_table *table, const char *what, const char *value, const char *format, ...)
{
    char wants[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wants, sizeof wants, format, arguments);
    va_end(arguments);
    return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: %s = %.60s: expected %s", table->path, table->line, what,
                      value, wants);
}

/* ---- systems and bodies ------------------------------------------------------------------------------------------ */

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

shoal_status shoal_table_add_system(shoal_table *table, int64_t id, double time)
{
    if (!reserve((void **)&table->systems, table->n_systems, &table->room_systems, sizeof *table->systems))
        return shoal_table_no_memory(table);
    table->systems[table->n_systems++] = (shoal_table_system){
        .id = id, .line = table->line, .first = table->n_bodies, .time = time};
    return SHOAL_OK;
}

/* Where a name is in the hash table, or the free place where it belongs. */
static int *name_place(const shoal_table *table, const char *name)
{
    shoal_hash hash = shoal_hash_start();
    shoal_hash_string(&hash, name);
    long i = (long)(hash.a % (uint64_t)table->n_name_at);
    while (table->name_at[i] && strcmp(table->names[table->name_at[i] - 1], name) != 0)
        i = (i + 1) % table->n_name_at;
    return &table->name_at[i];
}

/* At most half of the hash table is full. */
static bool make_room_for_names(shoal_table *table)
{
    if (2 * (table->n_names + 1) <= table->n_name_at)
        return true;
    const long size = 4 * (table->n_names + 16);
    int *made = calloc((size_t)size, sizeof *made);
    if (!made)
        return false;
    free(table->name_at);
    table->name_at = made;
    table->n_name_at = size;
    for (long i = 0; i < table->n_names; i++)
        *name_place(table, table->names[i]) = (int)i + 1;
    return true;
}

shoal_status shoal_table_end_system(shoal_table *table)
{
    shoal_table_system *system = &table->systems[table->n_systems - 1];
    const long n = table->n_bodies - system->first;
    if (n < 2 || n > INT_MAX)
        return shoal_fail(table->context, SHOAL_E_INPUT, "%s: %ld bodies: expected at least 2 and less than 2^31",
                          table->path, n);
    system->n_bodies = (int)n;
    char(*names)[SHOAL_NAME_SIZE] = calloc((size_t)n, sizeof *names);
    if (!names)
        return shoal_table_no_memory(table);
    for (long i = 0; i < n; i++)
        snprintf(names[i], SHOAL_NAME_SIZE, "body%ld", i);
    free(table->names);
    table->names = names;
    table->n_names = table->room_names = n;
    return SHOAL_OK;
}

shoal_status shoal_table_add_body(shoal_table *table, const char *name, const shoal_body *body)
{
    shoal_table_system *system = &table->systems[table->n_systems - 1];
    if (!*name || strlen(name) >= SHOAL_NAME_SIZE)
        return shoal_table_fail(table, "name", name, "a name of at most %d characters", SHOAL_NAME_SIZE - 1);
    if (!shoal_is_plain(name))
        return shoal_table_fail(table, "name", name, "a name without control characters");
    if (!shoal_is_utf8(name))
        return shoal_table_fail(table, "name", name, "a name in UTF-8");
    if (!reserve((void **)&table->bodies, table->n_bodies, &table->room_bodies, sizeof *table->bodies) ||
        !reserve((void **)&table->names, table->n_names, &table->room_names, sizeof *table->names))
        return shoal_table_no_memory(table);
    if (system->n_bodies == table->n_names) {
        int *at;
        if (!make_room_for_names(table))
            return shoal_table_no_memory(table);
        if (*(at = name_place(table, name)))
            return shoal_table_fail(table, "name", name, "a name that no other body has");
        memset(table->names[table->n_names], 0, sizeof *table->names); /* all of it is written to files */
        strcpy(table->names[table->n_names], name);                    /* its length was checked */
        *at = (int)++table->n_names;
    } else if (table->n_name_at > 0 && strcmp(table->names[system->n_bodies], name) != 0) {
        /* a place has one name in all systems; that of a result's stays though others move up */
        char *const old = table->names[system->n_bodies], neutral[SHOAL_NAME_SIZE];
        size_t length = (size_t)snprintf(neutral, sizeof neutral, "body%d", system->n_bodies);
        if (strncmp(old, neutral, length) != 0 || old[length + strspn(old + length, "_")]) {
            while (*name_place(table, neutral) && length + 1 < sizeof neutral) { /* others may be called so */
                neutral[length++] = '_';
                neutral[length] = '\0';
            }
            *name_place(table, neutral) = system->n_bodies + 1;
            strcpy(old, neutral);
        }
    }
    table->bodies[table->n_bodies++] = *body;
    system->n_bodies++;
    return SHOAL_OK;
}

static int by_id(const void *a, const void *b)
{
    const shoal_table_system *first = *(const shoal_table_system *const *)a,
                             *second = *(const shoal_table_system *const *)b;
    return first->id != second->id ? (first->id > second->id) - (first->id < second->id)
                                   : (first->first > second->first) - (first->first < second->first);
}

shoal_status shoal_table_check(const shoal_table *table)
{
    shoal_status status = SHOAL_OK;
    const shoal_table_system **sorted = malloc(((size_t)table->n_systems + 1) * sizeof *sorted);
    if (!sorted)
        return shoal_table_no_memory(table);
    for (long s = 0; s < table->n_systems; s++) {
        sorted[s] = &table->systems[s];
        if (!status && sorted[s]->n_bodies < 2)
            status = shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: system = %lld: expected at least 2 bodies",
                                table->path, sorted[s]->line, (long long)sorted[s]->id);
    }
    qsort(sorted, (size_t)table->n_systems, sizeof *sorted, by_id);
    for (long s = 1; s < table->n_systems && !status; s++)
        if (sorted[s]->id == sorted[s - 1]->id)
            status = shoal_fail(table->context, SHOAL_E_INPUT,
                                "%s:%ld: system = %lld: expected the lines of a system together; "
                                "its others begin in line %ld",
                                table->path, sorted[s]->line, (long long)sorted[s]->id, sorted[s - 1]->line);
    free(sorted);
    return status;
}

bool shoal_table_times_differ(const shoal_table *table)
{
    bool differ = table->times_differ;
    for (long s = 1; s < table->n_systems && !differ; s++) {
        const double first = table->systems[0].time, time = table->systems[s].time;
        differ = isnan(first) != isnan(time) || fabs(time - first) > 1e-12 * fabs(first);
    }
    return differ;
}

void shoal_table_release(shoal_table *table)
{
    shoal_table_release_columns(table);
    free(table->bodies);
    free(table->systems);
    free(table->names);
    free(table->name_at);
    free(table->config);
    *table = (shoal_table){0};
}

void shoal_table_convert(shoal_table *table, const shoal_units *to)
{
    const shoal_units from = table->units;
#define FACTOR(dimension) (shoal_units_factor(&from, dimension) / shoal_units_factor(to, dimension))
    const double mass = FACTOR("mass"), length = FACTOR("length"), velocity = FACTOR("velocity"), time = FACTOR("time");
#undef FACTOR
    for (shoal_body *b = table->bodies; b < table->bodies + table->n_bodies; b++)
        *b = (shoal_body){b->m * mass,   b->r * length,    b->x * length,    b->y * length,
                          b->z * length, b->vx * velocity, b->vy * velocity, b->vz * velocity};
    for (long s = 0; s < table->n_systems; s++)
        table->systems[s].time *= time;
    shoal_table_convert_columns(table, to);
    table->units = *to;
}

/* ---- to and from results ----------------------------------------------------------------------------------------- */

shoal_status shoal_table_to_result(const shoal_table *table, shoal_result **made)
{
    const size_t n_bodies = (size_t)table->n_names;
    shoal_status status = shoal_result_create(table->context, table->n_systems, (int)n_bodies, table->n_columns, made);
    for (long i = 0; i < table->n_bodies && !status; i++)
        if (table->bodies[i].r > 0 && !(*made)->radius)
            status = shoal_result_add_radii(table->context, *made);
    if (status)
        return status;
    shoal_result *result = *made;
    result->n_swept = table->n_columns;
    for (int c = 0; c < table->n_columns; c++) {
        double *value = result->columns[c].value;
        memcpy(value, table->columns[c].value, (size_t)table->n_systems * sizeof *value);
        result->columns[c] = table->columns[c];
        result->columns[c].value = value;
    }
    snprintf(result->version, sizeof result->version, "%s", shoal_version());
    memcpy(result->epoch, table->epoch, sizeof result->epoch);
    if (table->config && !(result->config_text = strdup(table->config)))
        return shoal_table_no_memory(table);
    memcpy(result->body_name, table->names, n_bodies * sizeof *table->names);
    result->units = table->units;
    result->complete = true;
    for (long s = 0; s < table->n_systems; s++) {
        const shoal_table_system *system = &table->systems[s];
        double *row = result->initial + (size_t)s * n_bodies * SHOAL_STATE;
        result->id[s] = system->id;
        result->n_live[s] = system->n_bodies;
        result->n_final[s] = 0;
        result->t_initial[s] = result->t_final[s] = isnan(system->time) ? 0 : system->time;
        for (int i = 0; i < system->n_bodies; i++) {
            const shoal_body *b = &table->bodies[system->first + i];
            memcpy(row + i * SHOAL_STATE, (double[SHOAL_STATE]){b->m, b->x, b->y, b->z, b->vx, b->vy, b->vz},
                   SHOAL_STATE * sizeof *row);
            result->n_final[s] += !isnan(b->x);
            if (result->radius)
                result->radius[(size_t)s * n_bodies + (size_t)i] = b->r;
        }
    }
    memcpy(result->final, result->initial, (size_t)table->n_systems * n_bodies * SHOAL_STATE * sizeof(double));
    return SHOAL_OK;
}

/* Those bodies of a system that are there, or all, if two at least are there: others may be gone, or not known yet. */
static shoal_status add_row(const shoal_result *result, long s, double time, const double *row, bool keep_gone,
                            shoal_table *table)
{
    int n_there = 0;
    for (int b = 0; b < result->n_live[s]; b++)
        n_there += !isnan(row[b * SHOAL_STATE + 1]);
    double radius[result->n_bodies];
    shoal_result_radii(result, s, row, radius);
    shoal_status status = n_there < 2 ? SHOAL_OK : shoal_table_add_system(table, result->id[s], time);
    for (int c = 0; c < table->n_columns && n_there >= 2 && !status; c++)
        status = shoal_table_add_number(table, c, result->columns[c].value[s]);
    for (int b = 0; b < result->n_live[s] && n_there >= 2 && !status; b++, row += SHOAL_STATE)
        if (keep_gone || !isnan(row[1]))
            status = shoal_table_add_body(table, result->body_name[b],
                                          &(shoal_body){.m = row[0],
                                                        .r = isnan(radius[b]) ? 0 : radius[b],
                                                        .x = row[1],
                                                        .y = row[2],
                                                        .z = row[3],
                                                        .vx = row[4],
                                                        .vy = row[5],
                                                        .vz = row[6]});
    return status;
}

shoal_status shoal_table_from_result(const shoal_result *result, const bool *chosen, shoal_query_state which,
                                     double time, bool keep_gone, shoal_table *table)
{
    const size_t size = (size_t)result->n_bodies * SHOAL_STATE;
    shoal_status status = SHOAL_OK;
    table->units = result->units;
    memcpy(table->epoch, result->epoch, sizeof table->epoch);
    table->config = result->config_text ? strdup(result->config_text) : NULL;
    table->names = malloc((size_t)result->n_bodies * sizeof *table->names); /* by place, whoever is gone */
    if (!table->names || (result->config_text && !table->config))
        return shoal_table_no_memory(table);
    memcpy(table->names, result->body_name, (size_t)result->n_bodies * sizeof *table->names);
    table->n_names = table->room_names = result->n_bodies;
    for (int c = 0; c < result->n_swept && !status; c++)
        status = shoal_table_add_column(table, &result->columns[c]);
    if (status)
        return status;
    if (which == SHOAL_QUERY_TIME) {
        long *row = malloc((size_t)result->n_systems * sizeof *row);
        status = row ? shoal_select_snapshots(table->context, result, NULL, time, row) : shoal_table_no_memory(table);
        for (long s = 0; s < result->n_systems && !status; s++)
            if (row[s] >= 0 && chosen[s])
                status = add_row(result, s, result->snapshot_time[row[s]], result->snapshot + (size_t)row[s] * size,
                                 keep_gone, table);
        free(row);
    } else {
        const bool initial = which == SHOAL_QUERY_INITIAL;
        for (long s = 0; s < result->n_systems && !status; s++)
            if (chosen[s])
                status = add_row(result, s, (initial ? result->t_initial : result->t_final)[s],
                                 (initial ? result->initial : result->final) + (size_t)s * size, keep_gone, table);
    }
    if (!status && table->n_systems == 0)
        status = shoal_fail(table->context, SHOAL_E_INPUT, "%s: expected at least one system with such a state",
                            table->path);
    return status;
}

const char *shoal_table_name(int body, char name[SHOAL_NAME_SIZE])
{
    snprintf(name, SHOAL_NAME_SIZE, body ? "planet%d" : "star", body);
    return name;
}

shoal_status shoal_table_write(const shoal_table *table, const char *path,
                               shoal_status (*write)(const shoal_table *table, FILE *out))
{
    char *temporary = NULL;
    if (table->n_systems == 0)
        return shoal_fail(table->context, SHOAL_E_INPUT, "%s: expected at least one possible system", table->path);
    const bool direct = shoal_not_a_file(path); /* a pipe, a terminal */
    const int file = direct ? open(path, O_WRONLY | O_CLOEXEC) : shoal_file_begin(path, &temporary);
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    if (!out) {
        const int error = errno;
        if (file >= 0 && !direct)
            (void)shoal_file_end(file, temporary, path, false);
        return shoal_fail(table->context, SHOAL_E_FILE, "%s: cannot be written: %s", path, strerror(error));
    }
    void *numbers = shoal_numbers_begin();
    shoal_status status = write(table, out);
    shoal_numbers_end(numbers);
    errno = 0;
    const bool failed = ferror(out);
    bool done = (fclose(out) == 0) & !failed & !status;
    if (!direct)
        done = shoal_file_end(-1, temporary, path, done);
    if (!done && !status)
        status = shoal_fail(table->context, SHOAL_E_FILE, "%s: cannot be written: %s", path, shoal_why());
    return status;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

shoal_status shoal_lines_open(shoal_lines *lines, shoal_table *table, const char *path)
{
    *lines = (shoal_lines){.table = table};
    table->path = path;
    table->line = 0;
    return shoal_file_open(table->context, path, &lines->in);
}

/* Whether a line has no control characters (of ASCII, or those that UTF-8 has beyond it), but for tabs. */
static bool is_text(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)line[i], next = (unsigned char)line[i + 1];
        if ((c < 0x20 && c != '\t') || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0))
            return false;
    }
    return true;
}

bool shoal_lines_next(shoal_lines *lines)
{
    do {
        errno = 0;
        ssize_t length = getline(&lines->text, &lines->size, lines->in);
        if (length < 0) {
            lines->error = feof(lines->in) ? 0 : errno;
            return false;
        }
        for (const char *end = "\n\r"; *end; end++)
            if (length > 0 && lines->text[length - 1] == *end)
                lines->text[--length] = '\0';
        if (lines->table->line++ == 0 && strncmp(lines->text, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
            memmove(lines->text, lines->text + 3, (size_t)(length -= 3) + 1);
        if (!lines->strange && !is_text(lines->text, (size_t)length))
            lines->strange = lines->table->line;
    } while (lines->comment && lines->text[0] == lines->comment);
    lines->at = lines->text;
    return true;
}

char *shoal_lines_word(shoal_lines *lines)
{
    while (!lines->at || !lines->at[strspn(lines->at, " \t")])
        if (!shoal_lines_next(lines))
            return NULL;
    char *word = lines->at + strspn(lines->at, " \t");
    lines->at = word + strcspn(word, " \t");
    if (*lines->at)
        *lines->at++ = '\0';
    return word;
}

shoal_status shoal_lines_number(shoal_lines *lines, const char *what, double *value)
{
    const shoal_table *table = lines->table;
    const char *word = shoal_lines_word(lines);
    if (!word)
        return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: the file ends; expected %s", table->path, table->line,
                          what);
    return shoal_number(word, value) ? SHOAL_OK : shoal_table_fail(table, what, word, "a finite number");
}

shoal_status shoal_lines_cut(shoal_lines *lines, char *cells[], int limit, int *n)
{
    *n = shoal_cut(lines->text, cells, limit);
    return *n >= 0 ? SHOAL_OK
                   : shoal_fail(lines->table->context, SHOAL_E_INPUT, "%s:%ld: expected quotes around whole cells",
                                lines->table->path, lines->table->line);
}

shoal_status shoal_lines_close(shoal_lines *lines, shoal_status status)
{
    if (lines->error) /* whatever the reader thought of an early end */
        status = shoal_fail(lines->table->context, lines->error == ENOMEM ? SHOAL_E_MEMORY : SHOAL_E_FILE,
                            "%s: cannot be read: %s", lines->table->path, strerror(lines->error));
    if (!status && lines->strange)
        status = shoal_fail(lines->table->context, SHOAL_E_INPUT, "%s:%ld: expected text without control characters",
                            lines->table->path, lines->strange);
    if (lines->in)
        fclose(lines->in);
    free(lines->text);
    *lines = (shoal_lines){0};
    return status;
}

int shoal_cut_blanks(char *line, char *cells[], int limit)
{
    int n = 0;
    for (char *save, *cell = strtok_r(line, " \t", &save); cell; cell = strtok_r(NULL, " \t", &save), n++)
        if (n < limit)
            cells[n] = cell;
    return n;
}

int shoal_cut(char *line, char *cells[], int limit)
{
    int n = 0;
    for (char *at = line; at; n++) {
        at += strspn(at, " \t");
        char *cell = at, *end;
        if (*at == '"') { /* a quote within is doubled */
            cell = end = ++at;
            while (*at && (*at != '"' || at[1] == '"')) {
                at += *at == '"';
                *end++ = *at++;
            }
            if (!*at)
                return -1;
            at += 1 + strspn(at + 1, " \t\r\n");
            if (*at && *at != ',')
                return -1;
            at = *at ? at : NULL;
        } else {
            at = strchr(at, ',');
            for (end = at ? at : cell + strlen(cell); end > cell && strchr(" \t\r\n", end[-1]); end--)
                continue;
        }
        if (at)
            at++;
        *end = '\0';
        if (n < limit)
            cells[n] = cell;
    }
    return n;
}

bool shoal_number(const char *text, double *value)
{
    char copy[64], *end;
    const size_t length = strlen(text);
    if (length >= sizeof copy)
        return false;
    memcpy(copy, text, length + 1);
    char *fortran = strpbrk(copy, "dD");
    if (fortran)
        *fortran = 'e';
    *value = shoal_number_read(copy, &end);
    return end != copy && !*end && isfinite(*value);
}
