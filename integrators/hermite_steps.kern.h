/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hermite_steps.kern.h: Hermite schemes that choose their steps. hermite_advance (of order HERMITE_ORDER) makes a step;
 * here is how long it is.
 *
 * With A_k = |d^k a / dt^k| of a body, and q = A_1^2 / A_0^2:
 *
 *     swarm      h = tau [sum of q over the bodies]^(-1/2) at the step's start: equation 5 of the Swarm-NG paper
 *                (Dindar et al. 2013,
 *                New Astronomy 23-24, 6). A body without mass counts as if it were alone. There is no step, and the
 *                    system ends with
 *                step_underflow, where a body passes a point without acceleration, as in the figure of eight.
 *     aarseth    the least of all bodies, at the end of the last step, higher derivatives from its interpolation
 *                polynomial:
 *                order 4:  h = [eta (A_0 A_2 + A_1^2) / (A_1 A_3 + A_2^2)]^(1/2)   Makino & Aarseth 1992, PASJ 44, 141,
 *                          equation 7
 *                order 6:  h = eta [(A_0 A_2 + A_1^2) / (A_3 A_5 + A_4^2)]^(1/6)   Nitadori & Makino 2008, New
 *                          Astronomy 13, 498
 *     symmetric  the largest power of two (of inner units of time) on whose grid the step starts, and not above tau (q
 *                + A_2 / A_0)^(-1/2)
 *                of any body at *either* end. A step that is too long for its end is tried again with half the length,
 *                    so that a step
 *                and its reverse are the same: no drift of the energy, if the corrector is iterated (order 4 twice,
 *                    order 6 three
 *                times). Kokubo, Yoshinaga & Makino 1998, MNRAS 297, 1067; on the grid: Makino, Hut, Kaplan & Saygin
 *                    2006, New
 *                Astronomy 12, 124. The snap, Newton's alone, keeps steps finite where the jerk is zero, as at rest;
 *                    that a body asks for
 *                no less than tau (8 A_2^2 / A_1^2)^(-1/2) does so where the acceleration is (Kepler orbits never come
 *                    to that bound).
 *
 * The first step of a system is at most eta or tau times (q + A_2 / A_0)^(-1/2): bodies at rest have no jerk.
 *
 * A body without acceleration (below 2^-24 of the largest: see team_least_square) is skipped. A step of the
 * first two is at most twice the last one, which it also is where no body asks for less; none is above dt_max.
 */

/* The largest power of two not above x: Rump, Ogita & Oishi 2008, SIAM J. Sci. Comput. 31, 189, algorithm 3.5. 0 <
 * x. */
LANE_FN real power_of_two(real x)
{
    const real q = lane_set(0x1p52 + 1.0) * lane_min(x, lane_set(0x1p900));
    return lane_abs(q - lane_set(1.0 - 0x1p-53) * q);
}

/* The step that a state asks for, from |jerk| / |a| and with_snap from |snap| / |a|; not finite if it asks for none. */
LANE_BIG_FN real step_here(const shoal_kernel_args *k, int n, int with_snap, const real *m, const real *s)
{
    const real *a = s + HERMITE_A * n, *j = s + HERMITE_J * n;
    const int criterion = chosen(k, HERMITE_CRITERION);
    const real zero = lane_set(0.0), least = team_least_square(real_bodies(k, n), n, a);
    real most = zero, felt[LANE_ROOM(n)]; /* by bodies with a mass */
#if HERMITE_ORDER >= 6
    const real *snap = s + HERMITE6_S * n;
#else
    /* jerks, too, in one array: NVRTC 13.0 put one of two over s */
    real found[2 * XYZ * LANE_ROOM(n)], *snap = found + XYZ * n;
    if (with_snap)
        newton_snap(k, n, m, s + HERMITE_X * n, s + HERMITE_V * n, a, found, snap);
#endif
    LANE_UNROLL_GPU
    for (int i = 0; i < real_bodies(k, n); i++) {
        const real a2 = team_square(n, i, a);
        const real j2 = team_square(n, i, j);
        real rate = j2 / a2;
        if (with_snap) {
            const real s2 = team_square(n, i, snap);
            /* which is taken, too, where the first is no number */
            rate = lane_min(8.0 * s2 / j2, (j2 + lane_sqrt(a2 * s2)) / a2);
        }
        rate = lane_select(a2 > least, rate, zero);
        felt[i] = lane_select(m[i] > zero, rate, zero);
        most = lane_max(most, rate);
    }
    most = team_max(most);
    if (criterion == HERMITE_SWARM)
        most = lane_max(team_sum(real_bodies(k, n), felt), most);
    return lane_set(k->propagator[criterion == HERMITE_AARSETH ? HERMITE_ETA : HERMITE_TAU]) / lane_sqrt(most);
}

#include "integrators/hermite_tables.kern.h"
#if HERMITE_ORDER >= 6
#define hermite_polynomial hermite6_polynomial
#else
#define hermite_polynomial hermite4_polynomial
#endif
enum { HERMITE_ROWS = HERMITE_ORDER / 2, HERMITE_COLUMNS = HERMITE_ORDER - 1 };

/* Aarseth's step at the end of one of length h from the state `before` to s. The k-th derivative times h^k
 * everywhere. Bodies that are not there, whose higher derivatives are roundings, ask for none. */
