/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hybrid_drift.kern.h: the drift of hybrid.kern.h for planets that are near another one or the star: heliocentric
 * positions x and their velocities, integrated over a step with as many substeps as it takes,
 *
 *     x_i'' = -m_0 x_i / |x_i|^3  +  sum over near pairs m_j d / |d|^3  -  [all] sum_j m_j x_j / |x_j|^3,     d = x_j -
 *                                 x_i
 *
 * where the last term belongs to lanes in which everything drifts (a planet near the star) and nothing is kicked. Extra
 * forces are added there, at velocities that follow from the stages before by interpolation of their accelerations: of
 * order 8, or, if they depend on velocities, of order 3 in what they do by them. The estimate sees that: it is of order
 * 4 then, and errors go as tolerance^(3/4).
 *
 * The pair of Runge-Kutta-Nystroem formulae of orders 8 and 6, nine stages, the last one being the first of the next
 * substep: Dormand, El-Mikkawy & Prince 1987, IMA J. Numer. Anal. 7, 423. Each lane has its own substeps: the
 * difference of the two orders, positions in units of |x| and velocities in units of (m_0 / |x|)^(1/2), is kept below
 * the tolerance for every planet that drifts; the result of order 8 goes on. Sums are of the changes since the step's
 * start, so that its rounding does not grow with the substeps.
 *
 * Operations a substep with p planets near in q pairs: 120 p + 240 q + 290 p for the sums; where
 * everything drifts 100 p more.
 */
/* Of few planets the loops over them are unrolled; on a GPU their numbers are in registers then, of the fewest loops
 * over stages unrolled, too. Of two planets, on a GPU of three, it takes longer to ask what no lane needs than to
 * make it. */
#if !defined(__CUDACC__)
#define DRIFT_IN_REGISTERS 0
#if defined(N_BODIES) && N_BODIES <= 4
#define DRIFT_UNROLL LANE_UNROLL
#else
#define DRIFT_UNROLL
#endif
#define DRIFT_UNROLL_STAGES
#elif N_BODIES <= 6
#define DRIFT_IN_REGISTERS 1
#define DRIFT_UNROLL       LANE_UNROLL
#else
#define DRIFT_IN_REGISTERS 0
#define DRIFT_UNROLL       LANE_KEEP_ROLLED
#endif
#if defined(__CUDACC__) && N_BODIES <= 4 && !SHOAL_FORCES
#define DRIFT_UNROLL_STAGES LANE_UNROLL
#elif defined(__CUDACC__)
#define DRIFT_UNROLL_STAGES LANE_KEEP_ROLLED
#endif
#if defined(N_BODIES) && (N_BODIES <= 3 || (defined(__CUDACC__) && N_BODIES <= 4))
#define DRIFT_SKIPS(lanes) false
#else
#define DRIFT_SKIPS(lanes) (!lane_any(lanes))
#endif

enum { NYSTROM_STAGES = 9, NYSTROM_ATTEMPTS = 10000 };

LANE_TABLE double nystrom_c[NYSTROM_STAGES] = {0, 1.0 / 20, 1.0 / 10, 3.0 / 10, 1.0 / 2, 7.0 / 10, 9.0 / 10, 1, 1};

/* row after row below the diagonal; the last row is b as well */
/* clang-format off */
LANE_TABLE double nystrom_a[] = {
    1.0 / 800,
    1.0 / 600, 1.0 / 300,
    9.0 / 200, -9.0 / 100, 9.0 / 100,
    -66701.0 / 197352, 28325.0 / 32892, -2665.0 / 5482, 2170.0 / 24669,
    227015747.0 / 304251000, -54897451.0 / 30425100, 12942349.0 / 10141700, -9499.0 / 304251, 539.0 / 9250,
    -1131891597.0 / 901789000, 41964921.0 / 12882700, -6663147.0 / 3220675, 270954.0 / 644135, -108.0 / 5875,
    114.0 / 1645,
    13836959.0 / 3667458, -17731450.0 / 1833729, 1063919505.0 / 156478208, -33213845.0 / 39119552,
    13335.0 / 28544, -705.0 / 14272,
    1645.0 / 57088,
    223.0 / 7938, 0, 1175.0 / 8064, 925.0 / 6048, 41.0 / 448, 925.0 / 14112, 1175.0 / 72576, 0,
};
/* clang-format on */

/* velocities at the stages: the integral of the polynomial through the accelerations of stages 0, 2, 3, ... before;
 * the last row is that of order 8 */
