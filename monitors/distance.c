/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * distance.c: what the world knows of distance.kern.h.
 */
#include <math.h>

#include "core/ensemble/ensemble.h"
#include "monitors/distance.kern.h"

static const shoal_parameter parameters[distance_PARAMETERS] = {
    [DISTANCE_FIRST] = {"first", SHOAL_BODY, "", 0, -1, 1e6, NULL, "one body (default: the central one)"},
    [DISTANCE_SECOND] = {"second", SHOAL_BODY, "", -1, -1, 1e6, NULL, "the other body (default: the last)"},
    [DISTANCE_EVERY] = {"every", SHOAL_INTEGER, "", 1, 1, 1e9, NULL, "look at every so-many-th step"},
};

static const char *refuses(const double *p, const shoal_ensemble *ensemble)
{
    (void)ensemble;
    return p[DISTANCE_FIRST] == p[DISTANCE_SECOND] ? "first and second are two bodies" : NULL;
}

static const double initial[distance_SLOTS] = {
    [DISTANCE_LEAST] = INFINITY, [DISTANCE_LARGEST] = -INFINITY, [DISTANCE_FROM] = NAN};

#define COLUMN(name, value)                              \
    static double name(const double *s, const double *p) \
    {                                                    \
        (void)p;                                         \
        return isnan(s[DISTANCE_FROM]) ? NAN : (value);  \
    }
COLUMN(least, s[DISTANCE_LEAST])
COLUMN(largest, s[DISTANCE_LARGEST])

static double mean(const double *s, const double *p)
{
    const double time = s[DISTANCE_TO] - s[DISTANCE_FROM], bend = s[DISTANCE_BEND] / time;
    (void)p;
    if (time == 0) /* one look */
        return s[DISTANCE_LAST];
    return s[DISTANCE_INTEGRAL] / time + (fabs(bend) < 0.25 * (s[DISTANCE_LARGEST] - s[DISTANCE_LEAST]) ? bend : 0);
}

static const shoal_monitor_column columns[] = {
    {"distance_min", "length", "least distance of the two at the ends of steps", least, SHOAL_OF_SYSTEM},
    {"distance_max", "length", "largest distance of the two", largest, SHOAL_OF_SYSTEM},
    {"distance_mean", "length", "distance of the two averaged over the time from the first look to the last", mean,
     SHOAL_OF_SYSTEM},
};

const shoal_monitor shoal_monitor_distance = {
    .name = "distance",
    .doc = "least, largest and mean distance of two bodies, at the steps that it looks at (closest_approach: within "
           "steps)",
    .reference = "",
    .ends_only = true,
    .n_slots = SHOAL_COUNT(initial),
    .initial = initial,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
    .refuses = refuses,
};
