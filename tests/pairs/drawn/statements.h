/*
 * What a drawn program's statements do (schedule.py writes them, player.cu plays them): kernels
 * with their host twins, copies, graphs, and perform(), which makes the calls of one statement in
 * the function that calls it. One .cu file includes this, once.
 */
#ifndef XFERSCOPE_DRAWN_STATEMENTS_H
#define XFERSCOPE_DRAWN_STATEMENTS_H

#include "form.h"
#include "memory.h"
#include "waits.h"

/* ---- kernels --------------------------------------------------------------------------------- */

/* They spin for ns once they have read and written what they were given. */

__device__ static void pass(const char *from, size_t n, char *to, size_t m, unsigned long long ns)
{
    unsigned long long start, now;
    size_t first = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    size_t stride = (size_t)gridDim.x * blockDim.x;
    char seen = 0;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    for (size_t i = first; i < n; i += stride)
        seen ^= from[i];
    for (size_t i = first; i < m; i += stride)
        to[i] = (char)(to[i] + seen + 1);
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < ns);
}

__global__ void k_read(const char *from, size_t n, unsigned long long ns)
{
    pass(from, n, NULL, 0, ns);
}

__global__ void k_write(char *to, size_t m, unsigned long long ns)
{
    pass(NULL, 0, to, m, ns);
}

__global__ void k_map(const char *from, size_t n, char *to, size_t m, unsigned long long ns)
{
    pass(from, n, to, m, ns);
}

__global__ void k_join(const char *from, size_t n, const char *table, size_t k, char *to, size_t m,
                       unsigned long long ns)
{
    pass(table, k, to, m, 0);
    pass(from, n, to, m, ns);
}

/* Makes all of the next state of the two before, and reads nothing of what was there. */
__global__ void k_next(const char *cur, const char *prev, char *next, size_t n,
                       unsigned long long ns)
{
    size_t first = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    size_t stride = (size_t)gridDim.x * blockDim.x;

    for (size_t i = first; i < n; i += stride)
        next[i] = (char)(cur[i] + prev[i] + 1);
    pass(NULL, 0, NULL, 0, ns);
}

/* The same of one. (A kernel that is given a pointer twice has it once in a record.) */
__global__ void k_step(const char *cur, char *next, size_t n, unsigned long long ns)
{
    size_t first = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    size_t stride = (size_t)gridDim.x * blockDim.x;

    for (size_t i = first; i < n; i += stride)
        next[i] = (char)(2 * cur[i] + 1);
    pass(NULL, 0, NULL, 0, ns);
}

/* Whether it changes what it is given, m bytes of it, its name does not say. */
extern "C" __global__ void k_keep(char *data, size_t n, size_t m, unsigned long long ns)
{
    pass(data, n, data, m, ns);
}

static void twin(const char *from, size_t n, char *to, size_t m, unsigned long long ns)
{
    typedef void kernel_ns_function(unsigned long long);
    static kernel_ns_function *kernel_ns =
        (kernel_ns_function *)pair_simulated("xferscope_simgpu_kernel_ns");

    if (kernel_ns)
        kernel_ns(ns);
    if (n)
        pair_touch(from, n, false);
    if (m)
        scramble(to, m, n ? sum_of(from, n, false) : 0);
}

template <class T> static T argument(void **args, int i)
{
    return *(T *)args[i];
}

PAIR_TWIN(_Z6k_readPKcmy, 8, 8, 8)
{
    twin(argument<char *>(args, 0), argument<size_t>(args, 1), NULL, 0, argument<size_t>(args, 2));
}

PAIR_TWIN(_Z7k_writePcmy, 8, 8, 8)
{
    twin(NULL, 0, argument<char *>(args, 0), argument<size_t>(args, 1), argument<size_t>(args, 2));
}

PAIR_TWIN(_Z5k_mapPKcmPcmy, 8, 8, 8, 8, 8)
{
    twin(argument<char *>(args, 0), argument<size_t>(args, 1), argument<char *>(args, 2),
         argument<size_t>(args, 3), argument<size_t>(args, 4));
}

PAIR_TWIN(_Z6k_joinPKcmS0_mPcmy, 8, 8, 8, 8, 8, 8, 8)
{
    pair_touch(argument<char *>(args, 2), argument<size_t>(args, 3), false);
    twin(argument<char *>(args, 0), argument<size_t>(args, 1), argument<char *>(args, 4),
         argument<size_t>(args, 5), argument<size_t>(args, 6));
}

static void make_next(const unsigned long long *cur, const unsigned long long *prev,
                      unsigned long long *next, size_t n, unsigned long long ns)
{
    for (size_t i = 0; i < n / sizeof *next; i++)
        next[i] = (cur[i] ^ (prev[i] >> 7)) * MIXED + 1;
    twin(NULL, 0, NULL, 0, ns);
}

