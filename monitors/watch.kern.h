/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * watch.kern.h: shows a step to the monitors and merges what they say. monitor.kern.h has the words of a monitor.
 */

#include "monitors/monitor.kern.h"
#include "texts/monitors.kern.h"
#ifdef SHOAL_PLUGINS
#include "plugins/monitors.kern.h"
#endif

/* Text for the monitors that see that, in `#define MONITOR(name, sees) FOR_EVERY_##sees(...)`. */
#define FOR_INSIDE_INSIDE(...) __VA_ARGS__
#define FOR_INSIDE_BEFORE(...)
#define FOR_INSIDE_ENDS(...)
#define FOR_INSIDE_EVERY(...)
#define FOR_INSIDE_FAR(...)
#define FOR_EVERY_INSIDE(...)
#define FOR_EVERY_BEFORE(...)
#define FOR_EVERY_ENDS(...)
#define FOR_EVERY_EVERY(...) __VA_ARGS__
#define FOR_EVERY_FAR(...)
#define FOR_FAR_INSIDE(...)
#define FOR_FAR_BEFORE(...)
#define FOR_FAR_ENDS(...)
#define FOR_FAR_EVERY(...)
#define FOR_FAR_FAR(...)    __VA_ARGS__
#define MONITOR_IS_ON(name) (MONITORS(k) & (1 << SHOAL_MONITOR_##name))

/* Bits of the monitors that watch within a step, of those that look at the state before it too, of those that must see
 * each step, and of those that wait. */
