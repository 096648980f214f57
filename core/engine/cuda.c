/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuda.c: the CUDA driver library, opened at run time, and the devices that it knows.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/cuda.h"
#include "core/engine/engine.h"

/* The names carry the version of the interface that the declarations in cuda.h are of. */
static const struct {
    const char *name;
    size_t offset;
} driver_symbols[] = {
    {"cuInit", offsetof(struct driver, init)},
    {"cuDriverGetVersion", offsetof(struct driver, version)},
    {"cuGetErrorName", offsetof(struct driver, error_name)},
    {"cuGetErrorString", offsetof(struct driver, error_string)},
    {"cuDeviceGetCount", offsetof(struct driver, device_count)},
    {"cuDeviceGet", offsetof(struct driver, device)},
    {"cuDeviceGetName", offsetof(struct driver, device_name)},
    {"cuDeviceTotalMem_v2", offsetof(struct driver, device_memory)},
    {"cuDeviceGetAttribute", offsetof(struct driver, device_attribute)},
    {"cuDevicePrimaryCtxRetain", offsetof(struct driver, context_retain)},
    {"cuDevicePrimaryCtxRelease_v2", offsetof(struct driver, context_release)},
    {"cuCtxPushCurrent_v2", offsetof(struct driver, context_push)},
    {"cuCtxPopCurrent_v2", offsetof(struct driver, context_pop)},
    {"cuCtxSynchronize", offsetof(struct driver, synchronize)},
    {"cuMemGetInfo_v2", offsetof(struct driver, memory_free)},
    {"cuModuleLoadData", offsetof(struct driver, module_load)},
    {"cuModuleUnload", offsetof(struct driver, module_unload)},
    {"cuModuleGetFunction", offsetof(struct driver, module_function)},
    {"cuMemAlloc_v2", offsetof(struct driver, allocate)},
    {"cuMemFree_v2", offsetof(struct driver, release)},
    {"cuMemsetD8_v2", offsetof(struct driver, clear)},
    {"cuMemsetD8Async", offsetof(struct driver, clear_later)},
    {"cuMemcpyHtoD_v2", offsetof(struct driver, to_device)},
    {"cuMemcpyDtoH_v2", offsetof(struct driver, to_host)},
    {"cuMemcpyHtoDAsync_v2", offsetof(struct driver, to_device_later)},
    {"cuMemcpyDtoHAsync_v2", offsetof(struct driver, to_host_later)},
    {"cuMemcpyAsync", offsetof(struct driver, copy_later)},
    {"cuMemHostRegister_v2", offsetof(struct driver, host_register)},
    {"cuMemHostUnregister", offsetof(struct driver, host_unregister)},
    {"cuMemHostAlloc", offsetof(struct driver, host_allocate)},
    {"cuMemFreeHost", offsetof(struct driver, host_release)},
    {"cuFuncGetAttribute", offsetof(struct driver, function_attribute)},
    {"cuFuncSetAttribute", offsetof(struct driver, function_set)},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", offsetof(struct driver, occupancy)},
    {"cuStreamCreateWithPriority", offsetof(struct driver, stream_create)},
    {"cuStreamDestroy_v2", offsetof(struct driver, stream_destroy)},
    {"cuStreamSynchronize", offsetof(struct driver, stream_synchronize)},
    {"cuStreamWaitEvent", offsetof(struct driver, stream_wait)},
    {"cuEventCreate", offsetof(struct driver, event_create)},
    {"cuEventDestroy_v2", offsetof(struct driver, event_destroy)},
    {"cuEventRecord", offsetof(struct driver, event_record)},
    {"cuEventSynchronize", offsetof(struct driver, event_synchronize)},
    {"cuEventQuery", offsetof(struct driver, event_query)},
    {"cuEventElapsedTime", offsetof(struct driver, event_elapsed)},
    {"cuLaunchKernel", offsetof(struct driver, launch)},
};

