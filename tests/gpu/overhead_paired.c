/*
 * What a hook adds to one small asynchronous copy, in one process: bursts of cuMemcpyHtoDAsync of
 * 64 bytes from pinned memory, through the hook and past it in turn, so that a machine that changes
 * its speed changes it for both. Prints one line,
 *
 *     bare NS hooked NS added NS p10 NS p90 NS calls N
 *
 * medians in ns per call over the bursts; added, p10 and p90 are of the differences of neighbours.
 * Without the recorder both are the bare call. usage: overhead_paired [PAIRS [CALLS_PER_BURST]]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "xferscope/cuda_abi.h"

void *unhooked_symbol(void *handle, const char *name);

enum { BYTES = 64, WARM_UP_PAIRS = 10 };

typedef xcu_result copy_function(xcu_deviceptr, const void *, size_t, xcu_stream);

static struct {
    xcu_result (*init)(unsigned);
    xcu_result (*retain)(xcu_context *, xcu_device);
    xcu_result (*current)(xcu_context);
    xcu_result (*alloc)(xcu_deviceptr *, size_t);
    xcu_result (*alloc_host)(void **, size_t);
    xcu_result (*stream)(xcu_stream *, unsigned);
    xcu_result (*wait)(xcu_stream);
    copy_function *hooked, *bare;
} cu;

static xcu_deviceptr device;
static void *pinned;
static xcu_stream stream;

static void check(xcu_result status, const char *what)
{
    if (status != XCU_SUCCESS) {
        fprintf(stderr, "overhead_paired: %s: error %d\n", what, status);
        exit(1);
    }
}

static void find_functions(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    const struct {
        void *slot;
        const char *name;
    } wanted[] = {
        {&cu.init, "cuInit"},
        {&cu.retain, "cuDevicePrimaryCtxRetain"},
        {&cu.current, "cuCtxSetCurrent"},
        {&cu.alloc, "cuMemAlloc_v2"},
        {&cu.alloc_host, "cuMemAllocHost_v2"},
        {&cu.stream, "cuStreamCreate"},
        {&cu.wait, "cuStreamSynchronize"},
        {&cu.hooked, "cuMemcpyHtoDAsync_v2"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        *(void **)wanted[i].slot = driver ? dlsym(driver, wanted[i].name) : NULL;
        if (*(void **)wanted[i].slot == NULL) {
            fprintf(stderr, "overhead_paired: no %s\n", wanted[i].name);
            exit(1);
        }
    }
    cu.bare = (copy_function *)unhooked_symbol(driver, "cuMemcpyHtoDAsync_v2");
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double burst(copy_function *copy, long calls)
{
    double start = now_ns();
    for (long i = 0; i < calls; i++)
        check(copy(device, pinned, BYTES, stream), "copy");
    double took = now_ns() - start;
    check(cu.wait(stream), "synchronisation");
    return took / (double)calls;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *values, long n, double q)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    return values[(long)((double)(n - 1) * q + 0.5)];
}

int main(int argc, char **argv)
{
    long pairs = argc > 1 ? atol(argv[1]) : 200, calls = argc > 2 ? atol(argv[2]) : 1000;
    xcu_context context;
    if (pairs < 1 || calls < 1)
        return 2;
    double *bare = calloc((size_t)pairs * 3, sizeof *bare);
    if (bare == NULL)
        return 1;
    double *hooked = bare + pairs, *added = hooked + pairs;
    find_functions();
    check(cu.init(0), "cuInit");
    check(cu.retain(&context, 0), "context");
    check(cu.current(context), "context");
    check(cu.alloc(&device, 4096), "device memory");
    check(cu.alloc_host(&pinned, 4096), "pinned memory");
    check(cu.stream(&stream, 0), "stream");
    for (long i = -WARM_UP_PAIRS; i < pairs; i++) {
        double past = burst(cu.bare, calls), through = burst(cu.hooked, calls);
        if (i >= 0) {
            bare[i] = past;
            hooked[i] = through;
            added[i] = through - past;
        }
    }
    printf("bare %.1f hooked %.1f added %.1f p10 %.1f p90 %.1f calls %ld\n",
           quantile(bare, pairs, 0.5), quantile(hooked, pairs, 0.5), quantile(added, pairs, 0.5),
           quantile(added, pairs, 0.1), quantile(added, pairs, 0.9), pairs * calls);
    return 0;
}
