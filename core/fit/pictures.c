/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pictures.c: pictures of a posterior through gnuplot: corner, trace; their table.
 *
 * To add a kind: a function that writes its gnuplot script, and a line in the table.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fit/fit.h"

enum { MOST = 16, BINS = 32, CHAINS = 8, POINTS = 400 };

/* A column of a picture. */
typedef struct shown {
    const char *name, *unit;
    const double *x;  /* [n_chains][n_draws] */
    double *sorted;   /* [n_chains * n_draws] */
    double low, high; /* of its axis */
} shown;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The columns of a list NAME,NAME,..., without one all parameters; *n of them. */
static shoal_status choose(const shoal_posterior *p, const char *list, int which[MOST], int *n)
{
    *n = 0;
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t length = strcspn(at, ",");
        int i = 0;
        while (i <= p->k && (strlen(p->name[i]) != length || strncmp(p->name[i], at, length) != 0))
            i++;
        if (i > p->k) {
            char name[SHOAL_COLUMN_SIZE];
            snprintf(name, sizeof name, "%.*s", (int)length, at);
            const char *nearest = shoal_nearest(name, (const char *const *)p->name, p->k);
            return shoal_fail(p->context, SHOAL_E_USAGE, "--column: no parameter '%s'%s%s%s", name,
                              nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
        }
        if (*n < MOST)
            which[*n] = i;
        ++*n;
    }
    for (int i = 0; i < p->k && !list; i++, ++*n)
        if (i < MOST)
            which[i] = i;
    return *n > MOST
               ? shoal_fail(p->context, SHOAL_E_USAGE, "expected --column NAME,NAME,...: at most %d of %d", MOST, p->k)
               : SHOAL_OK;
}

static double quantile(const shown *c, long n, double part)
{
    return c->sorted[(long)(part * (double)(n - 1) + 0.5)];
}

/* Columns with their sorted values, which are one array: free(columns[0].sorted). */
static shoal_status show(const shoal_posterior *p, const shoal_plot_options *options, shown columns[MOST], int *n)
{
    int which[MOST];
    const long all = p->n_chains * p->n_draws;
    const shoal_status status = choose(p, options->column, which, n);
    double *sorted = status ? NULL : malloc(((size_t)*n * (size_t)all + 1) * sizeof *sorted);
    if (status || !sorted)
        return status ? status : shoal_fail(p->context, SHOAL_E_MEMORY, "out of memory for a picture");
    for (int i = 0; i < *n; i++) {
        shown *c = &columns[i];
        *c = (shown){p->name[which[i]], p->unit[which[i]], p->values + which[i] * all, sorted + i * all, 0, 0};
        memcpy(c->sorted, c->x, (size_t)all * sizeof *sorted);
        qsort(c->sorted, (size_t)all, sizeof *sorted, ascending);
        const double low = quantile(c, all, 0.002), high = quantile(c, all, 0.998),
                     margin = high > low ? 0.08 * (high - low) : 0.5;
        c->low = low - margin;
        c->high = high + margin;
    }
    return SHOAL_OK;
}

static int bin_of(const shown *c, double x)
{
    const double at = (x - c->low) / (c->high - c->low) * BINS;
    return at >= 0 && at < BINS ? (int)at : -1;
}

/* ---- corner ------------------------------------------------------------------------------------------------------ */

/* Draws of two columns in cells, each smoothed with its neighbours; then the part of the mass in cells that are denser:
 * 3 within 39.3 % (one sigma of two normal numbers), 2 within 86.5 %, 1 within 98.9 %, 0. */
static void write_cells(FILE *script, const shown *x, const shown *y, long n)
{
    static const double parts[] = {0.393, 0.865, 0.989};
    static double count[BINS + 2][BINS + 2], cell[BINS * BINS], sorted[BINS * BINS];
    double sum = 0, within = 0, limit[3] = {INFINITY, INFINITY, INFINITY};
    memset(count, 0, sizeof count);
    for (long i = 0; i < n; i++) {
        const int bx = bin_of(x, x->x[i]), by = bin_of(y, y->x[i]);
        if (bx >= 0 && by >= 0)
            count[by + 1][bx + 1]++;
    }
    for (int i = 0; i < BINS * BINS; i++) {
        cell[i] = 0;
        for (int at = 0; at < 9; at++) {
            const int dy = at / 3 - 1, dx = at % 3 - 1;
            cell[i] += count[i / BINS + 1 + dy][i % BINS + 1 + dx] / (4 << (abs(dx) + abs(dy)));
        }
        sum += sorted[i] = cell[i];
    }
    qsort(sorted, BINS * BINS, sizeof *sorted, ascending);
    for (int i = BINS * BINS - 1; i >= 0; i--) { /* from the densest on */
        for (int level = 0; level < 3; level++)
            if (within < parts[level] * sum)
                limit[level] = sorted[i];
        within += sorted[i];
    }
    fputs("$cells << EOD\n", script);
    for (int i = 0; i < BINS * BINS; i++) {
        int level = 3;
        while (level > 0 && !(cell[i] > 0 && cell[i] >= limit[3 - level]))
            level--;
        fprintf(script, "%d%c", level, i % BINS == BINS - 1 ? '\n' : ' ');
    }
    fprintf(script, "EOD\nplot $cells matrix using (%.17g+$1*%.17g):(%.17g+$2*%.17g):3 with image notitle\n",
            x->low + (x->high - x->low) / (2 * BINS), (x->high - x->low) / BINS,
            y->low + (y->high - y->low) / (2 * BINS), (y->high - y->low) / BINS);
}

