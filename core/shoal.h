/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * shoal.h: the public interface of Shoal, which integrates ensembles of gravitational few-body systems: thousands to
 * millions of independent systems at once, on CPU SIMD lanes and on GPUs, from one kernel source.
 *
 *     context -> ensemble -> plan -> integrate              a C program that brings its own systems
 *     context -> study (a config file) -> run -> result     what the command `shoal run` does
 *
 * Units: the library computes with G = 1, in any consistent units. A study is converted to AU, solar masses and yr/2pi
 * (58.1324 d). These are called inner units below. Angles are in radians. Positions and velocities are Cartesian.
 *
 * Errors: a function that can fail returns a shoal_status. The context then holds a message of one line. A refused call
 * (SHOAL_E_USAGE, SHOAL_E_INPUT) leaves every object as it was, unless the function says otherwise. After any other
 * failure the object can only be destroyed. The library never exits, aborts or prints. "Status" lists the errors that
 * are particular to a function; any function that allocates can also fail with SHOAL_E_MEMORY.
 *
 * Arguments: unless a function says that NULL means something, it refuses (SHOAL_E_USAGE) an object, an array or a
 * place for an answer that is NULL. It also refuses an index out of range and a count below 0. The message names the
 * function, the argument, its value and what is allowed. A function that returns a number or a text then returns 0, NaN
 * or "". If the object is NULL, no context can hold the message.
 *
 * Versions: structures can grow, and programs that were compiled before still work.
 *   shoal_options     its first member is its size, which shoal_options_init sets; the library reads so many bytes
 *   shoal_progress    the library makes it; new members come at the end
 *   shoal_system, shoal_event   end in reserved numbers, 0 in this version, which later versions fill
 *   the others        stay as they are
 * Further properties of a system have names (shoal_ensemble_get_column, shoal_result_get_column); later versions can
 * add to these.
 *
 * Arrays of systems: see shoal_block.
 *
 * Threads: one thread at a time may use a context and what was made with it. The library starts its own threads, which
 * sleep when they have nothing to do, and ends them with the context.
 *
 * Fork: a forked process may use what its parent made, and make contexts of its own. If the parent had started threads,
 * the child has none of them, and its calls compute in the calling thread. A context that the child makes has threads
 * again. The child cannot use its parent's GPU: a call that needs it fails with SHOAL_E_DEVICE.
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
 *   returns      a constant text; "unknown status" for any other number
 */
const char *shoal_status_text(shoal_status status);

/*
 * shoal_version: the version of the library that runs.
 *   returns  SHOAL_VERSION as it was when the library was built
 */
const char *shoal_version(void);

/* ---- context ----------------------------------------------------------------------------------------------------- */

/* A context holds the last message, the plugins and the threads. */
typedef struct shoal_context shoal_context;

/*
 * shoal_context_create: make a context.
 *   context  out  NULL on failure
 * Status: E_MEMORY.
 */
shoal_status shoal_context_create(shoal_context **context);

/*
 * shoal_context_destroy: end a context and its threads. Destroy first what was made with it.
 *   context  in/out  becomes NULL. In every function that destroys, the object and its address may be NULL
 */
void shoal_context_destroy(shoal_context **context);

/*
 * shoal_context_message: the message of the last call that failed, or that made systems `invalid`.
 *   returns  one line; "" if there is none; valid until the next call with this context
 */
const char *shoal_context_message(const shoal_context *context);

/*
 * shoal_context_allow_plugins: allow configs that name plugins, which are C files that are compiled and run
 * (`shoal run --allow-plugins`).
 *   allow  in  nonzero: allowed; 0 (default): such a config is refused
 */
shoal_status shoal_context_allow_plugins(shoal_context *context, int allow);

/*
 * shoal_plugin_load: load a plugin. All plans and studies made with the context can then use it. The C compiler of the
 * system (CC, or cc) compiles it; the result is kept in the user's cache.
 *   path  in  a C file NAME.c with one propagator, force or monitor called NAME (core/plug/plug.h, docs/plugins.md)
 * Status: E_INPUT if it does not compile, with the compiler's first error, or if its descriptor is not usable; E_FILE
 * if it cannot be read; E_UNSUPPORTED if there is no compiler.
 */
shoal_status shoal_plugin_load(shoal_context *context, const char *path);

/*
 * shoal_unit_factors: units by their names.
 *   units    in   "AU, Msun, yr": length, mass, time; or with a constant of gravitation, "AU, Msun, G = 1", from which
 *                 the unit of time follows
 *   factors  out  [4] one unit of length, mass and time in inner units of a study, and G in these units
 * Status: E_INPUT for an unknown name, with the nearest one.
 */
shoal_status shoal_unit_factors(shoal_context *context, const char *units, double factors[4]);

/*
 * shoal_plug_setting: which settings a propagator, a force or a monitor has.
 *   context    in   NULL: those of plugins are not known
 *   plug       in   its name
 *   i          in   0, 1, ...
 *   dimension  out  of its values: "length", "mass", "time", "velocity", "frequency", "angular velocity", "angle",
 *                   "" (a number), "body" (an index) or "choice" (a word); NULL: not asked for
 *   returns         NULL after the last one, or if there is no plug of that name
 */
const char *shoal_plug_setting(const shoal_context *context, const char *plug, int i, const char **dimension);

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* One body: mass, physical radius (0 = a point), position and velocity. */
typedef struct shoal_body {
    double m, r;
    double x, y, z;
    double vx, vy, vz;
} shoal_body;

/* The point to which the orbit of body i refers. */
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
 *   context  in   NULL: no message is kept (in all functions of this section)
 *   mu       in   G times the attracting mass, > 0
 *   orbit    in   a, e, inc, Omega, omega, f are read
 *   state    out  [6] x y z vx vy vz relative to the centre of attraction
 * Status: E_INPUT if e < 0, e = 1, a and e disagree in sign, f lies beyond a hyperbola's asymptote, or a number is not
 * finite.
 * Source: Murray & Dermott, Solar System Dynamics, section 2.8.
 */
