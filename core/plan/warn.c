/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * warn.c: what a user should know of options that are possible: steps that do not resolve an orbit, masses in a wrong
 * unit, a force that acts on nobody.
 */
#include <math.h>
#include <stdio.h>

#include "core/plan/plan.h"

#define STRONG_RADIATION 0.3 /* beta; below it the error of e in 30 steps an orbit is 1 % of it or less */
#define HEAVY            0.1 /* of the mass of body 0: from there on a planet is no small perturbation */

typedef char body_name[80];

static const char *name_of(const shoal_warned *of, int body, body_name text)
{
    if (of->options->names && of->options->names[body])
        snprintf(text, sizeof(body_name), "'%.70s'", of->options->names[body]);
    else
        snprintf(text, sizeof(body_name), "body %d", body);
    return text;
}

static double setting_of(const shoal_plug_options *plug, const char *name)
{
    const shoal_setting *given = shoal_setting_find(plug->settings, plug->n_settings, name);
    return given ? given->value : NAN;
}

/* Whether a body of a system has no mass. */
static bool has_dust(const shoal_ensemble *ensemble)
{
    for (long s = 0; s < ensemble->n_systems; s++) {
        const int n_live = (int)*shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, s);
        for (int b = 1; b < n_live; b++)
            if (*shoal_ensemble_body(ensemble, b, SHOAL_M, s) == 0)
                return true;
    }
    return false;
}

/* The first body that a force names and no system has; -1: there is none. */
static int missing_body(const shoal_ensemble *ensemble, const shoal_plug_options *given)
{
    const int index = shoal_force_find(ensemble->context, given->name);
    const shoal_force *force = index < 0 ? NULL : shoal_plugs_of(ensemble->context)->forces[index];
    int most = 0;
    for (long s = 0; s < ensemble->n_systems; s++)
        most = (int)fmax(most, *shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, s));
    for (int p = 0; force && p < force->n_parameters; p++) {
        const double body = setting_of(given, force->parameters[p].name);
        if (force->parameters[p].type == SHOAL_BODY && body >= most)
            return (int)body;
    }
    return -1;
}

/* Forces that act on nobody; radiation that is no small perturbation of the orbits that a map knows. */
static void warn_of_forces(const shoal_warned *of, FILE *out)
{
    for (int i = 0; i < of->options->n_forces; i++) {
        const shoal_plug_options *force = &of->options->forces[i];
        const bool radiates = strcmp(force->name, "radiation") == 0,
                   on_dust = radiates || strcmp(force->name, "gas_drag") == 0;
        const double beta = setting_of(force, "beta"), body = setting_of(force, "body");
        const int missing = missing_body(of->ensemble, force);
        body_name name;
        if (missing >= 0)
            fprintf(out, "%s does nothing: no system has %s\n", force->name, name_of(of, missing, name));
        else if (on_dust && !(body > 0) && !has_dust(of->ensemble))
            fprintf(out, "%s acts on bodies without mass, and there are none: it does nothing without 'body'\n",
                    force->name);
        else if (radiates && beta > STRONG_RADIATION && of->propagator->first_body == 1)
            fprintf(out,
                    "radiation: beta = %g: %s takes orbits about the whole mass, and kicks with the rest: compare with "
                    "gauss_radau\n",
                    beta, of->propagator->name);
    }
}

/* Whether a propagator moves bodies in Jacobi coordinates, for which their order matters. They suit a binary, too. */
static bool is_jacobi(const shoal_propagator *propagator)
{
    return strcmp(propagator->name, "mvs_jacobi") == 0 || strcmp(propagator->name, "saba") == 0;
}

/* Planets of stars' masses, as masses in a wrong unit are. */
static void warn_of_masses(const shoal_warned *of, FILE *out)
{
    const shoal_ensemble *ensemble = of->ensemble;
    const bool jacobi = is_jacobi(of->propagator);
    long n = 0, worst = 0;
    int heaviest = 0;
    double most = 0;
    for (long s = 0; s < ensemble->n_systems && of->propagator->first_body == 1; s++) {
        const double star = *shoal_ensemble_body(ensemble, 0, SHOAL_M, s);
        const int n_live = (int)*shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, s);
        int n_heavy = 0, body = 1;
        for (int b = 1; b < n_live && !shoal_ensemble_is_invalid(ensemble, s); b++) {
            n_heavy += *shoal_ensemble_body(ensemble, b, SHOAL_M, s) > HEAVY * star;
            if (*shoal_ensemble_body(ensemble, b, SHOAL_M, s) > *shoal_ensemble_body(ensemble, body, SHOAL_M, s))
                body = b;
        }
        const double part = *shoal_ensemble_body(ensemble, body, SHOAL_M, s) / star;
        if (n_heavy <= jacobi)
            continue;
        n++;
        if (part > most) {
            most = part;
            worst = s;
            heaviest = body;
        }
    }
    body_name planet, first;
    if (n > 0)
        fprintf(out,
                "%s is for planets that are light: %ld of %ld systems have heavier ones, most of all system %ld, where "
                "%s has %.2g of the mass of %s; masses are in %s; compare with gauss_radau\n",
                of->propagator->name, n, ensemble->n_systems, ensemble->id[worst], name_of(of, heaviest, planet), most,
                name_of(of, 0, first), of->units->mass_name);
}

