/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ttvfast_peer.c: transit times of one planetary system by TTVFast (Deck et al. 2014) and by Shoal's methods, on one
 * core.
 *
 *     ttvfast_peer NAME DT T_END SYSTEMS < STATES     DT, T_END: days from the states on; SYSTEMS: likelihoods in one
 *         call of Shoal
 *
 * STATES is what `shoal query FILE --initial` prints, in AU, Msun and days. Both codes get the same positions and
 * velocities. What is timed is a likelihood's work: TTVFast's one call for one system; Shoal's shoal_plan_restart and
 * shoal_plan_integrate for all of them, whose masses differ by some 1e-7, over their number. Every time is the least of
 * five.
 *
 * Prints rows  case,code,method,dt_days,us_a_system,ns_a_step,transits,rms_s,rms_residual_s: the difference from the
 * times by gauss_radau with half the step, in seconds, and what of it is left after a straight line a planet (a fit's
 * periods and phases take that up). Before anything is timed TTVFast with a sixteenth of the step must be within 1 s of
 * them, in number and time: two independent codes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/shoal.h"
#include "transit.h" /* TTVFast's */

enum { MOST_PLANETS = 9, MOST_TRANSITS = 20000, TURNS = 5 };

void TTVFast(double *parameters, double dt, double start, double end, int n_planets, CalcTransit *transits,
             CalcRV *velocities, int n_velocities, int n_transits, int input);

static const double G = 2.959122082855911e-4; /* AU^3 / (Msun d^2): Gauss' constant squared */
static const double DAY = 86400;

/* Of each planet, in order. */
typedef struct times {
    int n[MOST_PLANETS + 1];
    double t[MOST_PLANETS + 1][MOST_TRANSITS]; /* days */
} times;

typedef struct problem {
    const char *name;
    int n;                                   /* bodies */
    shoal_body bodies[MOST_PLANETS + 1];     /* Shoal's units of time: days sqrt(G) */
    double parameters[2 + 7 * MOST_PLANETS]; /* TTVFast's */
    double dt, t_end;
    long n_systems;
} problem;

