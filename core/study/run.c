/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * run.c: runs a study from its systems to its result file, and goes on where a killed run left off.
 *
 *     result (header) -> journal -> [ wave: plan, initial states -> [ slice | rows of the slice before -> journal ]* ]*
 *     -> HDF5
 *
 * The systems come in waves: those of a wave have a plan, and when all of them have ended, the plan goes and so does
 * what the study's ensemble has of them. So there is either a system's beginning in memory or what has become of it. No
 * result depends on the waves.
 *
 * Every system has its own next output time and goes on from there at once: none waits for another. A row is final once
 * it is in the result; those of a slice, of systems that ended in it or came to an output time, are made while the next
 * slice runs. The journal beside the output holds all rows in the order in which they came and, now and then, a
 * checkpoint: the plan's state after a slice and the number of output times that each system has passed. A restart
 * loads the last checkpoint; since a step does not know in which slice, or in which process, it is done, the result has
 * the same bits as that of a run in one piece.
 *
 * Inside, everything is barycentric and in inner units; rows are in the user's units and in the inertial frame of the
 * input, the barycentre's motion added back.
 *
 * Memory: rows of snapshots, events and logs are in the result only until the journal has them. The file's are read
 * from there, a part at a time (core/result/rows.c). Each other array of the result goes as soon as the file has it.
 */
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/study/study.h"
#include "core/config/config.h"
#include "core/result/rows.h"

#define UNFINISHED ".new" /* a journal that is being written anew */

#define COMMIT_S 0.5 /* wall time between flushes to the disk, which are slow */

#define MOST_KEPT 100000 /* systems whose last states are kept, unless the user says so */

#define WORTH_THREADS 4096 /* systems from which loops over them are shared among threads */

/* By default each wave after the first has a part of all systems, since it costs a plan; but at least so many. A GPU's
 * threads want more of them. */
#define WAVES          32
#define LEAST_WAVE     65536
#define LEAST_GPU_WAVE 262144

#define PIECE 65536 /* systems of a record in a journal that is written anew */

/* What a checkpoint in the journal begins with; the output times that each system of the wave has passed and the plan's
 * state follow. */
typedef struct checkpoint_head {
    int64_t n_snapshots; /* rows there were */
    int64_t first, n;    /* systems of the wave */
    double steps;        /* system-steps of the waves before it */
} checkpoint_head;

typedef struct study_run {
    shoal_study *study;
    shoal_context *context;
    shoal_plan *plan;
    /* the systems of the wave, which the plan moves; their first row in the result. Other indices of systems here are
     * those in the wave. */
    shoal_ensemble wave;
    long first;
    bool on_gpu; /* the wave before is, or was; the first one will be */
    shoal_result *result;
    long n_snapshots; /* rows of snapshots in the journal that are not in the result any more */
    shoal_journal *journal;
    char journal_path[PATH_MAX];
    bool overwrite;

    double *schedule; /* [n_schedule] output times strictly between start and end, in the order in which they are met */
    long n_schedule;
    int64_t *cursor;       /* [wave] of them that a system has passed */
    bool at_start, at_end; /* snapshots of the initial and of the surviving states are wanted */

    struct source {
        int monitor, column, part;
    } * source; /* [n_columns - n_swept] of the monitors' columns */
    /* [n_ended + n_due] those whose states the last slice calls for: they have ended in it, or are to be seen */
    int *asked;
    double *asked_time; /* when, in the plan's times */
    long n_ended, n_due;
    bool *due;        /* [wave] */
    char *checkpoint; /* [checkpoint_size] */
    size_t checkpoint_size;
    bool checkpoint_due; /* it is of the last slice and not in the journal yet */

    long n_by_outcome[SHOAL_OUTCOMES];
    double progress_total;                 /* of the wave's systems over the whole run, as shoal_plan_progress */
    double steps_done;                     /* system-steps of the waves before */
    double steps_before;                   /* of earlier processes */
    double fraction_before;                /* done by earlier processes */
    double began, committed, checkpointed; /* wall clock, s */
    long n_kept;                           /* of the systems at their end, in the journal */
    long n_taken;                          /* of the plan's events, in the result and the journal */
    long n_logged[SHOAL_MAX_MONITORS];     /* likewise of each log of the result */
    int log_of[SHOAL_MAX_MONITORS];        /* and whose it is: a monitor's number */
    shoal_progress_callback callback;
    void *user;
} study_run;

/* ---- units ------------------------------------------------------------------------------------------------------- */

/* A dimension's unit, in inner units. */
static double unit_size(const shoal_study *study, const char *dimension)
{
    return strcmp(dimension, "angle") == 0                ? study->angle
           : strcmp(dimension, SHOAL_DIMENSION_BODY) == 0 ? 1
                                                          : shoal_units_factor(&study->units, dimension);
}

/* The user's name of a dimension's unit. */
static void name_unit(const shoal_study *study, const char *dimension, shoal_column *column)
{
    char name[SHOAL_UNIT_SIZE];
    shoal_units_name(&study->units, dimension, name);
    snprintf(column->unit, sizeof column->unit, "%s",
             strcmp(dimension, "angle") == 0                ? study->angle_name
             : strcmp(dimension, SHOAL_DIMENSION_BODY) == 0 ? SHOAL_UNIT_BODY
                                                            : name);
}

/* ---- from the study to a plan ------------------------------------------------------------------------------------ */

static shoal_status create_plan(study_run *run)
{
    shoal_study *study = run->study;
    shoal_findings findings = {.maker = SHOAL_MAKER_CALLER};
    if (run->wave.n_systems < study->ensemble->n_systems)
        findings.maker = SHOAL_MAKER_PART;
    const shoal_status status = shoal_plan_try(run->context, &run->wave, &study->options, &findings, &run->plan);
    study->findings.fault = findings.fault;
    return status ? shoal_study_refused(study, status) : SHOAL_OK;
}

shoal_status shoal_study_tune(shoal_study *study, shoal_tuned *rows, int *n_rows, char *line, size_t line_size)
{
    study_run run = {.study = study, .context = study->context, .wave = *study->ensemble};
    *n_rows = 0;
    study->options.engine = "cuda";
    study->options.tune = "always";
    const shoal_status status = create_plan(&run);
    if (status == SHOAL_OK) {
        *n_rows = run.plan->n_tuned;
        memcpy(rows, run.plan->tuned, sizeof run.plan->tuned);
        snprintf(line, line_size, "%s", shoal_plan_line(run.plan));
    }
    shoal_plan_destroy(&run.plan);
    return status;
}

/* The output times: start + k interval and the list of times, merged; start and end become flags. Counted as the
 * plan's times. */
