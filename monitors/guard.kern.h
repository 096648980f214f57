/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * guard.kern.h: whether a step may matter to the monitors of pairs (INSIDE), told from few digits, so that they are
 * asked about few steps. Whatever they would see in a step, the guard stirs: its bounds are those of pair.kern.h and of
 * the monitors' heads, widened by more than the roundings of rough numbers.
 *
 *     first look   at the end of the step: d < reach, or moving apart and d^2 < 8 max(reach^2, (|u| h)^2), with 10 in
 *                  the place of 8 for pairs with body 0, whose pericentre may lie within the step (r < reach + 2 h v)
 *     second look  at both ends, where the first one stirs: as pair_outside, the hull of the cubic
 *     none         while orbits cannot meet (nested.kern.h), where the propagator says what its kicks are, or bodies
 *                  are too far from each other (apart.kern.h)
 *
 * A pair's reach is one bound for all monitors, which NAME_guard raises (monitor.kern.h). A step in which only what
 * NAME_sought seeks may be there waits for its second look, if the monitor does (NAME_WAITS): a lane holds it until the
 * lane has another one or stops (integrate.kern.h). Then lanes beside each other are looked at together.
 *
 * It sees bodies by the first six slots of a propagator, if these are positions, barycentric or from body 0, and
 * barycentric velocities (PROPAGATOR_PLAIN); where a monitor must see each step, or the slots are others, by views.
 */
#ifndef SHOAL_GUARD_KERN_H
#define SHOAL_GUARD_KERN_H

/* A body, its position from body 0; or the difference of two. size2: the square of that distance, or the larger one of
 * two. */
typedef struct guard_at {
    rough x, y, z, u, v, w, size2;
} guard_at;

LANE_FN rough guard_set(double value)
{
    return lane_rough(lane_set(value));
}

LANE_FN rough guard_dot(rough ax, rough ay, rough az, rough bx, rough by, rough bz)
{
    return rough_fma(az, bz, rough_fma(ay, by, ax * bx));
}

/* Whether a monitor asks for pairs with body 0. */
LANE_FN int guard_has_star(const shoal_kernel_args *k)
{
    int has = 0;
#define MONITOR(name, sees) FOR_INSIDE_##sees(has = has || (MONITOR_IS_ON(name) && name##_star(k));)
#include "monitors/list.h"
#undef MONITOR
    return has;
}

/* Raise *sought to the square below which a distance of the pair i < j is worth a look once it has turned. Returns the
 * lanes in which a monitor must see the pair anyway. */
LANE_FN mask guard_sought(const shoal_kernel_args *k, lane_id id, int n, int i, int j, rough *sought)
{
    mask holds = lane_set(0.0) != lane_set(0.0);
#define MONITOR(name, sees) \
    FOR_INSIDE_##sees(if (MONITOR_IS_ON(name)) holds = holds | name##_sought(k, id, n, i, j, sought);)
#include "monitors/list.h"
#undef MONITOR
    return holds;
}

/* A body from the numbers of its position and velocity, `stride` apart, and of what they count from; NULL: 0. */
LANE_FN guard_at guard_body(int stride, const real *at, const real *origin)
{
    rough d[6];
    LANE_UNROLL_FULLY
    for (int c = 0; c < 6; c++)
        d[c] = lane_rough(origin ? at[c * stride] - origin[c * stride] : at[c * stride]);
    const guard_at body = {d[0], d[1], d[2], d[3], d[4], d[5], guard_dot(d[0], d[1], d[2], d[0], d[1], d[2])};
    return body;
}

/* b - a */
LANE_FN guard_at guard_between(guard_at a, guard_at b)
{
    const guard_at d = {b.x - a.x, b.y - a.y, b.z - a.z, b.u - a.u, b.v - a.v, b.w - a.w, rough_max(a.size2, b.size2)};
    return d;
}

/* Add the momentum of a body, less its share, to body 0 in the origin. */
LANE_FN void guard_recoil(guard_at *star, guard_at body, real m, const lane_guard *guard)
{
    const rough share = -(lane_rough(m) * guard->inverse);
    star->u = rough_fma(share, body.u, star->u);
    star->v = rough_fma(share, body.v, star->v);
    star->w = rough_fma(share, body.w, star->w);
}

