/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * lane.h: the vocabulary of the kernel text.
 *
 * A lane is one system of the ensemble. On the CPU a `real` is a GCC vector of LANES doubles, one for each system. On
 * the GPU a `real` is a double, and a lane is a thread. Kernel text (*.kern.h) is the common subset of C11 and CUDA C,
 * with these rules:
 *
 *     It calls no libm.
 *     It branches on lane data through lane_any only: it iterates while lane_any(live), and lane_select keeps the
 *     values of finished lanes.
 *     It writes every multiply-add as lane_fma, since automatic contraction is off in both compilers.
 *
 * Kinds of functions:
 *
 *     LANE_FN         is inlined everywhere
 *     LANE_BIG_FN     is inlined on the GPU, where the state is in registers, and called on the CPU, where it is in the
 *                     nearest cache
 *     LANE_RARE_FN    is called; its parameters are values, so that it forces no variable into memory
 *     LANE_CALLED_FN  is called; for long text that few steps need; its pointers lead to copies of the state
 *     LANE_COMMON_FN  is a LANE_RARE_FN that depends on no propagator; a CPU has one copy for all kernels of a width
 *                     (core/engine/kernel_common.c). The compiler is told that the result depends on the parameters
 *                     alone; otherwise it would read the kernel's arguments anew after every call
 *     LANE_SHARED_FN  is a LANE_BIG_FN that depends on no propagator; a CPU has one copy for all kernels of a width
 *                     and a body count (core/engine/kernel_shared.c)
 *
 * Canonical arithmetic: + - * / fma are IEEE on both engines. lane_rsqrt consists of a seed, a cubic step and a step
 * that corrects the residual. Its result is the correctly rounded 1/sqrt(x), whatever the seed, except for a fraction
 * of about 2^-51 of all x: so all processors give the same bits. Sums have a stated order: pair forces that of
 * newton.kern.h, sums over all bodies that of lane_tree_sum.
 */
#ifndef SHOAL_LANE_H
#define SHOAL_LANE_H

#define SHOAL_KERNEL 1 /* this is kernel text (see plug.h) */

#ifdef __CUDACC__

#define LANE_ASSERT    static_assert
#define LANE_FN        static __device__ __forceinline__
#define LANE_BIG_FN    LANE_FN
#define LANE_RARE_FN   static __device__ __noinline__
#define LANE_CALLED_FN static __device__ __noinline__
#if N_BODIES <= 10 && !defined(LANE_ROLLED)
#define LANE_UNROLL _Pragma("unroll")
#else /* the state does not fit into registers anyhow, and unrolled it compiles for minutes */
#define LANE_UNROLL _Pragma("unroll 1")
#endif
#define LANE_UNROLL_GPU LANE_UNROLL
#if N_BODIES <= 5
#define LANE_UNROLL_FEW LANE_UNROLL
#else
#define LANE_UNROLL_FEW _Pragma("unroll 1")
#endif
/* In monitors and forces, which see whole systems: loops over bodies, over pairs. For the leader of a large
 * team they stay rolled. */
#if TEAM > 1 && TEAM_BODIES > 5
#define LANE_UNROLL_BODIES _Pragma("unroll 1")
#define LANE_UNROLL_PAIRS  _Pragma("unroll 1")
#else
#define LANE_UNROLL_BODIES LANE_UNROLL
#define LANE_UNROLL_PAIRS  LANE_UNROLL_FEW
#endif
#define LANE_KEEP_ROLLED  _Pragma("unroll 1")
#define LANE_UNROLL_XYZ   _Pragma("unroll")
#define LANE_UNROLL_FULLY _Pragma("unroll")

#define LANE_GROUPS      1
#define LANE_KNOWN(fact) (void)0
#define LANE_COPIES      1 /* what is called gets copies of the state, which is in registers */
#define LANE_TABLE       static __constant__ const
#define LANE_KEPT_TABLE  static __constant__

typedef double real;
typedef bool mask;
typedef int lane_id; /* index of the system */

