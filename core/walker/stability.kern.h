/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * stability.kern.h: a part of bodies.kern.h. Whether the planets may last, by their angular momentum deficit
 *
 *     C = sum of L_k - |sum of L_k sqrt(1 - e_k^2) n_k|,    L_k = m_k sqrt(m_0 a_k), n_k: normal to the orbit
 *
 * that secular motion does not change. For each pair, with a / a' = alpha and m / m' = gamma of the inner and the outer
 * planet, C / L' must be below
 *
 *     amd     the least with which the orbits touch: gamma sqrt(alpha) (1 - sqrt(1 - e^2)) + 1 - sqrt(1 - e'^2), where
 *             alpha e + gamma e / sqrt(alpha (1 - e^2) + gamma^2 e^2) = 1 - alpha and e' = 1 - alpha - alpha e
 *             (Laskar & Petit 2017, doi:10.1051/0004-6361/201730022, equations 29 and 35)
 *     hill    that of Hill stability: gamma sqrt(alpha) + 1 - (1 + gamma)^(3/2) sqrt(alpha / (gamma + alpha)
 *             (1 + 3^(4/3) eps^(2/3) gamma / (1 + gamma)^2)), eps = (m + m') / m_0
 *             (Petit, Laskar & Boue 2018, doi:10.1051/0004-6361/201833088, equation 26)
 */

/* The greatest relative deficit at which the orbits of a pair cannot touch. */
LANE_FN real walker_touching(real alpha, real gamma)
{
    enum { HALVES = 50 };
    const real one = lane_set(1.0);
    real low = lane_set(0.0), high = one;
    LANE_KEEP_ROLLED
    for (int round = 0; round < HALVES; round++) {
        const real e = 0.5 * (low + high), under = lane_fma(gamma * e, gamma * e, alpha * (one - e) * (one + e));
        const mask beyond = lane_fma(alpha, e, gamma * e / lane_sqrt(under)) > one - alpha;
        low = lane_select(beyond, low, e);
        high = lane_select(beyond, e, high);
    }
    const real e = low, other = lane_fnma(alpha, e, one - alpha);
    return gamma * lane_sqrt(alpha) * (one - lane_sqrt((one - e) * (one + e))) + one -
           lane_sqrt(lane_max((one - other) * (one + other), lane_set(0.0)));
}

LANE_FN real walker_hill(real alpha, real gamma, real eps)
{
    const real more = 1.0 + gamma, third = lane_cbrt(eps),
               part = lane_fma(0x1.14e9736cdaf38p+2 * (third * third), gamma / (more * more), lane_set(1.0));
    return lane_fma(gamma, lane_sqrt(alpha), lane_set(1.0)) - more * lane_sqrt(more * (alpha / (gamma + alpha)) * part);
}

LANE_FN mask walker_stable(const shoal_walk *walk, int n, const real *m, const walker_orbit *orbits)
{
    const real zero = lane_set(0.0), least = 1e-15 * m[0];
    real deficit = zero, sum[3] = {zero, zero, zero};
    mask good = zero == zero;
    for (int i = 1; i < n; i++) {
        const walker_orbit *orbit = &orbits[i];
        const real *x = orbit->first, *y = orbit->second, circular = m[i] * lane_sqrt(m[0] * orbit->a),
                   own = circular * lane_sqrt((1.0 - orbit->e) * (1.0 + orbit->e));
        deficit = deficit + circular;
        for (int c = 0; c < 3; c++) {
            const int d = (c + 1) % 3, e = (c + 2) % 3;
            sum[c] = lane_fma(own, x[d] * y[e] - x[e] * y[d], sum[c]);
        }
    }
    deficit = deficit - lane_sqrt(lane_fma(sum[0], sum[0], lane_fma(sum[1], sum[1], sum[2] * sum[2])));
    LANE_KEEP_ROLLED
    for (int i = 1; i < n; i++) {
        LANE_KEEP_ROLLED
        for (int j = i + 1; j < n; j++) {
            const mask inner = orbits[i].a < orbits[j].a;
            const real ai = orbits[i].a, aj = orbits[j].a, mi = lane_max(m[i], least), mj = lane_max(m[j], least),
                       outer = lane_select(inner, mj, mi), a = lane_select(inner, aj, ai),
                       alpha = lane_select(inner, ai, aj) / a, gamma = lane_select(inner, mi, mj) / outer;
            const real most = walk->stability == SHOAL_STABLE_HILL ? walker_hill(alpha, gamma, (mi + mj) / m[0])
                                                                   : walker_touching(alpha, gamma);
            good = good & (deficit < most * outer * lane_sqrt(m[0] * a));
        }
    }
    return good;
}
