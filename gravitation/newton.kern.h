/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * newton.kern.h: Newtonian accelerations and jerks of all bodies of a system, G = 1.
 *
 *     a_i = sum_j m_j d / |d|^3,   jerk_i = sum_j m_j (dv / |d|^3 - 3 (d.dv) d / |d|^5),   d = x_j - x_i, dv = v_j -
 *                                  v_i
 *
 * (Makino & Aarseth 1992, PASJ 44, 141, equations 2 and 3.) Vectors are [3 * n], component * n + body.
 *
 * The order of a sum. Bodies are numbered from the first that takes part. To body l its partner l ^ 1 comes first, then
 * the other pair of its four (those of the same l >> 2), then all beyond the four; each of these from the last body to
 * the first, so that the central one comes late. The order does not depend on how many bodies there are (one without
 * mass adds zeros, which change no sum), and lets a thread of a GPU have one, two or four of them, and two threads five
 * of ten.
 *
 * Two forms, same bits: `pairs` evaluates each pair once; `rows` evaluates for each body its pairs with those that have
 * mass, with fewer sums alive.
 *
 * Tangent vectors (bodies n/2 .. n-1 where there are some) get the derivatives of these along (e, f) = (delta d, delta
 * dv): the acceleration's is the jerk with e for dv, and with q = (d.e) / |d|^2, alpha = -3 (d.dv) / |d|^2, w = dv +
 * alpha d
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
 * (Nitadori & Makino 2008, New Astronomy 13, 498, equations 6 to 11.) With z the bracket, g = delta b, gamma = beta -
 * alpha^2
 *
 *     delta snap_i = sum_j m_j (delta z - 3 q z) / |d|^3
 *     delta z = g - 6 (delta alpha w + alpha delta w) - 3 (delta beta d + beta e)
 *     delta w = f - 3 (delta alpha d + alpha e),   delta alpha = (e.dv + d.f) / |d|^2 - 2 q alpha
 *     delta beta = (2 dv.f + e.b + d.g) / |d|^2 - 2 q gamma + 2 alpha delta alpha
 *
 * Operations a pair: 27 (acceleration), 44 (with jerk), 66 (jerk and snap), of which 10 for lane_rsqrt after its seed.
 */

LANE_FN real dot(const real *a, const real *b)
{
    return lane_fma(a[2], b[2], lane_fma(a[1], b[1], a[0] * b[0]));
}

typedef struct vec {
    real x, y, z;
} vec;

LANE_FN vec vec_at(int n, int i, const real *x)
{
    const vec a = {x[i], x[n + i], x[2 * n + i]};
    return a;
}
LANE_FN vec vec_difference(vec a, vec b)
{
    const vec c = {a.x - b.x, a.y - b.y, a.z - b.z};
    return c;
}
/* scale a, and scale a + b */
LANE_FN vec vec_scale(real scale, vec a)
{
    const vec c = {scale * a.x, scale * a.y, scale * a.z};
    return c;
}
LANE_FN vec vec_add(real scale, vec a, vec b)
{
    const vec c = {lane_fma(scale, a.x, b.x), lane_fma(scale, a.y, b.y), lane_fma(scale, a.z, b.z)};
    return c;
}
/* a.b, and a.b + c */
LANE_FN real vec_dot(vec a, vec b)
{
    return lane_fma(a.z, b.z, lane_fma(a.y, b.y, a.x * b.x));
}
LANE_FN real vec_dot_add(vec a, vec b, real c)
{
    return lane_fma(a.z, b.z, lane_fma(a.y, b.y, lane_fma(a.x, b.x, c)));
}

/* ---- a pair ------------------------------------------------------------------------------------------------------ */

/* What pairs add to: accelerations; these and jerks; jerks and snaps; or the derivatives of the last two along
 * tangent vectors. */
enum { NEWTON_PULL, NEWTON_JERK, NEWTON_JERK_TANGENT, NEWTON_SNAP, NEWTON_SNAP_TANGENT };