static shoal_status create_schedule(study_run *run)
{
    const shoal_study *study = run->study;
    double start, end;
    shoal_study_span(study, &start, &end);
    const double sign = end < start ? -1 : 1;
    const double span = fabs(end - start);
    const double tolerance = 1e-13 * fmax(fabs(start), fabs(end));
    const double n_interval = study->interval > 0 ? floor(span / study->interval) : 0;

    run->at_start = run->at_end = study->interval > 0;
    run->schedule = malloc(((size_t)n_interval + (size_t)study->n_times + 1) * sizeof *run->schedule);
    if (!run->schedule) {
        return shoal_fail(run->context, SHOAL_E_MEMORY, "out of memory for the output times");
    }
    double last = 0;
    for (long k = 1, i = 0; (double)k <= n_interval || i < study->n_times;) {
        const double regular = (double)k <= n_interval ? (double)k * study->interval : INFINITY;
        const double listed = i < study->n_times ? sign * (study->times[i] - start) : INFINITY;
        const double since = fmin(regular, listed);
        const double t = listed <= regular ? study->times[i++] : start + sign * regular;
        k += regular < listed;

        if (since <= tolerance) {
            run->at_start = true;
        } else if (since >= span - tolerance) {
            run->at_end = true;
        } else if (since - last > tolerance) {
            run->schedule[run->n_schedule++] = t;
            last = since;
        }
    }
    return SHOAL_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* A loop over n rows, shared among threads. */
static void share_rows(const study_run *run, long n, shoal_loop *loop, void *user)
{
    const int threads = run->plan ? run->plan->host_threads : shoal_threads_or_default(run->study->options.threads);
    shoal_share(run->context, threads, n, shoal_part(n, WORTH_THREADS), loop, user);
}

static int system_outcome(const study_run *run, long system)
{
    return (int)*shoal_ensemble_field(&run->wave, SHOAL_SYS_OUTCOME, system);
}

/* Coordinate q (x y z vx vy vz) of a body in the plan's snapshot array. */
static double snapshot_at(const shoal_plan *plan, long system, int body, int q)
{
    return plan->args.snapshot[SHOAL_AT(system, 6 * body + q, 6 * plan->ensemble->n_bodies)];
}

/* One body in the user's units. */
static void put_body(const shoal_units *units, double m, const double coordinate[6], double row[SHOAL_STATE])
{
    const double velocity = units->length / units->time;
    row[0] = m / units->mass;
    for (int q = 0; q < 3; ++q) {
        row[1 + q] = coordinate[q] / units->length;
        row[4 + q] = coordinate[3 + q] / velocity;
    }
}

/* The row of a system's initial state. */
static void put_initial(const shoal_study *study, const shoal_ensemble *ensemble, long system, double *row)
{
    shoal_body bodies[ensemble->n_bodies];
    const int n_live = (int)*shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, system);

    shoal_ensemble_get_bodies(ensemble, system, bodies);
    for (int b = 0; b < n_live; ++b) {
        const double coordinate[6] = {bodies[b].x, bodies[b].y, bodies[b].z, bodies[b].vx, bodies[b].vy, bodies[b].vz};
        put_body(&study->units, bodies[b].m, coordinate, row + b * SHOAL_STATE);
    }
}

/* The row of the state that the plan's snapshot array holds for time t; bodies that are not there are NaN. */
static void put_snapshot(const study_run *run, long system, double t, double *row)
{
    const shoal_ensemble *ensemble = &run->wave;
    const double *centre = ensemble->centre[system];
    const double elapsed = t - *shoal_ensemble_field(ensemble, SHOAL_SYS_T_START, system);

    for (int b = 0; b < ensemble->n_bodies; ++b) {
        double coordinate[6];
        for (int q = 0; q < 3; ++q) {
            coordinate[q] = snapshot_at(run->plan, system, b, q) + (centre[q] + centre[3 + q] * elapsed);
            coordinate[3 + q] = snapshot_at(run->plan, system, b, 3 + q) + centre[3 + q];
        }
        if (shoal_ensemble_is_there(ensemble, b, system)) {
            const double m = *shoal_ensemble_body(ensemble, b, SHOAL_M, system);
            put_body(&run->study->units, m, coordinate, row + b * SHOAL_STATE);
        } else {
            for (int q = 0; q < SHOAL_STATE; ++q) {
                row[b * SHOAL_STATE + q] = NAN;
            }
        }
    }
}

/* Energy of the state in the plan's snapshot array. */
static double snapshot_energy(const study_run *run, long system)
{
    const shoal_ensemble *ensemble = &run->wave;
    const int n_live = run->result->n_live[run->first + system];
    shoal_body bodies[ensemble->n_bodies];

    for (int i = 0; i < n_live; ++i) {
        bodies[i].m = *shoal_ensemble_body(ensemble, i, SHOAL_M, system);
        for (int q = 0; q < 6; ++q) {
            (&bodies[i].x)[q] = snapshot_at(run->plan, system, i, q);
        }
    }
    return shoal_bodies_energy(ensemble, n_live, bodies);
}

/* How far a system has come; its last state is in the plan's snapshot array. */
static void record_state(study_run *run, long system)
{
    const shoal_ensemble *ensemble = &run->wave;
    const long row = run->first + system;
    shoal_result *result = run->result;
    const double step = *shoal_ensemble_field(ensemble, SHOAL_SYS_STEP, system);
    const double t_last = system_outcome(run, system) == SHOAL_SURVIVED
                              ? shoal_plan_absolute_time(run->plan, system, run->plan->t_end)
                              : shoal_plan_time(run->plan, system);
    const double energy_start = ensemble->energy_start[system];

    result->n_steps[row] = floor(step);
    result->n_final[row] = shoal_ensemble_n_left(ensemble, system);
    result->t_final[row] = shoal_units_time(&run->study->units, t_last);
    result->dE_final[row] = (snapshot_energy(run, system) - ensemble->energy_jump[system] - energy_start) /
                            fabs(energy_start);
    put_snapshot(run, system, t_last, result->final + (size_t)row * (size_t)result->n_bodies * SHOAL_STATE);
}

/* The row of a system that has ended; its last state is in the plan's snapshot array. */
static void record_end(study_run *run, long system)
{
    const shoal_study *study = run->study;
    const shoal_ensemble *ensemble = &run->wave;
    const long row = run->first + system;
    shoal_result *result = run->result;
    const int outcome = system_outcome(run, system);
    const double t_stop = outcome == SHOAL_SURVIVED ? shoal_plan_absolute_time(run->plan, system, run->plan->t_end)
                                                    : *shoal_ensemble_field(ensemble, SHOAL_SYS_T_STOP, system);

    record_state(run, system);
    result->outcome[row] = outcome;
    result->t_stop[row] = shoal_units_time(&run->study->units, t_stop);
    result->body_a[row] = (int)*shoal_ensemble_field(ensemble, SHOAL_SYS_BODY_A, system);
    result->body_b[row] = (int)*shoal_ensemble_field(ensemble, SHOAL_SYS_BODY_B, system);
    for (int c = result->n_swept; c < result->n_columns; ++c) {
        const struct source *from = &run->source[c - result->n_swept];
        const char *dimension =
            shoal_plugs_of(study->context)->monitors[from->monitor]->columns[from->column].dimension;
        result->columns[c].value[row] = shoal_plan_column_value(run->plan, from->monitor, from->column, from->part,
                                                                system) /
                                        unit_size(study, dimension);
    }
}

/* A part of the study's systems that begins, and its first row. */
typedef struct begin_loop {
    study_run *run;
    const shoal_ensemble *part;
    long first;
} begin_loop;

static void put_begin_part(void *user, long from, long to)
{
    const begin_loop *loop = user;
    shoal_result *result = loop->run->result;
    const size_t state = (size_t)result->n_bodies * SHOAL_STATE;

    shoal_result_blank(result, loop->first + from, to - from);
    for (long system = from; system < to; ++system) {
        const long row = loop->first + system;
        if (result->outcome[row] == SHOAL_INVALID) {
            result->t_stop[row] = result->t_initial[row];
        } else {
            put_initial(loop->run->study, loop->part, system, result->initial + (size_t)row * state);
        }
    }
}

/* The rows of such a part. */
static void record_begin(study_run *run, const shoal_ensemble *part, long first)
{
    begin_loop loop = {run, part, first};
    share_rows(run, part->n_systems, put_begin_part, &loop);
}

/* Where the systems still running are, for the file that an interrupted run leaves; its journal does not need it. */
static shoal_status record_running(study_run *run)
{
    const shoal_plan *plan = run->plan;
    shoal_result *result = run->result;
    const size_t state = (size_t)result->n_bodies * SHOAL_STATE;
    const long next = run->first + run->wave.n_systems, left = result->n_systems - next;
    const shoal_status status = shoal_plan_snapshot(run->plan, NAN, plan->list, plan->n_list);

    for (long k = 0; k < plan->n_list && status == SHOAL_OK; ++k) {
        record_state(run, plan->list[k]);
    }
    if (status == SHOAL_OK && left > 0) {
        const shoal_ensemble rest = shoal_ensemble_part(run->study->ensemble, next, left);
        record_begin(run, &rest, next);
        memcpy(result->final + (size_t)next * state, result->initial + (size_t)next * state,
               (size_t)left * state * sizeof *result->final);
        memcpy(result->t_final + next, result->t_initial + next, (size_t)left * sizeof *result->t_final);
    }
    return status;
}

static void put_ends_part(void *user, long first, long last)
{
    study_run *run = user;
    for (long k = first; k < last; ++k) {
        record_end(run, run->asked[k]);
    }
}

