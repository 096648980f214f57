/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * certify.c: is the step short enough for what a study asks? After the run a part of its systems is integrated three
 * more times (run.certify), each time by the same machinery with one thing changed:
 *
 *     shadow   body 1 begins 1e-11 farther from body 0, relatively: what chaos alone decides
 *     half     half the step; of an adaptive propagator its tolerance is divided, as `tolerances` says
 *     other    another propagator, with its default settings
 *
 * The ends of all go to the log `certify` of the run's result; core/report/certify.c says what they mean. A system is
 * drawn by the seed and its id, so neither shards nor threads change which ones are.
 *
 * Each of the three runs has a result file OUTPUT.NAME and a journal of it as long as the study runs, so a kill costs
 * no more than in any run. They are removed after the study's own result is written.
 */
#define _GNU_SOURCE 1
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/study/study.h"

#define DISPLACEMENT 1e-11

struct shoal_certify {
    double fraction;
    int64_t seed;
    long n; /* drawn systems, as they begin, in their order */
    shoal_system *system;
    shoal_body *bodies; /* [n][n_bodies of the study] */
    char changed[SHOAL_CERTIFY_RUNS][80];
    shoal_options options[SHOAL_CERTIFY_RUNS];
    shoal_halved half;
};

/* ---- what the three runs are ------------------------------------------------------------------------------------- */

/* A member of a group, or the group that lacks it. */
static const config_setting_t *place_of(const config_setting_t *group, const char *name)
{
    const config_setting_t *member = config_setting_get_member(group, name);
    return member ? member : group;
}

static shoal_status halve_step(const shoal_config *config, const shoal_study *study, shoal_certify *certify)
{
    const config_setting_t *integrator = shoal_config_lookup(config, "integrator");
    shoal_halved *half = &certify->half;
    if (shoal_options_halve(shoal_propagator_find(config->context, study->options.propagator), &study->options, half)) {
        certify->options[SHOAL_CERTIFY_HALF] = half->options;
        snprintf(certify->changed[SHOAL_CERTIFY_HALF], sizeof certify->changed[0], "%s", half->changed);
        return SHOAL_OK;
    }
    if (half->at_least > 0)
        return shoal_config_fail(config, place_of(integrator, half->what), NULL, NULL,
                                 "at least %g, of which run.certify takes a part in %g", half->at_least, half->by);
    return shoal_config_fail(config, place_of(integrator, half->what), NULL, NULL,
                             "a propagator with fixed steps or one of epsilon, tolerance, eta, tau: run.certify halves "
                             "steps by them");
}

static shoal_status choose_other(const shoal_config *config, const shoal_study *study, shoal_certify *certify)
{
    const shoal_propagator *own = shoal_propagator_find(config->context, study->options.propagator);
    const config_setting_t *group = shoal_config_lookup(config, "run.certify"),
                           *setting = config_setting_get_member(group, "propagator");
    const bool radau = strncmp(own->name, "gauss_radau", 11) == 0;
    const char *name = shoal_config_string(group, "propagator", radau ? "bulirsch_stoer" : "gauss_radau");
    const shoal_propagator *other = shoal_propagator_find(config->context, name);
    if (!other || other == own)
        return shoal_config_fail(config, setting, NULL, NULL, "another propagator than %s (`shoal list`)", own->name);
    shoal_options *options = &certify->options[SHOAL_CERTIFY_OTHER];
    options->propagator = name;
    options->n_settings = 0;
    options->dt_min = options->dt_max = options->max_steps = 0;
    options->work_model = NULL; /* a GPU's choices were for the study's propagator */
    options->gpu_block = options->gpu_registers = options->gpu_bodies = 0;
    snprintf(certify->changed[SHOAL_CERTIFY_OTHER], sizeof certify->changed[0], "%s", other->name);
    return SHOAL_OK;
}

/* ---- which systems ----------------------------------------------------------------------------------------------- */

static shoal_status out_of_memory(const shoal_study *study)
{
    return shoal_fail(study->context, SHOAL_E_MEMORY, "%s: out of memory for run.certify", study->path);
}

/* Make room for one more system than there are. */
static shoal_status reserve(const shoal_study *study, shoal_certify *certify)
{
    const size_t n_bodies = (size_t)study->ensemble->n_bodies;
    const size_t capacity = shoal_result_capacity((size_t)certify->n + 1);
    if (certify->n > 0 && capacity == shoal_result_capacity((size_t)certify->n))
        return SHOAL_OK;
    shoal_system *system = realloc(certify->system, capacity * sizeof *system);
    certify->system = system ? system : certify->system;
    shoal_body *bodies = realloc(certify->bodies, capacity * n_bodies * sizeof *bodies);
    certify->bodies = bodies ? bodies : certify->bodies;
    return system && bodies ? SHOAL_OK : out_of_memory(study);
}