/* sought: the square of the closest approach so far, 0 if none is sought: only where the pair came nearer before the
 * step, or ends it nearer than that. *apart, of the pair: above 0 if it did not come nearer at the end of the last step
 * that was looked at; NULL: it may have. *later: lanes in which what is sought may be there. */
/* long: a pair, what two kinds of monitors ask for, and what is kept */
LANE_FN mask guard_first(guard_at p, rough h, rough reach2, rough sought, rough *apart, int with_star, mask *later)
{
    const rough d2 = guard_dot(p.x, p.y, p.z, p.x, p.y, p.z), slack = guard_set(1e-10) * p.size2;
    const rough u2 = guard_dot(p.u, p.v, p.w, p.u, p.v, p.w) * h * h,
                moves = guard_dot(p.x, p.y, p.z, p.u, p.v, p.w) * h;
    const rough few = guard_set(1e-5) * (d2 + u2), more = guard_set(1.01), zero = guard_set(0.0);
    const mask parts = moves + few > zero, reaches = reach2 > zero;
    const mask near = (d2 < rough_fma(more, reach2, slack)) |
                      (parts & (d2 < rough_fma(guard_set(with_star ? 10.1 : 8.08), rough_max(reach2, u2), slack)));
    mask turned = parts & (d2 < rough_fma(guard_set(8.08), sought, slack));
    turned = apart ? turned & (*apart <= zero) : turned;
    if (apart)
        *apart = moves - few;
    /* Tight, so that few steps of a passage are held: at least 1.4e-6 d size more, and rounding leaves 3e-7. */
    const mask within = d2 < rough_fma(guard_set(1.0005), sought, guard_set(1e-9) * p.size2);
    *later = (sought > zero) & (within | turned | near);
    return near & reaches;
}

/* The relative motion at fraction t of the step: position, velocity and acceleration, times powers of h. */
typedef struct guard_moment {
    rough x, y, z, u, v, w, a, b, c;
} guard_moment;

/* One coordinate: from x, u to x1, u1, the velocities times h. */
/* long: two points, a moment and three results */
LANE_FN void guard_cubic(rough x, rough u, rough x1, rough u1, rough t, rough *at, rough *speed, rough *bend)
{
    const rough two = guard_set(2.0), three = guard_set(3.0), step = x1 - x, twist = u + u1 - two * step,
                first = three * step - two * u - u1;
    *at = rough_fma(t, rough_fma(t, rough_fma(t, twist, first), u), x);
    *speed = rough_fma(t, rough_fma(t, three * twist, two * first), u);
    *bend = two * rough_fma(t, three * twist, first);
}

LANE_FN guard_moment guard_at_moment(guard_at a, guard_at b, rough h, rough t)
{
    guard_moment m;
    guard_cubic(a.x, h * a.u, b.x, h * b.u, t, &m.x, &m.u, &m.a);
    guard_cubic(a.y, h * a.v, b.y, h * b.v, t, &m.y, &m.v, &m.b);
    guard_cubic(a.z, h * a.w, b.z, h * b.w, t, &m.z, &m.w, &m.c);
    return m;
}

/* Half the second derivative of the squared distance is p'^2 + p . p''. On the cubic p'' is between its ends, p in the
 * hull of four points. */
LANE_FN mask guard_convex(guard_at a, guard_at b, rough h)
{
    const rough zero = guard_set(0.0), third = guard_set(1.0 / 3.0) * h;
    const guard_moment begin = guard_at_moment(a, b, h, zero), end = guard_at_moment(a, b, h, guard_set(1.0));
    const rough x[4] = {a.x, rough_fma(third, a.u, a.x), rough_fma(-third, b.u, b.x), b.x},
                y[4] = {a.y, rough_fma(third, a.v, a.y), rough_fma(-third, b.v, b.y), b.y},
                z[4] = {a.z, rough_fma(third, a.w, a.z), rough_fma(-third, b.w, b.z), b.z};
    rough least = guard_dot(x[0], y[0], z[0], begin.a, begin.b, begin.c);
    LANE_UNROLL_FULLY
    for (int i = 0; i < 4; i++)
        least = rough_min(least, rough_min(guard_dot(x[i], y[i], z[i], begin.a, begin.b, begin.c),
                                           guard_dot(x[i], y[i], z[i], end.a, end.b, end.c)));
    return least > zero;
}

