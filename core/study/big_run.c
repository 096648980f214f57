/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * run.c: a study of one big system from its start, or from where an earlier run left it, to its end: rows of
 * diagnostics, snapshots, the result file. Rows are at t_start + k interval; what is committed is the state after a
 * row, so that a run that was killed repeats at most the time between two checkpoints, with the same bits.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/result/h5.h"
#include "core/study/study.h"

typedef struct big_run {
    shoal_study *study;
    const shoal_big_study *big;
    shoal_context *context;
    shoal_tiled *tiled;
    shoal_big_stepper *stepper;
    shoal_big_record record;
    double interval; /* signed */
    long row;        /* of the state held now */
    double *phi;     /* [4][n]: potentials, and accelerations that nobody wants */
    shoal_progress_callback callback;
    void *user;
    double began, committed, told;            /* wall clock */
    double steps_before, interactions_before; /* of earlier runs */
    bool stopped;
} big_run;

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static int tell(big_run *run)
{
    const shoal_study *study = run->study;
    const shoal_big_stepper *s = run->stepper;
    const double fraction = (s->now - study->t_start) / (study->options.t_end - study->t_start), steps = s->n_steps;
    const enum shoal_outcome now = fraction < 1 ? SHOAL_RUNNING : SHOAL_SURVIVED;
    long n_by_outcome[SHOAL_OUTCOMES] = {0};
    n_by_outcome[now] = 1;
    const shoal_progress progress = {
        .n_systems = 1,
        .n_by_outcome = n_by_outcome,
        .n_outcomes = SHOAL_OUTCOMES,
        .fraction = fraction,
        .system_steps = steps - run->steps_before,
        .system_steps_left = fraction > 0 ? steps * (1 - fraction) / fraction : 0,
        .interactions = s->interactions - run->interactions_before,
        .seconds = shoal_seconds() - run->began,
        .plan_line = run->record.plan_line,
    };
    run->told = shoal_seconds();
    if (run->callback && run->callback(&progress, run->user) != 0)
        run->stopped = true;
    return run->stopped;
}

/* Asked after every step. */
static int stop(void *user)
{
    big_run *run = user;
    return shoal_seconds() - run->told > 0.1 ? tell(run) : run->stopped;
}

/* ---- rows, snapshots, commits ------------------------------------------------------------------------------------ */

static shoal_status add_row(big_run *run)
{
    const shoal_big_stepper *s = run->stepper;
    const shoal_big_bodies *b = &s->bodies;
    double row[SHOAL_BIG_COLUMNS];
    shoal_status status = shoal_tiled_sources(run->tiled, b->n, b->m, b->x, b->v);
    if (!status)
        status = shoal_tiled_forces(run->tiled, SHOAL_TILED_POTENTIAL, NULL, run->phi + b->n, NULL, run->phi);
    if (!status)
        status = shoal_big_measure(run->context, b, run->phi, row);
    if (status)
        return status;
    if (run->record.n_rows == 0)
        run->record.energy_start = row[SHOAL_BIG_COLUMN_E];
    const double scale = run->record.energy_start != 0 ? fabs(run->record.energy_start) : 1;
    row[SHOAL_BIG_COLUMN_dE] = (row[SHOAL_BIG_COLUMN_E] - run->record.energy_start) / scale;
    row[SHOAL_BIG_COLUMN_steps] = s->n_steps;
    row[SHOAL_BIG_COLUMN_interactions] = s->interactions;
    return shoal_big_record_add_row(&run->record, row);
}

/* Rows after the first. */
static double whole_rows(const big_run *run)
{
    return shoal_big_stretches(run->study->t_start, run->study->options.t_end, fabs(run->interval));
}

/* "galaxy.h5" gives "galaxy_0003.hdf5", "galaxy_0003.tipsy", ... */
static char *snapshot_name(const big_run *run, long number)
{
    const char *file = run->study->output, *ends = run->big->format->ends;
    const int length = (int)strcspn(ends, " ");
    char *name;
    return asprintf(&name, "%.*s_%04ld%.*s", shoal_name_stem(file), file, number, length, ends) < 0 ? NULL : name;
}

