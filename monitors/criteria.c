/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * criteria.c: what the world knows of criteria.kern.h, and the criteria: how near a planetary system is, by its initial
 * conditions, to what may be unstable. Each is a ratio: above 1 the criterion does not say that it is stable. They are
 * of pairs of neighbours, inner 1 and outer 2, by Jacobi elements; the column is that of the worst pair. Bodies
 * without mass between two others hide neither from the other.
 *
 * With alpha = a1/a2, gamma = m1/m2, eps = (m1 + m2)/m0, Lambda_k = m'_k sqrt(mu_k a_k), m'_k the reduced mass, and
 * C = sum Lambda_k - |L| (amd.kern.h):
 *
 *   amd_ratio          C / (Lambda_2 Cc), Cc = gamma sqrt(alpha) (1 - sqrt(1 - e1^2)) + 1 - sqrt(1 - e2^2) where
 *                      alpha e1 + gamma e1 / sqrt(alpha (1 - e1^2) + gamma^2 e1^2) = 1 - alpha, alpha e1 + e2 = 1 -
 *                      alpha: the least with which the orbits can meet. Laskar & Petit 2017, A&A 605, A72, eq. 35
 *   amd_star           C / Lambda of the innermost: it cannot come to meet the star. Ibid.
 *   amd_hill_ratio     C / (Lambda_2 CH), CH = gamma sqrt(alpha) + 1 - (1 + gamma)^(3/2) sqrt(alpha / (gamma + alpha)
 *                      (1 + 3^(4/3) eps^(2/3) gamma / (1 + gamma)^2)). Petit, Laskar & Boue 2018, A&A 617, A93, eq. 26
 *   hill_ratio         of (p/a)crit over p/a = -2 M c^2 h / (G^2 (m0 m1 + m0 m2 + m1 m2)^3), with the energy h and the
 *                      angular momentum c of star and pair, M their mass: below 1 the zero-velocity surfaces part the
 *                      two for ever, as long as nobody else pulls. Marchal & Bozis 1982, Celest. Mech. 26, 311. The
 *                      critical value is that of Euler's collinear solution with planet 1 in the middle, to all orders;
 *                      1 + 3^(4/3) m1 m2 / (m0^(2/3) (m1 + m2)^(4/3)) - m1 m2 (11 m1 + 7 m2) / (3 m0 (m1 + m2)^2) are
 *                      its first ones (Gladman 1993, Icarus 106, 247)
 *   hill_separation    (a2 - a1) over the mutual Hill radius (eps / 3)^(1/3) (a1 + a2) / 2, the least; circular orbits
 *                      are Hill stable from 2 sqrt(3) on (Gladman 1993)
 *   overlap_ratio      1.46 eps^(2/7) a1 / (a2 - a1): first-order resonances of circular orbits overlap. Deck, Payne &
 *                      Holman 2013, ApJ 774, 129; the law is that of Wisdom 1980, AJ 85, 1122, whose factor for a test
 *                      particle is 1.3
 *   overlap_eccentric  Z / Zc, Z = |e2 - e1| / sqrt(2) of the vectors towards pericentre, Zc = (a2 - a1) / (sqrt(2) a1)
 *                      exp(-2.2 eps^(1/3) (a2 / (a2 - a1))^(4/3)): resonances of all orders overlap, in a plane. Hadden
 *                      & Lithwick 2018, AJ 156, 95, eq. 16 and 19
 */
#include <math.h>
#include <stdlib.h>

#include "core/ensemble/ensemble.h"
#include "monitors/criteria.kern.h"

enum { ROUNDS = 60 };

/* A planet with its Jacobi orbit, and Lambda of that. */
typedef struct planet {
    shoal_orbit orbit;
    shoal_body body;
    double lambda;
} planet;

static int by_axis(const void *a, const void *b)
{
    const double x = ((const planet *)a)->orbit.a, y = ((const planet *)b)->orbit.a;
    return (x > y) - (x < y);
}

