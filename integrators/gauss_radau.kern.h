/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gauss_radau.kern.h: Gauss-Radau integration of order 15 with adaptive steps (IAS15): gauss_radau_solve.kern.h and the
 * choice of h.
 *
 *     timescale  h' = h tau (5040 epsilon)^(1/7),  tau^2 = min_i 2 y2 / (y3 + sqrt(y2 y4)),
 *                y2 = |a|^2, y3 = |da/ds|^2, y4 = |d2a/ds2|^2 at the end of the step
 *     global     h' = h (epsilon max_i |a| / max_i |b_6|)^(1/7)
 *
 * (Pham, Rein & Spiegel 2024, OJAp 7, 1; Rein & Spiegel 2015, MNRAS 446, 1424, equations 8 to 11.)
 *
 * Two things differ from the published timescale. A body's tau^2 is not below y3 / 4 y4: the published one is zero
 * where a body passes a point without acceleration, as in the figure of eight. (Kepler orbits never come to that
 * bound.) And a body whose |a| is below 2^-24 of the largest has no tau: the pulls at it may cancel but for rounding,
 * which no step is short enough for. Since tau is (length / |a|)^(1/2), such a body could only have the shortest one
 * if its length were that much shorter than the others'.
 *
 * A step whose h' is below h/4 is rejected; h' is at most 4 h.
 */
#include "integrators/gauss_radau_solve.kern.h"

enum { RADAU_COMPENSATED, RADAU_EPSILON, RADAU_CRITERION, RADAU_PARAMETERS };
enum { RADAU_TIMESCALE, RADAU_GLOBAL }; /* criterion */

#ifdef SHOAL_KERNEL
#define PROPAGATOR_ADAPTIVE 1

#define RADAU_MOST   4.0 /* growth of a step; more than the inverse of it in shrinking is a rejection */
#define RADAU_MOST_7 16384.0

/* x^(1/7) of 1e-9 <= x <= 4^7, to 1e-6: Halley's iteration from x^(1/8), within a factor of 1.45. */
LANE_FN real radau_root7(real x)
{
    real y = lane_sqrt(lane_sqrt(lane_sqrt(x)));
    for (int i = 0; i < 3; i++) {
        real y3 = y * y * y, y7 = y3 * y3 * y;
        y = y * lane_fma(lane_set(3.0), y7, 4.0 * x) / lane_fma(lane_set(4.0), y7, 3.0 * x);
    }
    return y;
}

/* (h' / h)^7 by the shortest timescale. */
LANE_FN real radau_by_timescale(int bodies, int n, const real *a, const real *b, double epsilon)
{
    const real zero = lane_set(0.0), least2 = team_least_square(bodies, n, a);
    real fastest = zero; /* 1 / tau^2 */
    for (int i = 0; i < bodies; i++) {
        real end[XYZ], d1[XYZ], d2[XYZ]; /* a at the end and its derivatives */
        LANE_UNROLL_XYZ
        for (int c = 0; c < XYZ; c++) {
            end[c] = b[6 * XYZ * n + c * n + i];
            d1[c] = 7.0 * end[c];
            d2[c] = 42.0 * end[c];
            LANE_UNROLL
            for (int k = RADAU_NODES - 2; k >= 0; k--) {
                const real bk = b[k * XYZ * n + c * n + i];
                end[c] = end[c] + bk;
                d1[c] = lane_fma(lane_set(k + 1), bk, d1[c]);
                d2[c] = lane_fma(lane_set(k * (k + 1)), bk, d2[c]);
            }
            end[c] = end[c] + a[c * n + i];
        }
        const real y2 = team_square(1, 0, end), y3 = team_square(1, 0, d1), y4 = team_square(1, 0, d2);
        const real rate = lane_min(4.0 * y4 / y3, (y3 + lane_sqrt(y2 * y4)) / (2.0 * y2));
        /* not a number, of a body that nothing pulls: not greater */
        fastest = lane_max(lane_select(y2 > least2, rate, zero), fastest);
    }
    fastest = team_max(fastest);
    return (5040.0 * epsilon) / (fastest * fastest * fastest * lane_sqrt(fastest));
}

/* (h' / h)^7 by the last coefficient of the bodies together. */
LANE_FN real radau_by_last_term(int bodies, int n, const real *a, const real *b, double epsilon)
{
    real most = lane_set(0.0), last = most;
    for (int i = 0; i < bodies; i++)
        for (int c = i; c < XYZ * n; c += n) {
            most = lane_max(most, lane_abs(a[c]));
            last = lane_max(last, lane_abs(b[6 * XYZ * n + c]));
        }
    return epsilon * team_max(most) / team_max(last);
}

LANE_BIG_FN real radau_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real *h)
{
    const real tried = *h;
    real a[XYZ * LANE_ROOM(n)], once[XYZ * LANE_ROOM(n)], twice[XYZ * LANE_ROOM(n)];
    real f[RADAU_VECTORS(n)], b[RADAU_VECTORS(n)];
    radau_solve(k, n, m, s, tried, a, f);
    radau_polynomial(n, f, b, once, twice);
    const double epsilon = k->propagator[RADAU_EPSILON];
    const int bodies = real_bodies(k, n);
    real gain = chosen(k, RADAU_CRITERION) == RADAU_TIMESCALE ? radau_by_timescale(bodies, n, a, b, epsilon)
                                                              : radau_by_last_term(bodies, n, a, b, epsilon);
    gain = lane_select(gain > lane_set(1e-9), gain, lane_set(1e-9)); /* what is no number shrinks, too */
    gain = radau_root7(lane_min(gain, lane_set(RADAU_MOST_7)));
    const mask good = gain * RADAU_MOST >= lane_set(1.0);
    radau_move(n, compensated, good, s, tried, a, b, once, twice);
    const real next = lane_min(lane_abs(tried) * gain, lane_set(k->dt_max));
    *h = lane_select(tried < lane_set(0.0), -next, next);
    return lane_select(good, tried, lane_set(0.0));
}

LANE_FN real propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real *h)
{
    return radau_step(k, n, compensated, m, s, h);
}

#endif
