/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * closest_approach.c: what the world knows of closest_approach.kern.h.
 */
#include <math.h>

#include "core/ensemble/ensemble.h"
#include "monitors/closest_approach.kern.h"

static const shoal_parameter parameters[closest_approach_PARAMETERS] = {
    [CLOSEST_CENTRAL] = {"central", SHOAL_BOOLEAN, "", 0, 0, 1, NULL, "pairs with the central body, too"},
};

static const double nothing[closest_approach_PART_SLOTS] = {INFINITY, NAN, NAN, NAN, INFINITY, NAN, NAN, NAN};

#define COLUMN(name, value)                              \
    static double name(const double *s, const double *p) \
    {                                                    \
        (void)p;                                         \
        return s[CLOSEST_D2] < INFINITY ? (value) : NAN; \
    }
COLUMN(distance, sqrt(s[CLOSEST_D2]))
COLUMN(hill, s[CLOSEST_HILL] > 0 ? sqrt(s[CLOSEST_D2]) / s[CLOSEST_HILL] : NAN)
COLUMN(moment, s[CLOSEST_TIME])
COLUMN(body_a, floor(s[CLOSEST_PAIR] / 1000))
COLUMN(body_b, fmod(s[CLOSEST_PAIR], 1000))

static const shoal_monitor_column columns[] = {
    {"min_separation", "length", "least distance of all pairs, within the steps", distance, SHOAL_OF_LEAST},
    {"min_separation_hill", "", "that distance in mutual Hill radii of the pair, then", hill, SHOAL_OF_LEAST},
    {"min_separation_time", "time", "when that was", moment, SHOAL_OF_LEAST},
    {"min_separation_body_a", "", "index of a body of that pair", body_a, SHOAL_OF_LEAST},
    {"min_separation_body_b", "", "index of the other one", body_b, SHOAL_OF_LEAST},
    {"closest", "length", "least distance of a pair (in systems of up to 8 bodies)", distance, SHOAL_OF_EACH},
    {"closest_hill", "", "that distance in mutual Hill radii of the pair, then", hill, SHOAL_OF_EACH},
    {"closest_time", "time", "when that was", moment, SHOAL_OF_EACH},
};

const shoal_monitor shoal_monitor_closest_approach = {
    .name = "closest_approach",
    .doc = "the closest approach of every pair of planets, or of bodies, swept within the step; with stop_on_collision "
           "no nearer than where they touch",
    .reference = "mutual Hill radius: Chambers, Wetherill & Boss 1996, Icarus 119, 261",
    .parts = SHOAL_PAIRS,
    .n_part_slots = SHOAL_COUNT(nothing),
    .part_initial = nothing,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
};
