/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * nested.kern.h: a part of guard.kern.h. Planets on orbits one within the other cannot meet, so the guard sleeps. A
 * sleep ends before the kicks and jumps of a map (PROPAGATOR_KICKS) can have closed the gaps.
 *
 * Between kicks and jumps each planet stays between q = a (1 - e) and Q = a (1 + e) of its Kepler orbit. A kick changes
 * the velocity by dv, a jump the place by dx. From a = -mu / 2E and the eccentricity vector follow, with
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
 * with q and Q in Jacobi coordinates wider by sum (m_j / eta_j) Q_j of the planets before, less what no step spends:
 *
 *     the cubic between the ends of a step, which monitors look at, leaves the orbit by at most h^4 / 384 times the
 *     fourth derivative of the place, and that is below 10 mu^2 / q^5 for e < 0.63;
 *     the reserve. At gaps above beta (q + Q) accelerations are below mu sum (m_i / m_0) / (2 q beta)^2. In mvs the
 *     kick at the end of a step bends the cubic by 2 h^2 |a| / 27, which must be below the gap; in Jacobi coordinates
 *     a corrector, whose kicks add up to 0.83 h |a| at most, must not close it.
 *
 * A step costs rate |h| + cost sum |h a|, of all kicks. In mvs those at its end count for the start of the next step,
 * too, so what is left tells whether the next step must be looked at. In Jacobi coordinates it tells of the last one:
 * where a sleep begins, its kick is spent for the way back.
 */
#ifndef SHOAL_NESTED_KERN_H
#define SHOAL_NESTED_KERN_H

#define NESTED_ROOM 0.125 /* beta at most */
enum { NESTED_BODIES = 16 /* at most */ };
/* A try costs as much as two steps: a sleep that promises fewer steps than NESTED_WORTH is none, and after it a rest
 * follows, of twice as many steps as the last one. */
enum { NESTED_WORTH = 32, NESTED_REST = 16, NESTED_LONGEST = 512 };

/* Whether sleeps are those of apart.kern.h. */
#define NESTED_APART (PROPAGATOR_PLAIN && !PROPAGATOR_KICKS && !PROPAGATOR_ADAPTIVE)

/* Whether a guard of n bodies sleeps. */
LANE_FN bool nested_asks(const shoal_kernel_args *k, int n)
{
    return (PROPAGATOR_KICKS || NESTED_APART) && !FORCES(k) && n <= NESTED_BODIES;
}

/* Whether the guard only knows of orbits: it looks at all steps, or at none. */
#define NESTED_ALONE (PROPAGATOR_KICKS && !PROPAGATOR_PLAIN)

/* A step of length h to the state s was made. */
LANE_FN void nested_spend(int n, const real *s, real h, lane_guard *guard)
{
    const rough kicks = lane_rough(propagator_kicks(n, s, h)), length = rough_abs(lane_rough(h));
    guard->left = guard->left - rough_fma(guard->cost, kicks, guard->rate * length);
}

/* Lanes whose sleep is over: of a team those of its threads that have bodies. */
LANE_FN mask nested_ends(const lane_guard *guard, mask live)
{
    const mask over = live & lane_not(guard->left > guard_set(0.0));
#if TEAM > 1
    return over & team_owns();
#else
    return over;
#endif
}

/* Ends sleeps in the lanes `where`, which were moved in other ways, too. */
LANE_FN void nested_break(mask where, lane_guard *guard)
{
    guard->left = rough_select(where, guard_set(-1.0), guard->left);
    guard->rest = rough_select(where, guard->pause, guard->rest);
    guard->awake = guard->awake || team_any_beside(where);
}

/* Whether one is begun where these lanes have none: at once after the last one, else after a rest. Beside a lane that
 * rests nobody begins: the step would be looked at anyway. */
LANE_FN bool nested_begins(mask ends, lane_guard *guard)
{
    if (guard->awake)
        guard->rest = guard->rest - guard_set(1.0);
    return team_any_beside(ends) && (!guard->awake || !team_any_beside(ends & lane_not(guard->rest < guard_set(0.0))));
}

/* A sleep that began on a copy. */
LANE_FN void nested_take(const lane_guard *from, lane_guard *guard)
{
    guard->left = from->left, guard->rate = from->rate, guard->cost = from->cost;
    guard->rest = from->rest, guard->pause = from->pause;
}

/* A sleep of length `left` begins in these lanes, in the others a rest. */
LANE_FN void nested_settle(mask sleeps, rough left, lane_guard *guard)
{
    const rough longer = rough_min(guard->pause + guard->pause, guard_set(NESTED_LONGEST));
    guard->left = rough_select(sleeps, left, guard_set(-1.0));
    guard->rest = rough_select(sleeps, guard_set(0.0), guard->pause);
    guard->pause = rough_select(sleeps, guard_set(NESTED_REST), longer);
}

#if PROPAGATOR_KICKS

/* A planet's orbit. */
typedef struct nested_orbit {
    rough a, q, Q;
    mask there;
} nested_orbit;

