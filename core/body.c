/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * body.c: from what a config says of a body to its orbit. Elements may be named in many ways; here is which of them go
 * together and what they mean. The names and meanings are REBOUND's (Rein & Liu, doi:10.1051/0004-6361/201118085), so
 * that longitudes of a retrograde orbit (cos(inc) < 0) count backwards:
 *
 *     pomega = Omega + s omega,  l = pomega + s M,  theta = pomega + s f,   s = sign of cos(inc)
 *
 * (h, k) and (ix, iy): Pal, doi:10.1111/j.1365-2966.2009.14853.x.
 */
#define _GNU_SOURCE 1
#include <string.h>

#include "config.h"

#define BIT(name) (1u << SHOAL_BODY_##name)

enum {
    SIZE = BIT(a) | BIT(P),
    ANOMALY = BIT(f) | BIT(M) | BIT(E) | BIT(l) | BIT(theta) | BIT(T) | BIT(T0),
    CARTESIAN = BIT(x) | BIT(y) | BIT(z) | BIT(vx) | BIT(vy) | BIT(vz),
    ALL = (1u << SHOAL_BODY_KEYS) - 1,
    ELEMENTS = ALL & ~(CARTESIAN | BIT(m) | BIT(r))
};

/* Of each of these sets at most one may be given. */
static const unsigned one_of[] = { SIZE, ANOMALY, BIT(omega) | BIT(pomega) };
/* Of each of these all or none. */
static const unsigned together[] = { BIT(h) | BIT(k), BIT(ix) | BIT(iy) };
/* The first and the second of each may not both be given. */
static const unsigned exclusive[][2] = {
    { BIT(h) | BIT(k), BIT(e) | BIT(omega) | BIT(pomega) },
    { BIT(ix) | BIT(iy), BIT(inc) | BIT(Omega) },
};

/* "a, P" */
static const char *name_keys(unsigned keys, char text[160])
{
    text[0] = '\0';
    for (int i = 0; i < SHOAL_BODY_KEYS; i++)
        if (keys & 1u << i)
            snprintf(text + strlen(text), 160 - strlen(text), "%s%s", *text ? ", " : "", shoal_body_key(i)->row.name);
    return text;
}

static unsigned given_keys(const shoal_body_input *body)
{
    unsigned given = 0;
    for (int i = 0; i < SHOAL_BODY_KEYS; i++)
        given |= body->source[i] ? 1u << i : 0;
    return given;
}

/* Overrides come after every line. */
static unsigned order_of(const config_setting_t *setting)
{
    return config_setting_get_hook(setting) ? ~0u : config_setting_source_line(setting);
}

/* Where the last of some keys is given. */
static const config_setting_t *place_of(const shoal_body_input *body, unsigned keys)
{
    const config_setting_t *place = NULL;
    for (int i = 0; i < SHOAL_BODY_KEYS; i++)
        if (keys & 1u << i && body->source[i] &&
            (!place || order_of(body->source[i]) >= order_of(place)))
            place = body->source[i];
    return place;
}

bool shoal_body_is_cartesian(const shoal_body_input *body)
{
    return (given_keys(body) & CARTESIAN) != 0;
}

