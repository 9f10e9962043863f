/*
 * A trap. Each step of a loop that keeps the GPU busy fetches four bytes, a residual say, with a
 * blocking copy from the default stream into pageable memory. It looks like all that is advised
 * against, but the step's kernel takes milliseconds and the copy microseconds.
 *
 * AFTER: The residuals are fetched asynchronously and looked at after the last step: the GPU has
 * the same to do, and the loop takes as long as its kernels, as before.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 40, 16 << 20}, {true, 3, 1 << 16});
    unsigned long long kernel_ns = p.quick ? 2000000 : 5000000, sum = 0;
    size_t n = p.bytes / sizeof(float);
#ifndef AFTER
    float *d_data, residual;
#else
    float *d_data, *residuals;
#endif

#ifdef AFTER
    PAIR_CHECK(cudaMallocHost(&residuals, ((size_t)p.steps + 1) * sizeof *residuals));
#endif
    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    PAIR_CHECK(cudaMemset(d_data, 0, p.bytes));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0) {
            sum = 0;
            pair_begin();
        }
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, 1);
        pair_spin<<<1, 1>>>(kernel_ns);
#ifndef AFTER
        PAIR_CHECK(cudaMemcpy(&residual, d_data, sizeof residual, cudaMemcpyDeviceToHost));
        sum += (unsigned long long)residual;
#else
        PAIR_CHECK(cudaMemcpyAsync(&residuals[step + 1], d_data, sizeof *residuals,
                                   cudaMemcpyDeviceToHost));
#endif
    }
#ifdef AFTER
    PAIR_CHECK(cudaDeviceSynchronize());
    for (long step = 0; step < p.steps; step++)
        sum += (unsigned long long)residuals[step + 1];
#endif
    pair_end(sum, (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_data));
#ifdef AFTER
    PAIR_CHECK(cudaFreeHost(residuals));
#endif
    return 0;
}
