/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * result.c: what a run leaves, in memory: the tables of result.h, making, growing and checking a result.
 *
 * All arrays are plain malloc'd memory that shoal_result_destroy frees; texts may be NULL, which stands for "".
 */
#include "core/result/result.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define AT(member) offsetof(shoal_result, member)
#define BEFORE     SHOAL_FIELD_BEFORE
#define AFTER      SHOAL_FIELD_AFTER
#define SNAPSHOT   SHOAL_FIELD_SNAPSHOT
#define EVENT      SHOAL_FIELD_EVENT

/* The order is that of the columns of the CSV tables and of the journal's records. */
const shoal_field shoal_result_fields[] = {
    {"/systems/id", "system", SHOAL_FIELD_INT64, BEFORE, "", AT(id),
     "name of the system; random numbers are keyed by it"},
    {"/systems/outcome", "outcome", SHOAL_FIELD_OUTCOME, BEFORE | AFTER, "", AT(outcome), "how the system ended"},
    {"/systems/t_stop", "t_stop", SHOAL_FIELD_DOUBLE, AFTER, "time", AT(t_stop),
     "time of the event that ended the system"},
    {"/systems/body_a", "body_a", SHOAL_FIELD_INDEX, AFTER, "", AT(body_a), "first body of that event, -1 = none"},
    {"/systems/body_b", "body_b", SHOAL_FIELD_INDEX, AFTER, "", AT(body_b), "second body of that event, -1 = none"},
    {"/systems/dE_final", "dE_final", SHOAL_FIELD_DOUBLE, AFTER, "", AT(dE_final),
     "relative energy error at the end, without the jumps of events; empty where a force has no energy"},
    {"/systems/steps", "steps", SHOAL_FIELD_DOUBLE, AFTER, "", AT(n_steps), "whole steps done"},
    {"/systems/n_live", NULL, SHOAL_FIELD_INT, BEFORE | AFTER, "", AT(n_live), "bodies that it began with"},
    {"/systems/n_final", "n_final", SHOAL_FIELD_INT, AFTER, "", AT(n_final), "bodies left at the end"},
    {"/initial/time", NULL, SHOAL_FIELD_DOUBLE, BEFORE, "time", AT(t_initial), "time of the initial state"},
    {"/initial/state", NULL, SHOAL_FIELD_STATES, BEFORE, "state", AT(initial),
     "initial state, [system][body][quantity]"},
    {"/final/time", NULL, SHOAL_FIELD_DOUBLE, AFTER, "time", AT(t_final), "time of the final state"},
    {"/final/state", NULL, SHOAL_FIELD_STATES, AFTER, "state", AT(final),
     "final state, [system][body][quantity]; NaN for bodies that are gone"},
    {"/snapshots/system", NULL, SHOAL_FIELD_ROW, SNAPSHOT, "", AT(snapshot_system), "row of the system in /systems"},
    {"/snapshots/time", NULL, SHOAL_FIELD_DOUBLE, SNAPSHOT, "time", AT(snapshot_time), "time of the snapshot"},
    {"/snapshots/state", NULL, SHOAL_FIELD_STATES, SNAPSHOT, "state", AT(snapshot), "state, [row][body][quantity]"},
    {"/events/system", "system", SHOAL_FIELD_ROW, EVENT, "", AT(event_system), "row of the system in /systems"},
    {"/events/time", "time", SHOAL_FIELD_DOUBLE, EVENT, "time", AT(event_time), "time of the event"},
    {"/events/event", "event", SHOAL_FIELD_OUTCOME, EVENT, "", AT(event),
     "what happened; collided, hit_star: body_b became a part of body_a; ejected: body_a was removed"},
    {"/events/body_a", "body_a", SHOAL_FIELD_INDEX, EVENT, "", AT(event_a), "first body, -1 = none"},
    {"/events/body_b", "body_b", SHOAL_FIELD_INDEX, EVENT, "", AT(event_b), "second body, -1 = none"},
    {"/events/m_a", "m_a", SHOAL_FIELD_DOUBLE, EVENT, "mass", AT(event_m_a), "mass of the first body before it"},
    {"/events/m_b", "m_b", SHOAL_FIELD_DOUBLE, EVENT, "mass", AT(event_m_b), "mass of the second body before it"},
    {"/events/distance", "distance", SHOAL_FIELD_DOUBLE, EVENT, "length", AT(event_distance),
     "of the two, or of one from the barycentre of the rest, at the end of the step"},
    {"/events/speed", "speed", SHOAL_FIELD_DOUBLE, EVENT, "velocity", AT(event_speed), "relative, likewise"},
    {"/events/dE", "dE", SHOAL_FIELD_DOUBLE, EVENT, "", AT(event_dE), "jump of the energy over the initial |energy|"},
    {"/events/ended", "ended", SHOAL_FIELD_INT, EVENT, "", AT(event_ended),
     "1: the system ended with it, its bodies as they were"},
};
const int shoal_result_n_fields = SHOAL_COUNT(shoal_result_fields);

