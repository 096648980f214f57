/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * store.c: the HDF5 result file, one a run, columnar and self-describing.
 *
 *     /                     attributes: format, format_version, complete, n_swept, quantities, and those of result.h
 *                           (version, config, plan, epoch, units, G, seed)
 *     /systems/NAME         one dataset a column: id, outcome (an enum), t_stop, ..., swept ones, monitors' columns
 *     /columns/name         the names of those beyond the fixed ones, in order; the first n_swept are swept
 *     /axes/{column,count,logarithmic}     of a grid sweep, the last axis fastest; no rows: no grid
 *     /bodies/name
 *     /initial/{time,state}, /final/{time,state}     [system][body][m x y z vx vy vz]
 *     /initial/radius                                [system][body], if any is not 0
 *     /snapshots/{system,time,state}                 [row]..., system = row in /systems
 *     /events/NAME                                   [row], likewise: mergers, removals, encounters, ends
 *     /log/MONITOR/NAME                              [row], doubles: what a monitor logged; unit "row": row of
 *         /systems, "body": index of a body. Names in order: attributes `monitors` of /log, `columns` of /log/MONITOR
 *
 *     /extend/{system,state}                         [row]..., what a longer run goes on from (store_kept.c)
 *
 * Every dataset bears `unit` and `doc`. Texts are of fixed length, zero-terminated, UTF-8. Every dataset with rows is
 * chunked and checksummed (fletcher32); large ones are shuffled and deflated too, where the library can. With the file
 * format of HDF5 1.10, whose metadata are checksummed, no damaged byte goes unnoticed.
 *
 * The file is made in memory, or, a large one, under a temporary name beside its own; then synced and renamed: it is
 * complete or not there. How files are written and read is h5.c's. Rows that are in a journal come from rows.c.
 */
#include "core/result/h5.h"
#include "core/result/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT     "shoal result"
#define QUANTITIES "m x y z vx vy vz"

/* A file being read or written. */
typedef struct store {
    shoal_h5 h5;
    hid_t enumeration; /* of outcomes */
    int version;       /* of the format, of a file that is read */
    hid_t words[2];    /* strings of SHOAL_NAME_SIZE and of SHOAL_COLUMN_SIZE bytes */
    shoal_rows *rows;  /* of a file that is written, which are in a journal; or NULL: in the result */
    bool few;          /* of a file that is read: as shoal_store_read_systems has it */
} store;

static const size_t word_size[] = {SHOAL_NAME_SIZE, sizeof(((shoal_column *)0)->name)};
enum { WORD_BODY, WORD_COLUMN };

/* ---- types ----------------------------------------------------------------------------------------------------- */

static shoal_status types_open(store *at)
{
    at->enumeration = H5Tenum_create(H5T_NATIVE_INT);
    at->words[WORD_BODY] = shoal_h5_text_type(word_size[WORD_BODY]);
    at->words[WORD_COLUMN] = shoal_h5_text_type(word_size[WORD_COLUMN]);
    bool good = at->enumeration >= 0 && at->words[WORD_BODY] >= 0 && at->words[WORD_COLUMN] >= 0;
    for (int outcome = 0; good && outcome < SHOAL_OUTCOMES; outcome++)
        good = H5Tenum_insert(at->enumeration, shoal_outcome_name(outcome), &outcome) >= 0;
    return good ? SHOAL_OK : shoal_fail(at->h5.context, SHOAL_E_MEMORY, "%s: out of memory", at->h5.path);
}

static void types_close(store *at)
{
    if (at->enumeration > 0)
        H5Tclose(at->enumeration);
    for (int w = 0; w < SHOAL_COUNT(at->words); w++)
        if (at->words[w] > 0)
            H5Tclose(at->words[w]);
}

/* The type of a field in memory; the same describes it in the file. */
static hid_t field_type(const store *at, const shoal_field *field)
{
    switch (field->type) {
    case SHOAL_FIELD_INT64:
    case SHOAL_FIELD_ROW: return H5T_NATIVE_INT64;
    case SHOAL_FIELD_OUTCOME: return at->enumeration;
    case SHOAL_FIELD_DOUBLE:
    case SHOAL_FIELD_STATES: return H5T_NATIVE_DOUBLE;
    default: return H5T_NATIVE_INT;
    }
}

