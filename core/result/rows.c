/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * rows.c: the rows of snapshots, events and logs, read from a journal in the order that they have in a result file.
 *
 * A journal has rows as they came. In the file the snapshots are sorted by how many of their system's are before them,
 * their rank, and then by system; events and logs by system and then by rank. So the place of a row follows from its
 * system, its rank and the number of rows of every system. Who writes the file asks for a part of a column at a time.
 * Each time all records are gone through, but of those without a row in the part only the systems are unpacked, which
 * take next to nothing.
 *
 * Memory: a few numbers for every system and every record, and of snapshots one for every row of the part's ranks.
 */
#include "core/result/rows.h"

#include <endian.h>
#include <stdlib.h>

#define NOWHERE UINT32_MAX /* a place that is not in the part */

enum { MOST_PART = 1 << 30 }; /* rows */

struct shoal_rows {
    shoal_context *context;
    const shoal_journal *journal;
    const shoal_result *result;
    bool at_end;
    int n_logs;
    shoal_record *records;
    long n_records;
    shoal_piece piece;
    uint32_t *place; /* [n_place] of rows in the part, or NOWHERE */
    size_t n_place;
    /* of the selected table */
    int table;
    long n;
    int64_t *count, *seen; /* [n_systems] rows of a system; those that came by */
    int64_t *begin;        /* [n_systems] events and logs: place of the first row */
    int64_t *rank;         /* [n_ranks + 1] snapshots: place of the first row */
    long n_ranks;
};

static shoal_status no_memory(const shoal_rows *rows)
{
    return shoal_fail(rows->context, SHOAL_E_MEMORY, "out of memory for the rows of a result");
}

shoal_status shoal_rows_open(shoal_context *context, const shoal_journal *journal, const shoal_result *result,
                             bool at_end, shoal_rows **rows)
{
    const size_t n = (size_t)result->n_systems;
    shoal_rows *made = calloc(1, sizeof *made);
    *rows = NULL;
    if (!made)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the rows of a result");
    *made = (shoal_rows){.context = context,
                         .journal = journal,
                         .result = result,
                         .at_end = at_end,
                         .n_logs = result->n_logs,
                         .table = -1};
    made->count = malloc(n * sizeof *made->count);
    made->seen = malloc(n * sizeof *made->seen);
    made->begin = malloc(n * sizeof *made->begin);
    shoal_status status = made->count && made->seen && made->begin
                              ? shoal_journal_list(journal, &made->records, &made->n_records)
                              : no_memory(made);
    if (status)
        shoal_rows_close(&made);
    *rows = made;
    return status;
}

void shoal_rows_close(shoal_rows **rows)
{
    shoal_rows *old = *rows;
    *rows = NULL;
    if (!old)
        return;
    free(old->records);
    free(old->piece.packed);
    free(old->piece.bytes);
    free(old->place);
    free(old->count);
    free(old->seen);
    free(old->begin);
    free(old->rank);
    free(old);
}

bool shoal_rows_has_log(const shoal_rows *rows, int l)
{
    return l < rows->n_logs;
}

