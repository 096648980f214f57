/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_observations.c: any file as a table of observers. Its first byte says in which format, and whether the
 * reader says the time scale.
 */
#include "core/formats/observations.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int n = 0;
    while (shoal_observation_formats(n)->name)
        n++;
    if (size == 0)
        return 0;
    const shoal_observations_said said = {.format = shoal_observation_formats(data[0] % 64 % n)->name,
                                          .time = data[0] & 64 ? NULL : "TDB",
                                          .object = "101",
                                          .error = 1e-3,
                                          .body = -1};
    shoal_observations table;
    if (!shoal_observations_read(fuzz_context(), fuzz_file(data + 1, size - 1), &said, &table))
        shoal_observations_release(&table);
    return 0;
}
