/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * force.kern.h: the words of a force's text. A force defines
 *     NAME_add(const shoal_kernel_args *k, const double *p, int n, const real *m, const real *x, const real *v, real
 *         *a)
 * which adds the accelerations of all bodies at barycentric positions x and velocities v, [3 * n], component * n +
 * body; p are its parameters, the same for all systems.
 */
#ifndef SHOAL_FORCE_KERN_H
#define SHOAL_FORCE_KERN_H

#include "core/kernel/known.kern.h"

/* A body: position and velocity, mass. */
typedef struct lane_body {
    real d[3], u[3], m;
} lane_body;

/* Body i, i a loop's variable or a constant. */
LANE_FN lane_body body_at(int n, int i, const real *m, const real *x, const real *v)
{
    lane_body at = {{x[i], x[n + i], x[2 * n + i]}, {v[i], v[n + i], v[2 * n + i]}, m[i]};
    return at;
}

/* a_i += scale f */
LANE_FN void body_push(int n, int i, real scale, const real *f, real *a)
{
    for (int c = 0; c < 3; c++)
        a[c * n + i] = lane_fma(scale, f[c], a[c * n + i]);
}

/* The same of a body that a parameter names: found by running over all, which leaves a GPU's arrays in its
 * registers. */
LANE_FN lane_body body_named(int n, double body, const real *m, const real *x, const real *v)
{
    lane_body at = body_at(n, 0, m, x, v);
    LANE_UNROLL_BODIES
    for (int i = 1; i < n; i++)
        if (i == body)
            at = body_at(n, i, m, x, v);
    return at;
}

LANE_FN void body_push_named(int n, double body, real scale, const real *f, real *a)
{
    LANE_UNROLL_BODIES
    for (int i = 0; i < n; i++)
        if (i == body)
            body_push(n, i, scale, f, a);
}

/* A body seen from another one. */
LANE_FN lane_body body_from(lane_body at, const lane_body *origin)
{
    for (int c = 0; c < 3; c++) {
        at.d[c] = at.d[c] - origin->d[c];
        at.u[c] = at.u[c] - origin->u[c];
    }
    return at;
}

/* A force on one body, or with 0 on all that have no mass: does it mean body i, and its strength there. */
LANE_FN bool body_meant(double on, int i)
{
    return on == 0.0 || on == i;
}
LANE_FN real body_share(double on, real m, real strength)
{
    return on == 0.0 ? lane_select(m == lane_set(0.0), strength, lane_set(0.0)) : strength;
}

LANE_FN void unit_vector(const double *p, real *direction)
{
    const real y = lane_rsqrt(lane_set(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]));
    for (int c = 0; c < 3; c++)
        direction[c] = p[c] * y;
}

#endif