/* clang-format off */
LANE_TABLE double nystrom_w[] = {
    1.0 / 20,
    0, 1.0 / 10,
    -3.0 / 20, 0, 9.0 / 20,
    2.0 / 9, 0, -5.0 / 24, 35.0 / 72,
    -119.0 / 600, 0, 637.0 / 960, -49.0 / 160, 2597.0 / 4800,
    234.0 / 875, 0, -1377.0 / 3200, 3267.0 / 3200, -8991.0 / 16000, 13527.0 / 22400,
    0, 0, 275.0 / 1152, 25.0 / 288, 67.0 / 192, 25.0 / 288, 275.0 / 1152,
    223.0 / 7938, 0, 5875.0 / 36288, 4625.0 / 21168, 41.0 / 224, 4625.0 / 21168, 5875.0 / 36288, 223.0 / 7938,
};
/* clang-format on */

/* velocities, order 8 */
LANE_TABLE double nystrom_bv[NYSTROM_STAGES] = {
    223.0 / 7938, 0, 5875.0 / 36288, 4625.0 / 21168, 41.0 / 224, 4625.0 / 21168, 5875.0 / 36288, 223.0 / 7938, 0,
};

/* order 8 minus order 6, positions and velocities */
/* clang-format off */
LANE_TABLE double nystrom_ex[NYSTROM_STAGES] = {
    223.0 / 7938 - 7987313.0 / 109941300, 0, 1175.0 / 8064 - 1610737.0 / 44674560, 925.0 / 6048 - 10023263.0 / 33505920,
    41.0 / 448 + 497221.0 / 12409600, 925.0 / 14112 - 10023263.0 / 78180480, 1175.0 / 72576 - 1610737.0 / 402071040,
    0, 0,
};
/* clang-format on */
/* clang-format off */
LANE_TABLE double nystrom_ev[NYSTROM_STAGES] = {
    223.0 / 7938 - 7987313.0 / 109941300, 0, 5875.0 / 36288 - 1610737.0 / 40207104,
    4625.0 / 21168 - 10023263.0 / 23454144,
    41.0 / 224 + 497221.0 / 6204800, 4625.0 / 21168 - 10023263.0 / 23454144, 5875.0 / 36288 - 1610737.0 / 40207104,
    223.0 / 7938 + 4251941.0 / 54970650, -3.0 / 20,
};
/* clang-format on */

/* Which planets drift together: near[i * n + j], i < j, of those with a mass (HYBRID_PAIRS); drifts[i] for those in
 * a near pair, and so for their tangent vectors; all for lanes in which everybody does. */
typedef struct hybrid_flags {
    const mask *near, *drifts;
    mask all;
} hybrid_flags;

/* a += the extra forces, relative to the star, in lanes where everything drifts. */
LANE_BIG_FN void drift_forces(const shoal_kernel_args *k, int n, const real *m, mask all, const real *x, const real *v,
                              real *a)
{
    const int bodies = real_bodies(k, n);
    real w[6 * LANE_ROOM(n)], f[3 * LANE_ROOM(n)], mass = m[0];
    DRIFT_UNROLL
    for (int i = 1; i < bodies; i++)
        mass = mass + m[i];
    DRIFT_UNROLL
    for (int first = 0; first < n; first += bodies)
        DRIFT_UNROLL
    for (int c = 0; c < 6; c++) {
        const real *from = (c < 3 ? x + c * n : v + (c - 3) * n) + first;
        real *to = w + c * n + first, sum = lane_set(0.0);
        DRIFT_UNROLL
        for (int i = 1; i < bodies; i++)
            sum = lane_fma(m[i], from[i], sum);
        to[0] = -sum / mass;
        DRIFT_UNROLL
        for (int i = 1; i < bodies; i++)
            to[i] = from[i] + to[0];
    }
    DRIFT_UNROLL
    for (int c = 0; c < 3 * n; c++)
        f[c] = lane_set(0.0);
    forces_add(k, n, m, w, w + 3 * n, f);
    DRIFT_UNROLL
    for (int first = 0; first < n; first += bodies)
        DRIFT_UNROLL
    for (int c = first; c < 3 * n; c += n)
        DRIFT_UNROLL
    for (int i = 1; i < bodies; i++)
        a[c + i] = lane_select(all, a[c + i] + (f[c + i] - f[c]), a[c + i]);
}

/* What a pair adds to the accelerations of its tangent vectors in the lanes `where`, y = 1 / its distance. */
/* long: inlined, so that arguments cost nothing */
LANE_FN void pair_tangent(int n, int bodies, int i, int j, const real *m, const real *x, mask where, real y, real *a)
{
    real d[3], e[3], change[3];
    DRIFT_UNROLL
    for (int c = 0; c < 3; c++) {
        d[c] = x[c * n + j] - x[c * n + i];
        e[c] = x[c * n + bodies + j] - x[c * n + bodies + i];
    }
    pull_tangent(d, e, y, change);
    DRIFT_UNROLL
    for (int c = 0; c < 3; c++) {
        real *to_i = &a[c * n + bodies + i], *to_j = &a[c * n + bodies + j];
        *to_i = lane_select(where, lane_fma(m[j], change[c], *to_i), *to_i);
        *to_j = lane_select(where, lane_fnma(m[i], change[c], *to_j), *to_j);
    }
}

