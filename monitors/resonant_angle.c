/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * resonant_angle.c: what the world knows of resonant_angle.kern.h.
 */
#include <math.h>

#include "core/ensemble/ensemble.h"
#include "monitors/resonant_angle.kern.h"

static const shoal_parameter parameters[resonant_angle_PARAMETERS] = {
    [RESONANT_BODY] = {"body_1", SHOAL_BODY, "", 1, -1, 1e6, NULL, "the first body"},
    [RESONANT_BODY + 1] = {"body_2", SHOAL_BODY, "", -1, -1, 1e6, NULL, "the second body (default: the last)"},
    [RESONANT_BODY + 2] = {"body_3", SHOAL_BODY, "", -1, -1, 1e6, NULL, "the third body, of an angle of three"},
    [RESONANT_P] = {"p_1", SHOAL_INTEGER, "", NAN, -1000, 1000, NULL, "coefficient of the first body's mean longitude"},
    [RESONANT_P + 1] = {"p_2", SHOAL_INTEGER, "", NAN, -1000, 1000, NULL, "coefficient of the second body's"},
    [RESONANT_P + 2] = {"p_3", SHOAL_INTEGER, "", 0, -1000, 1000, NULL, "coefficient of the third body's"},
    [RESONANT_Q] = {"q_1", SHOAL_INTEGER, "", 0, -1000, 1000, NULL,
                    "coefficient of the first body's longitude of pericentre"},
    [RESONANT_Q + 1] = {"q_2", SHOAL_INTEGER, "", 0, -1000, 1000, NULL, "coefficient of the second body's"},
    [RESONANT_Q + 2] = {"q_3", SHOAL_INTEGER, "", 0, -1000, 1000, NULL, "coefficient of the third body's"},
    [RESONANT_ELEMENTS] = {"elements", SHOAL_CHOICE, "", 0, 0, 1, "jacobi|astrocentric", "what the orbits refer to"},
    [RESONANT_EVERY] = {"every", SHOAL_INTEGER, "", 1, 1, 1e9, NULL,
                        "look at every so-many-th step, more than twice in a period of the angle"},
};

/* D'Alembert's rule: turned as a whole, the orbits have the same angle. */
static const char *refuses(const double *p, const shoal_ensemble *ensemble)
{
    (void)ensemble;
    double sum = 0;
    for (int i = RESONANT_P; i < RESONANT_Q + 3; i++)
        sum += p[i];
    for (int k = 0; k < 3; k++) {
        const bool counts = p[RESONANT_P + k] != 0 || p[RESONANT_Q + k] != 0;
        if (counts && p[RESONANT_BODY + k] == 0)
            return "body 0 is what the others move about: it has no orbit";
        for (int j = 0; j < k && counts; j++)
            if (p[RESONANT_BODY + j] == p[RESONANT_BODY + k] && (p[RESONANT_P + j] != 0 || p[RESONANT_Q + j] != 0))
                return "a body has one term: these name one twice";
    }
    return sum != 0 ? "the coefficients of a resonant angle sum up to 0 (d'Alembert's rule)" : NULL;
}

static const double initial[resonant_angle_SLOTS] = {[RESONANT_PHI] = NAN,
                                                     [RESONANT_LEAST] = INFINITY,
                                                     [RESONANT_LARGEST] = -INFINITY,
                                                     [RESONANT_FROM] = NAN,
                                                     [RESONANT_TO] = NAN};

/* One look tells nothing; of bodies one of which is gone, LARGEST is below LEAST. */
static double amplitude(const double *s, const double *p)
{
    (void)p;
    return s[RESONANT_FROM] != s[RESONANT_TO] && s[RESONANT_LEAST] <= s[RESONANT_LARGEST]
               ? 0.5 * (s[RESONANT_LARGEST] - s[RESONANT_LEAST])
               : NAN;
}

/* The mean of an angle that librates, within 0..2 pi. */
static double mean(const double *s, const double *p)
{
    const double turn = 2 * M_PI, phi = s[RESONANT_INTEGRAL] / (s[RESONANT_TO] - s[RESONANT_FROM]);
    return amplitude(s, p) < M_PI ? phi - turn * floor(phi / turn) : NAN;
}

static double least(const double *s, const double *p)
{
    const double turn = 2 * M_PI, phi = s[RESONANT_INTEGRAL] / (s[RESONANT_TO] - s[RESONANT_FROM]);
    return isnan(mean(s, p)) ? NAN : s[RESONANT_LEAST] - turn * floor(phi / turn);
}

static double largest(const double *s, const double *p)
{
    return least(s, p) + 2 * amplitude(s, p);
}

static const shoal_monitor_column columns[] = {
    {"angle_amplitude", "angle",
     "half of the range that the angle went through; below pi (180 deg) it librates; empty once "
     "a body of it is gone",
     amplitude, SHOAL_OF_SYSTEM},
    {"angle_mean", "angle", "of an angle that librates: mean over time, 0 to 2 pi", mean, SHOAL_OF_SYSTEM},
    {"angle_min", "angle", "of an angle that librates: the least, about that mean", least, SHOAL_OF_SYSTEM},
    {"angle_max", "angle", "of an angle that librates: the largest", largest, SHOAL_OF_SYSTEM},
};

const shoal_monitor shoal_monitor_resonant_angle = {
    .name = "resonant_angle",
    .doc = "libration of a resonant angle p_1 lambda_1 + p_2 lambda_2 + p_3 lambda_3 + q_1 varpi_1 + q_2 varpi_2 + q_3 "
           "varpi_3",
    .reference = "Murray & Dermott 1999, Solar System Dynamics, chapter 8",
    .ends_only = true,
    .n_slots = SHOAL_COUNT(initial),
    .initial = initial,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
    .refuses = refuses,
};
