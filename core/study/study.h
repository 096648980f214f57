/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * study.h: a checked config with its systems, and its run. study.c reads it; options.c: what a plan is to know of it;
 * systems.c makes the systems (body.c: from keys to an orbit; sample.c: random numbers); run.c runs it; big_study.c and
 * big_run.c: one big system.
 */
#ifndef SHOAL_STUDY_H
#define SHOAL_STUDY_H

#include "big/big.h"
#include "core/config/config.h"
#include "core/plan/plan.h"
#include "core/result/result.h"

/* ---- study.c: a checked config, its systems ---------------------------------------------------------------------- */

/* Whether it has all systems of its config, in which at least one has to be possible. */
bool shoal_study_is_whole(const shoal_study *study);

struct shoal_study {
    shoal_context *context;
    char *path;
    char *config_text; /* the file with the overrides applied, as libconfig writes it */
    shoal_units units;
    double angle; /* the user's unit of angle, in radians */
    const char *angle_name;
    char epoch[64];
    shoal_config config; /* what options point to is in it */
    /* what a plan is to know: as the config has it, in inner units, plugs in its order */
    shoal_options options;
    shoal_setting *settings;   /* all of them: the propagator's, then those of forces and monitors */
    shoal_plug_options *plugs; /* forces, then monitors */
    shoal_findings findings;   /* of the plan: systems that are invalid, passages that are not resolved */
    double t_start;            /* inner units */
    long first, stride;        /* of the config's systems it makes each stride-th from `first` on: run.shard */
    double system;             /* run.system: the id of the only one, NaN = all */
    long slice_steps;          /* 0 = auto; results do not depend on it */
    int64_t seed;
    double checkpoint_s; /* least wall time between checkpoints */
    /* output */
    char *output;    /* file */
    double interval; /* 0 = none; inner units or orbits */
    double *times;   /* [n_times] ascending along the direction of integration, likewise */
    int n_times;
    /* NULL = an ensemble; else one big system, and only what comes before this is filled in */
    struct shoal_big_study *big;
    /* the systems */
    shoal_ensemble *ensemble;
    struct shoal_table *given; /* borrowed, NULL = none: is filled with the systems that are possible, before the
                                * barycentre is split off, in inner units */
    char (*body_name)[SHOAL_NAME_SIZE];
    int n_axes;
    shoal_axis axes[SHOAL_MAX_AXES];
    int n_swept;
    shoal_column *swept; /* [n_swept] values in the user's units */
};

/*
 * shoal_study_load, and more:
 *   text   in      stands for the file at path, which need not be there; NULL: the file
 *   given  in/out  is filled with the systems; the study borrows it, as study->given; NULL = none
 */
shoal_status shoal_study_open(shoal_context *context, const char *path, const char *text, int n_overrides,
                              const char *const *overrides, struct shoal_table *given, shoal_study **study);
/* run.c: the result of a study before its first step: final states are the initial ones. */
shoal_status shoal_study_initial(shoal_study *study, shoal_result **result);
/* Measure what is fastest for it on a GPU, and keep it: rows[*n_rows], room for SHOAL_MOST_TUNED; line: the plan's.
 * The study is used up. */
shoal_status shoal_study_tune(shoal_study *study, shoal_tuned *rows, int *n_rows, char *line, size_t line_size);

/* The result file: `file` as the config has it, or NULL; malloc'd. */
char *shoal_output_name(const shoal_study *study, const char *file);

/* ---- csv.c, systems.c: fill study->ensemble, body_name, axes and swept columns ----------------------------------- */

/* How many of the config's n systems the study makes; refused if there is none or too many (place: what is to
 * blame). */
shoal_status shoal_study_share(const shoal_config *config, const shoal_study *study, const config_setting_t *place,
                               double n, long *share);
/* Systems from a file of Cartesian bodies. */
shoal_status shoal_systems_read(const shoal_config *config, const char *path, shoal_study *study);
/* Systems from `system`, `sweep` and `sample`. */
shoal_status shoal_systems_build(const shoal_config *config, shoal_study *study);

