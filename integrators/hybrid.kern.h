/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hybrid.kern.h: the democratic heliocentric map of mvs.kern.h, and close encounters made right: the step of a system
 * in which planets are near each other or the star is made again, with the near pairs taken out of the kick and put
 * into the drift, which is integrated with substeps (hybrid_drift.kern.h). Steps are of one length; one without a near
 * pair is the step of mvs, bit for bit.
 *
 * Which: TRACE of Lu, Hernandez & Rein 2024 (MNRAS 533, 3708), after Hernandez & Dehnen 2023 (MNRAS 522, 4639). Whether
 * a pair is near is asked of the state at both ends of a step, by a condition that does not know the direction of time.
 * What is near at the end is known after a trial, so that a step whose end shows a new pair is made again with it. A
 * step there and back thus sees the same pairs but for rare cases, and the map is as reversible as that.
 *
 *     two planets     closest distance within -+h/2, their relative motion taken as straight, below the largest of
 *                     k |x_i| (m_i / 3 m_0)^(1/3),  k |x_j| (m_j / 3 m_0)^(1/3),  w h |v_j - v_i|
 *     planet and star `passage`: h > eta (|x|^3 / m_0)^(1/2), or h > eta/2 times it and h v^2 > eta (m_0 |x|)^(1/2),
 *         which tells e near 1;
 *                     `orbit`: pericentre at less than (m_0 h^2 / eta^2)^(1/3).
 *                     Then everything drifts, with the jump, by the equations of motion themselves.
 *
 * w: after the 0.4 v h of Chambers 1999 (MNRAS 304, 793), which catches fast passages that a step does not resolve;
 * massless pairs do without. Planets that are in no near pair go on by Kepler's solution.
 *
 * Errors: those of mvs while nobody is near; during an encounter those of the other pairs and of the jump, of the order
 * of m h^2, plus the drift's (tolerance 1e-7: 3e-13 of the energy a step, times 2 a / q near the star). A change of the
 * near pairs changes the energy that the map conserves by the difference of two such terms, so that the energy error of
 * a system that scatters is a random walk with steps as large as the oscillation of mvs. With `passage` the jump's
 * error at the edge of the star's neighbourhood does not fall with h, for the edge moves inwards (dE/E = 1e-4 to 1e-3
 * with a mass of 1e-3 at e = 0.98, as in TRACE); `orbit` has no edge.
 *
 * Where everything drifts extra forces are a part of the equations of motion. Elsewhere they kick at both ends of a
 * step, as in mvs, and as seldom. So everything drifts, too, while two planets are near each other and a force does not
 * move them alike (shoal_force.alike): the flattening of one of them, a drag on one of them.
 *
 * Planets that touch before the eyes of a monitor go on to the end of the step, at which they become one or the system
 * ends. Were they followed through each other's centre, no substep would be short enough, so before that they turn back
 * (hybrid_turn_back).
 *
 * Tangent vectors take the derivative of every part, for the pairs that are near and the substeps that the bodies ask
 * for.
 *
 * The drift takes some hundred times as long as a step on a GPU, however few lanes of a warp need it. So there a system
 * that does is set aside, the step undone, and goes on beside others of its kind (aside.kern.h).
 *
 * Own slots: whether the next step begins near; the last substep, as the first guess of the next; k^2 max (m_i / 3
 * m_0)^(2/3).
 *
 * Operations a step without encounters: those of mvs, 10 p, and 26 p (p - 1) / 2 for p planets, on a GPU most of them
 * in single precision.
 */
#include "integrators/hybrid_near.kern.h"
#if TEAM == 1
#include "integrators/hybrid_again.kern.h"
#endif

/* Lanes in which somebody is near at the end of a step, or, in teams, may be; asked of those alone whose step did
 * not begin so. */
