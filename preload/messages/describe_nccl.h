/*
 * The verbs of nccl.def: they fill a message's event from the call's arguments, and keep what
 * communicators are.
 */
#ifndef XFS_DESCRIBE_NCCL_H
#define XFS_DESCRIBE_NCCL_H

#include <stddef.h>

#include "preload/messages/groups.h"
#include "preload/messages/message.h"

struct xfs_nccl_id { /* ncclUniqueId, which is passed by value */
    char bytes[128];
};

/* Ranks of the communicator; 0: not known. */
size_t xfs_nccl_ranks(const struct xfs_message *m, void *comm);

/* `count`, `count2`: elements that this rank sends, and that arrive in it. */
void xfs_nccl_all(struct xfs_message *m, const void *sent, size_t count, const void *received,
                  size_t count2, int type, void *comm, void *stream);
void xfs_nccl_bcast(struct xfs_message *m, const void *sent, const void *received, size_t count,
                    int type, int root, void *comm, void *stream);
void xfs_nccl_reduce(struct xfs_message *m, const void *sent, const void *received, size_t count,
                     int type, int root, void *comm, void *stream);
/* `count`: elements of one rank's part. */
void xfs_nccl_gather(struct xfs_message *m, const void *sent, const void *received, size_t count,
                     int type, int root, void *comm, void *stream);
void xfs_nccl_scatter(struct xfs_message *m, const void *sent, const void *received, size_t count,
                      int type, int root, void *comm, void *stream);
void xfs_nccl_send(struct xfs_message *m, const void *sent, size_t count, int type, int peer,
                   void *comm, void *stream);
void xfs_nccl_recv(struct xfs_message *m, const void *received, size_t count, int type, int peer,
                   void *comm, void *stream);

/* A call made communicators, or is about to end one. Keep errno. */
void xfs_nccl_made(int status, void *const *comm, int ranks, int rank,
                   const struct xfs_nccl_id *id);
void xfs_nccl_all_made(int status, void *const *comms, int count);
void xfs_nccl_split(int status, void *from, int color, void *const *made, const void *caller);
void xfs_nccl_gone(void *comm);

#endif