/* Vectors that it takes: x, v of the bodies; a for snaps; then the same of the tangent vectors. And that it makes. */
LANE_FN int newton_takes(int kind)
{
    return kind == NEWTON_PULL           ? 1
           : kind == NEWTON_JERK         ? 2
           : kind == NEWTON_JERK_TANGENT ? 4
           : kind == NEWTON_SNAP         ? 3
                                         : 6;
}
LANE_FN int newton_makes(int kind)
{
    return kind == NEWTON_PULL ? 1 : 2;
}

/* Of a body, or their differences of two. */
typedef struct newton_vectors {
    vec d, u, b, e, f, g;
} newton_vectors;

/* scale * these is what a body of mass 1 adds. */
typedef struct newton_terms {
    real scale;
    vec first, second;
} newton_terms;

LANE_FN newton_vectors newton_at(int kind, int n, int i, const real *const *in)
{
    newton_vectors at;
    at.d = vec_at(n, i, in[0]);
    if (newton_takes(kind) >= 2)
        at.u = vec_at(n, i, in[1]);
    if (kind == NEWTON_JERK_TANGENT) {
        at.e = vec_at(n, i, in[2]);
        at.f = vec_at(n, i, in[3]);
    }
    if (kind >= NEWTON_SNAP)
        at.b = vec_at(n, i, in[2]);
    if (kind == NEWTON_SNAP_TANGENT) {
        at.e = vec_at(n, i, in[3]);
        at.f = vec_at(n, i, in[4]);
        at.g = vec_at(n, i, in[5]);
    }
    return at;
}

LANE_FN newton_vectors newton_difference(int kind, newton_vectors to, newton_vectors from)
{
    newton_vectors d;
    d.d = vec_difference(to.d, from.d);
    if (newton_takes(kind) >= 2)
        d.u = vec_difference(to.u, from.u);
    if (kind >= NEWTON_SNAP)
        d.b = vec_difference(to.b, from.b);
    if (kind == NEWTON_JERK_TANGENT || kind == NEWTON_SNAP_TANGENT) {
        d.e = vec_difference(to.e, from.e);
        d.f = vec_difference(to.f, from.f);
    }
    if (kind == NEWTON_SNAP_TANGENT)
        d.g = vec_difference(to.g, from.g);
    return d;
}

/* What both bodies of a pair have in common, of a pull or a jerk; and their terms from that. */
typedef struct newton_factors {
    real scale, alpha;
} newton_factors;

LANE_FN newton_factors newton_factors_of(int kind, newton_vectors at)
{
    const real y = lane_rsqrt(vec_dot(at.d, at.d)), y2 = y * y;
    newton_factors f = {y2 * y, y2};
    if (kind == NEWTON_JERK)
        f.alpha = -3.0 * vec_dot(at.d, at.u) * y2;
    return f;
}

LANE_FN newton_terms newton_terms_from(int kind, newton_vectors at, newton_factors f)
{
    newton_terms t;
    t.scale = f.scale;
    t.first = at.d;
    if (kind == NEWTON_JERK)
        t.second = vec_add(f.alpha, at.d, at.u);
    return t;
}

