/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * monitor.kern.h: the words of a monitor's text. A monitor defines   NAME_SLOTS (doubles a system that it carries) and
 *     NAME_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
 * which reads the synchronised state after a step, updates its slots and may offer an event. The earliest event of a
 * step wins, whatever the order of the monitors in the config; of simultaneous ones the first in list.h. Depending on
 * what list.h says that it sees, it also defines
 *     NAME_forget(k, id, n, lanes)      INSIDE: the parts of a step that these lanes have shown did not happen
 *     int NAME_star(k)                  INSIDE: whether it looks at pairs with body 0
 *     NAME_guard(k, id, n, guard)       INSIDE: raises the distances beyond which it sees nothing (lane_guard)
 *     mask NAME_sought(k, id, n, i, j, sought)  INSIDE: raises *sought to the square of a distance that the pair i < j
 *                                       must come below when it turns; returns the lanes in which it must see the pair
 *     NAME_WAITS                        INSIDE: 1 if such a pair may be shown to it after later steps, else 0
 *     NAME_LEFT                         EVERY: the slot of monitor_due
 *     double NAME_sleeps(k)             FAR: it sees nothing new while all bodies are nearer to the barycentre than
 *                                       this
 */
#ifndef SHOAL_MONITOR_KERN_H
#define SHOAL_MONITOR_KERN_H

#include "core/kernel/known.kern.h"

/* The step just made: barycentric states [6 * n] before (only for monitors with the pair hook) and after it. */
typedef struct lane_view {
    lane_id id;
    int n;
    const real *m, *before, *after;
    real h;             /* length of the step */
    real phase;         /* of the whole run, 0..1, after it */
    real tangent2;      /* squared length of the tangent vector, where a monitor asks for one */
    mask star, planets; /* lanes whose pairs with body 0, or of other bodies, this view may be asked about */
    mask near;          /* lanes in which pairs may be near enough to matter (guard.kern.h) */
    mask whole;         /* lanes that made this step and run; none where it is a part of one */
    real late;          /* time from the end of this view to that of the step */
    real time;          /* since the start of the run, after it; 0 where it is a part of a step */
    real since;         /* steps since the last one that was shown: 1 if none was left out */
    int part; /* of a step, which may yet be made again: what a monitor keeps of it waits for the whole of it */
    int held; /* an earlier step, for the monitors that wait */
} lane_view;

/* Room for the n bodies that a view has, and for their pairs. */
#if TEAM > 1
#define VIEW_ROOM(n) TEAM_BODIES
#elif defined(N_BODIES) && defined(SHOAL_VARIATIONAL)
#define VIEW_ROOM(n) (N_BODIES >> SHOAL_VARIATIONAL)
#else
#define VIEW_ROOM(n) LANE_ROOM(n)
#endif
#define GUARD_PAIRS SHOAL_N_PAIRS(VIEW_ROOM(SHOAL_MAX_PAIRED))
/* Squares of the distances beyond which the monitors of pairs see nothing: `star` of pairs with body 0; of the others
 * `planets` + `hill` r^2, r the larger distance from body 0 or half of the larger semi-major axis, which is less. */
typedef struct lane_guard {
    rough star, planets, hill;
    rough inverse;            /* 1 / mass of body 0 */
    rough left, rate, cost;   /* of a sleep (nested.kern.h): beta, less what was spent */
    rough rest, pause;        /* steps to the next try, and after it */
    bool awake;               /* the next step is looked at */
    rough apart[GUARD_PAIRS]; /* of the pairs of this thread: above 0 if it was seen to part (guard.kern.h) */
} lane_guard;

/* The components of n vectors, without their signs, in sum; a thread of one component takes it for all three. */
LANE_FN real nested_sum(int n, const real *a)
{
    real sum = lane_set(0.0);
    LANE_UNROLL
    for (int c = 0; c < XYZ; c++) {
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            sum = sum + lane_abs(a[c * n + i]);
    }
    return 3.0 / XYZ * sum;
}

/* The largest quantity q of bodies 1 .. n-1. */
LANE_FN real guard_largest(const shoal_kernel_args *k, lane_id id, int n, int q)
{
    real most = lane_set(0.0);
    LANE_KEEP_ROLLED
    for (int i = 1; i < n; i++)
        most = lane_max(most, lane_load(k->bodies, id, i * SHOAL_QUANTITIES + q, n * SHOAL_QUANTITIES));
    return most;
}

typedef struct lane_event {
    mask hit;
    real fraction; /* of the step, 0..1 */
    real outcome, body_a, body_b;
} lane_event;

