/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * megno.c: what the world knows of megno.kern.h.
 */
#include <math.h>

#include "core/ensemble/ensemble.h"
#include "monitors/megno.kern.h"

static const shoal_parameter parameters[megno_PARAMETERS] = {
    [MEGNO_STOP_ABOVE] = {"stop_above", SHOAL_REAL, "", 1e300, 1e-300, 1e300, NULL,
                          "a system whose megno passes this ends as `chaotic`; by default none does"},
};

static const double initial[megno_SLOTS] = {0};

static double megno(const double *slots, const double *p)
{
    (void)p;
    return slots[MEGNO_T] > 0 ? slots[MEGNO_SUM_Y] / slots[MEGNO_T] : NAN;
}

static double lyapunov(const double *slots, const double *p)
{
    (void)p;
    return slots[MEGNO_T] > 0 ? slots[MEGNO_LOG_D] / slots[MEGNO_T] : NAN;
}

static const shoal_monitor_column columns[] = {
    {"megno", "",
     "mean exponential growth factor of nearby orbits <Y>: 2 for regular motion, lyapunov t / 2 for chaotic", megno,
     SHOAL_OF_SYSTEM},
    {"lyapunov", "frequency", "largest Lyapunov exponent up to the end of the run, ln(d / d_0) / t", lyapunov,
     SHOAL_OF_SYSTEM},
};

const shoal_monitor shoal_monitor_megno = {
    .name = "megno",
    .doc =
        "chaos indicators from a tangent vector that is moved with the system: MEGNO and the largest Lyapunov exponent",
    .reference = "Cincotta & Simo 2000, A&AS 147, 205; Mikkola & Innanen 1999, Celest. Mech. Dyn. Astron. 74, 59",
    .ends_only = true,
    .n_slots = SHOAL_COUNT(initial),
    .initial = initial,
    .tangent = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
};
