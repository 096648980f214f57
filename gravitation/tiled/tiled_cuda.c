/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled_cuda.c: forces of one big system on one or more GPUs of a host. The kernels are in tiled_cuda.kern.h; what each
 * variant of them is compiled with is in tiled_variants.c.
 *
 * Every device has all bodies. With edge sharing it does some of the parts into which the rows of tiles are cut and has
 * sums of all bodies for each, which the host adds in the order of the parts; otherwise it has a share of the targets.
 * Results do not depend on the number of devices.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gravitation/tiled/tiled_cublas.h"
#include "gravitation/tiled/tiled_variants.h"

/*
 * With edge sharing the pairs of MANY bodies or more are cut into PARTS, whose sums are added in their order, whatever
 * device they come from; fewer are not worth more than one device.
 */
enum { MAX_DEVICES = 8, PARTS = 8, MANY = 1 << 17 };
/* Bodies; loops over fewer are not worth the start of threads. */
enum { PARALLEL = 8192 };
/* Measuring is worth it if the forces to come take so many times as long. */
enum { TUNE_PAYS = 40, TUNE_REPEATS = 2 };
#define COMPILE_S      0.5  /* a variant's compilation, roughly */
#define CLEARLY_FASTER 0.97 /* times differ by a percent from one run to the next; so would results, to rounding */

/* As the kernels take them. */
struct constants_float {
    float eps2, inverse_h, cut2;
};
struct constants_double {
    double eps2, inverse_h, cut2;
};
struct edges {
    device_pointer bodies;
    long long n, width;
    int first_row, last_row;
    device_pointer part_j, part_i, warps, warp_balls, segment_balls, place, near, seed;
    union {
        struct constants_float f;
        struct constants_double d;
    } c;
};
struct rows {
    device_pointer sources, targets;
    long long n, n_targets;
    double scale;
    device_pointer part;
    union {
        struct constants_float f;
        struct constants_double d;
    } c;
};

/* Memory of a device, and of the host for copies from and to it, that grows. */
struct buffer {
    device_pointer at;
    size_t size;
};
struct staging {
    void *at;
    size_t size;
    bool locked;
};

/* What kernels that share edges make of masses: any, all the same, or by their roots, which costs less
 * (tiled_cuda.kern.h). */
enum { MASSES_ANY, MASSES_EQUAL, MASSES_ROOTS, N_MASSES };

/* A compiled variant. */
struct program {
    cuda_module module;
    cuda_function main, sum, parts;
    cuda_function keys, sort_pairs, sort_blocks, gather, groups, seed, near; /* of a variant of sorted bodies */
    int resident, registers; /* blocks on a multiprocessor, registers a thread */
};

struct gpu {
    struct gpu_device on;
    struct buffer bodies, targets, results, part_j, part_i, sorted;
    struct staging staged_targets, staged_results;
    bool current;                                  /* bodies: what is staged */
    struct program program[VARIANTS][4][N_MASSES]; /* by variant, wants, masses */
    struct tiled_cublas cublas;
};

/* Which variant computes the forces on n sources, and why. */
enum why { BY_TABLE, TOO_SHORT, KEPT, MEASURED, GIVEN };
struct choice {
    long n;
    int variant, n_measured;
    enum why why;
};

struct tiled_backend {
    shoal_context *context;
    shoal_tiled_options options;
    struct driver driver;
    int version, n_gpus, threads;
    struct gpu gpu[MAX_DEVICES];
    tiled_bodies sources;
    double eps;
    struct staging staged;           /* the sources as they are on all devices */
    const tiled_shape *staged_shape; /* packed for it; NULL = not */
    struct choice choice[4];         /* by wants */
    int given[4];                    /* by wants: 1 + the variant that somebody goes on with, else 0 */
    int shown;                       /* the wants that the line is about: those of the last forces on all sources */
};

/* One evaluation: what runs where. */
struct work {
    int variant, wants, masses;
    const tiled_shape *shape;
    long n, n_targets; /* padded */
    long width;        /* tiles of sources up to the last one */
    int n_sums, n_words;
    /* targets of this device; with edge sharing first is that of the parts, and targets are all */
    long first, n_own;
    long n_parts, n_blocks; /* parts of the pairs; blocks of targets on all devices */
    bool own_places;        /* targets are the sources where they lie */
};

static shoal_status cuda_fail(tiled_backend *b, int result, const char *what)
{
    return shoal_driver_fail(&b->driver, b->context, result, what);
}

