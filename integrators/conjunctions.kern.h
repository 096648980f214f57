/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * conjunctions.kern.h: a part of integrate.kern.h. When a body is in conjunction with body 0, the star: their distance
 * in the plane of the sky is least, with +z towards the observer. Such moments are zeros of g = x vx + y vy of the
 * motion about the star (Fabrycky 2010, arXiv:1006.3834), where g passes from - to + in time's direction. It is asked
 * of every step: of an interval that has its later end, so that two legs from one epoch see each conjunction once.
 *
 * The moment is sought by Newton's iteration inside a bracket, on the propagator's own motion: steps of a part of the
 * length, on copies, so that the trajectory does not change. A sign of g that changes twice within a step is not seen.
 *
 * The same of any two bodies, mutual conjunctions: their g lies in memory, in a row of sights.met. With light travel
 * each is where the light that meets left it: body at t, the other one at t - (z - z') / c.
 *
 * A thread looks after some of the bodies: its lane's, all but the star; of a team, SIGNS at most. It has their g. To
 * find a moment all threads of a team do the same.
 */
#if TEAM > 1
#define SIGNS(n) ((TEAM_BODIES - 2) / TEAM + 1)
#else
#define SIGNS(n) ((n)-1)
#endif
#define SIGHTS_SIZE(n) (1 + SIGNS(n))

/* The i-th body that a thread looks after; of a team it may be none that there is. */
LANE_FN int sign_body(int i)
{
#if TEAM > 1
    return 1 + team_place() + i * TEAM;
#else
    return 1 + i;
#endif
}

enum { CONJUNCTION_ROUNDS = 60 };

/* In units of the step, from its end: where a conjunction that was passed in it can be. What a step owes comes
 * later. */
#define CONJUNCTION_FROM (PROPAGATOR_OWES ? -2.0 : -1.01)
#define CONJUNCTION_TO   (PROPAGATOR_OWES ? 1.0 : 0.01)

/* g of a thread's bodies, from a view of its own. */
LANE_FN void conjunctions_signs(const shoal_kernel_args *k, const real *own, real *g)
{
    const int n = BODIES(k), bodies = system_bodies(k, n);
    const real *w = view_whole(n, own);
    LANE_UNROLL
    for (int i = 0; i < SIGNS(n); i++)
        g[i] = sky_approach(pair_relative(bodies, w, 0, sign_body(i) < bodies ? sign_body(i) : 0));
}

/* Where g went from `was` to `is`, in the direction of h: whether it passed. */
LANE_FN mask conjunction_passed(real was, real is, real h)
{
    const real zero = lane_set(0.0);
    const mask before = was < zero, after = is<zero, forwards = h> zero;
    return (forwards & before & lane_not(after)) | (lane_not(forwards) & lane_not(before) & after);
}

/* The end of a step of length h: masses, state, time. */
typedef struct lane_end {
    const real *m, *s;
    real h, time;
} lane_end;

/* g of a mutual conjunction, with light travel to first order: enough to see in which step it is. */
LANE_FN real mutual_sign(int n, const real *w, const shoal_conjunctions *of)
{
    lane_pair p = pair_relative(n, w, of->of, of->body);
    const real vx = w[3 * n + of->of], vy = w[4 * n + of->of], late = of->light * p.z, rate = of->light * p.vz;
    p.x = lane_fma(vx, late, p.x);
    p.y = lane_fma(vy, late, p.y);
    p.vx = lane_fma(vx, rate, p.vx);
    p.vy = lane_fma(vy, rate, p.vy);
    return sky_approach(p);
}

LANE_FN void mutual_store(const shoal_kernel_args *k, lane_id id, const real *w, mask where)
{
    const shoal_sights *sights = &k->sights;
    const int bodies = system_bodies(k, BODIES(k));
    LANE_KEEP_ROLLED
    for (int q = 0; q < sights->n_conjunctions; q++)
        if (sights->conjunctions[q].track >= 0)
            lane_store(sights->met, id, sights->conjunctions[q].track * sights->n_met, sights->n_rows * sights->n_met,
                       team_speaks(where, 1), mutual_sign(bodies, w, &sights->conjunctions[q]));
}

LANE_FN real mutual_load(const shoal_kernel_args *k, lane_id id, const shoal_conjunctions *of)
{
    return lane_load(k->sights.met, id, of->track * k->sights.n_met, k->sights.n_rows * k->sights.n_met);
}

/* Whether two bodies passed each other in the last step; if none did, their g is that of now. */
LANE_CALLED_FN mask mutual_seek(const shoal_kernel_args *k, lane_id id, const lane_end *end, mask live)
{
    const int n = BODIES(k), bodies = system_bodies(k, n);
    real own[6 * n];
    mask passed = live & lane_not(live);
    propagator_view(k, n, end->m, end->s, own);
    const real *w = view_whole(n, own);
    LANE_KEEP_ROLLED
    for (int q = 0; q < k->sights.n_conjunctions; q++) {
        const shoal_conjunctions *of = &k->sights.conjunctions[q];
        if (of->track >= 0)
            passed = passed | (live & conjunction_passed(mutual_load(k, id, of), mutual_sign(bodies, w, of), end->h));
    }
    team_sync(); /* all have read the old signs */
    if (!lane_any(passed))
        mutual_store(k, id, w, live);
    return passed;
}

/* The same for a state in registers, where it stays: what is called has copies. */
LANE_BIG_FN mask mutual_passed(const shoal_kernel_args *k, lane_id id, const real *m, const real *s, real h, mask live)
{
    const int n = BODIES(k);
    real masses[n], state[STATE_SIZE(n)];
    const lane_end end = {masses, state, h, h};
    LANE_UNROLL_GPU
    for (int i = 0; i < n; i++)
        masses[i] = m[i];
    state_copy(k, s, state);
    return mutual_seek(k, id, &end, live);
}

/* Whether a body of the thread passed in the last step; if none did, g is that of now. */
LANE_FN mask conjunctions_passed(const shoal_kernel_args *k, lane_id id, const real *m, const real *s, real h,
                                 mask live, real *g)
{
    const int n = BODIES(k);
    real own[6 * n], now[SIGNS(n)];
    mask passed = h != h;
    propagator_view(k, n, m, s, own);
    conjunctions_signs(k, own, now);
    LANE_UNROLL
    for (int i = 0; i < SIGNS(n); i++)
        passed = passed | conjunction_passed(g[i], now[i], h);
    passed = passed & live;
    if (k->sights.n_mutual > 0)
        passed = passed | mutual_passed(k, id, m, s, h, live);
    if (!lane_any(passed)) {
        LANE_UNROLL
        for (int i = 0; i < SIGNS(n); i++)
            g[i] = now[i];
    }
    return passed;
}

/* Barycentric coordinates a time tau after the last step, in steps that are no longer than it: in `own`, or of a team
 * in memory that it shares. */
LANE_CALLED_FN const real *conjunction_view(const shoal_kernel_args *k, const lane_end *end, real tau, real *own)
{
    const int n = BODIES(k);
    const real zero = lane_set(0.0), one = lane_set(1.0), length = lane_abs(end->h);
    const real parts = PROPAGATOR_ADAPTIVE ? one : lane_max(one, -lane_floor(0.05 - lane_abs(tau) / length)),
               part = lane_select(tau == zero, zero, tau / parts), attempt = lane_select(tau < zero, -length, length);
    real there[STATE_SIZE(n)], made = zero;
    state_copy(k, end->s, there);
    LANE_KEEP_ROLLED
    do {
        advance_copy(k, end->m, there, lane_select(made < parts, part, zero), attempt);
        made = made + one;
    } while (team_goes_on(made < parts));
    system_view(k, end->m, there, own);
    return view_whole(n, own);
}

/* The motion of a body about the one that it passes, a time tau after the last step, in the lanes `open`; *z: its
 * height above the barycentre, towards the observer. */
LANE_CALLED_FN lane_pair conjunction_at(const shoal_kernel_args *k, const lane_end *end, const shoal_conjunctions *of,
                                        mask open, real tau, real *z)
{
    enum { ROUNDS = 2 }; /* each with 1e-4, a velocity in units of light's, of the error before */
    const int n = BODIES(k), bodies = system_bodies(k, n), i = of->body, j = of->of;
    real own[6 * n], at[6];
    const real *w = conjunction_view(k, end, tau, own);
    lane_pair p = pair_relative(bodies, w, j, i);
    LANE_UNROLL_XYZ
    for (int c = 0; c < 6; c++)
        at[c] = w[c * bodies + i];
    *z = at[2];
    LANE_KEEP_ROLLED
    for (int round = 0; round < (of->light > 0 ? ROUNDS : 0); round++) {
        w = conjunction_view(k, end, lane_select(open, lane_fnma(lane_set(of->light), p.z, tau), lane_set(0.0)), own);
        const real rate = (1.0 - of->light * at[5]) / (1.0 - of->light * w[5 * bodies + j]);
        p.x = at[0] - w[j];
        p.y = at[1] - w[bodies + j];
        p.z = at[2] - w[2 * bodies + j];
        p.vx = lane_fnma(rate, w[3 * bodies + j], at[3]);
        p.vy = lane_fnma(rate, w[4 * bodies + j], at[4]);
        p.vz = lane_fnma(rate, w[5 * bodies + j], at[5]);
    }
    return p;
}

/* How long something takes, and how far the body comes towards the observer meanwhile. */
typedef struct lane_while {
    real time, rise;
} lane_while;

/* What is found of a conjunction. */
typedef struct lane_met {
    real tau, z, height;  /* tau: after the last step; z: towards the observer, from the other, the barycentre */
    real distance, speed; /* in the plane of the sky */
    lane_while duration, ingress, egress; /* NaN where disks have no contact from within */
} lane_met;

/* long: what its caller has. The squared distance in the plane of the sky a time t after mid-transit, less that of a
 * contact; *slope: half of its derivative; *z: the body's height. In the lanes `open`. */
LANE_FN real contact_off(const shoal_kernel_args *k, const lane_end *end, const shoal_conjunctions *of,
                         const lane_met *met, real reach, real t, mask open, real *slope, real *z)
{
    const lane_pair p = conjunction_at(k, end, of, open, lane_select(open, met->tau + t, lane_set(0.0)), z);
    *slope = sky_approach(p);
    return lane_fma(p.x, p.x, lane_fma(p.y, p.y, -reach * reach));
}

/* From mid-transit to the first contact at the distance `reach` of the centres, after it or, side < 0, before it; 0
 * where they do not touch. It lies between two moments, not far apart in an orbit: where the straight path is slow,
 * bodies may come back within it. NaN where there is none for many steps. */
LANE_FN lane_while conjunction_contact(const shoal_kernel_args *k, const lane_end *end, const shoal_conjunctions *of,
                                       const lane_met *met, real reach, double side, mask where)
{
    const real zero = lane_set(0.0), one = lane_set(1.0), chord = reach * reach - met->distance * met->distance;
    const mask touch = where & (chord > zero);
    const real straight = lane_select(touch, lane_sqrt(lane_select(touch, chord, one)) / met->speed, zero),
               pace = lane_min(2.0 * straight, (PROPAGATOR_ADAPTIVE ? 0.25 : 4.0) * lane_abs(end->h));
    real low = zero, high = pace, height = met->height, slope, z;
    mask within = touch;
    LANE_KEEP_ROLLED
    for (int round = 0; round < CONJUNCTION_ROUNDS && team_goes_on(within); round++) {
        const real off = contact_off(k, end, of, met, reach, side * high, within, &slope, &z);
        within = within & (off < zero);
        low = lane_select(within, high, low);
        high = lane_select(within, high + pace, high);
    }
    const real unit = lane_select(touch, high, one), half = 0.5 * (low + high),
               guess = lane_select((straight > low) & (straight < high), straight, half);
    const mask between = touch & lane_not(within);
    lane_root root = {low / unit, high / unit, guess / unit, lane_set(4.0), between};
    LANE_KEEP_ROLLED
    for (int round = 0; round < CONJUNCTION_ROUNDS && team_goes_on(root.open); round++) {
        const mask open = root.open;
        const real off = contact_off(k, end, of, met, reach, side * root.at * unit, open, &slope, &z);
        root_next(&root, off < zero, root.at - off / (2.0 * side * unit * slope));
        height = lane_select(open, z, height);
    }
    const lane_while passed = {lane_select(within, zero / zero, root.at * unit), side * (height - met->height)};
    return passed;
}

/* The contacts from without, at the distance reach[0], and from within, at reach[1]. */
LANE_FN void conjunction_contacts(const shoal_kernel_args *k, const lane_end *end, const shoal_conjunctions *of,
                                  const real reach[2], mask where, lane_met *met)
{
    const real zero = lane_set(0.0);
    LANE_KEEP_ROLLED
    for (int side = -1; side <= 1; side += 2) {
        const lane_while outer = conjunction_contact(k, end, of, met, reach[0], side, where);
        met->duration.time = met->duration.time + outer.time;
        met->duration.rise = met->duration.rise + outer.rise;
        if (k->sights.n_met <= SHOAL_MET_INGRESS)
            continue;
        const lane_while inner = conjunction_contact(k, end, of, met, reach[1], side, where),
                         between = {lane_select(inner.time > zero, outer.time - inner.time, zero / zero),
                                    outer.rise - inner.rise};
        if (side < 0)
            met->ingress = between;
        else
            met->egress = between;
    }
}

/* A body passed in the last step: its g was `was` before it and is `is` at its end. reach: distances of contact. The
 * slope of g is that of a motion about the star; of mutual ones, which others bend, the secant's. */
LANE_FN lane_met conjunction_find(const shoal_kernel_args *k, const lane_end *end, const shoal_conjunctions *of,
                                  real was, real is, const real reach[2], mask where)
{
    const bool mutual = of->track >= 0;
    const real zero = lane_set(0.0), h = end->h, mu = team_mass(end->m, of->of) + team_mass(end->m, of->body);
    real g_last = zero, u_last = lane_set(1e9);
    lane_root root = {lane_set(CONJUNCTION_FROM), lane_set(CONJUNCTION_TO), lane_select(where, -is / (is - was), zero),
                      lane_set(4.0), where};
    const lane_while none = {zero, zero};
    lane_met met = {zero, zero, zero, zero, lane_set(1.0), none, none, none};
    LANE_KEEP_ROLLED
    for (int round = 0; round < CONJUNCTION_ROUNDS && team_goes_on(root.open); round++) {
        const mask open = root.open;
        const real u = root.at;
        real height;
        const lane_pair p = conjunction_at(k, end, of, open, lane_select(open, u * h, zero), &height);
        const real g = sky_approach(p), inverse = lane_rsqrt(pair_dot(p.x, p.y, p.z, p.x, p.y, p.z)),
                   sky = lane_fma(p.y, p.y, p.x * p.x), speed2 = lane_fma(p.vy, p.vy, p.vx * p.vx);
        real slope = speed2 - mu * (inverse * inverse * inverse) * sky;
        if (mutual) {
            const real secant = (g - g_last) / (h * (u - u_last));
            slope = lane_select((lane_set(round) > zero) & (secant > zero), secant, slope);
            g_last = g;
            u_last = u;
        }
        root_next(&root, g * h < zero, u - g / (h * slope));
        const real t = (root.at - u) * h, x = lane_fma(p.vx, t, p.x), y = lane_fma(p.vy, t, p.y);
        met.tau = lane_select(open, root.at * h, met.tau);
        met.z = lane_select(open, lane_fma(p.vz, t, p.z), met.z);
        met.height = lane_select(open, height, met.height);
        met.distance = lane_select(open, lane_sqrt(lane_fma(y, y, x * x)), met.distance);
        met.speed = lane_select(open, lane_sqrt(speed2), met.speed);
    }
    if (k->sights.n_met > SHOAL_MET_DURATION)
        conjunction_contacts(k, end, of, reach, where, &met);
    return met;
}

/* The time between two moments as light of the body brings them. */
LANE_FN real conjunction_lasts(const shoal_conjunctions *of, lane_while between)
{
    return lane_fnma(lane_set(of->light), between.rise, between.time);
}

/* The number of a conjunction at a time, by the ephemeris, from the first that is listed. *off: periods from it. */
LANE_FN real conjunction_number(const shoal_conjunctions *of, real time, real *off)
{
    const real at = (time - of->t0) / of->period, near = lane_floor(at + 0.5);
    *off = lane_abs(at - near);
    return near - (double)of->first;
}

/* The row of such a number, in the lanes `where`; -1: it is not kept. */
LANE_FN real conjunction_row(const shoal_kernel_args *k, const shoal_conjunctions *of, mask where, real number)
{
    const mask listed = where & (number >= lane_set(0.0)) & (number < lane_set((double)of->n));
    return lane_gather(k->sights.row_of + of->row_of, listed, number);
}

/* Whether conjunctions of a list are those of two bodies: of a body and the star, or mutual ones of one track. */
LANE_FN bool conjunction_is(const shoal_conjunctions *listed, const shoal_conjunctions *of)
{
    return listed->body == of->body && listed->track == of->track;
}

/* Where a conjunction in a step, at whose end the motion is p, may be one that is kept. */
LANE_BIG_FN mask conjunction_wanted(const shoal_kernel_args *k, const shoal_conjunctions *two, lane_pair p,
                                    const lane_end *end, mask passed)
{
    const real zero = lane_set(0.0), clear = 0.5 * lane_sqrt(pair_dot(p.x, p.y, p.z, p.x, p.y, p.z));
    mask wanted = zero != zero;
    const real from = end->time + CONJUNCTION_FROM * end->h, to = end->time + CONJUNCTION_TO * end->h;
    real off;
    for (int q = 0; q < k->sights.n_conjunctions; q++) {
        const shoal_conjunctions *of = &k->sights.conjunctions[q];
        mask side = passed; /* two planets may change sides within a step */
        if (two->track < 0)
            side = of->behind ? p.z < clear : p.z > -clear;
        if (!conjunction_is(of, two))
            continue;
        const real a = conjunction_number(of, from, &off), b = conjunction_number(of, to, &off);
        const mask between = (lane_abs(a - b) > lane_set(1.0)) & (lane_max(a, b) >= zero) &
                             (lane_min(a, b) < lane_set((double)of->n)); /* numbers that neither end has */
        wanted = wanted | (side & (between | (conjunction_row(k, of, passed, a) >= zero) |
                                   (conjunction_row(k, of, passed, b) >= zero)));
    }
    return wanted;
}

/* Keep what is asked of the conjunctions of two bodies in the last step. Of those that have one number, the one nearest
 * to the ephemeris is kept. */
LANE_FN void conjunction_keep(const shoal_kernel_args *k, lane_id id, const lane_end *end,
                              const shoal_conjunctions *two, real was, real is, mask wanted)
{
    const int slots = system_bodies(k, BODIES(k)) * SHOAL_QUANTITIES, n_met = k->sights.n_met;
    const real zero = lane_set(0.0), radius = lane_load(k->bodies, id, two->of * SHOAL_QUANTITIES + SHOAL_R, slots),
               r = lane_load(k->bodies, id, two->body * SHOAL_QUANTITIES + SHOAL_R, slots),
               reach[2] = {radius + r, lane_abs(radius - r)};
    const lane_met met = conjunction_find(k, end, two, was, is, reach, wanted);
    const mask touch = wanted & ((radius == zero) | (met.distance <= reach[0]));
    for (int q = 0; q < k->sights.n_conjunctions; q++) {
        const shoal_conjunctions *of = &k->sights.conjunctions[q];
        if (!conjunction_is(of, two))
            continue;
        const real time = (end->time + met.tau) - of->light * met.height;
        real off, off_there;
        const real number = conjunction_number(of, time, &off),
                   row = conjunction_row(k, of, touch & (of->behind ? met.z < zero : met.z > zero), number);
        const real there = lane_fetch(k->sights.met, id, row * (double)n_met, k->sights.n_rows * n_met, row >= zero);
        (void)conjunction_number(of, there, &off_there);
        const mask kept = team_speaks((row >= zero) & lane_not(off_there < off), 1);
        const real values[SHOAL_MET] = {time, met.distance / radius, conjunction_lasts(of, met.duration),
                                        conjunction_lasts(of, met.ingress), conjunction_lasts(of, met.egress)};
        for (int v = 0; v < n_met; v++)
            lane_scatter(k->sights.met, id, row * (double)n_met + (double)v, k->sights.n_rows * n_met, kept, values[v]);
    }
}

/* g of all bodies, [bodies], from what the threads have of their own. */
LANE_FN void conjunctions_gather(const shoal_kernel_args *k, const real *g, real *all)
{
    const int n = BODIES(k), bodies = system_bodies(k, n);
#if TEAM > 1
    team_sync();
    for (int i = 0; i < SIGNS(n); i++)
        if (!team_is_spare() && sign_body(i) < bodies)
            team_numbers()[sign_body(i)] = g[i];
    team_sync();
    for (int b = 1; b < bodies; b++)
        all[b] = team_numbers()[b];
#else
    for (int b = 1; b < bodies; b++)
        all[b] = g[b - 1];
#endif
}

/* Keep the conjunctions of the last step, and make g, which was that before it, that of its end. */
LANE_CALLED_FN void conjunctions_keep(const shoal_kernel_args *k, lane_id id, const lane_end *end, mask live, real *g)
{
    const int n = BODIES(k), bodies = system_bodies(k, n);
    real own[6 * n], before[SYSTEM_ROOM(n)];
    propagator_view(k, n, end->m, end->s, own);
    conjunctions_gather(k, g, before);
    conjunctions_signs(k, own, g);
    LANE_KEEP_ROLLED
    for (int q = 1; q < bodies + (k->sights.n_mutual > 0 ? k->sights.n_conjunctions : 0); q++) {
        shoal_conjunctions two;
        real was, is;
        const real *w = view_whole(n, own);
        if (q < bodies) {
            two.body = q, two.of = 0, two.track = -1, two.light = 0;
            was = before[q], is = sky_approach(pair_relative(bodies, w, 0, q));
        } else {
            two = k->sights.conjunctions[q - bodies];
            if (two.track < 0)
                continue;
            was = mutual_load(k, id, &two), is = mutual_sign(bodies, w, &two);
        }
        const mask passed = live & conjunction_passed(was, is, end->h);
        if (!team_goes_on(passed))
            continue;
        const mask wanted = conjunction_wanted(k, &two, pair_relative(bodies, w, two.of, two.body), end, passed);
        if (team_goes_on(wanted))
            conjunction_keep(k, id, end, &two, was, is, wanted);
    }
    if (k->sights.n_mutual > 0)
        mutual_store(k, id, view_whole(n, own), live);
}

/* The same for a state in registers, where it stays: what is called has copies. */
LANE_BIG_FN void conjunctions_see(const shoal_kernel_args *k, lane_id id, const real *m, const real *s,
                                  const lane_clock *clock, mask live, real *g)
{
    const int n = BODIES(k);
    real masses[n], state[STATE_SIZE(n)], of[SIGNS(n)];
    const lane_end end = {masses, state, clock_length(clock),
                          record_load(k, id, SHOAL_SYS_T_START) + clock_time(clock, lane_set(1.0))};
    LANE_UNROLL_GPU
    for (int i = 0; i < n; i++)
        masses[i] = m[i];
    LANE_UNROLL_GPU
    for (int i = 0; i < SIGNS(n); i++)
        of[i] = g[i];
    state_copy(k, s, state);
    conjunctions_keep(k, id, &end, live, of);
    LANE_UNROLL_GPU
    for (int i = 0; i < SIGNS(n); i++)
        g[i] = of[i];
}

/* g where systems begin. */
LANE_FN void conjunctions_begin(const shoal_kernel_args *k, lane_id id, mask there, const real *m, const real *s,
                                real *g)
{
    const int n = BODIES(k);
    real own[6 * n];
    system_view(k, m, s, own);
    conjunctions_signs(k, own, g);
    if (k->sights.n_mutual > 0)
        mutual_store(k, id, view_whole(n, own), there);
}
