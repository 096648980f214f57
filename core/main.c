/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * main.c: the command `shoal`. Each subcommand is a line of the table `commands` and has an argp parser of its own.
 * This is the only file that talks to the terminal, installs signal handlers or exits.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <gsl/gsl_version.h>
#include <hdf5.h>
#include <libconfig.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_UNSUPPORTED = 3, EXIT_INTERRUPTED = 130 };

static const char exit_text[] =
    "Exit status:\n"
    "  0    done\n"
    "  1    failed (a file could not be written, memory, the GPU)\n"
    "  2    the command line or an input file is wrong; nothing was touched\n"
    "  3    this machine or this build cannot do that (an engine, gnuplot)\n"
    "  130  interrupted (SIGINT, SIGTERM); what was done is kept, and the same\n"
    "       command goes on from there\n";

typedef struct command {
    const char *name;
    const char *doc; /* one line */
    int (*main)(int argc, char **argv);
} command;

/* ---- errors, terminals ------------------------------------------------------------------------------------------- */

static int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int usage_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("shoal: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return EXIT_USAGE;
}

/* Print the context's message; the exit status that goes with a status. */
static int failed(const shoal_context *context, shoal_status status)
{
    const char *message = context ? shoal_context_message(context) : "";
    fprintf(stderr, "shoal: %s\n", message[0] ? message : shoal_status_text(status));
    switch (status) {
    case SHOAL_OK: return EXIT_OK;
    case SHOAL_E_USAGE:
    case SHOAL_E_INPUT: return EXIT_USAGE;
    case SHOAL_E_UNSUPPORTED: return EXIT_UNSUPPORTED;
    case SHOAL_E_INTERRUPTED: return EXIT_INTERRUPTED;
    default: return EXIT_FAILED;
    }
}

/* The same for a file named on the command line that should have been read: one that is not there is a wrong input. */
static int failed_input(const shoal_context *context, shoal_status status)
{
    return failed(context, status == SHOAL_E_FILE ? SHOAL_E_INPUT : status);
}

