/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * leapfrog_tables.kern.h: symmetric compositions of leapfrog steps, the paper above each; tests/test_leapfrog.c checks
 * their order conditions.
 */

/* The weights of a composition up to the middle one, which stands last. */
typedef struct leapfrog_composition {
    int order, stages;
    double weight[9];
} leapfrog_composition;

LANE_TABLE leapfrog_composition leapfrog_compositions[] = {
    /* Suzuki 1990, Phys. Lett. A 146, 319: w = 1/(4 - 4^(1/3)), 1 - 4 w in the middle */
    {4, 5, {0.41449077179437573714, 0.41449077179437573714, -0.65796308717750294857}},
    /* Kahan & Li 1997, Math. Comp. 66, 1089; as in Hairer, Lubich & Wanner 2006, Geometric Numerical Integration,
     * V.3.2 */
    {6,
     9,
     {0.39216144400731413927925056, 0.33259913678935943859974864, -0.70624617255763935980996482,
      0.08221359629355080023149045, 0.79854399093482996339895035}},
    {8,
     17,
     {0.13020248308889008087881763, 0.56116298177510838456196441, -0.38947496264484728640807860,
      0.15884190655515560089621075, -0.39590389413323757733623154, 0.18453964097831570709183254,
      0.25837438768632204729397911, 0.29501172360931029887096624, -0.60550853383003451169892108}},
};
