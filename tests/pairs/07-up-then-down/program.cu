/*
 * Each step uploads the next input and downloads the last output, one after the other in one
 * stream. The two have nothing to do with each other, and the link carries both directions at once;
 * here one of them is always idle.
 *
 * AFTER: Upload and download go through a stream each and use both directions of the link at once.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 100, 32 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *input, *output, *d_input, *d_output;
    double *d_sum, sum;
#ifndef AFTER
    cudaStream_t stream;
#else
    cudaStream_t up, down;
#endif

#ifndef AFTER
    PAIR_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#else
    PAIR_CHECK(cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking));
    PAIR_CHECK(cudaStreamCreateWithFlags(&down, cudaStreamNonBlocking));
#endif
    PAIR_CHECK(cudaMallocHost(&input, p.bytes));
    PAIR_CHECK(cudaMallocHost(&output, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_input, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_output, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
    PAIR_CHECK(cudaMemset(d_sum, 0, sizeof *d_sum));
    PAIR_CHECK(cudaMemset(d_output, 0, p.bytes));
    pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_output, n, 1);
    pair_fill(input, n, 0);
    PAIR_CHECK(cudaDeviceSynchronize());
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        input[0] = (float)(step + 2); /* the CPU changes something */
#ifndef AFTER
        PAIR_CHECK(cudaMemcpyAsync(d_input, input, p.bytes, cudaMemcpyHostToDevice, stream));
        PAIR_CHECK(cudaMemcpyAsync(output, d_output, p.bytes, cudaMemcpyDeviceToHost, stream));
#else
        PAIR_CHECK(cudaMemcpyAsync(d_input, input, p.bytes, cudaMemcpyHostToDevice, up));
        PAIR_CHECK(cudaMemcpyAsync(output, d_output, p.bytes, cudaMemcpyDeviceToHost, down));
#endif
        PAIR_CHECK(cudaDeviceSynchronize());
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_input, n, d_sum);
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_output, n, 1);
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    pair_stop();
    PAIR_CHECK(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost));
    pair_end((unsigned long long)sum + pair_host_sum(output, n), 2 * (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_sum));
    PAIR_CHECK(cudaFree(d_output));
    PAIR_CHECK(cudaFree(d_input));
    PAIR_CHECK(cudaFreeHost(output));
    PAIR_CHECK(cudaFreeHost(input));
    return 0;
}