shoal_status shoal_body_check(const shoal_config *config, const config_setting_t *setting, const shoal_body_input *body,
                              bool central, bool cartesian)
{
    const unsigned given = given_keys(body);
    char some[160], others[160];

    if (!(given & BIT(m)))
        return shoal_config_fail(config, setting, "m", NULL, "a mass: it must be given");
    const unsigned foreign = given & (cartesian ? ELEMENTS : CARTESIAN);
    if (foreign)
        return shoal_config_fail(config, place_of(body, foreign), NULL, NULL, cartesian
                                 ? "no elements (%s): bodies are either all Cartesian or all given by elements"
                                 : "elements, not %s: bodies are either all Cartesian or all given by elements",
                                 name_keys(foreign, some));
    if (cartesian) {
        const unsigned missing = CARTESIAN & ~given;
        return missing ? shoal_config_fail(config, setting, NULL, NULL, "x, y, z, vx, vy, vz; there is no %s",
                                           name_keys(missing, some))
                       : SHOAL_OK;
    }
    if (central)
        return given & ELEMENTS ? shoal_config_fail(config, place_of(body, given & ELEMENTS), NULL, NULL,
                                                    "no elements (%s) for the first body: it is the central one",
                                                    name_keys(given & ELEMENTS, some))
                                : SHOAL_OK;
    for (int i = 0; i < SHOAL_COUNT(one_of); i++) {
        const unsigned both = given & one_of[i];
        if (both & (both - 1))
            return shoal_config_fail(config, place_of(body, both), NULL, NULL, "only one of %s; given are %s",
                                     name_keys(one_of[i], some), name_keys(both, others));
    }
    for (int i = 0; i < SHOAL_COUNT(exclusive); i++)
        if (given & exclusive[i][0] && given & exclusive[i][1])
            return shoal_config_fail(config, place_of(body, given & (exclusive[i][0] | exclusive[i][1])), NULL, NULL,
                                     "either %s or %s", name_keys(given & exclusive[i][0], some),
                                     name_keys(given & exclusive[i][1], others));
    for (int i = 0; i < SHOAL_COUNT(together); i++)
        if (given & together[i] && (given & together[i]) != together[i])
            return shoal_config_fail(config, place_of(body, given & together[i]), NULL, NULL,
                                     "%s together; there is no %s", name_keys(together[i], some),
                                     name_keys(together[i] & ~given, others));
    if (!(given & SIZE))
        return shoal_config_fail(config, setting, NULL, NULL, "one of %s, the size of the orbit",
                                 name_keys(SIZE, some));
    return SHOAL_OK;
}

bool shoal_body_orbit(const shoal_body_input *body, double mu, double t, shoal_orbit *orbit, const char **reason)
{
    const unsigned given = given_keys(body);
    const double *v = body->value;
#define GIVEN(name) ((given & BIT(name)) != 0)
#define V(name) v[SHOAL_BODY_##name]

    double e = V(e), inc = V(inc), Omega = V(Omega), omega = V(omega), pomega = V(pomega);
    if (GIVEN(ix)) {
        const double half = hypot(V(ix), V(iy)) / 2;
        if (half > 1) {
            *reason = "ix^2 + iy^2 is greater than 4";
            return false;
        }
        inc = 2 * asin(half);
        Omega = half > 0 ? atan2(V(iy), V(ix)) : 0;
    }
    const double s = cos(inc) < 0 ? -1 : 1;
    if (GIVEN(h)) {
        e = hypot(V(h), V(k));
        pomega = e > 0 ? atan2(V(h), V(k)) : 0;
    }
    if (GIVEN(h) || GIVEN(pomega))
        omega = s * (pomega - Omega);
    else
        pomega = Omega + s * omega;

    const double a = GIVEN(P) ? cbrt(mu * (V(P) / (2 * M_PI)) * (V(P) / (2 * M_PI))) : V(a);
    *reason = !(mu > 0)                      ? "no mass within the orbit"
              : !isfinite(a) || a == 0       ? "a = 0"
              : !isfinite(e) || e < 0        ? "e < 0"
              : e == 1                       ? "e = 1: a parabola has no a"
              : e < 1 && a < 0               ? "e < 1 with a < 0"
              : e > 1 && a > 0 && GIVEN(P)   ? "e > 1 with a period"
              : e > 1 && a > 0               ? "e > 1 with a > 0"
                                             : NULL;
    if (*reason)
        return false;

    const double n = sqrt(mu / fabs(a)) / fabs(a);
    double f = V(f), M = NAN;
    if (GIVEN(M))
        M = V(M);
    else if (GIVEN(E))
        M = e < 1 ? V(E) - e * sin(V(E)) : e * sinh(V(E)) - V(E);
    else if (GIVEN(l))
        M = s * (V(l) - pomega);
    else if (GIVEN(T))
        M = n * (t - V(T));
    else if (GIVEN(T0))
        M = shoal_mean_anomaly(e, remainder(M_PI / 2 - omega, 2 * M_PI)) + n * (t - V(T0));
    else if (GIVEN(theta))
        f = s * (V(theta) - pomega);
    const bool from_M = GIVEN(M) || GIVEN(E) || GIVEN(l) || GIVEN(T) || GIVEN(T0);
    if (from_M)
        f = isfinite(M) ? shoal_true_anomaly(e, e < 1 ? remainder(M, 2 * M_PI) : M) : NAN;
    if (!isfinite(f)) {
        *reason = "no such place on a hyperbola";
        return false;
    }
    *orbit = (shoal_orbit){ .a = a, .e = e, .inc = inc, .Omega = Omega, .omega = omega, .f = f };
    return true;
#undef GIVEN
#undef V
}
