/*
 * Data goes to and fro between two GPUs, and the program carries it itself: down into page-locked
 * host memory, and up to the other GPU. That takes the link of the host twice, one after the other,
 * where the GPUs have one of their own.
 */
#include "../pair.h"

enum { CHANGED = 65536 };

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 20, 256 << 20}, {true, 4, 1 << 18});
    size_t n = p.bytes / sizeof(float), changed = n < CHANGED ? n : (size_t)CHANGED;
    unsigned long long sum;
    float *staged, *d_data[2];
    cudaStream_t stream[2];

    pair_gpus(2);
    PAIR_CHECK(cudaMallocHost(&staged, p.bytes));
    for (int gpu = 1; gpu >= 0; gpu--) {
        PAIR_CHECK(cudaSetDevice(gpu));
        PAIR_CHECK(cudaMalloc(&d_data[gpu], p.bytes));
        pair_device_fill(d_data[gpu], n);
        PAIR_CHECK(cudaStreamCreateWithFlags(&stream[gpu], cudaStreamNonBlocking));
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    for (long step = -2; step < p.steps; step++) { /* -2 and -1 warm up */
        int from = (int)(step & 1), to = 1 - from;

        if (step == 0)
            pair_begin();
        PAIR_CHECK(cudaSetDevice(from));
        pair_add<<<pair_blocks(changed), PAIR_THREADS, 0, stream[from]>>>(d_data[from], changed, 1);
        PAIR_CHECK(
            cudaMemcpyAsync(staged, d_data[from], p.bytes, cudaMemcpyDeviceToHost, stream[from]));
        PAIR_CHECK(cudaStreamSynchronize(stream[from]));
        PAIR_CHECK(cudaSetDevice(to));
        PAIR_CHECK(
            cudaMemcpyAsync(d_data[to], staged, p.bytes, cudaMemcpyHostToDevice, stream[to]));
    }
    pair_stop();
    PAIR_CHECK(cudaSetDevice((int)(p.steps & 1)));
    sum = pair_device_sum(d_data[p.steps & 1], n);
    pair_end(sum, 2 * (unsigned long long)p.steps);
    for (int gpu = 0; gpu < 2; gpu++) {
        PAIR_CHECK(cudaStreamDestroy(stream[gpu]));
        PAIR_CHECK(cudaFree(d_data[gpu]));
    }
    PAIR_CHECK(cudaFreeHost(staged));
    return 0;
}
