/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * polish.c: from a good vector to the top of the posterior near by, and its widths, by the damped Newton steps of
 * Levenberg (1944) and Marquardt (1963, doi:10.1137/0111030):
 *
 *     (A + damping 1) step = gradient,    A = minus the matrix of second derivatives of ln prior + ln L
 *
 * in units of each parameter's conditional standard deviation, in which A has ones on its diagonal. Derivatives are
 * central differences over such units, far above rounding. Errors that are parameters, correlated ones and priors make
 * the posterior no sum of squares, so this is not gsl_multifit_nlinear: GSL gives the eigenvectors of A, from which all
 * dampings follow. All vectors of a stage are evaluated in one call.
 */
#include <gsl/gsl_eigen.h>
#include <math.h>
#include <stdlib.h>

#include "core/fit/fit.h"

enum { MOST_STEPS = 40, MOST_SCALINGS = 25, DAMPINGS = 12 };
#define FLATTEST 1e-4 /* least eigenvalue of A that is taken for true */
#define ENOUGH   1e-7 /* ln posterior */

typedef struct polisher {
    const shoal_target *target;
    shoal_fit_callback *callback; /* asked before each step; NULL: nobody */
    void *user;
    const shoal_draws *draws;
    shoal_optimum *at;
    int k;
    long room;                           /* of vectors */
    double *theta, *lnp, *lnl;           /* [room][k], [room] */
    double *scale, *widest;              /* [k] widest: of the prior */
    double *gradient, *projected;        /* [k] */
    gsl_matrix *minus_hessian, *vectors; /* [k][k] */
    gsl_vector *values;
    gsl_eigen_symmv_workspace *space;
} polisher;

shoal_status shoal_target_evaluate(const shoal_target *target, long n, const double *theta, double *lnp, double *lnl)
{
    const shoal_status status = target->evaluate(target->user, n, theta, lnp, lnl);
    for (long i = 0; i < n && !status; i++) {
        lnp[i] = isnan(lnp[i]) ? -INFINITY : lnp[i];
        lnl[i] = isnan(lnl[i]) || lnp[i] == -INFINITY ? -INFINITY : lnl[i];
    }
    return status;
}

shoal_status shoal_target_climb(const shoal_target *target, long n, const double *theta, double *lnp, double *lnl)
{
    const shoal_status status = shoal_target_evaluate(target, n, theta, lnp, lnl);
    for (long i = 0; i < n && target->rise && !status; i++)
        if (lnp[i] > -INFINITY)
            lnp[i] -= target->rise(target->user, theta + i * target->n_parameters);
    return status;
}

shoal_status shoal_target_widths(const shoal_target *target, double *median, double *width)
{
    return shoal_prior_widths(target->context, target->n_parameters, target->from_cube, target->user, median, width);
}

shoal_status shoal_optimum_create(const shoal_target *target, shoal_optimum *optimum)
{
    const size_t k = (size_t)target->n_parameters;
    *optimum = (shoal_optimum){
        .theta = shoal_allocate(k * (k + 2), sizeof(double)), .lnp = -INFINITY, .lnl = -INFINITY};
    if (!optimum->theta)
        return shoal_fail(target->context, SHOAL_E_MEMORY, "out of memory");
    optimum->scale = optimum->theta + k;
    optimum->root = optimum->scale + k;
    return SHOAL_OK;
}

void shoal_optimum_release(shoal_optimum *optimum)
{
    free(optimum->theta);
    *optimum = (shoal_optimum){0};
}

/* ln posterior of the first n vectors, to lnp. */
static shoal_status evaluate(polisher *p, long n)
{
    const shoal_status status = shoal_target_climb(p->target, n, p->theta, p->lnp, p->lnl);
    p->at->evaluations += n;
    return status;
}

/* Vector v is the optimum with two parameters changed by so many scales. */
static void displace(polisher *p, long v, int i, double by_i, int j, double by_j)
{
    double *theta = p->theta + v * p->k;
    memcpy(theta, p->at->theta, (size_t)p->k * sizeof *theta);
    theta[i] += by_i * p->scale[i];
    theta[j] += by_j * p->scale[j];
}

