/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plot_bodies.c: pictures of what the bodies of a system do: Jacobi elements along its snapshots, orbits seen from
 * above.
 */
#include <math.h>
#include <stdlib.h>

#include "core/report/plot.h"
#include "core/report/report.h"

#define ELLIPSE_POINTS 360

/* Room for the orbits of one state. */
typedef struct orbits {
    int n;                  /* bodies that are there */
    double low[2], high[2]; /* box of the ellipses drawn */
    int *which;             /* [n_bodies] their indices */
    shoal_body *body;       /* [n_bodies] */
    shoal_orbit *orbit;     /* [n_bodies] lengths in the user's units; not of the first */
    bool *unbound;          /* [n_bodies] those that are, so that a part of the picture has not got them */
    shoal_eases eases;
} orbits;

static void free_orbits(orbits *o)
{
    free(o->which);
    free(o->body);
    free(o->orbit);
    free(o->unbound);
}

static shoal_status make_orbits(shoal_context *context, const shoal_result *result, orbits *o)
{
    const size_t n = (size_t)result->n_bodies;

    *o = (orbits){.low = {INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY}};
    shoal_report_eases(context, result, &o->eases);
    o->which = malloc(n * sizeof *o->which);
    o->body = malloc(n * sizeof *o->body);
    o->orbit = malloc(n * sizeof *o->orbit);
    o->unbound = calloc(n, sizeof *o->unbound);
    if (o->which && o->body && o->orbit && o->unbound) {
        return SHOAL_OK;
    }
    free_orbits(o);
    return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %d orbits", result->n_bodies);
}

/* The orbits of a state; false if there are none. */
static bool read_orbits(const shoal_result *result, long system, const double *state, orbits *o)
{
    o->n = shoal_result_bodies(result, system, state, o->body, o->which);
    if (o->n < 2 ||
        shoal_eased_orbits_from_bodies(NULL, SHOAL_JACOBI, o->n, o->body, o->which, &o->eases, o->orbit) != SHOAL_OK) {
        return false;
    }
    for (int i = 1; i < o->n; ++i) {
        o->orbit[i].a /= result->units.length;
    }
    return true;
}

/* "plot $b1 ... title 'b', $b2 ...": a curve for each body but the first. unbound [n_bodies]: whether a body is, which
 * its title says; NULL: no titles. */
static void plot_bodies(FILE *script, const shoal_result *result, long system, const char *prefix, const char *how,
                        const bool *unbound)
{
    char title[SHOAL_NAME_SIZE + 16];
    for (int b = 1; b < result->n_live[system]; ++b) {
        fprintf(script, "%s$%s%d %s lc rgb '#%06x' ", b == 1 ? "" : ", \\\n  ", prefix, b, how,
                shoal_plot_colour(b - 1));
        fputs(unbound ? "title " : "notitle", script);
        if (unbound) {
            snprintf(title, sizeof title, "%s%s", result->body_name[b], unbound[b] ? " (unbound)" : "");
            shoal_plot_quote(script, title);
        }
    }
}

/* What the panels of elements hold. */
typedef struct elements {
    double least, most[3], earliest, latest; /* of a, of a e inc, of the time */
    bool any_unbound;
} elements;

/* The largest eccentricity of an unbound body that has a place in its panel: those of flybys may be huge. */
#define MOST_E 3

/* A body's elements along the snapshots of a system as data $bN: time, a (NaN while it is unbound), e, inc. Returns
 * whether it is unbound in one of them. */
