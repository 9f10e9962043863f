/*
 * The GPUs may reach each other's memory, and copy directly; the host only gives the orders.
 */
#include "../pair.h"

enum { CHANGED = 65536 };

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 20, 256 << 20}, {true, 4, 1 << 18});
    size_t n = p.bytes / sizeof(float), changed = n < CHANGED ? n : (size_t)CHANGED;
    unsigned long long sum;
    float *d_data[2];
    cudaStream_t stream[2];
    cudaEvent_t arrived[2];

    pair_gpus(2);
    for (int gpu = 1; gpu >= 0; gpu--) {
        PAIR_CHECK(cudaSetDevice(gpu));
        PAIR_CHECK(cudaMalloc(&d_data[gpu], p.bytes));
        pair_device_fill(d_data[gpu], n);
        PAIR_CHECK(cudaStreamCreateWithFlags(&stream[gpu], cudaStreamNonBlocking));
        PAIR_CHECK(cudaEventCreateWithFlags(&arrived[gpu], cudaEventDisableTiming));
        PAIR_CHECK(cudaDeviceEnablePeerAccess(1 - gpu, 0));
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    for (long step = -2; step < p.steps; step++) { /* -2 and -1 warm up */
        int from = (int)(step & 1), to = 1 - from;

        if (step == 0)
            pair_begin();
        PAIR_CHECK(cudaSetDevice(from));
        pair_add<<<pair_blocks(changed), PAIR_THREADS, 0, stream[from]>>>(d_data[from], changed, 1);
        PAIR_CHECK(cudaMemcpyPeerAsync(d_data[to], to, d_data[from], from, p.bytes, stream[from]));
        PAIR_CHECK(cudaEventRecord(arrived[from], stream[from]));
        PAIR_CHECK(cudaStreamWaitEvent(stream[to], arrived[from], 0));
    }
    pair_stop();
    PAIR_CHECK(cudaSetDevice((int)(p.steps & 1)));
    sum = pair_device_sum(d_data[p.steps & 1], n);
    pair_end(sum, (unsigned long long)p.steps);
    for (int gpu = 0; gpu < 2; gpu++) {
        PAIR_CHECK(cudaEventDestroy(arrived[gpu]));
        PAIR_CHECK(cudaStreamDestroy(stream[gpu]));
        PAIR_CHECK(cudaFree(d_data[gpu]));
    }
    return 0;
}
