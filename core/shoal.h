/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * shoal.h: the public interface of Shoal, which integrates ensembles of gravitational few-body systems: thousands to
 * millions of independent systems at once, on CPU SIMD lanes and on GPUs, from one kernel source.
 *
 *     context -> ensemble -> plan -> integrate              a C program that brings its own systems
 *     context -> study (a config file) -> run -> result     what the command `shoal run` does
 *
 * Units: the library computes with G = 1. Any consistent units will do; the study reader converts to AU, solar masses
 * and yr/2pi (58.1324 d). Angles are radians. Positions and velocities are Cartesian.
 *
 * Errors: a function that can fail returns a shoal_status; the context then holds a one-line message. A refused call
 * (SHOAL_E_USAGE, SHOAL_E_INPUT) leaves every object as it was; after any other failure the object can only be
 * destroyed. The library never exits, aborts or prints.
 *
 * Arguments: every function refuses (SHOAL_E_USAGE, with a message that names the function, the argument, its value
 * and what is allowed) an object, an array or a place for an answer that is NULL, an index that is out of range and a
 * count below 0, unless it says that NULL means something. This is not said again below. A function that returns
 * a number or a text answers with 0, NaN or "" then. With no object there is no context to hold the message.
 *
 * Versions: structures that a caller fills or reads grow without harm to programs that were compiled before.
 *   shoal_options     its first member is its size, which shoal_options_init sets; the library reads so much
 *   shoal_progress    the library makes it; new members come at the end
 *   shoal_system, shoal_event   end in reserved numbers, 0 in this version, which later versions fill
 *   the others        stay as they are
 * What else there is to know of a system has a name (shoal_ensemble_get_column, shoal_result_get_column), so that a
 * later version can add to it.
 *
 * Arrays of systems: see shoal_block.
 *
 * Threads: one context and what was made with it belong to one thread at a time. The library starts its own threads,
 * which sleep when they have nothing to do, and ends them with the context.
 *
 * Fork: a forked process may use what its parent made, and make its own. Where its parent had started threads, there
 * are none for it, and its calls run in the thread that makes them; a context that it makes itself has threads again.
 * A GPU is its parent's alone: a call that needs it fails with SHOAL_E_DEVICE.
 */
#ifndef SHOAL_H
#define SHOAL_H