/* Whether the pair may have come nearer than `sought`, squared. Where the squared distance is convex, it is above its
 * tangent at any moment, for which a Newton step has that of the least distance. */
LANE_FN mask guard_nearer(guard_at a, guard_at b, rough h, rough sought, rough size2)
{
    const rough zero = guard_set(0.0), one = guard_set(1.0);
    const rough before = guard_dot(a.x, a.y, a.z, a.u, a.v, a.w), after = guard_dot(b.x, b.y, b.z, b.u, b.v, b.w);
    rough t = rough_max(rough_min(before / (before - after), one), zero), d2 = zero, slope = zero;
    LANE_UNROLL_FULLY
    for (int round = 0; round < 2; round++) {
        const guard_moment m = guard_at_moment(a, b, h, t);
        d2 = guard_dot(m.x, m.y, m.z, m.x, m.y, m.z);
        slope = guard_dot(m.x, m.y, m.z, m.u, m.v, m.w);
        const rough curve = guard_dot(m.u, m.v, m.w, m.u, m.v, m.w) + guard_dot(m.x, m.y, m.z, m.a, m.b, m.c);
        t = round == 0 ? rough_max(rough_min(t - slope / curve, one), zero) : t;
    }
    /* A distance is known to 2e-6 of its place from the origin, ten times what rounding leaves. */
    const rough least = d2 - guard_set(2.0) * rough_abs(slope),
                slack = rough_fma(guard_set(4e-6), rough_sqrt(sought * size2), guard_set(4e-12) * size2);
    return lane_not(guard_convex(a, b, h) & (least > sought + slack));
}

/* a, b: the pair at both ends. */
LANE_FN mask guard_second(guard_at a, guard_at b, rough h, rough reach2, rough sought, int with_star)
{
    const rough third = guard_set(1.0 / 3.0) * h, x = a.x + b.x, y = a.y + b.y, z = a.z + b.z, zero = guard_set(0.0);
    const rough first = guard_dot(a.x, a.y, a.z, x, y, z), last = guard_dot(b.x, b.y, b.z, x, y, z);
    const rough second = rough_fma(third, guard_dot(a.u, a.v, a.w, x, y, z), first),
                before = rough_fma(-third, guard_dot(b.u, b.v, b.w, x, y, z), last);
    const rough least = rough_max(rough_min(rough_min(first, second), rough_min(before, last)), zero);
    const rough size2 = rough_max(a.size2, b.size2), slack = guard_set(4e-10) * size2, more = guard_set(1.01),
                hull = guard_set(0.98) * least * least;
    mask near = lane_not(hull > (first + last) * rough_fma(more, reach2, slack));
    const mask nearer = lane_not(hull > (first + last) * rough_fma(more, sought, slack));
    if (lane_any(nearer & lane_not(near)))
        near = near | (nearer & guard_nearer(a, b, h, sought, size2));
    if (!with_star)
        return near;
    const rough d2 = guard_dot(b.x, b.y, b.z, b.x, b.y, b.z), u2 = guard_dot(b.u, b.v, b.w, b.u, b.v, b.w) * h * h,
                falls = guard_dot(a.x, a.y, a.z, a.u, a.v, a.w) * h;
    return near | ((rough_fma(guard_set(1e-5), a.size2 + u2, -falls) > zero) &
                   ((sought > zero) | (d2 < rough_fma(guard_set(5.1), reach2 + u2, guard_set(1e-10) * size2))));
}

/* Whether the pair i < j of n bodies may matter, body i at a: a, b at the end of the step, and for the second look a0,
 * b0 at its begin, else NULL. apart, later: as guard_first has them; later = NULL: no monitor waits. */
