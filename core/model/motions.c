/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * motions.c: proper motions of the Hipparcos-Gaia Catalog of Accelerations (Brandt 2021, doi:10.3847/1538-4365/abf93c)
 * as sums of places. A mission's proper motion is the slope of a line through the places where it saw the star, fitted
 * by least squares; the motion between the missions is the difference of the places on their lines at the catalogue's
 * epochs over that of these.
 *
 * With the mission's scans, at times t_i in the direction theta_i (from north through east), the fit is that of its
 * catalogue: what the star's motion makes along scan i, x sin theta_i + y cos theta_i for places x to the east and y to
 * the north, is
 *
 *     (x_0 + (t_i - t) mu_x) sin theta_i + (y_0 + (t_i - t) mu_y) cos theta_i + parallax * factor_i
 *
 * with five numbers to be found, all scans of one weight. The solution is linear in the places.
 *
 * Without them the mission saw both coordinates evenly, all the time T around the epoch of the coordinate:
 *
 *     slope = 12 / T^3 integral of s x(s),    mean = 1 / T integral of x(s),    -T/2 < s < T/2
 *
 * by Gauss-Legendre quadrature. The parallax, which the catalogues fitted beside it, is left out then.
 */
#include <gsl/gsl_integration.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>

#include "core/formats/observations.h"
#include "core/model/model.h"

enum { PLACES = 32, MISSIONS = 2 };

static const struct mission {
    const char *key;         /* of its scans */
    double begin, end, span; /* Julian years; Gaia's (E)DR3 */
} missions[MISSIONS] = {{"hipparcos_scans", 1989.85, 1993.21, 3.36}, {"gaia_scans", 2014.56, 2017.40, 2.83}};

/* What is found of a star by scans: places and motions. */
enum { EAST, NORTH, EAST_MOTION, NORTH_MOTION, PARALLAX, FOUND };

/* The scans of a mission, and how what is found is made of places along them. */
typedef struct scans {
    long n;                                /* 0: they are not known */
    double epoch;                          /* of the places */
    double *time, *sine, *cosine, *factor; /* [n]; in one piece of memory with the next */
    double *weight;                        /* [n][FOUND] */
} scans;

static void release(scans *of)
{
    free(of->time);
    *of = (scans){0};
}

/* Solve for what is found: the pseudo-inverse of the [n][FOUND] matrix of what it makes along the scans. False: the
 * scans do not tell. */
static bool solve(scans *of)
{
    const size_t n = (size_t)of->n;
    double span = 0;
    for (size_t i = 0; i < n; i++)
        span = fmax(span, fabs(of->time[i] - of->epoch));
    gsl_matrix *u = n >= FOUND && span > 0 ? gsl_matrix_alloc(n, FOUND) : NULL, *v = gsl_matrix_alloc(FOUND, FOUND);
    gsl_vector *size = gsl_vector_alloc(FOUND), *room = gsl_vector_alloc(FOUND);
    for (size_t i = 0; u && i < n; i++) {
        const double s = (of->time[i] - of->epoch) / span,
                     row[FOUND] = {of->sine[i], of->cosine[i], s * of->sine[i], s * of->cosine[i], of->factor[i]};
        for (size_t f = 0; f < FOUND; f++)
            gsl_matrix_set(u, i, f, row[f]);
    }
    bool good = u && gsl_linalg_SV_decomp(u, v, size, room) == 0 &&
                gsl_vector_get(size, FOUND - 1) > 1e-3 * gsl_vector_get(size, 0);
    for (size_t i = 0; good && i < n; i++)
        for (size_t f = 0; f < FOUND; f++) {
            double sum = 0;
            for (size_t k = 0; k < FOUND; k++)
                sum += gsl_matrix_get(v, f, k) * gsl_matrix_get(u, i, k) / gsl_vector_get(size, k);
            of->weight[i * FOUND + f] = f == EAST_MOTION || f == NORTH_MOTION ? sum / span : sum;
        }
    gsl_matrix_free(u);
    gsl_matrix_free(v);
    gsl_vector_free(size);
    gsl_vector_free(room);
    return good;
}

/* The scans of a mission that a group names, those in the time of the catalogue. */
static shoal_status read_scans(const shoal_study *study, const config_setting_t *group, const shoal_motions_said *said,
                               const struct mission *mission, scans *of)
{
    const config_setting_t *setting = config_setting_get_member(group, mission->key);
    shoal_observations table;
    *of = (scans){0};
    if (!setting)
        return SHOAL_OK;
    char *path = shoal_config_path(&study->config, config_setting_get_string(setting));
    if (!path)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory");
    const shoal_observations_said none = {.format = "scans", .error = 1, .body = -1};
    const shoal_status status = shoal_observations_read(study->context, path, &none, &table);
    free(path);
    if (status)
        return status;
    const size_t room = (size_t)table.n + 1;
    double *numbers = malloc(room * (4 + FOUND) * sizeof *numbers);
    if (numbers)
        *of = (scans){0, 0, numbers, numbers + room, numbers + 2 * room, numbers + 3 * room, numbers + 4 * room};
    for (long i = 0; i < table.n && numbers; i++) {
        const shoal_observation *row = &table.row[i];
        const double jd = table.zero + row->time, year = 2000 + (jd - 2451545) / 365.25;
        if (year < mission->begin || year > mission->end)
            continue;
        of->time[of->n] = (jd - said->zero) * said->day;
        of->sine[of->n] = sin(row->angle);
        of->cosine[of->n] = cos(row->angle);
        of->factor[of->n++] = row->parallax_factor;
        of->epoch += (of->time[of->n - 1] - of->epoch) / (double)of->n;
    }
    shoal_observations_release(&table);
    if (!numbers)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory for scans");
    if (of->n > 0 && solve(of))
        return SHOAL_OK;
    release(of);
    return shoal_config_fail(&study->config, setting, NULL, NULL,
                             "scans from %g to %g in at least three directions at different times, that tell a star's "
                             "place, parallax and motion",
                             mission->begin, mission->end);
}

