/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * walkers.c: the ensemble. Two halves move in turn, each by the walkers of the other (moves.c), at all temperatures in
 * one call of the target (ladder.c says which temperatures). Those at an infinite one are drawn from the prior anew.
 * Parameters that follow the others do so in half of the moves (follow.c), until it is known whether that is better.
 *
 * An angle with a period is kept within half of it from its centre, which is the optimum's: draws around it have a
 * mean.
 */
#include <math.h>
#include <stdlib.h>

#include "core/fit/fit.h"

enum { MOST_TRIES = 400 };

shoal_status shoal_walkers_create(const shoal_target *target, const shoal_fit_options *options, shoal_walkers *walkers)
{
    const int k = target->n_parameters;
    const long n_all = options->n_walkers * options->n_temperatures;
    const size_t n = (size_t)n_all, n_t = (size_t)options->n_temperatures, nk = n * (size_t)k;
    *walkers = (shoal_walkers){
        .target = target, .options = options, .k = k, .n_walkers = options->n_walkers, .n_all = n_all};
    if (options->start == SHOAL_FIT_FROM_OPTIMUM &&
        shoal_follow_create(target, n_all / 2, options->n_threads, &walkers->follow))
        return SHOAL_E_MEMORY;
    const size_t nf = n * (size_t)walkers->follow.n;
    walkers->n_state = SHOAL_WALKERS_COUNTS + 2 * n_t + 2 * (size_t)k + nk + 2 * n + (size_t)options->n_walkers + nf;
    walkers->state = shoal_allocate(walkers->n_state, sizeof(double));
    walkers->to = shoal_allocate(nk + 3 * n + nf + (nf ? nk : 0), sizeof(double));
    if (!walkers->state || !walkers->to || shoal_map_create(target->context, k, &walkers->map)) {
        shoal_walkers_release(walkers);
        return shoal_fail(target->context, SHOAL_E_MEMORY, "out of memory for %ld walkers", n_all);
    }
    walkers->count = walkers->state;
    walkers->beta = walkers->count + SHOAL_WALKERS_COUNTS;
    walkers->swapped = walkers->beta + n_t;
    walkers->centre = walkers->swapped + n_t;
    walkers->scale = walkers->centre + k;
    walkers->theta = walkers->scale + k;
    walkers->lnp = walkers->theta + nk;
    walkers->lnl = walkers->lnp + n;
    walkers->accepted = walkers->lnl + n;
    walkers->c = walkers->accepted + options->n_walkers;
    walkers->to_lnp = walkers->to + nk;
    walkers->to_lnl = walkers->to_lnp + n;
    walkers->factor = walkers->to_lnl + n;
    walkers->to_c = walkers->factor + n;
    walkers->y = walkers->to_c + nf;
    return SHOAL_OK;
}

void shoal_walkers_release(shoal_walkers *walkers)
{
    free(walkers->state);
    free(walkers->to);
    shoal_map_release(&walkers->map);
    shoal_follow_release(&walkers->follow);
    *walkers = (shoal_walkers){0};
}

/* Angles that go round into the period around the centre. */
static void keep_near_centre(const shoal_walkers *walkers, double *theta)
{
    const double *period = walkers->target->period;
    for (int i = 0; period && i < walkers->k; i++)
        if (period[i] > 0)
            theta[i] = walkers->centre[i] + remainder(theta[i] - walkers->centre[i], period[i]);
}

/* ---- the start --------------------------------------------------------------------------------------------------- */

void shoal_walkers_cube(const shoal_walkers *walkers, uint64_t step, long slot, int use, double *cube)
{
    const shoal_fit_key key = {walkers->options->seed, step, (uint64_t)slot};
    for (int i = 0; i < walkers->k; i++)
        cube[i] = shoal_fit_uniform(&key, use + SHOAL_FIT_USE_AXIS + i);
}

