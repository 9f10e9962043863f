/*
 * Programs with a call every few microseconds, for which recording is dear: rounds of the same work
 * for some seconds, or so many rounds. Prints the rounds, and us a round: mean, median, median of
 * the last half. DENSE_PIN=1: once all threads are there the calling one stays on processor 2, the
 * others (of the driver, of the recorder) on the upper half.
 *
 * usage: dense_calls MODE SECONDS [ROUNDS]      MODE: see the table in main(); ROUNDS: at most
 */
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            fprintf(stderr, "dense_calls: %s: %s\n", #call, cudaGetErrorString(error));            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const size_t BYTES = 64 << 20, MANAGED_BYTES = 1 << 20, NUMBERS = 16384;
static char *on_device, *pinned;
static float *managed;
static double *unknowns;
static cudaStream_t stream;
__constant__ float constants[64];

__global__ void use_constants(float *out)
{
    out[threadIdx.x] += constants[threadIdx.x & 63];
}
__global__ void iterate(double *x)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = x[i] * 0.999 + 1e-3;
}
__global__ void touch(float *p, size_t n)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = p[i] * 1.5f + 1;
}

static void wait_for_it()
{
    CHECK(cudaStreamSynchronize(stream));
}
static void gather() /* 1 KiB pieces from the device */
{
    for (size_t i = 0; i < 200; i++)
        CHECK(cudaMemcpyAsync(pinned + i * 1024, on_device + i * 7919 % 60000 * 1024, 1024,
                              cudaMemcpyDeviceToHost, stream));
    wait_for_it();
}
static void upload() /* 256 bytes to the device */
{
    for (size_t i = 0; i < 200; i++)
        CHECK(cudaMemcpyAsync(on_device + i * 4096, pinned + i * 256, 256, cudaMemcpyHostToDevice,
                              stream));
    wait_for_it();
}
static void solver() /* 8 bytes read back in each iteration */
{
    double residual;
    for (int i = 0; i < 20; i++) {
        iterate<<<NUMBERS / 256, 256, 0, stream>>>(unknowns);
        CHECK(cudaMemcpyAsync(&residual, unknowns, 8, cudaMemcpyDeviceToHost, stream));
        wait_for_it();
    }
}
static void symbol() /* constants before each launch */
{
    float values[64] = {1};
    for (int i = 0; i < 50; i++) {
        CHECK(cudaMemcpyToSymbolAsync(constants, values, sizeof values, 0, cudaMemcpyHostToDevice,
                                      stream));
        use_constants<<<1, 64, 0, stream>>>((float *)on_device);
    }
    wait_for_it();
}
static void launches()
{
    for (int i = 0; i < 200; i++)
        touch<<<1, 32, 0, stream>>>((float *)on_device, 32);
    wait_for_it();
}
static void managed_memory() /* written by the host, used by a kernel */
{
    for (size_t i = 0; i < MANAGED_BYTES / 4; i += 1024)
        managed[i] = (float)i;
    touch<<<64, 256, 0, stream>>>(managed, MANAGED_BYTES / 4);
    wait_for_it();
}
static void large() /* few calls and long copies, which nothing should slow down */
{
    for (int i = 0; i < 2; i++) {
        CHECK(cudaMemcpyAsync(on_device, pinned, BYTES / 4, cudaMemcpyHostToDevice, stream));
        touch<<<256, 256, 0, stream>>>((float *)on_device, BYTES / 16);
        CHECK(cudaMemcpyAsync(pinned, on_device, BYTES / 4, cudaMemcpyDeviceToHost, stream));
    }
    wait_for_it();
}

static void pin()
{
    cpu_set_t own, others;
    CPU_ZERO(&own);
    CPU_ZERO(&others);
    CPU_SET(2, &own);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    for (long i = processors / 2; i < processors; i++)
        CPU_SET(i, &others);
    DIR *tasks = opendir("/proc/self/task");
    while (struct dirent *task = tasks ? readdir(tasks) : NULL) {
        int tid = atoi(task->d_name);
        if (tid > 0)
            sched_setaffinity(tid, sizeof others, &others);
    }
    if (tasks)
        closedir(tasks);
    sched_setaffinity(0, sizeof own, &own);
}

static double now_us()
{
    using namespace std::chrono;
    return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

static double median(std::vector<double> times)
{
    std::sort(times.begin(), times.end());
    return times.empty() ? 0 : times[times.size() / 2];
}

static void prepare(bool uses_managed)
{
    CHECK(cudaMalloc(&on_device, BYTES));
    CHECK(cudaMallocHost(&pinned, BYTES));
    CHECK(cudaMalloc(&unknowns, NUMBERS * sizeof *unknowns));
    CHECK(cudaMemset(on_device, 0, BYTES));
    CHECK(cudaMemset(unknowns, 0, NUMBERS * sizeof *unknowns));
    if (uses_managed)
        CHECK(cudaMallocManaged(&managed, MANAGED_BYTES));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*work)();
    } modes[] = {{"gather", gather}, {"upload", upload},     {"solver", solver},
                 {"symbol", symbol}, {"launches", launches}, {"managed", managed_memory},
                 {"large", large}};
    void (*work)() = NULL;
    for (const auto &mode : modes)
        if ((argc == 3 || argc == 4) && strcmp(argv[1], mode.name) == 0)
            work = mode.work;
    if (work == NULL) {
        fprintf(stderr, "usage: dense_calls MODE SECONDS [ROUNDS]\n");
        return 2;
    }
    prepare(work == managed_memory);
    work();
    if (getenv("DENSE_PIN"))
        pin();
    size_t most = argc == 4 ? strtoul(argv[3], NULL, 10) : SIZE_MAX;
    std::vector<double> times;
    double begin = now_us(), end = begin;
    while (end - begin < atof(argv[2]) * 1e6 && times.size() < most) {
        double start = end;
        work();
        end = now_us();
        times.push_back(end - start);
    }
    std::vector<double> late(times.begin() + (long)(times.size() / 2), times.end());
    printf("%s %zu rounds, us each: mean %.1f median %.1f late %.1f\n", argv[1], times.size(),
           (end - begin) / (double)times.size(), median(times), median(late));
    return 0;
}
