/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_override.c: any lines as overrides (key=value) of a config file.
 */
#define _DEFAULT_SOURCE 1 /* strsep */
#include <stdlib.h>

#include "core/study/study.h"
#include "tests/fuzz/fuzz.h"

static const char config[] =
    "epoch = \"J2000.0\"; units = { length = \"AU\"; mass = \"Msun\"; time = \"yr\"; }; angles = \"degrees\";"
    "system = { elements = \"jacobi\"; bodies = ("
    "  { name = \"sun\"; m = 1; }, { name = \"b\"; m = 1e-3; a = 5.2; e = 0.05; l = 34; pomega = 14; },"
    "  { name = \"c\"; m = 3e-4; a = 9.5; e = 0.25; l = 50; pomega = 92; } ); };"
    "sweep = ( { body = \"c\"; parameter = \"a\"; from = 7; to = 11; count = 5; } );"
    "integrator = { name = \"mvs\"; dt = 0.25; };"
    "monitors = ( { name = \"stop_on_ejection\"; r_max = 100; } ); run = { t_end = 1000; };"
    "output = { file = \"x.h5\"; };";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text;
    const char *overrides[8];
    shoal_study *study = NULL;
    int n = 0;
    if (fuzz_is_small(text) && !strstr(text, "@include")) {
        while (rest && n < SHOAL_COUNT(overrides))
            overrides[n++] = strsep(&rest, "\n");
        shoal_study_open(fuzz_context(), "fuzz.cfg", config, n, overrides, NULL, &study);
        shoal_study_destroy(&study);
    }
    free(text);
    return 0;
}
