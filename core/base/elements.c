/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * elements.c: Keplerian elements, Kepler's equation, and systems of bodies from orbits and back.
 *
 * Kepler's equation for the eccentric anomaly E (or H of a hyperbola) is solved and evaluated in the form
 *
 *     M = (1 - e) sin E + (E - sin E)            M = (e - 1) sinh H + (sinh H - H)
 *
 * whose terms have one sign, so that nothing cancels as e -> 1 and E -> 0; the brackets are summed as series where E is
 * small. Likewise 1 + e cos f is evaluated as (1 - e) + 2 e cos^2(f/2).
 *
 * From a state, with h = |r x v|, p = h^2 / mu and u the angle from the node to the body within the orbit's plane:
 *
 *     1/a = 2/r - v^2/mu,   e cos f = p/r - 1,   e sin f = (h/mu) (r.v)/r,   omega = u - f
 *
 * the last two being the eccentricity vector in radial and transverse components. f alone is worth eps/e, but omega + f
 * is always sharp.
 *
 * Everything is computed in long double, so that where the format is wider than double only the rounding of what goes
 * in and out counts. A state rounded to doubles (eps = 1.1e-16) still fixes, with sin g = h / (r v) small on an
 * eccentric orbit away from its apsides:
 *
 *     a to eps |a|/r, relative;  e to eps (1 + e);  f to eps (1 + e)/e;  inc to eps/sin g;  Omega to that over sin inc
 *
 * and omega to the sum of what f and Omega suffer. tests/test_elements.c holds the code to these bounds.
 *
 * Reference: Murray & Dermott, Solar System Dynamics (1999), sections 2.4, 2.8 and 9.5 (Jacobi coordinates);
 * doi:10.1017/CBO9781139174817. Halley's iteration inside a bracket: Danby & Burkardt, Celestial Mechanics 31, 95
 * (1983), doi:10.1007/BF01686811.
 */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/base.h"

static const long double PI = 3.141592653589793238462643383279502884L;

/* Orbits closer than this to the reference plane (sin inc) and to a circle (e) are taken to be there: less than what
 * the rounding of a state leaves of them. */
static const double PLANE_LIMIT = 4 * DBL_EPSILON, CIRCLE_LIMIT = 8 * DBL_EPSILON;
/* Below this e the roundings of f and E are to be the same. */
static const double NEAR_CIRCLE = 0x1p-10;

/* ---- Kepler's equation ------------------------------------------------------------------------------------------- */

/* The curve that the two forms of Kepler's equation belong to. */
typedef enum conic { ELLIPSE = -1, HYPERBOLA = 1 } conic;

/* x - sin x for an ellipse, sinh x - x for a hyperbola. */
static long double cubic_tail(conic kind, long double x)
{
    if (fabsl(x) > 1.0L)
        return kind == ELLIPSE ? x - sinl(x) : sinhl(x) - x;
    long double square = kind * x * x, term = x * x * x / 6.0L, sum = 0.0L;
    for (int k = 4; k < 28; k += 2) {
        sum += term;
        term *= square / (k * (k + 1));
    }
    return sum + term;
}

/* Mean anomaly from the eccentric or hyperbolic anomaly x; delta = |1 - e|. */
static long double mean_from_eccentric(conic kind, long double delta, long double x)
{
    return delta * (kind == ELLIPSE ? sinl(x) : sinhl(x)) + cubic_tail(kind, x);
}

/*
 * Eccentric or hyperbolic anomaly x >= 0 from the mean anomaly M >= 0 (M <= pi for an ellipse).
 * The equation is convex and rising there, and the root lies in a bracket of at most pi; Halley's steps that leave the
 * bracket are replaced by halving it, so every input ends.
 */
