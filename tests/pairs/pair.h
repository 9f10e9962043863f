/*
 * What the programs of tests/pairs share. A pair is a small CUDA program before and after one
 * change that the analyzer advises; both do their work between pair_begin and pair_end, which
 * measure it.
 *
 *     struct pair p = pair_options(argc, argv, {false, 100, 64 << 20}, {true, 4, 1 << 16});
 *     ... allocate, warm up, one step that is not measured ...
 *     pair_begin();
 *     ... p.steps steps over p.bytes bytes ...
 *     pair_stop();                where summing up the results is not part of the work
 *     pair_end(sum of the results, transfers made since pair_begin);
 *
 * One .cu file includes this, once. Kernels have host twins, so that the programs compute the same
 * on the simulated GPU (docs/simgpu.md); its clock is read there instead of CLOCK_MONOTONIC.
 */
#ifndef XFERSCOPE_PAIR_H
#define XFERSCOPE_PAIR_H

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#define PAIR_CHECK(call) pair_check((call), #call, __FILE__, __LINE__)

static inline void pair_check(cudaError_t error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(error));
    exit(1);
}

/* ---- the simulated GPU ----------------------------------------------------------------------- */

/* A function that only the simulated driver has; NULL on a real one. */
static inline void *pair_simulated(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver ? dlsym(driver, name) : NULL;
}

/*
 * Tells the simulated GPU of an access to managed or mapped memory, which it cannot see: from the
 * program one of the CPU, from a twin one of the kernel. Nothing happens on a real GPU.
 */
static inline void pair_touch(const void *address, size_t bytes, bool write)
{
    typedef void touch_function(const void *, size_t, int);
    static touch_function *touch = (touch_function *)pair_simulated("xferscope_simgpu_touch");
    if (touch)
        touch(address, bytes, write);
}

/* ---- time ------------------------------------------------------------------------------------ */

static inline unsigned long long pair_now_ns(void)
{
    static unsigned long long (*simulated)(void) =
        (unsigned long long (*)(void))pair_simulated("xferscope_simgpu_now_ns");
    struct timespec t;

    if (simulated)
        return simulated();
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
}

/* Work of the CPU that takes ns and touches none of the program's data. */
static inline void pair_host_work(unsigned long long ns)
{
    static void (*spend)(unsigned long long) =
        (void (*)(unsigned long long))pair_simulated("xferscope_simgpu_spend_ns");
    unsigned long long end = pair_now_ns() + ns;

    if (spend)
        spend(ns);
    while (pair_now_ns() < end)
        continue;
}

/* The CPU does nothing for ns, and what it takes to wake up. On the simulated GPU the thread has a
 * clock of its own from then on, so that its processor time is known there, too. */
static inline void pair_sleep(unsigned long long ns)
{
    typedef int begin_function(unsigned, unsigned);
    static begin_function *begin =
        (begin_function *)pair_simulated("xferscope_simgpu_thread_begin");
    static void (*sleep)(unsigned long long) =
        (void (*)(unsigned long long))pair_simulated("xferscope_simgpu_sleep_ns");
    static int begun = begin ? begin(0, 1) : 0;
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

    (void)begun;
    if (sleep)
        sleep(ns);
    else
        nanosleep(&t, NULL);
}

/* ---- options --------------------------------------------------------------------------------- */

struct pair {
    bool quick;
    long steps;
    size_t bytes;
};

/* usage: PROGRAM [--quick] [--steps N] [--bytes N]; --quick takes the tiny sizes in quick, other
 * options change single ones. */
static inline struct pair pair_options(int argc, char **argv, struct pair defaults,
                                       struct pair quick)
{
    struct pair p = defaults;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            p = quick;
    }
    for (int i = 1; i < argc; i++) {
        char *end = NULL;
        if (strcmp(argv[i], "--quick") == 0)
            continue;
        if (i + 1 < argc && strcmp(argv[i], "--steps") == 0)
            p.steps = strtol(argv[++i], &end, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--bytes") == 0)
            p.bytes = strtoull(argv[++i], &end, 10);
        if (!end || *end || p.steps < 1 || p.bytes < 1) {
            fprintf(stderr, "usage: %s [--quick] [--steps N] [--bytes N]\n", argv[0]);
            exit(2);
        }
    }
    return p;
}

/* ---- the measured region --------------------------------------------------------------------- */

static int pair_gpu_count = 1;
static unsigned long long pair_began_ns, pair_ended_ns;

/* For programs on several GPUs: exits with 77 when there are fewer. pair_begin and pair_end wait
 * for GPUs 0 to n - 1 then. */
static inline void pair_gpus(int n)
{
    int there = 0;

    PAIR_CHECK(cudaGetDeviceCount(&there));
    if (there < n) {
        fprintf(stderr, "needs %d GPUs, there are %d\n", n, there);
        exit(77);
    }
    pair_gpu_count = n;
}

