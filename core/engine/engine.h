/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * engine.h: who runs the kernels: the CPU, a GPU.
 */
#ifndef SHOAL_ENGINE_H
#define SHOAL_ENGINE_H

#include "core/plug/plugs.h"

/* ---- engine_cpu.c, engine_cuda.c --------------------------------------------------------------------------------- */

typedef enum shoal_kernel_entry {
    SHOAL_PREPARE,
    SHOAL_INTEGRATE,
    SHOAL_SNAPSHOT,
    SHOAL_BARE,
    SHOAL_SUBSTEPS,
    SHOAL_GATHER,
    SHOAL_CARRY
} shoal_kernel_entry;

typedef struct shoal_engine shoal_engine;

/* The systems that an engine runs: whole chunks of an ensemble, so that engines of several ranges share its arrays. */
typedef struct shoal_engine_range {
    long first_chunk;
    long n_systems; /* from the first of that chunk on; the last chunk may have fewer than SHOAL_CHUNK */
    int device;     /* of several GPUs, as the driver counts them */
} shoal_engine_range;

/*
 * An engine holds the five arrays of shoal_kernel_args where its kernels can reach them. Host copies are those that the
 * plan owns (args.bodies, ... as host pointers); the engine moves them.
 */
/* At each stop aim() says where some systems go next, and whether any has to: then they integrate, and it is asked
 * again. When they have arrived the states that their records ask for (SHOAL_SYS_PARTIAL) are made, and take() has
 * them. Called by several threads, for different systems. */
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
    /* Compile or choose kernels, allocate device memory for the range. args: pointers to the host arrays of the whole
     * ensemble, parameters filled in; they stay valid and in place as long as the engine. Index lists hold the
     * ensemble's numbers of systems, all of the range. line: the engine's part of the plan line. */
    shoal_status (*create)(shoal_context *context, const shoal_kernel_choice *choice, const shoal_kernel_args *args,
                           shoal_engine_range range, shoal_engine **engine, char *line, size_t line_size);
    void (*destroy)(shoal_engine **engine);
    /* Copy the range's part of arrays between host and device, bits of SHOAL_ARRAY_*, after all launches so far. */
    shoal_status (*upload)(shoal_engine *engine, int arrays);
    shoal_status (*download)(shoal_engine *engine, int arrays);
    /* Upload without waiting for it: the host leaves the arrays as they are until the next wait, download or
     * fetched. */
    shoal_status (*send)(shoal_engine *engine, int arrays);
    /* Run one kernel over an index list (host pointer, copied), after all launches so far. It may still be running
     * on return; what it writes is the host's after `wait` or `download`, and its errors are told there.
     * slice_steps: for SHOAL_INTEGRATE. */
    shoal_status (*launch)(shoal_engine *engine, shoal_kernel_entry entry, const int *list, long n_list,
                           double slice_steps);
    /* Copy the same to the host as the launches so far leave them, beside the launches to come, which must not
     * change what is read of them. They are there after fetched(). */
    shoal_status (*fetch)(shoal_engine *engine, int arrays);
    shoal_status (*fetched)(shoal_engine *engine);
    /* Each group of systems that go step by step together by itself, through all of a visitor's stops. NULL: it
     * cannot. */
    void (*visit)(shoal_engine *engine, const int *list, long n_list, const shoal_visitor *visitor);
    /* Until all launches are done. seconds: what the last SHOAL_INTEGRATE took, may be NULL. */
    shoal_status (*wait)(shoal_engine *engine, double *seconds);
    /* How many systems it needs to keep all of its lanes busy. group: how many of them go step by step together. */
    long (*width)(const shoal_engine *engine, int *group);
    /* Of a GPU alone, for tune.c: its name; the file of the kernel that integrates, "" = there is no cache; compile
     * some choices ahead. */
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
/* Systems of a CPU engine, at most as many as go step by step together (width), go on for some steps in the calling
 * thread. */
void shoal_engine_cpu_group(const shoal_engine *engine, const int *list, long n_list, double slice_steps);

/* Bytes of shared memory that a block of the GPU may ask for; 0: it does not say. */
size_t shoal_engine_cuda_shared(void);

/* One line about an engine's devices for `shoal info`: CPU flags and cores, GPU names and memory, kernel cache. */
void shoal_engine_cpu_info(FILE *out);
void shoal_engine_cuda_info(FILE *out);

