/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * draws.c: draws from a posterior in an HDF5 file, datasets /posterior/NAME [chain][draw], as `shoal fit` and ArviZ
 * write them. Their order is by draw: first the first draws of all chains.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/result/h5.h"
#include "core/study/study.h"

bool shoal_posterior_is(const char *path)
{
    return access(path, F_OK) == 0 && shoal_store_is(path);
}

/* Row i of `wanted` of n: one from each n / wanted of them, at a place in it that is not the same in all, since that
 * might be always the same chain. */
static long row_of(long i, long wanted, long n)
{
    if (wanted == n)
        return i;
    const uint64_t z = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u;
    const double part = (double)((z ^ z >> 29) * 0xbf58476d1ce4e5b9u >> 12) * 0x1p-52;
    const long row = (long)(((double)i + part) * ((double)n / (double)wanted));
    return row < n ? row : n - 1;
}

/* Column `place` of n_names. */
/* long: a place in a file, and where its values go */
static shoal_status read_column(const shoal_h5 *h5, const char *name, int place, int n_names,
                                const shoal_h5_extent *extent, double *all, long n, double *values)
{
    char path[2 * SHOAL_COLUMN_SIZE];
    const long n_chains = (long)extent->of[0], n_draws = (long)extent->of[1];
    snprintf(path, sizeof path, "/posterior/%s", name);
    const shoal_status status = shoal_h5_read_exactly(h5, path, H5T_NATIVE_DOUBLE, *extent, all);
    for (long i = 0; i < n && !status; i++) {
        const long row = row_of(i, n, n_chains * n_draws);
        values[i * n_names + place] = all[row % n_chains * n_draws + row / n_chains];
    }
    return status;
}

static shoal_status read_columns(const shoal_h5 *h5, int n_names, const char *const names[], long wanted,
                                 double **values, long *n_rows)
{
    char path[2 * SHOAL_COLUMN_SIZE];
    shoal_h5_extent extent;
    for (int i = 0; i < n_names; i++) {
        snprintf(path, sizeof path, "/posterior/%s", names[i]);
        if (!shoal_h5_has(h5, path))
            return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: expected draws %s", h5->path, path);
    }
    snprintf(path, sizeof path, "/posterior/%s", names[0]);
    const shoal_status status = shoal_h5_sizes(h5, path, 2, &extent);
    if (status)
        return status;
    const long n = (long)(extent.of[0] * extent.of[1]);
    if (n == 0)
        return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: expected at least one draw", h5->path);
    *n_rows = wanted > 0 && wanted < n ? wanted : n;
    double *all = malloc(((size_t)n + 1) * sizeof *all);
    *values = malloc(((size_t)*n_rows * (size_t)n_names + 1) * sizeof **values);
    shoal_status read = all && *values ? SHOAL_OK
                                       : shoal_fail(h5->context, SHOAL_E_MEMORY, "out of memory for %ld draws", n);
    for (int i = 0; i < n_names && !read; i++)
        read = read_column(h5, names[i], i, n_names, &extent, all, *n_rows, *values);
    free(all);
    return read;
}

shoal_status shoal_posterior_columns(shoal_context *context, const char *path, int n_names, const char *const names[],
                                     long wanted, double **values, long *n_rows)
{
    shoal_h5 h5;
    *values = NULL;
    *n_rows = 0;
    shoal_status status = shoal_h5_open(context, path, &h5);
    if (status)
        return status;
    if (n_names > 0)
        status = read_columns(&h5, n_names, names, wanted, values, n_rows);
    shoal_h5_close(&h5);
    if (status) {
        free(*values);
        *values = NULL;
    }
    return status;
}

/* Refuse a posterior whose elements mean something else than those of the study. */
static shoal_status compare(const shoal_config *config, const config_setting_t *place, const shoal_config *other)
{
    const config_setting_t *run = shoal_config_lookup(config, "run"), *its_run = shoal_config_lookup(other, "run"),
                           *system = shoal_config_lookup(config, "system"),
                           *its_system = shoal_config_lookup(other, "system");
    const double start = shoal_config_number(config, run, "run", "t_start"),
                 its_start = shoal_config_number(other, its_run, "run", "t_start");
    if (shoal_config_number(config, system, "system", "elements") !=
        shoal_config_number(other, its_system, "system", "elements"))
        return shoal_config_fail(config, place, NULL, NULL, "a posterior with system.elements as here, not \"%s\"",
                                 shoal_config_string(its_system, "elements", "jacobi"));
    if (!(fabs(start - its_start) <= 1e-12 * fabs(start)))
        return shoal_config_fail(
            config, place, NULL, NULL, "a posterior of elements at run.t_start = %.17g, not at %.17g",
            start / shoal_config_factor(config, "time"), its_start / shoal_config_factor(config, "time"));
    const char *epoch = shoal_config_string(config_root_setting(&config->tree), "epoch", ""),
               *its_epoch = shoal_config_string(config_root_setting(&other->tree), "epoch", "");
    if (*epoch && *its_epoch && strcmp(epoch, its_epoch) != 0)
        return shoal_config_fail(config, place, NULL, NULL, "a posterior of epoch \"%s\", not \"%s\"", epoch,
                                 its_epoch);
    return SHOAL_OK;
}

/* The units that the file states for some columns, as far as there is room for them. */
static void read_units(const shoal_h5 *h5, int n, const char *const names[], shoal_drawn_unit *of)
{
    char path[2 * SHOAL_COLUMN_SIZE];
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "/posterior/%s", names[i]);
        of[i] = (shoal_drawn_unit){.factor = 1};
        if (shoal_h5_has_attribute(h5, path, "unit") &&
            shoal_h5_get_word(h5, path, "unit", of[i].name, sizeof of[i].name))
            of[i].name[0] = '\0';
    }
}

shoal_status shoal_posterior_units(const shoal_config *config, const config_setting_t *place, const char *path, int n,
                                   const char *const names[], const shoal_parameter *const rows[], shoal_drawn_unit *of)
{
    shoal_config other;
    shoal_h5 h5;
    char *text = NULL;
    shoal_status status = shoal_h5_open(config->context, path, &h5);
    if (status)
        return status;
    read_units(&h5, n, names, of);
    if (shoal_h5_has_attribute(&h5, "/", "config"))
        status = shoal_h5_get_text(&h5, "/", "config", &text);
    shoal_h5_close(&h5);
    if (!status && text)
        status = shoal_config_open(config->context, path, text, 0, NULL, &other);
    if (!status && text) {
        status = compare(config, place, &other);
        for (int i = 0; i < n; i++) {
            const char *dimension = rows[i]->dimension;
            of[i].factor = shoal_config_factor(&other, dimension) / shoal_config_factor(config, dimension);
            if (rows[i] == &shoal_body_key(SHOAL_BODY_log10_m)->row)
                of[i].more = log10(shoal_config_factor(&other, "mass") / shoal_config_factor(config, "mass"));
        }
        shoal_config_close(&other);
    }
    free(text);
    return status;
}
