/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_phigrape.c: any file as one of the format phigrape.
 */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format("phigrape", data, size);
    return 0;
}
