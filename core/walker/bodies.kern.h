/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * bodies.kern.h: from a walker's parameters to its bodies: the kernel text of core/study/body.c, with its names and
 * meanings. Of what is no ellipse there is no system: its record says `invalid`.
 *
 * References: Murray & Dermott, Solar System Dynamics (1999), sections 2.4, 2.8 and 9.5; the start of Kepler's
 * equation: Danby, Fundamentals of Celestial Mechanics (1988), section 6.6.
 */
#ifndef SHOAL_WALKER_BODIES_KERN_H
#define SHOAL_WALKER_BODIES_KERN_H

#include "core/walker/walker.h"

#define WALKER_PI 0x1.921fb54442d18p+1

LANE_FN real walker_number(const shoal_walk *walk, const shoal_walker_number *number, lane_id id)
{
    return number->from < 0
               ? lane_set(number->value)
               : lane_fma(lane_set(number->factor), lane_load_row(walk->theta, id, walk->n_parameters, number->from),
                          lane_set(number->value));
}

#define WALKER_GIVEN(name)  ((body->given & 1ull << SHOAL_BODY_##name) != 0)
#define WALKER_NUMBER(name) walker_number(walk, &body->number[SHOAL_BODY_##name], id)

/* An orbit of which later ones may be told. Angles in radians; n is the mean motion; the first axis of its plane leads
 * to the pericentre. */
typedef struct walker_orbit {
    real a, e, n, pomega, sense, M;
    real first[3], second[3];
} walker_orbit;

/* The angle within -pi..pi. */
LANE_FN real walker_angle(real x)
{
    const real turns = lane_floor(x * (0.5 / WALKER_PI) + 0.5);
    return lane_fnma(turns, lane_set(0x1.1a62633145c07p-52), lane_fnma(turns, lane_set(2 * WALKER_PI), x));
}

/* The eccentric anomaly of a mean one, 0 <= e < 1: steps of third order from Danby's start. */
LANE_FN real walker_kepler(real e, real mean, mask wanted)
{
    enum { ROUNDS = 30 };
    const real M = walker_angle(mean), zero = lane_set(0.0);
    real E = M + lane_select(M < zero, -0.85 * e, 0.85 * e);
    mask open = wanted & (M == M);
    LANE_KEEP_ROLLED
    for (int round = 0; round < ROUNDS && lane_any(open); round++) {
        real s, c;
        lane_sincos(E, &s, &c);
        const real value = lane_fnma(e, s, E) - M, slope = lane_fnma(e, c, lane_set(1.0)), bend = 0.5 * e * s;
        const real newton = -value / slope, step = -value / lane_fma(newton, bend, slope);
        E = lane_select(open, E + step, E);
        open = open & (lane_abs(step) > 0x1p-50 * lane_max(lane_abs(E), lane_set(0x1p-20)));
    }
    return E;
}

/* sin E and cos E of a true anomaly, with its sine and cosine. */
LANE_FN void walker_eccentric(real e, real root, real sin_f, real cos_f, real *sin_E, real *cos_E)
{
    const real under = lane_fma(e, cos_f, lane_set(1.0));
    *sin_E = root * sin_f / under;
    *cos_E = (e + cos_f) / under;
}

/* e^x for -700 < x < 700: a series for x / 256, squared eight times with what is rounded off. */
LANE_FN real walker_exp(real x)
{
    enum { TERMS = 9, SQUARES = 8 };
    const real part = x * 0x1p-8;
    real sum = lane_set(1.0), low = lane_set(0.0);
    for (int k = TERMS; k > 0; k--)
        sum = lane_fma(sum, part / k, lane_set(1.0));
    for (int k = 0; k < SQUARES; k++) {
        const real square = sum * sum;
        low = lane_fma(2.0 * sum, low, lane_fma(sum, sum, -square));
        sum = square;
    }
    return sum + low;
}

/* The plane of an orbit; sense: which way longitudes count. */
typedef struct walker_plane {
    real sin_i, cos_i, Omega, sense;
} walker_plane;

