/*
 * Threads that copy in the legacy default stream at the same time, in situations in which a stream
 * of each one's own gains, in which it does not, and in which it must not be had: streamed MODE.
 * Prints what the threads found; alone and with the plan it must be the same. Says on standard
 * error what the simulated clock shows. The planned sites are in upload() and download().
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS(X)                                                                                   \
    X(cuModuleLoadData, (void **, const void *))                                                   \
    X(cuModuleGetFunction, (void **, void *, const char *))                                        \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, xcu_stream, void **, void **))                                    \
    X(cuLaunchHostFunc, (xcu_stream, void (*)(void *), void *))                                    \
    X(cuMemcpy2D_v2, (const struct xcu_memcpy2d *))                                                \
    X(cuMemsetD8_v2, (xcu_deviceptr, unsigned char, size_t))                                       \
    X(cuMemsetD8Async, (xcu_deviceptr, unsigned char, size_t, xcu_stream))                         \
    X(cuStreamBeginCapture_v2, (xcu_stream, int))                                                  \
    X(cuStreamEndCapture, (xcu_stream, xcu_graph *))                                               \
    X(cuGraphCreate, (xcu_graph *, unsigned))                                                      \
    X(cuGraphInstantiateWithFlags, (xcu_graph_exec *, xcu_graph, unsigned long long))              \
    X(cuGraphLaunch, (xcu_graph_exec, xcu_stream))                                                 \
    X(xferscope_simgpu_thread_begin, (unsigned, unsigned))                                         \
    X(xferscope_simgpu_thread_end, (void))                                                         \
    X(xferscope_simgpu_kernel_ns, (uint64_t))                                                      \
    X(xferscope_simgpu_now_ns, (void))

#include "tests/apply/programs/applied.h"
#include "tests/programs/calls_by_name.h"
#include "tools/simgpu/simgpu.h"

#define ROUNDS 200
#define FEW_ROUNDS 60 /* where no time is compared */
#define BYTES MIB
enum { MOST = 4 };

static void *add;
static int count; /* of threads */
static pthread_barrier_t round_begins;

struct worker {
    unsigned number;
    char *host, *device;
    void (*round)(struct worker *worker, int round);
    bool own_clock;
    uint64_t found;
    int wrong;
};
static struct worker workers[MOST];

/* ---- the kernel ------------------------------------------------------------------------------ */

#pragma GCC visibility push(default)
xferscope_simgpu_twin xferscope_simgpu_kernel_add;
extern const size_t xferscope_simgpu_params_add[];
#pragma GCC visibility pop

void xferscope_simgpu_kernel_add(void **values, const unsigned grid[3], const unsigned block[3])
{
    unsigned char *data = *(unsigned char **)values[0];
    (void)cu.xferscope_simgpu_kernel_ns(30000);
    for (size_t i = 0; i < BYTES; i++)
        data[i] += (unsigned char)(*grid * *block);
}
const size_t xferscope_simgpu_params_add[] = {8, 0};

static void load(void)
{
    void *module;
    CALL(cuModuleLoadData, &module,
         "\x7f"
         "ELF");
    CALL(cuModuleGetFunction, &add, module, "add");
}

static void launch(void *device, xcu_stream stream)
{
    void *values[] = {&device};
    CALL(cuLaunchKernel, add, 1, 1, 1, 1, 1, 1, 0, stream, values, NULL);
}

/* ---- what threads do ------------------------------------------------------------------------- */

__attribute__((noipa)) static void upload(void *device, const void *host, size_t bytes)
{
    MUST(cudaMemcpy(device, host, bytes, XRT_COPY_H2D));
}

__attribute__((noipa)) static void download(void *host, const void *device, size_t bytes)
{
    MUST(cudaMemcpy(host, device, bytes, XRT_COPY_D2H));
}

static void note(struct worker *worker)
{
    worker->found = worker->found * 31 + sum(worker->host, BYTES);
}

/* Half of them up, half of them down. */
static void both_ways(struct worker *worker, int round)
{
    (void)round;
    if (worker->number % 2)
        download(worker->host, worker->device, BYTES);
    else
        upload(worker->device, worker->host, BYTES);
}

/* All up: they share the link, which one alone fills. */
static void one_way(struct worker *worker, int round)
{
    (void)round;
    upload(worker->device, worker->host, BYTES);
}

/* What a kernel does in between, in the same stream, which nobody waits for. */
static void loops(struct worker *worker, int round)
{
    worker->host[round] = (char)round;
    upload(worker->device, worker->host, BYTES);
    launch(worker->device, NULL);
    CALL(cuMemsetD8_v2, (xcu_deviceptr)worker->device + 100, (unsigned char)round, 100);
    download(worker->host, worker->device, BYTES);
    note(worker);
}

