/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * moves.c: where a walker x of one half of an ensemble wants to go, by walkers a, b, c of the other half. These stay
 * where they are meanwhile, so that all of a half can move at once.
 *
 *     differential evolution (ter Braak 2006, doi:10.1007/s11222-006-8769-1)
 *         x' = x + g (1 + l) (1 + m) (a - b), g = 2.38 / sqrt(2 k), in each tenth step 1, which goes from mode to
 *         mode; l uniform in -0.05..0.05; m uniform in -0.0001..0.0001 for each parameter, so that no step stays in the
 *         space that the others span. A larger m leaves narrow ridges between correlated parameters
 *     snooker (ter Braak & Vrugt 2008, doi:10.1007/s11222-008-9104-9), a tenth of the moves
 *         x' = x + g P (a - b), P the projection on x - c, g uniform in 1.2..2.2; factor (|x' - c| / |x - c|)^(k - 1)
 *     stretch (Goodman & Weare 2010, doi:10.2140/camcos.2010.5.65)
 *         x' = a + z (x - a), density of z as 1 / sqrt(z) in 1/2..2; factor z^(k - 1)
 *     mapped (Parno & Marzouk 2018, doi:10.1137/17M1134640; Cotter et al. 2013, doi:10.1214/13-STS421), where a map
 *     u(x) is learnt (map.c), half of the moves of differential evolution
 *         u(x') = sqrt(1 - b^2) u(x) + b n, n standard normal, b one of 1, 1/2, 1/4, 1/8;
 *         factor exp((|u(x')|^2 - |u(x)|^2) / 2)
 *     It keeps a standard normal distribution of u, so that nearly all moves are taken where the map is good, and b = 1
 *     forgets x at once. The others need no map: they go to what it does not know
 *
 * Angles with a period go the shortest way. A stretch beyond half a period has no single way back and is refused, as is
 * a mapped move to where the map would see an angle a period off.
 * Lengths, which snooker compares, are in units of each parameter's scale.
 */
#include <math.h>

#include "core/fit/fit.h"

#define SNOOKERS 0.1 /* part of the moves */
#define MAPPED   0.5 /* with a map */
#define STRETCH  0.05
#define JITTER   1e-4
enum { JUMPS = 10, LENGTHS = 4 }; /* one in so many steps is a jump; of mapped moves */

double shoal_fit_difference(double period, double a, double b)
{
    return period > 0 ? remainder(a - b, period) : a - b;
}

static double period_of(const shoal_fit_others *others, int i)
{
    return others->period ? others->period[i] : 0;
}

/* from + (factor - 1) (from - c), which is no more than half a period from c. */
static bool stretch_from(const shoal_fit_others *others, const double *c, double factor, const double *from, double *to)
{
    bool good = true;
    for (int i = 0; i < others->k; i++) {
        const double period = period_of(others, i), along = shoal_fit_difference(period, from[i], c[i]);
        to[i] = c[i] + factor * along;
        good = good && (period == 0 || fabs(factor * along) < period / 2);
    }
    return good;
}

static double propose_stretch(const shoal_fit_key *key, const shoal_fit_others *others, const double *from, double *to)
{
    const double a = 2, root = (a - 1) * shoal_fit_uniform(key, SHOAL_FIT_USE_SCALE) + 1, z = root * root / a;
    const double *c = others->theta + shoal_fit_pick(key, SHOAL_FIT_USE_FIRST, others->n) * others->k;
    return stretch_from(others, c, z, from, to) ? (others->k - 1) * log(z) : -INFINITY;
}

static double propose_snooker(const shoal_fit_key *key, const shoal_fit_others *others, const double *const other[3],
                              const double *from, double *to)
{
    const double *c = other[2], gamma = 1.2 + shoal_fit_uniform(key, SHOAL_FIT_USE_SCALE);
    double along = 0, length2 = 0;
    for (int i = 0; i < others->k; i++) {
        const double period = period_of(others, i), scale = others->scale[i];
        const double axis = shoal_fit_difference(period, from[i], c[i]) / scale;
        along += axis * shoal_fit_difference(period, other[0][i], other[1][i]) / scale;
        length2 += axis * axis;
    }
    const double factor = 1 + gamma * along / length2; /* |x' - c| / |x - c|, with a sign */
    return length2 > 0 && stretch_from(others, c, factor, from, to) ? (others->k - 1) * log(fabs(factor)) : -INFINITY;
}

static double propose_mapped(const shoal_fit_key *key, const shoal_fit_others *others, const double *from, double *to)
{
    const double b = ldexp(1, -(int)shoal_fit_pick(key, SHOAL_FIT_USE_SCALE, LENGTHS)), rest = sqrt(1 - b * b);
    double *u = others->u, *v = u + others->k, factor = 0;
    shoal_map_to(others->map, from, u);
    for (int i = 0; i < others->k; i++) {
        v[i] = rest * u[i] + b * shoal_fit_normal(key, SHOAL_FIT_USE_AXIS + i);
        factor += (v[i] * v[i] - u[i] * u[i]) / 2;
    }
    shoal_map_from(others->map, v, to);
    for (int i = 0; i < others->k; i++)
        if (period_of(others, i) > 0 && !(fabs(to[i] - others->centre[i]) < period_of(others, i) / 2))
            return -INFINITY;
    return factor;
}

double shoal_fit_propose(int method, const shoal_fit_key *key, const shoal_fit_others *others, const double *from,
                         double *to)
{
    if (method == SHOAL_FIT_STRETCH)
        return propose_stretch(key, others, from, to);
    if (others->map && shoal_fit_uniform(key, SHOAL_FIT_USE_MAPPED) < MAPPED)
        return propose_mapped(key, others, from, to);
    /* three that are not the same */
    const long n = others->n, first = shoal_fit_pick(key, SHOAL_FIT_USE_FIRST, n),
               second = (first + 1 + shoal_fit_pick(key, SHOAL_FIT_USE_SECOND, n - 1)) % n,
               low = first < second ? first : second, high = first < second ? second : first;
    long third = shoal_fit_pick(key, SHOAL_FIT_USE_THIRD, n - 2);
    third += third >= low;
    third += third >= high;
    const double *const other[3] = {others->theta + first * others->k, others->theta + second * others->k,
                                    others->theta + third * others->k};
    if (shoal_fit_uniform(key, SHOAL_FIT_USE_MOVE) < SNOOKERS)
        return propose_snooker(key, others, other, from, to);
    const double gamma = (key->step % JUMPS == JUMPS - 1 ? 1 : 2.38 / sqrt(2.0 * others->k)) *
                         (1 + STRETCH * (2 * shoal_fit_uniform(key, SHOAL_FIT_USE_SCALE) - 1));
    for (int i = 0; i < others->k; i++) {
        const double jitter = JITTER * (2 * shoal_fit_uniform(key, SHOAL_FIT_USE_AXIS + i) - 1);
        to[i] = from[i] + gamma * (1 + jitter) * shoal_fit_difference(period_of(others, i), other[0][i], other[1][i]);
    }
    return 0;
}
