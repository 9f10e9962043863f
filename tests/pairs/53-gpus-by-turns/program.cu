/*
 * Two GPUs add up numbers that come as text. The host reads them out of it, into one of two
 * page-locked buffers of the GPU, and sends them; nothing waits but for a buffer that is still
 * being sent. One loop does that for both GPUs in turn: while it reads for one, the other has long
 * added up what it was sent.
 *
 * AFTER: Each GPU has a thread of the host, which does the same for it alone.
 */
#include "../pair.h"

#include <thread>
#include <vector>

enum { GPUS = 2, BUFFERS = 2, DIGITS = 4 };

struct server {
    int gpu;
    cudaStream_t stream;
    cudaEvent_t sent[BUFFERS];
    float *numbers[BUFFERS], *d_numbers;
    double *d_sum;
};

/* Of n numbers, of so many digits each. */
static std::vector<char> write_text(size_t n)
{
    std::vector<char> text(n * DIGITS);

    for (size_t i = 0; i < n; i++)
        for (unsigned k = DIGITS, rest = (unsigned)(i * 7919u % 10000u); k-- > 0; rest /= 10)
            text[i * DIGITS + k] = (char)('0' + rest % 10);
    return text;
}

static void read_text(const char *text, float *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned number = 0;
        for (unsigned k = 0; k < DIGITS; k++)
            number = number * 10 + (unsigned)(text[i * DIGITS + k] - '0');
        numbers[i] = (float)number;
    }
    pair_touch(numbers, n * sizeof *numbers, true);
    pair_host_work(20000); /* what little checks it takes */
}

static void serve(const struct server *s, const char *text, size_t bytes, long step)
{
    size_t n = bytes / sizeof(float);
    long at = step % BUFFERS;

    PAIR_CHECK(cudaSetDevice(s->gpu));
    PAIR_CHECK(cudaEventSynchronize(s->sent[at]));
    read_text(text + (step * GPUS + s->gpu) * DIGITS, s->numbers[at], n);
    PAIR_CHECK(
        cudaMemcpyAsync(s->d_numbers, s->numbers[at], bytes, cudaMemcpyHostToDevice, s->stream));
    PAIR_CHECK(cudaEventRecord(s->sent[at], s->stream));
    pair_sum<<<pair_blocks(n), PAIR_THREADS, 0, s->stream>>>(s->d_numbers, n, s->d_sum);
}

/* Steps `first` to last - 1. */
static void serve_all(const struct server *servers, const char *text, size_t bytes, long first,
                      long last)
{
#ifndef AFTER
    for (long step = first; step < last; step++)
        for (int gpu = 0; gpu < GPUS; gpu++)
            serve(&servers[gpu], text, bytes, step);
#else
    std::vector<std::thread> threads;

    for (int gpu = 0; gpu < GPUS; gpu++)
        threads.emplace_back([=] {
            for (long step = first; step < last; step++)
                serve(&servers[gpu], text, bytes, step);
        });
    for (std::thread &thread : threads)
        thread.join();
#endif
}

static void begin(struct server *s, int gpu, size_t bytes)
{
    s->gpu = gpu;
    PAIR_CHECK(cudaSetDevice(gpu));
    PAIR_CHECK(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    for (int i = 0; i < BUFFERS; i++) {
        PAIR_CHECK(cudaEventCreateWithFlags(&s->sent[i], cudaEventDisableTiming));
        PAIR_CHECK(cudaMallocHost(&s->numbers[i], bytes));
    }
    PAIR_CHECK(cudaMalloc(&s->d_numbers, bytes));
    s->d_sum = pair_new_sum();
}

static unsigned long long end(struct server *s)
{
    PAIR_CHECK(cudaSetDevice(s->gpu));
    unsigned long long sum = pair_take_sum(s->d_sum);
    for (int i = 0; i < BUFFERS; i++) {
        PAIR_CHECK(cudaEventDestroy(s->sent[i]));
        PAIR_CHECK(cudaFreeHost(s->numbers[i]));
    }
    PAIR_CHECK(cudaFree(s->d_numbers));
    PAIR_CHECK(cudaStreamDestroy(s->stream));
    return sum;
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 100, 1 << 20}, {true, 6, 1 << 14});
    size_t parts = (size_t)(p.steps + BUFFERS) * GPUS; /* each begins a number behind the last */
    const std::vector<char> text = write_text(p.bytes / sizeof(float) + parts);
    struct server servers[GPUS];
    unsigned long long sum = 0;

    pair_gpus(GPUS);
    for (int gpu = 0; gpu < GPUS; gpu++)
        begin(&servers[gpu], gpu, p.bytes);
    serve_all(servers, text.data(), p.bytes, p.steps, p.steps + BUFFERS); /* warms up */
    pair_begin();
    serve_all(servers, text.data(), p.bytes, 0, p.steps);
    pair_stop();
    for (int gpu = 0; gpu < GPUS; gpu++)
        sum += end(&servers[gpu]);
    pair_end(sum, GPUS * (unsigned long long)p.steps);
    return 0;
}
