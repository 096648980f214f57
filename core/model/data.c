/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * data.c: measurements from tables. Columns are known by their headings; a table without one of them is refused.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>

#include "core/formats/observations.h"
#include "core/model/model.h"

enum { TIME, VALUE, ERROR, NUMBERS, INSTRUMENT = NUMBERS, COLUMNS, MOST_CELLS = 256 };

/* A table of data that is being read. */
typedef struct reader {
    const shoal_study *study;
    const config_setting_t *group; /* of `data` */
    const char *heading[COLUMNS], *instrument;
    int column[COLUMNS];
    double time_zero, factor; /* of the column of times: to inner units */
    shoal_table table;
    bool by_commas;
    int n_cells;
    shoal_data *data;
    long room;
} reader;

/* Cut a line at commas, or at spaces. */
static int cut(const reader *r, char *line, char *cells[])
{
    if (r->by_commas)
        return shoal_cut(line, cells, MOST_CELLS);
    int n = 0;
    for (char *word = strtok(line, " \t"); word; word = strtok(NULL, " \t"))
        if (n++ < MOST_CELLS)
            cells[n - 1] = word;
    return n;
}

static shoal_status read_heading(reader *r, char *line)
{
    char *cells[MOST_CELLS];
    r->by_commas = strchr(line, ',') != NULL;
    r->n_cells = cut(r, line, cells);
    for (int i = 0; i < (r->instrument ? COLUMNS : NUMBERS); i++) {
        int found = -1;
        for (int k = 0; k < r->n_cells && k < MOST_CELLS; k++)
            if (strcmp(cells[k], r->heading[i]) == 0) {
                if (found >= 0)
                    return shoal_fail(r->table.context, SHOAL_E_INPUT, "%s:%ld: expected one column '%s'",
                                      r->table.path, r->table.line, r->heading[i]);
                found = k;
            }
        if (found < 0)
            return shoal_fail(r->table.context, SHOAL_E_INPUT, "%s:%ld: expected a column '%s' (data.columns)",
                              r->table.path, r->table.line, r->heading[i]);
        r->column[i] = found;
    }
    return SHOAL_OK;
}

static shoal_status add(reader *r, const double *numbers)
{
    shoal_data *data = r->data;
    if (data->n == r->room) {
        shoal_datum *more = realloc(data->datum, (size_t)(2 * r->room + 256) * sizeof *more);
        if (!more)
            return shoal_table_no_memory(&r->table);
        data->datum = more;
        r->room = 2 * r->room + 256;
    }
    data->datum[data->n++] = (shoal_datum){
        .time = (numbers[TIME] - r->time_zero) * r->factor, .value = numbers[VALUE], .error = numbers[ERROR]};
    return SHOAL_OK;
}

static shoal_status read_row(reader *r, char *line)
{
    char *cells[MOST_CELLS];
    double numbers[NUMBERS];
    const int n_cells = cut(r, line, cells);
    if (n_cells != r->n_cells)
        return shoal_fail(r->table.context, SHOAL_E_INPUT, "%s:%ld: expected %d cells, found %d", r->table.path,
                          r->table.line, r->n_cells, n_cells);
    if (r->instrument && strcmp(cells[r->column[INSTRUMENT]], r->instrument) != 0)
        return SHOAL_OK;
    for (int i = 0; i < NUMBERS; i++)
        if (!shoal_number(cells[r->column[i]], &numbers[i]))
            return shoal_table_fail(&r->table, r->heading[i], cells[r->column[i]], "a finite number");
    if (!(numbers[ERROR] > 0))
        return shoal_table_fail(&r->table, r->heading[ERROR], cells[r->column[ERROR]], "a number > 0");
    return add(r, numbers);
}

/* A table of a format that observers use: its velocities of the star, in days from time_zero and in the set's unit. */
static shoal_status read_format(reader *r, const char *path, const char *format)
{
    const shoal_config *config = &r->study->config;
    static const char *const useless[] = {"columns", "instrument_column"};
    for (int i = 0; i < SHOAL_COUNT(useless); i++)
        if (config_setting_get_member(r->group, useless[i]))
            return shoal_config_fail(config, config_setting_get_member(r->group, useless[i]), NULL, NULL,
                                     "either format or %s", useless[i]);
    const bool kilometres = shoal_config_number(config, r->group, "data", "unit") != 0;
    const shoal_observations_said said = {.format = format,
                                          .time = shoal_config_string(r->group, "time", NULL),
                                          .unit = shoal_config_string(r->group, "unit", NULL),
                                          .error = NAN,
                                          .body = -1};
    shoal_units days;
    shoal_observations table;
    shoal_status status = shoal_units_init(config->context, "AU", "Msun", "d", NAN, &days);
    status = status ? status : shoal_observations_read(r->study->context, path, &said, &table);
    if (status)
        return status;
    r->factor = shoal_units_factor(&days, "time");
    for (long i = 0; i < table.n && !status; i++) {
        const shoal_observation *row = &table.row[i];
        const char *instrument = row->instrument < 0 ? "" : table.instrument[row->instrument];
        const double unit = kilometres ? 1000 : 1;
        if (row->kind == SHOAL_OBSERVED_velocity && row->body <= 0 &&
            (!r->instrument || strcmp(instrument, r->instrument) == 0))
            status = add(r, (double[NUMBERS]){row->time, row->value / unit, row->error / unit});
    }
    shoal_observations_release(&table);
    return status;
}

