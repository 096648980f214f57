/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled_kernel.c: all-pairs gravity on SIMD lanes, compiled once for each instruction set (SHOAL_ARCH: v3, v4, neon,
 * any) and precision (TILED_PRECISION as shoal_tiled_precision); the result is a table named TILED_KERNELS.
 *
 * pairs: TILED_I vectors of bodies i and their sums stay in registers, bodies j are broadcast one after the other,
 * their sums are vectors in the nearest cache that are added up across lanes once for a whole tile. A pair gives 17
 * vector operations and the rsqrt's correction for LANES pairs or 2 LANES interactions.
 *
 * row: one target, lanes over sources.
 *
 * mixed: positions are two floats; the rest is float, sums over at most TILED_STEP bodies j (or a tile's bodies i in
 * one lane) are carried on in double.
 */
#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "gravitation/tiled/tiled_cpu.h"

#define FP64   (TILED_PRECISION == 0)
#define MIXED  (TILED_PRECISION == 1)
#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX2__)
#define BYTES 32
#else
#define BYTES 16
#endif

#if FP64
typedef double number;
typedef long long bits;
#else
typedef float number;
typedef int bits;
#endif
#define LANES (BYTES / (int)sizeof(number))
typedef number real __attribute__((vector_size(BYTES)));
typedef bits mask __attribute__((vector_size(BYTES)));
typedef double wide __attribute__((vector_size(BYTES)));
typedef double wide32 __attribute__((vector_size(32)));
typedef double wide16 __attribute__((vector_size(16)));
#if !FP64
typedef float half __attribute__((vector_size(BYTES / 2)));
#endif

/* ---- words ------------------------------------------------------------------------------------------------------- */

INLINE real set(double value)
{
    return (number)value - (real){0};
}

INLINE real load(const void *field, long i)
{
    return *(const real *)((const number *)field + i);
}

INLINE real spread(const void *field, long i)
{
    return ((const number *)field)[i] - (real){0};
}

INLINE real fma_(real a, real b, real c)
{
#if defined(__AVX512F__) && FP64
    return (real)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX512F__)
    return (real)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__) && FP64
    return (real)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__FMA__)
    return (real)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__) && FP64
    return (real)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#elif defined(__aarch64__)
    return (real)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

/* c - a b */
INLINE real fnma(real a, real b, real c)
{
#if defined(__AVX512F__) && FP64
    return (real)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX512F__)
    return (real)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__) && FP64
    return (real)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__FMA__)
    return (real)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__) && FP64
    return (real)vfmsq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#elif defined(__aarch64__)
    return (real)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return c - a * b;
#endif
}

INLINE real select_(mask m, real a, real b)
{
    return (real)((m & (mask)a) | (~m & (mask)b));
}

/* The lane that is so far from the first, if there is one. */
INLINE mask lane_is(long which)
{
    mask lane;
    for (int l = 0; l < LANES; l++)
        lane[l] = l;
    return lane == (bits)which;
}

INLINE bool any(mask m)
{
    bits all = 0;
    for (int l = 0; l < LANES; l++)
        all |= m[l];
    return all != 0;
}

/* 1/sqrt(x), x > 0, to 12 bits or better: an instruction, or an integer estimate of the exponent (Lomont's
 * constants, relative error 0.035) and a quintic step. */
INLINE real rsqrt_seed(real x)
{
#if defined(__AVX512F__) && FP64
    return (real)_mm512_rsqrt14_pd((__m512d)x);
#elif defined(__AVX512F__)
    return (real)_mm512_rsqrt14_ps((__m512)x);
#elif defined(__AVX2__) && !FP64
    return (real)_mm256_rsqrt_ps((__m256)x);
#else
#if FP64
    const real y = (real)(0x5fe6eb50c7b537a9LL - ((mask)x >> 1));
#else
    const real y = (real)(0x5f375a86 - ((mask)x >> 1));
#endif
    const real e = fnma(x * y, y, set(1));
    real p = fma_(e, set(0.2734375), set(0.3125));
    p = fma_(e, p, set(0.375));
    p = fma_(e, p, set(0.5));
    return fma_(y * e, p, y);
#endif
}