/* Parts of a place at an epoch (slope = false), or of a motion, times a factor. */
typedef struct wanted {
    bool east, slope;
    double epoch, factor;
} wanted;

static shoal_walker_part *put_scans(const scans *of, shoal_walker_part *part, wanted what)
{
    for (long i = 0; i < of->n; i++) {
        const double *weight = of->weight + i * FOUND, motion = weight[what.east ? EAST_MOTION : NORTH_MOTION],
                     place = weight[what.east ? EAST : NORTH] + (what.epoch - of->epoch) * motion,
                     along = what.factor * (what.slope ? motion : place);
        *part++ = (shoal_walker_part){.time = of->time[i], .weight = along * of->sine[i], .east = 1};
        *part++ = (shoal_walker_part){.time = of->time[i], .weight = along * of->cosine[i], .east = 0};
    }
    return part;
}

static shoal_walker_part *put_evenly(double span, shoal_walker_part *part, wanted what)
{
    gsl_integration_glfixed_table *rule = gsl_integration_glfixed_table_alloc(PLACES);
    for (int k = 0; k < PLACES; k++) {
        double s, weight;
        gsl_integration_glfixed_point(-0.5, 0.5, (size_t)k, &s, &weight, rule);
        *part++ = (shoal_walker_part){.time = what.epoch + span * s,
                                      .weight = what.factor * weight * (what.slope ? 12 * s / span : 1),
                                      .east = what.east};
    }
    gsl_integration_glfixed_table_free(rule);
    return part;
}

/* long: as shoal_motions_add, and what it has read */
static shoal_status add_parts(const shoal_study *study, const shoal_motions_said *said, const scans of[MISSIONS],
                              shoal_data *data, int i)
{
    enum { BETWEEN = 2, AFTER = 4 };
    const shoal_walker_set *set = &data->set[i];
    shoal_datum *datum = data->datum + set->first;
    size_t most = 0;
    for (int m = 0; m < MISSIONS; m++)
        most += of[m].n ? 2 * (size_t)of[m].n : PLACES;
    shoal_walker_part *more = realloc(data->parts, ((size_t)data->n_parts + SHOAL_MOTIONS * most) * sizeof *more);
    if (!more)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory for proper motions");
    data->parts = more;
    shoal_walker_part *part = more + data->n_parts;
    for (int j = 0; j < SHOAL_MOTIONS; j++) {
        const bool between = j >= BETWEEN && j < AFTER;
        datum[j].first_part = (int)(part - more);
        for (int m = 0; m < MISSIONS; m++) {
            const double apart = said->until[j] - datum[j].time;
            const wanted what = {.east = datum[j].sine > 0,
                                 .slope = !between,
                                 .epoch = between && m ? said->until[j] : datum[j].time,
                                 .factor = set->unit * (between ? (m ? 1 : -1) / apart : 1)};
            if (between || m == (j >= AFTER))
                part = of[m].n ? put_scans(&of[m], part, what)
                               : put_evenly(missions[m].span * 365.25 * said->day, part, what);
        }
        datum[j].n_parts = (int)(part - more) - datum[j].first_part;
    }
    data->n_parts = (int)(part - more);
    return SHOAL_OK;
}

shoal_status shoal_motions_add(const shoal_study *study, const config_setting_t *group, const shoal_motions_said *said,
                               shoal_data *data, int i, double covariance[])
{
    const shoal_datum *datum = data->datum + data->set[i].first;
    scans of[MISSIONS] = {{0}};
    if (data->set[i].n != SHOAL_MOTIONS)
        return shoal_config_fail(&study->config, group, "format", NULL, "\"hgca\", %d proper motions", SHOAL_MOTIONS);
    shoal_status status = SHOAL_OK;
    for (int m = 0; m < MISSIONS && !status; m++)
        status = read_scans(study, group, said, &missions[m], &of[m]);
    if (!status)
        status = add_parts(study, said, of, data, i);
    for (int m = 0; m < MISSIONS; m++)
        release(&of[m]);
    for (int j = 0; j < SHOAL_MOTIONS && !status; j++) {
        const int before = j % 2 ? j - 1 : j; /* towards east, of one towards north */
        for (int k = 0; k < SHOAL_MOTIONS; k++)
            covariance[j * SHOAL_MOTIONS + k] = 0;
        covariance[j * SHOAL_MOTIONS + j] = datum[j].error * datum[j].error;
        if (before < j)
            covariance[j * SHOAL_MOTIONS + before] = covariance[before * SHOAL_MOTIONS + j] = said->correlation[j] *
                                                                                              datum[j].error *
                                                                                              datum[before].error;
    }
    return status;
}
