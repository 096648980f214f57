/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuda_engine.h: the internals of the CUDA engine, shared by its files: engine_cuda.c (driver, arrays, streams,
 * launches), cuda_hosted.c (systems that are the host's) and cuda_aside.c (systems that are set aside). No other file
 * includes it.
 *
 * Functions that return an int return what the driver says, 0 on success. The device's context is current in all of
 * them.
 */
#ifndef SHOAL_CUDA_ENGINE_H
#define SHOAL_CUDA_ENGINE_H

#include "core/engine/cuda.h"
#include "core/engine/engine.h"

enum {
    SHOAL_CUDA_ARRAYS = 5, /* of shoal_kernel_args, in the order of the SHOAL_ARRAY_ bits */
    SHOAL_CUDA_LISTS = 2,
    /* Parts of the systems, launched beside each other: the last blocks of one leave no multiprocessor idle. */
    SHOAL_CUDA_PARTS = 2,
    SHOAL_CUDA_STREAMS = 4, /* parts of walkers, at most */
    /* Streams of the substep kernel. Beyond eight in all, streams would share the device's queues. */
    SHOAL_CUDA_SUBSTEP_STREAMS = 3,
    SHOAL_CUDA_SMALL_BLOCK = 32 /* threads, of a launch for few systems */
};

/* One of the arrays of shoal_kernel_args. */
struct array {
    const char *name;
    double *host; /* of the first system of the range, as `device` */
    device_pointer device;
    size_t offset; /* bytes of the chunks before, which are not on the device */
    size_t chunk;  /* bytes of a chunk */
    size_t size;   /* bytes */
    bool locked;   /* page-locked by us */
};

/* Of systems that are the host's (cuda_hosted.c). */
struct hosting {
    shoal_hosted *hosted; /* NULL: no system is the host's */
    double *table;        /* of their states, page-locked, as all that follows */
    int *arrived;         /* as shoal_hosted_table has them */
    int *column_ids;      /* [room] whose the columns are */
    cuda_event brought;   /* the columns of those that are the host's from the slice's beginning are there */
    bool sharing;         /* a slice goes on, and the host has not done its part */
    bool waits;           /* at its end the GPU waits for the host */
    bool returning;       /* states are on their way back */
    double seconds;       /* of the host in the last slice */
    double slice_seconds; /* of the last slice */
    int eagerness;        /* of the host to take systems */
};

/* Of systems that are set aside (cuda_aside.c). */
struct aside {
    cuda_stream substeps[SHOAL_CUDA_SUBSTEP_STREAMS];
    device_pointer places, counts; /* of the queue; after its own, how many systems each round of the last slice had */
    int *counts_host;              /* the same, page-locked */
    device_pointer ready;          /* the systems of a round */
    int n_rounds;                  /* in the last slice, of all parts */
    double round;                  /* steps of a system in one */
};

struct shoal_engine {
    shoal_context *context;
    struct driver driver;
    struct gpu_device gpu;
    shoal_kernel_choice choice;
    shoal_engine_range range;
    long first_held, n_held; /* chunks of the range that are this GPU's; the others have room here */
    int version;             /* of the driver */
    /* each entry's, NULL = not loaded; shared ones stand at their first entry */
    cuda_module module[SHOAL_KERNEL_ENTRIES];
    cuda_function function[SHOAL_KERNEL_ENTRIES];
    struct array array[SHOAL_CUDA_ARRAYS];
    cuda_stream work, fetches;             /* kernels and what they need; what is fetched beside them */
    cuda_stream part[SHOAL_CUDA_STREAMS];  /* the first one's is `work` */
    cuda_event began, ended;               /* of the last slice */
    cuda_event passed;                     /* one after the other, what a stream waits for */
    bool timed, fetching;                  /* there was a slice; fetches are on their way */
    device_pointer list[SHOAL_CUDA_LISTS]; /* of the launches under way, in turns */
    int *list_host[SHOAL_CUDA_LISTS];      /* the same, page-locked */
    device_pointer sights; /* what is seen of the systems, then the times and what (sights_size bytes) */
    size_t sights_size;
    device_pointer walk;                 /* shoal_walk and its arrays, then theta and ln L of all systems */
    shoal_walk walk_host;                /* with device pointers */
    int n_queued;                        /* launches since the last wait that have a list */
    const char *last;                    /* the last kernel launched */
    char kernel_file[600];               /* of SHOAL_INTEGRATE in the cache */
    int block[SHOAL_KERNEL_ENTRIES];     /* threads of a block */
    size_t shared[SHOAL_KERNEL_ENTRIES]; /* and its bytes of shared memory */
    shoal_kernel_args args;              /* with device pointers */
    struct hosting hosting;
    struct aside aside;
};

/* ---- engine_cuda.c ----------------------------------------------------------------------------------------------- */

/* Store the message of a failed driver call. */
shoal_status shoal_cuda_fail(shoal_engine *engine, int result, const char *what);
void shoal_cuda_release_stream(const struct driver *driver, cuda_stream stream);
/* Queue a kernel over n_list systems of the device's list, for steps of args; the blocks that it needs. */
int shoal_cuda_queue(shoal_engine *engine, shoal_kernel_entry entry, device_pointer list, long n_list, int block,
                     long n_blocks, cuda_stream stream);
long shoal_cuda_blocks(const shoal_engine *engine, shoal_kernel_entry entry, int block, long n_list);
/* What is queued in one stream from now on waits for what is in another one. */
int shoal_cuda_join(shoal_engine *engine, cuda_stream after, cuda_stream before);
shoal_status shoal_cuda_finish_fetches(shoal_engine *engine);

/* A list in parts that are beside each other, each in a stream of its own. */
typedef struct shoal_cuda_part {
    device_pointer list;
    long first, n;
    cuda_stream stream;
} shoal_cuda_part;

shoal_cuda_part shoal_cuda_part_of(const shoal_engine *engine, device_pointer list, long n_list, int n_parts, int p);
/* At their begin the other streams wait for the first one, at their end it for them. */
int shoal_cuda_join_parts(shoal_engine *engine, int n_parts, bool begin);

/* ---- cuda_hosted.c ----------------------------------------------------------------------------------------------- */

/* Make the host's part, if it can have one; the memory in which host and GPU exchange states; release both. */
void shoal_cuda_hosted_begin(shoal_engine *engine, const shoal_kernel_args *args);
int shoal_cuda_hosted_allocate(shoal_engine *engine);
void shoal_cuda_hosted_release(shoal_engine *engine);
/* Schedulers of the GPU; systems for each; whether there are enough for a warp with all its lanes. */
long shoal_cuda_schedulers(const shoal_engine *engine);
long shoal_cuda_systems_beside(const shoal_engine *engine, long n_list);
bool shoal_cuda_is_full(const shoal_engine *engine, long n_list);
/* Divide the systems of a slice. sorted receives those of the GPU, n_list their number. The copies of the host's
 * systems to the table are queued. */
int shoal_cuda_hosted_split(shoal_engine *engine, const int *list, long *n_list, double slice_steps, int *sorted);
/* The host does its part of the slice that goes on, if there is one. */
shoal_status shoal_cuda_hosted_finish(shoal_engine *engine);

/* ---- cuda_aside.c ------------------------------------------------------------------------------------------------ */

/* Whether the engine's propagator sets systems aside; the others need none of what follows. */
static inline bool shoal_cuda_sets_aside(const shoal_engine *engine)
{
    return engine->choice.propagator->sets_aside;
}

/* The bytes of device memory that are needed; allocate the memory; make the streams; fill the kernels' arguments;
 * release all of it. */
size_t shoal_cuda_aside_size(const shoal_engine *engine);
int shoal_cuda_aside_allocate(shoal_engine *engine);
int shoal_cuda_aside_streams(shoal_engine *engine);
void shoal_cuda_aside_args(shoal_engine *engine);
void shoal_cuda_aside_release(shoal_engine *engine);
/* Queue a slice, in rounds. block: threads, of SHOAL_INTEGRATE. */
int shoal_cuda_aside_queue(shoal_engine *engine, device_pointer list, long n_list, double slice_steps, int block);
/* All launches are done; if they went well, the rounds to come get their length. */
void shoal_cuda_aside_finished(shoal_engine *engine, bool well);

#endif