/* The rows of systems that have ended: asked[0..n_ended-1]. */
static shoal_status put_ends(study_run *run)
{
    const shoal_status status = run->n_ended > 0 && run->result->n_columns > run->result->n_swept
                                    ? shoal_plan_fetch_watch(run->plan)
                                    : SHOAL_OK;
    if (status != SHOAL_OK) {
        return status;
    }
    share_rows(run, run->n_ended, put_ends_part, run);
    for (long k = 0; k < run->n_ended; ++k) {
        run->n_by_outcome[SHOAL_RUNNING]--;
        run->n_by_outcome[system_outcome(run, run->asked[k])]++;
    }
    return SHOAL_OK;
}

static void put_snapshots_part(void *user, long from, long to)
{
    study_run *run = user;
    shoal_result *result = run->result;
    const long first = result->n_snapshots;
    const int *system = run->asked + run->n_ended;
    const double *t = run->asked_time + run->n_ended;
    double last = NAN, time = NAN; /* most have the same */
    for (long k = from; k < to; ++k) {
        const double when = shoal_plan_absolute_time(run->plan, system[k], t[k]);
        if (!(when == last)) {
            time = shoal_units_time(&run->study->units, when);
            last = when;
        }
        result->snapshot_system[first + k] = run->first + system[k];
        result->snapshot_time[first + k] = time;
        put_snapshot(run, system[k], when,
                     result->snapshot + (size_t)(first + k) * (size_t)result->n_bodies * SHOAL_STATE);
    }
}

/* Snapshot rows of those that came to an output time: asked[n_ended..n_ended+n_due-1]. */
static shoal_status put_snapshots(study_run *run)
{
    shoal_result *result = run->result;
    shoal_status status = shoal_result_reserve(run->context, result, SHOAL_FIELD_SNAPSHOT,
                                               result->n_snapshots + run->n_due);
    if (status != SHOAL_OK) {
        return status;
    }
    share_rows(run, run->n_due, put_snapshots_part, run);
    result->n_snapshots += run->n_due;
    return SHOAL_OK;
}

/* Snapshot rows copied from rows that are there, from first to end - 1: the initial states, or the final states of the
 * survivors. */
static shoal_status copy_snapshots(study_run *run, const double *times, const double *states, int outcome,
                                   int64_t first, int64_t end)
{
    shoal_result *result = run->result;
    shoal_status status = SHOAL_OK;

    for (int64_t system = first; system < end && status == SHOAL_OK; ++system) {
        if (result->outcome[system] == outcome) {
            status = shoal_result_append(run->context, result, 1, &system, &times[system],
                                         states + (size_t)system * (size_t)result->n_bodies * SHOAL_STATE);
        }
    }
    return status;
}

/* ---- the result's header ----------------------------------------------------------------------------------------- */

/* Whether a study has a monitor, and its parameters, [SHOAL_MAX_PARAMETERS]. */
static bool watches(const shoal_study *study, const shoal_monitor *monitor, double *parameters)
{
    const shoal_plug_options *given = NULL;
    for (int i = 0; i < study->options.n_monitors; ++i) {
        if (strcmp(study->options.monitors[i].name, monitor->name) == 0) {
            given = &study->options.monitors[i];
        }
    }
    for (int k = 0; k < monitor->n_parameters; ++k) {
        const shoal_parameter *row = &monitor->parameters[k];
        parameters[k] = row->initial;
        for (int s = 0; given && s < given->n_settings; ++s) {
            const shoal_setting *setting = &given->settings[s];
            if (strcmp(setting->name, row->name) == 0) {
                parameters[k] = setting->choice ? shoal_choice_index(row->choices, setting->choice) : setting->value;
            }
        }
    }
    return given;
}

/* The logs of the plan's monitors, empty. */
static shoal_status create_logs(study_run *run)
{
    const shoal_monitor *const *monitors = shoal_plugs_of(run->context)->monitors;
    shoal_status status = SHOAL_OK;
    for (int i = 0; run->plan && i < SHOAL_MAX_MONITORS && !status; i++) {
        shoal_log *log = NULL;
        if (!run->plan->logs[i].is_kept)
            continue;
        run->log_of[run->result->n_logs] = i;
        status = shoal_result_add_log(run->context, run->result, monitors[i]->name,
                                      SHOAL_LOG_VALUES + monitors[i]->n_log, &log);
        for (int c = 0; c < monitors[i]->n_log && !status; c++) {
            shoal_column *column = &log->columns[SHOAL_LOG_VALUES + c];
            snprintf(column->name, sizeof column->name, "%s", monitors[i]->log[c].name);
            snprintf(column->doc, sizeof column->doc, "%s", monitors[i]->log[c].doc);
            name_unit(run->study, monitors[i]->log[c].dimension, column);
        }
    }
    return status;
}

/* What is known of systems before the first step, but their states. */
typedef struct known_loop {
    const study_run *run;
    bool any; /* body has a radius */
} known_loop;

static void put_known_part(void *user, long first, long last)
{
    known_loop *loop = user;
    const shoal_study *study = loop->run->study;
    const shoal_ensemble *ensemble = study->ensemble;
    shoal_result *result = loop->run->result;
    bool any = false;
    for (long system = first; system < last; ++system) {
        const bool runs = !shoal_ensemble_is_invalid(ensemble, system);
        result->id[system] = ensemble->id[system];
        result->t_initial[system] = shoal_units_time(&study->units,
                                                     *shoal_ensemble_field(ensemble, SHOAL_SYS_T_START, system));
        result->outcome[system] = runs ? SHOAL_RUNNING : SHOAL_INVALID;
        result->n_live[system] = runs ? (int)*shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, system) : 0;
        for (int b = 0; b < result->n_live[system]; ++b) {
            any = any || *shoal_ensemble_body(ensemble, b, SHOAL_R, system) > 0;
        }
    }
    if (any) {
        __atomic_store_n(&loop->any, true, __ATOMIC_RELAXED);
    }
}

static void put_radii_part(void *user, long first, long last)
{
    const study_run *run = user;
    shoal_result *result = run->result;
    for (long system = first; system < last; ++system) {
        for (int b = 0; b < result->n_live[system]; ++b) {
            const double r = *shoal_ensemble_body(run->study->ensemble, b, SHOAL_R, system);
            result->radius[system * result->n_bodies + b] = r > 0 ? r / run->study->units.length : 0;
        }
    }
}

static shoal_status put_known(study_run *run)
{
    const long n = run->result->n_systems;
    known_loop loop = {run, false};
    share_rows(run, n, put_known_part, &loop);
    if (!loop.any) {
        return SHOAL_OK;
    }
    const shoal_status status = shoal_result_add_radii(run->context, run->result);
    if (status == SHOAL_OK) {
        share_rows(run, n, put_radii_part, run);
    }
    return status;
}

/* The swept columns of the study are the result's, or again the study's, whose own hold nothing meanwhile. */
static void exchange_swept(study_run *run)
{
    for (int c = 0; run->result && c < run->study->n_swept; ++c) {
        double *value = run->result->columns[c].value;
        run->result->columns[c].value = run->study->swept[c].value;
        run->study->swept[c].value = value;
    }
}

/* The columns of the study's monitors, and their sources; returns how many. result = NULL: only count them. */
static int make_columns(const study_run *run, shoal_result *result, struct source *source)
{
    const shoal_study *study = run->study;
    const int n_bodies = study->ensemble->n_bodies;
    const shoal_monitor *monitor;
    double values[SHOAL_MAX_PARAMETERS];
    int n = 0;
    for (int i = 0; (monitor = shoal_plugs_of(study->context)->monitors[i]); ++i) {
        for (int k = 0; watches(study, monitor, values) && k < monitor->n_columns; ++k) {
            for (int part = 0; part < shoal_monitor_n_of(monitor, values, k, n_bodies); ++part, ++n) {
                if (result) {
                    const shoal_monitor_place place = {monitor, values, k, part, n_bodies};
                    shoal_column *column = &result->columns[study->n_swept + n];
                    source[n] = (struct source){i, k, part};
                    shoal_monitor_column_name(&place, study->body_name, column->name);
                    snprintf(column->doc, sizeof column->doc, "%s", monitor->columns[k].doc);
                    name_unit(study, monitor->columns[k].dimension, column);
                }
            }
        }
    }
    return n;
}

