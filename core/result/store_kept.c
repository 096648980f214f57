/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * store_kept.c: the part of a result file that `shoal run --extend` goes on from, /extend:
 *
 *     layout    attribute: what the doubles of a row are of (core/plan/keep.c), a text that is compared
 *     system    [row] row of the system in /systems; ascending
 *     state     [double][row]: numbers that are the same for all systems need little room so
 *     begin     [system][double], only of studies whose configs name files: core/study/begin.c
 *
 * Files of older versions, and those of studies with output.extend = false, have no such group.
 */
#include "core/result/h5.h"

#include <stdlib.h>
#include <string.h>

#define GROUP "/extend"
#define BEGIN GROUP "/begin"

/* [n][m] as [m][n]; NULL: memory is out. */
static double *turned(const double *from, size_t n, size_t m)
{
    double *to = malloc((n * m + 1) * sizeof *to);
    for (size_t i = 0; to && i < n; i++)
        for (size_t k = 0; k < m; k++)
            to[k * n + i] = from[i * m + k];
    return to;
}

static shoal_status no_memory(const shoal_h5 *h5)
{
    return shoal_fail(h5->context, SHOAL_E_MEMORY, "%s: out of memory", h5->path);
}

shoal_status shoal_store_write_kept(const shoal_h5 *h5, const shoal_result *result)
{
    const shoal_kept *kept = &result->kept;
    if (kept->width == 0)
        return SHOAL_OK;
    shoal_status status = shoal_h5_group(h5, GROUP);
    if (!status)
        status = shoal_h5_put_text(h5, GROUP, "layout", kept->layout);
    if (!status)
        status = shoal_h5_write(h5, GROUP "/system", H5T_NATIVE_INT64, shoal_h5_rows(kept->n), kept->system, "",
                                "row of the system in /systems");
    double *state = status ? NULL : turned(kept->row, (size_t)kept->n, (size_t)kept->width);
    if (!status)
        status = state ? shoal_h5_write(h5, GROUP "/state", H5T_NATIVE_DOUBLE, shoal_h5_table(kept->width, kept->n),
                                        state, "",
                                        "what `shoal run --extend` goes on from, in Shoal's own units and order")
                       : no_memory(h5);
    free(state);
    if (!status && result->begin)
        status = shoal_h5_write(h5, BEGIN, H5T_NATIVE_DOUBLE,
                                shoal_h5_table(result->n_systems, shoal_result_begin_width(result)), result->begin, "",
                                "the systems as they begin, in Shoal's own units and order");
    return status;
}

/* The rows, in order of the systems and of systems that there are. */
static shoal_status read_rows(const shoal_h5 *h5, shoal_result *result)
{
    shoal_kept *kept = &result->kept;
    shoal_h5_extent rows, states;
    shoal_status status = shoal_h5_sizes(h5, GROUP "/system", 1, &rows);
    if (!status)
        status = shoal_h5_sizes(h5, GROUP "/state", 2, &states);
    if (status)
        return status;
    if (states.of[1] != rows.of[0] || states.of[0] < 1 || states.of[0] > INT32_MAX ||
        rows.of[0] > (hsize_t)result->n_systems)
        return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: " GROUP ": its sizes make no sense", h5->path);
    kept->width = (int)states.of[0];
    status = shoal_kept_reserve(h5->context, kept, (long)rows.of[0]);
    if (!status)
        status = shoal_h5_read_exactly(h5, GROUP "/system", H5T_NATIVE_INT64, rows, kept->system);
    if (!status)
        status = shoal_h5_read_exactly(h5, GROUP "/state", H5T_NATIVE_DOUBLE, states, kept->row);
    double *row = status ? NULL : turned(kept->row, (size_t)states.of[0], (size_t)states.of[1]);
    if (!status && !row)
        status = no_memory(h5);
    if (status)
        return status;
    if (rows.of[0] > 0)
        memcpy(kept->row, row, (size_t)(states.of[0] * states.of[1]) * sizeof *row);
    free(row);
    kept->n = (long)rows.of[0];
    for (long i = 0; i < kept->n; i++)
        if (kept->system[i] < (i > 0 ? kept->system[i - 1] + 1 : 0) || kept->system[i] >= result->n_systems)
            return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: " GROUP ": row %ld is of system %lld", h5->path, i,
                              (long long)kept->system[i]);
    return SHOAL_OK;
}

static shoal_status read_begin(const shoal_h5 *h5, shoal_result *result)
{
    const size_t n = (size_t)result->n_systems, width = (size_t)shoal_result_begin_width(result);
    if (shoal_h5_lacks(h5, BEGIN))
        return SHOAL_OK;
    result->begin = malloc(n * width * sizeof *result->begin);
    return result->begin ? shoal_h5_read_exactly(h5, BEGIN, H5T_NATIVE_DOUBLE, shoal_h5_table((long)n, (long)width),
                                                 result->begin)
                         : no_memory(h5);
}

shoal_status shoal_store_read_kept(shoal_context *context, const char *path, bool must, shoal_result *result)
{
    shoal_h5 h5;
    shoal_status status = shoal_h5_open(context, path, &h5);
    if (status)
        return status;
    const bool lacks = shoal_h5_lacks(&h5, GROUP);
    if (lacks && must)
        status = shoal_fail(context, SHOAL_E_INPUT,
                            "%s: does not hold what a longer run would go on from: it is of a version of shoal before "
                            "--extend, or of a run with output.extend = false, or of more than 100000 systems",
                            path);
    if (!status && !lacks)
        status = shoal_h5_get_text(&h5, GROUP, "layout", &result->kept.layout);
    if (!status && !lacks)
        status = read_rows(&h5, result);
    if (!status && !lacks)
        status = read_begin(&h5, result);
    shoal_h5_close(&h5);
    return status;
}
