/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * result.h: the results of a run, in memory, in a journal and in an HDF5 file.
 *
 * A field is an array with a row for each system, snapshot or event. An attribute is a single value of the whole run.
 * To add one, add a member to struct shoal_result and a line to the table in result.c.
 */
#ifndef SHOAL_RESULT_H
#define SHOAL_RESULT_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/base/base.h"
#include "core/ensemble/kept.h"

/* ---- result.c: the results in memory, in the user's units -------------------------------------------------------- */

typedef struct shoal_column {
    char name[SHOAL_COLUMN_SIZE];
    char unit[32];
    char doc[160];
    double *value; /* [n_systems], NaN = empty */
} shoal_column;

/* The table of what a monitor logged. Its first columns are the system (its row in /systems) and the time. */
typedef struct shoal_log {
    char path[SHOAL_COLUMN_SIZE]; /* in the HDF5 file: "/log/NAME" */
    int n_columns;
    shoal_column *columns; /* [n_rows] values each */
    long n_rows;
} shoal_log;

/* Units of a log's column that has indices. */
#define SHOAL_UNIT_ROW     "row"     /* of /systems */
#define SHOAL_UNIT_BODY    "body"    /* -1 = none */
#define SHOAL_UNIT_OUTCOME "outcome" /* enum shoal_outcome */

/* The log of run.certify: some systems as they ended in the run and in three more. Its columns: system, time, outcome,
 * n_final of the run; then outcome_NAME, n_final_NAME, t_stop_NAME of each of the others; dE_final, dE_final_NAME; with
 * the monitor megno also megno, megno_NAME. */
#define SHOAL_CERTIFY_LOG "certify"
enum { SHOAL_CERTIFY_SHADOW, SHOAL_CERTIFY_HALF, SHOAL_CERTIFY_OTHER, SHOAL_CERTIFY_RUNS };
extern const char *const shoal_certify_names[SHOAL_CERTIFY_RUNS];
/* The doc of a column outcome_NAME: what is other than in the run stands behind it. */
#define SHOAL_CERTIFY_DOC "how it ended with "

typedef struct shoal_axis {
    char column[SHOAL_COLUMN_SIZE]; /* the swept column */
    long count;
    bool logarithmic;
} shoal_axis;

#define SHOAL_MAX_AXES 8

/* Everything of a result file. State arrays: [system][body][7] m x y z vx vy vz, in the inertial frame of the input. */
struct shoal_result {
    char *config_text; /* as it was run, overrides applied */
    char *plan_line;
    char version[32];
    char epoch[64]; /* what time zero is, as the config says */
    shoal_units units;
    int64_t seed;
    long n_systems;
    int n_bodies;
    char (*body_name)[SHOAL_NAME_SIZE]; /* [n_bodies] */
    /* the grid of a sweep: systems are in the order of the grid, the last axis fastest; n_axes = 0: no grid */
    int n_axes;
    shoal_axis axes[SHOAL_MAX_AXES];
    /* per system */
    int64_t *id;
    int *outcome;
    int *n_live;
    int *n_final; /* bodies left at the end */
    int *body_a, *body_b;
    double *t_stop;
    double *dE_final;
    double *n_steps;
    double *t_initial, *t_final;
    double *radius; /* [n_systems][n_bodies] at the start; NULL = all 0; in no journal */
    double *
        begin; /* [n_systems][shoal_result_begin_width], for a longer run of a study of files; in no journal; or NULL */
    double *initial, *final; /* [n_systems][n_bodies][7]; final is NaN until the system has ended */
    int n_columns;
    shoal_column *columns; /* swept parameters first, then what monitors computed */
    int n_swept;
    /* snapshots: the first ones of all systems, by system, then the second ones; during a run those that the journal
     * does not have yet, as they come */
    long n_snapshots;         /* rows */
    int64_t *snapshot_system; /* [n_snapshots] index of the system */
    double *snapshot_time;    /* [n_snapshots] */
    double *snapshot;         /* [n_snapshots][n_bodies][7] */
    /* events, by system and time; during a run as snapshots */
    long n_events;         /* rows */
    int64_t *event_system; /* [n_events] index of the system */
    double *event_time;
    int *event; /* enum shoal_outcome */
    int *event_a, *event_b;
    int *event_ended; /* 1: the system ended with it */
    double *event_m_a, *event_m_b, *event_distance, *event_speed, *event_dE;
    int n_logs;
    shoal_log *logs; /* their rows are ordered as events */
    shoal_kept kept; /* of the systems that came to the end: what a longer run goes on from; sorted by system */
    bool complete;   /* false: read from the journal of a run that has not ended */
    /* only if a program opened it (shoal_result_open) */
    shoal_context *context;
    char velocity_name[40];
};

