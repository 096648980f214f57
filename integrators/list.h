/* SPDX-License-Identifier: GPL-3.0-or-later
 * The propagators: PROPAGATOR(name) stands for name.kern.h and shoal_propagator_name, in name.c or that of its
 * relatives. */
PROPAGATOR(bulirsch_stoer)
PROPAGATOR(gauss)
PROPAGATOR(gauss_radau)
PROPAGATOR(gauss_radau_fixed)
PROPAGATOR(hermite4)
PROPAGATOR(hermite4_adaptive)
PROPAGATOR(hermite6)
PROPAGATOR(hermite6_adaptive)
PROPAGATOR(hybrid)
PROPAGATOR(leapfrog)
PROPAGATOR(mvs)
PROPAGATOR(mvs_jacobi)
PROPAGATOR(mvs_whds)
PROPAGATOR(saba)
PROPAGATOR(runge_kutta)
PROPAGATOR(runge_kutta_adaptive)
