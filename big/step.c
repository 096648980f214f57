/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * step.c: what the propagators of one big system share. The way to the next output is cut into equal parts no longer
 * than the longest step, and these into powers of two: every body arrives at each output exactly, and nothing is
 * interpolated.
 */
#include <stdlib.h>
#include <string.h>

#include "big/big.h"

const shoal_big_method *const shoal_big_methods[] = {&shoal_big_leapfrog, &shoal_big_hermite4,
                                                     &shoal_big_hermite4_block, &shoal_big_hermite6, NULL};

const shoal_big_method *shoal_big_method_find(const char *name)
{
    for (int i = 0; shoal_big_methods[i]; i++)
        if (strcmp(shoal_big_methods[i]->name, name) == 0)
            return shoal_big_methods[i];
    return NULL;
}

shoal_status shoal_big_stepper_create(shoal_context *context, const shoal_big_method *method,
                                      const shoal_big_steps *steps, shoal_tiled *tiled, shoal_big_bodies *bodies,
                                      bool prepare, shoal_big_stepper **stepper)
{
    const size_t n = (size_t)bodies->n;
    shoal_status status = SHOAL_OK;
    shoal_big_stepper *made = calloc(1, sizeof *made);
    *stepper = made;
    if (!made) {
        shoal_big_bodies_release(bodies);
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    }
    *made = (shoal_big_stepper){
        .context = context, .method = method, .steps = *steps, .bodies = *bodies, .level = -1, .tiled = tiled};
    *bodies = (shoal_big_bodies){0};
    if (made->steps.threads <= 0)
        made->steps.threads = shoal_default_threads(NULL);
    made->steps.threads = shoal_omp_threads(made->steps.threads);
    made->slots = shoal_allocate(n * (size_t)method->n_slots, sizeof(double));
    made->work = shoal_allocate(n * (size_t)method->n_work, sizeof(double));
    made->active = malloc(n * sizeof *made->active);
    if (!made->slots || !made->work || !made->active)
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld bodies", made->bodies.n);
    if (!status && prepare)
        status = method->prepare(made);
    if (status)
        shoal_big_stepper_destroy(stepper);
    return status;
}

void shoal_big_stepper_destroy(shoal_big_stepper **stepper)
{
    if (!stepper || !*stepper)
        return;
    shoal_big_bodies_release(&(*stepper)->bodies);
    free((*stepper)->slots);
    free((*stepper)->work);
    free((*stepper)->active);
    free(*stepper);
    *stepper = NULL;
}

double shoal_big_stretches(double start, double end, double longest)
{
    return ceil((fabs(end - start) - shoal_big_rounding(fmax(fabs(start), fabs(end)))) / longest * (1 - 1e-12));
}

shoal_status shoal_big_advance(shoal_big_stepper *stepper, double t)
{
    const double start = stepper->bodies.time, span = t - start,
                 n_parts = shoal_big_stretches(start, t, stepper->steps.dt);
    shoal_status status = SHOAL_OK;
    for (double k = 0; k < n_parts && !status; k++) {
        stepper->now = start + span * k / n_parts;
        status = stepper->method->advance(stepper, span / n_parts);
    }
    if (!status)
        stepper->bodies.time = t;
    return status;
}

double shoal_big_evaluations(const shoal_big_stepper *stepper, double t)
{
    const shoal_big_steps *steps = &stepper->steps;
    const double step = steps->eta > 0 && stepper->method->step ? stepper->method->step(stepper) : INFINITY;
    return fabs(t - stepper->bodies.time) / fmin(steps->dt, step);
}

int shoal_big_level(double span, double dt)
{
    int level = 0;
    for (double step = fabs(span); level < SHOAL_BIG_LEVELS && !(step <= dt); level++)
        step *= 0.5;
    return level;
}

int shoal_big_next_level(int level, int wanted, int64_t tick)
{
    if (wanted >= level)
        return wanted;
    return level > 0 && tick % shoal_big_ticks(level - 1) == 0 ? level - 1 : level;
}

bool shoal_big_stops(const shoal_big_stepper *stepper)
{
    return stepper->stop && stepper->stop(stepper->user) != 0;
}
