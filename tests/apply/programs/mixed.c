/*
 * The default streams in all their forms, functions of the host, events, contexts on the stack, and
 * captures that begin and end between and beside copies: mixed streams | host | events | contexts |
 * captures | beside | held.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define BYTES (6 * MIB)
enum { ROUNDS = 9 };

xrt_error cudaLaunchHostFunc(xcu_stream stream, void (*function)(void *), void *user);
xrt_error cudaStreamWaitEvent(xcu_stream stream, xcu_event event, unsigned flags);
xrt_error cudaStreamCreateWithFlags(xcu_stream *stream, unsigned flags);
xrt_error cudaStreamBeginCapture(xcu_stream stream, int mode);
xrt_error cudaStreamEndCapture(xcu_stream stream, xcu_graph *graph);
xrt_error cudaStreamQuery(xcu_stream stream);
xrt_error cudaEventQuery(xcu_event event);
xrt_error cudaMemcpyAsync_ptsz(void *dst, const void *src, size_t bytes, int kind,
                               xcu_stream stream);
xrt_error cudaMemcpy_ptds(void *dst, const void *src, size_t bytes, int kind);
xrt_error cudaMemsetAsync(void *p, int value, size_t bytes, xcu_stream stream);
xrt_error cudaGraphInstantiateWithFlags(xcu_graph_exec *exec, xcu_graph graph,
                                        unsigned long long flags);
xrt_error cudaGraphLaunch(xcu_graph_exec exec, xcu_stream stream);
xrt_error cudaGraphDestroy(xcu_graph graph);

static void *device, *second;
static char *host, *found, *locked;
static xcu_stream a, apart;

static void show(const char *what, int round)
{
    printf("%s %d: %016llx\n", what, round, (unsigned long long)sum(found, BYTES));
}

/* ---- streams -----------------------------------------------------------------------------------
 */

static void streams(int round)
{
    xcu_stream all[] = {NULL, XCU_STREAM_LEGACY, XCU_STREAM_PER_THREAD, a, apart};
    for (int up = 0; up < 5; up++)
        for (int down = 0; down < 5; down++) {
            fill(host, BYTES, (uint64_t)(round * 25 + up * 5 + down));
            MUST(cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, all[up]));
            if (up > 1 || down > 1)
                MUST(cudaStreamSynchronize(all[up]));
            MUST(cudaMemcpyAsync(found, device, BYTES, XRT_COPY_D2H, all[down]));
            if (memcmp(found, host, BYTES) != 0)
                printf("%d to %d: different\n", up, down);
        }
    MUST(cudaMemcpyAsync_ptsz(second, host, BYTES, XRT_COPY_H2D, NULL));
    MUST(cudaMemcpy_ptds(found, second, BYTES, XRT_COPY_D2H));
    show("per thread", round);
}

/* ---- functions of the host ---------------------------------------------------------------------
 */

static int in_function[4];

static void copies(void *unused)
{
    (void)unused;
    in_function[0] = cudaMemcpy(second, host, BYTES, XRT_COPY_H2D);
    in_function[1] = cudaMemcpyAsync(second, host, BYTES, XRT_COPY_H2D, apart);
    in_function[2] = cudaMemcpy(found, second, BYTES, XRT_COPY_D2H);
    in_function[3] = cudaGetLastError();
}

static void host_functions(int round)
{
    fill(host, BYTES, (uint64_t)round);
    MUST(cudaLaunchHostFunc(a, copies, NULL));
    int error = cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, a);
    printf("beside a function of the host: %d\n", error);
    MUST(cudaDeviceSynchronize());
    printf("in it: %d %d %d %d\n", in_function[0], in_function[1], in_function[2], in_function[3]);
    cudaGetLastError();
    MUST(cudaMemcpy(found, device, BYTES, XRT_COPY_D2H));
    show("then", round);
}

static volatile int let_go, in_vain;

static void wait_for_host(void *unused)
{
    (void)unused;
    for (int i = 0; i < 200 && !let_go; i++)
        usleep(100);
    in_vain += !let_go;
}

