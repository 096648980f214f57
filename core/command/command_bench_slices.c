/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_bench_slices.c: what an ensemble loses whose systems are not alike, and what a run that writes loses. Each
 * case is a study of three bodies, timed in turns with one that is as it should be:
 *
 *     thinning   90 % of the systems leave in the first tenth of the run     against steps/s of as many systems that
 *                all stay
 *     spread     adaptive steps whose lengths differ by a factor of 100      in random order against sorted, the same
 *                bits
 *     straggler  one system needs a thousand times the steps of the others   the others' time against theirs without it
 *     logging    a state of every system once an orbit                       against none, the same bits
 *
 * Rows are those of `shoal bench`; the loss is 1 - (time as it should be) / time. Where a tenth of the systems does not
 * fill the machine, thinning loses by that alone, whoever regroups them: so a tenth of the systems, all staying, is
 * timed too (`thinning-few`), and the loss is also given with their time for the steps that they make. Time is that of
 * the loop, from its first slice to the last rows; the file is written after it. It is well below a second on a large
 * GPU, where runs are of seconds to hours: --steps 1000 makes it ten times as long, and what the first slices lose,
 * which are short, is then seen for what it is. Of logging the cost is said, time / (time without) - 1.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/command/command.h"

enum { TURNS = 3, OUTPUTS = 16 };

/* What a study is made of. */
typedef struct scenario {
    const char *integrator; /* of the config */
    const char *monitors;
    double t_end, interval;                     /* inner units; interval 0 = none */
    bool far, dying, spread, sorted, straggler; /* far: so far out that the monitor looks at every step */
} scenario;

/* What came of it. */
typedef struct outcome {
    double seconds, others, steps, error; /* others: until one system is left */
    long n_snapshots, n_gone;
    uint64_t bits; /* of all final states, in whatever order the systems are */
    char engine[16], plan[512];
} outcome;

typedef struct stopwatch {
    double began, seconds, others;
    bool started;
} stopwatch;

static int watch(const shoal_progress *progress, void *user)
{
    stopwatch *time = user;
    if (!time->started)
        time->began = progress->seconds;
    time->started = true;
    time->seconds = progress->seconds - time->began;
    if (progress->n_by_outcome[SHOAL_RUNNING] > 1)
        time->others = time->seconds;
    return 0;
}

/* The number that system i of n has in the scenario: i, or a permutation of them (1e9 + 7 is prime). */
static long number_of(const scenario *c, long i, long n)
{
    return c->sorted || !(c->spread || c->dying) ? i : (long)((__int128)i * 1000000007 % n);
}

static void make_bodies(const scenario *c, long i, long n, shoal_body bodies[3])
{
    const long number = number_of(c, i, n);
    const double part = ((double)number + 0.5) / (double)n, phase = fmod(0.7 * (double)number, 2 * M_PI);
    const double scale = c->straggler && i == n / 2 ? 0.01 : c->spread ? pow(100, 2.0 / 3 * part) : 1;
    bodies[0] = (shoal_body){.m = 1};
    for (int k = 1; k < 3; k++) {
        const double a = scale * (k == 1 ? 1 : c->far ? 600 : 2), angle = phase + k, speed = 1 / sqrt(a);
        bodies[k] = (shoal_body){.m = 1e-5,
                                 .x = a * cos(angle),
                                 .y = a * sin(angle),
                                 .z = 0.01 * scale,
                                 .vx = -speed * sin(angle),
                                 .vy = speed * cos(angle)};
    }
    if (c->dying && part < 0.9) { /* 1000 away at its time */
        const double v = (1000 - 600) / (0.1 * c->t_end * (part / 0.9));
        bodies[2].vx = v * cos(phase + 2);
        bodies[2].vy = v * sin(phase + 2);
    }
}

static shoal_status open_scenario(shoal_context *context, const scenario *c, const bench_options *options,
                                  const char *output, shoal_study **study)
{
    char text[2048], interval[64] = "";
    shoal_body bodies[3];
    if (c->interval > 0)
        snprintf(interval, sizeof interval, " interval = %.17g;", c->interval);
    snprintf(text, sizeof text,
             "units = { G = 1.0; };\n"
             "system = { count = %ld; bodies = ( { name = \"a\"; m = 1.0; }, { name = \"b\"; m = 1e-5; a = 1.0; },\n"
             "    { name = \"c\"; m = 1e-5; a = 2.0; } ); };\n"
             "integrator = { name = %s };\nmonitors = ( %s );\n"
             "run = { t_end = %.17g; engine = \"%s\"; threads = %d; lanes = %d; };\noutput = { file = \"%s\";%s };\n",
             options->systems, c->integrator, c->monitors ? c->monitors : "", c->t_end,
             options->engine ? options->engine : "auto", options->threads, options->lanes, output, interval);
    shoal_status status = shoal_study_open(context, "bench", text, 0, NULL, NULL, study);
    for (long i = 0; i < options->systems && !status; i++) {
        make_bodies(c, i, options->systems, bodies);
        status = shoal_ensemble_set_bodies((*study)->ensemble, i, 3, bodies);
    }
    return status;
}

