/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * journal.c: the append-only, checksummed record file that stands beside the result file while a run goes on.
 *
 * The file is a row of records, all numbers little-endian:
 *
 *     4  magic "ShJr"
 *     4  type: 1 header, 2 systems, 3 snapshots, 4 checkpoint, 5 events, 6 logged, 7 progress, 8 kept, 9 begun; and 256
 *        if the payload is packed
 *     8  bytes of payload in the file
 *     4  CRC-32C of the 16 bytes above and the payload, as they are in the file
 *     .  payload
 *
 * A packed payload is the number of its bytes when it is unpacked (8) and blocks of pack.c. It is packed where that
 * makes it smaller. Of the header's payload the first 8 bytes, the version, stay as they are, and the rest is always
 * packed: its type says nothing, so that older programs read the version.
 *
 * A reader stops at the first record that is cut short or whose checksum does not fit: everything before it is good. So
 * a kill at any instant, a full disk or a lost tail cost the last record at most.
 *
 *     header      version, n_systems, n_bodies, n_columns, n_swept, n_axes; the number of attributes, and of each its
 *                 name, type and value; the number of fields, and of each its name, when it is known, bytes of an
 *                 item and items of a row; axes; body names; columns (name, unit, doc; values of the swept ones);
 *                 every field known before the first step but the states; the number of logs, and of each its name,
 *                 the number of its columns, and their names, units and docs
 *     begun       the first row, n, n rows of every other field known before the first step
 *     systems     n, n row numbers, n rows of every field known after the end, n values of every column
 *     snapshots   n, n rows of every snapshot field
 *     events      n, n rows of every event field
 *     logged      which log, n, n numbers of every column
 *     kept        n, doubles of a row, n row numbers, n rows: what a longer run goes on from
 *     checkpoint  as it was given
 *     progress    the numbers of shoal_journal_pace; who reads the results skips it
 *
 * Fields and attributes are known by their names: what a reader does not know it skips, what is not there stays empty.
 * Versions before 7 packed nothing. Versions before 6 had all that is known before the first step in the header.
 * Version 4 had no progress and nothing kept, version 3 no logs. Version 2 had no names: its attributes and fields are
 * those of the lists below, in that order.
 *
 * Texts are a count of bytes (8) and the bytes. The first record is the only header. What follows the last checkpoint
 * is complete as data, but a run that goes on from the checkpoint makes it again: shoal_journal_open cuts it off.
 *
 * Records are written with write(2), without a buffer in between: an append that failed is cut off at once, and the
 * journal is as it was before. One process writes: the file is locked (flock) while it is open for writing.
 *
 * In the background a thread writes the records, in order, and the disk may be slow: who appends waits only while
 * MOST_QUEUED bytes are not written yet. Nothing is dropped; what failed is said by the next call, and nothing is
 * written after it.
 */
#include "core/result/pack.h"
#include "core/result/rows.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION   7
#define OLDEST    2 /* that is read */
#define MAGIC     "ShJr"
#define HEAD_SIZE 20
#define PACKED    256u /* of a type */

#define MOST_QUEUED ((size_t)64 << 20)

enum {
    RECORD_HEADER = 1,
    RECORD_SYSTEMS,
    RECORD_SNAPSHOTS,
    RECORD_CHECKPOINT,
    RECORD_EVENTS,
    RECORD_LOGGED,
    RECORD_PROGRESS,
    RECORD_KEPT,
    RECORD_BEGUN
};

/* ---- encoding -------------------------------------------------------------------------------------------------- */

/* Rows of a payload that are alike: they come after the first `after` bytes of its own. */
typedef struct array {
    size_t after, n;   /* n: bytes */
    size_t width;      /* bytes of a row */
    const void *bytes; /* elsewhere, lent; NULL: the next of its own */
} array;

/* A payload in the making. Once memory is out it stays `failed` and further puts do nothing. */
typedef struct buffer {
    unsigned char *data;
    size_t n, capacity;
    bool failed, lends; /* lends: long arrays are not copied: for a record that is written at once */
    array *arrays;      /* [n_arrays] */
    int n_arrays;
} buffer;

/* A record that is to be written, or (type 0) that all before it are to reach the disk. */
typedef struct queued {
    struct queued *next;
    uint32_t type;
    buffer payload; /* its own */
} queued;

struct shoal_journal {
    shoal_context *context;
    char *path;
    int fd;
    int64_t length;  /* of the good records */
    int64_t passing; /* bytes of these that count only until the next checkpoint */
    int64_t n_systems;
    int32_t n_bodies, n_columns;
    /* in the background; the lock is for all below */
    bool background;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more, less; /* the queue has grown, or is to end; it has become shorter */
    queued *first, *last;
    size_t n_queued;    /* bytes */
    bool busy, stop;    /* the thread is at work; it is to end */
    const char *failed; /* what, NULL = nothing */
    int error;          /* errno of that */
};

static unsigned char *buffer_grow(buffer *to, size_t n)
{
    if (to->failed)
        return NULL;
    if (n > to->capacity - to->n) {
        size_t capacity = to->capacity * 2 + n + 256;
        unsigned char *data = capacity > to->n ? realloc(to->data, capacity) : NULL;
        if (!data) {
            to->failed = true;
            return NULL;
        }
        to->data = data;
        to->capacity = capacity;
    }
    to->n += n;
    return to->data ? to->data + to->n - n : NULL;
}

/* Note rows that follow. lent: where they are and stay, NULL: they are still to be put. False: they are not noted. */
static bool put_array(buffer *to, const void *lent, size_t n, size_t width)
{
    enum { WORTH = 1 << 10 };
    if (to->failed || n < WORTH)
        return false;
    array *arrays = realloc(to->arrays, ((size_t)to->n_arrays + 1) * sizeof *arrays);
    if (!arrays)
        return false;
    to->arrays = arrays;
    arrays[to->n_arrays++] = (array){.after = to->n, .n = n, .width = width, .bytes = lent};
    return true;
}

/* n numbers of 4 or 8 bytes each. */
static void put_items(buffer *to, const void *items, size_t n, size_t size)
{
    unsigned char *data = buffer_grow(to, n * size);
    if (!data)
        return;
    if (n)
        memcpy(data, items, n * size);
    for (size_t i = 0; __BYTE_ORDER != __LITTLE_ENDIAN && i < n; i++, data += size)
        for (size_t k = 0; k < size / 2; k++) {
            unsigned char byte = data[k];
            data[k] = data[size - 1 - k];
            data[size - 1 - k] = byte;
        }
}

/* n bytes, which are mostly numbers of 8 each. */
static void put_bytes(buffer *to, const void *bytes, size_t n)
{
    put_array(to, NULL, n - n % sizeof(double), sizeof(double));
    put_items(to, bytes, n, 1);
}

/* Bytes of a row, as the planes of a packed array are to be: those of a long one mean the same in parts of it. */
static size_t pack_width(size_t row_items, size_t size)
{
    enum { MOST = 1 << 14 };
    const size_t state = SHOAL_STATE * size;
    return row_items * size <= MOST ? row_items * size : row_items % SHOAL_STATE == 0 ? state : size;
}

/* n rows of so many numbers of 4 or 8 bytes each. */
static void put_table(buffer *to, const void *items, size_t n, size_t row_items, size_t size)
{
    enum { WORTH_LENDING = 1 << 16 };
    const size_t bytes = n * row_items * size;
    const bool lends = to->lends && bytes >= WORTH_LENDING && __BYTE_ORDER == __LITTLE_ENDIAN;
    const bool noted = put_array(to, lends ? items : NULL, bytes, pack_width(row_items, size));
    if (!(noted && lends))
        put_items(to, items, n * row_items, size);
}

static void put_int(buffer *to, int64_t value)
{
    put_items(to, &value, 1, sizeof value);
}

static void put_text(buffer *to, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    put_int(to, (int64_t)n);
    unsigned char *data = buffer_grow(to, n);
    if (data && n)
        memcpy(data, text, n);
}

/* A payload being read. Once it ran short it stays `bad` and further gets do nothing. */
typedef struct cursor {
    const unsigned char *data;
    size_t left;
    bool bad;
    bool no_memory; /* it was not the payload that ran short; `bad`, too */
} cursor;

static void get_items(cursor *from, void *items, size_t n, size_t size)
{
    if (from->bad || n > from->left / size) {
        from->bad = true;
        return;
    }
    if (!n)
        return;
    memcpy(items, from->data, n * size);
    for (size_t i = 0; __BYTE_ORDER != __LITTLE_ENDIAN && i < n; i++)
        for (size_t k = 0; k < size; k++)
            ((unsigned char *)items)[i * size + k] = from->data[i * size + size - 1 - k];
    from->data += n * size;
    from->left -= n * size;
}

