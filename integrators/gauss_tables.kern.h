/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gauss_tables.kern.h: Gauss-Legendre collocation with s = 2, 4, 6 stages (order 2 s), one table after the other.
 *
 * c_i are the zeros of the shifted Legendre polynomial of degree s, a_ij and b_j the integrals of Lagrange's basis to
 * c_i and 1 (Hairer, Lubich & Wanner, Geometric Numerical Integration, II.1.3). With g_j = h b_j f_j a step reads
 *
 *     V_i = v + sum_j mu_ij g_j,   X_i = x + h (c_i v + sum_j nu_ij g_j)
 *     v += sum_j g_j,              x += h (v + sum_j (1 - c_j) g_j)
 *
 * with mu_ij = a_ij / b_j and nu_ij = (A^2)_ij / b_j. It is symplectic if mu_ij + mu_ji = 1 and nu_ij - nu_ji = c_i -
 * c_j, and symmetric if c_i' = 1 - c_i, mu_i'j' = mu_ji, nu_i'j' = nu_ji with i' = s + 1 - i. c and nu are rounded to
 * multiples of 2^-53 and mu to multiples of 2^-52 so that all this holds exactly in double precision: the coefficients'
 * rounding causes no drift of the energy (the idea of Antonana, Makazaga & Murua 2017, Numer. Algorithms 76, 861, for
 * mu; here for nu too). Computed with 60 digits.
 */
/* c_i */
LANE_TABLE double gauss_c[] = {
    0x1.b0cb174df99c8p-3, 0x1.93cd3a2c8198ep-1, 0x1.1c6490c2719e8p-4, 0x1.51ee013116102p-2,
    0x1.5708ff6774f7fp-1, 0x1.dc736de7b1cc3p-1, 0x1.149ad8bfaff10p-5, 0x1.5aebed3546d44p-3,
    0x1.85d3b4bf2628ep-2, 0x1.3d1625a06ceb9p-1, 0x1.a94504b2ae4afp-1, 0x1.eeb652740500fp-1,
};

/* b_i */
LANE_TABLE double gauss_b[] = {
    0x1.0000000000000p-1, 0x1.0000000000000p-1, 0x1.64340f7e7b66bp-3, 0x1.4de5f840c24cap-2,
    0x1.4de5f840c24cap-2, 0x1.64340f7e7b66bp-3, 0x1.5edf601e2dbf8p-4, 0x1.716b7b5794c1cp-3,
    0x1.df24d499545e8p-3, 0x1.df24d499545e8p-3, 0x1.716b7b5794c1cp-3, 0x1.5edf601e2dbf8p-4,
};

/* mu_ij, row by row */
LANE_TABLE double gauss_mu[] = {
    0x1.0000000000000p-1,  -0x1.3cd3a2c8198e0p-4, 0x1.13cd3a2c8198ep+0,  0x1.0000000000000p-1,  0x1.0000000000000p-1,
    -0x1.4e310dc13d440p-4, 0x1.3d3e2783b9480p-5,  -0x1.4ee55696af180p-6, 0x1.14e310dc13d44p+0,  0x1.0000000000000p-1,
    -0x1.5e392e7fe55a0p-4, 0x1.3d3e2783b9480p-5,  0x1.ec2c1d87c46b8p-1,  0x1.15e392e7fe55ap+0,  0x1.0000000000000p-1,
    -0x1.4e310dc13d440p-4, 0x1.053b955a5abc6p+0,  0x1.ec2c1d87c46b8p-1,  0x1.14e310dc13d44p+0,  0x1.0000000000000p-1,
    0x1.0000000000000p-1,  -0x1.4f3f613ad9440p-4, 0x1.46843ad297020p-5,  -0x1.8cfd6eea15380p-6, 0x1.0344b4f645bc0p-6,
    -0x1.36e8c17fada80p-7, 0x1.14f3f613ad944p+0,  0x1.0000000000000p-1,  -0x1.63676619522a0p-4, 0x1.6adda35673dc0p-5,
    -0x1.bbe77274b3f80p-6, 0x1.0344b4f645bc0p-6,  0x1.eb97bc52d68fep-1,  0x1.163676619522ap+0,  0x1.0000000000000p-1,
    -0x1.669903c9188a0p-4, 0x1.6adda35673dc0p-5,  -0x1.8cfd6eea15380p-6, 0x1.0633f5bba854ep+0,  0x1.e95225ca98c24p-1,
    0x1.1669903c9188ap+0,  0x1.0000000000000p-1,  -0x1.63676619522a0p-4, 0x1.46843ad297020p-5,  0x1.f7e5da584dd22p-1,
    0x1.06ef9dc9d2cfep+0,  0x1.e95225ca98c24p-1,  0x1.163676619522ap+0,  0x1.0000000000000p-1,  -0x1.4f3f613ad9440p-4,
    0x1.026dd182ff5b5p+0,  0x1.f7e5da584dd22p-1,  0x1.0633f5bba854ep+0,  0x1.eb97bc52d68fep-1,  0x1.14f3f613ad944p+0,
    0x1.0000000000000p-1,
};

