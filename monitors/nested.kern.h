/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * nested.kern.h: a part of guard.kern.h. Planets on orbits one within the other cannot meet, so the guard sleeps. A
 * sleep ends before the kicks and jumps of mvs can have closed the gaps.
 *
 * Between kicks and jumps each planet stays between q = a (1 - e) and Q = a (1 + e) of its Kepler orbit about body 0. A
 * kick changes the velocity by dv, a jump the place by dx. From a = -mu / 2E and the eccentricity vector follow, with
 * v^2 <= (mu / a) (1 + e) / (1 - e) and r v <= (mu a)^(1/2):
 *
 *     |dq|, |dQ| <= 2 (a^3 / mu)^(1/2) ((1 + e) ((1 + e) / (1 - e))^(1/2) + 1) |dv|
 *     |dq|, |dQ| <= (2 (1 + e) / (1 - e)^2 + (2 + e) / (1 - e)) |dx|
 *
 * While the sum of these stays below beta q for each planet, no q falls below q (1 - beta) and no Q exceeds Q (1 +
 * beta). beta is at most NESTED_ROOM, and the bounds hold for all orbits so near. It is the least of
 *
 *     (q_outer - Q_inner - reach) / (Q_outer + Q_inner)     of pairs of planets
 *     1 - reach / q - what separates the astrocentric orbit from that of the map     of pairs with body 0
 *
 * less `bend`: the cubic between the ends of a step, which monitors look at, leaves the orbit by at most h^4 / 384 times
 * the fourth derivative of the place, and that is below 10 mu^2 / q^5 for e < 0.6.
 *
 * A step costs |h| (rate + cost * sum |a|), a the accelerations of the kicks at its end, for the kicks there and at the
 * start of the next one. So what is left then tells whether the next step must be looked at, but for the kick at its
 * end, which bends the cubic by at most 2 h^2 |a| / 27. At gaps above beta (q + Q) both planets of a pair stay apart by
 * it if beta^3 > h^2 mu / q^3 sum (m_i / m_0) / 54; this `reserve` is not spent. A thread of a team counts the kicks of
 * its own bodies; of one component, three times.
 */
#ifndef SHOAL_NESTED_KERN_H
#define SHOAL_NESTED_KERN_H

#define NESTED_ROOM 0.0625 /* beta at most */
enum { NESTED_BODIES = 16 /* at most */, NESTED_REST = 16 /* steps from a vain try to the next */ };

/* Whether a guard of n bodies sleeps. */
LANE_FN bool nested_asks(const shoal_kernel_args *k, int n)
{
    return PROPAGATOR_KICKS >= 0 && !FORCES(k) && n <= NESTED_BODIES;
}

/* The accelerations of the kicks of a thread's bodies, the sum of the components. */
LANE_FN rough nested_kicks(int n, const real *s)
{
    real sum = lane_set(0.0);
    LANE_UNROLL
    for (int c = 0; c < XYZ; c++) {
        LANE_UNROLL
        for (int i = 1; i < n; i++)
            sum = sum + lane_abs(s[(PROPAGATOR_KICKS + c) * n + i]);
    }
    return lane_rough(3.0 / XYZ * sum);
}

/* A step to the state s was made. */
LANE_FN void nested_spend(int n, const real *s, rough h, lane_guard *guard)
{
    guard->left = rough_fma(-rough_abs(h), rough_fma(guard->cost, nested_kicks(n, s), guard->rate), guard->left);
}

/* Whether a lane makes steps, and the next one must be looked at. */
LANE_FN mask nested_ends(const lane_guard *guard, rough h)
{
    const rough zero = guard_set(0.0);
    return lane_not(guard->left > zero) & lane_not(h == zero);
}

/* Ends sleeps in the lanes `where`, which were moved in other ways, too. */
LANE_FN void nested_break(mask where, lane_guard *guard)
{
    guard->left = rough_select(where, guard_set(-1.0), guard->left);
    guard->rest = rough_select(where, guard_set(NESTED_REST), guard->rest);
    guard->awake = guard->awake || team_any_beside(where);
}

/* Whether it is time to try; asked after each step that the guard looks at. */
LANE_FN mask nested_tries(lane_guard *guard)
{
    guard->rest = guard->rest - guard_set(1.0);
    return guard->rest < guard_set(0.0);
}

/* A sleep that began on a copy. */
LANE_FN void nested_take(const lane_guard *from, lane_guard *guard)
{
    guard->left = from->left, guard->rate = from->rate, guard->cost = from->cost, guard->rest = from->rest;
}

/* A planet's orbit. */
typedef struct nested_orbit {
    rough a, q, Q;
    mask there;
} nested_orbit;

/* What bounds the sleep of a system. */
typedef struct nested_bounds {
    rough beta, cost, jump, recoil, w; /* w: h^2 mu / q^3 */
} nested_bounds;

