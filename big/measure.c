/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * measure.c: energies, momenta and Lagrange radii of one big system.
 *
 *   K = 1/2 sum m v^2,  W = 1/2 sum m phi,  p = sum m v,  L = sum m x cross v
 *
 * A Lagrange radius is the distance of the body with which the mass, counted outwards, reaches a fraction of the total.
 */
#include <stdlib.h>
#include <string.h>

#include "big/big.h"

const shoal_big_column shoal_big_columns[SHOAL_BIG_COLUMNS] = {
/* clang-format off */
#define X(name, dimension, doc) { #name, dimension, doc },
    /* clang-format on */
    SHOAL_BIG_COLUMN_LIST(X)
#undef X
};

double shoal_big_factor(const shoal_units *units, const char *dimension)
{
    const double velocity = shoal_units_factor(units, "velocity");
    return strcmp(dimension, "energy") == 0             ? units->mass * velocity * velocity
           : strcmp(dimension, "momentum") == 0         ? units->mass * velocity
           : strcmp(dimension, "angular momentum") == 0 ? units->mass * velocity * units->length
                                                        : shoal_units_factor(units, dimension);
}

/* Digit `at` of a distance: those that are not negative stand in the order of their bits. */
static int digit(double r, int at)
{
    uint64_t bits;
    memcpy(&bits, &r, sizeof bits);
    return bits >> 8 * at & 255;
}

/* By radix, from the last digit to the first: equal distances stay in the order of the bodies. */
void shoal_big_sort(const shoal_big_bodies *bodies, const double centre[3], shoal_big_distance *sorted)
{
    enum { DIGITS = sizeof(double) };
    const long n = bodies->n;
    shoal_big_distance *from = sorted, *to = sorted + n;
    long count[DIGITS][256] = {{0}};
    for (long i = 0; i < n; i++) {
        double sum = 0;
        for (int c = 0; c < 3; c++)
            sum += (bodies->x[c * n + i] - centre[c]) * (bodies->x[c * n + i] - centre[c]);
        sorted[i] = (shoal_big_distance){sqrt(sum), i};
        for (int at = 0; at < DIGITS; at++)
            count[at][digit(sorted[i].r, at)]++;
    }
    for (int at = 0; at < DIGITS; at++) { /* an even number of times */
        long start = 0;
        for (int d = 0; d < 256; d++) {
            const long here = count[at][d];
            count[at][d] = start;
            start += here;
        }
        for (long i = 0; i < n; i++)
            to[count[at][digit(from[i].r, at)]++] = from[i];
        shoal_big_distance *last = to;
        to = from;
        from = last;
    }
}

void shoal_big_find_centre(const shoal_big_bodies *bodies, double centre[3], shoal_big_distance *sorted)
{
    static const double fraction[] = {0.5, 0.25, 0.1};
    const long n = bodies->n;
    double v[3];
    const double total = shoal_big_barycentre(bodies, centre, v);
    for (int k = 0; k < SHOAL_COUNT(fraction); k++) {
        double within = 0, sum[3] = {0};
        shoal_big_sort(bodies, centre, sorted);
        for (long i = 0; i < n && within < fraction[k] * total; i++) {
            const long b = sorted[i].body;
            within += bodies->m[b];
            for (int c = 0; c < 3; c++)
                sum[c] += bodies->m[b] * bodies->x[c * n + b];
        }
        for (int c = 0; c < 3; c++)
            centre[c] = sum[c] / within;
    }
    shoal_big_sort(bodies, centre, sorted);
}

static void measure_sums(const shoal_big_bodies *b, const double *phi, double row[SHOAL_BIG_COLUMNS])
{
    const long n = b->n;
    shoal_sum K = {0}, W = {0}, p[3] = {{0}}, L[3] = {{0}};
    for (long i = 0; i < n; i++) {
        double v2 = 0;
        for (int c = 0; c < 3; c++) {
            const long j = (c + 1) % 3 * n + i, k = (c + 2) % 3 * n + i;
            v2 += b->v[c * n + i] * b->v[c * n + i];
            shoal_sum_add(&p[c], b->m[i] * b->v[c * n + i]);
            shoal_sum_add(&L[c], b->m[i] * (b->x[j] * b->v[k] - b->x[k] * b->v[j]));
        }
        shoal_sum_add(&K, 0.5 * b->m[i] * v2);
        shoal_sum_add(&W, 0.5 * b->m[i] * phi[i]);
    }
    row[SHOAL_BIG_COLUMN_K] = shoal_sum_value(K);
    row[SHOAL_BIG_COLUMN_W] = shoal_sum_value(W);
    row[SHOAL_BIG_COLUMN_E] = row[SHOAL_BIG_COLUMN_K] + row[SHOAL_BIG_COLUMN_W];
    for (int c = 0; c < 3; c++) {
        row[SHOAL_BIG_COLUMN_px + c] = shoal_sum_value(p[c]);
        row[SHOAL_BIG_COLUMN_Lx + c] = shoal_sum_value(L[c]);
    }
}

shoal_status shoal_big_measure(shoal_context *context, const shoal_big_bodies *bodies, const double *phi,
                               double row[SHOAL_BIG_COLUMNS])
{
    static const double fraction[] = {0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9};
    const long n = bodies->n;
    double x[3], v[3], within = 0;
    shoal_big_distance *sorted = malloc(2 * (size_t)n * sizeof *sorted);
    if (!sorted)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld bodies", n);
    const double total = shoal_big_barycentre(bodies, x, v);
    for (int k = 0; k < SHOAL_BIG_COLUMNS; k++)
        row[k] = NAN;
    row[SHOAL_BIG_COLUMN_time] = bodies->time;
    measure_sums(bodies, phi, row);
    shoal_big_find_centre(bodies, &row[SHOAL_BIG_COLUMN_x_centre], sorted);
    for (long i = 0, k = 0; i < n; i++) {
        within += bodies->m[sorted[i].body];
        for (; k < SHOAL_COUNT(fraction) && within >= fraction[k] * total * (1 - 1e-12); k++)
            row[SHOAL_BIG_COLUMN_r01 + k] = sorted[i].r;
    }
    free(sorted);
    return SHOAL_OK;
}
