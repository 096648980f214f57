/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * keep.c: what a run with a later end needs of the systems that came to the end of this one.
 *
 * It goes on from the last whole step. What is left of this run after it (finish in slice.c) would not be a step of the
 * longer one, so a system is kept ahead of that, and what then happens to it is counted, so that it can be taken back.
 * A row has, for the plan and after it for each of its followers (vectors.c):
 *
 *     happened    how many events, then how many rows of each log, came after the state that follows
 *     fields      the clock of the system's record
 *     native      the native state
 *     watch       what the monitors carry
 *     masses and radii, centre, energy_jump     only where bodies may merge or leave
 *
 * All else of a system follows from its initial state. (The ensemble's bodies are where a pause has left them, and are
 * read anew before they are used.)
 */
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

/* The fields of a record that a run changes: those of fixed steps, then those of adaptive ones. */
static const int fields[] = {SHOAL_SYS_STEP,          SHOAL_SYS_DT,    SHOAL_SYS_ATTEMPT, SHOAL_SYS_ELAPSED,
                             SHOAL_SYS_ELAPSED_ERROR, SHOAL_SYS_JUDGED};

enum { PARTS = 3 };

/* Slots of a chunked array. */
typedef struct part {
    double *array;
    int n_slots, n;  /* of a system there; of them in the row */
    const int *slot; /* [n] NULL = all, but for `unused` of each n_bodies among the first `mixed` */
    int unused, n_bodies, mixed;
} part;

static bool is_used(const part *of, int i)
{
    return i >= of->mixed || i % of->n_bodies >= of->unused;
}

static void parts_of(const shoal_plan *plan, part parts[PARTS])
{
    const int n_native = (int)shoal_native_slots(plan->propagator, plan->args.n_moved);
    parts[0] = (part){.array = plan->args.systems,
                      .n_slots = SHOAL_SYS_FIELDS,
                      .n = plan->propagator->adaptive ? SHOAL_COUNT(fields) : 1,
                      .slot = fields};
    parts[1] = (part){.array = plan->args.native,
                      .n_slots = n_native,
                      .n = n_native,
                      .unused = plan->propagator->first_body,
                      .n_bodies = plan->args.n_moved,
                      .mixed = plan->propagator->n_slots * plan->args.n_moved};
    /* without the records, which are last, and have been taken */
    parts[2] = (part){.array = plan->args.watch,
                      .n_slots = plan->args.n_watch,
                      .n = plan->args.records < 0 ? plan->args.n_watch : plan->args.records};
}

static int n_logs(const shoal_plan *plan)
{
    int n = 0;
    for (int i = 0; i < SHOAL_MAX_MONITORS; i++)
        n += plan->logs[i].is_kept;
    return n;
}

/* Doubles of a plan's own part of a row. */
static int own_width(const shoal_plan *plan)
{
    part parts[PARTS];
    int width = 1 + n_logs(plan);
    parts_of(plan, parts);
    for (int i = 0; i < PARTS; i++)
        for (int k = 0; k < parts[i].n; k++)
            width += is_used(&parts[i], k);
    return width + (plan->args.marks < 0 ? 0 : 2 * plan->ensemble->n_bodies + 7);
}

static void move_number(double *at, double *row, bool save)
{
    *(save ? row : at) = *(save ? at : row);
}

/* A system's state into its row, or from there. */
static void move(const shoal_plan *plan, long system, double *row, bool save)
{
    part parts[PARTS];
    parts_of(plan, parts);
    row += 1 + n_logs(plan);
    for (int p = 0; p < PARTS; p++)
        for (int i = 0; i < parts[p].n; i++)
            if (is_used(&parts[p], i))
                move_number(&parts[p].array[SHOAL_AT(system, parts[p].slot ? parts[p].slot[i] : i, parts[p].n_slots)],
                            row++, save);
    if (plan->args.marks < 0)
        return;
    for (int body = 0; body < plan->ensemble->n_bodies; body++) {
        move_number(shoal_ensemble_body(plan->ensemble, body, SHOAL_M, system), row++, save);
        move_number(shoal_ensemble_body(plan->ensemble, body, SHOAL_R, system), row++, save);
    }
    for (int i = 0; i < 6; i++)
        move_number(&plan->ensemble->centre[system][i], row++, save);
    move_number(&plan->ensemble->energy_jump[system], row, save);
}

