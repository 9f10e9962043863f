/*
 * Four ranks that add up by NCCL, of which one sleeps before each time: its kernels come last, and
 * those of the others run until it is there. The NCCL is launching_nccl.c; what its kernels take is
 * said here (their host twin). By the host's clock, which the ranks share.
 *
 * usage: late_nccl DIRECTORY LIBNCCL LATE     by Open MPI's launcher, 4 ranks; rank 0 prints in how
 * many rounds rank LATE came last, and what the others waited for it, in ns
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
enum { LATE_NS = 30000000, OWN_NS = 50000 };

typedef struct ncclComm *communicator;
typedef struct {
    char bytes[128];
} unique;

static int rank, late;
static _Atomic uint64_t (*begun)[RANKS]; /* by round: when each rank called; 0: not yet */

/* A kernel of the collective: until the last one of all has begun, and what it takes by itself. */
__attribute__((visibility("default"))) xferscope_simgpu_twin xferscope_simgpu_kernel_ncclDevKernel;
void xferscope_simgpu_kernel_ncclDevKernel(void **params, const unsigned grid[3],
                                           const unsigned block[3])
{
    xferscope_simgpu_kernel_ns(rank == late ? OWN_NS : LATE_NS + OWN_NS);
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

static void await_all(int turn)
{
    for (int i = 0; i < RANKS; i++)
        while (atomic_load(&begun[turn][i]) == 0)
            sched_yield();
}

static void add_up(void *library, void *on_gpu)
{
    int (*init)(communicator *, int, unique, int) =
        (__typeof__(init))dlsym(library, "ncclCommInitRank");
    int (*reduce)(const void *, void *, size_t, int, int, communicator, xcu_stream) =
        (__typeof__(reduce))dlsym(library, "ncclAllReduce");
    unique id = {.bytes = "of all four"};
    communicator one;
    id.bytes[127] = 7; /* as that NCCL's ids have it */
    check(init(&one, RANKS, id, rank) != 0, "no communicator");
    for (int turn = 0; turn < ROUNDS; turn++) {
        if (rank == late)
            usleep(LATE_NS / 1000);
        atomic_store(&begun[turn][rank], xferscope_simgpu_now_ns());
        check(reduce(on_gpu, on_gpu, COUNT, 7, 0, one, NULL) != 0, "no reduction");
        check(cudaStreamSynchronize(NULL) != 0, "the device failed");
        await_all(turn);
    }
}

static void say(void)
{
    uint64_t waited_ns = 0;
    int last = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int after = 0;
        for (int k = 0; k < RANKS; k++) {
            uint64_t ns = begun[i][late] - begun[i][k];
            after += begun[i][k] > begun[i][late];
            waited_ns += begun[i][k] > begun[i][late] ? 0
                         : ns < LATE_NS + OWN_NS      ? ns
                                                      : LATE_NS + OWN_NS;
        }
        last += after == 0;
    }
    printf("last %d of %d, waited %llu\n", last, ROUNDS, (unsigned long long)waited_ns);
}

int main(int argc, char **argv)
{
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    void *on_gpu;
    check(argc != 4 || !number, "usage: late_nccl DIRECTORY LIBNCCL LATE, by Open MPI's launcher");
    rank = atoi(number);
    late = atoi(argv[3]);
    begun = shared(argv[1], ROUNDS * sizeof *begun);
    void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    check(library == NULL, "no NCCL");
    check(cudaMalloc(&on_gpu, COUNT * sizeof(float)) != 0, "no memory");
    add_up(library, on_gpu);
    if (rank == 0)
        say();
    return 0;
}
