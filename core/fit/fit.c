/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fit.c: a study with data as a target, and its fit: from the group `fit` of its config to the file. A fit that was
 * killed, or that ended by fit.steps, leaves a journal beside the file; the same command goes on from there.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <gsl/gsl_statistics_double.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fit/fit.h"

enum { LEAST_WALKERS = 64, EACH = 4 };
enum { STEP_DRAWS = 64 }; /* that tell how far the posterior depends on the step */

static shoal_status out_of_memory(const shoal_fit *fit, long n)
{
    return shoal_fail(fit->study->context, SHOAL_E_MEMORY, "out of memory for %ld vectors", n);
}

/* ---- a study as a target ----------------------------------------------------------------------------------------- */

double shoal_fit_wrap(const shoal_fit *fit, int i, double x)
{
    return shoal_sample_wrap(&fit->study->walkers.parameters[i].prior, x);
}

/* ln prior of some vectors, of angles within the bounds of their priors: these vectors are in fit->wrapped. */
typedef struct prior_loop {
    shoal_fit *fit;
    const double *theta;
    double *lnp;
    long part;
    shoal_status status[SHOAL_MOST_PARTS];
} prior_loop;

enum { WORTH_THREADS = 512 }; /* vectors from which on threads share this loop */

static void find_priors(void *user, long first, long last)
{
    prior_loop *loop = user;
    const int k = loop->fit->target.n_parameters;
    double *at = loop->fit->wrapped + first * k;
    for (long i = 0; i < (last - first) * k; i++)
        at[i] = shoal_fit_wrap(loop->fit, (int)(i % k), loop->theta[first * k + i]);
    loop->status[first / loop->part] = shoal_model_log_prior(loop->fit->model, last - first, at, loop->lnp + first);
}

/* ln prior of all vectors, ln L of those that have one. */
static shoal_status evaluate(void *user, long n, const double *theta, double *lnp, double *lnl)
{
    shoal_fit *fit = user;
    const int k = fit->target.n_parameters;
    shoal_status status = SHOAL_OK;
    for (long first = 0; first < n && !status; first += fit->n_room) {
        const long some = n - first < fit->n_room ? n - first : fit->n_room;
        double *at = fit->wrapped;
        prior_loop loop = {fit, theta + first * k, lnp + first, shoal_part(some, WORTH_THREADS), {SHOAL_OK}};
        shoal_share(fit->target.context, fit->options.n_threads, some, loop.part, find_priors, &loop);
        for (int i = 0; i < SHOAL_MOST_PARTS && !status; i++)
            status = loop.status[i];
        long n_kept = 0;
        for (long v = 0; v < some && !status; v++)
            if (lnp[first + v] > -INFINITY)
                memmove(at + n_kept++ * k, at + v * k, (size_t)k * sizeof *at);
        if (!status && n_kept > 0)
            status = fit->batch ? shoal_batch_evaluate(fit->batch, fit->row, n_kept, at, fit->some)
                                : shoal_model_evaluate(fit->model, n_kept, at, fit->some);
        for (long v = some - 1; v >= 0 && !status; v--)
            lnl[first + v] = lnp[first + v] > -INFINITY ? fit->some[--n_kept] : -INFINITY;
    }
    return status;
}

/* (datum - model) / error. Correlations and jitters do not matter: residuals only lead to good coordinates. */
static shoal_status find_residuals(void *user, long n, const double *theta, double *residuals)
{
    const shoal_fit *fit = user;
    const shoal_data *data = shoal_model_data(fit->model);
    const shoal_status status = fit->batch ? shoal_batch_predict(fit->batch, fit->row, n, theta, residuals)
                                           : shoal_model_predict(fit->model, n, theta, residuals);
    for (long i = 0; i < n * data->n && !status; i++) {
        const double off = fit->values[i % data->n] - residuals[i];
        residuals[i] = isnan(off) ? 0 : off / data->datum[i % data->n].error;
    }
    return status;
}

