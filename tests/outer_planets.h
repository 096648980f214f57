/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * outer_planets.h: the Sun (with the inner planets' mass), Jupiter, Saturn, Uranus, Neptune and Pluto at JD 2430000.5,
 * relative to the barycentre and the invariable plane: AU, days, solar masses, k the Gaussian constant. Plain C, for
 * other codes' programs too.
 *
 * Source: Applegate, Douglas, Gursel, Sussman & Wisdom 1986, AJ 92, 176, after Cohen, Hubbard & Oesterwinter 1973; the
 * digits as in REBOUND's example outer_solar_system.
 */
#ifndef OUTER_PLANETS_H
#define OUTER_PLANETS_H

#include <math.h>

#define OUTER_JUPITER_YEAR 74.53 /* inner units, G = 1 */

/* m x y z vx vy vz */
static const double outer_planets[6][7] = {
    {1.00000597682, -4.06428567034226e-3, -6.08813756435987e-3, -1.66162304225834e-6, +6.69048890636161e-6,
     -6.33922479583593e-6, -3.13202145590767e-9},
    {1 / 1047.355, +3.40546614227466e+0, +3.62978190075864e+0, +3.42386261766577e-2, -5.59797969310664e-3,
     +5.51815399480116e-3, -2.66711392865591e-6},
    {1 / 3501.6, +6.60801554403466e+0, +6.38084674585064e+0, -1.36145963724542e-1, -4.17354020307064e-3,
     +3.99723751748116e-3, +1.67206320571441e-5},
    {1 / 22869., +1.11636331405597e+1, +1.60373479057256e+1, +3.61783279369958e-1, -3.25884806151064e-3,
     +2.06438412905916e-3, -2.17699042180559e-5},
    {1 / 19314., -3.01777243405203e+1, +1.91155314998064e+0, -1.53887595621042e-1, -2.17471785045538e-4,
     -3.11361111025884e-3, +3.58344705491441e-5},
    {0, -2.13858977531573e+1, +3.20719104739886e+1, +2.49245689556096e+0, -1.76936577252484e-3, -2.06720938381724e-3,
     +6.58091931493844e-4},
};

/* The first n bodies in units with G = 1; for system > 0 with each orbit turned about the pole by another angle. */
static inline void outer_planets_system(long system, int n, double body[][7])
{
    for (int i = 0; i < n; i++) {
        const double *from = outer_planets[i], *sun = outer_planets[0];
        const double angle = i ? fmod(0.61803398874989485 * i * i * system, 1) * 2 * 3.14159265358979324 : 0;
        body[i][0] = from[0];
        for (int half = 1; half <= 4; half += 3) { /* position, then velocity */
            const double x = from[half] - sun[half], y = from[half + 1] - sun[half + 1];
            const double unit = half == 1 ? 1 : 1 / 0.01720209895;
            body[i][half] = unit * (sun[half] + cos(angle) * x - sin(angle) * y);
            body[i][half + 1] = unit * (sun[half + 1] + sin(angle) * x + cos(angle) * y);
            body[i][half + 2] = unit * from[half + 2];
        }
    }
}

#endif
