/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * picture_rv.c: velocities without the offsets of their instruments, the model of some draws, residuals. A plan takes
 * the draws to the times of data and of a curve. There is none of motions that it does not make (motion = "keplerian",
 * light_travel, relativity).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fit/fit.h"

enum { LINES = 24, CURVE = 2400, LINE_OF_SIGHT = 5 };

/* Times of data, then those of the curve; what is seen of each draw then. */
typedef struct sky {
    const shoal_posterior *posterior;
    shoal_drawn drawn;
    bool has_curve;
    const shoal_observed *observed;
    long n, n_draws; /* times; draws */
    double *time;    /* [n] in the config's unit */
    double *seen;    /* [n][n_draws] m/s, positive when it recedes */
    shoal_study *study;
    /* of data */
    double *level, *residual, *error; /* [n_data] of the model without and the data beside it, jitter included */
} sky;

static const double *numbers_of(const sky *s, int which)
{
    return s->observed->numbers + which * s->observed->n;
}

static bool is_shown(const sky *s, int set)
{
    return shoal_drawn_kind(s->study, set) == SHOAL_DATA_VELOCITY;
}

/* The draws as systems of the study. */
static shoal_status open_study(sky *s)
{
    const shoal_status status = shoal_drawn_open(s->posterior, &s->study);
    if (!status)
        s->n_draws = s->study->ensemble->n_systems;
    return status;
}

typedef struct moment {
    double time; /* inner */
    long place;
} moment;

static int compare(const void *a, const void *b)
{
    const double x = ((const moment *)a)->time, y = ((const moment *)b)->time;
    return (x > y) - (x < y);
}

/* Of the times on one side of the epoch: what is seen of the draws, to s->seen. */
static shoal_status look(sky *s, bool backwards, int body)
{
    shoal_context *context = s->posterior->context;
    shoal_status status = open_study(s);
    if (status)
        return status;
    const double epoch = s->study->t_start, sign = backwards ? -1 : 1;
    shoal_options options = s->study->options;
    shoal_plan *plan = NULL;
    shoal_units si;
    long n = 0;
    moment *at = malloc((size_t)(s->n + 1) * sizeof *at);
    double *times = malloc((size_t)(s->n + 1) * sizeof *times);
    double *values = malloc((size_t)(s->n * s->n_draws + 1) * sizeof *values);
    if (!at || !times || !values)
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory for a picture");
    for (long i = 0; i < s->n && !status; i++) {
        const double time = s->time[i] * s->study->units.time;
        if ((time < epoch) == backwards)
            at[n++] = (moment){sign * time, i};
    }
    if (!status && n > 0) {
        qsort(at, (size_t)n, sizeof *at, compare);
        for (long i = 0; i < n; i++)
            times[i] = sign * at[i].time;
        options.monitors = NULL;
        options.n_monitors = 0;
        options.orbits = 0;
        options.t_end = times[n - 1] == epoch ? epoch + sign : times[n - 1];
        const shoal_observable what = {body, LINE_OF_SIGHT};
        status = shoal_units_init(context, "m", "kg", "s", NAN, &si);
        if (!status)
            status = shoal_plan_create(context, s->study->ensemble, &options, &plan);
        if (!status)
            status = shoal_plan_observe(plan, n, times, 1, &what, values);
        for (long i = 0; i < n && !status; i++)
            for (long d = 0; d < s->n_draws; d++)
                s->seen[at[i].place * s->n_draws + d] = -values[i * s->n_draws + d] /
                                                        shoal_units_factor(&si, "velocity");
        shoal_plan_destroy(&plan);
    }
    free(at);
    free(times);
    free(values);
    return status;
}

/* Whether a plan makes the motions of all sets. */
static bool has_curve(const shoal_study *study)
{
    const shoal_config *config = &study->config;
    bool has = shoal_config_number(config, shoal_config_lookup(config, "likelihood"), "likelihood", "motion") == 0;
    for (int i = 0; i < config_setting_length(shoal_config_lookup(config, "data")); i++)
        has = has && (shoal_drawn_kind(study, i) != SHOAL_DATA_VELOCITY ||
                      (shoal_config_number(config, shoal_drawn_set(study, i), "data", "light_travel") == 0 &&
                       shoal_config_number(config, shoal_drawn_set(study, i), "data", "relativity") == 0));
    return has;
}

/* What is added to the velocity of datum j of a set in a draw, but for an offset that is integrated over. */
static double added(const sky *s, int set, long draw, double time)
{
    const double t = time - s->study->t_start / s->study->units.time;
    return shoal_drawn_number(s->study, set, "offset", draw) +
           t * (shoal_drawn_number(s->study, set, "trend", draw) +
                t * shoal_drawn_number(s->study, set, "curvature", draw));
}

