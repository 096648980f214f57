/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fit.h: the posterior of a study with data: an optimum, an ensemble of walkers at one or more temperatures, and what
 * says whether their draws are enough.
 *
 *     fit.c         a study as a target; its fit, from the config to the file
 *     sample.c      draws from a target until they are enough
 *     optimise.c    differential evolution on the priors' unit cube
 *     polish.c      from there to the top of the posterior, and its widths
 *     walkers.c     the ensemble: where it starts, its steps
 *     ladder.c      its temperatures
 *     moves.c       where a walker wants to go
 *     map.c         coordinates in which draws are nearly normal
 *     follow.c      coordinates in which thin and bent posteriors are nearly flat
 *     random.c      random numbers that are known by their place
 *     diagnose.c    R-hat and effective sample sizes
 *     simulate.c    data as parameters make them
 *     batch.c       evaluations of many fits in one call
 *     calibrate.c   simulation-based calibration: fits of simulated data, ranks of what they were made of
 *     calibration.c its file, and whether ranks are uniform
 *     picture_ranks.c  ranks
 *     resume.c      what a killed fit leaves
 *     posterior.c   the file
 *     pictures.c    what `shoal plot` draws of it
 *     picture_draws.c  some draws as systems, and what they say of the data
 *     picture_rv.c  velocities and the model of them
 *     picture_ttv.c  transit times and the model of them
 *     picture_sky.c  places in the sky and the model of them
 *
 * A sampler knows a target alone: a function from vectors to ln prior and ln L.
 */
#ifndef SHOAL_FIT_H
#define SHOAL_FIT_H

#include <limits.h>

#include "core/model/model.h"
#include "core/report/plot.h"

/* What is sampled. */
typedef struct shoal_target {
    shoal_context *context;
    int n_parameters;
    const double *period; /* [n_parameters] of an angle that may go round, 0 = none; NULL: no parameter has one */
    void *user;
    /* ln prior and ln L of n vectors; where one of them is none, -infinity or NaN. An angle with a period may have any
     * value. No bits of a vector's answer depend on the other vectors. */
    shoal_status (*evaluate)(void *user, long n, const double *theta, double *lnp, double *lnl);
    shoal_from_cube *from_cube;
    /* what makes ln prior infinite at an edge, which an optimum is to be without; NULL: nothing does */
    double (*rise)(void *user, const double *theta);
    /* parameters that follow the others (follow.c), and the data that lead them: of n vectors (datum - model) / error
     * [n_data], 0 where there is nothing to be seen */
    int n_follow;
    const int *follow; /* [n_follow] all different */
    long n_data;
    shoal_status (*residuals)(void *user, long n, const double *theta, double *residuals);
} shoal_target;

#define SHOAL_FIT_METHODS "demcmc|stretch|optimise"
enum { SHOAL_FIT_DEMCMC, SHOAL_FIT_STRETCH, SHOAL_FIT_OPTIMISE };
#define SHOAL_FIT_STARTS "optimum|prior"
enum { SHOAL_FIT_FROM_OPTIMUM, SHOAL_FIT_FROM_PRIOR };

typedef struct shoal_fit_options {
    int method, start;  /* SHOAL_FIT_... */
    long n_walkers;     /* at each temperature; even */
    int n_temperatures; /* 1, ..., infinity */
    long n_steps, thin; /* at most; each so many steps a draw */
    uint64_t seed;
    double rhat, ess;    /* it ends when no R-hat is above, and no effective sample size below */
    double checkpoint_s; /* least wall time between checkpoints */
    int n_threads;       /* that propose moves and compute priors; no bits depend on it */
    bool brief; /* nobody reads diagnoses before the end: they stop at the first parameter that is not precise */
} shoal_fit_options;

/* ---- random.c ---------------------------------------------------------------------------------------------------- */

