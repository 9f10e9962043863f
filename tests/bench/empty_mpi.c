/*
 * An MPI that does nothing, in Open MPI's binary interface, so that what a recorded call costs is
 * counted without what MPI does. One rank.
 */
#include <stdint.h>
#include <string.h>

#include "tests/bench/empty_mpi.h"

#define SHOWN __attribute__((visibility("default")))

static char objects[8][256];

SHOWN int MPI_Send(const void *buffer, int count, void *type, int dest, int tag, void *comm)
{
    return 0;
}

SHOWN int MPI_Isend(const void *buffer, int count, void *type, int dest, int tag, void *comm,
                    void **request)
{
    *request = objects[6];
    return 0;
}

/* The status as Open MPI has it: the sender, the tag, an error, cancelled or not, bytes. */
SHOWN int MPI_Recv(void *buffer, int count, void *type, int source, int tag, void *comm,
                   void *status)
{
    int *words = status;
    if (words)
        memcpy(words, (int[]){source, tag, 0, 0, count, 0}, 6 * sizeof *words);
    return 0;
}

SHOWN int MPI_Wait(void **request, void *status)
{
    *request = objects[5];
    return 0;
}

SHOWN int MPI_Send_c(const void *buffer, int64_t count, void *type, int dest, int tag, void *comm)
{
    return 0;
}

SHOWN int MPI_Allreduce_init(const void *sent, void *received, int count, void *type, void *op,
                             void *comm, void *info, void **request)
{
    *request = objects[6];
    return 0;
}

SHOWN int MPI_Start(void **request)
{
    return 0;
}

SHOWN int MPI_Neighbor_alltoall(const void *sent, int count, void *type, void *received, int most,
                                void *type2, void *comm)
{
    return 0;
}

SHOWN int MPI_Mprobe(int source, int tag, void *comm, void **found, void *status)
{
    *found = objects[3];
    return 0;
}

SHOWN int MPI_Mrecv(void *buffer, int count, void *type, void **found, void *status)
{
    return MPI_Recv(buffer, count, type, 0, 1, NULL, status);
}

/* ---- what the recorder asks ---- */
SHOWN int PMPI_Get_library_version(char *text, int *bytes);
SHOWN void *PMPI_Request_f2c(int number);
SHOWN int PMPI_Type_size_x(void *type, int64_t *bytes);
SHOWN int PMPI_Type_get_envelope(void *type, int *ints, int *addresses, int *types, int *combiner);
SHOWN int PMPI_Get_elements_x(const void *status, void *type, int64_t *count);
SHOWN int PMPI_Test_cancelled(const void *status, int *flag);
SHOWN int PMPI_Comm_size(void *comm, int *size);
SHOWN int PMPI_Comm_rank(void *comm, int *rank);
SHOWN int PMPI_Comm_test_inter(void *comm, int *flag);
SHOWN int PMPI_Comm_group(void *comm, void **group);
SHOWN int PMPI_Group_translate_ranks(void *from, int count, const int *ranks, void *to, int *found);
SHOWN int PMPI_Group_free(void **group);
SHOWN int PMPI_Topo_test(void *comm, int *kind);
SHOWN int PMPI_Dist_graph_neighbors_count(void *comm, int *sources, int *targets, int *weighted);

int PMPI_Get_library_version(char *text, int *bytes)
{
    strcpy(text, "Open MPI that does nothing");
    *bytes = (int)strlen(text);
    return 0;
}

SHOWN void *PMPI_Comm_f2c(int number)
{
    return objects[number];
}

SHOWN void *PMPI_Type_f2c(int number)
{
    return objects[4];
}

void *PMPI_Request_f2c(int number)
{
    return objects[5];
}

int PMPI_Type_size_x(void *type, int64_t *bytes)
{
    *bytes = 1;
    return 0;
}

int PMPI_Get_elements_x(const void *status, void *type, int64_t *count)
{
    memcpy(count, (const char *)status + 16, sizeof *count);
    return 0;
}

int PMPI_Type_get_envelope(void *type, int *ints, int *addresses, int *types, int *combiner)
{
    *ints = *addresses = *types = *combiner = 0;
    return 0;
}

int PMPI_Test_cancelled(const void *status, int *flag)
{
    *flag = 0;
    return 0;
}

int PMPI_Comm_size(void *comm, int *size)
{
    *size = 1;
    return 0;
}

int PMPI_Comm_rank(void *comm, int *rank)
{
    *rank = 0;
    return 0;
}

int PMPI_Comm_test_inter(void *comm, int *flag)
{
    *flag = 0;
    return 0;
}

int PMPI_Comm_group(void *comm, void **group)
{
    *group = objects[7];
    return 0;
}

int PMPI_Group_translate_ranks(void *from, int count, const int *ranks, void *to, int *found)
{
    memcpy(found, ranks, (size_t)count * sizeof *ranks);
    return 0;
}

int PMPI_Group_free(void **group)
{
    *group = objects[3];
    return 0;
}

/* A graph in which the rank is its own neighbor, four times. */
int PMPI_Topo_test(void *comm, int *kind)
{
    *kind = 3;
    return 0;
}

int PMPI_Dist_graph_neighbors_count(void *comm, int *sources, int *targets, int *weighted)
{
    *sources = *targets = 4;
    *weighted = 0;
    return 0;
}
