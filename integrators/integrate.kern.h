/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * integrate.kern.h: the loop around a step, the same for every propagator, force, monitor and engine.
 *
 *     prepare    makes the native state from the bodies, once in a system's life
 *     integrate  for each system, until it is done or the slice is used up:
 *                one step (propagator + forces) -> the monitors look -> does the system end or pause?
 *     snapshot   makes the state at a time inside the next step, on a copy, so that the trajectory does not change
 *     finish     shows the monitors what is left of a run after its last whole step
 *     bare       makes steps only, to measure what the rest costs
 *
 * Compile with PROPAGATOR (a name of integrators/list.h) and, for a fixed body count, N_BODIES. On the GPU
 * SHOAL_MONITORS, SHOAL_FORM, SHOAL_MASSIVE, SHOAL_FORCES, SHOAL_COMPENSATED and SHOAL_VARIATIONAL are constants too;
 * on the CPU they are uniform flags of shoal_kernel_args.
 *
 * A propagator's text defines
 *     PROPAGATOR_FIRST_BODY             bodies before it have no native slots
 *     PROPAGATOR_SLOTS(compensated)     native slots of a body; slot q of body i is s[q * n + i]
 *     PROPAGATOR_OWN                    native slots of the system itself, from s[PROPAGATOR_SLOTS(1) * n] on; none if
 *                                       not defined
 *     propagator_prepare(k, n, m, w, s) makes the native state s from the view w
 *     propagator_step(k, n, compensated, m, s, h)  makes a step of length h
 *     propagator_beyond(k, n, m, s, limit)  whether a body may be farther than limit from the barycentre, or a state is
 *                                           no number; it must be cheap
 *     propagator_view(k, n, m, s, w)    makes the barycentric view w = [6 * n]: x of all bodies, y, z, vx, vy, vz
 *
 * It may also define
 *     PROPAGATOR_BARYCENTRIC            the first six slots are the view; the last two functions are not needed
 *     PROPAGATOR_PLAIN 1                the first six slots are positions, barycentric or from body 0, and barycentric
 *                                       velocities, and the view needs no others: monitors of pairs need not see
 *                                       every step (guard.kern.h)
 *     PROPAGATOR_KICKS 1                it moves bodies on Kepler orbits and kicks them: while these cannot meet,
 *                                       monitors of pairs sleep (nested.kern.h). propagator_kicks(n, s, h) is the sum
 *                                       of |h a|, of all components, over the kicks of the last step. If it is PLAIN,
 *                                       they are at both ends of the step, and the bodies jump as in mvs
 *     PROPAGATOR_NOTES                  numbers after those of the system that are of the last step alone
 *     PROPAGATOR_RESTS 1                steps of length 0 are cheap for every state. Lanes whose systems have stopped
 *                                       make such steps; without this they make steps as before
 *     PROPAGATOR_OWES 1                 a step leaves a part undone; before a view propagator_synchronise(k, m, s) does
 *                                       it, on a copy
 *     PROPAGATOR_GAVE_UP(n, s)          lanes whose state is no number since a step took too much work: they end as
 *                                       `budget`
 *     PROPAGATOR_ADAPTIVE               the propagator chooses its steps: see below
 *
 * A propagator that resolves encounters within its steps may define
 *     PROPAGATOR_INSIDE 1               its step has a further argument, lane_inside *inside. Through it the step shows
 *                                       the motion within the step to the monitors of pairs (watch.kern.h). NULL: no
 *                                       monitor looks
 *     PROPAGATOR_SETS_ASIDE 1           on a GPU a step that needs substeps is left undone, and its system is set aside
 *                                       (aside.kern.h). The step has a further argument, lane_aside *aside. NULL: every
 *                                       step is made. The first own slot is not 0 if the next step needs substeps
 *     struct lane_aside                 has these members, and others that only the propagator uses:
 *         bool substeps                 in: steps that need substeps are made, in as many calls as they take
 *         mask wanted                   in: the systems that continue
 *         mask made                     out: the step was made
 *         mask needed                   out: the step was left undone, or the next one needs substeps
 *         bool stays, hurries           used by the kernel only
 *     propagator_resume(k, n, m, s, aside)  restores, for systems that were set aside, what a step left undone does not
 *
 * With PROPAGATOR_ADAPTIVE the step is `real propagator_step(k, n, compensated, m, s, real *h)`. It tries a step of *h
 * and returns the length done: *h, something shorter, or 0 in lanes whose step was rejected and whose bodies have not
 * moved. It leaves in *h the length to try next, of the same sign. The loop sums the time. A system stops before the
 * step that would pass its target, and the rest of the time is made on a copy. So neither slices nor output change a
 * trajectory.
 *
 * If a monitor asks for tangent vectors, half of the n bodies are the tangent vectors of the others (tangent.kern.h).
 */
#ifndef SHOAL_INTEGRATE_KERN_H
#define SHOAL_INTEGRATE_KERN_H

#include "core/kernel/known.kern.h"
#include "core/kernel/queue.kern.h"

#define KERNEL_QUOTE(text) #text
/* clang-format off */
#define KERNEL_TEXT(name) KERNEL_QUOTE(integrators/name.kern.h)
/* clang-format on */

typedef struct lane_aside lane_aside;

#include "gravitation/newton.kern.h"
#include "gravitation/forces.kern.h"
#include "monitors/watch.kern.h"
#include KERNEL_TEXT(PROPAGATOR)
#include "integrators/propagator.kern.h"

#if TEAM > 1 && TEAM_FIRST != PROPAGATOR_FIRST_BODY
#error "the propagator's descriptor has another first body"
#endif
#ifdef DESCRIPTOR_SLOTS /* a plugin (core/plug/plugin.c); each thread has a system */
LANE_ASSERT(PROPAGATOR_SLOTS(1) == DESCRIPTOR_SLOTS, "PROPAGATOR_SLOTS(1) is n_slots of the descriptor");
LANE_ASSERT(PROPAGATOR_OWN == DESCRIPTOR_OWN, "PROPAGATOR_OWN is n_own of the descriptor");
LANE_ASSERT(PROPAGATOR_FIRST_BODY == DESCRIPTOR_FIRST_BODY, "PROPAGATOR_FIRST_BODY is first_body of the descriptor");
LANE_ASSERT(PROPAGATOR_ADAPTIVE == DESCRIPTOR_ADAPTIVE, "PROPAGATOR_ADAPTIVE is adaptive of the descriptor");
#endif
#ifdef DESCRIPTOR_SETS_ASIDE /* a plugin, or a GPU (core/engine/jit.c); a CPU sets no system aside */
LANE_ASSERT(PROPAGATOR_SETS_ASIDE == DESCRIPTOR_SETS_ASIDE, "PROPAGATOR_SETS_ASIDE is sets_aside of the descriptor");
#endif
#include "integrators/tangent.kern.h"
#include "monitors/guard.kern.h"

enum { ADVANCE_STEPS = 100000 }; /* the most that an adaptive propagator makes to a time within its next step */

/* Where a thread finds its bodies and slots in the arrays of the system. i counts the bodies of the thread:
 *   system_body(n, i)      the body of the system that it is
 *   system_slot(n, q, i)   the place of its slot q
 *   system_slots(n)        the number of slots of the whole system
 *   team_speaks(where, own)  the lanes of `where` whose thread stores: that of a body, or of the system itself (own) */
