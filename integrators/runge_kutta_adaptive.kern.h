/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * runge_kutta_adaptive.kern.h: runge_kutta.kern.h with steps that keep the estimated error at a tolerance.
 */
#define PROPAGATOR_ADAPTIVE 1
#include "integrators/runge_kutta.kern.h"
