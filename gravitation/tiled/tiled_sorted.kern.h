/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled_sorted.kern.h: a part of tiled_cuda.kern.h: every pair once of bodies that lie in the order of their places, in
 * mixed precision, accelerations with Plummer's softening only (TILED_SORTED).
 *
 * Along Hilbert's curve the 32 TILED_I bodies i of a warp and 32 bodies j (a segment) fill small balls. Where those are
 * near each other, for a percent or two of the pairs, each pair is made in double precision, once for either side
 * (tiled_near). Elsewhere single precision is enough for what a pair adds, since that averages out, but not for what is
 * the same for many pairs of a body:
 *
 *   - The rounding of places. Both are taken about an origin near the barycentre of the warp's bodies. A separation
 *     x_j - x_i is rounded to the last place of the larger, x_j, and so an x_i to the same side for all j. So the
 *     origin moves by a fraction of such places from segment to segment, and the error averages out. The error e of
 *     x_j is known, and the same for all bodies of the warp: the tide of their mass M at the origin,
 *     M (3 (x.e) x / s^2 - e) / s^3, corrects it.
 *   - The mean error of the cube of the instruction for 1/sqrt(x), some 1e-8. It is known for each range of distances
 *     (tiled_seed), and sums are corrected for it. That saves correcting each pair.
 *
 * Sums over the TILED_I bodies i of a thread, or over FLUSH bodies j, go on in double precision. Operations a pair: 3
 * sub, 3 fma, 1 rsqrt, 2 mul, 2 mul for masses, 6 fma: 17 for two interactions, 15 with equal masses.
 */

#define NEAR 1.4f /* balls that are so many times the sum of their radii apart, or less, are near */

#define FAR_WORDS 1 /* of bodies j in shared memory, about an origin */

typedef unsigned long long key;

/* ---- the order of places ----------------------------------------------------------------------------------------- */

/*
 * The place on Hilbert's curve through 2^63 cells of a cube of 128 (J. Skilling, AIP Conf. Proc. 707, 381, 2004,
 * doi:10.1063/1.1751381); those that fill up come last. order [n]: the bodies' numbers.
 */
extern "C" __global__ void tiled_keys(const word *bodies, long n_bodies, long n, key *keys, int *order)
{
    const long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    key k = ~0ull;
    if (i < n_bodies) {
        const word w = bodies[i];
        const float at[3] = {w.x, w.y, w.z};
        unsigned x[3], flip = 0;
        for (int c = 0; c < 3; c++)
            x[c] = (unsigned)(fminf(fmaxf(at[c] + 64.0f, 0.0f), 127.99f) * 16384.0f);
        for (unsigned bit = 1u << 20; bit > 1; bit >>= 1)
            for (int c = 0; c < 3; c++) {
                const unsigned below = bit - 1, t = (x[0] ^ x[c]) & below;
                if (x[c] & bit) {
                    x[0] ^= below;
                } else {
                    x[0] ^= t;
                    x[c] ^= t;
                }
            }
        x[1] ^= x[0];
        x[2] ^= x[1];
        for (unsigned bit = 1u << 20; bit > 1; bit >>= 1)
            flip ^= x[2] & bit ? bit - 1 : 0;
        k = 0;
        for (int b = 20; b >= 0; b--)
            for (int c = 0; c < 3; c++)
                k = k << 1 | ((x[c] ^ flip) >> b & 1);
    }
    keys[i] = k;
    order[i] = (int)i;
}

/* Of two, the one that comes first to a, if up. */
static __device__ __forceinline__ void put_in_order(key &ka, int &a, key &kb, int &b, bool up)
{
    if ((ka > kb || (ka == kb && a > b)) == up) {
        const key k = ka;
        const int o = a;
        ka = kb, a = b;
        kb = k, b = o;
    }
}

/* A step of a bitonic sort of 2^k: a thread a pair, `stride` apart, of runs of `size`. */
extern "C" __global__ void tiled_sort_pairs(key *keys, int *order, long size, long stride)
{
    const long p = (long)blockIdx.x * blockDim.x + threadIdx.x, i = p / stride * 2 * stride + p % stride,
               j = i + stride;
    put_in_order(keys[i], order[i], keys[j], order[j], (i & size) == 0);
}