#ifdef __cplusplus
extern "C" {
#endif

#define SHOAL_VERSION "0.1.0"

/* X(NAME, text) */
#define SHOAL_STATUS_LIST(X)                                      \
    X(OK, "success")                                              \
    X(E_USAGE, "the call or the command line is wrong")           \
    X(E_INPUT, "an input file or a value in it is wrong")         \
    X(E_UNSUPPORTED, "this build or this machine cannot do that") \
    X(E_FILE, "a file could not be read or written")              \
    X(E_MEMORY, "out of memory")                                  \
    X(E_DEVICE, "the GPU or its driver failed")                   \
    X(E_INTERRUPTED, "interrupted; what was committed is kept")   \
    X(E_INTERNAL, "a bug in shoal")

typedef enum shoal_status {
#define X(NAME, text) SHOAL_##NAME,
    SHOAL_STATUS_LIST(X)
#undef X
} shoal_status;

/*
 * shoal_status_text: the text of a status.
 *   status   in  any number
 *   returns      a text that stays; "unknown status" for what is none
 */
const char *shoal_status_text(shoal_status status);

/*
 * shoal_version: the version of the library that runs, as SHOAL_VERSION was when it was built.
 */
const char *shoal_version(void);

/* ---- context ----------------------------------------------------------------------------------------------------- */

/* Holds the last message, the plugins and the threads. */
typedef struct shoal_context shoal_context;

/*
 * shoal_context_create: make a context.
 *   context  out  NULL when memory is out (E_MEMORY)
 */
shoal_status shoal_context_create(shoal_context **context);

/*
 * shoal_context_destroy: end a context and its threads. What was made with it has to be destroyed before.
 *   context  in/out  becomes NULL; it may be NULL, and so may the address, here and in all functions that destroy
 */
void shoal_context_destroy(shoal_context **context);

/*
 * shoal_context_message: what the last failed call with this context said, or the last call that met systems which
 * are not possible.
 *   returns  one line, "" if there was nothing to say; valid until the next call
 */
const char *shoal_context_message(const shoal_context *context);

/*
 * shoal_context_allow_plugins: whether a config may name plugins, C files that are compiled and run
 * (`shoal run --allow-plugins`).
 *   allow  in  nonzero: it may; 0 (as it begins): it is refused
 */
shoal_status shoal_context_allow_plugins(shoal_context *context, int allow);

/*
 * shoal_plugin_load: load a plugin, which then exists for everything that is made with this context. It is compiled by
 * the system's C compiler (CC, or cc) and kept in the user's cache.
 *   path  in  a C file NAME.c with one propagator, force or monitor called NAME (core/plug/plug.h, docs/plugins.md)
 * Status: E_INPUT with the compiler's first error, if it does not compile; E_FILE; E_UNSUPPORTED: there is no compiler.
 */
shoal_status shoal_plugin_load(shoal_context *context, const char *path);

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* One body: mass, physical radius (0 = a point), position and velocity. */
typedef struct shoal_body {
    double m, r;
    double x, y, z;
    double vx, vy, vz;
} shoal_body;

/* What the elements of body i refer to. */
typedef enum shoal_frame {
    SHOAL_JACOBI,       /* the barycentre of bodies 0..i-1; mu = G times the mass of bodies 0..i */
    SHOAL_ASTROCENTRIC, /* body 0; mu = G (m_0 + m_i) */
    SHOAL_BARYCENTRIC   /* the barycentre of the whole system; mu = G times the total mass */
} shoal_frame;

/* A Keplerian orbit. a < 0 and e > 1: hyperbola. Angles in radians. */
typedef struct shoal_orbit {
    double a;     /* semi-major axis [length]; +inf for a parabola */
    double e;     /* eccentricity */
    double inc;   /* inclination, 0..pi */
    double Omega; /* longitude of the ascending node; 0 by convention for an orbit in the reference plane */
    double omega; /* argument of pericentre; counted from the node direction, 0 by convention for a circle */
    double f;     /* true anomaly */
    double M;     /* mean anomaly (hyperbolic mean anomaly for e > 1); filled by shoal_orbit_from_state */
    double P;     /* period [time], +inf for a hyperbola; filled by shoal_orbit_from_state */
} shoal_orbit;

/*
 * shoal_orbit_to_state: the position and velocity on an orbit.
 *   context  in   NULL: no message is kept, here and in the other functions of this section
 *   mu       in   G times the mass that attracts, > 0
 *   orbit    in   a, e, inc, Omega, omega, f are read
 *   state    out  [6] x y z vx vy vz relative to the centre of attraction
 * Status: E_INPUT if e < 0, e = 1, a and e disagree in sign, f lies beyond a hyperbola's asymptote, or a number is not
 * finite.
 * Source: Murray & Dermott, Solar System Dynamics, section 2.8.
 */
shoal_status shoal_orbit_to_state(shoal_context *context, double mu, const shoal_orbit *orbit, double state[6]);

/*
 * shoal_orbit_from_state: the orbit through a position and velocity, the inverse of shoal_orbit_to_state.
 *   mu     in   G times the mass that attracts, > 0
 *   state  in   [6] x y z vx vy vz relative to the centre of attraction
 *   orbit  out  all members; Omega and omega in [0, 2 pi), f and (for an ellipse) M in [-pi, pi]; e = 1 for a parabola
 *               (M is NaN) and for motion along a line, which no true anomaly describes
 * Status: E_INPUT for mu <= 0, a position at the centre, a number that is not finite.
 */
shoal_status shoal_orbit_from_state(shoal_context *context, double mu, const double state[6], shoal_orbit *orbit);

/*
 * shoal_true_anomaly: true anomaly from mean anomaly.
 *   e        in  eccentricity; e > 1: M is the hyperbolic mean anomaly
 *   M        in  radians, any finite number
 *   returns      radians in [-pi, pi]; NaN for e < 0 or e = 1
 */
double shoal_true_anomaly(double e, double M);

/*
 * shoal_mean_anomaly: mean anomaly from true anomaly, the inverse.
 *   returns  radians; NaN for e < 0 or e = 1, and beyond a hyperbola's asymptote
 */
double shoal_mean_anomaly(double e, double f);

/*
 * shoal_true_anomalies, shoal_mean_anomalies: the same for n orbits at once.
 *   n     in   how many
 *   e     in   [n]
 *   M, f  in   [n] radians
 *   f, M  out  [n] radians, NaN where there is none; it may be the array that is read
 */
shoal_status shoal_true_anomalies(shoal_context *context, long n, const double *e, const double *M, double *f);
shoal_status shoal_mean_anomalies(shoal_context *context, long n, const double *e, const double *f, double *M);

/*
 * shoal_bodies_from_orbits: Cartesian bodies from orbits.
 *   frame     in      what the orbits refer to
 *   n_bodies  in      1 or more, body 0 the central one
 *   orbits    in      [n_bodies], orbits[0] is not read
 *   bodies    in/out  [n_bodies] m and r are read; positions and velocities are written, relative to the barycentre
 * Status: E_INPUT for a mass below 0, a total of 0, a body 0 without mass whom the frame needs, and as
 * shoal_orbit_to_state.
 */
shoal_status shoal_bodies_from_orbits(shoal_context *context, shoal_frame frame, int n_bodies,
                                      const shoal_orbit *orbits, shoal_body *bodies);

/*
 * shoal_orbits_from_bodies: the inverse.
 *   bodies  in   [n_bodies] with any inertial origin
 *   orbits  out  [n_bodies]; orbits[0] is set to zero
 */
shoal_status shoal_orbits_from_bodies(shoal_context *context, shoal_frame frame, int n_bodies, const shoal_body *bodies,
                                      shoal_orbit *orbits);

/* ---- ensemble ---------------------------------------------------------------------------------------------------- */

/* Independent systems of up to n_bodies bodies each, in chunked arrays, barycentric inside. */
typedef struct shoal_ensemble shoal_ensemble;

/* How a system ended: data, never an error. Files have had another meaning for code 13. X(NAME, code, name, doc) */
#define SHOAL_OUTCOME_LIST(X)                                                                               \
    X(RUNNING, 0, "running", "not yet at its end time")                                                     \
    X(SURVIVED, 1, "survived", "reached its end time")                                                      \
    X(EJECTED, 2, "ejected", "a body left the system")                                                      \
    X(COLLIDED, 3, "collided", "two bodies touched")                                                        \
    X(HIT_STAR, 4, "hit_star", "a body touched the central body")                                           \
    X(ENCOUNTER, 5, "encounter", "two bodies came closer than the chosen distance")                         \
    X(CROSSED, 6, "crossed", "two orbits crossed")                                                          \
    X(STEP_UNDERFLOW, 7, "step_underflow", "the adaptive step fell below its least value")                  \
    X(NONFINITE, 8, "nonfinite", "a coordinate is not a finite number")                                     \
    X(INVALID, 9, "invalid", "its initial conditions are impossible, or not for the propagator or a force") \
    X(BUDGET, 10, "budget", "it used up its budget of steps")                                               \
    X(CHAOTIC, 11, "chaotic", "its chaos indicator passed the chosen limit")                                \
    X(INACCURATE, 12, "inaccurate", "its energy error passed the chosen limit")

enum shoal_outcome {
#define X(NAME, code, name, doc) SHOAL_##NAME = code,
    SHOAL_OUTCOME_LIST(X)
#undef X
        SHOAL_OUTCOMES
};

/*
 * shoal_outcome_name: the name of an outcome: "running", ...
 *   returns  a text that stays; "unknown" for what is none
 */
const char *shoal_outcome_name(int outcome);

/* What an ensemble knows of one system beside its bodies. Times in inner units. */
typedef struct shoal_system {
    long id;        /* the system's name; random numbers are keyed by it; default: its index */
    int n_live;     /* bodies that it began with */
    double t_start; /* time of the initial state */
    double dt;      /* step; its sign is set by the direction of the integration */
    double time;    /* time of the bodies held now */
    double n_steps; /* steps done */
    enum shoal_outcome outcome;
    double t_stop;       /* time at which the system ended (of the event, inside its step); NaN while it runs */
    int body_a, body_b;  /* bodies of the event, -1 = none */
    double energy_start; /* energy of the initial state, barycentric, as shoal_ensemble_energy */
    double centre[6];    /* position and velocity of the barycentre at t_start; a removal changes both from then on */
    int n_left;          /* bodies still there: not merged into another one, not removed */
    double energy_jump;  /* by mergers and removals; the propagator's error is energy - energy_start - energy_jump */
    double reserved[4];  /* 0 */
} shoal_system;

/*
 * shoal_ensemble_create: make an ensemble; each system is `invalid` until its bodies are set.
 *   n_systems  in   1 or more
 *   n_bodies   in   2 or more: the most that a system has
 *   ensemble   out  NULL on failure
 */
shoal_status shoal_ensemble_create(shoal_context *context, long n_systems, int n_bodies, shoal_ensemble **ensemble);
void shoal_ensemble_destroy(shoal_ensemble **ensemble);

long shoal_ensemble_n_systems(const shoal_ensemble *ensemble);
int shoal_ensemble_n_bodies(const shoal_ensemble *ensemble);

/*
 * shoal_ensemble_set_bodies: set the bodies of a system, its initial state.
 *   system  in  0..n_systems-1
 *   n_live  in  2..n_bodies
 *   bodies  in  [n_live], any inertial origin; the barycentre is split off and kept
 * Status: E_INPUT, and the system is `invalid`, if a mass or a radius is negative, the total mass not positive, a value
 * not finite, or two bodies are at one place.
 */
shoal_status shoal_ensemble_set_bodies(shoal_ensemble *ensemble, long system, int n_live, const shoal_body *bodies);

/*
 * shoal_ensemble_get_bodies: the bodies of a system now, the barycentre's motion added back.
 *   bodies  out  [n_live of the system]; those that are gone all NaN, and all of an `invalid` system
 */
shoal_status shoal_ensemble_get_bodies(const shoal_ensemble *ensemble, long system, shoal_body *bodies);

/*
 * shoal_ensemble_set_system: set a system's id, t_start and dt, before a plan is made, or made to begin again.
 *   record  in  its other members are not read
 * Status: E_INPUT for a t_start or a dt that is not finite.
 */
shoal_status shoal_ensemble_set_system(shoal_ensemble *ensemble, long system, const shoal_system *record);

/*
 * shoal_ensemble_get_system: all that is known of a system beside its bodies.
 *   record  out  all members
 */
shoal_status shoal_ensemble_get_system(const shoal_ensemble *ensemble, long system, shoal_system *record);

/*
 * shoal_ensemble_energy: total energy of the bodies held now, relative to the barycentre, each pair counted once, with
 * that of the extra forces of the last plan (which made energy_start anew).
 *   returns  NaN for an `invalid` system, and if a force conserves no energy
 */
double shoal_ensemble_energy(const shoal_ensemble *ensemble, long system);

/*
 * shoal_ensemble_angular_momentum: total angular momentum about the barycentre.
 *   L  out  [3]
 */
shoal_status shoal_ensemble_angular_momentum(const shoal_ensemble *ensemble, long system, double L[3]);

/* ---- arrays of systems ------------------------------------------------------------------------------------------- */

/*
 * Which systems and bodies an array of doubles holds, and where. NULL in place of a block: all systems of the ensemble
 * with all its bodies, without gaps. The array's address is that of the first number of the first body of the first
 * system; strides are counted in bytes, as NumPy does, and may be negative.
 */
typedef struct shoal_block {
    long first;         /* the first system */
    long n;             /* systems */
    int n_bodies;       /* bodies of each; 0: those of the ensemble (or the result) */
    long system_stride; /* from one system to the next */
    long body_stride;   /* from one body of a system to the next */
    long number_stride; /* from one number of a body to the next; all three 0: without gaps */
} shoal_block;

/* The numbers of a body in an array. */
enum {
    SHOAL_STATE_NUMBERS = 7, /* m x y z vx vy vz, as results have them */
    SHOAL_ORBIT_NUMBERS = 7  /* m a e inc Omega omega f; of body 0 only m is read, and written (the others NaN) */
};

/*
 * shoal_ensemble_set_states: set the bodies of many systems, as shoal_ensemble_set_bodies does of one, with no radii.
 *   block      in   which, and where; block->n_bodies: 2 or more
 *   values     in   [n][n_bodies][7] m x y z vx vy vz; a system with fewer bodies has only NaN after its last one
 *   n_invalid  out  how many are not possible; NULL: not asked for
 * One that is not possible becomes `invalid` and does not stop the others: the call succeeds, and the context's message
 * says what is wrong with the first of them.
 */
shoal_status shoal_ensemble_set_states(shoal_ensemble *ensemble, const shoal_block *block, const double *values,
                                       long *n_invalid);

/*
 * shoal_ensemble_get_states: the bodies of many systems now.
 *   values  out  [n][n_bodies][7] m x y z vx vy vz; NaN for bodies that are not there, and for `invalid` systems
 */
shoal_status shoal_ensemble_get_states(const shoal_ensemble *ensemble, const shoal_block *block, double *values);

/*
 * shoal_ensemble_set_orbits: set the bodies of many systems from orbits (shoal_bodies_from_orbits), with no radii.
 *   frame      in   what the orbits refer to
 *   values     in   [n][n_bodies][7] m a e inc Omega omega f; as for shoal_ensemble_set_states
 *   n_invalid  out  as there
 */
shoal_status shoal_ensemble_set_orbits(shoal_ensemble *ensemble, shoal_frame frame, const shoal_block *block,
                                       const double *values, long *n_invalid);

/*
 * shoal_ensemble_get_orbits: the orbits of many systems now; bodies that are gone are nobody's centre.
 *   values  out  [n][n_bodies][7] m a e inc Omega omega f; NaN for bodies that are not there, for `invalid` systems,
 *                and for the elements of the first body that is there
 */
shoal_status shoal_ensemble_get_orbits(const shoal_ensemble *ensemble, shoal_frame frame, const shoal_block *block,
                                       double *values);

/*
 * shoal_ensemble_set_radii: set the radii of bodies that were set before, in systems that have made no step.
 *   values     in   [n][n_bodies], 0 or more; not read for bodies that are not there
 *   n_invalid  out  systems with a radius that is not possible, which become `invalid`; NULL: not asked for
 */
shoal_status shoal_ensemble_set_radii(shoal_ensemble *ensemble, const shoal_block *block, const double *values,
                                      long *n_invalid);

/*
 * shoal_ensemble_get_radii: radii.
 *   values  out  [n][n_bodies], NaN for bodies that are not there
 */
shoal_status shoal_ensemble_get_radii(const shoal_ensemble *ensemble, const shoal_block *block, double *values);

/*
 * shoal_ensemble_set_column: set a number of many systems, as shoal_ensemble_set_system does.
 *   column  in  "id" (a whole number within 2^53), "t_start" or "dt"
 *   first   in  the first system
 *   n       in  how many systems
 *   values  in  [n]
 *   stride  in  bytes from one to the next, 0: without gaps
 * Status: E_USAGE for a column that is none of these; E_INPUT for a number that is not finite, or no id: then nothing
 * is set.
 */
shoal_status shoal_ensemble_set_column(shoal_ensemble *ensemble, const char *column, long first, long n,
                                       const double *values, long stride);

/*
 * shoal_ensemble_get_column: a number of many systems.
 *   column  in   a member of shoal_system ("id", "n_live", "t_start", "dt", "time", "n_steps", "outcome", "t_stop",
 *                "body_a", "body_b", "energy_start", "n_left", "energy_jump"), or "energy", or "Lx", "Ly", "Lz" of the
 *                angular momentum
 *   values  out  [n]
 */
shoal_status shoal_ensemble_get_column(const shoal_ensemble *ensemble, const char *column, long first, long n,
                                       double *values, long stride);

/*
 * shoal_ensemble_get_outcomes: how systems ended.
 *   outcomes  out  [n] of enum shoal_outcome
 */
shoal_status shoal_ensemble_get_outcomes(const shoal_ensemble *ensemble, long first, long n, int *outcomes);

/* ---- plan -------------------------------------------------------------------------------------------------------- */

/* One parameter of a plug, for callers that do not use a config file. */
typedef struct shoal_setting {
    const char *name;   /* as in the plug's table (`shoal explain NAME`) */
    double value;       /* inner units, radians; a body by its index */
    const char *choice; /* instead, for parameters that are one of a list of words; else NULL */
} shoal_setting;

/* A monitor or a force and its settings. */
typedef struct shoal_plug_options {
    const char *name;
    const shoal_setting *settings;
    int n_settings;
} shoal_plug_options;

/*
 * What to integrate with; zero or NULL means the default. A structure of zeros with some members set will do: its size,
 * 0, stands for that of version 0.1, up to max_steps. Members that later versions add are read only where the size says
 * that they are there, so a program that sets one of those begins with shoal_options_init.
 */
typedef struct shoal_options {
    long size;                     /* set by shoal_options_init */
    const char *propagator;        /* "mvs" (default), "hermite4", "leapfrog", ... */
    const shoal_setting *settings; /* of the propagator */
    int n_settings;
    const shoal_plug_options *monitors;
    int n_monitors;
    const shoal_plug_options *forces; /* beside Newton's; one may be there more than once */
    int n_forces;
    const char *engine;     /* "auto" (default), "cpu", "cuda" */
    const char *work_model; /* of a GPU: "auto" (default), "system", "body", "component", "pair" */
    int gpu_block;          /* threads of a block, a multiple of 32; 0 = chosen */
    int gpu_registers;      /* of a thread, at most; 0 = chosen */
    int gpu_bodies;         /* of a thread of the model "body", which it chooses: 1, 2, 4 or 5; 0 = chosen */
    const char *tune;       /* the choice of these by measurement: "auto" (default), "always", "never" */
    const char *form;       /* "auto" (default), "pairs", "rows" */
    int threads;            /* CPU threads, 0 = all available */
    int lanes;              /* CPU SIMD width, 0 = the machine's (1, 4 and 8 exist for tests) */
    double t_end;           /* end time of every system */
    /* if not 0, instead of t_end: so many shortest periods of each system's initial Jacobi orbits, below 0
     * backwards; all times given to the plan are then counted in these, from t_start */
    double orbits;
    /* step of every system, the first one of an adaptive propagator; 0 = as set in the ensemble */
    double dt;
    double steps_per_orbit; /* if > 0: each system's (first) step is its shortest period over this */
    double dt_min;          /* a system whose adaptive step falls below it ends as `step_underflow` */
    double dt_max;          /* an adaptive step is no longer than this; 0 = no bound */
    double max_steps;       /* a system that needs more steps (adaptive: attempts) ends as `budget`; 0 = no bound */
} shoal_options;

/*
 * shoal_options_init: defaults for everything.
 *   options  out
 *   size     in   sizeof(shoal_options) as the caller's compiler has it
 * Status: E_USAGE for a size below that of version 0.1.
 */
shoal_status shoal_options_init(shoal_options *options, long size);

typedef struct shoal_plan shoal_plan;

/*
 * shoal_plan_create: choose engine and kernels and prepare every system.
 *   ensemble  in   has to stay until the plan is destroyed
 *   options   in   checked here, never while stepping, and copied
 *   plan      out  NULL on failure
 * Status: E_USAGE for options that no plan can have, among them a size with members behind those that this version
 * knows which are not 0; E_INPUT for a propagator or a force that is for none of the systems (mvs, where no body 0 has
 * the largest mass); E_UNSUPPORTED for what this build or machine has not.
 * Systems become `invalid` that the propagator or a force is not for, or that cannot have steps_per_orbit or `orbits`,
 * since no orbit is bound.
 */
shoal_status shoal_plan_create(shoal_context *context, shoal_ensemble *ensemble, const shoal_options *options,
                               shoal_plan **plan);
void shoal_plan_destroy(shoal_plan **plan);

/*
 * shoal_plan_restart: begin again, with the same options, from systems whose bodies (and t_start, dt) were set anew, as
 * a new plan would, to the same bits: the walkers' next proposals. Nothing is chosen, compiled or allocated again,
 * unless bodies have mass now that had none. Systems that were not set anew stay as they ended, with their states and
 * outcomes; events and columns begin anew for all. Those that the propagator is not for become `invalid`, be it all.
 * Status: E_USAGE, as for a new plan, if systems run but have been integrated.
 * Until it is called, a plan whose systems were set anew is refused by shoal_plan_integrate and shoal_plan_observe.
 */
shoal_status shoal_plan_restart(shoal_plan *plan);

/*
 * shoal_plan_line: one line that says what was chosen and why.
 *   returns  valid as long as the plan
 */
const char *shoal_plan_line(const shoal_plan *plan);

/*
 * shoal_plan_integrate: integrate every running system to a time and put the state at exactly that time into the
 * ensemble. Reaching it is a partial step on a copy, so calls at other times change no bits. Systems that end before
 * keep the state of the step in which they ended. Monitors look at whole steps: what happens in the rest of a step
 * before t_end (where t_end is no multiple of dt) is not seen.
 *   t  in  [time] from where the plan is to the plan's t_end
 */
shoal_status shoal_plan_integrate(shoal_plan *plan, double t);

/* Something to observe of each system. */
typedef struct shoal_observable {
    int body;
    int component; /* 0..5: its x, y, z, vx, vy, vz, as shoal_ensemble_get_bodies has them */
} shoal_observable;

/*
 * shoal_plan_observe: what is to be seen at a list of times, velocities and places for a likelihood:
 * shoal_plan_integrate to each of them, to the same bits, in one call, which on a CPU costs less than n_times of them.
 *   times   in   [n_times] in the direction of time, from where the plan is on
 *   what    in   [n_what]
 *   values  out  [n_times][n_what][n_systems] in the units of the ensemble: NaN from a system's end on, and of bodies
 *                that are not there; a system that had arrived at the plan's end before the call has that alone to show
 */
shoal_status shoal_plan_observe(shoal_plan *plan, long n_times, const double *times, int n_what,
                                const shoal_observable *what, double *values);

/*
 * shoal_plan_column: a monitor's column for a system.
 *   column   in  for instance "min_separation"
 *   returns      NaN if it is empty; NaN and a message if there is none of that name
 */
double shoal_plan_column(shoal_plan *plan, const char *column, long system);

/*
 * shoal_plan_get_column: a monitor's column for many systems.
 *   column  in   for instance "min_separation"
 *   first   in   the first system
 *   n       in   how many
 *   values  out  [n] in inner units, NaN where it is empty
 *   stride  in   bytes from one to the next, 0: without gaps
 * Status: E_USAGE if there is none of that name, with the nearest one; E_DEVICE.
 */
shoal_status shoal_plan_get_column(shoal_plan *plan, const char *column, long first, long n, double *values,
                                   long stride);

/* What happened to a system that its monitors let go on (`action` of stop_on_collision, stop_on_ejection,
 * stop_on_encounter). */
typedef struct shoal_event {
    long system; /* index in the ensemble */
    double time; /* of the event, inside its step */
    /* COLLIDED, HIT_STAR: body_b is now part of body_a; EJECTED: body_a was removed; ENCOUNTER */
    enum shoal_outcome what;
    int body_a, body_b; /* -1 = none */
    int ended;          /* 1: the system ended with it, and its bodies stayed as they are */
    /* at the end of that step, where bodies merge and are removed; NaN where there is no such body */
    double m_a, m_b;
    /* between the two, or of the ejected one from the barycentre of the rest */
    double distance, speed;
    double energy_jump; /* energy of the system after it less that before it */
    double reserved[4]; /* 0 */
} shoal_event;

/*
 * shoal_plan_n_events: how many there were. There are none in a plan whose monitors all stop: see the systems'
 * outcomes.
 */
long shoal_plan_n_events(const shoal_plan *plan);

/*
 * shoal_plan_event: one of the events. Those of a system are in order of time, and its end is the last, unless it
 * survived; which system comes first may differ from run to run.
 *   i      in   0..n_events-1
 *   event  out  its `system` is -1 where there is no such event
 */
shoal_status shoal_plan_event(const shoal_plan *plan, long i, shoal_event *event);

/*
 * shoal_plan_get_events: many events.
 *   first   in   the first one
 *   n       in   how many
 *   events  out  [n]
 */
shoal_status shoal_plan_get_events(const shoal_plan *plan, long first, long n, shoal_event *events);

/*
 * shoal_plan_n_logged: how many rows a monitor has logged (`transits`: one a transit).
 *   monitor  in  its name
 *   returns      0 and a message if the plan has no monitor of that name that logs
 */
long shoal_plan_n_logged(const shoal_plan *plan, const char *monitor);

/*
 * shoal_plan_get_log: a column of what a monitor has logged. The rows of a system are in order of time; which system
 * comes first may differ from run to run.
 *   monitor  in   its name
 *   column   in   "system" (index in the ensemble), "time", or one of the monitor's (docs/reference.md)
 *   first    in   the first row
 *   n        in   how many rows
 *   values   out  [n] in inner units
 *   stride   in   bytes from one to the next, 0: without gaps
 * Status: E_USAGE if there is no such monitor or column, with the nearest one.
 */
shoal_status shoal_plan_get_log(const shoal_plan *plan, const char *monitor, const char *column, long first, long n,
                                double *values, long stride);

/* ---- study ------------------------------------------------------------------------------------------------------- */

/* A config file, read and checked: systems, propagator, monitors, run and output; or one big system
 * (docs/big_systems.md). */
typedef struct shoal_study shoal_study;

/*
 * shoal_study_load: read and check a config file.
 *   path         in   of the file
 *   n_overrides  in   how many
 *   overrides    in   [n_overrides] "path.to.key=value"
 *   study        out  NULL on failure
 * Status: E_INPUT with file, line, key, value and what was expected; E_FILE.
 */
shoal_status shoal_study_load(shoal_context *context, const char *path, int n_overrides, const char *const *overrides,
                              shoal_study **study);
void shoal_study_destroy(shoal_study **study);

/*
 * shoal_study_output: the file that a run of the study writes its results to.
 *   returns  valid as long as the study
 */
const char *shoal_study_output(const shoal_study *study);

/* What a run tells its caller after each slice; what it points to is valid until the callback returns. */
typedef struct shoal_progress {
    long n_systems;           /* all systems */
    const long *n_by_outcome; /* [n_outcomes] [SHOAL_RUNNING] are still going */
    int n_outcomes;           /* outcomes that the library knows */
    double fraction;          /* of all steps to be done, 0..1 */
    double system_steps;      /* done so far in this run */
    double system_steps_left; /* at most */
    /* of one big system: forces of one body on another, computed so far in this run */
    double interactions;
    double seconds;          /* since the run began */
    long slowest_id;         /* of the systems still going, the one that has come least far */
    double slowest_fraction; /* and how far, 0..1 */
    const char *plan_line;
} shoal_progress;

/* Called before the first slice and after every slice; nonzero asks the run to end with what it has. */
typedef int (*shoal_progress_callback)(const shoal_progress *progress, void *user);

/*
 * shoal_study_run: run a study: integrate, write snapshots and results to its output file. If a journal of an earlier
 * run of the same study that was killed is there, the run goes on from its last commit.
 *   overwrite  in  nonzero: an existing output file may be replaced
 *   callback   in  NULL: nobody is told
 *   user       in  for the callback
 * Status: E_INTERRUPTED when the callback asked for the end; the file then holds everything up to that slice. E_FILE.
 */
shoal_status shoal_study_run(shoal_study *study, int overwrite, shoal_progress_callback callback, void *user);

/* ---- results ----------------------------------------------------------------------------------------------------- */

/*
 * What a run left, as arrays: the tables of its file (docs/results.md), in the user's units. Each column has a name, a
 * unit and a line that says what it is; all numbers are doubles, whole ones too.
 *
 *   "systems"    a row a system: id, outcome (enum shoal_outcome), t_stop, ..., swept parameters, monitors' columns
 *   "initial"    a row a system: time; states
 *   "final"      a row a system: time; states, NaN until the system has ended
 *   "snapshots"  a row a system and output time: system (a row of "systems"), time; states
 *   "events"     a row an event: system (a row of "systems"), time, event (enum shoal_outcome), body_a, ...
 *   "log/NAME"   a row for each thing that monitor NAME logged: system (a row of "systems"), time, its columns
 */
typedef struct shoal_result shoal_result;

/*
 * shoal_result_open: read the results of an ensemble's run.
 *   path    in   the result file; where there is none yet, its journal (path.journal) is read: what a run that goes on,
 *                or was killed, has committed so far
 *   result  out  NULL on failure
 * Status: E_FILE; E_INPUT for a file that is no result, or is damaged.
 */
shoal_status shoal_result_open(shoal_context *context, const char *path, shoal_result **result);
void shoal_result_close(shoal_result **result);

/*
 * shoal_result_is_complete: whether all systems have ended.
 *   returns  1: yes; 0: the run goes on, or was ended before it was done
 */
int shoal_result_is_complete(const shoal_result *result);
long shoal_result_n_systems(const shoal_result *result);
int shoal_result_n_bodies(const shoal_result *result);

/*
 * shoal_result_body_name: the name of a body, as the config gives it.
 *   body     in  0..n_bodies-1
 *   returns      valid as long as the result, like all texts here
 */
const char *shoal_result_body_name(const shoal_result *result, int body);

/*
 * shoal_result_text: a text of the whole run.
 *   name     in  "config" (the text that was run), "plan", "version", "epoch", "unit_length", "unit_mass", "unit_time"
 *   returns      "" and a message if there is none of that name
 */
const char *shoal_result_text(const shoal_result *result, const char *name);

/*
 * shoal_result_number: a number of the whole run.
 *   name     in  "G" (in the user's units), "seed", "unit_length_inner", "unit_mass_inner", "unit_time_inner" (the
 *                user's units in the library's: AU, solar masses, yr/2pi)
 *   returns      NaN and a message if there is none of that name
 */
double shoal_result_number(const shoal_result *result, const char *name);

/*
 * shoal_result_table: the name of a table.
 *   i        in  0, 1, ...
 *   returns      NULL after the last one
 */
const char *shoal_result_table(const shoal_result *result, int i);

/* Rows and columns of a table; 0 and a message if there is none of that name. */
long shoal_result_n_rows(const shoal_result *result, const char *table);
int shoal_result_n_columns(const shoal_result *result, const char *table);

/*
 * shoal_result_describe: what a column of a table is.
 *   i                in   0..n_columns-1
 *   name, unit, doc  out  valid as long as the result; NULL: not asked for
 */
shoal_status shoal_result_describe(const shoal_result *result, const char *table, int i, const char **name,
                                   const char **unit, const char **doc);

/*
 * shoal_result_get_column: rows of a column.
 *   table   in   its name
 *   column  in   its name
 *   first   in   the first row
 *   n       in   how many rows
 *   values  out  [n] NaN where a number is not known (-1 for a body that there is none of)
 *   stride  in   bytes from one to the next, 0: without gaps
 * Status: E_USAGE if there is no such table or column, with the nearest one.
 */
shoal_status shoal_result_get_column(const shoal_result *result, const char *table, const char *column, long first,
                                     long n, double *values, long stride);

/*
 * shoal_result_get_states: states of a table.
 *   table   in   "initial", "final" or "snapshots"
 *   block   in   its `systems` are rows of the table; NULL: all, without gaps
 *   values  out  [n][n_bodies][7] m x y z vx vy vz in the inertial frame of the input, NaN for bodies that are gone
 */
shoal_status shoal_result_get_states(const shoal_result *result, const char *table, const shoal_block *block,
                                     double *values);

#ifdef __cplusplus
}
#endif
#endif
