/*
 * Each step fetches its result into page-locked memory that it allocates for that, and frees
 * afterwards. Allocating page-locked memory is expensive (each page is found, cleared, locked and
 * mapped), and freeing it waits for the GPU: together they take many times what the copy takes.
 *
 * AFTER: The page-locked memory is allocated once, before the loop.
 */
#include "../pair.h"

enum { READ = 1024 };

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 12, 64 << 20}, {true, 3, 1 << 18});
    size_t n = p.bytes / sizeof(float), changed = n / 8;
    unsigned long long sum = 0;
    float *result, *d_data;

#ifdef AFTER
    PAIR_CHECK(cudaMallocHost(&result, p.bytes));
#endif
    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    pair_device_fill(d_data, n);
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        pair_add<<<pair_blocks(changed), PAIR_THREADS>>>(d_data, changed, 1);
#ifndef AFTER
        PAIR_CHECK(cudaMallocHost(&result, p.bytes));
#endif
        PAIR_CHECK(cudaMemcpyAsync(result, d_data, p.bytes, cudaMemcpyDeviceToHost));
        PAIR_CHECK(cudaStreamSynchronize(0));
        sum += pair_host_sum(result, READ);
#ifndef AFTER
        PAIR_CHECK(cudaFreeHost(result));
#endif
    }
    pair_end(sum, (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_data));
#ifdef AFTER
    PAIR_CHECK(cudaFreeHost(result));
#endif
    return 0;
}
