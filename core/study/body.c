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

#define BIT(name) (1ull << SHOAL_BODY_##name)

enum { MOST_NAMES = 256 };

#define SIZE        (BIT(a) | BIT(P) | BIT(period_ratio) | BIT(hill_spacing))
#define ANOMALY     (BIT(f) | BIT(M) | BIT(E) | BIT(l) | BIT(theta) | BIT(T) | BIT(T0) | BIT(delta_l))
#define APSIS       (BIT(omega) | BIT(pomega) | BIT(delta_pomega))
#define TIED        (BIT(period_ratio) | BIT(hill_spacing) | BIT(delta_pomega) | BIT(delta_l))
#define CARTESIAN   (BIT(x) | BIT(y) | BIT(z) | BIT(vx) | BIT(vy) | BIT(vz))
#define MASS        (BIT(m) | BIT(msini) | BIT(K) | BIT(mass_ratio) | BIT(log10_m))
#define SOLID       (BIT(r) | BIT(density)) /* a mass, both together */
#define INCLINATION (BIT(inc) | BIT(cosi) | BIT(b))
#define POLE        (BIT(ix) | BIT(iy))
#define BY_POMEGA   (BIT(h) | BIT(k))
#define BY_OMEGA    (BIT(e_cos) | BIT(e_sin))
#define BY_ROOT     (BIT(sqrt_e_cos) | BIT(sqrt_e_sin))
#define ALL         (BIT(KEYS) - 1)
#define ELEMENTS    (ALL & ~(CARTESIAN | SOLID | BIT(m) | BIT(mass_ratio) | BIT(log10_m)))

typedef unsigned long long keys;

/* Of each of these sets at most one may be given. */
static const keys one_of[] = {SIZE, ANOMALY, APSIS, MASS, INCLINATION};
/* Of each of these all or none. */
static const keys together[] = {BY_POMEGA, POLE, BY_OMEGA, BY_ROOT};
/* The first and the second of each may not both be given. */
static const keys exclusive[][2] = {
    {BY_POMEGA, BIT(e) | APSIS | BY_OMEGA | BY_ROOT},
    {BY_OMEGA, BIT(e) | APSIS | BY_ROOT},
    {BY_ROOT, BIT(e) | APSIS},
    {POLE, INCLINATION | BIT(Omega)},
    {BIT(epoch), BIT(T) | BIT(T0) | BIT(delta_l)},
    {BIT(K), BIT(hill_spacing)},
};

/* "a, P" */
static const char *name_keys(keys these, char text[MOST_NAMES])
{
    text[0] = '\0';
    for (int i = 0; i < SHOAL_BODY_KEYS; i++)
        if (these & 1ull << i)
            snprintf(text + strlen(text), MOST_NAMES - strlen(text), "%s%s", *text ? ", " : "",
                     shoal_body_key(i)->row.name);
    return text;
}

static keys given_keys(const shoal_body_input *body)
{
    keys given = 0;
    for (int i = 0; i < SHOAL_BODY_KEYS; i++)
        given |= body->source[i] ? 1ull << i : 0;
    return given;
}

/* Overrides come after every line. */
static unsigned order_of(const config_setting_t *setting)
{
    return config_setting_get_hook(setting) ? ~0u : config_setting_source_line(setting);
}

/* Where the last of some keys is given. */
static const config_setting_t *place_of(const shoal_body_input *body, keys these)
{
    const config_setting_t *place = NULL;
    for (int i = 0; i < SHOAL_BODY_KEYS; i++)
        if (these & 1ull << i && body->source[i] && (!place || order_of(body->source[i]) >= order_of(place)))
            place = body->source[i];
    return place;
}

const config_setting_t *shoal_body_mass_source(const shoal_body_input *body)
{
    return place_of(body, MASS | SOLID);
}

bool shoal_body_is_cartesian(const shoal_body_input *body)
{
    return (given_keys(body) & CARTESIAN) != 0;
}

