/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * engines.c: the engine of a plan: begun, exchanged for another one, told of in a line.
 */
#include <stdio.h>

#include "core/plan/plan.h"

/* What was chosen: "mvs (compensated) with gr and j2, n = 63, rows (3 bodies attract), ..." */
void shoal_plan_write_line(shoal_plan *plan, const char *tuned, const char *why)
{
    const int n = plan->ensemble->n_bodies, n_massive = plan->args.n_massive;
    char forces[200] = "", form[40] = "pairs";
    for (int i = 0, used = 0; i < plan->args.n_forces && used < (int)sizeof forces; i++)
        used += snprintf(forces + used, sizeof forces - (size_t)used, "%s%s", i == 0 ? " with " : ", ",
                         shoal_plugs_of(plan->context)->forces[plan->args.force_kind[i]]->name);
    if (plan->choice.form == SHOAL_FORM_ROWS)
        snprintf(form, sizeof form, n_massive < n ? "rows (%d bodies attract)" : "rows", n_massive);
    snprintf(plan->line, sizeof plan->line, "%s%s%s, n = %d, %s, %s%s%s", plan->propagator->name,
             plan->choice.compensated ? " (compensated)" : "", forces, n, form, plan->engine_line, tuned, why);
}

shoal_status shoal_plan_create_engine(shoal_plan *plan)
{
    const shoal_engine_range range = {.n_systems = plan->ensemble->n_systems, .devices = plan->devices};
    return plan->engine_type->create(plan->context, &plan->choice, &plan->args, range, &plan->engine, plan->engine_line,
                                     sizeof plan->engine_line);
}

/* Give the engine the systems as they begin, or go on. */
shoal_status shoal_plan_start_engine(shoal_plan *plan)
{
    const int native = plan->goes_on ? SHOAL_ARRAY_NATIVE : 0;
    shoal_status status = plan->engine_type->upload(plan->engine, SHOAL_ARRAY_BODIES | SHOAL_ARRAY_SYSTEMS | native |
                                                                      SHOAL_ARRAY_WATCH);
    if (!status && plan->n_list > 0 && !plan->goes_on)
        status = plan->engine_type->launch(plan->engine, SHOAL_PREPARE, plan->list, plan->n_list, 0);
    return status;
}

shoal_status shoal_plan_exchange_engine(shoal_plan *plan, const shoal_kernel_choice *choice)
{
    plan->engine_type->destroy(&plan->engine);
    plan->choice = *choice;
    const shoal_status status = shoal_plan_create_engine(plan);
    return status ? status : shoal_plan_start_engine(plan);
}