/* Whether a system is one of them. No other random number has the index -1. */
static bool draws(const shoal_certify *certify, int64_t id)
{
    static const shoal_sample uniform = {.distribution = SHOAL_DISTRIBUTION_uniform,
                                         .parameter = {[SHOAL_SAMPLE_from] = 0, [SHOAL_SAMPLE_to] = 1}};
    return shoal_sample_draw(&uniform, certify->seed, id, -1) < certify->fraction;
}

shoal_status shoal_certify_draw(shoal_study *study)
{
    shoal_certify *certify = study->certify;
    const shoal_ensemble *ensemble = study->ensemble;
    shoal_status status = SHOAL_OK;
    for (long s = 0; certify && s < ensemble->n_systems && !status; s++) {
        if (shoal_ensemble_is_invalid(ensemble, s) || !draws(certify, ensemble->id[s]))
            continue;
        status = reserve(study, certify);
        if (!status)
            status = shoal_ensemble_get_system(ensemble, s, &certify->system[certify->n]);
        if (!status)
            status = shoal_ensemble_get_bodies(ensemble, s, &certify->bodies[certify->n * ensemble->n_bodies]);
        if (!status)
            certify->system[certify->n++].dt = 0; /* the options say it */
    }
    return status;
}

/* The systems of one of the runs. */
static shoal_status make_systems(const shoal_study *study, int which, shoal_ensemble **made)
{
    const shoal_certify *certify = study->certify;
    const int n_bodies = study->ensemble->n_bodies;
    shoal_status status = shoal_ensemble_create(study->context, certify->n, n_bodies, made);
    for (long k = 0; k < certify->n && !status; k++) {
        const int n_live = certify->system[k].n_live;
        shoal_body bodies[n_bodies];
        memcpy(bodies, &certify->bodies[k * n_bodies], (size_t)n_live * sizeof *bodies);
        if (which == SHOAL_CERTIFY_SHADOW) {
            bodies[1].x += DISPLACEMENT * (bodies[1].x - bodies[0].x);
            bodies[1].y += DISPLACEMENT * (bodies[1].y - bodies[0].y);
            bodies[1].z += DISPLACEMENT * (bodies[1].z - bodies[0].z);
        }
        status = shoal_ensemble_set_bodies(*made, k, n_live, bodies);
        if (!status)
            status = shoal_ensemble_set_system(*made, k, &certify->system[k]);
    }
    return status;
}

shoal_status shoal_certify_check(const shoal_config *config, const shoal_study *study)
{
    const shoal_certify *certify = study->certify;
    for (int k = SHOAL_CERTIFY_HALF; certify && certify->n > 0 && k < SHOAL_CERTIFY_RUNS; k++) {
        shoal_ensemble *systems;
        shoal_findings findings = {.maker = study->findings.maker};
        shoal_status status = make_systems(study, k, &systems);
        if (!status)
            status = shoal_plan_check(config->context, systems, &certify->options[k], &findings);
        shoal_ensemble_destroy(&systems);
        if (status == SHOAL_E_MEMORY)
            return status;
        if (status) {
            char why[SHOAL_MESSAGE_SIZE];
            snprintf(why, sizeof why, "%s", shoal_context_message(config->context));
            return shoal_config_fail(config, shoal_config_lookup(config, "run.certify"), NULL, NULL,
                                     "systems that can be integrated with %s, too: %.600s", certify->changed[k], why);
        }
    }
    return SHOAL_OK;
}

shoal_status shoal_certify_read(const shoal_config *config, shoal_study *study)
{
    const config_setting_t *group = shoal_config_lookup(config, "run.certify");
    if (!group || !isnan(study->system)) /* one system again is for a look at it */
        return SHOAL_OK;
    if (shoal_config_lookup(config, "data"))
        return shoal_config_fail(config, group, NULL, NULL, "no certify with data: a likelihood has no classes");
    shoal_certify *certify = study->certify = calloc(1, sizeof *certify);
    if (!certify)
        return out_of_memory(study);
    certify->fraction = shoal_config_number(config, group, "run.certify", "fraction");
    certify->seed = (int64_t)shoal_config_number(config, group, "run.certify", "seed");
    for (int k = 0; k < SHOAL_CERTIFY_RUNS; k++)
        certify->options[k] = study->options;
    snprintf(certify->changed[SHOAL_CERTIFY_SHADOW], sizeof certify->changed[0], "%.40s moved by %g",
             study->body_name[1], DISPLACEMENT);
    const shoal_status status = halve_step(config, study, certify);
    return status ? status : choose_other(config, study, certify);
}

