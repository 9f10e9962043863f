/*
 * Two ranks, of which one waits for the other: rank 1 copies from pageable memory to its GPU and
 * asks, rank 0 answers. In each of 30 rounds rank 0 waits for
 *
 *   late     the copy, then rank 1 for the answer: the copy is on both ranks' way
 *   hidden   nothing: rank 1 copies while rank 0 sleeps for longer before it answers
 *
 * usage: late_rank late|hidden        by MPI's launcher
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime_api.h"

enum { ROUNDS = 30, BYTES = 4 << 20, SLEEP_US = 20000 };

static void answer(int hidden)
{
    char word = 0;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Recv(&word, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (hidden)
            usleep(SLEEP_US);
        MPI_Send(&word, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    }
}

static int ask(int hidden, void *on_gpu, const char *memory)
{
    char word = 0;
    int failed = 0;
    for (int i = 0; i < ROUNDS; i++) {
        if (!hidden)
            failed |= cudaMemcpy(on_gpu, memory, BYTES, XRT_COPY_H2D) != 0;
        MPI_Send(&word, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        if (hidden)
            failed |= cudaMemcpy(on_gpu, memory, BYTES, XRT_COPY_H2D) != 0;
        MPI_Recv(&word, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return failed;
}

int main(int argc, char **argv)
{
    int rank, hidden = argc > 1 && strcmp(argv[1], "hidden") == 0, failed;
    char *memory = malloc(BYTES);
    void *on_gpu;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    failed = !memory || cudaMalloc(&on_gpu, BYTES) != 0;
    memset(memory, 1, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        answer(hidden);
    else if (!failed)
        failed = ask(hidden, on_gpu, memory);
    MPI_Finalize();
    if (failed)
        fputs("late_rank: a copy failed\n", stderr);
    return failed;
}
