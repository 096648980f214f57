/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * checkpoint.c: everything that a restart needs of a plan: same bytes, same bits.
 */
#include <string.h>

#include "core/plan/plan.h"

enum { STATE_PARTS = 6 };

/* The arrays that a restart needs, with their sizes in bytes; the bodies and what goes with them only where they may
 * change. */
static int state_parts(const shoal_plan *plan, double **part, size_t *size)
{
    const size_t slot = (size_t)plan->ensemble->n_chunks * SHOAL_CHUNK * sizeof(double);
    part[0] = plan->args.systems;
    size[0] = slot * SHOAL_SYS_FIELDS;
    part[1] = plan->args.native;
    size[1] = slot * shoal_native_slots(plan->propagator, plan->args.n_moved);
    part[2] = plan->args.watch;
    size[2] = slot * (size_t)plan->args.n_watch;
    part[3] = plan->args.bodies;
    size[3] = slot * (size_t)plan->ensemble->n_bodies * SHOAL_QUANTITIES;
    part[4] = plan->ensemble->centre[0];
    size[4] = (size_t)plan->ensemble->n_systems * sizeof *plan->ensemble->centre;
    part[5] = plan->ensemble->energy_jump;
    size[5] = (size_t)plan->ensemble->n_systems * sizeof *plan->ensemble->energy_jump;
    return plan->args.marks < 0 ? 3 : STATE_PARTS;
}

size_t shoal_plan_state_size(const shoal_plan *plan)
{
    double *part[STATE_PARTS];
    size_t size[STATE_PARTS], sum = sizeof plan->system_steps;
    for (int i = 0, n = state_parts(plan, part, size); i < n; i++)
        sum += size[i];
    for (int i = 0; i < plan->n_followers; i++)
        sum += shoal_plan_state_size(plan->followers[i]);
    return sum;
}

shoal_status shoal_plan_state_save(shoal_plan *plan, void *state)
{
    double *part[STATE_PARTS];
    size_t size[STATE_PARTS];
    char *at = state;
    shoal_status status = plan->engine_type->download(plan->engine, SHOAL_ARRAY_NATIVE | SHOAL_ARRAY_WATCH);
    if (status)
        return status;
    memcpy(at, &plan->system_steps, sizeof plan->system_steps);
    at += sizeof plan->system_steps;
    for (int i = 0, n = state_parts(plan, part, size); i < n; at += size[i], i++)
        memcpy(at, part[i], size[i]);
    for (int i = 0; i < plan->n_followers && !status; i++) {
        status = shoal_plan_state_save(plan->followers[i], at);
        at += shoal_plan_state_size(plan->followers[i]);
    }
    return status;
}

shoal_status shoal_plan_go_on(shoal_plan *plan)
{
    shoal_plan_list_running(plan);
    shoal_plan_clear_goals(plan);
    shoal_plan_count(plan);
    plan->records_changed = false;
    plan->goes_on = true;
    return shoal_plan_start_engine(plan);
}

shoal_status shoal_plan_state_load(shoal_plan *plan, const void *state)
{
    double *part[STATE_PARTS];
    size_t size[STATE_PARTS];
    const char *at = state;
    memcpy(&plan->system_steps, at, sizeof plan->system_steps);
    at += sizeof plan->system_steps;
    for (int i = 0, n = state_parts(plan, part, size); i < n; at += size[i], i++)
        memcpy(part[i], at, size[i]);
    for (int i = 0; i < plan->n_followers; i++) {
        const shoal_status status = shoal_plan_state_load(plan->followers[i], at);
        if (status)
            return status;
        at += shoal_plan_state_size(plan->followers[i]);
    }
    return shoal_plan_go_on(plan);
}