#if TEAM > 1
LANE_FN int system_body(int n, int i)
{
    return (void)n, team_body(i);
}
LANE_FN int system_slot(int n, int q, int i)
{
    (void)n;
    return (q / XYZ * 3 + q % XYZ + team_axis()) * SYSTEM_ROOM(n) + team_body(i);
}
LANE_FN int system_slots(int n)
{
    return (void)n, PROPAGATOR_SLOTS(1) * (3 / XYZ) * SYSTEM_ROOM(n) + PROPAGATOR_OWN;
}
LANE_FN mask team_speaks(mask where, int own)
{
    return where & (own ? team_leads() : team_owns());
}
#else
LANE_FN int system_body(int n, int i)
{
    return (void)n, i;
}
LANE_FN int system_slot(int n, int q, int i)
{
    return q * n + i;
}
LANE_FN int system_slots(int n)
{
    return PROPAGATOR_SLOTS(1) * n + PROPAGATOR_OWN;
}
LANE_FN mask team_speaks(mask where, int own)
{
    return (void)own, where;
}
#endif
LANE_FN int system_bodies(const shoal_kernel_args *k, int n)
{
#if TEAM > 1
    return (void)k, (void)n, TEAM_BODIES;
#else
    return real_bodies(k, n);
#endif
}

LANE_FN real mass_load(const shoal_kernel_args *k, int n, lane_id id, int i)
{
    const int bodies = system_bodies(k, n);
    return lane_load(k->bodies, id, system_body(n, i) % bodies * SHOAL_QUANTITIES + SHOAL_M, bodies * SHOAL_QUANTITIES);
}

LANE_BIG_FN void system_load(const shoal_kernel_args *k, int n, int compensated, lane_id id, real *m, real *s)
{
    const int n_slots = system_slots(n);
    (void)compensated;
    LANE_UNROLL_XYZ /* in a rolled loop NVRTC 13.0 lost m[0] (gauss_radau_fixed, snapshot) */
        for (int i = 0; i < n; i++) m[i] = mass_load(k, n, id, i);
    LANE_UNROLL_GPU
    for (int q = 0; q < PROPAGATOR_SLOTS(compensated); q++) {
        LANE_UNROLL_GPU
        for (int i = PROPAGATOR_FIRST_BODY; i < n; i++)
            s[q * n + i] = lane_load(k->native, id, system_slot(n, q, i), n_slots);
    }
    for (int own = 0; own < PROPAGATOR_OWN; own++)
        s[PROPAGATOR_SLOTS(1) * n + own] = lane_load(k->native, id, n_slots - PROPAGATOR_OWN + own, n_slots);
#if TEAM > 1
    for (int i = team_place(); i < SYSTEM_ROOM(n) && !team_is_spare(); i += TEAM)
        team_masses()[i] = lane_load(k->bodies, id, i % TEAM_BODIES * SHOAL_QUANTITIES + SHOAL_M,
                                     TEAM_BODIES * SHOAL_QUANTITIES);
    team_sync();
#endif
}

LANE_BIG_FN void system_store(const shoal_kernel_args *k, int n, int compensated, lane_id id, mask where, const real *s)
{
    const int n_slots = system_slots(n);
    (void)compensated;
    LANE_UNROLL_GPU
    for (int q = 0; q < PROPAGATOR_SLOTS(compensated); q++) {
        LANE_UNROLL_GPU
        for (int i = PROPAGATOR_FIRST_BODY; i < n; i++)
            lane_store(k->native, id, system_slot(n, q, i), n_slots, team_speaks(where, 0), s[q * n + i]);
    }
    for (int own = 0; own < PROPAGATOR_OWN; own++)
        lane_store(k->native, id, n_slots - PROPAGATOR_OWN + own, n_slots, team_speaks(where, 1),
                   s[PROPAGATOR_SLOTS(1) * n + own]);
}

LANE_FN real record_load(const shoal_kernel_args *k, lane_id id, int field)
{
    return lane_load(k->systems, id, field, SHOAL_SYS_FIELDS);
}

LANE_FN void record_store(const shoal_kernel_args *k, lane_id id, int field, mask where, real value)
{
    lane_store(k->systems, id, field, SHOAL_SYS_FIELDS, team_speaks(where, 1), value);
}

#if PROPAGATOR_ADAPTIVE

LANE_BIG_FN real step(const shoal_kernel_args *k, int compensated, const real *m, real *s, real *h)
{
    return propagator_step(k, BODIES(k), compensated, m, s, h);
}

/* How far a system has come. */
typedef struct lane_clock {
    real h;               /* the next step to try */
    real done;            /* length of the last step, 0 if it was rejected */
    real elapsed, error;  /* |t - t_start| and its rounding error */
    real target, end;     /* elapsed times: of the next pause, of the end of the run */
    real steps, attempts; /* steps made, steps tried */
    real last, limit;     /* numbers of attempts: when this call ends; when the system is looked at before */
    real wake, shown;     /* number of attempts when a monitor wants to look; of steps when one did last */
} lane_clock;

/* Whether the attempts are a whole number of SHOAL_WINDOWs, after which progress is judged. *next: the next such. */
LANE_FN mask clock_window(const lane_clock *clock, real *next)
{
    const real windows = clock->attempts * (1 / SHOAL_WINDOW), whole = lane_floor(windows);
    *next = SHOAL_WINDOW * (whole + 1.0);
    return whole == windows;
}

LANE_FN void clock_set_limit(const shoal_kernel_args *k, lane_clock *clock)
{
    real next;
    (void)clock_window(clock, &next);
    clock->limit = lane_min(lane_min(clock->last, next), lane_set(k->max_steps));
}

/* most: attempts in this call. */
LANE_FN void clock_load(const shoal_kernel_args *k, lane_id id, real most, lane_clock *clock)
{
    clock->h = record_load(k, id, SHOAL_SYS_DT);
    clock->done = lane_set(0.0);
    clock->elapsed = record_load(k, id, SHOAL_SYS_ELAPSED);
    clock->error = record_load(k, id, SHOAL_SYS_ELAPSED_ERROR);
    clock->target = record_load(k, id, SHOAL_SYS_TARGET);
    clock->end = record_load(k, id, SHOAL_SYS_END);
    clock->steps = record_load(k, id, SHOAL_SYS_STEP);
    clock->attempts = record_load(k, id, SHOAL_SYS_ATTEMPT);
    clock->last = clock->attempts + most;
    clock->shown = clock->steps;
    clock_set_limit(k, clock);
}

/* The monitors look when so many steps have been made since they did last, or when something happens. */
LANE_FN void clock_sleep(lane_clock *clock, real steps)
{
    clock->wake = lane_min(clock->limit, clock->attempts + (steps - (clock->steps - clock->shown)));
}

LANE_FN mask clock_wakes(const lane_clock *clock)
{
    return (clock->attempts >= clock->wake) | (clock->elapsed + lane_abs(clock->h) > clock->target);
}

LANE_FN void clock_store(const shoal_kernel_args *k, lane_id id, mask where, const lane_clock *clock)
{
    record_store(k, id, SHOAL_SYS_DT, where, clock->h);
    record_store(k, id, SHOAL_SYS_ELAPSED, where, clock->elapsed);
    record_store(k, id, SHOAL_SYS_ELAPSED_ERROR, where, clock->error);
    record_store(k, id, SHOAL_SYS_STEP, where, clock->steps);
    record_store(k, id, SHOAL_SYS_ATTEMPT, where, clock->attempts);
}

