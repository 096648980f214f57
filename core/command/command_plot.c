/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_plot.c: `shoal plot`: pictures of result files.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/command/command.h"
#include "core/fit/fit.h"
#include "core/report/plot_big.h"

typedef struct plot_options {
    file_list files;
    shoal_big_frame frame; /* of one big system: of the first file, if it is not given */
    shoal_plot_options plot;
    bool no_terminal;
} plot_options;

static error_t plot_parse(int key, char *argument, struct argp_state *state)
{
    plot_options *options = state->input;
    char *end;

    switch (key) {
    case 'k': options->plot.kind = argument; return 0;
    case 's':
        options->plot.system = strtoll(argument, &end, 10);
        if (end == argument || *end || options->plot.system < 0) {
            exit(usage_error("plot: --system: \"%s\": expected the number of a system, 0 or more", argument));
        }
        return 0;
    case 'c': options->plot.column = argument; return 0;
    case 'o':
    case 'p':
        end = strrchr(argument, '.');
        if (!end || (strcmp(end, ".png") != 0 && strcmp(end, ".pdf") != 0)) {
            exit(usage_error("plot: --output: \"%s\": expected a name in .png or .pdf", argument));
        }
        if (check_name("plot", argument) != EXIT_OK) {
            exit(EXIT_USAGE);
        }
        options->plot.picture = argument;
        return 0;
    case 'S': options->plot.script = true; return 0;
    case 'l': options->plot.linear = true; return 0;
    case 'L': options->plot.logarithmic = true; return 0;
    case 'n': options->no_terminal = true; return 0;
    case 'w':
        options->plot.framed = true;
        options->frame.half_width = strtod(argument, &end) / 2;
        if (end == argument || *end || !(options->frame.half_width > 0)) {
            exit(usage_error("plot: --width: \"%s\": expected a length > 0", argument));
        }
        return 0;
    case 'x':
        options->plot.framed = true;
        options->frame.plane = shoal_choice_index("xy|xz|yz", argument);
        if (options->frame.plane < 0) {
            exit(usage_error("plot: --plane: \"%s\": expected xy, xz or yz", argument));
        }
        return 0;
    case ARGP_KEY_NO_ARGS: exit(usage_error("plot: expected a result file: shoal plot FILE ..."));
    case ARGP_KEY_END:
        if (options->plot.picture && options->files.n > 1) {
            exit(usage_error("plot: --output (--png) names one picture, but there are %d files", options->files.n));
        }
        return 0;
    default: return parse_files(&options->files, key, state);
    }
}

/* The kinds below the options. */
static char *plot_help(int key, const char *text, void *input)
{
    char *kinds = NULL;
    size_t size;
    FILE *out = key == ARGP_KEY_HELP_POST_DOC ? open_memstream(&kinds, &size) : NULL;

    (void)input;
    if (!out) {
        return (char *)text;
    }
    fputs("Kinds:\n", out);
    for (const shoal_plot_kind *kind = shoal_plot_kinds; kind->name; ++kind) {
        fprintf(out, "  %-10s %s\n", kind->name, kind->doc);
    }
    fputs("Kinds of a posterior, of the file of `shoal fit`:\n", out);
    for (const shoal_fit_kind *kind = shoal_fit_kinds; kind->name; ++kind) {
        fprintf(out, "  %-10s %s\n", kind->name, kind->doc);
    }
    fputs("Kind of a calibration, of the file of `shoal calibrate`:\n"
          "  ranks      histograms of ranks, the band of uniform ones\n",
          out);
    fputs("Kinds of one big system, of its result file or a snapshot (GADGET, tipsy, phiGRAPE):\n", out);
    for (const shoal_big_kind *kind = shoal_big_kinds; kind->name; ++kind) {
        fprintf(out, "  %-10s %s\n", kind->name, kind->doc);
    }
    return fclose(out) == 0 ? kinds : (char *)text;
}

