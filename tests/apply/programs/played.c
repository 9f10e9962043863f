/*
 * A program drawn from a seed: played SEED THREADS DEVICES STEPS. Each thread has memory and
 * streams of its own on two of the devices, and copies, fills, waits, allocates, captures and fails
 * as drawn; what it does is in an order that CUDA promises, so that it ends with the same bytes
 * each time. Prints a sum for each thread, of all that it brought to the host and of all that calls
 * returned.
 */
#include <pthread.h>
#include <string.h>

#include "tests/apply/programs/applied.h"

#define MOST (12 * MIB)
#define LOCKED_LARGE (33 * MIB)
enum { BUFFERS = 4, HOSTS = 3, PINNED = 2, STREAMS = 5, MOST_THREADS = 8 };

xrt_error cudaGetDeviceCount(int *count);
xrt_error cudaLaunchHostFunc(xcu_stream stream, void (*function)(void *), void *user);
xrt_error cudaStreamWaitEvent(xcu_stream stream, xcu_event event, unsigned flags);
xrt_error cudaStreamCreateWithFlags(xcu_stream *stream, unsigned flags);
xrt_error cudaStreamBeginCapture(xcu_stream stream, int mode);
xrt_error cudaStreamEndCapture(xcu_stream stream, xcu_graph *graph);
xrt_error cudaGraphInstantiateWithFlags(xcu_graph_exec *exec, xcu_graph graph,
                                        unsigned long long flags);
xrt_error cudaGraphLaunch(xcu_graph_exec exec, xcu_stream stream);
xrt_error cudaGraphExecDestroy(xcu_graph_exec exec);
xrt_error cudaGraphDestroy(xcu_graph graph);
xrt_error cudaMemsetAsync(void *p, int value, size_t bytes, xcu_stream stream);
xrt_error cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height,
                            xcu_stream stream);
xrt_error cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                            size_t width, size_t height, int kind, xcu_stream stream);
xrt_error cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
                              size_t bytes, xcu_stream stream);

struct buffer {
    char *memory;
    size_t bytes;
    int device;
    xcu_stream last; /* of its last work */
};

struct player {
    uint64_t state, sum;
    int devices[2], device;
    struct buffer buffers[BUFFERS];
    char *hosts[HOSTS], *pinned[PINNED];
    xcu_stream pinned_last[PINNED];
    int pinned_device[PINNED];
    xcu_stream streams[2]
                      [STREAMS]; /* of each device: legacy, the thread's, two blocking, one not */
};

/* While a stream is captured nobody may wait for all of its device: the driver would refuse it, and
 * end the capture. */
static pthread_mutex_t one_of_them = PTHREAD_MUTEX_INITIALIZER;

static int device_count, steps;
static uint64_t seed;

/* ---- drawing --------------------------------------------------------------------------------- */