enum {
#define MONITOR(name, sees) SHOAL_MONITOR_##name,
#include "monitors/list.h"
#undef MONITOR
    SHOAL_N_MONITORS
};

#define EVENT_LAST 1e300 /* as a fraction of the step */

LANE_FN void event_offer(lane_event *event, mask hit, real fraction, real outcome, real body_a, real body_b)
{
    mask wins = hit & (lane_not(event->hit) | (fraction < event->fraction));
    event->hit = event->hit | hit;
    event->fraction = lane_select(wins, fraction, event->fraction);
    event->outcome = lane_select(wins, outcome, event->outcome);
    event->body_a = lane_select(wins, body_a, event->body_a);
    event->body_b = lane_select(wins, body_b, event->body_b);
}

LANE_FN void event_none(lane_event *event)
{
    event->hit = lane_set(0.0) != lane_set(0.0);
    event->fraction = lane_set(1.0);
    event->outcome = event->body_a = event->body_b = lane_set(-1.0);
}

/* The motion within a step, for the monitors of pairs, from a propagator that resolves it: in these lanes they have
 * seen the pairs with body 0, and those of other bodies, substep by substep, with this verdict, and need not look at
 * the step's ends. */
typedef struct lane_inside {
    lane_id id;
    mask star, planets;
    lane_event event;
} lane_inside;

/* What happened to the bodies a, b is marked in the lanes `hit`, which pause; any event that ends a system goes
 * first. */
LANE_FN void event_mark(const shoal_kernel_args *k, const lane_view *view, mask hit, real fraction, int a, int b,
                        lane_event *event)
{
    const real none = lane_set(-1.0);
    lane_store(k->watch, view->id, k->marks + a * view->n + b, k->n_watch, hit,
               lane_fma(1.0 - fraction, view->h, view->late));
    event_offer(event, hit, lane_set(EVENT_LAST), lane_set(SHOAL_MARKED), none, none);
}

LANE_FN real event_marked(const shoal_kernel_args *k, const lane_view *view, int a, int b)
{
    return lane_load(k->watch, view->id, k->marks + a * view->n + b, k->n_watch);
}

/* The lanes `where` log a row: the time and the values of the monitor's n log columns. At most as many rows
 * a step and monitor as there are bodies. The lanes pause when the room runs short. */
/* long: what a row is of, and when */
LANE_FN void record_add(const shoal_kernel_args *k, const lane_view *view, mask where, int monitor, real time,
                        const real *values, int n, lane_event *event)
{
    const real none = lane_set(-1.0);
    if (k->records < 0)
        return;
    const real count = lane_load(k->watch, view->id, k->records, k->n_watch);
    LANE_KEEP_ROLLED
    for (int i = 0; i < k->record_room; i++) {
        const mask here = where & (count == lane_set((double)i));
        if (!lane_any(here))
            continue;
        const int at = k->records + 1 + i * k->record_size;
        lane_store(k->watch, view->id, at + SHOAL_RECORD_MONITOR, k->n_watch, here, lane_set((double)monitor));
        lane_store(k->watch, view->id, at + SHOAL_RECORD_TIME, k->n_watch, here, time);
        for (int q = 0; q < n; q++)
            lane_store(k->watch, view->id, at + SHOAL_RECORD_VALUES + q, k->n_watch, here, values[q]);
        lane_store(k->watch, view->id, k->records, k->n_watch, here, count + 1.0);
    }
    event_offer(event, where & (count >= lane_set(SHOAL_RECORDS_PAUSE - 1.0)), lane_set(EVENT_LAST),
                lane_set(SHOAL_MARKED), none, none);
}

/* The first slot, in k->watch, of a part of a system; n_slots, n_part_slots: of the monitor. */
LANE_FN int part_slot(const shoal_kernel_args *k, int monitor, int n_slots, int n_part_slots, int part)
{
    return k->watch_offset[monitor] + n_slots + part * n_part_slots;
}

/* The lanes that look at every so-many-th step and do so now; *left: a slot that begins at 0. */
LANE_FN mask monitor_due(const lane_view *view, double every, real *left)
{
    *left = *left - view->since;
    const mask due = (*left <= lane_set(0.0)) & view->whole;
    *left = lane_select(due, lane_set(every), *left);
    return due;
}

/* A tangent vector as long as that is shortened by this (see tangent.kern.h). */
#define TANGENT_LIMIT 0x1p300
LANE_FN mask tangent_is_long(real length2)
{
    return length2 > lane_set(TANGENT_LIMIT * TANGENT_LIMIT);
}

#endif
