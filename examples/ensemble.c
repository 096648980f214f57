/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How close may two planets be? A thousand answers at once.
 *
 * A star of one solar mass, two planets of ten Earth masses on circular orbits, their spacing drawn between 2 and 5
 * mutual Hill radii and their places on the orbits at random. Gladman (1993, Icarus 106, 247) showed that beyond 2
 * sqrt(3) = 3.46 Hill radii two such planets can never meet, however long one waits. Each system is followed for a
 * thousand orbits of the inner planet, or until the two come closer than one Hill radius; the table shows what became
 * of them.
 *
 *     cc ensemble.c $(pkg-config --cflags --libs shoal) -lm && ./a.out
 *
 * Units: G = 1, AU, solar masses: an orbit at 1 AU takes 2 pi.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <shoal.h>

enum { N_SYSTEMS = 1000, N_BINS = 6 };

static const double PI = 3.14159265358979323846;
static const double MASS = 3.0e-5;               /* of each planet */
static const double CLOSEST = 2.0, WIDEST = 5.0; /* spacings, in mutual Hill radii */
static const double T_END = 1000 * 2 * 3.14159265358979323846;

/* A number in 0..1 that depends on nothing but its key (the finaliser of splitmix64). */
static double uniform(unsigned long long key)
{
    key += 0x9e3779b97f4a7c15ull;
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ull;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebull;
    return (double)((key ^ (key >> 31)) >> 11) / 9007199254740992.0;
}

static double spacing_of(long system)
{
    return CLOSEST + (WIDEST - CLOSEST) * ((double)system + 0.5) / N_SYSTEMS;
}

static shoal_status fill(shoal_context *context, shoal_ensemble *ensemble)
{
    const double hill = cbrt(2 * MASS / 3) / 2; /* mutual Hill radius over a1 + a2 */

    for (long system = 0; system < N_SYSTEMS; ++system) {
        const double reach = hill * spacing_of(system);
        shoal_body bodies[3] = {{.m = 1.0}, {.m = MASS}, {.m = MASS}};
        shoal_orbit orbits[3] = {{0}};
        orbits[1].a = 1.0;
        orbits[1].f = 2 * PI * uniform(2ull * (unsigned long)system);
        orbits[2].a = (1 + reach) / (1 - reach);
        orbits[2].f = 2 * PI * uniform(2ull * (unsigned long)system + 1);

        shoal_status status = shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbits, bodies);
        if (status == SHOAL_OK) {
            status = shoal_ensemble_set_bodies(ensemble, system, 3, bodies);
        }
        if (status != SHOAL_OK) {
            return status;
        }
    }
    return SHOAL_OK;
}

static void print_table(const shoal_ensemble *ensemble)
{
    int n_all[N_BINS] = {0}, n_survived[N_BINS] = {0};
    double first[N_BINS];

    for (long system = 0; system < N_SYSTEMS; ++system) {
        const int bin = (int)(system * N_BINS / N_SYSTEMS);
        shoal_system record;
        shoal_ensemble_get_system(ensemble, system, &record);
        if (n_all[bin]++ == 0) {
            first[bin] = INFINITY;
        }
        if (record.outcome == SHOAL_SURVIVED) {
            n_survived[bin]++;
        } else if (record.t_stop < first[bin]) {
            first[bin] = record.t_stop;
        }
    }
    printf("spacing [Hill radii]   systems   survived   first encounter [orbits]\n");
    for (int bin = 0; bin < N_BINS; ++bin) {
        const double width = (WIDEST - CLOSEST) / N_BINS;
        printf("    %4.2f .. %4.2f        %6d    %6.1f %%   ", CLOSEST + bin * width, CLOSEST + (bin + 1) * width,
               n_all[bin], 100.0 * n_survived[bin] / n_all[bin]);
        if (isinf(first[bin])) {
            printf("      never\n");
        } else {
            printf("%11.1f\n", first[bin] / (2 * PI));
        }
    }
}

int main(void)
{
    shoal_context *context = NULL;
    shoal_ensemble *ensemble = NULL;
    shoal_plan *plan = NULL;
    const shoal_setting closer[] = {{"radius", 0, "mutual_hill"}, {"factor", 1.0, NULL}};
    const shoal_plug_options monitors[] = {{"stop_on_encounter", closer, 2}};
    const shoal_options options = {
        .propagator = "mvs",
        .monitors = monitors,
        .n_monitors = 1,
        .t_end = T_END,
        .steps_per_orbit = 30,
    };

    shoal_status status = shoal_context_create(&context);
    if (status == SHOAL_OK) {
        status = shoal_ensemble_create(context, N_SYSTEMS, 3, &ensemble);
    }
    if (status == SHOAL_OK) {
        status = fill(context, ensemble);
    }
    if (status == SHOAL_OK) {
        status = shoal_plan_create(context, ensemble, &options, &plan);
    }
    if (status == SHOAL_OK) {
        printf("%s\n\n", shoal_plan_line(plan));
        status = shoal_plan_integrate(plan, T_END);
    }
    if (status == SHOAL_OK) {
        print_table(ensemble);
    } else {
        fprintf(stderr, "ensemble: %s\n", context ? shoal_context_message(context) : shoal_status_text(status));
    }
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
    shoal_context_destroy(&context);
    return status == SHOAL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
