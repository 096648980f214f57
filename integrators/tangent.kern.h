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
 * The vector begins in a random direction, of the system's id and a seed (a parameter of the monitor megno), with its
 * barycentre at rest in the origin and length 1. Each body is changed so that all orbits add alike to the length as
 * their phases drift apart, else a tight binary hides its planets. A change (dx, dv) of an orbit of frequency n grows
 * as 3 n t (dx + dv / n) in x, and n times that in v. So dv is of size 1 / sqrt(1 + n^2), and dx is 1/n of that, but
 * no more than dv: a wide orbit would else begin with all of the length. The length is sqrt(sum |delta x_i|^2 +
 * |delta v_i|^2), barycentric, in inner units (AU, AU / (yr/2pi)), of the bodies really there. When it passes 2^300 the
 * vector is scaled by 2^-300, which changes no bit of its direction; monitors count how often. That is the only thing
 * that watching ever does to a state, and the bodies do not feel it.
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
    state_copy(k, s, paid);
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

/* The next of a sequence of random numbers 1 .. 2^31 - 2, exactly (Park & Miller 1988, Comm. ACM 31, 1192). It takes
 * numbers below 2^32. */
LANE_FN real tangent_draw(real number)
{
    const real modulus = lane_set(2147483647.0), nearest = lane_set(0x1.8p52), product = 48271.0 * number;
    const real times = (product * lane_set(1 / 2147483647.0) + nearest) - nearest;
    const real rest = lane_fnma(times, modulus, product);
    return lane_select(rest < lane_set(0.0), rest + modulus, rest);
}

/* The first number of a system, of its id and the seed; the same for all systems if the monitor megno is not there. The
 * kernel of a GPU that prepares is compiled without monitors, so MONITORS(k) does not know. */
LANE_FN real tangent_key(const shoal_kernel_args *k, lane_id id)
{
    const real one = lane_set(1.0);
    if (!(k->monitors & (1 << SHOAL_MONITOR_megno)))
        return one;
    const real seed = lane_set(k->monitor[SHOAL_MONITOR_megno][MEGNO_SEED] + 1.0);
    const real system = lane_load(k->watch, id, k->watch_offset[SHOAL_MONITOR_megno] + MEGNO_KEY, k->n_watch);
    const real key = tangent_draw(system + tangent_draw(seed));
    return lane_select(key > lane_set(0.0), key, one);
}

/* The square of the frequency at which a body moves about the others, the sum over pairs; 1 if nothing attracts it. */
LANE_FN real tangent_rate2(int n, int bodies, int i, const real *m, const real *w)
{
    const real zero = lane_set(0.0);
    real rate2 = zero;
    for (int j = 0; j < bodies; j++) {
        real r2 = zero;
        if (j == i)
            continue;
        for (int c = 0; c < 3; c++)
            r2 = lane_fma(w[c * n + j] - w[c * n + i], w[c * n + j] - w[c * n + i], r2);
        rate2 = rate2 + lane_select(is_there(m[i]) & is_there(m[j]), (m[i] + m[j]) / (r2 * lane_sqrt(r2)), zero);
    }
    return lane_select(rate2 > zero, rate2, lane_set(1.0));
}

/* The first tangent vector, into the view w = [6 * n] of bodies and changes. */
LANE_FN void tangent_begin(const shoal_kernel_args *k, lane_id id, int n, const real *m, real *w)
{
    const int bodies = n / 2;
    const real zero = lane_set(0.0);
    real M = zero, number = tangent_key(k, id);
    for (int i = 0; i < bodies; i++) {
        const real rate2 = tangent_rate2(n, bodies, i, m, w), speed = 1.0 / lane_sqrt(rate2 + 1.0);
        const real place = lane_min(speed, speed / lane_sqrt(rate2));
        for (int c = 0; c < 6; c++) {
            number = tangent_draw(number);
            w[c * n + bodies + i] = lane_select(is_there(m[i]), (c < 3 ? place : speed) * (number * 0x1p-30 - 1.0),
                                                zero);
        }
        M = M + m[i];
    }
    for (int c = 0; c < 6; c++) {
        real *d = w + c * n + bodies;
        real centre = zero;
        for (int i = 0; i < bodies; i++)
            centre = lane_fma(m[i], d[i], centre);
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
