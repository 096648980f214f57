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
#include "core/engine/kernel_walker.h"

/* The lanes of all groups. */
static inline __attribute__((always_inline)) void gather(const shoal_kernel_args *args, long long first, long long last,
                                                         lane_id *id, mask *there)
{
    for (int g = 0; g < LANE_GROUPS; g++)
        id[g] = lane_listed(args->list, first + g * LANES, last, &there[g]);
}

#define ENTRY(linkage, function, name)                                                    \
    linkage void function(const shoal_kernel_args *args, long long first, long long last) \
    {                                                                                     \
        lane_id id[LANE_GROUPS];                                                          \
        mask there[LANE_GROUPS];                                                          \
        gather(args, first, last, id, there);                                             \
        kernel_##name(args, id, there);                                                   \
    }

#define KERNEL_ENTRIES KERNEL_PREPARE, integrate, snapshot, bare, KERNEL_FINISH, integrate, WALKER_BEGIN, WALKER_END
/* With a list of times, too: they are one function. */
static inline __attribute__((always_inline)) void kernel_observe(const shoal_kernel_args *k, const lane_id *id,
                                                                 const mask *there)
{
    integrate_lanes(k, id, there, k->sights.n_times > 0);
}
ENTRY(static, integrate, observe)
ENTRY(static, snapshot, snapshot)
ENTRY(static, bare, bare)

/* What happens once in a system's life kernels of a fixed body count leave to those for any. */
#ifdef KERNEL_PREPARE
#define HIDDEN __attribute__((visibility("hidden")))
extern HIDDEN shoal_cpu_kernel KERNEL_PREPARE, KERNEL_FINISH;
#ifndef N_BODIES
ENTRY(HIDDEN, KERNEL_PREPARE, prepare)
ENTRY(HIDDEN, KERNEL_FINISH, finish)
#endif
#else
#define KERNEL_PREPARE prepare
#define KERNEL_FINISH  finish
ENTRY(static, prepare, prepare)
ENTRY(static, finish, finish)
#endif

#ifndef KERNEL_USE
#define KERNEL_USE SHOAL_CPU_MANY
#endif
#ifndef N_BODIES
#define KERNEL_BODIES 0
#elif defined(SHOAL_VARIATIONAL)
#define KERNEL_BODIES (N_BODIES / 2)
#else
#define KERNEL_BODIES N_BODIES
#endif
#ifndef SHOAL_VARIATIONAL
#define SHOAL_VARIATIONAL 0
#endif
#define QUOTE(x)  #x
#define QUOTED(x) QUOTE(x)

#define KERNELS(what_for, n)                                                                                         \
    {                                                                                                                \
        .arch = QUOTED(SHOAL_ARCH), .propagator = QUOTED(PROPAGATOR), .use = what_for, .lanes = LANES, .systems = n, \
        .n_bodies = KERNEL_BODIES, .variational = SHOAL_VARIATIONAL, .entry = {KERNEL_ENTRIES},                      \
        .n_slots = PROPAGATOR_SLOTS(1), .n_own = PROPAGATOR_OWN, .first_body = PROPAGATOR_FIRST_BODY,                \
        .adaptive = PROPAGATOR_ADAPTIVE,                                                                             \
    }

extern const shoal_cpu_kernels SHOAL_KERNELS;
const shoal_cpu_kernels SHOAL_KERNELS = KERNELS(KERNEL_USE, LANES *LANE_GROUPS);

/* Of four lanes they are those for a few systems, too: of one group, while the others have nobody. */
#ifdef SHOAL_KERNELS_FEW
extern const shoal_cpu_kernels SHOAL_KERNELS_FEW;
const shoal_cpu_kernels SHOAL_KERNELS_FEW = KERNELS(SHOAL_CPU_FEW, LANES);
#endif
