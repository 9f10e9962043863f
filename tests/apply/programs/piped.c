/*
 * Copies between GPUs and what is ordered with them: what is before and behind them in their
 * stream, events, default streams, streams of the other GPU. Each copy begins when its stream is
 * without work; nothing is waited for but what the row says. Arguments: what is done, see main().
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define MOST_BYTES (36 * MIB)
#define BEHIND_BYTES 4096 /* of what is no part of a copy */
enum { ROUNDS = 4, NON_BLOCKING = 1 };

xrt_error cudaMemcpyPeer(void *dst, int to, const void *src, int from, size_t bytes);
xrt_error cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t bytes,
                              xcu_stream stream);
xrt_error cudaMemsetAsync(void *memory, int value, size_t bytes, xcu_stream stream);
xrt_error cudaStreamCreateWithFlags(xcu_stream *stream, unsigned flags);
xrt_error cudaStreamWaitEvent(xcu_stream stream, xcu_event event, unsigned flags);

static const size_t sizes[] = {4 * MIB, 5 * MIB + 4096 + 12, 17 * MIB - 4, MOST_BYTES};
static char *memory[2], *host, *found;
static xcu_stream streams[2], others[2];
static int different, rows;

static void make(int gpu)
{
    MUST(cudaSetDevice(gpu));
    MUST(cudaMalloc((void **)&memory[gpu], MOST_BYTES));
    MUST(cudaStreamCreate(&streams[gpu]));
    MUST(cudaStreamCreate(&others[gpu]));
}

static void wait_for_both(void)
{
    for (int gpu = 1; gpu >= 0; gpu--) {
        MUST(cudaSetDevice(gpu));
        MUST(cudaDeviceSynchronize());
    }
}

static size_t with_behind(size_t bytes)
{
    return bytes < MOST_BYTES ? bytes + BEHIND_BYTES : bytes;
}

/* A pattern of its own in the source, and what is no part of it behind; zeros in the destination;
 * all is over. */
static void prepare(int from, size_t bytes)
{
    const size_t all = with_behind(bytes);
    fill(host, bytes, (uint64_t)++rows);
    wait_for_both();
    MUST(cudaSetDevice(from));
    MUST(cudaMemsetAsync(memory[from], 9, all, NULL));
    MUST(cudaMemcpy(memory[from], host, bytes, XRT_COPY_H2D));
    MUST(cudaSetDevice(!from));
    MUST(cudaMemsetAsync(memory[!from], 0, all, NULL));
    wait_for_both();
}

static void compare(const char *what, size_t bytes)
{
    if (memcmp(host, found, bytes) == 0)
        return;
    printf("%s, row %d of %zu bytes: different\n", what, rows, bytes);
    different++;
}