bool shoal_result_has(const char *name)
{
    const char systems[] = "/systems/";
    const size_t length = sizeof systems - 1;
    for (int f = 0; f < shoal_result_n_fields; f++)
        if (strncmp(shoal_result_fields[f].path, systems, length) == 0 &&
            strcmp(shoal_result_fields[f].path + length, name) == 0)
            return true;
    return false;
}

/* clang-format off */
#define MEMBER(name, type, member) \
    {name, SHOAL_ATTRIBUTE_##type, AT(member), sizeof(((shoal_result *)0)->member)}
/* clang-format on */

const shoal_attribute shoal_result_attributes[] = {
    MEMBER("version", WORD, version),
    MEMBER("config", TEXT, config_text),
    MEMBER("plan", TEXT, plan_line),
    MEMBER("epoch", WORD, epoch),
    MEMBER("unit_length", WORD, units.length_name),
    MEMBER("unit_mass", WORD, units.mass_name),
    MEMBER("unit_time", WORD, units.time_name),
    MEMBER("unit_length_inner", DOUBLE, units.length),
    MEMBER("unit_mass_inner", DOUBLE, units.mass),
    MEMBER("unit_time_inner", DOUBLE, units.time),
    MEMBER("G", DOUBLE, units.G),
    MEMBER("seed", INT64, seed),
};
const int shoal_result_n_attributes = SHOAL_COUNT(shoal_result_attributes);

size_t shoal_field_item_size(const shoal_field *field)
{
    switch (field->type) {
    case SHOAL_FIELD_INT64:
    case SHOAL_FIELD_ROW: return sizeof(int64_t);
    case SHOAL_FIELD_DOUBLE:
    case SHOAL_FIELD_STATES: return sizeof(double);
    default: return sizeof(int);
    }
}

size_t shoal_field_row_items(const shoal_field *field, const shoal_result *result)
{
    return field->type == SHOAL_FIELD_STATES ? (size_t)result->n_bodies * SHOAL_STATE : 1;
}

static void field_set_data(shoal_result *result, const shoal_field *field, void *data)
{
    memcpy((char *)result + field->offset, &data, sizeof data);
}

/* An array of a field, zero; NULL when memory is out. */
static void *field_allocate(const shoal_field *field, const shoal_result *result, size_t n_rows)
{
    size_t items;
    return __builtin_mul_overflow(n_rows, shoal_field_row_items(field, result), &items)
               ? NULL
               : calloc(items, shoal_field_item_size(field));
}

void shoal_result_blank(shoal_result *result, long first, long n)
{
    for (int f = 0; f < shoal_result_n_fields; f++)
        if (!(shoal_result_fields[f].when & (SNAPSHOT | EVENT)) && !shoal_field_is_known(&shoal_result_fields[f]))
            shoal_result_clear(result, &shoal_result_fields[f], (size_t)first, (size_t)n);
    for (long s = first; s < first + n; s++) {
        result->n_final[s] = result->n_live[s];
        result->n_steps[s] = 0.0;
    }
    for (int c = result->n_swept; c < result->n_columns; c++)
        for (long s = first; s < first + n; s++)
            result->columns[c].value[s] = NAN;
}

shoal_status shoal_result_create(shoal_context *context, long n_systems, int n_bodies, int n_columns,
                                 shoal_result **result)
{
    const shoal_status status = shoal_result_allocate(context, n_systems, n_bodies, n_columns, result);
    if (status)
        return status;
    for (int f = 0; f < shoal_result_n_fields; f++)
        if (shoal_field_is_known(&shoal_result_fields[f]))
            shoal_result_clear(*result, &shoal_result_fields[f], 0, (size_t)n_systems);
    for (long s = 0; s < n_systems; s++)
        (*result)->n_live[s] = n_bodies;
    shoal_result_blank(*result, 0, n_systems);
    return SHOAL_OK;
}

shoal_status shoal_result_allocate(shoal_context *context, long n_systems, int n_bodies, int n_columns,
                                   shoal_result **result)
{
    *result = NULL;
    if (n_systems < 1 || n_bodies < 1 || n_columns < 0)
        return shoal_fail(context, SHOAL_E_USAGE, "a result of %ld systems, %d bodies and %d columns cannot be",
                          n_systems, n_bodies, n_columns);
    shoal_result *made = calloc(1, sizeof *made);
    if (!made)
        goto fail;
    made->n_systems = n_systems;
    made->n_bodies = n_bodies;
    made->body_name = calloc((size_t)n_bodies, sizeof *made->body_name);
    made->columns = calloc((size_t)n_columns + 1, sizeof *made->columns);
    if (!made->body_name || !made->columns)
        goto fail;
    for (int f = 0; f < shoal_result_n_fields; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        if (field->when & (SNAPSHOT | EVENT))
            continue;
        void *data = field_allocate(field, made, (size_t)n_systems);
        if (!data)
            goto fail;
        field_set_data(made, field, data);
    }
    for (int c = 0; c < n_columns; c++) {
        made->n_columns = c + 1;
        made->columns[c].value = calloc((size_t)n_systems, sizeof(double));
        if (!made->columns[c].value)
            goto fail;
    }
    *result = made;
    return SHOAL_OK;
fail:
    shoal_result_destroy(&made);
    return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the results of %ld systems of %d bodies", n_systems,
                      n_bodies);
}

