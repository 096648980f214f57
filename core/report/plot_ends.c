/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plot_ends.c: pictures of when and how systems end.
 *
 * Survival: S(t) = prod over end times t_i <= t of (1 - d_i / n_i), d_i of the n_i systems still followed at t_i ending
 * there (E. L. Kaplan and P. Meier, 1958, J. Am. Stat. Assoc. 53, 457, DOI 10.1080/01621459.1958.10501452), and for
 * each outcome k the fraction ended by it, F_k(t) = sum of S(t_i-) d_ki / n_i (O. O. Aalen and S. Johansen, 1978,
 * Scand. J. Stat. 5, 141). S + sum F_k = 1. Systems that were only followed for a while (survived, running, out of
 * budget) count until then; if all were followed to one end, these are plain fractions. Systems that could not start
 * are left out. The same for bodies, which are followed until they are gone or their system is not followed any more.
 * How far a system is that still runs, an interrupted run's file says, or its last snapshot.
 */
#include <math.h>
#include <stdlib.h>

#include "core/report/plot.h"

#define BINS       24
#define RESOLUTION 5e-4 /* of a curve; smaller steps are drawn together */

/* When a system or a body ended or was last seen, since its start, and how. */
typedef struct end {
    double time;
    int outcome;
} end;

static bool has_ended(int outcome)
{
    return outcome != SHOAL_RUNNING && outcome != SHOAL_SURVIVED && outcome != SHOAL_BUDGET;
}

static int compare_ends(const void *a, const void *b)
{
    const double x = ((const end *)a)->time, y = ((const end *)b)->time;

    return (x > y) - (x < y);
}

/* Into the ends of bodies 1, 2, ... of each system: the one of a and b that is gone, if one is, with what happened
 * to a system. */
static void lose_body(const shoal_result *result, end *ends, long system, double time, int what, int a, int b)
{
    const int body = what == SHOAL_EJECTED ? a : what == SHOAL_COLLIDED || what == SHOAL_HIT_STAR ? b : -1;

    if (body > 0) {
        ends[system * (result->n_bodies - 1) + body - 1] = (end){fabs(time - result->t_initial[system]), what};
    }
}

/* How long each system was followed, NaN if nobody knows; malloc'd, NULL without memory. */
static double *read_lengths(const shoal_result *result)
{
    double *length = malloc((size_t)result->n_systems * sizeof *length);

    for (long s = 0; length && s < result->n_systems; ++s) {
        const bool runs = result->outcome[s] == SHOAL_RUNNING;
        length[s] = fabs((runs ? result->t_final[s] : result->t_stop[s]) - result->t_initial[s]);
    }
    for (long i = 0; length && i < result->n_snapshots; ++i) {
        const long s = (long)result->snapshot_system[i];
        if (result->outcome[s] == SHOAL_RUNNING) {
            length[s] = fmax(length[s], fabs(result->snapshot_time[i] - result->t_initial[s]));
        }
    }
    return length;
}

/* The systems that ran, or their bodies but the first, in order of time; malloc'd, NULL with a message if there are
 * none. */
static end *read_ends(shoal_context *context, const shoal_result *result, bool bodies, long *n)
{
    const int n_each = bodies ? result->n_bodies - 1 : 1;
    const long n_all = result->n_systems * n_each;
    long unknown = 0;
    end *ends = malloc((size_t)n_all * sizeof *ends);
    double *length = read_lengths(result);

    if (!ends || !length) {
        shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the ends of %ld systems", result->n_systems);
        free(length);
        free(ends);
        return NULL;
    }
    for (long i = 0; i < n_all; ++i) {
        const long s = i / n_each;
        unknown += result->outcome[s] == SHOAL_RUNNING && isfinite(result->t_initial[s]) && isnan(length[s]);
        ends[i] = (end){length[s], bodies ? SHOAL_SURVIVED : result->outcome[s]};
    }
    free(length);
    if (unknown > 0) {
        shoal_fail(context, SHOAL_E_INPUT,
                   "%ld systems run on, and nothing says how far they are; add output.interval to the config",
                   unknown / n_each);
        free(ends);
        return NULL;
    }
    for (long e = 0; bodies && e < result->n_events; ++e) {
        lose_body(result, ends, result->event_system[e], result->event_time[e], result->event[e], result->event_a[e],
                  result->event_b[e]);
    }
    for (long s = 0; bodies && s < result->n_systems; ++s) {
        lose_body(result, ends, s, result->t_stop[s], result->outcome[s], result->body_a[s], result->body_b[s]);
    }
    *n = 0;
    for (long i = 0; i < n_all; ++i) {
        const long s = i / n_each;
        const bool there = result->outcome[s] != SHOAL_INVALID && (!bodies || i % n_each + 1 < result->n_live[s]);
        if (there && isfinite(ends[i].time) && (ends[i].time > 0 || has_ended(ends[i].outcome))) {
            ends[(*n)++] = ends[i];
        }
    }
    if (*n == 0) {
        shoal_fail(context, SHOAL_E_INPUT, "no system of this result has run: there are no end times to draw");
        free(ends);
        return NULL;
    }
    qsort(ends, (size_t)*n, sizeof *ends, compare_ends);
    return ends;
}