/* long: what the loops over pairs have in registers */
LANE_FN mask guard_asks(const shoal_kernel_args *k, lane_id id, const lane_guard *guard, int n, int i, int j,
                        guard_at a, guard_at b, const guard_at *a0, const guard_at *b0, rough h, rough *apart,
                        mask *later)
{
    const guard_at p = guard_between(a, b);
    const rough reach2 = i == 0 ? guard->star : rough_fma(guard->hill, p.size2, guard->planets);
    rough sought = guard_set(0.0);
    const mask holds = guard_sought(k, id, n, i, j, &sought);
    if (a0)
        return holds | guard_second(guard_between(*a0, *b0), p, h, reach2, sought, i == 0);
    mask waits;
    const mask near = holds | guard_first(p, h, reach2, sought, apart, i == 0, &waits);
    if (later)
        *later = waits;
    return later ? near : near | waits;
}

#include "monitors/nested.kern.h"
#include "monitors/apart.kern.h"

/* A sleep begins, or a rest. at: all n bodies after a step of length h; kicks: as propagator_kicks says, those of the
 * thread's bodies. */
/* long: as guard_asks */
LANE_FN void guard_sleep(const shoal_kernel_args *k, lane_id id, int n, const real *m, const guard_at *at, rough h,
                         rough kicks, lane_guard *guard)
{
#if PROPAGATOR_KICKS
    nested_begin(k, id, n, m, at, h, kicks, guard);
#else
    apart_begin(k, id, n, m, at, h, kicks, guard);
#endif
}

/* Nothing is known of the pairs. */
LANE_FN void guard_forget(lane_guard *guard)
{
    LANE_UNROLL
    for (int pair = 0; pair < GUARD_PAIRS; pair++)
        guard->apart[pair] = guard_set(-1.0);
}

/* Whether the next step is looked at; of pairs that are not, nothing is known. */
LANE_FN void guard_set_awake(lane_guard *guard, bool awake)
{
    if (guard->awake && !awake)
        guard_forget(guard);
    guard->awake = awake;
}

LANE_FN void guard_load(const shoal_kernel_args *k, lane_id id, int n, lane_guard *guard)
{
    const real star = lane_load(k->bodies, id, SHOAL_M, n * SHOAL_QUANTITIES);
    guard->inverse = lane_rough(1.0 / star);
    guard->star = guard->planets = guard->hill = guard_set(0.0);
    guard->left = guard->rate = guard->cost = guard->rest = guard_set(0.0);
    guard->pause = guard_set(NESTED_REST);
    guard->awake = true;
    guard_forget(guard);
#define MONITOR(name, sees) FOR_INSIDE_##sees(if (MONITOR_IS_ON(name)) name##_guard(k, id, n, guard);)
#include "monitors/list.h"
#undef MONITOR
}

/* All n bodies of a system from x = [6 * n]. first: 1 if body 0 is not there, the others count from it, and their
 * momentum is its own, too; else 0. */
LANE_FN void guard_bodies(int n, int first, const real *m, const lane_guard *guard, const real *x, guard_at *at)
{
    const rough zero = guard_set(0.0);
    const guard_at origin = {zero, zero, zero, zero, zero, zero, zero};
    at[0] = origin;
    LANE_UNROLL
    for (int i = 1; i < n; i++) {
        at[i] = guard_body(n, x + i, first == 1 ? 0 : x);
        if (first == 1)
            guard_recoil(&at[0], at[i], m[i], guard);
    }
}

/* A thread's look at all pairs. then: NULL, for the first look, which keeps what it has to in *apart and says in which
 * lanes a monitor that waits may see the pair: *later. In larger systems (SHOAL_MAX_PAIRED) none waits, since a pair
 * that parts asks at each step. */
