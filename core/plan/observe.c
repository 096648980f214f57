/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * observe.c: a plan to a time, and what is to be seen at a list of times.
 *
 * Where an engine can (`visit`), each group of systems goes through all of the times by itself: there is nothing to
 * wait for, and its states stay in the cache. No bits depend on that.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

static bool is_alive(const shoal_plan *plan, long system)
{
    const int outcome = (int)*shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system);
    return outcome == SHOAL_RUNNING || outcome == SHOAL_SURVIVED;
}

/* Whether the plan can go to a time, from where it is or from one that it is about to go to. */
static shoal_status check_time(const shoal_plan *plan, double t, double from)
{
    if (!isfinite(t))
        return shoal_fail(plan->context, SHOAL_E_USAGE, "time %g: expected a finite number", t);
    if ((t - from) * (plan->t_end - t) >= 0) /* between one that is good and the end */
        return SHOAL_OK;
    const double reached = isnan(from) ? plan->reached : from, near = 1e-12 * fabs(plan->t_end),
                 sign = plan->t_end < reached ? -1 : 1;
    /* where all have ended */
    if (plan->n_list == 0 && (sign * (t - reached) < -near || (!isnan(reached) && sign * (plan->t_end - t) < -near)))
        return shoal_fail(plan->context, SHOAL_E_USAGE, "time %.17g: expected a time from %.17g to t_end = %.17g", t,
                          reached, plan->t_end);
    for (long i = 0; i < plan->n_list; i++) {
        const int system = plan->list[i];
        const double dt = *shoal_plan_field(plan, SHOAL_SYS_DT, system),
                     when = shoal_plan_absolute_time(plan, system, t);
        const double rounding = shoal_whole_step(*shoal_plan_field(plan, SHOAL_SYS_T_START, system), when, dt);
        const double t_end = shoal_plan_absolute_time(plan, system, plan->t_end);
        const double now = isnan(from) ? plan->ensemble->time[system] : shoal_plan_absolute_time(plan, system, from);
        if ((when - now) / dt < -rounding || (t_end - when) / dt < -rounding)
            return shoal_fail(plan->context, SHOAL_E_USAGE, "time %.17g: expected a time from %.17g to t_end = %.17g",
                              when, now, t_end);
    }
    return SHOAL_OK;
}

static shoal_status check_fresh(const shoal_plan *plan)
{
    if (plan->changes == plan->ensemble->changes)
        return SHOAL_OK;
    return shoal_fail(
        plan->context, SHOAL_E_USAGE,
        "systems were set, or another plan was made, after this plan was: expected shoal_plan_restart first");
}

/* Those that move now (the others have their last state already) go on to t, and have their state there in the
 * ensemble. */
static shoal_status go_to(shoal_plan *plan, double t, const int *list, long n_list)
{
    shoal_ensemble *ensemble = plan->ensemble;
    shoal_status status = SHOAL_OK;
    plan->reached = t;
    for (long n_moved = 1; !status && n_moved > 0;)
        status = shoal_plan_slice(plan, t, &n_moved);
    if (!status)
        status = shoal_plan_snapshot(plan, t, list, n_list);
    for (long i = 0; !status && i < n_list; i++) {
        const int system = list[i];
        for (int body = 0; body < ensemble->n_bodies; body++)
            for (int q = 0; q < 6; q++)
                *shoal_ensemble_body(
                    ensemble, body, q,
                    system) = plan->args.snapshot[SHOAL_AT(system, 6 * body + q, 6 * ensemble->n_bodies)];
        ensemble->time[system] = shoal_plan_time(plan, system);
        if (is_alive(plan, system))
            ensemble->time[system] = shoal_plan_absolute_time(plan, system, t);
    }
    return status;
}

/* A copy of the plan's list: it changes where systems end. */
static int *copy_list(const shoal_plan *plan)
{
    int *list = malloc((size_t)(plan->n_list + 1) * sizeof *list);
    if (list)
        memcpy(list, plan->list, (size_t)plan->n_list * sizeof *list);
    else
        shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
    return list;
}

shoal_status shoal_plan_integrate(shoal_plan *plan, double t)
{
    shoal_status status = plan ? check_fresh(plan) : SHOAL_E_USAGE;
    if (!status)
        status = check_time(plan, t, NAN);
    if (status)
        return status;
    const long n_list = plan->n_list;
    int *list = copy_list(plan);
    status = list ? go_to(plan, t, list, n_list) : SHOAL_E_MEMORY;
    free(list);
    return status;
}

/* ---- what is observed at a list of times ------------------------------------------------------------------------- */

typedef struct observation {
    shoal_plan *plan;
    const double *times;
    const shoal_observable *what;
    double *values;
    int n_what;
    long lost; /* a stop, times the systems, and a system that did not arrive at it; else -1 */
} observation;

static bool observation_aim(void *user, long k, const int *list, long n_list)
{
    observation *o = user;
    bool moves = false;
    for (long i = 0; i < n_list; i++) {
        shoal_plan_set_goal(o->plan, list[i], o->times[k]);
        moves = moves || (*shoal_plan_field(o->plan, SHOAL_SYS_OUTCOME, list[i]) == SHOAL_RUNNING &&
                          !shoal_plan_arrived(o->plan, list[i]));
    }
    for (long i = 0; i < n_list && !moves; i++)
        if (!shoal_plan_set_state_time(o->plan, list[i], o->times[k]))
            __atomic_store_n(&o->lost, k * o->plan->ensemble->n_systems + list[i], __ATOMIC_RELAXED);
    return moves;
}

