/* SPDX-License-Identifier: GPL-3.0-or-later
 * The extra forces: FORCE(name) stands for name.kern.h, name.c and shoal_force_name. */
FORCE(gr_potential)
FORCE(gr)
FORCE(j2)
FORCE(tides)
FORCE(radiation)
FORCE(migration)
FORCE(gas_drag)
#ifdef SHOAL_PLUGINS
#include "plugins/forces.h"
#endif
