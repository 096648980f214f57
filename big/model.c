/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * model.c: bodies of a model, drawn with GSL's Mersenne twister from a seed. A model is made in its own units, then
 * scaled to its mass and virial radius: with both 1 these are Henon's units, E = -1/4 in equilibrium (Heggie & Mathieu
 * 1986, doi:10.1007/BFb0116419), but for the noise of the draw.
 *
 * A sphere with isotropic velocities and phase space density f: the radius from the cumulative mass, then the speed
 * from v^2 f(psi(r) - v^2/2) by rejection (as Aarseth, Henon & Wielen 1974, A&A 37, 183, for Plummer's).
 *
 * A model that is cut off is what lies within: mass and virial radius are those of this part, and its bodies have the
 * speeds of the whole model.
 */
#include <gsl/gsl_integration.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "big/big.h"

static const struct {
    const char *name;
    double r_max;
} models[] = {
/* clang-format off */
#define X(name, r_max, doc) { #name, r_max },
    /* clang-format on */
    SHOAL_BIG_MODEL_LIST(X)
#undef X
};

const char *shoal_big_model_name(int kind)
{
    return models[kind].name;
}

/* v^2 f of the speed q times that of escape. */
static double speed_density(const shoal_big_sphere *sphere, double psi, double q)
{
    return q >= 1 ? 0 : q * q * sphere->distribution(sphere->own, psi * (1 - q * q));
}

static void draw_sphere(gsl_rng *rng, const shoal_big_sphere *sphere, double r_max, double x[3], double v[3])
{
    enum { SCAN = 64 };
    double r;
    do
        r = sphere->radius(sphere->own, gsl_rng_uniform_pos(rng));
    while (!(r <= r_max));
    const double psi = sphere->potential(sphere->own, r);
    double most = 0, q;
    for (int k = 1; k < SCAN; k++)
        most = fmax(most, speed_density(sphere, psi, (double)k / SCAN));
    most *= 1.02; /* the top may lie between two of them */
    do
        q = gsl_rng_uniform(rng);
    while (gsl_rng_uniform(rng) * most > speed_density(sphere, psi, q));
    const double speed = q * sqrt(2 * psi);
    gsl_ran_dir_3d(rng, &x[0], &x[1], &x[2]);
    gsl_ran_dir_3d(rng, &v[0], &v[1], &v[2]);
    for (int c = 0; c < 3; c++) {
        x[c] *= r;
        v[c] *= speed;
    }
}

/* The sphere of uniform density and radius 1, W = -3/5: K = virial_ratio |W| is 3/2 sigma^2 of Gaussians of that
 * sigma, and 3/10 u^2 of velocities uniform within a ball of radius u. */
static void draw_uniform(gsl_rng *rng, const shoal_big_model *model, double x[3], double v[3])
{
    const double r = cbrt(gsl_rng_uniform(rng));
    gsl_ran_dir_3d(rng, &x[0], &x[1], &x[2]);
    for (int c = 0; c < 3; c++)
        x[c] *= r;
    const double kinetic = 0.6 * model->virial_ratio;
    if (model->kind == SHOAL_BIG_uniform) {
        const double speed = sqrt(kinetic / 0.3) * cbrt(gsl_rng_uniform(rng));
        gsl_ran_dir_3d(rng, &v[0], &v[1], &v[2]);
        for (int c = 0; c < 3; c++)
            v[c] *= speed;
    } else if (model->kind == SHOAL_BIG_henon)
        for (int c = 0; c < 3; c++)
            v[c] = gsl_ran_gaussian_ziggurat(rng, sqrt(2 * kinetic / 3));
}

/* A sphere's part within the radius that holds a fraction of its mass. */
typedef struct inner_part {
    const shoal_big_sphere *sphere;
    double fraction;
} inner_part;

/* The integrand of |W| = int M(r) / r dM, in units of the sphere's mass, over u = 0 .. 1: M = fraction u^2. */
static double energy_of_shell(double u, void *user)
{
    const inner_part *part = user;
    const double within = part->fraction * u * u;
    return within / part->sphere->radius(part->sphere->own, within) * 2 * part->fraction * u;
}

double shoal_big_integral(double (*integrand)(double u, void *user), void *user)
{
    enum { PLACES = 128 };
    gsl_integration_glfixed_table *rule = gsl_integration_glfixed_table_alloc(PLACES);
    const double integral = gsl_integration_glfixed(&(gsl_function){integrand, user}, 0, 1, rule);
    gsl_integration_glfixed_table_free(rule);
    return integral;
}

static void cut_off(shoal_big_sphere *sphere, double r_max)
{
    double low = 0, high = 1;
    if (!(sphere->radius(sphere->own, 1) > r_max))
        return;
    for (int k = 0; k < 52; k++) {
        const double middle = 0.5 * (low + high);
        *(sphere->radius(sphere->own, middle) < r_max ? &low : &high) = middle;
    }
    inner_part part = {sphere, low};
    sphere->virial = low * low / (2 * shoal_big_integral(energy_of_shell, &part));
    sphere->mass *= low;
}

static shoal_status make_sphere(shoal_context *context, const shoal_big_model *model, shoal_big_sphere *sphere)
{
    *sphere = (shoal_big_sphere){.mass = 1, .virial = 5.0 / 6}; /* of uniform density: W = -3/5 */
    switch (model->kind) {
    case SHOAL_BIG_plummer: return shoal_big_sphere_plummer(sphere);
    case SHOAL_BIG_hernquist: return shoal_big_sphere_hernquist(sphere);
    case SHOAL_BIG_king: return shoal_big_sphere_king(context, model->W0, sphere);
    default: return SHOAL_OK; /* of kuzmin, no sphere, shoal_big_kuzmin_within says these */
    }
}

shoal_status shoal_big_generate(shoal_context *context, const shoal_big_model *model, shoal_big_bodies *bodies)
{
    shoal_big_sphere sphere;
    shoal_status status = make_sphere(context, model, &sphere);
    if (status)
        return status;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    const double r_max = model->r_max > 0 ? model->r_max : models[model->kind].r_max;
    /* or they would be drawn again for ever */
    const double least = sphere.radius ? sphere.radius(sphere.own, 1e-3) : 0;
    status = r_max < least
                 ? shoal_fail(context, SHOAL_E_INPUT,
                              "model.r_max = %g: expected at least %.2g, the radius of a thousandth of the mass", r_max,
                              least)
             : rng ? shoal_big_bodies_create(context, model->n, bodies)
                   : shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    if (status)
        goto done;
    if (sphere.radius)
        cut_off(&sphere, r_max);
    else if (model->kind == SHOAL_BIG_kuzmin)
        shoal_big_kuzmin_within(r_max, &sphere.mass, &sphere.virial);
    gsl_rng_set(rng, (unsigned long)model->seed);
    const double length = model->virial_radius / sphere.virial;
    const double velocity = sqrt(model->mass / sphere.mass / length);
    for (long i = 0; i < model->n; i++) {
        double x[3] = {0}, v[3] = {0};
        if (sphere.radius)
            draw_sphere(rng, &sphere, r_max, x, v);
        else if (model->kind == SHOAL_BIG_kuzmin)
            shoal_big_kuzmin(rng, r_max, model->toomre_q, x, v);
        else
            draw_uniform(rng, model, x, v);
        bodies->m[i] = model->mass / (double)model->n;
        for (int c = 0; c < 3; c++) {
            bodies->x[c * model->n + i] = x[c] * length;
            bodies->v[c * model->n + i] = v[c] * velocity;
        }
    }
    shoal_big_centre(bodies);
done:
    if (rng)
        gsl_rng_free(rng);
    shoal_big_sphere_release(&sphere);
    return status;
}
