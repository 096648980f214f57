/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kernel_cuda.kern.h: the CUDA entries around the generic kernel text: one thread, or one team (team.h), for an entry
 * of the index list. This is what jit.c compiles; CUDA C, with team.h the only kernel text that is not in the common
 * dialect.
 *
 * Constants from jit.c: SHOAL_ENTRIES (bits of shoal_kernel_entry: the entries wanted), N_BODIES, PROPAGATOR,
 * SHOAL_VARIATIONAL, SHOAL_MODEL with TEAM, TEAM_EACH, TEAM_DOUBLES, TEAM_BODIES and TEAM_FIRST, SHOAL_MONITORS,
 * SHOAL_FORM, SHOAL_COMPENSATED, SHOAL_BLOCK (threads a block), SHOAL_MIN_BLOCKS (at once on a multiprocessor).
 *
 * The arguments stay in constant memory (__grid_constant__): a plain parameter whose address is taken may be copied
 * to every thread's stack. Threads beyond the list go along as lanes that are not live.
 */
#include "core/kernel/kernel.h"
#include "core/kernel/lane.h"
#include "integrators/aside.kern.h"
#include "integrators/integrate.kern.h"
#include "core/walker/likelihood.kern.h"

#ifdef SHOAL_MIN_BLOCKS
#define CUDA_BOUNDS __launch_bounds__(SHOAL_BLOCK, SHOAL_MIN_BLOCKS)
#else
#define CUDA_BOUNDS __launch_bounds__(SHOAL_BLOCK)
#endif

#if __CUDACC_VER_MAJOR__ > 11 || (__CUDACC_VER_MAJOR__ == 11 && __CUDACC_VER_MINOR__ >= 7)
#define CUDA_ARGUMENTS const __grid_constant__ shoal_kernel_args args
#else
#define CUDA_ARGUMENTS const shoal_kernel_args args
#endif

#if TEAM > 1
#define KERNEL_ENTRY team_number()
#define KERNEL_SPARE &&!team_is_spare()
#else
#define KERNEL_ENTRY ((long long)blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL_SPARE
#endif

/* Where systems are set aside the host does not know how many are ready, so that a block may have none. */
#define CUDA_ENTRY_OF(name, list, n_list)                               \
    extern "C" __global__ void CUDA_BOUNDS shoal_##name(CUDA_ARGUMENTS) \
    {                                                                   \
        const long long entry = KERNEL_ENTRY;                           \
        const mask there = entry < n_list KERNEL_SPARE;                 \
        if (PROPAGATOR_SETS_ASIDE && !__syncthreads_or(there))          \
            return;                                                     \
        const lane_id id = list[there ? entry : 0];                     \
        kernel_##name(&args, &id, &there);                              \
    }
#define CUDA_ENTRY(name) CUDA_ENTRY_OF(name, args.list, args.n_list)

#if SHOAL_ENTRIES & 1
CUDA_ENTRY(prepare)
#endif
#if SHOAL_ENTRIES & 2 && PROPAGATOR_SETS_ASIDE
CUDA_ENTRY_OF(integrate, args.aside.ready, *args.aside.n_ready)
#elif SHOAL_ENTRIES & 2
CUDA_ENTRY(integrate)
#endif
#if SHOAL_ENTRIES & 4
CUDA_ENTRY(snapshot)
#endif
#if SHOAL_ENTRIES & 8
CUDA_ENTRY(bare)
#endif
#if SHOAL_ENTRIES & 16
CUDA_ENTRY(finish)
#endif
#if SHOAL_ENTRIES & 32
LANE_FN void kernel_observe(const shoal_kernel_args *k, const lane_id *id, const mask *there)
{
    integrate_lanes(k, id, there, true);
}
CUDA_ENTRY(observe)
#endif
#if SHOAL_ENTRIES & 64
CUDA_ENTRY(walker_begin)
#endif
#if SHOAL_ENTRIES & 128
CUDA_ENTRY(walker_end)
#endif
#if SHOAL_ENTRIES & 256
extern "C" __global__ void CUDA_BOUNDS shoal_substeps(CUDA_ARGUMENTS)
{
    kernel_substeps(&args, (int)(threadIdx.x % 32), blockIdx.x == 0 && threadIdx.x < 32);
}
#endif
#if SHOAL_ENTRIES & 512
CUDA_ENTRY(gather)
#endif
#if SHOAL_ENTRIES & 1024
extern "C" __global__ void CUDA_BOUNDS shoal_carry(CUDA_ARGUMENTS)
{
    if (KERNEL_ENTRY < args.n_list)
        kernel_carry(&args, args.list[KERNEL_ENTRY], KERNEL_ENTRY, args.aside.carries_back);
}
#endif