static void copy(int from, int async, size_t bytes, xcu_stream stream)
{
    if (async & 1)
        MUST(cudaMemcpyPeerAsync(memory[!from], !from, memory[from], from, bytes, stream));
    else
        MUST(cudaMemcpyAsync(memory[!from], memory[from], bytes, XRT_COPY_DEFAULT, stream));
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Behind the copy its stream writes the source, if it may, and brings the destination. */
static void behind(int current, int from, size_t bytes, xcu_stream stream)
{
    prepare(from, bytes);
    MUST(cudaSetDevice(current));
    copy(from, rows, bytes, stream);
    if (current == from)
        MUST(cudaMemsetAsync(memory[from], 7, bytes, stream));
    MUST(cudaMemcpyAsync(found, memory[!from], with_behind(bytes), XRT_COPY_D2H, stream));
    MUST(cudaStreamSynchronize(stream));
    compare("behind", bytes);
    if (bytes < MOST_BYTES && found[bytes] != 0)
        printf("row %d of %zu bytes: written behind its end\n", rows, bytes);
}

/* Another stream, of the other GPU, waits for an event behind the copy. */
static void event_behind(int current, int from, size_t bytes)
{
    xcu_event event;
    prepare(from, bytes);
    MUST(cudaSetDevice(current));
    MUST(cudaEventCreate(&event));
    copy(from, rows, bytes, streams[current]);
    MUST(cudaEventRecord(event, streams[current]));
    MUST(cudaSetDevice(!current));
    MUST(cudaStreamWaitEvent(others[!current], event, 0));
    MUST(cudaMemcpyAsync(found, memory[!from], bytes, XRT_COPY_D2H, others[!current]));
    MUST(cudaStreamSynchronize(others[!current]));
    compare("event", bytes);
    MUST(cudaSetDevice(current));
    MUST(cudaEventSynchronize(event));
    MUST(cudaEventDestroy(event));
}

/* In the default stream: other streams of that GPU wait for it, and it for them. */
static void default_stream(int current, int from, size_t bytes)
{
    prepare(from, bytes);
    MUST(cudaSetDevice(current));
    copy(from, rows, bytes, NULL);
    if (current == from)
        MUST(cudaMemsetAsync(memory[from], 7, bytes, others[current]));
    MUST(cudaMemcpyAsync(found, memory[!from], bytes, XRT_COPY_D2H, streams[current]));
    MUST(cudaStreamSynchronize(streams[current]));
    compare("default stream", bytes);
}

/* A copy without a stream, and what is behind it in streams of both GPUs. */
static void blocking(int current, int from, size_t bytes)
{
    prepare(from, bytes);
    MUST(cudaSetDevice(current));
    if (rows & 1)
        MUST(cudaMemcpyPeer(memory[!from], !from, memory[from], from, bytes));
    else
        MUST(cudaMemcpy(memory[!from], memory[from], bytes, XRT_COPY_DEFAULT));
    if (current == from)
        MUST(cudaMemsetAsync(memory[from], 7, bytes, streams[current]));
    MUST(cudaMemcpyAsync(found, memory[!from], bytes, XRT_COPY_D2H, others[current]));
    MUST(cudaStreamSynchronize(others[current]));
    compare("blocking", bytes);
}

/* Copies there and back, one behind the other: only the first begins without work before it. */
static void queued(int current, int from, size_t bytes)
{
    prepare(from, bytes);
    MUST(cudaSetDevice(current));
    for (int i = 0; i < 4; i++)
        copy(from ^ (i & 1), i >> 1, bytes, streams[current]);
    MUST(cudaMemcpyAsync(found, memory[from], bytes, XRT_COPY_D2H, streams[current]));
    MUST(cudaStreamSynchronize(streams[current]));
    compare("queued", bytes);
}

static void all(void)
{
    for (int bits = 0; bits < 4 * ROUNDS; bits++) {
        int current = bits & 1, from = bits >> 1 & 1;
        size_t bytes = sizes[(bits >> 2) % 4];
        behind(current, from, bytes, streams[current]);
        behind(current, from, bytes, NULL);
        event_behind(current, from, bytes);
        default_stream(current, from, bytes);
        blocking(current, from, bytes);
        queued(current, from, bytes);
    }
}

/* Memory is freed, and a GPU is reset, while a copy may be under way. */
static void freed(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        int gpu = i >> 1 & 1;
        prepare(i & 1, MOST_BYTES);
        MUST(cudaSetDevice(i & 1));
        copy(i & 1, i, MOST_BYTES, NULL);
        MUST(cudaSetDevice(gpu));
        if (i < 2) {
            MUST(cudaFree(memory[gpu]));
            MUST(cudaMalloc((void **)&memory[gpu], MOST_BYTES));
        } else {
            MUST(cudaDeviceReset());
            make(gpu);
        }
        behind(i & 1, !(i & 1), sizes[i & 3], streams[i & 1]);
    }
}

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < 8 * ROUNDS; i++) {
        MUST(cudaSetDevice(0));
        copy(0, i, 4 * MIB, others[0]);
        MUST(cudaStreamSynchronize(others[0]));
    }
    return NULL;
}

/* Two threads copy the same bytes the same way. */
static void beside(void)
{
    pthread_t made;
    prepare(0, 4 * MIB);
    pthread_create(&made, NULL, work, NULL);
    for (int i = 0; i < 8 * ROUNDS; i++) {
        MUST(cudaSetDevice(0));
        copy(0, i, 4 * MIB, streams[0]);
        MUST(cudaStreamSynchronize(streams[0]));
    }
    pthread_join(made, NULL);
    MUST(cudaSetDevice(1));
    MUST(cudaMemcpy(found, memory[1], 4 * MIB, XRT_COPY_D2H));
    compare("beside", 4 * MIB);
}

static void forked(void)
{
    int status = 0;
    all();
    fflush(stdout);
    if (fork() == 0)
        _exit(cudaSetDevice(0) == 0 ? 3 : 4);
    wait(&status);
    printf("child %d\n", status);
    all();
}

/* From here on a copy without a stream is ordered with one that waits for no other. */
static void apart(void)
{
    xcu_stream stream;
    MUST(cudaStreamCreateWithFlags(&stream, NON_BLOCKING));
    for (int i = 0; i < 4 * ROUNDS; i++)
        blocking(i & 1, i >> 1 & 1, MOST_BYTES);
}

/* ---- behind work ----------------------------------------------------------------------------- */

