/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled_cuda.kern.h: all-pairs gravity of one big system on a GPU; compiled at run time, with constants:
 *
 *   TILED_EDGES      1: every pair once, 0: every target by itself
 *   TILED_PRECISION  0 fp64, 1 mixed, 2 fp32     TILED_JERK, TILED_POTENTIAL, TILED_SPLINE   0 or 1
 *   TILED_CUT        1: no softening, so that coincident bodies need care where jerk or potential are wanted
 *   TILED_EQUAL      1: all masses are the same, and 1 here: sums are multiplied by the mass at the end
 *   TILED_ROOTS      1: pairs by the roots of masses (interact_roots)
 *   TILED_SORTED     1: bodies in the order of their places (tiled_sorted.kern.h)
 *   TILED_I          targets (i) in a thread's registers
 *   TILED_WARPS      warps a block                TILED_LANES  threads that share a target (row kernel)
 *
 * and for steps of the ladder of single-precision kernels:
 *
 *   TILED_RSQRT      0: 1/sqrt(x), 1: the fast instruction with subnormal numbers, 2: without (default)
 *   TILED_STORAGE    where rows take sources from. 0: global memory, 1: tiles in shared memory (default), 2: tiles with
 *   positions in
 *                    half precision and masses in bfloat16
 *
 * A body is a few 16-byte words, array of words by array of words: (x y z m) (vx vy vz -) in single precision, with (lx
 * ly lz lm), the rest of position and mass, between them in mixed; (x y) (z m) (vx vy) (vz -) in double. Sums are (ax
 * ay az p) (jx jy jz -) in the same way. The length of arrays is a multiple of a tile; bodies that fill it up are far
 * away and have no mass. Of targets that are elsewhere than the sources, m is the number of the source that each is, -1
 * for none (of floats, their bits).
 *
 * tiled_edges   every pair once (edge sharing). A warp keeps 32 TILED_I bodies i and their sums in registers. 32 bodies
 * j lie in
 *     shared memory with their sums; in rotation r, lane l meets body l ^ r, so that no two lanes ever meet the same
 *         one, and
 *     adds to both sums. The warps of a block have different j at any time, and change them at barriers. Nothing is
 *         added
 *     atomically, and the order of all sums is fixed.
 * tiled_rows    every target by itself: targets in registers, sources in shared memory, TILED_LANES threads a target,
 * sources
 *     split among blocks.
 * tiled_edges_sum, tiled_parts_sum   add the partial sums in a fixed order, in double precision.
 *
 * Single precision sums over at most FLUSH sources go on in double precision. Operations a pair, edge sharing,
 * acceleration only: 3 sub, 3 fma, 1 rsqrt, 2 mul, 6 fma and 2 mul for masses: 17 for two interactions (16 by roots, 15
 * with equal masses); in double precision 20 and 18 (the correction of the rsqrt takes 4 more), in mixed 26 and 24.
 */
#define FP64  (TILED_PRECISION == 0)
#define MIXED (TILED_PRECISION == 1)

#if FP64
typedef double real;
typedef double2 word;
#define BODY_WORDS (2 + 2 * TILED_JERK)
#else
typedef float real;
typedef float4 word;
#define BODY_WORDS (1 + MIXED + TILED_JERK)
#endif
#if TILED_PRECISION == 2
typedef float partial;
#else
typedef double partial;
#endif
#define SUM_WORDS ((1 + FP64) * (1 + TILED_JERK))
#define N_SUMS    (3 + 3 * TILED_JERK + TILED_POTENTIAL)
#define THREADS   (32 * TILED_WARPS)
#define TILE      THREADS             /* sources in shared memory */
#define BLOCK_I   (THREADS * TILED_I) /* targets of a block */
#ifndef TILED_SORTED
#define TILED_SORTED 0
#endif
#ifndef TILED_RSQRT
#define TILED_RSQRT 2
#endif
#ifndef TILED_STORAGE
#define TILED_STORAGE 1
#endif
#ifndef FLUSH
#define FLUSH (TILED_SORTED ? 8 : MIXED ? 32 : 1024)
#endif

