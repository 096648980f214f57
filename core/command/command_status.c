/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_status.c: `shoal status`: how far the runs in a folder have come.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/command.h"

typedef struct status_options {
    const char *folder;
    bool all, csv;
} status_options;

static error_t status_parse(int key, char *argument, struct argp_state *state)
{
    status_options *options = state->input;

    switch (key) {
    case 'a': options->all = true; return 0;
    case 'c': options->csv = true; return 0;
    case ARGP_KEY_ARG:
        if (options->folder) {
            exit(usage_error("status: \"%s\": expected one folder", argument));
        }
        options->folder = argument;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp status_argp = {
    .options = (const struct argp_option[]){{"all", 'a', 0, 0, "A line for each shard, not only for those that failed",
                                             0},
                                            {"csv", 'c', 0, 0, "Each shard as a row of CSV, nothing else", 0},
                                            {0}},
    .parser = status_parse,
    .args_doc = "[DIR]",
    .doc = "Tell how far the runs of ensembles have come that write into a folder (default: this one)."
           "\vA study in shards is one line. done: the result is there. running: a process writes it. failed: begun, "
           "but no process is at work; the same command goes on from the journal. waiting: not begun. Time left: if "
           "as many processes go on as run now. certified: so much is done of the further runs of run.certify, which "
           "follow the study's own.\n"
           "\n"
           "Processes on other machines count as running where the folder's file system shares its locks (flock).",
};

static const char *const state_name[SHOAL_PIECE_STATES] = {"done", "running", "failed", "waiting"};

static void print_csv(const shoal_piece *pieces, long n)
{
    puts("study,shard,shards,state,fraction,seconds_left,file,certified");
    for (long k = 0; k < n; ++k) {
        const shoal_piece *piece = &pieces[k];
        shoal_print_csv(stdout, piece->whole);
        printf(",%ld,%ld,%s,%.6g,", piece->shard, piece->n_shards, state_name[piece->state], piece->fraction);
        if (piece->rate > 0 && !piece->certifies) {
            printf("%.6g", (1 - piece->fraction) / piece->rate);
        }
        putchar(',');
        shoal_print_csv(stdout, piece->output);
        putchar(',');
        if (piece->certifies) {
            printf("%.6g", piece->certified);
        }
        putchar('\n');
    }
}

static void print_runs(const shoal_piece *first, const shoal_pieces_sum *sum, int width, bool all)
{
    char left[32] = "-";
    if (sum->n_by_state[SHOAL_PIECE_RUNNING] > 0) {
        snprintf(left, sizeof left, "?");
        if (isfinite(sum->seconds_left)) {
            put_duration(left, sizeof left, sum->seconds_left);
        }
    }
    printf("%-*s %7ld", width, first->whole, first->n_shards);
    for (int state = 0; state < SHOAL_PIECE_STATES; ++state) {
        printf(" %7ld", sum->n_by_state[state]);
    }
    printf(" %6.1f %% %9s\n", 100 * sum->fraction, left);
    for (long k = 0; k < sum->n; ++k) {
        const shoal_piece *piece = &first[k];
        if (piece->certifies) {
            printf("  %s: %s, certified %.1f %%\n", piece->output, state_name[piece->state], 100 * piece->certified);
        } else if (all || piece->state == SHOAL_PIECE_FAILED) {
            printf("  %s: %s at %.1f %%\n", piece->output, state_name[piece->state], 100 * piece->fraction);
        }
    }
}

static void print_table(const shoal_piece *pieces, long n, bool all)
{
    int width = 5;
    for (long k = 0; k < n; ++k) {
        const int length = (int)strlen(pieces[k].whole);
        width = length > width ? length : width;
    }
    printf("%-*s  shards", width, "study");
    for (int state = 0; state < SHOAL_PIECE_STATES; ++state) {
        printf(" %7s", state_name[state]);
    }
    puts("     part      left");
    shoal_pieces_sum sum;
    for (long k = 0; k < n; k += sum.n) {
        shoal_pieces_add(&pieces[k], n - k, &sum);
        print_runs(&pieces[k], &sum, width, all);
    }
}

int status_main(int argc, char **argv)
{
    status_options options = {0};
    shoal_context *context = NULL;
    shoal_piece *pieces = NULL;
    long n = 0;
    int code = EXIT_OK;

    argp_parse(&status_argp, argc, argv, 0, NULL, &options);
    const char *folder = options.folder ? options.folder : ".";
    shoal_status status = shoal_context_create(&context);
    if (status == SHOAL_OK) {
        status = shoal_pieces_find(context, folder, &pieces, &n);
    }
    if (status != SHOAL_OK) {
        code = failed(context, status);
        goto fail;
    }
    for (long k = 0; k < n; ++k) {
        shoal_make_plain(pieces[k].output);
        shoal_make_plain(pieces[k].whole);
    }
    if (options.csv) {
        print_csv(pieces, n);
    } else if (n == 0) {
        printf("no runs of ensembles in %s\n", folder);
    } else {
        print_table(pieces, n, options.all);
    }
    code = flush_output();
fail:
    shoal_pieces_destroy(&pieces, n);
    shoal_context_destroy(&context);
    return code;
}