const char *shoal_driver_open(struct driver *driver)
{
    static const char *const names[] = {"libcuda.so.1", "libcuda.so"};
    void *library = NULL;
    for (int i = 0; i < SHOAL_COUNT(names) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return "no NVIDIA driver (libcuda.so.1) on this machine";
    bool complete = true;
    for (int i = 0; i < SHOAL_COUNT(driver_symbols); i++) {
        void *symbol = dlsym(library, driver_symbols[i].name);
        complete = complete && symbol;
        memcpy((char *)driver + driver_symbols[i].offset, &symbol, sizeof symbol);
    }
    dlclose(library);
    if (!complete)
        return "the NVIDIA driver (libcuda.so.1) is too old: it needs CUDA 11 or newer";
    int n = 0;
    if (driver->init(0) != 0 || driver->device_count(&n) != 0 || n < 1)
        return "no CUDA device";
    return NULL;
}

const char *shoal_cuda_missing(void)
{
    struct driver driver;
    const char *missing = shoal_driver_open(&driver);
    return missing ? missing : shoal_jit_missing();
}

shoal_status shoal_driver_fail(const struct driver *driver, shoal_context *context, int result, const char *what)
{
    const char *name = NULL, *text = NULL;
    if (driver->error_name(result, &name) != 0 || !name)
        name = "an unknown CUDA error";
    if (driver->error_string(result, &text) != 0 || !text)
        text = "no description";
    return shoal_fail(context, SHOAL_E_DEVICE, "%s failed: %s (%d): %s", what, name, result, text);
}

int shoal_gpu_describe(const struct driver *driver, int index, struct gpu_device *gpu)
{
    int major = 0, minor = 0, result;
    *gpu = (struct gpu_device){0};
    if ((result = driver->device(&gpu->device, index)) != 0 ||
        (result = driver->device_name(gpu->name, sizeof gpu->name, gpu->device)) != 0 ||
        (result = driver->device_memory(&gpu->memory, gpu->device)) != 0 ||
        (result = driver->device_attribute(&major, ATTRIBUTE_MAJOR, gpu->device)) != 0 ||
        (result = driver->device_attribute(&minor, ATTRIBUTE_MINOR, gpu->device)) != 0 ||
        (result = driver->device_attribute(&gpu->n_multiprocessors, ATTRIBUTE_MULTIPROCESSORS, gpu->device)) != 0)
        return result;
    gpu->arch = 10 * major + minor;
    return 0;
}

shoal_status shoal_gpu_open(const struct driver *driver, shoal_context *context, int index, struct gpu_device *gpu)
{
    int result = shoal_gpu_describe(driver, index, gpu);
    if (result)
        return shoal_driver_fail(driver, context, result, "asking the driver about the GPU");
    result = driver->context_retain(&gpu->cuda, gpu->device);
    if (result) {
        gpu->cuda = NULL;
        return shoal_driver_fail(driver, context, result, "opening the GPU");
    }
    return SHOAL_OK;
}

/* ---- beforehand -------------------------------------------------------------------------------------------------- */

/* The thread that opens a GPU, of the process that began it; its reference to the context is never given back. */
static struct beforehand {
    int index;
    pthread_t thread;
    pid_t process;
    atomic_bool runs;
} beforehand;

static void *open_beforehand(void *unused)
{
    struct driver driver;
    struct gpu_device gpu;
    if (!shoal_driver_open(&driver)) /* who needs it says why it fails */
        (void)shoal_gpu_open(&driver, NULL, beforehand.index, &gpu);
    return unused;
}

/* The thread would not survive the driver's end, which may come before what atexit has from here: so who destroys a
 * study waits, too. */
void shoal_engine_gpu_await(void)
{
    if (getpid() == beforehand.process && atomic_exchange(&beforehand.runs, false))
        (void)pthread_join(beforehand.thread, NULL);
}

void shoal_engine_gpu_open_beforehand(int index)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&begun))
        return;
    beforehand.index = index;
    beforehand.process = getpid();
    beforehand.runs = pthread_create(&beforehand.thread, NULL, open_beforehand, NULL) == 0;
    if (beforehand.runs)
        (void)atexit(shoal_engine_gpu_await);
}