/* The first time after the start at which a system ended, +inf if none did. */
static double first_end(const end *ends, long n)
{
    for (long i = 0; i < n; ++i) {
        if (has_ended(ends[i].outcome) && ends[i].time > 0) {
            return ends[i].time;
        }
    }
    return INFINITY;
}

/* The last time, where the axis ends. */
static double last_time(const end *ends, long n)
{
    return ends[n - 1].time > 0 ? ends[n - 1].time : 1;
}

/* The axis of times; log10 if they span more than two decades. */
static bool time_axis(FILE *script, const shoal_result *result, double from, double to)
{
    const bool logarithmic = to > 100 * from;

    shoal_plot_label(script, 'x', "time since the start", result->units.time_name);
    if (logarithmic) {
        shoal_plot_logarithmic(script, 'x');
    } else {
        fprintf(script, "set format x '%%h'\nset xtics %.17g\n", shoal_plot_step(to / 5));
    }
    fprintf(script, "set xrange [%.17g:%.17g]\n", logarithmic ? pow(10, floor(log10(from))) : 0, to);
    return logarithmic;
}

/* One curve as a data block: outcome k, or the survivors for k = SHOAL_SURVIVED. */
static void write_curve(FILE *script, const end *ends, long n, int k, double start)
{
    double alive = 1, ended = 0, drawn = k == SHOAL_SURVIVED;

    fprintf(script, "$%s << EOD\n%.17g %.17g\n", shoal_outcome_name(k), start, drawn);
    for (long i = 0, next; i < n; i = next) {
        long all = 0, by_k = 0;
        for (next = i; next < n && ends[next].time == ends[i].time; ++next) {
            all += has_ended(ends[next].outcome);
            by_k += ends[next].outcome == k;
        }
        ended += alive * (double)by_k / (double)(n - i);
        alive *= 1 - (double)all / (double)(n - i);
        const double now = k == SHOAL_SURVIVED ? alive : ended;
        if (fabs(now - drawn) > RESOLUTION || next == n) {
            fprintf(script, "%.17g %.17g\n", fmax(ends[i].time, start), now);
            drawn = now;
        }
    }
    fputs("EOD\n", script);
}

static shoal_status plot_curves(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                                bool bodies, FILE *script)
{
    long n, n_outcome[SHOAL_OUTCOMES] = {0};
    end *ends = read_ends(context, result, bodies, &n);

    if (!ends) {
        return SHOAL_E_INPUT;
    }
    for (long i = 0; i < n; ++i) {
        n_outcome[ends[i].outcome]++;
    }
    n_outcome[SHOAL_SURVIVED] = n; /* this curve is always there */
    shoal_plot_begin(script, options, SHOAL_COLUMN_MM, 64);
    const double first = first_end(ends, n), last = last_time(ends, n);
    time_axis(script, result, first, last);
    shoal_plot_label(script, 'y', bodies ? "fraction of bodies" : "fraction of systems", "");
    fputs("set yrange [0:1.02]\nset key above horizontal\n", script);
    for (int k = 0; k < SHOAL_OUTCOMES; ++k) {
        if (n_outcome[k] && (k == SHOAL_SURVIVED || has_ended(k))) {
            write_curve(script, ends, n, k, isfinite(first) ? 1e-6 * first : 0);
        }
    }
    const char *separator = "plot ";
    for (int k = 0; k < SHOAL_OUTCOMES; ++k) {
        if (n_outcome[k] && (k == SHOAL_SURVIVED || has_ended(k))) {
            fprintf(script, "%s$%s with steps lw 2 lc rgb '#%06x' title '%s'", separator, shoal_outcome_name(k),
                    shoal_plot_outcome_colour(k),
                    k != SHOAL_SURVIVED ? shoal_outcome_name(k)
                    : bodies            ? "still there"
                                        : "still running");
            separator = ", \\\n  ";
        }
    }
    fputc('\n', script);
    free(ends);
    return SHOAL_OK;
}