shoal_status shoal_orbit_to_state(shoal_context *context, double mu, const shoal_orbit *orbit, double state[6]);

/*
 * shoal_orbit_from_state: the orbit through a position and velocity, the inverse of shoal_orbit_to_state.
 *   mu     in   G times the attracting mass, > 0
 *   state  in   [6] x y z vx vy vz relative to the centre of attraction
 *   orbit  out  all members. Omega and omega lie in [0, 2 pi), f and (for an ellipse) M in [-pi, pi]. e = 1 stands for
 *               a parabola, whose M is NaN, and for motion along a line, which has no true anomaly
 * Status: E_INPUT if mu <= 0, the position is at the centre, or a number is not finite.
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
 * shoal_mean_anomaly: mean anomaly from true anomaly, the inverse of shoal_true_anomaly.
 *   e        in  eccentricity
 *   f        in  radians
 *   returns      radians; NaN for e < 0 or e = 1, and beyond a hyperbola's asymptote
 */
double shoal_mean_anomaly(double e, double f);

/*
 * shoal_true_anomalies, shoal_mean_anomalies: the same for n orbits at once.
 *   n     in   number of orbits
 *   e     in   [n] eccentricities
 *   M, f  in   [n] radians
 *   f, M  out  [n] radians; NaN where the functions above return NaN; it may be the array that is read
 */
shoal_status shoal_true_anomalies(shoal_context *context, long n, const double *e, const double *M, double *f);
shoal_status shoal_mean_anomalies(shoal_context *context, long n, const double *e, const double *f, double *M);

/*
 * shoal_bodies_from_orbits: Cartesian bodies from orbits.
 *   frame     in      what the orbits refer to
 *   n_bodies  in      1 or more; body 0 is the central one
 *   orbits    in      [n_bodies], orbits[0] is not read
 *   bodies    in/out  [n_bodies] m and r are read; positions and velocities are written, relative to the barycentre
 * Status: E_INPUT if a mass is below 0 or not finite, the total mass is 0, body 0 has no mass although the frame needs
 * it, or shoal_orbit_to_state refuses an orbit.
 */
shoal_status shoal_bodies_from_orbits(shoal_context *context, shoal_frame frame, int n_bodies,
                                      const shoal_orbit *orbits, shoal_body *bodies);

/*
 * shoal_orbits_from_bodies: orbits from Cartesian bodies, the inverse of shoal_bodies_from_orbits.
 *   frame     in   what the orbits refer to
 *   n_bodies  in   1 or more; body 0 is the central one
 *   bodies    in   [n_bodies] with any inertial origin
 *   orbits    out  [n_bodies]; orbits[0] is set to zero
 * Masses alone count. Of dust under `radiation`, shoal_orbit_from_state with mu = (1 - beta) m of body 0 gives them.
 * Status: E_INPUT as for shoal_bodies_from_orbits, or if shoal_orbit_from_state refuses a state.
 */
shoal_status shoal_orbits_from_bodies(shoal_context *context, shoal_frame frame, int n_bodies, const shoal_body *bodies,
                                      shoal_orbit *orbits);

/* ---- ensemble ---------------------------------------------------------------------------------------------------- */

/* Independent systems of up to n_bodies bodies each. Inside, states are barycentric. */
typedef struct shoal_ensemble shoal_ensemble;

/* How a system ended. This is data, never an error. In old files code 13 is a transit. X(NAME, code, name, doc) */
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
 *   outcome  in  any number
 *   returns      a constant text; "unknown" for any other number
 */
const char *shoal_outcome_name(int outcome);

/* All that an ensemble knows of a system except its bodies. Times are in inner units. */
typedef struct shoal_system {
    long id;        /* the system's name, which also selects its random numbers; default: its index */
    int n_live;     /* bodies that it began with */
    double t_start; /* time of the initial state */
    double dt;      /* step; its sign is set by the direction of the integration */
    double time;    /* time of the bodies held now */
    double n_steps; /* whole steps done */
    enum shoal_outcome outcome;
    double t_stop;       /* time at which the system ended (of the event, inside its step); NaN while it runs */
    int body_a, body_b;  /* bodies of the event, -1 = none */
    double energy_start; /* energy of the initial state, barycentric, as shoal_ensemble_energy */
    double centre[6];    /* position and velocity of the barycentre at t_start; a removal changes both from then on */
    int n_left;          /* bodies still there: not merged into another one, not removed */
    double energy_jump;  /* by mergers and removals; the propagator's error: energy - energy_start - energy_jump */
    double reserved[4];  /* 0 */
} shoal_system;

/*
 * shoal_ensemble_create: make an ensemble. Each system is `invalid` until its bodies are set.
 *   n_systems  in   1 or more
 *   n_bodies   in   2..1000: the most bodies that a system has
 *   ensemble   out  NULL on failure
 * Status: E_USAGE for other numbers; E_MEMORY.
 */
shoal_status shoal_ensemble_create(shoal_context *context, long n_systems, int n_bodies, shoal_ensemble **ensemble);

/*
 * shoal_ensemble_destroy: release an ensemble. Destroy its plans first.
 *   ensemble  in/out  becomes NULL
 */
void shoal_ensemble_destroy(shoal_ensemble **ensemble);

/*
 * shoal_ensemble_n_systems, shoal_ensemble_n_bodies: the numbers with which the ensemble was made.
 */
long shoal_ensemble_n_systems(const shoal_ensemble *ensemble);
int shoal_ensemble_n_bodies(const shoal_ensemble *ensemble);

/*
 * shoal_ensemble_set_bodies: set the bodies of a system, its initial state.
 *   system  in  0..n_systems-1
 *   n_live  in  2..n_bodies
 *   bodies  in  [n_live] with any inertial origin; the motion of the barycentre is kept apart
 * Status: E_INPUT if a mass or a radius is negative, the total mass is not positive, a value is not finite, or two
 * bodies are at one place; the system is then `invalid`.
 */
