/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plan.c: an ensemble with everything chosen: propagator, monitors, engine, kernels, steps. slice.c runs it over the
 * list of systems still going, and reads the state at any time from a copy.
 *
 * Time is t_start + steps * dt from an exact count, or with adaptive steps their compensated sum. A system's target is
 * the last step at or before the time asked for; what is left is made on a copy, so that no output changes a
 * trajectory. Times asked for may be counted in periods of each system (options.orbits): shoal_plan_absolute_time says
 * what they are.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

#define SYSTEMS_A_THREAD 8192 /* at least, of a GPU's host, which leaves two cores to the journal and the driver */

/* The ensemble's energies count the plan's forces from now on. */
static void count_forces(shoal_plan *plan)
{
    shoal_ensemble *ensemble = plan->ensemble;
    if (plan->args.n_forces == 0 && ensemble->n_forces == 0)
        return;
    ensemble->n_forces = plan->args.n_forces;
    for (int i = 0; i < plan->args.n_forces; i++) {
        ensemble->force[i] = shoal_plugs_of(plan->context)->forces[plan->args.force_kind[i]];
        memcpy(ensemble->force_parameter[i], plan->args.force[i], sizeof plan->args.force[i]);
    }
    for (long i = 0; i < plan->n_list; i++)
        ensemble->energy_start[plan->list[i]] = shoal_ensemble_energy(ensemble, plan->list[i]);
}

/* A plan begins with systems that no plan has moved; a fresh one, with none that a plan has ended, too. */
static shoal_status check_begun(const shoal_plan *plan, bool fresh)
{
    if (fresh && plan->findings->maker == SHOAL_MAKER_CALLER && !plan->ensemble->given)
        return shoal_fail(plan->context, SHOAL_E_USAGE,
                          "shoal_plan_create: the ensemble has no bodies: set them first (shoal_ensemble_set_bodies)");
    for (long system = 0; system < plan->ensemble->n_systems; system++) {
        const int outcome = (int)*shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system);
        if (outcome == SHOAL_RUNNING && *shoal_plan_field(plan, SHOAL_SYS_STEP, system) != 0)
            return shoal_fail(plan->context, SHOAL_E_USAGE,
                              "system %ld runs and has been integrated: set its bodies anew",
                              plan->ensemble->id[system]);
        if (outcome != SHOAL_RUNNING && outcome != SHOAL_INVALID && fresh)
            return shoal_fail(plan->context, SHOAL_E_USAGE,
                              "system %ld has ended (%s) by another plan: set its bodies anew",
                              plan->ensemble->id[system], shoal_outcome_name(outcome));
    }
    return SHOAL_OK;
}

/* Write the systems' steps, and list those that have them. */
static shoal_status begin_list(shoal_plan *plan)
{
    shoal_plan_check_systems(plan, true);
    const shoal_status status = shoal_plan_choose_steps(plan, true);
    shoal_plan_list_running(plan);
    return status;
}

/* Room for what there is one of for each system. */
static bool lists_create(shoal_plan *plan)
{
    const size_t n = (size_t)plan->ensemble->n_systems;
    void **const to[SHOAL_PLAN_LISTS] = {(void **)&plan->list,     (void **)&plan->moving, (void **)&plan->unsorted,
                                         (void **)&plan->ended,    (void **)&plan->bin,    (void **)&plan->goal,
                                         (void **)&plan->expected, (void **)&plan->tried};
    const size_t size[SHOAL_PLAN_LISTS] = {sizeof *plan->list,     sizeof *plan->moving, sizeof *plan->unsorted,
                                           sizeof *plan->ended,    sizeof *plan->bin,    sizeof *plan->goal,
                                           sizeof *plan->expected, sizeof *plan->tried};
    for (int i = 0; i < SHOAL_PLAN_LISTS; i++) {
        *to[i] = plan->lists[i] = calloc(n, size[i]);
        if (!plan->lists[i])
            return false;
    }
    return true;
}

/* What the host knows of the systems at their start. */
static void begin_systems(shoal_plan *plan)
{
    count_forces(plan);
    shoal_plan_watch_begin(plan);
    shoal_plan_marks_begin(plan);
    plan->changes = ++plan->ensemble->changes;
}

/* What shoal_plan_create is given, checked; the options as this version has them. */
static shoal_status read_arguments(shoal_context *context, const shoal_ensemble *ensemble, const shoal_options *given,
                                   shoal_plan **result, shoal_options *options)
{
    static const char function[] = "shoal_plan_create";
    shoal_status status = shoal_check_given(context, function, "plan", result);
    if (!status)
        *result = NULL;
    if (!status && !context)
        status = SHOAL_E_USAGE;
    if (!status)
        status = shoal_check_given(context, function, "ensemble", ensemble);
    return status ? status : shoal_options_read(context, function, given, options);
}

