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

/* ---- a pair ------------------------------------------------------------------------------------------------------------- */

/* What pairs add to: accelerations; these and jerks; jerks and snaps; or the derivatives of the last two along tangent vectors. */
enum { NEWTON_PULL, NEWTON_JERK, NEWTON_JERK_TANGENT, NEWTON_SNAP, NEWTON_SNAP_TANGENT };
enum { NEWTON_MOST_IN = 6, NEWTON_MOST_OUT = 2 };

/* Vectors whose differences d it takes: x, v of the bodies; a for snaps; then the same of the tangent vectors. And that it makes. */
LANE_FN int newton_takes(int kind) { return kind == NEWTON_PULL ? 1 : kind == NEWTON_JERK ? 2 : kind == NEWTON_JERK_TANGENT ? 4 : kind == NEWTON_SNAP ? 3 : 6; }
LANE_FN int newton_makes(int kind) { return kind == NEWTON_PULL ? 1 : 2; }

/* The vectors t and the scale s (returned): m_j s t is what body j adds to i. */
LANE_FN real newton_terms(int kind, const real *d, real *t)
{
    const real *u = d + 3;
    const real y = lane_rsqrt(dot(d, d));
    if (kind == NEWTON_PULL) {
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++)
            t[c] = d[c];
        return y * y * y;
    }
    const real y2 = y * y;
    if (kind == NEWTON_JERK) {
        const real alpha = -3.0 * dot(d, u) * y2;
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++) {
            t[c] = d[c];
            t[3 + c] = lane_fma(alpha, d[c], u[c]);
        }
        return y2 * y;
    }
    const real y3 = y2 * y;
    if (kind == NEWTON_JERK_TANGENT) {
        const real *e = d + 6, *f = d + 9;
        const real q = y2 * dot(d, e), q3 = -3.0 * q;
        const real alpha = -3.0 * y2 * dot(d, u);
        const real turn = lane_fma(d[2], f[2], lane_fma(d[1], f[1], lane_fma(d[0], f[0], dot(e, u))));
        const real change = lane_fma(-3.0 * y2, turn, -2.0 * q * alpha);
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++) {
            const real w = lane_fma(alpha, d[c], u[c]);
            t[c] = y3 * lane_fma(q3, d[c], e[c]);
            t[3 + c] = y3 * lane_fma(q3, w, lane_fma(change, d[c], lane_fma(alpha, e[c], f[c])));
        }
        return lane_set(1.0);
    }
    const real *b = d + 6;
    const real alpha = y2 * dot(d, u);
    if (kind == NEWTON_SNAP) {
        const real turn = lane_fma(d[2], b[2], lane_fma(d[1], b[1], lane_fma(d[0], b[0], dot(u, u))));
        const real beta = lane_fma(turn, y2, alpha * alpha);
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++) {
            t[c] = lane_fma(-3.0 * alpha, d[c], u[c]);
            t[3 + c] = lane_fma(-3.0 * beta, d[c], lane_fma(-6.0 * alpha, t[c], b[c]));
        }
        return y3;
    }
    const real *e = d + 9, *f = d + 12, *g = d + 15;
    const real q = y2 * dot(d, e), q3 = -3.0 * q;
    const real gamma = y2 * (dot(u, u) + dot(d, b));
    const real beta = lane_fma(alpha, alpha, gamma);
    const real to_alpha = lane_fma(y2, dot(e, u) + dot(d, f), -2.0 * q * alpha);
    real to_beta = lane_fma(lane_set(2.0), dot(u, f), dot(e, b) + dot(d, g));
    to_beta = lane_fma(y2, to_beta, 2.0 * lane_fma(alpha, to_alpha, -q * gamma));
    LANE_UNROLL_XYZ
    for (int c = 0; c < 3; c++) {
        const real w = lane_fma(-3.0 * alpha, d[c], u[c]);
        const real z = lane_fma(-3.0 * beta, d[c], lane_fma(-6.0 * alpha, w, b[c]));
        const real to_w = lane_fma(-3.0 * to_alpha, d[c], lane_fma(-3.0 * alpha, e[c], f[c]));
        const real to_z = lane_fma(-6.0 * to_alpha, w, lane_fma(-6.0 * alpha, to_w, g[c]));
        t[c] = lane_fma(q3, w, to_w);
        t[3 + c] = lane_fma(q3, z, lane_fma(-3.0 * to_beta, d[c], lane_fma(-3.0 * beta, e[c], to_z)));
    }
    return y3;
}

/* ---- all pairs of a system ---------------------------------------------------------------------------------------------- */

