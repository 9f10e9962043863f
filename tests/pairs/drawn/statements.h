/*
 * What a drawn program's statements do (schedule.py writes them, player.cu plays them): buffers,
 * kernels with their host twins, and perform(), which makes the calls of one statement in the
 * function that calls it. One .cu file includes this, once.
 */
#ifndef XFERSCOPE_DRAWN_STATEMENTS_H
#define XFERSCOPE_DRAWN_STATEMENTS_H

#include "../pair.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

struct buffer {
    char kind; /* d device, p pinned, g pageable, m mapped, u managed, allocated later:
                  l device, h pinned, v pinned by the driver, or by hand */
    size_t bytes;
    char *host, *device; /* the same but of mapped memory */
    bool locked;         /* by a statement */
    unsigned long long fills;
};

struct statement {
    char what;
    int site;
    unsigned long long number[8];
};

/* What a function of the host that a stream calls has to do, or a thread of the program's own. */
struct job {
    unsigned long long ns;
    size_t read;               /* buffer + 1; 0: none */
    bool done;                 /* by the thread */
    unsigned long long end_ns; /* the same on the simulated GPU */
};

struct form { /* of a program: what one schedule declares */
    std::vector<struct buffer> buffers;
    std::vector<cudaStream_t> streams;
    std::vector<cudaEvent_t> events;
    std::vector<cudaGraphExec_t> graphs;
    std::deque<struct job> jobs;                         /* they stay where they are */
    std::vector<struct statement> before;                /* once, by main */
    std::vector<std::vector<struct statement>> programs; /* by thread; the first is main's */
};

enum { PAGE = 4096 };
static struct form *now; /* the one that is loaded or played */
static bool in_rounds;   /* it is played more than once */
static bool sums;        /* what is read is added up as a whole */
static std::atomic<unsigned long long> copies, sum;

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

/* Whether it changes what it is given, m bytes of it, its name does not say. */
extern "C" __global__ void k_keep(char *data, size_t n, size_t m, unsigned long long ns)
{
    pass(data, n, data, m, ns);
}

/* ---- contents -------------------------------------------------------------------------------- */

#define MIXED 0x9e3779b97f4a7c15ull

/* Of all bytes, or of a word of each page. */
static unsigned long long sum_of(const char *data, size_t n, bool all)
{
    const unsigned long long *words = (const unsigned long long *)data;
    const size_t count = n / sizeof *words, step = all ? 1 : PAGE / sizeof *words;
    unsigned long long of = n;

    for (size_t i = 0; i < count; i += step)
        of = (of ^ words[i]) * MIXED + (of >> 29);
    return of;
}

static bool is_in(const char *data, const struct buffer *b)
{
    return (data >= b->host && data < b->host + b->bytes) ||
           (data >= b->device && data < b->device + b->bytes);
}

/* What a kernel leaves differs from launch to launch, as what a fill leaves does; it depends on
 * what the kernel was given, and not on what other threads do meanwhile. */
