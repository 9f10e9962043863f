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
 * errno is the program's throughout. begins, returned and over are in around.c, which alone knows
 * requests, communicators and groups; these may call the rest, which is in message.c.
 */
#ifndef XFS_MESSAGE_H
#define XFS_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/attributes.h"
#include "preload/intercept/session.h"
#include "preload/messages/mpi_abi.h"
#include "xferscope/message.h"
#include "xferscope/trace.h"

#define XFS_REQUESTS_FEW 8

struct xfs_message {
    struct xft_event event;
    const struct xfs_mpi *mpi; /* of a call of MPI */
    const void *called_from;   /* the program's return address */
    uint32_t first_row;        /* where in the slab its thread's next event was, when it began */
    int saved_errno;
    uint64_t
        from_ns; /* when it was entered, where it is timed as a whole (record/cost.h); 0: not */
    bool written;
    int taken; /* requests that it was given, as they were before */
    xfs_word *requests;
    const void *given; /* the program's array of them, as it is after the call */
    xfs_word few[XFS_REQUESTS_FEW];
};

/* This thread is inside such a call, and the stack address of its caller. */
extern XFS_TLS uintptr_t xfs_message_outermost; /* 0: it is not */

/* False: call the real function and do nothing else. */
__attribute__((hot)) bool xfs_message_begins_now(struct xfs_message *m, enum xft_level level,
                                                 uintptr_t called_at, const void *called_from);

static inline bool xfs_message_begins(struct xfs_message *m, enum xft_level level,
                                      uintptr_t called_at, const void *called_from)
{
    return atomic_load_explicit(&xfs_session, memory_order_relaxed) != XFS_SESSION_NONE &&
           xfs_message_begins_now(m, level, called_at, called_from);
}

/* `op`: enum xft_message, or XFS_MESSAGE_KEPT: the call itself is no event. True when it is to be
 * described; over comes in any case. */
#define XFS_MESSAGE_KEPT 0
__attribute__((hot)) bool xfs_message_returned(struct xfs_message *m, int status, uint16_t call,
                                               unsigned op);
__attribute__((hot)) void xfs_message_over(struct xfs_message *m);

/* The stack of its event; over takes it else. */
void xfs_message_stack(struct xfs_message *m);

/* Writes its event now, before others of the same call. */
void xfs_message_write(struct xfs_message *m);

/* The calls are recorded, as the environment says: also before a session. */
bool xfs_messages_wanted(void);

/* The kind of memory at an end, where there is one. */
void xfs_message_sent(struct xfs_message *m, const void *from, uint64_t bytes);
void xfs_message_received(struct xfs_message *m, const void *at, uint64_t most);

#endif
