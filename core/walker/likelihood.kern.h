/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * likelihood.kern.h: from what is seen of a walker to ln L, the natural logarithm with its constants:
 *
 *     ln L = sum over data of  -(value - model)^2 / (2 s^2) - ln(2 pi s^2) / 2,   s^2 = error^2 + jitter^2
 *     or with Student's t distribution of n degrees of freedom
 *            ln Gamma((n + 1) / 2) - ln Gamma(n / 2) - ln(n pi s^2) / 2
 *            - (n + 1) / 2 ln(1 + (value - model)^2 / (n s^2))
 *     model = seen + offset + trend (t - epoch) + curvature (t - epoch)^2
 *
 * Errors may be correlated (correlated.kern.h). A pair of numbers that were measured together has a normal distribution
 * in common: that of one, and that of the other given the first,
 *     mean  model + c / s_1^2 (value_1 - model_1),   variance  s^2 - c^2 / s_1^2,   c = correlation error error_1
 *
 * A set may be integrated over the numbers in which its model is linear, with flat priors of density 1: an offset, or
 * of scans the place and its motion. It adds b A^-1 b / 2 - ln det(A / 2 pi) / 2, where A and b are the normal
 * equations' matrix and right side of the residuals without these numbers (Luger et al. 2017,
 * doi:10.3847/2515-5172/aa96b5).
 *
 * Places in the sky are those of Cartesian coordinates at the distance 1 / parallax, x to the north and y to the east:
 * separation and position angle, or along a scan of position angle psi
 *     (ra + pm_ra t + parallax y) sin psi + (dec + pm_dec t + parallax x) cos psi + parallax factor
 * (Holl et al. 2023, doi:10.1051/0004-6361/202244161, equation 6).
 *
 * A proper motion is that of the barycentre and a sum of places with weights (core/model/motions.c).
 *
 * A transit that is not there adds set->missing in the place of its term. Walkers without a system, whose system
 * ended on the way, or whose MEGNO is too large, have ln L = -infinity.
 */
#ifndef SHOAL_WALKER_LIKELIHOOD_KERN_H
#define SHOAL_WALKER_LIKELIHOOD_KERN_H

#include "core/walker/bodies.kern.h"
#include "core/walker/doppler.kern.h"

/* ln 2 pi */
#define WALKER_LOG_2PI 0x1.d67f1c864beb5p+0

/* Numbers of a set that the model of its data needs. */
typedef struct walker_terms {
    int drifts; /* trend or curvature may be other than 0 */
    real offset, trend, curvature;
    real parallax, ra, dec, pm_ra, pm_dec;
} walker_terms;

LANE_FN walker_terms walker_terms_of(const shoal_walk *walk, const shoal_walker_set *set, lane_id id)
{
    walker_terms terms;
    terms.drifts = set->trend.from >= 0 || set->curvature.from >= 0 || set->trend.value != 0 ||
                   set->curvature.value != 0;
#define NUMBER(name) terms.name = walker_number(walk, &set->name, id)
    NUMBER(offset), NUMBER(trend), NUMBER(curvature);
    NUMBER(parallax), NUMBER(ra), NUMBER(dec), NUMBER(pm_ra), NUMBER(pm_dec);
#undef NUMBER
    const real zero = lane_set(0.0);
    terms.parallax = lane_select(terms.parallax > zero, terms.parallax, zero / zero); /* nothing is seen */
    return terms;
}

/* The measured value of a datum. */
LANE_FN real walker_value(const shoal_walk *walk, const shoal_datum *datum, lane_id id)
{
    if (walk->n_own == 0)
        return lane_set(datum->value);
    const real row = lane_load_row(walk->theta, id, walk->n_parameters, walk->n_parameters - 1);
    return lane_lookup(walk->own + (datum - walk->data), row * (double)walk->n_data);
}

/* A proper motion: that of the barycentre, and what places at some times make of one. */
LANE_FN real walker_motion(const shoal_walk *walk, const shoal_walker_set *set, const walker_terms *terms,
                           const shoal_datum *datum, lane_id id)
{
    real sum = lane_set(0.0);
    LANE_KEEP_ROLLED
    for (int i = 0; i < datum->n_parts; i++) {
        const shoal_walker_part *part = &walk->parts[datum->first_part + i];
        const shoal_sights *leg = &walk->leg[part->leg];
        const real place = lane_load(leg->seen, id, part->row, (int)leg->n_times * leg->n_what);
        sum = lane_fma(lane_set(part->weight), place, sum);
    }
    return lane_fma(set->factor * terms->parallax, sum, datum->sine > 0 ? terms->pm_ra : terms->pm_dec);
}