shoal_status shoal_ensemble_set_bodies(shoal_ensemble *ensemble, long system, int n_live, const shoal_body *bodies);

/*
 * shoal_ensemble_get_bodies: the present bodies of a system, with the motion of the barycentre.
 *   system  in   0..n_systems-1
 *   bodies  out  [n_live of the system]; NaN for bodies that are gone, and for all bodies of an `invalid` system
 */
shoal_status shoal_ensemble_get_bodies(const shoal_ensemble *ensemble, long system, shoal_body *bodies);

/*
 * shoal_ensemble_set_system: set a system's id, t_start and dt, before a plan is made or restarted.
 *   system  in  0..n_systems-1
 *   record  in  its other members are not read
 * Status: E_INPUT if t_start or dt is not finite.
 */
shoal_status shoal_ensemble_set_system(shoal_ensemble *ensemble, long system, const shoal_system *record);

/*
 * shoal_ensemble_get_system: all that is known of a system except its bodies.
 *   system  in   0..n_systems-1
 *   record  out  all members
 */
shoal_status shoal_ensemble_get_system(const shoal_ensemble *ensemble, long system, shoal_system *record);

/*
 * shoal_ensemble_energy: total energy of the present bodies relative to the barycentre, each pair counted once. It
 * includes the energies of the forces of the last plan; that plan also set energy_start so.
 *   system   in  0..n_systems-1
 *   returns      inner units; NaN for an `invalid` system, and if a force conserves no energy
 */
double shoal_ensemble_energy(const shoal_ensemble *ensemble, long system);

/*
 * shoal_ensemble_angular_momentum: total angular momentum about the barycentre.
 *   system  in   0..n_systems-1
 *   L       out  [3] inner units
 */
shoal_status shoal_ensemble_angular_momentum(const shoal_ensemble *ensemble, long system, double L[3]);

/* ---- arrays of systems ------------------------------------------------------------------------------------------- */

/*
 * A block says which systems and bodies an array of doubles holds, and where. NULL in place of a block: all systems of
 * the ensemble with all its bodies, without gaps. The array's address is that of the first number of the first body of
 * the first system. Strides are in bytes, as in NumPy, and may be negative.
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
    SHOAL_STATE_NUMBERS = 7, /* m x y z vx vy vz, as in results */
    SHOAL_ORBIT_NUMBERS = 7  /* m a e inc Omega omega f; of body 0 only m is read; its elements are written as NaN */
};

/*
 * shoal_ensemble_set_states: set the bodies of many systems, as shoal_ensemble_set_bodies does for one, with radii 0.
 *   block      in   the systems, and where their numbers are; block->n_bodies: 2 or more
 *   values     in   [n][n_bodies][7] m x y z vx vy vz; a system with fewer bodies has NaN after its last one
 *   n_invalid  out  number of impossible systems; NULL: not asked for
 * An impossible system becomes `invalid` and does not stop the others; so does one with a body behind one of NaN. The
 * call then succeeds, and the context's message says what is wrong with the first such system.
 */
shoal_status shoal_ensemble_set_states(shoal_ensemble *ensemble, const shoal_block *block, const double *values,
                                       long *n_invalid);

/*
 * shoal_ensemble_get_states: the present bodies of many systems.
 *   block   in   the systems, and where their numbers go
 *   values  out  [n][n_bodies][7] m x y z vx vy vz; NaN for bodies that are not there, and for `invalid` systems
 */
shoal_status shoal_ensemble_get_states(const shoal_ensemble *ensemble, const shoal_block *block, double *values);

/*
 * shoal_ensemble_set_orbits: set the bodies of many systems from orbits (shoal_bodies_from_orbits), with radii 0.
 *   frame      in   what the orbits refer to
 *   block      in   the systems, and where their numbers are; block->n_bodies: 2 or more
 *   values     in   [n][n_bodies][7] m a e inc Omega omega f; a system with fewer bodies has NaN after its last one
 *   n_invalid  out  number of impossible systems, as for shoal_ensemble_set_states; NULL: not asked for
 */
shoal_status shoal_ensemble_set_orbits(shoal_ensemble *ensemble, shoal_frame frame, const shoal_block *block,
                                       const double *values, long *n_invalid);

/*
 * shoal_ensemble_get_orbits: the present orbits of many systems. They refer to the bodies that are still there.
 *   frame   in   what the orbits refer to
 *   block   in   the systems, and where their numbers go
 *   values  out  [n][n_bodies][7] m a e inc Omega omega f; NaN for bodies that are not there, for `invalid` systems,
 *                and for the elements of the first body that is there
 */
shoal_status shoal_ensemble_get_orbits(const shoal_ensemble *ensemble, shoal_frame frame, const shoal_block *block,
                                       double *values);

/*
 * shoal_ensemble_set_radii: set the radii of bodies that were set before, in systems that have made no step.
 *   block      in   the systems, and where their numbers are
 *   values     in   [n][n_bodies], 0 or more; not read for bodies that are not there
 *   n_invalid  out  number of systems with an impossible radius, which become `invalid`; NULL: not asked for
 */
shoal_status shoal_ensemble_set_radii(shoal_ensemble *ensemble, const shoal_block *block, const double *values,
                                      long *n_invalid);

/*
 * shoal_ensemble_get_radii: the radii of bodies.
 *   block   in   the systems, and where their numbers go
 *   values  out  [n][n_bodies], NaN for bodies that are not there
 */
shoal_status shoal_ensemble_get_radii(const shoal_ensemble *ensemble, const shoal_block *block, double *values);

/*
 * shoal_ensemble_set_column: set a number of many systems, as shoal_ensemble_set_system does.
 *   column  in  "id" (a whole number within 2^53), "t_start" or "dt"
 *   first   in  the first system
 *   n       in  number of systems
 *   values  in  [n] times in inner units
 *   stride  in  bytes from one value to the next, 0: without gaps
 * Status: E_USAGE for any other column; E_INPUT if a number is not finite, or no whole number as an id. Nothing is set
 * then.
 */