#define SORT_BLOCK 512 /* threads, for twice as many */

/* The steps with strides within a block, of runs of first .. last. */
extern "C" __global__ void __launch_bounds__(SORT_BLOCK) tiled_sort_blocks(key *keys, int *order, long first, long last)
{
    __shared__ key k[2 * SORT_BLOCK];
    __shared__ int o[2 * SORT_BLOCK];
    const int thread = threadIdx.x;
    const long from = (long)blockIdx.x * 2 * SORT_BLOCK;
    for (int i = thread; i < 2 * SORT_BLOCK; i += SORT_BLOCK)
        k[i] = keys[from + i], o[i] = order[from + i];
    for (long size = first; size <= last; size *= 2)
        for (int stride = size / 2 < SORT_BLOCK ? (int)(size / 2) : SORT_BLOCK; stride; stride /= 2) {
            const int i = thread / stride * 2 * stride + thread % stride;
            __syncthreads();
            put_in_order(k[i], o[i], k[i + stride], o[i + stride], ((from + i) & size) == 0);
        }
    __syncthreads();
    for (int i = thread; i < 2 * SORT_BLOCK; i += SORT_BLOCK)
        keys[from + i] = k[i], order[from + i] = o[i];
}

/*
 * Bodies in their order, but for the rows, which lie `stride` apart (a number that has no divisor in common with
 * theirs): rows of near bodies meet all over the triangle of pairs, so that every share of it has as many near pairs.
 * The last row, which need not be full, stays.
 */
extern "C" __global__ void tiled_gather(const word *bodies, const int *order, long n, int stride, word *to, int *place)
{
    const long p = (long)blockIdx.x * blockDim.x + threadIdx.x, row = p / BLOCK_I, last = n / BLOCK_I - 1;
    if (p >= n)
        return;
    const long at = (row < last ? row * stride % last : last) * BLOCK_I + p % BLOCK_I;
    place[at] = order[p];
    for (int w = 0; w < BODY_WORDS; w++)
        to[w * n + at] = bodies[w * n + order[p]];
}

/* Bodies that lie one behind the other: their barycentre and mass, and a ball about it (w: the radius). */
struct group {
    double x, y, z, m;
};

