/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plot_transits.c: a picture of transit times: for each body of a system that transits a panel, in which the
 * differences from a straight line through its times (transit timing variations, O - C) stand against time.
 */
#include <gsl/gsl_fit.h>
#include <math.h>
#include <stdlib.h>

#include "core/report/plot.h"

/* The times of a body's transits in a system, and their differences from a line through them; returns how many there
 * are. */
static size_t read_transits(const shoal_result *result, long system, int body, double *number, double *time,
                            double *off)
{
    double first, period, c00, c01, c11, squares;
    size_t n = 0;

    const shoal_log *log = shoal_result_log(result, "transits");
    const double *in = log ? shoal_log_values(log, "system") : NULL, *of = log ? shoal_log_values(log, "body") : NULL;
    const double *at = log ? shoal_log_values(log, "time") : NULL;
    for (long i = 0; of && i < log->n_rows; ++i) {
        if ((long)in[i] == system && (int)of[i] == body) {
            number[n] = (double)n;
            time[n++] = at[i];
        }
    }
    if (n > 1) {
        gsl_fit_linear(number, 1, time, 1, n, &first, &period, &c00, &c01, &c11, &squares);
    }
    for (size_t i = 0; i < n; ++i) {
        off[i] = n > 1 ? time[i] - (first + period * number[i]) : 0;
    }
    return n;
}

shoal_status shoal_plot_transits(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                                 FILE *script)
{
    const shoal_log *log = shoal_result_log(result, "transits");
    const size_t room = log ? (size_t)log->n_rows + 1 : 1;
    double *number = malloc(room * sizeof *number), *time = malloc(room * sizeof *time),
           *off = malloc(room * sizeof *off);
    double earliest = INFINITY, latest = -INFINITY;
    int n_panels = 0, drawn = 0;
    shoal_units minutes;
    long system;

    shoal_status status = number && time && off
                              ? shoal_plot_system(context, result, options, &system)
                              : shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %zu transits", room);
    if (status == SHOAL_OK) {
        status = shoal_units_init(context, NULL, NULL, "min", NAN, &minutes);
    }
    for (int b = 0; status == SHOAL_OK && b < result->n_live[system]; ++b) {
        const size_t n = read_transits(result, system, b, number, time, off);
        n_panels += n > 2;
        for (size_t i = 0; n > 2 && i < n; ++i) {
            earliest = fmin(earliest, time[i]);
            latest = fmax(latest, time[i]);
        }
    }
    if (status == SHOAL_OK && n_panels == 0) {
        status = shoal_fail(context, SHOAL_E_INPUT,
                            "transits: system %lld has no body of which the monitor \"transits\" logged three",
                            (long long)result->id[system]);
    }
    if (status == SHOAL_OK) {
        const double height = 18 + 24 * n_panels;
        shoal_plot_begin(script, options, SHOAL_COLUMN_MM, height);
        fprintf(script,
                "set multiplot layout %d,1 margins 0.19,0.93,%g,%g spacing 0,%g\nset key top left\n"
                "set format y '%%4g'\n",
                n_panels, 12 / height, 1 - 4 / height, 2 / height);
    }
    for (int b = 0; status == SHOAL_OK && b < result->n_live[system]; ++b) {
        const size_t n = read_transits(result, system, b, number, time, off);
        double most = 0;
        if (n < 3) {
            continue;
        }
        fprintf(script, "$b%d << EOD\n", b);
        for (size_t i = 0; i < n; ++i) {
            off[i] *= result->units.time / minutes.time;
            most = fmax(most, fabs(off[i]));
            fprintf(script, "%.17g %.9g\n", time[i], off[i]);
        }
        most = most > 0 ? most : 1;
        fputs("EOD\n", script);
        shoal_plot_label(script, 'y', "O - C", "min");
        const shoal_plot_time axis = shoal_plot_times(script, result, earliest, latest);
        fputs(++drawn < n_panels ? "unset xlabel\nset format x ''\n" : "", script);
        fprintf(script, "set xrange [%.17g:%.17g]\n", (earliest - axis.from) / axis.unit,
                (latest - axis.from) / axis.unit);
        fprintf(script, "set yrange [%.9g:%.9g]\nset ytics %.9g\n", -1.2 * most, 1.6 * most,
                shoal_plot_step(most / 1.5));
        fprintf(script, "plot $b%d using %s:2 with linespoints pt 7 ps 0.5 lc rgb '#%06x' title ", b, axis.of,
                shoal_plot_colour(b + 6));
        shoal_plot_quote(script, result->body_name[b]);
        fputs("\n", script);
    }
    fputs(status == SHOAL_OK ? "unset multiplot\n" : "", script);
    free(number);
    free(time);
    free(off);
    return status;
}
