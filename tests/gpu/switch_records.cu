/*
 * What CUPTI's records cost, and what switching them costs, without the recorder: one GPU, CUPTI
 * subscribed to before the first context, kinds switched on and off while the program runs
 * (docs/timing.md). Prints tables.
 *
 * usage: switch_records
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <vector>

#define BUFFER_BYTES (1 << 20)
#define LAUNCHES 800 /* of a burst: fewer than the driver lets wait */
#define COPIES 300
#define BURSTS 4
#define ROUNDS 12

typedef std::vector<double> samples;

static CUpti_SubscriberHandle subscriber;
static std::atomic<long> records;

static void check(int status, const char *call)
{
    if (status == 0)
        return;
    fprintf(stderr, "switch_records: %s: %d\n", call, status);
    exit(1);
}
#define CHECK(call) check((int)(call), #call)

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double quantile(samples v, double q)
{
    std::sort(v.begin(), v.end());
    return v[std::min(v.size() - 1, (size_t)(q * (double)v.size()))];
}

/* ---- CUPTI --------------------------------------------------------------------------------- */

static void on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId call,
                    const void *data)
{
    (void)user, (void)domain, (void)call, (void)data;
}

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = BUFFER_BYTES;
    *buffer = (uint8_t *)aligned_alloc(64, BUFFER_BYTES);
    *most = 0;
}

static void completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                      size_t valid)
{
    CUpti_Activity *record = NULL;
    (void)context, (void)stream, (void)size;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        records++;
    free(buffer);
}

static void callbacks(const CUpti_CallbackId *calls, size_t count, bool on)
{
    for (size_t i = 0; i < count; i++)
        CHECK(cuptiEnableCallback(on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, calls[i]));
}

static samples kernels_took[2], copies_took[2]; /* us, to switch off and on */

static void switch_kernels(bool on)
{
    static const CUpti_CallbackId calls[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                             CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                                             CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel};
    double start = now_us();
    if (on)
        CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    callbacks(calls, sizeof calls / sizeof *calls, on);
    if (!on)
        CHECK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    kernels_took[on].push_back(now_us() - start);
}

static void switch_copies(bool on)
{
    static const CUpti_ActivityKind kinds[] = {
        CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};
    static const CUpti_CallbackId calls[] = {CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync};
    double start = now_us();
    if (!on)
        callbacks(calls, sizeof calls / sizeof *calls, on);
    for (CUpti_ActivityKind kind : kinds)
        CHECK(on ? cuptiActivityEnable(kind) : cuptiActivityDisable(kind));
    if (on)
        callbacks(calls, sizeof calls / sizeof *calls, on);
    copies_took[on].push_back(now_us() - start);
}

/* ---- the program ----------------------------------------------------------------------------- */

static cudaStream_t stream;
static void *on_device, *pinned;

__global__ void empty(void *p)
{
    (void)p;
}

__global__ void spin(unsigned long long ns)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - start < ns);
}

static double launch_ns(void) /* each, of a burst */
{
    double start = now_us();
    for (int i = 0; i < LAUNCHES; i++)
        empty<<<1, 32, 0, stream>>>(on_device);
    double took = now_us() - start;
    CHECK(cudaStreamSynchronize(stream));
    return took * 1e3 / LAUNCHES;
}

static double copy_ns(void)
{
    double start = now_us();
    for (int i = 0; i < COPIES; i++)
        CHECK(cudaMemcpyAsync(on_device, pinned, 64, cudaMemcpyHostToDevice, stream));
    double took = now_us() - start;
    CHECK(cudaStreamSynchronize(stream));
    return took * 1e3 / COPIES;
}

/* ---- what is measured ------------------------------------------------------------------------ */

