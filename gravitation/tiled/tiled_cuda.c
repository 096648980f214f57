/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled_cuda.c: forces of one big system on one or more GPUs of a host. The kernels are in tiled_cuda.kern.h; what each form of them
 * is compiled with is in a table here.
 *
 * Every device has all bodies. With edge sharing it does a share of the rows of tiles and has partial sums of all bodies, which the
 * host adds in the order of the devices; otherwise it has a share of the targets.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gravitation/tiled/tiled_cublas.h"
#include "gravitation/tiled/tiled_internal.h"

enum { MAX_DEVICES = 16 };

/* How a kernel is compiled: targets a thread, warps a block, threads a target, unrolling, blocks on a multiprocessor. */
struct shape {
    int i, warps, lanes, unroll, min_blocks;
};

enum { RSQRT_EXACT, RSQRT_FAST, RSQRT_FLUSH };     /* TILED_RSQRT */
enum { STORE_GLOBAL, STORE_TILES, STORE_HALF };    /* TILED_STORAGE */
enum { SPLIT_AUTO, SPLIT_NOT, SPLIT_2D, SPLIT_CUBLAS }; /* of the sources among blocks: as many as fill the device; 32 */

/* A shape without targets: the form cannot do that. */
struct form {
    const char *name, *doc;
    bool edges;
    struct shape shape[SHOAL_TILED_PRECISIONS][2]; /* without and with the jerk */
    int rsqrt, storage, split;
};

/* A step of the ladder: single precision, acceleration and potential only. */
#define STEP(name_, warps_, lanes_, unroll_, rsqrt_, storage_, split_, doc_)                                                         \
    {.name = name_, .doc = doc_, .shape = {[SHOAL_TILED_FP32] = {{1, warps_, lanes_, unroll_, 1}}}, .rsqrt = rsqrt_, \
     .storage = storage_, .split = split_}

enum { FORM_EDGES, FORM_EDGES_SMALL, FORM_ROWS, FORM_LANES, FORMS_MAIN };

static const struct form forms[] = {
    [FORM_EDGES] = {"edges", "every pair once; 3 to 12 bodies a thread, 128 or 256 threads a block", true,
                    {{{4, 8, 1, 1, 2}, {3, 4, 1, 1, 3}}, {{8, 4, 1, 1, 3}, {4, 4, 1, 1, 3}}, {{10, 4, 1, 2, 3}, {6, 4, 1, 1, 3}}},
                    RSQRT_FLUSH, STORE_TILES, SPLIT_AUTO},
    [FORM_EDGES_SMALL] = {"edges_small", "every pair once; smaller blocks, for fewer bodies", true,
                          {{{3, 2, 1, 2, 8}, {2, 2, 1, 1, 6}}, {{4, 2, 1, 1, 8}, {4, 2, 1, 1, 6}}, {{8, 2, 1, 2, 8}, {4, 2, 1, 1, 8}}},
                          RSQRT_FLUSH, STORE_TILES, SPLIT_AUTO},
    [FORM_ROWS] = {"rows", "tiles of sources in shared memory, 2 or 4 targets in a thread's registers", false,
                   {{{2, 4, 1, 4, 4}, {2, 4, 1, 2, 3}}, {{4, 4, 1, 4, 4}, {2, 4, 1, 4, 4}}, {{4, 4, 1, 8, 4}, {4, 4, 1, 4, 4}}},
                   RSQRT_FLUSH, STORE_TILES, SPLIT_AUTO},
    [FORM_LANES] = {"lanes", "tiles of sources in shared memory, 32 threads for 1 or 2 targets", false,
                    {{{2, 8, 32, 4, 2}, {1, 8, 32, 2, 2}}, {{2, 8, 32, 4, 2}, {2, 8, 32, 2, 2}}, {{2, 8, 32, 4, 4}, {2, 8, 32, 4, 2}}},
                    RSQRT_FLUSH, STORE_TILES, SPLIT_AUTO},
    STEP("simple", 8, 1, 1, RSQRT_EXACT, STORE_GLOBAL, SPLIT_NOT, "one target a thread, sources from global memory, 1/sqrt(x)"),
    STEP("tiled", 8, 1, 1, RSQRT_EXACT, STORE_TILES, SPLIT_NOT, "+ tiles of sources in shared memory, blocks of 256"),
    STEP("tiled_rsqrt", 8, 1, 1, RSQRT_FAST, STORE_TILES, SPLIT_NOT, "+ the instruction for 1/sqrt(x)"),
    STEP("tiled_ftz", 8, 1, 1, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "+ subnormal numbers flushed to zero"),
    STEP("unrolled_4", 8, 1, 4, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "+ 4 sources a turn of the loop"),
    STEP("unrolled_16", 8, 1, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "+ 16 sources a turn"),
    STEP("block_64", 2, 1, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "the same, blocks of 64"),
    STEP("block_128", 4, 1, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "the same, blocks of 128"),
    STEP("block_512", 16, 1, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "the same, blocks of 512"),
    STEP("half", 8, 1, 16, RSQRT_FLUSH, STORE_HALF, SPLIT_NOT, "blocks of 256, tiles with positions in half precision"),
    STEP("threads_4", 8, 4, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "4 threads a target, sums by shuffles without barriers"),
    STEP("threads_16", 8, 16, 8, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "16 threads a target"),
    STEP("tiled_2d", 8, 1, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_2D, "sources in 32 parts, added up by a second kernel"),
    STEP("tiled_2d_cublas", 8, 1, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_CUBLAS, "the same, added up by cuBLAS' matrix times vector"),
};
enum { FORMS = SHOAL_COUNT(forms) };

