/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * begin.c: the systems of a study whose config names files (a table of bodies, draws), as its result keeps them, so
 * that a longer run needs no file but the result:
 *
 *     [system][quantities of all bodies in the ensemble, number of bodies, barycentre]     in inner units
 */
#include <stdlib.h>
#include <string.h>

#include "core/study/study.h"

static const char files[] = "\n# file "; /* a line at the end of a config's text (config.c) */

bool shoal_begin_is_needed(const shoal_study *study)
{
    return strstr(study->config_text, files) != NULL;
}

char *shoal_begin_config(const char *text, const char *of)
{
    const char *own = strstr(text, files), *its = strstr(of, files);
    const size_t length = own ? (size_t)(own - text) + 1 : strlen(text);
    char *made = malloc(length + strlen(of) + 1);
    if (made) {
        memcpy(made, text, length);
        strcpy(made + length, its ? its + 1 : "");
    }
    return made;
}

/* A system's numbers, to a row or from there. */
static void move(shoal_ensemble *ensemble, long s, double *row, bool save)
{
    const size_t n_centre = sizeof ensemble->centre[s];
    double *n_live = shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, s);
    for (int body = 0; body < ensemble->n_bodies; body++)
        for (int quantity = 0; quantity < SHOAL_QUANTITIES; quantity++, row++) {
            double *at = shoal_ensemble_body(ensemble, body, quantity, s);
            *(save ? row : at) = *(save ? at : row);
        }
    *(save ? row : n_live) = *(save ? n_live : row);
    memcpy(save ? row + 1 : ensemble->centre[s], save ? ensemble->centre[s] : row + 1, n_centre);
}

shoal_status shoal_begin_save(const shoal_study *study, shoal_result *result)
{
    const size_t width = (size_t)shoal_result_begin_width(result);
    result->begin = malloc((size_t)result->n_systems * width * sizeof *result->begin);
    if (!result->begin)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory for the beginning of %ld systems",
                          result->n_systems);
    for (long s = 0; s < result->n_systems; s++)
        move(study->ensemble, s, result->begin + (size_t)s * width, true);
    return SHOAL_OK;
}

/* What a study knows of its systems beside them. */
static bool copy_names(shoal_study *study, const shoal_result *from)
{
    study->seed = from->seed;
    memcpy(study->epoch, from->epoch, sizeof study->epoch); /* which may be that of the table */
    study->n_axes = from->n_axes;
    memcpy(study->axes, from->axes, sizeof study->axes);
    study->body_name = malloc((size_t)from->n_bodies * sizeof *study->body_name);
    study->swept = calloc((size_t)from->n_swept + 1, sizeof *study->swept);
    if (!study->body_name || !study->swept)
        return false;
    memcpy(study->body_name, from->body_name, (size_t)from->n_bodies * sizeof *study->body_name);
    for (int c = 0; c < from->n_swept; c++) {
        double *value = malloc((size_t)from->n_systems * sizeof *value);
        if (!value)
            return false;
        memcpy(value, from->columns[c].value, (size_t)from->n_systems * sizeof *value);
        study->swept[c] = from->columns[c];
        study->swept[c].value = value;
        study->n_swept = c + 1;
    }
    return true;
}

shoal_status shoal_begin_load(shoal_study *study, const shoal_result *from)
{
    const size_t width = (size_t)shoal_result_begin_width(from);
    shoal_status status = shoal_ensemble_create(study->context, from->n_systems, from->n_bodies, &study->ensemble);
    if (!status && !copy_names(study, from))
        status = shoal_fail(study->context, SHOAL_E_MEMORY, "%s: out of memory", study->path);
    for (long s = 0; s < from->n_systems && !status; s++) {
        shoal_ensemble *ensemble = study->ensemble;
        const shoal_system record = {.id = (long)from->id[s], .t_start = study->t_start};
        shoal_ensemble_set_system(ensemble, s, &record);
        if (from->outcome[s] == SHOAL_INVALID)
            continue; /* as it was created */
        move(ensemble, s, from->begin + (size_t)s * width, false);
        *shoal_ensemble_field(ensemble, SHOAL_SYS_OUTCOME, s) = SHOAL_RUNNING;
        ensemble->energy_start[s] = shoal_ensemble_energy(ensemble, s);
        const double n_live = *shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, s);
        if (n_live != from->n_live[s])
            status = shoal_fail(study->context, SHOAL_E_INPUT, "%s: system %ld begins with %g bodies, expected %d",
                                study->path, record.id, n_live, from->n_live[s]);
    }
    if (!status)
        study->ensemble->given = true;
    return status;
}
