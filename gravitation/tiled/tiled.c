/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled.c: forces of one big system, the part that is common to all engines: options, checks, inner units, the choice
 * of the engine.
 *
 * Inner units are powers of two near the rms distance from the centre of the bodies, the total mass and the rms speed,
 * so that single precision neither overflows nor underflows in any units. In single and mixed precision places and
 * velocities are counted from their means.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gravitation/tiled/tiled_internal.h"

struct shoal_tiled {
    shoal_context *context;
    shoal_tiled_options options;
    char engine[16], kernel[32]; /* what options point to */
    const tiled_backend_type *type;
    tiled_backend *backend;
    int threads;
    long n_max, n, n_targets; /* n_targets: for which there is room */
    double *slab;             /* m, x, v of the sources, [7][n_max] */
    double *targets;          /* x, v of targets: [6][n_targets] */
    tiled_bodies sources;
    double origin[3], drift[3]; /* the place and velocity that inner ones are counted from */
    double length, mass, speed; /* inner units in the caller's */
    char line[512];
};

static const char *const precision_names[SHOAL_TILED_PRECISIONS] = {"fp64", "mixed", "fp32"};
static const tiled_backend_type *const types[] = {&shoal_tiled_cpu, &shoal_tiled_cuda};

const char *shoal_tiled_precision_name(int precision)
{
    return precision_names[precision];
}

static const tiled_backend_type *type_named(const char *engine)
{
    for (int i = 0; i < SHOAL_COUNT(types); i++)
        if (strcmp(types[i]->name, engine) == 0)
            return types[i];
    return NULL;
}

const char *shoal_tiled_kernel(const char *engine, int i, const char **doc)
{
    const tiled_backend_type *type = type_named(engine);
    const char *ignored;
    return type ? type->kernel(i, doc ? doc : &ignored) : NULL;
}

bool shoal_tiled_can(const char *engine, const char *kernel, shoal_tiled_precision precision, int wants)
{
    const tiled_backend_type *type = type_named(engine);
    return type && type->can(kernel, precision, wants);
}

/* ---- create, destroy --------------------------------------------------------------------------------------------- */

/* The engine that is asked for, or NULL with a message. */
static const tiled_backend_type *engine_for(shoal_context *context, const char *engine, shoal_status *status)
{
    const bool any = !engine || strcmp(engine, "auto") == 0;
    for (int i = SHOAL_COUNT(types) - 1; any && i > 0; i--)
        if (!types[i]->missing())
            return types[i];
    const tiled_backend_type *type = any ? types[0] : type_named(engine);
    *status = SHOAL_E_USAGE;
    if (!type)
        shoal_fail(context, *status, "engine = \"%s\" for the forces of one big system: expected auto, cpu or cuda",
                   engine);
    else if (type->missing()) {
        *status = shoal_fail(context, SHOAL_E_UNSUPPORTED, "%s", type->missing());
        type = NULL;
    }
    return type;
}

