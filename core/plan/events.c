/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * events.c: systems whose monitors let them go on: bodies merge, a body is removed, an encounter is noted; and what
 * monitors log.
 *
 * What monitors log (record_add in monitors/monitor.kern.h) is taken after every slice.
 *
 * The rest is rare, so it is done on the host. A monitor with such an action marks all that happens in a step in the
 * watch slots (event_mark in monitors/monitor.kern.h), and the system pauses after that step, whichever slice it is in.
 * Here its bodies are changed as they stand then, at one moment, in the order of the events' times; its native state is
 * prepared anew; and it goes on with the next step of its clock.
 *
 *     merger    m = m_a + m_b,  x = (m_a x_a + m_b x_b) / m,  v likewise,  r^3 = r_a^3 + r_b^3
 *     removal   the others' barycentre becomes the system's
 *
 * Mass and momentum stay, energy does not: its jump is booked apart. Who is gone leaves its slot empty, so that indices
 * keep their meaning. A system ends, as with action = stop, where nobody would orbit body 0 any more, where body 0
 * itself leaves, and where a planet would become as heavy as body 0 though the propagator or a force needs a dominant
 * mass.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

/* What a mark says: a < b touched, a > b came close, a = b left. Or what a record says. */
typedef struct happening {
    double late; /* time from then to where the system is */
    double time;
    int a, b;          /* of a mark; of a record a is its place */
    const double *log; /* of a record: its doubles; else NULL */
} happening;

/* Slot i of the records, how many there are being the first. */
static double *record(const shoal_plan *plan, long system, int i)
{
    return &plan->args.watch[SHOAL_AT(system, plan->args.records + i, plan->args.n_watch)];
}

static double *mark(const shoal_plan *plan, long system, int a, int b)
{
    return &plan->args.watch[SHOAL_AT(system, plan->args.marks + a * plan->ensemble->n_bodies + b, plan->args.n_watch)];
}

static int earlier_first(const void *a, const void *b)
{
    const happening *x = a, *y = b;
    const double order = fabs(y->late) - fabs(x->late);
    const int logs = (x->log != NULL) - (y->log != NULL);
    return order != 0 ? (order > 0) - (order < 0) : logs != 0 ? logs : x->a != y->a ? x->a - y->a : x->b - y->b;
}

static bool has_records(const shoal_plan *plan, long system)
{
    return plan->args.records >= 0 && *record(plan, system, 0) > 0;
}

/* Room for what happens in one system. */
typedef struct workspace {
    shoal_body *bodies; /* [n_bodies] */
    int *became;        /* [n_bodies] the body that each is part of by now, -1 = it left */
    happening *list;    /* [n_bodies^2 + record_room] */
    double *records;    /* [record_room][record_size] */
} workspace;

/* Take the records and the marks of a system off, in order of time; encounters that were noted before stay marked
 * as such. */
static int take_marks(const shoal_plan *plan, long system, bool goes_on, const workspace *work)
{
    const double now = shoal_plan_time(plan, system);
    const int size = plan->args.record_size;
    happening *list = work->list;
    int n = 0;
    if (has_records(plan, system)) {
        for (; n < (int)*record(plan, system, 0); n++) {
            double *log = work->records + n * size;
            for (int q = 0; q < size; q++)
                log[q] = *record(plan, system, 1 + n * size + q);
            list[n] = (happening){now - log[SHOAL_RECORD_TIME], log[SHOAL_RECORD_TIME], .a = n, .log = log};
        }
        *record(plan, system, 0) = 0;
    }
    for (int a = 0; !goes_on && plan->args.marks >= 0 && a < plan->ensemble->n_bodies; a++)
        for (int b = 0; b < plan->ensemble->n_bodies; b++) {
            double *late = mark(plan, system, a, b);
            if (!isfinite(*late))
                continue;
            list[n++] = (happening){.late = *late, .time = now - *late, .a = a, .b = b};
            *late = NAN;
        }
    qsort(list, (size_t)n, sizeof *list, earlier_first);
    return n;
}

