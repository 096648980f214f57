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
 *     /snapshots/{system,time,state}                 [row]..., system = row in /systems
 *     /events/NAME                                   [row], likewise: mergers, removals, encounters, ends
 *     /log/MONITOR/NAME                              [row], doubles: what a monitor logged; unit "row": row of
 *         /systems, "body": index of a body. Names in order: attributes `monitors` of /log, `columns` of /log/MONITOR
 *
 * Every dataset bears `unit` and `doc`. Texts are of fixed length, zero-terminated, UTF-8. Every dataset with rows is
 * chunked and checksummed (fletcher32); large ones are shuffled and deflated too, where the library can. With the file
 * format of HDF5 1.10, whose metadata are checksummed, no damaged byte goes unnoticed.
 *
 * The file is made in memory, written to a temporary name beside its own, synced and renamed: it is complete or not
 * there. In memory, because HDF5 does not survive a full disk: a file that it cannot close brings the process down at
 * exit (1.10.8).
 */
#include "core/result/h5.h"
#include "core/result/result.h"

#include "core/result/chunks.h"

#include <errno.h>
#include <math.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT         "shoal result"
#define FORMAT_VERSION 3 /* 2 had transits among the events */
#define QUANTITIES     "m x y z vx vy vz"
#define CHUNK_ITEMS    65536 /* at most, in a chunk of a dataset */
#define DEFLATE_ITEMS  1024  /* at least, in a dataset that is deflated */

/* A file being read or written. */
typedef struct store {
    shoal_context *context;
    const char *path;
    hid_t file;
    hid_t enumeration; /* of outcomes */
    int version;       /* of the format, of a file that is read */
    hid_t words[2];    /* strings of SHOAL_NAME_SIZE and of 64 bytes */
} store;

static const size_t word_size[] = {SHOAL_NAME_SIZE, sizeof(((shoal_column *)0)->name)};
enum { WORD_BODY, WORD_COLUMN };

/* ---- errors ---------------------------------------------------------------------------------------------------- */

/* H5Ewalk2: keep the innermost description, which says what really happened. */
static herr_t keep_description(unsigned n, const H5E_error2_t *error, void *user)
{
    if (n == 0 && error->desc)
        snprintf(user, 256, "%s", error->desc);
    return 0;
}

/* Fail with what HDF5 says. */
static shoal_status store_error(const store *at, shoal_status status, const char *what, const char *name)
{
    char cause[256] = "";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_description, cause);
    for (char *c = cause; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    return shoal_fail(at->context, status, "%s: %s%s%s%s", at->path, what, name, *cause ? ": " : "", cause);
}

/* ---- types ----------------------------------------------------------------------------------------------------- */

static hid_t text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, size) < 0 || H5Tset_strpad(type, H5T_STR_NULLTERM) < 0 ||
                      H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

