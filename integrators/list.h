/* SPDX-License-Identifier: GPL-3.0-or-later
 * The propagators: PROPAGATOR(name) stands for name.kern.h, name.c and shoal_propagator_name. */
PROPAGATOR(hermite4)
PROPAGATOR(leapfrog)
PROPAGATOR(mvs)
