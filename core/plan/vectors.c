/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * vectors.c: several tangent vectors in each system. A kernel moves one with a system's bodies, so the others are moved
 * by plans of their own, the followers: each has a copy of the ensemble, and its vectors begin in directions of another
 * seed. The bodies take the same steps in all of them, and end alike, since all have the same monitors. After each
 * slice the followers go on as far as the plan has come. A column that a tangent vector is behind is the largest of
 * theirs and the plan's own, or is made of all vectors as they are at the end.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

/* What a follower is asked for: the plan's options with another seed. */
static shoal_status create_follower(const shoal_plan *plan, const shoal_options *options, int which,
                                    shoal_plan **follower)
{
    shoal_plug_options monitors[SHOAL_MAX_MONITORS];
    shoal_setting settings[SHOAL_MAX_PARAMETERS + 2];
    shoal_options own = *options;
    shoal_findings findings = {.maker = plan->findings->maker};
    shoal_ensemble *ensemble = NULL;
    for (int i = 0; i < options->n_monitors; i++) {
        const int index = shoal_monitor_find(plan->context, options->monitors[i].name);
        const shoal_monitor *type = shoal_plugs_of(plan->context)->monitors[index];
        monitors[i] = options->monitors[i];
        if (!type->tangent)
            continue;
        int n = 0;
        for (; n < type->n_parameters; n++) {
            const char *name = type->parameters[n].name;
            settings[n] = (shoal_setting){.name = name, .value = plan->args.monitor[index][n]};
            if (strcmp(name, "vectors") == 0)
                settings[n].value = 1;
            if (strcmp(name, "seed") == 0)
                settings[n].value += which;
        }
        monitors[i] = (shoal_plug_options){type->name, settings, n};
    }
    own.monitors = monitors;
    own.engine = plan->engine_type->name;
    shoal_status status = shoal_ensemble_copy(plan->ensemble, &ensemble);
    if (!status)
        status = shoal_plan_try(plan->context, ensemble, &own, &findings, follower);
    if (status)
        shoal_ensemble_destroy(&ensemble);
    return status;
}

shoal_status shoal_plan_add_followers(shoal_plan *plan, const shoal_options *options)
{
    shoal_status status = SHOAL_OK;
    if (plan->n_vectors < 2)
        return SHOAL_OK;
    plan->followers = calloc((size_t)plan->n_vectors, sizeof(shoal_plan *));
    if (!plan->followers)
        return shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
    for (int i = 0; i < plan->n_vectors - 1 && !status; i++) {
        status = create_follower(plan, options, i + 1, &plan->followers[i]);
        plan->n_followers += !status;
    }
    return status;
}

void shoal_plan_remove_followers(shoal_plan *plan)
{
    for (int i = 0; i < plan->n_followers; i++) {
        shoal_ensemble *ensemble = plan->followers[i]->ensemble;
        shoal_plan_destroy(&plan->followers[i]);
        shoal_ensemble_destroy(&ensemble);
    }
    free(plan->followers);
    plan->followers = NULL;
    plan->n_followers = 0;
}

shoal_status shoal_plan_restart_followers(shoal_plan *plan)
{
    shoal_status status = SHOAL_OK;
    for (int i = 0; i < plan->n_followers && !status; i++) {
        shoal_ensemble_assign(plan->followers[i]->ensemble, plan->ensemble);
        status = shoal_plan_restart(plan->followers[i]);
    }
    return status;
}

/* Send a follower's systems to where the plan's are: those that have ended to the end, which they find as those did. */
static void send(const shoal_plan *plan, shoal_plan *follower)
{
    for (long i = 0; i < follower->n_list; i++) {
        const int system = follower->list[i];
        const bool runs = *shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING;
        if (!runs)
            shoal_plan_set_goal(follower, system, plan->t_end);
        else if (!isnan(plan->goal[system]) && shoal_plan_arrived(plan, system))
            shoal_plan_set_goal(follower, system, plan->goal[system]);
        else {
            follower->goal[system] = NAN;
            *shoal_plan_field(follower, SHOAL_SYS_TARGET, system) = shoal_plan_progress(plan, system);
            shoal_plan_record_changed(follower);
        }
    }
}

shoal_status shoal_plan_follow(shoal_plan *plan)
{
    shoal_status status = SHOAL_OK;
    for (int i = 0; i < plan->n_followers && !status; i++) {
        shoal_plan *follower = plan->followers[i];
        send(plan, follower);
        for (long n_moved = 1; n_moved > 0 && !status;) {
            status = shoal_plan_begin(follower, true);
            if (!status)
                status = shoal_plan_end(follower, &n_moved);
            follower->n_events = 0; /* the plan has the same */
            for (int log = 0; log < SHOAL_MAX_MONITORS; log++)
                follower->logs[log].n_rows = 0;
        }
    }
    return status;
}

/* Their columns' slots are fetched after the vectors, so these are as fresh as those. */
shoal_status shoal_plan_fetch_vectors(shoal_plan *plan)
{
    shoal_status status = SHOAL_OK;
    if (plan->n_followers == 0 || plan->followers[0]->watch_fresh)
        return SHOAL_OK;
    for (int i = -1; i < plan->n_followers && !status; i++) {
        shoal_plan *of = i < 0 ? plan : plan->followers[i];
        status = of->engine_type->download(of->engine, SHOAL_ARRAY_NATIVE);
    }
    return status;
}

/* The tangent vector of a system, as an array; returns its size. That of body 0 follows from the others'. */
static int read_vector(const shoal_plan *plan, long system, double *vector)
{
    const int n_slots = (int)shoal_native_slots(plan->propagator, plan->args.n_moved),
              bodies = plan->ensemble->n_bodies;
    int n = 0;
    for (int i = 1; i < bodies; i++) {
        const bool there = !signbit(*shoal_ensemble_body(plan->ensemble, i, SHOAL_M, system));
        for (int q = 0; q < 6 && there; q++)
            vector[n++] = plan->args.native[SHOAL_AT(system, q * plan->args.n_moved + bodies + i, n_slots)];
    }
    return n;
}

double shoal_plan_vectors_value(const shoal_plan *plan, const shoal_monitor *type, int column, long system)
{
    const int n_vectors = 1 + plan->n_followers;
    double *vectors = malloc((size_t)n_vectors * 6 * (size_t)plan->ensemble->n_bodies * sizeof *vectors);
    if (!vectors)
        return NAN;
    const int n = read_vector(plan, system, vectors);
    for (int i = 0; i < plan->n_followers; i++)
        read_vector(plan->followers[i], system, vectors + (i + 1) * n);
    const double value = type->of_vectors(column, n_vectors, n, vectors);
    free(vectors);
    return value;
}
