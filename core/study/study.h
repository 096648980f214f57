/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * study.h: a study: a checked config with its systems, and its run.
 *
 *     study.c                   reads the config
 *     options.c                 fills the options of the plan
 *     systems.c, systems_file.c, share.c
 *                               make the systems (body.c: from keys to an orbit; sample.c: random numbers; draws.c:
 *                               those of a posterior)
 *     run.c                     runs it
 *     certify.c                 runs a part of it three more times (run.certify)
 *     extend.c, begin.c         a result file as a study that goes on from it
 *     big_study.c, big_run.c    the same for one big system
 */
#ifndef SHOAL_STUDY_H
#define SHOAL_STUDY_H

#include "big/big.h"
#include "core/config/config.h"
#include "core/plan/plan.h"
#include "core/result/result.h"

/* ---- extend.c: from a result to a later end ---------------------------------------------------------------------- */

typedef struct shoal_extension {
    shoal_result *from; /* the result that a study goes on from, with what it keeps */
    long *row;          /* [n_systems] of the study's systems in it */
    double end;         /* its end, as the study's options have theirs */
    bool replaces;      /* the study's output is its file */
    const char *anew;   /* a monitor that knows the end of the run from the first step: nothing is gone on from, all
                         * begins again; NULL: there is none */
} shoal_extension;

/* For run.c: the rows of what had happened by the end of the earlier run, to the fresh result, and the systems that
 * had come there, to the fresh plan. n_snapshots: of each of these, that the longer run has, too. */
shoal_status shoal_extension_begin(const shoal_study *study, long n_snapshots, shoal_plan *plan, shoal_result *result);
void shoal_extension_destroy(shoal_extension **extension);

/* begin.c: the systems as they begin, of a study whose config names files. needed: whether its result has to have them;
 * save: to the result; load: from a result that has them, to a study without systems; config: a config's text that says
 * of these files what another text says of them, malloc'd, NULL: memory is out. */
bool shoal_begin_is_needed(const shoal_study *study);
shoal_status shoal_begin_save(const shoal_study *study, shoal_result *result);
shoal_status shoal_begin_load(shoal_study *study, const shoal_result *from);
char *shoal_begin_config(const char *text, const char *of);

/* ---- study.c: a checked config, its systems ---------------------------------------------------------------------- */

/* Whether the study makes all systems of its config. At least one of these must then be possible. */
bool shoal_study_is_whole(const shoal_study *study);

/* A Gaussian of several parameters: mean + L z with z normal and independent, L L^T the covariance. */
typedef struct shoal_correlated {
    int n;
    int *index;   /* [n] of the parameters */
    double *mean; /* [n] */
    double *root; /* [n][n] L, lower triangular */
} shoal_correlated;

/* A distribution (sample.c). */
typedef struct shoal_sample {
    int distribution;
    double angle;  /* one of the user's units of angle in radians */
    double period; /* of an angle that is uniform all the way round, as is what is tied to it: its prior has no bounds;
                    * else 0 */
    double parameter[SHOAL_SAMPLE_KEYS];
    const shoal_correlated *among; /* of a correlated one: all of them, and its place there */
    int rank;
} shoal_sample;

/* A parameter of the likelihood: a random value of `sample`, whose distribution is the prior. */
typedef struct shoal_study_parameter {
    char name[2 * SHOAL_NAME_SIZE]; /* "b.P", "hires.jitter" */
    double factor;                  /* to inner units */
    int set, number;                /* of data, processes: which of them, SHOAL_SET_*; set = -1: of bodies */
    bool drawn;                     /* it comes from sample.file and has no prior */
    shoal_sample prior;
} shoal_study_parameter;

/* A number of data that follows from a parameter: ratio times that, and add. */
typedef struct shoal_study_tie {
    int set, number, to;
    double ratio, add;
} shoal_study_tie;

/* The numbers of data that may be parameters. */
#define SHOAL_SET_NUMBER_LIST(X) X(offset) X(jitter) X(trend) X(curvature) X(parallax) X(ra) X(dec) X(pm_ra) X(pm_dec)
/* And those of `processes`, which count on from them. A process counts as a set behind the last of `data`. */
#define SHOAL_PROCESS_NUMBER_LIST(X) \
    X(sigma) X(period) X(decay) X(width) X(quality) X(quality_difference) X(mix) X(sine)
enum {
#define X(name) SHOAL_SET_##name,
    SHOAL_SET_NUMBER_LIST(X)
#undef X
        SHOAL_SET_NUMBERS,
    SHOAL_PROCESS_FIRST = SHOAL_SET_NUMBERS - 1,
#define X(name) SHOAL_PROCESS_##name,
    SHOAL_PROCESS_NUMBER_LIST(X)
#undef X
        SHOAL_ALL_NUMBERS
};

