/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * h5.h: small HDF5 files, written at once and read piece by piece: those of one big system (big/), GADGET's
 * (format_gadget.c). The result files of ensembles have their own (store.c).
 */
#ifndef SHOAL_H5_H
#define SHOAL_H5_H

#include <hdf5.h>

#include "core/result/result.h"

typedef struct shoal_h5 {
    shoal_context *context;
    const char *path; /* borrowed; in messages */
    hid_t file;
    H5E_auto2_t printer; /* what the program has HDF5 print errors with */
    void *printer_data;
} shoal_h5;

/* A file in memory; then its parts; then saved, or written to an open file. HDF5 does not survive a full disk. */
shoal_status shoal_h5_create(shoal_context *context, const char *path, shoal_h5 *h5);
shoal_status shoal_h5_group(shoal_h5 *h5, const char *group);
/* Attributes of a group, "/" = of the file. */
shoal_status shoal_h5_put_text(shoal_h5 *h5, const char *group, const char *name, const char *text);
shoal_status shoal_h5_put_doubles(shoal_h5 *h5, const char *group, const char *name, int n, const double *values);
shoal_status shoal_h5_put_integers(shoal_h5 *h5, const char *group, const char *name, int n, const int64_t *values);
/* A dataset of n_rows x n_columns (0: of one dimension), of H5T_NATIVE_DOUBLE or _INT64; unit and doc may be NULL. */
shoal_status shoal_h5_write(shoal_h5 *h5, const char *dataset, hid_t type, long n_rows, long n_columns,
                            const void *data, const char *unit, const char *doc);
/* Through a temporary name beside h5->path: the file is complete or as it was. Closes it, whatever happens. */
shoal_status shoal_h5_save(shoal_h5 *h5, shoal_status status);
shoal_status shoal_h5_print(shoal_h5 *h5, shoal_status status, FILE *out);

/* A file on disk. What is not as expected is refused with the path. */
shoal_status shoal_h5_open(shoal_context *context, const char *path, shoal_h5 *h5);
void shoal_h5_close(shoal_h5 *h5);
bool shoal_h5_has(const shoal_h5 *h5, const char *object); /* a group or a dataset */
bool shoal_h5_has_attribute(const shoal_h5 *h5, const char *group, const char *name);
/* malloc'd */
shoal_status shoal_h5_get_text(shoal_h5 *h5, const char *group, const char *name, char **text);
/* The first values of an attribute, at most n; the others stay as they are. */
shoal_status shoal_h5_get_doubles(shoal_h5 *h5, const char *group, const char *name, int n, double *values);
/* A dataset of so many numbers, of any rank and type. */
shoal_status shoal_h5_read(shoal_h5 *h5, const char *dataset, hid_t type, long n, void *data);
/* How many numbers a dataset holds. */
shoal_status shoal_h5_size(shoal_h5 *h5, const char *dataset, long *n);

#endif