static const struct argp plot_argp = {
    .options =
        (const struct argp_option[]){
            {"kind", 'k', "KIND", 0,
             "What to draw (default: the map of a grid, the elements of a single system, else survival)", 0},
            {"system", 's', "K", 0,
             "The system to draw (elements, orbits, transits: default the first; energy: default all)", 0},
            {"column", 'c', "NAME", 0,
             "The column of the map (default: a chaos indicator if there is one, else lifetime); of pairs: two to six, "
             "NAME,NAME,... (default: all that are swept or sampled); of corner and trace: up to 16",
             0},
            {"output", 'o', "FILE.png|.pdf", 0, "The picture's name (default: a PNG beside the result file)", 0},
            {"png", 'p', 0, OPTION_ALIAS, 0, 0},
            {"script", 'S', 0, 0, "Print the gnuplot script instead: it writes the picture to its standard output", 0},
            {"linear", 'l', 0, 0, "Map: the value itself, not its log10", 0},
            {"log", 'L', 0, 0, "Map: log10 of any value", 0},
            {"width", 'w', "LENGTH", 0, "Density: the width of the picture (default: from the first file, for all)", 0},
            {"plane", 'x', "xy|xz|yz", 0, "Density: what it is projected onto", 0},
            {"no-terminal", 'n', 0, 0, "No preview in the terminal", 0},
            {0}},
    .parser = plot_parse,
    .args_doc = "FILE...",
    .doc = "Draw pictures of result files through gnuplot; the map of a grid also as a preview in the terminal.",
    .help_filter = plot_help,
};

/* The name of a picture beside a result file: FILE.png for the map, FILE_KIND.png; malloc'd. */
static char *default_name(const char *file, const shoal_plot_kind *kind)
{
    char *name;

    if (!kind->write) {
        return picture_name(file);
    }
    return asprintf(&name, "%.*s_%s.png", shoal_name_stem(file), file, kind->name) < 0 ? NULL : name;
}

/* Whether a picture can be drawn; its name beside the file, if none is given: *name, malloc'd. */
static shoal_status begin_picture(shoal_context *context, const char *file, const char *kind,
                                  shoal_plot_options *options, char **name)
{
    const char *missing = options->script ? NULL : shoal_plot_missing();
    if (missing) {
        return shoal_fail(context, SHOAL_E_UNSUPPORTED, "no picture: %s", missing);
    }
    if (!options->picture && asprintf(name, "%.*s_%s.png", shoal_name_stem(file), file, kind) >= 0) {
        options->picture = *name;
        options->spares = true;
    }
    return SHOAL_OK;
}

/* Tell the name of a picture, or why there is none; returns the exit status. */
static int end_picture(shoal_context *context, shoal_status status, const char *file, const shoal_plot_options *options)
{
    if (status != SHOAL_OK) {
        return failed_file(context, status, file);
    }
    if (!options->script) {
        printf("%s\n", options->picture);
    }
    return EXIT_OK;
}

/* One picture of one big system. */
static int plot_big(shoal_context *context, const char *file, plot_options *given)
{
    shoal_plot_options options = given->plot;
    const shoal_big_kind *kind = NULL;
    shoal_big_view view;
    char *name = NULL;

    shoal_status status = shoal_big_view_open(context, file, &view);
    if (status != SHOAL_OK) {
        return failed_input(context, status);
    }
    status = shoal_big_kind_find(&view, options.kind, &kind);
    if (status == SHOAL_OK) {
        status = begin_picture(context, file, kind->name, &options, &name);
    }
    if (status == SHOAL_OK) {
        status = shoal_big_plot(&view, kind, &options, &given->frame, stdout);
    }
    const int code = end_picture(context, status, file, &options);
    free(name);
    shoal_big_view_close(&view);
    return code;
}

