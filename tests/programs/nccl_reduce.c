/*
 * An all-reduce over all GPUs by one process, as NCCL's guide does it first. NCCL is loaded when
 * the program runs and declared here, so that it builds without NCCL.
 *
 * usage: nccl_reduce [LIBNCCL]     default libnccl.so.2; exits with 77 where there is none
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime_api.h"

enum { GPUS = 8, COUNT = 1 << 20, ROUNDS = 10, NCCL_FLOAT32 = 7, NCCL_SUM = 0 };

/* name in libnccl, parameters */
#define NCCL_CALLS(X)                                                                              \
    X(ncclCommInitAll, (communicator * all, int count, const int *devices))                        \
    X(ncclCommDestroy, (communicator one))                                                         \
    X(ncclGroupStart, (void))                                                                      \
    X(ncclGroupEnd, (void))                                                                        \
    X(ncclAllReduce, (const void *in, void *out, size_t count, int type, int operation,            \
                      communicator one, xcu_stream stream))

#include "nccl_by_name.h"

xrt_error cudaGetDeviceCount(int *count);

static communicator communicators[GPUS];
static xcu_stream streams[GPUS];
static float *in[GPUS], *out[GPUS];
static float host[COUNT];

static void prepare(int gpus)
{
    for (int i = 0; i < COUNT; i++)
        host[i] = 1;
    for (int i = 0; i < gpus; i++) {
        check(cudaSetDevice(i), "cudaSetDevice");
        check(cudaStreamCreate(&streams[i]), "cudaStreamCreate");
        check(cudaMalloc((void **)&in[i], sizeof host), "cudaMalloc");
        check(cudaMalloc((void **)&out[i], sizeof host), "cudaMalloc");
        check(cudaMemcpy(in[i], host, sizeof host, XRT_COPY_H2D), "cudaMemcpy");
    }
}

static void reduce(int gpus)
{
    check(nccl.ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < gpus; i++)
        check(nccl.ncclAllReduce(in[i], out[i], COUNT, NCCL_FLOAT32, NCCL_SUM, communicators[i],
                                 streams[i]),
              "ncclAllReduce");
    check(nccl.ncclGroupEnd(), "ncclGroupEnd");
}

int main(int argc, char **argv)
{
    int gpus = 0;
    find_nccl(argc > 1 ? argv[1] : "libnccl.so.2");
    check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
    gpus = gpus < GPUS ? gpus : GPUS;
    prepare(gpus);
    check(nccl.ncclCommInitAll(communicators, gpus, NULL), "ncclCommInitAll");
    for (int i = 0; i < ROUNDS; i++)
        reduce(gpus);
    for (int i = 0; i < gpus; i++) {
        check(cudaSetDevice(i), "cudaSetDevice");
        check(cudaStreamSynchronize(streams[i]), "cudaStreamSynchronize");
        check(cudaMemcpy(host, out[i], sizeof host, XRT_COPY_D2H), "cudaMemcpy");
        check(host[COUNT - 1] != (float)gpus, "the sum");
        check(nccl.ncclCommDestroy(communicators[i]), "ncclCommDestroy");
    }
    printf("%d GPUs, %d all-reduces of %d bytes\n", gpus, ROUNDS, (int)sizeof host);
    return 0;
}
