/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hybrid.kern.h: the democratic heliocentric map of mvs.kern.h, and close encounters made right: the step of a system in which planets
 * are near each other or the star is made again, with the near pairs taken out of the kick and put into the drift, which is integrated
 * with substeps (hybrid_drift.kern.h). Steps are of one length; one without a near pair is the step of mvs, bit for bit.
 *
 * Which: TRACE of Lu, Hernandez & Rein 2024 (MNRAS 533, 3708), after Hernandez & Dehnen 2023 (MNRAS 522, 4639). Whether a pair is near is
 * asked of the state at both ends of a step, by a condition that does not know the direction of time. What is near at the end is known
 * after a trial, so that a step whose end shows a new pair is made again with it. A step there and back thus sees the same pairs but for
 * rare cases, and the map is as reversible as that.
 *
 *     two planets     closest distance within -+h/2, their relative motion taken as straight, below the largest of
 *                     k |x_i| (m_i / 3 m_0)^(1/3),  k |x_j| (m_j / 3 m_0)^(1/3),  w h |v_j - v_i|
 *     planet and star `passage`: h > eta (|x|^3 / m_0)^(1/2), or h > eta/2 times it and h v^2 > eta (m_0 |x|)^(1/2), which tells e near 1;
 *                     `orbit`: pericentre at less than (m_0 h^2 / eta^2)^(1/3).
 *                     Then everything drifts, with the jump, by the equations of motion themselves.
 *
 * w: after the 0.4 v h of Chambers 1999 (MNRAS 304, 793), which catches fast passages that a step does not resolve; massless pairs do
 * without. Planets that are in no near pair go on by Kepler's solution.
 *
 * Errors: those of mvs while nobody is near; during an encounter those of the other pairs and of the jump, of the order of m h^2, plus the
 * drift's (tolerance 1e-7: 3e-13 of the energy a step, times 2 a / q near the star). A change of the near pairs changes the energy that
 * the map conserves by the difference of two such terms, so that the energy error of a system that scatters is a random walk with steps as
 * large as the oscillation of mvs. With `passage` the jump's error at the edge of the star's neighbourhood does not fall with h, for the
 * edge moves inwards (dE/E = 1e-4 to 1e-3 with a mass of 1e-3 at e = 0.98, as in TRACE); `orbit` has no edge.
 *
 * Extra forces kick at both ends of a step, as in mvs, and as seldom: a force between two planets has to be weak in an encounter
 * of theirs. Where everything drifts they are part of the equations of motion.
 *
 * Tangent vectors take the derivative of every part, for the pairs that are near and the substeps that the bodies ask for.
 *
 * The drift takes some hundred times as long as a step on a GPU, however few lanes of a warp need it. So systems that do are parked there, the
 * step undone, and go on beside others of their kind (integrate.kern.h: PROPAGATOR_PARKS).
 *
 * Own slots: whether the next step begins near; the last substep, as the first guess of the next; k^2 max (m_i / 3 m_0)^(2/3).
 *
 * Operations a step without encounters: those of mvs, 10 p, and 26 p (p - 1) / 2 for p planets, on a GPU most of them in single precision.
 */
#define propagator_prepare mvs_prepare
#define propagator_step mvs_step
#include "integrators/mvs.kern.h"
#undef propagator_prepare
#undef propagator_step

enum { HYBRID_HILL = 1, HYBRID_SPEED, HYBRID_PERICENTRE, HYBRID_STAR, HYBRID_TOLERANCE }; /* parameters; 0 is `compensated` */
enum { HYBRID_PASSAGE = 0, HYBRID_ORBIT = 1 };
enum { HYBRID_NEAR = 0, HYBRID_SUBSTEP, HYBRID_REACH, HYBRID_TRIALS = 3 }; /* own slots; trials of a step at most */
enum { HYBRID_TOGETHER = 32 }; /* substeps in a call, for a GPU */
enum { HYBRID_TO_TRY, HYBRID_TO_SET_OUT, HYBRID_TO_DRIFT }; /* parts of a step */

#define PROPAGATOR_OWN 3
#define PROPAGATOR_INSIDE 1
#ifdef __CUDACC__ /* a SIMD unit does not gain by it */
#define PROPAGATOR_PARKS 1
#endif
#define HYBRID_OWN(n, s) ((s) + PROPAGATOR_SLOTS(1) * (n))

/* Planets without mass are near nobody like them: flags of pairs i < j, i below the first without. */
#define HYBRID_PAIRS(k, n) (MASSIVE(k) * LANE_ROOM(n))

