/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * trial.c: whether walkers are regular (likelihood.stability = "megno"): each makes a run of its own from the epoch,
 * apart from those to the data, by a plan with the monitor megno. That is a walk without data: its ln L is 0, or
 * -infinity where the system ends on the way or MEGNO is too large at the end (core/walker/likelihood.kern.h). Tangent
 * vectors double the work of a step, so that the way to the data goes without them.
 *
 * All walkers have the first tangent vector of system 0, so that no ln L depends on their order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/model.h"
#include "monitors/megno.kern.h"

struct shoal_trial {
    shoal_ensemble *ensemble;
    shoal_plan *plan;
    shoal_walk walk;
    double end; /* the time that all legs would see, beyond their ends */
    double *watch, *lnl;
};

static shoal_status make_plan(const shoal_study *study, long n_walkers, double orbits, shoal_trial *trial)
{
    shoal_endings endings;
    shoal_options options = study->options;
    shoal_model_endings(study->context, &study->options, &endings);
    endings.monitor[endings.n++] = (shoal_plug_options){.name = "megno"};
    options.n_monitors = endings.n;
    options.monitors = endings.monitor;
    options.orbits = orbits;
    return shoal_model_plan(study, n_walkers, &options, &trial->ensemble, &trial->plan);
}

static shoal_status make_trial(const shoal_study *study, const shoal_walk *of, long n_walkers, shoal_trial *trial)
{
    const shoal_config *config = &study->config;
    const config_setting_t *said = shoal_config_lookup(config, "likelihood");
    shoal_walk *walk = &trial->walk;
    *walk = (shoal_walk){.n_parameters = of->n_parameters,
                         .n_bodies = of->n_bodies,
                         .frame = of->frame,
                         .epoch = of->epoch,
                         .bodies = of->bodies,
                         .orbits = shoal_config_number(config, said, "likelihood", "megno_orbits"),
                         .most = shoal_config_number(config, said, "likelihood", "megno_limit")};
    const shoal_status status = make_plan(study, n_walkers, walk->orbits, trial);
    if (status)
        return status;
    const shoal_plan *plan = trial->plan;
    const int megno = plan->args.watch_offset[shoal_monitor_find(study->context, "megno")];
    walk->n_watch = plan->args.n_watch;
    walk->growth = megno + MEGNO_SUM_Y;
    walk->since = megno + MEGNO_T;
    walk->step = fabs(*shoal_plan_field(plan, SHOAL_SYS_DT, 0));
    walk->fixed = !plan->propagator->adaptive;
    walk->end[SHOAL_FORWARDS] = *shoal_plan_field(plan, SHOAL_SYS_END, 0); /* roughly: each has its own */
    trial->end = 1e300;
    walk->leg[SHOAL_FORWARDS] = (shoal_sights){.n_times = 1, .times = &trial->end};
    trial->watch = malloc((size_t)walk->n_watch * sizeof *trial->watch);
    trial->lnl = malloc((size_t)n_walkers * sizeof *trial->lnl);
    if (!trial->watch || !trial->lnl)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory for %ld walkers", n_walkers);
    for (int slot = 0; slot < walk->n_watch; slot++)
        trial->watch[slot] = plan->args.watch[SHOAL_AT(0, slot, walk->n_watch)];
    walk->watch = trial->watch;
    return plan->engine_type->walk_with(plan->engine, walk);
}

shoal_status shoal_trial_create(const shoal_study *study, const shoal_walk *walk, long n_walkers, shoal_trial **trial)
{
    const config_setting_t *said = shoal_config_lookup(&study->config, "likelihood");
    static const char *const of_megno[] = {"megno_orbits", "megno_limit"};
    for (int i = 0; i < SHOAL_COUNT(of_megno) && walk->stability != SHOAL_STABLE_MEGNO; i++)
        if (said && config_setting_get_member(said, of_megno[i]))
            return shoal_config_fail(&study->config, config_setting_get_member(said, of_megno[i]), NULL, NULL,
                                     "no such key without stability = \"megno\"");
    if (walk->stability != SHOAL_STABLE_MEGNO)
        return SHOAL_OK;
    *trial = calloc(1, sizeof **trial);
    return *trial ? make_trial(study, walk, n_walkers, *trial)
                  : shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory");
}

void shoal_trial_destroy(shoal_trial **trial)
{
    if (!*trial)
        return;
    shoal_plan_destroy(&(*trial)->plan);
    shoal_ensemble_destroy(&(*trial)->ensemble);
    free((*trial)->watch);
    free((*trial)->lnl);
    free(*trial);
    *trial = NULL;
}

shoal_status shoal_trial_parameters(shoal_trial *trial, int n_parameters)
{
    if (!trial)
        return SHOAL_OK;
    trial->walk.n_parameters = n_parameters;
    return trial->plan->engine_type->walk_with(trial->plan->engine, &trial->walk);
}

shoal_status shoal_trial_of(shoal_trial *trial, const int *list, long n, const double *theta, double *lnl)
{
    if (!trial)
        return SHOAL_OK;
    const shoal_plan *plan = trial->plan;
    const shoal_status status = plan->engine_type->walk(plan->engine, list, n, theta, trial->lnl, NULL);
    for (long i = 0; i < n && !status; i++)
        lnl[i] += trial->lnl[i];
    return status;
}
