/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mean_motion_drift.c: what the world knows of mean_motion_drift.kern.h.
 */
#include <math.h>

#include "core/ensemble/ensemble.h"
#include "monitors/mean_motion_drift.kern.h"

static const shoal_parameter parameters[mean_motion_drift_PARAMETERS] = {
    [DRIFT_BODY] = {"body", SHOAL_BODY, "", -1, -1, 1e6, NULL,
                    "the body whose mean motion is watched (default: the last)"},
    [DRIFT_EVERY] = {"every", SHOAL_INTEGER, "", 1, 1, 1e9, NULL, "look at every so-many-th step"},
};

static const double initial[mean_motion_drift_SLOTS] = {0};

static const char *refuses(const double *p, const shoal_ensemble *ensemble)
{
    (void)ensemble;
    return p[DRIFT_BODY] == 0 ? "body 0 is what the others move about: it has no mean motion" : NULL;
}

/* Of a part of the second half the average has the periodic terms, which are no drift. */
static double drift(const double *slots, const double *p)
{
    const double whole = 0.98; /* looks that are few, or unlike steps, make the weights of whole halves differ */
    (void)p;
    if (!(slots[DRIFT_WEIGHT_2] > whole * slots[DRIFT_WEIGHT_1]) || slots[DRIFT_WEIGHT_2] == 0)
        return NAN;
    double first = slots[DRIFT_MOTION_1] / slots[DRIFT_WEIGHT_1],
           second = slots[DRIFT_MOTION_2] / slots[DRIFT_WEIGHT_2];
    return fabs(second - first) / first;
}

static double first_half(const double *slots, const double *p)
{
    (void)p;
    return slots[DRIFT_WEIGHT_1] > 0 ? slots[DRIFT_MOTION_1] / slots[DRIFT_WEIGHT_1] : NAN;
}

static const shoal_monitor_column columns[] = {
    {"mean_motion_drift", "",
     "relative change of the mean motion between the halves of the run, |n2 - n1| / n1 (1: unbound since); empty where "
     "the second half is cut short",
     drift, SHOAL_OF_SYSTEM},
    {"mean_motion", "angular velocity",
     "mean motion, radians per time, averaged over the first half of the run, or what there is of it; unbound: 0",
     first_half, SHOAL_OF_SYSTEM},
};

const shoal_monitor shoal_monitor_mean_motion_drift = {
    .name = "mean_motion_drift",
    .doc = "chaos indicator: drift of a body's averaged Jacobi mean motion between the two halves of the run",
    .reference = "after Laskar 1990, Icarus 88, 266",
    .ends_only = true,
    .whole_run = true,
    .n_slots = SHOAL_COUNT(initial),
    .initial = initial,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
    .refuses = refuses,
};
