/*
 * Each step keeps a copy of the state, lets a kernel work on the state in place, and adds up what
 * both have: the copy is needed, since the kernel reads what it changes.
 *
 * AFTER: Two buffers take the copies by turns, which saves nothing.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 400, 64 << 20}, {true, 4, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *state, *kept[2];
    double *d_sum;

    PAIR_CHECK(cudaMalloc(&state, p.bytes));
    for (int i = 0; i < 2; i++)
        PAIR_CHECK(cudaMalloc(&kept[i], p.bytes));
    pair_device_fill(state, n);
    d_sum = pair_new_sum();
    for (long step = -2; step < p.steps; step++) { /* -2 and -1 warm up */
        float *before = kept[0];
        if (step == 0)
            pair_begin();
#ifdef AFTER
        before = kept[step & 1];
#endif
        PAIR_CHECK(cudaMemcpyAsync(before, state, p.bytes, cudaMemcpyDeviceToDevice));
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(state, n, 1);
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(before, n, d_sum);
    }
    pair_stop();
    pair_end(pair_device_sum(state, n) + pair_take_sum(d_sum), (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(state));
    for (int i = 0; i < 2; i++)
        PAIR_CHECK(cudaFree(kept[i]));
    return 0;
}
