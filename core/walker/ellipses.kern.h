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

/* All times, operation by operation: then none waits for another. */
#define WALKER_EACH   \
    LANE_UNROLL_FULLY \
    for (int q = 0; q < WALKER_TIMES; q++)

/* Coefficients of sin x / 2 = x P(x^2) and 2 cos x / 2 = Q(x^2), |x| <= 3.1425, to 1.1e-16 and 8e-18; for a start, to
 * 1e-4 and 2e-5. */
enum { WALKER_TERMS = 9, WALKER_ROUGH_TERMS = 4 };
LANE_TABLE double walker_half_sine[WALKER_TERMS - 1] = {
    0.5,
    -0x1.5555555555420p-6,
    0x1.11111111071dfp-12,
    -0x1.a01a0198a133dp-20,
    0x1.71de378f29aadp-28,
    -0x1.ae6334c53d3c4p-37,
    0x1.60e2330158e61p-46,
    -0x1.9e956f1a0fbdbp-56,
};
LANE_TABLE double walker_half_cosine[WALKER_TERMS] = {
    2.0,
    -0x1.ffffffffffffdp-3,
    0x1.5555555555409p-8,
    -0x1.6c16c16c0b179p-15,
    0x1.a01a0199c483dp-23,
    -0x1.27e4f9904229dp-31,
    0x1.1eece43f4171cp-40,
    -0x1.9351cce90e1c1p-50,
    0x1.9f3feea0a0bfcp-60,
};
LANE_TABLE double walker_rough_sine[WALKER_ROUGH_TERMS - 1] = {0.5, -0.0207597454, 0.0002385433};
LANE_TABLE double walker_rough_cosine[WALKER_ROUGH_TERMS] = {2.0, -0.24996776, 0.0051883609, -3.98652867e-05};

/* s = sin x / 2 and c = 2 cos x / 2 of some x, of n - 1 and n terms. */
LANE_FN void walker_halves(const double *sines, const double *cosines, int n, const real *x, real *s, real *c)
{
    real z[WALKER_TIMES];
    WALKER_EACH z[q] = x[q] * x[q];
    WALKER_EACH s[q] = lane_set(sines[n - 2]);
    WALKER_EACH c[q] = lane_fma(z[q], lane_set(cosines[n - 1]), lane_set(cosines[n - 2]));
    LANE_UNROLL_FULLY
    for (int i = n - 3; i >= 0; i--) {
        WALKER_EACH s[q] = lane_fma(s[q], z[q], lane_set(sines[i]));
        WALKER_EACH c[q] = lane_fma(c[q], z[q], lane_set(cosines[i]));
    }
    WALKER_EACH s[q] = x[q] * s[q];
}

/* Sine and cosine of |E| <= 3.1425, and 1 - e cos E. */
LANE_FN void walker_at(real e, const real *E, real *sine, real *cosine, real *slope)
{
    real s[WALKER_TIMES], c[WALKER_TIMES];
    walker_halves(walker_half_sine, walker_half_cosine, WALKER_TERMS, E, s, c);
    WALKER_EACH sine[q] = s[q] * c[q];
    WALKER_EACH s[q] = s[q] * s[q];
    WALKER_EACH cosine[q] = lane_fma(s[q], lane_set(-2.0), lane_set(1.0));
    WALKER_EACH slope[q] = lane_fma(e + e, s[q], 1.0 - e);
}

/* Eccentric anomalies, within 1e-4 while e < 0.45 and not so near for more: with s = e sin M / d,
 * d^2 = 1 - 2 e cos M + e^2, the anomaly E = M + arcsin s has sin E = sin M / d, cos E = (cos M - e) / d and leaves
 * s - arcsin s of Kepler's equation; from there by Newton's step. */
