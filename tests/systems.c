/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * systems.c: what tests of propagators and monitors share.
 */
#include <math.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_odeiv2.h>

#include "systems.h"

enum { MOST_BODIES = 65 };

/* ---- systems ----------------------------------------------------------------------------------------------------- */

double uniform(long id, int which)
{
    uint64_t z = (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)which * UINT64_C(0xbf58476d1ce4e5b9) + 1;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

void planetary_system(shoal_context *context, long id, int n, double planet, double spacing, double e,
                      shoal_body *bodies)
{
    shoal_orbit orbit[MOST_BODIES] = {{0}};
    memset(bodies, 0, (size_t)n * sizeof *bodies);
    bodies[0].m = 1.0;
    for (int i = 1; i < n; i++) {
        bodies[i].m = planet * (0.5 + 0.5 * uniform(id, 8 * i));
        orbit[i].a = pow(spacing, i - 1);
        orbit[i].e = e * uniform(id, 8 * i + 2);
        orbit[i].inc = 0.1 * uniform(id, 8 * i + 3);
        orbit[i].Omega = TWO_PI * uniform(id, 8 * i + 4);
        orbit[i].omega = TWO_PI * uniform(id, 8 * i + 5);
        orbit[i].f = TWO_PI * uniform(id, 8 * i + 6);
    }
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, n, orbit, bodies));
}

const shoal_body pythagorean[3] = {{.m = 3, .x = 1, .y = 3}, {.m = 4, .x = -2, .y = -1}, {.m = 5, .x = 1, .y = -1}};

shoal_orbit pythagorean_binary(shoal_context *context, const shoal_body *four, const shoal_body *five)
{
    shoal_orbit orbit;
    double state[6];
    for (int c = 0; c < 6; c++)
        state[c] = (&five->x)[c] - (&four->x)[c];
    assert_ok(context, shoal_orbit_from_state(context, four->m + five->m, state, &orbit));
    return orbit;
}

const shoal_body figure_eight[3] = {
    {.m = 1, .x = 0.97000435669734, .y = -0.24308753153583, .vx = 0.93240737144104 / 2, .vy = 0.86473146092102 / 2},
    {.m = 1, .x = -0.97000435669734, .y = 0.24308753153583, .vx = 0.93240737144104 / 2, .vy = 0.86473146092102 / 2},
    {.m = 1, .vx = -0.93240737144104, .vy = -0.86473146092102}};

double distance_of_states(int n, const shoal_body *a, const shoal_body *b)
{
    double largest = 0.0;
    for (int i = 0; i < n; i++) {
        const double d = hypot(hypot(a[i].x - b[i].x, a[i].y - b[i].y), a[i].z - b[i].z);
        if (!(d <= largest)) /* what is no number counts */
            largest = d;
    }
    return largest;
}

double figure_eight_shift(const shoal_body *third)
{
    double nearest = INFINITY;
    for (int shift = 1; shift < 3; shift++) {
        shoal_body moved[3];
        for (int i = 0; i < 3; i++)
            moved[i] = figure_eight[(i + shift) % 3];
        nearest = fmin(nearest, distance_of_states(3, third, moved));
    }
    return nearest;
}