/* draws.c: whether a file of draws is a posterior in HDF5; columns of one: values [*n_rows][n_names], malloc'd. wanted:
 * so many rows from all parts of it, 0 or more than there are: all. */
bool shoal_posterior_is(const char *path);
shoal_status shoal_posterior_columns(shoal_context *context, const char *path, int n_names, const char *const names[],
                                     long wanted, double **values, long *n_rows);
/* How the columns of a posterior become the numbers of a study, value * factor + more, if the posterior has the config
 * of its own study; else as they are. Refused, at `place`, if elements of the two mean different things. */
typedef struct shoal_drawn_unit {
    double factor, more;
    char name[SHOAL_UNIT_SIZE]; /* in the file, "": none */
} shoal_drawn_unit;
shoal_status shoal_posterior_units(const shoal_config *config, const config_setting_t *place, const char *path, int n,
                                   const char *const names[], const shoal_parameter *const rows[],
                                   shoal_drawn_unit *of);

/* What a study with `data` says of its walkers (core/model/). */
typedef struct shoal_study_walkers {
    int n_bodies, n_parameters; /* n_bodies = 0: it has no data */
    shoal_frame frame;
    shoal_walker_body *bodies;
    shoal_study_parameter *parameters;
    shoal_study_tie *ties;
    int n_ties;
} shoal_study_walkers;

/* run.certify: which systems, and what is other than in the run (certify.c). */
typedef struct shoal_certify shoal_certify;

struct shoal_study {
    shoal_context *context;
    char *path;
    char *config_text; /* the file with the overrides applied, as libconfig writes it */
    shoal_units units;
    double angle; /* the user's unit of angle, in radians */
    const char *angle_name;
    char epoch[64];
    shoal_config config; /* options point into it */
    /* the plan's options: the values of the config in inner units, plugs in its order */
    shoal_options options;
    shoal_setting *settings;   /* those of the propagator, of forces, of monitors */
    shoal_plug_options *plugs; /* forces, then monitors */
    char devices[200];         /* run.devices, where it is no word */
    shoal_findings findings;   /* of the plan: invalid systems, pericentres that are not resolved */
    double t_start;            /* inner units */
    long first, stride;        /* run.shard: it makes each stride-th of the config's systems, from `first` on */
    double system;             /* run.system: the id of the only system, NaN = all */
    long slice_steps;          /* 0 = auto; results do not depend on it */
    long wave;                 /* systems of a wave, likewise (run.c) */
    bool has_run;
    int64_t seed;
    double checkpoint_s; /* least wall time between checkpoints */
    /* output */
    char *output;    /* file */
    double keeps;    /* whether it holds what a longer run would go on from; NaN: if it is not too much */
    double interval; /* 0 = none; inner units or orbits */
    double *times;   /* [n_times] in the direction of the integration; inner units or orbits */
    int n_times;
    shoal_extension *extends; /* NULL = it begins at its start */
    /* NULL = an ensemble; else one big system, and only the members above are used */
    struct shoal_big_study *big;
    /* the systems */
    shoal_ensemble *ensemble;
    int far_body; /* one whose place is given for a time centuries from t_start, 0 = none; and that time */
    double far_time;
    char *warnings;      /* of shoal_study_warnings; NULL: nobody has asked */
    char stands_in[200]; /* why no system is possible, so that later draws stand in, for a likelihood alone; or "" */
    long n_rows_drawn, n_rows; /* of a CSV in sample.file: its first ones are drawn; 0: there is none */
    struct shoal_table *given; /* borrowed, NULL = none: receives the possible systems in inner units, in the frame of
                                * the config */
    char (*body_name)[SHOAL_NAME_SIZE];
    int n_axes;
    shoal_axis axes[SHOAL_MAX_AXES];
    int n_swept;
    shoal_column *swept; /* [n_swept] values in the user's units */
    shoal_study_walkers walkers;
    shoal_correlated correlated; /* parameters of a common prior */
    shoal_certify *certify;      /* NULL: none */
};

/*
 * shoal_study_open: shoal_study_load with two more arguments.
 *   text   in      the text of the config; the file at path need not exist then; NULL: the text of that file
 *   given  in/out  receives the systems; the study borrows it as study->given; NULL = none
 */
shoal_status shoal_study_open(shoal_context *context, const char *path, const char *text, int n_overrides,
                              const char *const *overrides, struct shoal_table *given, shoal_study **study);
/* Refuse what no program may give to a function that makes a study; *study becomes NULL. path: of its file. */
shoal_status shoal_study_check_given(shoal_context *context, const char *function, const char *path, int n_overrides,
                                     const char *const *overrides, shoal_study **study);
