/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * number.c: numbers as text, whatever locale the program has chosen: a decimal point, never a comma. Public functions
 * that read or write much text hold the point from begin to end: printf, strtod and libconfig ask the locale of the
 * calling thread.
 *
 * uselocale is of the calling thread alone, and newlocale of "C" allocates nothing in glibc and musl.
 */
#define _GNU_SOURCE /* newlocale */
#include <locale.h>
#include <stdlib.h>

#include "core/base/base.h"

void *shoal_numbers_begin(void)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return plain ? (void *)uselocale(plain) : NULL;
}

void shoal_numbers_end(void *before)
{
    if (!before)
        return;
    const locale_t plain = uselocale((locale_t)before);
    if (plain != (locale_t)before && plain != LC_GLOBAL_LOCALE)
        freelocale(plain);
}

double shoal_number_read(const char *text, char **end)
{
    void *before = shoal_numbers_begin();
    const double value = strtod(text, end);
    shoal_numbers_end(before);
    return value;
}

const char *shoal_number_print(char text[SHOAL_NUMBER_SIZE], double value)
{
    void *before = shoal_numbers_begin();
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, SHOAL_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    shoal_numbers_end(before);
    return text;
}
