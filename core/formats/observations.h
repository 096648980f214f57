/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * observations.h: measurements as they stand in the tables of observers: velocities, transits, astrometry. Nothing is
 * guessed: the unit of a value, the time scale and the zero of times come from the file or from who reads it, and a
 * table that leaves one of them open is refused.
 *
 *     observations.c   tables of text
 *     catalogue.c      a star's row of the HGCA (FITS)
 *     times.c          what a time is, and TDB from it
 */
#ifndef SHOAL_OBSERVATIONS_H
#define SHOAL_OBSERVATIONS_H

#include "core/formats/table.h"

/* ---- times.c ----------------------------------------------------------------------------------------------------- */

#define SHOAL_TIME_SCALES(X) X(TDB) X(TCB) X(TT) X(UTC)
typedef enum shoal_time_scale {
#define X(name) SHOAL_SCALE_##name,
    SHOAL_TIME_SCALES(X)
#undef X
        SHOAL_SCALES
} shoal_time_scale;

/* What numbers of a column of times are: days since a Julian date of a scale, or Julian years. */
typedef struct shoal_time_meaning {
    double zero;            /* Julian date of 0; NaN = not said */
    shoal_time_scale scale; /* SHOAL_SCALES = not said */
    bool years;
} shoal_time_meaning;

/* "BJD_TDB - 2454833", "MJD_UTC", "BKJD", "JYEAR_TCB"; parts may be left out ("BJD - 2454833", "TDB"). False where the
 * text is none of these: *wrong, a phrase, says why. */
bool shoal_time_parse(const char *text, shoal_time_meaning *meaning, const char **wrong);
/* The Julian date of an epoch: "BJD_TDB 2454833.0", "MJD_UTC 55000", "JD 2451545 TDB", "J2000.0"; NaN for others. */
double shoal_time_epoch(const char *text);
/* Whether two epochs contradict each other: dates more than 0.01 d apart, which is more than between scales and from
 * the Earth to the barycentre, or different texts that are not both dates. An empty one contradicts none. */
bool shoal_epochs_differ(const char *a, const char *b);

/*
 * shoal_time_tdb: TDB less a scale, seconds.
 *   jd       in   Julian date of that scale, days
 *   returns       NaN for UTC before 1972, which had no seconds of the SI
 *
 * TCB: IAU 2006 resolution B3. UTC: leap seconds until 2017. TT: the seven largest terms of Fairhead & Bretagnon (1990)
 * as USNO Circular 179 (Kaplan 2005) has them in equation 2.6; error below 1e-5 s from 1600 to 2200.
 */
double shoal_time_tdb(shoal_time_scale scale, double jd);

/* ---- observations.c ---------------------------------------------------------------------------------------------- */

/* What is measured, and the unit that it gets here. */
#define SHOAL_OBSERVED_LIST(X)                                                       \
    X(velocity, "m/s")       /* along the line of sight, positive when it recedes */ \
    X(transit, "d")          /* a time: value = time */                              \
    X(separation, "rad")     /* from body 0 */                                       \
    X(position_angle, "rad") /* from north through east */                           \
    X(d_ra, "rad")           /* towards east, times cos(declination) */              \
    X(d_dec, "rad")                                                                  \
    X(along_scan, "rad") /* of Gaia: angle and parallax_factor belong to it */       \
    X(pm_ra, "rad/d")    /* proper motion, times cos(declination); time..until */    \
    X(pm_dec, "rad/d")
typedef enum shoal_observed {
#define X(name, unit) SHOAL_OBSERVED_##name,
    SHOAL_OBSERVED_LIST(X)
#undef X
        SHOAL_OBSERVED_KINDS
} shoal_observed;

typedef struct shoal_observation {
    shoal_observed kind;
    int body;       /* 1 = the first planet, 0 = the star, -1 = the table does not say */
    int instrument; /* of the table's names, -1 = the table does not say */
    int flag;       /* not 0: the table marks it as an outlier */
    long number;    /* of a transit, -1 = the table does not say */
    long line;
    double time, until;            /* TDB, days from the table's zero; until: NaN of a moment */
    double value, error;           /* in the kind's unit */
    double correlation;            /* with the row before it */
    double angle, parallax_factor; /* of a scan: the scan's position angle in rad */
} shoal_observation;

typedef struct shoal_observations {
    double zero; /* Julian date (TDB) of time 0 */
    bool years;  /* its numbers are Julian years */
    long n, room;
    shoal_observation *row;
    int n_instruments;
    char (*instrument)[SHOAL_NAME_SIZE];
} shoal_observations;

/* What the reader says of a table, beside what the table says itself; the two must not contradict each other. */
typedef struct shoal_observations_said {
    const char *format; /* of shoal_observation_formats */
    const char *time;   /* shoal_time_parse; NULL = nothing */
    const char *unit;   /* of values and errors; NULL = nothing */
    const char *object; /* a KOI ("137"), a Hipparcos number: of tables of many stars */
    double error;       /* of tables without errors, in the kind's unit; NaN = none */
    int body;           /* of tables of one planet, -1 = nothing */
    int n_names;
    const char (*names)[SHOAL_NAME_SIZE]; /* of the bodies: b is the one so called, "b" or "Kepler-51 b", if any is */
} shoal_observations_said;

/* Read a table. On failure there is nothing to release. */
shoal_status shoal_observations_read(shoal_context *context, const char *path, const shoal_observations_said *said,
                                     shoal_observations *table);
void shoal_observations_release(shoal_observations *table);

/* Names of formats and a line about each, NULL after the last. */
typedef struct shoal_observation_format {
    const char *name, *doc;
} shoal_observation_format;
const shoal_observation_format *shoal_observation_formats(int i);

/* ---- between the files ------------------------------------------------------------------------------------------- */

shoal_status shoal_observations_add(shoal_observations *table, const shoal_table *at, const shoal_observation *row);
/* Factor to the unit of a kind; 0 if the unit is none of it. */
double shoal_observation_unit(shoal_observed kind, const char *unit);
/* catalogue.c: proper motions of Hipparcos, of both, of Gaia. */
shoal_status shoal_catalogue_read(shoal_context *context, const char *path, const shoal_observations_said *said,
                                  shoal_observations *table);

#endif