static void scramble(char *data, size_t n, unsigned long long of)
{
    unsigned long long *words = (unsigned long long *)data;
    size_t at = 0, count = now ? now->buffers.size() : 0;

    while (at < count && !is_in(data, &now->buffers[at]))
        at++;
    of += (at + 1) << 40;
    if (at < count)
        of += ++now->buffers[at].fills;
    for (size_t i = 0; i < n / sizeof *words; i++)
        words[i] = (i + of) * MIXED;
    pair_touch(data, n, true);
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

PAIR_TWIN(k_keep, 8, 8, 8, 8)
{
    twin(argument<char *>(args, 0), argument<size_t>(args, 1), argument<char *>(args, 0),
         argument<size_t>(args, 2), argument<size_t>(args, 3));
}

/* ---- statements ------------------------------------------------------------------------------ */

#define INLINE static inline __attribute__((always_inline))
#define N(i) s->number[i]

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

/* Of what it reads the host looks at a byte; of managed memory at a word of each page, which it has
 * to come back for, as the simulated GPU believes of all that is read. */
static unsigned long long looked_at(const struct buffer *b)
{
    if (sums || b->kind == 'u')
        return sum_of(b->host, b->bytes, sums);
    return (unsigned char)b->host[0];
}

/* ns, buffer + 1, how much of it; 0: all. */
INLINE void host_work(const struct statement *s, bool write)
{
    if (N(1) && write)
        scramble(now->buffers[N(1) - 1].host, N(2) ? N(2) : now->buffers[N(1) - 1].bytes, 0);
    else if (N(1)) {
        pair_touch(now->buffers[N(1) - 1].host, now->buffers[N(1) - 1].bytes, false);
        sum += looked_at(&now->buffers[N(1) - 1]);
    }
    if (N(0))
        pair_host_work(N(0));
}

/* ---- functions of the host ---- */

static void do_job(const struct job *job)
{
    const struct statement work = {'R', 0, {job->ns, job->read}};

    host_work(&work, false);
}

static void work_in_stream(void *job)
{
    do_job((const struct job *)job);
}

/* The thread of the program's own, which does one job after the other until the process ends. The
 * simulated clock does not know it: there it is a time from which on it is idle. */
struct worker {
    std::mutex lock;
    std::condition_variable changed;
    std::deque<struct job *> jobs;
    bool begun;
    unsigned long long idle_ns;
};
static struct worker &worker = *new struct worker(); /* never freed: the thread waits there */

static void work_in_thread(void)
{
    std::unique_lock<std::mutex> held(worker.lock);

    for (;;) {
        worker.changed.wait(held, [] { return !worker.jobs.empty(); });
        struct job *job = worker.jobs.front();
        worker.jobs.pop_front();
        held.unlock();
        do_job(job);
        held.lock();
        job->done = true;
        worker.changed.notify_all();
    }
}

static void hand_over(void *data)
{
    struct job *job = (struct job *)data, rest = {0, job->read, false, 0};

    if (pair_simulated("xferscope_simgpu_now_ns")) {
        do_job(&rest); /* it is done when it may be */
        worker.idle_ns = std::max(worker.idle_ns, pair_now_ns()) + job->ns;
        job->end_ns = worker.idle_ns;
        return;
    }
    std::lock_guard<std::mutex> held(worker.lock);
    if (!worker.begun)
        std::thread(work_in_thread).detach();
    worker.begun = true;
    worker.jobs.push_back(job);
    worker.changed.notify_all();
}

/* job, ns, buffer + 1, stream, a thread of the program's own does it */
INLINE void call_in_stream(const struct statement *s)
{
    struct job *job = &now->jobs[N(0)];

    *job = {N(1), N(2), false, 0};
    PAIR_CHECK(cudaLaunchHostFunc(now->streams[N(3)], N(4) ? hand_over : work_in_stream, job));
}

/* A job of that thread. */
INLINE void wait_for_job(const struct statement *s)
{
    const struct job *job = &now->jobs[N(0)];
    unsigned long long at = pair_now_ns();

    if (pair_simulated("xferscope_simgpu_now_ns")) {
        if (job->end_ns > at)
            pair_host_work(job->end_ns - at);
        return;
    }
    std::unique_lock<std::mutex> held(worker.lock);
    worker.changed.wait(held, [job] { return job->done; });
}

/* The lock of all threads. On the simulated GPU those with clocks of their own wait for it by
 * these, and a thread that has waited is woken up. */
enum { WAKE_NS = 5000 }; /* what that takes: a guess */
static std::mutex &threads_lock = *new std::mutex();

INLINE void lock(bool take)
{
    typedef void lock_function(const void *);
    static lock_function *taken = (lock_function *)pair_simulated("xferscope_simgpu_lock"),
                         *given = (lock_function *)pair_simulated("xferscope_simgpu_unlock");

    if (take && taken) {
        unsigned long long came = pair_now_ns();
        taken(&threads_lock);
        if (pair_now_ns() > came)
            pair_host_work(WAKE_NS);
    }
    if (take) {
        threads_lock.lock();
        return;
    }
    threads_lock.unlock();
    if (given)
        given(&threads_lock);
}

INLINE void capture_end(const struct statement *s)
{
    cudaGraph_t graph;

    PAIR_CHECK(cudaStreamEndCapture(now->streams[N(0)], &graph));
    PAIR_CHECK(cudaGraphInstantiate(&now->graphs[N(1)], graph, 0));
}

INLINE void allocate(struct buffer *b)
{
    if (b->locked)
        return;
    b->locked = b->kind == 'h';
    if (b->locked)
        PAIR_CHECK(cudaMallocHost((void **)&b->device, b->bytes));
    else
        PAIR_CHECK(cudaMalloc((void **)&b->device, b->bytes));
    b->host = b->device;
}

INLINE void release(struct buffer *b)
{
    if (!b->locked)
        PAIR_CHECK(cudaFree(b->host));
    else if (!in_rounds) {
        PAIR_CHECK(cudaFreeHost(b->host));
        b->locked = false;
    }
}

INLINE void page_lock(struct buffer *b)
{
    if (!b->locked)
        PAIR_CHECK(cudaHostRegister(b->host, b->bytes, 0));
    b->locked = true;
}

INLINE void page_unlock(struct buffer *b)
{
    if (in_rounds)
        return;
    PAIR_CHECK(cudaHostUnregister(b->host));
    b->locked = false;
}

/* Page-locked memory each time: the driver's, or mapped, touched by threads and page-locked. */

static void touch(char *pages, size_t bytes, unsigned threads)
{
    typedef void host_copy_function(const char *, size_t, unsigned);
    static host_copy_function *simulated =
        (host_copy_function *)pair_simulated("xferscope_simgpu_host_copy");
    std::vector<std::thread> team;
    char name[32];

    snprintf(name, sizeof name, "lock/threads%u/gpu0", threads);
    if (simulated) {
        simulated(name, bytes, threads);
        return;
    }
    for (unsigned t = 0; t < threads; t++)
        team.emplace_back([=] {
            for (size_t at = bytes * t / threads; at < bytes * (t + 1) / threads; at += PAGE)
                *(volatile char *)(pages + at) = 0;
        });
    for (std::thread &t : team)
        t.join();
}

INLINE void take(struct buffer *b, unsigned threads)
{
    void *pages;

    if (threads == 0) {
        PAIR_CHECK(cudaMallocHost((void **)&b->device, b->bytes));
        b->host = b->device;
        return;
    }
    pages = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    madvise(pages, b->bytes, MADV_HUGEPAGE);
    touch((char *)pages, b->bytes, threads);
    PAIR_CHECK(cudaHostRegister(pages, b->bytes, 0));
    b->host = b->device = (char *)pages;
}

INLINE void give(struct buffer *b, unsigned threads)
{
    if (threads == 0) {
        PAIR_CHECK(cudaFreeHost(b->host));
        return;
    }
    PAIR_CHECK(cudaHostUnregister(b->host));
    munmap(b->host, b->bytes);
}

INLINE void prefetch(const struct statement *s)
{
    struct buffer *b = &now->buffers[N(0)];
#if CUDART_VERSION >= 13000
    struct cudaMemLocation place = {N(1) ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost, 0};
    PAIR_CHECK(cudaMemPrefetchAsync(b->host, b->bytes, place, 0, now->streams[N(2)]));
#else
    PAIR_CHECK(
        cudaMemPrefetchAsync(b->host, b->bytes, N(1) ? 0 : cudaCpuDeviceId, now->streams[N(2)]));
#endif
}

/* buffer, advice, of the device or the host */
INLINE void advise(const struct statement *s)
{
    struct buffer *b = &now->buffers[N(0)];
    cudaMemoryAdvise advice = (cudaMemoryAdvise)N(1);
#if CUDART_VERSION >= 13000
    struct cudaMemLocation place = {N(2) ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost, 0};
    PAIR_CHECK(cudaMemAdvise(b->host, b->bytes, advice, place));
#else
    PAIR_CHECK(cudaMemAdvise(b->host, b->bytes, advice, N(2) ? 0 : cudaCpuDeviceId));
#endif
}

INLINE void perform(const struct statement *s)
{
    switch (s->what) {
    case 'H':
        host_work(s, true);
        break;
    case 'R':
        host_work(s, false);
        break;
    case 'C':
        copy(s);
        break;
    case '2':
        copy_rows(s);
        break;
    case 'K':
        launch(s);
        break;
    case 'Q': /* buffer, how much of it is changed, ns, stream */
        k_keep<<<256, PAIR_THREADS, 0, now->streams[N(3)]>>>(now->buffers[N(0)].device,
                                                             now->buffers[N(0)].bytes, N(1), N(2));
        PAIR_CHECK(cudaGetLastError());
        break;
    case 'M':
        PAIR_CHECK(cudaMemsetAsync(now->buffers[N(0)].host, 0, now->buffers[N(0)].bytes,
                                   now->streams[N(1)]));
        break;
    case 'W':
        PAIR_CHECK(cudaStreamSynchronize(now->streams[N(0)]));
        break;
    case 'D':
        PAIR_CHECK(cudaDeviceSynchronize());
        break;
    case 'V':
        PAIR_CHECK(cudaEventRecord(now->events[N(0)], now->streams[N(1)]));
        break;
    case 'X':
        PAIR_CHECK(cudaStreamWaitEvent(now->streams[N(1)], now->events[N(0)], 0));
        break;
    case 'Y':
        PAIR_CHECK(cudaEventSynchronize(now->events[N(0)]));
        break;
    case 'J':
        call_in_stream(s);
        break;
    case 'Z':
        wait_for_job(s);
        break;
    case '(':
    case ')':
        lock(s->what == '(');
        break;
    case 'A':
        allocate(&now->buffers[N(0)]);
        break;
    case 'F':
        release(&now->buffers[N(0)]);
        break;
    case 'N':
        page_lock(&now->buffers[N(0)]);
        break;
    case 'U':
        page_unlock(&now->buffers[N(0)]);
        break;
    case 'O': /* buffer, threads that touch it; 0: the driver allocates it */
        take(&now->buffers[N(0)], (unsigned)N(1));
        break;
    case 'o':
        give(&now->buffers[N(0)], (unsigned)N(1));
        break;
    case 'P':
        prefetch(s);
        break;
    case 'v':
        advise(s);
        break;
    case 'G':
        PAIR_CHECK(cudaStreamBeginCapture(now->streams[N(0)], cudaStreamCaptureModeThreadLocal));
        break;
    case 'g':
        capture_end(s);
        break;
    case 'L':
        PAIR_CHECK(cudaGraphLaunch(now->graphs[N(0)], now->streams[N(1)]));
        break;
    default:
        fprintf(stderr, "unknown statement %c\n", s->what);
        exit(1);
    }
}

#endif
