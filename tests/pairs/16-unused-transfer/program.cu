/*
 * A loop over data that stays on the GPU. Each step sends a mask along that no kernel is given any
 * more; the kernel waits behind it in the stream.
 *
 * AFTER: The mask that nobody reads is no longer sent.
 */
#include "../pair.h"

enum { DATA_PER_MASK = 16 };

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 200, 16 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float) * DATA_PER_MASK;
#ifndef AFTER
    float *mask, *d_mask, *d_data;
#else
    float *d_data;
#endif
    unsigned long long sum;

#ifndef AFTER
    PAIR_CHECK(cudaMallocHost(&mask, p.bytes));
    pair_fill(mask, p.bytes / sizeof(float), 0);
    PAIR_CHECK(cudaMalloc(&d_mask, p.bytes));
#endif
    PAIR_CHECK(cudaMalloc(&d_data, n * sizeof *d_data));
    PAIR_CHECK(cudaMemset(d_data, 0, n * sizeof *d_data));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
#ifndef AFTER
        PAIR_CHECK(cudaMemcpyAsync(d_mask, mask, p.bytes, cudaMemcpyHostToDevice));
#endif
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, 1);
    }
    pair_stop();
    sum = pair_device_sum(d_data, n);
#ifndef AFTER
    pair_end(sum, (unsigned long long)p.steps);
#else
    pair_end(sum, 0);
#endif
    PAIR_CHECK(cudaFree(d_data));
#ifndef AFTER
    PAIR_CHECK(cudaFree(d_mask));
    PAIR_CHECK(cudaFreeHost(mask));
#endif
    return 0;
}
