/*
 * Trap. Four threads each serve a stream of their own: many small steps of a copy to the device and
 * a kernel. They wait for each other in the driver, and each call takes more than twice as long as
 * alone; but together they are faster than one thread would be.
 *
 * AFTER: One thread submits the steps of all four streams in turn, which takes longer.
 */
#include <thread>
#include <vector>

#include "../pair.h"

#ifndef THREADS
#define THREADS 4
#endif

struct worker {
    cudaStream_t stream;
    float *host, *d_in;
};

static void submit(const worker *w, size_t n)
{
    PAIR_CHECK(
        cudaMemcpyAsync(w->d_in, w->host, n * sizeof(float), cudaMemcpyHostToDevice, w->stream));
    pair_add<<<1, PAIR_THREADS, 0, w->stream>>>(w->d_in, n, 1);
}

#ifndef AFTER
static void serve(const worker *w, size_t n, long steps)
{
    for (long step = 0; step < steps; step++)
        submit(w, n);
    PAIR_CHECK(cudaStreamSynchronize(w->stream));
}
#endif

static void serve_all(const std::vector<worker> &workers, size_t n, long steps)
{
#ifdef AFTER
    for (long step = 0; step < steps; step++)
        for (const worker &w : workers)
            submit(&w, n);
    for (const worker &w : workers)
        PAIR_CHECK(cudaStreamSynchronize(w.stream));
#else
    std::vector<std::thread> threads;
    for (const worker &w : workers)
        threads.emplace_back(serve, &w, n, steps);
    for (std::thread &t : threads)
        t.join();
#endif
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 8000, 4 << 10}, {true, 3, 1 << 10});
    size_t n = p.bytes / sizeof(float);
    std::vector<worker> workers(THREADS);
    unsigned long long sum = 0;

    for (worker &w : workers) {
        PAIR_CHECK(cudaStreamCreateWithFlags(&w.stream, cudaStreamNonBlocking));
        PAIR_CHECK(cudaMallocHost(&w.host, p.bytes));
        PAIR_CHECK(cudaMalloc(&w.d_in, p.bytes));
        pair_fill(w.host, n, 0);
    }
    serve_all(workers, n, 10);
    pair_begin();
    serve_all(workers, n, p.steps);
    pair_stop();
    for (worker &w : workers) {
        PAIR_CHECK(cudaMemcpy(w.host, w.d_in, p.bytes, cudaMemcpyDeviceToHost));
        sum += pair_host_sum(w.host, n);
    }
    pair_end(sum, (unsigned long long)THREADS * (unsigned long long)p.steps);
    for (worker &w : workers) {
        PAIR_CHECK(cudaFree(w.d_in));
        PAIR_CHECK(cudaFreeHost(w.host));
        PAIR_CHECK(cudaStreamDestroy(w.stream));
    }
    return 0;
}