struct constants {
    real eps2;      /* Plummer's, and the floor */
    real inverse_h; /* of the spline */
    real cut2;      /* without softening, bodies are coincident below this r^2 + eps2 */
};

struct body {
    real x, y, z, m;
#if MIXED
    real lx, ly, lz, lm;
#endif
#if TILED_JERK
    real vx, vy, vz;
#endif
};

struct sums {
    real ax, ay, az, p; /* p: of what is loaded is stored as it is where no potential is wanted */
#if TILED_JERK
    real jx, jy, jz;
#endif
};

static __device__ __forceinline__ body body_load(const word *from, long stride)
{
    body b;
#if FP64
    const word w0 = from[0], w1 = from[stride];
    b.x = w0.x, b.y = w0.y, b.z = w1.x, b.m = w1.y;
#if TILED_JERK
    const word w2 = from[2 * stride], w3 = from[3 * stride];
    b.vx = w2.x, b.vy = w2.y, b.vz = w3.x;
#endif
#else
    const word w0 = from[0];
    b.x = w0.x, b.y = w0.y, b.z = w0.z, b.m = w0.w;
#if MIXED
    const word w1 = from[stride];
    b.lx = w1.x, b.ly = w1.y, b.lz = w1.z, b.lm = w1.w;
#endif
#if TILED_JERK
    const word w2 = from[(1 + MIXED) * stride];
    b.vx = w2.x, b.vy = w2.y, b.vz = w2.z;
#endif
#endif
    return b;
}

static __device__ __forceinline__ sums sums_zero()
{
    sums s;
    s.ax = s.ay = s.az = s.p = 0;
#if TILED_JERK
    s.jx = s.jy = s.jz = 0;
#endif
    return s;
}

static __device__ __forceinline__ sums sums_load(const word *from, int stride)
{
    sums s;
#if FP64
    const word w0 = from[0], w1 = from[stride];
    s.ax = w0.x, s.ay = w0.y, s.az = w1.x, s.p = w1.y;
#if TILED_JERK
    const word w2 = from[2 * stride], w3 = from[3 * stride];
    s.jx = w2.x, s.jy = w2.y, s.jz = w3.x;
#endif
#else
    const word w0 = from[0];
    s.ax = w0.x, s.ay = w0.y, s.az = w0.z, s.p = w0.w;
#if TILED_JERK
    const word w1 = from[stride];
    s.jx = w1.x, s.jy = w1.y, s.jz = w1.z;
#endif
#endif
    return s;
}

static __device__ __forceinline__ void sums_store(const sums &s, word *to, int stride)
{
#if FP64
    to[0] = make_double2(s.ax, s.ay);
    to[stride] = make_double2(s.az, s.p);
#if TILED_JERK
    to[2 * stride] = make_double2(s.jx, s.jy);
    to[3 * stride] = make_double2(s.jz, 0);
#endif
#else
    to[0] = make_float4(s.ax, s.ay, s.az, s.p);
#if TILED_JERK
    to[stride] = make_float4(s.jx, s.jy, s.jz, 0);
#endif
#endif
}

/* ---- the law of force -------------------------------------------------------------------------------------------- */

/* What tiled.h calls g, p and g'/r. */
struct law {
    real g;
#if TILED_POTENTIAL
    real p;
#endif
#if TILED_JERK
    real dg_g; /* g'/(r g) of Plummer, g'/r of the spline */
#endif
};

/*
 * s2 = r^2 + eps^2 to s^-3: with a seed y of 1/sqrt(s2) and e = 1 - s2 y^2, s^-3 = y^3 (1 - e)^(-3/2) = y^3 (1 + 3/2 e
 * + 15/8 e^2 + O(e^3)). The seed has 22 bits.
 */
[[maybe_unused]] static __device__ __forceinline__ double inverse_cube(double s2, double *y, double *e)
{
    double seed;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(seed) : "d"(s2));
    const double y2 = seed * seed, d = fma(-s2, y2, 1.0), y3 = y2 * seed;
    *y = seed, *e = d;
    return fma(y3, d * fma(d, 1.875, 1.5), y3);
}