LANE_FN void clock_step(const shoal_kernel_args *k, int compensated, const real *m, real *s, lane_clock *clock,
                        lane_inside *inside, lane_aside *aside)
{
    (void)inside, (void)aside;
    clock->done = step(k, compensated, m, s, &clock->h);
    lane_add(1, &clock->elapsed, &clock->error, lane_abs(clock->done));
    clock->steps = clock->steps + lane_select(clock->done != lane_set(0.0), lane_set(1.0), lane_set(0.0));
    clock->attempts = clock->attempts + 1.0;
}

/* In these lanes it pauses there. */
LANE_FN void clock_aim(const shoal_kernel_args *k, lane_clock *clock, mask where, real target)
{
    (void)k;
    clock->target = lane_select(where, target, clock->target);
}

/* Whether the system pauses: the next step would pass the target, or the call's steps are used up. */
LANE_FN mask clock_due(const lane_clock *clock)
{
    return (clock->attempts >= clock->limit) | (clock->elapsed + lane_abs(clock->h) > clock->target);
}

/* Whether the next step is below dt_min, or too small to change the time. */
LANE_FN mask clock_stuck(const shoal_kernel_args *k, const lane_clock *clock)
{
    const real size = lane_abs(clock->h);
    return lane_not((clock->elapsed + size > clock->elapsed) & (size >= lane_set(k->dt_min)));
}

/* Whether its steps are used up, or at the pace of the last SHOAL_WINDOW the rest would take more than anybody waits
 * for. The lanes `live` are looked at once at the end of each, however the run is sliced. */
LANE_FN mask clock_spent(const shoal_kernel_args *k, lane_id id, mask live, lane_clock *clock)
{
    const mask goes_on = lane_not(clock->elapsed + lane_abs(clock->h) > clock->end);
    const real left = clock->end - clock->elapsed, came = clock->elapsed - record_load(k, id, SHOAL_SYS_JUDGED);
    real next;
    const mask judged = live & clock_window(clock, &next), slow = judged & (SHOAL_WINDOW * left > k->patience * came);
    record_store(k, id, SHOAL_SYS_JUDGED, judged, clock->elapsed);
    clock_set_limit(k, clock);
    return ((clock->attempts >= lane_set(k->max_steps)) | slow) & goes_on;
}

LANE_FN mask clock_moved(const lane_clock *clock)
{
    return clock->done != lane_set(0.0);
}
LANE_FN real clock_length(const lane_clock *clock)
{
    return clock->done;
}
LANE_FN real clock_phase(const lane_clock *clock)
{
    return clock->elapsed / clock->end;
}

/* Time since t_start at a fraction of the last step. */
LANE_FN real clock_time(const lane_clock *clock, real fraction)
{
    const real since = lane_fnma(1.0 - fraction, lane_abs(clock->done), clock->elapsed);
    return lane_select(clock->h < lane_set(0.0), -since, since);
}

#else /* steps of one length: time is their count */

/* On the CPU, where forces and compensation are uniform flags, the two common cases have functions of their own. */
LANE_BIG_FN void step_plain(const shoal_kernel_args *k, const real *m, real *s,
                            real h INSIDE(lane_inside *inside) ASIDE(lane_aside *aside))
{
    LANE_KNOWN(FORCES(k) == 0);
    propagator_step(k, BODIES(k), 0, m, s, h INSIDE(inside) ASIDE(aside));
}

LANE_BIG_FN void step_compensated(const shoal_kernel_args *k, const real *m, real *s,
                                  real h INSIDE(lane_inside *inside) ASIDE(lane_aside *aside))
{
    LANE_KNOWN(FORCES(k) == 0);
    propagator_step(k, BODIES(k), 1, m, s, h INSIDE(inside) ASIDE(aside));
}

LANE_BIG_FN void step_forced(const shoal_kernel_args *k, int compensated, const real *m, real *s,
                             real h INSIDE(lane_inside *inside) ASIDE(lane_aside *aside))
{
    LANE_KNOWN(FORCES(k) != 0);
    propagator_step(k, BODIES(k), compensated, m, s, h INSIDE(inside) ASIDE(aside));
}

LANE_FN void step(const shoal_kernel_args *k, int compensated, const real *m, real *s,
                  real h INSIDE(lane_inside *inside) ASIDE(lane_aside *aside))
{
    if (FORCES(k))
        step_forced(k, compensated, m, s, h INSIDE(inside) ASIDE(aside));
    else if (compensated)
        step_compensated(k, m, s, h INSIDE(inside) ASIDE(aside));
    else
        step_plain(k, m, s, h INSIDE(inside) ASIDE(aside));
}

typedef struct lane_clock {
    real h, steps, limit, end; /* length of a step; numbers of steps: done, at the next pause, at the end of the run */
    real wake, shown;          /* numbers of steps: when a monitor wants to look; when one did last */
    mask made, leaves;         /* the last step was made; the system goes to the other kernel (aside.kern.h) */
} lane_clock;

/* The number of steps at which a call of `most` steps ends. Systems that were set aside end it like those beside them,
 * after a look of monitors with `every`, so that a warp looks at the same steps (k->aside.stride). */
LANE_FN real clock_last(const shoal_kernel_args *k, real steps, real most)
{
    const real last = steps + most;
    (void)k;
#if PROPAGATOR_SETS_ASIDE
    const real stride = lane_set(k->aside.stride), look = lane_floor((last - 1.0) / stride) * stride + 1.0;
    return lane_select(look > steps, look, last);
#else
    return last;
#endif
}

/* most: steps in this call. */
LANE_FN void clock_load(const shoal_kernel_args *k, lane_id id, real most, lane_clock *clock)
{
    clock->h = record_load(k, id, SHOAL_SYS_DT);
    clock->steps = record_load(k, id, SHOAL_SYS_STEP);
    clock->limit = lane_min(record_load(k, id, SHOAL_SYS_TARGET), clock_last(k, clock->steps, most));
    clock->limit = lane_min(clock->limit, lane_set(k->max_steps));
    clock->end = record_load(k, id, SHOAL_SYS_END);
    clock->shown = clock->steps;
    clock->made = clock->leaves = clock->h != clock->h;
}

LANE_FN void clock_sleep(lane_clock *clock, real steps)
{
    clock->wake = lane_min(clock->limit, clock->shown + steps);
}

LANE_FN mask clock_wakes(const lane_clock *clock)
{
    return PROPAGATOR_SETS_ASIDE ? (clock->steps >= clock->wake) | clock->leaves : clock->steps >= clock->wake;
}

LANE_FN void clock_store(const shoal_kernel_args *k, lane_id id, mask where, const lane_clock *clock)
{
    record_store(k, id, SHOAL_SYS_STEP, where, clock->steps);
}

LANE_FN void clock_step(const shoal_kernel_args *k, int compensated, const real *m, real *s, lane_clock *clock,
                        lane_inside *inside, lane_aside *aside)
{
    const mask all = lane_set(0.0) == lane_set(0.0);
    (void)inside;
    step(k, compensated, m, s, clock->h INSIDE(inside) ASIDE(aside));
    clock->made = all;
    clock->leaves = lane_not(all);
#if PROPAGATOR_SETS_ASIDE
    if (aside) {
        clock->made = aside->made;
        clock->leaves = aside->substeps ? aside->made & (lane_not(aside->needed | aside->stays) | aside->hurries)
                                        : aside->needed;
    }
    clock->steps = lane_select(clock->made, clock->steps + 1.0, clock->steps);
#else
    (void)aside;
    clock->steps = clock->steps + 1.0;
#endif
}

