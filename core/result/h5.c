/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * h5.c: HDF5 files, made in memory and read piece by piece (h5.h).
 *
 * libhdf5 does not survive every damaged file: it writes beyond its heap where a size is wrong (1.10.8). So a file of
 * ours begins with a block, which HDF5 calls a user block and all its readers skip, that has a checksum of all that
 * follows; it is compared before libhdf5 sees the file. A child process that reads in our stead would survive, too, but
 * a library must not fork where its caller has threads or a GPU, and a child does not know wrong numbers from right.
 *
 *     8  magic, 89 "Shoal" 0d 0a
 *     8  bytes after the block, little-endian
 *     4  CRC-32C of them, then of the 16 bytes above
 *     .  zeros, up to 512 bytes
 *
 * Files without such a block, of older versions and of others, begin with HDF5's signature and are read as before.
 * Objects bear no times, so that the same results are the same bytes.
 */
#define _GNU_SOURCE 1 /* mremap */
#include "core/result/h5.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/result/chunks.h"

enum {
    CHUNK_ITEMS = 65536,  /* at most, in a chunk of a dataset */
    DEFLATE_ITEMS = 1024, /* at least, in a dataset that is deflated */
    MOST_HELD = 32 << 20  /* bytes that are held, about */
};

enum { LARGE = 64 << 20 }; /* bytes from which a file is not made in the process's memory */

enum { BLOCK = 512, SUMMED = 16, SIGNATURE = 8 };
static const unsigned char block_magic[SIGNATURE] = {0x89, 'S', 'h', 'o', 'a', 'l', '\r', '\n'};
static const unsigned char hdf5_signature[SIGNATURE] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

/* ---- errors ------------------------------------------------------------------------------------------------------ */

void shoal_h5_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

shoal_h5_errors shoal_h5_errors_off(void)
{
    shoal_h5_errors errors = {NULL, NULL};
    H5Eget_auto2(H5E_DEFAULT, &errors.print, &errors.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return errors;
}

void shoal_h5_errors_restore(shoal_h5_errors errors)
{
    H5Eclear2(H5E_DEFAULT);
    H5Eset_auto2(H5E_DEFAULT, errors.print, errors.data);
}

/* H5Ewalk2: keep the innermost description, which says what really happened. */
static herr_t keep_description(unsigned n, const H5E_error2_t *error, void *user)
{
    if (n == 0 && error->desc)
        snprintf(user, 256, "%s", error->desc);
    return 0;
}

/* Fail with what HDF5 says. */
static shoal_status h5_fail(const shoal_h5 *h5, shoal_status status, const char *what, const char *name)
{
    char cause[256] = "";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_description, cause);
    for (char *c = cause; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    return shoal_fail(h5->context, status, "%s: %s%s%s%s", h5->path, what, name, *cause ? ": " : "", cause);
}

static shoal_status no_memory(const shoal_h5 *h5)
{
    return shoal_fail(h5->context, SHOAL_E_MEMORY, "%s: out of memory", h5->path);
}

/* ---- a file in memory -------------------------------------------------------------------------------------------- */

/* HDF5 asks these for the memory of the file, which is taken over when the file is closed. (H5Fget_file_image would be
 * the plain way, but copies a file that is still marked as being written, with a checksum that does not fit: 1.10.8.)
 */
static void *image_malloc(size_t size, H5FD_file_image_op_t operation, void *user)
{
    (void)operation;
    (void)user;
    return malloc(size);
}

static void *image_copy(void *to, const void *from, size_t size, H5FD_file_image_op_t operation, void *user)
{
    (void)operation;
    (void)user;
    return memcpy(to, from, size);
}

static void image_drop_file(shoal_h5_image *made)
{
    if (!made->map)
        return;
    munmap(made->map, made->n_map);
    made->map = NULL;
    shoal_file_end(made->file, made->temporary, made->path, false);
}

/* More room in the file that is mapped. The disk's blocks are taken first: what is written to the memory later cannot
 * find the disk full. */
static bool image_extend_file(shoal_h5_image *made, size_t size)
{
    if (size > made->n_map && posix_fallocate(made->file, (off_t)made->n_map, (off_t)(size - made->n_map)) != 0)
        return false;
    void *map = made->map ? mremap(made->map, made->n_map, size, MREMAP_MAYMOVE)
                          : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, made->file, 0);
    if (map == MAP_FAILED)
        return false;
    made->map = map;
    made->n_map = size;
    shoal_release_pages(map, size); /* they stay in the file */
    return true;
}

/* From the process's memory to a file. False: it stays there. */
static bool image_to_file(shoal_h5_image *made, void *bytes, size_t size)
{
    made->spills = false; /* not again */
    made->file = shoal_file_begin(made->path, &made->temporary);
    if (made->file < 0)
        return false;
    if (!image_extend_file(made, size)) {
        shoal_file_end(made->file, made->temporary, made->path, false);
        return false;
    }
    memcpy(made->map, bytes, made->capacity);
    free(bytes);
    return true;
}