#define SHOAL_STATE 7 /* m x y z vx vy vz */

/* Allocate per-system arrays (outcome running, states NaN) and n_columns empty columns. */
shoal_status shoal_result_create(shoal_context *context, long n_systems, int n_bodies, int n_columns,
                                 shoal_result **result);
/* The same without values: memory that nobody has written takes no room. blank: give rows these values, but where they
 * are known before the systems begin (shoal_field_is_known, swept columns). */
shoal_status shoal_result_allocate(shoal_context *context, long n_systems, int n_bodies, int n_columns,
                                   shoal_result **result);
void shoal_result_blank(shoal_result *result, long first, long n);
void shoal_result_destroy(shoal_result **result);
/* Compare the bits of two systems: initial state, end, columns. Returns the name of what differs, or NULL. */
const char *shoal_result_difference(const shoal_result *a, long row_a, const shoal_result *b, long row_b);
/* The bodies of a state that are still there, in inner units: fills bodies, and which (their indices) unless it is
 * NULL. Returns their number. */
int shoal_result_bodies(const shoal_result *result, long system, const double *state, shoal_body *bodies, int *which);
/* How far apart two times of one snapshot may be; way: from the start of the run. */
static inline double shoal_result_same_time(double time, double way)
{
    return 1e-9 * way + 4 * DBL_EPSILON * fabs(time);
}
/* Doubles of a system in `begin`: eight for each body, their number, the barycentre. */
static inline int shoal_result_begin_width(const shoal_result *result)
{
    return 8 * result->n_bodies + 7;
}
/* Make room for radii, all 0. */
shoal_status shoal_result_add_radii(shoal_context *context, shoal_result *result);
/* radius [n_bodies]: those of the bodies in a state of a system, in the user's units, in a result whose events are
 * sorted; who is gone by a merger is a part of another one. NaN: the result is of a journal, which has none. */
void shoal_result_radii(const shoal_result *result, long s, const double *state, double *radius);
/* The first event of a system, or of a later one, in a result whose events are sorted. */
/* Whether the systems are all those of the grid, if there is one; a shard has a part of them. */
bool shoal_result_is_grid(const shoal_result *result);
long shoal_result_first_event(const shoal_result *result, long system);
/* Refused: the file is a copy by `shoal convert`, which has no run. */
shoal_status shoal_result_check_run(shoal_context *context, const shoal_result *result, const char *path);
/* Index of a column, -1 if there is none. */
int shoal_result_column(const shoal_result *result, const char *name);
/* Append an event, its numbers in the user's units. */
shoal_status shoal_result_append_event(shoal_context *context, shoal_result *result, const shoal_event *event);
/* Sort the events by system; those of a system keep their order. */
shoal_status shoal_result_sort_events(shoal_context *context, shoal_result *result);
/* to[i]: the place of row i when rows are sorted by system and rows of a system keep their order. */
shoal_status shoal_result_order(shoal_context *context, long n_systems, long n, const int64_t *system, size_t *to);
/* Sort the snapshots: the first ones of all systems, by system, then the second ones. */
shoal_status shoal_result_sort_snapshots(shoal_context *context, shoal_result *result);
/* Append n snapshot rows (grows the arrays). */
shoal_status shoal_result_append(shoal_context *context, shoal_result *result, long n, const int64_t *system,
                                 const double *time, const double *state);

/* ---- two tables of what is in a result: the file, the journal and the CSV printers share them -------------------- */

#define SHOAL_RESULT_VERSION 3 /* of the file; raised with every new field. 2 had transits among the events */

