/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * rebound_whfast.c: what REBOUND's WHFast needs for a step of the problem that the mvs cases of `shoal bench` time. It prints
 * rows in the same format (`steps`: of all systems together). REBOUND is not part of Shoal: tests/bench/peers.sh compiles this
 * file with a REBOUND that you bring.
 *
 *     rebound_whfast [--systems N] [--steps N] [CASE ...]      defaults: 4096 systems, 400 steps each, every case;
 *                                                              CASE may have wildcards
 *
 * The problem, G = 1, is that of core/bench.c: a star of mass 1 and planets i = 1, 2, ... of mass 1e-4 (two planets) or 1e-5
 * (four, eight). Planet i of system s is at (a cos l, a sin l, 0.01 i), a = 1.4^(i-1), l = (0.1 s mod 2 pi) i + i, with velocity
 * sqrt(1/a) (-sin l, cos l, 0), both relative to the star; then the system is moved to its barycentre. dt = 2 pi / 40: 40 steps
 * to an orbit of planet 1.
 *
 * Rows: WHFast (Rein & Tamayo 2015, MNRAS 452, 376), safe_mode = 0, in democratic heliocentric (dh) and in Jacobi coordinates;
 * with AVX512 defined also WHFast512 (Javaheri, Rein & Tamayo 2023, OJAp 6, 29), with as many systems at once as it takes
 * (4, 2, 1). Without suffix a row times reb_simulation_steps, the loop that a user calls; with `-bare` it times the integrator's
 * own step called in a loop, without the clock readings and checks around every step.
 *
 * Kind to the peer: a system's steps are timed together, so that its data stay in the cache, after some that are not timed;
 * setting it up and taking it down is not timed. One synchronisation in N steps is, for without it there is no answer to check.
 *
 * The answer: |E - E0| / |E0|, the largest of all systems, E by the sums below. The program fails if it is over the case's
 * limit.
 */
#include "rebound.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* In every REBOUND; rebound.h of version 5 does not show it. */
extern const char *reb_version_str;

enum { MAX_BODIES = 9, MAX_TOGETHER = 4, WARM_UP_STEPS = 20 };

typedef struct problem {
    int n_planets;
    double planet_mass;
    double error_limit; /* ten times what WHFast does; leaving out the planets' attractions misses it by far more */
} problem;

static const problem problems[] = {
    { 2, 1e-4, 5e-6 },
    { 4, 1e-5, 5e-7 },
    { 8, 1e-5, 5e-7 },
};

typedef struct method {
    const char *name;
    const char *integrator;
    int coordinates;
    const char *work_model;
} method;

static const method methods[] = {
    { "whfast-dh", "whfast", REB_INTEGRATOR_WHFAST_COORDINATES_DEMOCRATICHELIOCENTRIC, "scalar" },
    { "whfast-jacobi", "whfast", REB_INTEGRATOR_WHFAST_COORDINATES_JACOBI, "scalar" },
#ifdef AVX512
    { "whfast512", "whfast512", 0, "avx512" },
#endif
};

typedef enum loop { LOOP_STEPS, LOOP_BARE, N_LOOPS } loop;
static const char *const loop_suffix[N_LOOPS] = { "", "-bare" };
static const char *const loop_plan[N_LOOPS] = { "reb_simulation_steps safe_mode=0", "integrator.callbacks.step safe_mode=0" };

/* The bodies of system s, barycentric. */
static void make_system(const problem *task, long s, struct reb_particle *bodies)
{
    int n = task->n_planets + 1;
    double a = 1, mass = 0, centre[6] = { 0 };
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
        const double w[6] = { b->x, b->y, b->z, b->vx, b->vy, b->vz };
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

/*
 * Time one case and print its row.
 *   n_systems  in  systems; rounded up to what the method takes at once
 *   n_steps    in  steps of each
 * Returns 0, or 1 with a message if there is no answer or a wrong one.
 */
static int run_case(const char *name, const problem *task, const method *how, loop which, long n_systems, long n_steps)
{
    int n = task->n_planets + 1;
    int together = strcmp(how->integrator, "whfast512") != 0 ? 1 : task->n_planets <= 2 ? 4 : task->n_planets <= 4 ? 2 : 1;
    double seconds = 0, error = 0;

    n_systems = (n_systems + together - 1) / together * together;
    for (long s = 0; s < n_systems; s += together) {
        struct reb_particle bodies[MAX_TOGETHER][MAX_BODIES];
        struct reb_simulation *r = reb_simulation_create();
        if (!r) {
            fprintf(stderr, "%s: out of memory\n", name);
            return 1;
        }
        r->G = 1;
        r->dt = 2 * M_PI / 40;
        r->exact_finish_time = 0;
        reb_simulation_set_integrator(r, how->integrator);
        if (strcmp(how->integrator, "whfast512") == 0) {
            struct reb_integrator_whfast512_state *state = r->integrator.state;
            state->N_systems = together;
        } else {
            struct reb_integrator_whfast_state *state = r->integrator.state;
            state->coordinates = how->coordinates;
            state->safe_mode = 0;
        }
        for (int k = 0; k < together; k++) {
            make_system(task, s + k, bodies[k]);
            for (int i = 0; i < n; i++)
                reb_simulation_add(r, bodies[k][i]);
        }

        /* This also resets the flag that bodies were added, which the bare loop would leave set. */
        reb_simulation_steps(r, WARM_UP_STEPS);
        double start = now();
        advance(r, which, n_steps);
        seconds += now() - start;

        double t = (WARM_UP_STEPS + n_steps) * r->dt;
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
    double system_steps = (double)n_systems * n_steps;
    printf("%s,rebound %s,%s,%d,%ld,%.0f,%.6f,%.5g,%.3e,%s\n", name, reb_version_str, how->work_model, n, n_systems, system_steps,
           seconds, 1e9 * seconds / system_steps, error, loop_plan[which]);
    fflush(stdout);
    if (error <= task->error_limit)
        return 0;
    fprintf(stderr, "%s: energy error %g, expected at most %g\n", name, error, task->error_limit);
    return 1;
}

static int usage(const char *what)
{
    fprintf(stderr, "rebound_whfast: %s\nusage: rebound_whfast [--systems N] [--steps N] [CASE ...]\n", what);
    return 2;
}

int main(int argc, char **argv)
{
    long n_systems = 4096, n_steps = 400;
    int n_cases = 0, n_run = 0, failed = 0;
    char **cases = argv + 1;

    for (int i = 1; i < argc; i++) {
        long *count = strcmp(argv[i], "--systems") == 0 ? &n_systems : strcmp(argv[i], "--steps") == 0 ? &n_steps : NULL;
        char *end;
        if (!count) {
            if (argv[i][0] == '-')
                return usage(argv[i]);
            cases[n_cases++] = argv[i];
            continue;
        }
        if (++i == argc || (*count = strtol(argv[i], &end, 10)) < 1 || *end)
            return usage("a count is a whole number above 0");
    }
#ifdef AVX512
    /* The whole program was compiled for such a processor; without one it ends here and not at an illegal instruction. */
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq")) {
        fprintf(stderr, "rebound_whfast: compiled with AVX512, which this processor does not have\n");
        return 2;
    }
#endif
    printf("case,engine,work_model,bodies,systems,steps,seconds,ns_per_system_step,error,plan\n");
    for (size_t p = 0; p < sizeof problems / sizeof *problems; p++) {
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            for (int l = 0; l < N_LOOPS; l++) {
                char name[64];
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
