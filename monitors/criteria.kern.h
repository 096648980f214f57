/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * criteria.kern.h: criteria of stability, of the initial conditions alone. criteria.c computes them before the first
 * step; the kernels do nothing.
 */
enum { criteria_PARAMETERS };
enum { criteria_SLOTS = 0 };
/* slots of the record: the criteria, in the order of the columns; whether they are known */
enum {
    CRITERIA_AMD,
    CRITERIA_AMD_STAR,
    CRITERIA_AMD_HILL,
    CRITERIA_HILL,
    CRITERIA_SEPARATION,
    CRITERIA_OVERLAP,
    CRITERIA_ECCENTRIC,
    CRITERIA_KNOWN,
    criteria_PART_SLOTS
};

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"

/* It sees nothing, however far the bodies are. */
LANE_FN double criteria_sleeps(const shoal_kernel_args *k)
{
    (void)k;
    return EVENT_LAST;
}

LANE_FN void criteria_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    (void)k, (void)view, (void)slots, (void)event;
}

#endif
