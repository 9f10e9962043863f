/*
 * A trap. Each step downloads the last step's result into pageable memory, which blocks the CPU and
 * runs at half the link's speed or less, while a kernel of another stream takes longer than that;
 * the CPU has nothing else to do. Nothing waits for the download: making it faster saves nothing.
 *
 * AFTER: The result goes into page-locked memory: the download is over sooner, and the step takes
 * as long as its kernel, as before.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 30, 16 << 20}, {true, 3, 1 << 16});
    unsigned long long kernel_ns = p.quick ? 1000000 : 6000000, sum = 0;
    size_t n = p.bytes / sizeof(float);
#ifndef AFTER
    float *result = (float *)pair_malloc(p.bytes), *d_result[2];
#else
    float *result, *d_result[2];
#endif
    cudaStream_t compute, copy;

    PAIR_CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    PAIR_CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
#ifdef AFTER
    PAIR_CHECK(cudaMallocHost(&result, p.bytes));
#endif
    for (int i = 0; i < 2; i++) {
        PAIR_CHECK(cudaMalloc(&d_result[i], p.bytes));
        PAIR_CHECK(cudaMemset(d_result[i], 0, p.bytes));
    }
    PAIR_CHECK(cudaDeviceSynchronize());
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        pair_add<<<pair_blocks(n), PAIR_THREADS, 0, compute>>>(d_result[step & 1], n, 1);
        pair_spin<<<1, 1, 0, compute>>>(kernel_ns);
        PAIR_CHECK(cudaMemcpyAsync(result, d_result[(step + 1) & 1], p.bytes,
                                   cudaMemcpyDeviceToHost, copy));
        PAIR_CHECK(cudaStreamSynchronize(copy));
        PAIR_CHECK(cudaStreamSynchronize(compute));
        sum += (unsigned long long)result[n - 1];
    }
    pair_end(sum, (unsigned long long)p.steps);
    for (int i = 0; i < 2; i++)
        PAIR_CHECK(cudaFree(d_result[i]));
#ifndef AFTER
    free(result);
#else
    PAIR_CHECK(cudaFreeHost(result));
#endif
    return 0;
}
