/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kernel.h: what the host and the kernel text agree on.
 *
 * Every array of an ensemble is [chunk][slot][lane within the chunk], with SHOAL_CHUNK systems a chunk: doubles,
 * aligned to 64 bytes. The same bytes serve a SIMD load on the CPU and a coalesced warp load on the GPU. Four such
 * arrays describe an ensemble in motion:
 *
 *   bodies   slot = body * SHOAL_QUANTITIES + quantity   barycentric Cartesian, inner units (G = 1)
 *   systems  slot = SHOAL_SYS_*                          one record a system
 *   native   slot = quantity * n_moved + body            what the propagator carries from step to step: the slots of
 *                                                        all bodies, then those of the system itself
 *   watch    slot = offset of the monitor + its own      what the monitors carry from step to step: for each monitor
 *                                                        its own slots, then those of every body or pair; after all
 *                                                        monitors the marks, then the records
 *
 * A fifth one, snapshot, receives states that were asked for.
 *
 * Tangent vectors: if a monitor asks for one, every system carries it. Then n_moved = 2 n_bodies, and body n_bodies + i
 * is the tangent vector (delta x_i, delta v_i) of body i. Otherwise n_moved = n_bodies.
 *
 * Absent bodies: a body of mass -0.0 is not there. These are the slots beyond a system's bodies, and bodies that merged
 * into another one or were removed. Such a body attracts nobody and is not watched.
 *
 * Marks say what happened in the last step without ending the system. They are a matrix of bodies. Slot a * n_bodies +
 * b has the time from the event to the end of the step, NaN if nothing happened. For a < b the two bodies touched. For
 * a > b they came close; +inf says that this was logged and that they have not separated since. For a = b the body
 * left.
 *
 * Records are the rows that monitors have logged and the host has not taken yet: their number, then room for
 * record_room of them. A record has record_size doubles: the monitor, the time, and the monitor's log columns.
 *
 * gcc and NVRTC read this header, so nothing that it includes may include a system header.
 */
#ifndef SHOAL_KERNEL_H
#define SHOAL_KERNEL_H

#include "core/kernel/aside.h"
#include "core/shoal.h"

#define SHOAL_CHUNK          32   /* systems in a chunk */
#define SHOAL_MAX_BODIES     1000 /* of a system: a thread's stack has the state of several, 1.3 KiB a body of each */
#define SHOAL_MAX_PARAMETERS 12   /* parameters of one plug */
#define SHOAL_MAX_MONITORS   18   /* monitors the kernel text knows */
#define SHOAL_MAX_PAIRED     8    /* up to so many bodies a monitor follows every pair by itself */
#define SHOAL_MAX_FORCES     16   /* extra forces on a system */

/* A system pauses when it has so many records. There is also room for those of the step that reaches this number. */
#define SHOAL_RECORDS_PAUSE 16
enum {
    SHOAL_RECORD_MONITOR, /* SHOAL_MONITOR_name */
    SHOAL_RECORD_TIME,
    SHOAL_RECORD_VALUES /* the first column */
};

/* Position of one value in an array of n_slots slots a chunk. */
#define SHOAL_AT(system, slot, n_slots) \
    ((((system) / SHOAL_CHUNK) * (long long)(n_slots) + (slot)) * SHOAL_CHUNK + (system) % SHOAL_CHUNK)

/* Pairs that a monitor follows in systems of n bodies, and the place of the pair i < j among them. Beyond
 * SHOAL_MAX_PAIRED bodies all pairs share one place. */
#define SHOAL_N_PAIRS(n)    ((n) <= SHOAL_MAX_PAIRED ? (n) * ((n)-1) / 2 : 1)
#define SHOAL_PAIR(n, i, j) ((n) <= SHOAL_MAX_PAIRED ? (i) * (2 * (n) - (i)-1) / 2 + (j) - (i)-1 : 0)

