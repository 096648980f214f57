/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * report.h: what is made of a result: tables, comparisons, the whole of its shards.
 */
#ifndef SHOAL_REPORT_H
#define SHOAL_REPORT_H

#include "core/result/result.h"

/* The result in a file, as shoal_store_read; a file of one big system is refused as such. */
shoal_status shoal_report_read(shoal_context *context, const char *path, shoal_result **result);
/* What its forces take of body 0's attraction: elements refer to what is left. */
void shoal_report_eases(const shoal_context *context, const shoal_result *result, shoal_eases *eases);

/* ---- query.c ----------------------------------------------------------------------------------------------------- */

/* CSV of states: system,body,name,time,m,x,y,z,vx,vy,vz; of orbits:
 * system,body,name,time,m,a,e,inc,Omega,omega,f,M,P, of bodies but the central one, angles in degrees. 17
 * significant digits; NaN is an empty field. The column `system` is the id. */
typedef struct shoal_query {
    shoal_query_state which;
    double from, to; /* user's units; SHOAL_QUERY_TIME: from */
    bool orbits;
    shoal_frame frame; /* of orbits */
} shoal_query;
shoal_status shoal_query_states(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                                const shoal_query *query, FILE *out);
/* CSV of the systems table: system,outcome,t_stop,body_a,body_b,dE_final,steps, then the columns. */
shoal_status shoal_query_systems(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                                 FILE *out);

/* CSV of the events: system,time,event,body_a,body_b,m_a,m_b,distance,speed,dE,ended. only: an outcome, NULL = all. */
shoal_status shoal_query_events(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                                const char *only, FILE *out);
/* CSV of what the monitor of that name logged: system,time, and its columns. */
shoal_status shoal_query_log(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                             const char *name, FILE *out);

/* ---- verify.c ---------------------------------------------------------------------------------------------------- */

enum { SHOAL_VERIFY_POSITION, SHOAL_VERIFY_VELOCITY, SHOAL_VERIFY_TIME, SHOAL_VERIFY_MASS, SHOAL_VERIFY_QUANTITIES };

typedef struct shoal_verify_options {
    double threshold[SHOAL_VERIFY_QUANTITIES];
    bool absolute; /* thresholds are in the units of the first result, not relative */
} shoal_verify_options;

/* Compare two results and print a table of what differs most; *same: nothing passes its threshold. */
shoal_status shoal_verify(shoal_context *context, const shoal_result *a, const shoal_result *b,
                          const shoal_verify_options *options, FILE *out, bool *same);
/* A result file or states as CSV, whose outcomes and initial times are then unknown (-1, NaN), and its units if it
 * does not say them (length = 0). */
shoal_status shoal_verify_read(shoal_context *context, const char *path, shoal_result **result);

/* ---- merge.c: shards --------------------------------------------------------------------------------------------- */

/* A result's config without the line that says which shard it is of the whole study, and which (i = 0: none) of how
 * many it is; malloc'd, NULL when memory is out. */
char *shoal_config_without_shard(const char *text, long *shard, long *n_shards);
/* The result of the whole study from those of its shards, n_given >= 1 in any order; names: of their files, for
 * messages. Refused if they are not of one study, if one is there twice or, unless partial is set, if one is missing
 * or has not ended. */
shoal_status shoal_result_merge(shoal_context *context, int n_given, const char *const *names,
                                shoal_result *const *results, bool partial, shoal_result **merged);

/* ---- certify.c: whether the step is short enough (run.certify) --------------------------------------------------- */

/* One of the three runs beside the study's own. */
typedef struct shoal_certified_run {
    const char *changed;                       /* what is other in it: "half the step" */
    const double *outcome, *n_final, *t_stop;  /* [n], as in the log */
    const double *megno, *dE;                  /* NULL: not in the log */
    long n_same;                               /* systems of the same class as in the study's run */
    long n_ended;                              /* that ended in both, and of these: */
    double ratio, ratio_low, ratio_high;       /* the median of log10 (t / t of the study's run); NaN: too few */
    long n_decided, n_chance;                  /* whose class differs where the shadow's does not; the reverse */
    double decided, decided_low, decided_high; /* part of the systems, beyond chance, whose class differs */
} shoal_certified_run;

typedef enum shoal_verdict {
    SHOAL_CONVERGED,
    SHOAL_NOT_CONVERGED,
    SHOAL_UNDECIDED,
    SHOAL_NOT_JUDGED /* none has ended and all have one class */
} shoal_verdict;

typedef struct shoal_certified {
    long n;                                 /* systems */
    const double *system;                   /* [n] rows of /systems */
    const double *outcome, *n_final, *time; /* [n] of the study's run */
    const double *megno, *dE;               /* NULL: not in the log */
    double tolerance;                       /* part of the systems whose class may be decided by the step */
    double look;                            /* steps between looks whether orbits cross */
    shoal_certified_run run[SHOAL_CERTIFY_RUNS];
    shoal_verdict verdict;
} shoal_certified;

