/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * stop_on_ejection.kern.h: ends a system when a body has left it: farther than r_max from the barycentre of the rest,
 * moving outwards, and (criterion = energy) unbound relative to the barycentre and the total mass of the rest, or what
 * of it pulls at the body (pulling_mass).
 *
 * In barycentric coordinates the rest of body i has its barycentre at -m_i r_i / (M - m_i), so that the relative
 * position is r_i M / (M - m_i), and so the velocity. A body that holds at most half of the mass is thus at most twice
 * as far from the rest as from the barycentre; and where a heavier one is far from the rest, some other body is too. So
 * nobody can be gone while all are within r_max / 2 of the barycentre, and the monitor sleeps.
 *
 * Two bodies leave each other at the same moment, and a star is far from the barycentre of its planets when one of them
 * is: of a body that holds more than half of the mass we say that the others leave it.
 *
 * With action = remove the body is marked instead.
 */
enum { EJECTION_R_MAX, EJECTION_CRITERION, EJECTION_ACTION, stop_on_ejection_PARAMETERS };
enum { stop_on_ejection_SLOTS = 0 };

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"
#include "monitors/pair.kern.h"

/* It has nothing to see while no body is farther than this from the barycentre. */
LANE_FN double stop_on_ejection_sleeps(const shoal_kernel_args *k)
{
    return 0.5 * k->monitor[SHOAL_MONITOR_stop_on_ejection][EJECTION_R_MAX];
}

LANE_FN void stop_on_ejection_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const double *p = k->monitor[SHOAL_MONITOR_stop_on_ejection];
    const int n = view->n;
    const real *w = view->after;
    const real r_max2 = lane_set(p[EJECTION_R_MAX] * p[EJECTION_R_MAX]);
    (void)slots;
    if (!lane_any(lane_beyond(3, n, w, stop_on_ejection_sleeps(k))))
        return;
    real M = lane_set(0.0);
    for (int i = n - 1; i >= 0; i--)
        M = M + view->m[i];
    for (int i = 0; i < n; i++) {
        real rest = M - view->m[i], scale = M / rest;
        real r2 = pair_dot(w[i], w[n + i], w[2 * n + i], w[i], w[n + i], w[2 * n + i]) * scale * scale;
        real v2 = pair_dot(w[3 * n + i], w[4 * n + i], w[5 * n + i], w[3 * n + i], w[4 * n + i], w[5 * n + i]) * scale *
                  scale;
        real rv = pair_dot(w[i], w[n + i], w[2 * n + i], w[3 * n + i], w[4 * n + i], w[5 * n + i]) * scale * scale *
                  view->h;
        mask gone = (r2 > r_max2) & (rv > lane_set(0.0)) & is_there(view->m[i]) & (view->m[i] <= rest);
        if (p[EJECTION_CRITERION] == 0.0) /* v^2/2 > M / r: the two-body energy of body and rest is positive */
            gone = gone & (0.5 * v2 * lane_sqrt(r2) > pulling_mass(k, view->m, i, M));
        /* when it passed r_max: back along the tangent, |x - tau h v| = r_max; if it was outside before, the end of
         * the step */
        real speed2 = v2 * view->h * view->h, excess = r2 - r_max2;
        real tau = excess / (rv + lane_sqrt(lane_max(lane_fma(rv, rv, -(speed2 * excess)), lane_set(0.0))));
        const real fraction = lane_select(tau < lane_set(1.0), 1.0 - tau, lane_set(1.0));
        if (p[EJECTION_ACTION] != 0.0)
            event_mark(k, view, gone & view->whole, fraction, i, i, event);
        else
            event_offer(event, gone, fraction, lane_set(SHOAL_EJECTED), lane_set((double)i), lane_set(-1.0));
    }
}

#endif
