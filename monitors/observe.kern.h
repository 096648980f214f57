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
    real step;   /* count of steps after it */
    real n_end;  /* steps of the whole run */
    real n_live; /* bodies really there */
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

#include "monitors/pair.kern.h"
#include "monitors/mean_motion_drift.kern.h"
#include "monitors/stop_on_collision.kern.h"
#include "monitors/stop_on_ejection.kern.h"
#include "monitors/stop_on_encounter.kern.h"

#define MONITORS_OF_PAIRS ((1 << SHOAL_MONITOR_stop_on_collision) | (1 << SHOAL_MONITOR_stop_on_encounter))

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
    real n_end, n_live;
} monitor_state;

LANE_FN void monitors_load(const shoal_kernel_args *k, lane_id id, monitor_state *watch)
{
    watch->n_end = lane_load(k->systems, id, SHOAL_SYS_N_END, SHOAL_SYS_FIELDS);
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

LANE_BIG_FN void monitors_observe(const shoal_kernel_args *k, lane_id id, int n, const real *m, const real *before,
                              const real *after, real h, real step, monitor_state *watch, lane_event *event)
{
    lane_view view;
    view.id = id;
    view.n = n;
    view.m = m;
    view.before = before;
    view.after = after;
    view.h = h;
    view.step = step;
    view.n_end = watch->n_end;
    view.n_live = watch->n_live;
#define MONITOR(name)                              \
    if (MONITORS(k) & (1 << SHOAL_MONITOR_##name)) \
        name##_observe(k, &view, watch->name, event);
#include "monitors/list.h"
#undef MONITOR
}
