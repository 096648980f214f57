/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * jacobi.kern.h: symplectic splittings of planetary motion in Jacobi coordinates; what mvs_jacobi and saba have in
 * common.
 *
 *     H = A + B,   A = sum p_i^2 / 2 m'_i - m'_i eta_i / |X_i|,   eta_i = m_0 + ... + m_i
 *     step = A(c_1 h) B(d_1 h) A(c_2 h) ... B(d_s h) A(c_1 h),    X_i = x_i - (barycentre of the bodies before i)
 *
 * A moves each body on a Kepler orbit about the mass eta_i. B is the rest: the attractions among the planets (direct),
 * and the difference between the true places of the star and the inner planets and their barycentre (indirect). So B
 * makes dV_i/dt = [Jacobi transform of all Newtonian accelerations]_i + eta_i X_i / |X_i|^3; the attraction between
 * bodies 0 and 1 is wholly in A.
 *
 * Wisdom & Holman 1991, AJ 102, 1528; Rein & Tamayo 2015, MNRAS 452, 376 (section 2.1). The barycentre itself is at
 * rest and not carried.
 *
 * Three things can be put around a step, all of them uniform over an ensemble:
 *   corrector   C(h) step^n C(h)^-1 with the symplectic corrector of Wisdom 2006, AJ 131, 2294:
 *               Z(-a_N h, -b_N h) ... Z(a_N h, b_N h), Z(a, b) = A(a) B(-b) A(-2a) B(b) A(a), a_j = j sqrt(7/40). If
 *               a read does not undo it, C(h) is applied before the first step only;
 *   lazy        kicks by the lazy implementer's kernel: B's accelerations at X + (h^2/12) (B's accelerations at X)
 *               (Wisdom, Holman & Touma 1996, equation 10.6; Rein, Tamayo & Brown 2019, MNRAS 489, 4632, section 4).
 *               The difference is small and slow, so it may be left out of most kicks: each so-many-th has it then, so
 *               many times;
 *   commutator  before and after a step a kick by 12 g h times the difference of the two accelerations just named:
 *               exp(-g h^3 {{A,B},B}) to h^5 eps^3 (Laskar & Robutel 2001, CeMDA 80, 39, equation 22; section 5 of
 *               Rein, Tamayo & Brown for the lazy form).
 *
 * Extra forces f belong to B, in every kick named here, as f's Jacobi transform at the velocities in the middle of the
 * kick (forces_mean). If they depend on positions alone, all that is said of B holds for them: correctors, kernel and
 * commutator need no more of B than accelerations at positions, and the errors have eps + f in the place of eps. If
 * they depend on velocities, errors linear in f are of the order of the splitting, too, but what kernel and commutator
 * take away is not the whole square of B: eps f h^2 + f^2 h^2 remain. A force that keeps no momentum moves the
 * barycentre; that is left out.
 *
 * Steps are fused: of the last step the part that merges with the next one of the same length (its last drift, or its
 * last commutator kick) and the inverse corrector are owed, and done on a copy when a state is read. What is owed
 * follows from the length of the last step, the system's first own native number; 0 = nothing owed. A step of
 * another length (a snapshot's) pays the debt first. Tangent vectors go the same way, kicks being linear in theirs
 * (pull_tangent) and drifts kepler_tangent's.
 *
 * The text that includes this one defines
 *     SPLITTING_STAGES(k)             kicks of a step
 *     splitting_drift(k, j), splitting_kick(k, j)   c_{j+1} and d_{j+1}, j in the first half: they are symmetric
 *     SPLITTING_CORRECTOR(k)          order of the corrector: 0, 3, 5, 7, 11, 17
 *     SPLITTING_INVERSE(k)            whether a read undoes it: 0 or 1
 *     SPLITTING_LAZY(k)               of so many steps one kicks lazily, 0 = none
 *     SPLITTING_COMMUTATOR(k)         g, 0 = none
 *
 * Operations for a stage of p planets: 15 p (p - 1) + 60 p + p Kepler solutions (kepler.kern.h).
 */
enum { JACOBI_X, JACOBI_V = XYZ, JACOBI_EX = 2 * XYZ, JACOBI_EV = 3 * XYZ, JACOBI_SLOTS = 4 * XYZ };
/* Of the step that something is owed of; steps since the last lazy kick, from half of a turn on. */
enum { JACOBI_LENGTH, JACOBI_COUNT, JACOBI_OWN };

#ifdef SHOAL_KERNEL
/* Of many planets, each with a text of its own, a step does not fit into a GPU's instruction cache: with seven it takes
 * 1.7 times as long. */
#if defined(__CUDACC__) && N_BODIES > 6 && !SHOAL_VARIATIONAL
#define KEPLER_UNROLL LANE_KEEP_ROLLED
#endif
#include "integrators/kepler_drift.kern.h"

#define PROPAGATOR_FIRST_BODY         1
#define PROPAGATOR_SLOTS(compensated) ((compensated) ? JACOBI_SLOTS : JACOBI_EX)
#define PROPAGATOR_OWN                JACOBI_OWN
#define JACOBI_LAST(n)                (PROPAGATOR_SLOTS(1) * (n) + JACOBI_LENGTH)
#define JACOBI_COUNT_AT(n)            (PROPAGATOR_SLOTS(1) * (n) + JACOBI_COUNT)
#define PROPAGATOR_NOTES              1 /* the kicks of the last step, where a monitor asks; not of copies */
#define PROPAGATOR_KICKS              1
#define JACOBI_NOTE(n)                (PROPAGATOR_SLOTS(1) * (n) + JACOBI_OWN)
LANE_FN real propagator_kicks(int n, const real *s, real h)
{
    return (void)h, s[JACOBI_NOTE(n)];
}

/* b_1 ... b_N of the corrector of each order: 4 sum_j b_j sinh(a_j x) = (1 - (x/2) / sinh(x/2)) / x up to x^(2N -
 * 1). (Wisdom 2006, table 1; solved anew in 60 digits.) */
enum { CORRECTOR_ORDERS = 5, CORRECTOR_MOST = 8 };
LANE_TABLE double corrector_b[CORRECTOR_ORDERS][CORRECTOR_MOST] = {
    {0.02490059602779986749935},
    {0.04150099337966644583225, -0.00830019867593328916645},
    {0.05396439909312749872177, -0.01827092324670213147806, 0.002492681142692210577903},
    {0.07259339474884273867425, -0.03812161368128865050865, 0.01230907859201994631754, -0.002348721529229535418831,
     0.0002036157964785465130163},
    {0.09305610377142595859154, -0.06519286357637789365829, 0.03242219886471358029368, -0.01207176082234229106245,
     0.003313257706938065565549, -0.0006359998307581765898317, 0.00007643635522793573836324,
     -0.000004334741547337358019065}};

/* The masses that Jacobi coordinates go by; borrowed. */
typedef struct jacobi_frame {
    const real *m, *eta, *inverse; /* 1 / eta */
} jacobi_frame;

/* eta_i = m_0 + ... + m_i, and 1 / eta_i; of a thread's own body i = 1, and of the one before it. */
LANE_FN void jacobi_masses(int n, const real *m, real *eta, real *inverse)
{
    real sum = m[0];
    LANE_UNROLL_TEAM
    for (int b = 1; b < team_bodies(n); b++) {
        const real before = sum;
        sum = sum + team_mass(m, b);
        if (team_has(b)) {
            eta[team_local(b) - 1] = before;
            eta[team_local(b)] = sum;
        }
    }
    LANE_UNROLL
    for (int i = 0; i < n; i++)
        inverse[i] = 1.0 / eta[i];
}

/* Jacobi vectors from those of n bodies: X_i = x_i - R_{i-1}, R_i = R_{i-1} + (m_i / eta_i) X_i. */
LANE_FN void jacobi_from_bodies(int stride, int n, const real *m, const real *inverse, const real *x, real *X)
{
    team_sync();
    team_show(0, XYZ, stride, x);
    team_show(1, 1, stride, inverse);
    team_sync();
    LANE_UNROLL
    for (int c = 0; c < XYZ; c++) {
        real centre = x[c * stride];
        X[c * stride] = lane_set(0.0);
        LANE_UNROLL_TEAM
        for (int b = 1; b < team_bodies(n); b++) {
            const real from_centre = team_seen(0, stride, c, b, x) - centre;
            if (team_has(b))
                X[c * stride + team_local(b)] = from_centre;
            centre = lane_fma(team_mass(m, b) * team_seen(1, stride, 0, b, inverse), from_centre, centre);
        }
    }
}

/* The inverse, with the barycentre in the origin: R_{n-1} = 0. */
LANE_FN void jacobi_to_bodies(int stride, int n, const real *m, const real *inverse, const real *X, real *x)
{
    team_sync();
    team_show(0, XYZ, stride, X);
    team_show(1, 1, stride, inverse);
    team_sync();
    LANE_UNROLL
    for (int c = 0; c < XYZ; c++) {
        real centre = lane_set(0.0);
        LANE_UNROLL_TEAM
        for (int b = team_bodies(n) - 1; b > 0; b--) {
            const real from_centre = team_seen(0, stride, c, b, X);
            centre = lane_fnma(team_mass(m, b) * team_seen(1, stride, 0, b, inverse), from_centre, centre);
            if (team_has(b))
                x[c * stride + team_local(b)] = from_centre + centre;
        }
        x[c * stride] = centre;
    }
}

/* A(h) */
LANE_FN void jacobi_drift(const shoal_kernel_args *k, int n, int compensated, const real *eta, real *s, real h)
{
    kepler_drift(k, n, compensated, eta, s, JACOBI_EX, h);
}

/* p = -x / |x|^3 for body i of x = [3 * n]; along its tangent vector e, p[XYZ...] = -(e - 3 (x.e) x / |x|^2) /
 * |x|^3. */
LANE_FN void jacobi_pull(const shoal_kernel_args *k, int n, int i, const real *x, real *p)
{
    real d[3], whole[3];
    team_vector(n, i, x, d);
    const real y = lane_rsqrt(dot(d, d)), y3 = -(y * y * y);
    (void)k;
    LANE_UNROLL
    for (int c = 0; c < XYZ; c++)
        p[c] = y3 * team_component(d, c);
    if (VARIATIONAL(k)) {
        real e[3];
        team_vector(n, n / 2 + i, x, e);
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++)
            e[c] = -e[c];
        pull_tangent(d, e, y, whole);
        LANE_UNROLL
        for (int c = 0; c < XYZ; c++)
            p[XYZ + c] = team_component(whole, c);
    }
}

/* Adds the extra forces to the accelerations a of a kick of length h: their mean over it, at the velocities in its
 * middle. */
LANE_BIG_FN void jacobi_forces(const shoal_kernel_args *k, int n, const real *m, const real *inverse, const real *s,
                               real h, real *a)
{
    const int bodies = real_bodies(k, n);
    real x[XYZ * LANE_ROOM(n)], v[XYZ * LANE_ROOM(n)], f[XYZ * LANE_ROOM(n)];
    for (int c = 0; c < XYZ; c++)
        for (int i = 1; i < n; i++)
            f[c * n + i] = lane_fma(0.5 * h, a[c * n + i], s[(JACOBI_V + c) * n + i]);
    for (int first = 0; first < n; first += bodies) {
        jacobi_to_bodies(n, bodies, m, inverse, s + first, x + first);
        jacobi_to_bodies(n, bodies, m, inverse, f + first, v + first);
    }
    forces_mean(k, n, m, x, v, h, f);
    for (int first = 0; first < n; first += bodies)
        jacobi_from_bodies(n, bodies, m, inverse, f + first, v + first);
    for (int c = 0; c < XYZ * n; c++)
        a[c] = a[c] + v[c];
}

/* The accelerations of B in a kick of length h at the Jacobi positions s = [3 * n]; forces see the velocities behind
 * them. */
LANE_FN void jacobi_acceleration(const shoal_kernel_args *k, int n, jacobi_frame of, const real *s, real h, real *a)
{
    const real *m = of.m, *eta = of.eta, *inverse = of.inverse;
    const int bodies = real_bodies(k, n), halves = 1 + VARIATIONAL(k); /* the bodies, their changes */
    /* q: positions relative to body 0 */
    real q[XYZ * LANE_ROOM(n)], sum[XYZ * LANE_ROOM(n)], p[2 * XYZ], pull[XYZ * LANE_ROOM(n)];
    team_sync();
    for (int half = 0; half < halves; half++)
        team_show(half, XYZ, n, s + half * bodies);
    team_show(2, 1, n, inverse);
    team_sync();
    for (int half = 0; half < halves; half++) {
        LANE_UNROLL
        for (int c = 0; c < XYZ; c++) {
            const real *from = s + half * bodies;
            real centre = lane_set(0.0);
            q[c * n + half * bodies] = centre;
            LANE_UNROLL_TEAM
            for (int b = 1; b < team_bodies(bodies); b++) {
                const real x = team_seen(half, n, c, b, from);
                if (team_has(b))
                    q[c * n + half * bodies + team_local(b)] = x + centre;
                centre = lane_fma(team_mass(m, b) * team_seen(2, n, 0, b, inverse), x, centre);
            }
        }
    }
    newton_acceleration(k, n, 1, m, q, a);
    LANE_UNROLL
    for (int i = TEAM > 1 ? 1 : 2; i < bodies; i++) {
        jacobi_pull(k, n, i, q, p);
        LANE_UNROLL
        for (int c = 0; c < XYZ * halves; c++) {
            const int at = c % XYZ * n + c / XYZ * bodies + i;
            pull[at] = p[c];
            if (team_body(i) > 1)
                a[at] = lane_fma(m[0], p[c], a[at]);
        }
    }
    /* relative to the barycentre of the bodies before, whose acceleration is sum / eta */
    team_sync();
    for (int half = 0; half < halves; half++) {
        team_show(2 * half, XYZ, n, pull + half * bodies);
        team_show(2 * half + 1, XYZ, n, a + half * bodies);
    }
    team_sync();
    for (int half = 0; half < halves; half++) {
        LANE_UNROLL
        for (int c = 0; c < XYZ; c++) {
            const int first = half * bodies;
            real star = lane_set(0.0);
            LANE_UNROLL_TEAM
            for (int b = 2; b < team_bodies(bodies); b++)
                star = lane_fnma(team_mass(m, b), team_seen(2 * half, n, c, b, pull + first), star);
            real before = m[0] * star;
            LANE_UNROLL_TEAM
            for (int b = 1; b < team_bodies(bodies); b++) {
                if (team_has(b))
                    sum[c * n + first + team_local(b)] = before;
                before = lane_fma(team_mass(m, b), team_seen(2 * half + 1, n, c, b, a + first), before);
            }
        }
    }
    LANE_UNROLL
    for (int i = 1; i < bodies; i++) {
        if (TEAM > 1 || i > 1)
            jacobi_pull(k, n, i, s, p);
        LANE_UNROLL
        for (int c = 0; c < XYZ * halves; c++) {
            const int at = c % XYZ * n + c / XYZ * bodies + i;
            a[at] = lane_fnma(inverse[i - 1], sum[at], a[at]);
            if (team_body(i) > 1)
                a[at] = lane_fnma(eta[i], p[c], a[at]);
        }
    }
    if (FORCES(k))
        jacobi_forces(k, n, m, inverse, s, h, a);
}

/* The Jacobi positions, and with forces the velocities, at X + (length^2 / 12) a. */
LANE_FN void jacobi_displace(const shoal_kernel_args *k, int n, const real *s, const real *a, real length, real *at)
{
    const real shift = lane_set(1.0 / 12.0) * length * length;
    LANE_UNROLL
    for (int c = 0; c < XYZ; c++) {
        LANE_UNROLL
        for (int i = 1; i < n; i++) {
            at[c * n + i] = lane_fma(shift, a[c * n + i], s[c * n + i]);
            if (FORCES(k))
                at[(JACOBI_V + c) * n + i] = s[(JACOBI_V + c) * n + i];
        }
    }
}

LANE_FN void jacobi_push(const shoal_kernel_args *k, int n, int compensated, real *s, const real *a, real h)
{
    LANE_UNROLL
    for (int c = 0; c < XYZ; c++) {
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            lane_add_times(compensated, &s[(JACOBI_V + c) * n + i], &s[(JACOBI_EV + c) * n + i], h, a[c * n + i]);
    }
    if (MONITORS(k) & MONITORS_INSIDE)
        s[JACOBI_NOTE(n)] = lane_fma(lane_abs(h), nested_sum(n, a), s[JACOBI_NOTE(n)]);
}

/* long: what a kick needs. B(h), with `lazy` times the difference of the lazy kick in the lanes where `due` */
LANE_FN void jacobi_kick(const shoal_kernel_args *k, int n, int compensated, int lazy, mask due, jacobi_frame of,
                         real *s, real h)
{
    const int rounds = lazy == 1 || (lazy && team_goes_on(due)) ? 2 : 1;
    real a[XYZ * LANE_ROOM(n)], plain[XYZ * LANE_ROOM(n)], at[2 * XYZ * LANE_ROOM(n)];
    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++)
        plain[c] = lane_set(0.0);
    LANE_KEEP_ROLLED
    for (int round = 0; round < rounds; round++) {
        jacobi_displace(k, n, s, plain, h, at);
        jacobi_acceleration(k, n, of, at, h, a);
        if (round + 1 < rounds) {
            LANE_UNROLL
            for (int c = 0; c < XYZ * n; c++)
                plain[c] = a[c];
        }
    }
    if (rounds == 2 && lazy > 1) {
        LANE_UNROLL
        for (int c = 0; c < XYZ * n; c++)
            a[c] = lane_select(due, lane_fma(lane_set(lazy), a[c] - plain[c], plain[c]), plain[c]);
    }
    jacobi_push(k, n, compensated, s, a, h);
}

