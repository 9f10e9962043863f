/*
 * The CPU keeps a large table and changes a few entries of it in each step; the GPU then looks a
 * few others up, in all three percent of the table's sectors. Each step uploads the whole table for
 * that.
 *
 * AFTER: The kernel reads the table where it is, in mapped host memory: only what it looks up
 * crosses the link.
 */
#include "../pair.h"

enum { CHANGES = 64, LOOKED_UP = 256 /* one of that many */, FAR = 1000003 };

/* Entries that lie far from each other, none of them twice. */
extern "C" __global__ void look_up(const float *table, size_t n, size_t count, double *sum)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    double found = i < count ? table[i * FAR % n] : 0;

    for (int lane = 16; lane > 0; lane /= 2)
        found += __shfl_down_sync(0xffffffffu, found, lane);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, found);
}

PAIR_TWIN(look_up, 8, 8, 8, 8)
{
    const float *table = *(const float **)args[0];
    size_t n = *(size_t *)args[1], count = *(size_t *)args[2];

    for (size_t i = 0; i < count; i++) {
        pair_touch(&table[i * FAR % n], sizeof *table, false);
        **(double **)args[3] += table[i * FAR % n];
    }
}

static void change(float *table, size_t n, long step)
{
    for (size_t i = 0; i < CHANGES; i++)
        table[((size_t)(step + 1) * CHANGES + i) * FAR % n] = (float)(step & 1023);
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 80, 64 << 20}, {true, 3, 1 << 18});
    size_t n = p.bytes / sizeof(float), count = n / LOOKED_UP;
    unsigned blocks = (unsigned)((count + PAIR_THREADS - 1) / PAIR_THREADS);
    float *table, *d_table;
    double *d_sum = pair_new_sum();

    PAIR_CHECK(cudaHostAlloc(&table, p.bytes, cudaHostAllocMapped));
    pair_fill(table, n, 0);
#ifndef AFTER
    PAIR_CHECK(cudaMalloc(&d_table, p.bytes));
#else
    PAIR_CHECK(cudaHostGetDevicePointer(&d_table, table, 0));
#endif
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        change(table, n, step);
#ifndef AFTER
        PAIR_CHECK(cudaMemcpyAsync(d_table, table, p.bytes, cudaMemcpyHostToDevice));
#endif
        look_up<<<blocks, PAIR_THREADS>>>(d_table, n, count, d_sum);
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    pair_stop();
#ifndef AFTER
    pair_end(pair_take_sum(d_sum), (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_table));
#else
    pair_end(pair_take_sum(d_sum), 0);
#endif
    PAIR_CHECK(cudaFreeHost(table));
    return 0;
}
