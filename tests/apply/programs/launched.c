/*
 * Two threads that give copies, kernels and fills to the legacy default stream, one after the
 * other: launched MODE. In each round both upload, the first one does something and goes on without
 * waiting, then the second one does what relies on it. Prints what was wrong: alone and with the
 * plan nothing. Where work is done only when something waits for it (XFERSCOPE_SIMGPU_LAZY), what
 * is not in order is not there. The planned sites are in upload() and download().
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define CALLS(X)                                                                                   \
    X(cuModuleLoadData, (void **, const void *))                                                   \
    X(cuModuleUnload, (void *))                                                                    \
    X(cuModuleGetFunction, (void **, void *, const char *))                                        \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, xcu_stream, void **, void **))                                    \
    X(cuLaunchHostFunc, (xcu_stream, void (*)(void *), void *))                                    \
    X(cuMemAllocManaged, (xcu_deviceptr *, size_t, unsigned))                                      \
    X(cuMemsetD8_v2, (xcu_deviceptr, unsigned char, size_t))                                       \
    X(cuMemsetD16Async, (xcu_deviceptr, unsigned short, size_t, xcu_stream))                       \
    X(cuMemsetD32_v2, (xcu_deviceptr, unsigned, size_t))                                           \
    X(cuStreamBeginCapture_v2, (xcu_stream, int))                                                  \
    X(cuStreamEndCapture, (xcu_stream, xcu_graph *))                                               \
    X(cuStreamQuery, (xcu_stream))                                                                 \
    X(cuStreamSynchronize, (xcu_stream))                                                           \
    X(cuCtxSynchronize, (void))                                                                    \
    X(cuEventCreate, (xcu_event *, unsigned))                                                      \
    X(cuEventRecord, (xcu_event, xcu_stream))                                                      \
    X(cuEventSynchronize, (xcu_event))                                                             \
    X(xferscope_simgpu_thread_begin, (unsigned, unsigned))                                         \
    X(xferscope_simgpu_thread_end, (void))                                                         \
    X(xferscope_simgpu_kernel_ns, (uint64_t))                                                      \
    X(xferscope_simgpu_now_ns, (void))

#include "tests/apply/programs/applied.h"
#include "tests/programs/calls_by_name.h"
#include "tools/simgpu/simgpu.h"

#define ROUNDS 40
#define BYTES MIB

static void *add, *add_to, *count_in, *add_table, *turn_table;
static char *table;               /* memory of the device, of both threads */
static char *host[2], *device[2]; /* of the two threads */
static char *locked;              /* page-locked memory of the host */
static xcu_deviceptr managed;
static xcu_event event;
static int wrong, found;
static unsigned codes;
static pthread_barrier_t turn;

/* ---- kernels --------------------------------------------------------------------------------- */

#pragma GCC visibility push(default)
xferscope_simgpu_twin xferscope_simgpu_kernel_add, xferscope_simgpu_kernel_add_to,
    xferscope_simgpu_kernel_count_in, xferscope_simgpu_kernel__Z9add_tablePhPKh,
    xferscope_simgpu_kernel_turn_table;
extern const size_t xferscope_simgpu_params_add[], xferscope_simgpu_params_add_to[],
    xferscope_simgpu_params_count_in[], xferscope_simgpu_params__Z9add_tablePhPKh[],
    xferscope_simgpu_params_turn_table[];
#pragma GCC visibility pop

void xferscope_simgpu_kernel_add(void **values, const unsigned grid[3], const unsigned block[3])
{
    unsigned char *data = *(unsigned char **)values[0];
    (void)grid, (void)block;
    (void)cu.xferscope_simgpu_kernel_ns(30000);
    for (size_t i = 0; i < BYTES; i++)
        data[i]++;
}
const size_t xferscope_simgpu_params_add[] = {8, 0};

/* By a structure of a number and two pointers. */
struct two {
    uint64_t bytes;
    unsigned char *to;
    const unsigned char *from;
};