LANE_FN mask walker_tilt(const shoal_walk *walk, lane_id id, const shoal_walker_body *body, walker_plane *plane)
{
    const real one = lane_set(1.0);
    mask good = one == one;
    plane->Omega = WALKER_NUMBER(Omega);
    if (WALKER_GIVEN(ix)) {
        const real ix = WALKER_NUMBER(ix), iy = WALKER_NUMBER(iy), square = 0.25 * lane_fma(ix, ix, iy * iy);
        good = square <= one;
        plane->cos_i = lane_fnma(lane_set(2.0), square, one);
        plane->sin_i = 2.0 * lane_sqrt(lane_max(square * (one - square), lane_set(0.0)));
        plane->Omega = lane_atan2(iy, ix);
    } else if (WALKER_GIVEN(cosi)) {
        plane->cos_i = WALKER_NUMBER(cosi);
        plane->sin_i = lane_sqrt(lane_max((one - plane->cos_i) * (one + plane->cos_i), lane_set(0.0)));
        good = lane_abs(plane->cos_i) <= one;
    } else if (WALKER_GIVEN(b)) { /* walker_cross tells the rest */
        plane->cos_i = WALKER_NUMBER(b);
        plane->sin_i = one;
    } else {
        lane_sincos(WALKER_NUMBER(inc), &plane->sin_i, &plane->cos_i);
    }
    plane->sense = lane_select(plane->cos_i < lane_set(0.0), -one, one);
    return good;
}

/* The inclination of an orbit that crosses the star at an impact parameter. */
LANE_FN mask walker_cross(const shoal_walk *walk, lane_id id, const shoal_walker_body *body, real star_radius,
                          real omega, const walker_orbit *orbit, walker_plane *plane)
{
    const real one = lane_set(1.0);
    real sin_o, cos_o;
    lane_sincos(omega, &sin_o, &cos_o);
    plane->cos_i = WALKER_NUMBER(b) * star_radius / orbit->a * lane_fma(orbit->e, sin_o, one) /
                   ((one - orbit->e) * (one + orbit->e));
    plane->sin_i = lane_sqrt(lane_max((one - plane->cos_i) * (one + plane->cos_i), lane_set(0.0)));
    return lane_abs(plane->cos_i) <= one;
}

/* Eccentricity and longitude of pericentre of an orbit; returns its argument of pericentre. */
LANE_FN real walker_apsis(const shoal_walk *walk, lane_id id, const shoal_walker_body *body, const walker_plane *plane,
                          const walker_orbit *other, walker_orbit *orbit)
{
    const bool by_longitude = WALKER_GIVEN(h) || WALKER_GIVEN(pomega) || WALKER_GIVEN(delta_pomega);
    real omega = WALKER_NUMBER(omega);
    orbit->e = WALKER_NUMBER(e);
    if (WALKER_GIVEN(e_cos)) {
        const real x = WALKER_NUMBER(e_cos), y = WALKER_NUMBER(e_sin);
        orbit->e = lane_sqrt(lane_fma(x, x, y * y));
        omega = lane_atan2(y, x);
    } else if (WALKER_GIVEN(sqrt_e_cos)) {
        const real x = WALKER_NUMBER(sqrt_e_cos), y = WALKER_NUMBER(sqrt_e_sin);
        orbit->e = lane_fma(x, x, y * y);
        omega = lane_atan2(y, x);
    }
    orbit->pomega = lane_fma(plane->sense, omega, plane->Omega);
    if (WALKER_GIVEN(h)) {
        const real h = WALKER_NUMBER(h), k = WALKER_NUMBER(k);
        orbit->e = lane_sqrt(lane_fma(h, h, k * k));
        orbit->pomega = lane_atan2(h, k);
    } else if (WALKER_GIVEN(pomega)) {
        orbit->pomega = WALKER_NUMBER(pomega);
    } else if (WALKER_GIVEN(delta_pomega)) {
        orbit->pomega = other->pomega + WALKER_NUMBER(delta_pomega);
    }
    return by_longitude ? plane->sense * (orbit->pomega - plane->Omega) : omega;
}

