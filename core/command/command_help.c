/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_help.c: `shoal info`, `shoal list` and `shoal explain`.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <gsl/gsl_version.h>
#include <hdf5.h>
#include <libconfig.h>
#include <stdlib.h>

#include "core/command/command.h"
#include "core/fit/fit.h"
#include "core/report/plot.h"

int info_main(int argc, char **argv)
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

typedef struct list_options {
    file_list names;
    const char *words;
} list_options;

static error_t list_parse(int key, char *argument, struct argp_state *state)
{
    list_options *options = state->input;
    switch (key) {
    case 'w': options->words = argument; return 0;
    case ARGP_KEY_END:
        if (options->names.n > 0) {
            exit(usage_error("list: expected no arguments (shoal explain NAME tells more about one)"));
        }
        return 0;
    default: return parse_files(&options->names, key, state);
    }
}

static const struct argp list_argp = {
    .options =
        (const struct argp_option[]){
            {"words", 'w', "KIND", 0,
             "The words of a kind alone, a line each, for scripts: commands, plugs, keys, overrides, columns, "
             "outcomes, pictures",
             0},
            {0}},
    .parser = list_parse,
    .args_doc = "",
    .doc = "Every propagator, force and monitor, a line each.",
};

int list_main(int argc, char **argv)
{
    list_options options = {0};
    shoal_context *context = NULL;

    argp_parse(&list_argp, argc, argv, 0, NULL, &options);
    shoal_status status = shoal_context_create(&context);
    if (status == SHOAL_OK && options.words) {
        status = shoal_help_words(context, options.words, command_words, stdout);
        for (const shoal_fit_kind *kind = shoal_fit_kinds; kind->name && strcmp(options.words, "pictures") == 0;
             kind++) {
            puts(kind->name);
        }
    } else if (status == SHOAL_OK) {
        shoal_help_list(context, stdout);
    }
    const int code = status == SHOAL_OK ? flush_output() : failed(context, status);
    shoal_context_destroy(&context);
    return code;
}

typedef struct explain_options {
    file_list names;
    bool all;
} explain_options;

static error_t explain_parse(int key, char *argument, struct argp_state *state)
{
    explain_options *options = state->input;
    (void)argument;
    switch (key) {
    case 'a': options->all = true; return 0;
    case ARGP_KEY_END:
        if (!options->all && options->names.n == 0) {
            exit(usage_error("explain: expected a name (shoal list has them)"));
        }
        return 0;
    default: return parse_files(&options->names, key, state);
    }
}

static const struct argp explain_argp = {
    .options = (const struct argp_option[]){{"all", 'a', 0, 0, "The whole reference, as Markdown", 0}, {0}},
    .parser = explain_parse,
    .args_doc = "NAME...",
    .doc = "Tell all about a propagator, a force, a monitor, a config key, a column, an outcome or a command.",
};

int explain_main(int argc, char **argv)
{
    explain_options options = {0};
    shoal_context *context = NULL;

    argp_parse(&explain_argp, argc, argv, 0, NULL, &options);
    shoal_status status = shoal_context_create(&context);
    if (status == SHOAL_OK && options.all) {
        status = shoal_help_reference(context, stdout);
    }
    for (int i = 0; i < options.names.n && status == SHOAL_OK; ++i) {
        status = shoal_help_explain(context, options.names.name[i], command_words, stdout);
    }
    const int code = status == SHOAL_OK ? flush_output() : failed(context, status);
    shoal_context_destroy(&context);
    return code;
}
