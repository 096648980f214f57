/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plot_energy.c: the error of the energy along the snapshots.
 *
 *     E = 1/2 sum m v^2 - |sum m v|^2 / (2 sum m) - sum over pairs of G m m' / r
 *
 * in the frame of the barycentre; the error is (E(t) - E(0)) / |E(0)| less the jumps of mergers and removals until
 * then, which the events hold. Forces beyond Newton's are not in E. An error that rounds to zero is drawn at 2^-53.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/report/plot.h"

#define MOST_SYSTEMS 100 /* lines; the median is that of all systems */

typedef struct sample {
    long system;
    double time;
    double way;   /* |time - that of the start| */
    double value; /* an energy, an event's jump, then an error */
    int there;    /* bodies */
    bool is_event;
} sample;

static double energy(int n, const shoal_body *body)
{
    double E = 0, m = 0, px = 0, py = 0, pz = 0;

    for (int i = 0; i < n; ++i) {
        const shoal_body *a = &body[i];
        E += 0.5 * a->m * (a->vx * a->vx + a->vy * a->vy + a->vz * a->vz);
        m += a->m;
        px += a->m * a->vx;
        py += a->m * a->vy;
        pz += a->m * a->vz;
        for (int j = 0; j < i; ++j) {
            const double dx = a->x - body[j].x, dy = a->y - body[j].y, dz = a->z - body[j].z;
            E -= a->m * body[j].m / sqrt(dx * dx + dy * dy + dz * dz);
        }
    }
    return E - 0.5 * (px * px + py * py + pz * pz) / m;
}

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

/* By system, events before snapshots, along the run. */
static int by_system(const void *a, const void *b)
{
    const sample *x = a, *y = b;

    return x->system != y->system       ? (x->system > y->system) - (x->system < y->system)
           : x->is_event != y->is_event ? y->is_event - x->is_event
                                        : compare_numbers(x->way, y->way);
}

static int by_time(const void *a, const void *b)
{
    return compare_numbers(((const sample *)a)->time, ((const sample *)b)->time);
}

static int by_value(const void *a, const void *b)
{
    return compare_numbers(((const sample *)a)->value, ((const sample *)b)->value);
}

/* The errors of the snapshots of a system (all if it is -1), by system and along the run; returns how many. A body
 * leaves a system at the end of the step in which its event is, so that the bodies that are there tell which events
 * count. */
static long read_errors(const shoal_result *result, long only, sample *samples, shoal_body *bodies)
{
    const size_t size = (size_t)result->n_bodies * SHOAL_STATE;
    double start = 0, jump = 0;
    long n = 0, n_errors = 0, next = 0; /* the event that comes next */
    int left = 0;                       /* bodies, after the events before it */

    for (long i = 0; i < result->n_snapshots; ++i) {
        const long s = (long)result->snapshot_system[i];
        if (only < 0 || s == only) {
            const int there = shoal_result_bodies(result, s, result->snapshot + (size_t)i * size, bodies, NULL);
            const double time = result->snapshot_time[i], way = fabs(time - result->t_initial[s]);
            samples[n++] = (sample){s, time, way, energy(there, bodies), there, false};
        }
    }
    for (long i = 0; i < result->n_events; ++i) {
        const long s = (long)result->event_system[i];
        const bool takes = !result->event_ended[i] && result->event[i] != SHOAL_ENCOUNTER;
        if (takes && (only < 0 || s == only)) {
            const double time = result->event_time[i], way = fabs(time - result->t_initial[s]);
            samples[n++] = (sample){s, time, way, result->event_dE[i], 0, true};
        }
    }
    qsort(samples, (size_t)n, sizeof *samples, by_system);
    for (long i = 0; i < n; ++i) {
        const long s = samples[i].system;
        if (i == 0 || s != samples[i - 1].system) {
            left = shoal_result_bodies(result, s, result->initial + (size_t)s * size, bodies, NULL);
            start = energy(left, bodies);
            jump = 0;
            next = i;
        }
        if (samples[i].is_event) {
            continue;
        }
        for (; samples[next].is_event && samples[i].there < left; ++next, --left) {
            jump += samples[next].value;
        }
        const double error = fabs((samples[i].value - start) / fabs(start) - jump);
        samples[i].value = error < DBL_EPSILON / 2 ? DBL_EPSILON / 2 : error;
    }
    for (long i = 0; i < n; ++i) {
        const bool is_start = samples[i].time == result->t_initial[samples[i].system];
        if (!samples[i].is_event && !is_start && isfinite(samples[i].value)) {
            samples[n_errors++] = samples[i];
        }
    }
    return n_errors;
}