PAIR_TWIN(_Z6k_nextPKcS0_Pcmy, 8, 8, 8, 8, 8)
{
    typedef unsigned long long word;
    make_next(argument<word *>(args, 0), argument<word *>(args, 1), argument<word *>(args, 2),
              argument<size_t>(args, 3), argument<size_t>(args, 4));
}

PAIR_TWIN(_Z6k_stepPKcPcmy, 8, 8, 8, 8)
{
    typedef unsigned long long word;
    make_next(argument<word *>(args, 0), argument<word *>(args, 0), argument<word *>(args, 1),
              argument<size_t>(args, 2), argument<size_t>(args, 3));
}

PAIR_TWIN(k_keep, 8, 8, 8, 8)
{
    twin(argument<char *>(args, 0), argument<size_t>(args, 1), argument<char *>(args, 0),
         argument<size_t>(args, 2), argument<size_t>(args, 3));
}

/* ---- statements ------------------------------------------------------------------------------ */

/* Buffers of kernels: index + 1, 0 for none. */
INLINE void launch(const struct statement *s)
{
    const struct buffer none = {0, 0, NULL, NULL, false, 0};
    const struct buffer from = N(2) ? now->buffers[N(2) - 1] : none,
                        table = N(3) ? now->buffers[N(3) - 1] : none;
    const struct buffer to = N(4) ? now->buffers[N(4) - 1] : none;
    cudaStream_t stream = now->streams[N(0)];
    const unsigned blocks = 256, threads = PAIR_THREADS;
    size_t n = N(5) ? N(5) : from.bytes;

    if (N(3))
        k_join<<<blocks, threads, 0, stream>>>(from.device, n, table.device, table.bytes, to.device,
                                               to.bytes, N(1));
    else if (N(2) && N(4))
        k_map<<<blocks, threads, 0, stream>>>(from.device, n, to.device, to.bytes, N(1));
    else if (N(2))
        k_read<<<blocks, threads, 0, stream>>>(from.device, n, N(1));
    else
        k_write<<<blocks, threads, 0, stream>>>(to.device, to.bytes, N(1));
    PAIR_CHECK(cudaGetLastError());
}

/* stream, ns, current and next state, the one before + 1 (0: none) */
INLINE void launch_step(const struct statement *s)
{
    const struct buffer *cur = &now->buffers[N(2)], *next = &now->buffers[N(3)];
    cudaStream_t stream = now->streams[N(0)];
    const unsigned blocks = 256, threads = PAIR_THREADS;

    if (N(4))
        k_next<<<blocks, threads, 0, stream>>>(cur->device, now->buffers[N(4) - 1].device,
                                               next->device, next->bytes, N(1));
    else
        k_step<<<blocks, threads, 0, stream>>>(cur->device, next->device, next->bytes, N(1));
    PAIR_CHECK(cudaGetLastError());
}

/* dst, its offset, src, its offset, bytes, stream, kind, blocking. */
INLINE void copy(const struct statement *s)
{
    char *to = now->buffers[N(0)].host + N(1), *from = now->buffers[N(2)].host + N(3);
    cudaMemcpyKind kind = (cudaMemcpyKind)N(6);

    copies++;
    if (N(7))
        PAIR_CHECK(cudaMemcpy(to, from, N(4), kind));
    else
        PAIR_CHECK(cudaMemcpyAsync(to, from, N(4), kind, now->streams[N(5)]));
}

/* dst, src, width, rows, pitch on the host, stream, kind, blocking: contiguous on the device. */
INLINE void copy_rows(const struct statement *s)
{
    char *to = now->buffers[N(0)].host, *from = now->buffers[N(1)].host;
    bool up = N(6) == cudaMemcpyHostToDevice;
    size_t to_pitch = up ? N(2) : N(4), from_pitch = up ? N(4) : N(2);
    cudaMemcpyKind kind = (cudaMemcpyKind)N(6);

    copies++;
    if (N(7))
        PAIR_CHECK(cudaMemcpy2D(to, to_pitch, from, from_pitch, N(2), N(3), kind));
    else
        PAIR_CHECK(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, N(2), N(3), kind,
                                     now->streams[N(5)]));
}

/* stream, graph: what is there is updated. */
INLINE void capture_end(const struct statement *s)
{
    cudaGraphExec_t *exec = &now->graphs[N(1)];
    cudaGraphExecUpdateResultInfo info;
    cudaGraph_t graph;

    PAIR_CHECK(cudaStreamEndCapture(now->streams[N(0)], &graph));
    if (*exec)
        PAIR_CHECK(cudaGraphExecUpdate(*exec, graph, &info));
    else
        PAIR_CHECK(cudaGraphInstantiate(exec, graph, 0));
    PAIR_CHECK(cudaGraphDestroy(graph));
}

INLINE void destroy_graph(const struct statement *s)
{
    PAIR_CHECK(cudaGraphExecDestroy(now->graphs[N(0)]));
    now->graphs[N(0)] = NULL;
}

