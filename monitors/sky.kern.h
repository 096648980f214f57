/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * sky.kern.h: what the monitor `transits` and walkers (integrators/conjunctions.kern.h) share. A function is zero where
 * two bodies are nearest in the plane of the sky, and its zero is sought.
 */
#ifndef SHOAL_SKY_KERN_H
#define SHOAL_SKY_KERN_H

#include "monitors/pair.kern.h"

/* x vx + y vy. It passes from - to + in time's direction where the distance is least (Fabrycky 2010,
 * arXiv:1006.3834). */
LANE_FN real sky_approach(lane_pair p)
{
    return lane_fma(p.y, p.vy, p.x * p.vx);
}

/* A place between low and high, where a function passes zero. */
typedef struct lane_root {
    real low, high, at, change;
    mask open;
} lane_root;

/* The function is before its zero at root->at, and Newton's iteration leads to `newton`. Halves the interval where that
 * does not halve the last change; ends with a change below 1e-7. */
LANE_FN void root_next(lane_root *root, mask before, real newton)
{
    root->low = lane_select(root->open & before, root->at, root->low);
    root->high = lane_select(root->open & lane_not(before), root->at, root->high);
    const mask good = (newton >= root->low) & (newton <= root->high) &
                      (lane_abs(newton - root->at) <= 0.5 * root->change);
    const real next = lane_select(good, newton, 0.5 * (root->low + root->high));
    root->change = lane_select(root->open, lane_abs(next - root->at), root->change);
    root->at = lane_select(root->open, next, root->at);
    root->open = root->open &
                 lane_not((good & (root->change < lane_set(1e-7))) | (root->high - root->low < lane_set(1e-14)));
}

#endif
