/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plan.h: a plan: an ensemble with its propagator, forces, monitors and engine, and how far its systems have come.
 */
#ifndef SHOAL_PLAN_H
#define SHOAL_PLAN_H

#include "core/engine/engine.h"
#include "core/ensemble/ensemble.h"
#include "core/ensemble/kept.h"

/* ---- plan.c ------------------------------------------------------------------------------------------------------ */

typedef enum shoal_fault_of {
    SHOAL_FAULT_NONE, /* no single option is at fault; the message says what is */
    SHOAL_FAULT_OPTION,
    SHOAL_FAULT_PROPAGATOR,
    SHOAL_FAULT_FORCE,
    SHOAL_FAULT_MONITOR
} shoal_fault_of;

/* The option that is at fault when options are refused. */
typedef struct shoal_fault {
    shoal_fault_of of;
    int index;        /* in options->forces, options->monitors */
    const char *plug; /* the plug's name */
    const char *name; /* of the option, or of the plug's parameter; NULL: the plug itself */
    const char *word; /* the value, if it is a word; "": it is not given; NULL: the value is `number` */
    double number;
    const char *subject; /* begins the message where "NAME = VALUE" is not enough; else NULL */
    const char *nearest; /* the known word nearest to it, NULL: none is near */
    char expected[SHOAL_MESSAGE_SIZE / 2];
} shoal_fault;

/* Who makes a plan. For a study, useless options are refused, too: bounds of a step that is fixed, a monitor that sees
 * nothing in any system, times in periods if the only system has none. In a part of a study, the propagator or a force
 * may apply to none of the systems. */
typedef enum shoal_plan_maker { SHOAL_MAKER_CALLER, SHOAL_MAKER_STUDY, SHOAL_MAKER_PART } shoal_plan_maker;

/* Systems whose steps are too long: how many; the id of the worst, the body in it, how badly; a step that is short
 * enough for all of them, and how many in a shortest period are enough. */
typedef struct shoal_long_steps {
    long n, worst;
    int body;
    double by, step, steps;
    const char *force; /* that brakes the body */
} shoal_long_steps;

/* What a plan finds out about its options and systems. */
typedef struct shoal_findings {
    shoal_plan_maker maker;
    shoal_fault fault;
    long n_invalid, first_invalid; /* number of impossible systems, and the id of the first */
    char why_invalid[200];         /* why the first is impossible */
    /* pericentres that the steps do not resolve, by how many times they are too long; bodies that a force brakes within
     * few steps, by that rate times the step */
    shoal_long_steps unresolved, braked;
    /* systems with a body that is listed after one that has mass and is farther out; the id of the first, these two
     * bodies */
    long n_disordered, first_disordered;
    int disordered[2];
    double run_steps; /* of all systems from the start to t_end, roughly */
    bool warns;       /* unresolved, braked and disordered systems are looked for */
    bool walkers;     /* no slice advances these systems */
} shoal_findings;

/* Steps that the rest of an adaptive run may need, unless max_steps is given: a day of a core and more. */
#define SHOAL_PATIENCE 1e11

enum { SHOAL_PLAN_LISTS = 8, SHOAL_MOST_TUNED = 16 };

/* A choice that was measured, in system-steps/s; 0 = it did not run. */
typedef struct shoal_tuned {
    shoal_kernel_choice choice;
    bool on_cpu;
    double rate;
} shoal_tuned;

/* What a monitor logged (logs.c): rows of doubles, system, time, and its log columns; inner units. */
typedef struct shoal_plan_log {
    bool is_kept; /* the monitor is there, and logs */
    long n_rows;
    double *rows;
} shoal_plan_log;

