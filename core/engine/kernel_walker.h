/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kernel_walker.h: how walkers begin and end on a CPU. That depends on no propagator, so that all kernels of a width
 * have it in common (kernel_common.c); kernels of plugins have their own.
 */
#ifdef KERNEL_COMMON
#define WALKER_BEGIN LANE_COMMON(walker_begin)
#define WALKER_END   LANE_COMMON(walker_end)
extern __attribute__((visibility("hidden"))) shoal_cpu_kernel WALKER_BEGIN, WALKER_END;
#define WALKER_LINKAGE
#else
#define WALKER_BEGIN   walker_begin
#define WALKER_END     walker_end
#define WALKER_LINKAGE static
#endif

#if LANE_COMMON_HERE
#include "core/walker/likelihood.kern.h"

#define WALKER_ENTRY(function, name)                                                             \
    WALKER_LINKAGE void function(const shoal_kernel_args *args, long long first, long long last) \
    {                                                                                            \
        for (; first < last; first += LANES) {                                                   \
            mask there;                                                                          \
            const lane_id id = lane_listed(args->list, first, last, &there);                     \
            kernel_walker_##name(args, &id, &there);                                             \
        }                                                                                        \
    }
WALKER_ENTRY(WALKER_BEGIN, begin)
WALKER_ENTRY(WALKER_END, end)
#endif
