/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * transits.c: numbers of transits. They come from a column or from an ephemeris t0 + number period. The ephemeris comes
 * from the config, or is the line of least squares through the numbered times of the set, or is that of an earlier set
 * of the same two bodies on the same side. The transits of a model get their numbers by the same ephemeris, never
 * by counting.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/model.h"

static const double WINDOW = 0.85;

typedef struct ephemeris {
    double t0, period;
} ephemeris;

/* The line of least squares t = t0 + number period through numbered times; false: they have one number. */
static bool fit(const shoal_datum *datum, long n, ephemeris *line)
{
    double number = 0, time = 0, numbers2 = 0, product = 0;
    for (long j = 0; j < n; j++) {
        number += datum[j].row / (double)n;
        time += datum[j].time / (double)n;
    }
    for (long j = 0; j < n; j++) {
        numbers2 += (datum[j].row - number) * (datum[j].row - number);
        product += (datum[j].row - number) * (datum[j].time - time);
    }
    line->period = product / numbers2;
    line->t0 = time - number * line->period;
    return numbers2 > 0 && line->period > 0;
}

/* The ephemeris of set i, in inner units. */
static shoal_status find_line(const shoal_study *study, const shoal_transits_said *said, const shoal_data *data, int i,
                              int of, ephemeris *line)
{
    const config_setting_t *group = said->group;
    const bool has_times = said->kind <= SHOAL_DATA_OCCULTATION_TIME,
               behind = said->kind == SHOAL_DATA_OCCULTATION_TIME;
    const shoal_config *config = &study->config;
    const shoal_walker_set *set = &data->set[i];
    line->t0 = (shoal_config_number(config, group, "data", "t0") - said->time_zero) * said->unit;
    line->period = shoal_config_number(config, group, "data", "period") * said->unit;
    if (isnan(line->t0) != isnan(line->period))
        return shoal_config_fail(config, group, isnan(line->t0) ? "t0" : "period", NULL,
                                 "both t0 and period, or neither");
    if (!isnan(line->t0) || (has_times && said->numbered && fit(data->datum + set->first, (long)set->n, line)))
        return SHOAL_OK;
    for (int other = 0; other < data->n_conjunctions; other++)
        if (data->conjunctions[other].body == data->body[i] && data->conjunctions[other].of == of &&
            !data->conjunctions[other].behind == !behind) {
            *line = (ephemeris){data->conjunctions[other].t0, data->conjunctions[other].period};
            return SHOAL_OK;
        }
    return shoal_config_fail(config, group, "period", NULL,
                             "t0 and period, by which transits get their numbers, or two numbers in the data");
}

/* Give the data of set i their numbers; find the least and the greatest. */
static shoal_status number(const shoal_study *study, const shoal_transits_said *said, shoal_data *data, int i,
                           const ephemeris *line, int range[2])
{
    const config_setting_t *group = said->group;
    const bool has_times = said->kind <= SHOAL_DATA_OCCULTATION_TIME;
    const shoal_walker_set *set = &data->set[i];
    for (shoal_datum *datum = data->datum + set->first; datum < data->datum + set->first + set->n; datum++) {
        const double near = floor((datum->time - line->t0) / line->period + 0.5);
        if (has_times && !(fabs(near) < INT_MAX / 4))
            return shoal_config_fail(&study->config, group, "period", NULL, "a period whose numbers are integers");
        if (has_times && said->numbered && near != datum->row)
            return shoal_config_fail(&study->config, group, NULL, NULL,
                                     "transit %d within half a period of t0 + number period (%.6g + %d * %.6g)",
                                     datum->row, line->t0 / said->unit, datum->row, line->period / said->unit);
        if (!said->numbered)
            datum->row = (int)near;
        if (!has_times)
            datum->time = line->t0 + datum->row * line->period;
        range[0] = datum->row < range[0] ? datum->row : range[0];
        range[1] = datum->row > range[1] ? datum->row : range[1];
    }
    return SHOAL_OK;
}

/* Rows of the numbers of set i; data get the row of their number. */
static shoal_status add_rows(const shoal_study *study, shoal_data *data, int i, const int range[2])
{
    const shoal_walker_set *set = &data->set[i];
    const int n = range[1] - range[0] + 1;
    int *rows = realloc(data->row_of, (size_t)(data->n_row_of + n) * sizeof *rows);
    if (!rows)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory for %d numbers of transits", n);
    data->row_of = rows;
    rows += data->n_row_of;
    data->n_row_of += n;
    for (int q = 0; q < n; q++)
        rows[q] = -1;
    for (shoal_datum *datum = data->datum + set->first; datum < data->datum + set->first + set->n; datum++) {
        int *row = &rows[datum->row - range[0]];
        if (*row < 0)
            *row = data->n_rows++;
        datum->row = *row;
    }
    return SHOAL_OK;
}

