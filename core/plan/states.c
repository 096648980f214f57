/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * states.c: the states of systems at given times, made by the engine on a copy, so that no output changes a trajectory.
 */
#include <math.h>

#include "core/plan/plan.h"

bool shoal_plan_set_state_time(shoal_plan *plan, long system, double t)
{
    const int outcome = (int)*shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system);
    const double dt = *shoal_plan_field(plan, SHOAL_SYS_DT, system);
    const bool alive = outcome == SHOAL_RUNNING || outcome == SHOAL_SURVIVED;
    const double when = shoal_plan_absolute_time(plan, system, outcome == SHOAL_SURVIVED ? plan->t_end : t);
    const double tolerance = shoal_whole_step(*shoal_plan_field(plan, SHOAL_SYS_T_START, system), when, dt);
    double partial = alive && !isnan(t) ? shoal_plan_time_left(plan, system, when) : 0;
    /* fixed steps: rounding either way; adaptive ones are exact, but their sum may pass the target by what it was
     * rounded */
    if (partial / dt >= -tolerance && partial / dt <= (plan->propagator->adaptive ? 0 : tolerance))
        partial = 0;
    *shoal_plan_field(plan, SHOAL_SYS_PARTIAL, system) = partial;
    return !(partial / dt < 0 || partial / dt > 1 + tolerance);
}

shoal_status shoal_plan_no_state_at(const shoal_plan *plan, long system, double t)
{
    return shoal_fail(plan->context, SHOAL_E_USAGE,
                      "system %ld: a snapshot at %.17g is not within the step after %.17g", plan->ensemble->id[system],
                      t, shoal_plan_time(plan, system));
}

void shoal_plan_request_states(shoal_plan *plan, const int *list, long n_list, bool ended)
{
    plan->asked = list;
    plan->n_asked = n_list;
    plan->asked_ended = ended;
    plan->records_changed = plan->records_changed || n_list > 0;
}

/* Tell the engine of changed records and let it make the states asked for. */
shoal_status shoal_plan_make_states(shoal_plan *plan)
{
    const shoal_engine_type *type = plan->engine_type;
    const bool watch = plan->asked_ended && plan->args.n_watch > 0;
    shoal_status status = SHOAL_OK;
    if (plan->records_changed)
        status = type->send(plan->engine, SHOAL_ARRAY_SYSTEMS);
    plan->records_changed = plan->records_changed && status;
    if (status || plan->n_asked == 0)
        return status;
    status = type->launch(plan->engine, SHOAL_SNAPSHOT, plan->asked, plan->n_asked, 0);
    if (!status)
        status = type->fetch(plan->engine, SHOAL_ARRAY_SNAPSHOT | (watch ? SHOAL_ARRAY_WATCH : 0));
    plan->watch_fetched = watch;
    plan->n_asked = 0;
    return status;
}

shoal_status shoal_plan_receive_states(shoal_plan *plan)
{
    const shoal_status status = plan->engine_type->fetched(plan->engine);
    plan->watch_fresh = plan->watch_fresh || (plan->watch_fetched && status == SHOAL_OK);
    plan->watch_fetched = false;
    return status;
}

shoal_status shoal_plan_snapshot(shoal_plan *plan, double t, const int *list, long n_list)
{
    for (long i = 0; i < n_list; i++)
        if (!shoal_plan_set_state_time(plan, list[i], t))
            return shoal_plan_no_state_at(plan, list[i], t);
    shoal_plan_request_states(plan, list, n_list, true);
    const shoal_status status = shoal_plan_make_states(plan);
    return status ? status : shoal_plan_receive_states(plan);
}
