/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_csv.c: any file as one of the format csv.
 */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format("csv", data, size);
    return 0;
}