shoal_status shoal_plot_survival(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                                 FILE *script)
{
    return plot_curves(context, result, options, false, script);
}

shoal_status shoal_plot_bodies(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                               FILE *script)
{
    return plot_curves(context, result, options, true, script);
}

shoal_status shoal_plot_ends(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                             FILE *script)
{
    long n, n_ended = 0, count[BINS][SHOAL_OUTCOMES] = {{0}};
    int n_kinds = 0, kind[SHOAL_OUTCOMES];
    double highest = 0;
    end *ends = read_ends(context, result, false, &n);

    if (!ends) {
        return SHOAL_E_INPUT;
    }
    for (long i = 0; i < n; ++i) {
        n_ended += has_ended(ends[i].outcome);
    }
    if (n_ended == 0) {
        free(ends);
        return shoal_fail(context, SHOAL_E_INPUT,
                          "ends: every system of this result lived on: there are no ends to draw");
    }
    shoal_plot_begin(script, options, SHOAL_COLUMN_MM, 64);
    const double first = first_end(ends, n), last = last_time(ends, n);
    const bool logarithmic = time_axis(script, result, first, last);
    const double low = logarithmic ? floor(log10(first)) : 0, high = logarithmic ? log10(last) : last;
    for (int k = 0; k < SHOAL_OUTCOMES; ++k) {
        bool there = false;
        for (long i = 0; i < n; ++i) {
            if (ends[i].outcome == k && has_ended(k)) {
                const double x = logarithmic ? log10(ends[i].time) : ends[i].time;
                /* those that ended at once in the first */
                const int bin = (int)(BINS * fmax(x - low, 0) / (high - low));
                count[bin < BINS ? bin : BINS - 1][k]++;
                there = true;
            }
        }
        if (there) {
            kind[n_kinds++] = k;
        }
    }
    free(ends);
    for (int i = 0; i < n_kinds; ++i) { /* each on top of those before it: x, bottom, left, right, bottom, top */
        fprintf(script, "$%s << EOD\n", shoal_outcome_name(kind[i]));
        for (int bin = 0; bin < BINS; ++bin) {
            const double left = low + (high - low) * bin / BINS, right = low + (high - low) * (bin + 1) / BINS;
            long bottom = 0;
            for (int j = 0; j < i; ++j) {
                bottom += count[bin][kind[j]];
            }
            highest = fmax(highest, (double)(bottom + count[bin][kind[i]]));
            if (count[bin][kind[i]]) {
                fprintf(script, "%.17g %ld %.17g %.17g %ld %ld\n",
                        logarithmic ? pow(10, (left + right) / 2) : (left + right) / 2, bottom,
                        logarithmic ? pow(10, left) : left, logarithmic ? pow(10, right) : right, bottom,
                        bottom + count[bin][kind[i]]);
            }
        }
        fputs("EOD\n", script);
    }
    shoal_plot_label(script, 'y', "systems", "");
    fprintf(script, "set yrange [0:*]\nset ytics %g\nset key above horizontal\n",
            fmax(shoal_plot_step(highest / 5), 1));
    for (int i = 0; i < n_kinds; ++i) {
        fprintf(script, "%s$%s with boxxyerror lc rgb '#%06x' fs solid border rgb '#%06x' title '%s'",
                i ? ", \\\n  " : "plot ", shoal_outcome_name(kind[i]), shoal_plot_outcome_colour(kind[i]),
                shoal_plot_outcome_colour(kind[i]), shoal_outcome_name(kind[i]));
    }
    fputc('\n', script);
    return SHOAL_OK;
}
