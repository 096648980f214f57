/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_gadget.c: any HDF5 file as one of the format gadget: three bodies, changed.
 */
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

/* A good one. */
static char *base_file(size_t *size)
{
    const shoal_format *format = NULL;
    shoal_table table = {.context = fuzz_context(), .path = "base"};
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out || shoal_format_named(table.context, "gadget", &format) ||
        shoal_units_parse(table.context, "kpc,Msun,Myr", &table.units) || shoal_table_add_system(&table, 0, 1))
        abort();
    for (int i = 0; i < 3; i++) {
        const shoal_body body = {.m = 1 + i, .x = i, .vy = 0.5 * i};
        char name[SHOAL_NAME_SIZE];
        if (shoal_table_add_body(&table, shoal_table_name(i, name), &body))
            abort();
    }
    if (format->write(&table, out) || fclose(out))
        abort();
    shoal_table_release(&table);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *base;
    static size_t base_size;
    if (!base)
        base = base_file(&base_size);
    fuzz_format_file("gadget", fuzz_hdf5(data, size, base, base_size));
    return 0;
}
