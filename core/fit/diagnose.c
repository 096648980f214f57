/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * diagnose.c: whether draws are enough: Vehtari, Gelman, Simpson, Carpenter & Buerkner 2021 (Bayesian Analysis 16, 667,
 * doi:10.1214/20-BA1221). Chains are cut in halves. Draws are replaced by their ranks, these by normal quantiles of
 * (rank - 3/8) / (n + 1/4). R-hat is the greater of that of these, and of that of the distances from the median,
 * treated alike. Bulk ESS is that of the quantiles; tail ESS the lesser one of x <= its 5 % and x <= its 95 % quantile.
 *
 * ESS of m chains of n draws: m n / tau, tau = -1 + 2 sum of autocorrelations, in pairs as long as these are positive
 * and do not grow (Geyer 1992, doi:10.1214/ss/1177011137); at most m n log10(m n). The mean autocovariance of all
 * chains comes from one Fourier transform of the sum of their spectra.
 */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fft_halfcomplex.h>
#include <gsl/gsl_fft_real.h>
#include <math.h>
#include <stdlib.h>

#include "core/fit/fit.h"

/* Half chains, one after the other, and room. */
typedef struct halves {
    long m, n;                /* of them, draws of each */
    long length;              /* of a transform: a power of two, at least 2 n */
    double *x, *z, *mean;     /* [m][n], [m][n], [m] */
    double *line, *sum, *rho; /* [length] */
    struct placed {
        double value;
        long place;
    } * sorted; /* [m n] */
} halves;

static int ascending(const void *a, const void *b)
{
    const double x = ((const struct placed *)a)->value, y = ((const struct placed *)b)->value;
    return (x > y) - (x < y);
}

static void sort(halves *h, const double *x)
{
    for (long i = 0; i < h->m * h->n; i++)
        h->sorted[i] = (struct placed){x[i], i};
    qsort(h->sorted, (size_t)(h->m * h->n), sizeof *h->sorted, ascending);
}

/* Normal quantiles of the ranks of h->sorted, equal values having their mean rank, to z. */
static void normalise(halves *h)
{
    const long n = h->m * h->n;
    for (long first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && h->sorted[end].value == h->sorted[first].value;)
            end++;
        const double rank = (double)(first + 1 + end) / 2;
        const double z = gsl_cdf_ugaussian_Pinv((rank - 0.375) / ((double)n + 0.25));
        for (long i = first; i < end; i++)
            h->z[h->sorted[i].place] = z;
    }
}

/* Means of the chains of z; returns the mean of their variances, *between: the variance of the means. */
static double spread(halves *h, double *between)
{
    double within = 0, all = 0;
    for (long c = 0; c < h->m; c++) {
        const double *z = h->z + c * h->n;
        double sum = 0, squares = 0;
        for (long i = 0; i < h->n; i++)
            sum += z[i];
        h->mean[c] = sum / (double)h->n;
        for (long i = 0; i < h->n; i++)
            squares += (z[i] - h->mean[c]) * (z[i] - h->mean[c]);
        within += squares / (double)(h->n - 1);
        all += h->mean[c];
    }
    *between = 0;
    for (long c = 0; c < h->m; c++)
        *between += (h->mean[c] - all / (double)h->m) * (h->mean[c] - all / (double)h->m) / (double)(h->m - 1);
    return within / (double)h->m;
}

static double rhat_of(halves *h)
{
    double between;
    const double within = spread(h, &between);
    return sqrt((between * (double)h->n / within + (double)h->n - 1) / (double)h->n);
}

/* Mean autocovariances of the chains of z, whose means are known, to h->sum. */
static void autocovariances(halves *h)
{
    memset(h->sum, 0, (size_t)h->length * sizeof *h->sum);
    for (long c = 0; c < h->m; c++) {
        memset(h->line, 0, (size_t)h->length * sizeof *h->line);
        for (long i = 0; i < h->n; i++)
            h->line[i] = h->z[c * h->n + i] - h->mean[c];
        gsl_fft_real_radix2_transform(h->line, 1, (size_t)h->length);
        h->sum[0] += h->line[0] * h->line[0];
        h->sum[h->length / 2] += h->line[h->length / 2] * h->line[h->length / 2];
        for (long i = 1; i < h->length / 2; i++)
            h->sum[i] += h->line[i] * h->line[i] + h->line[h->length - i] * h->line[h->length - i];
    }
    gsl_fft_halfcomplex_radix2_inverse(h->sum, 1, (size_t)h->length);
    for (long i = 0; i < h->n; i++)
        h->sum[i] /= (double)h->n * (double)h->m;
}

