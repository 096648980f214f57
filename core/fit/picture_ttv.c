/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * picture_ttv.c: transit and occultation times less a linear ephemeris, t0 + number period, which is that of the first
 * set of a body: data, the model of some draws at the same transits, residuals. A pair of panels a body.
 */
#include <math.h>
#include <string.h>

#include "core/fit/fit.h"

enum { LINES = 24 };
static const double page_mm = 36, panel_mm = 21, gap_mm = 1, residual_mm = 11, below_mm = 12;

/* The conjunctions of a set of times, NULL: it is of something else. */
static const shoal_conjunctions *times_of(const shoal_drawn *d, int set)
{
    const int kind = shoal_drawn_kind(d->study, set);
    int place = 0;
    for (int i = 0; i < set; i++)
        place += d->data.set[i].met >= 0;
    return kind == SHOAL_DATA_TRANSIT_TIME || kind == SHOAL_DATA_OCCULTATION_TIME ? &d->data.conjunctions[place] : NULL;
}

/* The first set of the same bodies and kind. */
static int first_of(const shoal_drawn *d, int set)
{
    const shoal_conjunctions *of = times_of(d, set);
    for (int i = 0; i < set; i++) {
        const shoal_conjunctions *other = times_of(d, i);
        if (other && other->body == of->body && other->of == of->of && other->behind == of->behind)
            return i;
    }
    return set;
}

/* A row a datum: time, residual, error, O - C, its model and that of some draws. Returns the most of |O - C|. */
static void write_set(const shoal_drawn *d, int set, double minutes, FILE *script, double most[2])
{
    const shoal_conjunctions *line = times_of(d, first_of(d, set));
    const shoal_walker_set *of = &d->data.set[set];
    fprintf(script, "$times%d << EOD\n", set);
    for (long long j = of->first; j < of->first + of->n; j++) {
        const shoal_datum *datum = &d->data.datum[j];
        const double ephemeris = (line->t0 + floor((datum->time - line->t0) / line->period + 0.5) * line->period) *
                                 of->factor,
                     residual = minutes * (datum->value - d->middle[j]), error = minutes * d->error[j],
                     off = minutes * (datum->value - ephemeris);
        most[0] = fmax(most[0], fabs(off) + error);
        most[1] = fmax(most[1], fabs(residual) + error);
        fprintf(script, "%.9g %.6g %.6g %.6g %.6g", datum->time * of->factor, residual, error, off,
                minutes * (d->middle[j] - ephemeris));
        for (long s = 0; s < d->n_draws && s < LINES; s++)
            fprintf(script, " %.6g", minutes * (d->predicted[s * d->data.n + j] - ephemeris));
        fputc('\n', script);
    }
    fputs("EOD\n", script);
}

static void write_panel(const shoal_drawn *d, int first, bool residuals, double most, FILE *script)
{
    fprintf(script, "set yrange [%.6g:%.6g]\nset ytics %.6g\n", -1.3 * most, 1.3 * most, shoal_plot_step(most / 2));
    shoal_plot_label(script, 'y', residuals ? "residual" : "O - C", residuals ? "" : "min");
    fprintf(script, "%s\nplot 0 with lines lc rgb '#808080' notitle", residuals ? "unset key" : "set key top right");
    for (int i = first; i < d->data.n_sets; i++) {
        if (!times_of(d, i) || first_of(d, i) != first)
            continue;
        for (long s = 0; s < d->n_draws && s < LINES && !residuals; s++)
            fprintf(script, ", \\\n  $times%d using 1:%ld smooth unique lw 0.4 lc rgb '#c8c8c8' notitle", i, s + 6);
        if (!residuals)
            fprintf(script, ", \\\n  $times%d using 1:5 smooth unique lw 0.8 lc rgb '#404040' notitle", i);
        fprintf(script, ", \\\n  $times%d using 1:%d:3 with yerrorbars pt 7 ps 0.5 lw 0.6 lc rgb '#%06x' title ", i,
                residuals ? 2 : 4, shoal_plot_colour(i));
        shoal_plot_quote(script, shoal_config_string(shoal_drawn_set(d->study, i), "name", ""));
    }
    fputc('\n', script);
}

static void write_rows(const shoal_drawn *d, int n_rows, double minutes, FILE *script)
{
    const double height = page_mm * n_rows + below_mm;
    int row = 0;
    for (int i = 0; i < d->data.n_sets; i++) {
        double most[2] = {0, 0}, top = 1 - (page_mm * row + 3) / height;
        if (!times_of(d, i) || first_of(d, i) != i)
            continue;
        for (int k = i; k < d->data.n_sets; k++)
            if (times_of(d, k) && first_of(d, k) == i)
                write_set(d, k, minutes, script, most);
        const bool last = ++row == n_rows;
        for (int residuals = 0; residuals < 2; residuals++) {
            const double high = (residuals ? residual_mm : panel_mm) / height;
            fprintf(script, "set margins at screen 0.12, at screen 0.97, at screen %g, at screen %g\n", top - high,
                    top);
            fprintf(script, "set format x '%s'\n", last && residuals ? "%g" : "");
            if (last && residuals)
                shoal_plot_label(script, 'x', "time", d->posterior->observed.time_unit);
            write_panel(d, i, residuals, most[residuals], script);
            top -= high + gap_mm / height;
        }
    }
}

shoal_status shoal_fit_plot_ttv(const shoal_posterior *posterior, const shoal_plot_options *options, FILE *script)
{
    shoal_context *context = posterior->context;
    shoal_drawn d;
    shoal_units minutes;
    int n_rows = 0;
    double first = INFINITY, last = -INFINITY;
    shoal_status status = shoal_drawn_predict(posterior, &d);
    for (int i = 0; i < d.data.n_sets && !status; i++) {
        const shoal_walker_set *set = &d.data.set[i];
        if (!times_of(&d, i))
            continue;
        n_rows += first_of(&d, i) == i;
        for (long long j = set->first; j < set->first + set->n; j++) {
            first = fmin(first, d.data.datum[j].time * set->factor);
            last = fmax(last, d.data.datum[j].time * set->factor);
        }
    }
    if (!status && n_rows == 0)
        status = shoal_fail(context, SHOAL_E_INPUT, "ttv: this posterior is of no transit times");
    if (!status)
        status = shoal_units_init(context, NULL, NULL, "min", NAN, &minutes);
    if (!status) {
        const double margin = fmax(0.02 * (last - first), 1e-9 * fabs(last));
        shoal_plot_begin(script, options, SHOAL_PAGE_MM, page_mm * n_rows + below_mm);
        fprintf(script, "set bars 0\nset pointintervalbox 0\nset multiplot\nset xrange [%.17g:%.17g]\n", first - margin,
                last + margin);
        write_rows(&d, n_rows, d.study->units.time / minutes.time, script);
        fputs("unset multiplot\n", script);
    }
    shoal_drawn_release(&d);
    return status;
}