shoal_status shoal_ensemble_set_column(shoal_ensemble *ensemble, const char *column, long first, long n,
                                       const double *values, long stride);

/*
 * shoal_ensemble_get_column: a number of many systems.
 *   column  in   a member of shoal_system ("id", "n_live", "t_start", "dt", "time", "n_steps", "outcome", "t_stop",
 *                "body_a", "body_b", "energy_start", "n_left", "energy_jump"), "energy", or "Lx", "Ly", "Lz" of the
 *                angular momentum
 *   first   in   the first system
 *   n       in   number of systems
 *   values  out  [n] inner units
 *   stride  in   bytes from one value to the next, 0: without gaps
 * Status: E_USAGE for any other column, with the nearest one.
 */
shoal_status shoal_ensemble_get_column(const shoal_ensemble *ensemble, const char *column, long first, long n,
                                       double *values, long stride);

/*
 * shoal_ensemble_get_outcomes: how systems ended.
 *   first     in   the first system
 *   n         in   number of systems
 *   outcomes  out  [n] of enum shoal_outcome
 */
shoal_status shoal_ensemble_get_outcomes(const shoal_ensemble *ensemble, long first, long n, int *outcomes);

/* ---- plan -------------------------------------------------------------------------------------------------------- */

/* One parameter of a propagator, a force or a monitor, for callers without a config file. */
typedef struct shoal_setting {
    const char *name;   /* as `shoal explain NAME` prints it */
    double value;       /* inner units, radians; a body by its index */
    const char *choice; /* instead of value, if the parameter is one of a list of words; else NULL */
} shoal_setting;

/* A monitor or a force and its settings. */
typedef struct shoal_plug_options {
    const char *name;
    const shoal_setting *settings;
    int n_settings;
} shoal_plug_options;

/*
 * The options of a plan. Zero or NULL means the default. A structure of zeros in which some members are set is valid:
 * the size 0 stands for that of version 0.1, which ends with max_steps. Members that later versions add are read only
 * if the size includes them. A program that sets one of those begins with shoal_options_init.
 */
typedef struct shoal_options {
    long size;                     /* set by shoal_options_init */
    const char *propagator;        /* "mvs" (default), "hermite4", "leapfrog", ... */
    const shoal_setting *settings; /* of the propagator */
    int n_settings;
    const shoal_plug_options *monitors;
    int n_monitors;
    const shoal_plug_options *forces; /* beside Newton's; the same one may occur several times */
    int n_forces;
    const char *engine;     /* "auto" (default), "cpu", "cuda" */
    const char *work_model; /* of a GPU: "auto" (default), "system", "body", "component", "pair" */
    int gpu_block;          /* threads a block, a multiple of 32; 0 = Shoal chooses */
    int gpu_registers;      /* the most registers a thread; 0 = Shoal chooses */
    int gpu_bodies;         /* bodies a thread, 1, 2, 4 or 5, which implies the model "body"; 0 = Shoal chooses */
    const char *tune;       /* whether to choose these by measurement: "auto" (default), "always", "never" */
    const char *form;       /* of the sums over pairs: "auto" (default), "pairs", "rows" */
    int threads;            /* CPU threads, 0 = all available */
    int lanes;              /* CPU SIMD width, 0 = the machine's (1, 4 and 8 exist for tests) */
    double t_end;           /* end time of every system */
    /* if not 0, it replaces t_end: the number of periods that each system runs, below 0 backwards. The period is the
     * shortest one of the system's initial Jacobi orbits. All times given to the plan then count such periods from
     * t_start */
    double orbits;
    /* step of every system, for an adaptive propagator the first one; 0 = as set in the ensemble */
    double dt;
    double steps_per_orbit; /* if > 0: each system's (first) step is its shortest period over this */
    double dt_min;          /* a system whose adaptive step falls below it ends as `step_underflow` */
    double dt_max;          /* an adaptive step is no longer than this; 0 = no bound. E_USAGE with fixed steps */
    double max_steps;       /* a system that needs more steps (adaptive: attempts) ends as `budget`; 0 = no such bound,
                             * but adaptive ones end if at their pace the rest would take 1e11 */
    /* GPUs that share the systems: "auto" (default), as many as pay of those that are like the first one; "all"; a
     * number such as "2"; a list such as "[0,2]". No result depends on it. Read if the size includes it */
    const char *devices;
    /* for shoal_plan_warnings: the units of their numbers, as a config has them, "AU, Msun, yr", NULL = no warnings;
     * names of the bodies, NULL = their numbers. With units, a monitor that sees nothing in any system is refused, as
     * in a study. Read if the size includes them */
    const char *units;
    const char *const *names; /* [n_bodies] */
} shoal_options;

/*
 * shoal_options_init: set all options to their defaults.
 *   options  out
 *   size     in   sizeof(shoal_options) in the caller's program
 * Status: E_USAGE for a size below that of version 0.1.
 */
shoal_status shoal_options_init(shoal_options *options, long size);

/* A plan integrates an ensemble with chosen options. */
typedef struct shoal_plan shoal_plan;

/*
 * shoal_plan_create: choose engine and kernels, and prepare every system.
 *   ensemble  in   must exist until the plan is destroyed
 *   options   in   checked here, never while stepping, and copied
 *   plan      out  NULL on failure
 * Status: E_USAGE for options that no plan can have, members that this version does not know and that are not 0, or an
 * ensemble whose bodies were never set; E_INPUT if the propagator or a force applies to none of the systems (mvs if
 * body 0 is nowhere the heaviest), or for unknown units; E_UNSUPPORTED for what this build or machine lacks; E_DEVICE;
 * E_MEMORY.
 * A system becomes `invalid` if the propagator or a force does not apply to it, or if steps_per_orbit or `orbits` is
 * set and none of its orbits is bound.
 */
shoal_status shoal_plan_create(shoal_context *context, shoal_ensemble *ensemble, const shoal_options *options,
                               shoal_plan **plan);

