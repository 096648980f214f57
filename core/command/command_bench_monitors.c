/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_bench_monitors.c: `shoal bench monitors`: what monitors cost. Of each ensemble a line: the steps a second of
 * the bare loop, and the share of it that is left with each monitor alone, with those of a stability sweep, and with
 * all; the letter is the work model. The planets stay where nothing happens. Words after `monitors` choose propagators,
 * numbers of bodies and columns. The states of all these runs are the same bits, or it is an error.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/command.h"

enum { TURNS = 2 };
#define SECONDS 0.15 /* of a run */

static const struct {
    const char *propagator;
    double mass, dt, bound;
} propagators[] = {
    {"mvs", 1e-5, M_PI / 20, 1e-5},
    {"mvs_jacobi", 1e-5, M_PI / 20, 1e-5},
    {"hybrid", 1e-5, M_PI / 20, 1e-5},
    {"hermite4", 1e-5, 1e-3, 1e-11},
};
static const int planets[] = {2, 3, 4, 8};

static const shoal_setting r_max = {"r_max", 1000, NULL};
static const struct {
    const char *heading;
    shoal_plug_options monitors[5];
    int n;
} watched[] = {
    {"ejection", {{"stop_on_ejection", &r_max, 1}}, 1},
    {"collision", {{"stop_on_collision", NULL, 0}}, 1},
    {"encounter", {{"stop_on_encounter", NULL, 0}}, 1},
    {"energy", {{"energy_error", NULL, 0}}, 1},
    {"closest", {{"closest_approach", NULL, 0}}, 1},
    {"drift", {{"mean_motion_drift", NULL, 0}}, 1},
    {"megno", {{"megno", NULL, 0}}, 1},
    {"sweep", {{"stop_on_ejection", &r_max, 1}, {"stop_on_encounter", NULL, 0}, {"energy_error", NULL, 0}}, 3},
    {"contact", {{"stop_on_ejection", &r_max, 1}, {"stop_on_collision", NULL, 0}, {"energy_error", NULL, 0}}, 3},
    {"all",
     {{"stop_on_ejection", &r_max, 1},
      {"stop_on_collision", NULL, 0},
      {"energy_error", NULL, 0},
      {"closest_approach", NULL, 0},
      {"megno", NULL, 0}},
     5},
};

/* The fastest of some runs: steps a second. */
static shoal_status best_of(shoal_context *context, const bench_case *c, const bench_options *options, bool bare,
                            double n_steps, bench_row *row)
{
    double best = INFINITY;
    shoal_status status = SHOAL_OK;
    for (int turn = 0; turn < TURNS && !status; turn++) {
        status = bench_run(context, c, options, bare, n_steps, row);
        best = fmin(best, row->seconds);
    }
    row->seconds = best;
    return status;
}

static bool has_tangent(const bench_case *c)
{
    for (int i = 0; i < c->n_monitors; i++)
        if (strcmp(c->monitors[i].name, "megno") == 0)
            return true;
    return false;
}

/* What a word after `monitors` chooses. */
typedef enum kind_of_word { A_PROPAGATOR, A_NUMBER_OF_BODIES, A_COLUMN, UNKNOWN } kind_of_word;

static kind_of_word kind_of(const char *word)
{
    for (int p = 0; p < SHOAL_COUNT(propagators); p++)
        if (strcmp(word, propagators[p].propagator) == 0)
            return A_PROPAGATOR;
    for (int n = 0; n < SHOAL_COUNT(planets); n++)
        if (atoi(word) == planets[n] + 1)
            return A_NUMBER_OF_BODIES;
    for (int i = 0; i < SHOAL_COUNT(watched); i++)
        if (strcmp(word, watched[i].heading) == 0)
            return A_COLUMN;
    return UNKNOWN;
}

/* Whether the words choose this one, or none of its kind. */
static bool asked(const bench_options *options, const char *this)
{
    bool others = false;
    for (int i = 1; i < options->n_names; i++) {
        if (strcmp(options->names[i], this) == 0)
            return true;
        others = others || kind_of(options->names[i]) == kind_of(this);
    }
    return !others;
}

static shoal_status bench_ensemble(shoal_context *context, bench_case c, const bench_options *options)
{
    bench_row bare = {0}, row = {0};
    const double n_steps = options->steps ? (double)options->steps : bench_steps(context, &c, options, SECONDS);
    if (n_steps == 0)
        return SHOAL_E_INTERNAL;
    shoal_status status = best_of(context, &c, options, true, n_steps, &bare);
    if (status)
        return status;
    printf(options->csv ? "%s-%d,%s,%s,%ld,%.4g" : "%-10s %6d %-6s %-9s %7ld %9.3g", c.propagator, c.n_planets + 1,
           bare.engine, bare.model, options->systems, bare.steps / bare.seconds);
    for (int i = 0; i < SHOAL_COUNT(watched); i++) {
        if (!asked(options, watched[i].heading))
            continue;
        c.monitors = watched[i].monitors;
        c.n_monitors = watched[i].n;
        if (has_tangent(&c) && !shoal_propagator_find(NULL, c.propagator)->tangent) {
            printf(options->csv ? ",," : "         -");
            continue;
        }
        status = best_of(context, &c, options, false, n_steps, &row);
        if (status)
            return status;
        if (row.bits != bare.bits)
            return shoal_fail(context, SHOAL_E_INTERNAL, "%s: other states than without", watched[i].heading);
        printf(options->csv ? ",%.4f,%s" : " %7.3f %.1s", row.steps / row.seconds / (bare.steps / bare.seconds),
               row.model);
        fflush(stdout);
    }
    puts("");
    return SHOAL_OK;
}

shoal_status bench_monitors(shoal_context *context, const bench_options *options)
{
    shoal_status status = SHOAL_OK;
    (void)setenv("SHOAL_HOSTED", "0", 0); /* a GPU alone: the bare loop has no CPU threads beside it */
    for (int i = 1; i < options->n_names; i++)
        if (kind_of(options->names[i]) == UNKNOWN)
            return shoal_fail(context, SHOAL_E_USAGE,
                              "'%s': expected mvs, mvs_jacobi, hybrid, hermite4, or 3, 4, 5, 9 bodies, or a column of "
                              "the table",
                              options->names[i]);
    printf(options->csv ? "case,engine,work_model,systems,bare" : "%-10s bodies engine model     systems  bare 1/s",
           "");
    for (int i = 0; i < SHOAL_COUNT(watched); i++)
        if (asked(options, watched[i].heading))
            printf(options->csv ? ",%s,model" : " %9s", watched[i].heading);
    puts("");
    for (int p = 0; p < SHOAL_COUNT(propagators) && !status; p++)
        for (int n = 0; n < SHOAL_COUNT(planets) && !status; n++) {
            const bench_case c = {.propagator = propagators[p].propagator,
                                  .n_planets = planets[n],
                                  .planet_mass = propagators[p].mass,
                                  .dt = propagators[p].dt,
                                  .error_bound = propagators[p].bound,
                                  .radius = 4e-5};
            char n_bodies[16];
            snprintf(n_bodies, sizeof n_bodies, "%d", c.n_planets + 1);
            if (asked(options, c.propagator) && asked(options, n_bodies))
                status = bench_ensemble(context, c, options);
        }
    return status;
}
