/*
 * Sends and receives of NCCL between two GPUs, by themselves and in groups, with nobody late or
 * rank 1 late by a known time; what they took, by the program's own clock. For the report's figures
 * beside these (run, net_table.py). Each phase is a function of its own, so that it has rows of its
 * own in the report.
 *
 * usage: nccl_exchange DIRECTORY LIBNCCL LATE_US [threads]
 *
 * Two ranks by Open MPI's launcher, or two threads of one process; thread or rank n has GPU n.
 *
 *   DIRECTORY/said.RANK   RANK op CALL bytes width to from 0 0-1, for each call
 *   standard output       rate RANK PHASE SENT GOT ROUNDS WAITED_US SINCE_US DEVICE_US right|wrong
 *
 * SENT, GOT: bytes of a round. Of all rounds: what this rank called before the other one did; from
 * the later of both calls until this rank's stream was idle, by the host; the stream's time by CUDA
 * events.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/gpu/clocked.h"
#include "tests/programs/runtime_api.h"

xrt_error cudaEventElapsedTime(float *ms, xcu_event from, xcu_event to);

enum { ROUNDS = 40, WARM = 5, INT8 = 0, MIB = 1 << 20, MOST = 64 * MIB };

/* name in libnccl, parameters */
#define NCCL_CALLS(X)                                                                              \
    X(ncclGetUniqueId, (unique * id))                                                              \
    X(ncclCommInitRank, (communicator * one, int count, unique id, int rank))                      \
    X(ncclCommDestroy, (communicator one))                                                         \
    X(ncclGroupStart, (void))                                                                      \
    X(ncclGroupEnd, (void))                                                                        \
    X(ncclSend, (const void *, size_t, int, int, communicator, xcu_stream))                        \
    X(ncclRecv, (void *, size_t, int, int, communicator, xcu_stream))

#include "tests/programs/nccl_by_name.h"

/* What both ranks see. */
static struct meeting {
    unique id;
    atomic_int arrived[2];
    double begun_s[ROUNDS][2];
} * at;

struct rank {
    int rank, met;
    communicator one;
    xcu_stream stream;
    xcu_event from, to;
    char *src, *dst;       /* of its GPU */
    char *pattern, *check; /* of the host */
    FILE *out;
    size_t sent, got; /* in this round */
};

static const char *directory;
static double late_us;

static void meet_in(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    check(fd < 0 || ftruncate(fd, sizeof *at) != 0, path);
    at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(at == MAP_FAILED, path);
    close(fd);
}

static void meet(struct rank *r)
{
    atomic_store(&at->arrived[r->rank], ++r->met);
    while (atomic_load(&at->arrived[1 - r->rank]) < r->met)
        sched_yield();
}

/* ---- phases ---------------------------------------------------------------------------------- */

static void said_sent(struct rank *r, size_t bytes)
{
    r->sent += bytes;
    fprintf(r->out, "%d send ncclSend %zu 0 %d - 0 0-1\n", r->rank, bytes, 1 - r->rank);
}

static void said_got(struct rank *r, size_t bytes)
{
    r->got += bytes;
    fprintf(r->out, "%d receive ncclRecv 0 %zu - %d 0 0-1\n", r->rank, bytes, 1 - r->rank);
}

#define SEND(bytes) CALL(ncclSend, r->src, bytes, INT8, 1 - r->rank, r->one, r->stream)
#define RECEIVE(bytes) CALL(ncclRecv, r->dst, bytes, INT8, 1 - r->rank, r->one, r->stream)

/* From rank 0 to rank 1 alone. */
#define SINGLE(name, bytes)                                                                        \
    static __attribute__((noinline)) void name(struct rank *r)                                     \
    {                                                                                              \
        if (r->rank == 0) {                                                                        \
            SEND(bytes);                                                                           \
            said_sent(r, bytes);                                                                   \
        } else {                                                                                   \
            RECEIVE(bytes);                                                                        \
            said_got(r, bytes);                                                                    \
        }                                                                                          \
    }
/* Both ways, so many times each; rank 0 gives `bytes` each time, rank 1 `back`. */
#define GROUPED(name, times, bytes, back)                                                          \
    static __attribute__((noinline)) void name(struct rank *r)                                     \
    {                                                                                              \
        size_t gives = r->rank == 0 ? (bytes) : (back), gets = r->rank == 0 ? (back) : (bytes);    \
        CALL(ncclGroupStart);                                                                      \
        for (int i = 0; i < (times); i++) {                                                        \
            SEND(gives);                                                                           \
            RECEIVE(gets);                                                                         \
            said_sent(r, gives);                                                                   \
            said_got(r, gets);                                                                     \
        }                                                                                          \
        CALL(ncclGroupEnd);                                                                        \
    }

SINGLE(single_256k, MIB / 4)
SINGLE(single_4m, 4 * MIB)
SINGLE(single_64m, 64 * MIB)
GROUPED(grouped_256k, 1, MIB / 4, MIB / 4)
GROUPED(grouped_4m, 1, 4 * MIB, 4 * MIB)
GROUPED(grouped_64m, 1, 64 * MIB, 64 * MIB)
GROUPED(uneven_64m, 1, 64 * MIB, 16 * MIB)
GROUPED(twice_16m, 2, 16 * MIB, 16 * MIB)
GROUPED(warm_up, 1, 64 * MIB, 64 * MIB)
SINGLE(warm_up_single, 64 * MIB)