static void measure_records(void)
{
    static const char *const states[] = {"off",    "kernels", "off again",
                                         "copies", "both",    "off again"};
    static const bool kernels[] = {0, 1, 0, 0, 1, 0}, copies[] = {0, 0, 0, 1, 1, 0};
    samples launches[6], transfers[6];
    bool kernels_on = false, copies_on = false;
    for (int round = 0; round < ROUNDS; round++)
        for (int s = 0; s < 6; s++) {
            if (kernels[s] != kernels_on)
                switch_kernels(kernels_on = kernels[s]);
            if (copies[s] != copies_on)
                switch_copies(copies_on = copies[s]);
            for (int i = 0; i < BURSTS; i++) {
                launches[s].push_back(launch_ns());
                transfers[s].push_back(copy_ns());
            }
        }
    printf("records of      ns per launch   p25   ns per 64-byte copy   p25   (medians of %d "
           "bursts)\n",
           ROUNDS * BURSTS);
    for (int s = 0; s < 6; s++)
        printf("%-14s %14.0f %5.0f %21.0f %5.0f\n", states[s], quantile(launches[s], .5),
               quantile(launches[s], .25), quantile(transfers[s], .5), quantile(transfers[s], .25));
}

static std::atomic<bool> stop;
static long switched;

static void *switch_by_turns(void *pause_us)
{
    bool on = false;
    for (switched = 0; !stop; switched++) {
        usleep((useconds_t)(size_t)pause_us);
        switch_kernels(on = !on);
    }
    if (on)
        switch_kernels(false);
    return NULL;
}

/* Calls work() while another thread switches every so often (0: never). */
static void beside_switching(size_t pause_us, void (*work)(void))
{
    pthread_t thread;
    stop = false;
    switched = 0;
    if (pause_us)
        CHECK(pthread_create(&thread, NULL, switch_by_turns, (void *)pause_us));
    work();
    stop = true;
    if (pause_us)
        CHECK(pthread_join(thread, NULL));
}

static samples each_launch;

static void launch_each(void)
{
    each_launch.clear();
    for (int i = 0; i < 150000; i++) {
        double start = now_us();
        empty<<<1, 32, 0, stream>>>(on_device);
        each_launch.push_back((now_us() - start) * 1e3);
    }
    CHECK(cudaStreamSynchronize(stream));
}

static double total_ms;

static void keep_busy(void)
{
    double start = now_us();
    for (int i = 0; i < 15000; i++)
        spin<<<1, 32, 0, stream>>>(20000);
    CHECK(cudaStreamSynchronize(stream));
    total_ms = (now_us() - start) / 1e3;
}

static void measure_switching(void)
{
    printf("\nkernels switched every   times   ns of a launch: p50   p99   p99.9      most\n");
    for (size_t pause_us : {0, 50000, 5000, 1000}) {
        beside_switching(pause_us, launch_each);
        printf("%19zu us %7ld %21.0f %5.0f %7.0f %9.0f\n", pause_us, switched,
               quantile(each_launch, .5), quantile(each_launch, .99), quantile(each_launch, .999),
               quantile(each_launch, 1));
    }
    printf("\nto switch       us: median   p90   most\n");
    struct {
        const char *what;
        const samples *took;
    } rows[] = {{"kernels on", &kernels_took[1]},
                {"kernels off", &kernels_took[0]},
                {"copies on", &copies_took[1]},
                {"copies off", &copies_took[0]}};
    for (const auto &row : rows)
        printf("%-14s %11.1f %5.1f %6.1f\n", row.what, quantile(*row.took, .5),
               quantile(*row.took, .9), quantile(*row.took, 1));
}

static void measure_busy_gpu(void)
{
    printf("\n15000 kernels of 20 us   ms\n");
    for (int round = 0; round < 3; round++) {
        beside_switching(0, keep_busy);
        printf("off              %12.2f\n", total_ms);
        beside_switching(10000, keep_busy);
        printf("every 10 ms      %12.2f\n", total_ms);
        switch_kernels(true);
        beside_switching(0, keep_busy);
        switch_kernels(false);
        printf("on               %12.2f\n", total_ms);
    }
}

int main(void)
{
    CHECK(cuInit(0));
    CHECK(cuptiSubscribe(&subscriber, on_call, NULL));
    CHECK(cuptiActivityRegisterCallbacks(requested, completed));
    CHECK(cudaMalloc(&on_device, 4096));
    CHECK(cudaMallocHost(&pinned, 4096));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    launch_ns();
    copy_ns();
    measure_records();
    measure_switching();
    measure_busy_gpu();
    return 0;
}