/* Semi-major axis and mean motion about a mass mu; hill: ((m + m') / 3 m_0), for hill_spacing. */
LANE_FN mask walker_size(const shoal_walk *walk, lane_id id, const shoal_walker_body *body, real mu, real hill,
                         const walker_orbit *other, walker_orbit *orbit)
{
    const real zero = lane_set(0.0), one = lane_set(1.0);
    mask good = mu > zero;
    if (WALKER_GIVEN(P) || WALKER_GIVEN(period_ratio)) {
        const real n = WALKER_GIVEN(P) ? 2.0 * WALKER_PI / WALKER_NUMBER(P) : other->n / WALKER_NUMBER(period_ratio);
        good = good & (n > zero) & (n < lane_set(1e150));
        orbit->n = lane_select(good, n, one);
        orbit->a = lane_cbrt(lane_select(good, mu, one) / (orbit->n * orbit->n));
        return good;
    }
    real a = WALKER_NUMBER(a);
    if (WALKER_GIVEN(hill_spacing)) {
        const real spacing = WALKER_NUMBER(hill_spacing) * 0.5 * lane_cbrt(lane_max(hill, lane_set(1e-300)));
        a = other->a * (1.0 + spacing) / (1.0 - spacing);
    }
    good = good & (a > zero) & (a < lane_set(1e100));
    orbit->a = lane_select(good, a, one);
    orbit->n = lane_sqrt(mu / orbit->a) / orbit->a;
    return good;
}

/* Where the body is on its orbit: sine and cosine of the eccentric anomaly. root: sqrt(1 - e^2). */
/* long: all ways to say it */
LANE_FN void walker_anomaly(const shoal_walk *walk, lane_id id, const shoal_walker_body *body, real omega, real root,
                            mask good, const walker_orbit *other, walker_orbit *orbit, real *sin_E, real *cos_E)
{
    const real e = orbit->e, sense = orbit->sense, n = orbit->n;
    if (WALKER_GIVEN(E)) {
        const real E = WALKER_NUMBER(E);
        lane_sincos(E, sin_E, cos_E);
        orbit->M = lane_fnma(e, *sin_E, E);
        if (!WALKER_GIVEN(epoch))
            return;
    } else if (WALKER_GIVEN(M)) {
        orbit->M = WALKER_NUMBER(M);
    } else if (WALKER_GIVEN(l)) {
        orbit->M = sense * (WALKER_NUMBER(l) - orbit->pomega);
    } else if (WALKER_GIVEN(delta_l)) {
        orbit->M = sense * (lane_fma(other->sense, other->M, other->pomega) + WALKER_NUMBER(delta_l) - orbit->pomega);
    } else if (WALKER_GIVEN(T)) {
        orbit->M = n * (walk->epoch - WALKER_NUMBER(T));
    } else if (WALKER_GIVEN(T0)) { /* the transit is at f = pi/2 - omega */
        real sin_w, cos_w, sin_t, cos_t;
        lane_sincos(omega, &sin_w, &cos_w);
        walker_eccentric(e, root, cos_w, sin_w, &sin_t, &cos_t);
        orbit->M = lane_fnma(e, sin_t, lane_atan2(sin_t, cos_t)) + n * (walk->epoch - WALKER_NUMBER(T0));
    } else { /* a true anomaly */
        const real f = WALKER_GIVEN(theta) ? sense * (WALKER_NUMBER(theta) - orbit->pomega) : WALKER_NUMBER(f);
        real sin_f, cos_f;
        lane_sincos(f, &sin_f, &cos_f);
        walker_eccentric(e, root, sin_f, cos_f, sin_E, cos_E);
        orbit->M = lane_fnma(e, *sin_E, lane_atan2(*sin_E, *cos_E));
        if (!WALKER_GIVEN(epoch))
            return;
    }
    if (WALKER_GIVEN(epoch))
        orbit->M = orbit->M + n * (walk->epoch - WALKER_NUMBER(epoch));
    lane_sincos(walker_kepler(e, orbit->M, good), sin_E, cos_E);
}

