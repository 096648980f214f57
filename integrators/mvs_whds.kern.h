/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mvs_whds.kern.h: mvs.kern.h with the splitting of Hernandez & Dehnen 2017, MNRAS 468, 2614: the same coordinates, two
 * bodies alone are exact.
 */
#define MVS_WHDS 1
#include "integrators/mvs.kern.h"
