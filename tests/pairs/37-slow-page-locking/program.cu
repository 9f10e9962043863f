/*
 * A program goes through shards of growing sizes. Each comes into a page-locked buffer of its own,
 * which stays for later passes, and goes up from there. The driver allocates these buffers: it
 * finds, clears and locks their pages in one thread.
 *
 * AFTER: The program maps each buffer, has several threads touch it, and page-locks it then.
 */
#include <thread>
#include <vector>

#include <sys/mman.h>

#include "../pair.h"

enum { PAGE = 4096, MOST_THREADS = 8, READ = 4096 };

struct buffer {
    float *data;
    size_t bytes;
};

#ifdef AFTER
static void touch(unsigned char *pages, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        *(volatile unsigned char *)(pages + at) = 0;
}

static void take(buffer *b)
{
    unsigned half = std::thread::hardware_concurrency() / 2;
    unsigned most = MOST_THREADS, threads = half < 1 ? 1 : half > most ? most : half;
    size_t part = b->bytes / threads / PAGE * PAGE;
    void *pages = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::vector<std::thread> team;

    if (pages == MAP_FAILED)
        exit(1);
    madvise(pages, b->bytes, MADV_HUGEPAGE);
    for (unsigned t = 0; t < threads; t++) {
        size_t from = t * part, bytes = t + 1 < threads ? part : b->bytes - from;
        team.emplace_back(touch, (unsigned char *)pages + from, bytes);
    }
    for (std::thread &t : team)
        t.join();
    PAIR_CHECK(cudaHostRegister(pages, b->bytes, cudaHostRegisterDefault));
    b->data = (float *)pages;
}

static void give(buffer *b)
{
    PAIR_CHECK(cudaHostUnregister(b->data));
    munmap(b->data, b->bytes);
}
#else
static void take(buffer *b)
{
    PAIR_CHECK(cudaHostAlloc((void **)&b->data, b->bytes, cudaHostAllocPortable));
}

static void give(buffer *b)
{
    PAIR_CHECK(cudaFreeHost(b->data));
}
#endif

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 5, 32 << 20}, {true, 3, 1 << 20});
    size_t most = p.bytes * (size_t)(p.steps + 1) / 2;
    std::vector<buffer> buffers(p.steps);
    float *d_data;
    double *d_sum, sum = 0;

    PAIR_CHECK(cudaMalloc(&d_data, most));
    PAIR_CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
    PAIR_CHECK(cudaMemset(d_sum, 0, sizeof *d_sum));
    pair_sum<<<1, PAIR_THREADS>>>(d_data, 0, d_sum);
    pair_begin();
    for (long step = 0; step < p.steps; step++) {
        buffer *b = &buffers[step];
        b->bytes = p.bytes * (size_t)(step + 2) / 2;
        take(b);
        pair_fill(b->data, READ, (unsigned)step);
        PAIR_CHECK(cudaMemcpyAsync(d_data, b->data, b->bytes, cudaMemcpyHostToDevice));
        pair_sum<<<pair_blocks(b->bytes / sizeof(float)), PAIR_THREADS>>>(
            d_data, b->bytes / sizeof(float), d_sum);
        PAIR_CHECK(cudaStreamSynchronize(0));
    }
    for (buffer &b : buffers)
        give(&b);
    pair_stop();
    PAIR_CHECK(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost));
    pair_end((unsigned long long)sum, (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_data));
    PAIR_CHECK(cudaFree(d_sum));
    return 0;
}
