/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * likelihood.kern.h: from what is seen of a walker to ln L, the natural logarithm with its constants:
 *
 *     ln L = sum over data of  -(value - model)^2 / (2 s^2) - ln(2 pi s^2) / 2,   s^2 = error^2 + jitter^2
 *     model = seen + offset + trend (t - epoch) + curvature (t - epoch)^2
 *
 * With an offset that is integrated over, of a flat prior density of 1 (Luger et al. 2017,
 * doi:10.3847/2515-5172/aa96b5, for a general linear model), a set adds
 * (sum r/s^2)^2 / (2 sum 1/s^2) + ln(2 pi / sum 1/s^2) / 2,  where r is the residual without an offset.
 *
 * Walkers without a system, or whose system ended on the way, have ln L = -infinity.
 */
#ifndef SHOAL_WALKER_LIKELIHOOD_KERN_H
#define SHOAL_WALKER_LIKELIHOOD_KERN_H

#include "core/walker/bodies.kern.h"

/* ln 2 pi */
#define WALKER_LOG_2PI 0x1.d67f1c864beb5p+0

LANE_FN real walker_set_likelihood(const shoal_walk *walk, const shoal_walker_set *set, lane_id id)
{
    const real zero = lane_set(0.0), jitter = walker_number(walk, &set->jitter, id),
               offset = walker_number(walk, &set->offset, id), trend = walker_number(walk, &set->trend, id),
               curvature = walker_number(walk, &set->curvature, id), more = jitter * jitter;
    real sum = zero, weights = zero, first = zero, logs = zero;
    for (long long j = set->first; j < set->first + set->n; j++) {
        const shoal_datum *datum = &walk->data[j];
        const shoal_sights *leg = &walk->leg[datum->leg];
        const real seen = lane_load(leg->seen, id, datum->row, (int)leg->n_times * leg->n_what);
        const real t = lane_set(datum->time - set->epoch);
        const real s2 = lane_set(datum->error * datum->error) + more, weight = 1.0 / s2;
        const real r = datum->value -
                       lane_fma(seen, lane_set(set->factor), lane_fma(t, lane_fma(t, curvature, trend), offset));
        sum = lane_fma(r * r, weight, sum);
        first = lane_fma(r, weight, first);
        weights = weights + weight;
        logs = logs + lane_log(s2);
    }
    real lnl = -0.5 * (sum + logs + (double)set->n * WALKER_LOG_2PI);
    if (set->marginal)
        lnl = lnl + 0.5 * (first * first / weights + (WALKER_LOG_2PI - lane_log(weights)));
    return lnl;
}

LANE_FN void kernel_walker_end(const shoal_kernel_args *k, const lane_id *lane, const mask *walks)
{
    const lane_id id = *lane;
    const mask there = *walks;
    const shoal_walk *walk = k->walk;
    const real zero = lane_set(0.0);
    real lnl = zero;
    LANE_KEEP_ROLLED
    for (int i = 0; i < walk->n_sets; i++)
        lnl = lnl + walker_set_likelihood(walk, &walk->sets[i], id);
    lnl = lane_select(lane_abs(lnl) < lane_set(1e300), lnl, -1.0 / zero);
    lane_store_row(walk->lnl, id, 1, 0, there, lnl);
}

#endif