LANE_FN real hybrid_r2(int n, const real *s, int i)
{
    return lane_fma(s[2 * n + i], s[2 * n + i], lane_fma(s[n + i], s[n + i], s[i] * s[i]));
}

/* 16 (m_0 h^2)^2 / eta^4: the sixth power of the distance beyond which a passage is nothing; 0 without. */
LANE_FN real hybrid_star6(const shoal_kernel_args *k, const real *m, real h)
{
    const double eta2 = k->propagator[HYBRID_PERICENTRE] * k->propagator[HYBRID_PERICENTRE];
    const real pull = m[0] * (h * h);
    return (eta2 > 0 ? 16 / (eta2 * eta2) : 0) * pull * pull;
}

LANE_FN mask hybrid_near_star(const shoal_kernel_args *k, int n, const real *m, const real *s, real h, real r2, int i)
{
    const double eta = k->propagator[HYBRID_PERICENTRE], eta2 = eta * eta;
    const real *x = s + i, *v = s + 3 * n + i;
    const real h2 = h * h, v2 = lane_fma(v[2 * n], v[2 * n], lane_fma(v[n], v[n], v[0] * v[0]));
    if (eta2 == 0)
        return r2 != r2; /* never */
    if (chosen(k, HYBRID_STAR) == HYBRID_ORBIT) { /* (dr/dt)^2 > 0 at the distance R */
        const real R = lane_cbrt(m[0] * h2 * (1 / eta2)), R2 = R * R;
        const real xv = lane_fma(x[2 * n], v[2 * n], lane_fma(x[n], v[n], x[0] * v[0]));
        const real energy2 = lane_fma(-2.0 * m[0], lane_rsqrt(r2), v2), spin2 = lane_fma(r2, v2, -(xv * xv));
        return (r2 < R2) | (lane_fma(energy2, R2, 2.0 * m[0] * R) > spin2);
    }
    const real star6 = hybrid_star6(k, m, h), r6 = r2 * r2 * r2, way = h2 * v2 * v2;
    return (r6 < star6) & ((16.0 * r6 < star6) | (way * way > (eta2 * eta2) * (m[0] * m[0]) * r2));
}

#if TEAM > 1
/* Position and velocity that body b of those with slots has shown. */
LANE_FN void hybrid_seen(int b, real *at)
{
    LANE_UNROLL_FULLY
    for (int c = 0; c < 6; c++)
        at[c] = team_get(c / 3, c % 3, b);
}
#endif

typedef struct hybrid_rough {
    rough x, y, z;
} hybrid_rough;

/* q - p of vectors whose components are n apart. */
LANE_FN hybrid_rough hybrid_between(int n, const real *p, const real *q)
{
    const hybrid_rough d = {lane_rough(q[0] - p[0]), lane_rough(q[n] - p[n]), lane_rough(q[2 * n] - p[2 * n])};
    return d;
}

LANE_FN rough hybrid_dot(hybrid_rough a, hybrid_rough b)
{
    return rough_fma(a.z, b.z, rough_fma(a.y, b.y, a.x * b.x));
}

LANE_FN rough hybrid_rough2(int n, const real *x)
{
    const hybrid_rough r = {lane_rough(x[0]), lane_rough(x[n]), lane_rough(x[2 * n])};
    return hybrid_dot(r, r);
}

/* |h|, (w h)^2, HYBRID_REACH */
typedef struct hybrid_reach {
    rough h, way2, reach2;
} hybrid_reach;

/*
 * Whether two planets may be near, asked after every step and so with few operations and digits. At a time t within -+h/2 their distance is
 * |d + u t|, its square at least d^2 - |h d.u|. So if the least distance is below R, d^2 < R^2 + |h d.u|, where
 * R^2 <= HYBRID_REACH larger2 + (w h u)^2. larger2: the larger one of |x_i|^2 and |x_j|^2.
 */
LANE_FN mask hybrid_may_be_close(int n, const real *xi, const real *vi, const real *xj, const real *vj, hybrid_reach reach, rough larger2)
{
    const hybrid_rough d = hybrid_between(n, xi, xj), u = hybrid_between(n, vi, vj);
    return hybrid_dot(d, d) < rough_fma(reach.h, rough_abs(hybrid_dot(d, u)), rough_fma(reach.way2, hybrid_dot(u, u), reach.reach2 * larger2));
}