/* long: as guard_asks */
LANE_FN mask guard_look_at_all(const shoal_kernel_args *k, lane_id id, int n, const real *m, const guard_at *then,
                               const guard_at *now, rough h, const lane_guard *guard, rough *apart, mask *later)
{
    const bool paired = n <= SHOAL_MAX_PAIRED;
    mask stirs = lane_set(0.0) != lane_set(0.0);
    LANE_UNROLL
    for (int i = 0; i < n; i++) {
        if (i == 0 && !guard_has_star(k))
            continue;
        LANE_UNROLL
        for (int j = 1; j < n; j++) {
            if (j <= i)
                continue;
            const mask there = is_there(m[i]) & is_there(m[j]);
            mask waits = lane_not(there);
            stirs = stirs |
                    (there & guard_asks(k, id, guard, n, i, j, now[i], now[j], then ? &then[i] : 0, then ? &then[j] : 0,
                                        h, paired ? &apart[SHOAL_PAIR(n, i, j)] : 0, paired ? &waits : 0));
            if (!then)
                *later = *later | (there & waits);
        }
    }
    return stirs;
}

/* The second look, called with copies. */
/* long: as guard_asks */
LANE_CALLED_FN mask guard_again(const shoal_kernel_args *k, lane_id id, int n, int first, const real *m,
                                const real *before, const real *after, rough h, const lane_guard *guard)
{
    guard_at then[VIEW_ROOM(n)], now[VIEW_ROOM(n)];
    guard_bodies(n, first, m, guard, before, then);
    guard_bodies(n, first, m, guard, after, now);
    return guard_look_at_all(k, id, n, m, then, now, h, guard, 0, 0);
}

/* Lanes in which the step to the view w of n bodies may matter to a monitor of pairs, by the first look. *later: lanes
 * in which it may only matter to one that waits. */
/* long: as guard_asks */
LANE_FN mask guard_view_stirs(const shoal_kernel_args *k, lane_id id, int n, const real *m, const real *w, rough h,
                              lane_guard *guard, mask *later)
{
    guard_at now[VIEW_ROOM(n)];
    mask waits = lane_set(0.0) != lane_set(0.0);
    guard_bodies(n, 0, m, guard, w, now);
    const mask stirs = guard_look_at_all(k, id, n, m, 0, now, h, guard, guard->apart, &waits);
    *later = waits & lane_not(stirs);
    return stirs;
}

#if TEAM == 1

#if defined(__CUDACC__) && defined(N_BODIES)
#define GUARD_ROOM (6 * (N_BODIES - PROPAGATOR_FIRST_BODY) * SHOAL_BLOCK)
#endif
/* The first six slots of the bodies at the start of a step: guard_keep stores them at each step, guard_kept returns
 * them, which few steps need. So a GPU has them in shared memory, as far as they fit, a number of all threads of a
 * block after the other; else they are in the room that is given. */
#if defined(__CUDACC__) && 8 * GUARD_ROOM <= 49152
LANE_FN double *guard_place(int n, int c, int i)
{
    __shared__ double kept[GUARD_ROOM];
    return kept + (c * (n - PROPAGATOR_FIRST_BODY) + i - PROPAGATOR_FIRST_BODY) * SHOAL_BLOCK + threadIdx.x;
}
LANE_FN void guard_keep(int n, const real *s, real *room)
{
    (void)room;
    LANE_UNROLL_FULLY
    for (int c = 0; c < 6; c++) {
        LANE_UNROLL_FULLY
        for (int i = PROPAGATOR_FIRST_BODY; i < n; i++)
            *guard_place(n, c, i) = s[c * n + i];
    }
}
LANE_FN const real *guard_kept(int n, const real *room, real *copy)
{
    (void)room;
    LANE_UNROLL_FULLY
    for (int c = 0; c < 6; c++) {
        LANE_UNROLL_FULLY
        for (int i = PROPAGATOR_FIRST_BODY; i < n; i++)
            copy[c * n + i] = *guard_place(n, c, i);
    }
    return copy;
}
#else
LANE_FN void guard_keep(int n, const real *s, real *room)
{
    LANE_UNROLL
    for (int c = 0; c < 6; c++) {
        LANE_UNROLL
        for (int i = PROPAGATOR_FIRST_BODY; i < n; i++)
            room[c * n + i] = s[c * n + i];
    }
}
LANE_FN const real *guard_kept(int n, const real *room, real *copy)
{
    return (void)n, (void)copy, room;
}
#endif