/* The place of random numbers: no number depends on what was drawn before. */
typedef struct shoal_fit_key {
    uint64_t seed, step, slot;
} shoal_fit_key;

/* What they are for. Those with _AXIS are the first of one for each parameter. */
enum {
    SHOAL_FIT_USE_MOVE,
    SHOAL_FIT_USE_FIRST,
    SHOAL_FIT_USE_SECOND,
    SHOAL_FIT_USE_THIRD,
    SHOAL_FIT_USE_SCALE,
    SHOAL_FIT_USE_ACCEPT,
    SHOAL_FIT_USE_SWAP,
    SHOAL_FIT_USE_MAPPED = 8, /* 7 is no longer used */
    SHOAL_FIT_USE_AXIS = 1 << 10,
    SHOAL_FIT_USE_EVOLVE = 2 << 20, /* added to the above: of the optimiser, of the start, of simulated data */
    SHOAL_FIT_USE_START = 4 << 20,
    SHOAL_FIT_USE_TRUTH = 8 << 20,
    SHOAL_FIT_USE_NOISE = 16 << 20
};

/* Uniform within 0..1, without the ends; standard normal; one of 0..n-1. */
double shoal_fit_uniform(const shoal_fit_key *key, int use);
double shoal_fit_normal(const shoal_fit_key *key, int use);
long shoal_fit_pick(const shoal_fit_key *key, int use, long n);

/* ---- map.c ------------------------------------------------------------------------------------------------------- */

/* Coordinates u in which some draws x are nearly standard normal. */
typedef struct shoal_map {
    int k, p;             /* parameters; components of which there are squares and products */
    bool learnt;          /* false: there was nothing to learn from yet, or a parameter never changes */
    double *mean, *width; /* [k] */
    double *to, *from;    /* [k][k] */
    double *coefficient;  /* [k][all monomials] */
    double *z, *monomial; /* [k], [all monomials]: of the call in progress */
} shoal_map;

shoal_status shoal_map_create(shoal_context *context, int k, shoal_map *map);
void shoal_map_release(shoal_map *map);
/*
 * shoal_map_learn: a map from n draws.
 *   x            in   [n] vectors [k]
 *   n_different  in   how many of them are not copies of others, about
 */
shoal_status shoal_map_learn(shoal_context *context, long n, const double *const x[], long n_different, shoal_map *map);
/* The same map for calls beside others, with room of its own: [shoal_map_room(k)]. */
int shoal_map_room(int k);
shoal_map shoal_map_beside(const shoal_map *map, double *room);
/* The coordinates of a vector, and the vector at coordinates: for any of them. One call at a time. */
void shoal_map_to(const shoal_map *map, const double *x, double *u);
void shoal_map_from(const shoal_map *map, const double *u, double *x);

/* ---- follow.c ---------------------------------------------------------------------------------------------------- */

typedef struct shoal_follow {
    const shoal_target *target;
    int n, n_threads;     /* n: parameters that follow; 0: none, and nothing is to be done */
    double *at, *reach;   /* [k] the optimum; [n] how far c may be from it */
    double *slope, *gain; /* [n][k] of c by the others, [n][n_data] by residuals */
    long room;            /* vectors at a time */
    double *x, *residual; /* [room][k], [room][n_data] of the call in progress */
} shoal_follow;

shoal_status shoal_follow_create(const shoal_target *target, long room, int n_threads, shoal_follow *follow);
void shoal_follow_release(shoal_follow *follow);
/* Derivatives at the optimum, by differences over `scale` [k]. */
shoal_status shoal_follow_learn(shoal_follow *follow, const double *optimum, const double *scale);
/* c [n][follow->n] of n vectors; what they have for the parameters that follow does not matter. */
shoal_status shoal_follow_find(const shoal_follow *follow, long n, const double *theta, double *c);
/* From y to x (sign = 1) or back (-1), in place. */
void shoal_follow_add(const shoal_follow *follow, long n, double sign, const double *c, double *theta);

