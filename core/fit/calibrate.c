/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * calibrate.c: simulation-based calibration (Talts et al. 2018, arXiv:1804.06788): parameters are drawn from the
 * priors, data are made of them, and these are fitted. If model, likelihood and sampler are consistent, the rank of
 * what the data were made of among draws of the posterior is uniform, for every parameter; and for ln prior + ln L,
 * which sees what no parameter does (Modrak et al. 2023, doi:10.1214/23-BA1404).
 *
 * Sets are fitted side by side, each by a thread, and evaluated together (batch.c). Every set has random numbers of
 * its own: neither what is at once nor a kill changes any of them. A set that is ready is a record of the journal.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/fit/fit.h"

/* Steps of a key, for random numbers that have another use. */
enum { OF_SEED = 1, OF_DRAWS };

typedef struct team {
    shoal_calibration *calibration;
    shoal_batch *batch;
    shoal_fit_journal journal;
    pthread_mutex_t lock; /* of what follows, and of the calibration */
    pthread_cond_t news;
    long next; /* set that may be left to do */
    int n_members;
    bool ends; /* soon */
    shoal_status status;
} team;

typedef struct member {
    team *team;
    pthread_t thread;
    shoal_fit fit;
    double *theta, *values, *row; /* of its set */
} member;

static double *row_of(const shoal_calibration *c, long set)
{
    return c->ranks.rows + (size_t)set * c->ranks.n_row;
}

/* Keep what is known of a set, unless a fit with these fit.steps would have ended elsewhere. */
static void accept(shoal_calibration *c, long set, const double *row)
{
    const double most = (double)c->fit->options.n_steps, steps = row[SHOAL_RANK_STEPS];
    if (set < 0 || set >= c->n_sets || !(row[SHOAL_RANK_PRECISE] != 0 ? steps <= most : steps == most))
        return;
    c->n_done += isnan(row_of(c, set)[SHOAL_RANK_STEPS]);
    memcpy(row_of(c, set), row, c->ranks.n_row * sizeof *row);
}

static bool take(void *user, const unsigned char *payload, size_t size)
{
    shoal_calibration *c = user;
    int64_t set;
    double *row = malloc(c->ranks.n_row * sizeof *row);
    const bool good = row && size == sizeof set + c->ranks.n_row * sizeof *row;
    if (good) {
        memcpy(&set, payload, sizeof set);
        memcpy(row, payload + sizeof set, c->ranks.n_row * sizeof *row);
        accept(c, (long)set, row);
    }
    free(row);
    return good;
}

/* ---- a set ------------------------------------------------------------------------------------------------------- */

/* The rank of what the data were made of among draws of all parts of the posterior. */
static void rank(const member *m, const shoal_fit_key *key, const shoal_draws *draws)
{
    const shoal_ranks *ranks = &m->team->calibration->ranks;
    const long first = shoal_draws_first(draws), n = draws->n - first, row = draws->k + SHOAL_DRAW_NUMBERS;
    for (int i = 0; i <= draws->k; i++) {
        double *of = m->row + SHOAL_RANK_FIRST + (ptrdiff_t)i * SHOAL_RANK_NUMBERS;
        const shoal_diagnosis *diagnosis = &draws->diagnosis[i];
        for (long j = 0; j < ranks->n_draws; j++) {
            const shoal_fit_key one = {key->seed, OF_DRAWS, key->slot};
            const long d = first + (2 * j + 1) * n / (2 * ranks->n_draws),
                       w = shoal_fit_pick(&one, SHOAL_FIT_USE_AXIS + (int)j, draws->n_walkers);
            const double x = draws->values[(d * draws->n_walkers + w) * row + i]; /* lp is behind the parameters */
            of[SHOAL_RANK_RANK] += (i < draws->k ? shoal_fit_wrap(&m->fit, i, x) : x) < of[SHOAL_RANK_TRUTH];
        }
        of[SHOAL_RANK_RHAT] = diagnosis->rhat;
        of[SHOAL_RANK_BULK] = diagnosis->ess_bulk;
        of[SHOAL_RANK_TAIL] = diagnosis->ess_tail;
    }
    m->row[SHOAL_RANK_STEPS] = (double)draws->n_steps;
    m->row[SHOAL_RANK_PRECISE] = draws->precise;
}

