/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_config.c: any text as a config file, read and checked up to the systems that it makes.
 */
#include <stdlib.h>

#include "core/study/study.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    shoal_study *study = NULL;
    if (fuzz_is_small(text) && !strstr(text, "@include")) {
        shoal_study_open(fuzz_context(), "fuzz.cfg", text, 0, NULL, NULL, &study);
        shoal_study_destroy(&study);
    }
    free(text);
    return 0;
}