/* Bodies i < j, to either or both. in, out: the vectors of newton_takes, newton_makes. */
LANE_FN void newton_pair(int kind, int n, int i, int j, const real *m, const real *const *in, real *const *out, int to_i, int to_j)
{
    real d[3 * NEWTON_MOST_IN], t[3 * NEWTON_MOST_OUT];
    LANE_UNROLL_FULLY
    for (int v = 0; v < newton_takes(kind); v++) {
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++)
            d[3 * v + c] = in[v][c * n + j] - in[v][c * n + i];
    }
    const real scale = newton_terms(kind, d, t);
    if (to_i) {
        const real factor = m[j] * scale;
        LANE_UNROLL_FULLY
        for (int v = 0; v < newton_makes(kind); v++) {
            LANE_UNROLL_XYZ
            for (int c = 0; c < 3; c++)
                out[v][c * n + i] = lane_fma(factor, t[3 * v + c], out[v][c * n + i]);
        }
    }
    if (to_j) {
        const real factor = m[i] * scale;
        LANE_UNROLL_FULLY
        for (int v = 0; v < newton_makes(kind); v++) {
            LANE_UNROLL_XYZ
            for (int c = 0; c < 3; c++)
                out[v][c * n + j] = lane_fnma(factor, t[3 * v + c], out[v][c * n + j]);
        }
    }
}

/* A GPU's registers do not hold the sums of all pairs of more bodies, and its compiler gives up; the bits are the same. */
#ifdef __CUDACC__
#define NEWTON_FORM(k, kind) (N_BODIES > 5 && (kind) >= NEWTON_SNAP ? SHOAL_FORM_ROWS : FORM(k))
#else
#define NEWTON_FORM(k, kind) FORM(k)
#endif

/* first = 0: all of the bodies, whose vectors have stride n. first = 1: bodies 1, 2, ... among themselves; body 0 neither acts nor is
 * written. */
LANE_FN void newton_whole(const shoal_kernel_args *k, int kind, int n, int bodies, int first, const real *m, const real *const *in,
                          real *const *out)
{
    if (NEWTON_FORM(k, kind) == SHOAL_FORM_PAIRS) {
        LANE_UNROLL
        for (int i = 1; i < bodies; i++) {
            LANE_UNROLL
            for (int j = 1; j < bodies; j++)
                if (j > i)
                    newton_pair(kind, n, i, j, m, in, out, 1, 1);
        }
        if (first == 0) {
            LANE_UNROLL
            for (int j = 1; j < bodies; j++)
                newton_pair(kind, n, 0, j, m, in, out, 1, 1);
        }
        return;
    }
    for (int i = 1; i < bodies; i++) { /* one-sided pairs in the same direction of d */
        for (int j = 1; j < MASSIVE(k); j++)
            if (j < i)
                newton_pair(kind, n, j, i, m, in, out, 0, 1);
            else if (j > i)
                newton_pair(kind, n, i, j, m, in, out, 1, 0);
        if (first == 0)
            newton_pair(kind, n, 0, i, m, in, out, 0, 1);
    }
    if (first == 0)
        for (int j = 1; j < MASSIVE(k); j++)
            newton_pair(kind, n, 0, j, m, in, out, 1, 0);
}

#if TEAM > 1
/* The same for the thread's own body: pairs with those that have mass, in the same order; what a pair adds is odd in d, so that the bits
 * are the same. */
enum { NEWTON_ACTING = SHOAL_MASSIVE - TEAM_FIRST, NEWTON_OTHERS = NEWTON_ACTING < TEAM_PARTS ? NEWTON_ACTING : TEAM_PARTS - 1 };

/* Of the acting bodies 1, 2, ..., 0 (or 1, 2, ...) without the own one that of number s, counted from TEAM_FIRST; -1: there are not so many. */
LANE_FN int newton_other(int s)
{
    const int own = team_own(), number = TEAM_FIRST ? own : own == 0 ? NEWTON_ACTING - 1 : own - 1; /* its own in that order */
    s += own < NEWTON_ACTING && s >= number;
    return s >= NEWTON_ACTING ? -1 : TEAM_FIRST ? s : s == NEWTON_ACTING - 1 ? 0 : s + 1;
}

enum { NEWTON_PAIRS = TEAM_PARTS * (TEAM_PARTS - 1) / 2, NEWTON_VALUES = 1 + 3 * NEWTON_MOST_OUT };
/* Pair p: of bodies b and b + step, modulo their number. */
LANE_FN int newton_pair_of(int b, int step) { return (step - 1) * TEAM_PARTS + b; }

LANE_FN void newton_difference(int kind, int from, int to, real *d)
{
    LANE_UNROLL_FULLY
    for (int v = 0; v < newton_takes(kind); v++) {
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++)
            d[3 * v + c] = team_get(v, c, to) - team_get(v, c, from);
    }
}

