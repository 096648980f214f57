/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * energy_error.c: what the world knows of energy_error.kern.h.
 */
#include <math.h>

#include "core/ensemble/ensemble.h"

static const shoal_parameter parameters[] = {
    {"every", SHOAL_INTEGER, "", 10, 1, 1e9, NULL, "look at every so-many-th step"},
    {"stop_above", SHOAL_REAL, "", 1e300, 0, 1e300, NULL,
     "a system whose error passes this ends as `inaccurate`; default: none"},
};

static const double initial[] = {0, NAN, NAN, -1};

static double largest(const double *slots, const double *p)
{
    (void)p;
    return slots[3] >= 0 ? slots[3] : NAN;
}

static void begin(const shoal_ensemble *ensemble, long system, double *slots)
{
    shoal_system record;
    shoal_ensemble_get_system(ensemble, system, &record);
    slots[1] = record.energy_start + record.energy_jump;
    slots[2] = fabs(record.energy_start);
}

static const shoal_monitor_column columns[] = {
    {"dE_max", "", "largest |E - E(0)| / |E(0)|, less the jumps by mergers and removals", largest, SHOAL_OF_SYSTEM},
};

const shoal_monitor shoal_monitor_energy_error = {
    .name = "energy_error",
    .doc = "the largest error of Newton's energy, at the steps that it looks at; may end a system (inaccurate); not "
           "with extra forces",
    .reference = "Newton's energy, barycentric, each pair counted once",
    .ends_only = true,
    .n_slots = SHOAL_COUNT(initial),
    .initial = initial,
    .newton_only = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
    .begin = begin,
};
