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

static shoal_status fill(shoal_ensemble *ensemble)
{
    enum { MASS_OF, A, E, INC, NODE, PERICENTRE, F }; /* the numbers of a body */
    static double orbits[N_SYSTEMS][3][SHOAL_ORBIT_NUMBERS];
    const double hill = cbrt(2 * MASS / 3) / 2; /* mutual Hill radius over a1 + a2 */

    for (long system = 0; system < N_SYSTEMS; ++system) {
        const double reach = hill * spacing_of(system);
        orbits[system][0][MASS_OF] = 1.0;
        orbits[system][1][MASS_OF] = orbits[system][2][MASS_OF] = MASS;
        orbits[system][1][A] = 1.0;
        orbits[system][1][F] = 2 * PI * uniform(2ull * (unsigned long)system);
        orbits[system][2][A] = (1 + reach) / (1 - reach);
        orbits[system][2][F] = 2 * PI * uniform(2ull * (unsigned long)system + 1);
    }
    return shoal_ensemble_set_orbits(ensemble, SHOAL_JACOBI, NULL, orbits[0][0], NULL);
}

static shoal_status print_table(const shoal_ensemble *ensemble)
{
    static int outcomes[N_SYSTEMS];
    static double t_stop[N_SYSTEMS];
    int n_all[N_BINS] = {0}, n_survived[N_BINS] = {0};
    double first[N_BINS];

    shoal_status status = shoal_ensemble_get_outcomes(ensemble, 0, N_SYSTEMS, outcomes);
    if (status == SHOAL_OK) {
        status = shoal_ensemble_get_column(ensemble, "t_stop", 0, N_SYSTEMS, t_stop, 0);
    }
    for (long system = 0; system < N_SYSTEMS && status == SHOAL_OK; ++system) {
        const int bin = (int)(system * N_BINS / N_SYSTEMS);
        if (n_all[bin]++ == 0) {
            first[bin] = INFINITY;
        }
        if (outcomes[system] == SHOAL_SURVIVED) {
            n_survived[bin]++;
        } else if (t_stop[system] < first[bin]) {
            first[bin] = t_stop[system];
        }
    }
    if (status != SHOAL_OK) {
        return status;
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
    return SHOAL_OK;
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
        status = fill(ensemble);
    }
    if (status == SHOAL_OK) {
        status = shoal_plan_create(context, ensemble, &options, &plan);
    }
    if (status == SHOAL_OK) {
        printf("%s\n\n", shoal_plan_line(plan));
        status = shoal_plan_integrate(plan, T_END);
    }
    if (status == SHOAL_OK) {
        status = print_table(ensemble);
    }
    if (status != SHOAL_OK) {
        fprintf(stderr, "ensemble: %s\n", context ? shoal_context_message(context) : shoal_status_text(status));
    }
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
    shoal_context_destroy(&context);
    return status == SHOAL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