/* A place in the sky: x to the north and y to the east, times the parallax. */
LANE_FN real walker_sky(const shoal_walk *walk, const shoal_walker_set *set, const walker_terms *terms,
                        const shoal_datum *datum, lane_id id)
{
    const shoal_sights *leg = &walk->leg[datum->leg];
    const int rows = (int)leg->n_times * leg->n_what, other = datum->row + set->reference;
    const real t = lane_set((datum->time - set->epoch) / set->unit);
    real x = lane_load(leg->seen, id, datum->row, rows), y = lane_load(leg->seen, id, datum->row + 1, rows);
    if (set->reference) {
        x = x - lane_load(leg->seen, id, other, rows);
        y = y - lane_load(leg->seen, id, other + 1, rows);
    }
    const real scale = set->factor * terms->parallax;
    if (set->sky == SHOAL_SKY_ANGLE) {
        const real value = walker_value(walk, datum, id);
        const real turns = lane_atan2(y, x) * lane_set(0.5 / WALKER_PI) - value / set->turn;
        return value + set->turn * (turns - lane_floor(turns + 0.5)); /* the angle next to the measured one */
    }
    if (set->sky == SHOAL_SKY_SEPARATION)
        return scale * lane_sqrt(lane_fma(x, x, y * y));
    if (set->sky == SHOAL_SKY_SCAN) {
        const real north = lane_fma(scale, x, lane_fma(t, terms->pm_dec, terms->dec)),
                   east = lane_fma(scale, y, lane_fma(t, terms->pm_ra, terms->ra));
        return lane_fma(terms->parallax, lane_set(datum->parallax_factor),
                        lane_fma(north, lane_set(datum->cosine), east * datum->sine));
    }
    return scale * (set->sky == SHOAL_SKY_RA ? y : x);
}

/* What the model says of a datum; NaN: there is nothing to be seen. */
LANE_FN real walker_model(const shoal_walk *walk, const shoal_walker_set *set, const walker_terms *terms,
                          const shoal_datum *datum, lane_id id)
{
    const shoal_sights *leg = &walk->leg[datum->leg];
    if (set->sky == SHOAL_SKY_MOTION)
        return walker_motion(walk, set, terms, datum, id);
    if (set->sky)
        return walker_sky(walk, set, terms, datum, id);
    const real seen = set->met < 0
                          ? lane_load(leg->seen, id, datum->row, (int)leg->n_times * leg->n_what)
                          : lane_load(leg->met, id, datum->row * leg->n_met + set->met, leg->n_rows * leg->n_met);
    real more = terms->offset;
    if (terms->drifts) {
        const real t = lane_set(datum->time - set->epoch);
        more = lane_fma(t, lane_fma(t, terms->curvature, terms->trend), more);
    }
    return lane_fma(seen, lane_set(set->factor), more);
}

/* The logarithm of a product of numbers > 0: mantissas multiply, exponents add. Infinity and NaN become NaN. */
typedef struct walker_logs {
    real exponent, mantissa;
    int n;
} walker_logs;

LANE_FN void walker_logs_clear(walker_logs *logs)
{
    logs->exponent = lane_set(0.0);
    logs->mantissa = lane_set(1.0);
    logs->n = 0;
}

LANE_FN void walker_logs_add(walker_logs *logs, real x)
{
    enum { MOST = 512 }; /* whose product is below 2^1023 */
    real mantissa;
    logs->exponent = logs->exponent + (lane_split(x, &mantissa) + (x - x));
    logs->mantissa = logs->mantissa * mantissa;
    if (++logs->n % MOST == 0)
        logs->exponent = logs->exponent + lane_split(logs->mantissa, &logs->mantissa);
}

LANE_FN real walker_logs_end(const walker_logs *logs)
{
    const real exponent = logs->exponent;
    return lane_fma(exponent, lane_set(0x1.62e42feep-1),
                    lane_fma(exponent, lane_set(0x1.a39ef35793c76p-33), lane_log(logs->mantissa)));
}

