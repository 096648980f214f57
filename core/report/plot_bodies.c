/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plot_bodies.c: pictures of what the bodies of a system do: Jacobi elements along its snapshots, orbits seen from
 * above.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/report/plot.h"
#include "core/report/report.h"

#define ELLIPSE_POINTS 360

/* Room for the orbits of one state. */
typedef struct orbits {
    int n;                  /* bodies that are there */
    double low[2], high[2]; /* box of the ellipses drawn */
    double axis[2][3];      /* horizontal and vertical direction of the picture */
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
    double least[3], most[3], earliest, latest; /* of a e inc, of the time */
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
            found->least[0] = fmin(found->least[0], a);
            found->least[2] = fmin(found->least[2], inc);
            found->most[0] = fmax(found->most[0], a);
            found->most[1] = fmax(found->most[1], fmin(orbit->e, MOST_E));
            found->most[2] = fmax(found->most[2], inc);
        }
    }
    fputs("EOD\n", script);
    found->any_unbound |= any_unbound;
    return any_unbound;
}

/* The scale of panel q: that of a is logarithmic if it has to be; the others go from zero, with a few tics, but not
 * that of inclinations that are all large. */
static void scale_elements(FILE *script, const elements *found, int q)
{
    const double least = found->least[q], most = found->most[q];
    if (q == 2 && least > 0.5 * most) {
        const double margin = fmax(0.06 * (most - least), 1e-3 * most);
        fprintf(script, "unset logscale y\nset ytics %.17g\nset yrange [%.17g:%.17g]\n",
                shoal_plot_step((most - least + 2 * margin) / 5), least - margin, most + margin);
    } else if (q > 0) {
        fprintf(script, "unset logscale y\nset ytics %.17g\nset yrange [0:%.17g]\n", shoal_plot_step(most / 5),
                most > 0 ? 1.06 * most : 1);
    } else if (most == 0) { /* nobody is bound */
        fputs("set yrange [0:1]\nunset ytics\n", script);
    } else if (most > 5 * least) {
        shoal_plot_few_decades(script, 'y', least, most);
    }
}

#define ROW_MM 4 /* of a key */
enum { KEY_CHARACTERS = 44 };

/* How many of the bodies' names have room beside each other above a picture. */
static int key_columns(const shoal_result *result, long system)
{
    size_t longest = 0;
    for (int b = 1; b < result->n_live[system]; ++b) {
        const size_t length = strlen(result->body_name[b]);
        longest = length > longest ? length : longest;
    }
    const int columns = KEY_CHARACTERS / ((int)longest + 7);
    return columns > 1 ? columns : 1;
}

shoal_status shoal_plot_elements(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                                 FILE *script)
{
    static const char *const quantities[] = {"a", "e", "inc"};
    elements found = {.least = {INFINITY, 0, INFINITY}, .earliest = INFINITY, .latest = -INFINITY};
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
    const int columns = key_columns(result, system), rows = (result->n_live[system] - 2) / columns + 1;
    const int height = 105 + ROW_MM * rows;
    shoal_plot_begin(script, options, SHOAL_COLUMN_MM, height);
    for (int b = 1; b < result->n_live[system]; ++b) {
        o.unbound[b] = write_elements(script, result, system, b, &o, &found);
    }
    fprintf(script,
            "set multiplot layout 3,1 margins 0.19,0.93,0.12,%.3f spacing 0,0.025\n"
            "set key above horizontal maxcols %d\nset autoscale noextend\nset offsets 0,0,graph 0.06,graph 0.06\n"
            "set format y '%%4g'\n",
            1 - (4.5 + ROW_MM * rows) / height, columns);
    for (int q = 0; q < SHOAL_COUNT(found.most); ++q) {
        shoal_plot_label(script, 'y', quantities[q], q == 0 ? result->units.length_name : q == 2 ? "deg" : "");
        scale_elements(script, &found, q);
        const shoal_plot_time axis = shoal_plot_times(script, result, found.earliest, found.latest);
        fputs(q < 2 ? "unset xlabel\nset format x ''\nplot " : "plot ", script);
        if (q == 1 && found.any_unbound) {
            fputs("1 with lines dt 3 lc rgb 'black' notitle, \\\n  ", script);
        }
        snprintf(how, sizeof how, "using %s:%d with %s", axis.of, q + 2,
                 found.earliest < found.latest ? "lines" : "points pt 7");
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

/* Whether the orbits of a state are seen from their own mean pole, since that of the reference plane is more than 60
 * degrees off, as of transits: then the axes of the picture are the node, and what is perpendicular to it. */
static bool see_from_their_pole(const shoal_result *result, long system, const double *state, orbits *o)
{
    double pole[3] = {0}; /* the sum of the poles of the bound orbits */
    memcpy(o->axis, (double[2][3]){{1, 0, 0}, {0, 1, 0}}, sizeof o->axis);
    const int n = read_orbits(result, system, state, o) ? o->n : 0;
    for (int i = 1; i < n; ++i) {
        const shoal_orbit *orbit = &o->orbit[i];
        if (is_ellipse(orbit)) {
            pole[0] += sin(orbit->inc) * sin(orbit->Omega);
            pole[1] -= sin(orbit->inc) * cos(orbit->Omega);
            pole[2] += cos(orbit->inc);
        }
    }
    const double flat = hypot(pole[0], pole[1]), length = hypot(flat, pole[2]);
    if (!(flat > sqrt(0.75) * length)) {
        return false;
    }
    const double node[3] = {-pole[1] / flat, pole[0] / flat, 0},
                 up[3] = {-pole[2] * node[1] / length, pole[2] * node[0] / length, flat / length};
    memcpy(o->axis[0], node, sizeof node);
    memcpy(o->axis[1], up, sizeof up);
    return true;
}

/* The ellipses of a state's bound orbits, projected on the plane of the picture, and where on them the bodies are, as
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
                    for (int q = 0; q < 2; ++q) {
                        const double *u = o->axis[q], at_q = u[0] * place[0] + u[1] * place[1] + u[2] * place[2];
                        fprintf(script, "%.17g%s", at_q, q == 0 ? " " : k < 0 ? "\n\n\n" : "\n");
                        o->low[q] = fmin(o->low[q], at_q);
                        o->high[q] = fmax(o->high[q], at_q);
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
    const bool own = see_from_their_pole(result, system, result->initial + (size_t)system * size, &o);
    const int n = write_ellipses(script, result, system, result->initial + (size_t)system * size, "initial", &o);
    const int n_final = write_ellipses(script, result, system, result->final + (size_t)system * size, "final", &o);
    if (n + n_final == 0) {
        free_orbits(&o);
        return shoal_fail(context, SHOAL_E_INPUT, "orbits: system %lld has no bound orbits",
                          (long long)result->id[system]);
    }
    shoal_plot_label(script, 'x', own ? "along the node" : "x", result->units.length_name);
    shoal_plot_label(script, 'y', own ? "across it, seen from the orbits' pole" : "y", result->units.length_name);
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