LANE_FN newton_terms newton_terms_of(int kind, newton_vectors at)
{
    if (kind <= NEWTON_JERK)
        return newton_terms_from(kind, at, newton_factors_of(kind, at));
    const vec d = at.d, u = at.u, b = at.b, e = at.e, f = at.f, g = at.g;
    newton_terms t;
    const real y = lane_rsqrt(vec_dot(d, d));
    const real y2 = y * y, y3 = y2 * y;
    t.scale = y3;
    if (kind == NEWTON_JERK_TANGENT) {
        const real q = y2 * vec_dot(d, e), q3 = -3.0 * q;
        const real alpha = -3.0 * y2 * vec_dot(d, u);
        const real change = lane_fma(-3.0 * y2, vec_dot_add(d, f, vec_dot(e, u)), -2.0 * q * alpha);
        t.first = vec_scale(y3, vec_add(q3, d, e));
        t.second = vec_scale(y3, vec_add(q3, vec_add(alpha, d, u), vec_add(change, d, vec_add(alpha, e, f))));
        t.scale = lane_set(1.0);
        return t;
    }
    const real alpha = y2 * vec_dot(d, u);
    const vec w = vec_add(-3.0 * alpha, d, u);
    if (kind == NEWTON_SNAP) {
        const real beta = lane_fma(vec_dot_add(d, b, vec_dot(u, u)), y2, alpha * alpha);
        t.first = w;
        t.second = vec_add(-3.0 * beta, d, vec_add(-6.0 * alpha, w, b));
        return t;
    }
    const real q = y2 * vec_dot(d, e), q3 = -3.0 * q;
    const real gamma = y2 * (vec_dot(u, u) + vec_dot(d, b));
    const real beta = lane_fma(alpha, alpha, gamma);
    const real to_alpha = lane_fma(y2, vec_dot(e, u) + vec_dot(d, f), -2.0 * q * alpha);
    real to_beta = lane_fma(lane_set(2.0), vec_dot(u, f), vec_dot(e, b) + vec_dot(d, g));
    to_beta = lane_fma(y2, to_beta, 2.0 * lane_fma(alpha, to_alpha, -q * gamma));
    const vec z = vec_add(-3.0 * beta, d, vec_add(-6.0 * alpha, w, b));
    const vec to_w = vec_add(-3.0 * to_alpha, d, vec_add(-3.0 * alpha, e, f));
    const vec to_z = vec_add(-6.0 * to_alpha, w, vec_add(-6.0 * alpha, to_w, g));
    t.first = vec_add(q3, w, to_w);
    t.second = vec_add(q3, z, vec_add(-3.0 * to_beta, d, vec_add(-3.0 * beta, e, to_z)));
    return t;
}

/* f_i += or -= factor t */
LANE_FN void newton_push(int n, int i, int add, real factor, vec t, real *f)
{
    f[i] = add ? lane_fma(factor, t.x, f[i]) : lane_fnma(factor, t.x, f[i]);
    f[n + i] = add ? lane_fma(factor, t.y, f[n + i]) : lane_fnma(factor, t.y, f[n + i]);
    f[2 * n + i] = add ? lane_fma(factor, t.z, f[2 * n + i]) : lane_fnma(factor, t.z, f[2 * n + i]);
}

LANE_FN void newton_push_terms(int kind, int n, int i, int add, real m, const newton_terms *t, real *const *out)
{
    const real factor = m * t->scale;
    newton_push(n, i, add, factor, t->first, out[0]);
    if (newton_makes(kind) > 1)
        newton_push(n, i, add, factor, t->second, out[1]);
}

/* ---- all pairs of a system --------------------------------------------------------------------------------------- */

/* What body j adds to i; with both, what i adds to j, too. */
/* long: inlined, so that arguments cost nothing; kind, n, i, j and both are constants where it is called */
LANE_FN void newton_pair(int kind, int n, int i, int j, int both, const real *m, const real *const *in,
                         real *const *out)
{
    const newton_terms t = newton_terms_of(
        kind, newton_difference(kind, newton_at(kind, n, j, in), newton_at(kind, n, i, in)));
    newton_push_terms(kind, n, i, 1, m[j], &t, out);
    if (both)
        newton_push_terms(kind, n, j, 0, m[i], &t, out);
}

/* The pairs among bodies first, first + 1, ... of a four, of which `count` are there, and one at least is below
 * `massive`: 01, 23, 13, 03, 12, 02. */
