/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * engine.h: the engines. An engine runs the kernels, on CPU threads or on a GPU.
 */
#ifndef SHOAL_ENGINE_H
#define SHOAL_ENGINE_H

#include "core/plug/plugs.h"
#include "core/walker/walker.h"

/* ---- engine_cpu.c, engine_cuda.c, devices.c ---------------------------------------------------------------------- */

typedef enum shoal_kernel_entry {
    SHOAL_PREPARE,
    SHOAL_INTEGRATE,
    SHOAL_SNAPSHOT,
    SHOAL_BARE,
    SHOAL_FINISH,
    SHOAL_OBSERVE,
    SHOAL_WALKER_BEGIN,
    SHOAL_WALKER_END,
    SHOAL_SUBSTEPS,
    SHOAL_GATHER,
    SHOAL_CARRY
} shoal_kernel_entry;

typedef struct shoal_engine shoal_engine;

#define SHOAL_ALL_STEPS 1e15 /* slice_steps of a launch that ends when its systems are there */

/* GPUs, as the driver counts them. */
enum { SHOAL_MOST_DEVICES = 64 };
typedef struct shoal_devices {
    int n; /* 0 stands for 1 */
    int which[SHOAL_MOST_DEVICES];
} shoal_devices;

/* The systems that an engine runs: whole chunks of an ensemble, so that engines of several ranges share its arrays. */
typedef struct shoal_engine_range {
    long first_chunk;
    long n_systems;        /* from the first of that chunk on; the last chunk may have fewer than SHOAL_CHUNK */
    shoal_devices devices; /* that share them, where they are GPUs */
} shoal_engine_range;

/* What an engine can do. It holds the five arrays of shoal_kernel_args where its kernels can reach them. The plan owns
 * the host's copies (args.bodies, ... as host pointers); the engine copies between the two. */
