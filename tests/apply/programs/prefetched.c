/*
 * Managed memory that a plan says to prefetch, in situations in which it gains, in which it does
 * not, and in which it must not be done: prefetched MODE. Prints what the host finds after each
 * round; alone and with the plan it must be the same. Says on standard error what the simulated
 * clock shows. The planned site is in allocate().
 *
 * The program tells the simulated GPU what the host touches; its twin does what the kernel would
 * do.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS(X)                                                                                   \
    X(cuModuleLoadData, (void **, const void *))                                                   \
    X(cuModuleUnload, (void *))                                                                    \
    X(cuModuleGetFunction, (void **, void *, const char *))                                        \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, xcu_stream, void **, void **))                                    \
    X(cuMemAllocManaged, (xcu_deviceptr *, size_t, unsigned))                                      \
    X(cuMemAdvise, (xcu_deviceptr, size_t, int, xcu_device))                                       \
    X(cuMemPrefetchAsync, (xcu_deviceptr, size_t, xcu_device, xcu_stream))                         \
    X(cuStreamBeginCapture_v2, (xcu_stream, int))                                                  \
    X(cuStreamEndCapture, (xcu_stream, xcu_graph *))                                               \
    X(cuGraphInstantiateWithFlags, (xcu_graph_exec *, xcu_graph, unsigned long long))              \
    X(cuGraphLaunch, (xcu_graph_exec, xcu_stream))                                                 \
    X(xferscope_simgpu_touch, (const void *, size_t, int))                                         \
    X(xferscope_simgpu_now_ns, (void))

#include "tests/apply/programs/applied.h"
#include "tests/programs/calls_by_name.h"
#include "tools/simgpu/simgpu.h"

xrt_error cudaMemGetInfo(size_t *left, size_t *total);

#define ROUNDS 48
#define BYTES (8 * MIB)
#define COUNT (BYTES / sizeof(unsigned))
#define ADVISE_PREFERRED 3 /* CU_MEM_ADVISE_SET_PREFERRED_LOCATION */

static unsigned *memory;
static void *module, *add, *look;
static xcu_stream streams[2];

/* ---- the kernels ----------------------------------------------------------------------------- */

static void touch(const void *address, size_t bytes, int write)
{
    (void)cu.xferscope_simgpu_touch(address, bytes, write);
}

#pragma GCC visibility push(default)
xferscope_simgpu_twin xferscope_simgpu_kernel_add, xferscope_simgpu_kernel_look;
extern const size_t xferscope_simgpu_params_add[], xferscope_simgpu_params_look[];
#pragma GCC visibility pop

void xferscope_simgpu_kernel_add(void **values, const unsigned grid[3], const unsigned block[3])
{
    unsigned *data = *(unsigned **)values[0], count = *(unsigned *)values[1];
    touch(data, count * sizeof *data, 1);
    for (unsigned i = 0; i < count; i++)
        data[i] += *grid * *block;
}
const size_t xferscope_simgpu_params_add[] = {8, 4, 0};

/* Is given one that it never looks at, and where to begin with the other one. */
void xferscope_simgpu_kernel_look(void **values, const unsigned grid[3], const unsigned block[3])
{
    xferscope_simgpu_kernel_add(values + 1, grid, block);
}
const size_t xferscope_simgpu_params_look[] = {8, 8, 4, 0};

static void load(void)
{
    CALL(cuModuleLoadData, &module,
         "\x7f"
         "ELF");
    CALL(cuModuleGetFunction, &add, module, "add");
    CALL(cuModuleGetFunction, &look, module, "look");
}

static int launch(unsigned *data, unsigned count, xcu_stream stream)
{
    void *values[] = {&data, &count};
    return cu.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, values, NULL);
}

/* ---- what the host does ---------------------------------------------------------------------- */

__attribute__((noipa)) static unsigned *allocate(size_t bytes)
{
    xcu_deviceptr p = 0;
    CALL(cuMemAllocManaged, &p, bytes, 1);
    return (unsigned *)p;
}

