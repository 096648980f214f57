/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_tiled.c: forces of one big system: every kernel of every engine and precision against a plain sum in long
 * double, for counts that are multiples of nothing, with massless and coincident bodies; other targets; the spline's
 * limits; momentum; the same bits in every run, with any number of threads or devices and in any units; what is
 * refused; which kernel auto takes, and what was measured and kept.
 *
 * Where there is no GPU its part skips; with SHOAL_TEST_GPU=1 that is a failure. SHOAL_TEST_NAME=PATTERN: those tests
 * alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gravitation/tiled/tiled_variants.h"
#include "testing.h"

enum { N_MAX = 5000, ALL = SHOAL_TILED_JERK | SHOAL_TILED_POTENTIAL };

typedef struct bodies {
    long n;
    double m[N_MAX], x[3 * N_MAX], v[3 * N_MAX];
} bodies;

typedef struct forces {
    double a[3 * N_MAX], jerk[3 * N_MAX], phi[N_MAX];
} forces;

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

/* A ball of bodies, denser inside; equal: all masses the same, else every seventh has none. */
static void make_bodies(long n, bool equal, bodies *b)
{
    uint64_t state = 1;
    b->n = n;
    for (long i = 0; i < n; i++) {
        const double z = 2 * uniform(&state) - 1, f = 6.283185307179586 * uniform(&state), r = 2 * uniform(&state);
        const double q = sqrt(1 - z * z);
        const double place[3] = {r * q * cos(f), r * q * sin(f), r * z};
        for (int c = 0; c < 3; c++) {
            b->x[c * n + i] = place[c] + 0.25;
            b->v[c * n + i] = uniform(&state) - 0.5;
        }
        b->m[i] = equal ? 1. / 1024 : i % 7 == 6 ? 0 : (0.5 + uniform(&state)) / (double)n;
    }
    for (int c = 0; c < 3 && n > 40; c++) /* 40 is where 3 is, and moves otherwise */
        b->x[c * n + 40] = b->x[c * n + 3];
}

/* Target i of the sources, or (i < 0) a place; softened as Plummer. */
/* long: where, and the results; a struct would be filled for each target */
static void oracle_at(const bodies *b, double eps, long i, const double *x, const double *v, double *a, double *jerk,
                      double *phi)
{
    long double sum[7] = {0};
    for (long j = 0; j < b->n; j++) {
        long double d[3], w[3], r2 = 0, dw = 0;
        for (int c = 0; c < 3; c++) {
            d[c] = (long double)b->x[c * b->n + j] - x[c];
            w[c] = (long double)b->v[c * b->n + j] - v[c];
            r2 += d[c] * d[c];
            dw += d[c] * w[c];
        }
        if (j == i || (r2 == 0 && eps == 0))
            continue;
        const long double s2 = r2 + (long double)eps * eps, p = 1 / sqrtl(s2), g = b->m[j] * p / s2;
        sum[6] -= b->m[j] * p;
        for (int c = 0; c < 3; c++) {
            sum[c] += g * d[c];
            sum[3 + c] += g * (w[c] - 3 * dw / s2 * d[c]);
        }
    }
    for (int c = 0; c < 3; c++) {
        a[c] = (double)sum[c];
        jerk[c] = (double)sum[3 + c];
    }
    *phi = (double)sum[6];
}

static void oracle(const bodies *b, double eps, forces *f)
{
    const long n = b->n;
    for (long i = 0; i < n; i++) {
        double a[3], jerk[3], x[3], v[3];
        for (int c = 0; c < 3; c++) {
            x[c] = b->x[c * n + i];
            v[c] = b->v[c * n + i];
        }
        oracle_at(b, eps, i, x, v, a, jerk, &f->phi[i]);
        for (int c = 0; c < 3; c++) {
            f->a[c * n + i] = a[c];
            f->jerk[c * n + i] = jerk[c];
        }
    }
}

/* Largest difference relative to the rms of what it should be. */
static double error_of(long n, const double *got, const double *want)
{
    double largest = 0, sum = 0;
    for (long i = 0; i < n; i++) {
        largest = fmax(largest, fabs(got[i] - want[i]));
        sum += want[i] * want[i];
        if (!isfinite(got[i]))
            return INFINITY;
    }
    return sum > 0 ? largest / sqrt(sum / (double)n) : largest;
}

static shoal_tiled_options options_of(const char *engine, const char *kernel, int precision, double eps)
{
    return (shoal_tiled_options){.engine = engine, .kernel = kernel, .precision = precision, .eps = eps, .wants = ALL};
}

static shoal_tiled *make(shoal_context *context, const shoal_tiled_options *options, const bodies *b)
{
    shoal_tiled *tiled = NULL;
    assert_ok(context, shoal_tiled_create(context, options, N_MAX, &tiled));
    assert_ok(context, shoal_tiled_sources(tiled, b->n, b->m, b->x, b->v));
    return tiled;
}

static void compute(shoal_context *context, const shoal_tiled_options *options, const bodies *b, forces *f)
{
    shoal_tiled *tiled = make(context, options, b);
    assert_ok(context, shoal_tiled_forces(tiled, ALL, NULL, f->a, f->jerk, f->phi));
    shoal_tiled_destroy(&tiled);
    assert_null(tiled);
}

/* The first that there is on a GPU stays, because opening one anew takes long. */
static void need_tiled_gpu(shoal_context *context)
{
    static shoal_tiled *first;
    const shoal_tiled_options options = options_of("cuda", NULL, SHOAL_TILED_FP64, 0);
    need_gpu();
    if (!first)
        assert_ok(context, shoal_tiled_create(context, &options, 10, &first));
}

/* Kernel i of an engine that computes everything; NULL after the last. */
static const char *full_kernel(const char *engine, int i)
{
    const char *kernel;
    for (int k = 0; (kernel = shoal_tiled_kernel(engine, k, NULL)); k++)
        if (shoal_tiled_can(engine, kernel, SHOAL_TILED_FP64, ALL) && i-- == 0)
            break;
    return kernel;
}

static bodies here;
static forces want, got, other;

/* ---- against the oracle ------------------------------------------------------------------------------------------ */

/* Of a, jerk and phi by precision: the largest error relative to the rms, which without softening is that of the
 * closest pair. */