void xferscope_simgpu_kernel_add_to(void **values, const unsigned grid[3], const unsigned block[3])
{
    const struct two *two = values[0];
    (void)grid, (void)block;
    (void)cu.xferscope_simgpu_kernel_ns(30000);
    for (size_t i = 0; i < two->bytes; i++)
        two->to[i] = (unsigned char)(two->to[i] + two->from[i]);
}
const size_t xferscope_simgpu_params_add_to[] = {sizeof(struct two), 0};

/* What the first word points to, which no parameter names. */
void xferscope_simgpu_kernel_count_in(void **values, const unsigned grid[3],
                                      const unsigned block[3])
{
    (void)grid, (void)block;
    (void)cu.xferscope_simgpu_kernel_ns(30000);
    ++***(uint64_t ***)values[0];
}
const size_t xferscope_simgpu_params_count_in[] = {8, 0};

/* add_table(unsigned char *, const unsigned char *) */
void xferscope_simgpu_kernel__Z9add_tablePhPKh(void **values, const unsigned grid[3],
                                               const unsigned block[3])
{
    unsigned char *data = *(unsigned char **)values[0];
    const unsigned char *more = *(const unsigned char **)values[1];
    (void)grid, (void)block;
    (void)cu.xferscope_simgpu_kernel_ns(30000);
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(data[i] + more[i]);
}
const size_t xferscope_simgpu_params__Z9add_tablePhPKh[] = {8, 8, 0};

/* A name that says nothing: the same, and the table's first byte counts the launches but the first
 * two. */
void xferscope_simgpu_kernel_turn_table(void **values, const unsigned grid[3],
                                        const unsigned block[3])
{
    static int launches;
    xferscope_simgpu_kernel__Z9add_tablePhPKh(values, grid, block);
    **(unsigned char **)values[1] += launches++ >= 2;
}
const size_t xferscope_simgpu_params_turn_table[] = {8, 8, 0};

static void *load(void)
{
    void *module;
    CALL(cuModuleLoadData, &module,
         "\x7f"
         "ELF");
    CALL(cuModuleGetFunction, &add, module, "add");
    CALL(cuModuleGetFunction, &add_to, module, "add_to");
    CALL(cuModuleGetFunction, &count_in, module, "count_in");
    CALL(cuModuleGetFunction, &add_table, module, "_Z9add_tablePhPKh");
    CALL(cuModuleGetFunction, &turn_table, module, "turn_table");
    return module;
}

static void launch(void *memory)
{
    void *values[] = {&memory};
    CALL(cuLaunchKernel, add, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL);
}

static void launch_to(void *to, const void *from)
{
    struct two two = {BYTES, to, from};
    void *values[] = {&two};
    CALL(cuLaunchKernel, add_to, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL);
}

static void launch_with(void *kernel, void *memory, void *with)
{
    void *values[] = {&memory, &with};
    CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL);
}

/* ---- what threads do ------------------------------------------------------------------------- */

__attribute__((noipa)) static void upload(void *to, const void *from, size_t bytes)
{
    MUST(cudaMemcpy(to, from, bytes, XRT_COPY_H2D));
}

__attribute__((noipa)) static void download(void *to, const void *from, size_t bytes)
{
    MUST(cudaMemcpy(to, from, bytes, XRT_COPY_D2H));
}

static void expect(const void *memory, size_t from, size_t end, int value)
{
    const unsigned char *bytes = memory;
    for (size_t i = from; i < end; i++)
        if (bytes[i] != (unsigned char)value) {
            wrong++;
            return;
        }
}

static void expect_there(const void *memory, int value)
{
    download(host[1], memory, BYTES);
    expect(host[1], 0, BYTES, value);
}

static void launched(int round)
{
    (void)round;
    launch(device[0]);
}

static void own_loop(int round)
{
    launch(device[1]);
    expect_there(device[1], round + 1);
}

