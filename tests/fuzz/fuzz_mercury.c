/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_mercury.c: any file as one of the format mercury.
 */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format("mercury", data, size);
    return 0;
}
