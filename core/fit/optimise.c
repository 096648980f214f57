/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * optimise.c: the highest posterior by differential evolution (Storn & Price 1997, doi:10.1023/A:1008202821328) on the
 * unit cube of the priors, then polished. The population is drawn from the priors; one member has their medians, which
 * may be a published solution. A member x tries
 *
 *     x + F (best - x) + F (a - b)    in nine tenths of its coordinates, F uniform in 0.4..0.9 for each member
 *
 * and keeps what is higher; all members of a generation are evaluated in one call. Beyond the cube a coordinate is
 * reflected; that of an angle goes round. The best is polished when all are alike. Along narrow ridges that takes long:
 * it is polished from time to time, too, and two such tops in a row that are the same are the optimum.
 *
 * A prior whose density is infinite at an edge, Beta's with a shape parameter below 1, would have its top there,
 * whatever the data say. It counts without the factor that is infinite: as a density over x^alpha, not over x.
 */
#include <math.h>
#include <stdlib.h>

#include "core/fit/fit.h"

enum { LEAST_POPULATION = 64, EACH = 8, MOST_GENERATIONS = 3000 };
enum { POLISHED = 10 }; /* generations a parameter, from polish to polish */
#define CROSSED 0.9
#define EDGE    1e-9 /* of the cube that stays empty: densities may be infinite there */
#define ALIKE   1.0  /* ln posterior: from best to worst when polishing is faster; of two tops that are the same */

typedef struct evolution {
    const shoal_target *target;
    int k;
    long n;
    double *cube, *value, *ln_l;                      /* [n][k], [n] ln posterior, [n] */
    double *tried, *theta, *tried_value, *tried_ln_l; /* likewise; theta: of `tried` */
    long best, generation;
    bool alike;
} evolution;

long shoal_optimise_population(int k)
{
    return k * EACH > LEAST_POPULATION ? k * EACH : LEAST_POPULATION;
}

static double within(double u, bool round)
{
    u = round ? u - floor(u) : fabs(remainder(u, 2));
    return fmin(fmax(u, EDGE), 1 - EDGE);
}

static shoal_status evaluate(evolution *e)
{
    const shoal_target *target = e->target;
    shoal_status status = target->from_cube(target->user, e->n, e->tried, e->theta);
    if (!status)
        status = shoal_target_climb(target, e->n, e->theta, e->tried_value, e->tried_ln_l);
    for (long m = 0; m < e->n && !status; m++)
        e->tried_value[m] += e->tried_ln_l[m];
    return status;
}

static void vary(evolution *e, long m, uint64_t seed)
{
    const shoal_fit_key key = {seed, (uint64_t)e->generation, (uint64_t)m};
    const int k = e->k, of = SHOAL_FIT_USE_EVOLVE;
    const long first = shoal_fit_pick(&key, of + SHOAL_FIT_USE_FIRST, e->n),
               second = (first + 1 + shoal_fit_pick(&key, of + SHOAL_FIT_USE_SECOND, e->n - 1)) % e->n;
    const double f = 0.4 + 0.5 * shoal_fit_uniform(&key, of + SHOAL_FIT_USE_SCALE);
    const long always = shoal_fit_pick(&key, of + SHOAL_FIT_USE_THIRD, k);
    const double *x = e->cube + m * k, *best = e->cube + e->best * k, *a = e->cube + first * k,
                 *b = e->cube + second * k;
    for (int i = 0; i < k; i++) {
        const bool round = e->target->period && e->target->period[i] > 0;
        const double turn = round ? 1 : 0;
        const double to = x[i] +
                          f * (shoal_fit_difference(turn, best[i], x[i]) + shoal_fit_difference(turn, a[i], b[i]));
        const bool crossed = i == always || shoal_fit_uniform(&key, of + SHOAL_FIT_USE_AXIS + i) < CROSSED;
        e->tried[m * k + i] = crossed ? within(to, round) : x[i];
    }
}

