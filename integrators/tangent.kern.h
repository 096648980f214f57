/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tangent.kern.h: the tangent vector of a system, for the monitors that ask for it: how a small change of its initial
 * state grows.
 *
 * Of the n bodies that a propagator then moves, body n/2 + i is the change (delta x_i, delta v_i) of body i, in the
 * same native slots and with the same mass. A propagator that is linear in x, v and the forces (leapfrog, Hermite,
 * Runge-Kutta, ...) moves them as it moves bodies, since gravitation gives them the derivatives of the forces as theirs
 * (the variational equations; Mikkola & Innanen 1999, Celest. Mech. Dyn. Astron. 74, 59); where it judges errors,
 * chooses steps or ends iterations it looks at the first real_bodies(k, n) alone: what results is the derivative of the
 * bodies' map at the steps it takes, and the bodies keep their bits. Any other one has a tangent map of its own.
 * Prepare and view have to be linear in the state; view and reach are called for half of the bodies at a time.
 *
 * The vector begins in a fixed direction, the same for all systems, with its barycentre at rest in the origin and
 * length 1. The length is sqrt(sum |delta x_i|^2 + |delta v_i|^2), barycentric, in inner units (AU, AU / (yr/2pi)), of
 * the bodies really there. When it passes 2^300 the vector is scaled by 2^-300, which changes no bit of its direction;
 * monitors count how often. That is the only thing that watching ever does to a state, and the bodies do not feel it.
 */
#include "integrators/propagator.kern.h"

/* The bodies (tangent = 0) or their changes (1), as the state of a system of n/2 bodies. */
LANE_FN void tangent_split(int n, int tangent, const real *s, real *part)
{
    const int bodies = n / 2, first = tangent ? bodies : 0;
    LANE_UNROLL_GPU
    for (int q = 0; q < PROPAGATOR_SLOTS(1); q++) {
        LANE_UNROLL_GPU
        for (int i = 0; i < bodies; i++)
            part[q * bodies + i] = s[q * n + first + i];
    }
    for (int own = 0; own < PROPAGATOR_OWN; own++)
        part[PROPAGATOR_SLOTS(1) * bodies + own] = s[PROPAGATOR_SLOTS(1) * n + own];
}

/* The squared length of a change w = [6 * stride] of the bodies with masses m, from column `first` on. */
LANE_FN real tangent_length2(int stride, int first, int bodies, const real *m, const real *w)
{
    real length2[LANE_ROOM(stride)];
    LANE_UNROLL_GPU
    for (int i = 0; i < bodies; i++) {
        real d[6], sum = lane_set(0.0);
        team_vector(stride, first + i, w, d);
        team_vector(stride, first + i, w + XYZ * stride, d + 3);
        LANE_UNROLL_GPU
        for (int c = 0; c < 6; c++)
            sum = lane_fma(d[c], d[c], sum);
        length2[i] = lane_select(is_there(m[i]), sum, lane_set(0.0));
    }
    return team_sum(bodies, length2);
}

/* The barycentric view of the bodies, w = [6 * real_bodies]; returns the squared length of the tangent vector if
 * there is one. */
LANE_FN real system_view(const shoal_kernel_args *k, const real *m, const real *s, real *w)
{
    const int n = BODIES(k), bodies = real_bodies(k, n);
    real length2 = lane_set(0.0);
#if PROPAGATOR_OWES
    real paid[STATE_SIZE(n)];
    LANE_UNROLL
    for (int c = 0; c < STATE_SIZE(n); c++)
        paid[c] = s[c];
    propagator_synchronise(k, m, paid);
    s = paid;
#endif
    if (VARIATIONAL(k)) {
        real part[STATE_SIZE(n)];
        tangent_split(n, 1, s, part);
        propagator_view(k, bodies, m, part, w);
        length2 = tangent_length2(bodies, 0, bodies, m, w);
        tangent_split(n, 0, s, part);
        propagator_view(k, bodies, m, part, w);
    } else {
        propagator_view(k, n, m, s, w);
    }
    return length2;
}

/* The first tangent vector, into the view w = [6 * n] of bodies and changes. */
LANE_FN void tangent_begin(int n, const real *m, real *w)
{
    const int bodies = n / 2;
    const real zero = lane_set(0.0);
    real M = zero;
    for (int i = 0; i < bodies; i++)
        M = M + m[i];
    for (int c = 0; c < 6; c++) {
        real *d = w + c * n + bodies;
        real centre = zero;
        for (int i = 0; i < bodies; i++) {
            const unsigned weyl = (unsigned)(6 * i + c + 1) * 2654435769u; /* multiples of the golden ratio, modulo 1 */
            d[i] = lane_select(is_there(m[i]), lane_set(weyl * 0x1p-31 - 1.0), zero);
            centre = lane_fma(m[i], d[i], centre);
        }
        for (int i = 0; i < bodies; i++)
            d[i] = d[i] - centre / M;
    }
    const real scale = 1.0 / lane_sqrt(tangent_length2(n, bodies, bodies, m, w));
    for (int c = 0; c < 6; c++)
        for (int i = bodies; i < n; i++)
            w[c * n + i] = scale * w[c * n + i];
}

LANE_FN void tangent_shorten(int n, int compensated, mask where, real *s)
{
    const real factor = lane_select(where, lane_set(1.0 / TANGENT_LIMIT), lane_set(1.0));
    (void)compensated;
    for (int q = 0; q < PROPAGATOR_SLOTS(compensated); q++)
        for (int i = n / 2; i < n; i++)
            s[q * n + i] = factor * s[q * n + i];
}