/* Tangent vectors that err far more than the bodies do. */
static void warn_of_tangents(const shoal_warned *of, FILE *out)
{
    const shoal_options *options = of->options;
    const shoal_propagator *propagator = of->propagator;
    bool follows = false;
    for (int i = 0; i < options->n_monitors; i++)
        follows |= strcmp(options->monitors[i].name, "megno") == 0;
    if (follows && strcmp(propagator->name, "hermite4_adaptive") == 0)
        fputs("megno: tangent vectors of hermite4_adaptive err far more than its bodies, so that eccentric orbits and "
              "moons may seem chaotic: compare with hermite6_adaptive or gauss_radau\n",
              out);
    for (int i = 0; follows && propagator->with_tangents && i < propagator->n_parameters; i++) {
        const char *name = propagator->parameters[i].name;
        const double usual = propagator->with_tangents[i];
        const shoal_setting *given = shoal_setting_find(options->settings, options->n_settings, name);
        if (usual > 0 && given && given->value > 10 * usual)
            fprintf(out,
                    "megno: with %s = %g tangent vectors of %s err far more than its bodies, so that eccentric orbits "
                    "and moons may seem chaotic: the default with megno is %g\n",
                    name, given->value, propagator->name, usual);
    }
}

/* A step to three digits, rounded down, but for rounding errors: who takes it is warned no more. */
static double rounded(double step)
{
    const double digit = pow(10, floor(log10(step)) - 2);
    return floor(step / digit * (1 + 1e-12)) * digit;
}

static void warn_of_steps(const shoal_warned *of, FILE *out)
{
    const double time = of->units->time;
    const bool nameless = strcmp(of->units->time_name, "from G") == 0;
    const char *blank = nameless ? "" : " ", *unit = nameless ? "" : of->units->time_name;
    const long n = of->ensemble->n_systems;
    body_name body;
    const shoal_long_steps *steps = &of->findings->unresolved;
    if (steps->n > 0)
        fprintf(out,
                "%ld of %ld systems have steps that do not resolve the pericentre of an initial orbit: longer than "
                "P sqrt((1 - e)^3 / (1 + e)) / 16; worst for %s in system %ld; all need dt = %.3g%s%s, or "
                "steps_per_orbit = %.0f\n",
                steps->n, n, name_of(of, steps->body, body), steps->worst, rounded(steps->step / time), blank, unit,
                ceil(steps->steps));
    steps = &of->findings->braked;
    if (steps->n > 0)
        fprintf(out,
                "%ld of %ld systems have steps longer than a fifth of the time in which %s brakes a body at the start: "
                "its motion is not resolved, worst, %.2g times, for %s in system %ld; all need dt = %.3g%s%s, or "
                "an adaptive propagator\n",
                steps->n, n, steps->force, steps->by, name_of(of, steps->body, body), steps->worst,
                rounded(steps->step / time), blank, unit);
}

void shoal_plan_warn(const shoal_warned *of, FILE *out)
{
    const shoal_findings *found = of->findings;
    body_name inner, outer;
    warn_of_forces(of, out);
    warn_of_masses(of, out);
    warn_of_tangents(of, out);
    if (found->n_invalid > 0)
        fprintf(out, "%ld of %ld systems are invalid; the first of them, system %ld: %s\n", found->n_invalid,
                of->ensemble->n_systems, found->first_invalid, found->why_invalid);
    warn_of_steps(of, out);
    if (found->n_disordered > 0 && (found->maker != SHOAL_MAKER_CALLER || is_jacobi(of->propagator)))
        fprintf(out,
                "%ld of %ld systems have bodies that are not listed by distance: their Jacobi elements, and columns "
                "and maps with them, mean little; in the first of them, system %ld, list %s before %s\n",
                found->n_disordered, of->ensemble->n_systems, found->first_disordered,
                name_of(of, found->disordered[1], inner), name_of(of, found->disordered[0], outer));
}