static const double bounds[SHOAL_TILED_PRECISIONS] = {
    [SHOAL_TILED_FP64] = 2e-13,
    [SHOAL_TILED_MIXED] = 5e-5,
    [SHOAL_TILED_FP32] = 2e-4,
};

static void check_engine(shoal_context *context, const char *engine)
{
    static const long counts[] = {1, 2, 3, 31, 33, 100, 1000, 4097};
    for (int k = 0; k < SHOAL_COUNT(counts); k++)
        for (int equal = 0; equal < 2; equal++) {
            const double eps = equal ? 0.05 : 0;
            make_bodies(counts[k], equal, &here);
            oracle(&here, eps, &want);
            const char *kernel;
            for (int i = 0; (kernel = full_kernel(engine, i)); i++)
                for (int precision = 0; precision < SHOAL_TILED_PRECISIONS; precision++) {
                    const shoal_tiled_options options = options_of(engine, kernel, precision, eps);
                    compute(context, &options, &here, &got);
                    const double bound = strcmp(kernel, "plain") == 0 ? bounds[0] : bounds[precision];
                    const double a = error_of(3 * here.n, got.a, want.a), phi = error_of(here.n, got.phi, want.phi);
                    const double jerk = error_of(3 * here.n, got.jerk, want.jerk);
                    if (!(a <= bound && jerk <= bound && phi <= bound))
                        fail_msg("%s %s %s, %ld bodies, eps %g: errors of a %.2e, jerk %.2e, phi %.2e: more than %.1e",
                                 engine, kernel, shoal_tiled_precision_name(precision), here.n, eps, a, jerk, phi,
                                 bound);
                }
        }
}

static void test_cpu_oracle(void **state)
{
    check_engine(context_of(state), "cpu");
}

static void test_cuda_oracle(void **state)
{
    need_tiled_gpu(context_of(state));
    check_engine(context_of(state), "cuda");
}

/* Those that compute the acceleration only, or in single precision only: steps of the ladder. */
static void check_steps(shoal_context *context, const char *engine)
{
    static const long counts[] = {1, 100, 4097};
    const char *kernel;
    for (int k = 0; k < SHOAL_COUNT(counts); k++) {
        make_bodies(counts[k], false, &here);
        oracle(&here, 0.05, &want);
        for (int i = 0; (kernel = shoal_tiled_kernel(engine, i, NULL)); i++) {
            if (shoal_tiled_can(engine, kernel, SHOAL_TILED_FP64, ALL) ||
                !shoal_tiled_can(engine, kernel, SHOAL_TILED_FP32, 0))
                continue;
            shoal_tiled_options options = options_of(engine, kernel, SHOAL_TILED_FP32, 0.05);
            options.wants = 0;
            const double bound = strcmp(kernel, "half") == 0 ? 0.3 : 5e-5; /* half precision: close pairs */
            shoal_tiled *tiled = make(context, &options, &here);
            const shoal_status status = shoal_tiled_forces(tiled, 0, NULL, got.a, NULL, NULL);
            if (status == SHOAL_E_UNSUPPORTED)
                print_message("%s\n", shoal_context_message(context));
            else if (status || !(error_of(3 * here.n, got.a, want.a) < bound))
                fail_msg("%s %s, %ld bodies: %s, error %.2e", engine, kernel, here.n,
                         status ? shoal_context_message(context) : "", error_of(3 * here.n, got.a, want.a));
            shoal_tiled_destroy(&tiled);
        }
    }
}

static void test_cpu_steps(void **state)
{
    check_steps(context_of(state), "cpu");
}

static void test_cuda_steps(void **state)
{
    need_tiled_gpu(context_of(state));
    check_steps(context_of(state), "cuda");
}

/* Acceleration alone takes other kernels than all that can be wanted. */
static void check_wants(shoal_context *context, const char *engine)
{
    make_bodies(1000, false, &here);
    oracle(&here, 0.01, &want);
    for (int precision = 0; precision < SHOAL_TILED_PRECISIONS; precision++)
        for (int wants = 0; wants <= ALL; wants++) {
            const shoal_tiled_options options = options_of(engine, NULL, precision, 0.01);
            shoal_tiled *tiled = make(context, &options, &here);
            memset(&got, 0, sizeof got);
            assert_ok(context, shoal_tiled_forces(tiled, wants, NULL, got.a, got.jerk, got.phi));
            assert_true(error_of(3 * here.n, got.a, want.a) < bounds[precision]);
            const double bound = bounds[precision];
            assert_true(wants & SHOAL_TILED_JERK ? error_of(3 * here.n, got.jerk, want.jerk) < bound
                                                 : got.jerk[0] == 0);
            assert_true(wants & SHOAL_TILED_POTENTIAL ? error_of(here.n, got.phi, want.phi) < bound : got.phi[0] == 0);
            double seconds = -1;
            assert_ok(context, shoal_tiled_measure(tiled, wants, 1, &seconds));
            assert_true(seconds > 0 && seconds < 60);
            shoal_tiled_destroy(&tiled);
        }
}

static void test_cpu_wants(void **state)
{
    check_wants(context_of(state), "cpu");
}

static void test_cuda_wants(void **state)
{
    need_tiled_gpu(context_of(state));
    check_wants(context_of(state), "cuda");
}

/*
 * Accelerations in single precision with masses that have roots take another kernel (tiled_cuda.c) than with a
 * potential, or where a mass is next to none: as right, with a light body and a heavy one, and two at one place, each
 * of a tile of its own.
 */
