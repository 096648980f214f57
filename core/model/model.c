/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * model.c: from a study with data to walkers, and from vectors of parameters to ln L. Every walker is a system of a
 * plan of its own, whose engine takes it from its parameters to ln L (core/walker/).
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/model.h"

struct shoal_model {
    shoal_context *context;
    const shoal_study *study;
    shoal_ensemble *ensemble; /* a system a walker */
    shoal_plan *plan;
    shoal_data data;
    shoal_walk walk;
    shoal_trial *trial;   /* NULL: walkers need not be regular */
    shoal_beside *beside; /* takes a part of each batch, NULL: the engine takes all */
    double *times[SHOAL_LEGS], *met, *work;
    int *what, *list; /* [n_walkers] 0, 1, 2, ... */
    double *lnl;      /* [n_walkers] of predictions */
    double *watch;    /* what the monitors of a walker begin with */
    double *own;      /* [walk.n_own][n_data], which the engine has unless own_changed */
    bool own_changed;
    long n_walkers;
    char line[800]; /* of the plan */
};

static shoal_status out_of_memory(const shoal_model *model)
{
    return shoal_fail(model->context, SHOAL_E_MEMORY, "out of memory for %ld walkers", model->n_walkers);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Whether data of a set are seen at their own times: neither at conjunctions nor as sums of places. */
static bool is_seen(const shoal_walker_set *set)
{
    return set->met < 0 && set->sky != SHOAL_SKY_MOTION;
}

static bool is_of_leg(const shoal_model *model, double time, int leg)
{
    return (time < model->walk.epoch) == (leg == SHOAL_BACKWARDS);
}

/* The row of a time in the list of a leg, whose times have the sign of its direction. */
static int row_of(const double *times, long n, int leg, double time)
{
    const double t = leg == SHOAL_FORWARDS ? time : -time;
    return (int)((const double *)bsearch(&t, times, (size_t)n, sizeof *times, compare) - times);
}

/* The times of a leg, each once, in its direction; those of the epoch are forwards. */
static shoal_status make_leg(shoal_model *model, int leg)
{
    const shoal_data *data = &model->data;
    const double epoch = model->walk.epoch, sign = leg == SHOAL_FORWARDS ? 1 : -1;
    double *times = model->times[leg] = malloc((size_t)(data->n + data->n_parts + 1) * sizeof *times);
    const double last = leg == SHOAL_FORWARDS ? data->to : -data->from; /* that a conjunction may have */
    long n = 0, n_kept = 0;
    if (!times)
        return out_of_memory(model);
    for (int i = 0; i < data->n_sets; i++)
        for (long long j = data->set[i].first; j < data->set[i].first + data->set[i].n && is_seen(&data->set[i]); j++)
            if (is_of_leg(model, data->datum[j].time, leg))
                times[n++] = sign * data->datum[j].time;
    for (int j = 0; j < data->n_parts; j++)
        if (is_of_leg(model, data->parts[j].time, leg))
            times[n++] = sign * data->parts[j].time;
    if (last > sign * epoch)
        times[n++] = last;
    qsort(times, (size_t)n, sizeof *times, compare);
    for (long i = 0; i < n; i++)
        if (i == 0 || times[i] != times[n_kept - 1])
            times[n_kept++] = times[i];
    for (int i = 0; i < data->n_sets; i++)
        for (long long j = data->set[i].first; j < data->set[i].first + data->set[i].n && is_seen(&data->set[i]); j++)
            if (is_of_leg(model, data->datum[j].time, leg)) {
                data->datum[j].leg = leg;
                data->datum[j].row = row_of(times, n_kept, leg, data->datum[j].time);
            }
    for (int j = 0; j < data->n_parts; j++)
        if (is_of_leg(model, data->parts[j].time, leg)) {
            data->parts[j].leg = leg;
            data->parts[j].row = row_of(times, n_kept, leg, data->parts[j].time);
        }
    for (long i = 0; i < n_kept; i++)
        times[i] *= sign;
    model->walk.leg[leg].n_times = n_kept;
    model->walk.leg[leg].times = times;
    return SHOAL_OK;
}

/* The place of n components from `first` on in a list, where they are put if they are not there. */
static int place_of(int *what, int *n_what, int first, int n)
{
    int place = 0;
    while (place < *n_what && what[place] != first)
        place++;
    if (place == *n_what)
        for (int c = 0; c < n; c++)
            what[(*n_what)++] = first + c;
    return place;
}

/* What is seen of the bodies: each component once. Rows of data become rows of what is seen. */
static shoal_status make_sights(shoal_model *model)
{
    enum { NORTH = 0, LINE_OF_SIGHT = 5 }; /* x, with y after it; vz */
    const shoal_data *data = &model->data;
    shoal_walk *walk = &model->walk;
    int n_what = 0;
    const int n_states = 6 * walk->n_bodies;
    bool all = false; /* states are seen, for velocities as light brings them */
    model->what = calloc(4 * (size_t)data->n_sets + (size_t)n_states, sizeof *model->what);
    if (!model->what)
        return out_of_memory(model);
    for (int i = 0; i < data->n_sets; i++)
        all = all || data->set[i].light > 0 || data->set[i].relativity > 0;
    for (int c = 0; c < n_states && all; c++)
        model->what[n_what++] = c;
    for (int i = 0; i < data->n_sets; i++) {
        shoal_walker_set *set = &data->set[i];
        if (set->met >= 0)
            continue;
        const int first = set->sky ? NORTH : LINE_OF_SIGHT, n = set->sky ? 2 : 1;
        set->body = data->body[i];
        set->place = n_what;
        if (set->light > 0 || set->relativity > 0) {
            model->what[n_what++] = 6 * set->body + LINE_OF_SIGHT;
            data->body[i] = set->place;
            continue;
        }
        const int place = place_of(model->what, &n_what, 6 * data->body[i] + first, n);
        if (set->reference)
            set->reference = place_of(model->what, &n_what, first, n) - place;
        data->body[i] = place;
    }
    for (int i = 0; i < data->n_sets; i++)
        for (long long j = data->set[i].first; j < data->set[i].first + data->set[i].n && data->set[i].met < 0; j++) {
            shoal_datum *datum = &data->datum[j];
            datum->row = datum->row * n_what + data->body[i];
            for (int q = datum->first_part; q < datum->first_part + datum->n_parts; q++)
                data->parts[q].row = data->parts[q].row * n_what + data->body[i] + data->parts[q].east;
        }
    const size_t n_padded = (size_t)(model->n_walkers + SHOAL_CHUNK - 1) / SHOAL_CHUNK * SHOAL_CHUNK;
    const bool here = model->plan->engine_type == &shoal_engine_cpu;
    const size_t n_met = (size_t)data->n_rows * (size_t)data->n_met * n_padded,
                 n_work = (size_t)walk->n_work * n_padded;
    if (here && n_met > 0 && !(model->met = shoal_allocate(n_met, sizeof(double))))
        return out_of_memory(model);
    if (here && n_work > 0 && !(model->work = shoal_allocate(n_work, sizeof(double))))
        return out_of_memory(model);
    walk->work = model->work;
    for (int leg = 0; leg < SHOAL_LEGS; leg++) {
        shoal_sights *sights = &walk->leg[leg];
        const size_t n_seen = (size_t)sights->n_times * (size_t)n_what * n_padded;
        sights->n_what = n_what;
        sights->what = model->what;
        sights->n_conjunctions = data->n_conjunctions;
        sights->conjunctions = data->conjunctions;
        sights->n_mutual = data->n_mutual;
        sights->row_of = data->row_of;
        sights->n_row_of = data->n_row_of;
        sights->n_rows = data->n_rows;
        sights->n_met = data->n_met;
        sights->met = model->met;
        if (here && n_seen > 0 && !(sights->seen = shoal_allocate(n_seen, sizeof(double))))
            return out_of_memory(model);
    }
    return SHOAL_OK;
}

/* A number of a set comes from parameter p: factor theta + add. */
static shoal_status set_number(shoal_model *model, int i, int number, int p, double factor, double add)
{
    if (i >= model->data.n_sets) { /* of a process, which noise.c has checked */
        shoal_walker_process *process = &model->data.processes[model->data.process_at[i - model->data.n_sets]];
        shoal_walker_number *of = &(&process->sigma)[number - SHOAL_SET_NUMBERS];
        *of = (shoal_walker_number){p, of->factor * factor, of->factor * add};
        return SHOAL_OK;
    }
    shoal_walker_set *set = &model->data.set[i];
    const bool of_scans = number >= SHOAL_SET_ra, of_sky = number >= SHOAL_SET_parallax;
    const bool has = number == SHOAL_SET_jitter ? true
                     : of_scans
                         ? set->sky == SHOAL_SKY_SCAN || (set->sky == SHOAL_SKY_MOTION && number >= SHOAL_SET_pm_ra)
                     : of_sky ? set->sky != SHOAL_SKY_NONE && set->sky != SHOAL_SKY_ANGLE
                              : set->sky == SHOAL_SKY_NONE;
    const char *name = model->study->walkers.parameters[p].name;
    shoal_walker_number *of = &(&set->offset)[number];
    if (!has)
        return shoal_fail(model->context, SHOAL_E_INPUT, "%s: %s, in data[%d]: data of this kind have no such number",
                          model->study->path, name, i);
    if (set->marginal && (number == SHOAL_SET_offset || of_scans))
        return shoal_fail(model->context, SHOAL_E_INPUT, "%s: %s: expected no parameter over which ln L is integrated",
                          model->study->path, name);
    *of = (shoal_walker_number){p, of->factor * factor, of->factor * add};
    return SHOAL_OK;
}

/* Numbers of data that are parameters. */
static shoal_status set_parameters(shoal_model *model)
{
    const shoal_study_walkers *walkers = &model->study->walkers;
    shoal_status status = SHOAL_OK;
    for (int p = 0; p < walkers->n_parameters && !status; p++) {
        const shoal_study_parameter *parameter = &walkers->parameters[p];
        if (parameter->set >= 0)
            status = set_number(model, parameter->set, parameter->number, p, 1, 0);
    }
    for (const shoal_study_tie *tie = walkers->ties; tie < walkers->ties + walkers->n_ties && !status; tie++)
        status = set_number(model, tie->set, tie->number, tie->to, tie->ratio, tie->add);
    for (int i = 0; i < model->data.n_sets && !status; i++) {
        const shoal_walker_set *set = &model->data.set[i];
        if (set->sky && set->sky != SHOAL_SKY_ANGLE && set->parallax.from < 0 && isnan(set->parallax.value))
            status = shoal_fail(model->context, SHOAL_E_INPUT,
                                "%s: data[%d].parallax: expected a number, or a parameter of these data",
                                model->study->path, i);
    }
    return status;
}

static bool has_free_mass(const shoal_walker_body *body)
{
    return body->number[SHOAL_BODY_m].from >= 0 || !(body->given & 1ull << SHOAL_BODY_m);
}

shoal_status shoal_model_plan(const shoal_study *study, long n_walkers, const shoal_options *options,
                              shoal_ensemble **ensemble, shoal_plan **plan)
{
    const int n_bodies = study->walkers.n_bodies;
    shoal_system record;
    long first = -1;
    for (long s = 0; s < study->ensemble->n_systems && first < 0; s++) {
        shoal_ensemble_get_system(study->ensemble, s, &record);
        first = record.outcome == SHOAL_RUNNING ? s : -1;
    }
    shoal_body *bodies = calloc((size_t)n_bodies, sizeof *bodies);
    if (!bodies)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory for %d bodies", n_bodies);
    shoal_status status = first < 0
                              ? shoal_fail(study->context, SHOAL_E_INPUT, "%s: no system is possible", study->path)
                              : shoal_ensemble_create(study->context, n_walkers, n_bodies, ensemble);
    if (!status)
        shoal_ensemble_get_bodies(study->ensemble, first, bodies);
    for (int i = 0; i < n_bodies && !status; i++)
        if (has_free_mass(&study->walkers.bodies[i]))
            bodies[i].m = bodies[i].m * 1.000001 + 1e-9;
    for (long s = 0; s < n_walkers && !status; s++) {
        shoal_system of = {.id = s, .t_start = study->t_start};
        status = shoal_ensemble_set_bodies(*ensemble, s, n_bodies, bodies);
        if (!status)
            shoal_ensemble_set_system(*ensemble, s, &of);
    }
    shoal_findings findings = {.maker = SHOAL_MAKER_CALLER, .walkers = true};
    if (!status)
        status = shoal_plan_try(study->context, *ensemble, options, &findings, plan);
    free(bodies);
    return status;
}

/* Whether a monitor only logs its events. */
static bool only_logs(shoal_context *context, const shoal_plug_options *monitor, const shoal_setting *action)
{
    const int index = shoal_monitor_find(context, monitor->name);
    const shoal_monitor *type = index < 0 ? NULL : shoal_plugs_of(context)->monitors[index];
    for (int p = 0; type && p < type->n_parameters; p++)
        if (strcmp(type->parameters[p].name, "action") == 0) {
            const int log = shoal_choice_index(type->parameters[p].choices, "log");
            return action->choice ? strcmp(action->choice, "log") == 0 : log > 0 && action->value == log;
        }
    return false;
}

void shoal_model_endings(shoal_context *context, const shoal_options *options, shoal_endings *endings)
{
    endings->n = 0;
    for (int i = 0; i < options->n_monitors && endings->n < SHOAL_MAX_MONITORS; i++) {
        const shoal_plug_options *of = &options->monitors[i];
        shoal_setting *settings = endings->setting[endings->n];
        bool ends = strncmp(of->name, "stop_on_", 8) == 0 && of->n_settings <= SHOAL_MAX_PARAMETERS;
        for (int k = 0; k < of->n_settings && ends; k++) {
            settings[k] = of->settings[k];
            if (strcmp(settings[k].name, "action") != 0)
                continue;
            ends = !only_logs(context, of, &settings[k]);
            settings[k].value = 0;
            settings[k].choice = NULL;
        }
        if (ends)
            endings->monitor[endings->n++] = (shoal_plug_options){of->name, settings, of->n_settings};
    }
}

/* From so many on a thread has one on a GPU, however large its state: finding conjunctions keeps a team waiting (H200:
 * one and a half to two times as fast with four and eight bodies). */
enum { MANY_WALKERS = 16384 };

static shoal_status make_plan(shoal_model *model)
{
    shoal_options options = model->study->options;
    const bool any_model = !options.gpu_bodies && (!options.work_model || strcmp(options.work_model, "auto") == 0);
    if (any_model && model->n_walkers >= MANY_WALKERS)
        options.work_model = "system";
    shoal_endings endings;
    shoal_model_endings(model->context, &model->study->options, &endings);
    options.n_monitors = model->walk.keplerian ? 0 : endings.n;
    options.monitors = endings.monitor;
    options.orbits = 0;
    options.t_end = model->walk.epoch;
    for (int leg = 0; leg < SHOAL_LEGS; leg++) {
        const shoal_sights *of = &model->walk.leg[leg];
        const double last = of->n_times > 0 ? of->times[of->n_times - 1] : options.t_end;
        if (fabs(last - model->walk.epoch) > fabs(options.t_end - model->walk.epoch))
            options.t_end = last;
    }
    return shoal_model_plan(model->study, model->n_walkers, &options, &model->ensemble, &model->plan);
}

/* What monitors of a walker begin with. */
static shoal_status make_watch(shoal_model *model)
{
    const shoal_kernel_args *args = &model->plan->args;
    model->watch = malloc(((size_t)args->n_watch + 1) * sizeof *model->watch);
    if (!model->watch)
        return out_of_memory(model);
    for (int slot = 0; slot < args->n_watch; slot++)
        model->watch[slot] = args->watch[SHOAL_AT(0, slot, args->n_watch)];
    model->walk.n_watch = args->n_watch;
    model->walk.watch = model->watch;
    return SHOAL_OK;
}

static shoal_status make_walk(shoal_model *model)
{
    const shoal_study_walkers *walkers = &model->study->walkers;
    shoal_walk *walk = &model->walk;
    walk->n_parameters = walkers->n_parameters;
    walk->n_bodies = walkers->n_bodies;
    walk->frame = (int)walkers->frame;
    walk->epoch = model->study->t_start;
    walk->bodies = walkers->bodies;
    for (int p = 0; p < walkers->n_parameters; p++)
        if (walkers->parameters[p].drawn)
            return shoal_fail(model->context, SHOAL_E_INPUT,
                              "%s: %s comes from sample.file: expected a distribution, its prior", model->study->path,
                              walkers->parameters[p].name);
    const shoal_config *config = &model->study->config;
    const config_setting_t *said = shoal_config_lookup(config, "likelihood");
    walk->keplerian = shoal_config_number(config, said, "likelihood", "motion") == 1;
    walk->stability = (int)shoal_config_number(config, said, "likelihood", "stability");
    if (model->study->options.steps_per_orbit > 0 && /* of which system? ln L would depend on the draws of `sample` */
        (!walk->keplerian || walk->stability == SHOAL_STABLE_MEGNO))
        return shoal_config_fail(&model->study->config, shoal_config_lookup(&model->study->config, "integrator"),
                                 "steps_per_orbit", NULL, "dt for a likelihood, the same step for all parameters");
    shoal_status status = shoal_data_read(model->study, &model->data);
    if (status)
        return status;
    status = set_parameters(model);
    if (status)
        return status;
    if (walk->keplerian && model->data.n_conjunctions > 0)
        return shoal_config_fail(config, config_setting_get_member(said, "motion"), NULL, NULL,
                                 "\"integrated\" motion for transits");
    walk->n_sets = model->data.n_sets;
    walk->n_data = model->data.n;
    walk->sets = model->data.set;
    walk->data = model->data.datum;
    walk->n_parts = model->data.n_parts;
    walk->parts = model->data.parts;
    walk->n_groups = model->data.n_groups;
    walk->groups = model->data.groups;
    walk->n_processes = model->data.n_processes;
    walk->processes = model->data.processes;
    walk->n_places = model->data.n_places;
    walk->places = model->data.places;
    walk->n_rotations = model->data.n_rotations;
    walk->rotations = model->data.rotations;
    walk->n_work = (int)model->data.n_work;
    for (int leg = 0; leg < SHOAL_LEGS && !status; leg++)
        status = make_leg(model, leg);
    if (!status)
        status = make_plan(model);
    if (!status)
        status = make_sights(model);
    if (status)
        return status;
    const shoal_plan *plan = model->plan;
    if (plan->eases.n >
        0) /* its elements are about less than the star's mass (core/walker/bodies.kern.h knows no force) */
        return shoal_fail(model->context, SHOAL_E_UNSUPPORTED, "%s: expected no radiation in a likelihood",
                          model->study->path);
    walk->step = fabs(*shoal_plan_field(plan, SHOAL_SYS_DT, 0));
    walk->fixed = !plan->propagator->adaptive;
    status = make_watch(model);
    if (status)
        return status;
    const char *comma = strchr(shoal_plan_line(plan), ',');
    if (walk->keplerian)
        snprintf(model->line, sizeof model->line, "ellipses%s", comma ? comma : "");
    else
        snprintf(model->line, sizeof model->line, "%s", shoal_plan_line(plan));
    for (int leg = 0; leg < SHOAL_LEGS; leg++) {
        const shoal_sights *of = &walk->leg[leg];
        const double span = of->n_times > 0 ? fabs(of->times[of->n_times - 1] - walk->epoch) : 0;
        walk->end[leg] = plan->propagator->adaptive ? span : floor(span / walk->step) + 1;
    }
    status = plan->engine_type->walk_with(plan->engine, walk);
    return status ? status : shoal_trial_create(model->study, walk, model->n_walkers, &model->trial);
}

shoal_status shoal_model_create(const shoal_study *study, long n_walkers, shoal_model **model)
{
    if (!study || !model)
        return SHOAL_E_USAGE;
    *model = NULL;
    shoal_context *context = study->context;
    shoal_status status = shoal_check_range(context, __func__, "n_walkers", n_walkers, (long[2]){1, INT_MAX / 2});
    if (status)
        return status;
    if (study->walkers.n_bodies == 0)
        return shoal_fail(context, SHOAL_E_INPUT, "%s: expected `data`, for a likelihood", study->path);
    shoal_model *made = calloc(1, sizeof *made);
    if (!made)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    made->context = context;
    made->study = study;
    made->n_walkers = n_walkers;
    made->list = malloc((size_t)n_walkers * sizeof *made->list);
    status = made->list ? SHOAL_OK : out_of_memory(made);
    for (long s = 0; s < n_walkers && !status; s++)
        made->list[s] = (int)s;
    if (!status) {
        void *numbers = shoal_numbers_begin();
        status = make_walk(made);
        shoal_numbers_end(numbers);
    }
    if (!status && made->plan && made->plan->engine_type == &shoal_engine_cuda && made->plan->any_engine)
        status = shoal_beside_create(study, n_walkers, &made->beside);
    if (made->beside)
        snprintf(made->line + strlen(made->line), sizeof made->line - strlen(made->line), ", the CPU beside it");
    if (status)
        shoal_model_destroy(&made);
    else
        *model = made;
    return status;
}

void shoal_model_destroy(shoal_model **model)
{
    if (!model || !*model)
        return;
    shoal_model *old = *model;
    shoal_beside_destroy(&old->beside);
    shoal_trial_destroy(&old->trial);
    shoal_plan_destroy(&old->plan);
    shoal_ensemble_destroy(&old->ensemble);
    shoal_data_release(&old->data);
    for (int leg = 0; leg < SHOAL_LEGS; leg++) {
        free(old->times[leg]);
        free(old->walk.leg[leg].seen);
    }
    free(old->met);
    free(old->work);
    free(old->lnl);
    free(old->watch);
    free(old->own);
    free(old->what);
    free(old->list);
    free(old);
    *model = NULL;
}

const char *shoal_model_plan_line(const shoal_model *model)
{
    return model ? model->line : "";
}

const shoal_data *shoal_model_data(const shoal_model *model)
{
    return &model->data;
}

shoal_status shoal_model_own(shoal_model *model, int n)
{
    const size_t n_data = (size_t)model->data.n;
    double *own = malloc((size_t)n * n_data * sizeof *own + 1);
    if (!own)
        return out_of_memory(model);
    for (size_t i = 0; i < (size_t)n * n_data; i++)
        own[i] = model->data.datum[i % n_data].value;
    free(model->own);
    model->walk.own = model->own = own;
    model->walk.n_own = n;
    model->walk.n_parameters = shoal_model_n_parameters(model) + 1;
    model->own_changed = true;
    return model->beside ? shoal_model_own(shoal_beside_model(model->beside), n) : SHOAL_OK;
}

void shoal_model_set_own(shoal_model *model, int row, const double *values)
{
    const size_t n_data = (size_t)model->data.n;
    memcpy(model->own + (size_t)row * n_data, values, n_data * sizeof *values);
    model->own_changed = true;
    if (model->beside)
        shoal_model_set_own(shoal_beside_model(model->beside), row, values);
}

shoal_context *shoal_model_context(const shoal_model *model)
{
    return model->context;
}

const shoal_study *shoal_model_study(const shoal_model *model)
{
    return model->study;
}

long shoal_model_n_walkers(const shoal_model *model)
{
    return model->n_walkers;
}

long shoal_model_n_hosted(const shoal_model *model)
{
    return shoal_beside_taken(model->beside);
}

const shoal_sample *shoal_model_prior(const shoal_model *model, int parameter)
{
    return &model->study->walkers.parameters[parameter].prior;
}

int shoal_model_n_parameters(const shoal_model *model)
{
    return model ? model->study->walkers.n_parameters : 0;
}

long shoal_model_n_data(const shoal_model *model)
{
    return model ? model->data.n : 0;
}

const char *shoal_model_parameter(const shoal_model *model, int i)
{
    return model && i >= 0 && i < shoal_model_n_parameters(model) ? model->study->walkers.parameters[i].name : NULL;
}

/* Take walkers to ln L, and if asked to what the model says of the data, on the model's own engine. */
static shoal_status walk_here(shoal_vectors *batch)
{
    shoal_model *model = batch->model;
    const shoal_engine_type *type = model->plan->engine_type;
    const long n = batch->n;
    shoal_status status = SHOAL_OK;
    if (model->own_changed)
        status = type->walk_with(model->plan->engine, &model->walk);
    if (!status && model->own_changed)
        status = shoal_trial_parameters(model->trial, model->walk.n_parameters);
    model->own_changed = model->own_changed && status;
    if (!status && !batch->lnl && !model->lnl && !(model->lnl = malloc((size_t)model->n_walkers * sizeof *model->lnl)))
        status = out_of_memory(model);
    for (long at = 0; at < n && !status; at += model->n_walkers) {
        const long some = n - at < model->n_walkers ? n - at : model->n_walkers;
        const double *theta = batch->theta + at * batch->n_parameters;
        double *lnl = batch->lnl ? batch->lnl + at : model->lnl;
        status = type->walk(model->plan->engine, model->list, some, theta, lnl,
                            batch->predicted ? batch->predicted + at * batch->n_data : NULL);
        if (batch->lnl && !status)
            status = shoal_trial_of(model->trial, model->list, some, theta, lnl);
    }
    return status;
}

/* The same, on all engines. on_device: the arrays are in a GPU's memory. */
static shoal_status walk(shoal_model *model, const char *function, long n, const double *theta, double *lnl,
                         double *predicted, bool on_device)
{
    shoal_vectors batch = {.walk = walk_here,
                           .model = model,
                           .n = n,
                           .n_parameters = model->walk.n_parameters,
                           .n_data = model->data.n,
                           .theta = theta,
                           .lnl = lnl,
                           .predicted = predicted};
    shoal_status status = shoal_check_range(model->context, function, "n", n, (long[2]){0, LONG_MAX});
    if (!status && n > 0 && model->walk.n_parameters > 0)
        status = shoal_check_given(model->context, function, "theta", theta);
    if (status)
        return status;
    return model->beside && !on_device ? shoal_beside_walk(model->beside, &batch) : walk_here(&batch);
}

shoal_status shoal_model_evaluate(shoal_model *model, long n, const double *theta, double *lnl)
{
    if (!model)
        return SHOAL_E_USAGE;
    const shoal_status status = n > 0 ? shoal_check_given(model->context, __func__, "lnl", lnl) : SHOAL_OK;
    return status ? status : walk(model, __func__, n, theta, lnl, NULL, false);
}

shoal_status shoal_model_evaluate_device(shoal_model *model, long n, const double *theta, double *lnl, int device,
                                         void *stream)
{
    if (!model)
        return SHOAL_E_USAGE;
    if (model->plan->engine_type != &shoal_engine_cuda)
        return shoal_fail(model->context, SHOAL_E_UNSUPPORTED,
                          "%s: %s computes on the CPU: expected run.engine = \"cuda\"", __func__, model->study->path);
    shoal_status status = n > 0 ? shoal_check_given(model->context, __func__, "lnl", lnl) : SHOAL_OK;
    if (!status && n > 0)
        status = shoal_engine_gpu_finish(model->context, device, stream);
    return status ? status : walk(model, __func__, n, theta, lnl, NULL, true);
}

shoal_status shoal_model_predict(shoal_model *model, long n, const double *theta, double *predicted)
{
    if (!model)
        return SHOAL_E_USAGE;
    const shoal_status status = n > 0 ? shoal_check_given(model->context, __func__, "predicted", predicted) : SHOAL_OK;
    return status ? status : walk(model, __func__, n, theta, NULL, predicted, false);
}

/* Whether the priors have a number of a body on both sides of a value, but for a thousandth at either end. */
static bool has_both_sides(const shoal_model *model, const shoal_walker_body *body, int key, double value)
{
    const shoal_walker_number *number = &body->number[key];
    const int k = shoal_model_n_parameters(model), p = number->from;
    if (!(body->given & 1ull << key) || p < 0)
        return false;
    double cube[2 * k], theta[2 * k];
    for (int i = 0; i < 2 * k; i++)
        cube[i] = 0.5;
    cube[p] = 1e-3;
    cube[k + p] = 1 - 1e-3;
    return !shoal_model_prior_transform(model, 2, cube, theta) &&
           (number->factor * theta[p] + number->value < value) !=
               (number->factor * theta[k + p] + number->value < value);
}

const char *shoal_model_jumps(const shoal_model *model)
{
#define BIT(name) (1ull << SHOAL_BODY_##name)
    const unsigned long long longitudes = BIT(pomega) | BIT(l) | BIT(theta) | BIT(h) | BIT(k) | BIT(delta_pomega) |
                                          BIT(delta_l);
#undef BIT
    for (int i = 0; model && i < model->study->walkers.n_bodies; i++) {
        const shoal_walker_body *body = &model->study->walkers.bodies[i];
        if ((body->given & longitudes) &&
            (has_both_sides(model, body, SHOAL_BODY_inc, M_PI / 2) || has_both_sides(model, body, SHOAL_BODY_cosi, 0) ||
             has_both_sides(model, body, SHOAL_BODY_b, 0)))
            return model->study->body_name[i];
    }
    return NULL;
}

/* What each of n vectors asks of the priors. */
static shoal_status check_priors(const shoal_model *model, const char *function, long n, const double *in, double *out)
{
    if (!model)
        return SHOAL_E_USAGE;
    shoal_status status = shoal_check_range(model->context, function, "n", n, (long[2]){0, LONG_MAX});
    if (!status && n > 0 && shoal_model_n_parameters(model) > 0)
        status = shoal_check_given(model->context, function, "the vectors", in);
    return status || n == 0 ? status : shoal_check_given(model->context, function, "the answer", out);
}

shoal_status shoal_model_log_prior(const shoal_model *model, long n, const double *theta, double *lnp)
{
    const shoal_status status = check_priors(model, __func__, n, theta, lnp);
    const int k = shoal_model_n_parameters(model);
    for (long i = 0; i < n && !status; i++) {
        lnp[i] = 0;
        for (int p = 0; p < k; p++)
            lnp[i] += shoal_sample_log_density(&model->study->walkers.parameters[p].prior, theta + i * k, p);
    }
    return status;
}

shoal_status shoal_model_prior_transform(const shoal_model *model, long n, const double *cube, double *theta)
{
    const shoal_status status = check_priors(model, __func__, n, cube, theta);
    const int k = shoal_model_n_parameters(model);
    for (long i = 0; i < n && !status; i++)
        for (int p = 0; p < k; p++)
            theta[i * k + p] = isnan(cube[i * k + p])
                                   ? NAN
                                   : shoal_sample_quantile(&model->study->walkers.parameters[p].prior, cube + i * k, p);
    return status;
}
