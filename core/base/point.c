/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * point.c: numbers are read and written with a decimal point, whatever the locale of the process says. Public functions
 * that read or write numbers as text begin with shoal_point_begin and end with shoal_point_end: printf, strtod and
 * libconfig ask the locale of the calling thread, so nothing below has to know. Threads of the library write no text.
 */
#include "core/base/base.h"

shoal_point shoal_point_begin(void)
{
    shoal_point point = {.own = newlocale(LC_NUMERIC_MASK, "C", duplocale(LC_GLOBAL_LOCALE))};
    point.before = point.own ? uselocale(point.own) : NULL; /* out of memory: as it is */
    return point;
}

void shoal_point_end(shoal_point point)
{
    if (!point.own)
        return;
    uselocale(point.before);
    freelocale(point.own);
}
