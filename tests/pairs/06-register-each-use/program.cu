/*
 * Each step page-locks a buffer for one upload and unlocks it again. Locking asks the operating
 * system for every page and the GPU's page tables for an entry of each: it takes longer than the
 * upload, each time anew.
 *
 * AFTER: The buffer is page-locked once, before the first step (within the measured region, so that
 * the cost of it counts), and unlocked after the last.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 20, 32 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *data = (float *)pair_malloc(p.bytes), *d_data;
    double *d_sum, sum;

    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
    pair_fill(data, n, 0);
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0) {
            PAIR_CHECK(cudaMemset(d_sum, 0, sizeof *d_sum));
            pair_begin();
#ifdef AFTER
            PAIR_CHECK(cudaHostRegister(data, p.bytes, cudaHostRegisterDefault));
#endif
        }
        data[0] = (float)(step + 2); /* the CPU changes something */
#ifndef AFTER
        PAIR_CHECK(cudaHostRegister(data, p.bytes, cudaHostRegisterDefault));
#endif
        PAIR_CHECK(cudaMemcpyAsync(d_data, data, p.bytes, cudaMemcpyHostToDevice));
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, d_sum);
        PAIR_CHECK(cudaDeviceSynchronize());
#ifndef AFTER
        PAIR_CHECK(cudaHostUnregister(data));
#endif
    }
#ifdef AFTER
    PAIR_CHECK(cudaHostUnregister(data));
#endif
    pair_stop();
    PAIR_CHECK(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost));
    pair_end((unsigned long long)sum, (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_sum));
    PAIR_CHECK(cudaFree(d_data));
    free(data);
    return 0;
}
