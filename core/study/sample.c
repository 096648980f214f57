/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * sample.c: random parameters. The distributions are GSL's; the generator is SplitMix64 (Steele, Lea & Flood,
 * doi:10.1145/2660193.2660195) behind GSL's interface, started anew for each value from a hash of (seed, system id,
 * index of the parameter). So a value does not depend on what was drawn before, by whom and in which order.
 */
#define _GNU_SOURCE 1
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_gamma.h>
#include <string.h>

#include "core/config/config.h"
#include "core/study/study.h"

#define MOST_SHAPE 1e5 /* of a Beta distribution: GSL knows it while one of the two is no more */

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t next(void *state)
{
    uint64_t *counter = state;
    *counter += 0x9e3779b97f4a7c15u;
    return mix(*counter);
}

static unsigned long generator_get(void *state)
{
    return (unsigned long)(next(state) >> 32);
}

/* All 53 bits of a double, in [0, 1). */
static double generator_get_double(void *state)
{
    return (double)(next(state) >> 11) * 0x1p-53;
}

static void generator_set(void *state, unsigned long seed)
{
    *(uint64_t *)state = seed;
}

static const gsl_rng_type generator_type = {"splitmix64",  0xffffffffu,         0, sizeof(uint64_t), generator_set,
                                            generator_get, generator_get_double};

static uint64_t start_of(int64_t seed, int64_t id, int index)
{
    return mix(mix(mix((uint64_t)seed + 0x9e3779b97f4a7c15u) ^ (uint64_t)id) +
               0x9e3779b97f4a7c15u * (uint64_t)(index + 1));
}

/* ---- an asymmetric normal distribution --------------------------------------------------------------------------- */

/* The probability below x, from the end that has its digits: beyond the mode it is 1 less what is above (*above). */
static double asymmetric_below(const double *p, double x, bool *above)
{
    const double plus = p[SHOAL_SAMPLE_plus], minus = p[SHOAL_SAMPLE_minus], z = x - p[SHOAL_SAMPLE_mode];
    *above = z > 0;
    return *above ? 2 * plus / (plus + minus) * gsl_cdf_ugaussian_Q(z / plus)
                  : 2 * minus / (plus + minus) * gsl_cdf_ugaussian_P(z / minus);
}

/* What is below `from`, between the bounds, and above `to`. */
static void asymmetric_parts(const double *p, double part[3])
{
    bool above = false;
    const double low = isnan(p[SHOAL_SAMPLE_from]) ? 0 : asymmetric_below(p, p[SHOAL_SAMPLE_from], &above);
    const bool low_above = above;
    above = true;
    const double high = isnan(p[SHOAL_SAMPLE_to]) ? 0 : asymmetric_below(p, p[SHOAL_SAMPLE_to], &above);
    part[0] = low_above ? 1 - low : low;
    part[1] = low_above ? low - high : above ? 1 - low - high : high - low;
    part[2] = above ? high : 1 - high;
}

static double asymmetric_quantile(const double *p, double u)
{
    const double plus = p[SHOAL_SAMPLE_plus], minus = p[SHOAL_SAMPLE_minus];
    double part[3];
    asymmetric_parts(p, part);
    const double below = part[0] + u * part[1], above = part[2] + (1 - u) * part[1];
    const double x = below < minus / (plus + minus)
                         ? p[SHOAL_SAMPLE_mode] + minus * gsl_cdf_ugaussian_Pinv(below * (plus + minus) / (2 * minus))
                         : p[SHOAL_SAMPLE_mode] + plus * gsl_cdf_ugaussian_Qinv(above * (plus + minus) / (2 * plus));
    return fmin(fmax(x, p[SHOAL_SAMPLE_from]), p[SHOAL_SAMPLE_to]); /* a bound that is NaN is none */
}

/* ---- a normal distribution of several parameters ---------------------------------------------------------------- */

