/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_run.c: `shoal run`: a study from its config to its result file, with progress and a summary.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/command/command.h"
#include "core/report/plot.h"

typedef struct run_options {
    study_words words;
    shoal_extend_options extend; /* end: NULL = the study is run */
    bool force, quiet, no_plot;
    double progress;
} run_options;

enum { EXTEND = 1000, WHERE, OUTPUT, FOLDER };

static error_t run_parse(int key, char *argument, struct argp_state *state)
{
    run_options *options = state->input;

    switch (key) {
    case 'f': options->force = true; return 0;
    case 'q': options->quiet = true; return 0;
    case 'n': options->no_plot = true; return 0;
    case 'p': options->progress = parse_progress("run", argument); return 0;
    case EXTEND: options->extend.end = argument; return 0;
    case WHERE: options->extend.where = argument; return 0;
    case OUTPUT: options->extend.output = argument; return 0;
    case FOLDER: options->extend.folder = argument; return 0;
    case ARGP_KEY_END:
        if (!options->extend.end && (options->extend.where || options->extend.output || options->extend.folder)) {
            exit(usage_error("run: --where, --output and --folder: expected --extend, too"));
        }
        if (options->extend.output && check_name("run", options->extend.output) != EXIT_OK) {
            exit(EXIT_USAGE);
        }
        return parse_study("run", &options->words, key, argument, state);
    default: return parse_study("run", &options->words, key, argument, state);
    }
}

static const struct argp run_argp = {
    .options =
        (const struct argp_option[]){
            {"force", 'f', 0, 0, "Replace an output file that exists, discard the journal of another study", 0},
            {"quiet", 'q', 0, 0, "Print nothing but warnings and errors, draw nothing", 0},
            {"no-plot", 'n', 0, 0, "Draw no map of a grid", 0},
            OPTION_ALLOW_PLUGINS,
            OPTION_PROGRESS,
            {"extend", EXTEND, "T_END", 0,
             "The file is a result: go on from it to T_END (or orbits, where it has run.orbits)", 1},
            {"where", WHERE, "CONDITIONS", 0,
             "With --extend: only systems of which this is true, as shoal query has it: 'outcome == survived'", 1},
            {"output", OUTPUT, "OUT", 0, "With --extend: the file to write (default: the result itself, replaced)", 1},
            {"folder", FOLDER, "DIR", 0,
             "With --extend: where the study's config was, for plugins that it names (default: where the result is)",
             1},
            {0}},
    .parser = run_parse,
    .args_doc = "STUDY.cfg [KEY=VALUE ...]\n--extend=T_END RESULT.h5 [KEY=VALUE ...]",
    .doc = "Run a study: integrate its systems and write one result file."
           "\vAny value of the study can be given anew by its path: run.t_end=100 integrator.dt=0.01.\n"
           "\n"
           "A run that was killed leaves a journal beside its output; the same command goes on from its last "
           "checkpoint. The first SIGINT or SIGTERM ends the run in order, the second kills it.\n"
           "\n"
           "--extend makes of a result what a run to T_END from the first would have left, to the last bit. The result "
           "is replaced when that is complete; until then it stays as it is. With --where the others are left out, "
           "which needs --output.",
};

static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int number)
{
    (void)number;
    stop_asked = 1;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

void watch_signals(bool on)
{
    stop_asked = 0;
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on ? ask_to_stop : SIG_DFL}, NULL);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on ? ask_to_stop : SIG_DFL}, NULL);
}

bool stop_was_asked(void)
{
    return stop_asked;
}

/* What the progress callback keeps from call to call. */
typedef struct progress_state {
    shoal_study *study;
    bool begun, quiet, live; /* live: there is a line that is updated in place */
    double drawn, every;     /* when, wall clock, and the seconds between; 0 = never */
    char plan_line[768];     /* the last one printed */
    shoal_progress last;
    long n_few, slowest; /* stragglers, when they alone were left, and the last of them; 0 = none so far */
    double few_since;
} progress_state;

enum { FEW = 20 };        /* one of so many systems: they are stragglers */
enum { NOTEWORTHY = 10 }; /* one of so many seconds */

