/*
 * What the statements of a drawn program share: the form that is played, its buffers and what they
 * contain, and the host's work on these. One .cu file includes this, once (statements.h).
 */
#ifndef XFERSCOPE_DRAWN_FORM_H
#define XFERSCOPE_DRAWN_FORM_H

#include "../pair.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

struct buffer {
    char kind; /* d device, e that of GPU 1, p pinned, g pageable, m mapped, u managed, allocated
                  later: l device, h pinned, v pinned by the driver, or by hand, w new pageable
                  pages */
    size_t bytes;
    char *host, *device; /* the same but of mapped memory */
    bool locked;         /* by a statement */
    unsigned long long fills;
};

struct statement {
    char what;
    int site;
    unsigned long long number[8];
};

/* What a function of the host that a stream calls has to do, or a thread of the program's own. */
struct job {
    unsigned long long ns;
    size_t read;               /* buffer + 1; 0: none */
    bool done;                 /* by the thread */
    unsigned long long end_ns; /* the same on the simulated GPU */
};

/* What threads wait for that another one does. */
struct semaphore {
    std::mutex lock;
    std::condition_variable changed;
    unsigned count, simulated; /* the same twice: the simulated GPU counts for itself */
};

struct form { /* of a program: what one schedule declares */
    std::vector<struct buffer> buffers;
    std::vector<cudaStream_t> streams;
    std::vector<cudaEvent_t> events;
    std::vector<cudaGraphExec_t> graphs;
    std::deque<struct job> jobs;                         /* they stay where they are */
    std::deque<struct semaphore> semaphores;             /* the same */
    bool sleeps;                                         /* between queries, or for a time */
    std::vector<struct statement> before;                /* once, by main */
    std::vector<std::vector<struct statement>> programs; /* by thread; the first is main's */
};

enum { PAGE = 4096 };
static struct form *now; /* the one that is loaded or played */
static bool in_rounds;   /* it is played more than once */
static bool sums;        /* what is read is added up as a whole */
static std::atomic<unsigned long long> copies, sum;

#define INLINE static inline __attribute__((always_inline))
#define N(i) s->number[i]

/* ---- contents -------------------------------------------------------------------------------- */

#define MIXED 0x9e3779b97f4a7c15ull

/* Of all bytes, or of a word of each page. */
static unsigned long long sum_of(const char *data, size_t n, bool all)
{
    const unsigned long long *words = (const unsigned long long *)data;
    const size_t count = n / sizeof *words, step = all ? 1 : PAGE / sizeof *words;
    unsigned long long of = n;

    for (size_t i = 0; i < count; i += step)
        of = (of ^ words[i]) * MIXED + (of >> 29);
    return of;
}

static bool is_in(const char *data, const struct buffer *b)
{
    return (data >= b->host && data < b->host + b->bytes) ||
           (data >= b->device && data < b->device + b->bytes);
}

/* What a kernel leaves differs from launch to launch, as what a fill leaves does; it depends on
 * what the kernel was given, and not on what other threads do meanwhile. */
static void scramble(char *data, size_t n, unsigned long long of)
{
    unsigned long long *words = (unsigned long long *)data;
    size_t at = 0, count = now ? now->buffers.size() : 0;

    while (at < count && !is_in(data, &now->buffers[at]))
        at++;
    of += (at + 1) << 40;
    if (at < count)
        of += ++now->buffers[at].fills;
    for (size_t i = 0; i < n / sizeof *words; i++)
        words[i] = (i + of) * MIXED;
    pair_touch(data, n, true);
}

/* ---- the host's work ------------------------------------------------------------------------- */

/* Of what it reads the host looks at a byte; of managed memory at a word of each page, which it has
 * to come back for, as the simulated GPU believes of all that is read. */
static unsigned long long looked_at(const struct buffer *b)
{
    if (sums || b->kind == 'u')
        return sum_of(b->host, b->bytes, sums);
    return (unsigned char)b->host[0];
}

/* ns, buffer + 1, how much of it; 0: all. */
INLINE void host_work(const struct statement *s, bool write)
{
    if (N(1) && write)
        scramble(now->buffers[N(1) - 1].host, N(2) ? N(2) : now->buffers[N(1) - 1].bytes, 0);
    else if (N(1)) {
        pair_touch(now->buffers[N(1) - 1].host, now->buffers[N(1) - 1].bytes, false);
        sum += looked_at(&now->buffers[N(1) - 1]);
    }
    if (N(0))
        pair_host_work(N(0));
}

#endif
