/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * result.h: what is in a result, as two tables that the HDF5 file, the journal and the CSV printers share.
 *
 * A field is an array with one row a system, a snapshot or an event; an attribute is a single value of the whole run. To
 * add one: a member of struct shoal_result in internal.h and a line in the table in result.c. A new journal or store
 * version is needed for either (the journal writes the tables in order).
 */
#ifndef SHOAL_RESULT_H
#define SHOAL_RESULT_H

#include <string.h>

#include "internal.h"

typedef enum shoal_field_type {
    SHOAL_FIELD_INT64,
    SHOAL_FIELD_ROW,     /* int64, row of a system; its id in the CSV table */
    SHOAL_FIELD_INT,
    SHOAL_FIELD_OUTCOME, /* int, enum shoal_outcome */
    SHOAL_FIELD_INDEX,   /* int, a body's index, -1 = none */
    SHOAL_FIELD_DOUBLE,
    SHOAL_FIELD_STATES /* double [n_bodies][SHOAL_STATE] */
} shoal_field_type;

enum {
    SHOAL_FIELD_BEFORE = 1,  /* a row a system; known before the first step: in the journal's header */
    SHOAL_FIELD_AFTER = 2,   /* a row a system; known when the system has ended: in the journal's system rows */
    SHOAL_FIELD_SNAPSHOT = 4, /* a row a snapshot */
    SHOAL_FIELD_EVENT = 8     /* a row an event */
};

typedef struct shoal_field {
    const char *path; /* in the HDF5 file */
    const char *csv;  /* heading in the table of systems or events, NULL = not in it */
    shoal_field_type type;
    int when;              /* SHOAL_FIELD_* bits */
    const char *dimension; /* "time", "mass", "length", "velocity", "state" or "" */
    size_t offset;         /* of the array's pointer in struct shoal_result */
    const char *doc;
} shoal_field;

typedef enum shoal_attribute_type {
    SHOAL_ATTRIBUTE_TEXT, /* char *, malloc'd */
    SHOAL_ATTRIBUTE_WORD, /* char [size] */
    SHOAL_ATTRIBUTE_DOUBLE,
    SHOAL_ATTRIBUTE_INT64
} shoal_attribute_type;

typedef struct shoal_attribute {
    const char *name; /* in the HDF5 file */
    shoal_attribute_type type;
    size_t offset, size; /* of the member of struct shoal_result */
} shoal_attribute;

extern const shoal_field shoal_result_fields[];
/* Whether each result has a field /systems/NAME, so that no column may be called so. */
bool shoal_result_has(const char *name);
extern const int shoal_result_n_fields;
extern const shoal_attribute shoal_result_attributes[];
extern const int shoal_result_n_attributes;

/* Bytes of one item (int, int64_t, double), and items of one row. */
size_t shoal_field_item_size(const shoal_field *field);
size_t shoal_field_row_items(const shoal_field *field, const shoal_result *result);

/* The array of a field. */
static inline void *shoal_field_data(const shoal_result *result, const shoal_field *field)
{
    void *data;
    memcpy(&data, (const char *)result + field->offset, sizeof data);
    return data;
}

/* How many rows there are of snapshots or events. */
static inline long *shoal_result_rows(shoal_result *result, int when)
{
    return when & SHOAL_FIELD_EVENT ? &result->n_events : &result->n_snapshots;
}

/* Rows of a field. */
static inline long shoal_field_rows(const shoal_field *field, const shoal_result *result)
{
    return field->when & SHOAL_FIELD_EVENT      ? result->n_events
           : field->when & SHOAL_FIELD_SNAPSHOT ? result->n_snapshots
                                                : result->n_systems;
}

/* Make room for n rows of snapshots or events in all, the new ones not yet counted; on failure nothing is lost. */
shoal_status shoal_result_reserve(shoal_context *context, shoal_result *result, int when, long n);

/* Refuse (E_INPUT) what no run can have left: indices and outcomes out of range. path: the file it was read from. */
shoal_status shoal_result_check(shoal_context *context, const shoal_result *result, const char *path);

#endif
