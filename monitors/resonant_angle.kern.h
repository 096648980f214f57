/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * resonant_angle.kern.h: whether a resonant angle librates, and about what,
 *
 *     phi = sum_k p_k lambda_k + q_k varpi_k,    k = 1..3,    sum p_k + q_k = 0
 *
 * with the mean longitude lambda and the longitude of pericentre varpi = Omega + omega (orbit.kern.h).
 *
 * phi is followed from look to look by the turn that is less than half of one: there have to be more than two looks in
 * each period of phi. A look at which one of the bodies is unbound is left out. Of bodies one of which is gone there is
 * none.
 */
enum {
    RESONANT_BODY, /* three each of these */
    RESONANT_P = 3,
    RESONANT_Q = 6,
    RESONANT_ELEMENTS = 9,
    RESONANT_EVERY,
    resonant_angle_PARAMETERS
};
/* slots: steps left until the next look, phi, the least and the largest one, the integral of phi over time since the
 * first look, the times of the first look and of the last */
enum {
    RESONANT_LEFT,
    RESONANT_PHI,
    RESONANT_LEAST,
    RESONANT_LARGEST,
    RESONANT_INTEGRAL,
    RESONANT_FROM,
    RESONANT_TO,
    resonant_angle_SLOTS
};

enum { resonant_angle_LEFT = RESONANT_LEFT };

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"
#include "monitors/orbit.kern.h"

/* p lambda + q varpi. */
LANE_FN real resonant_term(lane_pair motion, real mu, lane_orbit orbit, double p, double q)
{
    const lane_longitude o = orbit_longitude(motion, mu, orbit);
    return p * orbit_mean_longitude(o) + q * lane_atan2(o.h, o.k);
}

LANE_FN void resonant_angle_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const double *p = k->monitor[SHOAL_MONITOR_resonant_angle];
    const int n = view->n;
    const real *m = view->m, *w = view->after;
    const real zero = lane_set(0.0), one = lane_set(1.0);
    const mask look = monitor_due(view, p[RESONANT_EVERY], &slots[RESONANT_LEFT]);
    mask due = look, gone = zero != zero;
    real angle = zero;
    (void)event;
    if (!lane_any(look))
        return;
    orbit_focus focus = orbit_first_focus(n, m, w);
    LANE_KEEP_ROLLED
    for (int i = 1; i < n; i++) {
        real mu;
        const lane_pair motion = orbit_motion(k, n, m, w, i, (int)p[RESONANT_ELEMENTS], &focus, &mu);
        double of_lambda = 0.0, of_varpi = 0.0;
        for (int term = 0; term < 3; term++) {
            of_lambda += (int)p[RESONANT_BODY + term] == i ? p[RESONANT_P + term] : 0.0;
            of_varpi += (int)p[RESONANT_BODY + term] == i ? p[RESONANT_Q + term] : 0.0;
        }
        if (of_lambda == 0.0 && of_varpi == 0.0)
            continue;
        const lane_orbit orbit = orbit_elements(motion, mu);
        gone = gone | (look & lane_not(is_there(m[i])));
        due = due & (orbit.inverse_a > zero);
        angle = angle + resonant_term(motion, mu, orbit, of_lambda, of_varpi);
    }
    due = due & lane_not(gone);
    const mask begun = slots[RESONANT_FROM] == slots[RESONANT_FROM];
    const double turn = 0x1.921fb54442d18p+2;
    const real before = slots[RESONANT_PHI], since = lane_select(begun, before, lane_set(0.0)),
               difference = angle - since;
    const real turns = (difference * (1.0 / turn) + 0x1.8p52) - 0x1.8p52; /* rounded */
    angle = since + lane_fma(turns, lane_set(-turn), difference);
    slots[RESONANT_PHI] = lane_select(due, angle, slots[RESONANT_PHI]);
    slots[RESONANT_LEAST] = lane_select(due, lane_min(angle, slots[RESONANT_LEAST]), slots[RESONANT_LEAST]);
    slots[RESONANT_LARGEST] = lane_select(due, lane_max(angle, slots[RESONANT_LARGEST]), slots[RESONANT_LARGEST]);
    slots[RESONANT_INTEGRAL] = lane_select(
        due & begun, lane_fma(0.5 * (before + angle), view->time - slots[RESONANT_TO], slots[RESONANT_INTEGRAL]),
        slots[RESONANT_INTEGRAL]);
    slots[RESONANT_FROM] = lane_select(due & lane_not(begun), view->time, slots[RESONANT_FROM]);
    slots[RESONANT_TO] = lane_select(due, view->time, slots[RESONANT_TO]);
    slots[RESONANT_LARGEST] = lane_select(gone, -one / zero, slots[RESONANT_LARGEST]);
}

#endif
