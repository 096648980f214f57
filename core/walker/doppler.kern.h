/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * doppler.kern.h: a part of likelihood.kern.h. Velocities along the line of sight as light brings them, from the states
 * of all bodies at the time t at which light from the barycentre arrives. With +z towards the observer:
 *
 *     light travel   light that arrives at t left at t + s, s = z(t + s) / c; there the velocity is
 *                    vz + az s + jz s^2 / 2, with Newton's acceleration and its derivative
 *     relativity     a body recedes by (v^2 / 2 + sum of m / r) / c more: the transverse Doppler effect and the
 *                    gravitational redshift of the other bodies (for instance Zucker & Alexander 2007,
 *                    doi:10.1086/510950, equation 1), constant parts included; their own redshift is not
 *
 * What is left out is of the order v^3 / c^2.
 */

/* The velocity of a set's body towards the observer; states: all bodies', six numbers each, from the first slot of a
 * row on. */
LANE_FN real walker_doppler(const shoal_kernel_args *k, const shoal_walker_set *set, const shoal_sights *leg,
                            long long row, lane_id id)
{
    const int n = k->walk->n_bodies, b = set->body, n_rows = (int)leg->n_times * leg->n_what,
              first = (int)row * leg->n_what;
    const real zero = lane_set(0.0);
    real own[6], potential = zero, az = zero, jz = zero;
    for (int c = 0; c < 6; c++)
        own[c] = lane_load(leg->seen, id, first + 6 * b + c, n_rows);
    LANE_KEEP_ROLLED
    for (int i = 0; i < n; i++) {
        real d[6];
        if (i == b)
            continue;
        for (int c = 0; c < 6; c++)
            d[c] = lane_load(leg->seen, id, first + 6 * i + c, n_rows) - own[c];
        const real m = lane_load(k->bodies, id, i * SHOAL_QUANTITIES + SHOAL_M, n * SHOAL_QUANTITIES),
                   r2 = lane_fma(d[0], d[0], lane_fma(d[1], d[1], d[2] * d[2])),
                   rv = lane_fma(d[0], d[3], lane_fma(d[1], d[4], d[2] * d[5])), inverse = 1.0 / lane_sqrt(r2),
                   pull = m * inverse * inverse * inverse;
        potential = lane_fma(m, inverse, potential);
        az = lane_fma(pull, d[2], az);
        jz = lane_fma(pull, d[5] - 3.0 * rv / r2 * d[2], jz);
    }
    const real v2 = lane_fma(own[3], own[3], lane_fma(own[4], own[4], own[5] * own[5])), s = set->light * own[2],
               later = lane_fma(set->light * own[5], s, s);
    const real there = lane_fma(later, lane_fma(0.5 * later, jz, az), own[5]);
    return there - set->relativity * lane_fma(lane_set(0.5), v2, potential);
}

/* Put the velocities of a set in their place. */
LANE_FN void walker_doppler_put(const shoal_kernel_args *k, const shoal_walker_set *set, lane_id id, mask there)
{
    LANE_KEEP_ROLLED
    for (int i = 0; i < SHOAL_LEGS; i++) {
        const shoal_sights *leg = &k->walk->leg[i];
        LANE_KEEP_ROLLED
        for (long long row = 0; row < leg->n_times; row++)
            lane_put(leg->seen, id, (int)row * leg->n_what + set->place, (int)leg->n_times * leg->n_what, there,
                     walker_doppler(k, set, leg, row, id));
    }
}
