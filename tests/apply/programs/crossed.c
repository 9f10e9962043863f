/*
 * Work that uses memory of two GPUs, in a stream of GPU 1, and what is done to GPU 0 while it is
 * under way: crossed WHAT END. Once GPU 0's memory is freed, its work waited for, or its context
 * over, it must be over, since without access that was work of both.
 *
 *     WHAT  peer | rows | layers | boxes | batch | graph | up | down | set | away | again | taken |
 *           node
 *     END   free | host | wait | reset | array | both (frees, and resets GPU 1 in another thread)
 *
 * graph: captured when access may be there, node: made by nodes; early, early-node: before. away:
 * by a stream that is not the current GPU's. again: in a stream that is destroyed, before another
 * one gets its handle. taken: the program enables access itself meanwhile.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "tests/apply/programs/applied.h"

#define BYTES (4 * MIB)
enum { ROUNDS = 10, TIMES = 5, COPIES = 12 };

xrt_error cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t bytes,
                              xcu_stream stream);
xrt_error cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                            size_t height, int kind, xcu_stream stream);
xrt_error cudaMemcpy3DAsync(const struct xrt_memcpy3d *copy, xcu_stream stream);
xrt_error cudaMemcpy3DPeerAsync(const struct xrt_memcpy3d_peer *copy, xcu_stream stream);
xrt_error cudaMemcpyBatchAsync(void **dsts, const void **srcs, size_t *sizes, size_t count,
                               struct xcu_copy_attributes *attributes, size_t *first, size_t kinds,
                               xcu_stream stream);
xrt_error cudaMemsetAsync(void *memory, int value, size_t bytes, xcu_stream stream);
xrt_error cudaEventQuery(xcu_event event);
xrt_error cudaStreamBeginCapture(xcu_stream stream, int mode);
xrt_error cudaStreamEndCapture(xcu_stream stream, xcu_graph *graph);
xrt_error cudaGraphCreate(xcu_graph *graph, unsigned flags);
xrt_error cudaGraphAddMemcpyNode1D(xcu_graph_node *node, xcu_graph graph,
                                   const xcu_graph_node *behind, size_t count, void *dst,
                                   const void *src, size_t bytes, int kind);
xrt_error cudaGraphInstantiateWithFlags(xcu_graph_exec *exec, xcu_graph graph,
                                        unsigned long long flags);
xrt_error cudaGraphLaunch(xcu_graph_exec exec, xcu_stream stream);
xrt_error cudaMallocArray(xcu_array *array, const struct xrt_channel *format, size_t width,
                          size_t height, unsigned flags);
xrt_error cudaFreeArray(xcu_array array);
xrt_error cudaDeviceEnablePeerAccess(int peer, unsigned flags);

static char *memory[2], *host, *locked;
static xcu_stream streams[2];
static xcu_graph_exec exec;
static xcu_array array;

static void make(int gpu)
{
    static const struct xrt_channel format = {8, 0, 0, 0, 1};
    MUST(cudaSetDevice(gpu));
    MUST(cudaMalloc((void **)&memory[gpu], BYTES));
    MUST(cudaStreamCreate(&streams[gpu]));
    if (gpu == 0) {
        MUST(cudaMallocArray(&array, &format, 1024, 64, 0));
        MUST(cudaMallocHost((void **)&locked, BYTES));
    } else
        MUST(cudaMallocHost((void **)&host, BYTES));
}

/* Until access may be there. */
static void warm(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < TIMES; k++)
            MUST(cudaMemcpyPeerAsync(memory[0], 0, memory[1], 1, BYTES, streams[1]));
        for (int gpu = 1; gpu >= 0; gpu--) {
            MUST(cudaSetDevice(gpu));
            MUST(cudaDeviceSynchronize());
        }
        MUST(cudaSetDevice(1));
    }
}

/* Captured, or (real drivers refuse to capture copies between GPUs) made node by node. */
static void make_graph(bool captured)
{
    xcu_graph graph;
    xcu_graph_node node;
    MUST(cudaSetDevice(1));
    if (captured) {
        MUST(cudaStreamBeginCapture(streams[1], 0));
        MUST(cudaMemcpyPeerAsync(memory[0], 0, memory[1], 1, BYTES, streams[1]));
        MUST(cudaStreamEndCapture(streams[1], &graph));
    } else {
        MUST(cudaGraphCreate(&graph, 0));
        MUST(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, memory[0], memory[1], BYTES,
                                      XRT_COPY_D2D));
    }
    MUST(cudaGraphInstantiateWithFlags(&exec, graph, 0));
}

/* ---- what is under way ----------------------------------------------------------------------- */

static void rows(void)
{
    MUST(cudaMemcpy2DAsync(memory[0], 4096, memory[1], 4096, 4096, BYTES / 4096, XRT_COPY_D2D,
                           streams[1]));
}