static shoal_status append(shoal_plan *plan, const shoal_event *event)
{
    const size_t n = (size_t)plan->n_events;
    if ((n & (n + 1)) == 0) { /* room for 1, 3, 7, ... */
        shoal_event *more = realloc(plan->events, (2 * n + 1) * sizeof *more);
        if (!more)
            return shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory for %ld events", plan->n_events + 1);
        plan->events = more;
    }
    plan->events[plan->n_events++] = *event;
    return SHOAL_OK;
}

/* Masses, distance and speed of the event's bodies as they stand; of one alone, from the barycentre of the rest. */
static void measure(const shoal_ensemble *ensemble, shoal_event *event)
{
    event->m_a = event->m_b = event->distance = event->speed = NAN;
    if (event->body_a < 0)
        return;
    const shoal_body a = shoal_ensemble_read_body(ensemble, event->system, event->body_a);
    shoal_body from = {0};
    double scale = 1;
    event->m_a = a.m;
    if (event->body_b >= 0) {
        from = shoal_ensemble_read_body(ensemble, event->system, event->body_b);
        event->m_b = from.m;
    } else {
        double mass = 0;
        for (int i = 0; i < ensemble->n_bodies; i++)
            mass += *shoal_ensemble_body(ensemble, i, SHOAL_M, event->system);
        scale = mass / (mass - a.m);
    }
    event->distance = scale * hypot(hypot(a.x - from.x, a.y - from.y), a.z - from.z);
    event->speed = scale * hypot(hypot(a.vx - from.vx, a.vy - from.vy), a.vz - from.vz);
}

/* b becomes a part of a. */
static void merge(shoal_body *a, shoal_body *b)
{
    const long double mass = (long double)a->m + b->m, share = mass > 0 ? b->m / mass : 0;
    double *const to[6] = {&a->x, &a->y, &a->z, &a->vx, &a->vy, &a->vz};
    const double from[6] = {b->x, b->y, b->z, b->vx, b->vy, b->vz};
    for (int c = 0; c < 6; c++)
        *to[c] = (double)(*to[c] + share * (from[c] - (long double)*to[c]));
    a->m = (double)mass;
    a->r = cbrt(a->r * a->r * a->r + b->r * b->r * b->r);
    b->r = -1;
}

/* Body `gone` leaves the system (into = -1) or becomes a part of another one. bodies: [n_bodies]. */
static void take_out(shoal_plan *plan, double elapsed, int gone, int into, shoal_body *bodies, shoal_event *event)
{
    shoal_ensemble *ensemble = plan->ensemble;
    const long system = event->system;
    const double before = shoal_ensemble_energy(ensemble, system);
    for (int i = 0; i < ensemble->n_bodies; i++) {
        bodies[i] = shoal_ensemble_read_body(ensemble, system, i);
        if (!shoal_ensemble_is_there(ensemble, i, system) || (i == gone && into < 0))
            bodies[i].r = -1;
        *mark(plan, system, gone, i) = *mark(plan, system, i, gone) = NAN;
    }
    if (into >= 0)
        merge(&bodies[into], &bodies[gone]);
    shoal_ensemble_change(ensemble, system, elapsed, bodies);
    event->energy_jump = shoal_ensemble_energy(ensemble, system) - before;
    ensemble->energy_jump[system] += event->energy_jump;
    shoal_plan_watch_bodies(plan, system);
}

/* Whether the system can do without that body. */
static bool ends(const shoal_plan *plan, const shoal_event *event)
{
    const shoal_ensemble *ensemble = plan->ensemble;
    if (event->what == SHOAL_ENCOUNTER)
        return false;
    if (shoal_ensemble_n_left(ensemble, event->system) <= 2)
        return true;
    if (event->what == SHOAL_EJECTED)
        return event->body_a == 0;
    return (plan->propagator->refuses || plan->args.n_forces > 0) && event->what == SHOAL_COLLIDED &&
           event->m_a + event->m_b >= *shoal_ensemble_body(ensemble, 0, SHOAL_M, event->system);
}

