/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * study.h: a study of one big system: what its config says (study.c), what its run leaves (record.c), the run (run.c).
 */
#ifndef SHOAL_BIG_STUDY_H
#define SHOAL_BIG_STUDY_H

#include "big.h"
#include "core/config.h"

/* ---- study.c ----------------------------------------------------------------------------------------------------- */

typedef struct shoal_big_study {
    shoal_big_model model;        /* n = 0: file */
    char *file;                   /* path, NULL = model */
    int components;               /* bits of shoal_big_components, of the file */
    bool has_units;               /* false: numbers without units, G = 1 */
    shoal_tiled_options forces;
    char *method;                 /* forces.kernel borrows it */
    const shoal_big_method *integrator;
    shoal_big_steps steps;
    bool starts;                  /* run.t_start is given */
    double interval;              /* between rows */
    long snapshots;               /* each so many rows, 0 = none */
    const shoal_format *format;   /* of snapshots */
} shoal_big_study;

/* From a checked config with a group `model`; fills in what of the study is not of ensembles, too. */
shoal_status shoal_big_study_read(const shoal_config *config, shoal_study *study);
void shoal_big_study_destroy(shoal_big_study **big);
/* The bodies that it begins with. */
shoal_status shoal_big_study_bodies(const shoal_study *study, shoal_big_bodies *bodies);

/* ---- record.c: the result file ----------------------------------------------------------------------------------- */

typedef struct shoal_big_record {
    shoal_context *context;
    char *config_text, *plan_line;
    shoal_units units;
    bool has_units, complete;
    int64_t seed;
    double energy_start;     /* inner units */
    long n_rows, room;
    double (*rows)[SHOAL_BIG_COLUMNS]; /* [n_rows] user's units */
    /* the state after the last row, inner units: bits that a run goes on from */
    shoal_big_bodies bodies;
    int n_slots, level;
    double last_step;
    double *slots;           /* [n_slots][n] */
    double n_steps, interactions;
    char kernel[32], row_kernel[32]; /* of the forces on all bodies, in steps and in rows; "" = not known */
} shoal_big_record;

/* Whether a file is a result of one big system. */
bool shoal_big_record_is(const char *path);
shoal_status shoal_big_record_read(shoal_context *context, const char *path, shoal_big_record *record);
shoal_status shoal_big_record_write(const shoal_big_record *record, const char *path);
void shoal_big_record_release(shoal_big_record *record);
shoal_status shoal_big_record_add_row(shoal_big_record *record, const double row[SHOAL_BIG_COLUMNS]);
/* The diagnostics as CSV. */
void shoal_big_record_print(const shoal_big_record *record, FILE *out);

/* ---- run.c ------------------------------------------------------------------------------------------------------- */

/* shoal_study_run of one big system. */
shoal_status shoal_big_run(shoal_study *study, bool overwrite, shoal_progress_callback callback, void *user);

#endif