typedef enum shoal_field_type {
    SHOAL_FIELD_INT64,
    SHOAL_FIELD_ROW, /* int64, row of a system; its id in the CSV table */
    SHOAL_FIELD_INT,
    SHOAL_FIELD_OUTCOME, /* int, enum shoal_outcome */
    SHOAL_FIELD_INDEX,   /* int, a body's index, -1 = none */
    SHOAL_FIELD_DOUBLE,
    SHOAL_FIELD_STATES /* double [n_bodies][SHOAL_STATE] */
} shoal_field_type;

enum {
    SHOAL_FIELD_BEFORE = 1,   /* a row a system, known before the first step; it is in the journal's header */
    SHOAL_FIELD_AFTER = 2,    /* a row a system, known when the system has ended; it is in the journal's rows */
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
/* Whether every result has a field /systems/NAME. No column may have this name. */
bool shoal_result_has(const char *name);
extern const int shoal_result_n_fields;
extern const shoal_attribute shoal_result_attributes[];
extern const int shoal_result_n_attributes;

/* Whether a field of systems is known of all of them before the first one begins: what is given but for the states. */
static inline bool shoal_field_is_known(const shoal_field *field)
{
    return (field->when & SHOAL_FIELD_BEFORE) && field->type != SHOAL_FIELD_STATES;
}

/* Bytes of an item (int, int64_t, double); items of a row. */
size_t shoal_field_item_size(const shoal_field *field);
size_t shoal_field_row_items(const shoal_field *field, const shoal_result *result);

/* The array of a field. */
static inline void *shoal_field_data(const shoal_result *result, const shoal_field *field)
{
    void *data;
    memcpy(&data, (const char *)result + field->offset, sizeof data);
    return data;
}

/* The number of rows of snapshots or events. */
static inline long *shoal_result_rows(shoal_result *result, int when)
{
    return when & SHOAL_FIELD_EVENT ? &result->n_events : &result->n_snapshots;
}

/* The number of rows of a field. */
static inline long shoal_field_rows(const shoal_field *field, const shoal_result *result)
{
    return field->when & SHOAL_FIELD_EVENT      ? result->n_events
           : field->when & SHOAL_FIELD_SNAPSHOT ? result->n_snapshots
                                                : result->n_systems;
}

/* The capacity of a growing array with n rows in use. It follows from n, so it is not stored. */
size_t shoal_result_capacity(size_t n);
/* Make room for n rows of snapshots or events in all; the number in use does not change. On failure nothing is lost. */
shoal_status shoal_result_reserve(shoal_context *context, shoal_result *result, int when, long n);
/* Copy row k, of a system, a snapshot or an event, to a row of another result: the fields with a bit of `when`. */
void shoal_result_copy_row(shoal_result *to, long row, const shoal_result *from, long k, int when);

/* Rows of a field that a file has not got: empty. */
void shoal_result_clear(shoal_result *result, const shoal_field *field, size_t row, size_t n);

/* Refuse (E_INPUT) indices and outcomes that no run can have written. path: the file, for the message. */
shoal_status shoal_result_check(shoal_context *context, const shoal_result *result, const char *path);

/* ---- logs.c: what monitors logged -------------------------------------------------------------------------------- */

/* Where a log's name begins in its path. */
#define SHOAL_LOG_FOLDER "/log/"
static inline const char *shoal_log_name(const shoal_log *log)
{
    return log->path + sizeof SHOAL_LOG_FOLDER - 1;
}
/* Add a log without rows; its first two columns get their descriptions. The result's units must be set. */
shoal_status shoal_result_add_log(shoal_context *context, shoal_result *result, const char *name, int n_columns,
                                  shoal_log **log);
/* The log of that name; NULL: there is none. */
shoal_log *shoal_result_log(const shoal_result *result, const char *name);
/* Without effect if there is none of that name. */
void shoal_result_drop_log(shoal_result *result, const char *name);
/* The values of a column; NULL: there is none of that name. */
const double *shoal_log_values(const shoal_log *log, const char *column);
/* Make room for n rows in all; on failure nothing is lost. */
shoal_status shoal_log_reserve(shoal_context *context, shoal_log *log, long n);
/* Sort the rows of all logs by system; those of a system keep their order. */
shoal_status shoal_result_sort_logs(shoal_context *context, shoal_result *result);
/* Refuse (E_INPUT) a log with indices of systems or bodies that do not exist. */
shoal_status shoal_log_check(shoal_context *context, const shoal_result *result, const shoal_log *log,
                             const char *path);
/* In formats before 3 transits are events with an outcome of their own: turn them into the log "transits". */
shoal_status shoal_result_take_old_transits(shoal_context *context, shoal_result *result);
void shoal_result_free_logs(shoal_result *result);

/* ---- select.c: some systems of a result -------------------------------------------------------------------------- */

/* The systems of a query: those with ids first..last, both included (last = LONG_MAX: to the end), for whose row of the
 * systems table `where` is true: "COLUMN OP VALUE && ...", with OP one of < <= > >= == != and VALUE a number, an
 * outcome or a body. where = NULL: all. */
typedef struct shoal_selection {
    long first, last;
    const char *where;
} shoal_selection;
/* Find these systems: chosen [n_systems]. A `where` that cannot be read is refused. */
shoal_status shoal_select_systems(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                                  bool *chosen);

typedef enum shoal_query_state {
    SHOAL_QUERY_INITIAL,
    SHOAL_QUERY_FINAL,
    SHOAL_QUERY_TIME, /* the snapshots at one time */
    SHOAL_QUERY_TIMES /* all snapshots from..to */
} shoal_query_state;

/* row [n_systems]: the row of each system's snapshot nearest to the time; -1 if none is near enough or the system is
 * not chosen. chosen: [n_systems], NULL = all. Refused if no system has such a snapshot. */
shoal_status shoal_select_snapshots(shoal_context *context, const shoal_result *result, const bool *chosen, double time,
                                    long *row);
/* The code of an outcome. option: the option that has this word, for the message. */
shoal_status shoal_select_outcome(shoal_context *context, const char *option, const char *word, int *outcome);

/* ---- journal.c: append-only, checksummed, beside the result while a run goes on ---------------------------------- */

typedef struct shoal_journal shoal_journal;

/* Begin a journal at path; refused if it exists. Writes the header: all that is known of the result before the first
 * step (config, plan, units, names, axes, swept columns, logs) but the initial states. */
shoal_status shoal_journal_create(shoal_context *context, const char *path, const shoal_result *result,
                                  shoal_journal **journal);
/* Open an existing journal to continue from its last checkpoint, or from its header if it has none. What follows is cut
 * off, since the restart makes it again. Read the journal first, with state != NULL. Refused while another process has
 * it open for writing. */
shoal_status shoal_journal_open(shoal_context *context, const char *path, shoal_journal **journal);
/* Whether checkpoints and the like that later ones make useless are a fifth of the journal or more, a little apart. The
 * next checkpoint would be better in a copy. copy: begin a journal at path, refused if it exists, with all records of
 * another but these. Nothing of the other is on its way in the background (shoal_journal_finish). */
bool shoal_journal_is_stale(const shoal_journal *journal);
shoal_status shoal_journal_copy(const shoal_journal *journal, const char *path, shoal_journal **copy);
/* Give its file this name; who had it is replaced. */
shoal_status shoal_journal_rename(shoal_journal *journal, const char *path);
void shoal_journal_close(shoal_journal **journal);
/* Append the initial states of n systems, which begin. */
shoal_status shoal_journal_begun(shoal_journal *journal, const shoal_result *result, long first, long n);
/* Append the rows of systems that have ended; list: their indices in the result. */
shoal_status shoal_journal_systems(shoal_journal *journal, const shoal_result *result, const int *list, long n_list);
/* Append the snapshot rows first..n_snapshots-1 of the result. */
shoal_status shoal_journal_snapshots(shoal_journal *journal, const shoal_result *result, long first);
/* The same for event rows. */
shoal_status shoal_journal_events(shoal_journal *journal, const shoal_result *result, long first);
/* The same for rows of result->logs[l]. */
shoal_status shoal_journal_logged(shoal_journal *journal, const shoal_result *result, int l, long first);
/* The same for rows of result->kept. */
shoal_status shoal_journal_kept(shoal_journal *journal, const shoal_result *result, long first);
/* Append a checkpoint: an opaque state from which the run can continue. */
shoal_status shoal_journal_checkpoint(shoal_journal *journal, const void *state, size_t size);
/* How far a run has come. */
typedef struct shoal_journal_pace {
    double fraction; /* of its steps, done */
    double began;    /* that fraction when the process that runs it began */
    double seconds;  /* since then */
    double kept;     /* that fraction at the last checkpoint; only of a glance */
} shoal_journal_pace;
/* Append it: for shoal_journal_glance, not for the run that goes on. */
shoal_status shoal_journal_progress(shoal_journal *journal, const shoal_journal_pace *pace);
/* The last one in a journal, which may be in use: records are skimmed, not checked. All zero: there is none yet. */
shoal_status shoal_journal_glance(shoal_context *context, const char *path, shoal_journal_pace *pace);
/* Flush to the disk, so that all that was appended survives a kill. In the background mode this happens as soon as
 * possible. */
shoal_status shoal_journal_commit(shoal_journal *journal);
/* background: from now on a thread writes what is appended. The next call reports its errors. finish: wait for the
 * thread, and report its errors. */
shoal_status shoal_journal_background(shoal_journal *journal);
shoal_status shoal_journal_finish(shoal_journal *journal);
/* Read all committed records.
 *   state  out  the last checkpoint, malloc'd (NULL: there is none); results after it are dropped, since the restart
 *               makes them again, and rows of systems that have not begun are not blank. If state is NULL, all results
 *               are kept. */
shoal_status shoal_journal_read(shoal_context *context, const char *path, shoal_result **result, void **state,
                                size_t *size);

/* The same with state, for a run that goes on: without the rows of snapshots, events and logs. *n_snapshots: how many
 * of the first there are. */
shoal_status shoal_journal_resume(shoal_context *context, const char *path, shoal_result **result, void **state,
                                  size_t *size, long *n_snapshots);

/* ---- store.c: the HDF5 result file ------------------------------------------------------------------------------- */

/* Write to a temporary name beside path, then rename it, so that the file is complete or absent. */
shoal_status shoal_store_write(shoal_context *context, const char *path, const shoal_result *result);
/* The same, and destroy the result: as the file grows in memory, the arrays go. rows: of snapshots, events and logs
 * that are not in the result but in its journal (rows.h); NULL: they are in the result. */
struct shoal_rows;
shoal_status shoal_store_write_last(shoal_context *context, const char *path, struct shoal_rows *rows,
                                    shoal_result **result);
/* Read a result file; if it is absent, its journal (path + ".journal"). */
shoal_status shoal_store_read(shoal_context *context, const char *path, shoal_result **result);
/* The same without states, which are zero, and without the rows of snapshots, events and logs, but for those of the log
 * of run.certify. (A journal is read whole.) */
shoal_status shoal_store_read_systems(shoal_context *context, const char *path, shoal_result **result);
/* What is known of a result file without reading its rows. config: malloc'd. */
typedef struct shoal_store_head {
    bool complete;
    char version[32];
    char *config;
} shoal_store_head;
/* Refused if it is no result file of an ensemble. */
shoal_status shoal_store_glance(shoal_context *context, const char *path, shoal_store_head *head);
/* store_kept.c: what a longer run goes on from, of a result that was read from this file. Files of older versions, and
 * others by the user's wish, have not got it; with `must` they are refused. */
shoal_status shoal_store_read_kept(shoal_context *context, const char *path, bool must, shoal_result *result);
/* False if path is a file other than HDF5. */
bool shoal_store_is(const char *path);
/* Refuse to replace a file that is neither empty nor shoal's: it may be a study or a user's data, named by mistake. */
shoal_status shoal_store_spare(shoal_context *context, const char *path);
/* Name of the journal beside a result file; writes at most size bytes. */
void shoal_store_journal_path(const char *path, char *journal, size_t size);
/* Whether the first 8 bytes of a file are those of HDF5's, or of a result's. */
bool shoal_h5_begins(const void *begin);
/* Whether they are those of a file that shoal wrote. */
bool shoal_h5_is_block(const void *begin);
/* From now on HDF5 prints no errors, not even at exit about a damaged file that it could not close. */
void shoal_h5_quiet(void);

#endif