/* Lanes in which somebody may be near. */
LANE_FN mask hybrid_may_be_near(const shoal_kernel_args *k, int n, const real *m, const real *s, real h)
{
    const double w = k->propagator[HYBRID_SPEED], more = 1.0001; /* than roundings of rough numbers */
    const hybrid_reach reach = {lane_rough(more * lane_abs(h)), lane_rough((more * w * w) * h * h),
                                lane_rough(more * HYBRID_OWN(n, s)[HYBRID_REACH])};
#if TEAM > 1 /* its own body, and a share of the pairs, numbered as in newton.kern.h */
    real at[6], d[6];
    team_sync();
    team_show(0, XYZ, n, s);
    team_show(1, XYZ, n, s + MVS_V * n);
    team_sync();
    hybrid_seen(team_own(), at);
    const real r2 = hybrid_r2(1, at, 0);
    mask near = r2 * r2 * r2 < hybrid_star6(k, m, h);
    if (chosen(k, HYBRID_STAR) == HYBRID_ORBIT)
        near = near | hybrid_near_star(k, 1, m, at, h, r2, 0);
    LANE_UNROLL_TEAM
    for (int pair = team_place(); pair < NEWTON_PAIRS; pair += TEAM) {
        const int b = pair % TEAM_PARTS, other = (b + pair / TEAM_PARTS + 1) % TEAM_PARTS;
        if (min(b, other) + TEAM_FIRST >= SHOAL_MASSIVE)
            continue;
        hybrid_seen(b, at);
        hybrid_seen(other, d);
        near = near | hybrid_may_be_close(1, at, at + 3, d, d + 3, reach, rough_max(hybrid_rough2(1, at), hybrid_rough2(1, d)));
    }
    return team_any(near);
#else
    const int bodies = real_bodies(k, n);
    const real *x = s, *v = s + 3 * n;
    rough r2[LANE_ROOM(n)], least = lane_rough(lane_set(1e30));
    LANE_UNROLL
    for (int i = 1; i < bodies; i++) {
        r2[i] = hybrid_rough2(n, x + i);
        least = rough_min(least, r2[i]);
    }
    const real least2 = lane_of_rough(least);
    mask near = least2 * least2 * least2 < more * hybrid_star6(k, m, h);
    if (chosen(k, HYBRID_STAR) == HYBRID_ORBIT)
        for (int i = 1; i < bodies; i++)
            near = near | hybrid_near_star(k, n, m, s, h, hybrid_r2(n, s, i), i);
    LANE_UNROLL
    for (int i = 1; i < bodies; i++) {
        if (i >= MASSIVE(k))
            break;
        LANE_UNROLL
        for (int j = 1; j < bodies; j++) {
            if (j <= i)
                continue;
            near = near | hybrid_may_be_close(n, x + i, v + i, x + j, v + j, reach, rough_max(r2[i], r2[j]));
        }
    }
    return near;
#endif
}

#if TEAM == 1
#include "integrators/hybrid_again.kern.h"
#endif

/* Lanes in which somebody is near at the end of a step, or, in teams, may be; asked of those alone whose step did not begin so. */
LANE_FN mask hybrid_is_near(const shoal_kernel_args *k, int n, const real *m, const real *s, real h)
{
    mask any = (h != lane_set(0.0)) & (HYBRID_OWN(n, s)[HYBRID_NEAR] == lane_set(0.0)) & hybrid_may_be_near(k, n, m, s, h);
#if TEAM == 1
    if (lane_any(any)) {
        mask near[HYBRID_PAIRS(k, n)], drifts[LANE_ROOM(n)], all = hybrid_clear(k, n, near, drifts);
        hybrid_flag(k, n, m, s, h, any, near, drifts, &all, &any);
    }
#endif
    return any;
}

LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    mvs_prepare(k, n, m, w, s);
    real largest = lane_set(0.0);
    for (int i = 1; i < real_bodies(k, n); i++)
        largest = lane_max(largest, m[i]);
    const real hill = lane_cbrt(lane_max(largest / (3.0 * m[0]), lane_set(1e-60)));
    HYBRID_OWN(n, s)[HYBRID_REACH] = (k->propagator[HYBRID_HILL] * k->propagator[HYBRID_HILL]) * hill * hill;
    HYBRID_OWN(n, s)[HYBRID_NEAR] = lane_set(1.0); /* not known yet: the first step is made as if it were */
    HYBRID_OWN(n, s)[HYBRID_SUBSTEP] = lane_set(1e300);
}

