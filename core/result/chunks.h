/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * chunks.h: writes the chunks of HDF5 datasets, their filters run by all threads.
 */
#ifndef SHOAL_CHUNKS_H
#define SHOAL_CHUNKS_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/shoal.h"

enum { SHOAL_DEFLATE = 1 }; /* level: of doubles, higher ones save a hundredth of the size in twice the time and more */

/* Rows of a dataset whose filters are shuffle, deflate, fletcher32, in this order. Its other dimensions are not cut
 * into chunks. */
typedef struct shoal_chunks {
    hid_t dataset;
    int rank;
    size_t item_size;         /* in memory as in the file */
    size_t first_row;         /* a chunk's first */
    size_t n_rows, row_items; /* n_rows: whole chunks, unless they are the last */
    size_t chunk_rows;        /* rows of a chunk */
    const void *data;
    bool releases; /* the memory of what is written */
} shoal_chunks;

/* Write rows of n datasets, one after the other. E_MEMORY, or E_FILE: HDF5 refused. */
shoal_status shoal_chunks_write(int n, const shoal_chunks *rows);

#endif
