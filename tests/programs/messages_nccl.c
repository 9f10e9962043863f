/*
 * Calls each recorded function of NCCL for two ranks in one process, and says of each call what it
 * moved, as messages.c does: RANK op CALL bytes width to from 0 ranks. NCCL is loaded when the
 * program runs and declared here.
 *
 * usage: messages_nccl DIRECTORY LIBNCCL [GROUPS]     exchange so many times in a group; 1
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime_api.h"

enum { FLOAT32 = 7, FLOAT16 = 6, SUM = 0, COUNT = 1024 };

/* name in libnccl, parameters */
#define NCCL_CALLS(X)                                                                              \
    X(ncclGetUniqueId, (unique * id))                                                              \
    X(ncclCommInitRank, (communicator * one, int count, unique id, int rank))                      \
    X(ncclCommInitAll, (communicator * all, int count, const int *devices))                        \
    X(ncclCommSplit, (communicator one, int color, int key, communicator *part, void *config))     \
    X(ncclCommDestroy, (communicator one))                                                         \
    X(ncclGroupStart, (void))                                                                      \
    X(ncclGroupEnd, (void))                                                                        \
    X(ncclAllReduce, (const void *, void *, size_t, int, int, communicator, xcu_stream))           \
    X(ncclAllGather, (const void *, void *, size_t, int, communicator, xcu_stream))                \
    X(ncclReduceScatter, (const void *, void *, size_t, int, int, communicator, xcu_stream))       \
    X(ncclBroadcast, (const void *, void *, size_t, int, int, communicator, xcu_stream))           \
    X(ncclBcast, (void *, size_t, int, int, communicator, xcu_stream))                             \
    X(ncclReduce, (const void *, void *, size_t, int, int, int, communicator, xcu_stream))         \
    X(ncclAlltoAll, (const void *, void *, size_t, int, communicator, xcu_stream))                 \
    X(ncclGather, (const void *, void *, size_t, int, int, communicator, xcu_stream))              \
    X(ncclScatter, (const void *, void *, size_t, int, int, communicator, xcu_stream))             \
    X(ncclSend, (const void *, size_t, int, int, communicator, xcu_stream))                        \
    X(ncclRecv, (void *, size_t, int, int, communicator, xcu_stream))

#include "nccl_by_name.h"

static communicator all[2];
static xcu_stream streams[2];
static float *memory[2];
static FILE *out;

static void said(int rank, const char *op, const char *call, size_t bytes, size_t width,
                 const char *peers, const char *ranks)
{
    fprintf(out, "%d %s %s %zu %zu %s 0 %s\n", rank, op, call, bytes, width, peers, ranks);
}

static void collectives(int r)
{
    float *m = memory[r];
    CALL(ncclAllReduce, m, m + COUNT, COUNT, FLOAT32, SUM, all[r], streams[r]);
    said(r, "all-reduce", "ncclAllReduce", 4 * COUNT, 4 * COUNT, "- -", "0-1");
    CALL(ncclAllGather, m, m + COUNT, COUNT, FLOAT16, all[r], streams[r]);
    said(r, "all-gather", "ncclAllGather", 2 * COUNT, 4 * COUNT, "- -", "0-1");
    CALL(ncclReduceScatter, m, m + COUNT, COUNT / 2, FLOAT32, SUM, all[r], streams[r]);
    said(r, "reduce-scatter", "ncclReduceScatter", 4 * COUNT, 2 * COUNT, "- -", "0-1");
    CALL(ncclBroadcast, m, m + COUNT, COUNT, FLOAT32, 1, all[r], streams[r]);
    said(r, "broadcast", "ncclBroadcast", r == 1 ? 4 * COUNT : 0, r == 1 ? 0 : 4 * COUNT, "1 -",
         "0-1");
    CALL(ncclBcast, m, COUNT, FLOAT32, 0, all[r], streams[r]);
    said(r, "broadcast", "ncclBcast", r == 0 ? 4 * COUNT : 0, r == 0 ? 0 : 4 * COUNT, "0 -", "0-1");
    CALL(ncclReduce, m, m + COUNT, COUNT, FLOAT32, SUM, 0, all[r], streams[r]);
    said(r, "reduce", "ncclReduce", 4 * COUNT, r == 0 ? 4 * COUNT : 0, "0 -", "0-1");
    CALL(ncclAlltoAll, m, m + COUNT, COUNT / 2, FLOAT32, all[r], streams[r]);
    said(r, "all-to-all", "ncclAlltoAll", 4 * COUNT, 4 * COUNT, "- -", "0-1");
    CALL(ncclGather, m, m + COUNT, COUNT / 2, FLOAT32, 1, all[r], streams[r]);
    said(r, "gather", "ncclGather", 2 * COUNT, r == 1 ? 4 * COUNT : 0, "1 -", "0-1");
    CALL(ncclScatter, m, m + COUNT, COUNT / 2, FLOAT32, 0, all[r], streams[r]);
    said(r, "scatter", "ncclScatter", r == 0 ? 4 * COUNT : 0, 2 * COUNT, "0 -", "0-1");
}