/* ---- moves.c ----------------------------------------------------------------------------------------------------- */

/* What a move is made of: the walkers of the other half at the same temperature. */
typedef struct shoal_fit_others {
    int k;
    long n;              /* at least 3 */
    const double *theta; /* [n][k] */
    const double *scale, *period;
    const double *centre; /* [k] of angles that go round */
    const shoal_map *map; /* NULL: none is learnt */
    double *u;            /* [2][k] for the move */
} shoal_fit_others;

/* a - b, with a period the shortest way. */
double shoal_fit_difference(double period, double a, double b);
/* A proposal to[k] for a walker at from[k]. Returns the natural logarithm of the factor that its density is multiplied
 * with when it is compared, -infinity: it cannot be taken. */
double shoal_fit_propose(int method, const shoal_fit_key *key, const shoal_fit_others *others, const double *from,
                         double *to);

/* ---- polish.c ---------------------------------------------------------------------------------------------------- */

/* The top of a posterior, in the metric of its parameters. */
typedef struct shoal_optimum {
    double *theta; /* [k] */
    double *root;  /* [k][k] its product with its transpose is the covariance there */
    double *scale; /* [k] standard deviations, the other parameters fixed */
    double lnp, lnl;
    long evaluations; /* vectors that were evaluated */
} shoal_optimum;

shoal_status shoal_optimum_create(const shoal_target *target, shoal_optimum *optimum);
void shoal_optimum_release(shoal_optimum *optimum);
/* Evaluate; NaN becomes -infinity, and ln L is -infinity where there is no prior. */
shoal_status shoal_target_evaluate(const shoal_target *target, long n, const double *theta, double *lnp, double *lnl);
/* The same for an optimum: ln prior without its rise to infinity. */
shoal_status shoal_target_climb(const shoal_target *target, long n, const double *theta, double *lnp, double *lnl);
/* shoal_prior_widths of a target. */
shoal_status shoal_target_widths(const shoal_target *target, double *median, double *width);
/* The population that differential evolution of so many parameters has. */
long shoal_optimise_population(int k);

/* ---- walkers.c --------------------------------------------------------------------------------------------------- */

/* Walkers at all temperatures. All that the next step depends on is in one array, `state`. */
typedef struct shoal_walkers {
    const shoal_target *target;
    const shoal_fit_options *options;
    int k;
    long n_walkers, n_all; /* at each, at all temperatures */
    size_t n_state;
    double *state;
    /* parts of it */
    double *count;          /* [SHOAL_WALKERS_COUNTS] */
    double *beta, *swapped; /* [n_temperatures] 1 / temperature; swaps with the next colder one */
    double *centre, *scale; /* [k] of angles that go round; of moves */
    double *theta;          /* [n_temperatures][n_walkers][k] */
    double *lnp, *lnl;      /* [n_temperatures][n_walkers] */
    double *accepted;       /* [n_walkers] whether the last step of a walker at temperature 1 was */
    double *c;              /* [n_temperatures][n_walkers][follow.n] no longer kept up where none follow */
    /* of proposals, not of the state */
    double *to, *to_lnp, *to_lnl, *factor, *to_c;
    double *y; /* [n_temperatures][n_walkers][k] the walkers in the coordinates in which parameters follow */
    shoal_follow follow;
    shoal_map map; /* of moves at temperature 1, from y if parameters follow */
} shoal_walkers;

enum {
    SHOAL_WALKERS_STEPS,
    SHOAL_WALKERS_ACCEPTED,
    SHOAL_WALKERS_TO_PRIOR,  /* temperatures that reach the prior, about */
    SHOAL_WALKERS_PLAIN,     /* moves at temperature 1 that were taken until the choice */
    SHOAL_WALKERS_FOLLOWING, /* those in which parameters follow, of as many */
    SHOAL_WALKERS_CHOICE,    /* whether parameters follow: 1 yes, -1 no, 0 not chosen yet */
    SHOAL_WALKERS_COUNTS
};
enum { SHOAL_WALKERS_LAG = 1000 }; /* steps after which a ladder changes half as fast */