void shoal_certify_destroy(shoal_certify **certify)
{
    if (!*certify)
        return;
    free((*certify)->system);
    free((*certify)->bodies);
    free(*certify);
    *certify = NULL;
}

/* ---- the three runs ---------------------------------------------------------------------------------------------- */

static void path_of(const shoal_study *study, int which, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s.%s", study->output, shoal_certify_names[which]);
}

void shoal_certify_clean(const shoal_study *study)
{
    for (int k = 0; k < SHOAL_CERTIFY_RUNS && study->certify; k++) {
        char path[PATH_MAX];
        path_of(study, k, path);
        unlink(path);
    }
}

/* The caller's callback, told which of the three runs it is. */
typedef struct caller {
    shoal_progress_callback callback;
    void *user;
    int which;
} caller;

static int call_back(const shoal_progress *progress, void *user)
{
    const caller *to = user;
    shoal_progress told = *progress;
    told.certifying = to->which + 1;
    return to->callback ? to->callback(&told, to->user) : 0;
}

/* The complete result of one of the runs, from its file; NULL: there is none of this study. */
static shoal_result *take(const shoal_study *study, const char *path)
{
    const shoal_certify *certify = study->certify;
    shoal_result *result = NULL;
    if (access(path, F_OK) != 0 || shoal_store_read(study->context, path, &result))
        return NULL;
    bool good = result->complete && strcmp(result->version, shoal_version()) == 0 &&
                shoal_config_same(result->config_text, study->config_text) && result->n_systems == certify->n;
    for (long k = 0; good && k < certify->n; k++)
        good = result->id[k] == certify->system[k].id;
    if (!good)
        shoal_result_destroy(&result);
    return result;
}

/* One of the runs, or what is there of it. */
static shoal_status run_again(const shoal_study *study, caller *to, shoal_result **result)
{
    const shoal_certify *certify = study->certify;
    char path[PATH_MAX];
    path_of(study, to->which, path);
    *result = take(study, path);
    if (*result)
        return SHOAL_OK;
    shoal_study again = {
        .context = study->context,
        .path = study->path,
        .config_text = study->config_text,
        .config = study->config,
        .units = study->units,
        .angle = study->angle,
        .angle_name = study->angle_name,
        .options = certify->options[to->which],
        .t_start = study->t_start,
        .stride = 1,
        .system = NAN,
        .slice_steps = study->slice_steps,
        .wave = study->wave,
        .seed = study->seed,
        .checkpoint_s = study->checkpoint_s,
        .output = path,
        .body_name = study->body_name,
    };
    shoal_status status = make_systems(study, to->which, &again.ensemble);
    if (!status)
        status = shoal_ensemble_run(&again, true, call_back, to);
    shoal_ensemble_destroy(&again.ensemble);
    return status ? status : shoal_store_read(study->context, path, result);
}

/* ---- what they leave --------------------------------------------------------------------------------------------- */

/* Columns of the log: the numbers of the study's run, those of each of the three, then the energy errors of the four
 * and their megno, if the study has that monitor. */
enum { SYSTEM, TIME, OUTCOME, N_FINAL, AGAIN, NUMBERS = 3 };
enum { ERRORS = AGAIN + NUMBERS * SHOAL_CERTIFY_RUNS, MEGNO = ERRORS + 1 + SHOAL_CERTIFY_RUNS };

static void describe(shoal_column *column, const char *name, const char *of, const char *unit, const char *doc,
                     const char *more)
{
    snprintf(column->name, sizeof column->name, "%s%s%s", name, *of ? "_" : "", of);
    snprintf(column->unit, sizeof column->unit, "%s", unit);
    snprintf(column->doc, sizeof column->doc, "%s%s", doc, more);
}

/* The monitor's column of a result; NULL: there is none. */
static const double *megno_of(const shoal_result *result)
{
    for (int c = result->n_swept; c < result->n_columns; c++)
        if (strcmp(result->columns[c].name, "megno") == 0)
            return result->columns[c].value;
    return NULL;
}

/* A column of all four runs. */
static void describe_four(const shoal_certify *certify, shoal_column *columns, const char *name, const char *doc)
{
    char again[SHOAL_COLUMN_SIZE];
    describe(&columns[0], name, "", "", doc, "");
    snprintf(again, sizeof again, "%s with ", doc);
    for (int k = 0; k < SHOAL_CERTIFY_RUNS; k++)
        describe(&columns[1 + k], name, shoal_certify_names[k], "", again, certify->changed[k]);
}

