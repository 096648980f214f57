/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * big.h: what the files of this folder know of each other: one big system of 10^2 .. 10^7 bodies, from a model to
 * pictures. The forces are those of gravitation/tiled. G = 1 throughout; arrays of vectors are [3][n].
 */
#ifndef SHOAL_BIG_H
#define SHOAL_BIG_H

#include <math.h>

#include "core/formats/table.h"
#include "gravitation/tiled/tiled.h"

/* ---- bodies.c ---------------------------------------------------------------------------------------------------- */

typedef struct shoal_big_bodies {
    long n;
    double time;
    double *m; /* [n] */
    double *x; /* [3][n] */
    double *v; /* [3][n] */
} shoal_big_bodies;

shoal_status shoal_big_bodies_create(shoal_context *context, long n, shoal_big_bodies *bodies);
void shoal_big_bodies_release(shoal_big_bodies *bodies);
/* Total mass, barycentre and its velocity (compensated sums). */
double shoal_big_barycentre(const shoal_big_bodies *bodies, double x[3], double v[3]);
/* Put the barycentre to the origin, at rest. */
void shoal_big_centre(shoal_big_bodies *bodies);
/* From and to a table of one system; the table's units become `units`. */
shoal_status shoal_big_from_table(shoal_context *context, shoal_table *table, const shoal_units *units,
                                  shoal_big_bodies *bodies);
shoal_status shoal_big_to_table(shoal_context *context, const shoal_big_bodies *bodies, const shoal_units *units,
                                shoal_table *table);

/* A sum whose rounding errors are carried along (Neumaier 1974, doi:10.1002/zamm.19740540106). */
typedef struct shoal_sum {
    double sum, rest;
} shoal_sum;

static inline void shoal_sum_add(shoal_sum *s, double x)
{
    const double t = s->sum + x;
    s->rest += fabs(s->sum) >= fabs(x) ? (s->sum - t) + x : (x - t) + s->sum;
    s->sum = t;
}

static inline double shoal_sum_value(shoal_sum s)
{
    return s.sum + s.rest;
}

/* ---- model.c, model_sphere.c, model_king.c, model_disc.c: initial conditions ------------------------------------- */

/* X(name, r_max in scale radii, doc) */
#define SHOAL_BIG_MODEL_LIST(X)                                                    \
    X(plummer, 100, "Plummer's sphere")                                            \
    X(hernquist, 100, "Hernquist's sphere, density 1/(r (r + a)^3)")               \
    X(king, 1e9, "King's sphere of central potential W0")                          \
    X(uniform, 1e9, "sphere of uniform density, velocities uniform within a ball") \
    X(henon, 1e9, "sphere of uniform density, Gaussian velocities (Henon 1973)")   \
    X(cold, 1e9, "sphere of uniform density at rest")                              \
    X(kuzmin, 100, "Kuzmin's disc, in the plane z = 0, turning about z")

enum {
#define X(name, r_max, doc) SHOAL_BIG_##name,
    SHOAL_BIG_MODEL_LIST(X)
#undef X
        SHOAL_BIG_MODELS
};

typedef struct shoal_big_model {
    int kind; /* SHOAL_BIG_... */
    long n;
    int64_t seed;
    double mass;          /* total, > 0 */
    double virial_radius; /* G M^2 / 2 |W|, > 0 */
    double r_max;         /* in scale radii; 0 = the model's own */
    double virial_ratio;  /* K / |W|, of uniform and henon */
    double W0;            /* of king */
    double toomre_q;      /* of kuzmin */
} shoal_big_model;

const char *shoal_big_model_name(int kind);
/* Equal masses; barycentre at the origin, at rest. The same bodies for the same model, n and seed. */
shoal_status shoal_big_generate(shoal_context *context, const shoal_big_model *model, shoal_big_bodies *bodies);

/* A sphere with isotropic velocities in its own units (G = scale radius = 1). */
typedef struct shoal_big_sphere {
    double mass;                                        /* total */
    double virial;                                      /* virial radius */
    double (*radius)(const void *own, double fraction); /* that holds a fraction of the mass */
    double (*potential)(const void *own, double r);     /* relative potential, 0 at the edge */
    /* phase space density at a relative energy > 0, any factor */
    double (*distribution)(const void *own, double energy);
    void *own;
} shoal_big_sphere;

/* own is taken from and given back to the heap: shoal_big_sphere_release. */
shoal_status shoal_big_sphere_plummer(shoal_big_sphere *sphere);
shoal_status shoal_big_sphere_hernquist(shoal_big_sphere *sphere);
shoal_status shoal_big_sphere_king(shoal_context *context, double W0, shoal_big_sphere *sphere);
void shoal_big_sphere_release(shoal_big_sphere *sphere);