/* What the planets' pulls on the star take from their accelerations in the lanes `all`, y = 1 / their distances from
 * it. */
LANE_FN void drift_indirect(const shoal_kernel_args *k, int n, const real *m, mask all, const real *x, const real *y,
                            real *a)
{
    const int bodies = real_bodies(k, n);
    real sum[6] = {lane_set(0.0), lane_set(0.0), lane_set(0.0), lane_set(0.0), lane_set(0.0), lane_set(0.0)}, change[3];
    DRIFT_UNROLL
    for (int i = 1; i < bodies; i++) {
        const real pull = m[i] * (y[i] * y[i] * y[i]);
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++)
            sum[c] = lane_fma(pull, x[c * n + i], sum[c]);
        if (VARIATIONAL(k)) {
            const real d[3] = {x[i], x[n + i], x[2 * n + i]},
                       e[3] = {x[bodies + i], x[n + bodies + i], x[2 * n + bodies + i]};
            pull_tangent(d, e, y[i], change);
            DRIFT_UNROLL
            for (int c = 0; c < 3; c++)
                sum[3 + c] = lane_fma(m[i], change[c], sum[3 + c]);
        }
    }
    DRIFT_UNROLL
    for (int first = 0; first < n; first += bodies)
        DRIFT_UNROLL
    for (int i = 1; i < bodies; i++)
        DRIFT_UNROLL
    for (int c = 0; c < 3; c++) {
        real *to = &a[c * n + first + i];
        *to = lane_select(all, *to - sum[first > 0 ? 3 + c : c], *to);
    }
}

/* v: velocities relative to the star, for the forces. */
LANE_FN void drift_acceleration(const shoal_kernel_args *k, int n, const real *m, hybrid_flags flags, const real *x,
                                const real *v, real *a)
{
    const int bodies = real_bodies(k, n);
    real y0[LANE_ROOM(n)], change[3]; /* 1 / the distance from the star */
    DRIFT_UNROLL
    for (int i = 1; i < bodies; i++) {
        if (DRIFT_SKIPS(flags.drifts[i]))
            continue;
        const real *p = x + i;
        const real y = lane_rsqrt(lane_fma(p[2 * n], p[2 * n], lane_fma(p[n], p[n], p[0] * p[0])));
        const real pull = -(m[0] * (y * y * y));
        y0[i] = y;
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++)
            a[c * n + i] = pull * p[c * n];
        if (VARIATIONAL(k)) {
            const real d[3] = {p[0], p[n], p[2 * n]}, e[3] = {p[bodies], p[n + bodies], p[2 * n + bodies]};
            pull_tangent(d, e, y, change);
            DRIFT_UNROLL
            for (int c = 0; c < 3; c++)
                a[c * n + bodies + i] = -m[0] * change[c];
        }
    }
    DRIFT_UNROLL
    for (int i = 1; i < bodies; i++) {
        if (i >= MASSIVE(k))
            break;
        DRIFT_UNROLL
        for (int j = i + 1; j < bodies; j++) {
            const mask near = flags.near[i * n + j];
            if (DRIFT_SKIPS(near))
                continue;
            const real d[3] = {x[j] - x[i], x[n + j] - x[n + i], x[2 * n + j] - x[2 * n + i]};
            const real y = lane_rsqrt(lane_fma(d[2], d[2], lane_fma(d[1], d[1], d[0] * d[0])));
            const real y3 = y * y * y;
            LANE_UNROLL_XYZ
            for (int c = 0; c < 3; c++) {
                a[c * n + i] = lane_select(near, lane_fma(m[j] * y3, d[c], a[c * n + i]), a[c * n + i]);
                a[c * n + j] = lane_select(near, lane_fnma(m[i] * y3, d[c], a[c * n + j]), a[c * n + j]);
            }
            if (VARIATIONAL(k))
                pair_tangent(n, bodies, i, j, m, x, near, y, a);
        }
    }
    if (lane_any(flags.all)) {
        drift_indirect(k, n, m, flags.all, x, y0, a);
        if (FORCES(k))
            drift_forces(k, n, m, flags.all, x, v, a);
    }
}