static shoal_status create_log(const shoal_study *study, shoal_result *result, shoal_log **log)
{
    const bool has_megno = megno_of(result) != NULL;
    shoal_status status = shoal_result_add_log(study->context, result, SHOAL_CERTIFY_LOG,
                                               has_megno ? MEGNO + 1 + SHOAL_CERTIFY_RUNS : MEGNO, log);
    if (!status)
        status = shoal_log_reserve(study->context, *log, study->certify->n);
    if (status)
        return status;
    shoal_column *columns = (*log)->columns;
    describe(&columns[OUTCOME], "outcome", "", SHOAL_UNIT_OUTCOME, "how it ended", "");
    describe(&columns[N_FINAL], "n_final", "", "", "bodies left at the end", "");
    for (int k = 0; k < SHOAL_CERTIFY_RUNS; k++) {
        shoal_column *at = &columns[AGAIN + NUMBERS * k];
        const char *changed = study->certify->changed[k];
        describe(&at[0], "outcome", shoal_certify_names[k], SHOAL_UNIT_OUTCOME, SHOAL_CERTIFY_DOC, changed);
        describe(&at[1], "n_final", shoal_certify_names[k], "", "bodies left at the end with ", changed);
        describe(&at[2], "t_stop", shoal_certify_names[k], result->units.time_name, "when it ended with ", changed);
    }
    describe_four(study->certify, &columns[ERRORS], "dE_final", "energy error at the end");
    if (has_megno)
        describe_four(study->certify, &columns[MEGNO], "megno", "MEGNO at the end");
    return SHOAL_OK;
}

/* The ends of the drawn systems. */
static void fill_log(const shoal_certify *certify, const shoal_result *own,
                     shoal_result *const again[SHOAL_CERTIFY_RUNS], shoal_log *log)
{
    const double *megno = megno_of(own);
    for (long s = 0; s < own->n_systems && log->n_rows < certify->n; s++) {
        const long row = log->n_rows;
        if (own->id[s] != certify->system[row].id)
            continue;
        log->columns[SYSTEM].value[row] = (double)s;
        log->columns[TIME].value[row] = own->t_stop[s];
        log->columns[OUTCOME].value[row] = own->outcome[s];
        log->columns[N_FINAL].value[row] = own->n_final[s];
        log->columns[ERRORS].value[row] = own->dE_final[s];
        if (megno)
            log->columns[MEGNO].value[row] = megno[s];
        for (int r = 0; r < SHOAL_CERTIFY_RUNS; r++) {
            const shoal_column *to = &log->columns[AGAIN + NUMBERS * r];
            /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): where systems are drawn, all three have run */
            to[0].value[row] = again[r]->outcome[row];
            to[1].value[row] = again[r]->n_final[row];
            to[2].value[row] = again[r]->t_stop[row];
            log->columns[ERRORS + 1 + r].value[row] = again[r]->dE_final[row];
            if (megno)
                log->columns[MEGNO + 1 + r].value[row] = megno_of(again[r])[row];
        }
        log->n_rows++;
    }
}

/* Leave out drawn systems that the run did not have, or found impossible. Its rows are in their order. */
static void leave_out(shoal_certify *certify, const shoal_result *own)
{
    const size_t n_bodies = (size_t)own->n_bodies;
    size_t n = 0, k = 0;
    for (long s = 0; s < own->n_systems; s++) {
        if (own->outcome[s] == SHOAL_INVALID || !draws(certify, own->id[s]))
            continue;
        while (k < (size_t)certify->n && certify->system[k].id != own->id[s])
            k++;
        if (k == (size_t)certify->n)
            break;
        certify->system[n] = certify->system[k];
        memmove(&certify->bodies[n * n_bodies], &certify->bodies[k * n_bodies], n_bodies * sizeof(shoal_body));
        n++;
        k++;
    }
    certify->n = (long)n;
}

shoal_status shoal_certify_run(shoal_study *study, shoal_result *result, shoal_progress_callback callback, void *user)
{
    shoal_certify *certify = study->certify;
    shoal_result *again[SHOAL_CERTIFY_RUNS] = {NULL};
    shoal_log *log;
    shoal_status status = SHOAL_OK;
    caller to = {callback, user, 0};
    leave_out(certify, result);
    for (; to.which < SHOAL_CERTIFY_RUNS && certify->n > 0 && !status; to.which++)
        status = run_again(study, &to, &again[to.which]);
    if (!status)
        status = create_log(study, result, &log);
    if (!status)
        fill_log(certify, result, again, log);
    for (int k = 0; k < SHOAL_CERTIFY_RUNS; k++)
        shoal_result_destroy(&again[k]);
    return status;
}

bool shoal_certify_is_due(const shoal_result *result)
{
    config_t config;
    if (result->complete || shoal_result_log(result, SHOAL_CERTIFY_LOG))
        return false;
    shoal_config_recall(&config, result->config_text);
    const bool due = config_lookup(&config, "run.certify");
    config_destroy(&config);
    return due;
}
