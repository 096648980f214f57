/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_broken.c: a harness that fails as its input says, to test driver.c.
 */
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *volatile lost = NULL;
    for (volatile bool hangs = size > 0 && *data == 'h'; hangs;)
        ;
    if (size > 0 && *data == 'c')
        abort();
    if (size > 0 && *data == 'l')
        lost = malloc(100);
    lost = NULL;
    (void)lost;
    return 0;
}