/* The instruction set that kernels are picked for: "v4", "v3", "neon", "any" (engine_cpu.c). */
const char *shoal_cpu_arch(void);

/* ---- hosted.c: systems that go on beside a GPU ------------------------------------------------------------------- */

typedef struct shoal_hosted shoal_hosted;

/* NULL: none, the GPU makes all steps. */
shoal_hosted *shoal_hosted_create(shoal_context *context, const shoal_kernel_choice *choice,
                                  const shoal_kernel_args *args, shoal_engine_range range);
void shoal_hosted_destroy(shoal_hosted **hosted);
int shoal_hosted_threads(const shoal_hosted *hosted);
/* The table through which states go, [rows][room], a column a system, and the numbers from 1 of those whose columns
 * came while a slice went on, [room]: page-locked, seen by both. They must stay until the destruction. */
int shoal_hosted_rows(const shoal_hosted *hosted);
int shoal_hosted_room(const shoal_hosted *hosted);
void shoal_hosted_table(shoal_hosted *hosted, double *table, int *arrived);
/* Of the systems that go on, the GPU's and after them the host's: to sorted. How many are the host's, whose columns
 * are the first. */
int shoal_hosted_split(shoal_hosted *hosted, const int *list, long n_list, int *sorted);
/* The host's systems go on, and those that come, until the GPU is no longer busy; waits: until they have arrived, for
 * half a second at most. The seconds that it took. */
double shoal_hosted_advance(shoal_hosted *hosted, bool (*busy)(shoal_engine *), shoal_engine *gpu, bool waits);
/* The host's systems, in the order of their columns. */
const int *shoal_hosted_list(const shoal_hosted *hosted, int *n_list);

/* ---- work.c: work models of a GPU -------------------------------------------------------------------------------- */

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
/* Threads of a block: `block`, a multiple of 32, where several teams share a warp, else the team's. Systems of a
 * block; bytes of shared memory that it needs. */
int shoal_team_block(const shoal_kernel_choice *choice, int block);
int shoal_team_systems(const shoal_kernel_choice *choice, int block);
/* Whether a thread has a whole system in the kernels of these entries, whatever the model: they are rare, or what
 * they do is not shared. */
bool shoal_team_is_one(const shoal_kernel_choice *choice, int entries);
int shoal_team_doubles(const shoal_kernel_choice *choice); /* of these, a team's */
size_t shoal_team_shared(const shoal_kernel_choice *choice, int block);
/* Whether a block can be as large as the model makes it. */
bool shoal_team_fits(const shoal_kernel_choice *choice);

/* ---- jit.c: kernels for a GPU architecture, by NVRTC; needs no GPU ----------------------------------------------- */

enum {
    SHOAL_KERNEL_ENTRIES = SHOAL_CARRY + 1,
    SHOAL_ONCE_ENTRIES = 1 << SHOAL_PREPARE | 1 << SHOAL_SNAPSHOT, /* run once in a while: compiled small */
    SHOAL_ASIDE_ENTRIES = 1 << SHOAL_SUBSTEPS | 1 << SHOAL_GATHER | 1 << SHOAL_CARRY
};

/* What a thread of a kernel uses. */
typedef struct shoal_kernel_usage {
    int registers;
    int stack_bytes;
    int spill_bytes; /* stores and loads together */
} shoal_kernel_usage;

/* A compiled set of kernels. */
typedef struct shoal_cubin {
    void *image; /* for cuModuleLoadData */
    size_t size;
    shoal_kernel_usage usage[SHOAL_KERNEL_ENTRIES];
    int block;      /* threads a block that it was compiled for */
    bool cached;    /* it came from the cache */
    double seconds; /* it took */
    char file[600]; /* its place in the cache, "" = there is no cache */
    char log[4096]; /* what the compiler said beside that, "" = nothing */
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
shoal_status shoal_jit_text(shoal_context *context, const char *name, const char *const *constants, int arch,
                            int driver_version, shoal_cubin *cubin);

/* The name of a kernel in the compiled module. */
const char *shoal_kernel_entry_name(shoal_kernel_entry entry);

/* The compiler and the cache for `shoal info`, a line each. */
void shoal_jit_info(FILE *out);

#endif
