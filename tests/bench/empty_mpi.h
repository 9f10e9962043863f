/* The functions of empty_mpi.c that calls.c calls; handles of MPI_COMM_WORLD and MPI_BYTE come from
 * PMPI_Comm_f2c(0) and PMPI_Type_f2c(1), as in Open MPI. */
#ifndef XFERSCOPE_BENCH_EMPTY_MPI_H
#define XFERSCOPE_BENCH_EMPTY_MPI_H

#include <stdint.h>

int MPI_Send(const void *buffer, int count, void *type, int dest, int tag, void *comm);
int MPI_Isend(const void *buffer, int count, void *type, int dest, int tag, void *comm,
              void **request);
int MPI_Recv(void *buffer, int count, void *type, int source, int tag, void *comm, void *status);
int MPI_Wait(void **request, void *status);
int MPI_Send_c(const void *buffer, int64_t count, void *type, int dest, int tag, void *comm);
int MPI_Allreduce_init(const void *sent, void *received, int count, void *type, void *op,
                       void *comm, void *info, void **request);
int MPI_Start(void **request);
int MPI_Neighbor_alltoall(const void *sent, int count, void *type, void *received, int most,
                          void *type2, void *comm);
int MPI_Mprobe(int source, int tag, void *comm, void **found, void *status);
int MPI_Mrecv(void *buffer, int count, void *type, void **found, void *status);
void *PMPI_Comm_f2c(int number);
void *PMPI_Type_f2c(int number);

#endif
