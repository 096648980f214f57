/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plot.h: what the pictures of `shoal plot` share: their kinds and the way through gnuplot.
 *
 * To add a kind: a function that writes its gnuplot script, declared below, and a line in the table in plot_kinds.c.
 */
#ifndef SHOAL_PLOT_H
#define SHOAL_PLOT_H

#include "core/result/result.h"

typedef struct shoal_plot_options {
    const char *kind;   /* one of shoal_plot_kinds, NULL: what suits the result */
    const char *column; /* NULL: the first monitor column that is a chaos indicator, else t_stop; pairs: NAME,NAME... */
    int64_t system;     /* id of the system to draw, -1 = the first, or all */
    const char *picture; /* file to write, .pdf or PNG, NULL = none */
    bool spares;         /* refuse to replace a picture that is not ours */
    bool script;         /* print the gnuplot script instead */
    bool terminal;       /* draw a preview in text */
    bool colour;         /* ANSI colours */
    int width;           /* of the terminal preview in characters, 0 = 80 */
    bool linear;         /* plot the value itself, not its log10 */
    bool logarithmic;    /* plot log10 of any value */
    bool framed;         /* width or plane of a density are given */
} shoal_plot_options;
/* Options that only some kinds use. */
enum { SHOAL_PLOT_SYSTEM = 1, SHOAL_PLOT_COLUMN = 2, SHOAL_PLOT_SCALE = 4, SHOAL_PLOT_FRAME = 8 };
/* A kind of picture, as `shoal plot --kind` knows it. */
typedef struct shoal_plot_kind {
    const char *name, *doc;
    /* NULL: the map */
    shoal_status (*write)(shoal_context *, const shoal_result *, const shoal_plot_options *, FILE *script);
    unsigned uses; /* SHOAL_PLOT_SYSTEM ... */
} shoal_plot_kind;
extern const shoal_plot_kind shoal_plot_kinds[]; /* ends in {0} */
/* The kind of that name, with NULL the one that suits the result; NULL and a message if there is none. */
const shoal_plot_kind *shoal_plot_find(shoal_context *context, const shoal_result *result, const char *name);
/* Draw options->kind. */
shoal_status shoal_plot(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                        FILE *out);
/* Map of a column over the first two axes of a grid sweep; systems that ended early in the colour of their outcome. */
shoal_status shoal_plot_map(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                            FILE *out);
/* Refuse an option that is given to a kind that does not use it. */
shoal_status shoal_plot_check(shoal_context *context, const char *kind, unsigned uses,
                              const shoal_plot_options *options);
/* NULL if pictures can be made here (gnuplot), else a sentence. */
const char *shoal_plot_missing(void);

/* Refused: a result has no column of that name; others: [n_others] names that would do besides. */
shoal_status shoal_plot_no_column(shoal_context *context, const shoal_result *result, const char *wanted,
                                  const char *const *others, int n_others);

/* Widths of a journal's column and page. */
enum { SHOAL_COLUMN_MM = 85, SHOAL_PAGE_MM = 170 };

/* Write the script of a picture; what the result does not have is refused. */
typedef shoal_status shoal_plot_writer(shoal_context *context, const shoal_result *result,
                                       const shoal_plot_options *options, FILE *script);
shoal_plot_writer shoal_plot_survival, shoal_plot_bodies, shoal_plot_ends, shoal_plot_pairs, shoal_plot_energy,
    shoal_plot_elements, shoal_plot_orbits, shoal_plot_transits, shoal_plot_certify;

/* ---- plot.c ------------------------------------------------------------------------------------------------------ */

/* Run a script (or print it to out: options->script) and put its picture in place; closes the script. */
shoal_status shoal_plot_draw(shoal_context *context, FILE *script, const shoal_plot_options *options, FILE *out);
/* A string between single quotes, as gnuplot reads it. */
void shoal_plot_quote(FILE *script, const char *text);
/* Whether a file's name ends in .pdf. */
bool shoal_plot_is_pdf(const char *path);
/* "name [unit]", "log10 |name| [unit]". */
void shoal_plot_quantity(char *text, size_t size, const char *name, const char *unit, bool logarithm);
/* 0xrrggbb of an outcome. */
unsigned shoal_plot_outcome_colour(int outcome);

/* ---- plot_kinds.c ------------------------------------------------------------------------------------------------ */

/* The first lines of a script: a picture of that size, its fonts and lines as in print. */
void shoal_plot_begin(FILE *script, const shoal_plot_options *options, double width_mm, double height_mm);
/* "set xlabel 'time [yr]'": axis is x or y. */
void shoal_plot_label(FILE *script, char axis, const char *name, const char *unit);
/* Label and numbers of a linear axis of times, which are drawn in units of 1, 1e3, 1e6, ... and, where they are much
 * larger than their span, from a round one of them on. */
typedef struct shoal_plot_time {
    double from, unit;
    char of[64]; /* "(($1-from)/unit)" */
} shoal_plot_time;
shoal_plot_time shoal_plot_times(FILE *script, const shoal_result *result, double earliest, double latest);
/* Numbers of a logarithmic axis as powers of ten. */
void shoal_plot_logarithmic(FILE *script, char axis);
/* Of a logarithmic axis of few decades: 1, 2 and 5 times powers of ten. */
void shoal_plot_few_decades(FILE *script, char axis, double least, double most);
/* 1, 2 or 5 times a power of ten, not below x: from tic to tic. */
double shoal_plot_step(double x);
/* 0xrrggbb of the i-th thing of a picture. */
unsigned shoal_plot_colour(int i);
/* The row of options->system, of the first system by default. */
shoal_status shoal_plot_system(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                               long *row);

#endif
