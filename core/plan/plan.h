/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plan.h: an ensemble with everything chosen, on its way.
 */
#ifndef SHOAL_PLAN_H
#define SHOAL_PLAN_H

#include "core/engine/engine.h"
#include "core/ensemble/ensemble.h"

/* ---- plan.c ------------------------------------------------------------------------------------------------------ */

typedef enum shoal_fault_of {
    SHOAL_FAULT_NONE, /* no option alone is at fault: the message says what is */
    SHOAL_FAULT_OPTION,
    SHOAL_FAULT_PROPAGATOR,
    SHOAL_FAULT_FORCE,
    SHOAL_FAULT_MONITOR
} shoal_fault_of;

/* What is at fault with options that are refused. */
typedef struct shoal_fault {
    shoal_fault_of of;
    int index;           /* in options->forces, options->monitors */
    const char *plug;    /* the plug's name */
    const char *name;    /* of the option, or of the plug's parameter; NULL: the plug itself */
    const char *word;    /* the value, if it is a word; "": it is not given */
    double number;       /* else */
    const char *subject; /* for the message, where "NAME = VALUE" does not say it all */
    const char *nearest; /* the known word nearest to it, NULL: none is near */
    char expected[SHOAL_MESSAGE_SIZE / 2];
} shoal_fault;

/* Who makes a plan. A study is also refused what is of no use: bounds of steps that are all the same, a monitor that
 * sees nothing in any system, times in periods of one system that has none. In a part of a study, a propagator or a
 * force may be for none of the systems. */
typedef enum shoal_plan_maker { SHOAL_MAKER_CALLER, SHOAL_MAKER_STUDY, SHOAL_MAKER_PART } shoal_plan_maker;

/* What a plan finds out about its options and systems. */
typedef struct shoal_findings {
    shoal_plan_maker maker;
    shoal_fault fault;
    long n_invalid, first_invalid; /* systems that are impossible, and the id of the first of them */
    char why_invalid[200];         /* it is */
    long n_unresolved;             /* a study's systems with an orbit whose pericentre the steps do not resolve */
} shoal_findings;

enum { SHOAL_PLAN_LISTS = 8, SHOAL_MOST_TUNED = 16 };

/* A choice that was measured, in system-steps/s; 0 = it did not run. */
typedef struct shoal_tuned {
    shoal_kernel_choice choice;
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
    shoal_engine *engine;
    shoal_kernel_choice choice;
    bool any_model;                      /* of a GPU; else it is the user's */
    shoal_tuning forced;                 /* by the user */
    char tune[8];                        /* "auto", "always" or "never" */
    double dt, steps_per_orbit;          /* as in shoal_options */
    shoal_findings *findings;            /* of who makes or restarts it, borrowed until then */
    long changes;                        /* of the ensemble that it knows */
    long n_chosen_for;                   /* systems that were running when the choice was made */
    bool goes_on;                        /* the engine begins with args.native, instead of preparing it */
    shoal_tuned tuned[SHOAL_MOST_TUNED]; /* [n_tuned] */
    int n_tuned;
    shoal_kernel_args args; /* host pointers */
    double t_end;
    /* [n_systems] with options.orbits: the unit of t_end and all times given to the plan; else NULL */
    double *period;
    int *list; /* [n_list] systems still running, ascending */
    long n_list;
    int *ended; /* [n_ended] that the last slice took from it */
    long n_ended;
    long slice_steps;    /* most steps of the next slice, adapted */
    double system_steps; /* done so far */
    double reached;      /* the last time that somebody asked for, NAN: none */
    double left;         /* progress that the running systems are short of, all together */
    double slowest_left; /* and the one that is shortest of it, 0..1 of its run */
    int slowest;
    bool watch_fresh; /* args.watch is what the engine has */
    /* slice.c */
    int host_threads;
    double *goal;         /* [n_systems] the time that it is headed for, NaN = none yet */
    bool records_changed; /* the engine must hear of it */
    const int *asked;     /* [n_asked] systems whose states are asked for, borrowed */
    long n_asked;
    bool asked_ended;       /* some of them have ended */
    bool watch_fetched;     /* args.watch is on its way */
    int *moving, *unsorted; /* [n_moving] systems of this slice */
    long n_moving;
    short *bin;                    /* [n_systems] of its expected steps */
    double *expected, *tried;      /* [n_systems] steps to its goal, and made before this slice */
    double length;                 /* steps of this slice */
    double steps_before;           /* of all that move */
    double ended_at, gap, pace;    /* wall clock; s between slices; steps/s of a system */
    void *lists[SHOAL_PLAN_LISTS]; /* all those of one for each system */
    shoal_event *events;           /* [n_events] */
    long n_events;
    shoal_plan_log logs[SHOAL_MAX_MONITORS];
    char engine_line[256], line[768];
};

static inline double *shoal_plan_field(const shoal_plan *plan, int which, long system)
{
    return shoal_ensemble_field(plan->ensemble, which, system);
}