static shoal_status types_open(store *at)
{
    at->enumeration = H5Tenum_create(H5T_NATIVE_INT);
    at->words[WORD_BODY] = text_type(word_size[WORD_BODY]);
    at->words[WORD_COLUMN] = text_type(word_size[WORD_COLUMN]);
    bool good = at->enumeration >= 0 && at->words[WORD_BODY] >= 0 && at->words[WORD_COLUMN] >= 0;
    for (int outcome = 0; good && outcome < SHOAL_OUTCOMES; outcome++)
        good = H5Tenum_insert(at->enumeration, shoal_outcome_name(outcome), &outcome) >= 0;
    return good ? SHOAL_OK : store_error(at, SHOAL_E_MEMORY, "cannot make the types of ", "the file");
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

typedef struct extent {
    int rank;
    hsize_t of[3];
} extent;

static extent field_extent(const shoal_field *field, const shoal_result *result)
{
    hsize_t rows = (hsize_t)shoal_field_rows(field, result);
    extent sizes = {field->type == SHOAL_FIELD_STATES ? 3 : 1, {rows, (hsize_t)result->n_bodies, SHOAL_STATE}};
    return sizes;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static shoal_status write_attribute(const store *at, hid_t object, const char *name, hid_t type, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = space >= 0 ? H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT) : H5I_INVALID_HID;
    bool good = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;
    shoal_status status = good ? SHOAL_OK : store_error(at, SHOAL_E_FILE, "cannot write the attribute ", name);
    if (attribute >= 0)
        H5Aclose(attribute);
    if (space >= 0)
        H5Sclose(space);
    return status;
}

static shoal_status write_text(const store *at, hid_t object, const char *name, const char *text)
{
    hid_t type = text_type((text ? strlen(text) : 0) + 1);
    if (type < 0)
        return store_error(at, SHOAL_E_FILE, "cannot write the attribute ", name);
    shoal_status status = write_attribute(at, object, name, type, text ? text : "");
    H5Tclose(type);
    return status;
}

/* How a dataset lies in the file. */
static hid_t creation_list(extent sizes)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t items = 1, chunk[3] = {1, 1, 1}, room = CHUNK_ITEMS;
    for (int d = sizes.rank - 1; d >= 0; d--) {
        items *= sizes.of[d];
        chunk[d] = sizes.of[d] < room ? sizes.of[d] : room;
        room = chunk[d] && room / chunk[d] ? room / chunk[d] : 1;
    }
    if (list < 0 || !items)
        return list;
    bool good = H5Pset_chunk(list, sizes.rank, chunk) >= 0;
    if (good && items >= DEFLATE_ITEMS && H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0)
        good = H5Pset_shuffle(list) >= 0 && H5Pset_deflate(list, SHOAL_DEFLATE) >= 0;
    if (good)
        good = H5Pset_fletcher32(list) >= 0;
    if (!good) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

/* All rows of a dataset; those of a deflated one that has several chunks, each of whole rows, by all threads. */
static bool write_rows(hid_t dataset, hid_t type, hid_t list, extent sizes, const void *data)
{
    hsize_t chunk[3] = {0};
    size_t row_items = 1;
    bool whole = sizes.of[0] > 0 && H5Pget_nfilters(list) == 3 && H5Pget_chunk(list, 3, chunk) == sizes.rank &&
                 sizes.of[0] > chunk[0];
    for (int d = 1; d < sizes.rank; d++) {
        whole = whole && chunk[d] == sizes.of[d];
        row_items *= sizes.of[d];
    }
    if (whole)
        return shoal_chunks_write(dataset, sizes.rank, H5Tget_size(type), row_items, sizes.of[0], chunk[0], data);
    return !sizes.of[0] || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
}

/* One dataset with its unit and doc. */
static shoal_status write_data(const store *at, const char *path, hid_t type, extent sizes, const void *data,
                               const char *unit, const char *doc)
{
    shoal_status status = SHOAL_OK;
    hid_t space = H5Screate_simple(sizes.rank, sizes.of, NULL);
    hid_t list = creation_list(sizes);
    hid_t dataset = space >= 0 && list >= 0 ? H5Dcreate2(at->file, path, type, space, H5P_DEFAULT, list, H5P_DEFAULT)
                                            : H5I_INVALID_HID;
    if (dataset < 0 || !write_rows(dataset, type, list, sizes, data))
        status = store_error(at, SHOAL_E_FILE, "cannot write the dataset ", path);
    if (!status)
        status = write_text(at, dataset, "unit", unit);
    if (!status)
        status = write_text(at, dataset, "doc", doc);
    if (dataset >= 0 && H5Dclose(dataset) < 0 && !status)
        status = store_error(at, SHOAL_E_FILE, "cannot write the dataset ", path);
    if (list >= 0)
        H5Pclose(list);
    if (space >= 0)
        H5Sclose(space);
    return status;
}

static shoal_status write_group(const store *at, const char *path)
{
    const hid_t group = H5Gcreate2(at->file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0)
        return store_error(at, SHOAL_E_FILE, "cannot write the group ", path);
    H5Gclose(group);
    return SHOAL_OK;
}

static shoal_status write_attributes(const store *at, const shoal_result *result)
{
    const int version = FORMAT_VERSION, complete = result->complete;
    shoal_status status = write_text(at, at->file, "format", FORMAT);
    if (!status)
        status = write_attribute(at, at->file, "format_version", H5T_NATIVE_INT, &version);
    if (!status)
        status = write_attribute(at, at->file, "complete", H5T_NATIVE_INT, &complete);
    if (!status)
        status = write_text(at, at->file, "quantities", QUANTITIES);
    for (int a = 0; !status && a < shoal_result_n_attributes; a++) {
        const shoal_attribute *attribute = &shoal_result_attributes[a];
        const char *member = (const char *)result + attribute->offset;
        char *text;
        switch (attribute->type) {
        case SHOAL_ATTRIBUTE_TEXT:
            memcpy(&text, member, sizeof text);
            status = write_text(at, at->file, attribute->name, text);
            break;
        case SHOAL_ATTRIBUTE_WORD: status = write_text(at, at->file, attribute->name, member); break;
        case SHOAL_ATTRIBUTE_DOUBLE:
            status = write_attribute(at, at->file, attribute->name, H5T_NATIVE_DOUBLE, member);
            break;
        case SHOAL_ATTRIBUTE_INT64: status = write_attribute(at, at->file, attribute->name, H5T_NATIVE_INT64, member);
        }
    }
    return status;
}

static shoal_status write_fields(const store *at, const shoal_result *result)
{
    const shoal_units *units = &result->units;
    char states[80], velocity[40];
    snprintf(states, sizeof states, "%s, %s, %s/%s", units->mass_name, units->length_name, units->length_name,
             units->time_name);
    snprintf(velocity, sizeof velocity, "%s/%s", units->length_name, units->time_name);
    shoal_status status = SHOAL_OK;
    for (int f = 0; !status && f < shoal_result_n_fields; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        const char *unit = !strcmp(field->dimension, "time")       ? units->time_name
                           : !strcmp(field->dimension, "mass")     ? units->mass_name
                           : !strcmp(field->dimension, "length")   ? units->length_name
                           : !strcmp(field->dimension, "velocity") ? velocity
                           : !strcmp(field->dimension, "state")    ? states
                                                                   : "";
        status = write_data(at, field->path, field_type(at, field), field_extent(field, result),
                            shoal_field_data(result, field), unit, field->doc);
    }
    return status;
}

/* The path of a column's dataset; refused if the name cannot be one. */
static shoal_status column_path(const store *at, const shoal_column *column, char *path, size_t size)
{
    const bool good = *column->name && !strchr(column->name, '/') && strcmp(column->name, ".") &&
                      !shoal_result_has(column->name);
    snprintf(path, size, "/systems/%s", column->name);
    return good ? SHOAL_OK
                : shoal_fail(at->context, SHOAL_E_INPUT, "%s: a column cannot be named '%s'", at->path, column->name);
}

static shoal_status write_columns(const store *at, const shoal_result *result)
{
    const extent rows = {1, {(hsize_t)result->n_systems}}, names = {1, {(hsize_t)result->n_columns}};
    shoal_status status = SHOAL_OK;
    char *name = calloc((size_t)result->n_columns + 1, word_size[WORD_COLUMN]);
    if (!name)
        return shoal_fail(at->context, SHOAL_E_MEMORY, "%s: out of memory", at->path);
    for (int c = 0; !status && c < result->n_columns; c++) {
        const shoal_column *column = &result->columns[c];
        char path[sizeof column->name + 16];
        memcpy(name + (size_t)c * word_size[WORD_COLUMN], column->name, strlen(column->name));
        status = column_path(at, column, path, sizeof path);
        if (!status)
            status = write_data(at, path, H5T_NATIVE_DOUBLE, rows, column->value, column->unit, column->doc);
    }
    if (!status)
        status = write_data(at, "/columns/name", at->words[WORD_COLUMN], names, name, "",
                            "columns of /systems beyond the fixed ones, the swept ones first");
    if (!status)
        status = write_attribute(at, at->file, "n_swept", H5T_NATIVE_INT, &result->n_swept);
    free(name);
    return status;
}

/* The path of a log's column. */
enum { LOG_PATH_SIZE = 2 * SHOAL_COLUMN_SIZE + 2 };
static void log_path(const shoal_log *log, int c, char path[LOG_PATH_SIZE])
{
    snprintf(path, LOG_PATH_SIZE, "%s/%s", log->path, log->columns[c].name);
}

/* Names in an attribute, a comma between two. */
static shoal_status write_names(const store *at, const char *group, const char *attribute, int n,
                                const char *(*name)(const void *of, int i), const void *of)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; out && i < n; i++)
        fprintf(out, "%s%s", i ? "," : "", name(of, i));
    const bool good = out && fclose(out) == 0;
    const hid_t object = good ? H5Oopen(at->file, group, H5P_DEFAULT) : H5I_INVALID_HID;
    const shoal_status status = object >= 0 ? write_text(at, object, attribute, text)
                                            : store_error(at, SHOAL_E_FILE, "cannot write the attribute ", attribute);
    if (object >= 0)
        H5Oclose(object);
    free(text);
    return status;
}