/* long: as newton_pair */
LANE_FN void newton_four(int kind, int n, int first, int count, int massive, const real *m, const real *const *in,
                         real *const *out)
{
    LANE_UNROLL
    for (int pair = 0; pair < 6; pair++) {
        const int i = 0x118 >> 2 * pair & 3, j = 0xafd >> 2 * pair & 3;
        if (j < count && first + i < massive)
            newton_pair(kind, n, first + i, first + j, 1, m, in, out);
    }
}

/* Partner s = 1, 2, 3 of number l in its four. */
LANE_FN int newton_near(int l, int s)
{
    return s == 1 ? l ^ 1 : s == 2 ? (l ^ 2) | 1 : (l ^ 2) & ~1;
}

/* A GPU's registers do not hold the sums of all pairs of more bodies, and its compiler gives up; the bits are the
 * same. */
#ifdef __CUDACC__
#define NEWTON_FORM(k, kind) (N_BODIES > 5 && (kind) >= NEWTON_SNAP ? SHOAL_FORM_ROWS : FORM(k))
#else
#define NEWTON_FORM(k, kind) FORM(k)
#endif

/* Bodies from here on have no mass, and no pairs among themselves; a CPU, where it is no constant, leaves those out
 * in rows alone. */
#ifdef SHOAL_MASSIVE
#define NEWTON_MASSIVE(bodies) SHOAL_MASSIVE
#else
#define NEWTON_MASSIVE(bodies) (bodies)
#endif

/* first = 0: all of the bodies, whose vectors have stride n. first = 1: bodies 1, 2, ... among themselves; body 0
 * neither acts nor is written. */
/* long: as newton_pair */
LANE_FN void newton_whole(const shoal_kernel_args *k, int kind, int n, int bodies, int first, const real *m,
                          const real *const *in, real *const *out)
{
    if (NEWTON_FORM(k, kind) == SHOAL_FORM_PAIRS) {
        LANE_UNROLL
        for (int four = first; four < bodies; four += 4)
            newton_four(kind, n, four, bodies - four, NEWTON_MASSIVE(bodies), m, in, out);
        LANE_UNROLL
        for (int j = bodies - 1; j > first; j--) {
            LANE_UNROLL
            for (int i = bodies - 1; i >= first; i--)
                if (i < j - ((j - first) & 3) && i < NEWTON_MASSIVE(bodies))
                    newton_pair(kind, n, i, j, 1, m, in, out);
        }
        return;
    }
    const int massive = (MASSIVE(k) < bodies ? MASSIVE(k) : bodies) - first;
    for (int l = 0; l < bodies - first; l++) {
        for (int s = 1; s < 4; s++)
            if (newton_near(l, s) < massive)
                newton_pair(kind, n, first + l, first + newton_near(l, s), 0, m, in, out);
        for (int other = massive - 1; other >= 0; other--)
            if ((other ^ l) >= 4)
                newton_pair(kind, n, first + l, first + other, 0, m, in, out);
    }
}

#if TEAM > 1
/* The same for the thread's own bodies: pairs with those that have mass, in the same order; what a pair adds is odd
 * in d, so that the bits are the same. The bodies of a thread are a block. */
enum {
    NEWTON_ACTING = (SHOAL_MASSIVE - TEAM_FIRST + TEAM_EACH - 1) / TEAM_EACH,
    NEWTON_OTHERS = NEWTON_ACTING < TEAM_BLOCKS ? NEWTON_ACTING : TEAM_BLOCKS - 1,
    NEWTON_FOUR = 4 / TEAM_RUN
};

/* The acting block whose turn with the own one is number s; -1: there are not so many. */
LANE_FN int newton_other(int s)
{
    const int own = team_own(), l = own & (NEWTON_FOUR - 1), four = own - l, acts = own < NEWTON_ACTING;
    /* of its four; without it */
    const int acting = max(0, min(NEWTON_FOUR, NEWTON_ACTING - four)), near = acting - acts;
    const int last = acting - 1 - s, beyond = NEWTON_ACTING - 1 - (s - near);
    if (s < near)
        return four + (l >= 2 ? last - (acts && last <= l) : s == 0 ? l ^ 1 : acting - s);
    return beyond >= four + NEWTON_FOUR ? beyond : beyond - acting;
}

