/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * times.c: what the times of a table are, and TDB from the other scales (observations.h has the sources).
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>

#include "core/formats/observations.h"

static const char *const scale_names[] = {
#define X(name) #name,
    SHOAL_TIME_SCALES(X)
#undef X
};

/* The scale that a word is, SHOAL_SCALES if it is none. */
static shoal_time_scale scale_of(const char *word, size_t length)
{
    int i = 0;
    while (i < SHOAL_SCALES && (strlen(scale_names[i]) != length || strncmp(scale_names[i], word, length) != 0))
        i++;
    return (shoal_time_scale)i;
}

bool shoal_time_parse(const char *text, shoal_time_meaning *meaning, const char **wrong)
{
    static const struct {
        const char *name;
        double zero;
        bool years, tdb;
    } words[] = {{"JD", 0, false, false},           {"BJD", 0, false, false},       {"MJD", 2400000.5, false, false},
                 {"BMJD", 2400000.5, false, false}, {"RJD", 2400000, false, false}, {"BRJD", 2400000, false, false},
                 {"BKJD", 2454833, false, true},    {"BTJD", 2457000, false, true}, {"JYEAR", 2451545, true, false}};
    *meaning = (shoal_time_meaning){NAN, SHOAL_SCALES, false};
    static const char of_gost[] = "BarycentricJulianDateIn"; /* TCB */
    *wrong = NULL;
    const char *at = text + strspn(text, " ");
    size_t length = strcspn(at, "_ -");
    bool tdb = false;
    if (strncmp(at, "HJD", 3) == 0) {
        *wrong = "heliocentric times differ from barycentric ones by up to 4 s: BJD";
        return false;
    }
    for (int i = 0; i < SHOAL_COUNT(words); i++)
        if (strlen(words[i].name) == length && strncmp(words[i].name, at, length) == 0) {
            meaning->zero = words[i].zero;
            meaning->years = words[i].years;
            tdb = words[i].tdb;
        }
    if (strncmp(at, of_gost, strlen(of_gost)) == 0) {
        meaning->zero = 0;
        length = strlen(of_gost);
    }
    if (!isnan(meaning->zero)) {
        at += length;
        at += *at == '_';
        length = strcspn(at, " -");
    }
    meaning->scale = scale_of(at, length);
    if (meaning->scale != SHOAL_SCALES)
        at += length;
    if (tdb && meaning->scale == SHOAL_SCALES)
        meaning->scale = SHOAL_SCALE_TDB;
    at += strspn(at, " ");
    double less = 0;
    const bool minus = *at == '-';
    if (minus && (!shoal_number(at + 1 + strspn(at + 1, " "), &less) || isnan(meaning->zero) || meaning->years)) {
        *wrong = "a number of days after the minus of, for instance, BJD_TDB - 2454833";
        return false;
    }
    if ((*at && !minus) || (isnan(meaning->zero) && meaning->scale == SHOAL_SCALES)) {
        *wrong = "for instance BJD_TDB, BJD_TDB - 2454833, MJD_UTC, BKJD or JYEAR_TCB";
        return false;
    }
    if (meaning->years)
        meaning->zero -= 2000 * 365.25;
    else
        meaning->zero += less;
    return true;
}

double shoal_time_epoch(const char *text)
{
    char copy[64];
    if (strlen(text) >= sizeof copy)
        return NAN;
    strcpy(copy, text);
    char *number = strrchr(copy, ' ');
    if (number && (scale_of(number + 1, strlen(number + 1)) != SHOAL_SCALES || strcmp(number + 1, "UT") == 0)) {
        *number = '\0'; /* a scale behind the number: dates are told apart by days */
        number = strrchr(copy, ' ');
    }
    const char *wrong;
    double value;
    shoal_time_meaning meaning;
    if (copy[0] == 'J' && shoal_number(copy + 1, &value))
        return 2451545 + (value - 2000) * 365.25;
    if (!number || !shoal_number(number + 1, &value))
        return NAN;
    *number = '\0';
    return shoal_time_parse(copy, &meaning, &wrong) && !meaning.years ? meaning.zero + value : NAN;
}

bool shoal_epochs_differ(const char *a, const char *b)
{
    const double apart = fabs(shoal_time_epoch(a) - shoal_time_epoch(b));
    return *a && *b && (isnan(apart) ? strcmp(a, b) != 0 : apart > 0.01);
}

/* TAI - UTC since 1972, seconds; 0 before. */
static double leap_seconds(double jd)
{
    static const double from[] = {2441317.5, 2441499.5, 2441683.5, 2442048.5, 2442413.5, 2442778.5, 2443144.5,
                                  2443509.5, 2443874.5, 2444239.5, 2444786.5, 2445151.5, 2445516.5, 2446247.5,
                                  2447161.5, 2447892.5, 2448257.5, 2448804.5, 2449169.5, 2449534.5, 2450083.5,
                                  2450630.5, 2451179.5, 2453736.5, 2454832.5, 2456109.5, 2457204.5, 2457754.5};
    int n = 0;
    while (n < SHOAL_COUNT(from) && jd >= from[n])
        n++;
    return n ? 9 + n : 0;
}

static double tdb_less_tt(double jd)
{
    const double T = (jd - 2451545) / 36525;
    return 0.001657 * sin(628.3076 * T + 6.2401) + 0.000022 * sin(575.3385 * T + 4.2970) +
           0.000014 * sin(1256.6152 * T + 6.1969) + 0.000005 * sin(606.9777 * T + 4.0212) +
           0.000005 * sin(52.9691 * T + 0.4444) + 0.000002 * sin(21.3299 * T + 5.5431) +
           0.000010 * T * sin(628.3076 * T + 4.2490);
}

double shoal_time_tdb(shoal_time_scale scale, double jd)
{
    const double leaps = leap_seconds(jd);
    switch (scale) {
    case SHOAL_SCALE_TCB: return -1.550519768e-8 * (jd - 2443144.5003725) * 86400 - 6.55e-5;
    case SHOAL_SCALE_TT: return tdb_less_tt(jd);
    case SHOAL_SCALE_UTC: return leaps > 0 ? leaps + 32.184 + tdb_less_tt(jd) : NAN;
    default: return 0;
    }
}
