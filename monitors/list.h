/* SPDX-License-Identifier: GPL-3.0-or-later
 * The monitors: MONITOR(name) stands for name.kern.h, name.c and shoal_monitor_name. Of two events at one time the earlier here wins. */
MONITOR(stop_on_collision)
MONITOR(stop_on_encounter)
MONITOR(stop_on_ejection)
MONITOR(stop_on_crossing)
MONITOR(mean_motion_drift)
MONITOR(megno)
MONITOR(closest_approach)
MONITOR(element_range)
MONITOR(energy_error)
MONITOR(resonant_angle)
MONITOR(distance)
MONITOR(amd)
MONITOR(transits)
#ifdef SHOAL_PLUGINS
#include "plugins/monitors.h"
#endif