/* shoal_plan_create, which says what is at fault. */
shoal_status shoal_plan_try(shoal_context *context, shoal_ensemble *ensemble, const shoal_options *options,
                            shoal_findings *findings, shoal_plan **plan);
/* All that shoal_plan_try does before it needs an engine: what it would refuse is refused, systems that it would make
 * `invalid` are so from here on, and all have their steps. Refused: some may be `invalid` already. */
shoal_status shoal_plan_check(shoal_context *context, shoal_ensemble *ensemble, const shoal_options *options,
                              shoal_findings *findings);

/* ---- choose.c: from options to choices; refused is what no plan can have ----------------------------------------- */

/* Refuse options: *fault is what is at fault, `expected` filled in from the format; the message says the same. */
shoal_status shoal_refuse(shoal_context *context, shoal_fault *fault, shoal_status status, shoal_fault what,
                          const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Count n more systems that are impossible, the first of them `id`, for this reason. */
void shoal_findings_invalid(shoal_findings *findings, long n, long id, const char *why);

#define SHOAL_DEFAULT_PROPAGATOR "mvs"
#define SHOAL_ENGINE_CHOICES     "auto|cpu|cuda"
#define SHOAL_FORM_CHOICES       "auto|pairs|rows"
#define SHOAL_TUNE_CHOICES       "auto|always|never"

/* What can be said of options without the systems, or the settings of plugs. */
shoal_status shoal_plan_check_options(shoal_context *context, const shoal_options *options, shoal_findings *findings);
shoal_status shoal_plan_choose_propagator(shoal_plan *plan, const shoal_options *options);
shoal_status shoal_plan_choose_forces(shoal_plan *plan, const shoal_options *options);
shoal_status shoal_plan_choose_monitors(shoal_plan *plan, const shoal_options *options);
/* Refuse a propagator or a force that is for none of the systems; with `commit`, systems that one is not for become
 * `invalid`. */
shoal_status shoal_plan_check_systems(const shoal_plan *plan, bool commit);
/* Choose and make the engine; `why` says why auto picked it. */
shoal_status shoal_plan_choose_engine(shoal_plan *plan, const shoal_options *options, char *why, size_t why_size);
/* How many bodies have mass in some system, and whether body 0 has 1 in all, and keeps it. */
int shoal_plan_find_massive(const shoal_plan *plan, bool *unit_star);

/* ---- options.c: what a caller gives ------------------------------------------------------------------------------ */

/* The options of a caller, who may know fewer members, or more; function: the public one that got them. */
shoal_status shoal_options_read(shoal_context *context, const char *function, const shoal_options *given,
                                shoal_options *options);

/* ---- steps.c: when systems end, how long their steps are --------------------------------------------------------- */

/* When the systems end, and the periods in which times are counted, if they are. */
shoal_status shoal_plan_choose_end(shoal_plan *plan, const shoal_options *options);
shoal_status shoal_plan_find_periods(shoal_plan *plan);
/* The signed step and the number of whole steps of every running system; with `commit` they are written, else only
 * checked. */
shoal_status shoal_plan_choose_steps(shoal_plan *plan, bool commit);

/* ---- clock.c: where systems are in time, and where they are headed ----------------------------------------------- */

/* A remainder below this fraction of a step is rounding of the times t and t_start + n dt, not time. */
double shoal_whole_step(double t_start, double t, double dt);
/* The time that t stands for: t itself, or with options.orbits t of the system's periods after its start. */
double shoal_plan_absolute_time(const shoal_plan *plan, long system, double t);
/* The time of a system's last step, and its progress on the way to SHOAL_SYS_END: whole steps, or time if steps are
 * adaptive. */
double shoal_plan_time(const shoal_plan *plan, long system);
double shoal_plan_progress(const shoal_plan *plan, long system);
/* What is left of the time from a system's last step to t. */
double shoal_plan_time_left(const shoal_plan *plan, long system, double t);
/* Its next step would pass the target. */
bool shoal_plan_waits(const shoal_plan *plan, long system);
/* The systems that run, in their order: plan->list. */
void shoal_plan_list_running(shoal_plan *plan);
/* The engine must hear of a record of a system. */
void shoal_plan_record_changed(shoal_plan *plan);
/* Send a system towards time t: it moves until its next step would pass it, and has arrived. One that arrives at
 * t_end has survived. Not between begin and end, like those below. lose_aim: they must all be sent anew. */
void shoal_plan_set_goal(shoal_plan *plan, long system, double t);
void shoal_plan_clear_goals(shoal_plan *plan);
bool shoal_plan_arrived(const shoal_plan *plan, long system);

/* ---- states.c: the states of systems at given times -------------------------------------------------------------- */

/* The state of a system that is asked for is that at t, within its next step (NaN: where it is; one that has ended:
 * as it ended); false if it is not, and the error. */
bool shoal_plan_set_state_time(shoal_plan *plan, long system, double t);
shoal_status shoal_plan_no_state_at(const shoal_plan *plan, long system, double t);
/* Ask for the states of the listed systems: begin has them copied to args.snapshot, and what the monitors saw if
 * some have ended. list stays until then. */
void shoal_plan_request_states(shoal_plan *plan, const int *list, long n_list, bool ended);
/* Tell the engine of changed records and let it make the states asked for; answered: they are there. */
shoal_status shoal_plan_make_states(shoal_plan *plan);
shoal_status shoal_plan_receive_states(shoal_plan *plan);
/* Fill args.snapshot with the states at exactly t (or, for systems that have ended, at their last step) of the
 * listed systems: barycentric. t = NaN: where each of them is now. */
shoal_status shoal_plan_snapshot(shoal_plan *plan, double t, const int *list, long n_list);

/* ---- watch.c: what the monitors carry ---------------------------------------------------------------------------- */

/* Their first values; no marks and no records. */
void shoal_plan_watch_begin(shoal_plan *plan);
void shoal_plan_marks_begin(shoal_plan *plan);
/* Tell the monitors of the bodies that a system begins or goes on with. */
void shoal_plan_watch_bodies(shoal_plan *plan, long system);
/* What the monitors carry comes from the engine; a column has values then. */
shoal_status shoal_plan_fetch_watch(shoal_plan *plan);
/* The value of a monitor's column, of its part `part` if it is one of each, for a system. */
double shoal_plan_column_value(const shoal_plan *plan, int monitor, int column, int part, long system);

/* ---- engines.c --------------------------------------------------------------------------------------------------- */

/* Give the engine the systems as they begin, or go on. */
shoal_status shoal_plan_start_engine(shoal_plan *plan);
/* Another engine of the same type in the place of the plan's, which has the systems as the host has them. */
shoal_status shoal_plan_exchange_engine(shoal_plan *plan, const shoal_kernel_choice *choice);
/* What was chosen: "mvs (compensated) with gr and j2, n = 63, rows (3 bodies attract), ..." */
void shoal_plan_write_line(shoal_plan *plan, const char *tuned, const char *why);

/* ---- tune.c ------------------------------------------------------------------------------------------------------ */

/* Complete a choice by rule: model, block. */
void shoal_tune_rule(const shoal_plan *plan, long n_list, shoal_kernel_choice *choice);
/* Change a plan's engine, made by rule, to the fastest: plan->tune = "auto" (what was measured before; measured if
 * the run is long), "always", "never". why: what to say of it. */
shoal_status shoal_tune(shoal_plan *plan, char *why, size_t why_size);
/* Whether the systems that are left need another choice than those that the plan's was made for, by rule, and what
 * is left to do is worth it. */
bool shoal_tune_is_due(const shoal_plan *plan, shoal_kernel_choice *choice);
/* Between slices: another one where too few systems for this one are left. */
shoal_status shoal_tune_again(shoal_plan *plan);

/* ---- slice.c: one slice after the other -------------------------------------------------------------------------- */

/* The states asked for are made, and with `move` the next slice of those that have not arrived begins: their records
 * are nobody's until it ends. answered: the states are there. */
shoal_status shoal_plan_begin(shoal_plan *plan, bool move);
/* The slice ends: records are up to date, systems that have ended leave the list. *n_moved: how many have moved. */
shoal_status shoal_plan_end(shoal_plan *plan, long *n_moved);
/* Count what is left of the running systems. */
void shoal_plan_count(shoal_plan *plan);
/* All three for one time t of all systems. */
shoal_status shoal_plan_slice(shoal_plan *plan, double t, long *n_moved);

/* events.c: act on what a slice has marked or recorded in those systems, keep it, and let them go on.
 * SHOAL_ARRAY_SYSTEMS is on the host. */
shoal_status shoal_plan_take_events(shoal_plan *plan, const int *list, long n_list);

/* ---- logs.c ------------------------------------------------------------------------------------------------------ */

/* Doubles of a log's row: system, time, the monitor's columns. */
enum { SHOAL_LOG_SYSTEM, SHOAL_LOG_TIME, SHOAL_LOG_VALUES };
/* Keep a record (SHOAL_RECORD_*) of a system, unless a body of it is no more. became: [n_bodies] the body that each is
 * part of by now, -1 = it left. */
shoal_status shoal_plan_log_add(shoal_plan *plan, long system, const double *record, const int *became);

/* ---- checkpoint.c ------------------------------------------------------------------------------------------------ */

/* Save and restore everything a restart needs: same bytes, same bits. shoal_plan_state_size in bytes. */
size_t shoal_plan_state_size(const shoal_plan *plan);
shoal_status shoal_plan_state_save(shoal_plan *plan, void *state);
shoal_status shoal_plan_state_load(shoal_plan *plan, const void *state);

#endif
