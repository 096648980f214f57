/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * chunks.c: writes the chunks of HDF5 datasets, their filters run by all threads.
 *
 * HDF5 filters one chunk after the other, and deflating is what takes the time of a large file: 30 MB/s. Here the
 * threads make what its filters would make (HDF5 File Format Specification 3.0, section IV.A.2.l), and HDF5 only puts
 * it into the file, chunk by chunk in their order, so that the file does not depend on the number of threads.
 *
 *     shuffle     the first bytes of all items, then their second ones, ...
 *     deflate     RFC 1950; left out, and that noted, where it would not make the chunk smaller. Of bytes among which
 *                 it would hardly find any that repeat, only their frequencies are used, in a third of the time
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

/* Bytes that a chunk of n may take while it is deflated: each change between its planes ends a block. */
static size_t room_for(size_t n, size_t n_planes)
{
    enum { A_BLOCK = 16 };
    return compressBound(n) + n_planes * A_BLOCK;
}

/* How a plane of n bytes is deflated: as the first of them are in fewer bytes, nearly. trial: a deflater for this. */
static int strategy_for(z_stream *trial, const unsigned char *plane, size_t n)
{
    enum { SAMPLE = 8192 };
    static const int strategies[] = {Z_HUFFMAN_ONLY, Z_DEFAULT_STRATEGY};
    unsigned char room[2 * SAMPLE];
    size_t size[2];
    for (int i = 0; i < 2 && n > SAMPLE; i++) {
        trial->next_in = (unsigned char *)plane;
        trial->avail_in = SAMPLE;
        trial->next_out = room;
        trial->avail_out = sizeof room;
        if (deflateReset(trial) != Z_OK || deflateParams(trial, SHOAL_DEFLATE, strategies[i]) != Z_OK ||
            deflate(trial, Z_FINISH) != Z_STREAM_END)
            return Z_DEFAULT_STRATEGY;
        size[i] = trial->total_out;
    }
    return n > SAMPLE && size[0] < size[1] + size[1] / 64 ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY;
}

/* Planes of n bytes each. Returns how many bytes they become; 0: memory is out. */
static size_t deflate_planes(unsigned char *planes, size_t n_planes, size_t n, unsigned char *to)
{
    z_stream deflater = {0}, trial = {0};
    int strategy = Z_DEFAULT_STRATEGY;
    bool good = deflateInit(&deflater, SHOAL_DEFLATE) == Z_OK && deflateInit(&trial, SHOAL_DEFLATE) == Z_OK;
    deflater.next_out = to;
    deflater.avail_out = (uInt)room_for(n_planes * n, n_planes);
    for (size_t p = 0; p < n_planes && good; p++) {
        const bool last = p + 1 == n_planes;
        const int wanted = strategy_for(&trial, planes + p * n, n);
        if (wanted != strategy)
            good = deflateParams(&deflater, SHOAL_DEFLATE, wanted) == Z_OK;
        strategy = wanted;
        deflater.next_in = planes + p * n;
        deflater.avail_in = (uInt)n;
        good = good && deflate(&deflater, last ? Z_FINISH : Z_NO_FLUSH) == (last ? Z_STREAM_END : Z_OK);
    }
    const size_t size = good ? deflater.total_out : 0;
    (void)deflateEnd(&deflater);
    (void)deflateEnd(&trial);
    return size;
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
    size_t size = deflate_planes(chunk->shuffled, item_size, n, chunk->bytes);
    chunk->done = size > 0;
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

static size_t n_chunks_of(const shoal_chunks *rows)
{
    return (rows->n_rows + rows->chunk_rows - 1) / rows->chunk_rows;
}

static size_t chunk_size(const shoal_chunks *rows)
{
    return rows->chunk_rows * rows->row_items * rows->item_size;
}

/* A chunk of one of several datasets. */
typedef struct place {
    const shoal_chunks *rows;
    size_t row, n_rows;
} place;

/* Chunk c of all; it is no earlier than the one that `of` and `before`, the number of chunks before these rows, are
 * of. */
static place place_of(size_t c, const shoal_chunks **of, size_t *before)
{
    while (c - *before >= n_chunks_of(*of))
        *before += n_chunks_of((*of)++);
    const size_t row = (c - *before) * (*of)->chunk_rows, left = (*of)->n_rows - row;
    return (place){*of, row, left < (*of)->chunk_rows ? left : (*of)->chunk_rows};
}

static shoal_status put(const place *at, const packed *chunk)
{
    const hsize_t offset[H5S_MAX_RANK] = {at->rows->first_row + at->row};
    return !chunk->done ? SHOAL_E_MEMORY
           : at->rows->rank <= H5S_MAX_RANK && H5Dwrite_chunk(at->rows->dataset, H5P_DEFAULT, chunk->left_out, offset,
                                                              chunk->size, chunk->bytes) >= 0
               ? SHOAL_OK
               : SHOAL_E_FILE;
}

shoal_status shoal_chunks_write(int n, const shoal_chunks *rows)
{
    const int threads = shoal_omp_threads(shoal_default_threads(NULL));
    size_t n_chunks = 0, most = 0, most_planes = 0, before = 0;
    for (int i = 0; i < n; i++) {
        n_chunks += n_chunks_of(&rows[i]);
        most = chunk_size(&rows[i]) > most ? chunk_size(&rows[i]) : most;
        most_planes = rows[i].item_size > most_planes ? rows[i].item_size : most_planes;
    }
    const size_t batch = BATCH * (size_t)threads, n_packed = n_chunks < batch ? n_chunks : batch;
    packed *chunks = calloc(n_packed + 1, sizeof *chunks);
    place *places = calloc(n_packed + 1, sizeof *places);
    shoal_status status = chunks && places ? SHOAL_OK : SHOAL_E_MEMORY;
    for (size_t i = 0; !status && i < n_packed; i++) {
        chunks[i].shuffled = malloc(most);
        chunks[i].bytes = malloc(room_for(most, most_planes) + CHECKSUM_SIZE);
        status = chunks[i].shuffled && chunks[i].bytes ? SHOAL_OK : SHOAL_E_MEMORY;
    }
    for (size_t first = 0, here; !status && first < n_chunks; first += here) {
        here = n_chunks - first < n_packed ? n_chunks - first : n_packed;
        for (size_t i = 0; i < here; i++)
            places[i] = place_of(first + i, &rows, &before);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
        for (size_t i = 0; i < here; i++) {
            const shoal_chunks *of = places[i].rows;
            const size_t row_size = of->row_items * of->item_size;
            pack((const unsigned char *)of->data + places[i].row * row_size, of->item_size,
                 places[i].n_rows * of->row_items, of->chunk_rows * of->row_items, &chunks[i]);
        }
        for (size_t i = 0; !status && i < here; i++) {
            const shoal_chunks *of = places[i].rows;
            const size_t row_size = of->row_items * of->item_size;
            status = put(&places[i], &chunks[i]);
            if (of->releases) /* it is const unless it is released */
                shoal_release_pages((unsigned char *)of->data + places[i].row * row_size, places[i].n_rows * row_size);
        }
    }
    for (size_t i = 0; chunks && i < n_packed; i++) {
        free(chunks[i].shuffled);
        free(chunks[i].bytes);
    }
    free(chunks);
    free(places);
    return status;
}