/* The commutator kick of a step of length h, `times` times. */
LANE_FN void jacobi_commutator_kick(const shoal_kernel_args *k, int n, int compensated, jacobi_frame of, real *s,
                                    real h, real times)
{
    real a[XYZ * LANE_ROOM(n)], at[2 * XYZ * LANE_ROOM(n)], displaced[XYZ * LANE_ROOM(n)];
    jacobi_acceleration(k, n, of, s, lane_set(0.0), a);
    jacobi_displace(k, n, s, a, h, at);
    jacobi_acceleration(k, n, of, at, lane_set(0.0), displaced);
    LANE_UNROLL
    for (int c = 0; c < XYZ; c++) {
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            displaced[c * n + i] = displaced[c * n + i] - a[c * n + i];
    }
    jacobi_push(k, n, compensated, s, displaced, 12.0 * SPLITTING_COMMUTATOR(k) * times * h);
}

/* C(h), or its inverse for sign = -1. */
LANE_FN void jacobi_corrector(const shoal_kernel_args *k, int n, jacobi_frame of, real *s, real h, double sign)
{
    const int order = SPLITTING_CORRECTOR(k), row = order < 5 ? 0 : order < 7 ? 1 : order < 11 ? 2 : order < 17 ? 3 : 4;
    const int half = row < 3 ? row + 1 : row == 3 ? 5 : 8;
    real owed = lane_set(0.0);
    LANE_KEEP_ROLLED
    for (int part = 0; part < 4 * half; part++) { /* two kicks of each Z, a drift before each */
        const int z = part / 2, j = z < half ? half - z : z - half + 1, second = part & 1;
        const double side = z < half ? -1.0 : 1.0;
        const real a = side * 0.418330013267037773989 * j * h;
        const real b = side * sign * corrector_b[row][j - 1] * h;
        jacobi_drift(k, n, 0, of.eta, s, second ? -2.0 * a : owed + a);
        jacobi_kick(k, n, 0, 0, b != b, of, s, second ? b : -b);
        owed = a;
    }
    jacobi_drift(k, n, 0, of.eta, s, owed);
}