/* Where walker w of temperature t begins, at the so-manieth try: each is nearer to the optimum. */
static void draw_near(const shoal_walkers *walkers, const shoal_optimum *optimum, long slot, int try_, double *theta)
{
    const int k = walkers->k;
    const shoal_fit_key key = {walkers->options->seed, (uint64_t)try_, (uint64_t)slot};
    const double width = pow(0.9, try_) / sqrt(walkers->beta[slot / walkers->n_walkers]);
    for (int i = 0; i < k; i++)
        theta[i] = optimum->theta[i];
    for (int e = 0; e < k; e++) {
        const double along = width * shoal_fit_normal(&key, SHOAL_FIT_USE_START + SHOAL_FIT_USE_AXIS + e);
        for (int i = 0; i < k; i++)
            theta[i] += along * optimum->root[i * k + e];
    }
}

/* Whether a first place will do: it is possible, and near an optimum not worse than normal draws are. */
static bool will_do(const shoal_walkers *walkers, const shoal_optimum *optimum, long slot, double lnp, double lnl)
{
    const double beta = walkers->beta[slot / walkers->n_walkers];
    if (beta == 0)
        return isfinite(lnp);
    return isfinite(lnp + lnl) && (!optimum || beta * (optimum->lnl - lnl) + optimum->lnp - lnp < 20 + 2 * walkers->k);
}

shoal_status shoal_walkers_start(shoal_walkers *walkers, const shoal_optimum *optimum)
{
    const shoal_target *target = walkers->target;
    const int k = walkers->k;
    long n_left = walkers->n_all;
    shoal_status status = shoal_ladder_make(walkers, optimum);
    if (status)
        return status;
    status = shoal_target_widths(target, walkers->centre, walkers->scale);
    for (int i = 0; i < k && optimum && !status; i++) {
        walkers->centre[i] = optimum->theta[i];
        walkers->scale[i] = optimum->scale[i];
    }
    long *left = malloc((size_t)walkers->n_all * sizeof *left);
    if (!left)
        return shoal_fail(target->context, SHOAL_E_MEMORY, "out of memory");
    for (long slot = 0; slot < walkers->n_all; slot++)
        left[slot] = slot;
    for (int try_ = 0; try_ < MOST_TRIES && n_left > 0 && !status; try_++) {
        double *theta = walkers->to; /* of those that are left, in their order */
        for (long l = 0; l < n_left && !status; l++) {
            /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): n_left of them are set */
            const bool near = optimum && walkers->beta[left[l] / walkers->n_walkers] > 0;
            /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): as above */
            double *one = theta + l * k, *u = walkers->theta + left[l] * k;
            if (near) {
                draw_near(walkers, optimum, left[l], try_, one);
            } else {
                shoal_walkers_cube(walkers, (uint64_t)try_, left[l], SHOAL_FIT_USE_START, u);
                status = target->from_cube(target->user, 1, u, one);
            }
            keep_near_centre(walkers, one);
        }
        if (!status)
            status = shoal_target_evaluate(target, n_left, theta, walkers->to_lnp, walkers->to_lnl);
        long n_kept = 0;
        for (long l = 0; l < n_left && !status; l++) {
            const long slot = left[l];
            memcpy(walkers->theta + slot * k, theta + l * k, (size_t)k * sizeof *theta);
            walkers->lnp[slot] = walkers->to_lnp[l];
            walkers->lnl[slot] = walkers->to_lnl[l];
            if (!will_do(walkers, optimum, slot, walkers->to_lnp[l], walkers->to_lnl[l]))
                left[n_kept++] = slot;
        }
        n_left = status ? n_left : n_kept;
    }
    free(left);
    if (!status && n_left == 0 && !(status = shoal_walkers_learn_follow(walkers)))
        status = shoal_follow_find(&walkers->follow, walkers->n_all, walkers->theta, walkers->c);
    return status || n_left == 0
               ? status
               : shoal_fail(target->context, SHOAL_E_INPUT,
                            "%ld of %ld walkers found no possible place in %d tries from the priors: expected narrower "
                            "priors, or fit.start = \"optimum\"",
                            n_left, walkers->n_all, MOST_TRIES);
}

