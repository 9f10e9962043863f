/*
 * One page-locked buffer serves both ways: the host fills it, sends it, and sums up the result that
 * comes back into it. It is write-combined, which is meant for the sake of the uploads; but the
 * host reads such memory around its caches.
 *
 * AFTER: It is ordinary page-locked memory, which is cached.
 */
#include "../pair.h"

#ifdef AFTER
enum { KIND = cudaHostAllocDefault };
#else
enum { KIND = cudaHostAllocWriteCombined };
#endif

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 60, 256 << 10}, {true, 3, 1 << 12});
    size_t n = p.bytes / sizeof(float);
    unsigned long long sum = 0;
    float *both, *d_data;

    PAIR_CHECK(cudaHostAlloc((void **)&both, p.bytes, KIND));
    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0) {
            sum = 0;
            pair_begin();
        }
        pair_fill(both, n, (unsigned)(step + 1));
        PAIR_CHECK(cudaMemcpyAsync(d_data, both, p.bytes, cudaMemcpyHostToDevice));
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, 1);
        PAIR_CHECK(cudaMemcpyAsync(both, d_data, p.bytes, cudaMemcpyDeviceToHost));
        PAIR_CHECK(cudaStreamSynchronize(0));
        sum += pair_host_sum(both, n);
    }
    pair_end(sum, 2ull * (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_data));
    PAIR_CHECK(cudaFreeHost(both));
    return 0;
}
