/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * crc32c.c: the checksum of journals, CRC-32C (Castagnoli, reflected polynomial 0x82f63b78). By hand, since no library
 * that is linked has it: zlib's crc32 is of another polynomial.
 */
#include <pthread.h>

#include "core/base/base.h"

static uint32_t table[256];

static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
        table[i] = crc;
    }
}

#ifdef __x86_64__
/* The processor has an instruction for it. */
__attribute__((target("sse4.2"))) static uint32_t crc_fast(uint32_t crc, const unsigned char *byte, size_t n)
{
    uint64_t word, sum = crc;
    for (; n >= 8; n -= 8, byte += 8) {
        memcpy(&word, byte, 8);
        sum = __builtin_ia32_crc32di(sum, word);
    }
    for (; n; n--, byte++)
        sum = __builtin_ia32_crc32qi((uint32_t)sum, *byte);
    return (uint32_t)sum;
}
#endif

uint32_t shoal_crc32c(uint32_t crc, const void *bytes, size_t n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const unsigned char *byte = bytes;
    crc = ~crc;
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc_fast(crc, byte, n);
#endif
    pthread_once(&once, make_table);
    for (; n; n--, byte++)
        crc = (crc >> 8) ^ table[(crc ^ *byte) & 0xff];
    return ~crc;
}
