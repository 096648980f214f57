/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * newton.kern.h: Newtonian accelerations and jerks of all bodies of a system, G = 1.
 *
 *     a_i = sum_j m_j d / |d|^3,   jerk_i = sum_j m_j (dv / |d|^3 - 3 (d.dv) d / |d|^5),   d = x_j - x_i, dv = v_j - v_i
 *
 * (Makino & Aarseth 1992, PASJ 44, 141, equations 2 and 3.) Sums run over ascending body index with body 0 last. Two forms, same bits: `pairs` evaluates each
 * pair once; `rows` evaluates for each body its pairs with those that have mass, with fewer sums alive. (A body without mass adds zeros, which
 * change no sum.) Vectors are [3 * n], component * n + body.
 *
 * Tangent vectors (bodies n/2 .. n-1 where there are some) get the derivatives of these along (e, f) = (delta d, delta dv): the
 * acceleration's is the jerk with e for dv, and with q = (d.e) / |d|^2, alpha = -3 (d.dv) / |d|^2, w = dv + alpha d
 *
 *     delta jerk_i = sum_j m_j (delta w - 3 q w) / |d|^3,   delta w = f + alpha e + delta alpha d,
 *     delta alpha = -3 (e.dv + d.f) / |d|^2 - 2 q alpha
 *
 * (Mikkola & Innanen 1999, Celest. Mech. Dyn. Astron. 74, 59; Rein & Tamayo 2016, MNRAS 459, 2275).
 *
 * With w = dv - 3 alpha d, alpha = (d.dv) / |d|^2, b = a_j - a_i and beta = (|dv|^2 + d.b) / |d|^2 + alpha^2
 *
 *     snap_i = sum_j m_j (b - 6 alpha w - 3 beta d) / |d|^3
 *
 * (Nitadori & Makino 2008, New Astronomy 13, 498, equations 6 to 11.) With z the bracket, g = delta b, gamma = beta - alpha^2
 *
 *     delta snap_i = sum_j m_j (delta z - 3 q z) / |d|^3
 *     delta z = g - 6 (delta alpha w + alpha delta w) - 3 (delta beta d + beta e)
 *     delta w = f - 3 (delta alpha d + alpha e),   delta alpha = (e.dv + d.f) / |d|^2 - 2 q alpha
 *     delta beta = (2 dv.f + e.b + d.g) / |d|^2 - 2 q gamma + 2 alpha delta alpha
 *
 * Operations a pair: 30 (acceleration), 44 (with jerk), 66 (jerk and snap), of which 10 for lane_rsqrt after its seed.
 */

LANE_FN real dot(const real *a, const real *b) { return lane_fma(a[2], b[2], lane_fma(a[1], b[1], a[0] * b[0])); }

/* first = 0: all bodies. first = 1: bodies 1..n-1 among themselves; body 0 neither acts nor is written. */
LANE_FN void newton_pair_acceleration(int n, int i, int j, const real *m, const real *x, real *a, int to_i, int to_j)
{
    real dx = x[j] - x[i], dy = x[n + j] - x[n + i], dz = x[2 * n + j] - x[2 * n + i];
    real r2 = lane_fma(dz, dz, lane_fma(dy, dy, dx * dx));
    real y = lane_rsqrt(r2);
    real y3 = y * y * y;
    if (to_i) {
        real c = m[j] * y3;
        a[i] = lane_fma(c, dx, a[i]);
        a[n + i] = lane_fma(c, dy, a[n + i]);
        a[2 * n + i] = lane_fma(c, dz, a[2 * n + i]);
    }
    if (to_j) {
        real c = m[i] * y3;
        a[j] = lane_fnma(c, dx, a[j]);
        a[n + j] = lane_fnma(c, dy, a[n + j]);
        a[2 * n + j] = lane_fnma(c, dz, a[2 * n + j]);
    }
}

