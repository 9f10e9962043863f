/*
 * Collectives of MPI, before each of which all ranks but one wait in a barrier, and that one spins
 * for a known time behind it: by hand, what the report says of late ranks, and of rates without
 * them.
 *
 *     mpirun -n 2 xferscope record -o RUN -- collectives [LATE_US [BYTES [ROUNDS]]]
 *
 * The root of the broadcast is the late one, of the reduce a rank that gives.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/programs/runtime_api.h"

static int rank, size, count;
static double late_us;
static float *src, *dst;

static void begin(int late_rank)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double from = MPI_Wtime();
    while (rank == late_rank && 1e6 * (MPI_Wtime() - from) < late_us)
        continue;
}

static void reduce_in_background(void)
{
    MPI_Request request;
    MPI_Iallreduce(src, dst, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void all_of(int rounds)
{
    MPI_Comm all = MPI_COMM_WORLD;
    int part = count / size;
    for (int i = 0; i < rounds; i++)
        begin(1), MPI_Allreduce(src, dst, count, MPI_FLOAT, MPI_SUM, all);
    for (int i = 0; i < rounds; i++)
        begin(0), MPI_Bcast(src, count, MPI_FLOAT, 0, all);
    for (int i = 0; i < rounds; i++)
        begin(1), MPI_Reduce(src, dst, count, MPI_FLOAT, MPI_SUM, 0, all);
    for (int i = 0; i < rounds; i++)
        begin(1), MPI_Allgather(src, part, MPI_FLOAT, dst, part, MPI_FLOAT, all);
    for (int i = 0; i < rounds; i++)
        begin(1), MPI_Reduce_scatter_block(src, dst, part, MPI_FLOAT, MPI_SUM, all);
    for (int i = 0; i < rounds; i++)
        begin(1), MPI_Alltoall(src, part, MPI_FLOAT, dst, part, MPI_FLOAT, all);
    for (int i = 0; i < rounds; i++)
        begin(1), reduce_in_background();
}

int main(int argc, char **argv)
{
    cudaFree(NULL); /* a program that never calls CUDA leaves no trace */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    late_us = argc > 1 ? strtod(argv[1], NULL) : 0;
    count = (int)((argc > 2 ? strtol(argv[2], NULL, 10) : 256 << 10) / (long)sizeof *src);
    src = calloc((size_t)count + 1, sizeof *src);
    dst = calloc((size_t)count + 1, sizeof *dst);
    if (!src || !dst)
        MPI_Abort(MPI_COMM_WORLD, 1);
    all_of(argc > 3 ? (int)strtol(argv[3], NULL, 10) : 200);
    free(src);
    free(dst);
    MPI_Finalize();
    return 0;
}