static __device__ __forceinline__ law law_of(real s2, const constants &c)
{
    law f;
    real y;
    [[maybe_unused]] real p;
#if FP64
    real e;
    f.g = inverse_cube(s2, &y, &e);
    [[maybe_unused]] const real y2 = y * y;
    p = fma(y, e * fma(e, 0.375, 0.5), y);
#else
#if TILED_RSQRT == 0
    y = 1.0f / sqrtf(s2);
#elif TILED_RSQRT == 1
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(s2));
#else
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(s2));
#endif
    const real y2 = y * y;
    p = y;
    f.g = y2 * y;
#if MIXED
    const real e = fmaf(-s2, y2, 1.0f);
    f.g = fmaf(f.g, 1.5f * e, f.g);
    p = fmaf(y, 0.5f * e, y);
#endif
#endif
#if TILED_JERK && FP64
    f.dg_g = -3.0 * fma(y2, fma(e, e, e), y2);
#elif TILED_JERK
    f.dg_g = -3.0f * y2;
#endif
#if TILED_CUT && TILED_JERK
    f.g = s2 > c.cut2 ? f.g : 0;
#endif
#if TILED_POTENTIAL
    f.p = !TILED_CUT || s2 > c.cut2 ? p : 0;
#endif
#if TILED_SPLINE
#if TILED_JERK
    f.dg_g *= f.g;
#endif
    const real u = s2 * p * c.inverse_h, ih3 = c.inverse_h * c.inverse_h * c.inverse_h;
    if (u < 1) {
        const real v = 1 / u, v3 = v * v * v;
        const bool inner = u < (real)0.5;
        f.g = ih3 * (inner
                         ? (real)(32. / 3) - u * u * ((real)38.4 - 32 * u)
                         : (real)(64. / 3) - u * (48 - u * ((real)38.4 - (real)(32. / 3) * u)) - (real)(1. / 15) * v3);
#if TILED_POTENTIAL
        f.p = c.inverse_h * (inner ? (real)2.8 - u * u * ((real)(16. / 3) - u * u * ((real)9.6 - (real)6.4 * u))
                                   : (real)3.2 - (real)(1. / 15) * v -
                                         u * u * ((real)(32. / 3) - u * (16 - u * ((real)9.6 - (real)(32. / 15) * u))));
#endif
#if TILED_JERK
        f.dg_g = ih3 * c.inverse_h * c.inverse_h *
                 (inner ? 96 * u - (real)76.8 : (real)76.8 - 48 * v - 32 * u + (real)0.2 * (v3 * v * v));
#endif
    }
#endif
    return f;
}

/*
 * One pair: to i's sums what j does, and with SHARED to j's what i does.
 */
