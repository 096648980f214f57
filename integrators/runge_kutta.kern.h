/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * runge_kutta.kern.h: explicit Runge-Kutta methods, the tableaux of tableaux.kern.h, in steps of one length
 * (runge_kutta) or of lengths that keep the estimated error of every step at a tolerance (runge_kutta_adaptive).
 *
 * The stages' velocities are eliminated, so that a step keeps one acceleration a stage (see tableaux.kern.h).
 *
 * Adaptive steps. With dx_i, dv_i the difference of the two embedded solutions for body i and d_ij the distances
 * between bodies at the start of the step, the error of a step is the largest over all bodies of
 *
 *     |dx_i| / min_j d_ij (j with a mass)  and  |dv_i| / (sum_j m_j / d_ij)^(1/2)        (lengths of vectors)
 *
 * which depends on no origin and no direction, has a scale for a body at the barycentre or at rest, and sees a close
 * pair as what it is; massless bodies change no other's. A step is accepted if that is at most `tolerance`; the next
 * one is 0.9 (tolerance / error)^(1/(q + 1)) times as long, at least 1/5 and at most 5 times, q the lower order of the
 * pair (Hairer, Norsett & Wanner 1993, section II.4). The higher order goes on. An error that is no number is rejected,
 * unless the state was none already: that goes on, and ends its system. Nothing but the state and h goes from step to
 * step.
 *
 * Operations a step of s stages: 15 s n (n - 1) and about 3 n s^2 / 2; compensated 18 n more; adaptive 13 n (n - 1)
 * more.
 */
#ifndef PROPAGATOR_ADAPTIVE
#define PROPAGATOR_ADAPTIVE 0
#endif

enum {
    RK_METHOD,
#if PROPAGATOR_ADAPTIVE
    RK_TOLERANCE,
#endif
    RK_COMPENSATED,
    RK_PARAMETERS
};
enum {
    RK_X,
    RK_V = XYZ,
    RK_A = 2 * XYZ, /* of steps that it chooses */
    RK_EX = (PROPAGATOR_ADAPTIVE ? 3 : 2) * XYZ,
    RK_EV = RK_EX + XYZ,
    RK_SLOTS = RK_EV + XYZ
};

#ifdef SHOAL_KERNEL
#include "integrators/tableaux.kern.h"

#define PROPAGATOR_FIRST_BODY 0
#define PROPAGATOR_BARYCENTRIC
#define PROPAGATOR_SLOTS(compensated) ((compensated) ? RK_SLOTS : RK_EX)

LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    LANE_UNROLL
    for (int c = 0; c < 2 * XYZ * n; c++)
        s[c] = w[c];
    LANE_UNROLL
    for (int c = RK_EX * n; c < PROPAGATOR_SLOTS(1) * n; c++)
        s[c] = lane_set(0.0);
    if (PROPAGATOR_ADAPTIVE)
        gravity_acceleration(k, n, m, s + RK_X * n, s + RK_V * n, s + RK_A * n);
    else
        (void)k, (void)m;
}

/* sum = sum_j weight[j] a[j], j < stages; a = [stages][XYZ * n]. */
LANE_FN void rk_sum(const double *weight, int stages, int n, const real *a, real *sum)
{
    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++)
        sum[c] = lane_set(0.0);
    LANE_UNROLL_FEW
    for (int j = 0; j < stages; j++)
        if (weight[j] != 0) {
            const real w = lane_set(weight[j]);
            LANE_UNROLL
            for (int c = 0; c < XYZ * n; c++)
                sum[c] = lane_fma(w, a[j * XYZ * n + c], sum[c]);
        }
}

/* The accelerations of the stages from `first` on. */
/* long: inlined: eight arguments cost nothing */
LANE_FN void rk_stages(const shoal_kernel_args *k, const rk_tableau *t, int n, const real *m, const real *s, real h,
                       int first, real *a)
{
    const real *x = s + RK_X * n, *v = s + RK_V * n;
    LANE_UNROLL_FEW
    for (int i = first; i < t->stages; i++) {
        real xi[XYZ * LANE_ROOM(n)], vi[XYZ * LANE_ROOM(n)];
        const real ch = t->c[i] * h;
        rk_sum(t->AA[i], i - 1, n, a, xi);
        LANE_UNROLL
        for (int c = 0; c < XYZ * n; c++)
            xi[c] = x[c] + lane_fma(h * h, xi[c], ch * v[c]);
        if (FORCES(k)) {
            rk_sum(t->A[i], i, n, a, vi);
            LANE_UNROLL
            for (int c = 0; c < XYZ * n; c++)
                vi[c] = lane_fma(h, vi[c], v[c]);
        }
        gravity_acceleration(k, n, m, xi, FORCES(k) ? vi : v, a + i * XYZ * n);
    }
}

/* The step from its stages. */
LANE_FN void rk_add(const rk_tableau *t, int n, int compensated, real *s, real h, const real *a)
{
    real sum[XYZ * LANE_ROOM(n)];
    rk_sum(t->bA, t->stages - 1, n, a, sum);
    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++)
        lane_add_times(compensated, &s[RK_X * n + c], &s[RK_EX * n + c], h, lane_fma(h, sum[c], s[RK_V * n + c]));
    rk_sum(t->b, t->stages, n, a, sum);
    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++)
        lane_add_times(compensated, &s[RK_V * n + c], &s[RK_EV * n + c], h, sum[c]);
}

#if PROPAGATOR_ADAPTIVE

