/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * energy_error.kern.h: the largest relative error of the energy, max |E - E(0)| / |E(0)|, with E = sum m v^2 / 2 -
 * sum_{i<j} m_i m_j / r_ij in barycentric coordinates. The energy that mergers and removals take away is booked to
 * E(0), by the host.
 */
enum { ENERGY_ERROR_EVERY, ENERGY_ERROR_STOP_ABOVE, energy_error_PARAMETERS };
/* slots: steps left until the next look, the energy that there should be, |E(0)|, the largest |error| */
enum { ENERGY_ERROR_LEFT, ENERGY_ERROR_DUE, ENERGY_ERROR_START, ENERGY_ERROR_LARGEST, energy_error_SLOTS };

enum { energy_error_LEFT = ENERGY_ERROR_LEFT };

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"
#include "monitors/pair.kern.h"

LANE_FN void energy_error_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const double *p = k->monitor[SHOAL_MONITOR_energy_error];
    const int n = view->n;
    const real *m = view->m, *w = view->after;
    const real none = lane_set(-1.0);
    const mask due = monitor_due(view, p[ENERGY_ERROR_EVERY], &slots[ENERGY_ERROR_LEFT]);
    if (!lane_any(due))
        return;
    real energy = lane_set(0.0);
    LANE_UNROLL_PAIRS
    for (int i = n - 1; i >= 0; i--) {
        const real v2 = pair_dot(w[3 * n + i], w[4 * n + i], w[5 * n + i], w[3 * n + i], w[4 * n + i], w[5 * n + i]);
        real half = 0.5 * v2; /* of this body, a unit of its mass */
        LANE_UNROLL_PAIRS
        for (int j = n - 1; j >= 0; j--) {
            if (j <= i)
                continue;
            const lane_pair pair = pair_relative(n, w, i, j);
            const real r2 = pair_dot(pair.x, pair.y, pair.z, pair.x, pair.y, pair.z);
            half = lane_select(is_there(m[j]), lane_fma(-m[j], lane_rsqrt(r2), half), half);
        }
        energy = lane_select(is_there(m[i]), lane_fma(m[i], half, energy), energy);
    }
    const real error = lane_abs(energy - slots[ENERGY_ERROR_DUE]) / slots[ENERGY_ERROR_START];
    slots[ENERGY_ERROR_LARGEST] = lane_select(due & (error > slots[ENERGY_ERROR_LARGEST]), error,
                                              slots[ENERGY_ERROR_LARGEST]);
    const mask wrong = due & (error > lane_set(p[ENERGY_ERROR_STOP_ABOVE]));
    event_offer(event, wrong, lane_set(1.0), lane_set(SHOAL_INACCURATE), none, none);
}

#endif
