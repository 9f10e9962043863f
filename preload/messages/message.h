/*
 * What is known of a call of MPI or NCCL while it is made, and its event. around.h has what is done
 * before and behind the real call.
 */
#ifndef XFS_MESSAGE_H
#define XFS_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/attributes.h"
#include "preload/intercept/classify.h"
#include "preload/messages/mpi_abi.h"
#include "preload/unwind/unwind.h"
#include "xferscope/message.h"
#include "xferscope/trace.h"

#define XFS_REQUESTS_FEW 8

/* What a call is given that the straight way takes (straight.h), as it came: one message of one
 * rank to another, or a wait for one request. */
struct xfs_one {
    const void *buffer;
    xfs_word type, comm;
    void *more; /* the program's request, or its status */
    int count, peer, tag;
};
struct xfs_one_wait {
    void *request, *status;
    int *flag; /* of a test */
};

struct xfs_message {
    struct xft_event event;    /* from xfs_message_returned() on */
    const struct xfs_mpi *mpi; /* of a call of MPI */
    const void *called_from;   /* the program's return address */
    uint64_t start_ns;
    uint64_t
        from_ns; /* when it was entered, where it is timed as a whole (record/cost.h); else 0 */
    struct xfs_registers from; /* where its stack begins, if that is known */
    uint32_t first_row; /* of NCCL: where in the slab its thread's next event was, when it began */
    int saved_errno;
    int taken; /* requests that it was given, as they were before */
    bool from_known;
    bool written;
    union {
        struct xfs_one one;
        struct xfs_one_wait wait;
    };
    xfs_word *requests;
    const void *given; /* the program's array of them, as it is after the call */
    xfs_word few[XFS_REQUESTS_FEW];
};

#define XFS_MESSAGE_KEPT 0 /* in place of an enum xft_message: the call itself is no event */

/* The stack of its event; over takes it else. */
void xfs_message_stack(struct xfs_message *m);

/* Writes its event now, before others of the same call. */
void xfs_message_write(struct xfs_message *m);

/* The calls are recorded, as the environment says: also before a session. */
bool xfs_messages_wanted(void);

/* ---- its two ends ---------------------------------------------------------------------------- */

/* The kind of memory at an end, where there is one. */
static inline void xfs_message_sent(struct xfs_message *m, const void *from, uint64_t bytes)
{
    m->event.src = (uintptr_t)from;
    m->event.bytes = bytes;
    if (from == NULL || bytes == 0)
        return;
    struct xfs_place place = xfs_classify((uintptr_t)from);
    m->event.src_mem = place.memory;
    m->event.src_place = place.place;
}

static inline void xfs_message_received(struct xfs_message *m, const void *at, uint64_t most)
{
    m->event.dst = (uintptr_t)at;
    m->event.width = most;
    if (at == NULL || most == 0)
        return;
    struct xfs_place place = xfs_classify((uintptr_t)at);
    m->event.dst_mem = place.memory;
    m->event.dst_place = place.place;
}

#endif