static bool few_left(const shoal_progress *progress)
{
    const long n_left = progress->n_by_outcome[SHOAL_RUNNING];
    return n_left > 0 && n_left * FEW <= progress->n_systems;
}

static void draw_progress(const shoal_progress *progress)
{
    char line[512], left[32] = "?";
    const double rate = progress->seconds > 0 ? progress->system_steps / progress->seconds : 0;
    size_t used = 0;

    if (rate > 0) {
        put_duration(left, sizeof left, progress->system_steps_left / rate);
    }
    if (progress->certifying) {
        used += (size_t)snprintf(line, sizeof line, "certify %d of %d: ", progress->certifying, SHOAL_CERTIFY_RUNS);
    }
    used += (size_t)snprintf(line + used, sizeof line - used, "%5.1f %%  %s left  %.2g system-steps/s ",
                             100 * progress->fraction, left, rate);
    for (int o = 0; o < SHOAL_OUTCOMES && used < sizeof line; ++o) {
        if (progress->n_by_outcome[o] > 0) {
            used += (size_t)snprintf(line + used, sizeof line - used, " %s %ld", shoal_outcome_name(o),
                                     progress->n_by_outcome[o]);
        }
    }
    if (few_left(progress) && used < sizeof line) {
        snprintf(line + used, sizeof line - used, ", the slowest (%ld) at %.1f %%", progress->slowest_id,
                 100 * progress->slowest_fraction);
    }
    draw_line(line);
}

void print_study(const shoal_study *study)
{
    const shoal_ensemble *ensemble = study->ensemble;
    const double time = study->units.time;

    printf("%ld system%s of %d bodies:", ensemble->n_systems, ensemble->n_systems == 1 ? "" : "s", ensemble->n_bodies);
    for (int b = 0; b < ensemble->n_bodies && b < 12; ++b) {
        printf("%s %s", b ? "," : "", study->body_name[b]);
    }
    fputs(ensemble->n_bodies > 12 ? ", ...\n" : "\n", stdout);
    for (int k = 0; k < study->n_axes; ++k) {
        printf("%s%s (%ld%s)", k ? " x " : "grid: ", study->axes[k].column, study->axes[k].count,
               study->axes[k].logarithmic ? ", logarithmic" : "");
    }
    fputs(study->n_axes > 0 ? "\n" : "", stdout);
    if (study->n_rows_drawn < study->n_rows) {
        const config_setting_t *sample = shoal_config_lookup(&study->config, "sample");
        printf("draws: the first %ld of %ld rows of %s\n", study->n_rows_drawn, study->n_rows,
               shoal_config_string(sample, "file", ""));
    }
    if (study->stride > 1) {
        printf("shard %ld of %ld\n", study->first + 1, study->stride);
    }
    printf("%s, ", shoal_propagator_find(study->context, study->options.propagator)->name);
    if (study->options.steps_per_orbit > 0) {
        printf("%g steps per shortest period", study->options.steps_per_orbit);
    } else {
        printf("dt = %.6g %s", study->options.dt / time, study->units.time_name);
    }
    if (study->options.orbits != 0) {
        printf(", %.6g shortest periods of each system", study->options.orbits);
    } else {
        printf(", t = %.6g .. %.6g %s", study->t_start / time, study->options.t_end / time, study->units.time_name);
    }
    for (int i = 0; i < study->options.n_monitors; ++i) {
        printf(", %s", study->options.monitors[i].name);
    }
    putchar('\n');
}

void print_warnings(shoal_study *study, FILE *out, const char *before)
{
    for (const char *line = shoal_study_warnings(study); line && *line; line += strcspn(line, "\n") + 1) {
        fprintf(out, "%s%.*s\n", before, (int)strcspn(line, "\n"), line);
    }
}

/* A word on what the user has not chosen. */
static void print_keeps(const shoal_study *study)
{
    if (isnan(study->keeps) && !shoal_ensemble_keeps(study)) {
        puts("extend         cannot be: so many systems are kept for a longer run only with output.extend = true");
    }
}

