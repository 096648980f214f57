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

/* Digits that are read back as the same double: 0.1, not 0.10000000000000001. */
static void print_number(FILE *out, double value)
{
    if (isnan(value))
        return;
    char text[32];
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof text, "%.17g", value);
    fputs(text, out);
}

/* ---- which systems ------------------------------------------------------------------------------------------------ */

enum { MOST_CONDITIONS = 16 };
enum { LESS, LESS_OR_SAME, MORE, MORE_OR_SAME, SAME, OTHER, OPERATORS };
static const char *const operators[OPERATORS] = { "<", "<=", ">", ">=", "==", "!=" };

typedef struct condition {
    const shoal_field *field; /* NULL: a column */
    int column, operator;
    double value;
} condition;

typedef struct filter {
    const shoal_result *result;
    const shoal_selection *of;
    condition conditions[MOST_CONDITIONS];
    int n_conditions;
} filter;

static bool in_systems_table(const shoal_field *field)
{
    return field->csv && field->when & (SHOAL_FIELD_BEFORE | SHOAL_FIELD_AFTER);
}

/* A number of the systems table. */
static double table_number(const shoal_result *result, const shoal_field *field, int column, long s)
{
    if (!field)
        return result->columns[column].value[s];
    const void *data = shoal_field_data(result, field);
    return field->type == SHOAL_FIELD_DOUBLE  ? ((const double *)data)[s]
           : field->type == SHOAL_FIELD_INT64 ? (double)((const int64_t *)data)[s]
                                              : ((const int *)data)[s];
}

static bool selected(const filter *chosen, long s)
{
    const int64_t id = chosen->result->id[s];
    bool is = id >= chosen->of->first && id <= chosen->of->last;
    for (int i = 0; i < chosen->n_conditions && is; i++) {
        const condition *c = &chosen->conditions[i];
        const double x = table_number(chosen->result, c->field, c->column, s);
        const bool holds[OPERATORS] = { x < c->value, x <= c->value, x > c->value, x >= c->value, x == c->value, x != c->value };
        is = holds[c->operator];
    }
    return is;
}

static shoal_status unknown_column(shoal_context *context, const shoal_result *result, const char *name)
{
    const char *known[256];
    int n = 0;
    for (int f = 0; f < shoal_result_n_fields; f++)
        if (in_systems_table(&shoal_result_fields[f]))
            known[n++] = shoal_result_fields[f].csv;
    for (int c = 0; c < result->n_columns && n < SHOAL_COUNT(known); c++)
        known[n++] = result->columns[c].name;
    const char *near = shoal_nearest(name, known, n);
    if (near)
        return shoal_fail(context, SHOAL_E_USAGE,
                          "--where: \"%s\": expected a column of the systems table (did you mean '%s'?)", name, near);
    return shoal_fail(context, SHOAL_E_USAGE,
                      "--where: \"%s\": expected a column of the systems table (--systems-table shows them)", name);
}

/* The code of an outcome's name. */
static shoal_status read_outcome(shoal_context *context, const char *option, const char *word, int *outcome)
{
    const char *known[SHOAL_OUTCOMES];
    for (int o = 0; o < SHOAL_OUTCOMES; o++)
        known[o] = shoal_outcome_name(o);
    *outcome = shoal_outcome_from_name(word);
    const char *near = *outcome < 0 ? shoal_nearest(word, known, SHOAL_OUTCOMES) : NULL;
    if (near)
        return shoal_fail(context, SHOAL_E_USAGE, "%s: \"%s\": expected an outcome (did you mean '%s'?)", option, word, near);
    return *outcome >= 0 ? SHOAL_OK
                         : shoal_fail(context, SHOAL_E_USAGE, "%s: \"%s\": expected an outcome such as ejected", option, word);
}

/* What a condition compares with: a number, or the name of an outcome or a body where the column has these. */
static shoal_status read_value(shoal_context *context, const shoal_result *result, condition *c, const char *word)
{
    char *end;
    int outcome;
    if (c->field && c->field->type == SHOAL_FIELD_OUTCOME) {
        shoal_status status = read_outcome(context, "--where", word, &outcome);
        c->value = outcome;
        return status;
    }
    for (int b = 0; c->field && c->field->type == SHOAL_FIELD_INDEX && b < result->n_bodies; b++)
        if (strcmp(word, result->body_name[b]) == 0) {
            c->value = b;
            return SHOAL_OK;
        }
    c->value = strtod(word, &end);
    return end != word && !*end ? SHOAL_OK
                                : shoal_fail(context, SHOAL_E_USAGE, "--where: \"%s\": expected a number", word);
}