LANE_FN real lane_set(double value)
{
    return value;
}
LANE_FN real lane_fma(real a, real b, real c)
{
    return __fma_rn(a, b, c);
}
LANE_FN real lane_fnma(real a, real b, real c)
{
    return __fma_rn(-a, b, c);
}
LANE_FN real lane_sqrt(real a)
{
    return __dsqrt_rn(a);
}
LANE_FN real lane_abs(real a)
{
    return fabs(a);
}
LANE_FN mask lane_negative(real a)
{
    return __double_as_longlong(a) < 0;
} /* -0.0, too */
LANE_FN bool lane_any(mask m)
{
    return m;
}
/* Whether m holds in any lane that runs beside this one. It keeps these lanes together. It may only choose between ways
 * to the same result, since the neighbours vary. */
LANE_FN bool lane_any_beside(mask m)
{
    return __any_sync(__activemask(), m);
}
/* In how many lanes of a warp m holds. All lanes of the warp call it together. */
LANE_FN int lane_count_together(mask m)
{
    return __popc(__ballot_sync(0xffffffffu, m));
}
LANE_FN mask lane_not(mask m)
{
    return !m;
}
LANE_FN real lane_select(mask m, real a, real b)
{
    return m ? a : b;
}
LANE_FN real lane_rsqrt_seed(real x)
{
    real y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
}
/* A number of few digits whose magnitude and square are between 1e-18 and 1e18, for tests that may err to one side. A
 * GPU computes with it in its single-precision units, which are idle otherwise. */
typedef float rough;
LANE_FN rough lane_rough(real a)
{
    return (float)a;
}
LANE_FN real lane_of_rough(rough a)
{
    return a;
}
LANE_FN rough rough_fma(rough a, rough b, rough c)
{
    return __fmaf_rn(a, b, c);
}
LANE_FN rough rough_abs(rough a)
{
    return fabsf(a);
}
LANE_FN rough rough_max(rough a, rough b)
{
    return fmaxf(a, b);
}
LANE_FN rough rough_min(rough a, rough b)
{
    return fminf(a, b);
}
LANE_FN rough rough_sqrt(rough a)
{
    return sqrtf(a);
}
LANE_FN rough rough_select(mask m, rough a, rough b)
{
    return m ? a : b;
}
/* a/2, by integer instructions. Neither a nor a/2 may be 0 or subnormal. */
LANE_FN real lane_half(real a)
{
    return __hiloint2double(__double2hiint(a) - 0x00100000, __double2loint(a));
}
/* A seed for the cube root, within 5 %. */
LANE_FN real lane_cbrt_seed(real x)
{
    return __longlong_as_double(__double_as_longlong(x) / 3 + 0x2a9f7893782da1ceLL);
}

/* x^power within 6 %, x > 0. The upper word of a double, minus that of 1, is about 2^20 times the base-2 logarithm. */
LANE_FN real lane_power_seed(real x, double power)
{
    const real log = __longlong_as_double(__double_as_longlong(x) >> 32 | 0x4330000000000000LL) - (0x1p52 + 0x3ff00000);
    return __longlong_as_double(__double_as_longlong(lane_fma(log, power, 0x1p52 + 0x3ff00000)) << 32);
}

/* x = *fraction 2^e with fraction in [1, 2): returns e. x > 0, not subnormal. */
LANE_FN real lane_split(real x, real *fraction)
{
    const long long bits = __double_as_longlong(x);
    *fraction = __longlong_as_double((bits & 0x000fffffffffffffLL) | 0x3ff0000000000000LL);
    return __longlong_as_double((bits >> 52) | 0x4330000000000000LL) - (0x1p52 + 1023);
}

/* x 2^e of integers e, where no exponent leaves its range. */
LANE_FN real lane_scale(real x, real e)
{
    return __longlong_as_double(__double_as_longlong(x) + (__double_as_longlong(e + 0x1.8p52) << 52));
}

LANE_FN real lane_load(const double *base, lane_id id, int slot, int n_slots)
{
    return base[SHOAL_AT(id, slot, n_slots)];
}
LANE_FN void lane_store(double *base, lane_id id, int slot, int n_slots, mask where, real value)
{
    if (where)
        base[SHOAL_AT(id, slot, n_slots)] = value;
}
LANE_FN void lane_put(double *base, lane_id id, int slot, int n_slots, mask where, real value)
{
    lane_store(base, id, slot, n_slots, where, value);
}

