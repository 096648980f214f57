/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * verify.c: how far two results are from each other: final states and snapshots at common times, body by body.
 *
 * With r, v of a body relative to its reference (the first body; the nearest other one for the first itself), in either
 * result,
 *
 *     position |x_a - x_b| / ((|r_a| + |r_b|) / 2)      velocity |u_a - u_b| / ((|v_a| + |v_b|) / 2)
 *     mass     |m_a - m_b| / max(m_a, m_b)              time     |t_a - t_b| / max(elapsed_a, elapsed_b)
 *
 * where x, u are seen from the input's own frame, and the time elapsed counts from the initial state. `absolute`: the
 * numerators alone. Numbers are compared by place: NaN in both, or the same infinity, is no difference; NaN in one
 * alone differs by infinity.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/observations.h"
#include "core/report/report.h"

static const char *const quantity_name[SHOAL_VERIFY_QUANTITIES] = {"position", "velocity", "time", "mass"};
static const char *const quantity_dimension[SHOAL_VERIFY_QUANTITIES] = {"length", "velocity", "time", "mass"};

/* The largest difference of a quantity, where it is, and how many pass the threshold. */
typedef struct largest {
    double value, time; /* the user's time of a */
    int64_t id;
    int body; /* -1 = none */
    long beyond;
} largest;

typedef struct comparison {
    const shoal_result *a, *b;
    const shoal_verify_options *options;
    largest of[SHOAL_VERIFY_QUANTITIES];
    long n_systems, n_snapshots, n_outcomes, n_bodies;
    int64_t first_outcome[3], first_bodies; /* id, outcome in a and b */
    long only_a, only_b;
    int64_t first_a, first_b;
} comparison;

static void note(comparison *c, int quantity, double difference, double scale, int64_t id, int body, double time)
{
    largest *at = &c->of[quantity];
    if (!c->options->absolute && difference > 0)
        difference /= scale;
    if (isnan(difference))
        difference = INFINITY;
    at->beyond += difference > c->options->threshold[quantity];
    if (difference > at->value)
        *at = (largest){difference, time, id, body, at->beyond};
}

/* |x - y|, and 0 for what is NaN or the same infinity in both. */
static double apart(double x, double y)
{
    return x == y || (isnan(x) && isnan(y)) ? 0 : fabs(x - y);
}

/* |x_i - x_j| of coordinates first..first+2 of two bodies, in inner units. */
static double distance(const double *row_i, const double *row_j, int first, double unit_i, double unit_j)
{
    double d[3];
    for (int k = 0; k < 3; k++)
        d[k] = apart(row_i[first + k] * unit_i, row_j[first + k] * unit_j);
    return hypot(hypot(d[0], d[1]), d[2]);
}

/* The row of the first body that is there, or for that one of the nearest other; its own if it is alone. */
static const double *reference_of(const double *state, int n, const double *row)
{
    const double *end = state + n * SHOAL_STATE, *nearest = row;
    while (state < end && isnan(state[1]))
        state += SHOAL_STATE;
    if (row != state)
        return state < end ? state : row;
    for (const double *other = state + SHOAL_STATE; other < end; other += SHOAL_STATE)
        if (!isnan(other[1]) && (nearest == row || distance(other, row, 1, 1, 1) < distance(nearest, row, 1, 1, 1)))
            nearest = other;
    return nearest;
}

static double elapsed(double t, double t_initial)
{
    return isnan(t_initial) || t == t_initial ? fabs(t) : fabs(t - t_initial);
}

static void compare_times(comparison *c, long i, long j, double t_a, double t_b)
{
    const shoal_result *a = c->a, *b = c->b;
    const double unit_a = a->units.time, unit_b = b->units.time;
    const double scale = fmax(elapsed(t_a, a->t_initial[i]) * unit_a, elapsed(t_b, b->t_initial[j]) * unit_b);
    note(c, SHOAL_VERIFY_TIME, apart(t_a * unit_a, t_b * unit_b), scale, a->id[i], -1, t_a);
}

