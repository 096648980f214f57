/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plug.h: descriptors of propagators, forces and monitors (together: plugs). A descriptor is one const struct, in
 * NAME.c of integrators/, gravitation/ or monitors/, or in a plugin. A plugin is a C file of the user, named in a
 * config. It holds the descriptor and the kernel text:
 *
 *     #include "core/plug/plug.h"
 *     enum { NAME_FIRST, NAME_SECOND, NAME_PARAMETERS };  names of parameters and slots, which both parts read
 *     #ifndef SHOAL_KERNEL
 *     const shoal_force shoal_force_NAME = {...};         the descriptor
 *     #else
 *     LANE_FN void NAME_add(...) {...}                    kernel text, with the operations of lane.h
 *     #endif
 *
 * Of a built-in plug, NAME.kern.h has the names, and the kernel text between #ifdef SHOAL_KERNEL and #endif. NAME.c
 * includes it and has the descriptor.
 */
#ifndef SHOAL_PLUG_H
#define SHOAL_PLUG_H
#ifndef SHOAL_KERNEL

#include <stdbool.h>
#include <stddef.h>

#include "core/shoal.h"

#define SHOAL_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Components of a vector, as in kernel text. SHOAL_VECTOR: the names of a vector's slots in a propagator's table. */
#define XYZ 3
/* clang-format off */
#define SHOAL_VECTOR(slot, name) [slot] = name "x", [(slot) + 1] = name "y", [(slot) + 2] = name "z"
/* clang-format on */

typedef enum shoal_parameter_type {
    SHOAL_REAL,
    SHOAL_INTEGER,
    SHOAL_BOOLEAN,
    SHOAL_CHOICE, /* one of `choices`; the value is its index */
    SHOAL_BODY    /* a body's name or index; the value is its index, -1 = the last body */
} shoal_parameter_type;

/* One parameter of a plug. The config reader, the help and the results read this table. */
typedef struct shoal_parameter {
    const char *name;
    shoal_parameter_type type;
    const char *dimension;       /* of shoal_units_factor; "" = a pure number */
    double initial, least, most; /* default and inclusive bounds, in inner units; initial = NaN: must be given */
    const char *choices;         /* SHOAL_CHOICE: "hill|mutual_hill|absolute" */
    const char *doc;             /* one line */
} shoal_parameter;

/* The parts for which a monitor has further slots: none, every body but the central one, every pair (kernel.h), or one
 * part, the system: a record that is rarely written. */
typedef enum shoal_monitor_parts { SHOAL_NO_PARTS, SHOAL_BODIES, SHOAL_PAIRS, SHOAL_ONE_PART } shoal_monitor_parts;

/* The slots from which a column is made: the monitor's own; those of each part, which gives a column for every part,
 * NAME_BODY or NAME_BODY_BODY (NAME for SHOAL_ONE_PART); or those of the part with the least first slot. */
typedef enum shoal_monitor_of { SHOAL_OF_SYSTEM, SHOAL_OF_EACH, SHOAL_OF_LEAST } shoal_monitor_of;

/* A column of the results that a monitor gives for each system, from its slots at the end of the run. */
typedef struct shoal_monitor_column {
    const char *name;
    const char *dimension;
    const char *doc;
    /* The column's value in inner units, from the monitor's slots of a system or of one of its parts; NaN = empty. */
    double (*finish)(const double *slots, const double *parameters);
    shoal_monitor_of of;
} shoal_monitor_column;

/* A column of what a monitor logs (record_add in monitors/monitor.kern.h). Rows also have the system and the time. */
typedef struct shoal_log_column {
    const char *name;
    const char *dimension;
    const char *doc;
} shoal_log_column;

#define SHOAL_DIMENSION_BODY "body" /* dimension of a log column that holds a body's index */

/* The row `compensated` in the parameter table of every propagator. It is off by default where it costs more than some
 * 3 % on one core (docs/performance.md). */
/* clang-format off */
#define SHOAL_COMPENSATED(by_default) \
    {"compensated", SHOAL_BOOLEAN, "", by_default, 0, 1, NULL, \
     "carry the rounding errors of positions and velocities (Kahan)"}
/* clang-format on */
#define SHOAL_COMPENSATED_PARAMETER  SHOAL_COMPENSATED(0)
#define SHOAL_COMPENSATED_BY_DEFAULT SHOAL_COMPENSATED(1)

/* Returns NULL if a propagator or force with these parameters applies to a system, else a sentence that says why not.
 */
typedef const char *shoal_refusal(const double *parameters, const shoal_ensemble *ensemble, long system);