LANE_FN void nested_add(guard_at at, rough mu, rough ratio, rough h, mask there, nested_orbit *orbit, nested_bounds *of)
{
    const rough zero = guard_set(0.0), one = guard_set(1.0), none = guard_set(-1.0);
    const rough v2 = guard_dot(at.u, at.v, at.w, at.u, at.v, at.w), rv = guard_dot(at.x, at.y, at.z, at.u, at.v, at.w);
    const rough inverse = rough_fma(guard_set(2.0), one / rough_sqrt(at.size2), -(v2 / mu)),
                l2 = rough_fma(at.size2, v2, -(rv * rv)), a = one / inverse;
    const rough e = rough_sqrt(rough_max(one - (l2 / mu) * inverse, zero) + guard_set(1e-6)), q = a * (one - e);
    /* of all orbits within reach */
    const rough most = e + guard_set(NESTED_ROOM), up = one + most, down = one / (one - most), stretch = up * down;
    const rough w = guard_set(1.25) * (h / q) * (h / q) * (mu / q);
    const mask holds = (inverse > zero) & (e < guard_set(0.5)) & (w < guard_set(0.3));
    orbit->a = a;
    orbit->q = q;
    orbit->Q = a * (one + e);
    orbit->there = there;
    of->beta = rough_select(there & lane_not(holds), none, of->beta);
    of->cost = rough_max(
        of->cost,
        rough_select(there, guard_set(2.5) * rough_sqrt(a / mu) * (a / q) * rough_fma(up, rough_sqrt(stretch), one),
                     zero));
    of->jump = rough_max(
        of->jump,
        rough_select(there, guard_set(1.2) * down / q * (rough_fma(guard_set(2.0), stretch, one) + up), zero));
    of->w = rough_max(of->w, rough_select(there, w, zero));
    of->recoil = of->recoil + rough_select(there, guard_set(1.1) * ratio * rough_sqrt(mu / a * stretch), zero);
}

/* beta of a pair of planets, and of one with body 0. */
LANE_FN rough nested_pair(nested_orbit a, nested_orbit b, rough reach2)
{
    const rough gap = rough_max(a.q - b.Q, b.q - a.Q) - rough_sqrt(reach2);
    return rough_select(a.there & b.there, gap / (a.Q + b.Q), guard_set(NESTED_ROOM));
}
LANE_FN rough nested_star(nested_orbit a, rough reach2, rough apart)
{
    return rough_select(a.there, guard_set(1.0) - guard_set(1.01) * rough_sqrt(reach2) / a.q - apart,
                        guard_set(NESTED_ROOM));
}

/* Begins a sleep, or, where it would be short, a rest. at: all n bodies at the end of a step of length h; kicks: those
 * of the thread's bodies there. */
/* long: as guard_asks */
LANE_FN void nested_begin(const shoal_kernel_args *k, lane_id id, int n, const real *m, const guard_at *at, rough h,
                          rough kicks, lane_guard *guard)
{
    const rough zero = guard_set(0.0), length = rough_abs(h), mu = lane_rough(m[0]);
    nested_orbit orbit[LANE_ROOM(n)];
    nested_bounds of = {guard_set(NESTED_ROOM), zero, zero, zero, zero};
    rough heaviest = zero, sum = zero;
    LANE_KEEP_ROLLED
    for (int i = 1; i < n; i++) {
        const rough ratio = rough_abs(lane_rough(m[i]) * guard->inverse);
        nested_add(at[i], mu, ratio, h, is_there(m[i]), &orbit[i], &of);
        heaviest = rough_max(heaviest, ratio);
        sum = sum + ratio;
    }
    /* relative; astrocentric orbits have the recoil of body 0 in their velocity and feel the planet's mass; e < 0.6 */
    const rough apart = rough_fma(of.cost, of.recoil, guard_set(8.0) * heaviest), wide = guard_set(1.07) + apart;
    of.beta = rough_select(apart < guard_set(0.25), of.beta, guard_set(-1.0));
    LANE_KEEP_ROLLED
    for (int i = 0; i < n; i++) {
        if (i == 0 && !guard_has_star(k))
            continue;
        LANE_KEEP_ROLLED
        for (int j = i + 1; j < n; j++) {
            rough sought = zero;
            const mask holds = guard_sought(k, id, n, i, j, &sought);
            const rough axis = i == 0 ? zero : wide * rough_max(orbit[i].a, orbit[j].a);
            const rough planets = rough_fma(guard_set(0.25) * guard->hill * axis, axis, guard->planets);
            const rough reach2 = rough_max(i == 0 ? guard->star : planets, sought);
            const rough beta = i == 0 ? nested_star(orbit[j], reach2, apart) : nested_pair(orbit[i], orbit[j], reach2);
            of.beta = rough_min(of.beta, rough_select(holds, guard_set(-1.0), beta));
        }
    }
    const rough bend = guard_set(10.0 / 384.0) * of.w * of.w,
                reserve = lane_rough(lane_cbrt(lane_of_rough(of.w * sum * guard_set(1.0 / 54.0))));
    of.beta = guard_set(0.98) * (of.beta - bend - reserve);
    guard->rate = of.jump * of.recoil;
    guard->cost = of.cost;
    guard->left = rough_fma(-length, rough_fma(of.cost, kicks, guard->rate), of.beta);
    const mask sleeps = (of.beta > guard_set(1e-3)) & (of.beta > guard_set(8.0) * length * guard->rate);
    guard->rest = rough_select(sleeps, zero, guard_set(NESTED_REST));
}

#endif