LANE_FN void newton_pair_jerk(int n, int i, int j, const real *m, const real *x, const real *v, real *a, real *jerk, int to_i,
                              int to_j)
{
    real dx = x[j] - x[i], dy = x[n + j] - x[n + i], dz = x[2 * n + j] - x[2 * n + i];
    real ux = v[j] - v[i], uy = v[n + j] - v[n + i], uz = v[2 * n + j] - v[2 * n + i];
    real r2 = lane_fma(dz, dz, lane_fma(dy, dy, dx * dx));
    real rv = lane_fma(dz, uz, lane_fma(dy, uy, dx * ux));
    real y = lane_rsqrt(r2);
    real y2 = y * y;
    real y3 = y2 * y;
    real alpha = -3.0 * rv * y2;
    real wx = lane_fma(alpha, dx, ux), wy = lane_fma(alpha, dy, uy), wz = lane_fma(alpha, dz, uz);
    if (to_i) {
        real c = m[j] * y3;
        a[i] = lane_fma(c, dx, a[i]);
        a[n + i] = lane_fma(c, dy, a[n + i]);
        a[2 * n + i] = lane_fma(c, dz, a[2 * n + i]);
        jerk[i] = lane_fma(c, wx, jerk[i]);
        jerk[n + i] = lane_fma(c, wy, jerk[n + i]);
        jerk[2 * n + i] = lane_fma(c, wz, jerk[2 * n + i]);
    }
    if (to_j) {
        real c = m[i] * y3;
        a[j] = lane_fnma(c, dx, a[j]);
        a[n + j] = lane_fnma(c, dy, a[n + j]);
        a[2 * n + j] = lane_fnma(c, dz, a[2 * n + j]);
        jerk[j] = lane_fnma(c, wx, jerk[j]);
        jerk[n + j] = lane_fnma(c, wy, jerk[n + j]);
        jerk[2 * n + j] = lane_fnma(c, wz, jerk[2 * n + j]);
    }
}

/* The derivatives of the two along (e, f), where a and jerk belong to the tangent vectors. */
LANE_FN void newton_pair_tangent(int n, int i, int j, const real *m, const real *x, const real *v, const real *e, const real *f, real *a,
                                 real *jerk, int to_i, int to_j)
{
    real dx = x[j] - x[i], dy = x[n + j] - x[n + i], dz = x[2 * n + j] - x[2 * n + i];
    real ux = v[j] - v[i], uy = v[n + j] - v[n + i], uz = v[2 * n + j] - v[2 * n + i];
    real ex = e[j] - e[i], ey = e[n + j] - e[n + i], ez = e[2 * n + j] - e[2 * n + i];
    real fx = f[j] - f[i], fy = f[n + j] - f[n + i], fz = f[2 * n + j] - f[2 * n + i];
    real r2 = lane_fma(dz, dz, lane_fma(dy, dy, dx * dx));
    real y = lane_rsqrt(r2);
    real y2 = y * y;
    real y3 = y2 * y;
    real q = y2 * lane_fma(dz, ez, lane_fma(dy, ey, dx * ex));
    real alpha = -3.0 * y2 * lane_fma(dz, uz, lane_fma(dy, uy, dx * ux));
    real turn = lane_fma(dz, fz, lane_fma(dy, fy, lane_fma(dx, fx, lane_fma(ez, uz, lane_fma(ey, uy, ex * ux)))));
    real change = lane_fma(-3.0 * y2, turn, -2.0 * q * alpha);
    real q3 = -3.0 * q;
    real d[3] = {dx, dy, dz}, u[3] = {ux, uy, uz}, de[3] = {ex, ey, ez}, df[3] = {fx, fy, fz};
    LANE_UNROLL
    for (int c = 0; c < 3; c++) {
        real w = lane_fma(alpha, d[c], u[c]);
        real to_a = y3 * lane_fma(q3, d[c], de[c]);
        real to_jerk = y3 * lane_fma(q3, w, lane_fma(change, d[c], lane_fma(alpha, de[c], df[c])));
        if (to_i) {
            a[c * n + i] = lane_fma(m[j], to_a, a[c * n + i]);
            jerk[c * n + i] = lane_fma(m[j], to_jerk, jerk[c * n + i]);
        }
        if (to_j) {
            a[c * n + j] = lane_fnma(m[i], to_a, a[c * n + j]);
            jerk[c * n + j] = lane_fnma(m[i], to_jerk, jerk[c * n + j]);
        }
    }
}