void nobody_is_missing(const void *rows, size_t size, int n)
{
    const shoal_propagator *const *all = shoal_plugs_of(NULL)->propagators;
    for (int p = 0; all[p]; p++) {
        int found = 0;
        for (int i = 0; i < n; i++)
            found += strcmp(all[p]->name, *(const char *const *)((const char *)rows + (size_t)i * size)) == 0;
        if (found == 0)
            fail_msg("%s is in no row", all[p]->name);
    }
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

struct motion motion_begin(shoal_context *context, long n_systems, int n, const double *t_start, const double *dt,
                           const shoal_options *options, const shoal_body *bodies)
{
    struct motion motion = {NULL, NULL};
    shoal_options chosen = *options;
    chosen.engine = options->engine ? options->engine : "cpu";
    assert_ok(context, shoal_ensemble_create(context, n_systems, n, &motion.ensemble));
    for (long s = 0; s < n_systems; s++) {
        const shoal_system record = {.id = s, .t_start = t_start ? t_start[s] : 0.0, .dt = dt ? dt[s] : options->dt};
        shoal_ensemble_set_system(motion.ensemble, s, &record);
        assert_ok(context, shoal_ensemble_set_bodies(motion.ensemble, s, n, bodies + s * n));
    }
    assert_ok(context, shoal_plan_create(context, motion.ensemble, &chosen, &motion.plan));
    return motion;
}

void motion_end(struct motion *motion)
{
    shoal_plan_destroy(&motion->plan);
    shoal_ensemble_destroy(&motion->ensemble);
}

double motion_energy_error(const struct motion *motion, long system)
{
    shoal_system record;
    shoal_ensemble_get_system(motion->ensemble, system, &record);
    return shoal_ensemble_energy(motion->ensemble, system) / record.energy_start - 1.0;
}

/* long: the arguments of motion_begin, and where the results go */
void evolve_all(shoal_context *context, long n_systems, int n, const double *t_start, const double *dt,
                const shoal_options *options, shoal_body *bodies, shoal_system *records)
{
    struct motion motion = motion_begin(context, n_systems, n, t_start, dt, options, bodies);
    assert_ok(context, shoal_plan_integrate(motion.plan, options->t_end));
    for (long s = 0; s < n_systems; s++) {
        shoal_system record;
        shoal_ensemble_get_bodies(motion.ensemble, s, bodies + s * n);
        shoal_ensemble_get_system(motion.ensemble, s, &record);
        if (records) {
            records[s] = record;
        } else {
            assert_int_equal(record.outcome, SHOAL_SURVIVED);
            assert_true(record.time == options->t_end);
        }
    }
    motion_end(&motion);
}

/* ---- references -------------------------------------------------------------------------------------------------- */

double slope(int n, const double *x, const double *y)
{
    double log_x[64], log_y[64], c0, c1, cov00, cov01, cov11, sum;
    for (int i = 0; i < n; i++) {
        log_x[i] = log(x[i]);
        log_y[i] = log(y[i]);
    }
    gsl_fit_linear(log_x, 1, log_y, 1, (size_t)n, &c0, &c1, &cov00, &cov01, &cov11, &sum);
    return c1;
}

int newton_right_side(double t, const double y[], double dydt[], void *newton)
{
    const struct newton *system = newton;
    const int n = system->n;
    (void)t;
    memcpy(dydt, y + 3 * n, (size_t)(3 * n) * sizeof *y);
    memset(dydt + 3 * n, 0, (size_t)(3 * n) * sizeof *y);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (j == i)
                continue;
            const double d[3] = {y[3 * j] - y[3 * i], y[3 * j + 1] - y[3 * i + 1], y[3 * j + 2] - y[3 * i + 2]};
            const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            for (int c = 0; c < 3; c++)
                dydt[3 * (n + i) + c] += system->bodies[j].m * d[c] / (r2 * sqrt(r2));
        }
    return GSL_SUCCESS;
}

void newton_from_bodies(int n, const shoal_body *bodies, double *y)
{
    for (int i = 0; i < n; i++) {
        memcpy(y + 3 * i, &bodies[i].x, 3 * sizeof *y);
        memcpy(y + 3 * (n + i), &bodies[i].vx, 3 * sizeof *y);
    }
}

void newton_to_bodies(int n, const double *y, shoal_body *bodies)
{
    for (int i = 0; i < n; i++) {
        memcpy(&bodies[i].x, y + 3 * i, 3 * sizeof *y);
        memcpy(&bodies[i].vx, y + 3 * (n + i), 3 * sizeof *y);
    }
}

void newton_reference(int n, double t, shoal_body *bodies)
{
    double y[6 * MOST_BODIES], now = 0.0;
    struct newton newton = {n, bodies};
    gsl_odeiv2_system system = {newton_right_side, NULL, (size_t)(6 * n), &newton};
    gsl_odeiv2_driver *driver = gsl_odeiv2_driver_alloc_y_new(&system, gsl_odeiv2_step_rk8pd, copysign(1e-3, t), 1e-14,
                                                              0.0);
    assert_non_null(driver);
    newton_from_bodies(n, bodies, y);
    assert_int_equal(gsl_odeiv2_driver_apply(driver, &now, t, y), GSL_SUCCESS);
    gsl_odeiv2_driver_free(driver);
    newton_to_bodies(n, y, bodies);
}
