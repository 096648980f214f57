/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_result.c: any file as a result.
 */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    shoal_result *result = NULL;
    shoal_store_read(fuzz_context(), fuzz_file(data, size), &result);
    shoal_result_destroy(&result);
    return 0;
}
