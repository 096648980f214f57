/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * edits.c: HDF5 files as another program may leave them: changed by libhdf5 itself, as bytes say, with checksums that
 * fit. libhdf5 does not survive files whose bytes are changed, so those say nothing of what reads with it.
 */
#define _GNU_SOURCE 1
#include <endian.h>
#include <hdf5.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

enum { MOST_EDITS = 8, MOST_OBJECTS = 128, NAME_SIZE = 128, MOST_BYTES = 1 << 16 };
enum { BLOCK = 512, SUMMED = 16 }; /* before a result: core/result/h5.c */

/* What is left of the bytes that say what to do; 0 for ever where they end. */
typedef struct script {
    const uint8_t *at;
    size_t left;
} script;

static unsigned next(script *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

static void fill(script *in, unsigned char *bytes, size_t n)
{
    const uint8_t *from = in->at;
    const size_t there = in->left < n ? in->left : n;
    for (size_t i = 0; i < n; i++)
        bytes[i] = there ? from[i % there] : 0;
    in->at += there;
    in->left -= there;
}

/* ---- what is in the file ----------------------------------------------------------------------------------------- */

typedef struct objects {
    int n;
    char name[MOST_OBJECTS][NAME_SIZE];
} objects;

static void note_name(objects *all, const char *name)
{
    if (all->n < MOST_OBJECTS && strlen(name) < NAME_SIZE)
        strcpy(all->name[all->n++], name);
}

static herr_t note_link(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    (void)group;
    (void)info;
    note_name(user, name);
    return 0;
}

static herr_t note_attribute(hid_t object, const char *name, const H5A_info_t *info, void *user)
{
    (void)object;
    (void)info;
    note_name(user, name);
    return 0;
}

/* ---- types, sizes, values ---------------------------------------------------------------------------------------- */

static hid_t make_enumeration(hid_t base, int n)
{
    const hid_t type = H5Tenum_create(base);
    for (int i = 0; i < n; i++) {
        char name[16];
        const int64_t value = htole64((uint64_t)i); /* of any size, on little-endian machines */
        snprintf(name, sizeof name, "v%d", i);
        H5Tenum_insert(type, name, &value);
    }
    return type;
}

static hid_t make_type(script *in)
{
    const unsigned kind = next(in);
    hid_t type;
    switch (kind % 16) {
    case 0: return H5Tcopy(H5T_NATIVE_INT);
    case 1: return H5Tcopy(H5T_NATIVE_INT64);
    case 2: return H5Tcopy(H5T_NATIVE_DOUBLE);
    case 3: return H5Tcopy(H5T_NATIVE_UINT8);
    case 4: return H5Tcopy(H5T_NATIVE_UINT64);
    case 5: return H5Tcopy(H5T_NATIVE_FLOAT);
    case 6: return H5Tcopy(H5T_IEEE_F64BE);
    case 7: return H5Tcopy(H5T_STD_I16BE);
    case 8: return make_enumeration(H5T_NATIVE_INT, 20);
    case 9: return make_enumeration(H5T_NATIVE_SCHAR, 3);
    case 10: return make_enumeration(H5T_NATIVE_INT64, 1);
    case 11: return H5Tcreate(H5T_OPAQUE, next(in) + 1);
    case 12:
        type = H5Tcreate(H5T_COMPOUND, 16);
        H5Tinsert(type, "a", 0, H5T_NATIVE_INT);
        H5Tinsert(type, "b", 8, H5T_NATIVE_DOUBLE);
        return type;
    case 13: return H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, (hsize_t[]){next(in) % 8 + 1});
    default:
        type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, kind % 16 == 14 ? next(in) + 1 : H5T_VARIABLE);
        H5Tset_strpad(type, kind & 16 ? H5T_STR_NULLPAD : kind & 32 ? H5T_STR_SPACEPAD : H5T_STR_NULLTERM);
        H5Tset_cset(type, kind & 64 ? H5T_CSET_ASCII : H5T_CSET_UTF8);
        return type;
    }
}

static hid_t make_space(script *in, int *rank, hsize_t *sizes)
{
    static const hsize_t large[] = {100, 300, (hsize_t)1 << 31, (hsize_t)1 << 32, (hsize_t)1 << 40, (hsize_t)1 << 61};
    const unsigned of = next(in);
    *rank = (int)(of % 5);
    for (int d = 0; d < *rank; d++) {
        const unsigned size = next(in);
        sizes[d] = size < 200 ? size % 16 : large[size % SHOAL_COUNT(large)];
    }
    return of == 255 ? H5Screate(H5S_NULL) : *rank ? H5Screate_simple(*rank, sizes, NULL) : H5Screate(H5S_SCALAR);
}

