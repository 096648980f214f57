/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * follow.c: coordinates in which a thin and bent posterior is thin and nearly flat. Many transits tell periods and times
 * of transit to a millionth, if masses and eccentricities are given, and these move them a thousand times as far. So a
 * step of a walker leaves the posterior, unless these parameters follow the others:
 *
 *     y_i = x_i - c_i(others)
 *
 * where c is what two steps of Gauss and Newton towards the data make of them, from the optimum on and with derivatives
 * as they are there. Since c depends on the others alone, the determinant of y(x) is 1: densities have the same ratios,
 * whatever c is, and nothing need converge. c stays as near to the optimum as the priors are wide.
 */
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>

#include "core/fit/fit.h"

enum { STEPS = 2 };
#define FLATTEST 1e-9 /* least singular value, of the greatest one, that is taken for true */

shoal_status shoal_follow_create(const shoal_target *target, long room, int n_threads, shoal_follow *follow)
{
    const size_t k = (size_t)target->n_parameters, n = (size_t)target->n_follow, n_data = (size_t)target->n_data;
    *follow = (shoal_follow){.target = target, .n_threads = n_threads};
    if (n == 0 || n_data < n)
        return SHOAL_OK;
    follow->n = (int)n;
    follow->room = room > 2 * (long)k ? room : 2 * (long)k;
    follow->at = shoal_allocate(n * (n_data + 2) + (size_t)follow->room * (k + n_data), sizeof(double));
    if (!follow->at)
        return shoal_fail(target->context, SHOAL_E_MEMORY, "out of memory for %ld vectors", follow->room);
    follow->most = follow->at + n;
    follow->gain = follow->most + n;
    follow->x = follow->gain + n * n_data;
    follow->residual = follow->x + (size_t)follow->room * k;
    return SHOAL_OK;
}

void shoal_follow_release(shoal_follow *follow)
{
    free(follow->at);
    *follow = (shoal_follow){0};
}

/* From the derivatives of the residuals [n_data][n], by so many units of each parameter, the Gauss-Newton step by a
 * residual, gain [n][n_data]. */
static shoal_status solve(const shoal_follow *follow, gsl_matrix *jacobian, const double *unit)
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
            follow->gain[i * n_data + d] = -sum * unit[follow->target->follow[i]];
        }
    gsl_matrix_free(v);
    gsl_vector_free(s);
    gsl_vector_free(work);
    return good ? SHOAL_OK : shoal_fail(follow->target->context, SHOAL_E_MEMORY, "out of memory");
}

shoal_status shoal_follow_learn(shoal_follow *follow, const double *optimum, const double *scale)
{
    const shoal_target *target = follow->target;
    const int k = target->n_parameters, n = follow->n;
    const long n_data = target->n_data;
    if (n == 0)
        return SHOAL_OK;
    double *cube = follow->residual; /* two vectors, for which there is room */
    for (int i = 0; i < 2 * k; i++)
        cube[i] = i < k ? 0.16 : 0.84;
    shoal_status status = target->from_cube(target->user, 2, cube, follow->x);
    for (int i = 0; i < n; i++) {
        const int p = target->follow[i];
        follow->at[i] = optimum[p];
        follow->most[i] = fabs(follow->x[k + p] - follow->x[p]) / 2;
    }
    for (int v = 0; v < 2 * n; v++) {
        double *x = follow->x + (long)v * k;
        memcpy(x, optimum, (size_t)k * sizeof *x);
        x[target->follow[v / 2]] += (v % 2 ? -1 : 1) * scale[target->follow[v / 2]];
    }
    gsl_matrix *jacobian = gsl_matrix_alloc((size_t)n_data, (size_t)n);
    if (!jacobian)
        return shoal_fail(target->context, SHOAL_E_MEMORY, "out of memory");
    if (!status)
        status = target->residuals(target->user, 2L * n, follow->x, follow->residual);
    for (long i = 0; i < n && !status; i++)
        for (long d = 0; d < n_data; d++) {
            const double *up = follow->residual + 2 * i * n_data;
            gsl_matrix_set(jacobian, (size_t)d, (size_t)i, (up[d] - up[n_data + d]) / 2);
        }
    if (!status)
        status = solve(follow, jacobian, scale);
    gsl_matrix_free(jacobian);
    return status;
}

static void step(void *user, long first, long last)
{
    const shoal_follow *follow = user;
    const shoal_target *target = follow->target;
    const long n_data = target->n_data;
    for (long v = first; v < last; v++)
        for (int i = 0; i < follow->n; i++) {
            const double *residual = follow->residual + v * n_data, *gain = follow->gain + i * n_data;
            double *x = follow->x + v * target->n_parameters + target->follow[i], sum = *x;
            for (long d = 0; d < n_data; d++)
                sum += gain[d] * residual[d];
            *x = fmin(fmax(sum, follow->at[i] - follow->most[i]), follow->at[i] + follow->most[i]);
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
        for (long j = 0; j < some * follow->n; j++)
            follow->x[j / follow->n * k + target->follow[j % follow->n]] = follow->at[j % follow->n];
        for (int turn = 0; turn < STEPS && !status; turn++) {
            status = target->residuals(target->user, some, follow->x, follow->residual);
            if (!status)
                shoal_share(target->context, follow->n_threads, some, GRAIN, step, (void *)follow);
        }
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
