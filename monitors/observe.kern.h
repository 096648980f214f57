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
    real n_live; /* bodies really there */
    real tangent2; /* squared length of the tangent vector, where a monitor asks for one */
    mask star, planets; /* lanes whose pairs with body 0, or of other bodies, this view may be asked about */
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
    real n_live;
    mask star, planets;
    lane_event event;
} lane_inside;

/* A tangent vector as long as that is shortened by this (see tangent.kern.h). */
#define TANGENT_LIMIT 0x1p300
LANE_FN mask tangent_is_long(real length2) { return length2 > lane_set(TANGENT_LIMIT * TANGENT_LIMIT); }

#include "monitors/pair.kern.h"
#include "monitors/mean_motion_drift.kern.h"
#include "monitors/megno.kern.h"
#include "monitors/stop_on_collision.kern.h"
#include "monitors/stop_on_ejection.kern.h"
#include "monitors/stop_on_encounter.kern.h"
#ifdef SHOAL_PLUGINS
#include "plugins/monitors.kern.h"
#else
#define SHOAL_PLUGIN_MONITORS 0
#endif

#define MONITORS_OF_PAIRS \
    ((1 << SHOAL_MONITOR_stop_on_collision) | (1 << SHOAL_MONITOR_stop_on_encounter) | SHOAL_PLUGIN_MONITORS)

/* Lanes whose step a monitor must see. stop_on_ejection sleeps while all bodies are near; the others see every step. */
LANE_FN mask monitors_awake(const shoal_kernel_args *k, real reach2)
{
    if (MONITORS(k) & ~(1 << SHOAL_MONITOR_stop_on_ejection))
        return lane_set(0.0) == lane_set(0.0);
    return stop_on_ejection_wakes(k, reach2);
}

/* What the active monitors carry, one member each. */
typedef struct monitor_state {
#define MONITOR(name) real name[name##_SLOTS + 1];
#include "monitors/list.h"
#undef MONITOR
    real n_live;
} monitor_state;

LANE_FN void monitors_load(const shoal_kernel_args *k, lane_id id, monitor_state *watch)
{
    watch->n_live = lane_load(k->systems, id, SHOAL_SYS_N_LIVE, SHOAL_SYS_FIELDS);
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

LANE_FN void inside_load(const shoal_kernel_args *k, lane_id id, lane_inside *inside)
{
    inside->id = id;
    inside->n_live = lane_load(k->systems, id, SHOAL_SYS_N_LIVE, SHOAL_SYS_FIELDS);
    inside_none(inside);
}

/* Shows the monitors of pairs a substep of length h, from `fraction` of the step on and `part` of it long: pairs of planets of the lanes
 * `planets`, pairs with body 0 of the lanes `star`. */
LANE_CALLED_FN void inside_observe(const shoal_kernel_args *k, int n, const real *m, const real *before, const real *after, mask planets,
                                   mask star, real h, real fraction, real part, lane_inside *inside)
{
    lane_event event;
    lane_view view = {inside->id, n, m, before, after, h, fraction, inside->n_live, lane_set(0.0), star, planets};
    event_none(&event);
    if (MONITORS(k) & (1 << SHOAL_MONITOR_stop_on_collision))
        stop_on_collision_observe(k, &view, 0, &event);
    if (MONITORS(k) & (1 << SHOAL_MONITOR_stop_on_encounter))
        stop_on_encounter_observe(k, &view, 0, &event);
    event_offer(&inside->event, event.hit, lane_fma(event.fraction, part, fraction), event.outcome, event.body_a, event.body_b);
}

LANE_BIG_FN void monitors_observe(const shoal_kernel_args *k, lane_id id, int n, const real *m, const real *before,
                              const real *after, real h, real phase, real tangent2, monitor_state *watch, lane_inside *inside, lane_event *event)
{
    lane_view view;
    view.star = view.planets = lane_set(0.0) == lane_set(0.0);
    if (inside) {
        view.star = lane_not(inside->star);
        view.planets = lane_not(inside->planets);
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
    view.n_live = watch->n_live;
    view.tangent2 = tangent2;
#define MONITOR(name)                              \
    if (MONITORS(k) & (1 << SHOAL_MONITOR_##name)) \
        name##_observe(k, &view, watch->name, event);
#include "monitors/list.h"
#undef MONITOR
}
