/*
 * Graphs of copies through the driver API alone, with what each launch has to move: one line per
 * launch and direction (direction, transfers, bytes, graph), and at the end how many launches there
 * were. Nodes added one by one, child graphs within child graphs, the same child twice, copies
 * captured from a stream; copies disabled and enabled again, parameters changed, a graph updated as
 * a whole; memory that a graph allocates by a node of its own. The functions are taken by dlsym: no
 * toolkit is needed.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "xferscope/cuda_abi.h"

enum { N = 65536 };

#define CALLS(X)                                                                                   \
    X(cuInit, (unsigned))                                                                          \
    X(cuDeviceGet, (xcu_device *, int))                                                            \
    X(cuDevicePrimaryCtxRetain, (xcu_context *, xcu_device))                                       \
    X(cuCtxSetCurrent, (xcu_context))                                                              \
    X(cuMemAlloc_v2, (xcu_deviceptr *, size_t))                                                    \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                                                 \
    X(cuStreamCreate, (xcu_stream *, unsigned))                                                    \
    X(cuStreamSynchronize, (xcu_stream))                                                           \
    X(cuStreamBeginCapture_v2, (xcu_stream, int))                                                  \
    X(cuStreamEndCapture, (xcu_stream, xcu_graph *))                                               \
    X(cuMemcpyHtoDAsync_v2, (xcu_deviceptr, const void *, size_t, xcu_stream))                     \
    X(cuMemcpyDtoHAsync_v2, (void *, xcu_deviceptr, size_t, xcu_stream))                           \
    X(cuGraphCreate, (xcu_graph *, unsigned))                                                      \
    X(cuGraphAddMemcpyNode, (xcu_graph_node *, xcu_graph, const xcu_graph_node *, size_t,          \
                             const struct xcu_memcpy3d *, xcu_context))                            \
    X(cuGraphAddChildGraphNode,                                                                    \
      (xcu_graph_node *, xcu_graph, const xcu_graph_node *, size_t, xcu_graph))                    \
    X(cuGraphAddMemAllocNode,                                                                      \
      (xcu_graph_node *, xcu_graph, const xcu_graph_node *, size_t, struct xcu_alloc_node *))      \
    X(cuGraphAddMemFreeNode,                                                                       \
      (xcu_graph_node *, xcu_graph, const xcu_graph_node *, size_t, xcu_deviceptr))                \
    X(cuMemAllocAsync, (xcu_deviceptr *, size_t, xcu_stream))                                      \
    X(cuMemFreeAsync, (xcu_deviceptr, xcu_stream))                                                 \
    X(cuGraphInstantiateWithFlags, (xcu_graph_exec *, xcu_graph, unsigned long long))              \
    X(cuGraphNodeSetEnabled, (xcu_graph_exec, xcu_graph_node, unsigned))                           \
    X(cuGraphExecMemcpyNodeSetParams,                                                              \
      (xcu_graph_exec, xcu_graph_node, const struct xcu_memcpy3d *, xcu_context))                  \
    X(cuGraphExecUpdate_v2, (xcu_graph_exec, xcu_graph, void *))                                   \
    X(cuGraphLaunch, (xcu_graph_exec, xcu_stream))                                                 \
    X(cuGraphExecDestroy, (xcu_graph_exec))                                                        \
    X(cuGraphDestroy, (xcu_graph))

#include "tests/programs/calls_by_name.h"

static xcu_context context;
static xcu_deviceptr device, other;
static char *pinned;
static xcu_stream stream;
static int launches;

/* What one launch moves. */
struct moves {
    int up, up_bytes, down, down_bytes, across, across_bytes;
};

static void launch(xcu_graph_exec exec, int times, struct moves m, const char *what)
{
    launches += times;
    for (int i = 0; i < times; i++)
        CALL(cuGraphLaunch, exec, stream);
    CALL(cuStreamSynchronize, stream);
    if (m.up)
        printf("H2D %d %d %s\n", times * m.up, times * m.up_bytes, what);
    if (m.down)
        printf("D2H %d %d %s\n", times * m.down, times * m.down_bytes, what);
    if (m.across)
        printf("D2D %d %d %s\n", times * m.across, times * m.across_bytes, what);
}