/* Keys that are given together though each says the same, or not all of those that belong together. */
static shoal_status check_sets(const shoal_config *config, const shoal_body_input *body)
{
    const keys given = given_keys(body);
    char some[MOST_NAMES], others[MOST_NAMES];
    for (int i = 0; i < SHOAL_COUNT(one_of); i++) {
        const keys both = given & one_of[i];
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
    return SHOAL_OK;
}

/* Keys that need others. */
static shoal_status check_needs(const shoal_config *config, const config_setting_t *setting,
                                const shoal_body_input *body, const shoal_body_input *star, shoal_frame frame)
{
    const keys given = given_keys(body), projected = given & (BIT(msini) | BIT(K));
    char some[MOST_NAMES];
    if (projected && !(given & (INCLINATION | POLE)))
        return shoal_config_fail(config, place_of(body, projected), NULL, NULL, "inc (or ix, iy, cosi, b) with %s",
                                 name_keys(projected, some));
    if (given & (BIT(K) | BIT(b)) && frame == SHOAL_BARYCENTRIC)
        return shoal_config_fail(config, place_of(body, given & (projected | BIT(b))), NULL, NULL,
                                 "no %s with barycentric elements, whose orbits depend on all masses",
                                 name_keys(given & (projected | BIT(b)), some));
    if (shoal_body_mass_follows(body) && given & BIT(hill_spacing))
        return shoal_config_fail(config, place_of(body, BIT(hill_spacing)), NULL, NULL, "either %s or hill_spacing",
                                 name_keys(given & (projected | BIT(b)), some));
    if (given & BIT(b) && !(given_keys(star) & SOLID))
        return shoal_config_fail(config, place_of(body, BIT(b)), NULL, NULL, "r or density of the first body with b");
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

static shoal_status check_mass(const shoal_config *config, const config_setting_t *setting,
                               const shoal_body_input *body)
{
    const keys given = given_keys(body);
    char some[MOST_NAMES];
    if (!(given & MASS) && (given & SOLID) != SOLID)
        return shoal_config_fail(config, setting, "m", NULL, "a mass: it must be given");
    if (given & MASS && (given & SOLID) == SOLID)
        return shoal_config_fail(config, place_of(body, given & (MASS | SOLID)), NULL, NULL,
                                 "only two of density, r, %s", name_keys(given & MASS, some));
    return SHOAL_OK;
}

shoal_status shoal_body_check(const shoal_config *config, const config_setting_t *setting, const shoal_body_input *body,
                              const shoal_body_input *star, bool cartesian, shoal_frame frame)
{
    const bool central = body == star;
    const keys given = given_keys(body), foreign = given & (cartesian ? ELEMENTS : CARTESIAN);
    char some[MOST_NAMES];

    shoal_status status = check_mass(config, setting, body);
    if (status)
        return status;
    if (foreign)
        return shoal_config_fail(config, place_of(body, foreign), NULL, NULL,
                                 cartesian
                                     ? "no elements (%s): bodies are either all Cartesian or all given by elements"
                                     : "elements, not %s: bodies are either all Cartesian or all given by elements",
                                 name_keys(foreign, some));
    if (central && given & BIT(mass_ratio))
        return shoal_config_fail(config, place_of(body, BIT(mass_ratio)), NULL, NULL,
                                 "no mass_ratio for the first body: those of others are to its mass");
    if (cartesian) {
        const keys missing = CARTESIAN & ~given;
        return missing ? shoal_config_fail(config, setting, NULL, NULL, "x, y, z, vx, vy, vz; there is no %s",
                                           name_keys(missing, some))
                       : SHOAL_OK;
    }
    if (central)
        return given & ELEMENTS ? shoal_config_fail(config, place_of(body, given & ELEMENTS), NULL, NULL,
                                                    "no elements (%s) for the first body: it is the central one",
                                                    name_keys(given & ELEMENTS, some))
                                : SHOAL_OK;
    status = check_sets(config, body);
    return status ? status : check_needs(config, setting, body, star, frame);
}

bool shoal_body_is_tied(const shoal_body_input *body)
{
    return (given_keys(body) & TIED) != 0;
}

#define GIVEN(name) (body->source[SHOAL_BODY_##name] != NULL)
#define V(name)     body->value[SHOAL_BODY_##name]

bool shoal_body_mass_follows(const shoal_body_input *body)
{
    return GIVEN(K) || (GIVEN(msini) && GIVEN(b));
}

/* Longitude of pericentre over argument of pericentre: which way longitudes count. */
static double sense(double inc)
{
    return cos(inc) < 0 ? -1 : 1;
}

/* An orbit's shape and place, but for its size. */
typedef struct shape {
    double e, Omega, omega, pomega, s; /* s: sense */
} shape;

static shape shape_of(const shoal_body_input *body, const shoal_orbit *other)
{
    shape of = {.e = V(e), .Omega = V(Omega), .omega = V(omega), .pomega = V(pomega)};
    const double across = GIVEN(b) ? V(b) : GIVEN(cosi) ? V(cosi) : GIVEN(ix) ? 0 : cos(V(inc));
    of.s = GIVEN(ix) ? sense(2 * asin(hypot(V(ix), V(iy)) / 2)) : across < 0 ? -1 : 1;
    if (GIVEN(ix))
        of.Omega = V(ix) != 0 || V(iy) != 0 ? atan2(V(iy), V(ix)) : 0;
    if (GIVEN(h)) {
        of.e = hypot(V(h), V(k));
        of.pomega = of.e > 0 ? atan2(V(h), V(k)) : 0;
    }
    if (GIVEN(e_cos)) {
        of.e = hypot(V(e_cos), V(e_sin));
        of.omega = of.e > 0 ? atan2(V(e_sin), V(e_cos)) : 0;
    }
    if (GIVEN(sqrt_e_cos)) {
        of.e = V(sqrt_e_cos) * V(sqrt_e_cos) + V(sqrt_e_sin) * V(sqrt_e_sin);
        of.omega = of.e > 0 ? atan2(V(sqrt_e_sin), V(sqrt_e_cos)) : 0;
    }
    if (GIVEN(delta_pomega))
        of.pomega = other->Omega + sense(other->inc) * other->omega + V(delta_pomega);
    if (GIVEN(h) || GIVEN(pomega) || GIVEN(delta_pomega))
        of.omega = of.s * (of.pomega - of.Omega);
    else
        of.pomega = of.Omega + of.s * of.omega;
    return of;
}

/* Its semi-major axis, and its inclination, NaN if there is none. */
static double size_of(const shoal_body_input *body, const shoal_body_place *place, double mu, double hill)
{
    const double P = GIVEN(P) ? V(P) : V(period_ratio) * place->other->P;
    return GIVEN(P) || GIVEN(period_ratio) ? cbrt(mu * (P / (2 * M_PI)) * (P / (2 * M_PI)))
           : GIVEN(hill_spacing) ? place->other->a * (1 + V(hill_spacing) * hill) / (1 - V(hill_spacing) * hill)
                                 : V(a);
}

static double inclination_of(const shoal_body_input *body, const shoal_body_place *place, const shape *of, double a)
{
    return GIVEN(ix)     ? 2 * asin(hypot(V(ix), V(iy)) / 2)
           : GIVEN(cosi) ? acos(V(cosi))
           : GIVEN(b) ? acos(V(b) * place->star_radius / a * (1 + of->e * sin(of->omega)) / ((1 - of->e) * (1 + of->e)))
                      : V(inc);
}

/* The mass x M that gives M the velocity K sin(inc): K = (m / mu) n a / sqrt(1 - e^2), n^2 a^3 = mu = M + m. With a
 * that is a quadratic equation for m, with P x^3 = y (1 + x)^2, y = K^3 (1 - e^2)^(3/2) / (n M). The start is above the
 * root of this convex function. */
static double mass_of_velocity(const shoal_body_input *body, const shoal_body_place *place, double e, double projection)
{
    enum { ROUNDS = 8 };
    const double M = place->within, v = V(K) * sqrt((1 - e) * (1 + e)) / projection;
    if (GIVEN(a)) {
        const double q = v * v * V(a);
        return v > 0 ? (q + sqrt(q * (q + 4 * M))) / 2 : v;
    }
    const double P = GIVEN(P) ? V(P) : V(period_ratio) * place->other->P;
    const double z = v * cbrt(P / (2 * M_PI) / M), y = z * z * z;
    double x = y + 2 * z;
    for (int round = 0; round < ROUNDS && x > 0; round++)
        x -= (x * x * x - y * (1 + x) * (1 + x)) / (3 * x * x - 2 * y * (1 + x));
    return x * M;
}

double shoal_body_mass(const shoal_body_input *body, const shoal_body_place *place)
{
    enum { ROUNDS = 12 }; /* of an inclination that depends on the mass, a little */
    if (!(given_keys(body) & MASS))
        return 4 * M_PI / 3 * V(density) * V(r) * V(r) * V(r);
    if (!GIVEN(msini) && !GIVEN(K))
        return GIVEN(mass_ratio) ? V(mass_ratio) * place->star_mass
               : GIVEN(log10_m)  ? pow(10, V(log10_m)) * body->mass_unit
                                 : V(m);
    const shape of = shape_of(body, place->other);
    double m = 0;
    for (int round = 0; round < (GIVEN(b) ? ROUNDS : 1); round++) {
        const double a = GIVEN(b) ? size_of(body, place, place->within + m, NAN) : NAN;
        const double projection = sin(inclination_of(body, place, &of, a));
        if (!(projection > 1e-12))
            return INFINITY;
        m = GIVEN(K) ? mass_of_velocity(body, place, of.e, projection) : V(msini) / projection;
    }
    return m;
}

double shoal_body_radius(const shoal_body_input *body, double m)
{
    return GIVEN(density) && !GIVEN(r) ? cbrt(3 * m / (4 * M_PI * V(density))) : V(r);
}

bool shoal_body_orbit(const shoal_body_input *body, const shoal_body_place *place, double m, double mu,
                      shoal_orbit *orbit, const char **reason)
{
    const shoal_orbit *other = place->other;
    const double hill = cbrt((m + place->other_mass) / (3 * place->star_mass)) / 2;
    const shape of = shape_of(body, other);
    const double e = of.e, omega = of.omega, pomega = of.pomega, s = of.s;
    const double a = size_of(body, place, mu, hill), inc = inclination_of(body, place, &of, a);
    if (isnan(inc) && !GIVEN(b)) {
        *reason = "ix^2 + iy^2 is greater than 4";
        return false;
    }
    *reason = GIVEN(P) && V(P) <= 0                         ? "P <= 0"
              : GIVEN(period_ratio) && V(period_ratio) <= 0 ? "period_ratio <= 0"
              : GIVEN(K) && !(e < 1)                        ? "e >= 1 with K"
              : isinf(m) && (GIVEN(msini) || GIVEN(K))      ? "an inclination of 0 with msini or K"
              : !isfinite(m)                                ? "a mass that is not finite"
              : !(mu > 0)                                   ? "no mass within the orbit"
              : GIVEN(hill_spacing) && !(fabs(V(hill_spacing) * hill) < 1)
                  ? "so many Hill radii that there is no such a"
              : GIVEN(period_ratio) && !isfinite(a)                 ? "a ratio to no period"
              : !isfinite(a) || a == 0                              ? "a = 0"
              : !isfinite(e) || e < 0                               ? "e < 0"
              : e == 1                                              ? "e = 1: a parabola has no a"
              : e < 1 && a < 0                                      ? "e < 1 with a < 0"
              : e > 1 && a > 0 && (GIVEN(P) || GIVEN(period_ratio)) ? "e > 1 with a period"
              : e > 1 && a > 0                                      ? "e > 1 with a > 0"
              : isnan(inc)                                          ? "so large a b that there is no such orbit"
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
        M = s * (other->Omega + sense(other->inc) * other->omega + sense(other->inc) * other->M + V(delta_l) - pomega);
    else if (GIVEN(T))
        M = n * (place->t - V(T));
    else if (GIVEN(T0))
        M = shoal_mean_anomaly(e, remainder(M_PI / 2 - omega, 2 * M_PI)) + n * (place->t - V(T0));
    else if (GIVEN(theta))
        f = s * (V(theta) - pomega);
    if (GIVEN(epoch))
        M = (isnan(M) ? shoal_mean_anomaly(e, f) : M) + n * (place->t - V(epoch));
    const bool from_M = GIVEN(epoch) || (given_keys(body) & ANOMALY & ~(BIT(f) | BIT(theta))) != 0;
    if (from_M)
        f = isfinite(M) ? shoal_true_anomaly(e, e < 1 ? remainder(M, 2 * M_PI) : M) : NAN;
    if (!isfinite(f)) {
        *reason = "no such place on a hyperbola";
        return false;
    }
    *orbit = (shoal_orbit){.a = a, .e = e, .inc = inc, .Omega = of.Omega, .omega = omega, .f = f};
    orbit->M = from_M ? M : shoal_mean_anomaly(e, f);
    orbit->P = e < 1 ? 2 * M_PI / n : INFINITY;
    return true;
}