/*
 * shoal_plan_destroy: release a plan. Its ensemble keeps the states.
 *   plan  in/out  becomes NULL
 */
void shoal_plan_destroy(shoal_plan **plan);

/*
 * shoal_plan_restart: begin again with the same options after bodies (and t_start, dt) of systems were set anew, for
 * instance to the next proposals of walkers. The bits are those of a new plan. Nothing is chosen, compiled or allocated
 * again, unless bodies have mass now that had none.
 * Systems that were not set anew keep their last states and outcomes. Events and columns begin anew for all systems.
 * Systems to which the propagator does not apply become `invalid`, even if these are all.
 * Status: E_USAGE if there are systems that have been integrated and have not ended.
 * Until this call, shoal_plan_integrate and shoal_plan_observe refuse a plan whose systems were set anew.
 */
shoal_status shoal_plan_restart(shoal_plan *plan);

/*
 * shoal_plan_line: one line that says what was chosen and why.
 *   returns  valid until the plan is destroyed
 */
const char *shoal_plan_line(const shoal_plan *plan);

/*
 * shoal_plan_warnings: what a user should know of a plan that is possible: steps that do not resolve a pericentre or a
 * drag, systems that the propagator refuses, bodies that are not listed by distance, masses as in a wrong unit, forces
 * that act on nobody, tangent vectors that err.
 *   returns  a line for each, with its end; "" for none, and without options.units. Valid until the plan is destroyed
 */
const char *shoal_plan_warnings(const shoal_plan *plan);

/*
 * shoal_plan_integrate: integrate every running system to a time. The ensemble then holds the states at exactly this
 * time. The last, partial step is made on a copy, so that calls at other times change no bits. A system that ends
 * before keeps the state of the step in which it ended. Monitors have then seen the whole steps up to the time, and at
 * t_end everything.
 *   t  in  inner units, or periods with options.orbits; from the present time of the plan to its t_end
 * Status: E_USAGE for any other time, or if systems were set anew without shoal_plan_restart; E_DEVICE; E_MEMORY.
 */
shoal_status shoal_plan_integrate(shoal_plan *plan, double t);

/* A coordinate or velocity that shoal_plan_observe returns for each system. */
typedef struct shoal_observable {
    int body;
    int component; /* 0..5: its x, y, z, vx, vy, vz, as in shoal_ensemble_get_bodies */
} shoal_observable;

/*
 * shoal_plan_observe: coordinates and velocities of all systems at a list of times, for a likelihood. The bits are
 * those of a call of shoal_plan_integrate for each time. This one call costs less.
 *   n_times  in   number of times
 *   times    in   [n_times] as for shoal_plan_integrate, in the direction of the integration
 *   n_what   in   number of observables
 *   what     in   [n_what]
 *   values   out  [n_times][n_what][n_systems] in inner units; NaN after the end of a system, and for bodies that are
 *                 not there. A system that had reached the plan's t_end before the call has values at t_end only
 * Status: as for shoal_plan_integrate.
 */
shoal_status shoal_plan_observe(shoal_plan *plan, long n_times, const double *times, int n_what,
                                const shoal_observable *what, double *values);

/*
 * shoal_plan_column: a monitor's column for a system.
 *   column   in  its name, for instance "min_separation"
 *   system   in  0..n_systems-1
 *   returns      inner units; NaN if it is empty; NaN and a message if there is no column of that name
 */
double shoal_plan_column(shoal_plan *plan, const char *column, long system);

/*
 * shoal_plan_get_column: a monitor's column for many systems.
 *   column  in   its name, for instance "min_separation"
 *   first   in   the first system
 *   n       in   number of systems
 *   values  out  [n] in inner units, NaN where it is empty
 *   stride  in   bytes from one value to the next, 0: without gaps
 * Status: E_USAGE if there is no column of that name, with the nearest one; E_DEVICE.
 */
shoal_status shoal_plan_get_column(shoal_plan *plan, const char *column, long first, long n, double *values,
                                   long stride);

/*
 * shoal_plan_column_name: which columns there are.
 *   monitor    in   NULL: those of shoal_plan_get_column; the name of a monitor that logs: those of shoal_plan_get_log
 *   i          in   0, 1, ...
 *   dimension  out  of its values: "length", "mass", "time", "velocity", "frequency", "angular velocity", "angle",
 *                   "body" or "" (a number); NULL: not asked for
 *   returns         NULL after the last one; valid until the next call with this plan
 */
const char *shoal_plan_column_name(shoal_plan *plan, const char *monitor, int i, const char **dimension);

/* shoal_plan_column_doc: what a column of shoal_plan_get_column means, in a line; NULL if none has that name. */
const char *shoal_plan_column_doc(const shoal_plan *plan, const char *column);

/* An event in a system that a monitor lets continue (`action` of stop_on_collision, stop_on_ejection,
 * stop_on_encounter). All numbers are in inner units. */
typedef struct shoal_event {
    long system; /* index in the ensemble */
    double time; /* of the event, inside its step */
    /* COLLIDED, HIT_STAR: body_b is now part of body_a; EJECTED: body_a was removed; ENCOUNTER */
    enum shoal_outcome what;
    int body_a, body_b; /* -1 = none */
    int ended;          /* 1: the system ended with this event, and its bodies stayed as they were */
    /* masses at the end of the step, before bodies merge or are removed; NaN if there is no such body */
    double m_a, m_b;
    /* also at the end of the step: between the two bodies, or of the ejected body from the barycentre of the others */
    double distance, speed;
    double energy_jump; /* energy of the system after the event minus that before it */
    double reserved[4]; /* 0 */
} shoal_event;

/*
 * shoal_plan_n_events: the number of events so far. If every monitor ends its systems there are none, and the outcomes
 * say what happened.
 */
long shoal_plan_n_events(const shoal_plan *plan);

/*
 * shoal_plan_event: one event. The events of a system are in order of time. Unless the system survived, the last one is
 * its end. The order of the systems may differ from run to run.
 *   i      in   0..n_events-1
 *   event  out  its `system` is -1 if there is no such event
 */
