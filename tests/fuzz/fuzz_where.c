/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_where.c: any text as the conditions of --where.
 */
#include <limits.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    const shoal_selection of = {.last = LONG_MAX, .where = text};
    bool chosen[5];
    shoal_select_systems(fuzz_context(), fuzz_result(), &of, chosen);
    free(text);
    return 0;
}
