/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * check.c: what public functions refuse, and where the numbers of an array of systems are.
 */
#include <limits.h>

#include "core/base/base.h"

shoal_status(shoal_check_given)(shoal_context *context, const char *function, const char *name, const void *pointer)
{
    return pointer ? SHOAL_OK
                   : shoal_fail(context, SHOAL_E_USAGE, "%s: %s = NULL: expected an address", function, name);
}

shoal_status shoal_check_range(shoal_context *context, const char *function, const char *name, long value,
                               const long range[2])
{
    if (value >= range[0] && value <= range[1])
        return SHOAL_OK;
    if (range[1] < range[0])
        return shoal_fail(context, SHOAL_E_USAGE, "%s: %s = %ld: there is none", function, name, value);
    if (range[1] == LONG_MAX)
        return shoal_fail(context, SHOAL_E_USAGE, "%s: %s = %ld: expected %ld or more", function, name, value,
                          range[0]);
    return shoal_fail(context, SHOAL_E_USAGE, "%s: %s = %ld: expected %ld to %ld", function, name, value, range[0],
                      range[1]);
}

shoal_status shoal_check_rows(shoal_context *context, const char *function, long first, long n, long n_rows)
{
    shoal_status status = shoal_check_range(context, function, "first", first, (long[2]){0, n_rows});
    return status ? status : shoal_check_range(context, function, "n", n, (long[2]){0, n_rows - first});
}

shoal_status shoal_block_resolve(shoal_context *context, const char *function, const shoal_block *given, int n_numbers,
                                 shoal_block *block)
{
    const long n_systems = block->n, n_bodies = block->n_bodies;
    if (given) {
        shoal_status status = shoal_check_rows(context, function, given->first, given->n, n_systems);
        if (!status)
            status = shoal_check_range(context, function, "n_bodies", given->n_bodies, (long[2]){0, n_bodies});
        if (status)
            return status;
        *block = *given;
        block->n_bodies = given->n_bodies > 0 ? given->n_bodies : (int)n_bodies;
    }
    if (block->system_stride == 0 && block->body_stride == 0 && block->number_stride == 0) {
        block->number_stride = (long)sizeof(double);
        block->body_stride = n_numbers * block->number_stride;
        block->system_stride = block->n_bodies * block->body_stride;
    }
    return SHOAL_OK;
}

shoal_status shoal_refuse_name(shoal_context *context, const char *function, const char *argument, const char *name,
                               const char *whose, const char *near)
{
    return shoal_fail(context, SHOAL_E_USAGE, "%s: %s = '%.100s': %s none of that name%s%s%s", function, argument, name,
                      whose, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}