static void test_cuda_masses_by_roots(void **state)
{
    static const long counts[] = {2, 700, N_MAX};
    const double eps = 0.05;
    shoal_context *context = context_of(state);
    need_tiled_gpu(context);
    for (int k = 0; k < 2 * SHOAL_COUNT(counts); k++) {
        const long n = counts[k / 2];
        const bool without = k % 2; /* roots */
        make_bodies(n, false, &here);
        for (long i = 0; i < n; i++)
            here.m[i] = fmax(here.m[i], 0.1 / (double)n);
        here.m[n / 2] = 0.25;
        here.m[n / 3] = (without ? 0x1p-34 : 0x1p-30) / (double)n;
        for (int c = 0; c < 3; c++)
            here.x[c * n + n - 1] = here.x[c * n];
        oracle(&here, eps, &want);
        const char *kernel;
        for (int i = 0; (kernel = shoal_tiled_kernel("cuda", i, NULL)); i++) {
            shoal_tiled_options options = options_of("cuda", kernel, SHOAL_TILED_FP32, eps);
            options.wants = SHOAL_TILED_POTENTIAL;
            if (strncmp(kernel, "edges", 5) != 0 || !shoal_tiled_can("cuda", kernel, SHOAL_TILED_FP32, options.wants))
                continue;
            shoal_tiled *tiled = make(context, &options, &here);
            assert_ok(context, shoal_tiled_forces(tiled, 0, NULL, got.a, NULL, NULL));
            assert_ok(context, shoal_tiled_forces(tiled, SHOAL_TILED_POTENTIAL, NULL, other.a, NULL, other.phi));
            const double error = error_of(3 * n, got.a, want.a), error_with = error_of(3 * n, other.a, want.a);
            print_message("%s, %ld bodies%s: error %.1e, with the potential %.1e\n", kernel, n,
                          without ? ", one without root" : "", error, error_with);
            assert_true(error_with < 5e-5 && error < 2 * error_with + 1e-12);
            const tiled_shape *shape = shoal_tiled_shape(shoal_tiled_variant_named(kernel), &options, 0);
            assert_true(n < N_MAX || n > 32 * shape->warps * shape->i); /* more than one row */
            if (n == N_MAX && !without)
                assert_memory_not_equal(got.a, other.a, (size_t)n * 3 * sizeof(double));
            shoal_tiled_destroy(&tiled);
        }
    }
}

/*
 * Bodies in seven clumps far from each other, so that most pairs are far, and some without mass or in one place: far
 * pairs in single precision lose a fiftieth of what `edges` loses at most, near ones nothing; and the potential is that
 * of `edges`. With a softening as wide as the system nothing stands out that `edges` would lose by.
 */
static void test_cuda_sorted(void **state)
{
    static const struct {
        long n;
        bool equal, clumps;
        double eps, ratio; /* of the largest errors, at most */
    } cases[] = {
        {1, false, false, 0, 1},        {1, false, false, 0.05, 1},      {300, false, false, 0, 1},
        {300, false, true, 0.05, 1},    {2600, false, false, 0, 0.02},   {2600, false, false, 0.05, 0.02},
        {2600, false, true, 0, 0.02},   {2600, false, true, 0.05, 0.02}, {2600, true, false, 0.05, 0.02},
        {2600, true, true, 0.05, 0.02}, {2600, false, true, 1, 2},       {2600, true, true, 1, 2},
    };
    shoal_context *context = context_of(state);
    need_tiled_gpu(context);
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        const long n = cases[k].n;
        const bool clumps = cases[k].clumps;
        const double eps = cases[k].eps;
        make_bodies(n, false, &here);
        for (long i = 0; cases[k].equal && i < n; i++)
            here.m[i] = 1. / (double)n;
        for (long i = 0; clumps && i < n; i++)
            for (int c = 0; c < 3; c++)
                here.x[c * n + i] = 0.02 * here.x[c * n + i] + ((1 + i % 7) >> c & 1);
        for (int c = 0; c < 3; c++)
            here.x[c * n + n - 1] = here.x[c * n];
        oracle(&here, eps, &want);
        shoal_tiled_options options = options_of("cuda", "edges_sorted", SHOAL_TILED_MIXED, eps);
        options.wants = SHOAL_TILED_POTENTIAL;
        shoal_tiled *tiled = make(context, &options, &here);
        assert_ok(context, shoal_tiled_forces(tiled, 0, NULL, got.a, NULL, NULL));
        assert_ok(context, shoal_tiled_forces(tiled, SHOAL_TILED_POTENTIAL, NULL, other.a, NULL, other.phi));
        const double error = error_of(3 * n, got.a, want.a), error_edges = error_of(3 * n, other.a, want.a);
        print_message("%ld bodies%s%s, eps %g: largest error %.1e, `edges` %.1e\n", n,
                      cases[k].equal ? " of equal mass" : "", clumps ? " in clumps" : "", eps, error, error_edges);
        /* without softening the closest pair is that near: places are kept to 1e-13 */
        assert_true(error < 1e-7 && error_of(n, other.phi, want.phi) < bounds[SHOAL_TILED_MIXED]);
        assert_true(error <= cases[k].ratio * error_edges || error < 1e-20);
        if (n > 1000 && clumps)
            assert_true(error > 1e-11); /* single precision had a part in it */
        shoal_tiled_destroy(&tiled);
    }
}

/* A star among bodies of next to no mass, without softening: in single precision a body is some 1e36 times its mass
 * to itself. */
static void test_cuda_masses_of_a_star(void **state)
{
    shoal_context *context = context_of(state);
    const char *kernel;
    need_tiled_gpu(context);
    make_bodies(1500, false, &here);
    here.m[7] = 2000 / 1500.;
    oracle(&here, 0, &want);
    for (int i = 0; (kernel = full_kernel("cuda", i)); i++) {
        const shoal_tiled_options options = options_of("cuda", kernel, SHOAL_TILED_FP32, 0);
        shoal_tiled *tiled = make(context, &options, &here);
        assert_ok(context, shoal_tiled_forces(tiled, SHOAL_TILED_POTENTIAL, NULL, got.a, NULL, got.phi));
        const double error = error_of(3 * here.n, got.a, want.a), error_phi = error_of(here.n, got.phi, want.phi);
        if (!(error < bounds[SHOAL_TILED_FP32] && error_phi < bounds[SHOAL_TILED_FP32]))
            fail_msg("%s: errors %.1e and %.1e", kernel, error, error_phi);
        shoal_tiled_destroy(&tiled);
    }
}

/*
 * A star and bodies of a billionth of its mass, which all move by: its potential is theirs alone, and the jerk does not
 * know how fast all move. Equal masses with next to no softening: a body's own potential would be a million times that
 * of all others.
 */