/* The body that another one passes. */
static shoal_status find_other(const shoal_study *study, const shoal_transits_said *said, int body, int *of)
{
    const shoal_config *config = &study->config;
    const config_setting_t *setting = config_setting_get_member(said->group, "of");
    const shoal_status status = setting
                                    ? shoal_config_body(config, setting, study->body_name, study->walkers.n_bodies, of)
                                    : SHOAL_OK;
    if (status)
        return status;
    if (body == *of)
        return shoal_config_fail(config, said->group, setting ? "of" : "body", NULL,
                                 setting ? "another body than the one that passes it"
                                         : "a body other than the first one, which it passes");
    const shoal_walker_body *passed = &study->walkers.bodies[*of];
    const shoal_walker_number *r = &passed->number[SHOAL_BODY_r];
    if (said->kind > SHOAL_DATA_OCCULTATION_TIME && r->from < 0 && !(r->value > 0) &&
        !(passed->given & 1ull << SHOAL_BODY_density))
        return shoal_config_fail(config, said->group, "kind", NULL, "a radius of the %s body",
                                 setting ? "passed" : "first");
    return SHOAL_OK;
}

shoal_status shoal_transits_add(const shoal_study *study, const shoal_transits_said *said, shoal_data *data, int i)
{
    enum { MOST_NUMBERS = 100000000 };
    static const int met[SHOAL_DATA_KINDS] = {
        [SHOAL_DATA_TRANSIT_TIME] = SHOAL_MET_TIME,         [SHOAL_DATA_OCCULTATION_TIME] = SHOAL_MET_TIME,
        [SHOAL_DATA_IMPACT_PARAMETER] = SHOAL_MET_DISTANCE, [SHOAL_DATA_TRANSIT_DURATION] = SHOAL_MET_DURATION,
        [SHOAL_DATA_INGRESS_DURATION] = SHOAL_MET_INGRESS,  [SHOAL_DATA_EGRESS_DURATION] = SHOAL_MET_EGRESS};
    const shoal_config *config = &study->config;
    const config_setting_t *group = said->group;
    const int kind = said->kind;
    shoal_walker_set *set = &data->set[i];
    int range[2] = {INT_MAX, INT_MIN};
    ephemeris line;
    int of = 0;
    shoal_status status = find_other(study, said, data->body[i], &of);
    if (status)
        return status;
    shoal_conjunctions *all = realloc(data->conjunctions, (size_t)(data->n_conjunctions + 1) * sizeof *all);
    if (!all)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory");
    data->conjunctions = all;
    status = find_line(study, said, data, i, of, &line);
    if (!status)
        status = number(study, said, data, i, &line, range);
    if (!status && (double)range[1] - range[0] + data->n_row_of > MOST_NUMBERS)
        status = shoal_config_fail(config, group, "period", NULL, "fewer than %d numbers", MOST_NUMBERS);
    const int row_of = data->n_row_of;
    if (!status)
        status = add_rows(study, data, i, range);
    if (status)
        return status;
    const bool light = shoal_config_number(config, group, "data", "light_travel") != 0;
    const bool mutual = config_setting_get_member(group, "of") != NULL;
    all[data->n_conjunctions++] = (shoal_conjunctions){.body = data->body[i],
                                                       .of = of,
                                                       .track = mutual ? data->n_rows++ : -1,
                                                       .behind = kind == SHOAL_DATA_OCCULTATION_TIME,
                                                       .first = range[0],
                                                       .n = range[1] - range[0] + 1,
                                                       .row_of = row_of,
                                                       .t0 = line.t0,
                                                       .period = line.period,
                                                       .light = light ? 1 / (299792458 * said->velocity) : 0};
    data->n_mutual += mutual;
    set->met = met[kind];
    set->missing = shoal_config_number(config, group, "data", "missing");
    set->factor = kind == SHOAL_DATA_IMPACT_PARAMETER ? 1 : 1 / shoal_config_factor(config, "time");
    data->n_met = met[kind] + 1 > data->n_met ? met[kind] + 1 : data->n_met;
    /* half a period, and what a leg may leave out at its end: two steps; adaptive ones are shorter than WINDOW - 0.5 of
     * a body's own period */
    const double beyond = fmax(WINDOW * line.period, 0.5 * line.period + 3 * fabs(study->options.dt));
    data->from = fmin(data->from, line.t0 + range[0] * line.period - beyond);
    data->to = fmax(data->to, line.t0 + range[1] * line.period + beyond);
    return SHOAL_OK;
}
