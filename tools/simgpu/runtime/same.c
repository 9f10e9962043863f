/*
 * The runtime's functions that are one call of the driver's: each row has the name, what must be
 * there before the call (rt.h), the driver's function, and the parameters and arguments of both.
 */
#include "tools/simgpu/runtime/rt.h"

/* The same function under its own name. */
#define RT_SAME(name, need, function, params, args)                                                \
    RT_WRAPPER(rt_driver()->function, name, need, false, params, args)

/* And under the name for programs built with per-thread default streams. */
#define RT_SAME_PT(name, variant, function, params, args)                                          \
    RT_WRAPPER(rt_driver()->function, name, RT_CONTEXT, false, params, args)                       \
    RT_WRAPPER(rt_driver()->function, variant, RT_CONTEXT, true, params, args)

/* ---- devices --------------------------------------------------------------------------------- */

RT_SAME(cudaSetDeviceFlags, RT_DRIVER, cuDevicePrimaryCtxSetFlags, (unsigned flags),
        (rt_thread.device, flags))
RT_SAME(cudaDeviceGetAttribute, RT_DRIVER, cuDeviceGetAttribute,
        (int *value, int attribute, int device), (value, attribute, device))
RT_SAME(cudaDeviceGetPCIBusId, RT_DRIVER, cuDeviceGetPCIBusId, (char *text, int bytes, int device),
        (text, bytes, device))
RT_SAME(cudaDeviceGetByPCIBusId, RT_DRIVER, cuDeviceGetByPCIBusId, (int *device, const char *text),
        (device, text))
RT_SAME(cudaDeviceSynchronize, RT_CONTEXT, cuCtxSynchronize, (void), ())
RT_SAME(cudaDeviceReset, RT_CONTEXT, cuDevicePrimaryCtxReset, (void), (rt_thread.device))
RT_SAME(cudaDeviceSetLimit, RT_CONTEXT, cuCtxSetLimit, (int limit, size_t value), (limit, value))
RT_SAME(cudaDeviceGetLimit, RT_CONTEXT, cuCtxGetLimit, (size_t * value, int limit), (value, limit))
RT_SAME(cudaDeviceGetStreamPriorityRange, RT_CONTEXT, cuCtxGetStreamPriorityRange,
        (int *least, int *greatest), (least, greatest))
RT_SAME(cudaMemGetInfo, RT_CONTEXT, cuMemGetInfo, (size_t * left, size_t *total), (left, total))
RT_SAME(cudaDeviceCanAccessPeer, RT_DRIVER, cuDeviceCanAccessPeer, (int *can, int device, int peer),
        (can, device, peer))
RT_SAME(cudaDeviceGetP2PAttribute, RT_DRIVER, cuDeviceGetP2PAttribute,
        (int *value, int which, int device, int peer), (value, which, device, peer))

/* ---- memory ---------------------------------------------------------------------------------- */

RT_SAME(cudaHostRegister, RT_CONTEXT, cuMemHostRegister,
        (void *address, size_t bytes, unsigned flags), (address, bytes, flags))
RT_SAME(cudaHostUnregister, RT_CONTEXT, cuMemHostUnregister, (void *address), (address))
RT_SAME(cudaHostGetDevicePointer, RT_CONTEXT, cuMemHostGetDevicePointer,
        (void **out, void *address, unsigned flags), ((xcu_deviceptr *)out, address, flags))
RT_SAME(cudaHostGetFlags, RT_CONTEXT, cuMemHostGetFlags, (unsigned *flags, void *address),
        (flags, address))
RT_SAME(cudaMallocManaged, RT_CONTEXT, cuMemAllocManaged,
        (void **out, size_t bytes, unsigned flags), ((xcu_deviceptr *)out, bytes, flags))
RT_SAME_PT(cudaMemPrefetchAsync, cudaMemPrefetchAsync_ptsz, cuMemPrefetchAsync,
           (const void *address, size_t bytes, struct xcu_location where, unsigned flags,
            xcu_stream stream),
           ((xcu_deviceptr)address, bytes, where, flags, stream))
RT_SAME_PT(cudaMemPrefetchBatchAsync, cudaMemPrefetchBatchAsync_ptsz, cuMemPrefetchBatchAsync,
           (void **addresses, size_t *sizes, size_t count, struct xcu_location *where,
            size_t *first, size_t places, unsigned long long flags, xcu_stream stream),
           ((xcu_deviceptr *)addresses, sizes, count, where, first, places, flags, stream))
