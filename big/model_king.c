/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * model_king.c: King's sphere (1966, doi:10.1086/109857): f ~ exp(E / sigma^2) - 1, in units G = sigma = r_0 = 1, where
 * r_0^2 = 9 sigma^2 / (4 pi G rho_0). With W the relative potential and x the radius
 *
 *   d/dx (x^2 dW/dx) = -9 x^2 rho(W) / rho(W0),    rho(W) ~ exp(W) erf(sqrt W) - sqrt(4 W / pi) (1 + 2 W / 3)
 *
 * (Binney & Tremaine, Galactic Dynamics, equation 4.112). The mass within x is -x^2 dW/dx. W is taken for the
 * independent variable: it falls from W0 to 0, at the edge. The first step is the series W = W0 - 3/2 x^2 + ...
 */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_odeiv2.h>
#include <stdlib.h>

#include "big/big.h"

enum { POINTS = 2000 };

typedef struct king {
    double edge_mass;                                      /* total */
    double x[POINTS + 1], mass[POINTS + 1], W[POINTS + 1]; /* outwards */
} king;

static double density(double W)
{
    if (W < 0.01) /* the closed form loses its digits: 8/15 sqrt(W^5 / pi) (1 + 2/7 W + ...) */
        return W > 0 ? 8.0 / 15 * W * W * sqrt(W / M_PI) * (1 + 2.0 / 7 * W) : 0;
    return exp(W) * erf(sqrt(W)) - sqrt(4 * W / M_PI) * (1 + 2 * W / 3);
}

/* y = x, x^2 dW/dx (minus the mass), potential energy. */
static int right_hand_side(double W, const double y[], double d[], void *user)
{
    const double rho = density(W) / *(const double *)user;
    d[0] = y[0] * y[0] / y[1];
    d[1] = -9 * rho * y[0] * y[0] * d[0];
    d[2] = -y[1] * d[1] / y[0];
    return GSL_SUCCESS;
}

/* Where value lies in a rising table: the interval and the part of it. */
static double place(const double *table, double value, int *i)
{
    int low = 0, high = POINTS;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        *(table[middle] <= value ? &low : &high) = middle;
    }
    *i = low;
    return fmin(fmax((value - table[low]) / (table[high] - table[low]), 0), 1);
}

/* In the first interval the density is constant; beyond, mass is linear in x^3 within one. */
static double king_radius(const void *own, double fraction)
{
    const king *k = own;
    int i;
    const double part = place(k->mass, fraction * k->edge_mass, &i);
    const double a = k->x[i] * k->x[i] * k->x[i], b = k->x[i + 1] * k->x[i + 1] * k->x[i + 1];
    return cbrt(a + part * (b - a));
}

static double king_potential(const void *own, double r)
{
    const king *k = own;
    int i;
    const double part = place(k->x, r, &i);
    return k->W[i] + part * (k->W[i + 1] - k->W[i]);
}

static double king_distribution(const void *own, double energy)
{
    (void)own;
    return expm1(energy);
}

shoal_status shoal_big_sphere_king(shoal_context *context, double W0, shoal_big_sphere *sphere)
{
    *sphere = (shoal_big_sphere){.radius = king_radius, .potential = king_potential, .distribution = king_distribution};
    king *k = calloc(1, sizeof *k);
    double rho0 = density(W0);
    const double first = W0 / POINTS / 100;
    double W = W0 - first, y[3];
    gsl_odeiv2_system system = {right_hand_side, NULL, 3, &rho0};
    gsl_odeiv2_driver *driver = k ? gsl_odeiv2_driver_alloc_y_new(&system, gsl_odeiv2_step_rk8pd, -first, 1e-12, 1e-12)
                                  : NULL;
    if (!driver) {
        free(k);
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    }
    y[0] = sqrt(2 * first / 3);
    y[1] = -3 * y[0] * y[0] * y[0];
    y[2] = -0.6 * y[1] * y[1] / y[0]; /* of a sphere of uniform density */
    k->W[0] = W0;
    int error = GSL_SUCCESS;
    for (int i = 1; i <= POINTS && error == GSL_SUCCESS; i++) {
        error = gsl_odeiv2_driver_apply(driver, &W, W0 * (POINTS - i) / POINTS, y);
        k->W[i] = W;
        k->x[i] = y[0];
        k->mass[i] = -y[1];
    }
    gsl_odeiv2_driver_free(driver);
    if (error != GSL_SUCCESS || !(y[0] > 0 && y[1] < 0)) {
        free(k);
        return shoal_fail(context, SHOAL_E_INPUT, "model.W0 = %g: King's equation could not be solved: %s", W0,
                          gsl_strerror(error));
    }
    sphere->own = k;
    sphere->mass = k->edge_mass = k->mass[POINTS];
    sphere->virial = sphere->mass * sphere->mass / (-2 * y[2]);
    return SHOAL_OK;
}
