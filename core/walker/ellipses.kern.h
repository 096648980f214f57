/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ellipses.kern.h: a part of bodies.kern.h. What is seen of bodies that do not attract each other: each goes on its
 * ellipse for ever (likelihood.motion = "keplerian"), so that there is nothing to integrate.
 *
 * Barycentric coordinates are sums over orbits r_i, each of which moves the bodies inside of it against its own body:
 *
 *     jacobi        x_b = r_b - sum over i >= b of f_i r_i,  f_i = m_i / (m_0 + ... + m_i)
 *     astrocentric  x_b = r_b - sum over all i of f_i r_i,   f_i = m_i / (m_0 + ... + m_n)
 *     barycentric   x_b = r_b, x_0 = - sum of f_i r_i,       f_i = m_i / m_0
 *
 * with r_0 = 0.
 */

enum { WALKER_TIMES = 4 }; /* that are solved beside each other: none waits for another */

/* Sine and cosine of M, |M| <= pi, within 4e-3, for a start. */
LANE_FN void walker_near_sincos(real M, real *sine, real *cosine)
{
    const real z = M * M;
    *sine = M * lane_fma(z, lane_fma(z, lane_fma(z, lane_set(-1.47736e-4), lane_set(7.99852e-3)), lane_set(-0.165838)),
                         lane_set(0.999450));
    *cosine = lane_fma(z, lane_fma(z, lane_fma(z, lane_set(-9.92829e-4), lane_set(3.95219e-2)), lane_set(-0.496248)),
                       lane_set(0.998987));
}

/* 1 / k! */
LANE_TABLE double walker_taylor[] = {1.0,
                                     1.0,
                                     1.0 / 2,
                                     1.0 / 6,
                                     1.0 / 24,
                                     1.0 / 120,
                                     1.0 / 720,
                                     1.0 / 5040,
                                     1.0 / 40320,
                                     1.0 / 362880,
                                     1.0 / 3628800,
                                     1.0 / 39916800,
                                     1.0 / 479001600,
                                     1.0 / 6227020800.0,
                                     1.0 / 87178291200.0,
                                     1.0 / 1307674368000.0,
                                     1.0 / 20922789888000.0,
                                     1.0 / 355687428096000.0};

/* sin r = r - r^3 / 3! + ... + r^(most + 1) / (most + 1)!, cos r to r^most / most!. */
LANE_FN void walker_series(real r, int most, real *sine, real *cosine)
{
    const real z = -r * r;
    real s = lane_set(walker_taylor[most + 1]), c = lane_set(walker_taylor[most]);
    LANE_UNROLL_FULLY
    for (int k = most - 2; k >= 0; k -= 2) {
        s = lane_fma(s, z, lane_set(walker_taylor[k + 1]));
        c = lane_fma(c, z, lane_set(walker_taylor[k]));
    }
    *sine = r * s;
    *cosine = c;
}

/* Sine and cosine of |x| < 10: x is q quarters of a turn and r, |r| <= pi / 4. */
LANE_FN void walker_sincos(real x, real *sine, real *cosine)
{
    const real q = lane_fma(x, lane_set(2 / WALKER_PI), lane_set(0x1.8p52)) - 0x1.8p52,
               r = lane_fnma(q, lane_set(0x1.1a62633145c07p-54), lane_fnma(q, lane_set(0.5 * WALKER_PI), x)),
               quarter = q - 4.0 * lane_floor(0.25 * q); /* 0..3 */
    const mask odd = (quarter == lane_set(1.0)) | (quarter == lane_set(3.0));
    real s, c;
    walker_series(r, 16, &s, &c);
    const real sin_there = lane_select(odd, c, s), cos_there = lane_select(odd, s, c);
    *sine = lane_select(quarter >= lane_set(2.0), -sin_there, sin_there);
    *cosine = lane_select((quarter == lane_set(1.0)) | (quarter == lane_set(2.0)), -cos_there, cos_there);
}

/* 1 / x, x > 1e-30, error about 1 ulp, without a division: Newton's steps from a seed. */
LANE_FN real walker_inverse(real x)
{
    const real one = lane_set(1.0), seed = lane_rsqrt_seed(x);
    real y = seed * seed;
    y = lane_fma(y, lane_fnma(x, y, one), y);
    return lane_fma(y, lane_fnma(x, y, one), y);
}

/* sin E and cos E at some mean anomalies, and 1 / (1 - e cos E), 0 <= e < 1: from M + e sin M / sqrt(1 - 2 e cos M +
 * e^2), which is near, by steps whose error is the cube of that before: n (1 - h + h^2) with Newton's n, Halley's
 * n / (1 + h). Sine and cosine turn with E. */
