/*
 * The MPI of this process, found by its functions' names: neither its headers nor its library are
 * used to build this one. Two binary interfaces are known: Open MPI's, whose handles are pointers,
 * and MPICH's (also of Intel MPI, MVAPICH and Cray MPICH), whose handles are ints.
 *
 * Its local functions are asked only after a call of the program with the same handle succeeded:
 * they would call the program's error handler for a bad one.
 */
#ifndef XFS_MPI_ABI_H
#define XFS_MPI_ABI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/messages/table.h"

/* X(field, function without PMPI_, parameters). MPI_Count is an int64_t in both interfaces. */
#define XFS_MPI_ASKED(X)                                                                           \
    X(type_size, Type_size_x, (xfs_word type, int64_t * bytes))                                    \
    X(envelope, Type_get_envelope,                                                                 \
      (xfs_word type, int *ints, int *addresses, int *types, int *combiner))                       \
    X(elements, Get_elements_x, (const void *status, xfs_word type, int64_t *count))               \
    X(cancelled, Test_cancelled, (const void *status, int *flag))                                  \
    X(comm_size, Comm_size, (xfs_word comm, int *size))                                            \
    X(comm_rank, Comm_rank, (xfs_word comm, int *rank))                                            \
    X(comm_is_inter, Comm_test_inter, (xfs_word comm, int *flag))                                  \
    X(comm_group, Comm_group, (xfs_word comm, void *group))                                        \
    X(translate, Group_translate_ranks,                                                            \
      (xfs_word from, int count, const int *ranks, xfs_word to, int *found))                       \
    X(group_free, Group_free, (void *group))
/* Of the neighbors in a topology; NULL where there is none. */
#define XFS_MPI_ASKED_IF_THERE(X)                                                                  \
    X(topology, Topo_test, (xfs_word comm, int *kind))                                             \
    X(grid_dimensions, Cartdim_get, (xfs_word comm, int *dimensions))                              \
    X(grid_shift, Cart_shift, (xfs_word comm, int dimension, int by, int *source, int *target))    \
    X(graph_neighbors, Graph_neighbors_count, (xfs_word comm, int rank, int *count))               \
    X(dist_graph_neighbors, Dist_graph_neighbors_count,                                            \
      (xfs_word comm, int *sources, int *targets, int *weighted))

struct xfs_mpi {
    bool wide;            /* handles are pointers */
    uint64_t handle_bits; /* set in all that a handle can be */
    int any_source, proc_null;
    int named; /* MPI_COMBINER_NAMED: a type of MPI's own */
    xfs_word world, self, no_comm, byte, no_request;
    xfs_word empty_request; /* Open MPI's one request for all that was done at once */
    const void *in_place, *status_ignored;
    int of_grid, of_graph, of_dist_graph; /* a communicator's topology */
    size_t status_bytes, source_at; /* of a status, and of MPI_SOURCE in it; MPI_TAG is behind it */
#define XFS_FIELD(field, function, parameters) int(*field) parameters;
    XFS_MPI_ASKED(XFS_FIELD)
    XFS_MPI_ASKED_IF_THERE(XFS_FIELD)
#undef XFS_FIELD
};

/* Once it has been looked up for a process whose messages are recorded; else NULL. */
extern const struct xfs_mpi *_Atomic xfs_mpi_found;
static inline const struct xfs_mpi *xfs_mpi_known(void)
{
    return atomic_load_explicit(&xfs_mpi_found, memory_order_acquire);
}

/* NULL: none, or one that is not known. Looked up at the first call, by its caller. Only where
 * messages are recorded. Keeps errno. */
const struct xfs_mpi *xfs_mpi_here(const void *caller);

static inline xfs_word xfs_mpi_handle(const struct xfs_mpi *mpi, xfs_word passed)
{
    return passed & mpi->handle_bits;
}

/* The handle at this place of an array of them. */
static inline xfs_word xfs_mpi_handle_at(const struct xfs_mpi *mpi, const void *handles, int i)
{
    return mpi->wide ? ((const xfs_word *)handles)[i] : ((const uint32_t *)handles)[i];
}

/* Requests that several operations have at once: what they stand for is over. */
static inline bool xfs_mpi_is_shared(const struct xfs_mpi *mpi, xfs_word request)
{
    return mpi->wide ? request == mpi->empty_request : request >> 30 == 1;
}

/* A status of an array; NULL where the program wants none. */
static inline const char *xfs_mpi_status_at(const struct xfs_mpi *mpi, const void *statuses, int i)
{
    if (statuses == mpi->status_ignored || statuses == NULL)
        return NULL;
    return (const char *)statuses + (size_t)i * mpi->status_bytes;
}

static inline int xfs_mpi_source_of(const struct xfs_mpi *mpi, const char *status)
{
    return *(const int *)(const void *)(status + mpi->source_at);
}

static inline int xfs_mpi_tag_of(const struct xfs_mpi *mpi, const char *status)
{
    return ((const int *)(const void *)(status + mpi->source_at))[1];
}

#endif
