/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kernel_shared.c: the monitors and the extra forces compiled for the CPU, once for each instruction set, SIMD width
 * (LANES) and body count (N_BODIES, or any). The kernels of all propagators (kernel_cpu.c) call these functions, whose
 * names end in KERNEL_SHARED.
 */
#include <stdbool.h>

#include "core/kernel/kernel.h"
#define KERNEL_SHARED_HERE
#include "core/kernel/lane.h"
#include "core/kernel/known.kern.h"
#include "gravitation/newton.kern.h"
#include "gravitation/forces.kern.h"
#include "monitors/watch.kern.h"
