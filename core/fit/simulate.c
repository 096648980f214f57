/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * simulate.c: data as parameters make them: the study's times, kinds and errors, what the model says of each datum, and
 * a random error of the distribution that the likelihood assumes: normal or Student's t, with jitter, or with a
 * covariance, in the directions of its eigenvectors. A set that is integrated over its offset has any offset: ln L does
 * not depend on it.
 */
#include <math.h>
#include <stdlib.h>

#include "core/fit/fit.h"

enum { TRIED = 16, MOST_TRIES = 1000 };

shoal_status shoal_simulate_check(const shoal_study *study, const shoal_data *data)
{
    for (int i = 0; i < data->n_sets; i++) {
        const config_setting_t *group = config_setting_get_elem(shoal_config_lookup(&study->config, "data"),
                                                                (unsigned)i);
        if (data->set[i].group >= 0)
            return shoal_config_fail(&study->config, shoal_config_lookup(&study->config, "processes"), NULL, NULL,
                                     "no processes where data are simulated");
        if (data->set[i].met >= 0 && isfinite(data->set[i].missing))
            return shoal_config_fail(&study->config, config_setting_get_member(group, "missing"), NULL, NULL,
                                     "none where data are simulated: all transits are there");
    }
    return SHOAL_OK;
}

static double number_of(const shoal_walker_number *number, const double *theta)
{
    return number->from < 0 ? number->value : number->value + number->factor * theta[number->from];
}

/* Add errors to the values of a set. */
static void add_errors(const shoal_data *data, const shoal_walker_set *set, const shoal_fit_key *key, double noise,
                       const double *theta, double *values)
{
    const double jitter = number_of(&set->jitter, theta);
    const long n = (long)set->n, first = (long)set->first;
    for (long i = 0; i < n; i++) {
        const int use = SHOAL_FIT_USE_NOISE + (int)(first + i);
        const double normal = noise * shoal_fit_normal(key, use);
        if (set->rotation >= 0) {
            const double *vector = data->rotations + set->rotation, *variance = vector + n * n;
            for (long j = 0; j < n; j++)
                values[first + j] += vector[i * n + j] * sqrt(variance[i] + jitter * jitter) * normal;
            continue;
        }
        const shoal_datum *datum = &data->datum[first + i];
        if (datum->with.set >= 0) { /* given the error of the number that it was measured with */
            const double error = data->datum[datum->with.datum].error,
                         c = datum->with.correlation * datum->error * error,
                         s = hypot(error, number_of(&data->set[datum->with.set].jitter, theta)), slope = c / (s * s);
            values[first + i] += slope * s * noise * shoal_fit_normal(key, SHOAL_FIT_USE_NOISE + datum->with.datum) +
                                 sqrt(datum->error * datum->error + jitter * jitter - c * slope) * normal;
            continue;
        }
        values[first + i] += hypot(datum->error, jitter) *
                             (set->freedom > 0 ? noise * shoal_sample_student(set->freedom, shoal_fit_uniform(key, use))
                                               : normal);
    }
}

shoal_status shoal_simulate(shoal_model *model, int row, const shoal_fit_key *key, double noise, double *theta,
                            double *values)
{
    const shoal_data *data = shoal_model_data(model);
    const int k = shoal_model_n_parameters(model);
    double *room = shoal_allocate(TRIED * (3 * (size_t)k + 2), sizeof *room), *cube = room, *drawn = cube + TRIED * k,
           *tried = drawn + TRIED * k, *lnl = tried + TRIED * (k + 1);
    shoal_status status = room ? SHOAL_OK : SHOAL_E_MEMORY;
    int found = TRIED;
    for (int turn = 0; turn < MOST_TRIES && found == TRIED && !status; turn++) {
        for (int i = 0; i < TRIED * k; i++) {
            const shoal_fit_key one = {key->seed, (uint64_t)(turn * TRIED + i / k), key->slot};
            cube[i] = shoal_fit_uniform(&one, SHOAL_FIT_USE_TRUTH + i % k);
        }
        status = shoal_model_prior_transform(model, TRIED, cube, drawn);
        for (int i = 0; i < TRIED * (k + 1); i++)
            tried[i] = i % (k + 1) < k ? drawn[i / (k + 1) * k + i % (k + 1)] : row;
        if (!status)
            status = shoal_model_evaluate(model, TRIED, tried, lnl);
        for (found = 0; found < TRIED && !isfinite(lnl[found]) && !status;)
            found++;
    }
    if (!status && found < TRIED) {
        memcpy(theta, drawn + (size_t)found * (size_t)k, (size_t)k * sizeof *theta);
        status = shoal_model_predict(model, 1, tried + found * (k + 1), values);
        for (int i = 0; i < data->n_sets && !status; i++)
            add_errors(data, &data->set[i], &(shoal_fit_key){key->seed, 0, key->slot}, noise, theta, values);
    }
    free(room);
    return status || found < TRIED ? status : SHOAL_E_INPUT;
}
