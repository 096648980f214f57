/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * model.h: a study with data as a likelihood. Its parameters are the random values of `sample`, whose distributions are
 * the priors, in the units of the config.
 *
 *     model.c   makes walkers of a study and evaluates them
 *     beside.c  shares a batch of them between a GPU and the CPU
 *     gradient.c  its derivatives
 *     trial.c   lets them run for a while, to see whether they are regular
 *     data.c    reads measurements
 *     transits.c  numbers transits
 *     motions.c  places that make proper motions
 *     noise.c   correlated errors: covariances, Gaussian processes
 */
#ifndef SHOAL_MODEL_H
#define SHOAL_MODEL_H

#include "core/study/study.h"

/* ---- data.c ------------------------------------------------------------------------------------------------------ */

/* Measurements of all sets of a config: those of set i are set[i].first, ... Times and numbers in inner units but
 * values, errors, offsets and jitters, which are in the set's unit. */
typedef struct shoal_data {
    int n_sets;
    shoal_walker_set *set; /* [n_sets] without numbers that are parameters */
    int *body;             /* [n_sets] which is observed */
    long n;
    shoal_datum *datum; /* [n] */
    /* those of sets that are of conjunctions, in the order of sets; rows of their numbers */
    int n_conjunctions, n_mutual, n_rows, n_met;
    shoal_conjunctions *conjunctions;
    int *row_of, n_row_of;
    /* correlated errors: sets that have processes in common, and covariances (walker.h) */
    int n_groups, n_processes;
    shoal_walker_group *groups;
    shoal_walker_process *processes; /* [n_processes] in the order of groups */
    int *process_at;                 /* [n_processes of the config] where it is among them */
    long n_places, n_rotations;
    shoal_walker_place *places;
    double *rotations;
    shoal_walker_part *parts; /* [n_parts] of proper motions, in the order of data */
    int n_parts;
    long n_work;     /* numbers that a walker needs room for */
    double from, to; /* the times within which conjunctions can be; empty if there are none */
} shoal_data;

/* Read the files that a config names. Released with shoal_data_release on failure, too. */
shoal_status shoal_data_read(const shoal_study *study, shoal_data *data);
void shoal_data_release(shoal_data *data);
/* The unit of the values of a set, or of a process behind the last set; unit: room for it. */
const char *shoal_data_unit(const shoal_study *study, int set, char unit[SHOAL_UNIT_SIZE]);

/* ---- transits.c -------------------------------------------------------------------------------------------------- */

/* What is said of a set of transits. */
typedef struct shoal_transits_said {
    const config_setting_t *group;
    int kind;               /* SHOAL_DATA_* */
    bool numbered;          /* its data have their numbers as rows */
    double time_zero, unit; /* of its column of times; unit: in inner units */
    double velocity;        /* 1 m/s in inner units */
} shoal_transits_said;

/* Number the data of set i, which have been read, and give them rows of conjunctions. */
shoal_status shoal_transits_add(const shoal_study *study, const shoal_transits_said *said, shoal_data *data, int i);

/* ---- motions.c --------------------------------------------------------------------------------------------------- */

/* What is said of a star's proper motions: [6], of Hipparcos, of both, of Gaia, towards east and north. */
enum { SHOAL_MOTIONS = 6 };
typedef struct shoal_motions_said {
    double until[SHOAL_MOTIONS], correlation[SHOAL_MOTIONS]; /* NaN of a moment; with the one before */
    double zero, day;                                        /* Julian date (TDB) of time 0; in inner units */
} shoal_motions_said;

/* The places that make the proper motions of set i, and the covariance [6][6] of their errors. */
shoal_status shoal_motions_add(const shoal_study *study, const config_setting_t *group, const shoal_motions_said *said,
                               shoal_data *data, int i, double covariance[]);

/* ---- noise.c ----------------------------------------------------------------------------------------------------- */

/* The covariance of the errors of set i, whose data have been read: of the file that the set names, else `known`, if
 * that is not NULL. */
shoal_status shoal_noise_covariance(const shoal_study *study, const config_setting_t *group, shoal_data *data, int i,
                                    const double *known);
/* The processes of a config, of sets that have been read. */
shoal_status shoal_noise_processes(const shoal_study *study, shoal_data *data);

/* ---- trial.c ----------------------------------------------------------------------------------------------------- */

typedef struct shoal_trial shoal_trial;