#define MONITOR(name, sees) | (SHOAL_SEES_##sees >= SHOAL_SEES_INSIDE ? 1 << SHOAL_MONITOR_##name : 0)
enum {
    MONITORS_INSIDE = 0
#include "monitors/list.h"
};
#undef MONITOR
#define MONITOR(name, sees) | (SHOAL_SEES_##sees >= SHOAL_SEES_BEFORE ? 1 << SHOAL_MONITOR_##name : 0)
enum {
    MONITORS_BEFORE = 0
#include "monitors/list.h"
};
#undef MONITOR
#define MONITOR(name, sees) \
    | (SHOAL_SEES_##sees == SHOAL_SEES_ENDS || SHOAL_SEES_##sees == SHOAL_SEES_BEFORE ? 1 << SHOAL_MONITOR_##name : 0)
enum {
    MONITORS_AWAKE = 0
#include "monitors/list.h"
};
#undef MONITOR

#define MONITOR(name, sees) FOR_INSIDE_##sees(| (name##_WAITS << SHOAL_MONITOR_##name))
enum {
    MONITORS_WAITING = 0
#include "monitors/list.h"
};
#undef MONITOR

/* The distance within which all bodies have to be, for the others to sleep. */
LANE_FN double monitors_sleep(const shoal_kernel_args *k)
{
    double reach = EVENT_LAST;
#define MONITOR(name, sees) \
    FOR_FAR_##sees(if (MONITOR_IS_ON(name)) reach = name##_sleeps(k) < reach ? name##_sleeps(k) : reach;)
#include "monitors/list.h"
#undef MONITOR
    return reach;
}

/* What the active monitors carry, one member each. */
typedef struct monitor_state {
#define MONITOR(name, sees) real name[name##_SLOTS + 1];
#include "monitors/list.h"
#undef MONITOR
} monitor_state;

LANE_FN void monitors_load(const shoal_kernel_args *k, lane_id id, monitor_state *watch)
{
#define MONITOR(name, sees)                                                                                        \
    if (MONITORS(k) & (1 << SHOAL_MONITOR_##name)) {                                                               \
        LANE_UNROLL                                                                                                \
        for (int slot = 0; slot < name##_SLOTS; slot++)                                                            \
            watch->name[slot] = lane_load(k->watch, id, k->watch_offset[SHOAL_MONITOR_##name] + slot, k->n_watch); \
    }
#include "monitors/list.h"
#undef MONITOR
}

LANE_FN void monitors_store(const shoal_kernel_args *k, lane_id id, mask where, const monitor_state *watch)
{
#define MONITOR(name, sees)                                                                           \
    if (MONITORS(k) & (1 << SHOAL_MONITOR_##name)) {                                                  \
        LANE_UNROLL                                                                                   \
        for (int slot = 0; slot < name##_SLOTS; slot++)                                               \
            lane_store(k->watch, id, k->watch_offset[SHOAL_MONITOR_##name] + slot, k->n_watch, where, \
                       watch->name[slot]);                                                            \
    }
#include "monitors/list.h"
#undef MONITOR
}

/* What the active monitors carry, kept apart; and back again in the lanes `where`. */
LANE_FN void monitors_keep(const shoal_kernel_args *k, const monitor_state *watch, monitor_state *kept)
{
#define MONITOR(name, sees)                             \
    if (MONITOR_IS_ON(name)) {                          \
        LANE_UNROLL                                     \
        for (int slot = 0; slot < name##_SLOTS; slot++) \
            kept->name[slot] = watch->name[slot];       \
    }
#include "monitors/list.h"
#undef MONITOR
}

LANE_FN void monitors_undo(const shoal_kernel_args *k, mask where, const monitor_state *kept, monitor_state *watch)
{
#define MONITOR(name, sees)                                                              \
    if (MONITOR_IS_ON(name)) {                                                           \
        LANE_UNROLL                                                                      \
        for (int slot = 0; slot < name##_SLOTS; slot++)                                  \
            watch->name[slot] = lane_select(where, kept->name[slot], watch->name[slot]); \
    }
#include "monitors/list.h"
#undef MONITOR
}

/* The steps after which one of them wants to look. Of a team the leader alone has what they carry. */
LANE_FN real monitors_left(const shoal_kernel_args *k, const monitor_state *watch)
{
    real left = lane_set(EVENT_LAST);
    if (!team_leads())
        return left;
#define MONITOR(name, sees) FOR_EVERY_##sees(if (MONITOR_IS_ON(name)) left = lane_min(left, watch->name[name##_LEFT]);)
#include "monitors/list.h"
#undef MONITOR
    return left;
}

/* The lanes `where` have made so many steps that were not shown. */
LANE_FN void monitors_pass(const shoal_kernel_args *k, mask where, real steps, monitor_state *watch)
{
#define MONITOR(name, sees)                                                           \
    FOR_EVERY_##sees(if (MONITOR_IS_ON(name)) watch->name[name##_LEFT] = lane_select( \
                         where, watch->name[name##_LEFT] - steps, watch->name[name##_LEFT]);)
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

/* Lanes that have shown something of their last step. */
LANE_FN mask inside_seen(const lane_inside *inside)
{
    return inside->star | inside->planets | inside->event.hit;
}

/* These lanes make their step again: what they have shown did not happen. */
LANE_FN void inside_forget(const shoal_kernel_args *k, int n, mask lanes, lane_inside *inside)
{
    const mask marked = lanes & inside->event.hit;
#define MONITOR(name, sees) FOR_INSIDE_##sees(if (MONITOR_IS_ON(name)) name##_forget(k, inside->id, n, lanes);)
#include "monitors/list.h"
#undef MONITOR
    inside->event.hit = inside->event.hit & lane_not(lanes);
    LANE_KEEP_ROLLED
    for (int slot = 0; k->marks >= 0 && slot < n * n && lane_any(marked); slot++) {
        const real late = lane_load(k->watch, inside->id, k->marks + slot, k->n_watch),
                   nan = lane_set(0.0) / lane_set(0.0);
        lane_store(k->watch, inside->id, k->marks + slot, k->n_watch, marked & (late < lane_set(1e300)), nan);
    }
}

/* Shows the monitors of pairs a substep of length h, from `fraction` of the step on and `part` of it long: pairs of
 * planets of the lanes `planets`, pairs with body 0 of the lanes `star`. */
/* long: called on a GPU, too, where arguments are in registers */
LANE_CALLED_FN void inside_watch(const shoal_kernel_args *k, int n, const real *m, const real *before,
                                 const real *after, mask planets, mask star, real h, real fraction, real part,
                                 lane_inside *inside)
{
    lane_event event;
    const mask none = h != h;
    const real late = (1.0 - fraction - part) / part * h;
    lane_view view = {inside->id, n,    m,    before,        after,         h, fraction, lane_set(0.0), star, planets,
                      h == h,     none, late, lane_set(0.0), lane_set(0.0), 1, 0};
    event_none(&event);
#define MONITOR(name, sees) FOR_INSIDE_##sees(if (MONITOR_IS_ON(name)) name##_watch(k, &view, 0, &event);)
#include "monitors/list.h"
#undef MONITOR
    event_offer(&inside->event, event.hit, lane_fma(event.fraction, part, fraction), event.outcome, event.body_a,
                event.body_b);
}

#ifdef KERNEL_SHARED
#define monitors_watch LANE_SHARED(monitors)
#endif
/* Shows the monitors a step. Lanes whose monitors of pairs have seen the motion within it (*inside, or NULL) do not
 * look at its ends: what came of that joins the event. Of the monitors, those that wait alone are shown a held step;
 * they carry nothing. */
LANE_SHARED_FN void monitors_watch(const shoal_kernel_args *k, const lane_view *shown, monitor_state *watch,
                                   lane_inside *inside, lane_event *event);

#if LANE_SHARED_HERE
LANE_SHARED_FN void monitors_watch(const shoal_kernel_args *k, const lane_view *shown, monitor_state *watch,
                                   lane_inside *inside, lane_event *event)
{
#ifdef N_BODIES
    LANE_KNOWN(shown->n == N_BODIES);
#endif
    lane_view view = *shown;
    if (inside) {
        view.star = view.star & lane_not(inside->star);
        view.planets = view.planets & lane_not(inside->planets);
        event_offer(event, inside->event.hit, inside->event.fraction, inside->event.outcome, inside->event.body_a,
                    inside->event.body_b);
        inside_none(inside);
    }
#define MONITOR(name, sees)                                                                      \
    if (MONITOR_IS_ON(name) && (SHOAL_SEES_##sees < SHOAL_SEES_INSIDE || lane_any(view.near)) && \
        (!view.held || (MONITORS_WAITING & (1 << SHOAL_MONITOR_##name))))                        \
        name##_watch(k, &view, watch->name, event);
#include "monitors/list.h"
#undef MONITOR
}
#endif