#define HALF (MOST_BYTES / 2)

/* Milliseconds of work that changes nothing. */
static void hold_stream(int gpu, xcu_stream stream)
{
    static void *scratch;
    if (scratch == NULL)
        MUST(cudaMallocHost(&scratch, MOST_BYTES));
    MUST(cudaSetDevice(gpu));
    for (int i = 0; i < 8; i++)
        MUST(cudaMemcpyAsync(scratch, memory[gpu], MOST_BYTES, XRT_COPY_D2H, stream));
}

/* Copies stand behind it; one of another stream must not. */
static void held(int current, int from, xcu_stream stream, xcu_stream free_stream)
{
    prepare(from, MOST_BYTES);
    hold_stream(current, stream);
    MUST(cudaMemsetAsync(memory[current] + HALF - 4096, 5, 4096, stream));
    if (current == from)
        memset(host + HALF - 4096, 5, 4096);
    MUST(cudaMemcpyPeerAsync(memory[!from], !from, memory[from], from, HALF, stream));
    MUST(cudaMemcpyPeerAsync(memory[!from], !from, memory[from], from, HALF, stream));
    if (current == from)
        MUST(cudaMemsetAsync(memory[from], 7, HALF, stream));
    MUST(cudaMemcpyPeerAsync(memory[!from] + HALF, !from, memory[from] + HALF, from, HALF,
                             free_stream));
    MUST(cudaStreamSynchronize(free_stream));
    MUST(cudaMemcpyAsync(found, memory[!from], MOST_BYTES, XRT_COPY_D2H, stream));
    MUST(cudaStreamSynchronize(stream));
    compare("held", MOST_BYTES);
}

/* More copies than a queue should be given. */
static void many_held(int gpu)
{
    prepare(gpu, MOST_BYTES);
    hold_stream(gpu, streams[gpu]);
    for (int i = 0; i < 16; i++)
        copy(gpu, i, MOST_BYTES, streams[gpu]);
    MUST(cudaMemcpyAsync(found, memory[!gpu], MOST_BYTES, XRT_COPY_D2H, streams[gpu]));
    MUST(cudaStreamSynchronize(streams[gpu]));
    compare("many held", MOST_BYTES);
}

/* Its stream ends while copies stand behind work of it; another one may get its handle. */
static void held_and_ended(int gpu)
{
    xcu_stream stream, next;
    prepare(gpu, MOST_BYTES);
    MUST(cudaSetDevice(gpu));
    MUST(cudaStreamCreateWithFlags(&stream, NON_BLOCKING));
    hold_stream(gpu, stream);
    copy(gpu, 1, HALF, stream);
    MUST(cudaStreamDestroy(stream));
    MUST(cudaStreamCreateWithFlags(&next, NON_BLOCKING));
    MUST(cudaMemsetAsync(memory[gpu] + HALF, 5, 4096, next));
    memset(host + HALF, 5, 4096);
    MUST(cudaMemcpyPeerAsync(memory[!gpu] + HALF, !gpu, memory[gpu] + HALF, gpu, HALF, next));
    wait_for_both();
    MUST(cudaMemcpy(found, memory[!gpu], MOST_BYTES, XRT_COPY_D2H));
    compare("held and ended", MOST_BYTES);
    MUST(cudaStreamDestroy(next));
}

static void all_held(void)
{
    xcu_stream apart_streams[2];
    for (int gpu = 0; gpu < 2; gpu++) {
        MUST(cudaSetDevice(gpu));
        MUST(cudaStreamCreateWithFlags(&apart_streams[gpu], NON_BLOCKING));
    }
    for (int bits = 0; bits < 4 * ROUNDS; bits++) {
        int current = bits & 1;
        xcu_stream stream = bits >> 2 & 1 ? NULL : streams[current];
        held(current, bits >> 1 & 1, stream, apart_streams[current]);
    }
    for (int gpu = 0; gpu < 2; gpu++) {
        many_held(gpu);
        held_and_ended(gpu);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";
    host = malloc(MOST_BYTES);
    found = malloc(MOST_BYTES);
    for (int gpu = 0; gpu < 2; gpu++)
        make(gpu);
    if (strcmp(what, "freed") == 0)
        freed();
    else if (strcmp(what, "beside") == 0)
        beside();
    else if (strcmp(what, "forked") == 0)
        forked();
    else if (strcmp(what, "apart") == 0)
        apart();
    else if (strcmp(what, "held") == 0)
        all_held();
    else
        all();
    printf("%d rows, %d different, last %s\n", rows, different,
           cudaGetErrorName(cudaGetLastError()));
    return 0;
}