/* One picture of a posterior. */
static int plot_posterior(shoal_context *context, const char *file, const plot_options *given)
{
    shoal_plot_options options = given->plot;
    const shoal_fit_kind *kind = NULL;
    shoal_posterior *posterior = NULL;
    char *name = NULL;

    shoal_status status = shoal_posterior_read(context, file, &posterior);
    if (status != SHOAL_OK) {
        return failed_input(context, status);
    }
    status = shoal_fit_kind_find(context, options.kind, &kind);
    if (status == SHOAL_OK) {
        status = begin_picture(context, file, kind->name, &options, &name);
    }
    if (status == SHOAL_OK) {
        status = shoal_fit_plot(posterior, kind, &options, stdout);
    }
    const int code = end_picture(context, status, file, &options);
    free(name);
    shoal_posterior_destroy(&posterior);
    return code;
}

/* The picture of a calibration. */
static int plot_ranks(shoal_context *context, const char *file, const plot_options *given)
{
    shoal_plot_options options = given->plot;
    shoal_ranks ranks;
    char *name = NULL;

    shoal_status status = shoal_ranks_read(context, file, &ranks);
    if (status != SHOAL_OK) {
        return failed_input(context, status);
    }
    status = begin_picture(context, file, "ranks", &options, &name);
    if (status == SHOAL_OK) {
        status = shoal_ranks_plot(context, &ranks, &options, stdout);
    }
    const int code = end_picture(context, status, file, &options);
    free(name);
    shoal_ranks_release(&ranks);
    return code;
}

static int plot_file(shoal_context *context, const char *file, const plot_options *given)
{
    const char *missing = given->plot.script ? NULL : shoal_plot_missing();
    shoal_result *result = NULL;
    shoal_plot_options options = given->plot;
    char *name = NULL;

    shoal_status status = shoal_report_read(context, file, &result);
    if (status != SHOAL_OK) {
        return failed_input(context, status);
    }
    const shoal_plot_kind *kind = shoal_plot_find(context, result, options.kind);
    if (!kind) {
        status = SHOAL_E_USAGE;
    } else if (missing && (options.picture || given->no_terminal || kind->write)) {
        status = shoal_fail(context, SHOAL_E_UNSUPPORTED, "no picture: %s", missing);
    } else {
        options.kind = kind->name;
        options.terminal = !given->no_terminal && !options.script;
        options.colour = terminal_colour();
        options.width = isatty(STDOUT_FILENO) ? terminal_width(STDOUT_FILENO) : 0;
        if (!missing && !options.picture) {
            options.picture = name = default_name(file, kind);
            options.spares = true;
        }
        status = shoal_plot(context, result, &options, stdout);
    }
    const int code = status == SHOAL_OK ? EXIT_OK : failed_file(context, status, file);
    if (status == SHOAL_OK && missing) {
        fprintf(stderr, "shoal: no picture: %s\n", missing);
    } else if (status == SHOAL_OK && !options.script) {
        printf("%s\n", options.picture);
    }
    free(name);
    shoal_result_destroy(&result);
    return code;
}

int plot_main(int argc, char **argv)
{
    plot_options options = {.plot.system = -1, .frame = {.low = NAN, .high = NAN}};
    shoal_context *context = NULL;
    int code = EXIT_OK;

    argp_parse(&plot_argp, argc, argv, 0, NULL, &options);
    if (shoal_context_create(&context) != SHOAL_OK) {
        return failed(NULL, SHOAL_E_MEMORY);
    }
    for (int i = 0; i < options.files.n && code == EXIT_OK; ++i) {
        const char *file = options.files.name[i];
        const shoal_fit_file kind = shoal_fit_file_of(file);
        code = kind == SHOAL_FIT_FILE_POSTERIOR ? plot_posterior(context, file, &options)
               : kind == SHOAL_FIT_FILE_RANKS   ? plot_ranks(context, file, &options)
               : shoal_big_view_is(file)        ? plot_big(context, file, &options)
                                                : plot_file(context, file, &options);
    }
    shoal_context_destroy(&context);
    return code == EXIT_OK ? flush_output() : code;
}
