/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * energy_error.c: what the world knows of energy_error.kern.h.
 */
#include <math.h>

#include "core/ensemble/ensemble.h"
#include "monitors/energy_error.kern.h"

static const shoal_parameter parameters[energy_error_PARAMETERS] = {
    [ENERGY_ERROR_EVERY] = {"every", SHOAL_INTEGER, "", 10, 1, 1e9, NULL, "look at every so-many-th step"},
    [ENERGY_ERROR_STOP_ABOVE] = {"stop_above", SHOAL_REAL, "", 1e300, 0, 1e300, NULL,
                                 "a system whose error passes this ends as `inaccurate`; default: none"},
};

static const double initial[energy_error_SLOTS] = {
    [ENERGY_ERROR_DUE] = NAN, [ENERGY_ERROR_START] = NAN, [ENERGY_ERROR_LARGEST] = -1};

static double largest(const double *slots, const double *p)
{
    (void)p;
    return slots[ENERGY_ERROR_LARGEST] >= 0 ? slots[ENERGY_ERROR_LARGEST] : NAN;
}

static void begin(const shoal_ensemble *ensemble, long system, double *slots)
{
    shoal_system record;
    shoal_ensemble_get_system(ensemble, system, &record);
    slots[ENERGY_ERROR_DUE] = record.energy_start + record.energy_jump;
    slots[ENERGY_ERROR_START] = fabs(record.energy_start);
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
