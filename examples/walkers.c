/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What do a star's radial velocities say of two planets that pull at each other? One plan, and as many likelihoods in a
 * call as there are walkers.
 *
 * Two planets near a 2:1 resonance are observed sixty times, with errors of 2 m/s. An affine-invariant ensemble sampler
 * (Goodman & Weare 2010, Comm. App. Math. Comp. Sci. 5, 65) moves 64 walkers through four parameters: both masses, the
 * outer planet's period and place. Half of the walkers make their proposals at a time; these are the systems of one
 * ensemble, which are set anew for each, and the plan begins again with them. A proposal that is no system, or that a
 * monitor ends, has a likelihood of zero and disturbs no other one.
 *
 *     cc walkers.c $(pkg-config --cflags --libs shoal) -lm && ./a.out
 *
 * Units: G = 1, AU, solar masses: a year is 2 pi, a speed of 1 is 29785 m/s. The observer is at +z, orbits are seen
 * edge on.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shoal.h>

enum { N_PARAMETERS = 4, N_WALKERS = 64, HALF = N_WALKERS / 2, N_OBSERVATIONS = 60, N_ROUNDS = 400, BURN_IN = 100 };

static const double PI = 3.14159265358979323846;
static const double SPEED = 29784.69; /* m/s */
static const double SIGMA = 2.0;      /* m/s, of each velocity */
static const char *const names[N_PARAMETERS] = {"m_b [1e-3]", "m_c [1e-3]", "P_c [yr]", "f_c [rad]"};
static const double truth[N_PARAMETERS] = {1.0, 0.6, 0.355, 2.0};
static const double spread[N_PARAMETERS] = {0.02, 0.02, 3e-4, 0.02}; /* of the walkers at the start */

typedef struct fit {
    shoal_context *context;
    shoal_ensemble *ensemble; /* [HALF] */
    shoal_plan *plan;
    double time[N_OBSERVATIONS], velocity[N_OBSERVATIONS];
} fit;

static double uniform(void)
{
    static unsigned long long state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * PI * uniform());
}

/* The systems of some parameters; one that cannot be is left `invalid`. */
static shoal_status propose(fit *f, double p[HALF][N_PARAMETERS])
{
    double orbits[HALF][3][SHOAL_ORBIT_NUMBERS]; /* m a e inc Omega omega f */

    for (int w = 0; w < HALF; ++w) {
        const double m_b = 1e-3 * p[w][0], m_c = 1e-3 * p[w][1], P_b = 0.17, P_c = p[w][2];
        const double system[3][SHOAL_ORBIT_NUMBERS] = {
            {1.0},
            {m_b, cbrt(pow(P_b, 2) * (1.0 + m_b)), 0, PI / 2, 0, PI / 2, 0},
            {m_c, cbrt(pow(P_c, 2) * (1.0 + m_b + m_c)), 0, PI / 2, 0, PI / 2, p[w][3]},
        };
        memcpy(orbits[w], system, sizeof system);
    }
    return shoal_ensemble_set_orbits(f->ensemble, SHOAL_JACOBI, NULL, orbits[0][0], NULL);
}

/* Their log likelihoods, from the plan's beginning on: [HALF]. velocity: NULL, or out: the first one's instead. */
static shoal_status log_likelihood(fit *f, double *result, double *velocity)
{
    static const shoal_observable star_z = {.body = 0, .component = 5};
    /* the star's velocity along the line of sight; NaN of a system that has ended */
    static double seen[N_OBSERVATIONS][HALF];
    const shoal_plug_options near = {.name = "stop_on_encounter"};
    const shoal_options options = {.propagator = "mvs_jacobi",
                                   .monitors = &near,
                                   .n_monitors = 1,
                                   .steps_per_orbit = 30,
                                   .t_end = f->time[N_OBSERVATIONS - 1]};
    shoal_status status = f->plan ? shoal_plan_restart(f->plan)
                                  : shoal_plan_create(f->context, f->ensemble, &options, &f->plan);

    if (status == SHOAL_OK) {
        status = shoal_plan_observe(f->plan, N_OBSERVATIONS, f->time, 1, &star_z, seen[0]);
    }
    for (int w = 0; w < HALF && status == SHOAL_OK; ++w) {
        double chi2 = 0;
        for (int i = 0; i < N_OBSERVATIONS; ++i) {
            const double model = -SPEED * seen[i][w], off = (model - f->velocity[i]) / SIGMA;
            chi2 += off * off;
            if (velocity && w == 0) {
                velocity[i] = model;
            }
        }
        result[w] = isnan(chi2) ? -INFINITY : -0.5 * chi2 - N_OBSERVATIONS * log(sqrt(2 * PI) * SIGMA);
    }
    return status;
}