shoal_status shoal_plan_event(const shoal_plan *plan, long i, shoal_event *event);

/*
 * shoal_plan_get_events: many events, in the order of shoal_plan_event.
 *   first   in   the first event
 *   n       in   number of events
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

/* A study is a config file, read and checked: systems, propagator, monitors, run and output; or one big system
 * (docs/big_systems.md). */
typedef struct shoal_study shoal_study;

/*
 * shoal_study_load: read and check a config file.
 *   path         in   name of the file
 *   n_overrides  in   number of values that replace those of the file
 *   overrides    in   [n_overrides] "path.to.key=value"
 *   study        out  NULL on failure
 * Status: E_INPUT, with file, line, key, value and what was expected; E_FILE.
 */
shoal_status shoal_study_load(shoal_context *context, const char *path, int n_overrides, const char *const *overrides,
                              shoal_study **study);

/*
 * shoal_study_parse: the same from a text, which need be in no file.
 *   text         in  the config
 *   path         in  the file that it could have come from: messages name it, files that are read lie in its folder
 *   n_overrides, overrides, study   as for shoal_study_load
 */
shoal_status shoal_study_parse(shoal_context *context, const char *text, const char *path, int n_overrides,
                               const char *const *overrides, shoal_study **study);

/* What shoal_study_extend goes on from, and to where. Texts are read until it returns. */
typedef struct shoal_extend_options {
    const char *file;   /* a complete result of this version */
    const char *end;    /* t_end in the config's unit, or orbits where it has run.orbits; a number as a text */
    const char *where;  /* only systems of which this is true, "outcome == survived"; NULL = all */
    const char *output; /* the file to write; NULL = `file`, which is replaced when the run is complete */
    const char *folder; /* where the config was, for plugins that it names; NULL = where `file` is */
    int n_overrides;
    const char *const *overrides; /* [n_overrides] as for shoal_study_load, of keys on which no result depends */
} shoal_extend_options;

/*
 * shoal_study_extend: the study of a result with a later end. shoal_study_run then leaves what a run to that end from
 * the first would have left, to the last bit.
 *   options  in
 *   study    out  NULL on failure
 * Status: E_USAGE for `where` without `output`; E_INPUT for a file that is no such result, or an end that is not later;
 * E_FILE; E_MEMORY.
 */
shoal_status shoal_study_extend(shoal_context *context, const shoal_extend_options *options, shoal_study **study);

/*
 * shoal_study_destroy: release a study.
 *   study  in/out  becomes NULL
 */
void shoal_study_destroy(shoal_study **study);

/*
 * shoal_study_output: the name of the file to which a run of the study writes its results.
 *   returns  valid until the study is destroyed
 */
const char *shoal_study_output(const shoal_study *study);

/*
 * shoal_study_text: what a study is made of: its config, with the overrides, and a line "# file NAME HASH" for each
 * file of numbers that it names. The same text is the same study.
 *   returns  valid until the study is destroyed
 */
const char *shoal_study_text(const shoal_study *study);

/*
 * shoal_study_is_big: whether a study is of one big system.
 *   returns  1, else 0
 */
int shoal_study_is_big(const shoal_study *study);

/*
 * shoal_study_warnings: what a user should know of a study before it runs, as shoal_plan_warnings has it, and places
 * that are given for another century.
 *   returns  a line for each, with its end; "" for none. Valid until the study is destroyed
 */
const char *shoal_study_warnings(shoal_study *study);

/* ---- likelihoods ------------------------------------------------------------------------------------------------- */

/* A study with `data` as a likelihood. Its parameters are the random values of `sample`, in their order and in the
 * units of the config; their distributions are the priors. */
typedef struct shoal_model shoal_model;

/*
 * shoal_model_create: read the data, choose an engine, compile what has to be compiled.
 *   study      in   outlives the model
 *   n_walkers  in   vectors that are evaluated at once; shoal_model_evaluate divides longer lists
 *   model      out  NULL on failure
 * The step is that of the config; monitors are not used. Bodies are given by elements.
 * Status: E_INPUT with file, line, key, value and what was expected; E_FILE; E_UNSUPPORTED; E_DEVICE; E_MEMORY.
 */
shoal_status shoal_model_create(const shoal_study *study, long n_walkers, shoal_model **model);

/*
 * shoal_model_destroy: release a model.
 *   model  in/out  becomes NULL
 */
void shoal_model_destroy(shoal_model **model);

/* shoal_model_n_parameters, shoal_model_n_data: the numbers of parameters and of data. */
int shoal_model_n_parameters(const shoal_model *model);
long shoal_model_n_data(const shoal_model *model);

/*
 * shoal_model_parameter: the name of a parameter: "b.P", or "hires.jitter" of data; NULL if there is none.
 *   i  in  0..n_parameters-1
 */
const char *shoal_model_parameter(const shoal_model *model, int i);

/* shoal_model_plan_line: what was chosen, as shoal_plan_line has it. */
const char *shoal_model_plan_line(const shoal_model *model);

/*
 * shoal_model_jumps: the name of a body whose orbit may be prograde and retrograde within the priors, and is given by
 * pomega, l, theta, h or k: these jump between, where walkers do not follow (omega, M, T0 do not jump); NULL: none.
 */
const char *shoal_model_jumps(const shoal_model *model);

/*
 * shoal_model_evaluate: the likelihood of parameter vectors. No bits depend on n or on the number of threads.
 *   n      in   number of vectors
 *   theta  in   [n][n_parameters]
 *   lnl    out  [n] the natural logarithm with its constants; -infinity where there is no such system (e >= 1, a
 *               negative mass), or it does not reach the data
 * Status: E_USAGE; E_DEVICE.
 * Source: the normal distribution, see core/walker/likelihood.kern.h.
 */
shoal_status shoal_model_evaluate(shoal_model *model, long n, const double *theta, double *lnl);

