/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * precision.c: what precision costs: every propagator on the four outer planets (tests/outer_planets.h), each system
 * with the orbits turned by other angles, over a row of steps or tolerances. It prints rows for
 * tests/bench/precision.sh, which draws them:
 *
 *     precision [--engine E] [--systems N] [--orbits N] [--seconds S] [METHOD ...]     defaults: cpu, 64, 100, 5, every
 *         method
 *         code,method,parameter,systems,orbits,us_per_orbit,error
 *     precision --growth VALUE [--compensated 1] [--systems N] [--orbits N] METHOD
 *         method,orbits,median,rms                                       of |dE/E| in the course of one run with that
 *             parameter
 *
 * us_per_orbit: microseconds of one CPU core, or of the whole GPU, for a system and Jupiter's year; error: the rms over
 * the systems of the relative energy error at the end, which averages over the phases of errors that oscillate.
 * parameter: steps a year of Jupiter's, or the tolerance named in the table. A method's row ends where its error no
 * longer falls, or after a run of S seconds. The exit status is 3 where the engine is not there.
 */
#include "core/shoal.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../outer_planets.h"

enum { N_BODIES = 5 };

typedef struct method {
    const char *name, *propagator;
    const char *parameter; /* of an adaptive propagator; NULL: steps an orbit */
    double first, factor;  /* of the parameter's values */
    shoal_setting settings[2];
} method;