static int64_t get_int(cursor *from)
{
    int64_t value = 0;
    get_items(from, &value, 1, sizeof value);
    return value;
}

/* The length of a text that follows; SIZE_MAX if there is none. */
static size_t get_length(cursor *from)
{
    const uint64_t n = (uint64_t)get_int(from);
    from->bad = from->bad || n > from->left;
    return from->bad ? SIZE_MAX : (size_t)n;
}

static void get_bytes(cursor *from, char *text, size_t n)
{
    memcpy(text, from->data, n);
    text[n] = '\0';
    from->data += n;
    from->left -= n;
}

/* A text into word[size]. */
static void get_word(cursor *from, char *word, size_t size)
{
    const size_t n = get_length(from);
    if (n < size)
        get_bytes(from, word, n);
    else
        from->bad = true;
}

/* A text into memory of its own. */
static char *get_text(cursor *from)
{
    const size_t n = get_length(from);
    char *text = n < SIZE_MAX ? malloc(n + 1) : NULL;
    if (text)
        get_bytes(from, text, n);
    else {
        from->no_memory = !from->bad;
        from->bad = true;
    }
    return text;
}

static void put_attribute(buffer *to, const shoal_result *result, const shoal_attribute *attribute)
{
    const char *member = (const char *)result + attribute->offset;
    char *text;
    switch (attribute->type) {
    case SHOAL_ATTRIBUTE_TEXT:
        memcpy(&text, member, sizeof text);
        put_text(to, text);
        break;
    case SHOAL_ATTRIBUTE_WORD: put_text(to, member); break;
    default: put_items(to, member, 1, attribute->size);
    }
}

/* Into the attribute of that type; NULL: what it is skipped. */
static void get_attribute(cursor *from, shoal_result *result, int type, const shoal_attribute *attribute)
{
    char *member = attribute ? (char *)result + attribute->offset : NULL;
    char *text;
    int64_t number;
    if (attribute && (int)attribute->type != type)
        from->bad = true;
    else if (type == SHOAL_ATTRIBUTE_WORD && attribute)
        get_word(from, member, attribute->size);
    else if (type == SHOAL_ATTRIBUTE_TEXT || type == SHOAL_ATTRIBUTE_WORD) {
        text = get_text(from);
        if (attribute) {
            char *before; /* of a damaged header that has it twice */
            memcpy(&before, member, sizeof before);
            memcpy(member, &text, sizeof text);
            text = before;
        }
        free(text);
    } else
        get_items(from, attribute ? (void *)member : &number, 1, 8);
}

/* Row `row` of a field, to or from. */
static void put_rows(buffer *to, const shoal_result *result, const shoal_field *field, size_t row, size_t n_rows)
{
    size_t items = shoal_field_row_items(field, result), size = shoal_field_item_size(field);
    put_table(to, (const char *)shoal_field_data(result, field) + row * items * size, n_rows, items, size);
}

/* The listed rows, each of n_items of `size` bytes. */
static void put_listed(buffer *to, const void *data, const int *list, long n_list, size_t n_items, size_t size)
{
    const size_t row = n_items * size;
    const char *from = data;
    put_array(to, NULL, (size_t)n_list * row, pack_width(n_items, size));
    unsigned char *at = __BYTE_ORDER == __LITTLE_ENDIAN ? buffer_grow(to, (size_t)n_list * row) : NULL;
    for (long i = 0; at && i < n_list; i++, at += row)
        if (row == sizeof(double)) /* most of them: no call */
            memcpy(at, from + (size_t)list[i] * row, sizeof(double));
        else
            memcpy(at, from + (size_t)list[i] * row, row);
    for (long i = 0; __BYTE_ORDER != __LITTLE_ENDIAN && i < n_list; i++)
        put_items(to, from + (size_t)list[i] * row, n_items, size);
}

/* ---- the fields of a journal ----------------------------------------------------------------------------------- */

enum { MOST_FIELDS = 256 };

/* A field as a journal has it. */
typedef struct part {
    const shoal_field *field; /* NULL: one that this program does not know */
    int when;
    size_t item, row; /* bytes of an item, items of a row */
} part;

typedef struct layout {
    int64_t version;
    part parts[MOST_FIELDS];
    int n;
} layout;

static const char *const version_2_attributes[] = {
    "version",         "config",          "plan", "epoch", "unit_length", "unit_mass", "unit_time", "unit_length_inner",
    "unit_mass_inner", "unit_time_inner", "G",    "seed",
};

static const char *const version_2_fields[] = {
    "/systems/id",       "/systems/outcome", "/systems/t_stop", "/systems/body_a",   "/systems/body_b",
    "/systems/dE_final", "/systems/steps",   "/systems/n_live", "/systems/n_final",  "/initial/time",
    "/initial/state",    "/final/time",      "/final/state",    "/snapshots/system", "/snapshots/time",
    "/snapshots/state",  "/events/system",   "/events/time",    "/events/event",     "/events/body_a",
    "/events/body_b",    "/events/m_a",      "/events/m_b",     "/events/distance",  "/events/speed",
    "/events/dE",        "/events/ended",
};

static const shoal_attribute *attribute_named(const char *name)
{
    for (int a = 0; a < shoal_result_n_attributes; a++)
        if (strcmp(shoal_result_attributes[a].name, name) == 0)
            return &shoal_result_attributes[a];
    return NULL;
}

static const shoal_field *field_named(const char *name)
{
    for (int f = 0; f < shoal_result_n_fields; f++)
        if (strcmp(shoal_result_fields[f].path, name) == 0)
            return &shoal_result_fields[f];
    return NULL;
}

static part part_of(const shoal_field *field, const shoal_result *result)
{
    return (part){field, field->when, shoal_field_item_size(field), shoal_field_row_items(field, result)};
}

/* Rows of a part, into those of the result from `row` on. */
static void get_rows(cursor *from, const shoal_result *result, const part *as, size_t row, size_t n_rows)
{
    if (!n_rows) /* there may be no array, either */
        return;
    if (as->field) {
        char *to = shoal_field_data(result, as->field);
        get_items(from, to + row * as->row * as->item, n_rows * as->row, as->item);
    } else if (from->bad || n_rows > from->left / (as->row * as->item)) {
        from->bad = true;
    } else {
        from->data += n_rows * as->row * as->item;
        from->left -= n_rows * as->row * as->item;
    }
}

static void put_layout(buffer *to, const shoal_result *result)
{
    put_int(to, shoal_result_n_fields);
    for (int f = 0; f < shoal_result_n_fields; f++) {
        const part as = part_of(&shoal_result_fields[f], result);
        put_text(to, as.field->path);
        put_int(to, as.when);
        put_int(to, (int64_t)as.item);
        put_int(to, (int64_t)as.row);
    }
}

static void get_layout(cursor *from, int64_t version, const shoal_result *result, layout *fields)
{
    if (version == 2) {
        fields->n = SHOAL_COUNT(version_2_fields);
        for (int i = 0; i < fields->n; i++)
            fields->parts[i] = part_of(field_named(version_2_fields[i]), result);
        return;
    }
    const int64_t n = get_int(from);
    from->bad = from->bad || n < 0 || n > MOST_FIELDS;
    fields->n = 0; /* in the end those before the first bad one */
    for (int64_t i = 0; i < n && !from->bad; i++) {
        char name[128] = "";
        get_word(from, name, sizeof name);
        part as = {.field = field_named(name), .when = (int)get_int(from)};
        as.item = (size_t)get_int(from);
        as.row = (size_t)get_int(from);
        const part own = as.field ? part_of(as.field, result) : as;
        from->bad = from->bad || (as.item != 4 && as.item != 8) || as.row < 1 || as.row > (size_t)1 << 32 ||
                    as.item != own.item || as.row != own.row || as.when != own.when;
        if (!from->bad)
            fields->parts[fields->n++] = as;
    }
}

/* Whether a part known before the first step comes when the systems begin, and not in the header. */
static bool comes_later(int64_t version, const part *as)
{
    return version > 5 && as->field && !shoal_field_is_known(as->field);
}

/* Whether records that this program writes have these fields. */
static bool is_own_layout(const layout *fields)
{
    bool own = fields->version == VERSION && fields->n == shoal_result_n_fields;
    for (int f = 0; f < fields->n && own; f++)
        own = fields->parts[f].field == &shoal_result_fields[f];
    return own;
}