static void check_star(shoal_context *context, const char *engine)
{
    static const double own_bounds[SHOAL_TILED_PRECISIONS] = {1e-12, 1e-5, 1e-5};
    const long star[] = {7};
    const char *kernel;
    for (int equal = 0; equal < 2; equal++) {
        const double eps = equal ? 1e-9 : 0.01;
        make_bodies(1500, equal, &here);
        for (long i = 0; i < here.n; i++)
            here.m[i] *= equal ? 1 : 1e-9;
        for (int c = 0; equal && c < 3; c++)
            here.x[c * here.n + 40] += 0.5; /* nowhere else than 3 */
        if (!equal)
            here.m[*star] = 1;
        oracle(&here, eps, &want);
        for (int k = 0; k < 3 * here.n; k++)
            here.v[k] += 3e4;
        for (int i = 0; (kernel = full_kernel(engine, i)); i++)
            for (int precision = 0; precision < SHOAL_TILED_PRECISIONS; precision++) {
                const shoal_tiled_options options = options_of(engine, kernel, precision, eps);
                const double all = want.phi[*star], bound = own_bounds[precision];
                double a[3], jerk[3], phi;
                compute(context, &options, &here, &got);
                shoal_tiled *tiled = make(context, &options, &here);
                assert_ok(context,
                          shoal_tiled_forces(tiled, ALL, &(shoal_tiled_targets){.n = 1, .index = star}, a, jerk, &phi));
                shoal_tiled_destroy(&tiled);
                if (!(fabs(got.phi[*star] - all) <= -bound * all && fabs(phi - all) <= -bound * all))
                    fail_msg("%s %s %s: potentials %.9g and %.9g: expected %.9g", engine, kernel,
                             shoal_tiled_precision_name(precision), got.phi[*star], phi, all);
                const double error = error_of(3 * here.n, got.jerk, want.jerk),
                             most = precision ? bounds[precision] : 1e-10;
                if (!(error < most))
                    fail_msg("%s %s %s: error of jerk %.1e", engine, kernel, shoal_tiled_precision_name(precision),
                             error);
            }
    }
}

static void test_cpu_star(void **state)
{
    check_star(context_of(state), "cpu");
}

static void test_cuda_star(void **state)
{
    need_tiled_gpu(context_of(state));
    check_star(context_of(state), "cuda");
}

/* ---- other targets ----------------------------------------------------------------------------------------------- */

static void check_targets(shoal_context *context, const char *engine)
{
    enum { N = 777, T = 53 };
    long index[T];
    double x[3 * T], v[3 * T], a[3 * T], jerk[3 * T], phi[T];
    static forces all;
    make_bodies(N, false, &here);
    oracle(&here, 0.02, &all);
    uint64_t state = 7;
    for (int i = 0; i < T; i++) {
        index[i] = (i * 97) % N;
        double at[3], w[3], one_a[3], one_jerk[3];
        for (int c = 0; c < 3; c++) {
            x[c * T + i] = at[c] = 6 * uniform(&state) - 3;
            v[c * T + i] = w[c] = uniform(&state);
        }
        oracle_at(&here, 0.02, -1, at, w, one_a, one_jerk, &want.phi[i]);
        for (int c = 0; c < 3; c++) {
            want.a[c * T + i] = one_a[c];
            want.jerk[c * T + i] = one_jerk[c];
            other.a[c * T + i] = all.a[c * N + index[i]];
            other.jerk[c * T + i] = all.jerk[c * N + index[i]];
        }
        other.phi[i] = all.phi[index[i]];
    }
    const char *kernel;
    for (int k = 0; (kernel = full_kernel(engine, k)); k++)
        for (int precision = 0; precision < SHOAL_TILED_PRECISIONS; precision++) {
            const shoal_tiled_options options = options_of(engine, kernel, precision, 0.02);
            const double bound = bounds[precision];
            shoal_tiled *tiled = make(context, &options, &here);
            assert_ok(context,
                      shoal_tiled_forces(tiled, ALL, &(shoal_tiled_targets){.n = T, .x = x, .v = v}, a, jerk, phi));
            assert_true(error_of(3 * T, a, want.a) < bound && error_of(3 * T, jerk, want.jerk) < bound);
            assert_true(error_of(T, phi, want.phi) < bound);
            assert_ok(context,
                      shoal_tiled_forces(tiled, ALL, &(shoal_tiled_targets){.n = T, .index = index}, a, jerk, phi));
            assert_true(error_of(3 * T, a, other.a) < bound && error_of(3 * T, jerk, other.jerk) < bound);
            assert_true(error_of(T, phi, other.phi) < bound);
            assert_ok(context, shoal_tiled_forces(tiled, 0, &(shoal_tiled_targets){.n = 0}, a, NULL, NULL));
            shoal_tiled_destroy(&tiled);
        }
}

static void test_cpu_targets(void **state)
{
    check_targets(context_of(state), "cpu");
}

static void test_cuda_targets(void **state)
{
    need_tiled_gpu(context_of(state));
    check_targets(context_of(state), "cuda");
}

/* ---- the spline -------------------------------------------------------------------------------------------------- */

/* The force of a unit mass at the origin on a target at (r, 0, 0), and what it has been given. */
static void pull(shoal_tiled *tiled, shoal_context *context, double r, double w, double *a, double *jerk, double *phi)
{
    double x[3] = {r, 0, 0}, v[3] = {w, 0.5, 0}, a3[3], jerk3[3];
    assert_ok(context, shoal_tiled_forces(tiled, ALL, &(shoal_tiled_targets){.n = 1, .x = x, .v = v}, a3, jerk3, phi));
    assert_true(a3[1] == 0 && a3[2] == 0);
    *a = a3[0];
    jerk[0] = jerk3[0];
    jerk[1] = jerk3[1];
}