static shoal_h5_extent field_extent(const shoal_field *field, const shoal_result *result)
{
    hsize_t rows = (hsize_t)shoal_field_rows(field, result);
    shoal_h5_extent sizes = {field->type == SHOAL_FIELD_STATES ? 3 : 1, {rows, (hsize_t)result->n_bodies, SHOAL_STATE}};
    return sizes;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static shoal_status write_attributes(const store *at, const shoal_result *result)
{
    const int version = SHOAL_RESULT_VERSION, complete = result->complete;
    shoal_status status = shoal_h5_put_text(&at->h5, "/", "format", FORMAT);
    if (!status)
        status = shoal_h5_put(&at->h5, "/", "format_version", H5T_NATIVE_INT, 0, &version);
    if (!status)
        status = shoal_h5_put(&at->h5, "/", "complete", H5T_NATIVE_INT, 0, &complete);
    if (!status)
        status = shoal_h5_put_text(&at->h5, "/", "quantities", QUANTITIES);
    for (int a = 0; !status && a < shoal_result_n_attributes; a++) {
        const shoal_attribute *attribute = &shoal_result_attributes[a];
        const char *member = (const char *)result + attribute->offset;
        char *text;
        switch (attribute->type) {
        case SHOAL_ATTRIBUTE_TEXT:
            memcpy(&text, member, sizeof text);
            status = shoal_h5_put_text(&at->h5, "/", attribute->name, text);
            break;
        case SHOAL_ATTRIBUTE_WORD: status = shoal_h5_put_text(&at->h5, "/", attribute->name, member); break;
        case SHOAL_ATTRIBUTE_DOUBLE:
            status = shoal_h5_put(&at->h5, "/", attribute->name, H5T_NATIVE_DOUBLE, 0, member);
            break;
        case SHOAL_ATTRIBUTE_INT64: status = shoal_h5_put(&at->h5, "/", attribute->name, H5T_NATIVE_INT64, 0, member);
        }
    }
    return status;
}

/* A column of the selected table of rows in a journal. */
typedef struct rows_column {
    shoal_rows *rows;
    int column;
} rows_column;

static shoal_status fill_column(void *user, size_t first, size_t n, void *to)
{
    const rows_column *of = user;
    return shoal_rows_fill(of->rows, of->column, (long)first, (long)n, to);
}

/* The fields of snapshots or of events, from the journal. */
static shoal_status write_table(const store *at, const shoal_result *result, int f, const char *unit)
{
    const shoal_field *field = &shoal_result_fields[f];
    const int when = SHOAL_FIELD_SNAPSHOT | SHOAL_FIELD_EVENT;
    rows_column of = {at->rows, 0};
    shoal_status status = SHOAL_OK;
    while (f > of.column && (shoal_result_fields[f - of.column - 1].when & when) == (field->when & when))
        of.column++;
    shoal_h5_extent extent = field_extent(field, result);
    long n = 0;
    status = shoal_rows_select(at->rows, field->when & SHOAL_FIELD_EVENT ? SHOAL_ROWS_EVENTS : SHOAL_ROWS_SNAPSHOTS,
                               &n);
    extent.of[0] = (hsize_t)n;
    const shoal_h5_source from = {fill_column, &of};
    return status ? status
                  : shoal_h5_write_from(&at->h5, field->path, field_type(at, field), extent, &from, unit, field->doc);
}

/* Fields of the systems, or those of snapshots and events. releases: see shoal_h5 */
static shoal_status write_fields(store *at, const shoal_result *result, bool of_systems, bool releases)
{
    const shoal_units *units = &result->units;
    char states[80], name[SHOAL_UNIT_SIZE];
    snprintf(states, sizeof states, "%s, %s, %s/%s", units->mass_name, units->length_name, units->length_name,
             units->time_name);
    shoal_status status = SHOAL_OK;
    for (int f = 0; !status && f < shoal_result_n_fields; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        const char *unit = strcmp(field->dimension, "state") == 0 ? states
                                                                  : shoal_units_name(units, field->dimension, name);
        if (of_systems != !(field->when & (SHOAL_FIELD_SNAPSHOT | SHOAL_FIELD_EVENT)))
            continue;
        at->h5.releases = releases && !shoal_rows_need(at->rows, shoal_field_data(result, field));
        if (at->rows && !of_systems)
            status = write_table(at, result, f, unit);
        else
            status = shoal_h5_write(&at->h5, field->path, field_type(at, field), field_extent(field, result),
                                    shoal_field_data(result, field), unit, field->doc);
    }
    return status;
}

/* The path of a column's dataset; refused if the name cannot be one. A slash, as in the name of a comet, becomes a bar;
 * /columns/name has the name itself. */
static shoal_status column_path(const store *at, const shoal_column *column, char *path, size_t size)
{
    const bool good = *column->name && strcmp(column->name, ".") && !shoal_result_has(column->name);
    const int begin = snprintf(path, size, "/systems/");
    snprintf(path + begin, size - (size_t)begin, "%s", column->name);
    for (char *at_slash = path + begin; (at_slash = strchr(at_slash, '/'));)
        *at_slash = '|';
    return good ? SHOAL_OK
                : shoal_fail(at->h5.context, SHOAL_E_INPUT, "%s: a column cannot be named '%s'", at->h5.path,
                             column->name);
}

static shoal_status write_columns(const store *at, const shoal_result *result)
{
    const shoal_h5_extent rows = shoal_h5_rows(result->n_systems);
    shoal_status status = SHOAL_OK;
    for (int c = 0; !status && c < result->n_columns; c++) {
        const shoal_column *column = &result->columns[c];
        char path[sizeof column->name + 16];
        status = column_path(at, column, path, sizeof path);
        if (!status)
            status = shoal_h5_write(&at->h5, path, H5T_NATIVE_DOUBLE, rows, column->value, column->unit, column->doc);
    }
    return status;
}

static shoal_status write_column_names(const store *at, const shoal_result *result)
{
    const shoal_h5_extent names = shoal_h5_rows(result->n_columns);
    char *name = calloc((size_t)result->n_columns + 1, word_size[WORD_COLUMN]);
    if (!name)
        return shoal_fail(at->h5.context, SHOAL_E_MEMORY, "%s: out of memory", at->h5.path);
    for (int c = 0; c < result->n_columns; c++)
        memcpy(name + (size_t)c * word_size[WORD_COLUMN], result->columns[c].name, strlen(result->columns[c].name));
    shoal_status status = shoal_h5_write(&at->h5, "/columns/name", at->words[WORD_COLUMN], names, name, "",
                                         "columns of /systems beyond the fixed ones, the swept ones first");
    if (!status)
        status = shoal_h5_put(&at->h5, "/", "n_swept", H5T_NATIVE_INT, 0, &result->n_swept);
    free(name);
    return status;
}

/* The path of a log's column. */
enum { LOG_PATH_SIZE = 2 * SHOAL_COLUMN_SIZE + 2 };
static void log_path(const shoal_log *log, int c, char path[LOG_PATH_SIZE])
{
    snprintf(path, LOG_PATH_SIZE, "%s/%s", log->path, log->columns[c].name);
}

/* n names in an attribute, a comma between two. name: the first; stride: bytes from one to the next. */
static shoal_status write_names(const store *at, const char *group, const char *attribute, int n, const char *name,
                                size_t stride)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; out && i < n; i++, name += stride)
        fprintf(out, "%s%s", i ? "," : "", name);
    const bool good = out && fclose(out) == 0;
    const shoal_status status = good ? shoal_h5_put_text(&at->h5, group, attribute, text)
                                     : shoal_fail(at->h5.context, SHOAL_E_MEMORY, "%s: out of memory", at->h5.path);
    free(text);
    return status;
}