struct shoal_plan {
    shoal_context *context;
    shoal_ensemble *ensemble; /* borrowed */
    const shoal_propagator *propagator;
    const shoal_engine_type *engine_type;
    shoal_devices devices; /* GPUs that share the systems; 0: one, or none */
    shoal_engine *engine;
    shoal_kernel_choice choice;
    bool any_engine, any_model;          /* Shoal chooses the engine, the work model; else the user has */
    int form;                            /* SHOAL_FORM_* that the user has chosen, -1: none */
    shoal_tuning forced;                 /* what the user has set of the tuning */
    char tune[8];                        /* "auto", "always" or "never" */
    double dt, steps_per_orbit;          /* as in shoal_options */
    shoal_findings *findings;            /* borrowed while the plan is made or restarted */
    long changes;                        /* changes of the ensemble that the plan has taken up */
    long n_chosen_for;                   /* systems that ran when the choice was made */
    bool goes_on;                        /* the engine begins with args.native and does not prepare it */
    shoal_tuned tuned[SHOAL_MOST_TUNED]; /* [n_tuned] */
    int n_tuned;
    shoal_kernel_args args; /* host pointers */
    shoal_eases eases;      /* of the forces */
    double t_end;
    /* [n_systems] with options.orbits: the unit of t_end and all times given to the plan; else NULL */
    double *period;
    int *list; /* [n_list] systems still running, ascending */
    long n_list;
    int *ended; /* [n_ended] systems that left the list after the last slice */
    long n_ended;
    long slice_steps;    /* most steps of the next slice, adapted */
    double system_steps; /* done so far */
    double reached;      /* the last time that a caller asked for, NAN: none */
    double left;         /* progress that the running systems have still to make, summed */
    double slowest_left; /* the largest part of a run, 0..1, that a system has still to make */
    int slowest;         /* this system */
    bool watch_fresh;    /* args.watch is what the engine has */
    /* slice.c */
    int host_threads;
    double *goal;         /* [n_systems] the time that each goes to, NaN = none yet */
    bool records_changed; /* the engine needs the changed records */
    const int *asked;     /* [n_asked] systems whose states are requested, borrowed */
    long n_asked;
    bool asked_ended;       /* some of these systems have ended */
    bool watch_fetched;     /* args.watch is being copied to the host */
    int *moving, *unsorted; /* [n_moving] systems of this slice */
    long n_moving;
    short *bin;                    /* [n_systems] the bin of the expected steps */
    double *expected, *tried;      /* [n_systems] steps to the goal; steps tried before this slice */
    double length;                 /* the most steps of a system in this slice */
    double steps_before;           /* steps of all running systems before this slice */
    double ended_at, gap, pace;    /* end of the last slice (wall clock); s between slices; steps/s of a system */
    void *lists[SHOAL_PLAN_LISTS]; /* the allocations of all arrays with one item a system */
    shoal_event *events;           /* [n_events] */
    long n_events;
    shoal_plan_log logs[SHOAL_MAX_MONITORS];
    int n_vectors, n_followers; /* tangent vectors of a system; plans that move all but the first: vectors.c */
    shoal_plan **followers;     /* [n_followers] each with an ensemble of its own */
    /* keep.c: receives systems at t_end, borrowed, NULL: nothing is kept; this plan's place in a row; the first row of
     * the last slice */
    shoal_kept *kept;
    int kept_at;
    long kept_from;
    char engine_line[256], line[768];
    char *warnings;                      /* NULL: none was asked for */
    char column_name[SHOAL_COLUMN_SIZE]; /* the answer of shoal_plan_column_name */
};

static inline double *shoal_plan_field(const shoal_plan *plan, int which, long system)
{
    return shoal_ensemble_field(plan->ensemble, which, system);
}

/* shoal_plan_create that also fills findings. */
shoal_status shoal_plan_try(shoal_context *context, shoal_ensemble *ensemble, const shoal_options *options,
                            shoal_findings *findings, shoal_plan **plan);
/* The checks of shoal_plan_try, without an engine. It refuses what shoal_plan_try would refuse, makes the same systems
 * `invalid`, and sets the steps of all. If it refuses, some systems may have become `invalid` already. */
shoal_status shoal_plan_check(shoal_context *context, shoal_ensemble *ensemble, const shoal_options *options,
                              shoal_findings *findings);

/* ---- warn.c ------------------------------------------------------------------------------------------------------ */

/* All of which a user may be warned; bodies are named by options->names. */
typedef struct shoal_warned {
    const shoal_ensemble *ensemble;
    const shoal_options *options;
    const shoal_propagator *propagator;
    const shoal_findings *findings;
    const shoal_units *units;
} shoal_warned;

/* A line for each warning. */
void shoal_plan_warn(const shoal_warned *of, FILE *out);

/* ---- halve.c ----------------------------------------------------------------------------------------------------- */

typedef struct shoal_halved {
    shoal_options options;                            /* with half the step */
    shoal_setting settings[2 * SHOAL_MAX_PARAMETERS]; /* theirs */
    char changed[80];                                 /* what is other than before */
    const char *what;    /* the parameter that is too small to be divided; "name": the propagator has none; else NULL */
    double at_least, by; /* its least value, and by what it is divided; 0: it has none */
} shoal_halved;