static struct xcu_memcpy3d up(size_t bytes)
{
    return (struct xcu_memcpy3d){.src_type = XCU_MEMORY_HOST,
                                 .src_host = pinned,
                                 .dst_type = XCU_MEMORY_DEVICE,
                                 .dst_device = device,
                                 .width = bytes,
                                 .height = 1,
                                 .depth = 1};
}

static struct xcu_memcpy3d down(size_t bytes)
{
    return (struct xcu_memcpy3d){.src_type = XCU_MEMORY_DEVICE,
                                 .src_device = device,
                                 .dst_type = XCU_MEMORY_HOST,
                                 .dst_host = pinned,
                                 .width = bytes,
                                 .height = 1,
                                 .depth = 1};
}

static struct xcu_memcpy3d across(size_t bytes)
{
    return (struct xcu_memcpy3d){.src_type = XCU_MEMORY_DEVICE,
                                 .src_device = device,
                                 .dst_type = XCU_MEMORY_DEVICE,
                                 .dst_device = other,
                                 .width = bytes,
                                 .height = 1,
                                 .depth = 1};
}

static xcu_graph new_graph(void)
{
    xcu_graph graph = NULL;

    CALL(cuGraphCreate, &graph, 0);
    return graph;
}

static xcu_graph_node add(xcu_graph graph, struct xcu_memcpy3d copy)
{
    xcu_graph_node node = NULL;

    CALL(cuGraphAddMemcpyNode, &node, graph, NULL, 0, &copy, context);
    return node;
}

static xcu_graph_node add_child(xcu_graph graph, xcu_graph child)
{
    xcu_graph_node node = NULL;

    CALL(cuGraphAddChildGraphNode, &node, graph, NULL, 0, child);
    return node;
}

static xcu_graph_exec instantiate(xcu_graph graph)
{
    xcu_graph_exec exec = NULL;

    CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
    return exec;
}

static void one_copy(void)
{
    xcu_graph graph = new_graph();

    add(graph, up(N));
    xcu_graph_exec exec = instantiate(graph);
    launch(exec, 1, (struct moves){.up = 1, .up_bytes = N}, "one copy");
    CALL(cuGraphExecDestroy, exec);
    CALL(cuGraphDestroy, graph);
}

static void children(void)
{
    xcu_graph inner = new_graph(), middle = new_graph(), graph = new_graph();

    add(inner, up(N / 2));
    add(inner, across(N / 4));
    add_child(middle, inner);
    add(middle, down(N / 8));
    add_child(graph, middle);
    add_child(graph, inner);
    add(graph, down(N / 16));
    xcu_graph_exec exec = instantiate(graph);
    launch(exec, 3, (struct moves){2, 2 * (N / 2), 2, N / 8 + N / 16, 2, 2 * (N / 4)}, "children");
    CALL(cuGraphExecDestroy, exec);
    CALL(cuGraphDestroy, graph);
    CALL(cuGraphDestroy, middle);
    CALL(cuGraphDestroy, inner);
}

static void captured(void)
{
    xcu_graph graph = NULL;

    CALL(cuStreamBeginCapture_v2, stream, 0);
    CALL(cuMemcpyHtoDAsync_v2, device, pinned, N, stream);
    CALL(cuMemcpyDtoHAsync_v2, pinned, device, N / 2, stream);
    CALL(cuMemcpyDtoHAsync_v2, pinned, device, N / 4, stream);
    CALL(cuStreamEndCapture, stream, &graph);
    xcu_graph_exec exec = instantiate(graph), again = instantiate(graph);
    launch(exec, 5, (struct moves){1, N, 2, N / 2 + N / 4, 0, 0}, "captured");
    launch(again, 2, (struct moves){1, N, 2, N / 2 + N / 4, 0, 0}, "captured, instantiated again");
    CALL(cuGraphExecDestroy, exec);
    CALL(cuGraphExecDestroy, again);
    CALL(cuGraphDestroy, graph);
}