/* What the log of a result says; pointers are into the log. A result without it is refused. */
shoal_status shoal_certify_count(shoal_context *context, const shoal_result *result, shoal_certified *certified);
/* What decides the class of a system: nothing (all runs agree), chaos (the shadow's differs), the step, the propagator.
 */
typedef enum shoal_decider {
    SHOAL_DECIDED_BY_NONE,
    SHOAL_DECIDED_BY_CHAOS,
    SHOAL_DECIDED_BY_STEP,
    SHOAL_DECIDED_BY_PROPAGATOR,
    SHOAL_DECIDERS
} shoal_decider;
shoal_decider shoal_certify_decider(const shoal_certified *certified, long i);
/* Whether it ended in the study's run and in one of the three, so that times can be compared. */
bool shoal_certify_timed(const shoal_certified *certified, int run, long i);
/* A paragraph for the summary of a run. */
shoal_status shoal_certify_print(shoal_context *context, const shoal_result *result, FILE *out);

/* ---- status.c: how far the runs of a folder have come ------------------------------------------------------------ */

typedef enum shoal_piece_state {
    SHOAL_PIECE_DONE,
    SHOAL_PIECE_RUNNING, /* a process is at work on it */
    SHOAL_PIECE_FAILED,  /* begun, and nobody is: it was interrupted or killed, or an error ended it */
    SHOAL_PIECE_WAITING, /* not begun */
    SHOAL_PIECE_STATES
} shoal_piece_state;

/* A run: of a study in one piece, or of one of its shards. */
typedef struct shoal_piece {
    char *output;         /* its result file, whether it is there or not */
    char *whole;          /* that of the whole study */
    long shard, n_shards; /* from 1; 1 of 1: one piece */
    shoal_piece_state state;
    double fraction;  /* done, of its steps */
    double rate;      /* of that fraction, 1/s; 0: not known */
    bool certifies;   /* its steps are done, and the three further runs of run.certify are begun */
    double certified; /* done, of these */
} shoal_piece;

/* Those of a folder, by study and shard; of a study that is begun also the shards that are waiting. malloc'd. */
shoal_status shoal_pieces_find(shoal_context *context, const char *folder, shoal_piece **pieces, long *n);
void shoal_pieces_destroy(shoal_piece **pieces, long n);

typedef struct shoal_pieces_sum {
    long n; /* pieces of one study, from the first one on */
    long n_by_state[SHOAL_PIECE_STATES];
    double fraction;
    double seconds_left; /* if as many go on as run now; NAN: not known, as of one that certifies */
} shoal_pieces_sum;
/* Add up the pieces of the same study that are at the beginning of the list, n >= 1. */
void shoal_pieces_add(const shoal_piece *pieces, long n, shoal_pieces_sum *sum);

/* ---- shards.c: a study in shards that many processes share ------------------------------------------------------- */

enum { SHOAL_MOST_SHARDS = 1000000 };
/* Into how many shards to cut a study that n_ranks processes share, of so many threads each or of a GPU: small ones, so
 * that all end together, but such that a process has enough to do at a time. size: systems of a shard; 0 = chosen. */
long shoal_shards_number(long n_systems, int n_ranks, int n_threads, bool on_gpu, long size);

/* What there is to do of a study. */
typedef struct shoal_shards {
    long n;      /* shards in all; 1: the study is in one piece */
    long n_todo; /* neither done nor another process's */
    long *todo;  /* [n_todo] their numbers, from 1: those that were begun first; malloc'd */
} shoal_shards;
/* Find out, beside the study's output. n: into how many to cut it, unless it has been cut already; must: not into
 * another number. force: do shards of another study again. Refused if the result is there, or what is there is of
 * another study or of a run in one piece. */
shoal_status shoal_shards_find(const shoal_study *study, long n, bool must, bool force, shoal_shards *shards);
/* Merge the shards of that output, all done, into its file, then remove theirs unless `keep` is set. merged: the
 * result. */
shoal_status shoal_shards_join(shoal_context *context, const char *output, long n, bool keep, shoal_result **merged);

/* ---- help.c: what `shoal list` and `shoal explain NAME` print ------------------------------------ */

/* A word that the library does not know: a command of the program. */
typedef struct shoal_help_word {
    const char *name, *doc;
} shoal_help_word;

/* Every plug, a line each. */
void shoal_help_list(const shoal_context *context, FILE *out);
/* All of them and of the config keys, as Markdown (docs/reference.md). */
shoal_status shoal_help_reference(shoal_context *context, FILE *out);
/* All about a plug, a config key, a column, an outcome or one of the commands (which end in {0}); refused, with the
 * nearest known name, if there is none of that name. */
shoal_status shoal_help_explain(shoal_context *context, const char *name, const shoal_help_word *commands, FILE *out);
/* The words of a kind, a line each, for completion: commands, plugs, keys, overrides (keys that can be set by their
 * path alone), columns, outcomes, pictures. */
#define SHOAL_HELP_WORDS "commands|plugs|keys|overrides|columns|outcomes|pictures"
shoal_status shoal_help_words(shoal_context *context, const char *kind, const shoal_help_word *commands, FILE *out);

#endif