/* Lanes as doubles: one vector of them, or two. */
typedef struct doubles {
    wide part[FP64 ? 1 : 2];
} doubles;

INLINE doubles to_doubles(real a)
{
#if FP64
    return (doubles){{a}};
#else
    const union {
        real all;
        half part[2];
    } u = {a};
    return (doubles){{__builtin_convertvector(u.part[0], wide), __builtin_convertvector(u.part[1], wide)}};
#endif
}

/* The sum over lanes, half and half. */
INLINE double total(real a)
{
    const doubles d = to_doubles(a);
    const union {
        wide all;
        wide32 by_32[BYTES / 32 + 1];
        wide16 by_16[BYTES / 16];
    } u = {FP64 ? d.part[0] : d.part[0] + d.part[!FP64]};
#if BYTES == 64
    const union {
        wide32 all;
        wide16 by_16[2];
    } v = {u.by_32[0] + u.by_32[1]};
    const wide16 w = v.by_16[0] + v.by_16[1];
#elif BYTES == 32
    const wide16 w = u.by_16[0] + u.by_16[1];
#else
    const wide16 w = u.by_16[0];
#endif
    return w[0] + w[1];
}

/* ---- the law of force -------------------------------------------------------------------------------------------- */

struct body {
    real x, y, z, m, vx, vy, vz, lx, ly, lz;
};

struct sums {
    real ax, ay, az, jx, jy, jz, p;
};

/* What tiled.h calls g and p; dg: g'/(r g) of Plummer, g'/r of the spline. */
struct law {
    real g, p, dg;
};

struct constants {
    real eps2, inverse_h, cut2;
};

/* In single precision a 14-bit seed needs the first power only: 1.5 y^3 (5/3 - s2 y^2) is within 2e-8, and 1.5 is
 * left to the end. */
#if TILED_PRECISION == 2 && defined(__AVX512F__)
#define SHORT(what) (((what) & ~TILED_EQUAL) == 0)
#else
#define SHORT(what) 0
#endif
#define SCALE(what) (SHORT(what) ? 1.5 : 1)

/* s2 = r^2 + eps^2 to s^-3: with a seed y of 1/sqrt(s2) and e = 1 - s2 y^2, s^-3 = y^3 (1 - e)^(-3/2), as a power
 * series in e. */
