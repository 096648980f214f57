/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * clock.c: where systems are in time, and where they are headed.
 *
 * Time is t_start + steps * dt from an exact count, or with adaptive steps their compensated sum. A system's target is
 * the last step at or before the time asked for.
 */
#include <float.h>
#include <math.h>

#include "core/plan/plan.h"

double shoal_whole_step(double t_start, double t, double dt)
{
    return fmax(1e-9, 8 * DBL_EPSILON * fmax(fabs(t_start), fabs(t)) / fabs(dt));
}

double shoal_plan_absolute_time(const shoal_plan *plan, long system, double t)
{
    return plan->period ? *shoal_plan_field(plan, SHOAL_SYS_T_START, system) + t * plan->period[system] : t;
}

double shoal_plan_progress(const shoal_plan *plan, long system)
{
    return *shoal_plan_field(plan, plan->propagator->adaptive ? SHOAL_SYS_ELAPSED : SHOAL_SYS_STEP, system);
}

double shoal_plan_time(const shoal_plan *plan, long system)
{
    const double t_start = *shoal_plan_field(plan, SHOAL_SYS_T_START, system),
                 dt = *shoal_plan_field(plan, SHOAL_SYS_DT, system);
    if (plan->propagator->adaptive)
        return t_start + copysign(*shoal_plan_field(plan, SHOAL_SYS_ELAPSED, system) -
                                      *shoal_plan_field(plan, SHOAL_SYS_ELAPSED_ERROR, system),
                                  dt);
    return t_start + *shoal_plan_field(plan, SHOAL_SYS_STEP, system) * dt;
}

/* What is left of the time from t_start to t; exact where the two are. */
double shoal_plan_time_left(const shoal_plan *plan, long system, double t)
{
    if (!plan->propagator->adaptive)
        return t - shoal_plan_time(plan, system);
    const double dt = *shoal_plan_field(plan, SHOAL_SYS_DT, system);
    const double span = copysign(1, dt) * (t - *shoal_plan_field(plan, SHOAL_SYS_T_START, system));
    return copysign(1, dt) * ((span - *shoal_plan_field(plan, SHOAL_SYS_ELAPSED, system)) +
                              *shoal_plan_field(plan, SHOAL_SYS_ELAPSED_ERROR, system));
}

/* The progress at which a system has to wait for time t: its last whole step before it, or that time. */
static double target_for(const shoal_plan *plan, long system, double t)
{
    const double t_start = *shoal_plan_field(plan, SHOAL_SYS_T_START, system),
                 dt = *shoal_plan_field(plan, SHOAL_SYS_DT, system);
    const double progress = plan->propagator->adaptive ? copysign(1, dt) * (t - t_start)
                                                       : floor((t - t_start) / dt + shoal_whole_step(t_start, t, dt));
    return fmin(progress, *shoal_plan_field(plan, SHOAL_SYS_END, system));
}

/* Its next step would pass the target. */
bool shoal_plan_waits(const shoal_plan *plan, long system)
{
    const double step = plan->propagator->adaptive ? fabs(*shoal_plan_field(plan, SHOAL_SYS_DT, system)) : 1;
    return shoal_plan_progress(plan, system) + step > *shoal_plan_field(plan, SHOAL_SYS_TARGET, system);
}

/* The engine must hear of a record. Many threads say so: only the first one writes, or they would wait for each
 * other. */
void shoal_plan_record_changed(shoal_plan *plan)
{
    if (!__atomic_load_n(&plan->records_changed, __ATOMIC_RELAXED))
        __atomic_store_n(&plan->records_changed, true, __ATOMIC_RELAXED);
}

void shoal_plan_set_goal(shoal_plan *plan, long system, double t)
{
    if (t == plan->goal[system])
        return;
    plan->goal[system] = t;
    *shoal_plan_field(plan, SHOAL_SYS_TARGET, system) = target_for(plan, system,
                                                                   shoal_plan_absolute_time(plan, system, t));
    shoal_plan_record_changed(plan);
}

void shoal_plan_clear_goals(shoal_plan *plan)
{
    for (long system = 0; system < plan->ensemble->n_systems; system++)
        plan->goal[system] = NAN;
}

bool shoal_plan_arrived(const shoal_plan *plan, long system)
{
    return *shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING && shoal_plan_waits(plan, system);
}

void shoal_plan_list_running(shoal_plan *plan)
{
    plan->n_list = 0;
    for (long system = 0; system < plan->ensemble->n_systems; system++)
        if (*shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING)
            plan->list[plan->n_list++] = (int)system;
}