/* The critical angular momentum deficit over Lambda of the outer planet. The root is between 0 and the eccentricity
 * with which orbit 1 alone meets a circle of a2, or 1; Newton's iteration, or the middle where that leaves it. */
static double critical_deficit(double alpha, double gamma)
{
    double low = 0, high = fmin(1, 1 / alpha - 1), e = 0.5 * high;
    for (int i = 0; i < ROUNDS; i++) {
        const double q = alpha * (1 - e * e) + gamma * gamma * e * e;
        const double f = alpha * e + gamma * e / sqrt(q) - 1 + alpha, before = e;
        low = f < 0 ? e : low;
        high = f < 0 ? high : e;
        e -= f / (alpha + alpha * gamma / (q * sqrt(q)));
        e = e > low && e < high ? e : 0.5 * (low + high);
        if (fabs(e - before) < 1e-16)
            break;
    }
    const double outer = 1 - alpha - alpha * e;
    return gamma * sqrt(alpha) * (1 - sqrt(1 - e * e)) + 1 - sqrt(1 - outer * outer);
}

static double critical_deficit_hill(double alpha, double gamma, double eps)
{
    const double closed = pow(3, 4.0 / 3) * cbrt(eps * eps) * gamma / ((1 + gamma) * (1 + gamma));
    return gamma * sqrt(alpha) + 1 - (1 + gamma) * sqrt((1 + gamma) * alpha / (gamma + alpha) * (1 + closed));
}

/* M I U^2 / (m0 m1 + m0 m2 + m1 m2)^3 is stationary at the collinear solution: bodies 0, 1, 2 at 0, 1, 1 + s on a line,
 * moment of inertia I, potential U. The distance s is found by halving intervals of ln s. */
static double critical_pa(double m0, double m1, double m2)
{
    const double M = m0 + m1 + m2, pairs = m0 * m1 + m0 * m2 + m1 * m2;
    double low = -25, high = 3, I = 0, U = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const double middle = 0.5 * (low + high), s = exp(middle), far = 1 + s;
        I = (m0 * m1 + m0 * m2 * far * far + m1 * m2 * s * s) / M;
        U = m0 * m1 + m0 * m2 / far + m1 * m2 / s;
        const double of_I = 2 * (m0 * m2 * far + m1 * m2 * s) / M, of_U = -m0 * m2 / (far * far) - m1 * m2 / (s * s);
        if (of_I / I + 2 * of_U / U < 0)
            low = middle;
        else
            high = middle;
    }
    return M * I * U * U / (pairs * pairs * pairs);
}

/* -2 M c^2 h / pairs^3 of three bodies. */
static double pa_of(const shoal_body *star, const shoal_body *one, const shoal_body *two)
{
    const shoal_body *body[3] = {star, one, two};
    const double M = star->m + one->m + two->m, pairs = star->m * one->m + star->m * two->m + one->m * two->m;
    double L[3] = {0}, h = 0;
    for (int i = 0; i < 3; i++) /* of pairs: about the barycentre, whatever the origin */
        for (int j = i + 1; j < 3; j++) {
            const double x = body[j]->x - body[i]->x, y = body[j]->y - body[i]->y, z = body[j]->z - body[i]->z;
            const double vx = body[j]->vx - body[i]->vx, vy = body[j]->vy - body[i]->vy, vz = body[j]->vz - body[i]->vz;
            const double both = body[i]->m * body[j]->m, share = both / M;
            L[0] += share * (y * vz - z * vy);
            L[1] += share * (z * vx - x * vz);
            L[2] += share * (x * vy - y * vx);
            h += 0.5 * share * (vx * vx + vy * vy + vz * vz) - both / sqrt(x * x + y * y + z * z);
        }
    return -2 * M * h * (L[0] * L[0] + L[1] * L[1] + L[2] * L[2]) / (pairs * pairs * pairs);
}

/* value / limit, +inf where the limit lets nothing pass. */
static double ratio(double value, double limit)
{
    return limit > 0 ? value / limit : INFINITY;
}