static shoal_status write_logs(const store *at, const shoal_result *result)
{
    const char *first = result->n_logs > 0 ? shoal_log_name(result->logs) : NULL;
    shoal_status status = write_names(at, "/log", "monitors", result->n_logs, first, sizeof *result->logs);
    for (int l = 0; l < result->n_logs && !status; l++) {
        const shoal_log *log = &result->logs[l];
        const bool elsewhere = at->rows && shoal_rows_has_log(at->rows, l);
        long n_rows = log->n_rows;
        if (elsewhere)
            status = shoal_rows_select(at->rows, SHOAL_ROWS_LOGS + l, &n_rows);
        const shoal_h5_extent rows = shoal_h5_rows(n_rows);
        if (!status)
            status = shoal_h5_group(&at->h5, log->path);
        if (!status)
            status = write_names(at, log->path, "columns", log->n_columns, log->columns->name, sizeof *log->columns);
        for (int c = 0; c < log->n_columns && !status; c++) {
            const shoal_column *column = &log->columns[c];
            char path[LOG_PATH_SIZE];
            log_path(log, c, path);
            rows_column of = {at->rows, c};
            const shoal_h5_source from = {fill_column, &of};
            status = elsewhere
                         ? shoal_h5_write_from(&at->h5, path, H5T_NATIVE_DOUBLE, rows, &from, column->unit, column->doc)
                         : shoal_h5_write(&at->h5, path, H5T_NATIVE_DOUBLE, rows, column->value, column->unit,
                                          column->doc);
        }
    }
    return status;
}