static void used_again(int round)
{
    launch(device[0]);
    expect_there(device[0], round + 2);
}

static void copied(int round)
{
    expect_there(device[0], round + 1);
}

static void overwritten(int round)
{
    memset(host[1], round + 9, BYTES);
    upload(device[0], host[1], BYTES);
    expect_there(device[0], round + 9);
}

static void filled(int round)
{
    CALL(cuMemsetD8_v2, (xcu_deviceptr)device[0], (unsigned char)round, BYTES);
    CALL(cuMemsetD16Async, (xcu_deviceptr)device[0], 0x0505, BYTES / 4, NULL);
}

static void launched_behind(int round)
{
    launch(device[0]);
    download(host[1], device[0], BYTES);
    expect(host[1], 0, BYTES / 2, 6);
    expect(host[1], BYTES / 2, BYTES, round + 1);
}

static void filled_behind(int round)
{
    CALL(cuMemsetD32_v2, (xcu_deviceptr)device[0], 0x07070707, BYTES / 8);
    download(host[1], device[0], BYTES);
    expect(host[1], 0, BYTES / 2, 7);
    expect(host[1], BYTES / 2, BYTES, round + 1);
}

/* The first one's memory is in a structure. */
static void given_two(int round)
{
    launch_to(device[1], device[0]);
    expect_there(device[1], 2 * round + 1);
}

static void marked(int round)
{
    launched(round);
    CALL(cuEventRecord, event, NULL);
}

static void event_waited_for(int round)
{
    CALL(cuEventSynchronize, event);
    expect(device[0], 0, BYTES, round + 1);
}

static void stream_waited_for(int round)
{
    CALL(cuStreamSynchronize, NULL);
    expect(device[0], 0, BYTES, round + 1);
    used_again(round); /* which has nothing left to wait for */
}

static void stream_asked(int round)
{
    while (cu.cuStreamQuery(NULL) == XCU_ERROR_NOT_READY)
        ;
    expect(device[0], 0, BYTES, round + 1);
}

static void context_waited_for(int round)
{
    CALL(cuCtxSynchronize);
    expect(device[0], 0, BYTES, round + 1);
}

static void in_a_stream(int round)
{
    xcu_stream stream;
    MUST(cudaStreamCreate(&stream));
    MUST(cudaMemcpyAsync(host[1], device[0], BYTES, XRT_COPY_D2H, stream));
    MUST(cudaStreamSynchronize(stream));
    expect(host[1], 0, BYTES, round + 1);
    MUST(cudaStreamDestroy(stream));
}

static void in_a_threads_own(int round)
{
    MUST(cudaMemcpyAsync(host[1], device[0], BYTES, XRT_COPY_D2H, XCU_STREAM_PER_THREAD));
    MUST(cudaStreamSynchronize(XCU_STREAM_PER_THREAD));
    expect(host[1], 0, BYTES, round + 1);
}

/* The second one knows that what was given to the stream before its copy is over. */
static void fetched(int round)
{
    launched(round);
    MUST(cudaMemcpyAsync(host[0], device[0], BYTES, XRT_COPY_D2H, NULL));
}

static void known_by_own_copy(int round)
{
    download(host[1], device[1], BYTES);
    expect(host[0], 0, BYTES, round + 1);
}

static void in_locked_memory(int round)
{
    memset(locked, round, BYTES);
    launch(locked);
}

static void known_of_locked_memory(int round)
{
    download(host[1], device[1], BYTES);
    expect(locked, 0, BYTES, round + 1);
}

static void in_managed_memory(int round)
{
    memset((void *)managed, round, BYTES);
    launch((void *)managed);
}

static void known_of_managed_memory(int round)
{
    download(host[1], device[1], BYTES);
    expect((void *)managed, 0, BYTES, round + 1);
}

static void freed(int round)
{
    char *memory;
    MUST(cudaMalloc((void **)&memory, BYTES));
    CALL(cuMemsetD8_v2, (xcu_deviceptr)memory, (unsigned char)round, BYTES);
    launch(memory);
    MUST(cudaFree(memory));
}