static inline void pair_wait(void)
{
    int current = 0;

    if (pair_gpu_count == 1) {
        PAIR_CHECK(cudaDeviceSynchronize());
        return;
    }
    PAIR_CHECK(cudaGetDevice(&current));
    for (int gpu = 0; gpu < pair_gpu_count; gpu++) {
        PAIR_CHECK(cudaSetDevice(gpu));
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    PAIR_CHECK(cudaSetDevice(current));
}

/* The measured region, which is also the NVTX range "work". */
static inline void pair_begin(void)
{
    pair_wait();
    pair_ended_ns = 0; // main() may run again in a process
    nvtxRangePushA("work");
    pair_began_ns = pair_now_ns();
}

/* Ends the measured region, where the results are still to be summed up; else pair_end does. */
static inline void pair_stop(void)
{
    pair_wait();
    pair_ended_ns = pair_now_ns();
    nvtxRangePop();
}

/* Prints the one line that tests/pairs/run reads. Sum: of the results, the same before and after.
 * Transfers: how many copies with bytes the region has made. */
static inline void pair_end(unsigned long long sum, unsigned long long transfers)
{
    if (!pair_ended_ns)
        pair_stop();
    printf("work_ns %llu sum %llu transfers %llu\n", pair_ended_ns - pair_began_ns, sum, transfers);
    fflush(stdout);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Small whole numbers, so that sums of floats come out the same in any order. */
static inline void pair_fill(float *data, size_t n, unsigned step)
{
    for (size_t i = 0; i < n; i++)
        data[i] = (float)(((unsigned)i + step) & 1023u);
    pair_touch(data, n * sizeof *data, true);
}

static inline unsigned long long pair_host_sum(const float *data, size_t n)
{
    unsigned long long sum = 0;

    pair_touch(data, n * sizeof *data, false);
    for (size_t i = 0; i < n; i++)
        sum += (unsigned)data[i];
    return sum;
}

/* malloc that does not return without memory, every page of it there. */
static inline void *pair_malloc(size_t bytes)
{
    void *memory = malloc(bytes);

    if (!memory) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    memset(memory, 0, bytes);
    return memory;
}

/* ---- kernels --------------------------------------------------------------------------------- */

enum { PAIR_THREADS = 256 };

/* Blocks for n elements: what fills a large GPU at most, the kernels stride over the rest. */
static inline unsigned pair_blocks(size_t n)
{
    size_t blocks = (n + PAIR_THREADS - 1) / PAIR_THREADS;
    return blocks < 1056 ? (unsigned)blocks : 1056u;
}

/* Every block spins so long: <<<1, 1>>> for time alone, many blocks to fill the GPU. */
__global__ void pair_spin(unsigned long long ns)
{
    unsigned long long start, now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < ns);
}

/* data[i] += value */
__global__ void pair_add(float *data, size_t n, float value)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;

    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride)
        data[i] += value;
}

/* *sum += all of data. Launch with PAIR_THREADS threads or another multiple of 32. */
__global__ void pair_sum(const float *data, size_t n, double *sum)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    double own = 0;

    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride)
        own += data[i];
    for (int lane = 16; lane > 0; lane /= 2)
        own += __shfl_down_sync(0xffffffffu, own, lane);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, own);
}

/* What pair_fill does at step 0. */
__global__ void pair_start(float *data, size_t n)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;

    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride)
        data[i] = (float)((unsigned)i & 1023u);
}

/* Data that is on the device from the start. */
static inline void pair_device_fill(float *data, size_t n)
{
    pair_start<<<pair_blocks(n), PAIR_THREADS>>>(data, n);
    PAIR_CHECK(cudaDeviceSynchronize());
}

/* A sum on the device, 0 at first, for pair_sum; what has come together in it. */
static inline double *pair_new_sum(void)
{
    double *d_sum;

    PAIR_CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
    PAIR_CHECK(cudaMemset(d_sum, 0, sizeof *d_sum));
    return d_sum;
}

static inline unsigned long long pair_take_sum(double *d_sum)
{
    double sum;

    PAIR_CHECK(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost));
    PAIR_CHECK(cudaFree(d_sum));
    return (unsigned long long)sum;
}

/* The sum of all of data, which is on the current device. For after pair_stop. */
static inline unsigned long long pair_device_sum(const float *data, size_t n)
{
    double *d_sum = pair_new_sum();

    pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(data, n, d_sum);
    return pair_take_sum(d_sum);
}

/* The twins: what the simulated GPU runs in the kernels' stead. Their names end in the kernel's
 * own, which in C++ has the types of its parameters: a pointer to const (PK) tells that a kernel
 * only reads there. */
#define PAIR_TWIN(name, ...)                                                                       \
    extern "C" {                                                                                   \
    extern const size_t xferscope_simgpu_params_##name[];                                          \
    __attribute__((visibility("default")))                                                         \
    const size_t xferscope_simgpu_params_##name[] = {__VA_ARGS__, 0};                              \
    }                                                                                              \
    extern "C" __attribute__((visibility("default"))) void xferscope_simgpu_kernel_##name(         \
        void **args, const unsigned *, const unsigned *)

PAIR_TWIN(_Z9pair_spiny, 8)
{
    typedef void kernel_ns_function(unsigned long long);
    kernel_ns_function *kernel_ns =
        (kernel_ns_function *)pair_simulated("xferscope_simgpu_kernel_ns");
    if (kernel_ns)
        kernel_ns(*(unsigned long long *)args[0]);
}

PAIR_TWIN(_Z10pair_startPfm, 8, 8)
{
    pair_fill(*(float **)args[0], *(size_t *)args[1], 0);
}

PAIR_TWIN(_Z8pair_addPfmf, 8, 8, 4)
{
    float *data = *(float **)args[0];
    size_t n = *(size_t *)args[1];
    float value = *(float *)args[2];

    pair_touch(data, n * sizeof *data, true);
    for (size_t i = 0; i < n; i++)
        data[i] += value;
}

PAIR_TWIN(_Z8pair_sumPKfmPd, 8, 8, 8)
{
    const float *data = *(const float **)args[0];
    size_t n = *(size_t *)args[1];
    double *sum = *(double **)args[2];

    pair_touch(data, n * sizeof *data, false);
    for (size_t i = 0; i < n; i++)
        *sum += data[i];
}

#endif