static long double eccentric_from_mean(conic kind, double e, long double M)
{
    if (M == 0.0L)
        return 0.0L;
    long double delta = fabsl(1.0L - e);

    /* The root of delta x + e x^3/6 = M, to which the equation tends as x -> 0: below the root of an ellipse, above
     * that of a hyperbola. Solved in the form of Cardano's that does not cancel. */
    long double start = M;
    if (e > 1e-3) {
        long double p = 2.0L * delta / e, q = 3.0L * M / e;
        long double w = cbrtl(q + sqrtl(q * q + p * p * p));
        start = 2.0L * q / (w * w + p + (p / w) * (p / w));
    }
    long double low, high;
    if (kind == ELLIPSE) {
        low = M;
        high = fminl(PI, M + e);
    } else {
        low = asinhl(M / e);
        high = fminl(start, low + 2.0L); /* the root exceeds asinh(M/e) most, by 0.9, for e -> 1 and M near 1 */
        if (start > 1.0L)
            start = asinhl((M + low) / e);
    }
    long double x = fminl(fmaxl(start, low), high);
    for (int iteration = 0; iteration < 100; iteration++) {
        long double s = kind == ELLIPSE ? sinl(x) : sinhl(x), half = kind == ELLIPSE ? sinl(0.5L * x) : sinhl(0.5L * x);
        long double c = kind == ELLIPSE ? cosl(x) : coshl(x);
        long double value = delta * s + cubic_tail(kind, x) - M;
        long double slope = delta * c + 2.0L * half * half, curvature = e * s;
        if (value > 0.0L)
            high = x;
        else
            low = x;
        long double step = -value / (slope - 0.5L * value * curvature / slope);
        if (fabsl(step) <= 2.0L * LDBL_EPSILON * x)
            break;
        long double next = x + step;
        x = next > low && next < high ? next : 0.5L * (low + high);
    }
    return x;
}

static long double true_from_eccentric(conic kind, double e, long double x)
{
    if (kind == ELLIPSE)
        return 2.0L * atan2l(sqrtl(1.0L + e) * sinl(0.5L * x), sqrtl(1.0L - e) * cosl(0.5L * x));
    return 2.0L * atanl(sqrtl((e + 1.0L) / (e - 1.0L)) * tanhl(0.5L * x));
}

double shoal_true_anomaly(double e, double M)
{
    if (!(e >= 0.0 && e != 1.0 && isfinite(e) && isfinite(M)))
        return NAN;
    conic kind = e < 1.0 ? ELLIPSE : HYPERBOLA;
    long double reduced = kind == ELLIPSE ? remainderl(M, 2.0L * PI) : (long double)M;
    long double f = true_from_eccentric(kind, e, eccentric_from_mean(kind, e, fabsl(reduced)));
    return (double)copysignl(f, reduced);
}

double shoal_mean_anomaly(double e, double f)
{
    if (!(e >= 0.0 && e != 1.0 && isfinite(e) && isfinite(f)))
        return NAN;
    long double half = 0.5L * remainderl(f, 2.0L * PI);
    if (e < 1.0) {
        long double E = 2.0L * atan2l(sqrtl(1.0L - e) * sinl(half), sqrtl(1.0L + e) * cosl(half));
        return (double)mean_from_eccentric(ELLIPSE, 1.0L - e, E);
    }
    long double t = sqrtl((e - 1.0L) / (e + 1.0L)) * tanl(half);
    if (!(fabsl(t) < 1.0L))
        return NAN; /* beyond the asymptote */
    return (double)mean_from_eccentric(HYPERBOLA, e - 1.0L, 2.0L * atanhl(t));
}

static shoal_status anomalies(shoal_context *context, const char *function, long n, const double *const in[2],
                              double *out, double (*one)(double e, double anomaly))
{
    shoal_status status = shoal_check_range(context, function, "n", n, (long[2]){0, LONG_MAX});
    for (int i = 0; i < 3 && n > 0 && !status; i++)
        status = shoal_check_given(context, function,
                                   i == 0   ? "e"
                                   : i == 1 ? "the anomaly that is given"
                                            : "the answer",
                                   i < 2 ? in[i] : out);
    for (long i = 0; i < n && !status; i++)
        out[i] = one(in[0][i], in[1][i]);
    return status;
}

