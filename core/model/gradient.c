/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gradient.c: derivatives of ln L and of the prior by central differences, all vectors of them in one call. The scale
 * of a parameter is how far it goes until ln L is 1/2 below its tangent: one standard deviation, if ln L is normal.
 * Steps are STEP scales. The error is STEP^2 / 6 of a third derivative in scales, and the rounding of ln L over STEP.
 *
 * A gradient is a function of its vector (and of the scales, which stay), so that a leapfrog with it is reversible and
 * keeps volumes: draws of Hamiltonian Monte Carlo, which accepts by ln L itself, are exact whatever that error is.
 */
#include <gsl/gsl_cdf.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/model.h"

#define STEP       0.01
#define MOST_SIGMA 38.0 /* the normal distribution beyond is 0 in doubles */
enum { MOST_TURNS = 60 };

/* Vectors in some coordinates, and what is known of them. */
typedef struct points {
    shoal_model *model;
    enum shoal_coordinates coordinates;
    int k;
    double *theta, *lnl, *lnp; /* [room][k], [room], [room] */
} points;

/* An argument that must be there if there are vectors. */
typedef struct argument {
    const char *name;
    const double *numbers;
} argument;

static shoal_status check(const shoal_model *model, const char *function, enum shoal_coordinates coordinates, long n,
                          const argument given[], int n_given)
{
    shoal_context *context = shoal_model_context(model);
    shoal_status status = shoal_check_range(context, function, "coordinates", (long)coordinates,
                                            (long[2]){SHOAL_PARAMETERS, SHOAL_STANDARD_NORMAL});
    if (!status)
        status = shoal_check_range(context, function, "n", n, (long[2]){0, INT_MAX});
    for (int i = 0; i < n_given && n > 0 && !status; i++)
        status = shoal_check_given(context, function, given[i].name, given[i].numbers);
    return status;
}

shoal_status shoal_model_from_normal(const shoal_model *model, long n, const double *z, double *theta)
{
    if (!model)
        return SHOAL_E_USAGE;
    const int k = shoal_model_n_parameters(model);
    shoal_status status = check(model, __func__, SHOAL_STANDARD_NORMAL, n, (argument[]){{"z", z}, {"theta", theta}}, 2);
    if (status || n == 0 || k == 0)
        return status;
    double *cube = shoal_allocate((size_t)k, sizeof *cube);
    if (!cube)
        return shoal_fail(shoal_model_context(model), SHOAL_E_MEMORY, "out of memory");
    for (long i = 0; i < n && !status; i++) {
        for (int p = 0; p < k; p++)
            cube[p] = gsl_cdf_ugaussian_P(z[i * k + p]);
        status = shoal_model_prior_transform(model, 1, cube, theta + i * k);
    }
    free(cube);
    return status;
}

/* z of parameter p of a vector, by bisection: quantiles of the priors grow with it. Those of parameters before p, with
 * which it may be correlated, are in cube. */
static double normal_of(const shoal_sample *prior, const double *theta, double *cube, int p)
{
    const double x = shoal_sample_wrap(prior, theta[p]);
    double low = -MOST_SIGMA, high = MOST_SIGMA, z = 0;
    cube[p] = gsl_cdf_ugaussian_P(low);
    if (shoal_sample_quantile(prior, cube, p) > x)
        return NAN;
    cube[p] = gsl_cdf_ugaussian_P(high);
    if (shoal_sample_quantile(prior, cube, p) < x)
        return NAN;
    while (z > low && z < high) {
        cube[p] = gsl_cdf_ugaussian_P(z);
        *(shoal_sample_quantile(prior, cube, p) < x ? &low : &high) = z;
        z = (low + high) / 2;
    }
    return z;
}

shoal_status shoal_model_to_normal(const shoal_model *model, long n, const double *theta, double *z)
{
    if (!model)
        return SHOAL_E_USAGE;
    const int k = shoal_model_n_parameters(model);
    const shoal_status status = check(model, __func__, SHOAL_STANDARD_NORMAL, n,
                                      (argument[]){{"theta", theta}, {"z", z}}, 2);
    if (status || n == 0 || k == 0)
        return status;
    double *cube = shoal_allocate((size_t)k, sizeof *cube);
    if (!cube)
        return shoal_fail(shoal_model_context(model), SHOAL_E_MEMORY, "out of memory");
    for (long i = 0; i < n; i++)
        for (int p = 0; p < k; p++) {
            z[i * k + p] = normal_of(shoal_model_prior(model, p), theta + i * k, cube, p);
            cube[p] = gsl_cdf_ugaussian_P(z[i * k + p]);
        }
    free(cube);
    return SHOAL_OK;
}