static __device__ __forceinline__ double warp_sum(double x)
{
    for (int step = 16; step; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

/* Groups (or 0) of 32 n_own bodies, a warp each. Without mass the middle is that of the first body. */
extern "C" __global__ void tiled_groups(const word *bodies, long n, int n_own, group *groups, float4 *balls)
{
    const long g = ((long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (g >= n / (32 * n_own))
        return;
    const word *const from = bodies + g * 32 * n_own, *const own = from + threadIdx.x % 32;
    double x = 0, y = 0, z = 0, m = 0;
    for (int k = 0; k < n_own; k++) {
        const body b = body_load(own + 32 * k, n);
        m += b.m;
        x += b.m * ((double)b.x + b.lx);
        y += b.m * ((double)b.y + b.ly);
        z += b.m * ((double)b.z + b.lz);
    }
    m = warp_sum(m), x = warp_sum(x), y = warp_sum(y), z = warp_sum(z);
    const body first = body_load(from, n);
    const group all = {m > 0 ? x / m : first.x, m > 0 ? y / m : first.y, m > 0 ? z / m : first.z,
                       TILED_EQUAL ? 32 * n_own : m};
    float r2 = 0;
    for (int k = 0; k < n_own; k++) {
        const body b = body_load(own + 32 * k, n);
        const float dx = (float)(b.x - all.x + b.lx), dy = (float)(b.y - all.y + b.ly),
                    dz = (float)(b.z - all.z + b.lz);
        r2 = fmaxf(r2, dx * dx + dy * dy + dz * dz);
    }
    for (int step = 16; step; step /= 2)
        r2 = fmaxf(r2, __shfl_xor_sync(0xffffffffu, r2, step));
    if (threadIdx.x % 32 == 0) {
        if (groups)
            groups[g] = all;
        balls[g] = make_float4((float)all.x, (float)all.y, (float)all.z, sqrtf(r2));
    }
}

/* Whether balls are near each other, and their distance. What is nearer than 2^-20 is, since their places are
 * rounded here. */
static __device__ __forceinline__ bool is_near(const float4 &a, const float4 &b, float *distance)
{
    const float dx = b.x - a.x, dy = b.y - a.y, dz = b.z - a.z;
    *distance = sqrtf(dx * dx + dy * dy + dz * dz);
    return *distance <= NEAR * (a.w + b.w) + 0x1p-20f;
}

/* ---- far pairs --------------------------------------------------------------------------------------------------- */

#define SEED_BINS 1024 /* of s^2 in two octaves, after which the instruction repeats itself */
#define SEED_BITS 14   /* of a float, its last, that differ within a bin */

/*
 * y^3 s^3 - 1, y being the instruction's 1/s, in the mean over the s^2 of a bin, times the bin's width in log s^2; and
 * that width: both added up from bin 0 to the start of each, seed [SEED_BINS + 1]. A thread a bin.
 */
extern "C" __global__ void __launch_bounds__(SEED_BINS) tiled_seed(float2 *seed)
{
    __shared__ double2 sums[SEED_BINS];
    const unsigned bin = threadIdx.x, first = 0x3f000000u + (bin << SEED_BITS); /* of the floats from 0.5 */
    /* odd: the instruction does not take all bits alike */
    const unsigned step = 63, samples = (1u << SEED_BITS) / step;
    double sum = 0;
    for (unsigned k = 0; k < samples; k++) {
        const float s2 = __uint_as_float(first + k * step);
        float y;
        asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(s2));
        const float y2 = y * y, y3 = y2 * y;
        const double e = (double)y3 * y3 * s2 * s2 * s2 - 1; /* sqrt(1 + e) = 1 + e/2 - e^2/8 */
        sum += e * (0.5 - 0.125 * e);
    }
    const double width = (bin < SEED_BINS / 2 ? 1.0 : 2.0) / __uint_as_float(first);
    sums[bin] = make_double2(sum / samples * width, width);
    __syncthreads();
    for (unsigned stride = 1; stride < SEED_BINS; stride *= 2) {
        const double2 own = sums[bin], other = bin < stride ? make_double2(0, 0) : sums[bin - stride];
        __syncthreads();
        sums[bin] = make_double2(own.x + other.x, own.y + other.y);
        __syncthreads();
    }
    if (bin == 0)
        seed[0] = make_float2(0, 0);
    seed[bin + 1] = make_float2((float)sums[bin].x, (float)sums[bin].y);
}

/* What sums over pairs of two balls are multiplied by, since y^3 is off in the mean over their distances. */
static __device__ __forceinline__ double seed_scale(const float2 *seed, float distance, float radii, float eps2)
{
    const float least = distance - radii, most = distance + radii;
    const unsigned from = __float_as_uint(fmaf(least, least, eps2)) >> SEED_BITS,
                   to = (__float_as_uint(fmaf(most, most, eps2)) >> SEED_BITS) + 1;
    const float2 a = seed[from % SEED_BINS], b = seed[to % SEED_BINS], all = seed[SEED_BINS];
    const float times = (float)(to / SEED_BINS - from / SEED_BINS);
    return 1 - (double)((b.x - a.x + times * all.x) / (b.y - a.y + times * all.y));
}

/* A coordinate about an origin, both in two floats, and what it lost in rounding. */
static __device__ __forceinline__ float about(float upper, float lower, float origin_upper, float origin_lower,
                                              float *lost)
{
    const float a = upper - origin_upper, b = lower - origin_lower, x = a + b;
    *lost = b - (x - a);
    return x;
}

struct origin {
    float x, y, z, lx, ly, lz;
};

/* 0 to 1: for one segment after the other far from those before. */
static __device__ __forceinline__ float fraction(unsigned segment, unsigned step)
{
    return (float)(segment * step >> 8) * 0x1p-24f;
}

/* The origin for a warp's group and a segment at a distance: moved by less than 2^-21 of it. */
static __device__ __forceinline__ origin origin_of(const group &g, float distance, unsigned segment)
{
    const float reach = __uint_as_float((__float_as_uint(distance) & 0x7f800000u) - (21u << 23));
    const double grid = 0x1.8p34; /* such a sum has no bits below 2^-18 */
    const double x = g.x + grid - grid, y = g.y + grid - grid, z = g.z + grid - grid;
    origin o; /* 1/t, 1/t^2, 1/t^3 of 2^32, t^4 = t + 1 */
    o.x = (float)x, o.lx = fmaf(reach, fraction(segment, 3518319155u), (float)(g.x - x));
    o.y = (float)y, o.ly = fmaf(reach, fraction(segment, 2882110345u), (float)(g.y - y));
    o.z = (float)z, o.lz = fmaf(reach, fraction(segment, 2360945575u), (float)(g.z - z));
    return o;
}

static __device__ __forceinline__ void interact_far(const body &i, const word &j, sums &si, sums &sj,
                                                    const constants &c)
{
    const float dx = j.x - i.x, dy = j.y - i.y, dz = j.z - i.z, s2 = fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, c.eps2)));
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(s2));
    const float y2 = y * y, g = y2 * y, gi = TILED_EQUAL ? g : g * j.w, gj = TILED_EQUAL ? g : g * i.m;
    si.ax = fmaf(gi, dx, si.ax);
    si.ay = fmaf(gi, dy, si.ay);
    si.az = fmaf(gi, dz, si.az);
    sj.ax = fmaf(-gj, dx, sj.ax);
    sj.ay = fmaf(-gj, dy, sj.ay);
    sj.az = fmaf(-gj, dz, sj.az);
}

