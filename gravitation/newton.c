/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * newton.c: what the world knows of newton.kern.h.
 */
#include "core/ensemble/ensemble.h"

const shoal_force shoal_newton = {
    .name = "newton",
    .doc = "point masses, G m / r^2, always there: each pair once (form = pairs) or a row of those with mass for each "
           "(rows), the same bits",
    .reference = "Makino & Aarseth 1992, PASJ 44, 141 (with jerk)",
};
