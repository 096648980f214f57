/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * integrate.kern.h: the generic integrator, the same for every propagator, gravitation, monitor and engine.
 *
 *     prepare    native state from the bodies, once in a system's life
 *     integrate  per system, until it is done or the slice is used up:
 *                advance one step (propagator + gravitation) -> observe (monitors) -> check the end
 *     snapshot   the state at a time inside the next step, from a copy: observing changes nothing
 *     bare       the step loop alone, to measure what the rest costs
 *
 * Compile with PROPAGATOR (a name of integrators/list.h) and, for a fixed body count, N_BODIES. On the GPU SHOAL_MONITORS, SHOAL_FORM
 * and SHOAL_COMPENSATED are constants too; on the CPU they are uniform flags of shoal_kernel_args.
 *
 * A propagator's text defines
 *     PROPAGATOR_FIRST_BODY             bodies before it have no native slots
 *     PROPAGATOR_SLOTS(compensated)     native slots of a body; slot q of body i is s[q * n + i]
 *     propagator_prepare(k, n, m, w, s) native state s from the view w
 *     propagator_step(k, n, compensated, m, s, h)
 *     propagator_reach2(n, s)           upper bound of the squared distance of any body from the barycentre; cheap
 *     propagator_view(n, m, s, w)       barycentric view w = [6 * n]: x of all bodies, y, z, vx, vy, vz
 */
#ifndef SHOAL_INTEGRATE_KERN_H
#define SHOAL_INTEGRATE_KERN_H

#ifdef N_BODIES
#define BODIES(k) N_BODIES
#else
#define BODIES(k) ((k)->n_bodies)
#endif
#ifdef SHOAL_MONITORS
#define MONITORS(k) SHOAL_MONITORS
#define COMPENSATED(k) SHOAL_COMPENSATED
#else
#define MONITORS(k) ((k)->monitors)
#define COMPENSATED(k) ((k)->compensated)
#endif
#if defined(SHOAL_FORM)
#define FORM(k) ((void)(k), SHOAL_FORM)
#elif defined(N_BODIES)
#define FORM(k) ((void)(k), SHOAL_FORM_PAIRS)
#else
#define FORM(k) ((k)->form)
#endif

#define KERNEL_QUOTE(text) #text
#define KERNEL_TEXT(name) KERNEL_QUOTE(integrators/name.kern.h)

#include "gravitation/newton.kern.h"
#include KERNEL_TEXT(PROPAGATOR)
#include "monitors/observe.kern.h"

LANE_FN void system_load(const shoal_kernel_args *k, int n, int compensated, lane_id id, real *m, real *s)
{
    const int n_slots = PROPAGATOR_SLOTS(1) * n;
    LANE_UNROLL
    for (int i = 0; i < n; i++)
        m[i] = lane_load(k->bodies, id, i * SHOAL_QUANTITIES + SHOAL_M, n * SHOAL_QUANTITIES);
    LANE_UNROLL_GPU
    for (int q = 0; q < PROPAGATOR_SLOTS(compensated); q++) {
        LANE_UNROLL_GPU
        for (int i = PROPAGATOR_FIRST_BODY; i < n; i++)
            s[q * n + i] = lane_load(k->native, id, q * n + i, n_slots);
    }
}

LANE_FN void system_store(const shoal_kernel_args *k, int n, int compensated, lane_id id, mask where, const real *s)
{
    const int n_slots = PROPAGATOR_SLOTS(1) * n;
    LANE_UNROLL_GPU
    for (int q = 0; q < PROPAGATOR_SLOTS(compensated); q++) {
        LANE_UNROLL_GPU
        for (int i = PROPAGATOR_FIRST_BODY; i < n; i++)
            lane_store(k->native, id, q * n + i, n_slots, where, s[q * n + i]);
    }
}

LANE_FN real record_load(const shoal_kernel_args *k, lane_id id, int field)
{
    return lane_load(k->systems, id, field, SHOAL_SYS_FIELDS);
}

LANE_FN void record_store(const shoal_kernel_args *k, lane_id id, int field, mask where, real value)
{
    lane_store(k->systems, id, field, SHOAL_SYS_FIELDS, where, value);
}

LANE_BIG_FN void step_plain(const shoal_kernel_args *k, const real *m, real *s, real h)
{
    propagator_step(k, BODIES(k), 0, m, s, h);
}

