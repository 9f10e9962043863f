/*
 * Each step begins with sums of nought: zeros from page-locked host memory are uploaded into the
 * buffer that the kernels then add to. The link carries one value, over and over.
 *
 * AFTER: The GPU sets its memory itself, at the speed of its memory.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 240, 16 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float);
#ifndef AFTER
    float *zeros, *d_sums;
#else
    float *d_sums;
#endif
    double *d_sum = pair_new_sum();

#ifndef AFTER
    PAIR_CHECK(cudaMallocHost(&zeros, p.bytes));
    memset(zeros, 0, p.bytes);
#endif
    PAIR_CHECK(cudaMalloc(&d_sums, p.bytes));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
#ifndef AFTER
        PAIR_CHECK(cudaMemcpyAsync(d_sums, zeros, p.bytes, cudaMemcpyHostToDevice));
#else
        PAIR_CHECK(cudaMemsetAsync(d_sums, 0, p.bytes));
#endif
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_sums, n, (float)(step + 2));
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_sums, n, d_sum);
    }
    pair_stop();
#ifndef AFTER
    pair_end(pair_take_sum(d_sum), (unsigned long long)p.steps);
#else
    pair_end(pair_take_sum(d_sum), 0);
#endif
    PAIR_CHECK(cudaFree(d_sums));
#ifndef AFTER
    PAIR_CHECK(cudaFreeHost(zeros));
#endif
    return 0;
}
