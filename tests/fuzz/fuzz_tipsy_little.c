/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_tipsy_little.c: any file as one of the format tipsy_little.
 */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format("tipsy_little", data, size);
    return 0;
}
