/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_plot.c: `shoal plot`: pictures of result files.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

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
        code = failed_file(context, status, file);
    } else if (png) {
        printf("%s\n", png);
    } else {
        fprintf(stderr, "shoal: no picture: %s\n", missing);
    }
    free(png);
    shoal_result_destroy(&result);
    return code;
}

int plot_main(int argc, char **argv)
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
