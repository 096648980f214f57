/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_horizons.c: any file as one of the format horizons.
 */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format("horizons", data, size);
    return 0;
}