/* Medians over the draws for the data of a set, by what the model says of them. An offset that is integrated over is
 * taken away as the mean of what the model has beside the curve; without a curve the set has a mean of 0. */
static void compare_set(sky *s, int set, double *room)
{
    const shoal_drawn *d = &s->drawn;
    const shoal_config *config = &s->study->config;
    const double *time = numbers_of(s, SHOAL_OBSERVED_TIME), *value = numbers_of(s, SHOAL_OBSERVED_VALUE);
    const double unit = shoal_config_number(config, shoal_drawn_set(s->study, set), "data", "unit") == 0
                            ? 1
                            : 1000; /* m/s */
    const bool marginal = shoal_config_number(config, shoal_drawn_set(s->study, set), "data", "marginal") != 0;
    const long first = (long)d->data.set[set].first, last = first + (long)d->data.set[set].n;
    double *offset = room + s->n_draws;
    for (long i = 0; i < s->n_draws; i++) {
        offset[i] = 0;
        for (long j = first; j < last && marginal; j++)
            offset[i] += (unit * (d->predicted[i * d->data.n + j] - added(s, set, i, time[j])) -
                          (s->has_curve ? s->seen[j * s->n_draws + i] : 0)) /
                         (double)(last - first);
    }
    for (long j = first; j < last; j++) {
        for (long i = 0; i < s->n_draws; i++)
            room[i] = unit * (d->predicted[i * d->data.n + j] - added(s, set, i, time[j])) - offset[i];
        s->level[j] = shoal_drawn_median(room, s->n_draws);
        s->residual[j] = unit * (value[j] - d->middle[j]);
        s->error[j] = unit * d->error[j];
    }
}

/* The body of all sets. */
static shoal_status find_body(const sky *s, int *body)
{
    const int n_sets = config_setting_length(shoal_config_lookup(&s->study->config, "data"));
    bool any = false;
    *body = 0;
    for (int i = 0; i < n_sets; i++) {
        if (!is_shown(s, i))
            continue;
        const config_setting_t *named = config_setting_get_member(shoal_drawn_set(s->study, i), "body");
        int found = 0;
        const shoal_status status = named ? shoal_config_body(&s->study->config, named, s->study->body_name,
                                                              s->study->walkers.n_bodies, &found)
                                          : SHOAL_OK;
        if (status)
            return status;
        if (any && found != *body)
            return shoal_fail(s->posterior->context, SHOAL_E_UNSUPPORTED, "rv: expected velocities of one body");
        *body = found;
        any = true;
    }
    return any ? SHOAL_OK : shoal_fail(s->posterior->context, SHOAL_E_INPUT, "rv: this posterior is of no velocities");
}

static shoal_status fill(sky *s)
{
    const long n_data = s->observed->n;
    const double *time = numbers_of(s, SHOAL_OBSERVED_TIME);
    double first = time[0], last = time[0];
    int body;
    shoal_status status = find_body(s, &body);
    if (status)
        return status;
    for (long j = 0; j < n_data; j++) {
        first = fmin(first, time[j]);
        last = fmax(last, time[j]);
        s->time[j] = time[j];
    }
    const double margin = 0.02 * (last - first);
    for (long i = 0; i < CURVE; i++)
        s->time[n_data + i] = first - margin + (last - first + 2 * margin) * (double)i / (CURVE - 1);
    for (int leg = 0; leg < 2 && !status && s->has_curve; leg++)
        status = look(s, leg, body);
    double *room = status ? NULL : malloc((size_t)(2 * s->n_draws + 1) * sizeof *room);
    if (!status && !room)
        status = shoal_fail(s->posterior->context, SHOAL_E_MEMORY, "out of memory for a picture");
    const int n_sets = config_setting_length(shoal_config_lookup(&s->study->config, "data"));
    for (int i = 0; i < n_sets && !status; i++)
        if (is_shown(s, i))
            compare_set(s, i, room);
    free(room);
    return status;
}

