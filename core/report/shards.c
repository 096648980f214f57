/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * shards.c: a study in shards that many processes share: into how many it is cut, which are still to be done, and how
 * they become one. All that is known of earlier starts is in the files beside the output: a start finds what is done,
 * and goes on with what was begun, whoever did it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "core/config/config.h"
#include "core/report/report.h"
#include "core/study/study.h"

/* Shards of a process: with fewer than FEW the last ones are waited for, with more than MOST each costs its beginning
 * again. Systems of a shard: in a smaller one than MANY few are left for long while the lanes of a thread are empty, in
 * one smaller than LEAST from the first step on; a GPU is not full with fewer than OF_GPU. Shards of one cost end in
 * whole rounds, so each process has as many. tests/bench/nodes.py shows what that gives. */
enum { FEW = 4, MOST = 32, MANY = 256, LEAST = 32, OF_GPU = 16384 };

static long between(long least, long n, long most)
{
    return n < least ? least : n > most ? most : n;
}

long shoal_shards_number(long n_systems, int n_ranks, int n_threads, bool on_gpu, long size)
{
    const long many = n_systems / (on_gpu ? OF_GPU : (long)MANY * n_threads);
    const long least = n_systems / (on_gpu ? OF_GPU : (long)LEAST * n_threads);
    const long few = between(n_ranks, least, (long)FEW * n_ranks);
    const long chosen = between(few, many, (long)MOST * n_ranks);
    const long n = size > 0 ? (n_systems - 1) / size + 1 : chosen - chosen % n_ranks;
    return n < n_systems ? n : n_systems;
}

/* ---- what there is to do ----------------------------------------------------------------------------------------- */

/* The folder of a file, as shoal_pieces_find wants it. */
static char *folder_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? strndup(file, (size_t)(slash - file) + 1) : strdup(".");
}

/* Refuse an output that is there, or a cut into n shards of what a run in one piece has begun. */
static shoal_status check_whole(const shoal_study *study, long n, bool force)
{
    char journal[4096];
    shoal_store_journal_path(study->output, journal, sizeof journal);
    const bool begun = access(journal, F_OK) == 0;
    if (n > SHOAL_MOST_SHARDS)
        return shoal_fail(study->context, SHOAL_E_USAGE, "%s: expected at most %d shards, not %ld", study->output,
                          SHOAL_MOST_SHARDS, n);
    if (begun && n > 1)
        return shoal_fail(study->context, SHOAL_E_INPUT,
                          "%s: of a run in one piece: let `shoal run` end it, or remove it to begin in shards",
                          journal);
    if (!begun && access(study->output, F_OK) == 0 && !force)
        return shoal_fail(study->context, SHOAL_E_INPUT, "%s: exists; --force replaces it", study->output);
    return shoal_store_spare(study->context, study->output);
}

/* Whether a result file is that of a shard of this study, by this program; a message says why not. */
static shoal_status check_done(const shoal_study *study, const shoal_piece *piece)
{
    shoal_store_head head;
    long shard, n;
    shoal_status status = shoal_store_glance(study->context, piece->output, &head);
    char *config = status ? NULL : shoal_config_without_shard(head.config, &shard, &n);
    if (!status && !config)
        status = shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory");
    else if (!status && strcmp(head.version, shoal_version()) != 0)
        status = shoal_fail(study->context, SHOAL_E_INPUT, "%s: written by shoal %s; --force does it again",
                            piece->output, shoal_make_plain(head.version));
    else if (!status && !shoal_config_same(config, study->config_text)) {
        char keys[200] = "";
        shoal_config_difference(config, study->config_text, keys, sizeof keys);
        status = shoal_fail(study->context, SHOAL_E_INPUT,
                            "%s: a shard of another study, whose config differs: %s; --force does it again",
                            piece->output, keys);
    }
    free(head.config);
    free(config);
    return status;
}

static int by_state(const void *a, const void *b)
{
    const shoal_piece *one = *(shoal_piece *const *)a, *other = *(shoal_piece *const *)b;
    return one->state != other->state ? (one->state > other->state) - (one->state < other->state)
                                      : (one->shard > other->shard) - (one->shard < other->shard);
}

