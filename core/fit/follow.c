/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * follow.c: coordinates in which a thin and bent posterior is thin and nearly flat. Many transits tell periods and
 * times of transit to a millionth, if masses and eccentricities are given, and these move them a thousand times as far.
 * So a step of a walker leaves the posterior, unless these parameters follow the others:
 *
 *     y_i = x_i - c_i(others)
 *
 * where c is linear at first, so that the model stays as near to the data as at the optimum, and then takes a step of
 * Gauss and Newton towards the data, both with derivatives as they are at the optimum. Since c depends on the others
 * alone, the determinant of y(x) is 1: densities have the same ratios, whatever c is, and nothing need converge. c
 * stays within five widths of the priors from the optimum.
 */
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>

#include "core/fit/fit.h"

#define REACH    5.0  /* widths of the prior */
#define FLATTEST 1e-9 /* least singular value, of the greatest one, that is taken for true */

shoal_status shoal_follow_create(const shoal_target *target, long room, int n_threads, shoal_follow *follow)
{
    const size_t k = (size_t)target->n_parameters, n = (size_t)target->n_follow, n_data = (size_t)target->n_data;
    *follow = (shoal_follow){.target = target, .n_threads = n_threads};
    if (n == 0 || n_data < n)
        return SHOAL_OK;
    follow->n = (int)n;
    follow->room = room > 2 * (long)k ? room : 2 * (long)k;
    follow->at = shoal_allocate(k + n * (1 + k + n_data) + (size_t)follow->room * (k + n_data), sizeof(double));
    if (!follow->at)
        return shoal_fail(target->context, SHOAL_E_MEMORY, "out of memory for %ld vectors", follow->room);
    follow->reach = follow->at + k;
    follow->slope = follow->reach + n;
    follow->gain = follow->slope + n * k;
    follow->x = follow->gain + n * n_data;
    follow->residual = follow->x + (size_t)follow->room * k;
    return SHOAL_OK;
}

void shoal_follow_release(shoal_follow *follow)
{
    free(follow->at);
    *follow = (shoal_follow){0};
}

/* From derivatives of the residuals [n_data][n], the step by a residual: gain [n][n_data]. */
static shoal_status invert(const shoal_follow *follow, gsl_matrix *jacobian)
{
    const size_t n = (size_t)follow->n, n_data = (size_t)follow->target->n_data;
    gsl_matrix *v = gsl_matrix_alloc(n, n);
    gsl_vector *s = gsl_vector_alloc(n), *work = gsl_vector_alloc(n);
    const bool good = v && s && work && gsl_linalg_SV_decomp(jacobian, v, s, work) == 0;
    for (size_t i = 0; i < n && good; i++)
        for (size_t d = 0; d < n_data; d++) {
            double sum = 0;
            for (size_t e = 0; e < n; e++)
                if (gsl_vector_get(s, e) > FLATTEST * gsl_vector_get(s, 0))
                    sum += gsl_matrix_get(v, i, e) * gsl_matrix_get(jacobian, d, e) / gsl_vector_get(s, e);
            follow->gain[i * n_data + d] = -sum;
        }
    gsl_matrix_free(v);
    gsl_vector_free(s);
    gsl_vector_free(work);
    return good ? SHOAL_OK : shoal_fail(follow->target->context, SHOAL_E_MEMORY, "out of memory");
}

/* Derivatives of residuals by parameter i, in units of `scale`: by differences of vectors 2 i and 2 i + 1. */
static double derivative(const shoal_follow *follow, int i, long datum)
{
    const double *up = follow->residual + 2 * i * follow->target->n_data;
    return (up[datum] - up[follow->target->n_data + datum]) / 2;
}

