/*
 * The result stays where it is: the second stage is given the first one's buffer.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 100, 32 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *d_result;
    double *d_sum = pair_new_sum();

    PAIR_CHECK(cudaMalloc(&d_result, p.bytes));
    pair_device_fill(d_result, n);
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_result, n, 1);
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_result, n, d_sum);
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    pair_stop();
    pair_end(pair_take_sum(d_sum), 0);
    PAIR_CHECK(cudaFree(d_result));
    return 0;
}