bool shoal_sample_root(int n, double *covariance)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            const double scale = sqrt(fabs(covariance[i * n + i] * covariance[k * n + k]));
            if (!(fabs(covariance[i * n + k] - covariance[k * n + i]) <= 1e-9 * scale))
                return false;
        }
    for (int k = 0; k < n; k++) { /* Cholesky, column by column */
        const double whole = covariance[k * n + k];
        for (int i = k; i < n; i++)
            for (int j = 0; j < k; j++)
                covariance[i * n + k] -= covariance[i * n + j] * covariance[k * n + j];
        if (!(covariance[k * n + k] > 1e-13 * whole) || !isfinite(whole))
            return false;
        covariance[k * n + k] = sqrt(covariance[k * n + k]);
        for (int i = k + 1; i < n; i++)
            covariance[i * n + k] /= covariance[k * n + k];
        for (int i = 0; i < k; i++)
            covariance[i * n + k] = 0;
    }
    return true;
}

/* What the rank-th of them is, given independent normal numbers of all up to it. */
static double correlate(const shoal_sample *sample, const double *z)
{
    const shoal_correlated *among = sample->among;
    double x = among->mean[sample->rank];
    for (int k = 0; k <= sample->rank; k++)
        x += among->root[sample->rank * among->n + k] * z[k];
    return x;
}

static double correlated_log_density(const shoal_sample *sample, const double *theta)
{
    const shoal_correlated *among = sample->among;
    double z[among->n];
    for (int i = 0; i <= sample->rank; i++) {
        z[i] = theta[among->index[i]] - among->mean[i];
        for (int k = 0; k < i; k++)
            z[i] -= among->root[i * among->n + k] * z[k];
        z[i] /= among->root[i * among->n + i];
    }
    const double last = z[sample->rank];
    return isnan(last) ? -INFINITY
                       : log(gsl_ran_ugaussian_pdf(0) / among->root[sample->rank * (among->n + 1)]) - last * last / 2;
}

/* ---- any distribution -------------------------------------------------------------------------------------------- */

static double draw_unbounded(const gsl_rng *rng, const shoal_sample *sample)
{
    const double *p = sample->parameter;
    switch (sample->distribution) {
    case SHOAL_DISTRIBUTION_log_normal: return gsl_ran_lognormal(rng, p[SHOAL_SAMPLE_mean], p[SHOAL_SAMPLE_sigma]);
    case SHOAL_DISTRIBUTION_exponential: return gsl_ran_exponential(rng, p[SHOAL_SAMPLE_mean]);
    default: return gsl_ran_beta(rng, p[SHOAL_SAMPLE_alpha], p[SHOAL_SAMPLE_beta]);
    }
}

double shoal_sample_draw(const shoal_sample *sample, int64_t seed, int64_t id, int index)
{
    uint64_t state = start_of(seed, id, index);
    gsl_rng rng = {&generator_type, &state};
    const double *p = sample->parameter;
    double u;
#define P(name) p[SHOAL_SAMPLE_##name]
    switch (sample->distribution) {
    case SHOAL_DISTRIBUTION_uniform: return gsl_ran_flat(&rng, P(from), P(to));
    case SHOAL_DISTRIBUTION_log_uniform: return exp(gsl_ran_flat(&rng, log(P(from)), log(P(to))));
    case SHOAL_DISTRIBUTION_power_law: u = gsl_rng_uniform(&rng); return shoal_sample_quantile(sample, &u, 0);
    case SHOAL_DISTRIBUTION_normal: return P(mean) + gsl_ran_gaussian_ziggurat(&rng, P(sigma));
    case SHOAL_DISTRIBUTION_truncated_normal:
        u = gsl_rng_uniform_pos(&rng);
        return shoal_sample_quantile(sample, &u, 0);
    case SHOAL_DISTRIBUTION_asymmetric_normal: return asymmetric_quantile(p, gsl_rng_uniform_pos(&rng));
    case SHOAL_DISTRIBUTION_correlated_normal: {
        double z[sample->rank + 1];
        for (int k = 0; k <= sample->rank; k++) {
            state = start_of(seed, id, sample->among->index[k]);
            z[k] = gsl_ran_gaussian_ziggurat(&rng, 1);
        }
        return correlate(sample, z);
    }
    case SHOAL_DISTRIBUTION_rayleigh:
        u = isnan(P(to)) ? 0 : exp(-P(to) * P(to) / (2 * P(sigma) * P(sigma))); /* what is left above */
        return P(sigma) * sqrt(-2 * log(u + (1 - u) * gsl_rng_uniform_pos(&rng)));
    case SHOAL_DISTRIBUTION_log_normal:
    case SHOAL_DISTRIBUTION_exponential:
    case SHOAL_DISTRIBUTION_beta:
        if (isnan(P(from)) && isnan(P(to)))
            return draw_unbounded(&rng, sample);
        u = gsl_rng_uniform_pos(&rng);
        return shoal_sample_quantile(sample, &u, 0);
    case SHOAL_DISTRIBUTION_isotropic:
        return acos(gsl_ran_flat(&rng, isnan(P(to)) ? -1 : cos(P(to) * sample->angle),
                                 isnan(P(from)) ? 1 : cos(P(from) * sample->angle))) /
               sample->angle;
    }
#undef P
    return NAN;
}

