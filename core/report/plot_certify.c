/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plot_certify.c: a picture of a certified run (run.certify): which systems chaos, the step or the propagator decides,
 * over the first two swept columns as in a map, and beside it the times of the other runs against those of the run.
 *
 * Without a second swept column the time at which a system ended takes its place, without a first one its number.
 */
#include <math.h>

#include "core/report/plot.h"
#include "core/report/report.h"

enum { HEIGHT_MM = 72 };

/* Of two swept columns the second is the horizontal axis, as in a map. */
static int swept_of(const shoal_result *result, int axis)
{
    return result->n_swept > 1 ? 1 - axis : axis;
}

/* The horizontal or the vertical place of a system in the first panel. */
static double place(const shoal_result *result, long system, int axis)
{
    axis = swept_of(result, axis);
    return axis < result->n_swept ? result->columns[axis].value[system]
           : axis == 0            ? (double)result->id[system]
                                  : result->t_stop[system];
}

static void name_axis(FILE *script, const shoal_result *result, int axis)
{
    const int column = swept_of(result, axis);
    const bool swept = column < result->n_swept;
    shoal_plot_label(script, axis ? 'y' : 'x',
                     swept       ? result->columns[column].name
                     : axis == 0 ? "system"
                                 : "time",
                     swept       ? result->columns[column].unit
                     : axis == 0 ? ""
                                 : result->units.time_name);
    if (column < result->n_axes && result->axes[column].logarithmic)
        shoal_plot_logarithmic(script, axis ? 'y' : 'x');
}

static void draw_deciders(const shoal_certified *c, const shoal_result *result, FILE *script)
{
    static const char *const words[SHOAL_DECIDERS] = {"all agree", "chaos decides", "the step", "the propagator"};
    static const unsigned colours[SHOAL_DECIDERS] = {0xbbbbbb, 0x56b4e9, 0xd55e00, 0xcc79a7};
    for (int d = 0; d < SHOAL_DECIDERS; d++) {
        fprintf(script, "$decider%d << EOD\nNaN NaN\n", d);
        for (long i = 0; i < c->n; i++)
            if ((int)shoal_certify_decider(c, i) == d)
                fprintf(script, "%.9g %.9g\n", place(result, (long)c->system[i], 0),
                        place(result, (long)c->system[i], 1));
        fputs("EOD\n", script);
    }
    name_axis(script, result, 0);
    name_axis(script, result, 1);
    fputs("set key above horizontal maxrows 2\nset autoscale fix\nset offsets graph 0.03, graph 0.03, graph 0.03, "
          "graph 0.03\n",
          script);
    for (int d = 0; d < SHOAL_DECIDERS; d++)
        fprintf(script, "%s$decider%d with points pt 7 ps %g lc rgb '#%06x' title '%s'", d ? ", \\\n  " : "plot ", d,
                c->n > 2000 ? 0.3 : 0.6, colours[d], words[d]);
    fputs("\nunset logscale\n", script);
}

/* Times of the three runs against the run's, of systems that ended in both. */
static void draw_times(const shoal_certified *c, const shoal_result *result, FILE *script)
{
    double least = INFINITY, most = 0;
    for (int k = 0; k < SHOAL_CERTIFY_RUNS; k++) {
        fprintf(script, "$run%d << EOD\nNaN NaN\n", k);
        for (long i = 0; i < c->n; i++) {
            const double start = result->t_initial[(long)c->system[i]];
            const double x = fabs(c->time[i] - start), y = fabs(c->run[k].t_stop[i] - start);
            if (!shoal_certify_timed(c, k, i) || x == 0 || y == 0)
                continue;
            fprintf(script, "%.9g %.9g\n", x, y);
            least = fmin(least, fmin(x, y));
            most = fmax(most, fmax(x, y));
        }
        fputs("EOD\n", script);
    }
    shoal_plot_label(script, 'x', "time since the start, in the run", result->units.time_name);
    shoal_plot_label(script, 'y', "in another", result->units.time_name);
    least = most > 0 ? least : 0.1;
    most = most > 0 ? most : 1;
    for (const char *axis = "xy"; *axis; axis++)
        if (most > 50 * least)
            shoal_plot_logarithmic(script, *axis);
        else
            shoal_plot_few_decades(script, *axis, least, most);
    fputs("set key inside top left vertical maxrows 3\nunset offsets\n", script);
    fprintf(script, "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\nplot x with lines lc rgb '#bbbbbb' notitle",
            least / 1.5, most * 1.5, least / 1.5, most * 1.5);
    for (int k = 0; k < SHOAL_CERTIFY_RUNS; k++) {
        fprintf(script, ", \\\n  $run%d with points pt 7 ps 0.4 lc rgb '#%06x' title ", k, shoal_plot_colour(k));
        shoal_plot_quote(script, c->run[k].changed);
    }
    fputs("\n", script);
}

shoal_status shoal_plot_certify(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                                FILE *script)
{
    shoal_certified c;
    const shoal_status status = shoal_certify_count(context, result, &c);
    if (status)
        return status;
    if (c.n == 0)
        return shoal_fail(context, SHOAL_E_INPUT, "certify: run.certify drew none of these systems");
    shoal_plot_begin(script, options, SHOAL_PAGE_MM, HEIGHT_MM);
    fputs("set multiplot layout 1,2\nset lmargin 9\n", script);
    draw_deciders(&c, result, script);
    draw_times(&c, result, script);
    fputs("unset multiplot\n", script);
    return SHOAL_OK;
}