shoal_status shoal_walkers_create(const shoal_target *target, const shoal_fit_options *options, shoal_walkers *walkers);
void shoal_walkers_release(shoal_walkers *walkers);
/* Around the optimum, or (NULL) from the priors. */
shoal_status shoal_walkers_start(shoal_walkers *walkers, const shoal_optimum *optimum);
/* How parameters follow, from the optimum in the state. */
shoal_status shoal_walkers_learn_follow(shoal_walkers *walkers);
/* Whether parameters follow from here on, as has been better. */
void shoal_walkers_choose(shoal_walkers *walkers);
/* A step of all of them, in two calls of the target. */
shoal_status shoal_walkers_step(shoal_walkers *walkers);
static inline long shoal_walkers_steps(const shoal_walkers *walkers)
{
    return (long)walkers->count[SHOAL_WALKERS_STEPS];
}

/* A vector of the unit cube for a walker, at a step or a try. use: SHOAL_FIT_USE_... */
void shoal_walkers_cube(const shoal_walkers *walkers, uint64_t step, long slot, int use, double *cube);

/* ---- ladder.c ---------------------------------------------------------------------------------------------------- */

/* The first temperatures. optimum: NULL: walkers begin in the prior. */
shoal_status shoal_ladder_make(shoal_walkers *walkers, const shoal_optimum *optimum);
/* Swaps between all neighbours, and the temperatures after them. */
void shoal_ladder_swap(shoal_walkers *walkers);

/* ---- diagnose.c -------------------------------------------------------------------------------------------------- */

/* Rank-normalised split R-hat, bulk and tail effective sample size (Vehtari et al. 2021, doi:10.1214/20-BA1221), and
 * quantiles. */
typedef struct shoal_diagnosis {
    double rhat, ess_bulk, ess_tail;
    double median, low, high; /* low, high: of 16 and 84 % */
} shoal_diagnosis;

/* x: [n_chains][n_draws], at least 4 draws. */
shoal_status shoal_diagnose(shoal_context *context, long n_chains, long n_draws, const double *x,
                            shoal_diagnosis *diagnosis);

/* ---- sample.c ---------------------------------------------------------------------------------------------------- */

/* What is kept of a walker at temperature 1, beside its k parameters. */
enum { SHOAL_DRAW_LP, SHOAL_DRAW_LNL, SHOAL_DRAW_ACCEPTED, SHOAL_DRAW_NUMBERS };

typedef struct shoal_draws {
    int k;
    long n_walkers, n, room;
    double *values;             /* [n][n_walkers][k + SHOAL_DRAW_NUMBERS] */
    shoal_diagnosis *diagnosis; /* [k + 1] of the later half; the last one: of the posterior density */
    long n_diagnosed;           /* draws that there were */
    int worst;                  /* the parameter that was not precise when a brief diagnosis stopped */
    long n_steps;
    double acceptance;     /* part of the proposals at temperature 1 that were taken */
    double swaps;          /* least part of the swaps between neighbouring temperatures, NaN: there is one */
    double hottest;        /* temperature; infinite: the prior */
    int to_prior;          /* temperatures that reach the prior, about */
    double step_error;     /* half the step moves the posterior by about so many sigma, NaN: not known */
    bool precise;          /* R-hat and sample sizes are as they were asked for */
    shoal_optimum optimum; /* from which it began; theta NULL: from none */
} shoal_draws;

/* The first of the draws that count, an even number: the earlier half is the way to the posterior. */
static inline long shoal_draws_first(const shoal_draws *draws)
{
    return draws->n - (draws->n + 1) / 4 * 2;
}

