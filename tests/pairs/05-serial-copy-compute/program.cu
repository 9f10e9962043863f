/*
 * Each step brings every part of an array to the GPU, computes on it and brings it back, one after
 * the other in one stream. The parts do not depend on each other, but of the two copy engines and
 * the multiprocessors two always wait for the third.
 *
 * AFTER: The parts go through four streams: while one computes, others come and go.
 */
#include "../pair.h"

#ifndef AFTER
enum { PARTS = 8 };
#else
enum { PARTS = 8, STREAMS = 4 };
#endif

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 40, 64 << 20}, {true, 2, 1 << 16});
    unsigned long long kernel_ns = p.quick ? 10000 : 120000;
    size_t part_bytes = p.bytes / PARTS, part_n = part_bytes / sizeof(float);
    float *data, *d_data;
#ifndef AFTER
    cudaStream_t stream;
#else
    cudaStream_t streams[STREAMS];
#endif

#ifndef AFTER
    PAIR_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#else
    for (int i = 0; i < STREAMS; i++)
        PAIR_CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
#endif
    PAIR_CHECK(cudaMallocHost(&data, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    pair_fill(data, PARTS * part_n, 0);
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        for (int part = 0; part < PARTS; part++) {
            float *host = data + part * part_n, *device = d_data + part * part_n;
#ifdef AFTER
            cudaStream_t stream = streams[part % STREAMS];
#endif
            PAIR_CHECK(cudaMemcpyAsync(device, host, part_bytes, cudaMemcpyHostToDevice, stream));
            pair_add<<<pair_blocks(part_n), PAIR_THREADS, 0, stream>>>(device, part_n, 1);
            pair_spin<<<1, 1, 0, stream>>>(kernel_ns);
            PAIR_CHECK(cudaMemcpyAsync(host, device, part_bytes, cudaMemcpyDeviceToHost, stream));
        }
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    pair_stop();
    pair_end(pair_host_sum(data, PARTS * part_n), (unsigned long long)p.steps * PARTS * 2);
    PAIR_CHECK(cudaFree(d_data));
    PAIR_CHECK(cudaFreeHost(data));
    return 0;
}
