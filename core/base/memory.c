/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memory.c: aligned memory, and the clock.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/base/base.h"

void *shoal_allocate(size_t n_items, size_t item_size)
{
    size_t size, alignment = 64;
    if (__builtin_mul_overflow(n_items, item_size, &size) || size > SIZE_MAX - SHOAL_PAGE)
        return NULL;
    if (size >= SHOAL_PAGE_LOCKED) /* whole pages of its own, so that they can be locked for a GPU */
        alignment = SHOAL_PAGE;
    size = size ? (size + alignment - 1) / alignment * alignment : alignment;
    void *memory = aligned_alloc(alignment, size);
    if (memory)
        memset(memory, 0, size);
    return memory;
}

void shoal_release_pages(void *memory, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)memory + page - 1) / page * page,
                    end = ((uintptr_t)memory + size) / page * page;
    if (end > first)
        (void)madvise((char *)memory + (first - (uintptr_t)memory), end - first, MADV_DONTNEED);
}

double shoal_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