/* Names of bodies with underscores can make one name of two columns: "a", "b_c" and "a_b", "c". */
static shoal_status check_columns(const study_run *run)
{
    const shoal_result *result = run->result;
    for (int c = 0; c < result->n_columns; ++c) {
        for (int before = 0; before < c; ++before) {
            if (strcmp(result->columns[c].name, result->columns[before].name) == 0) {
                return shoal_fail(
                    run->context, SHOAL_E_INPUT,
                    "%s: system.bodies: expected names that give each column one of its own; two would be called '%s'",
                    run->study->path, result->columns[c].name);
            }
        }
    }
    return SHOAL_OK;
}

/* Everything of the result that is known before the first step, but the initial states. */
static shoal_status create_result(study_run *run)
{
    const shoal_study *study = run->study;
    const shoal_ensemble *ensemble = study->ensemble;
    const int n_columns = study->n_swept + make_columns(run, NULL, NULL);

    shoal_status status = shoal_result_allocate(run->context, ensemble->n_systems, ensemble->n_bodies, n_columns,
                                                &run->result);
    if (status != SHOAL_OK) {
        return status;
    }
    exchange_swept(run);
    shoal_result *result = run->result;
    result->config_text = strdup(study->config_text);
    result->plan_line = strdup(run->plan ? shoal_plan_line(run->plan) : "");
    run->source = calloc((size_t)(n_columns - study->n_swept) + 1, sizeof *run->source);
    if (!result->config_text || !result->plan_line || !run->source) {
        return shoal_fail(run->context, SHOAL_E_MEMORY, "out of memory for the result");
    }
    snprintf(result->version, sizeof result->version, "%s", shoal_version());
    snprintf(result->epoch, sizeof result->epoch, "%s", study->epoch);
    result->units = study->units;
    result->seed = study->seed;
    memcpy(result->body_name, study->body_name, (size_t)ensemble->n_bodies * sizeof *result->body_name);
    result->n_axes = study->n_axes;
    memcpy(result->axes, study->axes, sizeof result->axes);

    result->n_swept = study->n_swept;
    for (int c = 0; c < study->n_swept; ++c) {
        double *value = result->columns[c].value;
        result->columns[c] = study->swept[c];
        result->columns[c].value = value;
    }
    make_columns(run, result, run->source);
    status = check_columns(run);
    if (status == SHOAL_OK) {
        status = put_known(run);
    }
    return status ? status : create_logs(run);
}

shoal_status shoal_study_initial(shoal_study *study, shoal_result **result)
{
    study_run run = {.study = study, .context = study->context};
    const shoal_status status = create_result(&run);

    free(run.source);
    if (status != SHOAL_OK) {
        shoal_result_destroy(&run.result);
        return status;
    }
    for (int c = 0; c < study->n_swept; ++c) {
        memcpy(study->swept[c].value, run.result->columns[c].value, (size_t)run.result->n_systems * sizeof(double));
    }
    record_begin(&run, study->ensemble, 0);
    const size_t n = (size_t)run.result->n_systems, row = (size_t)run.result->n_bodies * SHOAL_STATE;
    memcpy(run.result->t_final, run.result->t_initial, n * sizeof(double));
    memcpy(run.result->final, run.result->initial, n * row * sizeof(double));
    run.result->complete = true;
    *result = run.result;
    return SHOAL_OK;
}

/* ---- journal and checkpoints ------------------------------------------------------------------------------------- */

/* The part of all steps that is done, as if each system had as many as another. */
static double fraction_done(const study_run *run)
{
    const double of_wave = run->progress_total > 0 ? 1 - run->plan->left / run->progress_total : 1;
    return ((double)run->first + of_wave * (double)run->wave.n_systems) / (double)run->result->n_systems;
}

static double steps_done(const study_run *run)
{
    return run->steps_done + run->plan->system_steps;
}

static shoal_status put_progress(const study_run *run, shoal_journal *journal)
{
    const shoal_journal_pace pace = {fraction_done(run), run->fraction_before, shoal_seconds() - run->began, 0};
    return shoal_journal_progress(journal, &pace);
}

/* Systems that begin, and those of them that have ended: rows first to end - 1, to a journal. */
static shoal_status put_systems(const study_run *run, shoal_journal *journal, long first, long end)
{
    const shoal_result *result = run->result;
    int *ended = malloc(PIECE * sizeof *ended);
    shoal_status status = ended ? SHOAL_OK : shoal_fail(run->context, SHOAL_E_MEMORY, "out of memory");

    while (first < end && status == SHOAL_OK) {
        const long n = end - first < PIECE ? end - first : PIECE;
        long n_ended = 0;
        for (long row = first; row < first + n; ++row) {
            if (result->outcome[row] != SHOAL_RUNNING) {
                ended[n_ended++] = (int)row;
            }
        }
        status = shoal_journal_begun(journal, result, first, n);
        if (status == SHOAL_OK) {
            status = shoal_journal_systems(journal, result, ended, n_ended);
        }
        first += n;
    }
    free(ended);
    return status;
}

/* The name of a journal that is written anew. It is renamed when it is complete, so that a kill leaves the old one or
 * the new one. */
static void name_unfinished(const study_run *run, char path[PATH_MAX + 8])
{
    snprintf(path, PATH_MAX + 8, "%s" UNFINISHED, run->journal_path);
}

/* Put a journal that was written anew in the place of the old one. status: of what was done so far. */
static shoal_status replace_journal(study_run *run, shoal_journal *journal, shoal_status status)
{
    char path[PATH_MAX + 8];

    name_unfinished(run, path);
    if (status == SHOAL_OK) {
        status = shoal_journal_commit(journal);
    }
    if (status == SHOAL_OK) {
        status = shoal_journal_rename(journal, run->journal_path);
    }
    if (status != SHOAL_OK) {
        shoal_journal_close(&journal);
        unlink(path);
        return status;
    }
    shoal_journal_close(&run->journal);
    run->journal = journal;
    run->committed = shoal_seconds();
    return shoal_journal_background(journal);
}

static shoal_status put_checkpoint(const study_run *run, shoal_journal *journal)
{
    const shoal_status status = put_progress(run, journal);
    return status ? status : shoal_journal_checkpoint(journal, run->checkpoint, run->checkpoint_size);
}

/* The journal has all rows of snapshots, events and logs: they are done with in memory. */
static void drop_rows(study_run *run)
{
    shoal_result *result = run->result;

    run->n_snapshots += result->n_snapshots;
    result->n_snapshots = result->n_events = 0;
    for (int l = 0; l < result->n_logs; ++l) {
        result->logs[l].n_rows = 0;
    }
}

/* Write the journal from the result. with_checkpoint: run->checkpoint is part of it. */
static shoal_status write_journal(study_run *run, bool with_checkpoint)
{
    const shoal_result *result = run->result;
    char path[PATH_MAX + 8];
    shoal_journal *journal = NULL;

    name_unfinished(run, path);
    unlink(path);
    shoal_status status = shoal_journal_create(run->context, path, result, &journal);
    if (status == SHOAL_OK) {
        status = put_systems(run, journal, 0, run->first + run->wave.n_systems);
    }
    if (status == SHOAL_OK) {
        status = shoal_journal_snapshots(journal, result, 0);
    }
    if (status == SHOAL_OK) {
        status = shoal_journal_events(journal, result, 0);
    }
    for (int l = 0; l < result->n_logs && status == SHOAL_OK; ++l) {
        status = shoal_journal_logged(journal, result, l, 0);
    }
    if (status == SHOAL_OK) {
        status = shoal_journal_kept(journal, result, 0);
    }
    if (status == SHOAL_OK) {
        status = with_checkpoint ? put_checkpoint(run, journal) : put_progress(run, journal);
    }
    status = replace_journal(run, journal, status);
    if (status == SHOAL_OK) {
        drop_rows(run);
    }
    return status;
}