typedef struct shoal_engine_type {
    const char *name; /* "cpu", "cuda" */
    /* NULL if this machine has the engine, else a sentence that says what is missing. */
    const char *(*missing)(void);
    /* Compile or choose kernels, allocate device memory for the range.
     *   args  host arrays of the whole ensemble, which stay in place as long as the engine; parameters are filled in
     *   line  receives the engine's part of the plan line
     * The lists of systems that the other functions take hold indices in the ensemble, all within the range. */
    shoal_status (*create)(shoal_context *context, const shoal_kernel_choice *choice, const shoal_kernel_args *args,
                           shoal_engine_range range, shoal_engine **engine, char *line, size_t line_size);
    void (*destroy)(shoal_engine **engine);
    /* Copy the range's part of arrays between host and device, bits of SHOAL_ARRAY_*, after all launches so far. */
    shoal_status (*upload)(shoal_engine *engine, int arrays);
    shoal_status (*download)(shoal_engine *engine, int arrays);
    /* Upload without waiting for it: the host leaves the arrays as they are until the next wait, download or
     * fetched. */
    shoal_status (*send)(shoal_engine *engine, int arrays);
    /* Start one kernel over a list of systems (host pointer, copied), after all launches so far. It may still run on
     * return: its results and errors reach the host with `wait` or `download`. slice_steps: for SHOAL_INTEGRATE. */
    shoal_status (*launch)(shoal_engine *engine, shoal_kernel_entry entry, const int *list, long n_list,
                           double slice_steps);
    /* Copy arrays to the host, as the launches so far leave them, while later launches run; these must not change
     * what is copied. The copies are complete after fetched(). */
    shoal_status (*fetch)(shoal_engine *engine, int arrays);
    shoal_status (*fetched)(shoal_engine *engine);
    /* Take the systems of a list through a list of times, each on its own, and wait for what is seen of them. sights:
     * host arrays of the whole ensemble; steps: of a system from the first time to the last, roughly. No monitor may
     * mark or log, and the propagator sets no system aside on this engine. */
    shoal_status (*observe)(shoal_engine *engine, const int *list, long n_list, const shoal_sights *sights,
                            double steps);
    /* Keep what walks have in common: its arrays but theta and ln L, host arrays that stay until the next call. Every
     * walker is a system of the ensemble. The conditions are those of observe. */
    shoal_status (*walk_with)(shoal_engine *engine, const shoal_walk *walk);
    /* Take n walkers, the systems of a list of n numbers in a row, to ln L, and to what the model says of the data,
     * unless `predicted` is NULL. theta: [..][n_parameters], lnl: [..], predicted: [..][n_data], from system 0 on. To
     * a GPU, theta and lnl may be in the memory of any. */
    shoal_status (*walk)(shoal_engine *engine, const int *list, long n, const double *theta, double *lnl,
                         double *predicted);
    /* Between slices: divide the systems anew among several GPUs, if the next SHOAL_INTEGRATE over a list would not
     * take them all equally long. expected: [systems of the ensemble] steps of each to its goal. The host's records are
     * what the engine has. NULL of an engine that has no devices. */
    shoal_status (*balance)(shoal_engine *engine, const int *list, long n_list, const double *expected,
                            double slice_steps);
    /* Wait until all launches are done. seconds: what the last SHOAL_INTEGRATE took; may be NULL. */
    shoal_status (*wait)(shoal_engine *engine, double *seconds);
    /* How many systems keep all of its lanes busy. group: how many systems step together. */
    long (*width)(const shoal_engine *engine, int *group);
    /* Only for a GPU, used by tune.c: its name; the cached file of the kernel that integrates, "" = there is no
     * cache; compile some choices ahead. */
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

/* shoal_engine_cuda has one or several GPUs, each of which is a shoal_engine_gpu that can hold all systems of its
 * range. */
extern const shoal_engine_type shoal_engine_cpu, shoal_engine_cuda, shoal_engine_gpu;
/* Keep a device open beside what engines do. */
shoal_status shoal_engine_gpu_open(shoal_context *context, int device);
void shoal_engine_gpu_close(int device);
/* Open a GPU beside what the caller does, which takes tenths of a second; it stays open. The first call counts. The
 * process must not end before it is open. */
void shoal_engine_gpu_open_beforehand(int device);
void shoal_engine_gpu_await(void);
/* Wait for what a caller has queued in a stream (CUstream) of a device, NULL = the default one. */
shoal_status shoal_engine_gpu_finish(shoal_context *context, int device, void *stream);
/* The chunks of the range that a GPU has; only these are copied. */
void shoal_engine_gpu_hold(shoal_engine *gpu, long first, long n);
/* Chunks that have moved from one GPU to another so far; systems that CPU threads have led for a slice. */
long shoal_engine_cuda_moved(const shoal_engine *engine);
long shoal_engine_cuda_led(const shoal_engine *engine);
long shoal_engine_gpu_led(const shoal_engine *gpu);
/* Find GPUs: all that the driver shows, or with `alike` those that are as the first one. */
shoal_devices shoal_engine_cuda_devices(bool alike);
/* Integrate at most one group of systems (see width) of a CPU engine for some steps, in the calling thread. */
void shoal_engine_cpu_group(const shoal_engine *engine, const int *list, long n_list, double slice_steps);

/* Bytes of shared memory that a block of a GPU may ask for; 0: it does not say. */
size_t shoal_engine_cuda_shared(int device);

/* One line about an engine's devices for `shoal info`: CPU flags and cores, GPU names and memory, kernel cache. */
void shoal_engine_cpu_info(FILE *out);
void shoal_engine_cuda_info(FILE *out);

/* The instruction set that kernels are picked for: "v4", "v3", "neon", "any" (engine_cpu.c). */
const char *shoal_cpu_arch(void);

/* ---- hosted.c: systems that CPU threads integrate beside the GPU ------------------------------------------------- */

/* Whether CPU threads take something from a GPU: SHOAL_HOSTED in the environment, for measurements and tests. */
enum { SHOAL_HOSTED_NEVER, SHOAL_HOSTED_WHERE_IT_PAYS, SHOAL_HOSTED_ALWAYS };
int shoal_hosted_eagerness(void);

typedef struct shoal_hosted shoal_hosted;

/* NULL: the host takes no systems, and the GPU makes all steps. */
shoal_hosted *shoal_hosted_create(shoal_context *context, const shoal_kernel_choice *choice,
                                  const shoal_kernel_args *args, shoal_engine_range range);
void shoal_hosted_destroy(shoal_hosted **hosted);
int shoal_hosted_threads(const shoal_hosted *hosted);
/* Host and GPU exchange states through two arrays in page-locked memory, which must stay until the destruction:
 *   table    [rows][room]  the state of one system in each column
 *   arrived  [room]        the system, counted from 1, whose column the GPU has filled in this slice; 0 = none yet */
int shoal_hosted_rows(const shoal_hosted *hosted);
int shoal_hosted_room(const shoal_hosted *hosted);
/* Systems that it has taken for a slice because they had the most steps left, so far. */
long shoal_hosted_led(const shoal_hosted *hosted);
void shoal_hosted_table(shoal_hosted *hosted, double *table, int *arrived);
/* Divide the systems of a slice: sorted receives the GPU's, then the host's, which use the first columns. Returns the
 * number of the host's. spare: the GPU would not be sooner done without those that the host can take. slice_steps: that
 * the GPU makes of a system. */
int shoal_hosted_split(shoal_hosted *hosted, const int *list, long n_list, bool spare, double slice_steps, int *sorted);
/* Integrate the host's systems, and those that arrive, until the GPU is no longer busy; with `waits` until they have
 * reached their targets, for half a second at most. Returns the seconds that it took. */
double shoal_hosted_advance(shoal_hosted *hosted, bool (*busy)(shoal_engine *), shoal_engine *gpu, bool waits);
/* The host's systems, in the order of their columns. */
const int *shoal_hosted_list(const shoal_hosted *hosted, int *n_list);

/* ---- work.c: work models of a GPU -------------------------------------------------------------------------------- */

#define SHOAL_MODEL_CHOICES "auto|system|body|component|pair"
const char *shoal_model_name(const shoal_kernel_choice *choice);
/* The number that an environment variable gives, or `value` if it gives none. */
int shoal_environment_number(const char *name, int value, int least, int most);
/* Set the model of that name; false if there is none, or it is auto. */
bool shoal_model_choose(shoal_kernel_choice *choice, const char *name);
/* Bodies of a thread of the model `body`: as many as the tuning asks for, or fewer, so that all threads have equally
 * many. */
int shoal_team_each(const shoal_kernel_choice *choice);
/* Threads that advance a system: 1, or a team. */
int shoal_team_threads(const shoal_kernel_choice *choice);
/* Threads of a block: `block`, a multiple of 32, where several teams share a warp, else the team's. */
int shoal_team_block(const shoal_kernel_choice *choice, int block);
/* Systems of a block. */
int shoal_team_systems(const shoal_kernel_choice *choice, int block);
/* Whether a thread has a whole system in the kernels of these entries, whatever the model: these kernels are rare, or
 * their work is not shared. */
bool shoal_team_is_one(const shoal_kernel_choice *choice, int entries);
/* Doubles of shared memory that a team needs; bytes that a block needs. */
int shoal_team_doubles(const shoal_kernel_choice *choice);
size_t shoal_team_shared(const shoal_kernel_choice *choice, int block);
/* Whether a block can be as large as the model makes it. */
bool shoal_team_fits(const shoal_kernel_choice *choice);

/* ---- jit.c: kernels for a GPU architecture, by NVRTC; needs no GPU ----------------------------------------------- */

enum {
    SHOAL_KERNEL_ENTRIES = SHOAL_CARRY + 1,
    /* run once in a while: compiled small */
    SHOAL_ONCE_ENTRIES = 1 << SHOAL_PREPARE | 1 << SHOAL_SNAPSHOT | 1 << SHOAL_CARRY,
    SHOAL_WALKER_ENTRIES = 1 << SHOAL_WALKER_BEGIN | 1 << SHOAL_WALKER_END,
    SHOAL_ASIDE_ENTRIES = 1 << SHOAL_SUBSTEPS | 1 << SHOAL_GATHER
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
    double seconds; /* that the compilation took */
    char file[600]; /* its place in the cache, "" = there is no cache */
    char log[4096]; /* messages of the compiler, "" = none */
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
/* Compile another kernel text: `name` is its path in the source tree; constants are "NAME=VALUE", NULL after the
 * last. */
shoal_status shoal_jit_text(shoal_context *context, const char *name, const char *const *constants, int arch,
                            int driver_version, shoal_cubin *cubin);

/* The name of a kernel in the compiled module. */
const char *shoal_kernel_entry_name(shoal_kernel_entry entry);

/* The compiler and the cache for `shoal info`, a line each. */
void shoal_jit_info(FILE *out);

#endif