LANE_FN void clock_aim(const shoal_kernel_args *k, lane_clock *clock, mask where, real target)
{
    clock->limit = lane_select(where, lane_min(target, lane_set(k->max_steps)), clock->limit);
}

LANE_FN mask clock_due(const lane_clock *clock)
{
    return PROPAGATOR_SETS_ASIDE ? (clock->steps >= clock->limit) | clock->leaves : clock->steps >= clock->limit;
}
LANE_FN mask clock_stuck(const shoal_kernel_args *k, const lane_clock *clock)
{
    (void)k, (void)clock;
    return lane_set(0.0) != lane_set(0.0); /* never */
}
LANE_FN mask clock_spent(const shoal_kernel_args *k, lane_id id, mask live, const lane_clock *clock)
{
    (void)id, (void)live;
    return (clock->steps >= lane_set(k->max_steps)) & (clock->steps < clock->end);
}
LANE_FN mask clock_moved(const lane_clock *clock)
{
    return clock->made;
}
LANE_FN real clock_length(const lane_clock *clock)
{
    return clock->h;
}
LANE_FN real clock_phase(const lane_clock *clock)
{
    return clock->steps / clock->end;
}
LANE_FN real clock_time(const lane_clock *clock, real fraction)
{
    return (clock->steps - 1.0 + fraction) * clock->h;
}

#endif

/* Lanes whose systems have stopped make steps of length 0 from now on, if the propagator allows it. */
LANE_FN void clock_rest(lane_clock *clock, mask lanes)
{
    if (PROPAGATOR_RESTS)
        clock->h = lane_select(lanes, lane_set(0.0), clock->h);
}

LANE_FN void prepare_lanes(const shoal_kernel_args *k, lane_id id, mask there)
{
    const int n = BODIES(k), bodies = real_bodies(k, n);
    real m[n], w[6 * n], s[STATE_SIZE(n)];
    LANE_UNROLL
    for (int i = 0; i < n; i++) {
        m[i] = mass_load(k, n, id, i);
        LANE_UNROLL
        for (int c = 0; c < 6; c++)
            w[c * n + i] = lane_load(k->bodies, id, i % bodies * SHOAL_QUANTITIES + c, bodies * SHOAL_QUANTITIES);
    }
    if (VARIATIONAL(k))
        tangent_begin(k, id, n, m, w);
    propagator_prepare(k, n, m, w, s);
    system_store(k, n, 1, id, there, s);
}

/* Whether a coordinate is no number. Such a coordinate spreads to all bodies within a step or two, so this tests
 * one. */
LANE_FN mask is_broken(const shoal_kernel_args *k, const real *s)
{
    const mask broken = lane_not(lane_abs(s[real_bodies(k, BODIES(k)) - 1]) < lane_set(1e300));
#if TEAM > 1 /* the same coordinate of the same body as in the other models */
    return broken & (team_part() == TEAM_BLOCKS - 1);
#else
    return broken;
#endif
}

/* What a system whose state is no number ends as. */
LANE_FN real broken_outcome(const shoal_kernel_args *k, const real *s)
{
    const int n = BODIES(k);
    (void)k, (void)n, (void)s;
    return lane_select(PROPAGATOR_GAVE_UP(n, s), lane_set(SHOAL_BUDGET), lane_set(SHOAL_NONFINITE));
}

/* Steps that the monitors that wait have not seen yet, one a lane, so that lanes beside each other are shown together:
 * the bodies at both ends, as lane_watch has them, and h and time of lane_view. */
typedef struct lane_held {
    mask lanes;
    real h, time, *before, *after;
} lane_held;
#define HELD_SIZE(k, n) (MONITORS(k) & MONITORS_WAITING ? 6 * VIEW_ROOM(n) : 1)

/* What a group of lanes has for its monitors: what these carry; the motion within a step, or NULL; and the bodies at
 * the start of the step, [6 * n]: their view if a monitor must see each step, else the first six slots. If the guard
 * knows of orbits alone (NESTED_ALONE), their view while it is awake, and the state `kept` while it sleeps. */
typedef struct lane_watch {
    lane_id id;
    monitor_state *carried;
    lane_inside *inside;
    real *before, *kept;
    lane_guard guard;
    lane_held held;
    mask near; /* what the guard said of the last step by its slots; all if it has none */
    mask look; /* the lanes in which the last step may have consequences */
} lane_watch;

/* Whether a monitor must see each step; whether a guard says which ones those of pairs must see. */
LANE_FN int monitors_awake(const shoal_kernel_args *k)
{
    const bool guarded = PROPAGATOR_PLAIN || nested_asks(k, system_bodies(k, BODIES(k)));
    return VARIATIONAL(k) || (MONITORS(k) & (MONITORS_AWAKE | (guarded ? 0 : MONITORS_INSIDE)));
}
LANE_FN int monitors_guarded(const shoal_kernel_args *k)
{
    return (MONITORS(k) & MONITORS_INSIDE) && !monitors_awake(k);
}
/* Whether the guard, and what is held, have bodies as slots; else as views. */
LANE_FN bool guard_has_slots(const shoal_kernel_args *k)
{
    return monitors_guarded(k) && !NESTED_ALONE;
}
/* Whether the guard looks at views before monitors of pairs do: one thread looks at all pairs, and of more bodies than
 * here that costs as much as the monitors. */
LANE_FN bool guard_has_views(const shoal_kernel_args *k)
{
    const int most = TEAM > 1 ? 4 : SHOAL_MAX_PAIRED;
    return (MONITORS(k) & MONITORS_INSIDE) && system_bodies(k, BODIES(k)) <= most && !guard_has_slots(k);
}
/* Whether steps are held for monitors that wait. */
LANE_FN bool monitors_wait(const shoal_kernel_args *k)
{
    const bool slots = guard_has_slots(k) && TEAM == 1 && BODIES(k) <= SHOAL_MAX_PAIRED;
    return (MONITORS(k) & MONITORS_WAITING) && (slots || guard_has_views(k));
}

#if TEAM > 1
/* Each thread adds the view of its own bodies to the view of the whole system. */
LANE_FN void view_share(int n, const real *own, double *w)
{
    LANE_UNROLL_FULLY
    for (int c = 0; c < 2 * XYZ; c++) {
        LANE_UNROLL_FULLY
        for (int i = 0; i < TEAM_FIRST + TEAM_EACH; i++)
            if (i < TEAM_FIRST ? team_owns() && team_own() == 0 : team_owns())
                w[(c / XYZ * 3 + c % XYZ + team_axis()) * TEAM_BODIES + team_body(i)] =
                    own[c * (TEAM_FIRST + TEAM_EACH) + i];
    }
    (void)n;
}
#endif

/* The view of the whole system, [6 * system_bodies], from those of the bodies that a thread has. A team has one, which
 * lasts until it makes the next one or a step. */
LANE_FN const real *view_whole(int n, const real *own)
{
    (void)n;
#if TEAM > 1
    team_sync();
    view_share(n, own, team_view());
    team_sync();
    return team_view();
#else
    return own;
#endif
}