/* Ranks exchange in one group: all of its messages are the kernels of its end. */
static void in_group(void)
{
    CALL(ncclGroupStart);
    for (int r = 0; r < 2; r++) {
        CALL(ncclGroupStart);
        CALL(ncclSend, memory[r], COUNT, FLOAT32, 1 - r, all[r], streams[r]);
        said(r, "send", "ncclSend", 4 * COUNT, 0, r ? "0 -" : "1 -", "0-1");
        CALL(ncclRecv, memory[r] + COUNT, COUNT, FLOAT32, 1 - r, all[r], streams[r]);
        said(r, "receive", "ncclRecv", 0, 4 * COUNT, r ? "- 0" : "- 1", "0-1");
        CALL(ncclGroupEnd);
    }
    CALL(ncclGroupEnd);
}

/* Others with an id of their own, and a part of one. */
static void others(void)
{
    communicator others[2], part = NULL, none = NULL;
    unique id;
    CALL(ncclGetUniqueId, &id);
    CALL(ncclGroupStart);
    for (int r = 0; r < 2; r++)
        CALL(ncclCommInitRank, &others[r], 2, id, r);
    CALL(ncclGroupEnd);
    for (int r = 0; r < 2; r++) {
        CALL(ncclAllReduce, memory[r], memory[r], 8, FLOAT32, SUM, others[r], streams[r]);
        said(r, "all-reduce", "ncclAllReduce", 32, 32, "- -", "0-1");
    }
    CALL(ncclCommSplit, others[0], 5, 0, &part, NULL);
    CALL(ncclCommSplit, others[1], -1, 0, &none, NULL);
    CALL(ncclAllReduce, memory[0], memory[0], 4, FLOAT32, SUM, part, streams[0]);
    said(0, "all-reduce", "ncclAllReduce", 16, 16, "- -", "0");
    check(nccl.ncclAllReduce(memory[0], memory[0], 4, 99, SUM, part, streams[0]) == 0,
          "a type that does not exist");
    said(0, "all-reduce", "ncclAllReduce", 0, 0, "failed -", "?");
    CALL(ncclCommDestroy, part);
    CALL(ncclCommDestroy, others[0]);
    CALL(ncclCommDestroy, others[1]);
}

int main(int argc, char **argv)
{
    char path[4096];
    check(argc != 3 && argc != 4, "usage: messages_nccl DIRECTORY LIBNCCL [GROUPS]");
    check(dlsym(find_nccl(argv[2]), "ncclNoSuchFunction") != NULL, "a function that is not there");
    snprintf(path, sizeof path, "%s/said.0", argv[1]);
    out = fopen(path, "w");
    check(out == NULL, path);
    for (int r = 0; r < 2; r++) {
        check(cudaMalloc((void **)&memory[r], 2 * COUNT * sizeof(float)), "cudaMalloc");
        check(cudaStreamCreate(&streams[r]), "cudaStreamCreate");
        check(cudaMemcpy(memory[r], memory[r], 4, XRT_COPY_D2D), "cudaMemcpy");
    }
    CALL(ncclCommInitAll, all, 2, NULL);
    for (int r = 0; r < 2; r++)
        collectives(r);
    for (int i = 0; i < (argc == 4 ? atoi(argv[3]) : 1); i++)
        in_group();
    others();
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    CALL(ncclCommDestroy, all[0]);
    CALL(ncclCommDestroy, all[1]);
    fclose(out);
    return 0;
}