static void write_all(unsigned *data, int round)
{
    touch(data, BYTES, 1);
    for (unsigned i = 0; i < COUNT; i += 256)
        data[i] = (unsigned)round + i;
}

static void show(int round, const unsigned *data, size_t count)
{
    touch(data, count * sizeof *data, 0);
    printf("round %d: %016llx\n", round,
           (unsigned long long)sum((const char *)data, count * sizeof *data));
}

static void steady(int round)
{
    write_all(memory, round);
    MUST(launch(memory, COUNT, NULL));
    MUST(cudaDeviceSynchronize());
    show(round, memory, COUNT);
}

static void in_a_stream(int round)
{
    write_all(memory, round);
    MUST(launch(memory, COUNT, streams[0]));
    MUST(cudaStreamSynchronize(streams[0]));
    show(round, memory, COUNT);
}

/* By turns. */
static void in_streams(int round)
{
    write_all(memory, round);
    MUST(launch(memory, COUNT, streams[round % 2]));
    MUST(cudaStreamSynchronize(streams[round % 2]));
    show(round, memory, COUNT);
}

/* The host does not come back to it. */
static void resident(int round)
{
    MUST(launch(memory, COUNT, NULL));
    MUST(cudaDeviceSynchronize());
    if (round == ROUNDS - 1)
        show(round, memory, COUNT);
}

/* The kernel wants a page of it, the host all. */
static void little(int round)
{
    write_all(memory, round);
    MUST(launch(memory, 1024, NULL));
    MUST(cudaDeviceSynchronize());
    show(round, memory, COUNT);
}

/* The kernel wants all of one and would get it sooner; but the host would wait for all of another
 * one that the kernel is given and does not look at. */