static void put_attributes(buffer *to, const shoal_result *result)
{
    put_int(to, shoal_result_n_attributes);
    for (int a = 0; a < shoal_result_n_attributes; a++) {
        put_text(to, shoal_result_attributes[a].name);
        put_int(to, shoal_result_attributes[a].type);
        put_attribute(to, result, &shoal_result_attributes[a]);
    }
}

static void get_attributes(cursor *from, int64_t version, shoal_result *result)
{
    const int64_t n = version == 2 ? SHOAL_COUNT(version_2_attributes) : get_int(from);
    for (int64_t a = 0; a < n && !from->bad; a++) {
        char name[128];
        snprintf(name, sizeof name, "%s", version == 2 ? version_2_attributes[a] : "");
        if (version > 2)
            get_word(from, name, sizeof name);
        const shoal_attribute *attribute = from->bad ? NULL : attribute_named(name);
        get_attribute(from, result, version > 2 ? (int)get_int(from) : (int)attribute->type, attribute);
    }
}

static void put_column(buffer *to, const shoal_column *column)
{
    put_text(to, column->name);
    put_text(to, column->unit);
    put_text(to, column->doc);
}

static void get_column(cursor *from, shoal_column *column)
{
    get_word(from, column->name, sizeof column->name);
    get_word(from, column->unit, sizeof column->unit);
    get_word(from, column->doc, sizeof column->doc);
}

static void put_logs(buffer *to, const shoal_result *result)
{
    put_int(to, result->n_logs);
    for (int l = 0; l < result->n_logs; l++) {
        const shoal_log *log = &result->logs[l];
        put_text(to, shoal_log_name(log));
        put_int(to, log->n_columns);
        for (int c = 0; c < log->n_columns; c++)
            put_column(to, &log->columns[c]);
    }
}

/* The logs of a header, without rows. */
static shoal_status get_logs(shoal_context *context, cursor *from, shoal_result *result)
{
    shoal_status status = SHOAL_OK;
    const uint64_t n = (uint64_t)get_int(from);
    for (uint64_t l = 0; l < n && !from->bad && !status; l++) {
        char name[SHOAL_NAME_SIZE] = "";
        shoal_log *log;
        get_word(from, name, sizeof name);
        const uint64_t n_columns = (uint64_t)get_int(from);
        from->bad = from->bad || n_columns < 2 || n_columns > from->left / 8;
        if (from->bad || (status = shoal_result_add_log(context, result, name, (int)n_columns, &log)))
            break;
        for (int c = 0; c < log->n_columns; c++)
            get_column(from, &log->columns[c]);
    }
    return status;
}

static void put_header(buffer *to, const shoal_result *result)
{
    const int64_t sizes[] = {VERSION,           result->n_systems, result->n_bodies,
                             result->n_columns, result->n_swept,   result->n_axes};
    put_items(to, sizes, SHOAL_COUNT(sizes), sizeof *sizes);
    put_attributes(to, result);
    put_layout(to, result);
    for (int a = 0; a < result->n_axes; a++) {
        put_text(to, result->axes[a].column);
        put_int(to, result->axes[a].count);
        put_int(to, result->axes[a].logarithmic);
    }
    for (int b = 0; b < result->n_bodies; b++)
        put_text(to, result->body_name[b]);
    for (int c = 0; c < result->n_columns; c++) {
        const shoal_column *column = &result->columns[c];
        put_column(to, column);
        if (c < result->n_swept)
            put_table(to, column->value, (size_t)result->n_systems, 1, sizeof(double));
    }
    for (int f = 0; f < shoal_result_n_fields; f++)
        if (shoal_field_is_known(&shoal_result_fields[f]))
            put_rows(to, result, &shoal_result_fields[f], 0, (size_t)result->n_systems);
    put_logs(to, result);
}

typedef struct shape {
    int64_t version, n_systems, n_bodies, n_columns, n_swept, n_axes;
} shape;

/* The sizes at the start of a header, refused if its payload cannot hold that much. */
static bool get_shape(cursor *from, shape *sizes)
{
    get_items(from, sizes, sizeof *sizes / 8, 8);
    return !from->bad && sizes->version >= OLDEST && sizes->version <= VERSION && sizes->n_systems >= 1 &&
           sizes->n_bodies >= 1 && sizes->n_bodies <= INT32_MAX && sizes->n_columns >= 0 &&
           sizes->n_columns <= INT32_MAX && sizes->n_swept >= 0 && sizes->n_swept <= sizes->n_columns &&
           sizes->n_axes >= 0 && sizes->n_axes <= SHOAL_MAX_AXES && (uint64_t)sizes->n_systems <= from->left / 8 &&
           (uint64_t)sizes->n_bodies <= from->left / 8 && (uint64_t)sizes->n_columns <= from->left / 8;
}

static shoal_status bad_shape(shoal_context *context, const char *path, const shape *sizes)
{
    if (sizes->version > VERSION && sizes->version < 1000)
        return shoal_fail(context, SHOAL_E_INPUT,
                          "%s: journal format %lld, of a newer shoal; this program (%s) reads formats up to %d", path,
                          (long long)sizes->version, SHOAL_VERSION, VERSION);
    return shoal_fail(context, SHOAL_E_INPUT, "%s: the journal's header makes no sense (version %lld, expected %d..%d)",
                      path, (long long)sizes->version, OLDEST, VERSION);
}

static shoal_status get_header(shoal_context *context, cursor *from, const char *path, shoal_result **result,
                               layout *fields)
{
    shape sizes = {0};
    shoal_result *made = NULL;
    shoal_status status = SHOAL_OK;
    if (!get_shape(from, &sizes)) {
        status = bad_shape(context, path, &sizes);
        goto fail;
    }
    status = (sizes.version > 5 ? shoal_result_allocate : shoal_result_create)(
        context, sizes.n_systems, (int)sizes.n_bodies, (int)sizes.n_columns, &made);
    if (status)
        goto fail;
    made->n_swept = (int)sizes.n_swept;
    made->n_axes = (int)sizes.n_axes;
    get_attributes(from, sizes.version, made);
    get_layout(from, sizes.version, made, fields);
    for (int a = 0; a < made->n_axes; a++) {
        get_word(from, made->axes[a].column, sizeof made->axes[a].column);
        made->axes[a].count = get_int(from);
        made->axes[a].logarithmic = get_int(from) != 0;
    }
    for (int b = 0; b < made->n_bodies; b++)
        get_word(from, made->body_name[b], sizeof made->body_name[b]);
    for (int c = 0; c < made->n_columns; c++) {
        shoal_column *column = &made->columns[c];
        get_column(from, column);
        if (c < made->n_swept)
            get_items(from, column->value, (size_t)made->n_systems, sizeof(double));
    }
    for (int f = 0; f < fields->n; f++)
        if ((fields->parts[f].when & SHOAL_FIELD_BEFORE) && !comes_later(sizes.version, &fields->parts[f]))
            get_rows(from, made, &fields->parts[f], 0, (size_t)made->n_systems);
    if (sizes.version > 3)
        status = get_logs(context, from, made);
    if (!status && from->no_memory)
        status = shoal_fail(context, SHOAL_E_MEMORY, "%s: out of memory", path);
    if (!status && (from->bad || from->left))
        status = shoal_fail(context, SHOAL_E_INPUT, "%s: the journal's header has the wrong length", path);
    if (status)
        goto fail;
    fields->version = sizes.version;
    *result = made;
    return SHOAL_OK;
fail:
    shoal_result_destroy(&made);
    return status;
}

/* Systems that begin, right after those before them. *n_begun: of all. */
static void get_begun(cursor *from, shoal_result *result, const layout *fields, long *n_begun)
{
    const uint64_t first = (uint64_t)get_int(from), n = (uint64_t)get_int(from);
    from->bad = from->bad || first != (uint64_t)*n_begun || n > (uint64_t)(result->n_systems - *n_begun);
    if (from->bad)
        return;
    shoal_result_blank(result, (long)first, (long)n);
    for (int f = 0; f < fields->n; f++)
        if ((fields->parts[f].when & SHOAL_FIELD_BEFORE) && comes_later(fields->version, &fields->parts[f]))
            get_rows(from, result, &fields->parts[f], first, n);
    *n_begun += (long)n;
}

