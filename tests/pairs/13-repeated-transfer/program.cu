/*
 * Each step sends a table that never changes, waits until it is there, and computes with it. Only
 * the first of these uploads brings anything new.
 *
 * AFTER: The table is sent once, before the first step.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 100, 32 << 20}, {true, 3, 1 << 16});
    unsigned long long kernel_ns = p.quick ? 10000 : 500000;
    size_t n = p.bytes / sizeof(float);
    float *table, *d_table;
    double *d_sum, sum;

    PAIR_CHECK(cudaMallocHost(&table, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_table, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
    pair_fill(table, n, 0);
#ifdef AFTER
    PAIR_CHECK(cudaMemcpy(d_table, table, p.bytes, cudaMemcpyHostToDevice));
#endif
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0) {
            PAIR_CHECK(cudaMemset(d_sum, 0, sizeof *d_sum));
            pair_begin();
        }
#ifndef AFTER
        PAIR_CHECK(cudaMemcpy(d_table, table, p.bytes, cudaMemcpyHostToDevice));
#endif
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_table, n, d_sum);
        pair_spin<<<1, 1>>>(kernel_ns);
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    pair_stop();
    PAIR_CHECK(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost));
#ifndef AFTER
    pair_end((unsigned long long)sum, (unsigned long long)p.steps);
#else
    pair_end((unsigned long long)sum, 0);
#endif
    PAIR_CHECK(cudaFree(d_sum));
    PAIR_CHECK(cudaFree(d_table));
    PAIR_CHECK(cudaFreeHost(table));
    return 0;
}