RT_SAME_PT(cudaMemDiscardAndPrefetchBatchAsync, cudaMemDiscardAndPrefetchBatchAsync_ptsz,
           cuMemDiscardAndPrefetchBatchAsync,
           (void **addresses, size_t *sizes, size_t count, struct xcu_location *where,
            size_t *first, size_t places, unsigned long long flags, xcu_stream stream),
           ((xcu_deviceptr *)addresses, sizes, count, where, first, places, flags, stream))
RT_SAME_PT(cudaMemcpyWithAttributesAsync, cudaMemcpyWithAttributesAsync_ptsz,
           cuMemcpyWithAttributesAsync,
           (void *dst, const void *src, size_t bytes, struct xcu_copy_attributes *attributes,
            xcu_stream stream),
           ((xcu_deviceptr)dst, (xcu_deviceptr)src, bytes, attributes, stream))
RT_SAME_PT(cudaMemcpy3DWithAttributesAsync, cudaMemcpy3DWithAttributesAsync_ptsz,
           cuMemcpy3DWithAttributesAsync,
           (struct xcu_memcpy3d_op * op, unsigned long long flags, xcu_stream stream),
           (op, flags, stream))
RT_SAME(cudaMemAdvise, RT_CONTEXT, cuMemAdvise,
        (const void *address, size_t bytes, int advice, struct xcu_location where),
        ((xcu_deviceptr)address, bytes, advice, where))
RT_SAME(cudaMemRangeGetAttribute, RT_CONTEXT, cuMemRangeGetAttribute,
        (void *data, size_t bytes, int attribute, const void *address, size_t count),
        (data, bytes, attribute, (xcu_deviceptr)address, count))
RT_SAME_PT(cudaMallocAsync, cudaMallocAsync_ptsz, cuMemAllocAsync,
           (void **out, size_t bytes, xcu_stream stream), ((xcu_deviceptr *)out, bytes, stream))
RT_SAME_PT(cudaMallocFromPoolAsync, cudaMallocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync,
           (void **out, size_t bytes, xcu_pool pool, xcu_stream stream),
           ((xcu_deviceptr *)out, bytes, pool, stream))
RT_SAME_PT(cudaFreeAsync, cudaFreeAsync_ptsz, cuMemFreeAsync, (void *address, xcu_stream stream),
           ((xcu_deviceptr)address, stream))
RT_SAME(cudaMemPoolCreate, RT_CONTEXT, cuMemPoolCreate,
        (xcu_pool * out, const struct xcu_pool_props *props), (out, props))
RT_SAME(cudaMemPoolDestroy, RT_CONTEXT, cuMemPoolDestroy, (xcu_pool pool), (pool))
RT_SAME(cudaMemPoolTrimTo, RT_CONTEXT, cuMemPoolTrimTo, (xcu_pool pool, size_t keep), (pool, keep))
RT_SAME(cudaMemPoolSetAttribute, RT_CONTEXT, cuMemPoolSetAttribute,
        (xcu_pool pool, int attribute, void *value), (pool, attribute, value))
RT_SAME(cudaMemPoolGetAttribute, RT_CONTEXT, cuMemPoolGetAttribute,
        (xcu_pool pool, int attribute, void *value), (pool, attribute, value))
RT_SAME(cudaMemPoolSetAccess, RT_CONTEXT, cuMemPoolSetAccess,
        (xcu_pool pool, const struct xcu_access *access, size_t count), (pool, access, count))
RT_SAME(cudaDeviceGetDefaultMemPool, RT_DRIVER, cuDeviceGetDefaultMemPool,
        (xcu_pool * out, int device), (out, device))
RT_SAME(cudaDeviceGetMemPool, RT_DRIVER, cuDeviceGetMemPool, (xcu_pool * out, int device),
        (out, device))
RT_SAME(cudaDeviceSetMemPool, RT_DRIVER, cuDeviceSetMemPool, (int device, xcu_pool pool),
        (device, pool))
RT_SAME(cudaGetMipmappedArrayLevel, RT_CONTEXT, cuMipmappedArrayGetLevel,
        (xcu_array * out, xcu_mipmap mipmap, unsigned level), (out, mipmap, level))

/* ---- copies ---------------------------------------------------------------------------------- */

