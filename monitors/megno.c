/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * megno.c: what the world knows of megno.kern.h.
 */
#include <math.h>
#include <stdint.h>

#include "core/ensemble/ensemble.h"
#include "monitors/megno.kern.h"

static const shoal_parameter parameters[megno_PARAMETERS] = {
    [MEGNO_STOP_ABOVE] = {"stop_above", SHOAL_REAL, "", 1e300, 1e-300, 1e300, NULL,
                          "a system whose megno passes this ends as `chaotic`; by default none does"},
    [MEGNO_SEED] = {"seed", SHOAL_INTEGER, "", 1, 0, 2147483645, NULL,
                    "the tangent vector begins in a random direction, of the seed and the system's id alone"},
    [MEGNO_VECTORS] =
        {"vectors", SHOAL_INTEGER, "", 1, 1, 64, NULL,
         "tangent vectors of a system, of the seeds `seed`, `seed` + 1, ...; the columns are the largest of "
         "theirs; each takes the time of a run"},
};

static const double initial[megno_SLOTS] = {[MEGNO_KEY] = 1};

/* A hash of the id (Steele, Lea & Flood 2014, doi:10.1145/2660193.2660195), so that neighbours have nothing in common.
 */
static void begin(const shoal_ensemble *ensemble, long system, double *slots)
{
    uint64_t hash = (uint64_t)ensemble->id[system] + UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    slots[MEGNO_KEY] = (double)(1 + (hash ^ hash >> 31) % 2147483646);
}

static const char *refuses(const double *p, const shoal_ensemble *ensemble)
{
    (void)ensemble;
    return p[MEGNO_VECTORS] > 1 && p[MEGNO_STOP_ABOVE] < 1e300 ? "`stop_above` is for one vector" : NULL;
}

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

static double alone(const double *slots, const double *p)
{
    return (void)slots, (void)p, NAN;
}

/* A vector becomes one of length 1; returns false if it has no direction. */
static bool normalise(int n, double *vector)
{
    double largest = 0, length2 = 0;
    for (int c = 0; c < n; c++)
        largest = fmax(largest, fabs(vector[c]));
    for (int c = 0; c < n; c++) { /* in two steps: squares may overflow */
        vector[c] /= largest;
        length2 += vector[c] * vector[c];
    }
    for (int c = 0; c < n; c++)
        vector[c] /= sqrt(length2);
    return largest > 0 && isfinite(length2);
}

/* min(|u - v|, |u + v|) of the first two. */
static double sali(int n, double *vectors)
{
    double minus2 = 0, plus2 = 0;
    if (!normalise(n, vectors) || !normalise(n, vectors + n))
        return NAN;
    for (int c = 0; c < n; c++) {
        const double u = vectors[c], v = vectors[n + c];
        minus2 += (u - v) * (u - v);
        plus2 += (u + v) * (u + v);
    }
    return sqrt(fmin(minus2, plus2));
}

/* The volume of the parallelepiped: each in turn is freed of the directions of those before it (modified Gram-Schmidt),
 * and what is left of it multiplies. */
static double gali(int n_vectors, int n, double *vectors)
{
    double volume = n_vectors <= n ? 1 : NAN; /* more vectors than dimensions have none */
    for (int i = 0; i < n_vectors; i++)
        if (!normalise(n, vectors + i * n))
            return NAN;
    for (int i = 0; i < n_vectors; i++) {
        double *own = vectors + i * n, length2 = 0;
        for (int c = 0; c < n; c++)
            length2 += own[c] * own[c];
        volume *= sqrt(length2);
        for (int j = i + 1; j < n_vectors && length2 > 0; j++) {
            double *other = vectors + j * n, product = 0;
            for (int c = 0; c < n; c++)
                product += own[c] * other[c];
            for (int c = 0; c < n; c++)
                other[c] -= product / length2 * own[c];
        }
    }
    return volume;
}

enum { COLUMN_SALI = 2 };

static double of_vectors(int column, int n_vectors, int n, double *vectors)
{
    return column == COLUMN_SALI ? sali(n, vectors) : gali(n_vectors, n, vectors);
}

static const shoal_monitor_column columns[] = {
    {"megno", "",
     "mean exponential growth factor of nearby orbits <Y>: 2 for regular motion, lyapunov t / 2 for chaotic", megno,
     SHOAL_OF_SYSTEM},
    {"lyapunov", "frequency", "largest Lyapunov exponent up to the end of the run, ln(d / d_0) / t", lyapunov,
     SHOAL_OF_SYSTEM},
    [COLUMN_SALI] = {"sali", "",
                     "smaller alignment index of the first two vectors at the end, min |u - v|, |u + v|: 0 for chaotic "
                     "motion; empty "
                     "for one vector",
                     alone, SHOAL_OF_SYSTEM},
    {"gali", "",
     "generalised alignment index, the volume of all unit vectors at the end; empty for one vector "
     "and for more than 6 a planet",
     alone, SHOAL_OF_SYSTEM},
};

const shoal_monitor shoal_monitor_megno = {
    .name = "megno",
    .doc = "chaos indicators from tangent vectors that are moved with the system: MEGNO, the largest Lyapunov "
           "exponent, and "
           "of several vectors SALI and GALI",
    .reference =
        "Cincotta & Simo 2000, A&AS 147, 205; Mikkola & Innanen 1999, Celest. Mech. Dyn. Astron. 74, 59; Skokos "
        "2001, J. Phys. A 34, 10029; Skokos, Bountis & Antonopoulos 2007, Physica D 231, 30",
    .ends_only = true,
    .n_slots = SHOAL_COUNT(initial),
    .initial = initial,
    .tangent = true,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
    .refuses = refuses,
    .begin = begin,
    .of_vectors = of_vectors,
    .first_of_vectors = COLUMN_SALI,
};