/* The view of a system at the start, for the monitors of pairs: *start. */
LANE_FN void view_before(const shoal_kernel_args *k, const real *m, const real *s, real *before, real **start)
{
    system_view(k, m, s, before);
    *start = before;
#if TEAM > 1
    LANE_ASSERT(!(SHOAL_MONITORS & MONITORS_BEFORE) ||
                    TEAM_DOUBLES > 2 * TEAM_BODIES + TEAM_EXCHANGED + 6 * TEAM_BODIES,
                "monitors in MONITORS_BEFORE do not say ends_only");
    view_share(BODIES(k), before, team_before());
    *start = team_before();
#endif
}

/* Shows the monitors that wait what is held, called with copies. */
LANE_CALLED_FN void held_show(const shoal_kernel_args *k, lane_id id, const lane_held *held, const lane_guard *guard)
{
    const int n = BODIES(k), bodies = system_bodies(k, n);
    real m[VIEW_ROOM(n)], before[6 * VIEW_ROOM(n)], after[6 * VIEW_ROOM(n)];
    for (int i = 0; i < bodies; i++)
        m[i] = lane_load(k->bodies, id, i * SHOAL_QUANTITIES + SHOAL_M, bodies * SHOAL_QUANTITIES);
    const mask near = held->lanes & guard_again(k, id, bodies, guard_has_slots(k) ? PROPAGATOR_FIRST_BODY : 0, m,
                                                held->before, held->after, lane_rough(held->h), guard);
    if (!lane_any(near))
        return;
    const real zero = lane_set(0.0);
    const mask none = zero != zero;
    lane_view view = {id,   bodies, m,    held->before, held->after, held->h, zero, zero, near,
                      near, near,   none, zero,         held->time,  zero,    0,    1};
#if TEAM == 1
    if (guard_has_slots(k)) {
        system_view(k, m, held->before, before);
        system_view(k, m, held->after, after);
        view.before = before;
        view.after = after;
    }
#endif
    monitor_state unused;
    lane_event event;
    event_none(&event);
    monitors_watch(k, &view, &unused, 0, &event);
}

/* What is held is shown; then there is room. */
LANE_FN void held_end(const shoal_kernel_args *k, lane_watch *watch)
{
    const lane_held held = watch->held;
    const lane_guard guard = watch->guard;
    if (lane_any(held.lanes))
        held_show(k, watch->id, &held, &guard);
    watch->held.lanes = lane_set(0.0) != lane_set(0.0);
}

/* The lanes `later` hold their last step, from `before` to `after`; there is room when what they hold is shown. */
/* long: inlined; the two ends of a step */
LANE_FN void watch_hold(const shoal_kernel_args *k, mask later, const lane_clock *clock, const real *before,
                        const real *after, lane_watch *watch)
{
    const bool slots = guard_has_slots(k);
    const int n = slots ? BODIES(k) : system_bodies(k, BODIES(k)), first = slots ? PROPAGATOR_FIRST_BODY : 0;
    lane_held *held = &watch->held;
    if (team_any_beside(later & held->lanes))
        held_end(k, watch);
    if (!lane_any(later))
        return;
    LANE_UNROLL
    for (int c = 0; c < 6; c++) {
        LANE_UNROLL
        for (int i = first; i < n; i++) {
            held->before[c * n + i] = lane_select(later, before[c * n + i], held->before[c * n + i]);
            held->after[c * n + i] = lane_select(later, after[c * n + i], held->after[c * n + i]);
        }
    }
    held->h = lane_select(later, clock_length(clock), held->h);
    held->time = lane_select(later, clock_time(clock, lane_set(1.0)), held->time);
    held->lanes = held->lanes | later;
}

/* Lanes in which the last step may have consequences. It is asked after every step, so it is cheap. */
LANE_FN mask wants_a_look(const shoal_kernel_args *k, mask live, const real *m, const real *s, const lane_clock *clock,
                          lane_watch *watch)
{
    const int n = BODIES(k);
    watch->look = clock_wakes(clock) | clock_stuck(k, clock);
    if (monitors_awake(k))
        return watch->look = watch->look | is_broken(k, s) | clock_moved(clock);
    watch->look = watch->look | (MONITORS(k) ? propagator_beyond(k, n, m, s, monitors_sleep(k)) : is_broken(k, s));
    if (!monitors_guarded(k))
        return watch->look;
#if NESTED_ALONE
    const bool was_awake = watch->guard.awake; /* else the view of the step's start is missing */
    watch->near = nested_looks(k, watch->id, n, live, m, s, clock_length(clock), &watch->guard);
    if (watch->guard.awake && !was_awake) {
        guard_forget(&watch->guard);
        real own[6 * LANE_ROOM(n)]; /* watch->before is shared by a team */
        view_before(k, m, watch->kept, TEAM > 1 ? own : watch->before, &watch->before);
    }
#else
    mask later;
    watch->near = guard_stirs(k, watch->id, n, live, m, watch->before, s, clock_length(clock), &watch->guard, &later);
#endif
    if (watch->inside) {
        const mask within = inside_seen(watch->inside);
        watch->near = watch->near | within;
        nested_break(within, &watch->guard);
    }
#if !NESTED_ALONE && TEAM == 1
    if (monitors_wait(k)) {
        later = later & live & clock_moved(clock) & lane_not(watch->near);
        if (lane_any_beside(later)) {
            real copy[LANE_COPIES * 6 * LANE_ROOM(n) + 1];
            watch_hold(k, later, clock, guard_kept(n, watch->before, copy), s, watch);
        }
    }
#endif
    return watch->look = watch->look | watch->near;
}

/* A step begins: the guard needs the bodies as they are. */
LANE_FN void watch_begin(const shoal_kernel_args *k, const real *s, lane_watch *watch)
{
    if (!monitors_guarded(k))
        return;
    if (NESTED_ALONE && !watch->guard.awake)
        state_copy(k, s, watch->kept);
    if (!NESTED_ALONE && (watch->guard.awake || watch->inside))
        guard_keep(BODIES(k), s, watch->before);
}

/* Lanes in which monitors of pairs may see something in the last step, to the view w. *later: lanes that hold it. */
/* long: as watch_step */
LANE_FN mask watch_narrow(const shoal_kernel_args *k, mask moved, const real *m, const real *w, const lane_clock *clock,
                          const lane_inside *inside, lane_watch *watch, mask *later)
{
    const int n = system_bodies(k, BODIES(k));
    const rough h = lane_rough(clock_length(clock));
    mask near = moved & guard_view_stirs(k, watch->id, n, m, w, h, &watch->guard, later);
    if (lane_any(near)) {
        const lane_guard guard = watch->guard;
        near = near & guard_again(k, watch->id, n, 0, m, watch->before, w, h, &guard);
    }
    if (inside)
        near = near | inside_seen(inside);
    *later = *later & moved & lane_not(near);
    if (monitors_wait(k) && lane_any(near & watch->held.lanes))
        held_end(k, watch);
    return near;
}

/* The monitors look at a step, in the lanes that moved; a rejected step is not shown to them. pairs: NULL, or what the
 * guard needs to narrow the lanes `near`. */