static shoal_status write_snapshot(big_run *run)
{
    shoal_units units = run->study->units;
    shoal_table table = {0};
    shoal_status status = SHOAL_OK;
    char *name = snapshot_name(run, run->row / run->big->snapshots);
    if (!run->big->has_units) /* by their names, which are 1 as well */
        status = shoal_units_init(run->context, NULL, NULL, NULL, NAN, &units);
    if (!status && !name)
        status = shoal_fail(run->context, SHOAL_E_MEMORY, "out of memory");
    if (!status)
        status = shoal_big_to_table(run->context, &run->stepper->bodies, &units, &table);
    if (!status)
        status = shoal_table_write(&table, name, run->big->format->write);
    shoal_table_release(&table);
    free(name);
    return status;
}

/* The record borrows the stepper's arrays while it is written. */
static shoal_status commit(big_run *run, bool complete)
{
    const shoal_big_stepper *s = run->stepper;
    shoal_big_record record = run->record;
    record.complete = complete;
    record.bodies = s->bodies;
    record.slots = s->slots;
    record.n_slots = s->method->n_slots;
    record.level = s->level;
    record.last_step = s->last_step;
    record.n_steps = s->n_steps;
    record.interactions = s->interactions;
    snprintf(record.kernel, sizeof record.kernel, "%s", shoal_tiled_picked(run->tiled, s->method->wants));
    snprintf(record.row_kernel, sizeof record.row_kernel, "%s", shoal_tiled_picked(run->tiled, SHOAL_TILED_POTENTIAL));
    run->committed = shoal_seconds();
    return shoal_big_record_write(&record, run->study->output);
}

/* ---- begin ------------------------------------------------------------------------------------------------------- */

/* The text from the next line that does not say run.t_end. */
static const char *past_end(const char *text)
{
    static const char end[] = "    t_end = ";
    while (strncmp(text, end, sizeof end - 1) == 0) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return text;
}

/* Whether two configs, as they are written out, differ at most in run.t_end (which moves to the end of its group
 * when the command line gives it). */
static bool same_but_end(const char *a, const char *b)
{
    for (a = past_end(a), b = past_end(b); *a && *b; a = past_end(a), b = past_end(b)) {
        const size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if (n != m || strncmp(a, b, n) != 0)
            return false;
        a += n + (a[n] == '\n');
        b += m + (b[m] == '\n');
    }
    return !*a && !*b;
}

/* Whether a run of n bodies can go on from its record: it did not end; or it did, and t_end is now later by whole
 * rows. */
static bool can_go_on(const big_run *run, long n)
{
    const shoal_study *study = run->study;
    const shoal_big_record *record = &run->record;
    const double began = record->n_rows > 0 ? record->rows[0][SHOAL_BIG_COLUMN_time] * study->units.time
                                            : study->t_start;
    /* of another model.file */
    if (record->bodies.n != n || fabs(began - study->t_start) > 1e-12 * fabs(study->t_start))
        return false;
    if (!record->complete)
        return shoal_config_same(record->config_text, study->config_text);
    if (isnan(run->big->interval) || !same_but_end(record->config_text, study->config_text))
        return false;
    const double rows = (double)(record->n_rows - 1),
                 done = fabs(record->bodies.time - study->t_start) / run->big->interval;
    return fabs(done - rows) < 1e-9 * rows &&
           (study->options.t_end - record->bodies.time) * (record->bodies.time - study->t_start) > 0;
}

/* What is there already: nothing, a run to go on with (which is read), or something that is in the way. */
static shoal_status look(big_run *run, long n, bool overwrite)
{
    const shoal_study *study = run->study;
    const char *file = study->output;
    shoal_status status = shoal_store_spare(run->context, file);
    run->record = (shoal_big_record){.context = run->context};
    if (status || access(file, F_OK) != 0)
        return status;
    if (!shoal_big_record_is(file)) {
        shoal_h5 h5;
        if (overwrite || (status = shoal_h5_open(run->context, file, &h5))) /* which says what is damaged */
            return status;
        shoal_h5_close(&h5);
        return shoal_fail(run->context, SHOAL_E_USAGE, "%s is there already (--force replaces it)", file);
    }
    status = shoal_big_record_read(run->context, file, &run->record);
    if (!status && can_go_on(run, n))
        return SHOAL_OK;
    const bool complete = run->record.complete;
    char differs[200] = "";
    if (!status && !complete)
        shoal_config_difference(run->record.config_text, study->config_text, differs, sizeof differs);
    shoal_big_record_release(&run->record);
    run->record = (shoal_big_record){.context = run->context};
    return overwrite  ? SHOAL_OK
           : status   ? status
           : complete ? shoal_fail(run->context, SHOAL_E_USAGE, "%s is there already (--force replaces it)", file)
                      : shoal_fail(run->context, SHOAL_E_USAGE,
                                   "%s is of a run of another study that did not end (%s; --force discards it)", file,
                                   *differs ? differs : "with other bodies at its start");
}