static void get_systems(cursor *from, shoal_result *result, const layout *fields)
{
    uint64_t n = (uint64_t)get_int(from);
    const unsigned char *rows = from->data;
    if (from->bad || n > from->left / 8) {
        from->bad = true;
        return;
    }
    from->data += 8 * n;
    from->left -= 8 * n;
    for (int f = 0; f < fields->n + result->n_columns; f++) {
        cursor row_numbers = {rows, 8 * n, false, false};
        for (uint64_t i = 0; i < n && !from->bad; i++) {
            uint64_t row = (uint64_t)get_int(&row_numbers);
            if (row >= (uint64_t)result->n_systems)
                from->bad = true;
            else if (f >= fields->n)
                get_items(from, result->columns[f - fields->n].value + row, 1, sizeof(double));
            else if (fields->parts[f].when & SHOAL_FIELD_AFTER)
                get_rows(from, result, &fields->parts[f], row, 1);
        }
    }
}

/* Rows of snapshots or events. */
static shoal_status get_more(shoal_context *context, cursor *from, shoal_result *result, const layout *fields, int when)
{
    uint64_t n = (uint64_t)get_int(from);
    long *rows = shoal_result_rows(result, when);
    if (from->bad || n > from->left / 8) {
        from->bad = true;
        return SHOAL_OK;
    }
    shoal_status status = shoal_result_reserve(context, result, when, *rows + (long)n);
    if (status)
        return status;
    for (int f = 0; f < shoal_result_n_fields && !is_own_layout(fields); f++)
        if (shoal_result_fields[f].when & when)
            shoal_result_clear(result, &shoal_result_fields[f], (size_t)*rows, n);
    for (int f = 0; f < fields->n; f++)
        if (fields->parts[f].when & when)
            get_rows(from, result, &fields->parts[f], (size_t)*rows, n);
    if (!from->bad)
        *rows += (long)n;
    return SHOAL_OK;
}

/* Rows of a log. */
static shoal_status get_logged(shoal_context *context, cursor *from, shoal_result *result)
{
    const uint64_t l = (uint64_t)get_int(from), n = (uint64_t)get_int(from);
    from->bad = from->bad || l >= (uint64_t)result->n_logs || n > from->left / 8;
    if (from->bad || n == 0)
        return SHOAL_OK;
    shoal_log *log = &result->logs[l];
    const shoal_status status = shoal_log_reserve(context, log, log->n_rows + (long)n);
    for (int c = 0; c < log->n_columns && !status && n > 0; c++)
        get_items(from, log->columns[c].value + log->n_rows, n, sizeof(double));
    if (!status && !from->bad)
        log->n_rows += (long)n;
    return status;
}

