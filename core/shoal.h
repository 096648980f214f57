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
 * Threads: one context and what was made with it belong to one thread at a time. The library starts its own threads.
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

/* The text of a status, never NULL. */
const char *shoal_status_text(shoal_status status);

/* The version of the library that runs, as SHOAL_VERSION was when it was built. */
const char *shoal_version(void);

/* ---- context ----------------------------------------------------------------------------------------------------- */

/* Holds the last error's message and the plugins. */
typedef struct shoal_context shoal_context;

/* Make a context; *context is NULL when memory is out. */
shoal_status shoal_context_create(shoal_context **context);
void shoal_context_destroy(shoal_context **context);

/* The message of the last failed call with this context: one line, "" if none failed. Valid until the next call. */
const char *shoal_context_message(const shoal_context *context);

/* Nonzero: a config may name plugins, C files that are compiled and run (`shoal run --allow-plugins`). */
void shoal_context_allow_plugins(shoal_context *context, int allow);

/*
 * Load a plugin: a C file NAME.c with one propagator, force or monitor called NAME (core/plug/plug.h, docs/plugins.md),
 * which then exists for everything that is made with this context. It is compiled by the system's C compiler (CC, or
 * cc) and kept in the user's cache. Refused with the compiler's first error if it does not compile.
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
 * The position and velocity on an orbit.
 *   mu     in   G times the mass, > 0
 *   orbit  in   a, e, inc, Omega, omega, f are read
 *   state  out  [6] x y z vx vy vz relative to the centre of attraction
 * Refused (E_INPUT, with a message) if e < 0, e = 1, a and e disagree in sign, or f lies beyond a hyperbola's
 * asymptote. Reference: Murray & Dermott, Solar System Dynamics, section 2.8.
 */
shoal_status shoal_orbit_to_state(shoal_context *context, double mu, const shoal_orbit *orbit, double state[6]);

/* The orbit through a position and velocity: the inverse of shoal_orbit_to_state, all fields filled; Omega and omega
 * in [0, 2 pi), f and (for an ellipse) M in [-pi, pi]. e = 1 for a parabola (M is NaN) and for motion along a line,
 * which no true anomaly describes. Refused for mu <= 0 or a position at the centre. */
shoal_status shoal_orbit_from_state(shoal_context *context, double mu, const double state[6], shoal_orbit *orbit);

/* True anomaly from mean anomaly (hyperbolic for e > 1), in [-pi, pi]; every finite input ends. NaN for e < 0 or e =
 * 1. */
double shoal_true_anomaly(double e, double M);
/* Mean anomaly from true anomaly, the inverse; NaN beyond a hyperbola's asymptote too. */
double shoal_mean_anomaly(double e, double f);

/*
 * Cartesian bodies from orbits.
 *   n_bodies  in      number of bodies, body 0 the central one
 *   orbits    in      [n_bodies], orbits[0] is not read
 *   bodies    in/out  [n_bodies] m and r are read; positions and velocities are written, relative to the barycentre
 */
shoal_status shoal_bodies_from_orbits(shoal_context *context, shoal_frame frame, int n_bodies,
                                      const shoal_orbit *orbits, shoal_body *bodies);

/* The inverse: orbits[1..n_bodies-1] of the given bodies (any inertial origin); orbits[0] is set to zero. */
shoal_status shoal_orbits_from_bodies(shoal_context *context, shoal_frame frame, int n_bodies, const shoal_body *bodies,
                                      shoal_orbit *orbits);

/* ---- ensemble ---------------------------------------------------------------------------------------------------- */

/* Independent systems of up to n_bodies bodies each, in chunked arrays, barycentric inside. */
typedef struct shoal_ensemble shoal_ensemble;

/* How a system ended: data, never an error. X(NAME, code, name, doc) */
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
    X(INACCURATE, 12, "inaccurate", "its energy error passed the chosen limit")                             \
    X(TRANSIT, 13, "transit", "an event, never an end: a body passed before its star")

