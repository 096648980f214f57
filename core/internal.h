/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * internal.h: what the files of core/, integrators/, gravitation/ and monitors/ know of each other and a user does not.
 *
 * Sections, one per file that implements them: context, units, plug, ensemble, engine, plan, study, result, journal, store.
 */
#ifndef SHOAL_INTERNAL_H
#define SHOAL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kernel.h"
#include "plug.h"

/* ---- context.c ---------------------------------------------------------------------------------------------------- */

#define SHOAL_MESSAGE_SIZE 1024

typedef struct shoal_plugs shoal_plugs;

struct shoal_context {
    char message[SHOAL_MESSAGE_SIZE];
    bool plugins_allowed; /* those that a config names */
    shoal_plugs *plugs;   /* NULL as long as there are no plugins */
};

/* Store a one-line message and return the status, so that a function can end in `return shoal_fail(...)`. A NULL context is
 * allowed: the message is dropped. */
shoal_status shoal_fail(shoal_context *context, shoal_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The candidate nearest to word in edit distance (case ignored), or NULL if none is near (distance > 1 + length / 3). */
const char *shoal_nearest(const char *word, const char *const *candidates, int n_candidates);

/* Name of an outcome ("running", ...) and the inverse (-1 if there is none). */
const char *shoal_outcome_name(int outcome);
int shoal_outcome_from_name(const char *name);

/* Wall time in seconds since some moment. */
double shoal_seconds(void);

/* Whether path is there and a device, a pipe or a folder: a rename would replace the former two by a file. */
bool shoal_not_a_file(const char *path);

/* ---- units.c ------------------------------------------------------------------------------------------------------ */

/* Inner units: G = 1, AU, solar mass (GM = 1.3271244e20 m^3/s^2, IAU 2015 B3), yr/2pi = sqrt(AU^3/GM) = 58.1324 d.
 * inner value = user value * factor. */
typedef struct shoal_units {
    char length_name[16], mass_name[16], time_name[16];
    double length, mass, time; /* factors: one user unit in inner units */
    double G;                  /* gravitational constant in the user's units */
} shoal_units;

/*
 * Units from names; G = NaN derives it. With an explicit G the unit of time follows from it: factor^2 = G length^3 / mass, so
 * that G in user units is exactly what was written; time may then be NULL, and a time that is off by more than 1 % from what
 * G implies is refused. NULL or "" otherwise means the inner unit.
 * Refused with the nearest known name for an unknown unit.
 */
shoal_status shoal_units_init(shoal_context *context, const char *length, const char *mass, const char *time, double G,
                              shoal_units *units);

/* Units in a line of text, "AU, Msun, yr" or with a G of one's own, "AU, Msun, G = 1"; what is left out is as in a config. The text of
 * printed units gives the same factors, to the last bit, when it is parsed. */
enum { SHOAL_UNITS_TEXT = 96 };
shoal_status shoal_units_parse(shoal_context *context, const char *text, shoal_units *units);
void shoal_units_print(const shoal_units *units, char text[SHOAL_UNITS_TEXT]);

/* Names known for a dimension ("length", "mass", "time"), for messages and help: fills names, returns how many there are. */
int shoal_units_names(const char *dimension, const char *const **names);

/* Factor of a quantity of the given dimension: "length", "mass", "time", "velocity", "frequency" (1/time), "angle" or "" (1). */
double shoal_units_factor(const shoal_units *units, const char *dimension);

/* A time in the user's units; within two rounding errors of a number of 15 digits, as people write it, it is that number. */
double shoal_units_time(const shoal_units *units, double t);

/* ---- plug.c: the propagators, forces and monitors that there are ------------------------------------------------------ */

#define SHOAL_NAME_SIZE 32   /* a body's name */
#define SHOAL_COLUMN_SIZE 96 /* a column's, which may end in two of them */

enum { SHOAL_MAX_PROPAGATORS = 62, SHOAL_MAX_FORCE_KINDS = 31, SHOAL_MAX_PLUGINS = 16 };

typedef struct shoal_plugin shoal_plugin;

/* What a context knows: those of this build, in the order of the lists, then those of its plugins. NULL-terminated; the index of a
 * monitor or a force is its bit in shoal_kernel_args. */
struct shoal_plugs {
    const shoal_propagator *propagators[SHOAL_MAX_PROPAGATORS + 1];
    const shoal_monitor *monitors[SHOAL_MAX_MONITORS + 1];
    const shoal_force *forces[SHOAL_MAX_FORCE_KINDS + 1];
    shoal_plugin *plugins[SHOAL_MAX_PLUGINS + 1];
    struct shoal_text *text; /* that they add to shoal_texts; {0, 0} after the last */
};

extern const shoal_force shoal_newton; /* always there */

/* The length of a NULL-terminated list. */
static inline int shoal_count(const void *const *list)
{
    int n = 0;
    while (list[n])
        n++;
    return n;
}

/* Those of a context, of this build alone for NULL. */
const shoal_plugs *shoal_plugs_of(const shoal_context *context);

/* Native slots of a system of n bodies. */
static inline size_t shoal_native_slots(const shoal_propagator *propagator, int n)
{
    return (size_t)(propagator->n_slots * n + propagator->n_own);
}

/* By name or alias; NULL if there is none. */
const shoal_propagator *shoal_propagator_find(const shoal_context *context, const char *name);
/* Parameter number `which` = 0, 1, ... that an alias sets, and its value; -1 if the name sets no more. */
int shoal_propagator_preset(const shoal_propagator *propagator, const char *name, int which, double *value);
/* The index, -1 if there is none. */
int shoal_monitor_find(const shoal_context *context, const char *name);
int shoal_force_find(const shoal_context *context, const char *name);
/* All names of a list for messages: fills up to limit, returns how many. */
int shoal_propagator_names(const shoal_context *context, const char **names, int limit);
int shoal_monitor_names(const shoal_context *context, const char **names, int limit);

#define SHOAL_MAX_SLOTS 64 /* of a monitor, and of each of its parts */

/* How many parts of a system a monitor has slots for; how many columns of a result its column `column` is. */
int shoal_monitor_n_parts(const shoal_monitor *monitor, int n_bodies);
int shoal_monitor_n_of(const shoal_monitor *monitor, int column, int n_bodies);

/* The name of a column: its own, and of one of each part the names of the part's bodies, or (NULL) their indices. */
void shoal_monitor_column_name(const shoal_monitor *monitor, int column, int part, int n_bodies,
                               char (*body_name)[SHOAL_NAME_SIZE], char name[SHOAL_COLUMN_SIZE]);
int shoal_force_names(const shoal_context *context, const char **names, int limit);

bool shoal_is_identifier(const char *name);
/* Whether the tables of a descriptor can be used, beside the other plugs; why = [SHOAL_MESSAGE_SIZE]: what was expected of them if not. */
bool shoal_propagator_is_sound(const shoal_propagator *propagator, char *why);
bool shoal_force_is_sound(const shoal_force *force, char *why);
bool shoal_monitor_is_sound(const shoal_plugs *plugs, const shoal_monitor *monitor, char *why);
/* Index of a word in "a|b|c", -1 if it is not there. */
int shoal_choice_index(const char *choices, const char *word);

/* ---- ensemble.c --------------------------------------------------------------------------------------------------- */

struct shoal_ensemble {
    shoal_context *context;
    long n_systems;
    long n_chunks;
    int n_bodies;
    double *bodies;      /* [chunk][n_bodies * SHOAL_QUANTITIES][lane], state at time[] */
    double *systems;     /* [chunk][SHOAL_SYS_FIELDS][lane] */
    long *id;            /* [n_systems] */
    double *time;        /* [n_systems] of the bodies held now */
    double *energy_start; /* [n_systems] */
    double *energy_jump; /* [n_systems] by mergers and removals since then */
    double (*centre)[6]; /* [n_systems] barycentre at t_start */
    double *dt;          /* [n_systems] that the caller set; that of the systems' records is a plan's */
    long changes;        /* of systems and plans: a plan knows those before it */
    /* extra forces that count in its energies: those of the last plan */
    const shoal_force *force[SHOAL_MAX_FORCES];
    double force_parameter[SHOAL_MAX_FORCES][SHOAL_MAX_PARAMETERS];
    int n_forces;
};

static inline double *shoal_ensemble_field(const shoal_ensemble *ensemble, int field, long system)
{
    return &ensemble->systems[SHOAL_AT(system, field, SHOAL_SYS_FIELDS)];
}

static inline double *shoal_ensemble_body(const shoal_ensemble *ensemble, int body, int quantity, long system)
{
    return &ensemble->bodies[SHOAL_AT(system, body * SHOAL_QUANTITIES + quantity, ensemble->n_bodies * SHOAL_QUANTITIES)];
}

/* A body as it is held, barycentric. */
shoal_body shoal_ensemble_read_body(const shoal_ensemble *ensemble, long system, int body);

/* Whether somebody is in a slot, and how many of a system's bodies are left. */
bool shoal_ensemble_is_there(const shoal_ensemble *ensemble, int body, long system);
int shoal_ensemble_n_left(const shoal_ensemble *ensemble, long system);

/* Change the bodies of a system, a time `elapsed` after its start: bodies = [n_live] relative to its barycentre, those that are
 * gone with r < 0. The barycentre of the others is split off again. */
void shoal_ensemble_change(shoal_ensemble *ensemble, long system, double elapsed, const shoal_body *bodies);

/* Energy of n bodies seen from their barycentre, each pair counted once, with that of the ensemble's extra forces (NaN: it has none). */
double shoal_bodies_energy(const shoal_ensemble *ensemble, int n, const shoal_body *bodies);

/* Whether body 0 of a system is heavier than any other. */
bool shoal_ensemble_dominated(const shoal_ensemble *ensemble, long system);

/* What a propagator or a force refuses. */
typedef struct shoal_refused {
    long n_fit, n; /* systems that are not `invalid`: that it applies to, and not */
    long first;    /* of the latter */
    const char *why;
} shoal_refused;

/* Look for systems that it refuses; with `commit` they become `invalid`. */
shoal_refused shoal_ensemble_refuse(shoal_ensemble *ensemble, shoal_refusal *refuses, const double *parameters, bool commit);

enum { SHOAL_PAGE = 4096, SHOAL_PAGE_LOCKED = 1 << 20 };

/* 64-byte aligned, zeroed; from SHOAL_PAGE_LOCKED bytes on in pages of its own. NULL when memory is out. Free with free(). */
void *shoal_allocate(size_t n_items, size_t item_size);

/* ---- kernel_text.c, made by the Makefile --------------------------------------------------------------------------- */

/* The kernel text that this build was made from, for compilers that run on the user's machine. */
typedef struct shoal_text {
    const char *name; /* path from the root of the sources: "integrators/mvs.kern.h" */
    const char *text; /* NUL-terminated */
} shoal_text;

extern const shoal_text shoal_texts[]; /* ends in {0, 0} */

/* ---- engine_cpu.c, engine_cuda.c ------------------------------------------------------------------------------------ */

/* How a GPU's kernels use it: 0 = as by default. */
typedef struct shoal_tuning {
    int block;         /* threads of a block, a multiple of 32; a large team's block is its own */
    int max_registers; /* of a thread */
    int bodies;        /* of a thread of the model `body`, at most: 2, 4 or 5 */
} shoal_tuning;

/* What is composed into one set of kernels. */
typedef struct shoal_kernel_choice {
    const shoal_propagator *propagator;
    int n_bodies;
    int variational; /* 1: as many tangent vectors are moved with them */
    int monitors;    /* bits */
    int forces;      /* bits */
    bool plugins;    /* a plugin's text is needed */
    const double *chosen; /* [propagator->n_parameters] the propagator's parameters, NULL = their defaults */
    int form;        /* SHOAL_FORM_* */
    int n_massive;
    int compensated;
    int threads;     /* CPU */
    int lanes;       /* CPU, 0 = the machine's */
    bool beside_gpu; /* CPU: with a GPU's arithmetic (lane.h) */
    int model;       /* GPU: SHOAL_MODEL_* */
    shoal_tuning tuning; /* GPU */
    bool unit_star;  /* GPU: body 0 of every system has mass 1, and keeps it */
    bool alone;      /* GPU: it hands no system to the host, whose arrays stay as they are */
} shoal_kernel_choice;

static inline int shoal_choice_moved(const shoal_kernel_choice *choice)
{
    return choice->n_bodies << choice->variational;
}

/* The last three are a GPU engine's own, of propagators that park systems. */
typedef enum shoal_kernel_entry {
    SHOAL_PREPARE,
    SHOAL_INTEGRATE,
    SHOAL_SNAPSHOT,
    SHOAL_BARE,
    SHOAL_CAREFUL,
    SHOAL_GATHER,
    SHOAL_CARRY
} shoal_kernel_entry;

typedef struct shoal_engine shoal_engine;

/*
 * An engine holds the five arrays of shoal_kernel_args where its kernels can reach them. Host copies are those that the plan
 * owns (args.bodies, ... as host pointers); the engine moves them.
 */
/* At each stop aim() says where some systems go next, and whether any has to: then they integrate, and it is asked again. When they have arrived
 * the states that their records ask for (SHOAL_SYS_PARTIAL) are made, and take() has them. Called by several threads, for different systems. */
typedef struct shoal_visitor {
    void *user;
    long n_stops;
    double steps; /* that a system makes from the first stop to the last, roughly */
    bool (*aim)(void *user, long stop, const int *list, long n_list);
    void (*take)(void *user, long stop, const int *list, long n_list);
} shoal_visitor;

typedef struct shoal_engine_type {
    const char *name; /* "cpu", "cuda" */
    /* NULL if this machine has the engine, else a sentence that says what is missing. */
    const char *(*missing)(void);
    /* Compile or choose kernels, allocate device memory for n_systems. args: host pointers, parameters filled in; they stay
     * valid and in place as long as the engine. line: the engine's part of the plan line. */
    shoal_status (*create)(shoal_context *context, const shoal_kernel_choice *choice, const shoal_kernel_args *args,
                           long n_systems, shoal_engine **engine, char *line, size_t line_size);
    void (*destroy)(shoal_engine **engine);
    /* Copy whole arrays between host and device, bits of SHOAL_ARRAY_*, after all launches so far. */
    shoal_status (*upload)(shoal_engine *engine, int arrays);
    shoal_status (*download)(shoal_engine *engine, int arrays);
    /* Upload without waiting for it: the host leaves the arrays as they are until the next wait, download or fetched. */
    shoal_status (*send)(shoal_engine *engine, int arrays);
    /* Run one kernel over an index list (host pointer, copied), after all launches so far. It may still be running on return; what it
     * writes is the host's after `wait` or `download`, and its errors are told there. slice_steps: for SHOAL_INTEGRATE. */
    shoal_status (*launch)(shoal_engine *engine, shoal_kernel_entry entry, const int *list, long n_list, double slice_steps);
    /* Copy whole arrays to the host as the launches so far leave them, beside the launches to come, which must not change what is
     * read of them. They are there after fetched(). */
    shoal_status (*fetch)(shoal_engine *engine, int arrays);
    shoal_status (*fetched)(shoal_engine *engine);
    /* Each group of systems that go step by step together by itself, through all of a visitor's stops. NULL: it cannot. */
    void (*visit)(shoal_engine *engine, const int *list, long n_list, const shoal_visitor *visitor);
    /* Until all launches are done. seconds: what the last SHOAL_INTEGRATE took, may be NULL. */
    shoal_status (*wait)(shoal_engine *engine, double *seconds);
    /* How many systems it needs to keep all of its lanes busy. group: how many of them go step by step together. */
    long (*width)(const shoal_engine *engine, int *group);
    /* Of a GPU alone, for tune.c: its name; the file of the kernel that integrates, "" = there is no cache; compile some choices ahead. */
    const char *(*device)(const shoal_engine *engine);
    const char *(*kernel_file)(const shoal_engine *engine);
    void (*compile)(shoal_engine *engine, const shoal_kernel_choice *choices, int n);
} shoal_engine_type;

enum {
    SHOAL_ARRAY_BODIES = 1,
    SHOAL_ARRAY_SYSTEMS = 2,
    SHOAL_ARRAY_NATIVE = 4,
    SHOAL_ARRAY_WATCH = 8,
    SHOAL_ARRAY_SNAPSHOT = 16
};

extern const shoal_engine_type shoal_engine_cpu, shoal_engine_cuda;
/* Systems of a CPU engine, at most as many as go step by step together (width), go on for some steps in the calling thread. */
void shoal_engine_cpu_group(const shoal_engine *engine, const int *list, long n_list, double slice_steps);

/* One line about an engine's devices for `shoal info`: CPU flags and cores, GPU names and memory, kernel cache. */
void shoal_engine_cpu_info(FILE *out);
void shoal_engine_cuda_info(FILE *out);

/* The instruction set that kernels are picked for: "v4", "v3", "any" (engine_cpu.c). */
const char *shoal_cpu_arch(void);

/* ---- laggards.c: systems that a GPU is slow with go on beside it -------------------------------------------------------- */

typedef struct shoal_laggards shoal_laggards;

/* NULL: none, the GPU makes all steps. */
shoal_laggards *shoal_laggards_create(shoal_context *context, const shoal_kernel_choice *choice, const shoal_kernel_args *args, long n_systems);
void shoal_laggards_destroy(shoal_laggards **laggards);
int shoal_laggards_threads(const shoal_laggards *laggards);
/* The table through which states go, [rows][room], a column a system, and the numbers from 1 of those whose columns came while a slice went on, [room]:
 * page-locked, seen by both. They stay as long as the laggards. */
int shoal_laggards_rows(const shoal_laggards *laggards);
int shoal_laggards_room(const shoal_laggards *laggards);
void shoal_laggards_table(shoal_laggards *laggards, double *table, int *handed);
/* Of the systems that go on, the GPU's and after them the host's: to sorted. How many are the host's, whose columns are the first. */
int shoal_laggards_split(shoal_laggards *laggards, const int *list, long n_list, int *sorted);
/* The host's systems go on, and those that are handed over, until the GPU is no longer busy; waits: until they have arrived, for half a second at most.
 * The seconds that it took. */
double shoal_laggards_advance(shoal_laggards *laggards, bool (*busy)(shoal_engine *), shoal_engine *gpu, bool waits);
/* The host's systems, in the order of their columns. */
const int *shoal_laggards_list(const shoal_laggards *laggards, int *n_list);

/* ---- work.c: work models of a GPU ------------------------------------------------------------------------------------- */

#define SHOAL_MODEL_CHOICES "auto|system|body|component|pair"
const char *shoal_model_name(const shoal_kernel_choice *choice);
/* A number that an environment variable gives, or `value`. */
int shoal_environment_number(const char *name, int value, int least, int most);
/* Set the model of that name; false if there is none, or it is auto. */
bool shoal_model_choose(shoal_kernel_choice *choice, const char *name);
/* Bodies of a thread of the model `body`: as many as the tuning asks for, or fewer, so that all have as many. */
int shoal_team_each(const shoal_kernel_choice *choice);
/* Threads that advance a system: 1, or a team. */
int shoal_team_threads(const shoal_kernel_choice *choice);
/* Threads of a block: `block`, a multiple of 32, where several teams share a warp, else the team's. Systems of a block; bytes of shared
 * memory that it needs. */
int shoal_team_block(const shoal_kernel_choice *choice, int block);
int shoal_team_systems(const shoal_kernel_choice *choice, int block);
/* Whether a thread has a whole system in the kernels of these entries, whatever the model: they are rare, or what they do is not shared. */
bool shoal_team_is_one(const shoal_kernel_choice *choice, int entries);
int shoal_team_doubles(const shoal_kernel_choice *choice); /* of these, a team's */
size_t shoal_team_shared(const shoal_kernel_choice *choice, int block);
/* Whether a block can be as large as the model makes it. */
bool shoal_team_fits(const shoal_kernel_choice *choice);

/* ---- cores.c: how many threads this process should use -------------------------------------------------------------- */

/* CPUs' worth of time that the control groups of this process allow, +inf = no limit; root: of the files, "" = the machine's. */
double shoal_cpu_quota(const char *root);
/* Threads by default: OMP_NUM_THREADS, else the CPUs that the process may run on, or its quota, rounded up, if that is less.
 * from: says which. */
int shoal_default_threads(const char **from);

/* ---- cache.c ------------------------------------------------------------------------------------------------------ */

/* Two independent 64-bit hashes side by side: FNV-1a, and a multiply-rotate one. */
typedef struct shoal_hash {
    uint64_t a, b;
} shoal_hash;

shoal_hash shoal_hash_start(void);
void shoal_hash_bytes(shoal_hash *hash, const void *data, size_t size);
/* A string and its length, so that neighbours cannot run into each other. */
void shoal_hash_string(shoal_hash *hash, const char *text);

/* The folder of compiled kernels; false if there is none that only this user can write to. make: make it if need be. */
bool shoal_cache_folder(char *path, size_t size, bool make);
/* A small text there: false if it is not there, or longer. Written whole or not at all; failing is allowed. */
bool shoal_cache_read(const char *path, char *text, size_t size);
void shoal_cache_write(const char *path, const char *text);
/* Write all of it to an open file, whatever interrupts. */
bool shoal_write_all(int file, const void *data, size_t size);

/* ---- plugin.c: plugs of the user's, compiled and loaded at run time --------------------------------------------------- */

/* Bits of the monitors and forces that are plugins' (kind 'm', 'f'); whether a propagator is one. */
int shoal_plugin_bits(const shoal_context *context, char kind);
int shoal_plugin_bits_of_pairs(const shoal_context *context); /* of monitors that look at the state before a step, too */
bool shoal_plugin_is(const shoal_context *context, const shoal_propagator *propagator);
/* Text i for a compiler of kernels, in the order shoal_texts, then the plugins' own: {0, 0} after the last. */
shoal_text shoal_plugin_text(const shoal_context *context, int i);
void shoal_plugins_release(shoal_context *context);
/* A comment line a plugin, with a hash of its text: a run must not go on with another plugin of the same name. */
void shoal_plugins_describe(const shoal_context *context, FILE *out);
struct shoal_cpu_kernels;
/* CPU kernels with the plugins in them; they stay as long as the context. */
shoal_status shoal_plugin_kernels(shoal_context *context, const shoal_kernel_choice *choice, const char *arch, int lanes,
                                  const struct shoal_cpu_kernels **kernels);

/* ---- jit.c: kernels for a GPU architecture, by NVRTC; needs no GPU ----------------------------------------------------- */

enum {
    SHOAL_KERNEL_ENTRIES = SHOAL_CARRY + 1,
    SHOAL_ONCE_ENTRIES = 1 << SHOAL_PREPARE | 1 << SHOAL_SNAPSHOT, /* run once in a while: compiled small */
    SHOAL_PARKING_ENTRIES = 1 << SHOAL_CAREFUL | 1 << SHOAL_GATHER | 1 << SHOAL_CARRY
};

/* What a thread of a kernel uses. */
typedef struct shoal_kernel_usage {
    int registers;
    int stack_bytes;
    int spill_bytes; /* stores and loads together */
} shoal_kernel_usage;

/* A compiled set of kernels. */
typedef struct shoal_cubin {
    void *image;        /* for cuModuleLoadData */
    size_t size;
    shoal_kernel_usage usage[SHOAL_KERNEL_ENTRIES];
    int block;          /* threads a block that it was compiled for */
    bool cached;        /* it came from the cache */
    double seconds;     /* it took */
    char file[600];     /* its place in the cache, "" = there is no cache */
    char log[4096];     /* what the compiler said beside that, "" = nothing */
} shoal_cubin;

/* NULL if kernels can be compiled here, else a sentence that says what is missing. */
const char *shoal_jit_missing(void);

/*
 * Compile a choice of kernels, or take them from the cache.
 *   entries         in   bits 1 << shoal_kernel_entry: kernels wanted
 *   arch            in   compute capability times ten: 90 for sm_90
 *   driver_version  in   the driver's CUDA version (13000 = 13.0), 0 = no driver has to load it
 *   cubin           out  release with shoal_cubin_release; on error it holds only the log
 * E_UNSUPPORTED without NVRTC; E_DEVICE with the first lines of the compiler's log if the text does not compile.
 */
shoal_status shoal_jit_compile(shoal_context *context, const shoal_kernel_choice *choice, int entries, int arch,
                               int driver_version, shoal_cubin *cubin);
void shoal_cubin_release(shoal_cubin *cubin);
/* The same for a text of its own: its path in this source, and constants "NAME=VALUE", NULL after the last. */
shoal_status shoal_jit_text(shoal_context *context, const char *name, const char *const *constants, int arch, int driver_version,
                            shoal_cubin *cubin);

/* The name of a kernel in the compiled module. */
const char *shoal_kernel_entry_name(shoal_kernel_entry entry);

/* The compiler and the cache for `shoal info`, a line each. */
void shoal_jit_info(FILE *out);

/* ---- plan.c ------------------------------------------------------------------------------------------------------- */

enum { SHOAL_PLAN_LISTS = 8, SHOAL_MOST_TUNED = 16 };

/* A choice that was measured, in system-steps/s; 0 = it did not run. */
typedef struct shoal_tuned {
    shoal_kernel_choice choice;
    double rate;
} shoal_tuned;

struct shoal_plan {
    shoal_context *context;
    shoal_ensemble *ensemble; /* borrowed */
    const shoal_propagator *propagator;
    const shoal_engine_type *engine_type;
    shoal_engine *engine;
    shoal_kernel_choice choice;
    bool any_model;           /* of a GPU; else it is the user's */
    shoal_tuning forced;      /* by the user */
    char tune[8];             /* "auto", "always" or "never" */
    double dt, steps_per_orbit; /* as in shoal_options */
    long changes;             /* of the ensemble that it knows */
    long n_chosen_for;        /* systems that were running when the choice was made */
    bool goes_on;             /* the engine begins with args.native, instead of preparing it */
    shoal_tuned tuned[SHOAL_MOST_TUNED]; /* [n_tuned] */
    int n_tuned;
    shoal_kernel_args args;   /* host pointers */
    double t_end;
    double *period;           /* [n_systems] with options.orbits: the unit of t_end and all times given to the plan; else NULL */
    int *list;                /* [n_list] systems still running, ascending */
    long n_list;
    int *ended;               /* [n_ended] that the last slice took from it */
    long n_ended;
    long slice_steps;         /* most steps of the next slice, adapted */
    double system_steps;      /* done so far */
    double reached;           /* the last time that somebody asked for, NAN: none */
    double left;              /* progress that the running systems are short of, all together */
    double slowest_left;      /* and the one that is shortest of it, 0..1 of its run */
    int slowest;
    bool watch_fresh;         /* args.watch is what the engine has */
    /* slice.c */
    int host_threads;
    double *goal;             /* [n_systems] the time that it is headed for, NaN = none yet */
    bool records_changed;     /* the engine must hear of it */
    const int *asked;         /* [n_asked] systems whose states are asked for, borrowed */
    long n_asked;
    bool asked_ended;         /* some of them have ended */
    bool watch_fetched;       /* args.watch is on its way */
    int *moving, *unsorted;   /* [n_moving] systems of this slice */
    long n_moving;
    short *class;             /* [n_systems] of its expected steps */
    double *expected, *tried; /* [n_systems] steps to its goal, and made before this slice */
    double length;            /* steps of this slice */
    double steps_before;      /* of all that move */
    double ended_at, gap, pace; /* wall clock; s between slices; steps/s of a system */
    void *lists[SHOAL_PLAN_LISTS]; /* all those of one for each system */
    shoal_event *events;      /* [n_events] */
    long n_events;
    char engine_line[256], line[768];
};

/* The shortest period among a system's initial Jacobi orbits, +inf if none is bound. bodies, orbits: room for [n_bodies]. */
double shoal_shortest_period(const shoal_ensemble *ensemble, long system, shoal_body *bodies, shoal_orbit *orbits);

/* The value of a monitor's column, of its part `part` if it is one of each, for a system. */
double shoal_plan_monitored(shoal_plan *plan, int monitor, int column, int part, long system);

/* Another engine of the same type in the place of the plan's, which has the systems as the host has them. */
shoal_status shoal_plan_engine(shoal_plan *plan, const shoal_kernel_choice *choice);
/* Between slices: another one where too few systems for this one are left. */
shoal_status shoal_plan_thinned(shoal_plan *plan);
/* Tell the monitors of the bodies that a system begins or goes on with. */
void shoal_plan_watch_bodies(shoal_plan *plan, long system);

/* The time that t stands for: t itself, or with options.orbits t of the system's periods after its start. */
double shoal_plan_when(const shoal_plan *plan, long system, double t);

/* ---- tune.c ------------------------------------------------------------------------------------------------------------- */

/* Complete a choice by rule: model, block. */
void shoal_tune_rule(const shoal_plan *plan, long n_list, shoal_kernel_choice *choice);
/* Change a plan's engine, made by rule, to the fastest: plan->tune = "auto" (what was measured before; measured if the run is long), "always",
 * "never". why: what to say of it. */
shoal_status shoal_tune(shoal_plan *plan, char *why, size_t why_size);
/* Whether the systems that are left need another choice than those that the plan's was made for, by rule, and what is left to do is worth it. */
bool shoal_tune_is_due(const shoal_plan *plan, shoal_kernel_choice *choice);

/* ---- slice.c: one slice after the other -------------------------------------------------------------------------------- */

/* A remainder below this fraction of a step is rounding of the times t and t_start + n dt, not time. */
double shoal_whole_step(double t_start, double t, double dt);

/* The time of a system's last step, and its progress on the way to SHOAL_SYS_END: whole steps, or time if steps are adaptive. */
double shoal_plan_time(const shoal_plan *plan, long system);
double shoal_plan_progress(const shoal_plan *plan, long system);

/* Send a system towards time t: it moves until its next step would pass it, and has arrived. One that arrives at t_end has
 * survived. Not between begin and end, like those below. lose_aim: they must all be sent anew. */
void shoal_plan_aim(shoal_plan *plan, long system, double t);
void shoal_plan_lose_aim(shoal_plan *plan);
bool shoal_plan_arrived(const shoal_plan *plan, long system);
/* The state of a system that is asked for is that at t, within its next step (NaN: where it is; one that has ended: as it
 * ended); false if it is not, and the error. */
bool shoal_plan_stand_at(shoal_plan *plan, long system, double t);
shoal_status shoal_plan_cannot_stand(const shoal_plan *plan, long system, double t);
/* Ask for the states of the listed systems: begin has them copied to args.snapshot, and what the monitors saw if some have ended.
 * list stays until then. */
void shoal_plan_ask(shoal_plan *plan, const int *list, long n_list, bool ended);
/* The states asked for are made, and with `move` the next slice of those that have not arrived begins: their records are nobody's
 * until it ends. answered: the states are there. */
shoal_status shoal_plan_begin(shoal_plan *plan, bool move);
shoal_status shoal_plan_answered(shoal_plan *plan);
/* The slice ends: records are up to date, systems that have ended leave the list. *n_moved: how many have moved. */
shoal_status shoal_plan_end(shoal_plan *plan, long *n_moved);
/* Count what is left of the running systems. */
void shoal_plan_count(shoal_plan *plan);
/* All three for one time t of all systems. */
shoal_status shoal_plan_slice(shoal_plan *plan, double t, long *n_moved);

/* events.c: act on what a slice has marked or recorded in those systems, log it, and let them go on. SHOAL_ARRAY_SYSTEMS is on the host. */
shoal_status shoal_plan_act(shoal_plan *plan, const int *list, long n_list);

/* Fill args.snapshot with the states at exactly t (or, for systems that have ended, at their last step) of the listed systems:
 * barycentric. t = NaN: where each of them is now. */
shoal_status shoal_plan_snapshot(shoal_plan *plan, double t, const int *list, long n_list);

/* Save and restore everything a restart needs: same bytes, same bits. shoal_plan_state_size in bytes. */
size_t shoal_plan_state_size(const shoal_plan *plan);
shoal_status shoal_plan_state_save(shoal_plan *plan, void *state);
shoal_status shoal_plan_state_load(shoal_plan *plan, const void *state);

/* ---- result.c: what a run leaves, in memory and in the user's units -------------------------------------------------- */

typedef struct shoal_column {
    char name[SHOAL_COLUMN_SIZE];
    char unit[32];
    char doc[160];
    double *value; /* [n_systems], NaN = empty */
} shoal_column;

typedef struct shoal_axis {
    char column[SHOAL_COLUMN_SIZE]; /* the swept column */
    long count;
    bool logarithmic;
} shoal_axis;

#define SHOAL_MAX_AXES 8

/* Everything of a result file. State arrays: [system][body][7] m x y z vx vy vz, in the inertial frame of the input. */
typedef struct shoal_result {
    char *config_text;        /* as it was run, overrides applied */
    char *plan_line;
    char version[32];
    char epoch[64];           /* what time zero is, as the config says */
    shoal_units units;
    int64_t seed;
    long n_systems;
    int n_bodies;
    char (*body_name)[SHOAL_NAME_SIZE]; /* [n_bodies] */
    /* a grid sweep: system = sum over axes, the last axis fastest; n_axes = 0: no grid */
    int n_axes;
    shoal_axis axes[SHOAL_MAX_AXES];
    /* per system */
    int64_t *id;
    int *outcome;
    int *n_live;
    int *n_final;             /* bodies left at the end */
    int *body_a, *body_b;
    double *t_stop;
    double *dE_final;
    double *n_steps;
    double *t_initial, *t_final;
    double *initial, *final;  /* [n_systems][n_bodies][7]; final is NaN until the system has ended */
    int n_columns;
    shoal_column *columns;    /* swept parameters first, then what monitors computed */
    int n_swept;
    /* snapshots: the first of all systems, by system, then the second ones; while a run goes on in the order of commit */
    long n_snapshots;         /* rows */
    int64_t *snapshot_system; /* [n_snapshots] index of the system */
    double *snapshot_time;    /* [n_snapshots] */
    double *snapshot;         /* [n_snapshots][n_bodies][7] */
    /* events, by system and time; while a run goes on in the order of commit */
    long n_events;            /* rows */
    int64_t *event_system;    /* [n_events] index of the system */
    double *event_time;
    int *event;               /* enum shoal_outcome */
    int *event_a, *event_b;
    int *event_ended;         /* 1: the system ended with it */
    double *event_m_a, *event_m_b, *event_distance, *event_speed, *event_dE;
    bool complete;            /* false: read from the journal of a run that did not end */
} shoal_result;

#define SHOAL_STATE 7 /* m x y z vx vy vz */

/* Allocate per-system arrays (outcome running, states NaN) and n_columns empty columns. */
shoal_status shoal_result_create(shoal_context *context, long n_systems, int n_bodies, int n_columns, shoal_result **result);
void shoal_result_destroy(shoal_result **result);
/* The name of what differs in a bit between a row of one result and a row of another (its initial state, its end, a column), NULL
 * if they are the same system. */
const char *shoal_result_difference(const shoal_result *a, long row_a, const shoal_result *b, long row_b);
/* The bodies of one state of a system that are still there, in inner units: fills bodies and, unless it is NULL, which (their
 * indices); returns how many there are. */
int shoal_result_bodies(const shoal_result *result, long system, const double *state, shoal_body *bodies, int *which);
/* Index of a column, -1 if there is none. */
int shoal_result_column(const shoal_result *result, const char *name);
/* Append an event, its numbers in the user's units. */
shoal_status shoal_result_append_event(shoal_context *context, shoal_result *result, const shoal_event *event);
/* Put the events in order: by system, those of a system as they came. */
shoal_status shoal_result_sort_events(shoal_context *context, shoal_result *result);
/* Put the snapshots in order: the first ones of all systems, by system, then the second ones. */
shoal_status shoal_result_sort_snapshots(shoal_context *context, shoal_result *result);
/* Append n snapshot rows (grows the arrays). */
shoal_status shoal_result_append(shoal_context *context, shoal_result *result, long n, const int64_t *system,
                                 const double *time, const double *state);

/* ---- merge.c: shards ------------------------------------------------------------------------------------------------- */

/* A result's config without the line that says which shard it is of the whole study, and which (i = 0: none) of how many it is;
 * malloc'd, NULL when memory is out. */
char *shoal_config_without_shard(const char *text, long *shard, long *n_shards);
/* The result of the whole study from those of its shards, n_given >= 1 in any order; names: of their files, for messages. Refused
 * if they are not of one study, if one is there twice or, unless partial is set, if one is missing or has not ended. */
shoal_status shoal_result_merge(shoal_context *context, int n_given, const char *const *names, shoal_result *const *results,
                                bool partial, shoal_result **merged);

/* ---- journal.c: append-only, checksummed, beside the result while a run goes on --------------------------------------- */

typedef struct shoal_journal shoal_journal;

/* Begin a journal at path (refused if it exists): writes the header records of the result (everything that is known before
 * the first step: config, plan, units, names, axes, swept columns, initial states). */
shoal_status shoal_journal_create(shoal_context *context, const char *path, const shoal_result *result, shoal_journal **journal);
/* Open an existing journal to go on from its last checkpoint (or from its header if it has none): what follows is cut off, for
 * a restart makes it again. Read it first, with state != NULL. Refused while another process has it open for writing. */
shoal_status shoal_journal_open(shoal_context *context, const char *path, shoal_journal **journal);
void shoal_journal_close(shoal_journal **journal);
/* Append the rows of systems that have ended (index list into the result). */
shoal_status shoal_journal_systems(shoal_journal *journal, const shoal_result *result, const int *list, long n_list);
/* Append the snapshot rows first..n_snapshots-1 of the result. */
shoal_status shoal_journal_snapshots(shoal_journal *journal, const shoal_result *result, long first);
/* The same for event rows. */
shoal_status shoal_journal_events(shoal_journal *journal, const shoal_result *result, long first);
/* Append a checkpoint: an opaque state from which the run can go on. */
shoal_status shoal_journal_checkpoint(shoal_journal *journal, const void *state, size_t size);
/* Flush to the disk: what was appended so far survives a kill; in the background: as soon as may be. */
shoal_status shoal_journal_commit(shoal_journal *journal);
/* From now on a thread writes what is appended; its errors are those of the next call, and of `finish`, which waits for it. */
shoal_status shoal_journal_background(shoal_journal *journal);
shoal_status shoal_journal_finish(shoal_journal *journal);
/* Read all committed records. *state: the last checkpoint (malloc'd, NULL if none); results appended after the last checkpoint
 * are dropped when state is asked for (state != NULL), kept when not, so that a restart from the checkpoint repeats nothing. */
shoal_status shoal_journal_read(shoal_context *context, const char *path, shoal_result **result, void **state, size_t *size);

/* ---- store.c: the HDF5 result file ------------------------------------------------------------------------------------ */

/* Write to a temporary name beside path and rename: the file is complete or not there. */
shoal_status shoal_store_write(shoal_context *context, const char *path, const shoal_result *result);
/* Read a result file. If there is none but its journal (path + ".journal") is, read that. */
shoal_status shoal_store_read(shoal_context *context, const char *path, shoal_result **result);
/* True unless a file is there that is no HDF5 file. */
bool shoal_store_is(const char *path);
/* Refuse to replace a file that is neither empty nor HDF5: somebody's study or table, named by mistake. */
shoal_status shoal_store_spare(shoal_context *context, const char *path);
/* Name of the journal beside a result file; writes at most size bytes. */
void shoal_store_journal_path(const char *path, char *journal, size_t size);
/* HDF5 says nothing from now on, not even at exit, where it complains of a damaged file that it could not close. */
void shoal_store_quiet(void);

/* ---- query.c -------------------------------------------------------------------------------------------------------- */

/* The systems that a query is of: their ids are first..last, both included (last = LONG_MAX: to the end), and what `where` says
 * is true of their row of the systems table: "COLUMN OP VALUE && ...", OP one of < <= > >= == !=, VALUE a number, an outcome or
 * a body; NULL = all. */
typedef struct shoal_selection {
    long first, last;
    const char *where;
} shoal_selection;
/* Which systems those are: chosen [n_systems]. Refused for what `where` does not mean. */
shoal_status shoal_query_chosen(shoal_context *context, const shoal_result *result, const shoal_selection *of, bool *chosen);

/* CSV of states: system,body,name,time,m,x,y,z,vx,vy,vz; of orbits: system,body,name,time,m,a,e,inc,Omega,omega,f,M,P, of bodies
 * but the central one, angles in degrees. 17 significant digits; NaN is an empty field. The column `system` is the id. */
typedef enum shoal_query_state {
    SHOAL_QUERY_INITIAL,
    SHOAL_QUERY_FINAL,
    SHOAL_QUERY_TIME, /* the snapshots at one time */
    SHOAL_QUERY_TIMES /* all snapshots from..to */
} shoal_query_state;
typedef struct shoal_query {
    shoal_query_state which;
    double from, to;   /* user's units; SHOAL_QUERY_TIME: from */
    bool orbits;
    shoal_frame frame; /* of orbits */
} shoal_query;
shoal_status shoal_query_states(shoal_context *context, const shoal_result *result, const shoal_selection *of,
                                const shoal_query *query, FILE *out);
/* The row of each system's snapshot nearest to the time, -1 for a system that has none near enough; refused if none has. */
shoal_status shoal_query_snapshots(shoal_context *context, const shoal_result *result, const shoal_selection *of, double time,
                                   long *row);
/* CSV of the systems table: system,outcome,t_stop,body_a,body_b,dE_final,steps, then the columns. */
shoal_status shoal_query_systems(shoal_context *context, const shoal_result *result, const shoal_selection *of, FILE *out);

/* CSV of the events: system,time,event,body_a,body_b,m_a,m_b,distance,speed,dE,ended. only: an outcome, NULL = all. */
shoal_status shoal_query_events(shoal_context *context, const shoal_result *result, const shoal_selection *of, const char *only,
                                FILE *out);

/* ---- verify.c ---------------------------------------------------------------------------------------------------- */

enum { SHOAL_VERIFY_POSITION, SHOAL_VERIFY_VELOCITY, SHOAL_VERIFY_TIME, SHOAL_VERIFY_MASS, SHOAL_VERIFY_QUANTITIES };

typedef struct shoal_verify_options {
    double threshold[SHOAL_VERIFY_QUANTITIES];
    bool absolute; /* thresholds are in the units of the first result, not relative */
} shoal_verify_options;

/* Compare two results and print a table of what differs most; *same: nothing passes its threshold. */
shoal_status shoal_verify(shoal_context *context, const shoal_result *a, const shoal_result *b,
                          const shoal_verify_options *options, FILE *out, bool *same);
/* A result file or states as CSV, whose outcomes and initial times are then unknown (-1, NaN), and its units if it does not say
 * them (length = 0). */
shoal_status shoal_verify_read(shoal_context *context, const char *path, shoal_result **result);

/* ---- plot.c, plot_kinds.c ---------------------------------------------------------------------------------------- */

typedef struct shoal_plot_options {
    const char *kind;   /* one of shoal_plot_kinds, NULL: what suits the result */
    const char *column; /* NULL: the first monitor column that is a chaos indicator, else t_stop */
    int64_t system;     /* id of the system to draw, -1 = the first, or all */
    const char *picture; /* file to write, .pdf or PNG, NULL = none */
    bool script;        /* print the gnuplot script instead */
    bool terminal;      /* draw a preview in text */
    bool colour;        /* ANSI colours */
    int width;          /* of the terminal preview in characters, 0 = 80 */
    bool linear;        /* plot the value itself, not its log10 */
    bool logarithmic;   /* plot log10 of any value */
} shoal_plot_options;
/* A kind of picture, as `shoal plot --kind` knows it. */
typedef struct shoal_plot_kind {
    const char *name, *doc;
    shoal_status (*write)(shoal_context *, const shoal_result *, const shoal_plot_options *, FILE *script); /* NULL: the map */
} shoal_plot_kind;
extern const shoal_plot_kind shoal_plot_kinds[]; /* ends in {0} */
/* The kind of that name, with NULL the one that suits the result; NULL and a message if there is none. */
const shoal_plot_kind *shoal_plot_find(shoal_context *context, const shoal_result *result, const char *name);
/* Draw options->kind. */
shoal_status shoal_plot(shoal_context *context, const shoal_result *result, const shoal_plot_options *options, FILE *out);
/* Map of a column over the first two axes of a grid sweep; systems that ended early in the colour of their outcome. */
shoal_status shoal_plot_map(shoal_context *context, const shoal_result *result, const shoal_plot_options *options, FILE *out);
/* NULL if pictures can be made here (gnuplot), else a sentence. */
const char *shoal_plot_missing(void);

/* ---- study.c: a checked config, its systems ------------------------------------------------------------------------------ */

/* Count n more systems that are impossible, the first of them `id`, for this reason. */
void shoal_study_invalid(shoal_study *study, long n, long id, const char *why);
/* Whether it has all systems of its config, in which at least one has to be possible. */
bool shoal_study_is_whole(const shoal_study *study);

/* Characters of a file's name without its extension. */
int shoal_name_stem(const char *file);

/* A monitor or a force of the config. */
typedef struct shoal_study_plug {
    int index; /* in shoal_monitors, shoal_forces */
    double parameter[SHOAL_MAX_PARAMETERS]; /* inner units */
} shoal_study_plug;

struct shoal_study {
    shoal_context *context;
    char *path;
    char *config_text;       /* the file with the overrides applied, as libconfig writes it */
    shoal_units units;
    double angle;            /* the user's unit of angle, in radians */
    const char *angle_name;
    char epoch[64];
    /* integrator */
    const shoal_propagator *propagator;
    double parameter[SHOAL_MAX_PARAMETERS]; /* inner units */
    double dt, steps_per_orbit;             /* one of them > 0; both 0: an adaptive propagator finds its first step */
    double dt_min, dt_max, max_steps;
    /* gravitation */
    int form;                /* -1 = auto */
    /* monitors, in the order of the list */
    shoal_study_plug monitors[SHOAL_MAX_MONITORS];
    int n_monitors;
    /* extra forces, in the order of the config */
    shoal_study_plug forces[SHOAL_MAX_FORCES];
    int n_forces;
    /* run */
    double t_start, t_end;   /* inner units */
    double orbits;           /* if not 0: instead of t_end; output times are counted in each system's shortest period, too */
    long n_unresolved;       /* systems with an initial orbit whose pericentre the steps do not resolve */
    long n_invalid, first_invalid; /* systems that are impossible, and the id of the first of them */
    char why_invalid[200];   /* it is */
    long first, stride;      /* of the config's systems it makes each stride-th from `first` on: run.shard */
    double system;           /* run.system: the id of the only one, NaN = all */
    char engine[16], work_model[16], tune[8];
    int gpu_block, gpu_registers, gpu_bodies;
    int threads, lanes;
    long slice_steps;        /* 0 = auto; results do not depend on it */
    int64_t seed;
    double checkpoint_s;     /* least wall time between checkpoints */
    /* output */
    char *output;            /* file */
    double interval;         /* 0 = none; inner units or orbits */
    double *times;           /* [n_times] ascending along the direction of integration, likewise */
    int n_times;
    struct shoal_big_study *big; /* NULL = an ensemble; else one big system, and only what comes before this is filled in */
    /* the systems */
    shoal_ensemble *ensemble;
    struct shoal_table *given; /* borrowed, NULL = none: is filled with the systems that are possible, before the
                                * barycentre is split off, in inner units */
    char (*body_name)[SHOAL_NAME_SIZE];
    int n_axes;
    shoal_axis axes[SHOAL_MAX_AXES];
    int n_swept;
    shoal_column *swept;     /* [n_swept] values in the user's units */
};

/*
 * shoal_study_load, and more:
 *   text   in      stands for the file at path, which need not be there; NULL: the file
 *   given  in/out  is filled with the systems; the study borrows it, as study->given; NULL = none
 */
shoal_status shoal_study_open(shoal_context *context, const char *path, const char *text, int n_overrides,
                              const char *const *overrides, struct shoal_table *given, shoal_study **study);
/* run.c: the result of a study before its first step: final states are the initial ones. */
shoal_status shoal_study_initial(shoal_study *study, shoal_result **result);
/* Measure what is fastest for it on a GPU, and keep it: rows[*n_rows], room for SHOAL_MOST_TUNED; line: the plan's. The study is used up. */
shoal_status shoal_study_tune(shoal_study *study, shoal_tuned *rows, int *n_rows, char *line, size_t line_size);

/* ---- help.c: what `shoal list` and `shoal explain NAME` print ------------------------------------ */

/* Every plug, a line each. */
void shoal_help_list(const shoal_context *context, FILE *out);
/* All of them and of the config keys, as Markdown (docs/reference.md). */
shoal_status shoal_help_reference(shoal_context *context, FILE *out);
/* All about a plug or a config key; refused, with the nearest known name, if there is none of that name. */
shoal_status shoal_help_explain(shoal_context *context, const char *name, FILE *out);

#endif