/*
 * shoal_model_evaluate_device: the same of arrays in the memory of a GPU, which never come to the host.
 *   theta, lnl  in, out  as for shoal_model_evaluate, addresses on the device
 *   device      in   the GPU that has the arrays, counted as the CUDA driver does
 *   stream      in   a CUstream of its primary context, NULL = the default one: theta is complete when what is queued
 *                    there is done. ln L is complete on return
 * Status: E_USAGE; E_UNSUPPORTED if the model computes on the CPU, also with n = 0; E_DEVICE.
 */
shoal_status shoal_model_evaluate_device(shoal_model *model, long n, const double *theta, double *lnl, int device,
                                         void *stream);

/*
 * shoal_model_predict: what the model says of the data, in their units and order, which is that of `data` and of the
 * rows of each file. Times are those of the config: less `time_zero` of the data. Offsets that are integrated over have
 * their best values.
 *   n          in   number of vectors
 *   theta      in   [n][n_parameters]
 *   predicted  out  [n][n_data] NaN where there is nothing to be seen: no such system, no such transit
 * Status: E_USAGE; E_DEVICE; E_MEMORY.
 */
shoal_status shoal_model_predict(shoal_model *model, long n, const double *theta, double *predicted);

/*
 * shoal_model_step_error: how far ln L depends on the step: ln L with half of it, less ln L. An adaptive propagator has
 * its tolerance divided for that. A part that all vectors share does not matter; over draws of a posterior the standard
 * deviation of the rest says by how many of their own sigma parameters may move, all together.
 *   n      in   number of vectors
 *   theta  in   [n][n_parameters]
 *   error  out  [n] infinite if only one of them is -infinity, NaN if both are
 * Status: E_USAGE; E_UNSUPPORTED if the propagator has no step to halve; E_DEVICE; E_MEMORY.
 */
shoal_status shoal_model_step_error(shoal_model *model, long n, const double *theta, double *error);

/*
 * shoal_model_log_prior: ln of the prior density, -infinity outside, and at an edge where that of Beta is infinite.
 *   n      in   number of vectors
 *   theta  in   [n][n_parameters]
 *   lnp    out  [n]
 */
shoal_status shoal_model_log_prior(const shoal_model *model, long n, const double *theta, double *lnp);

/*
 * shoal_model_prior_transform: from the unit cube to parameters, for nested samplers: the quantiles of the priors.
 *   n      in   number of vectors
 *   cube   in   [n][n_parameters] 0..1
 *   theta  out  [n][n_parameters]
 */
shoal_status shoal_model_prior_transform(const shoal_model *model, long n, const double *cube, double *theta);

/*
 * shoal_model_from_normal: from independent standard normal numbers to parameters that are drawn from the priors: these
 * are coordinates without bounds, for Hamiltonian Monte Carlo. The density of z is ln L - z^2 / 2 - k / 2 ln(2 pi).
 *   n      in   number of vectors
 *   z      in   [n][n_parameters]
 *   theta  out  [n][n_parameters] the quantiles of the priors at the normal distribution of each z; may be z
 * Status: E_USAGE; E_MEMORY.
 */
shoal_status shoal_model_from_normal(const shoal_model *model, long n, const double *z, double *theta);

/*
 * shoal_model_to_normal: the way back, for vectors to begin with.
 *   n      in   number of vectors
 *   theta  in   [n][n_parameters]
 *   z      out  [n][n_parameters] NaN of a parameter outside its prior; an angle that goes round is never outside
 * Status: E_USAGE; E_MEMORY.
 */
shoal_status shoal_model_to_normal(const shoal_model *model, long n, const double *theta, double *z);

/* What vectors are: parameters, or standard normal numbers (shoal_model_from_normal). */
enum shoal_coordinates { SHOAL_PARAMETERS, SHOAL_STANDARD_NORMAL };

/*
 * shoal_model_scales: how far each coordinate goes until ln L bends by 1/2: steps of differences are parts of it.
 *   x      in   [n_parameters] a vector whose ln L is finite, best the optimum
 *   scale  out  [n_parameters] at most the width of the prior
 * Status: E_USAGE; E_INPUT if ln L is -infinity; E_DEVICE; E_MEMORY.
 */
shoal_status shoal_model_scales(shoal_model *model, enum shoal_coordinates coordinates, const double *x, double *scale);

/*
 * shoal_model_gradient: ln L, ln prior and their derivatives, by central differences over a hundredth of a scale:
 * 2 n_parameters + 1 evaluations a vector, those of all vectors in one call. The error of a derivative times its scale
 * is about 1e-4 near the optimum. It depends on nothing but the vector and the scales.
 *   coordinates  in   of x, of the scales and of the derivatives
 *   n            in   number of vectors
 *   x            in   [n][n_parameters]
 *   scale        in   [n_parameters] > 0, of shoal_model_scales
 *   values       out  [n][2] ln L, ln prior; of standard normal numbers the prior is theirs
 *   gradient     out  [n][2][n_parameters] one-sided at the edge of what is possible; NaN where a value is -infinity
 * Status: E_USAGE; E_DEVICE; E_MEMORY.
 */
shoal_status shoal_model_gradient(shoal_model *model, enum shoal_coordinates coordinates, long n, const double *x,
                                  const double *scale, double *values, double *gradient);

/* What a run reports to its caller after each slice. Its pointers are valid until the callback returns. */
typedef struct shoal_progress {
    long n_systems;           /* all systems */
    const long *n_by_outcome; /* [n_outcomes] systems by outcome; [SHOAL_RUNNING]: those that still run */
    int n_outcomes;           /* outcomes that the library knows */
    double fraction;          /* part of all steps that is done, 0..1 */
    double system_steps;      /* steps of all systems so far in this run */
    double system_steps_left; /* the most steps that remain */
    /* one big system: forces of one body on another, computed so far in this run */
    double interactions;
    double seconds;          /* since the run began */
    long slowest_id;         /* the running system that has come least far */
    double slowest_fraction; /* the part of its run that is done, 0..1 */
    const char *plan_line;
    int certifying; /* 0; when the run is done and run.certify repeats a part of it 1, 2, 3: all above is of that */
} shoal_progress;

