/*
 * Each step hands the first GPU's result to the second, which computes with it. Peer access was
 * never enabled: the driver takes every copy by way of host memory, although the GPUs are linked.
 *
 * AFTER: Peer access is enabled: the copies go over the link between the GPUs.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 60, 32 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *d_source, *d_target;
    double *d_sum, sum;

    pair_gpus(2);
    PAIR_CHECK(cudaSetDevice(0));
#ifdef AFTER
    PAIR_CHECK(cudaDeviceEnablePeerAccess(1, 0));
#endif
    PAIR_CHECK(cudaMalloc(&d_source, p.bytes));
    PAIR_CHECK(cudaMemset(d_source, 0, p.bytes));
    PAIR_CHECK(cudaSetDevice(1));
#ifdef AFTER
    PAIR_CHECK(cudaDeviceEnablePeerAccess(0, 0));
#endif
    PAIR_CHECK(cudaMalloc(&d_target, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0) {
            PAIR_CHECK(cudaMemset(d_sum, 0, sizeof *d_sum));
            pair_begin();
        }
        PAIR_CHECK(cudaSetDevice(0));
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_source, n, 1);
        PAIR_CHECK(cudaMemcpyPeerAsync(d_target, 1, d_source, 0, p.bytes));
        PAIR_CHECK(cudaDeviceSynchronize());
        PAIR_CHECK(cudaSetDevice(1));
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_target, n, d_sum);
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    pair_stop();
    PAIR_CHECK(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost));
    pair_end((unsigned long long)sum, (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_sum));
    PAIR_CHECK(cudaFree(d_target));
    PAIR_CHECK(cudaFree(d_source));
    return 0;
}
