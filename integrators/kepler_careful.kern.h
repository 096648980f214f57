/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kepler_careful.kern.h: the Kepler step of kepler.kern.h in double-double arithmetic, for the few lanes where terms of
 * F or of the G_k cancel (hyperbolas through the pericentre from far to far, steps of many revolutions) or where
 * nothing else settles. Slow; called rarely.
 *
 * A number is hi + lo, |lo| <= ulp(hi) / 2, relative errors about 2^-104 (Dekker 1971, Numer. Math. 18, 224; sums and
 * products with fused multiply-adds as in Joldes, Muller & Popescu 2017, ACM TOMS 44, 15). F is monotonic: Newton's
 * steps inside a bracket, else doubling or halving.
 */
/* The coefficients of c_2 and c_3, (-1)^j / (2 j + 2)! and (-1)^j / (2 j + 3)!, hi and lo; with |z| <= 1/4 the terms
 * from CAREFUL_PLAIN on are below 2^-56 of the sum, and those from CAREFUL_TERMS on below 2^-110. */
enum { CAREFUL_PLAIN = 7, CAREFUL_TERMS = 13 };
LANE_TABLE double careful_c2[CAREFUL_TERMS][2] = {
    {0x1.0000000000000p-1, 0x0.0p+0},
    {-0x1.5555555555555p-5, -0x1.5555555555555p-59},
    {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
    {-0x1.a01a01a01a01ap-16, -0x1.a01a01a01a01ap-76},
    {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76},
    {-0x1.1eed8eff8d898p-29, 0x1.2aec959e14c06p-83},
    {0x1.93974a8c07c9dp-37, 0x1.05d6f8a2efd1fp-92},
    {-0x1.ae7f3e733b81fp-45, -0x1.1d8656b0ee8cbp-101},
    {0x1.6827863b97d97p-53, 0x1.eec01221a8b0bp-107},
    {-0x1.e542ba4020225p-62, -0x1.ea72b4afe3c2fp-120},
    {0x1.0ce396db7f853p-70, -0x1.aebcdbd20331cp-124},
    {-0x1.f2cf01972f578p-80, 0x1.9ada5fcc1ab14p-135},
    {0x1.88e85fc6a4e5ap-89, -0x1.71c37ebd16540p-143},
};
LANE_TABLE double careful_c3[CAREFUL_TERMS][2] = {
    {0x1.5555555555555p-3, 0x1.5555555555555p-57},    {-0x1.1111111111111p-7, -0x1.1111111111111p-63},
    {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},   {-0x1.71de3a556c734p-19, 0x1.c154f8ddc6c00p-73},
    {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80},  {-0x1.6124613a86d09p-33, -0x1.f28e0cc748ebep-87},
    {0x1.ae7f3e733b81fp-41, 0x1.1d8656b0ee8cbp-97},   {-0x1.952c77030ad4ap-49, -0x1.ac981465ddc6cp-103},
    {0x1.2f49b46814157p-57, 0x1.2650f61dbdcb4p-112},  {-0x1.71b8ef6dcf572p-66, 0x1.d043ae40c4647p-120},
    {0x1.761b41316381ap-75, -0x1.3423c7d91404fp-130}, {-0x1.3f3ccdd165fa9p-84, 0x1.58ddadf344487p-139},
    {0x1.d1ab1c2dccea3p-94, 0x1.054d0c78aea14p-149},
};

typedef struct twin {
    real hi, lo;
} twin;

LANE_FN twin twin_of(real hi)
{
    twin a;
    a.hi = hi;
    a.lo = lane_set(0.0);
    return a;
}

LANE_FN twin twin_normal(real hi, real lo) /* |lo| < |hi| */
{
    twin a;
    a.hi = hi + lo;
    a.lo = lo - (a.hi - hi);
    return a;
}

LANE_FN twin twin_exact_sum(real a, real b)
{
    twin c;
    c.hi = a + b;
    const real bb = c.hi - a;
    c.lo = (a - (c.hi - bb)) + (b - bb);
    return c;
}

LANE_FN twin twin_add(twin a, twin b)
{
    twin s = twin_exact_sum(a.hi, b.hi), t = twin_exact_sum(a.lo, b.lo);
    s = twin_normal(s.hi, s.lo + t.hi);
    return twin_normal(s.hi, s.lo + t.lo);
}

LANE_FN twin twin_minus(twin a)
{
    a.hi = -a.hi;
    a.lo = -a.lo;
    return a;
}

LANE_FN twin twin_mul(twin a, twin b)
{
    const real p = a.hi * b.hi;
    real e = lane_fma(a.hi, b.hi, -p);
    e = lane_fma(a.hi, b.lo, lane_fma(a.lo, b.hi, e));
    return twin_normal(p, e);
}

LANE_FN twin twin_times(twin a, real b)
{
    const real p = a.hi * b;
    return twin_normal(p, lane_fma(a.lo, b, lane_fma(a.hi, b, -p)));
}

LANE_FN twin twin_div(twin a, twin b)
{
    const real q = a.hi / b.hi;
    const twin rest = twin_add(a, twin_minus(twin_times(b, q)));
    return twin_normal(q, rest.hi / b.hi);
}

LANE_FN twin twin_sqrt(real hi, real lo) /* of hi + lo > 0 */
{
    const real s = lane_sqrt(hi);
    return twin_normal(s, (lane_fnma(s, s, hi) + lo) / (2.0 * s));
}

LANE_FN twin twin_select(mask m, twin a, twin b)
{
    a.hi = lane_select(m, a.hi, b.hi);
    a.lo = lane_select(m, a.lo, b.lo);
    return a;
}

/* c_k at |z| <= 1/4 from its coefficients. */
LANE_FN twin careful_series(twin z, const double (*c)[2])
{
    real rest = lane_set(c[CAREFUL_TERMS - 1][0]);
    LANE_UNROLL
    for (int j = CAREFUL_TERMS - 2; j >= CAREFUL_PLAIN; j--)
        rest = lane_fma(z.hi, rest, lane_set(c[j][0]));
    twin sum = twin_of(rest);
    LANE_KEEP_ROLLED
    for (int j = CAREFUL_PLAIN - 1; j >= 0; j--) {
        const twin term = {lane_set(c[j][0]), lane_set(c[j][1])};
        sum = twin_add(term, twin_mul(z, sum));
    }
    return sum;
}

/* G_1, G_2, G_3 at X; not a number where they overflow. */
LANE_FN void careful_g(twin beta, twin X, twin *g1, twin *g2, twin *g3)
{
    const twin one = twin_of(lane_set(1.0)), X2 = twin_mul(X, X);
    twin z = twin_mul(beta, X2);
    real quarterings = lane_set(0.0);
    mask large = lane_abs(z.hi) > lane_set(0.25);
    LANE_KEEP_ROLLED
    for (int i = 0; i < KEPLER_DOUBLINGS && lane_any(large); i++) {
        z = twin_select(large, twin_times(z, lane_set(0.25)), z);
        quarterings = lane_select(large, quarterings + 1.0, quarterings);
        large = lane_abs(z.hi) > lane_set(0.25);
    }
    twin c2 = careful_series(z, careful_c2), c3 = careful_series(z, careful_c3);
    large = quarterings > lane_set(0.0);
    LANE_KEEP_ROLLED
    for (int i = 0; i < KEPLER_DOUBLINGS && lane_any(large); i++) {
        const twin c0 = twin_add(one, twin_minus(twin_mul(z, c2))), c1 = twin_add(one, twin_minus(twin_mul(z, c3)));
        c3 = twin_select(large, twin_times(twin_add(c2, twin_mul(c0, c3)), lane_set(0.25)), c3);
        c2 = twin_select(large, twin_times(twin_mul(c1, c1), lane_set(0.5)), c2);
        z = twin_select(large, twin_times(z, lane_set(4.0)), z);
        quarterings = quarterings - 1.0;
        large = quarterings > lane_set(0.0);
    }
    *g2 = twin_mul(X2, c2);
    *g3 = twin_mul(twin_mul(X, X2), c3);
    *g1 = twin_add(X, twin_minus(twin_mul(beta, *g3)));
}

LANE_FN twin careful_dot(const real *a, const real *b)
{
    return twin_add(twin_times(twin_of(a[0]), b[0]),
                    twin_add(twin_times(twin_of(a[1]), b[1]), twin_times(twin_of(a[2]), b[2])));
}

/* Positions and velocities, or changes of them: a value, so that a caller's arrays stay in registers. */
typedef struct kepler_state {
    real x[3], v[3];
} kepler_state;

LANE_FN kepler_state kepler_state_of(const real *x, const real *v)
{
    kepler_state s;
    LANE_UNROLL_XYZ
    for (int c = 0; c < 3; c++) {
        s.x[c] = x[c];
        s.v[c] = v[c];
    }
    return s;
}

#ifdef KERNEL_COMMON
#define kepler_careful LANE_COMMON(kepler_careful)
#endif
/* What a step h adds to the state s in the lanes `where`; the others are to be ignored. guess: of X, or 0. */
LANE_COMMON_FN kepler_state kepler_careful(mask where, real mu, real h, kepler_state s, real guess);

#if LANE_COMMON_HERE
LANE_COMMON_FN kepler_state kepler_careful(mask where, real mu, real h, kepler_state s, real guess)
{
    const real zero = lane_set(0.0), one = lane_set(1.0);
    const real direction = lane_select(h < zero, -one, one); /* backwards is forwards with the velocity turned round */
    LANE_UNROLL_XYZ
    for (int c = 0; c < 3; c++)
        s.v[c] = direction * s.v[c];
    h = direction * h;
    const twin r2 = careful_dot(s.x, s.x), r0 = twin_sqrt(r2.hi, r2.lo), eta = careful_dot(s.x, s.v);
    const twin beta = twin_add(twin_div(twin_of(2.0 * mu), r0), twin_minus(careful_dot(s.v, s.v)));
    const twin zeta = twin_add(twin_of(mu), twin_minus(twin_mul(beta, r0)));
    twin g1, g2, g3, r, X = twin_div(twin_of(h), r0);
    X = twin_select(direction * guess > zero, twin_of(direction * guess), X);
    real low = zero, high = zero, last = X.hi;
    /* what is not a number has no root */
    mask search = where & (lane_abs(X.hi + eta.hi + beta.hi + zeta.hi) < lane_set(0x1p1023)), bounded = one < zero;
    LANE_KEEP_ROLLED
    for (int i = 0; i < KEPLER_CAREFUL && lane_any(search); i++) {
        careful_g(beta, X, &g1, &g2, &g3);
        const twin F = twin_add(twin_add(twin_mul(r0, X), twin_mul(eta, g2)),
                                twin_add(twin_mul(zeta, g3), twin_of(-h)));
        r = twin_add(r0, twin_add(twin_mul(eta, g1), twin_mul(zeta, g2)));
        const mask below = F.hi <= zero; /* F > 0, or not a number when it overflows: beyond the root */
        low = lane_select(search & below, X.hi, low);
        high = lane_select(search & lane_not(below), X.hi, high);
        bounded = bounded | lane_not(below);
        const real step = -(F.hi / r.hi), size = lane_abs(step);
        const real next = X.hi + step;
        const mask sane = (lane_abs(F.hi) < lane_set(1e250)) & (r.hi > zero) & (r.hi < lane_set(1e250));
        const mask settled = sane & (size <= lane_set(0x1p-70) * X.hi);
        /* Newton's step must stay inside and halve the last one: where F grows exponentially it creeps */
        const mask newton = sane & (next >= low) & ((next <= high) | lane_not(bounded)) & (size <= 0.5 * last);
        const real middle = lane_select(bounded, 0.5 * (low + high), 2.0 * X.hi);
        const mask ends = lane_not(newton) & bounded & ((middle <= low) | (middle >= high));
        const twin refined = twin_add(X, twin_of(step));
        last = lane_select(newton, size, lane_select(bounded, high - low, middle));
        X = twin_select(search & lane_not(ends), twin_select(newton | settled, refined, twin_of(middle)), X);
        search = search & lane_not(settled | ends);
    }
    careful_g(beta, X, &g1, &g2, &g3);
    r = twin_add(r0, twin_add(twin_mul(eta, g1), twin_mul(zeta, g2)));
    const twin f = twin_minus(twin_div(twin_times(g2, mu), r0)), gd = twin_minus(twin_div(twin_times(g2, mu), r));
    const twin g = twin_add(twin_of(h), twin_minus(twin_times(g3, mu)));
    const twin fd = twin_minus(twin_div(twin_times(g1, mu), twin_mul(r0, r)));
    kepler_state change;
    LANE_UNROLL
    for (int c = 0; c < 3; c++) {
        change.x[c] = twin_add(twin_times(f, s.x[c]), twin_times(g, s.v[c])).hi;
        change.v[c] = direction * twin_add(twin_times(fd, s.x[c]), twin_times(gd, s.v[c])).hi;
    }
    return change;
}
#endif
