/*
 * A simulation that the GPU carries on by itself. Every few steps its field is fetched, and the
 * host takes a histogram of it, which only a report needs; the GPU waits for that.
 *
 * AFTER: Snapshots go to two buffers by turns: the host works on one while the GPU goes on to the
 * next.
 */
#include "../pair.h"

enum {
    STEPS = 8,
    SPIN_NS = 250000,
    QUICK_SPIN_NS = 20000,
    WORK_NS = 1500000,
    QUICK_WORK_NS = 100000
};

static unsigned long long bins[64];

static void take_histogram(const float *field, size_t n, unsigned long long ns)
{
    for (size_t i = 0; i < n; i += 64)
        bins[(unsigned long long)field[i] & 63]++;
    pair_host_work(ns);
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 40, 4 << 20}, {true, 6, 1 << 16});
    const unsigned long long spin = p.quick ? QUICK_SPIN_NS : SPIN_NS;
    const unsigned long long work = p.quick ? QUICK_WORK_NS : WORK_NS;
    size_t n = p.bytes / sizeof(float);
    float *snapshots[2], *d_field;
    cudaEvent_t there[2];
    unsigned long long sum = 0;

    PAIR_CHECK(cudaMalloc(&d_field, p.bytes));
    PAIR_CHECK(cudaMemset(d_field, 0, p.bytes));
    for (int i = 0; i < 2; i++) {
        PAIR_CHECK(cudaMallocHost(&snapshots[i], p.bytes));
        PAIR_CHECK(cudaEventCreateWithFlags(&there[i], cudaEventDisableTiming));
    }
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        for (int i = 0; i < STEPS; i++) {
            pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_field, n, 1);
            pair_spin<<<1, 1>>>(spin);
        }
#ifndef AFTER
        PAIR_CHECK(cudaMemcpy(snapshots[0], d_field, p.bytes, cudaMemcpyDeviceToHost));
        take_histogram(snapshots[0], n, work);
#else
        PAIR_CHECK(cudaMemcpyAsync(snapshots[step & 1], d_field, p.bytes, cudaMemcpyDeviceToHost));
        PAIR_CHECK(cudaEventRecord(there[step & 1]));
        if (step >= 0) {
            PAIR_CHECK(cudaEventSynchronize(there[(step + 1) & 1]));
            take_histogram(snapshots[(step + 1) & 1], n, work);
        }
#endif
    }
#ifdef AFTER
    PAIR_CHECK(cudaEventSynchronize(there[(p.steps - 1) & 1]));
    take_histogram(snapshots[(p.steps - 1) & 1], n, work);
#endif
    pair_stop();
    for (unsigned i = 0; i < 64; i++)
        sum += bins[i] * (i + 1);
    pair_end(sum, (unsigned long long)p.steps);
    for (int i = 0; i < 2; i++) {
        PAIR_CHECK(cudaEventDestroy(there[i]));
        PAIR_CHECK(cudaFreeHost(snapshots[i]));
    }
    PAIR_CHECK(cudaFree(d_field));
    return 0;
}