void shoal_result_destroy(shoal_result **result)
{
    shoal_result *old = *result;
    *result = NULL;
    if (!old)
        return;
    for (int f = 0; f < shoal_result_n_fields; f++)
        free(shoal_field_data(old, &shoal_result_fields[f]));
    for (int c = 0; c < old->n_columns; c++)
        free(old->columns[c].value);
    free(old->columns);
    shoal_result_free_logs(old);
    shoal_kept_release(&old->kept);
    free(old->radius);
    free(old->begin);
    free(old->body_name);
    free(old->config_text);
    free(old->plan_line);
    free(old);
}

int shoal_result_bodies(const shoal_result *result, long system, const double *state, shoal_body *bodies, int *which)
{
    const shoal_units *units = &result->units;
    const double velocity = units->length / units->time;
    int n = 0;
    for (int b = 0; b < result->n_live[system]; b++) {
        const double *s = state + (size_t)b * SHOAL_STATE;
        if (isnan(s[1]))
            continue;
        if (which)
            which[n] = b;
        bodies[n++] = (shoal_body){.m = s[0] * units->mass,
                                   .x = s[1] * units->length,
                                   .y = s[2] * units->length,
                                   .z = s[3] * units->length,
                                   .vx = s[4] * velocity,
                                   .vy = s[5] * velocity,
                                   .vz = s[6] * velocity};
    }
    return n;
}

shoal_status shoal_result_add_radii(shoal_context *context, shoal_result *result)
{
    result->radius = calloc((size_t)result->n_systems * (size_t)result->n_bodies, sizeof *result->radius);
    return result->radius
               ? SHOAL_OK
               : shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the radii of %ld systems", result->n_systems);
}

void shoal_result_radii(const shoal_result *result, long s, const double *state, double *radius)
{
    const size_t n = (size_t)result->n_bodies;
    for (size_t b = 0; b < n; b++)
        radius[b] = result->radius ? result->radius[(size_t)s * n + b] : result->complete ? 0 : NAN;
    if (!result->radius)
        return;
    for (long i = shoal_result_first_event(result, s); i < result->n_events && result->event_system[i] == s; i++) {
        const int a = result->event_a[i], b = result->event_b[i];
        const bool merger = result->event[i] == SHOAL_COLLIDED || result->event[i] == SHOAL_HIT_STAR;
        if (merger && !result->event_ended[i] && a >= 0 && b >= 0 && isnan(state[b * SHOAL_STATE + 1]))
            radius[a] = cbrt(radius[a] * radius[a] * radius[a] + radius[b] * radius[b] * radius[b]);
    }
}

