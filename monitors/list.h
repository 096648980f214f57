/* SPDX-License-Identifier: GPL-3.0-or-later
 * The monitors: MONITOR(name, sees) stands for name.kern.h, name.c and shoal_monitor_name. Of two events at one time
 * the earlier here wins.
 *
 * sees    INSIDE   the motion within a step, where a propagator resolves it, and both ends of each step
 *         BEFORE   both ends of each step
 *         ENDS     the ends of steps
 *         EVERY    the ends of every so-many-th step
 *         FAR      the ends of steps at which a body is far from the barycentre */
MONITOR(stop_on_collision, INSIDE)
MONITOR(stop_on_encounter, INSIDE)
MONITOR(stop_on_ejection, FAR)
MONITOR(stop_on_crossing, EVERY)
MONITOR(mean_motion_drift, EVERY)
MONITOR(frequency, EVERY)
MONITOR(megno, ENDS)
MONITOR(closest_approach, INSIDE)
MONITOR(element_range, EVERY)
MONITOR(energy_error, EVERY)
MONITOR(resonant_angle, EVERY)
MONITOR(distance, EVERY)
MONITOR(amd, EVERY)
MONITOR(criteria, FAR)
MONITOR(transits, BEFORE)
#ifdef SHOAL_PLUGINS
#include "plugins/monitors.h"
#endif