/* Of a part of the mass of a truncated normal distribution between its bounds, in the tail that has its digits. */
typedef struct normal_bounds {
    bool upper; /* the tails are counted from above */
    double low, high;
} normal_bounds;

/* from, to: NaN = none */
static normal_bounds bounds_between(const double *p, double from, double to)
{
    const double low = isnan(from) ? -INFINITY : (from - p[SHOAL_SAMPLE_mean]) / p[SHOAL_SAMPLE_sigma],
                 high = isnan(to) ? INFINITY : (to - p[SHOAL_SAMPLE_mean]) / p[SHOAL_SAMPLE_sigma];
    return low > 0 ? (normal_bounds){true, gsl_cdf_ugaussian_Q(low), gsl_cdf_ugaussian_Q(high)}
                   : (normal_bounds){false, gsl_cdf_ugaussian_P(low), gsl_cdf_ugaussian_P(high)};
}

static normal_bounds bounds_of(const double *p)
{
    return bounds_between(p, p[SHOAL_SAMPLE_from], p[SHOAL_SAMPLE_to]);
}

/* Of the logarithm of a number that has a log-normal distribution. */
static normal_bounds log_bounds_of(const double *p)
{
    const double from = p[SHOAL_SAMPLE_from];
    return bounds_between(p, from > 0 ? log(from) : NAN, log(p[SHOAL_SAMPLE_to]));
}

static double normal_between(normal_bounds of, double u)
{
    const double tail = of.low + u * (of.high - of.low);
    return of.upper ? gsl_cdf_ugaussian_Qinv(tail) : gsl_cdf_ugaussian_Pinv(tail);
}

/* The part of an exponential distribution above `from` that is below `to`. */
static double exponential_within(const double *p)
{
    const double from = fmax(p[SHOAL_SAMPLE_from], 0); /* NaN: 0 */
    return isnan(p[SHOAL_SAMPLE_to]) ? 1 : -expm1((from - p[SHOAL_SAMPLE_to]) / p[SHOAL_SAMPLE_mean]);
}

/* What of a Beta distribution is below its bounds. */
static void beta_bounds(const double *p, double below[2])
{
    const double from = fmax(p[SHOAL_SAMPLE_from], 0), to = fmin(p[SHOAL_SAMPLE_to], 1);
    below[0] = gsl_cdf_beta_P(from, p[SHOAL_SAMPLE_alpha], p[SHOAL_SAMPLE_beta]);
    below[1] = gsl_cdf_beta_P(to, p[SHOAL_SAMPLE_alpha], p[SHOAL_SAMPLE_beta]);
}

/* The double half way between two that are not below 0, by count. */
static double halfway(double low, double high)
{
    uint64_t bits[2];
    double middle;
    memcpy(&bits[0], &low, sizeof low);
    memcpy(&bits[1], &high, sizeof high);
    bits[0] += (bits[1] - bits[0]) / 2;
    memcpy(&middle, bits, sizeof middle);
    return middle;
}

/* The number below which a part of a Beta distribution lies: Newton's steps in ln part over ln x, straight in the lower
 * tail, else the bracket is halved. (GSL's own inverse ends the process where it does not converge.) */