static void write_panel(const sky *s, FILE *script, bool residuals)
{
    const int n_sets = config_setting_length(shoal_config_lookup(&s->study->config, "data"));
    fprintf(script, "set margins at screen 0.11, at screen 0.98, at screen %s, at screen %s\n",
            residuals ? "0.14" : "0.38", residuals ? "0.36" : "0.9");
    fprintf(script, "set format x '%s'\n", residuals ? "%g" : "");
    if (residuals)
        shoal_plot_label(script, 'x', "time", s->observed->time_unit);
    shoal_plot_label(script, 'y', residuals ? "residual" : "velocity", "m/s");
    double most = 0;
    for (long j = 0; j < s->observed->n; j++)
        most = fmax(most, fabs(s->residual[j] + (residuals ? 0 : s->level[j])) + s->error[j]);
    fprintf(script, "set yrange [%.6g:%.6g]\nset ytics %.6g\n", -1.1 * most, 1.1 * most,
            shoal_plot_step(2 * most / (residuals ? 4 : 6)));
    fprintf(script, "%s\nplot ", residuals ? "unset key" : "set key above horizontal");
    const bool curve = s->has_curve && !residuals;
    for (long d = 0; d < s->n_draws && d < LINES && curve; d++)
        fprintf(script, "$curve using 1:%ld with lines lw 0.4 lc rgb '#c8c8c8' notitle, \\\n  ", d + 3);
    fprintf(script, !curve ? "0 with lines lc rgb '#808080' notitle"
                           : "$curve using 1:2 with lines lw 0.8 lc rgb '#404040' notitle");
    for (int i = 0; i < n_sets; i++) {
        if (!is_shown(s, i))
            continue;
        fprintf(script, ", \\\n  $data%d using 1:%d:3 with yerrorbars pt 7 ps 0.5 lw 0.6 lc rgb '#%06x' title ", i,
                residuals ? 2 : 4, shoal_plot_colour(i));
        shoal_plot_quote(script, shoal_config_string(shoal_drawn_set(s->study, i), "name", ""));
    }
    fputc('\n', script);
}

static shoal_status write(sky *s, const shoal_plot_options *options, FILE *script)
{
    const long n_data = s->observed->n;
    const double *of = numbers_of(s, SHOAL_OBSERVED_SET);
    double *room = malloc((size_t)(s->n_draws + 1) * sizeof *room);
    if (!room)
        return shoal_fail(s->posterior->context, SHOAL_E_MEMORY, "out of memory for a picture");
    shoal_plot_begin(script, options, SHOAL_PAGE_MM, 90);
    fputs("$curve << EOD\n", script);
    for (long i = n_data; i < s->n && s->has_curve; i++) {
        memcpy(room, s->seen + i * s->n_draws, (size_t)s->n_draws * sizeof *room);
        fprintf(script, "%.9g %.6g", s->time[i], shoal_drawn_median(room, s->n_draws));
        for (long d = 0; d < s->n_draws && d < LINES; d++)
            fprintf(script, " %.6g", s->seen[i * s->n_draws + d]);
        fputc('\n', script);
    }
    fputs("EOD\n", script);
    for (int set = 0; set < config_setting_length(shoal_config_lookup(&s->study->config, "data")); set++) {
        if (!is_shown(s, set))
            continue;
        fprintf(script, "$data%d << EOD\n", set);
        for (long j = 0; j < n_data; j++)
            if ((int)of[j] == set)
                fprintf(script, "%.9g %.6g %.6g %.6g\n", s->time[j], s->residual[j], s->error[j],
                        s->level[j] + s->residual[j]);
        fputs("EOD\n", script);
    }
    fprintf(script, "set bars 0\nset pointintervalbox 0\nset multiplot\nset xrange [%.17g:%.17g]\n", s->time[n_data],
            s->time[s->n - 1]);
    write_panel(s, script, false);
    write_panel(s, script, true);
    fputs("unset multiplot\n", script);
    free(room);
    return SHOAL_OK;
}

shoal_status shoal_fit_plot_rv(const shoal_posterior *posterior, const shoal_plot_options *options, FILE *script)
{
    sky s = {.posterior = posterior, .observed = &posterior->observed, .n = posterior->observed.n + CURVE};
    if (posterior->observed.n == 0)
        return shoal_fail(posterior->context, SHOAL_E_INPUT, "rv: this file has no data");
    shoal_status status = shoal_drawn_predict(posterior, &s.drawn);
    status = status ? status : open_study(&s);
    const size_t n_data = (size_t)s.observed->n, n = (size_t)s.n;
    if (!status) {
        s.time = shoal_allocate(n * ((size_t)s.n_draws + 1) + 3 * n_data, sizeof(double));
        if (!s.time)
            status = shoal_fail(posterior->context, SHOAL_E_MEMORY, "out of memory for a picture");
    }
    if (!status) {
        s.seen = s.time + n;
        s.level = s.seen + n * (size_t)s.n_draws;
        s.residual = s.level + n_data;
        s.error = s.residual + n_data;
        s.has_curve = has_curve(s.study);
        void *numbers = shoal_numbers_begin();
        status = fill(&s);
        shoal_numbers_end(numbers);
    }
    if (!status)
        status = write(&s, options, script);
    shoal_drawn_release(&s.drawn);
    shoal_study_destroy(&s.study);
    free(s.time);
    return status;
}