/* From a file that cannot grow back to the process's memory: HDF5 must go on until the file can be closed. */
static void *image_from_file(shoal_h5_image *made, size_t size)
{
    void *bytes = malloc(size);
    if (!bytes)
        return NULL;
    memcpy(bytes, made->map, made->n_map < size ? made->n_map : size);
    image_drop_file(made);
    return bytes;
}

static void *image_realloc(void *bytes, size_t size, H5FD_file_image_op_t operation, void *user)
{
    shoal_h5_image *made = user;
    const bool is_large = operation == H5FD_FILE_IMAGE_OP_FILE_RESIZE && bytes && size > LARGE;
    void *grown;
    if (made->map && bytes == made->map)
        grown = image_extend_file(made, size) ? made->map : image_from_file(made, size);
    else if (made->spills && is_large && image_to_file(made, bytes, size))
        grown = made->map;
    else
        grown = realloc(bytes, size);
    if (grown && operation == H5FD_FILE_IMAGE_OP_FILE_RESIZE)
        made->capacity = size;
    return grown;
}

static herr_t image_free(void *bytes, H5FD_file_image_op_t operation, void *user)
{
    shoal_h5_image *made = user;
    if (operation != H5FD_FILE_IMAGE_OP_FILE_CLOSE) {
        free(bytes);
        return 0;
    }
    free(made->bytes); /* of a file of that name that H5Fcreate looked at first */
    made->bytes = bytes;
    return 0;
}

static void *image_user(void *user)
{
    return user;
}

static herr_t image_user_free(void *user)
{
    (void)user;
    return 0;
}

/* The end of the file in its memory: the superblock tells it in bytes 28 to 35, that of version 0 in bytes 40 to 47
 * (HDF5 File Format Specification 3.0, section II.A). */
static bool image_measure(shoal_h5_image *made)
{
    enum { LEAST = 48 };
    if (!made->bytes || made->capacity < made->block + LEAST)
        return false;
    const unsigned char *super = made->bytes + made->block;
    const int version = super[8], at = version ? 28 : 40;
    if (version == 1 || version > 3 || super[version ? 9 : 13] != sizeof(uint64_t))
        return false;
    made->size = 0;
    for (int k = 0; k < 8; k++)
        made->size |= (size_t)super[at + k] << (8 * k);
    return made->size >= made->block + LEAST && made->size <= made->capacity;
}

static uint32_t block_sum(const unsigned char *block, uint32_t sum_of_rest)
{
    return shoal_crc32c(sum_of_rest, block, SUMMED);
}

/* The block before a file of ours. */
static void image_sign(shoal_h5_image *made)
{
    enum { PIECE = 4 << 20 };
    unsigned char *block = made->bytes;
    const uint64_t size = htole64(made->size - BLOCK);
    uint32_t rest = 0;
    for (size_t at = BLOCK, n; at < made->size; at += n) {
        n = made->size - at < PIECE ? made->size - at : PIECE;
        rest = shoal_crc32c(rest, block + at, n);
        if (made->map)
            shoal_release_pages(block + at, n);
    }
    memset(block, 0, BLOCK);
    memcpy(block, block_magic, SIGNATURE);
    memcpy(block + SIGNATURE, &size, sizeof size);
    const uint32_t sum = htole32(block_sum(block, rest));
    memcpy(block + SUMMED, &sum, sizeof sum);
}

/* How a group, a dataset or a file is made: it keeps no times. */
static hid_t without_times(hid_t kind)
{
    const hid_t list = H5Pcreate(kind);
    if (list < 0 || H5Pset_obj_track_times(list, 0) >= 0)
        return list;
    H5Pclose(list);
    return H5I_INVALID_HID;
}

shoal_status shoal_h5_create(shoal_context *context, const char *path, H5F_libver_t oldest, size_t step, shoal_h5 *h5)
{
    const size_t block = oldest == H5F_LIBVER_EARLIEST ? 0 : BLOCK;
    *h5 = (shoal_h5){.context = context,
                     .path = path,
                     .file = H5I_INVALID_HID,
                     .image = {.block = block, .path = path},
                     .releases = false};
    H5FD_file_image_callbacks_t callbacks = {image_malloc, image_copy,      image_realloc, image_free,
                                             image_user,   image_user_free, &h5->image};
    const size_t size = strlen(path) + 32;
    char *name = malloc(size); /* of no file: HDF5 would read it first */
    if (!name)
        return no_memory(h5);
    snprintf(name, size, "%s.tmp.%ld", path, (long)getpid());
    h5->errors = shoal_h5_errors_off();
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = without_times(H5P_FILE_CREATE);
    if (access >= 0 && creation >= 0 && H5Pset_userblock(creation, block) >= 0 &&
        H5Pset_libver_bounds(access, oldest, H5F_LIBVER_V110) >= 0 && H5Pset_fapl_core(access, step, 0) >= 0 &&
        H5Pset_file_image_callbacks(access, &callbacks) >= 0)
        h5->file = H5Fcreate(name, H5F_ACC_TRUNC, creation, access);
    const shoal_status status = h5->file >= 0 ? SHOAL_OK : h5_fail(h5, SHOAL_E_FILE, "cannot make the file", "");
    if (creation >= 0)
        H5Pclose(creation);
    if (access >= 0)
        H5Pclose(access);
    if (status)
        shoal_h5_errors_restore(h5->errors);
    free(name);
    return status;
}