/* A plan of which all is chosen but the engine: *result, to be destroyed when it is refused, too. */
static shoal_status plan_choose(shoal_context *context, shoal_ensemble *ensemble, const shoal_options *options,
                                shoal_findings *findings, shoal_plan **result)
{
    shoal_plan *plan = *result = calloc(1, sizeof *plan);
    if (!plan)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    plan->context = context;
    plan->ensemble = ensemble;
    plan->findings = findings;
    findings->run_steps = 0;
    plan->slice_steps = 256;
    plan->ended_at = INFINITY;
    plan->host_threads = shoal_threads_or_default(options->threads);
    plan->args.bodies = ensemble->bodies;
    plan->args.systems = ensemble->systems;
    plan->choice.n_bodies = ensemble->n_bodies;
    plan->choice.threads = options->threads;
    plan->choice.lanes = options->lanes;
    plan->choice.chosen = plan->args.propagator;
    plan->choice.alone = findings->walkers;
    plan->args.dt_min = options->dt_min;
    plan->args.dt_max = options->dt_max > 0 ? options->dt_max : INFINITY;
    plan->args.max_steps = options->max_steps > 0 ? options->max_steps : INFINITY;
    plan->args.patience = options->max_steps > 0 ? INFINITY : SHOAL_PATIENCE;
    plan->dt = options->dt;
    plan->steps_per_orbit = options->steps_per_orbit;
    plan->reached = NAN;

    shoal_status status = shoal_plan_check_options(context, options, findings);
    if (!status)
        status = check_begun(plan, true);
    if (!status)
        status = shoal_plan_choose_propagator(plan, options);
    if (!status)
        status = shoal_plan_choose_forces(plan, options);
    if (!status)
        status = shoal_plan_choose_end(plan, options);
    if (!status)
        status = shoal_plan_check_systems(plan, false);
    return status ? status : shoal_plan_choose_monitors(plan, options);
}

shoal_status shoal_plan_check(shoal_context *context, shoal_ensemble *ensemble, const shoal_options *options,
                              shoal_findings *findings)
{
    shoal_plan *plan;
    shoal_status status = plan_choose(context, ensemble, options, findings, &plan);
    if (!status)
        status = shoal_plan_check_systems(plan, true);
    if (!status)
        status = shoal_plan_choose_steps(plan, true);
    shoal_plan_destroy(&plan);
    return status;
}

shoal_status shoal_plan_try(shoal_context *context, shoal_ensemble *ensemble, const shoal_options *options,
                            shoal_findings *findings, shoal_plan **result)
{
    *result = NULL;
    char tuned[96] = "", why[160] = "";
    shoal_plan *plan;
    shoal_status status = plan_choose(context, ensemble, options, findings, &plan);
    if (!status)
        status = shoal_plan_choose_steps(plan, false);
    if (status)
        goto fail;
    plan->choice.plugins = (plan->choice.monitors & shoal_plugin_bits(context, 'm')) ||
                           (plan->choice.forces & shoal_plugin_bits(context, 'f')) ||
                           shoal_plugin_is(context, plan->propagator);

    const size_t padded = (size_t)ensemble->n_chunks * SHOAL_CHUNK;
    plan->args.native = shoal_allocate(padded * shoal_native_slots(plan->propagator, plan->args.n_moved),
                                       sizeof(double));
    plan->args.snapshot = shoal_allocate(padded * (size_t)(6 * ensemble->n_bodies), sizeof(double));
    plan->args.watch = shoal_allocate(padded * (size_t)(plan->args.n_watch > 0 ? plan->args.n_watch : 1),
                                      sizeof(double));
    if (!plan->args.native || !plan->args.snapshot || !plan->args.watch || !lists_create(plan)) {
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld systems of %d bodies", ensemble->n_systems,
                            ensemble->n_bodies);
        goto fail;
    }
    shoal_plan_list_running(plan);
    shoal_plan_clear_goals(plan);
    status = shoal_plan_choose_engine(plan, options, why, sizeof why);
    if (plan->engine_type == &shoal_engine_cuda) {
        const long enough = 1 + ensemble->n_systems / SYSTEMS_A_THREAD,
                   others = plan->host_threads > 3 ? plan->host_threads - 2 : 1;
        plan->host_threads = (int)(enough < others ? enough : others);
    }
    if (!status)
        status = begin_list(plan); /* last: a refused plan leaves the ensemble as it was */
    if (status)
        goto fail;
    begin_systems(plan);
    status = shoal_plan_start_engine(plan);
    if (!status && plan->engine_type == &shoal_engine_cuda)
        status = shoal_tune(plan, tuned, sizeof tuned);
    if (!status)
        status = shoal_plan_add_followers(plan, options);
    if (status)
        goto fail;
    shoal_plan_count(plan);
    shoal_plan_write_line(plan, tuned, why);
    plan->findings = NULL;
    *result = plan;
    return SHOAL_OK;