static void check_spline(shoal_context *context, const char *engine)
{
    const double eps = 0.5, h = 2.8 * eps, step = 1e-5;
    const bodies one = {.n = 1, .m = {1}};
    for (int k = 0; k < 2; k++) {
        const char *kernel = k ? NULL : full_kernel(engine, 0);
        shoal_tiled_options options = options_of(engine, kernel, SHOAL_TILED_FP64, eps);
        options.softening = SHOAL_TILED_SPLINE;
        here = one;
        shoal_tiled *tiled = make(context, &options, &here);
        double a, jerk[2], phi, before, after, a_before, a_after;
        pull(tiled, context, 0, 0, &a, jerk, &phi);
        assert_true(a == 0 && fabs(phi * eps + 1) < 1e-14);
        for (double r = 1.001 * h; r < 20; r *= 1.3) { /* Newton's law outside */
            pull(tiled, context, r, 0, &a, jerk, &phi);
            assert_true(fabs(a * r * r + 1) < 1e-13 && fabs(phi * r + 1) < 1e-13);
        }
        pull(tiled, context, 1e-4 * h, 0, &a, jerk, &phi); /* a homogeneous ball in the middle */
        assert_true(fabs(a / (1e-4 * h) * h * h * h + 32. / 3) < 1e-5);
        /* the force is the slope of the potential, the jerk the rate of the force */
        for (double r = 0.02; r < 1.2 * h; r += 0.0501) {
            pull(tiled, context, r, 0.25, &a, jerk, &phi);
            pull(tiled, context, r - step, 0.25, &a_before, jerk, &before);
            pull(tiled, context, r + step, 0.25, &a_after, jerk, &after);
            assert_true(fabs(a + (after - before) / (2 * step)) < 1e-7);
            pull(tiled, context, r, 0.25, &a, jerk, &phi);
            assert_true(fabs(jerk[0] - 0.25 * (a_after - a_before) / (2 * step)) < 1e-6);
            assert_true(fabs(jerk[1] - 0.5 * a / r) < 1e-12); /* the direction turns */
        }
        shoal_tiled_destroy(&tiled);
    }
    /* all kernels and precisions agree with the first */
    make_bodies(500, true, &here);
    shoal_tiled_options options = options_of("cpu", "plain", SHOAL_TILED_FP64, 0.2);
    options.softening = SHOAL_TILED_SPLINE;
    compute(context, &options, &here, &want);
    for (int i = 0; (options.kernel = full_kernel(engine, i)); i++)
        for (int precision = 0; precision < SHOAL_TILED_PRECISIONS; precision++) {
            options.engine = engine;
            options.precision = precision;
            compute(context, &options, &here, &got);
            assert_true(error_of(3 * here.n, got.a, want.a) < bounds[precision]);
            assert_true(error_of(3 * here.n, got.jerk, want.jerk) < 10 * bounds[precision]);
            assert_true(error_of(here.n, got.phi, want.phi) < bounds[precision]);
        }
}

static void test_cpu_spline(void **state)
{
    check_spline(context_of(state), "cpu");
}

static void test_cuda_spline(void **state)
{
    need_tiled_gpu(context_of(state));
    check_spline(context_of(state), "cuda");
}

/* ---- bits and sums ----------------------------------------------------------------------------------------------- */

/* Every pair once, by each form that does so: what one body gains the other loses, to rounding of the sums alone;
 * roots: of all masses. */
static void check_momentum(shoal_context *context, const char *engine, bool roots)
{
    const char *kernel;
    make_bodies(N_MAX, false, &here);
    for (int b = 0; roots && b < here.n; b++)
        here.m[b] = fmax(here.m[b], 1e-6);
    for (int i = 0; (kernel = shoal_tiled_kernel(engine, i, NULL)); i++)
        for (int k = 0; k < 2 * SHOAL_TILED_PRECISIONS; k++) {
            shoal_tiled_options options = options_of(engine, kernel, k / 2, 0.01);
            options.wants = k % 2 ? ALL : 0;
            if (strncmp(kernel, "edges", 5) != 0 ||
                !shoal_tiled_can(engine, kernel, options.precision, options.wants) ||
                (roots && options.precision != SHOAL_TILED_FP32))
                continue;
            shoal_tiled *tiled = make(context, &options, &here);
            assert_ok(context, shoal_tiled_forces(tiled, options.wants, NULL, got.a, got.jerk, got.phi));
            shoal_tiled_destroy(&tiled);
            for (int c = 0; c < 3; c++) {
                long double sum = 0, size = 0;
                for (long b = 0; b < here.n; b++) {
                    sum += (long double)here.m[b] * got.a[c * here.n + b];
                    size += here.m[b] * fabs(got.a[c * here.n + b]);
                }
                if (!(fabsl(sum) < (options.precision == SHOAL_TILED_FP64 ? 1e-15L : 1e-7L) * size))
                    fail_msg("%s %s %s: along %d the forces add up to %.1Le of their size", engine, kernel,
                             shoal_tiled_precision_name(options.precision), c, sum / size);
            }
        }
}

static void test_cpu_momentum(void **state)
{
    check_momentum(context_of(state), "cpu", false);
}

static void test_cuda_momentum(void **state)
{
    need_tiled_gpu(context_of(state));
    check_momentum(context_of(state), "cuda", false);
    check_momentum(context_of(state), "cuda", true);
}

static void check_bits(shoal_context *context, const char *engine)
{
    make_bodies(3001, false, &here);
    for (int precision = 0; precision < SHOAL_TILED_PRECISIONS; precision++)
        for (int threads = 1; threads <= 4; threads++) {
            shoal_tiled_options options = options_of(engine, NULL, precision, 0.01);
            options.threads = threads;
            compute(context, &options, &here, threads == 1 ? &want : &got);
            if (threads > 1) {
                assert_memory_equal(want.a, got.a, (size_t)here.n * 3 * sizeof(double));
                assert_memory_equal(want.jerk, got.jerk, (size_t)here.n * 3 * sizeof(double));
                assert_memory_equal(want.phi, got.phi, (size_t)here.n * sizeof(double));
            }
        }
}

static void test_cpu_bits(void **state)
{
    check_bits(context_of(state), "cpu");
}

static void test_cuda_bits(void **state)
{
    need_tiled_gpu(context_of(state));
    check_bits(context_of(state), "cuda");
}

/* ---- many bodies, many devices ----------------------------------------------------------------------------------- */

typedef struct many {
    long n;
    double *m, *x, *v, *a, *jerk;
} many;

static void many_create(long n, many *b)
{
    double *room = calloc((size_t)n, 13 * sizeof *room);
    uint64_t state = 5;
    assert_non_null(room);
    *b = (many){n, room, room + n, room + 4 * n, room + 7 * n, room + 10 * n};
    for (long i = 0; i < n; i++)
        b->m[i] = uniform(&state) / (double)n;
    for (long i = 0; i < 6 * n; i++)
        b->x[i] = uniform(&state) * uniform(&state);
}