/* shoal_study_open with systems that a result has kept (begin.c); from: borrowed until it returns, NULL = none. */
shoal_status shoal_study_open_from(shoal_context *context, const char *path, const char *text, int n_overrides,
                                   const char *const *overrides, const shoal_result *from, shoal_study **study);
/* run.c: the result of a study before its first step. Its final states are the initial ones. */
shoal_status shoal_study_initial(shoal_study *study, shoal_result **result);
/* Measure which choice is fastest for the study on a GPU, and keep it beside the compiled kernels. rows: [*n_rows] the
 * choices, with room for SHOAL_MOST_TUNED; line receives the plan line. The study cannot be run afterwards. */
shoal_status shoal_study_tune(shoal_study *study, shoal_tuned *rows, int *n_rows, char *line, size_t line_size);

/* The name of the result file, malloc'd. file: that in the config, or NULL. */
char *shoal_output_name(const shoal_study *study, const char *file);
/* That of a shard, by that of the whole study; malloc'd. */
char *shoal_shard_name(const char *whole, long shard, long n_shards);
/* The name of the whole study's result file from that of a shard's, and which shard of how many it is; 1 of 1: the name
 * is none of a shard's. malloc'd, NULL when memory is out. */
char *shoal_whole_name(const char *file, long *shard, long *n_shards);

/* ---- systems.c, systems_file.c, share.c: fill study->ensemble, body_name, axes and swept columns ----------------- */

/* The number of the config's n systems that the study makes. Refused if it is 0 or too large; place: the setting at
 * fault. */
shoal_status shoal_study_share(const shoal_config *config, const shoal_study *study, const config_setting_t *place,
                               double n, long *share);
/* Systems from a file of Cartesian bodies. */
shoal_status shoal_systems_read(const shoal_config *config, const char *path, shoal_study *study);
/* Systems from `system`, `sweep` and `sample`. */
shoal_status shoal_systems_build(const shoal_config *config, shoal_study *study);

/* ---- body.c: from the keys of a body to its orbit ---------------------------------------------------------------- */

typedef struct shoal_body_input {
    double value[SHOAL_BODY_KEYS];                   /* inner units; defaults where not given */
    const config_setting_t *source[SHOAL_BODY_KEYS]; /* where each is given, NULL = not given */
    int relative_to;                                 /* the body, earlier in the list, to which keys refer */
    double mass_unit;                                /* of log10_m */
    bool varied;                                     /* the body is not the same in all systems */
} shoal_body_input;

/* True if a Cartesian key is given. */
bool shoal_body_is_cartesian(const shoal_body_input *body);
/* What is known of a body beside its keys. */
typedef struct shoal_body_place {
    double t;
    double star_mass, star_radius; /* of the first body */
    double within;                 /* the mass that it orbits, without its own; read only if its mass follows */
    double other_mass;             /* of the body relative_to; this one and the next are read only if it is tied */
    const shoal_orbit *other;      /* from shoal_body_orbit */
} shoal_body_place;

/* Refuse keys that contradict each other or do not determine the orbit. star: the first body, which may be this one. */
shoal_status shoal_body_check(const shoal_config *config, const config_setting_t *setting, const shoal_body_input *body,
                              const shoal_body_input *star, bool cartesian, shoal_frame frame);
/* True if it is given relative to another body. */
bool shoal_body_is_tied(const shoal_body_input *body);
/* True if its mass follows from its orbit, and so from the masses that it orbits. */
bool shoal_body_mass_follows(const shoal_body_input *body);
/* Where its mass is given, or the last of what it follows from. */
const config_setting_t *shoal_body_mass_source(const shoal_body_input *body);
/* The mass of a checked body; +inf if m sin(inc) or K leaves it open, or if it is beyond all numbers. */
double shoal_body_mass(const shoal_body_input *body, const shoal_body_place *place);
double shoal_body_radius(const shoal_body_input *body, double m);
/*
 * shoal_body_orbit: the orbit of checked elements.
 *   m       in   mass
 *   mu      in   G times the central mass
 *   orbit   out  all members
 *   reason  out  a phrase, if there is no such orbit
 *   returns      false if there is no such orbit
 */
bool shoal_body_orbit(const shoal_body_input *body, const shoal_body_place *place, double m, double mu,
                      shoal_orbit *orbit, const char **reason);

/* ---- sample.c: random numbers keyed by (seed, system id, parameter) ---------------------------------------------- */

/* Read a checked group of sample.parameters for a number that has this row. */
shoal_status shoal_sample_init(const shoal_config *config, const config_setting_t *group, const shoal_parameter *row,
                               shoal_sample *sample);
