/*
 * Copies between GPUs by a program that never enables peer access, or does so late: what arrives,
 * and what the calls say that enable and disable it. Arguments: what is done, see main().
 */
#include <pthread.h>
#include <string.h>

#include "tests/apply/programs/applied.h"

#define BYTES (4 * MIB)
enum { MOST = 4, ROUNDS = 10, TIMES = 5 };

xrt_error cudaGetDeviceCount(int *count);
xrt_error cudaDeviceEnablePeerAccess(int peer, unsigned flags);
xrt_error cudaDeviceDisablePeerAccess(int peer);
xrt_error cudaMemcpyPeer(void *dst, int to, const void *src, int from, size_t bytes);
xrt_error cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t bytes,
                              xcu_stream stream);
xrt_error cudaStreamQuery(xcu_stream stream);
xrt_error cudaStreamBeginCapture(xcu_stream stream, int mode);
xrt_error cudaStreamEndCapture(xcu_stream stream, xcu_graph *graph);

static void *memory[MOST];
static xcu_stream streams[MOST];
static int count, different;

static void make(int gpu)
{
    MUST(cudaSetDevice(gpu));
    MUST(cudaMalloc(&memory[gpu], BYTES));
    MUST(cudaStreamCreate(&streams[gpu]));
}

static void wait_for_all(void)
{
    for (int i = 0; i < count; i++) {
        MUST(cudaSetDevice(i));
        MUST(cudaDeviceSynchronize());
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void copy(int form, int from, int to)
{
    MUST(cudaSetDevice(from));
    if (form == 0)
        MUST(cudaMemcpyPeer(memory[to], to, memory[from], from, BYTES));
    else if (form == 1)
        MUST(cudaMemcpyPeerAsync(memory[to], to, memory[from], from, BYTES, streams[from]));
    else if (form == 2)
        MUST(cudaMemcpy(memory[to], memory[from], BYTES, XRT_COPY_DEFAULT));
    else
        MUST(cudaMemcpyAsync(memory[to], memory[from], BYTES, XRT_COPY_D2D, streams[from]));
}

/* Each round another pattern goes from one GPU to the other, and is looked at there. */
static void rounds(int form, int from, int to)
{
    char *host = malloc(BYTES), *found = malloc(BYTES);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        fill(host, BYTES, i + 1000 * (uint64_t)form + 100000 * (uint64_t)from);
        MUST(cudaSetDevice(from));
        MUST(cudaMemcpyAsync(memory[from], host, BYTES, XRT_COPY_H2D, streams[from]));
        for (int k = 0; k < TIMES; k++)
            copy(form, from, to);
        MUST(cudaDeviceSynchronize());
        MUST(cudaSetDevice(to));
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy(found, memory[to], BYTES, XRT_COPY_D2H));
        if (memcmp(host, found, BYTES) != 0)
            __atomic_fetch_add(&different, 1, __ATOMIC_RELAXED);
    }
    free(host);
    free(found);
}

static void all_pairs(void)
{
    for (int from = 0; from < count; from++)
        for (int form = 0; form < 4; form++)
            rounds(form, from, from == 2 ? 0 : from ^ 1);
}

/* ---- what the calls say ---------------------------------------------------------------------- */

static void say(const char *what, int error)
{
    printf("  %s: %s, last %s\n", what, cudaGetErrorName(error),
           cudaGetErrorName(cudaGetLastError()));
}

static void ask(int from, int to)
{
    printf("from %d to %d\n", from, to);
    MUST(cudaSetDevice(from));
    say("disabled", cudaDeviceDisablePeerAccess(to));
    say("with flags", cudaDeviceEnablePeerAccess(to, 1));
    say("enabled", cudaDeviceEnablePeerAccess(to, 0));
    say("again", cudaDeviceEnablePeerAccess(to, 0));
    say("with flags", cudaDeviceEnablePeerAccess(to, 1));
    say("disabled", cudaDeviceDisablePeerAccess(to));
    say("again", cudaDeviceDisablePeerAccess(to));
    say("enabled", cudaDeviceEnablePeerAccess(to, 0));
    say("its own", cudaDeviceEnablePeerAccess(from, 0));
    say("none", cudaDeviceEnablePeerAccess(99, 0));
}

static void ask_all(void)
{
    for (int from = 0; from < count; from++)
        for (int to = 0; to < count; to++)
            if (from != to)
                ask(from, to);
}

/* The first that asks gets success; all others get that it was enabled before. */
static void *enable(void *of)
{
    int *results = of;
    MUST(cudaSetDevice(0));
    int error = cudaDeviceEnablePeerAccess(1, 0);
    __atomic_fetch_add(&results[error == 0 ? 0 : error == 704 ? 1 : 2], 1, __ATOMIC_RELAXED);
    return NULL;
}

