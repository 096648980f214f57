/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plot_big.h: pictures of one big system, of its result file or of a snapshot.
 */
#ifndef SHOAL_PLOT_BIG_H
#define SHOAL_PLOT_BIG_H

#include "core/study/study.h"
#include "core/report/plot.h"

/* What there is to draw, in the user's units. */
typedef struct shoal_big_view {
    shoal_context *context;
    const char *path;
    shoal_big_record record; /* n_rows = 0: a snapshot */
    shoal_big_bodies bodies;
    char length[16], mass[16], time[16]; /* names of units, "" = none */
} shoal_big_view;

/* Pictures of a series are to be drawn alike: what the first one fixes. 0 and NaN = from the file. */
typedef struct shoal_big_frame {
    double half_width, centre[3]; /* of densities */
    bool chosen;                  /* the centre */
    double low, high;             /* of the colours: log10 of the surface density */
    int plane;                    /* 0 = xy, 1 = xz, 2 = yz */
} shoal_big_frame;

typedef struct shoal_big_kind {
    const char *name, *doc;
    bool of_rows;  /* it needs a result file */
    unsigned uses; /* SHOAL_PLOT_FRAME or none */
    shoal_status (*write)(const shoal_big_view *view, const shoal_plot_options *options, shoal_big_frame *frame,
                          FILE *script);
} shoal_big_kind;

extern const shoal_big_kind shoal_big_kinds[]; /* ends in {0} */

/* Whether a file is of one big system. */
bool shoal_big_view_is(const char *path);
shoal_status shoal_big_view_open(shoal_context *context, const char *path, shoal_big_view *view);
void shoal_big_view_close(shoal_big_view *view);
/* options->kind, or what suits the file; refused with the nearest name. */
shoal_status shoal_big_kind_find(const shoal_big_view *view, const char *name, const shoal_big_kind **kind);
/* Draw it, or print its script to out. */
shoal_status shoal_big_plot(const shoal_big_view *view, const shoal_big_kind *kind, const shoal_plot_options *options,
                            shoal_big_frame *frame, FILE *out);

#endif
