/*
 * What calls of the real NCCL take, on two GPUs of one process, for comparison with and without
 * recording them; by hand, on a machine that has these (tests/gpu/late/run).
 *
 * usage: nccl_hook LIBCUDART LIBNCCL BURSTS CALLS
 *
 *   empty    ncclGroupStart and ncclGroupEnd: two calls
 *   queued   a group of 64 ncclSend of 4 bytes to the other GPU, and as many ncclRecv there: what
 * the sends and receives take, which only queue their work; one call reduce   a group of an
 * all-reduce of 4 KiB on both GPUs: four calls, and two launches
 *
 * Prints for each the lower quartile, the median and the upper quartile of the bursts, in ns.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tests/bench/times.h"

enum { GPUS = 2, BYTES = 4096, QUEUED = 64, INT8 = 0, SUM = 0 };

#define CUDA(X)                                                                                    \
    X(cudaSetDevice, (int))                                                                        \
    X(cudaMalloc, (void **, size_t))                                                               \
    X(cudaStreamCreate, (void **))                                                                 \
    X(cudaStreamSynchronize, (void *))
#define NCCL(X)                                                                                    \
    X(ncclCommInitAll, (void **, int, const int *))                                                \
    X(ncclGroupStart, (void))                                                                      \
    X(ncclGroupEnd, (void))                                                                        \
    X(ncclAllReduce, (const void *, void *, size_t, int, int, void *, void *))                     \
    X(ncclSend, (const void *, size_t, int, int, void *, void *))                                  \
    X(ncclRecv, (void *, size_t, int, int, void *, void *))
#define POINTER(name, parameters) int(*name) parameters;
static struct {
    CUDA(POINTER)
    NCCL(POINTER)
} f;

static void *memory[GPUS], *streams[GPUS], *ranks[GPUS];

static void check(int wrong, const char *what)
{
    if (!wrong)
        return;
    fprintf(stderr, "nccl_hook: %s\n", what);
    exit(1);
}

static void find_all(const char *cuda, const char *nccl)
{
    void *runtime = dlopen(cuda, RTLD_NOW | RTLD_GLOBAL), *library = dlopen(nccl, RTLD_NOW);
    check(!runtime || !library, "no libraries");
#define FIND_IN(from, name) check(!(*(void **)&f.name = dlsym(from, #name)), #name);
#define FIND_CUDA(name, parameters) FIND_IN(runtime, name)
#define FIND_NCCL(name, parameters) FIND_IN(library, name)
    CUDA(FIND_CUDA)
    NCCL(FIND_NCCL)
}

static void start(void)
{
    for (int i = 0; i < GPUS; i++) {
        check(f.cudaSetDevice(i) || f.cudaMalloc(&memory[i], BYTES), "no memory");
        check(f.cudaStreamCreate(&streams[i]), "no stream");
    }
    check(f.ncclCommInitAll(ranks, GPUS, NULL), "no communicator");
}

static void wait_for_all(void)
{
    for (int i = 0; i < GPUS; i++)
        check(f.cudaStreamSynchronize(streams[i]), "a device failed");
}

static double empty(long calls)
{
    double from_ns = thread_ns();
    for (long i = 0; i < calls; i++) {
        f.ncclGroupStart();
        f.ncclGroupEnd();
    }
    return (thread_ns() - from_ns) / (double)calls;
}

/* Of one call; the group's end, which does the work, is not in it. */
static double queued(long calls)
{
    f.ncclGroupStart();
    double from_ns = thread_ns();
    for (long i = 0; i < QUEUED; i++) {
        f.ncclSend(memory[0], 4, INT8, 1, ranks[0], streams[0]);
        f.ncclRecv(memory[1], 4, INT8, 0, ranks[1], streams[1]);
    }
    double ns = thread_ns() - from_ns;
    check(f.ncclGroupEnd(), "no messages");
    wait_for_all();
    (void)calls;
    return ns / (2 * QUEUED);
}

static double reduce(long calls)
{
    double from_ns = thread_ns();
    for (long i = 0; i < calls / 10 + 1; i++) {
        f.ncclGroupStart();
        for (int k = 0; k < GPUS; k++)
            f.ncclAllReduce(memory[k], memory[k], BYTES, INT8, SUM, ranks[k], streams[k]);
        check(f.ncclGroupEnd(), "no reduction");
    }
    double ns = thread_ns() - from_ns;
    wait_for_all();
    return ns / (double)(calls / 10 + 1);
}

static void say(const char *name, double (*burst)(long), long bursts, long calls)
{
    for (long i = -2; i < bursts; i++) { /* the first two connect, and fill caches */
        double ns = burst(calls);
        if (i >= 0)
            burst_ns[i] = ns;
    }
    qsort(burst_ns, (size_t)bursts, sizeof *burst_ns, compare_times);
    printf("%-7s %9.1f %9.1f %9.1f\n", name, burst_ns[bursts / 4], burst_ns[bursts / 2],
           burst_ns[bursts * 3 / 4]);
}

int main(int argc, char **argv)
{
    long bursts = argc == 5 ? atol(argv[3]) : 0, calls = argc == 5 ? atol(argv[4]) : 0;
    if (bursts < 1 || bursts > BURSTS_MOST || calls < 1) {
        fputs("usage: nccl_hook LIBCUDART LIBNCCL BURSTS CALLS\n", stderr);
        return 2;
    }
    find_all(argv[1], argv[2]);
    start();
    say("empty", empty, bursts, calls);
    say("queued", queued, bursts, calls);
    say("reduce", reduce, bursts, calls);
    return 0;
}
