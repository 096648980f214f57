/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * rebound_peer.c: what REBOUND's integrators need for the problems that `shoal bench` and tests/bench/precision.c time,
 * in rows of the same format. REBOUND is not part of Shoal: tests/bench/peer/build compiles this file with a REBOUND
 * that you bring.
 *
 *     rebound [--systems N] [--steps N] [CASE ...]         defaults: 4096 systems, 400 steps each, every case;
 *         wildcards
 *     rebound --precision 1 [--systems N] [--orbits N]     defaults: 64 systems, 100 orbits; every method over a row of
 *         steps or
 *                                                          tolerances on the outer planets (tests/outer_planets.h)
 *
 * The problem of the cases, G = 1, is that of core/command/command_bench.c: a star of mass 1 and planets i = 1, 2, ...
 * of mass 1e-4 (two planets, fixed step) or 1e-5. Planet i of system s is at (a cos l, a sin l, 0.01 i), a = 1.4^(i-1),
 * l = (0.1 s mod 2 pi) i + i, with velocity sqrt(1/a) (-sin l, cos l, 0), both relative to the star; then the system is
 * moved to its barycentre. dt = 2 pi / 40: 40 steps to an orbit of planet 1. An integrator that chooses its steps is
 * timed by orbits of planet 1, N / 40 of them.
 *
 * Methods: IAS15 (Rein & Spiegel 2015, MNRAS 446, 1424) as it comes; WHFast (Rein & Tamayo 2015, MNRAS 452, 376),
 * safe_mode = 0, in democratic heliocentric (dh) and Jacobi coordinates, with a corrector of order 17 (c17) and with
 * the lazy kernel (WHCKL), and SABA(10,6,4) (Rein, Tamayo & Brown 2019, MNRAS 489, 4632); with AVX512 defined also
 * WHFast512 (Javaheri, Rein & Tamayo 2023, OJAp 6, 29), with as many systems at once as it takes (4, 2, 1). Without
 * suffix a row times reb_simulation_steps, the loop that a user calls; with `-bare` it times the integrator's own step
 * called in a loop, without the clock readings and checks around every step.
 *
 * Kind to the peer: a system's steps are timed together, so that its data stay in the cache, after some that are not
 * timed; setting it up and taking it down is not timed. One synchronisation in N steps is, for without it there is no
 * answer to check.
 *
 * The answer: |E - E0| / |E0|, the largest of all systems (with --precision the rms), E by the sums below. The program
 * fails if it is over the case's limit.
 */
#include "rebound.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../outer_planets.h"

/* In every REBOUND; rebound.h of version 5 does not show it. */
extern const char *reb_version_str;

enum { MAX_BODIES = 9, MAX_TOGETHER = 4, WARM_UP_STEPS = 20 };

typedef struct problem {
    int n_planets;
    double planet_mass;
    double error_limit; /* ten times what WHFast does; leaving out the planets' attractions misses it by far more */
} problem;

static const problem problems[] = {
    {2, 1e-4, 5e-6},
    {4, 1e-5, 5e-7},
    {8, 1e-5, 5e-7},
};

typedef struct method {
    const char *name;
    const char *integrator;
    int coordinates, corrector, kernel; /* of WHFast */
    int variant;                        /* SABA's type, leapfrog's order */
    double error_limit;                 /* 0: the problem's */
    double first, factor;               /* --precision: steps an orbit, or (first < 1) tolerances; 0: not there */
    int precision_only;
} method;

#define DH   REB_INTEGRATOR_WHFAST_COORDINATES_DEMOCRATICHELIOCENTRIC
#define LAZY REB_INTEGRATOR_WHFAST_KERNEL_LAZY

static const method methods[] = {
    {"whfast-dh", "whfast", .coordinates = DH, .first = 12, .factor = 2},
    {"whfast-jacobi", "whfast", .first = 12, .factor = 2},
    {"whfast-c17", "whfast", .corrector = 17, .error_limit = 1e-9, .first = 12, .factor = 1.5},
    {"whckl", "whfast", .corrector = 17, .kernel = LAZY, .error_limit = 1e-9, .first = 12, .factor = 1.5},
    {"saba-10-6-4", "saba", .variant = REB_INTEGRATOR_SABA_TYPE_10_6_4, .error_limit = 1e-11, .first = 4,
     .factor = 1.5},
    {"ias15", "ias15", .error_limit = 1e-13, .first = 1e-3, .factor = 0.1},
    {"bs", "bs", .first = 1e-5, .factor = 0.1, .precision_only = 1},
    {"leapfrog", "leapfrog", .variant = 2, .first = 32, .factor = 2, .precision_only = 1},
    {"leapfrog-8", "leapfrog", .variant = 8, .first = 16, .factor = 1.5, .precision_only = 1},
#ifdef AVX512
    {"whfast512", "whfast512"},
#endif
};

