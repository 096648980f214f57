/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * orbit.kern.h: osculating orbits, for the monitors of elements.
 *
 * With the relative position x, the velocity v and mu = G times the mass that they refer to, L = x cross v:
 *
 *     1/a = 2/r - v^2/mu          p = L^2/mu          e cos f = p/r - 1          e sin f = sqrt(p/mu) (x.v)/r
 *     sin^2(i/2) = (Lx^2 + Ly^2) / (2 L (L + Lz))
 *
 * (Murray & Dermott 1999, section 2.8), in forms that lose no digits for small e and i.
 *
 * Longitudes come from equinoctial elements (Broucke & Cefola 1972, Celest. Mech. 5, 303): in the frame
 *
 *     f = (1 - Wx^2 / (1 + Wz), -Wx Wy / (1 + Wz), -Wx),    g = (-Wx Wy / (1 + Wz), 1 - Wy^2 / (1 + Wz), -Wy),    W = L
 *         / |L|
 *
 * with k = e cos varpi, h = e sin varpi, eta = sqrt(1 - e^2), beta = 1 / (1 + eta), and F = varpi + eccentric anomaly,
 *
 *     cos F = k + ((1 - k^2 beta) X - h k beta Y) / (a eta),    sin F = h + ((1 - h^2 beta) Y - h k beta X) / (a eta)
 *     lambda = F + h cos F - k sin F
 *
 * They are singular for i = pi. A retrograde orbit is seen in a mirror, with -y for y: its longitudes varpi = Omega -
 * omega and lambda = varpi - M, as configs have them, have the other sign there. They jump where an orbit passes
 * i = pi/2.
 */
#ifndef SHOAL_ORBIT_KERN_H
#define SHOAL_ORBIT_KERN_H

#include "monitors/pair.kern.h"

enum { ORBIT_JACOBI = 0, ORBIT_ASTROCENTRIC = 1 }; /* the choices of `elements` */

/* What the next body orbits: body 0, or the barycentre of those before it. */
typedef struct orbit_focus {
    real mass, x[6];
} orbit_focus;

LANE_FN orbit_focus orbit_first_focus(int n, const real *m, const real *w)
{
    orbit_focus focus;
    focus.mass = m[0];
    LANE_UNROLL_XYZ
    for (int c = 0; c < 6; c++)
        focus.x[c] = w[c * n];
    return focus;
}

/* Motion of body i = 1, 2, ... about its focus, and its mu; with Jacobi elements it becomes part of the next one's. */
/* long: inlined; three of its arguments are the system */
LANE_FN lane_pair orbit_motion(const shoal_kernel_args *k, int n, const real *m, const real *w, int i, int elements,
                               orbit_focus *focus, real *mu)
{
    lane_pair p;
    p.x = w[i] - focus->x[0];
    p.y = w[n + i] - focus->x[1];
    p.z = w[2 * n + i] - focus->x[2];
    p.vx = w[3 * n + i] - focus->x[3];
    p.vy = w[4 * n + i] - focus->x[4];
    p.vz = w[5 * n + i] - focus->x[5];
    *mu = focus->mass + m[i];
    if (elements == ORBIT_JACOBI) {
        const real share = m[i] / *mu;
        focus->x[0] = lane_fma(share, p.x, focus->x[0]);
        focus->x[1] = lane_fma(share, p.y, focus->x[1]);
        focus->x[2] = lane_fma(share, p.z, focus->x[2]);
        focus->x[3] = lane_fma(share, p.vx, focus->x[3]);
        focus->x[4] = lane_fma(share, p.vy, focus->x[4]);
        focus->x[5] = lane_fma(share, p.vz, focus->x[5]);
        focus->mass = *mu;
    }
    *mu = lane_max(pulling_mass(k, m, i, *mu), lane_set(1e-300)); /* pushed away: unbound */
    return p;
}

typedef struct lane_orbit {
    real inverse_a; /* not above 0: unbound */
    real e2;
    real half_tilt;                /* sin^2(i/2) */
    real r, v2, rv, lx, ly, lz, l; /* distance, v^2, x.v, angular momentum */
} lane_orbit;

