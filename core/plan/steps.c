/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * steps.c: when the systems of a plan end, and how long their steps are.
 */
#include <math.h>
#include <stdlib.h>

#include "core/plan/plan.h"

/* A first step for an adaptive propagator: a hundredth of the shortest time in which a pair meets or falls together. */
static double first_step(int n, const shoal_body *bodies)
{
    double shortest = INFINITY;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            const double d[3] = {bodies[i].x - bodies[j].x, bodies[i].y - bodies[j].y, bodies[i].z - bodies[j].z};
            const double u[3] = {bodies[i].vx - bodies[j].vx, bodies[i].vy - bodies[j].vy, bodies[i].vz - bodies[j].vz};
            const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], v2 = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
            shortest = fmin(shortest, r2 / (v2 + (bodies[i].m + bodies[j].m) / sqrt(r2)));
        }
    return 2 * M_PI / 100 * sqrt(shortest);
}

double shoal_shortest_period(const shoal_ensemble *ensemble, long system, shoal_body *bodies, shoal_orbit *orbits)
{
    shoal_system record;
    shoal_ensemble_get_system(ensemble, system, &record);
    shoal_ensemble_get_bodies(ensemble, system, bodies);
    double shortest = INFINITY;
    if (shoal_orbits_from_bodies(NULL, SHOAL_JACOBI, record.n_live, bodies, orbits) == SHOAL_OK)
        for (int i = 1; i < record.n_live; i++)
            if (orbits[i].P > 0 && orbits[i].P < shortest)
                shortest = orbits[i].P;
    return shortest;
}

/* The periods in which times are counted, if they are. */
shoal_status shoal_plan_find_periods(shoal_plan *plan)
{
    shoal_ensemble *ensemble = plan->ensemble;
    shoal_status status = SHOAL_OK;
    if (!plan->period)
        return SHOAL_OK;
    shoal_body *bodies = calloc((size_t)ensemble->n_bodies, sizeof *bodies);
    shoal_orbit *orbits = calloc((size_t)ensemble->n_bodies, sizeof *orbits);
    if (!bodies || !orbits)
        status = shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
    for (long system = 0; system < ensemble->n_systems && !status; system++)
        if (*shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING)
            plan->period[system] = shoal_shortest_period(ensemble, system, bodies, orbits);
    free(bodies);
    free(orbits);
    return status;
}

/* When the systems end. */
shoal_status shoal_plan_choose_end(shoal_plan *plan, const shoal_options *options)
{
    plan->t_end = options->orbits != 0 ? options->orbits : options->t_end;
    if (!isfinite(plan->t_end))
        return shoal_fail(plan->context, SHOAL_E_USAGE, "t_end = %g: expected a finite time", plan->t_end);
    if (options->orbits != 0 && !(plan->period = calloc((size_t)plan->ensemble->n_systems, sizeof *plan->period)))
        return shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
    return shoal_plan_find_periods(plan);
}

/* The signed step and the number of whole steps of every running system; with `commit` they are written, else only
 * checked. */
shoal_status shoal_plan_choose_steps(shoal_plan *plan, bool commit)
{
    shoal_ensemble *ensemble = plan->ensemble;
    shoal_status status = SHOAL_E_MEMORY;
    shoal_body *bodies = calloc((size_t)ensemble->n_bodies, sizeof *bodies);
    shoal_orbit *orbits = calloc((size_t)ensemble->n_bodies, sizeof *orbits);
    if (!bodies || !orbits) {
        shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
        goto done;
    }
    for (long system = 0; system < ensemble->n_systems; system++) {
        if (*shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system) != SHOAL_RUNNING)
            continue;
        double t_start = *shoal_plan_field(plan, SHOAL_SYS_T_START, system),
               dt = *shoal_plan_field(plan, SHOAL_SYS_DT, system);
        if (plan->dt != 0)
            dt = plan->dt;
        else if (plan->steps_per_orbit > 0)
            dt = shoal_shortest_period(ensemble, system, bodies, orbits) / plan->steps_per_orbit;
        else if (dt == 0 && plan->propagator->adaptive) {
            shoal_ensemble_get_bodies(ensemble, system, bodies);
            dt = first_step((int)*shoal_plan_field(plan, SHOAL_SYS_N_LIVE, system), bodies);
        }
        dt = fmin(fabs(dt), plan->args.dt_max);
        const double t_end = shoal_plan_absolute_time(plan, system, plan->t_end), span = t_end - t_start;
        if (!isfinite(t_start)) {
            status = shoal_fail(plan->context, SHOAL_E_INPUT, "system %ld: t_start = %g: expected a finite time",
                                ensemble->id[system], t_start);
            goto done;
        }
        if ((plan->dt == 0 && plan->steps_per_orbit > 0 && !isfinite(dt)) || !isfinite(t_end)) { /* no orbit is bound */
            if (commit)
                *shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system) = SHOAL_INVALID;
            continue;
        }
        if (!(dt > 0 && isfinite(dt))) {
            status = shoal_fail(plan->context, SHOAL_E_INPUT, "system %ld: step %g: expected a finite number > 0",
                                ensemble->id[system], dt);
            goto done;
        }
        double end = plan->propagator->adaptive ? fabs(span)
                                                : floor(fabs(span) / dt + shoal_whole_step(t_start, t_end, dt));
        if (!plan->propagator->adaptive && !(end < 0x1p52)) {
            status = shoal_fail(plan->context, SHOAL_E_INPUT, "system %ld: %g steps of %g: too many to count",
                                ensemble->id[system], end, dt);
            goto done;
        }
        if (commit) {
            *shoal_plan_field(plan, SHOAL_SYS_DT, system) = span < 0 ? -dt : dt;
            *shoal_plan_field(plan, SHOAL_SYS_END, system) = end;
        }
    }
    status = SHOAL_OK;
done:
    free(bodies);
    free(orbits);
    return status;
}