/* COLUMN OP VALUE, up to && or the end, which *text is left at. */
static shoal_status read_condition(shoal_context *context, const shoal_result *result, const char **text, condition *c)
{
    char name[64], operator[3], value[64];
    int used = 0;
    if (sscanf(*text, " %63[^ \t<>=!&] %2[<>=!] %63[^ \t&]%n", name, operator, value, &used) != 3 || !used)
        return shoal_fail(context, SHOAL_E_USAGE,
                          "--where: \"%s\": expected COLUMN OP VALUE && ..., OP one of < <= > >= == !=", *text);
    *c = (condition){ .column = shoal_result_column(result, name), .operator = -1 };
    for (int f = 0; f < shoal_result_n_fields; f++)
        if (in_systems_table(&shoal_result_fields[f]) && strcmp(name, shoal_result_fields[f].csv) == 0)
            c->field = &shoal_result_fields[f];
    if (!c->field && c->column < 0)
        return unknown_column(context, result, name);
    for (int i = 0; i < OPERATORS; i++)
        if (strcmp(operator, operators[i]) == 0)
            c->operator = i;
    if (c->operator < 0)
        return shoal_fail(context, SHOAL_E_USAGE, "--where: \"%s\": expected one of < <= > >= == !=", operator);
    *text += used;
    *text += strspn(*text, " \t");
    return read_value(context, result, c, value);
}

/* A filter that has passed all checks. */
static shoal_status filter_init(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                                filter *chosen)
{
    int64_t lowest = INT64_MAX, highest = INT64_MIN;
    chosen->result = result;
    chosen->of = of;
    chosen->n_conditions = 0;
    for (long s = 0; s < result->n_systems; s++) {
        lowest = result->id[s] < lowest ? result->id[s] : lowest;
        highest = result->id[s] > highest ? result->id[s] : highest;
    }
    if (of->first < 0 || of->first > of->last || of->first > highest || (of->last > highest && of->last != LONG_MAX))
        return shoal_fail(context, SHOAL_E_USAGE, "query: --systems: there are systems %lld..%lld", (long long)lowest,
                          (long long)highest);
    for (const char *at = of->where; at && (!chosen->n_conditions || *at);) {
        if (chosen->n_conditions == MOST_CONDITIONS)
            return shoal_fail(context, SHOAL_E_USAGE, "--where: expected at most %d conditions", MOST_CONDITIONS);
        shoal_status status = read_condition(context, result, &at, &chosen->conditions[chosen->n_conditions++]);
        if (status)
            return status;
        if (*at && strncmp(at, "&&", 2) != 0)
            return shoal_fail(context, SHOAL_E_USAGE, "--where: \"%s\": expected && or the end", at);
        at += *at ? 2 : 0;
        if (!*at && at[-1] == '&')
            return shoal_fail(context, SHOAL_E_USAGE, "--where: expected a condition after &&");
    }
    return SHOAL_OK;
}

shoal_status shoal_query_chosen(shoal_context *context, const shoal_result *result, const shoal_selection *of, bool *chosen)
{
    filter wanted;
    shoal_status status = filter_init(context, result, of, &wanted);
    for (long s = 0; s < result->n_systems && !status; s++)
        chosen[s] = selected(&wanted, s);
    return status;
}

/* ---- states and orbits -------------------------------------------------------------------------------------------- */

static shoal_status check_written(shoal_context *context, FILE *out)
{
    errno = 0;
    if (fflush(out) || ferror(out))
        return shoal_fail(context, SHOAL_E_FILE, "cannot write the table: %s",
                          errno ? strerror(errno) : "output error");
    return SHOAL_OK;
}

static void print_body(FILE *out, const shoal_result *result, long system, int body, double time)
{
    fprintf(out, "%lld,%d,", (long long)result->id[system], body);
    print_text(out, result->body_name[body]);
    fputc(',', out);
    print_number(out, time);
}

