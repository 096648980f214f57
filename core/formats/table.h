/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * table.h: systems of Cartesian bodies as they stand in a file, in the file's own units: what every reader of initial
 * conditions makes and every writer takes (csv.c, format_*.c, formats.c). A number that is not converted keeps its
 * bits.
 */
#ifndef SHOAL_TABLE_H
#define SHOAL_TABLE_H

#include <math.h>

#include "core/result/result.h"

/* A system: bodies first..first+n_bodies-1 of the table. */
typedef struct shoal_table_system {
    int64_t id;
    long line, first; /* line: where it begins, 0 = in no text */
    int n_bodies;
    double time;    /* NaN: the file does not say */
    char label[64]; /* what the file calls it, "" = nothing */
} shoal_table_system;

typedef struct shoal_table {
    shoal_context *context;
    const char *path;  /* borrowed; in messages */
    long line;         /* that is being read; in messages */
    shoal_units units; /* length = 0: the file does not say */
    char epoch[64];    /* what time zero is */
    bool times_differ; /* those of the systems, which the file does not say: they are NaN */
    char *config;      /* malloc'd: of the run that made them, or what is to be kept of it; NULL = none */
    shoal_body *bodies;
    long n_bodies, room_bodies;
    shoal_table_system *systems;
    long n_systems, room_systems;
    char (*names)[SHOAL_NAME_SIZE]; /* of body i of a system: the first one there was */
    long n_names, room_names;
    int *name_at; /* [n_name_at] hash table of them, 0 = free, else a body's number + 1 */
    long n_name_at;
    shoal_column *columns; /* [n_columns] numbers of the systems beside their bodies, each [n_systems] (columns.c) */
    int n_columns;
} shoal_table;

