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

#include "core/cuda.h"
#include "gravitation/tiled/tiled_internal.h"

enum { MAX_DEVICES = 16 };

/* How a kernel is compiled: targets a thread, warps a block, threads a target, unrolling, blocks on a multiprocessor. */
struct shape {
    int i, warps, lanes, unroll, min_blocks;
};

struct form {
    const char *name, *doc;
    bool edges;
    struct shape shape[SHOAL_TILED_PRECISIONS][2]; /* without and with the jerk */
};

enum { FORM_EDGES, FORM_EDGES_SMALL, FORM_ROWS, FORM_LANES, FORMS };

static const struct form forms[FORMS] = {
    [FORM_EDGES] = {"edges", "every pair once; 3 to 12 bodies a thread, 128 or 256 threads a block", true,
                    {{{4, 8, 1, 1, 2}, {3, 4, 1, 1, 3}}, {{8, 4, 1, 1, 3}, {4, 4, 1, 1, 3}}, {{10, 4, 1, 2, 3}, {6, 4, 1, 1, 3}}}},
    [FORM_EDGES_SMALL] = {"edges_small", "every pair once; smaller blocks, for fewer bodies", true,
                          {{{3, 2, 1, 2, 8}, {2, 2, 1, 1, 6}}, {{4, 2, 1, 1, 8}, {4, 2, 1, 1, 6}}, {{8, 2, 1, 2, 8}, {4, 2, 1, 1, 8}}}},
    [FORM_ROWS] = {"rows", "tiles of sources in shared memory, 2 or 4 targets a thread", false,
                   {{{2, 4, 1, 4, 4}, {2, 4, 1, 2, 3}}, {{4, 4, 1, 4, 4}, {2, 4, 1, 4, 4}}, {{4, 4, 1, 8, 4}, {4, 4, 1, 4, 4}}}},
    [FORM_LANES] = {"lanes", "tiles of sources in shared memory, 32 threads for 2 targets, sources split among blocks", false,
                    {{{2, 8, 32, 4, 2}, {1, 8, 32, 2, 2}}, {{2, 8, 32, 4, 2}, {2, 8, 32, 2, 2}}, {{2, 8, 32, 4, 4}, {2, 8, 32, 4, 2}}}},
};

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
    cuda_context cuda;
    char name[128];
    struct buffer bodies[FORMS], targets, results, part_j, part_i;
    bool current[FORMS]; /* the form's bodies are the sources */
    struct program program[FORMS][4][2]; /* by form, wants, equal masses */
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
            if (gpu->bodies[f].at)
                (void)driver->release(gpu->bodies[f].at);
            for (int p = 0; p < 8; p++)
                if (gpu->program[f][p / 2][p % 2].module)
                    (void)driver->module_unload(gpu->program[f][p / 2][p % 2].module);
        }
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
