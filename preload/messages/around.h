/*
 * What every wrapper of a call of MPI or NCCL does around the real one.
 *
 *     begins    check: outermost such call of this thread, recording is on; read the clock
 *     real call
 *     returned  read the clock; recording is still on: the thread gets ready to write
 *     describe  (describe_mpi.h, describe_nccl.h), when the call succeeded
 *     over      write the event
 *
 * CUDA calls that are made within are recorded as always: MPI copies device memory, NCCL launches
 * kernels. A call that blocks is not under way as a call of CUDA is: the end of recording does not
 * wait for a message that may never come.
 *
 * errno is the program's throughout.
 */
#ifndef XFS_AROUND_H
#define XFS_AROUND_H

#include "preload/intercept/session.h"
#include "preload/messages/message.h"
#include "preload/record/clock.h"

/* This thread is inside such a call, and the stack address of its caller. */
extern XFS_TLS uintptr_t xfs_message_outermost; /* 0: it is not */

/* False: call the real function and do nothing else. */
__attribute__((hot)) bool xfs_message_begins_mpi(struct xfs_message *m, uintptr_t called_at,
                                                 const void *called_from);
__attribute__((hot)) bool xfs_message_begins_nccl(struct xfs_message *m, uintptr_t called_at,
                                                  const void *called_from);

static inline bool xfs_message_begins(struct xfs_message *m, enum xft_level level,
                                      uintptr_t called_at, const void *called_from)
{
    return atomic_load_explicit(&xfs_session, memory_order_relaxed) != XFS_SESSION_NONE &&
           (level == XFT_LEVEL_MPI ? xfs_message_begins_mpi(m, called_at, called_from)
                                   : xfs_message_begins_nccl(m, called_at, called_from));
}

/* `op`: enum xft_message, or XFS_MESSAGE_KEPT: the call itself is no event. True when it is to be
 * described; over comes in any case. */
__attribute__((hot)) bool xfs_message_returned_at(struct xfs_message *m, int status, uint16_t call,
                                                  unsigned op, uint64_t end_ns);

static inline bool xfs_message_returned(struct xfs_message *m, int status, uint16_t call,
                                        unsigned op)
{
    return xfs_message_returned_at(m, status, call, op, xfs_now_ns());
}

__attribute__((hot)) void xfs_message_over(struct xfs_message *m);

#endif