/* long: inlined; the state of a lane, in registers of the step loop, of which it changes some */
LANE_FN void watch_step(const shoal_kernel_args *k, lane_id id, mask live, mask near, const real *m, real *s,
                        lane_clock *clock, real *before, monitor_state *watch, lane_inside *inside, lane_watch *pairs,
                        lane_event *event)
{
    const int n = BODIES(k), bodies = system_bodies(k, n);
    const mask moved = clock_moved(clock);
    mask later = lane_set(0.0) != lane_set(0.0);
    real own[6 * LANE_ROOM(n)];
    const real tangent2 = system_view(k, m, s, own), *w = view_whole(n, own);
#if TEAM > 1
    m = team_masses();
    if (team_leads()) /* the others wait at the next operation of the team */
#endif
    {
        monitor_state was;
        if (PROPAGATOR_ADAPTIVE || PROPAGATOR_SETS_ASIDE)
            monitors_keep(k, watch, &was);
        if (pairs)
            near = watch_narrow(k, live & moved, m, w, clock, inside, pairs, &later);
        lane_inside shown;
        if (PROPAGATOR_SETS_ASIDE && inside)
            shown = *inside;
        lane_event seen;
        event_none(&seen);
        lane_view view;
        view.id = id;
        view.n = bodies;
        view.m = m;
        view.before = before;
        view.after = w;
        view.h = clock_length(clock);
        view.phase = clock_phase(clock);
        view.time = clock_time(clock, lane_set(1.0));
        view.since = clock->steps - clock->shown;
        view.tangent2 = tangent2;
        view.star = view.planets = view.whole = live & moved;
        view.near = near;
        view.late = lane_set(0.0);
        view.part = view.held = 0;
        monitors_watch(k, &view, watch, inside, &seen);
        event_offer(event, seen.hit & moved, seen.fraction, seen.outcome, seen.body_a, seen.body_b);
        if (PROPAGATOR_ADAPTIVE || PROPAGATOR_SETS_ASIDE)
            monitors_undo(k, lane_not(moved), &was, watch);
        if (PROPAGATOR_SETS_ASIDE && inside && lane_any(lane_not(moved))) /* the step continues in the next call */
            *inside = shown;
    }
    clock->shown = lane_select(moved, clock->steps, clock->shown);
    event->hit = event->hit | team_told(event->hit);
    if (pairs && monitors_wait(k))
        watch_hold(k, later, clock, before, w, pairs);
    if (MONITORS(k) & MONITORS_BEFORE) {
#if TEAM > 1
        team_sync(); /* the leader has read it */
        if (moved)
            view_share(n, own, team_before());
        team_sync();
#else
        LANE_UNROLL
        for (int c = 0; c < 6 * bodies; c++)
            before[c] = lane_select(moved, w[c], before[c]);
#endif
    }
    if (VARIATIONAL(k) && lane_any(tangent_is_long(tangent2)))
        tangent_shorten(n, COMPENSATED(k), tangent_is_long(tangent2), s);
}

/* The monitors look at a step, as they seldom do: called with copies, so that a GPU has the state in registers at all
 * other steps. */
/* long: as watch_step */
LANE_CALLED_FN void watch_called(const shoal_kernel_args *k, lane_id id, mask live, mask near, const real *m, real *s,
                                 lane_clock *clock, const real *before, monitor_state *carried, lane_inside *inside,
                                 lane_event *event)
{
    const int n = BODIES(k);
    real view[6 * n], *start = view;
    if (!NESTED_ALONE && monitors_guarded(k) && team_any_beside(near))
        view_before(k, m, before, view, &start);
    watch_step(k, id, live, near, m, s, clock, start, carried, inside, 0, event);
}

LANE_FN void watch_seldom(const shoal_kernel_args *k, mask live, const real *m, real *s, lane_clock *clock,
                          const lane_watch *watch, lane_event *event)
{
    const int n = BODIES(k);
    real masses[LANE_COPIES * n + 1], state[LANE_COPIES * STATE_SIZE(n) + 1], room[LANE_COPIES * 6 * n + 1];
    lane_clock time = *clock;
    lane_event seen = *event;
    LANE_UNROLL
    for (int i = 0; LANE_COPIES && i < n; i++)
        masses[i] = m[i];
    if (LANE_COPIES)
        state_copy(k, s, state);
    const real *before = !NESTED_ALONE && monitors_guarded(k) ? guard_kept(n, watch->before, room) : room;
    watch_called(k, watch->id, live, watch->near, LANE_COPIES ? masses : m, LANE_COPIES ? state : s, &time, before,
                 watch->carried, watch->inside, &seen);
    clock->shown = time.shown;
    *event = seen;
}

/* Advance s by the time `left`, which is within the next step, of length h: one step of that length, or as many as an
 * adaptive propagator needs. What is stored of the system does not change. */
LANE_FN void advance_copy(const shoal_kernel_args *k, const real *m, real *s, real left, real h)
{
    const int n = BODIES(k);
    const real zero = lane_set(0.0);
    real copy[STATE_SIZE(n)];
    mask moves = left != zero;
    state_copy(k, s, copy);
#if PROPAGATOR_ADAPTIVE
    for (int i = 0; i < ADVANCE_STEPS && team_goes_on(moves); i++) {
        real attempt = lane_select(lane_abs(left) < lane_abs(h), left, h);
        const real done = step(k, COMPENSATED(k), m, copy, &attempt);
        h = attempt;
        left = lane_select(moves, left - done, left);
        state_take(k, moves, copy, s);
        moves = moves & (left != zero);
    }
#else
    (void)h;
    if (team_goes_on(moves))
        step(k, COMPENSATED(k), m, copy, left INSIDE(0) ASIDE(0));
    state_take(k, moves, copy, s);
#endif
}

#include "integrators/observe.kern.h"
#include "integrators/conjunctions.kern.h"

/* An event in these lanes goes to their records. */
LANE_FN void event_store(const shoal_kernel_args *k, lane_id id, mask hit, const lane_clock *clock,
                         const lane_event *event)
{
    const real t = record_load(k, id, SHOAL_SYS_T_START) + clock_time(clock, event->fraction);
    record_store(k, id, SHOAL_SYS_OUTCOME, hit, event->outcome);
    record_store(k, id, SHOAL_SYS_T_STOP, hit, t);
    record_store(k, id, SHOAL_SYS_BODY_A, hit, event->body_a);
    record_store(k, id, SHOAL_SYS_BODY_B, hit, event->body_b);
}