static void observation_take(void *user, long k, const int *list, long n_list)
{
    const observation *o = user;
    const shoal_ensemble *ensemble = o->plan->ensemble;
    for (long i = 0; i < n_list; i++) {
        const int system = list[i];
        if (!is_alive(o->plan, system))
            continue;
        const double *centre = ensemble->centre[system];
        const double elapsed = shoal_plan_absolute_time(o->plan, system, o->times[k]) -
                               *shoal_plan_field(o->plan, SHOAL_SYS_T_START, system);
        for (int w = 0; w < o->n_what; w++) {
            const int body = o->what[w].body, c = o->what[w].component;
            double value = o->plan->args.snapshot[SHOAL_AT(system, 6 * body + c, 6 * ensemble->n_bodies)];
            value += c < 3 ? centre[c] + centre[c + 3] * elapsed : centre[c];
            o->values[(k * o->n_what + w) * ensemble->n_systems + system] = shoal_ensemble_is_there(ensemble, body,
                                                                                                    system)
                                                                                ? value
                                                                                : NAN;
        }
    }
}

/* Refuse what no call can mean. */
static shoal_status check_observation(const char *function, const observation *o, long n_times)
{
    const shoal_plan *plan = o->plan;
    if (!plan)
        return SHOAL_E_USAGE;
    shoal_context *context = plan->context;
    const long n = n_times > 0 && o->n_what > 0 ? LONG_MAX / n_times / o->n_what : LONG_MAX;
    shoal_status status = shoal_check_range(context, function, "n_times", n_times, (long[2]){0, LONG_MAX});
    if (!status)
        status = shoal_check_range(context, function, "n_what", o->n_what, (long[2]){0, INT_MAX});
    if (!status && plan->ensemble->n_systems > n / (long)sizeof(double))
        status = shoal_fail(context, SHOAL_E_USAGE, "%s: n_times = %ld, n_what = %d: more values than memory can hold",
                            function, n_times, o->n_what);
    if (!status && n_times > 0)
        status = shoal_check_given(context, function, "times", o->times);
    if (!status && o->n_what > 0)
        status = shoal_check_given(context, function, "what", o->what);
    if (!status && n_times > 0 && o->n_what > 0)
        status = shoal_check_given(context, function, "values", o->values);
    return status ? status : check_fresh(plan);
}

shoal_status shoal_plan_observe(shoal_plan *plan, long n_times, const double *times, int n_what,
                                const shoal_observable *what, double *values)
{
    observation o = {plan, times, what, values, n_what, -1};
    shoal_status status = check_observation(__func__, &o, n_times);
    if (status)
        return status;
    const shoal_ensemble *ensemble = plan->ensemble;
    for (long k = 0; k < n_times && !status; k++)
        status = check_time(plan, times[k], k > 0 ? times[k - 1] : NAN);
    for (int i = 0; i < n_what && !status; i++)
        if (what[i].body < 0 || what[i].body >= ensemble->n_bodies || what[i].component < 0 || what[i].component > 5)
            status = shoal_fail(
                plan->context, SHOAL_E_USAGE,
                "observable %d: body %d, component %d: expected a body of 0..%d and a component of 0..5", i,
                what[i].body, what[i].component, ensemble->n_bodies - 1);
    if (status || n_times <= 0)
        return status;
    for (long i = 0; i < n_times * n_what * ensemble->n_systems; i++)
        values[i] = NAN;
    shoal_body *bodies = malloc((size_t)ensemble->n_bodies * sizeof *bodies);
    const long n_list = plan->n_list;
    int *list = copy_list(plan);
    if (!list || !bodies) {
        free(bodies);
        free(list);
        return shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
    }
    /* those that have arrived have the end to show, and no time before it */
    for (long s = 0; s < ensemble->n_systems; s++) {
        if (*shoal_plan_field(plan, SHOAL_SYS_OUTCOME, s) != SHOAL_SURVIVED)
            continue;
        const double near = 1e-12 * fabs(ensemble->time[s]);
        shoal_ensemble_get_bodies(ensemble, s, bodies);
        for (long k = 0; k < n_times * n_what; k++)
            if (what[k % n_what].body < *shoal_plan_field(plan, SHOAL_SYS_N_LIVE, s) &&
                fabs(shoal_plan_absolute_time(plan, s, times[k / n_what]) - ensemble->time[s]) <= near)
                values[k * ensemble->n_systems + s] = (&bodies[what[k % n_what].body].x)[what[k % n_what].component];
    }
    free(bodies);
    /* systems that the host has to act on go from time to time */
    const bool visits = plan->engine_type->visit && plan->args.marks < 0 && plan->args.records < 0;
    if (visits) {
        const double dt = n_list > 0 ? *shoal_plan_field(plan, SHOAL_SYS_DT, list[0]) : 1,
                     span = n_list > 0
                                ? shoal_plan_absolute_time(plan, list[0], times[n_times - 1]) - ensemble->time[list[0]]
                                : 0;
        const shoal_visitor visitor = {&o, n_times, fabs(span / dt), observation_aim, observation_take};
        plan->engine_type->visit(plan->engine, list, n_list, &visitor);
        status = o.lost >= 0
                     ? shoal_plan_no_state_at(plan, o.lost % ensemble->n_systems, times[o.lost / ensemble->n_systems])
                     : go_to(plan, times[n_times - 1], list, n_list);
    }
    for (long k = 0; k < n_times && !visits && !status; k++) {
        status = go_to(plan, times[k], list, n_list);
        if (!status)
            observation_take(&o, k, list, n_list);
    }
    free(list);
    return status;
}