static void made_again(int round)
{
    char *memory;
    MUST(cudaMalloc((void **)&memory, BYTES));
    memset(host[1], round, BYTES);
    upload(memory, host[1], BYTES);
    launch(memory);
    expect_there(memory, round + 1);
    MUST(cudaFree(memory));
}

static void see(void *unused)
{
    (void)unused;
    found = (unsigned char)device[0][BYTES - 1];
}

static void seen(int round)
{
    launched(round);
    CALL(cuLaunchHostFunc, NULL, see, NULL);
}

static void seen_by_then(int round)
{
    download(host[1], device[1], BYTES);
    wrong += found != (unsigned char)(round + 1);
}

static void captured(int round)
{
    xcu_graph graph;
    CALL(cuStreamBeginCapture_v2, XCU_STREAM_PER_THREAD, 1);
    CALL(cuStreamEndCapture, XCU_STREAM_PER_THREAD, &graph);
    expect_there(device[0], round + 1);
}

/* Of no blocks; of a kernel with too many threads in a block. */
static void refused(int round)
{
    void *values[] = {&device[0]};
    (void)round;
    codes = codes * 3 + (unsigned)cu.cuLaunchKernel(add, 0, 1, 1, 1, 1, 1, 0, NULL, values, NULL);
    codes =
        codes * 3 + (unsigned)cu.cuLaunchKernel(add, 1, 1, 1, 4096, 1, 1, 0, NULL, values, NULL);
    codes = codes * 3 + (unsigned)cudaGetLastError();
}

static void unchanged(int round)
{
    expect_there(device[0], round);
}

static void loaded_anew(int round)
{
    static void *module;
    launched(round);
    CALL(cuCtxSynchronize);
    if (module)
        CALL(cuModuleUnload, module);
    module = load();
}

/* Each has a pointer to one counter of all. */
static void counted(int round)
{
    static char *counter;
    uint64_t zero = 0;
    (void)round;
    if (counter == NULL) {
        MUST(cudaMalloc((void **)&counter, 16));
        MUST(cudaMemcpy(counter, &zero, sizeof zero, XRT_COPY_H2D));
    }
    MUST(cudaMemcpy(device[0], &counter, sizeof counter, XRT_COPY_H2D));
    void *values[] = {&device[0]};
    CALL(cuLaunchKernel, count_in, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL);
}

/* Another table in each round, which both read. */
static void table_filled(int round)
{
    CALL(cuMemsetD8_v2, (xcu_deviceptr)table, (unsigned char)(round + 3), BYTES);
    launch_with(add_table, device[0], table);
}

static void table_read(int round)
{
    launch_with(add_table, device[1], table);
    expect_there(device[1], 2 * round + 3);
}

static void table_given(int round)
{
    (void)round;
    launch_with(add_table, device[0], table);
}

static void table_given_too(int round)
{
    launch_with(add_table, device[1], table);
    expect_there(device[1], round + 1);
}

/* What one reads the other one writes behind it. */
static void table_overwritten(int round)
{
    memset(host[1], 9, BYTES);
    upload(table, host[1], BYTES);
    download(host[1], device[0], BYTES);
    expect(host[1], 0, BYTES, 2 * round + 3);
}

/* The table is the memory, too: it is written. */
static void table_itself(int round)
{
    launch_with(add_table, device[0], device[0]);
    (void)round;
}

static void table_itself_read(int round)
{
    launch_with(add_table, device[1], device[0]);
    expect_there(device[1], 3 * round);
}

static void table_turned(int round)
{
    launch_with(turn_table, device[0], table);
    (void)round;
}

static void any_read(int round)
{
    launch_with(add_table, device[1], table);
    CALL(cuCtxSynchronize);
    (void)round;
}