/* Refuse what stands in the current line: "FILE:LINE: WHAT = VALUE: expected FORMAT...". */
shoal_status shoal_table_fail(const shoal_table *table, const char *what, const char *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static inline shoal_status shoal_table_no_memory(const shoal_table *table)
{
    return shoal_fail(table->context, SHOAL_E_MEMORY, "%s: out of memory", table->path);
}

/* A system without bodies yet, then its bodies in order. A name that another body has, or that is empty or too long,
 * is refused; it counts only for the first system that has so many bodies. */
shoal_status shoal_table_add_system(shoal_table *table, int64_t id, double time);
shoal_status shoal_table_add_body(shoal_table *table, const char *name, const shoal_body *body);
/* End the last system, to which bodies were added without names: "body0", "body1", ... Refused if there are fewer
 * than two. */
shoal_status shoal_table_end_system(shoal_table *table);
/* Every system has two bodies at least and an id of its own. */
shoal_status shoal_table_check(const shoal_table *table);
void shoal_table_release(shoal_table *table);
/* Whether systems are at different times, by more than a rounding of the ends of `run.orbits`. */
bool shoal_table_times_differ(const shoal_table *table);

/* The same in other units; numbers whose unit stays keep their bits. */
void shoal_table_convert(shoal_table *table, const shoal_units *units);

/* columns.c: a further column, with name, unit and doc of another; its number for the last system, which is given once
 * for each system and column; a system in the place of an earlier one, with its numbers. */
shoal_status shoal_table_add_column(shoal_table *table, const shoal_column *like);
shoal_status shoal_table_add_number(shoal_table *table, int c, double value);
void shoal_table_move_system(shoal_table *table, long to, long from);
/* For shoal_table_convert and shoal_table_release. Columns in no unit, and angles, stay. */
void shoal_table_convert_columns(shoal_table *table, const shoal_units *to);
void shoal_table_release_columns(shoal_table *table);

/* A result in which no step was made: initial and final states are the table's. */
shoal_status shoal_table_to_result(const shoal_table *table, shoal_result **result);
/* The initial or final states of a result, or its snapshots at a time, of those systems that are chosen [n_systems].
 * Systems that have none are left out (refused: all), bodies that are gone too: those behind them move up, and bear
 * the names of their places. keep_gone: they stay, without a state (NaN), for shoal_table_to_result. */
shoal_status shoal_table_from_result(const shoal_result *result, const bool *chosen, shoal_query_state which,
                                     double time, bool keep_gone, shoal_table *table);

/* A text file that is read line by line into table->line. */
typedef struct shoal_lines {
    shoal_table *table;
    FILE *in;
    char *text; /* the current line, without its end */
    size_t size;
    char comment; /* lines that begin with it are skipped, 0 = none */
    char *at;     /* the next word in the line */
    long strange; /* the first line with control characters, 0 = none */
    int error;    /* errno, where a line could not be read: the close tells */
} shoal_lines;

shoal_status shoal_lines_open(shoal_lines *lines, shoal_table *table, const char *path);
/* False at the end. */
bool shoal_lines_next(shoal_lines *lines);
/* The next word, in this line or a later one, NULL at the end. */
char *shoal_lines_word(shoal_lines *lines);
/* It as a finite number, or refuse it as one that `what` should be. */
shoal_status shoal_lines_number(shoal_lines *lines, const char *what, double *value);
/* Cut the line at commas (shoal_cut), or refuse it if its quotes are wrong. */
shoal_status shoal_lines_cut(shoal_lines *lines, char *cells[], int limit, int *n);
/* Closes the file; status, or what went wrong in reading. Control characters are refused: they are no text, a zero ends
 * one early, and others steer a terminal. */
shoal_status shoal_lines_close(shoal_lines *lines, shoal_status status);

/* Cut a line at commas, outside of quotes (RFC 4180); spaces around cells go. Returns the number of cells, of which
 * at most `limit` are kept; -1 if a quote does not end, or not before a comma. */
int shoal_cut(char *line, char *cells[], int limit);
/* The same at blanks, of which several are one. */
int shoal_cut_blanks(char *line, char *cells[], int limit);
/* A finite number that fills the text (Fortran's exponents too); false if it is none. */
bool shoal_number(const char *text, double *value);

/* csv.c: see there. times: a column `time` is allowed, and empty numbers are. */
shoal_status shoal_csv_table(shoal_table *table, const char *path, bool times);
shoal_status shoal_csv_write(const shoal_table *table, FILE *out);
/* Columns of a CSV with a heading: names of those wanted, [n]; bare: [n] those that are angles in a unit that nobody
 * named (SHOAL_STRANGE_ANGLE), NULL: none is; values: [*n_rows][n], malloc'd. */
shoal_status shoal_csv_columns(shoal_context *context, const char *path, int n, const char *const names[],
                               const bool bare[], double **values, long *n_rows);

/* ---- formats.c, format_*.c: formats of files --------------------------------------------------------------------- */

/* A mass that the user gives for a body, by its name or number. */
typedef struct shoal_given_mass {
    const char *name;
    size_t length; /* of the name */
    double mass;   /* Msun */
} shoal_given_mass;

/* What bodies of a file may be. */
#define SHOAL_COMPONENTS "gas|dark|stars"

typedef struct shoal_convert_options {
    shoal_query_state which; /* of a result file */
    double time;             /* for SHOAL_QUERY_TIME: of a snapshot, or the Julian date of a vector */
    double central_mass;     /* Msun, NaN = not given */
    double epoch;            /* BJD, NaN = not given */
    const char *host;        /* one star of a catalogue, NULL = all */
    const char *where;       /* those systems of a result file (shoal_selection), NULL = all */
    const shoal_given_mass *masses;
    int n_masses;
    int components; /* bits of SHOAL_COMPONENTS, of formats that have them; 0 = all */
    bool keep_gone; /* of a result file: bodies that are gone keep their places, which forces name */
    FILE *notes;    /* what a reader assumed or left out, a line each */
} shoal_convert_options;

typedef enum shoal_radii { SHOAL_RADII_ALL, SHOAL_RADII_OF_PLANETS, SHOAL_RADII_NONE } shoal_radii;

typedef struct shoal_format {
    const char *name;
    const char *ends;                  /* of file names that mean it, "" = none */
    const char *doc;                   /* one line, with the units */
    bool (*is)(const char *begin);     /* the file begins like one of these; NULL: see is_file */
    bool (*is_file)(const char *path); /* of those that are HDF5 files, which begin alike */
    /* systems from one file, or from n_files that belong together if `many` */
    shoal_status (*read)(shoal_table *table, int n_files, char *const *files, const shoal_convert_options *options);
    bool many;
    /* a table that is in its units already; NULL = is only read */
    shoal_status (*write)(const shoal_table *table, FILE *out);
    const char *units; /* of what is written, NULL = any */
    bool natural;      /* it does not say its units; by custom G = 1 in them */
    bool components;   /* it says which bodies are gas, dark or stars */
    bool outcomes;     /* it has a table of systems and what became of them */
    shoal_radii radii; /* that it keeps */
    /* whether what is written says that time 0 is this epoch; NULL: it never says what time 0 is */
    bool (*dates)(const char *epoch);
} shoal_format;

extern const shoal_format shoal_format_swarm, shoal_format_mercury, shoal_format_exoplanets, shoal_format_horizons,
    shoal_format_gadget, shoal_format_big, shoal_format_tipsy, shoal_format_tipsy_little, shoal_format_phigrape;

/* Whether an HDF5 file is a snapshot of GADGET's. */
bool shoal_gadget_is(const char *path);

extern const shoal_format *const shoal_formats[]; /* NULL after the last */

/* By name (refused with the nearest one), by the end of a file's name (NULL if it says nothing), by content
 * (refused). */
shoal_status shoal_format_named(shoal_context *context, const char *name, const shoal_format **format);
const shoal_format *shoal_format_by_end(const char *file);
shoal_status shoal_format_of(shoal_context *context, const char *file, const shoal_format **format);

/* Write through a temporary name beside path: the file is complete or not there. Refused for a table without
 * systems. */
shoal_status shoal_table_write(const shoal_table *table, const char *path,
                               shoal_status (*write)(const shoal_table *table, FILE *out));

/* "star", "planet1", ... where a file has no names. */
const char *shoal_table_name(int body, char name[SHOAL_NAME_SIZE]);

#endif
