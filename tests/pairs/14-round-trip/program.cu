/*
 * Two stages on the GPU, of two libraries that hand over their data in host memory: each step the
 * first one's result is fetched, and sent back unchanged for the second one. Nothing on the host
 * looks at it; it crosses the link twice for nothing.
 *
 * AFTER: The result stays where it is: the second stage is given the first one's buffer.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 100, 32 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float);
#ifndef AFTER
    float *passed, *d_result, *d_input;
#else
    float *d_result;
#endif
    double *d_sum = pair_new_sum();

#ifndef AFTER
    PAIR_CHECK(cudaMallocHost(&passed, p.bytes));
#endif
    PAIR_CHECK(cudaMalloc(&d_result, p.bytes));
#ifndef AFTER
    PAIR_CHECK(cudaMalloc(&d_input, p.bytes));
#endif
    pair_device_fill(d_result, n);
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_result, n, 1);
#ifndef AFTER
        PAIR_CHECK(cudaMemcpyAsync(passed, d_result, p.bytes, cudaMemcpyDeviceToHost));
        PAIR_CHECK(cudaMemcpyAsync(d_input, passed, p.bytes, cudaMemcpyHostToDevice));
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_input, n, d_sum);
#else
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_result, n, d_sum);
#endif
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    pair_stop();
#ifndef AFTER
    pair_end(pair_take_sum(d_sum), 2 * (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_input));
#else
    pair_end(pair_take_sum(d_sum), 0);
#endif
    PAIR_CHECK(cudaFree(d_result));
#ifndef AFTER
    PAIR_CHECK(cudaFreeHost(passed));
#endif
    return 0;
}
