/* xferscope-net by a clock that counts: each look at it takes 1 ms, and each message that a rank
 * sends or receives 1 ms and 100 ns a byte. So a busy machine neither ends a part early nor changes
 * a figure. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>

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

int main(int argc, char **argv)
{
    return xfp_net_main(argc, argv, XFERSCOPE_VERSION);
}