static const method methods[] = {
    {"mvs", "mvs", NULL, 12, 2, {{0}}},
    {"mvs_whds", "mvs_whds", NULL, 12, 2, {{0}}},
    {"hybrid", "hybrid", NULL, 12, 2, {{0}}},
    {"mvs_jacobi", "mvs_jacobi", NULL, 12, 2, {{0}}},
    {"mvs_jacobi_c17", "mvs_jacobi", NULL, 12, 1.5, {{"corrector", 17, NULL}}},
    {"whckl", "mvs_jacobi", NULL, 12, 1.5, {{"corrector", 17, NULL}, {"kernel", 0, "lazy"}}},
    {"saba_2", "saba", NULL, 6, 2, {{"scheme", 0, "2"}}},
    {"saba_cl4", "saba", NULL, 6, 1.5, {{"scheme", 0, "cl4"}}},
    {"saba_8_4_4", "saba", NULL, 4, 1.5, {{"scheme", 0, "8,4,4"}}},
    {"saba_10_6_4", "saba", NULL, 4, 1.5, {{"scheme", 0, "10,6,4"}}},
    {"leapfrog", "leapfrog", NULL, 32, 2, {{0}}},
    {"suzuki4", "leapfrog", NULL, 32, 2, {{"order", 4, NULL}}},
    {"kahan_li6", "leapfrog", NULL, 32, 1.5, {{"order", 6, NULL}}},
    {"kahan_li8", "leapfrog", NULL, 16, 1.5, {{"order", 8, NULL}}},
    {"hermite4", "hermite4", NULL, 64, 2, {{0}}},
    {"hermite6", "hermite6", NULL, 48, 1.5, {{0}}},
    {"hermite4_adaptive", "hermite4_adaptive", "tau", 0.05, 0.5, {{"criterion", 0, "symmetric"}}},
    {"hermite6_adaptive", "hermite6_adaptive", "tau", 0.2, 0.6, {{"criterion", 0, "symmetric"}}},
    {"rk4", "runge_kutta", NULL, 64, 2, {{"method", 0, "rk4"}}},
    {"cash_karp", "runge_kutta", NULL, 64, 1.5, {{"method", 0, "cash_karp"}}},
    {"rk8pd", "runge_kutta", NULL, 32, 1.5, {{"method", 0, "prince_dormand8"}}},
    {"dopri5", "runge_kutta_adaptive", "tolerance", 1e-6, 0.1, {{"method", 0, "dormand_prince"}}},
    {"dopri8", "runge_kutta_adaptive", "tolerance", 1e-6, 0.1, {{"method", 0, "prince_dormand8"}}},
    {"bulirsch_stoer", "bulirsch_stoer", "tolerance", 1e-5, 0.1, {{0}}},
    {"gauss4", "gauss", NULL, 32, 2, {{"order", 0, "4"}}},
    {"gauss8", "gauss", NULL, 16, 1.5, {{"order", 0, "8"}}},
    {"gauss12", "gauss", NULL, 8, 1.5, {{"order", 0, "12"}}},
    {"gauss_radau_fixed", "gauss_radau_fixed", NULL, 8, 1.4, {{0}}},
    {"gauss_radau", "gauss_radau", "epsilon", 1e-3, 0.1, {{0}}},
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median and rms of the systems' |dE/E|, NaN if one ended. error: scratch, [systems]. */
static void errors_of(const shoal_ensemble *ensemble, double *error, double *median, double *rms)
{
    const long n = shoal_ensemble_n_systems(ensemble);
    double sum = 0;
    for (long s = 0; s < n; s++) {
        shoal_system record;
        shoal_ensemble_get_system(ensemble, s, &record);
        const int there = record.outcome == SHOAL_RUNNING || record.outcome == SHOAL_SURVIVED;
        error[s] = there ? fabs(shoal_ensemble_energy(ensemble, s) / record.energy_start - 1) : NAN;
        sum += error[s] * error[s];
    }
    qsort(error, (size_t)n, sizeof *error, by_size);
    *median = (error[(n - 1) / 2] + error[n / 2]) / 2;
    *rms = sqrt(sum / (double)n);
}

/* One ensemble to `orbits`. */
typedef struct trial {
    const method *m;
    double value; /* of the method's parameter, or steps an orbit */
    bool compensated;
    const char *engine;
    long systems;
    double orbits;
    bool growth; /* print the errors at four times in a decade of orbits */
} trial;

/* us: microseconds a system and orbit, after the first orbit */
static shoal_status run(shoal_context *context, const trial *t, double *us, double *error)
{
    const method *m = t->m;
    const long systems = t->systems;
    const double orbits = t->orbits;
    shoal_ensemble *ensemble = NULL;
    shoal_plan *plan = NULL;
    shoal_setting settings[4];
    int n_settings = 0;
    double *scratch = malloc((size_t)systems * sizeof *scratch), median;
    for (int i = 0; i < 2 && m->settings[i].name; i++)
        settings[n_settings++] = m->settings[i];
    if (m->parameter)
        settings[n_settings++] = (shoal_setting){m->parameter, t->value, NULL};
    if (t->compensated)
        settings[n_settings++] = (shoal_setting){"compensated", 1, NULL};
    const shoal_options options = {.propagator = m->propagator,
                                   .settings = settings,
                                   .n_settings = n_settings,
                                   .engine = t->engine,
                                   .threads = 1,
                                   .dt = m->parameter ? 0 : OUTER_JUPITER_YEAR / t->value,
                                   .t_end = orbits * OUTER_JUPITER_YEAR};
    shoal_status status = shoal_ensemble_create(context, systems, N_BODIES, &ensemble);
    for (long s = 0; !status && s < systems; s++) {
        double from[N_BODIES][7];
        shoal_body bodies[N_BODIES];
        outer_planets_system(s, N_BODIES, from);
        for (int i = 0; i < N_BODIES; i++)
            bodies[i] = (shoal_body){.m = from[i][0],
                                     .x = from[i][1],
                                     .y = from[i][2],
                                     .z = from[i][3],
                                     .vx = from[i][4],
                                     .vy = from[i][5],
                                     .vz = from[i][6]};
        status = shoal_ensemble_set_bodies(ensemble, s, N_BODIES, bodies);
    }
    if (!status)
        status = shoal_plan_create(context, ensemble, &options, &plan);
    if (!status)
        /* loads, page faults and compiles are not what is timed */
        status = shoal_plan_integrate(plan, OUTER_JUPITER_YEAR);
    const double began = now();
    for (int i = 4; t->growth && !status && pow(10, 0.25 * i) < 0.99 * orbits; i++) {
        const double n = floor(pow(10, 0.25 * i));
        status = shoal_plan_integrate(plan, n * OUTER_JUPITER_YEAR);
        errors_of(ensemble, scratch, &median, error);
        printf("%s,%.0f,%.3e,%.3e\n", m->name, n, median, *error);
        fflush(stdout);
    }
    if (!status)
        status = shoal_plan_integrate(plan, orbits * OUTER_JUPITER_YEAR);
    *us = 1e6 * (now() - began) / ((double)systems * (orbits - 1));
    if (!status)
        errors_of(ensemble, scratch, &median, error);
    if (!status && t->growth)
        printf("%s,%.0f,%.3e,%.3e\n", m->name, orbits, median, *error);
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
    free(scratch);
    return status;
}

static int usage(const char *what)
{
    fprintf(stderr, "precision: %s\nmethods:", what);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        fprintf(stderr, "%s %s", m ? "," : "", methods[m].name);
    fprintf(stderr, "\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *engine = "cpu";
    double systems = 64, orbits = 100, growth = 0, compensated = 0, seconds = 5;
    const struct {
        const char *name;
        double *value;
    } numbers[] = {{"--systems", &systems},
                   {"--orbits", &orbits},
                   {"--growth", &growth},
                   {"--compensated", &compensated},
                   {"--seconds", &seconds}};
    char code[32] = "shoal";
    int first = 1, known = 0;
    for (; first < argc && argv[first][0] == '-'; first += 2) {
        double *value = NULL;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            if (strcmp(argv[first], numbers[i].name) == 0)
                value = numbers[i].value;
        if (first + 1 == argc || (!value && strcmp(argv[first], "--engine") != 0))
            return usage(argv[first]);
        if (!value)
            engine = argv[first + 1];
        else if (!((*value = atof(argv[first + 1])) > 0))
            return usage("a number above 0 is expected");
    }
    if (strcmp(engine, "cpu") != 0)
        snprintf(code, sizeof code, "shoal %s", engine);
    shoal_context *context = NULL;
    shoal_status status = shoal_context_create(&context);
    printf(growth > 0 ? "method,orbits,median,rms\n" : "code,method,parameter,systems,orbits,us_per_orbit,error\n");
    for (size_t k = 0; k < sizeof methods / sizeof *methods && !status; k++) {
        const method *m = &methods[k];
        int chosen = first == argc;
        for (int i = first; i < argc; i++)
            chosen |= strcmp(argv[i], m->name) == 0;
        known += chosen;
        double us = 0, error = INFINITY, before = INFINITY;
        trial t = {m, growth, compensated > 0, engine, (long)systems, orbits, true};
        if (chosen && growth > 0)
            status = run(context, &t, &us, &error);
        for (double value = m->first; chosen && !(growth > 0) && !status && value > 0.5e-16;
             value *= m->factor, before = error) {
            t = (trial){m, value, false, engine, (long)systems, orbits, false};
            status = run(context, &t, &us, &error);
            if (status || (error > 0.5 * before && error < 1e-11) || us * systems * orbits > 1e6 * seconds)
                break;
            if (error < 0.1)
                printf("%s,%s,%.3g,%.0f,%.0f,%.4g,%.3e\n", code, m->name, value, systems, orbits, us, error);
            fflush(stdout);
        }
        if (status == SHOAL_E_UNSUPPORTED && first == argc) {
            fprintf(stderr, "precision: %s is left out: %s\n", m->name, shoal_context_message(context));
            status = SHOAL_OK;
        }
    }
    if (status)
        fprintf(stderr, "precision: %s: %s\n", shoal_status_text(status), shoal_context_message(context));
    shoal_context_destroy(&context);
    return known ? status == SHOAL_E_UNSUPPORTED ? 3 : status != SHOAL_OK : usage("no method of that name");
}
