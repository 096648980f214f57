/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * body.c: from what a config says of a body to its orbit. Elements may be named in many ways; here is which of them go
 * together and what they mean. The names and meanings are REBOUND's (Rein & Liu, doi:10.1051/0004-6361/201118085), so
 * that longitudes of a retrograde orbit (cos(inc) < 0) count backwards:
 *
 *     pomega = Omega + s omega,  l = pomega + s M,  theta = pomega + s f,   s = sign of cos(inc)
 *
 * A body may be tied to another one, listed before it (primes): P = period_ratio P', a - a' = hill_spacing R with the
 * mutual Hill radius R = ((m + m') / 3 m_0)^(1/3) (a + a') / 2, pomega = pomega' + delta_pomega, l = l' + delta_l.
 *
 * (h, k) and (ix, iy): Pal, doi:10.1111/j.1365-2966.2009.14853.x.
 */
#define _GNU_SOURCE 1
#include <string.h>

#include "core/config/config.h"
#include "core/study/study.h"

#define BIT(name) (1u << SHOAL_BODY_##name)

enum {
    MOST_NAMES = 256,
    SIZE = BIT(a) | BIT(P) | BIT(period_ratio) | BIT(hill_spacing),
    ANOMALY = BIT(f) | BIT(M) | BIT(E) | BIT(l) | BIT(theta) | BIT(T) | BIT(T0) | BIT(delta_l),
    APSIS = BIT(omega) | BIT(pomega) | BIT(delta_pomega),
    TIED = BIT(period_ratio) | BIT(hill_spacing) | BIT(delta_pomega) | BIT(delta_l),
    CARTESIAN = BIT(x) | BIT(y) | BIT(z) | BIT(vx) | BIT(vy) | BIT(vz),
    ALL = (1u << SHOAL_BODY_KEYS) - 1,
    ELEMENTS = ALL & ~(CARTESIAN | BIT(m) | BIT(r))
};

/* Of each of these sets at most one may be given. */
static const unsigned one_of[] = {SIZE, ANOMALY, APSIS, BIT(m) | BIT(msini)};
/* Of each of these all or none. */
static const unsigned together[] = {BIT(h) | BIT(k), BIT(ix) | BIT(iy)};
/* The first and the second of each may not both be given. */
static const unsigned exclusive[][2] = {
    {BIT(h) | BIT(k), BIT(e) | APSIS},
    {BIT(ix) | BIT(iy), BIT(inc) | BIT(Omega)},
};

/* "a, P" */
static const char *name_keys(unsigned keys, char text[MOST_NAMES])
{
    text[0] = '\0';
    for (int i = 0; i < SHOAL_BODY_KEYS; i++)
        if (keys & 1u << i)
            snprintf(text + strlen(text), MOST_NAMES - strlen(text), "%s%s", *text ? ", " : "",
                     shoal_body_key(i)->row.name);
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
        if (keys & 1u << i && body->source[i] && (!place || order_of(body->source[i]) >= order_of(place)))
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
    char some[MOST_NAMES], others[MOST_NAMES];

    if (!(given & (BIT(m) | BIT(msini))))
        return shoal_config_fail(config, setting, "m", NULL, "a mass: it must be given");
    const unsigned foreign = given & (cartesian ? ELEMENTS : CARTESIAN);
    if (foreign)
        return shoal_config_fail(config, place_of(body, foreign), NULL, NULL,
                                 cartesian
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
    if (given & BIT(msini) && !(given & (BIT(inc) | BIT(ix))))
        return shoal_config_fail(config, body->source[SHOAL_BODY_msini], NULL, NULL, "inc (or ix, iy) with msini");
    if (given & TIED && body->relative_to < 1)
        return shoal_config_fail(config, place_of(body, given & TIED), NULL, NULL,
                                 "another body before it that has an orbit");
    if (!(given & TIED) && config_setting_get_member(setting, "relative_to"))
        return shoal_config_fail(config, config_setting_get_member(setting, "relative_to"), NULL, NULL,
                                 "one of %s with it", name_keys(TIED, some));
    if (!(given & SIZE))
        return shoal_config_fail(config, setting, NULL, NULL, "one of %s, the size of the orbit",
                                 name_keys(SIZE, some));
    return SHOAL_OK;
}

bool shoal_body_is_tied(const shoal_body_input *body)
{
    return (given_keys(body) & TIED) != 0;
}

#define GIVEN(name) (body->source[SHOAL_BODY_##name] != NULL)
#define V(name)     body->value[SHOAL_BODY_##name]

static double inclination(const shoal_body_input *body)
{
    return GIVEN(ix) ? 2 * asin(hypot(V(ix), V(iy)) / 2) : V(inc);
}

double shoal_body_mass(const shoal_body_input *body)
{
    if (!GIVEN(msini))
        return V(m);
    const double projection = sin(inclination(body));
    return projection > 1e-12 ? V(msini) / projection : INFINITY;
}

/* Longitude of pericentre over argument of pericentre: which way longitudes count. */
static double sense(double inc)
{
    return cos(inc) < 0 ? -1 : 1;
}

bool shoal_body_orbit(const shoal_body_input *body, double mu, double t, const shoal_orbit *other, double hill,
                      shoal_orbit *orbit, const char **reason)
{
    const double inc = inclination(body), s = sense(inc);
    double e = V(e), Omega = V(Omega), omega = V(omega), pomega = V(pomega);
    if (isnan(inc)) {
        *reason = "ix^2 + iy^2 is greater than 4";
        return false;
    }
    if (GIVEN(ix))
        Omega = V(ix) != 0 || V(iy) != 0 ? atan2(V(iy), V(ix)) : 0;
    if (GIVEN(h)) {
        e = hypot(V(h), V(k));
        pomega = e > 0 ? atan2(V(h), V(k)) : 0;
    }
    const double pomega_other = other->Omega + sense(other->inc) * other->omega;
    if (GIVEN(delta_pomega))
        pomega = pomega_other + V(delta_pomega);
    if (GIVEN(h) || GIVEN(pomega) || GIVEN(delta_pomega))
        omega = s * (pomega - Omega);
    else
        pomega = Omega + s * omega;

    const double P = GIVEN(P) ? V(P) : GIVEN(period_ratio) ? V(period_ratio) * other->P : NAN;
    const double a = !isnan(P)             ? cbrt(mu * (P / (2 * M_PI)) * (P / (2 * M_PI)))
                     : GIVEN(hill_spacing) ? other->a * (1 + V(hill_spacing) * hill) / (1 - V(hill_spacing) * hill)
                                           : V(a);
    *reason = !(mu > 0) ? "no mass within the orbit"
              : GIVEN(hill_spacing) && !(fabs(V(hill_spacing) * hill) < 1)
                  ? "so many Hill radii that there is no such a"
              : GIVEN(period_ratio) && !isfinite(a) ? "a ratio to no period"
              : !isfinite(a) || a == 0              ? "a = 0"
              : !isfinite(e) || e < 0               ? "e < 0"
              : e == 1                              ? "e = 1: a parabola has no a"
              : e < 1 && a < 0                      ? "e < 1 with a < 0"
              : e > 1 && a > 0 && !isnan(P)         ? "e > 1 with a period"
              : e > 1 && a > 0                      ? "e > 1 with a > 0"
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
    else if (GIVEN(delta_l))
        M = s * (pomega_other + sense(other->inc) * other->M + V(delta_l) - pomega);
    else if (GIVEN(T))
        M = n * (t - V(T));
    else if (GIVEN(T0))
        M = shoal_mean_anomaly(e, remainder(M_PI / 2 - omega, 2 * M_PI)) + n * (t - V(T0));
    else if (GIVEN(theta))
        f = s * (V(theta) - pomega);
    const bool from_M = (given_keys(body) & ANOMALY & ~(BIT(f) | BIT(theta))) != 0;
    if (from_M)
        f = isfinite(M) ? shoal_true_anomaly(e, e < 1 ? remainder(M, 2 * M_PI) : M) : NAN;
    if (!isfinite(f)) {
        *reason = "no such place on a hyperbola";
        return false;
    }
    *orbit = (shoal_orbit){.a = a, .e = e, .inc = inc, .Omega = Omega, .omega = omega, .f = f};
    orbit->M = from_M ? M : shoal_mean_anomaly(e, f);
    orbit->P = e < 1 ? 2 * M_PI / n : INFINITY;
    return true;
}
