/* xferscope-net by a clock that counts: each look at it takes 1 ms, and each message that a rank
 * sends or receives 1 ms and 100 ns a byte; a collective takes rank R R + 1 ms, and as much a byte
 * of what it gives or gets. So a busy machine neither ends a part early nor changes a figure.
 * XFERSCOPE_COUNTED: of all-to-all "wrong" gives a wrong element, "wrong-in-part" of some ranks. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/net/net.h"

#define STEP_NS 1000000u
#define BYTE_NS 100u

static _Atomic uint64_t now_ns = 1;

uint64_t __wrap_xfp_wall_ns(void);
uint64_t __wrap_xfp_wall_ns(void)
{
    return atomic_fetch_add(&now_ns, STEP_NS) + STEP_NS;
}

static void pass(int bytes)
{
    atomic_fetch_add(&now_ns, STEP_NS + BYTE_NS * (uint64_t)bytes);
}

/* MPI's profiling interface: each function stands there by a second name. All messages are of
 * bytes. */
int MPI_Send(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    pass(count);
    return PMPI_Send(bytes, count, type, to, tag, comm);
}

int MPI_Recv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    pass(count);
    return PMPI_Recv(bytes, count, type, from, tag, comm, status);
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    pass(count);
    return PMPI_Isend(bytes, count, type, to, tag, comm, request);
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    pass(count);
    return PMPI_Irecv(bytes, count, type, from, tag, comm, request);
}

static void pass_all(int count, MPI_Datatype type, MPI_Comm comm)
{
    int rank, size;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Type_size(type, &size);
    pass(count * size);
    atomic_fetch_add(&now_ns, STEP_NS * (uint64_t)rank);
}

static int parts(int count, MPI_Comm comm)
{
    int ranks;

    PMPI_Comm_size(comm, &ranks);
    return count * ranks;
}

int MPI_Barrier(MPI_Comm comm)
{
    pass_all(0, MPI_BYTE, comm);
    return PMPI_Barrier(comm);
}

int MPI_Bcast(void *values, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    pass_all(count, type, comm);
    return PMPI_Bcast(values, count, type, root, comm);
}

int MPI_Reduce(const void *src, void *dst, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    pass_all(count, type, comm);
    return PMPI_Reduce(src, dst, count, type, op, root, comm);
}

int MPI_Allreduce(const void *src, void *dst, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    pass_all(count, type, comm);
    return PMPI_Allreduce(src, dst, count, type, op, comm);
}

int MPI_Allgather(const void *src, int count, MPI_Datatype type, void *dst, int count2,
                  MPI_Datatype type2, MPI_Comm comm)
{
    pass_all(parts(count, comm), type, comm);
    return PMPI_Allgather(src, count, type, dst, count2, type2, comm);
}

int MPI_Reduce_scatter_block(const void *src, void *dst, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm)
{
    pass_all(parts(count, comm), type, comm);
    return PMPI_Reduce_scatter_block(src, dst, count, type, op, comm);
}

int MPI_Reduce_scatter(const void *src, void *dst, const int *counts, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm)
{
    int ranks, all = 0;

    PMPI_Comm_size(comm, &ranks);
    for (int i = 0; i < ranks; i++)
        all += counts[i];
    pass_all(all, type, comm);
    return PMPI_Reduce_scatter(src, dst, counts, type, op, comm);
}

int MPI_Alltoall(const void *src, int count, MPI_Datatype type, void *dst, int count2,
                 MPI_Datatype type2, MPI_Comm comm)
{
    const char *said = getenv("XFERSCOPE_COUNTED");
    int result, rank, size, world;

    pass_all(parts(count, comm), type, comm);
    result = PMPI_Alltoall(src, count, type, dst, count2, type2, comm);
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_size(MPI_COMM_WORLD, &world);
    if (said && rank == 1 &&
        (!strcmp(said, "wrong") || (!strcmp(said, "wrong-in-part") && size < world)))
        ((float *)dst)[count - 1] += 1;
    return result;
}

int main(int argc, char **argv)
{
    return xfp_net_main(argc, argv, XFERSCOPE_VERSION);
}