INLINE struct law law_of(int what, real s2, const struct constants *c)
{
    struct law f = {0};
    const real y = rsqrt_seed(s2), y2 = y * y, y3 = y2 * y;
    if (SHORT(what)) {
        f.g = y3 * fnma(s2, y2, set(5. / 3));
        return f;
    }
    const real e = fnma(s2, y2, set(1));
#if FP64
    real q = fma_(e, set(2.4609375), set(2.1875));
    q = fma_(e, q, set(1.875));
    q = fma_(e, q, set(1.5));
    real r = fma_(e, set(0.2734375), set(0.3125));
    r = fma_(e, r, set(0.375));
    r = fma_(e, r, set(0.5));
    real s = fma_(e, e, e);
    s = fma_(e, s, e);
    s = fma_(e, s, e);
#else
    const real q = fma_(e, set(1.875), set(1.5)), r = fma_(e, set(0.375), set(0.5)), s = fma_(e, e, e);
#endif
    f.g = fma_(y3, e * q, y3);
    f.p = fma_(y, e * r, y);
    f.dg = set(-3) * fma_(y2, s, y2);
    if (what & TILED_SPLINE) {
        f.dg *= f.g;
        const real u = s2 * f.p * c->inverse_h, h3 = c->inverse_h * c->inverse_h * c->inverse_h;
        const mask within = (mask)(u < 1);
        if (any(within)) {
            const real v = 1 / u, v3 = v * v * v, u2 = u * u;
            const mask inner = (mask)(u < (number)0.5);
            const real g_inner = set(32. / 3) - u2 * (set(38.4) - 32 * u);
            const real g_outer = set(64. / 3) - u * (48 - u * (set(38.4) - set(32. / 3) * u)) - set(1. / 15) * v3;
            f.g = select_(within, h3 * select_(inner, g_inner, g_outer), f.g);
            const real p_inner = set(2.8) - u2 * (set(16. / 3) - u2 * (set(9.6) - set(6.4) * u));
            const real p_outer = set(3.2) - set(1. / 15) * v -
                                 u2 * (set(32. / 3) - u * (16 - u * (set(9.6) - set(32. / 15) * u)));
            f.p = select_(within, c->inverse_h * select_(inner, p_inner, p_outer), f.p);
            const real d_inner = 96 * u - set(76.8), d_outer = set(76.8) - 48 * v - 32 * u + set(0.2) * (v3 * v * v);
            f.dg = select_(within, h3 * c->inverse_h * c->inverse_h * select_(inner, d_inner, d_outer), f.dg);
        }
    }
    const mask apart = (mask)(s2 > c->cut2);
    if (what & SHOAL_TILED_JERK)
        f.g = select_(apart, f.g, (real){0});
    if (what & SHOAL_TILED_POTENTIAL)
        f.p = select_(apart, f.p, (real){0});
    return f;
}

/* One vector of pairs: to i's sums what j does, and (SHARED) to j's what i does. */
INLINE void interact(int what, bool shared, const struct body *i, const struct body *j, struct sums *si,
                     struct sums *sj, const struct constants *c)
{
#if MIXED
    const real dx = (j->x - i->x) + (j->lx - i->lx), dy = (j->y - i->y) + (j->ly - i->ly),
               dz = (j->z - i->z) + (j->lz - i->lz);
#else
    const real dx = j->x - i->x, dy = j->y - i->y, dz = j->z - i->z;
#endif
    const struct law f = law_of(what, fma_(dz, dz, fma_(dy, dy, fma_(dx, dx, c->eps2))), c);
    const bool equal = what & TILED_EQUAL, spline = what & TILED_SPLINE;
    const real gi = equal ? f.g : f.g * j->m, gj = equal ? f.g : f.g * i->m;
    si->ax = fma_(gi, dx, si->ax);
    si->ay = fma_(gi, dy, si->ay);
    si->az = fma_(gi, dz, si->az);
    if (shared) {
        sj->ax = fnma(gj, dx, sj->ax);
        sj->ay = fnma(gj, dy, sj->ay);
        sj->az = fnma(gj, dz, sj->az);
    }
    if (what & SHOAL_TILED_POTENTIAL) {
        si->p = equal ? si->p + f.p : fma_(j->m, f.p, si->p);
        if (shared)
            sj->p = equal ? sj->p + f.p : fma_(i->m, f.p, sj->p);
    }
    if (what & SHOAL_TILED_JERK) {
        const real wx = j->vx - i->vx, wy = j->vy - i->vy, wz = j->vz - i->vz;
        const real dw = f.dg * fma_(dz, wz, fma_(dy, wy, dx * wx));
        const real qx = fma_(dw, dx, spline ? f.g * wx : wx), qy = fma_(dw, dy, spline ? f.g * wy : wy);
        const real qz = fma_(dw, dz, spline ? f.g * wz : wz);
        const real hi = !spline ? gi : equal ? set(1) : j->m, hj = !spline ? gj : equal ? set(1) : i->m;
        si->jx = fma_(hi, qx, si->jx);
        si->jy = fma_(hi, qy, si->jy);
        si->jz = fma_(hi, qz, si->jz);
        if (shared) {
            sj->jx = fnma(hj, qx, sj->jx);
            sj->jy = fnma(hj, qy, sj->jy);
            sj->jz = fnma(hj, qz, sj->jz);
        }
    }
}