/* It is called before the first slice and after every slice. If it returns nonzero, the run ends and keeps what it
 * has. */
typedef int (*shoal_progress_callback)(const shoal_progress *progress, void *user);

/*
 * shoal_study_run: run a study: integrate, and write snapshots and results to its output file. If a run of the same
 * study was killed and left a journal, this run continues from its last commit.
 *   overwrite  in  nonzero: an existing output file may be replaced
 *   callback   in  NULL: there is none
 *   user       in  passed to the callback
 * Status: E_INTERRUPTED if the callback ended the run; the file then holds everything up to that slice. E_INPUT if the
 * output file exists and overwrite is 0, or it cannot be written; E_USAGE if the study has been run before; E_FILE;
 * E_DEVICE; E_MEMORY.
 */
shoal_status shoal_study_run(shoal_study *study, int overwrite, shoal_progress_callback callback, void *user);

/* ---- results ----------------------------------------------------------------------------------------------------- */

/*
 * The results of a run as arrays: the tables of its file (docs/results.md), in the units of its config. Each column has
 * a name, a unit and a line of description. All numbers are doubles, also whole numbers.
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
 *   path    in   the result file. If there is none yet, its journal (path.journal) is read: what a run that goes on or
 *                was killed has committed so far
 *   result  out  NULL on failure
 * Status: E_FILE; E_INPUT if the file is no result, or is damaged.
 */
shoal_status shoal_result_open(shoal_context *context, const char *path, shoal_result **result);

/*
 * shoal_result_close: release a result. The file stays.
 *   result  in/out  becomes NULL
 */
void shoal_result_close(shoal_result **result);

/*
 * shoal_result_is_complete: whether all systems have ended.
 *   returns  1: yes; 0: the run has not ended, or was stopped
 */
int shoal_result_is_complete(const shoal_result *result);

/*
 * shoal_result_n_systems, shoal_result_n_bodies: the number of systems, and the most bodies that a system has.
 */
long shoal_result_n_systems(const shoal_result *result);
int shoal_result_n_bodies(const shoal_result *result);

/*
 * shoal_result_body_name: the name of a body, as the config gives it.
 *   body     in  0..n_bodies-1
 *   returns      valid until the result is closed, as all texts of a result
 */
const char *shoal_result_body_name(const shoal_result *result, int body);

/*
 * shoal_result_text: a text of the whole run.
 *   name     in  "config" (the text that was run), "plan", "version", "epoch", "unit_length", "unit_mass", "unit_time"
 *   returns      "" and a message if there is no text of that name
 */
const char *shoal_result_text(const shoal_result *result, const char *name);

/*
 * shoal_result_number: a number of the whole run.
 *   name     in  "G" (in the user's units), "seed", "unit_length_inner", "unit_mass_inner", "unit_time_inner" (the
 *                user's units in inner units: AU, solar masses, yr/2pi)
 *   returns      NaN and a message if there is no number of that name
 */
double shoal_result_number(const shoal_result *result, const char *name);

/*
 * shoal_result_table: the name of a table.
 *   i        in  0, 1, ...
 *   returns      NULL after the last one
 */
const char *shoal_result_table(const shoal_result *result, int i);

/*
 * shoal_result_axis: an axis of the grid of a sweep. Systems are in the order of the grid, the last axis fastest.
 *   i        in   0, 1, ...
 *   count    out  its length; NULL: not asked for
 *   returns       the column of "systems" with its values; NULL after the last axis, and of a shard: it has no grid
 */
const char *shoal_result_axis(const shoal_result *result, int i, long *count);

/*
 * shoal_result_n_rows, shoal_result_n_columns: the size of a table.
 *   table    in  its name
 *   returns      0 and a message if there is no table of that name
 */
long shoal_result_n_rows(const shoal_result *result, const char *table);
int shoal_result_n_columns(const shoal_result *result, const char *table);

/*
 * shoal_result_describe: the name, the unit and the description of a column.
 *   table            in   its name
 *   i                in   0..n_columns-1
 *   name, unit, doc  out  valid until the result is closed; NULL: not asked for
 * Status: E_USAGE if there is no such table or column.
 */
shoal_status shoal_result_describe(const shoal_result *result, const char *table, int i, const char **name,
                                   const char **unit, const char **doc);

/*
 * shoal_result_get_column: rows of a column.
 *   table   in   its name
 *   column  in   its name
 *   first   in   the first row
 *   n       in   number of rows
 *   values  out  [n] in the column's unit; NaN if a number is not known, -1 if there is no such body
 *   stride  in   bytes from one value to the next, 0: without gaps
 * Status: E_USAGE if there is no such table or column, with the nearest one.
 */
shoal_status shoal_result_get_column(const shoal_result *result, const char *table, const char *column, long first,
                                     long n, double *values, long stride);

/*
 * shoal_result_get_states: states of a table.
 *   table   in   "initial", "final" or "snapshots"
 *   block   in   its systems are rows of the table; NULL: all rows, without gaps
 *   values  out  [n][n_bodies][7] m x y z vx vy vz in the inertial frame of the input, NaN for bodies that are gone
 * Status: E_USAGE if there is no such table, or it has no states.
 */
shoal_status shoal_result_get_states(const shoal_result *result, const char *table, const shoal_block *block,
                                     double *values);

/*
 * shoal_result_get_radii: radii of the bodies in the states of a table. Bodies that have merged have that of their
 * volume.
 *   table   in   "initial", "final" or "snapshots"
 *   block   in   its systems are rows of the table; NULL: all rows, without gaps
 *   values  out  [n][n_bodies], 0 for bodies without a radius, NaN for bodies that are gone; NaN for all if the result
 *                was read from a journal, which has no radii
 * Status: E_USAGE if there is no such table, or it has no states.
 */
shoal_status shoal_result_get_radii(const shoal_result *result, const char *table, const shoal_block *block,
                                    double *values);

#ifdef __cplusplus
}
#endif
#endif
