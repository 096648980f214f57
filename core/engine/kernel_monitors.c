/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kernel_monitors.c: the monitors' text compiled for the CPU, once for each instruction set, SIMD width (LANES) and
 * body count (N_BODIES, or any), as a function of the name KERNEL_MONITORS that the kernels of all propagators call
 * (kernel_cpu.c).
 */
#include <stdbool.h>

#include "core/kernel/kernel.h"
#include "core/kernel/lane.h"
#define KERNEL_MONITORS_HERE
#include "core/kernel/known.kern.h"
#include "monitors/watch.kern.h"