/* Pay what is owed. On the CPU a call: it is rare, or there is time. */
#define PROPAGATOR_OWES 1
LANE_BIG_FN void propagator_synchronise(const shoal_kernel_args *k, const real *m, real *s)
{
    const int n = BODIES(k);
    real eta[LANE_ROOM(n)], inverse[LANE_ROOM(n)];
    real *last = &s[JACOBI_LAST(n)];
    const jacobi_frame of = {m, eta, inverse};
    jacobi_masses(real_bodies(k, n), m, eta, inverse);
    if (SPLITTING_COMMUTATOR(k) != 0.0)
        jacobi_commutator_kick(k, n, 0, of, s, *last, lane_set(1.0));
    else
        jacobi_drift(k, n, 0, eta, s, splitting_drift(k, 0) * *last);
    if (SPLITTING_CORRECTOR(k) && SPLITTING_INVERSE(k))
        jacobi_corrector(k, n, of, s, *last, -1.0);
    *last = lane_set(0.0);
}

/* The state with nothing owed, corrected for steps of length h, in a system's first step and for a snapshot's. */
LANE_BIG_FN void jacobi_change_length(const shoal_kernel_args *k, const real *m, real *s, real h)
{
    const int n = BODIES(k);
    real eta[LANE_ROOM(n)], inverse[LANE_ROOM(n)];
    propagator_synchronise(k, m, s);
    const jacobi_frame of = {m, eta, inverse};
    jacobi_masses(real_bodies(k, n), m, eta, inverse);
    if (SPLITTING_CORRECTOR(k))
        jacobi_corrector(k, n, of, s, h, 1.0);
}

LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    const int bodies = real_bodies(k, n);
    real eta[LANE_ROOM(n)], inverse[LANE_ROOM(n)];
    jacobi_masses(bodies, m, eta, inverse);
    for (int first = 0; first < n; first += bodies) {
        jacobi_from_bodies(n, bodies, m, inverse, w + first, s + first);
        jacobi_from_bodies(n, bodies, m, inverse, w + XYZ * n + first, s + JACOBI_V * n + first);
    }
    LANE_UNROLL
    for (int c = JACOBI_EX * n; c < PROPAGATOR_SLOTS(1) * n + JACOBI_OWN; c++)
        s[c] = lane_set(0.0);
}

LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    const int stages = SPLITTING_STAGES(k);
    const int lazy = SPLITTING_LAZY(k);
    const bool commutator = SPLITTING_COMMUTATOR(k) != 0.0;
    real *count = &s[JACOBI_COUNT_AT(n)];
    const mask due = *count == lane_set(lazy / 2);
    real eta[LANE_ROOM(n)], inverse[LANE_ROOM(n)], last = s[JACOBI_LAST(n)];
    const jacobi_frame of = {m, eta, inverse};
    jacobi_masses(real_bodies(k, n), m, eta, inverse);
    s[JACOBI_NOTE(n)] = lane_set(0.0);
    if (commutator || SPLITTING_CORRECTOR(k)) {
        const mask changes = commutator || SPLITTING_INVERSE(k) ? last != h : last == lane_set(0.0);
        if (team_goes_on(changes)) {
            real copy[4 * XYZ * LANE_ROOM(n) + JACOBI_OWN + PROPAGATOR_NOTES];
            LANE_UNROLL
            for (int c = 0; c <= JACOBI_LAST(n); c++)
                copy[c] = s[c];
            jacobi_change_length(k, m, copy, h);
            LANE_UNROLL
            for (int c = 0; c <= JACOBI_LAST(n); c++)
                s[c] = lane_select(changes, copy[c], s[c]);
            last = s[JACOBI_LAST(n)];
        }
    }
    if (commutator)
        jacobi_commutator_kick(k, n, compensated, of, s, h, lane_select(last == h, lane_set(2.0), lane_set(1.0)));
    LANE_KEEP_ROLLED
    for (int j = 0; j < stages; j++) {
        const int drift = j <= stages / 2 ? j : stages - j, kick = 2 * j < stages ? j : stages - 1 - j;
        const real length = j == 0 && !commutator ? last + h : h;
        jacobi_drift(k, n, compensated, eta, s, splitting_drift(k, drift) * length);
        jacobi_kick(k, n, compensated, lazy, due, of, s, splitting_kick(k, kick) * h);
    }
    if (commutator)
        jacobi_drift(k, n, compensated, eta, s, splitting_drift(k, 0) * h);
    s[JACOBI_LAST(n)] = h;
    if (lazy > 1)
        *count = lane_select(*count < lane_set(lazy - 1), *count + 1.0, lane_set(0.0));
}

