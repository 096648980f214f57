/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * units.c: the user's units of length, mass and time, and their size in inner units.
 *
 * Inside, G = 1 with the astronomical unit and the solar mass, so the unit of time is
 *
 *     sqrt(AU^3 / GM_sun) = 58.1324 d = "yr/2pi"
 *
 * The year of the boundary is the Julian one, 365.25 d; 2 pi inner units are 365.2569 d.
 *
 * Masses of stars and planets are ratios of G times mass, which is known to many more digits than G or a mass in kg.
 *
 * Sources: astronomical unit, IAU 2012 resolution B2; parsec, IAU 2015 B2; nominal GM of the Sun, Jupiter and the Earth
 * and nominal radii, IAU 2015 B3 (doi:10.3847/0004-6256/152/2/41); the other GM, planets with their moons, DE440
 * (doi:10.3847/1538-3881/abd414); G for the gram and kilogram, CODATA 2018 (doi:10.1103/RevModPhys.93.025010).
 */
#define _GNU_SOURCE 1
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

#define AU_M   149597870700.0 /* m */
#define GM_SUN 1.3271244e20   /* m^3/s^2 */
#define G_SI   6.67430e-11    /* m^3/(kg s^2), known to 2e-5 only: so are masses given in kg */
#define DAY_S  86400.0
#define YEAR_S (365.25 * DAY_S)
#define PI     3.14159265358979323846

/* X(name, metres) */
#define LENGTH_LIST(X)                     \
    X("AU", AU_M)                          \
    X("au", AU_M)                          \
    X("m", 1.0)                            \
    X("cm", 1e-2)                          \
    X("km", 1e3)                           \
    X("Rsun", 6.957e8)                     \
    X("Rjup", 7.1492e7) /* equatorial */   \
    X("Rjupiter", 7.1492e7)                \
    X("Rearth", 6.3781e6) /* equatorial */ \
    X("Rmoon", 1.7374e6)                   \
    X("ly", 299792458.0 * YEAR_S)          \
    X("pc", AU_M *(648000.0 / PI))         \
    X("kpc", 1e3 * AU_M * (648000.0 / PI)) \
    X("Mpc", 1e6 * AU_M * (648000.0 / PI))

/* X(name, G times the mass in m^3/s^2) */
#define MASS_LIST(X)                \
    X("Msun", GM_SUN)               \
    X("Mjup", 1.2668653e17)         \
    X("Mjupiter", 1.2668653e17)     \
    X("Mearth", 3.986004e14)        \
    X("Mmercury", 2.2031868551e13)  \
    X("Mvenus", 3.24858592e14)      \
    X("Mmars", 4.2828375816e13)     \
    X("Msaturn", 3.79405848418e16)  \
    X("Muranus", 5.7945564e15)      \
    X("Mneptune", 6.83652710058e15) \
    X("Mmoon", 4.902800118e12)      \
    X("kg", G_SI)                   \
    X("g", 1e-3 * G_SI)

/* X(name, seconds); yr/2pi, the inner unit, is added apart because it is no constant expression */
#define TIME_LIST(X)       \
    X("s", 1.0)            \
    X("min", 60.0)         \
    X("h", 3600.0)         \
    X("d", DAY_S)          \
    X("day", DAY_S)        \
    X("days", DAY_S)       \
    X("yr", YEAR_S)        \
    X("year", YEAR_S)      \
    X("years", YEAR_S)     \
    X("kyr", 1e3 * YEAR_S) \
    X("Myr", 1e6 * YEAR_S) \
    X("Gyr", 1e9 * YEAR_S)

#define INNER_TIME "yr/2pi"

#define X_NAME(name, value)  name,
#define X_VALUE(name, value) value,
static const char *const length_names[] = {LENGTH_LIST(X_NAME)};
static const double length_values[] = {LENGTH_LIST(X_VALUE)};
static const char *const mass_names[] = {MASS_LIST(X_NAME)};
static const double mass_values[] = {MASS_LIST(X_VALUE)};
static const char *const time_names[] = {TIME_LIST(X_NAME) INNER_TIME};
static const double time_values[] = {TIME_LIST(X_VALUE) NAN};

static double inner_time_s(void)
{
    return sqrt(AU_M * AU_M * AU_M / GM_SUN);
}

static int index_of(const char *word, const char *const *names, int n_names)
{
    for (int i = 0; i < n_names; i++)
        if (strcmp(word, names[i]) == 0)
            return i;
    return -1;
}

