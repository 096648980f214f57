/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * h5.c: small HDF5 files (h5.h).
 */
#include "core/result/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFLATE_ITEMS = 1024, CHUNK_ROWS = 16384 };

static shoal_status h5_fail(const shoal_h5 *h5, const char *what, const char *name)
{
    return shoal_fail(h5->context, SHOAL_E_FILE, "%s: %s %s", h5->path, what, name);
}

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

shoal_status shoal_h5_create(shoal_context *context, const char *path, shoal_h5 *h5)
{
    *h5 = (shoal_h5){context, path, H5I_INVALID_HID, shoal_h5_errors_off()};
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0 && H5Pset_fapl_core(access, 1 << 20, 0) >= 0)
        h5->file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (access >= 0)
        H5Pclose(access);
    if (h5->file >= 0)
        return SHOAL_OK;
    shoal_h5_errors_restore(h5->errors);
    return shoal_fail(context, SHOAL_E_MEMORY, "%s: no memory for the file", path);
}

shoal_status shoal_h5_group(shoal_h5 *h5, const char *group)
{
    const hid_t made = H5Gcreate2(h5->file, group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    return made >= 0 && H5Gclose(made) >= 0 ? SHOAL_OK : h5_fail(h5, "cannot make the group", group);
}

/* An attribute of n values (0: a scalar). */
static shoal_status put(shoal_h5 *h5, const char *group, const char *name, hid_t type, int n, const void *values)
{
    const hid_t object = H5Oopen(h5->file, group, H5P_DEFAULT);
    const hid_t space = n ? H5Screate_simple(1, (hsize_t[]){(hsize_t)n}, NULL) : H5Screate(H5S_SCALAR);
    const hid_t attribute = object >= 0 ? H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT)
                                        : H5I_INVALID_HID;
    const bool good = attribute >= 0 && H5Awrite(attribute, type, values) >= 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    if (object >= 0)
        H5Oclose(object);
    return good ? SHOAL_OK : h5_fail(h5, "cannot write the attribute", name);
}

shoal_status shoal_h5_put_text(shoal_h5 *h5, const char *group, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    shoal_status status = SHOAL_OK;
    if (H5Tset_size(type, strlen(text) + 1) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)
        status = h5_fail(h5, "cannot write the attribute", name);
    if (!status)
        status = put(h5, group, name, type, 0, text);
    H5Tclose(type);
    return status;
}

shoal_status shoal_h5_put_doubles(shoal_h5 *h5, const char *group, const char *name, int n, const double *values)
{
    return put(h5, group, name, H5T_NATIVE_DOUBLE, n, values);
}

shoal_status shoal_h5_put_integers(shoal_h5 *h5, const char *group, const char *name, int n, const int64_t *values)
{
    return put(h5, group, name, H5T_NATIVE_INT64, n, values);
}

/* Large datasets are shuffled and deflated, where the library can, and checksummed. */
static hid_t layout(int rank, const hsize_t size[2])
{
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    const bool wide = rank > 1 && size[1] > 16; /* a row is an array of its own */
    const hsize_t rows = size[0] < CHUNK_ROWS ? size[0] : CHUNK_ROWS,
                  columns = size[1] < CHUNK_ROWS ? size[1] : CHUNK_ROWS;
    const hsize_t chunk[2] = {wide ? 1 : rows, columns};
    if (size[0] * (rank > 1 ? size[1] : 1) < DEFLATE_ITEMS || H5Pset_chunk(list, rank, chunk) < 0)
        return list;
    if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) {
        H5Pset_shuffle(list);
        H5Pset_deflate(list, 1);
    }
    H5Pset_fletcher32(list);
    return list;
}

