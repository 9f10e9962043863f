/*
 * Bytes of one rank's GPU that go to another rank's and back, in one of four ways: as a first
 * version of a program has it, and as it is after each of the remedies. What the analysis
 * promises of them is compared with what they take (run).
 *
 * usage: staging whole|pieces|turned|device THREADS ROUNDS
 *        by MPI's launcher, two ranks, a GPU each
 *
 *   whole: to the host, then sent; received, then to the GPU. pieces: the same in pieces of 1 MiB,
 * all begun at once and waited for in order. turned: the same pieces, few under way, both sides
 * looking after copies and messages in turn. device: device memory is given to MPI. THREADS: 1 or
 * 2 (MPI_THREAD_MULTIPLE)
 *
 *   standard output    staging RANK HOW THREADS ROUNDS MS right|wrong    for each size; MS: all
 * rounds
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/clocked.h"
#include "tests/programs/runtime_api.h"

xrt_error cudaGetDeviceCount(int *count);
xrt_error cudaEventQuery(xcu_event event);

enum { MIB = 1 << 20, MOST = 16 * MIB, PIECE = MIB, PIECES = MOST / PIECE, TAG = 7 };
enum { UNDER_WAY = 4, NOT_READY = 600 };

struct worker {
    int thread;
    MPI_Comm with; /* its own */
    char *device, *host;
    xcu_stream stream;
    xcu_event copied[PIECES];
    pthread_t id;
};

static int rank, threads, rounds;
static const char *how;
static pthread_barrier_t together; /* threads of this rank */