/* The mass that follows from a velocity K / sin(inc) about a mass: core/study/body.c has the equations. */
LANE_FN real walker_velocity_mass(const shoal_walk *walk, lane_id id, const shoal_walker_body *body, real within,
                                  const walker_orbit *orbit, real sin_i)
{
    enum { ROUNDS = 8 };
    const real zero = lane_set(0.0), one = lane_set(1.0);
    const real v = WALKER_NUMBER(K) * lane_sqrt(lane_max((one - orbit->e) * (one + orbit->e), zero)) / sin_i;
    if (WALKER_GIVEN(a)) {
        const real q = v * v * orbit->a;
        return lane_select(v > zero, 0.5 * (q + lane_sqrt(q * (q + 4.0 * within))), v); /* below 0 there is no ln L */
    }
    const real z = v / lane_cbrt(orbit->n * within), y = z * z * z;
    real x = lane_fma(lane_set(2.0), z, y);
    for (int round = 0; round < ROUNDS; round++) {
        const real more = one + x;
        x = x - (x * x * x - y * more * more) / (3.0 * x * x - 2.0 * y * more);
    }
    return lane_select(z > zero, x * within, z);
}

/* The mass of body i that follows from its orbit about a mass. */
LANE_FN real walker_mass_of_orbit(const shoal_walk *walk, lane_id id, int i, real within, real star_radius,
                                  walker_orbit *orbits)
{
    enum { ROUNDS = 12 }; /* of an inclination that depends on the mass, a little */
    const shoal_walker_body *body = &walk->bodies[i];
    const walker_orbit other = orbits[body->relative_to];
    walker_orbit orbit;
    walker_plane plane;
    const mask tilted = walker_tilt(walk, id, body, &plane);
    const real omega = walker_apsis(walk, id, body, &plane, &other, &orbit);
    real mass = lane_set(0.0);
    LANE_KEEP_ROLLED
    for (int round = 0; round < (WALKER_GIVEN(b) ? ROUNDS : 1); round++) {
        mask good = tilted & walker_size(walk, id, body, within + mass, lane_set(0.0), &other, &orbit);
        if (WALKER_GIVEN(b))
            good = good & walker_cross(walk, id, body, star_radius, omega, &orbit, &plane);
        mass = WALKER_GIVEN(K) ? walker_velocity_mass(walk, id, body, within, &orbit, plane.sin_i)
                               : WALKER_NUMBER(msini) / plane.sin_i;
        mass = lane_select(good & (plane.sin_i > lane_set(1e-12)), mass, lane_set(-1.0)); /* none */
    }
    return mass;
}

/* The orbit of body i about a mass mu and its state there; false where there is none. */
/* long: what makes an orbit, and what comes of it */
LANE_FN mask walker_place(const shoal_walk *walk, lane_id id, int i, real mu, const real *m, real star_radius,
                          walker_orbit *orbits, real state[6])
{
    const shoal_walker_body *body = &walk->bodies[i];
    const walker_orbit other = orbits[body->relative_to];
    walker_orbit *orbit = &orbits[i];
    const real zero = lane_set(0.0), one = lane_set(1.0);
    walker_plane plane;
    mask good = walker_tilt(walk, id, body, &plane);
    const real omega = walker_apsis(walk, id, body, &plane, &other, orbit);
    orbit->sense = plane.sense;
    good = good & walker_size(walk, id, body, mu, (m[i] + m[body->relative_to]) / (3.0 * m[0]), &other, orbit) &
           (orbit->e >= zero) & (orbit->e < one);
    if (WALKER_GIVEN(b))
        good = good & walker_cross(walk, id, body, star_radius, omega, orbit, &plane);
    const real e = orbit->e = lane_select(good, orbit->e, zero);
    const real root = lane_sqrt((one - e) * (one + e));
    real sin_E, cos_E;
    walker_anomaly(walk, id, body, omega, root, good, &other, orbit, &sin_E, &cos_E);

    /* within the plane, first axis to the pericentre */
    const real shape = lane_fnma(e, cos_E, one), speed = orbit->n * orbit->a / shape;
    const real x = orbit->a * (cos_E - e), y = orbit->a * root * sin_E, vx = -speed * sin_E, vy = speed * root * cos_E;
    real sin_O, cos_O, sin_o, cos_o;
    lane_sincos(plane.Omega, &sin_O, &cos_O);
    lane_sincos(omega, &sin_o, &cos_o);
    const real first[3] = {cos_O * cos_o - sin_O * sin_o * plane.cos_i, sin_O * cos_o + cos_O * sin_o * plane.cos_i,
                           sin_o * plane.sin_i},
               second[3] = {-cos_O * sin_o - sin_O * cos_o * plane.cos_i, -sin_O * sin_o + cos_O * cos_o * plane.cos_i,
                            cos_o * plane.sin_i};
    for (int c = 0; c < 3; c++) {
        orbit->first[c] = first[c];
        orbit->second[c] = second[c];
        state[c] = lane_fma(x, first[c], y * second[c]);
        state[3 + c] = lane_fma(vx, first[c], vy * second[c]);
        good = good & (lane_abs(state[c]) < lane_set(1e100)) & (lane_abs(state[3 + c]) < lane_set(1e100));
    }
    return good;
}