/* Whether so many walkers, about, crossed each rung of the ladder in half of the steps, by the average over all: fewer
 * can bring no such effective sample size from the temperatures above. */
static inline bool shoal_draws_cross(const shoal_draws *draws, double ess)
{
    return !(draws->swaps * (double)draws->n_steps * (double)draws->n_walkers / 2 < ess);
}

/* The numbers of one column of the draws that count, to x[n_walkers][n - first]. */
void shoal_draws_column(const shoal_draws *draws, int column, double *x);
void shoal_draws_release(shoal_draws *draws);

/* What a fit says of itself. draws->n_diagnosed = 0: nothing yet; n_steps = 0: it looks for the optimum, of which
 * draws->optimum has the best vector so far. Returns whether it is to end. */
typedef bool shoal_fit_callback(const shoal_draws *draws, void *user);

/* polish.c: from optimum->theta, which has a posterior, to the top near by. draws: for the callback. */
shoal_status shoal_polish(const shoal_target *target, shoal_fit_callback *callback, void *user,
                          const shoal_draws *draws, shoal_optimum *optimum);
/* optimise.c: from nowhere to draws->optimum. */
shoal_status shoal_optimise(const shoal_target *target, uint64_t seed, shoal_fit_callback *callback, void *user,
                            shoal_draws *draws);

/*
 * shoal_fit_sample: draws from a target until they are precise, or there were so many steps.
 *   journal   in   the file that a killed fit leaves, and from which it goes on; NULL: none
 *   text      in   what the journal must be of: a config
 *   returns        SHOAL_E_INTERRUPTED if the callback said so; the journal goes on from there
 */
shoal_status shoal_fit_sample(const shoal_target *target, const shoal_fit_options *options, const char *journal,
                              const char *text, shoal_fit_callback *callback, void *user, shoal_draws *draws);

/* ---- resume.c ---------------------------------------------------------------------------------------------------- */

/* An append-only file: a header, then records, each with a checksum. */
typedef struct shoal_fit_journal {
    shoal_context *context;
    const char *path; /* borrowed; NULL: there is none */
    int file;
    long n_draws; /* that are in it */
} shoal_fit_journal;

/* What to do with a record; false: it is not of these, and is cut off with those behind it. */
typedef bool shoal_record_taker(void *user, const unsigned char *payload, size_t size);
/* Open or begin it: all good records are taken. text: what it must be of. */
shoal_status shoal_records_open(shoal_context *context, const char *path, const char *text, shoal_record_taker *take,
                                void *user, shoal_fit_journal *journal);
shoal_status shoal_records_append(shoal_fit_journal *journal, const void *const piece[3], const size_t size[3]);

/* Of a fit, draws with the state after them. *resumed: draws and state are those of its last good record. */
shoal_status shoal_fit_journal_open(shoal_context *context, const char *path, const char *text, shoal_walkers *walkers,
                                    shoal_draws *draws, bool *resumed, shoal_fit_journal *journal);
shoal_status shoal_fit_journal_append(shoal_fit_journal *journal, const shoal_walkers *walkers,
                                      const shoal_draws *draws);
void shoal_fit_journal_close(shoal_fit_journal *journal);
/* Room for at least n draws. */
shoal_status shoal_draws_reserve(shoal_context *context, shoal_draws *draws, long n);

/* ---- posterior.c ------------------------------------------------------------------------------------------------- */

/* The data: times, values, errors and which of `data`, [SHOAL_OBSERVED][n] in the units of the config and of the data.
 * folder: of the config, where relative names in it begin; malloc'd, NULL: not known. */
enum { SHOAL_OBSERVED_TIME, SHOAL_OBSERVED_VALUE, SHOAL_OBSERVED_ERROR, SHOAL_OBSERVED_SET, SHOAL_OBSERVED };
typedef struct shoal_observed {
    long n;
    double *numbers;
    char time_unit[SHOAL_UNIT_SIZE];
    char *folder;
} shoal_observed;

