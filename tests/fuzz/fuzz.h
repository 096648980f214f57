/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz.h: what the harnesses share. A harness hands any bytes to one reader: it may refuse them, and must neither
 * crash, hang nor leak. libFuzzer calls it (make fuzz), or driver.c, which needs no clang.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "core/formats/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One context for all runs. */
shoal_context *fuzz_context(void);
/* The path of a file in memory that holds these bytes, until the next call. */
const char *fuzz_file(const void *data, size_t size);
/* Likewise `base`, an HDF5 file, changed as the bytes say (edits.c). */
const char *fuzz_hdf5(const uint8_t *data, size_t size, const void *base, size_t base_size);
/* All bytes of a file on disk, malloc'd. */
void *fuzz_read(const char *path, size_t *size);
/* The bytes as a text, malloc'd. */
char *fuzz_text(const uint8_t *data, size_t size);
/* False for a text that asks for many systems: they are allowed, and would only take long. */
bool fuzz_is_small(const char *text);
/* Read them in a format, or a file, and do with the table what `convert` does. */
void fuzz_format(const char *format, const uint8_t *data, size_t size);
void fuzz_format_file(const char *format, const char *path);
/* As systems of a result that other harnesses ask. */
shoal_result *fuzz_result(void);
/* Where outputs go that nobody reads. */
FILE *fuzz_sink(void);

#endif