fail:
    shoal_plan_destroy(&plan);
    return status;
}

static shoal_status keep_warnings(shoal_plan *plan, const shoal_warned *of)
{
    size_t size;
    FILE *out = open_memstream(&plan->warnings, &size);
    if (out)
        shoal_plan_warn(of, out);
    return out && fclose(out) == 0 ? SHOAL_OK : shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
}

shoal_status shoal_plan_create(shoal_context *context, shoal_ensemble *ensemble, const shoal_options *given,
                               shoal_plan **result)
{
    shoal_options options;
    shoal_findings findings = {.maker = SHOAL_MAKER_CALLER};
    shoal_units units;
    shoal_status status = read_arguments(context, ensemble, given, result, &options);
    if (status)
        return status;
    void *numbers = shoal_numbers_begin();
    findings.warns = options.units != NULL;
    if (options.units)
        status = shoal_units_parse(context, options.units, &units);
    if (!status)
        status = shoal_plan_try(context, ensemble, &options, &findings, result);
    if (!status && options.units &&
        (status = keep_warnings(*result,
                                &(shoal_warned){ensemble, &options, (*result)->propagator, &findings, &units})))
        shoal_plan_destroy(result);
    shoal_numbers_end(numbers);
    return status;
}

const char *shoal_plan_warnings(const shoal_plan *plan)
{
    return plan && plan->warnings ? plan->warnings : "";
}

shoal_status shoal_plan_restart(shoal_plan *plan)
{
    shoal_findings findings = {.maker = SHOAL_MAKER_CALLER};
    shoal_status status = plan ? check_begun(plan, false) : SHOAL_E_USAGE;
    if (status)
        return status;
    plan->findings = &findings;
    if (!status)
        status = shoal_plan_find_periods(plan);
    if (!status)
        status = shoal_plan_choose_steps(plan, false);
    if (!status)
        status = begin_list(plan);
    plan->findings = NULL;
    if (status)
        return status;
    shoal_plan_clear_goals(plan);
    plan->n_ended = plan->n_moving = plan->n_asked = plan->n_events = 0;
    for (int i = 0; i < SHOAL_MAX_MONITORS; i++)
        plan->logs[i].n_rows = 0;
    plan->reached = NAN;
    plan->goes_on = plan->records_changed = plan->watch_fetched = plan->watch_fresh = false;
    begin_systems(plan);

    /* kernels that leave out what has mass now; systems that a GPU has put aside */
    shoal_kernel_choice choice = plan->choice;
    const int n_massive = shoal_plan_find_massive(plan, &choice.unit_star);
    choice.unit_star = choice.unit_star && plan->choice.unit_star;
    choice.n_massive = n_massive > choice.n_massive ? n_massive : choice.n_massive;
    const bool others = choice.unit_star != plan->choice.unit_star || choice.n_massive != plan->choice.n_massive ||
                        (plan->propagator->sets_aside && plan->engine_type == &shoal_engine_cuda);
    plan->args.n_massive = choice.n_massive;
    status = others ? shoal_plan_exchange_engine(plan, &choice) : shoal_plan_start_engine(plan);
    if (!status)
        status = shoal_plan_restart_followers(plan);
    if (!status)
        shoal_plan_count(plan);
    return status;
}

void shoal_plan_destroy(shoal_plan **plan)
{
    if (!plan || !*plan)
        return;
    shoal_plan_remove_followers(*plan);
    if ((*plan)->engine)
        (*plan)->engine_type->destroy(&(*plan)->engine);
    free((*plan)->args.native);
    free((*plan)->args.snapshot);
    free((*plan)->args.watch);
    for (int i = 0; i < SHOAL_PLAN_LISTS; i++)
        free((*plan)->lists[i]);
    free((*plan)->period);
    free((*plan)->warnings);
    free((*plan)->events);
    for (int i = 0; i < SHOAL_MAX_MONITORS; i++)
        free((*plan)->logs[i].rows);
    free(*plan);
    *plan = NULL;
}

const char *shoal_plan_line(const shoal_plan *plan)
{
    return plan ? plan->line : "";
}