static shoal_status get_kept(shoal_context *context, cursor *from, shoal_result *result)
{
    shoal_kept *kept = &result->kept;
    const uint64_t n = (uint64_t)get_int(from), width = (uint64_t)get_int(from);
    from->bad = from->bad || width == 0 || width > INT32_MAX || n > from->left / 8 / (1 + width) ||
                (kept->n > 0 && kept->width != (int)width);
    if (from->bad)
        return SHOAL_OK;
    kept->width = (int)width;
    const shoal_status status = shoal_kept_reserve(context, kept, kept->n + (long)n);
    if (status)
        return status;
    get_items(from, kept->system + kept->n, n, sizeof *kept->system);
    get_items(from, kept->row + (size_t)kept->n * width, n * width, sizeof *kept->row);
    for (uint64_t i = 0; i < n; i++)
        from->bad = from->bad || (uint64_t)kept->system[kept->n + (long)i] >= (uint64_t)result->n_systems;
    kept->n += (long)n;
    return SHOAL_OK;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static shoal_status journal_error(const shoal_journal *journal, const char *what)
{
    const shoal_status status = errno == ENOMEM ? SHOAL_E_MEMORY : SHOAL_E_FILE;
    return shoal_fail(journal->context, status, "%s: %s: %s", journal->path, what, strerror(errno));
}

static bool write_all(int fd, const void *bytes, size_t n, int64_t at)
{
    const char *from = bytes;
    while (n) {
        ssize_t written = pwrite(fd, from, n, at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = ENOSPC;
        if (written <= 0)
            return false;
        from += written;
        at += written;
        n -= (size_t)written;
    }
    return true;
}

static const char cannot_append[] = "cannot append to the journal",
                  cannot_sync[] = "cannot write the journal to the disk";

/* Part k of a payload: its own bytes before each array, that one, and the last of its own. width: of an array's rows,
 * else 0. False: there are no more. */
static bool part_of_payload(const buffer *payload, int k, const void **bytes, size_t *n, size_t *width)
{
    const int i = k / 2;
    if (i > payload->n_arrays || (i == payload->n_arrays && k % 2))
        return false;
    const array *before = i > 0 ? &payload->arrays[i - 1] : NULL, *next = &payload->arrays[i];
    const size_t from = before ? before->after + (before->bytes ? 0 : before->n) : 0,
                 to = i < payload->n_arrays ? next->after : payload->n, at = k % 2 ? to : from;
    *bytes = k % 2 && next->bytes ? next->bytes : payload->data ? payload->data + at : NULL;
    *n = k % 2 ? next->n : to - from;
    *width = k % 2 ? next->width : 0;
    return true;
}

static void release_payload(buffer *payload)
{
    free(payload->data);
    free(payload->arrays);
    *payload = (buffer){0};
}

/* Pack a payload but for its first `plain` bytes, which are not in an array. n: bytes that it has. False: memory is
 * out. */
static bool pack_payload(const buffer *payload, size_t n, size_t plain, buffer *packed)
{
    enum { SIZE = 8 };
    const void *bytes;
    size_t n_part, width, room = plain + SIZE;
    const uint64_t size = htole64(n - plain);
    for (int k = 0; part_of_payload(payload, k, &bytes, &n_part, &width); k++)
        room += shoal_pack_room(n_part, width);
    packed->data = malloc(room);
    if (!packed->data)
        return false;
    if (plain)
        memcpy(packed->data, payload->data, plain);
    memcpy(packed->data + plain, &size, SIZE);
    packed->n = plain + SIZE;
    for (int k = 0; part_of_payload(payload, k, &bytes, &n_part, &width); k++) {
        const size_t skip = k == 0 ? plain : 0;
        if (n_part == skip)
            continue;
        const size_t more = shoal_pack((const char *)bytes + skip, n_part - skip, width, packed->data + packed->n);
        if (more == 0)
            return false;
        packed->n += more;
    }
    return true;
}

/* Whether a record is of no use once there is a later checkpoint. */
static bool is_passing(uint32_t type)
{
    return (type & ~PACKED) == RECORD_CHECKPOINT || (type & ~PACKED) == RECORD_PROGRESS;
}

/* Write a record as it is. On failure (false, errno) the file ends where it did before. */
static bool write_parts(shoal_journal *journal, uint32_t type, const buffer *payload, uint64_t size)
{
    unsigned char head[HEAD_SIZE];
    const void *bytes;
    const uint64_t size_le = htole64(size);
    const uint32_t type_le = htole32(type);
    size_t n, width;
    memcpy(head, MAGIC, 4);
    memcpy(head + 4, &type_le, 4);
    memcpy(head + 8, &size_le, 8);
    uint32_t crc = shoal_crc32c(0, head, 16);
    for (int k = 0; part_of_payload(payload, k, &bytes, &n, &width); k++)
        crc = shoal_crc32c(crc, bytes, n);
    crc = htole32(crc);
    memcpy(head + 16, &crc, 4);
    int64_t at = journal->length + HEAD_SIZE;
    bool good = write_all(journal->fd, head, sizeof head, journal->length);
    for (int k = 0; good && part_of_payload(payload, k, &bytes, &n, &width); k++, at += (int64_t)n)
        good = write_all(journal->fd, bytes, n, at);
    if (!good) {
        const int error = errno;
        /* Best effort: if even this fails, readers stop at the torn record and the next append overwrites it. */
        int cut = ftruncate(journal->fd, journal->length);
        (void)cut;
        errno = error;
        return false;
    }
    journal->length += HEAD_SIZE + (int64_t)size;
    journal->passing += is_passing(type) ? HEAD_SIZE + (int64_t)size : 0;
    return true;
}

/* Write a record, packed where that makes it smaller. On failure (false, errno) the file ends where it did before. */
static bool write_record(shoal_journal *journal, uint32_t type, const buffer *payload)
{
    const bool is_header = type == RECORD_HEADER;
    size_t size = payload->n;
    for (int i = 0; i < payload->n_arrays; i++)
        size += payload->arrays[i].bytes ? payload->arrays[i].n : 0;
    buffer packed = {0};
    const bool good = (is_header || payload->n_arrays > 0) &&
                      pack_payload(payload, size, is_header ? sizeof(int64_t) : 0, &packed);
    bool done = false;
    if (is_header && !good)
        errno = ENOMEM;
    else if (is_header)
        done = write_parts(journal, type, &packed, packed.n);
    else if (good && packed.n < size)
        done = write_parts(journal, type | PACKED, &packed, packed.n);
    else
        done = write_parts(journal, type, payload, size);
    const int error = errno;
    release_payload(&packed);
    errno = error;
    return done;
}

/* ---- in the background ----------------------------------------------------------------------------------------- */

/* Do the first of the queue. Called and left with the lock held, which is open on the way. */
static void work_once(shoal_journal *journal)
{
    queued *record = journal->first;
    const bool skip = journal->failed != NULL;
    bool done = true;
    journal->first = record->next;
    journal->last = record->next ? journal->last : NULL;
    journal->busy = true;
    pthread_mutex_unlock(&journal->lock);
    if (!skip)
        done = record->type ? write_record(journal, record->type, &record->payload) : !fdatasync(journal->fd);
    const int error = errno;
    const size_t size = record->payload.n;
    release_payload(&record->payload);
    pthread_mutex_lock(&journal->lock);
    journal->busy = false;
    journal->n_queued -= size;
    if (!done) {
        journal->failed = record->type ? cannot_append : cannot_sync;
        journal->error = error;
    }
    free(record);
    pthread_cond_broadcast(&journal->less);
}

static void *write_behind(void *of)
{
    shoal_journal *journal = of;
    pthread_mutex_lock(&journal->lock);
    for (;;) {
        if (journal->first)
            work_once(journal);
        else if (journal->stop)
            break;
        else
            pthread_cond_wait(&journal->more, &journal->lock);
    }
    pthread_mutex_unlock(&journal->lock);
    return NULL;
}

shoal_status shoal_journal_background(shoal_journal *journal)
{
    pthread_mutex_init(&journal->lock, NULL);
    pthread_cond_init(&journal->more, NULL);
    pthread_cond_init(&journal->less, NULL);
    errno = pthread_create(&journal->thread, NULL, write_behind, journal);
    if (errno)
        return journal_error(journal, "cannot start the thread that writes the journal");
    journal->background = true;
    return SHOAL_OK;
}

/* What the thread has to say. The lock is held. */
static shoal_status said(const shoal_journal *journal)
{
    if (!journal->failed)
        return SHOAL_OK;
    errno = journal->error;
    return journal_error(journal, journal->failed);
}

shoal_status shoal_journal_finish(shoal_journal *journal)
{
    if (!journal->background)
        return SHOAL_OK;
    pthread_mutex_lock(&journal->lock);
    while (journal->first || journal->busy)
        pthread_cond_wait(&journal->less, &journal->lock);
    const shoal_status status = said(journal);
    pthread_mutex_unlock(&journal->lock);
    return status;
}

/* Queue a record. payload: the journal's from now on. */
static shoal_status enqueue(shoal_journal *journal, uint32_t type, buffer *payload)
{
    const size_t size = payload->n;
    queued *record = malloc(sizeof *record);
    if (!record) {
        release_payload(payload);
        return shoal_fail(journal->context, SHOAL_E_MEMORY, "%s: out of memory", journal->path);
    }
    *record = (queued){.type = type, .payload = *payload};
    pthread_mutex_lock(&journal->lock);
    while (journal->n_queued > 0 && journal->n_queued + size > MOST_QUEUED)
        pthread_cond_wait(&journal->less, &journal->lock);
    const shoal_status status = said(journal);
    *(journal->last ? &journal->last->next : &journal->first) = record;
    journal->last = record;
    journal->n_queued += size;
    pthread_cond_signal(&journal->more);
    pthread_mutex_unlock(&journal->lock);
    return status;
}

/* ---- records --------------------------------------------------------------------------------------------------- */

static buffer payload_for(const shoal_journal *journal)
{
    return (buffer){.lends = !journal->background};
}

/* Append a record. payload: the journal's from now on. */
static shoal_status append_buffer(shoal_journal *journal, uint32_t type, buffer *payload)
{
    shoal_status status = SHOAL_OK;
    if (!payload->failed && journal->background)
        return enqueue(journal, type, payload);
    if (payload->failed)
        status = shoal_fail(journal->context, SHOAL_E_MEMORY, "%s: out of memory", journal->path);
    else if (!write_record(journal, type, payload))
        status = journal_error(journal, cannot_append);
    release_payload(payload);
    return status;
}

/* The object, its file opened and locked. */
static shoal_status journal_start(shoal_context *context, const char *path, int flags, shoal_journal **journal)
{
    shoal_status status;
    shoal_journal *made = calloc(1, sizeof *made);
    if (made) {
        made->context = context;
        made->fd = -1;
        made->path = strdup(path);
    }
    if (!made || !made->path) {
        status = shoal_fail(context, SHOAL_E_MEMORY, "%s: out of memory", path);
        goto fail;
    }
    made->fd = open(path, flags | O_RDWR | O_CLOEXEC | O_NONBLOCK, 0666);
    if (made->fd < 0) {
        status = errno == EEXIST ? shoal_fail(context, SHOAL_E_USAGE, "%s: there is a journal already", path)
                                 : journal_error(made, "cannot open the journal");
        goto fail;
    }
    if (flock(made->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        status = shoal_fail(context, SHOAL_E_USAGE, "%s: another run is writing this journal", path);
        goto fail;
    }
    *journal = made;
    return SHOAL_OK;
fail:
    shoal_journal_close(&made);
    return status;
}

shoal_status shoal_journal_create(shoal_context *context, const char *path, const shoal_result *result,
                                  shoal_journal **journal)
{
    *journal = NULL;
    shoal_journal *made;
    shoal_status status = journal_start(context, path, O_CREAT | O_EXCL, &made);
    if (status)
        return status;
    made->n_systems = result->n_systems;
    made->n_bodies = result->n_bodies;
    made->n_columns = result->n_columns;
    buffer payload = payload_for(made);
    put_header(&payload, result);
    status = append_buffer(made, RECORD_HEADER, &payload);
    if (!status)
        status = shoal_journal_commit(made);
    if (!status && !shoal_sync_folder(path))
        status = journal_error(made, "cannot sync the folder of the journal");
    if (status) {
        unlink(path);
        shoal_journal_close(&made);
        return status;
    }
    *journal = made;
    return SHOAL_OK;
}

shoal_status shoal_journal_rename(shoal_journal *journal, const char *path)
{
    char *name = strdup(path);
    if (!name)
        return shoal_fail(journal->context, SHOAL_E_MEMORY, "%s: out of memory", path);
    if (rename(journal->path, path)) {
        free(name);
        return journal_error(journal, "cannot rename the journal");
    }
    free(journal->path);
    journal->path = name;
    return SHOAL_OK;
}

void shoal_journal_close(shoal_journal **journal)
{
    shoal_journal *old = *journal;
    *journal = NULL;
    if (!old)
        return;
    if (old->background) {
        pthread_mutex_lock(&old->lock);
        old->stop = true;
        pthread_cond_signal(&old->more);
        pthread_mutex_unlock(&old->lock);
        pthread_join(old->thread, NULL);
        pthread_mutex_destroy(&old->lock);
        pthread_cond_destroy(&old->more);
        pthread_cond_destroy(&old->less);
    }
    if (old->fd >= 0)
        close(old->fd);
    free(old->path);
    free(old);
}

static shoal_status check_shape(const shoal_journal *journal, const shoal_result *result)
{
    if (journal->n_systems == result->n_systems && journal->n_bodies == result->n_bodies &&
        journal->n_columns == result->n_columns)
        return SHOAL_OK;
    return shoal_fail(journal->context, SHOAL_E_USAGE,
                      "%s: the journal is of %lld systems, %d bodies, %d columns; the result of %ld, %d, %d",
                      journal->path, (long long)journal->n_systems, (int)journal->n_bodies, (int)journal->n_columns,
                      result->n_systems, result->n_bodies, result->n_columns);
}

shoal_status shoal_journal_begun(shoal_journal *journal, const shoal_result *result, long first, long n)
{
    const shoal_status status = check_shape(journal, result);
    if (status || n <= 0)
        return status;
    if (first < 0 || n > result->n_systems - first)
        return shoal_fail(journal->context, SHOAL_E_USAGE, "%s: there is no row %ld", journal->path, first + n - 1);
    buffer payload = payload_for(journal);
    put_int(&payload, first);
    put_int(&payload, n);
    for (int f = 0; f < shoal_result_n_fields; f++)
        if ((shoal_result_fields[f].when & SHOAL_FIELD_BEFORE) && !shoal_field_is_known(&shoal_result_fields[f]))
            put_rows(&payload, result, &shoal_result_fields[f], (size_t)first, (size_t)n);
    return append_buffer(journal, RECORD_BEGUN, &payload);
}

shoal_status shoal_journal_systems(shoal_journal *journal, const shoal_result *result, const int *list, long n_list)
{
    shoal_status status = check_shape(journal, result);
    if (status || n_list <= 0)
        return status;
    for (long i = 0; i < n_list; i++)
        if (list[i] < 0 || list[i] >= result->n_systems)
            return shoal_fail(journal->context, SHOAL_E_USAGE, "%s: there is no row %d", journal->path, list[i]);
    buffer payload = payload_for(journal);
    put_int(&payload, n_list);
    for (long i = 0; i < n_list; i++)
        put_int(&payload, list[i]);
    for (int f = 0; f < shoal_result_n_fields; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        if (field->when & SHOAL_FIELD_AFTER)
            put_listed(&payload, shoal_field_data(result, field), list, n_list, shoal_field_row_items(field, result),
                       shoal_field_item_size(field));
    }
    for (int c = 0; c < result->n_columns; c++)
        put_listed(&payload, result->columns[c].value, list, n_list, 1, sizeof(double));
    return append_buffer(journal, RECORD_SYSTEMS, &payload);
}

/* Rows of so many bytes that a record has at most, so that it can be read in little memory. */
static long most_rows(size_t row)
{
    enum { MOST = 8 << 20 };
    return row > 0 && row < MOST ? (long)(MOST / row) : 1;
}

static shoal_status put_more(shoal_journal *journal, const shoal_result *result, int when, long n, long first,
                             uint32_t type)
{
    size_t row = 0;
    shoal_status status = check_shape(journal, result);
    if (first < 0 && !status)
        return shoal_fail(journal->context, SHOAL_E_USAGE, "%s: there is no row %ld", journal->path, first);
    for (int f = 0; f < shoal_result_n_fields; f++)
        if (shoal_result_fields[f].when & when)
            row += shoal_field_row_items(&shoal_result_fields[f], result) *
                   shoal_field_item_size(&shoal_result_fields[f]);
    for (long n_more; first < n && !status; first += n_more) {
        n_more = n - first < most_rows(row) ? n - first : most_rows(row);
        buffer payload = payload_for(journal);
        put_int(&payload, n_more);
        for (int f = 0; f < shoal_result_n_fields; f++)
            if (shoal_result_fields[f].when & when)
                put_rows(&payload, result, &shoal_result_fields[f], (size_t)first, (size_t)n_more);
        status = append_buffer(journal, type, &payload);
    }
    return status;
}

shoal_status shoal_journal_snapshots(shoal_journal *journal, const shoal_result *result, long first)
{
    return put_more(journal, result, SHOAL_FIELD_SNAPSHOT, result->n_snapshots, first, RECORD_SNAPSHOTS);
}

shoal_status shoal_journal_events(shoal_journal *journal, const shoal_result *result, long first)
{
    return put_more(journal, result, SHOAL_FIELD_EVENT, result->n_events, first, RECORD_EVENTS);
}

shoal_status shoal_journal_logged(shoal_journal *journal, const shoal_result *result, int l, long first)
{
    const shoal_log *log = &result->logs[l];
    const long most = most_rows((size_t)log->n_columns * sizeof(double));
    shoal_status status = check_shape(journal, result);
    for (long n; first < log->n_rows && !status; first += n) {
        n = log->n_rows - first < most ? log->n_rows - first : most;
        buffer payload = payload_for(journal);
        put_int(&payload, l);
        put_int(&payload, n);
        for (int c = 0; c < log->n_columns; c++)
            put_table(&payload, log->columns[c].value + first, (size_t)n, 1, sizeof(double));
        status = append_buffer(journal, RECORD_LOGGED, &payload);
    }
    return status;
}

shoal_status shoal_journal_kept(shoal_journal *journal, const shoal_result *result, long first)
{
    const shoal_kept *kept = &result->kept;
    const size_t n = (size_t)(kept->n - first), width = (size_t)kept->width;
    const shoal_status status = check_shape(journal, result);
    if (status || n == 0)
        return status;
    buffer payload = payload_for(journal);
    put_int(&payload, (int64_t)n);
    put_int(&payload, kept->width);
    put_table(&payload, kept->system + first, n, 1, sizeof *kept->system);
    put_table(&payload, kept->row + (size_t)first * width, n, width, sizeof *kept->row);
    return append_buffer(journal, RECORD_KEPT, &payload);
}

shoal_status shoal_journal_checkpoint(shoal_journal *journal, const void *state, size_t size)
{
    buffer payload = payload_for(journal);
    put_bytes(&payload, state, size);
    return append_buffer(journal, RECORD_CHECKPOINT, &payload);
}

shoal_status shoal_journal_progress(shoal_journal *journal, const shoal_journal_pace *pace)
{
    const double numbers[] = {pace->fraction, pace->began, pace->seconds};
    buffer payload = payload_for(journal);
    put_items(&payload, numbers, SHOAL_COUNT(numbers), sizeof *numbers);
    return append_buffer(journal, RECORD_PROGRESS, &payload);
}

shoal_status shoal_journal_commit(shoal_journal *journal)
{
    if (journal->background)
        return enqueue(journal, 0, &(buffer){0});
    return fdatasync(journal->fd) ? journal_error(journal, cannot_sync) : SHOAL_OK;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

typedef struct reader {
    shoal_context *context;
    const char *path;
    int fd;
    int64_t at, size; /* of the next record; of the file */
    uint32_t type;    /* of the record just read */
    buffer payload;
    buffer packed; /* as it was in the file */
} reader;

/* n bytes at an offset; false at the end of the file, and *status set if the disk failed. */
static bool read_all(const reader *from, void *bytes, size_t n, int64_t at, shoal_status *status)
{
    char *to = bytes;
    while (n) {
        ssize_t got = pread(from->fd, to, n, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            *status = shoal_fail(from->context, SHOAL_E_FILE, "%s: cannot read the journal: %s", from->path,
                                 strerror(errno));
        if (got <= 0)
            return false;
        to += got;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

/* Room for n bytes; on failure *status is set. */
static bool make_room(const reader *from, buffer *to, uint64_t n, shoal_status *status)
{
    to->n = 0;
    if (!buffer_grow(to, n + 1)) { /* + 1: memory even for an empty payload */
        *status = shoal_fail(from->context, SHOAL_E_MEMORY, "%s: out of memory for a record of %llu bytes", from->path,
                             (unsigned long long)n);
        return false;
    }
    to->n = n;
    return true;
}

/* Read the next record as it is in the file, to from->packed; false when there is no further good one, and *status set
 * if the disk or memory failed. */
static bool next_packed(reader *from, shoal_status *status)
{
    unsigned char head[HEAD_SIZE];
    uint64_t size;
    uint32_t crc;
    if (from->size - from->at < HEAD_SIZE || !read_all(from, head, sizeof head, from->at, status))
        return false;
    memcpy(&from->type, head + 4, 4);
    memcpy(&size, head + 8, 8);
    memcpy(&crc, head + 16, 4);
    from->type = le32toh(from->type);
    size = le64toh(size);
    if (memcmp(head, MAGIC, 4) || size > (uint64_t)(from->size - from->at - HEAD_SIZE))
        return false;
    if (!make_room(from, &from->packed, size, status) ||
        !read_all(from, from->packed.data, size, from->at + HEAD_SIZE, status))
        return false;
    if (shoal_crc32c(shoal_crc32c(0, head, 16), from->packed.data, size) != le32toh(crc))
        return false;
    from->at += HEAD_SIZE + (int64_t)size;
    return true;
}

/* Unpack what follows the first `plain` bytes of the record just read. */
static bool unpack(reader *from, size_t plain, shoal_status *status)
{
    const buffer *packed = &from->packed;
    cursor begin = {packed->data + plain, packed->n - plain, false, false};
    const uint64_t size = (uint64_t)get_int(&begin);
    bool good = !begin.bad && shoal_pack_can_be(begin.left, size);
    if (good && !make_room(from, &from->payload, plain + size, status))
        return false;
    if (plain && good)
        memcpy(from->payload.data, packed->data, plain);
    const shoal_status unpacked = good ? shoal_unpack(begin.data, begin.left, from->payload.data + plain, size)
                                       : SHOAL_E_INPUT;
    if (unpacked == SHOAL_E_MEMORY)
        *status = shoal_fail(from->context, SHOAL_E_MEMORY, "%s: out of memory", from->path);
    else if (unpacked)
        *status = shoal_fail(from->context, SHOAL_E_INPUT,
                             "%s: the record of type %u before byte %lld makes no sense: it cannot be unpacked",
                             from->path, (unsigned)from->type, (long long)from->at);
    return unpacked == SHOAL_OK;
}

/* Read the next record; false when there is no further good one, and *status set if the disk or memory failed or the
 * record makes no sense. */
static bool next_record(reader *from, shoal_status *status)
{
    if (!next_packed(from, status))
        return false;
    cursor begin = {from->packed.data, from->packed.n, false, false};
    const bool is_header = from->type == RECORD_HEADER;
    const int64_t version = is_header ? get_int(&begin) : 0;
    if (is_header && !begin.bad && version > 6 && version <= VERSION)
        return unpack(from, sizeof version, status);
    if (from->type & PACKED) {
        from->type &= ~PACKED;
        return unpack(from, 0, status);
    }
    const buffer plain = from->packed;
    from->packed = from->payload;
    from->payload = plain;
    return true;
}

static void release_reader(reader *from)
{
    release_payload(&from->payload);
    release_payload(&from->packed);
}

/* Start reading: the header record is in the payload afterwards. */
static shoal_status reader_start(shoal_context *context, const char *path, int fd, reader *from)
{
    shoal_status status = SHOAL_OK;
    struct stat about;
    *from = (reader){.context = context, .path = path, .fd = fd};
    if (fstat(fd, &about))
        return shoal_fail(context, SHOAL_E_FILE, "%s: cannot read the journal: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return shoal_fail(context, SHOAL_E_INPUT, "%s: not a journal: not a regular file", path);
    from->size = about.st_size;
    if (from->size == 0)
        return shoal_fail(context, SHOAL_E_INPUT,
                          "%s: the journal is empty: if its run was killed, run it again with --force", path);
    if (next_record(from, &status) && from->type == RECORD_HEADER)
        return SHOAL_OK;
    char magic[4] = "";
    if (!status && (!read_all(from, magic, sizeof magic, 0, &status) || memcmp(magic, MAGIC, sizeof magic)) && !status)
        return shoal_fail(context, SHOAL_E_INPUT, "%s: not a journal", path);
    return status ? status
                  : shoal_fail(context, SHOAL_E_INPUT, "%s: the journal's header is cut short or damaged", path);
}

/* Where a restart goes on: after the last checkpoint, or after the header if there is none. passing: bytes before that
 * which count until the next checkpoint; NULL: not asked for. To be called after reader_start; ends with the reader
 * after the header again. */
static shoal_status find_restart(reader *from, int64_t *restart, int64_t *passing)
{
    shoal_status status = SHOAL_OK;
    const int64_t after_header = from->at;
    int64_t all = 0;
    *restart = after_header;
    for (int64_t at = from->at; next_packed(from, &status); at = from->at) {
        all += is_passing(from->type) ? from->at - at : 0;
        if ((from->type & ~PACKED) != RECORD_CHECKPOINT)
            continue;
        *restart = from->at;
        if (passing)
            *passing = all;
    }
    from->at = after_header;
    return status;
}

shoal_status shoal_journal_open(shoal_context *context, const char *path, shoal_journal **journal)
{
    *journal = NULL;
    reader from = {0};
    layout fields;
    shoal_result *begun = NULL;
    shoal_journal *made = NULL;
    shoal_status status = journal_start(context, path, 0, &made);
    if (status)
        goto fail;
    status = reader_start(context, path, made->fd, &from);
    if (status)
        goto fail;
    cursor header = {from.payload.data, from.payload.n, false, false};
    status = get_header(context, &header, path, &begun, &fields);
    if (status)
        goto fail;
    made->n_systems = begun->n_systems;
    made->n_bodies = begun->n_bodies;
    made->n_columns = begun->n_columns;
    shoal_result_destroy(&begun);
    if (fields.version != VERSION) {
        status = shoal_fail(context, SHOAL_E_INPUT,
                            "%s: journal format %lld, of an older shoal; this program (%s) writes format %d: it can be "
                            "read (shoal query), but the run cannot go on",
                            path, (long long)fields.version, SHOAL_VERSION, VERSION);
        goto fail;
    }
    if (!is_own_layout(&fields)) {
        status = shoal_fail(context, SHOAL_E_INPUT,
                            "%s: the journal has other fields than this program (%s) writes: it can be read "
                            "(shoal query), but the run cannot go on",
                            path, SHOAL_VERSION);
        goto fail;
    }
    status = find_restart(&from, &made->length, &made->passing);
    if (status)
        goto fail;
    if (ftruncate(made->fd, made->length)) {
        status = journal_error(made, "cannot cut the journal after its last checkpoint");
        goto fail;
    }
    release_reader(&from);
    *journal = made;
    return SHOAL_OK;
fail:
    release_reader(&from);
    shoal_journal_close(&made);
    return status;
}

/* What a record of rows is about: how many there are, and of which log. */
static shoal_status describe_record(const reader *from, shoal_record *record, uint32_t type)
{
    enum { FIRST = 16 };
    int64_t numbers[2] = {0};
    cursor begin = {from->packed.data, from->packed.n, false, false};
    record->packed = (from->type & PACKED) != 0;
    record->n_unpacked = record->packed ? get_int(&begin) : (int64_t)from->packed.n;
    unsigned char *bytes = record->packed && shoal_pack_can_be(begin.left, (size_t)record->n_unpacked)
                               ? malloc((size_t)record->n_unpacked + 1)
                               : NULL;
    size_t n_used;
    if (bytes && !shoal_unpack_first(begin.data, begin.left, bytes, (size_t)record->n_unpacked, FIRST, &n_used))
        begin = (cursor){bytes, FIRST, false, false};
    else
        begin.bad = record->packed;
    const bool is_log = type == RECORD_LOGGED;
    get_items(&begin, numbers, is_log ? 2 : 1, sizeof *numbers);
    free(bytes);
    record->n = (long)numbers[is_log];
    record->table = type == RECORD_SNAPSHOTS ? SHOAL_ROWS_SNAPSHOTS
                    : type == RECORD_EVENTS  ? SHOAL_ROWS_EVENTS
                                             : SHOAL_ROWS_LOGS + (int)numbers[0];
    return !begin.bad && record->n >= 0 && record->n <= record->n_unpacked / 8
               ? SHOAL_OK
               : shoal_fail(from->context, SHOAL_E_FILE, "%s: the record of type %u before byte %lld makes no sense",
                            from->path, (unsigned)type, (long long)from->at);
}

shoal_status shoal_journal_list(const shoal_journal *journal, shoal_record **records, long *n_records)
{
    shoal_status status = SHOAL_OK;
    reader from = {.context = journal->context, .path = journal->path, .fd = journal->fd, .size = journal->length};
    long n = 0, room = 0;
    *records = NULL;
    while (!status && next_packed(&from, &status)) {
        const uint32_t type = from.type & ~PACKED;
        if (type != RECORD_SNAPSHOTS && type != RECORD_EVENTS && type != RECORD_LOGGED)
            continue;
        room = n < room ? room : 2 * room + 64;
        shoal_record *more = realloc(*records, (size_t)room * sizeof *more);
        if (!more) {
            status = shoal_fail(journal->context, SHOAL_E_MEMORY, "%s: out of memory", journal->path);
            break;
        }
        *records = more;
        more[n] = (shoal_record){.at = from.at - (int64_t)from.packed.n, .size = (int64_t)from.packed.n};
        status = describe_record(&from, &more[n], type);
        n++;
    }
    if (!status && from.at != from.size)
        status = shoal_fail(journal->context, SHOAL_E_FILE, "%s: the journal was damaged since it was written",
                            journal->path);
    release_reader(&from);
    if (status) {
        free(*records);
        *records = NULL;
    }
    *n_records = n;
    return status;
}

/* Memory for n bytes; what it held is lost. */
static bool reserve(unsigned char **bytes, size_t *room, size_t n)
{
    if (n <= *room)
        return true;
    free(*bytes);
    *bytes = malloc(n);
    *room = *bytes ? n : 0;
    return *bytes != NULL;
}

shoal_status shoal_journal_piece(const shoal_journal *journal, shoal_record *record, size_t n, shoal_piece *piece)
{
    enum { SIZE = 8 };
    const reader from = {.context = journal->context, .path = journal->path, .fd = journal->fd};
    const size_t systems = shoal_record_head(record) + 8 * (size_t)record->n;
    const bool few = record->packed && n <= systems && record->n_systems_packed > 0;
    const size_t size = few ? (size_t)record->n_systems_packed : record->packed ? (size_t)record->size - SIZE : n;
    size_t n_used = 0;
    shoal_status status = SHOAL_OK;
    if (n > (size_t)record->n_unpacked)
        return shoal_fail(journal->context, SHOAL_E_FILE, "%s: a record is too short", journal->path);
    if (!reserve(&piece->bytes, &piece->room, (size_t)record->n_unpacked + 1) ||
        (record->packed && !reserve(&piece->packed, &piece->packed_room, size + 1)))
        return shoal_fail(journal->context, SHOAL_E_MEMORY, "%s: out of memory", journal->path);
    unsigned char *to = record->packed ? piece->packed : piece->bytes;
    const bool good = read_all(&from, to, size, record->at + (record->packed ? SIZE : 0), &status) &&
                      (!record->packed ||
                       !shoal_unpack_first(to, size, piece->bytes, (size_t)record->n_unpacked, n, &n_used));
    if (good && n == systems)
        record->n_systems_packed = (int64_t)n_used;
    return good || status
               ? status
               : shoal_fail(journal->context, SHOAL_E_FILE, "%s: a record cannot be unpacked", journal->path);
}

bool shoal_journal_is_stale(const shoal_journal *journal)
{
    enum { SOME = 1 << 16 };
    return journal->passing > (journal->length - journal->passing) / 4 + SOME;
}

shoal_status shoal_journal_copy(const shoal_journal *journal, const char *path, shoal_journal **copy)
{
    shoal_journal *made = NULL;
    shoal_status status = journal_start(journal->context, path, O_CREAT | O_EXCL, &made);
    reader from = {.context = journal->context, .path = journal->path, .fd = journal->fd, .size = journal->length};
    *copy = NULL;
    if (status)
        return status;
    made->n_systems = journal->n_systems;
    made->n_bodies = journal->n_bodies;
    made->n_columns = journal->n_columns;
    while (!status && next_packed(&from, &status))
        if (!is_passing(from.type) && !write_parts(made, from.type, &from.packed, from.packed.n))
            status = journal_error(made, cannot_append);
    if (!status && from.at != from.size)
        status = shoal_fail(journal->context, SHOAL_E_FILE, "%s: the journal was damaged since it was written",
                            journal->path);
    release_reader(&from);
    if (status) {
        unlink(path);
        shoal_journal_close(&made);
        return status;
    }
    *copy = made;
    return SHOAL_OK;
}

/* What is read of a journal. */
typedef struct reading {
    void **state; /* the last checkpoint, and nothing after it; NULL: all rows */
    size_t *size;
    long *n_snapshots; /* rows of snapshots, events and logs are left out, those of snapshots counted; NULL: they are
                          read */
} reading;

/* The record just read, into the result. *n_begun: systems that have begun. */
static shoal_status get_record(const reader *from, shoal_result *result, const layout *fields, const reading *what,
                               long *n_begun)
{
    shoal_context *context = from->context;
    cursor record = {from->payload.data, from->payload.n, false, false};
    shoal_status status = SHOAL_OK;
    const uint32_t type = from->type;
    if (what->n_snapshots && (type == RECORD_SNAPSHOTS || type == RECORD_EVENTS || type == RECORD_LOGGED)) {
        *what->n_snapshots += type == RECORD_SNAPSHOTS ? (long)get_int(&record) : 0;
        return SHOAL_OK;
    }
    switch (type) {
    case RECORD_SYSTEMS: get_systems(&record, result, fields); break;
    case RECORD_SNAPSHOTS: status = get_more(context, &record, result, fields, SHOAL_FIELD_SNAPSHOT); break;
    case RECORD_EVENTS: status = get_more(context, &record, result, fields, SHOAL_FIELD_EVENT); break;
    case RECORD_LOGGED: status = get_logged(context, &record, result); break;
    case RECORD_KEPT: status = get_kept(context, &record, result); break;
    case RECORD_BEGUN: get_begun(&record, result, fields, n_begun); break;
    case RECORD_CHECKPOINT:
    case RECORD_PROGRESS: record.left = 0; break;
    default: record.bad = true;
    }
    return status || !(record.bad || record.left)
               ? status
               : shoal_fail(context, SHOAL_E_INPUT, "%s: the record of type %u before byte %lld makes no sense",
                            from->path, (unsigned)from->type, (long long)from->at);
}

static shoal_status read_journal(shoal_context *context, const char *path, const reading *what, shoal_result **result)
{
    void **state = what->state;
    reader from = {.fd = -1};
    layout fields;
    shoal_result *made = NULL;
    void *checkpoint = NULL;
    size_t checkpoint_size = 0;
    shoal_status status = SHOAL_OK;
    *result = NULL;
    if (state) {
        *state = NULL;
        *what->size = 0;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is refused, not waited for */
    if (fd < 0)
        return shoal_fail(context, SHOAL_E_FILE, "%s: cannot open the journal: %s", path, strerror(errno));
    status = reader_start(context, path, fd, &from);
    if (status)
        goto fail;
    cursor header = {from.payload.data, from.payload.n, false, false};
    status = get_header(context, &header, path, &made, &fields);
    if (status)
        goto fail;
    int64_t end = from.size;
    long n_begun = fields.version > 5 ? 0 : made->n_systems;
    if (state)
        status = find_restart(&from, &end, NULL);
    if (status)
        goto fail;
    while (from.at < end && next_record(&from, &status)) {
        status = get_record(&from, made, &fields, what, &n_begun);
        if (status)
            goto fail;
        if (from.type == RECORD_CHECKPOINT && state && from.at == end) {
            checkpoint = from.payload.data; /* the last one: hand the memory over */
            checkpoint_size = from.payload.n;
            from.payload = (buffer){0};
        }
    }
    if (status)
        goto fail;
    if (!state)
        shoal_result_blank(made, n_begun, made->n_systems - n_begun);
    if (fields.version < 4)
        status = shoal_result_take_old_transits(context, made);
    if (!status)
        status = shoal_result_check(context, made, path);
    if (status)
        goto fail;
    release_reader(&from);
    close(fd);
    if (state) {
        *state = checkpoint;
        *what->size = checkpoint_size;
    }
    *result = made;
    return SHOAL_OK;
fail:
    release_reader(&from);
    free(checkpoint);
    close(fd);
    shoal_result_destroy(&made);
    return status;
}

shoal_status shoal_journal_read(shoal_context *context, const char *path, shoal_result **result, void **state,
                                size_t *size)
{
    return read_journal(context, path, &(reading){state, size, NULL}, result);
}

shoal_status shoal_journal_resume(shoal_context *context, const char *path, shoal_result **result, void **state,
                                  size_t *size, long *n_snapshots)
{
    *n_snapshots = 0;
    return read_journal(context, path, &(reading){state, size, n_snapshots}, result);
}

shoal_status shoal_journal_glance(shoal_context *context, const char *path, shoal_journal_pace *pace)
{
    shoal_status status = SHOAL_OK;
    struct stat about;
    reader from = {.context = context, .path = path, .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    *pace = (shoal_journal_pace){0};
    if (from.fd < 0 || fstat(from.fd, &about)) {
        status = shoal_fail(context, SHOAL_E_FILE, "%s: cannot read the journal: %s", path, strerror(errno));
        goto fail;
    }
    unsigned char head[HEAD_SIZE];
    for (bool first = true;; first = false) {
        uint32_t type = 0;
        uint64_t size = 0;
        const bool there = S_ISREG(about.st_mode) && about.st_size - from.at >= HEAD_SIZE &&
                           read_all(&from, head, sizeof head, from.at, &status) && !memcmp(head, MAGIC, 4);
        if (there) {
            memcpy(&type, head + 4, 4);
            memcpy(&size, head + 8, 8);
        }
        size = le64toh(size);
        if (!there || size > (uint64_t)(about.st_size - from.at - HEAD_SIZE)) {
            if (first && !status)
                status = shoal_fail(context, SHOAL_E_INPUT, "%s: not a journal", path);
            break;
        }
        double numbers[3];
        unsigned char bytes[sizeof numbers];
        if (le32toh(type) == RECORD_PROGRESS && size == sizeof numbers &&
            read_all(&from, bytes, sizeof bytes, from.at + HEAD_SIZE, &status)) {
            cursor record = {bytes, sizeof bytes, false, false};
            get_items(&record, numbers, SHOAL_COUNT(numbers), sizeof *numbers);
            *pace = (shoal_journal_pace){numbers[0], numbers[1], numbers[2], pace->kept};
        }
        if ((le32toh(type) & ~PACKED) == RECORD_CHECKPOINT) /* its progress is right before it */
            pace->kept = pace->fraction;
        from.at += HEAD_SIZE + (int64_t)size;
    }
fail:
    if (from.fd >= 0)
        close(from.fd);
    return status;
}