/* What bounds the sleep of a system. */
typedef struct nested_bounds {
    rough beta, cost, jump, recoil, w, pull; /* w, pull: the largest h^2 mu / q^3 and mu / q^2 */
    mask holds;                              /* the bounds */
} nested_bounds;

LANE_FN void nested_add(guard_at at, rough mu, rough ratio, rough h, mask there, nested_orbit *orbit, nested_bounds *of)
{
    const rough zero = guard_set(0.0), one = guard_set(1.0);
    const rough v2 = guard_dot(at.u, at.v, at.w, at.u, at.v, at.w), rv = guard_dot(at.x, at.y, at.z, at.u, at.v, at.w);
    const rough inverse = rough_fma(guard_set(2.0), one / rough_sqrt(at.size2), -(v2 / mu)),
                l2 = rough_fma(at.size2, v2, -(rv * rv)), a = one / inverse;
    const rough e = rough_sqrt(rough_max(one - (l2 / mu) * inverse, zero) + guard_set(1e-6)), q = a * (one - e);
    /* of all orbits within reach */
    const rough most = e + guard_set(NESTED_ROOM), up = one + most, down = one / (one - most), stretch = up * down;
    const rough pull = guard_set(1.5) * (mu / q) / q, w = h * (h / q) * pull;
    const mask holds = (inverse > zero) & (e < guard_set(0.5)) & (w < guard_set(0.3));
    orbit->a = a;
    orbit->q = q;
    orbit->Q = a * (one + e);
    orbit->there = there;
    of->holds = of->holds & (holds | lane_not(there));
    of->cost = rough_max(
        of->cost,
        rough_select(there, guard_set(2.7) * rough_sqrt(a / mu) * (a / q) * rough_fma(up, rough_sqrt(stretch), one),
                     zero));
    of->jump = rough_max(
        of->jump,
        rough_select(there, guard_set(1.2) * down / q * (rough_fma(guard_set(2.0), stretch, one) + up), zero));
    of->w = rough_max(of->w, rough_select(there, w, zero));
    of->pull = rough_max(of->pull, rough_select(there, pull, zero));
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

/* The part of the gaps that no step spends. masses: of all planets, in units of that of body 0. */
LANE_FN rough nested_reserve(const nested_bounds *of, rough masses, rough length)
{
    const rough bend = guard_set(10.0 / 384.0) * of->w * of->w;
    const rough cube = NESTED_ALONE ? guard_set(0.3) * of->cost * of->pull * length : guard_set(1.0 / 54.0) * of->w;
    return bend + lane_rough(lane_cbrt(lane_of_rough(cube * masses)));
}

/* Begins a sleep, or, where it would be short, a rest. at: all n bodies after a step of length h; kicks: as
 * propagator_kicks says, those of the thread's bodies. */
/* long: as guard_asks */
LANE_FN void nested_begin(const shoal_kernel_args *k, lane_id id, int n, const real *m, const guard_at *at, rough h,
                          rough kicks, lane_guard *guard)
{
    const rough zero = guard_set(0.0), one = guard_set(1.0), length = rough_abs(h), star = lane_rough(m[0]);
    nested_orbit orbit[SYSTEM_ROOM(n)];
    nested_bounds of = {guard_set(NESTED_ROOM), zero, zero, zero, zero, zero, zero == zero};
    rough masses = zero, shift = zero; /* in units of the star's; of the barycentre of the bodies before */
    LANE_KEEP_ROLLED
    for (int i = 1; i < n; i++) {
        const rough ratio = rough_abs(lane_rough(m[i]) * guard->inverse);
        masses = masses + ratio;
        const rough mu = NESTED_ALONE ? star * (one + masses) : star;
        nested_add(at[i], mu, ratio, h, is_there(m[i]), &orbit[i], &of);
        const rough moves = NESTED_ALONE ? guard_set(1.0 + NESTED_ROOM) * ratio * orbit[i].Q : zero;
        orbit[i].q = orbit[i].q - shift;
        orbit[i].Q = orbit[i].Q + shift;
        of.holds = of.holds & ((orbit[i].q > zero) | lane_not(is_there(m[i])));
        shift = shift + rough_select(is_there(m[i]), moves, zero);
    }
    /* relative; astrocentric orbits have the recoil of body 0 in their velocity and feel other masses; e < 0.63 */
    const rough apart = rough_fma(of.cost, of.recoil, guard_set(9.0) * masses),
                wide = guard_set(1.0 + NESTED_ROOM + 0.01) + apart;
    of.holds = of.holds & (apart < guard_set(0.25));
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
            of.beta = rough_min(of.beta, beta);
            of.holds = of.holds & lane_not(holds);
        }
    }
    of.beta = guard_set(0.98) * (of.beta - nested_reserve(&of, masses, length));
    guard->rate = NESTED_ALONE ? zero : of.jump * of.recoil;
    guard->cost = of.cost;
    const rough spent = rough_fma(of.cost, kicks, guard->rate * length);
    const mask sleeps = of.holds & (of.beta > guard_set(1e-3)) & (of.beta > guard_set(NESTED_WORTH) * spent);
    nested_settle(sleeps, of.beta - spent, guard);
}

#endif

#endif