LANE_FN bool walker_mass_follows(const shoal_walker_body *body)
{
    return WALKER_GIVEN(K) || (WALKER_GIVEN(msini) && WALKER_GIVEN(b));
}

LANE_FN real walker_mass(const shoal_walk *walk, lane_id id, int i, real star_mass)
{
    const shoal_walker_body *body = &walk->bodies[i];
    if (WALKER_GIVEN(mass_ratio))
        return WALKER_NUMBER(mass_ratio) * star_mass;
    if (WALKER_GIVEN(log10_m))
        return body->mass_unit * walker_exp(0x1.26bb1bbb55516p+1 * WALKER_NUMBER(log10_m));
    if (!WALKER_GIVEN(msini) && !WALKER_GIVEN(m)) {
        const real r = WALKER_NUMBER(r);
        return 4.0 / 3.0 * WALKER_PI * WALKER_NUMBER(density) * r * r * r;
    }
    if (!WALKER_GIVEN(msini))
        return WALKER_NUMBER(m);
    walker_plane plane;
    (void)walker_tilt(walk, id, body, &plane);
    return lane_select(plane.sin_i > lane_set(1e-12), WALKER_NUMBER(msini) / plane.sin_i, lane_set(-1.0)); /* none */
}

LANE_FN real walker_radius(const shoal_walk *walk, lane_id id, int i, real m)
{
    const shoal_walker_body *body = &walk->bodies[i];
    return WALKER_GIVEN(density) && !WALKER_GIVEN(r) ? lane_cbrt(m / (4.0 / 3.0 * WALKER_PI * WALKER_NUMBER(density)))
                                                     : WALKER_NUMBER(r);
}

/* Whether radius and density can be, of a body with a mass that can. */
LANE_FN mask walker_is_solid(const shoal_walk *walk, lane_id id, int i, real m)
{
    const shoal_walker_body *body = &walk->bodies[i];
    const real zero = lane_set(0.0), most = lane_set(1e100), r = walker_radius(walk, id, i, m);
    mask good = (r >= zero) & (r < most);
    if (WALKER_GIVEN(density))
        good = good & (WALKER_NUMBER(density) > zero);
    return good;
}

/* 1 for a mass that cannot be. */
LANE_FN mask walker_check_mass(real *m)
{
    const mask good = (*m >= lane_set(0.0)) & (*m < lane_set(1e100));
    *m = lane_select(good, *m, lane_set(1.0));
    return good;
}

