/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * h5.h: how HDF5 files are written and read: those of ensembles (store.c), of one big system (big/), GADGET's
 * (format_gadget.c). These say what is in them.
 */
#ifndef SHOAL_H5_H
#define SHOAL_H5_H

#include <hdf5.h>

#include "core/result/result.h"

/* Who prints HDF5's errors: the caller's setting, which is put back. */
typedef struct shoal_h5_errors {
    H5E_auto2_t print;
    void *data;
} shoal_h5_errors;

/* HDF5 prints no errors until they are restored. */
shoal_h5_errors shoal_h5_errors_off(void);
void shoal_h5_errors_restore(shoal_h5_errors errors);

/* The memory in which a file is made. With shoal_h5_spill that of a large one is itself a file. */
typedef struct shoal_h5_image {
    unsigned char *bytes;
    size_t capacity, size, block; /* block: of these bytes, before HDF5's own */
    bool spills;
    const char *path; /* borrowed */
    void *map;        /* [n_map] the file; NULL = there is none */
    size_t n_map;
    int file;
    char *temporary; /* its name */
} shoal_h5_image;

/* A file that is open; HDF5 prints no errors as long as it is. It stays at its address. */
typedef struct shoal_h5 {
    shoal_context *context;
    const char *path; /* borrowed; in messages */
    hid_t file;
    shoal_h5_errors errors;
    shoal_h5_image image;       /* of a file that is written */
    bool releases;              /* what is written in chunks is lost in memory: whole pages of it are given back */
    struct shoal_h5_held *held; /* datasets that are written later; NULL: they are written at once */
} shoal_h5;

/* The sizes of a dataset. */
typedef struct shoal_h5_extent {
    int rank;
    hsize_t of[3];
} shoal_h5_extent;

static inline shoal_h5_extent shoal_h5_rows(long n_rows)
{
    return (shoal_h5_extent){1, {(hsize_t)n_rows}};
}

static inline shoal_h5_extent shoal_h5_table(long n_rows, long n_columns)
{
    return (shoal_h5_extent){2, {(hsize_t)n_rows, (hsize_t)n_columns}};
}

/* The type of texts of at most size - 1 bytes, zero-terminated, UTF-8. Negative if memory is out; H5Tclose it. */
hid_t shoal_h5_text_type(size_t size);

/*
 * A file in memory; then its parts; then saved, or written to an open file. In memory, because HDF5 does not survive a
 * full disk: a file that it cannot close brings the process down at exit (1.10.8).
 *   oldest  in   H5F_LIBVER_EARLIEST: for all readers; _V110: a file of ours, whose metadata are checksummed; before
 *                it comes a block with a checksum of the whole (h5.c)
 *   step    in   bytes by which the memory grows
 */
shoal_status shoal_h5_create(shoal_context *context, const char *path, H5F_libver_t oldest, size_t step, shoal_h5 *h5);
/* The memory of a file that becomes large is that of a file beside path, which is mapped, if the disk has room for it:
 * the process's own does not grow with it. To be called right after shoal_h5_create, for a file that will be saved. */
void shoal_h5_spill(shoal_h5 *h5);
shoal_status shoal_h5_group(const shoal_h5 *h5, const char *group);
/* An attribute of a group, "/" = of the file, or of a dataset: n values, 0: one that is no array. text: NULL is "". */
shoal_status shoal_h5_put(const shoal_h5 *h5, const char *object, const char *name, hid_t type, int n,
                          const void *values);
shoal_status shoal_h5_put_text(const shoal_h5 *h5, const char *object, const char *name, const char *text);
shoal_status shoal_h5_put_doubles(const shoal_h5 *h5, const char *object, const char *name, int n,
                                  const double *values);
shoal_status shoal_h5_put_integers(const shoal_h5 *h5, const char *object, const char *name, int n,
                                   const int64_t *values);
/* A dataset; type: in memory as in the file; unit and doc may be NULL. With rows it is chunked and checksummed; a large
 * one is shuffled and deflated, too, where the library can. */
shoal_status shoal_h5_write(const shoal_h5 *h5, const char *dataset, hid_t type, shoal_h5_extent extent,
                            const void *data, const char *unit, const char *doc);
/* What is written from now on must stay in memory until it is let go: so many small datasets, too, are deflated by all
 * threads. */
void shoal_h5_hold(shoal_h5 *h5);
shoal_status shoal_h5_let_go(shoal_h5 *h5);
/* Rows that are not in memory. */
typedef struct shoal_h5_source {
    shoal_status (*fill)(void *user, size_t first, size_t n, void *to); /* rows first..first+n-1 */
    void *user;
} shoal_h5_source;
/* The same dataset, byte for byte, of such rows, a part at a time. */
shoal_status shoal_h5_write_from(const shoal_h5 *h5, const char *dataset, hid_t type, shoal_h5_extent extent,
                                 const shoal_h5_source *source, const char *unit, const char *doc);
/* Through a temporary name beside h5->path: the file is complete or as it was. Closes it, whatever happens. */
shoal_status shoal_h5_save(shoal_h5 *h5, shoal_status status);
shoal_status shoal_h5_print(shoal_h5 *h5, shoal_status status, FILE *out);

/* A file on disk; one of ours only if its checksum fits. What is not as expected is refused with the path. */
shoal_status shoal_h5_open(shoal_context *context, const char *path, shoal_h5 *h5);
void shoal_h5_close(shoal_h5 *h5);
bool shoal_h5_has(const shoal_h5 *h5, const char *object); /* a group or a dataset */
/* Whether nobody has written "/NAME" or "/GROUP/NAME": one that is damaged is there. */
bool shoal_h5_lacks(const shoal_h5 *h5, const char *object);
bool shoal_h5_has_attribute(const shoal_h5 *h5, const char *object, const char *name);
/* An attribute of one value of this kind. */
shoal_status shoal_h5_get(const shoal_h5 *h5, const char *object, const char *name, hid_t type, void *value);
/* malloc'd; NULL on failure */
shoal_status shoal_h5_get_text(const shoal_h5 *h5, const char *object, const char *name, char **text);
/* A text of less than `size` bytes. */
shoal_status shoal_h5_get_word(const shoal_h5 *h5, const char *object, const char *name, char *word, size_t size);
/* The first values of an attribute, at most n, of any type of numbers; the others stay as they are. */
shoal_status shoal_h5_get_doubles(const shoal_h5 *h5, const char *object, const char *name, int n, double *values);
/* The sizes of a dataset of this rank; how many numbers one of 1 to 3 dimensions holds. */
shoal_status shoal_h5_sizes(const shoal_h5 *h5, const char *dataset, int rank, shoal_h5_extent *extent);
shoal_status shoal_h5_size(const shoal_h5 *h5, const char *dataset, long *n);
/* A dataset of so many numbers, of 1 to 3 dimensions and any type. */
shoal_status shoal_h5_read(const shoal_h5 *h5, const char *dataset, hid_t type, long n, void *data);
/* A dataset of these sizes and of this kind; of an enumeration, the values are those of the file. */
shoal_status shoal_h5_read_exactly(const shoal_h5 *h5, const char *dataset, hid_t type, shoal_h5_extent extent,
                                   void *data);

/* ---- store_kept.c: a part of a result file --------------------------------------------------------------------- */

shoal_status shoal_store_write_kept(const shoal_h5 *h5, const shoal_result *result);

#endif
