/*
 * Each request fetches its result into memory of its own, which is new: the driver's copy finds no
 * page of it, and waits for the system to find, clear and map each.
 *
 * AFTER: All requests use the same memory.
 */
#include "../pair.h"

/* What a request does with its result. */
static unsigned long long used(const float *result, size_t n)
{
    return (unsigned long long)result[0] + (unsigned long long)result[n - 1];
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 12, 64 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *d_data;
    unsigned long long sum = 0;

    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    pair_device_fill(d_data, n);
#ifdef AFTER
    float *result = (float *)malloc(p.bytes);
#endif
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, 1);
#ifndef AFTER
        float *result = (float *)malloc(p.bytes); /* so much is mapped and unmapped each time */
#endif
        PAIR_CHECK(cudaMemcpy(result, d_data, p.bytes, cudaMemcpyDeviceToHost));
        sum += used(result, n);
#ifndef AFTER
        free(result);
#endif
    }
    pair_end(sum, (unsigned long long)p.steps);
#ifdef AFTER
    free(result);
#endif
    PAIR_CHECK(cudaFree(d_data));
    return 0;
}
