/*
 * An iterative solver on a small grid: in each sweep two halves are worked on in two streams, of
 * which the second one waits for what the first one has begun with, and the first one for the
 * second one in the end. After some sweeps the host fetches the result, which it could stop by. The
 * kernels are so short that the GPU waits for the launches.
 *
 * AFTER: Eight sweeps are captured once, and launched as one graph.
 */
#include "../pair.h"

enum { SWEEPS = 48, IN_GRAPH = 8, LENGTH = 4096, HALVES = 2 };

struct solver {
    cudaStream_t streams[HALVES];
    cudaEvent_t begun, done;
    float *halves[HALVES];
    size_t n;
};

static void sweep(const struct solver *s)
{
    unsigned blocks = pair_blocks(s->n);

    pair_add<<<blocks, PAIR_THREADS, 0, s->streams[0]>>>(s->halves[0], s->n, 1);
    PAIR_CHECK(cudaEventRecord(s->begun, s->streams[0]));
    PAIR_CHECK(cudaStreamWaitEvent(s->streams[1], s->begun, 0));
    pair_add<<<blocks, PAIR_THREADS, 0, s->streams[1]>>>(s->halves[1], s->n, 2);
    pair_add<<<blocks, PAIR_THREADS, 0, s->streams[0]>>>(s->halves[0], s->n, 3);
    pair_add<<<blocks, PAIR_THREADS, 0, s->streams[1]>>>(s->halves[1], s->n, -1);
    PAIR_CHECK(cudaEventRecord(s->done, s->streams[1]));
    PAIR_CHECK(cudaStreamWaitEvent(s->streams[0], s->done, 0));
    pair_add<<<blocks, PAIR_THREADS, 0, s->streams[0]>>>(s->halves[0], s->n, -2);
}

#ifdef AFTER
static cudaGraphExec_t sweeps_captured(const struct solver *s)
{
    cudaGraph_t graph;
    cudaGraphExec_t sweeps;

    PAIR_CHECK(cudaStreamBeginCapture(s->streams[0], cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < IN_GRAPH; i++)
        sweep(s);
    PAIR_CHECK(cudaStreamEndCapture(s->streams[0], &graph));
    PAIR_CHECK(cudaGraphInstantiate(&sweeps, graph, 0));
    PAIR_CHECK(cudaGraphDestroy(graph));
    return sweeps;
}
#endif

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 400, LENGTH * sizeof(float)},
                                 {true, 12, LENGTH * sizeof(float)});
    struct solver s = {};
    unsigned long long sum = 0;
    float *fetched;

    s.n = p.bytes / sizeof(float);
    PAIR_CHECK(cudaMallocHost(&fetched, p.bytes));
    PAIR_CHECK(cudaEventCreateWithFlags(&s.begun, cudaEventDisableTiming));
    PAIR_CHECK(cudaEventCreateWithFlags(&s.done, cudaEventDisableTiming));
    for (int i = 0; i < HALVES; i++) {
        PAIR_CHECK(cudaStreamCreateWithFlags(&s.streams[i], cudaStreamNonBlocking));
        PAIR_CHECK(cudaMalloc(&s.halves[i], p.bytes));
        pair_device_fill(s.halves[i], s.n);
    }
#ifdef AFTER
    cudaGraphExec_t sweeps = sweeps_captured(&s);
#endif
    for (long step = -1; step < p.steps; step++) { /* the first warms up */
        if (step == 0)
            pair_begin();
#ifdef AFTER
        for (int i = 0; i < SWEEPS; i += IN_GRAPH)
            PAIR_CHECK(cudaGraphLaunch(sweeps, s.streams[0]));
#else
        for (int i = 0; i < SWEEPS; i++)
            sweep(&s);
#endif
        PAIR_CHECK(
            cudaMemcpyAsync(fetched, s.halves[0], p.bytes, cudaMemcpyDeviceToHost, s.streams[0]));
        PAIR_CHECK(cudaStreamSynchronize(s.streams[0]));
        sum += pair_host_sum(fetched, s.n);
    }
    pair_stop();
    pair_end(sum + pair_device_sum(s.halves[1], s.n), (unsigned long long)p.steps);
#ifdef AFTER
    PAIR_CHECK(cudaGraphExecDestroy(sweeps));
#endif
    for (int i = 0; i < HALVES; i++) {
        PAIR_CHECK(cudaFree(s.halves[i]));
        PAIR_CHECK(cudaStreamDestroy(s.streams[i]));
    }
    PAIR_CHECK(cudaEventDestroy(s.begun));
    PAIR_CHECK(cudaEventDestroy(s.done));
    PAIR_CHECK(cudaFreeHost(fetched));
    return 0;
}
