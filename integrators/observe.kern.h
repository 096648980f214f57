/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * observe.kern.h: systems go through a list of times (k->sights) by themselves, and at each of them some of their
 * coordinates are kept. The states are those of snapshots: made on a copy, so that the trajectory does not change. The
 * arithmetic of times is that of core/plan/clock.c and states.c, and gives the same bits.
 *
 *     observe_aim    where a system waits for a time: SHOAL_SYS_TARGET
 *     observe_waits  whether it is there
 *     observe_see    what is seen of it there. Of a system that has ended, or a body that is not there: NaN; where the
 *                    time is not within the next step: infinity
 */
#ifndef SHOAL_OBSERVE_KERN_H
#define SHOAL_OBSERVE_KERN_H

#include "integrators/integrate.kern.h"

/* A time and where the system is by its record. */
typedef struct lane_sight {
    real time, start, dt;
    real whole; /* steps that differ by so little are one */
} lane_sight;

LANE_FN lane_sight sight_of(const shoal_kernel_args *k, lane_id id, long long stop)
{
    lane_sight sight;
    sight.time = lane_set(k->sights.times[stop]);
    sight.start = record_load(k, id, SHOAL_SYS_T_START);
    sight.dt = record_load(k, id, SHOAL_SYS_DT);
    sight.whole = lane_max(lane_set(1e-9),
                           0x1p-49 * lane_max(lane_abs(sight.start), lane_abs(sight.time)) / lane_abs(sight.dt));
    return sight;
}

/* Where a system waits for a time: a number of steps, or an elapsed time. */
LANE_FN real sight_target(const shoal_kernel_args *k, lane_id id, const lane_sight *sight)
{
    const real since = sight->time - sight->start;
#if PROPAGATOR_ADAPTIVE
    const real progress = lane_select(sight->dt < lane_set(0.0), -since, since);
#else
    const real progress = lane_floor(since / sight->dt + sight->whole);
#endif
    return lane_min(progress, record_load(k, id, SHOAL_SYS_END));
}

LANE_FN void observe_aim(const shoal_kernel_args *k, lane_id id, mask there, long long stop)
{
    const lane_sight sight = sight_of(k, id, stop);
    record_store(k, id, SHOAL_SYS_TARGET, there, sight_target(k, id, &sight));
}

/* Whether all of the systems wait for a time where they are. */
LANE_FN bool observe_waits(const shoal_kernel_args *k, lane_id id, mask there, long long stop)
{
    const lane_sight sight = sight_of(k, id, stop);
#if PROPAGATOR_ADAPTIVE
    const real next = record_load(k, id, SHOAL_SYS_ELAPSED) + lane_abs(sight.dt);
#else
    const real next = record_load(k, id, SHOAL_SYS_STEP) + 1.0;
#endif
    return !lane_any(there & (next <= sight_target(k, id, &sight)) &
                     (record_load(k, id, SHOAL_SYS_OUTCOME) == lane_set(SHOAL_RUNNING)));
}

/* What is left of the time to a sight, after the last step before it. */
LANE_FN real sight_left(const shoal_kernel_args *k, lane_id id, const lane_sight *sight)
{
#if PROPAGATOR_ADAPTIVE
    const mask back = sight->dt < lane_set(0.0);
    const real since = sight->time - sight->start;
    const real left = (lane_select(back, -since, since) - record_load(k, id, SHOAL_SYS_ELAPSED)) +
                      record_load(k, id, SHOAL_SYS_ELAPSED_ERROR);
    return lane_select(back, -left, left);
#else
    return sight->time - (sight->start + record_load(k, id, SHOAL_SYS_STEP) * sight->dt);
#endif
}

/* What is seen at the times first..last-1, for which the systems wait. */
LANE_FN void observe_see(const shoal_kernel_args *k, lane_id id, mask there, long long first, long long last)
{
    const int n = BODIES(k), bodies = real_bodies(k, n), n_what = k->sights.n_what,
              n_rows = (int)k->sights.n_times * n_what;
    const real zero = lane_set(0.0), nan = zero / zero;
    const mask runs = record_load(k, id, SHOAL_SYS_OUTCOME) == lane_set(SHOAL_RUNNING);
    real m[n], w[6 * n], s[STATE_SIZE(n)], there_s[STATE_SIZE(n)];
    system_load(k, n, 1, id, m, s);
    LANE_KEEP_ROLLED
    for (long long stop = first; stop < last; stop++) {
        const lane_sight sight = sight_of(k, id, stop);
        const real left = sight_left(k, id, &sight), steps = left / sight.dt;
        const mask here = (steps >= -sight.whole) & (steps <= (PROPAGATOR_ADAPTIVE ? zero : sight.whole)),
                   lost = lane_not(here) & ((steps < zero) | (steps > 1.0 + sight.whole));
        for (int c = 0; c < STATE_SIZE(n); c++)
            there_s[c] = s[c];
        advance_copy(k, id, m, there_s, lane_select(here | lost | lane_not(runs), zero, left));
        system_view(k, m, there_s, w);
        for (int i = 0; i < n_what; i++) {
            const int body = k->sights.what[i] / 6, component = k->sights.what[i] % 6;
            real seen = lane_select(is_there(mass_load(k, n, id, body)), w[component * bodies + body], nan);
            seen = lane_select(runs, lane_select(lost, 1.0 / zero, seen), nan);
            lane_store(k->sights.seen, id, (int)stop * n_what + i, n_rows, there, seen);
        }
    }
}

#endif