shoal_status shoal_true_anomalies(shoal_context *context, long n, const double *e, const double *M, double *f)
{
    return anomalies(context, __func__, n, (const double *const[2]){e, M}, f, shoal_true_anomaly);
}

shoal_status shoal_mean_anomalies(shoal_context *context, long n, const double *e, const double *f, double *M)
{
    return anomalies(context, __func__, n, (const double *const[2]){e, f}, M, shoal_mean_anomaly);
}

/* ---- one orbit --------------------------------------------------------------------------------------------------- */

shoal_status shoal_orbit_to_state(shoal_context *context, double mu, const shoal_orbit *orbit, double state[6])
{
    if (shoal_check_given(context, __func__, "orbit", orbit) || shoal_check_given(context, __func__, "state", state))
        return SHOAL_E_USAGE;
    const double a = orbit->a, e = orbit->e;
    if (!(mu > 0.0 && isfinite(mu)))
        return shoal_fail(context, SHOAL_E_INPUT, "the mass that attracts, %g, is not positive", mu);
    if (!(e >= 0.0 && isfinite(e)))
        return shoal_fail(context, SHOAL_E_INPUT, "e = %g: the eccentricity must not be negative", e);
    if (e == 1.0)
        return shoal_fail(context, SHOAL_E_INPUT, "e = 1: a parabola has no semi-major axis");
    if (!(e < 1.0 ? a > 0.0 : a < 0.0) || !isfinite(a))
        return shoal_fail(context, SHOAL_E_INPUT, "a = %g with e = %g: a must be %s", a, e,
                          e < 1.0 ? "positive for an ellipse (e < 1)" : "negative for a hyperbola (e > 1)");
    const struct {
        const char *name;
        double value;
    } angles[] = {{"inc", orbit->inc}, {"Omega", orbit->Omega}, {"omega", orbit->omega}, {"f", orbit->f}};
    for (int i = 0; i < SHOAL_COUNT(angles); i++)
        if (!isfinite(angles[i].value))
            return shoal_fail(context, SHOAL_E_INPUT, "%s = %g is not a finite number", angles[i].name,
                              angles[i].value);

    long double half_f = 0.5L * orbit->f, sin_half = sinl(half_f), cos_half = cosl(half_f);
    long double above = 2.0L * cos_half * cos_half; /* 1 + cos f */
    long double p_over_r = (1.0L - e) + e * above;
    if (!(p_over_r > 0.0L))
        return shoal_fail(context, SHOAL_E_INPUT,
                          "f = %g rad (%g deg) with e = %g: the true anomaly lies beyond the hyperbola's asymptote, "
                          "%g rad (%g deg)",
                          orbit->f, orbit->f * 180 / M_PI, e, acos(-1.0 / e), acos(-1.0 / e) * 180 / M_PI);
    long double p = a * (1.0L - e) * (1.0L + e), r = p / p_over_r, speed = sqrtl(mu / p);
    long double cos_f = above - 1.0L, sin_f = 2.0L * sin_half * cos_half;

    /* within the plane, first axis to the pericentre */
    long double x = r * cos_f, y = r * sin_f, vx = -speed * sin_f, vy = speed * (above - (1.0L - e));

    long double cO = cosl(orbit->Omega), sO = sinl(orbit->Omega), co = cosl(orbit->omega), so = sinl(orbit->omega);
    long double ci = cosl(orbit->inc), si = sinl(orbit->inc);
    long double to_pericentre[3] = {cO * co - sO * so * ci, sO * co + cO * so * ci, so * si};
    long double along[3] = {-cO * so - sO * co * ci, -sO * so + cO * co * ci, co * si};
    double made[6];
    for (int k = 0; k < 3; k++) {
        made[k] = (double)(x * to_pericentre[k] + y * along[k]);
        made[3 + k] = (double)(vx * to_pericentre[k] + vy * along[k]);
    }
    for (int k = 0; k < 6; k++)
        if (!isfinite(made[k]))
            return shoal_fail(context, SHOAL_E_INPUT, "a = %g, e = %g: the numbers are too large", a, e);
    for (int k = 0; k < 6; k++)
        state[k] = made[k];
    return SHOAL_OK;
}