/* Append the checkpoint; if earlier ones have made the journal long, to a copy without them. */
static shoal_status append_checkpoint(study_run *run)
{
    char path[PATH_MAX + 8];
    shoal_journal *journal = NULL;
    shoal_status status = shoal_journal_finish(run->journal);

    if (status != SHOAL_OK || !shoal_journal_is_stale(run->journal)) {
        return status ? status : put_checkpoint(run, run->journal);
    }
    name_unfinished(run, path);
    unlink(path);
    status = shoal_journal_copy(run->journal, path, &journal);
    if (status == SHOAL_OK) {
        status = put_checkpoint(run, journal);
    }
    return replace_journal(run, journal, status);
}

/* Between two slices: keep a checkpoint of the last one, whose rows the result does not have yet, when one is due or
 * asked for. */
static shoal_status take_checkpoint(study_run *run, bool asked_for)
{
    const double t = shoal_seconds();
    const checkpoint_head head = {.n_snapshots = run->n_snapshots + run->result->n_snapshots + run->n_due,
                                  .first = run->first,
                                  .n = run->wave.n_systems,
                                  .steps = run->steps_done};
    const size_t cursors = (size_t)run->wave.n_systems * sizeof *run->cursor;

    if (!asked_for && t - run->checkpointed < run->study->checkpoint_s) {
        return SHOAL_OK;
    }
    run->checkpointed = t;
    run->checkpoint_due = true;
    memcpy(run->checkpoint, &head, sizeof head);
    memcpy(run->checkpoint + sizeof head, run->cursor, cursors);
    return shoal_plan_state_save(run->plan, run->checkpoint + sizeof head + cursors);
}

/* Flush what is in the journal, now and then, with the checkpoint if there is one. */
static shoal_status commit(study_run *run)
{
    shoal_status status = SHOAL_OK;

    if (run->checkpoint_due) {
        run->checkpoint_due = false;
        status = append_checkpoint(run);
    } else if (shoal_seconds() - run->committed < COMMIT_S) {
        return SHOAL_OK;
    } else {
        status = put_progress(run, run->journal);
    }
    if (status == SHOAL_OK) {
        status = shoal_journal_commit(run->journal);
    }
    if (status == SHOAL_OK && run->study->checkpoint_s == 0) { /* nothing is to be done twice after a kill */
        status = shoal_journal_finish(run->journal);
    }
    run->committed = shoal_seconds();
    return status;
}

/* What tells a journal's run from this one, NULL if they are the same. */
static const char *difference(const shoal_result *a, const shoal_result *b)
{
    return strcmp(a->version, b->version) != 0                                                    ? "version of shoal"
           : !shoal_config_same(a->config_text, b->config_text)                                   ? "config"
           : a->n_systems != b->n_systems                                                         ? "number of systems"
           : a->n_bodies != b->n_bodies                                                           ? "number of bodies"
           : a->n_columns != b->n_columns || a->n_logs != b->n_logs                               ? "columns"
           : a->seed != b->seed                                                                   ? "seed"
           : memcmp(a->t_initial, b->t_initial, (size_t)a->n_systems * sizeof *a->t_initial) != 0 ? "start times"
                                                                                                  : NULL;
}

/* Discard a journal, unless another process is writing it. */
static shoal_status discard_journal(study_run *run)
{
    shoal_journal *journal = NULL;
    shoal_status status = shoal_journal_open(run->context, run->journal_path, &journal);

    shoal_journal_close(&journal);
    if (status != SHOAL_E_USAGE && unlink(run->journal_path) == 0) {
        status = SHOAL_OK;
    }
    return status;
}

bool shoal_ensemble_keeps(const shoal_study *study)
{
    const bool wanted = isnan(study->keeps) ? study->ensemble->n_systems <= MOST_KEPT : study->keeps != 0;
    return wanted || (study->extends && !study->extends->anew);
}

/* Have the plan keep its systems where they end, in the result. */
static shoal_status keep_ends(study_run *run)
{
    const shoal_study *study = run->study;
    if (!shoal_ensemble_keeps(study)) {
        return SHOAL_OK;
    }
    const shoal_status status = shoal_plan_keep(run->plan, &run->result->kept);
    return status || run->result->begin || !shoal_begin_is_needed(study) ? status
                                                                         : shoal_begin_save(study, run->result);
}

/* What tells a checkpoint of the study from this one, NULL if it is one: its head, and the initial states of the
 * systems that had begun. */
static const char *strange(const study_run *run, const shoal_result *old, const void *state, size_t size,
                           checkpoint_head *head)
{
    const size_t width = (size_t)old->n_bodies * SHOAL_STATE;
    double row[width];

    if (size < sizeof *head) {
        return "checkpoint";
    }
    memcpy(head, state, sizeof *head);
    if (head->first < 0 || head->first % SHOAL_CHUNK != 0 || head->n < 1 || head->n > old->n_systems - head->first) {
        return "checkpoint";
    }
    for (long system = 0; system < head->first + head->n; ++system) {
        for (size_t i = 0; i < width; ++i) {
            row[i] = NAN;
        }
        if (old->outcome[system] != SHOAL_INVALID) {
            put_initial(run->study, run->study->ensemble, system, row);
        }
        if (memcmp(row, old->initial + (size_t)system * width, sizeof row) != 0) {
            return "initial states";
        }
    }
    return NULL;
}

/* The systems of a wave, with a plan. */
static shoal_status create_wave(study_run *run, long first, long n)
{
    const size_t room = (size_t)n;

    shoal_plan_destroy(&run->plan);
    free(run->checkpoint);
    free(run->cursor);
    free(run->asked);
    free(run->asked_time);
    free(run->due);
    run->first = first;
    run->wave = shoal_ensemble_part(run->study->ensemble, first, n);
    run->n_taken = 0;
    memset(run->n_logged, 0, sizeof run->n_logged);
    const shoal_status status = create_plan(run);
    run->checkpoint_size = status ? 0
                                  : sizeof(checkpoint_head) + room * sizeof *run->cursor +
                                        shoal_plan_state_size(run->plan);
    run->checkpoint = calloc(1, run->checkpoint_size + 1);
    run->cursor = calloc(room, sizeof *run->cursor);
    run->asked = malloc(room * sizeof *run->asked);
    run->asked_time = malloc(room * sizeof *run->asked_time);
    run->due = malloc(room * sizeof *run->due);
    if (status != SHOAL_OK) {
        return status;
    }
    if (!run->checkpoint || !run->cursor || !run->asked || !run->asked_time || !run->due) {
        return shoal_fail(run->context, SHOAL_E_MEMORY, "out of memory for %ld systems", n);
    }
    run->on_gpu = run->plan->engine_type == &shoal_engine_cuda;
    run->progress_total = 0;
    for (long k = 0; k < run->plan->n_list; ++k) {
        run->progress_total += *shoal_ensemble_field(&run->wave, SHOAL_SYS_END, run->plan->list[k]);
    }
    return SHOAL_OK;
}