static uint64_t draw(struct player *p, uint64_t below)
{
    p->state += 0x9e3779b97f4a7c15u;
    uint64_t z = p->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

static void note(struct player *p, uint64_t value)
{
    p->sum = (p->sum ^ value) * 1099511628211u;
}

static void use(struct player *p, int device)
{
    if (p->device != device)
        MUST(cudaSetDevice(device));
    p->device = device;
}

static int place_of(const struct player *p, int device)
{
    return device == p->devices[0] ? 0 : 1;
}

/* Mostly large enough to be staged. */
static size_t draw_bytes(struct player *p, size_t most)
{
    size_t bytes = draw(p, 3) ? draw(p, most) : draw(p, 300000);
    return bytes % most + 1;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* What comes next in `stream`, of the current device, is behind what `last`, of `device`, has. */
static void order(struct player *p, xcu_stream last, int device, xcu_stream stream)
{
    if (last == stream && device == p->device)
        return;
    int here = p->device;
    use(p, device);
    if (device == here && draw(p, 2)) {
        xcu_event event;
        MUST(cudaEventCreate(&event));
        MUST(cudaEventRecord(event, last));
        MUST(cudaStreamWaitEvent(stream, event, 0));
        MUST(cudaEventDestroy(event));
    } else {
        MUST(cudaStreamSynchronize(last));
    }
    use(p, here);
}

static struct buffer *take(struct player *p, xcu_stream *stream)
{
    struct buffer *b = &p->buffers[draw(p, BUFFERS)];
    use(p, b->device);
    *stream = p->streams[place_of(p, b->device)][draw(p, STREAMS)];
    order(p, b->last, b->device, *stream);
    b->last = *stream;
    return b;
}

/* The host may use it. */
static char *awaited(struct player *p, unsigned which)
{
    use(p, p->pinned_device[which]);
    MUST(cudaStreamSynchronize(p->pinned_last[which]));
    return p->pinned[which];
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void up(struct player *p)
{
    xcu_stream stream;
    struct buffer *b = take(p, &stream);
    char *host = p->hosts[draw(p, HOSTS)];
    size_t bytes = draw_bytes(p, b->bytes), at = draw(p, b->bytes - bytes + 1), odd = draw(p, 64);
    fill(host + odd, bytes, draw(p, 1000));
    if (draw(p, 2)) {
        MUST(cudaStreamSynchronize(stream));
        MUST(cudaMemcpy(b->memory + at, host + odd, bytes,
                        draw(p, 2) ? XRT_COPY_H2D : XRT_COPY_DEFAULT));
        b->last = NULL;
    } else {
        MUST(cudaMemcpyAsync(b->memory + at, host + odd, bytes, XRT_COPY_H2D, stream));
    }
    memset(host + odd, 0, bytes); /* it has been read */
}

static void down(struct player *p)
{
    xcu_stream stream;
    struct buffer *b = take(p, &stream);
    char *host = p->hosts[draw(p, HOSTS)];
    size_t bytes = draw_bytes(p, b->bytes), at = draw(p, b->bytes - bytes + 1), odd = draw(p, 64);
    if (draw(p, 2)) {
        MUST(cudaStreamSynchronize(stream));
        MUST(cudaMemcpy(host + odd, b->memory + at, bytes, XRT_COPY_D2H));
    } else {
        MUST(cudaMemcpyAsync(host + odd, b->memory + at, bytes,
                             draw(p, 2) ? XRT_COPY_D2H : XRT_COPY_DEFAULT, stream));
    }
    note(p, sum(host + odd, bytes));
}

static void write_some(void *memory)
{
    memset(memory, 5, 4096);
}

static void pinned_up(struct player *p)
{
    xcu_stream stream;
    struct buffer *b = take(p, &stream);
    unsigned which = (unsigned)draw(p, PINNED);
    char *memory = awaited(p, which);
    size_t bytes = draw_bytes(p, b->bytes);
    fill(memory, bytes, draw(p, 1000));
    use(p, b->device);
    if (draw(p, 2))
        MUST(cudaLaunchHostFunc(stream, write_some, memory));
    MUST(cudaMemcpyAsync(b->memory, memory, bytes, XRT_COPY_H2D, stream));
    p->pinned_last[which] = stream;
    p->pinned_device[which] = b->device;
}

static void pinned_down(struct player *p)
{
    xcu_stream stream;
    unsigned which = (unsigned)draw(p, PINNED);
    char *memory = awaited(p, which);
    struct buffer *b = take(p, &stream);
    size_t bytes = draw_bytes(p, b->bytes);
    MUST(cudaMemcpyAsync(memory, b->memory, bytes, XRT_COPY_D2H, stream));
    p->pinned_last[which] = stream;
    p->pinned_device[which] = b->device;
    if (draw(p, 2))
        note(p, sum(awaited(p, which), bytes));
}

static void within(struct player *p)
{
    xcu_stream stream;
    struct buffer *to = take(p, &stream), *from = &p->buffers[draw(p, BUFFERS)];
    size_t bytes = draw_bytes(p, to->bytes < from->bytes ? to->bytes : from->bytes);
    if (to == from)
        return;
    order(p, from->last, from->device, stream);
    if (to->device != from->device || draw(p, 4) == 0)
        MUST(
            cudaMemcpyPeerAsync(to->memory, to->device, from->memory, from->device, bytes, stream));
    else
        MUST(cudaMemcpyAsync(to->memory, from->memory, bytes, XRT_COPY_D2D, stream));
    if (to->device != from->device)
        MUST(cudaStreamSynchronize(
            stream)); /* what comes next may be in a stream of the other one */
    else
        from->last = stream;
}

static void set(struct player *p)
{
    xcu_stream stream;
    struct buffer *b = take(p, &stream);
    size_t bytes = draw_bytes(p, b->bytes);
    int value = (int)draw(p, 256);
    if (draw(p, 2))
        MUST(cudaMemsetAsync(b->memory, value, bytes, stream));
    else
        MUST(cudaMemset2DAsync(b->memory, b->bytes / 16, value, b->bytes / 40, 16, stream));
}

static void rows(struct player *p)
{
    xcu_stream stream;
    struct buffer *b = take(p, &stream);
    char *host = p->hosts[0];
    size_t height = 1 + draw(p, 64), pitch = b->bytes / height, width = 1 + draw(p, pitch);
    int upward = (int)draw(p, 2);
    if (upward)
        fill(host, width * height, draw(p, 1000));
    MUST(upward
             ? cudaMemcpy2DAsync(b->memory, pitch, host, width, width, height, XRT_COPY_H2D, stream)
             : cudaMemcpy2DAsync(host, width, b->memory, pitch, width, height, XRT_COPY_D2H,
                                 stream));
    MUST(cudaStreamSynchronize(stream));
    if (!upward)
        note(p, sum(host, width * height));
}

static void again(struct player *p)
{
    struct buffer *b = &p->buffers[draw(p, BUFFERS)];
    use(p, b->device);
    MUST(cudaStreamSynchronize(b->last));
    MUST(cudaFree(b->memory));
    b->device = p->devices[draw(p, 2)];
    b->bytes = draw_bytes(p, MOST) + 4096;
    b->last = NULL;
    use(p, b->device);
    MUST(cudaMalloc((void **)&b->memory, b->bytes));
    MUST(cudaMemsetAsync(b->memory, 1, b->bytes, NULL));
    if (draw(p, 4))
        return;
    unsigned which = (unsigned)draw(p, PINNED);
    (void)awaited(p, which);
    MUST(cudaFreeHost(p->pinned[which]));
    MUST(cudaMallocHost((void **)&p->pinned[which], draw(p, 2) ? LOCKED_LARGE : MOST + 4096));
    memset(p->pinned[which], 2, MOST + 4096);
}

/* A graph of copies within a buffer, captured in the stream that nothing else waits for. */
static void capture(struct player *p)
{
    xcu_stream stream;
    xcu_graph graph = NULL;
    xcu_graph_exec exec;
    struct buffer *b = take(p, &stream);
    xcu_stream apart = p->streams[place_of(p, b->device)][STREAMS - 1];
    MUST(cudaStreamSynchronize(stream));
    pthread_mutex_lock(&one_of_them);
    MUST(cudaStreamBeginCapture(apart, 1 + (int)draw(p, 2)));
    MUST(cudaMemcpyAsync(b->memory, b->memory + b->bytes / 2, b->bytes / 2, XRT_COPY_D2D, apart));
    MUST(cudaStreamEndCapture(apart, &graph));
    pthread_mutex_unlock(&one_of_them);
    MUST(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cudaGraphLaunch(exec, apart));
    MUST(cudaStreamSynchronize(apart));
    MUST(cudaGraphExecDestroy(exec));
    MUST(cudaGraphDestroy(graph));
}

static void fails(struct player *p)
{
    struct buffer *b = &p->buffers[draw(p, BUFFERS)];
    use(p, b->device);
    note(p, (uint64_t)cudaMemcpy(b->memory + b->bytes / 2, p->hosts[0], b->bytes, XRT_COPY_H2D));
    note(p, (uint64_t)cudaGetLastError());
    note(p, (uint64_t)cudaMemcpyAsync(p->hosts[1], (void *)64, MIB * 5, XRT_COPY_D2H, NULL));
    note(p, (uint64_t)cudaPeekAtLastError());
    note(p, (uint64_t)cudaGetLastError());
}

static void renew_stream(struct player *p)
{
    int place = (int)draw(p, 2);
    xcu_stream *stream = &p->streams[place][2 + draw(p, 3)], old = *stream;
    use(p, p->devices[place]);
    MUST(cudaStreamSynchronize(old));
    for (int i = 0; i < BUFFERS; i++)
        if (p->buffers[i].last == old)
            p->buffers[i].last = NULL;
    for (int i = 0; i < PINNED; i++)
        if (p->pinned_last[i] == old)
            p->pinned_last[i] = NULL;
    MUST(cudaStreamDestroy(old));
    if (stream == &p->streams[place][STREAMS - 1])
        MUST(cudaStreamCreateWithFlags(stream, XCU_STREAM_NON_BLOCKING));
    else
        MUST(cudaStreamCreate(stream));
}

static void wait_for_all(struct player *p)
{
    use(p, p->devices[draw(p, 2)]);
    pthread_mutex_lock(&one_of_them);
    MUST(cudaDeviceSynchronize());
    pthread_mutex_unlock(&one_of_them);
}

/* ---- a thread -------------------------------------------------------------------------------- */

static void begin(struct player *p)
{
    for (int i = 0; i < 2; i++) {
        p->streams[i][1] = XCU_STREAM_PER_THREAD;
        use(p, p->devices[i]);
        for (int s = 2; s < STREAMS; s++)
            MUST(cudaStreamCreateWithFlags(&p->streams[i][s],
                                           s == STREAMS - 1 ? XCU_STREAM_NON_BLOCKING : 0));
    }
    for (int i = 0; i < BUFFERS; i++) {
        p->buffers[i] = (struct buffer){.bytes = MOST, .device = p->devices[i % 2]};
        use(p, p->buffers[i].device);
        MUST(cudaMalloc((void **)&p->buffers[i].memory, MOST));
        MUST(cudaMemsetAsync(p->buffers[i].memory, i, MOST, NULL));
    }
    for (int i = 0; i < HOSTS; i++)
        p->hosts[i] = calloc(1, MOST + 4096);
    for (int i = 0; i < PINNED; i++) {
        MUST(cudaMallocHost((void **)&p->pinned[i], MOST + 4096));
        memset(p->pinned[i], i, MOST + 4096);
        p->pinned_device[i] = p->devices[0];
    }
}

static void *play(void *of)
{
    static void (*const all[])(struct player *) = {
        up,     up,     up,  down, down,  down,    up,    down,         pinned_up,   pinned_down,
        within, within, set, rows, again, capture, fails, renew_stream, wait_for_all};
    struct player *p = of;
    begin(p);
    for (int i = 0; i < steps; i++)
        all[draw(p, sizeof all / sizeof *all)](p);
    for (int i = 0; i < BUFFERS; i++) {
        struct buffer *b = &p->buffers[i];
        use(p, b->device);
        MUST(cudaStreamSynchronize(b->last));
        MUST(cudaMemcpy(p->hosts[0], b->memory, b->bytes < MOST ? b->bytes : MOST, XRT_COPY_D2H));
        note(p, sum(p->hosts[0], b->bytes < MOST ? b->bytes : MOST));
    }
    note(p, (uint64_t)cudaGetLastError());
    return NULL;
}

int main(int argc, char **argv)
{
    static struct player players[MOST_THREADS];
    pthread_t made[MOST_THREADS];
    if (argc != 5)
        return 2;
    seed = strtoull(argv[1], NULL, 10);
    int threads_wanted = atoi(argv[2]), devices = atoi(argv[3]);
    steps = atoi(argv[4]);
    MUST(cudaGetDeviceCount(&device_count));
    if (devices > device_count || threads_wanted < 1 || threads_wanted > MOST_THREADS)
        return 2;
    for (int i = 0; i < threads_wanted; i++) {
        players[i].state = seed * 1000003 + (uint64_t)i;
        players[i].devices[0] = i % devices;
        players[i].devices[1] = (i + 1) % devices;
        players[i].device = -1;
        if (pthread_create(&made[i], NULL, play, &players[i]) != 0)
            return 2;
    }
    for (int i = 0; i < threads_wanted; i++) {
        pthread_join(made[i], NULL);
        printf("%016llx\n", (unsigned long long)players[i].sum);
    }
    return 0;
}
