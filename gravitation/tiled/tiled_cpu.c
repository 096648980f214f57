/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled_cpu.c: forces of one big system on the CPU: SIMD lanes (tiled_kernel.c) and OpenMP threads.
 *
 * edges: every pair once. Bodies are cut into tiles, and pairs of tiles are played like a tournament: in each of n - 1
 * rounds every tile meets another one, so that the pairs of a round touch different sums, and threads need no sums of
 * their own. A tile's sums grow in the order of the rounds: it depends on the number of bodies alone, not on the number
 * of threads.
 *
 * rows: each target by itself, lanes over sources.
 *
 * naive, naive_edges: steps of the ladder, for comparison: the serial loops of students' codes, structures of
 * single-precision numbers, acceleration only.
 *
 * plain: row by row in double precision, as the equations of tiled.h stand. The reference of all others.
 */
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gravitation/tiled/tiled_cpu.h"

enum { KERNEL_PLAIN, KERNEL_ROWS, KERNEL_EDGES, KERNEL_NAIVE, KERNEL_NAIVE_EDGES, KERNELS };

static const struct {
    const char *name, *doc;
} kernels[KERNELS] = {
    [KERNEL_PLAIN] = {"plain", "row by row in double precision, the reference"},
    [KERNEL_ROWS] = {"rows", "each target by itself, SIMD lanes over sources"},
    [KERNEL_EDGES] = {"edges", "every pair once, SIMD lanes, pairs of tiles in rounds of a tournament"},
    [KERNEL_NAIVE] = {"naive", "the loop everybody writes first, single precision, -O3, one thread"},
    [KERNEL_NAIVE_EDGES] = {"naive_edges", "the same with every pair once, one thread"},
};

/* So many interactions are not worth the start of threads. */
enum { TILED_ALONE = 1 << 15 };

struct tiled_backend {
    shoal_context *context;
    shoal_tiled_options options;
    int threads;
    const tiled_cpu_kernels *simd; /* NULL: none for this machine in this build */
    tiled_bodies sources;
    tiled_cpu_bodies packed, targets; /* n: padded */
    void *slab[2];                    /* of those two */
    size_t slab_size[2];
    double *sums; /* [TILED_SUMS][n] */
    size_t sums_size;
    double eps;
    long tile;
    int last; /* the kernel of the last forces */
};

/* p and g of tiled.h, and g'/r. */
static void law(shoal_tiled_softening softening, double eps, double floor2, double r2, double *p, double *g, double *dg)
{
    const double s2 = r2 + floor2 + (softening == SHOAL_TILED_PLUMMER ? eps * eps : 0), h = 2.8 * eps;
    *p = 1 / sqrt(s2);
    *g = *p * *p * *p;
    *dg = -3 * *g * *p * *p;
    if (eps == 0 && r2 == 0)
        *p = *g = 0;
    if (softening == SHOAL_TILED_SPLINE && r2 < h * h) {
        const double u = sqrt(r2) / h, h3 = h * h * h;
        if (u < 0.5) {
            *p = (2.8 - u * u * (16. / 3 - u * u * (9.6 - 6.4 * u))) / h;
            *g = (32. / 3 - u * u * (38.4 - 32 * u)) / h3;
            *dg = (96 * u - 76.8) / (h3 * h * h);
        } else {
            *p = (3.2 - 1 / (15 * u) - u * u * (32. / 3 - u * (16 - u * (9.6 - 32. / 15 * u)))) / h;
            *g = (64. / 3 - u * (48 - u * (38.4 - 32. / 3 * u)) - 1 / (15 * u * u * u)) / h3;
            *dg = (-48 / u + 76.8 - 32 * u + 0.2 / (u * u * u * u * u)) / (h3 * h * h);
        }
    }
}

static void plain(const tiled_backend *b, const tiled_bodies *targets, const tiled_results *results)
{
    const tiled_bodies *s = &b->sources, *t = targets ? targets : s;
    const double floor2 = tiled_floor2(SHOAL_TILED_FP64);
#pragma omp parallel for num_threads(b->threads) schedule(dynamic, 16)
    for (long i = 0; i < t->n; i++) {
        const long own = tiled_source_of(targets, i);
        double a[3] = {0}, jerk[3] = {0}, phi = 0;
        for (long j = 0; j < s->n; j++) {
            double d[3], w[3] = {0}, r2 = 0, dw = 0, p, g, dg;
            for (int c = 0; c < 3; c++) {
                d[c] = s->x[c][j] - t->x[c][i];
                w[c] = results->jerk[0] ? s->v[c][j] - t->v[c][i] : 0;
                r2 += d[c] * d[c];
                dw += d[c] * w[c];
            }
            law(b->options.softening, b->eps, floor2, r2, &p, &g, &dg);
            phi -= j == own ? 0 : s->m[j] * p;
            for (int c = 0; c < 3; c++) {
                a[c] += s->m[j] * g * d[c];
                jerk[c] += s->m[j] * (g * w[c] + dw * dg * d[c]);
            }
        }
        for (int c = 0; c < 3; c++) {
            results->a[c][i] = a[c];
            if (results->jerk[0])
                results->jerk[c][i] = jerk[c];
        }
        if (results->phi)
            results->phi[i] = phi;
    }
}