/* Begins a sleep, called with copies. */
/* long: as guard_stirs */
LANE_CALLED_FN void guard_begin(const shoal_kernel_args *k, lane_id id, int n, const real *m, const real *after,
                                rough h, rough kicks, lane_guard *guard)
{
    guard_at now[LANE_ROOM(n)];
    guard_bodies(n, PROPAGATOR_FIRST_BODY, m, guard, after, now);
    guard_sleep(k, id, n, m, now, h, kicks, guard);
}

/* What is called needs masses and bodies in memory: copies of what a GPU has in registers. */
LANE_FN void guard_copies(int n, const real *m, const real *s, real *masses, real *bodies)
{
    LANE_UNROLL
    for (int i = 0; LANE_COPIES && i < n; i++)
        masses[i] = m[i];
    LANE_UNROLL
    for (int c = 0; LANE_COPIES && c < 6; c++) {
        LANE_UNROLL
        for (int i = PROPAGATOR_FIRST_BODY; i < n; i++)
            bodies[c * n + i] = s[c * n + i];
    }
}

#if NESTED_ALONE
/* A sleep or a rest begins after a step to the state s. */
/* long: as guard_stirs */
LANE_FN void nested_try(const shoal_kernel_args *k, lane_id id, int n, const real *m, const real *s, real step,
                        lane_guard *guard)
{
    lane_guard of = *guard;
    real masses[LANE_COPIES * LANE_ROOM(n) + 1], end[LANE_COPIES * 6 * LANE_ROOM(n) + 1];
    guard_copies(n, m, s, masses, end);
    guard_begin(k, id, n, LANE_COPIES ? masses : m, LANE_COPIES ? end : s, lane_rough(step),
                lane_rough(propagator_kicks(n, s, step)), &of);
    nested_take(&of, guard);
}
#endif

/* Lanes whose step from what was kept to the state `after` may matter to a monitor of pairs. *later: lanes in which it
 * may only matter to one that waits. */
/* long: inlined; the state of the step loop */
LANE_FN mask guard_stirs(const shoal_kernel_args *k, lane_id id, int n, mask live, const real *m, const real *room,
                         const real *after, real step, lane_guard *guard, mask *later)
{
    const rough h = lane_rough(step);
    const bool sleeps = nested_asks(k, n), was_awake = guard->awake;
    const mask asleep = sleeps ? guard->left > guard_set(0.0) : step != step; /* beside others that are awake */
    mask stirs = step != step, waits = stirs;
    guard_at now[LANE_ROOM(n)];
    real masses[LANE_COPIES * LANE_ROOM(n) + 1], end[LANE_COPIES * 6 * LANE_ROOM(n) + 1],
        copy[LANE_COPIES * 6 * LANE_ROOM(n) + 1];
    if (sleeps)
        nested_spend(n, after, step, guard);
    if (was_awake) {
        guard_bodies(n, PROPAGATOR_FIRST_BODY, m, guard, after, now);
        stirs = lane_not(asleep) & guard_look_at_all(k, id, n, m, 0, now, h, guard, guard->apart, &waits);
    }
    *later = waits & lane_not(stirs | asleep);
    const bool begins = sleeps && nested_begins(nested_ends(guard, live), guard);
    if (lane_any(stirs) || begins) {
        lane_guard of = *guard;
        guard_copies(n, m, after, masses, end);
        const real *bodies = LANE_COPIES ? masses : m, *then = LANE_COPIES ? end : after;
        if (begins) {
            guard_begin(k, id, n, bodies, then, h, lane_rough(propagator_kicks(n, after, step)), &of);
            nested_take(&of, guard);
        }
        if (lane_any(stirs))
            stirs = stirs &
                    guard_again(k, id, n, PROPAGATOR_FIRST_BODY, bodies, guard_kept(n, room, copy), then, h, &of);
    }
    guard_set_awake(guard, !sleeps || team_any_beside(nested_ends(guard, live)));
    return stirs;
}

#else

/* What a team shares of its bodies with slots, each rounded by its own thread: place and velocity from body 0, and
 * where that has no slots, what the body's momentum does to its velocity. */
enum { GUARD_SHARED = TEAM_FIRST == 1 ? 9 : 6 };

