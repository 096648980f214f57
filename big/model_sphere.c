/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * model_sphere.c: spheres whose mass, potential and phase space density are closed forms; G = M = a = 1.
 *
 *   Plummer (1911, doi:10.1093/mnras/71.5.460)       M(r) = r^3 (1 + r^2)^(-3/2), psi = (1 + r^2)^(-1/2), W = -3 pi /
 *       32,
 *       f ~ E^(7/2)
 *   Hernquist (1990, doi:10.1086/168845)             M(r) = r^2 / (1 + r)^2, psi = 1 / (1 + r), W = -1/6,
 *       f ~ (1 - q^2)^(-5/2) [3 asin q + q sqrt(1 - q^2) (1 - 2 q^2) (8 q^4 - 8 q^2 - 3)], q = sqrt(E): his equation 17
 */
#include <stdlib.h>

#include "big/big.h"

static double plummer_radius(const void *own, double fraction)
{
    (void)own;
    return 1 / sqrt(pow(fraction, -2.0 / 3) - 1);
}

static double plummer_potential(const void *own, double r)
{
    (void)own;
    return 1 / sqrt(1 + r * r);
}

static double plummer_distribution(const void *own, double energy)
{
    (void)own;
    return energy * energy * energy * sqrt(energy);
}

shoal_status shoal_big_sphere_plummer(shoal_big_sphere *sphere)
{
    *sphere = (shoal_big_sphere){.mass = 1,
                                 .virial = 16 / (3 * M_PI),
                                 .radius = plummer_radius,
                                 .potential = plummer_potential,
                                 .distribution = plummer_distribution};
    return SHOAL_OK;
}

static double hernquist_radius(const void *own, double fraction)
{
    (void)own;
    return sqrt(fraction) / (1 - sqrt(fraction));
}

static double hernquist_potential(const void *own, double r)
{
    (void)own;
    return 1 / (1 + r);
}

/* The bracket loses all digits for small q, where it is 128/5 q^5 - ...: the two first terms of its series. */
static double hernquist_distribution(const void *own, double energy)
{
    (void)own;
    const double q2 = energy, q = sqrt(q2), rest = 1 - q2;
    if (!(rest > 0))
        return INFINITY;
    const double bracket = q < 0.02 ? 128.0 / 5 * q2 * q2 * q * (1 - 15.0 / 14 * q2)
                                    : 3 * asin(q) + q * sqrt(rest) * (1 - 2 * q2) * (8 * q2 * q2 - 8 * q2 - 3);
    return bracket / (rest * rest * sqrt(rest));
}

shoal_status shoal_big_sphere_hernquist(shoal_big_sphere *sphere)
{
    *sphere = (shoal_big_sphere){.mass = 1,
                                 .virial = 3,
                                 .radius = hernquist_radius,
                                 .potential = hernquist_potential,
                                 .distribution = hernquist_distribution};
    return SHOAL_OK;
}

void shoal_big_sphere_release(shoal_big_sphere *sphere)
{
    free(sphere->own);
    *sphere = (shoal_big_sphere){0};
}