LANE_BIG_FN void step_compensated(const shoal_kernel_args *k, const real *m, real *s, real h)
{
    propagator_step(k, BODIES(k), 1, m, s, h);
}

LANE_FN void step(const shoal_kernel_args *k, int compensated, const real *m, real *s, real h)
{
    if (compensated)
        step_compensated(k, m, s, h);
    else
        step_plain(k, m, s, h);
}

LANE_FN void prepare_lanes(const shoal_kernel_args *k, lane_id id, mask there)
{
    const int n = BODIES(k);
    real m[n], w[6 * n], s[PROPAGATOR_SLOTS(1) * n];
    LANE_UNROLL
    for (int i = 0; i < n; i++) {
        m[i] = lane_load(k->bodies, id, i * SHOAL_QUANTITIES + SHOAL_M, n * SHOAL_QUANTITIES);
        LANE_UNROLL
        for (int c = 0; c < 6; c++)
            w[c * n + i] = lane_load(k->bodies, id, i * SHOAL_QUANTITIES + c, n * SHOAL_QUANTITIES);
    }
    propagator_prepare(k, n, m, w, s);
    system_store(k, n, 1, id, there, s);
}

/* A coordinate that is no number reaches all bodies within a step or two, so one is enough. */
LANE_FN mask is_broken(int n, const real *s)
{
    return lane_not(lane_abs(s[n - 1]) < lane_set(1e300));
}

/* Lanes for which a step may have consequences; cheap, since it is asked after every step. */
LANE_FN mask wants_a_look(const shoal_kernel_args *k, const real *s, real steps, real limit)
{
    const int n = BODIES(k);
    mask look = is_broken(n, s) | (steps >= limit);
    if (MONITORS(k))
        look = look | monitors_awake(k, propagator_reach2(n, s));
    return look;
}

/* The consequences of a step for a group of lanes. */
LANE_FN void check_step(const shoal_kernel_args *k, int compensated, lane_id id, const real *m, const real *s, real h, real steps,
                        real limit, real *before, monitor_state *watch, mask *live)
{
    const int n = BODIES(k), watched = MONITORS(k);
    real w[6 * LANE_ROOM(n)];
    lane_event event;
    event.hit = is_broken(n, s);
    event.fraction = lane_set(1.0);
    event.outcome = lane_set(SHOAL_NONFINITE);
    event.body_a = lane_set(-1.0);
    event.body_b = lane_set(-1.0);
    if (watched) {
        propagator_view(n, m, s, w);
        monitors_observe(k, id, n, m, before, w, h, steps, watch, &event);
        if (watched & MONITORS_OF_PAIRS) {
            LANE_UNROLL
            for (int c = 0; c < 6 * n; c++)
                before[c] = w[c];
        }
    }
    const mask ended = *live & event.hit, stops = *live & (event.hit | (steps >= limit));
    if (lane_any(stops)) { /* leave these lanes' state as it is now; what they do later is not looked at */
        system_store(k, n, compensated, id, stops, s);
        record_store(k, id, SHOAL_SYS_STEP, stops, steps);
        if (watched)
            monitors_store(k, id, stops, watch);
        if (lane_any(ended)) {
            real t = record_load(k, id, SHOAL_SYS_T_START) + (steps - 1.0 + event.fraction) * h;
            record_store(k, id, SHOAL_SYS_OUTCOME, ended, event.outcome);
            record_store(k, id, SHOAL_SYS_T_STOP, ended, t);
            record_store(k, id, SHOAL_SYS_BODY_A, ended, event.body_a);
            record_store(k, id, SHOAL_SYS_BODY_B, ended, event.body_b);
        }
        *live = *live & lane_not(stops);
    }
}

