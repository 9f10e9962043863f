/*
 * Captures: copies of pageable memory in a stream that is being captured, beside one in the same
 * thread and in another, in each mode: what the calls return, and what the capture becomes.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "tests/apply/programs/applied.h"

#define BYTES (3 * MIB)

xrt_error cudaStreamBeginCapture(xcu_stream stream, int mode);
xrt_error cudaStreamEndCapture(xcu_stream stream, xcu_graph *graph);
xrt_error cudaStreamCreateWithFlags(xcu_stream *stream, unsigned flags);

static void *device, *other;
static char *host;

static void *beside(void *stream)
{
    int error = cudaMemcpyAsync(other, host, BYTES, XRT_COPY_H2D, stream);
    printf("  in another thread: %d\n", error);
    cudaGetLastError();
    return NULL;
}

static void capture(int mode, int what, xcu_stream captured, xcu_stream free_one)
{
    xcu_graph graph = NULL;
    pthread_t thread;
    int error = cudaStreamBeginCapture(captured, mode);
    printf("mode %d, %d: begun %d\n", mode, what, error);
    if (what == 0)
        error = cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, captured);
    else if (what == 1)
        error = cudaMemcpyAsync(other, host, BYTES, XRT_COPY_H2D, free_one);
    else if (what == 2)
        error = cudaMemcpy(other, host, BYTES, XRT_COPY_H2D);
    else
        error = cudaMemcpyAsync(host, other, BYTES, XRT_COPY_D2H, NULL);
    printf("  copy %d, last %d\n", error, cudaGetLastError());
    pthread_create(&thread, NULL, beside, free_one);
    pthread_join(thread, NULL);
    error = cudaStreamEndCapture(captured, &graph);
    printf("  ended %d, %s, last %d\n", error, graph ? "a graph" : "none", cudaGetLastError());
}

int main(void)
{
    xcu_stream captured, free_one;
    host = malloc(WARM_BYTES);
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    MUST(cudaMalloc(&other, WARM_BYTES));
    MUST(cudaStreamCreate(&captured));
    MUST(cudaStreamCreateWithFlags(&free_one, XCU_STREAM_NON_BLOCKING));
    warm_up(device, host);
    for (int mode = 0; mode < 3; mode++)
        for (int what = 0; what < 4; what++)
            capture(mode, what, captured, free_one);
    MUST(cudaMemcpy(host, device, BYTES, XRT_COPY_D2H));
    printf("after: %d\n", cudaMemcpyAsync(host, device, BYTES, XRT_COPY_D2H, captured));
    return 0;
}
