/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * query.c: results as CSV for people and scripts: a table of states, that of the systems, and that of their events.
 *
 * Numbers have 17 significant digits, so that reading them back gives the same bits; NaN, which stands for "nothing
 * computed it", is an empty field. Names are quoted where they would break a line apart (RFC 4180).
 */
#include "result.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#define TIME_TOLERANCE 1e-9 /* relative: so near a snapshot must be to the time asked for */

static void print_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void print_number(FILE *out, double value)
{
    if (!isnan(value))
        fprintf(out, "%.17g", value);
}

/* A system is selected by its id, which is its row unless it comes from a file that says otherwise. */
static bool selected(const shoal_result *result, long s, long first, long last)
{
    return result->id[s] >= first && result->id[s] <= last;
}

static shoal_status check_range(shoal_context *context, const shoal_result *result, long first, long last)
{
    int64_t lowest = INT64_MAX, highest = INT64_MIN;
    for (long s = 0; s < result->n_systems; s++) {
        lowest = result->id[s] < lowest ? result->id[s] : lowest;
        highest = result->id[s] > highest ? result->id[s] : highest;
    }
    if (first >= 0 && first <= last && first <= highest && (last <= highest || last == LONG_MAX))
        return SHOAL_OK;
    return shoal_fail(context, SHOAL_E_USAGE, "query: --systems: there are systems %lld..%lld", (long long)lowest,
                      (long long)highest);
}

static shoal_status check_written(shoal_context *context, FILE *out)
{
    errno = 0;
    if (fflush(out) || ferror(out))
        return shoal_fail(context, SHOAL_E_FILE, "cannot write the table: %s",
                          errno ? strerror(errno) : "output error");
    return SHOAL_OK;
}

static void print_states(FILE *out, const shoal_result *result, long system, double time, const double *state)
{
    for (int b = 0; b < result->n_live[system]; b++) {
        fprintf(out, "%lld,%d,", (long long)result->id[system], b);
        print_text(out, result->body_name[b]);
        fputc(',', out);
        print_number(out, time);
        for (int q = 0; q < SHOAL_STATE; q++) {
            fputc(',', out);
            print_number(out, state[(size_t)b * SHOAL_STATE + (size_t)q]);
        }
        fputc('\n', out);
    }
}

/* No snapshot is near enough: name the nearest times before and after. */
static shoal_status no_snapshot(shoal_context *context, const shoal_result *result, double time, long first, long last)
{
    double before = -INFINITY, after = INFINITY;
    for (long i = 0; i < result->n_snapshots; i++) {
        double there = result->snapshot_time[i];
        if (!selected(result, (long)result->snapshot_system[i], first, last))
            continue;
        if (there <= time && there > before)
            before = there;
        if (there >= time && there < after)
            after = there;
    }
    const char *unit = result->units.time_name;
    if (isfinite(before) && isfinite(after))
        return shoal_fail(context, SHOAL_E_INPUT,
                          "there is no snapshot at %.15g %s; the nearest are at %.15g and %.15g", time, unit, before,
                          after);
    if (isfinite(before) || isfinite(after))
        return shoal_fail(context, SHOAL_E_INPUT, "there is no snapshot at %.15g %s; the nearest is at %.15g", time,
                          unit, isfinite(before) ? before : after);
    return shoal_fail(context, SHOAL_E_INPUT, "there is no snapshot at %.15g %s: these systems have none", time, unit);
}

shoal_status shoal_query_snapshots(shoal_context *context, const shoal_result *result, double time, long first, long last,
                                   long *row)
{
    double scale = fabs(time);
    bool found = false;
    for (long s = 0; s < result->n_systems; s++)
        row[s] = -1;
    for (long i = 0; time == 0.0 && i < result->n_snapshots; i++)
        scale = fmax(scale, fabs(result->snapshot_time[i])); /* nothing is near zero relative to zero */
    for (long i = 0; i < result->n_snapshots; i++) {
        long s = (long)result->snapshot_system[i];
        double distance = fabs(result->snapshot_time[i] - time);
        if (!selected(result, s, first, last) || !(distance <= TIME_TOLERANCE * scale))
            continue;
        long *best = &row[s];
        if (*best < 0 || distance < fabs(result->snapshot_time[*best] - time))
            *best = i;
        found = true;
    }
    return found ? SHOAL_OK : no_snapshot(context, result, time, first, last);
}