static shoal_status run_scenario(shoal_context *context, const scenario *c, const bench_options *options,
                                 const char *output, outcome *came)
{
    shoal_study *study = NULL;
    shoal_result *result = NULL;
    stopwatch time = {0};
    *came = (outcome){0};
    shoal_status status = open_scenario(context, c, options, output, &study);
    if (!status)
        status = shoal_study_run(study, 1, watch, &time);
    if (!status)
        status = shoal_store_read(context, output, &result);
    for (long s = 0; !status && s < result->n_systems; s++) {
        const double *state = result->final + s * 3 * SHOAL_STATE;
        uint64_t bits = 0xcbf29ce484222325u + (uint64_t)number_of(c, s, result->n_systems);
        for (int q = 0; q < 3 * SHOAL_STATE; q++) {
            uint64_t word;
            memcpy(&word, &state[q], sizeof word);
            bits = (bits ^ word) * 0x100000001b3u;
        }
        came->bits += bits;
        came->steps += result->n_steps[s];
        came->n_gone += result->outcome[s] == SHOAL_EJECTED;
        came->error = result->outcome[s] == SHOAL_SURVIVED ? fmax(came->error, fabs(result->dE_final[s])) : came->error;
    }
    if (!status) {
        came->seconds = time.seconds;
        came->others = time.others;
        came->n_snapshots = result->n_snapshots;
        const char *engine = strstr(result->plan_line, "cuda:");
        snprintf(came->engine, sizeof came->engine, "%s", engine ? "cuda" : "cpu");
        snprintf(came->plan, sizeof came->plan, "%s", result->plan_line);
    }
    unlink(output);
    shoal_result_destroy(&result);
    shoal_study_destroy(&study);
    return status;
}

static void print_outcome(const bench_options *options, const char *name, const outcome *came)
{
    const double ns = 1e9 * came->seconds / came->steps;
    if (options->csv)
        printf("%s,%s,system,3,%ld,%.0f,%.6f,%.5g,%.3e,\"%s\"\n", name, came->engine, options->systems, came->steps,
               came->seconds, ns, came->error, came->plan);
    else
        printf("%-16s %-5s %8ld systems  %9.4g ns a system-step  %8.3f s  error %.1e\n", name, came->engine,
               options->systems, ns, came->seconds, came->error);
    fflush(stdout);
}

/* The case and what it should be like. */
static bool make_scenarios(const char *name, double length, scenario *c, scenario *plain, const char **plain_name)
{
    const double orbit = 2 * M_PI;
    *c = *plain = (scenario){.integrator = "\"hermite4\"; dt = 0.01;", .t_end = 2000 * length};
    *plain_name = "alone";
    if (strcmp(name, "thinning") == 0) {
        c->monitors = plain->monitors = "{ name = \"stop_on_ejection\"; r_max = 1000.0; }";
        c->far = plain->far = c->dying = true;
        plain->t_end = 0.2 * c->t_end;
        *plain_name = "staying";
    } else if (strcmp(name, "spread") == 0) {
        *c = *plain = (scenario){.integrator = "\"hermite4_adaptive\";", .t_end = 200 * orbit * length, .spread = true};
        c->interval = plain->interval = c->t_end / OUTPUTS;
        plain->sorted = true;
        *plain_name = "sorted";
    } else if (strcmp(name, "straggler") == 0) {
        *c = *plain = (scenario){.integrator = "\"hermite4\"; steps_per_orbit = 200.0;", .t_end = 50 * orbit * length};
        c->interval = plain->interval = c->t_end / OUTPUTS;
        c->straggler = true;
    } else if (strcmp(name, "logging") == 0) {
        *c = *plain = (scenario){.integrator = "\"hermite4\"; dt = 0.001;", .t_end = OUTPUTS * orbit * length};
        c->interval = orbit;
        *plain_name = "silent";
    } else {
        return false;
    }
    return true;
}

