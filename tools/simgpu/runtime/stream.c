/*
 * Streams, events, capture, graphs.
 */
#include <stdlib.h>

#include "tools/simgpu/runtime/rt.h"

RT_API(cudaStreamCreate, RT_CONTEXT, (xcu_stream * out), (out))
{
    return rt_driver()->cuStreamCreateWithPriority(out, 0, 0);
}

RT_API(cudaStreamCreateWithFlags, RT_CONTEXT, (xcu_stream * out, unsigned flags), (out, flags))
{
    return rt_driver()->cuStreamCreateWithPriority(out, flags, 0);
}

RT_API(cudaStreamCreateWithPriority, RT_CONTEXT, (xcu_stream * out, unsigned flags, int priority),
       (out, flags, priority))
{
    return rt_driver()->cuStreamCreateWithPriority(out, flags, priority);
}

RT_API(cudaStreamDestroy, RT_CONTEXT, (xcu_stream stream), (stream))
{
    return rt_driver()->cuStreamDestroy(stream);
}

RT_API_PT(cudaStreamSynchronize, cudaStreamSynchronize_ptsz, (xcu_stream stream), (stream))
{
    return rt_driver()->cuStreamSynchronize(stream);
}

RT_API_PT(cudaStreamQuery, cudaStreamQuery_ptsz, (xcu_stream stream), (stream))
{
    return rt_driver()->cuStreamQuery(stream);
}

RT_API_PT(cudaStreamWaitEvent, cudaStreamWaitEvent_ptsz,
          (xcu_stream stream, xcu_event event, unsigned flags), (stream, event, flags))
{
    return rt_driver()->cuStreamWaitEvent(stream, event, flags);
}

RT_API_PT(cudaStreamGetPriority, cudaStreamGetPriority_ptsz, (xcu_stream stream, int *priority),
          (stream, priority))
{
    return rt_driver()->cuStreamGetPriority(stream, priority);
}

RT_API_PT(cudaStreamGetFlags, cudaStreamGetFlags_ptsz, (xcu_stream stream, unsigned *flags),
          (stream, flags))
{
    return rt_driver()->cuStreamGetFlags(stream, flags);
}

RT_API_PT(cudaStreamGetId, cudaStreamGetId_ptsz, (xcu_stream stream, unsigned long long *id),
          (stream, id))
{
    return rt_driver()->cuStreamGetId(stream, id);
}

RT_API_PT(cudaStreamGetDevice, cudaStreamGetDevice_ptsz, (xcu_stream stream, int *device),
          (stream, device))
{
    return rt_driver()->cuStreamGetDevice(stream, device);
}

RT_API_PT(cudaStreamAttachMemAsync, cudaStreamAttachMemAsync_ptsz,
          (xcu_stream stream, void *address, size_t bytes, unsigned flags),
          (stream, address, bytes, flags))
{
    return rt_driver()->cuStreamAttachMemAsync(stream, (xcu_deviceptr)address, bytes, flags);
}

RT_API_PT(cudaLaunchHostFunc, cudaLaunchHostFunc_ptsz,
          (xcu_stream stream, void (*function)(void *), void *user), (stream, function, user))
{
    return rt_driver()->cuLaunchHostFunc(stream, function, user);
}

RT_API_PT(cudaStreamAddCallback, cudaStreamAddCallback_ptsz,
          (xcu_stream stream, void (*callback)(xcu_stream, xrt_error, void *), void *user,
           unsigned flags),
          (stream, callback, user, flags))
{
    return rt_driver()->cuStreamAddCallback(stream, callback, user, flags);
}

/* ---- events ------------------------------------------------------------------------------- */

RT_API(cudaEventCreate, RT_CONTEXT, (xcu_event * out), (out))
{
    return rt_driver()->cuEventCreate(out, 0);
}

RT_API(cudaEventCreateWithFlags, RT_CONTEXT, (xcu_event * out, unsigned flags), (out, flags))
{
    return rt_driver()->cuEventCreate(out, flags);
}

RT_API(cudaEventDestroy, RT_CONTEXT, (xcu_event event), (event))
{
    return rt_driver()->cuEventDestroy(event);
}

RT_API_PT(cudaEventRecord, cudaEventRecord_ptsz, (xcu_event event, xcu_stream stream),
          (event, stream))
{
    return rt_driver()->cuEventRecord(event, stream);
}

RT_API_PT(cudaEventRecordWithFlags, cudaEventRecordWithFlags_ptsz,
          (xcu_event event, xcu_stream stream, unsigned flags), (event, stream, flags))
{
    return rt_driver()->cuEventRecordWithFlags(event, stream, flags);
}

RT_API(cudaEventQuery, RT_CONTEXT, (xcu_event event), (event))
{
    return rt_driver()->cuEventQuery(event);
}

RT_API(cudaEventSynchronize, RT_CONTEXT, (xcu_event event), (event))
{
    return rt_driver()->cuEventSynchronize(event);
}