/* LANE_GROUPS groups of lanes, step by step in turns. */
LANE_FN void kernel_integrate(const shoal_kernel_args *k, const lane_id *id, const mask *there)
{
    const int n = BODIES(k), compensated = COMPENSATED(k), watched = MONITORS(k);
    real m[LANE_GROUPS][n], s[LANE_GROUPS][PROPAGATOR_SLOTS(1) * n], before[LANE_GROUPS][6 * n];
    real h[LANE_GROUPS], steps[LANE_GROUPS], limit[LANE_GROUPS];
    mask live[LANE_GROUPS];
    monitor_state watch[LANE_GROUPS];
    bool go_on = false;
    LANE_UNROLL
    for (int g = 0; g < LANE_GROUPS; g++) {
        system_load(k, n, compensated, id[g], m[g], s[g]);
        h[g] = record_load(k, id[g], SHOAL_SYS_DT);
        steps[g] = record_load(k, id[g], SHOAL_SYS_STEP);
        limit[g] = lane_min(record_load(k, id[g], SHOAL_SYS_TARGET), steps[g] + k->slice_steps);
        live[g] = there[g] & (record_load(k, id[g], SHOAL_SYS_OUTCOME) == lane_set(SHOAL_RUNNING)) & (steps[g] < limit[g]);
        go_on = go_on || lane_any(live[g]);
        if (watched)
            monitors_load(k, id[g], &watch[g]);
        if (watched & MONITORS_OF_PAIRS)
            propagator_view(n, m[g], s[g], before[g]);
    }
    LANE_KEEP_ROLLED
    while (go_on) {
        go_on = false;
        bool quiet = true;
        LANE_KEEP_ROLLED
        while (quiet) {
            LANE_UNROLL
            for (int g = 0; g < LANE_GROUPS; g++) {
                step(k, compensated, m[g], s[g], h[g]);
                steps[g] = steps[g] + 1.0;
            }
            LANE_UNROLL
            for (int g = 0; g < LANE_GROUPS; g++)
                quiet = quiet && !lane_any_beside(live[g] & wants_a_look(k, s[g], steps[g], limit[g]));
        }
        LANE_UNROLL
        for (int g = 0; g < LANE_GROUPS; g++) {
            check_step(k, compensated, id[g], m[g], s[g], h[g], steps[g], limit[g], before[g], &watch[g], &live[g]);
            go_on = go_on || lane_any(live[g]);
        }
    }
}

/* The barycentric state after a partial step of SHOAL_SYS_PARTIAL (0: the state itself), to k->snapshot. */
LANE_FN void snapshot_lanes(const shoal_kernel_args *k, lane_id id, mask there)
{
    const int n = BODIES(k);
    real m[n], w[6 * n], s[PROPAGATOR_SLOTS(1) * n], copy[PROPAGATOR_SLOTS(1) * n];
    system_load(k, n, 1, id, m, s);
    const real h = record_load(k, id, SHOAL_SYS_PARTIAL);
    const mask moves = h != lane_set(0.0);
    if (lane_any(moves)) {
        for (int c = 0; c < PROPAGATOR_SLOTS(1) * n; c++)
            copy[c] = s[c];
        step_compensated(k, m, copy, h);
        for (int c = 0; c < PROPAGATOR_SLOTS(1) * n; c++)
            s[c] = lane_select(moves, copy[c], s[c]);
    }
    propagator_view(n, m, s, w);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 6; c++)
            lane_store(k->snapshot, id, i * 6 + c, 6 * n, there, w[c * n + i]);
}

LANE_FN void kernel_prepare(const shoal_kernel_args *k, const lane_id *id, const mask *there)
{
    for (int g = 0; g < LANE_GROUPS; g++)
        prepare_lanes(k, id[g], there[g]);
}

LANE_FN void kernel_snapshot(const shoal_kernel_args *k, const lane_id *id, const mask *there)
{
    for (int g = 0; g < LANE_GROUPS; g++)
        snapshot_lanes(k, id[g], there[g]);
}

/* k->slice_steps steps and nothing else. */
LANE_FN void kernel_bare(const shoal_kernel_args *k, const lane_id *id, const mask *there)
{
    const int n = BODIES(k), compensated = COMPENSATED(k);
    real m[LANE_GROUPS][n], s[LANE_GROUPS][PROPAGATOR_SLOTS(1) * n], h[LANE_GROUPS];
    LANE_UNROLL
    for (int g = 0; g < LANE_GROUPS; g++) {
        system_load(k, n, compensated, id[g], m[g], s[g]);
        h[g] = record_load(k, id[g], SHOAL_SYS_DT);
    }
    LANE_KEEP_ROLLED
    for (long long i = (long long)k->slice_steps; i > 0; i--) {
        LANE_UNROLL
        for (int g = 0; g < LANE_GROUPS; g++)
            step(k, compensated, m[g], s[g], h[g]);
    }
    LANE_UNROLL
    for (int g = 0; g < LANE_GROUPS; g++)
        system_store(k, n, compensated, id[g], there[g], s[g]);
}

#endif
