/*
 * Uploads of page-locked memory in a program that uses two GPUs, which have peer access to each
 * other: what is ordered with them. Nothing is waited for but what the row says. Arguments: what is
 * done, see main().
 */
#include <string.h>

#include "tests/apply/programs/applied.h"

#define MOST_BYTES (48 * MIB)
enum { ROUNDS = 8, NON_BLOCKING = 1 };

xrt_error cudaDeviceEnablePeerAccess(int peer, unsigned flags);
xrt_error cudaMemsetAsync(void *memory, int value, size_t bytes, xcu_stream stream);
xrt_error cudaStreamCreateWithFlags(xcu_stream *stream, unsigned flags);
xrt_error cudaStreamWaitEvent(xcu_stream stream, xcu_event event, unsigned flags);

static const size_t sizes[] = {8 * MIB, 9 * MIB + 4096 + 12, 31 * MIB - 4, MOST_BYTES};
static char *memory[2], *source, *host, *found;
static xcu_stream streams[2];
static int different, rows;

static void make(int gpu, int access)
{
    MUST(cudaSetDevice(gpu));
    MUST(cudaMalloc((void **)&memory[gpu], MOST_BYTES));
    MUST(cudaStreamCreate(&streams[gpu]));
    const xrt_error enabled = access ? cudaDeviceEnablePeerAccess(!gpu, 0) : 0;
    if (enabled == XCU_ERROR_PEER_ACCESS_ALREADY_ENABLED) /* main() ran before in this process */
        (void)cudaGetLastError();
    else
        MUST(enabled);
}

/* Another pattern in the source; all is over. */
static void prepare(int gpu, size_t bytes)
{
    MUST(cudaSetDevice(!gpu));
    MUST(cudaDeviceSynchronize());
    MUST(cudaSetDevice(gpu));
    MUST(cudaDeviceSynchronize());
    fill(source, bytes, (uint64_t)++rows);
    memcpy(host, source, bytes);
}

static void compare(const char *what, size_t bytes)
{
    if (memcmp(host, found, bytes) == 0)
        return;
    printf("%s, row %d of %zu bytes: different\n", what, rows, bytes);
    different++;
}

/* Behind the upload its stream brings the memory back, and then writes it. */
static void async(int gpu, size_t bytes, xcu_stream stream)
{
    prepare(gpu, bytes);
    MUST(cudaMemcpyAsync(memory[gpu], source, bytes, XRT_COPY_H2D, stream));
    MUST(cudaMemcpyAsync(found, memory[gpu], bytes, XRT_COPY_D2H, stream));
    MUST(cudaMemsetAsync(memory[gpu], 7, bytes, stream));
    compare("async", bytes);
}

/* When it returns the source may be written. */
static void blocking(int gpu, size_t bytes)
{
    prepare(gpu, bytes);
    MUST(cudaMemcpy(memory[gpu], source, bytes, XRT_COPY_H2D));
    memset(source, 9, bytes);
    MUST(cudaMemcpy(found, memory[gpu], bytes, XRT_COPY_D2H));
    compare("blocking", bytes);
}

/* The source may be written behind an event, which another GPU's stream waits for, too. */
static void event_behind(int gpu, size_t bytes)
{
    xcu_event event;
    prepare(gpu, bytes);
    MUST(cudaEventCreate(&event));
    MUST(cudaMemcpyAsync(memory[gpu], source, bytes, XRT_COPY_H2D, streams[gpu]));
    MUST(cudaEventRecord(event, streams[gpu]));
    MUST(cudaSetDevice(!gpu));
    MUST(cudaStreamWaitEvent(streams[!gpu], event, 0));
    MUST(cudaMemcpyAsync(found, memory[gpu], bytes, XRT_COPY_D2H, streams[!gpu]));
    MUST(cudaSetDevice(gpu));
    MUST(cudaEventSynchronize(event));
    memset(source, 9, bytes);
    compare("event", bytes);
    MUST(cudaEventDestroy(event));
}

/* The other GPU has something to do: the upload is the driver's. */
static void beside_work(int gpu, size_t bytes)
{
    prepare(gpu, bytes);
    MUST(cudaSetDevice(!gpu));
    MUST(cudaMemsetAsync(memory[!gpu], 3, bytes, NULL));
    MUST(cudaSetDevice(gpu));
    MUST(cudaMemcpyAsync(memory[gpu], source, bytes, XRT_COPY_H2D, streams[gpu]));
    MUST(cudaMemcpyAsync(found, memory[gpu], bytes, XRT_COPY_D2H, streams[gpu]));
    compare("beside work", bytes);
}

static void all(void)
{
    for (int i = 0; i < 2 * ROUNDS; i++) {
        int gpu = i & 1;
        size_t bytes = sizes[(i >> 1) % 4];
        async(gpu, bytes, streams[gpu]);
        async(gpu, bytes, NULL);
        blocking(gpu, bytes);
        event_behind(gpu, bytes);
        beside_work(gpu, bytes);
    }
}

/* Of one size, so that both ways are tried. */
static void many(void)
{
    for (int i = 0; i < 8 * ROUNDS; i++) {
        blocking(0, MOST_BYTES);
        prepare(0, MOST_BYTES);
        MUST(cudaMemcpyAsync(memory[0], source, MOST_BYTES, XRT_COPY_H2D, streams[0]));
        MUST(cudaStreamSynchronize(streams[0]));
    }
}

/* The other GPU is reset while uploads by its link may be under way, and later has no access. */
static void resets(void)
{
    for (int i = 0; i < ROUNDS / 2; i++) {
        blocking(0, MOST_BYTES);
        prepare(0, MOST_BYTES);
        MUST(cudaMemcpyAsync(memory[0], source, MOST_BYTES, XRT_COPY_H2D, streams[0]));
        MUST(cudaSetDevice(1));
        MUST(cudaDeviceReset());
        make(1, i & 1);
        MUST(cudaSetDevice(0));
        MUST(cudaMemcpyAsync(found, memory[0], MOST_BYTES, XRT_COPY_D2H, streams[0]));
        compare("reset", MOST_BYTES);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";
    xcu_stream apart;
    host = malloc(MOST_BYTES);
    found = malloc(MOST_BYTES);
    for (int gpu = 0; gpu < 2; gpu++)
        make(gpu, strcmp(what, "without") != 0);
    MUST(cudaSetDevice(0));
    MUST(cudaMallocHost((void **)&source, MOST_BYTES));
    if (strcmp(what, "apart") == 0)
        MUST(cudaStreamCreateWithFlags(&apart, NON_BLOCKING));
    if (strcmp(what, "many") == 0)
        many();
    else if (strcmp(what, "resets") == 0)
        resets();
    else
        all();
    printf("%d rows, %d different, last %s\n", rows, different,
           cudaGetErrorName(cudaGetLastError()));
    return 0;
}