/* Nothing is copied. */
static void kernels(struct worker *worker, int round)
{
    launch(worker->device, NULL);
    CALL(cuMemsetD8_v2, (xcu_deviceptr)worker->device, (unsigned char)round, BYTES);
}

/* All of the first one's memory has one value; it is copied, and changed, as a whole. */
static void shared(struct worker *worker, int round)
{
    char *device = workers[0].device, *host = worker->host;
    if (worker->number == 0) {
        memset(host, round, BYTES);
        upload(device, host, BYTES);
        return;
    }
    if (worker->number == 1)
        launch(device, NULL);
    download(host, device, BYTES);
    worker->wrong += memcmp(host, host + 1, BYTES - 1) != 0;
}

/* ---- what ends it: the stream is not one that waits for ours ----------------------------------
 */

static xcu_stream another;

/* The kernel's work in another stream is there for a copy in the legacy default stream. */
static void beside(struct worker *worker, int round, xcu_stream stream)
{
    loops(worker, round);
    if (round < 30)
        return;
    launch(worker->device, stream);
    download(worker->host, worker->device, BYTES);
    note(worker);
}

static void make_another(void)
{
    MUST(cudaStreamCreate(&another));
}

static void in_a_stream(struct worker *worker, int round)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (round == 29)
        pthread_once(&once, make_another);
    beside(worker, round, another);
}

static void in_a_threads_own(struct worker *worker, int round)
{
    beside(worker, round, XCU_STREAM_PER_THREAD);
}

static void filled_in_a_threads_own(struct worker *worker, int round)
{
    loops(worker, round);
    if (round < 30)
        return;
    CALL(cuMemsetD8Async, (xcu_deviceptr)worker->device, (unsigned char)round, BYTES / 2,
         XCU_STREAM_PER_THREAD);
    download(worker->host, worker->device, BYTES);
    note(worker);
}

static void copied_in_a_threads_own(struct worker *worker, int round)
{
    loops(worker, round);
    if (round < 30)
        return;
    MUST(cudaMemcpyAsync(worker->device + BYTES / 4, worker->device, BYTES / 4, XRT_COPY_D2D,
                         XCU_STREAM_PER_THREAD));
    MUST(cudaMemcpyAsync(worker->device, worker->host + BYTES / 2, BYTES / 4, XRT_COPY_H2D,
                         XCU_STREAM_PER_THREAD));
    download(worker->host, worker->device, BYTES);
    note(worker);
}

static void in_rows(struct worker *worker, int round)
{
    const struct xcu_memcpy2d rows = {.src_type = XCU_MEMORY_HOST,
                                      .src_host = worker->host,
                                      .src_pitch = 8192,
                                      .dst_type = XCU_MEMORY_DEVICE,
                                      .dst_device = (xcu_deviceptr)worker->device,
                                      .dst_pitch = 4096,
                                      .width = 4096,
                                      .height = 50};
    loops(worker, round);
    if (round >= 30)
        CALL(cuMemcpy2D_v2, &rows);
}

static void nothing(void *unused)
{
    (void)unused;
}

static void host_function(struct worker *worker, int round)
{
    loops(worker, round);
    if (round == 30)
        CALL(cuLaunchHostFunc, NULL, nothing, NULL);
}

static void captured(struct worker *worker, int round)
{
    xcu_graph graph;
    loops(worker, round);
    if (worker->number || round % 7 != 3)
        return;
    /* in a mode in which other threads' copies go on */
    CALL(cuStreamBeginCapture_v2, XCU_STREAM_PER_THREAD, 1);
    launch(worker->device, XCU_STREAM_PER_THREAD);
    CALL(cuStreamEndCapture, XCU_STREAM_PER_THREAD, &graph);
}

