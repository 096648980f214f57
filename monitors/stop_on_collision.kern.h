/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * stop_on_collision.kern.h: ends a system when two bodies touch within the step: distance below the sum of their radii.
 * With body 0 the outcome is hit_star. Pairs without a radius are not looked at. With action = merge the pair is marked
 * instead.
 *
 * A pericentre passage about body 0 may lie wholly inside a step of mvs, where no cubic follows it: when the distance
 * from body 0 turns from falling to rising, the osculating pericentre q = L^2 / (mu (1 + e)) decides as well, with the
 * moment at which the radial velocity, taken as linear in time, is zero. Only if the body is nearer than its osculating
 * semi-major axis, v^2 r > mu: the distance of a planet of two stars from one of them has minima near osculating
 * apocentres, too. Where a step ends beyond that, its begin is asked. And only if the step is long enough for the way
 * there and back: (r - q) / v each way, times 0.57 for a radial orbit from its semi-major axis and more for others.
 * Whom another planet turned has not been there.
 *
 * The cubic of such a step cuts the corner. It leaves an orbit about body 0 by at most h^4 / 384 times 46 mu^2 / r^5,
 * the fourth derivative of the place for v^2 r < 2 mu: by 1e-3 of the reach where mu h^2 < 0.09 reach^3. In longer
 * steps it counts only where the body begins or ends the step inside.
 */
enum { COLLISION_FACTOR, COLLISION_ACTION, stop_on_collision_PARAMETERS };
enum { stop_on_collision_SLOTS = 0, stop_on_collision_WAITS = 0 };
#define COLLISION_FINE 0.09 /* mu h^2 / reach^3 up to which the cubic follows an orbit about body 0 */

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"
#include "monitors/pair.kern.h"

/* Pericentre distance of the orbit of relative motion p, infinity on its far half. */
LANE_FN real collision_pericentre(lane_pair p, real mu)
{
    real lx = lane_fma(p.y, p.vz, -(p.z * p.vy)), ly = lane_fma(p.z, p.vx, -(p.x * p.vz));
    real lz = lane_fma(p.x, p.vy, -(p.y * p.vx));
    real l2 = pair_dot(lx, ly, lz, lx, ly, lz);
    real r2 = pair_dot(p.x, p.y, p.z, p.x, p.y, p.z), v2 = pair_dot(p.vx, p.vy, p.vz, p.vx, p.vy, p.vz);
    real energy2 = lane_fma(-2.0 * mu, lane_rsqrt(r2), v2); /* twice the energy a unit of mass */
    real e2 = lane_fma(energy2 / mu, l2 / mu, lane_set(1.0));
    const real q = l2 / (mu * (1.0 + lane_sqrt(lane_max(e2, lane_set(0.0)))));
    return lane_select(v2 * v2 * r2 > mu * mu, q, lane_set(1e300));
}

/* The same of a step, by its end or, if that is on the far half, its begin. */
LANE_FN real collision_nearest(lane_pair then, lane_pair now, real mu)
{
    const real after = collision_pericentre(now, mu);
    return lane_select(after < lane_set(1e300), after, collision_pericentre(then, mu));
}

/* The distance of bodies i < j of n at which they touch. */
LANE_FN real collision_reach(const shoal_kernel_args *k, lane_id id, int n, int i, int j)
{
    const double factor = k->monitor[SHOAL_MONITOR_stop_on_collision][COLLISION_FACTOR];
    const real a = lane_load(k->bodies, id, i * SHOAL_QUANTITIES + SHOAL_R, n * SHOAL_QUANTITIES),
               b = lane_load(k->bodies, id, j * SHOAL_QUANTITIES + SHOAL_R, n * SHOAL_QUANTITIES);
    return factor * a + factor * b;
}

/* Less than the time to the distance `reach` from p, or back. */
LANE_FN real collision_way(lane_pair p, real reach)
{
    const real r2 = pair_dot(p.x, p.y, p.z, p.x, p.y, p.z), v2 = pair_dot(p.vx, p.vy, p.vz, p.vx, p.vy, p.vz);
    return 0.5 * (lane_sqrt(r2) - reach) * lane_rsqrt(v2);
}

LANE_FN void collision_offer(const shoal_kernel_args *k, const lane_view *view, mask hit, real fraction, int i, int j,
                             lane_event *event)
{
    if (k->monitor[SHOAL_MONITOR_stop_on_collision][COLLISION_ACTION] != 0.0) {
        /* the first contact counts: in later parts of the step the pair goes on through it */
        const real marked = event_marked(k, view, i, j), late = lane_fma(1.0 - fraction, view->h, view->late);
        event_mark(k, view, hit & lane_not(lane_abs(late) <= lane_abs(marked)), fraction, i, j, event);
    } else
        event_offer(event, hit, fraction, lane_set(i == 0 ? SHOAL_HIT_STAR : SHOAL_COLLIDED), lane_set((double)i),
                    lane_set((double)j));
}