static shoal_status from_cube(void *user, long n, const double *cube, double *theta)
{
    return shoal_model_prior_transform(((const shoal_fit *)user)->model, n, cube, theta);
}

/* Of the Beta distributions among the priors. */
static double rise(void *user, const double *theta)
{
    const shoal_fit *fit = user;
    double sum = 0;
    for (int i = 0; i < fit->target.n_parameters; i++)
        sum += shoal_sample_log_rise(&fit->study->walkers.parameters[i].prior, theta[i]);
    return sum;
}

/* Names, units, and which angles go round: those whose prior is uniform over all of the circle. */
static void describe(shoal_fit *fit)
{
    const shoal_study *study = fit->study;
    for (int i = 0; i < fit->target.n_parameters; i++) {
        const shoal_study_parameter *parameter = &study->walkers.parameters[i];
        const shoal_sample *prior = &parameter->prior;
        fit->names[i] = shoal_model_parameter(fit->model, i);
        fit->units[i] = "";
        if (parameter->set >= 0) {
            if (parameter->number == SHOAL_PROCESS_period || parameter->number == SHOAL_PROCESS_decay)
                fit->units[i] = shoal_config_unit(&study->config, "time", fit->unit[i]);
            else if (parameter->number == SHOAL_SET_offset || parameter->number == SHOAL_SET_jitter ||
                     parameter->number == SHOAL_PROCESS_sigma)
                fit->units[i] = shoal_data_unit(study, parameter->set, fit->unit[i]);
            else if (parameter->number >= SHOAL_SET_parallax && parameter->number <= SHOAL_SET_dec)
                fit->units[i] = "mas";
            continue;
        }
        const shoal_parameter *row = &shoal_body_key(parameter->number)->row;
        fit->units[i] = shoal_config_unit(&study->config, row->dimension, fit->unit[i]);
        fit->period[i] = prior->period;
    }
}

static bool is_timed(const shoal_data *data, int body)
{
    for (int s = 0; s < data->n_sets; s++)
        if (data->body[s] == body && data->set[s].met == SHOAL_MET_TIME)
            return true;
    return false;
}

/* P and T0 of bodies whose transits are timed follow the other parameters, unless two of them are one. */
static void find_followers(shoal_fit *fit)
{
    const shoal_study_walkers *walkers = &fit->study->walkers;
    for (int b = 0; b < walkers->n_bodies; b++) {
        const shoal_walker_body *body = &walkers->bodies[b];
        const unsigned long long both = 1ull << SHOAL_BODY_P | 1ull << SHOAL_BODY_T0;
        const int p = body->number[SHOAL_BODY_P].from, t0 = body->number[SHOAL_BODY_T0].from;
        bool known = p < 0 || t0 < 0 || p == t0;
        for (int i = 0; i < fit->target.n_follow; i++)
            known = known || fit->follow[i] == p || fit->follow[i] == t0;
        if (known || (body->given & both) != both || !is_timed(shoal_model_data(fit->model), b))
            continue;
        fit->follow[fit->target.n_follow++] = p;
        fit->follow[fit->target.n_follow++] = t0;
    }
}

/* The data, for the file. */
static shoal_status copy_data(shoal_fit *fit)
{
    const shoal_study *study = fit->study;
    shoal_observed *observed = &fit->observed;
    const shoal_data *data = shoal_model_data(fit->model);
    observed->n = data->n;
    char *folder = shoal_config_path(&study->config, ".");
    observed->folder = folder ? realpath(folder, NULL) : NULL;
    free(folder);
    shoal_config_unit(&study->config, "time", observed->time_unit);
    if (!(observed->numbers = shoal_allocate((size_t)(SHOAL_OBSERVED * data->n), sizeof(double))))
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory for %ld data", data->n);
    for (int i = 0; i < data->n_sets; i++)
        for (long long j = data->set[i].first; j < data->set[i].first + data->set[i].n; j++) {
            const double numbers[SHOAL_OBSERVED] = {shoal_units_time(&study->units, data->datum[j].time),
                                                    data->datum[j].value, data->datum[j].error, i};
            for (int q = 0; q < SHOAL_OBSERVED; q++)
                observed->numbers[q * data->n + j] = numbers[q];
        }
    fit->values = observed->numbers + SHOAL_OBSERVED_VALUE * data->n;
    return SHOAL_OK;
}

