/*
 * Threads whose first calls of CUDA, contexts and copies on all GPUs come at once: what a recorder
 * that reaches for CUPTI at the wrong moment does not survive.
 *
 * usage: races THREADS SEED [WHAT]   prints what was copied, which is what a trace of it must hold:
 *                                    "h2d COUNT BYTES d2h COUNT BYTES"
 * Each thread waits up to 2 ms, makes its first call (which one, the seed decides), then copies.
 * WHAT, letters:
 *   c  some threads also make, use and destroy contexts of their own (driver API)
 *   r  between rounds, a GPU is reset by one of its threads while the other GPUs' threads go on
 *   m  every third thread begins with managed memory, the others with copies
 *   l  the threads only launch kernels; one copies at a random moment
 * tests/gpu/cupti_steps.c, preloaded, learns of each moment.
 */
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../gpu/cupti_moments.h"

#define MOST_THREADS 64
#define WORDS 64
#define COPIES 30
#define OWN_CONTEXTS 3 /* threads that make their own: each takes a fifth of a second */

__device__ int symbol[WORDS];

__global__ void increment(int *p)
{
    p[threadIdx.x] += 1;
}

static struct worker {
    pthread_t thread;
    int number, device, failed;
    unsigned random;
    long up, down; /* copies */
    long up_bytes, down_bytes;
} workers[MOST_THREADS];

static int threads, devices;
static const char *what = "";
static pthread_barrier_t start, round_of[16];
static moment_function tell;

static int wants(char letter)
{
    return strchr(what, letter) != NULL;
}

static void at(enum moment moment)
{
    if (tell)
        tell(moment);
}

static unsigned next(struct worker *w)
{
    w->random = w->random * 1664525u + 1013904223u;
    return w->random >> 8;
}

static void check(struct worker *w, int status, const char *call)
{
    if (status != 0 && !w->failed)
        fprintf(stderr, "races: thread %d: %s: %d\n", w->number, call, status);
    w->failed |= status != 0;
}
#define CHECK(w, call) check(w, (int)(call), #call)

static void count_up(struct worker *w, long bytes)
{
    w->up++;
    w->up_bytes += bytes;
}

static void count_down(struct worker *w, long bytes)
{
    w->down++;
    w->down_bytes += bytes;
}

/* ---- copies ------------------------------------------------------------------------------- */