shoal_status shoal_follow_learn(shoal_follow *follow, const double *optimum, const double *scale)
{
    const shoal_target *target = follow->target;
    const int n = follow->n;
    if (n == 0)
        return SHOAL_OK;
    const int k = target->n_parameters, *list = target->follow;
    const long n_data = target->n_data;
    double *width = follow->residual; /* [k], for which there is room */
    shoal_status status = shoal_target_widths(target, follow->at, width);
    for (int i = 0; i < n; i++)
        follow->reach[i] = REACH * width[list[i]];
    memcpy(follow->at, optimum, (size_t)k * sizeof *optimum);
    for (int v = 0; v < 2 * k; v++) {
        double *x = follow->x + (long)v * k;
        memcpy(x, optimum, (size_t)k * sizeof *x);
        x[v / 2] += (v % 2 ? -1 : 1) * scale[v / 2];
    }
    gsl_matrix *jacobian = gsl_matrix_alloc((size_t)n_data, (size_t)n);
    if (!jacobian)
        return shoal_fail(target->context, SHOAL_E_MEMORY, "out of memory");
    if (!status)
        status = target->residuals(target->user, 2L * k, follow->x, follow->residual);
    for (int i = 0; i < n && !status; i++)
        for (long d = 0; d < n_data; d++)
            gsl_matrix_set(jacobian, (size_t)d, (size_t)i, derivative(follow, list[i], d));
    if (!status)
        status = invert(follow, jacobian);
    gsl_matrix_free(jacobian);
    for (int i = 0; i < n && !status; i++) {
        double *gain = follow->gain + i * n_data, *slope = follow->slope + (long)i * k;
        for (long d = 0; d < n_data; d++)
            gain[d] *= scale[list[i]];
        for (int p = 0; p < k; p++) {
            slope[p] = 0;
            for (long d = 0; d < n_data; d++)
                slope[p] += gain[d] * derivative(follow, p, d) / scale[p];
        }
    }
    for (int i = 0; i < n * n; i++)
        follow->slope[(long)(i / n) * k + list[i % n]] = 0;
    return status;
}

/* The parameters that follow, of vectors of a call. */
static void place(const shoal_follow *follow, long v, int i, double value)
{
    const double at = follow->at[follow->target->follow[i]], reach = follow->reach[i];
    follow->x[v * follow->target->n_parameters + follow->target->follow[i]] = fmin(fmax(value, at - reach), at + reach);
}

static void predict_line(void *user, long first, long last)
{
    const shoal_follow *follow = user;
    const shoal_target *target = follow->target;
    const int k = target->n_parameters;
    for (long v = first; v < last; v++)
        for (int i = 0; i < follow->n; i++) {
            double sum = follow->at[target->follow[i]];
            for (int p = 0; p < k; p++)
                if (follow->slope[i * k + p] != 0)
                    sum += follow->slope[i * k + p] * shoal_fit_difference(target->period ? target->period[p] : 0,
                                                                           follow->x[v * k + p], follow->at[p]);
            place(follow, v, i, sum);
        }
}

static void step_to_data(void *user, long first, long last)
{
    const shoal_follow *follow = user;
    const shoal_target *target = follow->target;
    const long n_data = target->n_data;
    for (long v = first; v < last; v++)
        for (int i = 0; i < follow->n; i++) {
            const double *residual = follow->residual + v * n_data, *gain = follow->gain + i * n_data;
            double sum = follow->x[v * target->n_parameters + target->follow[i]];
            for (long d = 0; d < n_data; d++)
                sum += gain[d] * residual[d];
            place(follow, v, i, sum);
        }
}

shoal_status shoal_follow_find(const shoal_follow *follow, long n, const double *theta, double *c)
{
    enum { GRAIN = 64 };
    if (follow->n == 0)
        return SHOAL_OK;
    const shoal_target *target = follow->target;
    const int k = target->n_parameters;
    shoal_status status = SHOAL_OK;
    for (long first = 0; first < n && !status; first += follow->room) {
        const long some = n - first < follow->room ? n - first : follow->room;
        memcpy(follow->x, theta + first * k, (size_t)(some * k) * sizeof *theta);
        shoal_share(target->context, follow->n_threads, some, GRAIN, predict_line, (void *)follow);
        status = target->residuals(target->user, some, follow->x, follow->residual);
        shoal_share(target->context, follow->n_threads, some, GRAIN, step_to_data, (void *)follow);
        for (long j = 0; j < some * follow->n; j++)
            c[first * follow->n + j] = follow->x[j / follow->n * k + target->follow[j % follow->n]];
    }
    return status;
}

void shoal_follow_add(const shoal_follow *follow, long n, double sign, const double *c, double *theta)
{
    for (long j = 0; j < n * follow->n; j++)
        theta[j / follow->n * follow->target->n_parameters + follow->target->follow[j % follow->n]] += sign * c[j];
}