static double beta_below(double part, double alpha, double beta)
{
    enum { MOST_TURNS = 200, ALTERNATE = 20 };
    double low = 0, high = 1, x = alpha / (alpha + beta);
    for (int turn = 0; turn < MOST_TURNS && part > 0; turn++) {
        const double below = gsl_cdf_beta_P(x, alpha, beta);
        *(below < part ? &low : &high) = x;
        const double next = x * exp(log(part / below) * below / (x * gsl_ran_beta_pdf(x, alpha, beta)));
        if (fabs(next - x) <= GSL_DBL_EPSILON * x)
            return next;
        x = next > low && next < high && (turn < ALTERNATE || turn % 2) ? next : halfway(low, high);
        if (x == low)
            return x;
    }
    return part > 0 ? x : 0;
}

double shoal_sample_student(double freedom, double u)
{
    /* freedom / (freedom + t^2) has a Beta distribution */
    const double w = beta_below(2 * fmin(u, 1 - u), freedom / 2, 0.5);
    return copysign(sqrt(freedom * (1 - w) / w), u - 0.5);
}

/* From the end that is nearer, whose digits are kept. */
static double beta_quantile(const double *p, double u)
{
    const double alpha = p[SHOAL_SAMPLE_alpha], beta = p[SHOAL_SAMPLE_beta];
    double below[2];
    beta_bounds(p, below);
    const double part = below[0] + u * (below[1] - below[0]);
    if (part < 0.5)
        return beta_below(part, alpha, beta);
    const double to = fmin(p[SHOAL_SAMPLE_to], 1);
    return 1 - beta_below(gsl_cdf_beta_Q(to, alpha, beta) + (1 - u) * (below[1] - below[0]), beta, alpha);
}

double shoal_sample_log_rise(const shoal_sample *sample, double x)
{
    const double *p = sample->parameter, alpha = p[SHOAL_SAMPLE_alpha], beta = p[SHOAL_SAMPLE_beta];
    if (sample->distribution != SHOAL_DISTRIBUTION_beta)
        return 0;
    return (alpha < 1 && !(p[SHOAL_SAMPLE_from] > 0) ? (alpha - 1) * log(x) : 0) +
           (beta < 1 && !(p[SHOAL_SAMPLE_to] < 1) ? (beta - 1) * log1p(-x) : 0);
}