LANE_FN void walker_start(real e, const real *M, real *E)
{
    const real less = 1.0 - e, part = lane_min(e, lane_set(0.75)); /* that of arcsin stays within a radian */
    real s[WALKER_TIMES], c[WALKER_TIMES], d[WALKER_TIMES];
    walker_halves(walker_rough_sine, walker_rough_cosine, WALKER_ROUGH_TERMS, M, s, c);
    WALKER_EACH c[q] = e * (s[q] * c[q]);
    WALKER_EACH s[q] = s[q] * s[q];
    WALKER_EACH d[q] = lane_rsqrt_seed(lane_fma(4.0 * e, s[q], less * less));
    WALKER_EACH s[q] = lane_fnma(part + part, s[q], part * less);
    WALKER_EACH c[q] = c[q] * d[q]; /* e sin E */
    WALKER_EACH s[q] = s[q] * d[q]; /* e cos E */
    WALKER_EACH d[q] = lane_rsqrt_seed(1.0 - s[q]);
    WALKER_EACH
    {
        const real c2 = c[q] * c[q];
        s[q] = s[q] * (c[q] * c2 * lane_fma(c2, lane_set(3.0 / 40), lane_set(1.0 / 6)));
    }
    WALKER_EACH E[q] = M[q] + lane_fnma(s[q], d[q] * d[q], c[q]);
}

#define WALKER_AT_ONCE 0.45 /* eccentricity up to which one step from the start is enough */

/* Where bodies are on their ellipses at some times. */
typedef struct walker_arrival {
    real E[WALKER_TIMES], sine[WALKER_TIMES], cosine[WALKER_TIMES], inverse[WALKER_TIMES]; /* 1 / (1 - e cos E) */
    mask far[WALKER_TIMES];                                                                /* not there yet */
} walker_arrival;

/* From anomalies that are near by steps of fourth order, n (1 - h + 2 h^2 - t) with Newton's n. careful: they may be
 * far; steps are then within n / 2 .. 2 n. */
LANE_FN void walker_arrive(real e, const real *M, bool careful, walker_arrival *at)
{
    const real one = lane_set(1.0);
    real slope[WALKER_TIMES], n[WALKER_TIMES], h[WALKER_TIMES], by[WALKER_TIMES];
    walker_at(e, at->E, at->sine, at->cosine, slope);
    WALKER_EACH
    {
        const real root = lane_rsqrt_seed(slope[q]), seed = root * root, off = lane_fnma(slope[q], seed, one);
        by[q] = lane_fma(seed, lane_fma(off, off, off), seed);
    }
    WALKER_EACH h[q] = e * at->sine[q];
    WALKER_EACH n[q] = ((M[q] - at->E[q]) + h[q]) * by[q];
    WALKER_EACH h[q] = h[q] * by[q] * n[q];
    if (careful)
        WALKER_EACH at->far[q] = (lane_abs(n[q]) > 0x1p-13 * slope[q]) | (lane_abs(h[q]) > 0x1p-14 * slope[q]);
    WALKER_EACH
    {
        const real n2 = n[q] * n[q] * lane_set(1.0 / 6), t = lane_fma(by[q], n2, -n2); /* e cos E by = by - 1 */
        h[q] = lane_fma(h[q], lane_fma(h[q], lane_set(0.5), lane_set(-0.5)), -t);
    }
    if (careful)
        WALKER_EACH h[q] = lane_max(lane_set(-0.5), lane_min(h[q], one));
    WALKER_EACH n[q] = lane_fma(n[q], h[q], n[q]);
    WALKER_EACH at->E[q] = at->E[q] + n[q];
    WALKER_EACH
    {
        const real s = at->sine[q], c = at->cosine[q], n2 = n[q] * n[q],
                   turn = n[q] * lane_fma(n2, lane_set(-1.0 / 6), one), fall = 0.5 * n2;
        at->sine[q] = lane_fma(c, turn, lane_fnma(s, fall, s));
        at->cosine[q] = lane_fnma(s, turn, lane_fnma(c, fall, c));
    }
    WALKER_EACH slope[q] = lane_fnma(e, at->cosine[q], one);
    WALKER_EACH by[q] = lane_fma(by[q], lane_fnma(slope[q], by[q], one), by[q]);
    WALKER_EACH at->inverse[q] = lane_fma(by[q], lane_fnma(slope[q], by[q], one), by[q]);
}

/* Further steps on ellipses for which one may not be enough. */
LANE_CALLED_FN void walker_arrive_late(real e, const real *M, mask open, walker_arrival *at)
{
    enum { ROUNDS = 40 };
    const real half_turn = lane_set(WALKER_PI);
    WALKER_EACH at->far[q] = open;
    for (int round = 0; round < ROUNDS && lane_any(open); round++) {
        walker_arrival next = *at;
        open = open & lane_not(open);
        WALKER_EACH next.E[q] = lane_max(-half_turn, lane_min(next.E[q], half_turn));
        walker_arrive(e, M, true, &next);
        WALKER_EACH
        {
            const mask was = at->far[q];
            at->E[q] = lane_select(was, next.E[q], at->E[q]);
            at->sine[q] = lane_select(was, next.sine[q], at->sine[q]);
            at->cosine[q] = lane_select(was, next.cosine[q], at->cosine[q]);
            at->inverse[q] = lane_select(was, next.inverse[q], at->inverse[q]);
            at->far[q] = was & next.far[q];
            open = open | at->far[q];
        }
    }
}

