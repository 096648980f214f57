/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * observe.c: a plan to a time, and what is to be seen at a list of times.
 *
 * Where the host has nothing to do between the times, an engine takes the systems through all of them at once. No bits
 * depend on that.
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
    long n_times;
    int n_what;
} observation;

/* Enter what is seen of a system: barycentric coordinates, x y z vx vy vz of each body or as `what` lists them. */
static void take(const observation *o, long stop, int w, long system, double value)
{
    const shoal_ensemble *ensemble = o->plan->ensemble;
    const int c = o->what[w].component;
    const double *centre = ensemble->centre[system];
    const double elapsed = shoal_plan_absolute_time(o->plan, system, o->times[stop]) -
                           *shoal_plan_field(o->plan, SHOAL_SYS_T_START, system);
    value += c < 3 ? centre[c] + centre[c + 3] * elapsed : centre[c];
    o->values[(stop * o->n_what + w) * ensemble->n_systems + system] = value;
}

static void take_snapshot(const observation *o, long stop, const int *list, long n_list)
{
    const shoal_ensemble *ensemble = o->plan->ensemble;
    for (long i = 0; i < n_list; i++)
        for (int w = 0; w < o->n_what && is_alive(o->plan, list[i]); w++)
            if (shoal_ensemble_is_there(ensemble, o->what[w].body, list[i]))
                take(o, stop, w, list[i],
                     o->plan->args.snapshot[SHOAL_AT(list[i], 6 * o->what[w].body + o->what[w].component,
                                                     6 * ensemble->n_bodies)]);
}

/* What the engine has seen of the systems of a part of a list. */
typedef struct sights_loop {
    const observation *o;
    const shoal_sights *sights;
    const int *list;
    long lost; /* a stop, times the systems, and a system that did not arrive at it; else -1 */
} sights_loop;

static void sights_part(void *user, long first, long last)
{
    sights_loop *loop = user;
    const observation *o = loop->o;
    for (long row = 0; row < o->n_times * o->n_what; row++)
        for (long i = first; i < last; i++) {
            const double seen = loop->sights->seen[SHOAL_AT(loop->list[i], row, o->n_times * o->n_what)];
            if (isinf(seen))
                __atomic_store_n(&loop->lost, row / o->n_what * o->plan->ensemble->n_systems + loop->list[i],
                                 __ATOMIC_RELAXED);
            take(o, row / o->n_what, (int)(row % o->n_what), loop->list[i], seen);
        }
}

/* The engine takes the systems through all times. */
static shoal_status observe_at_once(observation *o, const int *list, long n_list)
{
    enum { WORTH_THREADS = 1000 }; /* systems of a thread */
    shoal_plan *plan = o->plan;
    const long n_rows = o->n_times * o->n_what, n_chunks = (plan->ensemble->n_systems + SHOAL_CHUNK - 1) / SHOAL_CHUNK;
    int *what = malloc((size_t)o->n_what * sizeof *what);
    const shoal_sights sights = {
        .n_times = o->n_times,
        .n_what = o->n_what,
        .times = o->times,
        .what = what,
        .seen = shoal_allocate((size_t)(n_rows * n_chunks) * SHOAL_CHUNK, sizeof(double)),
    };
    shoal_status status = SHOAL_OK;
    if (!what || !sights.seen)
        status = shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory for %ld values of %ld systems", n_rows,
                            plan->ensemble->n_systems);
    for (int w = 0; w < o->n_what && what; w++)
        what[w] = 6 * o->what[w].body + o->what[w].component;
    const double dt = *shoal_plan_field(plan, SHOAL_SYS_DT, list[0]),
                 span = o->times[o->n_times - 1] - plan->ensemble->time[list[0]];
    if (!status && plan->records_changed)
        status = plan->engine_type->send(plan->engine, SHOAL_ARRAY_SYSTEMS);
    if (!status)
        status = plan->engine_type->observe(plan->engine, list, n_list, &sights, fabs(span / dt));
    if (!status)
        status = plan->engine_type->download(plan->engine, SHOAL_ARRAY_SYSTEMS);
    plan->records_changed = plan->records_changed && status;
    plan->watch_fresh = false;
    for (long i = 0; i < n_list; i++)
        plan->goal[list[i]] = NAN; /* the engine has set others */
    sights_loop loop = {o, &sights, list, -1};
    if (!status)
        shoal_share(plan->context, plan->host_threads, n_list, shoal_part(n_list, WORTH_THREADS), sights_part, &loop);
    if (!status && loop.lost >= 0)
        status = shoal_plan_no_state_at(plan, loop.lost % plan->ensemble->n_systems,
                                        o->times[loop.lost / plan->ensemble->n_systems]);
    free(what);
    free(sights.seen);
    return status;
}

/* Refuse what no call can mean. */
static shoal_status check_observation(const char *function, const observation *o)
{
    const shoal_plan *plan = o->plan;
    if (!plan)
        return SHOAL_E_USAGE;
    shoal_context *context = plan->context;
    const long n_times = o->n_times;
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
    observation o = {plan, times, what, values, n_times, n_what};
    shoal_status status = check_observation(__func__, &o);
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
    /* systems that the host has to act on go from time to time, and those that have times of their own */
    const bool at_once = n_list > 0 && n_what > 0 && !plan->period && plan->args.marks < 0 && plan->args.records < 0 &&
                         !(plan->propagator->sets_aside && plan->engine_type != &shoal_engine_cpu);
    if (at_once) {
        status = observe_at_once(&o, list, n_list);
        if (!status)
            status = go_to(plan, times[n_times - 1], list, n_list);
    }
    for (long k = 0; k < n_times && !at_once && !status; k++) {
        status = go_to(plan, times[k], list, n_list);
        if (!status)
            take_snapshot(&o, k, list, n_list);
    }
    free(list);
    return status;
}
