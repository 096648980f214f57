/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * select.c: some systems of a result: those of some ids, and of which a condition on their row of the systems table is
 * true; and their snapshots at a time.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "core/result/result.h"

enum { MOST_CONDITIONS = 16 };
enum { LESS, LESS_OR_SAME, MORE, MORE_OR_SAME, SAME, OTHER, OPERATORS };
static const char *const operators[OPERATORS] = {"<", "<=", ">", ">=", "==", "!="};

typedef struct condition {
    const shoal_field *field; /* NULL: a column */
    int column, op;
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

/* A number of the systems table, NaN for an empty cell. */
static double table_number(const shoal_result *result, const shoal_field *field, int column, long s)
{
    if (!field)
        return result->columns[column].value[s];
    const void *data = shoal_field_data(result, field);
    if (field->type == SHOAL_FIELD_INDEX && ((const int *)data)[s] < 0)
        return NAN;
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
        const bool holds[OPERATORS] = {x<c->value, x <= c->value, x> c->value, x >= c->value, x == c->value,
                                       x != c->value && !isnan(x)}; /* of an empty cell nothing is true */
        is = holds[c->op]; /* NOLINT(clang-analyzer-core.uninitialized.Assign): op is one of them */
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

shoal_status shoal_select_outcome(shoal_context *context, const char *option, const char *word, int *outcome)
{
    const char *known[SHOAL_OUTCOMES];
    for (int o = 0; o < SHOAL_OUTCOMES; o++)
        known[o] = shoal_outcome_name(o);
    *outcome = shoal_outcome_from_name(word);
    const char *near = *outcome < 0 ? shoal_nearest(word, known, SHOAL_OUTCOMES) : NULL;
    if (near)
        return shoal_fail(context, SHOAL_E_USAGE, "%s: \"%s\": expected an outcome (did you mean '%s'?)", option, word,
                          near);
    return *outcome >= 0
               ? SHOAL_OK
               : shoal_fail(context, SHOAL_E_USAGE, "%s: \"%s\": expected an outcome such as ejected", option, word);
}

/* What a condition compares with: a number, or the name of an outcome or a body where the column has these. */
static shoal_status read_value(shoal_context *context, const shoal_result *result, condition *c, const char *word)
{
    char *end;
    int outcome;
    if (c->field && c->field->type == SHOAL_FIELD_OUTCOME) {
        shoal_status status = shoal_select_outcome(context, "--where", word, &outcome);
        c->value = outcome;
        return status;
    }
    for (int b = 0; c->field && c->field->type == SHOAL_FIELD_INDEX && b < result->n_bodies; b++)
        if (strcmp(word, result->body_name[b]) == 0) {
            c->value = b;
            return SHOAL_OK;
        }
    c->value = shoal_number_read(word, &end);
    return end != word && !*end ? SHOAL_OK
                                : shoal_fail(context, SHOAL_E_USAGE, "--where: \"%s\": expected a number", word);
}

/* The word that *text begins with, behind blanks: in double quotes, or up to one of `ends`; no longer than a column's
 * name. Leaves *text behind it. Returns false if there is none. */
static bool read_word(const char **text, const char *ends, char word[SHOAL_COLUMN_SIZE])
{
    const char *at = *text + strspn(*text, " \t");
    const bool quoted = *at == '"';
    at += quoted;
    const size_t n = strcspn(at, quoted ? "\"" : ends);
    if (n == 0 || n >= SHOAL_COLUMN_SIZE || (quoted && !at[n]))
        return false;
    snprintf(word, SHOAL_COLUMN_SIZE, "%.*s", (int)n, at);
    *text = at + n + quoted;
    return true;
}

/* COLUMN OP VALUE, up to && or the end, which *text is left at. */
static shoal_status read_condition(shoal_context *context, const shoal_result *result, const char **text, condition *c)
{
    char name[SHOAL_COLUMN_SIZE], op[3], value[SHOAL_COLUMN_SIZE];
    const char *const all = *text;
    int used = 0;
    const bool named = read_word(text, " \t<>=!&", name);
    const bool compared = named && sscanf(*text, " %2[<>=!]%n", op, &used) == 1;
    *text += compared ? used : 0;
    if (!compared || !read_word(text, " \t&", value))
        return shoal_fail(context, SHOAL_E_USAGE,
                          "--where: \"%s\": expected COLUMN OP VALUE && ..., OP one of < <= > >= == !=, names with "
                          "blanks in double quotes",
                          all);
    *c = (condition){.column = shoal_result_column(result, name), .op = -1};
    for (int f = 0; f < shoal_result_n_fields; f++)
        if (in_systems_table(&shoal_result_fields[f]) && strcmp(name, shoal_result_fields[f].csv) == 0)
            c->field = &shoal_result_fields[f];
    if (!c->field && c->column < 0)
        return unknown_column(context, result, name);
    for (int i = 0; i < OPERATORS; i++)
        if (strcmp(op, operators[i]) == 0)
            c->op = i;
    if (c->op < 0)
        return shoal_fail(context, SHOAL_E_USAGE, "--where: \"%s\": expected one of < <= > >= == !=", op);
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

shoal_status shoal_select_systems(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                                  bool *chosen)
{
    filter wanted;
    shoal_status status = filter_init(context, result, of, &wanted);
    for (long s = 0; s < result->n_systems && !status; s++)
        chosen[s] = selected(&wanted, s);
    return status;
}

/* No snapshot is near enough: name the nearest times before and after. */
static shoal_status no_snapshot(shoal_context *context, const shoal_result *result, const bool *chosen, double time)
{
    double before = -INFINITY, after = INFINITY;
    for (long i = 0; i < result->n_snapshots; i++) {
        double there = result->snapshot_time[i];
        if (chosen && !chosen[result->snapshot_system[i]])
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

shoal_status shoal_select_snapshots(shoal_context *context, const shoal_result *result, const bool *chosen, double time,
                                    long *row)
{
    double way = 0; /* the longest */
    bool found = false;
    for (long s = 0; s < result->n_systems; s++)
        row[s] = -1;
    for (long i = 0; i < result->n_snapshots; i++)
        way = fmax(way, fabs(result->snapshot_time[i] - result->t_initial[result->snapshot_system[i]]));
    const double near = shoal_result_same_time(time, way);
    for (long i = 0; i < result->n_snapshots; i++) {
        long s = (long)result->snapshot_system[i];
        double distance = fabs(result->snapshot_time[i] - time);
        if (!(distance <= near) || (chosen && !chosen[s]))
            continue;
        long *best = &row[s];
        if (*best < 0 || distance < fabs(result->snapshot_time[*best] - time))
            *best = i;
        found = true;
    }
    return found ? SHOAL_OK : no_snapshot(context, result, chosen, time);
}