LANE_BIG_FN real step_by_polynomial(const shoal_kernel_args *k, int n, const real *m, const real *before, const real *s,
                                    real h)
{
    const int known = HERMITE_ORDER / 2; /* derivatives, the zeroth included */
    const real *a = s + HERMITE_A * n, *a0 = before + HERMITE_A * n;
    const real least = team_least_square(real_bodies(k, n), n, a), zero = lane_set(0.0);
    real most = zero;
    LANE_UNROLL_GPU
    for (int i = 0; i < real_bodies(k, n); i++) {
        real derivative[HERMITE_ORDER * XYZ], square[HERMITE_ORDER];
        LANE_UNROLL_GPU
        for (int c = 0; c < XYZ; c++) {
            const real *now = a + c * n + i, *then = a0 + c * n + i;
            real column[HERMITE_COLUMNS], power = h;
            column[0] = now[0] - then[0];
            derivative[c] = now[0];
            LANE_UNROLL_GPU
            for (int d = 1; d < known; d++) {
                column[2 * d - 1] = power * now[XYZ * d * n];
                column[2 * d] = power * then[XYZ * d * n];
                derivative[XYZ * d + c] = column[2 * d - 1];
                power = power * h;
            }
            LANE_UNROLL_GPU
            for (int row = 0; row < HERMITE_ROWS; row++) {
                real sum = zero;
                LANE_UNROLL_GPU
                for (int q = 0; q < HERMITE_COLUMNS; q++)
                    sum = lane_fma(lane_set(hermite_polynomial[row][q]), column[q], sum);
                derivative[XYZ * (known + row) + c] = sum;
            }
        }
        LANE_UNROLL_GPU
        for (int d = 0; d < HERMITE_ORDER; d++)
            square[d] = team_square(1, 0, derivative + XYZ * d);
        const real low = lane_sqrt(square[0] * square[2]) + square[1];
        const real high = lane_sqrt(square[HERMITE_ORDER - 3] * square[HERMITE_ORDER - 1]) + square[HERMITE_ORDER - 2];
        most = lane_max(most, lane_select((square[0] > least) & (low > zero) & is_there(m[i]), high / low, zero));
    }
    most = team_max(most);
    /* most = 0: nobody asks; what comes of that is no number in reach of step_bounded */
    const real eta = lane_set(k->propagator[HERMITE_ETA]);
#if HERMITE_ORDER >= 6
    return lane_abs(h) * eta / lane_cbrt(lane_sqrt(most));
#else
    return lane_abs(h) * lane_sqrt(eta / most);
#endif
}

/* A step between 0 and twice the last one and dt_max, whatever was asked for. */
LANE_FN real step_bounded(const shoal_kernel_args *k, real asked, real last)
{
    const real twice = 2.0 * last;
    return lane_min(lane_select((asked > lane_set(0.0)) & (asked < twice), asked, twice), lane_set(k->dt_max));
}

/* Half a step until it starts on its grid: time is a multiple of it. */
LANE_FN real step_on_grid(real step, real time)
{
    for (int i = 0; i < 64; i++) {
        const real count = time / step;
        const mask off = (count < lane_set(0x1p52)) & ((count + 0x1p52) - 0x1p52 != count);
        if (!lane_any(off))
            break;
        step = lane_select(off, 0.5 * step, step);
    }
    return step;
}

LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    hermite_prepare(k, n, m, w, s);
    s[PROPAGATOR_SLOTS(1) * n + HERMITE_NEXT] = -step_bounded(k, step_here(k, n, 1, m, s), lane_set(0x1p900));
}

LANE_FN real propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real *h)
{
    const int criterion = chosen(k, HERMITE_CRITERION), n_slots = PROPAGATOR_SLOTS(compensated) * n;
    const real zero = lane_set(0.0), sign = lane_select(*h < zero, lane_set(-1.0), lane_set(1.0));
    real *next = s + PROPAGATOR_SLOTS(1) * n + HERMITE_NEXT, *time = s + PROPAGATOR_SLOTS(1) * n + HERMITE_TIME;
    real before[PROPAGATOR_SLOTS(1) * LANE_ROOM(n)];
    real size = lane_abs(*h), proposed;

    const mask first = *next < zero;
    const real bounded = lane_min(size, -*next);
    size = lane_select(first, criterion == HERMITE_SYMMETRIC ? power_of_two(bounded) : bounded, size);
    const mask off_grid = size < *next; /* on the way to an output, on a copy */
    LANE_UNROLL_GPU
    for (int c = 0; c < n_slots; c++)
        before[c] = s[c];
    hermite_advance(k, n, compensated, chosen(k, HERMITE_ITERATIONS), m, s, sign * size);

    if (criterion == HERMITE_AARSETH)
        proposed = step_bounded(k, step_by_polynomial(k, n, m, before, s, sign * size), size);
    else if (criterion == HERMITE_SWARM)
        proposed = step_bounded(k, step_here(k, n, 0, m, s), size);
    else
        proposed = step_bounded(k, step_here(k, n, 1, m, s), 0x1p64 * size);
    if (criterion == HERMITE_SYMMETRIC) {
        const mask rejected = size > proposed;
        LANE_UNROLL_GPU
        for (int c = 0; c < n_slots; c++)
            s[c] = lane_select(rejected, before[c], s[c]);
        *time = lane_select(rejected, *time, lane_select(off_grid, zero, *time + size));
        proposed = lane_select(rejected, 0.5 * size, step_on_grid(power_of_two(proposed), *time));
        *next = lane_select(rejected & off_grid, *next, proposed);
        size = lane_select(rejected, zero, size);
    } else {
        *next = proposed;
    }
    *h = sign * proposed;
    return sign * size;
}
