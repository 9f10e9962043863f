/*
 * CUDA graphs whose copies come about in every way, with what a recorder has to find: one line per
 * launch and direction (direction, transfers, bytes, graph).
 *
 * usage: graphs [exchanged]
 * captured from two streams; nodes added one by one, of one and of two dimensions and out of an
 * array; child graphs; parameters of the executable graph changed; copies that are disabled.
 * exchanged: a child graph exchanged in the executable graph, and a look at what it then moves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>

enum { N = 65536, WIDTH = 256, HEIGHT = 16, PITCH = 512 };

static unsigned char *pinned, *device, *device2;
static cudaArray_t array;
static cudaStream_t stream, other;

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "graphs: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

/* What one launch moves. */
struct moves {
    unsigned long up, up_bytes, down, down_bytes, across, across_bytes;
};

static void launch(cudaGraphExec_t exec, int times, struct moves m, const char *what)
{
    const unsigned long n = (unsigned long)times;

    for (int i = 0; i < times; i++)
        check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    if (m.up)
        printf("H2D %lu %lu %s\n", n * m.up, n * m.up_bytes, what);
    if (m.down)
        printf("D2H %lu %lu %s\n", n * m.down, n * m.down_bytes, what);
    if (m.across)
        printf("D2D %lu %lu %s\n", n * m.across, n * m.across_bytes, what);
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t exec;

    check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
    return exec;
}

static cudaGraphNode_t add(cudaGraph_t graph, void *dst, const void *src, size_t bytes)
{
    cudaGraphNode_t node;

    check(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, dst, src, bytes, cudaMemcpyDefault),
          "cudaGraphAddMemcpyNode1D");
    return node;
}

/* ---- captured ------------------------------------------------------------------------------ */

static void captured(void)
{
    cudaGraph_t graph;
    cudaEvent_t fork, join;

    check(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming), "cudaEventCreate");
    check(cudaEventCreateWithFlags(&join, cudaEventDisableTiming), "cudaEventCreate");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    check(cudaMemcpyAsync(device, pinned, N, cudaMemcpyDefault, stream), "H2D");
    check(cudaEventRecord(fork, stream), "cudaEventRecord");
    check(cudaStreamWaitEvent(other, fork, 0), "cudaStreamWaitEvent");
    check(cudaMemcpyAsync(device2, device, N / 2, cudaMemcpyDefault, other), "D2D");
    check(cudaMemcpyAsync(pinned, device, N / 4, cudaMemcpyDefault, stream), "D2H");
    check(cudaEventRecord(join, other), "cudaEventRecord");
    check(cudaStreamWaitEvent(stream, join, 0), "cudaStreamWaitEvent");
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    cudaGraphExec_t exec = instantiate(graph);
    launch(exec, 4, {1, N, 1, N / 4, 1, N / 2}, "captured");
    check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    check(cudaEventDestroy(fork), "cudaEventDestroy");
    check(cudaEventDestroy(join), "cudaEventDestroy");
}

/* ---- added --------------------------------------------------------------------------------- */

static cudaMemcpy3DParms rows(void)
{
    cudaMemcpy3DParms p = {};

    p.srcPtr = make_cudaPitchedPtr(pinned, WIDTH, WIDTH, HEIGHT);
    p.dstPtr = make_cudaPitchedPtr(device, PITCH, WIDTH, HEIGHT);
    p.extent = make_cudaExtent(WIDTH, HEIGHT, 1);
    p.kind = cudaMemcpyHostToDevice;
    return p;
}

static cudaMemcpy3DParms from_array(void)
{
    cudaMemcpy3DParms p = {};

    p.srcArray = array;
    p.dstPtr = make_cudaPitchedPtr(pinned, WIDTH, WIDTH, HEIGHT);
    p.extent = make_cudaExtent(WIDTH, HEIGHT, 1);
    p.kind = cudaMemcpyDeviceToHost;
    return p;
}

static void added(void)
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaMemcpy3DParms up = rows(), down = from_array();

    check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
    add(graph, device2, pinned, N);
    check(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &up), "cudaGraphAddMemcpyNode");
    check(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &down), "cudaGraphAddMemcpyNode");
    cudaGraphExec_t exec = instantiate(graph);
    launch(exec, 3, {2, N + WIDTH * HEIGHT, 1, WIDTH * HEIGHT, 0, 0}, "added");
    check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

/* ---- changed ------------------------------------------------------------------------------- */

