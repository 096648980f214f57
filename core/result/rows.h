/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * rows.h: the rows of snapshots, events and logs, read from a journal in the order that they have in a result file. So
 * they need not be in memory.
 */
#ifndef SHOAL_ROWS_H
#define SHOAL_ROWS_H

#include "core/result/result.h"

/* ---- journal.c: records of rows ---------------------------------------------------------------------------------- */

/* A table of rows. */
enum { SHOAL_ROWS_SNAPSHOTS, SHOAL_ROWS_EVENTS, SHOAL_ROWS_LOGS /* the first of the logs */ };

/* A record of rows in a journal. */
typedef struct shoal_record {
    int64_t at, size; /* of its payload, in the file */
    int64_t n_unpacked;
    long n; /* rows */
    int table;
    bool packed;
    int64_t n_systems_packed; /* bytes of the payload in the file that hold the systems; 0: not known yet */
} shoal_record;

/* Bytes that grow. */
typedef struct shoal_piece {
    unsigned char *packed, *bytes;
    size_t packed_room, room;
} shoal_piece;

/* All records of rows of a journal that this process writes, malloc'd. Their checksums are checked. */
shoal_status shoal_journal_list(const shoal_journal *journal, shoal_record **records, long *n_records);
/* The first n bytes of an unpacked payload at least, to piece->bytes. They begin with the rows' numbers of systems,
 * after shoal_record_head bytes. */
shoal_status shoal_journal_piece(const shoal_journal *journal, shoal_record *record, size_t n, shoal_piece *piece);
static inline size_t shoal_record_head(const shoal_record *record)
{
    return record->table < SHOAL_ROWS_LOGS ? 8 : 16;
}

/* ---- rows.c ------------------------------------------------------------------------------------------------------ */

typedef struct shoal_rows shoal_rows;

/* The rows that are in a journal now. result: of this journal; both are borrowed. at_end: each system that has survived
 * has its final state as a last snapshot, which is not in the journal. */
shoal_status shoal_rows_open(shoal_context *context, const shoal_journal *journal, const shoal_result *result,
                             bool at_end, shoal_rows **rows);
void shoal_rows_close(shoal_rows **rows);
/* Go to a table. *n: how many rows it has. */
shoal_status shoal_rows_select(shoal_rows *rows, int table, long *n);
/* Rows first..first+n-1 of a column of the table: of the fields of that kind in their order, or of a log's columns. */
shoal_status shoal_rows_fill(shoal_rows *rows, int column, long first, long n, void *to);
/* Whether the last snapshots are made of this array of the result. rows: NULL: no. */
bool shoal_rows_need(const shoal_rows *rows, const void *array);
/* Whether a log is in the journal. */
bool shoal_rows_has_log(const shoal_rows *rows, int l);

#endif