/* Add sums in single precision to those in double precision: of i in registers, of j in shared memory, as
 * shared_store does. */
static __device__ __forceinline__ void add(const sums &s, double scale, double *totals)
{
    totals[0] = fma(scale, (double)s.ax, totals[0]);
    totals[1] = fma(scale, (double)s.ay, totals[1]);
    totals[2] = fma(scale, (double)s.az, totals[2]);
}

static __device__ __forceinline__ void shared_add(const sums &s, double scale, word *to)
{
    const double2 xy = *(double2 *)to;
    const double z = *(double *)(to + TILE);
    *(double2 *)to = make_double2(fma(scale, (double)s.ax, xy.x), fma(scale, (double)s.ay, xy.y));
    *(double *)(to + TILE) = fma(scale, (double)s.az, z);
}

/*
 * The bodies i of a warp and those j of a segment: its places in shared memory are those from `first` on, `lane` being
 * this thread's. To the totals of i and, with SHARED, the sums of j.
 */
template <bool SHARED>
static __device__ __forceinline__ void meet(const edges &e, long warp, long segment, word *tile, int first,
                                            double *totals)
{
    float distance;
    const float4 ball_i = e.warp_balls[warp], ball_j = e.segment_balls[segment];
    if (is_near(ball_i, ball_j, &distance))
        return;
    const int lane = threadIdx.x & 31;
    const double scale = seed_scale(e.seed, distance, ball_i.w + ball_j.w, e.c.eps2);
    const group all = e.warps[warp];
    const origin o = origin_of(all, distance, (unsigned)segment);
    const word *const from = e.bodies + warp * 32 * TILED_I + lane;
    body bi[TILED_I];
    sums si[TILED_I];
    float ex, ey, ez;
#pragma unroll
    for (int k = 0; k < TILED_I; k++) {
        const body b = body_load(from + 32 * k, e.n);
        bi[k].x = about(b.x, b.lx, o.x, o.lx, &ex);
        bi[k].y = about(b.y, b.ly, o.y, o.ly, &ey);
        bi[k].z = about(b.z, b.lz, o.z, o.lz, &ez);
        bi[k].m = b.m;
        si[k] = sums_zero();
    }
    const body j = body_load(tile + first + lane, TILE);
    const float x = about(j.x, j.lx, o.x, o.lx, &ex), y = about(j.y, j.ly, o.y, o.ly, &ey),
                z = about(j.z, j.lz, o.z, o.lz, &ez);
    const float u = 1 / (x * x + y * y + z * z + e.c.eps2), tide = (float)all.m * u * sqrtf(u),
                along = 3 * u * (x * ex + y * ey + z * ez);
    word *const sum = tile + BODY_WORDS * TILE + first + lane, *const own = sum + SHARED_WORDS * TILE;
    *own = make_float4(x, y, z, j.m);
    /* of j, those of the last rotation: they wait for half of the next one's pairs, which hide their way to memory */
    sums before = sums_zero();
    before.ax = tide * (along * x - ex);
    before.ay = tide * (along * y - ey);
    before.az = tide * (along * z - ez);
    const unsigned place = (unsigned)__cvta_generic_to_shared(sum);
    unsigned place_before = place;
    __syncwarp();
#pragma unroll 1
    for (unsigned turn = 0; turn < 32 * WORD; turn += FLUSH * WORD)
#pragma unroll
        for (unsigned r = 0; r < FLUSH; r++) {
            const unsigned place_now = place ^ (turn | r * WORD);
            const word bj = ((const word *)__cvta_shared_to_generic(place_now))[SHARED_WORDS * TILE];
            sums sj = sums_zero();
#pragma unroll
            for (int k = 0; k < TILED_I; k++) {
                if (SHARED && k == TILED_I / 2) {
                    shared_add(before, scale, (word *)__cvta_shared_to_generic(place_before));
                    __syncwarp();
                }
                interact_far(bi[k], bj, si[k], sj, e.c);
                if (k % FLUSH == r) { /* one body's after the other, since the unit for 1/sqrt(x) converts them, too */
                    add(si[k], scale, totals + k * N_SUMS);
                    si[k] = sums_zero();
                }
            }
            before = sj;
            place_before = place_now;
        }
#pragma unroll
    for (int k = 0; k < TILED_I; k++)
        add(si[k], scale, totals + k * N_SUMS);
    if (SHARED)
        shared_add(before, scale, (word *)__cvta_shared_to_generic(place_before));
}