template <bool SHARED>
static __device__ __forceinline__ void interact(const body &i, const body &j, sums &si, sums &sj, const constants &c)
{
#if MIXED
    const real dx = (j.x - i.x) + (j.lx - i.lx), dy = (j.y - i.y) + (j.ly - i.ly), dz = (j.z - i.z) + (j.lz - i.lz);
#else
    const real dx = j.x - i.x, dy = j.y - i.y, dz = j.z - i.z;
#endif
    const law f = law_of(fma(dz, dz, fma(dy, dy, fma(dx, dx, c.eps2))), c);
#if TILED_EQUAL
    const real gi = f.g, gj = f.g;
#else
    const real gi = f.g * j.m, gj = f.g * i.m;
#endif
    si.ax = fma(gi, dx, si.ax);
    si.ay = fma(gi, dy, si.ay);
    si.az = fma(gi, dz, si.az);
    if (SHARED) {
        sj.ax = fma(-gj, dx, sj.ax);
        sj.ay = fma(-gj, dy, sj.ay);
        sj.az = fma(-gj, dz, sj.az);
    }
#if TILED_POTENTIAL
#if TILED_EQUAL
    si.p += f.p;
    if (SHARED)
        sj.p += f.p;
#else
    si.p = fma(j.m, f.p, si.p);
    if (SHARED)
        sj.p = fma(i.m, f.p, sj.p);
#endif
#endif
#if TILED_JERK
    const real wx = j.vx - i.vx, wy = j.vy - i.vy, wz = j.vz - i.vz;
    const real dw = f.dg_g * fma(dz, wz, fma(dy, wy, dx * wx));
#if TILED_SPLINE
#if TILED_EQUAL
    const real mi = 1, mj = 1;
#else
    const real mi = i.m, mj = j.m;
#endif
    const real qx = fma(f.g, wx, dw * dx), qy = fma(f.g, wy, dw * dy), qz = fma(f.g, wz, dw * dz);
    const real hi = mj, hj = mi;
#else
    const real qx = fma(dw, dx, wx), qy = fma(dw, dy, wy), qz = fma(dw, dz, wz);
    const real hi = gi, hj = gj;
#endif
    si.jx = fma(hi, qx, si.jx);
    si.jy = fma(hi, qy, si.jy);
    si.jz = fma(hi, qz, si.jz);
    if (SHARED) {
        sj.jx = fma(-hj, qx, sj.jx);
        sj.jy = fma(-hj, qy, sj.jy);
        sj.jz = fma(-hj, qz, sj.jz);
    }
#endif
}

/* Of one pair i's sums, in which a body's own potential is not. */
static __device__ __forceinline__ void interact_once([[maybe_unused]] bool itself, const body &i, const body &j,
                                                     sums &si, sums &sj, const constants &c)
{
    [[maybe_unused]] const real p = si.p;
    interact<false>(i, j, si, sj, c);
#if TILED_POTENTIAL
    si.p = itself ? p : si.p;
#endif
}

/*
 * One pair of single precision, both sums, with one multiplication less. In the place of j's body is (k, k x, k y, k z)
 * with k = m^(-1/2), and with its sums, as p, (k eps)^2. Then, with d = k (x_i - x_j) and g = (d^2 + (k eps)^2)^(-3/2),
 * g d is m_j (x_i - x_j) / s^3, and m_i g d as much for j times its mass. (k comes first, so that the three registers
 * of a fused operation never lie in one bank: 4 % faster.)
 */
static __device__ __forceinline__ void interact_roots(const body &i, const body &j, sums &si, sums &sj,
                                                      const constants &c)
{
    const real k = j.x, dx = fma(i.x, k, -j.y), dy = fma(i.y, k, -j.z), dz = fma(i.z, k, -j.m);
    const real gi = law_of(fma(dz, dz, fma(dy, dy, fma(dx, dx, sj.p))), c).g, gj = gi * i.m;
    si.ax = fma(-gi, dx, si.ax);
    si.ay = fma(-gi, dy, si.ay);
    si.az = fma(-gi, dz, si.az);
    sj.ax = fma(gj, dx, sj.ax);
    sj.ay = fma(gj, dy, sj.ay);
    sj.az = fma(gj, dz, sj.az);
}

template <class T> static __device__ __forceinline__ void sums_spread(const sums &s, T *q)
{
    q[0] = s.ax, q[1] = s.ay, q[2] = s.az;
#if TILED_JERK
    q[3] = s.jx, q[4] = s.jy, q[5] = s.jz;
#endif
#if TILED_POTENTIAL
    q[N_SUMS - 1] = s.p;
#endif
}

/* Add the sums of a thread's bodies i to their totals [TILED_I N_SUMS], which lie `apart`, in double precision, and
 * clear them. */
static __device__ __forceinline__ void flush(sums *si, double *totals, int apart)
{
#pragma unroll
    for (int k = 0; k < TILED_I; k++) {
        double p[N_SUMS];
        sums_spread(si[k], p);
#pragma unroll
        for (int q = 0; q < N_SUMS; q++)
            totals[(k * N_SUMS + q) * apart] += p[q];
        si[k] = sums_zero();
    }
}

#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif
#ifndef UNROLL
#define UNROLL 8
#endif
constexpr int unroll = UNROLL; /* a pragma knows no macros */