static void many_forces(shoal_context *context, const shoal_tiled_options *options, many *b,
                        const shoal_tiled_targets *targets)
{
    shoal_tiled *tiled = NULL;
    assert_ok(context, shoal_tiled_create(context, options, b->n, &tiled));
    assert_ok(context, shoal_tiled_sources(tiled, b->n, b->m, b->x, b->v));
    assert_ok(context, shoal_tiled_forces(tiled, options->wants, targets, b->a, b->jerk, NULL));
    shoal_tiled_destroy(&tiled);
}

/* Some targets of so many sources, which all threads look through. */
static void check_many(shoal_context *context, long n, int max_threads)
{
    enum { T = 10 };
    many b;
    long index[T];
    double a[3 * T], once[3 * T];
    many_create(n, &b);
    for (int i = 0; i < T; i++)
        index[i] = i * (n - 1) / (T - 1);
    const shoal_tiled_targets targets = {.n = T, .index = index};
    shoal_tiled_options options = {.engine = "cpu", .kernel = "plain", .eps = 0.01};
    many_forces(context, &options, &b, &targets);
    memcpy(a, b.a, sizeof a);
    options = (shoal_tiled_options){.engine = "cpu", .precision = SHOAL_TILED_FP32, .eps = 0.01};
    for (options.threads = 1; options.threads <= max_threads; options.threads++) {
        many_forces(context, &options, &b, &targets);
        assert_true(error_of(3 * T, b.a, a) < bounds[SHOAL_TILED_FP32]);
        if (options.threads > 1)
            assert_memory_equal(b.a, once, sizeof once);
        memcpy(once, b.a, sizeof once);
    }
    free(b.m);
}

static void test_cpu_many(void **state)
{
    check_many(context_of(state), 40001, 3);
    check_many(context_of(state), 10000000, 1); /* 1.9 GB */
}

/* The pairs of so many bodies are done in parts. */
static void test_cuda_many(void **state)
{
    enum { N = 140001, T = 40 };
    shoal_context *context = context_of(state);
    need_tiled_gpu(context);
    many b;
    long index[T];
    static double a[3 * T], jerk[3 * T], got_a[3 * T], got_jerk[3 * T];
    many_create(N, &b);
    for (int i = 0; i < T; i++)
        index[i] = (long)i * (N - 1) / (T - 1);
    shoal_tiled_options options = {.engine = "cpu", .kernel = "plain", .eps = 0.01, .wants = SHOAL_TILED_JERK};
    many_forces(context, &options, &b, &(shoal_tiled_targets){.n = T, .index = index});
    memcpy(a, b.a, sizeof a);
    memcpy(jerk, b.jerk, sizeof jerk);
    for (int precision = 0; precision < SHOAL_TILED_PRECISIONS; precision++) {
        options = (shoal_tiled_options){
            .engine = "cuda", .precision = precision, .eps = 0.01, .wants = SHOAL_TILED_JERK};
        many_forces(context, &options, &b, NULL);
        for (int i = 0; i < 3 * T; i++) {
            got_a[i] = b.a[i / T * N + index[i % T]];
            got_jerk[i] = b.jerk[i / T * N + index[i % T]];
        }
        assert_true(error_of(3 * T, got_a, a) < bounds[precision]);
        assert_true(error_of(3 * T, got_jerk, jerk) < bounds[precision]);
    }
    free(b.m);
}

/* All that can be asked for, of all sources, some of them, and other places; again after others were measured in
 * between. Returns how many numbers that is. */
static size_t all_ways(shoal_context *context, const shoal_tiled_options *options, const many *b, const long *index,
                       double *out)
{
    const shoal_tiled_targets some = {.n = b->n / 2 + 1, .index = index},
                              places = {.n = b->n / 3 + 1, .x = b->v, .v = b->x};
    const shoal_tiled_targets *const targets[] = {NULL, &some, &places, NULL};
    double *to = out;
    shoal_tiled *tiled = NULL;
    assert_ok(context, shoal_tiled_create(context, options, b->n, &tiled));
    assert_ok(context, shoal_tiled_sources(tiled, b->n, b->m, b->x, b->v));
    for (int wants = 0; wants <= ALL; wants++)
        for (int k = 0; k < SHOAL_COUNT(targets) && (wants & options->wants) == wants; k++) {
            const long n = targets[k] ? targets[k]->n : b->n;
            if (k == 3) {
                char before[32];
                snprintf(before, sizeof before, "%s", shoal_tiled_picked(tiled, wants));
                assert_ok(context, shoal_tiled_tune(tiled, wants, INFINITY));
                shoal_tiled_pick(tiled, wants, before);
            }
            assert_ok(context, shoal_tiled_forces(tiled, wants, targets[k], to, to + 3 * n, to + 6 * n));
            for (int q = 3; q < 7; q++) /* nothing is written there */
                if (!(wants & (q < 6 ? SHOAL_TILED_JERK : SHOAL_TILED_POTENTIAL)))
                    memset(to + q * n, 0, (size_t)n * sizeof *to);
            to += 7 * n;
        }
    shoal_tiled_destroy(&tiled);
    return (size_t)(to - out);
}