/* Bytes for all values; NULL: too many, or pointers. n: how many. */
static unsigned char *make_values(script *in, hid_t type, hid_t space, size_t *n)
{
    const hssize_t items = H5Sget_simple_extent_npoints(space);
    const size_t size = H5Tget_size(type);
    if (items <= 0 || (size_t)items > MOST_BYTES / size || H5Tis_variable_str(type) > 0 ||
        H5Tget_class(type) == H5T_VLEN || H5Tget_class(type) == H5T_REFERENCE)
        return NULL;
    unsigned char *bytes = malloc(*n = (size_t)items * size);
    if (!bytes)
        abort();
    if (in)
        fill(in, bytes, *n);
    return bytes;
}

/* Some of the values: bytes, or numbers that are seldom expected. */
static void change_values(script *in, hid_t type, unsigned char *bytes, size_t n)
{
    static const double doubles[] = {0, -1, 1e308, -0.5, 1e-300, 3, 64, 2147483648.0};
    static const int64_t integers[] = {0, -1, 1, 2, 5, 63, INT32_MAX, INT64_MIN};
    const unsigned how = next(in), which = next(in) + (next(in) << 8);
    const size_t size = H5Tget_size(type), at = which % (n / size) * size;
    const double nan = how & 8 ? NAN : doubles[how % 8];
    if (how & 128)
        fill(in, bytes + at, n - at < 8 ? n - at : 8);
    else if (H5Tget_class(type) == H5T_FLOAT && size == sizeof(double))
        memcpy(bytes + at, &nan, size);
    else if (size <= sizeof(int64_t))
        memcpy(bytes + at, &integers[how % 8], size);
    else
        memset(bytes + at, how, size);
}

/* ---- edits ------------------------------------------------------------------------------------------------------- */

static void make_dataset(script *in, hid_t file, const char *path)
{
    int rank;
    size_t n;
    hsize_t sizes[5], chunk[5];
    const hid_t type = make_type(in), space = make_space(in, &rank, sizes), list = H5Pcreate(H5P_DATASET_CREATE),
                links = H5Pcreate(H5P_LINK_CREATE);
    for (int d = 0; d < rank; d++)
        chunk[d] = sizes[d] > 8 ? 8 : 1;
    if (rank > 0 && H5Sget_simple_extent_type(space) == H5S_SIMPLE)
        H5Pset_chunk(list, rank, chunk); /* what is not written takes no room */
    H5Pset_create_intermediate_group(links, 1);
    const hid_t set = H5Dcreate2(file, path, type, space, links, list, H5P_DEFAULT);
    unsigned char *values = set >= 0 ? make_values(in, type, space, &n) : NULL;
    if (values)
        H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    free(values);
    if (set >= 0)
        H5Dclose(set);
    H5Pclose(links);
    H5Pclose(list);
    H5Sclose(space);
    H5Tclose(type);
}

static void edit_values(script *in, hid_t file, const char *path)
{
    size_t n;
    const hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
    if (set < 0)
        return;
    const hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    unsigned char *values = make_values(NULL, type, space, &n);
    if (values && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0) {
        change_values(in, type, values, n);
        H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    }
    free(values);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(set);
}

/* Of an object: an attribute that it has or, now and then, one more. */
static void edit_attribute(script *in, hid_t object, unsigned how)
{
    static const char *const more[] = {"unit",
                                       "columns",
                                       "Redshift",
                                       "Omega0",
                                       "UnitLength_in_cm",
                                       "UnitMass_in_g",
                                       "UnitVelocity_in_cm_per_s",
                                       "ComovingIntegrationOn"};
    objects all = {0};
    int rank;
    size_t n;
    hsize_t sizes[5], start = 0;
    H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &start, note_attribute, &all);
    const unsigned which = next(in);
    const char *name = all.n && which < 200 ? all.name[which % (unsigned)all.n] : more[which % SHOAL_COUNT(more)];
    const hid_t old = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID;
    const bool keep = how == 0 && old >= 0;
    const hid_t type = keep ? H5Aget_type(old) : make_type(in),
                space = keep ? H5Aget_space(old) : make_space(in, &rank, sizes);
    unsigned char *values = make_values(keep ? NULL : in, type, space, &n);
    if (keep && values && H5Aread(old, type, values) >= 0) {
        change_values(in, type, values, n);
        H5Awrite(old, type, values);
    }
    if (old >= 0)
        H5Aclose(old);
    if (!keep && old >= 0) { /* H5Adelete of 1.10.8 crashes where few are left */
        char gone[NAME_SIZE + 8];
        snprintf(gone, sizeof gone, "gone %s", name);
        H5Arename(object, name, gone);
    }
    /* a large one is in memory, whether it has values or not */
    if (!keep && how != 1 && H5Sget_simple_extent_npoints(space) <= MOST_BYTES / (hssize_t)H5Tget_size(type)) {
        const hid_t made = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        if (made >= 0 && values)
            H5Awrite(made, type, values);
        if (made >= 0)
            H5Aclose(made);
    }
    free(values);
    H5Sclose(space);
    H5Tclose(type);
}

