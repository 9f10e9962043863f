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
XFS_VERB xfs_mpi_send(struct xfs_message *m, const void *buffer, int64_t count, xfs_word type,
                      int dest, int tag, xfs_word comm);
XFS_VERB xfs_mpi_recv(struct xfs_message *m, const void *buffer, int64_t count, xfs_word type,
                      int source, int tag, xfs_word comm);
/* A matched probe found a message: whose it is, for the call that is given it (xfs_mpi_matched(),
 * after xfs_mpi_take()). */
XFS_VERB xfs_mpi_probed(struct xfs_message *m, int source, int tag, xfs_word comm,
                        const void *message, const void *status);
XFS_VERB xfs_mpi_matched(struct xfs_message *m, const void *buffer, int64_t count, xfs_word type);
/* What a blocking one got. */
XFS_VERB xfs_mpi_arrived(struct xfs_message *m, const void *status);
XFS_VERB xfs_mpi_put(struct xfs_message *m, const void *buffer, int64_t count, xfs_word type,
                     int target, xfs_word window);
XFS_VERB xfs_mpi_get(struct xfs_message *m, const void *buffer, int64_t count, xfs_word type,
                     int target, xfs_word window);

/* ---- requests ---- */
/* The message goes on behind this request. */
XFS_VERB xfs_mpi_begun(struct xfs_message *m, const void *request);
/* A persistent one was made: its starts will be such messages. */
XFS_VERB xfs_mpi_kept(struct xfs_message *m, unsigned op, const void *request);
/* The same of a collective. Its tag says which of the communicator's persistent ones it is, from 1
 * on: all ranks make them in the same order, but may start them in any. */
XFS_VERB xfs_mpi_kept_by_all(struct xfs_message *m, unsigned op, xfs_word comm,
                             const void *request);
XFS_VERB xfs_mpi_take(struct xfs_message *m, int count, const void *requests);
XFS_VERB xfs_mpi_started(struct xfs_message *m);
XFS_VERB xfs_mpi_freed(struct xfs_message *m);
XFS_VERB xfs_mpi_all_done(struct xfs_message *m, const void *statuses);
XFS_VERB xfs_mpi_some_done(struct xfs_message *m, int count, const int *indices,
                           const void *statuses);
/* A test found nothing: no event. */
XFS_VERB xfs_mpi_none_done(struct xfs_message *m);

/* ---- several ranks ---- */

/* What goes to each of several ranks, or comes from it. */
struct xfs_parts {
    const void *counts; /* of elements, one for each: int, or int64_t where they are `large`; NULL:
                           `count` for each */
    const void *types;  /* handles, one for each; NULL: `type` of all */
    int64_t count;
    xfs_word type;
    bool large;
};
#define XFS_ARE_LARGE(counts) _Generic((counts), const int * : false, const int64_t * : true)
#define xfs_alike(count_of_each, type_of_all)                                                      \
    (&(struct xfs_parts){.count = (count_of_each), .type = (type_of_all)})
#define xfs_counted(each, type_of_all)                                                             \
    (&(struct xfs_parts){.counts = (each), .type = (type_of_all), .large = XFS_ARE_LARGE(each)})
#define xfs_typed(each, types_of_each)                                                             \
    (&(struct xfs_parts){.counts = (each), .types = (types_of_each), .large = XFS_ARE_LARGE(each)})

XFS_VERB xfs_mpi_barrier(struct xfs_message *m, xfs_word comm);
XFS_VERB xfs_mpi_bcast(struct xfs_message *m, const void *buffer, int64_t count, xfs_word type,
                       int root, xfs_word comm);
XFS_VERB xfs_mpi_reduce(struct xfs_message *m, const void *sent, const void *received,
                        int64_t count, xfs_word type, int root, xfs_word comm);
/* As much arrives in each rank as it sends. */
XFS_VERB xfs_mpi_equal(struct xfs_message *m, const void *sent, const void *received, int64_t count,
                       xfs_word type, xfs_word comm);
XFS_VERB xfs_mpi_gather(struct xfs_message *m, const void *sent, int64_t count, xfs_word type,
                        const void *received, const struct xfs_parts *arrive, int root,
                        xfs_word comm);
XFS_VERB xfs_mpi_scatter(struct xfs_message *m, const void *sent, const struct xfs_parts *leave,
                         const void *received, int64_t count2, xfs_word type2, int root,
                         xfs_word comm);
XFS_VERB xfs_mpi_reduce_scatter(struct xfs_message *m, const void *sent, const void *received,
                                const struct xfs_parts *of_all, xfs_word comm);
/* With whom each rank exchanges. */
enum xfs_whom { XFS_ALL_RANKS, XFS_NEIGHBORS_ONLY };
XFS_VERB xfs_mpi_allgather(struct xfs_message *m, enum xfs_whom whom, const void *sent,
                           int64_t count, xfs_word type, const void *received,
                           const struct xfs_parts *arrive, xfs_word comm);
XFS_VERB xfs_mpi_alltoall(struct xfs_message *m, enum xfs_whom whom, const void *sent,
                          const struct xfs_parts *leave, const void *received,
                          const struct xfs_parts *arrive, xfs_word comm);

#endif