/* A histogram with the median and the 16 and 84 % quantiles. */
static void write_histogram(FILE *script, const shown *c, long n)
{
    long count[BINS] = {0}, most = 1;
    for (long i = 0; i < n; i++) {
        const int bin = bin_of(c, c->x[i]);
        if (bin >= 0 && ++count[bin] > most)
            most = count[bin];
    }
    fputs("$bins << EOD\n", script);
    for (int i = 0; i < BINS; i++)
        fprintf(script, "%.9g %.6g\n", c->low + (i + 0.5) * (c->high - c->low) / BINS, (double)count[i] / (double)most);
    fputs("EOD\n", script);
    for (int q = 0; q < 3; q++) {
        static const double parts[] = {0.16, 0.5, 0.84};
        const double at = quantile(c, n, parts[q]);
        fprintf(script, "set arrow %d from %.17g,0 to %.17g,1.15 nohead lw %g dt %d lc rgb '#d55e00' front\n", q + 1,
                at, at, 0.7, q == 1 ? 1 : 2);
    }
    fputs("plot $bins using 1:2 with histeps lc rgb '#0072b2' notitle\nunset arrow\nunset label\n", script);
}

/* A name above a panel. */
static void write_name(FILE *script, const shown *c)
{
    char text[160];
    shoal_plot_quantity(text, sizeof text, c->name, c->unit, false);
    fputs("set label 1 ", script);
    shoal_plot_quote(script, text);
    fputs(" noenhanced at graph 0, graph 1 left offset 0,0.6\n", script);
}

/* Axis x or y of a panel: its range, and its numbers, none near an end, if they are shown. */
static void write_axis(FILE *script, char axis, const shown *c, bool labelled)
{
    const double margin = 0.06 * (c->high - c->low), step = shoal_plot_step((c->high - c->low) / 3.5);
    fprintf(script, "set %crange [%.17g:%.17g]\nset %ctics %.17g,%.17g,%.17g%s\nset format %c '%s'\n", axis, c->low,
            c->high, axis, ceil((c->low + margin) / step) * step, step, c->high - margin,
            axis == 'x' ? " rotate by 90 right" : "", axis, labelled ? "%.6g" : "");
}

static shoal_status write_corner(const shoal_posterior *p, const shoal_plot_options *options, FILE *script)
{
    shown columns[MOST];
    int n = 0;
    const long all = p->n_chains * p->n_draws;
    const shoal_status status = show(p, options, columns, &n);
    if (status)
        return status;
    const double width = n > 3 ? SHOAL_PAGE_MM : SHOAL_COLUMN_MM, left = 16 / width, bottom = 15 / width,
                 gap = 1.5 / width, wide = (1 - left - 12 / width) / n - gap, high = (1 - bottom - 5 / width) / n - gap;
    shoal_plot_begin(script, options, width, width);
    fputs("unset colorbox\nset cbrange [0:3]\nset palette maxcolors 4\n"
          "set palette defined (0 '#ffffff', 1 '#c6dbef', 2 '#6baed6', 3 '#2171b5')\nset multiplot\n",
          script);
    for (int row = 0; row < n; row++)
        for (int c = 0; c <= row; c++) {
            const double x = left + c * (wide + gap), y = bottom + (n - 1 - row) * (high + gap);
            fprintf(script, "set margins at screen %g, at screen %g, at screen %g, at screen %g\n", x, x + wide, y,
                    y + high);
            write_axis(script, 'x', &columns[c], row == n - 1);
            if (c < row) {
                write_axis(script, 'y', &columns[row], c == 0);
                write_cells(script, &columns[c], &columns[row], all);
                continue;
            }
            write_name(script, &columns[c]);
            fputs("set yrange [0:1.15]\nset ytics ('' 2)\n", script);
            write_histogram(script, &columns[c], all);
        }
    fputs("unset multiplot\n", script);
    free(columns[0].sorted);
    return SHOAL_OK;
}