shoal_status shoal_result_check_run(shoal_context *context, const shoal_result *result, const char *path)
{
    return result->plan_line && *result->plan_line
               ? SHOAL_OK
               : shoal_fail(context, SHOAL_E_INPUT,
                            "%s: no run made it: it holds the states that shoal convert copied; a study of these "
                            "begins with a table of them (shoal convert %s systems.csv)",
                            path, path);
}

bool shoal_result_is_grid(const shoal_result *result)
{
    double n = 1; /* exact where it is a number of systems */
    for (int k = 0; k < result->n_axes; k++)
        n *= (double)result->axes[k].count;
    return n == (double)result->n_systems;
}

long shoal_result_first_event(const shoal_result *result, long system)
{
    long first = 0, end = result->n_events;
    while (first < end) {
        const long middle = first + (end - first) / 2;
        if (result->event_system[middle] < system)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

int shoal_result_column(const shoal_result *result, const char *name)
{
    for (int c = 0; c < result->n_columns; c++)
        if (!strcmp(result->columns[c].name, name))
            return c;
    return -1;
}

const char *shoal_result_difference(const shoal_result *a, long row_a, const shoal_result *b, long row_b)
{
    if (a->n_bodies != b->n_bodies || a->n_columns != b->n_columns)
        return "the number of bodies or columns";
    for (int f = 0; f < 2 * shoal_result_n_fields; f++) { /* what was given comes first */
        const shoal_field *field = &shoal_result_fields[f % shoal_result_n_fields];
        const size_t size = shoal_field_row_items(field, a) * shoal_field_item_size(field);
        const char *one = shoal_field_data(a, field), *other = shoal_field_data(b, field);
        if ((f < shoal_result_n_fields ? field->when == BEFORE : field->when & AFTER) &&
            memcmp(one + (size_t)row_a * size, other + (size_t)row_b * size, size) != 0)
            return field->path;
    }
    for (int c = 0; c < a->n_columns; c++)
        if (memcmp(&a->columns[c].value[row_a], &b->columns[c].value[row_b], sizeof(double)) != 0)
            return a->columns[c].name;
    return NULL;
}

size_t shoal_result_capacity(size_t n)
{
    size_t capacity = n ? 16 : 0;
    while (capacity < n)
        capacity *= 2;
    return capacity;
}

void shoal_result_copy_row(shoal_result *to, long row, const shoal_result *from, long k, int when)
{
    for (int f = 0; f < shoal_result_n_fields; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        const size_t size = shoal_field_row_items(field, from) * shoal_field_item_size(field);
        if (field->when & when)
            memcpy((char *)shoal_field_data(to, field) + (size_t)row * size,
                   (const char *)shoal_field_data(from, field) + (size_t)k * size, size);
    }
}

shoal_status shoal_result_reserve(shoal_context *context, shoal_result *result, int when, long n)
{
    const long have = *shoal_result_rows(result, when);
    size_t capacity = shoal_result_capacity((size_t)n);
    if (n <= have || capacity == shoal_result_capacity((size_t)have))
        return SHOAL_OK;
    for (int f = 0; f < shoal_result_n_fields; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        if (!(field->when & when))
            continue;
        size_t bytes;
        void *data = NULL;
        if (!__builtin_mul_overflow(capacity, shoal_field_row_items(field, result) * shoal_field_item_size(field),
                                    &bytes))
            data = realloc(shoal_field_data(result, field), bytes);
        if (!data)
            return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld snapshots or events", n);
        field_set_data(result, field, data);
    }
    return SHOAL_OK;
}

shoal_status shoal_result_append(shoal_context *context, shoal_result *result, long n, const int64_t *system,
                                 const double *time, const double *state)
{
    if (n <= 0)
        return SHOAL_OK;
    shoal_status status = shoal_result_reserve(context, result, SNAPSHOT, result->n_snapshots + n);
    if (status)
        return status;
    size_t row = (size_t)result->n_bodies * SHOAL_STATE;
    memcpy(result->snapshot_system + result->n_snapshots, system, (size_t)n * sizeof *system);
    memcpy(result->snapshot_time + result->n_snapshots, time, (size_t)n * sizeof *time);
    memcpy(result->snapshot + (size_t)result->n_snapshots * row, state, (size_t)n * row * sizeof *state);
    result->n_snapshots += n;
    return SHOAL_OK;
}

shoal_status shoal_result_append_event(shoal_context *context, shoal_result *result, const shoal_event *event)
{
    const long row = result->n_events;
    shoal_status status = shoal_result_reserve(context, result, EVENT, row + 1);
    if (status)
        return status;
    result->event_system[row] = event->system;
    result->event_time[row] = event->time;
    result->event[row] = event->what;
    result->event_a[row] = event->body_a;
    result->event_b[row] = event->body_b;
    result->event_ended[row] = event->ended;
    result->event_m_a[row] = event->m_a;
    result->event_m_b[row] = event->m_b;
    result->event_distance[row] = event->distance;
    result->event_speed[row] = event->speed;
    result->event_dE[row] = event->energy_jump;
    result->n_events++;
    return SHOAL_OK;
}

shoal_status shoal_result_order(shoal_context *context, long n_systems, long n, const int64_t *system, size_t *to)
{
    size_t *first = calloc((size_t)n_systems + 1, sizeof *first);
    if (!first)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the order of %ld rows", n);
    for (long i = 0; i < n; i++)
        first[system[i] + 1]++;
    for (long s = 0; s < n_systems; s++)
        first[s + 1] += first[s];
    for (long i = 0; i < n; i++)
        to[i] = first[system[i]]++;
    free(first);
    return SHOAL_OK;
}

shoal_status shoal_result_sort_events(shoal_context *context, shoal_result *result)
{
    const size_t n = (size_t)result->n_events;
    size_t *to = calloc(n + 1, sizeof *to);
    char *sorted = malloc((n + 1) * sizeof(double)); /* NOLINT(clang-analyzer-unix.MallocSizeof): of any type */
    shoal_status status = to && sorted
                              ? shoal_result_order(context, result->n_systems, (long)n, result->event_system, to)
                              : shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld events", result->n_events);
    for (int f = 0; f < shoal_result_n_fields && !status; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        const size_t size = shoal_field_item_size(field);
        if (!(field->when & EVENT) || n == 0)
            continue;
        for (size_t i = 0; i < n; i++)
            memcpy(sorted + to[i] * size, (char *)shoal_field_data(result, field) + i * size, size);
        memcpy(shoal_field_data(result, field), sorted, n * size);
    }
    free(to);
    free(sorted);
    return status;
}

/* Exchange two snapshot rows. */
static void swap_snapshots(shoal_result *result, size_t a, size_t b)
{
    const size_t row = (size_t)result->n_bodies * SHOAL_STATE;
    const int64_t system = result->snapshot_system[a];
    const double time = result->snapshot_time[a];
    result->snapshot_system[a] = result->snapshot_system[b];
    result->snapshot_system[b] = system;
    result->snapshot_time[a] = result->snapshot_time[b];
    result->snapshot_time[b] = time;
    for (size_t q = 0; q < row; q++) {
        const double value = result->snapshot[a * row + q];
        result->snapshot[a * row + q] = result->snapshot[b * row + q];
        result->snapshot[b * row + q] = value;
    }
}

/* Whether every row has a higher rank (how many of its system's are before it) than the row before it, or that of a
 * later system. */
static bool snapshots_in_order(const shoal_result *result, size_t *seen)
{
    bool sorted = true;
    for (size_t i = 0, last = 0; i < (size_t)result->n_snapshots; i++) {
        const int64_t system = result->snapshot_system[i];
        const size_t rank = seen[system]++;
        sorted = sorted && (i == 0 || rank > last || (rank == last && system > result->snapshot_system[i - 1]));
        last = rank;
    }
    return sorted;
}

shoal_status shoal_result_sort_snapshots(shoal_context *context, shoal_result *result)
{
    const size_t n = (size_t)result->n_snapshots, n_systems = (size_t)result->n_systems;
    size_t *seen = calloc(n_systems, sizeof *seen); /* rows of a system; then the next one's index in `place` */
    size_t *place = NULL, *to = NULL, *next = NULL;
    shoal_status status = SHOAL_OK;
    if (!seen)
        goto fail;
    if (snapshots_in_order(result, seen))
        goto done;
    place = malloc(n * sizeof *place); /* of the rows of system 0, of system 1, ... */
    to = malloc(n * sizeof *to);
    next = calloc(n + 1, sizeof *next); /* of each rank: the place of its next row */
    if (!place || !to || !next)
        goto fail;
    for (size_t s = 0; s < n_systems; s++)
        for (size_t rank = 0; rank < seen[s]; rank++)
            next[rank + 1]++;
    for (size_t rank = 0; rank < n; rank++)
        next[rank + 1] += next[rank];
    for (size_t s = 0, at = 0; s < n_systems; s++) {
        const size_t n_rows = seen[s];
        seen[s] = at;
        for (size_t rank = 0; rank < n_rows; rank++)
            place[at++] = next[rank]++;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = place[seen[result->snapshot_system[i]]++];
    for (size_t i = 0; i < n; i++)
        while (to[i] != i) {
            const size_t there = to[i];
            swap_snapshots(result, i, there);
            to[i] = to[there];
            to[there] = there;
        }
    goto done;
fail:
    status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld snapshots", result->n_snapshots);
done:
    free(seen);
    free(place);
    free(to);
    free(next);
    return status;
}

void shoal_result_clear(shoal_result *result, const shoal_field *field, size_t row, size_t n)
{
    const size_t items = shoal_field_row_items(field, result), end = (row + n) * items;
    void *data = shoal_field_data(result, field);
    for (size_t i = row * items; i < end; i++)
        switch (field->type) {
        case SHOAL_FIELD_DOUBLE:
        case SHOAL_FIELD_STATES: ((double *)data)[i] = NAN; break;
        case SHOAL_FIELD_INT64: ((int64_t *)data)[i] = (int64_t)i; break; /* an id is the row's number */
        case SHOAL_FIELD_ROW: ((int64_t *)data)[i] = -1; break;           /* which is refused */
        case SHOAL_FIELD_INDEX: ((int *)data)[i] = -1; break;
        case SHOAL_FIELD_INT:
        case SHOAL_FIELD_OUTCOME: ((int *)data)[i] = 0;
        }
}

shoal_status shoal_result_check(shoal_context *context, const shoal_result *result, const char *path)
{
    for (long s = 0; s < result->n_systems; s++) {
        if (result->outcome[s] < 0 || result->outcome[s] >= SHOAL_OUTCOMES)
            return shoal_fail(context, SHOAL_E_INPUT, "%s: row %ld: there is no outcome %d", path, s,
                              result->outcome[s]);
        if (result->n_live[s] < 0 || result->n_live[s] > result->n_bodies || result->n_final[s] < 0 ||
            result->n_final[s] > result->n_bodies)
            return shoal_fail(context, SHOAL_E_INPUT, "%s: row %ld: %d live bodies, %d in the end, of %d", path, s,
                              result->n_live[s], result->n_final[s], result->n_bodies);
        if (result->body_a[s] < -1 || result->body_a[s] >= result->n_bodies || result->body_b[s] < -1 ||
            result->body_b[s] >= result->n_bodies)
            return shoal_fail(context, SHOAL_E_INPUT, "%s: row %ld: there is no body %d or %d", path, s,
                              result->body_a[s], result->body_b[s]);
    }
    for (long i = 0; i < result->n_snapshots; i++)
        if (result->snapshot_system[i] < 0 || result->snapshot_system[i] >= result->n_systems)
            return shoal_fail(context, SHOAL_E_INPUT, "%s: snapshot %ld: there is no row %lld", path, i,
                              (long long)result->snapshot_system[i]);
    for (long i = 0; i < result->n_events; i++)
        if (result->event_system[i] < 0 || result->event_system[i] >= result->n_systems || result->event[i] < 0 ||
            result->event[i] >= SHOAL_OUTCOMES || result->event_a[i] < -1 || result->event_a[i] >= result->n_bodies ||
            result->event_b[i] < -1 || result->event_b[i] >= result->n_bodies)
            return shoal_fail(context, SHOAL_E_INPUT, "%s: event %ld: there is no row %lld, event %d, body %d or %d",
                              path, i, (long long)result->event_system[i], result->event[i], result->event_a[i],
                              result->event_b[i]);
    for (int l = 0; l < result->n_logs; l++) {
        const shoal_status status = shoal_log_check(context, result, &result->logs[l], path);
        if (status)
            return status;
    }
    return SHOAL_OK;
}