/* Write an HDF5 file that is netCDF-4, too, as ArviZ reads it. names, units: [k]; observed: NULL: nothing. */
shoal_status shoal_posterior_write(shoal_context *context, const char *path, const shoal_draws *draws,
                                   const char *const *names, const char *const *units, const char *config_text,
                                   const shoal_observed *observed);

/* What is in such a file. */
typedef struct shoal_posterior {
    shoal_context *context;
    const char *path; /* borrowed */
    int k;
    char **name;                   /* [k + 1] the last one: lp */
    char (*unit)[SHOAL_UNIT_SIZE]; /* [k + 1] */
    long n_chains, n_draws;
    double *values; /* [k + 1][n_chains][n_draws] */
    char *config_text;
    shoal_observed observed; /* n = 0: it has none */
} shoal_posterior;

/* What a file is: of `shoal fit`, of `shoal calibrate`, or something else. */
typedef enum { SHOAL_FIT_FILE_NONE, SHOAL_FIT_FILE_POSTERIOR, SHOAL_FIT_FILE_RANKS } shoal_fit_file;
shoal_fit_file shoal_fit_file_of(const char *path);
shoal_status shoal_posterior_read(shoal_context *context, const char *path, shoal_posterior **posterior);
void shoal_posterior_destroy(shoal_posterior **posterior);

/* ---- picture_draws.c --------------------------------------------------------------------------------------------- */

/* Some draws of a posterior: systems of its study. Replaces *study. */
shoal_status shoal_drawn_open(const shoal_posterior *posterior, shoal_study **study);
/* The group of a set of data; which of SHOAL_DATA_* it is; one of its numbers in a draw, in its unit. */
const config_setting_t *shoal_drawn_set(const shoal_study *study, int i);
int shoal_drawn_kind(const shoal_study *study, int i);
double shoal_drawn_number(const shoal_study *study, int set, const char *key, long draw);
/* The median of the finite ones, which are sorted to the front; NaN: there are none. */
double shoal_drawn_median(double *x, long n);

/* What some draws say of the data, in their units. */
typedef struct shoal_drawn {
    const shoal_posterior *posterior;
    shoal_study *study;
    shoal_data data;
    long n_draws;
    double *predicted;      /* [n_draws][n_data] NaN: nothing is seen */
    double *middle, *error; /* [n_data] medians of these; errors with their jitter */
} shoal_drawn;
/* Released with shoal_drawn_release on failure, too. */
shoal_status shoal_drawn_predict(const shoal_posterior *posterior, shoal_drawn *drawn);
void shoal_drawn_release(shoal_drawn *drawn);

/* ---- pictures.c -------------------------------------------------------------------------------------------------- */

typedef struct shoal_fit_kind {
    const char *name, *doc;
    shoal_status (*write)(const shoal_posterior *, const shoal_plot_options *, FILE *script);
    unsigned uses; /* SHOAL_PLOT_COLUMN */
} shoal_fit_kind;
extern const shoal_fit_kind shoal_fit_kinds[]; /* ends in {0} */

/* picture_rv.c, picture_ttv.c, picture_sky.c: data, models of some draws, residuals. */
shoal_status shoal_fit_plot_rv(const shoal_posterior *posterior, const shoal_plot_options *options, FILE *script);
shoal_status shoal_fit_plot_ttv(const shoal_posterior *posterior, const shoal_plot_options *options, FILE *script);
shoal_status shoal_fit_plot_sky(const shoal_posterior *posterior, const shoal_plot_options *options, FILE *script);

/* The kind of that name, NULL: corner. */
shoal_status shoal_fit_kind_find(shoal_context *context, const char *name, const shoal_fit_kind **kind);
shoal_status shoal_fit_plot(const shoal_posterior *posterior, const shoal_fit_kind *kind,
                            const shoal_plot_options *options, FILE *out);

