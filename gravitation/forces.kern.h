/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * forces.kern.h: Newton's attraction and every extra force on a system, as propagators ask for them.
 *
 * Forces act in the order of the config, and one may stand there more than once. force.kern.h has the words of their
 * texts.
 */
#include "gravitation/force.kern.h"
#include "texts/forces.kern.h"
#ifdef SHOAL_PLUGINS
#include "plugins/forces.kern.h"
#endif

enum {
#define FORCE(name) SHOAL_FORCE_##name,
#include "gravitation/list.h"
#undef FORCE
    SHOAL_N_FORCES
};

LANE_FN void forces_add_bodies(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v, real *a)
{
    for (int f = 0; f < k->n_forces; f++) {
#define FORCE(name)                                                                        \
    if ((FORCES(k) & (1 << SHOAL_FORCE_##name)) && k->force_kind[f] == SHOAL_FORCE_##name) \
        name##_add(k, k->force[f], n, m, x, v, a);
#include "gravitation/list.h"
#undef FORCE
    }
}

/*
 * a += the extra forces, and for tangent vectors their derivatives along them by a central difference: (f(+t) - f(-t))
 * / 2t at x +- t dx, v +- t dv, with t |dx|/|x| and t |dv|/|v| about 2^-20 at most. Relative error about 1e-10 of the
 * extra forces' own derivatives.
 */
#ifdef KERNEL_SHARED
#define forces_add_whole LANE_SHARED(forces)
#endif
LANE_SHARED_FN void forces_add_whole(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v,
                                     real *a);

#if LANE_SHARED_HERE
LANE_SHARED_FN void forces_add_whole(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v,
                                     real *a)
{
#ifdef N_BODIES
    LANE_KNOWN(n == N_BODIES);
#endif
    if (!VARIATIONAL(k)) {
        forces_add_bodies(k, n, m, x, v, a);
        return;
    }
    const int bodies = n / 2;
    const real zero = lane_set(0.0), one = lane_set(1.0);
    real there[3 * SYSTEM_ROOM(n)], speed[3 * SYSTEM_ROOM(n)], f[3 * SYSTEM_ROOM(n)];
    real x2 = zero, v2 = zero, dx2 = zero, dv2 = zero;
    for (int c = 0; c < 3; c++)
        for (int i = c * n; i < c * n + bodies; i++) {
            x2 = lane_fma(x[i], x[i], x2);
            v2 = lane_fma(v[i], v[i], v2);
            dx2 = lane_fma(x[i + bodies], x[i + bodies], dx2);
            dv2 = lane_fma(v[i + bodies], v[i + bodies], dv2);
        }
    const real relative2 = dx2 / lane_select(x2 > zero, x2, one) + dv2 / lane_select(v2 > zero, v2, one);
    const real t = lane_set(0x1p-20) / lane_sqrt(lane_select(relative2 > zero, relative2, one)), weight = 0.5 / t;
    for (int side = -1; side <= 1; side++) {
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < bodies; i++) {
                there[c * bodies + i] = lane_fma((double)side * t, x[c * n + bodies + i], x[c * n + i]);
                speed[c * bodies + i] = lane_fma((double)side * t, v[c * n + bodies + i], v[c * n + i]);
                f[c * bodies + i] = side == 0 ? a[c * n + i] : zero;
            }
        forces_add_bodies(k, bodies, m, there, speed, f);
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < bodies; i++) {
                if (side == 0)
                    a[c * n + i] = f[c * bodies + i];
                else
                    a[c * n + bodies + i] = lane_fma((double)side * weight, f[c * bodies + i], a[c * n + bodies + i]);
            }
    }
}
#endif

/* The same for the bodies of a thread. Forces see whole systems, so the leader of a team adds them for all. */
LANE_FN void forces_add(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v, real *a)
{
#if TEAM > 1
    (void)m;
    team_sync();
    team_hand_in(k, 0, n, x);
    team_hand_in(k, 1, n, v);
    team_hand_in(k, 2, n, a);
    team_sync();
    if (team_leads())
        forces_add_whole(k, SYSTEM_ROOM(n), team_masses(), team_whole(0), team_whole(1), team_whole(2));
    team_sync();
    team_hand_out(2, n, a);
#else
    forces_add_whole(k, n, m, x, v, a);
#endif
}

/* 2^-13 of the least |v| / |a| of the bodies, a time for differences along their motion. */
LANE_FN real forces_moment(const shoal_kernel_args *k, int n, const real *v, const real *a)
{
    const real zero = lane_set(0.0);
    real least = lane_set(1e300);
    for (int i = 0; i < real_bodies(k, n); i++) {
        const real v2 = team_square(n, i, v), a2 = team_square(n, i, a);
        real time2 = v2 / lane_select(a2 > zero, a2, lane_set(1.0));
        least = lane_select((a2 > zero) & (v2 > zero), lane_min(least, time2), least);
    }
    least = team_min(least);
    least = lane_select(least < lane_set(1e300), least, lane_set(1.0)); /* nothing moves: any time will do */
    return lane_set(0x1p-13) * lane_sqrt(least);
}

/*
 * Their jerks by a central difference along the motion, for forces that are small beside Newton's: jerk += (f(+t) -
 * f(-t)) / 2t with x +- v t + a t^2/2, v +- a t. t is forces_moment: relative error t^2/6 = 2.5e-9 of the extra force's
 * own rate; of tangent vectors 2^13 times that of forces_add = 1e-6. a: all accelerations.
 */
LANE_BIG_FN void forces_add_jerk(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v,
                                 const real *a, real *jerk)
{
    const real zero = lane_set(0.0);
    real there[XYZ * LANE_ROOM(n)], speed[XYZ * LANE_ROOM(n)], f[XYZ * LANE_ROOM(n)];
    const real t = forces_moment(k, n, v, a), weight = 0.5 / t;
    for (int side = -1; side <= 1; side += 2) {
        const real dt = (double)side * t, half = 0.5 * dt;
        for (int c = 0; c < XYZ * n; c++) {
            there[c] = lane_fma(dt, lane_fma(half, a[c], v[c]), x[c]);
            speed[c] = lane_fma(dt, a[c], v[c]);
            f[c] = zero;
        }
        forces_add(k, n, m, there, speed, f);
        for (int c = 0; c < XYZ * n; c++)
            jerk[c] = lane_fma((double)side * weight, f[c], jerk[c]);
    }
}

/*
 * The mean of the extra forces over a time h at fixed positions: f(x, v + (h/2) f(x, v)), the explicit midpoint rule.
 * Exact if they do not depend on velocities; else right to O((h f_v)^2 f), f_v being their rate (a drag's 1/tau): a
 * propagator of any order that kicks with it is of order 2 in that small quantity.
 */
LANE_BIG_FN void forces_mean(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v, real h,
                             real *f)
{
    const real half = 0.5 * h;
    real there[XYZ * LANE_ROOM(n)];
    LANE_KEEP_ROLLED
    for (int pass = 0; pass < 2; pass++) {
        LANE_UNROLL_GPU
        for (int c = 0; c < XYZ * n; c++) {
            there[c] = pass ? lane_fma(half, f[c], v[c]) : v[c];
            f[c] = lane_set(0.0);
        }
        forces_add(k, n, m, x, there, f);
    }
}

/* What they add to the velocities in that time. */
LANE_FN void forces_kick(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v, real h,
                         real *dv)
{
    forces_mean(k, n, m, x, v, h, dv);
    LANE_UNROLL_GPU
    for (int c = 0; c < XYZ * n; c++)
        dv[c] = h * dv[c];
}

/*
 * Their snaps in the same way: snap += (f(+t) - 2 f(0) + f(-t)) / t^2 with x +- v t + a t^2/2 +- jerk t^3/6, v +- a t +
 * jerk t^2/2. Relative error of the extra force's own rate: 2^26 roundings = 1.5e-8, and t^2/12 = 1.2e-9; of tangent
 * vectors 2^26 times that of forces_add = 1e-2, which a step of order 6 takes times h^3/120. a, jerk: of all forces.
 */
/* long: as newton_snap */
LANE_BIG_FN void forces_add_snap(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v,
                                 const real *a, const real *jerk, real *snap)
{
    real there[XYZ * LANE_ROOM(n)], speed[XYZ * LANE_ROOM(n)], f[XYZ * LANE_ROOM(n)];
    const real t = forces_moment(k, n, v, a), weight = 1.0 / (t * t), third = lane_set(1.0 / 3.0);
    for (int side = -1; side <= 1; side++) {
        const real dt = (double)side * t, half = 0.5 * dt;
        for (int c = 0; c < XYZ * n; c++) {
            there[c] = lane_fma(dt, lane_fma(half, lane_fma(third * dt, jerk[c], a[c]), v[c]), x[c]);
            speed[c] = lane_fma(dt, lane_fma(half, jerk[c], a[c]), v[c]);
            f[c] = lane_set(0.0);
        }
        forces_add(k, n, m, there, speed, f);
        for (int c = 0; c < XYZ * n; c++)
            snap[c] = lane_fma((side == 0 ? -2.0 : 1.0) * weight, f[c], snap[c]);
    }
}

/* Accelerations of all bodies, [3 * n]. */
LANE_FN void gravity_acceleration(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v,
                                  real *a)
{
    newton_acceleration(k, n, 0, m, x, a);
    if (FORCES(k))
        forces_add(k, n, m, x, v, a);
}

/* Accelerations and jerks of all bodies. */
LANE_FN void gravity_jerk(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v, real *a,
                          real *jerk)
{
    newton_jerk(k, n, m, x, v, a, jerk);
    if (FORCES(k)) {
        forces_add(k, n, m, x, v, a);
        forces_add_jerk(k, n, m, x, v, a, jerk);
    }
}

/* Accelerations, jerks and snaps of all bodies. */
/* long: as newton_snap */
LANE_FN void gravity_snap(const shoal_kernel_args *k, int n, const real *m, const real *x, const real *v, real *a,
                          real *jerk, real *snap)
{
    newton_acceleration(k, n, 0, m, x, a);
    if (FORCES(k))
        forces_add(k, n, m, x, v, a);
    newton_snap(k, n, m, x, v, a, jerk, snap);
    if (FORCES(k)) {
        forces_add_jerk(k, n, m, x, v, a, jerk);
        forces_add_snap(k, n, m, x, v, a, jerk, snap);
    }
}
