/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * compiled.h: one set of kernels compiled ahead of time for the CPU (kernel_cpu.c), and the table of all of them.
 */
#ifndef SHOAL_KERNEL_CPU_H
#define SHOAL_KERNEL_CPU_H

#include "core/kernel/kernel.h"

/* What a set is for: many systems; a few, one group of lanes at a time. */
enum { SHOAL_CPU_MANY, SHOAL_CPU_FEW };

/* Work on list[first..last-1]; last - first <= systems. */
typedef void shoal_cpu_kernel(const shoal_kernel_args *args, long long first, long long last);

typedef struct shoal_cpu_kernels {
    const char *arch; /* "v4", "v3", "neon", "any" */
    const char *propagator;
    int use; /* SHOAL_CPU_* */
    int lanes;
    int systems;                /* that one call works on */
    int n_bodies;               /* 0 = any, without tangent vectors or with them */
    int variational;            /* of a fixed body count: with tangent vectors, and only so */
    shoal_cpu_kernel *entry[8]; /* by shoal_kernel_entry; NULL: not made */
    /* what the propagator's text says of itself; a test compares it with the descriptor */
    int n_slots, n_own, first_body, adaptive;
} shoal_cpu_kernels;

/* NULL-terminated, made by the Makefile; the second, of widths that only tests use, is linked into tests alone. */
extern const shoal_cpu_kernels *const shoal_cpu_kernel_table[];
extern const shoal_cpu_kernels *const shoal_cpu_test_kernel_table[] __attribute__((weak, visibility("hidden")));

/* ---- kernel_text.c, made by the Makefile ------------------------------------------------------------------------- */

/* The kernel text that this build was made from, for compilers that run on the user's machine. */
typedef struct shoal_text {
    const char *name; /* path from the root of the sources: "integrators/mvs.kern.h" */
    const char *text; /* NUL-terminated */
} shoal_text;

extern const shoal_text shoal_texts[]; /* ends in {0, 0} */

#endif
