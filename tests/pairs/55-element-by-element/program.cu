/*
 * Between two kernels the host adds up the GPU's numbers: it fetches each, and the sum before it,
 * and sends the sum to its place, as operator[] of a thrust::device_vector does.
 *
 * AFTER: It fetches the numbers with one copy, adds them up in its own memory, and sends the sums
 * with another one.
 */
#include "../pair.h"

enum { SPIN_NS = 100000 };

#ifndef AFTER
static float fetch(const float *from)
{
    float value;

    PAIR_CHECK(cudaMemcpy(&value, from, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

static void send(float *to, float value)
{
    PAIR_CHECK(cudaMemcpy(to, &value, sizeof value, cudaMemcpyHostToDevice));
}

static unsigned long long add_up(const float *d_numbers, float *d_sums, float *, size_t n)
{
    send(&d_sums[0], fetch(&d_numbers[0]));
    for (size_t i = 1; i < n; i++)
        send(&d_sums[i], fetch(&d_numbers[i]) + fetch(&d_sums[i - 1]));
    return 3 * n - 1;
}
#else
static unsigned long long add_up(const float *d_numbers, float *d_sums, float *sums, size_t n)
{
    PAIR_CHECK(cudaMemcpy(sums, d_numbers, n * sizeof *sums, cudaMemcpyDeviceToHost));
    for (size_t i = 1; i < n; i++)
        sums[i] += sums[i - 1];
    PAIR_CHECK(cudaMemcpy(d_sums, sums, n * sizeof *sums, cudaMemcpyHostToDevice));
    return 2;
}
#endif

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 40, 1 << 10}, {true, 4, 1 << 7});
    size_t n = p.bytes / sizeof(float);
    unsigned long long transfers = 0;
    float *d_numbers, *d_sums, *sums = (float *)pair_malloc(p.bytes);

    PAIR_CHECK(cudaMalloc(&d_numbers, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_sums, p.bytes));
    PAIR_CHECK(cudaMemset(d_numbers, 0, p.bytes));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_numbers, n, 1);
        pair_spin<<<1, 1>>>(SPIN_NS);
        unsigned long long made = add_up(d_numbers, d_sums, sums, n);
        transfers += step < 0 ? 0 : made;
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_sums, n, 1);
    }
    pair_stop();
    pair_end(pair_device_sum(d_sums, n), transfers);
    PAIR_CHECK(cudaFree(d_numbers));
    PAIR_CHECK(cudaFree(d_sums));
    free(sums);
    return 0;
}