/* ---- simulate.c -------------------------------------------------------------------------------------------------- */

/* Refuse data that cannot be simulated. */
shoal_status shoal_simulate_check(const shoal_study *study, const shoal_data *data);
/*
 * shoal_simulate: parameters from the priors, and data as these make them, with random errors.
 *   model    in   with rows of its own; `row` is one that nobody else uses
 *   key      in   seed and slot; its step is not used
 *   noise    in   errors are so many times as great as they say
 *   theta    out  [k] of draws from the priors the first one that is possible: data would have a finite ln L
 *   values   out  [n_data]
 */
shoal_status shoal_simulate(shoal_model *model, int row, const shoal_fit_key *key, double noise, double *theta,
                            double *values);

/* ---- batch.c ----------------------------------------------------------------------------------------------------- */

/* Threads whose evaluations come together in calls of a model: one is made when half of them wait for it. */
typedef struct shoal_batch shoal_batch;
shoal_status shoal_batch_create(shoal_context *context, shoal_model *model, long room, int n_members, bool predicts,
                                shoal_batch **batch);
void shoal_batch_destroy(shoal_batch **batch);
/* ln L of n vectors with a row of data, for a member. */
shoal_status shoal_batch_evaluate(shoal_batch *batch, int row, long n, const double *theta, double *lnl);
/* What the model says of the data [n][n_data], of a batch that predicts. */
shoal_status shoal_batch_predict(shoal_batch *batch, int row, long n, const double *theta, double *predicted);
/* Between the two the model is the caller's alone. */
shoal_model *shoal_batch_lock(shoal_batch *batch);
void shoal_batch_unlock(shoal_batch *batch);
/* A member that evaluates no more. */
void shoal_batch_leave(shoal_batch *batch);

/* ---- fit.c ------------------------------------------------------------------------------------------------------- */

/* The fit of a study. */
typedef struct shoal_fit {
    const shoal_study *study;
    shoal_model *model;
    shoal_fit_options options;
    shoal_target target;
    double *period;         /* [k] of angles that go round */
    double *wrapped, *some; /* [n_room][k], [n_room]: of vectors that are evaluated */
    long n_room;
    shoal_batch *batch; /* that evaluates with row `row` of its model's data; NULL: the model itself */
    int row;
    const double *values;        /* [n_data] of the data, observed or simulated */
    int *follow;                 /* [k] target.follow */
    const char **names, **units; /* [k] */
    char (*unit)[SHOAL_UNIT_SIZE];
    char *output, *journal, *text; /* text: what a journal is of */
    shoal_observed observed;
} shoal_fit;

/* Read the group `fit` and the data. */
shoal_status shoal_fit_create(const shoal_study *study, shoal_fit **fit);
/* The same with a model that evaluates as many vectors at once as so many fits ask for. */
shoal_status shoal_fit_create_for(const shoal_study *study, int n_fits, shoal_fit **fit);
void shoal_fit_destroy(shoal_fit **fit);
/* A copy that evaluates by a batch, on a thread of its own, with messages in a context of its own. What it points to
 * stays the first's. values: of the row, borrowed. */
shoal_status shoal_fit_copy(const shoal_fit *fit, shoal_batch *batch, int row, const double *values, shoal_fit *copy);
void shoal_fit_copy_release(shoal_fit *copy);
/* An angle that goes round within the bounds of its prior; any other parameter as it is. */
double shoal_fit_wrap(const shoal_fit *fit, int i, double x);
/* The file that a group names, or the config's base name and _ENDING.h5, and its journal; both malloc'd. */
shoal_status shoal_fit_name_files(const shoal_config *config, const config_setting_t *group, const char *ending,
                                  char **output, char **journal);
/* Lock a file that is to be written against another process; path: for shoal_lock_release. */
shoal_status shoal_fit_lock(shoal_context *context, const char *output, const char *what, char path[PATH_MAX],
                            int *lock);
