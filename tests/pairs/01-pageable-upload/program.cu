/*
 * Each step the CPU changes a buffer from malloc, uploads it and waits for a kernel over it. The
 * driver cannot let the GPU read pageable memory: it copies it into page-locked memory of its own
 * first, a piece at a time, and the upload runs at the speed of that copy.
 *
 * AFTER: The buffer is page-locked, once: the GPU's copy engine reads it where it is, and the
 * upload runs at the speed of the link.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 40, 32 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float);
#ifndef AFTER
    float *data = (float *)pair_malloc(p.bytes), *d_data;
#else
    float *data, *d_data;
#endif
    double *d_sum, sum;

#ifdef AFTER
    PAIR_CHECK(cudaMallocHost(&data, p.bytes));
#endif
    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0) {
            PAIR_CHECK(cudaMemset(d_sum, 0, sizeof *d_sum));
            pair_begin();
        }
        pair_fill(data, n / 16, (unsigned)step); /* the CPU changes a part */
        PAIR_CHECK(cudaMemcpy(d_data, data, p.bytes, cudaMemcpyHostToDevice));
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, d_sum);
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    PAIR_CHECK(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost));
    pair_end((unsigned long long)sum, (unsigned long long)p.steps + 1);
    PAIR_CHECK(cudaFree(d_sum));
    PAIR_CHECK(cudaFree(d_data));
#ifndef AFTER
    free(data);
#else
    PAIR_CHECK(cudaFreeHost(data));
#endif
    return 0;
}