static void changed(void)
{
    xcu_graph graph = new_graph(), wider = new_graph();
    struct xcu_memcpy3d less = up(N / 2);
    char result[64];

    xcu_graph_node first = add(graph, up(N)), second = add(graph, down(N));
    xcu_graph_exec exec = instantiate(graph);
    CALL(cuGraphExecMemcpyNodeSetParams, exec, first, &less, context);
    launch(exec, 2, (struct moves){1, N / 2, 1, N, 0, 0}, "parameters changed");
    CALL(cuGraphNodeSetEnabled, exec, second, 0);
    launch(exec, 3, (struct moves){1, N / 2, 0, 0, 0, 0}, "one disabled");
    CALL(cuGraphNodeSetEnabled, exec, first, 0);
    launch(exec, 4, (struct moves){0}, "all disabled");
    CALL(cuGraphNodeSetEnabled, exec, first, 1);
    CALL(cuGraphNodeSetEnabled, exec, second, 1);
    launch(exec, 1, (struct moves){1, N / 2, 1, N, 0, 0}, "all enabled again");
    add(wider, up(N / 8));
    add(wider, down(N / 16));
    CALL(cuGraphExecUpdate_v2, exec, wider, result);
    launch(exec, 2, (struct moves){1, N / 8, 1, N / 16, 0, 0}, "updated as a whole");
    CALL(cuGraphExecDestroy, exec);
    CALL(cuGraphDestroy, wider);
    CALL(cuGraphDestroy, graph);
}

static xcu_graph_node add_after(xcu_graph graph, xcu_graph_node before, struct xcu_memcpy3d copy)
{
    xcu_graph_node node = NULL;

    CALL(cuGraphAddMemcpyNode, &node, graph, &before, 1, &copy, context);
    return node;
}

/* Allocated and freed by the graph itself; at first nobody but its nodes can tell what it is. */
static void own_memory(xcu_device gpu)
{
    struct xcu_alloc_node memory = {.bytes = N};
    struct xcu_memcpy3d in = up(N), between = across(N / 2), out = down(N / 4);
    xcu_graph graph = new_graph();
    xcu_graph_node node = NULL, last = NULL;

    memory.pool.type = 1;
    memory.pool.location = (struct xcu_location){XCU_LOCATION_DEVICE, gpu};
    CALL(cuGraphAddMemAllocNode, &node, graph, NULL, 0, &memory);
    in.dst_device = out.src_device = memory.address;
    between.src_device = memory.address + N / 2; /* to its end */
    last = add_after(graph, add_after(graph, add_after(graph, node, in), between), out);
    CALL(cuGraphAddMemFreeNode, &node, graph, &last, 1, memory.address);
    xcu_graph_exec exec = instantiate(graph);
    launch(exec, 3, (struct moves){1, N, 1, N / 4, 1, N / 2}, "memory of its own");
    CALL(cuGraphExecDestroy, exec);
    CALL(cuGraphDestroy, graph);
}

static void own_memory_captured(void)
{
    xcu_graph graph = NULL;
    xcu_deviceptr memory = 0;

    CALL(cuStreamBeginCapture_v2, stream, 0);
    CALL(cuMemAllocAsync, &memory, N, stream);
    CALL(cuMemcpyHtoDAsync_v2, memory, pinned, N / 2, stream);
    CALL(cuMemcpyDtoHAsync_v2, pinned, memory, N / 8, stream);
    CALL(cuMemFreeAsync, memory, stream);
    CALL(cuStreamEndCapture, stream, &graph);
    xcu_graph_exec exec = instantiate(graph);
    launch(exec, 2, (struct moves){1, N / 2, 1, N / 8, 0, 0}, "memory of its own, captured");
    CALL(cuGraphExecDestroy, exec);
    CALL(cuGraphDestroy, graph);
}

int main(void)
{
    xcu_device gpu = 0;

    find_calls();
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &gpu, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, gpu);
    CALL(cuCtxSetCurrent, context);
    CALL(cuMemAlloc_v2, &device, N);
    CALL(cuMemAlloc_v2, &other, N);
    CALL(cuMemHostAlloc, (void **)&pinned, N, 0);
    CALL(cuStreamCreate, &stream, 1);
    one_copy();
    children();
    captured();
    changed();
    own_memory(gpu);
    own_memory_captured();
    printf("launches %d\n", launches);
    return 0;
}
