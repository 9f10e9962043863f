/*
 * CPU and GPU count in the same managed memory in turns, each at one place in every 64 KiB. Memory
 * moves to whoever touches it: each step carries nearly all of it to the GPU and back, by way of a
 * fault for each piece, for a few bytes that are used of it.
 *
 * AFTER: The memory stays with the host, and the GPU is given a mapping of it: it reaches over the
 * link for the few bytes that it needs, and nothing moves.
 */
#include "../pair.h"

enum { APART = 65536 / sizeof(float) };

extern "C" __global__ void count_up(float *data, size_t places)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

    if (i < places)
        data[i * APART] += 1;
}

static void count_on_host(float *data, size_t places)
{
    for (size_t i = 0; i < places; i++) {
        pair_touch(&data[i * APART], sizeof *data, true);
        data[i * APART] += 1;
    }
}

PAIR_TWIN(count_up, 8, 8)
{
    count_on_host(*(float **)args[0], *(size_t *)args[1]);
}

#ifdef AFTER
static void keep_on_host(float *data, size_t bytes)
{
#if CUDART_VERSION >= 13000
    cudaMemLocation host = {cudaMemLocationTypeHost, 0}, gpu = {cudaMemLocationTypeDevice, 0};
#else
    int host = cudaCpuDeviceId, gpu = 0;
#endif

    PAIR_CHECK(cudaMemAdvise(data, bytes, cudaMemAdviseSetPreferredLocation, host));
    PAIR_CHECK(cudaMemAdvise(data, bytes, cudaMemAdviseSetAccessedBy, gpu));
}

#endif
int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 30, 8 << 20}, {true, 3, 1 << 18});
    size_t places = p.bytes / sizeof(float) / APART;
    unsigned long long sum = 0;
    float *counters;

    PAIR_CHECK(cudaMallocManaged(&counters, p.bytes));
#ifdef AFTER
    keep_on_host(counters, p.bytes);
#endif
    memset(counters, 0, p.bytes);
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        count_on_host(counters, places);
        count_up<<<pair_blocks(places), PAIR_THREADS>>>(counters, places);
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    pair_stop();
    for (size_t i = 0; i < places; i++)
        sum += (unsigned long long)counters[i * APART];
    pair_end(sum, 0);
    PAIR_CHECK(cudaFree(counters));
    return 0;
}
