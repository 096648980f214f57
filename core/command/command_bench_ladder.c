/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_bench_ladder.c: `shoal bench ladder [STEP ...] [N ...]`: every kernel, or those named, of the forces of one
 * big system on this machine's engines, from the first thing one writes to the fastest, each checked against double
 * precision before its time is printed: the plain sum of 256 bodies on the CPU, and single precision and mixed, where
 * there is a GPU, that GPU's fp64 of all of them.
 *
 * The bodies are a Plummer sphere of equal masses, or with --csv's column `masses` = unequal of masses between 0 and
 * twice the mean; the softening is 0.01 of its scale length. An interaction is what one body does to another: N^2 of
 * them an evaluation, those of a body with itself included.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/command.h"
#include "gravitation/tiled/tiled.h"

enum { N_SAMPLES = 256, MOST_CHECKED = 1 << 21 };
static const double eps = 0.01;

typedef struct sphere {
    long n;
    double *m, *x, *v;      /* [n], [3][n], [3][n] */
    double *a, *jerk, *phi; /* room for results */
    long sample[N_SAMPLES];
    int n_samples;
    double want[6 * N_SAMPLES]; /* acceleration and jerk of the samples, in double precision */
    double *want_all;           /* [6][n], those of all bodies, NULL = there is no GPU for it */
} sphere;

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

/* Accelerations and jerks of some bodies, NULL = of all, in double precision. */
static shoal_status find_wanted(shoal_context *context, const char *engine, const char *kernel, int threads,
                                const sphere *model, const shoal_tiled_targets *targets, double *want)
{
    const shoal_tiled_options options = {
        .engine = engine, .kernel = kernel, .eps = eps, .wants = SHOAL_TILED_JERK, .threads = threads};
    const long n = targets ? targets->n : model->n;
    shoal_tiled *tiled = NULL;
    shoal_status status = shoal_tiled_create(context, &options, model->n, &tiled);
    if (!status)
        status = shoal_tiled_sources(tiled, model->n, model->m, model->x, model->v);
    if (!status)
        status = shoal_tiled_forces(tiled, SHOAL_TILED_JERK, targets, want, want + 3 * n, NULL);
    shoal_tiled_destroy(&tiled);
    return status;
}

/* A Plummer sphere of total mass 1 and scale length 1 (Aarseth, Henon & Wielen 1974) out to 20; velocities are any. */
static shoal_status model_create(shoal_context *context, long n, bool equal, int threads, sphere *model)
{
    double *room = shoal_allocate((size_t)n, 14 * sizeof(double));
    if (!room)
        return shoal_fail(context, SHOAL_E_MEMORY, "no memory for %ld bodies", n);
    model->n = n;
    model->m = room;
    model->x = room + n;
    model->v = room + 4 * n;
    model->a = room + 7 * n;
    model->jerk = room + 10 * n;
    model->phi = room + 13 * n;
    uint64_t state = 1;
    for (long i = 0; i < n; i++) {
        double r;
        do
            r = 1 / sqrt(pow(uniform(&state), -2. / 3) - 1);
        while (r > 20);
        const double z = 2 * uniform(&state) - 1, f = 2 * M_PI * uniform(&state), q = sqrt(1 - z * z);
        model->m[i] = (equal ? 1 : 2 * uniform(&state)) / (double)n;
        model->x[i] = r * q * cos(f);
        model->x[n + i] = r * q * sin(f);
        model->x[2 * n + i] = r * z;
        for (int c = 0; c < 3; c++)
            model->v[c * n + i] = uniform(&state) - 0.5;
    }
    model->n_samples = n < N_SAMPLES ? (int)n : N_SAMPLES;
    for (int i = 0; i < model->n_samples; i++)
        model->sample[i] = i * (n / model->n_samples);
    const shoal_tiled_targets targets = {.n = model->n_samples, .index = model->sample};
    return find_wanted(context, "cpu", "plain", threads, model, &targets, model->want);
}

/* What all bodies should have, by a GPU in double precision. */
static shoal_status want_all(shoal_context *context, sphere *model)
{
    if (model->n > MOST_CHECKED)
        return SHOAL_OK;
    model->want_all = shoal_allocate((size_t)model->n, 6 * sizeof(double));
    if (!model->want_all)
        return shoal_fail(context, SHOAL_E_MEMORY, "no memory for %ld bodies", model->n);
    return find_wanted(context, "cuda", "edges", 0, model, NULL, model->want_all);
}

/* rms and largest error of accelerations (or jerks) relative to their rms: of all bodies, or of the samples. */
static void errors(const sphere *model, const double *got, bool jerk, bool all, double *rms, double *largest)
{
    double sum = 0, errors_sum = 0, worst = 0;
    const long n = all ? model->n : model->n_samples;
    const double *want = (all ? model->want_all : model->want) + (jerk ? 3 * n : 0);
    for (long i = 0; i < n; i++) {
        double e2 = 0;
        for (int c = 0; c < 3; c++) {
            const double w = want[c * n + i], e = got[c * model->n + (all ? i : model->sample[i])] - w;
            e2 += e * e;
            sum += w * w;
        }
        errors_sum += e2;
        worst = fmax(worst, e2);
    }
    *rms = sqrt(errors_sum / sum);
    *largest = sqrt(worst / (sum / (double)n));
}

