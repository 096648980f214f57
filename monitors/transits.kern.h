/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * transits.kern.h: when a body passes before its star: the least distance in the sky plane, with +z towards the
 * observer and the body nearer to him than the star. Such moments are zeros of g = x vx + y vy of the motion about the
 * star (Fabrycky 2010, arXiv:1006.3834), where g passes from - to + in time's direction.
 *
 * Within a step the body moves on the Kepler orbit that it begins with, and away from that on the polynomial of fifth
 * degree which has the difference from it at the step's end, of position, velocity and acceleration, and at its
 * beginning, where it is the other bodies' pull alone. (Forces beside Newton's are in the differences of position and
 * velocity, not of acceleration; what `radiation` takes of the pull is in all.) Newton's iteration for g = 0, with
 * the pull between its ends, inside a bracket, which is halved where that does not halve its last change. A sign of g
 * that changes twice within a step is not seen.
 *
 * Slots of a body: how many, of the times t_i = first + i period + d_i of which the first and the period (the first
 * difference) are kept, and the sums of d_i, i d_i and d_i^2: what a line through them needs.
 */
enum { TRANSITS_STAR, TRANSITS_LOG, transits_PARAMETERS };
enum { transits_SLOTS = 0 };
/* slots of a body: how many; the first, the first difference; sums of d, i d, d^2 */
enum {
    TRANSITS_COUNT,
    TRANSITS_FIRST,
    TRANSITS_PERIOD,
    TRANSITS_SUM,
    TRANSITS_SUM_I,
    TRANSITS_SUM_2,
    transits_PART_SLOTS
};
/* columns of the log */
enum { TRANSITS_OF, TRANSITS_BEFORE, TRANSITS_DISTANCE, TRANSITS_SPEED, transits_LOG_COLUMNS };

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"
#include "monitors/sky.kern.h"
#include "integrators/kepler.kern.h"

enum { TRANSITS_ROUNDS = 100 };

typedef struct lane_transit {
    real left;            /* of the step's time, after it */
    real z;               /* towards the observer */
    real distance, speed; /* in the sky plane */
} lane_transit;

/* Motion on a Kepler orbit, a time t after a; mu < 0 pushes. */
LANE_CALLED_FN lane_pair transit_arc(real mu, real t, lane_pair a)
{
    const real s[6] = {a.x, a.y, a.z, a.vx, a.vy, a.vz};
    real d[6];
    kepler_change(mu, t, 1, s, d, 0);
    a.x = a.x + d[0];
    a.y = a.y + d[1];
    a.z = a.z + d[2];
    a.vx = a.vx + d[3];
    a.vy = a.vy + d[4];
    a.vz = a.vz + d[5];
    return a;
}

/* mu / r^3 */
LANE_FN real transit_rate2(real mu, lane_pair p)
{
    const real inverse = lane_rsqrt(pair_dot(p.x, p.y, p.z, p.x, p.y, p.z));
    return mu * (inverse * inverse * inverse);
}

typedef struct lane_pull {
    real x, y, z;
} lane_pull;

/* With what body j pulls at i: its mass, less what forces take away. */
LANE_FN real transit_mass(const shoal_kernel_args *k, const real *m, int j, int i)
{
    return j == 0 ? pulling_mass(k, m, i, m[0]) : m[j];
}

/* How the other bodies, of masses m and at w, pull i from the star. */
LANE_FN lane_pull transit_pull(const shoal_kernel_args *k, int n, const real *m, const real *w, int star, int i)
{
    lane_pull pull = {lane_set(0.0), lane_set(0.0), lane_set(0.0)};
    LANE_UNROLL_PAIRS
    for (int j = 0; j < n; j++) {
        if (j == star || j == i)
            continue;
        const mask there = is_there(m[j]);
        const lane_pair near = pair_relative(n, w, i, j), far = pair_relative(n, w, star, j);
        const real of_near = transit_rate2(transit_mass(k, m, j, i), near),
                   of_far = transit_rate2(transit_mass(k, m, j, star), far);
        pull.x = lane_select(there, pull.x + (of_near * near.x - of_far * far.x), pull.x);
        pull.y = lane_select(there, pull.y + (of_near * near.y - of_far * far.y), pull.y);
        pull.z = lane_select(there, pull.z + (of_near * near.z - of_far * far.z), pull.z);
    }
    return pull;
}

