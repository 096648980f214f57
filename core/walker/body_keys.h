/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * body_keys.h: the numbers that describe a body, in a config and for a walker. gcc and NVRTC read this header.
 */
#ifndef SHOAL_BODY_KEYS_H
#define SHOAL_BODY_KEYS_H

/* The numbers that describe a body. X(name, dimension, default, least, most, otherwise, doc) */
#define SHOAL_BODY_KEY_LIST(X)                                                                                         \
    X(m, "mass", NAN, 0, INFINITY, NULL, "mass")                                                                       \
    X(r, "length", 0, 0, INFINITY, NULL, "physical radius; 0 = a point")                                               \
    X(a, "length", NAN, -INFINITY, INFINITY, "P", "semi-major axis; below 0 for a hyperbola")                          \
    X(P, "time", NAN, SHOAL_TINY / 2, INFINITY, "a", "period")                                                         \
    X(e, "", 0, 0, INFINITY, NULL, "eccentricity")                                                                     \
    X(inc, "angle", 0, 0, M_PI, NULL, "inclination")                                                                   \
    X(Omega, "angle", 0, -INFINITY, INFINITY, NULL, "longitude of the ascending node")                                 \
    X(omega, "angle", 0, -INFINITY, INFINITY, NULL, "argument of pericentre")                                          \
    X(pomega, "angle", NAN, -INFINITY, INFINITY, "omega",                                                              \
      "longitude of pericentre: Omega + omega, or Omega - omega if inc > 90 deg")                                      \
    X(f, "angle", 0, -INFINITY, INFINITY, NULL, "true anomaly at run.t_start")                                         \
    X(M, "angle", NAN, -INFINITY, INFINITY, "f", "mean anomaly at run.t_start")                                        \
    X(E, "angle", NAN, -INFINITY, INFINITY, "f", "eccentric anomaly at run.t_start")                                   \
    X(l, "angle", NAN, -INFINITY, INFINITY, "f",                                                                       \
      "mean longitude at run.t_start: pomega + M, or pomega - M if inc > 90 deg")                                      \
    X(theta, "angle", NAN, -INFINITY, INFINITY, "f",                                                                   \
      "true longitude at run.t_start: pomega + f, or pomega - f if inc > 90 deg")                                      \
    X(T, "time", NAN, -INFINITY, INFINITY, "f", "a time of pericentre passage")                                        \
    X(T0, "time", NAN, -INFINITY, INFINITY, "f", "a time of transit: f = pi/2 - omega")                                \
    X(h, "", NAN, -INFINITY, INFINITY, "e, pomega", "e sin(pomega)")                                                   \
    X(k, "", NAN, -INFINITY, INFINITY, "e, pomega", "e cos(pomega)")                                                   \
    X(ix, "", NAN, -2, 2, "inc, Omega", "2 sin(inc/2) cos(Omega)")                                                     \
    X(iy, "", NAN, -2, 2, "inc, Omega", "2 sin(inc/2) sin(Omega)")                                                     \
    X(msini, "mass", NAN, 0, INFINITY, "m",                                                                            \
      "m sin(inc), as radial velocities tell it; inc is that to the sky's plane")                                      \
    X(period_ratio, "", NAN, SHOAL_TINY / 2, INFINITY, "a", "period over that of the body relative_to")                \
    X(hill_spacing, "", NAN, -INFINITY, INFINITY, "a",                                                                 \
      "a less that of the body relative_to in mutual Hill radii: a - a' = hill_spacing ((m + m') / 3 m_0)^(1/3) (a + " \
      "a') / 2")                                                                                                       \
    X(delta_pomega, "angle", NAN, -INFINITY, INFINITY, "omega", "pomega less that of the body relative_to")            \
    X(delta_l, "angle", NAN, -INFINITY, INFINITY, "f", "l less that of the body relative_to, at run.t_start")          \
    X(K, "m/s", NAN, 0, INFINITY, "m",                                                                                 \
      "semi-amplitude of the velocity along the line of sight that it gives to what it orbits; needs an inclination")  \
    X(mass_ratio, "", NAN, 0, INFINITY, "m", "mass over that of the first body")                                       \
    X(log10_m, "", NAN, -INFINITY, INFINITY, "m", "decimal logarithm of the mass in the unit of mass")                 \
    X(density, "g/cm^3", NAN, SHOAL_TINY / 2, INFINITY, "r", "mean density, in place of r; with r in place of m")      \
    X(cosi, "", NAN, -1, 1, "inc", "cos(inc)")                                                                         \
    X(b, "", NAN, -INFINITY, INFINITY, "inc",                                                                          \
      "impact parameter of a transit in radii R of the first body: (a cos(inc) / R) (1 - e^2) / (1 + e sin(omega))")   \
    X(e_cos, "", NAN, -INFINITY, INFINITY, "e, omega", "e cos(omega)")                                                 \
    X(e_sin, "", NAN, -INFINITY, INFINITY, "e, omega", "e sin(omega)")                                                 \
    X(sqrt_e_cos, "", NAN, -INFINITY, INFINITY, "e, omega", "sqrt(e) cos(omega)")                                      \
    X(sqrt_e_sin, "", NAN, -INFINITY, INFINITY, "e, omega", "sqrt(e) sin(omega)")                                      \
    X(epoch, "time", NAN, -INFINITY, INFINITY, "run.t_start",                                                          \
      "time of f, M, E, l or theta; from there the mean anomaly goes to run.t_start")                                  \
    X(x, "length", NAN, -INFINITY, INFINITY, "elements", "position")                                                   \
    X(y, "length", NAN, -INFINITY, INFINITY, "elements", "position")                                                   \
    X(z, "length", NAN, -INFINITY, INFINITY, "elements", "position")                                                   \
    X(vx, "velocity", NAN, -INFINITY, INFINITY, "elements", "velocity")                                                \
    X(vy, "velocity", NAN, -INFINITY, INFINITY, "elements", "velocity")                                                \
    X(vz, "velocity", NAN, -INFINITY, INFINITY, "elements", "velocity")

enum {
#define X(name, ...) SHOAL_BODY_##name,
    SHOAL_BODY_KEY_LIST(X)
#undef X
        SHOAL_BODY_KEYS
};

#endif