/* What is observed: the truth and its errors. */
static shoal_status observe(fit *f)
{
    double unused[HALF], parameters[HALF][N_PARAMETERS];
    for (int i = 0; i < N_OBSERVATIONS; ++i) {
        f->time[i] = 2 * PI * 2.0 * (i + uniform()) / N_OBSERVATIONS; /* two years */
        f->velocity[i] = 0;
    }
    for (int w = 0; w < HALF; ++w) {
        memcpy(parameters[w], truth, sizeof truth);
    }
    shoal_status status = propose(f, parameters);
    if (status == SHOAL_OK) {
        status = log_likelihood(f, unused, f->velocity);
    }
    for (int i = 0; i < N_OBSERVATIONS; ++i) {
        f->velocity[i] += SIGMA * normal();
    }
    return status;
}

/* One round of both halves; counts what was accepted. */
static shoal_status move(fit *f, double walker[N_WALKERS][N_PARAMETERS], double *likelihood, long *n_accepted)
{
    shoal_status status = SHOAL_OK;
    for (int first = 0; first < N_WALKERS && status == SHOAL_OK; first += HALF) {
        double proposal[HALF][N_PARAMETERS], z[HALF], found[HALF];
        for (long w = 0; w < HALF; ++w) {
            const double *other = walker[HALF - first + (int)(HALF * uniform())];
            z[w] = pow(1 + uniform(), 2) / 2; /* 1/2 .. 2, density z^(-1/2) */
            for (int k = 0; k < N_PARAMETERS; ++k) {
                proposal[w][k] = other[k] + z[w] * (walker[first + w][k] - other[k]);
            }
        }
        status = propose(f, proposal);
        if (status == SHOAL_OK) {
            status = log_likelihood(f, found, NULL);
        }
        for (int w = 0; w < HALF && status == SHOAL_OK; ++w) {
            if (log(uniform()) < (N_PARAMETERS - 1) * log(z[w]) + found[w] - likelihood[first + w]) {
                likelihood[first + w] = found[w];
                for (int k = 0; k < N_PARAMETERS; ++k) {
                    walker[first + w][k] = proposal[w][k];
                }
                ++*n_accepted;
            }
        }
    }
    return status;
}

int main(void)
{
    fit f = {0};
    double walker[N_WALKERS][N_PARAMETERS], likelihood[N_WALKERS], sum[N_PARAMETERS] = {0}, squares[N_PARAMETERS] = {0};
    long n_accepted = 0;
    int n_off = 0;

    shoal_status status = shoal_context_create(&f.context);
    if (status == SHOAL_OK) {
        status = shoal_ensemble_create(f.context, HALF, 3, &f.ensemble);
    }
    if (status == SHOAL_OK) {
        status = observe(&f);
    }
    for (int first = 0; first < N_WALKERS && status == SHOAL_OK; first += HALF) {
        for (long w = 0; w < HALF; ++w) {
            for (int k = 0; k < N_PARAMETERS; ++k) {
                walker[first + w][k] = truth[k] + spread[k] * normal();
            }
        }
        status = propose(&f, walker + first);
        if (status == SHOAL_OK) {
            status = log_likelihood(&f, likelihood + first, NULL);
        }
    }
    for (int round = 0; round < N_ROUNDS && status == SHOAL_OK; ++round) {
        status = move(&f, walker, likelihood, &n_accepted);
        for (int w = 0; w < N_WALKERS && round >= BURN_IN; ++w) {
            for (int k = 0; k < N_PARAMETERS; ++k) {
                sum[k] += walker[w][k] - truth[k];
                squares[k] += pow(walker[w][k] - truth[k], 2);
            }
        }
    }
    if (status != SHOAL_OK) {
        fprintf(stderr, "walkers: %s: %s\n", shoal_status_text(status),
                f.context ? shoal_context_message(f.context) : "");
    } else {
        const double n = (double)N_WALKERS * (N_ROUNDS - BURN_IN);
        printf("%s\n%ld of %d proposals accepted\n\n%-11s %10s %10s %10s\n", shoal_plan_line(f.plan), n_accepted,
               N_WALKERS * N_ROUNDS, "", "truth", "found", "+-");
        for (int k = 0; k < N_PARAMETERS; ++k) {
            const double mean = sum[k] / n, deviation = sqrt(squares[k] / n - mean * mean);
            printf("%-11s %10.5f %10.5f %10.5f\n", names[k], truth[k], truth[k] + mean, deviation);
            n_off += !(fabs(mean) < 4 * deviation);
        }
    }
    shoal_plan_destroy(&f.plan);
    shoal_ensemble_destroy(&f.ensemble);
    shoal_context_destroy(&f.context);
    return status != SHOAL_OK || n_off > 0;
}