enum shoal_outcome {
#define X(NAME, code, name, doc) SHOAL_##NAME = code,
    SHOAL_OUTCOME_LIST(X)
#undef X
        SHOAL_OUTCOMES
};

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
} shoal_system;

/* Make an ensemble of n_systems >= 1 systems of at most n_bodies >= 2 bodies; each starts `invalid` until its bodies
 * are set. */
shoal_status shoal_ensemble_create(shoal_context *context, long n_systems, int n_bodies, shoal_ensemble **ensemble);
void shoal_ensemble_destroy(shoal_ensemble **ensemble);

long shoal_ensemble_n_systems(const shoal_ensemble *ensemble);
int shoal_ensemble_n_bodies(const shoal_ensemble *ensemble);

/*
 * Set the bodies of a system: its initial state.
 *   system  in  0..n_systems-1
 *   n_live  in  2..n_bodies
 *   bodies  in  [n_live], any inertial origin; the barycentre is split off and kept
 * Refused, and the system marked `invalid` with a message, if a mass or a radius is negative, the total mass not
 * positive, a value not finite, or two bodies are at one place.
 */
shoal_status shoal_ensemble_set_bodies(shoal_ensemble *ensemble, long system, int n_live, const shoal_body *bodies);

/* The bodies of a system now, the barycentre's motion added back: writes n_live bodies, those that are gone all NaN,
 * and all of an `invalid` system. */
void shoal_ensemble_get_bodies(const shoal_ensemble *ensemble, long system, shoal_body *bodies);

/* Set id, t_start and dt of a system (other fields are not read). Before a plan is made, or made to begin again. */
void shoal_ensemble_set_system(shoal_ensemble *ensemble, long system, const shoal_system *record);
void shoal_ensemble_get_system(const shoal_ensemble *ensemble, long system, shoal_system *record);

/* Total energy of the bodies held now, relative to the barycentre, each pair counted once, with that of the extra
 * forces of the last plan (which made energy_start anew); NaN if one of these conserves none. */
double shoal_ensemble_energy(const shoal_ensemble *ensemble, long system);
/* Total angular momentum about the barycentre. */
void shoal_ensemble_angular_momentum(const shoal_ensemble *ensemble, long system, double L[3]);

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

