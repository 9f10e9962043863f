/*
 * Each step fetches a result and waits for it at once; then the CPU does half a millisecond of work
 * that has nothing to do with it, and only then looks at it. GPU and link stand still meanwhile.
 *
 * AFTER: The CPU does its other work first, and waits where it needs the result.
 */
#include "../pair.h"

enum { READ = 1024, HOST_NS = 500000 };

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 150, 16 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    unsigned long long sum = 0;
    float *result, *d_data;

    PAIR_CHECK(cudaMallocHost(&result, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    pair_device_fill(d_data, n);
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, 1);
        PAIR_CHECK(cudaMemcpyAsync(result, d_data, p.bytes, cudaMemcpyDeviceToHost));
#ifndef AFTER
        PAIR_CHECK(cudaStreamSynchronize(0));
#endif
        pair_host_work(HOST_NS);
#ifdef AFTER
        PAIR_CHECK(cudaStreamSynchronize(0));
#endif
        sum += pair_host_sum(result, READ);
    }
    pair_end(sum, (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_data));
    PAIR_CHECK(cudaFreeHost(result));
    return 0;
}