RT_SAME_PT(cudaMemcpyBatchAsync, cudaMemcpyBatchAsync_ptsz, cuMemcpyBatchAsync,
           (void **dsts, const void **srcs, size_t *sizes, size_t count,
            struct xcu_copy_attributes *attributes, size_t *first, size_t kinds, xcu_stream stream),
           ((xcu_deviceptr *)dsts, (xcu_deviceptr *)srcs, sizes, count, attributes, first, kinds,
            stream))
RT_SAME_PT(cudaMemcpy3DBatchAsync, cudaMemcpy3DBatchAsync_ptsz, cuMemcpy3DBatchAsync,
           (size_t count, struct xcu_memcpy3d_op *ops, unsigned long long flags, xcu_stream stream),
           (count, ops, flags, stream))
RT_SAME_PT(cudaMemset2D, cudaMemset2D_ptds, cuMemsetD2D8,
           (void *dst, size_t pitch, int value, size_t width, size_t height),
           ((xcu_deviceptr)dst, pitch, (unsigned char)value, width, height))
RT_SAME_PT(cudaMemset2DAsync, cudaMemset2DAsync_ptsz, cuMemsetD2D8Async,
           (void *dst, size_t pitch, int value, size_t width, size_t height, xcu_stream stream),
           ((xcu_deviceptr)dst, pitch, (unsigned char)value, width, height, stream))

/* ---- streams, events, captures, graphs ------------------------------------------------------- */

RT_SAME(cudaStreamCreate, RT_CONTEXT, cuStreamCreateWithPriority, (xcu_stream * out), (out, 0, 0))
RT_SAME(cudaStreamCreateWithFlags, RT_CONTEXT, cuStreamCreateWithPriority,
        (xcu_stream * out, unsigned flags), (out, flags, 0))
RT_SAME(cudaStreamCreateWithPriority, RT_CONTEXT, cuStreamCreateWithPriority,
        (xcu_stream * out, unsigned flags, int priority), (out, flags, priority))
RT_SAME(cudaStreamDestroy, RT_CONTEXT, cuStreamDestroy, (xcu_stream stream), (stream))
RT_SAME_PT(cudaStreamSynchronize, cudaStreamSynchronize_ptsz, cuStreamSynchronize,
           (xcu_stream stream), (stream))
RT_SAME_PT(cudaStreamQuery, cudaStreamQuery_ptsz, cuStreamQuery, (xcu_stream stream), (stream))
RT_SAME_PT(cudaStreamWaitEvent, cudaStreamWaitEvent_ptsz, cuStreamWaitEvent,
           (xcu_stream stream, xcu_event event, unsigned flags), (stream, event, flags))
RT_SAME_PT(cudaStreamGetPriority, cudaStreamGetPriority_ptsz, cuStreamGetPriority,
           (xcu_stream stream, int *priority), (stream, priority))
RT_SAME_PT(cudaStreamGetFlags, cudaStreamGetFlags_ptsz, cuStreamGetFlags,
           (xcu_stream stream, unsigned *flags), (stream, flags))
RT_SAME_PT(cudaStreamGetId, cudaStreamGetId_ptsz, cuStreamGetId,
           (xcu_stream stream, unsigned long long *id), (stream, id))
RT_SAME_PT(cudaStreamGetDevice, cudaStreamGetDevice_ptsz, cuStreamGetDevice,
           (xcu_stream stream, int *device), (stream, device))
RT_SAME_PT(cudaStreamAttachMemAsync, cudaStreamAttachMemAsync_ptsz, cuStreamAttachMemAsync,
           (xcu_stream stream, void *address, size_t bytes, unsigned flags),
           (stream, (xcu_deviceptr)address, bytes, flags))
RT_SAME_PT(cudaLaunchHostFunc, cudaLaunchHostFunc_ptsz, cuLaunchHostFunc,
           (xcu_stream stream, void (*function)(void *), void *user), (stream, function, user))
RT_SAME_PT(cudaStreamAddCallback, cudaStreamAddCallback_ptsz, cuStreamAddCallback,
           (xcu_stream stream, void (*callback)(xcu_stream, xrt_error, void *), void *user,
            unsigned flags),
           (stream, callback, user, flags))
RT_SAME(cudaEventCreate, RT_CONTEXT, cuEventCreate, (xcu_event * out), (out, 0))
RT_SAME(cudaEventCreateWithFlags, RT_CONTEXT, cuEventCreate, (xcu_event * out, unsigned flags),
        (out, flags))
