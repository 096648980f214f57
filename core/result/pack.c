/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pack.c: arrays of numbers in fewer bytes, fast: for the journal.
 *
 * Rows are cut into blocks, and a block into planes: the first bytes of its rows, their second ones, ... So the bytes
 * of a plane are alike: they are all of one number of a row, and of equal weight in it. What is the same in all rows
 * takes a byte. The last bytes of a result's numbers are like random ones: such planes stay as they are, at the cost of
 * a look, and few are left for deflate, which is slow.
 *
 *     block    4  bytes of a row w, 0: no rows, bytes as they are
 *              4  number of rows, or of bytes, n
 *              .  n bytes, or w planes
 *     plane    4  number of bytes s
 *              .  s = n: as they are; s = 1: all the same; else deflated (RFC 1951)
 *
 * Numbers are little-endian. The same bytes are always packed to the same bytes.
 */
#include "core/result/pack.h"
#include "core/base/base.h"

#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    MOST_ROWS = 8192,     /* of a block */
    LEAST_ROWS = 256,     /* unless they are the last */
    BLOCK_SIZE = 1 << 20, /* bytes, unless that were fewer rows or more */
    LEVEL = 1,
    WINDOW_BITS = 13, /* 8192 bytes */
    MEMORY = 8,
    HEAD = 4
};

static unsigned char *put_number(unsigned char *to, size_t number)
{
    const uint32_t little = htole32((uint32_t)number);
    memcpy(to, &little, HEAD);
    return to + HEAD;
}

static size_t block_rows(size_t width)
{
    const size_t rows = BLOCK_SIZE / width;
    return rows > MOST_ROWS ? MOST_ROWS : rows < LEAST_ROWS ? LEAST_ROWS : rows;
}

size_t shoal_pack_room(size_t n, size_t width)
{
    if (width == 0)
        return n + (n / UINT32_MAX + 1) * 2 * HEAD;
    const size_t blocks = n / width / block_rows(width) + 1;
    return n + blocks * (2 + width) * HEAD;
}

/* Whether bytes are too even for deflate to gain more than a few hundredths. Of n random bytes the squares of the
 * counts have the mean sum n + n (n - 1) / 256. */
static bool is_noise(const unsigned char *bytes, size_t n)
{
    enum { VALUES = 256 };
    uint32_t count[2][VALUES] = {{0}};
    uint64_t squares = 0;
    if (n < LEAST_ROWS)
        return false;
    for (size_t i = 0; i + 1 < n; i += 2) {
        count[0][bytes[i]]++;
        count[1][bytes[i + 1]]++;
    }
    for (int v = 0; v < VALUES; v++) {
        const uint64_t both = count[0][v] + count[1][v];
        squares += both * both;
    }
    return squares < n + n * n / VALUES * 5 / 4;
}

/* A plane. Returns where it ends. */
static unsigned char *put_plane(z_stream *deflater, unsigned char *plane, size_t n, unsigned char *to)
{
    if (n > 1 && memcmp(plane, plane + 1, n - 1) == 0) {
        to = put_number(to, 1);
        *to = *plane;
        return to + 1;
    }
    deflater->next_in = plane;
    deflater->avail_in = (uInt)n;
    deflater->next_out = to + HEAD;
    deflater->avail_out = n > 1 ? (uInt)n - 1 : 0;
    if (n > 2 && !is_noise(plane, n) && deflateReset(deflater) == Z_OK && deflate(deflater, Z_FINISH) == Z_STREAM_END) {
        put_number(to, deflater->total_out);
        return to + HEAD + deflater->total_out;
    }
    to = put_number(to, n);
    memcpy(to, plane, n);
    return to + n;
}