/* Sums over data of a model that is linear in some numbers: the normal equations' matrix and right side. */
enum { WALKER_LINEAR = SHOAL_MOST_LINEAR };
typedef struct walker_sums {
    real matrix[WALKER_LINEAR][WALKER_LINEAR], right[WALKER_LINEAR];
} walker_sums;

/* The derivatives of a datum by the numbers that are integrated over; returns how many. */
LANE_FN int walker_slopes(const shoal_walker_set *set, const shoal_datum *datum, double slope[WALKER_LINEAR])
{
    const double t = (datum->time - set->epoch) / set->unit;
    slope[0] = set->sky ? datum->sine : 1;
    slope[1] = datum->cosine;
    slope[2] = t * datum->sine;
    slope[3] = t * datum->cosine;
    return set->sky == SHOAL_SKY_MOTION ? 2 : set->sky ? 4 : 1;
}

LANE_FN void walker_sums_clear(walker_sums *sums)
{
    for (int i = 0; i < WALKER_LINEAR; i++) {
        sums->right[i] = lane_set(0.0);
        for (int j = 0; j < WALKER_LINEAR; j++)
            sums->matrix[i][j] = lane_set(0.0);
    }
}

/* The integral over the n numbers, as a term of ln L; *best: where the integrand is greatest. By Cholesky's
 * factors. */
LANE_FN real walker_integral(walker_sums *sums, int n, real best[WALKER_LINEAR])
{
    real lnl = lane_set(0.5 * WALKER_LOG_2PI * n);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            real sum = sums->matrix[i][j];
            for (int q = 0; q < j; q++)
                sum = sum - sums->matrix[i][q] * sums->matrix[j][q];
            sums->matrix[i][j] = i == j ? lane_sqrt(sum) : sum / sums->matrix[j][j];
        }
        best[i] = sums->right[i];
        for (int q = 0; q < i; q++)
            best[i] = best[i] - sums->matrix[i][q] * best[q];
        best[i] = best[i] / sums->matrix[i][i];
        lnl = lane_fma(0.5 * best[i], best[i], lnl) - lane_log(sums->matrix[i][i]);
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int q = i + 1; q < n; q++)
            best[i] = best[i] - sums->matrix[q][i] * best[q];
        best[i] = best[i] / sums->matrix[i][i];
    }
    return lnl;
}

/* What the model says of a set's data, for who asked; best: the numbers that are integrated over. */
LANE_FN void walker_predict(const shoal_walk *walk, const shoal_walker_set *set, const walker_terms *terms,
                            const real *best, lane_id id, mask there)
{
    double slope[WALKER_LINEAR];
    LANE_KEEP_ROLLED
    for (long long j = set->first; walk->predicted && j < set->first + set->n; j++) {
        real model = walker_model(walk, set, terms, &walk->data[j], id);
        const int n_linear = set->marginal ? walker_slopes(set, &walk->data[j], slope) : 0;
        for (int i = 0; i < n_linear; i++)
            model = lane_fma(lane_set(slope[i]), best[set->column + i], model);
        lane_store_row(walk->predicted, id, (int)walk->n_data, (int)j, there, model);
    }
}

#include "core/walker/correlated.kern.h"

/* What of a residual and its variance is left when the datum that was measured with it is known. */
LANE_FN void walker_condition(const shoal_walk *walk, const shoal_datum *datum, lane_id id, real *r, real *s2)
{
    const shoal_walker_set *set = &walk->sets[datum->with.set];
    const shoal_datum *other = &walk->data[datum->with.datum];
    const walker_terms terms = walker_terms_of(walk, set, id);
    const real jitter = walker_number(walk, &set->jitter, id),
               first = walker_value(walk, other, id) - walker_model(walk, set, &terms, other, id),
               slope = lane_set(datum->with.correlation * datum->error * other->error) /
                       lane_fma(jitter, jitter, lane_set(other->error * other->error));
    *r = lane_fnma(slope, first, *r);
    *s2 = lane_fnma(slope, lane_set(datum->with.correlation * datum->error * other->error), *s2);
}

