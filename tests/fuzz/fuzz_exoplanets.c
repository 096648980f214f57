/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_exoplanets.c: any file as one of the format exoplanets.
 */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format("exoplanets", data, size);
    return 0;
}
