/*
 * A loop over data that stays on the GPU. Each step sends a mask along that no kernel is given any
 * more; the kernel waits behind it in the stream.
 */
#include "../pair.h"

enum { DATA_PER_MASK = 16 };

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 200, 16 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float) * DATA_PER_MASK;
    float *mask, *d_mask, *d_data;
    unsigned long long sum;

    PAIR_CHECK(cudaMallocHost(&mask, p.bytes));
    pair_fill(mask, p.bytes / sizeof(float), 0);
    PAIR_CHECK(cudaMalloc(&d_mask, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_data, n * sizeof *d_data));
    PAIR_CHECK(cudaMemset(d_data, 0, n * sizeof *d_data));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        PAIR_CHECK(cudaMemcpyAsync(d_mask, mask, p.bytes, cudaMemcpyHostToDevice));
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, 1);
    }
    pair_stop();
    sum = pair_device_sum(d_data, n);
    pair_end(sum, (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_data));
    PAIR_CHECK(cudaFree(d_mask));
    PAIR_CHECK(cudaFreeHost(mask));
    return 0;
}