/* clang-format off */
#define BODY(get, from, at)                                                                                           \
    {                                                                                                                 \
        get((from)->field[0], at), get((from)->field[1], at), get((from)->field[2], at),                              \
            get((from)->field[3], at), what & SHOAL_TILED_JERK ? get((from)->field[4], at) : (real){0},               \
            what & SHOAL_TILED_JERK ? get((from)->field[5], at) : (real){0},                                          \
            what & SHOAL_TILED_JERK ? get((from)->field[6], at) : (real){0},                                          \
            MIXED ? get((from)->field[7], at) : (real){0}, MIXED ? get((from)->field[8], at) : (real){0},             \
            MIXED ? get((from)->field[9], at) : (real){0}                                                             \
    }
/* clang-format on */

INLINE struct constants constants_of(const tiled_cpu_law *law)
{
    return (struct constants){set(law->eps2), set(law->inverse_h), set(law->cut2)};
}

/* ---- pairs of tiles ---------------------------------------------------------------------------------------------- */

enum { TILED_I = TILED_PRECISION == 2 ? 4 : 2 }; /* vectors of bodies i; TILED_STEP is a multiple of their lanes */

/* sum[i..] += weight a, for LANES bodies */
INLINE void add_vector(double *sum, real a, double weight)
{
    const doubles d = to_doubles(a);
    wide *to = (wide *)sum;
    for (int k = 0; k < (FP64 ? 1 : 2); k++)
        to[k] += weight * d.part[k];
}

/* Do something to each sum that is wanted: X(place in a table of sums, member). */
#define EACH_SUM(what, X)                                   \
    X(0, ax) X(1, ay) X(2, az) if ((what)&SHOAL_TILED_JERK) \
    {                                                       \
        X(3, jx) X(4, jy) X(5, jz)                          \
    }                                                       \
    if ((what)&SHOAL_TILED_POTENTIAL) {                     \
        X(6, p)                                             \
    }