typedef struct step {
    const char *engine, *kernel, *doc;
    shoal_tiled_precision precision;
    int wants;
} step;

/* What an answer must keep to: of half precision it is only that it is an answer. */
static double bound_of(const step *s)
{
    static const double bounds[SHOAL_TILED_PRECISIONS] = {
        [SHOAL_TILED_FP64] = 1e-12, [SHOAL_TILED_MIXED] = 1e-6, [SHOAL_TILED_FP32] = 1e-5};
    if (strcmp(s->kernel, "half") == 0)
        return 0.5;
    return strncmp(s->kernel, "naive", 5) == 0 ? 1e-3 : bounds[s->precision];
}

static shoal_status climb(shoal_context *context, const step *s, int threads, sphere *model, bool equal, bool csv)
{
    const shoal_tiled_options options = {.engine = s->engine,
                                         .kernel = s->kernel,
                                         .precision = s->precision,
                                         .eps = eps,
                                         .wants = s->wants,
                                         .threads = threads};
    const double interactions = (double)model->n * (double)model->n;
    shoal_tiled *tiled = NULL;
    double seconds, rms, largest;
    shoal_status status = shoal_tiled_create(context, &options, model->n, &tiled);
    if (!status)
        status = shoal_tiled_sources(tiled, model->n, model->m, model->x, model->v);
    if (!status && strcmp(s->kernel, "auto") == 0)
        status = shoal_tiled_tune(tiled, s->wants, INFINITY);
    if (!status)
        status = shoal_tiled_forces(tiled, s->wants, NULL, model->a, model->jerk, model->phi);
    if (!status)
        status = shoal_tiled_measure(tiled, s->wants, interactions > 1e11 ? 1 : 3, &seconds);
    if (!status) {
        const bool all = model->want_all && s->precision != SHOAL_TILED_FP64;
        errors(model, model->a, false, all, &rms, &largest);
        if (s->wants & SHOAL_TILED_JERK) {
            double jerk_rms, jerk_largest;
            errors(model, model->jerk, true, all, &jerk_rms, &jerk_largest);
            rms = fmax(rms, jerk_rms);
            largest = fmax(largest, jerk_largest);
        }
        if (!(rms <= bound_of(s)))
            status = shoal_fail(context, SHOAL_E_INTERNAL, "%s %s %s: rms error %.1e: expected at most %.1e", s->engine,
                                s->kernel, shoal_tiled_precision_name(s->precision), rms, bound_of(s));
    }
    if (!status)
        printf(csv ? "%s,%s,%s,%s,%s,%ld,%.6g,%.6g,%.2e,%.2e,%s\n"
                   : "%-5s %-16s %-6s %-4s %-8s %8ld %11.4g %11.4g %9.1e %9.1e  %s\n",
               s->engine, s->kernel, shoal_tiled_precision_name(s->precision),
               s->wants & SHOAL_TILED_JERK ? "jerk" : "", equal ? "equal" : "unequal", model->n, seconds * 1e3,
               interactions / seconds * 1e-9, rms, largest, csv ? "" : s->doc);
    shoal_tiled_destroy(&tiled);
    return status;
}

/* Steps that would take minutes on the CPU are left out. */
static bool too_long(const step *s, long n)
{
    const bool slow = strcmp(s->kernel, "plain") == 0 || strncmp(s->kernel, "naive", 5) == 0;
    return strcmp(s->engine, "cpu") == 0 && (double)n * (double)n > (slow ? 2e9 : 5e10);
}

/* Climb, and say what went wrong; true if something did. */
static bool failed_step(shoal_context *context, const step *s, int threads, sphere *model, bool equal, bool csv)
{
    const shoal_status status = climb(context, s, threads, model, equal, csv);
    fflush(stdout);
    if (status)
        fprintf(stderr, "shoal: bench ladder: without %s: %s\n", s->kernel, shoal_context_message(context));
    return status && status != SHOAL_E_UNSUPPORTED;
}

/* Whether a step is among the names; all are where there are none. */
static bool is_among(int n_names, char **names, const char *kernel)
{
    for (int i = 0; i < n_names; i++)
        if (strcmp(names[i], kernel) == 0)
            return true;
    return n_names == 0;
}