double shoal_sample_log_density(const shoal_sample *sample, const double *theta, int i)
{
    const double *p = sample->parameter, x = theta[i], angle = x * sample->angle;
#define P(name) p[SHOAL_SAMPLE_##name]
    const bool below = !(isnan(P(from)) || x >= P(from)), above = !(isnan(P(to)) || x <= P(to));
    if (sample->period > 0 && isfinite(x))
        return -log(sample->period); /* all the way round */
    if (!isfinite(x) || below || above)
        return -INFINITY;
    switch (sample->distribution) {
    case SHOAL_DISTRIBUTION_uniform: return -log(P(to) - P(from));
    case SHOAL_DISTRIBUTION_log_uniform: return -log(x * log(P(to) / P(from)));
    case SHOAL_DISTRIBUTION_power_law: {
        const double k = P(exponent) + 1, whole = log(P(to) / P(from));
        const double mass = k == 0 ? whole : expm1(k * whole) / k; /* over from^k */
        return P(exponent) * log(x / P(from)) - log(P(from) * mass);
    }
    case SHOAL_DISTRIBUTION_normal:
        return log(gsl_ran_ugaussian_pdf(0) / P(sigma)) - gsl_pow_2((x - P(mean)) / P(sigma)) / 2;
    case SHOAL_DISTRIBUTION_truncated_normal: {
        const normal_bounds of = bounds_of(p);
        return log(gsl_ran_ugaussian_pdf(0) / P(sigma)) - gsl_pow_2((x - P(mean)) / P(sigma)) / 2 -
               log(fabs(of.high - of.low));
    }
    case SHOAL_DISTRIBUTION_asymmetric_normal: {
        double part[3];
        asymmetric_parts(p, part);
        return log(2 * gsl_ran_ugaussian_pdf(0) / (P(plus) + P(minus))) -
               gsl_pow_2((x - P(mode)) / (x > P(mode) ? P(plus) : P(minus))) / 2 - log(part[1]);
    }
    case SHOAL_DISTRIBUTION_correlated_normal: return correlated_log_density(sample, theta);
    case SHOAL_DISTRIBUTION_rayleigh: {
        const double z2 = gsl_pow_2(x / P(sigma)), within = isnan(P(to)) ? 1 : -expm1(-gsl_pow_2(P(to) / P(sigma)) / 2);
        return x >= 0 ? log(x) - 2 * log(P(sigma)) - z2 / 2 - log(within) : -INFINITY;
    }
    case SHOAL_DISTRIBUTION_log_normal: {
        const normal_bounds of = log_bounds_of(p);
        return x > 0 ? log(gsl_ran_ugaussian_pdf(0) / P(sigma) / x) - gsl_pow_2((log(x) - P(mean)) / P(sigma)) / 2 -
                           log(fabs(of.high - of.low))
                     : -INFINITY;
    }
    case SHOAL_DISTRIBUTION_exponential:
        return x >= 0 ? (fmax(P(from), 0) - x) / P(mean) - log(P(mean) * exponential_within(p)) : -INFINITY;
    case SHOAL_DISTRIBUTION_isotropic: {
        const double least = isnan(P(from)) ? 1 : cos(P(from) * sample->angle),
                     most = isnan(P(to)) ? -1 : cos(P(to) * sample->angle);
        return angle >= 0 && angle <= M_PI ? log(sin(angle) * sample->angle / (least - most)) : -INFINITY;
    }
    case SHOAL_DISTRIBUTION_beta: {
        double parts[2];
        beta_bounds(p, parts);
        const double shape = (P(alpha) == 1 ? 0 : (P(alpha) - 1) * log(x)) +
                             (P(beta) == 1 ? 0 : (P(beta) - 1) * log1p(-x));
        return x >= 0 && x <= 1 && shape < INFINITY /* where it is infinite there is no mass, nor a way out */
                   ? shape - gsl_sf_lnbeta(P(alpha), P(beta)) - log(parts[1] - parts[0])
                   : -INFINITY;
    }
    }
#undef P
    return NAN;
}

/* Before its bounds cut roundings. */
static double quantile(const shoal_sample *sample, const double *part_of, int i)
{
    const double *p = sample->parameter, u = part_of[i];
#define P(name) p[SHOAL_SAMPLE_##name]
    switch (sample->distribution) {
    case SHOAL_DISTRIBUTION_uniform: return P(from) + u * (P(to) - P(from));
    case SHOAL_DISTRIBUTION_log_uniform: return P(from) * pow(P(to) / P(from), u);
    case SHOAL_DISTRIBUTION_power_law: {
        const double k = P(exponent) + 1, whole = log(P(to) / P(from));
        const double part = k == 0 ? u * whole : log1p(u * expm1(k * whole)) / k;
        return P(from) * exp(part);
    }
    case SHOAL_DISTRIBUTION_normal: return P(mean) + P(sigma) * gsl_cdf_ugaussian_Pinv(u);
    case SHOAL_DISTRIBUTION_truncated_normal: return P(mean) + P(sigma) * normal_between(bounds_of(p), u);
    case SHOAL_DISTRIBUTION_asymmetric_normal: return asymmetric_quantile(p, u);
    case SHOAL_DISTRIBUTION_correlated_normal: {
        double z[sample->rank + 1];
        for (int k = 0; k <= sample->rank; k++)
            z[k] = gsl_cdf_ugaussian_Pinv(part_of[sample->among->index[k]]);
        return correlate(sample, z);
    }
    case SHOAL_DISTRIBUTION_rayleigh: {
        const double within = isnan(P(to)) ? 1 : -expm1(-gsl_pow_2(P(to) / P(sigma)) / 2);
        return P(sigma) * sqrt(-2 * log1p(-u * within));
    }
    case SHOAL_DISTRIBUTION_log_normal: return exp(P(mean) + P(sigma) * normal_between(log_bounds_of(p), u));
    case SHOAL_DISTRIBUTION_exponential: return fmax(P(from), 0) - P(mean) * log1p(-u * exponential_within(p));
    case SHOAL_DISTRIBUTION_isotropic: {
        const double least = isnan(P(from)) ? 1 : cos(P(from) * sample->angle),
                     most = isnan(P(to)) ? -1 : cos(P(to) * sample->angle);
        return acos(least + u * (most - least)) / sample->angle;
    }
    case SHOAL_DISTRIBUTION_beta: return beta_quantile(p, u);
    }
#undef P
    return NAN;
}