enum { NEWTON_PAIRS = TEAM_PARTS * (TEAM_PARTS - 1) / 2 };
/* Pair p: of bodies b and b + step, modulo their number. */
LANE_FN int newton_pair_of(int b, int step)
{
    return (step - 1) * TEAM_PARTS + b;
}

/* Body q of a block, as its thread put it there. */
LANE_FN vec newton_shared_vec(int v, int block, int q)
{
    const vec a = {team_of_block(v, 0, block, q), team_of_block(v, 1, block, q), team_of_block(v, 2, block, q)};
    return a;
}
LANE_FN newton_vectors newton_shared(int kind, int block, int q)
{
    newton_vectors at;
    at.d = newton_shared_vec(0, block, q);
    if (newton_takes(kind) >= 2)
        at.u = newton_shared_vec(1, block, q);
    if (kind == NEWTON_JERK_TANGENT) {
        at.e = newton_shared_vec(2, block, q);
        at.f = newton_shared_vec(3, block, q);
    }
    if (kind >= NEWTON_SNAP)
        at.b = newton_shared_vec(2, block, q);
    if (kind == NEWTON_SNAP_TANGENT) {
        at.e = newton_shared_vec(3, block, q);
        at.f = newton_shared_vec(4, block, q);
        at.g = newton_shared_vec(5, block, q);
    }
    return at;
}

/* Bodies of a component model's thread are seen by their components: */
LANE_FN real newton_component(vec a)
{
    const int axis = team_axis();
    return axis == 0 ? a.x : axis == 1 ? a.y : a.z;
}
LANE_FN void newton_push_own(int kind, int n, int i, real m, const newton_terms *t, real *const *out)
{
    const real factor = m * t->scale;
    if (XYZ == 3) {
        newton_push_terms(kind, n, i, 1, m, t, out);
        return;
    }
    out[0][i] = lane_fma(factor, newton_component(t->first), out[0][i]);
    if (newton_makes(kind) > 1)
        out[1][i] = lane_fma(factor, newton_component(t->second), out[1][i]);
}

#if TEAM_OF_PAIRS
/* All pairs, each by a thread, and what thread `own` gets from there. */
LANE_FN void newton_keep_pairs(int kind)
{
    double *pairs = team_numbers() + TEAM_PAIRS_FROM;
    LANE_UNROLL_TEAM
    for (int p = team_place(); p < NEWTON_PAIRS; p += TEAM) {
        const int b = p % TEAM_PARTS, other = (b + p / TEAM_PARTS + 1) % TEAM_PARTS;
        const newton_vectors to = newton_shared(kind, other, 0), from = newton_shared(kind, b, 0);
        const newton_terms t = newton_terms_of(kind, newton_difference(kind, to, from));
        const real kept[] = {t.scale, t.first.x, t.first.y, t.first.z, t.second.x, t.second.y, t.second.z};
        LANE_UNROLL_FULLY
        for (int c = 0; c < 1 + 3 * newton_makes(kind); c++)
            pairs[c * NEWTON_PAIRS + p] = kept[c];
    }
    team_sync();
}
LANE_FN void newton_push_pair(int kind, int i, int other, real m, real *const *out)
{
    const double *pairs = team_numbers() + TEAM_PAIRS_FROM;
    const int ahead = (other - team_own() + TEAM_PARTS) % TEAM_PARTS, back = TEAM_PARTS - ahead;
    /* the pair is from the own body to the other */
    const int to = ahead < back || (ahead == back && team_own() < ahead);
    const int p = to ? newton_pair_of(team_own(), ahead) : newton_pair_of(other, back);
    const real factor = m * (to ? pairs[p] : -pairs[p]);
    LANE_UNROLL_FULLY
    for (int v = 0; v < newton_makes(kind); v++)
        out[v][i] = lane_fma(factor, pairs[(1 + 3 * v + team_axis()) * NEWTON_PAIRS + p], out[v][i]);
}
#endif