#if TILED_EDGES
/* ---- every pair once --------------------------------------------------------------------------------------------- */

/*
 * Rows are blocks of BLOCK_I bodies i; a row's tiles are those from its own bodies to the last body's. The tiles of
 * rows first_row .. last_row - 1 in this order are cut into one share for each thread block. The first TILED_I tiles of
 * a row are its own bodies.
 *
 *   part_j  [N_SUMS][TILE of all tiles in this order]
 *   part_i  [block + row - first_row][N_SUMS][BLOCK_I]: of a share's part of a row
 */
struct edges {
    const word *bodies;
    long n, width; /* padded to a multiple of BLOCK_I; tiles up to the last body, those of row 0 */
    int first_row, last_row;
    partial *part_j;
    double *part_i;
    const struct group *warps; /* of sorted bodies: those i of each warp; theirs and those of 32 bodies each */
    const float4 *warp_balls, *segment_balls;
    const int *place;   /* [n] where sorted bodies came from */
    const double *near; /* [N_SUMS][n] what is near adds to their sums */
    const float2 *seed; /* what the instruction for 1/sqrt(x) is off */
    constants c;
};

/* The place in a row of a thread's body k: a warp's bodies are one behind the other. */
#define PLACE_I(k) ((warp * TILED_I + (k)) * 32 + lane)

/* Tiles in rows first .. row - 1. */
static __device__ __forceinline__ long tiles_before(long width, int first, int row)
{
    const long n_rows = row - first;
    return n_rows * width - (long)TILED_I * (n_rows * (row - 1 + first) / 2);
}

/*
 * Sums of j in shared memory, TILE apart: words as in sums_load, or in mixed precision doubles, two a word, to which
 * those of one rotation are added.
 */
#if MIXED
#define SHARED_WORDS ((N_SUMS + 1) / 2)
#else
#define SHARED_WORDS SUM_WORDS
#endif

static __device__ __forceinline__ void shared_spread(const word *from, partial *q)
{
#if MIXED
#pragma unroll
    for (int k = 0; k < N_SUMS; k++) {
        const double2 pair = ((const double2 *)from)[k / 2 * TILE];
        q[k] = k % 2 ? pair.y : pair.x;
    }
#else
    sums_spread(sums_load(from, TILE), q);
#endif
}

/*
 * Make of a body j and its empty sums what interact_roots takes, unless it is one of a row's own; k, twice to be
 * multiplied with its sums. Bodies that fill up have no mass.
 */
static __device__ __forceinline__ real take_root([[maybe_unused]] word *j, [[maybe_unused]] word *sj,
                                                 [[maybe_unused]] bool own, [[maybe_unused]] const constants &c)
{
#if TILED_ROOTS
    const real k = j->w > 0 ? 1.0f / sqrtf(j->w) : 1.0f;
    if (!own) {
        *j = make_float4(k, k * j->x, k * j->y, k * j->z);
        sj->w = k * k * c.eps2;
    }
    return k;
#else
    return 1;
#endif
}

#define WORD ((unsigned)sizeof(word))

#if TILED_SORTED
#include "gravitation/tiled/tiled_sorted.kern.h"
#else
#define FAR_WORDS 0

static __device__ __forceinline__ sums shared_load(const word *from)
{
    return MIXED ? sums_zero() : sums_load(from, TILE);
}

static __device__ __forceinline__ void shared_store(const sums &s, word *to)
{
#if MIXED
    double p[N_SUMS + 1] = {};
    sums_spread(s, p);
#pragma unroll
    for (int w = 0; w < SHARED_WORDS; w++) {
        double2 *const pair = (double2 *)to + w * TILE, old = *pair;
        *pair = make_double2(old.x + p[2 * w], 2 * w + 1 < N_SUMS ? old.y + p[2 * w + 1] : 0);
    }
#else
    sums_store(s, to, TILE);
#endif
}

/*
 * 32 bodies j, at place and in its neighbourhood, with those i of a warp's registers. In a row's own bodies every pair
 * comes twice, and i's sums are enough (not SHARED); of a thread's bodies i number `own` is its j without a rotation.
 */