/* ---- the naive loops --------------------------------------------------------------------------------------------- */

struct naive_body {
    float x, y, z, m, ax, ay, az;
};

#ifdef __clang__
#define NAIVE static __attribute__((noinline))
#else
#define NAIVE static __attribute__((noinline, optimize("O3")))
#endif

NAIVE void naive_loop(struct naive_body *b, long n, float eps2)
{
    for (long i = 0; i < n; i++) {
        float ax = 0, ay = 0, az = 0;
        for (long j = 0; j < n; j++) {
            const float dx = b[j].x - b[i].x, dy = b[j].y - b[i].y, dz = b[j].z - b[i].z;
            const float p = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + eps2), g = b[j].m * p * p * p;
            ax += g * dx;
            ay += g * dy;
            az += g * dz;
        }
        b[i].ax = ax;
        b[i].ay = ay;
        b[i].az = az;
    }
}

NAIVE void naive_edges_loop(struct naive_body *b, long n, float eps2)
{
    for (long i = 0; i < n; i++)
        b[i].ax = b[i].ay = b[i].az = 0;
    for (long i = 0; i < n; i++)
        for (long j = i + 1; j < n; j++) {
            const float dx = b[j].x - b[i].x, dy = b[j].y - b[i].y, dz = b[j].z - b[i].z;
            const float p = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + eps2), g = p * p * p, gi = g * b[j].m,
                        gj = g * b[i].m;
            b[i].ax += gi * dx;
            b[i].ay += gi * dy;
            b[i].az += gi * dz;
            b[j].ax -= gj * dx;
            b[j].ay -= gj * dy;
            b[j].az -= gj * dz;
        }
}

/* All sources are targets. */
static shoal_status naive(tiled_backend *b, bool pairs_once, const tiled_results *results)
{
    const tiled_bodies *s = &b->sources;
    struct naive_body *bodies = shoal_allocate((size_t)s->n, sizeof *bodies);
    if (!bodies)
        return shoal_fail(b->context, SHOAL_E_MEMORY, "no memory for %ld bodies", s->n);
    for (long i = 0; i < s->n; i++)
        bodies[i] = (struct naive_body){
            (float)s->x[0][i], (float)s->x[1][i], (float)s->x[2][i], (float)s->m[i], 0, 0, 0};
    (pairs_once ? naive_edges_loop : naive_loop)(bodies, s->n,
                                                 (float)(b->eps * b->eps + tiled_floor2(SHOAL_TILED_FP32)));
    for (long i = 0; i < s->n; i++) {
        results->a[0][i] = bodies[i].ax;
        results->a[1][i] = bodies[i].ay;
        results->a[2][i] = bodies[i].az;
    }
    free(bodies);
    return SHOAL_OK;
}

/* ---- bodies as the kernels want them ----------------------------------------------------------------------------- */

static shoal_status grow(tiled_backend *b, void **memory, size_t *have, size_t size)
{
    if (size <= *have)
        return SHOAL_OK;
    free(*memory);
    *have = 0;
    *memory = shoal_allocate(size, 1);
    if (!*memory)
        return shoal_fail(b->context, SHOAL_E_MEMORY, "no memory for %zu bytes of bodies", size);
    *have = size;
    return SHOAL_OK;
}

/*
 * Numbers of one field of bodies first .. last - 1. In mixed precision the upper part of a coordinate is a multiple of
 * 2^-18, so that differences of upper parts are exact up to 2^6 (the size of the system is 1): rounded, they would all
 * be off to the same side for one body, and so would be its acceleration.
 */