/* quantities of a body */
enum { SHOAL_X, SHOAL_Y, SHOAL_Z, SHOAL_VX, SHOAL_VY, SHOAL_VZ, SHOAL_M, SHOAL_R, SHOAL_QUANTITIES };

/* fields of a system's record; times in inner units, counts as exact doubles */
enum {
    SHOAL_SYS_T_START, /* time of step 0 */
    SHOAL_SYS_DT,      /* signed step; of an adaptive propagator: the next one */
    SHOAL_SYS_STEP,    /* steps done; fixed steps: t = t_start + step * dt, where a last step may be a part of one */
    SHOAL_SYS_ATTEMPT, /* adaptive: steps tried, the rejected ones too */
    SHOAL_SYS_ELAPSED, /* adaptive: |t - t_start| = elapsed - error */
    SHOAL_SYS_ELAPSED_ERROR,
    SHOAL_SYS_JUDGED, /* adaptive: ELAPSED at the last whole number of SHOAL_WINDOWs of attempts */
    /* the kernel pauses the system before its progress passes this: a count of steps, or elapsed time */
    SHOAL_SYS_TARGET,
    SHOAL_SYS_END,     /* progress of the whole run (full steps before t_end, or |t_end - t_start|) */
    SHOAL_SYS_OUTCOME, /* enum shoal_outcome, or SHOAL_MARKED */
    SHOAL_SYS_T_STOP,  /* time of the event that ended the system */
    SHOAL_SYS_BODY_A,  /* bodies of that event, -1 = none */
    SHOAL_SYS_BODY_B,
    SHOAL_SYS_N_LIVE,  /* bodies that it began with */
    SHOAL_SYS_PARTIAL, /* length of the partial step of a snapshot */
    SHOAL_SYS_FIELDS
};

/* Attempts after each of which the progress of an adaptive system is judged (shoal_kernel_args.patience). */
#define SHOAL_WINDOW 0x1p20

/* Internal outcome of a system that pauses until the host has acted on its marks (core/plan/events.c). */
enum { SHOAL_MARKED = -1 };
/* Internal outcomes within a slice: the system is set aside, in the queue; it has moved to the host (aside.h). */
enum { SHOAL_ASIDE = -2, SHOAL_HOSTED = -3 };

/* What a monitor sees (monitors/list.h), in ascending order. */
enum { SHOAL_SEES_FAR, SHOAL_SEES_EVERY, SHOAL_SEES_ENDS, SHOAL_SEES_BEFORE, SHOAL_SEES_INSIDE };

/* How the pair forces are summed (the bits are the same): each pair once, or for each body a row of those that
 * attract it. */
enum { SHOAL_FORM_PAIRS, SHOAL_FORM_ROWS };

/* Who advances a system on a GPU (team.h). */
enum { SHOAL_MODEL_SYSTEM, SHOAL_MODEL_BODY, SHOAL_MODEL_COMPONENT, SHOAL_MODEL_PAIR, SHOAL_MODELS };

/* Doubles of shared memory in which a team exchanges numbers: nine vectors of bodies and tangent vectors, and for
 * the model `pair` seven numbers a pair. */
#define SHOAL_TEAM_VECTORS(n_moved) (9 * (n_moved))
#define SHOAL_TEAM_EXCHANGED(model, n_bodies, n_moved) \
    (SHOAL_TEAM_VECTORS(n_moved) + ((model) == SHOAL_MODEL_PAIR ? 7 * ((n_bodies) * ((n_bodies)-1) / 2) : 0))

/* Conjunctions of a body with another one, of which some are kept: it passes before that one, or behind it. That at
 * time t has the number next to (t - t0) / period. */
typedef struct shoal_conjunctions {
    int body, of, behind;
    int track;    /* mutual: the row of `met` with the sign of their motion; -1 = body 0, of which registers know it */
    int first, n; /* the numbers that may be kept: first ... */
    int row_of;   /* rows of these numbers: shoal_sights.row_of[row_of ...], -1 = it is not kept */
    double t0, period;
    double light; /* 1 / c where times are those of arrival at the barycentre's distance, else 0 */
} shoal_conjunctions;