/* What a mark says of the bodies as they are by now; false if there is nothing to say any more. */
static bool read_mark(const shoal_plan *plan, const happening *h, const int *became, shoal_event *event)
{
    const int a = became[h->a], b = became[h->b], low = a < b ? a : b, high = a < b ? b : a;
    if (low < 0 || (low == high && h->a != h->b))
        return false; /* who it happened to is no more */
    event->body_a = low;
    event->body_b = high;
    if (h->a == h->b) {
        event->what = SHOAL_EJECTED;
        event->body_b = -1;
    } else if (h->a > h->b) {
        double *since = mark(plan, event->system, high, low);
        if (low == 0 || isinf(*since))
            return false; /* one of them fell into the star; or the other's approach had been logged */
        *since = INFINITY;
        event->what = SHOAL_ENCOUNTER;
    } else {
        const double *m_low = shoal_ensemble_body(plan->ensemble, low, SHOAL_M, event->system);
        const double *m_high = shoal_ensemble_body(plan->ensemble, high, SHOAL_M, event->system);
        event->what = low == 0 ? SHOAL_HIT_STAR : SHOAL_COLLIDED;
        if (low > 0 && *m_high > *m_low) {
            event->body_a = high;
            event->body_b = low;
        }
    }
    return true;
}

/* One system that stopped, or pauses, or goes on and has records alone. *changed: its bodies are no longer those of
 * its native state. */
static shoal_status settle(shoal_plan *plan, long system, const workspace *work, bool *changed)
{
    shoal_ensemble *ensemble = plan->ensemble;
    double *outcome = shoal_ensemble_field(ensemble, SHOAL_SYS_OUTCOME, system);
    double *t_stop = shoal_ensemble_field(ensemble, SHOAL_SYS_T_STOP, system);
    double *body_a = shoal_ensemble_field(ensemble, SHOAL_SYS_BODY_A, system);
    double *body_b = shoal_ensemble_field(ensemble, SHOAL_SYS_BODY_B, system);
    const double elapsed = shoal_plan_time(plan, system) - *shoal_ensemble_field(ensemble, SHOAL_SYS_T_START, system);
    const bool goes_on = *outcome == SHOAL_RUNNING;
    const double direction = copysign(1, *shoal_ensemble_field(ensemble, SHOAL_SYS_DT, system));
    const int n = take_marks(plan, system, goes_on, work);
    shoal_status status = SHOAL_OK;
    bool left = false;

    for (int i = 0; i < ensemble->n_bodies; i++) {
        work->became[i] = i;
        for (int q = 0; q < 6 && !goes_on; q++)
            *shoal_ensemble_body(ensemble, i, q,
                                 system) = plan->args.snapshot[SHOAL_AT(system, 6 * i + q, 6 * ensemble->n_bodies)];
    }
    for (int i = 0; i < n && status == SHOAL_OK; i++) {
        const happening *h = &work->list[i];
        shoal_event event = {.system = system, .time = h->time};
        if (!goes_on && *outcome != SHOAL_MARKED && direction * (event.time - *t_stop) > 0)
            break; /* after its end */
        if (h->log) {
            status = shoal_plan_log_add(plan, system, h->log, work->became);
            continue;
        }
        if (!read_mark(plan, h, work->became, &event))
            continue;
        if (event.what == SHOAL_EJECTED && left)
            continue; /* it may be bound without the other that left: the next step shows */
        measure(ensemble, &event);
        event.ended = ends(plan, &event);
        if (event.ended) {
            *outcome = event.what;
            *t_stop = event.time;
            *body_a = event.body_a;
            *body_b = event.body_b;
            return append(plan, &event);
        }
        if (event.what != SHOAL_ENCOUNTER) {
            const int gone = event.body_b < 0 ? event.body_a : event.body_b,
                      into = event.body_b < 0 ? -1 : event.body_a;
            take_out(plan, elapsed, gone, into, work->bodies, &event);
            for (int k = 0; k < ensemble->n_bodies; k++)
                work->became[k] = work->became[k] == gone ? into : work->became[k];
            left = left || into < 0;
            *changed = true;
        }
        status = append(plan, &event);
    }
    if (*outcome == SHOAL_MARKED) {
        *outcome = SHOAL_RUNNING;
        plan->bin[system] = -1; /* it paused */
        *t_stop = NAN;
        *body_a = *body_b = -1;
    } else if (!goes_on && status == SHOAL_OK) {
        shoal_event event = {.system = system,
                             .time = *t_stop,
                             .what = (enum shoal_outcome)(int)*outcome,
                             .body_a = (int)*body_a,
                             .body_b = (int)*body_b,
                             .ended = 1};
        measure(ensemble, &event);
        status = append(plan, &event);
    }
    return status;
}