double shoal_sample_quantile(const shoal_sample *sample, const double *part_of, int i)
{
    const double x = quantile(sample, part_of, i), *p = sample->parameter;
    return isnan(x) ? x : fmin(fmax(x, p[SHOAL_SAMPLE_from]), p[SHOAL_SAMPLE_to]);
}

double shoal_sample_wrap(const shoal_sample *sample, double x)
{
    const double period = sample->period, from = sample->parameter[SHOAL_SAMPLE_from];
    return period > 0 && isfinite(x) ? fmin(fmax(x - period * floor((x - from) / period), from), from + period) : x;
}

/* The part of a distribution that its bounds leave. */
static double part_within(const shoal_sample *sample)
{
    const double *p = sample->parameter;
    const normal_bounds of = log_bounds_of(p);
    double below[2];
    switch (sample->distribution) {
    case SHOAL_DISTRIBUTION_exponential: return exponential_within(p);
    case SHOAL_DISTRIBUTION_log_normal: return fabs(of.high - of.low);
    case SHOAL_DISTRIBUTION_beta: beta_bounds(p, below); return below[1] - below[0];
    default: return 1;
    }
}

static const char *const parameter_names[] = {
#define X(name) #name,
    SHOAL_DISTRIBUTION_KEY_LIST(X)
#undef X
};

/* Bounds of what is drawn, where the distribution has any; angles in a unit that nobody named. */
static shoal_status check_range(const shoal_config *config, const config_setting_t *group, const shoal_parameter *row,
                                shoal_sample *sample)
{
    const double *p = sample->parameter;
    static const int keys[] = {SHOAL_SAMPLE_from, SHOAL_SAMPLE_to,   SHOAL_SAMPLE_mean, SHOAL_SAMPLE_sigma,
                               SHOAL_SAMPLE_mode, SHOAL_SAMPLE_plus, SHOAL_SAMPLE_minus};
    if (sample->distribution == SHOAL_DISTRIBUTION_isotropic)
        row = &shoal_body_key(SHOAL_BODY_inc)->row;
    const bool circle = strcmp(row->dimension, "angle") == 0 && sample->distribution == SHOAL_DISTRIBUTION_uniform &&
                        fabs((p[SHOAL_SAMPLE_to] - p[SHOAL_SAMPLE_from]) * sample->angle - 2 * M_PI) < 1e-9;
    sample->period = circle ? 2 * M_PI / sample->angle : 0;
    shoal_status status = SHOAL_OK;
    for (int i = 0; i < SHOAL_COUNT(keys) && !status; i++) {
        const int key = keys[i];
        const config_setting_t *given = config_setting_get_member(group, parameter_names[key]);
        if (given && (key == SHOAL_SAMPLE_from || key == SHOAL_SAMPLE_to))
            status = shoal_config_bounds(config, given, p[key], row);
        else if (given && sample->distribution != SHOAL_DISTRIBUTION_log_normal) /* which is of a logarithm */
            status = shoal_config_angle(config, given, p[key], row->dimension);
    }
    return status;
}