/* Go on from the journal of the same study, if there is one. *resumed: its last checkpoint is loaded. */
static shoal_status resume(study_run *run, bool *resumed)
{
    shoal_result *old = NULL;
    void *state = NULL;
    size_t size = 0;
    checkpoint_head head = {0};

    *resumed = false;
    if (access(run->journal_path, F_OK) != 0) {
        return SHOAL_OK;
    }
    long n_snapshots = 0;
    shoal_status status = shoal_journal_resume(run->context, run->journal_path, &old, &state, &size, &n_snapshots);
    const char *what = status == SHOAL_OK ? difference(old, run->result) : NULL;
    if (!what && state) {
        what = strange(run, old, state, size, &head);
    }
    if (!what && state && (head.first != run->first || head.n != run->wave.n_systems)) {
        status = create_wave(run, head.first, head.n);
    }
    if (status == SHOAL_OK && !what && state && size != run->checkpoint_size) {
        what = "checkpoint";
    }
    if (what) {
        char keys[200] = "";
        if (strcmp(what, "config") == 0) {
            shoal_config_difference(old->config_text, run->result->config_text, keys, sizeof keys);
        }
        status = shoal_fail(
            run->context, SHOAL_E_INPUT,
            "%s: the journal of another run that has not ended (its %s differs%s%s); --force discards it",
            run->journal_path, what, *keys ? ": " : "", keys);
    }
    if (status != SHOAL_OK) {
        status = run->overwrite && status == SHOAL_E_INPUT ? discard_journal(run) : status;
        goto fail;
    }
    status = shoal_journal_open(run->context, run->journal_path, &run->journal);
    if (status == SHOAL_OK && state) {
        status = shoal_journal_background(run->journal);
    }
    if (status != SHOAL_OK || !state) {
        goto fail; /* or: killed before its first checkpoint, from the beginning */
    }
    const size_t cursors = (size_t)head.n * sizeof *run->cursor;
    memcpy(run->checkpoint, state, size);
    memcpy(run->cursor, run->checkpoint + sizeof head, cursors);
    bool good = head.n_snapshots == n_snapshots;
    for (long system = 0; system < head.n; ++system) {
        good = good && run->cursor[system] >= 0 && run->cursor[system] <= run->n_schedule;
    }
    if (!good) {
        status = shoal_fail(run->context, SHOAL_E_FILE, "%s: its checkpoint disagrees with its rows",
                            run->journal_path);
        goto fail;
    }
    status = shoal_plan_state_load(run->plan, run->checkpoint + sizeof head + cursors);
    if (status == SHOAL_OK) {
        shoal_result *fresh = run->result;
        old->radius = fresh->radius; /* which no journal has */
        old->begin = fresh->begin;
        fresh->radius = fresh->begin = NULL;
        run->result = old;
        old = fresh;
        *resumed = run->study->has_run = true;
        run->n_kept = run->result->kept.n;
        run->n_snapshots = n_snapshots;
        run->steps_done = head.steps;
        status = keep_ends(run);
        shoal_ensemble before = shoal_ensemble_part(run->study->ensemble, 0, run->first);
        shoal_ensemble_release(&before);
    }
fail:
    free(state);
    shoal_result_destroy(&old);
    return status;
}

