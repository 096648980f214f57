/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * status.c: how far the runs of a folder have come, from what is in it: result files, journals, and the locks of those
 * who write. Nothing is asked of the processes, which may be on other machines, and nothing is changed.
 *
 *     result file, complete                 done
 *     journal, its output locked            running, as far as the journal says
 *     journal or incomplete result file     failed
 *
 * The three further runs of run.certify have files beside that journal (OUTPUT.shadow and so on). They are no studies:
 * their piece says how much of them is done.
 *
 * Time left. A running piece does `rate` of itself a second. What is left of all pieces, over the sum of the rates, is
 * the time if whoever finishes a piece takes another one; and no run ends before the slowest piece that runs.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/report/report.h"
#include "core/study/study.h"

static const char journal_end[] = ".journal";

/* ---- one piece --------------------------------------------------------------------------------------------------- */

/* Whether a process is writing this output. The lock is tried and let go at once. */
static bool is_locked(const char *output)
{
    char path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s.lock", output);
    const int file = n < (int)sizeof path ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    if (file < 0)
        return false;
    const bool locked = flock(file, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    close(file);
    return locked;
}

static bool has_journal_beside(const char *output)
{
    char path[PATH_MAX];
    shoal_store_journal_path(output, path, sizeof path);
    return access(path, F_OK) == 0;
}

/* Whether an output is one of the three further runs of a study that certifies. */
static bool is_of_certify(const char *output)
{
    const char *dot = strrchr(output, '.');
    char study[PATH_MAX];
    for (int k = 0; dot && k < SHOAL_CERTIFY_RUNS; k++)
        if (strcmp(dot + 1, shoal_certify_names[k]) == 0) {
            snprintf(study, sizeof study, "%.*s", (int)(dot - output), output);
            return has_journal_beside(study);
        }
    return false;
}

/* How much is done of the three further runs. */
static void look_at_certify(shoal_context *context, shoal_piece *piece)
{
    double done = 0;
    for (int k = 0; k < SHOAL_CERTIFY_RUNS; k++) {
        char output[PATH_MAX], journal[PATH_MAX];
        shoal_journal_pace pace = {0};
        snprintf(output, sizeof output, "%s.%s", piece->output, shoal_certify_names[k]);
        shoal_store_journal_path(output, journal, sizeof journal);
        const bool has_journal = shoal_journal_glance(context, journal, &pace) == SHOAL_OK,
                   is_done = !has_journal && access(output, F_OK) == 0;
        piece->certifies = piece->certifies || has_journal || is_done;
        done += is_done ? 1 : piece->state == SHOAL_PIECE_RUNNING ? pace.fraction : pace.kept;
    }
    piece->certified = fmin(fmax(done / SHOAL_CERTIFY_RUNS, 0), 1);
}

/* What there is of an output; false: no run of an ensemble has left this. */
static bool look_at(shoal_context *context, shoal_piece *piece)
{
    char path[PATH_MAX];
    shoal_store_head head = {0};
    shoal_journal_pace pace = {0};
    shoal_store_journal_path(piece->output, path, sizeof path);
    const bool has_journal = shoal_journal_glance(context, path, &pace) == SHOAL_OK;
    const bool has_result = access(piece->output, F_OK) == 0 &&
                            shoal_store_glance(context, piece->output, &head) == SHOAL_OK;
    free(head.config);
    if (has_result && head.complete && !has_journal) {
        piece->state = SHOAL_PIECE_DONE;
        piece->fraction = 1;
        return true;
    }
    piece->state = is_locked(piece->output) ? SHOAL_PIECE_RUNNING : SHOAL_PIECE_FAILED;
    if (has_journal && access(path, F_OK) != 0) /* its run has ended since */
        return look_at(context, piece);
    /* what came after the last checkpoint is done again */
    piece->fraction = fmin(fmax(piece->state == SHOAL_PIECE_RUNNING ? pace.fraction : pace.kept, 0), 1);
    if (piece->state == SHOAL_PIECE_RUNNING && pace.seconds > 0)
        piece->rate = fmax(pace.fraction - pace.began, 0) / pace.seconds;
    if (has_journal)
        look_at_certify(context, piece);
    return has_journal || has_result;
}

/* ---- a folder ---------------------------------------------------------------------------------------------------- */

typedef struct piece_list {
    shoal_context *context;
    shoal_piece *piece;
    long n, capacity;
} piece_list;

static void clear(shoal_piece *piece)
{
    free(piece->output);
    free(piece->whole);
    *piece = (shoal_piece){0};
}

void shoal_pieces_destroy(shoal_piece **pieces, long n)
{
    for (long k = 0; *pieces && k < n; k++)
        clear(&(*pieces)[k]);
    free(*pieces);
    *pieces = NULL;
}

static int by_study(const void *a, const void *b)
{
    const shoal_piece *one = a, *other = b;
    const int names = strcmp(one->whole, other->whole);
    return names                              ? names
           : one->n_shards != other->n_shards ? (one->n_shards > other->n_shards) - (one->n_shards < other->n_shards)
                                              : (one->shard > other->shard) - (one->shard < other->shard);
}

static bool same_study(const shoal_piece *a, const shoal_piece *b)
{
    return a->n_shards == b->n_shards && strcmp(a->whole, b->whole) == 0;
}

/* Take a piece, with its texts, which are freed if there is no room. */
static shoal_status add(piece_list *to, shoal_piece piece)
{
    if (piece.output && piece.whole && to->n == to->capacity) {
        const long capacity = 2 * to->capacity + 64;
        shoal_piece *more = realloc(to->piece, (size_t)capacity * sizeof *more);
        to->piece = more ? more : to->piece;
        to->capacity = more ? capacity : to->capacity;
    }
    if (!piece.output || !piece.whole || to->n == to->capacity) {
        clear(&piece);
        return shoal_fail(to->context, SHOAL_E_MEMORY, "out of memory");
    }
    to->piece[to->n++] = piece;
    return SHOAL_OK;
}

/* An entry of the folder: a result file, or a journal whose result file is not there yet. */
static shoal_status add_entry(piece_list *to, const char *folder, const char *name)
{
    char path[PATH_MAX], word[16] = "";
    const bool here = strcmp(folder, ".") == 0;
    const int n = here ? snprintf(path, sizeof path, "%s", name)
                       : snprintf(path, sizeof path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
                                  name);
    if (n >= (int)sizeof path - 32 || shoal_not_a_file(path) || shoal_is_temporary(name))
        return SHOAL_OK;
    const int stem = n - (int)strlen(journal_end);
    FILE *file = fopen(path, "rb");
    const bool has_word = file && fread(word, 1, 8, file) == 8;
    if (file)
        fclose(file);
    if (stem > 0 && strcmp(path + stem, journal_end) == 0) {
        path[stem] = '\0';
        if (!has_word || access(path, F_OK) == 0)
            return SHOAL_OK; /* of no journal; or the other entry says it */
    } else if (!has_word || !shoal_h5_begins(word)) {
        return SHOAL_OK;
    }
    if (is_of_certify(path))
        return SHOAL_OK;
    shoal_piece piece = {.output = strdup(path)};
    if (piece.output && !look_at(to->context, &piece)) {
        clear(&piece);
        return SHOAL_OK;
    }
    piece.whole = shoal_whole_name(path, &piece.shard, &piece.n_shards);
    return add(to, piece);
}

/* Add the shards that are not there, of a list in order. */
static shoal_status add_waiting(piece_list *to)
{
    const long n = to->n;
    shoal_status status = SHOAL_OK;
    for (long k = 0; k < n && !status; k++) {
        const bool first = k == 0 || !same_study(&to->piece[k - 1], &to->piece[k]);
        const bool last = k == n - 1 || !same_study(&to->piece[k], &to->piece[k + 1]);
        const long before = to->piece[k].shard, end = last ? to->piece[k].n_shards + 1 : to->piece[k + 1].shard;
        if (to->piece[k].n_shards > SHOAL_MOST_SHARDS)
            continue;
        for (long shard = first ? 1 : before + 1; shard < end && !status; shard++) {
            const shoal_piece *of = &to->piece[k];
            if (shard != before)
                status = add(to, (shoal_piece){.output = shoal_shard_name(of->whole, shard, of->n_shards),
                                               .whole = strdup(of->whole),
                                               .shard = shard,
                                               .n_shards = of->n_shards,
                                               .state = SHOAL_PIECE_WAITING});
        }
    }
    return status;
}

shoal_status shoal_pieces_find(shoal_context *context, const char *folder, shoal_piece **pieces, long *n)
{
    piece_list found = {.context = context};
    shoal_status status = SHOAL_OK;
    *pieces = NULL;
    *n = 0;
    DIR *entries = opendir(*folder ? folder : ".");
    if (!entries)
        return shoal_fail(context, SHOAL_E_INPUT, "%s: cannot be read: %s", folder, strerror(errno));
    for (const struct dirent *entry; !status && (entry = readdir(entries));)
        status = add_entry(&found, *folder ? folder : ".", entry->d_name);
    closedir(entries);
    if (!status && found.n > 0) {
        qsort(found.piece, (size_t)found.n, sizeof *found.piece, by_study);
        status = add_waiting(&found);
    }
    if (status) {
        shoal_pieces_destroy(&found.piece, found.n);
        return status;
    }
    if (found.n > 0)
        qsort(found.piece, (size_t)found.n, sizeof *found.piece, by_study);
    if (context)
        context->message[0] = '\0'; /* of files that are no results */
    *pieces = found.piece;
    *n = found.n;
    return SHOAL_OK;
}

void shoal_pieces_add(const shoal_piece *pieces, long n, shoal_pieces_sum *sum)
{
    double done = 0, left = 0, rate = 0, slowest = 0;
    long n_known = 0, n_certify = 0;
    *sum = (shoal_pieces_sum){0};
    for (; sum->n < n && same_study(&pieces[0], &pieces[sum->n]); sum->n++) {
        const shoal_piece *piece = &pieces[sum->n];
        sum->n_by_state[piece->state]++;
        done += piece->fraction;
        left += 1 - piece->fraction;
        n_certify += piece->certifies;
        if (piece->state == SHOAL_PIECE_RUNNING && piece->rate > 0) {
            n_known++;
            rate += piece->rate;
            slowest = fmax(slowest, (1 - piece->fraction) / piece->rate);
        }
    }
    sum->fraction = done / (double)sum->n;
    /* one of which nothing is known yet is as fast as the others */
    rate *= n_known ? (double)sum->n_by_state[SHOAL_PIECE_RUNNING] / (double)n_known : 0;
    sum->seconds_left = n_certify > 0 ? NAN : !(left > 0) ? 0 : n_known ? fmax(left / rate, slowest) : NAN;
}