static const char *name_of_log(const void *of, int i)
{
    return shoal_log_name(&((const shoal_result *)of)->logs[i]);
}

static const char *name_of_column(const void *of, int c)
{
    return ((const shoal_log *)of)->columns[c].name;
}

static shoal_status write_logs(const store *at, const shoal_result *result)
{
    shoal_status status = write_names(at, "/log", "monitors", result->n_logs, name_of_log, result);
    for (int l = 0; l < result->n_logs && !status; l++) {
        const shoal_log *log = &result->logs[l];
        const extent rows = {1, {(hsize_t)log->n_rows}};
        status = write_group(at, log->path);
        if (!status)
            status = write_names(at, log->path, "columns", log->n_columns, name_of_column, log);
        for (int c = 0; c < log->n_columns && !status; c++) {
            const shoal_column *column = &log->columns[c];
            char path[LOG_PATH_SIZE];
            log_path(log, c, path);
            status = write_data(at, path, H5T_NATIVE_DOUBLE, rows, column->value, column->unit, column->doc);
        }
    }
    return status;
}

static shoal_status write_axes(const store *at, const shoal_result *result)
{
    const extent axes = {1, {(hsize_t)result->n_axes}}, bodies = {1, {(hsize_t)result->n_bodies}};
    char column[SHOAL_MAX_AXES][sizeof result->axes->column] = {{0}};
    int64_t count[SHOAL_MAX_AXES] = {0};
    int logarithmic[SHOAL_MAX_AXES] = {0};
    for (int a = 0; a < result->n_axes; a++) {
        memcpy(column[a], result->axes[a].column, strlen(result->axes[a].column));
        count[a] = result->axes[a].count;
        logarithmic[a] = result->axes[a].logarithmic;
    }
    shoal_status status = write_data(at, "/axes/column", at->words[WORD_COLUMN], axes, column, "", "the swept column");
    if (!status)
        status = write_data(at, "/axes/count", H5T_NATIVE_INT64, axes, count, "",
                            "points; the last axis is the fastest");
    if (!status)
        status = write_data(at, "/axes/logarithmic", H5T_NATIVE_INT, axes, logarithmic, "", "1: evenly spaced in log");
    if (!status)
        status = write_data(at, "/bodies/name", at->words[WORD_BODY], bodies, result->body_name, "",
                            "names of the bodies");
    return status;
}

