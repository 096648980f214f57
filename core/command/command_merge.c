/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_merge.c: `shoal merge`: one result file from those of the shards of a study.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/command/command.h"

typedef struct merge_options {
    file_list files; /* the first one is to be written */
    bool force, partial;
} merge_options;

static error_t merge_parse(int key, char *argument, struct argp_state *state)
{
    merge_options *options = state->input;

    (void)argument;
    switch (key) {
    case 'f': options->force = true; return 0;
    case 'p': options->partial = true; return 0;
    case ARGP_KEY_END:
        if (options->files.n < 2) {
            exit(usage_error("merge: expected a file to write and the shards: shoal merge OUT A B ..."));
        }
        return 0;
    default: return parse_files(&options->files, key, state);
    }
}

static const struct argp merge_argp = {
    .options =
        (const struct argp_option[]){
            {"force", 'f', 0, 0, "Replace OUT if it exists", 0},
            {"partial", 'p', 0, 0,
             "Do without shards that are missing, and take those that have not ended as far as they are", 0},
            {0}},
    .parser = merge_parse,
    .args_doc = "OUT SHARD...",
    .doc = "Put the results of the shards of a study (run.shard = \"i/N\") together."
           "\vOUT has the datasets that a run of the whole study would have written. With --partial it has the systems "
           "that there "
           "are; a grid "
           "with holes is a table and no grid any more.",
};

int merge_main(int argc, char **argv)
{
    merge_options options = {0};
    shoal_context *context = NULL;
    shoal_result **shard = NULL, *merged = NULL;
    int code = EXIT_OK;

    argp_parse(&merge_argp, argc, argv, 0, NULL, &options);
    const char *const *name = (const char *const *)options.files.name;
    if (check_name("merge", name[0]) != EXIT_OK) {
        return EXIT_USAGE;
    }
    const int n = options.files.n - 1;
    shoal_status status = shoal_context_create(&context);
    if (status == SHOAL_OK && !(shard = calloc((size_t)n, sizeof *shard))) {
        status = SHOAL_E_MEMORY;
    }
    if (status == SHOAL_OK && !options.force && access(name[0], F_OK) == 0) {
        status = shoal_fail(context, SHOAL_E_INPUT, "%s: exists; --force replaces it", name[0]);
    }
    if (status == SHOAL_OK) {
        status = shoal_store_spare(context, name[0]);
    }
    for (int k = 0; k < n && status == SHOAL_OK; ++k) {
        status = shoal_report_read(context, name[k + 1], &shard[k]);
        if (status == SHOAL_OK && shard[k]->complete) {
            status = shoal_store_read_kept(context, name[k + 1], false, shard[k]);
        }
    }
    if (status == SHOAL_OK) {
        status = shoal_result_merge(context, n, name + 1, shard, options.partial, &merged);
    }
    if (status != SHOAL_OK) {
        code = failed_input(context, status);
        goto fail;
    }
    status = shoal_store_write(context, name[0], merged);
    if (status != SHOAL_OK) {
        code = failed(context, status);
        goto fail;
    }
    printf("%s: %ld systems of %d shard%s%s\n", name[0], merged->n_systems, n, n == 1 ? "" : "s",
           merged->complete ? "" : ", not complete");
    if (shoal_result_log(merged, SHOAL_CERTIFY_LOG)) {
        (void)shoal_certify_print(context, merged, stdout);
    }
    code = flush_output();
fail:
    for (int k = 0; shard && k < n; ++k) {
        shoal_result_destroy(&shard[k]);
    }
    free(shard);
    shoal_result_destroy(&merged);
    shoal_context_destroy(&context);
    return code;
}