#if TEAM == 1
/* The step of the lanes `care` once more, on copies, for what is pointed at leaves a GPU's registers. */
LANE_FN void hybrid_careful(const shoal_kernel_args *k, int n, int compensated, const real *m, const real *start, real *s, real h,
                            mask care, lane_inside *inside)
{
    real mass[LANE_ROOM(n)], first[PROPAGATOR_SLOTS(1) * LANE_ROOM(n)], last[PROPAGATOR_SLOTS(1) * LANE_ROOM(n) + PROPAGATOR_OWN];
    real *own = HYBRID_OWN(n, s);
    LANE_UNROLL
    for (int i = 0; i < n; i++)
        mass[i] = m[i];
    LANE_UNROLL_GPU
    for (int q = 0; q < PROPAGATOR_SLOTS(compensated); q++) {
        LANE_UNROLL
        for (int i = 0; i < n; i++) {
            first[q * n + i] = i > 0 && (q < MVS_A || q >= MVS_EX) ? start[q * n + i] : lane_set(0.0);
            last[q * n + i] = i > 0 ? s[q * n + i] : lane_set(0.0);
        }
    }
    for (int c = 0; c < PROPAGATOR_OWN; c++)
        HYBRID_OWN(n, last)[c] = own[c];
    hybrid_again(k, n, compensated, mass, first, last, h, care, inside);
    LANE_UNROLL_GPU
    for (int q = 0; q < PROPAGATOR_SLOTS(compensated); q++) {
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            s[q * n + i] = last[q * n + i];
    }
    for (int c = 0; c < PROPAGATOR_OWN; c++)
        own[c] = HYBRID_OWN(n, last)[c];
}
#endif

#ifdef PROPAGATOR_PARKS

/* Of a step that is made with care, in as many calls as the lanes beside it take. */
struct lane_care {
    bool given;  /* else such a step is left undone */
    bool stays, hurries; /* after the step, whether the next one needs care or not */
    mask wanted; /* systems that go on */
    mask needed;
    mask made;   /* in this call */
#if TEAM == 1
    int part, trials, attempts; /* HYBRID_TO_TRY, ...; of the step; of the trial */
    real t[PROPAGATOR_SLOTS(1) * N_BODIES], dx[3 * N_BODIES], dv[3 * N_BODIES], before[6 * N_BODIES];
    real f[DRIFT_IN_REGISTERS ? 3 * N_BODIES : NYSTROM_STAGES * 3 * N_BODIES]; /* the accelerations of the first stage; room for all */
    mask near[HYBRID_PAIRS(k, N_BODIES)], drifts[N_BODIES], all, again, active, ends_near;
    real substep, done;
#endif
};

/* The accelerations, which start the next step, are not undone with a step. */
LANE_FN void propagator_resume(const shoal_kernel_args *k, int n, const real *m, real *s, lane_care *care)
{
    newton_acceleration(k, n, 1, m, s, s + MVS_A * n);
#if TEAM == 1
    care->part = HYBRID_TO_TRY;
#endif
}

/* As if the step had not been tried, but for the accelerations. */
LANE_FN void hybrid_undo(int n, int compensated, const real *start, mask where, real *s)
{
    LANE_UNROLL_GPU
    for (int q = 0; q < PROPAGATOR_SLOTS(compensated); q++) {
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            if (q < MVS_A || q >= MVS_EX)
                s[q * n + i] = lane_select(where, start[q * n + i], s[q * n + i]);
    }
}

#if TEAM == 1
/* A step in work handed over, from call to call: of lane_care and hybrid_work each to the other. The arrays only where they are copies, in registers;
 * of f, the accelerations of the first stage. */
template <class from_type, class to_type>
LANE_FN void hybrid_hand_over(int n, const from_type *from, to_type *to)
{
    to->all = from->all, to->again = from->again, to->active = from->active, to->ends_near = from->ends_near;
    to->substep = from->substep, to->done = from->done;
#if DRIFT_IN_REGISTERS
    DRIFT_UNROLL
    for (int c = 0; c < PROPAGATOR_SLOTS(1) * n; c++)
        to->t[c] = from->t[c];
    DRIFT_UNROLL
    for (int c = 0; c < 3 * n; c++)
        to->dx[c] = from->dx[c], to->dv[c] = from->dv[c], to->f[c] = from->f[c];
    DRIFT_UNROLL
    for (int c = 0; c < 6 * n; c++)
        to->before[c] = from->before[c];
    DRIFT_UNROLL
    for (int i = 0; i < HYBRID_PAIRS(k, n); i++)
        to->near[i] = from->near[i];
    DRIFT_UNROLL
    for (int i = 0; i < n; i++)
        to->drifts[i] = from->drifts[i];
#endif
}

/*
 * A part of the step, until half of the lanes beside that make substeps have made their last, so that they are about as many all the time, however
 * different their encounters are; or some substeps. All lanes of a warp say it together. s is the step's start until it is made.
 */
