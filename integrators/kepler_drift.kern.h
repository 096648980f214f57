/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kepler_drift.kern.h: all planets on their Kepler orbits for a time h, and their tangent vectors with them.
 */
#ifndef SHOAL_KEPLER_DRIFT_H
#define SHOAL_KEPLER_DRIFT_H

#include "integrators/kepler.kern.h"
#include "integrators/kepler_tangent.kern.h"

#ifndef KEPLER_UNROLL /* for the loop over planets */
#define KEPLER_UNROLL LANE_UNROLL
#endif

/* Slot q of body i changes by d. */
LANE_FN void kepler_add(int compensated, int n, int i, int q, int errors, real d, real *s)
{
    lane_add(compensated, &s[q * n + i], &s[(errors + q) * n + i], d);
}

/* mu: the mass about which each planet moves. s: slots 0 .. XYZ-1 are positions, velocities follow; from slot `errors`
 * on their rounding errors. */
LANE_FN void kepler_drift(const shoal_kernel_args *k, int n, int compensated, const real *mu, real *s, int errors,
                          real h)
{
    const int bodies = real_bodies(k, n);
    KEPLER_UNROLL
    for (int first = 1; first < bodies; first += KEPLER_TOGETHER) {
        const int left = bodies - first, n_now = left == 1 || KEPLER_TOGETHER == 1 ? 1 : KEPLER_TOGETHER;
        real at[KEPLER_TOGETHER][6], d[KEPLER_TOGETHER][6], tangent[6], change[6];
        kepler_solution solved[KEPLER_TOGETHER];
        LANE_UNROLL_FULLY
        for (int j = 0; j < n_now; j++) {
            team_vector(n, first + j, s, at[j]);
            team_vector(n, first + j, s + XYZ * n, at[j] + 3);
        }
        kepler_changes(n_now, mu + first, h, at, d, VARIATIONAL(k) ? solved : 0);
        LANE_UNROLL_FULLY
        for (int j = 0; j < n_now; j++) {
            const int i = first + j, beside = bodies + i;
            if (VARIATIONAL(k)) {
                team_vector(n, beside, s, tangent);
                team_vector(n, beside, s + XYZ * n, tangent + 3);
                kepler_tangent(&solved[j], 1, at[j], d[j], tangent, change);
            }
            LANE_UNROLL_XYZ
            for (int c = 0; c < XYZ; c++) {
                kepler_add(compensated, n, i, c, errors, team_component(d[j], c), s);
                kepler_add(compensated, n, i, XYZ + c, errors, team_component(d[j] + 3, c), s);
                if (VARIATIONAL(k)) {
                    kepler_add(compensated, n, beside, c, errors, team_component(change, c), s);
                    kepler_add(compensated, n, beside, XYZ + c, errors, team_component(change + 3, c), s);
                }
            }
        }
    }
}

#endif