/* Go on from the end of the run that the study extends, if it does. */
static shoal_status go_on(study_run *run, bool *resumed)
{
    shoal_study *study = run->study;
    const shoal_extension *extends = study->extends;
    double *end = study->options.orbits != 0 ? &study->options.orbits : &study->options.t_end;
    const double new_end = *end;
    study_run before = {.study = study, .context = run->context};
    if (!extends || extends->anew || *resumed) {
        return SHOAL_OK;
    }
    *end = extends->end;
    shoal_status status = create_schedule(&before);
    *end = new_end;
    const long n = before.n_schedule;
    if (status == SHOAL_OK &&
        (n > run->n_schedule || before.at_start != run->at_start ||
         (n > 0 && memcmp(before.schedule, run->schedule, (size_t)n * sizeof *run->schedule) != 0))) {
        status = shoal_fail(run->context, SHOAL_E_INPUT, "%s: the longer run would have other output times before %g",
                            study->path, extends->end);
    }
    free(before.schedule);
    if (status == SHOAL_OK) {
        status = shoal_extension_begin(study, n + before.at_start, run->plan, run->result);
    }
    for (long k = 0; k < run->plan->n_list && status == SHOAL_OK; ++k) {
        run->cursor[run->plan->list[k]] = n;
    }
    if (status == SHOAL_OK) {
        status = take_checkpoint(run, true);
    }
    run->checkpoint_due = false;
    *resumed = status == SHOAL_OK;
    return status ? status : write_journal(run, true);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* Tell the caller; nonzero if it asks for the end. */
static int report(const study_run *run)
{
    if (!run->callback) {
        return 0;
    }
    const long n_systems = run->result->n_systems, n = run->wave.n_systems;
    shoal_progress progress = {
        .n_systems = n_systems,
        .n_by_outcome = run->n_by_outcome,
        .n_outcomes = SHOAL_OUTCOMES,
        .system_steps = steps_done(run) - run->steps_before,
        .seconds = shoal_seconds() - run->began,
        .plan_line = shoal_plan_line(run->plan),
    };
    const double left = run->plan->left + run->progress_total / (double)n * (double)(n_systems - run->first - n);
    if (run->plan->n_list > 0) {
        progress.slowest_id = run->wave.id[run->plan->slowest];
        progress.slowest_fraction = 1 - run->plan->slowest_left;
    }
    progress.fraction = fraction_done(run);
    progress.system_steps_left = !run->plan->propagator->adaptive ? left
                                 : progress.fraction > 0          ? steps_done(run) * (1 / progress.fraction - 1)
                                                                  : INFINITY;
    return run->callback(&progress, run->user);
}

/* What the monitors logged in a slice, to the result and the journal. */
static shoal_status take_logged(study_run *run, int l)
{
    shoal_log *log = &run->result->logs[l];
    const shoal_monitor *monitor = shoal_plugs_of(run->context)->monitors[run->log_of[l]];
    const shoal_plan_log *from = &run->plan->logs[run->log_of[l]];
    const long first = log->n_rows, n = from->n_rows - run->n_logged[l];
    if (n == 0)
        return SHOAL_OK;
    const double *rows = from->rows + run->n_logged[l] * log->n_columns;
    const shoal_status status = shoal_log_reserve(run->context, log, first + n);
    for (int c = 0; c < log->n_columns && !status; c++) {
        const char *dimension = c < SHOAL_LOG_VALUES ? "" : monitor->log[c - SHOAL_LOG_VALUES].dimension;
        const double unit = unit_size(run->study, dimension);
        double *to = log->columns[c].value + first;
        for (long i = 0; i < n; i++) {
            const double value = rows[i * log->n_columns + c];
            to[i] = c == SHOAL_LOG_SYSTEM ? (double)run->first + value
                    : c == SHOAL_LOG_TIME ? shoal_units_time(&run->study->units, value)
                                          : value / unit;
        }
    }
    if (status)
        return status;
    log->n_rows += n;
    run->n_logged[l] += n;
    return shoal_journal_logged(run->journal, run->result, l, first);
}

/* What happened in a slice, to the result and the journal. */
static shoal_status take_events(study_run *run)
{
    const shoal_units *units = &run->study->units;
    const long first = run->result->n_events, n_events = shoal_plan_n_events(run->plan);
    shoal_status status = SHOAL_OK;

    for (; run->n_taken < n_events && status == SHOAL_OK; ++run->n_taken) {
        shoal_event event;
        shoal_plan_event(run->plan, run->n_taken, &event);
        event.time = shoal_units_time(&run->study->units, event.time);
        event.m_a /= units->mass;
        event.m_b /= units->mass;
        event.distance /= units->length;
        event.speed /= shoal_units_factor(units, "velocity");
        event.energy_jump /= fabs(run->wave.energy_start[event.system]);
        event.system += run->first;
        status = shoal_result_append_event(run->context, run->result, &event);
    }
    if (status == SHOAL_OK)
        status = shoal_journal_events(run->journal, run->result, first);
    for (int l = 0; l < run->result->n_logs && status == SHOAL_OK; l++)
        status = take_logged(run, l);
    return status;
}

/* Where a system is headed: its next output time, or the end. */
static void aim(const study_run *run, long system)
{
    const int64_t next = run->cursor[system];
    shoal_plan_set_goal(run->plan, system, next < run->n_schedule ? run->schedule[next] : run->plan->t_end);
}

/* Systems that have come to a time, and those whose state there cannot be had. */
typedef struct asked_loop {
    study_run *run;
    long n_due, bad; /* bad: one of them, -1 = none */
} asked_loop;

static void ask_ended(void *user, long first, long last)
{
    asked_loop *loop = user;
    study_run *run = loop->run;
    shoal_plan *plan = run->plan;
    for (long k = first; k < last; ++k) {
        run->asked[k] = plan->ended[k];
        run->asked_time[k] = plan->t_end;
        if (!shoal_plan_set_state_time(plan, plan->ended[k], plan->t_end)) {
            __atomic_store_n(&loop->bad, plan->ended[k], __ATOMIC_RELAXED);
        }
    }
}

static void ask_arrived(void *user, long first, long last)
{
    asked_loop *loop = user;
    study_run *run = loop->run;
    shoal_plan *plan = run->plan;
    int *asked = run->asked + plan->n_ended;
    double *asked_time = run->asked_time + plan->n_ended;
    long n_due = 0;
    for (long k = first; k < last; ++k) {
        const int system = plan->list[k];
        run->due[k] = shoal_plan_arrived(plan, system);
        if (!run->due[k]) {
            continue;
        }
        asked[k] = system;
        asked_time[k] = run->schedule[run->cursor[system]++];
        if (!shoal_plan_set_state_time(plan, system, asked_time[k])) {
            __atomic_store_n(&loop->bad, system, __ATOMIC_RELAXED);
        }
        aim(run, system);
        n_due++;
    }
    (void)__atomic_add_fetch(&loop->n_due, n_due, __ATOMIC_RELAXED);
}

/* Whom the slice that has just ended calls for, and where they go from there. */
static shoal_status find_asked(study_run *run)
{
    shoal_plan *plan = run->plan;
    const long n_ended = plan->n_ended, n = plan->n_list;
    int *asked = run->asked + n_ended;
    double *asked_time = run->asked_time + n_ended;
    asked_loop loop = {run, 0, -1};
    share_rows(run, n_ended, ask_ended, &loop);
    share_rows(run, n, ask_arrived, &loop);
    const long n_due = loop.n_due, bad = loop.bad;
    if (bad >= 0) {
        const bool runs = system_outcome(run, bad) == SHOAL_RUNNING;
        return shoal_plan_no_state_at(plan, bad, runs ? run->schedule[run->cursor[bad] - 1] : plan->t_end);
    }
    for (long k = 0, at = 0; at < n_due && n_due < n; ++k) {
        if (run->due[k]) {
            asked[at] = asked[k];
            asked_time[at++] = asked_time[k];
        }
    }
    run->n_ended = n_ended;
    run->n_due = n_due;
    shoal_plan_request_states(plan, run->asked, n_ended + n_due, n_ended > 0);
    return SHOAL_OK;
}

/* The rows of the last slice, to the result and the journal; the next one may be running. */
static shoal_status take_rows(study_run *run)
{
    const long first = run->result->n_snapshots;
    shoal_status status = shoal_plan_receive_states(run->plan);

    if (status == SHOAL_OK) {
        status = take_events(run);
    }
    if (status == SHOAL_OK) {
        status = put_ends(run);
    }
    if (status == SHOAL_OK) {
        status = put_snapshots(run);
    }
    for (long k = 0; k < run->n_ended; ++k) {
        run->asked[k] += (int)run->first;
    }
    for (long k = run->n_kept; k < run->result->kept.n; ++k) {
        run->result->kept.system[k] += run->first;
    }
    if (status == SHOAL_OK && run->n_ended > 0) {
        status = shoal_journal_systems(run->journal, run->result, run->asked, run->n_ended);
    }
    if (status == SHOAL_OK) {
        status = shoal_journal_kept(run->journal, run->result, run->n_kept);
        run->n_kept = run->result->kept.n;
    }
    if (status == SHOAL_OK) {
        status = shoal_journal_snapshots(run->journal, run->result, first);
    }
    if (status == SHOAL_OK) {
        drop_rows(run);
    }
    run->n_ended = run->n_due = 0;
    return status;
}

static shoal_status begin_slice(study_run *run, bool move)
{
    if (run->study->slice_steps > 0) {
        run->plan->slice_steps = run->study->slice_steps;
    }
    return shoal_plan_begin(run->plan, move);
}

/* Slices until no system of the wave runs, or the caller asks for the end: then a last checkpoint is in the journal. */
static shoal_status integrate_wave(study_run *run, bool *interrupted)
{
    shoal_plan *plan = run->plan;

    for (long k = 0; k < plan->n_list; ++k) {
        aim(run, plan->list[k]);
    }
    *interrupted = report(run) != 0 && plan->n_list > 0;
    shoal_status status = begin_slice(run, !*interrupted);
    for (bool last = false; status == SHOAL_OK && !last;) {
        long n_moved = 0;
        status = shoal_plan_end(plan, &n_moved);
        if (status == SHOAL_OK) {
            status = find_asked(run);
        }
        if (status == SHOAL_OK && plan->n_list > 0 && !*interrupted && n_moved + run->n_ended + run->n_due == 0) {
            return shoal_fail(run->context, SHOAL_E_INTERNAL, "%ld systems never reach the end", plan->n_list);
        }
        last = *interrupted || plan->n_list == 0;
        if (status == SHOAL_OK && plan->n_list > 0) {
            status = take_checkpoint(run, *interrupted);
        }
        if (status == SHOAL_OK) {
            status = begin_slice(run, !last);
        }
        if (status == SHOAL_OK) {
            status = take_rows(run);
        }
        if (status == SHOAL_OK) {
            status = commit(run);
        }
        if (status == SHOAL_OK && !*interrupted) {
            *interrupted = report(run) != 0 && plan->n_list > 0;
        }
    }
    return status;
}

/* How many systems the wave has that begins with this row. */
static long wave_size(const study_run *run, long first)
{
    const long n = run->study->ensemble->n_systems, least = run->on_gpu ? LEAST_GPU_WAVE : LEAST_WAVE;
    long wave = run->study->wave > 0 ? run->study->wave : n / WAVES > least ? n / WAVES : least;

    if (run->study->extends) {
        return n;
    }
    wave = wave < n - first ? (wave + SHOAL_CHUNK - 1) / SHOAL_CHUNK * SHOAL_CHUNK : n - first;
    return wave < n - first ? wave : n - first;
}

/* Snapshots of the wave's systems at the start. */
static shoal_status begin_snapshots(study_run *run)
{
    return run->at_start ? copy_snapshots(run, run->result->t_initial, run->result->initial, SHOAL_RUNNING, run->first,
                                          run->first + run->wave.n_systems)
                         : SHOAL_OK;
}

/* The wave that follows one that has ended. */
static shoal_status next_wave(study_run *run)
{
    const long next = run->first + run->wave.n_systems, first_snapshot = run->result->n_snapshots;

    run->steps_done = steps_done(run);
    shoal_plan_destroy(&run->plan);
    shoal_ensemble_release(&run->wave);
    malloc_trim(0);
    shoal_status status = create_wave(run, next, wave_size(run, next));
    if (status == SHOAL_OK) {
        status = keep_ends(run);
    }
    if (status != SHOAL_OK) {
        return status;
    }
    record_begin(run, &run->wave, run->first);
    status = begin_snapshots(run);
    if (status == SHOAL_OK) {
        status = put_systems(run, run->journal, run->first, run->first + run->wave.n_systems);
    }
    if (status == SHOAL_OK) {
        status = shoal_journal_snapshots(run->journal, run->result, first_snapshot);
    }
    if (status == SHOAL_OK) {
        drop_rows(run);
    }
    if (status == SHOAL_OK) {
        status = take_checkpoint(run, false);
    }
    return status ? status : commit(run);
}

/* Waves until no system is left, or the caller asks for the end. */
static shoal_status integrate(study_run *run, bool *interrupted)
{
    shoal_status status = integrate_wave(run, interrupted);

    while (status == SHOAL_OK && !*interrupted && run->first + run->wave.n_systems < run->result->n_systems) {
        status = next_wave(run);
        if (status == SHOAL_OK) {
            status = integrate_wave(run, interrupted);
        }
    }
    return status;
}

/* Refuse, before the first step, an output that is there already or cannot be written. */
static shoal_status check_output(study_run *run)
{
    const shoal_study *study = run->study;
    char folder[PATH_MAX];
    struct stat info;

    if (!study->output || !study->output[0]) {
        return shoal_fail(run->context, SHOAL_E_INPUT, "%s: output.file is missing", study->path);
    }
    if (strlen(study->output) + 32 > sizeof folder) {
        return shoal_fail(run->context, SHOAL_E_INPUT, "%s: output.file: the name is too long", study->path);
    }
    shoal_store_journal_path(study->output, run->journal_path, sizeof run->journal_path);
    strcpy(folder, study->output);
    char *slash = strrchr(folder, '/');
    strcpy(slash ? slash + (slash == folder) : folder, slash ? "" : ".");
    if (access(folder, W_OK | X_OK) != 0 || stat(folder, &info) != 0) {
        return shoal_fail(run->context, SHOAL_E_INPUT, "%s: cannot be written: folder %s: %s", study->output, folder,
                          strerror(errno));
    }
    if (!S_ISDIR(info.st_mode)) {
        return shoal_fail(run->context, SHOAL_E_INPUT, "%s: cannot be written: %s is not a folder", study->output,
                          folder);
    }
    if (access(study->output, F_OK) != 0) {
        return SHOAL_OK;
    }
    if (shoal_not_a_file(study->output)) {
        return shoal_fail(run->context, SHOAL_E_INPUT, "%s: is there and not a file", study->output);
    }
    /* an interrupted run leaves both a file and a journal, and goes on from the latter */
    const bool replaces = run->overwrite || (study->extends && study->extends->replaces);
    if (!replaces && access(run->journal_path, F_OK) != 0) {
        return shoal_fail(run->context, SHOAL_E_INPUT, "%s: exists; --force replaces it", study->output);
    }
    return shoal_store_spare(run->context, study->output);
}

/* Everything ahead of the first step. */
static shoal_status begin(study_run *run)
{
    bool resumed = false;
    char unfinished[PATH_MAX + 8];
    shoal_status status = check_output(run);

    if (status == SHOAL_OK) {
        snprintf(unfinished, sizeof unfinished, "%s" UNFINISHED, run->journal_path);
        unlink(unfinished); /* of a run that was killed: what goes on from its journal may write no other */
        status = create_schedule(run);
    }
    if (status == SHOAL_OK && run->study->has_run) {
        status = shoal_fail(run->context, SHOAL_E_USAGE, "%s: this study has been run; load it again",
                            run->study->path);
    }
    if (status == SHOAL_OK) {
        run->on_gpu = shoal_plan_has_gpu(&run->study->options, run->study->ensemble->n_systems);
        status = create_wave(run, 0, wave_size(run, 0));
    }
    if (status == SHOAL_OK) {
        status = create_result(run);
    }
    if (status == SHOAL_OK) {
        status = keep_ends(run);
    }
    if (status != SHOAL_OK) {
        return status;
    }
    status = resume(run, &resumed);
    if (status == SHOAL_OK && !resumed && run->first > 0) { /* a journal that was discarded */
        status = create_wave(run, 0, wave_size(run, 0));
    }
    if (status != SHOAL_OK) {
        return status;
    }
    if (!resumed) {
        record_begin(run, &run->wave, 0);
    }
    status = go_on(run, &resumed);
    if (status == SHOAL_OK && !resumed) {
        status = begin_snapshots(run);
    }
    if (status == SHOAL_OK && !resumed) {
        status = write_journal(run, false);
    }
    if (status != SHOAL_OK) {
        return status;
    }
    run->study->has_run = true;
    for (long row = 0; row < run->result->n_systems; ++row) {
        run->n_by_outcome[run->result->outcome[row]]++;
    }
    run->steps_before = steps_done(run);
    run->fraction_before = fraction_done(run);
    run->checkpointed = shoal_seconds();
    return status;
}

/* The journal of a run whose systems have all ended: who goes on from it repeats nothing. */
static shoal_status checkpoint_end(study_run *run)
{
    const shoal_status status = take_checkpoint(run, true);
    return status ? status : commit(run);
}

/* What follows a run that is done. Its plan makes room. */
static shoal_status certify(study_run *run, bool *interrupted)
{
    shoal_plan_destroy(&run->plan);
    const shoal_status status = shoal_certify_run(run->study, run->result, run->callback, run->user);
    *interrupted = status == SHOAL_E_INTERRUPTED;
    return *interrupted ? SHOAL_OK : status;
}

shoal_status shoal_ensemble_run(shoal_study *study, bool overwrite, shoal_progress_callback callback, void *user)
{
    study_run run = {
        .study = study,
        .context = study->context,
        .overwrite = overwrite,
        .callback = callback,
        .user = user,
        .began = shoal_seconds(),
    };
    bool interrupted = false;
    shoal_rows *rows = NULL;

    shoal_status status = begin(&run);
    if (status != SHOAL_OK) {
        goto fail;
    }
    status = integrate(&run, &interrupted);
    if (status == SHOAL_OK && !interrupted && study->certify) {
        status = checkpoint_end(&run);
    }
    if (status == SHOAL_OK && interrupted) {
        status = record_running(&run);
    }
    if (status == SHOAL_OK) {
        status = shoal_journal_finish(run.journal);
    }
    if (status == SHOAL_OK) { /* with those of the end, which are not in the journal */
        status = shoal_rows_open(run.context, run.journal, run.result, run.at_end && !interrupted, &rows);
    }
    if (status == SHOAL_OK) {
        status = shoal_kept_sort(run.context, &run.result->kept);
    }
    if (status == SHOAL_OK && !interrupted && study->certify) {
        status = certify(&run, &interrupted);
    }
    const bool stays = interrupted && study->extends && study->extends->replaces;
    if (status == SHOAL_OK && !stays) {
        run.result->complete = !interrupted;
        run.result->n_snapshots = run.n_snapshots;
        status = shoal_store_write_last(run.context, study->output, rows, &run.result);
    }
    if (status == SHOAL_OK && stays) {
        status = shoal_fail(run.context, SHOAL_E_INTERRUPTED, "interrupted; %s is as it was, run again to go on",
                            study->output);
    } else if (status == SHOAL_OK && interrupted) {
        status = shoal_fail(run.context, SHOAL_E_INTERRUPTED, "interrupted; %s holds what there is, run again to go on",
                            study->output);
    } else if (status == SHOAL_OK) {
        unlink(run.journal_path);
        shoal_certify_clean(study);
    }
fail:
    if (!study->has_run) {
        exchange_swept(&run);
    }
    shoal_rows_close(&rows);
    shoal_journal_close(&run.journal);
    shoal_result_destroy(&run.result);
    shoal_plan_destroy(&run.plan);
    free(run.schedule);
    free(run.source);
    free(run.cursor);
    free(run.asked);
    free(run.asked_time);
    free(run.due);
    free(run.checkpoint);
    return status;
}

/* The caller's callback, which has the caller's locale. */
typedef struct caller {
    shoal_progress_callback callback;
    void *user;
    locale_t locale;
} caller;

static int call_back(const shoal_progress *progress, void *user)
{
    const caller *to = user;
    const locale_t own = uselocale(to->locale);
    const int asked = to->callback(progress, to->user);
    uselocale(own);
    return asked;
}

/* Refuse an output that another run is writing. lock: -1 = there can be none: why is for the run to say. */
static shoal_status lock_output(const shoal_study *study, char path[PATH_MAX], int *lock)
{
    const char *output = study->output ? study->output : "";
    *lock = -1;
    if (!*output || strlen(output) + 32 > PATH_MAX || shoal_not_a_file(output)) {
        return SHOAL_OK;
    }
    snprintf(path, PATH_MAX, "%s.lock", output);
    *lock = shoal_lock_take(path);
    return *lock < 0 && errno == EWOULDBLOCK
               ? shoal_fail(study->context, SHOAL_E_USAGE, "%s: another run is writing this file", output)
               : SHOAL_OK;
}

shoal_status shoal_study_run(shoal_study *study, int overwrite, shoal_progress_callback callback, void *user)
{
    if (!study) {
        return SHOAL_E_USAGE;
    }
    if (*study->stands_in) {
        return shoal_fail(study->context, SHOAL_E_INPUT,
                          "sample: expected possible initial conditions of one system at least; the first one: %s",
                          study->stands_in);
    }
    int lock;
    char lock_path[PATH_MAX];
    shoal_status status = lock_output(study, lock_path, &lock);
    if (status) {
        return status;
    }
    void *numbers = shoal_numbers_begin();
    caller to = {callback, user, (locale_t)numbers};
    status = (study->big ? shoal_big_run : shoal_ensemble_run)(study, overwrite != 0, callback ? call_back : NULL, &to);
    shoal_numbers_end(numbers);
    shoal_lock_release(lock, lock_path);
    return status;
}