/* With two devices the same bits as with one. */
static void test_cuda_devices(void **state)
{
    static const long counts[] = {1, 2, 3000, 140001};
    static const char *const kernels[] = {NULL, "rows", "lanes", "edges_sorted"};
    shoal_context *context = context_of(state);
    need_tiled_gpu(context);
    shoal_tiled_options options = {.engine = "cuda", .n_devices = 2};
    shoal_tiled *two = NULL;
    struct cache cache;
    if (shoal_tiled_create(context, &options, 10, &two)) {
        print_message("%s\n", shoal_context_message(context));
        skip();
    }
    cache_begin(&cache);
    for (int k = 0; k < SHOAL_COUNT(counts); k++) {
        const long n = counts[k];
        const size_t room = (size_t)(7 * 4 * (3 * n + n / 2 + n / 3 + 2));
        double *once = calloc(room, sizeof *once), *twice = calloc(room, sizeof *twice);
        long *index = calloc((size_t)n, sizeof *index);
        many b;
        assert_true(once && twice && index);
        many_create(n, &b);
        for (long i = 0; i < n; i++)
            index[i] = (i * 7919) % n;
        for (int precision = 0; precision < SHOAL_TILED_PRECISIONS; precision++)
            for (int kernel = 0; kernel < SHOAL_COUNT(kernels); kernel++) {
                if (kernels[kernel] && !shoal_tiled_can("cuda", kernels[kernel], precision, 0))
                    continue;
                const bool all = !kernels[kernel] || shoal_tiled_can("cuda", kernels[kernel], precision, ALL);
                options = (shoal_tiled_options){.engine = "cuda",
                                                .kernel = kernels[kernel],
                                                .precision = precision,
                                                .eps = 0.01,
                                                .wants = all ? ALL : SHOAL_TILED_POTENTIAL,
                                                .n_devices = 1,
                                                .tune = SHOAL_TILED_TUNE_ALWAYS};
                const size_t size = all_ways(context, &options, &b, index, once);
                options.n_devices = 2;
                assert_int_equal(all_ways(context, &options, &b, index, twice), size);
                for (size_t i = 0; i < size; i++)
                    if (memcmp(&once[i], &twice[i], sizeof *once) != 0)
                        fail_msg("%ld bodies, %s, %s: number %zu of %zu is %.17g on one device, %.17g on two", n,
                                 shoal_tiled_precision_name(precision), kernels[kernel] ? kernels[kernel] : "auto", i,
                                 size, once[i], twice[i]);
            }
        free(once);
        free(twice);
        free(index);
        free(b.m);
    }
    shoal_tiled_destroy(&two);
    cache_end(&cache);
}

/* ---- what is measured and kept ----------------------------------------------------------------------------------- */

static void test_kept(void **state)
{
    (void)state;
    struct cache cache;
    char command[512];
    shoal_tiled_options options = {.eps = 0.1};
    cache_begin(&cache);
    assert_int_equal(shoal_tiled_variant_kept("a GPU", &options, 0, true, 1500), -1);
    shoal_tiled_variant_keep("a GPU", &options, 0, true, 1500, VARIANT_EDGES_SMALL);
    assert_int_equal(shoal_tiled_variant_kept("a GPU", &options, 0, true, 1024), VARIANT_EDGES_SMALL);
    assert_int_equal(shoal_tiled_variant_kept("a GPU", &options, 0, true, 2048), -1);
    assert_int_equal(shoal_tiled_variant_kept("a GPU", &options, 0, false, 1500), -1);
    assert_int_equal(shoal_tiled_variant_kept("a GPU", &options, SHOAL_TILED_JERK, true, 1500), -1);
    assert_int_equal(shoal_tiled_variant_kept("another", &options, 0, true, 1500), -1);
    options.precision = SHOAL_TILED_FP32;
    assert_int_equal(shoal_tiled_variant_kept("a GPU", &options, 0, true, 1500), -1);
    options.precision = SHOAL_TILED_FP64;
    snprintf(command, sizeof command, "for f in %s/shoal/*.choice; do echo nothing > $f; done", cache.folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(shoal_tiled_variant_kept("a GPU", &options, 0, true, 1500), -1);
    cache_end(&cache);
}

/* What auto takes on a GPU, which its line says: what was measured if there is something, and if it is wanted. What
 * was measured is kept, and computes the same forces; a run that is too short for it is not held up. */
static void test_cuda_tune(void **state)
{
    static const struct {
        shoal_tiled_tuning tune;
        double n_evaluations; /* 0: nobody asks to measure */
        const char *pick, *why;
    } cases[] = {
        {SHOAL_TILED_TUNE_AUTO, 0, NULL, "(by the number of bodies)"},
        {SHOAL_TILED_TUNE_AUTO, 1e3, NULL, "too short a run"}, /* by their number alone */
        {SHOAL_TILED_TUNE_AUTO, 1e4, NULL, "too short a run"}, /* 0.03 ms each */
        {SHOAL_TILED_TUNE_NEVER, INFINITY, NULL, "(by the number of bodies)"},
        {SHOAL_TILED_TUNE_AUTO, 1e12, NULL, "(the fastest of 4 measured)"},
        {SHOAL_TILED_TUNE_AUTO, 0, NULL, "(the fastest when measured here)"},
        {SHOAL_TILED_TUNE_AUTO, 1e12, NULL, "(the fastest when measured here)"},
        {SHOAL_TILED_TUNE_NEVER, 1e12, NULL, "(by the number of bodies)"},
        {SHOAL_TILED_TUNE_ALWAYS, 0, NULL, "(by the number of bodies)"},
        {SHOAL_TILED_TUNE_ALWAYS, 1, NULL, "(the fastest of 4 measured)"},
        {SHOAL_TILED_TUNE_AUTO, 1e12, "edges", "; edges (as it began)"},
        {SHOAL_TILED_TUNE_ALWAYS, 1e12, "rows", "; rows (as it began)"},
    };
    shoal_context *context = context_of(state);
    struct cache cache;
    need_tiled_gpu(context);
    cache_begin(&cache);
    make_bodies(1000, false, &here);
    oracle(&here, 0.05, &want);
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        shoal_tiled_options options = options_of("cuda", NULL, SHOAL_TILED_FP64, 0.05);
        options.tune = cases[k].tune;
        shoal_tiled *tiled = make(context, &options, &here);
        if (cases[k].pick)
            shoal_tiled_pick(tiled, ALL, cases[k].pick);
        if (cases[k].n_evaluations > 0)
            assert_ok(context, shoal_tiled_tune(tiled, ALL, cases[k].n_evaluations));
        assert_ok(context, shoal_tiled_forces(tiled, ALL, NULL, got.a, got.jerk, got.phi));
        assert_true(error_of(3 * here.n, got.a, want.a) < bounds[0]);
        if (!strstr(shoal_tiled_line(tiled), cases[k].why))
            fail_msg("case %d: '%s' does not say '%s'", k, shoal_tiled_line(tiled), cases[k].why);
        if (cases[k].pick) {
            assert_string_equal(shoal_tiled_picked(tiled, ALL), cases[k].pick);
            options.kernel = cases[k].pick;
            compute(context, &options, &here, &other);
            assert_memory_equal(got.a, other.a, (size_t)here.n * 3 * sizeof(double));
        }
        shoal_tiled_destroy(&tiled);
    }
    cache_end(&cache);
}