/* One state each of system i of a and system j of b. */
static void compare_states(comparison *c, long i, long j, double t_a, const double *state_a, const double *state_b)
{
    const shoal_units *a = &c->a->units, *b = &c->b->units;
    const int n = c->a->n_live[i] < c->b->n_live[j] ? c->a->n_live[i] : c->b->n_live[j];
    static const int quantity[] = {SHOAL_VERIFY_POSITION, SHOAL_VERIFY_VELOCITY};
    for (int body = 0; body < n; body++) {
        const double *row_a = state_a + body * SHOAL_STATE, *row_b = state_b + body * SHOAL_STATE;
        for (int k = 0; k < 2; k++) {
            const char *dimension = quantity_dimension[quantity[k]];
            const double unit_a = shoal_units_factor(a, dimension), unit_b = shoal_units_factor(b, dimension);
            const double scale = (distance(row_a, reference_of(state_a, n, row_a), 1 + 3 * k, unit_a, unit_a) +
                                  distance(row_b, reference_of(state_b, n, row_b), 1 + 3 * k, unit_b, unit_b)) /
                                 2;
            note(c, quantity[k], distance(row_a, row_b, 1 + 3 * k, unit_a, unit_b), scale, c->a->id[i], body, t_a);
        }
        const double m_a = row_a[0] * a->mass, m_b = row_b[0] * b->mass;
        note(c, SHOAL_VERIFY_MASS, apart(m_a, m_b), fmax(m_a, m_b), c->a->id[i], body, t_a);
    }
}

static void compare_systems(comparison *c, long i, long j)
{
    const shoal_result *a = c->a, *b = c->b;
    c->n_systems++;
    if (a->outcome[i] != b->outcome[j] && a->outcome[i] >= 0 && b->outcome[j] >= 0 && c->n_outcomes++ == 0)
        memcpy(c->first_outcome, (int64_t[3]){a->id[i], a->outcome[i], b->outcome[j]}, sizeof c->first_outcome);
    if (a->n_live[i] != b->n_live[j] && c->n_bodies++ == 0)
        c->first_bodies = a->id[i];
    compare_times(c, i, j, a->t_final[i], b->t_final[j]);
    if (a->outcome[i] >= 0 && b->outcome[j] >= 0)
        compare_times(c, i, j, a->t_stop[i], b->t_stop[j]);
    compare_states(c, i, j, a->t_final[i], a->final + i * a->n_bodies * SHOAL_STATE,
                   b->final + j * b->n_bodies * SHOAL_STATE);
}

/* ---- matching ---------------------------------------------------------------------------------------------------- */

/* A row of a result, of a system or a snapshot, by what it is matched by. */
typedef struct row_key {
    int64_t id;
    double time; /* inner units */
    long row;
} row_key;

/* By id, then time, that which is not known last. */
static int by_key(const void *a, const void *b)
{
    const row_key *x = a, *y = b;
    return x->id != y->id                     ? (x->id > y->id) - (x->id < y->id)
           : isnan(x->time) || isnan(y->time) ? !!isnan(x->time) - !!isnan(y->time)
                                              : (x->time > y->time) - (x->time < y->time);
}

static row_key *sorted_rows(const shoal_result *result, bool snapshots)
{
    const long n = snapshots ? result->n_snapshots : result->n_systems;
    row_key *rows = malloc(((size_t)n + 1) * sizeof *rows);
    for (long i = 0; rows && i < n; i++) {
        const long s = snapshots ? (long)result->snapshot_system[i] : i;
        rows[i] = (row_key){result->id[s], snapshots ? result->snapshot_time[i] * result->units.time : 0, i};
    }
    if (rows)
        qsort(rows, (size_t)n, sizeof *rows, by_key);
    return rows;
}

/* Two snapshots of one system are of one time if no more than rounding is between them. */
static int order(const row_key *x, const row_key *y)
{
    return x->id == y->id && fabs(x->time - y->time) <= 1e-12 * fmax(fabs(x->time), fabs(y->time)) ? 0 : by_key(x, y);
}

static shoal_status match(shoal_context *context, comparison *c, bool snapshots)
{
    const shoal_result *a = c->a, *b = c->b;
    const long n_a = snapshots ? a->n_snapshots : a->n_systems, n_b = snapshots ? b->n_snapshots : b->n_systems;
    row_key *rows_a = sorted_rows(a, snapshots), *rows_b = sorted_rows(b, snapshots);
    for (long i = 0, j = 0; rows_a && rows_b && (i < n_a || j < n_b);) {
        const int which = i == n_a ? 1 : j == n_b ? -1 : order(&rows_a[i], &rows_b[j]);
        if (which == 0 && snapshots) {
            const long p = rows_a[i].row, q = rows_b[j].row;
            c->n_snapshots++;
            compare_states(c, (long)a->snapshot_system[p], (long)b->snapshot_system[q], a->snapshot_time[p],
                           a->snapshot + p * a->n_bodies * SHOAL_STATE, b->snapshot + q * b->n_bodies * SHOAL_STATE);
        } else if (which == 0)
            compare_systems(c, rows_a[i].row, rows_b[j].row);
        else if (!snapshots && which < 0 && c->only_a++ == 0)
            c->first_a = rows_a[i].id;
        else if (!snapshots && which > 0 && c->only_b++ == 0)
            c->first_b = rows_b[j].id;
        i += which <= 0;
        j += which >= 0;
    }
    const bool done = rows_a && rows_b;
    free(rows_a);
    free(rows_b);
    return done ? SHOAL_OK : shoal_fail(context, SHOAL_E_MEMORY, "out of memory to compare %ld systems", n_a);
}

