/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled_variants.c: the table of the GPU kernels' variants, and the choice among them. What was measured on the device
 * at hand (shoal_tiled_tune) counts: it is kept beside the compiled kernels, in a file of one word for each device,
 * precision, law, wants and power of two of the number of bodies. Else a table counts, from one H200 and one H100.
 */
#include <string.h>

#include "gravitation/tiled/tiled_variants.h"

/* A step of the ladder: single precision, acceleration and potential only. */
/* clang-format off */
#define STEP(name_, warps_, lanes_, unroll_, rsqrt_, storage_, split_, doc_)                                          \
    {.name = name_, .doc = doc_, .shape = {[SHOAL_TILED_FP32] = {{1, warps_, lanes_, unroll_, 1}}}, .rsqrt = rsqrt_,  \
     .storage = storage_, .split = split_}
/* clang-format on */

const tiled_variant shoal_tiled_variants[VARIANTS] = {
    [VARIANT_EDGES] = {"edges",
                       "every pair once; 5 to 21 bodies a thread, 64 to 256 threads a block",
                       true,
                       false,
                       {{{8, 8, 1, 1, 1}, {5, 8, 1, 1, 1}},
                        {{9, 4, 1, 1, 3}, {7, 4, 1, 1, 2}},
                        {{21, 2, 1, 1, 4}, {6, 4, 1, 1, 3}, {12, 2, 1, 1, 6}}},
                       RSQRT_FLUSH,
                       STORE_TILES,
                       SPLIT_AUTO},
    [VARIANT_EDGES_SMALL] = {"edges_small",
                             "every pair once; smaller blocks, for fewer bodies",
                             true,
                             false,
                             {{{6, 2, 1, 1, 4}, {3, 2, 1, 1, 5}},
                              {{7, 2, 1, 1, 6}, {6, 2, 1, 1, 4}},
                              {{8, 2, 1, 2, 8}, {6, 2, 1, 1, 6}}},
                             RSQRT_FLUSH,
                             STORE_TILES,
                             SPLIT_AUTO},
    [VARIANT_EDGES_SORTED] =
        {"edges_sorted",
         "every pair once, in the order of places: near pairs in double, far ones in single precision",
         true,
         true,
         {[SHOAL_TILED_MIXED] = {{8, 4, 1, 1, 3}}},
         RSQRT_FLUSH,
         STORE_TILES,
         SPLIT_AUTO},
    [VARIANT_ROWS] = {"rows",
                      "tiles of sources in shared memory, 2 or 4 targets in a thread's registers",
                      false,
                      false,
                      {{{2, 4, 1, 4, 4}, {2, 4, 1, 2, 3}},
                       {{4, 4, 1, 4, 4}, {2, 4, 1, 4, 4}},
                       {{4, 4, 1, 8, 4}, {4, 4, 1, 4, 4}}},
                      RSQRT_FLUSH,
                      STORE_TILES,
                      SPLIT_AUTO},
    [VARIANT_LANES] = {"lanes",
                       "tiles of sources in shared memory, 32 threads for 1 or 2 targets",
                       false,
                       false,
                       {{{2, 8, 32, 4, 2}, {1, 8, 32, 2, 2}},
                        {{2, 8, 32, 4, 2}, {2, 8, 32, 2, 2}},
                        {{2, 8, 32, 4, 4}, {2, 8, 32, 4, 2}}},
                       RSQRT_FLUSH,
                       STORE_TILES,
                       SPLIT_AUTO},
    STEP("simple", 8, 1, 1, RSQRT_EXACT, STORE_GLOBAL, SPLIT_NOT,
         "one target a thread, sources from global memory, 1/sqrt(x)"),
    STEP("tiled", 8, 1, 1, RSQRT_EXACT, STORE_TILES, SPLIT_NOT, "+ tiles of sources in shared memory, blocks of 256"),
    STEP("tiled_rsqrt", 8, 1, 1, RSQRT_FAST, STORE_TILES, SPLIT_NOT, "+ the instruction for 1/sqrt(x)"),
    STEP("tiled_ftz", 8, 1, 1, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "+ subnormal numbers flushed to zero"),
    STEP("unrolled_4", 8, 1, 4, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "+ 4 sources a turn of the loop"),
    STEP("unrolled_16", 8, 1, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "+ 16 sources a turn"),
    STEP("block_64", 2, 1, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "the same, blocks of 64"),
    STEP("block_128", 4, 1, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "the same, blocks of 128"),
    STEP("block_512", 16, 1, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "the same, blocks of 512"),
    STEP("half", 8, 1, 16, RSQRT_FLUSH, STORE_HALF, SPLIT_NOT, "blocks of 256, tiles with positions in half precision"),
    STEP("threads_4", 8, 4, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT,
         "4 threads a target, sums by shuffles without barriers"),
    STEP("threads_16", 8, 16, 8, RSQRT_FLUSH, STORE_TILES, SPLIT_NOT, "16 threads a target"),
    STEP("tiled_2d", 8, 1, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_2D, "sources in 32 parts, added up by a second kernel"),
    STEP("tiled_2d_cublas", 8, 1, 16, RSQRT_FLUSH, STORE_TILES, SPLIT_CUBLAS,
         "added up by cuBLAS: matrix times vector"),
};