static bool ends(const shoal_draws *draws, void *user)
{
    (void)draws;
    return __atomic_load_n(&((const team *)user)->ends, __ATOMIC_RELAXED);
}

/* Simulate, fit, rank; the set's row becomes the member's. */
static shoal_status do_set(member *m, long set)
{
    const shoal_calibration *c = m->team->calibration;
    const shoal_fit_key key = {c->seed, OF_SEED, (uint64_t)set};
    const int k = m->fit.target.n_parameters;
    shoal_fit_options options = m->fit.options;
    double lnp, lnl;
    shoal_draws draws;
    shoal_model *model = shoal_batch_lock(m->team->batch);
    shoal_status status = shoal_simulate(model, m->fit.row, &key, c->noise, m->theta, m->values);
    shoal_model_set_own(model, m->fit.row, m->values);
    shoal_batch_unlock(m->team->batch);
    if (status)
        return shoal_fail(m->fit.target.context, status, "no parameters from the priors are possible");
    memset(m->row, 0, c->ranks.n_row * sizeof *m->row);
    for (int i = 0; i < k; i++)
        m->row[SHOAL_RANK_FIRST + i * SHOAL_RANK_NUMBERS + SHOAL_RANK_TRUTH] = shoal_fit_wrap(&m->fit, i, m->theta[i]);
    status = shoal_target_evaluate(&m->fit.target, 1, m->theta, &lnp, &lnl);
    m->row[SHOAL_RANK_FIRST + k * SHOAL_RANK_NUMBERS + SHOAL_RANK_TRUTH] = lnp + lnl;
    options.seed = (uint64_t)(shoal_fit_uniform(&key, SHOAL_FIT_USE_MOVE) * 0x1p52);
    options.checkpoint_s = INFINITY;
    options.brief = true;
    if (status)
        return status;
    status = shoal_fit_sample(&m->fit.target, &options, NULL, NULL, ends, m->team, &draws);
    if (!status)
        rank(m, &key, &draws);
    shoal_draws_release(&draws);
    return status;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* The next set that is left, -1: none. */
static long next_set(team *t)
{
    const shoal_calibration *c = t->calibration;
    while (t->next < c->n_sets && !isnan(row_of(c, t->next)[SHOAL_RANK_STEPS]))
        t->next++;
    return t->ends || t->next >= c->n_sets ? -1 : t->next++;
}

static void *work(void *user)
{
    member *m = user;
    team *t = m->team;
    pthread_mutex_lock(&t->lock);
    for (long set; (set = next_set(t)) >= 0;) {
        const int64_t number = set;
        pthread_mutex_unlock(&t->lock);
        shoal_status status = do_set(m, set);
        pthread_mutex_lock(&t->lock);
        const size_t size = t->calibration->ranks.n_row * sizeof *m->row;
        if (!status) {
            accept(t->calibration, set, m->row);
            status = shoal_records_append(&t->journal, (const void *[3]){&number, m->row, ""},
                                          (size_t[3]){sizeof number, size, 0});
        } else if (status != SHOAL_E_INTERRUPTED && !t->status && *shoal_context_message(m->fit.target.context))
            (void)shoal_fail(t->calibration->study->context, status, "set %ld: %s", set,
                             shoal_context_message(m->fit.target.context));
        if (status) {
            t->status = t->status && t->status != SHOAL_E_INTERRUPTED ? t->status : status;
            __atomic_store_n(&t->ends, true, __ATOMIC_RELAXED);
        }
    }
    t->n_members--;
    pthread_cond_signal(&t->news);
    pthread_mutex_unlock(&t->lock);
    shoal_batch_leave(t->batch);
    return NULL;
}

/* Until all members have left; the callback is asked from time to time. */
static void watch(team *t, shoal_calibration_callback *callback, void *user)
{
    enum { NAP_NS = 100000000, SECOND_NS = 1000000000 };
    pthread_mutex_lock(&t->lock);
    while (t->n_members > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += NAP_NS;
        until.tv_sec += until.tv_nsec / SECOND_NS;
        until.tv_nsec %= SECOND_NS;
        (void)pthread_cond_timedwait(&t->news, &t->lock, &until);
        if (callback && callback(t->calibration, user))
            __atomic_store_n(&t->ends, true, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&t->lock);
}

/* A member with what it needs; it is released either way. */
static shoal_status make_member(team *t, int row, member *m)
{
    const shoal_calibration *c = t->calibration;
    const size_t k = (size_t)c->fit->target.n_parameters, n_data = (size_t)shoal_model_n_data(c->fit->model);
    m->team = t;
    m->theta = shoal_allocate(k + n_data + c->ranks.n_row, sizeof(double));
    if (!m->theta)
        return shoal_fail(c->study->context, SHOAL_E_MEMORY, "out of memory");
    m->values = m->theta + k;
    m->row = m->values + n_data;
    return shoal_fit_copy(c->fit, t->batch, row, m->values, &m->fit);
}

/* Do the sets that are left by so many members. */
static shoal_status do_sets(team *t, int n, shoal_calibration_callback *callback, void *user)
{
    const shoal_calibration *c = t->calibration;
    int n_made = 0, n_begun = 0;
    member *members = calloc((size_t)n, sizeof *members);
    shoal_status status = members ? shoal_batch_create(c->study->context, c->fit->model, n * c->fit->n_room, n,
                                                       c->fit->target.n_follow > 0, &t->batch)
                                  : shoal_fail(c->study->context, SHOAL_E_MEMORY, "out of memory");
    while (n_made < n && !status)
        status = make_member(t, n_made, &members[n_made]), n_made++;
    t->n_members = n;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->news, NULL);
    while (n_begun < n && !status)
        if (pthread_create(&members[n_begun].thread, NULL, work, &members[n_begun]) == 0)
            n_begun++;
        else
            break;
    for (int i = n_begun; i < n && !status; i++) { /* those that could not begin */
        shoal_batch_leave(t->batch);
        pthread_mutex_lock(&t->lock);
        t->n_members--;
        pthread_mutex_unlock(&t->lock);
    }
    if (!status && n_begun == 0)
        status = shoal_fail(c->study->context, SHOAL_E_MEMORY, "no thread can be started");
    if (!status)
        watch(t, callback, user);
    for (int i = 0; i < n_begun; i++)
        pthread_join(members[i].thread, NULL);
    for (int i = 0; i < n_made; i++) {
        free(members[i].theta);
        shoal_fit_copy_release(&members[i].fit);
    }
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->news);
    shoal_batch_destroy(&t->batch);
    free(members);
    status = status ? status : t->status;
    if (status == SHOAL_E_INTERRUPTED || (!status && t->ends))
        return shoal_fail(c->study->context, SHOAL_E_INTERRUPTED, "interrupted");
    return status;
}