static void stop(const char *what)
{
    fprintf(stderr, "ttvfast_peer: %s\n", what);
    exit(2);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void read_states(problem *p)
{
    char line[1000];
    while (fgets(line, sizeof line, stdin) && p->n <= MOST_PLANETS) {
        shoal_body *b = &p->bodies[p->n];
        if (sscanf(line, "%*d,%*d,%*[^,],%*f,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &b->m, &b->x, &b->y, &b->z, &b->vx, &b->vy,
                   &b->vz) != 7)
            continue;
        b->vx /= sqrt(G);
        b->vy /= sqrt(G);
        b->vz /= sqrt(G);
        p->n++;
    }
    if (p->n < 2)
        stop("no states: expected what `shoal query FILE --initial` prints");
    p->parameters[0] = G;
    p->parameters[1] = p->bodies[0].m;
    for (int i = 1; i < p->n; i++) {
        const shoal_body *b = &p->bodies[i], *star = &p->bodies[0];
        const double state[7] = {b->m,
                                 b->x - star->x,
                                 b->y - star->y,
                                 b->z - star->z,
                                 (b->vx - star->vx) * sqrt(G),
                                 (b->vy - star->vy) * sqrt(G),
                                 (b->vz - star->vz) * sqrt(G)};
        memcpy(p->parameters + 2 + 7 * (i - 1), state, sizeof state);
    }
}

/* ---- the two codes: least time in seconds, of one system --------------------------------------------------------- */

static double by_ttvfast(const problem *p, double dt, int turns, times *found)
{
    CalcTransit *transits = calloc(MOST_TRANSITS, sizeof *transits);
    double parameters[2 + 7 * MOST_PLANETS], least = INFINITY;
    if (!transits)
        stop("out of memory");
    for (int turn = 0; turn < turns; turn++) {
        for (int i = 0; i < MOST_TRANSITS; i++)
            transits[i].time = -2;
        memcpy(parameters, p->parameters, sizeof parameters);
        const double began = now();
        TTVFast(parameters, dt, 0, p->t_end, p->n - 1, transits, NULL, 0, MOST_TRANSITS, 2);
        least = fmin(least, now() - began);
    }
    memset(found->n, 0, sizeof found->n);
    for (int i = 0; i < MOST_TRANSITS && transits[i].time != -2; i++) {
        const int planet = transits[i].planet + 1;
        found->t[planet][found->n[planet]++] = transits[i].time;
    }
    free(transits);
    return least;
}

static void check(shoal_context *context, shoal_status status)
{
    if (status)
        stop(shoal_context_message(context));
}

static double by_shoal(shoal_context *context, const problem *p, const char *method, double dt, long n_systems,
                       int turns, times *found)
{
    const shoal_plug_options watch = {.name = "transits"};
    enum { MOST_SETTINGS = 3 };
    char words[100], *rest = words;
    shoal_setting of[MOST_SETTINGS];
    int n_settings = 0;
    snprintf(words, sizeof words, "%s", method);
    const char *propagator = strtok_r(rest, " ", &rest);
    for (char *key; n_settings < MOST_SETTINGS && (key = strtok_r(rest, "=", &rest)); n_settings++)
        of[n_settings] = (shoal_setting){key, 0, strtok_r(rest, " ", &rest)};
    const shoal_options options = {.propagator = propagator,
                                   .settings = of,
                                   .n_settings = n_settings,
                                   .engine = "cpu",
                                   .threads = 1,
                                   .monitors = &watch,
                                   .n_monitors = 1,
                                   .dt = dt * sqrt(G),
                                   .t_end = (p->t_end + dt) * sqrt(G)};
    shoal_ensemble *ensemble;
    shoal_plan *plan = NULL;
    double least = INFINITY;
    check(context, shoal_ensemble_create(context, n_systems, p->n, &ensemble));
    for (int turn = 0; turn < turns; turn++) {
        for (long s = 0; s < n_systems; s++) {
            shoal_body bodies[MOST_PLANETS + 1];
            memcpy(bodies, p->bodies, sizeof bodies);
            for (int i = 1; i < p->n; i++)
                bodies[i].m *= 1 + 1e-7 * (double)s / (double)n_systems;
            check(context, shoal_ensemble_set_bodies(ensemble, s, p->n, bodies));
        }
        const double began = now();
        check(context, plan ? shoal_plan_restart(plan) : shoal_plan_create(context, ensemble, &options, &plan));
        check(context, shoal_plan_integrate(plan, options.t_end));
        least = fmin(least, (now() - began) / (double)n_systems);
    }
    memset(found->n, 0, sizeof found->n);
    for (long i = 0; i < shoal_plan_n_logged(plan, "transits"); i++) {
        double system, body, time;
        check(context, shoal_plan_get_log(plan, "transits", "system", i, 1, &system, 0));
        check(context, shoal_plan_get_log(plan, "transits", "body", i, 1, &body, 0));
        check(context, shoal_plan_get_log(plan, "transits", "time", i, 1, &time, 0));
        const int b = (int)body;
        if (system == 0 && found->n[b] < MOST_TRANSITS)
            found->t[b][found->n[b]++] = time / sqrt(G);
    }
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
    return least;
}

/* ---- what came of it --------------------------------------------------------------------------------------------- */

/* Root mean square of the differences in seconds, and of what a line a planet leaves of them; the number of transits
 * that both have. */
static long compare(const problem *p, const times *reference, const times *found, double *rms, double *rest)
{
    double sum = 0, sum_rest = 0;
    long n = 0;
    for (int b = 1; b < p->n; b++) {
        double d0 = 0, d1 = 0, all = 0, d[MOST_TRANSITS];
        int both = 0;
        while (both < reference->n[b] && both < found->n[b] && reference->t[b][both] < p->t_end - p->dt &&
               found->t[b][both] < p->t_end)
            both++;
        for (int i = 0; i < both; i++) {
            d[i] = (found->t[b][i] - reference->t[b][i]) * DAY;
            sum += d[i] * d[i];
            d0 += d[i] / both;
        }
        for (int i = 0; i < both; i++) {
            d1 += (i - 0.5 * (both - 1)) * (d[i] - d0);
            all += (i - 0.5 * (both - 1)) * (i - 0.5 * (both - 1));
        }
        for (int i = 0; i < both; i++)
            sum_rest += pow(d[i] - d0 - (all > 0 ? d1 / all : 0) * (i - 0.5 * (both - 1)), 2);
        n += both;
    }
    *rms = sqrt(sum / (double)n);
    *rest = sqrt(sum_rest / (double)n);
    return n;
}

static void print(const problem *p, const char *code, const char *method, double dt, double seconds,
                  const times *reference, const times *found)
{
    double rms, rest;
    const long n = compare(p, reference, found, &rms, &rest);
    printf("%s,%s,%s,%g,%.1f,%.1f,%ld,%.3g,%.3g\n", p->name, code, method, dt, 1e6 * seconds,
           1e9 * seconds * dt / p->t_end, n, rms, rest);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        double steps;
    } methods[] = {/* of DT in one of its steps */
                   {"mvs", 1},
                   {"mvs_jacobi", 1},
                   {"mvs_jacobi corrector=3", 1},
                   {"mvs_jacobi corrector=11 inverse=never", 1},
                   {"mvs_jacobi corrector=17 inverse=never kernel=lazy", 1},
                   {"saba scheme=2", 1},
                   {"saba scheme=cl2", 1},
                   {"saba scheme=8,4,4", 1},
                   {"saba scheme=10,6,4", 2},
                   {"hermite6", 0.5},
                   {"gauss_radau", 1}};
    static problem p;
    static times reference, found;
    shoal_context *context;
    double rms, rest;
    if (argc != 5)
        stop("expected NAME DT T_END SYSTEMS < STATES");
    p.name = argv[1];
    p.dt = atof(argv[2]);
    p.t_end = atof(argv[3]);
    p.n_systems = atol(argv[4]);
    read_states(&p);
    if (shoal_context_create(&context))
        stop("out of memory");

    by_shoal(context, &p, "gauss_radau", 0.5 * p.dt, 1, 1, &reference);
    by_ttvfast(&p, p.dt / 16, 1, &found);
    const long n = compare(&p, &reference, &found, &rms, &rest);
    fprintf(stderr, "%s: gauss_radau and TTVFast with a step of %g d: %ld transits, %.3g s apart\n", p.name, p.dt / 16,
            n, rms);
    if (n < 20 || !(rms < 1))
        stop("the answers differ");

    printf("case,code,method,dt_days,us_a_system,ns_a_step,transits,rms_s,rms_residual_s\n");
    double seconds = by_ttvfast(&p, p.dt, TURNS, &found);
    print(&p, "ttvfast", "wh-jacobi", p.dt, seconds, &reference, &found);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        seconds = by_shoal(context, &p, methods[i].name, methods[i].steps * p.dt, p.n_systems, TURNS, &found);
        char method[60];
        snprintf(method, sizeof method, "%s", methods[i].name);
        for (char *c = method; *c; c++)
            *c = *c == ',' ? '.' : *c;
        print(&p, "shoal", method, methods[i].steps * p.dt, seconds, &reference, &found);
    }
    seconds = by_ttvfast(&p, p.dt, TURNS, &found);
    print(&p, "ttvfast", "wh-jacobi again", p.dt, seconds, &reference, &found);
    shoal_context_destroy(&context);
    return 0;
}