shoal_status shoal_walkers_learn_follow(shoal_walkers *walkers)
{
    return shoal_follow_learn(&walkers->follow, walkers->centre, walkers->scale);
}

void shoal_walkers_choose(shoal_walkers *walkers)
{
    double *count = walkers->count;
    count[SHOAL_WALKERS_CHOICE] = count[SHOAL_WALKERS_FOLLOWING] > 2 * count[SHOAL_WALKERS_PLAIN] ? 1 : -1;
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

/* A half that moves: loops over its walkers at all temperatures, m. */
typedef struct half_loop {
    shoal_walkers *walkers;
    int half;
} half_loop;

enum { WORTH_THREADS = 512 }; /* walkers that move, from which on threads share the loops */

static long slot_of(const half_loop *loop, long m)
{
    const long n = loop->walkers->n_walkers, n_half = n / 2;
    return m / n_half * n + loop->half * n_half + m % n_half;
}

static bool samples_prior(const shoal_walkers *walkers)
{
    return walkers->beta[walkers->options->n_temperatures - 1] == 0;
}

/* Those at an infinite temperature are drawn from the prior; they are the last ones, if there are any. */
static shoal_status draw_prior(const half_loop *loop)
{
    const shoal_walkers *walkers = loop->walkers;
    const shoal_target *target = walkers->target;
    const int k = walkers->k;
    const long n_half = walkers->n_walkers / 2, n = n_half * walkers->options->n_temperatures, first = n - n_half;
    double *to = walkers->to + first * k,
           *cube = walkers->to + n * k; /* there is room for all, and half of them move */
    if (!samples_prior(walkers))
        return SHOAL_OK;
    for (long m = 0; m < n_half; m++)
        shoal_walkers_cube(walkers, (uint64_t)shoal_walkers_steps(walkers), slot_of(loop, first + m), 0, cube + m * k);
    const shoal_status status = target->from_cube(target->user, n_half, cube, to);
    for (long m = 0; m < n_half && !status; m++)
        keep_near_centre(walkers, to + m * k);
    return status;
}

/* Whether parameters follow in the next move of a walker: at first in every other one, then in three of four or never.
 * Plain moves go to where what follows is far off. */
static bool follows(const shoal_walkers *walkers, long slot)
{
    const double choice = walkers->count[SHOAL_WALKERS_CHOICE];
    return walkers->follow.n > 0 && choice >= 0 && (slot + shoal_walkers_steps(walkers)) % (choice > 0 ? 4 : 2) != 0;
}

static void propose(void *user, long first, long last)
{
    const half_loop *loop = user;
    shoal_walkers *walkers = loop->walkers;
    const int k = walkers->k;
    const long n = walkers->n_walkers, n_half = n / 2;
    double u[2 * k], room[shoal_map_room(k)];
    const shoal_map map = shoal_map_beside(&walkers->map, room);
    for (long m = first; m < last; m++) {
        const long at = m / n_half * n, slot = slot_of(loop, m);
        const shoal_fit_key key = {walkers->options->seed, (uint64_t)shoal_walkers_steps(walkers), (uint64_t)slot};
        const bool follow = follows(walkers, slot), mapped = follow == (walkers->count[SHOAL_WALKERS_CHOICE] > 0);
        const double *from = follow ? walkers->y : walkers->theta;
        const shoal_fit_others others = {.k = k,
                                         .n = n_half,
                                         .theta = from + (at + (1 - loop->half) * n_half) * k,
                                         .scale = walkers->scale,
                                         .period = walkers->target->period,
                                         .centre = walkers->centre,
                                         .map = at == 0 && map.learnt && mapped ? &map : NULL,
                                         .u = u};
        walkers->factor[m] = shoal_fit_propose(walkers->options->method, &key, &others, from + slot * k,
                                               walkers->to + m * k);
        keep_near_centre(walkers, walkers->to + m * k);
    }
}

static void accept(void *user, long first, long last)
{
    const half_loop *loop = user;
    shoal_walkers *walkers = loop->walkers;
    const int k = walkers->k, n_follow = walkers->follow.n;
    for (long m = first; m < last; m++) {
        const long slot = slot_of(loop, m), t = slot / walkers->n_walkers;
        const shoal_fit_key key = {walkers->options->seed, (uint64_t)shoal_walkers_steps(walkers), (uint64_t)slot};
        const double beta = walkers->beta[t];
        const double gain = walkers->factor[m] + walkers->to_lnp[m] - walkers->lnp[slot] +
                            beta * (walkers->to_lnl[m] - walkers->lnl[slot]);
        const bool taken = beta > 0 ? log(shoal_fit_uniform(&key, SHOAL_FIT_USE_ACCEPT)) < gain
                                    : walkers->to_lnp[m] > -INFINITY;
        if (t == 0)
            walkers->accepted[slot] = taken;
        if (!taken)
            continue;
        memcpy(walkers->theta + slot * k, walkers->to + m * k, (size_t)k * sizeof *walkers->theta);
        memcpy(walkers->c + slot * n_follow, walkers->to_c + m * n_follow, (size_t)n_follow * sizeof *walkers->c);
        walkers->lnp[slot] = walkers->to_lnp[m];
        walkers->lnl[slot] = walkers->to_lnl[m];
    }
}

/* Move the half, into walkers->to. */
static shoal_status move(half_loop *loop)
{
    shoal_walkers *walkers = loop->walkers;
    const shoal_follow *follow = &walkers->follow;
    const long n_half = walkers->n_walkers / 2, n_moved = n_half * walkers->options->n_temperatures,
               n_proposed = n_moved - (samples_prior(walkers) ? n_half : 0);
    const bool any_follow = follow->n > 0 && walkers->count[SHOAL_WALKERS_CHOICE] >= 0;
    shoal_status status = draw_prior(loop);
    if (status)
        return status;
    if (any_follow) {
        memcpy(walkers->y, walkers->theta, (size_t)(walkers->n_all * walkers->k) * sizeof *walkers->y);
        shoal_follow_add(follow, walkers->n_all, -1, walkers->c, walkers->y);
    }
    shoal_share(walkers->target->context, walkers->options->n_threads, n_proposed,
                shoal_part(n_proposed, WORTH_THREADS), propose, loop);
    if (any_follow)
        status = shoal_follow_find(follow, n_moved, walkers->to, walkers->to_c);
    for (long m = 0; m < n_proposed && !status; m++)
        if (follows(walkers, slot_of(loop, m)))
            shoal_follow_add(follow, 1, 1, walkers->to_c + m * follow->n, walkers->to + m * walkers->k);
    return status;
}

static shoal_status move_half(shoal_walkers *walkers, int half)
{
    const long n_half = walkers->n_walkers / 2, n_moved = n_half * walkers->options->n_temperatures;
    half_loop loop = {walkers, half};
    shoal_status status = move(&loop);
    if (!status)
        status = shoal_target_evaluate(walkers->target, n_moved, walkers->to, walkers->to_lnp, walkers->to_lnl);
    if (status)
        return status;
    shoal_share(walkers->target->context, walkers->options->n_threads, n_moved, shoal_part(n_moved, WORTH_THREADS),
                accept, &loop);
    for (long m = 0; m < n_half; m++) {
        const long slot = slot_of(&loop, m);
        walkers->count[SHOAL_WALKERS_ACCEPTED] += walkers->accepted[slot];
        if (walkers->count[SHOAL_WALKERS_CHOICE] == 0)
            walkers->count[follows(walkers, slot) ? SHOAL_WALKERS_FOLLOWING : SHOAL_WALKERS_PLAIN] +=
                walkers->accepted[slot];
    }
    return SHOAL_OK;
}

shoal_status shoal_walkers_step(shoal_walkers *walkers)
{
    shoal_status status = move_half(walkers, 0);
    if (!status)
        status = move_half(walkers, 1);
    if (status)
        return status;
    shoal_ladder_swap(walkers);
    walkers->count[SHOAL_WALKERS_STEPS]++;
    return SHOAL_OK;
}
