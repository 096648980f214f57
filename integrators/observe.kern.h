/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * observe.kern.h: a part of integrate.kern.h. Systems go through a list of times (k->sights) by themselves, without a
 * stop of the loop, and at each of them some of their coordinates are kept. The states are those of snapshots: made on
 * a copy, so that the trajectory does not change. The arithmetic of times is that of core/plan/clock.c and states.c,
 * and gives the same bits.
 *
 * What is seen of a system that has ended, or of a body that is not there: NaN. Where a time is not within the step
 * that begins there: infinity.
 */

/* A time, from where a system is. */
typedef struct lane_sight {
    real time, start, dt;
    real whole; /* steps that differ by so little are one */
} lane_sight;

LANE_FN lane_sight sight_of(const shoal_kernel_args *k, lane_id id, real dt, long long stop)
{
    lane_sight sight;
    sight.time = lane_set(k->sights.times[stop]);
    sight.start = record_load(k, id, SHOAL_SYS_T_START);
    sight.dt = dt;
    sight.whole = lane_max(lane_set(1e-9),
                           0x1p-49 * lane_max(lane_abs(sight.start), lane_abs(sight.time)) / lane_abs(sight.dt));
    return sight;
}

/* Where a system waits for a time: a number of steps, or an elapsed time. */
LANE_FN real sight_target(const lane_clock *clock, const lane_sight *sight)
{
    const real since = sight->time - sight->start;
#if PROPAGATOR_ADAPTIVE
    const real progress = lane_select(sight->dt < lane_set(0.0), -since, since);
#else
    const real progress = lane_floor(since / sight->dt + sight->whole);
#endif
    return lane_min(progress, clock->end);
}

/* What is left of the time to a sight, after the last step before it. */
LANE_FN real sight_left(const lane_clock *clock, const lane_sight *sight)
{
#if PROPAGATOR_ADAPTIVE
    const mask back = sight->dt < lane_set(0.0);
    const real since = sight->time - sight->start;
    const real left = (lane_select(back, -since, since) - clock->elapsed) + clock->error;
    return lane_select(back, -left, left);
#else
    return sight->time - (sight->start + clock->steps * sight->dt);
#endif
}

/* Keep what is seen at a time, in the lanes that wait for it; s: their state, or 0 where they have ended. */
LANE_FN void sight_keep(const shoal_kernel_args *k, lane_id id, const real *m, const real *s, const lane_clock *clock,
                        mask where, long long stop)
{
    const int n = BODIES(k), bodies = system_bodies(k, n), n_what = k->sights.n_what,
              n_rows = (int)k->sights.n_times * n_what;
    const real zero = lane_set(0.0), nan = zero / zero;
    const lane_sight sight = sight_of(k, id, clock->h, stop);
    const real left = sight_left(clock, &sight), steps = left / sight.dt;
    const mask here = (steps >= -sight.whole) & (steps <= (PROPAGATOR_ADAPTIVE ? zero : sight.whole)),
               lost = lane_not(here) & ((steps < zero) | (steps > 1.0 + sight.whole));
    real own[6 * n], there[STATE_SIZE(n)];
    state_copy(k, s, there);
    advance_copy(k, m, there, lane_select(lane_not(where) | here | lost, zero, left), clock->h);
    system_view(k, m, there, own);
    const real *w = view_whole(n, own);
    for (int i = 0; i < n_what; i++) {
        const int body = k->sights.what[i] / 6, component = k->sights.what[i] % 6;
        const real mass = lane_load(k->bodies, id, body * SHOAL_QUANTITIES + SHOAL_M, bodies * SHOAL_QUANTITIES),
                   seen = lane_select(is_there(mass), w[component * bodies + body], nan);
        lane_store(k->sights.seen, id, (int)stop * n_what + i, n_rows, team_speaks(where, 1),
                   lane_select(lost, 1.0 / zero, seen));
    }
}

/* Nothing is seen of these lanes from their next sights on. */
LANE_FN void sights_end(const shoal_kernel_args *k, lane_id id, mask where, const real *next)
{
    const int n_what = k->sights.n_what, n_rows = (int)k->sights.n_times * n_what;
    const real zero = lane_set(0.0);
    LANE_KEEP_ROLLED
    for (int row = (int)lane_least(where, *next) * n_what; row < n_rows && lane_any(where); row++)
        lane_store(k->sights.seen, id, row, n_rows, team_speaks(where & (lane_set(row) >= *next * (double)n_what), 1),
                   zero / zero);
}

/* The lanes `due` are where they wait for the sight *next, a number, and perhaps for later ones. Returns those that
 * have seen all. Of the lanes `hit` nothing is seen any more. */
/* long: the state of a lane, as in watch_step */
LANE_BIG_FN mask sights_see(const shoal_kernel_args *k, lane_id id, const real *m, const real *s, lane_clock *clock,
                            mask hit, mask due, real *next)
{
    const real n_times = lane_set((double)k->sights.n_times);
    mask waits = due & lane_not(hit);
    if (lane_any(hit))
        sights_end(k, id, hit, next);
    LANE_KEEP_ROLLED
    while (team_goes_on(waits)) {
        long long stop = (long long)lane_least(waits, *next);
        stop = stop < k->sights.n_times ? stop : k->sights.n_times - 1; /* of teams that do not wait */
        const mask at = waits & (*next == lane_set((double)stop));
        sight_keep(k, id, m, s, clock, at, stop);
        *next = lane_select(at, *next + 1.0, *next);
        if (stop + 1 < k->sights.n_times) {
            const lane_sight sight = sight_of(k, id, clock->h, stop + 1);
            clock_aim(k, clock, at, sight_target(clock, &sight));
        }
        waits = waits & (*next < n_times) & clock_due(clock);
    }
    return due & (hit | (*next >= n_times));
}

/* Lanes begin; returns those that have seen all. */
/* long: as sights_see */
LANE_FN mask sights_begin(const shoal_kernel_args *k, lane_id id, const real *m, const real *s, lane_clock *clock,
                          mask there, mask live, real *next)
{
    const lane_sight sight = sight_of(k, id, clock->h, 0);
    *next = lane_set(0.0);
    clock_aim(k, clock, live, sight_target(clock, &sight));
    return sights_see(k, id, m, s, clock, there & lane_not(live), there & (lane_not(live) | clock_due(clock)), next);
}