/* The square of the error of a step from s; a = [stages + 1][XYZ * n] with that of the new state last. Not finite if
 * any of them is not. */
LANE_FN real rk_error2(const shoal_kernel_args *k, const rk_tableau *t, int n, const real *m, const real *s, real h,
                       const real *a)
{
    const int bodies = real_bodies(k, n), all = team_bodies(bodies);
    const real zero = lane_set(0.0), one = lane_set(1.0);
    real dx[XYZ * LANE_ROOM(n)], dv[XYZ * LANE_ROOM(n)];
    rk_sum(t->eA, t->stages, n, a, dx);
    rk_sum(t->e, t->stages + 1, n, a, dv);
    team_sync();
    team_show(0, XYZ, n, s + RK_X * n);
    team_sync();
    LANE_UNROLL_FEW
    for (int i = 0; i < bodies; i++) {
        real nearness = zero, potential = zero;
        LANE_UNROLL_FEW
        for (int j = 0; j < all; j++) {
            real d[3];
            if (j == team_body(i))
                continue;
            LANE_UNROLL_XYZ
            for (int c = 0; c < 3; c++)
                d[c] = team_seen_of(0, n, c, j, s + RK_X * n) - team_seen_of(0, n, c, team_body(i), s + RK_X * n);
            const real inverse = lane_rsqrt(dot(d, d)), mass = team_mass(m, j);
            nearness = lane_select((mass > zero) & (inverse > nearness), inverse, nearness);
            potential = lane_fma(mass, inverse, potential);
        }
        const real error[] = {h * h * team_square(n, i, dx) * nearness * nearness, team_square(n, i, dv), potential};
        LANE_UNROLL_XYZ
        for (int c = 0; c < XYZ; c++) /* three numbers of a body, in the place of its vector dx */
            dx[c * n + i] = team_component(error, c);
    }
    team_sync();
    team_show(0, XYZ, n, dx);
    team_sync();
    real sum = zero, most = zero, scale = one; /* the largest fraction is most / scale */
    LANE_UNROLL_FEW
    for (int i = 0; i < all; i++) {
        const real error_x = team_seen_of(0, n, 0, i, dx), error_v = team_seen_of(0, n, 1, i, dx);
        const real pull = team_seen_of(0, n, 2, i, dx);
        sum = sum + error_x + error_v;
        const mask nearer = error_x * scale > most;
        most = lane_select(nearer, error_x, most);
        scale = lane_select(nearer, one, scale);
        const mask faster = error_v * scale > most * pull;
        most = lane_select(faster, error_v, most);
        scale = lane_select(faster, pull, scale);
    }
    return h * h * (most / scale + 0.0 * sum);
}

LANE_FN real propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real *h)
{
    const rk_tableau *t = &rk_tableaux[RK_EMBEDDED + chosen(k, RK_METHOD)];
    const real least = lane_set(0x1p-40), most = lane_set(0x1p40), tried = *h;
    real a[(RK_MOST_STAGES + 1) * XYZ * LANE_ROOM(n)], next[PROPAGATOR_SLOTS(1) * LANE_ROOM(n)];
    LANE_UNROLL_FEW
    for (int c = 0; c < XYZ * n; c++)
        a[c] = s[RK_A * n + c];
    LANE_UNROLL_FEW
    for (int c = 0; c < PROPAGATOR_SLOTS(compensated) * n; c++)
        next[c] = s[c];
    rk_stages(k, t, n, m, s, tried, 1, a);
    rk_add(t, n, compensated, next, tried, a);
    gravity_acceleration(k, n, m, next + RK_X * n, next + RK_V * n, next + RK_A * n);
    LANE_UNROLL_FEW
    for (int c = 0; c < XYZ * n; c++)
        a[t->stages * XYZ * n + c] = next[RK_A * n + c];

    const real unit = lane_set(1.0 / k->propagator[RK_TOLERANCE]);
    const real error2 = unit * unit * rk_error2(k, t, n, m, s, tried, a);
    real lost = lane_set(0.0);
    LANE_UNROLL_FEW
    for (int q = 0; q < RK_EX * n; q += n) {
        LANE_UNROLL_FEW
        for (int i = 0; i < real_bodies(k, n); i++)
            lost = lane_fma(lane_set(0.0), s[q + i], lost);
    }
    const mask good = (error2 <= lane_set(1.0)) | team_any(lost != lane_set(0.0));
    LANE_UNROLL_FEW
    for (int c = 0; c < PROPAGATOR_SLOTS(compensated) * n; c++)
        s[c] = lane_select(good, next[c], s[c]);
    real factor = 0.9 * lane_inverse_root(lane_min(lane_max(error2, least), most), 2 * (t->lower + 1));
    factor = lane_select(error2 < most, lane_min(lane_max(factor, lane_set(0.2)), lane_set(5.0)), lane_set(0.2));
    const real longest = lane_set(k->dt_max < 1e300 ? k->dt_max : 1e300);
    *h = factor * tried;
    *h = lane_select(lane_abs(*h) < longest, *h, lane_select(tried < lane_set(0.0), -longest, longest));
    return lane_select(good, tried, lane_set(0.0));
}

#else

LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    const rk_tableau *t = &rk_tableaux[chosen(k, RK_METHOD)];
    real a[RK_MOST_STAGES * XYZ * LANE_ROOM(n)];
    rk_stages(k, t, n, m, s, h, 0, a);
    rk_add(t, n, compensated, s, h, a);
}

#endif

#endif