/* Choose among the shards of the study, piece [n]. */
static shoal_status choose(const shoal_study *study, shoal_piece *piece, long n, bool force, shoal_shards *shards)
{
    shoal_status status = SHOAL_OK;
    shoal_piece **todo = calloc((size_t)n + 1, sizeof *todo);
    shards->todo = calloc((size_t)n + 1, sizeof *shards->todo);
    if (!todo || !shards->todo)
        status = shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory");
    for (long k = 0; k < n && !status; k++) {
        bool again = piece[k].state != SHOAL_PIECE_DONE && piece[k].state != SHOAL_PIECE_RUNNING;
        if (piece[k].state == SHOAL_PIECE_DONE && (status = check_done(study, &piece[k])) == SHOAL_E_INPUT && force) {
            status = SHOAL_OK;
            again = true;
        }
        if (again)
            todo[shards->n_todo++] = &piece[k];
    }
    if (!status && shards->n_todo > 0)
        qsort(todo, (size_t)shards->n_todo, sizeof *todo, by_state);
    for (long k = 0; k < shards->n_todo && !status; k++)
        shards->todo[k] = todo[k]->shard;
    free(todo);
    return status;
}

/* The shards of the study among the pieces of its folder: *first, of *n_found. Refused if it was cut in two ways. */
static shoal_status find_own(const shoal_study *study, const shoal_piece *pieces, long n, long *first, long *n_found)
{
    *n_found = 0;
    for (long k = 0; k < n; k++)
        if (pieces[k].n_shards > 1 && strcmp(pieces[k].whole, study->output) == 0) {
            *first = *n_found ? *first : k;
            ++*n_found;
        }
    const long n_first = *n_found ? pieces[*first].n_shards : 0,
               n_last = *n_found ? pieces[*first + *n_found - 1].n_shards : 0;
    if (n_first > SHOAL_MOST_SHARDS)
        return shoal_fail(study->context, SHOAL_E_INPUT, "%s: there are shards of %ld, expected at most %d",
                          study->output, n_first, SHOAL_MOST_SHARDS);
    return n_first == n_last ? SHOAL_OK
                             : shoal_fail(study->context, SHOAL_E_INPUT,
                                          "%s: there are shards of %ld and of %ld; remove those of the one",
                                          study->output, n_first, n_last);
}

shoal_status shoal_shards_find(const shoal_study *study, long n, bool must, bool force, shoal_shards *shards)
{
    shoal_piece *pieces = NULL;
    long n_pieces = 0, first = 0, n_found = 0;
    *shards = (shoal_shards){.n = n};
    char *folder = folder_of(study->output);
    shoal_status status = folder ? check_whole(study, n, force)
                                 : shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory");
    if (!status)
        status = shoal_pieces_find(study->context, folder, &pieces, &n_pieces);
    if (!status)
        status = find_own(study, pieces, n_pieces, &first, &n_found);
    if (!status && n_found && must && n_found != n)
        status = shoal_fail(study->context, SHOAL_E_INPUT,
                            "%s: it was cut into %ld shards, and not into %ld; remove them to cut it anew",
                            study->output, n_found, n);
    if (!status && n_found) {
        shards->n = n_found;
        status = choose(study, &pieces[first], n_found, force, shards);
    } else if (!status) {
        shards->n_todo = n;
        shards->todo = calloc((size_t)n, sizeof *shards->todo);
        if (!shards->todo)
            status = shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory");
        for (long k = 0; k < n && !status; k++)
            shards->todo[k] = k + 1;
    }
    shoal_pieces_destroy(&pieces, n_pieces);
    free(folder);
    if (status) {
        free(shards->todo);
        *shards = (shoal_shards){0};
    }
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* The lock is one that a process leaves which is killed at the very end. */
static void remove_shard(const char *name, bool keep)
{
    char lock[4096];
    if (!keep)
        unlink(name);
    if (snprintf(lock, sizeof lock, "%s.lock", name) < (int)sizeof lock)
        unlink(lock);
}

shoal_status shoal_shards_join(shoal_context *context, const char *output, long n, bool keep, shoal_result **merged)
{
    shoal_result **shard = calloc((size_t)n, sizeof *shard);
    char **name = calloc((size_t)n, sizeof *name);
    shoal_status status = shard && name ? SHOAL_OK : shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    *merged = NULL;
    for (long k = 0; k < n && !status; k++) {
        name[k] = shoal_shard_name(output, k + 1, n);
        status = name[k] ? shoal_report_read(context, name[k], &shard[k])
                         : shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
        if (!status)
            status = shoal_store_read_kept(context, name[k], false, shard[k]);
    }
    if (!status)
        status = shoal_result_merge(context, (int)n, (const char *const *)name, shard, false, merged);
    if (!status)
        status = shoal_store_write(context, output, *merged);
    for (long k = 0; k < n && name && shard; k++) {
        if (!status && name[k])
            remove_shard(name[k], keep);
        shoal_result_destroy(&shard[k]);
        free(name[k]);
    }
    free(name);
    free(shard);
    if (status)
        shoal_result_destroy(merged);
    return status;
}