/* Item i of rows of n numbers, a row for each system. */
LANE_FN real lane_load_row(const double *rows, lane_id id, int n, int i)
{
    return rows[(long long)id * n + i];
}
LANE_FN void lane_store_row(double *rows, lane_id id, int n, int i, mask where, real value)
{
    if (where)
        rows[(long long)id * n + i] = value;
}

/* The least of some lanes, at least one. */
LANE_FN double lane_least(mask where, real a)
{
    return (void)where, a;
}

/* table[at], each lane its own place, in the lanes `where`; elsewhere -1. */
LANE_FN real lane_gather(const int *table, mask where, real at)
{
    return where ? (double)table[(long long)at] : -1.0;
}
/* table[at], each lane its own place. */
LANE_FN real lane_lookup(const double *table, real at)
{
    return table[(long long)at];
}
/* As lane_store, each lane in its own slot. */
LANE_FN void lane_scatter(double *base, lane_id id, real slot, int n_slots, mask where, real value)
{
    if (where)
        base[SHOAL_AT(id, (long long)slot, n_slots)] = value;
}
LANE_FN real lane_fetch(const double *base, lane_id id, real slot, int n_slots, mask where)
{
    return where ? base[SHOAL_AT(id, (long long)slot, n_slots)] : 0.0;
}

#else /* CPU */

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#pragma GCC diagnostic ignored "-Wpsabi" /* calls across files are between texts compiled for the same width */

#define LANE_ASSERT    _Static_assert
#define LANE_FN        static inline __attribute__((always_inline, unused))
#define LANE_BIG_FN    static __attribute__((noinline, unused))
#define LANE_RARE_FN   static __attribute__((noinline, cold, unused))
#define LANE_CALLED_FN static __attribute__((noinline, unused))
#ifdef N_BODIES
#define LANE_UNROLL _Pragma("GCC unroll 16")
#else
#define LANE_UNROLL
#endif
#define LANE_UNROLL_FEW    /* loops that are long where there are many bodies */
#define LANE_UNROLL_BODIES /* loops over bodies in monitors and forces */
#define LANE_UNROLL_PAIRS  /* and over pairs */
#define LANE_UNROLL_GPU    /* loops over a state, which the CPU has in memory anyhow */
#define LANE_KEEP_ROLLED
#define LANE_UNROLL_XYZ   _Pragma("GCC unroll 3") /* loops over the components of a vector */
#define LANE_UNROLL_FULLY _Pragma("GCC unroll 8") /* loops over a few things of a kind */

/* Groups of lanes that a core advances in turns. The operations at the end of a group's step wait for each other;
 * meanwhile those of the next group run. */
#ifndef LANE_GROUPS
#define LANE_GROUPS 2
#endif

#define LANE_COPIES      0 /* the state is in memory */

/* Tells the compiler a fact that holds here in all lanes, so that it leaves out the other branches. */
#define LANE_KNOWN(fact) ((fact) ? (void)0 : __builtin_unreachable())

/* Begins a table of coefficients: LANE_TABLE double name[] = {...}; of a LANE_KEPT_TABLE a GPU's instructions take the
 * numbers from memory of constants, where the compiler would write each into two instructions. */
#define LANE_TABLE       static const __attribute__((unused))
#define LANE_KEPT_TABLE  LANE_TABLE

typedef double real __attribute__((vector_size(8 * LANES)));
typedef long long mask __attribute__((vector_size(8 * LANES))); /* a lane is 0 or -1 */
typedef unsigned long long lane_bits __attribute__((vector_size(8 * LANES)));
typedef struct lane_id {
    int system[LANES];
    int in_row; /* the systems are neighbours, so that one vector load has their values */
} lane_id;

