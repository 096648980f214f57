/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_pack.c: what was packed is unpacked to the same bytes, whatever they are; arrays that are alike take few bytes;
 * damage is refused and never writes beyond its room.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/base.h"
#include "core/result/pack.h"

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Pack and unpack; returns the number of packed bytes. */
static size_t round_trip(const void *bytes, size_t n, size_t width)
{
    enum { GUARD = 64 };
    const size_t room = shoal_pack_room(n, width);
    unsigned char *packed = malloc(room + GUARD), *back = malloc(n + GUARD);
    memset(packed + room, 0x5a, GUARD);
    memset(back + n, 0x5a, GUARD);
    const size_t size = shoal_pack(bytes, n, width, packed);
    assert_true(size <= room);
    assert_true(shoal_pack_can_be(size, n));
    assert_int_equal(shoal_unpack(packed, size, back, n), SHOAL_OK);
    assert_memory_equal(back, bytes, n);
    for (int i = 0; i < GUARD; i++)
        assert_true(packed[room + (size_t)i] == 0x5a && back[n + (size_t)i] == 0x5a);
    assert_int_equal(shoal_unpack(packed, size, back, n + 1), SHOAL_E_INPUT);
    assert_false(n > 0 && shoal_unpack(packed, size, back, n - 1) == SHOAL_OK);
    assert_false(size > 0 && shoal_unpack(packed, size - 1, back, n) == SHOAL_OK);
    free(packed);
    free(back);
    return size;
}

static void any_bytes_come_back(void **state)
{
    (void)state;
    static const size_t widths[] = {0, 1, 4, 8, 56, 168, 1000}, rows[] = {0, 1, 2, 3, 255, 256, 257, 8191, 8192, 8193};
    uint64_t random = 1;
    for (int kind = 0; kind < 4; kind++)
        for (int w = 0; w < SHOAL_COUNT(widths); w++)
            for (int r = 0; r < SHOAL_COUNT(rows); r++) {
                const size_t n = rows[r] * (widths[w] ? widths[w] : 1);
                unsigned char *bytes = malloc(n + 1);
                for (size_t i = 0; i < n; i++)
                    bytes[i] = kind == 0   ? 0
                               : kind == 1 ? (unsigned char)next_random(&random)
                               : kind == 2 ? (unsigned char)(next_random(&random) % 3)
                                           : (unsigned char)(i / 1000);
                round_trip(bytes, n, widths[w]);
                free(bytes);
            }
}

/* Rows of bodies: what is the same in all rows takes nothing, what is random at least does not grow. */
static void rows_that_are_alike_are_small(void **state)
{
    (void)state;
    enum { ROWS = 20000, ITEMS = 7 };
    double(*rows)[ITEMS] = calloc(ROWS, sizeof *rows);
    for (int i = 0; i < ROWS; i++) {
        rows[i][0] = 3e-4;
        rows[i][1] = cos(i);
        rows[i][2] = sin(i);
        rows[i][3] = i % 100;
        rows[i][6] = NAN;
    }
    const size_t size = round_trip(rows, ROWS * sizeof *rows, sizeof *rows);
    assert_true(size < ROWS * 2 * sizeof(double)); /* the two that are not plain take less than they are */
    uint64_t random = 7, *noise = malloc(ROWS * sizeof *noise);
    for (int i = 0; i < ROWS; i++)
        noise[i] = next_random(&random) << 33 ^ next_random(&random) << 11 ^ next_random(&random);
    assert_true(round_trip(noise, ROWS * sizeof *noise, sizeof *noise) < ROWS * sizeof *noise + 1000);
    free(noise);
    free(rows);
}

/* Any byte changed or any length cut: refused, or other bytes of the same number. */
static void damage_stays_inside(void **state)
{
    (void)state;
    enum { ROWS = 300, WIDTH = 16, N = ROWS * WIDTH };
    unsigned char bytes[N], back[N], *packed = malloc(shoal_pack_room(N, WIDTH));
    for (size_t i = 0; i < N; i++)
        bytes[i] = i % WIDTH < 4 ? 9 : (unsigned char)(i * i / 512);
    const size_t size = shoal_pack(bytes, N, WIDTH, packed);
    assert_true(size > 0 && size < N);
    for (size_t at = 0; at < size; at++)
        for (int bit = 0; bit < 8; bit++) {
            unsigned char *copy = malloc(size); /* its end is where a reader must stop */
            memcpy(copy, packed, size);
            copy[at] ^= (unsigned char)(1u << bit);
            shoal_unpack(copy, size, back, N);
            free(copy);
        }
    for (size_t n = 0; n < size; n++) {
        unsigned char *copy = malloc(n + 1);
        memcpy(copy, packed, n);
        assert_int_equal(shoal_unpack(copy, n, back, N), SHOAL_E_INPUT);
        free(copy);
    }
    assert_false(shoal_pack_can_be(16, (size_t)1 << 60));
    free(packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_come_back),
        cmocka_unit_test(rows_that_are_alike_are_small),
        cmocka_unit_test(damage_stays_inside),
    };
    return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