/* The larger, of values that are known. */
static void worsen(double *slot, double value)
{
    *slot = fmax(*slot, value);
}

/* The eccentricity vector. */
static void to_pericentre(const shoal_orbit *orbit, double e[3])
{
    const double c = cos(orbit->Omega), s = sin(orbit->Omega), along = orbit->e * cos(orbit->omega),
                 across = orbit->e * sin(orbit->omega), level = across * cos(orbit->inc);
    e[0] = c * along - s * level;
    e[1] = s * along + c * level;
    e[2] = across * sin(orbit->inc);
}

/* A pair of neighbours; C: of the system, NaN where a planet has no mass. */
static void add_pair(const shoal_body *star, const planet *one, const planet *two, double C, double *slots)
{
    const double m1 = one->body.m, m2 = two->body.m, a1 = one->orbit.a, a2 = two->orbit.a, alpha = a1 / a2,
                 eps = (m1 + m2) / star->m, apart = a2 - a1;
    if (!(eps > 0))
        return; /* they do not feel each other */
    double e1[3], e2[3];
    to_pericentre(&one->orbit, e1);
    to_pericentre(&two->orbit, e2);
    const double x = e2[0] - e1[0], y = e2[1] - e1[1], z = e2[2] - e1[2], Z = sqrt(0.5 * (x * x + y * y + z * z));
    const double least = exp(-2.2 * cbrt(eps) * pow(a2 / apart, 4.0 / 3)) * apart / (M_SQRT2 * a1);
    worsen(&slots[CRITERIA_OVERLAP], ratio(1.46 * pow(eps, 2.0 / 7) * a1, apart));
    worsen(&slots[CRITERIA_ECCENTRIC], ratio(Z, least));
    slots[CRITERIA_SEPARATION] = fmin(slots[CRITERIA_SEPARATION], apart / (cbrt(eps / 3) * 0.5 * (a1 + a2)));
    if (!(m1 > 0 && m2 > 0))
        return;
    worsen(&slots[CRITERIA_HILL], ratio(critical_pa(star->m, m1, m2), pa_of(star, &one->body, &two->body)));
    if (isnan(C))
        return;
    worsen(&slots[CRITERIA_AMD], ratio(C / two->lambda, critical_deficit(alpha, m1 / m2)));
    worsen(&slots[CRITERIA_AMD_HILL], ratio(C / two->lambda, critical_deficit_hill(alpha, m1 / m2, eps)));
}

/* The planets, from the inside; returns how many, 0 if one is unbound. C: the deficit, NaN where one has no mass. */
static int read_planets(const shoal_ensemble *ensemble, long system, shoal_body *bodies, shoal_orbit *orbits,
                        planet *planets, double *C)
{
    int n = 0;
    double mass, lambda = 0, L[3];
    for (int i = 0; i < ensemble->n_bodies; i++) {
        bodies[n] = shoal_ensemble_read_body(ensemble, system, i);
        n += !signbit(bodies[n].m); /* it is there */
    }
    if (n < 3 || shoal_orbits_from_bodies(NULL, SHOAL_JACOBI, n, bodies, orbits))
        return 0;
    mass = bodies[0].m;
    for (int i = 1; i < n; i++) {
        const double mu = mass + bodies[i].m;
        planets[i - 1] = (planet){orbits[i], bodies[i], bodies[i].m * mass / mu * sqrt(mu * orbits[i].a)};
        if (!(orbits[i].a > 0 && orbits[i].e < 1))
            return 0;
        lambda += bodies[i].m > 0 ? planets[i - 1].lambda : NAN;
        mass = mu;
    }
    shoal_ensemble_angular_momentum(ensemble, system, L);
    *C = lambda - sqrt(L[0] * L[0] + L[1] * L[1] + L[2] * L[2]);
    *C = *C < 0 ? 0 : *C; /* of circles it is rounding */
    qsort(planets, (size_t)n - 1, sizeof *planets, by_axis);
    return n - 1;
}

