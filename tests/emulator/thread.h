/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * thread.h: what kernels that `translate` has made of PTX see of the emulator (emulator.c).
 */
#ifndef SHOAL_THREAD_H
#define SHOAL_THREAD_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A thread of the GPU. */
typedef struct thread {
    unsigned tid, ntid;                        /* its place in its block, and how many there are */
    unsigned ctaid, ctaid_y, nctaid, nctaid_y; /* the block's in the grid */
    unsigned char *shared;
    void **arguments;
} thread;

/* What the threads of `mask` in a warp do together: "any", "all", "ballot", "uni" of p; the value of thread `from`. */
uint32_t warp_vote(thread *t, const char *how, int p, uint32_t mask);
uint32_t warp_shuffle(thread *t, const char *how, uint32_t value, uint32_t from, uint32_t mask, int *inside);
/* And all of a block: "or", "and", "popc" of p. */
int block_vote(thread *t, const char *how, int p);

static inline double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline uint32_t bits_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* rsqrt.approx.ftz.f64: its lower word is zero; no device's own, but as good. */
static inline double rsqrt_seed(double x)
{
    return fabs(x) < 0x1p-1022 ? copysign(INFINITY, x) : double_of(bits_of(1 / sqrt(x)) & 0xffffffff00000000u);
}

/* rsqrt.approx.ftz.f32, rounded to zero: too small in the mean, as a device's is, if by more. */
static inline float rsqrtf_seed(float x)
{
    const double y = 1 / sqrt(fabs(x) < 0x1p-126 ? copysign(0, x) : x);
    const float rounded = (float)y;
    return fabs(rounded) > fabs(y) ? nextafterf(rounded, 0) : rounded;
}

/* Conversions that end at the bounds; of what is not a number, as the PTX ISA has it. */
static inline int32_t to_s32(double x)
{
    return x != x ? 0 : x >= 0x1p31 ? INT32_MAX : x < -0x1p31 ? INT32_MIN : (int32_t)x;
}
static inline uint32_t to_u32(double x)
{
    return x != x || x < 0 ? 0 : x >= 0x1p32 ? UINT32_MAX : (uint32_t)x;
}
static inline int64_t to_s64(double x)
{
    return x != x ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}
static inline uint64_t to_u64(double x)
{
    return x != x || x < 0 ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

static inline uint32_t byte_permute(uint32_t a, uint32_t b, uint32_t select)
{
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; i++) {
        const uint32_t s = select >> 4 * i, byte = both >> 8 * (s & 7) & 255;
        result |= (s & 8 ? (byte >> 7) * 255 : byte) << 8 * i;
    }
    return result;
}

#endif
