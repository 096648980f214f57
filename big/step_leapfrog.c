/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * step_leapfrog.c: kick, drift, kick with a step h shared by all bodies:
 *
 *   v' = v + a(x) h/2,  x <- x + v' h,  v <- v' + a(x) h/2
 *
 * Second order, symplectic with fixed steps. Steps that adapt are no longer than eta min (eps / |a|)^(1/2) over the
 * bodies, eps the softening length (as GADGET's, Springel 2005, doi:10.1111/j.1365-2966.2005.09655.x, equation 34, with
 * eta^2 / 2 for its eta).
 *
 * Slots: a[3].
 */
#include "big/big.h"

static shoal_status forces(shoal_big_stepper *s)
{
    const shoal_big_bodies *b = &s->bodies;
    shoal_status status = shoal_tiled_sources(s->tiled, b->n, b->m, b->x, NULL);
    s->interactions += (double)b->n * (double)b->n;
    return status ? status : shoal_tiled_forces(s->tiled, 0, NULL, s->slots, NULL, NULL);
}

static double longest(const shoal_big_stepper *s)
{
    const long n = s->bodies.n;
    const double *a = s->slots;
    double most = 0;
    for (long i = 0; i < n; i++)
        most = fmax(most, a[i] * a[i] + a[n + i] * a[n + i] + a[2 * n + i] * a[2 * n + i]);
    return s->steps.eta * sqrt(s->steps.eps / sqrt(most));
}

/* Of bodies first .. last - 1: kick over h / 2, and before forces drift over h. */
static void kick(const shoal_big_stepper *s, long first, long last, double h, bool drift)
{
    const long n = s->bodies.n;
    const double *a = s->slots;
    double *x = s->bodies.x, *v = s->bodies.v;
    for (int c = 0; c < 3; c++)
        for (long i = c * n + first; i < c * n + last; i++) {
            v[i] += 0.5 * h * a[i];
            x[i] += drift ? h * v[i] : 0;
        }
}

static void kick_all(const shoal_big_stepper *s, double h, bool drift)
{
    const long n = s->bodies.n, parts = shoal_big_parts(n);
#pragma omp parallel for num_threads(s->steps.threads) if (parts > 1) schedule(static)
    for (long k = 0; k < parts; k++)
        kick(s, n * k / parts, n * (k + 1) / parts, h, drift);
}

static shoal_status step(shoal_big_stepper *s, double h)
{
    kick_all(s, h, true);
    const shoal_status status = forces(s);
    if (status)
        return status;
    kick_all(s, h, false);
    s->n_steps++;
    s->now += h;
    return shoal_big_stops(s) ? shoal_fail(s->context, SHOAL_E_INTERRUPTED, "interrupted") : SHOAL_OK;
}

static shoal_status advance(shoal_big_stepper *s, double span)
{
    shoal_status status = SHOAL_OK;
    if (s->steps.eta == 0)
        return step(s, span);
    for (int64_t tick = 0; tick < shoal_big_ticks(0) && !status; tick += shoal_big_ticks(s->level)) {
        const int wanted = shoal_big_level(span, longest(s));
        s->level = s->level < 0 ? wanted : shoal_big_next_level(s->level, wanted, tick);
        status = step(s, ldexp(span, -s->level));
    }
    return status;
}

const shoal_big_method shoal_big_leapfrog = {
    .name = "leapfrog",
    .doc = "leapfrog, kick-drift-kick, one step for all bodies",
    .order = 2,
    .gpu_from = 256,
    .n_slots = 3,
    .adapts = true,
    .fixed = true,
    .prepare = forces,
    .advance = advance,
    .step = longest,
};