shoal_status shoal_query_states(shoal_context *context, const shoal_result *result, shoal_query_state which,
                                double time, long first, long last, FILE *out)
{
    const size_t size = (size_t)result->n_bodies * SHOAL_STATE;
    long *row = NULL;
    shoal_status status = check_range(context, result, first, last);
    if (status)
        return status;
    if (which == SHOAL_QUERY_TIME) {
        row = malloc((size_t)result->n_systems * sizeof *row);
        if (!row)
            return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the snapshots of %ld systems",
                              result->n_systems);
        if ((status = shoal_query_snapshots(context, result, time, first, last, row)))
            goto fail;
    }
    fputs("system,body,name,time,m,x,y,z,vx,vy,vz\n", out);
    for (long s = 0; s < result->n_systems; s++) {
        if (!selected(result, s, first, last))
            continue;
        switch (which) {
        case SHOAL_QUERY_INITIAL:
            print_states(out, result, s, result->t_initial[s], result->initial + (size_t)s * size);
            break;
        case SHOAL_QUERY_FINAL:
            print_states(out, result, s, result->t_final[s], result->final + (size_t)s * size);
            break;
        case SHOAL_QUERY_TIME:
            if (row[s] >= 0)
                print_states(out, result, s, result->snapshot_time[row[s]], result->snapshot + (size_t)row[s] * size);
        }
    }
    status = check_written(context, out);
fail:
    free(row);
    return status;
}

static void print_field(FILE *out, const shoal_result *result, const shoal_field *field, long row)
{
    const void *data = shoal_field_data(result, field);
    int index;
    switch (field->type) {
    case SHOAL_FIELD_INT64:
        fprintf(out, "%lld", (long long)((const int64_t *)data)[row]);
        break;
    case SHOAL_FIELD_ROW:
        fprintf(out, "%lld", (long long)result->id[((const int64_t *)data)[row]]);
        break;
    case SHOAL_FIELD_INT:
        fprintf(out, "%d", ((const int *)data)[row]);
        break;
    case SHOAL_FIELD_OUTCOME:
        fputs(shoal_outcome_name(((const int *)data)[row]), out);
        break;
    case SHOAL_FIELD_INDEX:
        index = ((const int *)data)[row];
        if (index >= 0)
            print_text(out, result->body_name[index]);
        break;
    case SHOAL_FIELD_DOUBLE:
        print_number(out, ((const double *)data)[row]);
        break;
    case SHOAL_FIELD_STATES: /* has a table of its own */
        break;
    }
}

/* A line of the fixed columns of systems (when = SHOAL_FIELD_BEFORE | SHOAL_FIELD_AFTER) or of events; row -1 is the heading. */
static void print_fields(FILE *out, const shoal_result *result, int when, long row)
{
    const char *comma = "";
    for (int f = 0; f < shoal_result_n_fields; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        if (!field->csv || !(field->when & when))
            continue;
        fputs(comma, out);
        comma = ",";
        if (row < 0)
            fputs(field->csv, out);
        else
            print_field(out, result, field, row);
    }
}

shoal_status shoal_query_systems(shoal_context *context, const shoal_result *result, long first, long last, FILE *out)
{
    shoal_status status = check_range(context, result, first, last);
    if (status)
        return status;
    for (long s = -1; s < result->n_systems; s++) { /* the row before the first one is the heading */
        if (s >= 0 && !selected(result, s, first, last))
            continue;
        print_fields(out, result, SHOAL_FIELD_BEFORE | SHOAL_FIELD_AFTER, s);
        for (int c = 0; c < result->n_columns; c++) {
            fputc(',', out);
            if (s < 0)
                print_text(out, result->columns[c].name);
            else
                print_number(out, result->columns[c].value[s]);
        }
        fputc('\n', out);
    }
    return check_written(context, out);
}

shoal_status shoal_query_events(shoal_context *context, const shoal_result *result, long first, long last, FILE *out)
{
    shoal_status status = check_range(context, result, first, last);
    if (status)
        return status;
    for (long i = -1; i < result->n_events; i++) {
        if (i >= 0 && !selected(result, (long)result->event_system[i], first, last))
            continue;
        print_fields(out, result, SHOAL_FIELD_EVENT, i);
        fputc('\n', out);
    }
    return check_written(context, out);
}
