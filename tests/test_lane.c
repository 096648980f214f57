/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_lane.c: the arithmetic of kernels: roots round alike on all processors, for what comes before the last step has
 * an error as small as a rounding.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* On x86-64 the Makefile compiles this for AVX-512, which has the seed of 14 bits. */
#define LANES 1
#include "core/kernel/kernel.h"
#include "core/kernel/lane.h"

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* x y^2 = 1 - e exactly, but for a rounding of e; x and y have 53 bits each. */
static double missing(double x, double y)
{
    const double s = x * y, rest = fma(x, y, -s);
    return fma(-rest, y, fma(-s, y, 1.0));
}

static void roots_are_rounded(void **state)
{
    (void)state;
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512bw")) {
        print_message("skipped: no AVX-512 here\n");
        skip();
    }
#endif
    double near = 0;
    for (int i = 0; i < 1000000; i++) {
        const uint64_t bits = (random_bits() & 0x000fffffffffffffu) | (uint64_t)(1023 - 20 + i % 40) << 52;
        double x;
        memcpy(&x, &bits, sizeof x);
        near = fmax(near, fabs(missing(x, lane_rsqrt_near(lane_set(x))[0])));
        /* rounded to nearest: half a unit in y's last place is as much as its error, e/2 of y, may be */
        const double y = lane_rsqrt(lane_set(x))[0], unit = nextafter(y, INFINITY) - y;
        const double error = 0.5 * y * missing(x, y);
        assert_true(fabs(error) <= 0.5 * unit * (1 + 1e-9));
    }
    print_message("1 - x y^2 before the last step: at most %.3g\n", near);
    assert_true(near < 0x1p-51); /* of the seed's 2^-13 the fourth power; the cube would be 2^-41 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(roots_are_rounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