/* Independent errors of a set, but for pairs. */
LANE_FN real walker_set_likelihood(const shoal_walk *walk, const shoal_walker_set *set, lane_id id, mask there)
{
    const real zero = lane_set(0.0), jitter = walker_number(walk, &set->jitter, id), more = jitter * jitter;
    walker_terms terms = walker_terms_of(walk, set, id);
    walker_sums sums;
    double slope[WALKER_LINEAR];
    int n_linear = 0;
    walker_logs logs;
    walker_sums_clear(&sums);
    walker_logs_clear(&logs);
    const real one = lane_set(1.0);
    const long long last = set->first + set->n;
    real sum = zero, n_there = zero, missing = zero, right = zero, matrix = zero;
    for (long long j = set->first; j < last; j++) {
        const shoal_datum *datum = &walk->data[j];
        const real model = walker_model(walk, set, &terms, datum, id);
        const mask is = model == model;
        real s2 = lane_set(datum->error * datum->error) + more,
             r = lane_select(is, walker_value(walk, datum, id) - model, zero);
        if (datum->with.set >= 0)
            walker_condition(walk, datum, id, &r, &s2);
        const real weight = lane_select(is, 1.0 / s2, zero);
        if (set->freedom > 0)
            sum = sum + (set->freedom + 1) * lane_log(lane_fma(r * r, weight / set->freedom, one));
        else
            sum = lane_fma(r * r, weight, sum);
        walker_logs_add(&logs, lane_select(is, s2, one));
        n_there = n_there + lane_select(is, one, zero);
        missing = missing + lane_select(is, zero, lane_set(set->missing));
        if (!set->marginal)
            continue;
        if (!set->sky) { /* an offset alone */
            right = lane_fma(r, weight, right);
            matrix = matrix + weight;
            continue;
        }
        n_linear = walker_slopes(set, datum, slope);
        for (int i = 0; i < n_linear; i++) {
            sums.right[i] = lane_fma(r * slope[i], weight, sums.right[i]);
            for (int q = 0; q <= i; q++)
                sums.matrix[i][q] = lane_fma(lane_set(slope[i] * slope[q]), weight, sums.matrix[i][q]);
        }
    }
    real lnl = missing - 0.5 * (sum + lane_fma(n_there, lane_set(set->constant), walker_logs_end(&logs))),
         best[WALKER_LINEAR];
    if (set->marginal && !set->sky) {
        n_linear = 1;
        sums.right[0] = right;
        sums.matrix[0][0] = matrix;
    }
    if (set->marginal)
        lnl = lnl + walker_integral(&sums, n_linear, best);
    walker_predict(walk, set, &terms, best, id, there);
    return lnl;
}

LANE_FN void kernel_walker_end(const shoal_kernel_args *k, const lane_id *lane, const mask *walks)
{
    const lane_id id = *lane;
    const mask there = *walks;
    const shoal_walk *walk = k->walk;
    const real zero = lane_set(0.0), none = -1.0 / zero;
    real lnl = lane_select(walker_ended(k, id), none, lane_load_row(walk->lnl, id, 1, 0));
    if (walk->most > 0) {
        const real growth = lane_load(k->watch, id, walk->growth, walk->n_watch),
                   since = lane_load(k->watch, id, walk->since, walk->n_watch);
        lnl = lane_select(growth <= walk->most * since, lnl, none);
    }
    LANE_KEEP_ROLLED
    for (int i = 0; i < walk->n_sets; i++) {
        lnl = lane_select(walker_number(walk, &walk->sets[i].jitter, id) < zero, none, lnl);
        if (walk->sets[i].light > 0 || walk->sets[i].relativity > 0)
            walker_doppler_put(k, &walk->sets[i], id, there);
    }
    LANE_KEEP_ROLLED
    for (int i = 0; i < walk->n_sets; i++)
        if (walk->sets[i].rotation >= 0)
            lnl = lnl + walker_rotated_likelihood(walk, &walk->sets[i], id, there);
        else if (walk->sets[i].group < 0)
            lnl = lnl + walker_set_likelihood(walk, &walk->sets[i], id, there);
    LANE_KEEP_ROLLED
    for (int i = 0; i < walk->n_groups; i++)
        lnl = lnl + walker_group_likelihood(walk, &walk->groups[i], id, there);
    lnl = lane_select(lane_abs(lnl) < lane_set(1e300), lnl, none);
    lane_store_row(walk->lnl, id, 1, 0, there, lnl);
}

#endif
