/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pair.kern.h: the pair hook: how near two bodies come within a step.
 *
 * The relative position is interpolated by the cubic through positions and velocities at both ends of the step (error
 * h^4/384 times its fourth derivative); its least length, and the moment at which it first falls below a given
 * distance, are sought on that cubic. A pair is looked at closely only if it ends the step inside the distance, or
 * moves apart at the end of the step after an approach that may have been deep enough; and then only if a bound of the
 * cubic allows it.
 */
#ifndef SHOAL_PAIR_KERN_H
#define SHOAL_PAIR_KERN_H

#include "core/kernel/known.kern.h"

enum { PAIR_SAMPLES = 16, PAIR_BISECTIONS = 50 };
#define PAIR_NEWTON 1e-8 /* of the step: after so small a change the next one is below the roundings */

/* Relative motion of bodies i, j at one end of a step. */
typedef struct lane_pair {
    real x, y, z, vx, vy, vz;
} lane_pair;

LANE_FN lane_pair pair_relative(int n, const real *w, int i, int j)
{
    lane_pair p;
    p.x = w[j] - w[i];
    p.y = w[n + j] - w[n + i];
    p.z = w[2 * n + j] - w[2 * n + i];
    p.vx = w[3 * n + j] - w[3 * n + i];
    p.vy = w[4 * n + j] - w[4 * n + i];
    p.vz = w[5 * n + j] - w[5 * n + i];
    return p;
}

LANE_FN real pair_dot(real ax, real ay, real az, real bx, real by, real bz)
{
    return lane_fma(az, bz, lane_fma(ay, by, ax * bx));
}

/* mass, that of body 0 included, as far as it pulls at body i: some forces take a part away (shoal_force.eases). Their
 * first two parameters are this part and the body, 0 = all without mass. */
LANE_FN real pulling_mass(const shoal_kernel_args *k, const real *m, int i, real mass)
{
    for (int f = 0; k->eases >> f; f++) {
        const double part = k->force[f][0], on = k->force[f][1];
        const mask meant = on == 0.0 ? m[i] == lane_set(0.0) : m[i] == m[i];
        if ((k->eases & (1 << f)) && (on == 0.0 || on == i))
            mass = lane_select(meant, lane_fnma(lane_set(part), m[0], mass), mass);
    }
    return mass;
}

/* Worth a closer look, by the squared distance d2 at the end: d < reach (within), or moving apart and d^2 < 8
 * reach^2 (near) or d^2 < 8 (|dv| h)^2. */
LANE_FN mask pair_suspect(lane_pair p, real h, real d2, mask within, mask near)
{
    real dv2 = pair_dot(p.vx, p.vy, p.vz, p.vx, p.vy, p.vz);
    real receding = pair_dot(p.x, p.y, p.z, p.vx, p.vy, p.vz) * h;
    return within | ((receding > lane_set(0.0)) & (near | (d2 < 8.0 * (dv2 * h * h))));
}

/* top / bottom, which the squared distance on the cubic is never below, but for roundings of the ends' distances. */
typedef struct pair_bound {
    real top, bottom;
} pair_bound;

/* The cubic from a to b stays within the hull of a, a + h/3 a', b - h/3 b', b (Bernstein's form); seen along a + b,
 * it is no nearer than they. */
LANE_FN pair_bound pair_outside(lane_pair a, lane_pair b, real h)
{
    const real x = a.x + b.x, y = a.y + b.y, z = a.z + b.z, part = lane_set(1.0 / 3.0) * h;
    const real first = pair_dot(a.x, a.y, a.z, x, y, z), last = pair_dot(b.x, b.y, b.z, x, y, z);
    const real second = lane_fma(part, pair_dot(a.vx, a.vy, a.vz, x, y, z), first);
    const real third = lane_fnma(part, pair_dot(b.vx, b.vy, b.vz, x, y, z), last);
    const real least = lane_max(lane_min(lane_min(first, second), lane_min(third, last)), lane_set(0.0));
    const pair_bound bound = {0.9999 * least * least, first + last};
    return bound;
}