/* ---- the group `fit` --------------------------------------------------------------------------------------------- */

/* Cut a group at the top of a config's text out of it. */
static void cut(char *text, const char *group)
{
    char head[32];
    snprintf(head, sizeof head, "\n%s = {", group);
    char *line = strncmp(text, head + 1, strlen(head + 1)) == 0 ? text : strstr(text, head);
    const char *end = line ? strstr(line, "\n};\n") : NULL;
    if (!end)
        return;
    line += *line == '\n';
    memmove(line, end + 4, strlen(end + 4) + 1);
}

/* The text that a journal is of, malloc'd: that of the config, with all that draws depend on in its group `fit` and
 * without what says when they end, and the version of the chains. */
static char *describe_fit(const char *config_text, const shoal_fit_options *options)
{
    char *text, *rest = strdup(config_text);
    if (!rest)
        return NULL;
    cut(rest, "fit");
    cut(rest, "calibrate");
    const int n = asprintf(&text,
                           "fit = {\n    method = %d;\n    start = %d;\n    walkers = %ld;\n    temperatures = %d;\n"
                           "    seed = %lldL;\n    thin = %ld;\n    chains = 2;\n};\n%s",
                           options->method, options->start, options->n_walkers, options->n_temperatures,
                           (long long)options->seed, options->thin, rest);
    free(rest);
    return n < 0 ? NULL : text;
}

shoal_status shoal_fit_name_files(const shoal_config *config, const config_setting_t *group, const char *ending,
                                  char **output, char **journal)
{
    const char *file = shoal_config_string(group, "file", NULL), *slash = strrchr(config->path, '/'),
               *own = slash ? slash + 1 : config->path;
    const int n = file ? asprintf(output, "%s", file)
                       : asprintf(output, "%.*s_%s.h5", shoal_name_stem(own), own, ending);
    if (n < 0)
        *output = NULL;
    if (!*output || asprintf(journal, "%s.journal", *output) < 0) {
        *journal = NULL;
        return shoal_fail(config->context, SHOAL_E_MEMORY, "out of memory");
    }
    return SHOAL_OK;
}