static shoal_status write_groups(const store *at)
{
    static const char *const groups[] = {"/systems", "/columns",   "/axes",   "/bodies", "/initial",
                                         "/final",   "/snapshots", "/events", "/log"};
    shoal_status status = SHOAL_OK;
    for (int g = 0; g < SHOAL_COUNT(groups) && !status; g++)
        status = write_group(at, groups[g]);
    return status;
}

/* The memory in which HDF5 makes the file, taken over when it closes it. (H5Fget_file_image would be the plain way, but
 * copies a file that is still marked as being written, with a checksum that does not fit: 1.10.8.) */
typedef struct image {
    unsigned char *bytes;
    size_t capacity, size;
} image;

static void *image_malloc(size_t size, H5FD_file_image_op_t operation, void *user)
{
    (void)operation;
    (void)user;
    return malloc(size);
}

static void *image_copy(void *to, const void *from, size_t size, H5FD_file_image_op_t operation, void *user)
{
    (void)operation;
    (void)user;
    return memcpy(to, from, size);
}

static void *image_realloc(void *bytes, size_t size, H5FD_file_image_op_t operation, void *user)
{
    image *made = user;
    void *grown = realloc(bytes, size);
    if (grown && operation == H5FD_FILE_IMAGE_OP_FILE_RESIZE)
        made->capacity = size;
    return grown;
}

static herr_t image_free(void *bytes, H5FD_file_image_op_t operation, void *user)
{
    image *made = user;
    if (operation != H5FD_FILE_IMAGE_OP_FILE_CLOSE) {
        free(bytes);
        return 0;
    }
    free(made->bytes); /* of a file of that name that H5Fcreate looked at first */
    made->bytes = bytes;
    return 0;
}

static void *image_user(void *user)
{
    return user;
}

static herr_t image_user_free(void *user)
{
    (void)user;
    return 0;
}

/* The end of the file in its memory: the superblock of versions 2 and 3 tells it in bytes 28 to 35 (HDF5 File Format
 * Specification 3.0, section II.A). */
static bool image_measure(image *made)
{
    uint64_t size = 0;
    if (!made->bytes || made->capacity < 48 || made->bytes[8] < 2 || made->bytes[8] > 3 || made->bytes[9] != 8)
        return false;
    for (int k = 0; k < 8; k++)
        size |= (uint64_t)made->bytes[28 + k] << (8 * k);
    made->size = size;
    return size >= 48 && size <= made->capacity;
}

/* Step by which the file grows in memory: a part of what the states need, between 64 KiB and 64 MiB. */
static size_t growth_step(const shoal_result *result)
{
    double bytes = ((double)result->n_systems + (double)result->n_snapshots) * result->n_bodies * SHOAL_STATE *
                   sizeof(double);
    return bytes < 0x80000 ? 0x10000 : bytes > 0x20000000 ? 0x4000000 : (size_t)(bytes / 8);
}

/* How the file is made: in memory, with the checksummed format. */
static hid_t image_access(const shoal_result *result, image *made)
{
    H5FD_file_image_callbacks_t callbacks = {image_malloc, image_copy,      image_realloc, image_free,
                                             image_user,   image_user_free, made};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0 &&
        (H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) < 0 ||
         H5Pset_fapl_core(access, growth_step(result), 0) < 0 || H5Pset_file_image_callbacks(access, &callbacks) < 0)) {
        H5Pclose(access);
        return H5I_INVALID_HID;
    }
    return access;
}

/* The whole file in memory; the caller frees image->bytes, on failure too. name: of no file. */
static shoal_status write_image(store *at, const char *name, const shoal_result *result, image *made)
{
    shoal_status status = types_open(at);
    hid_t access = image_access(result, made);
    at->file = !status && access >= 0 ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5I_INVALID_HID;
    if (!status && at->file < 0)
        status = store_error(at, SHOAL_E_FILE, "cannot make the result file", "");
    if (!status)
        status = write_groups(at);
    if (!status)
        status = write_attributes(at, result);
    if (!status)
        status = write_fields(at, result);
    if (!status)
        status = write_columns(at, result);
    if (!status)
        status = write_axes(at, result);
    if (!status)
        status = write_logs(at, result);
    types_close(at);
    if (at->file >= 0 && H5Fclose(at->file) < 0 && !status)
        status = store_error(at, SHOAL_E_FILE, "cannot make the result file", "");
    if (access >= 0)
        H5Pclose(access);
    if (!status && !image_measure(made))
        status = shoal_fail(at->context, SHOAL_E_INTERNAL, "%s: HDF5 made a file whose end is not known", at->path);
    return status;
}

