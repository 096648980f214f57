/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * step_hermite.c: Hermite's scheme of fourth order (Makino & Aarseth 1992, PASJ 44, 141), with a step shared by all
 * bodies, or with individual steps in blocks (McMillan 1986; Makino 1991, PASJ 43, 859). All bodies are predicted to
 * the next time,
 *
 *   x_p = x + v h + a h^2/2 + j h^3/6,  v_p = v + a h + j h^2/2
 *
 * forces are computed for those whose step ends there, and these are corrected,
 *
 *   v_1 = v + (a + a_1) h/2 + (j - j_1) h^2/12,  x_1 = x + (v + v_1) h/2 + (a - a_1) h^2/12
 *
 * With derivatives of the acceleration from its interpolation (Makino & Aarseth's equations 7, 8), at the end of the
 * step,
 *
 *   h^2 s = 6 (a - a_1) + h (2 j + 4 j_1),  h^3 c = 12 (a - a_1) + 6 h (j + j_1)
 *
 * (signs for the end of the step), the next step is Aarseth's, [eta (|a||s| + |j|^2) / (|j||c| + |s|^2)]^(1/2), the
 * first one eta^(1/2)/8 times the lesser of |a|/|j| (|phi|^(1/4)/|j|^(1/2) without a) and |phi|^(1/2)/|a|, both as
 * powers of two of the longest step.
 *
 * Slots: a[3], jerk[3], the level of a body's last step, or before its first one minus the longest that this may be.
 * Work: x_p[3], v_p[3], a_1[3], j_1[3], the tick that a body is at, the one at which its step ends.
 */
#include <string.h>

#include "big/big.h"

/* Bodies whose correction is worth the start of threads. */
enum { PARALLEL_CORRECT = 2048 };

static double norm2(const double u[3])
{
    return u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
}

/* The longest first step of body i with potential phi: it does not know where the origin is, or how fast all move. */
static double first_step(const shoal_big_stepper *s, long i, double phi)
{
    const long n = s->bodies.n;
    double a[3], j[3];
    for (int c = 0; c < 3; c++) {
        a[c] = s->slots[c * n + i];
        j[c] = s->slots[(3 + c) * n + i];
    }
    const double bend = norm2(a) > 0 ? norm2(a) / norm2(j) : sqrt(fabs(phi) / norm2(j)), fall = fabs(phi) / norm2(a);
    return sqrt(s->steps.eta * fmin(bend > 0 ? bend : INFINITY, fall > 0 ? fall : INFINITY)) / 8;
}

static shoal_status prepare(shoal_big_stepper *s)
{
    const shoal_big_bodies *b = &s->bodies;
    const long n = b->n;
    double *level = s->slots + 6 * n, *phi = s->work, *unused = phi + n;
    shoal_status status = shoal_tiled_sources(s->tiled, n, b->m, b->x, b->v);
    s->interactions += (double)n * (double)n;
    if (!status)
        status = shoal_tiled_forces(s->tiled, SHOAL_TILED_JERK, NULL, s->slots, s->slots + 3 * n, NULL);
    if (!status && s->steps.eta > 0)
        status = shoal_tiled_forces(s->tiled, SHOAL_TILED_POTENTIAL, NULL, unused, NULL, phi);
    for (long i = 0; i < n && !status; i++)
        level[i] = s->steps.eta > 0 ? -first_step(s, i, phi[i]) : -INFINITY;
    return status;
}

/* The levels of bodies that have none. */
static void first_levels(shoal_big_stepper *s, double span)
{
    const long n = s->bodies.n;
    double *level = s->slots + 6 * n;
    for (long i = 0; i < n; i++)
        if (level[i] < 0)
            level[i] = shoal_big_level(span, -level[i]);
}

/* The first one is an eighth, since nothing is known yet of how forces change, and all are rounded down to powers of
 * two. */
static double step(const shoal_big_stepper *s)
{
    double least = INFINITY;
    for (long i = 0; i < s->bodies.n; i++)
        least = fmin(least, -s->slots[6 * s->bodies.n + i]);
    return 4 * least;
}

/* Of a step that all share: the finest. */
static int shared_level(const shoal_big_stepper *s)
{
    const long n = s->bodies.n;
    const double *level = s->slots + 6 * n;
    int finest = 0;
    for (long i = 0; i < n; i++)
        finest = level[i] > finest ? (int)level[i] : finest;
    return finest;
}

/* The next time at which steps end, and whose; returns how many. */
static long next_block(const shoal_big_stepper *s, const double *end, int64_t *tick)
{
    const long n = s->bodies.n;
    double first = INFINITY;
    long n_active = 0;
#pragma omp parallel for simd num_threads(s->steps.threads) if (parallel                                   \
                                                                : n > SHOAL_BIG_PARALLEL) schedule(static) \
    reduction(min                                                                                          \
              : first)
    for (long i = 0; i < n; i++)
        first = end[i] < first ? end[i] : first;
    for (long i = 0; i < n; i++)
        if (end[i] == first)
            s->active[n_active++] = i;
    *tick = (int64_t)first;
    return n_active;
}