typedef enum loop { LOOP_STEPS, LOOP_BARE, N_LOOPS } loop;
static const char *const loop_suffix[N_LOOPS] = {"", "-bare"};
static const char *const loop_plan[N_LOOPS] = {"reb_simulation_steps safe_mode=0",
                                               "integrator.callbacks.step safe_mode=0"};

/* The bodies of system s, barycentric. */
static void make_system(const problem *task, long s, struct reb_particle *bodies)
{
    int n = task->n_planets + 1;
    double a = 1, mass = 0, centre[6] = {0};
    memset(bodies, 0, n * sizeof *bodies);
    bodies[0].m = 1;
    for (int i = 1; i < n; i++, a *= 1.4) {
        double l = fmod(0.1 * s, 2 * M_PI) * i + i, v = sqrt(1 / a);
        struct reb_particle *b = &bodies[i];
        b->m = task->planet_mass;
        b->x = a * cos(l);
        b->y = a * sin(l);
        b->z = 0.01 * i;
        b->vx = -v * sin(l);
        b->vy = v * cos(l);
    }
    for (int i = 0; i < n; i++) {
        const struct reb_particle *b = &bodies[i];
        const double w[6] = {b->x, b->y, b->z, b->vx, b->vy, b->vz};
        for (int c = 0; c < 6; c++)
            centre[c] += b->m * w[c];
        mass += b->m;
    }
    for (int i = 0; i < n; i++) {
        struct reb_particle *b = &bodies[i];
        b->x -= centre[0] / mass, b->y -= centre[1] / mass, b->z -= centre[2] / mass;
        b->vx -= centre[3] / mass, b->vy -= centre[4] / mass, b->vz -= centre[5] / mass;
    }
}

static double energy(int n, const struct reb_particle *bodies)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const struct reb_particle *a = &bodies[i];
        sum += 0.5 * a->m * (a->vx * a->vx + a->vy * a->vy + a->vz * a->vz);
        for (int j = 0; j < i; j++) {
            const struct reb_particle *b = &bodies[j];
            double dx = a->x - b->x, dy = a->y - b->y, dz = a->z - b->z;
            sum -= a->m * b->m / sqrt(dx * dx + dy * dy + dz * dz);
        }
    }
    return sum;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* n_steps of all systems in r, synchronised at the end. */
static void advance(struct reb_simulation *r, loop which, long n_steps)
{
    if (which == LOOP_STEPS) {
        reb_simulation_steps(r, n_steps);
        return;
    }
    void (*step)(struct reb_simulation *, void *) = r->integrator.callbacks.step;
    void *state = r->integrator.state;
    for (long i = 0; i < n_steps; i++)
        step(r, state);
    reb_simulation_synchronize(r);
}

static int is_adaptive(const method *how)
{
    return strcmp(how->integrator, "ias15") == 0 || strcmp(how->integrator, "bs") == 0;
}

/* A simulation of one method without bodies. tolerance: of an adaptive one, 0 = as it comes; together: systems at
 * once. */
static struct reb_simulation *create(const method *how, double dt, double tolerance, int together)
{
    struct reb_simulation *r = reb_simulation_create();
    if (!r) {
        fprintf(stderr, "rebound: out of memory\n");
        exit(2);
    }
    r->G = 1;
    r->dt = dt;
    r->exact_finish_time = is_adaptive(how);
    reb_simulation_set_integrator(r, how->integrator);
    void *state = r->integrator.state;
    if (strcmp(how->integrator, "whfast512") == 0) {
        ((struct reb_integrator_whfast512_state *)state)->N_systems = together;
    } else if (strcmp(how->integrator, "whfast") == 0) {
        struct reb_integrator_whfast_state *whfast = state;
        whfast->coordinates = how->coordinates;
        whfast->corrector = how->corrector;
        whfast->kernel = how->kernel;
        whfast->safe_mode = 0;
    } else if (strcmp(how->integrator, "saba") == 0) {
        struct reb_integrator_saba_state *saba = state;
        saba->type = how->variant;
        saba->safe_mode = 0;
    } else if (strcmp(how->integrator, "leapfrog") == 0) {
        ((struct reb_integrator_leapfrog_state *)state)->order = how->variant;
    } else if (strcmp(how->integrator, "ias15") == 0 && tolerance > 0) {
        ((struct reb_integrator_ias15_state *)state)->epsilon = tolerance;
    } else if (strcmp(how->integrator, "bs") == 0 && tolerance > 0) {
        struct reb_integrator_bs_state *bs = state;
        bs->eps_abs = bs->eps_rel = tolerance;
    }
    return r;
}

