/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hermite6_adaptive.kern.h: the Hermite scheme of order 6 (hermite6.kern.h) with steps that it chooses
 * (hermite_steps.kern.h).
 */
#define PROPAGATOR_ADAPTIVE 1
#define PROPAGATOR_OWN      HERMITE_OWN

#include "integrators/hermite6.kern.h"
#include "integrators/hermite_steps.kern.h"