static void check(int wrong, const char *what)
{
    if (!wrong)
        return;
    fprintf(stderr, "staging: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- the three ways -------------------------------------------------------------------------- */

static __attribute__((noinline)) void send_whole(struct worker *w, int bytes)
{
    check(cudaMemcpy(w->host, w->device, (size_t)bytes, XRT_COPY_D2H), "to the host");
    MPI_Send(w->host, bytes, MPI_CHAR, 1 - rank, TAG, w->with);
}

static __attribute__((noinline)) void receive_whole(struct worker *w, int bytes)
{
    MPI_Recv(w->host, bytes, MPI_CHAR, 1 - rank, TAG, w->with, MPI_STATUS_IGNORE);
    check(cudaMemcpy(w->device, w->host, (size_t)bytes, XRT_COPY_H2D), "to the GPU");
}

static __attribute__((noinline)) void send_pieces(struct worker *w, int bytes)
{
    MPI_Request sent[PIECES];
    int count = bytes / PIECE;
    for (int i = 0; i < count; i++) {
        size_t at = (size_t)i * PIECE;
        check(cudaMemcpyAsync(w->host + at, w->device + at, PIECE, XRT_COPY_D2H, w->stream) ||
                  cudaEventRecord(w->copied[i], w->stream),
              "to the host");
    }
    for (int i = 0; i < count; i++) {
        check(cudaEventSynchronize(w->copied[i]), "to the host");
        MPI_Isend(w->host + (size_t)i * PIECE, PIECE, MPI_CHAR, 1 - rank, TAG, w->with, &sent[i]);
    }
    MPI_Waitall(count, sent, MPI_STATUSES_IGNORE);
}

static __attribute__((noinline)) void receive_pieces(struct worker *w, int bytes)
{
    MPI_Request received[PIECES];
    int count = bytes / PIECE;
    for (int i = 0; i < count; i++)
        MPI_Irecv(w->host + (size_t)i * PIECE, PIECE, MPI_CHAR, 1 - rank, TAG, w->with,
                  &received[i]);
    for (int i = 0; i < count; i++) {
        size_t at = (size_t)i * PIECE;
        MPI_Wait(&received[i], MPI_STATUS_IGNORE);
        check(cudaMemcpyAsync(w->device + at, w->host + at, PIECE, XRT_COPY_H2D, w->stream),
              "to the GPU");
    }
    check(cudaStreamSynchronize(w->stream), "to the GPU");
}

static int is_copied(struct worker *w, int piece)
{
    xrt_error error = cudaEventQuery(w->copied[piece]);
    check(error != 0 && error != NOT_READY, "copying a piece");
    return error == 0;
}

static int is_passed(MPI_Request *request)
{
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    return done;
}

/* Of the pieces so many have begun to be copied, to be sent, and are sent. */
static __attribute__((noinline)) void send_turned(struct worker *w, int bytes)
{
    MPI_Request sent[PIECES];
    int count = bytes / PIECE, begun = 0, passed = 0, over = 0;
    while (over < count) {
        size_t at = (size_t)begun * PIECE;
        if (begun < count && begun - over < UNDER_WAY) {
            check(cudaMemcpyAsync(w->host + at, w->device + at, PIECE, XRT_COPY_D2H, w->stream) ||
                      cudaEventRecord(w->copied[begun], w->stream),
                  "to the host");
            begun++;
        }
        if (passed < begun && is_copied(w, passed)) {
            MPI_Isend(w->host + (size_t)passed * PIECE, PIECE, MPI_CHAR, 1 - rank, TAG, w->with,
                      &sent[passed]);
            passed++;
        }
        if (over < passed && is_passed(&sent[over]))
            over++;
    }
}

static __attribute__((noinline)) void receive_turned(struct worker *w, int bytes)
{
    MPI_Request received[PIECES];
    int count = bytes / PIECE, begun = 0, passed = 0;
    while (passed < count) {
        size_t at = (size_t)passed * PIECE;
        if (begun < count && begun - passed < UNDER_WAY) {
            MPI_Irecv(w->host + (size_t)begun * PIECE, PIECE, MPI_CHAR, 1 - rank, TAG, w->with,
                      &received[begun]);
            begun++;
        }
        if (passed < begun && is_passed(&received[passed])) {
            check(cudaMemcpyAsync(w->device + at, w->host + at, PIECE, XRT_COPY_H2D, w->stream),
                  "to the GPU");
            passed++;
        }
    }
    check(cudaStreamSynchronize(w->stream), "to the GPU");
}

static __attribute__((noinline)) void send_device(struct worker *w, int bytes)
{
    MPI_Send(w->device, bytes, MPI_CHAR, 1 - rank, TAG, w->with);
}

static __attribute__((noinline)) void receive_device(struct worker *w, int bytes)
{
    MPI_Recv(w->device, bytes, MPI_CHAR, 1 - rank, TAG, w->with, MPI_STATUS_IGNORE);
}

static const struct way {
    const char *name;
    void (*send)(struct worker *w, int bytes);
    void (*receive)(struct worker *w, int bytes);
} ways[] = {{"whole", send_whole, receive_whole},
            {"pieces", send_pieces, receive_pieces},
            {"turned", send_turned, receive_turned},
            {"device", send_device, receive_device}};

/* ---- rounds ---------------------------------------------------------------------------------- */

static char byte_at(const struct worker *w, int i)
{
    return (char)(i + (i >> 8) + w->thread);
}

/* Rank 0 begins with the bytes, rank 1 with none. */
static void fill(const struct worker *w)
{
    for (int i = 0; i < MOST; i++)
        w->host[i] = rank ? 0 : byte_at(w, i);
    check(cudaMemcpy(w->device, w->host, MOST, XRT_COPY_H2D), "filling");
    memset(w->host, 0, MOST);
}

static int is_right(const struct worker *w, int bytes)
{
    char *found = malloc(MOST);
    int right = 1;
    check(found == NULL || cudaMemcpy(found, w->device, (size_t)bytes, XRT_COPY_D2H), "fetching");
    for (int i = 0; i < bytes; i++)
        right &= found[i] == byte_at(w, i);
    free(found);
    return right;
}

static void exchange(const struct way *way, struct worker *w, int bytes, int times)
{
    for (int i = 0; i < 2 * times; i++)
        (i % 2 == rank ? way->send : way->receive)(w, bytes);
}

static void *work(void *of)
{
    struct worker *w = of;
    const struct way *way = ways;
    int gpus = 1;
    while (strcmp(way->name, how) != 0)
        check(++way == ways + sizeof ways / sizeof *ways, "whole, pieces, turned or device");
    check(cudaGetDeviceCount(&gpus) || cudaSetDevice(rank % gpus), "cudaSetDevice");
    exchange(way, w, MOST, 1); /* connections are made */
    pthread_barrier_wait(&together);
    MPI_Barrier(w->with);
    double from = now_ms();
    exchange(way, w, MOST, rounds);
    exchange(way, w, MOST / 4, rounds);
    double ms = now_ms() - from;
    printf("staging %d/%d %s %d %d %.3f %s\n", rank, w->thread, how, threads, rounds, ms,
           is_right(w, MOST) ? "right" : "wrong");
    fflush(stdout);
    return NULL;
}

static void open_worker(struct worker *w)
{
    int gpus = 0;
    check(cudaGetDeviceCount(&gpus) || cudaSetDevice(rank % gpus), "cudaSetDevice");
    check(cudaMalloc((void **)&w->device, MOST), "cudaMalloc");
    check(cudaMallocHost((void **)&w->host, MOST), "cudaMallocHost");
    check(cudaStreamCreate(&w->stream), "cudaStreamCreate");
    for (int i = 0; i < PIECES; i++)
        check(cudaEventCreate(&w->copied[i]), "cudaEventCreate");
    fill(w);
    MPI_Comm_dup(MPI_COMM_WORLD, &w->with);
}

int main(int argc, char **argv)
{
    struct worker workers[2] = {{.thread = 0}, {.thread = 1}};
    int provided = 0, size = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(argc != 4 || size != 2,
          "usage: staging whole|pieces|turned|device THREADS ROUNDS, two ranks");
    how = argv[1];
    threads = atoi(argv[2]) == 2 ? 2 : 1;
    rounds = atoi(argv[3]);
    check(threads == 2 && provided != MPI_THREAD_MULTIPLE, "this MPI does not serve threads");
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++)
        open_worker(&workers[i]);
    if (threads == 2)
        check(pthread_create(&workers[1].id, NULL, work, &workers[1]), "pthread_create");
    work(&workers[0]);
    if (threads == 2)
        pthread_join(workers[1].id, NULL);
    MPI_Finalize();
    return 0;
}