/* A generation more. */
static shoal_status evolve(evolution *e, uint64_t seed)
{
    const int k = e->k;
    const bool first = e->generation == 0;
    double worst = INFINITY;
    for (long m = 0; m < e->n; m++) {
        const shoal_fit_key key = {seed, (uint64_t)e->generation, (uint64_t)m};
        if (!first)
            vary(e, m, seed);
        for (int i = 0; i < k && first; i++)
            e->tried[m * k + i] = m == 0 ? 0.5 : shoal_fit_uniform(&key, SHOAL_FIT_USE_EVOLVE + SHOAL_FIT_USE_AXIS + i);
    }
    const shoal_status status = evaluate(e);
    for (long m = 0; m < e->n && !status; m++) {
        if (first || e->tried_value[m] > e->value[m]) {
            e->value[m] = e->tried_value[m];
            e->ln_l[m] = e->tried_ln_l[m];
            memcpy(e->cube + m * k, e->tried + m * k, (size_t)k * sizeof *e->cube);
        }
        worst = fmin(worst, e->value[m]);
        e->best = e->value[m] > e->value[e->best] ? m : e->best;
    }
    e->alike = e->value[e->best] - worst < ALIKE;
    e->generation++;
    return status;
}

/* The best so far, before it is polished. */
static shoal_status note_best(const evolution *e, shoal_optimum *optimum)
{
    const double value = e->value[e->best];
    if (!(value > optimum->lnp + optimum->lnl))
        return SHOAL_OK;
    optimum->lnl = e->ln_l[e->best];
    optimum->lnp = value - optimum->lnl;
    return e->target->from_cube(e->target->user, 1, e->cube + e->best * e->k, optimum->theta);
}

/* The value of the top near the best one, which becomes the optimum if it is the highest. top: room for it. */
static shoal_status polish_best(const evolution *e, shoal_optimum *top, shoal_fit_callback *callback, void *user,
                                shoal_draws *draws, double *value)
{
    shoal_optimum *optimum = &draws->optimum;
    top->evaluations = 0;
    shoal_status status = e->target->from_cube(e->target->user, 1, e->cube + e->best * e->k, top->theta);
    if (!status)
        status = shoal_polish(e->target, callback, user, draws, top);
    optimum->evaluations += top->evaluations;
    *value = top->lnp + top->lnl;
    if (!status && *value >= optimum->lnp + optimum->lnl) {
        const shoal_optimum old = *optimum;
        *optimum = *top;
        optimum->evaluations = old.evaluations;
        *top = old;
    }
    return status;
}

static shoal_status search(evolution *e, uint64_t seed, shoal_optimum *top, shoal_fit_callback *callback, void *user,
                           shoal_draws *draws)
{
    shoal_optimum *optimum = &draws->optimum;
    double last = -INFINITY;
    for (bool ends = false; !ends;) {
        shoal_status status = evolve(e, seed);
        optimum->evaluations += e->n;
        if (!status)
            status = note_best(e, optimum);
        if (!status && callback && callback(draws, user))
            status = shoal_fail(e->target->context, SHOAL_E_INTERRUPTED, "interrupted");
        ends = e->alike || e->generation == MOST_GENERATIONS;
        if (!status && isfinite(e->value[e->best]) && (ends || e->generation % ((long)POLISHED * e->k) == 0)) {
            const double before = last;
            status = polish_best(e, top, callback, user, draws, &last);
            ends = ends || fabs(last - before) < ALIKE;
        }
        if (status)
            return status;
    }
    return isfinite(last) ? SHOAL_OK
                          : shoal_fail(e->target->context, SHOAL_E_INPUT,
                                       "no vector from the priors is possible: ln L of %ld is "
                                       "-infinity",
                                       optimum->evaluations);
}

shoal_status shoal_optimise(const shoal_target *target, uint64_t seed, shoal_fit_callback *callback, void *user,
                            shoal_draws *draws)
{
    evolution e = {.target = target, .k = target->n_parameters, .n = shoal_optimise_population(target->n_parameters)};
    const size_t n = (size_t)e.n, nk = n * (size_t)e.k;
    shoal_optimum top = {0};
    shoal_status status = shoal_optimum_create(target, &draws->optimum);
    if (!status)
        status = shoal_optimum_create(target, &top);
    e.cube = status ? NULL : shoal_allocate(3 * nk + 4 * n, sizeof(double));
    if (!status && !e.cube)
        status = shoal_fail(target->context, SHOAL_E_MEMORY, "out of memory");
    if (!status) {
        e.tried = e.cube + nk;
        e.theta = e.tried + nk;
        e.value = e.theta + nk;
        e.ln_l = e.value + n;
        e.tried_value = e.ln_l + n;
        e.tried_ln_l = e.tried_value + n;
        status = search(&e, seed, &top, callback, user, draws);
        if (!status && target->rise)
            draws->optimum.lnp += target->rise(target->user, draws->optimum.theta);
    }
    free(e.cube);
    shoal_optimum_release(&top);
    return status;
}
