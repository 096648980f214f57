/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * element_range.c: what the world knows of element_range.kern.h.
 */
#include <math.h>

#include "core/ensemble/ensemble.h"
#include "monitors/element_range.kern.h"

static const shoal_parameter parameters[element_range_PARAMETERS] = {
    [ELEMENT_RANGE_ELEMENTS] = {"elements", SHOAL_CHOICE, "", 0, 0, 1, "jacobi|astrocentric",
                                "what the orbits refer to"},
    [ELEMENT_RANGE_EVERY] = {"every", SHOAL_INTEGER, "", 10, 1, 1e9, NULL, "look at every so-many-th step"},
};

static const double initial[element_range_SLOTS] = {0};
static const double nothing[element_range_PART_SLOTS] = {INFINITY, -INFINITY, INFINITY, -INFINITY, INFINITY, -INFINITY};

static bool is_seen(const double *s)
{
    return s[ELEMENT_RANGE_A] <= s[ELEMENT_RANGE_A + 1];
}

static double axis(double inverse)
{
    return inverse > 0 ? 1 / inverse : INFINITY;
}

/* On a straight line through the focus there is none, and no look has set these. */
static double inclination(double half_tilt)
{
    return isinf(half_tilt) ? NAN : 2 * asin(sqrt(fmin(fmax(half_tilt, 0), 1)));
}

#define COLUMN(name, value)                              \
    static double name(const double *s, const double *p) \
    {                                                    \
        (void)p;                                         \
        return is_seen(s) ? (value) : NAN;               \
    }
COLUMN(a_min, axis(s[ELEMENT_RANGE_A + 1]))
COLUMN(a_max, axis(s[ELEMENT_RANGE_A]))
COLUMN(e_min, sqrt(s[ELEMENT_RANGE_E]))
COLUMN(e_max, sqrt(s[ELEMENT_RANGE_E + 1]))
COLUMN(inc_min, inclination(s[ELEMENT_RANGE_TILT]))
COLUMN(inc_max, inclination(s[ELEMENT_RANGE_TILT + 1]))

static const shoal_monitor_column columns[] = {
    {"a_min", "length", "least semi-major axis", a_min, SHOAL_OF_EACH},
    {"a_max", "length", "largest semi-major axis, inf if it was unbound", a_max, SHOAL_OF_EACH},
    {"e_min", "", "least eccentricity", e_min, SHOAL_OF_EACH},
    {"e_max", "", "largest eccentricity", e_max, SHOAL_OF_EACH},
    {"inc_min", "angle", "least inclination to the reference plane", inc_min, SHOAL_OF_EACH},
    {"inc_max", "angle", "largest inclination to the reference plane", inc_max, SHOAL_OF_EACH},
};

const shoal_monitor shoal_monitor_element_range = {
    .name = "element_range",
    .doc = "the least and largest osculating a, e and inclination of every body, at the steps that it looks at",
    .reference = "elements: Murray & Dermott 1999, Solar System Dynamics, section 2.8",
    .ends_only = true,
    .n_slots = SHOAL_COUNT(initial),
    .initial = initial,
    .parts = SHOAL_BODIES,
    .n_part_slots = SHOAL_COUNT(nothing),
    .part_initial = nothing,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
};