/* Datasets whose rows are written later. */
typedef struct shoal_h5_held {
    int n;
    size_t size;        /* bytes of their rows */
    shoal_chunks *rows; /* malloc'd */
} shoal_h5_held;

/* Write what is held, and close its datasets; write nothing where something failed before. */
static shoal_status write_held(shoal_h5_held *held, shoal_status status)
{
    status = status ? status : shoal_chunks_write(held->n, held->rows);
    for (int i = 0; i < held->n; i++)
        if (H5Dclose(held->rows[i].dataset) < 0 && !status)
            status = SHOAL_E_FILE;
    held->n = 0;
    held->size = 0;
    return status;
}

void shoal_h5_hold(shoal_h5 *h5)
{
    h5->held = calloc(1, sizeof *h5->held); /* NULL: without */
}

static shoal_status let_go(shoal_h5 *h5, shoal_status status)
{
    shoal_h5_held *held = h5->held;
    h5->held = NULL;
    if (!held)
        return status;
    status = write_held(held, status);
    free(held->rows);
    free(held);
    return status;
}

/* A dataset that cannot be written: status says whether memory is out. */
static shoal_status write_fail(const shoal_h5 *h5, shoal_status status, const char *dataset)
{
    return status == SHOAL_E_MEMORY ? no_memory(h5) : h5_fail(h5, SHOAL_E_FILE, "cannot write the dataset ", dataset);
}

shoal_status shoal_h5_let_go(shoal_h5 *h5)
{
    const shoal_status status = let_go(h5, SHOAL_OK);
    return status ? write_fail(h5, status, "(one of several)") : SHOAL_OK;
}

/* Close a file that was made: its image is complete. */
static shoal_status finish(shoal_h5 *h5, shoal_status status)
{
    (void)let_go(h5, SHOAL_E_FILE); /* of a file that failed */
    if (H5Fclose(h5->file) < 0 && !status)
        status = h5_fail(h5, SHOAL_E_FILE, "cannot make the file", "");
    h5->file = H5I_INVALID_HID;
    shoal_h5_errors_restore(h5->errors);
    if (!status && !image_measure(&h5->image))
        status = shoal_fail(h5->context, SHOAL_E_INTERNAL, "%s: HDF5 made a file whose end is not known", h5->path);
    if (!status && h5->image.block)
        image_sign(&h5->image);
    return status;
}

static void image_release(shoal_h5_image *made)
{
    if (!made->map || made->bytes != made->map)
        free(made->bytes);
    image_drop_file(made);
    made->bytes = NULL;
}

/* The image becomes the file. False with errno. */
static bool image_save(shoal_h5_image *made, const char *path)
{
    if (!made->map)
        return shoal_replace_file(path, made->bytes, made->size);
    const bool good = munmap(made->map, made->n_map) == 0 && ftruncate(made->file, (off_t)made->size) == 0 &&
                      (fsync(made->file) == 0 || errno == EINVAL);
    made->map = NULL;
    made->bytes = NULL;
    return shoal_file_end(made->file, made->temporary, path, good) && shoal_sync_folder(path);
}

void shoal_h5_spill(shoal_h5 *h5)
{
    h5->image.spills = !shoal_not_a_file(h5->path);
}

shoal_status shoal_h5_save(shoal_h5 *h5, shoal_status status)
{
    status = finish(h5, status);
    if (!status && shoal_not_a_file(h5->path))
        status = shoal_fail(h5->context, SHOAL_E_FILE, "%s: cannot write a result file: not a regular file", h5->path);
    if (!status && !image_save(&h5->image, h5->path))
        status = shoal_fail(h5->context, SHOAL_E_FILE, "%s: cannot write the result file: %s", h5->path,
                            strerror(errno));
    image_release(&h5->image);
    return status;
}

shoal_status shoal_h5_print(shoal_h5 *h5, shoal_status status, FILE *out)
{
    status = finish(h5, status);
    if (!status)
        fwrite(h5->image.bytes, 1, h5->image.size, out); /* who closes the file looks for errors */
    image_release(&h5->image);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

hid_t shoal_h5_text_type(size_t size)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    if (type < 0 || (H5Tset_size(type, size) >= 0 && H5Tset_strpad(type, H5T_STR_NULLTERM) >= 0 &&
                     H5Tset_cset(type, H5T_CSET_UTF8) >= 0))
        return type;
    H5Tclose(type);
    return H5I_INVALID_HID;
}

