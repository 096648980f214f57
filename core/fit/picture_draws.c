/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * picture_draws.c: some draws of a posterior as systems of its study, as `shoal run` has them (sample.file), and what
 * the model says of the data for each of them.
 */
#define _GNU_SOURCE 1
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fit/fit.h"

enum { DRAWS = 64 };

/* Relative names in the config are those of its folder; without it, of that of the posterior. */
shoal_status shoal_drawn_open(const shoal_posterior *p, shoal_study **study)
{
    const char *folder = p->observed.folder, *slash = strrchr(p->path, '/');
    const bool there = folder && access(folder, X_OK) == 0;
    char *file = realpath(p->path, NULL), *word = NULL, *path = NULL, count[32];
    snprintf(count, sizeof count, "sample.count=%d", DRAWS);
    shoal_study_destroy(study);
    shoal_status status = SHOAL_OK;
    if (!file || asprintf(&word, "sample.file=%s", file) < 0 ||
        asprintf(&path, "%s%s%s", there ? folder : "", there ? "/" : "", there && slash ? slash + 1 : p->path) < 0)
        status = shoal_fail(p->context, SHOAL_E_FILE, "%s: %s", p->path, shoal_why());
    const char *const words[] = {word, count, "run.engine=cpu"};
    if (!status)
        status = shoal_study_open(p->context, path, p->config_text, SHOAL_COUNT(words), words, NULL, study);
    free(file);
    free(word);
    free(path);
    return status;
}

const config_setting_t *shoal_drawn_set(const shoal_study *study, int i)
{
    return config_setting_get_elem(shoal_config_lookup(&study->config, "data"), (unsigned)i);
}

int shoal_drawn_kind(const shoal_study *study, int i)
{
    return (int)shoal_config_number(&study->config, shoal_drawn_set(study, i), "data", "kind");
}

/* A column of the draws, NULL: there is none. */
static const double *column_of(const shoal_study *study, const char *name)
{
    for (int i = 0; i < study->n_swept; i++)
        if (strcmp(study->swept[i].name, name) == 0)
            return study->swept[i].value;
    return NULL;
}

double shoal_drawn_number(const shoal_study *study, int set, const char *key, long draw)
{
#define X(name) #name,
    static const char *const keys[] = {SHOAL_SET_NUMBER_LIST(X)};
#undef X
    char name[2 * SHOAL_NAME_SIZE];
    const config_setting_t *group = shoal_drawn_set(study, set);
    const shoal_study_walkers *walkers = &study->walkers;
    snprintf(name, sizeof name, "%s.%s", shoal_config_string(group, "name", ""), key);
    const double *column = column_of(study, name);
    for (const shoal_study_tie *tie = walkers->ties; tie < walkers->ties + walkers->n_ties && !column; tie++) {
        const double *to = column_of(study, walkers->parameters[tie->to].name);
        if (tie->set == set && strcmp(keys[tie->number], key) == 0 && to)
            return tie->ratio * to[draw] + tie->add;
    }
    return column ? column[draw] : shoal_config_number(&study->config, group, "data", key);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double shoal_drawn_median(double *x, long n)
{
    long n_kept = 0;
    for (long i = 0; i < n; i++)
        if (isfinite(x[i]))
            x[n_kept++] = x[i];
    qsort(x, (size_t)n_kept, sizeof *x, ascending);
    return n_kept > 0 ? gsl_stats_median_from_sorted_data(x, 1, (size_t)n_kept) : NAN;
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

/* The data are those of the fit: its config ends with lines of what was in its files. */
static shoal_status check_data(const shoal_drawn *d)
{
    const char *now = d->study->config_text;
    bool same = d->data.n == d->posterior->observed.n;
    for (const char *at = d->posterior->config_text; same && (at = strstr(at, "\n# file "));) {
        const size_t length = strcspn(++at, "\n");
        const char *line = now;
        while (line && strncmp(line, at, length) != 0)
            line = (line = strchr(line, '\n')) ? line + 1 : NULL;
        same = line != NULL;
    }
    return same ? SHOAL_OK
                : shoal_fail(d->posterior->context, SHOAL_E_INPUT, "%s: the data have changed since this fit",
                             d->posterior->path);
}

static shoal_status predict(shoal_drawn *d, double *theta, double *room)
{
    shoal_model *model = NULL;
    shoal_status status = shoal_model_create(d->study, d->n_draws, &model);
    const int k = shoal_model_n_parameters(model);
    for (int i = 0; i < k && !status; i++) {
        const double *column = column_of(d->study, shoal_model_parameter(model, i));
        for (long s = 0; s < d->n_draws; s++)
            theta[s * k + i] = column ? column[s] : NAN;
    }
    if (!status)
        status = shoal_model_predict(model, d->n_draws, theta, d->predicted);
    shoal_model_destroy(&model);
    for (int i = 0; i < d->data.n_sets && !status; i++) {
        for (long s = 0; s < d->n_draws; s++)
            room[s] = shoal_drawn_number(d->study, i, "jitter", s);
        const double jitter = shoal_drawn_median(room, d->n_draws);
        for (long long j = d->data.set[i].first; j < d->data.set[i].first + d->data.set[i].n; j++) {
            for (long s = 0; s < d->n_draws; s++)
                room[s] = d->predicted[s * d->data.n + j];
            d->middle[j] = shoal_drawn_median(room, d->n_draws);
            d->error[j] = hypot(d->data.datum[j].error, jitter);
        }
    }
    return status;
}

shoal_status shoal_drawn_predict(const shoal_posterior *posterior, shoal_drawn *d)
{
    *d = (shoal_drawn){.posterior = posterior};
    shoal_status status = shoal_drawn_open(posterior, &d->study);
    if (status)
        return status;
    void *numbers = shoal_numbers_begin();
    status = shoal_data_read(d->study, &d->data);
    if (!status)
        status = check_data(d);
    d->n_draws = d->study->ensemble->n_systems;
    const size_t n = (size_t)d->n_draws, n_data = (size_t)d->data.n;
    double *theta = status ? NULL : shoal_allocate(n * ((size_t)posterior->k + 1), sizeof *theta);
    d->predicted = status ? NULL : shoal_allocate((n + 2) * n_data, sizeof *theta);
    if (!status && (!theta || !d->predicted))
        status = shoal_fail(posterior->context, SHOAL_E_MEMORY, "out of memory for a picture");
    if (!status) {
        d->middle = d->predicted + n * n_data;
        d->error = d->middle + n_data;
        status = predict(d, theta, theta + n * (size_t)posterior->k);
    }
    shoal_numbers_end(numbers);
    free(theta);
    return status;
}

void shoal_drawn_release(shoal_drawn *d)
{
    shoal_study_destroy(&d->study);
    shoal_data_release(&d->data);
    free(d->predicted);
}
