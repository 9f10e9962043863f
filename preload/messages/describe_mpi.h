/*
 * The verbs of mpi.def: they fill a message's event from the call's arguments, once the call has
 * succeeded. Sizes are asked of the MPI that is there.
 */
#ifndef XFS_DESCRIBE_MPI_H
#define XFS_DESCRIBE_MPI_H

#include "preload/messages/communicators.h"
#include "preload/messages/message.h"

#define XFS_VERB void

/* ---- one rank to another ---- */
XFS_VERB xfs_mpi_send(struct xfs_message *m, const void *buffer, int count, xfs_word type, int dest,
                      int tag, xfs_word comm);
XFS_VERB xfs_mpi_recv(struct xfs_message *m, const void *buffer, int count, xfs_word type,
                      int source, int tag, xfs_word comm);
/* What a blocking one got. */
XFS_VERB xfs_mpi_arrived(struct xfs_message *m, const void *status);
XFS_VERB xfs_mpi_put(struct xfs_message *m, const void *buffer, int count, xfs_word type,
                     int target, xfs_word window);
XFS_VERB xfs_mpi_get(struct xfs_message *m, const void *buffer, int count, xfs_word type,
                     int target, xfs_word window);

/* ---- requests ---- */
/* The message goes on behind this request. */
XFS_VERB xfs_mpi_begun(struct xfs_message *m, const void *request);
/* A persistent one was made: its starts will be such messages. */
XFS_VERB xfs_mpi_kept(struct xfs_message *m, unsigned op, const void *request);
XFS_VERB xfs_mpi_take(struct xfs_message *m, int count, const void *requests);
XFS_VERB xfs_mpi_started(struct xfs_message *m);
XFS_VERB xfs_mpi_freed(struct xfs_message *m);
XFS_VERB xfs_mpi_all_done(struct xfs_message *m, const void *statuses);
XFS_VERB xfs_mpi_some_done(struct xfs_message *m, int count, const int *indices,
                           const void *statuses);
/* A test found nothing: no event. */
XFS_VERB xfs_mpi_none_done(struct xfs_message *m);

/* ---- all ranks. `counts`: one for each rank; NULL: `count` for each ---- */
XFS_VERB xfs_mpi_barrier(struct xfs_message *m, xfs_word comm);
XFS_VERB xfs_mpi_bcast(struct xfs_message *m, const void *buffer, int count, xfs_word type,
                       int root, xfs_word comm);
XFS_VERB xfs_mpi_reduce(struct xfs_message *m, const void *sent, const void *received, int count,
                        xfs_word type, int root, xfs_word comm);
/* As much arrives in each rank as it sends. */
XFS_VERB xfs_mpi_equal(struct xfs_message *m, const void *sent, const void *received, int count,
                       xfs_word type, xfs_word comm);
XFS_VERB xfs_mpi_gather(struct xfs_message *m, const void *sent, int count, xfs_word type,
                        const void *received, const int *counts2, int count2, xfs_word type2,
                        int root, xfs_word comm);
XFS_VERB xfs_mpi_scatter(struct xfs_message *m, const void *sent, const int *counts, int count,
                         xfs_word type, const void *received, int count2, xfs_word type2, int root,
                         xfs_word comm);
XFS_VERB xfs_mpi_allgather(struct xfs_message *m, const void *sent, int count, xfs_word type,
                           const void *received, const int *counts2, int count2, xfs_word type2,
                           xfs_word comm);
XFS_VERB xfs_mpi_alltoall(struct xfs_message *m, const void *sent, const int *counts, int count,
                          xfs_word type, const void *received, const int *counts2, int count2,
                          xfs_word type2, xfs_word comm);
XFS_VERB xfs_mpi_reduce_scatter(struct xfs_message *m, const void *sent, const void *received,
                                const int *counts, int count, xfs_word type, xfs_word comm);

#endif