static void layers(void)
{
    struct xrt_memcpy3d_peer copy = {.src_ptr = {memory[1], 4096, 4096, 64},
                                     .src_device = 1,
                                     .dst_ptr = {memory[0], 4096, 4096, 64},
                                     .dst_device = 0,
                                     .extent = {4096, 64, BYTES / 4096 / 64}};
    MUST(cudaMemcpy3DPeerAsync(&copy, streams[1]));
}

static void boxes(void)
{
    struct xrt_memcpy3d copy = {.src_ptr = {memory[1], 4096, 4096, 64},
                                .dst_ptr = {memory[0], 4096, 4096, 64},
                                .extent = {4096, 64, BYTES / 4096 / 64},
                                .kind = XRT_COPY_D2D};
    MUST(cudaMemcpy3DAsync(&copy, streams[1]));
}

static void batch(void)
{
    struct xcu_copy_attributes attributes = {.access_order = 1};
    void *to[] = {memory[1], memory[0]};
    const void *from[] = {memory[1] + BYTES / 2, memory[1]};
    size_t sizes[] = {4096, BYTES}, first = 0;
    MUST(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, streams[1]));
}

static void peer(void)
{
    MUST(cudaMemcpyPeerAsync(memory[0], 0, memory[1], 1, BYTES, streams[1]));
}

static void launch(void)
{
    MUST(cudaGraphLaunch(exec, streams[1]));
}

static void up(void)
{
    MUST(cudaMemcpyAsync(memory[0], host, BYTES, XRT_COPY_H2D, streams[1]));
}

static void down(void)
{
    MUST(cudaMemcpyAsync(host, memory[0], BYTES, XRT_COPY_D2H, streams[1]));
}

static void set(void)
{
    MUST(cudaMemsetAsync(memory[0], 1, BYTES, streams[1]));
}

static void away(void)
{
    MUST(cudaSetDevice(0));
    peer();
}

/* Access is the program's own from now on, but not for what is under way. */
static void take_access(void)
{
    for (int gpu = 0; gpu < 2; gpu++) {
        MUST(cudaSetDevice(gpu));
        MUST(cudaDeviceEnablePeerAccess(!gpu, 0));
    }
}

static const struct {
    const char *name;
    void (*work)(void);
} works[] = {{"peer", peer},   {"rows", rows},    {"layers", layers}, {"boxes", boxes},
             {"batch", batch}, {"graph", launch}, {"early", launch},  {"up", up},
             {"down", down},   {"set", set},      {"away", away},     {"again", peer},
             {"taken", peer}};

/* Another stream may get the handle, and has a small copy. */
static void destroy(void)
{
    xcu_stream made = streams[1];
    MUST(cudaStreamDestroy(streams[1]));
    MUST(cudaStreamCreate(&streams[1]));
    printf("the same handle: %d\n", made == streams[1]);
    MUST(cudaMemcpyPeerAsync(memory[0], 0, memory[1], 1, 4096, streams[1]));
}

/* ---- what is done meanwhile ------------------------------------------------------------------ */

static void *reset_other(void *unused)
{
    MUST(cudaSetDevice(1));
    MUST(cudaDeviceReset());
    return unused;
}

static void both(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, reset_other, NULL);
    MUST(cudaFree(memory[0]));
    pthread_join(thread, NULL);
}

static void end(const char *how)
{
    MUST(cudaSetDevice(0));
    if (strcmp(how, "free") == 0)
        MUST(cudaFree(memory[0]));
    else if (strcmp(how, "host") == 0)
        MUST(cudaFreeHost(locked));
    else if (strcmp(how, "wait") == 0)
        MUST(cudaDeviceSynchronize());
    else if (strcmp(how, "reset") == 0)
        MUST(cudaDeviceReset());
    else if (strcmp(how, "array") == 0)
        MUST(cudaFreeArray(array));
    else
        both();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "peer", *how = argc > 2 ? argv[2] : "free";
    void (*work)(void) = NULL;
    xcu_event behind;
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (strcmp(what, works[i].name) == 0)
            work = works[i].work;
    make(0);
    make(1);
    if (strncmp(what, "early", 5) == 0)
        make_graph(strcmp(what, "early") == 0);
    warm();
    if (strcmp(what, "graph") == 0 || strcmp(what, "node") == 0)
        make_graph(strcmp(what, "graph") == 0);
    for (int i = 0; i < COPIES && work; i++)
        work();
    MUST(cudaSetDevice(1));
    MUST(cudaEventCreate(&behind));
    MUST(cudaEventRecord(behind, streams[1]));
    if (strcmp(what, "again") == 0)
        destroy();
    if (strcmp(what, "taken") == 0)
        take_access();
    end(how);
    if (strcmp(how, "both") != 0) {
        MUST(cudaSetDevice(1));
        printf("behind it: %s\n", cudaGetErrorName(cudaEventQuery(behind)));
        MUST(cudaDeviceSynchronize());
    }
    printf("done\n");
    return 0;
}
