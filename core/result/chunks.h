/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * chunks.h: writes the chunks of an HDF5 dataset, its filters run by all threads.
 */
#ifndef SHOAL_CHUNKS_H
#define SHOAL_CHUNKS_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

enum { SHOAL_DEFLATE = 1 }; /* level: of doubles, higher ones save a hundredth of the size in twice the time and more */

/*
 * Write a whole dataset whose filters are shuffle, deflate, fletcher32, in this order.
 *   item_size  in   bytes of an item, in memory as in the file
 *   n_rows     in   items of `row_items` each; the dataset's other dimensions are not cut into chunks
 *   chunk_rows in   rows of a chunk
 * False if memory is out or HDF5 refused.
 */
bool shoal_chunks_write(hid_t dataset, int rank, size_t item_size, size_t row_items, size_t n_rows, size_t chunk_rows,
                        const void *data);

#endif