/* A stream that waits for the host: uploads that do not wait for it are behind it when the host
 * lets it go on. (The simulated GPU calls the function at once, or when anything is waited for.) */
static void held(int round)
{
    const size_t part = 2 * MIB;
    let_go = 0;
    fill(host, BYTES, (uint64_t)round);
    MUST(cudaLaunchHostFunc(apart, wait_for_host, NULL));
    for (size_t i = 0; i < BYTES; i += part)
        MUST(cudaMemcpyAsync((char *)device + i, host + i, part, XRT_COPY_H2D, apart));
    MUST(cudaMemcpyAsync(found, second, part, XRT_COPY_D2H, a));
    let_go = 1;
    MUST(cudaMemcpyAsync(found, device, BYTES, XRT_COPY_D2H, apart));
    printf("in vain %d\n", in_vain);
    show("held", round);
}

/* ---- events ------------------------------------------------------------------------------------
 */

static void events(int round)
{
    xcu_event one, two;
    MUST(cudaEventCreate(&one));
    MUST(cudaEventCreate(&two));
    fill(host, BYTES, (uint64_t)round);
    MUST(cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, apart));
    memset(host, 0, BYTES);
    MUST(cudaEventRecord(one, apart));
    MUST(cudaStreamWaitEvent(a, one, 0));
    MUST(cudaMemcpyAsync(second, device, BYTES, XRT_COPY_D2D, a));
    MUST(cudaMemcpyAsync(locked, second, BYTES, XRT_COPY_D2H, a));
    MUST(cudaEventRecord(two, a));
    MUST(cudaStreamWaitEvent(apart, two, 0)); /* what it fills is read until then */
    MUST(cudaMemsetAsync(device, 1, BYTES, apart));
    MUST(cudaEventSynchronize(two));
    printf("events %d: %d %d\n", round, cudaEventQuery(one), cudaEventQuery(two));
    memcpy(found, locked, BYTES);
    show("events", round);
    MUST(cudaEventDestroy(two));
    MUST(cudaEventDestroy(one));
}

/* ---- contexts ----------------------------------------------------------------------------------
 */

static struct {
    xcu_result (*create)(xcu_context *, void *, unsigned, xcu_device);
    xcu_result (*destroy)(xcu_context);
    xcu_result (*push)(xcu_context);
    xcu_result (*pop)(xcu_context *);
    xcu_result (*alloc)(xcu_deviceptr *, size_t);
    xcu_result (*up)(xcu_deviceptr, const void *, size_t);
    xcu_result (*down)(void *, xcu_deviceptr, size_t);
} cu;

#define LOOK_UP(field, name) (*(void **)&cu.field = dlsym(driver, name))

/* Memory of one context while another one is current, and pushed twice. */
static void contexts(int round)
{
    xcu_context made, popped;
    xcu_deviceptr there;
    int status[6];
    fill(host, BYTES, (uint64_t)round);
    must(cu.create(&made, NULL, 0, 0), "create");
    must(cu.alloc(&there, BYTES), "alloc");
    status[0] = cu.up(there, host, BYTES);
    must(cu.pop(&popped), "pop");
    status[1] = cu.up(there, host, BYTES);
    status[2] = cudaMemcpy(device, host, BYTES, XRT_COPY_H2D);
    must(cu.push(made), "push");
    must(cu.push(made), "push");
    status[3] = cudaMemcpy(found, device, BYTES, XRT_COPY_D2H);
    status[4] = cu.down(found, there, BYTES);
    must(cu.pop(&popped), "pop");
    must(cu.pop(&popped), "pop");
    must(cu.destroy(made), "destroy");
    status[5] = cu.up(there, host, BYTES);
    for (int i = 0; i < 6; i++)
        printf("%d ", status[i]);
    printf("last %d\n", cudaGetLastError());
    show("contexts", round);
}

/* ---- captures ----------------------------------------------------------------------------------
 */

