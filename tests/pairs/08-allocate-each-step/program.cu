/*
 * Each step allocates the GPU's buffers, uploads two inputs, computes and frees the buffers again.
 * cudaMalloc and cudaFree change the GPU's page tables, and cudaFree waits until the GPU is idle:
 * together they take as long as the uploads.
 *
 * AFTER: The buffers are allocated once, before the first step.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 80, 16 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    unsigned long long sum = 0;
    float *left, *right, *d_left, *d_right;
    double *d_sum, *step_sum;

    PAIR_CHECK(cudaMallocHost(&left, p.bytes));
    PAIR_CHECK(cudaMallocHost(&right, p.bytes));
    PAIR_CHECK(cudaMallocHost(&step_sum, sizeof *step_sum));
#ifdef AFTER
    PAIR_CHECK(cudaMalloc(&d_left, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_right, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
#endif
    pair_fill(left, n, 0);
    pair_fill(right, n, 1);
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        left[0] = right[0] = (float)(step + 2); /* the CPU changes something */
#ifndef AFTER
        PAIR_CHECK(cudaMalloc(&d_left, p.bytes));
        PAIR_CHECK(cudaMalloc(&d_right, p.bytes));
        PAIR_CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
#endif
        PAIR_CHECK(cudaMemcpyAsync(d_left, left, p.bytes, cudaMemcpyHostToDevice));
        PAIR_CHECK(cudaMemcpyAsync(d_right, right, p.bytes, cudaMemcpyHostToDevice));
        PAIR_CHECK(cudaMemsetAsync(d_sum, 0, sizeof *d_sum));
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_left, n, d_sum);
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_right, n, d_sum);
        PAIR_CHECK(cudaMemcpyAsync(step_sum, d_sum, sizeof *d_sum, cudaMemcpyDeviceToHost));
        PAIR_CHECK(cudaDeviceSynchronize());
#ifndef AFTER
        PAIR_CHECK(cudaFree(d_sum));
        PAIR_CHECK(cudaFree(d_right));
        PAIR_CHECK(cudaFree(d_left));
#endif
        sum += (unsigned long long)*step_sum;
    }
    pair_end(sum, 3 * (unsigned long long)p.steps);
#ifdef AFTER
    PAIR_CHECK(cudaFree(d_sum));
    PAIR_CHECK(cudaFree(d_right));
    PAIR_CHECK(cudaFree(d_left));
#endif
    PAIR_CHECK(cudaFreeHost(step_sum));
    PAIR_CHECK(cudaFreeHost(right));
    PAIR_CHECK(cudaFreeHost(left));
    return 0;
}