/* Squared distance at fraction t of the step from a to b. */
LANE_FN real pair_distance2(lane_pair a, lane_pair b, real h, real t)
{
    real u = 1.0 - t;
    real h00 = u * u * (1.0 + 2.0 * t), h01 = t * t * (3.0 - 2.0 * t), h10 = t * u * u * h, h11 = -(t * t * u * h);
    real x = h00 * a.x + h01 * b.x + h10 * a.vx + h11 * b.vx;
    real y = h00 * a.y + h01 * b.y + h10 * a.vy + h11 * b.vy;
    real z = h00 * a.z + h01 * b.z + h10 * a.vz + h11 * b.vz;
    return x * x + y * y + z * z;
}

/* The least distance on the cubic, squared, and the moment in the step. */
typedef struct pair_closest {
    real d2, fraction;
} pair_closest;

/* Half the first and half the second derivative of the squared distance, by the fraction of the step. */
typedef struct pair_slope {
    real first, second;
} pair_slope;

LANE_FN void pair_add_slope(real x, real v, real x1, real v1, real t, pair_slope *slope)
{
    const real step = x1 - x, twist = v + v1 - 2.0 * step, bend = 3.0 * step - 2.0 * v - v1;
    const real at = lane_fma(t, lane_fma(t, lane_fma(t, twist, bend), v), x),
               speed = lane_fma(t, lane_fma(t, 3.0 * twist, 2.0 * bend), v),
               change = 2.0 * lane_fma(t, 3.0 * twist, bend);
    slope->first = lane_fma(at, speed, slope->first);
    slope->second = lane_fma(at, change, lane_fma(speed, speed, slope->second));
}

/* a, b: the relative motion at both ends of the step. The least of some samples begins Newton's method, which bisects
 * where a step would leave the neighbourhood. */
LANE_RARE_FN pair_closest pair_nearest(lane_pair a, lane_pair b, real h)
{
    const real zero = lane_set(0.0), one = lane_set(1.0);
    real best_t = zero, best = pair_distance2(a, b, h, best_t);
    LANE_KEEP_ROLLED
    for (int i = 1; i <= PAIR_SAMPLES; i++) {
        real t = lane_set(i / (double)PAIR_SAMPLES), d2 = pair_distance2(a, b, h, t);
        mask nearer = d2 < best;
        best = lane_select(nearer, d2, best);
        best_t = lane_select(nearer, t, best_t);
    }
    real low = lane_max(best_t - 1.0 / PAIR_SAMPLES, zero), high = lane_min(best_t + 1.0 / PAIR_SAMPLES, one),
         t = best_t;
    mask goes_on = t == t;
    LANE_KEEP_ROLLED
    for (int i = 0; i < PAIR_BISECTIONS && lane_any(goes_on); i++) {
        pair_slope slope = {zero, zero};
        pair_add_slope(a.x, h * a.vx, b.x, h * b.vx, t, &slope);
        pair_add_slope(a.y, h * a.vy, b.y, h * b.vy, t, &slope);
        pair_add_slope(a.z, h * a.vz, b.z, h * b.vz, t, &slope);
        low = lane_select(slope.first < zero, t, low);
        high = lane_select(slope.first < zero, high, t);
        const real newton = t - slope.first / slope.second, middle = 0.5 * (low + high),
                   next = lane_select((newton >= low) & (newton <= high), newton, middle), moved = lane_abs(next - t);
        t = lane_select(goes_on, next, t);
        goes_on = goes_on & (moved > lane_set(PAIR_NEWTON));
    }
    const real d2 = pair_distance2(a, b, h, t);
    const mask nearer = d2 < best;
    const pair_closest closest = {lane_select(nearer, d2, best), lane_select(nearer, t, best_t)};
    return closest;
}

typedef struct pair_approach {
    mask reached;
    real fraction; /* the moment in the step, 0 if the pair was inside from the start */
} pair_approach;

/* Does the pair come nearer than sqrt(reach2)? */
LANE_RARE_FN pair_approach pair_reached(lane_pair a, lane_pair b, real h, real reach2)
{
    const pair_closest closest = pair_nearest(a, b, h);
    pair_approach approach;
    approach.reached = closest.d2 < reach2;

    real low = lane_set(0.0), high = closest.fraction;
    mask inside = pair_distance2(a, b, h, low) < reach2;
    LANE_KEEP_ROLLED
    for (int i = 0; i < PAIR_BISECTIONS; i++) {
        real middle = 0.5 * (low + high);
        mask in = pair_distance2(a, b, h, middle) < reach2;
        high = lane_select(in, middle, high);
        low = lane_select(in, low, middle);
    }
    approach.fraction = lane_select(inside, lane_set(0.0), high);
    return approach;
}

#endif