/* The size of a unit in inner units. */
static shoal_status find_unit(shoal_context *context, const char *dimension, const char *word, double *factor)
{
    const char *const *names;
    int n_names = shoal_units_names(dimension, &names);
    int i = index_of(word, names, n_names);
    if (i < 0) {
        const char *nearest = shoal_nearest(word, names, n_names);
        return nearest ? shoal_fail(context, SHOAL_E_INPUT, "unknown unit of %s \"%s\"; did you mean \"%s\"?",
                                    dimension, word, nearest)
                       : shoal_fail(context, SHOAL_E_INPUT, "unknown unit of %s \"%s\"; known are %s, %s, %s, ...",
                                    dimension, word, names[0], names[1], names[2]);
    }
    if (names == length_names)
        *factor = length_values[i] / AU_M;
    else if (names == mass_names)
        *factor = mass_values[i] / GM_SUN;
    else
        *factor = isnan(time_values[i]) ? 1.0 : time_values[i] / inner_time_s();
    return SHOAL_OK;
}

int shoal_units_names(const char *dimension, const char *const **names)
{
    if (strcmp(dimension, "length") == 0) {
        *names = length_names;
        return SHOAL_COUNT(length_names);
    }
    if (strcmp(dimension, "mass") == 0) {
        *names = mass_names;
        return SHOAL_COUNT(mass_names);
    }
    if (strcmp(dimension, "time") == 0) {
        *names = time_names;
        return SHOAL_COUNT(time_names);
    }
    *names = NULL;
    return 0;
}

static bool is_given(const char *word)
{
    return word && *word;
}

shoal_status shoal_units_init(shoal_context *context, const char *length, const char *mass, const char *time, double G,
                              shoal_units *units)
{
    shoal_units made = {.G = G};
    const char *length_name = is_given(length) ? length : "AU";
    const char *mass_name = is_given(mass) ? mass : "Msun";
    const char *time_name = is_given(time) ? time : INNER_TIME;
    shoal_status status = find_unit(context, "length", length_name, &made.length);
    if (!status)
        status = find_unit(context, "mass", mass_name, &made.mass);
    if (!status)
        status = find_unit(context, "time", time_name, &made.time);
    if (status)
        return status;

    if (isnan(G)) {
        made.G = made.time * made.time * made.mass / (made.length * made.length * made.length);
    } else {
        if (!(G > 0.0 && isfinite(G)))
            return shoal_fail(context, SHOAL_E_INPUT, "units.G = %g: the gravitational constant must be positive", G);
        double implied = sqrt(G * made.length * made.length * made.length / made.mass);
        /* A G rounded to a few digits keeps its unit of time's name; G = 1 with AU, Msun and yr is a slip by 2 pi. */
        if (is_given(time) && fabs(implied / made.time - 1.0) > 0.01)
            return shoal_fail(context, SHOAL_E_INPUT,
                              "units.G = %.9g with %s and %s makes the unit of time %.9g d, which is not %s; leave G "
                              "or the unit of time out",
                              G, length_name, mass_name, implied * inner_time_s() / DAY_S, time);
        if (!is_given(time) && fabs(implied - 1.0) > 1e-12)
            time_name = "from G";
        made.time = implied;
    }
    snprintf(made.length_name, sizeof made.length_name, "%s", length_name);
    snprintf(made.mass_name, sizeof made.mass_name, "%s", mass_name);
    snprintf(made.time_name, sizeof made.time_name, "%s", time_name);
    *units = made;
    return SHOAL_OK;
}

shoal_status shoal_units_parse(shoal_context *context, const char *text, shoal_units *units)
{
    const char *words[3] = {"AU", "Msun", NULL};
    char copy[SHOAL_UNITS_TEXT], *rest = copy, *end;
    int n = 0;
    double G = NAN;
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return shoal_fail(context, SHOAL_E_INPUT, "units: %.40s...: expected LENGTH, MASS, TIME", text);
    for (char *word; (word = strsep(&rest, ","));) {
        word += strspn(word, " ");
        for (end = word + strlen(word); end > word && end[-1] == ' ';)
            *--end = '\0';
        if (word[0] == 'G' && strchr(" =", word[1]) && word[1]) {
            word += 1 + strspn(word + 1, " =");
            G = shoal_number_read(word, &end);
            if (end == word || *end)
                return shoal_fail(context, SHOAL_E_INPUT, "units: G = %s: expected a number", word);
        } else if (n < 3 && *word) {
            words[n++] = word;
        } else if (*word) {
            return shoal_fail(context, SHOAL_E_INPUT, "units:%s%s: expected LENGTH, MASS, TIME",
                              *text == ' ' ? "" : " ", text);
        }
    }
    if (n > 0 && n < 3 && isnan(G))
        return shoal_fail(context, SHOAL_E_INPUT, "units:%s%s: expected LENGTH, MASS, TIME", *text == ' ' ? "" : " ",
                          text);
    return shoal_units_init(context, words[0], words[1], n == 0 && isnan(G) ? "yr" : words[2], G, units);
}

