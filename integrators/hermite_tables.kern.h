/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hermite_tables.kern.h: derivatives at the end of a Hermite step of length 1, of the polynomial through the
 * accelerations and their derivatives at both its ends.
 *
 * Rows: the derivatives from order / 2 to order - 1. Columns: change of the acceleration; jerk at the end, at the
 * start; snap at the end, at the start. Makino & Aarseth 1992, PASJ 44, 141, equations 5 and 6; Nitadori & Makino 2008,
 * New Astronomy 13, 498, section 3.
 */
LANE_TABLE double hermite4_polynomial[2][3] = {{-6, 4, 2}, {-12, 6, 6}};
LANE_TABLE double hermite6_polynomial[3][5] = {
    {60, -36, -24, 9, -3}, {360, -192, -168, 36, -24}, {720, -360, -360, 60, -60}};