/* As the kernels take them. */
struct constants_float {
    float eps2, inverse_h, cut2;
};
struct constants_double {
    double eps2, inverse_h, cut2;
};
struct edges {
    device_pointer bodies;
    long long n;
    int first_row, last_row;
    device_pointer part_j, part_i;
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

/* Memory of a device that grows. */
struct buffer {
    device_pointer at;
    size_t size;
};

/* A compiled form. */
struct program {
    cuda_module module;
    cuda_function main, sum;
    int resident, registers; /* blocks on a multiprocessor, registers a thread */
};

struct gpu {
    int device, arch, n_multiprocessors;
    size_t memory;
    cuda_context cuda;
    char name[128];
    struct buffer bodies[FORMS][2], targets, results, part_j, part_i; /* bodies: as padded for a form, without and with the jerk */
    bool current[FORMS][2];              /* those are the sources */
    struct program program[FORMS][4][2]; /* by form, wants, equal masses */
    struct tiled_cublas cublas;
};

struct tiled_backend {
    shoal_context *context;
    shoal_tiled_options options;
    struct driver driver;
    int version, n_gpus;
    struct gpu gpu[MAX_DEVICES];
    tiled_bodies sources;
    double eps;
    void *host; /* packed bodies or results */
    size_t host_size;
    char line[400];
};

/* One evaluation: what runs where. */
struct work {
    int form, wants;
    bool equal;
    const struct shape *shape;
    long n, n_targets;      /* padded */
    int n_sums, n_words;
};

static shoal_status cuda_fail(tiled_backend *b, int result, const char *what)
{
    const char *name = NULL, *text = NULL;
    if (b->driver.error_name(result, &name) != 0 || !name)
        name = "an unknown CUDA error";
    if (b->driver.error_string(result, &text) != 0 || !text)
        text = "no description";
    return shoal_fail(b->context, SHOAL_E_DEVICE, "%s failed: %s (%d): %s", what, name, result, text);
}

static long round_up(long n, long multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

static int form_named(const char *name)
{
    for (int i = 0; i < FORMS; i++)
        if (strcmp(forms[i].name, name) == 0)
            return i;
    return -1;
}

static const char *cuda_kernel(int i, const char **doc)
{
    *doc = i < FORMS ? forms[i].doc : NULL;
    return i < FORMS ? forms[i].name : NULL;
}

static bool cuda_can(const char *kernel, shoal_tiled_precision precision, int wants)
{
    const int form = form_named(kernel);
    return form >= 0 && forms[form].shape[precision][!!(wants & SHOAL_TILED_JERK)].i > 0;
}

static const char *cuda_missing(void)
{
    struct driver driver;
    const char *missing = shoal_driver_open(&driver);
    return missing ? missing : shoal_jit_missing();
}

/* ---- create, destroy --------------------------------------------------------------------------------------------- */

static void cuda_destroy(tiled_backend **backend)
{
    tiled_backend *old = *backend;
    *backend = NULL;
    if (!old)
        return;
    struct driver *driver = &old->driver;
    for (int g = 0; g < old->n_gpus; g++) {
        struct gpu *gpu = &old->gpu[g];
        cuda_context ours;
        if (!gpu->cuda)
            continue;
        (void)driver->context_push(gpu->cuda);
        struct buffer *const others[] = {&gpu->targets, &gpu->results, &gpu->part_j, &gpu->part_i};
        for (int i = 0; i < SHOAL_COUNT(others); i++)
            if (others[i]->at)
                (void)driver->release(others[i]->at);
        for (int f = 0; f < FORMS; f++) {
            for (int k = 0; k < 2; k++)
                if (gpu->bodies[f][k].at)
                    (void)driver->release(gpu->bodies[f][k].at);
            for (int p = 0; p < 8; p++)
                if (gpu->program[f][p / 2][p % 2].module)
                    (void)driver->module_unload(gpu->program[f][p / 2][p % 2].module);
        }
        shoal_tiled_cublas_close(&gpu->cublas, driver);
        (void)driver->context_pop(&ours);
        (void)driver->context_release(gpu->device);
    }
    free(old->host);
    free(old);
}

static shoal_status gpu_open(tiled_backend *b, int index)
{
    struct driver *driver = &b->driver;
    struct gpu *gpu = &b->gpu[index];
    int major = 0, minor = 0, result;
    if ((result = driver->device(&gpu->device, index)) != 0 ||
        (result = driver->device_name(gpu->name, sizeof gpu->name, gpu->device)) != 0 ||
        (result = driver->device_memory(&gpu->memory, gpu->device)) != 0 ||
        (result = driver->device_attribute(&major, ATTRIBUTE_MAJOR, gpu->device)) != 0 ||
        (result = driver->device_attribute(&minor, ATTRIBUTE_MINOR, gpu->device)) != 0 ||
        (result = driver->device_attribute(&gpu->n_multiprocessors, ATTRIBUTE_MULTIPROCESSORS, gpu->device)) != 0)
        return cuda_fail(b, result, "asking the driver about the GPU");
    gpu->arch = 10 * major + minor;
    if ((result = driver->context_retain(&gpu->cuda, gpu->device)) != 0) {
        gpu->cuda = NULL;
        return cuda_fail(b, result, "opening the GPU");
    }
    return SHOAL_OK;
}

static shoal_status cuda_create(shoal_context *context, const shoal_tiled_options *options, long n_max, tiled_backend **backend)
{
    (void)n_max;
    tiled_backend *new = calloc(1, sizeof *new);
    int n = 0;
    if (!new)
        return shoal_fail(context, SHOAL_E_MEMORY, "no memory for the forces on a GPU");
    new->context = context;
    new->options = *options;
    const char *missing = shoal_driver_open(&new->driver);
    shoal_status status = missing ? shoal_fail(context, SHOAL_E_UNSUPPORTED, "%s", missing) : SHOAL_OK;
    if (!status && (new->driver.version(&new->version) != 0 || new->driver.device_count(&n) != 0))
        status = shoal_fail(context, SHOAL_E_DEVICE, "the CUDA driver does not answer");
    const int wanted = options->n_devices ? options->n_devices : 1;
    if (!status && (wanted > n || wanted > MAX_DEVICES))
        status = shoal_fail(context, SHOAL_E_USAGE, "n_devices = %d: expected 1 to %d", wanted, n < MAX_DEVICES ? n : MAX_DEVICES);
    for (int g = 0; !status && g < wanted; g++) {
        new->n_gpus = g + 1;
        status = gpu_open(new, g);
    }
    if (status)
        cuda_destroy(&new);
    *backend = new;
    return status;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static size_t totals_size(const struct work *w)
{
    return forms[w->form].edges ? (size_t)w->n_sums * w->shape->i * w->shape->warps * 32 * sizeof(double) : 0;
}

static shoal_status program_load(tiled_backend *b, struct gpu *gpu, const struct work *w, struct program *program)
{
    const struct shape *s = w->shape;
    const struct {
        const char *name;
        int value;
    } values[] = {
        {"TILED_PRECISION", b->options.precision},
        {"TILED_SPLINE", b->options.softening == SHOAL_TILED_SPLINE},
        {"TILED_JERK", !!(w->wants & SHOAL_TILED_JERK)},
        {"TILED_POTENTIAL", !!(w->wants & SHOAL_TILED_POTENTIAL)},
        {"TILED_CUT", b->options.eps == 0},
        {"TILED_EQUAL", w->equal},
        {"TILED_I", s->i},
        {"TILED_WARPS", s->warps},
        {"TILED_LANES", s->lanes},
        {"UNROLL", s->unroll},
        {"MIN_BLOCKS", s->min_blocks},
        {"TILED_RSQRT", forms[w->form].rsqrt},
        {"TILED_STORAGE", forms[w->form].storage},
    };
    char text[SHOAL_COUNT(values)][48];
    const char *constants[SHOAL_COUNT(values) + 1] = {0};
    for (int i = 0; i < SHOAL_COUNT(values); i++) {
        snprintf(text[i], sizeof text[i], "%s=%d", values[i].name, values[i].value);
        constants[i] = text[i];
    }
    shoal_cubin cubin;
    shoal_status status =
        shoal_jit_text(b->context, "gravitation/tiled/tiled_cuda.kern.h", constants, gpu->arch, b->version, &cubin);
    if (status)
        return status;
    struct driver *driver = &b->driver;
    const bool edges = forms[w->form].edges;
    int result = driver->module_load(&program->module, cubin.image);
    shoal_cubin_release(&cubin);
    if (result) {
        program->module = NULL;
        return cuda_fail(b, result, "loading the compiled kernel (is NVRTC newer than the driver?)");
    }
    const size_t shared = totals_size(w);
    if ((result = driver->module_function(&program->main, program->module, edges ? "tiled_edges" : "tiled_rows")) != 0 ||
        (result = driver->module_function(&program->sum, program->module, edges ? "tiled_edges_sum" : "tiled_rows_sum")) != 0 ||
        (result = driver->function_set(program->main, FUNCTION_DYNAMIC_SHARED, (int)shared)) != 0 ||
        (result = driver->function_attribute(&program->registers, FUNCTION_REGISTERS, program->main)) != 0 ||
        (result = driver->occupancy(&program->resident, program->main, 32 * s->warps, shared)) != 0)
        return cuda_fail(b, result, "preparing a compiled kernel");
    return SHOAL_OK;
}

/* ---- choice ------------------------------------------------------------------------------------------------------ */

/*
 * Measured on one H200 (docs/performance.md): edge sharing wins as soon as its tiles fill the device. Below, 32 threads a target do; for
 * other targets those, or with enough of them tiles with a thread a target.
 */
static int choose_form(const tiled_backend *b, bool all, long n_targets)
{
    static const long n_edges[SHOAL_TILED_PRECISIONS] = {49152, 32768, 32768}, n_small[SHOAL_TILED_PRECISIONS] = {8192, 8192, 8192};
    const int named = form_named(b->options.kernel);
    if (named >= 0 && (all || !forms[named].edges))
        return named;
    if (all && n_targets >= n_small[b->options.precision])
        return n_targets >= n_edges[b->options.precision] ? FORM_EDGES : FORM_EDGES_SMALL;
    return n_targets >= 32768 ? FORM_ROWS : FORM_LANES;
}

static void work_set(const tiled_backend *b, int form, int wants, long n_targets, struct work *w)
{
    *w = (struct work){.form = form, .wants = wants};
    const bool jerk = wants & SHOAL_TILED_JERK, fp64 = b->options.precision == SHOAL_TILED_FP64;
    w->shape = &forms[form].shape[b->options.precision][jerk];
    w->equal = forms[form].edges && b->sources.equal;
    w->n_sums = 3 + 3 * jerk + !!(wants & SHOAL_TILED_POTENTIAL);
    const bool velocities = b->options.wants & SHOAL_TILED_JERK; /* the same bodies serve other wants too */
    w->n_words = fp64 ? 2 + 2 * velocities : 1 + (b->options.precision == SHOAL_TILED_MIXED) + velocities;
    const long tile = 32 * w->shape->warps, block = tile * w->shape->i / w->shape->lanes;
    w->n = round_up(b->sources.n, block > tile ? block : tile);
    w->n_targets = n_targets < 0 ? w->n : round_up(n_targets, block);
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

static shoal_status host_grow(tiled_backend *b, size_t size)
{
    if (size <= b->host_size)
        return SHOAL_OK;
    free(b->host);
    b->host_size = 0;
    b->host = shoal_allocate(size, 1);
    if (!b->host)
        return shoal_fail(b->context, SHOAL_E_MEMORY, "no memory for %zu bytes of bodies for the GPU", size);
    b->host_size = size;
    return SHOAL_OK;
}

/*
 * Bodies first .. first + n - 1 as the kernels' words, n_padded of them; those that fill up are far away. In mixed precision the upper part
 * of a coordinate is a multiple of 2^-18, so that differences of upper parts are exact up to 2^6 (the size of the system is 1): rounded,
 * they would all be off to the same side for one body i, and so would be its acceleration.
 */
static void pack(const tiled_backend *b, const tiled_bodies *bodies, long first, long n, long n_padded, int n_words)
{
    const shoal_tiled_precision precision = b->options.precision;
    #pragma omp parallel for schedule(static) if (n_padded > 16384)
    for (long i = 0; i < n_padded; i++) {
        double x[3], v[3] = {0};
        const double m = i < n && bodies->m ? bodies->m[first + i] : 0;
        for (int c = 0; c < 3; c++) {
            x[c] = i < n ? bodies->x[c][first + i] : precision == SHOAL_TILED_FP64 ? 1e100 : 1e15;
            v[c] = i < n && bodies->v[c] ? bodies->v[c][first + i] : 0;
        }
        if (precision == SHOAL_TILED_FP64) {
            double *w = b->host;
            const double words[4][2] = {{x[0], x[1]}, {x[2], m}, {v[0], v[1]}, {v[2], 0}};
            for (int k = 0; k < n_words; k++)
                memcpy(w + 2 * (k * n_padded + i), words[k], sizeof words[k]);
            continue;
        }
        float *w = b->host, words[3][4] = {{0}};
        const int last = precision == SHOAL_TILED_MIXED ? 2 : 1; /* velocities */
        words[0][3] = (float)m;
        for (int c = 0; c < 3; c++) {
            words[0][c] = (float)(precision == SHOAL_TILED_MIXED ? rint(x[c] * 0x1p18) * 0x1p-18 : x[c]);
            words[1][c] = precision == SHOAL_TILED_MIXED ? (float)(x[c] - (double)words[0][c]) : 0;
        }
        for (int c = 0; c < 3; c++)
            words[last][c] = (float)v[c];
        for (int k = 0; k < n_words; k++)
            memcpy(w + 4 * (k * n_padded + i), words[k], sizeof words[k]);
    }
}

static shoal_status upload(tiled_backend *b, struct buffer *to, const tiled_bodies *bodies, long first, long n, long n_padded,
                           int n_words)
{
    const size_t size = (size_t)n_padded * (size_t)n_words * 16;
    shoal_status status = host_grow(b, size);
    if (!status)
        status = buffer_grow(b, to, size);
    if (status)
        return status;
    pack(b, bodies, first, n, n_padded, n_words);
    int result = b->driver.to_device(to->at, b->host, size);
    return result ? cuda_fail(b, result, "copying bodies to the GPU") : SHOAL_OK;
}

static shoal_status cuda_sources(tiled_backend *b, const tiled_bodies *sources, double eps)
{
    b->sources = *sources;
    b->eps = eps;
    for (int g = 0; g < b->n_gpus; g++)
        memset(b->gpu[g].current, 0, sizeof b->gpu[g].current);
    if (!b->line[0])
        snprintf(b->line, sizeof b->line, "cuda: %s, %d device%s", b->gpu[0].name, b->n_gpus, b->n_gpus > 1 ? "s" : "");
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
    const long all = w->n / (32 * w->shape->warps);
    return (row - first) * all - w->shape->i * ((row - first) * (row - 1 + first) / 2);
}

/* The row at which share g of n begins: rows get shorter. */
static int share_start(const struct work *w, int g, int n)
{
    const long n_rows = w->n / (32L * w->shape->warps * w->shape->i), all = tiles_before(w, 0, n_rows);
    long row = 0;
    while (row < n_rows && tiles_before(w, 0, row) * n < all * g)
        row++;
    return (int)row;
}

/* The rows from first on whose partial sums fit into a quarter of the device's memory, at least one; not what is free, lest the
 * order of sums depend on it. */
static int window_end(const tiled_backend *b, const struct gpu *gpu, const struct work *w, int first, int last, size_t *size)
{
    const size_t tile_size =
        (size_t)(32 * w->shape->warps * w->n_sums) * (b->options.precision == SHOAL_TILED_FP32 ? sizeof(float) : sizeof(double));
    int end = first + 1;
    while (end < last && (size_t)tiles_before(w, first, end + 1) * tile_size < gpu->memory / 4)
        end++;
    *size = (size_t)tiles_before(w, first, end) * tile_size;
    return end;
}

static shoal_status launch(tiled_backend *b, cuda_function function, long x, long y, int block, size_t shared, void **arguments)
{
    int result = b->driver.launch(function, (unsigned)x, (unsigned)y, 1, (unsigned)block, 1, 1, (unsigned)shared, NULL, arguments, NULL);
    return result ? cuda_fail(b, result, "starting the forces on the GPU") : SHOAL_OK;
}

/* Every pair of this device's share of rows. */
static shoal_status run_edges(tiled_backend *b, struct gpu *gpu, const struct work *w, const struct program *program,
                              device_pointer bodies)
{
    const int index = (int)(gpu - b->gpu), start = share_start(w, index, b->n_gpus), last = share_start(w, index + 1, b->n_gpus);
    const int tile = 32 * w->shape->warps;
    const long block_i = (long)tile * w->shape->i;
    double scale = w->equal ? b->sources.m[0] : 1;
    shoal_status status = SHOAL_OK;
    int add = 0;
    for (int first = start, end; !status && (first < last || !add); first = end, add = 1) {
        size_t size = 0;
        end = first < last ? window_end(b, gpu, w, first, last, &size) : first;
        const long n_tiles = tiles_before(w, first, end);
        int n_blocks = gpu->n_multiprocessors * program->resident;
        n_blocks = n_blocks < n_tiles ? n_blocks : (int)n_tiles;
        if ((status = buffer_grow(b, &gpu->part_j, size)) != SHOAL_OK ||
            (status = buffer_grow(b, &gpu->part_i, (size_t)(n_blocks + end - first) * (size_t)(w->n_sums * block_i) * sizeof(double))))
            return status;
        struct edges e = {.bodies = bodies, .n = w->n, .first_row = first, .last_row = end, .part_j = gpu->part_j.at, .part_i = gpu->part_i.at};
        set_constants(b, &e.c.f, &e.c.d);
        void *main[] = {&e}, *sum[] = {&e, &n_blocks, &scale, &add, &gpu->results.at};
        if (n_tiles)
            status = launch(b, program->main, n_blocks, 1, tile, totals_size(w), main);
        if (!status)
            status = launch(b, program->sum, (w->n + 127) / 128, w->n_sums, 128, 0, sum);
    }
    return status;
}

/* Targets one by one; bodies of which: NULL = the sources, of this device's share. */
static shoal_status run_rows(tiled_backend *b, struct gpu *gpu, const struct work *w, const struct program *program,
                             device_pointer bodies, device_pointer targets)
{
    const int tile = 32 * w->shape->warps;
    const long blocks = w->n_targets / (tile * w->shape->i / w->shape->lanes), n_tiles = w->n / tile;
    const int split = forms[w->form].split;
    long splits = (2L * gpu->n_multiprocessors * program->resident) / blocks;
    if (split != SPLIT_AUTO)
        splits = split == SPLIT_NOT ? 1 : 32;
    else if (blocks >= gpu->n_multiprocessors / 2 && w->shape->lanes > 1)
        splits = 1; /* a second kernel costs more */
    splits = splits < 1 ? 1 : splits > n_tiles ? n_tiles : splits > 65535 ? 65535 : splits;
    long long n_results = w->n_sums * w->n_targets;
    shoal_status status = splits > 1 ? buffer_grow(b, &gpu->part_i, (size_t)(splits * n_results) * sizeof(double)) : SHOAL_OK;
    if (status)
        return status;
    struct rows r = {.sources = bodies, .targets = targets, .n = w->n, .n_targets = w->n_targets, .scale = 1};
    r.part = splits > 1 ? gpu->part_i.at : gpu->results.at;
    set_constants(b, &r.c.f, &r.c.d);
    int n_parts = (int)splits;
    void *main[] = {&r}, *sum[] = {&gpu->part_i.at, &n_parts, &n_results, &gpu->results.at};
    status = launch(b, program->main, blocks, splits, tile, 0, main);
    if (!status && splits > 1 && split == SPLIT_CUBLAS)
        status = shoal_tiled_add_columns(b->context, &gpu->cublas, r.part, n_results, splits, gpu->results.at);
    else if (!status && splits > 1)
        status = launch(b, program->sum, (n_results + 127) / 128, 1, 128, 0, sum);
    return status;
}

/* The share of targets that device g of n has: first, and how many. */
static long target_share(long n, int g, int n_gpus, long *first)
{
    *first = n * g / n_gpus;
    return n * (g + 1) / n_gpus - *first;
}

/* All sources are targets, on one device: where the sources lie. */
static bool own_targets(const tiled_backend *b, const tiled_bodies *targets)
{
    return !targets && b->n_gpus == 1;
}

/* Put on the device what is missing there; its context is current. */
static shoal_status prepare(tiled_backend *b, struct gpu *gpu, const struct work *w, const tiled_bodies *targets, struct program **program)
{
    const bool jerk = w->wants & SHOAL_TILED_JERK;
    shoal_status status = SHOAL_OK;
    *program = &gpu->program[w->form][w->wants & 3][w->equal];
    if (!(*program)->module)
        status = program_load(b, gpu, w, *program);
    if (!status && !gpu->current[w->form][jerk]) {
        status = upload(b, &gpu->bodies[w->form][jerk], &b->sources, 0, b->sources.n, w->n, w->n_words);
        gpu->current[w->form][jerk] = !status;
    }
    if (!status && !forms[w->form].edges && !own_targets(b, targets)) {
        long first;
        const tiled_bodies *which = targets ? targets : &b->sources;
        const long n = target_share(which->n, (int)(gpu - b->gpu), b->n_gpus, &first);
        status = upload(b, &gpu->targets, which, first, n, w->n_targets, w->n_words);
    }
    if (!status)
        status = buffer_grow(b, &gpu->results, (size_t)(w->n_sums * w->n_targets) * sizeof(double));
    return status;
}

static shoal_status enter(tiled_backend *b, struct gpu *gpu)
{
    int result = b->driver.context_push(gpu->cuda);
    return result ? cuda_fail(b, result, "switching to the GPU") : SHOAL_OK;
}

static void leave(tiled_backend *b)
{
    cuda_context ours;
    (void)b->driver.context_pop(&ours);
}

/* Start n_repeats evaluations on every device; prepared: everything is there. */
static shoal_status start_all(tiled_backend *b, const struct work *works, const tiled_bodies *targets, bool prepared, int n_repeats)
{
    shoal_status status = SHOAL_OK;
    for (int g = 0; !status && g < b->n_gpus; g++) {
        struct gpu *gpu = &b->gpu[g];
        const struct work *w = &works[g];
        struct program *program = &gpu->program[w->form][w->wants & 3][w->equal];
        const device_pointer *bodies = &gpu->bodies[w->form][!!(w->wants & SHOAL_TILED_JERK)].at;
        if (w->n_targets == 0 || (status = enter(b, gpu)) != SHOAL_OK)
            continue;
        if (!prepared)
            status = prepare(b, gpu, w, targets, &program);
        for (int i = 0; !status && i < n_repeats; i++)
            status = forms[w->form].edges ? run_edges(b, gpu, w, program, *bodies)
                                          : run_rows(b, gpu, w, program, *bodies, own_targets(b, targets) ? *bodies : gpu->targets.at);
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

/* Results of device g to where they belong: its targets', or (edge sharing) its part of all. */
static shoal_status collect(tiled_backend *b, int g, const struct work *w, long n_all, const tiled_results *results)
{
    const bool edges = forms[w->form].edges, jerk = w->wants & SHOAL_TILED_JERK;
    const size_t size = (size_t)(w->n_sums * w->n_targets) * sizeof(double);
    long first = 0, n = edges ? n_all : target_share(n_all, g, b->n_gpus, &first);
    shoal_status status = n ? host_grow(b, size) : SHOAL_OK;
    if (status || !n)
        return status;
    if ((status = enter(b, &b->gpu[g])) != SHOAL_OK)
        return status;
    int result = b->driver.to_host(b->host, b->gpu[g].results.at, size);
    leave(b);
    if (result)
        return cuda_fail(b, result, "copying the forces from the GPU");
    for (int q = 0; q < w->n_sums; q++) {
        const bool is_phi = results->phi && q == w->n_sums - 1;
        double *to = (q < 3 ? results->a[q] : jerk && q < 6 ? results->jerk[q - 3] : results->phi) + first;
        const double *from = (double *)b->host + q * w->n_targets, sign = is_phi ? -1 : 1;
        for (long i = 0; i < n; i++)
            to[i] = (edges && g > 0 ? to[i] : 0) + sign * from[i];
    }
    return SHOAL_OK;
}

static void plan_all(tiled_backend *b, int wants, const tiled_bodies *targets, struct work *works)
{
    const long n = targets ? targets->n : b->sources.n;
    const int form = choose_form(b, !targets, n);
    for (int g = 0; g < b->n_gpus; g++) {
        long first;
        work_set(b, form, wants, forms[form].edges || own_targets(b, targets) ? -1 : target_share(n, g, b->n_gpus, &first),
                 &works[g]);
    }
}

static shoal_status cuda_forces(tiled_backend *b, int wants, const tiled_bodies *targets, const tiled_results *results)
{
    struct work works[MAX_DEVICES];
    plan_all(b, wants, targets, works);
    shoal_status status = start_all(b, works, targets, false, 1);
    for (int g = 0; !status && g < b->n_gpus; g++)
        status = collect(b, g, &works[g], targets ? targets->n : b->sources.n, results);
    if (!status && !targets) {
        const struct work *w = &works[0];
        const struct program *program = &b->gpu[0].program[w->form][w->wants & 3][w->equal];
        snprintf(b->line, sizeof b->line,
                 "cuda: %s, %d device%s; %s%s: %s; %d threads a block, %d blocks a multiprocessor, %d registers", b->gpu[0].name,
                 b->n_gpus, b->n_gpus > 1 ? "s" : "", forms[w->form].name,
                 form_named(b->options.kernel) == w->form ? "" : " (picked by the number of bodies)", forms[w->form].doc,
                 32 * w->shape->warps, program->resident, program->registers);
    }
    return status;
}

static shoal_status cuda_measure(tiled_backend *b, int wants, int n_repeats, double *seconds)
{
    struct work works[MAX_DEVICES];
    plan_all(b, wants, NULL, works);
    shoal_status status = start_all(b, works, NULL, false, 1);
    if (!status)
        status = wait_all(b);
    *seconds = INFINITY;
    const int batch = b->sources.n < 100000 ? 20 : 1; /* the start of a kernel hides behind the one before */
    for (int i = 0; !status && i < n_repeats; i++) {
        const double start = shoal_seconds();
        status = start_all(b, works, NULL, true, batch);
        if (!status)
            status = wait_all(b);
        *seconds = fmin(*seconds, (shoal_seconds() - start) / batch);
    }
    return status;
}

static void cuda_line(const tiled_backend *b, char *line, size_t size)
{
    snprintf(line, size, "%s", b->line);
}

const tiled_backend_type shoal_tiled_cuda = {
    .name = "cuda",
    .missing = cuda_missing,
    .kernel = cuda_kernel,
    .can = cuda_can,
    .create = cuda_create,
    .destroy = cuda_destroy,
    .sources = cuda_sources,
    .forces = cuda_forces,
    .measure = cuda_measure,
    .line = cuda_line,
};