/* Effective sample size of z. */
static double ess_of(halves *h)
{
    const double n = (double)h->n, size = n * (double)h->m;
    double between, *rho = h->rho;
    const double within = spread(h, &between), total = within * (n - 1) / n + between;
    if (!(total > 0)) /* all draws are one */
        return size;
    autocovariances(h);
    for (long t = 0; t < h->n; t++)
        rho[t] = t ? 1 - (within - h->sum[t]) / total : 1;
    long last = 1; /* of the pairs that are positive and not at the very end */
    while (last + 2 < h->n - 3 && rho[last + 1] + rho[last + 2] >= 0 && rho[last - 1] + rho[last] > 0)
        last += 2;
    double sum = rho[0] + rho[1], before = sum;
    for (long t = 2; t < last; t += 2) {
        before = fmin(before, rho[t] + rho[t + 1]);
        sum += before;
    }
    /* and what is left of a pair whose first half is positive */
    const double odd = last < h->n - 3 ? fmax(rho[last + 1], 0) : 0;
    const double tau = fmax(-1 + 2 * sum + odd, 1 / log10(size));
    return size / tau;
}

/* The value at a part of h->sorted, between neighbours. */
static double quantile(const halves *h, double part)
{
    const double at = part * (double)(h->m * h->n - 1);
    const long i = (long)at, next = i + 1 < h->m * h->n ? i + 1 : i;
    return h->sorted[i].value + (at - (double)i) * (h->sorted[next].value - h->sorted[i].value);
}

static double ess_below(halves *h, double limit)
{
    for (long i = 0; i < h->m * h->n; i++)
        h->z[i] = h->x[i] <= limit;
    return ess_of(h);
}

static shoal_status make_room(shoal_context *context, long n_chains, long n_draws, halves *h)
{
    *h = (halves){.m = 2 * n_chains, .n = n_draws / 2, .length = 2};
    while (h->length < 2 * h->n)
        h->length *= 2;
    const size_t n = (size_t)(h->m * h->n), length = (size_t)h->length;
    h->x = shoal_allocate(2 * n + (size_t)h->m + 3 * length, sizeof(double));
    h->sorted = malloc((n + 1) * sizeof *h->sorted);
    if (!h->x || !h->sorted)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld draws", n_chains * n_draws);
    h->z = h->x + n;
    h->mean = h->z + n;
    h->line = h->mean + h->m;
    h->sum = h->line + length;
    h->rho = h->sum + length;
    return SHOAL_OK;
}

shoal_status shoal_diagnose(shoal_context *context, long n_chains, long n_draws, const double *x,
                            shoal_diagnosis *diagnosis)
{
    halves h;
    const shoal_status status = make_room(context, n_chains, n_draws, &h);
    for (long c = 0; c < h.m && !status; c++) /* of an odd number of draws the one in the middle is left out */
        memcpy(h.x + c * h.n, x + c / 2 * n_draws + (c % 2 ? n_draws - h.n : 0), (size_t)h.n * sizeof *x);
    if (!status) {
        sort(&h, h.x);
        normalise(&h);
        const double low = quantile(&h, 0.05), high = quantile(&h, 0.95), rhat = rhat_of(&h);
        *diagnosis = (shoal_diagnosis){
            .median = quantile(&h, 0.5), .low = quantile(&h, 0.16), .high = quantile(&h, 0.84), .ess_bulk = ess_of(&h)};
        diagnosis->ess_tail = fmin(ess_below(&h, low), ess_below(&h, high));
        for (long i = 0; i < h.m * h.n; i++)
            h.z[i] = fabs(h.x[i] - diagnosis->median);
        sort(&h, h.z);
        normalise(&h);
        diagnosis->rhat = fmax(rhat, rhat_of(&h));
    }
    free(h.x);
    free(h.sorted);
    return status;
}
