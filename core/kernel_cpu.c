/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kernel_cpu.c: the kernel text compiled for the CPU, once for each of: instruction set (SHOAL_ARCH), SIMD width (LANES), body count
 * (N_BODIES, or any), PROPAGATOR. The result is one table named SHOAL_KERNELS.
 */
#include "kernel.h"
#include "kernel_cpu.h"
#include "lane.h"
#include "integrators/integrate.kern.h"

/* The lanes of a group: list[first..last-1], the last one repeated to fill the width. */
static inline __attribute__((always_inline)) lane_id group(const shoal_kernel_args *args, long long first, long long last,
                                                           mask *live)
{
    lane_id id;
    for (int l = 0; l < LANES; l++) {
        long long at = first + l < last ? first + l : last - 1;
        id.system[l] = args->list[at];
        (*live)[l] = first + l < last ? -1 : 0;
    }
    return id;
}

#define ENTRY(name)                                                                       \
    static void name(const shoal_kernel_args *args, long long first, long long last)      \
    {                                                                                     \
        mask live;                                                                        \
        lane_id id = group(args, first, last, &live);                                     \
        kernel_##name(args, id, live);                                                    \
    }
ENTRY(prepare)
ENTRY(integrate)
ENTRY(snapshot)
ENTRY(bare)

#define QUOTE(x) #x
#define QUOTED(x) QUOTE(x)

extern const shoal_cpu_kernels SHOAL_KERNELS;
const shoal_cpu_kernels SHOAL_KERNELS = {
    .arch = QUOTED(SHOAL_ARCH),
    .propagator = QUOTED(PROPAGATOR),
    .lanes = LANES,
#ifdef N_BODIES
    .n_bodies = N_BODIES,
#endif
    .entry = {prepare, integrate, snapshot, bare},
};