/* What is kept of a conjunction. Ingress and egress: from a contact from without to that from within. */
enum { SHOAL_MET_TIME, SHOAL_MET_DISTANCE, SHOAL_MET_DURATION, SHOAL_MET_INGRESS, SHOAL_MET_EGRESS, SHOAL_MET };

/* What is seen of systems at a list of times, in the order of the run (integrators/observe.kern.h), and at conjunctions
 * (integrators/conjunctions.kern.h). */
typedef struct shoal_sights {
    long long n_times;
    int n_what;
    const double *times;                         /* [n_times] */
    const int *what;                             /* [n_what] 6 * body + component, x y z vx vy vz, barycentric */
    double *seen;                                /* [chunk][n_times * n_what][lane] */
    int n_conjunctions, n_row_of, n_rows, n_met; /* n_met: of SHOAL_MET_*, how many are kept */
    int n_mutual;                                /* conjunctions with a track */
    const shoal_conjunctions *conjunctions;
    const int *row_of;
    double *met; /* [chunk][n_rows * n_met][lane] */
} shoal_sights;

/* Everything a kernel is told. Passed by value on the GPU. */
typedef struct shoal_kernel_args {
    const int *list; /* [n_list] systems to work on */
    long long n_list;
    double *bodies;   /* [chunk][n_bodies * SHOAL_QUANTITIES][lane] */
    double *systems;  /* [chunk][SHOAL_SYS_FIELDS][lane] */
    double *native;   /* [chunk][propagator slots * n_moved + own slots][lane] */
    double *watch;    /* [chunk][n_watch][lane] */
    double *snapshot; /* [chunk][6 * n_bodies][lane]: x y z vx vy vz of body 0, then of body 1, ... */
    int n_moved;      /* n_bodies, or 2 n_bodies with tangent vectors */
    int variational;  /* there are tangent vectors */
    int n_watch;
    int marks;   /* the slot of `watch` where the marks begin, -1 = there are none */
    int records; /* the same for the records */
    int record_room, record_size;
    int monitors;    /* bit SHOAL_MONITOR_name set: the monitor is active */
    int form;        /* SHOAL_FORM_* */
    int n_massive;   /* bodies from this one on have no mass in any system */
    int compensated; /* compensated summation of positions and velocities */
    int n_forces;    /* extra forces, in the order of the config */
    int forces;      /* bit SHOAL_FORCE_name set: there is one of them */
    int eases;       /* bit i set: force i takes a part of body 0's attraction away (shoal_force.eases) */
    int forces_part; /* one of them does not move bodies that are near each other alike (shoal_force.alike) */
    /* the most steps (adaptive: attempts) in this call; a system that is set aside counts anew from there */
    double slice_steps;
    double max_steps;      /* budget of a system's steps (adaptive: attempts) */
    double patience;       /* adaptive: attempts that the rest of a run may need at the pace of the last SHOAL_WINDOW */
    double dt_min, dt_max; /* bounds of an adaptive step, positive */
    double propagator[SHOAL_MAX_PARAMETERS];                  /* the propagator's parameters, table order */
    double force[SHOAL_MAX_FORCES][SHOAL_MAX_PARAMETERS];     /* each force's parameters, table order */
    int force_kind[SHOAL_MAX_FORCES];                         /* SHOAL_FORCE_name */
    double monitor[SHOAL_MAX_MONITORS][SHOAL_MAX_PARAMETERS]; /* each monitor's parameters, table order */
    int watch_offset[SHOAL_MAX_MONITORS];
    shoal_sights sights;
    const struct shoal_walk *walk; /* of walkers (core/walker/walker.h), and the leg that they make */
    int walk_leg;
    shoal_aside aside; /* of a GPU */
} shoal_kernel_args;

#endif
