/*
 * Parts of the work go through three streams by turns: upload, kernel, download. Before each part
 * its counters are cleared with cudaMemset(), which goes to the legacy default stream: it waits for
 * all that the three were given, and they wait for it, so that no copy runs beside a kernel.
 *
 * AFTER: Each part's stream clears its counters.
 */
#include "../pair.h"

enum { STREAMS = 3, READ = 1024, COUNTERS = 4096, KERNEL_NS = 80000 };

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 600, 4 << 20}, {true, 12, 1 << 18});
    size_t n = p.bytes / sizeof(float);
    unsigned long long sum = 0;
    float *sent[STREAMS], *fetched[STREAMS], *d_data[STREAMS];
    int *d_counters[STREAMS];
    cudaStream_t streams[STREAMS];

    for (int i = 0; i < STREAMS; i++) {
        PAIR_CHECK(cudaStreamCreate(&streams[i]));
        PAIR_CHECK(cudaMallocHost(&sent[i], p.bytes));
        PAIR_CHECK(cudaMallocHost(&fetched[i], p.bytes));
        PAIR_CHECK(cudaMalloc(&d_data[i], p.bytes));
        PAIR_CHECK(cudaMalloc(&d_counters[i], COUNTERS));
        pair_fill(sent[i], n, (unsigned)i);
        pair_fill(fetched[i], n, 0);
    }
    for (long step = -STREAMS; step < p.steps; step++) { /* those before 0 warm up */
        int i = (int)((step + STREAMS) % STREAMS);
        if (step == 0)
            pair_begin();
        PAIR_CHECK(cudaStreamSynchronize(streams[i]));
        sum += pair_host_sum(fetched[i], READ);
        sent[i][0] = (float)(step + STREAMS);
#ifdef AFTER
        PAIR_CHECK(cudaMemsetAsync(d_counters[i], 0, COUNTERS, streams[i]));
#else
        PAIR_CHECK(cudaMemset(d_counters[i], 0, COUNTERS));
#endif
        PAIR_CHECK(
            cudaMemcpyAsync(d_data[i], sent[i], p.bytes, cudaMemcpyHostToDevice, streams[i]));
        pair_add<<<pair_blocks(n), PAIR_THREADS, 0, streams[i]>>>(d_data[i], n, 1);
        pair_spin<<<1, 1, 0, streams[i]>>>(KERNEL_NS);
        PAIR_CHECK(
            cudaMemcpyAsync(fetched[i], d_data[i], p.bytes, cudaMemcpyDeviceToHost, streams[i]));
    }
    for (int i = 0; i < STREAMS; i++)
        PAIR_CHECK(cudaStreamSynchronize(streams[i]));
    pair_stop();
    for (int i = 0; i < STREAMS; i++) {
        sum += pair_host_sum(fetched[i], READ);
        PAIR_CHECK(cudaFree(d_data[i]));
        PAIR_CHECK(cudaFree(d_counters[i]));
        PAIR_CHECK(cudaFreeHost(sent[i]));
        PAIR_CHECK(cudaFreeHost(fetched[i]));
    }
    pair_end(sum, (unsigned long long)p.steps * 2);
    return 0;
}
