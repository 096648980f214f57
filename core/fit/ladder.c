/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ladder.c: the temperatures. A walker at temperature T samples prior * L^(1/T); T is 1 for the coldest, whose walkers
 * are the draws.
 *
 * Of a normal posterior of k parameters neighbours take about a fourth of the swaps if their ratio is
 * r = 1 + 2 sqrt(ln 4 / k), and it is as wide as the prior at T = 2 (ln L of the optimum - ln L in the prior) / k. From
 * there the next one is infinite. A ladder that gets there with ratios of at most r^2 does; any other one begins with
 * the ratio r and ends where a fourth of the swaps lets it.
 *
 * After a step walkers of the same index offer each other their places, neighbouring temperatures from the hottest on:
 * a chain is a ladder of its own. If places came back in any chain, each would soon have seen the whole ensemble, and
 * neither R-hat nor the autocorrelation of a chain would tell how slowly that changes. What was taken moves the ladder
 * (Vousden, Farr & Mandel 2016, doi:10.1093/mnras/stv2422, equations 11 to 13) towards equal acceptance A of all swaps,
 * ever more slowly:
 *
 *     d ln(T_i - T_i-1) / dt = (A_i-1 - A_i) / nu / (1 + t / t_0),   nu = 100 and t_0 = 1000 steps
 *
 * where A_i is that between T_i and T_i+1, and a fourth beyond a hottest one that is not infinite.
 */
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "core/fit/fit.h"

#define NU     100.0
#define WANTED 0.25 /* part of the swaps */

/* How much higher ln L of the optimum is than the median of draws from the prior that are possible. Without an optimum:
 * how much higher that of the best draw is. */
static shoal_status find_depth(shoal_walkers *walkers, const shoal_optimum *optimum, double *depth)
{
    const shoal_target *target = walkers->target;
    const long n = walkers->n_walkers;
    double *cube = walkers->to, *lnl = walkers->to_lnl, best = optimum ? optimum->lnl : -INFINITY;
    for (long w = 0; w < n; w++)
        shoal_walkers_cube(walkers, 0, w, SHOAL_FIT_USE_START, cube + w * walkers->k);
    shoal_status status = target->from_cube(target->user, n, cube, walkers->theta);
    if (!status)
        status = shoal_target_evaluate(target, n, walkers->theta, walkers->to_lnp, lnl);
    long n_possible = 0;
    for (long w = 0; w < n && !status; w++)
        if (lnl[w] > -INFINITY)
            lnl[n_possible++] = lnl[w];
    gsl_sort(lnl, 1, (size_t)n_possible);
    *depth = n_possible == 0
                 ? INFINITY
                 : fmax(best, lnl[n_possible - 1]) - gsl_stats_median_from_sorted_data(lnl, 1, (size_t)n_possible);
    return status;
}

shoal_status shoal_ladder_make(shoal_walkers *walkers, const shoal_optimum *optimum)
{
    const int n = walkers->options->n_temperatures;
    const double ratio = 1 + 2 * sqrt(log(4) / walkers->k);
    walkers->beta[0] = 1;
    if (n == 1)
        return SHOAL_OK;
    double depth;
    const shoal_status status = find_depth(walkers, optimum, &depth);
    const double ratios = fmax(log(2 * depth / walkers->k) / log(ratio), 0); /* as wide as the prior */
    const double to_prior = 2 + ceil(ratios / 2);
    const bool reaches = n >= to_prior;
    for (int t = 1; t < n; t++)
        walkers->beta[t] = reaches && t == n - 1 ? 0 : pow(ratio, -t * (reaches ? ratios / (n - 2) : 1));
    walkers->count[SHOAL_WALKERS_TO_PRIOR] = to_prior;
    return status;
}

static void exchange(double *a, double *b, int n)
{
    for (int i = 0; i < n; i++) {
        const double kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* Swaps between temperature t and the next colder one; returns the part that was taken. */
static double swap(shoal_walkers *walkers, int t)
{
    const long n = walkers->n_walkers;
    const uint64_t seed = walkers->options->seed, step = (uint64_t)shoal_walkers_steps(walkers);
    const int n_follow = walkers->follow.n;
    long n_taken = 0;
    for (long w = 0; w < n; w++) {
        const long hot = t * n + w, cold = hot - n;
        const shoal_fit_key key = {seed, step, (uint64_t)hot};
        const double gain = (walkers->beta[t - 1] - walkers->beta[t]) * (walkers->lnl[hot] - walkers->lnl[cold]);
        if (!(log(shoal_fit_uniform(&key, SHOAL_FIT_USE_SWAP)) < gain))
            continue;
        exchange(walkers->theta + hot * walkers->k, walkers->theta + cold * walkers->k, walkers->k);
        exchange(walkers->c + hot * n_follow, walkers->c + cold * n_follow, n_follow);
        exchange(walkers->lnp + hot, walkers->lnp + cold, 1);
        exchange(walkers->lnl + hot, walkers->lnl + cold, 1);
        n_taken++;
    }
    return (double)n_taken / (double)n;
}

void shoal_ladder_swap(shoal_walkers *walkers)
{
    const int n_t = walkers->options->n_temperatures;
    const double rate = 1 / NU / (1 + walkers->count[SHOAL_WALKERS_STEPS] / SHOAL_WALKERS_LAG);
    double above = WANTED, taken;
    for (int t = n_t - 1; t > 0; t--, above = taken) {
        taken = swap(walkers, t);
        walkers->swapped[t] += taken;
        if (walkers->beta[t] == 0)
            continue;
        /* the rungs above t keep their distances, that between t and t - 1 changes */
        const double gap = 1 / walkers->beta[t] - 1 / walkers->beta[t - 1], more = gap * expm1(rate * (taken - above));
        for (int u = t; u < n_t && walkers->beta[u] > 0; u++)
            walkers->beta[u] = 1 / (1 / walkers->beta[u] + more);
    }
}
