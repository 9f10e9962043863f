/*
 * Each step the CPU fills managed memory, a kernel changes it and the CPU reads it again. Nobody
 * says where the data will be needed: every page moves when somebody runs into it, after a fault,
 * the GPU's threads waiting and then the CPU's.
 *
 * AFTER: The pages are sent to where they are needed next before anybody runs into them: to the GPU
 * before the kernel, back before the CPU reads.
 */
#include "../pair.h"

#ifdef AFTER
static void prefetch(float *data, size_t bytes, bool to_gpu)
{
#if CUDART_VERSION >= 13000
    cudaMemLocation where = {to_gpu ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost, 0};
    PAIR_CHECK(cudaMemPrefetchAsync(data, bytes, where, 0, 0));
#else
    PAIR_CHECK(cudaMemPrefetchAsync(data, bytes, to_gpu ? 0 : cudaCpuDeviceId, 0));
#endif
}

#endif
int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 12, 16 << 20}, {true, 2, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    unsigned long long sum = 0;
    float *data;

    PAIR_CHECK(cudaMallocManaged(&data, p.bytes));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0) {
            sum = 0;
            pair_begin();
        }
        pair_fill(data, n, (unsigned)step);
#ifdef AFTER
        prefetch(data, p.bytes, true);
#endif
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(data, n, 1);
#ifdef AFTER
        prefetch(data, p.bytes, false);
#endif
        PAIR_CHECK(cudaDeviceSynchronize());
        sum += pair_host_sum(data, n);
    }
    pair_end(sum, 0);
    PAIR_CHECK(cudaFree(data));
    return 0;
}