/* Number c of body p at the end of the step, or `then`, at its begin. */
LANE_FN rough *guard_shared(int then, int c, int p)
{
    return (rough *)team_numbers() + (then * GUARD_SHARED + c) * TEAM_PARTS + p;
}

/* s: the first six slots of the n bodies of the thread. */
LANE_FN void guard_share(int then, int n, const real *m, const real *s, const lane_guard *guard)
{
    double *origin = team_numbers() + GUARD_SHARED * TEAM_PARTS;
    team_sync();
    if (TEAM_FIRST == 0) {
        LANE_UNROLL_FULLY
        for (int c = 0; c < 2 * XYZ && team_owns() && team_own() == 0; c++)
            origin[c / XYZ * 3 + c % XYZ + team_axis()] = s[c * n];
        team_sync();
    }
    LANE_UNROLL_FULLY
    for (int b = 0; b < TEAM_EACH && team_owns(); b++) {
        const int p = team_number_of(team_own(), b), i = TEAM_FIRST + b;
        const rough share = -(lane_rough(m[i]) * guard->inverse);
        LANE_UNROLL_FULLY
        for (int c = 0; c < 2 * XYZ; c++) {
            const int axis = c % XYZ + team_axis(), q = c / XYZ * 3 + axis;
            const rough own = lane_rough(TEAM_FIRST == 1 ? s[c * n + i] : s[c * n + i] - origin[q]);
            *guard_shared(then, q, p) = own;
            if (TEAM_FIRST == 1 && c >= XYZ)
                *guard_shared(then, 6 + axis, p) = share * own;
        }
    }
    team_sync();
}

LANE_FN guard_at guard_seen(int then, int p)
{
    const rough x = *guard_shared(then, 0, p), y = *guard_shared(then, 1, p), z = *guard_shared(then, 2, p);
    const guard_at body = {x,
                           y,
                           z,
                           *guard_shared(then, 3, p),
                           *guard_shared(then, 4, p),
                           *guard_shared(then, 5, p),
                           guard_dot(x, y, z, x, y, z)};
    return body;
}

/* Body 0, where it has no slots. */
LANE_FN guard_at guard_star(int then)
{
    guard_at star = {0, 0, 0, 0, 0, 0, 0};
    LANE_UNROLL_TEAM
    for (int p = 0; p < TEAM_PARTS; p++) {
        star.u += *guard_shared(then, 6, p);
        star.v += *guard_shared(then, 7, p);
        star.w += *guard_shared(then, 8, p);
    }
    return star;
}

/* The thread's share of the pairs: those of bodies with slots, numbered as in newton.kern.h, and those with body 0. No
 * monitor waits. */
LANE_FN mask guard_look(const shoal_kernel_args *k, lane_id id, int second, rough h, lane_guard *guard)
{
    enum { PAIRS = TEAM_PARTS * (TEAM_PARTS - 1) / 2, ROUNDS = (PAIRS + TEAM - 1) / TEAM };
    const int n = TEAM_BODIES;
    mask stirs = false;
    LANE_UNROLL_TEAM
    for (int round = 0; round < ROUNDS; round++) {
        const int pair = round * TEAM + team_place();
        if (pair >= PAIRS)
            break;
        const int b = pair % TEAM_PARTS, c = (b + pair / TEAM_PARTS + 1) % TEAM_PARTS, i = min(b, c), j = max(b, c);
        if (TEAM_FIRST == 0 && i == 0 && !guard_has_star(k))
            continue;
        guard_at then[2];
        if (second) {
            then[0] = guard_seen(1, i);
            then[1] = guard_seen(1, j);
        }
        stirs = stirs | (is_there(team_masses()[i + TEAM_FIRST]) & is_there(team_masses()[j + TEAM_FIRST]) &
                         guard_asks(k, id, guard, n, i + TEAM_FIRST, j + TEAM_FIRST, guard_seen(0, i), guard_seen(0, j),
                                    second ? &then[0] : 0, second ? &then[1] : 0, h,
                                    n <= SHOAL_MAX_PAIRED ? &guard->apart[round] : 0, 0));
    }
    if (TEAM_FIRST == 1 && guard_has_star(k)) {
        const guard_at star = guard_star(0), star_then = guard_star(second);
        LANE_UNROLL_TEAM
        for (int round = 0; round * TEAM < TEAM_PARTS; round++) {
            const int b = round * TEAM + team_place();
            if (b >= TEAM_PARTS)
                break;
            const guard_at then = guard_seen(second, b);
            stirs = stirs |
                    (is_there(team_masses()[b + 1]) &
                     guard_asks(k, id, guard, n, 0, b + 1, star, guard_seen(0, b), second ? &star_then : 0,
                                second ? &then : 0, h, n <= SHOAL_MAX_PAIRED ? &guard->apart[ROUNDS + round] : 0, 0));
        }
    }
    return stirs;
}