shoal_status shoal_unit_factors(shoal_context *context, const char *units, double factors[4])
{
    shoal_units made;
    shoal_status status = shoal_check_given(context, __func__, "units", units);
    if (!status)
        status = shoal_check_given(context, __func__, "factors", factors);
    if (!status)
        status = shoal_units_parse(context, units, &made);
    if (!status)
        memcpy(factors, (double[4]){made.length, made.mass, made.time, made.G}, 4 * sizeof *factors);
    return status;
}

void shoal_units_print(const shoal_units *units, char text[SHOAL_UNITS_TEXT])
{
    char G[SHOAL_NUMBER_SIZE];
    shoal_units derived;
    const bool named = shoal_units_init(NULL, units->length_name, units->mass_name, units->time_name, NAN, &derived) ==
                       SHOAL_OK;
    int n = snprintf(text, SHOAL_UNITS_TEXT, "%s, %s", units->length_name, units->mass_name);
    if (named && n < SHOAL_UNITS_TEXT)
        n += snprintf(text + n, SHOAL_UNITS_TEXT - (size_t)n, ", %s", units->time_name);
    if ((!named || derived.time != units->time) && n < SHOAL_UNITS_TEXT)
        snprintf(text + n, SHOAL_UNITS_TEXT - (size_t)n, ", G = %s", shoal_number_print(G, units->G));
}

double shoal_units_factor(const shoal_units *units, const char *dimension)
{
    if (strcmp(dimension, "length") == 0)
        return units->length;
    if (strcmp(dimension, "mass") == 0)
        return units->mass;
    if (strcmp(dimension, "time") == 0)
        return units->time;
    if (strcmp(dimension, "velocity") == 0)
        return units->length / units->time;
    if (strcmp(dimension, "frequency") == 0 || strcmp(dimension, "angular velocity") == 0)
        return 1.0 / units->time;
    if (strcmp(dimension, "m/s") == 0)
        return inner_time_s() / AU_M;
    if (strcmp(dimension, "g/cm^3") == 0)
        return 1e3 * G_SI * AU_M * AU_M * AU_M / GM_SUN;
    if (strcmp(dimension, "angle") == 0 || strcmp(dimension, "") == 0)
        return 1.0;
    return NAN; /* a dimension misspelt in a plug's table shows in the first number that passes here */
}

const char *shoal_units_name(const shoal_units *units, const char *dimension, char name[SHOAL_UNIT_SIZE])
{
    const struct {
        const char *dimension, *numerator, *denominator;
    } names[] = {
        {"length", units->length_name, NULL},
        {"velocity", units->length_name, units->time_name},
        {"mass", units->mass_name, NULL},
        {"frequency", "1", units->time_name},
        {"time", units->time_name, NULL},
        {"angular velocity", "rad", units->time_name},
        {"m/s", "m/s", NULL},
        {"g/cm^3", "g/cm^3", NULL},
    };
    name[0] = '\0';
    for (int i = 0; i < SHOAL_COUNT(names); i++)
        if (strcmp(names[i].dimension, dimension) == 0)
            snprintf(name, SHOAL_UNIT_SIZE, names[i].denominator ? "%s/%s" : "%s", names[i].numerator,
                     names[i].denominator);
    return name;
}

double shoal_units_time(const shoal_units *units, double t)
{
    const double exact = t / units->time, size = fabs(exact);
    double written = exact;
    /* an integer and a power of ten up to 10^22 are exact: their quotient or product is what one reads */
    if (size >= 1e-8 && size < 1e36) {
        const double digits = 14 - floor(log10(size)), power = pow(10, fabs(digits));
        written = digits < 0 ? nearbyint(exact / power) * power : nearbyint(exact * power) / power;
    } else if (isfinite(exact)) {
        char text[32];
        void *numbers = shoal_numbers_begin();
        snprintf(text, sizeof text, "%.15g", exact);
        written = strtod(text, NULL);
        shoal_numbers_end(numbers);
    }
    return fabs(written - exact) <= 4 * DBL_EPSILON * size ? written : exact;
}
