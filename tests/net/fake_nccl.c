/*
 * An NCCL for tests: ranks of one machine, with simulated GPUs, whose memory the host can read.
 * They meet in shared memory. XFERSCOPE_FAKE_NCCL: "wrong" gives a wrong element, "refuse" does not
 * start.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

enum { MOST_RANKS = 4, ROOM = 1 << 20 };

struct id {
    char bytes[128];
};

struct meeting {
    atomic_int arrived, round;
    unsigned char given[MOST_RANKS][ROOM];
};

struct comm {
    struct meeting *at;
    int rank, count;
};

static struct {
    const void *src;
    void *dst;
    size_t bytes;
    int from;
} grouped;

static int is_asked_to(const char *what)
{
    const char *said = getenv("XFERSCOPE_FAKE_NCCL");

    return said && !strcmp(said, what);
}

static void meet(struct comm *c)
{
    int round = atomic_load(&c->at->round);

    if (atomic_fetch_add(&c->at->arrived, 1) + 1 == c->count) {
        atomic_store(&c->at->arrived, 0);
        atomic_fetch_add(&c->at->round, 1);
        return;
    }
    while (atomic_load(&c->at->round) == round)
        sched_yield();
}

static void give(struct comm *c, const void *src, size_t bytes)
{
    memcpy(c->at->given[c->rank], src, bytes);
    meet(c);
}

SHOWN int ncclGetVersion(int *version);
SHOWN int ncclGetUniqueId(struct id *id);
SHOWN int ncclCommInitRank(void **comm, int count, struct id id, int rank);
SHOWN int ncclCommDestroy(void *comm);
SHOWN int ncclAllReduce(const void *src, void *dst, size_t n, int type, int op, void *comm,
                        void *s);
SHOWN int ncclAllGather(const void *src, void *dst, size_t n, int type, void *comm, void *s);
SHOWN int ncclReduceScatter(const void *src, void *dst, size_t n, int type, int op, void *comm,
                            void *s);
SHOWN int ncclSend(const void *src, size_t n, int type, int peer, void *comm, void *s);
SHOWN int ncclRecv(void *dst, size_t n, int type, int peer, void *comm, void *s);
SHOWN int ncclGroupStart(void);
SHOWN int ncclGroupEnd(void);

int ncclGetVersion(int *version)
{
    *version = 22803;
    return 0;
}

int ncclGetUniqueId(struct id *id)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(id->bytes, sizeof(id->bytes), "/fake-nccl-%d-%ld", (int)getpid(), now.tv_nsec);
    return 0;
}

int ncclCommInitRank(void **comm, int count, struct id id, int rank)
{
    struct comm *c = calloc(1, sizeof(*c));
    int fd = shm_open(id.bytes, O_RDWR | O_CREAT, 0600);

    if (is_asked_to("refuse") || !c || fd < 0 || count > MOST_RANKS ||
        ftruncate(fd, sizeof(*c->at)))
        return 5;
    c->at = mmap(NULL, sizeof(*c->at), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    c->rank = rank;
    c->count = count;
    *comm = c;
    meet(c);
    shm_unlink(id.bytes);
    return 0;
}

int ncclCommDestroy(void *comm)
{
    free(comm);
    return 0;
}

static void add_up(struct comm *c, float *dst, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dst[i] = 0;
        for (int r = 0; r < c->count; r++)
            dst[i] += ((const float *)(const void *)c->at->given[r])[first + i];
    }
    if (is_asked_to("wrong") && c->rank == 1)
        dst[n - 1] += 1;
    meet(c);
}

int ncclAllReduce(const void *src, void *dst, size_t n, int type, int op, void *comm, void *s)
{
    give(comm, src, n * sizeof(float));
    add_up(comm, dst, 0, n);
    return type == 7 && op == 0 ? 0 : 4;
}

int ncclAllGather(const void *src, void *dst, size_t n, int type, void *comm, void *s)
{
    struct comm *c = comm;

    give(c, src, n * sizeof(float));
    for (int r = 0; r < c->count; r++)
        memcpy((float *)dst + (size_t)r * n, c->at->given[r], n * sizeof(float));
    meet(c);
    return 0;
}

int ncclReduceScatter(const void *src, void *dst, size_t n, int type, int op, void *comm, void *s)
{
    struct comm *c = comm;

    give(c, src, n * (size_t)c->count * sizeof(float));
    add_up(c, dst, n * (size_t)c->rank, n);
    return 0;
}

int ncclSend(const void *src, size_t n, int type, int peer, void *comm, void *s)
{
    grouped.src = src;
    grouped.bytes = n * sizeof(float);
    return 0;
}

int ncclRecv(void *dst, size_t n, int type, int peer, void *comm, void *s)
{
    struct comm *c = comm;

    give(c, grouped.src, grouped.bytes);
    memcpy(dst, c->at->given[peer], n * sizeof(float));
    meet(c);
    return 0;
}

int ncclGroupStart(void)
{
    return 0;
}

int ncclGroupEnd(void)
{
    return 0;
}