/* The steps of an engine in a model; the number that failed. Those that are only steps come first, auto is the last. */
static int climb_engine(shoal_context *context, const char *engine, const bench_options *options, sphere *model,
                        bool equal)
{
    int n_failed = 0;
    for (int jerk = 0; jerk < 2; jerk++)
        for (int precision = SHOAL_TILED_PRECISIONS - 1; precision >= 0; precision--) {
            step s = {.engine = engine, .precision = precision, .wants = jerk};
            for (int steps = 1; steps >= 0; steps--)
                for (int k = 0; (s.kernel = shoal_tiled_kernel(engine, k, &s.doc)); k++) {
                    const bool only_step = !shoal_tiled_can(engine, s.kernel, SHOAL_TILED_FP64, SHOAL_TILED_JERK);
                    if (only_step == steps && is_among(options->n_names, options->names, s.kernel) &&
                        shoal_tiled_can(engine, s.kernel, precision, jerk) && !too_long(&s, model->n) &&
                        (strcmp(s.kernel, "plain") != 0 || precision == SHOAL_TILED_FP64))
                        n_failed += failed_step(context, &s, options->threads, model, equal, options->csv);
                }
            s.kernel = "auto";
            s.doc = "the fastest of those that compute everything, from now on on this machine";
            if (strcmp(engine, "cuda") == 0 && is_among(options->n_names, options->names, s.kernel))
                n_failed += failed_step(context, &s, options->threads, model, equal, options->csv);
        }
    return n_failed;
}

static const char *const all_engines[] = {"cpu", "cuda"};

static bool is_asked(const char *asked, const char *engine)
{
    return !asked || strcmp(asked, "auto") == 0 || strcmp(asked, engine) == 0;
}

/* The engines that this machine has, of those asked for. */
static int engines_of(shoal_context *context, const char *asked, const char *engines[2])
{
    int n = 0;
    for (int i = 0; i < SHOAL_COUNT(all_engines); i++) {
        const shoal_tiled_options options = {.engine = all_engines[i]};
        shoal_tiled *tiled = NULL;
        if (!is_asked(asked, all_engines[i]))
            continue;
        if (shoal_tiled_create(context, &options, 1, &tiled) == SHOAL_OK)
            engines[n++] = all_engines[i];
        else
            fprintf(stderr, "shoal: bench ladder: without %s: %s\n", all_engines[i], shoal_context_message(context));
        shoal_tiled_destroy(&tiled);
    }
    return n;
}

/* A word that is no number of bodies names a step of the engines asked for, or is refused. */
static int check_step(const char *asked, const char *word)
{
    const char *names[64] = {"auto"}, *name;
    int n = 1;
    for (int e = 0; e < SHOAL_COUNT(all_engines); e++)
        for (int k = 0; is_asked(asked, all_engines[e]) && n < SHOAL_COUNT(names) &&
                        (name = shoal_tiled_kernel(all_engines[e], k, NULL));
             k++)
            names[n++] = name;
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], word) == 0)
            return EXIT_OK;
    name = shoal_nearest(word, names, n);
    return usage_error(
        "bench ladder: '%s': expected a number of bodies from 2 to 1e8, or a force method (`shoal list`)%s%s%s", word,
        name ? "; did you mean '" : "", name ? name : "", name ? "'?" : "");
}

int bench_ladder(const char *engine, int threads, bool csv, int n_words, char **words)
{
    static char *defaults[] = {"16384", "262144"};
    const char *engines[2];
    shoal_context *context;
    int n_counts = 0; /* they come to the front, and steps behind them */
    for (int i = 0; i < n_words; i++) {
        char *word = words[i], *end;
        const double n = strtod(word, &end);
        if (!*end && n >= 2 && n <= 1e8 && n == floor(n)) {
            words[i] = words[n_counts];
            words[n_counts++] = word;
        } else if (check_step(engine, word)) {
            return EXIT_USAGE;
        }
    }
    const bench_options options = {
        .threads = threads, .csv = csv, .names = words + n_counts, .n_names = n_words - n_counts};
    if (shoal_context_create(&context))
        return EXIT_FAILED;
    const int n_engines = engines_of(context, engine, engines);
    if (n_counts == 0) {
        words = defaults;
        n_counts = n_engines && strcmp(engines[n_engines - 1], "cuda") == 0 ? 2 : 1;
    }
    if (csv)
        puts("engine,kernel,precision,jerk,masses,bodies,milliseconds,interactions_per_ns,rms_error,largest_error,doc");
    else
        printf("%-5s %-16s %-6s %-4s %-8s %8s %11s %11s %9s %9s  %s\n", "", "kernel", "", "jerk", "masses", "bodies",
               "ms", "10^9/s", "rms error", "largest", "");
    int n_failed = 0;
    for (int i = 0; i < n_counts; i++)
        for (int equal = 0; equal < 2; equal++) {
            sphere model = {0};
            shoal_status status = model_create(context, (long)strtod(words[i], NULL), equal, threads, &model);
            if (!status && n_engines && strcmp(engines[n_engines - 1], "cuda") == 0)
                status = want_all(context, &model);
            for (int e = 0; !status && e < n_engines; e++)
                n_failed += climb_engine(context, engines[e], &options, &model, equal);
            if (status)
                return failed(context, status);
            free(model.m);
            free(model.want_all);
        }
    shoal_context_destroy(&context);
    return n_engines == 0 ? EXIT_UNSUPPORTED : n_failed ? EXIT_FAILED : EXIT_OK;
}