static bool write_elements(FILE *script, const shoal_result *result, long system, int body, orbits *o, elements *found)
{
    const size_t size = (size_t)result->n_bodies * SHOAL_STATE;
    bool any_unbound = false;
    fprintf(script, "$b%d << EOD\n", body);
    for (long row = 0; row < result->n_snapshots; ++row) {
        const double *state = result->snapshot + (size_t)row * size, time = result->snapshot_time[row];
        if (result->snapshot_system[row] != system || !read_orbits(result, system, state, o)) {
            continue;
        }
        for (int i = 1; i < o->n; ++i) {
            const shoal_orbit *orbit = &o->orbit[i];
            const bool bound = orbit->a > 0 && isfinite(orbit->a);
            const double a = bound ? orbit->a : NAN, inc = orbit->inc * 180 / M_PI;
            if (o->which[i] != body || !isfinite(orbit->e)) {
                continue;
            }
            fprintf(script, "%.17g %.17g %.17g %.17g\n", time, a, orbit->e, inc);
            any_unbound |= !bound;
            found->earliest = fmin(found->earliest, time);
            found->latest = fmax(found->latest, time);
            found->least = fmin(found->least, a);
            found->most[0] = fmax(found->most[0], a);
            found->most[1] = fmax(found->most[1], fmin(orbit->e, MOST_E));
            found->most[2] = fmax(found->most[2], inc);
        }
    }
    fputs("EOD\n", script);
    found->any_unbound |= any_unbound;
    return any_unbound;
}

/* The scale of panel q: that of a is logarithmic if it has to be; the others go from zero, with a few tics. */
static void scale_elements(FILE *script, const elements *found, int q)
{
    const double most = found->most[q];
    if (q > 0) {
        fprintf(script, "unset logscale y\nset ytics %.17g\nset yrange [0:%.17g]\n", shoal_plot_step(most / 5),
                most > 0 ? 1.06 * most : 1);
    } else if (most == 0) { /* nobody is bound */
        fputs("set yrange [0:1]\nunset ytics\n", script);
    } else if (most > 5 * found->least) {
        shoal_plot_few_decades(script, 'y', found->least, most);
    }
}

shoal_status shoal_plot_elements(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                                 FILE *script)
{
    static const char *const quantities[] = {"a", "e", "inc"};
    elements found = {.least = INFINITY, .earliest = INFINITY, .latest = -INFINITY};
    char how[112];
    long system, n = 0;
    orbits o;

    shoal_status status = shoal_plot_system(context, result, options, &system);
    for (long i = 0; status == SHOAL_OK && i < result->n_snapshots; ++i) {
        n += result->snapshot_system[i] == system;
    }
    if (status == SHOAL_OK && n == 0) {
        status = shoal_fail(context, SHOAL_E_INPUT,
                            "elements: system %lld has no snapshots; add output.interval to the config",
                            (long long)result->id[system]);
    }
    if (status != SHOAL_OK || (status = make_orbits(context, result, &o)) != SHOAL_OK) {
        return status;
    }
    shoal_plot_begin(script, options, SHOAL_COLUMN_MM, 110);
    for (int b = 1; b < result->n_live[system]; ++b) {
        o.unbound[b] = write_elements(script, result, system, b, &o, &found);
    }
    fputs("set multiplot layout 3,1 margins 0.19,0.93,0.12,0.92 spacing 0,0.025\nset key above horizontal\n"
          "set autoscale noextend\nset offsets 0,0,graph 0.06,graph 0.06\nset format y '%4g'\n",
          script);
    for (int q = 0; q < SHOAL_COUNT(found.most); ++q) {
        shoal_plot_label(script, 'y', quantities[q], q == 0 ? result->units.length_name : q == 2 ? "deg" : "");
        scale_elements(script, &found, q);
        const shoal_plot_time axis = shoal_plot_times(script, result, found.earliest, found.latest);
        fputs(q < 2 ? "unset xlabel\nset format x ''\nplot " : "plot ", script);
        if (q == 1 && found.any_unbound) {
            fputs("1 with lines dt 3 lc rgb 'black' notitle, \\\n  ", script);
        }
        snprintf(how, sizeof how, "using %s:%d with lines", axis.of, q + 2);
        plot_bodies(script, result, system, "b", how, q == 0 ? o.unbound : NULL);
        fputc('\n', script);
    }
    fputs("unset multiplot\n", script);
    free_orbits(&o);
    return SHOAL_OK;
}

static bool is_ellipse(const shoal_orbit *orbit)
{
    return orbit->e < 1 && isfinite(orbit->a);
}