static void copy_some(struct worker *w)
{
    int *device, host[WORDS] = {0};
    bool copies = !wants('l') || w->number == 0;

    for (int i = 0; i < COPIES && !w->failed; i++) {
        CHECK(w, cudaMalloc(&device, sizeof host));
        CHECK(w, cudaMemset(device, 0, sizeof host));
        if (copies && i >= w->number % 3) {
            at(MOMENT_COPY);
            CHECK(w, cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
            count_up(w, sizeof host);
        }
        increment<<<1, WORDS>>>(device);
        CHECK(w, cudaStreamSynchronize(0));
        if (copies && i >= w->number % 3) {
            CHECK(w, cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
            count_down(w, sizeof host);
        }
        CHECK(w, cudaFree(device));
    }
}

static void launch_graph(struct worker *w)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *device, *host;

    CHECK(w, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(w, cudaMalloc(&device, 4096));
    CHECK(w, cudaMallocHost(&host, 4096));
    CHECK(w, cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(w, cudaMemcpyAsync(device, host, 4096, cudaMemcpyHostToDevice, stream));
    CHECK(w, cudaStreamEndCapture(stream, &graph));
    CHECK(w, cudaGraphInstantiate(&exec, graph, 0));
    at(MOMENT_COPY);
    for (int i = 0; i < 3 && !w->failed; i++) {
        CHECK(w, cudaGraphLaunch(exec, stream));
        count_up(w, 4096);
    }
    CHECK(w, cudaStreamSynchronize(stream));
    CHECK(w, cudaGraphExecDestroy(exec));
    CHECK(w, cudaGraphDestroy(graph));
    CHECK(w, cudaFreeHost(host));
    CHECK(w, cudaFree(device));
    CHECK(w, cudaStreamDestroy(stream));
}

static void use_managed(struct worker *w)
{
    int *p;

    CHECK(w, cudaMallocManaged(&p, 1 << 16));
    if (w->failed)
        return;
    p[0] = 1;
    increment<<<1, WORDS>>>(p);
    CHECK(w, cudaStreamSynchronize(0));
    if (p[0] != 2)
        w->failed = 1;
    CHECK(w, cudaFree(p));
}

/* Symbols of the program are loaded with the first call that names one. */
static void copy_to_symbol(struct worker *w)
{
    int host[WORDS] = {0};

    at(MOMENT_COPY);
    CHECK(w, cudaMemcpyToSymbol(symbol, host, sizeof host));
    count_up(w, sizeof host);
}

static void first_call(struct worker *w)
{
    if (wants('l') && w->number > 0)
        return;
    switch (wants('m') ? (w->number % 3 == 0 ? 3 : 1) : next(w) % 5) {
    case 0:
        CHECK(w, cudaFree(0));
        return;
    case 1:
        copy_to_symbol(w);
        return;
    case 2:
        launch_graph(w);
        return;
    case 3:
        use_managed(w);
        return;
    default:
        return;
    }
}

/* ---- contexts ------------------------------------------------------------------------------ */

static struct {
    int (*create)(void **, unsigned, int), (*destroy)(void *);
    int (*alloc)(unsigned long long *, size_t), (*free)(unsigned long long);
    int (*up)(unsigned long long, const void *, size_t);
} driver;

static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);

    if (!library)
        exit(2);
    *(void **)&driver.create = dlsym(library, "cuCtxCreate_v2");
    *(void **)&driver.destroy = dlsym(library, "cuCtxDestroy_v2");
    *(void **)&driver.alloc = dlsym(library, "cuMemAlloc_v2");
    *(void **)&driver.free = dlsym(library, "cuMemFree_v2");
    *(void **)&driver.up = dlsym(library, "cuMemcpyHtoD_v2");
}

static void use_own_context(struct worker *w)
{
    unsigned long long device;
    int host[WORDS] = {0};
    void *context;

    at(MOMENT_CONTEXT_BEGINS);
    CHECK(w, driver.create(&context, 0, w->device));
    at(MOMENT_CONTEXT_ENDS);
    if (w->failed)
        return;
    CHECK(w, driver.alloc(&device, sizeof host));
    CHECK(w, driver.up(device, host, sizeof host));
    count_up(w, sizeof host);
    CHECK(w, driver.free(device));
    CHECK(w, driver.destroy(context));
}

/* One of the GPU's threads resets it while they all wait; the other GPUs' go on. */
static void reset(struct worker *w)
{
    pthread_barrier_wait(&round_of[w->device]);
    if (w->number < devices)
        CHECK(w, cudaDeviceReset());
    pthread_barrier_wait(&round_of[w->device]);
}

static void *work(void *arg)
{
    struct worker *w = (struct worker *)arg;
    int rounds = wants('r') ? 2 : 1;

    pthread_barrier_wait(&start);
    usleep(next(w) % 2000);
    for (int i = 0; i < rounds; i++) {
        at(MOMENT_CONTEXT_BEGINS);
        CHECK(w, cudaSetDevice(w->device));
        if (wants('r') || tell)
            CHECK(w, cudaFree(0));
        at(MOMENT_CONTEXT_ENDS);
        first_call(w);
        if (wants('c') && w->number < OWN_CONTEXTS)
            use_own_context(w);
        copy_some(w);
        if (wants('r'))
            reset(w);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long up = 0, down = 0, up_bytes = 0, down_bytes = 0;
    int failed = 0;

    threads = argc >= 3 ? atoi(argv[1]) : 0;
    if (threads < 1 || threads > MOST_THREADS) {
        fputs("usage: races THREADS SEED [WHAT]\n", stderr);
        return 2;
    }
    what = argc > 3 ? argv[3] : "";
    *(void **)&tell = dlsym(RTLD_DEFAULT, MOMENT_FUNCTION);
    at(MOMENT_START);
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 1)
        return 2;
    at(MOMENT_INITIALISED);
    find_driver();
    devices = devices < 16 ? devices : 16;
    devices = devices < threads ? devices : threads;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int d = 0; d < devices; d++)
        pthread_barrier_init(&round_of[d], NULL, (unsigned)((threads - d + devices - 1) / devices));
    for (int i = 0; i < threads; i++) {
        struct worker *w = &workers[i];
        w->number = i;
        w->device = i % devices;
        w->random = (unsigned)atoi(argv[2]) * 2654435761u + (unsigned)i * 40503u;
        if (pthread_create(&w->thread, NULL, work, w) != 0)
            return 2;
    }
    for (int i = 0; i < threads; i++) {
        struct worker *w = &workers[i];
        pthread_join(w->thread, NULL);
        failed |= w->failed;
        up += w->up;
        down += w->down;
        up_bytes += w->up_bytes;
        down_bytes += w->down_bytes;
    }
    printf("h2d %ld %ld d2h %ld %ld\n", up, up_bytes, down, down_bytes);
    return failed;
}
