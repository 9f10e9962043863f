/*
 * The simulated CUDA runtime: every call ends in calls of the driver, reached as NVIDIA's static
 * runtime reaches it (driver.c). Functions return cudaError_t, whose numbers are the driver's.
 */
#ifndef SIM_RT_H
#define SIM_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xferscope/cuda_abi.h"

struct rt_driver {
#define X(name, version, params) xcu_result(*name) params;
#include "tools/simgpu/runtime/driver.def"
#undef X
};

/* The driver's functions for this call: legacy or per-thread default stream. */
const struct rt_driver *rt_driver(void);

enum rt_need {
    RT_NOTHING, /* not even a driver */
    RT_DRIVER,  /* initialised */
    RT_CONTEXT, /* and the device's primary context is current */
};

struct rt_thread {
    int device;
    bool per_thread;
    xrt_error last;
};
extern _Thread_local struct rt_thread rt_thread;

xrt_error rt_enter(enum rt_need need, bool per_thread);
/* Remembers an error for cudaGetLastError; success does not clear it. */
xrt_error rt_leave(xrt_error error);

/* Primary context of a device, retained once; makes it. */
xrt_error rt_primary(int device, xcu_context *out);

/* What stands behind a registered host address: a kernel, a variable. */
xrt_error rt_kernel(const void *host, void **function);
xrt_error rt_symbol(const void *host, xcu_deviceptr *address, size_t *bytes);

#ifdef RT_STATIC
#define RT_EXPORT __attribute__((visibility("hidden")))
#else
#define RT_EXPORT __attribute__((visibility("default")))
#endif

#define RT_WRAPPER(body, name, need, per_thread, params, args)                                     \
    RT_EXPORT xrt_error name params;                                                               \
    xrt_error name params                                                                          \
    {                                                                                              \
        xrt_error rt_state = rt_enter(need, per_thread);                                           \
        return rt_leave(rt_state ? rt_state : body args);                                          \
    }

/* Defines an exported runtime function; its body follows. */
#define RT_API(name, need, params, args)                                                           \
    static xrt_error name##_body params;                                                           \
    RT_WRAPPER(name##_body, name, need, false, params, args)                                       \
    static xrt_error name##_body params

/* The same under two names, the second for programs built with per-thread default streams. */
#define RT_API_PT(name, variant, params, args)                                                     \
    static xrt_error name##_body params;                                                           \
    RT_WRAPPER(name##_body, name, RT_CONTEXT, false, params, args)                                 \
    RT_WRAPPER(name##_body, variant, RT_CONTEXT, true, params, args)                               \
    static xrt_error name##_body params

#endif