LANE_FN void hybrid_go_on(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h, lane_inside *inside, lane_care *care)
{
    real *own = HYBRID_OWN(n, s);
#if DRIFT_IN_REGISTERS
    real t[PROPAGATOR_SLOTS(1) * N_BODIES], dx[3 * N_BODIES], dv[3 * N_BODIES], f[NYSTROM_STAGES * 3 * N_BODIES], before[6 * N_BODIES];
    mask near[HYBRID_PAIRS(k, n)], drifts[N_BODIES];
    hybrid_work w = hybrid_work_in(t, dx, dv, f, before, near, drifts);
#else
    hybrid_work w = hybrid_work_in(care->t, care->dx, care->dv, care->f, care->before, care->near, care->drifts);
#endif
    hybrid_hand_over(n, care, &w);
    care->made = false;
    if (care->wanted && care->part == HYBRID_TO_TRY) {
        const mask begins_near = own[HYBRID_NEAR] > 0.0;
        care->trials = 0;
        care->part = HYBRID_TO_SET_OUT;
        hybrid_begin(k, n, m, s, own, h, begins_near, &w);
        if (!w.again) {
            real end[PROPAGATOR_SLOTS(1) * N_BODIES + PROPAGATOR_OWN];
            LANE_UNROLL
            for (int c = 0; c < PROPAGATOR_SLOTS(1) * n + PROPAGATOR_OWN; c++)
                end[c] = s[c];
            mvs_step(k, n, compensated, m, end, h);
            const mask may_be_near = hybrid_may_be_near(k, n, m, end, h);
            hybrid_foresee(k, n, m, end, h, may_be_near | begins_near, &w);
            if (!w.again) {
                LANE_UNROLL
                for (int c = 0; c < PROPAGATOR_SLOTS(compensated) * n; c++)
                    s[c] = end[c];
                hybrid_settle(&w, begins_near, own);
                care->part = HYBRID_TO_TRY;
                care->made = true;
                care->needed = k->of_teams & may_be_near;
            }
        }
    }
    if (care->wanted && care->part == HYBRID_TO_SET_OUT) {
        hybrid_set_out(k, n, compensated, m, s, h, &w, inside);
        care->attempts = 0;
        care->part = HYBRID_TO_DRIFT;
    }
    const mask drifting = care->wanted && care->part == HYBRID_TO_DRIFT;
    mask under_way = drifting;
    const int most = lane_count_together(under_way);
    int substeps = 0;
    LANE_KEEP_ROLLED
    do {
        if (under_way) {
            hybrid_substep(k, n, m, h, &w, inside);
            under_way = w.active && ++care->attempts < NYSTROM_ATTEMPTS;
        }
    } while (2 * lane_count_together(under_way) > most && ++substeps < HYBRID_TOGETHER);
    if (drifting && !under_way) {
        hybrid_arrive(k, n, compensated, m, h, &w);
        if (w.again && ++care->trials < HYBRID_TRIALS) {
            care->part = HYBRID_TO_SET_OUT;
        } else {
            LANE_UNROLL
            for (int c = 0; c < PROPAGATOR_SLOTS(compensated) * n; c++)
                s[c] = w.t[c];
            hybrid_settle(&w, true, own);
            care->part = HYBRID_TO_TRY;
            care->made = true;
            care->needed = w.ends_near | (k->of_teams && hybrid_may_be_near(k, n, m, s, h)); /* what teams ask: they would park it at once */
        }
    }
    hybrid_hand_over(n, &w, care);
}
#endif

LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h, lane_inside *inside,
                             lane_care *care)
#else
LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h, lane_inside *inside)
#endif
{
#if defined(PROPAGATOR_PARKS) && TEAM == 1
    if (care && care->given) {
        hybrid_go_on(k, n, compensated, m, s, h, inside, care);
        return;
    }
#endif
    real start[PROPAGATOR_SLOTS(1) * LANE_ROOM(n)], *own = HYBRID_OWN(n, s);
    LANE_UNROLL_GPU
    for (int q = 0; q < PROPAGATOR_SLOTS(compensated); q++) {
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            if (q < MVS_A || q >= MVS_EX)
                start[q * n + i] = s[q * n + i];
    }
    mvs_step(k, n, compensated, m, s, h);
    const mask needed = hybrid_is_near(k, n, m, s, h) | ((h != lane_set(0.0)) & (own[HYBRID_NEAR] > lane_set(0.0)));
#ifdef PROPAGATOR_PARKS
    if (care) {
        care->needed = needed;
        care->made = !needed;
        if (team_goes_on(needed))
            hybrid_undo(n, compensated, start, needed, s);
        return;
    }
#endif
#if TEAM == 1 /* in the other models whoever needs it is parked */
    if (lane_any(needed))
        hybrid_careful(k, n, compensated, m, start, s, h, needed, inside);
#endif
}