RT_SAME(cudaEventDestroy, RT_CONTEXT, cuEventDestroy, (xcu_event event), (event))
RT_SAME_PT(cudaEventRecord, cudaEventRecord_ptsz, cuEventRecord,
           (xcu_event event, xcu_stream stream), (event, stream))
RT_SAME_PT(cudaEventRecordWithFlags, cudaEventRecordWithFlags_ptsz, cuEventRecordWithFlags,
           (xcu_event event, xcu_stream stream, unsigned flags), (event, stream, flags))
RT_SAME(cudaEventQuery, RT_CONTEXT, cuEventQuery, (xcu_event event), (event))
RT_SAME(cudaEventSynchronize, RT_CONTEXT, cuEventSynchronize, (xcu_event event), (event))
RT_SAME(cudaEventElapsedTime, RT_CONTEXT, cuEventElapsedTime,
        (float *ms, xcu_event start, xcu_event end), (ms, start, end))
RT_SAME_PT(cudaStreamBeginCapture, cudaStreamBeginCapture_ptsz, cuStreamBeginCapture,
           (xcu_stream stream, int mode), (stream, mode))
RT_SAME_PT(cudaStreamEndCapture, cudaStreamEndCapture_ptsz, cuStreamEndCapture,
           (xcu_stream stream, xcu_graph *out), (stream, out))
RT_SAME_PT(cudaStreamIsCapturing, cudaStreamIsCapturing_ptsz, cuStreamIsCapturing,
           (xcu_stream stream, int *status), (stream, status))
RT_SAME_PT(cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_ptsz, cuStreamGetCaptureInfo,
           (xcu_stream stream, int *status, uint64_t *id, xcu_graph *graph,
            const xcu_graph_node **deps, const void **edges, size_t *count),
           (stream, status, id, graph, deps, edges, count))
RT_SAME(cudaThreadExchangeStreamCaptureMode, RT_CONTEXT, cuThreadExchangeStreamCaptureMode,
        (int *mode), (mode))
RT_SAME(cudaGraphCreate, RT_CONTEXT, cuGraphCreate, (xcu_graph * out, unsigned flags), (out, flags))
RT_SAME(cudaGraphDestroy, RT_CONTEXT, cuGraphDestroy, (xcu_graph graph), (graph))
RT_SAME(cudaGraphAddEmptyNode, RT_CONTEXT, cuGraphAddEmptyNode,
        (xcu_graph_node * out, xcu_graph graph, const xcu_graph_node *deps, size_t count),
        (out, graph, deps, count))
RT_SAME(cudaGraphAddChildGraphNode, RT_CONTEXT, cuGraphAddChildGraphNode,
        (xcu_graph_node * out, xcu_graph graph, const xcu_graph_node *deps, size_t count,
         xcu_graph child),
        (out, graph, deps, count, child))
RT_SAME(cudaGraphGetNodes, RT_CONTEXT, cuGraphGetNodes,
        (xcu_graph graph, xcu_graph_node *nodes, size_t *count), (graph, nodes, count))
RT_SAME(cudaGraphNodeGetType, RT_CONTEXT, cuGraphNodeGetType, (xcu_graph_node node, int *type),
        (node, type))
RT_SAME(cudaGraphInstantiate, RT_CONTEXT, cuGraphInstantiateWithFlags,
        (xcu_graph_exec * out, xcu_graph graph, unsigned long long flags), (out, graph, flags))
RT_SAME(cudaGraphInstantiateWithFlags, RT_CONTEXT, cuGraphInstantiateWithFlags,
        (xcu_graph_exec * out, xcu_graph graph, unsigned long long flags), (out, graph, flags))
RT_SAME_PT(cudaGraphLaunch, cudaGraphLaunch_ptsz, cuGraphLaunch,
           (xcu_graph_exec exec, xcu_stream stream), (exec, stream))
RT_SAME_PT(cudaGraphUpload, cudaGraphUpload_ptsz, cuGraphUpload,
           (xcu_graph_exec exec, xcu_stream stream), (exec, stream))
RT_SAME(cudaGraphExecDestroy, RT_CONTEXT, cuGraphExecDestroy, (xcu_graph_exec exec), (exec))
RT_SAME(cudaGraphExecUpdate, RT_CONTEXT, cuGraphExecUpdate,
        (xcu_graph_exec exec, xcu_graph graph, void *result), (exec, graph, result))
