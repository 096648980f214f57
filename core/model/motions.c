/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * motions.c: proper motions of the Hipparcos-Gaia Catalog of Accelerations (Brandt 2021, doi:10.3847/1538-4365/abf93c)
 * as sums of places. A mission's proper motion is the slope of a line through the places where it saw the star, fitted
 * by least squares; here it saw the star evenly, all the time T around the catalogue's epoch of the coordinate:
 *
 *     slope = 12 / T^3 integral of s x(s),    mean = 1 / T integral of x(s),    -T/2 < s < T/2
 *
 * by Gauss-Legendre quadrature. The motion between the missions is the difference of their means over that of the
 * epochs. What is left out: when in that time a mission did scan the star, and the parallax, which the catalogues
 * fitted beside it.
 */
#include <gsl/gsl_integration.h>
#include <stdlib.h>

#include "core/model/model.h"

enum { PLACES = 8 };
static const double hipparcos_years = 3.36; /* 1989.85 to 1993.21 */
static const double gaia_years = 2.83;      /* (E)DR3: 2014.56 to 2017.40 */

/* The places of a mission around an epoch: a factor times the slope, or times the mean. */
static shoal_walker_part *put(const gsl_integration_glfixed_table *rule, shoal_walker_part *part, double epoch,
                              double span, bool slope, double factor)
{
    for (int k = 0; k < PLACES; k++) {
        double s, weight;
        gsl_integration_glfixed_point(-0.5, 0.5, (size_t)k, &s, &weight, rule);
        part[k] = (shoal_walker_part){.time = epoch + span * s,
                                      .weight = factor * weight * (slope ? 12 * s / span : 1)};
    }
    return part + PLACES;
}

shoal_status shoal_motions_add(const shoal_study *study, const config_setting_t *group, const shoal_motions_said *said,
                               shoal_data *data, int i, double covariance[])
{
    enum { EAST, NORTH, BETWEEN, AFTER = 4 };
    const shoal_walker_set *set = &data->set[i];
    shoal_datum *datum = data->datum + set->first;
    if (set->n != SHOAL_MOTIONS)
        return shoal_config_fail(&study->config, group, "format", NULL, "\"hgca\", %d proper motions", SHOAL_MOTIONS);
    shoal_walker_part *more = realloc(data->parts, (size_t)(data->n_parts + SHOAL_MOTIONS * 2 * PLACES) * sizeof *more);
    if (!more)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory for proper motions");
    data->parts = more;
    gsl_integration_glfixed_table *rule = gsl_integration_glfixed_table_alloc(PLACES);
    if (!rule)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory for proper motions");
    shoal_walker_part *part = more + data->n_parts;
    const double span[] = {hipparcos_years * said->year, gaia_years * said->year};
    for (int j = 0; j < SHOAL_MOTIONS; j++) {
        datum[j].first_part = (int)(part - more);
        if (j < BETWEEN || j >= AFTER) {
            part = put(rule, part, datum[j].time, span[j >= AFTER], true, set->unit);
        } else {
            const double weight = set->unit / (said->until[j] - datum[j].time);
            part = put(rule, part, datum[j].time, span[0], false, -weight);
            part = put(rule, part, said->until[j], span[1], false, weight);
        }
        datum[j].n_parts = (int)(part - more) - datum[j].first_part;
        for (int k = 0; k < SHOAL_MOTIONS; k++)
            covariance[j * SHOAL_MOTIONS + k] = 0;
        covariance[j * SHOAL_MOTIONS + j] = datum[j].error * datum[j].error;
        if (j % 2 == NORTH)
            covariance[j * SHOAL_MOTIONS + j - 1] = covariance[(j - 1) * SHOAL_MOTIONS + j] = said->correlation[j] *
                                                                                              datum[j].error *
                                                                                              datum[j - 1].error;
    }
    gsl_integration_glfixed_table_free(rule);
    data->n_parts = (int)(part - more);
    return SHOAL_OK;
}