static const struct mode {
    const char *name;
    void (*first)(int round), (*second)(int round);
} modes[] = {
    {"side_by_side", NULL, NULL},
    {"loops", launched, own_loop},
    {"used_again", launched, used_again},
    {"copied", launched, copied},
    {"overwritten", launched, overwritten},
    {"launched_behind", filled, launched_behind},
    {"filled_behind", launched, filled_behind},
    {"given_two", launched, given_two},
    {"event", marked, event_waited_for},
    {"stream", launched, stream_waited_for},
    {"asked", launched, stream_asked},
    {"context", launched, context_waited_for},
    {"in_a_stream", launched, in_a_stream},
    {"in_a_threads_own", launched, in_a_threads_own},
    {"fetched", fetched, known_by_own_copy},
    {"locked", in_locked_memory, known_of_locked_memory},
    {"managed", in_managed_memory, known_of_managed_memory},
    {"freed", freed, made_again},
    {"host_function", seen, seen_by_then},
    {"captured", launched, captured},
    {"refused", refused, unchanged},
    {"loaded_anew", loaded_anew, used_again},
    {"counted", counted, own_loop},
    {"tables", NULL, NULL},
    {"table_both", table_given, table_given_too},
    {"table_read", table_filled, table_read},
    {"table_overwritten", table_filled, table_overwritten},
    {"table_itself", table_itself, table_itself_read},
    {"table_turned", table_turned, any_read},
};

/* ---- all of it ------------------------------------------------------------------------------- */

static const struct mode *mode;

/* Both at the same time. */
static void side_by_side(int number)
{
    (void)cu.xferscope_simgpu_thread_begin((unsigned)number, 2);
    for (int round = 0; round < ROUNDS; round++) {
        upload(device[number], host[number], BYTES);
        if (strcmp(mode->name, "tables") == 0)
            launch_with(add_table, device[number], table);
        else
            launch(device[number]);
        download(host[number], device[number], BYTES);
    }
    (void)cu.xferscope_simgpu_thread_end();
}

static void *work(void *of)
{
    int number = *(int *)of;
    MUST(cudaFree(NULL)); /* makes the context current */
    if (mode->first == NULL) {
        side_by_side(number);
        return NULL;
    }
    for (int round = 0; round < ROUNDS; round++) {
        memset(host[number], round, BYTES);
        upload(device[number], host[number], BYTES);
        for (int part = 0; part < 2; part++) {
            pthread_barrier_wait(&turn);
            if (part == number)
                (part ? mode->second : mode->first)(round);
        }
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

static uint64_t now(void)
{
    return ((uint64_t(*)(void))(void *)cu.xferscope_simgpu_now_ns)();
}

int main(int argc, char **argv)
{
    static int numbers[2] = {0, 1};
    pthread_t threads[2];
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (argc > 1 && strcmp(argv[1], modes[i].name) == 0)
            mode = &modes[i];
    MUST(cudaFree(NULL));
    find_calls();
    load();
    CALL(cuEventCreate, &event, 0);
    CALL(cuMemAllocManaged, &managed, BYTES, 1);
    MUST(cudaMallocHost((void **)&locked, BYTES));
    MUST(cudaMalloc((void **)&table, BYTES));
    CALL(cuMemsetD8_v2, (xcu_deviceptr)table, 1, BYTES);
    pthread_barrier_init(&turn, NULL, 2);
    for (int i = 0; i < 2; i++) {
        MUST(cudaMallocHost((void **)&host[i], BYTES));
        MUST(cudaMalloc((void **)&device[i], BYTES));
    }
    uint64_t begun = now();
    for (int i = 0; i < 2 && mode; i++)
        if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0)
            return 1;
    for (int i = 0; i < 2 && mode; i++)
        pthread_join(threads[i], NULL);
    fprintf(stderr, "simulated: %llu ns\n", (unsigned long long)(now() - begun));
    printf("%s: %d wrong, %u, last error %d\n", mode ? mode->name : "no such mode", wrong, codes,
           cudaGetLastError());
    return 0;
}
