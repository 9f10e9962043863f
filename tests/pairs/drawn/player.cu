/*
 * Plays a drawn program (schedule.py): declarations of buffers, streams and events, then one
 * statement to a line, each of them made by the call site that it names. There are SITES functions
 * of as many lines of source, and two helper functions, one behind the other, that all of them may
 * go through, so that one program serves for all that is drawn. Statements behind "T n" are those
 * of thread n; all threads begin together, and the region ends with the last of them. Those between
 * "I" and the next "T n" are performed once, before it.
 *
 *     player [--times N] [--least MS] [--helpers 0|1|2] SCHEDULE...
 *            [--helpers 0|1|2 SCHEDULE...]...
 *
 * --times: all statements so often, with a wait for the GPU between, behind a round that does not
 * count, and enough work for the GPU's clocks to rise; host memory that they page-lock is locked by
 * the first round and stays so. What a driver does once (loading kernels, the first copy of a kind)
 * is done before they begin in any case. --least: more often, if need be, for the region of a
 * single schedule to last so long, as it would by what that round took; "rounds N" says how often.
 * Several schedules are played in turns, some rounds of each, so that they meet the same speed of
 * the processor; then the one line is "forms_ns", and what each of them took. Memory, streams,
 * events and graphs of a schedule are there only while it is its turn: what allocations and waits
 * for the device take depends on what else there is. Each
 * --helpers begins others, which are played when those before it are done: a line for each, so that
 * the processes of many programs are started once.
 */
#include "../pair.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

struct buffer {
    char kind; /* d device, p pinned, g pageable, m mapped, u managed, allocated later:
                  l device, h pinned, v pinned by the driver, or by hand */
    size_t bytes;
    char *host, *device; /* the same but of mapped memory */
    bool locked;         /* by a statement */
};

struct statement {
    char what;
    int site;
    unsigned long long number[8];
};

struct form { /* of a program: what one schedule declares */
    std::vector<struct buffer> buffers;
    std::vector<cudaStream_t> streams;
    std::vector<cudaEvent_t> events;
    std::vector<cudaGraphExec_t> graphs;
    std::vector<struct statement> before;                /* once, by main */
    std::vector<std::vector<struct statement>> programs; /* by thread; the first is main's */
};

enum { PAGE = 4096 };
enum { MORE = 40 };      /* times as many rounds, at most, for the region to last */
enum { TURNS = 3 };      /* of several forms of a program: few, since loading takes time, too */
static struct form *now; /* the one that is loaded or played */
static bool in_rounds;   /* it is played more than once */
static std::atomic<unsigned long long> filled, copies, sum;

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