static void predict(const shoal_big_stepper *s, const double *at, int64_t tick, double per_tick, double *x_p,
                    double *v_p)
{
    const long n = s->bodies.n, parts = shoal_big_parts(n);
    const double *x = s->bodies.x, *v = s->bodies.v, *a = s->slots, *j = s->slots + 3 * n, now = (double)tick;
#pragma omp parallel for num_threads(s->steps.threads) if (parts > 1) schedule(static)
    for (long part = 0; part < parts; part++) {
        const long first = n * part / parts, last = n * (part + 1) / parts;
        for (long k = 0; k < 3 * n; k += n)
#pragma omp simd
            for (long i = first; i < last; i++) {
                const double h = (now - at[i]) * per_tick;
                x_p[k + i] = x[k + i] + h * (v[k + i] + h * 0.5 * (a[k + i] + h * (1. / 3) * j[k + i]));
                v_p[k + i] = v[k + i] + h * (a[k + i] + h * 0.5 * j[k + i]);
            }
    }
}

/* Correct body i, whose new force is item k of n_active; returns the longest step that it may take next. */
static double correct(const shoal_big_stepper *s, long i, long k, long n_active, double h, const double *a_1,
                      const double *j_1)
{
    const long n = s->bodies.n;
    double *x = s->bodies.x, *v = s->bodies.v, *a = s->slots, *j = s->slots + 3 * n;
    double a1[3], j1[3], s1[3], c1[3];
    for (int c = 0; c < 3; c++) {
        const long to = c * n + i;
        a1[c] = a_1[c * n_active + k];
        j1[c] = j_1[c * n_active + k];
        const double v_0 = v[to], da = a[to] - a1[c];
        v[to] += h / 2 * (a[to] + a1[c]) + h * h / 12 * (j[to] - j1[c]);
        x[to] += h / 2 * (v_0 + v[to]) + h * h / 12 * da;
        s1[c] = (6 * da + h * (2 * j[to] + 4 * j1[c])) / (h * h);
        c1[c] = (12 * da + 6 * h * (j[to] + j1[c])) / (h * h * h);
        a[to] = a1[c];
        j[to] = j1[c];
    }
    if (s->steps.eta == 0)
        return INFINITY;
    const double sn = norm2(s1), jn = norm2(j1);
    const double step2 = s->steps.eta * (sqrt(norm2(a1) * sn) + jn) / (sqrt(jn * norm2(c1)) + sn);
    return step2 >= 0 ? sqrt(step2) : INFINITY;
}

