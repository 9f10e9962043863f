/*
 * Each request fetches its result into a vector of its own. Its memory is new, and the vector fills
 * it with zeros: the host finds no page of it, and waits for the system to find, clear and map
 * each, while the GPU waits for the host.
 *
 * AFTER: All requests use the same vector.
 */
#include "../pair.h"

#include <vector>

/* What a request does with its result. */
static unsigned long long used(const std::vector<float> &result)
{
    return (unsigned long long)result.front() + (unsigned long long)result.back();
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
    std::vector<float> result(n);
#endif
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, 1);
#ifndef AFTER
        std::vector<float> result(n);
#endif
        PAIR_CHECK(cudaMemcpy(result.data(), d_data, p.bytes, cudaMemcpyDeviceToHost));
        sum += used(result);
    }
    pair_end(sum, (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_data));
    return 0;
}
