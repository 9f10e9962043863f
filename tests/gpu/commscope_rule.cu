// Measures the cases of compare_commscope by Comm|Scope's rule, and by that rule with one thing
// changed, so that a difference between its figures and xferscope probe's has a measured reason.
// Written from what Comm|Scope 0.12 does, without its code.
//
// usage: commscope_rule [LOG2-SIZE | CASE]...   (default: 16 20 24 26, all cases)
// Prints "case,bytes,variant,n,GB/s": the mean of all iterations, as Comm|Scope reports it, and for
// the variants that queue ("queued…") the median, as the probe does. Variants:
//   rule        one operation at a time between two events; copies after writing the host buffer
//   unmodified  the same, the host buffer not written before each copy
//   queued      the same again, submitted behind a kernel that waits for the host, 16 in a row
//   queued16    zero-copy: 16-byte accesses by four blocks per multiprocessor instead of 4-byte
//   ones reading     managed memory: the kernel reads all of it instead of writing a byte per page
//   threads     pageable copies both ways: each direction by a thread of its own
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr double least_seconds = 0.05;
constexpr int least_samples = 10, batch = 16;
constexpr size_t page = 4096;

void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "commscope_rule: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define CHECK(call) check(call, #call)

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// ---- kernels ---------------------------------------------------------------------------------

__global__ void wait_for(volatile uint32_t *word)
{
    for (long i = 0; !*word && i < (1L << 24); i++)
        ;
}

template <typename Word> __device__ uint32_t fold(Word word);
template <> __device__ uint32_t fold(uint32_t word)
{
    return word;
}
template <> __device__ uint32_t fold(uint4 word)
{
    return word.x ^ word.y ^ word.z ^ word.w;
}

// The read kernels' result is never what it is compared with, but the compiler cannot know.
template <typename Word> __global__ void read_all(const Word *from, size_t bytes, uint32_t *sink)
{
    uint32_t seen = 0;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < bytes / sizeof(Word);
         i += (size_t)gridDim.x * blockDim.x)
        seen |= fold(from[i]);
    if (seen == 0x5afe5afe)
        *sink = seen;
}

template <typename Word> __global__ void write_all(Word *to, size_t bytes)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < bytes / sizeof(Word);
         i += (size_t)gridDim.x * blockDim.x)
        to[i] = Word();
}

// A byte of every page, a warp for each.
__global__ void touch_pages(char *to, size_t bytes)
{
    size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

    for (size_t at = thread / 32 * page; thread % 32 == 0 && at < bytes;
         at += (size_t)gridDim.x * blockDim.x / 32 * page)
        to[at] = 0;
}

// ---- what all cases share --------------------------------------------------------------------

struct Machine {
    cudaStream_t stream, other;
    cudaEvent_t events[2 * batch];
    volatile uint32_t *word; // opens the gate
    uint32_t *word_seen, *sink;
    int blocks; // four per multiprocessor
};

Machine m;

void set_up()
{
    void *word;
    int processors;

    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    m.blocks = 4 * processors;
    CHECK(cudaStreamCreateWithFlags(&m.stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&m.other, cudaStreamNonBlocking));
    for (cudaEvent_t &event : m.events)
        CHECK(cudaEventCreate(&event));
    CHECK(cudaHostAlloc(&word, page, cudaHostAllocMapped));
    m.word = static_cast<uint32_t *>(word);
    CHECK(cudaHostGetDevicePointer((void **)&m.word_seen, word, 0));
    CHECK(cudaMalloc((void **)&m.sink, sizeof(*m.sink)));
}

double elapsed(cudaEvent_t from, cudaEvent_t to)
{
    float ms;

    CHECK(cudaEventElapsedTime(&ms, from, to));
    return ms / 1e3;
}

void close_gate()
{
    *m.word = 0;
    wait_for<<<1, 1, 0, m.stream>>>(m.word_seen);
}

std::vector<std::string> chosen; // cases; empty: all

bool left_out(const char *name)
{
    return !chosen.empty() && std::find(chosen.begin(), chosen.end(), name) == chosen.end();
}

using Action = std::function<void()>;
using Queue = std::function<void(cudaStream_t)>;

void print(const char *name, size_t size, const char *variant, size_t moved,
           std::vector<double> &seconds, bool median)
{
    double sum = 0, figure;

    for (double s : seconds)
        sum += s;
    std::sort(seconds.begin(), seconds.end());
    figure = median ? seconds[seconds.size() / 2] : sum / seconds.size();
    printf("%s,%zu,%s,%zu,%.5g\n", name, size, variant, seconds.size(), moved / figure / 1e9);
    fflush(stdout);
}