/* A block of rows. Returns its bytes; 0: memory is out. */
static size_t put_block(const unsigned char *from, size_t rows, size_t width, unsigned char *to)
{
    unsigned char plane[MOST_ROWS], *end = put_number(put_number(to, width), rows);
    z_stream deflater = {0};
    if (deflateInit2(&deflater, LEVEL, Z_DEFLATED, -WINDOW_BITS, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    for (size_t byte = 0; byte < width; byte++) {
        for (size_t row = 0; row < rows; row++)
            plane[row] = from[row * width + byte];
        end = put_plane(&deflater, plane, rows, end);
    }
    deflateEnd(&deflater);
    return (size_t)(end - to);
}

/* Threads make the blocks, each where it would begin were those before it as long as can be; then they are moved
 * together. Half of the threads: the others may integrate. */
static size_t pack_rows(const unsigned char *from, size_t n_rows, size_t width, unsigned char *to)
{
    const size_t most = block_rows(width), n_blocks = (n_rows + most - 1) / most,
                 room = 2 * HEAD + width * (HEAD + most);
    size_t *size = calloc(n_blocks + 1, sizeof *size), end = 0;
    if (!size)
        return 0;
#pragma omp parallel for num_threads(shoal_omp_threads((shoal_default_threads(NULL) + 1) / 2)) \
    schedule(dynamic) if (n_blocks > 1)
    for (size_t i = 0; i < n_blocks; i++) {
        const size_t left = n_rows - i * most;
        size[i] = put_block(from + i * most * width, left < most ? left : most, width, to + i * room);
    }
    for (size_t i = 0; i < n_blocks; i++) {
        if (size[i] == 0) {
            end = 0;
            break;
        }
        memmove(to + end, to + i * room, size[i]);
        end += size[i];
    }
    free(size);
    return end;
}

size_t shoal_pack(const void *bytes, size_t n, size_t width, unsigned char *to)
{
    unsigned char *end = to;
    const unsigned char *from = bytes;
    if (width)
        return n % width ? 0 : pack_rows(from, n / width, width, to);
    for (size_t at = 0; at < n;) {
        const size_t piece = n - at < UINT32_MAX ? n - at : UINT32_MAX;
        end = put_number(put_number(end, 0), piece);
        memcpy(end, from + at, piece);
        end += piece;
        at += piece;
    }
    return (size_t)(end - to);
}

bool shoal_pack_can_be(size_t n, size_t n_unpacked)
{
    return n_unpacked / MOST_ROWS <= n / HEAD; /* a plane of a block has a head at least */
}

/* ---- unpacking --------------------------------------------------------------------------------------------------- */

typedef struct source {
    const unsigned char *at;
    size_t left;
} source;

static bool take_number(source *from, size_t *number)
{
    uint32_t little;
    if (from->left < HEAD)
        return false;
    memcpy(&little, from->at, HEAD);
    from->at += HEAD;
    from->left -= HEAD;
    *number = le32toh(little);
    return true;
}

/* n bytes of the source. */
static const unsigned char *take(source *from, size_t n)
{
    const unsigned char *bytes = from->at;
    if (from->left < n)
        return NULL;
    from->at += n;
    from->left -= n;
    return bytes;
}

static bool take_plane(z_stream *inflater, source *from, unsigned char *plane, size_t n)
{
    size_t size;
    const unsigned char *bytes = take_number(from, &size) ? take(from, size) : NULL;
    if (!bytes || size == 0 || size > n)
        return false;
    if (size == n) {
        memcpy(plane, bytes, n);
        return true;
    }
    if (size == 1) {
        memset(plane, *bytes, n);
        return true;
    }
    inflater->next_in = (unsigned char *)bytes;
    inflater->avail_in = (uInt)size;
    inflater->next_out = plane;
    inflater->avail_out = (uInt)n;
    return inflateReset(inflater) == Z_OK && inflate(inflater, Z_FINISH) == Z_STREAM_END && inflater->avail_out == 0 &&
           inflater->avail_in == 0;
}

/* A block of rows, whose head has been read. */
static bool take_rows(z_stream *inflater, source *from, size_t width, size_t rows, unsigned char *to)
{
    unsigned char plane[MOST_ROWS];
    for (size_t byte = 0; byte < width; byte++) {
        if (!take_plane(inflater, from, plane, rows))
            return false;
        for (size_t row = 0; row < rows; row++)
            to[row * width + byte] = plane[row];
    }
    return true;
}

shoal_status shoal_unpack_first(const unsigned char *from, size_t n, unsigned char *to, size_t n_unpacked,
                                size_t wanted, size_t *n_used)
{
    source packed = {from, n};
    z_stream inflater = {0};
    bool good = true;
    size_t at = 0, width, rows;
    if (inflateInit2(&inflater, -WINDOW_BITS) != Z_OK)
        return SHOAL_E_MEMORY;
    while (good && at < wanted) {
        good = take_number(&packed, &width) && take_number(&packed, &rows) && rows > 0 &&
               (width == 0 || rows <= MOST_ROWS) && rows <= (n_unpacked - at) / (width ? width : 1);
        const unsigned char *bytes = good && width == 0 ? take(&packed, rows) : NULL;
        if (bytes)
            memcpy(to + at, bytes, rows);
        good = good && (width ? take_rows(&inflater, &packed, width, rows, to + at) : bytes != NULL);
        at += good ? rows * (width ? width : 1) : 0;
    }
    inflateEnd(&inflater);
    *n_used = n - packed.left;
    return good ? SHOAL_OK : SHOAL_E_INPUT;
}

shoal_status shoal_unpack(const unsigned char *from, size_t n, unsigned char *to, size_t n_unpacked)
{
    size_t n_used;
    const shoal_status status = shoal_unpack_first(from, n, to, n_unpacked, n_unpacked, &n_used);
    return status || n_used == n ? status : SHOAL_E_INPUT;
}
