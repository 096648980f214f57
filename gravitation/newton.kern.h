/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * newton.kern.h: Newtonian accelerations and jerks of all bodies of a system, G = 1.
 *
 *     a_i = sum_j m_j d / |d|^3,   jerk_i = sum_j m_j (dv / |d|^3 - 3 (d.dv) d / |d|^5),   d = x_j - x_i, dv = v_j - v_i
 *
 * (Makino & Aarseth 1992, PASJ 44, 141, equations 2 and 3.) Sums run over ascending body index with body 0 last. Two forms, same bits: `pairs` evaluates each
 * pair once; `rows` evaluates each pair twice, with fewer sums alive. Vectors are [3 * n], component * n + body.
 *
 * Operations a pair: 30 (acceleration), 44 (with jerk), of which 10 for lane_rsqrt after its seed.
 */

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

/* The order of a system's pairs, for both functions below: PAIR(i, j, to_i, to_j) with i < j in the pairs form; a row of i is
 * PAIR(i, j) for the others, written as one-sided pairs in the same direction of d as the two-sided form. */
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
            for (int j = 1; j < (n); j++)                         \
                if (j < i)                                        \
                    PAIR(j, i, 0, 1);                             \
                else if (j > i)                                   \
                    PAIR(i, j, 1, 0);                             \
            if ((first) == 0)                                     \
                PAIR(0, i, 0, 1);                                 \
        }                                                         \
        if ((first) == 0)                                         \
            for (int j = 1; j < (n); j++)                         \
                PAIR(0, j, 1, 0);                                 \
    }

LANE_FN void newton_acceleration(const shoal_kernel_args *k, int n, int first, const real *m, const real *x, real *a)
{
    LANE_UNROLL
    for (int c = 0; c < 3 * n; c++)
        a[c] = lane_set(0.0);
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
#define PAIR(i, j, to_i, to_j) newton_pair_jerk(n, i, j, m, x, v, a, jerk, to_i, to_j)
    NEWTON_ALL_PAIRS(n, 0, FORM(k), PAIR)
#undef PAIR
}