bool shoal_rows_need(const shoal_rows *rows, const void *array)
{
    return rows && rows->at_end &&
           (array == rows->result->outcome || array == rows->result->t_final || array == rows->result->final);
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* A column of the selected table: bytes of an item, items of a row. NULL: a log's. */
static const shoal_field *column_field(const shoal_rows *rows, int column)
{
    const int when = rows->table == SHOAL_ROWS_EVENTS ? SHOAL_FIELD_EVENT : SHOAL_FIELD_SNAPSHOT;
    for (int f = 0; rows->table < SHOAL_ROWS_LOGS && f < shoal_result_n_fields; f++)
        if ((shoal_result_fields[f].when & when) && column-- == 0)
            return &shoal_result_fields[f];
    return NULL;
}

static size_t item_size(const shoal_rows *rows, int column)
{
    const shoal_field *field = column_field(rows, column);
    return field ? shoal_field_item_size(field) : sizeof(double);
}

static size_t row_size(const shoal_rows *rows, int column)
{
    const shoal_field *field = column_field(rows, column);
    return field ? shoal_field_item_size(field) * shoal_field_row_items(field, rows->result) : sizeof(double);
}

/* Numbers of `size` bytes each, from little-endian. */
static void to_host(unsigned char *bytes, size_t n_bytes, size_t size)
{
    for (size_t i = 0; __BYTE_ORDER != __LITTLE_ENDIAN && i < n_bytes; i += size)
        for (size_t k = 0; k < size / 2; k++) {
            const unsigned char byte = bytes[i + k];
            bytes[i + k] = bytes[i + size - 1 - k];
            bytes[i + size - 1 - k] = byte;
        }
}

/* The bytes of a column in a record; they stay until the next call. NULL: *status says why. */
static unsigned char *get_column(shoal_rows *rows, shoal_record *record, int column, shoal_status *status)
{
    const size_t n = (size_t)record->n;
    size_t begin = shoal_record_head(record);
    for (int c = 0; c < column; c++)
        begin += n * row_size(rows, c);
    const size_t n_bytes = n * row_size(rows, column);
    *status = shoal_journal_piece(rows->journal, record, begin + n_bytes, &rows->piece);
    if (*status)
        return NULL;
    to_host(rows->piece.bytes + begin, n_bytes, item_size(rows, column));
    return rows->piece.bytes + begin;
}

/* The system of row i; -1: there is none. systems: as get_column gave them. */
static int64_t system_of(const shoal_rows *rows, const unsigned char *systems, long i)
{
    int64_t system;
    double number;
    memcpy(&system, systems + i * 8, 8);
    memcpy(&number, systems + i * 8, 8);
    if (rows->table >= SHOAL_ROWS_LOGS)
        system = number >= 0 && number < (double)rows->result->n_systems ? (int64_t)number : -1;
    return system >= 0 && system < rows->result->n_systems ? system : -1;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static bool has_last(const shoal_rows *rows, long system)
{
    return rows->at_end && rows->table == SHOAL_ROWS_SNAPSHOTS && rows->result->outcome[system] == SHOAL_SURVIVED;
}

/* The place of the first row of each rank. */
static shoal_status find_ranks(shoal_rows *rows)
{
    const long n_systems = rows->result->n_systems;
    rows->n_ranks = 0;
    for (long s = 0; s < n_systems; s++)
        rows->n_ranks = rows->count[s] > rows->n_ranks ? (long)rows->count[s] : rows->n_ranks;
    free(rows->rank);
    rows->rank = calloc((size_t)rows->n_ranks + 1, sizeof *rows->rank);
    if (!rows->rank)
        return no_memory(rows);
    int64_t *const next = rows->rank + 1;
    for (long s = 0; s < n_systems; s++)
        if (rows->count[s] > 0)
            next[rows->count[s] - 1]++; /* systems with so many rows; */
    for (long r = rows->n_ranks - 2; r >= 0; r--)
        next[r] += next[r + 1]; /* those that have one of the rank; */
    for (long r = 1; r < rows->n_ranks; r++)
        next[r] += next[r - 1]; /* rows up to the next rank */
    return SHOAL_OK;
}

shoal_status shoal_rows_select(shoal_rows *rows, int table, long *n)
{
    const long n_systems = rows->result->n_systems;
    shoal_status status = SHOAL_OK;
    *n = rows->n;
    if (rows->table == table)
        return SHOAL_OK;
    rows->table = table;
    rows->n = 0;
    memset(rows->count, 0, (size_t)n_systems * sizeof *rows->count);
    for (long k = 0; k < rows->n_records && !status; k++) {
        shoal_record *record = &rows->records[k];
        const unsigned char *systems = record->table == table ? get_column(rows, record, 0, &status) : NULL;
        for (long i = 0; systems && i < record->n; i++) {
            const int64_t system = system_of(rows, systems, i);
            if (system < 0)
                return shoal_fail(rows->context, SHOAL_E_FILE, "a row of the journal is of no system");
            rows->count[system]++;
        }
        rows->n += systems ? record->n : 0;
    }
    for (long s = 0; s < n_systems && !status; s++)
        if (has_last(rows, s)) {
            rows->count[s]++;
            rows->n++;
        }
    for (long s = 0, at = 0; s < n_systems && !status; s++) {
        rows->begin[s] = at;
        at += rows->count[s];
    }
    if (!status && table == SHOAL_ROWS_SNAPSHOTS)
        status = find_ranks(rows);
    *n = rows->n;
    return status;
}

static bool reserve_places(shoal_rows *rows, size_t n)
{
    if (n <= rows->n_place)
        return true;
    uint32_t *place = realloc(rows->place, n * sizeof *place);
    if (!place)
        return false;
    rows->place = place;
    rows->n_place = n;
    return true;
}

/* What is asked for: rows first..end-1, of snapshots those of the ranks low..high. */
typedef struct part {
    long first, end, low, high;
} part;

/* Of snapshots: the places of all rows of the ranks of a part, those of a system in a row, from begin[system] on. */
static shoal_status find_places(shoal_rows *rows, part *of)
{
    const long n_systems = rows->result->n_systems;
    of->low = of->high = 0;
    while (of->low + 1 < rows->n_ranks && rows->rank[of->low + 1] <= of->first)
        of->low++;
    for (of->high = of->low; of->high + 1 < rows->n_ranks && rows->rank[of->high + 1] < of->end;)
        of->high++;
    const size_t n_ranks = (size_t)(of->high - of->low + 1);
    int64_t *next = malloc(n_ranks * sizeof *next);
    if (!next || !reserve_places(rows, (size_t)(rows->rank[of->high + 1] - rows->rank[of->low]))) {
        free(next);
        return no_memory(rows);
    }
    memcpy(next, rows->rank + of->low, n_ranks * sizeof *next);
    for (long s = 0, at = 0; s < n_systems; s++) {
        rows->begin[s] = at;
        for (long r = of->low; r <= of->high && r < rows->count[s]; r++) {
            const int64_t place = next[r - of->low]++;
            rows->place[at++] = place >= of->first && place < of->end ? (uint32_t)(place - of->first) : NOWHERE;
        }
    }
    free(next);
    return SHOAL_OK;
}

/* The place in a part of a system's next row, or NOWHERE. */
static uint32_t next_place(shoal_rows *rows, const part *of, int64_t system)
{
    const int64_t rank = rows->seen[system]++;
    if (rows->table == SHOAL_ROWS_SNAPSHOTS)
        return rank >= of->low && rank <= of->high ? rows->place[rows->begin[system] + rank - of->low] : NOWHERE;
    const int64_t place = rows->begin[system] + rank;
    return place >= of->first && place < of->end ? (uint32_t)(place - of->first) : NOWHERE;
}

/* ---- a part of a column ------------------------------------------------------------------------------------------ */

/* The rows of a record that are in the part. */
static shoal_status fill_from_record(shoal_rows *rows, const part *of, shoal_record *record, int column,
                                     unsigned char *to)
{
    const size_t size = row_size(rows, column);
    shoal_status status = SHOAL_OK;
    const unsigned char *bytes = get_column(rows, record, 0, &status);
    uint32_t *place = bytes ? calloc((size_t)record->n + 1, sizeof *place) : NULL;
    bool any = false;
    if (!place)
        return status ? status : no_memory(rows);
    for (long i = 0; i < record->n; i++) {
        place[i] = next_place(rows, of, system_of(rows, bytes, i));
        any = any || place[i] != NOWHERE;
    }
    if (any)
        bytes = get_column(rows, record, column, &status);
    for (long i = 0; i < record->n && any && bytes; i++)
        if (place[i] != NOWHERE)
            memcpy(to + place[i] * size, bytes + (size_t)i * size, size);
    free(place);
    return status;
}

/* The final states. */
static void fill_last(shoal_rows *rows, const part *of, int column, unsigned char *to)
{
    const shoal_result *result = rows->result;
    const size_t size = row_size(rows, column);
    for (int64_t s = 0; s < result->n_systems; s++) {
        const uint32_t place = has_last(rows, s) ? next_place(rows, of, s) : NOWHERE;
        const void *from = column == 0   ? (const void *)&s
                           : column == 1 ? result->t_final + s
                                         : result->final + (size_t)s * (size_t)result->n_bodies * SHOAL_STATE;
        if (place != NOWHERE)
            memcpy(to + place * size, from, size);
    }
}

shoal_status shoal_rows_fill(shoal_rows *rows, int column, long first, long n, void *to)
{
    part of = {first, first + n, 0, 0};
    shoal_status status = SHOAL_OK;
    if (n <= 0)
        return SHOAL_OK;
    if (first < 0 || n > MOST_PART || first + n > rows->n)
        return shoal_fail(rows->context, SHOAL_E_INTERNAL, "rows %ld to %ld of %ld", first, of.end, rows->n);
    memset(rows->seen, 0, (size_t)rows->result->n_systems * sizeof *rows->seen);
    if (rows->table == SHOAL_ROWS_SNAPSHOTS)
        status = find_places(rows, &of);
    for (long k = 0; k < rows->n_records && !status; k++)
        if (rows->records[k].table == rows->table)
            status = fill_from_record(rows, &of, &rows->records[k], column, to);
    if (!status)
        fill_last(rows, &of, column, to);
    return status;
}