/* Whether there is a snapshot of the system (of any if it is -1) after its start. */
static bool has_later(const shoal_result *result, long only)
{
    bool has = false;
    for (long i = 0; i < result->n_snapshots && !has; ++i) {
        const long s = (long)result->snapshot_system[i];
        has = (only < 0 || s == only) && result->snapshot_time[i] != result->t_initial[s];
    }
    return has;
}

/* The median of the systems at each time that several of them share; returns how many times. Sorts the samples anew. */
static long write_median(FILE *script, sample *samples, long n)
{
    long n_shared = 0;
    qsort(samples, (size_t)n, sizeof *samples, by_time);
    for (long i = 0, next; i < n; i = next) {
        const double time = samples[i].time, near = shoal_result_same_time(time, samples[i].way);
        for (next = i + 1; next < n && samples[next].time - time <= near; ++next) {
        }
        if (next - i > 1) {
            n_shared++;
            qsort(samples + i, (size_t)(next - i), sizeof *samples, by_value);
            fprintf(script, "%.17g %.17g\n", time,
                    0.5 * (samples[(i + next - 1) / 2].value + samples[(i + next) / 2].value));
        }
    }
    return n_shared;
}

shoal_status shoal_plot_energy(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                               FILE *script)
{
    long only = -1, drawn = -1, n;
    double earliest = INFINITY, latest = -INFINITY;
    bool shown = false;

    if (options->system >= 0 || result->n_systems == 1) {
        const shoal_status status = shoal_plot_system(context, result, options, &only);
        if (status != SHOAL_OK) {
            return status;
        }
    }
    sample *samples = malloc((size_t)(result->n_snapshots + result->n_events + 1) * sizeof *samples);
    shoal_body *bodies = malloc((size_t)result->n_bodies * sizeof *bodies);
    if (!samples || !bodies) {
        free(samples);
        free(bodies);
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the energies of %ld snapshots",
                          result->n_snapshots);
    }
    n = read_errors(result, only, samples, bodies);
    free(bodies);
    if (n == 0) {
        free(samples);
        return shoal_fail(context, SHOAL_E_INPUT,
                          has_later(result, only)
                              ? "energy: no snapshot has an error of the energy: the energy starts at 0"
                              : "energy: there are no snapshots; add output.interval to the config");
    }
    shoal_plot_begin(script, options, SHOAL_COLUMN_MM, 64);
    fputs("$systems << EOD\n", script);
    for (long i = 0; i < n; ++i) {
        const long s = samples[i].system;
        const long line = only < 0 && result->n_systems > MOST_SYSTEMS ? s * MOST_SYSTEMS / result->n_systems : s;
        const bool first = i == 0 || s != samples[i - 1].system;
        shown = first ? line != drawn : shown;
        drawn = line;
        if (shown) {
            fprintf(script, "%s%.17g %.17g\n", first && i > 0 ? "\n" : "", samples[i].time, samples[i].value);
        }
        earliest = fmin(earliest, samples[i].time);
        latest = fmax(latest, samples[i].time);
    }
    fputs("EOD\n", script);
    const shoal_plot_time axis = shoal_plot_times(script, result, earliest, latest);
    shoal_plot_logarithmic(script, 'y');
    shoal_plot_label(script, 'y', "|dE / E|", "");
    fputs("unset mytics\nset key above horizontal\n", script);
    if (only < 0) {
        fputs("$median << EOD\n", script);
        const bool shared = write_median(script, samples, n) > 0;
        fprintf(script, "EOD\nplot $systems using %s:2 with lines lw 0.5 lc rgb '#b0b0b0' title 'systems'", axis.of);
        if (shared) {
            fprintf(script, ", \\\n  $median using %s:2 with lines lw 2 lc rgb '#%06x' title 'median'", axis.of,
                    shoal_plot_colour(0));
        }
        fputc('\n', script);
    } else {
        fprintf(script, "plot $systems using %s:2 with lines lc rgb '#%06x' title 'system %lld'\n", axis.of,
                shoal_plot_colour(0), (long long)result->id[only]);
    }
    free(samples);
    return SHOAL_OK;
}