static void pack_field(const tiled_backend *b, int f, const double *values, long first, long last, void *to)
{
    const shoal_tiled_precision precision = b->options.precision;
    if (precision == SHOAL_TILED_FP64) {
        memcpy((double *)to + first, values + first, (size_t)(last - first) * sizeof(double));
        return;
    }
    const double to_2_18 = precision == SHOAL_TILED_MIXED && (f < 3 || f > 6) ? 0x1.8p34 : 0;
    for (long i = first; i < last; i++) {
        const double upper = (values[i] + to_2_18) - to_2_18; /* a sum with it has no bits below 2^-18 */
        ((float *)to)[i] = (float)(f < 7 ? upper : values[i] - (float)upper);
    }
}

/* Bodies of slab k, n_padded of them; those that fill up are far away and have no mass. */
static shoal_status pack(tiled_backend *b, int k, const tiled_bodies *from, long n_padded, tiled_cpu_bodies *to)
{
    const bool fp64 = b->options.precision == SHOAL_TILED_FP64;
    const int n_fields = b->options.precision == SHOAL_TILED_MIXED ? TILED_FIELDS : TILED_FIELDS - 3;
    const size_t field = (size_t)n_padded * (fp64 ? sizeof(double) : sizeof(float));
    const double *values[TILED_FIELDS] = {from->x[0], from->x[1], from->x[2], from->m,    from->v[0],
                                          from->v[1], from->v[2], from->x[0], from->x[1], from->x[2]};
    shoal_status status = grow(b, &b->slab[k], &b->slab_size[k], TILED_FIELDS * field);
    if (status)
        return status;
    to->n = n_padded;
    for (int f = 0; f < TILED_FIELDS; f++)
        to->field[f] = (char *)b->slab[k] + (size_t)f * field;
    const long n = from->n, parts = n > 8192 ? 64 : 1;
#pragma omp parallel for num_threads(b->threads) schedule(static) if (parts > 1)
    for (long part = 0; part < parts; part++)
        for (int f = 0; f < n_fields; f++)
            if (values[f])
                pack_field(b, f, values[f], n * part / parts, n * (part + 1) / parts, to->field[f]);
    for (int f = 0; f < n_fields; f++)
        for (long i = values[f] ? n : 0; i < n_padded; i++)
            if (fp64)
                ((double *)to->field[f])[i] = f < 3 ? 1e100 : 0;
            else
                ((float *)to->field[f])[i] = f < 3 ? 1e15f : 0;
    return SHOAL_OK;
}

/* Bodies a tile: a tile's sums over lanes cost as much as 20 bodies, and there should be tiles for all threads. */
static long tile_of(long n)
{
    long tile = TILED_STEP;
    while (tile < 1024 && 32 * 2 * tile <= n)
        tile *= 2;
    return tile;
}

/* ---- every pair once --------------------------------------------------------------------------------------------- */

/* Match k of n / 2 in a round of a tournament of n (even): tiles *a and *b. The last tile stays, the others go
 * round. */
static void match(long n, long round, long k, long *a, long *b)
{
    *a = k ? (round + k) % (n - 1) : n - 1;
    *b = (round - k + n - 1) % (n - 1);
}

static void wait_for(atomic_long *played, long rounds)
{
    for (int spins = 0; atomic_load_explicit(played, memory_order_acquire) < rounds; spins++)
        if (spins > 1000)
            sched_yield();
}

/*
 * The matches in order of rounds, each taken by the next free thread, which waits until both tiles have played all
 * rounds before. First each tile meets itself, where every pair comes twice.
 */
