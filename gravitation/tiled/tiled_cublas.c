/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled_cublas.c: adding up partial sums by a matrix-vector product of cuBLAS, as seen in students' codes; slower than
 * a kernel of three lines, which is what the ladder shows. The library is opened at run time.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "gravitation/tiled/tiled_cublas.h"

struct library {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*dgemv)(void *handle, int transposed, int m, int n, const double *alpha, device_pointer a, int lda,
                 device_pointer x, int step_x, const double *beta, device_pointer y, int step_y);
};

static bool library_open(struct library *library)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                        "/usr/local/cuda/lib64/libcublas.so.13",
                                        "/usr/local/cuda/lib64/libcublas.so.12"};
    void *found = NULL;
    for (int i = 0; i < SHOAL_COUNT(names) && !found; i++)
        found = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!found)
        return false;
    *(void **)&library->create = dlsym(found, "cublasCreate_v2");
    *(void **)&library->destroy = dlsym(found, "cublasDestroy_v2");
    *(void **)&library->dgemv = dlsym(found, "cublasDgemv_v2");
    dlclose(found);
    return library->create && library->destroy && library->dgemv;
}

shoal_status shoal_tiled_add_columns(shoal_context *context, struct tiled_cublas *cublas, device_pointer from,
                                     long n_rows, long n_columns, device_pointer to)
{
    struct library library;
    struct driver driver;
    if (!library_open(&library) || shoal_driver_open(&driver))
        return shoal_fail(context, SHOAL_E_UNSUPPORTED, "no cuBLAS (libcublas.so) on this machine");
    if (!cublas->handle && library.create(&cublas->handle) != 0)
        return shoal_fail(context, SHOAL_E_DEVICE, "cuBLAS does not start");
    if (cublas->n_ones < n_columns) {
        double *ones = malloc((size_t)n_columns * sizeof *ones);
        for (long i = 0; ones && i < n_columns; i++)
            ones[i] = 1;
        if (cublas->ones)
            (void)driver.release(cublas->ones);
        cublas->ones = cublas->n_ones = 0;
        const bool there = ones && driver.allocate(&cublas->ones, (size_t)n_columns * sizeof *ones) == 0 &&
                           driver.to_device(cublas->ones, ones, (size_t)n_columns * sizeof *ones) == 0;
        free(ones);
        if (!there)
            return shoal_fail(context, SHOAL_E_MEMORY, "no memory for a vector of %ld numbers on the GPU", n_columns);
        cublas->n_ones = n_columns;
    }
    const double one = 1, zero = 0;
    const int result = library.dgemv(cublas->handle, 0, (int)n_rows, (int)n_columns, &one, from, (int)n_rows,
                                     cublas->ones, 1, &zero, to, 1);
    return result ? shoal_fail(context, SHOAL_E_DEVICE, "cublasDgemv failed: %d", result) : SHOAL_OK;
}

void shoal_tiled_cublas_close(struct tiled_cublas *cublas, struct driver *driver)
{
    struct library library;
    if (cublas->ones)
        (void)driver->release(cublas->ones);
    if (cublas->handle && library_open(&library))
        (void)library.destroy(cublas->handle);
}