/* Jerk and snap from the accelerations a. */
LANE_FN void newton_pair_snap(int n, int i, int j, const real *m, const real *x, const real *v, const real *a, real *jerk, real *snap,
                              int to_i, int to_j)
{
    real d[3], u[3], b[3];
    LANE_UNROLL
    for (int c = 0; c < 3; c++) {
        d[c] = x[c * n + j] - x[c * n + i];
        u[c] = v[c * n + j] - v[c * n + i];
        b[c] = a[c * n + j] - a[c * n + i];
    }
    real r2 = lane_fma(d[2], d[2], lane_fma(d[1], d[1], d[0] * d[0]));
    real rv = lane_fma(d[2], u[2], lane_fma(d[1], u[1], d[0] * u[0]));
    real v2 = lane_fma(u[2], u[2], lane_fma(u[1], u[1], u[0] * u[0]));
    real y = lane_rsqrt(r2);
    real y2 = y * y;
    real y3 = y2 * y;
    real alpha = rv * y2;
    real beta = lane_fma(lane_fma(d[2], b[2], lane_fma(d[1], b[1], lane_fma(d[0], b[0], v2))), y2, alpha * alpha);
    real of_i = m[j] * y3, of_j = m[i] * y3;
    LANE_UNROLL
    for (int c = 0; c < 3; c++) {
        real w = lane_fma(-3.0 * alpha, d[c], u[c]);
        real z = lane_fma(-3.0 * beta, d[c], lane_fma(-6.0 * alpha, w, b[c]));
        if (to_i) {
            jerk[c * n + i] = lane_fma(of_i, w, jerk[c * n + i]);
            snap[c * n + i] = lane_fma(of_i, z, snap[c * n + i]);
        }
        if (to_j) {
            jerk[c * n + j] = lane_fnma(of_j, w, jerk[c * n + j]);
            snap[c * n + j] = lane_fnma(of_j, z, snap[c * n + j]);
        }
    }
}

/* The derivatives of the two along the tangent vectors x, v, a + n/2, where jerk and snap belong to these. */
LANE_FN void newton_pair_snap_tangent(int n, int i, int j, const real *m, const real *x, const real *v, const real *a, real *jerk,
                                      real *snap, int to_i, int to_j)
{
    real d[3], u[3], b[3], e[3], f[3], g[3];
    LANE_UNROLL
    for (int c = 0; c < 3; c++) {
        const int at_i = c * n + i, at_j = c * n + j;
        d[c] = x[at_j] - x[at_i];
        u[c] = v[at_j] - v[at_i];
        b[c] = a[at_j] - a[at_i];
        e[c] = x[n / 2 + at_j] - x[n / 2 + at_i];
        f[c] = v[n / 2 + at_j] - v[n / 2 + at_i];
        g[c] = a[n / 2 + at_j] - a[n / 2 + at_i];
    }
    real y = lane_rsqrt(dot(d, d));
    real y2 = y * y;
    real y3 = y2 * y;
    real q = y2 * dot(d, e);
    real alpha = y2 * dot(d, u), gamma = y2 * (dot(u, u) + dot(d, b));
    real beta = lane_fma(alpha, alpha, gamma);
    real to_alpha = lane_fma(y2, dot(e, u) + dot(d, f), -2.0 * q * alpha);
    real to_beta = lane_fma(lane_set(2.0), dot(u, f), dot(e, b) + dot(d, g));
    to_beta = lane_fma(y2, to_beta, 2.0 * lane_fma(alpha, to_alpha, -q * gamma));
    real q3 = -3.0 * q;
    real of_i = m[j] * y3, of_j = m[i] * y3;
    LANE_UNROLL
    for (int c = 0; c < 3; c++) {
        real w = lane_fma(-3.0 * alpha, d[c], u[c]);
        real z = lane_fma(-3.0 * beta, d[c], lane_fma(-6.0 * alpha, w, b[c]));
        real to_w = lane_fma(-3.0 * to_alpha, d[c], lane_fma(-3.0 * alpha, e[c], f[c]));
        real to_z = lane_fma(-6.0 * to_alpha, w, lane_fma(-6.0 * alpha, to_w, g[c]));
        to_z = lane_fma(-3.0 * to_beta, d[c], lane_fma(-3.0 * beta, e[c], to_z));
        real to_jerk = lane_fma(q3, w, to_w), to_snap = lane_fma(q3, z, to_z);
        if (to_i) {
            jerk[c * n + i] = lane_fma(of_i, to_jerk, jerk[c * n + i]);
            snap[c * n + i] = lane_fma(of_i, to_snap, snap[c * n + i]);
        }
        if (to_j) {
            jerk[c * n + j] = lane_fnma(of_j, to_jerk, jerk[c * n + j]);
            snap[c * n + j] = lane_fnma(of_j, to_snap, snap[c * n + j]);
        }
    }
}

/* The order of a system's pairs, for the functions below: PAIR(i, j, to_i, to_j) with i < j in the pairs form; a row of i is
 * PAIR(i, j) for the others with mass, written as one-sided pairs in the same direction of d as the two-sided form. k: the arguments of the
 * function around. */
