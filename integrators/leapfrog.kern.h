/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * leapfrog.kern.h: leapfrog of order 2 (Stoermer-Verlet) as kick-drift-kick: symplectic, reversible, one force evaluation a step.
 *
 *     v += a h/2;  x += v h;  a = a(x);  v += a h/2
 *
 * Hairer, Lubich & Wanner 2003, Acta Numerica 12, 399. Operations a step: 15 n (n - 1) + 9 n; compensated 27 n more.
 */
#define PROPAGATOR_FIRST_BODY 0
#define PROPAGATOR_SLOTS(compensated) ((compensated) ? 15 : 9)

LANE_FN void propagator_prepare(const shoal_kernel_args *k, int n, const real *m, const real *w, real *s)
{
    LANE_UNROLL
    for (int c = 0; c < 6 * n; c++)
        s[c] = w[c];
    newton_acceleration(k, n, 0, m, s, s + 6 * n);
    LANE_UNROLL
    for (int c = 9 * n; c < 15 * n; c++)
        s[c] = lane_set(0.0);
}

LANE_FN void propagator_step(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, real h)
{
    real *x = s, *v = s + 3 * n, *a = s + 6 * n, *ex = s + 9 * n, *ev = s + 12 * n;
    const real h2 = 0.5 * h;
    LANE_UNROLL
    for (int c = 0; c < 3 * n; c++) {
        if (compensated) {
            lane_add(1, &v[c], &ev[c], h2 * a[c]);
            lane_add(1, &x[c], &ex[c], h * v[c]);
        } else {
            v[c] = lane_fma(h2, a[c], v[c]);
            x[c] = lane_fma(h, v[c], x[c]);
        }
    }
    newton_acceleration(k, n, 0, m, x, a);
    LANE_UNROLL
    for (int c = 0; c < 3 * n; c++) {
        if (compensated)
            lane_add(1, &v[c], &ev[c], h2 * a[c]);
        else
            v[c] = lane_fma(h2, a[c], v[c]);
    }
}

LANE_FN void propagator_view(int n, const real *m, const real *s, real *w)
{
    (void)m;
    LANE_UNROLL
    for (int c = 0; c < 6 * n; c++)
        w[c] = s[c];
}

/* An upper bound of the squared distance of every body from the barycentre. */
LANE_FN real propagator_reach2(int n, const real *s)
{
    real sum = s[0] * s[0];
    LANE_UNROLL
    for (int c = 1; c < 3 * n; c++)
        sum = lane_fma(s[c], s[c], sum);
    return sum;
}
