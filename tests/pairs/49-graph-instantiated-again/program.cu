/*
 * An iterative solver whose step is a graph: many small kernels of which the last one is given
 * another value each time. For that, the step is captured anew each time, and the graph
 * instantiated, launched and destroyed.
 *
 * AFTER: One executable graph is kept; in each step it is updated from the graph (and instantiated
 * only where it cannot be).
 */
#include "../pair.h"

enum { SWEEPS = 23, LENGTH = 4096, BUFFERS = 2 };

/* Captures a step: sweeps over two buffers, and what is added in the end. */
static cudaGraph_t step_of(cudaStream_t stream, float **data, size_t n, float value)
{
    cudaGraph_t graph;

    PAIR_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        pair_add<<<pair_blocks(n), PAIR_THREADS, 0, stream>>>(data[sweep % BUFFERS], n, 1);
    pair_add<<<pair_blocks(n), PAIR_THREADS, 0, stream>>>(data[0], n, value);
    PAIR_CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

/* Launches the graph of a step. kept: what the step before left; returns what the next one gets. */
static cudaGraphExec_t launch(cudaGraph_t graph, cudaGraphExec_t kept, cudaStream_t stream)
{
#ifdef AFTER
    cudaGraphExecUpdateResultInfo info;
    bool updated = kept && cudaGraphExecUpdate(kept, graph, &info) == cudaSuccess;

    if (kept && !updated) {
        cudaGetLastError();
        PAIR_CHECK(cudaGraphExecDestroy(kept));
    }
    if (!updated)
        PAIR_CHECK(cudaGraphInstantiate(&kept, graph, 0));
    PAIR_CHECK(cudaGraphLaunch(kept, stream));
#else
    PAIR_CHECK(cudaGraphInstantiate(&kept, graph, 0));
    PAIR_CHECK(cudaGraphLaunch(kept, stream));
    PAIR_CHECK(cudaGraphExecDestroy(kept));
    kept = NULL;
#endif
    return kept;
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 1500, LENGTH * sizeof(float)},
                                 {true, 20, LENGTH * sizeof(float)});
    size_t n = p.bytes / sizeof(float);
    float *data[BUFFERS];
    cudaGraphExec_t kept = NULL;
    cudaStream_t stream;

    PAIR_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < BUFFERS; i++) {
        PAIR_CHECK(cudaMalloc(&data[i], p.bytes));
        pair_device_fill(data[i], n);
    }
    for (long step = -1; step < p.steps; step++) { /* the first warms up */
        cudaGraph_t graph;

        if (step == 0)
            pair_begin();
        graph = step_of(stream, data, n, (float)(step & 3));
        kept = launch(graph, kept, stream);
        PAIR_CHECK(cudaGraphDestroy(graph));
    }
    pair_stop();
    pair_end(pair_device_sum(data[0], n) + pair_device_sum(data[1], n), 0);
    if (kept)
        PAIR_CHECK(cudaGraphExecDestroy(kept));
    for (int i = 0; i < BUFFERS; i++)
        PAIR_CHECK(cudaFree(data[i]));
    PAIR_CHECK(cudaStreamDestroy(stream));
    return 0;
}