/* The sets of a file that is there already, if it is of this calibration; another one is refused unless by force. */
static shoal_status take_file(shoal_calibration *c, bool force)
{
    shoal_ranks old;
    if (access(c->output, F_OK) != 0 || force)
        return SHOAL_OK;
    if (shoal_ranks_read(c->study->context, c->output, &old) || !shoal_config_same(old.text, c->ranks.text)) {
        shoal_ranks_release(&old);
        return shoal_fail(c->study->context, SHOAL_E_INPUT, "%s is there already (--force replaces it)", c->output);
    }
    for (long set = 0; set < old.n_sets && old.n_row == c->ranks.n_row; set++)
        accept(c, set, old.rows + (size_t)set * old.n_row);
    shoal_ranks_release(&old);
    return SHOAL_OK;
}

static shoal_status calibrate(shoal_calibration *c, bool force, shoal_calibration_callback *callback, void *user)
{
    shoal_context *context = c->study->context;
    team t = {.calibration = c, .journal.file = -1};
    shoal_status status = shoal_store_spare(context, c->output);
    if (status)
        return status;
    if (force && unlink(c->journal) != 0 && errno != ENOENT)
        return shoal_fail(context, SHOAL_E_FILE, "%s: cannot be removed: %s", c->journal, shoal_why());
    status = take_file(c, force);
    if (!status)
        status = shoal_records_open(context, c->journal, c->ranks.text, take, c, &t.journal);
    c->n_known = c->n_done;
    const long left = c->n_sets - c->n_done;
    if (!status && left > 0)
        status = do_sets(&t, (int)(left < c->at_once ? left : c->at_once), callback, user);
    shoal_fit_journal_close(&t.journal);
    if (!status)
        status = shoal_ranks_write(context, c->output, &c->ranks);
    if (!status)
        unlink(c->journal);
    return status;
}