/* A substep of every lane in work. */
typedef struct drift_work {
    const real *x, *v; /* [3 * n] at the start of the drift */
    real *dx, *dv;     /* [3 * n] the changes since */
    real *f;           /* [stage][3 * n], stage 0 being known */
    real *nx, *nv;     /* [3 * n] the changes after the substep */
} drift_work;

/* Tries a substep; returns the square of its error in units of the tolerance. */
/* long: stage after stage of one method, on the same arrays in registers */
LANE_FN real drift_try(const shoal_kernel_args *k, int n, const real *m, hybrid_flags flags, drift_work w, real step,
                       double tolerance)
{
    const real step2 = step * step, mass_inverse = 1.0 / m[0];
    real *at = w.nv; /* place for the stages until the velocities are known */
    real worst = lane_set(0.0), velocity[3 * LANE_ROOM(n)];
    const double *row = nystrom_a, *velocity_row = nystrom_w;
    DRIFT_UNROLL_STAGES
    for (int stage = 1; stage < NYSTROM_STAGES; stage++) {
        const bool last = stage == NYSTROM_STAGES - 1; /* which is the substep's end: as a change */
        DRIFT_UNROLL
        for (int i = 1; i < n; i++) {
            if (DRIFT_SKIPS(flags.drifts[i]))
                continue;
            const real way = nystrom_c[stage] * step;
            real sum[3];
            LANE_UNROLL_XYZ
            for (int c = 0; c < 3; c++)
                sum[c] = row[0] * w.f[c * n + i];
            DRIFT_UNROLL_STAGES
            for (int l = 1; l < stage; l++) {
                if (row[l] == 0)
                    continue;
                const real weight = lane_set(row[l]), *f = w.f + l * 3 * n + i;
                LANE_UNROLL_XYZ
                for (int c = 0; c < 3; c++)
                    sum[c] = lane_fma(weight, f[c * n], sum[c]);
            }
            LANE_UNROLL_XYZ
            for (int c = 0; c < 3; c++) {
                const int at_c = c * n + i;
                const real v = w.v[at_c] + w.dv[at_c], from = last ? w.dx[at_c] : w.x[at_c] + w.dx[at_c];
                w.nx[at_c] = lane_fma(step2, sum[c], lane_fma(way, v, from));
                at[at_c] = last ? w.x[at_c] + w.nx[at_c] : w.nx[at_c];
                if (FORCES(k)) {
                    real change = lane_set(0.0);
                    DRIFT_UNROLL_STAGES
                    for (int l = 0; l < stage; l++)
                        change = lane_fma(lane_set(velocity_row[l]), w.f[l * 3 * n + at_c], change);
                    velocity[at_c] = lane_fma(step, change, v);
                }
            }
        }
        drift_acceleration(k, n, m, flags, at, velocity, w.f + stage * 3 * n);
        row += stage;
        velocity_row += stage;
    }
    DRIFT_UNROLL
    for (int i = 1; i < n; i++) {
        if (DRIFT_SKIPS(flags.drifts[i]))
            continue;
        real r2 = lane_set(0.0), ex2 = lane_set(0.0), ev2 = lane_set(0.0), v[3], ex[3], ev[3];
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++)
            v[c] = ex[c] = ev[c] = lane_set(0.0);
        DRIFT_UNROLL_STAGES
        for (int l = 0; l < NYSTROM_STAGES; l++) {
            const real *f = w.f + l * 3 * n + i;
            LANE_UNROLL_XYZ
            for (int c = 0; c < 3; c++) {
                if (nystrom_bv[l] != 0)
                    v[c] = lane_fma(lane_set(nystrom_bv[l]), f[c * n], v[c]);
                if (nystrom_ex[l] != 0)
                    ex[c] = lane_fma(lane_set(nystrom_ex[l]), f[c * n], ex[c]);
                if (nystrom_ev[l] != 0)
                    ev[c] = lane_fma(lane_set(nystrom_ev[l]), f[c * n], ev[c]);
            }
        }
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++) {
            r2 = lane_fma(at[c * n + i], at[c * n + i], r2);
            w.nv[c * n + i] = lane_fma(step, v[c], w.dv[c * n + i]);
            ex2 = lane_fma(ex[c], ex[c], ex2);
            ev2 = lane_fma(ev[c], ev[c], ev2);
        }
        if (i >= real_bodies(k, n))
            continue;
        const real y = lane_rsqrt(r2);
        const real error = lane_fma(step2 * ex2 * y, y, ev2 * (r2 * y) * mass_inverse) * step2;
        /* what is not a number is the worst for good */
        worst = lane_select(flags.drifts[i] & (worst == worst) & lane_not(error <= worst), error, worst);
    }
    return worst * (1 / (tolerance * tolerance));
}