template <bool SHARED>
static __device__ __forceinline__ void rotate(unsigned place, [[maybe_unused]] long own, const body *bi, sums *si,
                                              const constants &c)
{
#pragma unroll unroll
    for (unsigned r = 0; r < 32 * WORD; r += WORD) { /* r / WORD: the rotation */
        word *const at = (word *)__cvta_shared_to_generic(place ^ r);
        const body bj = body_load(at, TILE);
        sums sj = SHARED ? shared_load(at + BODY_WORDS * TILE) : sums_zero();
#pragma unroll
        for (int k = 0; k < TILED_I; k++)
            if constexpr (!SHARED)
                interact_once(r == 0 && k == own, bi[k], bj, si[k], sj, c);
            else if constexpr (TILED_ROOTS)
                interact_roots(bi[k], bj, si[k], sj, c);
            else
                interact<true>(bi[k], bj, si[k], sj, c);
        if (SHARED) {
            shared_store(sj, at + BODY_WORDS * TILE);
            __syncwarp();
        }
    }
}
#endif

/* long: one kernel, whose totals and tiles live in registers and shared memory from its start to its end */
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) tiled_edges(edges e)
{
    /* 32 words lie at an address that ends in 9 zeros */
    __shared__ __align__(512) word tile[BODY_WORDS + SHARED_WORDS + FAR_WORDS][TILE];
    const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
#if TILED_SORTED
    double totals[TILED_I * N_SUMS]; /* of this thread's i */
    const int apart = 1;
#else
    extern __shared__ double block_totals[]; /* [TILED_I * N_SUMS][THREADS] */
    double *const totals = block_totals + thread;
    const int apart = THREADS;
#endif
    const long n_tiles = tiles_before(e.width, e.first_row, e.last_row);
    long t = n_tiles * blockIdx.x / gridDim.x;
    const long t_end = n_tiles * (blockIdx.x + 1) / gridDim.x;
    int row = e.first_row;
    while (t >= tiles_before(e.width, e.first_row, row + 1))
        row++;

    while (t < t_end) {
        const long row_start = tiles_before(e.width, e.first_row, row),
                   row_end = tiles_before(e.width, e.first_row, row + 1);
        const long stop = t_end < row_end ? t_end : row_end;
        const word *const from = e.bodies + ((long)row * BLOCK_I - row_start * TILE + thread); /* + t TILE: tile t */
#if !TILED_SORTED
        body bi[TILED_I];
        sums si[TILED_I];
        int since = 0;
#pragma unroll
        for (int k = 0; k < TILED_I; k++) {
            bi[k] = body_load(e.bodies + ((long)row * BLOCK_I + PLACE_I(k)), e.n);
            si[k] = sums_zero();
        }
#endif
#pragma unroll
        for (int q = 0; q < N_SUMS * TILED_I; q++)
            totals[q * apart] = 0;
        for (; t < stop; t++) {
#pragma unroll
            for (int w = 0; w < BODY_WORDS; w++)
                tile[w][thread] = from[w * e.n + t * TILE];
#pragma unroll
            for (int w = 0; w < SHARED_WORDS; w++)
                tile[BODY_WORDS + w][thread] = word();
            const bool own = t - row_start < TILED_I;
            const real root = take_root(&tile[0][thread], &tile[BODY_WORDS][thread], own, e.c);
            __syncthreads();
            for (int phase = 0; phase < TILED_WARPS; phase++) {
                const int segment = (warp + phase) % TILED_WARPS;
#if TILED_SORTED
                const long w = (long)row * TILED_WARPS + warp,
                           all = ((long)row * TILED_I + t - row_start) * TILED_WARPS + segment;
                if (own)
                    meet<false>(e, w, all, tile[0], segment * 32, totals);
                else
                    meet<true>(e, w, all, tile[0], segment * 32, totals);
#else
                const unsigned place = (unsigned)__cvta_generic_to_shared(&tile[0][segment * 32 + lane]);
                if (own)
                    rotate<false>(place, (t - row_start) * TILED_WARPS + segment - warp * TILED_I, bi, si, e.c);
                else
                    rotate<true>(place, -1, bi, si, e.c);
                since += 32;
                if (since >= FLUSH) {
                    since = 0;
                    flush(si, totals, apart);
                }
#endif
                __syncthreads();
            }
            partial p[N_SUMS];
            shared_spread(&tile[BODY_WORDS][thread], p);
#pragma unroll
            for (int q = 0; q < N_SUMS; q++)
                e.part_j[(q * n_tiles + t) * TILE + thread] = root * root * p[q];
        }
        double *const to = e.part_i + ((long)blockIdx.x + row - e.first_row) * N_SUMS * BLOCK_I;
#if !TILED_SORTED
        flush(si, totals, apart);
#endif
#pragma unroll
        for (int k = 0; k < TILED_I; k++)
#pragma unroll
            for (int q = 0; q < N_SUMS; q++)
                to[q * BLOCK_I + PLACE_I(k)] = totals[(k * N_SUMS + q) * apart];
        row++;
    }
}