/* Half the step; of an adaptive propagator its tolerance is divided. False: that cannot be done. */
bool shoal_options_halve(const shoal_propagator *propagator, const shoal_options *options, shoal_halved *half);

/* ---- choose.c: from options to choices; it refuses options that no plan can have --------------------------------- */

/* Refuse options: *fault becomes `what`, with `expected` from the format. The context's message says the same. */
shoal_status shoal_refuse(shoal_context *context, shoal_fault *fault, shoal_status status, shoal_fault what,
                          const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Count n more impossible systems; `id` is the first of them, `why` the reason. */
void shoal_findings_invalid(shoal_findings *findings, long n, long id, const char *why);

#define SHOAL_DEFAULT_PROPAGATOR "mvs"
#define SHOAL_ENGINE_CHOICES     "auto|cpu|cuda"
#define SHOAL_FORM_CHOICES       "auto|pairs|rows"
#define SHOAL_TUNE_CHOICES       "auto|always|never"

/* Check the options that depend neither on the systems nor on the settings of propagator, forces and monitors. */
shoal_status shoal_plan_check_options(shoal_context *context, const shoal_options *options, shoal_findings *findings);
shoal_status shoal_plan_choose_propagator(shoal_plan *plan, const shoal_options *options);
shoal_status shoal_plan_choose_forces(shoal_plan *plan, const shoal_options *options);
shoal_status shoal_plan_choose_monitors(shoal_plan *plan, const shoal_options *options);
/* Refuse a propagator or a force that applies to none of the systems. With `commit` refuse nothing: systems to which
 * one does not apply become `invalid`. */
shoal_status shoal_plan_check_systems(const shoal_plan *plan, bool commit);
/* A plan for so many systems will be made: open its GPU, if it will have one, beside the rest of the set-up. */
void shoal_plan_expect(const shoal_options *options, long n_systems);
/* Whether that plan will have one. */
bool shoal_plan_has_gpu(const shoal_options *options, long n_systems);
/* Choose and make the engine. `why` receives the reason for the choice of `auto`. */
shoal_status shoal_plan_choose_engine(shoal_plan *plan, const shoal_options *options, char *why, size_t why_size);
/* Choose how the engine sums forces. */
void shoal_plan_choose_form(shoal_plan *plan);
/* Returns the number of bodies up to the last one with mass in some system. unit_star: body 0 has mass 1 in all
 * systems, and keeps it. */
int shoal_plan_find_massive(const shoal_plan *plan, bool *unit_star);

/* ---- devices.c --------------------------------------------------------------------------------------------------- */

/* Read an option `devices`; false: it says nothing. count: so many, 0: as many as pay, -1: all; list->n > 0: these. */
bool shoal_plan_read_devices(const char *text, shoal_devices *list, int *count);
/* Refuse an option that says nothing; find the GPUs that it means here, for a plan whose engine is one. */
shoal_status shoal_plan_check_devices(shoal_context *context, const shoal_options *options, shoal_fault *fault);
shoal_status shoal_plan_choose_devices(shoal_plan *plan, const shoal_options *options);

/* ---- options.c: the options of a caller -------------------------------------------------------------------------- */

/* Read the options of a caller, whose version may have fewer members, or more. function: the public one, for
 * messages. */
shoal_status shoal_options_read(shoal_context *context, const char *function, const shoal_options *given,
                                shoal_options *options);

/* ---- steps.c: when systems end, how long their steps are --------------------------------------------------------- */

/* The orbit of a moon about its planet: no heavier, nearer to it than to the star, on an ellipse in its Hill sphere
 * with e < 0.9. (Planets that pass each other slowly are bound for that time, on orbits along a line.) Returns false if
 * it is none. */
bool shoal_plan_moon(const shoal_body *star, const shoal_body *planet, const shoal_body *moon, shoal_orbit *orbit);
/* Set when the systems end; with options.orbits find the periods in which times are counted. */
shoal_status shoal_plan_choose_end(shoal_plan *plan, const shoal_options *options);
shoal_status shoal_plan_find_periods(shoal_plan *plan);
/* Find the signed step and the number of whole steps of every running system. With `commit` they are written, else only
 * checked. */
shoal_status shoal_plan_choose_steps(shoal_plan *plan, bool commit);

/* ---- clock.c: the time of systems, and the time that they go to -------------------------------------------------- */

/* The part of a step below which a remainder is rounding of the times t and t_start + n dt, and no time. */
double shoal_whole_step(double t_start, double t, double dt);
/* The time that t means: t itself, or with options.orbits t periods of the system after its start. */
double shoal_plan_absolute_time(const shoal_plan *plan, long system, double t);
/* The time of a system's last step, and its progress on the way to SHOAL_SYS_END: whole steps, or time if steps are
 * adaptive. */
double shoal_plan_time(const shoal_plan *plan, long system);
double shoal_plan_progress(const shoal_plan *plan, long system);
/* What is left of the time from a system's last step to t. */
double shoal_plan_time_left(const shoal_plan *plan, long system, double t);
/* Whether its next step would pass the target. */
bool shoal_plan_waits(const shoal_plan *plan, long system);
/* Write the running systems, in their order, to plan->list. */
void shoal_plan_list_running(shoal_plan *plan);
/* Note that a system's record has changed, so that the engine gets it. */
void shoal_plan_record_changed(shoal_plan *plan);
/* Send a system to time t. It moves until its next step would pass t, and has then arrived. A system that arrives at
 * t_end has survived. clear_goals: all systems must be sent again. None of these three is called between begin and
 * end. */
void shoal_plan_set_goal(shoal_plan *plan, long system, double t);
void shoal_plan_clear_goals(shoal_plan *plan);
bool shoal_plan_arrived(const shoal_plan *plan, long system);

/* ---- states.c: the states of systems at given times -------------------------------------------------------------- */

/* Set the time t of the state that is requested of a system. t lies within its next step. NaN: the time where it is. A
 * system that has ended gives its last state. Returns false if t does not lie there; no_state_at makes the error. */
bool shoal_plan_set_state_time(shoal_plan *plan, long system, double t);
shoal_status shoal_plan_no_state_at(const shoal_plan *plan, long system, double t);
/* Request the states of the listed systems: shoal_plan_begin has them copied to args.snapshot, and if some have ended
 * also what the monitors carry. The list is borrowed until then. */
void shoal_plan_request_states(shoal_plan *plan, const int *list, long n_list, bool ended);
/* make: send changed records to the engine, which makes the requested states. receive: wait until they are there. */
shoal_status shoal_plan_make_states(shoal_plan *plan);
shoal_status shoal_plan_receive_states(shoal_plan *plan);
/* Fill args.snapshot with the barycentric states of the listed systems at exactly t; those of systems that have ended
 * are at their last step. t = NaN: each system where it is now. */
shoal_status shoal_plan_snapshot(shoal_plan *plan, double t, const int *list, long n_list);

/* ---- watch.c: what the monitors carry ---------------------------------------------------------------------------- */

/* Set their first values; remove all marks and records. */
void shoal_plan_watch_begin(shoal_plan *plan);
void shoal_plan_marks_begin(shoal_plan *plan);
/* Tell the monitors which bodies a system begins or continues with. */
void shoal_plan_watch_bodies(shoal_plan *plan, long system);
/* Copy what the monitors carry from the engine; columns have values then. */
shoal_status shoal_plan_fetch_watch(shoal_plan *plan);
/* The value of a monitor's column for a system; `part`: the body or pair, if the column has a value for each. */
double shoal_plan_column_value(const shoal_plan *plan, int monitor, int column, int part, long system);

/* ---- engines.c --------------------------------------------------------------------------------------------------- */

/* Make the plan's engine, of its type, for its choice. */
shoal_status shoal_plan_create_engine(shoal_plan *plan);
/* Give the engine the systems as they begin or continue. */
shoal_status shoal_plan_start_engine(shoal_plan *plan);
/* Replace the plan's engine by another of the same type, which starts from the host's arrays. */
shoal_status shoal_plan_exchange_engine(shoal_plan *plan, const shoal_kernel_choice *choice);
/* Write the plan line: "mvs (compensated) with gr and j2, n = 63, rows (3 bodies attract), ..." */
void shoal_plan_write_line(shoal_plan *plan, const char *tuned, const char *why);

/* ---- tune.c ------------------------------------------------------------------------------------------------------ */

#define SHOAL_PAIR_S \
    5e-12 /* a step of a system on a GPU, a pair of its bodies, where there are enough systems; roughly */

/* Complete a choice by rule: model, block. */
void shoal_tune_rule(const shoal_plan *plan, long n_list, shoal_kernel_choice *choice);
/* Replace a plan's engine, which was made by rule, by the fastest; by the CPU's, too. plan->tune: "always" measures;
 * "auto" uses an earlier measurement, and measures if the run is long; "never" keeps the rule. why receives the
 * reason. */
shoal_status shoal_tune(shoal_plan *plan, char *why, size_t why_size);
/* Whether, by rule, the remaining systems need another choice than the plan's, and enough work is left to change it. */
bool shoal_tune_is_due(const shoal_plan *plan, shoal_kernel_choice *choice);
/* Between slices: change the choice if too few systems are left for it. */
shoal_status shoal_tune_again(shoal_plan *plan);

/* ---- slice.c: one slice after the other -------------------------------------------------------------------------- */

/* Make the requested states. With `move` also begin the next slice of the systems that have not arrived; nobody uses
 * their records until it ends. */
shoal_status shoal_plan_begin(shoal_plan *plan, bool move);
/* End the slice: records are up to date, systems that have ended leave the list. n_moved: systems that have moved. */
shoal_status shoal_plan_end(shoal_plan *plan, long *n_moved);
/* Count the work that the running systems have left. */
void shoal_plan_count(shoal_plan *plan);
/* Send all systems to time t, begin a slice and end it. */
shoal_status shoal_plan_slice(shoal_plan *plan, double t, long *n_moved);

/* events.c: act on what a slice has marked or recorded in those systems, keep it, and let them go on.
 * SHOAL_ARRAY_SYSTEMS is on the host. */
shoal_status shoal_plan_take_events(shoal_plan *plan, const int *list, long n_list);

/* ---- vectors.c: further tangent vectors -------------------------------------------------------------------------- */

/* Make and remove the plans that move them; let these begin as the plan does. */
shoal_status shoal_plan_add_followers(shoal_plan *plan, const shoal_options *options);
void shoal_plan_remove_followers(shoal_plan *plan);
shoal_status shoal_plan_restart_followers(shoal_plan *plan);
/* After a slice: they come to where the plan is. */
shoal_status shoal_plan_follow(shoal_plan *plan);
/* Copy all vectors from the engines; the value of a column that is made of them. */
shoal_status shoal_plan_fetch_vectors(shoal_plan *plan);
double shoal_plan_vectors_value(const shoal_plan *plan, const shoal_monitor *type, int column, long system);

/* ---- logs.c ------------------------------------------------------------------------------------------------------ */

/* Doubles of a log's row: system, time, the monitor's columns. */
enum { SHOAL_LOG_SYSTEM, SHOAL_LOG_TIME, SHOAL_LOG_VALUES };
/* The name of a column of the log of a monitor; NULL after the last one, or with a message if there is no such log. */
const char *shoal_plan_log_column(const shoal_plan *plan, const char *function, const char *monitor, int i,
                                  const char **dimension);
/* Keep a record (SHOAL_RECORD_*) of a system, unless one of its bodies is gone. became: [n_bodies] the body that
 * each is part of by now, -1 = it left. */
shoal_status shoal_plan_log_add(shoal_plan *plan, long system, const double *record, const int *became);

/* ---- checkpoint.c ------------------------------------------------------------------------------------------------ */

/* Save and restore all that a restart needs: the run continues with the same bits. The size is in bytes. */
size_t shoal_plan_state_size(const shoal_plan *plan);
shoal_status shoal_plan_state_save(shoal_plan *plan, void *state);
shoal_status shoal_plan_state_load(shoal_plan *plan, const void *state);
/* The records, the native states and what the monitors carry have been loaded: begin with them. */
shoal_status shoal_plan_go_on(shoal_plan *plan);

/* ---- keep.c ------------------------------------------------------------------------------------------------------ */

/* From now on each system that comes to t_end leaves a row in `kept`, from which a run to a later end goes on with the
 * same bits; sets its width and layout. The table is borrowed. */
shoal_status shoal_plan_keep(shoal_plan *plan, shoal_kept *kept);
/* For slice.c: keep the listed systems, ascending, as they are; then count what has happened to them since. */
shoal_status shoal_plan_keep_systems(shoal_plan *plan, const int *list, long n);
void shoal_plan_keep_count(const shoal_plan *plan, long first_event, const long first_row[SHOAL_MAX_MONITORS]);
/* A new plan goes on from rows of such a table. row: [n_systems] NULL: the system has ended, with outcome[system]. What
 * is counted in a row begins with the events, then the rows of each log. */
shoal_status shoal_plan_keep_load(shoal_plan *plan, double *const *row, const int *outcome);

#endif
