/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plot_pairs.c: where in the space of the swept or sampled parameters systems end how: the lower triangle of a matrix
 * of panels, column j against column i < j, a point a system.
 */
#include <math.h>
#include <string.h>

#include "core/report/plot.h"

#define MOST_COLUMNS 6
#define MANY_POINTS  3000 /* smaller points from here on */

/* The range of a column, and whether its axis is logarithmic: more than two decades, most values in the lower ones. */
static bool read_range(const shoal_column *column, long n, double *low, double *high)
{
    double sum = 0;
    long n_values = 0;

    *low = INFINITY;
    *high = -INFINITY;
    for (long s = 0; s < n; ++s) {
        if (isfinite(column->value[s])) {
            *low = fmin(*low, column->value[s]);
            *high = fmax(*high, column->value[s]);
            sum += column->value[s];
            ++n_values;
        }
    }
    return *low > 0 && *high > 100 * *low && sum < 0.25 * *high * (double)n_values;
}

static void write_axis(FILE *script, char axis, const shoal_column *column, long n, bool labelled)
{
    double low, high;
    const bool logarithmic = read_range(column, n, &low, &high);

    if (logarithmic) {
        shoal_plot_logarithmic(script, axis);
        const double margin = pow(high / low, 0.06);
        fprintf(script, "set %crange [%.17g:%.17g]\nset %ctics 10\n", axis, low / margin, high * margin, axis);
    } else {
        const double margin = high > low ? 0.06 * (high - low) : 0.5;
        fprintf(script, "unset logscale %c\nset format %c '%%g'\nset %crange [%.17g:%.17g]\nset %ctics %.17g\n", axis,
                axis, axis, low - margin, high + margin, axis, shoal_plot_step((high + 2 * margin - low) / 4.5));
    }
    if (!labelled) {
        fprintf(script, "set format %c ''\n", axis);
    }
}

/* A name at the left edge or the lower edge of the picture, in the middle of the panel. */
static void write_name(FILE *script, char axis, const shoal_column *column, bool shown)
{
    char text[160];

    fprintf(script, "unset label %d\n", axis == 'x' ? 1 : 2);
    if (shown) {
        shoal_plot_quantity(text, sizeof text, column->name, column->unit, false);
        fprintf(script, "set label %d ", axis == 'x' ? 1 : 2);
        shoal_plot_quote(script, text);
        fprintf(script, " noenhanced %s\n",
                axis == 'x' ? "at graph 0.5, screen 0.02 center" : "at screen 0.025, graph 0.5 center rotate");
    }
}

/* The column whose name begins the list, up to a comma or the end; names may hold commas, so the longest. -1: none. */
static int first_name(const shoal_result *result, const char *list)
{
    int found = -1;
    size_t longest = 0;

    for (int c = 0; c < result->n_columns; ++c) {
        const char *name = result->columns[c].name;
        const size_t length = strlen(name);
        if (length > longest && strncmp(list, name, length) == 0 && (!list[length] || list[length] == ',')) {
            found = c;
            longest = length;
        }
    }
    return found;
}

/* The columns that are asked for, else all that are swept or sampled: columns[*n], at least two. */
static shoal_status choose_columns(shoal_context *context, const shoal_result *result, const char *list,
                                   shoal_column columns[MOST_COLUMNS], int *n)
{
    *n = 0;
    for (const char *at = list; at && *n <= MOST_COLUMNS;) {
        const int c = first_name(result, at);
        if (c < 0) {
            char name[SHOAL_COLUMN_SIZE];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
            return shoal_plot_no_column(context, result, name, NULL, 0);
        }
        if (*n < MOST_COLUMNS) {
            columns[*n] = result->columns[c];
        }
        ++*n;
        at += strlen(result->columns[c].name);
        at = *at ? at + 1 : NULL;
    }
    if (list && (*n < 2 || *n > MOST_COLUMNS)) {
        return shoal_fail(context, SHOAL_E_USAGE, "--column: \"%s\": expected two to %d columns, NAME,NAME,...", list,
                          MOST_COLUMNS);
    }
    if (!list && result->n_swept < 2) {
        return shoal_fail(context, SHOAL_E_INPUT,
                          "pairs: two swept or sampled parameters are needed; this result has %s",
                          result->n_swept ? "one" : "none");
    }
    if (!list && result->n_swept > MOST_COLUMNS) {
        return shoal_fail(context, SHOAL_E_USAGE,
                          "pairs: expected --column NAME,NAME,...: two to %d of the %d swept or sampled parameters",
                          MOST_COLUMNS, result->n_swept);
    }
    for (; !list && *n < result->n_swept; ++*n) {
        columns[*n] = result->columns[*n];
    }
    return SHOAL_OK;
}