LANE_FN void walker_kepler_times(real e, const real *mean, mask wanted, real *sine, real *cosine, real *inverse)
{
    enum { ROUNDS = 40 };
    const real one = lane_set(1.0), most = lane_set(0.25), least = lane_set(1e-17);
    real M[WALKER_TIMES], E[WALKER_TIMES];
    mask open = wanted;
    LANE_UNROLL_FULLY
    for (int q = 0; q < WALKER_TIMES; q++) {
        real s, c;
        M[q] = walker_angle(mean[q]);
        walker_near_sincos(M[q], &s, &c);
        const real square = lane_max(lane_fma(e, lane_fnma(lane_set(2.0), c, e), one), lane_set(1e-4));
        E[q] = lane_fma(e * s, lane_rsqrt_seed(square), M[q]);
        walker_sincos(E[q], &sine[q], &cosine[q]);
    }
    LANE_KEEP_ROLLED
    for (int round = 0; round < ROUNDS && lane_any(open); round++) {
        mask far = open & lane_not(open);
        LANE_UNROLL_FULLY
        for (int q = 0; q < WALKER_TIMES; q++) {
            const real s = sine[q], c = cosine[q], es = e * s, slope = lane_max(lane_fnma(e, c, one), least),
                       by = walker_inverse(slope), newton = ((M[q] - E[q]) + es) * by, h = 0.5 * newton * es * by;
            real step = newton * lane_fma(h, h - one, one), turn_s, turn_c;
            step = lane_max(-most, lane_min(step, most));
            far = far | (lane_abs(step) > 0x1p-18 * slope);
            walker_series(step, 12, &turn_s, &turn_c); /* the next terms are below 1e-19 */
            E[q] = E[q] + step;
            sine[q] = lane_fma(s, turn_c, c * turn_s);
            cosine[q] = lane_fnma(s, turn_s, c * turn_c);
        }
        open = open & far;
    }
    LANE_UNROLL_FULLY
    for (int q = 0; q < WALKER_TIMES; q++)
        inverse[q] = walker_inverse(lane_max(lane_fnma(e, cosine[q], one), least));
}

/* How much orbit i moves body b. f: m_i over the mass that it moves. */
LANE_FN real walker_share(const shoal_walk *walk, int b, int i, real f)
{
    const real zero = lane_set(0.0), one = lane_set(1.0);
    if (walk->frame == SHOAL_BARYCENTRIC)
        return b == 0 ? -f : b == i ? one : zero;
    if (walk->frame == SHOAL_JACOBI && i < b)
        return zero;
    return b == i ? one - f : -f;
}

/* What is seen of the bodies at the times of a leg. */
LANE_FN void walker_ellipses(const shoal_walk *walk, const shoal_sights *leg, lane_id id, mask there, int n,
                             const real *m, const walker_orbit *orbits)
{
    const int n_what = leg->n_what, n_rows = (int)leg->n_times * n_what;
    real f[LANE_ROOM(n)], enclosed = m[0], total = m[0];
    for (int i = 1; i < n; i++)
        total = total + m[i];
    for (int i = 1; i < n; i++) {
        enclosed = enclosed + m[i];
        f[i] = m[i] / (walk->frame == SHOAL_JACOBI ? enclosed : walk->frame == SHOAL_BARYCENTRIC ? m[0] : total);
    }
    LANE_KEEP_ROLLED
    for (long long row = 0; row < leg->n_times; row += WALKER_TIMES) {
        real along[4][LANE_ROOM(n)][WALKER_TIMES]; /* in the plane of each orbit: place and velocity */
        LANE_KEEP_ROLLED
        for (int i = 1; i < n; i++) {
            const walker_orbit *orbit = &orbits[i];
            const real e = orbit->e, root = lane_sqrt((1.0 - e) * (1.0 + e)), speed = orbit->n * orbit->a;
            real mean[WALKER_TIMES], sine[WALKER_TIMES], cosine[WALKER_TIMES], inverse[WALKER_TIMES];
            LANE_UNROLL_FULLY
            for (int q = 0; q < WALKER_TIMES; q++) {
                const double time = leg->times[row + q < leg->n_times ? row + q : leg->n_times - 1];
                mean[q] = lane_fma(orbit->n, lane_set(time - walk->epoch), orbit->M);
            }
            walker_kepler_times(e, mean, there, sine, cosine, inverse);
            LANE_UNROLL_FULLY
            for (int q = 0; q < WALKER_TIMES; q++) {
                const real fast = speed * inverse[q];
                along[0][i][q] = orbit->a * (cosine[q] - e);
                along[1][i][q] = orbit->a * root * sine[q];
                along[2][i][q] = -fast * sine[q];
                along[3][i][q] = fast * root * cosine[q];
            }
        }
        LANE_KEEP_ROLLED
        for (int w = 0; w < n_what; w++) {
            const int body = leg->what[w] / 6, c = leg->what[w] % 6, axis = c % 3, first = c < 3 ? 0 : 2;
            real seen[WALKER_TIMES];
            LANE_UNROLL_FULLY
            for (int q = 0; q < WALKER_TIMES; q++)
                seen[q] = lane_set(0.0);
            LANE_KEEP_ROLLED
            for (int i = 1; i < n; i++) {
                const real share = walker_share(walk, body, i, f[i]), x = share * orbits[i].first[axis],
                           y = share * orbits[i].second[axis];
                LANE_UNROLL_FULLY
                for (int q = 0; q < WALKER_TIMES; q++)
                    seen[q] = lane_fma(along[first][i][q], x, lane_fma(along[first + 1][i][q], y, seen[q]));
            }
            for (int q = 0; q < WALKER_TIMES && row + q < leg->n_times; q++)
                lane_put(leg->seen, id, (int)(row + q) * n_what + w, n_rows, there, seen[q]);
        }
    }
}