/* Scales at which the posterior falls by about exp(-1/2) on average of the two sides, or of the side that there is. */
static shoal_status find_scales(polisher *p)
{
    const double top = p->at->lnp + p->at->lnl;
    bool good = false;
    for (int turn = 0; turn < MOST_SCALINGS && !good; turn++) {
        for (int i = 0; i < p->k; i++) {
            displace(p, 2 * i, i, 1, 0, 0);
            displace(p, 2 * i + 1, i, -1, 0, 0);
        }
        const shoal_status status = evaluate(p, 2 * p->k);
        if (status)
            return status;
        good = true;
        for (int i = 0; i < p->k; i++) {
            const double up = p->lnp[2 * i] + p->lnl[2 * i], down = p->lnp[2 * i + 1] + p->lnl[2 * i + 1];
            const double fall = top - (isfinite(up) && isfinite(down) ? (up + down) / 2 : fmax(up, down));
            good = shoal_scale_next(fall, p->widest[i], &p->scale[i]) && good;
        }
    }
    return SHOAL_OK;
}

/* Gradient and second derivatives in scales. Where a neighbour is impossible they are those of no slope and a fall by
 * 1/2. */
static shoal_status find_derivatives(polisher *p)
{
    const double top = p->at->lnp + p->at->lnl;
    long n = 0;
    for (int i = 0; i < p->k; i++) {
        displace(p, n++, i, 1, 0, 0);
        displace(p, n++, i, -1, 0, 0);
        displace(p, n++, i, 0.1, 0, 0);
        displace(p, n++, i, -0.1, 0, 0);
        for (int j = 0; j < i; j++)
            for (int side = 0; side < 4; side++)
                displace(p, n++, i, side & 1 ? -1 : 1, j, side & 2 ? -1 : 1);
    }
    const shoal_status status = evaluate(p, n);
    if (status)
        return status;
    for (long v = 0; v < n; v++)
        p->lnp[v] += p->lnl[v];
    const double *f = p->lnp;
    for (int i = 0; i < p->k; i++) {
        const double second = 2 * top - f[0] - f[1], slope = (f[2] - f[3]) / 0.2;
        gsl_matrix_set(p->minus_hessian, (size_t)i, (size_t)i, isfinite(second) ? second : 1);
        p->gradient[i] = isfinite(slope) ? slope : 0;
        f += 4;
        for (int j = 0; j < i; j++, f += 4) {
            const double mixed = -(f[0] - f[1] - f[2] + f[3]) / 4, value = isfinite(mixed) ? mixed : 0;
            gsl_matrix_set(p->minus_hessian, (size_t)i, (size_t)j, value);
            gsl_matrix_set(p->minus_hessian, (size_t)j, (size_t)i, value);
        }
    }
    return SHOAL_OK;
}

/* Steps with all dampings; the best is taken. *gain: of ln posterior. */
static shoal_status step(polisher *p, double *gain)
{
    const double top = p->at->lnp + p->at->lnl;
    for (int e = 0; e < p->k; e++) {
        p->projected[e] = 0;
        for (int i = 0; i < p->k; i++)
            p->projected[e] += gsl_matrix_get(p->vectors, (size_t)i, (size_t)e) * p->gradient[i];
    }
    for (int d = 0; d < DAMPINGS; d++) {
        const double damping = d ? pow(10, d - 5) : 0;
        double *theta = p->theta + (long)d * p->k;
        for (int i = 0; i < p->k; i++) {
            double along = 0;
            for (int e = 0; e < p->k; e++)
                along += gsl_matrix_get(p->vectors, (size_t)i, (size_t)e) * p->projected[e] /
                         (fmax(fabs(gsl_vector_get(p->values, (size_t)e)), FLATTEST) + damping);
            theta[i] = p->at->theta[i] + along * p->scale[i];
        }
    }
    const shoal_status status = evaluate(p, DAMPINGS);
    int best = 0;
    for (int d = 1; d < DAMPINGS && !status; d++)
        best = p->lnp[d] + p->lnl[d] > p->lnp[best] + p->lnl[best] ? d : best;
    *gain = status ? 0 : p->lnp[best] + p->lnl[best] - top;
    if (*gain > 0) {
        memcpy(p->at->theta, p->theta + (long)best * p->k, (size_t)p->k * sizeof *p->theta);
        p->at->lnp = p->lnp[best];
        p->at->lnl = p->lnl[best];
    }
    return status;
}