static shoal_status read_table(reader *r)
{
    shoal_lines lines;
    char *path = shoal_config_path(&r->study->config,
                                   config_setting_get_string(config_setting_get_member(r->group, "file")));
    if (!path)
        return shoal_fail(r->study->context, SHOAL_E_MEMORY, "out of memory");
    r->table = (shoal_table){.context = r->study->context, .path = path};
    r->n_cells = 0;
    const long first = r->data->n;
    const char *format = shoal_config_string(r->group, "format", NULL);
    shoal_status status = format ? read_format(r, path, format) : shoal_lines_open(&lines, &r->table, path);
    if (!status && !format) {
        while (!status && shoal_lines_next(&lines)) {
            if (lines.text[0] == '#' || lines.text[strspn(lines.text, " \t")] == '\0')
                continue;
            status = r->n_cells == 0 ? read_heading(r, lines.text) : read_row(r, lines.text);
        }
        status = shoal_lines_close(&lines, status);
    }
    if (!status && r->data->n == first)
        status = shoal_fail(r->study->context, SHOAL_E_INPUT, "%s: expected data%s%s", path,
                            r->instrument ? " of the instrument " : "", r->instrument ? r->instrument : "");
    free(path);
    return status;
}

/* The headings that a group names. */
static shoal_status read_columns(reader *r)
{
    static const char *const plain[NUMBERS] = {"time", "velocity", "error"};
    const config_setting_t *columns = config_setting_get_member(r->group, "columns");
    if (columns && config_setting_length(columns) != NUMBERS)
        return shoal_config_fail(&r->study->config, columns, NULL, NULL, "three headings: time, value, error");
    for (int i = 0; i < NUMBERS; i++)
        r->heading[i] = columns ? config_setting_get_string_elem(columns, i) : plain[i];
    r->instrument = shoal_config_string(r->group, "instrument", NULL);
    const config_setting_t *time = config_setting_get_member(r->group, "time");
    if (time && !config_setting_get_member(r->group, "format"))
        return shoal_config_fail(&r->study->config, time, NULL, NULL, "a format with the time of its table");
    const config_setting_t *named = config_setting_get_member(r->group, "instrument_column");
    if (named && !r->instrument)
        return shoal_config_fail(&r->study->config, named, NULL, NULL,
                                 "no column of instruments without an instrument");
    r->heading[INSTRUMENT] = shoal_config_string(r->group, "instrument_column", "tel");
    return SHOAL_OK;
}

/* What is said of a set beside its measurements. */
static shoal_status read_set(reader *r, int i)
{
    const shoal_config *config = &r->study->config;
    shoal_walker_set *set = &r->data->set[i];
    shoal_units si;
    shoal_status status = read_columns(r);
    const config_setting_t *body = config_setting_get_member(r->group, "body"), *list = config_setting_parent(r->group);
    for (int k = 0; k < i && !status; k++)
        if (strcmp(shoal_config_string(config_setting_get_elem(list, (unsigned)k), "name", ""),
                   shoal_config_string(r->group, "name", "")) == 0)
            status = shoal_config_fail(config, config_setting_get_member(r->group, "name"), NULL, NULL,
                                       "a name that no other data have");
    if (!status && body)
        status = shoal_config_body(config, body, r->study->body_name, r->study->walkers.n_bodies, &r->data->body[i]);
    if (!status)
        status = shoal_units_init(config->context, "m", "kg", "s", NAN, &si);
    if (status)
        return status;
    const double unit = shoal_config_number(config, r->group, "data", "unit") == 0 ? 1 : 1000;
    set->factor = -1 / (unit * shoal_units_factor(&si, "velocity")); /* it recedes along -z */
    set->epoch = r->study->t_start;
    set->marginal = shoal_config_number(config, r->group, "data", "marginal") != 0;
    r->factor = shoal_config_factor(config, "time");
    r->time_zero = shoal_config_number(config, r->group, "data", "time_zero");
    const double per_time = 1 / r->factor, of[SHOAL_SET_NUMBERS] = {1, 1, per_time, per_time * per_time};
    static const char *const names[] = {"offset", "jitter", "trend", "curvature"};
    for (int q = 0; q < SHOAL_SET_NUMBERS; q++) {
        const double value = shoal_config_number(config, r->group, "data", names[q]);
        (&set->offset)[q] = (shoal_walker_number){-1, of[q], value * of[q]};
    }
    const config_setting_t *offset = config_setting_get_member(r->group, "offset");
    if (set->marginal && offset)
        return shoal_config_fail(config, offset, NULL, NULL, "no offset where the likelihood is integrated over it");
    return SHOAL_OK;
}

shoal_status shoal_data_read(const shoal_study *study, shoal_data *data)
{
    const config_setting_t *list = shoal_config_lookup(&study->config, "data");
    *data = (shoal_data){.n_sets = list ? config_setting_length(list) : 0};
    if (data->n_sets == 0)
        return shoal_fail(study->context, SHOAL_E_INPUT, "%s: expected `data`, for a likelihood", study->path);
    data->set = calloc((size_t)data->n_sets, sizeof *data->set);
    data->body = calloc((size_t)data->n_sets, sizeof *data->body);
    if (!data->set || !data->body)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory");
    reader r = {.study = study, .data = data};
    shoal_status status = SHOAL_OK;
    for (int i = 0; i < data->n_sets && !status; i++) {
        r.group = config_setting_get_elem(list, (unsigned)i);
        data->set[i].first = data->n;
        status = read_set(&r, i);
        if (!status)
            status = read_table(&r);
        data->set[i].n = data->n - data->set[i].first;
    }
    return status;
}

void shoal_data_release(shoal_data *data)
{
    free(data->set);
    free(data->body);
    free(data->datum);
    *data = (shoal_data){0};
}