// Repeats until enough time was measured; the first three warm up.
std::vector<double> repeat(const std::function<double()> &once)
{
    std::vector<double> seconds;
    double sum = 0, until = now() + 20 * least_seconds;

    for (int i = 0; i < 3; i++)
        once();
    while (seconds.size() < least_samples || (sum < least_seconds && now() < until)) {
        seconds.push_back(once());
        sum += seconds.back();
    }
    return seconds;
}

// One at a time, between two events: in the default stream, or behind the gate.
double single(const Action &prepare, const Queue &queue, bool gated)
{
    cudaStream_t stream = gated ? m.stream : nullptr;

    if (prepare)
        prepare();
    if (gated)
        close_gate();
    CHECK(cudaEventRecord(m.events[0], stream));
    queue(stream);
    CHECK(cudaEventRecord(m.events[1], stream));
    *m.word = 1;
    CHECK(cudaEventSynchronize(m.events[1]));
    return elapsed(m.events[0], m.events[1]);
}

// Several behind the gate; after it something short, so that the first is not special.
std::vector<double> queued(const Queue &queue, const Queue &short_one)
{
    std::vector<double> seconds;
    double until = now() + 4 * least_seconds;

    for (bool warm = false; seconds.size() < least_samples || now() < until; warm = true) {
        close_gate();
        if (short_one)
            short_one(m.stream);
        for (int i = 0; i < batch; i++) {
            CHECK(cudaEventRecord(m.events[2 * i], m.stream));
            queue(m.stream);
            CHECK(cudaEventRecord(m.events[2 * i + 1], m.stream));
        }
        *m.word = 1;
        CHECK(cudaStreamSynchronize(m.stream));
        for (int i = 0; i < batch && warm; i++)
            seconds.push_back(elapsed(m.events[2 * i], m.events[2 * i + 1]));
    }
    return seconds;
}

void measure(const char *name, size_t size, const char *variant, const Action &prepare,
             const Queue &queue, bool gated = false)
{
    if (left_out(name))
        return;
    std::vector<double> seconds = repeat([&] { return single(prepare, queue, gated); });

    print(name, size, variant, size, seconds, gated);
}

void measure_queued(const char *name, size_t size, const char *variant, const Queue &queue,
                    const Queue &short_one)
{
    if (left_out(name))
        return;
    std::vector<double> seconds = queued(queue, short_one);

    print(name, size, variant, size, seconds, true);
}

// Both at once: from the first start until the later has ended.
double both(const Queue &first, const Queue &second, bool gated)
{
    if (gated)
        close_gate();
    CHECK(cudaEventRecord(m.events[0], m.stream));
    if (gated)
        CHECK(cudaStreamWaitEvent(m.other, m.events[0], 0));
    first(m.stream);
    CHECK(cudaEventRecord(m.events[1], m.stream));
    if (!gated)
        CHECK(cudaEventRecord(m.events[3], m.other));
    second(m.other);
    CHECK(cudaEventRecord(m.events[2], m.other));
    *m.word = 1;
    CHECK(cudaEventSynchronize(m.events[1]));
    CHECK(cudaEventSynchronize(m.events[2]));
    return std::max(elapsed(m.events[0], m.events[1]), elapsed(m.events[0], m.events[2]));
}

void measure_both(const char *name, size_t size, const char *variant, const Queue &first,
                  const Queue &second, bool gated)
{
    if (left_out(name))
        return;
    std::vector<double> seconds = repeat([&] { return both(first, second, gated); });

    print(name, size, variant, 2 * size, seconds, gated);
}

// ---- memory ----------------------------------------------------------------------------------

enum Kind { pageable, registered, combined };

struct Host {
    Kind kind;
    char *at;

    Host(Kind kind_, size_t size) : kind(kind_)
    {
        void *memory = NULL;

        if (kind == combined)
            CHECK(cudaHostAlloc(&memory, size, cudaHostAllocWriteCombined));
        else
            memory = aligned_alloc(page, size);
        memset(memory, 0, size);
        if (kind == registered)
            CHECK(
                cudaHostRegister(memory, size, cudaHostRegisterPortable | cudaHostRegisterMapped));
        at = static_cast<char *>(memory);
    }
    ~Host()
    {
        if (kind == registered)
            cudaHostUnregister(at);
        if (kind == combined)
            cudaFreeHost(at);
        else
            free(at);
    }
    Host(const Host &) = delete;
};