#if LANES == 8 && defined(__AVX512F__)
LANE_FN real lane_set(double value)
{
    return (real)_mm512_set1_pd(value);
}
LANE_FN real lane_fma(real a, real b, real c)
{
    return (real)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
LANE_FN real lane_fnma(real a, real b, real c)
{
    return (real)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
LANE_FN real lane_sqrt(real a)
{
    return (real)_mm512_sqrt_pd((__m512d)a);
}
LANE_FN int lane_any(mask m)
{
    return _mm512_movepi64_mask((__m512i)m) != 0;
}
#elif LANES == 4 && defined(__AVX2__)
LANE_FN real lane_set(double value)
{
    return (real)_mm256_set1_pd(value);
}
LANE_FN real lane_fma(real a, real b, real c)
{
    return (real)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
LANE_FN real lane_fnma(real a, real b, real c)
{
    return (real)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
LANE_FN real lane_sqrt(real a)
{
    return (real)_mm256_sqrt_pd((__m256d)a);
}
LANE_FN int lane_any(mask m)
{
    return _mm256_movemask_pd((__m256d)m) != 0;
}
#elif LANES == 2 && defined(__aarch64__)
LANE_FN real lane_set(double value)
{
    return (real)vdupq_n_f64(value);
}
LANE_FN real lane_fma(real a, real b, real c)
{
    return (real)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
LANE_FN real lane_fnma(real a, real b, real c)
{
    return (real)vfmsq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
LANE_FN real lane_sqrt(real a)
{
    return (real)vsqrtq_f64((float64x2_t)a);
}
LANE_FN int lane_any(mask m)
{
    return vmaxvq_u32((uint32x4_t)m) != 0;
}
#else
LANE_FN real lane_set(double value)
{
    real r = {0};
    for (int l = 0; l < LANES; l++)
        r[l] = value;
    return r;
}
LANE_FN real lane_fma(real a, real b, real c)
{
    real r = {0};
    for (int l = 0; l < LANES; l++)
        r[l] = __builtin_fma(a[l], b[l], c[l]);
    return r;
}
LANE_FN real lane_fnma(real a, real b, real c)
{
    return lane_fma(-a, b, c);
}
LANE_FN real lane_sqrt(real a)
{
    real r = {0};
    for (int l = 0; l < LANES; l++)
        r[l] = __builtin_sqrt(a[l]);
    return r;
}
LANE_FN int lane_any(mask m)
{
    long long any = 0;
    for (int l = 0; l < LANES; l++)
        any |= m[l];
    return any != 0;
}
#endif

LANE_FN int lane_any_beside(mask m)
{
    return lane_any(m);
}
LANE_FN mask lane_not(mask m)
{
    return ~m;
}
LANE_FN real lane_select(mask m, real a, real b)
{
    return (real)(((mask)a & m) | ((mask)b & ~m));
}
LANE_FN real lane_abs(real a)
{
    return (real)((mask)a & 0x7fffffffffffffffLL);
}
LANE_FN real lane_half(real a)
{
    return 0.5 * a;
}
LANE_FN mask lane_negative(real a)
{
    return (mask)a < 0;
}

/* The same seed at every width of one machine: the 14-bit instruction with AVX-512, else an integer estimate (Lomont's
 * constant; relative error 0.035) sharpened by a quintic step to 2^-21. */
LANE_FN real lane_rsqrt_seed(real x)
{
#if defined(__AVX512VL__)
#if LANES == 8
    return (real)_mm512_rsqrt14_pd((__m512d)x);
#elif LANES == 4
    return (real)_mm256_rsqrt14_pd((__m256d)x);
#else
    real r = {0};
    for (int l = 0; l < LANES; l++)
        r[l] = _mm_cvtsd_f64(_mm_rsqrt14_sd(_mm_set_sd(x[l]), _mm_set_sd(x[l])));
    return r;
#endif
#else
    const real one = lane_set(1.0);
    real y = (real)(0x5fe6eb50c7b537a9ULL - ((lane_bits)x >> 1));
    real e = lane_fnma(x * y, y, one);
    real p = lane_fma(e, lane_set(0.2734375), lane_set(0.3125));
    p = lane_fma(e, p, lane_set(0.375));
    p = lane_fma(e, p, lane_set(0.5));
    return lane_fma(y * e, p, y);
#endif
}

LANE_FN real lane_cbrt_seed(real x)
{
    real r = {0};
    for (int l = 0; l < LANES; l++) {
        union {
            double d;
            long long i;
        } u = {x[l]};
        u.i = u.i / 3 + 0x2a9f7893782da1ceLL;
        r[l] = u.d;
    }
    return r;
}

LANE_FN real lane_power_seed(real x, double power)
{
    const real log = (real)((lane_bits)x >> 32 | 0x4330000000000000ULL) - (0x1p52 + 0x3ff00000);
    return (real)((lane_bits)lane_fma(log, lane_set(power), lane_set(0x1p52 + 0x3ff00000)) << 32);
}

LANE_FN real lane_scale(real x, real e)
{
    return (real)((lane_bits)x + ((lane_bits)(e + 0x1.8p52) << 52));
}

LANE_FN real lane_split(real x, real *fraction)
{
    const lane_bits bits = (lane_bits)x;
    *fraction = (real)((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
    return (real)((bits >> 52) | 0x4330000000000000ULL) - (0x1p52 + 1023);
}

LANE_RARE_FN real lane_load_each(const double *base, const lane_id *id, int slot, int n_slots)
{
    real r = {0};
    for (int l = 0; l < LANES; l++)
        r[l] = base[SHOAL_AT(id->system[l], slot, n_slots)];
    return r;
}
LANE_FN real lane_load(const double *base, lane_id id, int slot, int n_slots)
{
    real r;
    if (!id.in_row)
        return lane_load_each(base, &id, slot, n_slots);
    __builtin_memcpy(&r, base + SHOAL_AT(id.system[0], slot, n_slots), sizeof r);
    return r;
}
LANE_FN void lane_store(double *base, lane_id id, int slot, int n_slots, mask where, real value)
{
    for (int l = 0; l < LANES; l++)
        if (where[l])
            base[SHOAL_AT(id.system[l], slot, n_slots)] = value[l];
}
/* As lane_store, of lanes of a list: those that are in a row are all there. */
LANE_FN void lane_put(double *base, lane_id id, int slot, int n_slots, mask where, real value)
{
    if (id.in_row)
        __builtin_memcpy(base + SHOAL_AT(id.system[0], slot, n_slots), &value, sizeof value);
    else
        lane_store(base, id, slot, n_slots, where, value);
}

LANE_FN real lane_load_row(const double *rows, lane_id id, int n, int i)
{
    real r = {0};
    for (int l = 0; l < LANES; l++)
        r[l] = rows[(long long)id.system[l] * n + i];
    return r;
}
LANE_FN void lane_store_row(double *rows, lane_id id, int n, int i, mask where, real value)
{
    for (int l = 0; l < LANES; l++)
        if (where[l])
            rows[(long long)id.system[l] * n + i] = value[l];
}

LANE_FN double lane_least(mask where, real a)
{
    double least = __builtin_inf();
    for (int l = 0; l < LANES; l++)
        least = where[l] && a[l] < least ? a[l] : least;
    return least;
}

LANE_FN real lane_gather(const int *table, mask where, real at)
{
    real found = {0};
    for (int l = 0; l < LANES; l++)
        found[l] = where[l] ? (double)table[(long long)at[l]] : -1.0;
    return found;
}
LANE_FN real lane_lookup(const double *table, real at)
{
    real found = {0};
    for (int l = 0; l < LANES; l++)
        found[l] = table[(long long)at[l]];
    return found;
}
LANE_FN void lane_scatter(double *base, lane_id id, real slot, int n_slots, mask where, real value)
{
    for (int l = 0; l < LANES; l++)
        if (where[l])
            base[SHOAL_AT((long long)id.system[l], (long long)slot[l], n_slots)] = value[l];
}
LANE_FN real lane_fetch(const double *base, lane_id id, real slot, int n_slots, mask where)
{
    real r = {0};
    for (int l = 0; l < LANES; l++)
        if (where[l])
            r[l] = base[SHOAL_AT((long long)id.system[l], (long long)slot[l], n_slots)];
    return r;
}

/* The lanes of list[first..last-1], the last one repeated to fill the width. */
LANE_FN lane_id lane_listed(const int *list, long long first, long long last, mask *there)
{
    lane_id id;
    id.in_row = 1;
    for (int l = 0; l < LANES; l++) {
        const long long at = first + l;
        id.system[l] = list[at < last ? at : last - 1];
        id.in_row = id.in_row && id.system[l] == id.system[0] + l && id.system[0] % LANES == 0;
        (*there)[l] = at < last ? -1 : 0;
    }
    return id;
}

#endif /* engine */

#define LANE_JOINED(name, of) shoal_##name##_##of
#define LANE_NAMED(name, of)  LANE_JOINED(name, of)

/* KERNEL_COMMON names the kernels that share these functions: v4_l8. Without it (a GPU, plugins) each kernel has its
 * own copies. */
#ifdef KERNEL_COMMON
#define LANE_COMMON(name) LANE_NAMED(name, KERNEL_COMMON)
#define LANE_COMMON_FN    __attribute__((visibility("hidden"), cold, const))
#define LANE_COMMON_TABLE __attribute__((visibility("hidden"))) const
#else
#define LANE_COMMON_FN    LANE_RARE_FN
#define LANE_COMMON_TABLE LANE_TABLE
#endif
#if !defined(KERNEL_COMMON) || defined(KERNEL_COMMON_HERE)
#define LANE_COMMON_HERE 1
#else
#define LANE_COMMON_HERE 0
#endif

/* KERNEL_SHARED names the kernels of a body count that share these functions: v4_l8_n3. */
#ifdef KERNEL_SHARED
#define LANE_SHARED(name) LANE_NAMED(name, KERNEL_SHARED)
#define LANE_SHARED_FN    __attribute__((visibility("hidden")))
#else
#define LANE_SHARED_FN LANE_BIG_FN
#endif
#if !defined(KERNEL_SHARED) || defined(KERNEL_SHARED_HERE)
#define LANE_SHARED_HERE 1
#else
#define LANE_SHARED_HERE 0
#endif

/* The integer at or below x, |x| < 2^51. */
LANE_FN real lane_floor(real x)
{
    const real near = (x + 0x1.8p52) - 0x1.8p52;
    return lane_select(near > x, near - 1.0, near);
}

/* The size of a local array for n bodies: a constant where the body count is one (CUDA has no arrays of variable
 * length). */
#ifdef N_BODIES
#define LANE_ROOM(n) N_BODIES
#else
#define LANE_ROOM(n) (n)
#endif

LANE_FN real lane_min(real a, real b)
{
    return lane_select(a < b, a, b);
}
LANE_FN real lane_max(real a, real b)
{
    return lane_select(a > b, a, b);
}
#ifndef __CUDACC__
typedef real rough;
LANE_FN rough lane_rough(real a)
{
    return a;
}
LANE_FN real lane_of_rough(rough a)
{
    return a;
}
LANE_FN rough rough_fma(rough a, rough b, rough c)
{
    return lane_fma(a, b, c);
}
LANE_FN rough rough_abs(rough a)
{
    return lane_abs(a);
}
LANE_FN rough rough_max(rough a, rough b)
{
    return lane_max(a, b);
}
LANE_FN rough rough_min(rough a, rough b)
{
    return lane_min(a, b);
}
LANE_FN rough rough_sqrt(rough a)
{
    return lane_sqrt(a);
}
LANE_FN rough rough_select(mask m, rough a, rough b)
{
    return lane_select(m, a, b);
}
#endif

/* Whether one of n vectors in x = [components * n] may be longer than limit, or has a component that is no number. True
 * may come from limit / 2 on, and on the CPU for all vectors together. It is asked after every step, so a GPU uses its
 * integer units. */
LANE_FN mask lane_beyond(int components, int n, const real *x, double limit)
{
#ifdef __CUDACC__
    unsigned most = 0; /* upper words are in the order of the magnitudes */
    LANE_UNROLL_FULLY
    for (int c = 0; c < components * n; c++)
        most = max(most, (unsigned)__double2hiint(x[c]) & 0x7fffffffu);
    return most >= (unsigned)__double2hiint(limit * 0.5773502691896257);
#else
    real sum = x[0] * x[0];
    LANE_UNROLL
    for (int c = 1; c < components * n; c++)
        sum = lane_fma(x[c], x[c], sum);
    return lane_not(sum <= lane_set(limit * limit));
#endif
}

/* 1/sqrt(x) but for the last bits. Its error is the cube of the seed's, from a seed of 14 bits (AVX-512) the fourth
 * power: rounding in either case. */
LANE_FN real lane_rsqrt_near(real x)
{
    real y = lane_rsqrt_seed(x);
    real e = lane_fnma(x * y, y, lane_set(1.0));
#ifdef __AVX512VL__
    real p = lane_fma(e, lane_set(0.3125), lane_set(0.375));
#else
    real p = lane_set(0.375);
#endif
    return lane_fma(y * e, lane_fma(e, p, lane_set(0.5)), y);
}

/* 1/sqrt(x), x > 0. */
LANE_FN real lane_rsqrt(real x)
{
    const real one = lane_set(1.0);
    real e, y = lane_rsqrt_near(x);
    real s = x * y;
    real residual = lane_fma(x, y, -s); /* x y = s + residual exactly */
    e = lane_fnma(s, y, one);
    e = lane_fnma(residual, y, e);
    return lane_fma(lane_half(y), e, y);
}

/* Cube root of x > 0, error about 1 ulp; for rare paths. Halley's iteration: from a seed within 5 % the errors are
 * 1e-4, 1e-12, then rounding. */
LANE_FN real lane_cbrt(real x)
{
    real y = lane_cbrt_seed(x);
    LANE_UNROLL
    for (int i = 0; i < 4; i++) {
        real c = y * y * y;
        y = y - y * (c - x) / (2.0 * c + x);
    }
    return y;
}

/* x^(-1/q), x > 0, within 2 % for q <= 20, by Newton's iteration; for the control of steps. */
LANE_FN real lane_inverse_root(real x, int q)
{
    real y = lane_power_seed(x, -1.0 / q);
    for (int i = 0; i < 2; i++) {
        real power = x;
        for (int j = 0; j < q; j++)
            power = power * y;
        y = lane_fma(y * lane_set(1.0 / q), 1.0 - power, y);
    }
    return y;
}

/* Natural logarithm of x > 0 (not subnormal), error below 1.2 ulp; NaN where x is not finite. With x = m 2^e, m = 1 + f
 * within [sqrt(1/2), sqrt(2)] and s = f / (2 + f): log m = 2 atanh(s) = f - s (f - 2 (s^2/3 + s^4/5 + ...)). e ln 2 is
 * the sum of a product that is not rounded and a small one. */
LANE_FN real lane_log(real x)
{
    real m, e = lane_split(x, &m);
    const mask upper = m > lane_set(0x1.6a09e667f3bcdp+0);
    m = lane_select(upper, 0.5 * m, m);
    e = lane_select(upper, e + 1.0, e);
    const real f = m - 1.0, s = f / (2.0 + f), z = s * s;
    real p = lane_set(2.0 / 19.0);
    LANE_UNROLL
    for (int q = 17; q >= 3; q -= 2)
        p = lane_fma(p, z, lane_set(2.0 / q));
    p = f - s * lane_fnma(z, p, f);
    return lane_fma(e, lane_set(0x1.62e42feep-1), lane_fma(e, lane_set(0x1.a39ef35793c76p-33), p)) + (x - x);
}

/* e^x for x < 700, error below 1 ulp; 0 where it is below e^-700. x = k ln 2 + r, |r| < 0.35, and Taylor's series to
 * r^13 (the next term is below 1e-17). */
LANE_FN real lane_exp(real x)
{
    const mask none = x < lane_set(-700.0);
    const real k = lane_floor(lane_fma(x, lane_set(0x1.71547652b82fep+0), lane_set(0.5))),
               r = lane_fnma(k, lane_set(0x1.a39ef35793c76p-33), lane_fnma(k, lane_set(0x1.62e42feep-1), x));
    real p = lane_set(1.0);
    LANE_UNROLL_FULLY
    for (int q = 13; q >= 1; q--)
        p = lane_fma(r * lane_set(1.0 / q), p, lane_set(1.0));
    return lane_select(none, lane_set(0.0),
                       lane_scale(lane_select(none, lane_set(1.0), p), lane_select(none, lane_set(0.0), k)));
}

/* The angle of the point (x, y), -pi to pi, error below 2.5 ulp; 0 at the origin. t is the smaller of |x|, |y| over the
 * larger. Up to tan(pi/8) u = t; beyond, u = (t - 1) / (t + 1) and atan t = pi/4 + atan u. The series u - u^3/3 + ...
 * goes to u^43 (Abramowitz & Stegun 1964, 4.4.34 and 4.4.42). */
LANE_FN real lane_atan2(real y, real x)
{
    const real zero = lane_set(0.0), ax = lane_abs(x), ay = lane_abs(y);
    const mask steep = ay > ax;
    const real top = lane_select(steep, ax, ay), base = lane_select(steep, ay, ax);
    const mask upper = top > lane_set(0x1.a827999fcef32p-2) * base;
    const real under = lane_select(upper, top + base, lane_select(base == zero, lane_set(1.0), base));
    const real u = lane_select(upper, top - base, top) / under;
    const real z = u * u;
    real p = lane_set(1.0 / 43.0);
    LANE_UNROLL
    for (int q = 41; q >= 3; q -= 2)
        p = lane_fnma(p, z, lane_set(1.0 / q));
    real angle = lane_fnma(u * z, p, u);
    angle = lane_select(upper, 0x1.921fb54442d18p-1 + angle, angle);
    angle = lane_select(steep, 0x1.921fb54442d18p+0 - angle, angle);
    angle = lane_select(lane_negative(x), 0x1.921fb54442d18p+1 - angle, angle);
    return lane_select(lane_negative(y), -angle, angle);
}

/* Sine and cosine of |x| < 1e8, error below 1 ulp of the larger. x - q pi/2 in three parts of pi/2; then Taylor's
 * series to r^17 and r^18 (below 1e-19 for |r| <= pi/4). */
LANE_FN void lane_sincos(real x, real *sine, real *cosine)
{
    const real q = lane_floor(lane_fma(x, lane_set(0x1.45f306dc9c883p-1), lane_set(0.5)));
    real r = lane_fnma(q, lane_set(0x1.921fb54442d18p+0), x);
    r = lane_fnma(q, lane_set(0x1.1a62633145c07p-54), r);
    r = lane_fnma(q, lane_set(-0x1.f1976b7ed8fbcp-110), r);
    const real z = r * r, one = lane_set(1.0);
    real s = one, c = one;
    LANE_UNROLL
    for (int k = 17; k > 1; k -= 2) {
        s = lane_fnma(z * lane_set(1.0 / (k * (k - 1))), s, one);
        c = lane_fnma(z * lane_set(1.0 / ((k + 1) * k)), c, one);
    }
    s = r * s;
    c = lane_fnma(0.5 * z, c, one);                      /* not lane_half: z may be 0 */
    const real quarter = q - 4.0 * lane_floor(0.25 * q); /* 0..3 */
    const mask odd = (quarter == one) | (quarter == lane_set(3.0)), back = quarter >= lane_set(2.0),
               left = (quarter == one) | (quarter == lane_set(2.0));
    const real sin_there = lane_select(odd, c, s), cos_there = lane_select(odd, s, c);
    *sine = lane_select(back, -sin_there, sin_there);
    *cosine = lane_select(left, -cos_there, cos_there);
}

/* Sum of t[0..n-1] in a fixed tree: neighbours, then neighbours of neighbours, as if padded with zeros to a power of
 * two. This is the order of a warp's butterfly. Destroys t. */
LANE_FN real lane_tree_sum(int n, real *t)
{
    LANE_UNROLL
    for (int stride = 1; stride < n; stride *= 2) {
        LANE_UNROLL
        for (int i = 0; i < n; i++)
            if ((i & (2 * stride - 1)) == 0 && i + stride < n)
                t[i] = t[i] + t[i + stride];
    }
    return t[0];
}

/* value += change. With compensation *error carries the rounding error (Kahan 1965). Neumaier's order is not needed,
 * since |change| < |value| except in passages through zero. */
LANE_FN void lane_add(int compensated, real *value, real *error, real change)
{
    if (compensated) {
        real y = change - *error;
        real t = *value + y;
        *error = (t - *value) - y;
        *value = t;
    } else {
        *value = *value + change;
    }
}

/* value += factor x. Only compensated sums round the product by itself. */
LANE_FN void lane_add_times(int compensated, real *value, real *error, real factor, real x)
{
    if (compensated)
        lane_add(1, value, error, factor * x);
    else
        *value = lane_fma(factor, x, *value);
}

#endif
