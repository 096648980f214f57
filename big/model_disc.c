/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * model_disc.c: Kuzmin's disc (1956; Toomre 1963, doi:10.1086/147653, model 1) of no thickness; G = M = a = 1, s^2 = 1
 * + R^2:
 *
 *   Sigma = 1 / (2 pi s^3),  M(R) = 1 - 1/s,  Omega^2 = 1/s^3,  kappa^2 = Omega^2 (R^2 + 4) / s^2
 *
 * Velocities: dispersions sigma_R = Q 3.36 Sigma / kappa (Toomre 1964, doi:10.1086/147861), sigma_phi = sigma_R kappa /
 * 2 Omega, about a mean rotation with the asymmetric drift of the Jeans equation
 *
 *   v_phi^2 = R^2 Omega^2 + sigma_R^2 [1 - kappa^2 / 4 Omega^2 + d ln(Sigma sigma_R^2) / d ln R]
 *
 * (Binney & Tremaine, Galactic Dynamics, equation 4.228), so near equilibrium.
 */
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sf_ellint.h>

#include "big/big.h"

void shoal_big_kuzmin(void *rng, double r_max, double toomre_q, double x[3], double v[3])
{
    double R;
    do {
        const double rest = gsl_rng_uniform_pos(rng); /* 1 - M(R) */
        R = sqrt(1 / (rest * rest) - 1);
    } while (!(R <= r_max));
    const double R2 = R * R, s2 = 1 + R2;
    const double omega = pow(s2, -0.75), ratio = (R2 + 4) / s2, kappa = omega * sqrt(ratio);
    const double sigma = toomre_q * 3.36 / (2 * M_PI * s2 * sqrt(s2)) / kappa;
    const double slope_density = -3 * R2 / s2, slope_kappa = -2.5 * R2 / s2 + R2 / (R2 + 4);
    const double square = R2 * omega * omega + sigma * sigma * (1 - ratio / 4 + 3 * slope_density - 2 * slope_kappa);
    const double v_R = gsl_ran_gaussian_ziggurat(rng, sigma);
    const double v_phi = sqrt(fmax(square, 0)) + gsl_ran_gaussian_ziggurat(rng, sigma * sqrt(ratio) / 2);
    double c, s;
    gsl_ran_dir_2d(rng, &c, &s);
    x[0] = R * c;
    x[1] = R * s;
    v[0] = v_R * c - v_phi * s;
    v[1] = v_R * s + v_phi * c;
}

static double radius_of(double mass)
{
    return sqrt(1 / ((1 - mass) * (1 - mass)) - 1);
}

/* Two rings of radii R and R' attract with the energy -(2 / pi) K(k) / (R + R'), k^2 = 4 R R' / (R + R')^2. With the
 * masses M = most u^2 and M' = M (1 - t^2) within them the integrand is smooth but for t^2 ln t. */
typedef struct ring {
    double M, R;
} ring;

static double energy_of_pair(double t, void *user)
{
    const ring *outer = user;
    const double R = radius_of(outer->M * (1 - t * t)), sum = outer->R + R, k = 2 * sqrt(outer->R * R) / sum;
    return 2 / M_PI * gsl_sf_ellint_Kcomp(fmin(k, 1 - 1e-15), GSL_PREC_DOUBLE) / sum * 2 * outer->M * t;
}

static double energy_of_ring(double u, void *user)
{
    const double most = *(const double *)user, M = most * u * u;
    ring outer = {M, radius_of(M)};
    return shoal_big_integral(energy_of_pair, &outer) * 2 * most * u;
}

void shoal_big_kuzmin_within(double r_max, double *mass, double *virial)
{
    *mass = 1 - 1 / sqrt(1 + r_max * r_max);
    *virial = *mass * *mass / (2 * shoal_big_integral(energy_of_ring, mass));
}