struct Device {
    char *at;

    Device(size_t size, bool managed = false)
    {
        CHECK(managed ? cudaMallocManaged((void **)&at, size) : cudaMalloc((void **)&at, size));
        CHECK(cudaMemset(at, 0, size));
        CHECK(cudaDeviceSynchronize());
    }
    ~Device()
    {
        cudaFree(at);
    }
    Device(const Device &) = delete;
};

// ---- the cases -------------------------------------------------------------------------------

Queue copying(void *to, const void *from, size_t size)
{
    return [=](cudaStream_t s) { CHECK(cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, s)); };
}

void copies(Kind kind, bool to_device, const char *name, size_t size)
{
    if (left_out(name))
        return;
    Host host(kind, size);
    Device device(size);
    Action write = [&] { memset(host.at, 0, size); };
    char *to = to_device ? device.at : host.at, *from = to_device ? host.at : device.at;
    Queue copy = copying(to, from, size);

    if (kind != combined)
        measure(name, size, "rule", write, copy);
    measure(name, size, kind == combined ? "rule" : "unmodified", nullptr, copy);
    if (kind != pageable)
        measure_queued(name, size, "queued", copy, copying(to, from, 64));
}

// Makes the second of two copies when the first thread says so; times by the host's clock.
class Partner
{
  public:
    explicit Partner(const Queue &queue_) : queue(queue_), thread([this] { work(); })
    {
    }
    ~Partner()
    {
        turn = stop;
        thread.join();
    }
    double together(const Queue &first)
    {
        double start = now();

        turn = go;
        first(m.stream);
        CHECK(cudaStreamSynchronize(m.stream));
        while (turn == go)
            ;
        return now() - start;
    }

  private:
    enum { wait, go, stop };
    void work()
    {
        while (turn != stop)
            if (turn == go) {
                queue(m.other);
                CHECK(cudaStreamSynchronize(m.other));
                turn = wait;
            }
    }
    Queue queue;
    std::atomic<int> turn{wait};
    std::thread thread;
};

void copies_both(Kind kind, const char *name, size_t size)
{
    if (left_out(name))
        return;
    Host up(kind, size), down(kind, size);
    Device up_there(size), down_there(size);
    Queue first = copying(up_there.at, up.at, size), second = copying(down.at, down_there.at, size);

    measure_both(name, size, "rule", first, second, false);
    if (kind == registered) {
        measure_both(name, size, "queued", first, second, true);
        return;
    }
    Partner partner(second);
    std::vector<double> seconds = repeat([&] { return partner.together(first); });
    print(name, size, "threads", 2 * size, seconds, true);
}

template <typename Word> Queue reading(const void *from, size_t size, int blocks)
{
    return [=](cudaStream_t s) {
        read_all<<<blocks, 256, 0, s>>>(static_cast<const Word *>(from), size, m.sink);
    };
}

template <typename Word> Queue writing(void *to, size_t size, int blocks)
{
    return [=](cudaStream_t s) { write_all<<<blocks, 256, 0, s>>>(static_cast<Word *>(to), size); };
}

void zero_copy(size_t size)
{
    Host host(registered, size);
    int blocks = (int)std::min<size_t>(m.blocks, (size / 16 + 255) / 256);
    Queue read = reading<uint32_t>(host.at, size, 256),
          write = writing<uint32_t>(host.at, size, 256);

    measure("Comm_ZeroCopy_HostToGPU", size, "rule", nullptr, read);
    measure_queued("Comm_ZeroCopy_HostToGPU", size, "queued", read, nullptr);
    measure_queued("Comm_ZeroCopy_HostToGPU", size, "queued16",
                   reading<uint4>(host.at, size, blocks), nullptr);
    measure("Comm_ZeroCopy_GPUToHost", size, "rule", nullptr, write);
    measure_queued("Comm_ZeroCopy_GPUToHost", size, "queued", write, nullptr);
    measure_queued("Comm_ZeroCopy_GPUToHost", size, "queued16",
                   writing<uint4>(host.at, size, blocks), nullptr);
}

void zero_copy_both(size_t size)
{
    const char *name = "Comm_ZeroCopy_Duplex_HostGPU";
    Host up(registered, size), down(registered, size);
    int blocks = (int)std::min<size_t>(m.blocks, (size / 16 + 255) / 256);

    measure_both(name, size, "rule", reading<uint32_t>(up.at, size, m.blocks),
                 writing<uint32_t>(down.at, size, m.blocks), true);
    measure_both(name, size, "queued16", reading<uint4>(up.at, size, blocks),
                 writing<uint4>(down.at, size, blocks), true);
}