/* A run of each walker for likelihood.stability = "megno", else *trial = NULL. walk: of the data. A NULL trial is that
 * of no walker in the functions below. */
shoal_status shoal_trial_create(const shoal_study *study, const shoal_walk *walk, long n_walkers, shoal_trial **trial);
void shoal_trial_destroy(shoal_trial **trial);
/* Vectors have so many numbers from here on. */
shoal_status shoal_trial_parameters(shoal_trial *trial, int n_parameters);
/* ln L of walkers that are not regular becomes -infinity; as shoal_engine_type.walk. */
shoal_status shoal_trial_of(shoal_trial *trial, const int *list, long n, const double *theta, double *lnl);

/* ---- beside.c ---------------------------------------------------------------------------------------------------- */

/* Vectors on their way to ln L, and to what the model says of the data: theta [n][n_parameters], lnl [n], predicted
 * [n][n_data]; the latter two NULL: not asked. */
typedef struct shoal_vectors {
    shoal_status (*walk)(struct shoal_vectors *batch);
    shoal_model *model;
    long n;
    int n_parameters;
    long n_data;
    const double *theta;
    double *lnl, *predicted;
    shoal_status status;
    double seconds;
} shoal_vectors;

typedef struct shoal_beside shoal_beside;

/* The same model on the CPU, for a part of the batches of a GPU's; *beside = NULL: they are too small, or the CPU
 * cannot have it. */
shoal_status shoal_beside_create(const shoal_study *study, long n_walkers, shoal_beside **beside);
void shoal_beside_destroy(shoal_beside **beside);
shoal_model *shoal_beside_model(const shoal_beside *beside);
/* Walkers that the CPU has taken so far. */
long shoal_beside_taken(const shoal_beside *beside);
/* Take a batch, whose model is the GPU's. */
shoal_status shoal_beside_walk(shoal_beside *beside, const shoal_vectors *all);

/* ---- model.c: plans of walkers ----------------------------------------------------------------------------------- */

/* The monitors of the study that end walkers: stop_on_..., whose event ends a system even if its action is a merger or
 * a removal, but not if it is only logged. There is room for one more. */
typedef struct shoal_endings {
    int n;
    shoal_plug_options monitor[SHOAL_MAX_MONITORS + 1];
    shoal_setting setting[SHOAL_MAX_MONITORS][SHOAL_MAX_PARAMETERS];
} shoal_endings;
void shoal_model_endings(shoal_context *context, const shoal_options *options, shoal_endings *endings);
/* A plan whose systems are all that of the study which is possible first. Where a mass is a parameter it is one that no
 * engine takes for constant: neither 0 nor that of the Sun. Both are to be destroyed on failure, too. */
shoal_status shoal_model_plan(const shoal_study *study, long n_walkers, const shoal_options *options,
                              shoal_ensemble **ensemble, shoal_plan **plan);

/* gradient.c: the scale of a parameter is where ln L bends by 1/2. Whether it is good enough, by what it bends there;
 * if not, it becomes a better one. */
bool shoal_scale_next(double bend, double widest, double *scale);
/* Vectors of k parameters from the unit cube, through the quantiles of their priors. */
typedef shoal_status shoal_from_cube(void *user, long n, const double *cube, double *theta);
/* The median of each parameter's prior, and half the width of its middle 68 %, all others at their medians. */
shoal_status shoal_prior_widths(shoal_context *context, int k, shoal_from_cube *from_cube, void *user, double *median,
                                double *width);

shoal_context *shoal_model_context(const shoal_model *model);
const shoal_study *shoal_model_study(const shoal_model *model);
/* Vectors that are evaluated at once. */
long shoal_model_n_walkers(const shoal_model *model);
/* Vectors that the CPU has taken beside a GPU so far. */
long shoal_model_n_hosted(const shoal_model *model);
const shoal_sample *shoal_model_prior(const shoal_model *model, int parameter);

/* ---- model.c: data of one's own ---------------------------------------------------------------------------------- */

/* What a model has read, for as long as it lives. */
const shoal_data *shoal_model_data(const shoal_model *model);
/* From here on vectors that are evaluated and predicted have one number more, behind the parameters: which of n rows of
 * values they have in the place of those of the data. The rows are those of the data at first. */
shoal_status shoal_model_own(shoal_model *model, int n);
/* The values [n_data] of a row. */
void shoal_model_set_own(shoal_model *model, int row, const double *values);

#endif