static void begin(const shoal_ensemble *ensemble, long system, double *slots)
{
    const size_t room = (size_t)ensemble->n_bodies;
    double C;
    if (slots[CRITERIA_KNOWN] != 0)
        return; /* it goes on after a merger */
    slots[CRITERIA_KNOWN] = 1;
    shoal_body *bodies = malloc(room * (sizeof *bodies + sizeof(shoal_orbit) + sizeof(planet)));
    if (!bodies)
        return;
    shoal_orbit *orbits = (shoal_orbit *)(bodies + room);
    planet *planets = (planet *)(orbits + room);
    const int n = read_planets(ensemble, system, bodies, orbits, planets, &C);
    for (int i = 1; i < n; i++)
        for (int j = i - 1; j >= 0 && (j == i - 1 || !(planets[j + 1].body.m > 0)); j--)
            add_pair(&bodies[0], &planets[j], &planets[i], C, slots);
    if (n > 0)
        slots[CRITERIA_AMD_STAR] = C / planets[0].lambda;
    free(bodies);
}

static const double initial[criteria_PART_SLOTS] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0};

static const char *refuses(const double *p, const shoal_ensemble *ensemble)
{
    (void)p;
    return ensemble && ensemble->n_bodies < 3 ? "it judges pairs of planets, and there is none" : NULL;
}

#define COLUMN(name, slot)                                   \
    static double name(const double *slots, const double *p) \
    {                                                        \
        return (void)p, slots[slot];                         \
    }
COLUMN(amd, CRITERIA_AMD)
COLUMN(amd_star, CRITERIA_AMD_STAR)
COLUMN(amd_hill, CRITERIA_AMD_HILL)
COLUMN(hill, CRITERIA_HILL)
COLUMN(separation, CRITERIA_SEPARATION)
COLUMN(overlap, CRITERIA_OVERLAP)
COLUMN(eccentric, CRITERIA_ECCENTRIC)

static const shoal_monitor_column columns[] = {
    {"amd_ratio", "", "angular momentum deficit over that with which neighbours can collide: AMD-stable below 1", amd,
     SHOAL_OF_LEAST},
    {"amd_star", "", "the same deficit over that with which the innermost planet can hit the star", amd_star,
     SHOAL_OF_LEAST},
    {"amd_hill_ratio", "", "the same deficit over that up to which neighbours are Hill stable", amd_hill,
     SHOAL_OF_LEAST},
    {"hill_ratio", "", "critical p/a over that of neighbours and star: Hill stable below 1", hill, SHOAL_OF_LEAST},
    {"hill_separation", "", "least difference of neighbours' semi-major axes over their mutual Hill radius", separation,
     SHOAL_OF_LEAST},
    {"overlap_ratio", "",
     "spacing at which first-order resonances of circular orbits overlap, over that of neighbours: they overlap above "
     "1",
     overlap, SHOAL_OF_LEAST},
    {"overlap_eccentric", "",
     "relative eccentricity of neighbours over that from which resonances overlap: chaos above 1", eccentric,
     SHOAL_OF_LEAST},
};

const shoal_monitor shoal_monitor_criteria = {
    .name = "criteria",
    .doc = "criteria of stability of the initial conditions, of the worst pair of neighbours: AMD, Hill stability, "
           "overlap of resonances",
    .reference =
        "Laskar & Petit 2017, A&A 605, A72; Petit, Laskar & Boue 2018, A&A 617, A93; Marchal & Bozis 1982, "
        "Celest. Mech. 26, 311; Gladman 1993, Icarus 106, 247; Deck, Payne & Holman 2013, ApJ 774, 129; Hadden & "
        "Lithwick 2018, AJ 156, 95",
    .ends_only = true,
    .parts = SHOAL_ONE_PART,
    .n_part_slots = SHOAL_COUNT(initial),
    .part_initial = initial,
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
    .refuses = refuses,
    .begin = begin,
};
