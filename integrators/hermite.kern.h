/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hermite.kern.h: the parameters and slots of the Hermite schemes.
 */
#ifndef SHOAL_HERMITE_KERN_H
#define SHOAL_HERMITE_KERN_H

enum {
    HERMITE_COMPENSATED,
    HERMITE_ITERATIONS,
    HERMITE_PARAMETERS,
    HERMITE_CRITERION = HERMITE_PARAMETERS, /* from here on of those that choose their steps */
    HERMITE_TAU,
    HERMITE_ETA,
    HERMITE_STEPS_PARAMETERS
};
enum { HERMITE_SWARM, HERMITE_AARSETH, HERMITE_SYMMETRIC }; /* criterion */

enum { HERMITE_X, HERMITE_V = XYZ, HERMITE_A = 2 * XYZ, HERMITE_J = 3 * XYZ };
enum { HERMITE4_EX = 4 * XYZ, HERMITE4_EV = 5 * XYZ, HERMITE4_SLOTS = 6 * XYZ };
enum {
    HERMITE6_S = 4 * XYZ,
    HERMITE6_C = 5 * XYZ,
    HERMITE6_EX = 6 * XYZ,
    HERMITE6_EV = 7 * XYZ,
    HERMITE6_SLOTS = 8 * XYZ
};
/* own slots of those that choose their steps: the step proposed last, or minus a bound of the first one; time on the
 * grid of symmetric steps */
enum { HERMITE_NEXT, HERMITE_TIME, HERMITE_OWN };

#endif