shoal_status shoal_store_write(shoal_context *context, const char *path, const shoal_result *result)
{
    store at = {.context = context, .path = path};
    const size_t size = strlen(path) + 32;
    image made = {0};
    char *name = malloc(size); /* of no file */
    shoal_status status = SHOAL_OK;
    const shoal_h5_errors errors = shoal_h5_errors_off();
    if (!name)
        status = shoal_fail(context, SHOAL_E_MEMORY, "%s: out of memory", path);
    else if (shoal_not_a_file(path))
        status = shoal_fail(context, SHOAL_E_FILE, "%s: cannot write a result file: not a regular file", path);
    else {
        snprintf(name, size, "%s.tmp.%ld", path, (long)getpid());
        status = write_image(&at, name, result, &made);
    }
    if (!status && !shoal_replace_file(path, made.bytes, made.size))
        status = shoal_fail(context, SHOAL_E_FILE, "%s: cannot write the result file: %s", path, strerror(errno));
    if (!status && !shoal_sync_folder(path))
        status = shoal_fail(context, SHOAL_E_FILE, "%s: cannot sync the folder: %s", path, strerror(errno));
    free(made.bytes);
    free(name);
    shoal_h5_errors_restore(errors);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static shoal_status open_data(const store *at, const char *path, hid_t *dataset)
{
    *dataset = H5Dopen2(at->file, path, H5P_DEFAULT);
    if (*dataset >= 0)
        return SHOAL_OK;
    return store_error(at, SHOAL_E_INPUT, "there is no dataset ", path);
}

static void extent_text(extent sizes, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (int d = 0; d < sizes.rank && n < size; d++)
        n += (size_t)snprintf(text + n, size - n, "%s%llu", d ? "x" : "", (unsigned long long)sizes.of[d]);
}

/* Sizes of a dataset; rank 0 if it is not an array of one to three dimensions. */
static extent data_extent(hid_t dataset)
{
    extent sizes = {0, {0}};
    hid_t space = H5Dget_space(dataset);
    int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    if (rank >= 1 && rank <= 3 && H5Sget_simple_extent_dims(space, sizes.of, NULL) == rank)
        sizes.rank = rank;
    if (space >= 0)
        H5Sclose(space);
    return sizes;
}

/* Whether values of the type in the file can be taken as the type in memory: HDF5 alone would turn a fraction into an
 * integer and cut a text. */
static bool same_kind(hid_t dataset_type, hid_t memory_type)
{
    H5T_class_t kind = H5Tget_class(memory_type);
    if (H5Tget_class(dataset_type) != kind || H5Tget_size(dataset_type) > H5Tget_size(memory_type))
        return false;
    return kind != H5T_STRING || H5Tis_variable_str(dataset_type) == 0;
}

/* Read a whole dataset of the given sizes. type: in memory; an enumeration's values are those of the file. */
static shoal_status read_data(const store *at, const char *path, hid_t type, extent sizes, void *data)
{
    hid_t dataset, file_type = H5I_INVALID_HID, native_type = H5I_INVALID_HID;
    shoal_status status = open_data(at, path, &dataset);
    if (status)
        return status;
    extent there = data_extent(dataset);
    if (there.rank != sizes.rank || memcmp(there.of, sizes.of, (size_t)sizes.rank * sizeof *sizes.of)) {
        char is[80], should_be[80];
        extent_text(there, is, sizeof is);
        extent_text(sizes, should_be, sizeof should_be);
        status = shoal_fail(at->context, SHOAL_E_INPUT, "%s: the dataset %s has the shape '%s', expected '%s'",
                            at->path, path, is, should_be);
        goto fail;
    }
    file_type = H5Dget_type(dataset);
    if (file_type < 0 || !same_kind(file_type, type)) {
        status = shoal_fail(at->context, SHOAL_E_INPUT, "%s: the dataset %s has a wrong type", at->path, path);
        goto fail;
    }
    if (type == at->enumeration) /* outcomes that an older format had are not in it */
        type = native_type = H5Tget_native_type(file_type, H5T_DIR_ASCEND);
    if (sizes.of[0] && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        status = store_error(at, SHOAL_E_INPUT, "cannot read the dataset ", path);
fail:
    if (native_type >= 0)
        H5Tclose(native_type);
    if (file_type >= 0)
        H5Tclose(file_type);
    H5Dclose(dataset);
    return status;
}

/* Read a scalar attribute: a number of the given type into value, or, with type = H5T_C_S1, a text into *text
 * (malloc'd). */
static shoal_status read_attribute(const store *at, hid_t object, const char *name, hid_t type, void *value,
                                   char **text)
{
    shoal_status status = SHOAL_OK;
    hid_t space = H5I_INVALID_HID, file_type = H5I_INVALID_HID, memory_type = H5I_INVALID_HID;
    char *made = NULL;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return store_error(at, SHOAL_E_INPUT, "there is no attribute ", name);
    space = H5Aget_space(attribute);
    file_type = H5Aget_type(attribute);
    size_t size = file_type >= 0 ? H5Tget_size(file_type) : 0;
    if (text)
        memory_type = text_type(size + 1);
    if (space < 0 || H5Sget_simple_extent_npoints(space) != 1 || !size ||
        !same_kind(file_type, text ? memory_type : type)) {
        status = shoal_fail(at->context, SHOAL_E_INPUT, "%s: the attribute %s has a wrong type", at->path, name);
        goto fail;
    }
    if (text && !(made = calloc(1, size + 1))) {
        status = shoal_fail(at->context, SHOAL_E_MEMORY, "%s: out of memory", at->path);
        goto fail;
    }
    if (H5Aread(attribute, text ? memory_type : type, text ? made : value) < 0) {
        status = store_error(at, SHOAL_E_INPUT, "cannot read the attribute ", name);
        goto fail;
    }
    if (text) {
        *text = made;
        made = NULL;
    }
fail:
    free(made);
    if (memory_type >= 0)
        H5Tclose(memory_type);
    if (file_type >= 0)
        H5Tclose(file_type);
    if (space >= 0)
        H5Sclose(space);
    H5Aclose(attribute);
    return status;
}

/* A text attribute into an array of the given size. */
static shoal_status read_word(const store *at, hid_t object, const char *name, char *word, size_t size)
{
    char *text = NULL;
    shoal_status status = read_attribute(at, object, name, H5T_C_S1, NULL, &text);
    if (!status && strlen(text) >= size) /* NOLINT(clang-analyzer-core.NonNullParamChecker): it was read */
        status = shoal_fail(at->context, SHOAL_E_INPUT, "%s: the attribute %s is longer than %zu characters", at->path,
                            name, size - 1);
    if (!status)
        memcpy(word, text, strlen(text) + 1);
    free(text);
    return status;
}

/* Refuse what is no result file, or one of a newer version. */
static shoal_status read_format(store *at)
{
    char format[32] = "";
    if (read_word(at, at->file, "format", format, sizeof format) || strcmp(format, FORMAT))
        return shoal_fail(at->context, SHOAL_E_INPUT, "%s: an HDF5 file, but not a shoal result", at->path);
    shoal_status status = read_attribute(at, at->file, "format_version", H5T_NATIVE_INT, &at->version, NULL);
    if (status || at->version <= FORMAT_VERSION)
        return status;
    char writer[32] = "a newer version";
    (void)read_word(at, at->file, "version", writer, sizeof writer);
    return shoal_fail(at->context, SHOAL_E_INPUT,
                      "%s: result format %d, written by shoal %s; this program (%s) reads formats up to %d", at->path,
                      at->version, writer, SHOAL_VERSION, FORMAT_VERSION);
}

static shoal_status read_attributes(const store *at, shoal_result *result)
{
    int complete = 0;
    shoal_status status = read_attribute(at, at->file, "complete", H5T_NATIVE_INT, &complete, NULL);
    result->complete = complete != 0;
    for (int a = 0; !status && a < shoal_result_n_attributes; a++) {
        const shoal_attribute *attribute = &shoal_result_attributes[a];
        char *member = (char *)result + attribute->offset;
        char *text = NULL;
        switch (attribute->type) {
        case SHOAL_ATTRIBUTE_TEXT:
            status = read_attribute(at, at->file, attribute->name, H5T_C_S1, NULL, &text);
            memcpy(member, &text, sizeof text);
            break;
        case SHOAL_ATTRIBUTE_WORD: status = read_word(at, at->file, attribute->name, member, attribute->size); break;
        case SHOAL_ATTRIBUTE_DOUBLE:
            status = read_attribute(at, at->file, attribute->name, H5T_NATIVE_DOUBLE, member, NULL);
            break;
        case SHOAL_ATTRIBUTE_INT64:
            status = read_attribute(at, at->file, attribute->name, H5T_NATIVE_INT64, member, NULL);
        }
    }
    return status;
}

/* Sizes of a dataset that tells how many there are of something. */
static shoal_status read_extent(const store *at, const char *path, int rank, extent *sizes)
{
    hid_t dataset;
    shoal_status status = open_data(at, path, &dataset);
    if (status)
        return status;
    *sizes = data_extent(dataset);
    H5Dclose(dataset);
    if (sizes->rank != rank)
        return shoal_fail(at->context, SHOAL_E_INPUT, "%s: the dataset %s has %d dimensions, expected %d", at->path,
                          path, sizes->rank, rank);
    return SHOAL_OK;
}

/* An empty result of the file's sizes. */
static shoal_status read_sizes(const store *at, shoal_result **result, int *n_axes, long *n_snapshots, long *n_events)
{
    extent states, columns, axes, snapshots, events;
    shoal_status status = read_extent(at, "/initial/state", 3, &states);
    if (!status)
        status = read_extent(at, "/columns/name", 1, &columns);
    if (!status)
        status = read_extent(at, "/axes/column", 1, &axes);
    if (!status)
        status = read_extent(at, "/snapshots/system", 1, &snapshots);
    if (!status)
        status = read_extent(at, "/events/system", 1, &events);
    if (status)
        return status;
    if (states.of[0] < 1 || states.of[0] > INT64_MAX || states.of[1] < 1 || states.of[1] > INT32_MAX ||
        states.of[2] != SHOAL_STATE || columns.of[0] > INT32_MAX || axes.of[0] > SHOAL_MAX_AXES ||
        snapshots.of[0] > INT64_MAX || events.of[0] > INT64_MAX)
        return shoal_fail(at->context, SHOAL_E_INPUT, "%s: %llu systems of %llu bodies, %llu axes: not a result",
                          at->path, (unsigned long long)states.of[0], (unsigned long long)states.of[1],
                          (unsigned long long)axes.of[0]);
    *n_axes = (int)axes.of[0];
    *n_snapshots = (long)snapshots.of[0];
    *n_events = (long)events.of[0];
    return shoal_result_create(at->context, (long)states.of[0], (int)states.of[1], (int)columns.of[0], result);
}

static bool has_data(const store *at, const char *path)
{
    const hid_t dataset = H5Dopen2(at->file, path, H5P_DEFAULT);
    return dataset >= 0 && H5Dclose(dataset) >= 0;
}

/* A field that a file of an older format has not got: empty. */
static void clear_field(shoal_result *result, const shoal_field *field)
{
    const size_t n = (size_t)shoal_field_rows(field, result) * shoal_field_row_items(field, result);
    void *data = shoal_field_data(result, field);
    for (size_t i = 0; i < n; i++)
        switch (field->type) {
        case SHOAL_FIELD_DOUBLE:
        case SHOAL_FIELD_STATES: ((double *)data)[i] = NAN; break;
        case SHOAL_FIELD_INT64:
        case SHOAL_FIELD_ROW: ((int64_t *)data)[i] = (int64_t)i; break; /* an id is the row's number */
        case SHOAL_FIELD_INDEX: ((int *)data)[i] = -1; break;
        case SHOAL_FIELD_INT:
        case SHOAL_FIELD_OUTCOME: ((int *)data)[i] = 0;
        }
}

static shoal_status read_fields(const store *at, shoal_result *result, long n_snapshots, long n_events)
{
    shoal_status status = shoal_result_reserve(at->context, result, SHOAL_FIELD_SNAPSHOT, n_snapshots);
    if (!status)
        status = shoal_result_reserve(at->context, result, SHOAL_FIELD_EVENT, n_events);
    if (status)
        return status;
    result->n_snapshots = n_snapshots;
    result->n_events = n_events;
    for (int f = 0; !status && f < shoal_result_n_fields; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        if (at->version < FORMAT_VERSION && field->type != SHOAL_FIELD_ROW && !has_data(at, field->path))
            clear_field(result, field);
        else
            status = read_data(at, field->path, field_type(at, field), field_extent(field, result),
                               shoal_field_data(result, field));
    }
    return status;
}

/* unit and doc of a column's dataset */
static shoal_status read_labels(const store *at, const char *path, shoal_column *column)
{
    hid_t dataset;
    shoal_status status = open_data(at, path, &dataset);
    if (status)
        return status;
    status = read_word(at, dataset, "unit", column->unit, sizeof column->unit);
    if (!status)
        status = read_word(at, dataset, "doc", column->doc, sizeof column->doc);
    H5Dclose(dataset);
    return status;
}

static shoal_status read_columns(const store *at, shoal_result *result)
{
    const extent rows = {1, {(hsize_t)result->n_systems}}, names = {1, {(hsize_t)result->n_columns}};
    const size_t size = word_size[WORD_COLUMN];
    char *name = calloc((size_t)result->n_columns + 1, size);
    if (!name)
        return shoal_fail(at->context, SHOAL_E_MEMORY, "%s: out of memory", at->path);
    shoal_status status = read_data(at, "/columns/name", at->words[WORD_COLUMN], names, name);
    for (int c = 0; !status && c < result->n_columns; c++) {
        shoal_column *column = &result->columns[c];
        char path[sizeof column->name + 16];
        snprintf(column->name, sizeof column->name, "%.*s", (int)size - 1, name + (size_t)c * size);
        status = column_path(at, column, path, sizeof path);
        if (!status)
            status = read_data(at, path, H5T_NATIVE_DOUBLE, rows, column->value);
        if (!status)
            status = read_labels(at, path, column);
    }
    if (!status)
        status = read_attribute(at, at->file, "n_swept", H5T_NATIVE_INT, &result->n_swept, NULL);
    if (!status && (result->n_swept < 0 || result->n_swept > result->n_columns))
        status = shoal_fail(at->context, SHOAL_E_INPUT, "%s: n_swept is %d of %d columns", at->path, result->n_swept,
                            result->n_columns);
    free(name);
    return status;
}

static shoal_status read_axes(const store *at, shoal_result *result, int n_axes)
{
    const extent axes = {1, {(hsize_t)n_axes}}, bodies = {1, {(hsize_t)result->n_bodies}};
    char column[SHOAL_MAX_AXES][sizeof result->axes->column] = {{0}};
    int64_t count[SHOAL_MAX_AXES] = {0};
    int logarithmic[SHOAL_MAX_AXES] = {0};
    shoal_status status = read_data(at, "/axes/column", at->words[WORD_COLUMN], axes, column);
    if (!status)
        status = read_data(at, "/axes/count", H5T_NATIVE_INT64, axes, count);
    if (!status)
        status = read_data(at, "/axes/logarithmic", H5T_NATIVE_INT, axes, logarithmic);
    if (!status)
        status = read_data(at, "/bodies/name", at->words[WORD_BODY], bodies, result->body_name);
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
    const hid_t object = H5Oopen(at->file, group, H5P_DEFAULT);
    if (object < 0)
        return store_error(at, SHOAL_E_INPUT, "there is no group ", group);
    const shoal_status status = read_attribute(at, object, attribute, H5T_C_S1, NULL, text);
    H5Oclose(object);
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
    extent rows = {1, {0}};
    int n;
    shoal_log *log = NULL;
    snprintf(group, sizeof group, SHOAL_LOG_FOLDER "%s", name);
    shoal_status status = strlen(group) < sizeof log->path
                              ? read_names(at, group, "columns", &names, &n)
                              : shoal_fail(at->context, SHOAL_E_INPUT, "%s: a log cannot be named '%s'", at->path,
                                           name);
    if (!status && n < 2)
        status = shoal_fail(at->context, SHOAL_E_INPUT, "%s: %s: expected columns system, time", at->path, group);
    if (!status)
        status = shoal_result_add_log(at->context, result, name, n, &log);
    const char *of = names;
    for (int c = 0; !status && c < n; c++, of += strlen(of) + 1) {
        shoal_column *column = &log->columns[c];
        snprintf(column->name, sizeof column->name, "%s", of);
        log_path(log, c, path);
        if (c == 0) {
            status = read_extent(at, path, 1, &rows);
            if (!status)
                status = shoal_log_reserve(at->context, log, (long)rows.of[0]);
        }
        if (!status)
            status = read_data(at, path, H5T_NATIVE_DOUBLE, rows, column->value);
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

/* Refuse what does not begin like an HDF5 file, in plain words. */
static shoal_status check_signature(const store *at)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char begin[sizeof signature];
    FILE *file = fopen(at->path, "rb");
    if (!file)
        return shoal_fail(at->context, SHOAL_E_FILE, "%s: cannot open the result file: %s", at->path, strerror(errno));
    errno = 0;
    size_t n = fread(begin, 1, sizeof begin, file);
    int error = ferror(file) ? errno : 0;
    fclose(file);
    if (error)
        return shoal_fail(at->context, SHOAL_E_FILE, "%s: cannot read the result file: %s", at->path, strerror(error));
    if (n != sizeof begin || memcmp(begin, signature, sizeof begin))
        return shoal_fail(at->context, SHOAL_E_INPUT, "%s: not an HDF5 file", at->path);
    return SHOAL_OK;
}

/* H5Fopen; a result file is never changed in place, so no lock is wanted (some cluster file systems refuse it). */
static hid_t open_file(const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
#if H5_VERSION_GE(1, 12, 1) || (H5_VERS_MINOR == 10 && H5_VERSION_GE(1, 10, 7))
    if (access >= 0)
        H5Pset_file_locking(access, 0, 1);
#endif
    hid_t file = access >= 0 ? H5Fopen(path, H5F_ACC_RDONLY, access) : H5I_INVALID_HID;
    if (access >= 0) {
        const hid_t what = H5Eget_current_stack(); /* closing clears it */
        H5Pclose(access);
        H5Eset_current_stack(what);
    }
    return file;
}

static shoal_status read_file(store *at, shoal_result **result)
{
    int n_axes = 0;
    long n_snapshots = 0, n_events = 0;
    shoal_status status = check_signature(at);
    if (status)
        return status;
    at->file = open_file(at->path);
    if (at->file < 0)
        return store_error(at, SHOAL_E_INPUT, "cannot open the result file", "");
    status = types_open(at);
    if (!status)
        status = read_format(at);
    if (!status)
        status = read_sizes(at, result, &n_axes, &n_snapshots, &n_events);
    if (!status)
        status = read_attributes(at, *result);
    if (!status)
        status = read_fields(at, *result, n_snapshots, n_events);
    if (!status)
        status = read_columns(at, *result);
    if (!status)
        status = read_axes(at, *result, n_axes);
    if (!status)
        status = at->version > 2 ? read_logs(at, *result) : shoal_result_take_old_transits(at->context, *result);
    if (!status)
        status = shoal_result_check(at->context, *result, at->path);
    types_close(at);
    H5Fclose(at->file);
    return status;
}

bool shoal_store_is(const char *path)
{
    char begin[4] = "";
    FILE *file = fopen(path, "rb");
    const bool found = !file ||
                       (fread(begin, 1, sizeof begin, file) == sizeof begin && memcmp(begin, "\x89HDF", 4) == 0);
    if (file)
        fclose(file);
    return found;
}

shoal_status shoal_store_spare(shoal_context *context, const char *path)
{
    struct stat about;
    if (shoal_not_a_file(path))
        return shoal_fail(context, SHOAL_E_INPUT, "%s: is there and not a file", path);
    if (shoal_store_is(path) || (stat(path, &about) == 0 && about.st_size == 0))
        return SHOAL_OK;
    return shoal_fail(context, SHOAL_E_INPUT, "%s: is there and no result file: it is not replaced", path);
}

void shoal_store_journal_path(const char *path, char *journal, size_t size)
{
    snprintf(journal, size, "%s.journal", path);
}

shoal_status shoal_store_read(shoal_context *context, const char *path, shoal_result **result)
{
    store at = {.context = context, .path = path};
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
    const shoal_h5_errors errors = shoal_h5_errors_off();
    shoal_status status = read_file(&at, result);
    if (status)
        shoal_result_destroy(result);
    shoal_h5_errors_restore(errors);
    return status;
}
