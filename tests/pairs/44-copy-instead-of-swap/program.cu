/*
 * A wave in three states: a step makes the next one of the two before, and then copies them to
 * where the kernel reads them in the step that follows.
 *
 * AFTER: The three pointers are rotated, and nothing is copied.
 */
#include "../pair.h"

/* A wave on a ring, in whole numbers below 1024. */
__global__ void wave(const float *cur, const float *prev, float *next, size_t n)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;

    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride) {
        size_t left = i ? i - 1 : n - 1, right = i + 1 < n ? i + 1 : 0;
        next[i] = (float)(((unsigned)cur[left] + (unsigned)cur[right] + (unsigned)prev[i]) & 1023u);
    }
}

PAIR_TWIN(_Z4wavePKfS0_Pfm, 8, 8, 8, 8)
{
    const float *cur = *(const float **)args[0], *prev = *(const float **)args[1];
    float *next = *(float **)args[2];
    size_t n = *(size_t *)args[3];

    for (size_t i = 0; i < n; i++) {
        size_t left = i ? i - 1 : n - 1, right = i + 1 < n ? i + 1 : 0;
        next[i] = (float)(((unsigned)cur[left] + (unsigned)cur[right] + (unsigned)prev[i]) & 1023u);
    }
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 1000, 64 << 20}, {true, 4, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *prev, *cur, *next;
    unsigned long long sum, transfers = 0;

    PAIR_CHECK(cudaMalloc(&prev, p.bytes));
    PAIR_CHECK(cudaMalloc(&cur, p.bytes));
    PAIR_CHECK(cudaMalloc(&next, p.bytes));
    pair_device_fill(prev, n);
    pair_device_fill(cur, n);
    pair_device_fill(next, n);
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0) {
            pair_begin();
            transfers = 0;
        }
        wave<<<pair_blocks(n), PAIR_THREADS>>>(cur, prev, next, n);
#ifndef AFTER
        PAIR_CHECK(cudaMemcpyAsync(prev, cur, p.bytes, cudaMemcpyDeviceToDevice));
        PAIR_CHECK(cudaMemcpyAsync(cur, next, p.bytes, cudaMemcpyDeviceToDevice));
        transfers += 2;
#else
        float *free_one = prev;
        prev = cur;
        cur = next;
        next = free_one;
#endif
    }
    pair_stop();
    sum = pair_device_sum(cur, n) + pair_device_sum(prev, n);
    pair_end(sum, transfers);
    PAIR_CHECK(cudaFree(prev));
    PAIR_CHECK(cudaFree(cur));
    PAIR_CHECK(cudaFree(next));
    return 0;
}
