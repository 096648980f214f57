/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_bench_range.c: `shoal bench --range KEY=A..B STUDY.cfg`: a study timed with one number of its config going
 * from A to B, such as its step, its threads or its systems. Each answer is checked by its energy errors.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/command/command.h"

/* KEY=A..B, A..B:N or A..B:xF. */
typedef struct range {
    char key[128];
    double from, to, factor; /* factor: from value to value, 0 = n equal steps */
    long n;                  /* values */
} range;

static bool read_range(const char *text, range *r)
{
    const char *equals = strchr(text, '=');
    char *end;
    if (!equals || equals == text || equals - text >= (long)sizeof r->key)
        return false;
    snprintf(r->key, sizeof r->key, "%.*s", (int)(equals - text), text);
    const char *dots = strstr(equals, ".."); /* strtod would take the first dot of 1..9 */
    char *first = dots ? strndup(equals + 1, (size_t)(dots - equals - 1)) : NULL;
    if (!first)
        return false;
    r->from = strtod(first, &end);
    bool good = end != first && *end == '\0' && isfinite(r->from);
    free(first);
    r->to = strtod(dots + 2, &end);
    good = good && end != dots + 2 && isfinite(r->to) && r->to >= r->from;
    r->factor = 2;
    if (*end == ':' && end[1] == 'x')
        r->factor = strtod(end + 2, &end);
    else if (*end == ':') {
        r->factor = 0;
        r->n = strtol(end + 1, &end, 10);
    }
    if (!good || *end != '\0')
        return false;
    if (r->factor == 0)
        return r->n >= 1;
    r->n = r->factor > 1 && r->from > 0 ? 1 + (long)floor(log(r->to / r->from) / log(r->factor) * (1 + 1e-12)) : 0;
    return r->n >= 1;
}

static double value_of(const range *r, long i)
{
    if (r->factor > 0)
        return r->from * pow(r->factor, (double)i);
    return r->n == 1 ? r->from : r->from + (r->to - r->from) * (double)i / (double)(r->n - 1);
}

/* Since the first report, when all is compiled and prepared. */
typedef struct stopwatch {
    double began, seconds;
    bool started;
} stopwatch;

static int watch(const shoal_progress *progress, void *user)
{
    stopwatch *time = user;
    if (!time->started)
        time->began = progress->seconds;
    time->started = true;
    time->seconds = progress->seconds - time->began;
    return 0;
}

/* One run of the study, one line; ahead of the first one the heading. overrides: [n_names], the last is the range's;
 * key: NULL for the others. */
static shoal_status bench_value(shoal_context *context, const bench_options *options, const char *const *overrides,
                                const char *key, const char *value, const char *output)
{
    const char *path = options->names[0];
    shoal_study *study = NULL;
    shoal_result *result = NULL;
    stopwatch time = {0};
    double steps = 0, worst = NAN;
    long survived = 0;
    shoal_status status = shoal_study_load(context, path, options->n_names, overrides, &study);
    if (!status && study->big)
        status = shoal_fail(context, SHOAL_E_USAGE, "%s: expected a study of an ensemble, not of one big system", path);
    if (status) {
        shoal_study_destroy(&study);
        return status;
    }
    free(study->output);
    study->output = strdup(output);
    status = shoal_study_run(study, 1, watch, &time);
    if (!status)
        status = shoal_store_read(context, output, &result);
    for (long s = 0; !status && s < result->n_systems; s++) {
        steps += result->n_steps[s];
        survived += result->outcome[s] == SHOAL_SURVIVED;
        if (result->outcome[s] == SHOAL_SURVIVED)
            worst = fmax(worst, fabs(result->dE_final[s]));
    }
    if (!status && key)
        printf("%s,systems,bodies,survived,steps,seconds,ns_per_system_step,error,plan\n", key);
    if (!status) {
        printf("%s,%ld,%d,%ld,%.0f,%.6f,%.5g,", value, result->n_systems, result->n_bodies, survived, steps,
               time.seconds, steps > 0 ? 1e9 * time.seconds / steps : 0);
        if (!isnan(worst))
            printf("%.3e", worst);
        printf(",\"%s\"\n", result->plan_line);
        fflush(stdout);
        if (worst > options->limit)
            status = shoal_fail(context, SHOAL_E_INTERNAL,
                                "%s: a system survived with an energy error of %.3g, above %.3g",
                                overrides[options->n_names - 1], worst, options->limit);
    }
    shoal_result_destroy(&result);
    shoal_study_destroy(&study);
    return status;
}

int bench_range(const bench_options *options)
{
    const int n_words = options->n_names;
    const char *tmp = getenv("TMPDIR");
    const char **overrides = calloc((size_t)n_words + 1, sizeof *overrides);
    char folder[3072], output[4096], override[256];
    shoal_context *context = NULL;
    range r = {0};
    int code = EXIT_OK;

    if (!read_range(options->range, &r) || n_words < 1) {
        free(overrides);
        if (n_words < 1)
            return usage_error("bench: expected a study: shoal bench --range KEY=A..B STUDY.cfg");
        return usage_error("bench: --range %s: expected KEY=A..B, KEY=A..B:N (values) or KEY=A..B:xF (factor)",
                           options->range);
    }
    snprintf(folder, sizeof folder, "%s/shoal-bench.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!overrides || shoal_context_create(&context) || !mkdtemp(folder)) {
        code = failed(context, shoal_fail(context, SHOAL_E_FILE, "bench: %s: cannot be made", folder));
        goto fail;
    }
    shoal_context_allow_plugins(context, options->allow_plugins);
    snprintf(output, sizeof output, "%s/run.h5", folder);
    for (int i = 1; i < n_words; i++)
        overrides[i - 1] = options->names[i];
    overrides[n_words - 1] = override;
    for (long i = 0; i < r.n && code == EXIT_OK; i++) {
        char value[40];
        snprintf(value, sizeof value, "%.15g", value_of(&r, i));
        snprintf(override, sizeof override, "%s=%s%s", r.key, value, strpbrk(value, ".e") ? "" : ".0");
        const shoal_status status = bench_value(context, options, overrides, i == 0 ? r.key : NULL, value, output);
        if (status)
            code = failed_input(context, status);
        unlink(output);
    }
    rmdir(folder);
fail:
    shoal_context_destroy(&context);
    free(overrides);
    return code == EXIT_OK ? flush_output() : code;
}