// Kernels of the first GPU read and write the second one's memory.
void zero_copy_peers(size_t size)
{
    const char *names[] = {"Comm_ZeroCopy_GPUToGPU_Read", "Comm_ZeroCopy_GPUToGPU_Write"};
    int devices = 0, can = 0, blocks = (int)std::min<size_t>(m.blocks, (size / 16 + 255) / 256);

    CHECK(cudaGetDeviceCount(&devices));
    if (devices > 1)
        CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (!can || (left_out(names[0]) && left_out(names[1])))
        return;
    CHECK(cudaSetDevice(1));
    Device there(size);
    CHECK(cudaSetDevice(0));
    cudaDeviceEnablePeerAccess(1, 0);
    cudaGetLastError();
    Queue read = reading<uint32_t>(there.at, size, 256),
          write = writing<uint32_t>(there.at, size, 256);

    measure(names[0], size, "rule", nullptr, read);
    measure_queued(names[0], size, "queued", read, nullptr);
    measure_queued(names[0], size, "queued16", reading<uint4>(there.at, size, blocks), nullptr);
    measure(names[1], size, "rule", nullptr, write);
    measure_queued(names[1], size, "queued", write, nullptr);
    measure_queued(names[1], size, "queued16", writing<uint4>(there.at, size, blocks), nullptr);
}

void prefetch(void *at, size_t size, bool to_host, cudaStream_t stream)
{
#if CUDART_VERSION >= 13000
    cudaMemLocation where = {to_host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, 0};

    CHECK(cudaMemPrefetchAsync(at, size, where, 0, stream));
#else
    CHECK(cudaMemPrefetchAsync(at, size, to_host ? cudaCpuDeviceId : 0, stream));
#endif
}

void managed(size_t size)
{
    Device memory(size, true);
    int blocks = (int)std::min<size_t>(m.blocks, (size / 16 + 255) / 256);
    Queue touch = [&](cudaStream_t s) { touch_pages<<<256, 256, 0, s>>>(memory.at, size); };
    Queue read = reading<uint4>(memory.at, size, blocks);
    Action to[2];

    for (int host = 0; host < 2; host++)
        to[host] = [&, host] {
            prefetch(memory.at, size, host, nullptr);
            CHECK(cudaDeviceSynchronize());
        };
    measure("Comm_UM_Prefetch_HostToGPU", size, "rule", to[1],
            [&](cudaStream_t s) { prefetch(memory.at, size, false, s); });
    measure("Comm_UM_Prefetch_GPUToHost", size, "rule", to[0],
            [&](cudaStream_t s) { prefetch(memory.at, size, true, s); });
    measure("Comm_UM_Demand_HostToGPU", size, "rule", to[1], touch);
    measure("Comm_UM_Demand_HostToGPU", size, "reading", to[1], read);
    measure("Comm_UM_Demand_HostToGPU", size, "queuedread", to[1], read, true);
}

void all_cases(size_t size)
{
    copies(registered, true, "Comm_cudaMemcpyAsync_PinnedToGPU", size);
    copies(registered, false, "Comm_cudaMemcpyAsync_GPUToPinned", size);
    copies(pageable, true, "Comm_cudaMemcpyAsync_HostToGPU", size);
    copies(pageable, false, "Comm_cudaMemcpyAsync_GPUToHost", size);
    copies(combined, true, "Comm_cudaMemcpyAsync_WCToGPU", size);
    copies(combined, false, "Comm_cudaMemcpyAsync_GPUToWC", size);
    copies_both(registered, "Comm_cudaMemcpyAsync_Duplex_Pinned", size);
    copies_both(pageable, "Comm_cudaMemcpyAsync_Duplex_Host", size);
    zero_copy(size);
    zero_copy_both(size);
    zero_copy_peers(size);
    managed(size);
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<int> logs;

    for (int i = 1; i < argc; i++) {
        char *end;
        long log = strtol(argv[i], &end, 10);

        if (*end)
            chosen.push_back(argv[i]);
        else if (log >= 12 && log <= 33)
            logs.push_back((int)log);
        else {
            fprintf(stderr, "commscope_rule: sizes are powers of two from 12 to 33\n");
            return 2;
        }
    }
    if (logs.empty())
        logs = {16, 20, 24, 26};
    set_up();
    printf("case,bytes,variant,n,gbps\n");
    for (int log : logs)
        all_cases((size_t)1 << log);
    return 0;
}
