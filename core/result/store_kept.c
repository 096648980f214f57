/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * store_kept.c: the part of a result file that `shoal run --extend` goes on from, /extend:
 *
 *     layout    attribute: what the doubles of a row are of (core/plan/keep.c), a text that is compared
 *     system    [row] row of the system in /systems; ascending
 *     state     [row][double]
 *
 * Files of older versions, and those of studies with output.extend = false, have no such group.
 */
#include "core/result/h5.h"

#include <stdlib.h>

#define GROUP "/extend"

shoal_status shoal_store_write_kept(const shoal_h5 *h5, const shoal_kept *kept)
{
    if (kept->width == 0)
        return SHOAL_OK;
    shoal_status status = shoal_h5_group(h5, GROUP);
    if (!status)
        status = shoal_h5_put_text(h5, GROUP, "layout", kept->layout);
    if (!status)
        status = shoal_h5_write(h5, GROUP "/system", H5T_NATIVE_INT64, shoal_h5_rows(kept->n), kept->system, "",
                                "row of the system in /systems");
    if (!status)
        status = shoal_h5_write(h5, GROUP "/state", H5T_NATIVE_DOUBLE, shoal_h5_table(kept->n, kept->width), kept->row,
                                "", "what `shoal run --extend` goes on from, in Shoal's own units and order");
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
    if (states.of[0] != rows.of[0] || states.of[1] < 1 || states.of[1] > INT32_MAX ||
        rows.of[0] > (hsize_t)result->n_systems)
        return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: " GROUP ": its sizes make no sense", h5->path);
    kept->width = (int)states.of[1];
    status = shoal_kept_reserve(h5->context, kept, (long)rows.of[0]);
    if (!status)
        status = shoal_h5_read_exactly(h5, GROUP "/system", H5T_NATIVE_INT64, rows, kept->system);
    if (!status)
        status = shoal_h5_read_exactly(h5, GROUP "/state", H5T_NATIVE_DOUBLE, states, kept->row);
    if (status)
        return status;
    kept->n = (long)rows.of[0];
    for (long i = 0; i < kept->n; i++)
        if (kept->system[i] < (i > 0 ? kept->system[i - 1] + 1 : 0) || kept->system[i] >= result->n_systems)
            return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: " GROUP ": row %ld is of system %lld", h5->path, i,
                              (long long)kept->system[i]);
    return SHOAL_OK;
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
                            "--extend, or of a run with output.extend = false, or of more than a million systems",
                            path);
    if (!status && !lacks)
        status = shoal_h5_get_text(&h5, GROUP, "layout", &result->kept.layout);
    if (!status && !lacks)
        status = read_rows(&h5, result);
    shoal_h5_close(&h5);
    return status;
}
