/* SPDX-License-Identifier: GPL-3.0-or-later
 * The gravitation terms: GRAVITATION(name) stands for name.kern.h, name.c and shoal_gravitation_name. */
GRAVITATION(newton)