/* scale times the sums of a body (x) and quantity (y) from rows first to last to result [N_SUMS][n]; add: to what it
 * holds. */
extern "C" __global__ void tiled_edges_sum(edges e, int n_blocks, double scale, int add, double *result)
{
    const long body = (long)blockIdx.x * blockDim.x + threadIdx.x, q = blockIdx.y;
    if (body >= e.width * TILE)
        return;
    const long n_tiles = tiles_before(e.width, e.first_row, e.last_row);
    const int row = (int)(body / BLOCK_I), last = row < e.last_row ? row : e.last_row - 1;
    double sum = 0;
#pragma unroll 8
    for (int r = e.first_row; r <= last; r++)
        sum += e.part_j[(q * n_tiles + tiles_before(e.width, e.first_row, r)) * TILE + body - (long)r * BLOCK_I];
    if (row >= e.first_row && row < e.last_row) {
        const long first = tiles_before(e.width, e.first_row, row), end = tiles_before(e.width, e.first_row, row + 1);
        const long first_block = ((first + 1) * n_blocks - 1) / n_tiles, last_block = (end * n_blocks - 1) / n_tiles;
        for (long b = first_block; b <= last_block; b++)
            sum += e.part_i[((b + row - e.first_row) * N_SUMS + q) * BLOCK_I + body % BLOCK_I];
#if TILED_SORTED
        sum += e.near[q * e.n + body];
#endif
    }
#if TILED_SORTED
    double *const to = result + q * e.n + e.place[body];
#else
    double *const to = result + q * e.n + body;
#endif
    *to = (add ? *to : 0) + scale * sum;
}

#else
/* ---- every target by itself -------------------------------------------------------------------------------------- */

#define GROUPS (THREADS / TILED_LANES) /* of threads that share targets */
#define ROWS_I (GROUPS * TILED_I)      /* targets of a block */

/* Sources of block y: tiles y n_tiles / gridDim.y and on. */
struct rows {
    const word *sources, *targets;
    long n, n_targets; /* padded to multiples of TILE, of ROWS_I */
    double scale;      /* of the sums */
    double *part;      /* [gridDim.y][N_SUMS][n_targets] */
    constants c;
};

#if TILED_STORAGE == 2
typedef uint2 stored;
#define STORED_WORDS 1

/* x and y, z and m, 16 bits each. */
static __device__ __forceinline__ void store_source(const word *from, long, stored *to, int)
{
    const word w = from[0];
    unsigned short x, y, z;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(fminf(w.x, 65504.0f)));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(fminf(w.y, 65504.0f)));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(z) : "f"(fminf(w.z, 65504.0f)));
    to[0] = make_uint2(x | (unsigned)y << 16, z | ((__float_as_uint(w.w) + 0x8000u) & 0xffff0000u));
}