/* Bodies that are gone (their states are NaN) have no orbit and are no one's centre; a system without orbits has empty fields. */
static void print_orbits(FILE *out, const shoal_result *result, shoal_frame frame, long system, double time, const double *state,
                         shoal_body *bodies, shoal_orbit *orbits)
{
    const shoal_units *units = &result->units;
    const double degree = M_PI / 180;
    const int n = shoal_result_bodies(result, system, state, bodies, NULL);
    const bool known = n > 1 && shoal_orbits_from_bodies(NULL, frame, n, bodies, orbits) == SHOAL_OK;
    for (int b = 0, i = 0; b < result->n_live[system]; b++) {
        const double *s = state + (size_t)b * SHOAL_STATE;
        const bool there = !isnan(s[1]);
        if (there && i++ == 0)
            continue; /* the central body */
        const shoal_orbit *o = &orbits[i - 1];
        const double values[] = { s[0], o->a / units->length, o->e, o->inc / degree, o->Omega / degree, o->omega / degree,
                                  o->f / degree, o->M / degree, o->P / units->time };
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

/* No snapshot is near enough: name the nearest times before and after. */
static shoal_status no_snapshot(shoal_context *context, const shoal_result *result, const filter *of, double time)
{
    double before = -INFINITY, after = INFINITY;
    for (long i = 0; i < result->n_snapshots; i++) {
        double there = result->snapshot_time[i];
        if (!selected(of, (long)result->snapshot_system[i]))
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

static shoal_status find_snapshots(shoal_context *context, const shoal_result *result, const filter *of, double time,
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
        if (!(distance <= TIME_TOLERANCE * scale) || !selected(of, s))
            continue;
        long *best = &row[s];
        if (*best < 0 || distance < fabs(result->snapshot_time[*best] - time))
            *best = i;
        found = true;
    }
    return found ? SHOAL_OK : no_snapshot(context, result, of, time);
}

shoal_status shoal_query_snapshots(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                                   double time, long *row)
{
    filter chosen;
    shoal_status status = filter_init(context, result, of, &chosen);
    return status ? status : find_snapshots(context, result, &chosen, time, row);
}

shoal_status shoal_query_states(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                                const shoal_query *query, FILE *out)
{
    const size_t size = (size_t)result->n_bodies * SHOAL_STATE;
    filter chosen;
    shoal_status status = filter_init(context, result, of, &chosen);
    if (status)
        return status;
    long *row = malloc((size_t)result->n_systems * sizeof *row);
    shoal_body *bodies = malloc((size_t)result->n_bodies * sizeof *bodies);
    shoal_orbit *orbits = calloc((size_t)result->n_bodies, sizeof *orbits);
    if (!row || !bodies || !orbits) {
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the states of %ld systems", result->n_systems);
        goto fail;
    }
    if (query->which == SHOAL_QUERY_TIME && (status = find_snapshots(context, result, &chosen, query->from, row)))
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
        if (!selected(&chosen, s))
            continue;
        if (query->orbits)
            print_orbits(out, result, query->frame, s, time, state, bodies, orbits);
        else
            print_states(out, result, s, time, state);
    }
    status = check_written(context, out);
fail:
    free(row);
    free(bodies);
    free(orbits);
    return status;
}

/* ---- tables of systems and events --------------------------------------------------------------------------------- */

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

shoal_status shoal_query_systems(shoal_context *context, const shoal_result *result, const shoal_selection *of, FILE *out)
{
    filter chosen;
    shoal_status status = filter_init(context, result, of, &chosen);
    if (status)
        return status;
    for (long s = -1; s < result->n_systems; s++) { /* the row before the first one is the heading */
        if (s >= 0 && !selected(&chosen, s))
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

shoal_status shoal_query_events(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                                const char *only, FILE *out)
{
    filter chosen;
    int event = -1;
    shoal_status status = filter_init(context, result, of, &chosen);
    if (!status && only)
        status = read_outcome(context, "--events", only, &event);
    if (status)
        return status;
    for (long i = -1; i < result->n_events; i++) {
        if (i >= 0 && ((only && result->event[i] != event) || !selected(&chosen, (long)result->event_system[i])))
            continue;
        print_fields(out, result, SHOAL_FIELD_EVENT, i);
        fputc('\n', out);
    }
    return check_written(context, out);
}