static shoal_status write_axes(const store *at, const shoal_result *result)
{
    const shoal_h5_extent axes = shoal_h5_rows(result->n_axes), bodies = shoal_h5_rows(result->n_bodies);
    char column[SHOAL_MAX_AXES][sizeof result->axes->column] = {{0}};
    int64_t count[SHOAL_MAX_AXES] = {0};
    int logarithmic[SHOAL_MAX_AXES] = {0};
    for (int a = 0; a < result->n_axes; a++) {
        memcpy(column[a], result->axes[a].column, strlen(result->axes[a].column));
        count[a] = result->axes[a].count;
        logarithmic[a] = result->axes[a].logarithmic;
    }
    shoal_status status = shoal_h5_write(&at->h5, "/axes/column", at->words[WORD_COLUMN], axes, column, "",
                                         "the swept column");
    if (!status)
        status = shoal_h5_write(&at->h5, "/axes/count", H5T_NATIVE_INT64, axes, count, "",
                                "points; the last axis is the fastest");
    if (!status)
        status = shoal_h5_write(&at->h5, "/axes/logarithmic", H5T_NATIVE_INT, axes, logarithmic, "",
                                "1: evenly spaced in log");
    if (!status)
        status = shoal_h5_write(&at->h5, "/bodies/name", at->words[WORD_BODY], bodies, result->body_name, "",
                                "names of the bodies");
    return status;
}

/* Radii, if there are any. */
#define RADIUS "/initial/radius"

static shoal_status write_radii(const store *at, const shoal_result *result)
{
    return result->radius
               ? shoal_h5_write(&at->h5, RADIUS, H5T_NATIVE_DOUBLE, shoal_h5_table(result->n_systems, result->n_bodies),
                                result->radius, result->units.length_name, "initial radii, [system][body]")
               : SHOAL_OK;
}

static shoal_status write_groups(const store *at)
{
    static const char *const groups[] = {"/systems", "/columns",   "/axes",   "/bodies", "/initial",
                                         "/final",   "/snapshots", "/events", "/log"};
    shoal_status status = SHOAL_OK;
    for (int g = 0; g < SHOAL_COUNT(groups) && !status; g++)
        status = shoal_h5_group(&at->h5, groups[g]);
    return status;
}

/* Step by which the file grows in memory: a part of what the states need, between 64 KiB and 64 MiB. */
static size_t growth_step(const shoal_result *result)
{
    double bytes = ((double)result->n_systems + (double)result->n_snapshots) * result->n_bodies * SHOAL_STATE *
                   sizeof(double);
    return bytes < 0x80000 ? 0x10000 : bytes > 0x20000000 ? 0x4000000 : (size_t)(bytes / 8);
}

/* rows: see store; releases: see shoal_h5 */
static shoal_status write_file(shoal_context *context, const char *path, const shoal_result *result, shoal_rows *rows,
                               bool releases)
{
    store at = {.rows = rows};
    shoal_status status = shoal_h5_create(context, path, H5F_LIBVER_V110, growth_step(result), &at.h5);
    if (status)
        return status;
    shoal_h5_spill(&at.h5);
    status = types_open(&at);
    if (!status)
        status = write_groups(&at);
    if (!status)
        status = write_attributes(&at, result);
    shoal_h5_hold(&at.h5);
    if (!status)
        status = write_fields(&at, result, true, releases);
    at.h5.releases = releases;
    if (!status)
        status = write_radii(&at, result);
    if (!status)
        status = write_columns(&at, result);
    if (!status)
        status = shoal_h5_let_go(&at.h5);
    if (!status)
        status = write_fields(&at, result, false, releases);
    at.h5.releases = releases;
    if (!status)
        status = write_column_names(&at, result);
    if (!status)
        status = write_axes(&at, result);
    if (!status)
        status = write_logs(&at, result);
    if (!status && result->complete)
        status = shoal_store_write_kept(&at.h5, result);
    types_close(&at);
    return shoal_h5_save(&at.h5, status);
}