static shoal_status edges(tiled_backend *b, int what, const tiled_cpu_law *law)
{
    const long n = b->packed.n, tile = b->tile, n_tiles = n / tile, even = n_tiles + n_tiles % 2;
    const long n_matches = n_tiles + (even - 1) * (even / 2);
    const double weight = b->sources.equal ? b->sources.m[0] : 1;
    void *memory = b->sums;
    shoal_status status = grow(b, &memory, &b->sums_size, TILED_SUMS * (size_t)n * sizeof(double));
    b->sums = memory;
    atomic_long *played = calloc((size_t)even, sizeof *played), next = 0;
    if (!status && !played)
        status = shoal_fail(b->context, SHOAL_E_MEMORY, "no memory for %ld tiles", n_tiles);
    double *sum[TILED_SUMS];
    for (int q = 0; q < TILED_SUMS; q++)
        sum[q] = b->sums + q * n;
    if (b->sources.equal)
        what |= TILED_EQUAL;
#pragma omp parallel num_threads(b->threads) if (!status && n * n > TILED_ALONE)
    for (long u; !status && (u = atomic_fetch_add(&next, 1)) < n_matches;) {
        long round = 0, i = u, j = u;
        if (u >= n_tiles) {
            round = 1 + (u - n_tiles) / (even / 2);
            match(even, round - 1, (u - n_tiles) % (even / 2), &i, &j);
        }
        wait_for(&played[i], i < n_tiles ? round : 0);
        wait_for(&played[j], j < n_tiles ? round : 0);
        for (int q = 0; round == 0 && q < TILED_SUMS; q++)
            memset(sum[q] + i * tile, 0, (size_t)tile * sizeof(double));
        if (i < n_tiles && j < n_tiles)
            b->simd->pairs(what, law, &b->packed,
                           (tiled_cpu_tiles){i * tile, j * tile, tile, round ? weight : 0.5 * weight}, sum);
        atomic_store_explicit(&played[i], round + 1, memory_order_release);
        atomic_store_explicit(&played[j], round + 1, memory_order_release);
    }
    free(played);
    return status;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static shoal_status rows(tiled_backend *b, int what, const tiled_cpu_law *law, const tiled_bodies *targets)
{
    const tiled_cpu_bodies *places = targets ? &b->targets : &b->packed;
    const long n = targets ? targets->n : b->sources.n, n_padded = (n + TILED_STEP - 1) / TILED_STEP * TILED_STEP;
    shoal_status status = targets ? pack(b, 1, targets, n_padded, &b->targets) : SHOAL_OK;
    void *memory = b->sums;
    if (!status)
        status = grow(b, &memory, &b->sums_size, TILED_SUMS * (size_t)places->n * sizeof(double));
    b->sums = memory;
    if (status)
        return status;
    double *sum[TILED_SUMS];
    for (int q = 0; q < TILED_SUMS; q++)
        sum[q] = b->sums + q * places->n;
#pragma omp parallel for num_threads(b->threads) schedule(dynamic, 4) if (n * b->sources.n > TILED_ALONE)
    for (long i = 0; i < n; i++)
        b->simd->row(what, law, &b->packed, places, i, tiled_source_of(targets, i), sum);
    return SHOAL_OK;
}

/* ---- the backend ------------------------------------------------------------------------------------------------- */

static const char *cpu_missing(void)
{
    return NULL;
}

static const char *cpu_kernel(int i, const char **doc)
{
    *doc = i < KERNELS ? kernels[i].doc : NULL;
    return i < KERNELS ? kernels[i].name : NULL;
}

static bool cpu_can(const char *kernel, shoal_tiled_precision precision, int wants)
{
    int i = 0;
    while (i < KERNELS && strcmp(kernels[i].name, kernel) != 0)
        i++;
    return i < KERNEL_NAIVE || (i < KERNELS && precision == SHOAL_TILED_FP32 && !wants);
}

/* The kernel of forces on all sources, or on others. */
static int kernel_for(const tiled_backend *b, bool all)
{
    int kernel = KERNEL_PLAIN;
    while (kernel < KERNELS && strcmp(kernels[kernel].name, b->options.kernel) != 0)
        kernel++;
    return kernel < (all ? KERNELS : KERNEL_EDGES) ? kernel : all ? KERNEL_EDGES : KERNEL_ROWS;
}

static shoal_status cpu_create(shoal_context *context, const shoal_tiled_options *options, long n_max,
                               tiled_backend **backend)
{
    tiled_backend *new = *backend = calloc(1, sizeof *new);
    if (!new)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    new->context = context;
    new->options = *options;
    new->threads = shoal_omp_threads(options->threads ? options->threads : shoal_default_threads(NULL));
    new->tile = tile_of(n_max);
    new->last = kernel_for(new, true);
    const char *arch = shoal_cpu_arch();
    for (int i = 0; shoal_tiled_cpu_table[i]; i++) { /* v3 stands before v4, and runs there too */
        const tiled_cpu_kernels *simd = shoal_tiled_cpu_table[i];
        const bool runs = strcmp(simd->arch, arch) == 0 || (strcmp(simd->arch, "v3") == 0 && strcmp(arch, "v4") == 0);
        if (simd->precision == options->precision && runs)
            new->simd = simd;
    }
    if (!new->simd && strcmp(options->kernel, "plain") != 0)
        return shoal_fail(context, SHOAL_E_UNSUPPORTED,
                          "no CPU kernels for %s of the forces of one big system in this build", arch);
    if (options->n_devices > 1)
        return shoal_fail(context, SHOAL_E_USAGE, "n_devices = %d on the CPU: expected 0 or 1", options->n_devices);
    return SHOAL_OK;
}

static void cpu_destroy(tiled_backend **backend)
{
    free((*backend)->slab[0]);
    free((*backend)->slab[1]);
    free((*backend)->sums);
    free(*backend);
    *backend = NULL;
}

static shoal_status cpu_sources(tiled_backend *b, const tiled_bodies *sources, double eps)
{
    b->sources = *sources;
    b->eps = eps;
    b->tile = tile_of(sources->n);
    return pack(b, 0, sources, (sources->n + b->tile - 1) / b->tile * b->tile, &b->packed);
}

/* Forces in the place where kernels leave them (plain: in results). */
static shoal_status compute(tiled_backend *b, int wants, const tiled_bodies *targets, const tiled_results *results)
{
    const double floor2 = tiled_floor2(b->options.precision);
    const bool spline = b->options.softening == SHOAL_TILED_SPLINE;
    const int what = wants | (spline ? TILED_SPLINE : 0);
    const tiled_cpu_law law = {
        .eps2 = floor2 + (spline ? 0 : b->eps * b->eps),
        .inverse_h = b->eps > 0 ? 1 / (2.8 * b->eps) : 0,
        .cut2 = b->eps > 0 ? -1 : 1.5 * floor2,
    };
    b->last = kernel_for(b, !targets);
    if (b->last == KERNEL_EDGES)
        return edges(b, what, &law);
    if (b->last == KERNEL_ROWS)
        return rows(b, what, &law, targets);
    if (b->last >= KERNEL_NAIVE)
        return naive(b, b->last == KERNEL_NAIVE_EDGES, results);
    plain(b, targets, results);
    return SHOAL_OK;
}

static shoal_status cpu_forces(tiled_backend *b, int wants, const tiled_bodies *targets, const tiled_results *results)
{
    shoal_status status = compute(b, wants, targets, results);
    const long n = targets ? targets->n : b->sources.n, stride = targets ? b->targets.n : b->packed.n;
    if (status || (b->last != KERNEL_ROWS && b->last != KERNEL_EDGES))
        return status; /* they wrote the results themselves */
    for (int c = 0; c < 3; c++) {
        memcpy(results->a[c], b->sums + c * stride, (size_t)n * sizeof(double));
        if (wants & SHOAL_TILED_JERK)
            memcpy(results->jerk[c], b->sums + (3 + c) * stride, (size_t)n * sizeof(double));
    }
    for (long i = 0; wants & SHOAL_TILED_POTENTIAL && i < n; i++)
        results->phi[i] = -b->sums[6 * stride + i];
    return SHOAL_OK;
}

static shoal_status cpu_measure(tiled_backend *b, int wants, int n_repeats, double *seconds)
{
    const size_t n = (size_t)b->sources.n;
    double *room = shoal_allocate(n, 7 * sizeof(double));
    if (!room)
        return shoal_fail(b->context, SHOAL_E_MEMORY, "no memory to time the forces of %zu bodies", n);
    tiled_results results = {.phi = wants & SHOAL_TILED_POTENTIAL ? room + 6 * n : NULL};
    for (int c = 0; c < 3; c++) {
        results.a[c] = room + (size_t)c * n;
        results.jerk[c] = wants & SHOAL_TILED_JERK ? room + (size_t)(3 + c) * n : NULL;
    }
    *seconds = INFINITY;
    shoal_status status = SHOAL_OK;
    for (int i = 0; !status && i < n_repeats; i++) {
        const double start = shoal_seconds();
        status = compute(b, wants, NULL, &results);
        *seconds = fmin(*seconds, shoal_seconds() - start);
    }
    free(room);
    return status;
}

static void cpu_line(const tiled_backend *b, char *line, size_t size)
{
    const bool picked = strcmp(kernels[b->last].name, b->options.kernel) != 0;
    const bool simd = b->last == KERNEL_ROWS || b->last == KERNEL_EDGES;
    snprintf(line, size, "cpu: %s%s: %s; %s, %d thread%s, tiles of %ld bodies", kernels[b->last].name,
             picked ? " (picked by the targets)" : "", kernels[b->last].doc, simd ? b->simd->arch : "no SIMD",
             b->threads, b->threads == 1 ? "" : "s", b->tile);
}

const tiled_backend_type shoal_tiled_cpu = {
    .name = "cpu",
    .missing = cpu_missing,
    .kernel = cpu_kernel,
    .can = cpu_can,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .sources = cpu_sources,
    .forces = cpu_forces,
    .measure = cpu_measure,
    .line = cpu_line,
};