/* ---- body.c: from what is written of a body to its orbit --------------------------------------------------------- */

typedef struct shoal_body_input {
    double value[SHOAL_BODY_KEYS];                   /* inner units; defaults where not given */
    const config_setting_t *source[SHOAL_BODY_KEYS]; /* where it is given, NULL = not given */
    int relative_to;                                 /* index of a body before it */
    bool varied;                                     /* it is not the same in all systems */
} shoal_body_input;

/* True if a Cartesian key is given. */
bool shoal_body_is_cartesian(const shoal_body_input *body);
/* Refuse combinations that contradict each other or leave something open. */
shoal_status shoal_body_check(const shoal_config *config, const config_setting_t *setting, const shoal_body_input *body,
                              bool central, bool cartesian);
/* True if it is given relative to another body. */
bool shoal_body_is_tied(const shoal_body_input *body);
/* The mass of a checked body; +inf if m sin(inc) leaves it open. */
double shoal_body_mass(const shoal_body_input *body);
/*
 * The orbit of checked elements; false if there is none (reason: a phrase).
 *   mu      in   G times the central mass
 *   t       in   time
 *   other   in   the orbit of the body relative_to, as made here; read if the body is tied
 *   hill    in   ((m + m') / 3 m_0)^(1/3) / 2 of the two, likewise
 *   orbit   out  all fields
 */
bool shoal_body_orbit(const shoal_body_input *body, double mu, double t, const shoal_orbit *other, double hill,
                      shoal_orbit *orbit, const char **reason);

/* ---- sample.c: random numbers keyed by (seed, system id, parameter) ---------------------------------------------- */

typedef struct shoal_sample {
    int distribution;
    double angle; /* one of the user's units of angle in radians */
    double parameter[SHOAL_SAMPLE_KEYS];
} shoal_sample;

/* Read a checked group of sample.parameters for body key `key`. */
shoal_status shoal_sample_init(const shoal_config *config, const config_setting_t *group, int key,
                               shoal_sample *sample);
/* One value, the same whenever and in whatever order it is asked for. */
double shoal_sample_draw(const shoal_sample *sample, int64_t seed, int64_t id, int index);

/* ---- big_study.c ------------------------------------------------------------------------------------------------- */

typedef struct shoal_big_study {
    shoal_big_model model; /* n = 0: file */
    char *file;            /* path, NULL = model */
    int components;        /* bits of shoal_big_components, of the file */
    bool has_units;        /* false: numbers without units, G = 1 */
    shoal_tiled_options forces;
    char *method; /* forces.kernel borrows it */
    const shoal_big_method *propagator;
    shoal_big_steps steps;
    bool starts;                /* run.t_start is given */
    double interval;            /* between rows */
    long snapshots;             /* each so many rows, 0 = none */
    const shoal_format *format; /* of snapshots */
} shoal_big_study;

/* From a checked config with a group `model`; fills in what of the study is not of ensembles, too. */
shoal_status shoal_big_study_read(const shoal_config *config, shoal_study *study);
void shoal_big_study_destroy(shoal_big_study **big);
/* The bodies that it begins with. */
shoal_status shoal_big_study_bodies(const shoal_study *study, shoal_big_bodies *bodies);

/* ---- options.c: from a config to what a plan is to know of it ---------------------------------------------------- */

/* Everything but the plugs and their settings, which may name bodies. */
shoal_status shoal_study_read_options(const shoal_config *config, shoal_study *study);
/* These; the systems are there. */
shoal_status shoal_study_read_plugs(const shoal_config *config, shoal_study *study);
/* A plan of the study was refused for what is in study->findings.fault, which the context's message says: the same with
 * the file and the line. */
shoal_status shoal_study_refused(const shoal_study *study, shoal_status status);
/* Where a study begins and ends, as a plan counts: times, or with run.orbits periods. */
void shoal_study_span(const shoal_study *study, double *start, double *end);

/* ---- run.c ------------------------------------------------------------------------------------------------------- */

/* shoal_study_run of one big system. */
shoal_status shoal_big_run(shoal_study *study, bool overwrite, shoal_progress_callback callback, void *user);

#endif