/* The bodies of the walkers in barycentric coordinates: w = [6][n]. False where there are none. */
LANE_FN mask walker_make(const shoal_walk *walk, lane_id id, int n, real *m, real *w, walker_orbit *orbits)
{
    const real zero = lane_set(0.0);
    real total = zero, enclosed, centre[6], state[6];
    mask good = zero == zero;
    for (int i = 0; i < n; i++)
        if (!walker_mass_follows(&walk->bodies[i])) {
            m[i] = walker_mass(walk, id, i, m[0]);
            good = good & walker_check_mass(&m[i]);
            total = total + m[i];
        }
    good = good & (m[0] > zero) & walker_is_solid(walk, id, 0, m[0]);
    const real star_radius = walker_radius(walk, id, 0, m[0]);
    enclosed = m[0];
    for (int c = 0; c < 6; c++)
        centre[c] = w[c * n] = zero;
    for (int i = 1; i < n; i++) {
        if (walker_mass_follows(&walk->bodies[i])) { /* not with barycentric elements */
            m[i] = walker_mass_of_orbit(walk, id, i, walk->frame == SHOAL_JACOBI ? enclosed : m[0], star_radius,
                                        orbits);
            good = good & walker_check_mass(&m[i]);
        }
        good = good & walker_is_solid(walk, id, i, m[i]);
        enclosed = enclosed + m[i];
        const real mu = walk->frame == SHOAL_JACOBI ? enclosed : walk->frame == SHOAL_BARYCENTRIC ? total : m[0] + m[i];
        good = good & walker_place(walk, id, i, mu, m, star_radius, orbits, state);
        for (int c = 0; c < 6; c++) {
            w[c * n + i] = state[c] + (walk->frame == SHOAL_JACOBI ? centre[c] : zero);
            centre[c] = lane_fma(m[i] / enclosed, state[c], centre[c]);
        }
    }
    total = enclosed;
    for (int c = 0; c < 6; c++) {
        real sum = zero;
        for (int i = 1; i < n; i++)
            sum = lane_fma(m[i], w[c * n + i], sum);
        if (walk->frame == SHOAL_BARYCENTRIC) {
            w[c * n] = -sum / m[0];
            continue;
        }
        for (int i = 0; i < n; i++)
            w[c * n + i] = w[c * n + i] - sum / total;
    }
    return good;
}

#include "core/walker/ellipses.kern.h"
#include "core/walker/stability.kern.h"

/* Whether the last leg led nowhere. */
LANE_FN mask walker_ended(const shoal_kernel_args *k, lane_id id)
{
    return lane_load(k->systems, id, SHOAL_SYS_OUTCOME, SHOAL_SYS_FIELDS) != lane_set(SHOAL_RUNNING);
}

/* ln L of what comes before the data, and nothing met yet. The second leg keeps what came of the first. */
LANE_FN void walker_clear(const shoal_kernel_args *k, lane_id id, mask there)
{
    const shoal_walk *walk = k->walk;
    const shoal_sights *sights = &walk->leg[k->walk_leg];
    const real zero = lane_set(0.0), nan = zero / zero;
    if (k->walk_leg == SHOAL_BACKWARDS && walk->leg[SHOAL_FORWARDS].n_times > 0) {
        lane_store_row(walk->lnl, id, 1, 0, there & walker_ended(k, id), -1.0 / zero);
        return;
    }
    lane_store_row(walk->lnl, id, 1, 0, there, zero);
    for (int row = 0; row < sights->n_rows * sights->n_met; row++)
        lane_store(sights->met, id, row, sights->n_rows * sights->n_met, there, nan);
}

/* Whether steps resolve the orbits whose conjunctions are seen: even at the pericentre a body turns by a radian at
 * most. Longer steps could pass two conjunctions at once. */
