/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * sample.c: draws from a target until they are enough. When it is asked whether they are, after so many draws, depends
 * on nothing but their number: a fit that was killed and goes on ends at the same draw with the same bits.
 *
 * Differential evolution learns its map (map.c) after 64, 128, ... 4096 draws, from the later half of these, and never
 * again. Between two lessons the map does not change, so that the steps are those of a Markov chain. Draws are precise
 * only if all that count were made with one map. It depends on the draws alone, so that a journal need not keep it.
 */
#include <math.h>
#include <stdlib.h>

#include "core/fit/fit.h"

enum { FIRST_LOOK = 64, LEAST_MORE = 32, PART_MORE = 8 }; /* an eighth more until the next look */
/* With temperatures no fewer steps are precise: draws of a ladder that still changes are to be forgotten. */
enum { LEAST_TEMPERED = 4 * SHOAL_WALKERS_LAG };
enum { FIRST_LESSON = 64, LAST_LESSON = 4096 }; /* draws */
enum { MOST_LEARNT = 1 << 14 };                 /* draws, times walkers, of which a map is made, about */

#define MOST_LOOK 0x1p28 /* bytes of columns that are diagnosed at once, about */

typedef struct sampler {
    const shoal_target *target;
    const shoal_fit_options *options;
    shoal_walkers walkers;
    shoal_fit_journal journal;
    shoal_draws *draws;
    double saved; /* when, wall clock */
} sampler;

shoal_status shoal_draws_reserve(shoal_context *context, shoal_draws *draws, long n)
{
    const size_t row = (size_t)draws->n_walkers * (size_t)(draws->k + SHOAL_DRAW_NUMBERS) * sizeof(double);
    if (n <= draws->room)
        return SHOAL_OK;
    const long room = n + n / 2 + FIRST_LOOK;
    double *values = realloc(draws->values, (size_t)room * row);
    if (!values)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld draws of %ld walkers", room,
                          draws->n_walkers);
    draws->values = values;
    draws->room = room;
    return SHOAL_OK;
}

void shoal_draws_column(const shoal_draws *draws, int column, double *x)
{
    const long first = shoal_draws_first(draws), n = draws->n - first, row = draws->k + SHOAL_DRAW_NUMBERS;
    for (long w = 0; w < draws->n_walkers; w++)
        for (long d = 0; d < n; d++)
            x[w * n + d] = draws->values[((first + d) * draws->n_walkers + w) * row + column];
}

void shoal_draws_release(shoal_draws *draws)
{
    free(draws->values);
    free(draws->diagnosis);
    shoal_optimum_release(&draws->optimum);
    *draws = (shoal_draws){0};
}

/* The walkers at temperature 1 are a draw. */
static shoal_status keep(sampler *s)
{
    shoal_draws *draws = s->draws;
    const int k = draws->k;
    const shoal_status status = shoal_draws_reserve(s->target->context, draws, draws->n + 1);
    double *to = status ? NULL : draws->values + draws->n * draws->n_walkers * (k + SHOAL_DRAW_NUMBERS);
    for (long w = 0; w < draws->n_walkers && !status; w++, to += k + SHOAL_DRAW_NUMBERS) {
        memcpy(to, s->walkers.theta + w * k, (size_t)k * sizeof *to);
        to[k + SHOAL_DRAW_LP] = s->walkers.lnp[w] + s->walkers.lnl[w];
        to[k + SHOAL_DRAW_LNL] = s->walkers.lnl[w];
        to[k + SHOAL_DRAW_ACCEPTED] = s->walkers.accepted[w];
    }
    draws->n += !status;
    return status;
}

/* What is counted, of the steps that there were. */
static void count(sampler *s)
{
    const shoal_walkers *walkers = &s->walkers;
    const double n = walkers->count[SHOAL_WALKERS_STEPS];
    s->draws->n_steps = (long)n;
    s->draws->acceptance = walkers->count[SHOAL_WALKERS_ACCEPTED] / (n * (double)walkers->n_walkers);
    s->draws->hottest = 1 / walkers->beta[s->options->n_temperatures - 1];
    s->draws->to_prior = (int)fmin(walkers->count[SHOAL_WALKERS_TO_PRIOR], INT_MAX);
    s->draws->swaps = NAN;
    for (int t = 1; t < s->options->n_temperatures; t++)
        s->draws->swaps = fmin(s->draws->swaps, walkers->swapped[t] / n);
}