shoal_status shoal_sample_init(const shoal_config *config, const config_setting_t *group, const shoal_parameter *row,
                               shoal_sample *sample)
{
    static const struct {
        const char *name, *needs;
    } distributions[] = {
/* clang-format off */
#define X(name, needs, doc) { #name, needs },
        /* clang-format on */
        SHOAL_DISTRIBUTION_LIST(X)
#undef X
    };
    static const char section[] = "sample.parameters";
    sample->distribution = (int)shoal_config_number(config, group, section, "distribution");
    sample->angle = config->angle;
    const char *name = distributions[sample->distribution].name, *needs = distributions[sample->distribution].needs;
    for (int i = 0; i < SHOAL_SAMPLE_KEYS; i++) {
        const config_setting_t *setting = config_setting_get_member(group, parameter_names[i]);
        const char *at = needs; /* its name there, or the end */
        const size_t length = strlen(parameter_names[i]);
        while (*at && (strcspn(at, ",?") != length || strncmp(at, parameter_names[i], length) != 0))
            at += strcspn(at, ","), at += *at == ',';
        if (*at && at[length] != '?' && !setting)
            return shoal_config_fail(config, group, parameter_names[i], NULL, "a number: distribution '%s' needs %s",
                                     name, needs);
        if (!*at && setting)
            return shoal_config_fail(config, setting, NULL, NULL, "no '%s' with distribution '%s': it takes %s",
                                     parameter_names[i], name, needs);
        sample->parameter[i] = shoal_config_number(config, group, section, parameter_names[i]);
    }
    const double *p = sample->parameter;
    const config_setting_t *from = config_setting_get_member(group, "from"),
                           *to = config_setting_get_member(group, "to");
    if (from && to && !(p[SHOAL_SAMPLE_from] < p[SHOAL_SAMPLE_to]))
        return shoal_config_fail(config, to, NULL, NULL, "more than from = %.10g", p[SHOAL_SAMPLE_from]);
    const config_setting_t *mean = config_setting_get_member(group, "mean");
    if (sample->distribution == SHOAL_DISTRIBUTION_beta &&
        fmin(p[SHOAL_SAMPLE_alpha], p[SHOAL_SAMPLE_beta]) > MOST_SHAPE)
        return shoal_config_fail(config, config_setting_get_member(group, "alpha"), NULL, NULL,
                                 "alpha or beta up to %g: with more of both use 'truncated_normal'", MOST_SHAPE);
    if ((from || to) && !(part_within(sample) > 1e-12))
        return shoal_config_fail(config, from ? from : to, NULL, NULL, "bounds that leave a part of '%s'", name);
    switch (sample->distribution) {
    case SHOAL_DISTRIBUTION_log_uniform:
    case SHOAL_DISTRIBUTION_power_law:
        if (!(p[SHOAL_SAMPLE_from] > 0))
            return shoal_config_fail(config, from, NULL, NULL, "a number > 0 with distribution '%s'", name);
        break;
    case SHOAL_DISTRIBUTION_rayleigh:
        if (to && !(p[SHOAL_SAMPLE_to] > 0))
            return shoal_config_fail(config, to, NULL, NULL, "a number > 0 with distribution '%s'", name);
        break;
    case SHOAL_DISTRIBUTION_exponential:
        if (!(p[SHOAL_SAMPLE_mean] > 0))
            return shoal_config_fail(config, mean, NULL, NULL, "a number > 0 with distribution '%s'", name);
        break;
    case SHOAL_DISTRIBUTION_truncated_normal: {
        const double low = (p[SHOAL_SAMPLE_from] - p[SHOAL_SAMPLE_mean]) / p[SHOAL_SAMPLE_sigma];
        const double high = (p[SHOAL_SAMPLE_to] - p[SHOAL_SAMPLE_mean]) / p[SHOAL_SAMPLE_sigma];
        if (low > 30 || high < -30)
            return shoal_config_fail(config, mean, NULL, NULL, "a mean within 30 sigma of from..to");
        break;
    }
    case SHOAL_DISTRIBUTION_asymmetric_normal: {
        double part[3];
        asymmetric_parts(p, part);
        if (!(part[1] > 1e-12))
            return shoal_config_fail(config, config_setting_get_member(group, "mode"), NULL, NULL,
                                     "a mode that is nearer to from..to");
        break;
    }
    case SHOAL_DISTRIBUTION_isotropic:
        if (strcmp(row->dimension, "angle") != 0)
            return shoal_config_fail(config, config_setting_get_member(group, "distribution"), NULL, NULL,
                                     "'isotropic' for an angle only, such as inc");
        break;
    }
    return check_range(config, group, row, sample);
}
