/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_gadget.c: any file as one of the format gadget.
 */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format("gadget", data, size);
    return 0;
}
