/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_rerun.c: `shoal rerun`: one system of a result file once more, made from the config that the file holds, with
 * more output times, and compared with what the file says of it.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/command.h"

typedef struct rerun_options {
    const char *file, *system, *interval, *times, *output, *folder;
    bool force, quiet, allow_plugins;
} rerun_options;

static error_t rerun_parse(int key, char *argument, struct argp_state *state)
{
    rerun_options *options = state->input;

    switch (key) {
    case 's': options->system = argument; return 0;
    case 'i': options->interval = argument; return 0;
    case 't': options->times = argument; return 0;
    case 'o': options->output = argument; return 0;
    case 'd': options->folder = argument; return 0;
    case 'f': options->force = true; return 0;
    case 'q': options->quiet = true; return 0;
    case 'P': options->allow_plugins = true; return 0;
    case ARGP_KEY_ARG:
        if (options->file) {
            exit(usage_error("rerun: \"%s\": expected one result file", argument));
        }
        options->file = argument;
        return 0;
    case ARGP_KEY_END:
        if (!options->file || !options->system) {
            exit(usage_error("rerun: expected a result file and a system: shoal rerun FILE --system K"));
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp rerun_argp = {
    .options =
        (const struct argp_option[]){
            {"system", 's', "K", 0, "The system's id", 0},
            {"interval", 'i', "DT", 0, "Time between snapshots", 0},
            {"times", 't', "T,T,...", 0, "Times of further snapshots", 0},
            {"output", 'o', "OUT", 0, "The file to write (default: FILE.system-K.h5)", 0},
            {"folder", 'd', "DIR", 0,
             "Where the study's config was, for the files that it names (default: where FILE is)", 0},
            {"force", 'f', 0, 0, "Replace OUT if it exists", 0},
            {"quiet", 'q', 0, 0, "Print nothing but errors", 0},
            OPTION_ALLOW_PLUGINS,
            {0}},
    .parser = rerun_parse,
    .args_doc = "FILE --system K",
    .doc = "Integrate one system of a result file again, with more output."
           "\vThe config in FILE makes the system anew: the same id, the same random numbers, the same engine. Times "
           "are counted "
           "as in the config. On the same kind of machine its end is the same to the last bit; rerun compares, and "
           "fails if not.",
};

/* The study of that one system, with its own output. */
static shoal_status load_system(shoal_context *context, const rerun_options *options, const shoal_result *result,
                                long long id, shoal_study **study)
{
    const char *file = options->file, *slash = strrchr(file, '/');
    const int stem = shoal_name_stem(file);
    char *word[4] = {0}, *path = NULL, *output = NULL;
    long shard, n_shards;
    int n = 0, made = options->folder ? asprintf(&path, "%s/%s", options->folder, slash ? slash + 1 : file)
                                      : asprintf(&path, "%s", file);
    char *text = shoal_config_without_shard(result->config_text ? result->config_text : "", &shard, &n_shards);

    const char *engine = result->plan_line && strstr(result->plan_line, ", cuda: ") ? "cuda" : "cpu";
    made |= options->output ? asprintf(&output, "%s", options->output)
                            : asprintf(&output, "%.*s.system-%lld%s", stem, file, id, file + stem);
    made |= asprintf(&word[n++], "run.system=%lldL", id);
    made |= asprintf(&word[n++], "run.engine=%s", engine);
    if (options->interval) {
        made |= asprintf(&word[n++], "output.interval=%s", options->interval);
    }
    if (options->times) {
        made |= asprintf(&word[n++], "output.times=[%s]", options->times);
    }
    shoal_status status = made < 0 || !text
                              ? shoal_fail(context, SHOAL_E_MEMORY, "out of memory")
                              : shoal_study_open(context, path, text, n, (const char *const *)word, NULL, study);
    if (status == SHOAL_OK) {
        free((*study)->output);
        (*study)->output = output;
        output = NULL;
    }
    for (int i = 0; i < n; ++i) {
        free(word[i]);
    }
    free(output);
    free(path);
    free(text);
    return status;
}

/* Whether the system is what the file says. */
static int compare(const rerun_options *options, const shoal_result *result, long row, const shoal_result *again)
{
    if (result->outcome[row] == SHOAL_RUNNING) {
        printf("%s: system %s had not ended: nothing to compare with\n", options->file, options->system);
        return EXIT_OK;
    }
    const char *what = shoal_result_difference(result, row, again, 0);
    if (what) {
        fprintf(stderr, "shoal: %s: system %s: its %s is not the same; it was made by shoal %s: %s\n", options->file,
                options->system, what, result->version, result->plan_line ? result->plan_line : "");
        return EXIT_FAILED;
    }
    if (!options->quiet) {
        printf("system %s       %s at %.10g, the same to the last bit\n", options->system,
               shoal_outcome_name(again->outcome[0]), again->t_stop[0]);
    }
    return EXIT_OK;
}

int rerun_main(int argc, char **argv)
{
    rerun_options options = {0};
    shoal_context *context = NULL;
    shoal_study *study = NULL;
    shoal_result *result = NULL, *again = NULL;
    shoal_progress last;
    char *end;
    int code;
    long row = 0;

    argp_parse(&rerun_argp, argc, argv, 0, NULL, &options);
    if (options.output && check_name("rerun", options.output) != EXIT_OK) {
        return EXIT_USAGE;
    }
    const long long id = strtoll(options.system, &end, 10);
    if (end == options.system || *end) {
        return usage_error("rerun: --system %s: expected an integer", options.system);
    }
    shoal_status status = shoal_context_create(&context);
    if (status == SHOAL_OK) {
        shoal_context_allow_plugins(context, options.allow_plugins);
        status = shoal_report_read(context, options.file, &result);
    }
    if (status == SHOAL_OK) {
        status = shoal_result_check_run(context, result, options.file);
    }
    while (status == SHOAL_OK && row < result->n_systems && result->id[row] != id) {
        ++row;
    }
    if (status == SHOAL_OK && row == result->n_systems) {
        status = shoal_fail(context, SHOAL_E_INPUT, "%s: there is no system %lld", options.file, id);
    }
    if (status == SHOAL_OK) {
        status = load_system(context, &options, result, id, &study);
    }
    if (status != SHOAL_OK) {
        code = failed_input(context, status);
        goto fail;
    }
    status = run_study(study, options.force, options.quiet, PROGRESS_SECONDS, &last);
    if (status == SHOAL_OK) {
        status = shoal_report_read(context, study->output, &again);
    }
    if (status != SHOAL_OK) {
        code = failed(context, status);
        goto fail;
    }
    code = compare(&options, result, row, again);
    if (!options.quiet) {
        printf("result         %s\n", study->output);
    }
    code = code == EXIT_OK ? flush_output() : code;
fail:
    shoal_result_destroy(&result);
    shoal_result_destroy(&again);
    shoal_study_destroy(&study);
    shoal_context_destroy(&context);
    return code;
}