static void ask_together(void)
{
    pthread_t made[8];
    int results[3] = {0, 0, 0};
    rounds(0, 0, 1);
    for (int i = 0; i < 8; i++)
        pthread_create(&made[i], NULL, enable, results);
    for (int i = 0; i < 8; i++)
        pthread_join(made[i], NULL);
    printf("enabled %d, before %d, other %d\n", results[0], results[1], results[2]);
}

/* ---- many threads ---------------------------------------------------------------------------- */

static void *work(void *number)
{
    int from = (int)(uintptr_t)number;
    for (int form = 0; form < 4; form++)
        rounds(form, from, from ^ 1);
    return NULL;
}

/* 0 to 1 and 2 to 3 at the same time: each destination has one source. */
static void beside(void)
{
    pthread_t made[MOST];
    for (int i = 0; i + 1 < count; i += 2)
        pthread_create(&made[i], NULL, work, (void *)(uintptr_t)i);
    for (int i = 0; i + 1 < count; i += 2)
        pthread_join(made[i], NULL);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void reset(int gpu)
{
    MUST(cudaSetDevice(gpu));
    MUST(cudaDeviceReset());
    make(gpu);
}

static void resets(void)
{
    for (int i = 0; i < 3; i++) {
        rounds(i, 0, 1);
        reset(i == 0);
        if (i == 2)
            ask(0, 1);
        rounds(i, 1, 0);
    }
    ask(1, 0);
}

/* Only one of the GPUs is ever waited for: the other may be at work all the time. */
static void half(void)
{
    for (int i = 0; i < 40 * ROUNDS; i++) {
        copy(1 + 2 * (i & 1), 0, 1);
        MUST(cudaDeviceSynchronize());
    }
}

/* Copies without a stream, which return before they are over, and no other wait. */
static void unwaited(void)
{
    for (int i = 0; i < 40 * ROUNDS; i++)
        copy(2 * (i & 1), 0, 1);
}

/* Enabled by the program before and one way only. */
static void early(void)
{
    MUST(cudaSetDevice(0));
    say("enabled", cudaDeviceEnablePeerAccess(1, 0));
    for (int i = 0; i < 4; i++) {
        rounds(i, 0, 1);
        rounds(i, 1, 0);
    }
    ask(0, 1);
    ask(1, 0);
}

static void captured(void)
{
    xcu_graph graph = NULL;
    rounds(1, 0, 1);
    MUST(cudaSetDevice(0));
    say("begun", cudaStreamBeginCapture(streams[0], 0));
    say("copied", cudaMemcpyPeerAsync(memory[1], 1, memory[0], 0, BYTES, streams[0]));
    say("ended", cudaStreamEndCapture(streams[0], &graph));
    printf("%s\n", graph ? "a graph" : "none");
    ask(0, 1);
}

static void wrong_calls(void)
{
    rounds(0, 0, 1);
    MUST(cudaSetDevice(0));
    say("too much", cudaMemcpyPeer(memory[1], 1, memory[0], 0, 64 * MIB));
    say("of another", cudaMemcpyPeer(memory[1], 99, memory[0], 0, BYTES));
    say("another's stream", cudaMemcpyPeerAsync(memory[1], 1, memory[0], 0, BYTES, streams[1]));
    wait_for_all();
    rounds(0, 1, 0);
    ask(0, 1);
}

/* Memory is freed while another GPU copies to it. */
static void freed(void)
{
    rounds(1, 1, 0);
    rounds(1, 1, 0);
    MUST(cudaSetDevice(1));
    for (int i = 0; i < 8; i++)
        MUST(cudaMemcpyPeerAsync(memory[0], 0, memory[1], 1, i < 7 ? BYTES : 4096, streams[1]));
    MUST(cudaSetDevice(0));
    MUST(cudaFree(memory[0]));
    MUST(cudaSetDevice(1));
    say("behind it", cudaStreamQuery(streams[1]));
    wait_for_all();
    MUST(cudaSetDevice(0));
    MUST(cudaMalloc(&memory[0], BYTES));
    rounds(1, 1, 0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "copies";
    MUST(cudaGetDeviceCount(&count));
    count = count > MOST ? MOST : count;
    for (int i = 0; i < count; i++)
        make(i);
    if (strcmp(what, "asks") == 0)
        ask_all();
    else if (strcmp(what, "together") == 0)
        ask_together();
    else if (strcmp(what, "threads") == 0)
        beside();
    else if (strcmp(what, "resets") == 0)
        resets();
    else if (strcmp(what, "half") == 0)
        half();
    else if (strcmp(what, "unwaited") == 0)
        unwaited();
    else if (strcmp(what, "early") == 0)
        early();
    else if (strcmp(what, "captured") == 0)
        captured();
    else if (strcmp(what, "freed") == 0)
        freed();
    else if (strcmp(what, "wrong") == 0)
        wrong_calls();
    else
        all_pairs();
    if (strcmp(what, "late") == 0)
        ask_all();
    printf("%d GPUs, %d different\n", count, different);
    return 0;
}