LANE_FN lane_orbit orbit_elements(lane_pair p, real mu)
{
    lane_orbit o;
    const real r2 = pair_dot(p.x, p.y, p.z, p.x, p.y, p.z), inverse_r = lane_rsqrt(r2);
    o.r = r2 * inverse_r;
    o.v2 = pair_dot(p.vx, p.vy, p.vz, p.vx, p.vy, p.vz);
    o.rv = pair_dot(p.x, p.y, p.z, p.vx, p.vy, p.vz);
    o.lx = lane_fma(p.y, p.vz, -(p.z * p.vy));
    o.ly = lane_fma(p.z, p.vx, -(p.x * p.vz));
    o.lz = lane_fma(p.x, p.vy, -(p.y * p.vx));
    const real l2 = pair_dot(o.lx, o.ly, o.lz, o.lx, o.ly, o.lz), parameter = l2 / mu;
    o.l = lane_sqrt(l2);
    o.inverse_a = lane_fma(lane_set(2.0), inverse_r, -(o.v2 / mu));
    const real e_cos = lane_fma(parameter, inverse_r, lane_set(-1.0)), radial = o.rv * inverse_r;
    o.e2 = lane_fma(e_cos, e_cos, parameter / mu * radial * radial);
    /* retrograde: 1 - cos^2(i/2), which loses nothing there, and 0/0 nowhere */
    const real across2 = lane_fma(o.lx, o.lx, o.ly * o.ly), part = 0.5 * across2 / (o.l * (o.l + lane_abs(o.lz)));
    o.half_tilt = lane_select(o.lz < lane_set(0.0), 1.0 - part, part);
    return o;
}

/* -1 for a retrograde orbit. */
LANE_FN real orbit_sense(lane_orbit o)
{
    return lane_select(o.lz < lane_set(0.0), lane_set(-1.0), lane_set(1.0));
}

/* k = e cos varpi, h = e sin varpi, and the longitude F = varpi + eccentric anomaly (minus it: retrograde). */
typedef struct lane_longitude {
    real k, h, cosine, sine;
} lane_longitude;

LANE_FN lane_longitude orbit_longitude(lane_pair s, real mu, lane_orbit o)
{
    const real one = lane_set(1.0), zero = lane_set(0.0), sense = orbit_sense(o);
    const real wx = sense * o.lx / o.l, wy = o.ly / o.l, wz = sense * o.lz / o.l, tilt = one / (1.0 + wz);
    s.y = sense * s.y;
    s.vy = sense * s.vy;
    const real fx = 1.0 - wx * wx * tilt, gy = 1.0 - wy * wy * tilt, fy = -(wx * wy * tilt);
    const real x = pair_dot(fx, fy, -wx, s.x, s.y, s.z), y = pair_dot(fy, gy, -wy, s.x, s.y, s.z);
    const real vx = pair_dot(fx, fy, -wx, s.vx, s.vy, s.vz), vy = pair_dot(fy, gy, -wy, s.vx, s.vy, s.vz);
    const real along = o.v2 / mu - one / o.r, across = o.rv / mu; /* e vector = along x - across v */
    lane_longitude found;
    const real k = lane_fma(along, x, -(across * vx)), h = lane_fma(along, y, -(across * vy));
    const real eta = lane_sqrt(lane_max(1.0 - o.e2, zero)), beta = one / (1.0 + eta), scale = o.inverse_a / eta;
    found.k = k;
    found.h = sense * h;
    found.cosine = k + scale * ((1.0 - k * k * beta) * x - h * k * beta * y);
    found.sine = sense * (h + scale * ((1.0 - h * h * beta) * y - h * k * beta * x));
    return found;
}

LANE_FN real orbit_mean_longitude(lane_longitude o)
{
    return lane_atan2(o.sine, o.cosine) + (o.h * o.cosine - o.k * o.sine);
}

/* The astrocentric semi-major axis of body i, or twice its distance from body 0 if that is less. */
LANE_FN real orbit_axis(const shoal_kernel_args *k, int n, const real *m, const real *w, int i)
{
    lane_pair p = pair_relative(n, w, 0, i);
    real mu = pulling_mass(k, m, i, m[0] + m[i]);
    real r2 = pair_dot(p.x, p.y, p.z, p.x, p.y, p.z), v2 = pair_dot(p.vx, p.vy, p.vz, p.vx, p.vy, p.vz);
    real r = r2 * lane_rsqrt(r2);
    real q = lane_fma(-r, v2, 2.0 * mu); /* r mu / a */
    return lane_select(q > 0.5 * mu, r * mu / q, 2.0 * r);
}

#endif
