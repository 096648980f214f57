/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mean_motion_drift.kern.h: the drift of a body's mean motion between the two halves of the run, a chaos indicator
 * (after Laskar 1990, Icarus 88, 266, where the frequency itself is analysed): the osculating Jacobi mean motion
 * sqrt(mu / a^3), averaged over each half with the weight (u (1 - u))^2, u = 0..1 in the half, which suppresses
 * periodic terms as the inverse cube of (half / period), times the length of the step. Only every so-many-th step is
 * looked at.
 */
enum { DRIFT_BODY, DRIFT_EVERY, mean_motion_drift_PARAMETERS };
/* slots: sums of weights and of weighted mean motions of the first half and of the second; steps left until the next
 * look */
enum { DRIFT_WEIGHT_1, DRIFT_MOTION_1, DRIFT_WEIGHT_2, DRIFT_MOTION_2, DRIFT_LEFT, mean_motion_drift_SLOTS };

enum { mean_motion_drift_LEFT = DRIFT_LEFT };

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"
#include "monitors/pair.kern.h"

LANE_FN void mean_motion_drift_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const int n = view->n, body = (int)k->monitor[SHOAL_MONITOR_mean_motion_drift][DRIFT_BODY];
    const real *m = view->m, *w = view->after;
    const real zero = lane_set(0.0), one = lane_set(1.0);
    real mass = zero, centre[6], own[6], mu = zero;
    (void)event;
    const mask due = monitor_due(view, k->monitor[SHOAL_MONITOR_mean_motion_drift][DRIFT_EVERY], &slots[DRIFT_LEFT]) &
                     is_there(view->m[body]);
    if (!lane_any(due))
        return;
    LANE_UNROLL_BODIES
    for (int c = 0; c < 6; c++)
        centre[c] = own[c] = zero;
    LANE_UNROLL_BODIES
    for (int i = 0; i < n; i++) {
        if (i < body) {
            mass = mass + m[i];
            LANE_UNROLL_BODIES
            for (int c = 0; c < 6; c++)
                centre[c] = lane_fma(m[i], w[c * n + i], centre[c]);
        } else if (i == body) {
            mu = pulling_mass(k, m, i, mass + m[i]);
            LANE_UNROLL_BODIES
            for (int c = 0; c < 6; c++)
                own[c] = w[c * n + i];
        }
    }
    const real share = one / mass;
    LANE_UNROLL_BODIES
    for (int c = 0; c < 6; c++)
        own[c] = lane_fma(-centre[c], share, own[c]);
    real r2 = pair_dot(own[0], own[1], own[2], own[0], own[1], own[2]);
    real v2 = pair_dot(own[3], own[4], own[5], own[3], own[4], own[5]);
    real q = lane_max(lane_fma(2.0 * mu, lane_rsqrt(r2), -v2), zero); /* mu / a; an unbound body has mean motion 0 */
    real motion = q * lane_sqrt(q) / mu;

    real u = 2.0 * view->phase;
    mask second = u > one;
    u = lane_select(second, u - 1.0, u);
    real weight = u * (1.0 - u);
    weight = lane_select(due, weight * weight * lane_abs(view->h), zero);
    real first_weight = lane_select(second, zero, weight), second_weight = lane_select(second, weight, zero);
    slots[DRIFT_WEIGHT_1] = slots[DRIFT_WEIGHT_1] + first_weight;
    slots[DRIFT_MOTION_1] = lane_fma(first_weight, motion, slots[DRIFT_MOTION_1]);
    slots[DRIFT_WEIGHT_2] = slots[DRIFT_WEIGHT_2] + second_weight;
    slots[DRIFT_MOTION_2] = lane_fma(second_weight, motion, slots[DRIFT_MOTION_2]);
}

#endif
