/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hermite4_adaptive.kern.h: the Hermite scheme of order 4 (hermite4.kern.h) with steps that it chooses
 * (hermite_steps.kern.h).
 */
#define PROPAGATOR_ADAPTIVE 1
#define PROPAGATOR_OWN      HERMITE_OWN

#include "integrators/hermite4.kern.h"
#include "integrators/hermite_steps.kern.h"