static void graph(struct worker *worker, int round)
{
    static xcu_graph_exec exec;
    xcu_graph made;
    loops(worker, round);
    if (worker->number)
        return;
    if (round == 10) {
        CALL(cuGraphCreate, &made, 0);
        CALL(cuGraphInstantiateWithFlags, &exec, made, 0);
    }
    if (round == 20)
        CALL(cuGraphLaunch, exec, NULL);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void fails(struct worker *worker, int round)
{
    char *freed;
    loops(worker, round);
    MUST(cudaMalloc((void **)&freed, BYTES));
    MUST(cudaFree(freed));
    int first = cudaMemcpy(worker->host, worker->device + MIB / 2, BYTES, XRT_COPY_D2H);
    int second = cudaMemcpy(worker->host, NULL, BYTES, XRT_COPY_D2H);
    int last = cudaGetLastError();
    worker->found = worker->found * 31 + (uint64_t)(first * 100000 + second * 1000 + last);
}

static void forks(struct worker *worker, int round)
{
    int status = 0;
    loops(worker, round);
    if (round % 20 != 10 || worker->number)
        return;
    pid_t child = fork();
    if (child == 0)
        _exit(cudaMemcpy(worker->host, worker->device, BYTES, XRT_COPY_D2H) == 0);
    waitpid(child, &status, 0);
    worker->found += (uint64_t)status;
}

/* A thread of the worker's does it, and is gone. */
static void *loop_once(void *of)
{
    MUST(cudaFree(NULL));
    loops(of, 7);
    return NULL;
}

static void threads_that_end(struct worker *worker, int round)
{
    pthread_t thread;
    (void)round;
    if (pthread_create(&thread, NULL, loop_once, worker) != 0)
        exit(1);
    pthread_join(thread, NULL);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static const struct mode {
    const char *name;
    void (*round)(struct worker *worker, int round);
    int threads;
    bool own_clocks; /* of the simulated GPU: threads then wait for nothing but the driver */
} modes[] = {
    {"both_ways", both_ways, 2, true},
    {"four", both_ways, 4, true},
    {"one_way", one_way, 2, true},
    {"alone", loops, 1, true},
    {"only_one", loops, 0, false},
    {"loops", loops, 3, true},
    {"two_loops", loops, 2, true},
    {"four_loops", loops, 4, true},
    {"kernels", kernels, 2, true},
    {"together", loops, 4, false},
    {"shared", shared, 3, false},
    {"in_a_stream", in_a_stream, 3, false},
    {"in_a_threads_own", in_a_threads_own, 3, false},
    {"filled_in_a_threads_own", filled_in_a_threads_own, 3, false},
    {"copied_in_a_threads_own", copied_in_a_threads_own, 3, false},
    {"in_rows", in_rows, 3, false},
    {"host_function", host_function, 3, false},
    {"captured", captured, 3, false},
    {"graph", graph, 3, false},
    {"fails", fails, 3, false},
    {"forks", forks, 3, false},
    {"threads_that_end", threads_that_end, 3, false},
    {"reset", loops, 3, false},
};

static void *work(void *of)
{
    struct worker *worker = of;
    MUST(cudaFree(NULL)); /* makes the context current */
    if (worker->own_clock)
        (void)cu.xferscope_simgpu_thread_begin(worker->number, (unsigned)count);
    for (int round = 0; round < (worker->own_clock ? ROUNDS : FEW_ROUNDS); round++) {
        if (!worker->own_clock) /* none is far ahead of the others */
            pthread_barrier_wait(&round_begins);
        worker->round(worker, round);
    }
    if (worker->own_clock)
        (void)cu.xferscope_simgpu_thread_end();
    return NULL;
}

static void begin(struct worker *worker, unsigned number, const struct mode *mode)
{
    *worker =
        (struct worker){.number = number, .round = mode->round, .own_clock = mode->own_clocks};
    MUST(cudaMallocHost((void **)&worker->host, BYTES + 16));
    MUST(cudaMalloc((void **)&worker->device, BYTES));
    if (mode->round == shared)
        memset(worker->host, 0, BYTES);
    else
        fill(worker->host, BYTES, number);
    MUST(cudaMemcpy(worker->device, worker->host, BYTES, XRT_COPY_H2D));
}

static void run(const struct mode *mode)
{
    pthread_t made[MOST];
    count = mode->threads;
    load();
    pthread_barrier_init(&round_begins, NULL, count ? (unsigned)count : 1);
    if (count == 0) {
        begin(&workers[0], 0, mode);
        work(&workers[0]);
    }
    for (int i = 0; i < count; i++)
        begin(&workers[i], (unsigned)i, mode);
    for (int i = 0; i < count; i++)
        if (pthread_create(&made[i], NULL, work, &workers[i]) != 0)
            exit(1);
    for (int i = 0; i < count; i++)
        pthread_join(made[i], NULL);
    for (int i = 0; i < count; i++) {
        struct worker *worker = &workers[i];
        MUST(cudaMemcpy(worker->host, worker->device, BYTES, XRT_COPY_D2H));
        if (mode->round != shared)
            note(worker);
        printf("%d: %016llx, %d wrong\n", i, (unsigned long long)worker->found, worker->wrong);
    }
    printf("last error %d\n", cudaGetLastError());
}

static uint64_t now(void)
{
    return ((uint64_t(*)(void))(void *)cu.xferscope_simgpu_now_ns)();
}

int main(int argc, char **argv)
{
    MUST(cudaFree(NULL));
    find_calls();
    uint64_t begun = now();
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(argv[1], modes[i].name) != 0)
            continue;
        run(&modes[i]);
        if (strcmp(argv[1], "reset") != 0)
            continue;
        MUST(cudaDeviceReset());
        MUST(cudaFree(NULL));
        run(&modes[i]);
    }
    fprintf(stderr, "simulated: %llu ns\n", (unsigned long long)(now() - begun));
    return 0;
}
