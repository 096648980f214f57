/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled_cpu.c: forces of one big system on the CPU.
 *
 * plain: row by row in double precision, as the equations of tiled.h stand. The reference of all others.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gravitation/tiled/tiled_internal.h"

struct tiled_backend {
    shoal_context *context;
    shoal_tiled_options options;
    int threads;
    tiled_bodies sources;
    double eps;
};

/* p and g of tiled.h, and g'/r; cut2: below this square of a separation a pair has no potential. */
static void law(shoal_tiled_softening softening, double eps, double floor2, double r2, double *p, double *g, double *dg)
{
    const double s2 = r2 + floor2 + (softening == SHOAL_TILED_PLUMMER ? eps * eps : 0), h = 2.8 * eps;
    *p = 1 / sqrt(s2);
    *g = *p * *p * *p;
    *dg = -3 * *g * *p * *p;
    if (eps == 0 && r2 == 0)
        *p = 0;
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
    const tiled_bodies *s = &b->sources;
    const double floor2 = tiled_floor2(SHOAL_TILED_FP64);
    #pragma omp parallel for num_threads(b->threads) schedule(dynamic, 16)
    for (long i = 0; i < targets->n; i++) {
        double a[3] = {0}, jerk[3] = {0}, phi = 0;
        for (long j = 0; j < s->n; j++) {
            double d[3], w[3] = {0}, r2 = 0, dw = 0, p, g, dg;
            for (int c = 0; c < 3; c++) {
                d[c] = s->x[c][j] - targets->x[c][i];
                w[c] = results->jerk[0] ? s->v[c][j] - targets->v[c][i] : 0;
                r2 += d[c] * d[c];
                dw += d[c] * w[c];
            }
            law(b->options.softening, b->eps, floor2, r2, &p, &g, &dg);
            phi -= s->m[j] * p;
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

/* ---- the backend ------------------------------------------------------------------------------------------------- */

static const char *cpu_missing(void)
{
    return NULL;
}

static const char *cpu_kernel(int i, const char **doc)
{
    *doc = "row by row in double precision, the reference";
    return i == 0 ? "plain" : NULL;
}

static shoal_status cpu_create(shoal_context *context, const shoal_tiled_options *options, long n_max, tiled_backend **backend)
{
    (void)n_max;
    tiled_backend *new = *backend = calloc(1, sizeof *new);
    if (!new)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    new->context = context;
    new->options = *options;
    new->threads = options->threads ? options->threads : shoal_default_threads(NULL);
    return SHOAL_OK;
}

static void cpu_destroy(tiled_backend **backend)
{
    free(*backend);
    *backend = NULL;
}

static shoal_status cpu_sources(tiled_backend *backend, const tiled_bodies *sources, double eps)
{
    backend->sources = *sources;
    backend->eps = eps;
    return SHOAL_OK;
}

static shoal_status cpu_forces(tiled_backend *backend, int wants, const tiled_bodies *targets, const tiled_results *results)
{
    (void)wants;
    plain(backend, targets ? targets : &backend->sources, results);
    return SHOAL_OK;
}

static shoal_status cpu_measure(tiled_backend *backend, int wants, int n_repeats, double *seconds)
{
    (void)backend, (void)wants, (void)n_repeats;
    *seconds = 0;
    return SHOAL_OK;
}

static void cpu_line(const tiled_backend *backend, char *line, size_t size)
{
    snprintf(line, size, "cpu: plain, fp64, %d thread%s", backend->threads, backend->threads == 1 ? "" : "s");
}

const tiled_backend_type shoal_tiled_cpu = {
    .name = "cpu",
    .missing = cpu_missing,
    .kernel = cpu_kernel,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .sources = cpu_sources,
    .forces = cpu_forces,
    .measure = cpu_measure,
    .line = cpu_line,
};
