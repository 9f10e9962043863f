/*
 * The order of streams: uploads and downloads of pageable memory between copies within the device,
 * in streams that wait for each other by events, by the legacy default stream, and by nothing else.
 * Functions of the host that write a source are seen by the blocking copy behind them.
 */
#include <string.h>

#include "tests/apply/programs/applied.h"

xrt_error cudaLaunchHostFunc(xcu_stream stream, void (*function)(void *), void *user);
xrt_error cudaStreamWaitEvent(xcu_stream stream, xcu_event event, unsigned flags);
xrt_error cudaStreamCreateWithFlags(xcu_stream *stream, unsigned flags);

#define BYTES (9 * MIB)

static char *source, *found;
static void *one, *two;

static void write_source(void *value)
{
    memset(source, *(int *)value, BYTES);
}

static void check(const char *what, int value)
{
    size_t wrong = 0;
    for (size_t i = 0; i < BYTES; i++)
        wrong += found[i] != (char)value;
    if (wrong)
        printf("%s: %zu bytes are not %d\n", what, wrong, value);
}

static void by_events(xcu_stream a, xcu_stream b, int value)
{
    xcu_event arrived;
    MUST(cudaEventCreate(&arrived));
    memset(source, value, BYTES);
    MUST(cudaMemcpyAsync(one, source, BYTES, XRT_COPY_H2D, a));
    memset(source, 0, BYTES);
    MUST(cudaEventRecord(arrived, a));
    MUST(cudaStreamWaitEvent(b, arrived, 0));
    MUST(cudaMemcpyAsync(two, one, BYTES, XRT_COPY_D2D, b));
    MUST(cudaMemcpyAsync(found, two, BYTES, XRT_COPY_D2H, b));
    check("events", value); /* a pageable download has its data when it returns */
    MUST(cudaEventDestroy(arrived));
}

static void by_default_stream(xcu_stream a, int value)
{
    memset(source, value, BYTES);
    MUST(cudaMemcpyAsync(one, source, BYTES, XRT_COPY_H2D, a));
    MUST(cudaMemcpyAsync(two, one, BYTES, XRT_COPY_D2D, NULL));
    MUST(cudaMemcpyAsync(found, two, BYTES, XRT_COPY_D2H, a));
    check("default stream", value);
    memset(source, value + 1, BYTES);
    MUST(cudaMemcpy(one, source, BYTES, XRT_COPY_H2D));
    MUST(cudaMemcpyAsync(two, one, BYTES, XRT_COPY_D2D, a));
    MUST(cudaMemcpy(found, two, BYTES, XRT_COPY_D2H));
    check("default stream, blocking", value + 1);
}

/* A blocking copy begins when the host's function has run, in a stream that it waits for. */
static void by_host(xcu_stream a, int value)
{
    memset(source, 0, BYTES);
    MUST(cudaLaunchHostFunc(a, write_source, &value));
    MUST(cudaMemcpy(one, source, BYTES, XRT_COPY_H2D));
    MUST(cudaMemcpyAsync(found, one, BYTES, XRT_COPY_D2H, a));
    check("host's function", value);
}

/* Without Async an upload has arrived when it returns: a stream that waits for nothing finds it.
 * What it found comes down into page-locked memory, which no copy of ours waits for. */
static void by_return(xcu_stream apart, char *locked, int value)
{
    memset(source, value, BYTES);
    MUST(cudaMemcpy(one, source, BYTES, XRT_COPY_H2D));
    MUST(cudaMemcpyAsync(two, one, BYTES, XRT_COPY_D2D, apart));
    MUST(cudaMemcpyAsync(locked, two, BYTES, XRT_COPY_D2H, apart));
    MUST(cudaStreamSynchronize(apart));
    memcpy(found, locked, BYTES);
    check("blocking upload", value);
}

int main(void)
{
    xcu_stream a, b, apart;
    char *locked;
    MUST(cudaMallocHost((void **)&locked, BYTES));
    source = malloc(WARM_BYTES);
    found = malloc(WARM_BYTES);
    memset(source, 0, WARM_BYTES);
    MUST(cudaMalloc(&one, WARM_BYTES));
    MUST(cudaMalloc(&two, WARM_BYTES));
    MUST(cudaStreamCreate(&a));
    MUST(cudaStreamCreate(&b));
    MUST(cudaStreamCreateWithFlags(&apart, XCU_STREAM_NON_BLOCKING));
    warm_up(one, source);
    for (int i = 0; i < 12; i++) {
        by_events(a, b, 1 + 5 * i);
        by_events(b, a, 2 + 5 * i);
        by_default_stream(a, 3 + 5 * i);
        by_host(b, 5 + 5 * i);
        by_return(apart, locked, 6 + 5 * i);
    }
    printf("last error %d\n", cudaGetLastError());
    return 0;
}
