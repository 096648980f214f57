/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * main.c: the command `shoal`: the table of its commands, help, and the choice among them.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/command.h"

static const char exit_text[] = "Exit status:\n"
                                "  0    done\n"
                                "  1    failed (a file could not be written, memory, the GPU)\n"
                                "  2    the command line or an input file is wrong; nothing was touched\n"
                                "  3    this machine or this build cannot do that (an engine, gnuplot)\n"
                                "  130  interrupted (SIGINT, SIGTERM); what was done is kept, and the same\n"
                                "       command goes on from there\n";

/* X(name, what it does, in a line of a help text) */
#define COMMAND_LIST(X)                                                           \
    X(run, "Run a study: integrate its systems, write one result file")           \
    X(fit, "Find the posterior of a study with data by walkers")                  \
    X(calibrate, "Check the fits of a study by simulated data")                   \
    X(merge, "Put the results of the shards of a study together")                 \
    X(status, "How far the runs in a folder are: shards, failures, time left")    \
    X(rerun, "Integrate one system of a result file again, with more output")     \
    X(query, "Print states, systems, events or logs of a result file as CSV")     \
    X(plot, "Draw a map, survival, elements, energy, orbits, ...: PNG or PDF")    \
    X(verify, "Compare two results body by body")                                 \
    X(generate, "Make the systems of a study without integrating them")           \
    X(convert, "Convert initial conditions and states between formats")           \
    X(list, "Name every propagator, force and monitor")                           \
    X(explain, "Tell all about one of them, a config key, an outcome, a command") \
    X(tune, "Measure what is fastest for a study on this machine's GPU")          \
    X(info, "What this build and this machine can do")                            \
    X(bench, "Time the engines, with checked answers")

const shoal_help_word command_words[] = {
#define X(name, doc) {#name, doc},
    COMMAND_LIST(X)
#undef X
        {0}};

static int (*const command_main[])(int argc, char **argv) = {
#define X(name, doc) name##_main,
    COMMAND_LIST(X)
#undef X
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
    for (int i = 0; i < SHOAL_COUNT(command_main); ++i) {
        fprintf(out, "  %-9s %s\n", command_words[i].name, command_words[i].doc);
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

    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a write that fails, as on a full disk */
    argp_program_version_hook = print_version;
    argp_err_exit_status = EXIT_USAGE;
    if (argc > 0) {
        argv[0] = "shoal";
    }
    if (check_arguments(argc, argv) != EXIT_OK) {
        return EXIT_USAGE;
    }
    argp_parse(&top_argp, argc, argv, ARGP_IN_ORDER, NULL, &first);
    if (first >= argc) {
        return usage_error("expected a command (shoal --help names them)");
    }
    const char *known[SHOAL_COUNT(command_main)];
    for (int i = 0; i < SHOAL_COUNT(command_main); ++i) {
        known[i] = command_words[i].name;
        if (strcmp(argv[first], command_words[i].name) == 0) {
            char name[32]; /* in help and in argp's errors */
            snprintf(name, sizeof name, "shoal %s", command_words[i].name);
            argv[first] = name;
            return command_main[i](argc - first, argv + first);
        }
    }
    const char *near = shoal_nearest(argv[first], known, SHOAL_COUNT(command_main));
    return near ? usage_error("unknown command \"%s\"; did you mean \"%s\"?", argv[first], near)
                : usage_error("unknown command \"%s\" (shoal --help names them)", argv[first]);
}
