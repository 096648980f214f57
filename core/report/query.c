/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * query.c: results as CSV for people and scripts: a table of states, that of the systems, those of their events and of
 * what monitors logged.
 *
 * Numbers have the digits that give the same bits when they are read back; NaN, which stands for "nothing
 * computed it", is an empty field. Names are quoted where they would break a line apart (RFC 4180).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/report/report.h"

static void print_number(FILE *out, double value)
{
    char text[SHOAL_NUMBER_SIZE];
    if (!isnan(value))
        fputs(shoal_number_print(text, value), out);
}

/* ---- states and orbits ------------------------------------------------------------------------------------------- */

static shoal_status check_written(shoal_context *context, FILE *out)
{
    errno = 0;
    if (fflush(out) || ferror(out))
        return shoal_fail(context, SHOAL_E_FILE, "cannot write the table: %s", shoal_why());
    return SHOAL_OK;
}

static void print_body(FILE *out, const shoal_result *result, long system, int body, double time)
{
    fprintf(out, "%lld,%d,", (long long)result->id[system], body);
    shoal_print_csv(out, result->body_name[body]);
    fputc(',', out);
    print_number(out, time);
}

/* Where the orbits of a system are computed, and about what. */
typedef struct orbit_room {
    shoal_frame frame;
    shoal_eases eases;
    int *which;
    shoal_body *bodies;
    shoal_orbit *orbits;
} orbit_room;

/* Bodies that are gone (their states are NaN) have no orbit and are no one's centre; a system without orbits has
 * empty fields. */
static void print_orbits(FILE *out, const shoal_result *result, orbit_room room, long system, double time,
                         const double *state)
{
    shoal_orbit *orbits = room.orbits;
    const shoal_units *units = &result->units;
    const double degree = M_PI / 180;
    const int n = shoal_result_bodies(result, system, state, room.bodies, room.which);
    const bool known = n > 1 && shoal_eased_orbits_from_bodies(NULL, room.frame, n, room.bodies, room.which,
                                                               &room.eases, orbits) == SHOAL_OK;
    for (int b = 0, i = 0; b < result->n_live[system]; b++) {
        const double *s = state + (size_t)b * SHOAL_STATE;
        const bool there = !isnan(s[1]);
        if (there && i++ == 0)
            continue;                                      /* the central body */
        const shoal_orbit *o = &orbits[i > 0 ? i - 1 : 0]; /* i = 0: none is there yet, and none is printed */
        const double values[] = {s[0],
                                 o->a / units->length,
                                 o->e,
                                 o->inc / degree,
                                 o->Omega / degree,
                                 o->omega / degree,
                                 o->f / degree,
                                 o->M / degree,
                                 o->P / units->time};
        print_body(out, result, system, b, time);
        for (int q = 0; q < SHOAL_COUNT(values); q++) {
            fputc(',', out);
            print_number(out, q == 0 || (there && known) ? values[q] : NAN);
        }
        fputc('\n', out);
    }
}

static void print_states(FILE *out, const shoal_result *result, long system, double time, const double *state)
{
    for (int b = 0; b < result->n_live[system]; b++) {
        print_body(out, result, system, b, time);
        for (int q = 0; q < SHOAL_STATE; q++) {
            fputc(',', out);
            print_number(out, state[(size_t)b * SHOAL_STATE + (size_t)q]);
        }
        fputc('\n', out);
    }
}

/* Which systems are wanted: [n_systems], malloc'd. */
static shoal_status choose(shoal_context *context, const shoal_result *result, const shoal_selection *of, bool **chosen)
{
    *chosen = malloc((size_t)result->n_systems * sizeof **chosen);
    shoal_status status = *chosen
                              ? shoal_select_systems(context, result, of, *chosen)
                              : shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld systems", result->n_systems);
    if (status) {
        free(*chosen);
        *chosen = NULL;
    }
    return status;
}

shoal_status shoal_query_states(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                                const shoal_query *query, FILE *out)
{
    const size_t size = (size_t)result->n_bodies * SHOAL_STATE;
    bool *chosen = NULL;
    shoal_status status = choose(context, result, of, &chosen);
    if (status)
        return status;
    long *row = malloc((size_t)result->n_systems * sizeof *row);
    const size_t n_bodies = (size_t)result->n_bodies;
    orbit_room room = {.frame = query->frame,
                       .which = calloc(n_bodies, sizeof *room.which),
                       .bodies = malloc(n_bodies * sizeof *room.bodies),
                       .orbits = calloc(n_bodies, sizeof *room.orbits)};
    shoal_report_eases(context, result, &room.eases);
    if (!row || !room.which || !room.bodies || !room.orbits) {
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the states of %ld systems", result->n_systems);
        goto fail;
    }
    if (query->which == SHOAL_QUERY_TIME &&
        (status = shoal_select_snapshots(context, result, chosen, query->from, row)))
        goto fail;
    fprintf(out, "system,body,name,time,m,%s\n", query->orbits ? "a,e,inc,Omega,omega,f,M,P" : "x,y,z,vx,vy,vz");
    const long n = query->which == SHOAL_QUERY_TIMES ? result->n_snapshots : result->n_systems;
    for (long i = 0; i < n; i++) {
        long s = i;
        double time = result->t_initial[i < result->n_systems ? i : 0];
        const double *state = result->initial + (size_t)s * size;
        if (query->which == SHOAL_QUERY_FINAL) {
            time = result->t_final[s];
            state = result->final + (size_t)s * size;
        } else if (query->which != SHOAL_QUERY_INITIAL) {
            const long snapshot = query->which == SHOAL_QUERY_TIME ? row[i] : i;
            if (snapshot < 0)
                continue;
            s = (long)result->snapshot_system[snapshot];
            time = result->snapshot_time[snapshot];
            state = result->snapshot + (size_t)snapshot * size;
            if (query->which == SHOAL_QUERY_TIMES && !(time >= query->from && time <= query->to))
                continue;
        }
        if (!chosen[s])
            continue;
        if (query->orbits)
            print_orbits(out, result, room, s, time, state);
        else
            print_states(out, result, s, time, state);
    }
    status = check_written(context, out);
fail:
    free(chosen);
    free(row);
    free(room.which);
    free(room.bodies);
    free(room.orbits);
    return status;
}