shoal_status shoal_plot_pairs(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                              FILE *script)
{
    shoal_column columns[MOST_COLUMNS];
    int n;
    long count[SHOAL_OUTCOMES] = {0};
    int order[SHOAL_OUTCOMES], n_kinds = 0;

    const shoal_status status = choose_columns(context, result, options->column, columns, &n);
    if (status != SHOAL_OK) {
        return status;
    }
    for (long s = 0; s < result->n_systems; ++s) {
        count[result->outcome[s]]++;
    }
    for (int k = 0; k < SHOAL_OUTCOMES; ++k) { /* the most frequent first: the rare ones lie above them */
        int at = count[k] ? n_kinds++ : -1;
        for (; at > 0 && count[order[at - 1]] < count[k]; --at) {
            order[at] = order[at - 1];
        }
        if (at >= 0) {
            order[at] = k;
        }
    }
    const double width = n > 3 ? SHOAL_PAGE_MM : SHOAL_COLUMN_MM;
    shoal_plot_begin(script, options, width, width);
    for (int i = 0; i < n_kinds; ++i) {
        fprintf(script, "$%s << EOD\n", shoal_outcome_name(order[i]));
        for (long s = 0; s < result->n_systems; ++s) {
            for (int c = 0; c < n && result->outcome[s] == order[i]; ++c) {
                fprintf(script, "%.9g%c", columns[c].value[s], c == n - 1 ? '\n' : ' ');
            }
        }
        fputs("EOD\n", script);
    }
    /* panels of p with gaps of g, in fractions of the picture */
    const double left = (n > 3 ? 18 : 15) / width, bottom = 11.5 / width, top = n > 2 ? 3 / width : 8 / width,
                 g = 4 / width;
    const double p = (1 - left - fmax(top, bottom - g) + g) / (n - 1) - g, high = (1 - bottom - top + g) / (n - 1) - g;
    fputs("set multiplot\n", script);
    for (int row = 1; row < n; ++row) {
        for (int c = 0; c < row; ++c) {
            const double x = left + c * (p + g), y = bottom + (n - 1 - row) * (high + g);
            fprintf(script, "set margins at screen %g, at screen %g, at screen %g, at screen %g\n", x, x + p, y,
                    y + high);
            write_axis(script, 'x', &columns[c], result->n_systems, row == n - 1);
            write_axis(script, 'y', &columns[row], result->n_systems, c == 0);
            write_name(script, 'x', &columns[c], row == n - 1);
            write_name(script, 'y', &columns[row], c == 0);
            fputs(row > 1 ? "unset key\n"
                  : n > 2 ? "set key at screen 0.98, screen 0.97\n"
                          : "set key above horizontal\n",
                  script);
            for (int i = 0; i < n_kinds; ++i) {
                const char *name = shoal_outcome_name(order[i]);
                const unsigned colour = shoal_plot_outcome_colour(order[i]);
                fprintf(script, "%s$%s using %d:%d with points pt 7 ps %g lc rgb '#%06x' notitle",
                        i ? ", \\\n  " : "plot ", name, c + 1, row + 1, result->n_systems < MANY_POINTS ? 0.5 : 0.2,
                        colour);
                fprintf(script, ", NaN with points pt 7 ps 1.2 lc rgb '#%06x' title '%s'", colour, name);
            }
            fputc('\n', script);
        }
    }
    fputs("unset multiplot\n", script);
    return SHOAL_OK;
}
