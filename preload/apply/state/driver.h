/*
 * The functions of the driver that apply calls itself: real ones, past the hooks.
 */
#ifndef XFS_APPLY_DRIVER_H
#define XFS_APPLY_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "xferscope/cuda_abi.h"

/* X(field, exported name, type, needed): without one that is needed nothing is carried out. */
#define XFS_APPLY_DRIVER(X)                                                                        \
    X(attributes, "cuPointerGetAttributes",                                                        \
      xcu_result (*)(unsigned, int *, void **, xcu_deviceptr), true)                               \
    X(current, "cuCtxGetCurrent", xcu_result (*)(xcu_context *), true)                             \
    X(device, "cuCtxGetDevice", xcu_result (*)(xcu_device *), true)                                \
    X(context_id, "cuCtxGetId", xcu_result (*)(xcu_context, unsigned long long *), true)           \
    X(push, "cuCtxPushCurrent_v2", xcu_result (*)(xcu_context), true)                              \
    X(pop, "cuCtxPopCurrent_v2", xcu_result (*)(xcu_context *), true)                              \
    X(stream_context, "cuStreamGetCtx", xcu_result (*)(xcu_stream, xcu_context *), true)           \
    X(is_capturing, "cuStreamIsCapturing", xcu_result (*)(xcu_stream, int *), true)                \
    X(devices, "cuDeviceGetCount", xcu_result (*)(int *), true)                                    \
    X(stream_query, "cuStreamQuery", xcu_result (*)(xcu_stream), true)                             \
    X(exchange, "cuThreadExchangeStreamCaptureMode", xcu_result (*)(int *), true)                  \
    X(primary_state, "cuDevicePrimaryCtxGetState", xcu_result (*)(xcu_device, unsigned *, int *),  \
      true)                                                                                        \
    X(primary_retain, "cuDevicePrimaryCtxRetain", xcu_result (*)(xcu_context *, xcu_device), true) \
    X(primary_release, "cuDevicePrimaryCtxRelease_v2", xcu_result (*)(xcu_device), true)           \
    X(to_device, "cuMemcpyHtoDAsync_v2",                                                           \
      xcu_result (*)(xcu_deviceptr, const void *, size_t, xcu_stream), true)                       \
    X(to_host, "cuMemcpyDtoHAsync_v2", xcu_result (*)(void *, xcu_deviceptr, size_t, xcu_stream),  \
      true)                                                                                        \
    X(event_create, "cuEventCreate", xcu_result (*)(xcu_event *, unsigned), true)                  \
    X(event_record, "cuEventRecord", xcu_result (*)(xcu_event, xcu_stream), true)                  \
    X(event_query, "cuEventQuery", xcu_result (*)(xcu_event), true)                                \
    X(event_wait, "cuEventSynchronize", xcu_result (*)(xcu_event), true)                           \
    X(event_destroy, "cuEventDestroy_v2", xcu_result (*)(xcu_event), true)                         \
    X(lock_pages, "cuMemHostRegister_v2", xcu_result (*)(void *, size_t, unsigned), true)          \
    X(unlock_pages, "cuMemHostUnregister", xcu_result (*)(void *), true)                           \
    X(context_wait, "cuCtxSynchronize", xcu_result (*)(void), false)                               \
    X(total, "cuDeviceTotalMem_v2", xcu_result (*)(size_t *, xcu_device), false)                   \
    X(left, "cuMemGetInfo_v2", xcu_result (*)(size_t *, size_t *), false)                          \
    X(device_attribute, "cuDeviceGetAttribute", xcu_result (*)(int *, int, xcu_device), false)     \
    X(prefetch, "cuMemPrefetchAsync_v2",                                                           \
      xcu_result (*)(xcu_deviceptr, size_t, struct xcu_location, unsigned, xcu_stream), false)     \
    X(event_elapsed, "cuEventElapsedTime", xcu_result (*)(float *, xcu_event, xcu_event), false)   \
    X(alloc, "cuMemAlloc_v2", xcu_result (*)(xcu_deviceptr *, size_t), true)                       \
    X(free, "cuMemFree_v2", xcu_result (*)(xcu_deviceptr), true)                                   \
    X(enable_peer, "cuCtxEnablePeerAccess", xcu_result (*)(xcu_context, unsigned), false)          \
    X(disable_peer, "cuCtxDisablePeerAccess", xcu_result (*)(xcu_context), false)                  \
    X(can_access, "cuDeviceCanAccessPeer", xcu_result (*)(int *, xcu_device, xcu_device), false)   \
    X(between, "cuMemcpyDtoDAsync_v2",                                                             \
      xcu_result (*)(xcu_deviceptr, xcu_deviceptr, size_t, xcu_stream), false)                     \
    X(uuid, "cuDeviceGetUuid", xcu_result (*)(struct xcu_uuid *, xcu_device), false)               \
    X(stream_create, "cuStreamCreate", xcu_result (*)(xcu_stream *, unsigned), false)              \
    X(stream_destroy, "cuStreamDestroy_v2", xcu_result (*)(xcu_stream), false)                     \
    X(stream_sync, "cuStreamSynchronize", xcu_result (*)(xcu_stream), false)                       \
    X(stream_wait, "cuStreamWaitEvent", xcu_result (*)(xcu_stream, xcu_event, unsigned), false)    \
    X(fill8, "cuMemsetD8Async", xcu_result (*)(xcu_deviceptr, unsigned char, size_t, xcu_stream),  \
      false)                                                                                       \
    X(fill16, "cuMemsetD16Async",                                                                  \
      xcu_result (*)(xcu_deviceptr, unsigned short, size_t, xcu_stream), false)                    \
    X(fill32, "cuMemsetD32Async", xcu_result (*)(xcu_deviceptr, unsigned, size_t, xcu_stream),     \
      false)                                                                                       \
    X(graph_nodes, "cuGraphGetNodes", xcu_result (*)(xcu_graph, xcu_graph_node *, size_t *),       \
      false)                                                                                       \
    X(node_type, "cuGraphNodeGetType", xcu_result (*)(xcu_graph_node, int *), false)               \
    X(node_copy, "cuGraphMemcpyNodeGetParams",                                                     \
      xcu_result (*)(xcu_graph_node, struct xcu_memcpy3d *), false)                                \
    X(function_name, "cuFuncGetName", xcu_result (*)(const char **, const void *), false)          \
    X(kernel_name, "cuKernelGetName", xcu_result (*)(const char **, const void *), false)          \
    X(simulated_now, "xferscope_simgpu_now_ns", uint64_t (*)(void), false)

struct xfs_apply_driver {
#define X(field, name, type, needed) __typeof__((type)0) field;
    XFS_APPLY_DRIVER(X)
#undef X
};

/* NULL: the driver is not loaded yet, or lacks a function that is needed. */
const struct xfs_apply_driver *xfs_apply_driver(void);

/* The clock of what apply measures: CLOCK_MONOTONIC in ns, or the simulated GPU's. */
uint64_t xfs_apply_now_ns(void);

/* The number of the allocation that begins here, has so many bytes, and has this attribute
 * (XCU_PTR_..., an unsigned); 0: there is none. */
uint64_t xfs_apply_buffer_at(xcu_deviceptr address, size_t bytes, int attribute);

/* The number of a context, which no later one has; 0: the driver says an error. */
unsigned long long xfs_apply_context_id(xcu_context context);

/* A device's primary context; NULL: there is none. Makes none. */
xcu_context xfs_apply_primary(xcu_device device);

#endif