/* Refuse to write over files that this run has not written: one of them may be its own model.file. */
static shoal_status check_snapshots(const big_run *run, bool overwrite)
{
    const long n_done = run->record.n_rows, every = run->big->snapshots;
    const bool begins = n_done == 0 || run->record.complete; /* one that was killed may have written some */
    if (every <= 0 || overwrite || !begins)
        return SHOAL_OK;
    const double n_rows = whole_rows(run);
    for (long k = (n_done + every - 1) / every; (double)(k * every) <= n_rows; k++) {
        char *name = snapshot_name(run, k);
        const bool there = name && access(name, F_OK) == 0;
        const shoal_status status = there  ? shoal_fail(run->context, SHOAL_E_USAGE,
                                                        "%s is there already (--force replaces it)", name)
                                    : name ? SHOAL_OK
                                           : shoal_fail(run->context, SHOAL_E_MEMORY, "out of memory");
        free(name);
        if (status)
            return status;
    }
    return SHOAL_OK;
}

/* The config and a few words before the last message, which comes from the forces: they know nothing of files. */
static shoal_status blame(big_run *run, const char *words)
{
    char why[SHOAL_MESSAGE_SIZE];
    snprintf(why, sizeof why, "%s", shoal_context_message(run->context));
    return shoal_fail(run->context, SHOAL_E_INPUT, "%s: %s: %.700s", run->study->path, words, why);
}

/* Whether the choice of the engine is free and a GPU not worth it. */
static bool too_few(const big_run *run, long n)
{
    return strcmp(run->study->options.engine, "auto") == 0 && n < run->big->propagator->gpu_from;
}

static shoal_status describe(big_run *run)
{
    shoal_big_record *record = &run->record;
    const shoal_big_stepper *s = run->stepper;
    free(record->plan_line);
    free(record->config_text);
    record->config_text = strdup(run->study->config_text);
    char why[64] = "";
    if (too_few(run, s->bodies.n))
        snprintf(why, sizeof why, "; auto: a GPU from %ld bodies on", s->method->gpu_from);
    if (asprintf(&record->plan_line, "%s, %ld bodies; %s%s", s->method->name, s->bodies.n, shoal_tiled_line(run->tiled),
                 why) < 0)
        record->plan_line = NULL;
    record->units = run->study->units;
    record->has_units = run->big->has_units;
    record->seed = run->study->seed;
    return record->config_text && record->plan_line ? SHOAL_OK
                                                    : shoal_fail(run->context, SHOAL_E_MEMORY, "out of memory");
}

/* Measure which kernel is the fastest, where that pays; all forces are then of the one that is picked, those at the
 * start, too. */
static shoal_status tune(big_run *run)
{
    shoal_big_stepper *s = run->stepper;
    const int wants = s->method->wants;
    const char *before = shoal_tiled_picked(run->tiled, wants);
    const shoal_status status = shoal_tiled_tune(run->tiled, wants,
                                                 shoal_big_evaluations(s, run->study->options.t_end));
    if (status || strcmp(before, shoal_tiled_picked(run->tiled, wants)) == 0)
        return status;
    s->interactions = 0;
    return s->method->prepare(s);
}