INLINE void pairs(int what, const tiled_cpu_law *law, const tiled_cpu_bodies *bodies, tiled_cpu_tiles tiles,
                  double *const *sum)
{
    const long a = tiles.a, b = tiles.b, n = tiles.n;
    double weight = tiles.weight;
    const struct constants c = constants_of(law);
    weight *= SCALE(what);
    for (long j0 = b; j0 < b + n; j0 += TILED_STEP) {
        real at_j[TILED_SUMS][TILED_STEP];
#define CLEAR(q, member) at_j[q][j] = (real){0};
        for (int j = 0; j < TILED_STEP; j++) {
            EACH_SUM(what, CLEAR)
        }
        for (long i = a; i < a + n; i += TILED_I * LANES) {
            struct body bi[TILED_I];
            struct sums si[TILED_I];
#pragma GCC unroll 8
            for (int k = 0; k < TILED_I; k++) {
                bi[k] = (struct body)BODY(load, bodies, i + k * LANES);
                si[k] = (struct sums){0};
            }
            for (int j = 0; j < TILED_STEP; j++) {
                const struct body bj = BODY(spread, bodies, j0 + j);
                struct sums sj = {0};
#define LOAD(q, member) sj.member = at_j[q][j];
                EACH_SUM(what, LOAD)
#pragma GCC unroll 8
                for (int k = 0; k < TILED_I; k++) {
                    const real pi = si[k].p, pj = sj.p;
                    interact(what, true, &bi[k], &bj, &si[k], &sj, &c);
                    if (what & SHOAL_TILED_POTENTIAL && a == b) {
                        const mask itself = lane_is(j0 + j - i - k * LANES);
                        si[k].p = select_(itself, pi, si[k].p);
                        sj.p = select_(itself, pj, sj.p);
                    }
                }
#define STORE(q, member) at_j[q][j] = sj.member;
                EACH_SUM(what, STORE)
            }
#define ADD_I(q, member) add_vector(sum[q] + i + k * LANES, si[k].member, weight);
#pragma GCC unroll 8
            for (int k = 0; k < TILED_I; k++) {
                EACH_SUM(what, ADD_I)
            }
        }
#define ADD_J(q, member) sum[q][j0 + j] += weight * total(at_j[q][j]);
        for (int j = 0; j < TILED_STEP; j++) {
            EACH_SUM(what, ADD_J)
        }
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

INLINE void row(int what, const tiled_cpu_law *law, const tiled_cpu_bodies *sources, const tiled_cpu_bodies *targets,
                long i, long own, double *const *sum)
{
    const struct constants c = constants_of(law);
    const struct body bi = BODY(spread, targets, i);
    double sums[TILED_SUMS] = {0};
    for (long j0 = 0; j0 < sources->n; j0 += TILED_STEP * LANES) {
        const long end = j0 + TILED_STEP * LANES < sources->n ? j0 + TILED_STEP * LANES : sources->n;
        struct sums si = {0};
        for (long j = j0; j < end; j += LANES) {
            const struct body bj = BODY(load, sources, j);
            const real p = si.p;
            interact(what, false, &bi, &bj, &si, NULL, &c);
            if (what & SHOAL_TILED_POTENTIAL)
                si.p = select_(lane_is(own - j), p, si.p);
        }
#define ADD_ROW(q, member) sums[q] += total(si.member);
        EACH_SUM(what, ADD_ROW)
    }
#define SET(q, member) sum[q][i] = SCALE(what) * sums[q];
    EACH_SUM(what, SET)
}

/* ---- one function for each case ---------------------------------------------------------------------------------- */

#define CASES(X)     X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define ALL_CASES(X) CASES(X) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define PAIRS(what)                                                                                              \
    static __attribute__((noinline)) void pairs_##what(const tiled_cpu_law *law, const tiled_cpu_bodies *bodies, \
                                                       tiled_cpu_tiles tiles, double *const *sum)                \
    {                                                                                                            \
        pairs(what, law, bodies, tiles, sum);                                                                    \
    }
#define ROW(what)                                                                                               \
    static __attribute__((noinline)) void row_##what(const tiled_cpu_law *law, const tiled_cpu_bodies *sources, \
                                                     const tiled_cpu_bodies *targets, long i, long own,         \
                                                     double *const *sum)                                        \
    {                                                                                                           \
        row(what, law, sources, targets, i, own, sum);                                                          \
    }
ALL_CASES(PAIRS)
CASES(ROW)

static void any_pairs(int what, const tiled_cpu_law *law, const tiled_cpu_bodies *bodies, tiled_cpu_tiles tiles,
                      double *const *sum)
{
#define X(w) [w] = pairs_##w,
    static void (*const cases[])(const tiled_cpu_law *, const tiled_cpu_bodies *, tiled_cpu_tiles,
                                 double *const *) = {ALL_CASES(X)};
#undef X
    cases[what](law, bodies, tiles, sum);
}

static void any_row(int what, const tiled_cpu_law *law, const tiled_cpu_bodies *sources,
                    const tiled_cpu_bodies *targets, long i, long own, double *const *sum)
{
#define X(w) [w] = row_##w,
    static void (*const cases[])(const tiled_cpu_law *, const tiled_cpu_bodies *, const tiled_cpu_bodies *, long, long,
                                 double *const *) = {CASES(X)};
#undef X
    cases[what & ~TILED_EQUAL](law, sources, targets, i, own, sum);
}

#define QUOTE(x)  #x
#define QUOTED(x) QUOTE(x)

extern const tiled_cpu_kernels TILED_KERNELS;
const tiled_cpu_kernels TILED_KERNELS = {
    .arch = QUOTED(SHOAL_ARCH),
    .precision = TILED_PRECISION,
    .pairs = any_pairs,
    .row = any_row,
};
