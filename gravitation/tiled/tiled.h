/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tiled.h: all-pairs gravity of one big system (10^2 .. 10^7 bodies) on the CPU and on CUDA. Forces only: who
 * integrates calls shoal_tiled_sources and shoal_tiled_forces each time he needs accelerations.
 *
 * For target i and sources j, with d = x_j - x_i, w = v_j - v_i, G = 1:
 *
 *   a_i    =  sum_j m_j d g(r)              Plummer: g = s^-3, s^2 = r^2 + eps^2, -m/s the potential
 *   jerk_i =  sum_j m_j [w g + (d.w) d g'/r]           g'/r = -3 s^-5
 *   phi_i  = -sum_{j != i} m_j p(r)                    p = 1/s
 *
 * or g and p of the spline of compact support h = 2.8 eps (Springel, Yoshida & White 2001,
 * doi:10.1016/S1384-1076(01)00042-2, equation 71): Newton's law beyond h, and the same depth as Plummer's at r = 0.
 *
 * A body exerts no force on itself or on one in the same place; but in single precision, with a softening of 2^-10 of
 * the system's size or more, a GPU may round the place of either, as if they were some 1e-7 of the system's size apart.
 * Without softening the force grows up to a separation of 1e-12 (fp32, mixed) or 1e-60 (fp64) of the system's size and
 * falls to zero within. Results are the same bits in every run and for every number of threads; between engines,
 * kernels and instruction sets they differ by rounding.
 */
#ifndef SHOAL_TILED_H
#define SHOAL_TILED_H

#include "core/engine/engine.h"

typedef struct shoal_tiled shoal_tiled;

typedef enum shoal_tiled_precision {
    SHOAL_TILED_FP64, /* error near 1e-15 of the rms acceleration */
    /* differences of positions, sums and from half a million bodies on near pairs in double, the rest in single
     * precision: some 1e-9 rms */
    SHOAL_TILED_MIXED,
    SHOAL_TILED_FP32, /* below 1e-6 rms */
    SHOAL_TILED_PRECISIONS
} shoal_tiled_precision;

typedef enum shoal_tiled_softening {
    SHOAL_TILED_PLUMMER,
    SHOAL_TILED_SPLINE,
    SHOAL_TILED_SOFTENINGS
} shoal_tiled_softening;

const char *shoal_tiled_precision_name(int precision); /* "fp64", "mixed", "fp32" */

/* What kernel = "auto" takes for all sources as targets: what was measured and kept on such a device, else what a
 * table says that was measured on one H200 and one H100; what shoal_tiled_tune finds, whatever was kept; the table. */
typedef enum shoal_tiled_tuning {
    SHOAL_TILED_TUNE_AUTO,
    SHOAL_TILED_TUNE_ALWAYS,
    SHOAL_TILED_TUNE_NEVER
} shoal_tiled_tuning;

/* What is wanted beside the acceleration. */
enum { SHOAL_TILED_JERK = 1, SHOAL_TILED_POTENTIAL = 2 };

typedef struct shoal_tiled_options {
    const char *engine; /* "cpu", "cuda"; NULL or "auto": CUDA if there is a device */
    const char *kernel; /* one of shoal_tiled_kernel; NULL or "auto" */
    shoal_tiled_precision precision;
    shoal_tiled_softening softening;
    double eps;  /* softening length, >= 0 */
    int wants;   /* everything that will ever be asked of it: SHOAL_TILED_... */
    int threads; /* of the CPU; 0 = as many as it may use */
    /* GPUs, all of one kind; 0 = 1. More: each has all sources and a share of the work; results are the same */
    int n_devices;
    shoal_tiled_tuning tune;
} shoal_tiled_options;

/* The kernels that can be named, by engine: NULL after the last. *doc (may be NULL) says what it does in a line. */
const char *shoal_tiled_kernel(const char *engine, int i, const char **doc);

/* Whether a kernel can compute that. Those that can only in part are steps of the ladder of `shoal bench ladder`. */
bool shoal_tiled_can(const char *engine, const char *kernel, shoal_tiled_precision precision, int wants);

/*
 * Make a force calculator for up to n_max sources.
 *   options   in   copied
 *   tiled     out  destroy with shoal_tiled_destroy; NULL on failure
 * Refused: SHOAL_E_USAGE for options out of range, an unknown engine or kernel, a kernel that cannot do what is asked;
 * SHOAL_E_UNSUPPORTED for CUDA where there is none.
 */
shoal_status shoal_tiled_create(shoal_context *context, const shoal_tiled_options *options, long n_max,
                                shoal_tiled **tiled);
void shoal_tiled_destroy(shoal_tiled **tiled);

/*
 * Set the sources; the arrays are read before it returns.
 *   n  in  1 .. n_max
 *   m  in  [n] masses, 0 allowed
 *   x  in  [3][n] positions
 *   v  in  [3][n] velocities; NULL where no jerk is wanted
 */
shoal_status shoal_tiled_sources(shoal_tiled *tiled, long n, const double *m, const double *x, const double *v);

/* Where forces are wanted. */
typedef struct shoal_tiled_targets {
    long n;
    const long *index; /* [n] among the sources; NULL: x and v */
    /* [3][n] other places; a source in the same place is a coincident body, not the target itself */
    const double *x;
    const double *v; /* [3][n], for the jerk */
} shoal_tiled_targets;

/*
 * Forces on the targets from all sources.
 *   wants         in   of those named at creation
 *   targets       in   NULL = all sources, in order
 *   a, jerk, phi  out  [3][n], [3][n], [n] for n targets; those not wanted may be NULL
 */
shoal_status shoal_tiled_forces(shoal_tiled *tiled, int wants, const shoal_tiled_targets *targets, double *a,
                                double *jerk, double *phi);

/* Seconds that one evaluation of all forces takes where the sources lie, without copies: the least of n_repeats. */
shoal_status shoal_tiled_measure(shoal_tiled *tiled, int wants, int n_repeats, double *seconds);

/*
 * For kernel = "auto" and all sources as targets: measure the kernels that are in question on the sources as they are,
 * and keep the fastest, from now on and beside the compiled kernels for later runs with as many bodies (within a factor
 * of two) on such a device. That takes some seconds, and nothing where there is no choice, one was kept before, or it
 * does not pay.
 *   n_evaluations  in  how many times these forces are going to be asked for; measuring takes a fortieth of their time
 *                      at most.
 *                      INFINITY, and options.tune = ALWAYS: it pays in any case
 * Kernels differ by rounding, and so does what follows from it: who goes on with something says which kernel it had.
 */
shoal_status shoal_tiled_tune(shoal_tiled *tiled, int wants, double n_evaluations);

/* The kernel for all sources, which must be set, as targets: its name, "auto" where an engine has no choice. */
const char *shoal_tiled_picked(shoal_tiled *tiled, int wants);

/* From now on "auto" is this kernel for all sources as targets, as it was for who now goes on. Another engine's is
 * ignored. */
void shoal_tiled_pick(shoal_tiled *tiled, int wants, const char *kernel);

/* What computes the forces, and why that was picked: one line, valid as long as tiled and until the next call with
 * it. */
const char *shoal_tiled_line(shoal_tiled *tiled);

#endif