shoal_status shoal_store_write(shoal_context *context, const char *path, const shoal_result *result)
{
    return write_file(context, path, result, NULL, false);
}

shoal_status shoal_store_write_last(shoal_context *context, const char *path, shoal_rows *rows, shoal_result **result)
{
    const shoal_status status = write_file(context, path, *result, rows, true);
    shoal_result_destroy(result);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* Refuse what is no result file, or one of a newer version. */
static shoal_status read_format(store *at)
{
    char format[32] = "";
    shoal_status status = shoal_h5_get_word(&at->h5, "/", "format", format, sizeof format);
    if (status == SHOAL_E_MEMORY)
        return status;
    if (status || strcmp(format, FORMAT))
        return shoal_fail(at->h5.context, SHOAL_E_INPUT, "%s: an HDF5 file, but not a shoal result%s", at->h5.path,
                          shoal_h5_has(&at->h5, "/posterior") ? ": a posterior, for shoal plot, sample.file and ArviZ"
                                                              : "");
    status = shoal_h5_get(&at->h5, "/", "format_version", H5T_NATIVE_INT, &at->version);
    if (status || at->version <= SHOAL_RESULT_VERSION)
        return status;
    char writer[32] = "a newer version";
    (void)shoal_h5_get_word(&at->h5, "/", "version", writer, sizeof writer);
    return shoal_fail(at->h5.context, SHOAL_E_INPUT,
                      "%s: result format %d, written by shoal %s; this program (%s) reads formats up to %d",
                      at->h5.path, at->version, writer, SHOAL_VERSION, SHOAL_RESULT_VERSION);
}

static shoal_status read_attributes(const store *at, shoal_result *result)
{
    int complete = 0;
    shoal_status status = shoal_h5_get(&at->h5, "/", "complete", H5T_NATIVE_INT, &complete);
    result->complete = complete != 0;
    for (int a = 0; !status && a < shoal_result_n_attributes; a++) {
        const shoal_attribute *attribute = &shoal_result_attributes[a];
        char *member = (char *)result + attribute->offset;
        char *text = NULL;
        switch (attribute->type) {
        case SHOAL_ATTRIBUTE_TEXT:
            status = shoal_h5_get_text(&at->h5, "/", attribute->name, &text);
            memcpy(member, &text, sizeof text);
            break;
        case SHOAL_ATTRIBUTE_WORD:
            status = shoal_h5_get_word(&at->h5, "/", attribute->name, member, attribute->size);
            break;
        case SHOAL_ATTRIBUTE_DOUBLE:
            status = shoal_h5_get(&at->h5, "/", attribute->name, H5T_NATIVE_DOUBLE, member);
            break;
        case SHOAL_ATTRIBUTE_INT64: status = shoal_h5_get(&at->h5, "/", attribute->name, H5T_NATIVE_INT64, member);
        }
    }
    return status;
}

/* An empty result of the file's sizes. */
static shoal_status read_sizes(const store *at, shoal_result **result, int *n_axes, long *n_snapshots, long *n_events)
{
    shoal_h5_extent states, columns, axes, snapshots, events;
    shoal_status status = shoal_h5_sizes(&at->h5, "/initial/state", 3, &states);
    if (!status)
        status = shoal_h5_sizes(&at->h5, "/columns/name", 1, &columns);
    if (!status)
        status = shoal_h5_sizes(&at->h5, "/axes/column", 1, &axes);
    if (!status)
        status = shoal_h5_sizes(&at->h5, "/snapshots/system", 1, &snapshots);
    if (!status)
        status = shoal_h5_sizes(&at->h5, "/events/system", 1, &events);
    if (status)
        return status;
    if (states.of[0] < 1 || states.of[0] > INT64_MAX || states.of[1] < 1 || states.of[1] > INT32_MAX ||
        states.of[2] != SHOAL_STATE || columns.of[0] > INT32_MAX || axes.of[0] > SHOAL_MAX_AXES ||
        snapshots.of[0] > INT64_MAX || events.of[0] > INT64_MAX)
        return shoal_fail(at->h5.context, SHOAL_E_INPUT, "%s: %llu systems of %llu bodies, %llu axes: not a result",
                          at->h5.path, (unsigned long long)states.of[0], (unsigned long long)states.of[1],
                          (unsigned long long)axes.of[0]);
    *n_axes = (int)axes.of[0];
    *n_snapshots = (long)snapshots.of[0];
    *n_events = (long)events.of[0];
    return shoal_result_allocate(at->h5.context, (long)states.of[0], (int)states.of[1], (int)columns.of[0], result);
}

static shoal_status read_fields(const store *at, shoal_result *result, long n_snapshots, long n_events)
{
    shoal_status status = shoal_result_reserve(at->h5.context, result, SHOAL_FIELD_SNAPSHOT, n_snapshots);
    if (!status)
        status = shoal_result_reserve(at->h5.context, result, SHOAL_FIELD_EVENT, n_events);
    if (status)
        return status;
    result->n_snapshots = n_snapshots;
    result->n_events = n_events;
    for (int f = 0; !status && f < shoal_result_n_fields; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        const bool rows = field->when & (SHOAL_FIELD_SNAPSHOT | SHOAL_FIELD_EVENT);
        if (at->few && (rows || field->type == SHOAL_FIELD_STATES))
            continue;
        if (at->version < SHOAL_RESULT_VERSION && field->type != SHOAL_FIELD_ROW &&
            shoal_h5_lacks(&at->h5, field->path))
            shoal_result_clear(result, field, 0, (size_t)shoal_field_rows(field, result));
        else
            status = shoal_h5_read_exactly(&at->h5, field->path, field_type(at, field), field_extent(field, result),
                                           shoal_field_data(result, field));
    }
    return status;
}

static shoal_status read_radii(const store *at, shoal_result *result)
{
    if (shoal_h5_lacks(&at->h5, RADIUS))
        return SHOAL_OK;
    const shoal_status status = shoal_result_add_radii(at->h5.context, result);
    return status ? status
                  : shoal_h5_read_exactly(&at->h5, RADIUS, H5T_NATIVE_DOUBLE,
                                          shoal_h5_table(result->n_systems, result->n_bodies), result->radius);
}

/* unit and doc of a column's dataset */
static shoal_status read_labels(const store *at, const char *path, shoal_column *column)
{
    const shoal_status status = shoal_h5_get_word(&at->h5, path, "unit", column->unit, sizeof column->unit);
    return status ? status : shoal_h5_get_word(&at->h5, path, "doc", column->doc, sizeof column->doc);
}

static shoal_status read_columns(const store *at, shoal_result *result)
{
    const shoal_h5_extent rows = shoal_h5_rows(result->n_systems), names = shoal_h5_rows(result->n_columns);
    const size_t size = word_size[WORD_COLUMN];
    char *name = calloc((size_t)result->n_columns + 1, size);
    if (!name)
        return shoal_fail(at->h5.context, SHOAL_E_MEMORY, "%s: out of memory", at->h5.path);
    shoal_status status = shoal_h5_read_exactly(&at->h5, "/columns/name", at->words[WORD_COLUMN], names, name);
    for (int c = 0; !status && c < result->n_columns; c++) {
        shoal_column *column = &result->columns[c];
        char path[sizeof column->name + 16];
        snprintf(column->name, sizeof column->name, "%.*s", (int)size - 1, name + (size_t)c * size);
        status = column_path(at, column, path, sizeof path);
        if (!status)
            status = shoal_h5_read_exactly(&at->h5, path, H5T_NATIVE_DOUBLE, rows, column->value);
        if (!status)
            status = read_labels(at, path, column);
    }
    if (!status)
        status = shoal_h5_get(&at->h5, "/", "n_swept", H5T_NATIVE_INT, &result->n_swept);
    if (!status && (result->n_swept < 0 || result->n_swept > result->n_columns))
        status = shoal_fail(at->h5.context, SHOAL_E_INPUT, "%s: n_swept is %d of %d columns", at->h5.path,
                            result->n_swept, result->n_columns);
    free(name);
    return status;
}

static shoal_status read_axes(const store *at, shoal_result *result, int n_axes)
{
    const shoal_h5_extent axes = shoal_h5_rows(n_axes), bodies = shoal_h5_rows(result->n_bodies);
    char column[SHOAL_MAX_AXES][sizeof result->axes->column] = {{0}};
    int64_t count[SHOAL_MAX_AXES] = {0};
    int logarithmic[SHOAL_MAX_AXES] = {0};
    shoal_status status = shoal_h5_read_exactly(&at->h5, "/axes/column", at->words[WORD_COLUMN], axes, column);
    if (!status)
        status = shoal_h5_read_exactly(&at->h5, "/axes/count", H5T_NATIVE_INT64, axes, count);
    if (!status)
        status = shoal_h5_read_exactly(&at->h5, "/axes/logarithmic", H5T_NATIVE_INT, axes, logarithmic);
    if (!status)
        status = shoal_h5_read_exactly(&at->h5, "/bodies/name", at->words[WORD_BODY], bodies, result->body_name);
    for (int a = 0; a < n_axes; a++) {
        snprintf(result->axes[a].column, sizeof result->axes->column, "%.*s", (int)sizeof column[a] - 1, column[a]);
        result->axes[a].count = count[a];
        result->axes[a].logarithmic = logarithmic[a] != 0;
    }
    for (int b = 0; b < result->n_bodies; b++)
        result->body_name[b][SHOAL_NAME_SIZE - 1] = '\0';
    result->n_axes = n_axes;
    return status;
}

/* The names in an attribute: malloc'd, and cut apart there. */
static shoal_status read_names(const store *at, const char *group, const char *attribute, char **text, int *n)
{
    const shoal_status status = shoal_h5_get_text(&at->h5, group, attribute, text);
    *n = !status && **text;
    for (char *c = *text; !status && *c; c++)
        if (*c == ',') {
            *c = '\0';
            ++*n;
        }
    return status;
}

static shoal_status read_log(const store *at, shoal_result *result, const char *name)
{
    char group[LOG_PATH_SIZE], path[LOG_PATH_SIZE], *names = NULL;
    shoal_h5_extent rows = shoal_h5_rows(0);
    int n;
    shoal_log *log = NULL;
    snprintf(group, sizeof group, SHOAL_LOG_FOLDER "%s", name);
    shoal_status status = strlen(group) < sizeof log->path
                              ? read_names(at, group, "columns", &names, &n)
                              : shoal_fail(at->h5.context, SHOAL_E_INPUT, "%s: a log cannot be named '%s'", at->h5.path,
                                           name);
    if (!status && n < 2)
        status = shoal_fail(at->h5.context, SHOAL_E_INPUT, "%s: %s: expected columns system, time", at->h5.path, group);
    if (!status)
        status = shoal_result_add_log(at->h5.context, result, name, n, &log);
    const char *of = names;
    const bool without_rows = at->few && strcmp(name, SHOAL_CERTIFY_LOG) != 0;
    for (int c = 0; !status && c < n; c++, of += strlen(of) + 1) {
        shoal_column *column = &log->columns[c];
        snprintf(column->name, sizeof column->name, "%s", of);
        log_path(log, c, path);
        if (c == 0 && !without_rows) {
            status = shoal_h5_sizes(&at->h5, path, 1, &rows);
            if (!status)
                status = shoal_log_reserve(at->h5.context, log, (long)rows.of[0]);
        }
        if (!status && !without_rows)
            status = shoal_h5_read_exactly(&at->h5, path, H5T_NATIVE_DOUBLE, rows, column->value);
        if (!status)
            status = read_labels(at, path, column);
    }
    if (!status)
        log->n_rows = (long)rows.of[0];
    free(names);
    return status;
}

static shoal_status read_logs(const store *at, shoal_result *result)
{
    char *names = NULL;
    int n;
    shoal_status status = read_names(at, "/log", "monitors", &names, &n);
    const char *name = names;
    for (int l = 0; !status && l < n; l++, name += strlen(name) + 1)
        status = read_log(at, result, name);
    free(names);
    return status;
}

static shoal_status read_file(store *at, shoal_result **result)
{
    int n_axes = 0;
    long n_snapshots = 0, n_events = 0;
    shoal_status status = types_open(at);
    if (!status)
        status = read_format(at);
    if (!status)
        status = read_sizes(at, result, &n_axes, &n_snapshots, &n_events);
    if (!status)
        status = read_attributes(at, *result);
    if (!status)
        status = read_fields(at, *result, at->few ? 0 : n_snapshots, at->few ? 0 : n_events);
    if (!status)
        status = read_radii(at, *result);
    if (!status)
        status = read_columns(at, *result);
    if (!status)
        status = read_axes(at, *result, n_axes);
    if (!status)
        status = at->version > 2 ? read_logs(at, *result) : shoal_result_take_old_transits(at->h5.context, *result);
    if (!status)
        status = shoal_result_check(at->h5.context, *result, at->h5.path);
    types_close(at);
    return status;
}

shoal_status shoal_store_glance(shoal_context *context, const char *path, shoal_store_head *head)
{
    store at = {0};
    int complete = 0;
    *head = (shoal_store_head){0};
    shoal_status status = shoal_h5_open(context, path, &at.h5);
    if (status)
        return status;
    status = read_format(&at);
    if (!status)
        status = shoal_h5_get(&at.h5, "/", "complete", H5T_NATIVE_INT, &complete);
    if (!status)
        status = shoal_h5_get_word(&at.h5, "/", "version", head->version, sizeof head->version);
    if (!status)
        status = shoal_h5_get_text(&at.h5, "/", "config", &head->config);
    head->complete = complete != 0;
    shoal_h5_close(&at.h5);
    return status;
}

/* The first bytes of a file, zeros where it has fewer; false if there is none. */
static bool read_begin(const char *path, char begin[8])
{
    FILE *file = shoal_not_a_file(path) ? NULL : fopen(path, "rb");
    if (!file || fread(begin, 1, 8, file) < 8)
        memset(begin, 0, 8);
    if (file)
        fclose(file);
    return file != NULL;
}

bool shoal_store_is(const char *path)
{
    char begin[8];
    return !read_begin(path, begin) || shoal_h5_begins(begin);
}

/* Whether shoal wrote this file: results, posteriors, calibrations. The block of ours is enough, whatever is damaged
 * behind it; files of older versions have no block. */
static bool is_ours(const char *path)
{
    shoal_h5 h5;
    char begin[8], format[32] = "";
    if (read_begin(path, begin) && shoal_h5_is_block(begin))
        return true;
    if (!shoal_h5_begins(begin) || shoal_h5_open(NULL, path, &h5))
        return false;
    const bool found = shoal_h5_has_attribute(&h5, "/", "format") &&
                       !shoal_h5_get_word(&h5, "/", "format", format, sizeof format);
    shoal_h5_close(&h5);
    return found && strncmp(format, "shoal ", 6) == 0;
}

shoal_status shoal_store_spare(shoal_context *context, const char *path)
{
    struct stat about;
    if (shoal_not_a_file(path))
        return shoal_fail(context, SHOAL_E_INPUT, "%s: is there and not a file", path);
    if (stat(path, &about) != 0 || about.st_size == 0 || is_ours(path))
        return SHOAL_OK;
    return shoal_fail(context, SHOAL_E_INPUT, "%s: is there and no result file: it is not replaced", path);
}

void shoal_store_journal_path(const char *path, char *journal, size_t size)
{
    snprintf(journal, size, "%s.journal", path);
}

static shoal_status read_result(shoal_context *context, const char *path, bool few, shoal_result **result)
{
    store at = {.few = few};
    *result = NULL;
    if (access(path, F_OK) && errno == ENOENT) {
        size_t size = strlen(path) + 16;
        char *journal = malloc(size);
        if (!journal)
            return shoal_fail(context, SHOAL_E_MEMORY, "%s: out of memory", path);
        shoal_store_journal_path(path, journal, size);
        shoal_status status = access(journal, F_OK)
                                  ? shoal_fail(context, SHOAL_E_FILE,
                                               "%s: there is no such result file, and no journal of it", path)
                                  : shoal_journal_read(context, journal, result, NULL, NULL);
        free(journal);
        if (!status && (status = shoal_result_sort_snapshots(context, *result)))
            shoal_result_destroy(result);
        return status;
    }
    shoal_status status = shoal_h5_open(context, path, &at.h5);
    if (!status)
        status = read_file(&at, result);
    if (status)
        shoal_result_destroy(result);
    shoal_h5_close(&at.h5);
    return status;
}

shoal_status shoal_store_read(shoal_context *context, const char *path, shoal_result **result)
{
    return read_result(context, path, false, result);
}

shoal_status shoal_store_read_systems(shoal_context *context, const char *path, shoal_result **result)
{
    return read_result(context, path, true, result);
}