/* There is nothing to choose on a CPU, and what a GPU had is no name of its. */
static void test_cpu_tune(void **state)
{
    shoal_context *context = context_of(state);
    make_bodies(100, true, &here);
    shoal_tiled_options options = options_of("cpu", NULL, SHOAL_TILED_FP64, 0.05);
    options.tune = SHOAL_TILED_TUNE_ALWAYS;
    compute(context, &options, &here, &want);
    shoal_tiled *tiled = make(context, &options, &here);
    assert_ok(context, shoal_tiled_tune(tiled, ALL, INFINITY));
    assert_string_equal(shoal_tiled_picked(tiled, ALL), "auto");
    shoal_tiled_pick(tiled, ALL, "edges_small");
    assert_ok(context, shoal_tiled_forces(tiled, ALL, NULL, got.a, got.jerk, got.phi));
    assert_memory_equal(want.a, got.a, (size_t)here.n * 3 * sizeof(double));
    shoal_tiled_destroy(&tiled);
    options.kernel = "rows";
    tiled = make(context, &options, &here);
    assert_string_equal(shoal_tiled_picked(tiled, ALL), "rows");
    shoal_tiled_destroy(&tiled);
}

/* ---- units ------------------------------------------------------------------------------------------------------- */

/* Units change by powers of two: so do the results, bit by bit, however large or small they are. */
static void test_units(void **state)
{
    shoal_context *context = context_of(state);
    const double length = 0x1p150, mass = 0x1p-90, speed = 0x1p40;
    make_bodies(300, false, &here);
    for (int precision = 0; precision < SHOAL_TILED_PRECISIONS; precision++) {
        make_bodies(300, false, &here);
        shoal_tiled_options options = options_of("cpu", NULL, precision, 0.01);
        compute(context, &options, &here, &want);
        for (long i = 0; i < 3 * here.n; i++) {
            here.x[i] *= length;
            here.v[i] *= speed;
            here.m[i % here.n] *= i < here.n ? mass : 1;
            want.a[i] *= mass / length / length;
            want.jerk[i] *= mass / length / length / length * speed;
            want.phi[i % here.n] *= i < here.n ? mass / length : 1;
        }
        options.eps *= length;
        compute(context, &options, &here, &got);
        assert_memory_equal(want.a, got.a, (size_t)here.n * 3 * sizeof(double));
        assert_memory_equal(want.jerk, got.jerk, (size_t)here.n * 3 * sizeof(double));
        assert_memory_equal(want.phi, got.phi, (size_t)here.n * sizeof(double));
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void refuse(shoal_context *context, shoal_tiled_options options, const char *word)
{
    shoal_tiled *tiled = (shoal_tiled *)1;
    assert_int_equal(shoal_tiled_create(context, &options, 100, &tiled), SHOAL_E_USAGE);
    assert_null(tiled);
    if (!strstr(shoal_context_message(context), word))
        fail_msg("'%s' says nothing of '%s'", shoal_context_message(context), word);
}

static void test_refusals(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_tiled_options good = options_of("cpu", NULL, SHOAL_TILED_FP64, 0.1);
    shoal_tiled_options bad = good;
    bad.engine = "tpu";
    refuse(context, bad, "cpu or cuda");
    bad = good, bad.kernel = "edgse";
    refuse(context, bad, "did you mean \"edges\"");
    bad = good, bad.kernel = "naive";
    refuse(context, bad, "\"naive\" computes no fp64");
    bad.precision = SHOAL_TILED_FP32;
    refuse(context, bad, "\"naive\" computes no potential");
    bad = good, bad.eps = -1;
    refuse(context, bad, "softening length -1");
    bad = good, bad.eps = 0, bad.softening = SHOAL_TILED_SPLINE;
    refuse(context, bad, "spline");
    bad = good, bad.tune = (shoal_tiled_tuning)3;
    refuse(context, bad, "tune 3");
    bad = good, bad.n_devices = 2;
    refuse(context, bad, "n_devices = 2");

    make_bodies(10, true, &here);
    shoal_tiled *tiled = make(context, &good, &here);
    here.x[13] = NAN;
    assert_int_equal(shoal_tiled_sources(tiled, 10, here.m, here.x, here.v), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "body 3: the position along y"));
    here.x[13] = 0;
    here.m[4] = -1;
    assert_int_equal(shoal_tiled_sources(tiled, 10, here.m, here.x, here.v), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "body 4: mass -1"));
    const long index[] = {0, 10};
    const shoal_tiled_targets targets = {.n = 2, .index = index};
    assert_int_equal(shoal_tiled_forces(tiled, 0, &targets, got.a, NULL, NULL), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "body 10: expected 0 to 9"));
    assert_ok(context, shoal_tiled_forces(tiled, 0, NULL, got.a, NULL, NULL)); /* a refusal changed nothing */
    shoal_tiled_destroy(&tiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_oracle),
        cmocka_unit_test(test_cpu_wants),
        cmocka_unit_test(test_cpu_targets),
        cmocka_unit_test(test_cpu_spline),
        cmocka_unit_test(test_cpu_momentum),
        cmocka_unit_test(test_cpu_bits),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_cuda_oracle),
        cmocka_unit_test(test_cuda_wants),
        cmocka_unit_test(test_cuda_masses_by_roots),
        cmocka_unit_test(test_cuda_sorted),
        cmocka_unit_test(test_cuda_masses_of_a_star),
        cmocka_unit_test(test_cpu_star),
        cmocka_unit_test(test_cuda_star),
        cmocka_unit_test(test_cuda_targets),
        cmocka_unit_test(test_cuda_spline),
        cmocka_unit_test(test_cuda_momentum),
        cmocka_unit_test(test_cuda_bits),
        cmocka_unit_test(test_cpu_steps),
        cmocka_unit_test(test_cuda_steps),
        cmocka_unit_test(test_cpu_many),
        cmocka_unit_test(test_cuda_many),
        cmocka_unit_test(test_cuda_devices),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_cpu_tune),
        cmocka_unit_test(test_cuda_tune),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, setup, teardown);
}