/*
 * Time one case and print its row.
 *   n_systems  in  systems; rounded up to what the method takes at once
 *   n_steps    in  steps of each
 * Returns 0, or 1 with a message if there is no answer or a wrong one.
 */
static int run_case(const char *name, const problem *task, const method *how, loop which, long n_systems, long n_steps)
{
    const int n = task->n_planets + 1, adaptive = is_adaptive(how);
    int together = strcmp(how->integrator, "whfast512") != 0 ? 1
                   : task->n_planets <= 2                    ? 4
                   : task->n_planets <= 4                    ? 2
                                                             : 1;
    const double dt = 2 * M_PI / 40, limit = how->error_limit > 0 ? how->error_limit : task->error_limit;
    double seconds = 0, error = 0;
    problem light = *task;

    if (adaptive)
        light.planet_mass = 1e-5;
    n_systems = (n_systems + together - 1) / together * together;
    for (long s = 0; s < n_systems; s += together) {
        struct reb_particle bodies[MAX_TOGETHER][MAX_BODIES];
        struct reb_simulation *r = create(how, dt, 0, together);
        for (int k = 0; k < together; k++) {
            make_system(&light, s + k, bodies[k]);
            for (int i = 0; i < n; i++)
                reb_simulation_add(r, bodies[k][i]);
        }

        const double t_warm = WARM_UP_STEPS * dt, t = t_warm + n_steps * dt;
        double start;
        if (adaptive) {
            reb_simulation_integrate(r, t_warm);
            start = now();
            reb_simulation_integrate(r, t);
        } else {
            /* This also resets the flag that bodies were added, which the bare loop would leave set. */
            reb_simulation_steps(r, WARM_UP_STEPS);
            start = now();
            advance(r, which, n_steps);
        }
        seconds += now() - start;

        if (!r->is_synchronized || !(fabs(r->t - t) < 1e-6 * t)) {
            fprintf(stderr, "%s: system %ld stopped at time %g, not %g\n", name, s, r->t, t);
            reb_simulation_free(r);
            return 1;
        }
        for (int k = 0; k < together; k++) {
            double before = energy(n, bodies[k]), one = fabs(energy(n, r->particles + k * n) / before - 1);
            if (!(one <= error))
                error = one;
        }
        reb_simulation_free(r);
        if (isnan(error))
            break;
    }
    double counted = (double)n_systems * n_steps / (adaptive ? 40 : 1);
    printf("%s,rebound %s,%s,%d,%ld,%.0f,%.6f,%.5g,%.3e,%s\n", name, reb_version_str,
           strcmp(how->integrator, "whfast512") == 0 ? "avx512" : "scalar", n, n_systems, counted, seconds,
           1e9 * seconds / counted, error, adaptive ? "reb_simulation_integrate" : loop_plan[which]);
    fflush(stdout);
    if (error <= limit)
        return 0;
    fprintf(stderr, "%s: energy error %g, expected at most %g\n", name, error, limit);
    return 1;
}

