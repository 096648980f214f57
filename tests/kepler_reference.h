/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kepler_reference.h: a Kepler orbit in long double, for tests.
 */
#ifndef SHOAL_KEPLER_REFERENCE_H
#define SHOAL_KEPLER_REFERENCE_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Stumpff's c_2 and c_3 in closed form, by their series where that would cancel. */
static inline void stumpff(long double z, long double *c2, long double *c3)
{
    if (fabsl(z) < 0.5L) {
        long double term = 1.0L;
        *c2 = *c3 = 0.0L;
        for (int j = 0; j < 14; j++) {
            *c2 += term / 2.0L;
            *c3 += term / (2.0L * (2 * j + 3));
            term *= -z / ((2 * j + 3) * (2 * j + 4));
        }
    } else {
        const long double q = sqrtl(fabsl(z)), s = z > 0 ? sinl(0.5L * q) : sinhl(0.5L * q);
        *c2 = 2.0L * s * s / fabsl(z);
        *c3 = (z > 0 ? q - sinl(q) : sinhl(q) - q) / (fabsl(z) * q);
    }
}

/* The Kepler orbit in universal variables (Stiefel & Scheifele 1971), by bisection in long double: slow, and right up
 * to 2^-64 times the condition number of the map. state, out = x y z vx vy vz. */
static inline void kepler_reference(long double mu, long double t, const long double *state, long double *out)
{
    const long double *x = state, *v = state + 3;
    const long double r0 = sqrtl(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    const long double eta = x[0] * v[0] + x[1] * v[1] + x[2] * v[2];
    const long double beta = 2.0L * mu / r0 - (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), zeta = mu - beta * r0;
    const long double h = fabsl(t), sign = t < 0 ? -1.0L : 1.0L, eta_h = sign * eta;
    long double low = 0.0L, high = h / r0, X = 0.0L, c2, c3;
    if (t == 0) {
        memcpy(out, state, 6 * sizeof *out);
        return;
    }
    for (bool bracketed = false;;) {
        X = bracketed ? 0.5L * (low + high) : high;
        if (bracketed && (X <= low || X >= high))
            break;
        stumpff(beta * X * X, &c2, &c3);
        const long double F = r0 * X + X * X * (eta_h * c2 + zeta * X * c3) - h;
        if (F <= 0)
            low = X;
        else
            high = X; /* not a number where sinh overflows: beyond the root */
        if (!bracketed && F <= 0)
            high *= 2.0L;
        else
            bracketed = true;
    }
    X *= sign;
    stumpff(beta * X * X, &c2, &c3);
    const long double g2 = X * X * c2, g3 = X * X * X * c3, g1 = X - beta * g3;
    const long double r = r0 + eta * g1 + zeta * g2;
    for (int c = 0; c < 3; c++) {
        out[c] = x[c] - mu * g2 / r0 * x[c] + (t - mu * g3) * v[c];
        out[3 + c] = v[c] - mu * g1 / (r0 * r) * x[c] - mu * g2 / r * v[c];
    }
}

#endif
