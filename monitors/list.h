/* SPDX-License-Identifier: GPL-3.0-or-later
 * The monitors: MONITOR(name) stands for name.kern.h, name.c and shoal_monitor_name. Of two events at one time the earlier here wins. */
MONITOR(stop_on_collision)
MONITOR(stop_on_encounter)
MONITOR(stop_on_ejection)
MONITOR(mean_motion_drift)
MONITOR(megno)
#ifdef SHOAL_PLUGINS
#include "plugins/monitors.h"
#endif
