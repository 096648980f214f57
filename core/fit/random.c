/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * random.c: random numbers by their place: (seed, step, walker, use) through the finalizer of SplitMix64 (Steele, Lea &
 * Flood, doi:10.1145/2660193.2660195), once for each of the four, as core/study/sample.c has it for (seed, system,
 * parameter). A fit that goes on from a checkpoint needs no state of a generator, and walkers may be moved in any
 * order.
 */
#include <gsl/gsl_cdf.h>

#include "core/fit/fit.h"

static const uint64_t golden = 0x9e3779b97f4a7c15u;

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double shoal_fit_uniform(const shoal_fit_key *key, int use)
{
    uint64_t z = mix(key->seed + golden);
    z = mix((z ^ key->step) + golden);
    z = mix((z ^ key->slot) + golden);
    z = mix((z ^ (uint64_t)use) + golden);
    return ((double)(z >> 12) + 0.5) * 0x1p-52;
}

double shoal_fit_normal(const shoal_fit_key *key, int use)
{
    return gsl_cdf_ugaussian_Pinv(shoal_fit_uniform(key, use));
}

long shoal_fit_pick(const shoal_fit_key *key, int use, long n)
{
    return (long)(shoal_fit_uniform(key, use) * (double)n);
}