static shoal_status make_room(shoal_model *model, enum shoal_coordinates coordinates, long room, points *at)
{
    *at = (points){model, coordinates, shoal_model_n_parameters(model), NULL, NULL, NULL};
    at->theta = shoal_allocate((size_t)room * (size_t)(at->k + 2), sizeof(double));
    if (!at->theta)
        return shoal_fail(shoal_model_context(model), SHOAL_E_MEMORY, "out of memory for %ld vectors", room);
    at->lnl = at->theta + room * at->k;
    at->lnp = at->lnl + room;
    return SHOAL_OK;
}

/* ln L and ln prior of the first n vectors, which are in the coordinates and become parameters. */
static shoal_status evaluate(points *at, long n)
{
    shoal_status status = SHOAL_OK;
    if (at->coordinates == SHOAL_STANDARD_NORMAL)
        status = shoal_model_from_normal(at->model, n, at->theta, at->theta);
    if (!status)
        status = shoal_model_evaluate(at->model, n, at->theta, at->lnl);
    return status || at->coordinates == SHOAL_STANDARD_NORMAL ? status
                                                              : shoal_model_log_prior(at->model, n, at->theta, at->lnp);
}

/* x, and x with each parameter moved up and down by so many scales: 2 k + 1 vectors. */
static void surround(const points *at, const double *x, const double *scale, double by, double *to)
{
    const int k = at->k;
    for (int v = 0; v < 2 * k + 1; v++, to += k) {
        memcpy(to, x, (size_t)k * sizeof *to);
        if (v > 0)
            to[(v - 1) / 2] += v % 2 ? by * scale[(v - 1) / 2] : -by * scale[(v - 1) / 2];
    }
}

/* From the values at such vectors; one side alone where the other is impossible. */
static void differences(const points *at, const double *f, const double *scale, double *gradient)
{
    for (int i = 0; i < at->k; i++) {
        const double step = STEP * scale[i], up = f[2 * i + 1], down = f[2 * i + 2];
        const double here = f[0], both = (up - down) / (2 * step);
        gradient[i] = isfinite(both) ? both : isfinite(up) ? (up - here) / step : (here - down) / step;
        if (!isfinite(gradient[i]))
            gradient[i] = NAN;
    }
}

/* Those of one vector: values [2], gradient [2][k]. */
static void derive(const points *at, long first, const double *x, const double *scale, double *values, double *gradient)
{
    const int k = at->k;
    values[0] = at->lnl[first];
    differences(at, at->lnl + first, scale, gradient);
    if (at->coordinates == SHOAL_PARAMETERS) {
        values[1] = at->lnp[first];
        differences(at, at->lnp + first, scale, gradient + k);
        return;
    }
    values[1] = -0.5 * k * log(2 * M_PI);
    for (int i = 0; i < k; i++) {
        values[1] -= x[i] * x[i] / 2;
        gradient[k + i] = -x[i];
    }
}

shoal_status shoal_model_gradient(shoal_model *model, enum shoal_coordinates coordinates, long n, const double *x,
                                  const double *scale, double *values, double *gradient)
{
    if (!model)
        return SHOAL_E_USAGE;
    shoal_status status = check(model, __func__, coordinates, n,
                                (argument[]){{"x", x}, {"scale", scale}, {"values", values}, {"gradient", gradient}},
                                4);
    const long k = shoal_model_n_parameters(model), each = 2 * k + 1;
    for (long i = 0; i < k && n > 0 && !status; i++)
        if (!(scale[i] > 0 && isfinite(scale[i])))
            status = shoal_fail(shoal_model_context(model), SHOAL_E_USAGE, "%s: scale[%ld] = %g: expected a number > 0",
                                __func__, i, scale[i]);
    if (status || n == 0)
        return status;
    const long room = shoal_model_n_walkers(model) / each, most = room < 1 ? 1 : room < n ? room : n;
    points at;
    status = make_room(model, coordinates, most * each, &at);
    for (long first = 0; first < n && !status; first += most) {
        const long some = n - first < most ? n - first : most;
        for (long i = 0; i < some; i++)
            surround(&at, x + (first + i) * k, scale, STEP, at.theta + i * each * k);
        status = evaluate(&at, some * each);
        for (long i = 0; i < some && !status; i++)
            derive(&at, i * each, x + (first + i) * k, scale, values + 2 * (first + i), gradient + 2 * (first + i) * k);
    }
    free(at.theta);
    return status;
}

