/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_big.c: any HDF5 file as the result of one big system: a good one, changed. What can be read is printed and
 * converted.
 */
#include <stdlib.h>
#include <unistd.h>

#include "big/big.h"
#include "tests/fuzz/fuzz.h"

enum { N = 3, SLOTS = 2 };

static void *base_file(size_t *size)
{
    static double numbers[N * SLOTS];
    const double row[SHOAL_BIG_COLUMNS] = {0.5, 1};
    char path[] = "/tmp/shoal-fuzz-XXXXXX";
    const int placed = mkstemp(path);
    shoal_big_record record = {.context = fuzz_context(),
                               .config_text = "model = { n = 3; };",
                               .plan_line = "plan",
                               .n_slots = SLOTS,
                               .slots = numbers};
    if (placed < 0 || shoal_units_parse(record.context, "", &record.units) ||
        shoal_big_bodies_create(record.context, N, &record.bodies) || shoal_big_record_add_row(&record, row) ||
        shoal_big_record_add_row(&record, row))
        abort();
    for (int i = 0; i < N; i++)
        record.bodies.m[i] = record.bodies.x[i] = 1 + i;
    if (shoal_big_record_write(&record, path))
        abort();
    char *bytes = fuzz_read(path, size);
    close(placed);
    unlink(path);
    free(record.rows);
    shoal_big_bodies_release(&record.bodies);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void *base;
    static size_t base_size;
    shoal_big_record record;
    if (!base)
        base = base_file(&base_size);
    const char *path = fuzz_hdf5(data, size, base, base_size);
    if (!shoal_big_record_read(fuzz_context(), path, &record)) {
        shoal_big_record_print(&record, fuzz_sink());
        shoal_big_record_release(&record);
    }
    char *files[] = {(char *)path};
    const shoal_convert_options options = {.which = SHOAL_QUERY_FINAL, .notes = fuzz_sink()};
    shoal_table table = {.context = fuzz_context()};
    if (!shoal_format_big.read(&table, 1, files, &options))
        shoal_csv_write(&table, fuzz_sink());
    shoal_table_release(&table);
    return 0;
}
