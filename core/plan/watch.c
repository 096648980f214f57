/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * watch.c: what the monitors of a plan carry from step to step, and the columns that they make of it.
 */
#include <math.h>
#include <string.h>

#include "core/plan/plan.h"

static double *watch_slot(const shoal_plan *plan, int monitor, long system, int slot)
{
    return &plan->args.watch[SHOAL_AT(system, plan->args.watch_offset[monitor] + slot, plan->args.n_watch)];
}

void shoal_plan_watch_bodies(shoal_plan *plan, long system)
{
    const shoal_monitor *const *monitors = shoal_plugs_of(plan->context)->monitors;
    for (int index = 0; monitors[index]; index++) {
        double slots[2 * SHOAL_MAX_SLOTS];
        if (!(plan->choice.monitors & (1 << index)) || !monitors[index]->begin)
            continue;
        const bool one = shoal_monitor_parts_of(monitors[index], plan->args.monitor[index]) == SHOAL_ONE_PART;
        const int n = monitors[index]->n_slots + (one ? monitors[index]->n_part_slots : 0);
        for (int slot = 0; slot < n; slot++)
            slots[slot] = *watch_slot(plan, index, system, slot);
        monitors[index]->begin(plan->ensemble, system, slots);
        for (int slot = 0; slot < n; slot++)
            *watch_slot(plan, index, system, slot) = slots[slot];
    }
}

void shoal_plan_watch_begin(shoal_plan *plan)
{
    for (int index = 0; shoal_plugs_of(plan->context)->monitors[index]; index++) {
        const shoal_monitor *type = shoal_plugs_of(plan->context)->monitors[index];
        if (!(plan->choice.monitors & (1 << index)))
            continue;
        const int n_parts = shoal_monitor_n_parts(type, plan->args.monitor[index], plan->ensemble->n_bodies);
        for (long system = 0; system < plan->ensemble->n_chunks * SHOAL_CHUNK; system++) {
            for (int slot = 0; slot < type->n_slots; slot++)
                *watch_slot(plan, index, system, slot) = type->initial ? type->initial[slot] : 0;
            for (int slot = 0; slot < n_parts * type->n_part_slots; slot++)
                *watch_slot(plan, index, system, type->n_slots + slot) = type->part_initial[slot % type->n_part_slots];
        }
    }
    for (long i = 0; i < plan->n_list; i++)
        shoal_plan_watch_bodies(plan, plan->list[i]);
}

/* No marks and no records yet. */
void shoal_plan_marks_begin(shoal_plan *plan)
{
    const shoal_kernel_args *args = &plan->args;
    const int n_marks = args->marks < 0 ? 0 : plan->ensemble->n_bodies * plan->ensemble->n_bodies;
    for (long system = 0; system < plan->ensemble->n_chunks * SHOAL_CHUNK; system++) {
        for (int i = 0; i < n_marks; i++)
            args->watch[SHOAL_AT(system, args->marks + i, args->n_watch)] = NAN;
        if (args->records >= 0)
            args->watch[SHOAL_AT(system, args->records, args->n_watch)] = 0;
    }
}

shoal_status shoal_plan_fetch_watch(shoal_plan *plan)
{
    shoal_status status = plan->watch_fresh ? SHOAL_OK : plan->engine_type->download(plan->engine, SHOAL_ARRAY_WATCH);
    plan->watch_fresh = status == SHOAL_OK;
    if (!status)
        status = shoal_plan_fetch_vectors(plan);
    for (int i = 0; i < plan->n_followers && !status; i++)
        status = shoal_plan_fetch_watch(plan->followers[i]);
    return status;
}

double shoal_plan_column_value(const shoal_plan *plan, int monitor, int column, int part, long system)
{
    const shoal_monitor *type = shoal_plugs_of(plan->context)->monitors[monitor];
    const shoal_monitor_column *asked = &type->columns[column];
    const int n = asked->of == SHOAL_OF_SYSTEM ? type->n_slots : type->n_part_slots;
    if (type->of_vectors && column >= type->first_of_vectors && plan->n_followers > 0)
        return shoal_plan_vectors_value(plan, type, column, system);
    if (asked->of == SHOAL_OF_LEAST) {
        part = 0;
        const int n_parts = shoal_monitor_n_parts(type, plan->args.monitor[monitor], plan->ensemble->n_bodies);
        for (int i = 1; i < n_parts; i++) {
            const double *least = watch_slot(plan, monitor, system, type->n_slots + part * n);
            part = *watch_slot(plan, monitor, system, type->n_slots + i * n) < *least ? i : part;
        }
    }
    double slots[SHOAL_MAX_SLOTS];
    for (int slot = 0, first = asked->of == SHOAL_OF_SYSTEM ? 0 : type->n_slots + part * n; slot < n; slot++)
        slots[slot] = *watch_slot(plan, monitor, system, first + slot);
    double value = asked->finish(slots, plan->args.monitor[monitor]);
    for (int i = 0; i < plan->n_followers && type->tangent; i++)
        value = fmax(value, shoal_plan_column_value(plan->followers[i], monitor, column, part, system));
    return value;
}
