/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * bulirsch_stoer.kern.h: extrapolation of leapfrog steps to length zero, adaptive steps.
 *
 *     column j = 1..k   a step H as j steps of drift h/2, kick h, drift h/2, h = H/j: T_j = y(H) + c_1 h^2 + c_2 h^4 +
 *                       ...
 *     result            T = sum_j w_j T_j,  w_j = prod_{i != j} j^2 / (j^2 - i^2), of order 2 k
 *     error             T less the same without column k, which is sum_j (k/j)^2 w_j T_j: goes as H^(2k-1)
 *
 * Bulirsch & Stoer 1966, Numer. Math. 8, 1; Hairer, Norsett & Wanner 1993, Solving Ordinary Differential Equations I,
 * II.9 and, for equations of second order as here, II.14. In half drifts the step numbers are 2, 4, 6, 8, ...; Gragg's
 * midpoint rule would need two forces for each of ours. All systems and steps have the same number of columns, so that
 * all lanes do the same work; only the length of the step is controlled. Forces that depend on the velocity act on a
 * second, auxiliary velocity in turns with the first, which keeps the step symmetric and its error even in h (Hellstrom
 * & Mikkola 2010, Celest. Mech. Dyn. Astron. 106, 143).
 *
 * Extrapolated are the changes of the velocity and the distances from uniform motion, which are as small as the forces
 * make them, and as differences from the finest column, so that the weights' own rounding does not matter.
 *
 * The step is accepted if for every body, dx and dv being the errors,
 *
 *     |dx_i| + H |dv_i| <= tolerance H max_j |v_j(H) - v_j(0)| + 2^-46 (|x_i| + H |v_i|)
 *
 * relative to what the largest acceleration does, wherever the origin is and however fast the system moves; the last
 * term is the rounding of the state. With q the largest ratio of the two sides the next step is 0.94 (0.65 /
 * q)^(1/(2k-2)) H (Hairer, Norsett & Wanner, equation II.9.22), or less if q would go on to change as it did since the
 * last step (Gustafsson's predictive controller: Hairer & Wanner 1996, Solving Ordinary Differential Equations II,
 * equation IV.8.25), within 1/5..4 of H.
 *
 * Operations an attempt: k (k + 1) / 2 (15 n (n - 1) + 15 n) + 21 k n.
 */
enum { BS_COLUMNS, BS_TOLERANCE, BS_COMPENSATED, BS_PARAMETERS };
enum { BS_X, BS_V = XYZ, BS_EX = 2 * XYZ, BS_EV = 3 * XYZ, BS_SLOTS = 4 * XYZ };
enum { BS_LENGTH, BS_ERROR, BS_OWN }; /* of the last accepted step, the error over the bound */

#ifdef SHOAL_KERNEL
enum { BS_LEAST = 3, BS_MOST = 8 }; /* columns */

#define PROPAGATOR_ADAPTIVE   1
#define PROPAGATOR_FIRST_BODY 0
#define PROPAGATOR_BARYCENTRIC
#define PROPAGATOR_SLOTS(compensated) ((compensated) ? BS_SLOTS : BS_EX)
#define PROPAGATOR_OWN                BS_OWN

LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    (void)k;
    (void)m;
    for (int c = 0; c < 2 * XYZ * n; c++)
        s[c] = w[c];
    for (int c = BS_EX * n; c < PROPAGATOR_SLOTS(1) * n + PROPAGATOR_OWN; c++)
        s[c] = lane_set(0.0);
}

/* As asked for, or those that need the fewest forces for the tolerance: measured, e = 0.1 and 0.9. */
LANE_FN int bs_columns(const shoal_kernel_args *k)
{
    int columns = chosen(k, BS_COLUMNS);
    if (columns == 0) {
        columns = BS_LEAST;
        for (double least = 1e-3; columns < BS_MOST && k->propagator[BS_TOLERANCE] < least; least *= 1e-2)
            columns++;
    }
    return columns < BS_LEAST ? BS_LEAST : columns;
}

/* One column: t = [2 * XYZ * n] distances from uniform motion and changes of the velocity after a time `span` in so
 * many steps. */
LANE_FN void bs_column(const shoal_kernel_args *k, int n, const real *m, const real *s, real span, int steps, real *t)
{
    const real *x = s + BS_X * n, *v = s + BS_V * n;
    real at[XYZ * LANE_ROOM(n)], a[XYZ * LANE_ROOM(n)], extra[XYZ * LANE_ROOM(n)];
    real auxiliary[XYZ * LANE_ROOM(n)], speed[XYZ * LANE_ROOM(n)];
    const real h = span / lane_set(steps), half = 0.5 * h;
    real *dx = t, *dv = t + XYZ * n;
    LANE_UNROLL
    for (int c = 0; c < XYZ * n; c++)
        dx[c] = dv[c] = auxiliary[c] = lane_set(0.0);
    LANE_KEEP_ROLLED
    for (int i = 0; i < steps; i++) {
        const real now = (i + 0.5) * h, drift = i + 1 < steps ? h : half;
        LANE_UNROLL
        for (int c = 0; c < XYZ * n; c++)
            at[c] = x[c] + lane_fma(now, v[c], dx[c]);
        newton_acceleration(k, n, 0, m, at, a);
        if (FORCES(k)) {
            /* half a kick of the auxiliary velocity by the other, a whole one the other way round, half a kick again */
            for (int turn = 0; turn < 3; turn++) {
                real *kicked = turn == 1 ? dv : auxiliary;
                const real *kicking = turn == 1 ? auxiliary : dv;
                for (int c = 0; c < XYZ * n; c++) {
                    speed[c] = v[c] + kicking[c];
                    extra[c] = a[c];
                }
                forces_add(k, n, m, at, speed, extra);
                for (int c = 0; c < XYZ * n; c++)
                    kicked[c] = lane_fma(turn == 1 ? h : half, extra[c], kicked[c]);
            }
        } else {
            LANE_UNROLL
            for (int c = 0; c < XYZ * n; c++)
                dv[c] = lane_fma(h, a[c], dv[c]);
        }
        LANE_UNROLL
        for (int c = 0; c < XYZ * n; c++)
            dx[c] = lane_fma(drift, dv[c], dx[c]);
    }
}