/* One body of the Kuzmin disc (G = M = a = 1). rng: a gsl_rng. */
void shoal_big_kuzmin(void *rng, double r_max, double toomre_q, double x[3], double v[3]);
/* The mass of its part within r_max, and that part's virial radius. */
void shoal_big_kuzmin_within(double r_max, double *mass, double *virial);
/* Of a function over 0 .. 1, by Gauss and Legendre. */
double shoal_big_integral(double (*integrand)(double u, void *user), void *user);

/* ---- step.c, step_leapfrog.c, step_hermite.c: propagators -------------------------------------------------------- */

/* How steps are chosen. */
typedef struct shoal_big_steps {
    double dt;  /* > 0: the longest step */
    double eta; /* > 0: accuracy parameter of steps that adapt; 0 = fixed steps */
    double eps; /* softening length */
    int threads;
} shoal_big_steps;

typedef struct shoal_big_method shoal_big_method;

/* Bodies on their way. All arrays that a method carries from stretch to stretch are in `slots`: saved with the
 * bodies, they make a run go on with the same bits. */
typedef struct shoal_big_stepper {
    shoal_context *context;
    const shoal_big_method *method;
    shoal_big_steps steps;
    shoal_big_bodies bodies;
    double *slots;           /* [method->n_slots][n] */
    double *work;            /* [method->n_work][n] */
    long *active;            /* [n] of block steps */
    int level;               /* of the last step that all bodies shared, -1 = none yet; saved, too */
    double last_step;        /* of methods that look back at it, 0 = none yet; saved, too */
    shoal_tiled *tiled;      /* borrowed */
    double now;              /* time reached within the stretch, for progress */
    double n_steps;          /* steps of the system; of block steps: of all bodies over n */
    double interactions;     /* pairs whose force was computed, ordered */
    int (*stop)(void *user); /* asked now and then; nonzero: leave, with the bodies within the stretch. NULL = never */
    void *user;
} shoal_big_stepper;

struct shoal_big_method {
    const char *name, *doc;
    int order;
    int wants; /* SHOAL_TILED_... */
    int n_slots, n_work;
    long gpu_from;      /* bodies; below, a CPU of 16 cores is faster than a GPU: measured */
    bool adapts, fixed; /* it can adapt steps, it can have fixed ones */
    /* Forces at the start and what else the slots hold. */
    shoal_status (*prepare)(shoal_big_stepper *stepper);
    /* Over a time `span` (signed), the longest step: every body arrives there exactly. */
    shoal_status (*advance)(shoal_big_stepper *stepper, double span);
    /* Where all bodies share steps that adapt: how long they are at the start, roughly. NULL: they do not. */
    double (*step)(const shoal_big_stepper *stepper);
};

extern const shoal_big_method shoal_big_leapfrog, shoal_big_hermite4, shoal_big_hermite4_block, shoal_big_hermite6;
extern const shoal_big_method *const shoal_big_methods[]; /* NULL after the last */

/* By name, NULL if there is none. */
const shoal_big_method *shoal_big_method_find(const char *name);
/* Takes the bodies over, on failure too. prepare: compute what the slots hold; else the caller fills them. */
shoal_status shoal_big_stepper_create(shoal_context *context, const shoal_big_method *method,
                                      const shoal_big_steps *steps, shoal_tiled *tiled, shoal_big_bodies *bodies,
                                      bool prepare, shoal_big_stepper **stepper);
void shoal_big_stepper_destroy(shoal_big_stepper **stepper);
/* To the time t; SHOAL_E_INTERRUPTED if it was asked to stop, after which it can only be destroyed. */
shoal_status shoal_big_advance(shoal_big_stepper *stepper, double t);

/* Differences of times up to t are rounded by so much. */
static inline double shoal_big_rounding(double t)
{
    return 0x1p-50 * fabs(t);
}
/* The least number of equal parts from start to end that are no longer than that, but for rounding. */
double shoal_big_stretches(double start, double end, double longest);

/* How many times forces on all bodies are computed until the time t, at least and roughly. */
double shoal_big_evaluations(const shoal_big_stepper *stepper, double t);