typedef long double vector[3];

static long double dot(const vector a, const vector b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const vector a, const vector b, vector out)
{
    for (int k = 0; k < 3; k++)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

/* An angle in [0, 2 pi). */
static double positive_angle(long double angle)
{
    long double reduced = remainderl(angle, 2.0L * PI);
    double folded = (double)(reduced < 0.0L ? reduced + 2.0L * PI : reduced);
    return folded < (double)(2.0L * PI) ? folded : 0.0;
}

/* An angle in [-pi, pi], where what is small stays sharp. */
static double signed_angle(long double angle)
{
    return (double)remainderl(angle, 2.0L * PI);
}

/* Motion along a line lies in many planes; take the one that is inclined least: its pole is the part of the z axis (of
 * the x axis, for a body on the z axis) across the line. */
static void pole_of_line(const vector x, vector pole)
{
    vector axis = {0.0L, 0.0L, 1.0L};
    if (x[0] == 0.0L && x[1] == 0.0L) {
        axis[0] = 1.0L;
        axis[2] = 0.0L;
    }
    long double r = sqrtl(dot(x, x)), share = dot(axis, x) / (r * r);
    for (int k = 0; k < 3; k++)
        pole[k] = axis[k] - share * x[k];
}

shoal_status shoal_orbit_from_state(shoal_context *context, double mu, const double state[6], shoal_orbit *orbit)
{
    if (shoal_check_given(context, __func__, "state", state) || shoal_check_given(context, __func__, "orbit", orbit))
        return SHOAL_E_USAGE;
    if (!(mu > 0.0 && isfinite(mu)))
        return shoal_fail(context, SHOAL_E_INPUT, "the mass that attracts, %g, is not positive", mu);
    for (int k = 0; k < 6; k++)
        if (!isfinite(state[k]))
            return shoal_fail(context, SHOAL_E_INPUT, "a coordinate, %g, is not a finite number", state[k]);
    vector x = {state[0], state[1], state[2]}, v = {state[3], state[4], state[5]}, pole;
    long double r = sqrtl(dot(x, x)), radial = dot(x, v);
    if (r == 0.0L)
        return shoal_fail(context, SHOAL_E_INPUT, "the body is at the centre of attraction");

    /* the plane: inclination, node and the angle u from the node to the body */
    cross(x, v, pole);
    long double h = sqrtl(dot(pole, pole));
    bool straight = h == 0.0L;
    if (straight)
        pole_of_line(x, pole);
    long double pole_length = straight ? sqrtl(dot(pole, pole)) : h;
    long double tilt = hypotl(pole[0], pole[1]) / pole_length, ci = pole[2] / pole_length;
    long double inc, Omega;
    if (tilt <= PLANE_LIMIT) {
        inc = ci > 0.0L ? 0.0L : PI;
        Omega = 0.0L;
    } else {
        inc = atan2l(tilt, ci);
        Omega = atan2l(pole[0], -pole[1]);
    }
    vector node = {cosl(Omega), sinl(Omega), 0.0L};
    vector across = {-sinl(Omega) * cosl(inc), cosl(Omega) * cosl(inc), sinl(inc)};
    long double u = atan2l(dot(x, across), dot(x, node));

    /* the shape */
    long double inverse_a = 2.0L / r - dot(v, v) / mu, p = h * h / mu;
    long double e_cos_f = p / r - 1.0L, e_sin_f = h * radial / (mu * r);
    long double e = hypotl(e_cos_f, e_sin_f), f = atan2l(e_sin_f, e_cos_f), M;
    if (e < CIRCLE_LIMIT) {
        e = 0.0L;
        f = M = u;
    } else if (inverse_a > 0.0L) {
        /* of a near-circle f and M have one error, and omega the opposite: longitudes have none */
        long double beta = e / (1.0L + sqrtl(fmaxl(p * inverse_a, 0.0L))),
                    E = e < NEAR_CIRCLE ? f - 2.0L * atan2l(beta * sinl(f), 1.0L + beta * cosl(f))
                                        : atan2l(radial * sqrtl(inverse_a / mu), 1.0L - r * inverse_a);
        M = mean_from_eccentric(ELLIPSE, p * inverse_a / (1.0L + e), E);
    } else if (inverse_a < 0.0L) {
        long double H = asinhl(radial * sqrtl(-inverse_a / mu) / e);
        M = mean_from_eccentric(HYPERBOLA, -p * inverse_a / (1.0L + e), H);
    } else {
        e = 1.0L;
        M = NAN;
    }
    double e_rounded = (double)e;
    if (straight)
        e_rounded = 1.0;
    else if (inverse_a > 0.0L && e_rounded >= 1.0)
        e_rounded = nextafter(1.0, 0.0); /* a and e must agree on what they describe */
    else if (inverse_a < 0.0L && e_rounded <= 1.0)
        e_rounded = nextafter(1.0, 2.0);

    double a = inverse_a == 0.0L ? INFINITY : (double)(1.0L / inverse_a);
    long double a_wide = 1.0L / inverse_a;
    *orbit = (shoal_orbit){.a = a,
                           .e = e_rounded,
                           .inc = (double)inc,
                           .Omega = positive_angle(Omega),
                           .omega = e == 0.0L ? 0.0 : positive_angle(u - f),
                           .f = signed_angle(f),
                           .M = inverse_a > 0.0L ? signed_angle(M) : (double)M,
                           .P = inverse_a > 0.0L ? (double)(2.0L * PI * a_wide * sqrtl(a_wide / mu)) : INFINITY};
    return SHOAL_OK;
}

/* ---- systems of bodies ------------------------------------------------------------------------------------------- */

/* Position and velocity, wide. */
typedef struct point {
    long double at[6];
} point;

/* Add to a message which body it is about. */
static shoal_status fail_for_body(shoal_context *context, shoal_status status, int body)
{
    char message[SHOAL_MESSAGE_SIZE];
    snprintf(message, sizeof message, "%s", shoal_context_message(context));
    return shoal_fail(context, status, "body %d: %s", body, message);
}

/* Masses that make sense, and for the frame enough of them to define every centre. */
static shoal_status check_masses(shoal_context *context, shoal_frame frame, int n_bodies, const shoal_body *bodies)
{
    if (n_bodies < 1)
        return shoal_fail(context, SHOAL_E_USAGE, "n_bodies = %d: at least one is needed", n_bodies);
    if (frame != SHOAL_JACOBI && frame != SHOAL_ASTROCENTRIC && frame != SHOAL_BARYCENTRIC)
        return shoal_fail(context, SHOAL_E_USAGE, "frame = %d: expected %d to %d", (int)frame, SHOAL_JACOBI,
                          SHOAL_BARYCENTRIC);
    for (int i = 0; i < n_bodies; i++)
        if (!(bodies[i].m >= 0.0 && isfinite(bodies[i].m)))
            return shoal_fail(context, SHOAL_E_INPUT, "body %d: m = %g: the mass must be finite and not negative", i,
                              bodies[i].m);
    double total = 0.0;
    for (int i = 0; i < n_bodies; i++)
        total += bodies[i].m;
    if (!(total > 0.0 && isfinite(total)))
        return shoal_fail(context, SHOAL_E_INPUT, "the total mass, %g, is not positive", total);
    if (bodies[0].m > 0.0)
        return SHOAL_OK;
    if (frame == SHOAL_JACOBI)
        return shoal_fail(context, SHOAL_E_INPUT,
                          "body 0 has no mass, so the Jacobi elements of body 1 have no centre; list a body with mass "
                          "first");
    if (frame == SHOAL_BARYCENTRIC)
        return shoal_fail(context, SHOAL_E_INPUT,
                          "body 0 has no mass, so it cannot balance the others about the barycentre; list a body with "
                          "mass first");
    for (int i = 1; i < n_bodies; i++)
        if (!(bodies[i].m > 0.0))
            return shoal_fail(context, SHOAL_E_INPUT, "bodies 0 and %d have no mass, so nothing holds body %d", i, i);
    return SHOAL_OK;
}

/* G times the mass that the elements of body i refer to; enclosed is the mass of bodies 0..i. */
static double attraction(shoal_frame frame, const shoal_body *bodies, int i, long double enclosed, long double total)
{
    switch (frame) {
    case SHOAL_JACOBI: return (double)enclosed;
    case SHOAL_ASTROCENTRIC: return bodies[0].m + bodies[i].m;
    case SHOAL_BARYCENTRIC: break;
    }
    return (double)total;
}

double shoal_eased_mass(const shoal_eases *eases, int body, double m, double m_0, double mass)
{
    for (int k = 0; eases && k < eases->n; k++)
        if (eases->body[k] == 0 ? m == 0 : eases->body[k] == body)
            mass -= eases->part[k] * m_0;
    return mass;
}

static long double total_mass(int n_bodies, const shoal_body *bodies)
{
    long double total = 0.0L;
    for (int i = 0; i < n_bodies; i++)
        total += bodies[i].m;
    return total;
}

static point barycentre(int n_bodies, const shoal_body *bodies, const point *points)
{
    point sum = {{0.0L}};
    long double total = total_mass(n_bodies, bodies);
    for (int k = 0; k < 6; k++) {
        for (int i = 0; i < n_bodies; i++)
            sum.at[k] += bodies[i].m * points[i].at[k];
        sum.at[k] /= total;
    }
    return sum;
}

/* Up to so many bodies, all that a system may have, no memory is asked for: who finds no orbits finds that there are
 * none. */
enum { ON_STACK = 1000 };

shoal_status shoal_bodies_from_orbits(shoal_context *context, shoal_frame frame, int n_bodies,
                                      const shoal_orbit *orbits, shoal_body *bodies)
{
    if (shoal_check_given(context, __func__, "orbits", orbits) ||
        shoal_check_given(context, __func__, "bodies", bodies))
        return SHOAL_E_USAGE;
    return shoal_bodies_from_eased_orbits(context, frame, n_bodies, orbits, NULL, bodies);
}

shoal_status shoal_bodies_from_eased_orbits(shoal_context *context, shoal_frame frame, int n_bodies,
                                            const shoal_orbit *orbits, const shoal_eases *eases, shoal_body *bodies)
{
    shoal_status status = check_masses(context, frame, n_bodies, bodies);
    if (status)
        return status;
    point room[ON_STACK]; /* aside: a refused call changes no body */
    point *points = n_bodies <= ON_STACK ? room : malloc((size_t)n_bodies * sizeof *points);
    if (!points)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %d bodies", n_bodies);
    points[0] = (point){{0.0L}};

    /* relative to body 0; for barycentric elements to the barycentre, so body 0 comes last */
    long double total = total_mass(n_bodies, bodies), enclosed = bodies[0].m;
    point centre = {{0.0L}}; /* barycentre of bodies 0..i */
    for (int i = 1; i < n_bodies; i++) {
        enclosed += bodies[i].m;
        double state[6];
        const double mu = attraction(frame, bodies, i, enclosed, total);
        status = shoal_orbit_to_state(context, shoal_eased_mass(eases, i, bodies[i].m, bodies[0].m, mu), &orbits[i],
                                      state);
        if (status) {
            status = fail_for_body(context, status, i);
            goto done;
        }
        for (int k = 0; k < 6; k++) {
            points[i].at[k] = state[k] + (frame == SHOAL_JACOBI ? centre.at[k] : 0.0L);
            centre.at[k] += bodies[i].m / enclosed * state[k];
        }
    }
    if (frame == SHOAL_BARYCENTRIC) {
        for (int k = 0; k < 6; k++) {
            for (int i = 1; i < n_bodies; i++)
                points[0].at[k] -= bodies[i].m * points[i].at[k];
            points[0].at[k] /= bodies[0].m;
        }
    } else {
        centre = barycentre(n_bodies, bodies, points);
        for (int i = 0; i < n_bodies; i++)
            for (int k = 0; k < 6; k++)
                points[i].at[k] -= centre.at[k];
    }
    for (int i = 0; i < n_bodies; i++) {
        const long double *at = points[i].at;
        bodies[i] = (shoal_body){bodies[i].m,   bodies[i].r,   (double)at[0], (double)at[1],
                                 (double)at[2], (double)at[3], (double)at[4], (double)at[5]};
    }
done:
    if (points != room)
        free(points);
    return status;
}

shoal_status shoal_orbits_from_bodies(shoal_context *context, shoal_frame frame, int n_bodies, const shoal_body *bodies,
                                      shoal_orbit *orbits)
{
    if (shoal_check_given(context, __func__, "bodies", bodies) ||
        shoal_check_given(context, __func__, "orbits", orbits))
        return SHOAL_E_USAGE;
    return shoal_eased_orbits_from_bodies(context, frame, n_bodies, bodies, NULL, NULL, orbits);
}

shoal_status shoal_eased_orbits_from_bodies(shoal_context *context, shoal_frame frame, int n_bodies,
                                            const shoal_body *bodies, const int *which, const shoal_eases *eases,
                                            shoal_orbit *orbits)
{
    shoal_status status = check_masses(context, frame, n_bodies, bodies);
    if (status)
        return status;
    struct {
        point points[ON_STACK];
        shoal_orbit made[ON_STACK];
    } room;
    const size_t n = (size_t)n_bodies;
    point *points = n <= ON_STACK ? room.points : malloc(n * (sizeof *points + sizeof(shoal_orbit)));
    if (!points)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %d bodies", n_bodies);
    shoal_orbit *made = n <= ON_STACK ? room.made : (void *)(points + n);
    for (int i = 0; i < n_bodies; i++)
        points[i] = (point){{bodies[i].x, bodies[i].y, bodies[i].z, bodies[i].vx, bodies[i].vy, bodies[i].vz}};

    long double total = total_mass(n_bodies, bodies), enclosed = bodies[0].m;
    point centre = frame == SHOAL_BARYCENTRIC ? barycentre(n_bodies, bodies, points) : points[0];
    made[0] = (shoal_orbit){0};
    for (int i = 1; i < n_bodies; i++) {
        enclosed += bodies[i].m;
        double state[6];
        for (int k = 0; k < 6; k++) {
            long double offset = points[i].at[k] - centre.at[k];
            state[k] = (double)offset;
            if (frame == SHOAL_JACOBI)
                centre.at[k] += bodies[i].m / enclosed * offset;
        }
        const double all = attraction(frame, bodies, i, enclosed, total),
                     mu = shoal_eased_mass(eases, which ? which[i] : i, bodies[i].m, bodies[0].m, all);
        if (mu <= 0 && mu < all) {
            made[i] = (shoal_orbit){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
            continue;
        }
        status = shoal_orbit_from_state(context, mu, state, &made[i]);
        if (status) {
            status = fail_for_body(context, status, i);
            goto done;
        }
    }
    for (int i = 0; i < n_bodies; i++)
        orbits[i] = made[i];
done:
    if (points != room.points)
        free(points);
    return status;
}
