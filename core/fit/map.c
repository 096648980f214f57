/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * map.c: coordinates u in which draws are nearly normal, after draws x with straight and bent ridges. The map is a
 * triangular polynomial of second degree (Parno & Marzouk 2018, doi:10.1137/17M1134640) after a rotation:
 *
 *     z = B (x - mean)                    the principal components of x / sigma, the widest first, each of variance 1
 *     u_i = (z_i - q_i(z_1 ... z_i-1)) / w_i
 *
 * where q_i, a polynomial of second degree, is the regression of z_i on the components before, and w_i^2 the variance
 * that is left. The way back is as plain, for any u. The determinant is the same everywhere, so that densities of x and
 * of u have the same ratios.
 *
 * Monomials are in the order 1, z_1, z_1^2, z_2, z_2 z_1, z_2^2, z_3 ...: those before z_i are all that q_i has. So
 * the Cholesky factor L of the matrix of their mean products holds all regressions: if row i of L is that of z_i, and
 * L_i the block of the monomials before, the coefficients c solve L_i^T c = row i, and w_i^2 is the sum of squares of
 * the rest of row i. Few draws allow few monomials: then only the first components are in the q_i.
 */
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>

#include "core/fit/fit.h"

enum { EACH = 8 };     /* different draws for each monomial, at least */
#define RIDGE    1e-3  /* added to mean squares, which are about 1 */
#define FLATTEST 1e-12 /* least variance of a component, of all of them 1 on average */

/* Monomials of the first p components. */
static int monomials(int p)
{
    return (p + 1) * (p + 2) / 2;
}

static int before(const shoal_map *map, int i)
{
    return monomials(i < map->p ? i : map->p);
}

/* Those that end in z_i. */
static void add(const shoal_map *map, int i, double z)
{
    double *at = map->monomial + monomials(i);
    map->z[i] = z;
    if (i >= map->p)
        return;
    *at++ = z;
    for (int j = 0; j <= i; j++)
        *at++ = z * map->z[j];
}

/* q_i of the components that were added. */
static double regression(const shoal_map *map, int i)
{
    const double *c = map->coefficient + (size_t)i * (size_t)monomials(map->k);
    double sum = 0;
    for (int j = 0; j < before(map, i); j++)
        sum += c[j] * map->monomial[j];
    return sum;
}

static double component(const shoal_map *map, int i, const double *x)
{
    double z = 0;
    for (int j = 0; j < map->k; j++)
        z += map->to[i * map->k + j] * (x[j] - map->mean[j]);
    return z;
}

void shoal_map_to(const shoal_map *map, const double *x, double *u)
{
    for (int i = 0; i < map->k; i++) {
        const double z = component(map, i, x);
        u[i] = (z - regression(map, i)) / map->width[i];
        add(map, i, z);
    }
}

void shoal_map_from(const shoal_map *map, const double *u, double *x)
{
    for (int i = 0; i < map->k; i++)
        add(map, i, regression(map, i) + map->width[i] * u[i]);
    for (int j = 0; j < map->k; j++) {
        x[j] = map->mean[j];
        for (int i = 0; i < map->k; i++)
            x[j] += map->from[j * map->k + i] * map->z[i];
    }
}

shoal_status shoal_map_create(shoal_context *context, int k, shoal_map *map)
{
    const size_t n = (size_t)k, all = (size_t)monomials(k);
    *map = (shoal_map){.k = k, .mean = shoal_allocate(3 * n + 2 * n * n + (n + 1) * all, sizeof(double))};
    if (!map->mean)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    map->width = map->mean + n;
    map->z = map->width + n;
    map->to = map->z + n;
    map->from = map->to + n * n;
    map->coefficient = map->from + n * n;
    map->monomial = map->coefficient + n * all;
    map->monomial[0] = 1;
    return SHOAL_OK;
}

int shoal_map_room(int k)
{
    return k + monomials(k);
}

shoal_map shoal_map_beside(const shoal_map *map, double *room)
{
    shoal_map beside = *map;
    beside.z = room;
    beside.monomial = room + map->k;
    beside.monomial[0] = 1;
    return beside;
}

