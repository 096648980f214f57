/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * observe.kern.h: what monitors see and how their verdicts are merged.
 *
 * A monitor's text defines   NAME_SLOTS (doubles a system that it carries) and
 *     NAME_observe(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
 * which reads the synchronised state after a step, updates its slots and may offer an event. The earliest event of a step wins,
 * whatever the order of the monitors in the config; of simultaneous ones the first in list.h.
 */

/* The step just made: barycentric states [6 * n] before (only for monitors with the pair hook) and after it. */
typedef struct lane_view {
    lane_id id;
    int n;
    const real *m, *before, *after;
    real h;      /* length of the step */
    real phase;  /* of the whole run, 0..1, after it */
    real tangent2; /* squared length of the tangent vector, where a monitor asks for one */
    mask star, planets; /* lanes whose pairs with body 0, or of other bodies, this view may be asked about */
    mask whole;  /* lanes that made this step and run; none where it is a part of one */
    real late;   /* time from the end of this view to that of the step */
    real time;   /* since the start of the run, after it; 0 where it is a part of a step */
    int part;    /* of a step, which may yet be made again: what a monitor keeps of it waits for the whole of it */
} lane_view;

typedef struct lane_event {
    mask hit;
    real fraction; /* of the step, 0..1 */
    real outcome, body_a, body_b;
} lane_event;

enum {
#define MONITOR(name) SHOAL_MONITOR_##name,
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

/* The motion within a step, for the monitors of pairs, from a propagator that resolves it: in these lanes they have seen the pairs with body 0,
 * and those of other bodies, substep by substep, with this verdict, and need not look at the step's ends. */
typedef struct lane_inside {
    lane_id id;
    mask star, planets;
    lane_event event;
} lane_inside;

/* What happened to the bodies a, b is marked in the lanes `hit`, which pause; any event that ends a system goes first. */
LANE_FN void event_mark(const shoal_kernel_args *k, const lane_view *view, mask hit, real fraction, int a, int b,
                        lane_event *event)
{
    const real none = lane_set(-1.0);
    lane_store(k->watch, view->id, k->marks + a * view->n + b, k->n_watch, hit, lane_fma(1.0 - fraction, view->h, view->late));
    event_offer(event, hit, lane_set(EVENT_LAST), lane_set(SHOAL_MARKED), none, none);
}

LANE_FN real event_marked(const shoal_kernel_args *k, const lane_view *view, int a, int b)
{
    return lane_load(k->watch, view->id, k->marks + a * view->n + b, k->n_watch);
}

/* A record, and its numbers, in the lanes `where`, where records are kept: one of each body a step and monitor, at most. The lanes pause when the
 * room runs short. */
LANE_FN void record_add(const shoal_kernel_args *k, const lane_view *view, mask where, double what, real time, double bodies, real distance,
                        real speed, lane_event *event)
{
    const real none = lane_set(-1.0), values[SHOAL_RECORD_FIELDS] = {lane_set(what), time, lane_set(bodies), distance, speed};
    if (k->records < 0)
        return;
    const real count = lane_load(k->watch, view->id, k->records, k->n_watch);
    LANE_KEEP_ROLLED
    for (int i = 0; i < k->record_room; i++) {
        const mask here = where & (count == lane_set((double)i));
        if (!lane_any(here))
            continue;
        for (int q = 0; q < SHOAL_RECORD_FIELDS; q++)
            lane_store(k->watch, view->id, k->records + 1 + i * SHOAL_RECORD_FIELDS + q, k->n_watch, here, values[q]);
        lane_store(k->watch, view->id, k->records, k->n_watch, here, count + 1.0);
    }
    event_offer(event, where & (count >= lane_set(SHOAL_RECORDS_PAUSE - 1.0)), lane_set(EVENT_LAST), lane_set(SHOAL_MARKED), none, none);
}

/* The first slot, in k->watch, of a part of a system; n_slots, n_part_slots: of the monitor. */
LANE_FN int part_slot(const shoal_kernel_args *k, int monitor, int n_slots, int n_part_slots, int part)
{
    return k->watch_offset[monitor] + n_slots + part * n_part_slots;
}

/* The lanes that look at every so-many-th step and do so now; *left: a slot that begins at 0. */
LANE_FN mask monitor_due(const lane_view *view, double every, real *left)
{
    *left = *left - 1.0;
    const mask due = (*left <= lane_set(0.0)) & view->whole;
    *left = lane_select(due, lane_set(every), *left);
    return due;
}

/* A tangent vector as long as that is shortened by this (see tangent.kern.h). */
#define TANGENT_LIMIT 0x1p300
LANE_FN mask tangent_is_long(real length2) { return length2 > lane_set(TANGENT_LIMIT * TANGENT_LIMIT); }

#include "monitors/pair.kern.h"
#include "monitors/orbit.kern.h"
#include "monitors/amd.kern.h"
#include "monitors/distance.kern.h"
#include "monitors/element_range.kern.h"
#include "monitors/energy_error.kern.h"
#include "monitors/mean_motion_drift.kern.h"
#include "monitors/megno.kern.h"
#include "monitors/resonant_angle.kern.h"
#include "monitors/stop_on_collision.kern.h"
#include "monitors/stop_on_crossing.kern.h"
#include "monitors/stop_on_ejection.kern.h"
#include "monitors/stop_on_encounter.kern.h"
#include "monitors/closest_approach.kern.h"
#include "monitors/transits.kern.h"
#ifdef SHOAL_PLUGINS
#include "plugins/monitors.kern.h"
#else
#define SHOAL_PLUGIN_MONITORS_OF_PAIRS 0
#endif

/* Those that inside_observe asks, and all that look at the state before a step, too. */
#define MONITORS_INSIDE \
    ((1 << SHOAL_MONITOR_stop_on_collision) | (1 << SHOAL_MONITOR_stop_on_encounter) | (1 << SHOAL_MONITOR_closest_approach))
#define MONITORS_OF_PAIRS (MONITORS_INSIDE | (1 << SHOAL_MONITOR_transits) | SHOAL_PLUGIN_MONITORS_OF_PAIRS)

/* Whether a monitor must see every step. stop_on_ejection alone sleeps while all bodies are near. */
LANE_FN int monitors_awake(const shoal_kernel_args *k) { return (MONITORS(k) & ~(1 << SHOAL_MONITOR_stop_on_ejection)) != 0; }

/* What the active monitors carry, one member each. */
typedef struct monitor_state {
#define MONITOR(name) real name[name##_SLOTS + 1];
#include "monitors/list.h"
#undef MONITOR
} monitor_state;

LANE_FN void monitors_load(const shoal_kernel_args *k, lane_id id, monitor_state *watch)
{
#define MONITOR(name)                                     \
    if (MONITORS(k) & (1 << SHOAL_MONITOR_##name)) {      \
        LANE_UNROLL                                       \
        for (int slot = 0; slot < name##_SLOTS; slot++)   \
            watch->name[slot] = lane_load(k->watch, id, k->watch_offset[SHOAL_MONITOR_##name] + slot, k->n_watch); \
    }
#include "monitors/list.h"
#undef MONITOR
}

LANE_FN void monitors_store(const shoal_kernel_args *k, lane_id id, mask where, const monitor_state *watch)
{
#define MONITOR(name)                                     \
    if (MONITORS(k) & (1 << SHOAL_MONITOR_##name)) {      \
        LANE_UNROLL                                       \
        for (int slot = 0; slot < name##_SLOTS; slot++)   \
            lane_store(k->watch, id, k->watch_offset[SHOAL_MONITOR_##name] + slot, k->n_watch, where, watch->name[slot]); \
    }
#include "monitors/list.h"
#undef MONITOR
}

LANE_FN void inside_none(lane_inside *inside)
{
    inside->star = inside->planets = lane_set(0.0) != lane_set(0.0);
    event_none(&inside->event);
}

LANE_FN void inside_load(lane_id id, lane_inside *inside)
{
    inside->id = id;
    inside_none(inside);
}

/* These lanes make their step again: what they have shown did not happen. */
LANE_FN void inside_forget(const shoal_kernel_args *k, int n, mask lanes, lane_inside *inside)
{
    const mask marked = lanes & inside->event.hit;
    if (MONITORS(k) & (1 << SHOAL_MONITOR_closest_approach))
        closest_approach_forget(k, inside->id, n, lanes);
    inside->event.hit = inside->event.hit & lane_not(lanes);
    LANE_KEEP_ROLLED
    for (int slot = 0; k->marks >= 0 && slot < n * n && lane_any(marked); slot++) {
        const real late = lane_load(k->watch, inside->id, k->marks + slot, k->n_watch), nan = lane_set(0.0) / lane_set(0.0);
        lane_store(k->watch, inside->id, k->marks + slot, k->n_watch, marked & (late < lane_set(1e300)), nan);
    }
}

/* Shows the monitors of pairs a substep of length h, from `fraction` of the step on and `part` of it long: pairs of planets of the lanes
 * `planets`, pairs with body 0 of the lanes `star`. */
LANE_CALLED_FN void inside_observe(const shoal_kernel_args *k, int n, const real *m, const real *before, const real *after, mask planets,
                                   mask star, real h, real fraction, real part, lane_inside *inside)
{
    lane_event event;
    const mask none = h != h;
    const real late = (1.0 - fraction - part) / part * h;
    lane_view view = {inside->id, n, m, before, after, h, fraction, lane_set(0.0), star, planets, none, late, lane_set(0.0), 1};
    event_none(&event);
    if (MONITORS(k) & (1 << SHOAL_MONITOR_stop_on_collision))
        stop_on_collision_observe(k, &view, 0, &event);
    if (MONITORS(k) & (1 << SHOAL_MONITOR_stop_on_encounter))
        stop_on_encounter_observe(k, &view, 0, &event);
    if (MONITORS(k) & (1 << SHOAL_MONITOR_closest_approach))
        closest_approach_observe(k, &view, 0, &event);
    event_offer(&inside->event, event.hit, lane_fma(event.fraction, part, fraction), event.outcome, event.body_a, event.body_b);
}

/* On a CPU it is compiled once for the propagators of a width and a body count, as KERNEL_MONITORS (core/kernel_monitors.c). */
#ifdef KERNEL_MONITORS
#define monitors_observe KERNEL_MONITORS
#define MONITORS_FN __attribute__((visibility("hidden")))
#else
#define MONITORS_FN LANE_BIG_FN
#endif
MONITORS_FN void monitors_observe(const shoal_kernel_args *k, lane_id id, mask live, int n, const real *m, const real *before,
                                  const real *after, real h, real phase, real time, real tangent2, monitor_state *watch,
                                  lane_inside *inside, lane_event *event);

#if !defined(KERNEL_MONITORS) || defined(KERNEL_MONITORS_HERE)
MONITORS_FN void monitors_observe(const shoal_kernel_args *k, lane_id id, mask live, int n, const real *m, const real *before,
                                  const real *after, real h, real phase, real time, real tangent2, monitor_state *watch,
                                  lane_inside *inside, lane_event *event)
{
#ifdef N_BODIES
    LANE_KNOWN(n == N_BODIES);
#endif
    lane_view view;
    view.star = view.planets = view.whole = live;
    if (inside) {
        view.star = live & lane_not(inside->star);
        view.planets = live & lane_not(inside->planets);
        event_offer(event, inside->event.hit, inside->event.fraction, inside->event.outcome, inside->event.body_a, inside->event.body_b);
        inside_none(inside);
    }
    view.id = id;
    view.n = n;
    view.m = m;
    view.before = before;
    view.after = after;
    view.h = h;
    view.phase = phase;
    view.tangent2 = tangent2;
    view.late = lane_set(0.0);
    view.time = time;
    view.part = 0;
#define MONITOR(name)                              \
    if (MONITORS(k) & (1 << SHOAL_MONITOR_##name)) \
        name##_observe(k, &view, watch->name, event);
#include "monitors/list.h"
#undef MONITOR
}
#endif