/* Whatever it has shown is in the marks alone. */
LANE_FN void stop_on_collision_forget(const shoal_kernel_args *k, lane_id id, int n, mask lanes)
{
    (void)k, (void)id, (void)n, (void)lanes;
}

LANE_FN int stop_on_collision_star(const shoal_kernel_args *k)
{
    return (void)k, 1;
}

LANE_FN void stop_on_collision_guard(const shoal_kernel_args *k, lane_id id, int n, lane_guard *guard)
{
    const double factor = k->monitor[SHOAL_MONITOR_stop_on_collision][COLLISION_FACTOR];
    const real planets = factor * guard_largest(k, id, n, SHOAL_R),
               star = planets + factor * lane_load(k->bodies, id, SHOAL_R, n * SHOAL_QUANTITIES);
    guard->star = rough_max(guard->star, lane_rough(star * star));
    guard->planets = rough_max(guard->planets, lane_rough(4.0 * planets * planets));
}

LANE_FN mask stop_on_collision_sought(const shoal_kernel_args *k, lane_id id, int n, int i, int j, rough *sought)
{
    (void)k, (void)id, (void)n, (void)i, (void)j, (void)sought;
    return lane_set(0.0) != lane_set(0.0);
}

LANE_FN void stop_on_collision_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const double factor = k->monitor[SHOAL_MONITOR_stop_on_collision][COLLISION_FACTOR];
    const int n = view->n;
    (void)slots;
    real radius[SYSTEM_ROOM(n)];
    LANE_UNROLL_PAIRS
    for (int i = 0; i < n; i++)
        radius[i] = factor * lane_load(k->bodies, view->id, i * SHOAL_QUANTITIES + SHOAL_R, n * SHOAL_QUANTITIES);
    LANE_UNROLL_PAIRS
    for (int i = 0; i < n; i++) {
        LANE_UNROLL_PAIRS
        for (int j = 1; j < n; j++) {
            if (j <= i)
                continue;
            real reach = radius[i] + radius[j];
            const lane_pair now = pair_relative(n, view->after, i, j);
            mask there = is_there(view->m[i]) & is_there(view->m[j]) & (reach > lane_set(0.0)) &
                         (i == 0 ? view->star : view->planets);
            if (i == 0) {
                const lane_pair then = pair_relative(n, view->before, i, j);
                real falling = pair_dot(then.x, then.y, then.z, then.vx, then.vy, then.vz) * view->h;
                real rising = pair_dot(now.x, now.y, now.z, now.vx, now.vy, now.vz) * view->h;
                mask passed = there & (falling < lane_set(0.0)) & (rising > lane_set(0.0));
                if (lane_any(passed)) {
                    const real mu = pulling_mass(k, view->m, j, view->m[0] + view->m[j]);
                    const real q = collision_nearest(then, now, mu);
                    passed = passed & (mu > lane_set(0.0)) & (q < reach) &
                             (collision_way(then, reach) + collision_way(now, reach) < lane_abs(view->h));
                    collision_offer(k, view, passed, falling / (falling - rising), i, j, event);
                }
            }
            real reach2 = reach * reach, d2 = pair_dot(now.x, now.y, now.z, now.x, now.y, now.z);
            const mask within = d2 < reach2;
            mask suspect = there & pair_suspect(now, view->h, d2, within, d2 < 8.0 * reach2);
            if (i == 0 && lane_any(suspect)) {
                const real mu = pulling_mass(k, view->m, j, view->m[0] + view->m[j]);
                const lane_pair then = pair_relative(n, view->before, i, j);
                const mask inside = within | (pair_dot(then.x, then.y, then.z, then.x, then.y, then.z) < reach2);
                suspect = suspect &
                          (inside | lane_not(mu * view->h * view->h > lane_set(COLLISION_FINE) * reach2 * reach));
            }
            if (lane_any(suspect)) {
                const lane_pair then = pair_relative(n, view->before, i, j);
                const pair_bound bound = pair_outside(then, now, view->h);
                suspect = suspect & lane_not(bound.top > bound.bottom * reach2);
                if (lane_any(suspect)) {
                    pair_approach near = pair_reached(then, now, view->h, reach2);
                    collision_offer(k, view, suspect & near.reached, near.fraction, i, j, event);
                }
            }
        }
    }
}

#endif
