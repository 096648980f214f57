/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pack.h: arrays of numbers in fewer bytes, fast: for the journal.
 */
#ifndef SHOAL_PACK_H
#define SHOAL_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/shoal.h"

/* Bytes that n of them take at most, in rows of `width` or (width = 0) as they are. */
size_t shoal_pack_room(size_t n, size_t width);
/* Pack n bytes, in rows of `width` that are alike, or (width = 0) as they are. to: [shoal_pack_room]. Returns how many
 * there are; 0: memory is out. */
size_t shoal_pack(const void *bytes, size_t n, size_t width, unsigned char *to);
/* Whether n bytes can be what so many were packed to: before memory for them is asked for. */
bool shoal_pack_can_be(size_t n, size_t n_unpacked);
/* Unpack what shoal_pack made, one or several times in a row. E_INPUT: it was not this, or not of n_unpacked bytes;
 * E_MEMORY. */
shoal_status shoal_unpack(const unsigned char *from, size_t n, unsigned char *to, size_t n_unpacked);
/* The first `wanted` bytes of the n_unpacked ones at least. *n_used: of the packed bytes. Of `from` there may be fewer
 * than all: as many as were used. */
shoal_status shoal_unpack_first(const unsigned char *from, size_t n, unsigned char *to, size_t n_unpacked,
                                size_t wanted, size_t *n_used);

#endif
