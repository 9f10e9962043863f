/*
 * The driver calls of driver_copy.c, as one list; the exported names carry the versions that
 * cuda.h gives them. X(field, exported name, name asked of cuGetProcAddress, CUDA version of the
 * entry, parameters)
 */
#ifndef XFERSCOPE_PROGRAMS_DRIVER_API_H
#define XFERSCOPE_PROGRAMS_DRIVER_API_H

#include <stddef.h>

#include "xferscope/cuda_abi.h"

#define DRIVER_CALLS(X)                                                                            \
    X(init, cuInit, "cuInit", 2000, (unsigned flags))                                              \
    X(device_get, cuDeviceGet, "cuDeviceGet", 2000, (xcu_device * device, int ordinal))            \
    X(context_retain, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000,                  \
      (xcu_context * context, xcu_device device))                                                  \
    X(context_release, cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000,           \
      (xcu_device device))                                                                         \
    X(context_set, cuCtxSetCurrent, "cuCtxSetCurrent", 4000, (xcu_context context))                \
    X(mem_alloc, cuMemAlloc_v2, "cuMemAlloc", 3020, (xcu_deviceptr * address, size_t bytes))       \
    X(mem_free, cuMemFree_v2, "cuMemFree", 3020, (xcu_deviceptr address))                          \
    X(htod, cuMemcpyHtoD_v2, "cuMemcpyHtoD", 3020,                                                 \
      (xcu_deviceptr dst, const void *src, size_t bytes))                                          \
    X(dtoh, cuMemcpyDtoH_v2, "cuMemcpyDtoH", 3020, (void *dst, xcu_deviceptr src, size_t bytes))   \
    X(dtod, cuMemcpyDtoD_v2, "cuMemcpyDtoD", 3020,                                                 \
      (xcu_deviceptr dst, xcu_deviceptr src, size_t bytes))                                        \
    X(htod_async, cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 3020,                                 \
      (xcu_deviceptr dst, const void *src, size_t bytes, xcu_stream stream))                       \
    X(dtoh_async, cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 3020,                                 \
      (void *dst, xcu_deviceptr src, size_t bytes, xcu_stream stream))                             \
    X(copy, cuMemcpy, "cuMemcpy", 4000, (xcu_deviceptr dst, xcu_deviceptr src, size_t bytes))      \
    X(copy_2d, cuMemcpy2D_v2, "cuMemcpy2D", 3020, (const struct xcu_memcpy2d *what))               \
    X(stream_create, cuStreamCreate, "cuStreamCreate", 2000,                                       \
      (xcu_stream * stream, unsigned flags))                                                       \
    X(stream_sync, cuStreamSynchronize, "cuStreamSynchronize", 2000, (xcu_stream stream))          \
    X(stream_destroy, cuStreamDestroy_v2, "cuStreamDestroy", 4000, (xcu_stream stream))

struct driver_calls {
#define DRIVER_FIELD(field, exported, name, version, parameters) xcu_result(*field) parameters;
    DRIVER_CALLS(DRIVER_FIELD)
#undef DRIVER_FIELD
};

#endif