/* One in each mode, whose begin and end lie between copies; what it has is launched. */
static void captures(int round)
{
    xcu_graph graph = NULL;
    xcu_graph_exec exec;
    fill(host, BYTES, (uint64_t)round);
    MUST(cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, apart));
    MUST(cudaStreamBeginCapture(a, round % 3));
    int within = cudaMemcpyAsync(second, device, BYTES, XRT_COPY_D2D, a);
    int beside = cudaMemcpyAsync(found, device, BYTES, XRT_COPY_D2H, apart);
    int upload = cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, apart);
    int ended = cudaStreamEndCapture(a, &graph);
    printf("mode %d: %d %d %d %d, last %d\n", round % 3, within, beside, upload, ended,
           cudaGetLastError());
    MUST(cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, apart));
    if (ended == 0 && graph) {
        MUST(cudaGraphInstantiateWithFlags(&exec, graph, 0));
        MUST(cudaStreamSynchronize(apart));
        MUST(cudaGraphLaunch(exec, a));
        MUST(cudaMemcpyAsync(found, second, BYTES, XRT_COPY_D2H, a));
        MUST(cudaGraphDestroy(graph));
    }
    show("captures", round);
}

static volatile int stop, broken;

/* Captures of a thread of its own, which copies of other threads must not break. */
static void *capture_for_ever(void *unused)
{
    void *from, *to;
    xcu_stream stream;
    (void)unused;
    MUST(cudaMalloc(&from, BYTES));
    MUST(cudaMalloc(&to, BYTES));
    MUST(cudaStreamCreateWithFlags(&stream, XCU_STREAM_NON_BLOCKING));
    while (!stop) {
        xcu_graph graph = NULL;
        int begun = cudaStreamBeginCapture(stream, 1 /* of this thread */);
        int copied = cudaMemcpyAsync(to, from, BYTES, XRT_COPY_D2D, stream);
        int ended = cudaStreamEndCapture(stream, &graph);
        broken += begun != 0 || copied != 0 || ended != 0 || graph == NULL;
        if (graph)
            cudaGraphDestroy(graph);
    }
    return NULL;
}

static void beside(int round)
{
    fill(host, BYTES, (uint64_t)round);
    for (int i = 0; i < 5; i++) {
        MUST(cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, i & 1 ? a : apart));
        MUST(cudaMemcpyAsync(found, device, BYTES, XRT_COPY_D2H, i & 1 ? a : apart));
    }
    show("beside", round);
}

static void look_up(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    LOOK_UP(create, "cuCtxCreate_v4");
    LOOK_UP(destroy, "cuCtxDestroy_v2");
    LOOK_UP(push, "cuCtxPushCurrent_v2");
    LOOK_UP(pop, "cuCtxPopCurrent_v2");
    LOOK_UP(alloc, "cuMemAlloc_v2");
    LOOK_UP(up, "cuMemcpyHtoD_v2");
    LOOK_UP(down, "cuMemcpyDtoH_v2");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*round)(int round);
    } all[] = {{"streams", streams},   {"host", host_functions}, {"events", events},
               {"contexts", contexts}, {"captures", captures},   {"beside", beside},
               {"held", held}};
    pthread_t thread;
    host = malloc(WARM_BYTES);
    found = malloc(WARM_BYTES);
    memset(host, 1, WARM_BYTES);
    look_up();
    MUST(cudaMalloc(&device, WARM_BYTES));
    MUST(cudaMalloc(&second, WARM_BYTES));
    MUST(cudaMallocHost((void **)&locked, BYTES));
    MUST(cudaStreamCreate(&a));
    MUST(cudaStreamCreateWithFlags(&apart, XCU_STREAM_NON_BLOCKING));
    warm_up(device, host);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (argc < 2 || strcmp(argv[1], all[i].name) != 0)
            continue;
        if (all[i].round == beside)
            pthread_create(&thread, NULL, capture_for_ever, NULL);
        int rounds = all[i].round == contexts ? 3 : ROUNDS; /* a GPU takes long to make one */
        for (int round = 0; round < rounds; round++)
            all[i].round(round);
        stop = 1;
        if (all[i].round == beside)
            pthread_join(thread, NULL);
    }
    printf("%s captures were broken, last error %d\n", broken ? "some" : "no", cudaGetLastError());
    return 0;
}