/* One value. It depends on the arguments alone, so values may be drawn in any order. */
double shoal_sample_draw(const shoal_sample *sample, int64_t seed, int64_t id, int index);
/* The natural logarithm of the density of parameter i of a vector, -infinity outside; of a correlated one, given those
 * before it. */
double shoal_sample_log_density(const shoal_sample *sample, const double *theta, int i);
/* What makes that infinite at an end of a Beta distribution: the factors x^(alpha - 1), (1 - x)^(beta - 1) with a power
 * below 0. There itself, where no mass is, it is -infinity. */
double shoal_sample_log_rise(const shoal_sample *sample, double x);
/* The value of parameter i below which a part of the probability lies, 0 <= part[i] <= 1; of a correlated one, given
 * those before it. */
double shoal_sample_quantile(const shoal_sample *sample, const double *part, int i);
/* The value of Student's t distribution below which a part u lies, 0 < u < 1. */
double shoal_sample_student(double freedom, double u);
/* An angle of a period within from..to; other numbers as they are. */
double shoal_sample_wrap(const shoal_sample *sample, double x);
/* The triangular root of a covariance in place; false if it has none, or is not symmetric to 1e-9. */
bool shoal_sample_root(int n, double *covariance);

/* ---- big_study.c ------------------------------------------------------------------------------------------------- */

typedef struct shoal_big_study {
    shoal_big_model model; /* n = 0: file */
    char *file;            /* path, NULL = model */
    int components;        /* bits of shoal_big_components, of the file */
    bool has_units;        /* false: numbers without units, G = 1 */
    shoal_tiled_options forces;
    char *method; /* forces.kernel points to it */
    const shoal_big_method *propagator;
    shoal_big_steps steps;
    bool starts;                /* run.t_start is given */
    double interval;            /* between rows */
    long snapshots;             /* each so many rows, 0 = none */
    const shoal_format *format; /* of snapshots */
    char *notes; /* what the reader of the file assumed or left out, a line each; NULL = nothing is read */
} shoal_big_study;

/* Read a checked config with a group `model`. It fills study->big, and the members that ensembles use as well. */
shoal_status shoal_big_study_read(const shoal_config *config, shoal_study *study);
void shoal_big_study_destroy(shoal_big_study **big);
/* Make the bodies with which it begins, and study->big->notes. */
shoal_status shoal_big_study_bodies(const shoal_study *study, shoal_big_bodies *bodies);

/* ---- options.c: from a config to the options of a plan ----------------------------------------------------------- */

/* Read all options but the plugs and their settings. */
shoal_status shoal_study_read_options(const shoal_config *config, shoal_study *study);
/* Read the plugs and their settings. The systems must be there, since settings may name bodies. */
shoal_status shoal_study_read_plugs(const shoal_config *config, shoal_study *study);
/* After a plan of the study was refused: add file and line of study->findings.fault to the context's message. */
shoal_status shoal_study_refused(const shoal_study *study, shoal_status status);
/* The start and the end of a study in the plan's counting: times, or periods with run.orbits. */
void shoal_study_span(const shoal_study *study, double *start, double *end);

/* ---- certify.c --------------------------------------------------------------------------------------------------- */

/* Read run.certify, the plugs being there. */
shoal_status shoal_certify_read(const shoal_config *config, shoal_study *study);
/* Draw some of the systems that are in the study's ensemble, as they are before the run; they add to those drawn
 * before. */
shoal_status shoal_certify_draw(shoal_study *study);
/* Refuse what the other methods cannot do with the drawn systems. */
shoal_status shoal_certify_check(const shoal_config *config, const shoal_study *study);
void shoal_certify_destroy(shoal_certify **certify);
/* Whether a result is of a run that has to certify yet: its config says so, and it has no log of it. */
bool shoal_certify_is_due(const shoal_result *result);
/* After the run: run the drawn systems three more times, and add their ends to its result as a log. Each of the three
 * has a result file beside the study's, from which a later call goes on or takes what is complete. */
shoal_status shoal_certify_run(shoal_study *study, shoal_result *result, shoal_progress_callback callback, void *user);
/* Remove these files. */
void shoal_certify_clean(const shoal_study *study);

/* ---- run.c ------------------------------------------------------------------------------------------------------- */

/* shoal_study_run for an ensemble. */
shoal_status shoal_ensemble_run(shoal_study *study, bool overwrite, shoal_progress_callback callback, void *user);
/* Whether its result holds what a longer run goes on from. */
bool shoal_ensemble_keeps(const shoal_study *study);

/* shoal_study_run for one big system. */
shoal_status shoal_big_run(shoal_study *study, bool overwrite, shoal_progress_callback callback, void *user);

#endif