static __device__ __forceinline__ body load_source(const stored *from, int)
{
    body b;
    const stored s = from[0];
    asm("cvt.f32.f16 %0, %1;" : "=f"(b.x) : "h"((unsigned short)s.x));
    asm("cvt.f32.f16 %0, %1;" : "=f"(b.y) : "h"((unsigned short)(s.x >> 16)));
    asm("cvt.f32.f16 %0, %1;" : "=f"(b.z) : "h"((unsigned short)s.y));
    b.m = __uint_as_float(s.y & 0xffff0000u);
    return b;
}
#else
typedef word stored;
#define STORED_WORDS BODY_WORDS

static __device__ __forceinline__ void store_source(const word *from, long stride, stored *to, int to_stride)
{
#pragma unroll
    for (int w = 0; w < BODY_WORDS; w++)
        to[w * to_stride] = from[w * stride];
}

static __device__ __forceinline__ body load_source(const stored *from, int stride)
{
    return body_load(from, stride);
}
#endif

static __device__ __forceinline__ long own_of(const body &target)
{
#if FP64
    return (long)target.m;
#else
    return __float_as_int(target.m);
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) tiled_rows(rows r)
{
#if TILED_STORAGE
    __shared__ stored tile[STORED_WORDS][TILE];
#endif
    const int thread = threadIdx.x, lane = thread % TILED_LANES;
    const long first = (long)blockIdx.x * ROWS_I + thread / TILED_LANES, n_tiles = r.n / TILE;
    const long end = n_tiles * (blockIdx.y + 1) / gridDim.y;
    body bi[TILED_I];
    sums si[TILED_I], none;
    [[maybe_unused]] long own[TILED_I];
    double totals[TILED_I * N_SUMS] = {};
#pragma unroll
    for (int k = 0; k < TILED_I; k++) {
        bi[k] = body_load(r.targets + first + k * GROUPS, r.n_targets);
        si[k] = sums_zero();
        own[k] = r.targets == r.sources ? first + k * GROUPS : own_of(bi[k]);
    }
    int since = 0;
    for (long t = n_tiles * blockIdx.y / gridDim.y; t < end; t++) {
#if TILED_STORAGE
        __syncthreads();
        store_source(r.sources + t * TILE + thread, r.n, &tile[0][thread], TILE);
        __syncthreads();
#endif
#pragma unroll unroll
        for (int j = 0; j < TILE / TILED_LANES; j++) {
#if TILED_STORAGE
            const body bj = load_source(&tile[0][j * TILED_LANES + lane], TILE);
#else
            const body bj = body_load(r.sources + t * TILE + j * TILED_LANES + lane, r.n);
#endif
#pragma unroll
            for (int k = 0; k < TILED_I; k++)
                interact_once(t * TILE + j * TILED_LANES + lane == own[k], bi[k], bj, si[k], none, r.c);
        }
        since += TILE / TILED_LANES;
        if (since >= FLUSH || t == end - 1) {
            since = 0;
            flush(si, totals, 1);
        }
    }
#pragma unroll
    for (int k = 0; k < TILED_I; k++)
#pragma unroll
        for (int q = 0; q < N_SUMS; q++) {
            double sum = totals[k * N_SUMS + q];
#pragma unroll
            for (int step = TILED_LANES / 2; step; step /= 2)
                sum += __shfl_xor_sync(0xffffffffu, sum, step);
            if (lane == 0)
                r.part[(blockIdx.y * N_SUMS + q) * r.n_targets + first + k * GROUPS] = r.scale * sum;
        }
}

#endif
/* ---- partial sums ------------------------------------------------------------------------------------------------ */

/* result [n]: the sum of n_parts arrays of n, by one thread each, or by a warp where parts are many. */
extern "C" __global__ void tiled_parts_sum(const double *part, int n_parts, long n, int lanes, double *result)
{
    const long thread = (long)blockIdx.x * blockDim.x + threadIdx.x, at = thread / lanes;
    const int lane = (int)(thread % lanes);
    double sum = 0;
#pragma unroll 8
    for (int p = lane; p < n_parts; p += lanes)
        sum += at < n ? part[p * n + at] : 0;
    for (int step = lanes / 2; step; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (at < n && lane == 0)
        result[at] = sum;
}
