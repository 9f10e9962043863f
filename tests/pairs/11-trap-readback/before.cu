/*
 * A trap. Each step of a loop that keeps the GPU busy fetches four bytes, a residual say, with a
 * blocking copy from the default stream into pageable memory. It looks like all that is advised
 * against, but the step's kernel takes milliseconds and the copy microseconds.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 40, 16 << 20}, {true, 3, 1 << 16});
    unsigned long long kernel_ns = p.quick ? 2000000 : 5000000, sum = 0;
    size_t n = p.bytes / sizeof(float);
    float *d_data, residual;

    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    PAIR_CHECK(cudaMemset(d_data, 0, p.bytes));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0) {
            sum = 0;
            pair_begin();
        }
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, 1);
        pair_spin<<<1, 1>>>(kernel_ns);
        PAIR_CHECK(cudaMemcpy(&residual, d_data, sizeof residual, cudaMemcpyDeviceToHost));
        sum += (unsigned long long)residual;
    }
    pair_end(sum, (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_data));
    return 0;
}