shoal_status shoal_calibrate(shoal_calibration *c, bool force, shoal_calibration_callback *callback, void *user)
{
    char lock_path[PATH_MAX];
    int lock;
    shoal_status status = shoal_fit_lock(c->study->context, c->output, "calibration", lock_path, &lock);
    if (status)
        return status;
    status = calibrate(c, force, callback, user);
    shoal_lock_release(lock, lock_path);
    return status;
}

/* ---- the group `calibrate` --------------------------------------------------------------------------------------- */

static shoal_status read_options(shoal_calibration *c)
{
    const shoal_config *config = &c->study->config;
    const config_setting_t *group = shoal_config_lookup(config, "calibrate");
    const int k = c->study->walkers.n_parameters;
#define NUMBER(name) shoal_config_number(config, group, "calibrate", name)
    c->n_sets = (long)NUMBER("sets");
    c->seed = (uint64_t)NUMBER("seed");
    c->noise = NUMBER("noise");
    c->at_once = (long)fmin(NUMBER("at_once"), (double)c->n_sets);
    shoal_status status = shoal_ranks_create(config->context, k + 1, c->n_sets, &c->ranks);
    c->ranks.n_draws = (long)NUMBER("draws");
#undef NUMBER
    if (!status)
        status = shoal_fit_create_for(c->study, (int)c->at_once, &c->fit);
    if (!status)
        status = shoal_simulate_check(c->study, shoal_model_data(c->fit->model));
    if (!status && c->fit->options.method == SHOAL_FIT_OPTIMISE)
        status = shoal_config_fail(config, shoal_config_lookup(config, "fit"), "method", NULL, "one that draws");
    if (!status)
        status = shoal_model_own(c->fit->model, (int)c->at_once);
    if (!status)
        status = shoal_fit_name_files(config, group, "calibration", &c->output, &c->journal);
    if (status)
        return status;
    bool good = true;
    for (int i = 0; i <= k; i++)
        good = (c->ranks.names[i] = strdup(i < k ? c->fit->names[i] : "lp")) && good;
    c->ranks.config_text = strdup(c->study->config_text);
    if (asprintf(&c->ranks.text,
                 "calibrate = {\n    seed = %lldL;\n    draws = %ld;\n    noise = %.17g;\n    rhat = %.17g;\n"
                 "    ess = %.17g;\n};\n%s",
                 (long long)c->seed, c->ranks.n_draws, c->noise, c->fit->options.rhat, c->fit->options.ess,
                 c->fit->text) < 0)
        c->ranks.text = NULL;
    return good && c->ranks.text && c->ranks.config_text ? SHOAL_OK
                                                         : shoal_fail(config->context, SHOAL_E_MEMORY, "out of memory");
}

shoal_status shoal_calibration_create(const shoal_study *study, shoal_calibration **calibration)
{
    shoal_calibration *made = *calibration = calloc(1, sizeof *made);
    if (!made)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory");
    made->study = study;
    void *numbers = shoal_numbers_begin();
    const shoal_status status = read_options(made);
    shoal_numbers_end(numbers);
    if (status)
        shoal_calibration_destroy(calibration);
    return status;
}

void shoal_calibration_destroy(shoal_calibration **calibration)
{
    if (!*calibration)
        return;
    shoal_fit_destroy(&(*calibration)->fit);
    shoal_ranks_release(&(*calibration)->ranks);
    free((*calibration)->output);
    free((*calibration)->journal);
    free(*calibration);
    *calibration = NULL;
}
