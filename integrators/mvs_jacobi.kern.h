/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mvs_jacobi.kern.h: mixed-variable symplectic map of order 2 in Jacobi coordinates, A(h/2) B(h) A(h/2), as WHFast's;
 * with a symplectic corrector and the lazy implementer's kernel (together: WHCKL) if asked for. jacobi.kern.h has the
 * equations.
 *
 * Errors of the energy, eps = planets' masses: eps h^2 + eps^2 h^2; corrected to order 2N: eps h^2N + eps^2 h^2; with
 * the kernel, too: eps h^2N + eps^2 h^4 + eps^3 h^2 + ...
 */
enum {
    MVS_JACOBI_COMPENSATED,
    MVS_JACOBI_CORRECTOR,
    MVS_JACOBI_KERNEL,
    MVS_JACOBI_INVERSE,
    MVS_JACOBI_EVERY,
    MVS_JACOBI_PARAMETERS
};

#ifdef SHOAL_KERNEL
#define SPLITTING_STAGES(k)     1
#define SPLITTING_CORRECTOR(k)  chosen(k, MVS_JACOBI_CORRECTOR)
#define SPLITTING_INVERSE(k)    (chosen(k, MVS_JACOBI_INVERSE) == 0)
#define SPLITTING_LAZY(k)       (chosen(k, MVS_JACOBI_KERNEL) * chosen(k, MVS_JACOBI_EVERY))
#define SPLITTING_COMMUTATOR(k) 0.0
#define splitting_drift(k, j)   ((void)(k), (void)(j), 0.5)
#define splitting_kick(k, j)    ((void)(k), (void)(j), 1.0)

#include "integrators/jacobi.kern.h"

#endif