/* long: a dataset: what, how much, and the two attributes that each one has */
shoal_status shoal_h5_write(shoal_h5 *h5, const char *dataset, hid_t type, long n_rows, long n_columns,
                            const void *data, const char *unit, const char *doc)
{
    const int rank = n_columns ? 2 : 1;
    const hsize_t size[2] = {(hsize_t)n_rows, (hsize_t)n_columns};
    const hid_t space = H5Screate_simple(rank, size, NULL), list = layout(rank, size);
    const hid_t set = H5Dcreate2(h5->file, dataset, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    bool good = set >= 0 && (n_rows == 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    if (set >= 0)
        good = (H5Dclose(set) >= 0) & good;
    H5Pclose(list);
    H5Sclose(space);
    shoal_status status = good ? SHOAL_OK : h5_fail(h5, "cannot write the dataset", dataset);
    if (!status && unit)
        status = shoal_h5_put_text(h5, dataset, "unit", unit);
    if (!status && doc)
        status = shoal_h5_put_text(h5, dataset, "doc", doc);
    return status;
}

/* The file's bytes; closes it. */
static shoal_status image(shoal_h5 *h5, shoal_status status, void **bytes, size_t *size)
{
    *bytes = NULL;
    const ssize_t length = !status && H5Fflush(h5->file, H5F_SCOPE_GLOBAL) >= 0 ? H5Fget_file_image(h5->file, NULL, 0)
                                                                                : -1;
    if (length > 0 && (*bytes = malloc((size_t)length)) &&
        H5Fget_file_image(h5->file, *bytes, (size_t)length) == length)
        *size = (size_t)length;
    else if (!status)
        status = shoal_fail(h5->context, SHOAL_E_MEMORY, "%s: no memory for the file", h5->path);
    shoal_h5_close(h5);
    return status;
}

shoal_status shoal_h5_save(shoal_h5 *h5, shoal_status status)
{
    void *bytes;
    size_t size = 0;
    status = image(h5, status, &bytes, &size);
    if (!status && !shoal_replace_file(h5->path, bytes, size))
        status = shoal_fail(h5->context, SHOAL_E_FILE, "%s: cannot be written: %s", h5->path, strerror(errno));
    free(bytes);
    return status;
}

shoal_status shoal_h5_print(shoal_h5 *h5, shoal_status status, FILE *out)
{
    void *bytes;
    size_t size = 0;
    status = image(h5, status, &bytes, &size);
    if (!status)
        fwrite(bytes, 1, size, out); /* who closes the file looks for errors */
    free(bytes);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

shoal_status shoal_h5_open(shoal_context *context, const char *path, shoal_h5 *h5)
{
    *h5 = (shoal_h5){context, path, H5I_INVALID_HID, {NULL, NULL}};
    errno = 0;
    if (access(path, R_OK) != 0)
        return shoal_fail(context, SHOAL_E_FILE, "%s: cannot be read: %s", path, strerror(errno));
    h5->errors = shoal_h5_errors_off();
    h5->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (h5->file >= 0)
        return SHOAL_OK;
    shoal_h5_errors_restore(h5->errors);
    return shoal_fail(context, SHOAL_E_INPUT, "%s: expected an HDF5 file, and a whole one", path);
}

void shoal_h5_close(shoal_h5 *h5)
{
    if (h5->file < 0)
        return;
    H5Fclose(h5->file);
    h5->file = H5I_INVALID_HID;
    shoal_h5_errors_restore(h5->errors);
}

bool shoal_h5_has(const shoal_h5 *h5, const char *object)
{
    const hid_t found = H5Oopen(h5->file, object, H5P_DEFAULT);
    if (found >= 0)
        H5Oclose(found);
    return found >= 0;
}

bool shoal_h5_has_attribute(const shoal_h5 *h5, const char *group, const char *name)
{
    return H5Aexists_by_name(h5->file, group, name, H5P_DEFAULT) > 0;
}

static shoal_status h5_refuse(const shoal_h5 *h5, const char *what, const char *name)
{
    return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: %s: expected %s", h5->path, name, what);
}

shoal_status shoal_h5_get_text(shoal_h5 *h5, const char *group, const char *name, char **text)
{
    *text = NULL;
    const hid_t attribute = H5Aopen_by_name(h5->file, group, name, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t type = attribute >= 0 ? H5Aget_type(attribute) : H5I_INVALID_HID;
    const bool is_text = type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0;
    bool good = is_text && (*text = calloc(H5Tget_size(type) + 1, 1)) && H5Aread(attribute, type, *text) >= 0;
    if (type >= 0)
        H5Tclose(type);
    if (attribute >= 0)
        H5Aclose(attribute);
    return good ? SHOAL_OK : h5_refuse(h5, "a text", name);
}

shoal_status shoal_h5_get_doubles(shoal_h5 *h5, const char *group, const char *name, int n, double *values)
{
    enum { MOST = 64 };
    double all[MOST];
    const hid_t attribute = H5Aopen_by_name(h5->file, group, name, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = attribute >= 0 ? H5Aget_space(attribute) : H5I_INVALID_HID;
    const hssize_t there = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
    const bool good = there > 0 && there <= MOST && H5Aread(attribute, H5T_NATIVE_DOUBLE, all) >= 0;
    for (int i = 0; i < n && i < there && good; i++)
        values[i] = all[i];
    if (space >= 0)
        H5Sclose(space);
    if (attribute >= 0)
        H5Aclose(attribute);
    return good ? SHOAL_OK : h5_refuse(h5, "numbers", name);
}

shoal_status shoal_h5_size(shoal_h5 *h5, const char *dataset, long *n)
{
    const hid_t set = H5Dopen2(h5->file, dataset, H5P_DEFAULT);
    const hid_t space = set >= 0 ? H5Dget_space(set) : H5I_INVALID_HID;
    *n = space >= 0 ? (long)H5Sget_simple_extent_npoints(space) : -1;
    if (space >= 0)
        H5Sclose(space);
    if (set >= 0)
        H5Dclose(set);
    return *n >= 0 ? SHOAL_OK : h5_refuse(h5, "a dataset of this name", dataset);
}

shoal_status shoal_h5_read(shoal_h5 *h5, const char *dataset, hid_t type, long n, void *data)
{
    long there;
    shoal_status status = shoal_h5_size(h5, dataset, &there);
    if (!status && there != n)
        status = shoal_fail(h5->context, SHOAL_E_INPUT, "%s: %s: %ld numbers: expected %ld", h5->path, dataset, there,
                            n);
    if (status)
        return status;
    const hid_t set = H5Dopen2(h5->file, dataset, H5P_DEFAULT);
    const bool good = set >= 0 && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    if (set >= 0)
        H5Dclose(set);
    return good ? SHOAL_OK : h5_refuse(h5, "numbers that can be read", dataset);
}
