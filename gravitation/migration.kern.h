/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * migration.kern.h: a disc that is not modelled moves one body and rounds its orbit about body 0,
 *
 *     a = -v / 2 tau_a - 2 (r.v) r / (r^2 tau_e) - 2 v_z z / tau_inc,   r = x_i - x_0, v = v_i - v_0, z the normal of
 *         the reference plane
 *
 * Papaloizou & Larwood 2000, MNRAS 315, 823, with t_m = 2 tau_a, so that over an orbit
 *
 *     da/dt = -a / tau_a - 4 a [1 - sqrt(1 - e^2)] / tau_e,
 *     de/dt = -2 (1 - e^2) [1 - sqrt(1 - e^2)] / (e tau_e) = -e / tau_e + O(e^3),   dinc/dt = -inc / tau_inc for small
 *         inc
 *
 * K = tau_a / tau_e is that of Lee & Peale 2002, ApJ 567, 596: |de/dt| / e = K |da/dt| / a. The disc takes the
 * momentum: body 0 feels no reaction.
 */
enum { MIGRATION_BODY, MIGRATION_TAU_A, MIGRATION_TAU_E, MIGRATION_TAU_INC, MIGRATION_K, migration_PARAMETERS };

#ifdef SHOAL_KERNEL
#include "gravitation/force.kern.h"

LANE_FN void migration_add(const shoal_kernel_args *k, const double *p, int n, const real *m, const real *x,
                           const real *v, real *a)
{
    const double rate_a = 1.0 / p[MIGRATION_TAU_A], rate_inc = 1.0 / p[MIGRATION_TAU_INC];
    const double fast = p[MIGRATION_K] * rate_a, rate_e = 1.0 / p[MIGRATION_TAU_E] + (fast < 0.0 ? -fast : fast);
    const lane_body centre = body_at(n, 0, m, x, v), at = body_from(body_named(n, p[MIGRATION_BODY], m, x, v), &centre);
    const real radial = -2.0 * rate_e * dot(at.d, at.u) / dot(at.d, at.d);
    real f[3];
    (void)k;
    for (int c = 0; c < 3; c++)
        f[c] = lane_fma(radial, at.d[c], (-0.5 * rate_a - (c == 2 ? 2.0 * rate_inc : 0.0)) * at.u[c]);
    body_push_named(n, p[MIGRATION_BODY], lane_set(1.0), f, a);
}

#endif