RT_API(cudaEventElapsedTime, RT_CONTEXT, (float *ms, xcu_event start, xcu_event end),
       (ms, start, end))
{
    return rt_driver()->cuEventElapsedTime(ms, start, end);
}

/* ---- capture ------------------------------------------------------------------------------ */

RT_API_PT(cudaStreamBeginCapture, cudaStreamBeginCapture_ptsz, (xcu_stream stream, int mode),
          (stream, mode))
{
    return rt_driver()->cuStreamBeginCapture(stream, mode);
}

RT_API_PT(cudaStreamEndCapture, cudaStreamEndCapture_ptsz, (xcu_stream stream, xcu_graph *out),
          (stream, out))
{
    return rt_driver()->cuStreamEndCapture(stream, out);
}

RT_API_PT(cudaStreamIsCapturing, cudaStreamIsCapturing_ptsz, (xcu_stream stream, int *status),
          (stream, status))
{
    return rt_driver()->cuStreamIsCapturing(stream, status);
}

RT_API_PT(cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_ptsz,
          (xcu_stream stream, int *status, uint64_t *id, xcu_graph *graph,
           const xcu_graph_node **deps, const void **edges, size_t *count),
          (stream, status, id, graph, deps, edges, count))
{
    return rt_driver()->cuStreamGetCaptureInfo(stream, status, id, graph, deps, edges, count);
}

RT_API(cudaThreadExchangeStreamCaptureMode, RT_CONTEXT, (int *mode), (mode))
{
    return rt_driver()->cuThreadExchangeStreamCaptureMode(mode);
}

/* ---- graphs ------------------------------------------------------------------------------- */

RT_API(cudaGraphCreate, RT_CONTEXT, (xcu_graph * out, unsigned flags), (out, flags))
{
    return rt_driver()->cuGraphCreate(out, flags);
}

RT_API(cudaGraphDestroy, RT_CONTEXT, (xcu_graph graph), (graph))
{
    return rt_driver()->cuGraphDestroy(graph);
}

RT_API(cudaGraphAddMemsetNode, RT_CONTEXT,
       (xcu_graph_node * out, xcu_graph graph, const xcu_graph_node *deps, size_t count,
        const struct xcu_memset_node *params),
       (out, graph, deps, count, params))
{
    xcu_context context = NULL;
    xrt_error error = rt_driver()->cuCtxGetCurrent(&context);

    return error ? error
                 : rt_driver()->cuGraphAddMemsetNode(out, graph, deps, count, params, context);
}

RT_API(cudaGraphAddEmptyNode, RT_CONTEXT,
       (xcu_graph_node * out, xcu_graph graph, const xcu_graph_node *deps, size_t count),
       (out, graph, deps, count))
{
    return rt_driver()->cuGraphAddEmptyNode(out, graph, deps, count);
}

RT_API(cudaGraphAddChildGraphNode, RT_CONTEXT,
       (xcu_graph_node * out, xcu_graph graph, const xcu_graph_node *deps, size_t count,
        xcu_graph child),
       (out, graph, deps, count, child))
{
    return rt_driver()->cuGraphAddChildGraphNode(out, graph, deps, count, child);
}

RT_API(cudaGraphGetNodes, RT_CONTEXT, (xcu_graph graph, xcu_graph_node *nodes, size_t *count),
       (graph, nodes, count))
{
    return rt_driver()->cuGraphGetNodes(graph, nodes, count);
}

RT_API(cudaGraphNodeGetType, RT_CONTEXT, (xcu_graph_node node, int *type), (node, type))
{
    return rt_driver()->cuGraphNodeGetType(node, type);
}

RT_API(cudaGraphInstantiate, RT_CONTEXT,
       (xcu_graph_exec * out, xcu_graph graph, unsigned long long flags), (out, graph, flags))
{
    return rt_driver()->cuGraphInstantiateWithFlags(out, graph, flags);
}

RT_API(cudaGraphInstantiateWithFlags, RT_CONTEXT,
       (xcu_graph_exec * out, xcu_graph graph, unsigned long long flags), (out, graph, flags))
{
    return rt_driver()->cuGraphInstantiateWithFlags(out, graph, flags);
}

RT_API_PT(cudaGraphLaunch, cudaGraphLaunch_ptsz, (xcu_graph_exec exec, xcu_stream stream),
          (exec, stream))
{
    return rt_driver()->cuGraphLaunch(exec, stream);
}

RT_API_PT(cudaGraphUpload, cudaGraphUpload_ptsz, (xcu_graph_exec exec, xcu_stream stream),
          (exec, stream))
{
    return rt_driver()->cuGraphUpload(exec, stream);
}

RT_API(cudaGraphExecDestroy, RT_CONTEXT, (xcu_graph_exec exec), (exec))
{
    return rt_driver()->cuGraphExecDestroy(exec);
}