static shoal_status climb(polisher *p)
{
    double gain = INFINITY;
    for (int turn = 0; turn < MOST_STEPS && gain > ENOUGH; turn++) {
        if (p->callback && p->callback(p->draws, p->user))
            return shoal_fail(p->target->context, SHOAL_E_INTERRUPTED, "interrupted");
        shoal_status status = find_scales(p);
        if (!status)
            status = find_derivatives(p);
        if (status)
            return status;
        gsl_eigen_symmv(p->minus_hessian, p->values, p->vectors, p->space);
        if ((status = step(p, &gain)))
            return status;
    }
    for (int i = 0; i < p->k; i++) {
        p->at->scale[i] = p->scale[i];
        for (int e = 0; e < p->k; e++)
            p->at->root[i * p->k + e] = p->scale[i] * gsl_matrix_get(p->vectors, (size_t)i, (size_t)e) /
                                        sqrt(fmax(fabs(gsl_vector_get(p->values, (size_t)e)), FLATTEST));
    }
    return SHOAL_OK;
}

/* First scales: a tenth of the priors'. */
static shoal_status begin(polisher *p)
{
    const int k = p->k;
    shoal_status status = shoal_target_widths(p->target, p->theta, p->widest);
    for (int i = 0; i < k && !status; i++)
        p->scale[i] = 0.1 * p->widest[i];
    memcpy(p->theta, p->at->theta, (size_t)k * sizeof *p->theta);
    if (!status)
        status = evaluate(p, 1);
    p->at->lnp = p->lnp[0];
    p->at->lnl = p->lnl[0];
    return status || isfinite(p->lnp[0] + p->lnl[0])
               ? status
               : shoal_fail(p->target->context, SHOAL_E_INPUT, "the optimum is impossible: its ln L is -infinity");
}

shoal_status shoal_polish(const shoal_target *target, shoal_fit_callback *callback, void *user,
                          const shoal_draws *draws, shoal_optimum *optimum)
{
    const int k = target->n_parameters;
    const size_t n = (size_t)k;
    polisher p = {.target = target,
                  .callback = callback,
                  .user = user,
                  .draws = draws,
                  .at = optimum,
                  .k = k,
                  .room = 2L * k * (k + 1) + DAMPINGS};
    p.theta = shoal_allocate((size_t)p.room * (n + 2) + 4 * n, sizeof(double));
    p.minus_hessian = gsl_matrix_alloc(n, n);
    p.vectors = gsl_matrix_alloc(n, n);
    p.values = gsl_vector_alloc(n);
    p.space = gsl_eigen_symmv_alloc(n);
    shoal_status status = SHOAL_OK;
    if (!p.theta || !p.minus_hessian || !p.vectors || !p.values || !p.space)
        status = shoal_fail(target->context, SHOAL_E_MEMORY, "out of memory");
    if (!status) {
        p.lnp = p.theta + (size_t)p.room * n;
        p.lnl = p.lnp + p.room;
        p.scale = p.lnl + p.room;
        p.widest = p.scale + n;
        p.gradient = p.widest + n;
        p.projected = p.gradient + n;
        status = begin(&p);
    }
    if (!status)
        status = climb(&p);
    gsl_eigen_symmv_free(p.space);
    gsl_vector_free(p.values);
    gsl_matrix_free(p.vectors);
    gsl_matrix_free(p.minus_hessian);
    free(p.theta);
    return status;
}