/* nu_ij, row by row */
LANE_TABLE double gauss_nu[] = {
    0x1.5555555555558p-4,   -0x1.3cd3a2c8198e0p-5, 0x1.13cd3a2c8198ep-1,  0x1.5555555555558p-4,  0x1.7c66035f0c880p-6,
    -0x1.4b35f9719e0c0p-7,  0x1.09c8366098b80p-7,  -0x1.7007b0a3a3e80p-8, 0x1.007b2d34ecb82p-2,  0x1.5b2d45f6e9b00p-5,
    -0x1.b42727e05c780p-7,  0x1.09c8366098b80p-7,  0x1.37a38e28a9270p-1,  0x1.4e82c45ed0fc0p-2,  0x1.5b2d45f6e9b00p-5,
    -0x1.4b35f9719e0c0p-7,  0x1.b606cc6e1c509p-1,  0x1.37a38e28a9270p-1,  0x1.007b2d34ecb82p-2,  0x1.7c66035f0c880p-6,
    0x1.5aaa584de7500p-7,   -0x1.08b6d05cbb280p-8, 0x1.bb2a2e5845c00p-9,  -0x1.8bf39f66e7700p-9, 0x1.4bb1df87f1b00p-9,
    -0x1.c60436616c800p-10, 0x1.0d7f808274fecp-3,  0x1.62fedcc5a71c0p-6,  -0x1.9c790c1d9c880p-8, 0x1.33ed30bd91b80p-8,
    -0x1.ebdb257a7f500p-9,  0x1.4bb1df87f1b00p-9,  0x1.66b6ae03e0b64p-2,  0x1.a3d7b3e818994p-3,  0x1.caa0f03922140p-6,
    -0x1.d16c04c34a380p-8,  0x1.33ed30bd91b80p-8,  -0x1.8bf39f66e7700p-9, 0x1.2a4084750b051p-1,  0x1.d18609692cb3ep-2,
    0x1.da25ccdd4d0acp-3,   0x1.caa0f03922140p-6,  -0x1.9c790c1d9c880p-8, 0x1.bb2a2e5845c00p-9,  0x1.994709063b3d9p-1,
    0x1.509e2e3fe2169p-1,   0x1.d18609692cb3ep-2,  0x1.a3d7b3e818994p-3,  0x1.62fedcc5a71c0p-6,  -0x1.08b6d05cbb280p-8,
    0x1.dc89a2ccd94bap-1,   0x1.994709063b3d9p-1,  0x1.2a4084750b051p-1,  0x1.66b6ae03e0b64p-2,  0x1.0d7f808274fecp-3,
    0x1.5aaa584de7500p-7,
};

/* The values at 1 + c_i of the polynomial through values at c_j: the next step's stages, for a first guess. */
/* clang-format off */
LANE_TABLE double gauss_next[] = {
    -0.732051, 1.73205,
    -1.73205, 2.73205,
    -0.304348, 1.04254, -1.9299, 2.1917,
    -1.95634, 6.24643, -9.46401, 6.17393,
    -7.35236, 22.2442, -29.8068, 15.915,
    -14.9719, 44.0961, -55.989, 27.8647,
    -0.156792, 0.546632, -1.06659,
    1.68067, -2.32571, 2.32179,
    -1.45868, 4.99192, -9.33078,
    13.3783, -14.7345, 8.15373,
    -10.2708, 34.4167, -61.4587,
    80.7201, -75.7859, 33.3786,
    -45.1857, 148.905, -256.967,
    318.285, -273.739, 109.702,
    -123.185, 401.528, -678.208,
    811.812, -667.023, 256.076,
    -212.868, 689.9, -1152.61,
    1356.8, -1091.59, 411.361,
};
/* clang-format on */
