/*
 * Parts of the work go through two streams by turns: fill, upload, kernel, download. Before the CPU
 * fills a stream's buffer again it waits for that stream; but it also waits for the whole device
 * behind each part, so that it never fills one while the other is computed.
 *
 * AFTER: The CPU waits for the streams alone.
 */
#include "../pair.h"

enum { STREAMS = 2, READ = 1024, HOST_NS = 200000 };

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 300, 4 << 20}, {true, 6, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    unsigned long long sum = 0;
    float *sent[STREAMS], *fetched[STREAMS], *d_data[STREAMS];
    cudaStream_t streams[STREAMS];

    for (int i = 0; i < STREAMS; i++) {
        PAIR_CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        PAIR_CHECK(cudaMallocHost(&sent[i], p.bytes));
        PAIR_CHECK(cudaMallocHost(&fetched[i], p.bytes));
        PAIR_CHECK(cudaMalloc(&d_data[i], p.bytes));
        pair_fill(sent[i], n, (unsigned)i);
        pair_fill(fetched[i], n, 0);
    }
    for (long step = -STREAMS; step < p.steps; step++) { /* those before 0 warm up */
        int i = (int)((step + STREAMS) % STREAMS);
        if (step == 0)
            pair_begin();
        PAIR_CHECK(cudaStreamSynchronize(streams[i]));
        sum += pair_host_sum(fetched[i], READ);
        pair_host_work(HOST_NS);
        sent[i][0] = (float)(step + STREAMS);
        PAIR_CHECK(
            cudaMemcpyAsync(d_data[i], sent[i], p.bytes, cudaMemcpyHostToDevice, streams[i]));
        pair_add<<<pair_blocks(n), PAIR_THREADS, 0, streams[i]>>>(d_data[i], n, 1);
        PAIR_CHECK(
            cudaMemcpyAsync(fetched[i], d_data[i], p.bytes, cudaMemcpyDeviceToHost, streams[i]));
#ifndef AFTER
        PAIR_CHECK(cudaDeviceSynchronize());
#endif
    }
    for (int i = 0; i < STREAMS; i++)
        PAIR_CHECK(cudaStreamSynchronize(streams[i]));
    pair_stop();
    for (int i = 0; i < STREAMS; i++) {
        sum += pair_host_sum(fetched[i], READ);
        PAIR_CHECK(cudaFree(d_data[i]));
        PAIR_CHECK(cudaFreeHost(sent[i]));
        PAIR_CHECK(cudaFreeHost(fetched[i]));
    }
    pair_end(sum, (unsigned long long)p.steps * 2);
    return 0;
}
