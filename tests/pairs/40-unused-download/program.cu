/*
 * A simulation that stays on the GPU. Each step fetches the whole field for a picture that nobody
 * draws: the host waits for it and goes on without a look. The last one is summed up.
 *
 * AFTER: Only the last field is fetched.
 */
#include "../pair.h"

enum { SPIN_NS = 300000, QUICK_SPIN_NS = 10000 };

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 120, 24 << 20}, {true, 4, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *picture, *d_field;
    unsigned long long sum = 0;

    PAIR_CHECK(cudaMallocHost(&picture, p.bytes));
    pair_fill(picture, n, 0);
    PAIR_CHECK(cudaMalloc(&d_field, p.bytes));
    PAIR_CHECK(cudaMemset(d_field, 0, p.bytes));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_field, n, 1);
        pair_spin<<<1, 1>>>(p.quick ? QUICK_SPIN_NS : SPIN_NS);
#ifndef AFTER
        PAIR_CHECK(cudaMemcpy(picture, d_field, p.bytes, cudaMemcpyDeviceToHost));
#else
        PAIR_CHECK(cudaDeviceSynchronize());
#endif
    }
    pair_stop();
    PAIR_CHECK(cudaMemcpy(picture, d_field, p.bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++)
        sum += (unsigned long long)picture[i];
#ifndef AFTER
    pair_end(sum, (unsigned long long)p.steps);
#else
    pair_end(sum, 0);
#endif
    PAIR_CHECK(cudaFree(d_field));
    PAIR_CHECK(cudaFreeHost(picture));
    return 0;
}
