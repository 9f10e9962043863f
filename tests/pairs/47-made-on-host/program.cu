/*
 * Each round begins with new random numbers, a function of their places and the round. The host
 * makes them, one by one, and sends them; the GPU waits for both.
 *
 * AFTER: A kernel makes them where they are used.
 */
#include "../pair.h"

/* One of 1024 whole numbers, by rounds of a generator that counts. */
__host__ __device__ static inline float drawn(unsigned long long place, unsigned long long round)
{
    unsigned long long x = place * 0x9e3779b97f4a7c15ull + round;

    for (int i = 0; i < 4; i++) {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
        x ^= x >> 31;
    }
    return (float)(x & 1023u);
}

__global__ void draw(float *data, size_t n, unsigned long long round)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;

    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride)
        data[i] = drawn(i, round);
}

static void draw_here(float *data, size_t n, unsigned long long round)
{
    for (size_t i = 0; i < n; i++)
        data[i] = drawn(i, round);
}

PAIR_TWIN(_Z4drawPfmy, 8, 8, 8)
{
    draw_here(*(float **)args[0], *(size_t *)args[1], *(unsigned long long *)args[2]);
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 20, 4 << 20}, {true, 4, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    unsigned long long sum, transfers = 0;
    float *d_data;
    double *d_sum;

    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    d_sum = pair_new_sum();
#ifndef AFTER
    float *numbers;
    PAIR_CHECK(cudaMallocHost(&numbers, p.bytes));
#endif
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0) {
            pair_begin();
            transfers = 0;
        }
#ifndef AFTER
        draw_here(numbers, n, (unsigned long long)(step + 1));
        PAIR_CHECK(cudaMemcpy(d_data, numbers, p.bytes, cudaMemcpyHostToDevice));
        transfers++;
#else
        draw<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, (unsigned long long)(step + 1));
#endif
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, d_sum);
        PAIR_CHECK(cudaDeviceSynchronize()); /* a round looks at what it has */
    }
    pair_stop();
    sum = pair_take_sum(d_sum);
    pair_end(sum, transfers);
#ifndef AFTER
    PAIR_CHECK(cudaFreeHost(numbers));
#endif
    PAIR_CHECK(cudaFree(d_data));
    return 0;
}