/* In turn 0 two threads meet, each the other's partner: every second pair's factors are made by one of them for
 * both. Of those that cross, (own b, other q) is to the other thread (own q, other b): b < q makes them, the sums of
 * b > q come later. Of the pairs (b, b) the lower thread makes the first half. Only two threads with four bodies
 * each (or five, of which four): with two bodies each, and more threads, it is no gain. */
enum { NEWTON_MEET = XYZ == 3 && TEAM_WARP && SHOAL_MASSIVE == TEAM_BODIES && TEAM_BLOCKS == 2 && TEAM_RUN == 4 };

LANE_FN newton_factors newton_told(int kind, newton_factors f, int block)
{
    f.scale = team_of(f.scale, block);
    if (kind == NEWTON_JERK)
        f.alpha = team_of(f.alpha, block);
    return f;
}

LANE_FN void newton_meet(int kind, int n, int local, int block, const real *m, const real *const *in, real *const *out)
{
    const int lower = team_own() < block, half = TEAM_RUN / 2;
    newton_factors known[TEAM_RUN][TEAM_RUN];
    LANE_UNROLL_FULLY
    for (int q = TEAM_RUN - 1; q >= 0; q--) {
        const newton_vectors other = newton_shared(kind, block, q);
        const real mass = team_mass(m, TEAM_FIRST + team_number_of(block, q));
        if (q >= half) {
            const int b = lower ? q - half : q;
            const newton_factors made = newton_factors_of(
                kind, newton_difference(kind, newton_shared(kind, block, b), newton_shared(kind, team_own(), b)));
            const newton_factors told = newton_told(kind, made, block);
            known[q][q] = lower ? told : made;
            known[q - half][q - half] = lower ? made : told;
        }
        LANE_UNROLL_FULLY
        for (int b = 0; b < TEAM_RUN; b++) {
            const newton_vectors to = newton_difference(kind, other, newton_at(kind, n, local + b, in));
            if (b < q) {
                known[b][q] = newton_factors_of(kind, to);
                known[q][b] = newton_told(kind, known[b][q], block);
            }
            const newton_terms t = newton_terms_from(kind, to, known[b][q]);
            newton_push_own(kind, n, local + b, mass, &t, out);
        }
    }
}

#if TEAM_EACH == 5
/* Two threads with a four and one of bodies 8 and 9 each, before their fours meet: of each four the pairs with both
 * of these, whose factors its thread makes for the others, and the sums of these two. */
LANE_FN void newton_five(int kind, int n, int local, int block, const real *m, const real *const *in, real *const *out)
{
    const int lower = team_own() < block, last = local + TEAM_RUN;
    const newton_vectors own = newton_at(kind, n, last, in), beside = newton_shared(kind, block, TEAM_RUN);
    newton_factors first_four[TEAM_RUN];
    newton_terms t = newton_terms_of(kind, newton_difference(kind, beside, own));
    newton_push_own(kind, n, last, team_mass(m, TEAM_FIRST + team_number_of(block, TEAM_RUN)), &t, out);
    LANE_UNROLL_FULLY
    for (int q = TEAM_RUN - 1; q >= 0; q--) {
        newton_factors made[2]; /* of the four's body q with bodies 8 and 9 */
        LANE_UNROLL_FULLY
        for (int b = 1; b >= 0; b--) {
            const newton_vectors to = newton_difference(kind, newton_shared(kind, b, TEAM_RUN),
                                                        newton_at(kind, n, local + q, in));
            made[b] = newton_factors_of(kind, to);
            t = newton_terms_from(kind, to, made[b]);
            newton_push_own(kind, n, local + q, team_mass(m, TEAM_FIRST + team_number_of(b, TEAM_RUN)), &t, out);
        }
        const newton_factors mine = lower ? made[0] : made[1],
                             told = newton_told(kind, lower ? made[1] : made[0], block);
        first_four[q] = lower ? mine : told;
        t = newton_terms_from(kind, newton_difference(kind, newton_shared(kind, 1, q), own), lower ? told : mine);
        newton_push_own(kind, n, last, team_mass(m, TEAM_FIRST + team_number_of(1, q)), &t, out);
    }
    LANE_UNROLL_FULLY
    for (int q = TEAM_RUN - 1; q >= 0; q--) {
        t = newton_terms_from(kind, newton_difference(kind, newton_shared(kind, 0, q), own), first_four[q]);
        newton_push_own(kind, n, last, team_mass(m, TEAM_FIRST + team_number_of(0, q)), &t, out);
    }
}
#endif