#define NEWTON_ALL_PAIRS(n, first, form, PAIR)                    \
    if ((form) == SHOAL_FORM_PAIRS) {                             \
        LANE_UNROLL                                               \
        for (int i = 1; i < (n); i++) {                           \
            LANE_UNROLL                                           \
            for (int j = 1; j < (n); j++)                         \
                if (j > i)                                        \
                    PAIR(i, j, 1, 1);                             \
        }                                                         \
        if ((first) == 0) {                                       \
            LANE_UNROLL                                           \
            for (int j = 1; j < (n); j++)                         \
                PAIR(0, j, 1, 1);                                 \
        }                                                         \
    } else {                                                      \
        for (int i = 1; i < (n); i++) {                           \
            for (int j = 1; j < MASSIVE(k); j++)                  \
                if (j < i)                                        \
                    PAIR(j, i, 0, 1);                             \
                else if (j > i)                                   \
                    PAIR(i, j, 1, 0);                             \
            if ((first) == 0)                                     \
                PAIR(0, i, 0, 1);                                 \
        }                                                         \
        if ((first) == 0)                                         \
            for (int j = 1; j < MASSIVE(k); j++)                  \
                PAIR(0, j, 1, 0);                                 \
    }

LANE_FN void newton_acceleration(const shoal_kernel_args *k, int n, int first, const real *m, const real *x, real *a)
{
    LANE_UNROLL
    for (int c = 0; c < 3 * n; c++)
        a[c] = lane_set(0.0);
    if (VARIATIONAL(k)) {
        const int bodies = n / 2;
#define PAIR(i, j, to_i, to_j) newton_pair_jerk(n, i, j, m, x, x + bodies, a, a + bodies, to_i, to_j)
        NEWTON_ALL_PAIRS(bodies, first, FORM(k), PAIR)
#undef PAIR
        return;
    }
#define PAIR(i, j, to_i, to_j) newton_pair_acceleration(n, i, j, m, x, a, to_i, to_j)
    NEWTON_ALL_PAIRS(n, first, FORM(k), PAIR)
#undef PAIR
}

LANE_FN void newton_jerk(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v, real *a, real *jerk)
{
    LANE_UNROLL
    for (int c = 0; c < 3 * n; c++) {
        a[c] = lane_set(0.0);
        jerk[c] = lane_set(0.0);
    }
    const int bodies = real_bodies(k, n);
#define PAIR(i, j, to_i, to_j) newton_pair_jerk(n, i, j, m, x, v, a, jerk, to_i, to_j)
    NEWTON_ALL_PAIRS(bodies, 0, FORM(k), PAIR)
#undef PAIR
    if (VARIATIONAL(k)) {
#define PAIR(i, j, to_i, to_j) \
    newton_pair_tangent(n, i, j, m, x, v, x + bodies, v + bodies, a + bodies, jerk + bodies, to_i, to_j)
        NEWTON_ALL_PAIRS(bodies, 0, FORM(k), PAIR)
#undef PAIR
    }
}

/* A GPU's registers do not hold the sums of all pairs of more bodies, and its compiler gives up; the bits are the same. */
#if defined(__CUDACC__) && N_BODIES > 5
#define NEWTON_SNAP_FORM(k) ((void)(k), SHOAL_FORM_ROWS)
#else
#define NEWTON_SNAP_FORM(k) FORM(k)
#endif

/* Jerks and snaps of all bodies from their accelerations, whatever forces these are of. */
LANE_FN void newton_snap(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v, const real *a, real *jerk,
                         real *snap)
{
    LANE_UNROLL
    for (int c = 0; c < 3 * n; c++) {
        jerk[c] = lane_set(0.0);
        snap[c] = lane_set(0.0);
    }
    const int bodies = real_bodies(k, n);
#define PAIR(i, j, to_i, to_j) newton_pair_snap(n, i, j, m, x, v, a, jerk, snap, to_i, to_j)
    NEWTON_ALL_PAIRS(bodies, 0, NEWTON_SNAP_FORM(k), PAIR)
#undef PAIR
    if (VARIATIONAL(k)) {
#define PAIR(i, j, to_i, to_j) newton_pair_snap_tangent(n, i, j, m, x, v, a, jerk + bodies, snap + bodies, to_i, to_j)
        NEWTON_ALL_PAIRS(bodies, 0, NEWTON_SNAP_FORM(k), PAIR)
#undef PAIR
    }
}
