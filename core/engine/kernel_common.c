/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kernel_common.c: what the kernels of all propagators and body counts call (LANE_COMMON_FN, LANE_COMMON_TABLE),
 * compiled for the CPU once for each instruction set and SIMD width (LANES), with names that end in KERNEL_COMMON.
 */
#include <stdbool.h>

#include "core/kernel/kernel.h"
#define KERNEL_COMMON_HERE
#include "core/kernel/lane.h"
#include "core/kernel/compiled.h"
#include "core/kernel/known.kern.h"
#include "core/engine/kernel_walker.h"
#include "integrators/kepler.kern.h"
#include "integrators/tableaux.kern.h"
