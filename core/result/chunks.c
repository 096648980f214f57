/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * chunks.c: writes the chunks of an HDF5 dataset, its filters run by all threads.
 *
 * HDF5 filters one chunk after the other, and deflating is what takes the time of a large file: 30 MB/s. Here the
 * threads make what its filters would make (HDF5 File Format Specification 3.0, section IV.A.2.l), and HDF5 only puts
 * it into the file, chunk by chunk in their order, so that the file does not depend on the number of threads.
 *
 *     shuffle     the first bytes of all items, then their second ones, ...
 *     deflate     RFC 1950; left out, and that noted, where it would not make the chunk smaller
 *     fletcher32  of the bytes as big-endian numbers of 16 bits w_i:  A = sum w_i,  B = sum of the partial sums,  mod
 *                 65535 with
 *                 65535 for 0; B 2^16 + A follows the chunk, little-endian
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/result/chunks.h"
#include "core/result/result.h"

/* chunks a thread between two visits to HDF5; bit of a filter */
enum { BATCH = 4, DEFLATE_LEFT_OUT = 1 << 1, CHECKSUM_SIZE = 4 };

/* A chunk on its way. */
typedef struct packed {
    unsigned char *shuffled, *bytes;
    size_t size;
    uint32_t left_out; /* bits of the filters */
    bool done;
} packed;

static uint64_t folded(uint64_t sum)
{
    return sum == 0 ? 0 : (sum - 1) % 65535 + 1;
}

static uint32_t fletcher32(const unsigned char *bytes, size_t n)
{
    uint64_t a = 0, b = 0;
    for (size_t i = 0; i < n; i += 2) {
        a += (uint64_t)bytes[i] << 8 | (i + 1 < n ? bytes[i + 1] : 0);
        b += a;
        if (i % 65536 == 65534) { /* long before they overflow */
            a = folded(a);
            b = folded(b);
        }
    }
    return (uint32_t)(folded(b) << 16 | folded(a));
}

/* items: n_given of the chunk's n; the rest of its last one is zero. */
static void pack(const unsigned char *items, size_t item_size, size_t n_given, size_t n, packed *chunk)
{
    for (size_t byte = 0; byte < item_size; byte++) {
        unsigned char *to = chunk->shuffled + byte * n;
        for (size_t i = 0; i < n_given; i++)
            to[i] = items[i * item_size + byte];
        memset(to + n_given, 0, n - n_given);
    }
    uLongf size = compressBound(n * item_size);
    chunk->done = compress2(chunk->bytes, &size, chunk->shuffled, n * item_size, SHOAL_DEFLATE) == Z_OK;
    chunk->left_out = 0;
    if (size >= n * item_size) {
        size = n * item_size;
        memcpy(chunk->bytes, chunk->shuffled, size);
        chunk->left_out = DEFLATE_LEFT_OUT;
    }
    const uint32_t sum = fletcher32(chunk->bytes, size);
    for (int k = 0; k < CHECKSUM_SIZE; k++)
        chunk->bytes[size++] = (unsigned char)(sum >> (8 * k));
    chunk->size = size;
}

bool shoal_chunks_write(hid_t dataset, const shoal_chunks *rows)
{
    const int threads = shoal_omp_threads(shoal_default_threads(NULL));
    const size_t n_rows = rows->n_rows, chunk_rows = rows->chunk_rows, item_size = rows->item_size,
                 row_size = rows->row_items * item_size, n = chunk_rows * rows->row_items,
                 room = compressBound(n * item_size) + CHECKSUM_SIZE, batch = BATCH * (size_t)threads;
    unsigned char *data = (unsigned char *)rows->data; /* it is const unless it is released */
    const size_t n_chunks = (n_rows + chunk_rows - 1) / chunk_rows, n_packed = n_chunks < batch ? n_chunks : batch;
    packed *chunks = calloc(n_packed, sizeof *chunks);
    bool good = chunks;
    for (size_t i = 0; good && i < n_packed; i++) {
        chunks[i].shuffled = malloc(n * item_size);
        chunks[i].bytes = malloc(room);
        good = chunks[i].shuffled && chunks[i].bytes;
    }
    for (size_t first = 0; good && first < n_chunks; first += n_packed) {
        const size_t end = first + n_packed < n_chunks ? first + n_packed : n_chunks;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
        for (size_t c = first; c < end; c++) {
            const size_t row = c * chunk_rows, left = n_rows - row;
            pack(data + row * row_size, item_size, (left < chunk_rows ? left : chunk_rows) * rows->row_items, n,
                 &chunks[c - first]);
        }
        for (size_t c = first; good && c < end; c++) {
            const packed *chunk = &chunks[c - first];
            hsize_t offset[H5S_MAX_RANK] = {rows->first_row + c * chunk_rows};
            good = rows->rank <= H5S_MAX_RANK && chunk->done &&
                   H5Dwrite_chunk(dataset, H5P_DEFAULT, chunk->left_out, offset, chunk->size, chunk->bytes) >= 0;
        }
        if (rows->releases)
            shoal_release_pages(data + first * chunk_rows * row_size,
                                ((end * chunk_rows < n_rows ? end * chunk_rows : n_rows) - first * chunk_rows) *
                                    row_size);
    }
    for (size_t i = 0; chunks && i < n_packed; i++) {
        free(chunks[i].shuffled);
        free(chunks[i].bytes);
    }
    free(chunks);
    return good;
}
