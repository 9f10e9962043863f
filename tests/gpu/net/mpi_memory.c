/*
 * Messages of MPI between two ranks, from and to each kind of memory, by one thread of either rank
 * and then by two at once (MPI_THREAD_MULTIPLE), from one GPU to the other. What the program says
 * of them is compared with the record and the report (run, net_table.py).
 *
 * usage: mpi_memory DIRECTORY direct|staged one|each    by MPI's launcher, two ranks
 *
 *   direct: device memory is given to MPI; staged: it is copied to the host before it is sent, and
 * back behind it. one: both threads of a rank use one GPU; each: each another one (some MPIs take
 * memory of one GPU in a process only)
 *
 *   DIRECTORY/said.RANK.THREAD   RANK op CALL bytes width to from tag RANKS, for each call
 *   standard output              rate RANK PHASE SENT GOT ROUNDS 0 SINCE_US 0 right|wrong
 *
 * Each round is a message to rank 1 and one back; SINCE_US: half of what all rounds took.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/clocked.h"
#include "tests/programs/runtime_api.h"

xrt_error cudaGetDeviceCount(int *count);

enum { ROUNDS = 60, WARM = 5, MIB = 1 << 20, MOST = 4 * MIB, TAG = 5 };

struct worker {
    int thread;
    MPI_Comm with; /* its own */
    char *device, *pinned, *pageable, *staging;
    FILE *out;
};

static int rank, staged, gpu_each;
static const char *directory;
static pthread_barrier_t both; /* threads of this rank */