LANE_FN void propagator_view(const shoal_kernel_args *k, int n, const real *m, const real *s, real *w)
{
    real eta[LANE_ROOM(n)], inverse[LANE_ROOM(n)];
    (void)k;
    jacobi_masses(n, m, eta, inverse);
    jacobi_to_bodies(n, n, m, inverse, s, w);
    jacobi_to_bodies(n, n, m, inverse, s + JACOBI_V * n, w + XYZ * n);
}

/* The distance of every body from the barycentre is at most |X_i| + sum (m_j / eta_j) |X_j|, with the largest |X| at
 * most eta / m_0 of it; the drift that is owed takes time t and leads no farther than |X| + |V| t from the centre of
 * a Kepler orbit; (a + b)^2 <= 5/4 a^2 + 5 b^2. What a corrector moves is far below the quarter. A thread asks of
 * the components that it has. */
LANE_FN mask propagator_beyond(const shoal_kernel_args *k, int n, const real *m, const real *s, double limit)
{
    const real t = lane_set(2.0 * splitting_drift(k, 0)) * s[JACOBI_LAST(n)], t2 = t * t;
    real total = m[0], sum = lane_set(0.0);
    LANE_UNROLL_TEAM
    for (int b = 1; b < team_bodies(n); b++)
        total = total + team_mass(m, b);
    LANE_UNROLL
    for (int c = 0; c < XYZ; c++) {
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            sum = lane_fma(s[c * n + i], s[c * n + i],
                           lane_fma(t2 * s[(JACOBI_V + c) * n + i], s[(JACOBI_V + c) * n + i], sum));
    }
    return lane_not((3.0 / XYZ * 1.25) * total * total * sum <= limit * limit * (m[0] * m[0]));
}

#endif