/* In a step h from a to b, at whose ends the others pull as first and last; where it is wanted g has opposite signs
 * there. */
LANE_CALLED_FN lane_transit transit_find(real mu, real h, lane_pair a, lane_pair b, lane_pull first, lane_pull last,
                                         mask wanted)
{
    const real zero = lane_set(0.0), one = lane_set(1.0), step = lane_select(wanted, h, zero), half = 0.5 * h * h;
    const lane_pair end = transit_arc(mu, step, a);
    const real rate2_b = transit_rate2(mu, b), rate2_end = transit_rate2(mu, end);
    /* the differences at the end, of position, velocity and acceleration, and that of acceleration at the beginning,
     * in units of the step */
    const real dx[3] = {b.x - end.x, b.y - end.y, b.z - end.z},
               dv[3] = {(b.vx - end.vx) * h, (b.vy - end.vy) * h, (b.vz - end.vz) * h};
    const real da[3] = {half * (last.x - (rate2_b * b.x - rate2_end * end.x)),
                        half * (last.y - (rate2_b * b.y - rate2_end * end.y)),
                        half * (last.z - (rate2_b * b.z - rate2_end * end.z))};
    const real da_first[3] = {half * first.x, half * first.y, half * first.z};
    const real ga = sky_approach(a), gb = sky_approach(b);
    lane_root root = {zero, one, lane_select(wanted, ga / (ga - gb), lane_set(0.5)), one, wanted};
    lane_transit found = {zero, zero, zero, zero};
    LANE_KEEP_ROLLED
    for (int round = 0; round < TRANSITS_ROUNDS && lane_any(root.open); round++) {
        const mask open = root.open;
        const real s = root.at;
        const lane_pair p = transit_arc(mu, s * step, a);
        const real u = one - s, s2 = s * s, s3 = s2 * s, u2 = u * u;
        const real of[4] = {s3 * (10.0 - s * (15.0 - 6.0 * s)), -s3 * (4.0 - s * (7.0 - 3.0 * s)), s3 * u2,
                            s2 * u2 * u};
        const real rate[4] = {30.0 * s2 * u2, -s2 * (12.0 - s * (28.0 - 15.0 * s)), s2 * u * (3.0 - 5.0 * s),
                              s * u2 * (2.0 - 5.0 * s)};
        real r[3] = {p.x, p.y, p.z}, v[3] = {p.vx, p.vy, p.vz};
        LANE_UNROLL_XYZ
        for (int c = 0; c < 3; c++) {
            r[c] = r[c] + (of[0] * dx[c] + of[1] * dv[c] + (of[2] * da[c] + of[3] * da_first[c]));
            v[c] = v[c] + (rate[0] * dx[c] + rate[1] * dv[c] + (rate[2] * da[c] + rate[3] * da_first[c])) / h;
        }
        const lane_pair at = {r[0], r[1], r[2], v[0], v[1], v[2]};
        const real rate2 = transit_rate2(mu, at), g = sky_approach(at);
        const real ax = (u * first.x + s * last.x) - rate2 * at.x, ay = (u * first.y + s * last.y) - rate2 * at.y;
        root_next(&root, g * h < zero,
                  s - g / (h * (lane_fma(at.vy, at.vy, at.vx * at.vx) + lane_fma(at.y, ay, at.x * ax))));
        const real t = (root.at - s) * h;
        const real x = lane_fma(at.vx, t, at.x), y = lane_fma(at.vy, t, at.y), vx = lane_fma(ax, t, at.vx),
                   vy = lane_fma(ay, t, at.vy);
        found.left = lane_select(open, (one - root.at) * h, found.left);
        found.z = lane_select(open, lane_fma(at.vz, t, at.z), found.z);
        found.distance = lane_select(open, lane_sqrt(lane_fma(y, y, x * x)), found.distance);
        found.speed = lane_select(open, lane_sqrt(lane_fma(vy, vy, vx * vx)), found.speed);
    }
    return found;
}