shoal_status shoal_h5_group(const shoal_h5 *h5, const char *group)
{
    const hid_t list = without_times(H5P_GROUP_CREATE);
    const hid_t made = list >= 0 ? H5Gcreate2(h5->file, group, H5P_DEFAULT, list, H5P_DEFAULT) : H5I_INVALID_HID;
    const shoal_status status = made >= 0 && H5Gclose(made) >= 0
                                    ? SHOAL_OK
                                    : h5_fail(h5, SHOAL_E_FILE, "cannot write the group ", group);
    if (list >= 0)
        H5Pclose(list);
    return status;
}

shoal_status shoal_h5_put(const shoal_h5 *h5, const char *object, const char *name, hid_t type, int n,
                          const void *values)
{
    const hid_t space = n ? H5Screate_simple(1, (hsize_t[]){(hsize_t)n}, NULL) : H5Screate(H5S_SCALAR);
    const hid_t attribute = space >= 0 ? H5Acreate_by_name(h5->file, object, name, type, space, H5P_DEFAULT,
                                                           H5P_DEFAULT, H5P_DEFAULT)
                                       : H5I_INVALID_HID;
    const bool good = attribute >= 0 && H5Awrite(attribute, type, values) >= 0;
    const shoal_status status = good ? SHOAL_OK : h5_fail(h5, SHOAL_E_FILE, "cannot write the attribute ", name);
    if (attribute >= 0)
        H5Aclose(attribute);
    if (space >= 0)
        H5Sclose(space);
    return status;
}

shoal_status shoal_h5_put_text(const shoal_h5 *h5, const char *object, const char *name, const char *text)
{
    const hid_t type = shoal_h5_text_type((text ? strlen(text) : 0) + 1);
    if (type < 0)
        return h5_fail(h5, SHOAL_E_FILE, "cannot write the attribute ", name);
    const shoal_status status = shoal_h5_put(h5, object, name, type, 0, text ? text : "");
    H5Tclose(type);
    return status;
}

shoal_status shoal_h5_put_doubles(const shoal_h5 *h5, const char *object, const char *name, int n, const double *values)
{
    return shoal_h5_put(h5, object, name, H5T_NATIVE_DOUBLE, n, values);
}

shoal_status shoal_h5_put_integers(const shoal_h5 *h5, const char *object, const char *name, int n,
                                   const int64_t *values)
{
    return shoal_h5_put(h5, object, name, H5T_NATIVE_INT64, n, values);
}