/* At some mean anomalies, 0 <= e < 1. */
LANE_FN void walker_kepler_times(real e, const real *mean, mask wanted, walker_arrival *at)
{
    const mask late = wanted & (e > lane_set(WALKER_AT_ONCE));
    real M[WALKER_TIMES];
    WALKER_EACH
    {
        const real turns = lane_fma(mean[q], lane_set(0.5 / WALKER_PI), lane_set(0x1.8p52)) - 0x1.8p52;
        M[q] = lane_fnma(turns, lane_set(0x1.1a62633145c07p-52), lane_fnma(turns, lane_set(2 * WALKER_PI), mean[q]));
    }
    walker_start(e, M, at->E);
    walker_arrive(e, M, false, at);
    if (lane_any(late)) {
        real copy[WALKER_TIMES];
        walker_arrival then = *at;
        WALKER_EACH copy[q] = M[q];
        walker_arrive_late(e, copy, late, &then);
        *at = then;
    }
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
    real f[LANE_ROOM(n)], root[LANE_ROOM(n)], enclosed = m[0], total = m[0];
    bool wanted[2] = {false, false}; /* places, velocities */
    for (int i = 1; i < n; i++)
        total = total + m[i];
    for (int i = 1; i < n; i++) {
        enclosed = enclosed + m[i];
        f[i] = m[i] / (walk->frame == SHOAL_JACOBI ? enclosed : walk->frame == SHOAL_BARYCENTRIC ? m[0] : total);
        root[i] = lane_sqrt((1.0 - orbits[i].e) * (1.0 + orbits[i].e));
    }
    for (int w = 0; w < n_what; w++)
        wanted[leg->what[w] % 6 / 3] = true;
    LANE_KEEP_ROLLED
    for (long long row = 0; row < leg->n_times; row += WALKER_TIMES) {
        real along[4][LANE_ROOM(n)][WALKER_TIMES]; /* axes of each orbit: place and velocity */
        LANE_KEEP_ROLLED
        for (int i = 1; i < n; i++) {
            const walker_orbit *orbit = &orbits[i];
            real mean[WALKER_TIMES];
            walker_arrival at;
            WALKER_EACH
            {
                const double time = leg->times[row + q < leg->n_times ? row + q : leg->n_times - 1];
                mean[q] = lane_fma(orbit->n, lane_set(time - walk->epoch), orbit->M);
            }
            walker_kepler_times(orbit->e, mean, there, &at);
            if (wanted[0])
                WALKER_EACH
                {
                    along[0][i][q] = at.cosine[q] - orbit->e;
                    along[1][i][q] = at.sine[q];
                }
            if (wanted[1])
                WALKER_EACH
                {
                    along[2][i][q] = at.inverse[q] * at.sine[q];
                    along[3][i][q] = at.inverse[q] * at.cosine[q];
                }
        }
        LANE_KEEP_ROLLED
        for (int w = 0; w < n_what; w++) {
            const int body = leg->what[w] / 6, c = leg->what[w] % 6, axis = c % 3, first = c < 3 ? 0 : 2;
            real seen[WALKER_TIMES];
            WALKER_EACH seen[q] = lane_set(0.0);
            LANE_KEEP_ROLLED
            for (int i = 1; i < n; i++) {
                const real a = walker_share(walk, body, i, f[i]) * orbits[i].a, v = a * orbits[i].n,
                           x = (c < 3 ? a : -v) * orbits[i].first[axis],
                           y = (c < 3 ? a : v) * root[i] * orbits[i].second[axis];
                WALKER_EACH seen[q] = lane_fma(along[first][i][q], x, lane_fma(along[first + 1][i][q], y, seen[q]));
            }
            for (int q = 0; q < WALKER_TIMES && row + q < leg->n_times; q++)
                lane_put(leg->seen, id, (int)(row + q) * n_what + w, n_rows, there, seen[q]);
        }
    }
}