/* One more transit of the part at `at`. */
LANE_FN void transit_count(const shoal_kernel_args *k, lane_id id, int at, mask where, real time)
{
    const real zero = lane_set(0.0), one = lane_set(1.0);
    real s[transits_PART_SLOTS];
    for (int q = 0; q < transits_PART_SLOTS; q++)
        s[q] = lane_load(k->watch, id, at + q, k->n_watch);
    const real i = s[TRANSITS_COUNT];
    s[TRANSITS_FIRST] = lane_select(i == zero, time, s[TRANSITS_FIRST]);
    const real since = time - s[TRANSITS_FIRST];
    s[TRANSITS_PERIOD] = lane_select(i == one, since, s[TRANSITS_PERIOD]);
    const real d = lane_fnma(i, s[TRANSITS_PERIOD], since);
    s[TRANSITS_COUNT] = i + one;
    s[TRANSITS_SUM] = s[TRANSITS_SUM] + d;
    s[TRANSITS_SUM_I] = lane_fma(i, d, s[TRANSITS_SUM_I]);
    s[TRANSITS_SUM_2] = lane_fma(d, d, s[TRANSITS_SUM_2]);
    for (int q = 0; q < transits_PART_SLOTS; q++)
        lane_store(k->watch, id, at + q, k->n_watch, where, s[q]);
}

/* Where body i was taken out of the system by a mark of this step, more than the time `left` before its end: of two the
 * lighter one goes, or the later one (core/plan/events.c). */
LANE_FN mask transit_is_late(const shoal_kernel_args *k, const lane_view *view, int i, real left)
{
    const real *m = view->m;
    mask late = left != left;
    LANE_KEEP_ROLLED
    for (int j = 0; j < view->n && i > 0 && k->marks >= 0; j++) {
        const mask goes = j == 0 || j == i ? left == left : j < i ? m[j] >= m[i] : m[j] > m[i];
        const real marked = event_marked(k, view, j < i ? j : i, j < i ? i : j);
        late = late | ((lane_abs(marked) > lane_abs(left)) & goes);
    }
    return late;
}

LANE_FN void transits_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const double *parameters = k->monitor[SHOAL_MONITOR_transits];
    const int n = view->n, star = (int)parameters[TRANSITS_STAR];
    const real *m = view->m, zero = lane_set(0.0);
    (void)slots;
    LANE_UNROLL_PAIRS
    for (int i = 0; i < n; i++) {
        if (i == star)
            continue;
        const lane_pair then = pair_relative(n, view->before, star, i), now = pair_relative(n, view->after, star, i);
        const mask passes = (sky_approach(then) * view->h < zero) & (sky_approach(now) * view->h >= zero);
        const mask wanted = view->whole & is_there(m[i]) & is_there(m[star]) & passes &
                            ((then.z > zero) | (now.z > zero));
        if (!lane_any(wanted))
            continue;
        const real mu = transit_mass(k, m, star, i) + transit_mass(k, m, i, star);
        const lane_transit found = transit_find(mu, view->h, then, now, transit_pull(k, n, m, view->before, star, i),
                                                transit_pull(k, n, m, view->after, star, i), wanted);
        /* the monitors that end systems come first */
        const mask lives = lane_set(1.0) - found.left / view->h <= event->fraction;
        const mask seen = wanted & lives & (found.z > zero) & lane_not(transit_is_late(k, view, i, found.left)) &
                          lane_not(transit_is_late(k, view, star, found.left));
        const real start = lane_load(k->systems, view->id, SHOAL_SYS_T_START, SHOAL_SYS_FIELDS),
                   time = start + (view->time - found.left);
        if (i > 0)
            transit_count(k, view->id, part_slot(k, SHOAL_MONITOR_transits, transits_SLOTS, transits_PART_SLOTS, i - 1),
                          seen, time);
        real values[transits_LOG_COLUMNS];
        values[TRANSITS_OF] = lane_set((double)i);
        values[TRANSITS_BEFORE] = lane_set((double)star);
        values[TRANSITS_DISTANCE] = found.distance;
        values[TRANSITS_SPEED] = found.speed;
        if (parameters[TRANSITS_LOG] != 0.0)
            record_add(k, view, seen, SHOAL_MONITOR_transits, time, values, transits_LOG_COLUMNS, event);
    }
}
#endif
