/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * read.c: a result from its file.
 */
#include "big/big.h"
#include "core/formats/table.h"
#include "core/report/report.h"

shoal_status shoal_report_read(shoal_context *context, const char *path, shoal_result **result)
{
    shoal_status status = shoal_store_read(context, path, result);
    if (status == SHOAL_E_INPUT && (shoal_big_record_is(path) || shoal_gadget_is(path)))
        status = shoal_fail(context, status, "%s: of one big system, which only query, plot and convert read", path);
    return status;
}