/* How a dataset lies in the file. */
static hid_t creation_list(shoal_h5_extent extent)
{
    hid_t list = without_times(H5P_DATASET_CREATE);
    hsize_t items = 1, chunk[3] = {1, 1, 1}, room = CHUNK_ITEMS;
    for (int d = extent.rank - 1; d >= 0; d--) {
        items *= extent.of[d];
        chunk[d] = extent.of[d] < room ? extent.of[d] : room;
        room = chunk[d] && room / chunk[d] ? room / chunk[d] : 1;
    }
    if (list < 0 || !items)
        return list;
    bool good = H5Pset_chunk(list, extent.rank, chunk) >= 0;
    if (good && items >= DEFLATE_ITEMS && H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0)
        good = H5Pset_shuffle(list) >= 0 && H5Pset_deflate(list, SHOAL_DEFLATE) >= 0;
    if (good)
        good = H5Pset_fletcher32(list) >= 0;
    if (!good) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

/* How rows of a dataset are written: a deflated one, each of its chunks of whole rows, by all threads. */
typedef struct row_writer {
    hid_t dataset, type;
    shoal_h5_extent extent;
    size_t row_items, chunk_rows; /* chunk_rows: 0 = by HDF5 */
} row_writer;

static row_writer writer_of(hid_t dataset, hid_t type, hid_t list, shoal_h5_extent extent)
{
    hsize_t chunk[3] = {0};
    size_t row_items = 1;
    bool whole = extent.of[0] > 0 && H5Pget_nfilters(list) == 3 && H5Pget_chunk(list, 3, chunk) == extent.rank;
    for (int d = 1; d < extent.rank; d++) {
        whole = whole && chunk[d] == extent.of[d];
        row_items *= extent.of[d];
    }
    return (row_writer){dataset, type, extent, row_items, whole ? chunk[0] : 0};
}

static shoal_chunks chunks_of(const row_writer *to, size_t first, size_t n, const void *data, bool releases)
{
    return (shoal_chunks){.dataset = to->dataset,
                          .rank = to->extent.rank,
                          .item_size = H5Tget_size(to->type),
                          .first_row = first,
                          .n_rows = n,
                          .row_items = to->row_items,
                          .chunk_rows = to->chunk_rows,
                          .data = data,
                          .releases = releases};
}

/* n rows from `first` on, of whole chunks unless they are the last. */
static shoal_status write_rows(const row_writer *to, size_t first, size_t n, const void *data, bool releases)
{
    if (n == 0)
        return SHOAL_OK;
    if (to->chunk_rows) {
        const shoal_chunks rows = chunks_of(to, first, n, data, releases);
        return shoal_chunks_write(1, &rows);
    }
    if (n == to->extent.of[0])
        return H5Dwrite(to->dataset, to->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0 ? SHOAL_OK : SHOAL_E_FILE;
    const hsize_t begin[3] = {first}, count[3] = {n, to->extent.of[1], to->extent.of[2]};
    const hid_t space = H5Screate_simple(to->extent.rank, to->extent.of, NULL),
                part = H5Screate_simple(to->extent.rank, count, NULL);
    const bool good = space >= 0 && part >= 0 &&
                      H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, NULL, count, NULL) >= 0 &&
                      H5Dwrite(to->dataset, to->type, part, space, H5P_DEFAULT, data) >= 0;
    if (space >= 0)
        H5Sclose(space);
    if (part >= 0)
        H5Sclose(part);
    return good ? SHOAL_OK : SHOAL_E_FILE;
}

/* Hold all rows of a dataset, which is closed with the rest. False: it is written at once. */
static bool hold(const shoal_h5 *h5, const row_writer *to, const void *data)
{
    shoal_h5_held *held = h5->held;
    if (!held || !to->chunk_rows)
        return false;
    shoal_chunks *rows = realloc(held->rows, ((size_t)held->n + 1) * sizeof *rows);
    if (!rows)
        return false;
    held->rows = rows;
    rows[held->n] = chunks_of(to, 0, to->extent.of[0], data, h5->releases);
    held->size += rows[held->n].n_rows * rows[held->n].row_items * rows[held->n].item_size;
    held->n++;
    return true;
}

/* Rows that are had at a time: of PART bytes, or, so that a large result is not gone through too often, a sixteenth of
 * all. */
static size_t rows_at_a_time(const row_writer *to)
{
    enum { PART = 32 << 20, PARTS = 16 };
    const size_t all = to->extent.of[0], row = to->row_items * H5Tget_size(to->type),
                 least = row < PART ? PART / row : 1, n = all / PARTS > least ? all / PARTS : least;
    if (!to->chunk_rows || n >= all)
        return n < all ? n : all;
    return n > to->chunk_rows ? n - n % to->chunk_rows : to->chunk_rows;
}

static shoal_status write_from(const shoal_h5 *h5, const row_writer *to, const char *dataset,
                               const shoal_h5_source *source)
{
    const size_t all = to->extent.of[0], n_part = rows_at_a_time(to), row = to->row_items * H5Tget_size(to->type);
    void *part = malloc(n_part * row + 1);
    shoal_status status = part ? SHOAL_OK : no_memory(h5);
    for (size_t first = 0, n; first < all && !status; first += n) {
        n = all - first < n_part ? all - first : n_part;
        status = source->fill(source->user, first, n, part);
        const shoal_status written = status ? SHOAL_OK : write_rows(to, first, n, part, false);
        if (written)
            status = write_fail(h5, written, dataset);
    }
    free(part);
    return status;
}

/* data or source: one of them is NULL */
static shoal_status write_dataset(const shoal_h5 *h5, const char *dataset, hid_t type, shoal_h5_extent extent,
                                  const void *data, const shoal_h5_source *source)
{
    const hid_t space = H5Screate_simple(extent.rank, extent.of, NULL), list = creation_list(extent);
    const hid_t set = space >= 0 && list >= 0
                          ? H5Dcreate2(h5->file, dataset, type, space, H5P_DEFAULT, list, H5P_DEFAULT)
                          : H5I_INVALID_HID;
    shoal_status status = SHOAL_OK, written = set >= 0 ? SHOAL_OK : SHOAL_E_FILE;
    bool held = false;
    if (set >= 0) {
        const row_writer to = writer_of(set, type, list, extent);
        held = !source && hold(h5, &to, data);
        if (source)
            status = write_from(h5, &to, dataset, source);
        else if (!held)
            written = write_rows(&to, 0, extent.of[0], data, h5->releases);
        else if (h5->held->size >= MOST_HELD)
            written = write_held(h5->held, SHOAL_OK);
    }
    if (set >= 0 && !held && H5Dclose(set) < 0 && !written)
        written = SHOAL_E_FILE;
    if (written && !status)
        status = write_fail(h5, written, dataset);
    if (list >= 0)
        H5Pclose(list);
    if (space >= 0)
        H5Sclose(space);
    return status;
}

static shoal_status write_labels(const shoal_h5 *h5, const char *dataset, const char *unit, const char *doc,
                                 shoal_status status)
{
    if (!status && unit)
        status = shoal_h5_put_text(h5, dataset, "unit", unit);
    if (!status && doc)
        status = shoal_h5_put_text(h5, dataset, "doc", doc);
    return status;
}

shoal_status shoal_h5_write(const shoal_h5 *h5, const char *dataset, hid_t type, shoal_h5_extent extent,
                            const void *data, const char *unit, const char *doc)
{
    return write_labels(h5, dataset, unit, doc, write_dataset(h5, dataset, type, extent, data, NULL));
}

shoal_status shoal_h5_write_from(const shoal_h5 *h5, const char *dataset, hid_t type, shoal_h5_extent extent,
                                 const shoal_h5_source *source, const char *unit, const char *doc)
{
    return write_labels(h5, dataset, unit, doc, write_dataset(h5, dataset, type, extent, NULL, source));
}

/* ---- a file on disk ---------------------------------------------------------------------------------------------- */

/* n bytes of a file, fewer at its end; -1 with errno. */
static ssize_t read_piece(int file, void *bytes, size_t n, off_t at)
{
    size_t got = 0;
    while (got < n) {
        const ssize_t more = pread(file, (char *)bytes + got, n - got, at + (off_t)got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return -1;
        if (more == 0)
            break;
        got += (size_t)more;
    }
    return (ssize_t)got;
}

/* Refuse, before libhdf5 sees it, what has neither HDF5's signature at its beginning nor a block of ours that fits.
 * (Without memory of its own: who asks what a file is takes a failure for "something else".) */
static shoal_status check_block(const shoal_h5 *h5, int file)
{
    unsigned char block[BLOCK + SIGNATURE] = {0}, piece[1 << 14];
    uint64_t size, there = 0;
    uint32_t sum = 0, expected;
    ssize_t n = read_piece(file, block, sizeof block, 0);
    if (n >= SIGNATURE && memcmp(block, hdf5_signature, SIGNATURE) == 0)
        return SHOAL_OK;
    if (n >= 0 && memcmp(block, block_magic, SIGNATURE) != 0 && memcmp(block + BLOCK, hdf5_signature, SIGNATURE) != 0)
        return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: not an HDF5 file", h5->path);
    for (; n > 0; there += (uint64_t)n) {
        n = read_piece(file, piece, sizeof piece, BLOCK + (off_t)there);
        sum = n > 0 ? shoal_crc32c(sum, piece, (size_t)n) : sum;
    }
    if (n < 0)
        return shoal_fail(h5->context, SHOAL_E_FILE, "%s: cannot be read: %s", h5->path, strerror(errno));
    memcpy(&size, block + SIGNATURE, sizeof size);
    memcpy(&expected, block + SUMMED, sizeof expected);
    if (memcmp(block, block_magic, SIGNATURE) == 0 && le64toh(size) == there &&
        le32toh(expected) == block_sum(block, sum))
        return SHOAL_OK;
    if (le64toh(size) > there)
        return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: truncated file: %llu bytes, expected %llu", h5->path,
                          (unsigned long long)there + BLOCK, (unsigned long long)le64toh(size) + BLOCK);
    return shoal_fail(h5->context, SHOAL_E_INPUT,
                      "%s: its checksum does not fit: it is damaged, or was changed by another program", h5->path);
}

static shoal_status check_file(const shoal_h5 *h5)
{
    FILE *none;
    if (shoal_not_a_file(h5->path))
        return shoal_file_open(h5->context, h5->path, &none); /* it says why not */
    const int file = open(h5->path, O_RDONLY | O_CLOEXEC);    /* without memory, of which there may be none */
    if (file < 0)
        return shoal_fail(h5->context, SHOAL_E_FILE, "%s: cannot be read: %s", h5->path, strerror(errno));
    const shoal_status status = check_block(h5, file);
    close(file);
    return status;
}

shoal_status shoal_h5_open(shoal_context *context, const char *path, shoal_h5 *h5)
{
    *h5 = (shoal_h5){.context = context, .path = path, .file = H5I_INVALID_HID};
    shoal_status status = check_file(h5);
    if (status)
        return status;
    h5->errors = shoal_h5_errors_off();
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
#if H5_VERSION_GE(1, 12, 1) || (H5_VERS_MINOR == 10 && H5_VERSION_GE(1, 10, 7))
    if (access >= 0) /* files are never changed in place, and some cluster file systems refuse a lock */
        H5Pset_file_locking(access, 0, 1);
#endif
    if (access >= 0)
        h5->file = H5Fopen(path, H5F_ACC_RDONLY, access);
    status = h5->file >= 0 ? SHOAL_OK : h5_fail(h5, SHOAL_E_INPUT, "cannot open the result file", "");
    if (access >= 0)
        H5Pclose(access);
    if (status)
        shoal_h5_errors_restore(h5->errors);
    return status;
}

bool shoal_h5_begins(const void *begin)
{
    return memcmp(begin, hdf5_signature, SIGNATURE) == 0 || shoal_h5_is_block(begin);
}

bool shoal_h5_is_block(const void *begin)
{
    return memcmp(begin, block_magic, SIGNATURE) == 0;
}

void shoal_h5_close(shoal_h5 *h5)
{
    if (h5->file < 0)
        return;
    H5Fclose(h5->file);
    image_release(&h5->image); /* of a file that was not saved */
    h5->file = H5I_INVALID_HID;
    shoal_h5_errors_restore(h5->errors);
}

bool shoal_h5_has(const shoal_h5 *h5, const char *object)
{
    const hid_t found = H5Oopen(h5->file, object, H5P_DEFAULT);
    return found >= 0 && H5Oclose(found) >= 0;
}

bool shoal_h5_lacks(const shoal_h5 *h5, const char *object)
{
    char group[SHOAL_COLUMN_SIZE];
    const size_t n = (size_t)(strrchr(object, '/') - object);
    snprintf(group, sizeof group, "%.*s", (int)n, object);
    return (n && H5Lexists(h5->file, group, H5P_DEFAULT) == 0) || H5Lexists(h5->file, object, H5P_DEFAULT) == 0;
}

bool shoal_h5_has_attribute(const shoal_h5 *h5, const char *object, const char *name)
{
    return H5Aexists_by_name(h5->file, object, name, H5P_DEFAULT) > 0;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Whether values of the type in the file can be taken as the type in memory: HDF5 alone would turn a fraction into an
 * integer and cut a text. */
static bool same_kind(hid_t file_type, hid_t memory_type)
{
    const H5T_class_t kind = H5Tget_class(memory_type);
    const size_t size = H5Tget_size(file_type), room = H5Tget_size(memory_type);
    if (H5Tget_class(file_type) != kind || size > room || (kind == H5T_ENUM && size < room)) /* read as it is */
        return false;
    return kind != H5T_STRING || H5Tis_variable_str(file_type) == 0;
}

shoal_status shoal_h5_get(const shoal_h5 *h5, const char *object, const char *name, hid_t type, void *value)
{
    const hid_t attribute = H5Aopen_by_name(h5->file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0)
        return h5_fail(h5, SHOAL_E_INPUT, "there is no attribute ", name);
    const hid_t space = H5Aget_space(attribute), file_type = H5Aget_type(attribute);
    shoal_status status = SHOAL_OK;
    if (space < 0 || file_type < 0 || H5Sget_simple_extent_npoints(space) != 1 || !same_kind(file_type, type))
        status = shoal_fail(h5->context, SHOAL_E_INPUT, "%s: the attribute %s has a wrong type", h5->path, name);
    else if (H5Aread(attribute, type, value) < 0)
        status = h5_fail(h5, SHOAL_E_INPUT, "cannot read the attribute ", name);
    if (file_type >= 0)
        H5Tclose(file_type);
    if (space >= 0)
        H5Sclose(space);
    H5Aclose(attribute);
    return status;
}

shoal_status shoal_h5_get_text(const shoal_h5 *h5, const char *object, const char *name, char **text)
{
    H5A_info_t about;
    *text = NULL;
    if (H5Aget_info_by_name(h5->file, object, name, &about, H5P_DEFAULT) < 0)
        return h5_fail(h5, SHOAL_E_INPUT, "there is no attribute ", name);
    const size_t size = (size_t)about.data_size + 1;
    const hid_t type = shoal_h5_text_type(size);
    *text = calloc(1, size);
    const shoal_status status = *text && type >= 0 ? shoal_h5_get(h5, object, name, type, *text) : no_memory(h5);
    if (type >= 0)
        H5Tclose(type);
    if (status) {
        free(*text);
        *text = NULL;
    }
    return status;
}

shoal_status shoal_h5_get_word(const shoal_h5 *h5, const char *object, const char *name, char *word, size_t size)
{
    H5A_info_t about;
    if (H5Aget_info_by_name(h5->file, object, name, &about, H5P_DEFAULT) < 0)
        return h5_fail(h5, SHOAL_E_INPUT, "there is no attribute ", name);
    if (about.data_size > size)
        return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: the attribute %s is longer than %zu characters", h5->path,
                          name, size - 1);
    const hid_t type = shoal_h5_text_type(size);
    if (type < 0)
        return no_memory(h5);
    const shoal_status status = shoal_h5_get(h5, object, name, type, word);
    word[size - 1] = '\0';
    H5Tclose(type);
    return status;
}

shoal_status shoal_h5_get_doubles(const shoal_h5 *h5, const char *object, const char *name, int n, double *values)
{
    enum { MOST = 64 };
    double all[MOST];
    const hid_t attribute = H5Aopen_by_name(h5->file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = attribute >= 0 ? H5Aget_space(attribute) : H5I_INVALID_HID;
    const hssize_t there = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
    const bool good = there > 0 && there <= MOST && H5Aread(attribute, H5T_NATIVE_DOUBLE, all) >= 0;
    for (int i = 0; i < n && i < there && good; i++)
        values[i] = all[i];
    if (space >= 0)
        H5Sclose(space);
    if (attribute >= 0)
        H5Aclose(attribute);
    return good ? SHOAL_OK : shoal_fail(h5->context, SHOAL_E_INPUT, "%s: %s: expected numbers", h5->path, name);
}

/* A dataset and its sizes: rank 0 if it is not an array of one to three dimensions. */
static shoal_status open_data(const shoal_h5 *h5, const char *dataset, hid_t *set, shoal_h5_extent *extent)
{
    *extent = (shoal_h5_extent){0, {0}};
    *set = H5Dopen2(h5->file, dataset, H5P_DEFAULT);
    if (*set < 0)
        return h5_fail(h5, SHOAL_E_INPUT, "there is no dataset ", dataset);
    const hid_t space = H5Dget_space(*set);
    const int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    if (rank >= 1 && rank <= SHOAL_COUNT(extent->of) && H5Sget_simple_extent_dims(space, extent->of, NULL) == rank)
        extent->rank = rank;
    if (space >= 0)
        H5Sclose(space);
    return SHOAL_OK;
}

shoal_status shoal_h5_sizes(const shoal_h5 *h5, const char *dataset, int rank, shoal_h5_extent *extent)
{
    hid_t set;
    const shoal_status status = open_data(h5, dataset, &set, extent);
    if (status)
        return status;
    H5Dclose(set);
    if (extent->rank == rank)
        return SHOAL_OK;
    return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: the dataset %s has %d dimensions, expected %d", h5->path,
                      dataset, extent->rank, rank);
}

shoal_status shoal_h5_size(const shoal_h5 *h5, const char *dataset, long *n)
{
    hid_t set;
    shoal_h5_extent extent;
    const shoal_status status = open_data(h5, dataset, &set, &extent);
    if (status)
        return status;
    H5Dclose(set);
    bool good = extent.rank > 0;
    *n = 1;
    for (int d = 0; d < extent.rank; d++)
        good = good && !__builtin_mul_overflow(*n, extent.of[d], n);
    return good ? SHOAL_OK
                : shoal_fail(h5->context, SHOAL_E_INPUT, "%s: the dataset %s: expected one to three dimensions",
                             h5->path, dataset);
}

shoal_status shoal_h5_read(const shoal_h5 *h5, const char *dataset, hid_t type, long n, void *data)
{
    long there;
    shoal_status status = shoal_h5_size(h5, dataset, &there);
    if (!status && there != n)
        status = shoal_fail(h5->context, SHOAL_E_INPUT, "%s: %s: %ld numbers: expected %ld", h5->path, dataset, there,
                            n);
    if (status)
        return status;
    const hid_t set = H5Dopen2(h5->file, dataset, H5P_DEFAULT);
    if (set < 0 || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        status = h5_fail(h5, SHOAL_E_INPUT, "cannot read the dataset ", dataset);
    if (set >= 0)
        H5Dclose(set);
    return status;
}

static void extent_text(shoal_h5_extent extent, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (int d = 0; d < extent.rank && n < size; d++)
        n += (size_t)snprintf(text + n, size - n, "%s%llu", d ? "x" : "", (unsigned long long)extent.of[d]);
}

shoal_status shoal_h5_read_exactly(const shoal_h5 *h5, const char *dataset, hid_t type, shoal_h5_extent extent,
                                   void *data)
{
    hid_t set, file_type = H5I_INVALID_HID, native_type = H5I_INVALID_HID;
    shoal_h5_extent there;
    shoal_status status = open_data(h5, dataset, &set, &there);
    if (status)
        return status;
    if (there.rank != extent.rank || memcmp(there.of, extent.of, (size_t)extent.rank * sizeof *extent.of) != 0) {
        char is[80], should_be[80];
        extent_text(there, is, sizeof is);
        extent_text(extent, should_be, sizeof should_be);
        status = shoal_fail(h5->context, SHOAL_E_INPUT, "%s: the dataset %s has the shape '%s', expected '%s'",
                            h5->path, dataset, is, should_be);
        goto fail;
    }
    file_type = H5Dget_type(set);
    if (file_type < 0 || !same_kind(file_type, type)) {
        status = shoal_fail(h5->context, SHOAL_E_INPUT, "%s: the dataset %s has a wrong type", h5->path, dataset);
        goto fail;
    }
    if (H5Tget_class(type) == H5T_ENUM) /* the file's may have members that this one has not */
        type = native_type = H5Tget_native_type(file_type, H5T_DIR_ASCEND);
    if (extent.of[0] && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        status = h5_fail(h5, SHOAL_E_INPUT, "cannot read the dataset ", dataset);
fail:
    if (native_type >= 0)
        H5Tclose(native_type);
    if (file_type >= 0)
        H5Tclose(file_type);
    H5Dclose(set);
    return status;
}
