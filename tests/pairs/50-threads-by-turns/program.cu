/*
 * Four threads filter blocks of data, each with a stream and buffers of its own, and add what comes
 * out to one total. The mutex that protects the total is held from the first copy on, over the
 * kernels and the wait, so that the GPU has the work of one thread at a time.
 *
 * AFTER: A thread holds the mutex only while it adds to the total.
 */
#include "../pair.h"

#include <mutex>
#include <thread>
#include <vector>

enum { THREADS = 4 };
static const unsigned long long FILTER_NS = 150000;

static struct {
    std::mutex lock;
    unsigned long long sum, blocks;
} total;

struct worker {
    unsigned number;
    cudaStream_t stream;
    float *block, *d_block;
};

static void filter(const struct worker *w, size_t bytes)
{
    size_t n = bytes / sizeof(float);

    PAIR_CHECK(cudaMemcpyAsync(w->d_block, w->block, bytes, cudaMemcpyHostToDevice, w->stream));
    pair_spin<<<1, 1, 0, w->stream>>>(FILTER_NS);
    pair_add<<<pair_blocks(n), PAIR_THREADS, 0, w->stream>>>(w->d_block, n, 1);
    PAIR_CHECK(cudaMemcpyAsync(w->block, w->d_block, bytes, cudaMemcpyDeviceToHost, w->stream));
    PAIR_CHECK(cudaStreamSynchronize(w->stream));
}

static void work(const struct worker *w, long steps, size_t bytes)
{
    for (long step = 0; step < steps; step++) {
        pair_fill(w->block, bytes / sizeof(float), (unsigned)step * THREADS + w->number);
#ifndef AFTER
        std::lock_guard<std::mutex> held(total.lock);
        filter(w, bytes);
#else
        filter(w, bytes);
        std::lock_guard<std::mutex> held(total.lock);
#endif
        total.sum += (unsigned)w->block[step % 64];
        total.blocks++;
    }
}

static void work_together(const struct worker *workers, long steps, size_t bytes)
{
    std::vector<std::thread> threads;

    for (int i = 0; i < THREADS; i++)
        threads.emplace_back(work, &workers[i], steps, bytes);
    for (std::thread &thread : threads)
        thread.join();
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 150, 256 << 10}, {true, 4, 1 << 14});
    struct worker workers[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].number = i;
        PAIR_CHECK(cudaStreamCreate(&workers[i].stream));
        PAIR_CHECK(cudaMallocHost(&workers[i].block, p.bytes));
        PAIR_CHECK(cudaMalloc(&workers[i].d_block, p.bytes));
    }
    work_together(workers, 1, p.bytes); /* warms up */
    total.sum = total.blocks = 0;
    pair_begin();
    work_together(workers, p.steps, p.bytes);
    pair_end(total.sum, 2 * total.blocks);
    for (const struct worker &w : workers) {
        PAIR_CHECK(cudaFree(w.d_block));
        PAIR_CHECK(cudaFreeHost(w.block));
        PAIR_CHECK(cudaStreamDestroy(w.stream));
    }
    return 0;
}
