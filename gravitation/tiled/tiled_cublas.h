/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled_cublas.h: adding up partial sums by a matrix-vector product of cuBLAS, a step of the ladder (tiled_cublas.c).
 */
#ifndef SHOAL_TILED_CUBLAS_H
#define SHOAL_TILED_CUBLAS_H

#include "core/engine/cuda.h"
#include "core/engine/engine.h"

/* Of one device; zero before the first use. */
struct tiled_cublas {
    void *handle;
    device_pointer ones;
    long n_ones;
};

/* to [n_rows] = sum of the n_columns columns of from [n_columns][n_rows], on the device whose context is current. */
shoal_status shoal_tiled_add_columns(shoal_context *context, struct tiled_cublas *cublas, device_pointer from,
                                     long n_rows, long n_columns, device_pointer to);
void shoal_tiled_cublas_close(struct tiled_cublas *cublas, struct driver *driver);

#endif
