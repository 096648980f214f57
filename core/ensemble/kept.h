/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kept.h: what a later run needs of systems to go on beyond the end of this one: a row of doubles each.
 * core/plan/keep.c says what is in a row.
 */
#ifndef SHOAL_KEPT_H
#define SHOAL_KEPT_H

#include "core/base/base.h"

typedef struct shoal_kept {
    long n;          /* rows */
    int width;       /* doubles of a row, 0 = nothing is kept */
    char *layout;    /* what these are; malloc'd, NULL = "" */
    int64_t *system; /* [n] index of the system */
    double *row;     /* [n][width] */
} shoal_kept;

/* Make room for n rows in all; on failure nothing is lost. */
shoal_status shoal_kept_reserve(shoal_context *context, shoal_kept *kept, long n);
/* Sort the rows by system; each has one at most. */
shoal_status shoal_kept_sort(shoal_context *context, shoal_kept *kept);
/* The row of a system among rows first..n-1, which are sorted; NULL: it has none. */
double *shoal_kept_find(const shoal_kept *kept, long first, long system);
void shoal_kept_release(shoal_kept *kept);

#endif