bool shoal_scale_next(double bend, double widest, double *scale)
{
    if (bend < 1.2 && (bend > 0.2 || *scale == widest))
        return true;
    *scale = fmin(*scale * (isfinite(bend) ? fmin(fmax(sqrt(0.5 / fmax(bend, 1e-3)), 0.05), 5) : 0.3), widest);
    return false;
}

shoal_status shoal_prior_widths(shoal_context *context, int k, shoal_from_cube *from_cube, void *user, double *median,
                                double *width)
{
    const size_t n = (size_t)(2 * k + 1) * (size_t)k;
    double *cube = shoal_allocate(2 * n, sizeof *cube), *x = cube + n;
    if (!cube)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    for (int v = 0; v < 2 * k + 1; v++)
        for (int i = 0; i < k; i++)
            cube[v * k + i] = v / 2 != i ? 0.5 : v % 2 ? 0.84 : 0.16;
    const shoal_status status = from_cube(user, 2L * k + 1, cube, x);
    for (int i = 0; i < k; i++) {
        median[i] = x[2 * k * k + i];
        width[i] = fabs(x[(2 * i + 1) * k + i] - x[2 * i * k + i]) / 2;
    }
    free(cube);
    return status;
}

static shoal_status from_cube(void *model, long n, const double *cube, double *theta)
{
    return shoal_model_prior_transform(model, n, cube, theta);
}

/* How far a parameter may go: in standard normal numbers 1, else the width of its prior. */
static shoal_status find_widest(points *at, double *widest)
{
    for (int i = 0; i < at->k; i++)
        widest[i] = 1;
    return at->coordinates == SHOAL_STANDARD_NORMAL
               ? SHOAL_OK
               : shoal_prior_widths(shoal_model_context(at->model), at->k, from_cube, at->model, at->theta, widest);
}

shoal_status shoal_model_scales(shoal_model *model, enum shoal_coordinates coordinates, const double *x, double *scale)
{
    if (!model)
        return SHOAL_E_USAGE;
    shoal_status status = check(model, __func__, coordinates, 1, (argument[]){{"x", x}, {"scale", scale}}, 2);
    const int k = shoal_model_n_parameters(model);
    points at;
    if (status || k == 0)
        return status;
    double *widest = shoal_allocate((size_t)k, sizeof *widest);
    status = make_room(model, coordinates, 2L * k + 4, &at);
    if (!status && !widest)
        status = shoal_fail(shoal_model_context(model), SHOAL_E_MEMORY, "out of memory");
    if (!status)
        status = find_widest(&at, widest);
    for (int i = 0; i < k && !status; i++)
        scale[i] = 0.1 * widest[i];
    bool good = false;
    for (int turn = 0; turn < MOST_TURNS && !good && !status; turn++) {
        surround(&at, x, scale, 1, at.theta);
        status = evaluate(&at, 2L * k + 1);
        if (!status && !isfinite(at.lnl[0]))
            status = shoal_fail(shoal_model_context(model), SHOAL_E_INPUT,
                                "%s: ln L of this vector is -infinity: expected a possible one", __func__);
        good = true;
        for (int i = 0; i < k && !status; i++) {
            const double up = at.lnl[2 * i + 1], down = at.lnl[2 * i + 2], bend = fabs(at.lnl[0] - (up + down) / 2);
            good = shoal_scale_next(bend, widest[i], &scale[i]) && good;
        }
    }
    free(widest);
    free(at.theta);
    return status;
}
