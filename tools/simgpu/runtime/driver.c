/*
 * How the runtime reaches the driver: dlopen("libcuda.so.1"), one dlsym for cuGetProcAddress_v2,
 * and everything else through that, each function with flags 0 and 2.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/simgpu/runtime/rt.h"

_Thread_local struct rt_thread rt_thread;

static struct rt_driver tables[2];
static xrt_error state = XCU_ERROR_NOT_INITIALIZED;
static pthread_once_t once = PTHREAD_ONCE_INIT;

typedef xcu_result get_proc_address(const char *, void **, int, uint64_t, int *);

static bool fill(get_proc_address *get, struct rt_driver *table, uint64_t flags)
{
    int status;
    bool all = true;

#define X(name, version, params)                                                                   \
    all &= !get(#name, (void **)&table->name, version, flags, &status) && table->name;
#include "tools/simgpu/runtime/driver.def"
#undef X
    return all;
}

static void start(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    get_proc_address *get = driver ? dlsym(driver, "cuGetProcAddress_v2") : NULL;

    if (!get || !fill(get, &tables[0], XCU_ENTRY_DEFAULT) ||
        !fill(get, &tables[1], XCU_ENTRY_PER_THREAD_STREAM))
        state = XRT_ERROR_INSUFFICIENT_DRIVER;
    else
        state = tables[0].cuInit(0);
}

const struct rt_driver *rt_driver(void)
{
    return &tables[rt_thread.per_thread];
}

xrt_error rt_primary(int device, xcu_context *out)
{
    static xcu_context primary[64];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    xrt_error error = XCU_SUCCESS;

    if (device < 0 || device >= 64)
        return XCU_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    if (!primary[device])
        error = tables[0].cuDevicePrimaryCtxRetain(&primary[device], device);
    *out = primary[device];
    pthread_mutex_unlock(&lock);
    return error;
}

xrt_error rt_enter(enum rt_need need, bool per_thread)
{
    xcu_context context = NULL;
    xrt_error error;

    rt_thread.per_thread = per_thread;
    if (need == RT_NOTHING)
        return XCU_SUCCESS;
    pthread_once(&once, start);
    if (state || need == RT_DRIVER)
        return state;
    error = tables[0].cuCtxGetCurrent(&context);
    if (error || context)
        return error;
    error = rt_primary(rt_thread.device, &context);
    return error ? error : tables[0].cuCtxSetCurrent(context);
}

xrt_error rt_leave(xrt_error error)
{
    if (error)
        rt_thread.last = error;
    return error;
}
