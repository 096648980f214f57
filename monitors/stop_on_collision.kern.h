/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * stop_on_collision.kern.h: ends a system when two bodies touch within the step: distance below the sum of their radii. With
 * body 0 the outcome is hit_star. Pairs without a radius are not looked at.
 */
enum { stop_on_collision_SLOTS = 0, COLLISION_FACTOR = 0 };

LANE_FN void stop_on_collision_observe(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const double factor = k->monitor[SHOAL_MONITOR_stop_on_collision][COLLISION_FACTOR];
    const int n = view->n;
    (void)slots;
    real radius[LANE_ROOM(n)];
    LANE_UNROLL_FEW
    for (int i = 0; i < n; i++)
        radius[i] = factor * lane_load(k->bodies, view->id, i * SHOAL_QUANTITIES + SHOAL_R, n * SHOAL_QUANTITIES);
    LANE_UNROLL_FEW
    for (int i = 0; i < n; i++) {
        LANE_UNROLL_FEW
        for (int j = 1; j < n; j++) {
            if (j <= i)
                continue;
            real reach = radius[i] + radius[j];
            lane_pair now = pair_relative(n, view->after, i, j);
            mask there = (lane_set((double)j) < view->n_live) & (reach > lane_set(0.0));
            mask suspect = there & pair_suspect(now, view->h, reach * reach);
            if (lane_any(suspect)) {
                pair_approach near = pair_reached(pair_relative(n, view->before, i, j), now, view->h, reach * reach);
                event_offer(event, suspect & near.reached, near.fraction, lane_set(i == 0 ? SHOAL_HIT_STAR : SHOAL_COLLIDED), lane_set((double)i), lane_set((double)j));
            }
        }
    }
}
