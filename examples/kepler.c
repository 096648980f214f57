/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The smallest program: one planet, ten orbits, three propagators.
 *
 * A massless planet on an orbit of eccentricity 0.5 should come back to where it was. The mixed-variable map moves it
 * on its Kepler orbit exactly; leapfrog (2nd order) and Hermite (4th order) have errors that the table shows to fall
 * by 4 and by 16 when the step is halved.
 *
 *     cc kepler.c $(pkg-config --cflags --libs shoal) -lm && ./a.out
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <shoal.h>

/* How far the planet is from its start after n_orbits, in units of its semi-major axis; NaN and a message on error. */
static double error_of(const char *propagator, double steps_per_orbit, double n_orbits)
{
    const double t_end = n_orbits * 2 * 3.14159265358979323846;
    shoal_context *context = NULL;
    shoal_ensemble *ensemble = NULL;
    shoal_plan *plan = NULL;
    shoal_body start[2] = {{.m = 1.0}, {.m = 0.0}}, end[2];
    const shoal_orbit orbits[2] = {{0}, {.a = 1.0, .e = 0.5}};
    const shoal_options options = {.propagator = propagator, .t_end = t_end, .steps_per_orbit = steps_per_orbit};
    double error = NAN;

    if (shoal_context_create(&context) != SHOAL_OK) {
        return error;
    }
    if (shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, 2, orbits, start) == SHOAL_OK &&
        shoal_ensemble_create(context, 1, 2, &ensemble) == SHOAL_OK &&
        shoal_ensemble_set_bodies(ensemble, 0, 2, start) == SHOAL_OK &&
        shoal_plan_create(context, ensemble, &options, &plan) == SHOAL_OK &&
        shoal_plan_integrate(plan, t_end) == SHOAL_OK) {
        shoal_ensemble_get_bodies(ensemble, 0, end);
        error = hypot(hypot(end[1].x - start[1].x, end[1].y - start[1].y), end[1].z - start[1].z);
    } else {
        fprintf(stderr, "kepler: %s\n", shoal_context_message(context));
    }
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
    shoal_context_destroy(&context);
    return error;
}

int main(void)
{
    static const char *const names[] = {"leapfrog", "hermite4", "mvs"};

    printf("steps an orbit    leapfrog    hermite4         mvs\n");
    for (int steps = 500; steps <= 4000; steps *= 2) {
        printf("%14d", steps);
        for (int i = 0; i < 3; ++i) {
            const double error = error_of(names[i], steps, 10);
            if (isnan(error)) {
                return EXIT_FAILURE;
            }
            printf("  %10.2e", error);
        }
        printf("\n");
    }
    return EXIT_SUCCESS;
}