/* After how many of n draws the map was learnt; 0: there is none. */
static long last_lesson(const sampler *s, long n)
{
    long at = 0;
    if (s->options->method == SHOAL_FIT_DEMCMC)
        for (long next = FIRST_LESSON; next <= n && next <= LAST_LESSON; next *= 2)
            at = next;
    return at;
}

/* The map of n draws in the coordinates in which the walkers move. */
static shoal_status learn_from(sampler *s, long n, const double **x, long n_different)
{
    const shoal_follow *follow = &s->walkers.follow;
    const size_t k = (size_t)s->draws->k, n_f = s->walkers.count[SHOAL_WALKERS_CHOICE] > 0 ? (size_t)follow->n : 0;
    double *y = n_f ? shoal_allocate((size_t)n * (k + n_f), sizeof *y) : NULL, *c = y ? y + (size_t)n * k : NULL;
    if (n_f && !y)
        return shoal_fail(s->target->context, SHOAL_E_MEMORY, "out of memory for %ld draws", n);
    for (long i = 0; i < n && y; i++)
        x[i] = memcpy(y + (size_t)i * k, x[i], k * sizeof *y);
    shoal_status status = n_f ? shoal_follow_find(follow, n, y, c) : SHOAL_OK;
    if (!status) {
        if (n_f)
            shoal_follow_add(follow, n, -1, c, y);
        status = shoal_map_learn(s->target->context, n, x, n_different, &s->walkers.map);
    }
    free(y);
    return status;
}

/* The map of the last lesson; nothing where there was none. */
static shoal_status learn(sampler *s)
{
    const shoal_draws *draws = s->draws;
    const long last = last_lesson(s, draws->n), first = last / 2, row = draws->k + SHOAL_DRAW_NUMBERS,
               each = 1 + (last - first) * draws->n_walkers / MOST_LEARNT;
    if (last == 0)
        return SHOAL_OK;
    const double **x = malloc((size_t)((last - first) * draws->n_walkers) * sizeof *x);
    if (!x)
        return shoal_fail(s->target->context, SHOAL_E_MEMORY, "out of memory for %ld draws", last - first);
    long n = 0, n_different = draws->n_walkers;
    for (long i = first * draws->n_walkers; i < last * draws->n_walkers; i++) {
        n_different += draws->values[i * row + draws->k + SHOAL_DRAW_ACCEPTED] > 0;
        if (i / draws->n_walkers % each == 0)
            x[n++] = draws->values + i * row;
    }
    const shoal_status status = n ? learn_from(s, n, x, n_different) : SHOAL_OK;
    free(x);
    return status;
}

/* Columns that are diagnosed: begin, begin + 1, ..., round from the last to the first. */
typedef struct look_loop {
    const sampler *s;
    long n; /* draws that count */
    int begin, n_columns;
    bool failed;
} look_loop;

static void diagnose_columns(void *user, long first, long last)
{
    look_loop *loop = user;
    const shoal_draws *draws = loop->s->draws;
    double *x = malloc((size_t)(draws->n_walkers * loop->n) * sizeof *x);
    bool good = x;
    for (long c = first; c < last && good; c++) {
        const int i = (int)(loop->begin + c) % loop->n_columns;
        shoal_draws_column(draws, i < draws->k ? i : draws->k + SHOAL_DRAW_LP, x);
        good = !shoal_diagnose(NULL, draws->n_walkers, loop->n, x, &draws->diagnosis[i]);
    }
    free(x);
    if (!good)
        __atomic_store_n(&loop->failed, true, __ATOMIC_RELAXED);
}

/* Threads that diagnose at once: each has memory for a column several times. */
static int look_threads(const sampler *s, long n)
{
    const double column = (double)s->draws->n_walkers * (double)n * sizeof(double), most = MOST_LOOK / column + 1;
    return most < s->options->n_threads ? (int)most : s->options->n_threads;
}

