/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * format.c: the result file of one big system as a format that is read (core/formats).
 */
#include "big/big.h"

/* The last state. */
static shoal_status big_read(shoal_table *table, int n_files, char *const *files, const shoal_convert_options *options)
{
    (void)n_files;
    const char *path = files[0];
    shoal_big_record record;
    if (options->which != SHOAL_QUERY_FINAL)
        return shoal_fail(
            table->context, SHOAL_E_USAGE,
            "%s: a big system's file has its last state alone; others are its snapshots (output.snapshots)", path);
    shoal_status status = shoal_big_record_read(table->context, path, &record);
    if (status)
        return status;
    if (!record.has_units) /* by their names, which are 1 as well */
        status = shoal_units_init(table->context, NULL, NULL, NULL, NAN, &record.units);
    if (!status)
        status = shoal_big_to_table(table->context, &record.bodies, &record.units, table);
    table->path = path;
    shoal_big_record_release(&record);
    return status;
}

const shoal_format shoal_format_big = {
    .name = "big",
    .ends = "",
    .doc = "result file of one big system",
    .is_file = shoal_big_record_is,
    .read = big_read,
};