/* dst, src, bytes, stream, their GPUs. */
INLINE void copy_across(const struct statement *s)
{
    copies++;
    PAIR_CHECK(cudaMemcpyPeerAsync(now->buffers[N(0)].device, (int)N(4), now->buffers[N(1)].device,
                                   (int)N(5), N(2), now->streams[N(3)]));
}

/* Of two GPUs each has access to the other's memory, once. */
INLINE void enable_peers(void)
{
    static bool enabled;

    for (int gpu = 1; gpu >= 0 && !enabled; gpu--) {
        PAIR_CHECK(cudaSetDevice(gpu));
        PAIR_CHECK(cudaDeviceEnablePeerAccess(1 - gpu, 0));
    }
    enabled = true;
}

/* What the host computes, copies, and kernels. False: the statement is of another family. */
INLINE bool perform_work(const struct statement *s)
{
    switch (s->what) {
    case 'H':
        host_work(s, true);
        return true;
    case 'R':
        host_work(s, false);
        return true;
    case 'C':
        copy(s);
        return true;
    case '2':
        copy_rows(s);
        return true;
    case '=':
        copy_across(s);
        return true;
    case '&':
        enable_peers();
        return true;
    case '@':
        PAIR_CHECK(cudaSetDevice((int)N(0)));
        return true;
    case 'K':
        launch(s);
        return true;
    case 'Q': /* buffer, how much of it is changed, ns, stream */
        k_keep<<<256, PAIR_THREADS, 0, now->streams[N(3)]>>>(now->buffers[N(0)].device,
                                                             now->buffers[N(0)].bytes, N(1), N(2));
        PAIR_CHECK(cudaGetLastError());
        return true;
    case '+':
        launch_step(s);
        return true;
    case 'M':
        PAIR_CHECK(cudaMemsetAsync(now->buffers[N(0)].host, 0, now->buffers[N(0)].bytes,
                                   now->streams[N(1)]));
        return true;
    default:
        return false;
    }
}

/* Waits, events, functions of the host, locks, other threads. False: the statement is of another
 * family. */
INLINE bool perform_order(const struct statement *s)
{
    switch (s->what) {
    case 'W':
        PAIR_CHECK(cudaStreamSynchronize(now->streams[N(0)]));
        return true;
    case 'D':
        PAIR_CHECK(cudaDeviceSynchronize());
        return true;
    case 'V':
        PAIR_CHECK(cudaEventRecord(now->events[N(0)], now->streams[N(1)]));
        return true;
    case 'X':
        PAIR_CHECK(cudaStreamWaitEvent(now->streams[N(1)], now->events[N(0)], 0));
        return true;
    case 'Y':
        PAIR_CHECK(cudaEventSynchronize(now->events[N(0)]));
        return true;
    case 'q':
        poll(s);
        return true;
    case 'J':
        call_in_stream(s);
        return true;
    case 'Z':
        wait_for_job(s);
        return true;
    case '(':
    case ')':
        lock(s->what == '(');
        return true;
    case '<':
        take_one(&now->semaphores[N(0)]);
        return true;
    case '>':
        post(&now->semaphores[N(0)], (unsigned)N(1));
        return true;
    case 's':
        rest(s);
        return true;
    default:
        return false;
    }
}

/* Memory that comes and goes, and where it is to be. False: the statement is of another family. */
INLINE bool perform_memory(const struct statement *s)
{
    switch (s->what) {
    case 'A':
        allocate(&now->buffers[N(0)]);
        return true;
    case 'F':
        release(&now->buffers[N(0)]);
        return true;
    case 'N':
        page_lock(&now->buffers[N(0)]);
        return true;
    case 'U':
        page_unlock(&now->buffers[N(0)]);
        return true;
    case 'O': /* buffer, threads that touch it (0: the driver allocates it), of ordinary pages */
        take(&now->buffers[N(0)], (unsigned)N(1), !N(2));
        return true;
    case 'o':
        give(&now->buffers[N(0)], (unsigned)N(1));
        return true;
    case 'n':
        map_anew(&now->buffers[N(0)]);
        return true;
    case 'u':
        unmap(&now->buffers[N(0)]);
        return true;
    case 'P':
        prefetch(s);
        return true;
    case 'v':
        advise(s);
        return true;
    default:
        return false;
    }
}

/* Graphs. False: the statement is of another family. */
INLINE bool perform_graph(const struct statement *s)
{
    switch (s->what) {
    case 'G':
        PAIR_CHECK(cudaStreamBeginCapture(now->streams[N(0)], cudaStreamCaptureModeThreadLocal));
        return true;
    case 'g':
        capture_end(s);
        return true;
    case 'L':
        PAIR_CHECK(cudaGraphLaunch(now->graphs[N(0)], now->streams[N(1)]));
        return true;
    case 'd':
        destroy_graph(s);
        return true;
    default:
        return false;
    }
}

INLINE void perform(const struct statement *s)
{
    if (perform_work(s) || perform_order(s) || perform_memory(s) || perform_graph(s))
        return;
    fprintf(stderr, "unknown statement %c\n", s->what);
    exit(1);
}

#endif