static int show_progress(const shoal_progress *progress, void *user)
{
    progress_state *state = user;
    const double t = shoal_seconds();

    const bool first = !state->begun, big = state->study->big != NULL;
    const bool changed = !progress->certifying && (first || strcmp(state->plan_line, progress->plan_line) != 0);
    snprintf(state->plan_line, sizeof state->plan_line, "%s", progress->plan_line);
    state->begun = true;
    if (first && !big) {
        print_warnings(state->study, stderr, "shoal: warning: ");
    }
    if (changed && !state->quiet) {
        if (first) {
            if (big) {
                print_notes(state->study->big->notes);
            }
            (big ? print_big_study : print_study)(state->study);
            if (!big) {
                print_keeps(state->study);
            }
        } else if (state->live) {
            fputs("\r\033[K", stderr);
        }
        printf("%s\n", progress->plan_line);
        const bool goes_on = big || (progress->system_steps == 0 && progress->n_by_outcome[SHOAL_RUNNING] > 0);
        if (first && goes_on && progress->fraction > 0) {
            printf("going on from %.1f %%\n", 100 * progress->fraction);
        }
        fflush(stdout);
    }
    if (state->every > 0 && t - state->drawn >= state->every) {
        (state->study->big ? draw_big_progress : draw_progress)(progress);
        state->drawn = t;
    }
    if (progress->certifying) {
        return stop_asked; /* the summary's time and rate are those of the run */
    }
    if (few_left(progress)) {
        state->few_since = state->n_few ? state->few_since : progress->seconds;
        state->n_few = state->n_few ? state->n_few : progress->n_by_outcome[SHOAL_RUNNING];
        state->slowest = progress->slowest_id;
    }
    state->last = *progress;
    return stop_asked;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool print_summary(const shoal_result *result, const char *file, const shoal_progress *progress, double seconds)
{
    long n_by_outcome[SHOAL_OUTCOMES] = {0}, n = 0, n_fewer = 0;
    double *error = malloc((size_t)result->n_systems * sizeof *error);

    if (!error) {
        return false;
    }
    for (long system = 0; system < result->n_systems; ++system) {
        n_by_outcome[result->outcome[system]]++;
        n_fewer += result->n_final[system] < result->n_live[system];
        if (isfinite(result->dE_final[system])) {
            error[n++] = fabs(result->dE_final[system]);
        }
    }
    for (int o = 0; o < SHOAL_OUTCOMES; ++o) {
        if (n_by_outcome[o] > 0) {
            printf("%-14s %10ld  %5.1f %%\n", shoal_outcome_name(o), n_by_outcome[o],
                   100.0 * (double)n_by_outcome[o] / (double)result->n_systems);
        }
    }
    if (n_fewer > 0) {
        printf("fewer bodies   %10ld  %5.1f %% of the systems: some merged or were removed on the way\n", n_fewer,
               100.0 * (double)n_fewer / (double)result->n_systems);
    }
    if (n > 0) {
        qsort(error, (size_t)n, sizeof *error, compare_doubles);
        printf("|dE/E|         median %.2g, largest %.2g", gsl_stats_median_from_sorted_data(error, 1, (size_t)n),
               error[n - 1]);
        long n_large = 0;
        while (n_large < n && error[n - 1 - n_large] > 1e-3) {
            n_large++;
        }
        if (n_large > 0) {
            printf(", above 1e-3 in %ld systems", n_large);
        }
        putchar('\n');
    }
    printf("wall time      %.1f s, %.3g system-steps/s\n", seconds,
           progress->seconds > 0 ? progress->system_steps / progress->seconds : 0);
    printf("result         %s\n", file);
    free(error);
    return true;
}

/* The map of a grid: in the terminal if there is one, and as a picture beside the result if gnuplot is there. A map
 * that cannot be drawn is no failure of the run. */
static void plot_run(shoal_context *context, const shoal_result *result, const char *file)
{
    char *png = shoal_plot_missing() ? NULL : picture_name(file);
    const shoal_plot_options options = {
        .picture = png,
        .spares = true,
        .terminal = isatty(STDOUT_FILENO),
        .colour = terminal_colour(),
        .width = terminal_width(STDOUT_FILENO),
    };
    if (!options.terminal && !png) {
        return;
    }
    if (shoal_plot_map(context, result, &options, stdout) != SHOAL_OK) {
        printf("no map: %s\n", shoal_context_message(context));
    } else if (png) {
        printf("map            %s\n", png);
    } else {
        printf("no picture: %s\n", shoal_plot_missing());
    }
    free(png);
}

shoal_status run_study(shoal_study *study, bool force, bool quiet, double every, shoal_progress *last)
{
    progress_state progress = {.study = study, .quiet = quiet, .live = !quiet && isatty(STDERR_FILENO)};
    progress.every = quiet ? 0 : progress.live ? 0.2 : every;
    progress.drawn = progress.live ? 0 : shoal_seconds();

    watch_signals(true);
    const shoal_status status = shoal_study_run(study, force, show_progress, &progress);
    watch_signals(false);
    if (progress.live && progress.drawn > 0) {
        fputs("\r\033[K", stderr);
    }
    *last = progress.last;
    const double share = progress.n_few ? 1 - progress.few_since / last->seconds : 0;
    if (status == SHOAL_OK && !quiet && share * NOTEWORTHY >= 1) {
        printf("stragglers     the last %ld of %ld systems took %.0f %% of the time; the slowest: %ld\n",
               progress.n_few, last->n_systems, 100 * share, progress.slowest);
    }
    return status;
}

/* The study of a result file with a later end. */
static shoal_status open_extension(const run_options *options, shoal_context **context, shoal_study **study)
{
    shoal_extend_options extend = options->extend;
    const shoal_status status = shoal_context_create(context);
    if (status != SHOAL_OK) {
        return status;
    }
    shoal_context_allow_plugins(*context, options->words.allow_plugins);
    extend.file = options->words.study;
    extend.n_overrides = options->words.n_overrides;
    extend.overrides = options->words.override;
    return shoal_study_extend(*context, &extend, study);
}

int run_main(int argc, char **argv)
{
    run_options options = {.progress = PROGRESS_SECONDS};
    shoal_context *context = NULL;
    shoal_study *study = NULL;
    shoal_result *result = NULL;
    shoal_progress last = {0};
    const double began = shoal_seconds();
    int code = EXIT_FAILED;

    argp_parse(&run_argp, argc, argv, 0, NULL, &options);
    shoal_status status = options.extend.end ? open_extension(&options, &context, &study)
                                             : open_study(&options.words, NULL, &context, &study);
    if (status != SHOAL_OK) {
        code = failed_input(context, status);
        goto fail;
    }
    if (study->extends && study->extends->anew && !options.quiet) {
        printf("%s weighs each step by its place in the whole run: all systems begin again\n", study->extends->anew);
    }
    status = run_study(study, options.force, options.quiet, options.progress, &last);
    if (status != SHOAL_OK) {
        code = failed(context, status);
        goto fail;
    }
    code = EXIT_OK;
    if (!options.quiet && study->big) {
        code = print_big_summary(study, &last, shoal_seconds() - began);
    } else if (!options.quiet) {
        status = shoal_store_read_systems(context, study->output, &result);
        if (status != SHOAL_OK) {
            code = failed(context, status);
            goto fail;
        }
        print_warnings(study, stdout, "warning        ");
        if (!print_summary(result, study->output, &last, shoal_seconds() - began)) {
            code = failed(context, shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the summary; %s is complete",
                                              study->output));
            goto fail;
        }
        print_keeps(study);
        if (shoal_result_log(result, SHOAL_CERTIFY_LOG)) {
            (void)shoal_certify_print(context, result, stdout);
        }
        if (!options.no_plot && study->n_axes >= 2 && study->stride == 1) {
            plot_run(context, result, study->output);
        }
        code = flush_output();
    }
fail:
    shoal_result_destroy(&result);
    shoal_study_destroy(&study);
    shoal_context_destroy(&context);
    free(options.words.override);
    return code;
}