static shoal_status read_options(shoal_fit *fit)
{
    const shoal_config *config = &fit->study->config;
    const config_setting_t *group = shoal_config_lookup(config, "fit");
    const int k = fit->study->walkers.n_parameters;
    shoal_fit_options *options = &fit->options;
    const double walkers = shoal_config_number(config, group, "fit", "walkers");
    *options = (shoal_fit_options){
        .method = (int)shoal_config_number(config, group, "fit", "method"),
        .start = (int)shoal_config_number(config, group, "fit", "start"),
        .n_walkers = isnan(walkers) ? (k * EACH > LEAST_WALKERS ? k * EACH : LEAST_WALKERS) : (long)walkers,
        .n_temperatures = (int)shoal_config_number(config, group, "fit", "temperatures"),
        .n_steps = (long)shoal_config_number(config, group, "fit", "steps"),
        .thin = (long)shoal_config_number(config, group, "fit", "thin"),
        .seed = (uint64_t)shoal_config_number(config, group, "fit", "seed"),
        .rhat = shoal_config_number(config, group, "fit", "rhat"),
        .ess = shoal_config_number(config, group, "fit", "ess"),
        .checkpoint_s = fit->study->checkpoint_s,
        .n_threads = shoal_threads_or_default(fit->study->options.threads),
    };
    if (options->n_walkers % 2 != 0)
        return shoal_config_fail(config, config_setting_get_member(group, "walkers"), NULL, NULL, "an even number");
    if (options->n_walkers < 2L * k) /* fewer move in a part of the space alone */
        return shoal_config_fail(config, config_setting_get_member(group, "walkers"), NULL, NULL,
                                 "at least %ld, two for each parameter", 2L * k);
    if (options->n_walkers * options->n_temperatures > INT_MAX / 2)
        return shoal_fail(config->context, SHOAL_E_INPUT, "%s: fit: expected at most %d walkers at all temperatures",
                          config->path, INT_MAX / 2);
    if (options->n_steps / options->thin < 8)
        return shoal_fail(config->context, SHOAL_E_INPUT,
                          "%s: fit.steps = %ld: expected at least 8 times fit.thin = %ld", config->path,
                          options->n_steps, options->thin);
    if (!(fit->text = describe_fit(fit->study->config_text, options)))
        return shoal_fail(config->context, SHOAL_E_MEMORY, "out of memory");
    return shoal_fit_name_files(config, group, "fit", &fit->output, &fit->journal);
}

/* ---- a fit ------------------------------------------------------------------------------------------------------- */

static shoal_status make(shoal_fit *fit, int n_fits)
{
    const shoal_study *study = fit->study;
    const int k = study->walkers.n_parameters;
    shoal_status status = read_options(fit);
    if (status)
        return status;
    const long moved = fit->options.n_walkers / 2 * fit->options.n_temperatures,
               population = shoal_optimise_population(k);
    fit->n_room = moved > population ? moved : population;
    const size_t n = (size_t)k, n_room = (size_t)fit->n_room;
    fit->period = shoal_allocate(n + n_room * (n + 1), sizeof(double));
    fit->names = calloc(2 * n, sizeof *fit->names);
    fit->unit = calloc(n, sizeof *fit->unit);
    fit->follow = calloc(n, sizeof *fit->follow);
    if (!fit->period || !fit->names || !fit->unit || !fit->follow)
        return out_of_memory(fit, fit->n_room);
    fit->wrapped = fit->period + n;
    fit->some = fit->wrapped + n_room * n;
    fit->units = fit->names + n;
    status = shoal_model_create(study, fit->n_room * n_fits, &fit->model);
    if (status)
        return status;
    fit->target = (shoal_target){.context = study->context,
                                 .n_parameters = k,
                                 .period = fit->period,
                                 .user = fit,
                                 .evaluate = evaluate,
                                 .from_cube = from_cube,
                                 .rise = rise,
                                 .follow = fit->follow,
                                 .n_data = shoal_model_n_data(fit->model),
                                 .residuals = find_residuals};
    describe(fit);
    find_followers(fit);
    return copy_data(fit);
}

shoal_status shoal_fit_create(const shoal_study *study, shoal_fit **fit)
{
    return shoal_fit_create_for(study, 1, fit);
}

shoal_status shoal_fit_create_for(const shoal_study *study, int n_fits, shoal_fit **fit)
{
    *fit = NULL;
    if (study->big || study->walkers.n_bodies == 0)
        return shoal_fail(study->context, SHOAL_E_INPUT, "%s: expected `data`, which are to be fitted", study->path);
    if (study->walkers.n_parameters == 0)
        return shoal_fail(study->context, SHOAL_E_INPUT, "%s: expected sample.parameters, which are to be found",
                          study->path);
    shoal_fit *made = calloc(1, sizeof *made);
    if (!made)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory");
    made->study = study;
    void *numbers = shoal_numbers_begin();
    const shoal_status status = make(made, n_fits);
    shoal_numbers_end(numbers);
    if (status)
        shoal_fit_destroy(&made);
    *fit = made;
    return status;
}