void shoal_map_release(shoal_map *map)
{
    free(map->mean);
    *map = (shoal_map){0};
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

/* Mean and rotation. Returns false where a parameter is the same in all draws. */
static bool rotate(shoal_map *map, long n, const double *const x[], gsl_matrix *covariance, gsl_matrix *vectors,
                   gsl_vector *values, gsl_eigen_symmv_workspace *space)
{
    const int k = map->k;
    double *sigma = map->width;
    for (int i = 0; i < k; i++) {
        double sum = 0;
        for (long d = 1; d < n; d++)
            sum += x[d][i] - x[0][i];
        map->mean[i] = x[0][i] + sum / (double)n;
        sigma[i] = 0;
        for (long d = 0; d < n; d++)
            sigma[i] += (x[d][i] - map->mean[i]) * (x[d][i] - map->mean[i]) / (double)n;
        sigma[i] = sqrt(sigma[i]);
        if (!(sigma[i] > 0))
            return false;
    }
    for (int i = 0; i < k; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (long d = 0; d < n; d++)
                sum += (x[d][i] - map->mean[i]) / sigma[i] * ((x[d][j] - map->mean[j]) / sigma[j]);
            gsl_matrix_set(covariance, (size_t)i, (size_t)j, sum / (double)n);
            gsl_matrix_set(covariance, (size_t)j, (size_t)i, sum / (double)n);
        }
    gsl_eigen_symmv(covariance, values, vectors, space);
    gsl_eigen_symmv_sort(values, vectors, GSL_EIGEN_SORT_VAL_DESC);
    for (int i = 0; i < k; i++) {
        const double size = sqrt(fmax(gsl_vector_get(values, (size_t)i), FLATTEST));
        for (int j = 0; j < k; j++) {
            const double v = gsl_matrix_get(vectors, (size_t)j, (size_t)i);
            map->to[i * k + j] = v / (sigma[j] * size);
            map->from[j * k + i] = v * sigma[j] * size;
        }
    }
    return true;
}

/* Regressions. products: [m][m], m = monomials of p components and the k - p other components. */
static void regress(shoal_map *map, long n, const double *const x[], gsl_matrix *products)
{
    const int k = map->k, m_p = monomials(map->p), m = (int)products->size1;
    gsl_matrix_set_zero(products);
    for (long d = 0; d < n; d++) {
        double *row = map->monomial;
        for (int i = 0; i < k; i++)
            add(map, i, component(map, i, x[d]));
        memcpy(row + m_p, map->z + map->p, (size_t)(k - map->p) * sizeof *row);
        for (int a = 0; a < m; a++) {
            double *to = gsl_matrix_ptr(products, (size_t)a, 0);
            for (int b = 0; b <= a; b++)
                to[b] += row[a] * row[b] / (double)n;
        }
    }
    for (int a = 1; a < m; a++)
        *gsl_matrix_ptr(products, (size_t)a, (size_t)a) += RIDGE;
    gsl_linalg_cholesky_decomp1(products);
    for (int i = 0; i < k; i++) {
        const int at = i < map->p ? monomials(i) : m_p + i - map->p, n_before = before(map, i);
        double *c = map->coefficient + (size_t)i * (size_t)monomials(k), left = 0;
        for (int j = n_before - 1; j >= 0; j--) {
            c[j] = gsl_matrix_get(products, (size_t)at, (size_t)j);
            for (int l = j + 1; l < n_before; l++)
                c[j] -= gsl_matrix_get(products, (size_t)l, (size_t)j) * c[l];
            c[j] /= gsl_matrix_get(products, (size_t)j, (size_t)j);
        }
        for (int j = n_before; j <= at; j++)
            left += gsl_matrix_get(products, (size_t)at, (size_t)j) * gsl_matrix_get(products, (size_t)at, (size_t)j);
        map->width[i] = sqrt(left);
    }
}

shoal_status shoal_map_learn(shoal_context *context, long n, const double *const x[], long n_different, shoal_map *map)
{
    const size_t k = (size_t)map->k;
    map->learnt = false;
    for (map->p = map->k - 1; map->p > 0 && (long)monomials(map->p) * EACH > n_different;)
        map->p--;
    const size_t m = (size_t)(monomials(map->p) + map->k - map->p);
    gsl_matrix *covariance = gsl_matrix_alloc(k, k), *vectors = gsl_matrix_alloc(k, k),
               *products = gsl_matrix_alloc(m, m);
    gsl_vector *values = gsl_vector_alloc(k);
    gsl_eigen_symmv_workspace *space = gsl_eigen_symmv_alloc(k);
    shoal_status status = SHOAL_OK;
    if (!covariance || !vectors || !products || !values || !space)
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    else if (rotate(map, n, x, covariance, vectors, values, space)) {
        regress(map, n, x, products);
        map->learnt = true;
    }
    gsl_eigen_symmv_free(space);
    gsl_vector_free(values);
    gsl_matrix_free(products);
    gsl_matrix_free(vectors);
    gsl_matrix_free(covariance);
    return status;
}
