/*
 * A simulation on the device that is observed: behind each step a kernel writes a sample of its
 * state to mapped memory of the host, and the stream calls a function of the host that works on it.
 * The next step begins when that has returned.
 *
 * AFTER: The function only hands the sample to a thread of the program's own.
 */
#include "../pair.h"

#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>

enum { SLOTS = 8, SAMPLE = 4096, STEP_NS = 200000, WORK_NS = 150000 };

struct sample {
    const float *data;
    bool observed;
    unsigned long long sum;
};

__global__ void take(const float *state, float *sample, size_t n)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;

    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride)
        sample[i] = state[i];
}

PAIR_TWIN(_Z4takePKfPfm, 8, 8, 8)
{
    const float *state = *(const float **)args[0];
    float *sample = *(float **)args[1];
    size_t n = *(size_t *)args[2];

    pair_touch(sample, n * sizeof *sample, true);
    for (size_t i = 0; i < n; i++)
        sample[i] = state[i];
}

static void observe(void *data)
{
    struct sample *sample = (struct sample *)data;

    sample->sum += pair_host_sum(sample->data, SAMPLE);
    pair_host_work(WORK_NS);
}

#ifdef AFTER
static std::mutex lock;
static std::condition_variable changed;
static std::queue<struct sample *> samples;

static void observe_all(long steps)
{
    while (steps-- > 0) {
        std::unique_lock<std::mutex> held(lock);
        changed.wait(held, [] { return !samples.empty(); });
        struct sample *sample = samples.front();
        samples.pop();
        held.unlock();
        observe(sample);
        held.lock();
        sample->observed = true;
        changed.notify_all();
    }
}

static void hand_over(void *sample)
{
    std::lock_guard<std::mutex> held(lock);

    samples.push((struct sample *)sample);
    changed.notify_all();
}
#endif

static void wait_for(struct sample *sample)
{
#ifdef AFTER
    std::unique_lock<std::mutex> held(lock);
    changed.wait(held, [sample] { return sample->observed; });
    sample->observed = false;
#else
    (void)sample;
#endif
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 300, 1 << 20}, {true, 10, 1 << 17});
    size_t n = p.bytes / sizeof(float);
    unsigned long long sum = 0;
    struct sample slots[SLOTS] = {};
    float *data[SLOTS], *d_data[SLOTS], *d_state;
    cudaEvent_t called[SLOTS];
    cudaStream_t stream;

    PAIR_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    PAIR_CHECK(cudaMalloc(&d_state, p.bytes));
    pair_device_fill(d_state, n);
    for (int i = 0; i < SLOTS; i++) {
        PAIR_CHECK(cudaEventCreateWithFlags(&called[i], cudaEventDisableTiming));
        PAIR_CHECK(cudaHostAlloc(&data[i], SAMPLE * sizeof(float), cudaHostAllocMapped));
        PAIR_CHECK(cudaHostGetDevicePointer((void **)&d_data[i], data[i], 0));
        slots[i].data = data[i];
    }
#ifdef AFTER
    std::thread observer(observe_all, p.steps + 1);
#endif
    for (long step = -1; step < p.steps; step++) { /* the first warms up */
        int i = (int)((step + SLOTS) % SLOTS);
        if (step == 0)
            pair_begin();
        if (step >= SLOTS - 1) {
            PAIR_CHECK(cudaEventSynchronize(called[i]));
            wait_for(&slots[i]);
        }
        pair_add<<<pair_blocks(n), PAIR_THREADS, 0, stream>>>(d_state, n, 1);
        pair_spin<<<1, 1, 0, stream>>>(STEP_NS);
        take<<<pair_blocks(SAMPLE), PAIR_THREADS, 0, stream>>>(d_state, d_data[i], SAMPLE);
        PAIR_CHECK(cudaGetLastError());
#ifdef AFTER
        PAIR_CHECK(cudaLaunchHostFunc(stream, hand_over, &slots[i]));
#else
        PAIR_CHECK(cudaLaunchHostFunc(stream, observe, &slots[i]));
#endif
        PAIR_CHECK(cudaEventRecord(called[i], stream));
    }
    PAIR_CHECK(cudaStreamSynchronize(stream));
#ifdef AFTER
    observer.join();
#endif
    pair_stop();
    for (int i = 0; i < SLOTS; i++)
        sum += slots[i].sum;
    pair_end(sum, 0);
    return 0;
}
