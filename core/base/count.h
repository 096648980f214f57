/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SHOAL_COUNT_H
#define SHOAL_COUNT_H

/* The number of items of an array. */
#define SHOAL_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

#endif
