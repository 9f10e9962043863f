/*
 * Each step a new batch is needed twice on the GPU, once as it is and once to be changed in place,
 * and it is sent twice. Uploads and kernels of two batches overlap, so that the link is busy all
 * the time: half of that time with bytes that the GPU has.
 *
 * The batches lie in page-locked memory from the start, as a data set that fits into it.
 *
 * AFTER: Each batch is sent once; the second buffer gets it from the first one, on the device.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 120, 16 << 20}, {true, 4, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *batches, *d_batch[2], *d_changed[2];
    cudaStream_t stream[2];
    double *d_sum = pair_new_sum();

    PAIR_CHECK(cudaMallocHost(&batches, (size_t)p.steps * p.bytes));
    for (long step = 0; step < p.steps; step++)
        pair_fill(batches + (size_t)step * n, n, (unsigned)step);
    for (int i = 0; i < 2; i++) {
        PAIR_CHECK(cudaMalloc(&d_batch[i], p.bytes));
        PAIR_CHECK(cudaMalloc(&d_changed[i], p.bytes));
        PAIR_CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
    }
    for (long step = -2; step < p.steps; step++) { /* -2 and -1 warm up */
        const float *batch = batches + (size_t)(step < 0 ? 0 : step) * n;
        int i = (int)(step & 1);

        if (step == 0)
            pair_begin();
        PAIR_CHECK(cudaMemcpyAsync(d_batch[i], batch, p.bytes, cudaMemcpyHostToDevice, stream[i]));
#ifndef AFTER
        PAIR_CHECK(
            cudaMemcpyAsync(d_changed[i], batch, p.bytes, cudaMemcpyHostToDevice, stream[i]));
#else
        PAIR_CHECK(cudaMemcpyAsync(d_changed[i], d_batch[i], p.bytes, cudaMemcpyDeviceToDevice,
                                   stream[i]));
#endif
        pair_add<<<pair_blocks(n), PAIR_THREADS, 0, stream[i]>>>(d_changed[i], n, 1);
        pair_sum<<<pair_blocks(n), PAIR_THREADS, 0, stream[i]>>>(d_changed[i], n, d_sum);
        pair_sum<<<pair_blocks(n), PAIR_THREADS, 0, stream[i]>>>(d_batch[i], n, d_sum);
    }
    pair_stop();
    pair_end(pair_take_sum(d_sum), 2 * (unsigned long long)p.steps);
    for (int i = 0; i < 2; i++) {
        PAIR_CHECK(cudaStreamDestroy(stream[i]));
        PAIR_CHECK(cudaFree(d_changed[i]));
        PAIR_CHECK(cudaFree(d_batch[i]));
    }
    PAIR_CHECK(cudaFreeHost(batches));
    return 0;
}