/* What was printed has arrived: a full disk or a closed pipe is a failure. */
static int flush_output(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("shoal: the output could not be written\n", stderr);
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

static int terminal_width(int descriptor)
{
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static bool terminal_colour(void)
{
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !getenv("NO_COLOR") && term && strcmp(term, "dumb") != 0;
}

/* The files that query and plot are given. */
typedef struct file_list {
    char **name;
    int n;
} file_list;

/* The name of the picture beside a result file; malloc'd. */
static char *picture_name(const char *file)
{
    char *name = NULL;
    const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
    const size_t stem = dot && dot != file && (!slash || dot > slash + 1) ? (size_t)(dot - file) : strlen(file);
    return asprintf(&name, "%.*s.png", (int)stem, file) < 0 ? NULL : name;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

typedef struct run_options {
    const char *study;
    const char **override;
    int n_overrides;
    bool force, quiet, no_plot, allow_plugins;
} run_options;

static error_t run_parse(int key, char *argument, struct argp_state *state)
{
    run_options *options = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        options->override = calloc((size_t)state->argc, sizeof *options->override);
        return options->override ? 0 : ENOMEM;
    case 'f': options->force = true; return 0;
    case 'q': options->quiet = true; return 0;
    case 'n': options->no_plot = true; return 0;
    case 'P': options->allow_plugins = true; return 0;
    case ARGP_KEY_ARG:
        if (!options->study) {
            options->study = argument;
        } else if (strchr(argument, '=')) {
            options->override[options->n_overrides++] = argument;
        } else {
            exit(usage_error("run: \"%s\": expected key=value (one study at a time)", argument));
        }
        return 0;
    case ARGP_KEY_END:
        if (!options->study) {
            exit(usage_error("run: expected a study: shoal run STUDY.cfg [key=value ...]"));
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp run_argp = {
    .options = (const struct argp_option[]){
        { "force", 'f', 0, 0, "Replace an output file that exists, discard the journal of another study", 0 },
        { "quiet", 'q', 0, 0, "Print nothing but errors, draw nothing", 0 },
        { "no-plot", 'n', 0, 0, "Draw no map of a grid", 0 },
        { "allow-plugins", 'P', 0, 0, "Compile and run the plugins that the study names", 0 },
        { 0 } },
    .parser = run_parse,
    .args_doc = "STUDY.cfg [KEY=VALUE ...]",
    .doc = "Run a study: integrate its systems and write one result file."
           "\vAny value of the study can be given anew by its path: run.t_end=100 integrator.dt=0.01.\n"
           "\n"
           "A run that was killed leaves a journal beside its output; the same command goes on from its last "
           "checkpoint. The first SIGINT or SIGTERM ends the run in order, the second kills it.",
};

static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int number)
{
    (void)number;
    stop_asked = 1;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

/* What the progress callback keeps from call to call. */
typedef struct progress_state {
    const shoal_study *study;
    bool begun, quiet, live; /* live: there is a line that is updated in place */
    double drawn;            /* when, wall clock */
    shoal_progress last;
} progress_state;

/* Seconds as 1:23 or 2:01:23. */
static void put_duration(char *text, size_t size, double seconds)
{
    const long s = lround(fmin(fmax(seconds, 0), 1e9));
    if (s >= 3600) {
        snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    } else {
        snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
    }
}

static void draw_progress(const shoal_progress *progress)
{
    char line[512], left[32] = "?";
    const double rate = progress->seconds > 0 ? progress->system_steps / progress->seconds : 0;
    size_t used = 0;

    if (rate > 0) {
        put_duration(left, sizeof left, progress->system_steps_left / rate);
    }
    used += (size_t)snprintf(line, sizeof line, "%5.1f %%  %s left  %.2g system-steps/s ", 100 * progress->fraction,
                             left, rate);
    for (int o = 0; o < SHOAL_OUTCOMES && used < sizeof line; ++o) {
        if (progress->n_by_outcome[o] > 0) {
            used += (size_t)snprintf(line + used, sizeof line - used, " %s %ld", shoal_outcome_name(o),
                                     progress->n_by_outcome[o]);
        }
    }
    fprintf(stderr, "\r\033[K%.*s", terminal_width(STDERR_FILENO) - 1, line);
    fflush(stderr);
}

/* The study in a paragraph. */
static void print_study(const shoal_study *study)
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
    printf("%s, ", study->propagator->name);
    if (study->steps_per_orbit > 0) {
        printf("%g steps per shortest period", study->steps_per_orbit);
    } else {
        printf("dt = %.6g %s", study->dt / time, study->units.time_name);
    }
    printf(", t = %.6g .. %.6g %s", study->t_start / time, study->t_end / time, study->units.time_name);
    for (int i = 0; i < study->n_monitors; ++i) {
        printf(", %s", shoal_plugs_of(study->context)->monitors[study->monitors[i].index]->name);
    }
    putchar('\n');
}

static int show_progress(const shoal_progress *progress, void *user)
{
    progress_state *state = user;
    const double t = shoal_seconds();

    if (!state->begun) {
        state->begun = true;
        if (!state->quiet) {
            print_study(state->study);
            printf("%s\n", progress->plan_line);
            if (progress->system_steps == 0 && progress->fraction > 0 && progress->n_by_outcome[SHOAL_RUNNING] > 0) {
                printf("going on from %.1f %%\n", 100 * progress->fraction);
            }
            fflush(stdout);
        }
    }
    if (state->live && t - state->drawn >= 0.2) {
        draw_progress(progress);
        state->drawn = t;
    }
    state->last = *progress;
    return stop_asked;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Outcomes with counts, energy errors, time and rate. */
static void print_summary(const shoal_result *result, const char *file, const shoal_progress *progress, double seconds)
{
    long n_by_outcome[SHOAL_OUTCOMES] = { 0 }, n = 0;
    double *error = malloc((size_t)result->n_systems * sizeof *error);

    for (long system = 0; system < result->n_systems; ++system) {
        n_by_outcome[result->outcome[system]]++;
        if (error && isfinite(result->dE_final[system])) {
            error[n++] = fabs(result->dE_final[system]);
        }
    }
    for (int o = 0; o < SHOAL_OUTCOMES; ++o) {
        if (n_by_outcome[o] > 0) {
            printf("%-14s %10ld  %5.1f %%\n", shoal_outcome_name(o), n_by_outcome[o],
                   100.0 * (double)n_by_outcome[o] / (double)result->n_systems);
        }
    }
    if (n > 0) {
        qsort(error, (size_t)n, sizeof *error, compare_doubles);
        printf("|dE/E|         median %.2g, largest %.2g\n", error[n / 2], error[n - 1]);
    }
    printf("wall time      %.1f s, %.3g system-steps/s\n", seconds,
           progress->seconds > 0 ? progress->system_steps / progress->seconds : 0);
    printf("result         %s\n", file);
    free(error);
}

/* The map of a grid: in the terminal if there is one, and as a picture beside the result if gnuplot is there. A map
 * that cannot be drawn is no failure of the run. */
static void plot_run(shoal_context *context, const shoal_result *result, const char *file)
{
    char *png = shoal_plot_missing() ? NULL : picture_name(file);
    const shoal_plot_options options = {
        .png = png,
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

static int run_main(int argc, char **argv)
{
    run_options options = { 0 };
    shoal_context *context = NULL;
    shoal_study *study = NULL;
    shoal_result *result = NULL;
    progress_state progress = { 0 };
    const double began = shoal_seconds();
    int code = EXIT_FAILED;

    argp_parse(&run_argp, argc, argv, 0, NULL, &options);
    progress.quiet = options.quiet;
    progress.live = !options.quiet && isatty(STDERR_FILENO);
    shoal_status status = shoal_context_create(&context);
    if (status == SHOAL_OK) {
        shoal_context_allow_plugins(context, options.allow_plugins);
        status = shoal_study_load(context, options.study, options.n_overrides, options.override, &study);
    }
    if (status != SHOAL_OK) {
        code = failed_input(context, status);
        goto fail;
    }
    progress.study = study;
    sigaction(SIGINT, &(struct sigaction){ .sa_handler = ask_to_stop }, NULL);
    sigaction(SIGTERM, &(struct sigaction){ .sa_handler = ask_to_stop }, NULL);
    status = shoal_study_run(study, options.force, show_progress, &progress);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (progress.live && progress.drawn > 0) {
        fputs("\r\033[K", stderr);
    }
    if (status != SHOAL_OK) {
        code = failed(context, status);
        goto fail;
    }
    code = EXIT_OK;
    if (!options.quiet) {
        status = shoal_store_read(context, study->output, &result);
        if (status != SHOAL_OK) {
            code = failed(context, status);
            goto fail;
        }
        print_summary(result, study->output, &progress.last, shoal_seconds() - began);
        if (!options.no_plot && study->n_axes >= 2) {
            plot_run(context, result, study->output);
        }
        code = flush_output();
    }
fail:
    shoal_result_destroy(&result);
    shoal_study_destroy(&study);
    shoal_context_destroy(&context);
    free(options.override);
    return code;
}

/* ---- query ------------------------------------------------------------------------------------------------------- */

typedef struct query_options {
    file_list files;
    bool table;
    shoal_query_state which;
    double time;
    long first, last;
    char *columns; /* of the first file */
} query_options;

/* A..B, A.., ..B or A; both ends included. */
static bool parse_range(const char *text, long *first, long *last)
{
    const char *dots = strstr(text, "..");
    char *end;

    *first = 0;
    *last = LONG_MAX;
    if (text != dots) {
        *first = strtol(text, &end, 10);
        if (end == text || end != (dots ? dots : text + strlen(text))) {
            return false;
        }
    }
    if (!dots) {
        *last = *first;
    } else if (dots[2]) {
        *last = strtol(dots + 2, &end, 10);
        if (*end) {
            return false;
        }
    }
    return *first >= 0 && *last >= *first && text[0];
}

static error_t query_parse(int key, char *argument, struct argp_state *state)
{
    query_options *options = state->input;
    char *end;

    switch (key) {
    case 'f': options->which = SHOAL_QUERY_FINAL; return 0;
    case 'i': options->which = SHOAL_QUERY_INITIAL; return 0;
    case 'T': options->table = true; return 0;
    case 't':
        options->which = SHOAL_QUERY_TIME;
        options->time = strtod(argument, &end);
        if (end == argument || *end || !isfinite(options->time)) {
            exit(usage_error("query: --time: \"%s\": expected a time in the units of the file", argument));
        }
        return 0;
    case 's':
        if (!parse_range(argument, &options->first, &options->last)) {
            exit(usage_error("query: --systems: \"%s\": expected A..B, 0 <= A <= B", argument));
        }
        return 0;
    case ARGP_KEY_ARGS:
        options->files = (file_list){ state->argv + state->next, state->argc - state->next };
        return 0;
    case ARGP_KEY_NO_ARGS: exit(usage_error("query: expected a result file: shoal query FILE ..."));
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp query_argp = {
    .options = (const struct argp_option[]){
        { "final", 'f', 0, 0, "The last state of each system (default)", 0 },
        { "initial", 'i', 0, 0, "The initial states", 0 },
        { "time", 't', "T", 0, "The snapshots at time T, in the units of the file", 0 },
        { "systems", 's', "A..B", 0, "Only systems A to B, both included", 0 },
        { "systems-table", 'T', 0, 0, "One row a system: its end, the swept parameters, what monitors computed", 0 },
        { 0 } },
    .parser = query_parse,
    .args_doc = "FILE...",
    .doc = "Print states or the systems table of result files as CSV."
           "\vStates: system,body,name,time,m,x,y,z,vx,vy,vz.\n"
           "Table: system,outcome,t_stop,body_a,body_b,dE_final,steps, then the columns of the file.\n"
           "The journal of a run that still goes on, or was killed, is read if there is no FILE yet.",
};

/* The systems table of several files has one heading: refuse a file whose columns are not those of the first.
 * *columns: what they are, NULL before the first file; malloc'd. */
static shoal_status check_columns(shoal_context *context, const char *file, const shoal_result *result, char **columns)
{
    shoal_status status = SHOAL_OK;
    char *names = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&names, &size);

    for (int c = 0; out && c < result->n_columns; ++c) {
        fprintf(out, ",%s", result->columns[c].name);
    }
    if (!out || fclose(out) != 0) {
        return shoal_fail(context, SHOAL_E_MEMORY, "%s: out of memory", file);
    }
    if (!*columns) {
        *columns = names;
        return SHOAL_OK;
    }
    if (strcmp(*columns, names) != 0) {
        status = shoal_fail(context, SHOAL_E_USAGE, "query: %s: its columns (%s) are not those of the first file (%s)",
                            file, names + (*names == ','), *columns + (**columns == ','));
    }
    free(names);
    return status;
}

static shoal_status query_result(shoal_context *context, const shoal_result *result, const query_options *options,
                                 FILE *out)
{
    const long first = options->first, last = options->last;

    return options->table ? shoal_query_systems(context, result, first, last, out)
                          : shoal_query_states(context, result, options->which, options->time, first, last, out);
}

/* Print one file; of every file but the first the heading is left out. */
static int query_file(shoal_context *context, const char *name, query_options *options, bool heading)
{
    shoal_result *result = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *out = stdout;

    shoal_status status = shoal_store_read(context, name, &result);
    if (status != SHOAL_OK) {
        return failed_input(context, status);
    }
    if (options->table) {
        status = check_columns(context, name, result, &options->columns);
    }
    if (status == SHOAL_OK && !heading && !(out = open_memstream(&text, &size))) {
        status = shoal_fail(context, SHOAL_E_MEMORY, "%s: out of memory", name);
    }
    if (status == SHOAL_OK) {
        status = query_result(context, result, options, out);
    }
    if (out && out != stdout) {
        fclose(out);
        const char *rows = text && status == SHOAL_OK ? strchr(text, '\n') : NULL;
        fputs(rows ? rows + 1 : "", stdout);
        free(text);
    }
    shoal_result_destroy(&result);
    return status == SHOAL_OK ? EXIT_OK : failed(context, status);
}

static int query_main(int argc, char **argv)
{
    query_options options = { .which = SHOAL_QUERY_FINAL, .last = LONG_MAX };
    shoal_context *context = NULL;
    int code = EXIT_OK;

    argp_parse(&query_argp, argc, argv, 0, NULL, &options);
    if (shoal_context_create(&context) != SHOAL_OK) {
        return failed(NULL, SHOAL_E_MEMORY);
    }
    for (int i = 0; i < options.files.n && code == EXIT_OK; ++i) {
        code = query_file(context, options.files.name[i], &options, i == 0);
    }
    free(options.columns);
    shoal_context_destroy(&context);
    return code == EXIT_OK ? flush_output() : code;
}

/* ---- plot -------------------------------------------------------------------------------------------------------- */

typedef struct plot_options {
    file_list files;
    const char *column, *png;
    bool linear, no_terminal;
} plot_options;

static error_t plot_parse(int key, char *argument, struct argp_state *state)
{
    plot_options *options = state->input;

    switch (key) {
    case 'c': options->column = argument; return 0;
    case 'p': options->png = argument; return 0;
    case 'l': options->linear = true; return 0;
    case 'n': options->no_terminal = true; return 0;
    case ARGP_KEY_ARGS:
        options->files = (file_list){ state->argv + state->next, state->argc - state->next };
        return 0;
    case ARGP_KEY_NO_ARGS: exit(usage_error("plot: expected a result file: shoal plot FILE ..."));
    case ARGP_KEY_END:
        if (options->png && options->files.n > 1) {
            exit(usage_error("plot: --png names one picture, but there are %d files", options->files.n));
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp plot_argp = {
    .options = (const struct argp_option[]){
        { "column", 'c', "NAME", 0, "The column to draw (default: a chaos indicator if there is one, else t_stop)", 0 },
        { "png", 'p', "FILE", 0, "The picture's name (default: beside the result file)", 0 },
        { "linear", 'l', 0, 0, "The value itself, not its log10", 0 },
        { "no-terminal", 'n', 0, 0, "No preview in the terminal", 0 },
        { 0 } },
    .parser = plot_parse,
    .args_doc = "FILE...",
    .doc = "Draw the map of a grid of systems: a preview in the terminal, and a PNG if gnuplot is there.",
};

static int plot_file(shoal_context *context, const char *file, const plot_options *given)
{
    const char *missing = shoal_plot_missing();
    shoal_result *result = NULL;
    char *png = NULL;
    int code = EXIT_OK;

    if (missing && (given->png || given->no_terminal)) {
        return failed(context, shoal_fail(context, SHOAL_E_UNSUPPORTED, "no picture: %s", missing));
    }
    shoal_status status = shoal_store_read(context, file, &result);
    if (status != SHOAL_OK) {
        return failed_input(context, status);
    }
    png = missing ? NULL : given->png ? strdup(given->png) : picture_name(file);
    const shoal_plot_options options = {
        .column = given->column,
        .png = png,
        .terminal = !given->no_terminal,
        .colour = terminal_colour(),
        .width = isatty(STDOUT_FILENO) ? terminal_width(STDOUT_FILENO) : 0,
        .linear = given->linear,
    };
    status = shoal_plot_map(context, result, &options, stdout);
    if (status != SHOAL_OK) {
        code = failed(context, status);
    } else if (png) {
        printf("%s\n", png);
    } else {
        fprintf(stderr, "shoal: no picture: %s\n", missing);
    }
    free(png);
    shoal_result_destroy(&result);
    return code;
}

static int plot_main(int argc, char **argv)
{
    plot_options options = { 0 };
    shoal_context *context = NULL;
    int code = EXIT_OK;

    argp_parse(&plot_argp, argc, argv, 0, NULL, &options);
    if (shoal_context_create(&context) != SHOAL_OK) {
        return failed(NULL, SHOAL_E_MEMORY);
    }
    for (int i = 0; i < options.files.n && code == EXIT_OK; ++i) {
        code = plot_file(context, options.files.name[i], &options);
    }
    shoal_context_destroy(&context);
    return code == EXIT_OK ? flush_output() : code;
}

/* ---- info, list, explain ----------------------------------------------------------------------------------------- */

static error_t words_parse(int key, char *argument, struct argp_state *state)
{
    file_list *words = state->input;
    (void)argument;
    if (key == ARGP_KEY_ARGS) {
        *words = (file_list){ state->argv + state->next, state->argc - state->next };
        return 0;
    }
    return key == ARGP_KEY_NO_ARGS ? 0 : ARGP_ERR_UNKNOWN;
}

/* Arguments of a command that has no options but --help. */
static file_list parse_words(int argc, char **argv, const char *args_doc, const char *doc)
{
    file_list words = { 0 };
    const struct argp argp = { .parser = words_parse, .args_doc = args_doc, .doc = doc };
    argp_parse(&argp, argc, argv, 0, NULL, &words);
    return words;
}

static int info_main(int argc, char **argv)
{
    unsigned major = 0, minor = 0, release = 0;

    if (parse_words(argc, argv, "", "What this build and this machine can do, and what is missing.").n > 0) {
        return usage_error("info: expected no arguments");
    }
    const shoal_plugs *plugs = shoal_plugs_of(NULL);
    H5get_libversion(&major, &minor, &release);
    printf("shoal %s\n", shoal_version());
    printf("build: compiler %s; GSL %s, HDF5 %u.%u.%u, libconfig %d.%d.%d\n", __VERSION__, gsl_version, major, minor,
           release, LIBCONFIG_VER_MAJOR, LIBCONFIG_VER_MINOR, LIBCONFIG_VER_REVISION);
    printf("plugs: propagators %d, extra forces %d, monitors %d (shoal list names them)\n",
           shoal_count((const void *const *)plugs->propagators), shoal_count((const void *const *)plugs->forces),
           shoal_count((const void *const *)plugs->monitors));
    printf("gnuplot: %s\n", shoal_plot_missing() ? shoal_plot_missing() : "found");
    printf("MPI: not part of this build, which runs on one machine at a time\n");
    shoal_engine_cpu_info(stdout);
    shoal_engine_cuda_info(stdout);
    return flush_output();
}

static int list_main(int argc, char **argv)
{
    if (parse_words(argc, argv, "", "Every propagator, force and monitor, a line each.").n > 0) {
        return usage_error("list: expected no arguments (shoal explain NAME tells more about one)");
    }
    shoal_help_list(NULL, stdout);
    return flush_output();
}

static int explain_main(int argc, char **argv)
{
    const file_list words = parse_words(argc, argv, "NAME...", "Tell all about a plug or a config key.");
    shoal_context *context = NULL;

    if (words.n == 0) {
        return usage_error("explain: expected a name (shoal list has them)");
    }
    shoal_status status = shoal_context_create(&context);
    for (int i = 0; i < words.n && status == SHOAL_OK; ++i) {
        status = shoal_help_explain(context, words.name[i], stdout);
    }
    const int code = status == SHOAL_OK ? flush_output() : failed(context, status);
    shoal_context_destroy(&context);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static const command commands[] = {
    { "run", "Run a study: integrate its systems, write one result file", run_main },
    { "query", "Print states or the systems table of a result file as CSV", query_main },
    { "plot", "Draw the map of a grid: PNG and a preview in the terminal", plot_main },
    { "list", "Name every propagator, force and monitor", list_main },
    { "explain", "Tell all about one of them, or about a config key", explain_main },
    { "info", "What this build and this machine can do", info_main },
    { "bench", "Time the engines, with checked answers", shoal_bench_main },
};

static char *help_text(int key, const char *text, void *input)
{
    char *filled = NULL;
    size_t size = 0;
    FILE *out;

    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC || !(out = open_memstream(&filled, &size))) {
        return (char *)text;
    }
    fputs("Commands:\n", out);
    for (int i = 0; i < SHOAL_COUNT(commands); ++i) {
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].doc);
    }
    fprintf(out, "\nshoal COMMAND --help tells more.\n\n%s", exit_text);
    fclose(out);
    return filled;
}

/* The top level reads options up to the command's name and leaves the rest to the command. */
static error_t top_parse(int key, char *argument, struct argp_state *state)
{
    int *first = state->input;
    (void)argument;
    if (key == ARGP_KEY_ARG) {
        *first = state->next - 1;
        state->next = state->argc;
        return 0;
    }
    if (key == ARGP_KEY_NO_ARGS) {
        exit(usage_error("expected a command (shoal --help names them)"));
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp top_argp = {
    .parser = top_parse,
    .args_doc = "COMMAND [ARGUMENT ...]",
    .doc = "Shoal integrates ensembles of gravitational few-body systems, on CPU SIMD lanes and on GPUs."
           "\v ", /* help_text */
    .help_filter = help_text,
};

static void print_version(FILE *out, struct argp_state *state)
{
    (void)state;
    fprintf(out, "shoal %s\n", shoal_version());
}

int main(int argc, char **argv)
{
    int first = argc;

    argp_program_version_hook = print_version;
    argp_err_exit_status = EXIT_USAGE;
    if (argc > 0) {
        argv[0] = "shoal";
    }
    argp_parse(&top_argp, argc, argv, ARGP_IN_ORDER, NULL, &first);
    if (first >= argc) {
        return usage_error("expected a command (shoal --help names them)");
    }
    const char *known[SHOAL_COUNT(commands)];
    for (int i = 0; i < SHOAL_COUNT(commands); ++i) {
        known[i] = commands[i].name;
        if (strcmp(argv[first], commands[i].name) == 0) {
            char name[32]; /* in help and in argp's errors */
            snprintf(name, sizeof name, "shoal %s", commands[i].name);
            argv[first] = name;
            return commands[i].main(argc - first, argv + first);
        }
    }
    const char *near = shoal_nearest(argv[first], known, SHOAL_COUNT(commands));
    return near ? usage_error("unknown command \"%s\"; did you mean \"%s\"?", argv[first], near)
                : usage_error("unknown command \"%s\" (shoal --help names them)", argv[first]);
}
