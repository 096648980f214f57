/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * queue.kern.h: words of a GPU's kernels that run beside each other: a queue of systems, lists that many threads append
 * to, and the order in which others see what a thread stores. CUDA C.
 */
#ifndef SHOAL_QUEUE_KERN_H
#define SHOAL_QUEUE_KERN_H

#include "core/kernel/known.kern.h"

#ifdef __CUDACC__

/* A queue between kernels that run beside each other is a ring with room for all systems: a place is free when its
 * turn comes, or just being emptied. */
LANE_FN void lane_push(const shoal_queue *queue, lane_id id, mask where)
{
    if (where) {
        int *place = &queue->places[(unsigned)atomicAdd(&queue->counts[SHOAL_QUEUE_CAME], 1) % (unsigned)queue->room];
        while (atomicCAS(place, -1, id) != -1)
            ;
    }
}
/* For each lane that wants one a system or -1; none at all if there are not `least`. All lanes of a warp say it
 * together. */
LANE_FN lane_id lane_pop(const shoal_queue *queue, mask wants, int least)
{
    const unsigned all = 0xffffffffu, asked = __ballot_sync(all, wants);
    const int lane = (int)(threadIdx.x & 31), rank = __popc(asked & ((1u << lane) - 1));
    volatile int *counts = queue->counts;
    int first = 0, taken = 0;
    if (lane == 0) {
        int seen;
        do {
            first = counts[SHOAL_QUEUE_WENT];
            taken = min(counts[SHOAL_QUEUE_CAME] - first, __popc(asked));
            taken = taken >= least ? taken : 0;
            seen = taken > 0 ? atomicCAS(&queue->counts[SHOAL_QUEUE_WENT], first, first + taken) : first;
        } while (seen != first);
    }
    first = __shfl_sync(all, first, 0);
    taken = __shfl_sync(all, taken, 0);
    lane_id id = -1;
    if (wants && rank < taken) {
        int *place = &queue->places[(unsigned)(first + rank) % (unsigned)queue->room];
        do
            id = atomicExch(place, -1);
        while (id < 0);
    }
    __syncwarp();
    return id;
}
/* Appends systems to a list, those of a warp, whose lanes all say it together, in their order. */
LANE_FN void lane_append(int *list, int *n, lane_id id, mask where)
{
    const unsigned all = 0xffffffffu, which = __ballot_sync(all, where);
    const int lane = (int)(threadIdx.x & 31);
    const int first = __shfl_sync(all, lane == 0 ? atomicAdd(n, __popc(which)) : 0, 0);
    if (where)
        list[first + __popc(which & ((1u << lane) - 1))] = id;
}
/* The next number. */
LANE_FN int lane_count_up(int *n)
{
    return atomicAdd(n, 1);
}
/* To the host, while it looks: what was stored before is seen before it. */
LANE_FN void lane_tell_host(int *word, int value)
{
    __threadfence_system();
    *(volatile int *)word = value;
}
/* Between a kernel's loads and stores and those of another one beside it: what was stored before a number that is
 * seen is seen, too. */
LANE_FN void lane_fence(void)
{
    __threadfence();
}

#endif
#endif
