/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled_variants.h: the variants of the GPU kernels (tiled_cuda.kern.h): what each is compiled with, and which is the
 * fastest for a number of bodies.
 */
#ifndef SHOAL_TILED_VARIANTS_H
#define SHOAL_TILED_VARIANTS_H

#include "gravitation/tiled/tiled_internal.h"

/* How a kernel is compiled: targets a thread, warps a block, threads a target, unrolling, blocks on a
 * multiprocessor. */
typedef struct tiled_shape {
    int i, warps, lanes, unroll, min_blocks;
} tiled_shape;

enum { RSQRT_EXACT, RSQRT_FAST, RSQRT_FLUSH };  /* TILED_RSQRT */
enum { STORE_GLOBAL, STORE_TILES, STORE_HALF }; /* TILED_STORAGE */
/* of the sources among blocks: as many as fill the device; 32 */
enum { SPLIT_AUTO, SPLIT_NOT, SPLIT_2D, SPLIT_CUBLAS };

/* Plummer's accelerations alone; any with the jerk; a spline or the potential */
enum { SHAPE_PLAIN, SHAPE_JERK, SHAPE_MORE, SHAPES };

/* A shape without targets: the variant cannot do that, or SHAPE_MORE is SHAPE_PLAIN. */
typedef struct tiled_variant {
    const char *name, *doc;
    bool edges, sorted; /* sorted: accelerations with Plummer's softening only, all else is that of VARIANT_EDGES */
    tiled_shape shape[SHOAL_TILED_PRECISIONS][SHAPES];
    int rsqrt, storage, split;
} tiled_variant;

enum {
    VARIANT_EDGES,
    VARIANT_EDGES_SMALL,
    VARIANT_EDGES_SORTED,
    VARIANT_ROWS,
    VARIANT_LANES,
    VARIANTS_MAIN,
    VARIANTS = VARIANTS_MAIN + 14
};

extern const tiled_variant shoal_tiled_variants[VARIANTS];

/* The variant of that name; -1 if there is none. */
int shoal_tiled_variant_named(const char *name);

/* How a variant is compiled for these forces. */
const tiled_shape *shoal_tiled_shape(int variant, const shoal_tiled_options *options, int wants);

/* The fastest on an H200 or H100. all: all sources are targets. */
int shoal_tiled_variant_for(const shoal_tiled_options *options, int wants, bool all, long n_targets);

/* What was measured to be the fastest on a device, among its main variants, and kept in the cache; -1 if nothing was.
 * masses: a kind of them (tiled_cuda.c); n: bodies. */
int shoal_tiled_variant_kept(const char *device, const shoal_tiled_options *options, int wants, int masses, long n);
void shoal_tiled_variant_keep(const char *device, const shoal_tiled_options *options, int wants, int masses, long n,
                              int variant);

#endif
