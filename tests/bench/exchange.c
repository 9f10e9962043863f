/*
 * Many short messages of a real MPI, timed: what a hook adds to calls that do something.
 *
 * usage: exchange self | pair BURSTS CALLS       by MPI's launcher; pair: two ranks
 *
 *   self   MPI_Send of 8 bytes to the same rank, and MPI_Recv: two calls
 *   pair   rank 0 sends 8 bytes and receives the answer: two calls
 *
 * Prints what the two take together in rank 0 (times.h).
 */
#include <mpi.h>
#include <string.h>

#include "tests/bench/times.h"
#include "tests/programs/runtime_api.h"

static int rank;
static double value;

static void self(void)
{
    MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ask(void)
{
    MPI_Send(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void answer(void)
{
    MPI_Recv(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
}

static void burst(void (*one)(void), long calls)
{
    for (long i = 0; i < calls; i++)
        one();
}

int main(int argc, char **argv)
{
    void *memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 4 || cudaMalloc(&memory, 64) != 0) { /* recording begins with it */
        fprintf(stderr, "usage: exchange self|pair BURSTS CALLS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long bursts = atol(argv[2]), calls = atol(argv[3]);
    if (rank == 0)
        time_bursts(burst, strcmp(argv[1], "self") == 0 ? self : ask, bursts, calls);
    else if (strcmp(argv[1], "pair") == 0)
        burst(answer, bursts * calls);
    MPI_Finalize();
    return 0;
}
