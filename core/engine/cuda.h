/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuda.h: the part of the CUDA driver library that is used here. The header declares it itself, and cuda.c opens the
 * library at run time. So one binary runs with and without a GPU. All functions return 0 on success.
 */
#ifndef SHOAL_CUDA_H
#define SHOAL_CUDA_H

#include <stddef.h>

#include "core/base/base.h"

typedef unsigned long long device_pointer;
typedef struct cuda_context *cuda_context;
typedef struct cuda_module *cuda_module;
typedef struct cuda_function *cuda_function;
typedef struct cuda_stream *cuda_stream;
typedef struct cuda_event *cuda_event;

/* CUdevice_attribute */
enum {
    ATTRIBUTE_CLOCK_KHZ = 13,
    ATTRIBUTE_MULTIPROCESSORS = 16,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76,
    ATTRIBUTE_SHARED = 97 /* bytes of shared memory that a block may ask for */
};
/* CU_MEMHOSTREGISTER_PORTABLE */
enum { HOST_PORTABLE = 1 };
/* CUfunction_attribute */
enum { FUNCTION_REGISTERS = 4, FUNCTION_DYNAMIC_SHARED = 8 };
enum { DEFAULT_SHARED = 48 << 10 }; /* bytes that a block may have without the latter */
enum { STREAM_NON_BLOCKING = 1 };   /* CUstream_flags */
enum { NOT_READY = 600 };           /* CUresult of what goes on */
enum { STREAM_FIRST = -100 };       /* a priority; the driver takes the nearest that it has */

struct driver {
    int (*init)(unsigned flags);
    int (*version)(int *version);
    int (*error_name)(int result, const char **name);
    int (*error_string)(int result, const char **text);
    int (*device_count)(int *n);
    int (*device)(int *device, int index);
    int (*device_name)(char *name, int size, int device);
    int (*device_memory)(size_t *size, int device);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*context_retain)(cuda_context *context, int device);
    int (*context_release)(int device);
    int (*context_push)(cuda_context context);
    int (*context_pop)(cuda_context *context);
    int (*synchronize)(void);
    int (*memory_free)(size_t *available, size_t *total);
    int (*module_load)(cuda_module *module, const void *image);
    int (*module_unload)(cuda_module module);
    int (*module_function)(cuda_function *function, cuda_module module, const char *name);
    int (*allocate)(device_pointer *pointer, size_t size);
    int (*release)(device_pointer pointer);
    int (*clear)(device_pointer pointer, unsigned char value, size_t size);
    int (*clear_later)(device_pointer pointer, unsigned char value, size_t size, cuda_stream stream);
    int (*to_device)(device_pointer to, const void *from, size_t size);
    int (*to_host)(void *to, device_pointer from, size_t size);
    int (*to_device_later)(device_pointer to, const void *from, size_t size, cuda_stream stream);
    int (*to_host_later)(void *to, device_pointer from, size_t size, cuda_stream stream);
    /* the driver sees which memory is whose */
    int (*copy_later)(device_pointer to, device_pointer from, size_t size, cuda_stream stream);
    int (*host_register)(void *pointer, size_t size, unsigned flags);
    int (*host_unregister)(void *pointer);
    int (*host_allocate)(void **pointer, size_t size, unsigned flags);
    int (*host_release)(void *pointer);
    int (*function_attribute)(int *value, int attribute, cuda_function function);
    int (*function_set)(cuda_function function, int attribute, int value);
    int (*occupancy)(int *n_blocks, cuda_function function, int block, size_t shared);
    int (*stream_create)(cuda_stream *stream, unsigned flags, int priority);
    int (*stream_destroy)(cuda_stream stream);
    int (*stream_synchronize)(cuda_stream stream);
    int (*stream_wait)(cuda_stream stream, cuda_event event, unsigned flags);
    int (*event_create)(cuda_event *event, unsigned flags);
    int (*event_destroy)(cuda_event event);
    int (*event_record)(cuda_event event, cuda_stream stream);
    int (*event_synchronize)(cuda_event event);
    int (*event_query)(cuda_event event); /* 0: it is over */
    int (*event_elapsed)(float *milliseconds, cuda_event from, cuda_event to);
    int (*launch)(cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                  unsigned block_y, unsigned block_z, unsigned shared, cuda_stream stream, void **arguments,
                  void **extra);
};

/* Open the driver and initialise it; NULL, or what is missing. The library stays loaded (NODELETE), so this is cheap
 * a second time and keeps no state. */
const char *shoal_driver_open(struct driver *driver);
/* What kernels on a GPU lack here, the driver or the compiler; NULL: nothing. */
const char *shoal_cuda_missing(void);
/* Store the message of a failed call of the driver. */
shoal_status shoal_driver_fail(const struct driver *driver, shoal_context *context, int result, const char *what);

/* A device, by its number among those that the driver shows. */
struct gpu_device {
    int device; /* the driver's handle */
    int arch;   /* 90 for sm_90 */
    int n_multiprocessors;
    size_t memory;
    char name[128];
    cuda_context cuda; /* its primary context, retained; NULL = not open */
};

/* What the driver says of a device; returns what the driver does. */
int shoal_gpu_describe(const struct driver *driver, int index, struct gpu_device *gpu);
/* The same, and its context, which is not current yet and is the caller's to release. */
shoal_status shoal_gpu_open(const struct driver *driver, shoal_context *context, int index, struct gpu_device *gpu);

#endif