/* What a step means for a group of lanes: monitors, ends, pauses. */
/* long: as watch_step */
LANE_BIG_FN void check_step(const shoal_kernel_args *k, int compensated, const real *m, real *s, lane_clock *clock,
                            lane_watch *watch, real *sight, mask *live)
{
    const int n = BODIES(k), watched = MONITORS(k);
    const lane_id id = watch->id;
    const real none = lane_set(-1.0), one = lane_set(1.0);
    lane_event event;
    event_none(&event);
    event_offer(&event, team_any(is_broken(k, s)), one, broken_outcome(k, s), none, none);
    if (watched &&
        (!PROPAGATOR_SETS_ASIDE || monitors_awake(k) || team_any_beside(*live & clock_moved(clock) & watch->look))) {
        if (guard_has_slots(k) && monitors_wait(k) && lane_any(watch->near & watch->held.lanes))
            held_end(k, watch);
        if (monitors_awake(k) || (NESTED_ALONE && monitors_guarded(k) && watch->guard.awake))
            watch_step(k, id, *live, watch->near, m, s, clock, watch->before, watch->carried, watch->inside,
                       guard_has_views(k) ? watch : 0, &event);
        else
            watch_seldom(k, *live, m, s, clock, watch, &event);
    }
    event_offer(&event, clock_stuck(k, clock), one, lane_set(SHOAL_STEP_UNDERFLOW), none, none);
    event_offer(&event, clock_spent(k, id, *live, clock), one, lane_set(SHOAL_BUDGET), none, none);
    const mask hit = *live & event.hit; /* it ends, or the host is told */
    mask due = *live & clock_due(clock);
    if (sight && CONJUNCTIONS(k))
        conjunctions_see(k, id, m, s, clock, *live, sight + 1);
    if (sight)
        due = sights_see(k, id, m, s, clock, hit, due, &sight[0]);
    const mask stops = hit | due;
    if (monitors_wait(k) && lane_any(stops & watch->held.lanes))
        held_end(k, watch);
#if PROPAGATOR_SETS_ASIDE
    const mask sets_aside = stops & clock->leaves & lane_not(clock->made | hit);
#endif
    if (lane_any(stops)) { /* store the state of these lanes; their later steps are ignored */
        system_store(k, n, compensated, id, stops, s);
        clock_store(k, id, stops, clock);
        if (watched) {
            monitors_pass(k, stops, clock->steps - clock->shown, watch->carried);
            monitors_store(k, id, team_speaks(stops, 1), watch->carried);
        }
#if PROPAGATOR_SETS_ASIDE
        record_store(k, id, SHOAL_SYS_OUTCOME, sets_aside, lane_set(SHOAL_ASIDE));
#endif
        if (lane_any(hit))
            event_store(k, id, hit, clock, &event);
        *live = *live & lane_not(stops);
        clock_rest(clock, stops);
    }
    clock_sleep(clock, monitors_left(k, watch->carried));
#if PROPAGATOR_SETS_ASIDE
    if (team_any_beside(sets_aside)) {
        team_sync();
        lane_fence();
        lane_push(&k->aside.queue, id, team_speaks(sets_aside, 1));
    }
#endif
}

/* What a group of lanes begins with; it stays where it is. */
/* long: arrays of the caller */
LANE_FN void watch_load(const shoal_kernel_args *k, lane_id id, const real *m, const real *s, real *before, real *kept,
                        real *held, lane_inside *within, monitor_state *carried, lane_watch *watch)
{
    const real zero = lane_set(0.0);
    const lane_held none = {zero != zero, zero, zero, held, held + HELD_SIZE(k, BODIES(k))};
    watch->id = id;
    watch->carried = carried;
    watch->before = before;
    watch->kept = kept;
    watch->held = none;
    watch->near = zero == zero;
    watch->inside = PROPAGATOR_INSIDE && (MONITORS(k) & MONITORS_INSIDE) ? within : 0;
    if (MONITORS(k))
        monitors_load(k, id, carried);
    if (MONITORS(k) & MONITORS_INSIDE)
        guard_load(k, id, system_bodies(k, BODIES(k)), &watch->guard);
    if ((MONITORS(k) & MONITORS_BEFORE) && (NESTED_ALONE || !monitors_guarded(k)))
        view_before(k, m, s, before, &watch->before);
    if (watch->inside)
        inside_load(id, watch->inside);
}

/* LANE_GROUPS groups of lanes make a step in turns. A group in which all systems have stopped makes no steps.
 * `sights`: they go through k->sights, and none is set aside. */
LANE_FN void integrate_lanes(const shoal_kernel_args *k, const lane_id *id, const mask *there, bool sights)
{
    const int n = BODIES(k), compensated = COMPENSATED(k);
    real m[LANE_GROUPS][n], s[LANE_GROUPS][STATE_SIZE(n)], before[LANE_GROUPS][6 * n];
    real kept[LANE_GROUPS][NESTED_ALONE * STATE_SIZE(n) + 1], held[LANE_GROUPS][2 * HELD_SIZE(k, n)];
    lane_clock clock[LANE_GROUPS];
    mask live[LANE_GROUPS];
    monitor_state carried[LANE_GROUPS];
    lane_watch watch[LANE_GROUPS];
    lane_inside within[LANE_GROUPS];
    lane_aside aside[LANE_GROUPS];
    bool awake[LANE_GROUPS], go_on = false;
    real sight[LANE_GROUPS][SIGHTS_SIZE(n)]; /* the next time; g of conjunctions.kern.h */
    LANE_KEEP_ROLLED
    for (int g = 0; g < LANE_GROUPS; g++) {
        live[g] = there[g] & (record_load(k, id[g], SHOAL_SYS_OUTCOME) == lane_set(SHOAL_RUNNING));
#if PROPAGATOR_SETS_ASIDE
        live[g] = team_told(live[g]);
        lane_fence();
#endif
        system_load(k, n, compensated, id[g], m[g], s[g]);
        clock_load(k, id[g], lane_set(k->slice_steps), &clock[g]);
        aside[g].substeps = false;
        if (sights && CONJUNCTIONS(k))
            conjunctions_begin(k, id[g], there[g], m[g], s[g], sight[g] + 1);
        if (sights)
            live[g] = live[g] &
                      lane_not(sights_begin(k, id[g], m[g], s[g], &clock[g], there[g], live[g], &sight[g][0]));
        else
            live[g] = live[g] & lane_not(clock_due(&clock[g]));
        awake[g] = team_goes_on(live[g]);
        go_on = awake[g] || go_on;
        watch_load(k, id[g], m[g], s[g], before[g], kept[g], held[g], &within[g], &carried[g], &watch[g]);
        clock_sleep(&clock[g], monitors_left(k, &carried[g]));
        clock_rest(&clock[g], lane_not(live[g]));
    }
    LANE_KEEP_ROLLED
    while (go_on) {
        go_on = false;
        bool quiet = true;
        LANE_KEEP_ROLLED
        while (quiet) {
            LANE_UNROLL
            for (int g = 0; g < LANE_GROUPS; g++)
                if (LANE_GROUPS == 1 || awake[g]) {
                    watch_begin(k, s[g], &watch[g]);
                    clock_step(k, compensated, m[g], s[g], &clock[g], watch[g].inside, sights ? 0 : &aside[g]);
                }
            LANE_UNROLL
            for (int g = 0; g < LANE_GROUPS; g++) {
                mask looks = live[g] & wants_a_look(k, live[g], m[g], s[g], &clock[g], &watch[g]);
                if (sights && CONJUNCTIONS(k))
                    looks = looks |
                            conjunctions_passed(k, id[g], m[g], s[g], clock_length(&clock[g]), live[g], sight[g] + 1);
                quiet = quiet && !team_any_beside(looks);
            }
        }
        LANE_KEEP_ROLLED
        for (int g = 0; g < LANE_GROUPS; g++) {
            if (LANE_GROUPS > 1 && !awake[g])
                continue;
            check_step(k, compensated, m[g], s[g], &clock[g], &watch[g], sights ? sight[g] : 0, &live[g]);
            awake[g] = team_goes_on(live[g]);
            go_on = awake[g] || go_on;
        }
    }
}

LANE_FN void kernel_integrate(const shoal_kernel_args *k, const lane_id *id, const mask *there)
{
    integrate_lanes(k, id, there, false);
}

