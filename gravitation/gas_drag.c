/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gas_drag.c: what the world knows of gas_drag.kern.h.
 */
#include "gravitation/force.h"
#include "gravitation/gas_drag.kern.h"

static const shoal_parameter parameters[gas_drag_PARAMETERS] = {
    [GAS_BODY] = SHOAL_ON_PARAMETER,
    [GAS_SIZE] = {"size", SHOAL_REAL, "length", NAN, 1e-200, 1e200, NULL, "radius of the solid bodies"},
    [GAS_DENSITY] = {"density", SHOAL_REAL, "", NAN, 0, 1e200, NULL,
                     "density of the gas at r0 in the plane over that of the solid bodies"},
    [GAS_CD] = {"C_D", SHOAL_REAL, "", 0.5, 0, 1e200, NULL, "drag coefficient"},
    [GAS_R0] = {"r0", SHOAL_REAL, "length", 1, 1e-200, 1e200, NULL,
                "distance from body 0 that the disc's values are given for; default: 1 AU"},
    [GAS_ALPHA] = {"alpha", SHOAL_REAL, "", 2.75, -10, 10, NULL,
                   "density falls as R^-alpha, a multiple of 1/4; default: Hayashi's nebula"},
    [GAS_H0] = {"h0", SHOAL_REAL, "", 0.033, 1e-6, 1, NULL, "scale height over distance at r0"},
    [GAS_F] = {"flaring", SHOAL_REAL, "", 1.25, -10, 10, NULL, "scale height grows as R^flaring, a multiple of 1/4"},
};

static const char *refuses(const double *p, const shoal_ensemble *ensemble, long system)
{
    (void)ensemble;
    (void)system;
    if (4 * p[GAS_ALPHA] != floor(4 * p[GAS_ALPHA]) || 4 * p[GAS_F] != floor(4 * p[GAS_F]))
        return "alpha and flaring are multiples of 1/4";
    if ((p[GAS_ALPHA] + 3 - 2 * p[GAS_F]) * p[GAS_H0] * p[GAS_H0] >= 1)
        return "no gas turns about body 0 at r0: the pressure of so thick a disc (h0) outweighs gravitation";
    return NULL;
}

/* Test particles have none; what heats the gas is no potential. */
static double energy(const double *p, int n, const shoal_body *bodies)
{
    const int body = (int)p[GAS_BODY];
    return body == 0 || body >= n || bodies[body].m == 0 ? 0 : NAN;
}

/* The drag goes with u^2, so that it changes u at the rate 2 |a| / |u|. */
static double rate(const double *p, int n, const shoal_body *bodies, int *fastest)
{
    double most = 0;
    for (int i = 1; i < n; i++) {
        const shoal_body *b = &bodies[i], *centre = &bodies[0];
        const double x = b->x - centre->x, y = b->y - centre->y, z = b->z - centre->z, R = hypot(x, y);
        if (!(p[GAS_BODY] == 0 ? b->m == 0 : p[GAS_BODY] == i) || R == 0)
            continue;
        const double far = R / p[GAS_R0], aspect = p[GAS_H0] * pow(far, p[GAS_F] - 1), height = z / (aspect * R);
        const double gas = p[GAS_DENSITY] * pow(far, -p[GAS_ALPHA]) * exp(-0.5 * height * height);
        const double slower = fmax(0, 1 - (p[GAS_ALPHA] + 3 - 2 * p[GAS_F]) * aspect * aspect);
        const double turn = sqrt(centre->m * slower / R) / R;
        const double u = hypot(hypot(b->vx - centre->vx + turn * y, b->vy - centre->vy - turn * x), b->vz - centre->vz);
        const double own = 0.75 * p[GAS_CD] * gas / p[GAS_SIZE] * u;
        *fastest = own > most ? i : *fastest;
        most = fmax(most, own);
    }
    return most;
}

const shoal_force shoal_force_gas_drag = {
    .name = "gas_drag",
    .doc = "aerodynamic drag in a power-law gas disc about body 0, on one body or on all without mass; no reaction on "
           "body 0",
    .reference = "Adachi, Hayashi & Nakazawa 1976, Prog. Theor. Phys. 56, 1756",
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .depends_on_velocity = true,
    .refuses = refuses,
    .energy = energy,
    .rate = rate,
};
