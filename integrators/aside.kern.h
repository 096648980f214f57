/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * aside.kern.h: a GPU's kernels of propagators that set systems aside (PROPAGATOR_SETS_ASIDE); `carry` is of all.
 *
 * A step with a close encounter is made of substeps and takes some hundred times as long as another one. The threads of
 * a warp wait for each other, so kernel_integrate leaves such a step undone and puts its system into a queue: the
 * system is set aside. Beside it kernel_substeps takes systems from the queue and makes their steps until one needs no
 * substeps. Then the system is kernel_integrate's again.
 *
 *     gather    lists the systems that kernel_integrate goes on with in the next round
 *     substeps  makes the steps of systems that are set aside
 *     carry     copies states to the table, for systems that are the host's (core/engine/hosted.c), or back
 *
 * Whose a system is, its outcome says: SHOAL_RUNNING of kernel_integrate, SHOAL_ASIDE of kernel_substeps, SHOAL_HOSTED
 * of the host. The outcome is stored after all else of the system, and loaded before.
 */
#ifndef SHOAL_ASIDE_KERN_H
#define SHOAL_ASIDE_KERN_H

#include "core/kernel/queue.kern.h"
#include "integrators/integrate.kern.h"

/* A system's state to its column of k->aside.table, or back. */
LANE_FN void kernel_carry(const shoal_kernel_args *k, lane_id id, long long place, int back)
{
    double *const arrays[] = {k->systems, k->native, k->watch}, *column = k->aside.table + place;
    const int n_slots[] = {SHOAL_SYS_FIELDS, system_slots(BODIES(k)), k->n_watch};
    LANE_KEEP_ROLLED
    for (int a = 0; a < 3; a++) {
        LANE_KEEP_ROLLED
        for (int slot = 0; slot < n_slots[a]; slot++, column += k->aside.n_columns) {
            double *value = &arrays[a][SHOAL_AT(id, slot, n_slots[a])];
            *(back ? value : column) = *(back ? column : value);
        }
    }
}

#if PROPAGATOR_SETS_ASIDE

/* The systems that go on in the next round, side by side: none that is set aside or has arrived has a lane. */
LANE_FN void kernel_gather(const shoal_kernel_args *k, const lane_id *id, const mask *there)
{
    lane_clock clock;
    const mask runs = *there & (record_load(k, *id, SHOAL_SYS_OUTCOME) == lane_set(SHOAL_RUNNING));
    clock_load(k, *id, lane_set(k->slice_steps), &clock);
    lane_append(k->aside.ready, k->aside.n_ready, *id, runs & lane_not(clock_due(&clock)));
}

/*
 * A lane takes a system from the queue, makes its steps, and takes the next one, until the queue is empty and all lanes
 * of the warp are through. The lanes of a warp wait for each other, so that a warp takes as many systems as it has room
 * for, or none: full warps go on, the others come to their ends. A warp that takes all leaves nobody in the queue.
 */
LANE_FN void kernel_substeps(const shoal_kernel_args *k, int lane, int takes_all)
{
    enum { FEW = 8, LATE = 8 }; /* lanes that wait; turns of a step that is too long to wait for */
    const int n = BODIES(k), compensated = COMPENSATED(k), watched = MONITORS(k), few = min(FEW, k->aside.n_beside);
    real m[n], s[STATE_SIZE(n)], before[6 * n], held[2 * HELD_SIZE(k, n)];
    lane_id id = 0;
    lane_clock clock;
    monitor_state carried;
    lane_inside within;
    lane_watch watch;
    lane_aside aside;
    mask live = false;
    int steps = 0, turns = 0;
    aside.substeps = true;
    aside.stays = k->aside.n_beside == 1;
    LANE_KEEP_ROLLED
    for (;;) {
        const int n_free = k->aside.n_beside - lane_count_together(live);
        if (n_free >= few) {
            const lane_id next = lane_pop(&k->aside.queue, lane_not(live) & (lane < k->aside.n_beside),
                                          takes_all || k->aside.drains ? 1 : n_free);
            if (next >= 0) {
                id = next;
                live = true;
                steps = turns = 0;
                lane_fence();
                system_load(k, n, compensated, id, m, s);
                clock_load(k, id, k->slice_steps, &clock);
                watch_load(k, id, m, s, before, 0, held, &within, &carried, &watch);
                clock_sleep(&clock, monitors_left(k, &carried));
                propagator_resume(k, n, m, s, &aside);
            }
            if (lane_count_together(live) == 0)
                break;
        }
        aside.wanted = live;
        const int closed = ((const volatile int *)k->aside.queue.counts)[SHOAL_QUEUE_CLOSED];
        aside.hurries = k->aside.least_visit > 0 && steps >= k->aside.least_visit && closed;
        if (live) /* else there may be nothing yet to watch */
            watch_begin(k, s, &watch);
        clock_step(k, compensated, m, s, &clock, watch.inside, &aside);
        steps += clock.made;
        if (live && wants_a_look(k, live, m, s, &clock, &watch)) {
            check_step(k, compensated, m, s, &clock, &watch, 0, &live);
            lane_fence();
            record_store(k, id, SHOAL_SYS_OUTCOME, !live & (record_load(k, id, SHOAL_SYS_OUTCOME) == SHOAL_ASIDE),
                         SHOAL_RUNNING);
        }
        const bool leaves = closed && k->aside.least_visit == 0;
        const bool asks = live && (++turns == k->aside.long_turns || (leaves && steps == 0 && turns >= LATE));
        const int column = asks ? k->aside.first_column + lane_count_up(&k->aside.queue.counts[SHOAL_QUEUE_HOSTED])
                                : k->aside.n_columns;
        const mask hosted = column < k->aside.n_columns;
        if (hosted | (live & (leaves && steps > 0))) { /* at the step's start, if one is under way */
            if (watch.inside)
                inside_forget(k, real_bodies(k, n), live, watch.inside);
            system_store(k, n, compensated, id, live, s);
            clock_store(k, id, live, &clock);
            if (monitors_wait(k) && watch.held.lanes)
                held_end(k, &watch);
            if (watched) {
                monitors_pass(k, live, clock.steps - clock.shown, &carried);
                monitors_store(k, id, live, &carried);
            }
            if (hosted) {
                kernel_carry(k, id, column, 0);
                lane_tell_host(&k->aside.arrived[column], id + 1);
            }
            lane_fence();
            record_store(k, id, SHOAL_SYS_OUTCOME, live, hosted ? SHOAL_HOSTED : SHOAL_RUNNING);
            live = false;
        }
    }
}

#endif
#endif