LANE_FN real bs_length(int n, const real *d, int i)
{
    return lane_sqrt(team_square(n, i, d));
}

/* x^exponent, x > 0, 0 < exponent < 1 as a sum of ten binary places: for the length of a step. */
LANE_FN real bs_power(real x, double exponent)
{
    real power = lane_set(1.0);
    for (int place = 0; place < 10; place++) {
        x = lane_sqrt(x);
        exponent *= 2.0;
        if (exponent >= 1.0) {
            power = power * x;
            exponent -= 1.0;
        }
    }
    return power;
}

LANE_FN real propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real *h)
{
    real *x = s + BS_X * n, *v = s + BS_V * n, *ex = s + BS_EX * n, *ev = s + BS_EV * n,
         *own = s + PROPAGATOR_SLOTS(1) * n;
    const int columns = bs_columns(k), bodies = real_bodies(k, n);
    const real zero = lane_set(0.0), span = *h, size = lane_abs(span);
    real finest[2 * XYZ * LANE_ROOM(n)], more[2 * XYZ * LANE_ROOM(n)], error[2 * XYZ * LANE_ROOM(n)],
        t[2 * XYZ * LANE_ROOM(n)];

    bs_column(k, n, m, s, span, columns, finest);
    LANE_UNROLL
    for (int c = 0; c < 2 * XYZ * n; c++)
        more[c] = error[c] = zero;
    LANE_KEEP_ROLLED
    for (int j = columns - 1; j > 0; j--) {
        double numerator = 1.0, denominator = 1.0;
        for (int i = 1; i <= columns; i++)
            if (i != j) {
                numerator *= j * j;
                denominator *= j * j - i * i;
            }
        const double weight = numerator / denominator, ratio = (double)columns / j;
        const real in_result = lane_set(weight), in_error = lane_set(weight * ratio * ratio);
        bs_column(k, n, m, s, span, j, t);
        LANE_UNROLL
        for (int c = 0; c < 2 * XYZ * n; c++) {
            const real difference = t[c] - finest[c];
            more[c] = lane_fma(in_result, difference, more[c]);
            error[c] = lane_fma(in_error, difference, error[c]);
        }
    }

    const real tiny = lane_set(1e-12), huge = lane_set(1e40);
    real kick = zero, worst = zero;
    for (int c = 0; c < 2 * XYZ * n; c++)
        finest[c] = finest[c] + more[c];
    for (int i = 0; i < bodies; i++)
        kick = lane_max(kick, bs_length(n, finest + XYZ * n, i));
    kick = team_max(kick);
    const real allowed = k->propagator[BS_TOLERANCE] * size * kick;
    mask broken = zero != zero; /* a state that is no number goes on, so that it is seen */
    for (int i = 0; i < bodies; i++) {
        const real wrong = lane_fma(size, bs_length(n, error + XYZ * n, i), bs_length(n, error, i));
        const real state = lane_fma(size, bs_length(n, v, i), bs_length(n, x, i));
        const real bound = lane_fma(lane_set(0x1p-46), state, allowed);
        const real excess = wrong / lane_select(bound > zero, bound, lane_set(1.0));
        worst = lane_max(worst, lane_select(excess < huge, excess, huge)); /* no number: the worst */
        broken = broken | lane_not(state < lane_set(1e300));
    }
    worst = team_max(worst);
    const mask good = (worst <= lane_set(1.0)) | team_any(broken);
    for (int c = 0; c < XYZ * n; c++) {
        real moved = x[c], velocity = v[c], moved_error = compensated ? ex[c] : zero,
             velocity_error = compensated ? ev[c] : zero;
        lane_add(compensated, &moved, &moved_error, lane_fma(span, v[c] - velocity_error, finest[c]));
        lane_add(compensated, &velocity, &velocity_error, finest[XYZ * n + c]);
        x[c] = lane_select(good, moved, x[c]);
        v[c] = lane_select(good, velocity, v[c]);
        if (compensated) {
            ex[c] = lane_select(good, moved_error, ex[c]);
            ev[c] = lane_select(good, velocity_error, ev[c]);
        }
    }

    worst = lane_max(worst, tiny);
    const double exponent = 1.0 / (2 * columns - 2);
    const mask second = good & (own[BS_LENGTH] > zero);
    const real ratio = lane_select(second, own[BS_ERROR], worst) / worst;
    const real trend = size / lane_select(second, own[BS_LENGTH], size) * bs_power(ratio, exponent);
    real factor = 0.94 * bs_power(0.65 / worst, exponent);
    factor = lane_select(second, lane_min(factor, factor * trend), factor);
    factor = lane_min(lane_max(factor, lane_set(0.2)), lane_set(4.0));
    own[BS_LENGTH] = lane_select(good, size, own[BS_LENGTH]);
    own[BS_ERROR] = lane_select(good, worst, own[BS_ERROR]);
    const real next = lane_min(factor * size, lane_set(k->dt_max));
    *h = lane_select(span < zero, -next, next);
    return lane_select(good, span, zero);
}

#endif
