/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plug.h: what a propagator, a force or a monitor says of itself. Each is one const descriptor, in NAME.c of
 * integrators/, gravitation/ or monitors/, or in a plugin: a C file of the user's, named in a config, that holds the
 * descriptor and the kernel text:
 *
 *     #include "core/plug/plug.h"
 *     enum { NAME_FIRST, NAME_SECOND, NAME_PARAMETERS };  names of parameters and slots, which both parts read
 *     #ifndef SHOAL_KERNEL
 *     const shoal_force shoal_force_NAME = {...};         what the host knows
 *     #else
 *     LANE_FN void NAME_add(...) {...}                    kernel text, in the words of lane.h
 *     #endif
 *
 * A built-in NAME.kern.h has these names, and between #ifdef SHOAL_KERNEL and #endif the kernel text; NAME.c includes
 * it.
 */
#ifndef SHOAL_PLUG_H
#define SHOAL_PLUG_H
#ifndef SHOAL_KERNEL

#include <stdbool.h>
#include <stddef.h>

#include "core/shoal.h"

#define SHOAL_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Components of a vector, as in kernel text; and the names of a vector's slots in a propagator's table of them. */
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

/* One parameter of a plug: drives the config reader, the help, the metadata and the checkpoint. */
typedef struct shoal_parameter {
    const char *name;
    shoal_parameter_type type;
    const char *dimension;       /* of shoal_units_factor; "" = a pure number */
    double initial, least, most; /* default and inclusive bounds, in inner units; initial = NaN: must be given */
    const char *choices;         /* SHOAL_CHOICE: "hill|mutual_hill|absolute" */
    const char *doc;             /* one line */
} shoal_parameter;

/* What a monitor has slots for beside its own: every body but the central one, or every pair of bodies (kernel.h). */
typedef enum shoal_monitor_parts { SHOAL_NO_PARTS, SHOAL_BODIES, SHOAL_PAIRS } shoal_monitor_parts;

/* Whose slots a column is made from: the monitor's own; each part's, a column for every part, NAME_BODY or
 * NAME_BODY_BODY; or those of the part whose first slot is the least. */
typedef enum shoal_monitor_of { SHOAL_OF_SYSTEM, SHOAL_OF_EACH, SHOAL_OF_LEAST } shoal_monitor_of;

/* A column that a monitor computes for each system, from watch slots after the run. */
typedef struct shoal_monitor_column {
    const char *name;
    const char *dimension;
    const char *doc;
    /* From the monitor's slots of one system, or of a part of it, to the column's value in inner units; NaN = empty. */
    double (*finish)(const double *slots, const double *parameters);
    shoal_monitor_of of;
} shoal_monitor_column;

/* A column of what a monitor logs (record_add in monitors/monitor.kern.h). Rows also have the system and the time. */
typedef struct shoal_log_column {
    const char *name;
    const char *dimension;
    const char *doc;
} shoal_log_column;

#define SHOAL_DIMENSION_BODY "body" /* of a log column: the number is a body's index */

/* The parameter `compensated` of every propagator, in its table. Off by default where it was measured on one core to
 * cost more than some 3 % (4 % hermite6, 12 % hermite4, 20 % mvs, 60 % leapfrog, see docs/performance.md). */
/* clang-format off */
#define SHOAL_COMPENSATED(by_default) \
    {"compensated", SHOAL_BOOLEAN, "", by_default, 0, 1, NULL, \
     "carry the rounding errors of positions and velocities (Kahan)"}
/* clang-format on */
#define SHOAL_COMPENSATED_PARAMETER  SHOAL_COMPENSATED(0)
#define SHOAL_COMPENSATED_BY_DEFAULT SHOAL_COMPENSATED(1)

/* NULL if a propagator or a force with these parameters applies to a system, else a sentence that says why not. */
typedef const char *shoal_refusal(const double *parameters, const shoal_ensemble *ensemble, long system);

typedef struct shoal_propagator {
    const char *name;
    /* "wh,wisdom_holman"; "rk4 (method=rk4)" sets a parameter, "(a=1;b=2)" two, unless they are given, too */
    const char *aliases;
    const char *doc; /* one line */
    const char *reference;
    int order;                /* of convergence in dt */
    const char *const *slots; /* names of the native state of one body */
    int n_slots;
    int n_own;                /* native slots of the system itself */
    bool sets_aside;          /* on a GPU, systems whose steps need substeps are set aside: PROPAGATOR_SETS_ASIDE */
    int first_body;           /* bodies before it have no slots: its kernel text's PROPAGATOR_FIRST_BODY */
    bool several_bodies;      /* a GPU's thread may have two, four or five of them (team.h: TEAM_EACH) */
    bool adaptive;            /* it chooses its steps (see integrate.kern.h) */
    bool tangent;             /* it moves tangent vectors, too (see tangent.kern.h) */
    bool newton_only;         /* it knows no extra forces */
    bool resolves_pericentre; /* though its steps are fixed */
    const shoal_parameter *parameters;
    int n_parameters;
    shoal_refusal *refuses; /* the systems that it is not for; NULL: none */
} shoal_propagator;

typedef struct shoal_monitor {
    const char *name;
    const char *doc;
    const char *reference;
    int n_slots;           /* slots a system that it carries */
    const double *initial; /* [n_slots] their first values */
    shoal_monitor_parts parts;
    int n_part_slots; /* of each part */
    const double *part_initial;
    bool tangent;                /* it watches a tangent vector: every system has to carry one */
    const shoal_log_column *log; /* what it logs, unless it has a parameter `log`, which is 0 */
    int n_log;
    bool newton_only; /* it knows no extra forces */
    bool ends_only;   /* it looks at the ends of steps alone; view->before, which costs time, need not be there */
    const shoal_parameter *parameters;
    int n_parameters;
    const shoal_monitor_column *columns;
    int n_columns;
    /* NULL if it can see something in these systems (NULL = whatever they are) with these parameters, else a
     * sentence that says why not. The function may be NULL. */
    const char *(*refuses)(const double *parameters, const shoal_ensemble *ensemble);
    /* Sets its own slots for the bodies that a system begins with, or goes on with after a merger or removal. May be
     * NULL. */
    void (*begin)(const shoal_ensemble *ensemble, long system, double *slots);
} shoal_monitor;

/* A force on the bodies of a system beside Newton's. */
typedef struct shoal_force {
    const char *name;
    const char *doc;
    const char *reference;
    const shoal_parameter *parameters;
    int n_parameters;
    bool depends_on_velocity;
    shoal_refusal *refuses; /* parameters that contradict each other, systems that it cannot act on; NULL: none */
    /* What it adds to the energy, bodies = [n] in inner units; NaN, or no function: it conserves none, and energy
     * errors are empty. */
    double (*energy)(const double *parameters, int n, const shoal_body *bodies);
} shoal_force;

#endif
#endif
