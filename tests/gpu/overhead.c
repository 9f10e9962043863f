/*
 * What issuing one small asynchronous copy costs the caller: 64 bytes from pinned memory, on one
 * stream, in bursts that are waited for outside of the measured time. Prints one line,
 *
 *     median MEDIAN p10 P10 p90 P90 calls CALLS
 *
 * in ns per call, over the bursts. Run it bare and under the recorder (overhead.sh).
 *
 * usage: overhead [BURSTS [CALLS_PER_BURST]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/programs/runtime_api.h"

enum { BYTES = 64, WARM_UP_BURSTS = 5 };

struct setting {
    void *device, *pinned;
    xcu_stream stream;
    long bursts, calls;
};

static void check(xrt_error error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "overhead: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ns per call. A function of its own, for callgrind's --toggle-collect. */
__attribute__((noinline)) static double burst(const struct setting *s)
{
    double start = now_ns();
    for (long i = 0; i < s->calls; i++)
        check(cudaMemcpyAsync(s->device, s->pinned, BYTES, XRT_COPY_H2D, s->stream), "copy");
    double took = now_ns() - start;
    check(cudaStreamSynchronize(s->stream), "synchronisation");
    return took / (double)s->calls;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const struct setting *s)
{
    double *costs = malloc((size_t)s->bursts * sizeof *costs);
    if (costs == NULL) {
        fprintf(stderr, "overhead: out of memory\n");
        exit(1);
    }
    for (int i = 0; i < WARM_UP_BURSTS; i++)
        burst(s);
    for (long i = 0; i < s->bursts; i++)
        costs[i] = burst(s);
    qsort(costs, (size_t)s->bursts, sizeof *costs, ascending);
    printf("median %.1f p10 %.1f p90 %.1f calls %ld\n", costs[s->bursts / 2], costs[s->bursts / 10],
           costs[s->bursts * 9 / 10], s->bursts * s->calls);
    free(costs);
}

int main(int argc, char **argv)
{
    struct setting s = {
        .bursts = argc > 1 ? atol(argv[1]) : 200,
        .calls = argc > 2 ? atol(argv[2]) : 1000,
    };
    if (argc > 3 || s.bursts < 1 || s.bursts > 1000000 || s.calls < 1 || s.calls > 1000000) {
        fprintf(stderr, "usage: overhead [BURSTS [CALLS_PER_BURST]], each from 1 to 1000000\n");
        return 2;
    }
    check(cudaMalloc(&s.device, BYTES), "allocation");
    check(cudaMallocHost(&s.pinned, BYTES), "pinned allocation");
    check(cudaStreamCreate(&s.stream), "stream");
    measure(&s);
    check(cudaStreamDestroy(s.stream), "release");
    check(cudaFreeHost(s.pinned), "release");
    check(cudaFree(s.device), "release");
    return 0;
}
