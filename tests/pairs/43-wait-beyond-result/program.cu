/*
 * A solver whose next step depends on what the CPU makes of the last one: upload, kernel, download,
 * work of the CPU. Beside it each state is packed for an archive that stays on the device, in a
 * stream of its own, ordered by events. Before the CPU looks at a result it waits for the whole
 * device, and so for the packing, too.
 *
 * AFTER: The CPU waits for an event behind the download.
 */
#include "../pair.h"

enum { HOST_NS = 200000, PACK_NS = 180000, READ = 1024 };

__global__ void pack(const float *state, float *archive, size_t n, unsigned long long ns)
{
    unsigned long long start, now;
    size_t stride = (size_t)gridDim.x * blockDim.x;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride)
        archive[i] += state[i];
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < ns);
}

PAIR_TWIN(_Z4packPKfPfmy, 8, 8, 8, 8)
{
    typedef void kernel_ns_function(unsigned long long);
    static kernel_ns_function *kernel_ns =
        (kernel_ns_function *)pair_simulated("xferscope_simgpu_kernel_ns");
    const float *state = *(const float **)args[0];
    float *archive = *(float **)args[1];
    size_t n = *(size_t *)args[2];

    if (kernel_ns)
        kernel_ns(*(unsigned long long *)args[3]);
    for (size_t i = 0; i < n; i++)
        archive[i] += state[i];
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 250, 1 << 20}, {true, 6, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *sent, *fetched, *d_state, *d_archive;
    cudaStream_t solve, archive;
    cudaEvent_t solved, packed, result;

    PAIR_CHECK(cudaStreamCreateWithFlags(&solve, cudaStreamNonBlocking));
    PAIR_CHECK(cudaStreamCreateWithFlags(&archive, cudaStreamNonBlocking));
    PAIR_CHECK(cudaEventCreateWithFlags(&solved, cudaEventDisableTiming));
    PAIR_CHECK(cudaEventCreateWithFlags(&packed, cudaEventDisableTiming));
    PAIR_CHECK(cudaEventCreateWithFlags(&result, cudaEventDisableTiming));
    PAIR_CHECK(cudaMallocHost(&sent, p.bytes));
    PAIR_CHECK(cudaMallocHost(&fetched, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_state, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_archive, p.bytes));
    PAIR_CHECK(cudaMemset(d_archive, 0, p.bytes));
    pair_fill(sent, n, 0);
    for (long step = -1; step < p.steps; step++) { /* the first warms up */
        if (step == 0)
            pair_begin();
        PAIR_CHECK(cudaStreamWaitEvent(solve, packed, 0)); /* it reads the state */
        PAIR_CHECK(cudaMemcpyAsync(d_state, sent, p.bytes, cudaMemcpyHostToDevice, solve));
        pair_add<<<pair_blocks(n), PAIR_THREADS, 0, solve>>>(d_state, n, 1);
        PAIR_CHECK(cudaEventRecord(solved, solve));
        PAIR_CHECK(cudaMemcpyAsync(fetched, d_state, p.bytes, cudaMemcpyDeviceToHost, solve));
        PAIR_CHECK(cudaEventRecord(result, solve));
        PAIR_CHECK(cudaStreamWaitEvent(archive, solved, 0));
        pack<<<64, PAIR_THREADS, 0, archive>>>(d_state, d_archive, n, PACK_NS);
        PAIR_CHECK(cudaGetLastError());
        PAIR_CHECK(cudaEventRecord(packed, archive));
#ifdef AFTER
        PAIR_CHECK(cudaEventSynchronize(result));
#else
        PAIR_CHECK(cudaDeviceSynchronize());
#endif
        sent[0] = (float)(pair_host_sum(fetched, READ) % 1024);
        pair_host_work(HOST_NS);
    }
    pair_stop();
    pair_end(pair_device_sum(d_archive, n), (unsigned long long)p.steps * 2);
    return 0;
}
