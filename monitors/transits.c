/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * transits.c: what the world knows of transits.kern.h.
 */
#include <math.h>

#include "core/ensemble/ensemble.h"

static const shoal_parameter parameters[] = {
    {"star", SHOAL_BODY, "", 0, -1, SHOAL_MAX_BODIES - 1, NULL, "whose transits"},
    {"log", SHOAL_BOOLEAN, "", 1, 0, 1, NULL, "each is an event of the result; else they are counted alone"},
};

/* how many; the first, the first difference; sums of d, i d, d^2 */
static const double nothing[] = {0, 0, 0, 0, 0, 0};

/* The line d = c + slope i through the points (i, d_i), i = 0..n-1. */
static double slope(const double *s)
{
    const double n = s[0];
    return (s[4] - (n - 1) / 2 * s[3]) * 12 / (n * (n * n - 1));
}

static double count(const double *s, const double *p)
{
    (void)p;
    return s[0];
}

static double first(const double *s, const double *p)
{
    (void)p;
    return s[0] > 0 ? s[1] : NAN;
}

static double period(const double *s, const double *p)
{
    (void)p;
    return s[0] > 1 ? fabs(s[2] + slope(s)) : NAN;
}

static double scatter(const double *s, const double *p)
{
    (void)p;
    const double n = s[0], mean = s[3] / n, of_line = slope(s);
    return n > 2 ? sqrt(fmax(0, s[5] / n - mean * mean - of_line * of_line * (n * n - 1) / 12)) : NAN;
}

static const shoal_monitor_column columns[] = {
    {"transits", "", "how many transits of a body were seen", count, SHOAL_OF_EACH},
    {"transit_first", "time", "the first of them", first, SHOAL_OF_EACH},
    {"transit_period", "time", "mean period: the slope of a straight line through the times of its transits", period,
     SHOAL_OF_EACH},
    {"ttv_rms", "time", "root mean square of the differences from that line: transit timing variations", scatter,
     SHOAL_OF_EACH},
};

const shoal_monitor shoal_monitor_transits = {
    .name = "transits",
    .doc = "logs every transit of a body before its star: time, sky-plane distance and speed; and how much their times "
           "vary (TTV)",
    .reference = "Fabrycky 2010, arXiv:1006.3834; Deck et al. 2014, ApJ 787, 132 (TTVFast)",
    .parts = SHOAL_BODIES,
    .n_part_slots = SHOAL_COUNT(nothing),
    .part_initial = nothing,
    .records = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
};
