/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * systems.h: what tests of propagators and monitors share: systems, runs, Newton's equations in GSL, measured limits.
 */
#ifndef SHOAL_TEST_SYSTEMS_H
#define SHOAL_TEST_SYSTEMS_H

#include "testing.h"

#define PI     3.14159265358979323846
#define TWO_PI (2.0 * PI)
#define EPS    0x1p-52

/* Instrumented code takes ten to thirty times as long: long runs are cut there. */
#ifdef __SANITIZE_ADDRESS__
#define INSTRUMENTED 1
#else
#define INSTRUMENTED 0
#endif

/* A failure says the value, the limit, and what else is given as a format. */
#define assert_below(value, limit, ...)                                       \
    do {                                                                      \
        const double value_ = (value), limit_ = (limit);                      \
        if (!(value_ <= limit_)) {                                            \
            print_error("%s = %.3g, allowed %.3g\n", #value, value_, limit_); \
            fail_msg("above the limit: " __VA_ARGS__);                        \
        }                                                                     \
    } while (0)

/* ---- systems ----------------------------------------------------------------------------------------------------- */

/* A uniform number of (id, which), 0..1. */
double uniform(long id, int which);

/* A star of mass 1 with n - 1 planets of half of `planet` to all of it on spaced orbits, the innermost at a = 1, with
 * eccentricities up to e. */
void planetary_system(shoal_context *context, long id, int n, double planet, double spacing, double e,
                      shoal_body *bodies);

/* Masses 3, 4, 5 at rest in the corners of a Pythagorean triangle (Burrau 1913, Astron. Nachr. 195, 113). */
extern const shoal_body pythagorean[3];

/* The orbit of the mass 5 about the mass 4; and at t = 70, when the mass 3 has left them, where that is seen from
 * their barycentre: in 113 bits, by leapfrog steps extrapolated to order 28, with tolerances of 1e-22 and 1e-25 the
 * same. */
shoal_orbit pythagorean_binary(shoal_context *context, const shoal_body *four, const shoal_body *five);
#define PYTHAGOREAN_A   0.552496439
#define PYTHAGOREAN_E   0.988699076
#define PYTHAGOREAN_FAR 28.55368842

/* Three equal masses that follow one another along a figure of eight: Chenciner & Montgomery 2000, Ann. Math. 152,
 * 881; Simo's initial values and period, there. */
extern const shoal_body figure_eight[3];
#define FIGURE_EIGHT_PERIOD 6.32591398292621

/* How far, a third of the period later, the bodies are from where others of them were. */
double figure_eight_shift(const shoal_body *third);

/* Fails if a propagator of the list is in none of n rows of that size, each of which begins with a name. */
void nobody_is_missing(const void *rows, size_t size, int n);

/* The largest distance between the same bodies of two states. */
double distance_of_states(int n, const shoal_body *a, const shoal_body *b);

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* An ensemble and its plan. */
struct motion {
    shoal_ensemble *ensemble;
    shoal_plan *plan;
};

/* Systems of n bodies, with t_start and dt of each (NULL: 0, options->dt), on the CPU if options name no engine. */
struct motion motion_begin(shoal_context *context, long n_systems, int n, const double *t_start, const double *dt,
                           const shoal_options *options, const shoal_body *bodies);
void motion_end(struct motion *motion);

/* The relative error of a system's energy now. */
double motion_energy_error(const struct motion *motion, long system);

/* Such systems to options->t_end, in and out. records: NULL (all must survive) or [n_systems] out. */
void evolve_all(shoal_context *context, long n_systems, int n, const double *t_start, const double *dt,
                const shoal_options *options, shoal_body *bodies, shoal_system *records);

/* ---- references -------------------------------------------------------------------------------------------------- */

/* Slope of log y over log x. */
double slope(int n, const double *x, const double *y);

/* Newton's equations for GSL: y = x y z of all bodies, then their velocities; the masses are those of `bodies`. */
struct newton {
    int n;
    const shoal_body *bodies;
};
int newton_right_side(double t, const double y[], double dydt[], void *newton);
void newton_from_bodies(int n, const shoal_body *bodies, double *y);
void newton_to_bodies(int n, const double *y, shoal_body *bodies);

/* The state after a time t by GSL's Runge-Kutta-Prince-Dormand method of order 8 at the limit of double precision. */
void newton_reference(int n, double t, shoal_body *bodies);

#endif