static shoal_status advance(shoal_big_stepper *s, double span, bool shared)
{
    const shoal_big_bodies *b = &s->bodies;
    const long n = b->n;
    const double per_tick = ldexp(span, -SHOAL_BIG_LEVELS);
    double *x_p = s->work, *v_p = x_p + 3 * n, *a_1 = x_p + 6 * n, *j_1 = x_p + 9 * n;
    double *at = x_p + 12 * n, *end = x_p + 13 * n, *level = s->slots + 6 * n;
    memset(at, 0, (size_t)n * sizeof *at);
    const bool begins = level[0] < 0;
    if (begins)
        first_levels(s, span);
    int level_of_all = begins ? shared_level(s) : (int)level[0]; /* if it is shared */
    for (long i = 0; i < n && !shared; i++)
        end[i] = (double)shoal_big_ticks((int)level[i]);
    const double start = s->now;
    for (int64_t tick = 0; tick < shoal_big_ticks(0);) {
        long n_active = n;
        if (shared)
            tick += shoal_big_ticks(level_of_all);
        else
            n_active = next_block(s, end, &tick);
        predict(s, at, tick, per_tick, x_p, v_p);
        shoal_status status = shoal_tiled_sources(s->tiled, n, b->m, x_p, v_p);
        if (!status)
            status = shoal_tiled_forces(s->tiled, SHOAL_TILED_JERK,
                                        n_active < n ? &(shoal_tiled_targets){.n = n_active, .index = s->active} : NULL,
                                        a_1, j_1, NULL);
        if (status)
            return status;
        s->interactions += (double)n * (double)n_active;
        s->n_steps += (double)n_active / (double)n;
        int wanted_by_all = 0;
        double least = INFINITY;
#pragma omp parallel for num_threads(s->steps.threads) if (n_active > PARALLEL_CORRECT) schedule(static) \
    reduction(max                                                                                        \
              : wanted_by_all) reduction(min                                                             \
                                         : least)
        for (long k = 0; k < n_active; k++) {
            const long i = shared ? k : s->active[k];
            const double next = correct(s, i, k, n_active, ((double)tick - at[i]) * per_tick, a_1, j_1);
            const int wanted = s->steps.eta > 0 ? shoal_big_level(span, next) : 0;
            at[i] = (double)tick;
            least = next < least ? next : least;
            wanted_by_all = wanted > wanted_by_all ? wanted : wanted_by_all;
            if (!shared) {
                level[i] = shoal_big_next_level((int)level[i], wanted, tick);
                end[i] = (double)(tick + shoal_big_ticks((int)level[i]));
            }
        }
        level_of_all = shoal_big_next_level(level_of_all, wanted_by_all, tick);
        s->now = start + (double)tick * per_tick;
        if (least < fabs(per_tick))
            return shoal_fail(s->context, SHOAL_E_USAGE,
                              "a body wants a step of %.2g, less than 2^-%d of the longest: expected bodies "
                              "that do not meet, or more softening",
                              least, SHOAL_BIG_LEVELS);
        if (shoal_big_stops(s))
            return shoal_fail(s->context, SHOAL_E_INTERRUPTED, "interrupted");
    }
    for (long i = 0; i < n && shared; i++)
        level[i] = level_of_all;
    return SHOAL_OK;
}

static shoal_status advance_shared(shoal_big_stepper *s, double span)
{
    return advance(s, span, true);
}

static shoal_status advance_blocks(shoal_big_stepper *s, double span)
{
    return advance(s, span, false);
}

#define HERMITE .order = 4, .wants = SHOAL_TILED_JERK, .n_slots = 7, .n_work = 14, .adapts = true, .prepare = prepare

const shoal_big_method shoal_big_hermite4 = {
    HERMITE,         .name = "hermite4", .doc = "Hermite of fourth order, one step for all bodies",
    .gpu_from = 256, .fixed = true,      .advance = advance_shared,
    .step = step,
};

const shoal_big_method shoal_big_hermite4_block = {
    HERMITE,
    .name = "hermite4_block",
    .doc = "Hermite of fourth order, a step for each body, in blocks of powers of two",
    .gpu_from = 4096,
    .advance = advance_blocks,
};