/* ---- near pairs -------------------------------------------------------------------------------------------------- */

#define NEAR_WARPS 8 /* that share a segment's near ones */

/*
 * What the near segments do to bodies of rows first_row .. last_row - 1, a block a segment of them, to near
 * [N_SUMS][n]. Of two segments the one in the earlier row is among the bodies i of a warp; in the same row each is for
 * itself.
 */
extern "C" __global__ void __launch_bounds__(32 * NEAR_WARPS) tiled_near(edges e, double eps2, double *near)
{
    __shared__ group tile[NEAR_WARPS][32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, per_row = TILED_I * TILED_WARPS;
    const long a = (long)e.first_row * per_row + blockIdx.x, n_segments = e.width * TILED_WARPS;
    const int row = (int)(a / per_row);
    const float4 ball = e.segment_balls[a], ball_i = e.warp_balls[a / TILED_I];
    const body i = body_load(e.bodies + a * 32 + lane, e.n);
    const double xi = (double)i.x + i.lx, yi = (double)i.y + i.ly, zi = (double)i.z + i.lz;
    double ax = 0, ay = 0, az = 0;
    for (long b0 = 32 * warp; b0 < n_segments; b0 += 32 * NEAR_WARPS) {
        const int b = (int)b0 + lane;
        float distance;
        const bool ours = b < n_segments && (b / per_row < row ? is_near(e.warp_balls[b / TILED_I], ball, &distance)
                                                               : is_near(ball_i, e.segment_balls[b], &distance));
        for (unsigned those = __ballot_sync(0xffffffffu, ours), last; those; those ^= 1u << last) {
            last = 31 - __clz((int)those);
            const body j = body_load(e.bodies + (b0 + last) * 32 + lane, e.n);
            __syncwarp();
            tile[warp][lane] = {(double)j.x + j.lx, (double)j.y + j.ly, (double)j.z + j.lz,
                                TILED_EQUAL ? 1 : (double)j.m + j.lm};
            __syncwarp();
#pragma unroll 8
            for (int k = 0; k < 32; k++) {
                const group s = tile[warp][k];
                const double dx = s.x - xi, dy = s.y - yi, dz = s.z - zi,
                             s2 = fma(dz, dz, fma(dy, dy, fma(dx, dx, eps2)));
                double y, e_y;
                const double g = s.m * inverse_cube(s2, &y, &e_y);
                ax = fma(g, dx, ax), ay = fma(g, dy, ay), az = fma(g, dz, az);
            }
        }
    }
    __syncwarp();
    tile[warp][lane] = {ax, ay, az, 0};
    __syncthreads();
    if (warp >= N_SUMS)
        return;
    double sum = 0;
    for (int w = 0; w < NEAR_WARPS; w++)
        sum += (&tile[w][lane].x)[warp];
    near[warp * e.n + a * 32 + lane] = sum;
}