void shoal_fit_destroy(shoal_fit **fit)
{
    if (!*fit)
        return;
    shoal_model_destroy(&(*fit)->model);
    free((*fit)->period);
    free((*fit)->observed.numbers);
    free((*fit)->observed.folder);
    free((*fit)->names);
    free((*fit)->unit);
    free((*fit)->follow);
    free((*fit)->text);
    free((*fit)->output);
    free((*fit)->journal);
    free(*fit);
    *fit = NULL;
}

shoal_status shoal_fit_copy(const shoal_fit *fit, shoal_batch *batch, int row, const double *values, shoal_fit *copy)
{
    const size_t n_room = (size_t)fit->n_room, k = (size_t)fit->target.n_parameters;
    *copy = *fit;
    copy->batch = batch;
    copy->row = row;
    copy->values = values;
    copy->target.user = copy;
    copy->target.context = NULL;
    copy->options.n_threads = 1; /* it is one of many */
    copy->wrapped = shoal_allocate(n_room * (k + 1), sizeof(double));
    copy->some = copy->wrapped ? copy->wrapped + n_room * k : NULL;
    return copy->wrapped && shoal_context_create(&copy->target.context) == SHOAL_OK ? SHOAL_OK
                                                                                    : out_of_memory(fit, fit->n_room);
}

void shoal_fit_copy_release(shoal_fit *copy)
{
    free(copy->wrapped);
    shoal_context_destroy(&copy->target.context);
}

/* Refuse to replace a file that no journal is of, or that is not ours; with force the journal goes. */
static shoal_status check_output(const shoal_fit *fit, bool force)
{
    shoal_context *context = fit->study->context;
    struct stat about;
    const shoal_status status = shoal_store_spare(context, fit->output);
    if (status)
        return status;
    if (force && unlink(fit->journal) != 0 && errno != ENOENT)
        return shoal_fail(context, SHOAL_E_FILE, "%s: cannot be removed: %s", fit->journal, shoal_why());
    if (!force && stat(fit->output, &about) == 0 && stat(fit->journal, &about) != 0)
        return shoal_fail(context, SHOAL_E_INPUT, "%s is there already (--force replaces it)", fit->output);
    return SHOAL_OK;
}

