/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kernel_cpu.c: the kernel text compiled for the CPU, once for each of: instruction set (SHOAL_ARCH), SIMD width
 * (LANES), groups of lanes in turns (LANE_GROUPS), body count (N_BODIES, or any), PROPAGATOR, what for (KERNEL_USE).
 * The result is one table named SHOAL_KERNELS.
 */
#include <stdbool.h>

#include "core/kernel/kernel.h"
#include "core/kernel/compiled.h"
#include "core/kernel/lane.h"
#include "integrators/integrate.kern.h"

/* The lanes of all groups: list[first..last-1], the last one repeated to fill the width. */
static inline __attribute__((always_inline)) void gather(const shoal_kernel_args *args, long long first, long long last,
                                                         lane_id *id, mask *there)
{
    for (int g = 0; g < LANE_GROUPS; g++) {
        id[g].in_row = 1;
        for (int l = 0; l < LANES; l++) {
            const long long at = first + g * LANES + l;
            id[g].system[l] = args->list[at < last ? at : last - 1];
            id[g].in_row = id[g].in_row && id[g].system[l] == id[g].system[0] + l && id[g].system[0] % LANES == 0;
            there[g][l] = at < last ? -1 : 0;
        }
    }
}

#define ENTRY(name)                                                                  \
    static void name(const shoal_kernel_args *args, long long first, long long last) \
    {                                                                                \
        lane_id id[LANE_GROUPS];                                                     \
        mask there[LANE_GROUPS];                                                     \
        gather(args, first, last, id, there);                                        \
        kernel_##name(args, id, there);                                              \
    }
ENTRY(prepare)
ENTRY(integrate)
ENTRY(snapshot)
ENTRY(bare)

#ifndef KERNEL_USE
#define KERNEL_USE SHOAL_CPU_MANY
#endif
#define QUOTE(x)  #x
#define QUOTED(x) QUOTE(x)

extern const shoal_cpu_kernels SHOAL_KERNELS;
const shoal_cpu_kernels SHOAL_KERNELS = {
    .arch = QUOTED(SHOAL_ARCH),
    .propagator = QUOTED(PROPAGATOR),
    .use = KERNEL_USE,
    .lanes = LANES,
    .systems = LANES * LANE_GROUPS,
#ifdef N_BODIES
    .n_bodies = N_BODIES,
#endif
    .entry = {prepare, integrate, snapshot, bare},
    .n_slots = PROPAGATOR_SLOTS(1),
    .n_own = PROPAGATOR_OWN,
    .first_body = PROPAGATOR_FIRST_BODY,
    .adaptive = PROPAGATOR_ADAPTIVE,
};