static shoal_status begin(big_run *run, bool overwrite)
{
    shoal_study *study = run->study;
    shoal_big_steps steps = run->big->steps;
    shoal_big_bodies bodies = {0};
    shoal_status status = shoal_big_study_bodies(study, &bodies); /* for the time of their start, if it goes on */
    if (status)
        return status;
    study->t_start = bodies.time;
    run->interval = isnan(run->big->interval) ? (study->options.t_end - study->t_start) / 100
                                              : copysign(run->big->interval, study->options.t_end - study->t_start);
    if ((status = look(run, bodies.n, overwrite)) || (status = check_snapshots(run, overwrite))) {
        shoal_big_bodies_release(&bodies);
        return status;
    }
    const bool goes_on = run->record.n_rows > 0;
    steps.dt = fmin(steps.dt, fabs(run->interval));
    if (goes_on) {
        shoal_big_bodies_release(&bodies);
        bodies = run->record.bodies;
        run->record.bodies = (shoal_big_bodies){0};
        run->row = run->record.n_rows - 1;
    }
    const long n = bodies.n;
    shoal_tiled_options forces = run->big->forces;
    if (too_few(run, n)) {
        forces.engine = "cpu";
        forces.n_devices = 0;
    }
    status = shoal_tiled_create(run->context, &forces, n, &run->tiled);
    if (status == SHOAL_E_USAGE)
        status = blame(run, "its forces");
    if (!status)
        status = shoal_big_stepper_create(run->context, run->big->propagator, &steps, run->tiled, &bodies, !goes_on,
                                          &run->stepper);
    shoal_big_bodies_release(&bodies);
    if (!status && goes_on) { /* with the same kernels, whatever was measured since */
        shoal_tiled_pick(run->tiled, SHOAL_TILED_POTENTIAL, run->record.row_kernel);
        shoal_tiled_pick(run->tiled, run->big->propagator->wants, run->record.kernel);
    } else if (!status) {
        status = tune(run);
    }
    if (!status && !(run->phi = shoal_allocate(4 * (size_t)n, sizeof(double))))
        status = shoal_fail(run->context, SHOAL_E_MEMORY, "out of memory for %ld bodies", n);
    if (!status && goes_on && run->record.n_slots != run->big->propagator->n_slots)
        status = shoal_fail(run->context, SHOAL_E_INPUT, "%s: expected %d slots", study->output,
                            run->big->propagator->n_slots);
    if (!status)
        status = describe(run);
    if (status)
        return status;
    run->stepper->stop = stop;
    run->stepper->user = run;
    run->stepper->now = run->stepper->bodies.time;
    if (goes_on) {
        memcpy(run->stepper->slots, run->record.slots, (size_t)n * (size_t)run->record.n_slots * sizeof(double));
        run->stepper->level = run->record.level;
        run->stepper->last_step = run->record.last_step;
        run->steps_before = run->stepper->n_steps = run->record.n_steps;
        run->interactions_before = run->stepper->interactions = run->record.interactions;
    }
    free(run->record.slots);
    run->record.slots = NULL;
    if (!goes_on && !(status = add_row(run)))
        status = commit(run, false);
    /* again, if a kill came between */
    return status || run->row > 0 || !run->big->snapshots ? status : write_snapshot(run);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* What went wrong on the way, and when. */
static shoal_status explain(big_run *run, shoal_status status)
{
    char when[64];
    if (status != SHOAL_E_USAGE)
        return status;
    snprintf(when, sizeof when, "after time %g the bodies are lost",
             shoal_units_time(&run->study->units, run->stepper->now));
    return blame(run, when);
}

static shoal_status integrate(big_run *run)
{
    const shoal_study *study = run->study;
    const double n_rows = whole_rows(run);
    shoal_status status = SHOAL_OK;
    while (!status && (double)run->row < n_rows) {
        run->row++;
        const bool last = (double)run->row >= n_rows;
        status = shoal_big_advance(run->stepper,
                                   last ? study->options.t_end : study->t_start + (double)run->row * run->interval);
        run->stepper->now = run->stepper->bodies.time;
        if (!status)
            status = add_row(run);
        const bool snapshot = run->big->snapshots > 0 && run->row % run->big->snapshots == 0;
        if (!status && snapshot)
            status = write_snapshot(run);
        if (!status && (last || snapshot || shoal_seconds() - run->committed >= study->checkpoint_s))
            status = commit(run, last);
        if (!status && tell(run) && !last) {
            status = commit(run, false);
            if (!status)
                status = shoal_fail(run->context, SHOAL_E_INTERRUPTED, "interrupted");
        }
    }
    return explain(run, status);
}

shoal_status shoal_big_run(shoal_study *study, bool overwrite, shoal_progress_callback callback, void *user)
{
    big_run run = {.study = study, .big = study->big, .context = study->context, .callback = callback, .user = user};
    run.began = run.committed = shoal_seconds();
    shoal_status status = begin(&run, overwrite);
    if (!status && tell(&run))
        status = shoal_fail(run.context, SHOAL_E_INTERRUPTED, "interrupted");
    if (!status)
        status = integrate(&run);
    shoal_big_record_release(&run.record);
    shoal_big_stepper_destroy(&run.stepper);
    shoal_tiled_destroy(&run.tiled);
    free(run.phi);
    return status;
}