/* Store the barycentric state after a partial step of SHOAL_SYS_PARTIAL (0: the state itself) in k->snapshot. */
LANE_FN void snapshot_lanes(const shoal_kernel_args *k, lane_id id, mask there)
{
    const int n = BODIES(k), bodies = real_bodies(k, n);
    real m[n], w[6 * n], s[STATE_SIZE(n)];
    system_load(k, n, COMPENSATED(k), id, m, s);
    advance_copy(k, m, s, record_load(k, id, SHOAL_SYS_PARTIAL), record_load(k, id, SHOAL_SYS_DT));
    system_view(k, m, s, w);
    for (int i = 0; i < bodies; i++)
        for (int c = 0; c < 6; c++)
            lane_store(k->snapshot, id, i * 6 + c, 6 * bodies, there, w[c * bodies + i]);
}

/* The clock of lanes that stop on the way to the end of a run, or there; its steps and the next one's length stay those
 * of the last whole step. steps: their number there, if all have one length. */
LANE_FN void clock_finish(const shoal_kernel_args *k, lane_id id, mask stops, mask there, real steps, lane_clock *clock)
{
#if PROPAGATOR_ADAPTIVE
    (void)steps;
    clock_store(k, id, stops & lane_not(there), clock);
    record_store(k, id, SHOAL_SYS_ELAPSED, stops & there, clock->end);
    record_store(k, id, SHOAL_SYS_ELAPSED_ERROR, stops & there, lane_set(0.0));
#else
    (void)there, (void)clock;
    record_store(k, id, SHOAL_SYS_STEP, stops, steps);
#endif
}

/* Make a step of a copy towards the end of a run, *left away, in the lanes `live`; the others rest. */
LANE_FN void finish_step(const shoal_kernel_args *k, const real *m, real *s, mask live, real *left, lane_clock *clock,
                         lane_inside *inside)
{
    const int n = BODIES(k);
    real copy[STATE_SIZE(n)];
    state_copy(k, s, copy);
    (void)inside;
#if PROPAGATOR_ADAPTIVE
    real attempt = lane_select(lane_abs(*left) < lane_abs(clock->h), *left, clock->h);
    const real done = step(k, COMPENSATED(k), m, copy, &attempt);
    clock->done = lane_select(live, done, lane_set(0.0));
    clock->h = lane_select(live, attempt, clock->h);
    lane_add(1, &clock->elapsed, &clock->error, lane_abs(clock->done));
    *left = *left - clock->done;
#else
    /* its only step: so many of this length that its end is at the right time */
    clock->steps = clock->end = lane_fma(clock->steps, clock->h / *left, lane_set(1.0));
    clock->h = *left;
    step(k, COMPENSATED(k), m, copy, *left INSIDE(inside) ASIDE(0));
    clock->made = live;
    *left = lane_set(0.0);
#endif
    clock->shown = clock->steps - 1.0;
    state_take(k, live, copy, s);
}

/* Make what is left of a run after its last whole step, a time of SHOAL_SYS_PARTIAL, with the operations of a snapshot,
 * and show it to the monitors. Where something happens, the system stops at the end of that step; SHOAL_SYS_PARTIAL is
 * then what is left from there. */
LANE_FN void finish_lanes(const shoal_kernel_args *k, lane_id id, mask there)
{
    const int n = BODIES(k);
    const real none = lane_set(-1.0), one = lane_set(1.0), dt = record_load(k, id, SHOAL_SYS_DT),
               steps = record_load(k, id, SHOAL_SYS_STEP);
    real m[n], s[STATE_SIZE(n)], before[6 * n], *start = before, left = record_load(k, id, SHOAL_SYS_PARTIAL);
    const real part = left;
    mask live = there & (record_load(k, id, SHOAL_SYS_OUTCOME) == lane_set(SHOAL_RUNNING)) & (left != lane_set(0.0));
    const mask seen = live;
    lane_clock clock;
    monitor_state watch;
    lane_inside within, *inside = PROPAGATOR_INSIDE && (MONITORS(k) & MONITORS_INSIDE) ? &within : 0;
    system_load(k, n, COMPENSATED(k), id, m, s);
    clock_load(k, id, one, &clock);
    monitors_load(k, id, &watch);
    if (MONITORS(k) & MONITORS_BEFORE)
        view_before(k, m, s, before, &start);
    if (inside)
        inside_load(id, inside);
    for (int i = 0; i < ADVANCE_STEPS && lane_any(live); i++) {
        lane_event event;
        finish_step(k, m, s, live, &left, &clock, inside);
        event_none(&event);
        event_offer(&event, is_broken(k, s), one, broken_outcome(k, s), none, none);
        watch_step(k, id, live, live, m, s, &clock, start, &watch, inside, 0, &event);
        const mask hit = live & event.hit, there_now = left == lane_set(0.0), stops = live & (event.hit | there_now);
        if (lane_any(stops)) {
            system_store(k, n, COMPENSATED(k), id, stops, s);
            record_store(k, id, SHOAL_SYS_PARTIAL, stops, left);
            clock_finish(k, id, stops, there_now, steps + part / dt, &clock);
        }
        if (lane_any(hit))
            event_store(k, id, hit, &clock, &event);
        live = live & lane_not(stops);
    }
    monitors_store(k, id, seen, &watch);
}

LANE_FN void kernel_prepare(const shoal_kernel_args *k, const lane_id *id, const mask *there)
{
    for (int g = 0; g < LANE_GROUPS && (g == 0 || lane_any(there[g])); g++)
        prepare_lanes(k, id[g], there[g]);
}

LANE_FN void kernel_snapshot(const shoal_kernel_args *k, const lane_id *id, const mask *there)
{
    for (int g = 0; g < LANE_GROUPS && (g == 0 || lane_any(there[g])); g++)
        snapshot_lanes(k, id[g], there[g]);
}

LANE_FN void kernel_finish(const shoal_kernel_args *k, const lane_id *id, const mask *there)
{
    for (int g = 0; g < LANE_GROUPS && (g == 0 || lane_any(there[g])); g++)
        finish_lanes(k, id[g], there[g]);
}

/* Make k->slice_steps steps (attempts) and nothing else. */
LANE_FN void kernel_bare(const shoal_kernel_args *k, const lane_id *id, const mask *there)
{
    const int n = BODIES(k), compensated = COMPENSATED(k);
    real m[LANE_GROUPS][n], s[LANE_GROUPS][STATE_SIZE(n)];
    lane_clock clock[LANE_GROUPS];
    bool awake[LANE_GROUPS];
    LANE_KEEP_ROLLED
    for (int g = 0; g < LANE_GROUPS; g++) {
        awake[g] = lane_any(there[g]);
        system_load(k, n, compensated, id[g], m[g], s[g]);
        clock_load(k, id[g], lane_set(k->slice_steps), &clock[g]);
    }
    LANE_KEEP_ROLLED
    for (long long i = (long long)k->slice_steps; i > 0; i--) {
        LANE_UNROLL
        for (int g = 0; g < LANE_GROUPS; g++)
            if (LANE_GROUPS == 1 || awake[g])
                clock_step(k, compensated, m[g], s[g], &clock[g], 0, 0);
    }
    LANE_KEEP_ROLLED
    for (int g = 0; g < LANE_GROUPS; g++) {
        system_store(k, n, compensated, id[g], there[g], s[g]);
        clock_store(k, id[g], there[g], &clock[g]);
    }
}

#endif
