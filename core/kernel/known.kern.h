/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * known.kern.h: what a kernel knows when it is compiled, as constants, or else from its arguments.
 */
#ifndef SHOAL_KNOWN_KERN_H
#define SHOAL_KNOWN_KERN_H

#ifdef N_BODIES
#define BODIES(k) N_BODIES
#else
#define BODIES(k) ((k)->n_moved)
#endif
#if defined(SHOAL_VARIATIONAL)
#define VARIATIONAL(k) SHOAL_VARIATIONAL
#elif defined(N_BODIES)
#define VARIATIONAL(k) 0
#else
#define VARIATIONAL(k) __builtin_expect((k)->variational, 0)
#endif
#ifdef SHOAL_MONITORS
#define MONITORS(k)    SHOAL_MONITORS
#define COMPENSATED(k) SHOAL_COMPENSATED
#else
#define MONITORS(k)    ((k)->monitors)
#define COMPENSATED(k) ((k)->compensated)
#endif
#if defined(SHOAL_FORM)
#define FORM(k) ((void)(k), SHOAL_FORM)
#elif defined(N_BODIES)
#define FORM(k) ((void)(k), SHOAL_FORM_PAIRS)
#else
#define FORM(k) ((k)->form)
#endif
/* Bodies from this one on attract nobody: the rows form leaves them out. */
#ifdef SHOAL_MASSIVE
#define MASSIVE(k) SHOAL_MASSIVE
#else
#define MASSIVE(k) ((k)->n_massive)
#endif

#ifdef SHOAL_FORCES
#define FORCES(k) SHOAL_FORCES
#else
#define FORCES(k) ((k)->forces)
#endif

/* Whether conjunctions are seen. */
#if defined(SHOAL_CONJUNCTIONS)
#define CONJUNCTIONS(k) ((void)(k), SHOAL_CONJUNCTIONS)
#else
#define CONJUNCTIONS(k) ((k)->sights.n_conjunctions > 0)
#endif

/* A parameter of the propagator that is an integer, a boolean or a choice: a constant on the GPU. */
LANE_FN int chosen(const shoal_kernel_args *k, int parameter)
{
#ifdef SHOAL_CHOSEN
    const int values[] = {SHOAL_CHOSEN};
    (void)k;
    return values[parameter];
#else
    return (int)k->propagator[parameter];
#endif
}

/* Those of the n bodies that a propagator moves which are bodies; the others are their tangent vectors. */
LANE_FN int real_bodies(const shoal_kernel_args *k, int n)
{
    (void)k;
    return VARIATIONAL(k) ? n / 2 : n;
}

#include "core/kernel/team.h"

/* Whether a body of this mass is there. */
LANE_FN mask is_there(real m)
{
    return lane_not(lane_negative(m));
}

#endif