int shoal_tiled_variant_named(const char *name)
{
    for (int i = 0; i < VARIANTS; i++)
        if (strcmp(shoal_tiled_variants[i].name, name) == 0)
            return i;
    return -1;
}

const tiled_shape *shoal_tiled_shape(int variant, const shoal_tiled_options *options, int wants)
{
    const tiled_shape *shape = shoal_tiled_variants[variant].shape[options->precision];
    if (wants & SHOAL_TILED_JERK)
        return &shape[SHAPE_JERK];
    const bool more = wants || options->softening == SHOAL_TILED_SPLINE;
    return &shape[more && shape[SHAPE_MORE].i ? SHAPE_MORE : SHAPE_PLAIN];
}

/*
 * Edge sharing wins as soon as its tiles fill the device; below, 32 threads a target do. For other targets those, or
 * with enough of them tiles with a thread a target. A spline takes registers and instructions that large blocks lack.
 */
int shoal_tiled_variant_for(const shoal_tiled_options *options, int wants, bool all, long n_targets)
{
    static const struct {
        long small, large; /* from so many bodies on edges_small, edges */
    } least[SHOAL_TILED_PRECISIONS][2] = {
        [SHOAL_TILED_FP64] = {{6144, 49152}, {2048, 24576}},
        [SHOAL_TILED_MIXED] = {{6144, 49152}, {4096, 49152}},
        [SHOAL_TILED_FP32] = {{12288, 32768}, {4096, 49152}},
    };
    const bool jerk = wants & SHOAL_TILED_JERK, mixed = options->precision == SHOAL_TILED_MIXED;
    const bool heavy = options->softening == SHOAL_TILED_SPLINE && !jerk && !mixed;
    if (all && mixed && !jerk && n_targets >= 1 << 19)
        return VARIANT_EDGES_SORTED;
    if (all && !heavy && n_targets >= least[options->precision][jerk].large)
        return VARIANT_EDGES;
    if (all && n_targets >= least[options->precision][jerk].small)
        return VARIANT_EDGES_SMALL;
    return n_targets >= 32768 ? VARIANT_ROWS : VARIANT_LANES;
}

/* ---- measured and kept ------------------------------------------------------------------------------------------- */

enum { KEPT_PATH = 600 }; /* bytes of a file's name */

/* The file of a choice; false if there is no private folder. */
static bool kept_path(const char *device, const shoal_tiled_options *options, int wants, int masses, long n, bool make,
                      char path[KEPT_PATH])
{
    char folder[512], what[160];
    int class = 0;
    while (2L << class <= n)
        class ++;
    if (!shoal_cache_folder(folder, sizeof folder, make))
        return false;
    const int shape[] = {options->precision, options->softening, options->eps == 0, wants, masses, class};
    snprintf(what, sizeof what, "tiled 1 %s", device);
    shoal_hash key = shoal_hash_start();
    shoal_hash_string(&key, what);
    shoal_hash_bytes(&key, shape, sizeof shape);
    for (int i = 0; i < VARIANTS_MAIN; i++)
        shoal_hash_bytes(&key, shoal_tiled_variants[i].shape, sizeof shoal_tiled_variants[i].shape);
    const unsigned long long a = key.a, b = key.b;
    return snprintf(path, KEPT_PATH, "%s/%016llx%016llx.choice", folder, a, b) < KEPT_PATH;
}

int shoal_tiled_variant_kept(const char *device, const shoal_tiled_options *options, int wants, int masses, long n)
{
    char path[KEPT_PATH], word[32] = "";
    if (!kept_path(device, options, wants, masses, n, false, path))
        return -1;
    if (!shoal_cache_read(path, word, sizeof word))
        return -1;
    word[strcspn(word, "\n")] = '\0';
    const int variant = shoal_tiled_variant_named(word);
    return variant >= 0 && variant < VARIANTS_MAIN && shoal_tiled_shape(variant, options, wants)->i > 0 ? variant : -1;
}

void shoal_tiled_variant_keep(const char *device, const shoal_tiled_options *options, int wants, int masses, long n,
                              int variant)
{
    char path[KEPT_PATH], word[40];
    snprintf(word, sizeof word, "%s\n", shoal_tiled_variants[variant].name);
    if (kept_path(device, options, wants, masses, n, true, path))
        shoal_cache_write(path, word);
}