/* From the start, or from its journal, to its file. force: replace a file, discard a journal of another fit. */
shoal_status shoal_fit_run(shoal_fit *fit, bool force, shoal_fit_callback *callback, void *user, shoal_draws *draws);

/* ---- calibration.c ----------------------------------------------------------------------------------------------- */

/* What is known of a parameter after the fit of a set. */
enum {
    SHOAL_RANK_TRUTH,
    SHOAL_RANK_RANK,
    SHOAL_RANK_RHAT,
    SHOAL_RANK_BULK,
    SHOAL_RANK_TAIL,
    SHOAL_RANK_NUMBERS,
    SHOAL_RANK_STEPS = 0, /* of a set, before those */
    SHOAL_RANK_PRECISE,
    SHOAL_RANK_FIRST
};

/* Ranks of what data were made of among draws from the posteriors of these data. */
typedef struct shoal_ranks {
    int k; /* names: of the parameters, and lp */
    long n_sets, n_draws;
    size_t n_row;
    double *rows; /* [n_sets][SHOAL_RANK_FIRST + k SHOAL_RANK_NUMBERS], the first one NaN: not yet */
    char **names; /* [k] */
    char *text, *config_text;
} shoal_ranks;

static inline double shoal_rank_number(const shoal_ranks *ranks, long set, int i, int number)
{
    return ranks->rows[(size_t)set * ranks->n_row + SHOAL_RANK_FIRST + (size_t)i * SHOAL_RANK_NUMBERS + (size_t)number];
}
/* How many ranks of row i are in each of n_bins bins of equal width. */
void shoal_ranks_count(const shoal_ranks *ranks, int i, int n_bins, long count[]);
shoal_status shoal_ranks_create(shoal_context *context, int k, long n_sets, shoal_ranks *ranks);
void shoal_ranks_release(shoal_ranks *ranks);
shoal_status shoal_ranks_write(shoal_context *context, const char *path, const shoal_ranks *ranks);
shoal_status shoal_ranks_read(shoal_context *context, const char *path, shoal_ranks *ranks);
/* A row for each parameter of each set, as CSV. */
void shoal_ranks_print(const shoal_ranks *ranks, FILE *out);

/* Whether the ranks of a parameter are uniform. */
typedef struct shoal_uniformity {
    double mean, spread; /* of (rank + 1/2) / (draws + 1), expected 1/2; variance over that of uniform ones, 1 */
    int n_bins;
    double chi2, p; /* p: to have a chi^2 as great or greater of uniform ranks */
} shoal_uniformity;
/* Returns the p of all: k times the least one, 1 at most (Bonferroni: parameters are not independent). */
double shoal_ranks_uniformity(const shoal_ranks *ranks, shoal_uniformity of[]);
/* The picture: a histogram of each parameter. */
shoal_status shoal_ranks_plot(shoal_context *context, const shoal_ranks *ranks, const shoal_plot_options *options,
                              FILE *out);

/* ---- calibrate.c ------------------------------------------------------------------------------------------------- */

typedef struct shoal_calibration {
    const shoal_study *study;
    shoal_fit *fit; /* the study's: options, model */
    long n_sets, at_once;
    uint64_t seed;
    double noise; /* errors of the data are so many times as great as they say */
    char *output, *journal;
    shoal_ranks ranks;
    long n_done, n_known; /* sets; those before this run */
} shoal_calibration;

/* What a calibration says of itself, from time to time. Returns whether it is to end. */
typedef bool shoal_calibration_callback(const shoal_calibration *calibration, void *user);

shoal_status shoal_calibration_create(const shoal_study *study, shoal_calibration **calibration);
void shoal_calibration_destroy(shoal_calibration **calibration);
/* To its file; from its journal, or its file, if there are some sets. */
shoal_status shoal_calibrate(shoal_calibration *calibration, bool force, shoal_calibration_callback *callback,
                             void *user);

#endif
