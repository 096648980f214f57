/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * propagator.kern.h: what holds of a propagator whose text, included before, does not say otherwise (integrate.kern.h
 * has the list).
 */
#ifndef SHOAL_PROPAGATOR_KERN_H
#define SHOAL_PROPAGATOR_KERN_H

#include "core/kernel/known.kern.h"

#ifndef PROPAGATOR_OWN
#define PROPAGATOR_OWN 0
#endif
#ifndef PROPAGATOR_OWES
#define PROPAGATOR_OWES 0
#endif
#ifndef PROPAGATOR_ADAPTIVE
#define PROPAGATOR_ADAPTIVE 0
#endif
#ifndef PROPAGATOR_GAVE_UP
#define PROPAGATOR_GAVE_UP(n, s) (lane_set(0.0) != lane_set(0.0))
#endif
#ifdef PROPAGATOR_INSIDE
#define INSIDE(inside) , inside
#else
#define PROPAGATOR_INSIDE 0
#define INSIDE(inside)
#endif
#ifndef PROPAGATOR_RESTS
#define PROPAGATOR_RESTS 0
#endif
#ifdef PROPAGATOR_SETS_ASIDE
#define ASIDE(aside) , aside
#else
#define PROPAGATOR_SETS_ASIDE 0
#define ASIDE(aside)
struct lane_aside {
    bool substeps;
};
#endif

#ifdef PROPAGATOR_BARYCENTRIC
#define PROPAGATOR_PLAIN 1
LANE_FN void propagator_view(const shoal_kernel_args *k, int n, const real *m, const real *s, real *w)
{
    (void)k, (void)m;
    LANE_UNROLL
    for (int c = 0; c < 2 * XYZ * n; c++)
        w[c] = s[c];
}

LANE_FN mask propagator_beyond(const shoal_kernel_args *k, int n, const real *m, const real *s, double limit)
{
    (void)k, (void)m;
    return lane_beyond(XYZ, n, s, limit);
}
#endif

#ifndef PROPAGATOR_PLAIN
#define PROPAGATOR_PLAIN 0
#endif
#ifndef PROPAGATOR_KICKS
#define PROPAGATOR_KICKS 0
LANE_FN real propagator_kicks(int n, const real *s, real h)
{
    return (void)n, (void)s, h;
}
#endif
#ifndef PROPAGATOR_NOTES
#define PROPAGATOR_NOTES 0
#endif

#define STATE_SIZE(n) (PROPAGATOR_SLOTS(1) * (n) + PROPAGATOR_OWN + PROPAGATOR_NOTES) /* of a thread */

/* In the lanes `where` a state takes over what is used of another one. */
LANE_FN void state_take(const shoal_kernel_args *k, mask where, const real *from, real *to)
{
    const int n = BODIES(k), own = PROPAGATOR_SLOTS(1) * n;
    (void)k;
    for (int c = 0; c < PROPAGATOR_SLOTS(COMPENSATED(k)) * n; c++)
        to[c] = lane_select(where, from[c], to[c]);
    for (int c = own; c < own + PROPAGATOR_OWN; c++)
        to[c] = lane_select(where, from[c], to[c]);
}

LANE_FN void state_copy(const shoal_kernel_args *k, const real *from, real *to)
{
    const int n = BODIES(k), own = PROPAGATOR_SLOTS(1) * n;
    (void)k;
    LANE_UNROLL_GPU
    for (int c = 0; c < PROPAGATOR_SLOTS(COMPENSATED(k)) * n; c++)
        to[c] = from[c];
    LANE_UNROLL_GPU
    for (int c = own; c < own + PROPAGATOR_OWN; c++)
        to[c] = from[c];
}

#endif
