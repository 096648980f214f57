/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_swarm.c: any file as one of the format swarm.
 */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format("swarm", data, size);
    return 0;
}