LANE_FN mask walker_resolves(const shoal_walk *walk, int n, const real *m, const real *w)
{
    const shoal_sights *sights = &walk->leg[SHOAL_FORWARDS];
    const real zero = lane_set(0.0);
    mask good = zero == zero;
    for (int q = 0; q < 2 * sights->n_conjunctions && walk->fixed; q++) {
        const shoal_conjunctions *of = &sights->conjunctions[q / 2];
        const int i = q % 2 ? of->of : of->body;
        if (i == 0)
            continue;
        real d[6], r2 = zero, v2 = zero, rv = zero;
        for (int c = 0; c < 6; c++)
            d[c] = w[c * n + i] - w[c * n];
        for (int c = 0; c < 3; c++) {
            r2 = lane_fma(d[c], d[c], r2);
            v2 = lane_fma(d[c + 3], d[c + 3], v2);
            rv = lane_fma(d[c], d[c + 3], rv);
        }
        const real mu = m[0] + m[i], L2 = r2 * v2 - rv * rv, p = L2 / mu, energy = 0.5 * v2 - mu / lane_sqrt(r2),
                   e2 = lane_max(lane_fma(2.0 * energy, p / mu, lane_set(1.0)), zero),
                   pericentre = p / (lane_sqrt(e2) + 1.0);
        good = good & (walk->step * lane_sqrt(L2) < pericentre * pericentre);
    }
    return good;
}

/* The progress of a leg at its end. */
LANE_FN real walker_end_of(const shoal_walk *walk, int leg, int n, const walker_orbit *orbits)
{
    if (!(walk->orbits > 0))
        return lane_set(walk->end[leg]);
    real fastest = orbits[1].n;
    for (int i = 2; i < n; i++)
        fastest = lane_max(fastest, orbits[i].n);
    const real span = 2 * WALKER_PI * walk->orbits / fastest;
    return walk->fixed ? lane_floor(span / walk->step + 1e-9) : span;
}

/* A leg begins: bodies, and the record of a system that has made no step. */
LANE_FN void kernel_walker_begin(const shoal_kernel_args *k, const lane_id *lane, const mask *walks)
{
    const lane_id id = *lane;
    const mask there = *walks;
    const shoal_walk *walk = k->walk;
    const int n = walk->n_bodies, back = k->walk_leg == SHOAL_BACKWARDS;
    const real zero = lane_set(0.0);
    real m[LANE_ROOM(n)], w[6 * LANE_ROOM(n)];
    walker_orbit orbits[LANE_ROOM(n)];
    walker_clear(k, id, there);
    mask good = walker_make(walk, id, n, m, w, orbits);
    good = good & walker_resolves(walk, n, m, w);
    if (walk->stability == SHOAL_STABLE_AMD || walk->stability == SHOAL_STABLE_HILL)
        good = good & walker_stable(walk, n, m, orbits);
    for (int i = 0; i < n; i++) {
        const int slots = n * SHOAL_QUANTITIES, at = i * SHOAL_QUANTITIES;
        for (int c = 0; c < 6; c++)
            lane_store(k->bodies, id, at + c, slots, there, lane_select(good, w[c * n + i], lane_set(i + 1.0)));
        lane_store(k->bodies, id, at + SHOAL_M, slots, there, m[i]);
        lane_store(k->bodies, id, at + SHOAL_R, slots, there, walker_radius(walk, id, i, m[i]));
    }
    for (int slot = 0; slot < walk->n_watch; slot++)
        lane_store(k->watch, id, slot, walk->n_watch, there, lane_set(walk->watch[slot]));
    const real outcome = lane_select(good, lane_set(SHOAL_RUNNING), lane_set(SHOAL_INVALID)),
               end = walker_end_of(walk, k->walk_leg, n, orbits);
    for (int field = 0; field < SHOAL_SYS_FIELDS; field++) {
        const real value = field == SHOAL_SYS_T_START   ? lane_set(walk->epoch)
                           : field == SHOAL_SYS_DT      ? lane_set(back ? -walk->step : walk->step)
                           : field == SHOAL_SYS_END     ? end
                           : field == SHOAL_SYS_OUTCOME ? outcome
                           : field == SHOAL_SYS_N_LIVE  ? lane_set(n)
                                                        : zero;
        lane_store(k->systems, id, field, SHOAL_SYS_FIELDS, there, value);
    }
    for (int i = 1; i < n; i++) /* nothing is seen of what cannot be */
        orbits[i].a = lane_select(good, orbits[i].a, zero / zero);
    if (walk->keplerian)
        walker_ellipses(walk, &walk->leg[k->walk_leg], id, there, n, m, orbits);
}

#undef WALKER_GIVEN
#undef WALKER_NUMBER

#endif