LANE_FN void guard_keep(int n, const real *s, real *room)
{
    LANE_UNROLL_FULLY
    for (int c = 0; c < 2 * XYZ; c++) {
        LANE_UNROLL_FULLY
        for (int i = PROPAGATOR_FIRST_BODY; i < n; i++)
            room[c * n + i] = s[c * n + i];
    }
}
LANE_FN const real *guard_kept(int n, const real *room, real *copy)
{
    return (void)n, (void)copy, room;
}

/* Begins a sleep of what guard_share has shared, called with a copy. */
LANE_CALLED_FN void guard_begin(const shoal_kernel_args *k, lane_id id, rough h, rough kicks, lane_guard *guard)
{
    guard_at now[TEAM_BODIES];
    LANE_UNROLL_TEAM
    for (int p = 0; p < TEAM_PARTS; p++)
        now[TEAM_FIRST + p] = guard_seen(0, p);
    guard_sleep(k, id, TEAM_BODIES, team_masses(), now, h, kicks, guard);
}

#if NESTED_ALONE
/* long: as above */
LANE_FN void nested_try(const shoal_kernel_args *k, lane_id id, int n, const real *m, const real *s, real step,
                        lane_guard *guard)
{
    lane_guard of = *guard;
    guard_share(0, n, m, s, guard);
    guard_begin(k, id, lane_rough(step), lane_rough(propagator_kicks(n, s, step)), &of);
    nested_take(&of, guard);
}
#endif

/* As above, of the bodies of the thread; for the whole team. No monitor waits. */
/* long: as above */
LANE_FN mask guard_stirs(const shoal_kernel_args *k, lane_id id, int n, mask live, const real *m, const real *room,
                         const real *after, real step, lane_guard *guard, mask *later)
{
    const rough h = lane_rough(step);
    const bool sleeps = nested_asks(k, TEAM_BODIES), was_awake = guard->awake;
    const mask ended = !(guard->left > 0) & team_owns(); /* else asleep beside teams that are awake */
    if (sleeps)
        nested_spend(n, after, step, guard);
    const bool begins = sleeps && nested_begins(nested_ends(guard, live), guard);
    mask stirs = *later = false;
    if (was_awake || begins)
        guard_share(0, n, m, after, guard);
    if (was_awake)
        stirs = (!sleeps || team_any(ended)) & guard_look(k, id, 0, h, guard);
    if (begins) {
        lane_guard of = *guard;
        guard_begin(k, id, h, lane_rough(propagator_kicks(n, after, step)), &of);
        nested_take(&of, guard);
    }
    guard_set_awake(guard, !sleeps || team_any_beside(nested_ends(guard, live)));
    if (!team_any_beside(stirs))
        return false;
    guard_share(1, n, m, room, guard);
    return team_any(stirs) & team_any(guard_look(k, id, 1, h, guard));
}

#endif

#if NESTED_ALONE
/* After a step to the state s: lanes in which monitors of pairs must see it. */
/* long: as guard_stirs */
LANE_FN mask nested_looks(const shoal_kernel_args *k, lane_id id, int n, mask live, const real *m, const real *s,
                          real step, lane_guard *guard)
{
    nested_spend(n, s, step, guard);
    if (nested_begins(nested_ends(guard, live), guard))
        nested_try(k, id, n, m, s, step, guard);
    guard->awake = team_any_beside(nested_ends(guard, live));
    return guard->awake ? live : live & lane_not(live);
}
#endif
#endif