static shoal_status check_kernel(shoal_context *context, const tiled_backend_type *type, const char *kernel,
                                 const shoal_tiled_options *options)
{
    const char *names[64], *doc;
    int n = 0;
    if (strcmp(kernel, "auto") == 0 || type->can(kernel, options->precision, options->wants))
        return SHOAL_OK;
    while (n < SHOAL_COUNT(names) && (names[n] = type->kernel(n, &doc))) {
        if (strcmp(names[n++], kernel) != 0)
            continue;
        const char *lacks = !type->can(kernel, options->precision, 0) ? shoal_tiled_precision_name(options->precision)
                            : type->can(kernel, options->precision, options->wants & ~SHOAL_TILED_JERK) ? "jerk"
                                                                                                        : "potential";
        return shoal_fail(context, SHOAL_E_USAGE, "kernel = \"%s\" computes no %s: a step of the ladder for bench only",
                          kernel, lacks);
    }
    const char *near = shoal_nearest(kernel, names, n);
    return shoal_fail(context, SHOAL_E_USAGE, "kernel = \"%s\": there is none of that name for the engine %s%s%s%s",
                      kernel, type->name, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

shoal_status shoal_tiled_create(shoal_context *context, const shoal_tiled_options *options, long n_max,
                                shoal_tiled **tiled)
{
    *tiled = NULL;
    shoal_status status = SHOAL_E_USAGE;
    if (n_max < 1 || n_max > 1L << 30)
        return shoal_fail(context, status, "forces for up to %ld bodies: expected 1 to 2^30", n_max);
    if (!(options->eps >= 0) || isinf(options->eps))
        return shoal_fail(context, status, "softening length %g: expected a finite number >= 0", options->eps);
    if ((unsigned)options->precision >= SHOAL_TILED_PRECISIONS ||
        (unsigned)options->softening >= SHOAL_TILED_SOFTENINGS || (unsigned)options->tune > SHOAL_TILED_TUNE_NEVER ||
        options->threads < 0 || options->n_devices < 0 || options->wants & ~(SHOAL_TILED_JERK | SHOAL_TILED_POTENTIAL))
        return shoal_fail(context, status,
                          "precision %d, softening %d, tune %d, threads %d, devices %d, wants %d: one is out of range",
                          (int)options->precision, (int)options->softening, (int)options->tune, options->threads,
                          options->n_devices, options->wants);
    if (options->softening == SHOAL_TILED_SPLINE && options->eps == 0)
        return shoal_fail(context, status, "a spline with softening length 0: expected more");
    const tiled_backend_type *type = engine_for(context, options->engine, &status);
    if (!type)
        return status;
    const char *kernel = options->kernel ? options->kernel : "auto";
    if ((status = check_kernel(context, type, kernel, options)))
        return status;

    shoal_tiled *made = calloc(1, sizeof *made);
    if (!made)
        return shoal_fail(context, SHOAL_E_MEMORY, "no memory for the forces of %ld bodies", n_max);
    made->context = context;
    made->type = type;
    made->n_max = n_max;
    made->options = *options;
    snprintf(made->engine, sizeof made->engine, "%s", type->name);
    snprintf(made->kernel, sizeof made->kernel, "%s", kernel);
    made->options.engine = made->engine;
    made->options.kernel = made->kernel;
    made->threads = shoal_omp_threads(options->threads ? options->threads : shoal_default_threads(NULL));
    made->slab = shoal_allocate((size_t)n_max, 7 * sizeof(double));
    if (!made->slab)
        status = shoal_fail(context, SHOAL_E_MEMORY, "no memory for the forces of %ld bodies", n_max);
    if (!status)
        status = type->create(context, &made->options, n_max, &made->backend);
    if (status) {
        shoal_tiled_destroy(&made);
        return status;
    }
    *tiled = made;
    return SHOAL_OK;
}

void shoal_tiled_destroy(shoal_tiled **tiled)
{
    shoal_tiled *old = *tiled;
    *tiled = NULL;
    if (!old)
        return;
    if (old->backend)
        old->type->destroy(&old->backend);
    free(old->slab);
    free(old->targets);
    free(old);
}

const char *shoal_tiled_line(shoal_tiled *tiled)
{
    tiled->type->line(tiled->backend, tiled->line, sizeof tiled->line);
    return tiled->line;
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

/* The power of two below value, whose inverse is a number too; 1 for 0. */
static double power_of_two(double value)
{
    return value > 0 && isfinite(value) ? ldexp(1, ilogb(fmax(value, 1e-300))) : 1;
}

/* The first body whose value is not finite, or (least = 0) negative; -1 if there is none. */
static long first_bad(long n, const double *values, double least)
{
    for (long i = 0; i < n; i++)
        if (!(values[i] >= least) || isinf(values[i]))
            return i;
    return -1;
}

static shoal_status check_vectors(shoal_tiled *tiled, const char *what, long n, const double *x)
{
    for (int c = 0; c < 3; c++) {
        const long bad = first_bad(n, x + c * n, -INFINITY);
        if (bad >= 0)
            return shoal_fail(tiled->context, SHOAL_E_USAGE, "body %ld: %s along %c is %g: expected a finite number",
                              bad, what, "xyz"[c], x[c * n + bad]);
    }
    return SHOAL_OK;
}

/* rms length of n vectors about an origin, whatever their size. */
static double rms(long n, const double *x, const double *origin)
{
    double sum = 0, largest = 0;
    for (int c = 0; c < 3; c++)
        for (long i = c * n; i < (c + 1) * n; i++)
            largest = fmax(largest, fabs(x[i] - origin[c]));
    for (int c = 0; c < 3 && largest > 0; c++)
        for (long i = c * n; i < (c + 1) * n; i++) {
            const double d = (x[i] - origin[c]) / largest;
            sum += d * d;
        }
    return largest * sqrt(sum / (double)n);
}

/* Loops over many bodies are cut into parts for the threads: the same parts for every number of threads. */
enum { PARTS = 64, PARALLEL = 8192 };

static long n_parts(long n)
{
    return n > PARALLEL ? PARTS : 1;
}

/* Sums over bodies first .. last - 1; places and velocities are counted from the first body of all, lest their
 * squares cancel. */
typedef struct sums {
    double least, most, m, x[3], d2, v[3], v2;
} sums;

static sums add_up(long n, long first, long last, const double *m, const double *x, const double *v)
{
    double least = INFINITY, most = 0, mass = 0, sx = 0, sy = 0, sz = 0, d2 = 0, ux = 0, uy = 0, uz = 0, v2 = 0;
#pragma omp simd reduction(+ : mass, sx, sy, sz, d2) reduction(min : least) reduction(max : most)
    for (long i = first; i < last; i++) {
        const double dx = x[i] - x[0], dy = x[n + i] - x[n], dz = x[2 * n + i] - x[2 * n];
        least = m[i] < least ? m[i] : least;
        most = m[i] > most ? m[i] : most;
        mass += m[i];
        sx += dx;
        sy += dy;
        sz += dz;
        d2 += dx * dx + dy * dy + dz * dz;
    }
    if (v) {
#pragma omp simd reduction(+ : ux, uy, uz, v2)
        for (long i = first; i < last; i++) {
            const double dx = v[i] - v[0], dy = v[n + i] - v[n], dz = v[2 * n + i] - v[2 * n];
            ux += dx;
            uy += dy;
            uz += dz;
            v2 += dx * dx + dy * dy + dz * dz;
        }
    }
    return (sums){least, most, mass, {sx, sy, sz}, d2, {ux, uy, uz}, v2};
}

static sums add_up_all(const shoal_tiled *tiled, long n, const double *m, const double *x, const double *v)
{
    const long parts = n_parts(n);
    sums part[PARTS], all = {.least = INFINITY};
#pragma omp parallel for num_threads(tiled->threads) if (parts > 1) schedule(static)
    for (long k = 0; k < parts; k++)
        part[k] = add_up(n, n * k / parts, n * (k + 1) / parts, m, x, v);
    for (long k = 0; k < parts; k++) {
        all.least = fmin(all.least, part[k].least);
        all.most = fmax(all.most, part[k].most);
        all.m += part[k].m;
        for (int c = 0; c < 3; c++) {
            all.x[c] += part[k].x[c];
            all.v[c] += part[k].v[c];
        }
        all.d2 += part[k].d2;
        all.v2 += part[k].v2;
    }
    return all;
}

/* A sum of squares that nothing was lost of; it is finite only if all numbers are. */
static bool is_sound(double squares)
{
    return squares > 1e-250 && squares < 1e250;
}

/* The mean of n vectors, and their rms distance from it; sum and squares are about the first one. */
static double spread(long n, const double *x, const double *sum, double squares, double *mean)
{
    double off2 = 0;
    for (int c = 0; c < 3; c++) {
        const double from_first = sum[c] / (double)n;
        mean[c] = x[c * n] + from_first;
        off2 += from_first * from_first;
    }
    return is_sound(squares) ? sqrt(fmax(squares / (double)n - off2, 0)) : rms(n, x, mean);
}

/* Check the sources; the inner units, and the origins of their places and velocities: double precision needs none. */
static shoal_status find_units(shoal_tiled *tiled, long n, const double *m, const double *x, const double *v,
                               tiled_bodies *sources)
{
    const sums s = add_up_all(tiled, n, m, x, v);
    shoal_status status = SHOAL_OK;
    const long bad = s.least >= 0 && isfinite(s.m) ? -1 : first_bad(n, m, 0);
    if (bad >= 0)
        return shoal_fail(tiled->context, SHOAL_E_USAGE, "body %ld: mass %g: expected a finite number >= 0", bad,
                          m[bad]);
    if (!is_sound(s.d2))
        status = check_vectors(tiled, "the position", n, x);
    if (!status && v && !is_sound(s.v2))
        status = check_vectors(tiled, "the velocity", n, v);
    if (status)
        return status;

    const double size = spread(n, x, s.x, s.d2, tiled->origin);
    const double speed = v ? spread(n, v, s.v, s.v2, tiled->drift) : 1;
    if (tiled->options.precision == SHOAL_TILED_FP64)
        for (int c = 0; c < 3; c++)
            tiled->origin[c] = tiled->drift[c] = 0;
    sources->equal = s.least == s.most && s.least > 0;
    sources->lightest = s.least > 0 ? s.least / (s.m / (double)n) : 0;
    tiled->length = power_of_two(fmax(size, tiled->options.eps));
    tiled->mass = power_of_two(s.m);
    tiled->speed = power_of_two(speed);
    return SHOAL_OK;
}

/* Vectors first .. last - 1 of n in inner units. */
static void to_inner(long n, long first, long last, const double *x, const double *origin, double unit, double *out)
{
    const double inverse = 1 / unit;
    for (int c = 0; c < 3; c++) {
        const double at = origin[c];
#pragma omp simd
        for (long i = c * n + first; i < c * n + last; i++)
            out[i] = (x[i] - at) * inverse;
    }
}

shoal_status shoal_tiled_sources(shoal_tiled *tiled, long n, const double *m, const double *x, const double *v)
{
    if (n < 1 || n > tiled->n_max)
        return shoal_fail(tiled->context, SHOAL_E_USAGE, "%ld sources of forces made for 1 to %ld", n, tiled->n_max);
    const bool jerk = tiled->options.wants & SHOAL_TILED_JERK;
    if (jerk && !v)
        return shoal_fail(tiled->context, SHOAL_E_USAGE, "no velocities of the sources, though the jerk was asked for");
    tiled_bodies sources = {.n = n};
    shoal_status status = find_units(tiled, n, m, x, jerk ? v : NULL, &sources);
    if (status)
        return status;
    tiled->n = 0; /* until they are there */
    double *im = tiled->slab, *ix = im + n, *iv = ix + 3 * n;
    const double inverse_mass = 1 / tiled->mass;
    const long parts = n_parts(n);
#pragma omp parallel for num_threads(tiled->threads) if (parts > 1) schedule(static)
    for (long k = 0; k < parts; k++) {
        const long first = n * k / parts, last = n * (k + 1) / parts;
        for (long i = first; i < last; i++)
            im[i] = m[i] * inverse_mass;
        to_inner(n, first, last, x, tiled->origin, tiled->length, ix);
        if (jerk)
            to_inner(n, first, last, v, tiled->drift, tiled->speed, iv);
    }
    tiled->sources = sources;
    tiled->sources.m = im;
    for (int c = 0; c < 3; c++) {
        tiled->sources.x[c] = ix + c * n;
        tiled->sources.v[c] = jerk ? iv + c * n : NULL;
    }
    status = tiled->type->sources(tiled->backend, &tiled->sources, tiled->options.eps / tiled->length);
    tiled->n = status ? 0 : n;
    return status;
}

/* ---- forces ------------------------------------------------------------------------------------------------------ */

static shoal_status check_targets(shoal_tiled *tiled, bool jerk, const shoal_tiled_targets *targets)
{
    if (targets->n < 0 || (targets->n > 0 && !targets->index && (!targets->x || (jerk && !targets->v))))
        return shoal_fail(tiled->context, SHOAL_E_USAGE, "%ld targets: expected >= 0, with indices or positions%s",
                          targets->n, jerk ? " and velocities" : "");
    for (long i = 0; targets->index && i < targets->n; i++)
        if (targets->index[i] < 0 || targets->index[i] >= tiled->n)
            return shoal_fail(tiled->context, SHOAL_E_USAGE, "target %ld is body %ld: expected 0 to %ld", i,
                              targets->index[i], tiled->n - 1);
    shoal_status status = SHOAL_OK;
    if (!targets->index && targets->n)
        status = check_vectors(tiled, "the target's position", targets->n, targets->x);
    if (!status && !targets->index && targets->n && jerk)
        status = check_vectors(tiled, "the target's velocity", targets->n, targets->v);
    return status;
}

/* Targets in inner units, in tiled->targets; out: what the backend is given. */
static shoal_status place_targets(shoal_tiled *tiled, bool jerk, const shoal_tiled_targets *targets, tiled_bodies *out)
{
    const long n = targets->n;
    if (n > tiled->n_targets) {
        free(tiled->targets);
        tiled->n_targets = 0;
        tiled->targets = shoal_allocate((size_t)n, 6 * sizeof(double));
        if (!tiled->targets)
            return shoal_fail(tiled->context, SHOAL_E_MEMORY, "no memory for the forces on %ld targets", n);
        tiled->n_targets = n;
    }
    double *x = tiled->targets, *v = x + 3 * n;
    *out = (tiled_bodies){.n = n, .index = targets->index};
    for (int c = 0; c < 3; c++) {
        for (long i = 0; targets->index && i < n; i++) {
            x[c * n + i] = tiled->sources.x[c][targets->index[i]];
            if (jerk)
                v[c * n + i] = tiled->sources.v[c][targets->index[i]];
        }
        out->x[c] = x + c * n;
        out->v[c] = jerk ? v + c * n : NULL;
    }
    if (!targets->index) {
        to_inner(n, 0, n, targets->x, tiled->origin, tiled->length, x);
        if (jerk)
            to_inner(n, 0, n, targets->v, tiled->drift, tiled->speed, v);
    }
    return SHOAL_OK;
}

/* Vectors first .. last - 1 of n times a factor. */
static void scale(long n, long first, long last, double factor, double *x)
{
    for (int c = 0; c < 3; c++)
        for (long i = c * n + first; i < c * n + last; i++)
            x[i] *= factor;
}

shoal_status shoal_tiled_forces(shoal_tiled *tiled, int wants, const shoal_tiled_targets *targets, double *a,
                                double *jerk, double *phi)
{
    const bool want_jerk = wants & SHOAL_TILED_JERK, want_phi = wants & SHOAL_TILED_POTENTIAL;
    if (!tiled->n)
        return shoal_fail(tiled->context, SHOAL_E_USAGE, "forces without sources");
    if (wants & ~tiled->options.wants)
        return shoal_fail(tiled->context, SHOAL_E_USAGE, "forces with wants = %d, made for %d", wants,
                          tiled->options.wants);
    if (!a || (want_jerk && !jerk) || (want_phi && !phi))
        return shoal_fail(tiled->context, SHOAL_E_USAGE, "no room for the results that are wanted");
    shoal_status status = targets ? check_targets(tiled, want_jerk, targets) : SHOAL_OK;
    const long n = targets ? targets->n : tiled->n;
    if (status || n == 0)
        return status;
    tiled_bodies places;
    tiled_results results = {.phi = want_phi ? phi : NULL};
    for (int c = 0; c < 3; c++) {
        results.a[c] = a + c * n;
        results.jerk[c] = want_jerk ? jerk + c * n : NULL;
    }
    if (targets)
        status = place_targets(tiled, want_jerk, targets, &places);
    if (!status)
        status = tiled->type->forces(tiled->backend, wants, targets ? &places : NULL, &results);
    if (status)
        return status;

    const double L = tiled->length, unit_a = tiled->mass / L / L, unit_jerk = unit_a / L * tiled->speed;
    const long parts = n_parts(n);
#pragma omp parallel for num_threads(tiled->threads) if (parts > 1) schedule(static)
    for (long k = 0; k < parts; k++) {
        scale(n, n * k / parts, n * (k + 1) / parts, unit_a, a);
        if (want_jerk)
            scale(n, n * k / parts, n * (k + 1) / parts, unit_jerk, jerk);
    }
    for (long i = 0; want_phi && i < n; i++)
        phi[i] *= tiled->mass / L;
    return SHOAL_OK;
}

shoal_status shoal_tiled_measure(shoal_tiled *tiled, int wants, int n_repeats, double *seconds)
{
    if (!tiled->n || wants & ~tiled->options.wants || n_repeats < 1)
        return shoal_fail(tiled->context, SHOAL_E_USAGE, "timing without sources, or of what was not asked for");
    return tiled->type->measure(tiled->backend, wants, n_repeats, seconds);
}

shoal_status shoal_tiled_tune(shoal_tiled *tiled, int wants, double n_evaluations)
{
    if (!tiled->n || wants & ~tiled->options.wants)
        return shoal_fail(tiled->context, SHOAL_E_USAGE, "tuning without sources, or for what was not asked for");
    return tiled->type->tune ? tiled->type->tune(tiled->backend, wants, n_evaluations) : SHOAL_OK;
}

const char *shoal_tiled_picked(shoal_tiled *tiled, int wants)
{
    return tiled->type->picked && tiled->n ? tiled->type->picked(tiled->backend, wants) : tiled->kernel;
}

void shoal_tiled_pick(shoal_tiled *tiled, int wants, const char *kernel)
{
    if (tiled->type->pick && strcmp(tiled->kernel, "auto") == 0 &&
        tiled->type->can(kernel, tiled->options.precision, wants))
        tiled->type->pick(tiled->backend, wants, kernel);
}