/* ---- tables of systems and events -------------------------------------------------------------------------------- */

static void print_field(FILE *out, const shoal_result *result, const shoal_field *field, long row)
{
    const void *data = shoal_field_data(result, field);
    int index;
    switch (field->type) {
    case SHOAL_FIELD_INT64: fprintf(out, "%lld", (long long)((const int64_t *)data)[row]); break;
    case SHOAL_FIELD_ROW: fprintf(out, "%lld", (long long)result->id[((const int64_t *)data)[row]]); break;
    case SHOAL_FIELD_INT: fprintf(out, "%d", ((const int *)data)[row]); break;
    case SHOAL_FIELD_OUTCOME: fputs(shoal_outcome_name(((const int *)data)[row]), out); break;
    case SHOAL_FIELD_INDEX:
        index = ((const int *)data)[row];
        if (index >= 0)
            shoal_print_csv(out, result->body_name[index]);
        break;
    case SHOAL_FIELD_DOUBLE: print_number(out, ((const double *)data)[row]); break;
    case SHOAL_FIELD_STATES: /* has a table of its own */ break;
    }
}

/* A line of the fixed columns of systems (when = SHOAL_FIELD_BEFORE | SHOAL_FIELD_AFTER) or of events; row -1 is the
 * heading. */
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

shoal_status shoal_query_systems(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                                 FILE *out)
{
    bool *chosen = NULL;
    shoal_status status = choose(context, result, of, &chosen);
    if (status)
        return status;
    for (long s = -1; s < result->n_systems; s++) { /* the row before the first one is the heading */
        if (s >= 0 && !chosen[s])
            continue;
        print_fields(out, result, SHOAL_FIELD_BEFORE | SHOAL_FIELD_AFTER, s);
        for (int c = 0; c < result->n_columns; c++) {
            fputc(',', out);
            if (s < 0)
                shoal_print_csv(out, result->columns[c].name);
            else
                print_number(out, result->columns[c].value[s]);
        }
        fputc('\n', out);
    }
    free(chosen);
    return check_written(context, out);
}

shoal_status shoal_query_events(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                                const char *only, FILE *out)
{
    bool *chosen = NULL;
    int event = -1;
    shoal_status status = choose(context, result, of, &chosen);
    if (!status && only)
        status = shoal_select_outcome(context, "--events", only, &event);
    if (status) {
        free(chosen);
        return status;
    }
    for (long i = -1; i < result->n_events; i++) {
        if (i >= 0 && ((only && result->event[i] != event) || !chosen[result->event_system[i]]))
            continue;
        print_fields(out, result, SHOAL_FIELD_EVENT, i);
        fputc('\n', out);
    }
    free(chosen);
    return check_written(context, out);
}

/* A number of a log: a system's id, an outcome's or a body's name, or a number. */
static void print_logged(FILE *out, const shoal_result *result, const shoal_column *column, long row)
{
    const double value = column->value[row];
    if (strcmp(column->unit, SHOAL_UNIT_ROW) == 0)
        fprintf(out, "%lld", (long long)result->id[(long)value]);
    else if (strcmp(column->unit, SHOAL_UNIT_OUTCOME) == 0)
        fputs(shoal_outcome_name((int)value), out);
    else if (strcmp(column->unit, SHOAL_UNIT_BODY) != 0)
        print_number(out, value);
    else if (value >= 0)
        shoal_print_csv(out, result->body_name[(int)value]);
}

/* Refused: the file has no log of that name. */
static shoal_status no_log(shoal_context *context, const shoal_result *result, const char *name)
{
    char names[400] = "";
    size_t used = 0;
    for (int l = 0; l < result->n_logs && used < sizeof names; l++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", l ? ", " : "",
                                 shoal_log_name(&result->logs[l]));
    return shoal_fail(context, SHOAL_E_USAGE,
                      "--log: \"%.60s\": expected a monitor that logged, of which the file has %s", name,
                      result->n_logs ? names : "none");
}

shoal_status shoal_query_log(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                             const char *name, FILE *out)
{
    bool *chosen = NULL;
    const shoal_log *log = shoal_result_log(result, name);
    if (!log)
        return no_log(context, result, name);
    const shoal_status status = choose(context, result, of, &chosen);
    if (status)
        return status;
    for (long i = -1; i < log->n_rows; i++) {
        if (i >= 0 && !chosen[(long)log->columns[0].value[i]])
            continue;
        for (int c = 0; c < log->n_columns; c++) {
            fputs(c ? "," : "", out);
            if (i < 0)
                shoal_print_csv(out, log->columns[c].name);
            else
                print_logged(out, result, &log->columns[c], i);
        }
        fputc('\n', out);
    }
    free(chosen);
    return check_written(context, out);
}