static void changed(void)
{
    cudaGraph_t graph, wider;
    cudaGraphExecUpdateResultInfo result;

    check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
    cudaGraphNode_t up = add(graph, device, pinned, N);
    cudaGraphNode_t down = add(graph, pinned, device2, N);
    cudaGraphExec_t exec = instantiate(graph);
    launch(exec, 1, {1, N, 1, N, 0, 0}, "before the change");
    check(cudaGraphExecMemcpyNodeSetParams1D(exec, up, device, pinned, N / 2, cudaMemcpyDefault),
          "cudaGraphExecMemcpyNodeSetParams1D");
    launch(exec, 2, {1, N / 2, 1, N, 0, 0}, "parameters of a node");
    check(cudaGraphNodeSetEnabled(exec, down, 0), "cudaGraphNodeSetEnabled");
    launch(exec, 2, {1, N / 2, 0, 0, 0, 0}, "a node disabled");
    check(cudaGraphNodeSetEnabled(exec, down, 1), "cudaGraphNodeSetEnabled");
    check(cudaGraphCreate(&wider, 0), "cudaGraphCreate");
    add(wider, device, pinned, N / 8);
    add(wider, pinned, device2, N / 16);
    check(cudaGraphExecUpdate(exec, wider, &result), "cudaGraphExecUpdate");
    launch(exec, 3, {1, N / 8, 1, N / 16, 0, 0}, "updated as a whole");
    check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(wider), "cudaGraphDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

/* ---- children ------------------------------------------------------------------------------ */

static cudaGraph_t make_child(size_t bytes)
{
    cudaGraph_t child;

    check(cudaGraphCreate(&child, 0), "cudaGraphCreate");
    add(child, device, pinned, bytes);
    add(child, device2 + N / 2, device, bytes / 2);
    return child;
}

/* How many bytes the exchanged child's copy within the device has really moved: fetched, and so
 * announced. */
static void look_at_child(void)
{
    static unsigned char back[N / 2];
    size_t moved = 0;

    check(cudaMemcpy(back, device2 + N / 2, N / 2, cudaMemcpyDefault), "cudaMemcpy");
    printf("D2H 1 %d what the child moved\n", N / 2);
    for (size_t i = 0; i < sizeof back; i++)
        moved += back[i] == 5;
    if (moved != N / 8) {
        fprintf(stderr, "graphs: the exchanged child moved %zu bytes\n", moved);
        exit(1);
    }
}

static void children(void)
{
    cudaGraph_t graph, middle, child = make_child(N / 2);
    cudaGraphNode_t node, inner;

    check(cudaGraphCreate(&middle, 0), "cudaGraphCreate");
    check(cudaGraphAddChildGraphNode(&inner, middle, NULL, 0, child), "cudaGraphAddChildGraphNode");
    check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
    check(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, middle), "cudaGraphAddChildGraphNode");
    add(graph, pinned, device, N / 8);
    cudaGraphExec_t exec = instantiate(graph);
    launch(exec, 2, {1, N / 2, 1, N / 8, 1, N / 4}, "a child's child");
    check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    check(cudaGraphDestroy(middle), "cudaGraphDestroy");
    check(cudaGraphDestroy(child), "cudaGraphDestroy");
}

static void exchanged(void)
{
    cudaGraph_t graph, child = make_child(N / 2), other_child = make_child(N / 4);
    cudaGraphNode_t node;

    check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
    check(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child), "cudaGraphAddChildGraphNode");
    cudaGraphExec_t exec = instantiate(graph);
    check(cudaGraphExecChildGraphNodeSetParams(exec, node, other_child),
          "cudaGraphExecChildGraphNodeSetParams");
    check(cudaMemset(device, 5, N), "cudaMemset");
    check(cudaMemset(device2, 0, N), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    launch(exec, 3, {1, N / 4, 0, 0, 1, N / 8}, "a child exchanged");
    look_at_child();
    check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    check(cudaGraphDestroy(child), "cudaGraphDestroy");
    check(cudaGraphDestroy(other_child), "cudaGraphDestroy");
}

int main(int argc, char **argv)
{
    cudaChannelFormatDesc bytes = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);

    check(cudaMallocHost((void **)&pinned, N), "cudaMallocHost");
    memset(pinned, 5, N);
    check(cudaMalloc((void **)&device, N), "cudaMalloc");
    check(cudaMalloc((void **)&device2, N), "cudaMalloc");
    check(cudaMallocArray(&array, &bytes, WIDTH, HEIGHT), "cudaMallocArray");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "cudaStreamCreate");
    if (argc > 1 && strcmp(argv[1], "exchanged") == 0) {
        exchanged();
    } else {
        captured();
        added();
        changed();
        children();
    }
    check(cudaFreeArray(array), "cudaFreeArray");
    check(cudaFree(device), "cudaFree");
    check(cudaFree(device2), "cudaFree");
    check(cudaFreeHost(pinned), "cudaFreeHost");
    return 0;
}
