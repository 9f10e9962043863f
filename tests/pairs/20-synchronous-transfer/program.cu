/*
 * Each step the CPU works for 0.4 ms on the next input and uploads it with cudaMemcpy. It has two
 * page-locked buffers in turn, and could go on with the next one, but stands still until the copy
 * is done.
 *
 * AFTER: The copy is asynchronous: the CPU waits only before it writes a buffer again, and by then
 * the copy is long done.
 */
#include "../pair.h"

enum { WRITTEN = 1024, HOST_NS = 400000 };

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 150, 16 << 20}, {true, 4, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *input[2], *d_input[2];
#ifdef AFTER
    cudaEvent_t sent[2];
#endif
    double *d_sum = pair_new_sum();

    for (int i = 0; i < 2; i++) {
        PAIR_CHECK(cudaMallocHost(&input[i], p.bytes));
        pair_fill(input[i], n, (unsigned)i);
        PAIR_CHECK(cudaMalloc(&d_input[i], p.bytes));
#ifdef AFTER
        PAIR_CHECK(cudaEventCreateWithFlags(&sent[i], cudaEventDisableTiming));
#endif
    }
    for (long step = -2; step < p.steps; step++) { /* -2 and -1 warm up */
        int i = (int)(step & 1);

        if (step == 0)
            pair_begin();
        pair_host_work(HOST_NS);
#ifdef AFTER
        PAIR_CHECK(cudaEventSynchronize(sent[i]));
#endif
        pair_fill(input[i], WRITTEN, (unsigned)step);
#ifndef AFTER
        PAIR_CHECK(cudaMemcpy(d_input[i], input[i], p.bytes, cudaMemcpyHostToDevice));
#else
        PAIR_CHECK(cudaMemcpyAsync(d_input[i], input[i], p.bytes, cudaMemcpyHostToDevice));
        PAIR_CHECK(cudaEventRecord(sent[i]));
#endif
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_input[i], n, d_sum);
    }
    pair_stop();
    pair_end(pair_take_sum(d_sum), (unsigned long long)p.steps);
    for (int i = 0; i < 2; i++) {
#ifdef AFTER
        PAIR_CHECK(cudaEventDestroy(sent[i]));
#endif
        PAIR_CHECK(cudaFree(d_input[i]));
        PAIR_CHECK(cudaFreeHost(input[i]));
    }
    return 0;
}