/* ---- trace ------------------------------------------------------------------------------------------------------- */

static shoal_status write_trace(const shoal_posterior *p, const shoal_plot_options *options, FILE *script)
{
    shown columns[MOST];
    int n = 0;
    const shoal_status status = show(p, options, columns, &n);
    if (status)
        return status;
    const double row_mm = 18, height = 12 + row_mm * n, bottom = 11 / height, left = 18.0 / SHOAL_PAGE_MM;
    const long every = p->n_draws > POINTS ? p->n_draws / POINTS : 1,
               n_chains = p->n_chains < CHAINS ? p->n_chains : CHAINS;
    shoal_plot_begin(script, options, SHOAL_PAGE_MM, height);
    fprintf(script, "set multiplot\nset xrange [0:%ld]\n", p->n_draws);
    for (int i = 0; i < n; i++) {
        const double y = bottom + (n - 1 - i) * row_mm / height;
        fputs("$draws << EOD\n", script);
        for (long d = 0; d < p->n_draws; d += every) {
            fprintf(script, "%ld", d);
            for (long c = 0; c < n_chains; c++) /* chains of all parts */
                fprintf(script, " %.9g", columns[i].x[c * p->n_chains / n_chains * p->n_draws + d]);
            fputc('\n', script);
        }
        fprintf(script, "EOD\nset margins at screen %g, at screen 0.98, at screen %g, at screen %g\n", left, y,
                y + (row_mm - 5) / height);
        fprintf(script, "set format x '%s'\n%s\n", i == n - 1 ? "%g" : "", i == n - 1 ? "set xlabel 'draw'" : "");
        fprintf(script, "set yrange [%.17g:%.17g]\nset ytics %.17g\nset format y '%%.7g'\n", columns[i].low,
                columns[i].high, shoal_plot_step((columns[i].high - columns[i].low) / 3));
        write_name(script, &columns[i]);
        for (long c = 0; c < n_chains; c++)
            fprintf(script, "%s$draws using 1:%ld with lines lw 0.6 lc rgb '#%06x' notitle", c ? ", " : "plot ", c + 2,
                    shoal_plot_colour((int)c));
        fputc('\n', script);
    }
    fputs("unset multiplot\n", script);
    free(columns[0].sorted); /* NOLINT(clang-analyzer-core.CallAndMessage): there is one at least */
    return SHOAL_OK;
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

const shoal_fit_kind shoal_fit_kinds[] = {
    {"corner", "parameters against each other, one and two sigma, histograms", write_corner, SHOAL_PLOT_COLUMN},
    {"trace", "draws of some walkers, one after the other", write_trace, SHOAL_PLOT_COLUMN},
    {"rv", "velocities, the model of some draws, residuals", shoal_fit_plot_rv, 0},
    {"ttv", "transit times less their line, the model of some draws, residuals", shoal_fit_plot_ttv, 0},
    {"astrometry", "places in the sky, orbits of some draws, residuals", shoal_fit_plot_sky, 0},
    {0}};

shoal_status shoal_fit_kind_find(shoal_context *context, const char *name, const shoal_fit_kind **kind)
{
    const char *names[SHOAL_COUNT(shoal_fit_kinds)];
    char list[128] = "";
    int n = 0;
    for (*kind = shoal_fit_kinds; (*kind)->name; ++*kind) {
        if (!name || strcmp((*kind)->name, name) == 0)
            return SHOAL_OK;
        names[n++] = (*kind)->name;
    }
    for (int i = 0; i < n; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", names[i]);
    return shoal_fail(context, SHOAL_E_USAGE, "no kind of picture '%s' of a posterior; there are: %s", name, list);
}

shoal_status shoal_fit_plot(const shoal_posterior *posterior, const shoal_fit_kind *kind,
                            const shoal_plot_options *options, FILE *out)
{
    shoal_status status = shoal_plot_check(posterior->context, kind->name, kind->uses, options);
    if (status)
        return status;
    FILE *script = tmpfile();
    if (!script)
        return shoal_fail(posterior->context, SHOAL_E_FILE, "no temporary file for the picture: %s", strerror(errno));
    if ((status = kind->write(posterior, options, script))) {
        fclose(script);
        return status;
    }
    return shoal_plot_draw(posterior->context, script, options, out);
}