/* The longest step is cut into 2^SHOAL_BIG_LEVELS ticks; a step of level k is 2^-k of it. */
enum { SHOAL_BIG_LEVELS = 40 };
static inline int64_t shoal_big_ticks(int level)
{
    return (int64_t)1 << (SHOAL_BIG_LEVELS - level);
}
/* The level of the longest step that is no longer than dt, SHOAL_BIG_LEVELS if there is none. */
int shoal_big_level(double span, double dt);
/* The level for the next step: finer at once; coarser by one, where the coarser step divides the time so far. */
int shoal_big_next_level(int level, int wanted, int64_t tick);
/* Loops over bodies are cut into parts, the same for every number of threads, and so that a body stays with its
 * thread. */
enum { SHOAL_BIG_PARTS = 64, SHOAL_BIG_PARALLEL = 8192 };
static inline long shoal_big_parts(long n)
{
    return n > SHOAL_BIG_PARALLEL ? SHOAL_BIG_PARTS : 1; /* fewer bodies are not worth the start of threads */
}
/* Whether somebody asked to stop. */
bool shoal_big_stops(const shoal_big_stepper *stepper);

/* ---- measure.c: what a row of the diagnostics holds -------------------------------------------------------------- */

/* X(name, dimension, doc) */
#define SHOAL_BIG_COLUMN_LIST(X)                                    \
    X(time, "time", "time")                                         \
    X(E, "energy", "total energy, each pair counted once")          \
    X(dE, "", "(E - E(0)) / |E(0)|")                                \
    X(K, "energy", "kinetic energy")                                \
    X(W, "energy", "potential energy, softened as the forces are")  \
    X(px, "momentum", "momentum")                                   \
    X(py, "momentum", "momentum")                                   \
    X(pz, "momentum", "momentum")                                   \
    X(Lx, "angular momentum", "angular momentum about the origin")  \
    X(Ly, "angular momentum", "angular momentum about the origin")  \
    X(Lz, "angular momentum", "angular momentum about the origin")  \
    X(x_centre, "length", "centre that the radii are counted from") \
    X(y_centre, "length", "centre that the radii are counted from") \
    X(z_centre, "length", "centre that the radii are counted from") \
    X(r01, "length", "radius that holds 1 % of the mass")           \
    X(r05, "length", "radius that holds 5 % of the mass")           \
    X(r10, "length", "radius that holds 10 % of the mass")          \
    X(r25, "length", "radius that holds 25 % of the mass")          \
    X(r50, "length", "radius that holds 50 % of the mass")          \
    X(r75, "length", "radius that holds 75 % of the mass")          \
    X(r90, "length", "radius that holds 90 % of the mass")          \
    X(steps, "", "steps so far: of all bodies over their number")   \
    X(interactions, "", "forces of one body on another that were computed so far")

enum {
#define X(name, dimension, doc) SHOAL_BIG_COLUMN_##name,
    SHOAL_BIG_COLUMN_LIST(X)
#undef X
        SHOAL_BIG_COLUMNS
};

typedef struct shoal_big_column {
    const char *name, *dimension, *doc;
} shoal_big_column;

extern const shoal_big_column shoal_big_columns[SHOAL_BIG_COLUMNS];
/* One user unit of a column in inner units. */
double shoal_big_factor(const shoal_units *units, const char *dimension);

/* A row but for dE: inner units. phi: potentials of the bodies. */
shoal_status shoal_big_measure(shoal_context *context, const shoal_big_bodies *bodies, const double *phi,
                               double row[SHOAL_BIG_COLUMNS]);
/* A body's distance from some centre. */
typedef struct shoal_big_distance {
    double r;
    long body;
} shoal_big_distance;

/* All bodies, the nearest first: sorted[0 .. n - 1]; the same room again behind them is used. */
void shoal_big_sort(const shoal_big_bodies *bodies, const double centre[3], shoal_big_distance *sorted);
/* The centre of the densest part: of the half of the mass nearest to the barycentre, of the quarter nearest to that,
 * of the tenth nearest to that. sorted: as above, about the centre in the end. */
void shoal_big_find_centre(const shoal_big_bodies *bodies, double centre[3], shoal_big_distance *sorted);

/* ---- record.c: the result file ----------------------------------------------------------------------------------- */

typedef struct shoal_big_record {
    shoal_context *context;
    char *config_text, *plan_line;
    shoal_units units;
    bool has_units, complete;
    int64_t seed;
    double energy_start; /* inner units */
    long n_rows, room;
    double (*rows)[SHOAL_BIG_COLUMNS]; /* [n_rows] user's units */
    /* the state after the last row, inner units: bits that a run goes on from */
    shoal_big_bodies bodies;
    int n_slots, level;
    double last_step;
    double *slots; /* [n_slots][n] */
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

#endif
