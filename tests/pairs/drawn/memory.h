/*
 * Memory that the statements of a drawn program take and give back, page-lock, prefetch and advise.
 */
#ifndef XFERSCOPE_DRAWN_MEMORY_H
#define XFERSCOPE_DRAWN_MEMORY_H

#include "form.h"

#include <sys/mman.h>

#include <thread>
#include <vector>

INLINE void allocate(struct buffer *b)
{
    if (b->locked)
        return;
    b->locked = b->kind == 'h';
    if (b->locked)
        PAIR_CHECK(cudaMallocHost((void **)&b->device, b->bytes));
    else
        PAIR_CHECK(cudaMalloc((void **)&b->device, b->bytes));
    b->host = b->device;
}

INLINE void release(struct buffer *b)
{
    if (!b->locked)
        PAIR_CHECK(cudaFree(b->host));
    else if (!in_rounds) {
        PAIR_CHECK(cudaFreeHost(b->host));
        b->locked = false;
    }
}

INLINE void page_lock(struct buffer *b)
{
    if (!b->locked)
        PAIR_CHECK(cudaHostRegister(b->host, b->bytes, 0));
    b->locked = true;
}

INLINE void page_unlock(struct buffer *b)
{
    if (in_rounds)
        return;
    PAIR_CHECK(cudaHostUnregister(b->host));
    b->locked = false;
}

/* Page-locked memory each time: the driver's, or mapped, touched by threads and page-locked. */

/* What the host does with its memory takes by this table of the simulated GPU's machine. False:
 * there is none, it takes what it takes. */
static bool takes_simulated(const char *table, size_t bytes, unsigned threads)
{
    typedef void host_copy_function(const char *, size_t, unsigned);
    static host_copy_function *simulated =
        (host_copy_function *)pair_simulated("xferscope_simgpu_host_copy");

    if (simulated)
        simulated(table, bytes, threads);
    return simulated != NULL;
}

static void touch(char *pages, size_t bytes, unsigned threads, bool huge)
{
    std::vector<std::thread> team;
    char name[32];

    snprintf(name, sizeof name, huge ? "lock/threads%u/gpu0" : "touch/pages/host", threads);
    if (takes_simulated(name, bytes, threads))
        return;
    for (unsigned t = 0; t < threads; t++)
        team.emplace_back([=] {
            for (size_t at = bytes * t / threads; at < bytes * (t + 1) / threads; at += PAGE)
                *(volatile char *)(pages + at) = 0;
        });
    for (std::thread &t : team)
        t.join();
}

INLINE void take(struct buffer *b, unsigned threads, bool huge)
{
    void *pages;

    if (threads == 0) {
        PAIR_CHECK(cudaMallocHost((void **)&b->device, b->bytes));
        b->host = b->device;
        return;
    }
    pages = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    madvise(pages, b->bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    touch((char *)pages, b->bytes, threads, huge);
    PAIR_CHECK(cudaHostRegister(pages, b->bytes, 0));
    b->host = b->device = (char *)pages;
}

INLINE void give(struct buffer *b, unsigned threads)
{
    if (threads == 0) {
        PAIR_CHECK(cudaFreeHost(b->host));
        return;
    }
    PAIR_CHECK(cudaHostUnregister(b->host));
    munmap(b->host, b->bytes);
}

INLINE void prefetch(const struct statement *s)
{
    struct buffer *b = &now->buffers[N(0)];
#if CUDART_VERSION >= 13000
    struct cudaMemLocation place = {N(1) ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost, 0};
    PAIR_CHECK(cudaMemPrefetchAsync(b->host, b->bytes, place, 0, now->streams[N(2)]));
#else
    PAIR_CHECK(
        cudaMemPrefetchAsync(b->host, b->bytes, N(1) ? 0 : cudaCpuDeviceId, now->streams[N(2)]));
#endif
}

/* buffer, advice, of the device or the host */
INLINE void advise(const struct statement *s)
{
    struct buffer *b = &now->buffers[N(0)];
    cudaMemoryAdvise advice = (cudaMemoryAdvise)N(1);
#if CUDART_VERSION >= 13000
    struct cudaMemLocation place = {N(2) ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost, 0};
    PAIR_CHECK(cudaMemAdvise(b->host, b->bytes, advice, place));
#else
    PAIR_CHECK(cudaMemAdvise(b->host, b->bytes, advice, N(2) ? 0 : cudaCpuDeviceId));
#endif
}

/* Pageable memory that is new each time, of ordinary pages. */

INLINE void map_anew(struct buffer *b)
{
    void *pages = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    madvise(pages, b->bytes, MADV_NOHUGEPAGE);
    b->host = b->device = (char *)pages;
}

INLINE void unmap(struct buffer *b)
{
    takes_simulated("release/pages/host", b->bytes, 1); /* its pages are there */
    munmap(b->host, b->bytes);
    b->host = b->device = NULL;
}

#endif