static const struct phase {
    const char *name;
    void (*call)(struct rank *r);
    int rounds;
} phases[] = {{"warm_up", warm_up, WARM},           {"warm_up_single", warm_up_single, WARM},
              {"single_256k", single_256k, ROUNDS}, {"single_4m", single_4m, ROUNDS},
              {"single_64m", single_64m, ROUNDS},   {"grouped_256k", grouped_256k, ROUNDS},
              {"grouped_4m", grouped_4m, ROUNDS},   {"grouped_64m", grouped_64m, ROUNDS},
              {"uneven_64m", uneven_64m, ROUNDS},   {"twice_16m", twice_16m, ROUNDS}};

/* ---- rounds ---------------------------------------------------------------------------------- */

struct figures {
    double end_s[ROUNDS], device_us;
};

static void one_round(struct rank *r, const struct phase *phase, int round, struct figures *f)
{
    float ms = 0;
    r->sent = r->got = 0;
    check(cudaStreamSynchronize(r->stream), "cudaStreamSynchronize");
    meet(r);
    double until = now_s() + (r->rank == 1 ? late_us * 1e-6 : 0);
    while (now_s() < until)
        continue;
    at->begun_s[round][r->rank] = now_s();
    check(cudaEventRecord(r->from, r->stream), "cudaEventRecord");
    phase->call(r);
    check(cudaEventRecord(r->to, r->stream), "cudaEventRecord");
    check(cudaStreamSynchronize(r->stream), "a device failed");
    f->end_s[round] = now_s();
    check(cudaEventElapsedTime(&ms, r->from, r->to), "cudaEventElapsedTime");
    f->device_us += ms * 1e3;
}

static void clear(struct rank *r)
{
    memset(r->check, 0, MOST);
    check(cudaMemcpy(r->dst, r->check, MOST, XRT_COPY_H2D), "cudaMemcpy");
}

/* The other's pattern is one more in each byte. */
static int is_right(struct rank *r, size_t bytes)
{
    check(cudaMemcpy(r->check, r->dst, bytes, XRT_COPY_D2H), "cudaMemcpy");
    for (size_t i = 0; i < bytes; i++)
        if ((char)(r->check[i] - r->pattern[i]) != (r->rank ? -1 : 1))
            return 0;
    return 1;
}

static void run(struct rank *r, const struct phase *phase)
{
    static const char *const words[] = {"wrong", "right"};
    struct figures f = {.device_us = 0};
    double waited = 0, since = 0;
    int times = strcmp(phase->name, "twice_16m") ? 1 : 2; /* both lie in the same place */

    clear(r);
    for (int i = 0; i < phase->rounds; i++)
        one_round(r, phase, i, &f);
    meet(r);
    for (int i = 0; i < phase->rounds; i++) {
        double own = at->begun_s[i][r->rank], other = at->begun_s[i][1 - r->rank];
        waited += other > own ? other - own : 0;
        since += f.end_s[i] - (other > own ? other : own);
    }
    printf("rate %d %s %zu %zu %d %.1f %.1f %.1f %s\n", r->rank, phase->name, r->sent, r->got,
           phase->rounds, waited * 1e6, since * 1e6, f.device_us,
           words[is_right(r, r->got / (size_t)times)]);
    fflush(stdout);
    meet(r);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void open_rank(struct rank *r)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/said.%d", directory, r->rank);
    r->out = fopen(path, "w");
    check(r->out == NULL, path);
    check(cudaSetDevice(r->rank), "cudaSetDevice");
    check(cudaMalloc((void **)&r->src, MOST) || cudaMalloc((void **)&r->dst, MOST), "cudaMalloc");
    check(cudaStreamCreate(&r->stream), "cudaStreamCreate");
    check(cudaEventCreate(&r->from) || cudaEventCreate(&r->to), "cudaEventCreate");
    r->pattern = malloc(MOST);
    r->check = malloc(MOST);
    check(!r->pattern || !r->check, "malloc");
    for (size_t i = 0; i < MOST; i++)
        r->pattern[i] = (char)(i * 7 + (i >> 12) + (size_t)r->rank);
    check(cudaMemcpy(r->src, r->pattern, MOST, XRT_COPY_H2D), "cudaMemcpy");
    if (r->rank == 0)
        CALL(ncclGetUniqueId, &at->id);
    meet(r);
    CALL(ncclCommInitRank, &r->one, 2, at->id, r->rank);
}

static void *all_of(void *number)
{
    struct rank r = {.rank = *(int *)number};
    open_rank(&r);
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        run(&r, &phases[i]);
    CALL(ncclCommDestroy, r.one);
    fclose(r.out);
    free(r.pattern);
    free(r.check);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *launched = getenv("OMPI_COMM_WORLD_RANK");
    int ranks[2] = {launched ? atoi(launched) : 0, 1};
    char path[4096];
    pthread_t other;

    check(argc < 4 || argc > 5 || (argc == 4 && (!launched || ranks[0] > 1)),
          "usage: nccl_exchange DIRECTORY LIBNCCL LATE_US [threads]");
    directory = argv[1];
    late_us = atof(argv[3]);
    find_nccl(argv[2]);
    snprintf(path, sizeof path, "%s/meeting", directory);
    meet_in(path);
    if (argc == 5)
        check(pthread_create(&other, NULL, all_of, &ranks[1]), "pthread_create");
    all_of(&ranks[0]);
    if (argc == 5)
        check(pthread_join(other, NULL), "pthread_join");
    return 0;
}