shoal_status shoal_plan_keep(shoal_plan *plan, shoal_kept *kept)
{
    const shoal_monitor *const *monitors = shoal_plugs_of(plan->context)->monitors;
    size_t size;
    char *layout = NULL;
    FILE *out = open_memstream(&layout, &size);
    plan->kept = kept;
    plan->kept_at = 0;
    kept->width = own_width(plan);
    for (int i = 0; i < plan->n_followers; i++) {
        plan->followers[i]->kept = kept;
        plan->followers[i]->kept_at = kept->width;
        kept->width += own_width(plan->followers[i]);
    }
    if (out) { /* what another version of a plug would change */
        fprintf(out, "1 %s %d %d %d", plan->propagator->name, plan->propagator->n_slots, plan->propagator->n_own,
                plan->args.n_moved);
        for (int i = 0; monitors[i]; i++)
            if (plan->choice.monitors & (1 << i))
                fprintf(out, ", %s %d %d", monitors[i]->name, monitors[i]->n_slots, monitors[i]->n_part_slots);
        fprintf(out, "; %d of %d plans", kept->width, 1 + plan->n_followers);
    }
    if (!out || fclose(out))
        return shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
    free(kept->layout);
    kept->layout = layout;
    return SHOAL_OK;
}

/* Rows for these systems, to be filled by the plan and its followers. */
static shoal_status add_rows(shoal_plan *plan, const int *list, long n)
{
    shoal_kept *kept = plan->kept;
    const shoal_status status = shoal_kept_reserve(plan->context, kept, kept->n + n);
    if (status)
        return status;
    plan->kept_from = kept->n;
    for (int i = 0; i < plan->n_followers; i++)
        plan->followers[i]->kept_from = kept->n;
    memset(kept->row + (size_t)kept->n * (size_t)kept->width, 0, (size_t)n * (size_t)kept->width * sizeof *kept->row);
    for (long i = 0; i < n; i++)
        kept->system[kept->n++] = list[i];
    return SHOAL_OK;
}

shoal_status shoal_plan_keep_systems(shoal_plan *plan, const int *list, long n)
{
    shoal_kept *kept = plan->kept;
    shoal_status status = SHOAL_OK;
    if (!kept || n == 0)
        return SHOAL_OK;
    status = plan->engine_type->download(plan->engine, SHOAL_ARRAY_NATIVE | SHOAL_ARRAY_WATCH);
    if (!status && plan->kept_at == 0)
        status = add_rows(plan, list, n);
    if (status)
        return status;
    for (long i = 0; i < n; i++) {
        double *row = shoal_kept_find(kept, plan->kept_from, list[i]);
        if (row)
            move(plan, list[i], row + plan->kept_at, true);
    }
    return SHOAL_OK;
}

void shoal_plan_keep_count(const shoal_plan *plan, long first_event, const long first_row[SHOAL_MAX_MONITORS])
{
    if (!plan->kept || plan->kept_at != 0)
        return;
    for (long i = first_event; i < plan->n_events; i++) {
        double *row = shoal_kept_find(plan->kept, plan->kept_from, plan->events[i].system);
        if (row)
            row[0]++;
    }
    for (int l = 0, at = 1; l < SHOAL_MAX_MONITORS; l++) {
        const int size = SHOAL_LOG_VALUES +
                         (plan->logs[l].is_kept ? shoal_plugs_of(plan->context)->monitors[l]->n_log : 0);
        for (long i = first_row[l]; i < plan->logs[l].n_rows && plan->logs[l].is_kept; i++) {
            double *row = shoal_kept_find(plan->kept, plan->kept_from, (long)plan->logs[l].rows[i * size]);
            if (row)
                row[at]++;
        }
        at += plan->logs[l].is_kept;
    }
}

/* A plan with followers, or one of them, from its part of the rows. */
static shoal_status go_on(shoal_plan *plan, double *const *row, const int *outcome)
{
    const int counted = plan->propagator->adaptive ? SHOAL_SYS_ATTEMPT : SHOAL_SYS_STEP;
    for (long system = 0; system < plan->ensemble->n_systems; system++) {
        if (*shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system) != SHOAL_RUNNING)
            continue;
        if (!row[system]) {
            *shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system) = outcome[system];
            continue;
        }
        move(plan, system, row[system] + plan->kept_at, false);
        if (*shoal_plan_field(plan, counted, system) >= plan->args.max_steps)
            return shoal_fail(plan->context, SHOAL_E_INPUT,
                              "system %ld has made the max_steps = %.17g that it may: the longer run would have ended "
                              "it there",
                              plan->ensemble->id[system], plan->args.max_steps);
    }
    for (int i = 0; i < plan->n_followers; i++) {
        const shoal_status status = go_on(plan->followers[i], row, outcome);
        if (status)
            return status;
    }
    return shoal_plan_go_on(plan);
}

shoal_status shoal_plan_keep_load(shoal_plan *plan, double *const *row, const int *outcome)
{
    const shoal_status status = go_on(plan, row, outcome);
    for (long i = 0; i < plan->n_list && !status; i++)
        plan->system_steps += *shoal_plan_field(plan, SHOAL_SYS_STEP, plan->list[i]);
    return status;
}