static void check(int wrong, const char *what)
{
    if (!wrong)
        return;
    fprintf(stderr, "mpi_memory: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void said(const struct worker *w, int sends, int bytes)
{
    if (sends)
        fprintf(w->out, "%d send MPI_Send %d 0 %d - %d 0-1\n", rank, bytes, 1 - rank, TAG);
    else
        fprintf(w->out, "%d receive MPI_Recv 0 %d - %d %d 0-1\n", rank, bytes, 1 - rank, TAG);
}

/* A phase of its own for each kind of memory, for one thread and for two at once: of the record's
 * call sites. */
#define PHASE(name, memory, bytes, copies)                                                         \
    static __attribute__((noinline)) void name(struct worker *w, int sends)                        \
    {                                                                                              \
        if (sends) {                                                                               \
            if (copies)                                                                            \
                check(cudaMemcpy(memory, w->device, bytes, XRT_COPY_D2H), "cudaMemcpy");           \
            MPI_Send(memory, bytes, MPI_CHAR, 1 - rank, TAG, w->with);                             \
        } else {                                                                                   \
            MPI_Recv(memory, bytes, MPI_CHAR, 1 - rank, TAG, w->with, MPI_STATUS_IGNORE);          \
            if (copies)                                                                            \
                check(cudaMemcpy(w->device, memory, bytes, XRT_COPY_H2D), "cudaMemcpy");           \
        }                                                                                          \
        said(w, sends, bytes);                                                                     \
    }

#define GPU_MEMORY (staged ? w->staging : w->device)
PHASE(pageable_64k, w->pageable, MIB / 16, 0)
PHASE(pageable_4m, w->pageable, 4 * MIB, 0)
PHASE(pinned_64k, w->pinned, MIB / 16, 0)
PHASE(pinned_4m, w->pinned, 4 * MIB, 0)
PHASE(device_64k, GPU_MEMORY, MIB / 16, staged)
PHASE(device_4m, GPU_MEMORY, 4 * MIB, staged)
PHASE(both_pinned_4m, w->pinned, 4 * MIB, 0)
PHASE(both_device_4m, GPU_MEMORY, 4 * MIB, staged)
PHASE(warm_up, GPU_MEMORY, 4 * MIB, staged)

enum { OF_PAGEABLE, OF_PINNED, OF_DEVICE };

static const struct phase {
    const char *name;
    void (*call)(struct worker *w, int sends);
    int bytes, memory, both, rounds;
} phases[] = {{"warm_up", warm_up, 4 * MIB, OF_DEVICE, 1, WARM},
              {"pageable_64k", pageable_64k, MIB / 16, OF_PAGEABLE, 0, ROUNDS},
              {"pageable_4m", pageable_4m, 4 * MIB, OF_PAGEABLE, 0, ROUNDS},
              {"pinned_64k", pinned_64k, MIB / 16, OF_PINNED, 0, ROUNDS},
              {"pinned_4m", pinned_4m, 4 * MIB, OF_PINNED, 0, ROUNDS},
              {"device_64k", device_64k, MIB / 16, OF_DEVICE, 0, ROUNDS},
              {"device_4m", device_4m, 4 * MIB, OF_DEVICE, 0, ROUNDS},
              {"both_pinned_4m", both_pinned_4m, 4 * MIB, OF_PINNED, 1, ROUNDS},
              {"both_device_4m", both_device_4m, 4 * MIB, OF_DEVICE, 1, ROUNDS}};

/* ---- what is in them ------------------------------------------------------------------------- */

static char *memory_of(const struct worker *w, const struct phase *phase)
{
    char *const memory[] = {w->pageable, w->pinned, w->device};
    return memory[phase->memory];
}

/* In each phase and thread another one; rank 0 begins with it. */
static void fill(const struct worker *w, const struct phase *phase)
{
    char *host = malloc(MOST);
    check(host == NULL, "malloc");
    for (int i = 0; i < phase->bytes; i++)
        host[i] = rank ? 0 : (char)(i + (i >> 8) + w->thread + (phase - phases));
    check(cudaMemcpy(memory_of(w, phase), host, (size_t)phase->bytes, XRT_COPY_DEFAULT), "filling");
    free(host);
}

static int is_right(const struct worker *w, const struct phase *phase)
{
    char *host = malloc(MOST);
    int right = 1;
    check(host == NULL, "malloc");
    check(cudaMemcpy(host, memory_of(w, phase), (size_t)phase->bytes, XRT_COPY_DEFAULT),
          "fetching");
    for (int i = 0; i < phase->bytes; i++)
        right &= host[i] == (char)(i + (i >> 8) + w->thread + (phase - phases));
    free(host);
    return right;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void run(struct worker *w, const struct phase *phase)
{
    fill(w, phase);
    MPI_Barrier(w->with);
    double from = now_s();
    for (int i = 0; i < 2 * phase->rounds; i++)
        phase->call(w, i % 2 == rank);
    double us = (now_s() - from) * 1e6;
    printf("rate %d %s%s %d %d %d 0 %.1f 0 %s\n", rank, phase->name, w->thread ? "/1" : "",
           phase->bytes, phase->bytes, phase->rounds, us / 2,
           is_right(w, phase) ? "right" : "wrong");
    fflush(stdout);
}

static void use_gpu(const struct worker *w)
{
    int gpus = 1;
    check(cudaGetDeviceCount(&gpus) || cudaSetDevice((rank + gpu_each * w->thread) % gpus),
          "cudaSetDevice");
}

static void open_worker(struct worker *w)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/said.%d.%d", directory, rank, w->thread);
    w->out = fopen(path, "w");
    w->pageable = malloc(MOST);
    w->staging = malloc(MOST);
    check(!w->out || !w->pageable || !w->staging, path);
    use_gpu(w);
    check(cudaMalloc((void **)&w->device, MOST), "cudaMalloc");
    check(cudaMallocHost((void **)&w->pinned, MOST), "cudaMallocHost");
    MPI_Comm_dup(MPI_COMM_WORLD, &w->with);
}

static void *work(void *of)
{
    struct worker *w = of;
    use_gpu(w);
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (phases[i].both || w->thread == 0) {
            if (phases[i].both)
                pthread_barrier_wait(&both);
            run(w, &phases[i]);
        }
    fclose(w->out);
    return NULL;
}

int main(int argc, char **argv)
{
    struct worker workers[2] = {{.thread = 0}, {.thread = 1}};
    int provided = 0, size = 0;
    pthread_t other;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(argc != 4 || size != 2, "usage: mpi_memory DIRECTORY direct|staged one|each, two ranks");
    directory = argv[1];
    staged = strcmp(argv[2], "staged") == 0;
    gpu_each = strcmp(argv[3], "each") == 0;
    for (int i = 0; i < 2; i++)
        open_worker(&workers[i]);
    pthread_barrier_init(&both, NULL, provided == MPI_THREAD_MULTIPLE ? 2 : 1);
    if (provided == MPI_THREAD_MULTIPLE)
        check(pthread_create(&other, NULL, work, &workers[1]), "pthread_create");
    else if (rank == 0)
        printf("threads not served: MPI_Init_thread gave %d\n", provided);
    work(&workers[0]);
    if (provided == MPI_THREAD_MULTIPLE)
        pthread_join(other, NULL);
    MPI_Finalize();
    return 0;
}