typedef struct shoal_propagator {
    const char *name;
    /* "wh,wisdom_holman"; "rk4 (method=rk4)" sets a parameter that the config does not give, "(a=1;b=2)" two */
    const char *aliases;
    const char *doc; /* one line */
    const char *reference;
    int order;                /* of convergence in dt */
    const char *const *slots; /* names of the native state of one body */
    int n_slots;
    int n_own;           /* native slots of the system itself */
    bool sets_aside;     /* on a GPU it sets systems aside whose steps need substeps: PROPAGATOR_SETS_ASIDE */
    int first_body;      /* bodies before it have no slots: PROPAGATOR_FIRST_BODY of the kernel text */
    bool several_bodies; /* a GPU's thread may have two, four or five of them (team.h: TEAM_EACH) */
    bool adaptive;       /* it chooses its steps (integrate.kern.h) */
    bool tangent;        /* it also moves tangent vectors (tangent.kern.h); slots 0 to 5 are position, velocity */
    bool newton_only;    /* it works without forces beside Newton's only */
    /* Whether a step h resolves a pericentre at distance q of an orbit about mu, long as it is; NULL: no. */
    bool (*resolves_pericentre)(const double *parameters, double mu, double h, double q);
    /* [n_parameters] or NULL: defaults where a monitor follows tangent vectors; 0 = the same */
    const double *with_tangents;
    const shoal_parameter *parameters;
    int n_parameters;
    shoal_refusal *refuses; /* systems to which it does not apply; NULL: it applies to all */
} shoal_propagator;

typedef struct shoal_monitor {
    const char *name;
    const char *doc;
    const char *reference;
    int n_slots;           /* doubles that it carries for a system */
    const double *initial; /* [n_slots] their first values */
    shoal_monitor_parts parts;
    int n_part_slots; /* doubles that it carries for each part */
    const double *part_initial;
    bool tangent; /* it needs a tangent vector in every system; parameters `vectors`, `seed`: vectors.c */
    const shoal_log_column *log; /* [n_log] columns of its log; a parameter `log` = 0 turns the log off */
    int n_log;
    bool newton_only; /* it works without forces beside Newton's only */
    bool ends_only;   /* it looks at the ends of steps only and does not need view->before, which costs time */
    bool whole_run;   /* it reads view->phase: what it carries depends on where the run ends, from the first step on */
    const shoal_parameter *parameters;
    int n_parameters;
    const shoal_monitor_column *columns;
    int n_columns;
    /* Returns NULL if the monitor can see something with these parameters in these systems (NULL = any systems), else a
     * sentence that says why not. The function may be NULL. */
    const char *(*refuses)(const double *parameters, const shoal_ensemble *ensemble);
    /* Sets its own slots, and then those of its one part, for the bodies with which a system begins, or continues after
     * a merger or removal. The function may be NULL. */
    void (*begin)(const shoal_ensemble *ensemble, long system, double *slots);
    /* The value of columns from number `first_of_vectors` on where a system has several tangent vectors: [n_vectors *
     * n], positions and velocities in the coordinates of the propagator; it may change them. It may be NULL. */
    double (*of_vectors)(int column, int n_vectors, int n, double *vectors);
    int first_of_vectors;
    /* What parts it has with these parameters, where that depends on them, never SHOAL_NO_PARTS; NULL: `parts`. */
    shoal_monitor_parts (*parts_for)(const double *parameters);
} shoal_monitor;

/* A force on the bodies of a system beside Newton's. */
typedef struct shoal_force {
    const char *name;
    const char *doc;
    const char *reference;
    const shoal_parameter *parameters;
    int n_parameters;
    bool depends_on_velocity;
    shoal_refusal *refuses; /* parameters that contradict each other, systems on which it cannot act; NULL: none */
    /* The energy that belongs to the force, bodies = [n] in inner units. NaN, or no function: the force conserves no
     * energy, and energy errors are empty. */
    double (*energy)(const double *parameters, int n, const shoal_body *bodies);
    /* Whether it moves bodies that are near each other alike: a field of body 0 that acts on all others, whatever their
     * velocities. In an encounter of theirs `hybrid` kicks with such a force at the ends of a step. Others, and those
     * without this function, it substeps with them. */
    bool (*alike)(const double *parameters);
    /* How fast it brakes a body of a system, 1/time, bodies = [n] in inner units; *body: the one that it brakes the
     * fastest. A step of one length should be much less than 1 over that. NULL: slowly. */
    double (*rate)(const double *parameters, int n, const shoal_body *bodies, int *body);
    /* It takes a part of body 0's attraction away: its first parameter, from the body that its second one names (0:
     * from all without mass). Elements of the orbit are then those about what is left of body 0's mass. */
    bool eases;
    const char *effect; /* what it is one way to reckon with: a plan has at most one force of it; NULL: any number */
} shoal_force;

#endif
#endif