static void not_looked_at(int round)
{
    static unsigned *other;
    unsigned count = COUNT;
    other = other ? other : allocate(BYTES);
    write_all(other, round);
    touch(memory, BYTES, 1);
    void *values[] = {&other, &memory, &count};
    MUST(cu.cuLaunchKernel(look, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
    MUST(cudaDeviceSynchronize());
    show(round, memory, 1024);
    show(round, other, COUNT);
}

static void advised(int round)
{
    if (round == 2)
        CALL(cuMemAdvise, (xcu_deviceptr)memory + MIB, MIB, ADVISE_PREFERRED, 0);
    steady(round);
}

static void prefetched(int round)
{
    write_all(memory, round);
    CALL(cuMemPrefetchAsync, (xcu_deviceptr)memory, BYTES, 0, NULL);
    MUST(launch(memory, COUNT, NULL));
    MUST(cudaDeviceSynchronize());
    show(round, memory, COUNT);
}

/* Of the GPU's memory there is left what this needs, and no more. */
static void full(int round)
{
    static void *most;
    size_t left, total;
    if (round == 0) {
        MUST(cudaMemGetInfo(&left, &total));
        MUST(cudaMalloc(&most, left - 2 * BYTES));
    }
    steady(round);
}

static void freed(int round)
{
    unsigned *before = memory;
    steady(round);
    MUST(cudaFree(memory));
    memory = round % 3 == 0 ? NULL : allocate(BYTES);
    if (memory == NULL) { /* memory of another kind, likely at the same place */
        MUST(cudaMalloc((void **)&memory, BYTES));
        MUST(launch(memory, COUNT, NULL));
        MUST(cudaFree(memory));
        memory = allocate(BYTES);
    }
    MUST(launch(memory, COUNT, NULL));
    printf("round %d: %d\n", round, before != NULL);
    MUST(cudaDeviceSynchronize());
    show(round, memory, COUNT);
}

/* Far ahead of the GPU. */
static void ahead(int round)
{
    write_all(memory, round);
    for (int i = 0; i < 50; i++)
        MUST(launch(memory, 1024, streams[i / 10 % 2]));
    MUST(cudaDeviceSynchronize());
    show(round, memory, COUNT);
}

static void captured(int round)
{
    static xcu_graph_exec exec;
    xcu_graph graph;
    if (round == 10) {
        CALL(cuStreamBeginCapture_v2, streams[0], 0);
        MUST(launch(memory, COUNT, streams[0]));
        CALL(cuStreamEndCapture, streams[0], &graph);
        CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
    }
    write_all(memory, round);
    if (exec)
        CALL(cuGraphLaunch, exec, streams[0]);
    else
        MUST(launch(memory, COUNT, streams[0]));
    MUST(cudaStreamSynchronize(streams[0]));
    show(round, memory, COUNT);
}

static void reloaded(int round)
{
    CALL(cuModuleUnload, module);
    load();
    if (round % 2) /* likely where the other one was */
        CALL(cuModuleGetFunction, &add, module, "add");
    steady(round);
}

static void failing(int round)
{
    unsigned *data = memory, count = COUNT;
    void *values[] = {&data, &count};
    write_all(memory, round);
    printf("%d", cu.cuLaunchKernel(add, 0, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
    printf(" %d", cu.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    printf(" %d\n", cu.cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
    steady(round);
    printf("last error %d\n", cudaGetLastError());
}

static void reset(int round)
{
    steady(round);
    if (round % 12 != 11)
        return;
    MUST(cudaDeviceReset());
    MUST(cudaFree(NULL));
    memory = allocate(BYTES);
    load();
}

static void *launches(void *data)
{
    MUST(cudaFree(NULL)); /* makes the context current */
    for (int i = 0; i < ROUNDS / 2; i++) {
        write_all(data, i);
        MUST(launch(data, COUNT, NULL));
        MUST(cudaDeviceSynchronize());
    }
    return NULL;
}

/* One after the other, then at the same time. */
static void two_threads(int round)
{
    pthread_t thread;
    unsigned *other;
    if (round > 1)
        return;
    other = allocate(BYTES);
    if (round == 0)
        launches(memory);
    if (pthread_create(&thread, NULL, launches, other) != 0)
        exit(1);
    if (round == 1)
        launches(memory);
    pthread_join(thread, NULL);
    show(round, memory, COUNT);
    show(round, other, COUNT);
}

static void two_gpus(int round)
{
    int gpu = round / 3 % 2;
    if (round % 3 == 0) {
        MUST(cudaSetDevice(gpu));
        MUST(cudaFree(NULL));
        load();
    }
    steady(round);
}

static void forked(int round)
{
    int status = 0;
    steady(round);
    if (round % 16 != 15)
        return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(launch(memory, COUNT, NULL) == 0);
    waitpid(child, &status, 0);
    printf("child: %d\n", status);
}

static const struct mode {
    const char *name;
    void (*round)(int round);
} modes[] = {
#define MODE(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    MODE(steady),   MODE(in_a_stream), MODE(resident),   MODE(little),      MODE(not_looked_at),
    MODE(advised),  MODE(prefetched),  MODE(full),       MODE(freed),       MODE(ahead),
    MODE(captured), MODE(reloaded),    MODE(failing),    MODE(two_threads), MODE(reset),
    MODE(forked),   MODE(two_gpus),    MODE(in_streams),
};

static uint64_t now(void)
{
    return ((uint64_t(*)(void))(void *)cu.xferscope_simgpu_now_ns)();
}

int main(int argc, char **argv)
{
    MUST(cudaFree(NULL));
    find_calls();
    load();
    memory = allocate(BYTES);
    memset(memory, 0, BYTES);
    MUST(cudaStreamCreate(&streams[0]));
    MUST(cudaStreamCreate(&streams[1]));
    uint64_t begun = now();
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        for (int round = 0; strcmp(argv[1], modes[i].name) == 0 && round < ROUNDS; round++)
            modes[i].round(round);
    fprintf(stderr, "simulated: %llu ns\n", (unsigned long long)(now() - begun));
    return 0;
}