static long round_up(long n, long multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

static const char *cuda_kernel(int i, const char **doc)
{
    *doc = i < VARIANTS ? shoal_tiled_variants[i].doc : NULL;
    return i < VARIANTS ? shoal_tiled_variants[i].name : NULL;
}

static bool cuda_can(const char *kernel, shoal_tiled_precision precision, int wants)
{
    const int variant = shoal_tiled_variant_named(kernel);
    return variant >= 0 && shoal_tiled_variants[variant].shape[precision][!!(wants & SHOAL_TILED_JERK)].i > 0;
}

/* ---- create, destroy --------------------------------------------------------------------------------------------- */

static void staging_free(tiled_backend *b, struct staging *staging)
{
    if (staging->locked)
        (void)b->driver.host_unregister(staging->at);
    free(staging->at);
    *staging = (struct staging){0};
}

static void cuda_destroy(tiled_backend **backend)
{
    tiled_backend *old = *backend;
    *backend = NULL;
    if (!old)
        return;
    struct driver *driver = &old->driver;
    cuda_context ours;
    for (int g = 0; g < old->n_gpus; g++) /* all of them: what is staged is copied from by all */
        if (old->gpu[g].on.cuda && driver->context_push(old->gpu[g].on.cuda) == 0) {
            (void)driver->synchronize();
            (void)driver->context_pop(&ours);
        }
    for (int g = 0; g < old->n_gpus; g++) {
        struct gpu *gpu = &old->gpu[g];
        if (!gpu->on.cuda)
            continue;
        (void)driver->context_push(gpu->on.cuda);
        struct buffer *const buffers[] = {&gpu->bodies, &gpu->targets, &gpu->results,
                                          &gpu->part_j, &gpu->part_i,  &gpu->sorted};
        for (int i = 0; i < SHOAL_COUNT(buffers); i++)
            if (buffers[i]->at)
                (void)driver->release(buffers[i]->at);
        struct program *const programs = &gpu->program[0][0][0];
        for (size_t p = 0; p < sizeof gpu->program / sizeof *programs; p++)
            if (programs[p].module)
                (void)driver->module_unload(programs[p].module);
        staging_free(old, &gpu->staged_targets);
        staging_free(old, &gpu->staged_results);
        if (g == 0)
            staging_free(old, &old->staged);
        shoal_tiled_cublas_close(&gpu->cublas, driver);
        (void)driver->context_pop(&ours);
        (void)driver->context_release(gpu->on.device);
    }
    free(old);
}

static shoal_status gpu_open(tiled_backend *b, int index)
{
    const struct gpu_device *first = &b->gpu[0].on, *gpu = &b->gpu[index].on;
    const shoal_status status = shoal_gpu_open(&b->driver, b->context, index, &b->gpu[index].on);
    if (!status && (gpu->arch != first->arch || gpu->n_multiprocessors != first->n_multiprocessors))
        return shoal_fail(b->context, SHOAL_E_UNSUPPORTED,
                          "GPU %d is a %s, GPU 0 a %s: those that share the forces must be of one kind, lest results "
                          "depend on who does what",
                          index, gpu->name, first->name);
    return status;
}

static shoal_status cuda_create(shoal_context *context, const shoal_tiled_options *options, long n_max,
                                tiled_backend **backend)
{
    (void)n_max;
    tiled_backend *made = calloc(1, sizeof *made);
    int n = 0;
    if (!made)
        return shoal_fail(context, SHOAL_E_MEMORY, "no memory for the forces on a GPU");
    made->context = context;
    made->options = *options;
    made->threads = shoal_omp_threads(options->threads ? options->threads : shoal_default_threads(NULL));
    const char *missing = shoal_driver_open(&made->driver);
    shoal_status status = missing ? shoal_fail(context, SHOAL_E_UNSUPPORTED, "%s", missing) : SHOAL_OK;
    if (!status && (made->driver.version(&made->version) != 0 || made->driver.device_count(&n) != 0))
        status = shoal_fail(context, SHOAL_E_DEVICE, "the CUDA driver does not answer");
    const int wanted = options->n_devices ? options->n_devices : 1;
    if (!status && (wanted > n || wanted > MAX_DEVICES))
        status = shoal_fail(context, SHOAL_E_USAGE, "n_devices = %d: expected 1 to %d", wanted,
                            n < MAX_DEVICES ? n : MAX_DEVICES);
    for (int g = 0; !status && g < wanted; g++) {
        made->n_gpus = g + 1;
        status = gpu_open(made, g);
    }
    if (status)
        cuda_destroy(&made);
    *backend = made;
    return status;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static int n_sums_of(int wants)
{
    return 3 + 3 * !!(wants & SHOAL_TILED_JERK) + !!(wants & SHOAL_TILED_POTENTIAL);
}

/* Bytes of shared memory that a launch adds, for the totals of a block. */
static size_t totals_size(int variant, const tiled_shape *s, int n_sums)
{
    return shoal_tiled_variants[variant].edges && !shoal_tiled_variants[variant].sorted
               ? (size_t)n_sums * s->i * s->warps * 32 * sizeof(double)
               : 0;
}

static shoal_status program_load(tiled_backend *b, struct gpu *gpu, const struct work *w, struct program *program)
{
    const tiled_shape *s = w->shape;
    const struct {
        const char *name;
        int value;
    } values[] = {
        {"TILED_EDGES", shoal_tiled_variants[w->variant].edges},
        {"TILED_PRECISION", b->options.precision},
        {"TILED_SPLINE", b->options.softening == SHOAL_TILED_SPLINE},
        {"TILED_JERK", !!(w->wants & SHOAL_TILED_JERK)},
        {"TILED_POTENTIAL", !!(w->wants & SHOAL_TILED_POTENTIAL)},
        {"TILED_CUT", b->options.eps == 0},
        {"TILED_EQUAL", w->masses == MASSES_EQUAL},
        {"TILED_ROOTS", w->masses == MASSES_ROOTS},
        {"TILED_SORTED", shoal_tiled_variants[w->variant].sorted},
        {"TILED_I", s->i},
        {"TILED_WARPS", s->warps},
        {"TILED_LANES", s->lanes},
        {"UNROLL", s->unroll},
        {"MIN_BLOCKS", s->min_blocks},
        {"TILED_RSQRT", shoal_tiled_variants[w->variant].rsqrt},
        {"TILED_STORAGE", shoal_tiled_variants[w->variant].storage},
    };
    char text[SHOAL_COUNT(values)][48];
    const char *constants[SHOAL_COUNT(values) + 1] = {0};
    for (int i = 0; i < SHOAL_COUNT(values); i++) {
        snprintf(text[i], sizeof text[i], "%s=%d", values[i].name, values[i].value);
        constants[i] = text[i];
    }
    shoal_cubin cubin;
    shoal_status status = shoal_jit_text(b->context, "gravitation/tiled/tiled_cuda.kern.h", constants, gpu->on.arch,
                                         b->version, &cubin);
    if (status)
        return status;
    struct driver *driver = &b->driver;
    const bool edges = shoal_tiled_variants[w->variant].edges;
    int result = driver->module_load(&program->module, cubin.image);
    shoal_cubin_release(&cubin);
    if (result) {
        program->module = NULL;
        return cuda_fail(b, result, "loading the compiled kernel (is NVRTC newer than the driver?)");
    }
    const struct {
        cuda_function *function;
        const char *name;
    } sorting[] = {
        {&program->keys, "tiled_keys"},
        {&program->sort_pairs, "tiled_sort_pairs"},
        {&program->sort_blocks, "tiled_sort_blocks"},
        {&program->gather, "tiled_gather"},
        {&program->groups, "tiled_groups"},
        {&program->seed, "tiled_seed"},
        {&program->near, "tiled_near"},
    };
    for (int i = 0; !result && shoal_tiled_variants[w->variant].sorted && i < SHOAL_COUNT(sorting); i++)
        result = driver->module_function(sorting[i].function, program->module, sorting[i].name);
    const size_t shared = totals_size(w->variant, s, w->n_sums);
    if (result ||
        (result = driver->module_function(&program->main, program->module, edges ? "tiled_edges" : "tiled_rows")) !=
            0 ||
        (result = driver->module_function(&program->sum, program->module,
                                          edges ? "tiled_edges_sum" : "tiled_parts_sum")) != 0 ||
        (result = driver->module_function(&program->parts, program->module, "tiled_parts_sum")) != 0 ||
        (result = driver->function_set(program->main, FUNCTION_DYNAMIC_SHARED, (int)shared)) != 0 ||
        (result = driver->function_attribute(&program->registers, FUNCTION_REGISTERS, program->main)) != 0 ||
        (result = driver->occupancy(&program->resident, program->main, 32 * s->warps, shared)) != 0) {
        (void)driver->module_unload(program->module);
        program->module = NULL;
        return cuda_fail(b, result, "preparing a compiled kernel");
    }
    return SHOAL_OK;
}

/* ---- choice ------------------------------------------------------------------------------------------------------ */

static bool picks(const tiled_backend *b)
{
    return strcmp(b->options.kernel, "auto") == 0;
}

/*
 * Roots are for accelerations in single precision of masses so even that nothing a pair is made of leaves the range of
 * floats, with a softening (Plummer's, of which the kernel makes use) that is large beside the rounding of positions: k
 * x_j is rounded once more, and bodies at one place then attract each other a little.
 */
static int masses_of(const tiled_backend *b, int wants)
{
    if (b->sources.equal)
        return MASSES_EQUAL;
    const bool single = b->options.precision == SHOAL_TILED_FP32 && b->options.softening == SHOAL_TILED_PLUMMER &&
                        wants == 0;
    return single && b->sources.lightest >= 0x1p-32 && b->eps >= 0x1p-10 ? MASSES_ROOTS : MASSES_ANY;
}

/* The variant of the forces on all sources, or on n_targets others. What was kept is looked up once for a number of
 * bodies. (For others the table alone counts: their number changes all the time.) It stays when the kind of masses
 * changes, lest a run that goes on differ. */
static int choose_variant(tiled_backend *b, int wants, bool all, long n_targets)
{
    const int named = shoal_tiled_variant_named(b->options.kernel);
    if (named >= 0 && (all || !shoal_tiled_variants[named].edges))
        return named;
    if (!all || named >= 0)
        return shoal_tiled_variant_for(&b->options, wants, all, n_targets);
    struct choice *choice = &b->choice[wants & 3];
    if (choice->n != n_targets) {
        *choice = (struct choice){.n = n_targets, .variant = b->given[wants & 3] - 1, .why = GIVEN};
        if (choice->variant < 0 && b->options.tune == SHOAL_TILED_TUNE_AUTO) {
            choice->variant = shoal_tiled_variant_kept(b->gpu[0].on.name, &b->options, wants, masses_of(b, wants),
                                                       n_targets);
            choice->why = KEPT;
        }
        if (choice->variant < 0) {
            choice->variant = shoal_tiled_variant_for(&b->options, wants, true, n_targets);
            choice->why = BY_TABLE;
        }
    }
    return choice->variant;
}

static const char *cuda_picked(tiled_backend *b, int wants)
{
    return shoal_tiled_variants[choose_variant(b, wants, true, b->sources.n)].name;
}

static void cuda_pick(tiled_backend *b, int wants, const char *kernel)
{
    b->given[wants & 3] = 1 + shoal_tiled_variant_named(kernel);
    b->choice[wants & 3] = (struct choice){0};
    b->shown = wants;
}

/* The share of n that device g of n_gpus has, of one for a single n: first, and how many. */
static long share(long n, int g, int n_gpus, long *first)
{
    *first = (n * g + n_gpus - 1) / n_gpus;
    return (n * (g + 1) + n_gpus - 1) / n_gpus - *first;
}

/* The work of device g; targets: NULL = all sources. */
static void work_set(const tiled_backend *b, int variant, int wants, int g, const tiled_bodies *targets, struct work *w)
{
    *w = (struct work){.variant = variant, .wants = wants};
    if (shoal_tiled_variants[variant].sorted && (wants || b->options.softening != SHOAL_TILED_PLUMMER))
        w->variant = variant = VARIANT_EDGES; /* all else that is wanted of it */
    const bool edges = shoal_tiled_variants[variant].edges;
    const bool fp64 = b->options.precision == SHOAL_TILED_FP64;
    w->shape = shoal_tiled_shape(variant, &b->options, wants);
    w->masses = edges ? masses_of(b, wants) : MASSES_ANY;
    w->n_sums = n_sums_of(wants);
    const bool velocities = b->options.wants & SHOAL_TILED_JERK; /* the same bodies serve other wants too */
    w->n_words = fp64 ? 2 + 2 * velocities : 1 + (b->options.precision == SHOAL_TILED_MIXED) + velocities;
    const long tile = 32 * w->shape->warps, block = tile * w->shape->i / w->shape->lanes;
    const long n_all = targets ? targets->n : b->sources.n;
    w->n = round_up(b->sources.n, block > tile ? block : tile);
    w->width = round_up(b->sources.n, tile) / tile;
    if (edges) {
        w->n_parts = share(n_all >= MANY ? PARTS : 1, g, b->n_gpus, &w->first);
        w->n_own = w->n_parts ? n_all : 0;
        w->n_targets = w->n_parts ? w->n : 0;
    } else {
        w->n_own = share(n_all, g, b->n_gpus, &w->first);
        w->own_places = !targets && b->n_gpus == 1;
        w->n_targets = w->own_places ? w->n : round_up(w->n_own, block);
        w->n_parts = 1;
        w->n_blocks = round_up(n_all, block) / block; /* the split must not depend on the number of devices */
    }
}

/* ---- bodies on a device ------------------------------------------------------------------------------------------ */

static shoal_status buffer_grow(tiled_backend *b, struct buffer *buffer, size_t size)
{
    if (size <= buffer->size)
        return SHOAL_OK;
    if (buffer->at)
        (void)b->driver.release(buffer->at);
    *buffer = (struct buffer){0};
    int result = b->driver.allocate(&buffer->at, size);
    if (result) {
        char what[96];
        buffer->at = 0;
        snprintf(what, sizeof what, "allocating %.0f MiB of GPU memory for the forces", (double)size / 1048576);
        return cuda_fail(b, result, what);
    }
    buffer->size = size;
    return SHOAL_OK;
}

/* Page-locked memory, which is copied at the bus' speed and without waiting; where it cannot be had, other memory
 * does. */
static shoal_status staging_grow(tiled_backend *b, struct staging *staging, size_t size)
{
    if (size <= staging->size)
        return SHOAL_OK;
    staging_free(b, staging);
    size += size / 4; /* numbers of targets vary */
    staging->at = shoal_allocate(size, 1);
    if (!staging->at)
        return shoal_fail(b->context, SHOAL_E_MEMORY, "no memory for %zu bytes of bodies for the GPU", size);
    staging->size = size;
    staging->locked = b->driver.host_register(staging->at, size, HOST_PORTABLE) == 0;
    return SHOAL_OK;
}

/* One body as the kernels' words, 16 bytes each and `stride` apart. */
static inline void put_fp64(double *to, long stride, const double *x, double m, const double *v, bool velocities)
{
    to[0] = x[0], to[1] = x[1];
    to += 2 * stride;
    to[0] = x[2], to[1] = m;
    if (velocities) {
        to += 2 * stride;
        to[0] = v[0], to[1] = v[1];
        to += 2 * stride;
        to[0] = v[2], to[1] = 0;
    }
}

static inline void put_fp32(float *to, long stride, const double *x, double m, const double *v, bool velocities)
{
    to[0] = (float)x[0], to[1] = (float)x[1], to[2] = (float)x[2], to[3] = (float)m;
    if (velocities) {
        to += 4 * stride;
        to[0] = (float)v[0], to[1] = (float)v[1], to[2] = (float)v[2], to[3] = 0;
    }
}

/*
 * A coordinate is two floats, of which the upper is a multiple of 2^-18, so that differences of upper parts are exact
 * up to 2^6 (the size of the system is 1): rounded, they would all be off to the same side for one body i, and so would
 * be its acceleration.
 */
static inline void put_mixed(float *to, long stride, const double *x, double m, const double *v, bool velocities)
{
    float *const lower = to + 4 * stride;
    for (int c = 0; c < 3; c++) {
        to[c] = (float)((x[c] + 0x1.8p34) - 0x1.8p34); /* such a sum has no bits below 2^-18 */
        lower[c] = (float)(x[c] - (double)to[c]);
    }
    to[3] = (float)m, lower[3] = (float)(m - (double)to[3]);
    if (velocities) {
        to += 8 * stride;
        to[0] = (float)v[0], to[1] = (float)v[1], to[2] = (float)v[2], to[3] = 0;
    }
}

/* What the kernels' masses are in where some of them go by roots: a power of two near the number of bodies, so that
 * they are near 1. */
static double mass_unit(const tiled_backend *b)
{
    return masses_of(b, 0) == MASSES_ROOTS ? ldexp(1, ilogb((double)b->sources.n)) : 1;
}

/* A target's mass is the number of the source that it is. */
static void put_own(shoal_tiled_precision precision, void *to, long stride, long own)
{
    const int32_t bits = (int32_t)own;
    if (precision == SHOAL_TILED_FP64)
        ((double *)to)[2 * stride + 1] = (double)own;
    else
        memcpy((float *)to + 3, &bits, sizeof bits);
}

/* The sources, or a work's own targets (NULL: they are sources, too), as the kernels' words; what fills up is far
 * away. */
static void pack(const tiled_backend *b, const struct work *w, bool sources, const tiled_bodies *targets, void *to)
{
    const long first = sources ? 0 : w->first, n = sources ? b->sources.n : w->n_own;
    const long n_padded = sources ? w->n : w->n_targets;
    const int n_words = w->n_words;
    const tiled_bodies *bodies = targets ? targets : &b->sources;
    const shoal_tiled_precision precision = b->options.precision;
    const bool velocities = n_words > 2 || (n_words == 2 && precision == SHOAL_TILED_FP32);
    const double far = precision == SHOAL_TILED_FP64 ? 1e100 : 1e15, unit = mass_unit(b);
#pragma omp parallel for num_threads(b->threads) schedule(static) if (n_padded > PARALLEL)
    for (long i = 0; i < n_padded; i++) {
        double x[3] = {far, far, far}, v[3] = {0}, m = 0;
        if (i < n) {
            const long at = first + i;
            m = sources ? bodies->m[at] * unit : 0;
            x[0] = bodies->x[0][at], x[1] = bodies->x[1][at], x[2] = bodies->x[2][at];
            if (bodies->v[0])
                v[0] = bodies->v[0][at], v[1] = bodies->v[1][at], v[2] = bodies->v[2][at];
        }
        if (precision == SHOAL_TILED_FP64)
            put_fp64((double *)to + 2 * i, n_padded, x, m, v, velocities);
        else if (precision == SHOAL_TILED_FP32)
            put_fp32((float *)to + 4 * i, n_padded, x, m, v, velocities);
        else
            put_mixed((float *)to + 4 * i, n_padded, x, m, v, velocities);
        if (!sources)
            put_own(precision, (char *)to + 16 * i, n_padded, i < n ? tiled_source_of(targets, first + i) : -1);
    }
}

/* Start the copy of what is staged. */
static shoal_status send(tiled_backend *b, struct buffer *to, const struct staging *from, size_t size)
{
    shoal_status status = buffer_grow(b, to, size);
    if (status)
        return status;
    int result = b->driver.to_device_later(to->at, from->at, size, NULL);
    return result ? cuda_fail(b, result, "copying bodies to the GPU") : SHOAL_OK;
}

static shoal_status cuda_sources(tiled_backend *b, const tiled_bodies *sources, double eps)
{
    b->sources = *sources;
    b->eps = eps;
    b->staged_shape = NULL;
    return SHOAL_OK;
}

/* ---- forces ------------------------------------------------------------------------------------------------------ */

/* Law's constants; the kernels of double precision read another type. */
static void set_constants(const tiled_backend *b, struct constants_float *f, struct constants_double *d)
{
    const double floor2 = tiled_floor2(b->options.precision), plummer = b->options.softening == SHOAL_TILED_PLUMMER;
    const struct constants_double c = {
        .eps2 = floor2 + plummer * b->eps * b->eps,
        .inverse_h = b->eps > 0 ? 1 / (2.8 * b->eps) : 0,
        .cut2 = 1.5 * floor2,
    };
    if (b->options.precision == SHOAL_TILED_FP64)
        *d = c;
    else
        *f = (struct constants_float){(float)c.eps2, (float)c.inverse_h, (float)c.cut2};
}

/* Tiles in rows first .. row - 1, as in the kernel. */
static long tiles_before(const struct work *w, long first, long row)
{
    return (row - first) * w->width - w->shape->i * ((row - first) * (row - 1 + first) / 2);
}

/* The row at which part k of n begins: rows get shorter. */
static int part_start(const struct work *w, long k, long n)
{
    const long n_rows = w->n / (32L * w->shape->warps * w->shape->i), all = tiles_before(w, 0, n_rows);
    long row = 0;
    while (row < n_rows && tiles_before(w, 0, row) * n < all * k)
        row++;
    return (int)row;
}

/* The rows from first on whose partial sums fit into a quarter of the first device's memory, at least one; not what
 * is free, lest the order of sums depend on it. */
static int window_end(const tiled_backend *b, const struct work *w, int first, int last, size_t *size)
{
    const size_t tile_size = (size_t)(32 * w->shape->warps * w->n_sums) *
                             (b->options.precision == SHOAL_TILED_FP32 ? sizeof(float) : sizeof(double));
    int end = first + 1;
    while (end < last && (size_t)tiles_before(w, first, end + 1) * tile_size < b->gpu[0].on.memory / 4)
        end++;
    *size = (size_t)tiles_before(w, first, end) * tile_size;
    return end;
}

static size_t bytes_of(const struct work *w, long n)
{
    return (size_t)n * (size_t)w->n_words * 16;
}

static shoal_status launch(tiled_backend *b, cuda_function function, long x, long y, int block, size_t shared,
                           void **arguments)
{
    int result = b->driver.launch(function, (unsigned)x, (unsigned)y, 1, (unsigned)block, 1, 1, (unsigned)shared, NULL,
                                  arguments, NULL);
    return result ? cuda_fail(b, result, "starting the forces on the GPU") : SHOAL_OK;
}

static shoal_status add_parts(tiled_backend *b, const struct program *program, device_pointer parts, int n_parts,
                              long long n, device_pointer to)
{
    int lanes = n_parts < 32 ? 1 : 32;
    void *arguments[] = {&parts, &n_parts, &n, &lanes, &to};
    return launch(b, program->parts, (n * lanes + 127) / 128, 1, 128, 0, arguments);
}

/* ---- the order of places: where what it takes lies in a device's buffer ------------------------------------------ */

/* Bytes of struct group and float4, threads of a block that sorts twice as many bodies, of one for near pairs, of
 * one for each bin, as in the kernels. */
enum { GROUP_SIZE = 32, BALL_SIZE = 16, SORT_BLOCK = 512, NEAR_BLOCK = 256, SEED_BINS = 1024 };
struct sorted {
    long long n; /* bodies, a power of two */
    device_pointer keys, bodies, warps, segment_balls, warp_balls, near, order, place, seed;
    size_t size;
};

static struct sorted sorted_layout(const struct work *w, device_pointer at)
{
    struct sorted s = {.n = 2 * SORT_BLOCK};
    while (s.n < w->n)
        s.n *= 2;
    const size_t n = (size_t)w->n, n_segments = n / 32, n_warps = n_segments / (size_t)w->shape->i;
    const struct {
        device_pointer *at;
        size_t size;
    } arrays[] = {
        {&s.keys, (size_t)s.n * 8},           {&s.bodies, bytes_of(w, w->n)},
        {&s.warps, n_warps * GROUP_SIZE},     {&s.segment_balls, n_segments * BALL_SIZE},
        {&s.warp_balls, n_warps * BALL_SIZE}, {&s.near, n * (size_t)w->n_sums * sizeof(double)},
        {&s.order, (size_t)s.n * 4},          {&s.place, n * 4},
        {&s.seed, (SEED_BINS + 1) * 8},
    };
    for (int i = 0; i < SHOAL_COUNT(arrays); i++) {
        *arrays[i].at = at + s.size;
        s.size += arrays[i].size;
    }
    return s;
}

static long greatest_divisor(long a, long b)
{
    return b ? greatest_divisor(b, a % b) : a;
}

/* Sort a device's bodies by their places, and measure its instruction for 1/sqrt(x). */
static shoal_status sort_bodies(tiled_backend *b, struct gpu *gpu, const struct work *w, const struct program *program)
{
    shoal_status status = buffer_grow(b, &gpu->sorted, sorted_layout(w, 0).size);
    struct sorted s = sorted_layout(w, gpu->sorted.at);
    long long n_bodies = b->sources.n, n = w->n, size = 2, n_block = 2 * SORT_BLOCK;
    const long n_rows = n / (32L * w->shape->warps * w->shape->i) - 1; /* but the last */
    int stride = (int)(n_rows * 0.618) + 1, n_own = w->shape->i, one = 1;
    device_pointer none = 0;
    while (n_rows > 0 && greatest_divisor(n_rows, stride) != 1)
        stride++;
    void *keys[] = {&gpu->bodies.at, &n_bodies, &s.n, &s.keys, &s.order},
         *pairs[] = {&s.keys, &s.order, &size, &n_block};
    void *blocks[] = {&s.keys, &s.order, &size, &n_block},
         *gather[] = {&gpu->bodies.at, &s.order, &n, &stride, &s.bodies, &s.place};
    void *segments[] = {&s.bodies, &n, &one, &none, &s.segment_balls}, *seed[] = {&s.seed};
    void *warps[] = {&s.bodies, &n, &n_own, &s.warps, &s.warp_balls};
    if (!status)
        status = launch(b, program->keys, s.n / SORT_BLOCK, 1, SORT_BLOCK, 0, keys);
    if (!status)
        status = launch(b, program->sort_blocks, s.n / n_block, 1, SORT_BLOCK, 0, blocks);
    for (size = 2 * n_block; !status && size <= s.n; size *= 2) {
        long long apart = size / 2;
        pairs[3] = &apart;
        for (; !status && apart >= n_block; apart /= 2)
            status = launch(b, program->sort_pairs, s.n / n_block, 1, SORT_BLOCK, 0, pairs);
        blocks[3] = &size;
        if (!status)
            status = launch(b, program->sort_blocks, s.n / n_block, 1, SORT_BLOCK, 0, blocks);
    }
    if (!status)
        status = launch(b, program->gather, (n + 127) / 128, 1, 128, 0, gather);
    if (!status)
        status = launch(b, program->groups, (n + 127) / 128, 1, 128, 0, segments);
    if (!status)
        status = launch(b, program->groups, (n / n_own + 127) / 128, 1, 128, 0, warps);
    if (!status)
        status = launch(b, program->seed, 1, 1, SEED_BINS, 0, seed);
    return status;
}

static struct edges edges_of(const tiled_backend *b, const struct gpu *gpu, const struct work *w, int first, int last)
{
    struct edges e = {.bodies = gpu->bodies.at, .n = w->n, .width = w->width, .first_row = first, .last_row = last};
    e.part_j = gpu->part_j.at;
    e.part_i = gpu->part_i.at;
    if (shoal_tiled_variants[w->variant].sorted) {
        const struct sorted s = sorted_layout(w, gpu->sorted.at);
        e.bodies = s.bodies, e.warps = s.warps, e.warp_balls = s.warp_balls, e.segment_balls = s.segment_balls;
        e.place = s.place, e.near = s.near, e.seed = s.seed;
    }
    set_constants(b, &e.c.f, &e.c.d);
    return e;
}

/* What near bodies do to those of rows first .. last - 1, which have been sorted. */
static shoal_status run_near(tiled_backend *b, struct gpu *gpu, const struct work *w, const struct program *program,
                             int first, int last)
{
    struct edges e = edges_of(b, gpu, w, first, last);
    double eps2 = tiled_floor2(b->options.precision) + b->eps * b->eps;
    void *near[] = {&e, &eps2, &e.near};
    return launch(b, program->near, (long)(last - first) * w->shape->warps * w->shape->i, 1, NEAR_BLOCK, 0, near);
}

/* Rows first .. last - 1 to a part's results. */
static shoal_status run_part(tiled_backend *b, struct gpu *gpu, const struct work *w, const struct program *program,
                             int start, int last, device_pointer results)
{
    const int tile = 32 * w->shape->warps;
    const long block_i = (long)tile * w->shape->i;
    double scale = w->masses == MASSES_EQUAL ? b->sources.m[0] : 1 / mass_unit(b);
    shoal_status status = SHOAL_OK;
    int add = 0;
    for (int first = start, end; !status && (first < last || !add); first = end, add = 1) {
        size_t size = 0;
        end = first < last ? window_end(b, w, first, last, &size) : first;
        const long n_tiles = tiles_before(w, first, end);
        int n_blocks = gpu->on.n_multiprocessors * program->resident;
        n_blocks = n_blocks < n_tiles ? n_blocks : (int)n_tiles;
        const size_t size_i = (size_t)(n_blocks + end - first) * (size_t)(w->n_sums * block_i) * sizeof(double);
        if ((status = buffer_grow(b, &gpu->part_j, size)) != SHOAL_OK ||
            (status = buffer_grow(b, &gpu->part_i, size_i)) != SHOAL_OK)
            return status;
        struct edges e = edges_of(b, gpu, w, first, end);
        void *main[] = {&e}, *sum[] = {&e, &n_blocks, &scale, &add, &results};
        if (n_tiles)
            status = launch(b, program->main, n_blocks, 1, tile, totals_size(w->variant, w->shape, w->n_sums), main);
        if (!status)
            status = launch(b, program->sum, (w->n + 127) / 128, w->n_sums, 128, 0, sum);
    }
    return status;
}

/* The pairs of this device's parts; the first device adds up its own. */
static shoal_status run_edges(tiled_backend *b, struct gpu *gpu, const struct work *w, const struct program *program)
{
    const long n_all = b->sources.n >= MANY ? PARTS : 1, size = w->n_sums * w->n_targets;
    const int first = part_start(w, w->first, n_all), last = part_start(w, w->first + w->n_parts, n_all);
    const bool sorted = shoal_tiled_variants[w->variant].sorted && first < last;
    shoal_status status = sorted ? sort_bodies(b, gpu, w, program) : SHOAL_OK;
    if (!status && sorted)
        status = run_near(b, gpu, w, program, first, last);
    for (long k = 0; !status && k < w->n_parts; k++)
        status = run_part(b, gpu, w, program, part_start(w, w->first + k, n_all),
                          part_start(w, w->first + k + 1, n_all),
                          gpu->results.at + (size_t)(k * size) * sizeof(double));
    if (!status && w->first == 0 && w->n_parts > 1)
        status = add_parts(b, program, gpu->results.at, (int)w->n_parts, size, gpu->results.at);
    return status;
}

/* Targets one by one. */
static shoal_status run_rows(tiled_backend *b, struct gpu *gpu, const struct work *w, const struct program *program)
{
    const int tile = 32 * w->shape->warps, split = shoal_tiled_variants[w->variant].split;
    const long block = tile * w->shape->i / w->shape->lanes, n_tiles = w->n / tile;
    long splits = (2L * gpu->on.n_multiprocessors * program->resident) / w->n_blocks;
    if (split != SPLIT_AUTO)
        splits = split == SPLIT_NOT ? 1 : 32;
    else if (w->n_blocks >= gpu->on.n_multiprocessors / 2 && w->shape->lanes > 1)
        splits = 1; /* a second kernel costs more */
    splits = splits < 1 ? 1 : splits > n_tiles ? n_tiles : splits > 65535 ? 65535 : splits;
    const long n_results = w->n_sums * w->n_targets;
    shoal_status status = splits > 1 ? buffer_grow(b, &gpu->part_i, (size_t)(splits * n_results) * sizeof(double))
                                     : SHOAL_OK;
    if (status)
        return status;
    struct rows r = {.sources = gpu->bodies.at, .n = w->n, .n_targets = w->n_targets, .scale = 1 / mass_unit(b)};
    r.targets = w->own_places ? gpu->bodies.at : gpu->targets.at;
    r.part = splits > 1 ? gpu->part_i.at : gpu->results.at;
    set_constants(b, &r.c.f, &r.c.d);
    void *main[] = {&r};
    status = launch(b, program->main, w->n_targets / block, splits, tile, 0, main);
    if (status || splits == 1)
        return status;
    if (split == SPLIT_CUBLAS)
        return shoal_tiled_add_columns(b->context, &gpu->cublas, r.part, n_results, splits, gpu->results.at);
    return add_parts(b, program, r.part, (int)splits, n_results, gpu->results.at);
}

static shoal_status enter(tiled_backend *b, struct gpu *gpu)
{
    int result = b->driver.context_push(gpu->on.cuda);
    return result ? cuda_fail(b, result, "switching to the GPU") : SHOAL_OK;
}

static void leave(tiled_backend *b)
{
    cuda_context ours;
    (void)b->driver.context_pop(&ours);
}

/* Put on the device what is missing there; its context is current. */
static shoal_status prepare(tiled_backend *b, struct gpu *gpu, const struct work *w, const tiled_bodies *targets)
{
    struct program *program = &gpu->program[w->variant][w->wants & 3][w->masses];
    shoal_status status = program->module ? SHOAL_OK : program_load(b, gpu, w, program);
    if (!status && !gpu->current) {
        status = send(b, &gpu->bodies, &b->staged, bytes_of(w, w->n));
        gpu->current = !status;
    }
    const size_t size = bytes_of(w, w->n_targets);
    const bool elsewhere = !shoal_tiled_variants[w->variant].edges && !w->own_places;
    if (!status && elsewhere && !(status = staging_grow(b, &gpu->staged_targets, size))) {
        pack(b, w, false, targets, gpu->staged_targets.at);
        status = send(b, &gpu->targets, &gpu->staged_targets, size);
    }
    if (!status)
        status = buffer_grow(b, &gpu->results, (size_t)(w->n_parts * w->n_sums * w->n_targets) * sizeof(double));
    return status;
}

/* Pack the sources for a work, once for all devices, unless they are. */
static shoal_status stage_sources(tiled_backend *b, const struct work *w)
{
    if (b->staged_shape == w->shape)
        return SHOAL_OK;
    b->staged_shape = NULL;
    for (int g = 0; g < b->n_gpus; g++)
        b->gpu[g].current = false;
    shoal_status status = enter(b, &b->gpu[0]);
    if (status)
        return status;
    if (!(status = staging_grow(b, &b->staged, bytes_of(w, w->n)))) {
        pack(b, w, true, NULL, b->staged.at);
        b->staged_shape = w->shape;
    }
    leave(b);
    return status;
}

/* How many of a device's arrays of results are wanted by the host: the first device has added up its own. */
static long n_collected(const struct work *w)
{
    return w->n_own == 0 ? 0 : w->first == 0 ? 1 : shoal_tiled_variants[w->variant].edges ? w->n_parts : 1;
}

/* Start the copy of a device's results. */
static shoal_status fetch(tiled_backend *b, struct gpu *gpu, const struct work *w)
{
    const size_t size = (size_t)(n_collected(w) * w->n_sums * w->n_targets) * sizeof(double);
    shoal_status status = staging_grow(b, &gpu->staged_results, size);
    if (status)
        return status;
    int result = b->driver.to_host_later(gpu->staged_results.at, gpu->results.at, size, NULL);
    return result ? cuda_fail(b, result, "copying the forces from the GPU") : SHOAL_OK;
}

/* Start n_repeats evaluations on every device, and the copies: from the host as far as needed, to it if wanted. */
static shoal_status start_all(tiled_backend *b, const struct work *works, const tiled_bodies *targets, int n_repeats,
                              bool copy)
{
    shoal_status status = stage_sources(b, &works[0]);
    for (int g = 0; !status && g < b->n_gpus; g++) {
        struct gpu *gpu = &b->gpu[g];
        const struct work *w = &works[g];
        const struct program *program = &gpu->program[w->variant][w->wants & 3][w->masses];
        if (w->n_targets == 0 || (status = enter(b, gpu)) != SHOAL_OK)
            continue;
        status = prepare(b, gpu, w, targets);
        for (int i = 0; !status && i < n_repeats; i++)
            status = shoal_tiled_variants[w->variant].edges ? run_edges(b, gpu, w, program)
                                                            : run_rows(b, gpu, w, program);
        if (!status && copy)
            status = fetch(b, gpu, w);
        leave(b);
    }
    return status;
}

static shoal_status wait_all(tiled_backend *b)
{
    shoal_status status = SHOAL_OK;
    for (int g = 0; !status && g < b->n_gpus; g++)
        if (!(status = enter(b, &b->gpu[g]))) {
            int result = b->driver.synchronize();
            if (result)
                status = cuda_fail(b, result, "computing the forces on the GPU");
            leave(b);
        }
    return status;
}

/* Copies that began end before anybody changes what they copy, also if something failed. */
static shoal_status run_all(tiled_backend *b, const struct work *works, const tiled_bodies *targets, int n_repeats,
                            bool copy)
{
    const shoal_status started = start_all(b, works, targets, n_repeats, copy);
    char why[SHOAL_MESSAGE_SIZE];
    snprintf(why, sizeof why, "%s", started ? shoal_context_message(b->context) : "");
    const shoal_status status = wait_all(b);
    return started ? shoal_fail(b->context, started, "%s", why) : status;
}

/* What a device sent to where it belongs: its targets', or (edge sharing) added to what those before it sent. */
static void collect(const tiled_backend *b, const struct gpu *gpu, const struct work *w, const tiled_results *results)
{
    const bool edges = shoal_tiled_variants[w->variant].edges, jerk = w->wants & SHOAL_TILED_JERK;
    const long parts = w->n_own > PARALLEL ? 64 : 1;
#pragma omp parallel for num_threads(b->threads) schedule(static) if (parts > 1)
    for (long part = 0; part < parts; part++)
        for (long k = 0; k < n_collected(w); k++)
            for (int q = 0; q < w->n_sums; q++) {
                const bool is_phi = results->phi && q == w->n_sums - 1, first = !edges || w->first + k == 0;
                const double *from = (double *)gpu->staged_results.at + (k * w->n_sums + q) * w->n_targets;
                double *to = q < 3 ? results->a[q] : jerk && q < 6 ? results->jerk[q - 3] : results->phi;
                to += edges ? 0 : w->first;
                for (long i = w->n_own * part / parts; i < w->n_own * (part + 1) / parts; i++)
                    to[i] = (first ? 0 : to[i]) + (is_phi ? -from[i] : from[i]);
            }
}

static void plan_all(tiled_backend *b, int variant, int wants, const tiled_bodies *targets, struct work *works)
{
    for (int g = 0; g < b->n_gpus; g++)
        work_set(b, variant, wants, g, targets, &works[g]);
}

static shoal_status cuda_forces(tiled_backend *b, int wants, const tiled_bodies *targets, const tiled_results *results)
{
    struct work works[MAX_DEVICES];
    plan_all(b, choose_variant(b, wants, !targets, targets ? targets->n : b->sources.n), wants, targets, works);
    shoal_status status = run_all(b, works, targets, 1, true);
    for (int g = 0; !status && g < b->n_gpus; g++)
        collect(b, &b->gpu[g], &works[g], results);
    b->shown = targets ? b->shown : wants;
    return status;
}

/* Evaluations that are timed together: where they are short, the start of a kernel hides behind the one before. */
static int batch_of(const tiled_backend *b)
{
    return b->sources.n < 100000 ? 20 : 1;
}

static shoal_status measure_variant(tiled_backend *b, int variant, int wants, int n_repeats, double *seconds)
{
    struct work works[MAX_DEVICES] = {0};
    plan_all(b, variant, wants, NULL, works);
    shoal_status status = run_all(b, works, NULL, 1, false);
    *seconds = INFINITY;
    const int batch = batch_of(b);
    for (int i = 0; !status && i < n_repeats; i++) {
        const double start = shoal_seconds();
        status = run_all(b, works, NULL, batch, false);
        *seconds = fmin(*seconds, (shoal_seconds() - start) / batch);
    }
    return status;
}

static shoal_status cuda_measure(tiled_backend *b, int wants, int n_repeats, double *seconds)
{
    return measure_variant(b, choose_variant(b, wants, true, b->sources.n), wants, n_repeats, seconds);
}

/* Which of the n_variants is the fastest on the first device, if that pays. One that does not run here is left out. */
static shoal_status tune_variants(tiled_backend *b, int wants, double n_evaluations, const int *variants,
                                  int n_variants, struct choice *choice)
{
    const bool always = b->options.tune == SHOAL_TILED_TUNE_ALWAYS;
    const double n_measured = n_variants * (1. + TUNE_REPEATS * batch_of(b));
    double least, seconds;
    choice->why = TOO_SHORT;
    if (!always && n_evaluations < TUNE_PAYS * n_measured)
        return SHOAL_OK;
    shoal_status status = measure_variant(b, choice->variant, wants, TUNE_REPEATS, &least);
    if (status || (!always && n_evaluations * least < TUNE_PAYS * (n_measured * least + n_variants * COMPILE_S)))
        return status;
    least *= CLEARLY_FASTER;
    int best = choice->variant;
    for (int k = 0; k < n_variants; k++)
        if (variants[k] != choice->variant &&
            measure_variant(b, variants[k], wants, TUNE_REPEATS, &seconds) == SHOAL_OK && seconds < least) {
            least = seconds;
            best = variants[k];
        }
    shoal_tiled_variant_keep(b->gpu[0].on.name, &b->options, wants, masses_of(b, wants), b->sources.n, best);
    *choice = (struct choice){b->sources.n, best, n_variants, MEASURED};
    return SHOAL_OK;
}

static shoal_status cuda_tune(tiled_backend *b, int wants, double n_evaluations)
{
    int variants[VARIANTS_MAIN], n_variants = 0;
    if (!picks(b) || b->options.tune == SHOAL_TILED_TUNE_NEVER)
        return SHOAL_OK;
    (void)choose_variant(b, wants, true, b->sources.n);
    struct choice *choice = &b->choice[wants & 3];
    if (choice->why >= KEPT)
        return SHOAL_OK;
    for (int variant = 0; variant < VARIANTS_MAIN; variant++)
        if (cuda_can(shoal_tiled_variants[variant].name, b->options.precision, wants))
            variants[n_variants++] = variant;
    const int n_gpus = b->n_gpus;
    b->n_gpus = 1; /* what is picked, and so the results, must not depend on how many there are */
    const shoal_status status = tune_variants(b, wants, n_evaluations, variants, n_variants, choice);
    b->n_gpus = n_gpus;
    b->staged_shape = NULL; /* the other devices missed what was staged */
    return status;
}

static void cuda_line(const tiled_backend *b, char *line, size_t size)
{
    static const char *const reasons[] = {
        [BY_TABLE] = " (by the number of bodies)",
        [TOO_SHORT] = " (by the number of bodies; too short a run to measure, `shoal bench ladder` does)",
        [KEPT] = " (the fastest when measured here)",
        [GIVEN] = " (as it began)",
    };
    const int masses = masses_of(b, b->shown);
    const struct choice *choice = &b->choice[b->shown & 3];
    const int variant = !picks(b)   ? shoal_tiled_variant_named(b->options.kernel)
                        : choice->n ? choice->variant
                                    : b->given[b->shown & 3] - 1;
    char why[96] = "";
    int used = snprintf(line, size, "cuda: %s, %d device%s", b->gpu[0].on.name, b->n_gpus, b->n_gpus > 1 ? "s" : "");
    if (variant < 0 || used >= (int)size)
        return;
    if (picks(b) && choice->why == MEASURED)
        snprintf(why, sizeof why, " (the fastest of %d measured)", choice->n_measured);
    else if (picks(b))
        snprintf(why, sizeof why, "%s", reasons[choice->n ? choice->why : GIVEN]);
    const tiled_variant *f = &shoal_tiled_variants[variant];
    used += snprintf(line + used, size - (size_t)used, "; %s%s: %s; %d threads a block", f->name, why, f->doc,
                     32 * shoal_tiled_shape(variant, &b->options, b->shown)->warps);
    const struct program *program = &b->gpu[0].program[variant][b->shown & 3][f->edges ? masses : MASSES_ANY];
    if (program->module && used < (int)size)
        snprintf(line + used, size - (size_t)used, ", %d blocks a multiprocessor, %d registers", program->resident,
                 program->registers);
}

const tiled_backend_type shoal_tiled_cuda = {
    .name = "cuda",
    .missing = shoal_cuda_missing,
    .kernel = cuda_kernel,
    .can = cuda_can,
    .create = cuda_create,
    .destroy = cuda_destroy,
    .sources = cuda_sources,
    .forces = cuda_forces,
    .measure = cuda_measure,
    .tune = cuda_tune,
    .picked = cuda_picked,
    .pick = cuda_pick,
    .line = cuda_line,
};