LANE_FN mask hybrid_is_near(const shoal_kernel_args *k, int n, const real *m, const real *s, real h)
{
    mask any = (h != lane_set(0.0)) & (HYBRID_OWN(n, s)[HYBRID_NEAR] == lane_set(0.0)) &
               hybrid_may_be_near(k, n, m, s, h);
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
/* The step of the lanes `where` once more, on copies, for what is pointed at leaves a GPU's registers. */
/* long: as hybrid_again */
LANE_FN void hybrid_again_on_copies(const shoal_kernel_args *k, int n, int compensated, const real *m,
                                    const real *start, real *s, real h, mask where, lane_inside *inside)
{
    real mass[LANE_ROOM(n)], first[PROPAGATOR_SLOTS(1) * LANE_ROOM(n)],
        last[PROPAGATOR_SLOTS(1) * LANE_ROOM(n) + PROPAGATOR_OWN];
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
    hybrid_again(k, n, compensated, mass, first, last, h, where, inside);
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

#ifdef PROPAGATOR_SETS_ASIDE

/* A step that needs substeps, made in as many calls as the lanes beside it take. */
struct lane_aside {
    bool substeps;       /* else such a step is left undone */
    bool stays, hurries; /* after the step, whether the next one needs substeps or not */
    mask wanted;         /* systems that go on */
    mask needed;
    mask made; /* in this call */
#if TEAM == 1
    int part, trials, attempts; /* HYBRID_TO_TRY, ...; of the step; of the trial */
    real t[PROPAGATOR_SLOTS(1) * N_BODIES], dx[3 * N_BODIES], dv[3 * N_BODIES], before[6 * N_BODIES];
    /* the accelerations of the first stage; room for all */
    real f[DRIFT_IN_REGISTERS ? 3 * N_BODIES : NYSTROM_STAGES * 3 * N_BODIES];
    mask near[HYBRID_PAIRS(k, N_BODIES)], drifts[N_BODIES], all, again, active, ends_near;
    real substep, done;
#endif
};

/* The accelerations, which start the next step, are not undone with a step. */
LANE_FN void propagator_resume(const shoal_kernel_args *k, int n, const real *m, real *s, lane_aside *aside)
{
    newton_acceleration(k, n, 1, m, s, s + MVS_A * n);
#if TEAM == 1
    aside->part = HYBRID_TO_TRY;
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
/* A step in work, passed on from call to call: of lane_aside and hybrid_work each to the other. The arrays only
 * where they are copies, in registers; of f, the accelerations of the first stage. */
template <class from_type, class to_type> LANE_FN void hybrid_pass(int n, const from_type *from, to_type *to)
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
 * A part of the step, until half of the lanes beside that make substeps have made their last, so that they are about as
 * many all the time, however different their encounters are; or some substeps. All lanes of a warp say it together. s
 * is the step's start until it is made.
 */
/* long: the step of a propagator has these arguments, and what is set aside is one more */
LANE_FN void hybrid_go_on(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h,
                          lane_inside *inside, lane_aside *aside)
{
    real *own = HYBRID_OWN(n, s);
#if DRIFT_IN_REGISTERS
    real t[PROPAGATOR_SLOTS(1) * N_BODIES], dx[3 * N_BODIES], dv[3 * N_BODIES], f[NYSTROM_STAGES * 3 * N_BODIES],
        before[6 * N_BODIES];
    mask near[HYBRID_PAIRS(k, n)], drifts[N_BODIES];
    hybrid_work w = hybrid_work_in(t, dx, dv, f, before, near, drifts);
#else
    hybrid_work w = hybrid_work_in(aside->t, aside->dx, aside->dv, aside->f, aside->before, aside->near, aside->drifts);
#endif
    hybrid_pass(n, aside, &w);
    aside->made = false;
    if (aside->wanted && aside->part == HYBRID_TO_TRY) {
        const mask begins_near = own[HYBRID_NEAR] > 0.0;
        aside->trials = 0;
        aside->part = HYBRID_TO_SET_OUT;
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
                aside->part = HYBRID_TO_TRY;
                aside->made = true;
                aside->needed = k->aside.of_teams & may_be_near;
            }
        }
    }
    if (aside->wanted && aside->part == HYBRID_TO_SET_OUT) {
        hybrid_set_out(k, n, compensated, m, s, h, &w, inside);
        aside->attempts = 0;
        aside->part = HYBRID_TO_DRIFT;
    }
    const mask drifting = aside->wanted && aside->part == HYBRID_TO_DRIFT;
    mask under_way = drifting;
    const int most = lane_count_together(under_way);
    int substeps = 0;
    LANE_KEEP_ROLLED
    do {
        if (under_way) {
            hybrid_substep(k, n, m, h, aside->attempts, &w, inside);
            under_way = w.active && ++aside->attempts < NYSTROM_ATTEMPTS;
        }
    } while (2 * lane_count_together(under_way) > most && ++substeps < HYBRID_TOGETHER);
    if (drifting && !under_way) {
        hybrid_arrive(k, n, compensated, m, h, &w);
        if (w.again && ++aside->trials < HYBRID_TRIALS) {
            aside->part = HYBRID_TO_SET_OUT;
        } else {
            LANE_UNROLL
            for (int c = 0; c < PROPAGATOR_SLOTS(compensated) * n; c++)
                s[c] = w.t[c];
            hybrid_settle(&w, true, own);
            aside->part = HYBRID_TO_TRY;
            aside->made = true;
            /* what teams ask: they would set it aside at once */
            aside->needed = w.ends_near | (k->aside.of_teams && hybrid_may_be_near(k, n, m, s, h));
        }
    }
    hybrid_pass(n, &w, aside);
}
#endif

LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h,
                             lane_inside *inside, lane_aside *aside)
#else
LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h,
                             lane_inside *inside)
#endif
{
#if defined(PROPAGATOR_SETS_ASIDE) && TEAM == 1
    if (aside && aside->substeps) {
        hybrid_go_on(k, n, compensated, m, s, h, inside, aside);
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
#ifdef PROPAGATOR_SETS_ASIDE
    if (aside) {
        aside->needed = needed;
        aside->made = !needed;
        if (team_goes_on(needed))
            hybrid_undo(n, compensated, start, needed, s);
        return;
    }
#endif
#if TEAM == 1 /* teams set aside whoever needs it */
    if (lane_any(needed))
        hybrid_again_on_copies(k, n, compensated, m, start, s, h, needed, inside);
#endif
}