LANE_FN void newton_team(int kind, int n, int own, const real *const *in, real *const *out)
{
    real d[3 * NEWTON_MOST_IN], t[3 * NEWTON_MOST_OUT];
    team_sync();
    LANE_UNROLL_FULLY
    for (int v = 0; v < newton_takes(kind); v++) {
        LANE_UNROLL_XYZ
        for (int c = 0; c < XYZ; c++)
            team_put(v, c, in[v][c * n + own]);
    }
    team_sync();
#if TEAM_OF_PAIRS
    double *pairs = team_numbers() + TEAM_PAIRS_FROM;
    LANE_UNROLL_TEAM
    for (int p = team_place(); p < NEWTON_PAIRS; p += TEAM) {
        const int b = p % TEAM_PARTS, step = p / TEAM_PARTS + 1;
        newton_difference(kind, b, (b + step) % TEAM_PARTS, d);
        pairs[p] = newton_terms(kind, d, t);
        LANE_UNROLL_FULLY
        for (int c = 0; c < 3 * newton_makes(kind); c++)
            pairs[(1 + c) * NEWTON_PAIRS + p] = t[c];
    }
    team_sync();
#endif
    LANE_UNROLL_TEAM
    for (int s = 0; s < NEWTON_OTHERS; s++) {
        const int other = newton_other(s);
        if (NEWTON_ACTING < TEAM_PARTS && other < 0)
            continue;
#if TEAM_OF_PAIRS
        const int ahead = (other - team_own() + TEAM_PARTS) % TEAM_PARTS, back = TEAM_PARTS - ahead;
        const int to = ahead < back || (ahead == back && team_own() < ahead); /* the pair is from the own body to the other */
        const int p = to ? newton_pair_of(team_own(), ahead) : newton_pair_of(other, back);
        const real scale = to ? pairs[p] : -pairs[p];
        LANE_UNROLL_FULLY
        for (int v = 0; v < newton_makes(kind); v++)
            t[3 * v + 0] = pairs[(1 + 3 * v + team_axis()) * NEWTON_PAIRS + p];
        const real factor = team_masses()[TEAM_FIRST + other] * scale;
        LANE_UNROLL_FULLY
        for (int v = 0; v < newton_makes(kind); v++)
            out[v][own] = lane_fma(factor, t[3 * v], out[v][own]);
#else
        newton_difference(kind, team_own(), other, d);
        const real factor = team_masses()[TEAM_FIRST + other] * newton_terms(kind, d, t);
        LANE_UNROLL_FULLY
        for (int v = 0; v < newton_makes(kind); v++) {
            LANE_UNROLL_XYZ
            for (int c = 0; c < XYZ; c++)
                out[v][c * n + own] = lane_fma(factor, team_component(t + 3 * v, c), out[v][c * n + own]);
        }
#endif
    }
}
#endif

LANE_FN void newton_pairs(const shoal_kernel_args *k, int kind, int n, int first, const real *m, const real *const *in, real *const *out)
{
    const int bodies = real_bodies(k, n);
#if TEAM > 1
    if (bodies == TEAM_FIRST + 1) {
        newton_team(kind, n, bodies - 1, in, out);
        return;
    }
#endif
    newton_whole(k, kind, n, bodies, first, m, in, out);
}

LANE_FN void newton_zero(int n, real *f)
{
    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++)
        f[c] = lane_set(0.0);
}

LANE_FN void newton_acceleration(const shoal_kernel_args *k, int n, int first, const real *m, const real *x, real *a)
{
    const int bodies = real_bodies(k, n);
    const real *in[] = {x, x + bodies};
    real *out[] = {a, a + bodies};
    newton_zero(n, a);
    if (VARIATIONAL(k)) /* what the velocities are to the jerk the tangent vectors are to the change of the acceleration */
        newton_pairs(k, NEWTON_JERK, n, first, m, in, out);
    else
        newton_pairs(k, NEWTON_PULL, n, first, m, in, out);
}

LANE_FN void newton_jerk(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v, real *a, real *jerk)
{
    const int bodies = real_bodies(k, n);
    const real *in[] = {x, v, x + bodies, v + bodies};
    real *out[] = {a, jerk}, *change[] = {a + bodies, jerk + bodies};
    newton_zero(n, a);
    newton_zero(n, jerk);
    newton_pairs(k, NEWTON_JERK, n, 0, m, in, out);
    if (VARIATIONAL(k))
        newton_pairs(k, NEWTON_JERK_TANGENT, n, 0, m, in, change);
}

/* Jerks and snaps of all bodies from their accelerations, whatever forces these are of. */
LANE_FN void newton_snap(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v, const real *a, real *jerk,
                         real *snap)
{
    const int bodies = real_bodies(k, n);
    const real *in[] = {x, v, a, x + bodies, v + bodies, a + bodies};
    real *out[] = {jerk, snap}, *change[] = {jerk + bodies, snap + bodies};
    newton_zero(n, jerk);
    newton_zero(n, snap);
    newton_pairs(k, NEWTON_SNAP, n, 0, m, in, out);
    if (VARIATIONAL(k))
        newton_pairs(k, NEWTON_SNAP_TANGENT, n, 0, m, in, change);
}