shoal_status shoal_fit_lock(shoal_context *context, const char *output, const char *what, char path[PATH_MAX],
                            int *lock)
{
    if (strlen(output) + 32 > PATH_MAX || shoal_not_a_file(output))
        return shoal_fail(context, SHOAL_E_INPUT, "%s: cannot be written: not a regular file", output);
    snprintf(path, PATH_MAX, "%s.lock", output);
    *lock = shoal_lock_take(path);
    return *lock < 0 && errno == EWOULDBLOCK
               ? shoal_fail(context, SHOAL_E_USAGE, "%s: another %s is writing this file", output, what)
               : SHOAL_OK;
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

/* What half the step adds to ln L of draws that count, evenly chosen: its standard deviation. */
static shoal_status step_error_of_draws(shoal_fit *fit, shoal_draws *draws)
{
    const long first = shoal_draws_first(draws), all = (draws->n - first) * draws->n_walkers, k = draws->k,
               row = k + SHOAL_DRAW_NUMBERS, n = all < STEP_DRAWS ? all : STEP_DRAWS;
    double *theta = shoal_allocate((size_t)(n * (k + 1)), sizeof(double));
    if (!theta)
        return out_of_memory(fit, n);
    double *error = theta + n * k;
    for (long i = 0; i < n * k; i++)
        theta[i] = shoal_fit_wrap(fit, (int)(i % k),
                                  draws->values[(first * draws->n_walkers + i / k * all / n) * row + i % k]);
    const shoal_status status = shoal_model_step_error(fit->model, n, theta, error);
    if (!status && n > 1)
        draws->step_error = gsl_stats_sd(error, 1, (size_t)n);
    if (!status && isnan(draws->step_error) && n > 1) /* a draw that is not possible with half the step */
        draws->step_error = INFINITY;
    free(theta);
    return status;
}

/* The slope along an axis of the covariance, by what is possible of: the optimum, a sigma this way and that way. */
static double slope_of(double middle, double ahead, double behind)
{
    return isfinite(ahead) && isfinite(behind) ? (ahead - behind) / 2
           : isfinite(ahead)                   ? ahead - middle
           : isfinite(behind)                  ? middle - behind
                                               : NAN;
}

/* The length of the slopes of what half the step adds to ln L, along all axes of the optimum's covariance. */
static shoal_status step_error_of_optimum(shoal_fit *fit, shoal_draws *draws)
{
    const long k = draws->k, n = 2 * k + 1;
    const shoal_optimum *optimum = &draws->optimum;
    double *theta = shoal_allocate((size_t)(n * (k + 1)), sizeof(double)), square = 0;
    if (!theta)
        return out_of_memory(fit, n);
    double *error = theta + n * k;
    for (long i = 0; i < n * k; i++) {
        const long axis = (i / k - 1) / 2, p = i % k;
        const double sigma = i < k ? 0 : (i / k % 2 ? 1 : -1) * optimum->root[p * k + axis];
        theta[i] = shoal_fit_wrap(fit, (int)p, optimum->theta[p] + sigma);
    }
    const shoal_status status = shoal_model_step_error(fit->model, n, theta, error);
    for (long axis = 0; axis < k && !status; axis++) {
        const double slope = slope_of(error[0], error[2 * axis + 1], error[2 * axis + 2]);
        square += slope * slope;
    }
    draws->step_error = status ? NAN : sqrt(square);
    free(theta);
    return status;
}

/*
 * By how many sigma half the step moves a posterior: draws->step_error. To the first order ln L changes by c x with x
 * the parameters in units of their sigma, and a normal posterior times exp(c x) is the same one, moved by c. Over draws
 * the change has the standard deviation |c|. If it is 0, nothing depends on a step.
 */
static shoal_status check_step(shoal_fit *fit, shoal_draws *draws)
{
    draws->step_error = NAN;
    const shoal_status status = draws->values ? step_error_of_draws(fit, draws) : step_error_of_optimum(fit, draws);
    if (draws->step_error == 0)
        draws->step_error = NAN;
    return status == SHOAL_E_UNSUPPORTED ? SHOAL_OK : status;
}

/* ---- the fit ----------------------------------------------------------------------------------------------------- */

shoal_status shoal_fit_run(shoal_fit *fit, bool force, shoal_fit_callback *callback, void *user, shoal_draws *draws)
{
    shoal_context *context = fit->study->context;
    char lock_path[PATH_MAX];
    *draws = (shoal_draws){0};
    if (fit->options.method == SHOAL_FIT_OPTIMISE) {
        draws->k = fit->target.n_parameters;
        const shoal_status found = shoal_optimise(&fit->target, fit->options.seed, callback, user, draws);
        for (int i = 0; i < draws->k && !found; i++)
            draws->optimum.theta[i] = shoal_fit_wrap(fit, i, draws->optimum.theta[i]);
        return found ? found : check_step(fit, draws);
    }
    int lock;
    shoal_status status = shoal_fit_lock(context, fit->output, "fit", lock_path, &lock);
    if (status)
        return status;
    status = check_output(fit, force);
    if (!status)
        status = shoal_fit_sample(&fit->target, &fit->options, fit->journal, fit->text, callback, user, draws);
    if (!status)
        status = check_step(fit, draws);
    if (!status)
        status = shoal_posterior_write(context, fit->output, draws, fit->names, fit->units, fit->study->config_text,
                                       &fit->observed);
    if (!status && draws->precise)
        unlink(fit->journal);
    shoal_lock_release(lock, lock_path);
    return status;
}
