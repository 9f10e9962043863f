/*
 * What a hook adds to a call, in one process: bursts of cuMemcpyHtoDAsync of 64 bytes from pinned
 * memory, or of launches of an empty kernel with a pointer and a number, through the hook and past
 * it in turn, so that a machine that changes its speed changes it for both. Prints one line,
 *
 *     bare NS hooked NS added NS p10 NS p90 NS calls N
 *
 * medians in ns per call over the bursts; added, p10 and p90 are of the differences of neighbours.
 * Without the recorder both are the bare call. usage: overhead_paired [PAIRS [CALLS_PER_BURST
 * [launch]]]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "xferscope/cuda_abi.h"

void *unhooked_symbol(void *handle, const char *name);

enum { BYTES = 64, WARM_UP_PAIRS = 10 };

/* With an entry for old GPUs: any driver translates it. */
static const char source[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                             ".visible .entry empty(.param .u64 p, .param .u32 n) { ret; }\n";

typedef xcu_result copy_function(xcu_deviceptr, const void *, size_t, xcu_stream);
typedef xcu_result launch_function(void *function, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned, unsigned shared, xcu_stream, void **parameters,
                                   void **extra);

static struct {
    xcu_result (*init)(unsigned);
    xcu_result (*retain)(xcu_context *, xcu_device);
    xcu_result (*current)(xcu_context);
    xcu_result (*alloc)(xcu_deviceptr *, size_t);
    xcu_result (*alloc_host)(void **, size_t);
    xcu_result (*stream)(xcu_stream *, unsigned);
    xcu_result (*wait)(xcu_stream);
    xcu_result (*load)(void **, const void *);
    xcu_result (*function)(void **, void *, const char *);
    copy_function *copy[2]; /* bare, hooked */
    launch_function *launch[2];
} cu;

static xcu_deviceptr device;
static void *pinned;
static xcu_stream stream;
static void *kernel;

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
        {&cu.load, "cuModuleLoadData"},
        {&cu.function, "cuModuleGetFunction"},
        {&cu.copy[1], "cuMemcpyHtoDAsync_v2"},
        {&cu.launch[1], "cuLaunchKernel"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        *(void **)wanted[i].slot = driver ? dlsym(driver, wanted[i].name) : NULL;
        if (*(void **)wanted[i].slot == NULL) {
            fprintf(stderr, "overhead_paired: no %s\n", wanted[i].name);
            exit(1);
        }
    }
    cu.copy[0] = (copy_function *)unhooked_symbol(driver, "cuMemcpyHtoDAsync_v2");
    cu.launch[0] = (launch_function *)unhooked_symbol(driver, "cuLaunchKernel");
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void copies(int hooked, long calls)
{
    for (long i = 0; i < calls; i++)
        check(cu.copy[hooked](device, pinned, BYTES, stream), "copy");
}

static void launches(int hooked, long calls)
{
    int number = 1;
    void *parameters[] = {&device, &number};
    for (long i = 0; i < calls; i++)
        check(cu.launch[hooked](kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL), "launch");
}

/* ns per call. */
static double burst(void (*call)(int, long), int hooked, long calls)
{
    double start = now_ns();
    call(hooked, calls);
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
    void (*call)(int, long) = argc > 3 && strcmp(argv[3], "launch") == 0 ? launches : copies;
    xcu_context context;
    void *module;
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
    check(cu.load(&module, source), "module");
    check(cu.function(&kernel, module, "empty"), "kernel");
    copies(1, 1); /* with which recording of launches begins */
    for (long i = -WARM_UP_PAIRS; i < pairs; i++) {
        double past = burst(call, 0, calls), through = burst(call, 1, calls);
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