/* One point of the work-precision diagram: the outer planets for n_orbits of Jupiter's years. */
static void run_point(const method *how, double value, long n_systems, long n_orbits, double *us, double *error)
{
    enum { N = 5 };
    const int adaptive = is_adaptive(how);
    double seconds = 0, sum = 0;
    for (long s = 0; s < n_systems; s++) {
        double from[N][7];
        struct reb_particle bodies[N] = {0};
        struct reb_simulation *r = create(how, OUTER_JUPITER_YEAR / (adaptive ? 100 : value), adaptive ? value : 0, 1);
        outer_planets_system(s, N, from);
        for (int i = 0; i < N; i++) {
            bodies[i] = (struct reb_particle){.m = from[i][0],
                                              .x = from[i][1],
                                              .y = from[i][2],
                                              .z = from[i][3],
                                              .vx = from[i][4],
                                              .vy = from[i][5],
                                              .vz = from[i][6]};
            reb_simulation_add(r, bodies[i]);
        }
        reb_simulation_move_to_com(r);
        memcpy(bodies, r->particles, sizeof bodies);
        if (adaptive)
            reb_simulation_integrate(r, OUTER_JUPITER_YEAR);
        else
            reb_simulation_steps(r, WARM_UP_STEPS);
        double start = now();
        if (adaptive)
            reb_simulation_integrate(r, (1 + n_orbits) * OUTER_JUPITER_YEAR);
        else
            reb_simulation_steps(r, lround(n_orbits * value));
        seconds += now() - start;
        double relative = energy(N, r->particles) / energy(N, bodies) - 1;
        sum += relative * relative;
        reb_simulation_free(r);
    }
    *us = 1e6 * seconds / ((double)n_systems * n_orbits);
    *error = sqrt(sum / n_systems);
}

static int precision(long n_systems, long n_orbits)
{
    printf("code,method,parameter,systems,orbits,us_per_orbit,error\n");
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        const method *how = &methods[m];
        double us, error, before = INFINITY;
        for (double value = how->first; value > 0; value *= how->factor, before = error) {
            run_point(how, value, n_systems, n_orbits, &us, &error);
            if ((error > 0.5 * before && error < 1e-11) || !(us * n_systems * n_orbits <= 5e6))
                break;
            if (error < 0.1)
                printf("rebound %s,%s,%.3g,%ld,%ld,%.4g,%.3e\n", reb_version_str, how->name, value, n_systems, n_orbits,
                       us, error);
            fflush(stdout);
        }
    }
    return 0;
}

static int usage(const char *what)
{
    fprintf(stderr,
            "rebound: %s\nusage: rebound [--systems N] [--steps N] [CASE ...]\n"
            "       rebound --precision 1 [--systems N] [--orbits N]\n",
            what);
    return 2;
}

int main(int argc, char **argv)
{
    long n_systems = 0, n_steps = 400, n_orbits = 100, points = 0;
    int n_cases = 0, n_run = 0, failed = 0;
    char **cases = argv + 1;

    const struct {
        const char *name;
        long *value;
    } counts[] = {{"--systems", &n_systems}, {"--steps", &n_steps}, {"--orbits", &n_orbits}, {"--precision", &points}};
    for (int i = 1; i < argc; i++) {
        long *count = NULL;
        char *end;
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            if (strcmp(argv[i], counts[c].name) == 0)
                count = counts[c].value;
        if (!count) {
            if (argv[i][0] == '-')
                return usage(argv[i]);
            cases[n_cases++] = argv[i];
            continue;
        }
        if (++i == argc || (*count = strtol(argv[i], &end, 10)) < 1 || *end)
            return usage("a count is a whole number above 0");
    }
    if (n_systems == 0)
        n_systems = points ? 64 : 4096;
#ifdef AVX512
    /* The whole program was compiled for such a processor; without one it ends here and not at an illegal
     * instruction. */
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq")) {
        fprintf(stderr, "rebound: compiled with AVX512, which this processor does not have\n");
        return 2;
    }
#endif
    if (points)
        return precision(n_systems, n_orbits);
    printf("case,engine,work_model,bodies,systems,steps,seconds,ns_per_system_step,error,plan\n");
    for (size_t p = 0; p < sizeof problems / sizeof *problems; p++) {
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            for (int l = 0; l < N_LOOPS; l++) {
                char name[64];
                if (methods[m].precision_only || (l == LOOP_BARE && is_adaptive(&methods[m])))
                    continue;
                snprintf(name, sizeof name, "rebound-%s-%dp%s", methods[m].name, problems[p].n_planets, loop_suffix[l]);
                int chosen = n_cases == 0;
                for (int c = 0; c < n_cases; c++)
                    chosen |= fnmatch(cases[c], name, 0) == 0;
                if (!chosen)
                    continue;
                n_run++;
                failed |= run_case(name, &problems[p], &methods[m], l, n_systems, n_steps);
            }
        }
    }
    if (n_run == 0)
        return usage("no case of that name");
    return failed;
}