/* local: of the thread's first own body. */
LANE_FN void newton_team(int kind, int n, int local, const real *m, const real *const *in, real *const *out)
{
    team_sync();
    LANE_UNROLL_FULLY
    for (int v = 0; v < newton_takes(kind); v++) {
        LANE_UNROLL_XYZ
        for (int c = 0; c < XYZ; c++) {
            LANE_UNROLL_FULLY
            for (int b = 0; b < TEAM_EACH; b++)
                team_put(v, c, b, in[v][c * n + local + b]);
        }
    }
    team_sync();
#if TEAM_OF_PAIRS
    newton_keep_pairs(kind);
#endif
    newton_four(kind, n, local, TEAM_RUN, n, m, in, out);
#if TEAM_EACH == 5
    newton_five(kind, n, local, newton_other(0), m, in, out);
#endif
    const int met = NEWTON_MEET && kind <= NEWTON_JERK;
    if (met)
        newton_meet(kind, n, local, newton_other(0), m, in, out);
    LANE_UNROLL_TEAM
    for (int s = met; s < NEWTON_OTHERS; s++) {
        const int block = newton_other(s);
        if (NEWTON_ACTING < TEAM_BLOCKS && block < 0)
            continue;
#if TEAM_OF_PAIRS
        newton_push_pair(kind, local, block, team_mass(m, TEAM_FIRST + block), out);
#else
        LANE_UNROLL_FULLY
        for (int q = TEAM_EACH - 1; q >= 0; q--) {
            const newton_vectors other = newton_shared(kind, block, q);
            const real mass = team_mass(m, TEAM_FIRST + team_number_of(block, q));
            LANE_UNROLL_FULLY
            for (int b = 0; b < TEAM_EACH; b++) {
                const newton_vectors own = XYZ == 3 ? newton_at(kind, n, local + b, in)
                                                    : newton_shared(kind, team_own(), b);
                const newton_terms t = newton_terms_of(kind, newton_difference(kind, other, own));
                newton_push_own(kind, n, local + b, mass, &t, out);
            }
        }
#endif
    }
}
#endif

LANE_FN void newton_pairs(const shoal_kernel_args *k, int kind, int n, int first, const real *m, const real *const *in,
                          real *const *out)
{
    const int bodies = real_bodies(k, n);
#if TEAM > 1
    if (bodies == TEAM_FIRST + TEAM_EACH) {
        newton_team(kind, n, TEAM_FIRST, m, in, out);
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
    /* what the velocities are to the jerk the tangent vectors are to the change of the acceleration */
    if (VARIATIONAL(k))
        newton_pairs(k, NEWTON_JERK, n, first, m, in, out);
    else
        newton_pairs(k, NEWTON_PULL, n, first, m, in, out);
}

LANE_FN void newton_jerk(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v, real *a,
                         real *jerk)
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
/* long: inlined; the arrays of a system, each read or written for itself */
LANE_FN void newton_snap(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v, const real *a,
                         real *jerk, real *snap)
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
