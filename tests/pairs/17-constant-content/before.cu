/*
 * Each step begins with sums of nought: zeros from page-locked host memory are uploaded into the
 * buffer that the kernels then add to. The link carries one value, over and over.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 240, 16 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *zeros, *d_sums;
    double *d_sum = pair_new_sum();

    PAIR_CHECK(cudaMallocHost(&zeros, p.bytes));
    memset(zeros, 0, p.bytes);
    PAIR_CHECK(cudaMalloc(&d_sums, p.bytes));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        PAIR_CHECK(cudaMemcpyAsync(d_sums, zeros, p.bytes, cudaMemcpyHostToDevice));
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_sums, n, (float)(step + 2));
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_sums, n, d_sum);
    }
    pair_stop();
    pair_end(pair_take_sum(d_sum), (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_sums));
    PAIR_CHECK(cudaFreeHost(zeros));
    return 0;
}