static void print_comparison(const comparison *c, FILE *out)
{
    const shoal_units *units = &c->a->units;
    const char *names[SHOAL_VERIFY_QUANTITIES] = {units->length_name, units->length_name, units->time_name,
                                                  units->mass_name};
    fprintf(out, "%-9s %10s %10s  %8s  %s\n", "", "largest", "threshold", "beyond", "where");
    for (int q = 0; q < SHOAL_VERIFY_QUANTITIES; q++) {
        const largest *at = &c->of[q];
        const double unit = c->options->absolute ? shoal_units_factor(units, quantity_dimension[q]) : 1;
        fprintf(out, "%-9s %10.3g %10.3g  %8ld", quantity_name[q], at->value / unit, c->options->threshold[q] / unit,
                at->beyond);
        if (c->options->absolute)
            fprintf(out, "  %s%s%s", names[q], q == SHOAL_VERIFY_VELOCITY ? "/" : "",
                    q == SHOAL_VERIFY_VELOCITY ? units->time_name : "");
        if (at->value > 0)
            fprintf(out, "  system %lld", (long long)at->id);
        if (at->value > 0 && at->body >= 0)
            fprintf(out, ", %s", c->a->body_name[at->body]);
        if (at->value > 0)
            fprintf(out, ", t = %.10g %s", at->time, units->time_name);
        fputc('\n', out);
    }
    if (c->n_outcomes)
        fprintf(out, "outcomes: %ld differ, the first in system %lld (%s, %s)\n", c->n_outcomes,
                (long long)c->first_outcome[0], shoal_outcome_name((int)c->first_outcome[1]),
                shoal_outcome_name((int)c->first_outcome[2]));
    if (shoal_epochs_differ(c->a->epoch, c->b->epoch))
        fprintf(out, "epochs: time 0 is \"%s\" in the first file, \"%s\" in the second\n", c->a->epoch, c->b->epoch);
    if (c->n_bodies)
        fprintf(out, "number of bodies: %ld systems differ, first %lld\n", c->n_bodies, (long long)c->first_bodies);
    if (c->only_a)
        fprintf(out, "only in the first file: %ld systems, first %lld\n", c->only_a, (long long)c->first_a);
    if (c->only_b)
        fprintf(out, "only in the second file: %ld systems, first %lld\n", c->only_b, (long long)c->first_b);
    fprintf(out, "compared: %ld systems, %ld snapshots\n", c->n_systems, c->n_snapshots);
}

shoal_status shoal_verify(shoal_context *context, const shoal_result *a, const shoal_result *b,
                          const shoal_verify_options *options, FILE *out, bool *same)
{
    shoal_verify_options inner = *options;
    comparison c = {.a = a, .b = b, .options = &inner};
    for (int q = 0; q < SHOAL_VERIFY_QUANTITIES; q++) {
        inner.threshold[q] *= options->absolute ? shoal_units_factor(&a->units, quantity_dimension[q]) : 1;
        c.of[q].body = -1;
    }
    shoal_status status = match(context, &c, false);
    if (!status)
        status = match(context, &c, true);
    if (status)
        return status;
    print_comparison(&c, out);
    *same = !c.n_outcomes && !c.n_bodies && !c.only_a && !c.only_b && !shoal_epochs_differ(a->epoch, b->epoch);
    for (int q = 0; q < SHOAL_VERIFY_QUANTITIES; q++)
        *same = *same && c.of[q].beyond == 0;
    return SHOAL_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

shoal_status shoal_verify_read(shoal_context *context, const char *path, shoal_result **result)
{
    *result = NULL;
    if (shoal_store_is(path))
        return shoal_report_read(context, path, result);
    shoal_table table = {.context = context};
    shoal_status status = shoal_csv_table(&table, path, true);
    if (!status)
        status = shoal_table_to_result(&table, result);
    for (long s = 0; s < table.n_systems && !status; s++) {
        (*result)->outcome[s] = -1;
        (*result)->t_initial[s] = NAN;
    }
    shoal_table_release(&table);
    return status;
}