/* What a kernel leaves differs from launch to launch, as what a fill leaves does. */
static void scramble(char *data, size_t n)
{
    unsigned long long *words = (unsigned long long *)data, number = ++filled;

    for (size_t i = 0; i < n / sizeof *words; i++)
        words[i] = (i + number) * 0x9e3779b97f4a7c15ull;
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
        scramble(to, m);
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
    const struct buffer none = {0, 0, NULL, NULL, false};
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

/* dst, src, width, rows, pitch on the host, stream, kind: contiguous on the device. */
INLINE void copy_rows(const struct statement *s)
{
    bool up = N(6) == cudaMemcpyHostToDevice;

    copies++;
    PAIR_CHECK(cudaMemcpy2DAsync(now->buffers[N(0)].host, up ? N(2) : N(4), now->buffers[N(1)].host,
                                 up ? N(4) : N(2), N(2), N(3), (cudaMemcpyKind)N(6),
                                 now->streams[N(5)]));
}

/* ns, buffer + 1, how much of it; 0: all. */
INLINE void host_work(const struct statement *s, bool write)
{
    if (N(1) && write)
        scramble(now->buffers[N(1) - 1].host, N(2) ? N(2) : now->buffers[N(1) - 1].bytes);
    else if (N(1)) {
        pair_touch(now->buffers[N(1) - 1].host, now->buffers[N(1) - 1].bytes, false);
        sum += (unsigned char)now->buffers[N(1) - 1].host[0];
    }
    if (N(0))
        pair_host_work(N(0));
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

/* ---- call sites ------------------------------------------------------------------------------ */

static int helpers;

static __attribute__((noinline)) void helper(const struct statement *s)
{
    perform(s);
}

static __attribute__((noinline)) void outer_helper(const struct statement *s)
{
    helper(s);
}

#define SITE(n)                                                                                    \
    static __attribute__((noinline)) void site_##n(const struct statement *s)                      \
    {                                                                                              \
        if (helpers == 2)                                                                          \
            outer_helper(s);                                                                       \
        else if (helpers == 1)                                                                     \
            helper(s);                                                                             \
        else                                                                                       \
            perform(s);                                                                            \
    }
#define EIGHT(n)                                                                                   \
    SITE(n##0) SITE(n##1) SITE(n##2) SITE(n##3) SITE(n##4) SITE(n##5) SITE(n##6) SITE(n##7)
#define NAME(n) site_##n,
#define NAMES(n)                                                                                   \
    NAME(n##0) NAME(n##1) NAME(n##2) NAME(n##3) NAME(n##4) NAME(n##5) NAME(n##6) NAME(n##7)

EIGHT(a)
EIGHT(b)
EIGHT(c)
EIGHT(d) EIGHT(e) EIGHT(f) EIGHT(g) EIGHT(h) typedef void site_function(const struct statement *);
static site_function *const sites[] = {NAMES(a) NAMES(b) NAMES(c) NAMES(d) NAMES(e) NAMES(f)
                                           NAMES(g) NAMES(h)};
enum { SITES = sizeof sites / sizeof *sites };

/* ---- declarations ---------------------------------------------------------------------------- */

static void declare_buffer(char kind, size_t bytes)
{
    struct buffer b = {kind, bytes, NULL, NULL, false};

    if (kind == 'd')
        PAIR_CHECK(cudaMalloc((void **)&b.host, bytes));
    else if (kind == 'p')
        PAIR_CHECK(cudaMallocHost((void **)&b.host, bytes));
    else if (kind == 'm')
        PAIR_CHECK(cudaHostAlloc((void **)&b.host, bytes, cudaHostAllocMapped));
    else if (kind == 'u')
        PAIR_CHECK(cudaMallocManaged((void **)&b.host, bytes, cudaMemAttachGlobal));
    else if (kind == 'g')
        b.host = (char *)pair_malloc(bytes);
    b.device = b.host;
    if (kind == 'm')
        PAIR_CHECK(cudaHostGetDevicePointer((void **)&b.device, b.host, 0));
    if (b.host && kind != 'd')
        scramble(b.host, bytes);
    now->buffers.push_back(b);
}

static void declare_stream(char kind)
{
    cudaStream_t stream = cudaStreamLegacy;

    if (kind == 't')
        stream = cudaStreamPerThread;
    else if (kind == 'b')
        PAIR_CHECK(cudaStreamCreate(&stream));
    else if (kind == 'n')
        PAIR_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    now->streams.push_back(stream);
}

/* B kind bytes; S kind; E; I; T thread; all else is a statement. */
static void read_line(char *line, size_t &thread, bool &before)
{
    struct statement s = {line[0], 0, {0}};
    char *at = line + 1;

    if (line[0] == 'B')
        declare_buffer(line[2], strtoull(line + 4, NULL, 10));
    else if (line[0] == 'S')
        declare_stream(line[2]);
    else if (line[0] == 'E') {
        now->events.push_back(NULL);
        PAIR_CHECK(cudaEventCreateWithFlags(&now->events.back(), cudaEventDisableTiming));
    } else if (line[0] == 'I') {
        before = true;
    } else if (line[0] == 'T') {
        before = false;
        thread = strtoul(at, NULL, 10);
        now->programs.resize(std::max(now->programs.size(), thread + 1));
    } else if (line[0] > ' ') {
        s.site = (int)(strtoul(at, &at, 10) % SITES);
        for (int i = 0; i < 8 && *at > ' ' - 1; i++)
            s.number[i] = strtoull(at, &at, 10);
        if (s.what == 'g')
            now->graphs.resize(std::max(now->graphs.size(), (size_t)s.number[1] + 1));
        (before ? now->before : now->programs[thread]).push_back(s);
    }
}

static struct form load(const char *path)
{
    char line[256];
    size_t thread = 0;
    bool before = false;
    FILE *file = fopen(path, "r");
    struct form form;

    if (!file) {
        perror(path);
        exit(1);
    }
    form.programs.resize(1);
    now = &form;
    while (fgets(line, sizeof line, file))
        read_line(line, thread, before);
    fclose(file);
    for (const struct statement &s : form.before)
        sites[s.site](&s);
    return form;
}

static void unload_buffer(const struct buffer *b)
{
    bool pinned = b->kind == 'p' || b->kind == 'm' || (b->kind == 'h' && b->locked);

    if (b->kind == 'd' || b->kind == 'u')
        PAIR_CHECK(cudaFree(b->host));
    else if (pinned)
        PAIR_CHECK(cudaFreeHost(b->host));
    else if (b->kind == 'g') {
        if (b->locked)
            PAIR_CHECK(cudaHostUnregister(b->host));
        free(b->host);
    }
}

static void unload(struct form *form)
{
    for (cudaGraphExec_t graph : form->graphs)
        PAIR_CHECK(cudaGraphExecDestroy(graph));
    for (cudaEvent_t event : form->events)
        PAIR_CHECK(cudaEventDestroy(event));
    for (cudaStream_t stream : form->streams)
        if (stream != cudaStreamLegacy && stream != cudaStreamPerThread)
            PAIR_CHECK(cudaStreamDestroy(stream));
    for (const struct buffer &buffer : form->buffers)
        unload_buffer(&buffer);
    *form = {};
}

static void warm(void)
{
    char *device, *pinned, pageable[64] = {0};
    size_t n = sizeof pageable;

    PAIR_CHECK(cudaMalloc((void **)&device, n));
    PAIR_CHECK(cudaMallocHost((void **)&pinned, n));
    k_read<<<1, PAIR_THREADS>>>(device, n, 0);
    k_write<<<1, PAIR_THREADS>>>(device, n, 0);
    k_map<<<1, PAIR_THREADS>>>(device, n, device, n, 0);
    k_join<<<1, PAIR_THREADS>>>(device, n, device, n, device, n, 0);
    PAIR_CHECK(cudaMemcpy(device, pageable, n, cudaMemcpyHostToDevice));
    PAIR_CHECK(cudaMemcpy(pageable, device, n, cudaMemcpyDeviceToHost));
    PAIR_CHECK(cudaMemcpyAsync(device, pinned, n, cudaMemcpyHostToDevice, 0));
    PAIR_CHECK(cudaMemcpyAsync(pinned, device, n, cudaMemcpyDeviceToHost, 0));
    PAIR_CHECK(cudaDeviceSynchronize());
    PAIR_CHECK(cudaFreeHost(pinned));
    PAIR_CHECK(cudaFree(device));
}

/* On the simulated GPU threads have clocks of their own. */
static void *play_thread(void *number)
{
    typedef int begin_function(unsigned, unsigned);
    static begin_function *begin =
        (begin_function *)pair_simulated("xferscope_simgpu_thread_begin");
    static void (*end)(void) = (void (*)(void))pair_simulated("xferscope_simgpu_thread_end");
    size_t thread = (size_t)number;

    if (begin && now->programs.size() > 1 &&
        !begin((unsigned)thread, (unsigned)now->programs.size())) {
        fprintf(stderr, "no clock for thread %zu\n", thread);
        exit(1);
    }
    for (const struct statement &s : now->programs[thread])
        sites[s.site](&s);
    if (end)
        end();
    return NULL;
}

static void play(void)
{
    std::vector<pthread_t> threads(now->programs.size());

    for (size_t i = 1; i < now->programs.size(); i++)
        if (pthread_create(&threads[i], NULL, play_thread, (void *)i)) {
            perror("pthread_create");
            exit(1);
        }
    play_thread((void *)0);
    for (size_t i = 1; i < now->programs.size(); i++)
        pthread_join(threads[i], NULL);
}

/* For the GPU's clocks to rise. */
static void warm_gpu(void)
{
    const unsigned long long ns = 50000000;

    k_write<<<1, PAIR_THREADS>>>(NULL, 0, ns);
    PAIR_CHECK(cudaDeviceSynchronize());
}

/* Host memory as in the midst of a run. */
static void warm_round(struct form *form)
{
    now = form;
    play();
    PAIR_CHECK(cudaDeviceSynchronize());
    filled = copies = sum = 0;
}

/* The measured region, in rounds of one form. */
static void play_one(struct form *form, long times, unsigned long long least_ns)
{
    now = form;
    if (times > 1) {
        warm_gpu();
        unsigned long long start = pair_now_ns();
        warm_round(form);
        unsigned long long took = std::max(pair_now_ns() - start, 1ull);
        times = std::max(times, std::min(times * MORE, (long)(least_ns / took)));
        printf("rounds %ld\n", times);
    }
    pair_begin();
    play();
    while (--times > 0) {
        pair_wait();
        play();
    }
    pair_stop();
    pair_end(sum, copies);
}

/* What so many rounds take, ns. */
static unsigned long long play_rounds(struct form *form, long rounds)
{
    unsigned long long start, took_ns = 0;

    warm_round(form);
    while (rounds-- > 0) {
        pair_wait();
        start = pair_now_ns();
        play();
        pair_wait();
        took_ns += pair_now_ns() - start;
    }
    return took_ns;
}

static void play_in_turns(const std::vector<const char *> &paths, long times)
{
    std::vector<unsigned long long> took_ns(paths.size());

    warm_gpu();
    for (long turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < paths.size(); i++) {
            struct form form = load(paths[i]);
            took_ns[i] += play_rounds(&form, times * (turn + 1) / TURNS - times * turn / TURNS);
            unload(&form);
        }
    printf("forms_ns");
    for (unsigned long long ns : took_ns)
        printf(" %llu", ns);
    printf("\n");
}

struct group { /* of schedules that are played in turns */
    int helpers;
    std::vector<const char *> paths;
};

static int usage(const char *name)
{
    fprintf(stderr, "usage: %s [--times N] [--least MS] [--helpers 0|1|2] SCHEDULE...\n", name);
    return 2;
}

static bool parse(int argc, char **argv, long *times, unsigned long long *least_ns,
                  std::vector<struct group> &groups)
{
    groups.push_back({0, {}});
    for (int i = 1; i < argc; i++) {
        bool helps = strcmp(argv[i], "--helpers") == 0, named = strcmp(argv[i], "--times") == 0,
             least = strcmp(argv[i], "--least") == 0;
        if ((helps || named || least) && i + 1 == argc)
            return false;
        if (helps && !groups.back().paths.empty())
            groups.push_back({0, {}});
        if (helps)
            groups.back().helpers = atoi(argv[++i]);
        else if (named)
            *times = strtol(argv[++i], NULL, 10);
        else if (least)
            *least_ns = 1000000 * strtoull(argv[++i], NULL, 10);
        else
            groups.back().paths.push_back(argv[i]);
    }
    return *times >= 1 && !groups.back().paths.empty();
}

static void play_group(const struct group &group, long times, unsigned long long least_ns)
{
    helpers = group.helpers;
    if (group.paths.size() > 1) {
        play_in_turns(group.paths, times);
        return;
    }
    struct form form = load(group.paths[0]);
    play_one(&form, times, least_ns);
}

int main(int argc, char **argv)
{
    std::vector<struct group> groups;
    unsigned long long least_ns = 0;
    long times = 1;

    if (!parse(argc, argv, &times, &least_ns, groups))
        return usage(argv[0]);
    in_rounds = times > 1;
    PAIR_CHECK(cudaFree(NULL));
    warm();
    for (const struct group &group : groups)
        play_group(group, times, least_ns);
    return 0;
}
