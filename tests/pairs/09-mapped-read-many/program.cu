/*
 * A kernel reads an array eight times over, and the array is mapped host memory: every pass goes
 * over the link again, since the GPU keeps no copy of it.
 *
 * AFTER: The array is copied to the GPU once in each step, and the kernel reads it there.
 */
#include "../pair.h"

enum { PASSES = 8 };

/* Each pass starts elsewhere and has a weight of its own, so that all of them have to be made. */
extern "C" __global__ void read_many(const float *data, size_t n, double *sum)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    double own = 0;

    for (int pass = 0; pass < PASSES; pass++) {
        size_t shift = n / PASSES * pass;
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride) {
            size_t at = i + shift;
            own += (pass + 1) * data[at < n ? at : at - n];
        }
    }
    for (int lane = 16; lane > 0; lane /= 2)
        own += __shfl_down_sync(0xffffffffu, own, lane);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, own);
}

PAIR_TWIN(read_many, 8, 8, 8)
{
    const float *data = *(const float **)args[0];
    size_t n = *(size_t *)args[1];

    for (int pass = 0; pass < PASSES; pass++) {
        pair_touch(data, n * sizeof *data, false);
        for (size_t i = 0; i < n; i++)
            **(double **)args[2] += (pass + 1) * data[i];
    }
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 12, 64 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *data, *d_data;
    double *d_sum, sum;

#ifndef AFTER
    PAIR_CHECK(cudaHostAlloc(&data, p.bytes, cudaHostAllocMapped));
    PAIR_CHECK(cudaHostGetDevicePointer(&d_data, data, 0));
#else
    PAIR_CHECK(cudaMallocHost(&data, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
#endif
    PAIR_CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
    pair_fill(data, n, 0);
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0) {
            PAIR_CHECK(cudaMemset(d_sum, 0, sizeof *d_sum));
            pair_begin();
        }
        data[0] = (float)(step + 2); /* the CPU changes something */
#ifdef AFTER
        PAIR_CHECK(cudaMemcpyAsync(d_data, data, p.bytes, cudaMemcpyHostToDevice));
#endif
        read_many<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, d_sum);
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    pair_stop();
    PAIR_CHECK(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost));
#ifndef AFTER
    pair_end((unsigned long long)sum, 0);
#else
    pair_end((unsigned long long)sum, (unsigned long long)p.steps);
#endif
    PAIR_CHECK(cudaFree(d_sum));
#ifdef AFTER
    PAIR_CHECK(cudaFree(d_data));
#endif
    PAIR_CHECK(cudaFreeHost(data));
    return 0;
}
