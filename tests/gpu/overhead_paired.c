/*
 * What a hook adds to a call, in one process: bursts of one kind of call, through the hook and past
 * it in turn, so that a machine that changes its speed changes it for both. KIND is
 *
 *     copy    cuMemcpyHtoDAsync of 64 bytes from pinned memory (default)
 *     large   of 4 MiB
 *     launch  of an empty kernel with a pointer and a number
 *     wait    cuStreamSynchronize of a stream without work
 *     record  cuEventRecord
 *     set     cuMemsetD8Async of 64 bytes
 *     alloc   cuMemAlloc of 256 KiB and cuMemFree, half of both
 *
 * Prints one line,
 *
 *     bare NS hooked NS added NS p10 NS p90 NS calls N
 *
 * medians in ns per call over the bursts; added, p10 and p90 are of the differences of neighbours.
 * Without the recorder both are the bare call. usage: overhead_paired [PAIRS [CALLS_PER_BURST
 * [KIND]]]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "xferscope/cuda_abi.h"

void *unhooked_symbol(void *handle, const char *name);

enum { BYTES = 64, LARGE = 4 << 20, ALLOCATED = 256 << 10, WARM_UP_PAIRS = 10 };

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
    xcu_result (*event)(void **, unsigned);
    xcu_result (*load)(void **, const void *);
    xcu_result (*function)(void **, void *, const char *);
    copy_function *copy[2]; /* bare, hooked */
    launch_function *launch[2];
    xcu_result (*wait[2])(xcu_stream);
    xcu_result (*record[2])(void *, xcu_stream);
    xcu_result (*set[2])(xcu_deviceptr, unsigned char, size_t, xcu_stream);
    xcu_result (*take[2])(xcu_deviceptr *, size_t);
    xcu_result (*give[2])(xcu_deviceptr);
} cu;

static xcu_deviceptr device;
static void *pinned;
static xcu_stream stream;
static void *kernel, *event;

static void check(xcu_result status, const char *what)
{
    if (status != XCU_SUCCESS) {
        fprintf(stderr, "overhead_paired: %s: error %d\n", what, status);
        exit(1);
    }
}

static void found(void *slot, void *function, const char *name)
{
    *(void **)slot = function;
    if (function == NULL) {
        fprintf(stderr, "overhead_paired: no %s\n", name);
        exit(1);
    }
}

static void find_functions(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    const struct {
        void *slot;
        const char *name;
    } once[] = {
        {&cu.init, "cuInit"},
        {&cu.retain, "cuDevicePrimaryCtxRetain"},
        {&cu.current, "cuCtxSetCurrent"},
        {&cu.alloc, "cuMemAlloc_v2"},
        {&cu.alloc_host, "cuMemAllocHost_v2"},
        {&cu.stream, "cuStreamCreate"},
        {&cu.event, "cuEventCreate"},
        {&cu.load, "cuModuleLoadData"},
        {&cu.function, "cuModuleGetFunction"},
    };
    const struct {
        void *slots; /* of two */
        const char *name;
    } measured[] = {
        {cu.copy, "cuMemcpyHtoDAsync_v2"}, {cu.launch, "cuLaunchKernel"},
        {cu.wait, "cuStreamSynchronize"},  {cu.record, "cuEventRecord"},
        {cu.set, "cuMemsetD8Async"},       {cu.take, "cuMemAlloc_v2"},
        {cu.give, "cuMemFree_v2"},
    };
    for (size_t i = 0; driver && i < sizeof once / sizeof *once; i++)
        found(once[i].slot, dlsym(driver, once[i].name), once[i].name);
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const char *name = measured[i].name;
        found(measured[i].slots, driver ? unhooked_symbol(driver, name) : NULL, name);
        found((void **)measured[i].slots + 1, dlsym(driver, name), name);
    }
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

static void large_copies(int hooked, long calls)
{
    for (long i = 0; i < calls; i++)
        check(cu.copy[hooked](device, pinned, LARGE, stream), "copy");
}

static void waits(int hooked, long calls)
{
    for (long i = 0; i < calls; i++)
        check(cu.wait[hooked](stream), "wait");
}

static void records(int hooked, long calls)
{
    for (long i = 0; i < calls; i++)
        check(cu.record[hooked](event, stream), "event");
}

static void sets(int hooked, long calls)
{
    for (long i = 0; i < calls; i++)
        check(cu.set[hooked](device, 1, BYTES, stream), "memset");
}

static void allocations(int hooked, long calls)
{
    for (long i = 0; i + 1 < calls; i += 2) {
        xcu_deviceptr memory;
        check(cu.take[hooked](&memory, ALLOCATED), "device memory");
        check(cu.give[hooked](memory), "freed");
    }
}

static const struct kind {
    const char *name;
    void (*calls)(int hooked, long calls);
} kinds[] = {{"copy", copies},    {"large", large_copies}, {"launch", launches},  {"wait", waits},
             {"record", records}, {"set", sets},           {"alloc", allocations}};

/* The first one without a name; NULL: there is none of this name. */
static const struct kind *kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (name == NULL || strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* ns per call. */
static double burst(void (*call)(int, long), int hooked, long calls)
{
    double start = now_ns();
    call(hooked, calls);
    double took = now_ns() - start;
    check(cu.wait[0](stream), "synchronisation");
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

static void make_ready(void)
{
    xcu_context context;
    void *module;
    find_functions();
    check(cu.init(0), "cuInit");
    check(cu.retain(&context, 0), "context");
    check(cu.current(context), "context");
    check(cu.alloc(&device, LARGE), "device memory");
    check(cu.alloc_host(&pinned, LARGE), "pinned memory");
    check(cu.stream(&stream, 0), "stream");
    check(cu.event(&event, 0), "event");
    check(cu.load(&module, source), "module");
    check(cu.function(&kernel, module, "empty"), "kernel");
    copies(1, 1); /* with which recording of launches begins */
}

int main(int argc, char **argv)
{
    long pairs = argc > 1 ? atol(argv[1]) : 200, calls = argc > 2 ? atol(argv[2]) : 1000;
    const struct kind *kind = kind_of(argc > 3 ? argv[3] : NULL);
    if (pairs < 1 || calls < 1 || kind == NULL)
        return 2;
    double *bare = calloc((size_t)pairs * 3, sizeof *bare);
    if (bare == NULL)
        return 1;
    double *hooked = bare + pairs, *added = hooked + pairs;
    make_ready();
    for (long i = -WARM_UP_PAIRS; i < pairs; i++) {
        double past = burst(kind->calls, 0, calls), through = burst(kind->calls, 1, calls);
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