static void edit(script *in, hid_t file)
{
    static const char *const more[] = {
        "/PartType0/Coordinates", "/PartType4/Masses",    "/PartType1/Masses", "/log/x/time", "/Parameters",
        "/systems/system",        "/log/transits/system", "/PartType5"};
    objects all = {0};
    const unsigned what = next(in), which = next(in), how = next(in);
    note_name(&all, "/");
    H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, note_link, &all);
    for (int i = 1; i < all.n; i++) { /* what is in groups; a circle of links ends where the names do */
        objects below = {0};
        if (H5Literate_by_name(file, all.name[i], H5_INDEX_NAME, H5_ITER_INC, NULL, note_link, &below, H5P_DEFAULT) < 0)
            continue;
        for (int k = 0; k < below.n; k++) {
            char path[2 * NAME_SIZE + 2];
            snprintf(path, sizeof path, "%s/%s", all.name[i], below.name[k]);
            note_name(&all, path);
        }
    }
    const char *path = which < 250 ? all.name[which % (unsigned)all.n] : more[how % SHOAL_COUNT(more)],
               *other = all.name[how % (unsigned)all.n];
    const hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    if (object >= 0) {
        if (what % 8 < 3)
            edit_attribute(in, object, how % 4);
        H5Oclose(object);
    }
    if (what % 8 == 3 || what % 8 == 4)
        edit_values(in, file, path);
    if (what % 8 < 5 || strcmp(path, "/") == 0)
        return;
    if (object >= 0)
        H5Ldelete(file, path, H5P_DEFAULT);
    switch (what % 8 == 7 ? what / 8 % 4 : 4 + what % 2) {
    case 0: H5Lcreate_soft(other, file, path, H5P_DEFAULT, H5P_DEFAULT); break;
    case 1: H5Lcreate_hard(file, other, file, path, H5P_DEFAULT, H5P_DEFAULT); break;
    case 2: H5Gclose(H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)); break;
    case 3: break;
    default: make_dataset(in, file, path);
    }
}

static char path[512]; /* on disk: libhdf5 opens none by a link in /proc */

void *fuzz_read(const char *name, size_t *size)
{
    struct stat about;
    FILE *in = fopen(name, "rb");
    if (!in || fstat(fileno(in), &about))
        abort();
    void *bytes = malloc((size_t)about.st_size + 1);
    if (!bytes || (*size = fread(bytes, 1, (size_t)about.st_size, in)) != (size_t)about.st_size)
        abort();
    fclose(in);
    return bytes;
}

/* The block before a result: the number of bytes that follow, and the checksum. */
static void sign(void)
{
    size_t size;
    unsigned char *bytes = fuzz_read(path, &size);
    if (size > BLOCK && memcmp(bytes + 1, "Shoal", 5) == 0) {
        const uint64_t rest = htole64(size - BLOCK);
        memcpy(bytes + 8, &rest, sizeof rest);
        const uint32_t sum = htole32(shoal_crc32c(shoal_crc32c(0, bytes + BLOCK, size - BLOCK), bytes, SUMMED));
        memcpy(bytes + SUMMED, &sum, sizeof sum);
        FILE *file = fopen(path, "r+b");
        if (!file || fwrite(bytes, 1, BLOCK, file) != BLOCK || fclose(file))
            abort();
    }
    free(bytes);
}

static void forget_file(void)
{
    unlink(path);
}

const char *fuzz_hdf5(const uint8_t *data, size_t size, const void *base, size_t base_size)
{
    script in = {data, size};
    const char *folder = getenv("TMPDIR");
    if (!*path) {
        snprintf(path, sizeof path, "%s/fuzz-%ld.h5", folder ? folder : "/tmp", (long)getpid());
        atexit(forget_file);
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    }
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(base, 1, base_size, out) != base_size || fclose(out))
        abort();
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    if (file < 0)
        abort();
    for (int i = 0; i < MOST_EDITS && in.left > 0; i++)
        edit(&in, file);
    if (H5Fclose(file) < 0)
        abort();
    sign();
    return path;
}