/* The seconds that should be, and whether the answers are right. */
static shoal_status judge(shoal_context *context, const char *name, const bench_options *options, const scenario *c,
                          outcome *came, const outcome *plain, double *seconds)
{
    *seconds = plain->seconds;
    if (!(came->error < 1e-6 * fmax(1, c->t_end / 1000))) /* it grows with time */
        return shoal_fail(context, SHOAL_E_INTERNAL, "energy error %g", came->error);
    if (c->dying) {
        *seconds = plain->seconds / plain->steps * came->steps;
        if (came->n_gone != lround(0.9 * (double)options->systems))
            return shoal_fail(context, SHOAL_E_INTERNAL, "%ld of %ld systems left", came->n_gone, options->systems);
    } else if (c->straggler) {
        came->seconds = came->others;
    } else if (came->bits != plain->bits) {
        return shoal_fail(context, SHOAL_E_INTERNAL, "%s: other states than without", name);
    }
    const long n_outputs = c->interval > 0 ? lround(ceil(c->t_end / c->interval - 1e-6)) + 1 : 0; /* the end, too */
    if (came->n_snapshots != n_outputs * options->systems)
        return shoal_fail(context, SHOAL_E_INTERNAL, "%ld states, expected %ld of %ld systems", came->n_snapshots,
                          n_outputs, options->systems);
    return SHOAL_OK;
}

const char *const bench_slices_names[] = {"thinning", "spread", "straggler", "logging", NULL};

/* The time of a tenth of the systems, alone for the whole run. */
static shoal_status run_few(shoal_context *context, const scenario *c, const bench_options *options, const char *output,
                            outcome *came)
{
    bench_options few = *options;
    scenario staying = *c;
    few.systems = lround(0.1 * (double)options->systems);
    staying.dying = false;
    return few.systems > 0 ? run_scenario(context, &staying, &few, output, came) : SHOAL_OK;
}

shoal_status bench_slices(shoal_context *context, const char *name, const bench_options *options)
{
    const char *tmp = getenv("TMPDIR"), *plain_name;
    char folder[3072], output[4096], other[64];
    scenario c, plain;
    outcome came, should, few = {0}, best = {.seconds = INFINITY}, best_plain = best, best_few = best;
    double seconds = 0, best_seconds = INFINITY;
    shoal_status status = SHOAL_OK;
    make_scenarios(name, options->steps > 0 ? (double)options->steps / 100 : 1, &c, &plain, &plain_name);
    snprintf(folder, sizeof folder, "%s/shoal-bench.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return shoal_fail(context, SHOAL_E_FILE, "%s: cannot be made", folder);
    snprintf(output, sizeof output, "%s/run.h5", folder);
    for (int turn = 0; turn < TURNS && !status; turn++) {
        status = run_scenario(context, &plain, options, output, &should);
        if (!status)
            status = run_scenario(context, &c, options, output, &came);
        if (!status)
            status = judge(context, name, options, &c, &came, &should, &seconds);
        if (!status && c.dying)
            status = run_few(context, &c, options, output, &few);
        if (status)
            break;
        best = came.seconds < best.seconds ? came : best;
        best_few = c.dying && few.seconds < best_few.seconds ? few : best_few;
        best_plain = should.seconds < best_plain.seconds ? should : best_plain;
        best_seconds = fmin(best_seconds, seconds);
    }
    rmdir(folder);
    if (status)
        return status;
    snprintf(other, sizeof other, "%s-%s", name, plain_name);
    print_outcome(options, other, &best_plain);
    print_outcome(options, name, &best);
    if (!options->csv && c.interval > 0)
        printf("%-16s %-5s costs: %.1f %%\n", name, best.engine, 100 * (best.seconds / best_seconds - 1));
    else if (!options->csv)
        printf("%-16s %-5s lost: %.1f %%\n", name, best.engine, 100 * (1 - best_seconds / best.seconds));
    if (c.dying && best_few.steps > 0) {
        snprintf(other, sizeof other, "%s-few", name);
        print_outcome(options, other, &best_few);
        const double filled = best_plain.seconds / best_plain.steps,
                     with_few = filled * (best.steps - best_few.steps) + best_few.seconds;
        if (!options->csv)
            printf("%-16s %-5s lost: %.1f %%\n", other, best.engine, 100 * (1 - with_few / best.seconds));
    }
    return SHOAL_OK;
}