/* What to integrate with; zero or NULL means the default. */
typedef struct shoal_options {
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

typedef struct shoal_plan shoal_plan;

/* Choose engine and kernels and prepare every system. Options are checked here, never while stepping, and copied;
 * the ensemble has to stay until the plan is destroyed. Systems become `invalid` that the propagator or a force is
 * not for (refused is one that is for none of them: mvs, where no body 0 has the largest mass), or that cannot have
 * steps_per_orbit or `orbits`, since no orbit is bound. */
shoal_status shoal_plan_create(shoal_context *context, shoal_ensemble *ensemble, const shoal_options *options,
                               shoal_plan **plan);
void shoal_plan_destroy(shoal_plan **plan);

/*
 * Begin again, with the same options, from systems whose bodies (and t_start, dt) were set anew, as a new plan would,
 * to the same bits: the walkers' next proposals. Nothing is chosen, compiled or allocated again, unless bodies have
 * mass now that had none. Systems that were not set anew stay as they ended, with their states and outcomes; events and
 * columns begin anew for all. Refused, as a new plan: systems that run but have been integrated. Those that the
 * propagator is not for become `invalid`, be it all. Until it is called, a plan whose systems were set anew is refused
 * by shoal_plan_integrate.
 */
shoal_status shoal_plan_restart(shoal_plan *plan);

/* One line that says what was chosen and why. Valid as long as the plan. */
const char *shoal_plan_line(const shoal_plan *plan);

/*
 * Integrate every running system to the time t (at most the plan's t_end) and put the state at exactly t into the
 * ensemble; reaching t is a partial step on a copy, so calls at other times change no bits. Systems that end before t
 * keep the state of the step in which they ended. Monitors look at whole steps: what happens in the rest of a step
 * before t_end (where t_end is no multiple of dt) is not seen.
 */
shoal_status shoal_plan_integrate(shoal_plan *plan, double t);

/* Something to observe of each system. */
typedef struct shoal_observable {
    int body;
    int component; /* 0..5: its x, y, z, vx, vy, vz, as shoal_ensemble_get_bodies has them */
} shoal_observable;

/*
 * What is to be seen at a list of times, velocities and places for a likelihood: shoal_plan_integrate to each of them,
 * to the same bits, in one call, which on a CPU costs less than n_times of them.
 *   times   in   [n_times] in the direction of time, from where the plan is on
 *   what    in   [n_what]
 *   values  out  [n_times][n_what][n_systems]: NaN from a system's end on, and of bodies that are not there; a system
 *                that had arrived at the plan's
 *                end before the call has that alone to show
 */
shoal_status shoal_plan_observe(shoal_plan *plan, long n_times, const double *times, int n_what,
                                const shoal_observable *what, double *values);

/* A monitor's column for a system (for instance "min_separation"), NaN if it is empty or there is none of that name. */
double shoal_plan_column(shoal_plan *plan, const char *column, long system);

/* What happened to a system that its monitors let go on (`action` of stop_on_collision, stop_on_ejection,
 * stop_on_encounter), or log (transits). */
typedef struct shoal_event {
    long system; /* index in the ensemble */
    double time; /* of the event, inside its step */
    /* COLLIDED, HIT_STAR: body_b is now part of body_a; EJECTED: body_a was removed; ENCOUNTER; TRANSIT: of body_a
     * before body_b */
    enum shoal_outcome what;
    int body_a, body_b; /* -1 = none */
    int ended;          /* 1: the system ended with it, and its bodies stayed as they are */
    /* at the end of that step, where bodies merge and are removed; NaN where there is no such body */
    double m_a, m_b;
    /* between the two, or of the ejected one from the barycentre of the rest; of a transit: then, in the sky plane */
    double distance, speed;
    double energy_jump; /* energy of the system after it less that before it */
} shoal_event;

/* How many there were, and one of them; those of a system are in order of time, and its end is the last, unless it
 * survived; which system comes first may differ from run to run. Of an i that there is not: system = -1. There are
 * none in a plan whose monitors all stop: see the systems' outcomes. */
long shoal_plan_n_events(const shoal_plan *plan);
void shoal_plan_event(const shoal_plan *plan, long i, shoal_event *event);

/* ---- study ------------------------------------------------------------------------------------------------------- */

/* A config file, read and checked: systems, propagator, monitors, run and output; or one big system
 * (docs/big_systems.md). */
typedef struct shoal_study shoal_study;

/*
 * Read and check a config file.
 *   overrides  in  [n_overrides] "path.to.key=value"
 * Refused with file, line, key, value and what was expected.
 */
shoal_status shoal_study_load(shoal_context *context, const char *path, int n_overrides, const char *const *overrides,
                              shoal_study **study);
void shoal_study_destroy(shoal_study **study);

/* What a run tells its caller after each slice. */
typedef struct shoal_progress {
    long n_systems;                    /* all systems */
    long n_by_outcome[SHOAL_OUTCOMES]; /* [SHOAL_RUNNING] are still going */
    double fraction;                   /* of all steps to be done, 0..1 */
    double system_steps;               /* done so far in this run */
    double system_steps_left;          /* at most */
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
 * Run a study: integrate, write snapshots and results to its output file. If a journal of an earlier run of the same
 * study that was killed is there, the run goes on from its last commit.
 *   overwrite  in  nonzero: an existing output file may be replaced
 * Returns E_INTERRUPTED when the callback asked for the end; the file then holds everything up to that slice.
 */
shoal_status shoal_study_run(shoal_study *study, int overwrite, shoal_progress_callback callback, void *user);

#ifdef __cplusplus
}
#endif
#endif
