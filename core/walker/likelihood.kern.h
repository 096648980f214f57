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
 * A transit that is not there adds set->missing in the place of its term. Walkers without a system, or whose system ended
 * on the way, have ln L = -infinity.
 */
#ifndef SHOAL_WALKER_LIKELIHOOD_KERN_H
#define SHOAL_WALKER_LIKELIHOOD_KERN_H

#include "core/walker/bodies.kern.h"

/* ln 2 pi */
#define WALKER_LOG_2PI 0x1.d67f1c864beb5p+0

/* What was seen of a datum, in inner units; NaN: nothing. */
LANE_FN real walker_seen(const shoal_walk *walk, const shoal_walker_set *set, const shoal_datum *datum, lane_id id)
{
    const shoal_sights *leg = &walk->leg[datum->leg];
    return set->met < 0 ? lane_load(leg->seen, id, datum->row, (int)leg->n_times * leg->n_what)
                        : lane_load(leg->met, id, datum->row * leg->n_met + set->met, leg->n_rows * leg->n_met);
}

/* What a set adds to what is seen: offset + trend (t - epoch) + curvature (t - epoch)^2. */
typedef struct walker_drift {
    real offset, trend, curvature;
} walker_drift;

LANE_FN real walker_model(const shoal_walker_set *set, const walker_drift *drift, const shoal_datum *datum, real seen)
{
    const real t = lane_set(datum->time - set->epoch);
    return lane_fma(seen, lane_set(set->factor),
                    lane_fma(t, lane_fma(t, drift->curvature, drift->trend), drift->offset));
}

LANE_FN real walker_set_likelihood(const shoal_walk *walk, const shoal_walker_set *set, lane_id id, mask there)
{
    const real zero = lane_set(0.0), jitter = walker_number(walk, &set->jitter, id), more = jitter * jitter;
    walker_drift drift = {walker_number(walk, &set->offset, id), walker_number(walk, &set->trend, id),
                          walker_number(walk, &set->curvature, id)};
    const long long last = set->first + set->n;
    real sum = zero, weights = zero, first = zero, logs = zero, missing = zero;
    for (long long j = set->first; j < last; j++) {
        const shoal_datum *datum = &walk->data[j];
        const real seen = walker_seen(walk, set, datum, id), s2 = lane_set(datum->error * datum->error) + more;
        const mask is = seen == seen;
        const real weight = lane_select(is, 1.0 / s2, zero),
                   r = lane_select(is, datum->value - walker_model(set, &drift, datum, seen), zero);
        sum = lane_fma(r * r, weight, sum);
        first = lane_fma(r, weight, first);
        weights = weights + weight;
        logs = logs + lane_select(is, lane_log(s2) + WALKER_LOG_2PI, zero);
        missing = missing + lane_select(is, zero, lane_set(set->missing));
    }
    real lnl = missing - 0.5 * (sum + logs);
    if (set->marginal) {
        drift.offset = first / weights;
        lnl = lnl + 0.5 * (first * drift.offset + (WALKER_LOG_2PI - lane_log(weights)));
    }
    for (long long j = set->first; walk->predicted && j < last; j++)
        lane_store_row(walk->predicted, id, (int)walk->n_data, (int)j, there,
                       walker_model(set, &drift, &walk->data[j], walker_seen(walk, set, &walk->data[j], id)));
    return lnl;
}

LANE_FN void kernel_walker_end(const shoal_kernel_args *k, const lane_id *lane, const mask *walks)
{
    const lane_id id = *lane;
    const mask there = *walks;
    const shoal_walk *walk = k->walk;
    const real zero = lane_set(0.0), none = -1.0 / zero;
    real lnl = lane_select(walker_ended(k, id), none, lane_load_row(walk->lnl, id, 1, 0));
    LANE_KEEP_ROLLED
    for (int i = 0; i < walk->n_sets; i++)
        lnl = lnl + walker_set_likelihood(walk, &walk->sets[i], id, there);
    lnl = lane_select(lane_abs(lnl) < lane_set(1e300), lnl, none);
    lane_store_row(walk->lnl, id, 1, 0, there, lnl);
}

#endif
