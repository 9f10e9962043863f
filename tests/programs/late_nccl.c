/*
 * Four ranks that add up by NCCL, of which one sleeps before each time: its kernels come last, and
 * those of the others run until it is there, and then as long as its own. Then that rank sends to
 * rank 0, as often. The NCCL is launching_nccl.c; what its kernels take is said here (their host
 * twin). By the host's clock, which the ranks share.
 *
 * usage: late_nccl DIRECTORY LIBNCCL RANK MS     by Open MPI's launcher, 4 ranks; rank 0 prints in
 * how many rounds each rank came last, what the others waited for it, and what sender and receiver
 * waited for each other, in ns
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime_api.h"
#include "tools/simgpu/simgpu.h"

enum { RANKS = 4, ROUNDS = 12, COUNT = 1 << 16 };
enum { OWN_NS = 40000000 };

typedef struct ncclComm *communicator;
typedef struct {
    char bytes[128];
} unique;

static int rank, late, late_ms;
static _Atomic uint64_t (*begun)[RANKS]; /* by round: when each rank's kernel did; 0: not yet */
static int turn, step = 1;               /* the round; ranks 0, step, 2 * step take part */

/* A kernel of a collective or message: until the last one of all has begun, and what it takes by
 * itself. */
__attribute__((visibility("default"))) xferscope_simgpu_twin xferscope_simgpu_kernel_ncclDevKernel;
void xferscope_simgpu_kernel_ncclDevKernel(void **params, const unsigned grid[3],
                                           const unsigned block[3])
{
    uint64_t own_ns = xferscope_simgpu_kernel_start_ns(), last_ns = own_ns;
    atomic_store(&begun[turn][rank], own_ns);
    for (int i = 0; i < RANKS; i += step) {
        uint64_t ns;
        while ((ns = atomic_load(&begun[turn][i])) == 0)
            sched_yield();
        last_ns = ns > last_ns ? ns : last_ns;
    }
    xferscope_simgpu_kernel_ns(last_ns + OWN_NS - own_ns);
}

static void check(int wrong, const char *what)
{
    if (!wrong)
        return;
    fprintf(stderr, "late_nccl: %s\n", what);
    exit(1);
}

static void *shared(const char *folder, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/begun", folder);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    check(fd < 0 || ftruncate(fd, (off_t)bytes) != 0, path);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(memory == MAP_FAILED, path);
    close(fd);
    return memory;
}

static communicator start(void *library)
{
    int (*init)(communicator *, int, unique, int) =
        (__typeof__(init))dlsym(library, "ncclCommInitRank");
    unique id = {.bytes = "of all four"};
    communicator one;
    id.bytes[127] = 7; /* as that NCCL's ids have it */
    check(init(&one, RANKS, id, rank) != 0, "no communicator");
    return one;
}

static void be_late(void)
{
    if (rank == late)
        usleep((useconds_t)late_ms * 1000);
}

static void add_up(void *library, communicator one, void *on_gpu)
{
    int (*reduce)(const void *, void *, size_t, int, int, communicator, xcu_stream) =
        (__typeof__(reduce))dlsym(library, "ncclAllReduce");
    for (turn = 0; turn < ROUNDS; turn++) {
        be_late();
        check(reduce(on_gpu, on_gpu, COUNT, 7, 0, one, NULL) != 0, "no reduction");
        check(cudaStreamSynchronize(NULL) != 0, "the device failed");
    }
}

static void pass_on(void *library, communicator one, void *on_gpu)
{
    int (*send)(const void *, size_t, int, int, communicator, xcu_stream) =
        (__typeof__(send))dlsym(library, "ncclSend");
    int (*receive)(void *, size_t, int, int, communicator, xcu_stream) =
        (__typeof__(receive))dlsym(library, "ncclRecv");
    step = late;
    for (turn = ROUNDS; turn < 2 * ROUNDS && rank % step == 0; turn++) {
        be_late();
        if (rank == late)
            check(send(on_gpu, COUNT, 7, 0, one, NULL) != 0, "no send");
        else
            check(receive(on_gpu, COUNT, 7, late, one, NULL) != 0, "no receive");
        check(cudaStreamSynchronize(NULL) != 0, "the device failed");
    }
}

/* What others waited for the last one of a round, which it returns. */
static int last_of(int round, uint64_t *waited_ns)
{
    int last = 0;
    for (int i = 0; i < RANKS; i++)
        last = begun[round][i] > begun[round][last] ? i : last;
    *waited_ns = 0;
    for (int i = 0; i < RANKS; i++)
        *waited_ns += begun[round][i] ? begun[round][last] - begun[round][i] : 0;
    return last;
}

static void say(void)
{
    int count[RANKS] = {0};
    uint64_t for_rank[RANKS] = {0}, by_sender = 0, by_receiver = 0, ns;
    for (int i = 0; i < ROUNDS; i++) {
        int last = last_of(i, &ns);
        count[last]++;
        for_rank[last] += ns;
        last = last_of(ROUNDS + i, &ns);
        by_sender += last == 0 ? ns : 0;
        by_receiver += last == 0 ? 0 : ns;
    }
    for (int i = 0; i < RANKS; i++)
        printf("rank %d last %d waited %llu\n", i, count[i], (unsigned long long)for_rank[i]);
    printf("sender %llu\nreceiver %llu\n", (unsigned long long)by_sender,
           (unsigned long long)by_receiver);
}

int main(int argc, char **argv)
{
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    void *on_gpu;
    check(argc != 5 || !number,
          "usage: late_nccl DIRECTORY LIBNCCL RANK MS, by Open MPI's launcher");
    rank = atoi(number);
    late = atoi(argv[3]);
    late_ms = atoi(argv[4]);
    begun = shared(argv[1], 2 * ROUNDS * sizeof *begun);
    void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    check(library == NULL, "no NCCL");
    check(cudaMalloc(&on_gpu, COUNT * sizeof(float)) != 0, "no memory");
    communicator one = start(library);
    add_up(library, one, on_gpu);
    pass_on(library, one, on_gpu);
    if (rank == 0)
        say();
    return 0;
}