shoal_status shoal_plan_take_events(shoal_plan *plan, const int *list, long n_list)
{
    const size_t n = (size_t)plan->ensemble->n_bodies;
    const size_t room = (size_t)plan->args.record_room;
    const workspace work = {calloc(n, sizeof *work.bodies), calloc(n, sizeof *work.became),
                            malloc((n * n + room) * sizeof *work.list),
                            malloc((room * (size_t)plan->args.record_size + 1) * sizeof *work.records)};
    int *stopped = malloc((size_t)n_list * sizeof *stopped);
    long n_stopped = 0, n_busy = 0, n_changed = 0;
    shoal_status status = SHOAL_OK;
    if (!work.bodies || !work.became || !work.list || !work.records || !stopped) {
        status = shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory for %ld systems", n_list);
        goto done;
    }
    for (long i = 0; i < n_list; i++)
        if (*shoal_ensemble_field(plan->ensemble, SHOAL_SYS_OUTCOME, list[i]) != SHOAL_RUNNING)
            stopped[n_stopped++] = list[i];
    if (n_stopped > 0)
        status = shoal_plan_snapshot(plan, NAN, stopped, n_stopped);
    if (!status && (n_stopped > 0 || plan->args.records >= 0))
        status = plan->engine_type->download(plan->engine, SHOAL_ARRAY_WATCH);
    for (long i = 0; i < n_list && !status; i++) {
        bool changed = false;
        if (*shoal_ensemble_field(plan->ensemble, SHOAL_SYS_OUTCOME, list[i]) == SHOAL_RUNNING &&
            !has_records(plan, list[i]))
            continue;
        n_busy++;
        status = settle(plan, list[i], &work, &changed);
        if (changed)
            stopped[n_changed++] = list[i];
    }
    if (!status && n_busy > 0)
        status = plan->engine_type->upload(plan->engine, (n_changed > 0 ? SHOAL_ARRAY_BODIES : 0) |
                                                             (n_stopped > 0 ? SHOAL_ARRAY_SYSTEMS : 0) |
                                                             SHOAL_ARRAY_WATCH);
    if (!status && n_changed > 0)
        status = plan->engine_type->launch(plan->engine, SHOAL_PREPARE, stopped, n_changed, 0);
done:
    free(work.bodies);
    free(work.became);
    free(work.list);
    free(work.records);
    free(stopped);
    return status;
}

long shoal_plan_n_events(const shoal_plan *plan)
{
    return plan ? plan->n_events : 0;
}

shoal_status shoal_plan_event(const shoal_plan *plan, long i, shoal_event *event)
{
    if (event)
        *event = (shoal_event){.system = -1, .time = NAN};
    shoal_status status = plan ? shoal_check_range(plan->context, __func__, "i", i, (long[2]){0, plan->n_events - 1})
                               : SHOAL_E_USAGE;
    if (!status)
        status = shoal_check_given(plan->context, __func__, "event", event);
    if (!status)
        *event = plan->events[i];
    return status;
}

shoal_status shoal_plan_get_events(const shoal_plan *plan, long first, long n, shoal_event *events)
{
    shoal_status status = plan ? shoal_check_rows(plan->context, __func__, first, n, plan->n_events) : SHOAL_E_USAGE;
    if (!status && n > 0)
        status = shoal_check_given(plan->context, __func__, "events", events);
    if (!status && n > 0)
        memcpy(events, plan->events + first, (size_t)n * sizeof *events);
    return status;
}
