/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * amd.c: what the world knows of amd.kern.h.
 */
#include <math.h>

#include "core/ensemble/ensemble.h"
#include "monitors/amd.kern.h"

static const shoal_parameter parameters[amd_PARAMETERS] = {
    [AMD_EVERY] = {"every", SHOAL_INTEGER, "", 10, 1, 1e9, NULL, "look at every so-many-th step"},
};

static const double initial[amd_SLOTS] = {[AMD_FIRST] = NAN, [AMD_LEAST] = INFINITY, [AMD_LARGEST] = -INFINITY};

#define CIRCLES 1e-13 /* a deficit below this is that of circles in one plane, and of roundings */

static double first(const double *slots, const double *p)
{
    (void)p;
    return isnan(slots[AMD_FIRST]) ? NAN : fmax(slots[AMD_FIRST], 0);
}

static double change(const double *slots, const double *p)
{
    (void)p;
    if (!(slots[AMD_FIRST] >= CIRCLES))
        return NAN;
    return fmax(slots[AMD_LARGEST] - slots[AMD_FIRST], slots[AMD_FIRST] - slots[AMD_LEAST]) / slots[AMD_FIRST];
}

static const shoal_monitor_column columns[] = {
    {"amd", "", "angular momentum deficit over the total angular momentum, at the first look with all orbits bound",
     first, SHOAL_OF_SYSTEM},
    {"amd_change", "",
     "largest relative change of that since then, at looks with all orbits bound, and by what changes the total, such "
     "as removals; empty where amd is below 1e-13",
     change, SHOAL_OF_SYSTEM},
};

const shoal_monitor shoal_monitor_amd = {
    .name = "amd",
    .doc = "the angular momentum deficit of the Jacobi orbits, and the largest change of it",
    .reference = "Laskar 1997, A&A 317, L75",
    .ends_only = true,
    .n_slots = SHOAL_COUNT(initial),
    .initial = initial,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
};
