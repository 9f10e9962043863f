/*
 * Data goes to and fro between two GPUs, and the program carries it itself: down into page-locked
 * host memory, and up to the other GPU. That takes the link of the host twice, one after the other,
 * where the GPUs have one of their own.
 *
 * AFTER: The GPUs may reach each other's memory, and copy directly; the host only gives the orders.
 */
#include "../pair.h"

enum { CHANGED = 65536 };

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 20, 256 << 20}, {true, 4, 1 << 18});
    size_t n = p.bytes / sizeof(float), changed = n < CHANGED ? n : (size_t)CHANGED;
    unsigned long long sum;
#ifndef AFTER
    float *staged, *d_data[2];
#else
    float *d_data[2];
#endif
    cudaStream_t stream[2];
#ifdef AFTER
    cudaEvent_t arrived[2];
#endif

    pair_gpus(2);
#ifndef AFTER
    PAIR_CHECK(cudaMallocHost(&staged, p.bytes));
#endif
    for (int gpu = 1; gpu >= 0; gpu--) {
        PAIR_CHECK(cudaSetDevice(gpu));
        PAIR_CHECK(cudaMalloc(&d_data[gpu], p.bytes));
        pair_device_fill(d_data[gpu], n);
        PAIR_CHECK(cudaStreamCreateWithFlags(&stream[gpu], cudaStreamNonBlocking));
#ifdef AFTER
        PAIR_CHECK(cudaEventCreateWithFlags(&arrived[gpu], cudaEventDisableTiming));
        PAIR_CHECK(cudaDeviceEnablePeerAccess(1 - gpu, 0));
#endif
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    for (long step = -2; step < p.steps; step++) { /* -2 and -1 warm up */
        int from = (int)(step & 1), to = 1 - from;

        if (step == 0)
            pair_begin();
        PAIR_CHECK(cudaSetDevice(from));
        pair_add<<<pair_blocks(changed), PAIR_THREADS, 0, stream[from]>>>(d_data[from], changed, 1);
#ifndef AFTER
        PAIR_CHECK(
            cudaMemcpyAsync(staged, d_data[from], p.bytes, cudaMemcpyDeviceToHost, stream[from]));
        PAIR_CHECK(cudaStreamSynchronize(stream[from]));
        PAIR_CHECK(cudaSetDevice(to));
        PAIR_CHECK(
            cudaMemcpyAsync(d_data[to], staged, p.bytes, cudaMemcpyHostToDevice, stream[to]));
#else
        PAIR_CHECK(cudaMemcpyPeerAsync(d_data[to], to, d_data[from], from, p.bytes, stream[from]));
        PAIR_CHECK(cudaEventRecord(arrived[from], stream[from]));
        PAIR_CHECK(cudaStreamWaitEvent(stream[to], arrived[from], 0));
#endif
    }
    pair_stop();
    PAIR_CHECK(cudaSetDevice((int)(p.steps & 1)));
    sum = pair_device_sum(d_data[p.steps & 1], n);
#ifndef AFTER
    pair_end(sum, 2 * (unsigned long long)p.steps);
#else
    pair_end(sum, (unsigned long long)p.steps);
#endif
    for (int gpu = 0; gpu < 2; gpu++) {
#ifdef AFTER
        PAIR_CHECK(cudaEventDestroy(arrived[gpu]));
#endif
        PAIR_CHECK(cudaStreamDestroy(stream[gpu]));
        PAIR_CHECK(cudaFree(d_data[gpu]));
    }
#ifndef AFTER
    PAIR_CHECK(cudaFreeHost(staged));
#endif
    return 0;
}
