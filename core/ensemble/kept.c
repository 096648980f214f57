/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kept.c: a table of what is kept of systems.
 */
#include <stdlib.h>
#include <string.h>

#include "core/ensemble/kept.h"

/* Room for n rows. It follows from n, so it is not stored. */
static size_t capacity_of(long n)
{
    size_t capacity = n > 0 ? 16 : 0;
    while (capacity < (size_t)n)
        capacity += capacity / 2;
    return capacity;
}

shoal_status shoal_kept_reserve(shoal_context *context, shoal_kept *kept, long n)
{
    const size_t capacity = capacity_of(n), row = (size_t)kept->width * sizeof(double);
    if (n <= kept->n || capacity == capacity_of(kept->n))
        return SHOAL_OK;
    int64_t *system = realloc(kept->system, capacity * sizeof *system);
    kept->system = system ? system : kept->system;
    double *rows = system && capacity <= SIZE_MAX / row ? realloc(kept->row, capacity * row) : NULL;
    kept->row = rows ? rows : kept->row;
    return rows ? SHOAL_OK : shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the last states of %ld systems", n);
}

/* A system, and where its row is. */
typedef struct place {
    int64_t system;
    long at;
} place;

static int by_system(const void *a, const void *b)
{
    const place *one = a, *other = b;
    return (one->system > other->system) - (one->system < other->system);
}

shoal_status shoal_kept_sort(shoal_context *context, shoal_kept *kept)
{
    const size_t row = (size_t)kept->width * sizeof(double);
    long n = 1;
    while (n < kept->n && kept->system[n - 1] < kept->system[n])
        n++;
    if (n >= kept->n)
        return SHOAL_OK;
    place *places = malloc((size_t)kept->n * sizeof *places);
    double *sorted = malloc(capacity_of(kept->n) * row);
    if (!places || !sorted) {
        free(places);
        free(sorted);
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the last states of %ld systems", kept->n);
    }
    for (long i = 0; i < kept->n; i++)
        places[i] = (place){kept->system[i], i};
    qsort(places, (size_t)kept->n, sizeof *places, by_system);
    for (long i = 0; i < kept->n; i++) {
        kept->system[i] = places[i].system;
        memcpy(sorted + (size_t)i * (size_t)kept->width, kept->row + (size_t)places[i].at * (size_t)kept->width, row);
    }
    free(places);
    free(kept->row);
    kept->row = sorted;
    return SHOAL_OK;
}

static int by_number(const void *a, const void *b)
{
    const int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

double *shoal_kept_find(const shoal_kept *kept, long first, long system)
{
    const int64_t wanted = system;
    const int64_t *at = kept->n > first ? bsearch(&wanted, kept->system + first, (size_t)(kept->n - first),
                                                  sizeof *kept->system, by_number)
                                        : NULL;
    return at ? kept->row + (size_t)(at - kept->system) * (size_t)kept->width : NULL;
}

void shoal_kept_release(shoal_kept *kept)
{
    free(kept->layout);
    free(kept->system);
    free(kept->row);
    *kept = (shoal_kept){0};
}
