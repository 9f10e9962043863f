/*
 * What the driver's copies between two GPUs do, beyond what is documented: what `apply` keeps
 * (docs/apply.md) is compared with this.
 *
 *     peer_promises [access]
 *
 * A function of the host keeps a stream busy for HELD_MS, behind it the source is set to other
 * bytes. Rows `blocking`: how long a copy without a stream took, and which bytes it read. Rows
 * `async`: a copy in the stream that is held: how long the call took, and then a wait for the other
 * GPU's context, for its default stream, and what frees other memory of that context. access: with
 * peer access, both ways.
 */
#include <string.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"
#include "tests/gpu/clocked.h"

#define BYTES (16 * MIB)
enum { HELD_MS = 60, NON_BLOCKING = 1 };

xrt_error cudaLaunchHostFunc(xcu_stream stream, void (*function)(void *), void *user);
xrt_error cudaStreamCreateWithFlags(xcu_stream *stream, unsigned flags);
xrt_error cudaMemset(void *memory, int value, size_t bytes);
xrt_error cudaMemsetAsync(void *memory, int value, size_t bytes, xcu_stream stream);
xrt_error cudaDeviceEnablePeerAccess(int peer, unsigned flags);
xrt_error cudaMemcpyPeer(void *dst, int to, const void *src, int from, size_t bytes);
xrt_error cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t bytes,
                              xcu_stream stream);

static char *memory[2];
static xcu_stream streams[2][2]; /* of a GPU: blocking, and not */

static void hold(void *unused)
{
    (void)unused;
    usleep(HELD_MS * 1000);
}

static void wait_for_both(void)
{
    for (int gpu = 0; gpu < 2; gpu++) {
        MUST(cudaSetDevice(gpu));
        MUST(cudaDeviceSynchronize());
    }
}

/* The source has 1, the destination 0; behind the host's function the source gets 2. */
static void hold_stream(int gpu, xcu_stream stream)
{
    for (int i = 0; i < 2; i++) {
        MUST(cudaSetDevice(i));
        MUST(cudaMemset(memory[i], i == 0, BYTES));
    }
    wait_for_both();
    MUST(cudaSetDevice(gpu));
    MUST(cudaLaunchHostFunc(stream, hold, NULL));
    if (gpu == 0)
        MUST(cudaMemsetAsync(memory[0], 2, BYTES, stream));
}

static const char *found(void)
{
    static const char *const words[] = {"nothing", "before", "after"};
    char last = 3;
    MUST(cudaMemcpy(&last, memory[1] + BYTES - 1, 1, XRT_COPY_D2H));
    return last >= 0 && last < 3 ? words[(int)last] : "other bytes";
}

/* GPU 0 to 1, from the current one; the stream that is held is of GPU `held`. */
static void blocking(int current, int held, int kind, int any)
{
    hold_stream(held, streams[held][kind]);
    MUST(cudaSetDevice(current));
    double begun = now_ms();
    if (any)
        MUST(cudaMemcpy(memory[1], memory[0], BYTES, XRT_COPY_DEFAULT));
    else
        MUST(cudaMemcpyPeer(memory[1], 1, memory[0], 0, BYTES));
    double took = now_ms() - begun;
    begun = now_ms();
    wait_for_both();
    printf("blocking %s, current the %s's, held: a %s stream of the %s: call %.1f ms, then a wait "
           "for both %.1f ms, source read %s\n",
           any ? "cudaMemcpy" : "cudaMemcpyPeer", current ? "destination" : "source",
           kind ? "non-blocking" : "blocking", held ? "destination" : "source", took,
           now_ms() - begun, found());
}

enum then { WAIT_STREAM, WAIT_CONTEXT, FREE, FREE_HOST };

static void async(int current, int kind, enum then then)
{
    static const char *const names[] = {"default stream", "context", "cudaFree", "cudaFreeHost"};
    void *spare = NULL, *locked = NULL;
    MUST(cudaSetDevice(!current));
    MUST(cudaMalloc(&spare, BYTES));
    MUST(cudaMallocHost(&locked, BYTES));
    hold_stream(current, streams[current][kind]);
    double begun = now_ms();
    MUST(cudaMemcpyPeerAsync(memory[1], 1, memory[0], 0, BYTES, streams[current][kind]));
    double took = now_ms() - begun;
    MUST(cudaSetDevice(!current));
    begun = now_ms();
    if (then == WAIT_CONTEXT)
        MUST(cudaDeviceSynchronize());
    else if (then == WAIT_STREAM)
        MUST(cudaStreamSynchronize(NULL));
    else
        MUST(then == FREE ? cudaFree(spare) : cudaFreeHost(locked));
    double waited = now_ms() - begun;
    wait_for_both();
    if (then != FREE)
        MUST(cudaFree(spare));
    if (then != FREE_HOST)
        MUST(cudaFreeHost(locked));
    printf("async, in a %s stream of the %s: call %.1f ms, then the other GPU's %s %.1f ms, "
           "source read %s\n",
           kind ? "non-blocking" : "blocking", current ? "destination" : "source", took,
           names[then], waited, found());
}

static void make(int gpu, int access)
{
    MUST(cudaSetDevice(gpu));
    MUST(cudaMalloc((void **)&memory[gpu], BYTES));
    for (unsigned kind = 0; kind < 2; kind++)
        MUST(cudaStreamCreateWithFlags(&streams[gpu][kind], kind * NON_BLOCKING));
    if (access)
        MUST(cudaDeviceEnablePeerAccess(!gpu, 0));
}

int main(int argc, char **argv)
{
    (void)argv;
    for (int gpu = 0; gpu < 2; gpu++)
        make(gpu, argc > 1);
    for (int bits = 0; bits < 16; bits++)
        blocking(bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 3);
    for (int bits = 0; bits < 16; bits++)
        async(bits & 1, bits >> 1 & 1, (enum then)(bits >> 2));
    return 0;
}
