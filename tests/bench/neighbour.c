/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * neighbour.c: likelihoods a second of a few walkers: systems set anew, the plan begun again, the star's velocity seen
 * sixty times in two years, as in examples/walkers.c. neighbour.sh runs it beside a busy process.
 *
 *   neighbour THREADS [WALKERS [SECONDS]]      prints "THREADS threads: N likelihoods/s"
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/shoal.h"

enum { TIMES = 60, MOST = 4096 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    static double orbits[MOST][3][SHOAL_ORBIT_NUMBERS], values[TIMES * MOST];
    const int threads = argc > 1 ? atoi(argv[1]) : 1;
    const long n = argc > 2 ? atol(argv[2]) : 32;
    const double length = argc > 3 ? atof(argv[3]) : 3;
    const shoal_observable star_z = {.body = 0, .component = 5};
    const double year = 2 * M_PI;
    double times[TIMES];
    shoal_context *context = NULL;
    shoal_ensemble *ensemble = NULL;
    shoal_plan *plan = NULL;
    if (threads < 1 || n < 1 || n > MOST)
        return EXIT_FAILURE;
    for (int i = 0; i < TIMES; i++)
        times[i] = 2 * year * (i + 1) / TIMES;
    for (long w = 0; w < n; w++) {
        const double phase = 0.01 * (double)w;
        orbits[w][0][0] = 1;
        orbits[w][1][0] = orbits[w][2][0] = 1e-3;
        orbits[w][1][1] = 0.307;
        orbits[w][2][1] = 0.502;
        orbits[w][1][3] = orbits[w][2][3] = M_PI / 2;
        orbits[w][2][6] = phase;
    }
    const shoal_options options = {
        .engine = "cpu", .propagator = "mvs_jacobi", .steps_per_orbit = 30, .t_end = 2 * year, .threads = threads};
    shoal_status status = shoal_context_create(&context);
    if (!status)
        status = shoal_ensemble_create(context, n, 3, &ensemble);
    long n_done = 0;
    double began = 0, now = 0;
    while (!status && (n_done == 0 || now - began < length)) {
        status = shoal_ensemble_set_orbits(ensemble, SHOAL_JACOBI, NULL, orbits[0][0], NULL);
        if (!status)
            status = plan ? shoal_plan_restart(plan) : shoal_plan_create(context, ensemble, &options, &plan);
        if (!status)
            status = shoal_plan_observe(plan, TIMES, times, 1, &star_z, values);
        now = seconds();
        began = n_done == 0 ? now : began; /* the first one makes the plan */
        n_done++;
    }
    if (status)
        fprintf(stderr, "neighbour: %s\n", shoal_context_message(context));
    else
        printf("%d threads: %.0f likelihoods/s\n", threads, (double)(n_done - 1) * (double)n / (now - began));
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
    shoal_context_destroy(&context);
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
