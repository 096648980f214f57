/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * transits.c: what the world knows of transits.kern.h.
 */
#include <math.h>

#include "core/ensemble/ensemble.h"
#include "monitors/transits.kern.h"

static const shoal_parameter parameters[transits_PARAMETERS] = {
    [TRANSITS_STAR] = {"star", SHOAL_BODY, "", 0, -1, SHOAL_MAX_BODIES - 1, NULL, "whose transits"},
    [TRANSITS_LOG] = {"log", SHOAL_BOOLEAN, "", 1, 0, 1, NULL, "each is a row of the log; else they are counted alone"},
};

static const double nothing[transits_PART_SLOTS] = {0};

/* The line d = c + slope i through the points (i, d_i), i = 0..n-1. */
static double slope(const double *s)
{
    const double n = s[TRANSITS_COUNT];
    return (s[TRANSITS_SUM_I] - (n - 1) / 2 * s[TRANSITS_SUM]) * 12 / (n * (n * n - 1));
}

static double count(const double *s, const double *p)
{
    (void)p;
    return s[TRANSITS_COUNT];
}

static double first(const double *s, const double *p)
{
    (void)p;
    return s[TRANSITS_COUNT] > 0 ? s[TRANSITS_FIRST] : NAN;
}

static double period(const double *s, const double *p)
{
    (void)p;
    return s[TRANSITS_COUNT] > 1 ? fabs(s[TRANSITS_PERIOD] + slope(s)) : NAN;
}

static double scatter(const double *s, const double *p)
{
    (void)p;
    const double n = s[TRANSITS_COUNT], mean = s[TRANSITS_SUM] / n, of_line = slope(s);
    return n > 2 ? sqrt(fmax(0, s[TRANSITS_SUM_2] / n - mean * mean - of_line * of_line * (n * n - 1) / 12)) : NAN;
}

static const shoal_monitor_column columns[] = {
    {"transits", "", "how many transits of a body were seen", count, SHOAL_OF_EACH},
    {"transit_first", "time", "the first of them", first, SHOAL_OF_EACH},
    {"transit_period", "time", "mean period: the slope of a straight line through the times of its transits", period,
     SHOAL_OF_EACH},
    {"ttv_rms", "time", "root mean square of the differences from that line: transit timing variations", scatter,
     SHOAL_OF_EACH},
};

static const shoal_log_column log_columns[transits_LOG_COLUMNS] = {
    [TRANSITS_OF] = {"body", SHOAL_DIMENSION_BODY, "which passes"},
    [TRANSITS_BEFORE] = {"star", SHOAL_DIMENSION_BODY, "before which it passes"},
    [TRANSITS_DISTANCE] = {"distance", "length", "between the two then, in the sky plane"},
    [TRANSITS_SPEED] = {"speed", "velocity", "of one relative to the other then, in the sky plane"},
};

const shoal_monitor shoal_monitor_transits = {
    .name = "transits",
    .doc = "logs every transit of a body before its star: time, sky-plane distance and speed; and how much their times "
           "vary (TTV)",
    .reference = "Fabrycky 2010, arXiv:1006.3834; Deck et al. 2014, ApJ 787, 132 (TTVFast)",
    .parts = SHOAL_BODIES,
    .n_part_slots = transits_PART_SLOTS,
    .part_initial = nothing,
    .log = log_columns,
    .n_log = transits_LOG_COLUMNS,
    .parameters = parameters,
    .n_parameters = transits_PARAMETERS,
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
};
