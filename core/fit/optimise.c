/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * optimise.c: the highest posterior by differential evolution (Storn & Price 1997, doi:10.1023/A:1008202821328) on the
 * unit cube of the priors, then polished. A member x of the population tries
 *
 *     x + F (best - x) + F (a - b)    in nine tenths of its coordinates, F uniform in 0.4..0.9 for each member
 *
 * and keeps what is higher; all members of a generation are evaluated in one call. Beyond the cube a coordinate is
 * reflected; that of an angle goes round.
 */
#include <math.h>
#include <stdlib.h>

#include "core/fit/fit.h"

enum { LEAST_POPULATION = 64, EACH = 8, MOST_GENERATIONS = 3000 };
#define CROSSED 0.9
#define EDGE    1e-9 /* of the cube that stays empty: densities may be infinite there */
#define ALIKE   1.0  /* ln posterior: from best to worst when polishing is faster */

typedef struct evolution {
    const shoal_target *target;
    int k;
    long n;
    double *cube, *value;                       /* [n][k], [n] */
    double *tried, *theta, *tried_value, *ln_l; /* likewise */
    long best;
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
        status = shoal_target_evaluate(target, e->n, e->theta, e->tried_value, e->ln_l);
    for (long m = 0; m < e->n && !status; m++)
        e->tried_value[m] += e->ln_l[m];
    return status;
}

static void vary(evolution *e, long m, uint64_t seed, uint64_t generation)
{
    const shoal_fit_key key = {seed, generation, (uint64_t)m};
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

/* Generations until all are alike; *evaluations grows. */
static shoal_status evolve(evolution *e, uint64_t seed, long *evaluations)
{
    const int k = e->k;
    double worst = -INFINITY, most = -INFINITY;
    for (uint64_t generation = 0; generation < MOST_GENERATIONS && !(most - worst < ALIKE); generation++) {
        for (long m = 0; m < e->n; m++) {
            const shoal_fit_key key = {seed, generation, (uint64_t)m};
            if (generation)
                vary(e, m, seed, generation);
            for (int i = 0; i < k && !generation; i++)
                e->tried[m * k + i] = shoal_fit_uniform(&key, SHOAL_FIT_USE_EVOLVE + SHOAL_FIT_USE_AXIS + i);
        }
        const shoal_status status = evaluate(e);
        if (status)
            return status;
        *evaluations += e->n;
        worst = INFINITY;
        for (long m = 0; m < e->n; m++) {
            if (!generation || e->tried_value[m] > e->value[m]) {
                e->value[m] = e->tried_value[m];
                memcpy(e->cube + m * k, e->tried + m * k, (size_t)k * sizeof *e->cube);
            }
            worst = fmin(worst, e->value[m]);
            e->best = e->value[m] > e->value[e->best] ? m : e->best;
        }
        most = e->value[e->best];
    }
    return isfinite(most) ? SHOAL_OK
                          : shoal_fail(e->target->context, SHOAL_E_INPUT,
                                       "no vector from the priors is possible: ln L of %ld is "
                                       "-infinity",
                                       *evaluations);
}

shoal_status shoal_optimise(const shoal_target *target, uint64_t seed, shoal_optimum *optimum)
{
    evolution e = {.target = target, .k = target->n_parameters, .n = shoal_optimise_population(target->n_parameters)};
    const size_t n = (size_t)e.n, nk = n * (size_t)e.k;
    e.cube = shoal_allocate(3 * nk + 3 * n, sizeof(double));
    if (!e.cube)
        return shoal_fail(target->context, SHOAL_E_MEMORY, "out of memory");
    e.tried = e.cube + nk;
    e.theta = e.tried + nk;
    e.value = e.theta + nk;
    e.tried_value = e.value + n;
    e.ln_l = e.tried_value + n;
    shoal_status status = evolve(&e, seed, &optimum->evaluations);
    if (!status)
        status = target->from_cube(target->user, 1, e.cube + e.best * e.k, optimum->theta);
    free(e.cube);
    return status ? status : shoal_polish(target, optimum);
}