/* Diagnose the later half; if brief, only as long as it may be precise. */
static shoal_status look(sampler *s, bool brief)
{
    shoal_draws *draws = s->draws;
    const int n_columns = draws->k + 1;
    look_loop loop = {s, draws->n - shoal_draws_first(draws), brief ? draws->worst : 0, n_columns, false};
    if (loop.n < 4 || draws->n_diagnosed == draws->n)
        return SHOAL_OK;
    draws->precise = shoal_draws_first(draws) >= last_lesson(s, draws->n - 1) &&
                     (s->options->n_temperatures == 1 || shoal_walkers_steps(&s->walkers) >= LEAST_TEMPERED) &&
                     shoal_draws_cross(draws, s->options->ess);
    if (!brief)
        shoal_share(s->target->context, look_threads(s, loop.n), n_columns, 1, diagnose_columns, &loop);
    int done = 0;
    for (; done < n_columns && (draws->precise || !brief); done++) {
        const int i = (loop.begin + done) % n_columns;
        const shoal_diagnosis *of = &draws->diagnosis[i];
        if (brief)
            diagnose_columns(&loop, done, done + 1);
        if (loop.failed)
            return shoal_fail(s->target->context, SHOAL_E_MEMORY, "out of memory for %ld draws", draws->n);
        if (i < draws->k) /* of constants there is no R-hat, and nothing to wait for */
            draws->precise = draws->precise && !(of->rhat > s->options->rhat) &&
                             fmin(of->ess_bulk, of->ess_tail) >= s->options->ess;
        if (!draws->precise)
            draws->worst = i;
    }
    if (done == n_columns)
        draws->n_diagnosed = draws->n;
    return SHOAL_OK;
}

/* The number of draws after which is looked: the least that is no less than n. */
static long next_look(long n)
{
    long at = FIRST_LOOK;
    while (at < n)
        at += at / PART_MORE > LEAST_MORE ? at / PART_MORE : LEAST_MORE;
    return at;
}

static shoal_status save(sampler *s)
{
    s->saved = shoal_seconds();
    return shoal_fit_journal_append(&s->journal, &s->walkers, s->draws);
}

static shoal_status go(sampler *s, shoal_fit_callback *callback, void *user)
{
    shoal_draws *draws = s->draws;
    shoal_status status = SHOAL_OK;
    for (;;) {
        const long steps = shoal_walkers_steps(&s->walkers);
        count(s);
        if (draws->n == next_look(draws->n) || draws->n == last_lesson(s, draws->n))
            status = look(s, s->options->brief);
        if (status || (draws->n_diagnosed == draws->n && draws->precise) || steps >= s->options->n_steps)
            break;
        if (callback && callback(draws, user)) {
            status = save(s);
            return status ? status : shoal_fail(s->target->context, SHOAL_E_INTERRUPTED, "interrupted");
        }
        if (shoal_seconds() - s->saved >= s->options->checkpoint_s)
            status = save(s);
        if (!status)
            status = shoal_walkers_step(&s->walkers);
        if (!status && (steps + 1) % s->options->thin == 0) {
            status = keep(s);
            if (draws->n == FIRST_LESSON)
                shoal_walkers_choose(&s->walkers);
            if (!status && draws->n == last_lesson(s, draws->n))
                status = learn(s);
        }
        if (status)
            break;
    }
    if (!status)
        status = look(s, false);
    return status ? status : save(s);
}

/* The first places, or those of the journal. */
static shoal_status begin(sampler *s, const char *path, const char *text, shoal_fit_callback *callback, void *user)
{
    bool resumed = false;
    shoal_draws *draws = s->draws;
    shoal_status status = shoal_walkers_create(s->target, s->options, &s->walkers);
    if (!status)
        status = shoal_fit_journal_open(s->target->context, path, text, &s->walkers, draws, &resumed, &s->journal);
    if (!status && resumed)
        status = shoal_walkers_learn_follow(&s->walkers);
    if (status || resumed)
        return status ? status : learn(s);
    if (s->options->start == SHOAL_FIT_FROM_OPTIMUM)
        status = shoal_optimise(s->target, s->options->seed, callback, user, draws);
    return status ? status : shoal_walkers_start(&s->walkers, draws->optimum.theta ? &draws->optimum : NULL);
}

shoal_status shoal_fit_sample(const shoal_target *target, const shoal_fit_options *options, const char *journal,
                              const char *text, shoal_fit_callback *callback, void *user, shoal_draws *draws)
{
    sampler s = {.target = target, .options = options, .draws = draws, .journal.file = -1};
    *draws = (shoal_draws){.k = target->n_parameters, .n_walkers = options->n_walkers};
    draws->diagnosis = calloc((size_t)draws->k + 1, sizeof *draws->diagnosis);
    shoal_status status = draws->diagnosis ? SHOAL_OK : shoal_fail(target->context, SHOAL_E_MEMORY, "out of memory");
    if (!status)
        status = shoal_draws_reserve(target->context, draws, 1);
    if (!status)
        status = begin(&s, journal, text, callback, user);
    s.saved = shoal_seconds();
    if (!status)
        status = go(&s, callback, user);
    shoal_fit_journal_close(&s.journal);
    shoal_walkers_release(&s.walkers);
    return status;
}
