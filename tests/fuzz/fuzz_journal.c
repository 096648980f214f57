/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_journal.c: any file as a journal. The checksums of its records are made right, or no change of a record would
 * come farther than to them.
 */
#include <endian.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

enum { HEAD_SIZE = 20 }; /* of a record: core/result/journal.c */

static void mend_checksums(char *journal, size_t size)
{
    for (size_t at = 0; size - at >= HEAD_SIZE;) {
        uint64_t length;
        memcpy(&length, journal + at + 8, 8);
        length = le64toh(length);
        if (length > size - at - HEAD_SIZE)
            return;
        const uint32_t sum = htole32(
            shoal_crc32c(shoal_crc32c(0, journal + at, 16), journal + at + HEAD_SIZE, (size_t)length));
        memcpy(journal + at + 16, &sum, 4);
        at += HEAD_SIZE + (size_t)length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *journal = fuzz_text(data, size);
    shoal_result *result = NULL;
    void *state = NULL;
    size_t state_size;
    mend_checksums(journal, size);
    const char *path = fuzz_file(journal, size);
    if (!shoal_journal_read(fuzz_context(), path, &result, &state, &state_size))
        free(state);
    shoal_result_destroy(&result);
    shoal_journal_read(fuzz_context(), path, &result, NULL, NULL); /* for its results alone */
    shoal_result_destroy(&result);
    free(journal);
    return 0;
}
