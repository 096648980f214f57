/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * picture_ranks.c: ranks of a calibration: a histogram of each parameter, and the band in which 99 of 100 bins of
 * uniform ranks are.
 */
#include <errno.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fit/fit.h"

enum { ACROSS = 4 };

/* The least count that a bin of probability p does not exceed in `part` of all cases. */
static double count_at(double part, double p, long n)
{
    unsigned count = 0;
    while (count < n && gsl_cdf_binomial_P(count, p, (unsigned)n) < part)
        count++;
    return count;
}

static void write_panel(const shoal_ranks *ranks, int i, const shoal_uniformity *of, FILE *script)
{
    const int n_bins = of->n_bins;
    const double width = (double)(ranks->n_draws + 1) / n_bins, expected = (double)ranks->n_sets / n_bins;
    long count[n_bins];
    double most = count_at(0.995, 1.0 / n_bins, ranks->n_sets);
    shoal_ranks_count(ranks, i, n_bins, count);
    fprintf(script,
            "set object 1 rectangle from graph 0, first %g to graph 1, first %g fc rgb '#dddddd' fs solid "
            "noborder behind\n",
            count_at(0.005, 1.0 / n_bins, ranks->n_sets) - 0.5, most + 0.5);
    fputs("$bins << EOD\n", script);
    for (int b = 0; b < n_bins; b++) {
        fprintf(script, "%g %ld\n", (b + 0.5) * width, count[b]);
        most = fmax(most, (double)count[b]);
    }
    fprintf(script, "EOD\nset yrange [0:%g]\nset ytics %g\nset label 1 ", 1.15 * most + 1, shoal_plot_step(most / 3));
    char text[SHOAL_COLUMN_SIZE + 32];
    snprintf(text, sizeof text, "%s  p = %.2g", ranks->names[i], of->p);
    shoal_plot_quote(script, text);
    fprintf(script,
            " noenhanced at graph 0, graph 1 left offset 0,0.6\n"
            "plot $bins using 1:2 with histeps lc rgb '#0072b2' notitle, %g with lines lw 0.6 dt 2 lc rgb "
            "'black' notitle\n",
            expected);
}

static void write_script(const shoal_ranks *ranks, const shoal_uniformity of[], const shoal_plot_options *options,
                         FILE *script)
{
    const int across = ranks->k < ACROSS ? ranks->k : ACROSS, down = (ranks->k + across - 1) / across;
    const double width = across > 2 ? SHOAL_PAGE_MM : SHOAL_COLUMN_MM, high_mm = 30, height = 12 + high_mm * down,
                 left = 9 / width, wide = (1 - left) / across;
    shoal_plot_begin(script, options, width, height);
    fprintf(script, "set multiplot\nset xrange [0:%ld]\nset xtics %g\n", ranks->n_draws + 1,
            shoal_plot_step((double)ranks->n_draws / 2));
    for (int i = 0; i < ranks->k; i++) {
        const int row = i / across, column = i % across;
        const double x = left + column * wide, y = 1 - ((row + 1) * high_mm + 2) / height;
        const bool lowest = i + across >= ranks->k;
        fprintf(script, "set margins at screen %g, at screen %g, at screen %g, at screen %g\nset format x '%s'\n%s\n",
                x, x + wide - 8 / width, y, y + (high_mm - 7) / height, lowest ? "%g" : "",
                lowest ? "set xlabel 'rank'" : "unset xlabel");
        write_panel(ranks, i, &of[i], script);
    }
    fputs("unset multiplot\n", script);
}

shoal_status shoal_ranks_plot(shoal_context *context, const shoal_ranks *ranks, const shoal_plot_options *options,
                              FILE *out)
{
    shoal_status status = shoal_plot_check(context, "ranks", 0, options);
    if (!status && options->kind && strcmp(options->kind, "ranks") != 0)
        status = shoal_fail(context, SHOAL_E_USAGE, "no kind of picture '%s' of a calibration; there is: ranks",
                            options->kind);
    if (status)
        return status;
    shoal_uniformity *of = calloc((size_t)ranks->k, sizeof *of);
    FILE *script = of ? tmpfile() : NULL;
    if (!script) {
        free(of);
        return shoal_fail(context, SHOAL_E_FILE, "no temporary file for the picture: %s", strerror(errno));
    }
    (void)shoal_ranks_uniformity(ranks, of);
    write_script(ranks, of, options, script);
    free(of);
    return shoal_plot_draw(context, script, options, out);
}