/* The ellipses of a state's bound orbits, projected on the reference plane, and where on them the bodies are, as
 * data $PREFIX1, ...; returns how many there are. The unbound are left out, and noted if there are others. */
static int write_ellipses(FILE *script, const shoal_result *result, long system, const double *state,
                          const char *prefix, orbits *o)
{
    int n = 0;
    const bool known = read_orbits(result, system, state, o);
    for (int b = 1; b < result->n_live[system]; ++b) {
        fprintf(script, "$%s%d << EOD\n", prefix, b);
        for (int i = 1; known && i < o->n; ++i) {
            shoal_orbit at = o->orbit[i];
            double place[6];
            if (o->which[i] != b || !is_ellipse(&at)) {
                continue;
            }
            ++n;
            for (int k = -1; k <= ELLIPSE_POINTS; ++k) { /* the body, then points evenly in the eccentric anomaly */
                const double E = 2 * M_PI * k / ELLIPSE_POINTS - M_PI;
                at.f = k < 0 ? o->orbit[i].f : shoal_true_anomaly(at.e, E - at.e * sin(E));
                if (shoal_orbit_to_state(NULL, 1, &at, place) == SHOAL_OK) {
                    fprintf(script, "%.17g %.17g\n%s", place[0], place[1], k < 0 ? "\n\n" : "");
                    for (int q = 0; q < 2; ++q) {
                        o->low[q] = fmin(o->low[q], place[q]);
                        o->high[q] = fmax(o->high[q], place[q]);
                    }
                }
            }
        }
        fputs("EOD\n", script);
    }
    for (int b = 0; b < result->n_bodies && n > 0; ++b) {
        o->unbound[b] = false;
    }
    for (int i = 1; i < o->n && n > 0; ++i) {
        o->unbound[o->which[i]] = !is_ellipse(&o->orbit[i]);
    }
    return n;
}

shoal_status shoal_plot_orbits(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                               FILE *script)
{
    const size_t size = (size_t)result->n_bodies * SHOAL_STATE;
    long system;
    orbits o;

    shoal_status status = shoal_plot_system(context, result, options, &system);
    if (status != SHOAL_OK || (status = make_orbits(context, result, &o)) != SHOAL_OK) {
        return status;
    }
    shoal_plot_begin(script, options, SHOAL_COLUMN_MM, 85);
    const int n = write_ellipses(script, result, system, result->initial + (size_t)system * size, "initial", &o);
    const int n_final = write_ellipses(script, result, system, result->final + (size_t)system * size, "final", &o);
    if (n + n_final == 0) {
        free_orbits(&o);
        return shoal_fail(context, SHOAL_E_INPUT, "orbits: system %lld has no bound orbits",
                          (long long)result->id[system]);
    }
    shoal_plot_label(script, 'x', "x", result->units.length_name);
    shoal_plot_label(script, 'y', "y", result->units.length_name);
    const double side = 1.08 * fmax(o.high[0] - o.low[0], o.high[1] - o.low[1]);
    for (int q = 0; q < 2; ++q) { /* a square */
        const double middle = 0.5 * (o.low[q] + o.high[q]);
        fprintf(script, "set %crange [%.17g:%.17g]\nset %ctics %.17g\n", 'x' + q, middle - side / 2, middle + side / 2,
                'x' + q, shoal_plot_step(side / 6));
    }
    fputs("set size ratio -1\nset key above horizontal\n$star << EOD\n0 0\nEOD\nplot ", script);
    const char *const last = n_final ? "final" : "initial";
    if (n_final) {
        plot_bodies(script, result, system, "initial", "index 1 with lines dt 3", NULL);
        fputs(", \\\n  ", script);
    }
    plot_bodies(script, result, system, last, "index 1 with lines lw 1.5", o.unbound);
    fputs(", \\\n  ", script);
    plot_bodies(script, result, system, last, "index 0 with points pt 7", NULL);
    fputs(", \\\n  $star with points pt 3 ps 1.5 lc rgb 'black' notitle\n", script);
    free_orbits(&o);
    return SHOAL_OK;
}
