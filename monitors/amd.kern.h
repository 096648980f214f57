/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * amd.kern.h: the angular momentum deficit (Laskar 1997, A&A 317, L75; 2000, Phys. Rev. Lett. 84, 3240)
 *
 *     C = sum_k Lambda_k (1 - sqrt(1 - e_k^2) cos i_k) = sum_k Lambda_k - |L|,     Lambda_k = m'_k sqrt(mu_k a_k)
 *
 * with i_k from the invariable plane: how much angular momentum the orbits lack to circles in it. In Jacobi
 * coordinates, which sum up to the whole angular momentum: mu_k is the mass of bodies 0 to k and m'_k = m_k (mu_k -
 * m_k) / mu_k. It is given relative to |L|. A system with an unbound body has none.
 */
enum { AMD_EVERY, amd_PARAMETERS };
/* slots: steps left until the next look; C / |L| at the first one, the least and the largest */
enum { AMD_LEFT, AMD_FIRST, AMD_LEAST, AMD_LARGEST, amd_SLOTS };

enum { amd_LEFT = AMD_LEFT };

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"
#include "monitors/orbit.kern.h"

LANE_FN void amd_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const int n = view->n;
    const real *m = view->m, *w = view->after;
    const real zero = lane_set(0.0), one = lane_set(1.0);
    mask due = monitor_due(view, k->monitor[SHOAL_MONITOR_amd][AMD_EVERY], &slots[AMD_LEFT]);
    real lambda = zero, lx = zero, ly = zero, lz = zero;
    (void)event;
    if (!lane_any(due))
        return;
    orbit_focus focus = orbit_first_focus(n, m, w);
    LANE_UNROLL_PAIRS
    for (int i = 1; i < n; i++) {
        real mu;
        const lane_pair motion = orbit_motion(k, n, m, w, i, ORBIT_JACOBI, &focus, &mu);
        const lane_orbit o = orbit_elements(motion, mu);
        const mask there = m[i] > zero;
        const real mass = lane_select(there, m[i] * (focus.mass - m[i]) / focus.mass, zero),
                   bound = lane_select(there, o.inverse_a, one);
        due = due & (bound > zero);
        lambda = lane_fma(mass, lane_sqrt(lane_max(mu / bound, zero)), lambda);
        lx = lane_fma(mass, lane_select(there, o.lx, zero), lx);
        ly = lane_fma(mass, lane_select(there, o.ly, zero), ly);
        lz = lane_fma(mass, lane_select(there, o.lz, zero), lz);
    }
    const real l = lane_sqrt(pair_dot(lx, ly, lz, lx, ly, lz)), c = (lambda - l) / l;
    slots[AMD_FIRST] = lane_select(due & (slots[AMD_FIRST] != slots[AMD_FIRST]), c, slots[AMD_FIRST]);
    slots[AMD_LEAST] = lane_select(due, lane_min(c, slots[AMD_LEAST]), slots[AMD_LEAST]);
    slots[AMD_LARGEST] = lane_select(due, lane_max(c, slots[AMD_LARGEST]), slots[AMD_LARGEST]);
}

#endif
